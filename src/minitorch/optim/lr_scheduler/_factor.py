"""Schedulers that multiply the rates by a factor at each epoch, so that several of them can be chained."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from ..optimizer import Optimizer
from ._base import LRScheduler, state_of_callables, values_of


class FactorScheduler(LRScheduler):
    """A scheduler that is told by the factor from one epoch to the next, the same for all groups."""

    def factor_now(self) -> float | None:
        """What the rates are multiplied by at ``self.last_epoch``; None: they stay."""
        raise NotImplementedError

    def factor_from_start(self) -> float:
        """The product of all factors so far."""
        raise NotImplementedError

    def get_lr(self) -> list[Any]:
        """The rates for ``self.last_epoch``, from those that the groups have."""
        self._warn_outside_step()
        factor = self.factor_now()
        if factor is None:
            return values_of(self.optimizer, "lr")
        return [group["lr"] * factor for group in self.optimizer.param_groups]

    def _get_closed_form_lr(self) -> list[Any]:
        factor = self.factor_from_start()
        return [base * factor for base in self.base_lrs]


class StepLR(FactorScheduler):
    """Multiplies the rates by *gamma* every *step_size* epochs.

    Parameters
    ----------
    optimizer : Optimizer
        The optimizer.
    step_size : int
        How many epochs the rates stay.
    gamma : float
        The factor.
    last_epoch : int
        The epoch after which a resumed training goes on; -1 to begin.

    Examples
    --------
    >>> import minitorch as torch
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    >>> rates = []
    >>> for epoch in range(5):
    ...     rates += scheduler.get_last_lr()
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [1.0, 1.0, 0.5, 0.5, 0.25]
    """

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def factor_now(self) -> float | None:
        return None if self.last_epoch == 0 or self.last_epoch % self.step_size else self.gamma

    def factor_from_start(self) -> float:
        return self.gamma ** (self.last_epoch // self.step_size)


class MultiStepLR(FactorScheduler):
    """Multiplies the rates by *gamma* at each milestone.

    Parameters
    ----------
    optimizer : Optimizer
        The optimizer.
    milestones : iterable of int
        The epochs.
    gamma : float
        The factor.
    last_epoch : int
        The epoch after which a resumed training goes on; -1 to begin.

    Examples
    --------
    >>> import minitorch as torch
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[1, 3], gamma=0.5)
    >>> rates = []
    >>> for epoch in range(5):
    ...     rates += scheduler.get_last_lr()
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [1.0, 0.5, 0.5, 0.25, 0.25]
    """

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def factor_now(self) -> float | None:
        times = self.milestones.get(self.last_epoch)
        return None if times is None else self.gamma**times

    def factor_from_start(self) -> float:
        return self.gamma ** bisect_right(sorted(self.milestones.elements()), self.last_epoch)


class ConstantLR(FactorScheduler):
    """Keeps the rates multiplied by *factor* for the first *total_iters* epochs.

    Parameters
    ----------
    optimizer : Optimizer
        The optimizer.
    factor : float
        The factor, from 0 to 1.
    total_iters : int
        How many epochs.
    last_epoch : int
        The epoch after which a resumed training goes on; -1 to begin.

    Raises
    ------
    ValueError
        For a factor out of range.

    Examples
    --------
    >>> import minitorch as torch
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.ConstantLR(optimizer, factor=0.25, total_iters=2)
    >>> rates = []
    >>> for epoch in range(4):
    ...     rates += scheduler.get_last_lr()
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [0.25, 0.25, 1.0, 1.0]
    """

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        if not 0 <= factor <= 1.0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def factor_now(self) -> float | None:
        if self.last_epoch == 0:
            return self.factor
        return 1.0 / self.factor if self.last_epoch == self.total_iters else None

    def factor_from_start(self) -> float:
        return self.factor + (self.last_epoch >= self.total_iters) * (1 - self.factor)


class LinearLR(FactorScheduler):
    """Moves the rates from *start_factor* to *end_factor* times theirs, in equal steps over *total_iters* epochs.

    Parameters
    ----------
    optimizer : Optimizer
        The optimizer.
    start_factor : float
        The first factor, above 0 and up to 1.
    end_factor : float
        The last factor, from 0 to 1.
    total_iters : int
        How many epochs.
    last_epoch : int
        The epoch after which a resumed training goes on; -1 to begin.

    Raises
    ------
    ValueError
        For factors out of range.

    Examples
    --------
    >>> import minitorch as torch
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.5, total_iters=2)
    >>> rates = []
    >>> for epoch in range(4):
    ...     rates += scheduler.get_last_lr()
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [0.5, 0.75, 1.0, 1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 < start_factor <= 1.0:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if not 0 <= end_factor <= 1.0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def factor_now(self) -> float | None:
        if self.last_epoch == 0:
            return self.start_factor
        if self._is_initial or self.last_epoch > self.total_iters:
            return None
        rise = self.end_factor - self.start_factor
        return 1.0 + rise / (self.total_iters * self.start_factor + (self.last_epoch - 1) * rise)

    def factor_from_start(self) -> float:
        done = min(self.total_iters, self.last_epoch) / self.total_iters
        return self.start_factor + (self.end_factor - self.start_factor) * done


class ExponentialLR(FactorScheduler):
    """Multiplies the rates by *gamma* every epoch.

    Parameters
    ----------
    optimizer : Optimizer
        The optimizer.
    gamma : float
        The factor.
    last_epoch : int
        The epoch after which a resumed training goes on; -1 to begin.

    Examples
    --------
    >>> import minitorch as torch
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> rates = []
    >>> for epoch in range(3):
    ...     rates += scheduler.get_last_lr()
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [1.0, 0.5, 0.25]
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def factor_now(self) -> float | None:
        return None if self._is_initial else self.gamma

    def factor_from_start(self) -> float:
        return self.gamma**self.last_epoch


class PolynomialLR(FactorScheduler):
    """Lets the rates fall to zero over *total_iters* epochs, as a power of what is left of them.

    Parameters
    ----------
    optimizer : Optimizer
        The optimizer.
    total_iters : int
        How many epochs.
    power : float
        The power.
    last_epoch : int
        The epoch after which a resumed training goes on; -1 to begin.

    Examples
    --------
    >>> import minitorch as torch
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=4, power=2)
    >>> rates = []
    >>> for epoch in range(5):
    ...     rates += scheduler.get_last_lr()
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [1.0, 0.5625, 0.25, 0.0625, 0.0]
    """

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def factor_now(self) -> float | None:
        if self._is_initial or self.last_epoch > self.total_iters:
            return None
        left, left_before = [1.0 - epoch / self.total_iters for epoch in (self.last_epoch, self.last_epoch - 1)]
        return (left / left_before) ** self.power

    def factor_from_start(self) -> float:
        return (1.0 - min(self.total_iters, self.last_epoch) / self.total_iters) ** self.power


class LambdaScheduler(LRScheduler):
    """A scheduler that asks functions of the user, one for each group."""

    lr_lambdas: list[Callable[[int], float]]

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        groups = optimizer.param_groups
        if isinstance(lr_lambda, (list, tuple)):
            if len(lr_lambda) != len(groups):
                raise ValueError(f"Expected {len(groups)} lr_lambdas, but got {len(lr_lambda)}")
            self.lr_lambdas = list(lr_lambda)
        else:
            self.lr_lambdas = [lr_lambda] * len(groups)
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """All that the scheduler knows but its optimizer; of the functions, the attributes of those that are objects."""
        return super().state_dict() | {"lr_lambdas": state_of_callables(self.lr_lambdas)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what ``state_dict()`` returned; functions stay the scheduler's own."""
        states = state_dict["lr_lambdas"]
        super().load_state_dict({k: v for k, v in state_dict.items() if k != "lr_lambdas"})
        for function, state in zip(self.lr_lambdas, states):
            if state is not None:
                function.__dict__.update(state)


