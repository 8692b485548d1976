"""A ``load_state_dict`` that fails says all that is wrong, as PyTorch does, and changes nothing."""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import pytest

import minitorch
from minitorch import nn


def network(torch: Any) -> Any:
    nn = torch.nn
    inner = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.PReLU(4))
    return nn.Sequential(OrderedDict(first=inner, rest=nn.ModuleList([nn.GRU(4, 2), nn.Embedding(5, 2)])))


def trained() -> tuple[Any, Any]:
    """A network and its optimizer, which has a state."""
    minitorch.manual_seed(0)
    net = network(minitorch)
    optimizer = minitorch.optim.Adam(net.parameters(), lr=0.1, amsgrad=True)
    for _ in range(2):
        loss = net.rest[0](net.first(minitorch.randn(6, 3)))[0].sum() + net.rest[1](minitorch.tensor([1, 3])).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return net, optimizer


def bits(value: Any) -> Any:
    """Everything in it, tensors as bytes; and which tensors they are."""
    if isinstance(value, minitorch.Tensor):
        return id(value), type(value), tuple(value.shape), str(value.dtype), value.detach().numpy().tobytes()
    if isinstance(value, dict):
        return [(bits(k), bits(v)) for k, v in value.items()]
    return [bits(v) for v in value] if isinstance(value, (list, tuple)) else value


def everything(net: Any, optimizer: Any) -> Any:
    tensors = [*net.named_parameters(), *net.named_buffers()]
    return bits(
        [*tensors, *[(name, p.grad) for name, p in net.named_parameters()], optimizer.state, optimizer.param_groups]
    )


def drop(name: str) -> Callable[[Any, Any], None]:
    return lambda torch, saved: saved.pop(name)


def put(name: str, make: Callable[[Any], Any]) -> Callable[[Any, Any], None]:
    return lambda torch, saved: saved.__setitem__(name, make(torch))


FAULTS: dict[str, list[Callable[[Any, Any], None]]] = {
    "missing": [drop("first.0.bias"), drop("first.1.running_var"), drop("rest.1.weight")],
    "unexpected": [
        put("first.0.extra", lambda t: t.ones(1)),
        put("other.weight", lambda t: t.ones(1)),
        put("x", lambda t: t.ones(1)),
    ],
    "mismatched": [put("first.0.weight", lambda t: t.ones(4, 9)), put("rest.0.weight_hh_l0", lambda t: t.ones(()))],
    "all": [
        drop("rest.0.bias_ih_l0"),
        put("y.z", lambda t: t.ones(1)),
        put("first.1.num_batches_tracked", lambda t: t.ones(2, 2)),
    ],
    "no tensor": [put("first.2.weight", lambda t: 3), put("rest.1.weight", lambda t: None)],
    "empty": [lambda torch, saved: saved.clear()],
}


@pytest.mark.parametrize("assign", [False, True])
@pytest.mark.parametrize("fault", FAULTS)
def test_nothing_is_changed(fault: str, assign: bool) -> None:
    net, optimizer = trained()
    saved = OrderedDict((name, tensor * 0) for name, tensor in net.state_dict().items())
    for change in FAULTS[fault]:
        change(minitorch, saved)
    before = everything(net, optimizer)
    with pytest.raises(RuntimeError, match=r"Error\(s\) in loading state_dict for Sequential"):
        net.load_state_dict(saved, assign=assign)
    assert everything(net, optimizer) == before


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("assign", [False, True])
@pytest.mark.parametrize("fault", FAULTS)
def test_the_text_is_pytorchs(fault: str, assign: bool, strict: bool) -> None:
    reference = pytest.importorskip("torch")
    results = []
    for library in (minitorch, reference):
        net = network(library)
        saved = OrderedDict(net.state_dict())
        for change in FAULTS[fault]:
            change(library, saved)
        try:
            results.append(repr(net.load_state_dict(saved, strict=strict, assign=assign)))
        except RuntimeError as error:
            results.append(str(error).replace("minitorch", "torch"))
    assert results[0] == results[1]


# -- failures on the way -----------------------------------------------------------------------------------------------
class Extra(nn.Module):
    """A module with an extra state that refuses what is not a number."""

    def __init__(self) -> None:
        super().__init__()
        self.count = {"n": 1}
        self.weight = nn.Parameter(minitorch.ones(2))

    def get_extra_state(self) -> Any:
        return self.count

    def set_extra_state(self, state: Any) -> None:
        self.count.update(state)
        self.count["n"] + 1


