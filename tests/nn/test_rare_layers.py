"""Layers that few programs use: CrossMapLRN2d, SyncBatchNorm, LinearCrossEntropyLoss; kernels and masks of attention."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minitorch
from backend import torch

F = torch.nn.functional


# -- CrossMapLRN2d -----------------------------------------------------------------------------------------------------
def test_normalisation_across_channels() -> None:
    x = torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0]).reshape(1, 5, 1, 1)
    y = torch.nn.CrossMapLRN2d(3, alpha=3.0, beta=1.0, k=0)(x)  # over the sums 1+4, 1+4+9, 4+9+16 and the first, ...
    expected = [1 / 5, 2 / 14, 3 / 30, 4 / 51, 5 / 42]
    assert y.flatten().tolist() == pytest.approx(expected, rel=1e-6)
    assert repr(torch.nn.CrossMapLRN2d(2)) == "CrossMapLRN2d(2, alpha=0.0001, beta=0.75, k=1)"
    with pytest.raises(ValueError, match="Expected input to be 4D, got 3D instead"):
        torch.nn.CrossMapLRN2d(2)(torch.ones(1, 2, 3))


@pytest.mark.parametrize("channels", [1, 2, 5, 9])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_normalisation_across_channels_as_pytorchs(size: int, channels: int) -> None:
    reference = pytest.importorskip("torch")
    x = np.random.default_rng(0).normal(size=(2, channels, 3, 2))
    got, expected = (t.nn.CrossMapLRN2d(size, 0.5, 0.6, 2.0)(t.tensor(x)) for t in (minitorch, reference))
    np.testing.assert_allclose(got.numpy(), expected.numpy(), rtol=1e-12)


def test_its_gradient_is_that_of_its_result() -> None:
    layer = minitorch.nn.CrossMapLRN2d(3, alpha=0.5, beta=0.6, k=2.0)
    x = minitorch.rand(1, 5, 2, 1, dtype=minitorch.float64, requires_grad=True)
    assert minitorch.testing.check_gradients(layer, x, order=2)


# -- SyncBatchNorm -----------------------------------------------------------------------------------------------------
def test_layers_are_converted() -> None:
    net = torch.nn.Sequential(
        torch.nn.Linear(2, 3),
        torch.nn.BatchNorm1d(3, momentum=None),
        torch.nn.Sequential(torch.nn.BatchNorm2d(4).eval()),
    )
    net[1](torch.randn(5, 3))
    expected = net[1].state_dict()
    weight = net[1].weight
    converted = torch.nn.SyncBatchNorm.convert_sync_batchnorm(net)
    assert converted is net
    assert [type(layer).__name__ for layer in (net[1], net[2][0])] == ["SyncBatchNorm"] * 2
    assert net[1].weight is weight
    assert net[1].momentum is None
    assert (net[1].training, net[2][0].training) == (True, False)
    assert all(torch.equal(value, expected[name]) for name, value in net[1].state_dict().items())
    alone = torch.nn.SyncBatchNorm.convert_sync_batchnorm(torch.nn.BatchNorm1d(2, affine=False), "group")
    assert alone.process_group == "group"
    assert alone.weight is None


def test_one_process_normalises_its_own_batch() -> None:
    plain, sync = torch.nn.BatchNorm1d(2), torch.nn.SyncBatchNorm(2)
    x = torch.tensor([[1.0, 5.0], [3.0, -5.0]])
    assert torch.equal(plain(x), sync(x))
    assert sync.running_mean.tolist() == pytest.approx([0.2, 0.0])
    assert sync(torch.ones(2, 2, 1, 1, 1)).shape == (2, 2, 1, 1, 1)
    with pytest.raises(ValueError, match="expected at least 2D input"):
        sync(torch.ones(2))


# -- LinearCrossEntropyLoss --------------------------------------------------------------------------------------------
def test_the_cross_entropy_of_a_linear_layer() -> None:
    x, target = torch.tensor([[1.0, 2.0], [0.0, -1.0]]), torch.tensor([0, 2])
    weight, bias = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), torch.tensor([0.0, 1.0, 0.0])
    loss = F.linear_cross_entropy(x, weight, target, linear_bias=bias, label_smoothing=0.1)
    assert loss.item() == pytest.approx(F.cross_entropy(F.linear(x, weight, bias), target, label_smoothing=0.1).item())
    options = torch.nn.LinearCrossEntropyOptions(batch_chunk_size=1, chunking_method=None)
    same = F.linear_cross_entropy(x, weight, target, linear_bias=bias, options=options)
    assert same.item() == pytest.approx(F.cross_entropy(F.linear(x, weight, bias), target).item(), rel=1e-6)


def test_the_loss_has_a_layer() -> None:
    loss = torch.nn.LinearCrossEntropyLoss(3, 5, out_features=(2,), bias=True)
    assert {name: tuple(p.shape) for name, p in loss.named_parameters()} == {
        "linear.weight": (10, 3),
        "linear.bias": (10,),
    }
    assert repr(loss) == (
        "LinearCrossEntropyLoss(\n  in_features=3, num_classes=5, out_features=(2,), bias=True, reduction=mean, "
        "ignore_index=None, label_smoothing=0.0, options=None\n"
        "  (linear): Linear(in_features=3, out_features=10, bias=True)\n)"
    )
    loss(torch.randn(4, 3), torch.ones(4, 2, dtype=torch.int64)).backward()
    assert loss.linear.weight.grad.shape == (10, 3)


@pytest.mark.parametrize(
    "options",
    [{"acc_policy": "x"}, {"chunking_method": "x"}, {"chunking_method": "aspect_ratio:0"}, {"batch_chunk_size": 0}],
)
def test_options_of_the_loss_are_checked(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        torch.nn.LinearCrossEntropyOptions(**options)


@pytest.mark.parametrize("method", ["auto", None, "aspect_ratio", "aspect_ratio:3"])
def test_options_of_the_loss_are_taken(method: str | None) -> None:
    assert torch.nn.LinearCrossEntropyOptions(chunking_method=method).chunking_method == method


def test_a_single_sample_may_have_a_target_of_one_dimension() -> None:
    x = torch.tensor([0.0, -1.0, -2.0], requires_grad=True)
    assert F.nll_loss(x, torch.tensor([1])).item() == 1
    assert F.cross_entropy(x, torch.tensor([2])).shape == ()
    assert torch.nn.NLLLoss2d()(x.reshape(1, 3, 1, 1), torch.tensor([[[2]]])).item() == 2
    with pytest.raises(ValueError, match="1D target must have size 1, but got target size: 2"):
        F.nll_loss(x, torch.tensor([1, 2]))


# -- attention ---------------------------------------------------------------------------------------------------------
def test_kernels_of_attention_are_chosen() -> None:
    from importlib import import_module

    attention = import_module(f"{torch.__name__}.nn.attention")
    kernels = attention.SDPBackend
    x = torch.eye(2).reshape(1, 1, 2, 2)
    plain = F.scaled_dot_product_attention(x, x, x)
    for allowed in (kernels.MATH, [kernels.FLASH_ATTENTION, kernels.EFFICIENT_ATTENTION]):
        with attention.sdpa_kernel(allowed, set_priority=True):
            assert torch.allclose(F.scaled_dot_product_attention(x, x, x), plain)
            assert torch.backends.cuda.math_sdp_enabled() == (allowed is kernels.MATH)
    with attention.sdpa_kernel(kernels.CUDNN_ATTENTION), pytest.raises(RuntimeError, match="No viable backend"):
        F.scaled_dot_product_attention(x, x, x)
    assert torch.backends.cuda.math_sdp_enabled()
    assert torch.backends.cuda.flash_sdp_enabled()
    assert torch.equal(F.scaled_dot_product_attention(x, x, x), plain)
    assert repr(kernels.MATH) == "<SDPBackend.MATH: 0>"
    assert {name: int(kernel) for name, kernel in kernels.__members__.items()} == {
        "ERROR": -1, "MATH": 0, "FLASH_ATTENTION": 1, "EFFICIENT_ATTENTION": 2, "CUDNN_ATTENTION": 3, "OVERRIDEABLE": 4,
    }  # fmt: skip
    with pytest.raises(AssertionError, match="got str"), attention.sdpa_kernel("math"):
        pass


@pytest.mark.parametrize("kind", ["causal_upper_left", "causal_lower_right"])
@pytest.mark.parametrize(("queries", "keys"), [(3, 3), (2, 4), (1, 3)])
def test_causal_masks(kind: str, queries: int, keys: int) -> None:
    from importlib import import_module

    bias = import_module(f"{torch.__name__}.nn.attention.bias")
    mask = getattr(bias, kind)(queries, keys)
    later = keys - queries if kind == "causal_lower_right" else 0
    expected = torch.ones(queries, keys, dtype=torch.bool).tril(later)
    assert repr(mask) == repr(expected)
    assert isinstance(mask, torch.Tensor)
    assert mask.variant == getattr(bias.CausalVariant, kind.removeprefix("causal_").upper())
    q = torch.arange(queries * 4.0).reshape(1, 1, queries, 4).sin()
    k = torch.arange(keys * 4.0).reshape(1, 1, keys, 4).cos()
    got = F.scaled_dot_product_attention(q, k, k, mask)
    assert torch.allclose(got, F.scaled_dot_product_attention(q, k, k, expected), rtol=1e-5, atol=1e-6)
    with pytest.raises(AssertionError, match="only supports 2D"):
        getattr(bias, kind)(1, 2, 3)


def test_causal_masks_without_keys_warn() -> None:
    from importlib import import_module

    bias = import_module(f"{torch.__name__}.nn.attention.bias")
    with pytest.warns(UserWarning, match="seq_len_q > seq_len_kv"):
        mask = bias.causal_lower_right(3, 2)
    x = torch.ones(1, 1, 3, 2)
    assert not F.scaled_dot_product_attention(x, x[:, :, :2], x[:, :, :2], mask)[0, 0, 0].any()
