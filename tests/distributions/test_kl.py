"""Kullback-Leibler divergences: all pairs of PyTorch, the registry, and values known beforehand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import minitorch
from backend import torch
from distributions.cases import EACH, assert_same, gradients, make, outcome

D = torch.distributions
FEW = [(name, place) for name, place in EACH if "." not in name and place == 0]


@pytest.mark.parametrize("p", FEW, ids=str)
def test_all_pairs_equal_pytorchs(p: Any) -> None:
    reference = pytest.importorskip("torch")
    ours, theirs = make(minitorch, *p), make(reference, *p)
    for q in FEW:
        partner, their_partner = make(minitorch, *q), make(reference, *q)
        got = outcome(lambda: minitorch.distributions.kl_divergence(ours[0], partner[0]))
        expected = outcome(lambda: reference.distributions.kl_divergence(theirs[0], their_partner[0]))
        if expected is IndexError:  # PyTorch's masks don't broadcast
            continue
        assert_same(got, expected, 1e-8 if ours[1] and partner[1] else 1e-5)  # of numbers, it is in float32
        if isinstance(got, type) or not np.isfinite(expected.detach().numpy()).all():
            continue
        leaves, their_leaves = [*ours[1], *partner[1]], [*theirs[1], *their_partner[1]]
        found = gradients(minitorch, got, leaves), gradients(reference, expected, their_leaves)
        for g, e in zip(*found, strict=True):
            np.testing.assert_allclose(g, e, rtol=1e-5, atol=1e-5)


def edges(library: Any) -> list[Any]:
    """Bounded supports and certain events, among which divergences are infinite or have terms that vanish."""
    d, t = library.distributions, library.tensor
    return [
        d.Uniform(0.2, 0.8), d.Uniform(-1.0, 2.0), d.Uniform(0.0, 1.0), d.Pareto(0.1, 3.0), d.Pareto(0.5, 0.5),
        d.Beta(2.0, 3.0),
        d.Bernoulli(t([0.0, 0.5, 1.0])), d.Bernoulli(t([1.0, 0.0, 1.0])), d.Categorical(t([0.0, 0.5, 0.5])),
        d.Categorical(t([0.5, 0.5, 0.0])), d.Exponential(1.0), d.Gamma(1.0, 2.0), d.Normal(0.0, 1.0), d.Gumbel(0.0, 1.0),
        d.ContinuousBernoulli(0.3), d.Binomial(3, t(0.3)), d.Binomial(2, t(0.4)), d.Poisson(2.0),
    ]  # fmt: skip


def test_edges_of_supports() -> None:
    reference = pytest.importorskip("torch")
    for p, their_p in zip(edges(minitorch), edges(reference)):
        for q, their_q in zip(edges(minitorch), edges(reference)):
            got = outcome(lambda: minitorch.distributions.kl_divergence(p, q))
            expected = outcome(lambda: reference.distributions.kl_divergence(their_p, their_q))
            assert_same(got, expected, 1e-5)


def made_of_others(d: Any, t: Any) -> list[Any]:
    one, other = d.Normal(t([0.0, 1.0]), 1.0), d.Normal(t([1.0, 1.0]), t([2.0, 1.0]))
    shift, exp = d.AffineTransform(1.0, 2.0), d.ExpTransform()
    pairs = [
        (d.Independent(one, 1), d.Independent(other, 1)),
        (d.Independent(one, 1), d.Independent(other, 0)),
        (d.TransformedDistribution(one, shift), d.TransformedDistribution(other, shift)),
        (d.TransformedDistribution(one, shift), d.TransformedDistribution(other, exp)),
        (d.HalfNormal(1.0), d.HalfNormal(2.0)),
    ]
    return [outcome(lambda: d.kl_divergence(*pair)) for pair in pairs]


def test_made_of_others() -> None:
    reference = pytest.importorskip("torch")
    found = [made_of_others(library.distributions, library.tensor) for library in (minitorch, reference)]
    for got, expected in zip(*found):
        assert_same(got, expected, 1e-6)


# -- values known beforehand -------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("p", "q", "expected"),
    [
        (lambda: D.Normal(1.0, 1.0), lambda: D.Normal(0.0, 1.0), 0.5),
        (lambda: D.Exponential(2.0), lambda: D.Exponential(1.0), math.log(2) - 0.5),
        (lambda: D.Uniform(0.0, 1.0), lambda: D.Uniform(0.0, 4.0), math.log(4)),
        (lambda: D.Uniform(0.0, 4.0), lambda: D.Uniform(0.0, 1.0), math.inf),
        (lambda: D.Bernoulli(1.0), lambda: D.Bernoulli(0.25), math.log(4)),
        (lambda: D.Poisson(2.0), lambda: D.Poisson(1.0), 2 * math.log(2) - 1),
        (lambda: D.Cauchy(0.0, 1.0), lambda: D.Cauchy(0.0, 3.0), math.log(16 / 12)),
        (lambda: D.Normal(0.0, 1.0), lambda: D.Exponential(1.0), math.inf),
    ],
)  # fmt: skip
def test_values(p: Any, q: Any, expected: float) -> None:
    assert D.kl_divergence(p(), q()).item() == pytest.approx(expected, rel=1e-5, abs=1e-6)
    assert D.kl_divergence(p(), p()).item() == pytest.approx(0, abs=1e-5)


# -- the registry ------------------------------------------------------------------------------------------------------
class Left(D.Normal):
    pass


class Right(D.Normal):
    pass


def test_subclasses_use_their_bases_formula_until_they_have_one() -> None:
    p, q = Left(1.0, 1.0), Right(0.0, 1.0)
    assert D.kl_divergence(p, q).item() == 0.5
    D.register_kl(Left, Right)(lambda p, q: "theirs")
    assert D.kl_divergence(p, q) == "theirs"
    assert D.kl_divergence(q, p).item() == 0.5


def test_an_ambiguity_is_told() -> None:
    class A(D.Distribution):
        arg_constraints = {}  # noqa: RUF012

    class B(A):
        pass

    D.register_kl(A, B)(lambda p, q: "left")
    D.register_kl(B, A)(lambda p, q: "right")
    with pytest.warns(RuntimeWarning, match="Ambiguous kl_divergence"):
        assert D.kl_divergence(B(), B()) == "right"


def test_no_pair_and_no_distribution() -> None:
    with pytest.raises(
        NotImplementedError, match=r"No KL\(p \|\| q\) is implemented for p type Normal and q type StudentT"
    ):
        D.kl_divergence(D.Normal(0.0, 1.0), D.StudentT(1.0))
    if torch is minitorch:
        with pytest.raises(TypeError, match="Expected type_q to be a Distribution subclass"):
            D.register_kl(D.Normal, int)
