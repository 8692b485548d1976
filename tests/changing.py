"""Programs whose second call differs from the first by something that is no tensor, or no argument.

Each is called with ``static.compile`` and with a function that compiles nothing, and gives a list of results.
"""

from __future__ import annotations

import collections
import functools
import io
import itertools
import os
import random
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import minitorch as torch
from minitorch import nn
from minitorch.nn import functional as F

PROGRAMS: dict[str, tuple[Callable[[Any], Any], str]] = {}
"""By name: the program, and what is said where it runs as it is written; empty where it is compiled."""


def program(said: str = "") -> Callable[[Any], Any]:
    def decorator(function: Any) -> Any:
        PROGRAMS[function.__name__] = function, said
        return function

    return decorator


def pair(*values: float) -> Any:
    return torch.tensor([float(v) for v in values])


def said(call: Callable[[], Any]) -> Any:
    """What a call gives, or the error's text."""
    try:
        return call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"


class Box:
    """An object with attributes."""

    factor = 1.0

    def __init__(self) -> None:
        self.count, self.weight = 0, pair(1, 2)

    def step(self, x: Any) -> Any:
        self.count += 1
        return x * self.count

    def carry(self, x: Any) -> Any:
        self.weight = self.weight + x
        return self.weight * 1

    def scaled(self, x: Any) -> Any:
        return x * self.factor


# -- what a call changes -----------------------------------------------------------------------------------------------
@program("a call changes count, which is no write into a tensor")
def a_counter(c: Any) -> Any:
    count = 0

    def f(x: Any) -> Any:
        nonlocal count
        count += 1
        return x * count

    f = c(f)
    return [f(pair(1, 2)) for _ in range(5)]


@program("a call changes count")
def a_step_each_third_time(c: Any) -> Any:
    model, count = nn.Linear(2, 2), 0
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def f(x: Any) -> Any:
        nonlocal count
        loss = model(x).square().sum()
        loss.backward()
        count += 1
        if count % 3 == 0:
            optimizer.step()
            optimizer.zero_grad()
        return loss.detach()

    f = c(f)
    return [f(pair(i, 1)) for i in range(9)]


@program("a call changes seen")
def a_list_of_results(c: Any) -> Any:
    seen: list[Any] = []
    f = c(lambda x: seen.append(x * 2))
    for i in range(4):
        f(pair(i, 2))
    return list(seen)


@program("a call changes self.count")
def a_method(c: Any) -> Any:
    f = c(Box().step)
    return [f(pair(i, 1)) for i in range(4)]


@program("a call sets self.weight to another tensor")
def a_tensor_that_is_replaced(c: Any) -> Any:
    f = c(Box().carry)
    return [f(pair(i, 1)) for i in range(4)]


@program("a call changes seen")
def a_hook_that_counts(c: Any) -> Any:
    model, seen = nn.Linear(2, 3), []
    model.register_forward_hook(lambda module, inputs, out: seen.append(out.sum()))
    f = c(model)
    return [[f(pair(i, 1)).detach() for i in range(4)], list(seen)]


@program("a call changes seen")
def a_tensors_hook_that_counts(c: Any) -> Any:
    w, seen = torch.ones(2, requires_grad=True), []
    w.register_hook(lambda g: seen.append(g))

    def f(x: Any) -> Any:
        w.grad = None
        (w * x).sum().backward()
        return w.grad

    f = c(f)
    return [[f(pair(i, 1)) for i in range(4)], list(seen)]


@program("a call changes f.__defaults__[0]")
def a_default_that_grows(c: Any) -> Any:
    def f(x: Any, kept: Any = []) -> Any:  # noqa: B006
        kept.append(1)
        return x * len(kept)

    f = c(f)
    return [f(pair(i, 1)) for i in range(4)]


@program("it draws from random")
def numbers_of_python(c: Any) -> Any:
    random.seed(0)
    f = c(lambda x: x * random.random())
    return [f(pair(1, 2)) for _ in range(4)]


@program("it draws from np.random")
def numbers_of_numpy(c: Any) -> Any:
    np.random.seed(0)
    f = c(lambda x: x * float(np.random.rand()))
    return [f(pair(1, 2)) for _ in range(4)]


@program("it draws from generator")
def numbers_of_a_generator(c: Any) -> Any:
    generator = np.random.default_rng(0)
    f = c(lambda x: x + torch.from_numpy(generator.normal(size=2).astype(np.float32)))
    return [f(pair(1, 2)) for _ in range(4)]


