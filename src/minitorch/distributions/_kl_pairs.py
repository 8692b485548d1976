"""The pairs of distributions whose divergence has a closed form."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..nn.functional import softplus
from ..ops.broadcast import broadcast_shapes
from ..ops.creation import full_like
from ..ops.diagonals import diag_embed
from ..ops.solves import solve_triangular
from ..ops.special import xlogy
from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .categorical import Categorical
from .cauchy import Cauchy
from .continuous_bernoulli import ContinuousBernoulli
from .dirichlet import Dirichlet
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .exponential import Exponential
from .gamma import Gamma
from .geometric import Geometric
from .gumbel import Gumbel
from .half_normal import HalfNormal
from .independent import Independent
from .kl import kl_divergence, register_kl
from .laplace import Laplace
from .lowrank_multivariate_normal import LowRankMultivariateNormal
from .multivariate_normal import MultivariateNormal, half_log_det, mahalanobis
from .normal import Normal
from .one_hot_categorical import OneHotCategorical
from .pareto import Pareto
from .poisson import Poisson
from .transformed_distribution import TransformedDistribution
from .uniform import Uniform
from .utils import euler_constant, sum_rightmost


def _squares(matrix: Any) -> Any:
    """The sum of a matrix's squared entries: the trace of it times its transpose."""
    return matrix.pow(2).sum(-1).sum(-1)


def _x_log_x(x: Any) -> Any:
    return xlogy(x, x)


# -- what cross entropies need of p ------------------------------------------------------------------------------------
_MEAN_LOG: dict[type, Callable[[Any], Any]] = {
    Beta: lambda p: p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma(),
    Exponential: lambda p: -euler_constant - p.rate.log(),
    Gamma: lambda p: p.concentration.digamma() - p.rate.log(),
    Pareto: lambda p: p.scale.log() + p.alpha.reciprocal(),
    Uniform: lambda p: (_x_log_x(p.high) - _x_log_x(p.low)) / (p.high - p.low) - 1,
}
"""The mean of ``log x``."""

_MEAN_LOG_REST: dict[type, Callable[[Any], Any]] = {
    Beta: lambda p: p.concentration0.digamma() - (p.concentration1 + p.concentration0).digamma(),
    Uniform: lambda p: (_x_log_x(1 - p.low) - _x_log_x(1 - p.high)) / (p.high - p.low) - 1,
}
"""The mean of ``log(1 - x)``."""

_MEAN_EXP: dict[type, Callable[[Any, Any], Any]] = {
    Exponential: lambda p, q: (q.loc / q.scale).exp() * (p.rate * q.scale) / (p.rate * q.scale + 1),
    Gamma: lambda p, q: (q.loc / q.scale).exp() * (1 + (p.rate * q.scale).reciprocal()).pow(-p.concentration),
    Gumbel: lambda p, q: ((q.loc - p.loc) / q.scale + (1 + p.scale / q.scale).lgamma()).exp(),
    Normal: lambda p, q: ((q.loc - p.loc) / q.scale + 0.5 * (p.scale / q.scale).pow(2)).exp(),
    Uniform: lambda p, q: (
        (((q.loc - p.low) / q.scale).exp() - ((q.loc - p.high) / q.scale).exp()) * q.scale / (p.high - p.low)
    ),
}
"""The mean of ``exp(-(x - loc) / scale)``, with q's loc and scale."""


def _laplace_distance(p: Any, q: Any) -> Any:
    away = (p.loc - q.loc).abs()
    return away + p.scale * (-away / p.scale).exp()


def _normal_distance(p: Any, q: Any) -> Any:
    away = p.loc - q.loc
    standard = away / p.scale
    return math.sqrt(2 / math.pi) * p.scale * (-0.5 * standard.pow(2)).exp() + away * (math.sqrt(0.5) * standard).erf()


_MEAN_DISTANCE: dict[type, Callable[[Any, Any], Any]] = {Laplace: _laplace_distance, Normal: _normal_distance}
"""The mean of ``|x - loc|``, with q's loc."""


