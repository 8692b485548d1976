"""What finds places, and results whose size depends on values; dtypes that ONNX's operators lack; windows at the end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch as torch
from minitorch._pytree import tree_flatten
from minitorch.nn import functional as F

pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")


def compared(function: Callable[..., Any], *inputs: Any, axes: Any = None, others: Any = ()) -> None:
    """Export a function of an example, and compare its results on this and on other inputs."""
    names = [f"x{n}" for n in range(len(inputs))]
    program = torch.onnx.export(function, inputs, input_names=names, dynamic_axes=axes)
    session = onnxruntime.InferenceSession(program.model_proto.SerializeToString(), providers=["CPUExecutionProvider"])
    fed = {given.name for given in session.get_inputs()}
    for given in (inputs, *others):
        known = [t for t in tree_flatten(function(*[t.clone() for t in given]))[0] if isinstance(t, torch.Tensor)]
        found = session.run(None, {n: np.array(t.numpy()) for n, t in zip(names, given) if n in fed})
        for ours, theirs in zip(known, found, strict=True):
            assert theirs.dtype == ours.numpy().dtype
            np.testing.assert_allclose(theirs, ours.numpy(), rtol=1e-5, atol=1e-5)


def written(x: torch.Tensor, value: Any, *place: Any) -> torch.Tensor:
    x = x.clone()
    x[place] = value
    return x


def scaled(x: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    x = x.clone()
    x[k].mul_(2)
    return x


def shifted(x: torch.Tensor) -> torch.Tensor:
    x = x.clone()
    x[:, 1:] = x[:, :-1].clone()
    return x


COUNT = {"x0": {0: "n"}}
OF_VALUES: dict[str, Callable[[torch.Tensor], Any]] = {
    "nonzero": lambda x: (torch.nonzero(x > 0), torch.where(x > 0), torch.nonzero(x, as_tuple=True)),
    "masks": lambda x: (x[x > 0], x[x[:, 0] > 0], x[:, x[0] > 0], x.masked_select(x > 0).mean()),
    "writes": lambda x: (
        written(x, 5.0, x[:, 0] > 0),
        written(x, x[x > 0] * 2, x > 0),
        written(x, x[:, 1][x[:, 1] < 0], x[:, 1] < 0, 1),
    ),
    "masked_scatter": lambda x: x.masked_scatter(x > 0, -x),
    "unique": lambda x: torch.unique(x.round(), return_inverse=True, return_counts=True),
    "runs": lambda x: torch.unique_consecutive(x.flatten() > 0, return_inverse=True, return_counts=True),
    "bincount": lambda x: torch.bincount((x.flatten() > 0).long() * 3, minlength=2),
    "repeats": lambda x: x.repeat_interleave((x[:, 0] > 0).long() + 1, 0),
}  # fmt: skip


@pytest.mark.parametrize("name", OF_VALUES)
def test_results_whose_size_depends_on_values(name: str) -> None:
    torch.manual_seed(0)
    x = torch.randn(4, 3)
    compared(OF_VALUES[name], x, axes=COUNT, others=[(torch.randn(n, 3),) for n in (2, 7)])


def test_places_that_are_tensors() -> None:
    torch.manual_seed(0)
    x, k = torch.randn(3, 4), torch.tensor(1)
    others = [(x, torch.tensor(n)) for n in (0, -1)]
    compared(lambda x, k: (x[k], x[:, k], x[k, 1:], x[k][k]), x, k, others=others)
    compared(scaled, x, k, others=others)
    compared(lambda x, k: written(x, 7.0, k), x, k, others=others)
    compared(lambda x: x[x[:, 0].argmax()], x, axes=COUNT, others=[(torch.randn(6, 4),)])


@pytest.mark.parametrize("right", [False, True])
def test_sorted_search(right: bool) -> None:
    edges, x = torch.tensor([-1.0, 0.0, 0.5, 2.0]), torch.tensor([[0.5, float("nan")], [-3.0, 9.0]])
    compared(lambda x: torch.bucketize(x, edges, right=right), x, axes=COUNT, others=[(torch.randn(5, 2),)])
    rows = torch.tensor([[1, 3], [5, 9]])
    compared(lambda s, x: torch.searchsorted(s, x, right=right), rows, torch.tensor([[3, 0], [7, 9]]))


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8])
def test_shifts_of_bits(dtype: torch.dtype) -> None:
    x = torch.tensor([0, 1, 7, 100, 127] if dtype is torch.uint8 else [0, 1, -1, 100, -100]).to(dtype)
    far = torch.tensor([0, 1, 3, 7, 63]).to(dtype)
    compared(lambda x, far: (x << far, x >> far, x << 2, x >> 1), x, far)


def test_diagonals_and_rolls_of_any_size() -> None:
    torch.manual_seed(0)
    others = [(torch.randn(n, 4),) for n in (1, 3, 7)]
    compared(
        lambda x: (torch.diag(x[:, 0], 1), torch.diag_embed(x, -1, 0, 2)), torch.randn(5, 4), axes=COUNT, others=others
    )
    compared(
        lambda x: (x.diagonal(1), x.roll((1, -2), (0, 1)), x.roll(3)), torch.randn(5, 4), axes=COUNT, others=others
    )
    compared(lambda x: torch.diagonal_scatter(x, torch.ones(4)), torch.randn(5, 4))
    compared(lambda x: torch.slice_scatter(x, torch.ones(2, 4), 0, 1, 5, 2), torch.randn(5, 4))


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.float16])
def test_writes_into_views_of_dtypes_that_hold_no_places(dtype: torch.dtype) -> None:
    x = torch.arange(6000).remainder(3).to(dtype).view(2, 3000)
    compared(shifted, x)


def test_dtypes_that_operators_lack() -> None:
    integers = torch.tensor([-3, 0, 3, 100000])
    compared(lambda x: (x.ceil(), x.isnan(), x.isfinite(), torch.isclose(x, x + 1), torch.atan2(x, x + 1)), integers)
    bits = torch.tensor([True, False])
    compared(lambda x: (x.isnan(), torch.sign(x), torch.where(x, x, ~x), x.logit()), bits)
    compared(lambda x: x.logit(), torch.tensor([0, 1], dtype=torch.uint8))
    compared(lambda x: (x.any(), x.all(), x.any(1)), torch.zeros(3, 0))
    compared(lambda x: torch.hypot(x, x), torch.tensor([1e30, 1e-30, 0.0]))


def test_float64_is_computed_in_float32_where_onnxruntime_has_no_other() -> None:
    x = torch.tensor([0.3, -0.5], dtype=torch.float64)
    with pytest.warns(UserWarning, match="computes Erf, Tan in float32"):
        compared(lambda x: (x.erf(), x.tan(), x.exp()), x)


@pytest.mark.parametrize("counted", [True, False])
@pytest.mark.parametrize("divisor", [None, 3])
def test_average_pooling_that_rounds_up(counted: bool, divisor: int | None) -> None:
    torch.manual_seed(0)
    axes = {"x0": {2: "h", 3: "w"}}
    others = [(torch.randn(1, 2, *size),) for size in ((6, 9), (8, 5))]
    for kernel, stride, padding in ((3, 2, 1), (2, 3, 1), (3, 2, 0)):
        compared(
            lambda x: F.avg_pool2d(x, kernel, stride, padding, True, counted, divisor),
            torch.randn(1, 2, 7, 7),
            axes=axes,
            others=others,
        )


def test_indices_of_maxima_and_the_way_back() -> None:
    torch.manual_seed(0)
    axes = {"x0": {0: "n", 2: "h", 3: "w"}}
    others = [(torch.randn(3, 2, 8, 6),)]
    compared(
        lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2),
        torch.randn(2, 2, 4, 6),
        axes=axes,
        others=others,
    )
    compared(
        lambda x: F.adaptive_max_pool2d(x, 3, return_indices=True), torch.randn(2, 2, 7, 5), axes=axes, others=others
    )
    compared(
        lambda x: F.interpolate(x, scale_factor=1.5, mode="area"), torch.randn(2, 2, 7, 5), axes=axes, others=others
    )
