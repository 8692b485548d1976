"""Written modules at indices that are tensors, which may be others in each call, and what programs with them print."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minitorch as torch
from minitorch import static
from minitorch.static._copied import Copies
from minitorch.static._free_names import Unwritable
from written import loaded


def row_cleared(x: Any, k: Any) -> Any:
    y = x.clone()
    y[k] = 0
    return y


def cell_raised(x: Any, a: Any, b: Any) -> Any:
    y = x.clone()
    y[a, b] += 1
    y[a][b] *= 3  # a view of what was raised
    return y


FUNCTIONS: dict[str, tuple[Callable[..., Any], int]] = {
    "a row": (lambda x, k: x[k] * 1, 1),
    "a column": (lambda x, k: x[:, k] + 0, 1),
    "beside an integer": (lambda x, k: x[k, 1] + 0, 1),
    "a cell": (lambda x, a, b: x[a, b] * 1, 2),
    "select": (lambda x, k: torch.select(x, 0, k) + 0, 1),
    "beside the same integer": (lambda x, k: x[k] * x[2], 1),
    "beside a view at the same place": (lambda x, k: x[k][1:] * x[2, 1:], 1),
    "twice": (lambda x, k: x[k] + x[k] * x[(k + 1) % 3], 1),
    "a place that is computed": (lambda x: x[x.sum(1).argmax()] + 0, 0),
    "what is put": (row_cleared, 1),
    "what is added in place": (cell_raised, 2),
    "select_scatter": (lambda x, k: torch.select_scatter(x, x[0] * 2, 0, k), 1),
    "indices one by one": (lambda x, a, b: sum(x[k] for k in torch.stack([a, b])), 2),
    "a gradient": (lambda x, k: torch.func.grad(lambda y: y[k].square().sum())(x), 1),
    "a tensor from outside": ((lambda place: lambda x: x[place] + 1)(torch.tensor(1)), 0),
}
PLACES = [(2, 1), (0, 0), (1, 2), (-1, -2), (2, 2), (-3, 0)]


@pytest.mark.parametrize("axes", [None, {"x": {0: "n"}}], ids=["fixed", "sized"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_other_places(name: str, axes: Any, tmp_path: Path) -> None:
    function, count = FUNCTIONS[name]
    path = tmp_path / "indexed.py"
    example = torch.randn(4, 3), *map(torch.tensor, PLACES[0][:count])
    static.trace(function, *example).to_python(path, dynamic_axes=axes)
    run = getattr(loaded(path), getattr(function, "__name__", "").replace("<lambda>", "forward"))
    for places in PLACES:
        x = torch.randn(4 if axes is None else 7, 3)
        wanted = function(x, *map(torch.tensor, places[:count])).numpy()
        found = run(x.numpy(), *map(np.array, places[:count]))
        assert (found.shape, found.tobytes()) == (wanted.shape, wanted.tobytes())


def test_out_of_range(tmp_path: Path) -> None:
    static.trace(lambda x, k: x[k] * 1, torch.randn(4, 3), torch.tensor(2)).to_python(tmp_path / "indexed.py")
    with pytest.raises(IndexError, match="index 4 is out of bounds"):
        loaded(tmp_path / "indexed.py").forward(np.ones((4, 3), np.float32), np.array(4))


def test_programs_that_do_the_same_are_one(tmp_path: Path) -> None:
    program = static.trace(lambda x, k: x[k] * 1, x := torch.randn(4, 3), torch.tensor(2), quiet=True)
    program(x, torch.tensor(1))
    assert len(program.variants) == 2
    program.to_python(tmp_path / "indexed.py")
    assert "forward_1" not in (tmp_path / "indexed.py").read_text()


@pytest.mark.parametrize(
    "function",
    [
        lambda x, k: x[k] * int(k),
        lambda x, k: int(k) * x[k],
        lambda x, k: x[:k] + 0,
        lambda x, k: x.narrow(0, k, 1) + 0,
    ],
)
def test_what_is_made_for_one_place_says_so(function: Any, tmp_path: Path) -> None:
    path = tmp_path / "indexed.py"
    x = torch.randn(4, 3)
    static.trace(function, x, torch.tensor(2)).to_python(path)
    module = loaded(path)
    assert module.forward(x.numpy(), np.array(2)).tolist() == function(x, torch.tensor(2)).tolist()
    with pytest.raises(module.OtherInputs, match=r"that was 2 .* and is 1 here"):
        module.forward(x.numpy(), np.array(1))


@pytest.mark.parametrize("function", [lambda x, k: x[k], lambda x, k: x[:, k], row_cleared])
def test_functions_in_graphs(function: Any, tmp_path: Path) -> None:
    xs, k = static.placeholder("xs", (4, 3)), static.placeholder("k", (), dtype=torch.int64)
    executor = static.Executor([static.apply(function, xs, k)])
    values = np.arange(12, dtype=np.float32).reshape(4, 3)
    executor.to_python(tmp_path / "graph.py", {"xs": values, "k": np.array(1)})
    run = loaded(tmp_path / "graph.py").run
    for place in (0, 1, 2, -1):
        (wanted,) = executor.run({"xs": values, "k": np.array(place)})
        assert run(values, np.array(place))[0].tolist() == wanted.tolist()


def test_loops_stay_loops(tmp_path: Path) -> None:
    xs, n = static.placeholder("xs", (4, 3)), static.placeholder("n", (), dtype=torch.int64)
    _, total = static.while_loop(
        lambda k, total: k < n,
        lambda k, total: (k + 1, total + static.apply(lambda x, k: x[k], xs, k)),
        (0, static.constant(torch.zeros(3))),
    )
    executor = static.Executor([total])
    values = np.arange(12, dtype=np.float32).reshape(4, 3)
    executor.to_python(tmp_path / "graph.py", {"xs": values, "n": np.array(3)})
    assert "while True" in (tmp_path / "graph.py").read_text()
    run = loaded(tmp_path / "graph.py").run
    for count in (0, 1, 4):
        (wanted,) = executor.run({"xs": values, "n": np.array(count)})
        assert run(values, np.array(count))[0].tolist() == wanted.tolist()


def test_numbers_of_classes_that_cannot_be_written() -> None:
    class Own(int):
        pass

    Own.__module__ = "minitorch.static._copied"
    with pytest.raises(Unwritable, match=r"a Own \(3\)"):
        Copies(str).expression(Own(3))


# -- what is printed ---------------------------------------------------------------------------------------------------
def test_draws_are_printed_as_they_were_called() -> None:
    def noisy(x: Any) -> Any:
        return x + torch.randn_like(x) + torch.rand(3) + torch.normal(x, 1.0)

    program = static.trace(noisy, torch.randn(4, 3))
    text = str(program)
    assert "%1 = randn_like()  # float32[4, 3]\n" in text
    assert " = rand()  # float32[3]\n" in text
    assert "0x" not in text


def test_how_many_programs_there_are() -> None:
    program = static.trace(lambda x: x * 2, torch.ones(2))
    assert repr(program) == "<traced <lambda>: 1 program>"
    program(torch.ones(3))
    assert repr(program) == "<traced <lambda>: 2 programs>"
