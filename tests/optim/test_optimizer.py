"""The base of optimizers: groups, hooks, saving and loading, errors."""

from __future__ import annotations

import copy
import importlib
import pickle
import signal
from typing import Any

import pytest

import minitorch
from backend import torch

optim = torch.optim
required = importlib.import_module(f"{torch.__name__}.optim.optimizer").required


def leaf(*values: float) -> Any:
    return torch.tensor(values, requires_grad=True)


class Descent(optim.Optimizer):
    """The simplest optimizer that a user may write."""

    def __init__(self, params: Any, lr: float = 0.5) -> None:
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    self.state[p]["count"] = self.state[p].get("count", 0) + 1
                    p.add_(p.grad, alpha=-group["lr"])
        return loss


def test_an_optimizer_of_ones_own() -> None:
    w = leaf(1.0, 2.0)
    optimizer = Descent([w])
    (w * w).sum().backward()
    assert optimizer.step() is None
    assert w.tolist() == [0.0, 0.0]
    assert optimizer.state[w] == {"count": 1}
    assert optimizer.state_dict() == {"state": {0: {"count": 1}}, "param_groups": [{"lr": 0.5, "params": [0]}]}


def test_the_base_has_no_step() -> None:
    with pytest.raises(NotImplementedError):
        optim.Optimizer([leaf(1.0)], {}).step()


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        (lambda: [], ValueError, "optimizer got an empty parameter list"),
        (lambda: leaf(1.0), TypeError, "iterable of Tensors or dicts, but got torch.FloatTensor"),
        (lambda: [3], TypeError, "optimizer can only optimize Tensors, but one of the params is int"),
        (lambda: [leaf(1.0) * 2], ValueError, "can't optimize a non-leaf Tensor"),
        (lambda: [{"params": {leaf(1.0)}}], TypeError, "ordered collections"),
        (lambda: [("a", leaf(1.0)), leaf(2.0)], ValueError, "Some param names are missing"),
    ],
)
def test_what_cannot_be_optimized(params: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        optim.SGD(params())


def test_groups() -> None:
    a, b, c = leaf(1.0), leaf(2.0), leaf(3.0)
    optimizer = optim.SGD([{"params": a}, {"params": [b], "lr": 0.25}], lr=0.5)
    optimizer.add_param_group({"params": [c], "momentum": 0.9})
    assert [group["lr"] for group in optimizer.param_groups] == [0.5, 0.25, 0.5]
    assert [group["momentum"] for group in optimizer.param_groups] == [0, 0, 0.9]
    (a + b + c).backward()
    optimizer.step()
    assert [p.item() for p in (a, b, c)] == [0.5, 1.75, 2.5]
    with pytest.raises(ValueError, match="some parameters appear in more than one parameter group"):
        optimizer.add_param_group({"params": [a]})
    with pytest.raises(TypeError, match="param_group must be a dict, but got"):
        optimizer.add_param_group([leaf(1.0)])


def test_duplicates_warn() -> None:
    a = leaf(1.0)
    with pytest.warns(UserWarning, match="duplicate parameters"):
        optim.SGD([a, a])


def test_names() -> None:
    optimizer = optim.SGD([("weight", leaf(1.0))])
    assert optimizer.state_dict()["param_groups"][0]["param_names"] == ["weight"]
    with pytest.raises(ValueError, match="cannot add param group without names"):
        optimizer.add_param_group({"params": [leaf(1.0)]})


def test_zero_grad() -> None:
    a = leaf(1.0)
    a.grad = torch.ones(1)
    grad = a.grad
    optimizer = optim.SGD([a])
    optimizer.zero_grad(set_to_none=False)
    assert a.grad is grad
    assert grad.tolist() == [0.0]
    optimizer.zero_grad()
    assert a.grad is None


def test_the_closure_is_called_with_grad_and_its_loss_returned() -> None:
    a = leaf(3.0)
    optimizer = optim.SGD([a], lr=0.5)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = (a * a).sum()
        loss.backward()
        return loss

    with torch.no_grad():
        assert optimizer.step(closure).item() == 9
    assert a.item() == 0


def test_step_hooks() -> None:
    seen: list[Any] = []
    a = leaf(1.0)
    optimizer = optim.SGD([a], lr=1.0)
    before = optimizer.register_step_pre_hook(lambda o, args, kwargs: seen.append(("pre", o is optimizer, a.item())))
    after = optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append(("post", o is optimizer, a.item())))
    a.grad = torch.ones(1)
    optimizer.step()
    assert seen == [("pre", True, 1.0), ("post", True, 0.0)]
    before.remove()
    after.remove()
    optimizer.step()
    assert len(seen) == 2


def test_hooks_of_an_optimizer_of_ones_own() -> None:
    seen: list[Any] = []
    a = leaf(1.0)
    a.grad = torch.ones(1)
    optimizer = Descent([a])
    optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append(a.item()))
    optimizer.step()
    assert seen == [0.5]


def test_hooks_around_saving_and_loading() -> None:
    a = leaf(1.0)
    optimizer = optim.SGD([a], lr=0.5)
    seen: list[str] = []
    optimizer.register_state_dict_pre_hook(lambda o: seen.append("saving"))
    optimizer.register_state_dict_post_hook(lambda o, state: {**state, "extra": 1})
    optimizer.register_load_state_dict_pre_hook(lambda o, state: seen.append(f"extra {state['extra']}"))
    optimizer.register_load_state_dict_post_hook(lambda o: seen.append("loaded"))
    optimizer.load_state_dict(optimizer.state_dict())
    assert seen == ["saving", "extra 1", "loaded"]


