"""Counts, gamma and Dirichlet numbers: PyTorch's streams and gradients, edges, what is refused, and the generator after."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import minitorch
from backend import torch

_rng = np.random.default_rng(0)
CONCENTRATIONS = np.exp(_rng.normal(size=(20, 7)) * 2)
CALLS: dict[str, tuple[Any, list[np.ndarray]]] = {
    "poisson": (lambda t, a: t.poisson(a), [CONCENTRATIONS * 10]),
    "binomial": (
        lambda t, n, p: t.binomial(n, p),
        [np.floor(_rng.uniform(0, 100, size=(20, 7))), _rng.uniform(0, 1, size=(20, 7))],
    ),
    "binomial broadcast": (lambda t, n, p: t.binomial(n, p), [np.array([3.0, 40.0]), np.array(0.3)]),
    "certain": (lambda t, n, p: t.binomial(n, p), [np.array([3.0, 4, -3, 5, 5]), np.array([0.0, 1, 1, -1, np.nan])]),
    "_standard_gamma": (lambda t, a: t._standard_gamma(a), [CONCENTRATIONS]),
    "edges of gamma": (lambda t, a: t._standard_gamma(a), [np.array([0, -0.5, -1, np.nan, 1e-30, 1e30, 1])]),
    "transposed": (lambda t, a: t._standard_gamma(a.T), [CONCENTRATIONS]),
    "edges of dirichlet": (
        lambda t, a: t._sample_dirichlet(a),
        [np.array([[1e-3, 1e-3], [0, 0], [0, 1], [1e-9, 1e9]])],
    ),
    "_sample_dirichlet": (lambda t, a: t._sample_dirichlet(a), [CONCENTRATIONS]),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CALLS)
def test_streams_are_pytorchs(name: str, dtype: str) -> None:
    reference = pytest.importorskip("torch")
    call, arrays = CALLS[name]
    found = []
    for library in (minitorch, reference):
        library.manual_seed(3)
        library.randn(1)  # leaves a normal number over
        out = call(library, *[library.tensor(a.astype(dtype)) for a in arrays]).numpy()
        found.append((out, library.randn(3).tolist(), library.rand(1).item()))
    (got, *after), (expected, *their_after) = found
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got, expected, rtol=1e-15 if "dirichlet" in name else 0)
    assert after == their_after


@pytest.mark.parametrize("concentration", [0.1, 1.0, 7.0, 20.0, 400.0])
def test_gradients_are_pytorchs(concentration: float) -> None:
    reference = pytest.importorskip("torch")
    array = concentration * _rng.uniform(0.5, 1.5, size=(50, 4))
    for name in ("_standard_gamma", "Dirichlet"):
        found = []
        for library in (minitorch, reference):
            library.manual_seed(0)
            a = library.tensor(array, requires_grad=True)
            out = (
                library._standard_gamma(a)
                if name == "_standard_gamma"
                else library.distributions.Dirichlet(a).rsample()
            )
            found.append(library.autograd.grad((out * out).sum(), a)[0].numpy())
        np.testing.assert_allclose(found[0], found[1], rtol=1e-8, atol=1e-12)


def test_gradients_are_those_of_the_cumulative_distribution() -> None:
    special = pytest.importorskip("scipy.special")
    a = torch.tensor([0.3, 2.0, 9.0, 30.0] * 4, dtype=torch.float64, requires_grad=True)
    torch.manual_seed(0)
    x = torch._standard_gamma(a)
    (slope,) = torch.autograd.grad(x.sum(), a)
    concentration, h = a.detach().numpy(), 1e-6
    same = special.gammainc(concentration, x.detach().numpy())  # where the sample goes that keeps this
    moved = special.gammaincinv(concentration + h, same) - special.gammaincinv(concentration - h, same)
    np.testing.assert_allclose(slope.numpy(), moved / (2 * h), rtol=2e-3, atol=1e-6)


def test_values() -> None:
    torch.manual_seed(0)
    assert torch.poisson(torch.tensor([0.0, 1e-30])).tolist() == [0, 0]
    assert torch.poisson(torch.tensor([1e6])).item() == pytest.approx(1e6, rel=0.01)
    assert torch.binomial(torch.tensor([7.0, 7.0]), torch.tensor([0.0, 1.0])).tolist() == [0, 7]
    assert torch._sample_dirichlet(torch.full((5, 3), 0.1)).sum(-1).tolist() == pytest.approx([1] * 5)
    assert torch._sample_dirichlet(torch.zeros(2)).isfinite().all()
    assert torch.poisson(torch.ones(0, 2)).shape == (0, 2)
    assert torch.poisson(torch.tensor(3.0)).shape == ()


def test_counts_have_gradients_of_zero() -> None:
    rate = torch.tensor([2.0, 3.0], requires_grad=True)
    torch.poisson(rate).sum().backward()
    assert rate.grad.tolist() == [0, 0]


def test_binomial_has_no_derivative() -> None:
    count, prob = torch.tensor([3.0], requires_grad=True), torch.tensor([0.2], requires_grad=True)
    for drawn in (torch.binomial(count, prob.detach()), torch.binomial(count.detach(), prob)):
        with pytest.raises(RuntimeError, match="derivative for aten::binomial is not implemented"):
            drawn.sum().backward()


def test_samples_have_first_derivatives_only() -> None:
    a = torch.tensor([2.0], requires_grad=True)
    (first,) = torch.autograd.grad(torch._standard_gamma(a).sum(), a, create_graph=True)
    with pytest.raises(NotImplementedError, match="_standard_gamma_grad"):
        first.sum().backward()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda t: t.poisson(t.tensor([-1.0])), RuntimeError, "invalid Poisson rate"),
        (lambda t: t.poisson(t.tensor([float("nan")])), RuntimeError, "invalid Poisson rate"),
        (lambda t: t.poisson(t.tensor([1])), NotImplementedError, "poisson_cpu"),
        (lambda t: t.poisson(2.0), TypeError, "must be Tensor"),
        (
            lambda t: t.binomial(t.tensor([1]), t.tensor([0.5])),
            ValueError,
            "only supports floating-point dtypes for count",
        ),
        (
            lambda t: t.binomial(t.tensor([1.0]), t.tensor([1])),
            ValueError,
            "only supports floating-point dtypes for prob",
        ),
        (
            lambda t: t.binomial(t.tensor([1.0]), t.tensor([0.5]).double()),
            RuntimeError,
            "Found dtype Double but expected Float",
        ),
        (lambda t: t._standard_gamma(t.tensor([1])), NotImplementedError, "gamma_cpu"),
        (lambda t: t._standard_gamma(t.tensor([1.0]).half()), NotImplementedError, "gamma_cpu"),
        (lambda t: t._sample_dirichlet(t.tensor([1, 2])), NotImplementedError, "dirichlet"),
    ],
)
def test_what_is_refused(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call(torch)


def test_threads_share_no_number() -> None:
    rates = minitorch.full((200,), 20.0)
    minitorch.manual_seed(0)
    alone = sorted(minitorch.poisson(minitorch.full((800,), 20.0)).tolist())
    minitorch.manual_seed(0)
    found: list[float] = []
    threads = [threading.Thread(target=lambda: found.extend(minitorch.poisson(rates).tolist())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == alone
