"""What stands under a name that libraries' code, and not people's, reads: a program is made for what it was."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Sequence
from typing import Any

import pytest

import minitorch as torch
import minitorch.nn.functional as F
from minitorch import nn, static
from minitorch.utils.checkpoint import checkpoint

X = torch.ones(2)


def agrees(function: Callable[..., Any], changes: Sequence[Callable[[], Any]], variants: int = 0) -> None:
    """Whether a compiled function gives, after each change, and twice, what the function gives."""
    program = static.compile(function, quiet=True)
    for change in (lambda: None, *changes):
        change()
        for _ in range(3):
            assert str(program(X)) == str(function(X))
    assert len(program.variants) == (variants or 1 + len(changes)), program.notes


class Doubles(nn.Module):
    def forward(self, x: Any) -> Any:
        return x * 2

    def fourfold(self, x: Any) -> Any:
        return x * 4


def patched() -> Any:
    module: Any = Doubles()
    module.forward = lambda x: x * 3
    return module


CALLS: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "named": lambda m: lambda x: m(x),
    "itself": lambda m: m,
    "a child": lambda m: nn.Sequential(m, nn.Identity()),
    "functional_call": lambda m: lambda x: torch.func.functional_call(m, {}, (x,)),
    "checkpoint": lambda m: lambda x: checkpoint(m, x, use_reentrant=False),
}
FORWARDS: dict[str, Callable[[Any], Any]] = {
    "a function": lambda m: lambda x: x * 5,
    "a method": lambda m: m.fourfold,
    "a bound one": lambda m: types.MethodType(lambda self, x: x * 6, m),
    "a partial": lambda m: functools.partial(torch.mul, 7),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_forward_of_one_module(call: str) -> None:
    module = patched()
    agrees(
        CALLS[call](module),
        [lambda: setattr(module, "forward", lambda x: x * 5), lambda: delattr(module, "forward")],
    )


@pytest.mark.parametrize("given", FORWARDS)
def test_whatever_it_is(given: str) -> None:
    module = patched()
    agrees(lambda x: module(x), [lambda: vars(module).update(forward=FORWARDS[given](module))])


def test_set_and_taken_away_again() -> None:
    module: Any = Doubles()
    agrees(
        lambda x: module(x),
        [lambda: setattr(module, "forward", lambda x: x * 5), lambda: delattr(module, "forward")],
        variants=2,
    )


def test_of_a_class_derived_from_a_library_s() -> None:
    class Own(nn.ReLU):
        pass

    module: Any = Own()
    agrees(lambda x: module(x), [lambda: setattr(module, "forward", lambda x: x * 5)])


def test_of_a_parametrization() -> None:
    layer, module = nn.Linear(2, 2, bias=False), patched()
    nn.utils.parametrize.register_parametrization(layer, "weight", module)
    with torch.no_grad():
        agrees(lambda x: layer(x), [lambda: setattr(module, "forward", lambda x: x * 5)])


def test_the_phase_that_is_trained() -> None:
    class Phases(nn.Module):
        def __init__(self, first: bool) -> None:
            super().__init__()
            self.one, self.other = nn.Linear(2, 1), nn.Linear(2, 1)
            self.forward = self.before if first else self.after

        def before(self, x: Any) -> Any:
            return self.one(x)

        def after(self, x: Any) -> Any:
            return self.other(x)

    def trained(compiled: bool) -> list[Any]:
        torch.manual_seed(0)
        module = Phases(True)
        optimizer = torch.optim.SGD(module.parameters(), lr=0.1)

        def step(x: Any) -> None:
            optimizer.zero_grad()
            module(x).sum().backward()
            optimizer.step()

        run: Any = static.compile(step, quiet=True) if compiled else step
        for number in range(8):
            if number == 4:
                module.forward = module.after
            run(X)
        assert not compiled or run.variants
        return [parameter.tolist() for parameter in module.parameters()]

    assert trained(True) == trained(False)


class Two(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(2, 2), nn.Linear(2, 2)


@pytest.mark.parametrize("name", ["parameters", "named_parameters"])
def test_a_method_that_another_looks_for(name: str) -> None:
    module: Any = Two()
    found = {"parameters": lambda: [module.a.weight], "named_parameters": lambda *a, **k: [("a", module.a.weight)]}
    agrees(
        lambda x: sum([p.sum() for p in module.parameters()]).detach(),
        [lambda: setattr(module, name, found[name]), lambda: delattr(module, name)],
        variants=2,
    )


@pytest.mark.parametrize("separate", [False, True])
@pytest.mark.parametrize("way", ["autograd.grad", "func.grad"])
def test_the_backward_of_a_function(way: str, separate: bool) -> None:
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.scale = 3

    class Own(torch.autograd.Function):
        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * getattr(ctx, "scale", 3)

    own: Any = Own
    if separate or way == "func.grad":
        own.forward, own.setup_context = staticmethod(lambda x: x * 2), staticmethod(setup_context)
    else:
        own.forward = staticmethod(lambda ctx, x: x * 2)
    w = torch.ones(2, requires_grad=True)
    by_grad: Any = lambda x: torch.autograd.grad(own.apply(w * x).sum(), w)[0]
    by_func: Any = torch.func.grad(lambda v: own.apply(v).sum())
    changes: list[Any] = [lambda: setattr(own, "backward", staticmethod(lambda ctx, g: g * 7))]
    if separate:

        def other(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.scale = 9

        changes.insert(0, lambda: setattr(own, "setup_context", staticmethod(other)))
    agrees(by_grad if way == "autograd.grad" else lambda x: by_func(x), changes)


@pytest.mark.parametrize(
    ("function", "holder", "name"),
    [
        (lambda x: nn.ReLU()(x), F, "relu"),
        (lambda x: nn.MSELoss()(x, x * 2), F, "mse_loss"),
        (lambda x: nn.ReLU()(x), nn.ReLU, "forward"),
        (lambda x: nn.Sequential(nn.Tanh())(x), nn.Sequential, "forward"),
        (lambda x: nn.BatchNorm1d(2).eval()(x[None]).detach(), nn.BatchNorm1d, "forward"),
    ],
)
def test_in_modules_that_the_call_makes(function: Any, holder: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    agrees(function, [lambda: monkeypatch.setattr(holder, name, lambda *args, **options: X * 9)])


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        (torch.optim.SGD, "step", lambda self, closure=None: None),
        (torch.optim.Optimizer, "zero_grad", lambda self, set_to_none=True: None),
        (torch.optim.SGD, "zero_grad", lambda self, set_to_none=True: None),
    ],
)
def test_methods_of_optimizers(kind: Any, name: str, value: Any) -> None:
    def trained(compiled: bool) -> Any:
        w = torch.ones(2, requires_grad=True)
        optimizer = torch.optim.SGD([w], lr=0.1)

        def step(x: Any) -> None:
            optimizer.zero_grad()
            (w * x).sum().backward()
            optimizer.step()

        run: Any = static.compile(step, quiet=True) if compiled else step
        with pytest.MonkeyPatch.context() as patch:
            for number in range(8):
                if number == 4:
                    patch.setattr(kind, name, value)
                run(X)
        assert not compiled or len(run.variants) == 2
        return w.tolist()

    assert trained(True) == trained(False)


@pytest.mark.parametrize("kind", [nn.Module, Two])
@pytest.mark.parametrize("name", ["parameters", "named_parameters"])
def test_methods_of_modules(kind: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = Two()
    found = {"parameters": [module.a.weight], "named_parameters": [("a", module.a.weight)]}
    agrees(
        lambda x: sum([p.sum() for p in module.parameters()]).detach(),
        [lambda: monkeypatch.setattr(kind, name, lambda self, *args, **options: found[name], raising=False)],
    )


def test_sizes_stay_sizes() -> None:
    program = static.compile(lambda x: {"shape": x.shape, "both": [x.size() + x.shape, (x * 2, x.shape[:1])]})
    for _ in range(3):
        found = program(X)
        for size in (found["shape"], found["both"][0], found["both"][1][1]):
            assert type(size) is torch.Size
        assert (found["shape"].numel(), found["both"][0].numel()) == (2, 4)
    assert len(program.variants) == 1


class Silent:
    def __getattribute__(self, name: str) -> Any:
        raise KeyError(name)


class Hidden:
    @property
    def __class__(self) -> Any:
        raise RuntimeError("no class")


@pytest.mark.parametrize("kind", [Silent, Hidden])
@pytest.mark.parametrize("way", ["named", "in a list", "an argument"])
def test_what_does_not_say_what_it_is(kind: Any, way: str) -> None:
    value = kind()
    values = [value]
    functions: dict[str, Any] = {
        "named": lambda x: x * 2 if value is not None else x,
        "in a list": lambda x: x * 2 if values[0] is not None else x,
        "an argument": lambda x, given: x * 2 if given is not None else x,
    }
    program = static.compile(functions[way], quiet=True)
    for _ in range(3):
        assert program(X, *values[: way == "an argument"]).tolist() == [2, 2]
