"""Distributions over grids of parameters and shapes, made of either library."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

_rng = np.random.default_rng(0)


def real(*shape: int) -> np.ndarray:
    return np.asarray(_rng.normal(size=shape))


def positive(*shape: int) -> np.ndarray:
    return np.asarray(_rng.uniform(0.3, 3, size=shape))


def unit(*shape: int) -> np.ndarray:
    return np.asarray(_rng.uniform(0.1, 0.9, size=shape))


def definite(*shape: int) -> np.ndarray:
    root = _rng.normal(size=shape)
    return root @ np.swapaxes(root, -1, -2) + np.eye(shape[-1])


WARM = np.array(0.7)
CASES: dict[str, list[tuple[tuple[Any, ...], dict[str, Any]]]] = {
    "Bernoulli": [((), {"probs": unit(3)}), ((), {"logits": real(2, 3)}), ((0.25,), {})],
    "Beta": [
        ((positive(3), positive(3)), {}),
        ((positive(2, 1) * 10, positive(3) * 10), {}),
        ((positive(3) / 4, positive(3) / 4), {}),
        ((1.5, 2.0), {}),
    ],
    "Binomial": [((5,), {"probs": unit(3)}), ((np.array([3.0, 7.0, 50.0]),), {"logits": real(3)})],
    "Categorical": [((), {"probs": positive(2, 4)}), ((), {"logits": real(4)}), ((), {"logits": real(3, 2, 1)})],
    "Cauchy": [((real(3), positive(3)), {}), ((0.0, 1.0), {})],
    "Chi2": [((positive(3),), {}), ((2.0,), {})],
    "ContinuousBernoulli": [((), {"probs": np.array([0.1, 0.5, 0.4995, 0.8])}), ((), {"logits": real(3)})],
    "Dirichlet": [((positive(2, 3),), {}), ((positive(4) * 8,), {}), ((positive(4) / 4,), {})],
    "Exponential": [((positive(3),), {}), ((2.0,), {})],
    "FisherSnedecor": [((positive(3) * 2, positive(3) * 2 + [0, 2, 4]), {})],
    "Gamma": [((positive(3), positive(3)), {}), ((positive(2, 1) * 20, positive(3)), {}), ((1.0, 2.0), {})],
    "Geometric": [((), {"probs": unit(3)}), ((), {"logits": real(3)})],
    "Gumbel": [((real(3), positive(3)), {}), ((real(2, 3), positive(3)), {}), ((0.0, 1.0), {})],
    "HalfCauchy": [((positive(3),), {}), ((1.0,), {})],
    "HalfNormal": [((positive(3),), {}), ((1.0,), {})],
    "InverseGamma": [((positive(3) + [0, 1, 3], positive(3)), {})],
    "Kumaraswamy": [((positive(3), positive(3)), {})],
    "Laplace": [((real(3), positive(3)), {}), ((0.0, 1.0), {})],
    "LogNormal": [((real(3), positive(3)), {}), ((0.0, 1.0), {})],
    "LogisticNormal": [((real(2, 3), positive(2, 3)), {})],
    "LowRankMultivariateNormal": [
        ((real(2, 3), real(3, 2), positive(3)), {}),
        ((real(3), real(2, 3, 1), positive(3)), {}),
    ],
    "Multinomial": [((5,), {"probs": positive(2, 4)}), ((3,), {"logits": real(4)})],
    "MultivariateNormal": [
        ((real(2, 3),), {"covariance_matrix": definite(3, 3)}),
        ((real(3),), {"covariance_matrix": definite(2, 3, 3)}),
        ((real(3),), {"precision_matrix": definite(3, 3)}),
        ((real(2, 3),), {"scale_tril": np.linalg.cholesky(definite(2, 3, 3))}),
    ],
    "NegativeBinomial": [((5,), {"probs": unit(3)}), ((positive(3),), {"logits": real(3)})],
    "Normal": [((real(3), positive(3)), {}), ((real(2, 1), positive(3)), {}), ((0.0, 1.0), {}), ((real(40), 1.0), {})],
    "OneHotCategorical": [((), {"probs": positive(2, 4)}), ((), {"logits": real(4)})],
    "OneHotCategoricalStraightThrough": [((), {"probs": positive(2, 4)})],
    "Pareto": [((positive(3), positive(3)), {}), ((positive(3), positive(3) + 2), {})],
    "Poisson": [((positive(3) * [1, 3, 20],), {}), ((2.0,), {})],
    "RelaxedBernoulli": [((WARM,), {"probs": unit(3)}), ((WARM,), {"logits": real(3)})],
    "RelaxedOneHotCategorical": [((WARM,), {"probs": positive(2, 4)}), ((WARM,), {"logits": real(4)})],
    "StudentT": [((positive(3) + [0, 0.5, 2], real(3), positive(3)), {}), ((3.0,), {})],
    "Uniform": [((real(3) - 4, positive(3)), {}), ((0.0, 1.0), {})],
    "VonMises": [((real(3), positive(3) * 2), {})],
    "Weibull": [((positive(3), positive(3) + 1), {})],
    "LKJCholesky": [((3, positive(2)), {}), ((4, positive(2, 1) * 5), {}), ((2, 1.0), {})],
    "Wishart": [
        ((np.array([4.0, 5.5]),), {"covariance_matrix": definite(3, 3)}),
        ((5.0,), {"covariance_matrix": definite(2, 3, 3)}),
        ((np.array(3.5),), {"precision_matrix": definite(3, 3)}),
    ],
    "relaxed_bernoulli.LogitRelaxedBernoulli": [((WARM,), {"probs": unit(3)})],
    "relaxed_categorical.ExpRelaxedCategorical": [((WARM,), {"probs": positive(2, 4)})],
}
"""Positional and keyword arguments by class; arrays become tensors."""

EACH = [(name, place) for name, cases in CASES.items() for place in range(len(cases))]


def make(library: Any, name: str, place: int, dtype: str = "float64", grad: bool = True) -> tuple[Any, list[Any]]:
    """A distribution of a library, and its parameters."""
    leaves: list[Any] = []

    def given(value: Any) -> Any:
        if not isinstance(value, np.ndarray):
            return value
        leaves.append(library.tensor(value.astype(dtype), requires_grad=grad))
        return leaves[-1]

    args, options = CASES[name][place]
    kind = library.distributions
    for part in name.split("."):
        kind = getattr(kind, part)
    return kind(*[given(a) for a in args], **{k: given(v) for k, v in options.items()}), leaves


def outcome(call: Callable[[], Any]) -> Any:
    """What a call returns, or the class of what it raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call()
        except Exception as error:
            return type(error)