# -- cross entropies: minus the mean of log q over p -------------------------------------------------------------------
def _with_beta(p: Any, q: Any, kind: type) -> Any:
    a, b = q.concentration1, q.concentration0
    norm = a.lgamma() + b.lgamma() - (a + b).lgamma()
    return norm - (a - 1) * _MEAN_LOG[kind](p) - (b - 1) * _MEAN_LOG_REST[kind](p)


def _with_continuous_bernoulli(p: Any, q: Any, kind: type) -> Any:
    return -p.mean * q.logits - (-q.probs).log1p() - q._cont_bern_log_norm()


def _with_exponential(p: Any, q: Any, kind: type) -> Any:
    return q.rate * p.mean - q.rate.log()


def _with_gamma(p: Any, q: Any, kind: type) -> Any:
    norm = q.concentration.lgamma() - q.concentration * q.rate.log()
    return norm - (q.concentration - 1) * _MEAN_LOG[kind](p) + q.rate * p.mean


def _with_gumbel(p: Any, q: Any, kind: type) -> Any:
    return q.scale.log() + (p.mean - q.loc) / q.scale + _MEAN_EXP[kind](p, q)


def _with_laplace(p: Any, q: Any, kind: type) -> Any:
    return (2 * q.scale).log() + _MEAN_DISTANCE[kind](p, q) / q.scale


def _with_normal(p: Any, q: Any, kind: type) -> Any:
    spread = p.variance + (p.mean - q.loc).pow(2)
    return 0.5 * math.log(2 * math.pi) + q.scale.log() + spread / (2 * q.scale.pow(2))


def _with_pareto(p: Any, q: Any, kind: type) -> Any:
    return (q.alpha + 1) * _MEAN_LOG[kind](p) - q.alpha.log() - q.alpha * q.scale.log()


def _with_poisson(p: Any, q: Any, kind: type) -> Any:
    return q.rate - p.probs * q.rate.log()


def _with_uniform(p: Any, q: Any, kind: type) -> Any:
    return (q.high - q.low).log()


# where p has values that q has not
def _below_zero(p: Any, q: Any) -> Any:
    return p.low < 0


def _outside_unit(p: Any, q: Any) -> Any:
    return (p.high > 1) | (p.low < 0)


def _below_scale(p: Any, q: Any) -> Any:
    return (p.scale if isinstance(p, Pareto) else p.low) < q.scale


def _outside_bounds(p: Any, q: Any) -> Any:
    low, high = (p.low, p.high) if isinstance(p, Uniform) else (0, 1)
    return (q.low > low) | (q.high < high)


_CROSS: list[tuple[type, type, Callable[..., Any], Callable[..., Any] | None]] = [
    (Bernoulli, Poisson, _with_poisson, None),
    (Beta, Beta, _with_beta, None),
    (Beta, ContinuousBernoulli, _with_continuous_bernoulli, None),
    (Beta, Exponential, _with_exponential, None),
    (Beta, Gamma, _with_gamma, None),
    (Beta, Normal, _with_normal, None),
    (Beta, Uniform, _with_uniform, _outside_bounds),
    (ContinuousBernoulli, ContinuousBernoulli, _with_continuous_bernoulli, None),
    (ContinuousBernoulli, Exponential, _with_exponential, None),
    (ContinuousBernoulli, Normal, _with_normal, None),
    (ContinuousBernoulli, Uniform, _with_uniform, lambda p, q: (q.low >= 0) | (q.high <= 1)),
    (Exponential, Gamma, _with_gamma, None),
    (Exponential, Gumbel, _with_gumbel, None),
    (Exponential, Normal, _with_normal, None),
    (Gamma, Exponential, _with_exponential, None),
    (Gamma, Gamma, _with_gamma, None),
    (Gamma, Gumbel, _with_gumbel, None),
    (Gamma, Normal, _with_normal, None),
    (Gumbel, Gumbel, _with_gumbel, None),
    (Gumbel, Normal, _with_normal, None),
    (Laplace, Laplace, _with_laplace, None),
    (Laplace, Normal, _with_normal, None),
    (Normal, Gumbel, _with_gumbel, None),
    (Normal, Laplace, _with_laplace, None),
    (Pareto, Exponential, _with_exponential, lambda p, q: p.alpha <= 1),
    (Pareto, Gamma, _with_gamma, lambda p, q: p.alpha <= 1),
    (Pareto, Normal, _with_normal, lambda p, q: p.alpha <= 2),
    (Pareto, Pareto, _with_pareto, _below_scale),
    (Uniform, Beta, _with_beta, _outside_unit),
    (Uniform, ContinuousBernoulli, _with_continuous_bernoulli, lambda p, q: (p.high >= 1) | (p.low <= 0)),
    (Uniform, Exponential, _with_exponential, _below_zero),
    (Uniform, Gamma, _with_gamma, _below_zero),
    (Uniform, Gumbel, _with_gumbel, None),
    (Uniform, Normal, _with_normal, None),
    (Uniform, Pareto, _with_pareto, _below_scale),
    (Uniform, Uniform, _with_uniform, _outside_bounds),
]
"""p, q, the cross entropy, and where the divergence is infinite."""


