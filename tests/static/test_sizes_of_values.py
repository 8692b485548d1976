"""Sizes that depend on values: a program is made for them, and another one where they are others."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minitorch as torch
from minitorch import nn, static

ROWS = [[1.0, 2.0, -1.0], [1.0, -2.0, -1.0], [1.0, 2.0, 3.0], [-1.0, -1.0, -2.0]]

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "len": lambda x: x.sum() / (len(x[x > 0]) + 1),
    "shape": lambda x: x * (x > 0).nonzero().shape[0],
    "masked_select": lambda x: x * x.masked_select(x > 0).numel(),
    "iteration": lambda x: [r * 2 for r in x[x > 0]],
    "branch": lambda x: x + 1 if x[x > 0].numel() else x - 1,
    "where": lambda x: torch.zeros(len(torch.where(x > 0)[0])),
    "unique": lambda x: torch.arange(len(x.sign().unique())),
    "bincount": lambda x: torch.ones(len(torch.bincount((x > 0).long() * 2))),
    "repeat_interleave": lambda x: x * len(torch.repeat_interleave(x, (x > 0).long())),
    "mean of what is chosen": lambda x: x[x > 0].mean().nan_to_num(),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("make", [static.compile, lambda f: static.trace(f, torch.tensor(ROWS[0]))])
def test_other_sizes_are_traced_anew(name: str, make: Any) -> None:
    function = FUNCTIONS[name]
    program = make(function)
    for row in [*ROWS, *ROWS]:
        x = torch.tensor(row)
        found, wanted = program(x), function(x)
        if isinstance(wanted, list):
            assert [t.item() for t in found] == [t.item() for t in wanted]
        else:
            assert found.tolist() == wanted.tolist()


@pytest.mark.parametrize("first", [False, True])
def test_steps_over_what_is_chosen_are_right(first: bool) -> None:
    def losses(wrap: Callable[[Any], Any]) -> list[float]:
        torch.manual_seed(1)
        model = nn.Linear(3, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        x = torch.randn(6, 3)

        def step(x: Any, chosen: Any) -> Any:
            if first:
                optimizer.zero_grad()
            loss = model(x).square()[chosen].mean()
            if not first:
                optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss

        run = wrap(step)
        return [run(x, torch.arange(6) < n).item() for n in (1, 2, 3, 6, 2)]

    assert losses(static.compile) == losses(lambda step: step)


def test_a_note_names_the_line() -> None:
    program = static.compile(lambda x: x * len(x[x > 0]))
    for row in ROWS[:2]:
        program(torch.tensor(row))
    assert "a size that depends on values" in program.notes[-1]
    assert "traced anew" in program.notes[-1]


def test_a_written_module_refuses_inputs_of_which_another_number_is_chosen(tmp_path: Path) -> None:
    path = tmp_path / "chosen.py"
    static.trace(lambda x: x.sum() / len(x[x > 0]), torch.tensor(ROWS[0])).to_python(path)
    scope = runpy.run_path(str(path))
    assert scope["forward"](np.array(ROWS[0], "f")) == 1.0
    with pytest.raises(ValueError, match="size"):
        scope["forward"](np.array(ROWS[1], "f"))


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("example", [ROWS[0], ROWS[2]])
def test_a_module_for_many_sizes_computes_those_that_depend_on_values(
    name: str, example: list[float], tmp_path: Path
) -> None:
    function, path = FUNCTIONS[name], tmp_path / "many.py"
    program = static.trace(function, torch.tensor(example), quiet=True)
    if name in ("iteration", "branch") or (name, example) == ("unique", ROWS[2]):
        with pytest.raises(RuntimeError, match=r"to_python\(\)"):
            program.to_python(path, dynamic_axes={"x": {0: "n"}})
        assert not path.exists()
        return
    program.to_python(path, dynamic_axes={"x": {0: "n"}})
    written = runpy.run_path(str(path))["forward"]
    for row in [*ROWS, [-3.0, 1.0, 0.0, 2.0, 2.0], [1.0, 1.0, 4.0, 5.0]]:
        assert written(np.array(row, "f")).tolist() == function(torch.tensor(row)).tolist()


def test_a_size_that_no_values_show_to_depend_on_them_is_refused(tmp_path: Path) -> None:
    program = static.trace(lambda x: x * len(x[x < 100]), torch.tensor(ROWS[2]))
    with pytest.raises(RuntimeError, match=r"a size depends on values, x\[x < 100\] at .*py:\d+, and with none"):
        program.to_python(tmp_path / "many.py", dynamic_axes={"x": {0: "n"}})
    assert not [*tmp_path.iterdir()]
