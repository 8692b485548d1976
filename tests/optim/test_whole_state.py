"""What ``state_dict()`` of an optimizer holds, key for key, and what ``load_state_dict()`` makes of it."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from backend import torch

OPTIONS: dict[str, list[dict[str, Any]]] = {
    "SGD": [{}, {"momentum": 0.9, "nesterov": True}, {"momentum": 0.5, "dampening": 0.1, "maximize": True}],
    "Adam": [{}, {"amsgrad": True}, {"betas": (0.5, 0.6), "weight_decay": 0.1}, {"decoupled_weight_decay": True}],
    "AdamW": [{}, {"amsgrad": True, "maximize": True}],
    "RMSprop": [{}, {"momentum": 0.9}, {"centered": True}, {"momentum": 0.9, "centered": True}],
    "Adagrad": [{}, {"lr_decay": 0.1, "initial_accumulator_value": 0.5}],
    "Adadelta": [{}, {"rho": 0.5}],
    "Adamax": [{}, {"betas": (0.5, 0.6)}],
    "NAdam": [{}, {"momentum_decay": 0.1, "decoupled_weight_decay": True}],
    "RAdam": [{}, {"decoupled_weight_decay": True}],
    "ASGD": [{}, {"lambd": 0.1, "t0": 1}],
    "Rprop": [{}, {"etas": (0.4, 1.3), "step_sizes": (1e-3, 1.0)}],
    "LBFGS": [{}, {"max_iter": 1}, {"line_search_fn": "strong_wolfe", "history_size": 2}, {"lr": 0.5}],
    "Adafactor": [{}, {"beta2_decay": -0.5}],
    "Muon": [{}, {"nesterov": False, "adjust_lr_fn": "original"}],
}
"""Optimizers with options; each is also tried with those that all have."""
LACKS = {"LBFGS": {"weight_decay", "foreach"}, "Muon": {"foreach"}, "Rprop": {"weight_decay"}}
COMMON: list[dict[str, Any]] = [{}, {"lr": 0.25}, {"weight_decay": 0.5}, {"foreach": True}, {"foreach": False}]
CASES = [
    (name, {**options, **common})
    for name, several in OPTIONS.items()
    for options, common in itertools.product(several, COMMON)
    if not set(common) & LACKS.get(name, set())
]


def stepped(library: Any, name: str, options: dict[str, Any], steps: int = 2) -> Any:
    """An optimizer that made a few steps on two groups (one for LBFGS, which takes no more)."""
    weight = library.nn.Parameter(library.ones(2, 3, dtype=library.float64))
    bias = library.nn.Parameter(library.ones(2, 2, dtype=library.float64))
    groups: Any = [{"params": [weight]}, {"params": [bias], "lr": 0.125}]
    optimizer = getattr(library.optim, name)([weight, bias] if name == "LBFGS" else groups, **options)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = (weight**4).sum() + (bias**2 * library.tensor([1.0, 2.0])).sum()
        loss.backward()
        return loss

    for _ in range(steps):
        optimizer.step(closure)
    return optimizer


def plain(value: Any) -> Any:
    """A state as what can be compared: tensors as their dtype's name, shape and kind."""
    if hasattr(value, "requires_grad"):
        return "tensor", str(value.dtype).rpartition(".")[2], tuple(value.shape)
    if isinstance(value, dict):
        return [(key, plain(item)) for key, item in value.items()]  # the order counts
    if isinstance(value, (list, tuple)):
        return type(value)([plain(item) for item in value])
    return type(value).__name__ if isinstance(value, float) else value


def numbers(value: Any) -> list[float]:
    """All numbers of a state, in order."""
    if isinstance(value, dict):
        return [n for item in value.values() for n in numbers(item)]
    if isinstance(value, (list, tuple)):
        return [n for item in value for n in numbers(item)]
    if hasattr(value, "requires_grad"):
        return value.double().reshape(-1).tolist()
    return [float(value)] if isinstance(value, (int, float)) else []


