"""Lazy layers: parameters without shapes, what the first batch makes of them, saving, loading, copying."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import minitorch
from backend import torch

nn = torch.nn


def test_a_parameter_without_a_shape_is_refused() -> None:
    layer = nn.LazyLinear(3)
    assert repr(layer.weight) == "<UninitializedParameter>"
    assert repr(layer) == "LazyLinear(in_features=0, out_features=3, bias=True)"
    assert layer.has_uninitialized_params()
    for call in (lambda: layer.weight + 1, lambda: torch.exp(layer.weight), lambda: nn.init.zeros_(layer.weight)):
        with pytest.raises(ValueError, match="uninitialized parameter"):
            call()
    with pytest.raises(RuntimeError, match="Can't access the shape"):
        _ = layer.weight.shape


def test_the_first_batch_gives_shapes_in_place() -> None:
    layer = nn.LazyLinear(3, bias=False).double()
    weight = layer.weight
    optimizer = torch.optim.SGD(layer.parameters(), 0.1)
    layer(torch.ones(2, 5, dtype=torch.float64)).sum().backward()
    assert type(layer) is nn.Linear
    assert layer.weight is weight
    assert type(weight) is nn.Parameter
    assert (weight.shape, weight.dtype, weight.grad.shape) == ((3, 5), torch.float64, (3, 5))
    optimizer.step()


def test_buffers_and_channels() -> None:
    norm = nn.LazyBatchNorm2d(momentum=None)
    norm(torch.ones(2, 3, 4, 4))
    assert type(norm) is nn.BatchNorm2d
    assert norm.running_var.shape == (3,)
    assert type(norm.running_var) is torch.Tensor
    conv = nn.LazyConvTranspose2d(4, 2, groups=2)
    assert conv(torch.ones(2, 4, 4)).shape == (4, 5, 5)
    assert conv.weight.shape == (2, 2, 2, 2)
    with pytest.raises(RuntimeError, match=r"Expected 3D .unbatched. or 4D .batched. input to LazyConv2d"):
        nn.LazyConv2d(3, 2)(torch.ones(4, 5))
    with pytest.raises(ValueError, match="divisible by groups"):
        nn.LazyConv2d(4, 2, groups=2)(torch.ones(3, 5, 5))


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda layer: pickle.loads(pickle.dumps(layer))])
def test_copies_are_lazy_too(duplicate: Any) -> None:
    layer = duplicate(nn.LazyLinear(3, dtype=torch.float64))
    assert repr(layer.weight) == "<UninitializedParameter>"
    assert layer.weight.dtype is torch.float64
    assert layer(torch.ones(2, 5, dtype=torch.float64)).shape == (2, 3)


def test_loading() -> None:
    layer, source = nn.LazyLinear(3), nn.Linear(2, 3)
    assert list(layer.state_dict()) == ["weight", "bias"]
    layer.load_state_dict(nn.LazyLinear(3).state_dict())
    assert layer.has_uninitialized_params()
    with pytest.raises(RuntimeError, match="uninitialized parameter"):
        source.load_state_dict(layer.state_dict())
    layer.load_state_dict(source.state_dict())
    assert torch.equal(layer.weight, source.weight)
    assert torch.equal(layer(torch.ones(1, 2)), source(torch.ones(1, 2)))
    assert layer.in_features == 2


def test_users_own() -> None:
    class Scale(nn.modules.lazy.LazyModuleMixin, nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.factors = nn.UninitializedParameter()

        def initialize_parameters(self, input: Any) -> None:
            if self.has_uninitialized_params():
                self.factors.materialize((input.shape[-1],))
                nn.init.ones_(self.factors)

        def forward(self, input: Any) -> Any:
            return input * self.factors

    scale = Scale()
    assert scale(torch.ones(3)).tolist() == [1.0, 1.0, 1.0]
    assert type(scale) is Scale

    class Forgetful(Scale):
        def initialize_parameters(self, input: Any) -> None:
            pass

    with pytest.raises(RuntimeError, match="has not been fully initialized"):
        Forgetful()(torch.ones(3))


@pytest.mark.parametrize(
    ("made_by", "shape"),
    [
        ("LazyLinear(3)", (2, 4, 5)),
        ("LazyConv1d(4, 3, groups=2)", (2, 4, 8)),
        ("LazyConv2d(4, (2, 3), bias=False, padding_mode='circular', padding=1)", (2, 3, 5, 6)),
        ("LazyConv3d(2, 2)", (3, 4, 4, 4)),
        ("LazyConvTranspose1d(2, 3, stride=2, output_padding=1)", (2, 4, 5)),
        ("LazyConvTranspose2d(4, 2, groups=2)", (2, 4, 5, 5)),
        ("LazyConvTranspose3d(1, 2)", (1, 2, 3, 3, 3)),
        ("LazyBatchNorm1d()", (4, 3)),
        ("LazyBatchNorm2d(affine=False)", (4, 3, 2, 2)),
        ("LazyBatchNorm3d(track_running_stats=False)", (4, 3, 2, 2, 2)),
        ("LazyInstanceNorm1d()", (4, 3, 6)),
        ("LazyInstanceNorm2d(affine=True, bias=False)", (4, 3, 2, 3)),
        ("LazyInstanceNorm3d()", (4, 3, 2, 2, 2)),
    ],
)
def test_same_seed_same_results_as_pytorch(made_by: str, shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    results = []
    for library in (pytest.importorskip("torch"), minitorch):
        library.manual_seed(0)
        layer = eval("nn." + made_by, {"nn": library.nn})
        before = repr(layer)
        out = layer(library.tensor(x))
        values = [t.detach().numpy() for t in (out, *layer.state_dict().values(), library.rand(3))]
        results.append(((before, repr(layer), type(layer).__name__, list(layer.state_dict())), values))
    (expected, values), (got, ours) = results
    assert got == expected
    for one, other in zip(values, ours, strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-4, atol=1e-6)
