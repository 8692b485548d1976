"""Normalisation layers: running statistics, what is saved, how they print, and PyTorch's values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minitorch
from backend import torch

REPRS = [
    ("BatchNorm1d(3)", "BatchNorm1d(3, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)"),
    (
        "BatchNorm2d(3, 0.1, None, affine=False, track_running_stats=False)",
        "BatchNorm2d(3, eps=0.1, momentum=None, affine=False, bias=False, track_running_stats=False)",
    ),
    (
        "InstanceNorm2d(3)",
        "InstanceNorm2d(3, eps=1e-05, momentum=0.1, affine=False, bias=False, track_running_stats=False)",
    ),
    ("LayerNorm(3, bias=False)", "LayerNorm((3,), eps=1e-05, elementwise_affine=True, bias=False)"),
    ("LayerNorm((2, 3))", "LayerNorm((2, 3), eps=1e-05, elementwise_affine=True, bias=True)"),
    ("RMSNorm(3)", "RMSNorm((3,), eps=None, elementwise_affine=True)"),
    ("GroupNorm(1, 2, affine=False)", "GroupNorm(1, 2, eps=1e-05, affine=False, bias=False)"),
]


@pytest.mark.parametrize(("made_by", "printed"), REPRS)
def test_repr(made_by: str, printed: str) -> None:
    assert repr(eval("torch.nn." + made_by, {"torch": torch})) == printed


def batch() -> Any:
    return torch.tensor([[1.0, -2.0], [3.0, 2.0], [8.0, 3.0]])


def test_running_statistics_follow_the_batches() -> None:
    layer = torch.nn.BatchNorm1d(2)
    layer(batch())
    assert layer.running_mean.tolist() == pytest.approx([0.4, 0.1])
    assert layer.running_var.tolist() == pytest.approx([0.9 + 1.3, 0.9 + 0.7])
    assert layer.num_batches_tracked.item() == 1
    layer(batch())
    assert layer.running_mean.tolist() == pytest.approx([0.76, 0.19])
    assert not layer.running_mean.requires_grad
    before = layer.running_mean.tolist()
    layer.eval()(batch())
    assert layer.running_mean.tolist() == before
    assert layer.num_batches_tracked.item() == 2
    layer.reset_running_stats()
    assert layer.running_mean.tolist() == [0, 0]
    assert layer.running_var.tolist() == [1, 1]
    assert layer.num_batches_tracked.item() == 0


def test_without_momentum_they_are_the_average_of_all_batches() -> None:
    layer = torch.nn.BatchNorm1d(2, momentum=None)
    layer(batch())
    layer(3 * batch())
    assert layer.running_mean.tolist() == pytest.approx([8.0, 2.0])


def test_evaluation_uses_them() -> None:
    layer = torch.nn.BatchNorm1d(2, eps=0.0).eval()
    layer.running_mean.copy_(torch.tensor([1.0, 2.0]))
    layer.running_var.copy_(torch.tensor([4.0, 1.0]))
    assert layer(batch()).tolist() == [[0, -4], [1, 0], [3.5, 1]]
    untracked = torch.nn.BatchNorm1d(2, track_running_stats=False).eval()
    assert untracked(batch()).mean(0).tolist() == pytest.approx([0, 0], abs=1e-6)


def test_an_activation_may_overwrite_the_result() -> None:
    layer = torch.nn.Sequential(torch.nn.BatchNorm1d(2), torch.nn.ReLU(inplace=True))
    x = batch().requires_grad_()
    layer(x).sum().backward()
    assert layer[0].bias.grad.tolist() == [1, 2]


def test_state_dict() -> None:
    layer = torch.nn.BatchNorm1d(2)
    layer(batch())
    state = layer.state_dict()
    assert list(state) == ["weight", "bias", "running_mean", "running_var", "num_batches_tracked"]
    other = torch.nn.BatchNorm1d(2)
    other.load_state_dict(state)
    assert other.running_mean.tolist() == layer.running_mean.tolist()
    assert other.num_batches_tracked.item() == 1
    assert list(torch.nn.BatchNorm1d(2, affine=False, track_running_stats=False).state_dict()) == []
    assert list(torch.nn.GroupNorm(1, 2).state_dict()) == ["weight", "bias"]


def test_a_state_from_before_batches_were_counted_is_accepted() -> None:
    layer = torch.nn.BatchNorm1d(2)
    state = {name: value for name, value in layer.state_dict().items() if name != "num_batches_tracked"}
    assert layer.load_state_dict(state).missing_keys == []


def test_conversion_leaves_the_count_alone() -> None:
    layer = torch.nn.BatchNorm1d(2).double()
    assert layer.running_mean.dtype is torch.float64
    assert layer.num_batches_tracked.dtype is torch.int64
    assert torch.nn.BatchNorm1d(2, dtype=torch.float64).running_var.dtype is torch.float64


def test_instance_norm_takes_a_single_sample() -> None:
    layer = torch.nn.InstanceNorm1d(2, eps=0.0, affine=True, track_running_stats=True)
    x = torch.tensor([[1.0, 3.0], [10.0, 30.0]])
    assert layer(x).tolist() == [[-1, 1], [-1, 1]]
    assert layer.running_mean.tolist() == pytest.approx([0.2, 2.0])
    assert layer.num_batches_tracked.item() == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: torch.nn.BatchNorm1d(2)(torch.zeros(1, 2, 3, 4)), "expected 2D or 3D input \\(got 4D input\\)"),
        (lambda: torch.nn.BatchNorm2d(2)(torch.zeros(1, 2, 3)), "expected 4D input \\(got 3D input\\)"),
        (lambda: torch.nn.BatchNorm1d(2)(torch.zeros(1, 2)), "Expected more than 1 value per channel when training"),
        (lambda: torch.nn.GroupNorm(4, 6), r"num_channels \(6\) must be divisible by num_groups \(4\)"),
        (lambda: torch.nn.InstanceNorm1d(2)(torch.zeros(3)), "expected 2D or 3D input"),
        (
            lambda: torch.nn.InstanceNorm1d(5, affine=True)(torch.zeros(1, 2, 3)),
            "to match num_features \\(5\\), but got: 2",
        ),
    ],
)
def test_errors(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_a_wrong_number_of_unused_features_warns() -> None:
    with pytest.warns(UserWarning, match="does not match num_features"):
        torch.nn.InstanceNorm1d(5)(torch.ones(1, 2, 3))


@pytest.mark.parametrize(
    ("made_by", "shape"),
    [
        ("BatchNorm1d(4)", (5, 4)),
        ("BatchNorm1d(4, momentum=None, bias=False)", (2, 4, 3)),
        ("BatchNorm2d(4, track_running_stats=False)", (2, 4, 3, 2)),
        ("BatchNorm3d(4, eps=0.1, affine=False)", (2, 4, 3, 2, 2)),
        ("InstanceNorm1d(4)", (4, 6)),
        ("InstanceNorm2d(4, affine=True, track_running_stats=True)", (2, 4, 3, 2)),
        ("LayerNorm((3, 2))", (5, 4, 3, 2)),
        ("LayerNorm(6, elementwise_affine=False)", (5, 6)),
        ("RMSNorm(6)", (5, 6)),
        ("GroupNorm(2, 4)", (3, 4, 5)),
        ("GroupNorm(4, 4, bias=False)", (3, 4, 5, 2)),
    ],
)
def test_training_and_evaluation_as_in_pytorch(made_by: str, shape: tuple[int, ...]) -> None:
    pytorch = pytest.importorskip("torch")
    values = np.random.default_rng(1).normal(3, 2, size=(3, *shape)).astype(np.float32)
    results = []
    for backend in (pytorch, minitorch):
        layer = eval("torch.nn." + made_by, {"torch": backend})
        for parameter in layer.parameters():
            parameter.data += backend.linspace(0.0, 1.0, parameter.numel()).reshape(parameter.shape)
        found = []
        for number, training in enumerate((True, True, False)):
            layer.train(training)
            x = backend.tensor(values[number], requires_grad=True)
            out = layer(x)
            (out * out * backend.linspace(0.0, 1.0, out.shape[-1])).sum().backward()
            found += [out, x.grad]
        found += [p.grad for p in layer.parameters()] + list(layer.state_dict().values())
        results.append([f.detach().numpy() for f in found])
    for theirs, ours in zip(*results, strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=2e-4, atol=2e-4)