def _from_cross_entropy(kind: type, cross: Callable[..., Any], infinite: Callable[..., Any] | None) -> Any:
    def divergence(p: Any, q: Any) -> Any:
        result = cross(p, q, kind) - p.entropy()
        return result if infinite is None else result.masked_fill(infinite(p, q), math.inf)

    return divergence


for _p, _q, _cross, _infinite in _CROSS:
    register_kl(_p, _q)(_from_cross_entropy(_p, _cross, _infinite))

_ON_UNIT = (Beta, ContinuousBernoulli, Uniform)
_ON_HALF = (*_ON_UNIT, Pareto)
_ON_LESS = (*_ON_HALF, Exponential, Gamma)
_NEVER: list[tuple[type, tuple[type, ...], str]] = [
    (Beta, (Pareto,), "concentration1"),
    (ContinuousBernoulli, (Pareto,), "probs"),
    (Exponential, _ON_HALF, "rate"),
    (Gamma, _ON_HALF, "concentration"),
    (Gumbel, _ON_LESS, "loc"),
    (Laplace, _ON_LESS, "loc"),
    (Normal, _ON_LESS, "loc"),
    (Pareto, _ON_UNIT, "scale"),
    (Poisson, (Bernoulli, Binomial), "rate"),
]
"""p, the classes of q whose support p always leaves, and the parameter that the infinite result is like."""


def _infinite_as(name: str) -> Any:
    return lambda p, q: full_like(getattr(p, name), math.inf)


for _p, _others, _name in _NEVER:
    for _q in _others:
        register_kl(_p, _q)(_infinite_as(_name))


# -- formulas of their own ---------------------------------------------------------------------------------------------
@register_kl(Bernoulli, Bernoulli)
def _kl_bernoulli_bernoulli(p: Any, q: Any) -> Any:
    def part(probs: Any, others: Any, sign: int) -> Any:
        term = probs * (softplus(sign * q.logits) - softplus(sign * p.logits))
        return term.masked_fill(others == 0, math.inf).masked_fill(probs == 0, 0)

    return part(p.probs, q.probs, -1) + part(1 - p.probs, 1 - q.probs, 1)


@register_kl(Binomial, Binomial)
def _kl_binomial_binomial(p: Any, q: Any) -> Any:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    one = p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()
    return (p.total_count * one).masked_fill(p.total_count > q.total_count, math.inf)


@register_kl(Categorical, Categorical)
def _kl_categorical_categorical(p: Any, q: Any) -> Any:
    terms = p.probs * (p.logits - q.logits)
    return terms.masked_fill(q.probs == 0, math.inf).masked_fill(p.probs == 0, 0).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _kl_one_hot_one_hot(p: Any, q: Any) -> Any:
    return _kl_categorical_categorical(p._categorical, q._categorical)


@register_kl(Cauchy, Cauchy)
def _kl_cauchy_cauchy(p: Any, q: Any) -> Any:
    return ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log() - (4 * p.scale * q.scale).log()


