"""Training loops: a compiled step gives bit for bit what the step gives as it is written, epoch after epoch."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch as torch
from minitorch import nn, optim, static
from minitorch.nn import functional as F
from stepping import STEPS

OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "SGD": lambda ps: optim.SGD(ps, 0.05),
    "nesterov": lambda ps: optim.SGD(ps, 0.05, momentum=0.9, nesterov=True, weight_decay=0.01),
    "dampened": lambda ps: optim.SGD(ps, 0.05, momentum=0.9, dampening=0.1, maximize=True),
    "Adam": lambda ps: optim.Adam(ps, 0.01, weight_decay=0.01),
    "amsgrad": lambda ps: optim.Adam(ps, 0.01, amsgrad=True),
    "AdamW": lambda ps: optim.AdamW(ps, 0.01),
    "NAdam": lambda ps: optim.NAdam(ps, 0.01),
    "RAdam": lambda ps: optim.RAdam(ps, 0.01),
    "Adamax": lambda ps: optim.Adamax(ps, 0.01),
    "Adagrad": lambda ps: optim.Adagrad(ps, 0.05, lr_decay=0.01),
    "Adadelta": lambda ps: optim.Adadelta(ps, 1.0),
    "Adafactor": lambda ps: optim.Adafactor(ps, 0.01),
    "RMSprop": lambda ps: optim.RMSprop(ps, 0.01, centered=True, momentum=0.5),
    "Rprop": lambda ps: optim.Rprop(ps, 0.01),
    "ASGD": lambda ps: optim.ASGD(ps, 0.05, t0=2.0),
    "Muon": lambda ps: optim.Muon([p for p in ps if p.ndim == 2], 0.01),
    "LBFGS": lambda ps: optim.LBFGS(ps, 0.1, max_iter=3),
}

SCHEDULERS: dict[str, Callable[[Any], Any]] = {
    "StepLR": lambda o: optim.lr_scheduler.StepLR(o, 2, 0.5),
    "OneCycleLR": lambda o: optim.lr_scheduler.OneCycleLR(o, 0.1, total_steps=20),
    "CosineAnnealingLR": lambda o: optim.lr_scheduler.CosineAnnealingLR(o, 8),
    "LambdaLR": lambda o: optim.lr_scheduler.LambdaLR(o, lambda epoch: 0.9**epoch),
    "SequentialLR": lambda o: optim.lr_scheduler.SequentialLR(
        o, [optim.lr_scheduler.LinearLR(o), optim.lr_scheduler.ExponentialLR(o, 0.9)], [3]
    ),
}


def network() -> Any:
    first, last = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU()), nn.Sequential(nn.Linear(8, 3))
    return nn.Sequential(*first, nn.Dropout(0.3), nn.Linear(8, 8), nn.LayerNorm(8), nn.Tanh(), *last)


def bits(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return str(value.dtype), value.shape, value.detach().numpy().tobytes()
    if isinstance(value, dict):
        return {key: bits(v) for key, v in value.items()}
    return [bits(v) for v in value] if isinstance(value, (list, tuple)) else repr(value)


def batches(count: int, last: int | None = None) -> list[tuple[Any, Any]]:
    rng = np.random.default_rng(0)
    sizes = [6] * (count - 1) + [last or 6]
    return [
        (torch.tensor(rng.normal(size=(n, 4)), dtype=torch.float32), torch.tensor(rng.integers(0, 3, n))) for n in sizes
    ]


def both(run: Callable[[Any], Any], ways: int | None = None, said: str = "") -> None:
    """Run a training script with its step compiled and as it is: *run* is given what compiles, and returns what to compare."""
    found, made = [], []

    def compiling(function: Any) -> Any:
        made.append(static.compile(function, quiet=True))
        return made[-1]

    for compile_ in (lambda function: function, compiling):
        torch.manual_seed(0)
        found.append(bits(run(compile_)))
    assert found[0] == found[1]
    refused = [note for step in made for note in step.notes if "as it is written" in note]
    assert bool(refused) == bool(said), refused
    assert said in "".join(refused)
    assert said or any([variant.runs for step in made for variant in step.variants])
    assert ways is None or sum([len(step.variants) for step in made]) == ways, [step.notes for step in made]


def state(model: Any, optimizer: Any) -> Any:
    """A copy of all that training has changed so far."""
    gradients = [p.grad if p.grad is not None else 0 for p in model.parameters()]
    return copy.deepcopy([model.state_dict(), gradients, optimizer.state_dict()])


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_optimizer(name: str) -> None:
    def run(compile_: Any) -> Any:
        model = network()
        optimizer, seen = OPTIMIZERS[name](model.parameters()), []

        def step(x: Any, y: Any) -> Any:
            def closure() -> Any:
                optimizer.zero_grad()
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                return loss

            if name == "LBFGS":
                return optimizer.step(closure)
            loss = closure()
            optimizer.step()
            return loss

        step = compile_(step)
        for _ in range(2):
            for x, y in batches(4, 3):
                seen.append([step(x, y).detach(), state(model, optimizer)])
        return seen

    both(run, None if name in ("LBFGS", "Muon") else 2, "closure" if name == "LBFGS" else "")


@pytest.mark.parametrize("name", SCHEDULERS)
@pytest.mark.parametrize("inside", [False, True])
def test_schedulers(name: str, inside: bool) -> None:
    def run(compile_: Any) -> Any:
        model = network()
        optimizer, seen = OPTIMIZERS["nesterov"](model.parameters()), []
        scheduler = SCHEDULERS[name](optimizer)

        def step(x: Any, y: Any) -> Any:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
            if inside:
                scheduler.step()
            return loss

        step = compile_(step)
        for x, y in batches(8):
            seen.append([step(x, y).detach(), scheduler.get_last_lr(), state(model, optimizer)])
            if not inside:
                scheduler.step()
        return seen

    both(run, 1)


WAYS: dict[str, tuple[Callable[..., Any], int | None, str]] = {}


def way(ways: int | None, said: str = "") -> Callable[[Any], Any]:
    def decorator(function: Any) -> Any:
        WAYS[function.__name__.replace("_", " ")] = function, ways, said
        return function

    return decorator


@way(1)
def gradients_zeroed_in_place(model: Any, optimizer: Any, compile_: Any) -> Any:
    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad(set_to_none=False)
        loss = F.cross_entropy(model(x), y, label_smoothing=0.1)
        loss.backward()
        nn.utils.clip_grad_value_(model.parameters(), 0.1)
        optimizer.step()
        return loss

    return warmed(model, optimizer, compile_(step))


def warmed(model: Any, optimizer: Any, step: Any) -> Any:
    """Gradients are there before the first call, as they are before each later one."""
    for p in model.parameters():
        p.grad = torch.zeros_like(p)
    return [[step(x, y).detach(), state(model, optimizer)] for x, y in batches(6)]


@way(2)
def gradients_added_up_inside(model: Any, optimizer: Any, compile_: Any) -> Any:
    @compile_
    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        losses = [F.cross_entropy(model(part), y[:2]) / 3 for part in x.split(2)]
        for loss in losses:
            loss.backward()
        optimizer.step()
        return sum(losses)

    return [[step(x, y).detach(), state(model, optimizer)] for x, y in batches(6, 4)]


@way(None)
def gradients_added_up_over_calls(model: Any, optimizer: Any, compile_: Any) -> Any:
    @compile_
    def step(x: Any, y: Any, last: bool) -> Any:
        loss = F.cross_entropy(model(x), y) / 3
        loss.backward()
        if last:
            optimizer.step()
            optimizer.zero_grad()
        return loss

    return [[step(x, y, n % 3 == 2).detach(), state(model, optimizer)] for n, (x, y) in enumerate(batches(9))]


def usual_step(model: Any, optimizer: Any, between: Any = None) -> Any:
    """A step of training as most scripts have it; gradients are there *between* its passes and the optimizer's step."""

    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        if between is not None:
            between()
        optimizer.step()
        return loss

    return step


