"""Values and dtypes that onnxruntime treats in another way are written around: NaN, small integers, masks, float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch as torch
from minitorch import nn
from minitorch.nn import functional as F

pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
NAN, INF = float("nan"), float("inf")


def assert_runs(function: Callable[..., Any], *args: torch.Tensor, **options: Any) -> None:
    """The file gives what the function gives, in its dtypes."""
    names = [f"x{k}" for k in range(len(args))]
    program = torch.onnx.export(function, args, input_names=names, **options)
    session = onnxruntime.InferenceSession(program.model_proto.SerializeToString())
    taken = {given.name for given in session.get_inputs()}
    found = session.run(None, {n: x.numpy().copy() for n, x in zip(names, args) if n in taken})
    expected = function(*args)
    for got, known in zip(found, expected if isinstance(expected, tuple) else (expected,), strict=True):
        assert got.dtype == known.detach().numpy().dtype
        np.testing.assert_allclose(got, known.detach().numpy(), 1e-5, 1e-6)


@pytest.mark.parametrize("values", [[1, NAN, 2], [NAN, 3, NAN, 4], [-INF, NAN, -INF], [INF, NAN], [3.0, 2, 3, 1]])
def test_nan_in_running_extremes_and_logsumexp(values: list[float]) -> None:
    x = torch.tensor(values)
    assert_runs(lambda x: tuple(x.cummax(0)), x)
    assert_runs(lambda x: tuple(x.cummin(0)), x)
    assert_runs(lambda x: x.logsumexp(0), x)


ORDERED: list[Callable[..., Any]] = [
    lambda x: tuple(x.sort(1)),
    lambda x: tuple(x.sort(1, descending=True)),
    lambda x: tuple(x.topk(3, 1)),
    lambda x: tuple(x.topk(2, 1, largest=False)),
    lambda x: x.kthvalue(3, 1).values,
    lambda x: tuple(x.median(1)),
    lambda x: x.median(),
    lambda x: tuple(x.nanmedian(1, keepdim=True)),
    lambda x: x.nanmedian(),
    lambda x: tuple(x.max(1)),
    lambda x: tuple(x.min(0)),
    lambda x: (x.amax(1), x.amin(), *x.aminmax(dim=0), x.argmax(1), x.argmin(0), x.argmax(), x.max(), x.min()),
    lambda x: (x.norm(INF, dim=1), x.norm(-INF, dim=1), x.logsumexp(0), x.logcumsumexp(1)),
    lambda x: (x.quantile(0.3, dim=1), x.nanquantile(0.3, dim=1), x.quantile(0.9), x.nanquantile(0.5, keepdim=True)),
    lambda x: x.nanquantile(torch.tensor([0.1, 0.5, 1.0], dtype=x.dtype), dim=0, keepdim=True),
    lambda x: tuple([x.nanquantile(0.4, 1, interpolation=i) for i in ("lower", "higher", "midpoint", "nearest")]),
]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("function", ORDERED)
def test_nan_and_infinities_in_order(function: Callable[..., Any], dtype: torch.dtype) -> None:
    rows = [[3, NAN, 1, 2, INF], [1, INF, NAN, -INF, NAN], [NAN] * 5, [5, 4, 3, 2, 1], [INF, NAN, INF, 0, -INF]]
    x = torch.tensor(rows, dtype=dtype)
    names, axes = ["x0"], {"x0": {0: "n", 1: "m"}}
    program = torch.onnx.export(function, x, input_names=names, dynamic_axes=axes)
    session = onnxruntime.InferenceSession(program.model_proto.SerializeToString())
    for given in (x, x[:2], torch.cat([x, x[:, [3, 1]]], 1), x[3:4]):
        expected = function(given)
        found = session.run(None, {"x0": given.numpy().copy()})
        for got, known in zip(found, expected if isinstance(expected, tuple) else (expected,), strict=True):
            assert got.dtype == known.numpy().dtype
            np.testing.assert_allclose(got, known.numpy(), 1e-5, 1e-6)


NUMBERS = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.1, INF, -INF, NAN, 7.0, -7.0, 0.1]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_division_by_infinities_and_zeros(dtype: torch.dtype) -> None:
    x, y = [t.reshape(-1) for t in torch.meshgrid(*[torch.tensor(NUMBERS, dtype=dtype)] * 2, indexing="ij")]
    assert_runs(
        lambda x, y: (x // y, x % y, torch.fmod(x, y), *[x.div(y, rounding_mode=r) for r in ("floor", "trunc")]), x, y
    )
    for number in (2.0, -2.0, INF, -INF, 0.0):
        assert_runs(
            lambda x, number=number: (x // number, x % number, number // x, number % x, torch.fmod(x, number)), x
        )


@pytest.mark.parametrize("dtype", [torch.int8, torch.int32, torch.int64])
def test_division_of_integers(dtype: torch.dtype) -> None:
    x, y = torch.tensor([7, -7, 7, -7, 6, -6, 0], dtype=dtype), torch.tensor([2, 2, -2, -2, 3, -3, 5], dtype=dtype)
    assert_runs(lambda x, y: (x // y, x % y, torch.fmod(x, y), x.div(y, rounding_mode="trunc")), x, y)


SMALL: list[Callable[..., Any]] = [
    lambda x: -x,
    lambda x: x.max(),
    lambda x: x.amin(0),
    lambda x: tuple(x.aminmax(dim=0)),
    lambda x: x @ x,
    lambda x: x**3,
    lambda x: x.clamp(-2, 2),
    lambda x: x.clamp_max(3),
    lambda x: x.argmax(1),
    lambda x: F.pad(x, (1, 1)),
    lambda x: torch.where(x > 2, x, 0),
    lambda x: x.triu(),
    lambda x: x.relu(),
]


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int16])
@pytest.mark.parametrize("function", SMALL)
def test_small_integers(function: Callable[..., Any], dtype: torch.dtype) -> None:
    assert_runs(function, torch.tensor([[1, 100], [3, -4]]).to(dtype))


MASK, MATRIX = torch.tensor([True, False, True]), torch.tensor([[True, False, True], [False, True, True]])


@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (lambda x: x[:, MASK], (2, 3)),
        (lambda x: x[:, [True, False, True]], (2, 3)),
        (lambda x: x[:, MATRIX], (4, 2, 3, 2)),
        (lambda x: x[:, MASK, torch.tensor([1, 0])], (4, 3, 2)),
    ],
)
def test_masks_that_are_known(function: Callable[..., Any], shape: tuple[int, ...]) -> None:
    assert_runs(function, torch.randn(shape), dynamic_axes={"x0": {0: "n"}})


def test_losses_and_even_kernels() -> None:
    scores, target = torch.randn(4, 3), torch.tensor([0, 2, -100, 1])
    assert_runs(lambda x, y: F.cross_entropy(x, y, label_smoothing=0.1), scores, target)
    weight = torch.tensor([1.0, 2.0, 3.0])
    assert_runs(lambda x, y: F.cross_entropy(x, y, weight, label_smoothing=0.1), scores, target)
    assert_runs(F.gaussian_nll_loss, scores, torch.randn(4, 3), torch.tensor([[0.0], [1], [2], [1e-9]]).expand(4, 3))
    assert_runs(nn.Conv2d(1, 1, 4, padding="same"), torch.randn(1, 1, 6, 6))


@pytest.mark.parametrize(
    ("model", "shape", "op"), [(nn.Conv2d(1, 1, 2), (1, 1, 3, 3), "Conv"), (nn.LSTM(2, 2), (3, 1, 2), "LSTM")]
)
def test_float64_that_onnxruntime_lacks_is_said(model: nn.Module, shape: tuple[int, ...], op: str) -> None:
    with pytest.warns(UserWarning, match=f"computes {op} in float32 and converts"):
        torch.onnx.export(model.double(), torch.ones(shape, dtype=torch.float64))


def test_float16_is_computed_in_float32_in_chains() -> None:
    """As docs/how-to/deploy.md says of onnxruntime: a result that a later one needs is not rounded between them."""
    x, small = torch.ones(1, dtype=torch.float16), torch.tensor([2.0**-12], dtype=torch.float16)
    program = torch.onnx.export(lambda x, small: (x + small) - x, (x, small))
    session = onnxruntime.InferenceSession(program.model_proto.SerializeToString(), providers=["CPUExecutionProvider"])
    (found,) = session.run(None, {"x": x.numpy(), "small": small.numpy()})
    assert (found.dtype, found.item(), ((x + small) - x).item()) == (np.float16, 2.0**-12, 0.0)


def test_what_is_lacking_has_the_name_that_is_called() -> None:
    with pytest.raises(torch.onnx.errors.UnsupportedOperatorError, match=r"\n  mode\(\)"):
        torch.onnx.export(lambda x: x.mode(), torch.ones(3))