def test_repr() -> None:
    optimizer = optim.SGD([{"params": leaf(1.0)}, {"params": leaf(1.0), "lr": 2}], lr=0.5)
    group = (
        "    dampening: 0\n    differentiable: False\n    foreach: None\n    fused: None\n    lr: {}\n    "
        "maximize: False\n"
        "    momentum: 0\n    nesterov: False\n    weight_decay: 0\n"
    )
    assert repr(optimizer) == f"SGD (\nParameter Group 0\n{group.format(0.5)}\nParameter Group 1\n{group.format(2)})"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda p: optim.SGD(p, lr=-1), "Invalid learning rate: -1"),
        (lambda p: optim.SGD(p, momentum=-1), "Invalid momentum value: -1"),
        (lambda p: optim.SGD(p, weight_decay=-1), "Invalid weight_decay value: -1"),
        (lambda p: optim.SGD(p, nesterov=True), "Nesterov momentum requires a momentum and zero dampening"),
        (lambda p: optim.Adam(p, lr=-1), "Invalid learning rate: -1"),
        (lambda p: optim.Adam(p, betas=(1.0, 0.9)), "Invalid beta parameter at index 0: 1.0"),
        (lambda p: optim.Adam(p, betas=(0.9, -1.0)), "Invalid beta parameter at index 1: -1.0"),
        (lambda p: optim.Adam(p, eps=-1), "Invalid epsilon value: -1"),
        (lambda p: optim.AdamW(p, weight_decay=-1), "Invalid weight_decay value: -1"),
    ],
)
def test_options_out_of_range(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make([leaf(1.0)])


def trained(optimizer: Any, params: list[Any], steps: int) -> list[Any]:
    for _ in range(steps):
        optimizer.zero_grad()
        sum([(p * p * p).sum() for p in params]).backward()
        optimizer.step()
    return [p.tolist() for p in params]


@pytest.mark.parametrize("make", [lambda p: optim.Adam(p, lr=0.1), lambda p: optim.SGD(p, lr=0.01, momentum=0.9)])
@pytest.mark.parametrize("how", ["state_dict", "pickle", "deepcopy"])
def test_a_saved_optimizer_goes_on_as_if_never_stopped(make: Any, how: str) -> None:
    params = [leaf(1.0, -2.0), leaf(0.5)]
    optimizer = make(params)
    trained(optimizer, params, 3)
    if how == "state_dict":
        others = [leaf(*p.tolist()) for p in params]
        other = make(others)
        other.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    else:
        other = pickle.loads(pickle.dumps(optimizer)) if how == "pickle" else copy.deepcopy(optimizer)
        others = other.param_groups[0]["params"]
        assert others[0] is not params[0]
    assert trained(other, others, 3) == trained(optimizer, params, 3)


def test_loading_checks_the_groups_first() -> None:
    optimizer = optim.SGD([leaf(1.0)], lr=0.5)
    with pytest.raises(ValueError, match="different number of parameter groups"):
        optimizer.load_state_dict({"state": {}, "param_groups": []})
    with pytest.raises(ValueError, match="doesn't match the size of optimizer's group"):
        optimizer.load_state_dict({"state": {}, "param_groups": [{"params": [0, 1], "lr": 3}]})
    assert optimizer.param_groups[0]["lr"] == 0.5


def test_ctrl_c_waits_until_parameters_and_state_fit_each_other() -> None:
    """The signal comes in the middle of the rule; the step is finished before it is raised."""
    w = minitorch.ones(3, dtype=minitorch.float64, requires_grad=True)

    class Interrupted(minitorch.optim.Adam):
        def rule(self, group: Any, block: Any, gradient: Any, values: Any) -> None:
            signal.raise_signal(signal.SIGINT)
            super().rule(group, block, gradient, values)

    interrupted = Interrupted([w], lr=0.1)
    (w * w).sum().backward()
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            interrupted.step()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert interrupted.state[w]["step"].item() == 1
    assert w.tolist() == pytest.approx([0.9] * 3)


@pytest.mark.parametrize("name", ["adafactor", "muon"])
def test_ctrl_c_waits_for_all_parameters(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module(f"minitorch.optim.{name}")
    updated, calls = module.updated, []

    def interrupted(*args: Any) -> Any:
        calls.append(signal.raise_signal(signal.SIGINT))
        return updated(*args)

    params = [minitorch.ones(2, 2, requires_grad=True) for _ in range(3)]
    optimizer = getattr(minitorch.optim, name.capitalize())(params, lr=0.1)
    sum([(p * p).sum() for p in params]).backward()
    monkeypatch.setattr(module, "updated", interrupted)
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            optimizer.step()
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(calls) == 3
    assert all([minitorch.equal(p, params[0]) and p[0, 0] != 1 for p in params])
    assert [sorted(optimizer.state[p]) for p in params] == [sorted(optimizer.state[params[0]])] * 3


class Hungry(optim.Optimizer):
    """An optimizer whose learning rate has no default."""

    def __init__(self, params: Any, lr: Any = required) -> None:
        super().__init__(params, {"lr": lr})


def test_an_option_without_a_default_is_required() -> None:
    with pytest.raises(
        ValueError, match="parameter group didn't specify a value of required optimization parameter lr"
    ):
        Hungry([leaf(1.0)])
    optimizer = Hungry([{"params": [leaf(1.0)], "lr": 0.5}])
    assert optimizer.param_groups[0]["lr"] == 0.5
    assert repr(required) == "<required parameter>"
