"""Floating-point warnings, dtypes of gradients, 0-d results."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np
import pytest

import minitorch as torch

AWKWARD = [0.0, -0.0, 1e38, -1e38, 1e-40, float("inf"), float("-inf"), float("nan"), -1.0]
FUNCTIONS: dict[str, Any] = {
    "mul": lambda x: x * x,
    "add": lambda x: x + x,
    "sub": lambda x: x - x.flip(0),
    "div": lambda x: x / x.flip(0),
    "pow": lambda x: x**3.5,
    "exp": lambda x: x.exp(),
    "log": lambda x: x.log(),
    "sqrt": lambda x: x.sqrt(),
    "sin": lambda x: x.sin(),
    "tanh": lambda x: x.tanh(),
    "sigmoid": lambda x: x.sigmoid(),
    "softmax": lambda x: x.softmax(0),
    "logsumexp": lambda x: x.logsumexp(0),
    "sum": lambda x: x.sum(),
    "mean": lambda x: x.mean(),
    "var": lambda x: x.var(),
    "prod": lambda x: x.prod(),
    "norm": lambda x: x.norm(),
    "max": lambda x: x.max(),
    "cumsum": lambda x: x.cumsum(0),
    "matmul": lambda x: x.outer(x) @ x,
    "where": lambda x: torch.where(x > 0, x.sqrt(), x.log()),
    "in place": lambda x: x.clone().mul_(x).div_(x),
    "gelu": lambda x: torch.nn.functional.gelu(x),
    "to": lambda x: x.half().double(),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_numpys_warnings_stay_inside(name: str) -> None:
    before = np.geterr()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for create_graph in (False, True):
            x = torch.tensor(AWKWARD, requires_grad=True)
            y = FUNCTIONS[name](x)
            (g,) = torch.autograd.grad(y.sum(), x, create_graph=create_graph)
            if create_graph and g.requires_grad:
                torch.autograd.grad(g.sum(), x)
    assert np.geterr() == before


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda x: x * torch.tensor(1e300, dtype=torch.float64), [inf, -inf]),
        (lambda x: x.half() + torch.tensor(70000), [inf, inf]),
        (lambda x: x.clamp(max=torch.tensor(-1e300, dtype=torch.float64)), [-inf, -inf]),
        (lambda x: x.sub_(torch.tensor([1e300, 0.0], dtype=torch.float64)), [-inf, -1.0]),
        (lambda x: torch.where(x > 0, x.half(), torch.tensor(1e9)), [1.0, inf]),
    ],
)
def test_what_is_too_large_for_the_common_dtype_is_infinite(call: Callable[[Any], Any], expected: list[float]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert call(torch.tensor([1.0, -1.0])).tolist() == expected


def test_users_own_numpy_still_warns() -> None:
    torch.tensor([0.0]).log()
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        np.log(np.zeros(1))


def test_numpy_set_to_raise_does_not_reach_inside() -> None:
    with np.errstate(all="raise"):
        x = torch.tensor([1e38, 0.0], requires_grad=True)
        y = (x * 1e10) / 0
        y.sum().backward()
    assert y.tolist() == [float("inf"), pytest.approx(float("nan"), nan_ok=True)]


def test_kernels_of_several_threads_stay_quiet() -> None:
    caught: list[Any] = []

    def work() -> None:
        try:
            x = torch.full((200_000,), 1e38, requires_grad=True)
            for _ in range(5):
                (x.softmax(0) * (x * 10)).sum().backward()
        except BaseException as error:
            caught.append(error)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not caught


def test_gradients_have_the_dtype_of_their_leaf() -> None:
    x = torch.ones(2, requires_grad=True)
    y = torch.ones(2, dtype=torch.float64, requires_grad=True)
    h = torch.ones(2, dtype=torch.float16, requires_grad=True)
    (x * y * h).sum().backward()
    assert [t.grad.dtype for t in (x, y, h)] == [torch.float32, torch.float64, torch.float16]


def test_a_zero_dimensional_double_does_not_promote() -> None:
    x = torch.ones(2, requires_grad=True)
    y = x * torch.tensor(2.0, dtype=torch.float64)
    assert y.dtype is torch.float32
    y.sum().backward()
    assert x.grad.dtype is torch.float32


def test_everything_is_an_ndarray() -> None:
    x = torch.tensor(2.0, requires_grad=True)
    y = (x * x + 1).exp().log().tanh()
    y.backward()
    for tensor in (y, x.grad, x.detach().sum(), torch.tensor([1.0, 2.0])[0], -x.detach()):
        assert type(tensor._array) is np.ndarray


def test_a_first_gradient_is_nobody_elses_memory() -> None:
    start = torch.tensor([1.0, 2.0])
    a, b, c = (torch.ones(2, requires_grad=True) for _ in range(3))
    (a + b + c.view(2)).backward(start)
    arrays = [start._array, a.grad._array, b.grad._array, c.grad._array]
    assert not any(np.shares_memory(p, q) for i, p in enumerate(arrays) for q in arrays[i + 1 :])


def test_gradients_from_grad_are_nobody_elses_memory() -> None:
    start = torch.tensor([1.0, 2.0])
    a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    y = a + b
    found = torch.autograd.grad(y + 0, [a, b, y], start)
    arrays = [start._array, *[g._array for g in found]]
    assert not any(np.shares_memory(p, q) for i, p in enumerate(arrays) for q in arrays[i + 1 :])


@pytest.mark.parametrize(
    "operation",
    [
        lambda x, h: torch.addcmul(x, x, x, value=h),
        lambda x, h: torch.add(x, x, alpha=h),
        lambda x, h: torch.nn.functional.elu(x, h),
        lambda x, h: torch.nn.functional.leaky_relu(x, h),
        lambda x, h: torch.nn.functional.softshrink(x, h),
        lambda x, h: torch.nn.functional.huber_loss(x, x * 2, delta=h),
        lambda x, h: x.clamp(h, 2 * h),
        lambda x, h: x.abs() ** h,
        lambda x, h: h * x,
    ],
)
def test_numpys_scalars_count_as_numbers(operation: Any) -> None:
    x = torch.tensor([-1.0, 2.0], requires_grad=True)
    y = operation(x, np.float64(0.5))
    (g,) = torch.autograd.grad(y.sum(), x)
    assert y.dtype is torch.float32
    assert g.dtype is torch.float32
