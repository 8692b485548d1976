"""Values known beforehand, laws, and how scripts use distributions: none of this needs PyTorch."""

from __future__ import annotations

import copy
import importlib
import math
import pickle
import warnings
from typing import Any

import numpy as np
import pytest

from backend import torch
from distributions.cases import EACH, make, outcome

D = torch.distributions


@pytest.mark.parametrize(
    ("distribution", "value", "expected"),
    [
        (lambda: D.Normal(1.0, 2.0), 1.0, -math.log(2 * math.sqrt(2 * math.pi))),
        (lambda: D.Bernoulli(0.25), 1.0, math.log(0.25)),
        (lambda: D.Categorical(torch.tensor([1.0, 3.0])), 1, math.log(0.75)),
        (lambda: D.Uniform(0.0, 4.0), 1.0, -math.log(4)),
        (lambda: D.Uniform(0.0, 4.0, validate_args=False), 5.0, -math.inf),
        (lambda: D.Exponential(2.0), 1.5, math.log(2) - 3),
        (lambda: D.Laplace(0.0, 2.0), -2.0, -math.log(4) - 1),
        (lambda: D.Cauchy(0.0, 1.0), 1.0, -math.log(2 * math.pi)),
        (lambda: D.Gamma(3.0, 2.0), 1.0, math.log(4) - 2),
        (lambda: D.Beta(2.0, 3.0), 0.5, math.log(12 * 0.125)),
        (lambda: D.Dirichlet(torch.tensor([1.0, 1.0, 1.0])), [0.2, 0.3, 0.5], math.log(2)),
        (lambda: D.Poisson(3.0), 2.0, math.log(4.5) - 3),
        (lambda: D.Binomial(3, torch.tensor(0.5)), 2.0, math.log(3 / 8)),
        (lambda: D.Geometric(0.25), 2.0, math.log(0.25 * 0.75**2)),
        (lambda: D.NegativeBinomial(2, torch.tensor(0.25)), 1.0, math.log(2 * 0.75**2 * 0.25)),
        (lambda: D.Multinomial(3, torch.tensor([0.5, 0.5])), [1.0, 2.0], math.log(3 / 8)),
        (lambda: D.Pareto(1.0, 2.0), 2.0, math.log(2 / 8)),
        (lambda: D.Gumbel(0.0, 1.0), 1.0, -1 - math.exp(-1)),
        (lambda: D.Weibull(1.0, 2.0), 1.0, math.log(2) - 1),
        (lambda: D.StudentT(1.0), 1.0, -math.log(2 * math.pi)),
        (lambda: D.LogNormal(0.0, 1.0), math.e, -1.5 - 0.5 * math.log(2 * math.pi)),
        (lambda: D.HalfNormal(1.0), 0.0, 0.5 * math.log(2 / math.pi)),
        (lambda: D.MultivariateNormal(torch.zeros(2), 2 * torch.eye(2)), [1.0, 1.0], -0.5 - math.log(4 * math.pi)),
    ],
)
def test_log_prob(distribution: Any, value: Any, expected: float) -> None:
    assert distribution().log_prob(torch.tensor(value)).item() == pytest.approx(expected, rel=1e-5, abs=1e-6)


def test_moments_and_entropies() -> None:
    assert D.Gamma(3.0, 2.0).mean.item() == 1.5
    assert D.Beta(1.0, 3.0).variance.item() == pytest.approx(3 / 80)
    assert D.Uniform(0.0, 4.0).entropy().item() == pytest.approx(math.log(4))
    assert D.Normal(0.0, 1.0).entropy().item() == pytest.approx(0.5 + 0.5 * math.log(2 * math.pi))
    assert D.Categorical(torch.ones(4)).perplexity().item() == pytest.approx(4)
    assert D.Bernoulli(torch.tensor([0.2, 0.8, 0.5])).mode.tolist()[:2] == [0, 1]
    assert math.isnan(D.Cauchy(0.0, 1.0).mean)
    assert D.Pareto(1.0, 0.5).mean.item() == math.inf


@pytest.mark.parametrize(
    "name", ["Normal", "Laplace", "Cauchy", "Uniform", "Exponential", "Gumbel", "LogNormal", "Weibull"]
)
def test_icdf_inverts_cdf(name: str) -> None:
    distribution, _ = make(torch, name, 0)
    p = torch.tensor([0.1, 0.5, 0.9], dtype=torch.float64).unsqueeze(-1)
    again = distribution.cdf(distribution.icdf(p))
    np.testing.assert_allclose(again.detach().numpy(), p.expand(3, 3).numpy(), rtol=1e-8)


