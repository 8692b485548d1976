"""Schedulers that move the rates up and down, and momentum the other way."""

from __future__ import annotations

import math
import types
from collections.abc import Callable
from typing import Any

from ..optimizer import Optimizer
from ._base import LRScheduler, checked, one_for_each, put


class MomentumScheduler(LRScheduler):
    """A scheduler that may also set the momentum: ``momentum``, or the first of ``betas``, of each group."""

    def _begin_momentum(self, optimizer: Optimizer, lowest: list[Any], highest: list[Any], fresh: bool) -> None:
        """See which option it is, and set it to the highest, with which it begins."""
        self.use_beta1 = "betas" in optimizer.defaults
        if fresh:
            for low, high, group in zip(lowest, highest, optimizer.param_groups, strict=True):
                self._put_momentum(group, high)
                group["max_momentum"], group["base_momentum"] = high, low

    def _put_momentum(self, group: dict[str, Any], value: float) -> None:
        if self.use_beta1:
            group["betas"] = (value, *group["betas"][1:])
        else:
            group["momentum"] = value


def check_has_momentum(optimizer: Optimizer) -> None:
    """Refuse an optimizer without momentum."""
    if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
        raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")


class CyclicLR(MomentumScheduler):
    """Moves the rates up from *base_lr* to *max_lr* and down again, step by step, and momentum the other way.

    Parameters
    ----------
    optimizer : Optimizer
        The optimizer.
    base_lr, max_lr : float or list of float
        The lowest and the highest rate, for all groups or for each.
    step_size_up : int
        How many steps it goes up.
    step_size_down : int, optional
        How many steps it goes down; as many by default.
    mode : {"triangular", "triangular2", "exp_range"}
        Whether all cycles are as high, each is half as high as the one before, or the height is multiplied by *gamma* at
        each step.
    gamma : float
        That factor.
    scale_fn : callable, optional
        The height, as a function, in place of *mode*.
    scale_mode : {"cycle", "iterations"}
        Whether *scale_fn* is given the number of the cycle, from 1, or that of the step.
    cycle_momentum : bool
        Whether to set the momentum too.
    base_momentum, max_momentum : float or list of float
        The lowest and the highest momentum.
    last_epoch : int
        The step after which a resumed training goes on; -1 to begin.

    Raises
    ------
    ValueError
        For an unknown mode, or an optimizer without momentum where that is to be set.

    Notes
    -----
    Source: Smith, "Cyclical learning rates for training neural networks", 2015.

    Examples
    --------
    >>> import minitorch as torch
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0, momentum=0.9)
    >>> scheduler = torch.optim.lr_scheduler.CyclicLR(optimizer, base_lr=0.0, max_lr=1.0, step_size_up=2)
    >>> rates = []
    >>> for batch in range(5):
    ...     rates += scheduler.get_last_lr()
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: Any,
        max_lr: Any,
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.8,
        max_momentum: Any = 0.9,
        last_epoch: int = -1,
    ) -> None:
        self.optimizer = checked(optimizer)
        base_lrs = one_for_each("base_lr", optimizer, base_lr)
        self.max_lrs = one_for_each("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        self.total_size = up + (up if step_size_down is None else float(step_size_down))
        self.step_ratio = up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode, self.gamma, self._scale_fn_custom = mode, gamma, scale_fn
        self.scale_mode = scale_mode
        if scale_fn is None:
            self.scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            check_has_momentum(optimizer)
        if last_epoch == -1:
            for rate, group in zip(base_lrs, optimizer.param_groups, strict=True):
                put(group, "lr", rate)
        if cycle_momentum:
            self.base_momentums = one_for_each("base_momentum", optimizer, base_momentum)
            self.max_momentums = one_for_each("max_momentum", optimizer, max_momentum)
            self._begin_momentum(optimizer, self.base_momentums, self.max_momentums, last_epoch == -1)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """The height of the cycle, or at the step, *x*."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        return {"triangular": 1.0, "triangular2": 2.0 ** (1 - x), "exp_range": self.gamma**x}[self.mode]

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            groups = zip(self.base_momentums, self.max_momentums, self.optimizer.param_groups, strict=True)
            for low, high, group in groups:
                self._put_momentum(group, high - (high - low) * height * scale)
        return [low + (high - low) * height * scale for low, high in zip(self.base_lrs, self.max_lrs, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        """All that the scheduler knows but its optimizer; of *scale_fn*, the attributes where it is an object."""
        function = self._scale_fn_custom
        kept = function is not None and not isinstance(function, types.FunctionType)
        return super().state_dict() | {"_scale_fn_custom": function.__dict__.copy() if kept else None}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what ``state_dict()`` returned; the function stays the scheduler's own."""
        state = state_dict["_scale_fn_custom"]
        super().load_state_dict({k: v for k, v in state_dict.items() if k != "_scale_fn_custom"})
        if state is not None and self._scale_fn_custom is not None:
            self._scale_fn_custom.__dict__.update(state)


class OneCycleLR(MomentumScheduler):
    """Moves the rates up from ``max_lr / div_factor`` to *max_lr* and far down, in one cycle over the whole training.

    Call ``step`` after each batch.

    Parameters
    ----------
    optimizer : Optimizer
        The optimizer.
    max_lr : float or list of float
        The highest rate, for all groups or for each.
    total_steps : int, optional
        How many steps there are; or give *epochs* and *steps_per_epoch*.
    epochs, steps_per_epoch : int, optional
        How many they are.
    pct_start : float
        What part of the steps it goes up.
    anneal_strategy : {"cos", "linear"}
        Along what it goes.
    cycle_momentum : bool
        Whether to set the momentum too, the other way.
    base_momentum, max_momentum : float or list of float
        The lowest and the highest momentum.
    div_factor : float
        What the highest rate is divided by at the beginning.
    final_div_factor : float
        What the first rate is divided by at the end.
    three_phase : bool
        Whether it goes down to the first rate as fast as it went up, and then to the last one.
    last_epoch : int
        The step after which a resumed training goes on; -1 to begin.

    Raises
    ------
    ValueError
        For arguments out of range; from ``step`` when there are more steps than were announced.

    Notes
    -----
    Source: Smith and Topin, "Super-convergence: very fast training of neural networks using large learning rates", 2017.

    Examples
    --------
    >>> import minitorch as torch
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1, momentum=0.9)
    >>> scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=10)
    >>> rates = []
    >>> for batch in range(9):
    ...     rates += scheduler.get_last_lr()
    ...     optimizer.step()
    ...     scheduler.step()
    >>> [round(rate, 3) for rate in rates[:4]]
    [0.04, 0.52, 1.0, 0.95]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: Any,
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.85,
        max_momentum: Any = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        self.optimizer = checked(optimizer)
        self.total_steps = number_of_steps(total_steps, epochs, steps_per_epoch)
        if not isinstance(pct_start, float) or not 0 <= pct_start <= 1:
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._schedule_phases = phases(self.total_steps, pct_start, three_phase)
        self._anneal_func_type = anneal_strategy
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            check_has_momentum(optimizer)
        highest = one_for_each("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for high, group in zip(highest, optimizer.param_groups):
                group["initial_lr"], group["max_lr"] = high / div_factor, high
                group["min_lr"] = group["initial_lr"] / final_div_factor
        if cycle_momentum:
            low, high = [
                one_for_each(name, optimizer, value)
                for name, value in (("base_momentum", base_momentum), ("max_momentum", max_momentum))
            ]
            self._begin_momentum(optimizer, low, high, last_epoch == -1)
        super().__init__(optimizer, last_epoch)

    def _between(self, start: float, end: float, part: float) -> float:
        if self._anneal_func_type == "cos":
            return end + (start - end) / 2.0 * (math.cos(math.pi * part) + 1)
        return (end - start) * part + start

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(f"Tried to step {step} times. The specified number of total steps is {self.total_steps}")
        start = 0.0
        for phase in self._schedule_phases:
            if step <= phase["end_step"] or phase is self._schedule_phases[-1]:
                break
            start = phase["end_step"]
        part = (step - start) / (phase["end_step"] - start)
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(self._between(group[phase["start_lr"]], group[phase["end_lr"]], part))
            if self.cycle_momentum:
                momentum = self._between(group[phase["start_momentum"]], group[phase["end_momentum"]], part)
                self._put_momentum(group, momentum)
        return rates


def number_of_steps(total: Any, epochs: Any, steps_per_epoch: Any) -> int:
    """How many steps the training has: as said, or as a product."""
    if total is not None:
        if not isinstance(total, int) or total <= 0:
            raise ValueError(f"Expected positive integer total_steps, but got {total}")
        return total
    if epochs is None or steps_per_epoch is None:
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    for name, number in (("epochs", epochs), ("steps_per_epoch", steps_per_epoch)):
        if not isinstance(number, int) or number <= 0:
            raise ValueError(f"Expected positive integer {name}, but got {number}")
    return epochs * steps_per_epoch


def phases(total: int, part: float, three: bool) -> list[dict[str, Any]]:
    """The phases: until which step, and between which of a group's options rates and momentum go."""
    up = ("initial_lr", "max_lr", "max_momentum", "base_momentum")
    if three:
        ends = [
            (float(part * total) - 1, up),
            (float(2 * part * total) - 2, ("max_lr", "initial_lr", "base_momentum", "max_momentum")),
            (total - 1, ("initial_lr", "min_lr", "max_momentum", "max_momentum")),
        ]
    else:
        ends = [(float(part * total) - 1, up), (total - 1, ("max_lr", "min_lr", "base_momentum", "max_momentum"))]
    names = ("start_lr", "end_lr", "start_momentum", "end_momentum")
    return [{"end_step": end} | dict(zip(names, options)) for end, options in ends]