def assert_same(got: Any, expected: Any, tolerance: float) -> None:
    """Compare tensors of both libraries, or the classes of errors."""
    if isinstance(expected, type) or isinstance(got, type):
        assert got is expected
        return
    assert str(got.dtype) == str(expected.dtype)
    assert tuple(got.shape) == tuple(expected.shape)
    np.testing.assert_allclose(got.detach().numpy(), expected.detach().numpy(), rtol=tolerance, atol=tolerance)


def gradients(library: Any, value: Any, leaves: list[Any]) -> list[np.ndarray]:
    """The gradients of a sum, zero where there is none; nothing where there is no formula."""
    if isinstance(value, type) or not leaves or not value.requires_grad:
        return []
    try:
        found = library.autograd.grad(value.sum(), leaves, retain_graph=True, allow_unused=True)
    except NotImplementedError:
        return []
    return [np.zeros(tuple(p.shape)) if g is None else (g + 0.0).numpy() for g, p in zip(found, leaves)]


def second_gradients(library: Any, value: Any, leaves: list[Any]) -> list[np.ndarray]:
    """The gradients of the sum of the squares of the gradients."""
    if isinstance(value, type) or not leaves or not value.requires_grad:
        return []
    try:
        first = library.autograd.grad(value.sum(), leaves, create_graph=True, allow_unused=True)
    except NotImplementedError:
        return []
    squares = [g.square().sum() for g in first if g is not None and g.requires_grad]
    return gradients(library, sum(squares), leaves) if squares else []