class LambdaLR(LambdaScheduler):
    """Sets the rates to the first ones times a function of the epoch.

    Parameters
    ----------
    optimizer : Optimizer
        The optimizer.
    lr_lambda : callable or list of callable
        ``factor = lr_lambda(epoch)``; one for all groups, or one for each.
    last_epoch : int
        The epoch after which a resumed training goes on; -1 to begin.

    Raises
    ------
    ValueError
        If there are not as many functions as groups.

    Examples
    --------
    >>> import minitorch as torch
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=8.0)
    >>> scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 1 / (1 + epoch))
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [4.0]
    """

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        return [base * f(self.last_epoch) for f, base in zip(self.lr_lambdas, self.base_lrs, strict=True)]


class MultiplicativeLR(LambdaScheduler):
    """Multiplies the rates by a function of the epoch at each.

    Parameters
    ----------
    optimizer : Optimizer
        The optimizer.
    lr_lambda : callable or list of callable
        ``factor = lr_lambda(epoch)``; one for all groups, or one for each.
    last_epoch : int
        The epoch after which a resumed training goes on; -1 to begin.

    Raises
    ------
    TypeError
        If a function cannot be called.
    ValueError
        If there are not as many functions as groups.

    Examples
    --------
    >>> import minitorch as torch
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=8.0)
    >>> scheduler = torch.optim.lr_scheduler.MultiplicativeLR(optimizer, lambda epoch: 0.5)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [4.0]
    """

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        for function in lr_lambda if isinstance(lr_lambda, (list, tuple)) else [lr_lambda]:
            if not callable(function):
                raise TypeError(f"lr_lambda should be a function, but got {type(function).__name__}")
        super().__init__(optimizer, lr_lambda, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        if self._is_initial:
            return values_of(self.optimizer, "lr")
        groups = self.optimizer.param_groups
        return [group["lr"] * f(self.last_epoch) for f, group in zip(self.lr_lambdas, groups, strict=True)]
