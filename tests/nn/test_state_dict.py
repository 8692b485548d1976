"""Saving and loading modules."""

from __future__ import annotations

import pickle
from collections import OrderedDict
from typing import Any

import pytest

from backend import torch

nn = torch.nn


def network() -> Any:
    return nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))


def values(module: Any) -> list[Any]:
    return [tensor.tolist() for tensor in module.state_dict().values()]


def test_state_dict_shares_memory_and_tells_versions() -> None:
    net = network()
    saved = net.state_dict()
    assert isinstance(saved, OrderedDict)
    assert not saved["0.weight"].requires_grad
    assert net.state_dict(keep_vars=True)["0.weight"] is net[0].weight
    with torch.no_grad():
        net[0].weight.zero_()
    assert saved["0.weight"].abs().sum().item() == 0
    assert saved._metadata == {"": {"version": 1}, **{str(i): {"version": 1} for i in range(3)}}
    assert list(net.state_dict(prefix="net.")) == ["net.0.weight", "net.0.bias", "net.2.weight", "net.2.bias"]


def test_loading_copies() -> None:
    source, target = network(), network()
    weight = target[0].weight
    result = target.load_state_dict(pickle.loads(pickle.dumps(source.state_dict())))
    assert repr(result) == "<All keys matched successfully>"
    assert values(target) == values(source)
    assert target[0].weight is weight


def test_assigning_puts_the_tensors_in_place() -> None:
    source, target = network(), network()
    target.load_state_dict(source.state_dict(), assign=True)
    assert isinstance(target[0].weight, nn.Parameter)
    with torch.no_grad():
        source[0].weight.zero_()
    assert target[0].weight.abs().sum().item() == 0


def test_all_problems_are_told_at_once() -> None:
    net = network()
    saved = dict(net.state_dict())
    saved["0.weight"] = torch.ones(2, 2)
    del saved["2.bias"]
    saved["extra"] = torch.ones(1)
    saved["a.b"] = 3
    saved["2.weight"] = 3
    with pytest.raises(RuntimeError) as caught:
        net.load_state_dict(saved)
    assert str(caught.value) == (
        "Error(s) in loading state_dict for Sequential:\n"
        '\tMissing key(s) in state_dict: "2.bias". \n'
        '\tUnexpected key(s) in state_dict: "extra", "a.b". \n'
        "\tsize mismatch for 0.weight: copying a param with shape torch.Size([2, 2]) from checkpoint, the "
        "shape in current "
        "model is torch.Size([3, 2]).\n"
        '\tWhile copying the parameter named "2.weight", expected torch.Tensor or Tensor-like object from '
        "checkpoint but "
        "received <class 'int'>"
    )


def test_a_failed_load_changes_nothing() -> None:
    net = network()
    before = values(net)
    saved = {name: tensor * 0 for name, tensor in net.state_dict().items()}
    saved["2.bias"] = torch.ones(7)
    if torch.__name__ == "torch":
        pytest.skip("PyTorch loads what fits before it raises")
    with pytest.raises(RuntimeError, match=r"size mismatch for 2.bias"):
        net.load_state_dict(saved)
    assert values(net) == before
    saved["2.bias"] = torch.zeros(1)
    del saved["0.bias"]
    with pytest.raises(RuntimeError, match="Missing key"):
        net.load_state_dict(saved)
    assert values(net) == before


def test_not_strict() -> None:
    net = network()
    saved = dict(net.state_dict())
    del saved["0.bias"]
    saved["k"] = 1
    result = net.load_state_dict(saved, strict=False)
    assert result.missing_keys == ["0.bias"]
    assert result.unexpected_keys == ["k"]
    assert repr(result) == "_IncompatibleKeys(missing_keys=['0.bias'], unexpected_keys=['k'])"


def test_not_a_mapping() -> None:
    with pytest.raises(TypeError, match="Expected state_dict to be dict-like, got <class 'int'>"):
        network().load_state_dict(3)


def test_extra_state() -> None:
    class Counting(nn.Module):
        calls = 0

        def get_extra_state(self) -> Any:
            return {"calls": self.calls}

        def set_extra_state(self, state: Any) -> None:
            self.calls = state["calls"]

    source, target = nn.Sequential(Counting()), nn.Sequential(Counting())
    source[0].calls = 5
    saved = source.state_dict()
    assert saved == {"0._extra_state": {"calls": 5}}
    target.load_state_dict(saved)
    assert target[0].calls == 5
    with pytest.raises(RuntimeError, match=r'Missing key.*"0._extra_state"'):
        target.load_state_dict({})
    with pytest.raises(RuntimeError, match=r'Unexpected key.*"_extra_state"'):
        nn.ReLU().load_state_dict({"_extra_state": 1})


def test_a_scalar_may_come_as_one_element() -> None:
    module = nn.Module()
    module.scale = nn.Parameter(torch.tensor(1.0))
    module.load_state_dict({"scale": torch.tensor([3.0])})
    assert module.scale.item() == 3


def test_hooks_around_saving_and_loading() -> None:
    net = network()
    seen: list[str] = []
    net.register_state_dict_pre_hook(lambda module, prefix, keep_vars: seen.append("saving"))
    net.register_state_dict_post_hook(lambda module, state, prefix, metadata: state.update(bias=state.pop("0.bias")))
    net.register_load_state_dict_pre_hook(
        lambda module, state, prefix, metadata, strict, missing, unexpected, errors: state.update(
            {"0.bias": state.pop("bias") * 0 + 1}
        )
    )
    saved = net.state_dict()
    assert "0.bias" not in saved
    net.load_state_dict(saved)
    assert net[0].bias.tolist() == [1, 1, 1]
    assert seen == ["saving"]


def test_a_post_hook_may_forgive() -> None:
    net = network()
    net.register_load_state_dict_post_hook(lambda module, keys: keys.missing_keys.clear())
    saved = {name: tensor * 0 for name, tensor in net.state_dict().items() if name != "0.bias"}
    net.load_state_dict(saved)
    assert net[0].weight.abs().sum().item() == 0


def test_a_subclass_may_adapt_old_names() -> None:
    class Renamed(nn.Linear):
        def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
            if prefix + "w" in state_dict:
                state_dict[prefix + "weight"] = state_dict.pop(prefix + "w")
            super()._load_from_state_dict(state_dict, prefix, *rest)

    net = nn.Sequential(Renamed(1, 1))
    net.load_state_dict({"0.w": torch.tensor([[4.0]]), "0.bias": torch.tensor([5.0])})
    assert net(torch.ones(1, 1)).item() == 9


def test_options_by_position() -> None:
    destination: dict[str, Any] = {}
    with pytest.warns(FutureWarning, match="Positional args are being deprecated"):
        assert nn.Linear(1, 1).state_dict(destination, "a.", True) is destination
    assert list(destination) == ["a.weight", "a.bias"]
    assert destination["a.weight"].requires_grad


def test_a_private_hook_may_replace_the_dictionary() -> None:
    layer = nn.Linear(1, 1)
    layer._register_state_dict_hook(lambda module, state, prefix, metadata: {"only": 1})
    assert layer.state_dict() == {"only": 1}


def test_assigning_keeps_parameters() -> None:
    layer = nn.Linear(1, 1)
    weight = nn.Parameter(torch.ones(1, 1))
    layer.weight.requires_grad_(False)
    layer.load_state_dict({"weight": weight}, strict=False, assign=True)
    assert layer.weight is weight
    assert not weight.requires_grad
