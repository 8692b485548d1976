"""Training steps that read, or change, what optimizers and schedulers keep besides what their ``step`` does.

Each is called with ``static.compile`` and with a function that compiles nothing, and gives a list of results.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import minitorch as torch
from minitorch import nn, optim

STEPS: dict[str, tuple[Callable[[Any], Any], str]] = {}
"""By name: the program, and what is said where it runs as it is written; empty where it is compiled."""


def program(said: str = "") -> Callable[[Any], Any]:
    def decorator(function: Any) -> Any:
        STEPS[function.__name__] = function, said
        return function

    return decorator


def network() -> Any:
    return nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))


def weights(model: Any) -> list[Any]:
    return [p.detach().clone() for p in model.parameters()]


def trained(
    c: Any,
    model: Any,
    optimizer: Any,
    factor: Callable[[], Any] = lambda: 1.0,
    between: Callable[[int], Any] = lambda number: None,
    after: Callable[[Any], Any] = lambda loss: None,
) -> list[Any]:
    """What eight steps give: with a *factor* for the loss, a change *between* steps, and what is done *after* each in it."""

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = model(x).square().sum() * factor()
        loss.backward()
        optimizer.step()
        return loss, after(loss)

    step, found = c(step), []
    for number in range(8):
        between(number)
        loss, rest = step(torch.tensor([[1.0, number / 8], [0.5, -number]]))
        found.append([loss.detach(), copy.deepcopy(rest), weights(model)])
    return found


def sgd(**options: Any) -> tuple[Any, Any]:
    model = network()
    return model, optim.SGD(model.parameters(), 0.05, **options)


def adam() -> tuple[Any, Any]:
    model = network()
    return model, optim.Adam(model.parameters(), 0.05)


# -- attributes of optimizers ------------------------------------------------------------------------------------------
@program("a call changes optimizer.count")
def a_counter_of_an_optimizer(c: Any) -> Any:
    model, optimizer = sgd()
    optimizer.count = 0

    def factor() -> Any:
        optimizer.count += 1
        return optimizer.count

    return trained(c, model, optimizer, factor)


@program()
def attributes_of_an_optimizer(c: Any) -> Any:
    model, optimizer = sgd()
    optimizer.scale, optimizer.weight = 1.0, torch.tensor(1.0)

    def between(number: int) -> None:
        optimizer.scale = 1.0 + number // 3
        if number == 4:
            optimizer.weight = torch.tensor(2.0)
            optimizer.shift = 0.5

    return trained(
        c, model, optimizer, lambda: optimizer.scale * optimizer.weight + getattr(optimizer, "shift", 0.0), between
    )


@program()
def an_attribute_by_a_computed_name(c: Any) -> Any:
    model, optimizer = sgd()
    optimizer.scale1, optimizer.scale2, names = 1.0, 2.0, ["1"]

    def between(number: int) -> None:
        names[0] = "12"[number // 4]
        optimizer.param_groups[0]["lr"] = 0.01 * number
        if number == 6:
            optimizer.scale2 = 3.0

    return trained(c, model, optimizer, lambda: getattr(optimizer, "scale" + names[0]), between)


@program()
def options_and_defaults(c: Any) -> Any:
    model, optimizer = sgd()

    def between(number: int) -> None:
        optimizer.defaults["lr"] = 1.0 + number // 4
        optimizer.param_groups[0]["lr"] = 0.05 / (1 + number // 3)

    return trained(
        c, model, optimizer, lambda: optimizer.defaults["lr"] * (1 + optimizer.param_groups[0]["lr"]), between
    )


@program()
def the_state_of_an_optimizer(c: Any) -> Any:
    model, optimizer = adam()
    weight = model[0].weight

    def factor() -> Any:
        return 1 + optimizer.state[weight]["step"] if "step" in optimizer.state[weight] else 1.0

    def between(number: int) -> None:
        if number == 5:
            optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))

    return trained(c, model, optimizer, factor, between, lambda loss: optimizer.state[weight]["exp_avg"].norm())


@program()
def how_many_parameters_have_a_state(c: Any) -> Any:
    model, optimizer = sgd(momentum=0.9)
    return trained(c, model, optimizer, lambda: 1 + len(optimizer.state), lambda n: n == 4 and optimizer.state.clear())


@program()
def numbers_in_the_state(c: Any) -> Any:
    model, optimizer = sgd()
    bias = model[0].bias
    optimizer.state[bias]["gain"] = 1.0
    return trained(
        c,
        model,
        optimizer,
        lambda: optimizer.state[bias]["gain"],
        lambda n: optimizer.state[bias].update(gain=1.0 + n // 3),
    )


@program("a call changes an item of optimizer.state")
def a_counter_in_the_state(c: Any) -> Any:
    model, optimizer = sgd()
    bias = model[0].bias

    def factor() -> Any:
        optimizer.state[bias]["count"] = optimizer.state[bias].get("count", 0) + 1
        return optimizer.state[bias]["count"]

    return trained(c, model, optimizer, factor)


@program()
def moments_that_are_written(c: Any) -> Any:
    model, optimizer = adam()

    def after(loss: Any) -> None:
        for state in optimizer.state.values():
            state["exp_avg"].mul_(0.5)

    def between(number: int) -> None:
        if number == 5:
            optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))

    return trained(c, model, optimizer, between=between, after=after)


@program()
def methods_that_are_replaced(c: Any) -> Any:
    model, optimizer = sgd()

    def by_hand() -> None:
        with torch.no_grad():
            for p in model.parameters():
                p.sub_(p.grad, alpha=0.01)

    def between(number: int) -> None:
        if number == 3:
            optimizer.step = by_hand
        if number == 6:
            optimizer.zero_grad = lambda: None

    return trained(c, model, optimizer, between=between)


@program("it asks an optimizer or a scheduler for its state or rate")
def how_an_optimizer_is_shown(c: Any) -> Any:
    model, optimizer = sgd()
    return trained(
        c,
        model,
        optimizer,
        lambda: float(len(str(optimizer))),
        lambda n: optimizer.param_groups[0].update(lr=0.1**n),
    )


# -- people's own ------------------------------------------------------------------------------------------------------
class Signs(optim.Optimizer):
    """Changes each weight by the sign of its gradient, less with each step; knows whether it was the third."""

    def __init__(self, params: Any) -> None:
        super().__init__(params, {"lr": 0.05})
        self.count, self.gain, self.third = 0, 1.0, False

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:
        self.count += 1
        self._note()
        for group in self.param_groups:
            for p in group["params"]:
                p.sub_(p.grad.sign(), alpha=group["lr"] * self.gain / self.count)

    def _note(self) -> None:
        self.third = self.count == 6


@program()
def an_optimizer_of_ones_own(c: Any) -> Any:
    model = network()
    optimizer = Signs(model.parameters())
    found = trained(c, model, optimizer, lambda: optimizer.gain, lambda n: setattr(optimizer, "gain", 1.0 + n // 3))
    return [found, optimizer.count]


@program("it reads optimizer.third, which Signs.step() may change")
def what_a_step_sets_at_times(c: Any) -> Any:
    model = network()
    optimizer = Signs(model.parameters())
    return trained(c, model, optimizer, after=lambda loss: loss.detach() * (2 if optimizer.third else 1))


class Counting(optim.SGD):
    """Counts calls that clear gradients, and has a method and an attribute of its class."""

    cleared, gain = 0, 1.0

    def zero_grad(self, set_to_none: bool = True) -> None:
        self.cleared += 1
        super().zero_grad(set_to_none)

    def scaled(self, loss: Any) -> Any:
        return loss * self.gain * self.param_groups[0]["lr"]


@program("a call changes optimizer.cleared")
def a_method_that_counts(c: Any) -> Any:
    model = network()
    optimizer = Counting(model.parameters(), 0.05)
    return [trained(c, model, optimizer), optimizer.cleared]


@program()
def a_method_of_ones_own(c: Any) -> Any:
    model = network()
    optimizer = Counting(model.parameters(), 0.05)
    model_parameters = list(model.parameters())

    @c
    def step(x: Any) -> Any:
        for p in model_parameters:
            p.grad = None
        loss = optimizer.scaled(model(x).square().sum())
        loss.backward()
        optimizer.step()
        return loss

    found = []
    for number in range(8):
        optimizer.gain = 1.0 + number // 3
        found.append([step(torch.tensor([1.0, number])).detach(), weights(model)])
    return found


class Telling(optim.SGD):
    """Tells a number, or a tensor, after a step that was given a tensor and some more."""

    def step(self, scale: Any, more: Any = (), number: bool = False) -> Any:
        with torch.no_grad():
            for p in self.param_groups[0]["params"]:
                p.sub_(p.grad * (scale + sum(more)), alpha=0.01)
        norm = self.param_groups[0]["params"][0].grad.norm()
        return norm.item() if number else (norm, None)


def telling(c: Any, number: bool) -> Any:
    model = network()
    optimizer = Telling(model.parameters(), 0.05)

    @c
    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = model(x).square().sum()
        loss.backward()
        told = optimizer.step(loss.detach(), more=[x.mean(), x.sum()], number=number)
        return loss * (told if number else told[0])

    return [[step(torch.tensor([1.0, i])).detach(), weights(model)] for i in range(5)]


@program()
def a_step_between_tensors(c: Any) -> Any:
    return telling(c, False)


@program("Telling.step() returns a float")
def a_step_that_tells_a_number(c: Any) -> Any:
    return telling(c, True)


class Sharp(optim.Optimizer):
    """Goes up before it goes down (SAM), with another optimizer in it, and weights from before in memory of its own."""

    def __init__(self, params: Any) -> None:
        super().__init__(params, {"rho": 0.05})
        self.base = optim.SGD(self.param_groups, lr=0.05, momentum=0.9)
        for p in self.param_groups[0]["params"]:
            self.state[p]["before"] = p.detach().clone()

    @torch.no_grad()
    def up(self) -> None:
        norm = torch.stack([p.grad.norm() for p in self.param_groups[0]["params"]]).norm()
        for p in self.param_groups[0]["params"]:
            self.state[p]["before"].copy_(p)
            p.add_(p.grad * (self.param_groups[0]["rho"] / norm))

    @torch.no_grad()
    def down(self) -> None:
        for p in self.param_groups[0]["params"]:
            p.copy_(self.state[p]["before"])
        self.base.step()


@program()
def two_steps_with_an_optimizer_within(c: Any) -> Any:
    model = network()
    optimizer = Sharp(model.parameters())

    @c
    def step(x: Any) -> Any:
        for way in (optimizer.up, optimizer.down):
            loss = model(x).square().sum()
            loss.backward()
            way()
            optimizer.zero_grad()
        return loss

    found = []
    for number in range(8):
        optimizer.param_groups[0]["rho"] = 0.05 * (1 + number // 4)
        optimizer.base.param_groups[0]["lr"] = 0.05 / (1 + number // 6)
        found.append([step(torch.tensor([1.0, number])).detach(), weights(model)])
    return found


# -- hooks and schedulers ----------------------------------------------------------------------------------------------
@program()
def a_hook_that_counts_for_itself(c: Any) -> Any:
    model, optimizer = sgd()
    count = [0]

    def hook(*given: Any) -> None:
        count[0] += 1
        print(end="")

    optimizer.register_step_post_hook(hook)
    return [trained(c, model, optimizer), count]


@program("a call changes count")
def a_hook_that_counts_for_the_step(c: Any) -> Any:
    model, optimizer = sgd()
    count = [0]
    optimizer.register_step_post_hook(lambda *given: count.append(0))
    return trained(c, model, optimizer, lambda: len(count))


class Decaying(optim.lr_scheduler.LRScheduler):
    """A scheduler of one's own, with an attribute."""

    gamma = 0.9

    def get_lr(self) -> Any:
        return [base * self.gamma**self.last_epoch for base in self.base_lrs]


