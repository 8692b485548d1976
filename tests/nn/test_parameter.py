"""Parameters and buffers."""

from __future__ import annotations

import copy
import pickle

import pytest

from backend import torch

nn = torch.nn


def test_a_parameter_is_a_leaf_tensor_that_shares_memory_and_versions() -> None:
    data = torch.ones(2)
    parameter = nn.Parameter(data)
    data.add_(1)
    assert isinstance(parameter, torch.Tensor)
    assert parameter.requires_grad
    assert parameter.is_leaf
    assert parameter.tolist() == [2.0, 2.0]
    assert parameter._version == 1


def test_repr_says_what_it_is() -> None:
    assert repr(nn.Parameter(torch.ones(2))) == "Parameter containing:\ntensor([1., 1.], requires_grad=True)"


def test_results_of_operations_are_plain_tensors() -> None:
    parameter = nn.Parameter(torch.ones(2))
    for result in (parameter + 1, parameter.detach(), parameter.data, parameter.view(1, 2), parameter.clone()):
        assert type(result) is torch.Tensor


def test_a_result_with_history_becomes_a_leaf() -> None:
    parameter = nn.Parameter(torch.ones(2, requires_grad=True) * 3)
    assert parameter.is_leaf


def test_integers_need_requires_grad_false() -> None:
    with pytest.raises(RuntimeError, match="floating point"):
        nn.Parameter(torch.tensor([1, 2]))
    assert nn.Parameter(torch.tensor([1, 2]), requires_grad=False).tolist() == [1, 2]


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda p: pickle.loads(pickle.dumps(p))])
def test_copies_are_parameters_of_their_own(duplicate: object) -> None:
    parameter = nn.Parameter(torch.ones(2), requires_grad=False)
    copied = duplicate(parameter)
    assert type(copied) is nn.Parameter
    assert not copied.requires_grad
    copied.add_(1)
    assert parameter.tolist() == [1.0, 1.0]


def test_a_shared_parameter_stays_shared_in_a_deep_copy() -> None:
    parameter = nn.Parameter(torch.ones(2))
    first, second = copy.deepcopy([parameter, parameter])
    assert first is second


def test_buffers_are_registered_by_assignment() -> None:
    module = nn.Module()
    module.kept = nn.Buffer(torch.ones(2))
    module.transient = nn.Buffer(torch.zeros(2), persistent=False)
    assert [name for name, _ in module.named_buffers()] == ["kept", "transient"]
    assert list(module.state_dict()) == ["kept"]
    assert isinstance(module.kept, nn.Buffer)
    assert not isinstance(torch.ones(2), nn.Buffer)
    assert not module.kept.requires_grad


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_pickled_layer_works(dtype: str) -> None:
    norm = torch.nn.BatchNorm1d(3).to(getattr(torch, dtype))
    x = torch.randn(4, 3, dtype=getattr(torch, dtype))
    again = pickle.loads(pickle.dumps(norm))
    assert torch.equal(again(x), norm(x))  # dtypes of unpickled arrays are equal, but not the same objects