@program("a call changes optimizer.param_groups[0]")
def a_learning_rate_that_falls(c: Any) -> Any:
    w = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)

    def f(x: Any) -> Any:
        for group in optimizer.param_groups:
            group["lr"] *= 0.9
        optimizer.zero_grad()
        loss = (w * x).sum()
        loss.backward()
        optimizer.step()
        return loss.detach()

    f = c(f)
    return [f(pair(i, 1)) for i in range(6)]


@program()
def grad_that_is_switched(c: Any) -> Any:
    w = torch.ones(2, requires_grad=True)

    def f(x: Any) -> Any:
        w.requires_grad_(False)
        y = x * w
        w.requires_grad_(True)
        return y

    f = c(f)
    return [f(pair(i, 2)) for i in range(4)]


@program("a call changes whether a tensor requires grad")
def grad_that_is_switched_on_and_off(c: Any) -> Any:
    w = torch.ones(2)

    def f(x: Any) -> Any:
        w.requires_grad_(True)
        (w * x).sum().backward()
        g = w.grad
        w.requires_grad_(False)
        return g

    f = c(f)
    return [f(pair(i, 2)) for i in range(4)]


@program("an argument, or a result, gets a gradient")
def gradients_of_arguments(c: Any) -> Any:
    f, out = c(lambda x: (x * x).sum().backward()), []
    for i in range(3):
        x = pair(i, 1).requires_grad_()
        f(x)
        out.append(x.grad)
    return out


@program("an argument, or a result, gets a gradient")
def gradients_of_results(c: Any) -> Any:
    def f(x: Any) -> Any:
        y = x.clone().requires_grad_()
        (y * y).sum().backward()
        return y

    f = c(f)
    return [(y, y.grad) for y in [f(pair(i, 1)) for i in range(3)]]


@program()
def gradients_of_what_a_call_makes(c: Any) -> Any:
    def f(x: Any) -> Any:
        y = x.clone().requires_grad_()
        (y * y).sum().backward()
        return y.grad + 1

    f = c(f)
    return [f(pair(i, 1)) for i in range(3)]


# -- what the outside changes ------------------------------------------------------------------------------------------
SCALE = 1.0


@program()
def a_global(c: Any) -> Any:
    global SCALE
    f, out = c(lambda x: x * SCALE), []
    for i in range(4):
        SCALE = i + 0.5
        out.append(f(pair(1, 2)))
    return out


@program()
def a_variable(c: Any) -> Any:
    k, out = 1.0, []
    f = c(lambda x: x * k)
    for i in range(4):
        k = i + 1.0
        out.append(f(pair(1, 2)))
    return out


@program()
def a_nested_setting(c: Any) -> Any:
    settings: Any = {"a": {"b": [1.0, {"c": 2.0}]}}
    f, out = c(lambda x: x * settings["a"]["b"][1]["c"]), []
    for i in range(4):
        settings["a"]["b"][1]["c"] = float(i)
        out.append(f(pair(1, 2)))
    return out


HELP = {"k": 1.0}


def helper(x: Any) -> Any:
    return x * HELP["k"]


@program()
def a_helpers_global(c: Any) -> Any:
    f, out = c(lambda x: helper(x)), []
    for i in range(4):
        HELP["k"] = float(i)
        out.append(f(pair(1, 2)))
    return out


@program()
def attributes(c: Any) -> Any:
    box, out = Box(), []
    f = c(box.scaled)
    for i in range(4):
        (Box if i % 2 else box).factor = float(i)
        out.append(f(pair(1, 2)))
    Box.factor = 1.0
    return out


@program()
def a_partial_and_a_deque(c: Any) -> Any:
    last: Any = collections.deque([1.0], maxlen=3)
    f, out = c(functools.partial(lambda d, x: x * sum(d), last)), []
    for i in range(4):
        last.append(float(i))
        out.append(f(pair(1, 2)))
    return out


@program()
def a_list_of_tensors(c: Any) -> Any:
    weights = [pair(1, 2)]
    f, out = c(lambda x: sum(x * w for w in weights)), []
    for i in range(4):
        weights.append(pair(i, 1))
        out.append(f(pair(1, 2)))
    weights[0] = pair(7, 7)
    return [*out, f(pair(1, 2))]


