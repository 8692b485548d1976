"""Activation functions and their derivative maps."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from minitorch._kernels import activation
from minitorch._kernels.activation import (
    elu,
    elu_derivative,
    gelu,
    gelu_backward,
    leaky_relu_backward,
    log_sigmoid,
    log_sigmoid_backward,
    mish_backward,
    relu,
    relu_backward,
    sigmoid,
    sigmoid_backward,
    silu,
    silu_backward,
    softplus,
    softplus_backward,
    softsign,
    softsign_backward,
    tanh_backward,
)

SIZES = [0, 1, 16, 100, 1500, 70_000]
TOLERANCE = {np.float16: 2e-3, np.float32: 8e-7, np.float64: 3e-15}


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    with np.errstate(all="ignore"):
        yield


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return np.exp(-np.logaddexp(0, -x))


def _normal(x: np.ndarray) -> np.ndarray:
    return np.reshape([0.5 * math.erfc(-value * math.sqrt(0.5)) for value in x.ravel()], x.shape)


def _tanh_share(x: np.ndarray) -> np.ndarray:
    return _sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))


# A kernel of x, and its value in float64.
FORWARD: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "relu": (relu, lambda x: np.maximum(x, 0)),
    "sigmoid": (sigmoid, _sigmoid),
    "silu": (silu, lambda x: x * _sigmoid(x)),
    "softplus": (softplus, lambda x: np.where(x > 20, x, np.logaddexp(0, x))),
    "softplus scaled": (lambda x: softplus(x, 2.0, 5.0), lambda x: np.where(2 * x > 5, x, np.logaddexp(0, 2 * x) / 2)),
    "log_sigmoid": (log_sigmoid, lambda x: -np.logaddexp(0, -x)),
    "gelu": (lambda x: gelu(x)[0], lambda x: x * _normal(x)),
    "gelu tanh": (lambda x: gelu(x, "tanh")[0], lambda x: x * _tanh_share(x)),
    "softsign": (softsign, lambda x: x / (1 + np.abs(x))),
    "elu": (lambda x: elu(x, 0.5, 1.5, 2.0), lambda x: 1.5 * np.where(x > 0, x, 0.5 * np.expm1(2 * np.minimum(x, 0)))),
    "elu_derivative": (lambda x: elu_derivative(x, 0.5, 1.5, 2.0), lambda x: np.where(x > 0, 1.5, 0.5 * np.exp(2 * x))),
}


def _tanh_slope(x: np.ndarray) -> np.ndarray:
    share = _tanh_share(x)
    return share + x * share * (1 - share) * 2 * math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * x**2)


def _mish_slope(x: np.ndarray) -> np.ndarray:
    share = np.tanh(np.logaddexp(0, x))
    return share + x * (1 - share**2) * _sigmoid(x)


# A kernel of grad and x, and what multiplies grad, in float64.
BACKWARD: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "relu": (lambda g, x: relu_backward(g, relu(x)), lambda x: x > 0),
    "sigmoid": (lambda g, x: sigmoid_backward(g, sigmoid(x)), lambda x: _sigmoid(x) * _sigmoid(-x)),
    "tanh": (lambda g, x: tanh_backward(g, np.tanh(x)), lambda x: 1 - np.tanh(x) ** 2),
    "silu": (silu_backward, lambda x: _sigmoid(x) * (1 + x * _sigmoid(-x))),
    "softplus": (softplus_backward, _sigmoid),
    "softplus scaled": (
        lambda g, x: softplus_backward(g, x, 2.0, 5.0),
        lambda x: np.where(2 * x > 5, 1, _sigmoid(2 * x)),
    ),
    "mish": (mish_backward, _mish_slope),
    "softsign": (softsign_backward, lambda x: 1 / (1 + np.abs(x)) ** 2),
    "log_sigmoid": (log_sigmoid_backward, lambda x: _sigmoid(-x)),
    "gelu": (
        lambda g, x: gelu_backward(g, x, gelu(x)[1]),
        lambda x: _normal(x) + x * np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi),
    ),
    "gelu tanh": (lambda g, x: gelu_backward(g, x, gelu(x, "tanh")[1], "tanh"), _tanh_slope),
    "leaky_relu": (lambda g, x: leaky_relu_backward(g, x, 0.3), lambda x: np.where(x > 0, 1, 0.3)),
}


def _check(result: Any, expected: np.ndarray, dtype: type) -> None:
    assert type(result) is np.ndarray
    assert result.dtype == dtype
    assert result.shape == expected.shape
    assert result.base is None
    np.testing.assert_allclose(result, expected, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", FORWARD)
def test_values(name: str, size: int, dtype: type) -> None:
    kernel, exact = FORWARD[name]
    x = (np.random.default_rng(0).normal(size=size) * 6).astype(dtype)
    before = x.copy()
    _check(kernel(x), exact(x.astype(np.float64)), dtype)
    np.testing.assert_array_equal(x, before)
    if size:
        _check(kernel(x[:1].reshape(())), exact(x[:1].reshape(()).astype(np.float64)), dtype)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", BACKWARD)
def test_gradients(name: str, size: int, dtype: type) -> None:
    kernel, exact = BACKWARD[name]
    x, grad = (np.random.default_rng(1).normal(size=(2, size)) * 2).astype(dtype)
    result = kernel(grad, x)
    assert type(result) is np.ndarray
    assert result.dtype == dtype
    assert result.base is None
    expected = grad.astype(np.float64) * exact(x.astype(np.float64))
    assert (np.abs(result - expected) <= 4 * TOLERANCE[dtype] * np.abs(grad)).all()
    if size:
        assert kernel(grad[:1].reshape(()), x[:1].reshape(())).shape == ()


@pytest.mark.parametrize("name", FORWARD)
def test_layout_does_not_matter(name: str) -> None:
    kernel, _ = FORWARD[name]
    for shape in ((5, 4), (300, 200)):
        x = np.random.default_rng(2).normal(size=shape).astype(np.float32)
        np.testing.assert_allclose(kernel(x.T), kernel(x.T.copy()), rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(kernel(x[::2, 1:]), kernel(x[::2, 1:].copy()), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", BACKWARD)
def test_gradient_layout_does_not_matter(name: str) -> None:
    kernel, _ = BACKWARD[name]
    for shape in ((5, 4), (300, 200)):
        x = np.random.default_rng(3).normal(size=shape).astype(np.float32)
        grad = np.broadcast_to(np.float32(2), shape[::-1])
        np.testing.assert_allclose(kernel(grad, x.T), kernel(grad.copy(), x.T.copy()), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("copies", [1, 400])
def test_extremes(copies: int) -> None:
    x = np.tile(np.array([1000.0, -1000.0, np.inf, -np.inf, np.nan, -0.0], np.float32), copies)
    inf, nan = np.inf, np.nan
    expected = {
        "relu": [1000, 0, inf, 0, nan, 0],
        "sigmoid": [1, 0, 1, 0, nan, 0.5],
        "silu": [1000, 0, inf, nan, nan, 0],
        "softplus": [1000, 0, inf, 0, nan, math.log(2)],
        "softplus scaled": [1000, 0, inf, 0, nan, math.log(2) / 2],
        "log_sigmoid": [0, -1000, 0, -inf, nan, -math.log(2)],
        "gelu": [1000, 0, inf, nan, nan, 0],
        "gelu tanh": [1000, 0, inf, nan, nan, 0],
        "softsign": [1000 / 1001, -1000 / 1001, nan, nan, nan, 0],
        "elu": [1500, -0.75, inf, -0.75, nan, 0],
        "elu_derivative": [1.5, 0, 1.5, 0, 1.5, 0.5],
    }
    assert expected.keys() == FORWARD.keys()
    for name, values in expected.items():
        np.testing.assert_allclose(FORWARD[name][0](x), np.tile(values, copies), rtol=1e-6, err_msg=name)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("copies", [1, 400, 20_000])
def test_relu_backward_is_exact(copies: int, dtype: type) -> None:
    output = np.tile(
        np.array([1.0, 0.0, -0.0, np.nan, -np.nan, np.inf, np.finfo(dtype).smallest_subnormal], dtype), copies
    )
    grad = np.tile(np.array([-np.inf, np.nan, np.inf, np.inf, 3.0, np.nan, -0.0], dtype), copies)
    result = relu_backward(grad, output)
    expected = np.tile(np.array([-np.inf, 0.0, 0.0, np.inf, 3.0, np.nan, -0.0], dtype), copies)
    np.testing.assert_array_equal(result, expected)
    np.testing.assert_array_equal(np.signbit(result), np.signbit(expected))


def test_small_tails_are_kept() -> None:
    x = np.array([-30.0, -12.0])
    np.testing.assert_allclose(softplus(x), np.log1p(np.exp(x)), rtol=1e-14)
    np.testing.assert_allclose(gelu(x)[0], x * [4.906713927148187e-198, 1.776482112077679e-33], rtol=1e-13)
    many = np.tile(np.float32([-60, -10]), 500)
    np.testing.assert_allclose(softplus(many)[:2], [8.756510762696521e-27, 4.539889921686465e-05], rtol=1e-6)
    np.testing.assert_allclose(log_sigmoid(-many)[:2], [-8.756510762696521e-27, -4.539889921686465e-05], rtol=1e-6)


def test_softplus_is_the_identity_beyond_its_threshold() -> None:
    x = np.array([20.0, 20.5, 25.0])
    np.testing.assert_array_equal(softplus(x)[1:], x[1:])
    assert softplus(x)[0] > 20.0
    np.testing.assert_array_equal(softplus_backward(np.full(3, 3.0), x)[1:], [3.0, 3.0])
    assert softplus_backward(np.full(3, 3.0), x)[0] < 3.0


def test_agrees_with_pytorch() -> None:
    torch = pytest.importorskip("torch")
    functional = torch.nn.functional
    rng = np.random.default_rng(5)
    theirs: dict[str, Callable[..., Any]] = {
        "relu": torch.relu,
        "sigmoid": torch.sigmoid,
        "tanh": torch.tanh,
        "silu": functional.silu,
        "softplus": functional.softplus,
        "softplus scaled": lambda x: functional.softplus(x, 2.0, 5.0),
        "mish": functional.mish,
        "softsign": functional.softsign,
        "log_sigmoid": functional.logsigmoid,
        "gelu": functional.gelu,
        "gelu tanh": lambda x: functional.gelu(x, approximate="tanh"),
        "leaky_relu": lambda x: functional.leaky_relu(x, 0.3),
    }
    assert theirs.keys() == BACKWARD.keys()
    for dtype, tolerance in ((np.float32, 3e-6), (np.float64, 1e-14)):
        for size in (16, 1000, 40_000):
            x, grad = (rng.normal(size=(2, size)) * 3).astype(dtype)
            x[:4] = [0, -0.0, 100, -100]
            leaf = torch.tensor(x, requires_grad=True)
            for name, function in theirs.items():
                expected = function(leaf)
                if name in FORWARD:
                    np.testing.assert_allclose(
                        FORWARD[name][0](x), expected.detach().numpy(), atol=tolerance, err_msg=name
                    )
                (slope,) = torch.autograd.grad(expected, leaf, torch.tensor(grad))
                error = np.abs(BACKWARD[name][0](grad, x) - slope.numpy())
                assert (error <= tolerance * np.abs(grad)).all(), name


def test_every_public_function_is_tested() -> None:
    tested = {kernel.split(" ")[0] for kernel in FORWARD} | {kernel.split(" ")[0] + "_backward" for kernel in BACKWARD}
    public = {
        name for name, value in vars(activation).items() if getattr(value, "__module__", "") == activation.__name__
    }
    assert {name for name in public if not name.startswith("_")} == tested
