"""Activation functions: special points, arguments, in-place forms, integers and errors."""

from __future__ import annotations

from math import inf, isnan, nan
from typing import Any

import numpy as np
import pytest

from backend import torch

F = torch.nn.functional


def value_and_slope(function: Any, *values: float) -> tuple[list[float], list[float]]:
    x = torch.tensor(values, dtype=torch.float64, requires_grad=True)
    out = function(x)
    out.sum().backward()
    return out.tolist(), x.grad.tolist()


@pytest.mark.parametrize(
    ("function", "points", "values", "slopes"),
    [
        (F.relu, (-1.0, 0.0, 2.0), [0.0, 0.0, 2.0], [0.0, 0.0, 1.0]),
        (F.relu6, (0.0, 3.0, 6.0, 7.0), [0.0, 3.0, 6.0, 6.0], [0.0, 1.0, 0.0, 0.0]),
        (F.hardtanh, (-1.0, 0.5, 1.0), [-1.0, 0.5, 1.0], [0.0, 1.0, 0.0]),
        (lambda x: F.leaky_relu(x, 0.25), (-4.0, 0.0, 4.0), [-1.0, 0.0, 4.0], [0.25, 0.25, 1.0]),
        (lambda x: F.leaky_relu(x, -0.5), (-4.0, 4.0), [2.0, 4.0], [-0.5, 1.0]),
        (lambda x: F.threshold(x, 1.0, 9.0), (0.0, 1.0, 2.0), [9.0, 9.0, 2.0], [0.0, 0.0, 1.0]),
        (lambda x: F.softshrink(x, 2.0), (-3.0, -2.0, 2.0, 3.0), [-1.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 1.0]),
        (lambda x: F.hardshrink(x, 2.0), (-3.0, -2.0, 2.0, 3.0), [-3.0, 0.0, 0.0, 3.0], [1.0, 0.0, 0.0, 1.0]),
        (F.hardswish, (-4.0, -3.0, 0.0, 3.0, 4.0), [0.0, 0.0, 0.0, 3.0, 4.0], [0.0, 0.0, 0.5, 1.0, 1.0]),
        (lambda x: F.elu(x, 2.0), (0.0, 3.0), [0.0, 3.0], [2.0, 1.0]),
        (F.softplus, (-inf, 0.0, 100.0, inf), [0.0, np.log(2), 100.0, inf], [0.0, 0.5, 1.0, 1.0]),
        (F.logsigmoid, (-1000.0, 0.0, 1000.0), [-1000.0, -np.log(2), 0.0], [1.0, 0.5, 0.0]),
        (F.softsign, (-1.0, 3.0), [-0.5, 0.75], [0.25, 0.0625]),
        (F.silu, (0.0,), [0.0], [0.5]),
        (F.gelu, (0.0, inf), [0.0, inf], [0.5, nan]),
    ],
)
def test_values_and_slopes_at_special_points(
    function: Any, points: tuple[float, ...], values: list[float], slopes: list[float]
) -> None:
    found = value_and_slope(function, *points)
    np.testing.assert_allclose(found[0], values, atol=1e-15)
    finite = [not isnan(slope) for slope in slopes]
    np.testing.assert_allclose(np.array(found[1])[finite], np.array(slopes)[finite], atol=1e-15)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize(
    "name",
    [
        "relu6",
        "hardtanh",
        "hardsigmoid",
        "hardswish",
        "hardshrink",
        "softshrink",
        "threshold",
        "leaky_relu",
        "softplus",
    ],
)
def test_large_arrays_as_small_ones(name: str, dtype: str) -> None:
    params = (0.5, 2.0) if name == "threshold" else ()
    special = [0.0, -0.0, inf, -inf, nan, 0.5, -0.5, 1.0, -1.0, 3.0, -3.0, 6.0, 7.0, -7.0, 0.75]
    values = np.resize(np.array(special, dtype), 4608)  # whole vectors: the rest differs in PyTorch
    factors = np.random.default_rng(0).normal(size=values.shape).astype(dtype)
    factors[7::45] = nan

    def run(rows: slice) -> tuple[np.ndarray, np.ndarray]:
        x = torch.from_numpy(values[rows].copy()).requires_grad_()
        out = getattr(F, name)(x, *params)
        out.backward(torch.from_numpy(factors[rows].copy()))
        return out.detach().numpy(), x.grad.numpy()

    small = [np.concatenate(parts) for parts in zip(*[run(slice(n, n + 512)) for n in range(0, 4608, 512)])]
    for large, one_by_one in zip(run(slice(None)), small):
        assert large.dtype == one_by_one.dtype
        np.testing.assert_allclose(large, one_by_one, rtol=1e-3 if dtype == "float16" else 1e-6)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("gelu", -0.15865525393145707),
        ("silu", -0.2689414213699951),
        ("mish", -0.3034014613741089),
        ("selu", -1.1113307378125625),
        ("celu", -0.6321205588285577),
        ("hardsigmoid", 1 / 3),
        ("tanhshrink", -0.2384058440442351),
    ],
)
def test_values_at_minus_one(name: str, value: float) -> None:
    assert getattr(F, name)(torch.tensor(-1.0, dtype=torch.float64)).item() == pytest.approx(value, rel=1e-14)