@way(2)
def training_and_evaluation_in_turn(model: Any, optimizer: Any, compile_: Any) -> Any:
    step = compile_(usual_step(model, optimizer))

    @compile_
    def evaluate(x: Any) -> Any:
        with torch.no_grad():
            return model(x).argmax(1)

    seen = []
    for _ in range(3):
        model.train()
        seen += [step(x, y).detach() for x, y in batches(3)]
        model.eval()
        seen += [evaluate(x) for x, _ in batches(2)]
    return [seen, state(model, optimizer)]


@way(None)
def frozen_and_unfrozen(model: Any, optimizer: Any, compile_: Any) -> Any:
    step = compile_(usual_step(model, optimizer))
    seen = []
    for number, (x, y) in enumerate(batches(9)):
        model[0].requires_grad_(number // 3 != 1)
        seen.append([step(x, y).detach(), state(model, optimizer)])
    return seen


@way(1)
def states_loaded_between(model: Any, optimizer: Any, compile_: Any) -> Any:
    step = compile_(usual_step(model, optimizer))
    seen, kept = [], copy.deepcopy((model.state_dict(), optimizer.state_dict()))
    for number, (x, y) in enumerate(batches(8)):
        if number == 3:
            model.load_state_dict(kept[0])
        if number == 5:
            optimizer.load_state_dict(kept[1])
        if number == 6:
            for group in optimizer.param_groups:
                group["lr"] = 0.5
        seen.append([step(x, y).detach(), state(model, optimizer)])
    return seen


@way(1)
def numbers_returned(model: Any, optimizer: Any, compile_: Any) -> Any:
    @compile_
    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        out = model(x)
        loss = F.cross_entropy(out, y)
        loss.backward()
        optimizer.step()
        return {"loss": loss.item(), "right": (out.argmax(1) == y).float().mean().item(), "count": len(x)}

    return [[step(x, y) for x, y in batches(5)], state(model, optimizer)]


@way(1)
def gradients_clipped_by_group(model: Any, optimizer: Any, compile_: Any) -> Any:
    def clip() -> None:
        for group in optimizer.param_groups:
            nn.utils.clip_grad_norm_(group["params"], 0.5)
        nn.utils.clip_grad_value_([p for group in optimizer.param_groups for p in group["params"]], 0.1)

    step = compile_(usual_step(model, optimizer, clip))
    scheduler = optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    seen = []
    for x, y in batches(6):
        seen.append([step(x, y).detach(), state(model, optimizer)])
        scheduler.step()
    return seen


@way(None)
def rates_read_by_group(model: Any, optimizer: Any, compile_: Any) -> Any:
    def scale() -> None:
        for group in optimizer.param_groups:
            for p in group["params"]:
                p.grad.mul_(group["lr"])

    train = usual_step(model, optimizer, scale)

    @compile_
    def step(x: Any, y: Any) -> Any:
        return train(x, y) * sum([group["lr"] for group in optimizer.param_groups])

    seen = []
    for number, (x, y) in enumerate(batches(6)):
        if number == 2:
            optimizer.param_groups[0]["lr"] = 0.1
        if number == 4:
            first = optimizer.param_groups[0]
            optimizer.param_groups.append({**first, "params": [first["params"].pop()], "lr": 0.2})
        seen.append([step(x, y).detach(), state(model, optimizer)])
    return seen


@way(0, "item()")
def a_number_used_inside(model: Any, optimizer: Any, compile_: Any) -> Any:
    @compile_
    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.item() * len(x)

    return [[step(x, y) for x, y in batches(5)], state(model, optimizer)]


@way(2)
def steps_only_for_finite_losses(model: Any, optimizer: Any, compile_: Any) -> Any:
    @compile_
    def step(x: Any, y: Any, scale: Any) -> Any:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y) * scale
        if torch.isfinite(loss):
            loss.backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            if torch.isfinite(norm):
                optimizer.step()
        return loss.detach()

    scales = [torch.tensor(float("inf") if n in (3, 5) else 2.0) for n in range(8)]
    return [[step(x, y, scale), state(model, optimizer)] for scale, (x, y) in zip(scales, batches(8))]


