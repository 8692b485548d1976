"""Layers and losses that hand their options to functions: printing, parameters, results and errors as PyTorch's."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import minitorch
from backend import torch

REPRS = [
    ("Bilinear(2, 3, 4)", "Bilinear(in1_features=2, in2_features=3, out_features=4, bias=True)"),
    ("CTCLoss()", "CTCLoss()"),
    ("ChannelShuffle(2)", "ChannelShuffle(groups=2)"),
    ("CircularPad1d(2)", "CircularPad1d((2, 2))"),
    ("ConstantPad1d(2, 3.5)", "ConstantPad1d(padding=(2, 2), value=3.5)"),
    ("ConstantPad3d(1, 0.0)", "ConstantPad3d(padding=(1, 1, 1, 1, 1, 1), value=0.0)"),
    ("CosineSimilarity()", "CosineSimilarity()"),
    ("EmbeddingBag(3, 2)", "EmbeddingBag(3, 2, mode='mean')"),
    ("EmbeddingBag(3, 2, 1.0, 3.0, True, 'sum', padding_idx=1)",
     "EmbeddingBag(3, 2, max_norm=1.0, norm_type=3.0, scale_grad_by_freq=True, mode='sum', padding_idx=1)"),
    ("Fold(2, 3)", "Fold(output_size=2, kernel_size=3, dilation=1, padding=0, stride=1)"),
    ("FractionalMaxPool2d(2, output_size=3)", "FractionalMaxPool2d()"),
    ("LPPool1d(2, 3)", "LPPool1d(norm_type=2, kernel_size=3, stride=None, ceil_mode=False)"),
    ("LocalResponseNorm(2)", "LocalResponseNorm(2, alpha=0.0001, beta=0.75, k=1.0)"),
    ("MaxUnpool2d(2, padding=1)", "MaxUnpool2d(kernel_size=(2, 2), stride=(2, 2), padding=(1, 1))"),
    ("PixelShuffle(2)", "PixelShuffle(upscale_factor=2)"),
    ("RReLU(inplace=True)", "RReLU(lower=0.125, upper=0.3333333333333333, inplace=True)"),
    ("ReplicationPad2d((1, 2, 3, 4))", "ReplicationPad2d((1, 2, 3, 4))"),
    ("TripletMarginWithDistanceLoss()", "TripletMarginWithDistanceLoss(\n  (distance_function): PairwiseDistance()\n)"),
    ("Unfold(2)", "Unfold(kernel_size=2, dilation=1, padding=0, stride=1)"),
    ("Upsample(scale_factor=(2, 3))", "Upsample(scale_factor=(2.0, 3.0), mode='nearest')"),
    ("UpsamplingBilinear2d(scale_factor=2)", "UpsamplingBilinear2d(scale_factor=2.0, mode='bilinear')"),
    ("UpsamplingNearest2d(3)", "UpsamplingNearest2d(size=3, mode='nearest')"),
    ("ZeroPad1d(1)", "ZeroPad1d((1, 1))"),
]  # fmt: skip


@pytest.mark.parametrize(("made_by", "printed"), REPRS)
def test_repr(made_by: str, printed: str) -> None:
    assert repr(eval("torch.nn." + made_by, {"torch": torch})) == printed


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ("Bilinear(0, 1, 1)", ValueError, "in1_features must be > 0"),
        ("EmbeddingBag(3, 2, padding_idx=3)", AssertionError, "within num_embeddings"),
        ("FractionalMaxPool2d(2)", ValueError, "neither"),
        ("FractionalMaxPool2d(2, 3, 0.5)", ValueError, "both"),
        ("FractionalMaxPool3d(2, output_ratio=1.5)", ValueError, "between 0 and 1"),
        ("MultiMarginLoss(p=3)", ValueError, "only p == 1 and p == 2"),
        ("TripletMarginWithDistanceLoss(margin=0)", ValueError, "greater than 0"),
        ("AdaptiveLogSoftmaxWithLoss(8, 10, [])", ValueError, "length larger than 0"),
        ("AdaptiveLogSoftmaxWithLoss(8, 10, [5, 5])", ValueError, "unique, positive integers"),
        ("CircularPad2d(1)(torch.ones(2, 2))", ValueError, "expected 3D or 4D"),
        (
            "AdaptiveLogSoftmaxWithLoss(8, 10, [5])(torch.ones(2, 8), torch.tensor([1, 10]))",
            RuntimeError,
            "Target values",
        ),
    ],
)
def test_wrong_options_are_refused(wrong: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        eval("torch.nn." + wrong, {"torch": torch})


def test_rare_classes_are_approximated() -> None:
    layer, x = torch.nn.AdaptiveLogSoftmaxWithLoss(8, 10, [2, 5], div_value=2.0), torch.randn(6, 8)
    classes = torch.tensor([0, 9, 3, 1, 5, 4])
    log_probs = layer.log_prob(x)
    torch.testing.assert_close(log_probs.exp().sum(1), torch.ones(6))
    output, loss = layer(x, classes)
    torch.testing.assert_close(output, log_probs.gather(1, classes.unsqueeze(1)).squeeze(1))
    torch.testing.assert_close(loss, -output.mean())
    assert layer.predict(x).tolist() == log_probs.argmax(1).tolist()


def test_a_bag_may_be_given_its_vectors() -> None:
    bag = torch.nn.EmbeddingBag.from_pretrained(torch.eye(3), mode="max")
    assert not bag.weight.requires_grad
    assert bag(torch.tensor([[0, 2]])).tolist() == [[1.0, 0.0, 1.0]]


ROWS, IMAGES, VOLUMES, SCORES = (2, 3, 6), (2, 4, 6, 6), (1, 2, 4, 5, 6), (6, 5)
CLASSES = np.eye(6, 5)
COMPARED: list[tuple[str, tuple[Any, ...]]] = [
    ("Bilinear(6, 5, 2)", ((2, 3, 6), (2, 3, 5))),
    ("CosineSimilarity(eps=1e-3)", (SCORES, SCORES)),
    ("PairwiseDistance(1.0, keepdim=True)", (SCORES, SCORES)),
    ("LocalResponseNorm(3, 0.5)", (ROWS,)),
    ("RReLU()", (SCORES,)),
    ("LPPool1d(3, 2)", (ROWS,)),
    ("LPPool2d(2, (2, 3), stride=2, ceil_mode=True)", (IMAGES,)),
    ("LPPool3d(2, 2)", (VOLUMES,)),
    ("FractionalMaxPool2d(2, output_ratio=(0.5, 0.6))", (IMAGES,)),
    ("FractionalMaxPool3d((1, 2, 2), output_size=2)", (VOLUMES,)),
    *[(f"{kind}Pad{n}d(1)", (shape,)) for kind in ("Zero", "Reflection", "Replication", "Circular")
      for n, shape in enumerate((ROWS, IMAGES, VOLUMES), 1)],
    ("ConstantPad1d((1, 0), 2.5)", (ROWS,)),
    ("ConstantPad2d((1, 0, -1, 2), 2.5)", (IMAGES,)),
    ("ConstantPad3d(1, 2.5)", (VOLUMES,)),
    ("Upsample(scale_factor=1.5)", (IMAGES,)),
    ("Upsample(size=9, mode='linear')", (ROWS,)),
    ("UpsamplingNearest2d(9)", (IMAGES,)),
    ("UpsamplingBilinear2d(scale_factor=2)", (IMAGES,)),
    ("PixelShuffle(2)", (IMAGES,)),
    ("PixelUnshuffle(3)", (IMAGES,)),
    ("ChannelShuffle(2)", (IMAGES,)),
    ("Unfold(2, padding=1, stride=2)", (IMAGES,)),
    ("Fold((4, 5), 2)", ((2, 12, 12),)),
    ("MultiMarginLoss(2, 0.7)", (SCORES, np.array([0, 4, 2, 2, 1, 0]))),
    ("MultiLabelMarginLoss(reduction='sum')", (SCORES, np.tile([3, 0, -1, 1, 2], (6, 1)))),
    ("MultiLabelSoftMarginLoss(reduction='none')", (SCORES, CLASSES)),
    ("TripletMarginWithDistanceLoss(swap=True)", (SCORES, SCORES, SCORES)),
    ("AdaptiveLogSoftmaxWithLoss(5, 10, [2, 5], head_bias=True)", (SCORES, np.array([0, 9, 3, 1, 5, 4]))),
    ("EmbeddingBag(7, 3, padding_idx=2)", (np.array([1, 2, 4, 4, 0]), np.array([0, 2]))),
    ("EmbeddingBag(7, 3, mode='max')", (np.array([[1, 2], [4, 4]]),)),
]  # fmt: skip


@pytest.mark.parametrize(("made_by", "inputs"), COMPARED, ids=[made_by for made_by, _ in COMPARED])
def test_same_seed_same_results_as_pytorch(made_by: str, inputs: tuple[Any, ...]) -> None:
    results = []
    for library in (pytest.importorskip("torch"), minitorch):
        generator = np.random.default_rng(0)
        library.manual_seed(3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = eval("nn." + made_by, {"nn": library.nn}).double()
            given = [i if isinstance(i, np.ndarray) else generator.normal(size=i) for i in inputs]
            tensors = [library.tensor(i, requires_grad=i is not CLASSES and i.dtype.kind == "f") for i in given]
            out = module(*tensors)
        outputs = [o for o in (out if isinstance(out, tuple) else (out,)) if o.dtype == library.float64]
        leaves = [t for t in (*tensors, *module.parameters()) if t.requires_grad]
        gradients = library.autograd.grad(sum([(o * o).sum() for o in outputs]), leaves, allow_unused=True)
        found = [*outputs, *module.state_dict().values(), *[g for g in gradients if g is not None]]
        results.append((repr(module), list(module.state_dict()), [t.detach().numpy() for t in found]))
    (printed, names, expected), (ours, our_names, got) = results
    assert (ours, our_names) == (printed, names)
    for one, other in zip(expected, got, strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_unpooling_undoes_pooling(ndim: int) -> None:
    x = torch.randn(2, 3, *(4,) * ndim)
    values, places = getattr(torch.nn, f"MaxPool{ndim}d")(2, return_indices=True)(x)
    back = getattr(torch.nn, f"MaxUnpool{ndim}d")(2)(values, places)
    assert back.shape == x.shape
    assert ((back == 0) | (back == x)).all()
    assert (back != 0).sum() == values.numel()
