"""Containers of modules and parameters."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import pytest

from backend import torch

nn = torch.nn


def kinds(modules: Any) -> list[str]:
    return [type(module).__name__ for module in modules]


def test_sequential_calls_one_after_the_other() -> None:
    net = nn.Sequential(nn.Flatten(), nn.ReLU())
    assert net(torch.tensor([[[-1.0, 2.0]]])).tolist() == [[0.0, 2.0]]
    assert nn.Sequential()(3) == 3


def test_sequential_with_names() -> None:
    net = nn.Sequential(OrderedDict([("a", nn.ReLU()), ("b", nn.Tanh())]))
    assert net.a is net[0] is net[-2]
    assert kinds(net[1:]) == ["Tanh"]
    assert list(net[1:].state_dict()) == []
    assert [name for name, _ in net[1:].named_children()] == ["b"]


def test_sequential_is_a_list() -> None:
    net = nn.Sequential(nn.ReLU(), nn.Tanh(), nn.Sigmoid())
    assert len(net) == 3
    net.append(nn.GELU()).insert(1, nn.ELU()).extend([nn.SiLU()])
    assert kinds(net) == ["ReLU", "ELU", "Tanh", "Sigmoid", "GELU", "SiLU"]
    assert [name for name, _ in net.named_children()] == list("012345")
    del net[1]
    del net[3:]
    assert kinds(net) == ["ReLU", "Tanh", "Sigmoid"]
    assert [name for name, _ in net.named_children()] == list("012")
    net[-1] = nn.ELU()
    assert kinds([net.pop(2), net]) == ["ELU", "Sequential"]
    assert kinds(net + nn.Sequential(nn.ELU())) == ["ReLU", "Tanh", "ELU"]
    assert kinds(net * 2) == kinds(2 * net) == ["ReLU", "Tanh"] * 2
    net *= 2
    net += nn.Sequential(nn.ELU())
    assert kinds(net) == ["ReLU", "Tanh"] * 2 + ["ELU"]


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda net: net[5], IndexError, "index 5 is out of range"),
        (lambda net: net + 3, ValueError, "add operator supports only objects of Sequential class"),
        (lambda net: net * 0, ValueError, "Non-positive multiplication factor 0"),
        (lambda net: net * 1.5, TypeError, "unsupported operand"),
        (lambda net: net.insert(9, nn.ReLU()), IndexError, "Index out of range: 9"),
        (lambda net: net.append(3), TypeError, "int is not a Module subclass"),
    ],
)
def test_sequential_errors(wrong: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        wrong(nn.Sequential(nn.ReLU()))


def test_module_list() -> None:
    layers = nn.ModuleList([nn.Linear(1, 1), nn.ReLU()])
    layers.append(nn.Tanh())
    layers.extend([nn.ELU()])
    layers += [nn.SiLU()]
    layers.insert(0, nn.GELU())
    assert kinds(layers) == ["GELU", "Linear", "ReLU", "Tanh", "ELU", "SiLU"]
    assert kinds(layers[1:3]) == ["Linear", "ReLU"]
    assert isinstance(layers[1:3], nn.ModuleList)
    del layers[0]
    assert kinds([layers.pop(-1)]) == ["SiLU"]
    assert kinds(layers + [nn.Mish()]) == ["Linear", "ReLU", "Tanh", "ELU", "Mish"]
    assert [name for name, _ in layers.named_parameters()] == ["0.weight", "0.bias"]
    with pytest.raises(TypeError, match=r"ModuleList.extend should be called with an iterable, but got int"):
        layers.extend(3)


def test_module_list_prints_runs_of_the_same_once() -> None:
    layers = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2), nn.Sequential(nn.ReLU())])
    assert repr(layers) == (
        "ModuleList(\n"
        "  (0-1): 2 x Linear(in_features=2, out_features=2, bias=True)\n"
        "  (2): Sequential(\n"
        "    (0): ReLU()\n"
        "  )\n"
        ")"
    )
    assert repr(nn.ModuleList()) == "ModuleList()"


def test_module_dict() -> None:
    layers = nn.ModuleDict({"a": nn.Linear(1, 1), "b": nn.ReLU()})
    layers["c"] = nn.Tanh()
    layers.update([("d", nn.ELU())])
    assert list(layers) == list(layers.keys()) == ["a", "b", "c", "d"]
    assert kinds(layers.values()) == ["Linear", "ReLU", "Tanh", "ELU"]
    assert "b" in layers
    assert kinds([layers.pop("b")]) == ["ReLU"]
    del layers["c"]
    assert [(name, type(module).__name__) for name, module in layers.items()] == [("a", "Linear"), ("d", "ELU")]
    assert [name for name, _ in layers.named_parameters()] == ["a.weight", "a.bias"]
    with pytest.raises(KeyError, match="attribute 'keys' already exists"):
        layers["keys"] = nn.ReLU()
    with pytest.raises(ValueError, match="sequence element #0 has length 1; 2 is required"):
        layers.update([("x",)])
    layers.clear()
    assert len(layers) == 0


def test_parameter_list() -> None:
    weights = nn.ParameterList([torch.ones(2, 3), 5])
    weights.append(nn.Parameter(torch.zeros(1)))
    weights += [torch.ones(1)]
    assert [name for name, _ in weights.named_parameters()] == ["0", "2", "3"]
    assert isinstance(weights[0], nn.Parameter)
    assert weights[1] == 5
    assert len(weights[2:]) == 2
    weights[-1] = torch.ones(4)
    assert weights[3].shape == (4,)
    assert repr(nn.ParameterList([torch.ones(2, 3), 3])) == (
        "ParameterList(\n    (0): Parameter containing: [torch.float32 of size 2x3]\n    (1): Object of type: int\n)"
    )
    with pytest.raises(RuntimeError, match="ParameterList should not be called"):
        weights(1)
    with pytest.raises(IndexError, match="index 9 is out of range"):
        weights[9]


def test_parameter_dict() -> None:
    weights = nn.ParameterDict({"b": torch.ones(2), "a": torch.zeros(1)})
    assert list(weights) == ["a", "b"]
    weights["c"] = 3
    assert weights.setdefault("d", torch.ones(1)) is weights["d"]
    assert weights.get("z", 7) == 7
    assert [name for name, _ in weights.named_parameters()] == ["a", "b", "d"]
    assert weights.popitem()[0] == "d"
    assert weights.pop("c") == 3
    assert list(weights | nn.ParameterDict({"e": torch.ones(1)})) == ["a", "b", "e"]
    assert list(reversed(weights)) == ["b", "a"]
    assert repr(nn.ParameterDict({"a": torch.ones(2), "b": 3})) == (
        "ParameterDict(\n    (a): Parameter containing: [torch.FloatTensor of size 2]\n    (b): Object of type: int\n)"
    )
    weights.clear()
    assert not list(weights.parameters())
    with pytest.raises(TypeError, match="not a string"):
        weights[3] = torch.ones(1)