@pytest.mark.pytorch
@pytest.mark.parametrize(("name", "options"), CASES)
def test_a_whole_state_dict_is_that_of_pytorch(name: str, options: dict[str, Any]) -> None:
    pytorch = pytest.importorskip("torch")
    own, other = [stepped(library, name, options).state_dict() for library in (torch, pytorch)]
    assert plain(own) == plain(other)
    np.testing.assert_allclose(numbers(own), numbers(other), rtol=2e-3, atol=1e-5)
    assert repr(stepped(torch, name, options, 0)) == repr(stepped(pytorch, name, options, 0))


@pytest.mark.parametrize(("name", "entry"), [("NAdam", "mu_product"), ("ASGD", "eta"), ("ASGD", "mu")])
@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_numbers_loaded_have_the_dtype_of_their_parameter(name: str, entry: str, dtype: str) -> None:
    saved = stepped(torch, name, {}).state_dict()
    weight, bias = [torch.nn.Parameter(torch.ones(2, n, dtype=getattr(torch, dtype))) for n in (3, 2)]
    optimizer = getattr(torch.optim, name)([{"params": [weight]}, {"params": [bias]}])
    optimizer.load_state_dict(saved)
    for _ in range(2):  # at once, and after a step
        assert optimizer.state[weight][entry].dtype == getattr(torch, dtype)
        assert optimizer.state[weight]["step"].dtype == torch.float32
        (weight.sum() + bias.sum()).backward()
        optimizer.step()


def test_loading_into_half_precision_overflows_without_a_warning() -> None:
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1, dtype=torch.float16))], lr=0.1, momentum=0.5)
    state = optimizer.state_dict()
    state["state"] = {0: {"momentum_buffer": torch.tensor([1e30])}}
    optimizer.load_state_dict(state)
    assert optimizer.state_dict()["state"][0]["momentum_buffer"].tolist() == [float("inf")]


def test_what_lbfgs_remembers_and_in_which_order() -> None:
    kept = ["d", "t", "old_dirs", "old_stps", "ro", "H_diag", "prev_flat_grad", "prev_loss"]
    first = stepped(torch, "LBFGS", {}, 1).state_dict()["state"][0]
    assert list(first) == ["func_evals", "n_iter", "al", *kept]
    assert list(stepped(torch, "LBFGS", {"max_iter": 1}, 1).state_dict()["state"][0]) == ["func_evals", "n_iter", *kept]
    assert type(first["t"]) is int  # lr as it was given


@pytest.mark.parametrize("name", ["Adam", "AdamW", "RMSprop", "Adadelta", "Adamax", "NAdam", "RAdam", "ASGD", "Rprop"])
def test_steps_to_be_captured_need_another_device(name: str) -> None:
    weight = torch.nn.Parameter(torch.ones(2))
    optimizer = getattr(torch.optim, name)([weight], capturable=True)
    optimizer.step()  # of no gradient
    weight.sum().backward()
    with pytest.raises(AssertionError, match=r"If capturable=True, params.* must be on supported devices"):
        optimizer.step()
    assert weight.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("name", ["Adam", "AdamW"])
def test_tensors_among_the_options_of_adam(name: str) -> None:
    make, weight = getattr(torch.optim, name), torch.nn.Parameter(torch.ones(2))
    optimizer = make([weight], betas=(torch.tensor([0.5]), torch.tensor(0.75)))
    assert [beta.shape for beta in optimizer.param_groups[0]["betas"]] == [(), ()]
    weight.sum().backward()
    optimizer.step()
    assert optimizer.state[weight]["exp_avg"].tolist() == [0.5, 0.5]
    both = torch.tensor(0.5), torch.tensor(0.75)
    for options, message in (
        ({"lr": torch.tensor(0.1), "foreach": True}, "lr as a Tensor is not supported for capturable=False"),
        ({"betas": both, "foreach": True}, r"betas\[0\] as a Tensor is not supported for capturable=False"),
        ({"betas": (torch.tensor(0.5), 0.5)}, "betas must be either both floats or both Tensors"),
    ):
        with pytest.raises(ValueError, match=message):
            make([weight], **options)
    with pytest.raises(RuntimeError, match="`fused` does not support `differentiable`"):
        make([weight], fused=True, differentiable=True)