@program()
def a_tensor_by_another_name(c: Any) -> Any:
    h, out = torch.zeros(2), []
    f = c(lambda x: x + h)
    for i in range(4):
        h = torch.full((2,), float(i))
        out.append(f(pair(1, 2)))
    return out


@program()
def an_array(c: Any) -> Any:
    array, out = np.ones(2, np.float32), []
    f = c(lambda x: x + torch.tensor(array) + torch.from_numpy(array))
    for i in range(4):
        array[:] = i
        out.append(f(pair(1, 2)))
    return out


@program()
def the_environment(c: Any) -> Any:
    f, out = c(lambda x: x * float(os.environ["MINITORCH_TEST"])), []
    for i in range(3):
        os.environ["MINITORCH_TEST"] = str(i)
        out.append(f(pair(1, 2)))
    return out


@program()
def training_and_evaluation(c: Any) -> Any:
    model = nn.Sequential(nn.Linear(2, 3), nn.Dropout(0.5), nn.BatchNorm1d(3))
    f, x, out = c(lambda x: model(x).detach()), torch.randn(4, 2), []
    for i in range(6):
        model.train(i % 2 == 0)
        out.append(f(x))
    return [*out, model[2].running_mean, model[2].num_batches_tracked]


@program()
def a_layers_setting(c: Any) -> Any:
    model = nn.Sequential(nn.Linear(2, 3), nn.Dropout(0.5))
    f, x, out = c(lambda x: model(x).detach()), torch.randn(4, 2), []
    for i in range(4):
        model[1].p = 0.1 * i
        out.append(f(x))
    return out


@program()
def layers_parameters_and_forward_replaced(c: Any) -> Any:
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    f, x = c(lambda x: model(x).detach()), torch.randn(4, 2)
    out = [f(x), f(x)]
    model[1] = nn.Tanh()
    out += [f(x), f(x)]
    model[0].weight = nn.Parameter(torch.ones(2, 2))
    out += [f(x), f(x)]
    model[1].forward = lambda x: x * 3
    return [*out, f(x), f(x)]


@program()
def hooks_added_and_removed(c: Any) -> Any:
    model = nn.Linear(2, 3)
    f, x = c(lambda x: model(x).detach()), torch.randn(4, 2)
    out = [f(x), f(x)]
    handle = model.register_forward_hook(lambda module, inputs, out: out * 2)
    out += [f(x), f(x)]
    handle.remove()
    return [*out, f(x), f(x)]


@program()
def hooks_of_tensors_added(c: Any) -> Any:
    w = torch.ones(2, requires_grad=True)

    def f(x: Any) -> Any:
        w.grad = None
        (w * x).sum().backward()
        return w.grad * 1, w.detach() * 1

    f = c(f)
    out = [f(pair(i, 1)) for i in range(2)]
    w.register_hook(lambda g: g * 2)
    out += [f(pair(i, 1)) for i in range(3)]

    @torch.no_grad()
    def update(parameter: Any) -> None:
        parameter.sub_(parameter.grad)

    w.register_post_accumulate_grad_hook(update)
    return out + [f(pair(i, 1)) for i in range(3)]


@program()
def a_cache_that_the_first_call_fills(c: Any) -> Any:
    class Cached(nn.Module):
        cache: Any = None

        def forward(self, x: Any) -> Any:
            if self.cache is None:
                self.cache = torch.arange(2.0) * 3
            return x + self.cache

    model = Cached()
    f, out = c(model), []
    for i in range(6):
        if i == 4:
            model.cache = torch.ones(2)
        out.append(f(pair(i, 1)))
    return out


@program()
def a_new_optimizer(c: Any) -> Any:
    w = torch.ones(2, requires_grad=True)
    optimizer: Any = torch.optim.SGD([w], lr=0.1)

    def f(x: Any) -> Any:
        optimizer.zero_grad()
        loss = (w * x).sum()
        loss.backward()
        optimizer.step()
        return loss.detach() * optimizer.param_groups[0]["lr"]

    f, out = c(f), []
    for i in range(6):
        if i == 3:
            optimizer = torch.optim.Adam([w], lr=0.1)
        optimizer.param_groups[0]["lr"] = 0.1 * (i + 1)
        out.append(f(pair(i, 1)))
    return out


