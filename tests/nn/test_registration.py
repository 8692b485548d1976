"""Hooks on registration, memory without contents, and what is registered past the end of a list."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from backend import torch

nn = torch.nn
module_file = importlib.import_module(f"{torch.__name__}.nn.modules.module")


def told(kind: str, build: Any) -> list[tuple[str, str, str]]:
    """What a registration hook is told while *build* runs; afterwards it is told nothing."""
    seen: list[tuple[str, str, str]] = []

    def hook(module: Any, name: str, value: Any) -> None:
        seen.append((type(module).__name__, name, type(value).__name__))

    with getattr(module_file, f"register_module_{kind}_registration_hook")(hook):
        build()
    count = len(seen)
    build()
    assert len(seen) == count
    return seen


def build() -> None:
    layer = nn.BatchNorm1d(2)
    layer.child = nn.ReLU()
    layer.child = None
    layer.add_module("empty", None)
    layer.extra = nn.Parameter(torch.ones(1))
    layer.extra = None
    layer.register_parameter("absent", None)
    layer.register_buffer("noise", None)
    layer.noise = torch.ones(1)
    layer.unrelated = torch.ones(1)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("module", [("child", "ReLU"), ("child", "NoneType"), ("empty", "NoneType")]),
        ("parameter", [("weight", "Parameter"), ("bias", "Parameter"), ("extra", "Parameter")]),
        (
            "buffer",
            [
                ("running_mean", "Tensor"),
                ("running_var", "Tensor"),
                ("num_batches_tracked", "Tensor"),
                ("noise", "NoneType"),
                ("noise", "Tensor"),
            ],
        ),
    ],
)
def test_registration_hooks_see_every_registration(kind: str, expected: list[tuple[str, str]]) -> None:
    assert told(kind, build) == [("BatchNorm1d", *one) for one in expected]


def test_registration_hooks_replace() -> None:
    with module_file.register_module_module_registration_hook(
        lambda module, name, value: nn.Tanh() if isinstance(value, nn.ReLU) else None
    ):
        model = nn.Sequential(nn.ReLU(), nn.Identity())
        model.last = nn.ReLU()
    assert [type(child).__name__ for child in model] == ["Tanh", "Identity", "Tanh"]
    layer = nn.Identity()
    with module_file.register_module_parameter_registration_hook(
        lambda module, name, value: nn.Parameter(value.detach() + 7)
    ):
        layer.scale = nn.Parameter(torch.ones(1))
    assert layer.scale.item() == 8.0
    with module_file.register_module_buffer_registration_hook(lambda module, name, value: value + 7):
        layer.register_buffer("offset", torch.ones(1))
    assert layer.offset.item() == 8.0


def test_new_memory_without_contents() -> None:
    model = nn.Sequential(nn.BatchNorm1d(2), nn.Linear(2, 2))
    weight, before = model[1].weight, model[1].weight.data_ptr()
    assert model.to_empty(device="cpu") is model
    assert model[1].weight is weight
    assert weight.data_ptr() != before
    assert model[0].num_batches_tracked.dtype == torch.int64
    before = weight.data_ptr()
    model.to_empty(device="cpu", recurse=False)
    assert weight.data_ptr() == before
    with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'device'"):
        model.to_empty()


def test_a_module_inserted_past_the_end_of_a_list_is_named_by_its_index() -> None:
    modules = nn.ModuleList([nn.ReLU()])
    modules.insert(1, nn.Tanh())
    modules.insert(5, nn.Linear(1, 1))
    assert list(modules.state_dict()) == ["5.weight", "5.bias"]
    with pytest.raises(IndexError, match="Index out of range: 5"):
        nn.Sequential(nn.ReLU()).insert(5, nn.ReLU())


def test_load_pre_hooks_see_what_was_saved_with_the_state() -> None:
    seen: list[tuple[str, dict[str, Any], bool]] = []
    model = nn.Sequential(nn.BatchNorm1d(2))
    for module in model.modules():
        module.register_load_state_dict_pre_hook(
            lambda module, state, prefix, local, strict, *lists: seen.append((prefix, dict(local), strict))
        )
    model.load_state_dict(model.state_dict())
    assert seen == [("", {"version": 1}, True), ("0.", {"version": 2}, True)]
    seen.clear()
    model.load_state_dict(dict(model.state_dict()))
    assert seen == [("", {}, True), ("0.", {}, True)]


class ByTheWay(nn.Module):
    def forward(self) -> Any:
        return getattr(self, "aside", None)


def test_a_functional_call_with_names_that_the_module_lacks() -> None:
    module, call = ByTheWay(), torch.func.functional_call
    value = torch.ones(1)
    assert call(module, {"aside": value}, ()) is value
    assert not hasattr(module, "aside")
    with pytest.raises(RuntimeError, match=r"Unexpected key\(s\): 'aside'"):
        call(module, {"aside": value}, (), strict=True)
    with pytest.raises(AttributeError, match="below"):
        call(module, {"below.aside": value}, ())
    with pytest.raises(TypeError, match=r"3 is not an instance of torch.Tensor"):
        call(module, {"aside": 3}, ())
    with pytest.raises(ValueError, match=r"\['aside'\] appeared in multiple dictionaries"):
        call(module, ({"aside": value}, {"aside": value}), ())


def test_the_older_functional_call_warns() -> None:
    stateless = importlib.import_module(f"{torch.__name__}.nn.utils.stateless")
    layer = nn.Linear(2, 1, bias=False)
    with pytest.warns(FutureWarning, match="use `torch.func.functional_call` instead"):
        result = stateless.functional_call(layer, {"weight": torch.ones(1, 2)}, torch.ones(2))
    assert result.tolist() == [2.0]


@pytest.mark.parametrize(
    ("kind", "rows", "error", "message"),
    [
        ("hook", 3, RuntimeError, "Backward hook returned an invalid number of grad_input, got 3, but expected 1"),
        ("hook", 1, RuntimeError, "has changed the size of value"),
        ("pre_hook", 3, RuntimeError, "Backward pre hook returned an invalid number of grad_output, got 3"),
        ("pre_hook", 1, RuntimeError, "has changed the size of value"),
    ],
)
def test_backward_hooks_of_modules_return_tuples(kind: str, rows: int, error: type, message: str) -> None:
    layer, x = nn.Identity(), torch.ones(rows, 2, requires_grad=True)
    getattr(layer, f"register_full_backward_{kind}")(lambda module, *gradients: gradients[0][0] * 2)
    result = layer(x).sum()
    with pytest.raises(error, match=message):
        result.backward()


def test_backward_hooks_of_modules_may_return_lists() -> None:
    layer, x = nn.Identity(), torch.ones(3, 2, requires_grad=True)
    layer.register_full_backward_hook(lambda module, grad_input, grad_output: [grad_input[0] * 2])
    layer(x).sum().backward()
    assert x.grad.tolist() == [[2.0, 2.0]] * 3
