"""Constraints: what they hold for, their dimensions and text; arguments and values that are refused."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import minitorch
from backend import torch
from distributions.cases import outcome

D = torch.distributions
C = D.constraints
NAMES = [
    "boolean", "corr_cholesky", "lower_cholesky", "lower_triangular", "nonnegative", "nonnegative_integer", "one_hot",
    "positive", "positive_definite", "positive_integer", "positive_semidefinite", "real", "real_vector", "simplex",
    "square", "symmetric", "unit_interval",
]  # fmt: skip
MADE: list[tuple[str, tuple[Any, ...]]] = [
    ("greater_than", (0.5,)), ("greater_than_eq", (1.0,)), ("half_open_interval", (0, 1)), ("integer_interval", (0, 2)),
    ("interval", (0, 1)), ("less_than", (1.0,)), ("multinomial", (2,)),
]  # fmt: skip
MATRICES = [
    np.eye(3), np.ones((3, 3)), np.tril(np.ones((3, 3))), -np.eye(3), np.arange(9.0).reshape(3, 3) / 9, np.full((3, 3), 1 / 3),
    np.array([[1, 0, 0], [0.6, 0.8, 0], [0, 0, 1]]), np.full((3, 3), np.nan), np.array([[2.0, -1, 0], [-1, 2, -1], [0, -1, 2]]),
]  # fmt: skip


def singular(matrix: np.ndarray) -> bool:
    """Whether an eigenvalue is zero but for rounding, of which each processor has its own."""
    return bool(np.abs(np.linalg.eigvalsh(np.nan_to_num(matrix))).min() < 1e-12)


@pytest.mark.parametrize(("name", "arguments"), [*[(n, ()) for n in NAMES], *MADE], ids=str)
def test_like_pytorchs(name: str, arguments: tuple[Any, ...]) -> None:
    reference = pytest.importorskip("torch")
    found = []
    for library in (minitorch, reference):
        constraint = getattr(library.distributions.constraints, name)
        constraint = constraint(*arguments) if arguments else constraint
        known = [m for m in MATRICES if name != "positive_semidefinite" or not singular(m)]
        checks = [constraint.check(library.tensor(m)).tolist() for m in known]
        batch = constraint.check(library.tensor(np.stack(known[:2]))).tolist()
        found.append([checks, batch, constraint.event_dim, constraint.is_discrete, repr(constraint)])
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("constraint", "inside", "outside"),
    [
        (lambda: C.positive, 1.0, 0.0),
        (lambda: C.nonnegative, 0.0, -1.0),
        (lambda: C.unit_interval, 0.5, 1.5),
        (lambda: C.boolean, 1.0, 0.5),
        (lambda: C.nonnegative_integer, 3.0, 0.5),
        (lambda: C.real, 1e30, float("nan")),
        (lambda: C.simplex, [0.25, 0.75], [0.5, 0.6]),
        (lambda: C.one_hot, [0.0, 1.0], [1.0, 1.0]),
        (lambda: C.lower_cholesky, [[1.0, 0.0], [2.0, 1.0]], [[1.0, 1.0], [0.0, 1.0]]),
        (lambda: C.positive_definite, [[2.0, 1.0], [1.0, 2.0]], [[1.0, 2.0], [2.0, 1.0]]),
        (lambda: C.square, [[1.0, 0.0], [2.0, 1.0]], [[1.0, 1.0]]),
        (lambda: C.independent(C.positive, 1), [1.0, 2.0], [1.0, 0.0]),
        (lambda: C.cat([C.positive, C.real], 0), [1.0, -1.0], [-1.0, 1.0]),
        (lambda: C.stack([C.positive, C.real], 0), [1.0, -1.0], [-1.0, 1.0]),
    ],
)
def test_inside_and_outside(constraint: Any, inside: Any, outside: Any) -> None:
    assert constraint().check(torch.tensor(inside)).all()
    assert not constraint().check(torch.tensor(outside)).all()


def test_dependent_constraints() -> None:
    support = D.Uniform.support
    assert C.is_dependent(support)
    assert not C.is_dependent(D.Uniform(0.0, 1.0).support)
    assert (support.event_dim, support.is_discrete) == (0, False)
    with pytest.raises(NotImplementedError, match="cannot be determined statically"):
        _ = C.dependent.event_dim
    assert C.dependent(event_dim=1).event_dim == 1
    with pytest.raises(ValueError, match="Cannot determine validity of dependent constraint"):
        C.dependent.check(torch.tensor(1.0))


# -- what is refused ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "call",
    [
        lambda d, t: d.Normal(t(float("nan")), t(1.0)),
        lambda d, t: d.Normal(0.0, -1.0),
        lambda d, t: d.Normal("0", 1.0),
        lambda d, t: d.Normal(t([0.0, 1.0]), t([1.0, 1.0, 1.0])),
        lambda d, t: d.Uniform(1.0, 0.0),
        lambda d, t: d.Bernoulli(1.5),
        lambda d, t: d.Bernoulli(0.5, logits=1.0),
        lambda d, t: d.Bernoulli(),
        lambda d, t: d.Categorical(),
        lambda d, t: d.Categorical(t(0.5)),
        lambda d, t: d.Categorical(logits=t(0.5)),
        lambda d, t: d.Categorical(t([0.0, 0.0])),
        lambda d, t: d.Categorical(t([-1.0, 2.0])),
        lambda d, t: d.Categorical(logits=t([float("nan"), 1.0])),
        lambda d, t: d.Categorical(t([0.5, 0.5])).log_prob(t(2)),
        lambda d, t: d.Categorical(t([0.5, 0.5])).log_prob(t(0.5)),
        lambda d, t: d.Normal(0.0, 1.0).log_prob(1.0),
        lambda d, t: d.Normal(t([0.0, 1.0]), 1.0).log_prob(t([1.0, 1.0, 1.0])),
        lambda d, t: d.Normal(0.0, 1.0).log_prob(t(float("nan"))),
        lambda d, t: d.Exponential(1.0).log_prob(t(-1.0)),
        lambda d, t: d.Exponential(1.0).cdf(t(-1.0)),
        lambda d, t: d.Gamma(1.0, 0.0),
        lambda d, t: d.Beta(1.0, 1.0).log_prob(t(2.0)),
        lambda d, t: d.Dirichlet(t(1.0)),
        lambda d, t: d.Dirichlet(t([1.0, -1.0])),
        lambda d, t: d.Dirichlet(t([1.0, 1.0])).log_prob(t([0.5, 0.6])),
        lambda d, t: d.Dirichlet(t([1.0, 1.0])).log_prob(t([0.5, 0.2, 0.3])),
        lambda d, t: d.Poisson(-1.0),
        lambda d, t: d.Poisson(1.0).log_prob(t(0.5)),
        lambda d, t: d.Binomial(-1, t(0.5)),
        lambda d, t: d.Binomial(2, t(0.5)).log_prob(t(3.0)),
        lambda d, t: d.Binomial(t([2.0, 3.0]), t(0.5)).entropy(),
        lambda d, t: d.Geometric(0.0),
        lambda d, t: d.Multinomial(t(2), t([0.5, 0.5])),
        lambda d, t: d.Multinomial(2, t([0.5, 0.5])).log_prob(t([2.0, 1.0])),
        lambda d, t: d.NegativeBinomial(1, t(1.0)),
        lambda d, t: d.MultivariateNormal(t(0.0), t([[1.0]])),
        lambda d, t: d.MultivariateNormal(t([0.0])),
        lambda d, t: d.MultivariateNormal(t([0.0]), t([[1.0]]), t([[1.0]])),
        lambda d, t: d.MultivariateNormal(t([0.0]), t([1.0])),
        lambda d, t: d.MultivariateNormal(t([0.0, 0.0]), t([[1.0, 2.0], [2.0, 1.0]])),
        lambda d, t: d.MultivariateNormal(t([0.0, 0.0]), scale_tril=t([[1.0, 2.0], [2.0, 1.0]])),
        lambda d, t: d.LowRankMultivariateNormal(t([0.0]), t([[1.0], [1.0]]), t([1.0])),
        lambda d, t: d.Independent(d.Normal(0.0, 1.0), 1),
        lambda d, t: d.MixtureSameFamily(d.Normal(0.0, 1.0), d.Normal(0.0, 1.0)),
        lambda d, t: d.MixtureSameFamily(d.Categorical(t([0.5, 0.5])), d.Normal(t([0.0, 0.0, 1.0]), 1.0)),
        lambda d, t: d.MixtureSameFamily(d.Categorical(t([0.5, 0.5])), t([1.0])),
        lambda d, t: d.ContinuousBernoulli(2.0, validate_args=True),
        lambda d, t: d.Bernoulli(0.5).rsample(),
        lambda d, t: d.Normal(0.0, 1.0).enumerate_support(),
        lambda d, t: d.StudentT(1.0).cdf(t(1.0)),
        lambda d, t: d.Distribution.set_default_validate_args(2),
        lambda d, t: d.Distribution(validate_args=False).expand((2,)),
        lambda d, t: d.Distribution(validate_args=False).mean,
        lambda d, t: d.Distribution(validate_args=False).mode,
        lambda d, t: type("Mine", (d.Normal,), {"__init__": lambda self: d.Normal.__init__(self, 0.0, 1.0)})().expand((2,)),
    ],
)  # fmt: skip
def test_error_classes_are_pytorchs(call: Any) -> None:
    reference = pytest.importorskip("torch")
    got = outcome(lambda: call(minitorch.distributions, minitorch.tensor))
    assert isinstance(got, type)
    assert got is outcome(lambda: call(reference.distributions, reference.tensor))


def test_messages_say_what_came_and_what_was_expected() -> None:
    message = (
        "Expected parameter scale (Tensor of shape (2,)) of distribution Normal(loc: torch.Size([2]), scale: torch.Size([2])) "
        "to satisfy the constraint GreaterThan(lower_bound=0.0), but found invalid values:\ntensor([ 1., -1.])"
    )
    with pytest.raises(ValueError, match=re.escape(message)):
        D.Normal(0.0, torch.tensor([1.0, -1.0]))
    with pytest.raises(ValueError, match=r"within the support \(IntegerInterval\(lower_bound=0, upper_bound=1\)\)"):
        D.Categorical(torch.tensor([0.5, 0.5])).log_prob(torch.tensor(2))
    with pytest.raises(ValueError, match="Either `probs` or `logits` must be specified, but not both"):
        D.Bernoulli()


def test_checks_can_be_left_out() -> None:
    wild = D.Normal(0.0, -1.0, validate_args=False)
    assert torch.isnan(wild.log_prob(torch.tensor(1.0)))
    assert D.Exponential(1.0, validate_args=False).log_prob(torch.tensor(-1.0)).item() == 1
    D.Distribution.set_default_validate_args(False)
    try:
        D.Normal(0.0, -1.0)
    finally:
        D.Distribution.set_default_validate_args(True)
    with pytest.raises(ValueError, match="invalid values"):
        D.Normal(0.0, -1.0)


def test_a_distribution_of_ones_own_is_warned_about_what_it_lacks() -> None:
    class Mine(D.Distribution):
        def log_prob(self, value: Any) -> Any:
            self._validate_sample(value)
            return value

    with pytest.warns(UserWarning, match="does not define `arg_constraints`"):
        mine = Mine()
    with pytest.warns(UserWarning, match="does not define `support`"):
        mine.log_prob(torch.tensor(1.0))