@program()
def frozen_and_unfrozen(c: Any) -> Any:
    model, out = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1)), []

    def f(x: Any) -> Any:
        model.zero_grad()
        model(x).sum().backward()
        return [torch.zeros(1) if p.grad is None else p.grad * 1 for p in model.parameters()]

    f = c(f)
    for i in range(6):
        model[0].requires_grad_(i % 3 != 1)
        out.append(f(torch.ones(1, 2) * i))
    return out


@program()
def generators_and_seeds(c: Any) -> Any:
    generator = torch.Generator().manual_seed(3)

    def f(x: Any) -> Any:
        with torch.random.fork_rng():
            torch.manual_seed(1)
            a = torch.rand(2)
        return x + a + torch.rand(2) + torch.rand(2, generator=generator)

    f = c(f)
    out = [f(pair(i, 1)) for i in range(3)]
    generator.manual_seed(3)
    return [*out, *[f(pair(i, 1)) for i in range(3)], torch.rand(2)]


# -- arguments ---------------------------------------------------------------------------------------------------------
@program("an argument is a NumPy array")
def arrays_given(c: Any) -> Any:
    f, array, out = c(lambda a: torch.tensor(a) * 2), np.ones(2, np.float32), []
    for i in range(4):
        array[:] = i
        out += [f(array), f(np.full(2, i, np.float32))]
    return out


BOX = Box()


@program()
def objects_given(c: Any) -> Any:
    box, out = BOX, []
    f = c(lambda x, box, kind: x * box.count if kind == "a" else x + box.count)
    for i in range(4):
        box.count = i
        out += [f(pair(1, 2), box, "a"), f(pair(1, 2), box, kind="b"), f(pair(1, 2), Box(), "a")]
    return out


@program()
def numbers_given(c: Any) -> Any:
    f = c(lambda x, k, flag=False: x / k if flag else x * k)
    return [f(pair(1, 2), k, flag) for k in (2, 2.0, True, 0.0, -0.0, 3) for flag in (False, True)]


# -- what is no tensor -------------------------------------------------------------------------------------------------
@program("batches is a list_iterator, which changes where it is read")
def an_iterator(c: Any) -> Any:
    batches = iter([pair(i, 1) for i in range(9)])
    f = c(lambda: next(batches) * 2)
    return [f() for _ in range(4)]


@program("numbers is a count")
def a_number_counted(c: Any) -> Any:
    numbers = itertools.count()
    f = c(lambda x: (x * 2, next(numbers)))
    return [f(pair(i, 2)) for i in range(4)]


@program("it prints, which a program does not")
def printing(c: Any) -> Any:
    def f(x: Any) -> Any:
        print(x.shape, end="")
        return x * 2

    f = c(f)
    return [f(pair(i, 2)) for i in range(4)]


@program("log is a StringIO")
def writing(c: Any) -> Any:
    log = io.StringIO()

    def f(x: Any) -> Any:
        log.write("a")
        return x * 2

    f = c(f)
    return [[f(pair(i, 2)) for i in range(4)], log.getvalue()]


@program("it calls time.perf_counter()")
def the_time(c: Any) -> Any:
    f = c(lambda x: (x * 2, time.perf_counter() > 0))
    return [f(pair(i, 2)) for i in range(4)]


@program()
def a_cached_function(c: Any) -> Any:
    @functools.lru_cache
    def table(n: int) -> Any:
        return torch.arange(float(n)) * k

    k, out = 2.0, []
    table(2)
    f = c(lambda x: x + table(2))
    for i in range(6):
        if i == 4:
            k = 3.0
            table.cache_clear()
        out.append(f(pair(i, 1)))
    return out


@program("a tensor's memory is written through NumPy")
def written_through_numpy(c: Any) -> Any:
    def f(x: Any) -> Any:
        y = x * 2
        y.numpy()[0] = 7
        return y

    f = c(f)
    return [f(pair(i, 1)) for i in (2, 0, 3, 0)]


@program("a call gives t other memory")
def data_of_another_shape(c: Any) -> Any:
    t = torch.zeros(2)

    def f(x: Any) -> Any:
        t.data = torch.cat([t.data, x])
        return t.sum()

    f = c(f)
    return [*[f(pair(i, 2)) for i in range(4)], t]


@program("other memory: write into it with copy_()")
def data_exchanged(c: Any) -> Any:
    a, b = torch.zeros(2), torch.ones(2)

    def f(x: Any) -> Any:
        a.data, b.data = b.data, a.data
        a.add_(x)
        return a * 1, b * 1

    f = c(f)
    return [[f(pair(i, 2)) for i in range(5)], a, b]


