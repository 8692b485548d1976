"""Learning rate schedulers: their rates, states and refusals equal PyTorch's."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import minitorch
from backend import torch

Make = Callable[[Any, Any], Any]  # of the module lr_scheduler and an optimizer

SCHEDULERS: dict[str, Make] = {
    "step": lambda s, o: s.StepLR(o, 3, gamma=0.5),
    "multistep": lambda s, o: s.MultiStepLR(o, [2, 2, 5], gamma=0.3),
    "constant": lambda s, o: s.ConstantLR(o, factor=0.25, total_iters=4),
    "linear": lambda s, o: s.LinearLR(o, start_factor=0.3, end_factor=0.9, total_iters=4),
    "exponential": lambda s, o: s.ExponentialLR(o, 0.8),
    "polynomial": lambda s, o: s.PolynomialLR(o, total_iters=6, power=1.7),
    "lambda": lambda s, o: s.LambdaLR(o, lambda e: 0.9**e),
    "lambdas": lambda s, o: s.LambdaLR(o, [lambda e: 1 / (1 + e), lambda e: 2.0]),
    "multiplicative": lambda s, o: s.MultiplicativeLR(o, lambda e: 0.9 + 0.01 * e),
    "cosine": lambda s, o: s.CosineAnnealingLR(o, 4, eta_min=0.01),
    "restarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 3, T_mult=2, eta_min=0.01),
    "restarts alike": lambda s, o: s.CosineAnnealingWarmRestarts(o, 4),
    "cyclic": lambda s, o: s.CyclicLR(o, 0.1, 0.5, step_size_up=3, step_size_down=2),
    "cyclic halving": lambda s, o: s.CyclicLR(o, [0.1, 0.2], [0.5, 0.6], step_size_up=3, mode="triangular2"),
    "cyclic decaying": lambda s, o: s.CyclicLR(o, 0.1, 0.5, step_size_up=3, mode="exp_range", gamma=0.9),
    "cyclic own": lambda s, o: s.CyclicLR(o, 0.1, 0.5, step_size_up=3, scale_fn=lambda x: 1 / x, cycle_momentum=False),
    "one cycle": lambda s, o: s.OneCycleLR(o, 0.5, total_steps=12),
    "one cycle linear": lambda s, o: s.OneCycleLR(o, [0.5, 1.0], epochs=4, steps_per_epoch=3, anneal_strategy="linear"),
    "one cycle three": lambda s, o: s.OneCycleLR(o, 0.5, total_steps=12, three_phase=True, cycle_momentum=False),
    "sequential": lambda s, o: s.SequentialLR(
        o, [s.ConstantLR(o, 0.1, 2), s.ExponentialLR(o, 0.9), s.StepLR(o, 2)], [3, 7]
    ),
    "nested": lambda s, o: s.SequentialLR(
        o, [s.ChainedScheduler([s.LinearLR(o), s.ExponentialLR(o, 0.9)]), s.CosineAnnealingLR(o, 5)], [4]
    ),
    "chained": lambda s, o: s.ChainedScheduler([s.CosineAnnealingLR(o, 4), s.StepLR(o, 3), s.LinearLR(o)]),
}
OPTIMIZERS: dict[str, Callable[[Any, Any], Any]] = {
    "SGD": lambda o, groups: o.SGD(groups, lr=0.2, momentum=0.7),
    "Adam": lambda o, groups: o.Adam(groups, lr=0.2),
}


def optimizer_of(library: Any, kind: str = "SGD", tensor_rate: bool = False) -> Any:
    groups = [
        {"params": [library.ones(1, requires_grad=True)]},
        {"params": [library.ones(2, requires_grad=True)], "lr": 1.0},
    ]
    if tensor_rate:
        groups[1]["lr"] = library.tensor(1.0)
    return OPTIMIZERS[kind](library.optim, groups)


def options(optimizer: Any) -> list[Any]:
    found = []
    for group in optimizer.param_groups:
        momentum = group["betas"][0] if "betas" in group else group["momentum"]
        found += [float(group["lr"]), float(momentum)]
    return found


def schedule(library: Any, name: str, kind: str = "SGD", tensor_rate: bool = False, steps: int = 11) -> list[Any]:
    optimizer = optimizer_of(library, kind, tensor_rate)
    scheduler = SCHEDULERS[name](library.optim.lr_scheduler, optimizer)
    found = [options(optimizer)]
    for _ in range(steps):
        optimizer.step()
        scheduler.step()
        found.append(options(optimizer) + [float(r) for r in scheduler.get_last_lr()])
    return found


@pytest.mark.parametrize("tensor_rate", [False, True])
@pytest.mark.parametrize("kind", OPTIMIZERS)
@pytest.mark.parametrize("name", SCHEDULERS)
@pytest.mark.filterwarnings("ignore:Detected call")
def test_rates_equal_pytorchs(name: str, kind: str, tensor_rate: bool) -> None:
    reference = pytest.importorskip("torch")
    ours, theirs = (schedule(library, name, kind, tensor_rate) for library in (minitorch, reference))
    for a, b in zip(ours, theirs, strict=True):
        assert a == pytest.approx(b, rel=1e-6 if tensor_rate else 1e-12)


@pytest.mark.parametrize("name", SCHEDULERS)
@pytest.mark.filterwarnings("ignore:Detected call")
def test_states_equal_pytorchs_and_are_taken_over(name: str) -> None:
    reference = pytest.importorskip("torch")
    states = []
    for library in (minitorch, reference):
        optimizer = optimizer_of(library)
        scheduler = SCHEDULERS[name](library.optim.lr_scheduler, optimizer)
        for _ in range(3):
            optimizer.step()
            scheduler.step()
        states.append((optimizer, scheduler))
    ours, theirs = (scheduler.state_dict() for _, scheduler in states)
    assert plain(ours) == plain(theirs)
    optimizer = optimizer_of(minitorch)
    scheduler = SCHEDULERS[name](minitorch.optim.lr_scheduler, optimizer)
    optimizer.load_state_dict(states[0][0].state_dict())
    scheduler.load_state_dict(copy.deepcopy(theirs))
    for _ in range(4):
        for one, other in [*states, (optimizer, scheduler)]:
            one.step()
            other.step()
        assert options(optimizer) == pytest.approx(options(states[1][0]))


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return pytest.approx(value) if isinstance(value, float) else value


METRICS = [3.0, 2.0, 1.9999, 2.5, 2.5, 2.5, 2.5, 1.0, 0.5, 0.5, 0.5, 0.5, float("nan"), 0.5, 0.5, 0.5]


@pytest.mark.parametrize(
    "arguments",
    [
        {}, {"patience": 1}, {"patience": 0, "factor": 0.5}, {"mode": "max", "patience": 1},
        {"patience": 1, "cooldown": 2}, {"patience": 0, "min_lr": 0.05}, {"patience": 0, "min_lr": [0.05, 0.5]},
        {"patience": 1, "threshold": 0.3, "threshold_mode": "abs"}, {"patience": 1, "threshold": 0.3},
        {"mode": "max", "patience": 1, "threshold_mode": "abs"}, {"patience": 0, "eps": 0.1},
    ],
    ids=str,
)  # fmt: skip
def test_plateaus_equal_pytorchs(arguments: dict[str, Any]) -> None:
    reference = pytest.importorskip("torch")
    found = []
    for library in (minitorch, reference):
        optimizer = optimizer_of(library)
        scheduler = library.optim.lr_scheduler.ReduceLROnPlateau(optimizer, **arguments)
        rates = []
        for metric in METRICS:
            scheduler.step(library.tensor(metric, dtype=library.float64))
            rates += [options(optimizer), scheduler.get_last_lr()]
        found.append((rates, plain(scheduler.state_dict())))
    assert found[0][1] == found[1][1]
    for a, b in zip(found[0][0], found[1][0]):
        assert a == pytest.approx(b)


def test_a_deprecated_epoch_goes_there() -> None:
    optimizer = optimizer_of(torch)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 3, gamma=0.5)
    optimizer.step()
    with pytest.warns(UserWarning, match="epoch parameter"):
        scheduler.step(7)
    assert scheduler.get_last_lr() == [0.05, 0.25]


def test_steps_in_the_wrong_order_are_warned_of() -> None:
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer_of(torch), 0.5)
    with pytest.warns(UserWarning, match=r"`lr_scheduler.step\(\)` before `optimizer.step\(\)`"):
        scheduler.step()
    with pytest.warns(UserWarning, match="get_last_lr"):
        scheduler.get_lr()


def test_resuming_needs_the_first_rates() -> None:
    optimizer = optimizer_of(torch)
    with pytest.raises(KeyError, match="initial_lr"):
        torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5, last_epoch=3)
    for group in optimizer.param_groups:
        group["initial_lr"] = group["lr"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5, last_epoch=3)
    assert scheduler.get_last_lr() == [0.1, 0.5]


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda s, o: s.StepLR(None, 3), TypeError),
        (lambda s, o: s.LambdaLR(o, [lambda e: 1]), ValueError),
        (lambda s, o: s.MultiplicativeLR(o, 3), TypeError),
        (lambda s, o: s.ConstantLR(o, factor=1.5), ValueError),
        (lambda s, o: s.LinearLR(o, start_factor=0), ValueError),
        (lambda s, o: s.LinearLR(o, end_factor=-1), ValueError),
        (lambda s, o: s.CosineAnnealingWarmRestarts(o, 0), ValueError),
        (lambda s, o: s.CosineAnnealingWarmRestarts(o, 2, T_mult=0), ValueError),
        (lambda s, o: s.CosineAnnealingWarmRestarts(o, 2).step(-1), ValueError),
        (lambda s, o: s.CyclicLR(o, [0.1], 0.5), ValueError),
        (lambda s, o: s.CyclicLR(o, 0.1, 0.5, mode="square"), ValueError),
        (lambda s, o: s.OneCycleLR(o, 0.5), ValueError),
        (lambda s, o: s.OneCycleLR(o, 0.5, total_steps=-1), ValueError),
        (lambda s, o: s.OneCycleLR(o, 0.5, total_steps=5, pct_start=2.0), ValueError),
        (lambda s, o: s.OneCycleLR(o, 0.5, total_steps=5, anneal_strategy="square"), ValueError),
        (lambda s, o: s.SequentialLR(o, [], []), ValueError),
        (lambda s, o: s.SequentialLR(o, [s.StepLR(o, 1)], [2]), ValueError),
        (lambda s, o: s.SequentialLR(o, [s.ReduceLROnPlateau(o)], []), ValueError),
        (lambda s, o: s.ChainedScheduler([]), ValueError),
        (lambda s, o: s.ChainedScheduler([s.StepLR(o, 1), s.StepLR(optimizer_of(torch), 1)]), ValueError),
        (lambda s, o: s.ReduceLROnPlateau(o, factor=1.0), ValueError),
        (lambda s, o: s.ReduceLROnPlateau(o, mode="best"), ValueError),
        (lambda s, o: s.ReduceLROnPlateau(o, threshold_mode="best"), ValueError),
        (lambda s, o: s.ReduceLROnPlateau(o, min_lr=[0.1]), ValueError),
    ],
)
def test_refusals(make: Make, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"\w+"):
        make(torch.optim.lr_scheduler, optimizer_of(torch))


def test_momentum_is_needed_to_cycle_it() -> None:
    optimizer = torch.optim.Adagrad([torch.ones(1, requires_grad=True)])
    for make in (torch.optim.lr_scheduler.CyclicLR, torch.optim.lr_scheduler.OneCycleLR):
        arguments = (0.1, 0.5) if make is torch.optim.lr_scheduler.CyclicLR else (0.5, 9)
        with pytest.raises(ValueError, match="momentum or beta1"):
            make(optimizer, *arguments)


def test_a_cycle_has_an_end() -> None:
    optimizer = optimizer_of(torch)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.5, total_steps=2)
    optimizer.step()
    scheduler.step()
    scheduler.step()
    with pytest.raises(ValueError, match="Tried to step 3 times"):
        scheduler.step()


@pytest.mark.parametrize("name", ["lambda", "cyclic", "sequential", "chained"])
def test_a_state_without_its_parts_changes_nothing(name: str) -> None:
    schedulers, weight = torch.optim.lr_scheduler, torch.nn.Parameter(torch.ones(1))
    optimizer = torch.optim.SGD([weight], lr=0.1, momentum=0.9)
    if name == "sequential":
        parts = [schedulers.ExponentialLR(optimizer, 0.9) for _ in range(2)]
        scheduler = schedulers.SequentialLR(optimizer, parts, [2])
    elif name == "chained":
        scheduler = schedulers.ChainedScheduler([schedulers.ExponentialLR(optimizer, 0.9)])
    else:
        scheduler = SCHEDULERS[name](schedulers, optimizer)
    before = dict(scheduler.__dict__)
    with pytest.raises(KeyError):
        scheduler.load_state_dict({"last_epoch": 7})
    assert dict(scheduler.__dict__) == before
