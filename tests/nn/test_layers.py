"""Layers and losses: how they print, what they start with, and that they hand their options to the right function."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import minitorch
from backend import torch
from minitorch import nn

REPRS = [
    ("Linear(2, 3)", "Linear(in_features=2, out_features=3, bias=True)"),
    ("Linear(2, 3, bias=False)", "Linear(in_features=2, out_features=3, bias=False)"),
    ("Identity(3, x=4)", "Identity()"),
    ("Conv1d(2, 4, 3)", "Conv1d(2, 4, kernel_size=(3,), stride=(1,))"),
    ("Conv2d(2, 4, 3, padding=1)", "Conv2d(2, 4, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))"),
    (
        "Conv2d(2, 4, 3, padding='same', dilation=2, groups=2, bias=False, padding_mode='circular')",
        "Conv2d(2, 4, kernel_size=(3, 3), stride=(1, 1), padding=same, dilation=(2, 2), groups=2, bias=False, "
        "padding_mode=circular)",
    ),
    ("Conv3d(2, 4, 3)", "Conv3d(2, 4, kernel_size=(3, 3, 3), stride=(1, 1, 1))"),
    (
        "ConvTranspose2d(2, 4, 3, stride=2, output_padding=1)",
        "ConvTranspose2d(2, 4, kernel_size=(3, 3), stride=(2, 2), output_padding=(1, 1))",
    ),
    ("MaxPool1d(2)", "MaxPool1d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False)"),
    (
        "MaxPool2d((2, 3), stride=1, padding=1, return_indices=True, ceil_mode=True)",
        "MaxPool2d(kernel_size=(2, 3), stride=1, padding=1, dilation=1, ceil_mode=True)",
    ),
    ("AvgPool1d(2)", "AvgPool1d(kernel_size=(2,), stride=(2,), padding=(0,))"),
    ("AvgPool2d(3, 1, 1, True, False, 2)", "AvgPool2d(kernel_size=3, stride=1, padding=1)"),
    ("AdaptiveAvgPool2d(1)", "AdaptiveAvgPool2d(output_size=1)"),
    ("AdaptiveMaxPool2d((2, 3))", "AdaptiveMaxPool2d(output_size=(2, 3))"),
    ("Embedding(3, 2)", "Embedding(3, 2)"),
    (
        "Embedding(3, 2, padding_idx=-2, max_norm=1.0, norm_type=1.0, scale_grad_by_freq=True, sparse=True)",
        "Embedding(3, 2, padding_idx=1, max_norm=1.0, norm_type=1.0, scale_grad_by_freq=True, sparse=True)",
    ),
    ("Flatten()", "Flatten(start_dim=1, end_dim=-1)"),
    ("Unflatten(1, (2, 3))", "Unflatten(dim=1, unflattened_size=(2, 3))"),
    ("Dropout(0.2, True)", "Dropout(p=0.2, inplace=True)"),
    ("ReLU()", "ReLU()"),
    ("ReLU(True)", "ReLU(inplace=True)"),
    ("ReLU6(True)", "ReLU6(inplace=True)"),
    ("Hardswish(True)", "Hardswish()"),
    ("Threshold(0.1, 20)", "Threshold(threshold=0.1, value=20)"),
    ("Hardtanh(-2, 2, inplace=True)", "Hardtanh(min_val=-2, max_val=2, inplace=True)"),
    ("ELU(0.5, True)", "ELU(alpha=0.5, inplace=True)"),
    ("LeakyReLU(0.2, True)", "LeakyReLU(negative_slope=0.2, inplace=True)"),
    ("PReLU()", "PReLU(num_parameters=1)"),
    ("GELU('tanh')", "GELU(approximate='tanh')"),
    ("GLU()", "GLU(dim=-1)"),
    ("Softplus()", "Softplus(beta=1.0, threshold=20.0)"),
    ("Softshrink()", "Softshrink(0.5)"),
    ("Softmax(1)", "Softmax(dim=1)"),
    ("LogSoftmax(-1)", "LogSoftmax(dim=-1)"),
    ("CrossEntropyLoss(label_smoothing=0.1)", "CrossEntropyLoss()"),
]  # fmt: skip


@pytest.mark.parametrize(("made_by", "printed"), REPRS)
def test_repr(made_by: str, printed: str) -> None:
    assert repr(eval("torch.nn." + made_by, {"torch": torch})) == printed


def test_initial_weights_are_those_of_the_seed() -> None:
    torch.manual_seed(0)
    linear = torch.nn.Linear(3, 2)
    assert linear.weight.tolist() == [
        [-0.004322517663240433, 0.3097158372402191, -0.4751853346824646],
        [-0.4248946011066437, -0.2223689705133438, 0.15482072532176971],
    ]
    assert linear.bias.tolist() == [-0.011439144611358643, 0.45777493715286255]
    torch.manual_seed(0)
    conv = torch.nn.Conv2d(1, 1, 3)
    assert conv.weight.flatten()[:3].tolist() == [-0.0024956068955361843, 0.17881453037261963, -0.2743483781814575]
    torch.manual_seed(0)
    assert torch.nn.Embedding(3, 2).weight.tolist() == [
        [1.5409960746765137, -0.293428897857666],
        [-2.1787893772125244, 0.5684312582015991],
        [-1.0845223665237427, -1.3985954523086548],
    ]


def test_an_embedding_has_a_padding_vector_and_may_be_given() -> None:
    table = torch.nn.Embedding(3, 2, padding_idx=-1)
    assert table.weight[2].tolist() == [0, 0]
    table(torch.tensor([2, 0])).sum().backward()
    assert table.weight.grad.tolist() == [[1, 1], [0, 0], [0, 0]]
    given = torch.nn.Embedding.from_pretrained(torch.ones(2, 3))
    assert not given.weight.requires_grad
    assert given(torch.tensor(1)).tolist() == [1, 1, 1]
    with pytest.raises(AssertionError, match="Padding_idx must be within num_embeddings"):
        torch.nn.Embedding(3, 2, padding_idx=3)


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda: torch.nn.Conv2d(3, 4, 3, groups=2), ValueError, "in_channels must be divisible by groups"),
        (lambda: torch.nn.Conv2d(2, 3, 3, groups=2), ValueError, "out_channels must be divisible by groups"),
        (lambda: torch.nn.Conv2d(2, 2, 3, groups=0), ValueError, "groups must be a positive integer"),
        (lambda: torch.nn.Conv2d(2, 2, 3, padding="full"), ValueError, "Invalid padding string 'full'"),
        (lambda: torch.nn.Conv2d(2, 2, 3, stride=2, padding="same"), ValueError, "not supported for strided"),
        (lambda: torch.nn.Conv2d(2, 2, 3, padding_mode="x"), ValueError, "padding_mode must be one of"),
        (lambda: torch.nn.ConvTranspose2d(2, 2, 3, padding_mode="reflect"), ValueError, "Only .zeros. padding mode"),
        (lambda: torch.nn.Dropout(1.5), ValueError, "dropout probability has to be between 0 and 1"),
        (lambda: torch.nn.Unflatten(1, (2, "a")), TypeError, "found element of type str at pos 1"),
        (
            lambda: torch.nn.ConvTranspose2d(2, 2, 3, stride=2)(torch.ones(1, 2, 3, 3), output_size=(20, 20)),
            ValueError,
            "valid sizes range",
        ),
    ],
)
def test_wrong_options_are_refused(wrong: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        wrong()


def test_deprecated_reductions_warn() -> None:
    with pytest.warns(UserWarning, match="please use reduction='sum' instead"):
        assert torch.nn.MSELoss(size_average=False).reduction == "sum"
    with pytest.warns(UserWarning, match="please use reduction='none' instead"):
        assert torch.nn.L1Loss(reduce=False).reduction == "none"


def test_dropout_is_off_in_evaluation() -> None:
    x = torch.ones(100)
    dropout = torch.nn.Dropout(0.5)
    assert set(dropout(x).tolist()) == {0.0, 2.0}
    assert dropout.eval()(x).tolist() == x.tolist()


IMAGES, SCORES, POSITIVE, CLASSES = (2, 4, 8, 8), (6, 5), "positive", "classes"
COMPARED: list[tuple[str, tuple[Any, ...]]] = [
    ("Linear(8, 3)", (IMAGES,)),
    ("Conv1d(4, 6, 3, stride=2, padding=1, groups=2)", ((2, 4, 9),)),
    ("Conv2d(4, 6, (3, 2), padding='same', dilation=2)", (IMAGES,)),
    ("Conv3d(2, 3, 2)", ((1, 2, 3, 4, 5),)),
    ("ConvTranspose1d(4, 2, 3, stride=2)", ((2, 4, 5),)),
    ("ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1, dilation=2)", (IMAGES,)),
    ("ConvTranspose3d(2, 2, 2)", ((1, 2, 3, 3, 3),)),
    ("MaxPool1d(2)", ((2, 3, 8),)),
    ("MaxPool2d(3, stride=2, padding=1, ceil_mode=True)", (IMAGES,)),
    ("MaxPool3d(2)", ((1, 2, 4, 4, 4),)),
    ("AvgPool1d(3, stride=2, padding=1)", ((2, 3, 8),)),
    ("AvgPool2d(3, padding=1, count_include_pad=False)", (IMAGES,)),
    ("AvgPool3d(2, divisor_override=3)", ((1, 2, 4, 4, 4),)),
    ("AdaptiveAvgPool1d(3)", ((2, 3, 8),)),
    ("AdaptiveAvgPool2d((3, None))", (IMAGES,)),
    ("AdaptiveMaxPool2d(3)", (IMAGES,)),
    ("Flatten(1, 2)", (IMAGES,)),
    ("Unflatten(1, (2, 2))", (IMAGES,)),
    *[(f"{name}()", (SCORES,)) for name in (
        "ReLU", "ReLU6", "SELU", "SiLU", "Mish", "Hardswish", "Hardsigmoid", "Hardtanh", "ELU", "CELU", "LeakyReLU",
        "PReLU", "Sigmoid", "Tanh", "LogSigmoid", "Softsign", "Tanhshrink", "GELU", "Hardshrink",
        "Softshrink", "Softplus",
    )],
    ("Threshold(0.1, 0.5)", (SCORES,)),
    ("GELU('tanh')", (SCORES,)),
    ("GLU(0)", (SCORES,)),
    ("Softmax(1)", (SCORES,)),
    ("Softmin(1)", (SCORES,)),
    ("LogSoftmax(0)", (SCORES,)),
    ("Softmax2d()", (IMAGES,)),
    ("L1Loss()", (SCORES, SCORES)),
    ("MSELoss(reduction='sum')", (SCORES, SCORES)),
    ("SmoothL1Loss(beta=0.5)", (SCORES, SCORES)),
    ("HuberLoss(delta=0.5)", (SCORES, SCORES)),
    ("NLLLoss(ignore_index=2)", (SCORES, CLASSES)),
    ("CrossEntropyLoss(label_smoothing=0.1, reduction='sum')", (SCORES, CLASSES)),
    ("KLDivLoss(reduction='batchmean')", (SCORES, POSITIVE)),
    ("BCELoss()", (POSITIVE, POSITIVE)),
    ("BCEWithLogitsLoss()", (SCORES, POSITIVE)),
    ("PoissonNLLLoss()", (SCORES, POSITIVE)),
    ("GaussianNLLLoss(full=True)", (SCORES, SCORES, POSITIVE)),
    ("MarginRankingLoss(margin=0.1)", (SCORES, SCORES, SCORES)),
    ("TripletMarginLoss()", (SCORES, SCORES, SCORES)),
]  # fmt: skip


def value(kind: Any, generator: np.random.Generator) -> np.ndarray:
    if kind == CLASSES:
        return generator.integers(0, 5, 6)
    if kind == POSITIVE:
        return generator.uniform(0.05, 0.95, SCORES)
    return generator.normal(size=kind)


@pytest.mark.parametrize(("made_by", "inputs"), COMPARED, ids=[made_by for made_by, _ in COMPARED])
def test_same_seed_same_values_and_gradients_as_pytorch(made_by: str, inputs: tuple[Any, ...]) -> None:
    reference = pytest.importorskip("torch")
    generator = np.random.default_rng(0)
    arrays = [value(kind, generator) for kind in inputs]
    results = []
    for library in (reference, minitorch):
        library.manual_seed(3)
        module = eval("nn." + made_by, {"nn": library.nn}).double()
        tensors = [library.tensor(array) for array in arrays]
        tensors[0].requires_grad_()
        out = module(*tensors)
        (out * out).sum().backward()
        parameters = list(module.parameters())
        results.append([t.detach().numpy() for t in (out, tensors[0].grad, *parameters, *[p.grad for p in parameters])])
    for expected, got in zip(*results, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-7, atol=1e-10)  # PyTorch has float32 sixths


def test_members_are_ordinary_attributes() -> None:
    layer = nn.Linear(2, 2)
    assert {"weight", "bias"} <= set(vars(layer))  # found by Python itself: __getattr__ is asked for what is not there
    shallow = copy.copy(layer)
    shallow.extra = nn.Parameter(minitorch.ones(1))
    assert [name for name, _ in layer.named_parameters()] == ["weight", "bias"]


@pytest.mark.parametrize("made_by", ["Conv2d(2, 3, 2, padding=2)", "ConvTranspose2d(2, 3, 2)"])
def test_images_without_pixels_are_refused(made_by: str) -> None:
    layer = eval("torch.nn." + made_by, {"torch": torch})
    with pytest.raises(RuntimeError, match="Only zero batch or zero channel inputs are supported"):
        layer(torch.ones(1, 2, 0, 3))
    assert layer(torch.ones(0, 2, 3, 3)).shape[:2] == (0, 3)


def test_only_floats_are_folded_and_pooled_in_one_dimension() -> None:
    with pytest.raises(NotImplementedError, match="col2im"):
        torch.nn.Fold((2, 3), 2)(torch.ones(4, 2, dtype=torch.int64))
    with pytest.raises(NotImplementedError, match="max_pool1d"):
        torch.nn.MaxPool1d(2)(torch.ones(1, 2, 4, dtype=torch.int64))