@program()
def data_of_the_same_shape(c: Any) -> Any:
    w = torch.ones(2, requires_grad=True)

    def f(x: Any) -> Any:
        w.data = w.data - 0.1 * x
        return w.detach() * 1

    def g(x: Any) -> Any:
        w.data -= 0.1 * x
        return w.detach() * 1

    f, g = c(f), c(g)
    return [(f(pair(i, 2)), g(pair(i, 2))) for i in range(4)]


@program()
def values_as_texts_and_numbers(c: Any) -> Any:
    f = c(
        lambda x: (str(x), f"{x.sum():.2f}", x.tolist(), x.sum().item(), 2.0 in x, [float(v) for v in x], x.numpy()[0])
    )
    return [f(pair(i, 2)) for i in range(4)]


@program()
def branches(c: Any) -> Any:
    def f(x: Any) -> Any:
        while x.norm() < 10:
            x = x * 2
        if torch.allclose(x, pair(16, 8)) or max(x[0], x[1]) > 14:
            return x
        return -x

    f = c(f)
    return [f(pair(i, 1)) for i in (1, 2, 3, 1, 8)]


@program()
def results_that_are_written(c: Any) -> Any:
    def f(x: Any) -> Any:
        y = x * 2
        return y, y, y.view(-1), torch.zeros(2), x

    f, out = c(f), []
    for i in range(4):
        x = pair(i, 1)
        a, b, d, zeros, same = f(x)
        out += [a is b, same is x, zeros.clone()]
        a.add_(1)
        zeros.add_(5)
        out += [b.clone(), d.clone()]
    return out


# -- what may fail -----------------------------------------------------------------------------------------------------
INDEXED: dict[str, Callable[[Any, Any], Any]] = {
    "subscript": lambda x, i: x[i],
    "gather": lambda x, i: torch.gather(x, 0, i),
    "index_select": lambda x, i: torch.index_select(x, 0, i),
    "take": lambda x, i: torch.take(x, i),
    "take_along_dim": lambda x, i: torch.take_along_dim(x, i, 0),
    "scatter": lambda x, i: x.scatter(0, i, 7.0),
    "scatter_add": lambda x, i: x.scatter_add(0, i, x),
    "index_add": lambda x, i: x.index_add(0, i, x[:2]),
    "index_put": lambda x, i: x.index_put((i,), torch.tensor(5.0)),
    "index_fill": lambda x, i: x.index_fill(0, i, 5.0),
    "index_copy": lambda x, i: x.index_copy(0, i, x[:2] * 2),
    "index_reduce": lambda x, i: x.index_reduce(0, i, x[:2], "amax"),
    "embedding": lambda x, i: F.embedding(i, x[:, None]),
    "cross_entropy": lambda x, i: F.cross_entropy(torch.stack([x, x]), i),
    "one_hot": lambda x, i: F.one_hot(i, 3),
    "bincount": lambda x, i: torch.bincount(i, minlength=6),
    "division": lambda x, i: torch.tensor([2, 3]) // (i + 1),
    "cholesky": lambda x, i: torch.linalg.cholesky(i.float() * torch.eye(2)),
    "inverse": lambda x, i: torch.linalg.inv(i.float() * torch.eye(2)),
    "binary_cross_entropy": lambda x, i: F.binary_cross_entropy(i.float() / 2, x[:2] / 3),
}
"""Functions of three numbers and two indices."""


def indexed(function: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    def run(c: Any) -> Any:
        f = c(function)
        places = ([2, 1], [1, 1], [1, 5], [-1, 0], [-7, 1], [2, 1])
        return [said(functools.partial(f, pair(1, 2, 3), torch.tensor(i))) for i in places]

    return run


PROGRAMS |= {name: (indexed(function), "") for name, function in INDEXED.items()}


@program()
def errors_that_are_caught(c: Any) -> Any:
    def f(x: Any) -> Any:
        try:
            return torch.linalg.cholesky(x)
        except RuntimeError:
            return torch.zeros(2, 2)

    f = c(f)
    return [f(torch.eye(2) * i) for i in (1, 2, -1, 3, -1)]


@program()
def assertions(c: Any) -> Any:
    def f(x: Any) -> Any:
        assert (x > 0).all(), "positive!"
        return x * 2

    f = c(f)
    return [said(functools.partial(f, pair(i, 1))) for i in (1, 2, -1, 3, -1)]
