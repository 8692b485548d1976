"""Modules: registration, looking up, conversion, printing."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from typing import Any

import pytest

from backend import torch

nn = torch.nn


class Net(nn.Module):
    """Two layers, a buffer, a scale."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(2, 3)
        self.second = nn.Linear(3, 1)
        self.scale = nn.Parameter(torch.tensor(2.0))
        self.register_buffer("count", torch.tensor(0))

    def forward(self, x: Any) -> Any:
        return self.second(torch.relu(self.first(x))) * self.scale


NAMES = ["scale", "first.weight", "first.bias", "second.weight", "second.bias"]


def test_members_are_found_by_name_in_order_of_registration() -> None:
    net = Net()
    assert [name for name, _ in net.named_parameters()] == NAMES
    assert [name for name, _ in net.named_parameters(recurse=False)] == ["scale"]
    assert [name for name, _ in net.named_parameters(prefix="net")] == [f"net.{name}" for name in NAMES]
    assert [name for name, _ in net.named_modules()] == ["", "first", "second"]
    assert [name for name, _ in net.named_children()] == ["first", "second"]
    assert [name for name, _ in net.named_buffers()] == ["count"]
    assert list(net.state_dict()) == ["scale", "count", *NAMES[1:]]


def test_a_shared_parameter_is_given_once() -> None:
    net = Net()
    net.first.weight = net.second.weight = nn.Parameter(torch.ones(1))
    assert [name for name, _ in net.named_parameters()] == ["scale", "first.weight", "first.bias", "second.bias"]
    assert len(list(net.named_parameters(remove_duplicate=False))) == 5
    assert list(net.state_dict())[2:] == NAMES[1:]


def test_a_shared_module_is_given_once() -> None:
    layer = nn.Linear(1, 1)
    net = nn.Sequential(layer, layer)
    assert len(list(net.modules())) == 2
    assert [name for name, _ in net.named_modules(remove_duplicate=False)] == ["", "0", "1"]


def test_replacing_a_parameter_keeps_its_place() -> None:
    net = Net()
    net.first = nn.Linear(2, 3, bias=False)
    assert [name for name, _ in net.named_parameters()] == ["scale", "first.weight", "second.weight", "second.bias"]
    net.scale = None
    assert net.scale is None
    assert "scale" not in dict(net.named_parameters())
    net.scale = nn.Parameter(torch.ones(()))
    assert next(net.named_parameters())[0] == "scale"


def test_deleting_unregisters() -> None:
    net = Net()
    del net.scale, net.second, net.count
    assert [name for name, _ in net.named_parameters()] == ["first.weight", "first.bias"]
    assert not list(net.buffers())
    with pytest.raises(AttributeError, match="'Net' object has no attribute 'scale'"):
        _ = net.scale
    with pytest.raises(AttributeError, match="scale"):
        del net.scale


def test_the_registries_can_be_written_directly() -> None:
    net = Net()
    replacement = nn.Linear(2, 3)
    net._modules["first"] = replacement
    assert net.first is replacement
    weight = net.first._parameters.pop("weight")
    assert not hasattr(net.first, "weight")
    net.first._parameters["weight"] = weight
    assert net.first.weight is weight
    assert "count" in net._buffers
    assert "first" not in net._buffers
    assert len(net._parameters) == 1


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("scale", 3, r"cannot assign 'int' as parameter 'scale' \(torch.nn.Parameter or None expected\)"),
        ("scale", torch.ones(2), r"cannot assign 'torch.FloatTensor' as parameter 'scale'"),
        ("first", 3, r"cannot assign 'int' as child module 'first' \(torch.nn.Module or None expected\)"),
        ("count", 3, r"cannot assign 'int' as buffer 'count' \(torch.nn.Buffer, torch.Tensor or None expected\)"),
    ],
)
def test_a_registered_name_refuses_another_kind_of_value(name: str, value: Any, message: str) -> None:
    net = Net()
    with pytest.raises(TypeError, match=message):
        setattr(net, name, value)
    assert list(net.state_dict()) == ["scale", "count", *NAMES[1:]]


