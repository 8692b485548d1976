"""Programs, as in ``changing``, whose objects come to have what they did not have, or have what nothing reads."""

from __future__ import annotations

import dataclasses
import operator
import types
import weakref
from typing import Any

import minitorch as torch
from changing import pair
from minitorch import nn
from reaching import PROGRAMS, program

__all__ = ["PROGRAMS"]


# -- what is not there at the first call -------------------------------------------------------------------------------
class Adapted(nn.Module):
    """A module that may come to have more than it has."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x: Any) -> Any:
        for child in self.children():
            x = child(x)
        if hasattr(self, "adapter"):
            x = self.adapter(x) * 2
        try:
            return x * self.scale
        except AttributeError:
            return x


def more_of_a_module(change: Any) -> Any:
    """A program whose module has something more from the second call on."""

    def run(c: Any) -> Any:
        torch.manual_seed(0)
        module = Adapted()
        f = c(module)
        with torch.no_grad():
            out = [f(pair(1, 2))]
            change(module)
            return [*out, f(pair(1, 2)), f(pair(2, 1))]

    return run


MORE = {
    "a_child": lambda module: setattr(module, "other", nn.Linear(2, 2)),
    "a_child_that_is_asked_for": lambda module: setattr(module, "adapter", nn.Identity()),
    "a_child_under_its_name": lambda module: module.add_module("adapter", nn.Tanh()),
    "a_number_that_was_missing": lambda module: setattr(module, "scale", 3.0),
    "a_hook": lambda module: module.register_forward_hook(lambda module, args, out: out * 2),
    "a_hook_before": lambda module: module.register_forward_pre_hook(lambda module, args: (args[0] * 2,)),
    "a_hook_of_a_child": lambda module: module.layer.register_forward_hook(lambda module, args, out: out * 2),
    "one_child_less": lambda module: delattr(module, "layer"),
}
PROGRAMS |= {f"{name}_later": (more_of_a_module(change), "") for name, change in MORE.items()}


@program()
def attributes_that_are_listed(c: Any) -> Any:
    options = types.SimpleNamespace(a=1.0)
    f = c(lambda x: x * sum(vars(options).values()))
    out = [f(pair(1, 1))]
    options.b = 2.0
    return [*out, f(pair(1, 1))]


class Slotted:
    """An object whose slot may be empty."""

    __slots__ = ("scale",)


def an_attribute_later(make: Any) -> Any:
    """A program that asks an object for what it does not have at first."""

    def run(c: Any) -> Any:
        options = make()
        f = c(lambda x: x * getattr(options, "scale", 1))
        out = [f(pair(1, 1))]
        options.scale = 2.0
        return [*out, f(pair(1, 1))]

    return run


PROGRAMS |= {
    f"an_attribute_of_{make.__name__}_later": (an_attribute_later(make), "")
    for make in (types.SimpleNamespace, Slotted)
}


# -- classes and keys --------------------------------------------------------------------------------------------------
@program()
def a_method_that_hides_an_inherited_one(c: Any) -> Any:
    class Base(nn.Module):
        def forward(self, x: Any) -> Any:
            return x * 2

    class Derived(Base):
        pass

    f = c(Derived())
    out = [f(pair(1, 2))]
    Derived.forward = lambda self, x: x * 9
    return [*out, f(pair(1, 2))]


@program()
def a_dict_by_modules(c: Any) -> Any:
    first, second = nn.Tanh(), nn.ReLU()
    enabled = {first: 1.0, second: 2.0}
    f = c(lambda x: x * enabled[first])
    out = [f(pair(1, 2))]
    enabled.clear()
    enabled.update({second: 1.0, first: 2.0})
    return [*out, f(pair(1, 2))]


def derived_from(kind: Any, name: str, value: Any, *args: Any) -> Any:
    """A program whose module's class is derived from a library's, with an option that changes."""

    def run(c: Any) -> Any:
        torch.manual_seed(0)
        module = type(f"My{kind.__name__}", (kind,), {"__module__": __name__})(*args)
        f = c(module)
        with torch.no_grad():
            out = [f(pair(1, -2).reshape(1, 2))]
            setattr(module, name, value)
            return [*out, f(pair(1, -2).reshape(1, 2))]

    return run


DERIVED = [
    (nn.Dropout, "p", 0.0, 0.5),
    (nn.LayerNorm, "eps", 3.0, 2),
    (nn.LeakyReLU, "negative_slope", 0.5),
    (nn.Softmax, "dim", 0, 1),
    (nn.GELU, "approximate", "tanh"),
    (nn.MaxPool1d, "stride", 1, 2),
]
PROGRAMS |= {f"an_option_of_a_class_derived_from_{case[0].__name__}": (derived_from(*case), "") for case in DERIVED}


@program()
def members_that_nothing_reads(c: Any) -> Any:
    class Trainer:
        def __init__(self) -> None:
            self.weight, self.count, self.step, self.options = nn.Parameter(pair(1, 2)), 0, 0, types.SimpleNamespace()
            self.optimizer = torch.optim.SGD([self.weight], lr=0.1)

        def train(self, x: Any) -> Any:
            self.optimizer.zero_grad()
            loss = (self.weight * x * getattr(self.options, "scale", 1)).square().sum()
            loss.backward()
            self.optimizer.step()
            return loss.detach()

    trainer = Trainer()
    f, out = c(trainer.train), []
    for _ in range(5):
        out.append(f(pair(1, 2)))
        trainer.count += 1
        trainer.step += 1
    assert len(getattr(f, "variants", [1])) == 1
    return out


@program("lead back to what requires grad")
def blocks_of_inference_mode(c: Any) -> Any:
    model = nn.Linear(2, 2, bias=False)
    nn.init.ones_(model.weight)
    f = c(model)
    with torch.inference_mode():
        found = [f(pair(1, 2)) for _ in range(3)]
    assert [t.is_inference() for t in found] == [True] * 3
    assert getattr(f, "variants", [1])
    return [*found, f(pair(1, 2))]


# -- functions that no name leads to -----------------------------------------------------------------------------------
FACTOR = [2.0]


class Scaling:
    """An object that is made in a call."""

    def __init__(self) -> None:
        self.factor = FACTOR[0]

    def __call__(self, x: Any) -> Any:
        return x * self.factor


class Modes:
    """An object whose method is found by a computed name."""

    mode = "scaled"

    def way_scaled(self, x: Any) -> Any:
        return x * FACTOR[0]

    def __call__(self, x: Any) -> Any:
        return getattr(self, f"way_{self.mode}")(x)


def scaled_by(make: Any) -> Any:
    """A program of a function that reads what no name in its code leads to."""

    def run(c: Any) -> Any:
        f, out = c(make()), []
        for factor in (2.0, 3.0, 3.0, 4.0, 2.0):
            FACTOR[0] = factor
            out.append(f(pair(1, 2)))
        return out

    return run


PROGRAMS |= {
    "an_object_that_is_made": (scaled_by(lambda: lambda x: Scaling()(x)), ""),
    "a_method_by_a_computed_name": (scaled_by(Modes), ""),
    "a_function_by_a_computed_name": (scaled_by(lambda: lambda x: getattr(Modes(), "way_" + Modes.mode)(x)), ""),
}


# -- options that are held in other ways -------------------------------------------------------------------------------
@dataclasses.dataclass
class Options:
    """A number that changes."""

    scale: float = 2.0


def matched(options: Options) -> Any:
    def f(x: Any) -> Any:
        match options:
            case Options(scale=scale):
                return x * scale

    return f


def matched_by_position(options: Options) -> Any:
    def f(x: Any) -> Any:
        match options:
            case Options(scale):
                return x * scale

    return f


def by_weak_reference(options: Options) -> Any:
    reference = weakref.ref(options)
    return lambda x: x * reference().scale


def by_getter(options: Options) -> Any:
    get = operator.attrgetter("scale")
    return lambda x: x * get(options)


def by_proxy(options: Options) -> Any:
    proxy = types.MappingProxyType(vars(options))
    return lambda x: x * proxy["scale"]


def by_view(options: Options) -> Any:
    values = vars(options).values()
    return lambda x: x * sum(values)


def with_options(make: Any) -> Any:
    """A program of a function that reads an option that changes."""

    def run(c: Any) -> Any:
        options = Options()
        f, out = c(make(options)), []
        for scale in (2.0, 3.0, 3.0, 2.0):
            options.scale = scale
            out.append(f(pair(1, 2)))
        return out

    return run


HOLDERS = (matched, matched_by_position, by_weak_reference, by_getter, by_proxy, by_view)
PROGRAMS |= {f"an_option_{make.__name__}": (with_options(make), "") for make in HOLDERS}


def annealed(calls: int) -> Any:
    """A program with an option that has many values, each for so many calls."""

    def run(c: Any) -> Any:
        options, out = Options(), []
        f = c(lambda x: x * options.scale)
        for scale in range(40):
            options.scale = float(scale)
            out += [f(pair(1, scale)) for _ in range(calls)]
        return out

    return run


PROGRAMS |= {
    "an_option_that_changes_now_and_then": (annealed(8), ""),
    "an_option_that_changes_at_each_call": (annealed(1), "options.scale is another one at almost each call"),
}


@program()
def sequences_of_several_lengths(c: Any) -> Any:
    torch.manual_seed(0)
    model = nn.GRU(2, 3, batch_first=True)

    def f(x: Any, lengths: Any) -> Any:
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        return nn.utils.rnn.pad_packed_sequence(model(packed)[0], batch_first=True, total_length=4)[0]

    f = c(f)
    with torch.no_grad():
        return [f(torch.ones(3, 4, 2) * i, torch.tensor(n)) for i, n in enumerate(([4, 2, 3], [4, 2, 3], [1, 4, 4]))]
