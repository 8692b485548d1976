"""Programs, as in ``changing``, of what is found in other ways than by a name: decorators, enums, contexts, registries."""

from __future__ import annotations

import contextlib
import enum
import functools
from collections.abc import Iterator
from typing import Any

import minitorch as torch
from changing import pair
from minitorch import nn
from reaching import program
from reaching_members import PROGRAMS

__all__ = ["PROGRAMS"]

FACTORS = {"a": 2.0}


class Scaled:
    """A decorator that is an object."""

    def __init__(self, function: Any) -> None:
        functools.update_wrapper(self, function)
        self.function, self.factor = function, 2.0

    def __call__(self, x: Any) -> Any:
        return self.function(x) * self.factor


@program()
def a_decorator_that_is_an_object(c: Any) -> Any:
    inner = Scaled(lambda x: x + 1)
    f = c(lambda x: inner(x))
    out = [f(pair(1, 2))]
    inner.factor = 3.0
    return [*out, f(pair(1, 2))]


class Act(enum.Enum):
    """Functions as members."""

    DOUBLED, TRIPLED = 2, 3

    def __call__(self, x: Any) -> Any:
        return x * self.value


class Found(nn.Module):
    """A module whose methods are found by computed names."""

    def __init__(self) -> None:
        super().__init__()
        self.mode, self.act = "a", Act.DOUBLED
        self.register_buffer("mask", None)

    def way_a(self, x: Any, factors: Any = FACTORS) -> Any:
        return x * factors["a"]

    @contextlib.contextmanager
    def context_a(self) -> Iterator[float]:
        yield FACTORS["a"]

    def forward(self, x: Any) -> Any:
        with getattr(self, f"context_{self.mode}")() as factor:
            out = self.act(getattr(self, f"way_{self.mode}")(x)) + factor
        for _, buffer in self.named_buffers():
            out = out * buffer
        return out


@program()
def what_a_module_finds(c: Any) -> Any:
    module = Found()
    f = c(module)
    out = [f(pair(1, 2)) for _ in range(3)]
    FACTORS["a"] = 5.0
    out.append(f(pair(1, 2)))
    module.act = Act.TRIPLED
    out.append(f(pair(1, 2)))
    module.mask = pair(3, 4)
    out.append(f(pair(1, 2)))
    FACTORS["a"] = 2.0
    return out


@program()
def a_frozen_set_of_modules(c: Any) -> Any:
    dropout = nn.Dropout(1.0)
    modules = frozenset([dropout])
    f = c(lambda x: sum([module(x) for module in modules]))
    out = [f(pair(1, 2))]
    dropout.eval()
    return [*out, f(pair(1, 2))]


@program()
def attributes_that_are_set_on_the_program(c: Any) -> Any:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.factor, self.head = 2.0, nn.Identity()

        def forward(self, x: Any) -> Any:
            return self.head(x) * self.factor

    f = c(Model())
    out = [f(pair(1, 2))]
    f.factor = 4.0
    out.append(f(pair(1, 2)))
    f.head = nn.Tanh()
    out.append(f(pair(1, 2)))
    return out


@program()
def a_weight_of_a_class_derived_from_a_loss(c: Any) -> Any:
    class Loss(nn.CrossEntropyLoss):
        pass

    loss = Loss()
    f = c(loss)
    given = torch.tensor([[1.0, 2.0], [3.0, 1.0]]), torch.tensor([0, 1])
    out = [f(*given)]
    loss.weight = pair(3, 1)
    return [*out, f(*given)]


@program()
def a_class_derived_from_a_transform(c: Any) -> Any:
    class Affine(torch.distributions.transforms.AffineTransform):
        pass

    transform = Affine(1.0, 2.0)
    f = c(lambda x: transform(x))
    out = [f(pair(1, 2))]
    transform.loc = 5.0
    return [*out, f(pair(1, 2))]


@program()
def an_average_of_weights(c: Any) -> Any:
    torch.manual_seed(0)
    model = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    average = {name: value.clone() for name, value in model.state_dict().items()}

    def f(x: Any) -> Any:
        optimizer.zero_grad()
        loss = model(x).square().sum()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for name, value in model.state_dict().items():
                average[name].mul_(0.9).add_(value, alpha=0.1)
        return loss.detach()

    f = c(f)
    return [*[f(pair(1, 2)) for _ in range(4)], *average.values()]


@program()
def modes_in_turns(c: Any) -> Any:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 3), nn.Dropout(0.5))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def train(x: Any) -> Any:
        model.train()
        optimizer.zero_grad()
        loss = model(x).square().sum()
        loss.backward()
        optimizer.step()
        return loss.detach()

    def evaluate(x: Any) -> Any:
        model.eval()
        with torch.no_grad():
            return model(x)

    train, evaluate, out = c(train), c(evaluate), []
    for _ in range(6):
        out += [train(pair(1, 2)) for _ in range(6)] + [evaluate(pair(1, 2)) for _ in range(6)]
    return out