@way(None)
def steps_each_third_call(model: Any, optimizer: Any, compile_: Any) -> Any:
    count = torch.zeros((), dtype=torch.int64)

    @compile_
    def step(x: Any, y: Any) -> Any:
        count.add_(1)
        loss = F.cross_entropy(model(x), y) / 3
        loss.backward()
        if count % 3 == 0:
            optimizer.step()
            optimizer.zero_grad()
        return loss

    return [[step(x, y) for x, y in batches(5)], state(model, optimizer)]


@way(1)
def scaling_and_casting_that_are_off(model: Any, optimizer: Any, compile_: Any) -> Any:
    scaler = torch.amp.GradScaler("cpu", enabled=False)

    @compile_
    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        with torch.autocast("cpu", enabled=False):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        return loss

    return [[step(x, y).detach() for x, y in batches(5)], state(model, optimizer)]


@way(1)
def an_average_kept(model: Any, optimizer: Any, compile_: Any) -> Any:
    average = copy.deepcopy(model)

    @compile_
    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for mean, p in zip(average.parameters(), model.parameters()):
                mean.mul_(0.9).add_(p, alpha=0.1)
        return loss

    return [[step(x, y).detach() for x, y in batches(5)], state(average, optimizer)]


@way(1)
def a_penalty_on_gradients(model: Any, optimizer: Any, compile_: Any) -> Any:
    @compile_
    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        x = x.clone().requires_grad_()
        loss = F.cross_entropy(model(x), y)
        (g,) = torch.autograd.grad(loss, x, create_graph=True)
        (loss + g.square().sum()).backward()
        optimizer.step()
        return loss

    return [[step(x, y).detach() for x, y in batches(5)], state(model, optimizer)]


