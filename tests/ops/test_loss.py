"""Losses: reductions, weights, ignored targets, deprecated arguments, dropout's masks, and errors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from backend import torch

F = torch.nn.functional


def numbers(*values: Any, grad: bool = False) -> Any:
    return torch.tensor(values, dtype=torch.float64, requires_grad=grad)


# -- elements ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("loss", "elements", "slopes"),
    [
        (F.mse_loss, [1.0, 9.0], [-2.0, 6.0]),
        (F.l1_loss, [1.0, 3.0], [-1.0, 1.0]),
        (F.smooth_l1_loss, [0.5, 2.5], [-1.0, 1.0]),
        (lambda *a, **k: F.smooth_l1_loss(*a, beta=2.0, **k), [0.25, 2.0], [-0.5, 1.0]),
        (lambda *a, **k: F.smooth_l1_loss(*a, beta=0, **k), [1.0, 3.0], [-1.0, 1.0]),
        (lambda *a, **k: F.huber_loss(*a, delta=2.0, **k), [0.5, 4.0], [-1.0, 2.0]),
    ],
)
def test_losses_of_differences(loss: Any, elements: list[float], slopes: list[float]) -> None:
    target = numbers(1.0, 1.0)
    for reduction, expected, divisor in (
        ("none", elements, 1),
        ("sum", sum(elements), 1),
        ("mean", sum(elements) / 2, 2),
    ):
        x = numbers(0.0, 4.0, grad=True)
        result = loss(x, target, reduction=reduction)
        assert result.tolist() == pytest.approx(expected)
        result.sum().backward()
        assert x.grad.tolist() == pytest.approx([slope / divisor for slope in slopes])


def test_the_target_gets_a_gradient_too() -> None:
    x, y = numbers(0.0, 4.0), numbers(1.0, 1.0, grad=True)
    F.mse_loss(x, y, reduction="sum").backward()
    assert y.grad.tolist() == [2.0, -6.0]


def test_weights_of_elements_make_a_weighted_mean() -> None:
    x, y, weight = numbers(0.0, 4.0), numbers(1.0, 1.0), numbers(3.0, 1.0)
    assert F.mse_loss(x, y, weight=weight).item() == 3.0
    assert F.l1_loss(x, y, weight=weight).item() == 1.5
    assert F.huber_loss(x, y, weight=weight).item() == 2.0  # unlike the others, over all elements


def test_broadcast_targets_warn() -> None:
    x = torch.zeros(2, 3, requires_grad=True)
    with pytest.warns(UserWarning, match="different to the input size"):
        loss = F.mse_loss(x, torch.ones(3))
    assert loss.item() == 1.0
    loss.backward()
    assert x.grad.shape == (2, 3)


@pytest.mark.parametrize(
    ("arguments", "reduction"),
    [
        ({"size_average": False}, "sum"),
        ({"size_average": True}, "mean"),
        ({"reduce": False}, "none"),
        ({"reduce": True}, "mean"),
    ],
)
def test_deprecated_arguments(arguments: dict[str, bool], reduction: str) -> None:
    x, y = numbers(0.0, 4.0), numbers(1.0, 1.0)
    with pytest.warns(UserWarning, match=f"please use reduction='{reduction}' instead"):
        old = F.mse_loss(x, y, **arguments)
    assert old.tolist() == F.mse_loss(x, y, reduction=reduction).tolist()


def test_mean_of_nothing_is_nan() -> None:
    assert math.isnan(F.mse_loss(torch.zeros(0), torch.zeros(0)).item())
    assert F.mse_loss(torch.zeros(0), torch.zeros(0), reduction="sum").item() == 0.0


# -- binary ------------------------------------------------------------------------------------------------------------
def test_binary_cross_entropy_is_finite_where_certainty_is_wrong() -> None:
    x = numbers(0.0, 1.0, 0.5)
    assert F.binary_cross_entropy(x, numbers(1.0, 0.0, 1.0), reduction="none").tolist() == [100.0, 100.0, math.log(2)]


def test_logits_give_the_loss_of_their_probabilities() -> None:
    x, y, weight = numbers(-3.0, 0.5, 2.0), numbers(0.0, 1.0, 0.25), numbers(1.0, 2.0, 3.0)
    expected = F.binary_cross_entropy(x.sigmoid(), y, weight)
    assert F.binary_cross_entropy_with_logits(x, y, weight).item() == pytest.approx(expected.item(), rel=1e-14)


def test_extreme_logits_and_positive_weights() -> None:
    x = numbers(1000.0, -1000.0, grad=True)
    loss = F.binary_cross_entropy_with_logits(x, numbers(0.0, 1.0), reduction="sum", pos_weight=numbers(1.0, 0.5))
    assert loss.item() == 1500.0
    loss.backward()
    assert x.grad.tolist() == [1.0, -0.5]


# -- classes -----------------------------------------------------------------------------------------------------------
LOGITS = ([0.2, 1.0, -0.5], [2.0, 0.1, 0.3], [0.0, 0.5, 1.5])


def log_probabilities() -> np.ndarray:
    logits = np.array(LOGITS)
    return logits - np.log(np.exp(logits).sum(1, keepdims=True))


def test_cross_entropy_with_weights_smoothing_and_an_ignored_class() -> None:
    z, weight = numbers(*LOGITS, grad=True), numbers(1.0, 2.0, 0.5)
    loss = F.cross_entropy(z, torch.tensor([1, -1, 2]), weight=weight, ignore_index=-1, label_smoothing=0.1)
    logp, w = log_probabilities(), weight.numpy()
    chosen = -(w[1] * logp[0, 1] + w[2] * logp[2, 2])
    spread = -(w * logp[[0, 2]]).sum()
    assert loss.item() == pytest.approx((0.9 * chosen + 0.1 / 3 * spread) / (w[1] + w[2]), rel=1e-12)
    loss.backward()
    assert z.grad[1].tolist() == [0.0, 0.0, 0.0]
    assert torch.isfinite(z.grad).all()


def test_reductions_of_nll_loss() -> None:
    scores, target, weight = numbers(*LOGITS), torch.tensor([1, 0, 2]), numbers(1.0, 2.0, 0.5)
    assert F.nll_loss(scores, target, weight, reduction="none").tolist() == [-2.0, -2.0, -0.75]
    assert F.nll_loss(scores, target, weight, reduction="sum").item() == -4.75
    assert F.nll_loss(scores, target, weight).item() == pytest.approx(-4.75 / 3.5)
    assert F.nll_loss(scores, target, ignore_index=0).item() == pytest.approx(-1.25)
    assert F.nll_loss(scores[0], target[0]).item() == -1.0
    assert F.nll_loss(scores.T[None], torch.tensor([[1, 0, 2]])).item() == pytest.approx(-4.5 / 3)
    assert F.nll_loss(scores, target.to(torch.uint8)).item() == pytest.approx(-4.5 / 3)


def test_nothing_but_ignored_targets_is_nan_without_gradients() -> None:
    z = numbers(*LOGITS, grad=True)
    loss = F.cross_entropy(z, torch.tensor([-100, -100, -100]))
    assert math.isnan(loss.item())
    loss.backward()
    assert z.grad.tolist() == [[0.0] * 3] * 3


def test_targets_may_not_be_written_before_backward() -> None:
    z, target = numbers(*LOGITS, grad=True), torch.tensor([1, 0, 2])
    loss = F.nll_loss(z, target)
    target.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_probabilities_as_targets() -> None:
    z, classes = numbers(*LOGITS), torch.tensor([1, 0, 2])
    one_hot = torch.eye(3, dtype=torch.float64)[classes]
    for options in ({}, {"reduction": "sum"}, {"reduction": "none"}, {"label_smoothing": 0.2}):
        expected = F.cross_entropy(z, classes, **options)
        assert F.cross_entropy(z, one_hot, **options).tolist() == pytest.approx(expected.tolist(), rel=1e-12)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: F.mse_loss(numbers(1.0), numbers(1.0), reduction="no"), ValueError, "not a valid value for reduction"),
        (lambda: F.mse_loss(torch.tensor([1]), torch.tensor([2])), NotImplementedError, "Long"),
        (lambda: F.smooth_l1_loss(numbers(1.0), numbers(1.0), beta=-1.0), RuntimeError, "negative values for beta"),
        (lambda: F.huber_loss(numbers(1.0), numbers(1.0), delta=0.0), RuntimeError, "non-positive values for delta"),
        (lambda: F.l1_loss(torch.ones(2, 3), torch.ones(2, 3), weight=torch.ones(3)), ValueError, "have the same size"),
        (lambda: F.cross_entropy(torch.ones(4, 3), torch.ones(7, 3)), ValueError, "target batch_size"),
        (lambda: F.cross_entropy(torch.ones(2, 3).long(), torch.tensor([0, 1])), NotImplementedError, "'Long'"),
        (lambda: F.nll_loss(numbers(*LOGITS), torch.tensor([0, 1, 3])), IndexError, "Target 3 is out of bounds"),
        (lambda: F.nll_loss(numbers(*LOGITS), torch.tensor([0, 1, -2])), IndexError, "Target -2 is out of bounds"),
        (lambda: F.nll_loss(numbers(*LOGITS), torch.tensor([0, 1])), ValueError, "to match target batch_size"),
        (lambda: F.nll_loss(numbers(*LOGITS), numbers(0.0, 1.0, 2.0)), RuntimeError, "Long or Byte, but got Double"),
        (
            lambda: F.nll_loss(torch.zeros(2, 3, 4), torch.zeros(2, 5).long()),
            RuntimeError,
            r"target size \[2, 4\], got",
        ),
        (lambda: F.nll_loss(torch.zeros(()), torch.tensor(0)), ValueError, "1 or more dimensions"),
        (
            lambda: F.cross_entropy(torch.zeros(2, 3), torch.tensor([0, 1]), torch.ones(4)),
            RuntimeError,
            "all 3 classes",
        ),
        (lambda: F.cross_entropy(torch.zeros(2, 3), torch.tensor([0, 1]), label_smoothing=2), RuntimeError, "between"),
        (lambda: F.cross_entropy(torch.zeros(2, 3), torch.zeros(2, 3).long()), RuntimeError, "class probabilities"),
        (lambda: F.binary_cross_entropy(numbers(2.0), numbers(1.0)), RuntimeError, "between 0 and 1"),
        (lambda: F.binary_cross_entropy(numbers(0.5), numbers([0.5])), ValueError, "target size|Target size"),
        (lambda: F.binary_cross_entropy_with_logits(numbers(0.5), torch.tensor([1])), RuntimeError, "Long"),
        (lambda: F.gaussian_nll_loss(numbers(0.0), numbers(0.0), numbers(-1.0)), ValueError, "negative"),
    ],
)
def test_errors(call: Any, kind: type, message: str) -> None:
    with pytest.raises(kind, match=message):
        call()


@pytest.mark.parametrize("loss", [F.l1_loss, F.mse_loss, F.smooth_l1_loss, F.huber_loss])
def test_targets_that_do_not_broadcast(loss: Any) -> None:
    with (
        pytest.warns(UserWarning, match="target size"),
        pytest.raises(RuntimeError, match=r"size of tensor a \(4\) must match the size of tensor b \(7\)"),
    ):
        loss(torch.ones(3, 4), torch.ones(7))


def test_normalize_takes_the_names_of_orders() -> None:
    x = torch.tensor([[3.0, 4.0]])
    assert F.normalize(x, "fro").tolist() == F.normalize(x, None).tolist() == F.normalize(x).tolist()
    with pytest.raises(RuntimeError, match="not supported"):
        F.normalize(x, "x")


# -- composed losses ---------------------------------------------------------------------------------------------------
def test_composed_losses() -> None:
    a, b = numbers([1.0, 0.0], [0.0, 2.0]), numbers([0.0, 3.0], [0.0, 1.0])
    sign = torch.tensor([1, -1])
    assert F.kl_div(a, b.abs() + 1, reduction="batchmean").item() == pytest.approx(
        (12 * math.log(2) - 7 + 0) / 2, abs=1
    )
    assert F.hinge_embedding_loss(numbers(0.5, 0.25), sign).item() == 0.625
    assert F.margin_ranking_loss(numbers(1.0, 1.0), numbers(3.0, 3.0), sign).item() == 1.0
    assert F.cosine_embedding_loss(a, b, sign).item() == pytest.approx(1.0)
    assert F.cosine_similarity(a, b).tolist() == pytest.approx([0.0, 1.0])
    assert F.pairwise_distance(a, b, eps=0).tolist() == pytest.approx([math.sqrt(10), 1.0])
    assert F.normalize(b, dim=0).tolist()[1][1] == pytest.approx(1 / math.sqrt(10))
    assert F.triplet_margin_loss(a, b, a, eps=0, reduction="none").tolist() == pytest.approx([1 + math.sqrt(10), 2.0])
    assert F.gaussian_nll_loss(a, b, torch.ones(2, 2).double()).item() == pytest.approx(11 / 8)
    assert F.poisson_nll_loss(numbers(0.0), numbers(2.0)).item() == 1.0


def test_kl_div_of_equal_distributions_is_zero() -> None:
    p = numbers([0.25, 0.75], [0.5, 0.5])
    assert F.kl_div(p.log(), p, reduction="batchmean").item() == pytest.approx(0.0, abs=1e-15)
    assert F.kl_div(p.log(), p.log(), reduction="sum", log_target=True).item() == pytest.approx(0.0, abs=1e-15)
    with pytest.warns(UserWarning, match="batchmean"):
        F.kl_div(p.log(), p)


# -- dropout -----------------------------------------------------------------------------------------------------------
def test_dropout_draws_pytorchs_masks() -> None:
    torch.manual_seed(0)
    x = torch.ones(6, requires_grad=True)
    out = F.dropout(x, 0.5)
    assert out.tolist() == [0.0, 0.0, 2.0, 0.0, 0.0, 0.0]
    out.sum().backward()
    assert x.grad.tolist() == out.tolist()
    torch.manual_seed(0)
    assert F.dropout(torch.ones(2, 3).t(), 0.5).tolist() == [[0.0, 0.0], [0.0, 0.0], [2.0, 0.0]]
    torch.manual_seed(0)
    assert F.dropout2d(torch.ones(1, 3, 1, 2)).tolist() == [[[[0.0, 0.0]], [[0.0, 0.0]], [[2.0, 2.0]]]]
    torch.manual_seed(0)
    assert F.dropout1d(torch.ones(3, 2)).tolist() == [[0.0, 0.0], [0.0, 0.0], [2.0, 2.0]]
    torch.manual_seed(0)
    low, high = -0.7791939377784729, 1.6655988693237305
    assert F.alpha_dropout(torch.ones(4), 0.5, True).tolist() == pytest.approx([low, low, high, low], rel=1e-6)


def test_dropout_outside_training_and_at_its_ends() -> None:
    x = torch.ones(4)
    assert F.dropout(x, training=False) is x
    assert F.dropout(x, 0.0).tolist() == [1.0] * 4
    assert F.dropout(x, 1.0).tolist() == [0.0] * 4
    with pytest.raises(ValueError, match="between 0 and 1"):
        F.dropout(x, 1.5)


def test_dropout_in_place() -> None:
    torch.manual_seed(0)
    x = torch.ones(3)
    assert F.dropout(x, 0.5, inplace=True) is x
    assert x.tolist() == [0.0, 0.0, 2.0]


# -- against PyTorch ---------------------------------------------------------------------------------------------------
def test_class_losses_equal_pytorch() -> None:
    pytorch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    for shape in ((4, 3), (3,), (2, 3, 4), (2, 3, 2, 2)):
        logits = rng.normal(size=shape)
        target = rng.integers(0, 3, size=shape[:1] + shape[2:] if len(shape) > 1 else ())
        for reduction in ("mean", "sum", "none"):
            for weighted in (False, True):
                for options in (
                    {},
                    {"ignore_index": 1},
                    {"label_smoothing": 0.1},
                    {"ignore_index": 1, "label_smoothing": 0.1},
                ):
                    results = []
                    for engine in (torch, pytorch):
                        z = engine.tensor(logits, requires_grad=True)
                        weight = engine.tensor([1.0, 2.0, 0.5], dtype=engine.float64) if weighted else None
                        options = {**options, "reduction": reduction, "weight": weight}
                        loss = engine.nn.functional.cross_entropy(z, engine.tensor(target), **options)
                        loss.sum().backward()
                        results.append((loss.detach().numpy(), z.grad.numpy()))
                    for ours, theirs in zip(*results):
                        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)


def test_cosine_similarity_broadcasts_before_it_measures() -> None:
    one, two = torch.ones(1, 2, 3), torch.tensor([[[3.0, 0.0, 1.0]], [[4.0, 1.0, 0.0]]])
    found = F.cosine_similarity(one, two, dim=1)
    assert found.tolist() == [pytest.approx([1.0, 0.0, 1.0]), pytest.approx([1.0, 1.0, 0.0])]


@pytest.mark.parametrize("reduction", ["mean", "none"])
@pytest.mark.parametrize(("input_dtype", "target_dtype"), [("float32", "float64"), ("float64", "float32")])
def test_logits_and_targets_of_two_dtypes(input_dtype: str, target_dtype: str, reduction: str) -> None:
    logits = torch.tensor([0.0, 2.0], dtype=getattr(torch, input_dtype), requires_grad=True)
    target = torch.tensor([1.0, 0.0], dtype=getattr(torch, target_dtype))
    loss = F.binary_cross_entropy_with_logits(logits, target, reduction=reduction)
    assert loss.dtype == target.dtype
    loss.sum().backward()
    assert logits.grad.dtype == logits.dtype
    expected = [-0.25, 0.4404] if reduction == "mean" else [-0.5, 0.8808]
    assert logits.grad.tolist() == pytest.approx(expected, abs=1e-4)


def test_losses_of_integers() -> None:
    ones = torch.ones(2, 2, dtype=torch.int64)
    for pair in ((ones, ones.float()), (ones.float(), ones), (ones, ones)):
        with pytest.raises(RuntimeError, match=r"kl_div: Integral inputs not supported."):
            F.kl_div(*pair, reduction="sum")
    with pytest.raises(NotImplementedError, match="binary_cross_entropy"):
        F.binary_cross_entropy(ones, ones)
    assert F.margin_ranking_loss(ones, ones, ones).dtype == torch.float32


@pytest.mark.parametrize("target_dtype", ["float16", "float32", "float64"])
def test_a_soft_margin_has_the_dtype_of_the_input(target_dtype: str) -> None:
    x = torch.tensor([0.0], requires_grad=True)
    loss = F.soft_margin_loss(x, torch.ones(1, dtype=getattr(torch, target_dtype)))
    loss.backward()
    assert loss.dtype == x.grad.dtype == torch.float32
    assert x.grad.tolist() == [-0.5]