@pytest.mark.parametrize(
    ("register", "error", "message"),
    [
        (lambda m: m.register_parameter("a.b", None), KeyError, r"parameter name can\\'t contain \"\.\""),
        (lambda m: m.register_parameter("", None), KeyError, "parameter name can.'t be empty string"),
        (lambda m: m.register_parameter("training", None), KeyError, "attribute 'training' already exists"),
        (lambda m: m.register_parameter("p", 3), TypeError, "cannot assign 'int' object to parameter 'p'"),
        (lambda m: m.register_buffer(3, None), TypeError, "buffer name should be a string. Got int"),
        (lambda m: m.register_buffer("b", 3), TypeError, "cannot assign 'int' object to buffer 'b'"),
        (lambda m: m.register_buffer("scale", None), KeyError, "attribute 'scale' already exists"),
        (lambda m: m.add_module("m", 3), TypeError, "int is not a Module subclass"),
        (lambda m: m.add_module("a.b", nn.ReLU()), KeyError, "module name can.'t contain .*a.b"),
        (lambda m: m.register_parameter("p", torch.ones(1)), TypeError, "cannot assign 'torch.FloatTensor' object"),
    ],
)
def test_registration_checks_names_and_values(register: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        register(Net())


def test_init_must_be_called_first() -> None:
    class Early(nn.Module):
        def __init__(self, value: Any) -> None:
            self.value = value

    for value, kind in (
        (nn.ReLU(), "module"),
        (nn.Parameter(torch.ones(1)), "parameters"),
        (nn.Buffer(torch.ones(1)), "buffer"),
    ):
        with pytest.raises(AttributeError, match=rf"cannot assign {kind} before Module.__init__\(\) call"):
            Early(value)
    assert Early(3).value == 3


def test_forward_must_be_defined() -> None:
    with pytest.raises(NotImplementedError, match=r'Module \[Module\] is missing the required "forward" function'):
        nn.Module()(1)


def test_get_submodule_parameter_and_buffer() -> None:
    net = nn.Sequential(Net())
    assert net.get_submodule("0.first") is net[0].first
    assert net.get_submodule("") is net
    assert net.get_parameter("0.first.bias") is net[0].first.bias
    assert net.get_buffer("0.count") is net[0].count
    with pytest.raises(AttributeError, match="Net has no attribute `third`"):
        net.get_submodule("0.third")
    with pytest.raises(AttributeError, match=r"`scale` is not an nn.Module"):
        net.get_submodule("0.scale")
    with pytest.raises(AttributeError, match=r"`count` is not an nn.Parameter"):
        net.get_parameter("0.count")
    with pytest.raises(AttributeError, match="`scale` is not a buffer"):
        net.get_buffer("0.scale")


def test_train_eval_and_requires_grad_reach_everything() -> None:
    net = Net()
    assert not net.eval().second.training
    assert net.train().second.training
    with pytest.raises(ValueError, match="training mode is expected to be boolean"):
        net.train("yes")
    net.requires_grad_(False)
    assert not any(p.requires_grad for p in net.parameters())


def test_zero_grad() -> None:
    net = Net()
    net(torch.ones(1, 2)).sum().backward()
    grad = net.scale.grad
    net.zero_grad(set_to_none=False)
    assert net.scale.grad is grad
    assert grad.item() == 0
    net.zero_grad()
    assert all(p.grad is None for p in net.parameters())


def test_apply_visits_those_below_first() -> None:
    seen: list[str] = []
    net = Net()
    assert net.apply(lambda m: seen.append(type(m).__name__)) is net
    assert seen == ["Linear", "Linear", "Net"]


def test_conversion_keeps_parameters_and_converts_gradients() -> None:
    net = Net()
    net(torch.ones(1, 2)).sum().backward()
    scale = net.scale
    assert net.double() is net
    assert net.scale is scale
    assert scale.dtype == scale.grad.dtype == torch.float64
    assert net.count.dtype == torch.int64
    assert net(torch.ones(1, 2, dtype=torch.float64)).dtype == torch.float64
    net.to(torch.float16)
    assert net.first.weight.dtype == torch.float16
    assert net.to("cpu", torch.float32).scale.dtype == torch.float32
    assert net.to(torch.ones(1, dtype=torch.float64)).scale.dtype == torch.float64
    assert net.half().float().cpu().scale.dtype == torch.float32
    with pytest.raises(TypeError, match=r"nn.Module.to only accepts floating point or complex dtypes"):
        net.to(torch.int64)


def test_training_goes_on_after_conversion() -> None:
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
    net.double()
    before = net.scale.item()
    net(torch.ones(1, 2, dtype=torch.float64)).sum().backward()
    grad = net.scale.grad.item()
    optimizer.step()
    assert net.scale.item() == pytest.approx(before - 0.5 * grad)


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_compute_the_same_with_memory_of_their_own(duplicate: Any) -> None:
    net = Net()
    net.eval()
    x = torch.ones(4, 2)
    copied = duplicate(net)
    assert copied(x).tolist() == net(x).tolist()
    assert not copied.training
    with torch.no_grad():
        copied.scale.zero_()
    assert net.scale.item() == 2
    assert [name for name, _ in copied.named_parameters()] == NAMES


def test_a_module_is_freed_when_dropped() -> None:
    gc.collect()
    gc.disable()
    try:
        net = Net()
        net(torch.ones(1, 2)).sum().backward()
        gone = weakref.ref(net)
        del net
        assert gone() is None
    finally:
        gc.enable()


def test_repr() -> None:
    assert repr(nn.Sequential(Net(), nn.ReLU())) == (
        "Sequential(\n"
        "  (0): Net(\n"
        "    (first): Linear(in_features=2, out_features=3, bias=True)\n"
        "    (second): Linear(in_features=3, out_features=1, bias=True)\n"
        "  )\n"
        "  (1): ReLU()\n"
        ")"
    )


def test_extra_repr_of_several_lines() -> None:
    class Two(nn.Module):
        def extra_repr(self) -> str:
            return "a=1\nb=2"

    assert repr(Two()) == "Two(\n  a=1\n  b=2\n)"


def test_dir_lists_members_but_not_numbers() -> None:
    net = nn.Sequential(nn.ReLU())
    assert "0" not in dir(net)
    assert "forward" in dir(net)
    assert "scale" in dir(Net())


def test_forward_may_be_replaced_on_an_instance() -> None:
    layer = nn.Identity()
    layer.forward = lambda x: x + 1
    assert layer(torch.zeros(1)).item() == 1


def test_a_wrapper_may_delegate_attributes() -> None:
    class Wrapper(nn.Module):
        def __init__(self, module: Any) -> None:
            super().__init__()
            self.module = module

        def __getattr__(self, name: str) -> Any:
            try:
                return super().__getattr__(name)
            except AttributeError:
                return getattr(self.module, name)

    wrapper = Wrapper(Net())
    assert wrapper.scale is wrapper.module.scale
    with pytest.raises(AttributeError, match="nothing"):
        _ = wrapper.nothing


def test_set_submodule() -> None:
    model = nn.Sequential(nn.Sequential(nn.ReLU()), nn.Tanh())
    model.set_submodule("0.0", nn.Sigmoid())
    model.set_submodule("0.new", nn.Tanh())
    assert [type(module).__name__ for module in model[0]] == ["Sigmoid", "Tanh"]
    for target, module, error, message in (
        ("", nn.ReLU(), ValueError, "without a target name"),
        ("0.0", 3, ValueError, "is not an nn.Module"),
        ("0.nope", nn.ReLU(), AttributeError, "has no attribute `nope`"),
        ("a.b", nn.ReLU(), AttributeError, "has no attribute `a`"),
    ):
        with pytest.raises(error, match=message):
            model.set_submodule(target, module, strict=True)


def test_wrappers_hand_on_what_they_do_not_have() -> None:
    class Wrapper(nn.Module):
        def __init__(self, module: nn.Module) -> None:
            super().__init__()
            self.module = module

        def __getattr__(self, name: str) -> Any:
            try:
                return super().__getattr__(name)
            except AttributeError:
                return getattr(self.module, name)

    wrapped = Wrapper(nn.Linear(3, 2))
    assert (wrapped.in_features, wrapped.module.out_features, hasattr(wrapped, "other")) == (3, 2, False)
    with pytest.raises(AttributeError, match=r"^'Linear' object has no attribute 'other'$"):
        _ = wrapped.other


@pytest.mark.skipif(hasattr(torch, "_C"), reason="PyTorch shares memory between processes")
def test_memory_is_not_shared() -> None:
    with pytest.warns(UserWarning, match="memory is not shared between processes"):
        nn.Linear(2, 2).share_memory()
    with pytest.warns(UserWarning, match="memory is not shared between processes"):
        assert not torch.zeros(2).share_memory_().is_shared()