@program()
def a_scheduler_of_ones_own(c: Any) -> Any:
    model, optimizer = sgd()
    scheduler, warm = Decaying(optimizer), [4]
    lambdas = optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: min(1.0, (epoch + 1) / warm[0]))

    def after(loss: Any) -> None:
        scheduler.step()
        lambdas.step()

    def between(number: int) -> None:
        warm[0] += number
        if number == 4:
            scheduler.gamma = 0.5

    return [trained(c, model, optimizer, between=between, after=after), scheduler.get_last_lr()]


@program()
def attributes_of_a_scheduler(c: Any) -> Any:
    model, optimizer = sgd()
    scheduler = Decaying(optimizer)
    scheduler.scale = 1.0

    def between(number: int) -> None:
        scheduler.scale = 1.0 + number // 4
        if number == 6:
            scheduler.step()

    return trained(c, model, optimizer, lambda: scheduler.scale + scheduler.last_epoch, between)


@program("it reads optimizer.param_groups[0], which StepLR.step() may change")
def a_rate_read_after_the_scheduler(c: Any) -> Any:
    model, optimizer = sgd()
    scheduler = optim.lr_scheduler.StepLR(optimizer, 6, 0.5)

    def after(loss: Any) -> Any:
        scheduler.step()
        return loss.detach() * optimizer.param_groups[0]["lr"]

    return trained(c, model, optimizer, after=after)