@pytest.mark.parametrize("name", ["Bernoulli", "Binomial", "Categorical", "OneHotCategorical"])
def test_probabilities_of_all_values_add_up_to_one(name: str) -> None:
    distribution, _ = make(torch, name, 0)
    values = distribution.enumerate_support()
    assert distribution.log_prob(values).exp().sum(0).tolist() == pytest.approx(
        np.ones(distribution.batch_shape).tolist()
    )


def test_samples_are_spread_as_they_should() -> None:
    torch.manual_seed(0)
    for distribution in (
        D.Normal(1.0, 2.0), D.Gamma(0.5, 2.0), D.Gamma(20.0, 2.0), D.Beta(2.0, 3.0), D.Poisson(3.0), D.Poisson(30.0),
        D.Binomial(50, torch.tensor(0.4)), D.Binomial(5, torch.tensor(0.9)), D.Laplace(0.0, 1.0), D.Gumbel(0.0, 1.0),
        D.Exponential(2.0), D.Geometric(0.3), D.NegativeBinomial(3.0, torch.tensor(0.4)), D.Kumaraswamy(2.0, 3.0),
        D.ContinuousBernoulli(0.3), D.Weibull(1.0, 2.0), D.StudentT(5.0), D.VonMises(0.0, 4.0),
    ):  # fmt: skip
        sample = distribution.sample((4000,)).double()
        error = 5 * distribution.stddev.item() / math.sqrt(4000)
        assert sample.mean().item() == pytest.approx(distribution.mean.item(), abs=max(error, 1e-3)), distribution


@pytest.mark.parametrize("case", EACH, ids=str)
def test_copies_pickles_and_gradients(case: tuple[str, int]) -> None:
    distribution, leaves = make(torch, *case, grad=False)
    assert repr(pickle.loads(pickle.dumps(distribution))) == repr(copy.deepcopy(distribution)) == repr(distribution)
    value = distribution.sample()
    distribution, leaves = make(torch, *case)
    result = distribution.log_prob(value)
    if leaves and case[0] != "Binomial":
        result.sum().backward()
        assert any(p.grad is not None and torch.isfinite(p.grad).all() for p in leaves)
    with torch.no_grad():
        assert not outcome(lambda: distribution.log_prob(value)).requires_grad


# -- as scripts use them -----------------------------------------------------------------------------------------------
def test_a_policy_gradient() -> None:
    logits = torch.zeros(3, requires_grad=True)
    policy = D.Categorical(logits=logits)
    loss = -policy.log_prob(torch.tensor(1)) * 2 - 0.5 * policy.entropy()
    loss.backward()
    assert logits.grad.tolist() == pytest.approx([2 / 3, -4 / 3, 2 / 3], rel=1e-5)


def test_a_variational_bound() -> None:
    loc, log_scale = torch.zeros(2, requires_grad=True), torch.zeros(2, requires_grad=True)
    torch.manual_seed(0)
    posterior = D.Independent(D.Normal(loc, log_scale.exp()), 1)
    prior = D.Independent(D.Normal(torch.zeros(2), torch.ones(2)), 1)
    z = posterior.rsample()
    (D.kl_divergence(posterior, prior) + z.square().sum()).backward()
    assert loc.grad.tolist() == pytest.approx((2 * z).tolist(), rel=1e-5)
    assert log_scale.grad.tolist() == pytest.approx((2 * z * z).tolist(), rel=1e-5)


def test_gamma_samples_move_with_their_parameters() -> None:
    concentration, rate = torch.tensor(3.0, requires_grad=True), torch.tensor(2.0, requires_grad=True)
    torch.manual_seed(0)
    sample = D.Gamma(concentration, rate).rsample((2000,))
    sample.mean().backward()
    assert concentration.grad.item() == pytest.approx(1 / 2, rel=0.1)
    assert rate.grad.item() == pytest.approx(-3 / 4, rel=0.1)


def test_modules_have_pytorchs_names() -> None:
    for name, module in {
        "Normal": "normal", "Categorical": "categorical", "Gumbel": "gumbel", "StudentT": "studentT", "Binomial": "binomial",
        "kl_divergence": "kl", "Transform": "transforms", "Independent": "independent", "biject_to": "constraint_registry",
    }.items():  # fmt: skip
        found = importlib.import_module(f"{torch.__name__}.distributions.{module}")
        assert getattr(found, name) is getattr(D, name)


def test_names_are_pytorchs() -> None:
    reference = pytest.importorskip("torch")
    ours = importlib.import_module("minitorch.distributions")
    assert not set(reference.distributions.__all__) - set(ours.__all__)
    assert not set(ours.__all__) - set(dir(reference.distributions))