@way(1)
def by_hand(model: Any, optimizer: Any, compile_: Any) -> Any:
    parameters = list(model.parameters())

    @compile_
    def step(x: Any, y: Any) -> Any:
        loss = F.cross_entropy(model(x), y)
        gradients = torch.autograd.grad(loss, parameters)
        with torch.no_grad():
            for p, g in zip(parameters, gradients):
                p -= 0.1 * g
        return loss

    return [[step(x, y).detach() for x, y in batches(5)], state(model, optimizer)]


@pytest.mark.parametrize("name", WAYS)
def test_ways_to_train(name: str) -> None:
    function, ways, said = WAYS[name]

    def run(compile_: Any) -> Any:
        model = network()
        return function(model, optim.Adam(model.parameters(), 0.01), compile_)

    both(run, ways, said)


@pytest.mark.parametrize("name", STEPS)
def test_what_optimizers_and_schedulers_keep(name: str) -> None:
    function, said = STEPS[name]
    both(function, None, said)


def test_two_networks_against_each_other() -> None:
    def run(compile_: Any) -> Any:
        generator, judge = (
            nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 4)),
            nn.Sequential(nn.Linear(4, 8), nn.LeakyReLU(), nn.Linear(8, 1)),
        )
        g_optimizer, j_optimizer = optim.Adam(generator.parameters(), 0.01), optim.Adam(judge.parameters(), 0.01)

        @compile_
        def step(x: Any) -> Any:
            noise = torch.randn(len(x), 2)
            fake = generator(noise)
            j_optimizer.zero_grad()
            real = F.binary_cross_entropy_with_logits(judge(x), torch.ones(len(x), 1))
            judged = real + F.binary_cross_entropy_with_logits(judge(fake.detach()), torch.zeros(len(x), 1))
            judged.backward()
            j_optimizer.step()
            for p in judge.parameters():
                p.requires_grad_(False)
            g_optimizer.zero_grad()
            loss = F.binary_cross_entropy_with_logits(judge(fake), torch.ones(len(x), 1))
            loss.backward()
            g_optimizer.step()
            for p in judge.parameters():
                p.requires_grad_(True)
            return judged, loss

        seen = [[t.detach() for t in step(x)] for x, _ in batches(6, 4)]
        return [seen, state(generator, g_optimizer), state(judge, j_optimizer)]

    both(run)