@program()
def rates_by_a_loss(c: Any) -> Any:
    model, optimizer = sgd()
    first = optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1, threshold=0.5)
    second = optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0, threshold=0.9)

    def after(loss: Any) -> None:
        first.step(loss.detach())
        second.step(metrics=loss.detach())

    return [trained(c, model, optimizer, after=after), optimizer.param_groups[0]["lr"]]


# -- averages ----------------------------------------------------------------------------------------------------------
def averaged(**options: Any) -> Callable[[Any], Any]:
    def program(c: Any) -> Any:
        model, optimizer = sgd()
        model.insert(1, nn.BatchNorm1d(3))
        average = optim.swa_utils.AveragedModel(model, **options)
        found = trained(c, model, optimizer, after=lambda loss: average.update_parameters(model))
        return [found, list(average.state_dict().values())]

    return program


STEPS |= {
    f"averages_of_weights_{name}": (averaged(**options), "")
    for name, options in {
        "alike": {},
        "falling_off": {"multi_avg_fn": optim.swa_utils.get_ema_multi_avg_fn(0.9)},
        "with_buffers": {"avg_fn": optim.swa_utils.get_ema_avg_fn(0.5), "use_buffers": True},
        "by_a_function": {"avg_fn": lambda average, weight, count: average + (weight - average) / (count + 2)},
    }.items()
}


@program("AveragedModel.update_parameters() is called of an AveragedModel that is made in the call")
def an_average_that_is_made_in_the_call(c: Any) -> Any:
    model, optimizer = sgd()

    def after(loss: Any) -> Any:
        average = optim.swa_utils.AveragedModel(model)
        average.update_parameters(model)
        return average.module[0].weight.detach()

    return trained(c, model, optimizer, after=after)


@program()
def data_of_parameters(c: Any) -> Any:
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)

    @c
    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        for p in model.parameters():
            p.data = p.data.clamp(-0.3, 0.3)
        return loss.detach()

    return [(step(torch.randn(4, 2)), weights(model), [p.grad.clone() for p in model.parameters()]) for _ in range(6)]


@program("gives a tensor other memory, and what it had is used after that")
def data_that_is_given_back(c: Any) -> Any:
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)

    @c
    def step(x: Any) -> Any:
        model(x).square().mean().backward()
        old = [p.data for p in model.parameters()]
        for p in model.parameters():
            p.data = p.data + 0.05 * p.grad
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        for p, data in zip(model.parameters(), old):
            p.data = data
        optimizer.step()
        return loss.detach()

    return [(step(torch.randn(4, 2)), weights(model)) for _ in range(6)]
