"""Convolutions: arguments, padding, transposes and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from backend import torch

F = torch.nn.functional


def counted(*shape: int) -> Any:
    return (torch.arange(float(np.prod(shape))) + 1).reshape(shape)


def test_a_convolution_does_not_turn_its_kernel() -> None:
    assert F.conv1d(counted(1, 1, 4), torch.tensor([[[1.0, 10.0]]])).tolist() == [[[21.0, 32.0, 43.0]]]


def test_bias_groups_stride_padding_and_dilation() -> None:
    x = counted(1, 2, 5)
    kernel = torch.tensor([[[1.0, 0.0, 1.0]], [[0.0, 1.0, 0.0]]])
    out = F.conv1d(x, kernel, torch.tensor([0.5, 0.0]), stride=2, padding=1, groups=2)
    assert out.tolist() == [[[2.5, 6.5, 4.5], [6.0, 8.0, 10.0]]]
    assert F.conv1d(x[:, :1], kernel[:1], dilation=2).tolist() == [[[6.0]]]


def test_gradients_of_a_convolution() -> None:
    x = torch.ones(1, 1, 3, 3, requires_grad=True)
    weight, bias = torch.ones(1, 1, 2, 2, requires_grad=True), torch.zeros(1, requires_grad=True)
    F.conv2d(x, weight, bias).sum().backward()
    assert x.grad.tolist() == [[[[1.0, 2.0, 1.0], [2.0, 4.0, 2.0], [1.0, 2.0, 1.0]]]]
    assert weight.grad.tolist() == [[[[4.0, 4.0], [4.0, 4.0]]]]
    assert bias.grad.tolist() == [4.0]


def test_same_padding_pads_the_end_more() -> None:
    x, kernel = counted(1, 1, 4), torch.ones(1, 1, 2)
    assert F.conv1d(x, kernel, padding="same").tolist() == [[[3.0, 5.0, 7.0, 4.0]]]
    assert F.conv1d(x, torch.ones(1, 1, 3), padding="same").tolist() == [[[3.0, 6.0, 9.0, 7.0]]]
    assert F.conv1d(x, kernel, padding="valid").tolist() == [[[3.0, 5.0, 7.0]]]


def test_a_single_image_needs_no_batch() -> None:
    x, kernel, back = counted(2, 4, 4), counted(3, 2, 3, 3), counted(2, 3, 3, 3)
    assert F.conv2d(x, kernel).tolist() == F.conv2d(x[None], kernel)[0].tolist()
    assert F.conv_transpose2d(x, back).tolist() == F.conv_transpose2d(x[None], back)[0].tolist()


def test_an_empty_batch() -> None:
    assert F.conv2d(torch.zeros(0, 2, 4, 4), counted(3, 2, 3, 3)).shape == (0, 3, 2, 2)


def test_a_transposed_convolution_spreads_each_element() -> None:
    x, kernel = torch.tensor([[[1.0, 2.0]]]), torch.tensor([[[1.0, 10.0]]])
    assert F.conv_transpose1d(x, kernel).tolist() == [[[1.0, 12.0, 20.0]]]
    assert F.conv_transpose1d(x, kernel, torch.ones(1), stride=2).tolist() == [[[2.0, 11.0, 3.0, 21.0]]]
    assert F.conv_transpose1d(x, kernel, stride=2, padding=1, output_padding=1).tolist() == [[[10.0, 2.0, 20.0]]]
    assert F.conv_transpose1d(x, kernel, torch.ones(1), dilation=3, output_padding=2).shape == (1, 1, 7)


def test_a_transposed_convolution_is_the_adjoint() -> None:
    torch.manual_seed(0)
    x, kernel = torch.randn(2, 4, 7, 6, dtype=torch.float64), torch.randn(2, 2, 3, 2, dtype=torch.float64)
    numbers = {"stride": 2, "padding": 1, "groups": 2}
    forth = F.conv2d(x, kernel, **numbers)
    y = torch.randn(tuple(forth.shape), dtype=torch.float64)
    back = F.conv_transpose2d(y, kernel, **numbers)
    assert back.shape == x.shape
    assert (forth * y).sum().item() == pytest.approx((back * x).sum().item(), rel=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: F.conv2d(counted(1, 3, 5, 5), counted(2, 4, 3, 3)),
            r"expected input\[1, 3, 5, 5\] to have 4 channels, but got 3",
        ),
        (lambda: F.conv2d(counted(5, 5), counted(2, 4, 3, 3)), "Expected 3D .unbatched. or 4D"),
        (lambda: F.conv2d(counted(1, 3, 2, 2), counted(2, 3, 3, 3)), r"\(2 x 2\). Kernel size: \(3 x 3\)"),
        (
            lambda: F.conv2d(counted(1, 3, 5, 5), counted(2, 3, 3, 3), counted(3)),
            "bias to be 1-dimensional with 2 elements",
        ),
        (lambda: F.conv2d(counted(1, 3, 5, 5), counted(2, 3, 3, 3), stride=0), "non-positive stride"),
        (lambda: F.conv2d(counted(1, 3, 5, 5), counted(2, 3, 3, 3), padding=-1), "negative padding"),
        (
            lambda: F.conv2d(counted(1, 3, 5, 5), counted(2, 3, 3, 3), dilation=0),
            "dilation should be greater than zero",
        ),
        (lambda: F.conv2d(counted(1, 3, 5, 5), counted(2, 3, 3, 3), groups=0), "non-positive groups"),
        (lambda: F.conv2d(counted(1, 4, 5, 5), counted(3, 2, 3, 3), groups=2), "divisible by 2 at dimension 0"),
        (lambda: F.conv2d(counted(1, 3, 5, 5), counted(2, 3, 3, 3), stride=(1, 2, 3)), "list of 2 values"),
        (lambda: F.conv2d(counted(1, 3, 5, 5), counted(2, 3, 3, 3), padding="same", stride=2), "strided convolutions"),
        (lambda: F.conv2d(counted(1, 3, 5, 5), counted(2, 3, 3, 3), padding="no"), "Invalid padding string"),
        (lambda: F.conv2d(counted(1, 3, 5, 5), counted(2, 3, 3, 3).double()), "Double"),
        (lambda: F.conv_transpose2d(counted(1, 3, 5, 5), counted(4, 2, 3, 3)), "to have 4 channels, but got 3"),
        (lambda: F.conv_transpose2d(counted(1, 3, 5, 5), counted(3, 2, 3, 3), output_padding=2), "output padding"),
        (lambda: F.conv_transpose2d(counted(1, 3, 1, 1), counted(3, 2, 2, 2), padding=3), "Output size is too small"),
    ],
)
def test_errors(call: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        call()


NUMBERS = [
    {},
    {"stride": 2},
    {"padding": 1},
    {"stride": (2, 1), "padding": (0, 1), "dilation": (1, 2)},
    {"stride": 2, "padding": 1, "dilation": 2, "groups": 2},
    {"groups": 4},
]


@pytest.mark.parametrize("numbers", NUMBERS, ids=str)
@pytest.mark.parametrize("name", ["conv2d", "conv_transpose2d"])
def test_values_and_gradients_equal_pytorch(name: str, numbers: dict[str, Any]) -> None:
    pytorch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    groups = numbers.get("groups", 1)
    kernel, outputs = ((4, 4 // groups, 3, 2), 4) if name == "conv2d" else ((4, 2, 3, 2), 2 * groups)
    arrays = [rng.normal(size=shape) for shape in ((2, 4, 7, 6), kernel, (outputs,))]
    results = []
    for engine in (torch, pytorch):
        tensors = [engine.tensor(array, requires_grad=True) for array in arrays]
        out = getattr(engine.nn.functional, name)(*tensors, **numbers)
        out.cos().sum().backward()
        results.append([out.detach().numpy(), *[t.grad.numpy() for t in tensors]])
    for ours, theirs in zip(*results):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)


def test_output_padding_beyond_the_stride_shows_what_the_kernel_reaches() -> None:
    x, weight = torch.ones(1, 1, 2, requires_grad=True), torch.tensor([[[1.0, 10.0]]], requires_grad=True)
    y = torch.nn.functional.conv_transpose1d(x, weight, stride=1, padding=1, output_padding=2, dilation=3)
    assert y.tolist() == [[[1.0, 0.0, 10.0, 10.0, 0.0]]]
    y.sum().backward()
    assert x.grad.tolist() == [[[10.0, 11.0]]]
    assert weight.grad.tolist() == [[[1.0, 2.0]]]
