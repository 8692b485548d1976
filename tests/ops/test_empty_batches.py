"""Batches of no examples: values, gradients of two orders, forward mode and maps have the shapes that other batches' have."""

import pytest

import minitorch as torch
from minitorch.func import grad, jvp, vmap
from minitorch.nn import functional as F


def empty(*shape):
    return torch.zeros(shape, dtype=torch.float64)


def labels(*shape):
    return torch.zeros(shape, dtype=torch.int64)


def module(name, *args, **kwargs):
    def called(x):
        torch.manual_seed(0)
        made = getattr(torch.nn, name)(*args, **kwargs, dtype=torch.float64)
        out = made(x, x, x) if name == "MultiheadAttention" else made(x)
        return out[0] if isinstance(out, tuple) else out

    return called


CASES = {  # function, input's shape, result's shape
    "layer_norm": (lambda x: F.layer_norm(x, (5,)), (0, 5), (0, 5)),
    "layer_norm of long rows": (lambda x: F.layer_norm(x, (300,)), (0, 300), (0, 300)),
    "layer_norm of longer rows": (lambda x: F.layer_norm(x, (5000,)), (2, 0, 5000), (2, 0, 5000)),
    "rms_norm": (lambda x: F.rms_norm(x, (300,)), (0, 300), (0, 300)),
    "group_norm": (lambda x: F.group_norm(x, 3), (0, 6, 300), (0, 6, 300)),
    "group_norm of no channels": (lambda x: F.group_norm(x, 3), (2, 0, 300), (2, 0, 300)),
    "batch_norm": (lambda x: F.batch_norm(x, None, None, training=True), (0, 6, 300), (0, 6, 300)),
    "instance_norm": (lambda x: F.instance_norm(x), (0, 6, 300), (0, 6, 300)),
    "softmax": (lambda x: F.softmax(x, 1), (0, 300), (0, 300)),
    "log_softmax": (lambda x: F.log_softmax(x, 1), (0, 5000), (0, 5000)),
    "cross_entropy": (lambda x: F.cross_entropy(x, labels(0), reduction="none"), (0, 5), (0,)),
    "multi_margin_loss": (lambda x: F.multi_margin_loss(x, labels(0), reduction="none"), (0, 5), (0,)),
    "multilabel_margin_loss": (lambda x: F.multilabel_margin_loss(x, labels(0, 5), reduction="none"), (0, 5), (0,)),
    "max_pool2d": (lambda x: F.max_pool2d(x, 2), (0, 3, 4, 4), (0, 3, 2, 2)),
    "adaptive_max_pool1d": (lambda x: F.adaptive_max_pool1d(x, 2), (0, 3, 4), (0, 3, 2)),
    "adaptive_max_pool2d": (lambda x: F.adaptive_max_pool2d(x, 2), (0, 3, 4, 4), (0, 3, 2, 2)),
    "adaptive_max_pool3d": (lambda x: F.adaptive_max_pool3d(x, 2), (0, 3, 4, 4, 4), (0, 3, 2, 2, 2)),
    "max_unpool2d": (lambda x: F.max_unpool2d(x, labels(0, 3, 2, 2), 2), (0, 3, 2, 2), (0, 3, 4, 4)),
    "grid_sample": (lambda x: F.grid_sample(x, empty(0, 2, 3, 2), align_corners=False), (0, 3, 4, 4), (0, 3, 2, 3)),
    "conv2d": (lambda x: F.conv2d(x, torch.ones(6, 4, 3, 3).double()), (0, 4, 5, 5), (0, 6, 3, 3)),
    "LSTM": (module("LSTM", 4, 3), (5, 0, 4), (5, 0, 3)),
    "MultiheadAttention": (module("MultiheadAttention", 4, 2), (5, 0, 4), (5, 0, 4)),
    "attention over nothing": (module("MultiheadAttention", 4, 2), (0, 2, 4), (0, 2, 4)),
    "TransformerEncoderLayer": (module("TransformerEncoderLayer", 4, 2, 8, 0.0), (5, 0, 4), (5, 0, 4)),
    "gather": (lambda x: x.gather(1, labels(0, 2)), (0, 5), (0, 2)),
    "log_prob": (
        lambda x: torch.nn.AdaptiveLogSoftmaxWithLoss(16, 10, [3, 6], dtype=torch.float64)(x, labels(0))[0],
        (0, 16),
        (0,),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_batch_of_none_has_the_shapes_of_others(name):
    function, shape, expected = CASES[name]
    x = empty(*shape).requires_grad_()
    out = function(x)
    assert out.shape == expected
    assert out.dtype == torch.float64
    (first,) = torch.autograd.grad((out * out).sum(), x, create_graph=True)
    assert first.shape == shape
    (second,) = torch.autograd.grad((first * first).sum(), x)
    assert second.shape == shape
    plain = x.detach()
    assert jvp(function, (plain,), (torch.ones_like(plain),))[1].shape == expected
    pair = torch.stack([plain, plain])
    assert vmap(function, randomness="same")(pair).shape == (2, *expected)
    assert vmap(grad(lambda x: function(x).sum()), randomness="same")(pair).shape == (2, *shape)


@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("name", ["multi_margin_loss", "multilabel_margin_loss"])
def test_margins_of_no_samples_are_none(name, reduction):
    target = labels(0) if name == "multi_margin_loss" else labels(0, 5)
    assert getattr(F, name)(empty(0, 5), target, reduction=reduction).item() == 0.0


def test_the_total_of_no_negated_scores_is_not_negative():
    loss = F.nll_loss(empty(0, 5), labels(0), reduction="sum")
    assert str(loss) == "tensor(0., dtype=torch.float64)"


def test_the_maxima_of_no_bags_have_a_history():
    table = torch.ones(3, 4, requires_grad=True)
    F.embedding_bag(labels(0, 3), table, mode="max").sum().backward()
    assert table.grad.tolist() == torch.zeros(3, 4).tolist()


def test_ctc_loss_needs_something_to_read():
    with pytest.raises(RuntimeError, match=r"log_probs tensor must not be empty, but has shape \[7, 0, 5\]"):
        F.ctc_loss(empty(7, 0, 5), labels(0, 3), labels(0), labels(0))


@pytest.mark.parametrize("function", [torch.unique, torch.unique_consecutive])
def test_slices_without_elements_are_not_compared(function):
    assert [t.shape for t in function(torch.zeros(0, 5), dim=0, return_counts=True)] == [(0, 5), (0,)]
    assert [t.shape for t in function(torch.zeros(3, 0, 2), dim=1, return_counts=True)] == [(3, 0, 2), (0,)]
    for shape, dim in (((0, 5), 1), ((5, 0), 0), ((0, 0), 0)):
        with pytest.raises(RuntimeError, match="There are 0 sized dimensions, and they aren't selected"):
            function(torch.zeros(shape), dim=dim)