@register_kl(Dirichlet, Dirichlet)
def _kl_dirichlet_dirichlet(p: Any, q: Any) -> Any:
    def log_beta(a: Any) -> Any:
        return a.lgamma().sum(-1) - a.sum(-1).lgamma()

    a, b = p.concentration, q.concentration
    means = a.digamma() - a.sum(-1, True).digamma()
    return log_beta(b) - log_beta(a) + ((a - b) * means).sum(-1)


@register_kl(Exponential, Exponential)
def _kl_exponential_exponential(p: Any, q: Any) -> Any:
    ratio = q.rate / p.rate
    return ratio - 1 - ratio.log()


@register_kl(ExponentialFamily, ExponentialFamily)
def _kl_family_family(p: Any, q: Any) -> Any:
    if type(p) is not type(q):
        raise NotImplementedError(
            f"The divergence of a {type(p).__name__} from a {type(q).__name__}, of another exponential family, has no formula"
        )
    natural, normalizer, means = p._mean_statistics()
    result = q._log_normalizer(*q._natural_params) - normalizer
    for ours, theirs, mean in zip(natural, q._natural_params, means):
        result = result - sum_rightmost((theirs - ours) * mean, len(q.event_shape))
    return result


@register_kl(Geometric, Geometric)
def _kl_geometric_geometric(p: Any, q: Any) -> Any:
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


@register_kl(Normal, Normal)
def _kl_normal_normal(p: Any, q: Any) -> Any:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(HalfNormal, HalfNormal)
def _kl_half_normal_half_normal(p: Any, q: Any) -> Any:
    return _kl_normal_normal(p.base_dist, q.base_dist)


@register_kl(Poisson, Poisson)
def _kl_poisson_poisson(p: Any, q: Any) -> Any:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Independent, Independent)
def _kl_independent_independent(p: Any, q: Any) -> Any:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError("the divergence of Independents needs the same reinterpreted_batch_ndims")
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(TransformedDistribution, TransformedDistribution)
def _kl_transformed_transformed(p: Any, q: Any) -> Any:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError("the divergence of transformed distributions needs equal transforms and event shapes")
    return kl_divergence(p.base_dist, q.base_dist)


# -- multivariate normal -----------------------------------------------------------------------------------------------
def _same_size(p: Distribution, q: Distribution) -> None:
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two (Low Rank) Multivariate Normals with different event shapes cannot be computed: "
            f"{p.event_shape} and {q.event_shape}"
        )


def _log_det(p: Any) -> Any:
    return p._log_det() if isinstance(p, LowRankMultivariateNormal) else 2 * half_log_det(p._unbroadcasted_scale_tril)


def _factors(p: Any) -> list[Any]:
    """Matrices whose products with their transposes add up to the covariance."""
    if isinstance(p, LowRankMultivariateNormal):
        return [p._unbroadcasted_cov_factor, diag_embed(p._unbroadcasted_cov_diag.sqrt())]
    return [p._unbroadcasted_scale_tril]


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
@register_kl(MultivariateNormal, MultivariateNormal)
def _kl_from_multivariate_normal(p: Any, q: Any) -> Any:
    _same_size(p, q)
    triangle = q._unbroadcasted_scale_tril
    trace = 0
    for factor in _factors(p):
        batch = broadcast_shapes(triangle.shape[:-2], factor.shape[:-2])
        systems, sides = triangle.expand((*batch, -1, -1)), factor.expand((*batch, -1, -1))
        trace = trace + _squares(solve_triangular(systems, sides, upper=False))
    distance = mahalanobis(triangle, q.loc - p.loc)
    return 0.5 * (_log_det(q) - _log_det(p) + trace + distance - p.event_shape[0])


@register_kl(MultivariateNormal, LowRankMultivariateNormal)
@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _kl_from_low_rank(p: Any, q: Any) -> Any:
    _same_size(p, q)
    root, whitened = q._unbroadcasted_cov_diag.rsqrt().unsqueeze(-1), q._whitened()
    trace = sum([_squares(factor * root) - _squares(whitened @ factor) for factor in _factors(p)])
    return 0.5 * (_log_det(q) - _log_det(p) + trace + q._mahalanobis(q.loc - p.loc) - p.event_shape[0])
