"""Cosine annealing."""

from __future__ import annotations

import math
from typing import Any

from ..._as_one import as_one
from ..optimizer import Optimizer
from ._base import LRScheduler, values_of


class CosineAnnealingLR(LRScheduler):
    """Lets the rates fall to *eta_min* over *T_max* epochs along half a period of a cosine, and rise again after that.

    Parameters
    ----------
    optimizer : Optimizer
        The optimizer.
    T_max : int
        How many epochs.
    eta_min : float
        The lowest rate.
    last_epoch : int
        The epoch after which a resumed training goes on; -1 to begin.

    Notes
    -----
    Each rate is computed from the one before, so that other schedulers may change it too.  Source: Loshchilov and Hutter,
    "SGDR: stochastic gradient descent with warm restarts", 2016.

    Examples
    --------
    >>> import minitorch as torch
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=4)
    >>> for epoch in range(2):
    ...     optimizer.step()
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def _raised(self, epoch: int) -> float:
        """One plus the cosine at an epoch."""
        return 1 + math.cos(math.pi * epoch / self.T_max)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        if self._is_initial:
            return values_of(self.optimizer, "lr")
        if self._step_count == 1 and self.last_epoch > 0:
            return self._get_closed_form_lr()
        groups = self.optimizer.param_groups
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:  # the rate before is the lowest: no ratio to it
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            return [g["lr"] + (base - self.eta_min) * rise for base, g in zip(self.base_lrs, groups, strict=True)]
        ratio = self._raised(self.last_epoch) / self._raised(self.last_epoch - 1)
        return [ratio * (group["lr"] - self.eta_min) + self.eta_min for group in groups]

    def _get_closed_form_lr(self) -> list[Any]:
        raised = self._raised(self.last_epoch)
        return [self.eta_min + (base - self.eta_min) * raised / 2 for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Lets the rates fall to *eta_min* along half a period of a cosine, again and again from the top.

    Parameters
    ----------
    optimizer : Optimizer
        The optimizer.
    T_0 : int
        How many epochs the first fall takes.
    T_mult : int
        How many times as long as the one before each of the next takes.
    eta_min : float
        The lowest rate.
    last_epoch : int
        The epoch after which a resumed training goes on; -1 to begin.

    Raises
    ------
    ValueError
        For arguments out of range.

    Notes
    -----
    Source: Loshchilov and Hutter, "SGDR: stochastic gradient descent with warm restarts", 2016.

    Examples
    --------
    >>> import minitorch as torch
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=2)
    >>> rates = []
    >>> for epoch in range(4):
    ...     rates += scheduler.get_last_lr()
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [1.0, 0.5, 1.0, 0.5]
    """

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        if not isinstance(T_0, int) or T_0 <= 0:
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if not isinstance(T_mult, int) or T_mult < 1:
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.T_0 = self.T_i = T_0
        self.T_mult, self.eta_min = T_mult, eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        raised = 1 + math.cos(math.pi * self.T_cur / self.T_i)
        return [self.eta_min + (base - self.eta_min) * raised / 2 for base in self.base_lrs]

    @as_one
    def step(self, epoch: float | None = None) -> None:
        """Go on to the next epoch, or to the one that is given, which may be a fraction, and set its rates.

        Examples
        --------
        >>> import minitorch as torch
        >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=2)
        >>> scheduler.step(3.0)
        >>> scheduler.get_last_lr()
        [0.5]
        """
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        else:
            self._go_to(epoch)
        self.last_epoch = math.floor(epoch)
        self._get_lr_called_within_step = True
        try:
            self._set(self.get_lr())
        finally:
            self._get_lr_called_within_step = False

    def _go_to(self, epoch: float) -> None:
        """Find where in which fall an epoch is."""
        if epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        if epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:  # the first n falls take T_0 (T_mult^n - 1) / (T_mult - 1) epochs
            n = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult**n - 1) / (self.T_mult - 1)
            self.T_i = self.T_0 * self.T_mult**n