def test_gelu_has_two_forms() -> None:
    x = torch.tensor(1.0, dtype=torch.float64)
    assert F.gelu(x).item() == pytest.approx(0.8413447460685429, rel=1e-14)
    assert F.gelu(x, approximate="tanh").item() == pytest.approx(0.8411919906082768, rel=1e-12)


@pytest.mark.parametrize("size", [3, 2000])
def test_relu_hands_gradients_on_bit_by_bit(size: int) -> None:
    x = torch.ones(size, requires_grad=True)
    grad = torch.full((size,), nan)
    grad[0], grad[1] = inf, -0.0
    F.relu(x).backward(grad)
    assert x.grad.tolist()[:2] == [inf, -0.0]
    assert isnan(x.grad[2].item())
    assert isnan(F.relu(torch.tensor(nan)).item())


@pytest.mark.parametrize(
    "name",
    ["relu", "relu6", "leaky_relu", "elu", "selu", "celu", "silu", "mish", "hardtanh", "hardsigmoid", "hardswish"],
)
def test_in_place_forms_write_into_their_input(name: str) -> None:
    function = getattr(F, name)
    x = torch.tensor([-1.0, 0.5], requires_grad=True)
    y = x * 2
    assert function(y, inplace=True) is y
    y.sum().backward()
    z = torch.tensor([-1.0, 0.5], requires_grad=True)
    function(z * 2).sum().backward()
    assert x.grad.tolist() == pytest.approx(z.grad.tolist(), rel=1e-6)


def test_relu_and_hardtanh_of_integers() -> None:
    x = torch.tensor([-2, 3, 9])
    assert torch.relu(x).tolist() == [0, 3, 9]
    assert F.relu6(x).tolist() == [0, 3, 6]
    assert F.relu6(x).dtype is torch.int64


def test_prelu_has_a_weight_for_each_channel() -> None:
    x = torch.tensor([[-1.0, -1.0], [2.0, -3.0]], requires_grad=True)
    weight = torch.tensor([0.5, 0.25], requires_grad=True)
    out = F.prelu(x, weight)
    assert out.tolist() == [[-0.5, -0.25], [2.0, -0.75]]
    out.sum().backward()
    assert x.grad.tolist() == [[0.5, 0.25], [1.0, 0.25]]
    assert weight.grad.tolist() == [-1.0, -4.0]
    assert F.prelu(torch.full((1, 2, 3), -1.0), weight)[0, :, 0].tolist() == [-0.5, -0.25]


def test_glu_gates_one_half_by_the_other() -> None:
    x = torch.tensor([[2.0, 4.0], [0.0, 0.0]], requires_grad=True)
    out = F.glu(x, dim=0)
    assert out.tolist() == [[1.0, 2.0]]
    out.sum().backward()
    assert x.grad.tolist() == [[0.5, 0.5], [0.5, 1.0]]


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: torch.relu(torch.tensor([True])), RuntimeError, "Boolean inputs"),
        (lambda: F.gelu(torch.tensor([1])), NotImplementedError, "not implemented for 'Long'"),
        (lambda: F.silu(torch.tensor([1])), NotImplementedError, "not implemented for 'Long'"),
        (lambda: F.elu(torch.tensor([1])), NotImplementedError, "not implemented for 'Long'"),
        (lambda: F.gelu(torch.ones(2), approximate="no"), RuntimeError, "none or tanh"),
        (lambda: F.hardtanh(torch.ones(2), 2, 1), ValueError, "min_val"),
        (lambda: F.celu(torch.ones(2), 0.0), RuntimeError, "alpha cannot be 0"),
        (lambda: F.softshrink(torch.ones(2), -1.0), RuntimeError, "lambda"),
        (lambda: F.glu(torch.ones(3)), RuntimeError, "must be even"),
        (lambda: F.prelu(torch.ones(2, 3, 4), torch.ones(4)), RuntimeError, "Mismatch of parameter numbers"),
    ],
)
def test_errors(call: Any, kind: type, message: str) -> None:
    with pytest.raises(kind, match=message):
        call()


ONE_ARGUMENT = [
    "relu",
    "relu6",
    "leaky_relu",
    "elu",
    "selu",
    "celu",
    "gelu",
    "silu",
    "mish",
    "hardtanh",
    "hardsigmoid",
    "hardswish",
    "softplus",
    "softsign",
    "tanhshrink",
    "softshrink",
    "hardshrink",
    "logsigmoid",
    "sigmoid",
    "tanh",
]


@pytest.mark.parametrize("name", ONE_ARGUMENT)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_values_and_gradients_equal_pytorch(name: str, dtype: str) -> None:
    pytorch = pytest.importorskip("torch")
    values = np.concatenate([np.linspace(-30, 30, 401), np.linspace(-1, 1, 2001)]).astype(dtype)
    results = []
    for engine in (torch, pytorch):
        x = engine.tensor(values, requires_grad=True)
        out = getattr(engine.nn.functional, name)(x)
        out.sum().backward()
        results.append((out.detach().numpy(), x.grad.numpy()))
    tolerance = 1e-6 if dtype == "float32" else 1e-7  # PyTorch's hardsigmoid has a sixth of float32 in float64
    for ours, theirs in zip(*results):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


def test_prelu_of_a_0_d_tensor() -> None:
    assert torch.nn.functional.prelu(torch.tensor(-2.0), torch.tensor([0.25])).shape == ()
