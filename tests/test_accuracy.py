"""Long and large inputs in float32: as accurate as float64's values rounded, and a NaN or infinity stays in its row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch as torch

functional = torch.nn.functional

# A function of a matrix, and the same in float64.
LONG: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "sum": (lambda x: x.sum(), np.sum),
    "sum(0)": (lambda x: x.sum(0), lambda x: x.sum(0)),
    "sum(1)": (lambda x: x.sum(1), lambda x: x.sum(1)),
    "mean": (lambda x: x.mean(), np.mean),
    "mean(0)": (lambda x: x.mean(0), lambda x: x.mean(0)),
    "norm": (lambda x: x.norm(), lambda x: np.sqrt((x * x).sum())),
    "norm(0)": (lambda x: x.norm(dim=0), lambda x: np.sqrt((x * x).sum(0))),
    "norm(1)": (lambda x: x.norm(dim=1), lambda x: np.sqrt((x * x).sum(1))),
    "cumsum(0)": (lambda x: x.cumsum(0), lambda x: np.cumsum(x, 0)),
    "cumsum(1)": (lambda x: x.cumsum(1), lambda x: np.cumsum(x, 1)),
    "logsumexp(0)": (lambda x: x.logsumexp(0), lambda x: np.log(np.exp(x - x.max()).sum(0)) + x.max()),
    "logsumexp(1)": (lambda x: x.logsumexp(1), lambda x: np.log(np.exp(x - x.max()).sum(1)) + x.max()),
    "logcumsumexp": (lambda x: x.logcumsumexp(1), lambda x: np.logaddexp.accumulate(x, 1)),
    "softmax(0)": (lambda x: x.softmax(0), lambda x: np.exp(x - x.max()) / np.exp(x - x.max()).sum(0)),
    "softmax(1)": (lambda x: x.softmax(1), lambda x: np.exp(x - x.max()) / np.exp(x - x.max()).sum(1, keepdims=True)),
}
INPUTS = {
    "constant": lambda shape: np.full(shape, 0.1, np.float32),
    "uniform": lambda shape: np.random.default_rng(0).random(shape, np.float32),
    "offset": lambda shape: 1000 + np.random.default_rng(0).random(shape, np.float32),
}


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("shape", [(3, 40_000), (997, 101), (40_000, 3), (300, 300), (1, 100_003)], ids=str)
@pytest.mark.parametrize("name", LONG)
def test_long_inputs(name: str, shape: tuple[int, int], transposed: bool) -> None:
    function, exact = LONG[name]
    for kind, make in INPUTS.items():
        x = make(shape).T if transposed else make(shape)
        expected = exact(x.astype(np.float64))
        found = function(torch.from_numpy(x)).numpy()
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, expected, rtol=1e-6, err_msg=kind)


@pytest.mark.parametrize("shape", [(3, 40_000), (997, 101), (1, 100_003)], ids=str)
def test_variance_of_values_far_from_zero(shape: tuple[int, int]) -> None:
    x = (1e4 + np.random.default_rng(1).normal(size=shape)).astype(np.float32)
    wide = x.astype(np.float64)
    tensor = torch.from_numpy(x)
    np.testing.assert_allclose(tensor.std().item(), wide.std(ddof=1), rtol=1e-6)
    np.testing.assert_allclose(tensor.var(1).numpy(), wide.var(1, ddof=1), rtol=1e-6)
    np.testing.assert_allclose(tensor.t().std(0).numpy(), wide.std(1, ddof=1), rtol=1e-6)
    normal = (wide - wide.mean(1, keepdims=True)) / wide.std(1, keepdims=True)
    np.testing.assert_allclose(functional.layer_norm(tensor, shape[1:]).numpy(), normal, atol=1e-3)
    norm = functional.batch_norm(tensor.t(), None, None, training=True).numpy()
    np.testing.assert_allclose(norm, normal.T, atol=2e-3)


def test_losses_and_logarithms_at_large_logits() -> None:
    x = torch.tensor([-200.0, -100.0, 0.0, 100.0, 200.0], requires_grad=True)
    losses = {
        "logsigmoid": (functional.logsigmoid(x), [-200, -100, -np.log(2), 0, 0]),
        "softplus": (functional.softplus(x), [0, 0, np.log(2), 100, 200]),
        "bce": (
            functional.binary_cross_entropy_with_logits(x, torch.ones(5), reduction="none"),
            [200, 100, np.log(2), 0, 0],
        ),
        "log_softmax": (functional.log_softmax(x, 0), [-400, -300, -200, -100, 0]),
        "logsumexp": (x.logsumexp(0), 200),
    }
    for name, (value, expected) in losses.items():
        np.testing.assert_allclose(value.detach().numpy(), expected, rtol=1e-6, atol=1e-30, err_msg=name)
        (g,) = torch.autograd.grad(value.sum(), x)
        assert np.isfinite(g.numpy()).all(), name


# -- a NaN or an infinity stays in its row -----------------------------------------------------------------------------
WEIGHT = torch.from_numpy(np.random.default_rng(2).normal(size=(40, 24)).astype(np.float32))
ROWS: dict[str, Callable[[Any], Any]] = {
    "softmax": lambda x: x.softmax(-1),
    "log_softmax": lambda x: x.log_softmax(-1),
    "logsumexp": lambda x: x.logsumexp(-1),
    "softmax(0)": lambda x: x.t().softmax(0).t(),
    "log_softmax(0)": lambda x: x.t().log_softmax(0).t(),
    "logsumexp(0)": lambda x: x.t().logsumexp(0),
    "sum": lambda x: x.sum(-1),
    "mean(0)": lambda x: x.t().mean(0),
    "var": lambda x: x.var(-1),
    "var(0)": lambda x: x.t().var(0),
    "norm": lambda x: x.norm(dim=-1),
    "norm(0)": lambda x: x.t().norm(dim=0),
    "prod": lambda x: x.prod(-1),
    "cumsum": lambda x: x.cumsum(-1),
    "cumsum(0)": lambda x: x.t().cumsum(0).t(),
    "cumprod": lambda x: x.cumprod(-1),
    "logcumsumexp": lambda x: x.logcumsumexp(-1),
    "max": lambda x: x.max(-1).values,
    "amax": lambda x: x.amax(-1),
    "sort": lambda x: x.sort(-1).values,
    "layer_norm": lambda x: functional.layer_norm(x, x.shape[1:]),
    "normalize": lambda x: x / x.norm(dim=1, keepdim=True),
    "cosine_similarity": lambda x: functional.cosine_similarity(x, torch.ones_like(x), 1),
    "matmul": lambda x: x[:, :40] @ WEIGHT,
    "linear": lambda x: functional.linear(x[:, :40], WEIGHT.t()),
    "batched matmul": lambda x: (x[:, None, :40] @ WEIGHT).squeeze(1),
    "conv1d": lambda x: functional.conv1d(x[:, None], torch.ones(2, 1, 3)),
    "max_pool1d": lambda x: functional.max_pool1d(x[:, None], 2),
    "avg_pool1d": lambda x: functional.avg_pool1d(x[:, None], 2),
    "gelu": functional.gelu,
    "erf": lambda x: x.erf(),
    "cross_entropy": lambda x: functional.cross_entropy(x, torch.zeros(len(x), dtype=torch.int64), reduction="none"),
}


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e30])
@pytest.mark.parametrize("length", [40, 300, 1500])
@pytest.mark.parametrize("name", ROWS)
def test_a_row_keeps_its_nan_and_infinity(name: str, length: int, value: float) -> None:
    x = np.random.default_rng(3).normal(size=(70, length)).astype(np.float32)
    results, gradients = [], []
    for place in (None, 0, 33):
        given = x.copy()
        if place is not None:
            given[place, 7] = value
        tensor = torch.from_numpy(given).requires_grad_()
        result = ROWS[name](tensor)
        (g,) = torch.autograd.grad(result.sum(), tensor)
        others = [row for row in range(70) if row not in (0, 33)]
        results.append(result.detach().numpy()[others])
        gradients.append(g.numpy()[others])
    for found in (results, gradients):
        for again in found[1:]:
            np.testing.assert_allclose(again, found[0], rtol=1e-4, atol=1e-5)
