"""Functions of nn.functional that are made of others: in-place activations, padded convolutions, public names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minitorch
from backend import torch

F = torch.nn.functional


def test_all_lists_public_functions() -> None:
    names = minitorch.nn.functional.__all__
    assert names == sorted(set(names))
    assert all(getattr(minitorch.nn.functional, name).__doc__ for name in names)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda x: F.relu_(x), [0.0, 3.0]),
        (lambda x: torch.relu_(x), [0.0, 3.0]),
        (lambda x: F.relu(x, inplace=True), [0.0, 3.0]),
        (lambda x: F.leaky_relu_(x, 0.5), [-0.5, 3.0]),
        (lambda x: F.elu_(x, 2.0), [2 * np.expm1(-1.0), 3.0]),
        (lambda x: torch.celu_(x), [np.expm1(-1.0), 3.0]),
        (lambda x: F.hardtanh_(x, -0.25, 0.5), [-0.25, 0.5]),
        (lambda x: F.threshold_(x, 1, 7), [7.0, 3.0]),
        (lambda x: torch.neg_(x), [1.0, -3.0]),
    ],
)
def test_in_place_functions_write_their_input_and_are_recorded(call: Any, expected: list[float]) -> None:
    leaf = torch.tensor([-1.0, 3.0], requires_grad=True)
    x = leaf.clone()
    assert call(x) is x
    assert x.tolist() == pytest.approx(expected)
    assert x._version == 1
    x.sum().backward()
    assert leaf.grad is not None


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
@pytest.mark.parametrize("padding", [(1, 2), "same"])
def test_convolution_pads_with_its_mode(mode: str, padding: Any) -> None:
    conv = torch.nn.Conv2d(1, 1, (3, 2), padding=padding, padding_mode=mode, bias=False)
    with torch.no_grad():
        conv.weight.fill_(1)
    x = torch.arange(12.0).reshape(1, 1, 3, 4)
    amounts = (0, 1, 1, 1) if padding == "same" else (2, 2, 1, 1)
    assert torch.equal(conv(x), F.conv2d(F.pad(x, amounts, mode), conv.weight))
