"""Written modules for varying sizes have every way that was traced."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minitorch as torch
from minitorch import nn, static
from written import loaded


def turned(x: Any) -> Any:
    return x * 2 if x.sum() > 0 else -x


def scaled(x: Any) -> Any:
    return x * 2 if x.sum() > 0 else x * 3  # the same operations


def in_three(x: Any) -> Any:
    if x.sum() > 4:
        return x.exp()
    return x + 1 if x.sum() > 0 else x - x.mean()


def sized_and_turned(x: Any) -> Any:
    if len(x) > 20:
        return x.tanh()
    return x * 2 if x.max() > 0 else x / 2


BRANCHING: dict[str, tuple[Any, list[Any]]] = {
    "other operations": (turned, [torch.ones(3), -torch.ones(3)]),
    "the same operations": (scaled, [-torch.ones(4), torch.ones(3)]),
    "three": (in_three, [torch.full((3,), 0.5), -torch.ones(3), torch.full((3,), 9.0)]),
    "sizes as well": (sized_and_turned, [torch.ones(3), torch.ones(40), -torch.ones(3)]),
    "several examples of a way": (turned, [torch.ones(3), -torch.ones(5), torch.ones(6), -torch.ones(2)]),
}


@pytest.mark.parametrize("name", BRANCHING)
def test_every_way_is_written(name: str, tmp_path: Path) -> None:
    function, examples = BRANCHING[name]
    program = static.compile(function, quiet=True)
    for example in examples:
        program(example)
    program.to_python(tmp_path / "model.py", dynamic_axes={"x": {0: "n"}})
    written = getattr(loaded(tmp_path / "model.py"), function.__name__)
    for example in examples:
        for size in (1, 2, 3, 7, 11):
            x = example[0].expand(size).clone()
            np.testing.assert_array_equal(written(x.numpy()), function(x).numpy(), strict=True)
        np.testing.assert_array_equal(written(example.numpy()), function(example).numpy(), strict=True)


def test_ways_that_are_one_are_written_once(tmp_path: Path) -> None:
    program = static.compile(turned, quiet=True)
    for size in (3, 4, 7):
        program(torch.ones(size))
    program.to_python(tmp_path / "model.py", dynamic_axes={"x": {0: "n"}})
    assert not hasattr(loaded(tmp_path / "model.py"), "turned_1")


def test_inputs_of_other_ranks_and_dtypes(tmp_path: Path) -> None:
    model = nn.Linear(2, 2)
    program = static.compile(model, quiet=True)
    program(torch.ones(2, 2))
    program(torch.ones(2, 3, 2))
    program.to_python(tmp_path / "model.py", dynamic_axes={"input": {0: "b"}})
    forward = loaded(tmp_path / "model.py").forward
    for shape in ((5, 2), (1, 2), (4, 3, 2), (9, 3, 2)):
        x = torch.randn(shape)
        np.testing.assert_array_equal(forward(x.numpy()), model(x).detach().numpy(), strict=True)
    with pytest.raises(
        ValueError, match=r"nothing is written for these inputs:\n  From input float32\[b, 2\] to"
    ) as error:
        forward(np.ones((4, 4, 2), np.float32))
    assert str(error.value).count("\n") == 2

    doubled = static.compile(lambda x: x * 2, quiet=True)
    doubled(torch.ones(3))
    doubled(torch.ones(3, dtype=torch.int64))
    doubled.to_python(tmp_path / "doubled.py", dynamic_axes={"x": {0: "n"}})
    forward = loaded(tmp_path / "doubled.py").forward
    for dtype in (np.float32, np.int64):
        assert forward(np.ones(6, dtype)).dtype == dtype


def test_an_example_that_other_sizes_do_otherwise_than_is_written(tmp_path: Path) -> None:
    def alone(x: Any) -> Any:
        return x + 1 if x.shape[0] == 1 else x * 2

    for value in (1.0, 3.0):  # 1 + 1 is 1 * 2
        static.trace(alone, torch.full((1,), value), quiet=True).to_python(
            tmp_path / "model.py", dynamic_axes={"x": {0: "n"}}
        )
        written = loaded(tmp_path / "model.py").alone
        assert written(np.full(1, 5.0, np.float32)).tolist() == [6.0]
        assert written(np.full(4, 5.0, np.float32)).tolist() == [10.0] * 4


def test_ways_that_cannot_vary_are_said(tmp_path: Path) -> None:
    model = nn.Linear(2, 2)
    program = static.compile(model, quiet=True)
    program(torch.ones(2))
    program(torch.ones(4, 3, 2))
    with pytest.warns(UserWarning, match=r"does for \(2,\) is written for these shapes only: 'input' has 1 dimensions"):
        program.to_python(tmp_path / "model.py", dynamic_axes={"input": {1: "b"}})
    forward = loaded(tmp_path / "model.py").forward
    assert forward(np.ones(2, np.float32)).shape == (2,)
    assert forward(np.ones((4, 9, 2), np.float32)).shape == (4, 9, 2)
    program = static.compile(model, quiet=True)
    program(torch.ones(4, 3, 2))
    program(torch.ones(2))
    with pytest.raises(ValueError, match="'input' has 1 dimensions"):
        program.to_python(tmp_path / "other.py", dynamic_axes={"input": {1: "b"}})
    assert not (tmp_path / "other.py").exists()


def test_a_way_that_was_not_traced_is_said(tmp_path: Path) -> None:
    static.trace(turned, torch.ones(3), quiet=True).to_python(tmp_path / "model.py", dynamic_axes={"x": {0: "n"}})
    written = loaded(tmp_path / "model.py").turned
    for values in (np.zeros(0, np.float32), -np.ones(5, np.float32)):
        with pytest.raises(ValueError, match="branches on a value"):
            written(values)


def test_values_that_lead_elsewhere_at_some_sizes(tmp_path: Path) -> None:
    def summed(x: Any) -> Any:
        return x * 2 if x.sum() > 0 else x.sin()

    example = torch.tensor([3.0, -4.0, 2.0])  # repeated, the sum has either sign
    static.trace(summed, example, quiet=True).to_python(tmp_path / "model.py", dynamic_axes={"x": {0: "n"}})
    written = loaded(tmp_path / "model.py").summed
    for size in (1, 3, 5, 8, 30):
        assert written(np.ones(size, np.float32)).tolist() == [2.0] * size


def test_a_tensor_of_a_size_is_no_value(tmp_path: Path) -> None:
    def longer(x: Any) -> Any:
        return x.sin() if torch.tensor(float(len(x))) > 100 else x * 2

    static.trace(longer, torch.ones(3), quiet=True).to_python(tmp_path / "model.py", dynamic_axes={"x": {0: "n"}})
    written = loaded(tmp_path / "model.py").longer
    assert written(np.ones(100, np.float32)).tolist() == [2.0] * 100
    with pytest.raises(ValueError, match="n is 101, but this was written for 100 or less: at size 101 it does sin"):
        written(np.ones(101, np.float32))


def test_values_and_sizes_together(tmp_path: Path) -> None:
    def many(x: Any) -> Any:
        return x.sin() if x.sum() > 4 else x * 2

    static.trace(many, torch.full((3,), 0.1), quiet=True).to_python(tmp_path / "model.py", dynamic_axes={"x": {0: "n"}})
    written = loaded(tmp_path / "model.py").many
    for size in (0, 1, 4, 200):
        assert written(np.zeros(size, np.float32)).tolist() == [0.0] * size
        with pytest.raises(ValueError, match="branches on a value"):
            written(np.full(size + 1, 9.0, np.float32))