def test_an_extra_state_that_is_refused() -> None:
    net = nn.Sequential(nn.Linear(2, 2), Extra(), nn.Linear(2, 2))
    saved = copy.deepcopy(net.state_dict())
    for name, value in saved.items():
        saved[name] = {"n": "many"} if name.endswith("extra_state") else value * 0
    before = bits([*net.parameters()])
    with pytest.raises(TypeError):
        net.load_state_dict(saved)
    assert bits([*net.parameters()]) == before
    assert net[1].count == {"n": 1}


@pytest.mark.parametrize("assign", [False, True])
def test_a_hook_that_does_not_forgive(assign: bool) -> None:
    net, optimizer = trained()
    seen = []

    def hook(module: Any, keys: Any) -> None:
        seen.append(float(module.first[0].weight.detach().abs().sum()))

    net.register_load_state_dict_post_hook(hook)
    saved = OrderedDict((name, tensor * 0) for name, tensor in net.state_dict().items())
    del saved["rest.1.weight"]
    before = everything(net, optimizer)
    with pytest.raises(RuntimeError, match="Missing key"):
        net.load_state_dict(saved, assign=assign)
    assert seen == [0.0]  # it saw what was loaded
    assert everything(net, optimizer) == before


@pytest.mark.parametrize("assign", [False, True])
def test_a_hook_that_raises(assign: bool) -> None:
    net, optimizer = trained()

    def hook(module: Any, keys: Any) -> None:
        raise KeyError("no")

    net.rest[0].register_load_state_dict_post_hook(hook)
    before = everything(net, optimizer)
    with pytest.raises(KeyError):
        net.load_state_dict({name: tensor * 0 for name, tensor in net.state_dict().items()}, assign=assign)
    assert everything(net, optimizer) == before


def test_a_pre_hook_that_raises() -> None:
    net, optimizer = trained()
    net.rest[1]._register_load_state_dict_pre_hook(lambda *arguments: 1 / 0)
    before = everything(net, optimizer)
    with pytest.raises(ZeroDivisionError):
        net.load_state_dict({name: tensor * 0 for name, tensor in net.state_dict().items()})
    assert everything(net, optimizer) == before


def test_tensors_that_cannot_be_parameters() -> None:
    net, optimizer = trained()
    saved = {name: tensor * 0 for name, tensor in net.state_dict().items()}
    saved["rest.1.weight"] = saved["rest.1.weight"].long()
    before = everything(net, optimizer)
    with pytest.raises(RuntimeError, match="floating point"):
        net.load_state_dict(saved, assign=True)
    assert everything(net, optimizer) == before


def test_lazy_layers_stay_lazy() -> None:
    net = nn.Sequential(nn.LazyLinear(2), nn.Linear(2, 2), nn.LazyBatchNorm1d())
    full = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 7), nn.BatchNorm1d(7))
    with pytest.raises(RuntimeError, match=r"size mismatch for 1\.weight"):
        net.load_state_dict(full.state_dict())
    assert repr(net[0].weight) == "<UninitializedParameter>"
    net.register_load_state_dict_post_hook(lambda module, keys: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        net.load_state_dict(nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 2), nn.BatchNorm1d(2)).state_dict())
    assert repr(net[0].weight) == "<UninitializedParameter>"
    assert net(minitorch.ones(4, 5)).shape == (4, 2)


# -- optimizers --------------------------------------------------------------------------------------------------------
def test_an_optimizer_that_does_not_fit() -> None:
    net, optimizer = trained()
    before = everything(net, optimizer)
    saved = copy.deepcopy(optimizer.state_dict())
    for wrong in (
        {"state": {}, "param_groups": []},
        {"state": {}, "param_groups": [{**saved["param_groups"][0], "params": [0]}]},
    ):
        with pytest.raises(ValueError, match="param"):
            optimizer.load_state_dict(wrong)
        assert everything(net, optimizer) == before
    for missing in ({"state": {}}, {"param_groups": saved["param_groups"]}):
        with pytest.raises(KeyError):
            optimizer.load_state_dict(missing)
        assert everything(net, optimizer) == before