def test_recurrent_networks_carry_their_state() -> None:
    def run(compile_: Any) -> Any:
        rnn, out = nn.LSTM(2, 5, num_layers=2, dropout=0.3), nn.Linear(5, 1)
        optimizer = optim.RMSprop([*rnn.parameters(), *out.parameters()], 0.01)

        @compile_
        def step(x: Any, hidden: Any) -> Any:
            optimizer.zero_grad()
            y, hidden = rnn(x, hidden)
            loss = out(y).square().mean()
            loss.backward()
            optimizer.step()
            return loss.detach(), tuple([h.detach() for h in hidden])

        hidden, seen = None, []
        for number in range(6):
            loss, hidden = step(torch.full((3, 4, 2), number / 7), hidden)
            seen += [loss, *hidden]
        return seen

    both(run, 2)


def test_results_of_a_step_that_gradients_can_go_back_through() -> None:
    def gradients(wrap: Any, retain: bool) -> list[Any]:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

        def step(x: Any) -> Any:
            optimizer.zero_grad()
            loss = model(x).sum()
            loss.backward(retain_graph=retain)
            if retain:
                return loss
            optimizer.step()
            return model(x)

        step, found = wrap(step), []
        for _ in range(3):
            out = step(torch.ones(3, 2))
            assert out.requires_grad
            out.sum().backward()
            found.append(model[0].weight.grad.tolist())
        return found

    for retain in (False, True):
        assert gradients(lambda f: static.compile(f, quiet=True), retain) == gradients(lambda f: f, retain)


def test_results_that_backward_went_through_require_grad_at_each_call() -> None:
    weight = torch.tensor([1.0, 2.0], requires_grad=True)

    @static.compile
    def step(x: Any) -> Any:
        weight.grad = None
        out = weight * x
        loss = out.exp().sum()
        loss.backward()
        return loss, out, out.tanh()

    for _ in range(3):
        results = step(torch.ones(2))
        assert all([t.requires_grad for t in results])
        for result in results:
            with pytest.raises(RuntimeError, match="backward through the graph a second time"):
                result.sum().backward()
        weight.grad = None
    assert step.variants[0].runs


@pytest.mark.parametrize("name", ["0.weight", "1.0.bias", "1.1.weight"])
@pytest.mark.parametrize("own", [False, True])
def test_notes_name_parameters_by_their_models(name: str, own: bool) -> None:
    class Own(nn.Sequential):
        """A class of people's own."""

    kind = Own if own else nn.Sequential
    model = kind(nn.Linear(2, 2), kind(nn.Linear(2, 2), nn.BatchNorm1d(2)))
    o = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(x: Any) -> Any:
        o.zero_grad()
        loss = model(x).square().sum()
        loss.backward()
        o.step()
        return loss

    program = static.compile(step, quiet=True)
    program(torch.ones(3, 2))
    model.get_parameter(name).requires_grad_(False)
    program(torch.ones(3, 2))
    model[1][1].momentum = 0.5
    program(torch.ones(3, 2))
    assert program.notes == [
        f"model.{name} requires no grad, and did: traced anew",
        "model.1.1.momentum is another one: traced anew",
    ]


def test_notes_name_parameters_that_are_an_optimizers_alone() -> None:
    o = torch.optim.SGD([torch.ones(2, requires_grad=True) for _ in range(2)], lr=0.1)

    def step(x: Any) -> Any:
        o.zero_grad()
        loss = sum([(p * x).sum() for group in o.param_groups for p in group["params"] if p.requires_grad])
        loss.backward()
        o.step()
        return loss

    program = static.compile(step, quiet=True)
    program(torch.ones(2))
    o.param_groups[0]["params"][1].requires_grad_(False)
    program(torch.ones(2))
    assert program.notes == ["o.param_groups[0]['params'][1] requires no grad, and did: traced anew"]
