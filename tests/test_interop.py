"""NumPy's functions and scalars on tensors: recorded where a tensor requires grad, in the dtype that it has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch as torch

ARRAY = np.array([3.0, 4.0], np.float32)
MATRIX = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)

CALLS: list[tuple[Callable[[Any], Any], Callable[[Any], Any]]] = [  # with NumPy, and the same without
    (lambda x: np.sin(x), lambda x: torch.sin(x)),
    (lambda x: np.square(x), lambda x: x * x),
    (lambda x: np.float64(2) * x, lambda x: 2 * x),
    (lambda x: np.float64(2) - x, lambda x: 2 - x),
    (lambda x: x / np.float64(2), lambda x: x / 2),
    (lambda x: np.float64(2) ** x, lambda x: 2**x),
    (lambda x: ARRAY + x, lambda x: torch.tensor(ARRAY) + x),
    (lambda x: ARRAY - x, lambda x: torch.tensor(ARRAY) - x),
    (lambda x: ARRAY / x, lambda x: torch.tensor(ARRAY) / x),
    (lambda x: x * ARRAY, lambda x: x * torch.tensor(ARRAY)),
    (lambda x: np.array(2.0) * x, lambda x: 2 * x),
    (lambda x: ARRAY @ x, lambda x: torch.tensor(ARRAY) @ x),
    (lambda x: MATRIX @ x, lambda x: torch.tensor(MATRIX) @ x),
    (lambda x: x @ MATRIX, lambda x: x @ torch.tensor(MATRIX)),
    (lambda x: np.add(x, ARRAY), lambda x: x + torch.tensor(ARRAY)),
    (lambda x: np.maximum(x, ARRAY), lambda x: torch.maximum(x, torch.tensor(ARRAY))),
    (lambda x: np.mean(x), lambda x: x.mean()),
    (lambda x: np.sum(x, axis=0), lambda x: x.sum()),
    (lambda x: np.std(x), lambda x: x.std(correction=0)),
    (lambda x: np.var(x, ddof=1), lambda x: x.var()),
    (lambda x: np.stack([x, ARRAY]), lambda x: torch.stack([x, torch.tensor(ARRAY)])),
    (lambda x: np.stack((x, x), axis=1), lambda x: torch.stack([x, x], 1)),
    (lambda x: np.concatenate([x, x]), lambda x: torch.cat([x, x])),
    (lambda x: np.concatenate([x[None], x[None]], axis=None), lambda x: torch.cat([x, x])),
    (lambda x: np.vstack([x, x]), lambda x: torch.vstack([x, x])),
    (lambda x: np.hstack([x, x]), lambda x: torch.hstack([x, x])),
    (lambda x: np.dstack([x, x]), lambda x: torch.dstack([x, x])),
    (lambda x: np.column_stack([x, x]), lambda x: torch.column_stack([x, x])),
    (lambda x: np.where(ARRAY > 3, x, 0.0), lambda x: torch.where(torch.tensor(ARRAY) > 3, x, 0.0)),
    (lambda x: np.clip(x, 0.7, None), lambda x: x.clamp(0.7)),
    (lambda x: np.reshape(x, (2, 1)), lambda x: x.reshape(2, 1)),
    (lambda x: np.ravel(x[None]), lambda x: x),
    (lambda x: np.transpose(x[None]), lambda x: x[:, None]),
    (lambda x: np.transpose(x[None, None], (2, 0, 1)), lambda x: x[:, None, None]),
    (lambda x: np.swapaxes(x[None], 0, 1), lambda x: x[:, None]),
    (lambda x: np.moveaxis(x[None], 0, 1), lambda x: x[:, None]),
    (lambda x: np.squeeze(x[None]), lambda x: x),
    (lambda x: np.squeeze(x[None], 0), lambda x: x),
    (lambda x: np.expand_dims(x, 0), lambda x: x[None]),
    (lambda x: np.broadcast_to(x, (3, 2)), lambda x: x.expand(3, 2)),
    (lambda x: np.flip(x), lambda x: x.flip(0)),
    (lambda x: np.roll(x, 1), lambda x: x.roll(1)),
    (lambda x: np.tile(x, 2), lambda x: x.tile(2)),
    (lambda x: np.cumsum(x), lambda x: x.cumsum(0)),
    (lambda x: np.cumprod(x, axis=0), lambda x: x.cumprod(0)),
    (lambda x: np.dot(x, x), lambda x: x.dot(x)),
    (lambda x: np.outer(x, ARRAY), lambda x: torch.outer(x, torch.tensor(ARRAY))),
    (lambda x: np.einsum("i,i", x, ARRAY), lambda x: x.dot(torch.tensor(ARRAY))),
    (lambda x: sum([x, x]), lambda x: x + x),
]


@pytest.mark.parametrize(("call", "same"), CALLS)
def test_calls_are_recorded_in_float32(call: Callable[[Any], Any], same: Callable[[Any], Any]) -> None:
    results = []
    for function in (call, same):
        x = torch.tensor([0.5, 0.75], requires_grad=True)
        y = function(x)
        assert type(y) is torch.Tensor
        assert y.dtype is torch.float32
        (y * y).sum().backward()
        results.append((y.tolist(), x.grad.tolist()))
    np.testing.assert_allclose(np.ravel(results[0][0]), np.ravel(results[1][0]), rtol=1e-6)
    np.testing.assert_allclose(results[0][1], results[1][1], rtol=1e-6)


def test_without_gradients_numpy_returns_what_it_does_of_any_array() -> None:
    y = torch.tensor([1.0, 2.0])
    for made in (
        np.stack([y, y]),
        np.concatenate([y, y]),
        np.where(y > 1, y, 0),
        np.array([y, y]),
        np.array([y[0], y[1]]),
    ):
        assert type(made) is np.ndarray
        assert made.dtype == np.float32
    assert isinstance(np.dot(y, y), np.float32)


def test_functions_that_are_not_recorded_refuse() -> None:
    x = torch.ones(2, requires_grad=True)
    for call in (np.sort, np.diff, np.fft.fft, np.cbrt, np.asarray):
        with pytest.raises(RuntimeError, match="requires grad"):
            call(x)
    with pytest.raises(TypeError):
        np.stack([x, x], out=np.zeros((2, 2)))


def test_out() -> None:
    y, array = torch.tensor([1.0, 2.0]), np.zeros(2)
    assert np.add(y, 1.0, out=array) is array
    assert array.tolist() == [2.0, 3.0]
    version = y._version
    assert np.add(ARRAY, 1.0, out=y) is y
    assert y.tolist() == [4.0, 5.0]
    assert y._version == version + 1
    with pytest.raises(RuntimeError, match="requires grad"):
        np.add(ARRAY, 1.0, out=torch.ones(2, requires_grad=True))


def test_dlpack_shares_memory_both_ways() -> None:
    x = torch.ones(2, 3)
    array = np.from_dlpack(x.t())
    assert array.shape == (3, 2)
    x[0, 1] = 5
    assert array[1, 0] == 5
    array = np.zeros(2)
    torch.from_dlpack(array)[0] = 7
    assert array[0] == 7
    with pytest.raises(BufferError, match="require gradient"):
        np.from_dlpack(torch.ones(1, requires_grad=True))


def test_dlpack_with_pytorch() -> None:
    theirs = pytest.importorskip("torch")
    x = torch.arange(4.0)
    there = theirs.from_dlpack(x)
    there[0] = 9
    assert x[0] == 9
    back = torch.from_dlpack(there)
    assert back.data_ptr() == x.data_ptr()
    assert back.dtype is torch.float32


def test_without_gradients_a_tensor_that_requires_grad_is_an_array() -> None:
    x = torch.tensor(ARRAY, requires_grad=True)
    with torch.no_grad():
        assert x.numpy().tolist() == [3.0, 4.0]
        assert np.asarray(x).tolist() == [3.0, 4.0]
        np.add(ARRAY, ARRAY, out=x)
    assert x.tolist() == [6.0, 8.0]
    with torch.inference_mode():
        assert x.numpy().tolist() == [6.0, 8.0]
    with pytest.raises(RuntimeError, match="requires grad"):
        x.numpy()
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.numpy(), torch.from_numpy):
        y = x.exp()
    y.sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad, y.detach())
