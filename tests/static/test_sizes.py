"""One program for many sizes: what was written as expressions of sizes is right at sizes that were not looked at."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch as torch
from deployed import MODELS
from minitorch import nn
from minitorch._trace_instructions import Packed
from minitorch.static._number_expressions import Expression
from minitorch.static._size_expressions import (
    Axis,
    Counted,
    Filled,
    Parts,
    Repeated,
    Size,
    Triangle,
    Varying,
    alike,
)
from minitorch.static._sizes import CannotGeneralise, General, generalise


class Evaluation:
    """What expressions are in a pass at other sizes."""

    def __init__(self, trace: Any) -> None:
        self.trace = trace

    def size(self, axis: Axis) -> int:
        return int(self.trace.arrays[axis.slot].shape[axis.axis])

    def of(self, value: Any) -> Any:
        """The value of an expression."""
        if isinstance(value, Size):
            return value.value(self.size)
        if isinstance(value, Expression):
            return value.value(self.size)
        if isinstance(value, Repeated):
            return (self.of(value.item),) * self.of(value.count)
        if isinstance(value, Filled):
            return np.full(self.of(value.shape), self.of(value.value), value.dtype)
        if isinstance(value, Counted):
            return (self.of(value.start) + self.of(value.step) * np.arange(self.of(value.count))).astype(value.dtype)
        if isinstance(value, Triangle):
            inside = np.tri(*self.of(value.shape), self.of(value.diagonal), dtype=bool)
            return np.where(inside, self.of(value.below), self.of(value.above)).astype(value.dtype)
        if isinstance(value, Parts):
            return value
        if isinstance(value, (tuple, list)):
            return getattr(type(value), "_make", type(value))([self.of(item) for item in value])
        return value

    def same(self, value: Any, seen: Any) -> bool:
        """Whether an expression is what was seen."""
        if isinstance(value, Packed):
            return all([self.same(*pair) for pair in zip(value.items, seen.items, strict=True)])
        if isinstance(value, Parts):
            return all([self.same(part, getattr(seen, name)) for name, part in value.attributes.items()])
        found = self.of(value)
        return alike(found, seen if isinstance(found, torch.Tensor) else getattr(seen, "number", seen))


def assert_right(general: General, function: Any, args: list[torch.Tensor]) -> None:
    """Compare all shapes, parameters and constants with those of a pass at the sizes of *args*."""
    (other,) = generalise(function, args).passes
    at = Evaluation(other.trace)
    assert not [c for c in general.constants.values() if isinstance(c, Varying)]
    assert len(general.instructions) == len(other.instructions)
    for slot, shape in general.shapes.items():
        assert at.of(shape) == other.shape(slot)
    for instruction, seen in zip(general.instructions, other.instructions):
        for value, known in zip(getattr(instruction, "inputs", ()), getattr(seen, "inputs", ()), strict=True):
            assert at.same(value, known), (instruction, seen)
        for value, known in zip(getattr(instruction, "params", ()), getattr(seen, "params", ()), strict=True):
            assert at.same(value, known), (instruction, seen)
        if hasattr(seen, "array"):
            assert at.same(general.constants[instruction.outputs[0]], seen.array)


@pytest.mark.parametrize("name", MODELS)
def test_models_at_a_batch_size_that_was_not_tried(name: str) -> None:
    deployed = MODELS[name]
    model = deployed.model()
    axes = {number: {axis: "batch"} for number, axis in enumerate(deployed.axes) if axis is not None}
    general = generalise(model, deployed.inputs(2), axes)
    assert_right(general, model, list(deployed.inputs(7)))


CASES: dict[str, tuple[Any, list[torch.Tensor], dict[int, dict[int, str]], list[torch.Tensor]]] = {
    "a position for each step": (
        lambda x: x + torch.arange(x.shape[1])[:, None] + torch.zeros(x.shape[1], 1),
        [torch.ones(2, 5, 3)], {0: {0: "batch", 1: "time"}}, [torch.ones(6, 11, 3)],
    ),
    "steps counted from one": (
        lambda x: x / torch.arange(1, x.shape[1] + 1)[:, None],
        [torch.ones(2, 5, 3)], {0: {1: "time"}}, [torch.ones(2, 11, 3)],
    ),
    "a causal mask": (
        lambda q: nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True),
        [torch.ones(2, 5, 4)], {0: {0: "batch", 1: "time"}}, [torch.ones(6, 9, 4)],
    ),
    "a triangle of ones": (
        lambda x: x * torch.tril(torch.ones(x.shape[0], x.shape[0])),
        [torch.ones(4, 4)], {0: {0: "n", 1: "n"}}, [torch.ones(9, 9)],
    ),
    "halves": (
        lambda x: x[:, : x.shape[1] // 2] + x[:, -(x.shape[1] // 2) :],
        [torch.ones(2, 6)], {0: {1: "width"}}, [torch.ones(2, 15)],
    ),
    "the mean written by hand": (
        lambda x: x.sum(1) * (1 / x.shape[1]) + x.sum() / (x.shape[0] * x.shape[1]) + x.sum() / x.shape[1] ** 0.5,
        [torch.ones(2, 6)], {0: {0: "batch", 1: "width"}}, [torch.ones(7, 12)],
    ),
    "flat after convolutions": (
        nn.Sequential(nn.Conv2d(1, 3, 3, stride=2), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()),
        [torch.ones(2, 1, 13, 17)], {0: {0: "batch", 2: "height", 3: "width"}}, [torch.ones(3, 1, 22, 31)],
    ),
    "two sizes joined": (
        lambda x, y: torch.cat([x, y]).reshape(-1, 1, x.shape[0] + y.shape[0]),
        [torch.ones(3), torch.ones(5)], {0: {0: "one"}, 1: {0: "other"}}, [torch.ones(8), torch.ones(4)],
    ),
    "written into": (
        lambda x: torch.zeros(x.shape).index_fill_(0, torch.tensor([0]), 1.0) + x,
        [torch.ones(3, 2)], {0: {0: "batch"}}, [torch.ones(8, 2)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_expressions(name: str) -> None:
    function, args, axes, others = CASES[name]
    assert_right(generalise(function, args, axes), function, others)


def test_a_size_is_shown_as_python() -> None:
    axis = Axis(torch.ones(1)._array.ndim * 0, 1)
    assert Size(((2, (axis, axis)), (-3, ()))).text(lambda a: "n") == "2*n*n - 3"
    assert Size(((-1, (axis,)), (1, ())), 4).text(lambda a: "n") == "(-n + 1)//4"
    assert Size(((1, (axis,)),)).value(lambda a: 5) == 5


def test_arguments_are_not_written() -> None:
    x = torch.zeros(2, 3)
    generalise(lambda x: x.add_(1), [x], {0: {0: "batch"}})
    assert x.sum().item() == 0


def test_what_cannot_be_written_for_all_sizes_is_kept_apart() -> None:
    def squares(x: torch.Tensor) -> torch.Tensor:
        return x * torch.tensor([float(n % 3) for n in range(x.shape[0])])

    general = generalise(squares, [torch.ones(4)], {0: {0: "n"}})
    assert [type(c) for c in general.constants.values()] == [Varying]


class Uneven(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.sin() if x.shape[0] == 3 else x.exp()


def test_other_things_at_other_sizes() -> None:
    with pytest.raises(
        CannotGeneralise, match=r"'n' cannot vary.*at size 5 it does exp\(\) where it otherwise does sin\(\) \(in 0\)"
    ):
        generalise(nn.Sequential(Uneven()), [torch.ones(3)], {0: {0: "n"}})


@pytest.mark.parametrize("size", [5, 9, 20])
def test_small_sizes_decide(size: int) -> None:
    def scale(factor: Callable[[int], float]) -> Any:
        general = generalise(lambda x: x * factor(len(x)), [torch.ones(size)], {0: {0: "n"}})
        return general.instructions[0].inputs[1]

    up = scale(lambda n: math.ceil(n / 4))
    assert [up.value(lambda _, n=n: n) for n in range(1, 60)] == [math.ceil(n / 4) for n in range(1, 60)]
    at_least = scale(lambda n: max(n, 4))
    assert [at_least.value(lambda _, n=n: n) for n in range(1, 60)] == [max(n, 4) for n in range(1, 60)]
    assert type(scale(lambda n: 2 if n > 3 else 3)) is Varying
    assert type(scale(lambda n: int(math.log2(n + 1)))) is Varying
    with pytest.raises(CannotGeneralise, match=r"at size 3 it does sin\(\) where it otherwise does exp\(\)"):
        generalise(lambda x: x.exp() if len(x) > 3 else x.sin(), [torch.ones(size)], {0: {0: "n"}})


def test_the_sizes_that_work_are_found() -> None:
    def of_even(x: torch.Tensor) -> torch.Tensor:
        return x.reshape(x.shape[0], 2, -1)

    general = generalise(of_even, [torch.ones(2, 6)], {0: {1: "width"}})
    sizes = [p.shape(general.trace.arguments[0])[1] for p in general.passes]
    assert sizes[:7] == [6, 10, 12, 18, 8, 4, 2]
    assert not [size for size in sizes if size % 2]
    assert max(sizes) > 1024
    assert not general.bounds


def test_fails_at_other_sizes() -> None:
    with pytest.raises(CannotGeneralise, match="cannot vary: the block runs in one way at the sizes"):
        generalise(nn.Linear(3, 2), [torch.ones(2, 3)], {0: {1: "features"}})
    with pytest.raises(CannotGeneralise, match="give them different names"):
        generalise(lambda x: x, [torch.ones(2, 3)], {0: {0: "n", 1: "n"}})
    with pytest.raises(CannotGeneralise, match="no elements"):
        generalise(lambda x: x, [torch.ones(0, 3)], {0: {0: "n"}})