def test_sample_n_is_told_to_go() -> None:
    with pytest.warns(FutureWarning, match="sample_n"):
        assert D.Normal(torch.zeros(2), 1.0).sample_n(3).shape == (3, 2)


def test_triangles() -> None:
    matrix = torch.tensor([[1.0, 0.0, 0.0], [2.0, 3.0, 0.0], [4.0, 5.0, 6.0]])
    for diag in (0, -1):
        vector = D.utils.tril_matrix_to_vec(matrix, diag)
        assert D.utils.vec_to_tril_matrix(vector, diag).tolist() == matrix.tril(diag).tolist()
    with pytest.raises(ValueError, match="cannot be expressed as the lower triangular part"):
        D.utils.vec_to_tril_matrix(torch.ones(5))
    with pytest.raises(ValueError, match="is outside"):
        D.utils.tril_matrix_to_vec(matrix, 3)


# -- matrices ----------------------------------------------------------------------------------------------------------
def test_wishart() -> None:
    scale = torch.tensor([[2.0, 0.5], [0.5, 1.0]], dtype=torch.float64)
    wishart = D.Wishart(torch.tensor(6.0, dtype=torch.float64), scale)
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Singular sample detected")  # PyTorch's
        samples = wishart.sample((4000,))
    assert samples.shape == (4000, 2, 2)
    assert torch.allclose(samples.mean(0), 6 * scale, rtol=0.06)
    assert torch.allclose(samples.var(0), wishart.variance, rtol=0.15)
    assert torch.allclose(wishart.log_prob(samples).mean(), -wishart.entropy(), rtol=0.03)
    for same in (
        D.Wishart(6.0, scale_tril=torch.linalg.cholesky(scale)), D.Wishart(6.0, precision_matrix=scale.inverse()),
    ):  # fmt: skip
        assert torch.allclose(same.log_prob(samples), wishart.log_prob(samples))
        assert torch.allclose(same.covariance_matrix, scale)
    one = D.Wishart(3.0, torch.eye(1))  # in one dimension, it is the chi-squared distribution
    assert one.log_prob(torch.tensor([[2.0]])).item() == pytest.approx(D.Chi2(3.0).log_prob(torch.tensor(2.0)).item())
    with pytest.raises(ValueError, match="expected to be greater than ndim - 1 = 1"):
        D.Wishart(1.0, torch.eye(2))
    with pytest.raises(AssertionError, match="Exactly one of covariance_matrix or precision_matrix or scale_tril"):
        D.Wishart(3.0, torch.eye(2), torch.eye(2))
    with pytest.warns(UserWarning, match="Low df values detected"):
        D.Wishart(1.5, torch.eye(2))


def test_samples_of_wishart_have_gradients() -> None:
    if torch.__name__ == "torch":
        pytest.skip("in PyTorch, the second drawing leaves no gradient")
    factor = torch.tensor([[1.5, 0.0], [0.5, 1.0]], dtype=torch.float64, requires_grad=True)
    df = torch.tensor(4.0, dtype=torch.float64, requires_grad=True)
    torch.manual_seed(0)
    D.Wishart(df, scale_tril=factor).rsample((3000,)).mean(0).sum().backward()
    assert torch.allclose(df.grad, (factor @ factor.mT).sum(), rtol=0.1)  # the mean is df * factor @ factor.mT
    assert torch.allclose(factor.grad, 2 * 4.0 * factor.detach().sum(0).expand(2, 2), rtol=0.1)


def test_lkj() -> None:
    torch.manual_seed(0)
    lkj = D.LKJCholesky(3, 2.0)
    factors = lkj.sample((3000,))
    correlations = factors @ factors.mT
    assert torch.allclose(correlations.diagonal(dim1=-2, dim2=-1), torch.ones(3000, 3))
    off = correlations[:, 0, 1]
    assert off.mean().item() == pytest.approx(0, abs=0.03)
    assert off.var().item() == pytest.approx(1 / 6, rel=0.1)  # 2 * Beta(a, a) - 1 with a = 2 + (3 - 2) / 2
    first = D.LKJCholesky(2, 1.0).log_prob(torch.tensor([[1.0, 0.0], [0.6, 0.8]])).item()
    assert first == pytest.approx(-0.6931471805599453)  # correlations from -1 to 1 are alike
    with pytest.raises(ValueError, match=r"greater than or equal to 2\. Found dim=1"):
        D.LKJCholesky(1)
    with pytest.raises(ValueError, match="within the support"):
        lkj.log_prob(torch.ones(3, 3))
