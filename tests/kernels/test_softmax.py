"""Softmax, log-softmax, logsumexp and their derivative maps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from minitorch._kernels.softmax import (
    log_softmax,
    log_softmax_backward,
    log_softmax_bend,
    log_softmax_tangent,
    logsumexp,
    softmax,
    softmax_backward,
    softmax_bend,
    softmax_turn,
)

SHAPES = [
    (4,),
    (1, 1),
    (4, 4),
    (64, 10),
    (40, 33),
    (3, 200),
    (2, 3, 5),
    (2, 5000),
    (700, 100),
    (9, 130, 70),
    (0, 3),
    (3, 0),
]
TOLERANCE = {np.float16: 2e-3, np.float32: 3e-6, np.float64: 1e-14}


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    with np.errstate(all="ignore"):
        yield


def _exact_log_softmax(x: np.ndarray, dim: int) -> np.ndarray:
    wide = x.astype(np.float64)
    wide = wide - wide.max(dim, keepdims=True, initial=-np.inf)
    return wide - np.log(np.exp(wide).sum(dim, keepdims=True))


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("scale", [1, 30, 300])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_values_along_every_axis(shape: tuple[int, ...], scale: float, dtype: type) -> None:
    x = (np.random.default_rng(0).normal(size=shape) * scale).astype(dtype)
    before = x.copy()
    for dim in range(-len(shape), len(shape)):
        expected = _exact_log_softmax(x, dim)
        for result, wanted in ((softmax(x, dim), np.exp(expected)), (log_softmax(x, dim), expected)):
            assert type(result) is np.ndarray
            assert result.base is None
            assert result.dtype == dtype
            assert result.flags.c_contiguous
            np.testing.assert_allclose(result, wanted, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])
    np.testing.assert_array_equal(x, before)


def test_literal_values() -> None:
    x = np.array([[1.0, 2.0, 3.0]])
    np.testing.assert_allclose(
        softmax(x, 1), [[0.09003057317038046, 0.24472847105479764, 0.6652409557748218]], rtol=1e-15
    )
    np.testing.assert_allclose(
        log_softmax(x, 1), [[-2.40760596444438, -1.4076059644443804, -0.4076059644443804]], rtol=1e-15
    )
    np.testing.assert_allclose(logsumexp(x, (1,), False), [3.4076059644443806], rtol=1e-15)


def test_zero_dimensional_input() -> None:
    for kernel, finite in ((softmax, 1.0), (log_softmax, 0.0)):
        for dim in (0, -1):
            assert kernel(np.array(3.0, np.float32), dim).shape == ()
            assert kernel(np.array(3.0), dim) == finite
            assert np.isnan(kernel(np.array(np.inf), dim))
    assert logsumexp(np.array(3.0), (0,), False) == 3.0


@pytest.mark.parametrize("shape", [(6, 4), (6, 40), (6, 300), (6, 5000)])
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_what_is_not_finite_stays_in_its_row(shape: tuple[int, int], value: float) -> None:
    x = np.random.default_rng(1).normal(size=shape).astype(np.float32)
    clean = x.copy()
    x[2, 1] = value
    others = np.arange(6) != 2
    for kernel in (softmax, log_softmax):
        result = kernel(x, 1)
        np.testing.assert_allclose(result[others], kernel(clean, 1)[others], rtol=1e-5)
        if value == -np.inf:
            assert result[2, 1] == (0.0 if kernel is softmax else -np.inf)
            assert np.isfinite(np.delete(result[2], 1)).all()
        else:
            assert np.isnan(result[2]).all()
    for backward in (softmax_backward, log_softmax_backward):
        result = backward(x, softmax(clean, 1), 1)
        assert np.isfinite(result[others]).all()
        assert not np.isfinite(result[2]).all()


def test_row_of_minus_infinity() -> None:
    x = np.array([[-np.inf, -np.inf], [0.0, 0.0]])
    np.testing.assert_array_equal(softmax(x, 1), [[np.nan, np.nan], [0.5, 0.5]])
    assert np.isnan(log_softmax(x, 1)[0]).all()
    np.testing.assert_allclose(logsumexp(x, (1,), False), [-np.inf, np.log(2)])


def test_logsumexp_of_infinities_and_nothing() -> None:
    x = np.array([[np.inf, 1.0], [np.nan, 1.0], [1000.0, 1000.0], [-np.inf, 2.0]], np.float32)
    np.testing.assert_allclose(logsumexp(x, (1,), False), np.array([np.inf, np.nan, 1000 + np.log(2), 2]), rtol=1e-6)
    np.testing.assert_array_equal(logsumexp(np.ones((2, 0)), (1,), True), np.full((2, 1), -np.inf))
    result = logsumexp(np.zeros((2, 3, 4), np.float16), (0, 2), True)
    assert result.shape == (1, 3, 1)
    assert result.dtype == np.float16
    np.testing.assert_allclose(result, np.log(8), rtol=1e-3)
    total = logsumexp(np.zeros((2, 2)), (0, 1), False)
    assert type(total) is np.ndarray
    assert total.shape == ()


@pytest.mark.parametrize("shape", [(4, 4), (64, 10), (2, 300), (3, 4, 5), (900, 100)], ids=str)
def test_backward_maps(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(2)
    x, grad = rng.normal(size=(2, *shape))
    for dim in range(len(shape)):
        output = softmax(x, dim)
        expected = output * (grad - (grad * output).sum(dim, keepdims=True))
        np.testing.assert_allclose(softmax_backward(grad, output, dim), expected, atol=1e-14)
        expected = grad - output * grad.sum(dim, keepdims=True)
        np.testing.assert_allclose(log_softmax_backward(grad, log_softmax(x, dim), dim), expected, atol=1e-13)
        _check_second_maps(grad, rng.normal(size=shape), output, dim)


def _check_second_maps(a: np.ndarray, b: np.ndarray, output: np.ndarray, dim: int) -> None:
    def total(x: np.ndarray) -> Any:
        return x.sum(dim, keepdims=True)

    log = np.log(output)
    for found, expected in (
        (softmax_bend(a, b, output, dim), a * b - a * total(b * output) - b * total(a * output)),
        (softmax_turn(a, b, output, dim), a * b - a * total(b * output) - output * total(a * b)),
        (log_softmax_tangent(a, log, dim), a - total(a * output)),
        (log_softmax_bend(a, b, log, dim), -a * output * total(b)),
    ):
        np.testing.assert_allclose(found, expected, atol=1e-13)


def test_non_contiguous_input() -> None:
    x = np.random.default_rng(3).normal(size=(5, 4, 6)).transpose(2, 0, 1)
    np.testing.assert_allclose(softmax(x, 1), softmax(x.copy(), 1), rtol=1e-14)
    np.testing.assert_allclose(softmax(x[0].T, 1), softmax(x[0].T.copy(), 1), rtol=1e-14)
    grad = np.broadcast_to(np.float64(1), (5, 4))
    np.testing.assert_allclose(
        log_softmax_backward(grad, log_softmax(x[0], 1), 1), 1 - 4 * softmax(x[0], 1), rtol=1e-12
    )


@given(
    hnp.arrays(
        np.float32, hnp.array_shapes(min_dims=2, max_dims=2, max_side=40), elements=st.floats(-200, 200, width=32)
    ),
    st.floats(-50, 50),
)
def test_laws(x: np.ndarray, shift: float) -> None:
    output = softmax(x, 1)
    np.testing.assert_allclose(output.sum(1), 1, rtol=1e-5)
    assert (output >= 0).all()
    np.testing.assert_allclose(softmax(x + np.float32(shift), 1), output, atol=3e-5)
    np.testing.assert_allclose(np.exp(log_softmax(x, 1)), output, atol=1e-5)
    np.testing.assert_allclose(logsumexp(x, (1,), True) + log_softmax(x, 1), x, atol=1e-4)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_agrees_with_pytorch(dtype: str) -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(4)
    tolerance = {"float32": 2e-6, "float64": 1e-14}[dtype]
    for shape in ((4, 4), (64, 10), (3, 700), (2, 3, 4)):
        x, grad = rng.normal(size=(2, *shape)).astype(dtype) * 5
        x.reshape(-1)[:4] = -np.inf
        for dim in range(len(shape)):
            leaf = torch.tensor(x, requires_grad=True)
            for kernel, backward in ((softmax, softmax_backward), (log_softmax, log_softmax_backward)):
                expected = getattr(torch, kernel.__name__)(leaf, dim)
                result = kernel(x, dim)
                np.testing.assert_allclose(result, expected.detach().numpy(), rtol=tolerance * 10, atol=tolerance)
                (expected_grad,) = torch.autograd.grad(expected, leaf, torch.tensor(grad))
                np.testing.assert_allclose(backward(grad, result, dim), expected_grad.numpy(), atol=tolerance * 100)
            expected = torch.logsumexp(leaf, dim).detach().numpy()
            np.testing.assert_allclose(logsumexp(x, (dim,), False), expected, rtol=tolerance)
