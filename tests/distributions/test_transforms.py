"""Transforms: values, inverses, Jacobian determinants, caches, shapes; transformed distributions."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import numpy as np
import pytest

import minitorch
from backend import torch
from distributions.cases import assert_same, outcome

D = torch.distributions


def transforms(library: Any) -> dict[str, Any]:
    d, t = library.distributions, lambda *values: library.tensor(values, dtype=library.float64)
    return {
        "abs": d.AbsTransform(),
        "affine": d.AffineTransform(1.0, -2.0),
        "affine of tensors": d.AffineTransform(t(1.0, 2.0, 3.0), t(1.0, -2.0, 3.0)),
        "affine of vectors": d.AffineTransform(0.5, t(1.0, -2.0, 3.0), event_dim=1),
        "cat": d.CatTransform([d.ExpTransform(), d.AffineTransform(1.0, 2.0)], dim=-1, lengths=[1, 2]),
        "cdf": d.CumulativeDistributionTransform(d.Normal(0.0, 1.0)),
        "compose": d.ComposeTransform([d.AffineTransform(1.0, 2.0), d.SigmoidTransform(), d.PowerTransform(3.0)]),
        "compose mixed": d.ComposeTransform(
            [d.ExpTransform(), d.StickBreakingTransform(), d.AffineTransform(0.0, 2.0)]
        ),
        "corr": d.CorrCholeskyTransform(),
        "empty": d.ComposeTransform([]),
        "exp": d.ExpTransform(),
        "independent": d.IndependentTransform(d.ExpTransform(), 1),
        "inverse": d.ExpTransform().inv.inv,
        "power": d.ComposeTransform([d.ExpTransform(), d.PowerTransform(t(2.0, -1.0, 0.5))]),
        "reshape": d.ReshapeTransform((3,), (3, 1)),
        "sigmoid": d.SigmoidTransform(),
        "softmax": d.SoftmaxTransform(),
        "softplus": d.SoftplusTransform(),
        "stack": d.StackTransform([d.ExpTransform(), d.TanhTransform(), d.AffineTransform(0.0, 3.0)], dim=-1),
        "stick": d.StickBreakingTransform(),
        "tanh": d.TanhTransform(),
    }


NAMES = sorted(transforms(minitorch))
X = np.random.default_rng(0).normal(size=(2, 3))


@pytest.mark.parametrize("name", NAMES)
def test_like_pytorchs(name: str) -> None:
    reference = pytest.importorskip("torch")
    found = []
    for library in (minitorch, reference):
        transform = transforms(library)[name]
        x = library.tensor(X, requires_grad=True)
        y = transform(x)
        back = outcome(lambda: transform.inv(y))
        jacobian = outcome(lambda: transform.log_abs_det_jacobian(x, y))
        (slope,) = library.autograd.grad(y.square().sum(), x, retain_graph=True)
        shapes = [transform.forward_shape(x.shape), transform.inverse_shape(y.shape)]
        dims = [outcome(lambda: t.event_dim) for t in (transform.domain, transform.codomain)]
        text = [repr(transform), repr(transform.inv), transform.bijective, *[tuple(s) for s in shapes], *dims]
        text += [repr(transform.domain), repr(transform.codomain)] if name not in ("cat", "stack") else []
        sign = outcome(lambda: transform.sign)
        if isinstance(sign, library.Tensor):
            sign = sign.tolist()
        found.append(([y, slope, back, jacobian], [*text, sign]))
    for got, expected in zip(found[0][0], found[1][0]):
        assert_same(got, expected, 1e-9)
    assert found[0][1] == found[1][1]


def test_matrices_like_pytorchs() -> None:
    reference = pytest.importorskip("torch")
    matrix = np.random.default_rng(1).normal(size=(2, 3, 3))
    for name in ("LowerCholeskyTransform", "PositiveDefiniteTransform"):
        ours, theirs = getattr(minitorch.distributions, name)(), getattr(reference.distributions, name)()
        y, expected = ours(minitorch.tensor(matrix)), theirs(reference.tensor(matrix))
        assert_same(y, expected, 1e-12)
        assert_same(ours.inv(y), theirs.inv(expected), 1e-9)


@pytest.mark.parametrize("name", ["affine", "exp", "sigmoid", "softplus", "stick", "tanh", "corr", "compose"])
def test_determinants_are_those_of_the_jacobian(name: str) -> None:
    transform = transforms(torch)[name]
    x = torch.tensor(X[0] if name in ("stick", "corr") else X[0, :1], requires_grad=True)
    y = transform(x)
    if name == "corr":
        free = y[torch.tensor([1, 2, 2]), torch.tensor([0, 0, 1])]  # the entries below the diagonal
    else:
        free = y[:-1] if name == "stick" else y
    rows = [torch.autograd.grad(value, x, retain_graph=True)[0] for value in free]
    expected = torch.stack(rows).det().abs().log().item()
    assert transform.log_abs_det_jacobian(x, y).sum().item() == pytest.approx(expected, rel=1e-9)
    assert transform.inv(y).tolist() == pytest.approx(x.tolist(), rel=1e-6)


def test_a_cache_keeps_the_argument_itself() -> None:
    transform = D.ExpTransform(cache_size=1)
    x = torch.tensor([1.0])
    y = transform(x)
    assert transform(x) is y
    assert transform.inv(y) is x
    assert D.ExpTransform().with_cache().inv(y) is not x
    with pytest.raises(ValueError, match="cache_size must be 0 or 1"):
        D.ExpTransform(cache_size=2)


def test_copies_and_pickles() -> None:
    transform = D.ComposeTransform([D.AffineTransform(1.0, 2.0), D.ExpTransform()])
    assert transform.inv.inv is transform
    for again in (copy.deepcopy(transform), pickle.loads(pickle.dumps(transform))):
        assert again == transform
        assert again(torch.tensor(0.0)).item() == pytest.approx(math.e)


def test_equality() -> None:
    assert D.ExpTransform() == D.ExpTransform()
    assert D.ExpTransform() != D.TanhTransform()
    assert D.ExpTransform().inv == D.ExpTransform().inv
    assert D.AffineTransform(1.0, 2.0) == D.AffineTransform(1.0, torch.tensor(2.0))
    assert D.AffineTransform(1.0, 2.0) != D.AffineTransform(1.0, 3.0)
    assert D.PowerTransform(2.0) == D.PowerTransform(2.0) != D.PowerTransform(3.0)


# -- transformed distributions -----------------------------------------------------------------------------------------
def compositions(library: Any) -> list[Any]:
    d, t = library.distributions, lambda a: library.tensor(a, dtype=library.float64)
    normal = d.Normal(t([0.0, 1.0, -1.0]), t([1.0, 2.0, 0.5]))
    return [
        d.TransformedDistribution(normal, d.ExpTransform()),
        d.TransformedDistribution(normal, [d.AffineTransform(1.0, -2.0), d.SigmoidTransform()]),
        d.TransformedDistribution(normal, []),
        d.TransformedDistribution(normal, d.StickBreakingTransform()),
        d.TransformedDistribution(d.Independent(normal, 1), [d.TanhTransform()]),
        d.TransformedDistribution(d.Normal(t(0.0), t(1.0)), d.AffineTransform(t([0.0, 1.0]), t([1.0, 3.0]))),
        d.TransformedDistribution(normal, d.ReshapeTransform((3,), (3, 1))),
        d.MixtureSameFamily(d.Categorical(t([0.2, 0.3, 0.5])), normal),
        d.MixtureSameFamily(
            d.Categorical(t([[0.2, 0.8], [0.5, 0.5]])), d.Independent(d.Normal(t(np.ones((2, 2, 3))), t(1.0)), 1)
        ),
        d.MixtureSameFamily(d.Categorical(t([0.2, 0.3, 0.5])), d.Poisson(t([1.0, 2.0, 9.0]))),
        d.Independent(d.Bernoulli(t([[0.2, 0.4], [0.5, 0.9]])), 1),
        d.Independent(d.Bernoulli(t([0.2, 0.4])), 0),
    ]


@pytest.mark.parametrize("place", range(len(compositions(minitorch))))
def test_compositions_like_pytorchs(place: int) -> None:
    reference = pytest.importorskip("torch")
    found, points = [], None
    for library in (reference, minitorch):
        for expand in (False, True):
            distribution = compositions(library)[place]
            if expand:
                distribution = distribution.expand((4, *distribution.batch_shape))
            library.manual_seed(0)
            sample = distribution.sample((5,))
            points = sample if not found else points
            value = library.tensor(found[len(found) % 2][0][0].numpy()) if library is minitorch else sample
            values = [sample, distribution.log_prob(value)]
            values += [outcome(lambda: distribution.cdf(value)), outcome(lambda: distribution.entropy())]
            values += [outcome(lambda: getattr(distribution, n)) for n in ("mean", "variance", "mode", "stddev")]
            values += [outcome(lambda: distribution.rsample()), outcome(lambda: distribution.enumerate_support())]
            text = [tuple(distribution.batch_shape), tuple(distribution.event_shape), repr(distribution.support)]
            text += [repr(distribution), bool(distribution.has_rsample), bool(distribution.has_enumerate_support)]
            found.append((values, text))
    for (expected, text), (got, our_text) in zip(found[:2], found[2:]):
        for g, e in zip(got, expected):
            assert_same(g, e, 1e-9)
        assert our_text == text


def test_what_cannot_be_transformed() -> None:
    normal = D.Normal(0.0, 1.0)
    with pytest.raises(ValueError, match="transforms must be a Transform or"):
        D.TransformedDistribution(normal, torch.exp)
    with pytest.raises(ValueError, match="needs to have shape with size at least 1"):
        D.TransformedDistribution(normal, D.StickBreakingTransform())
    with pytest.raises(ValueError, match="different numbers of elements"):
        D.ReshapeTransform((3,), (2, 2))
    with pytest.raises(ValueError, match="Too few dimensions"):
        D.IndependentTransform(D.ExpTransform(), 1)(torch.tensor(1.0))
    with pytest.raises(ValueError, match="not a flattened lower-diagonal number"):
        D.CorrCholeskyTransform().forward_shape((2,))
    with pytest.raises(AssertionError, match="All elements of tseq"):
        D.StackTransform([torch.exp])


@pytest.mark.parametrize("registry", ["biject_to", "transform_to"])
def test_registries_lead_into_the_constraint(registry: str) -> None:
    constraints = D.constraints
    wanted = [
        constraints.real, constraints.positive, constraints.nonnegative, constraints.greater_than(2.0),
        constraints.less_than(-1.0), constraints.interval(1.0, 3.0), constraints.unit_interval, constraints.simplex,
        constraints.corr_cholesky, constraints.independent(constraints.positive, 1), constraints.half_open_interval(0.0, 2.0),
    ]  # fmt: skip
    if registry == "transform_to":
        wanted += [constraints.lower_cholesky, constraints.positive_definite]
    for constraint in wanted:
        x = torch.randn(3, 3)
        assert constraint.check(getattr(D, registry)(constraint)(x)).all()
    with pytest.raises(NotImplementedError, match="Cannot transform"):
        getattr(D, registry)(constraints.boolean)
    with pytest.raises(TypeError, match="Expected constraint to be either"):
        getattr(D, registry).register(3, len)
