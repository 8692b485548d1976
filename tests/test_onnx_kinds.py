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


def test_what_is_lacking_has_the_name_that_is_called() -> None:
    with pytest.raises(torch.onnx.errors.UnsupportedOperatorError, match=r"\n  quantile\(\)"):
        torch.onnx.export(lambda x: x.quantile(0.5), torch.ones(3))
