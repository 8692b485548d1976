"""The base of schedulers."""

from __future__ import annotations

import contextlib
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from ..._as_one import as_one
from ..._tensor import Tensor
from ..optimizer import Optimizer

EPOCH_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
    "`scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, the closed form is "
    "used instead of the new chainable form, where available."
)
ORDER = (
    "Call `optimizer.step()` before `lr_scheduler.step()`: in the other order the first value of the schedule is skipped. "
    "See https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
)


class LRScheduler:
    """Changes the learning rates of an optimizer's groups; the base of all schedulers and of users' own.

    A subclass defines ``get_lr``, which returns the rates for ``self.last_epoch``, one for each group.

    Parameters
    ----------
    optimizer : Optimizer
        The optimizer.
    last_epoch : int
        The epoch after which a resumed training goes on; -1 to begin.

    Attributes
    ----------
    base_lrs : list of float
        The rates at the beginning.
    last_epoch : int
        How often ``step`` was called.

    Raises
    ------
    TypeError
        If it is given no optimizer.
    KeyError
        If *last_epoch* says that training is resumed, but a group does not know its first rate (``"initial_lr"``).

    Examples
    --------
    >>> import minitorch as torch
    >>> class Halving(torch.optim.lr_scheduler.LRScheduler):
    ...     def get_lr(self):
    ...         return [base * 0.5**self.last_epoch for base in self.base_lrs]
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = Halving(optimizer)
    >>> for epoch in range(2):
    ...     optimizer.step()
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [0.25]
    """

    _get_lr_called_within_step = False
    _is_initial = False
    base_lrs: list[Any]
    last_epoch: int
    _last_lr: list[Any]
    _step_count: int

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        self.optimizer = checked(optimizer)
        for number, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", copied(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{number}] when resuming scheduler with "
                    "last_epoch >= 0: load the optimizer's state_dict first, or leave last_epoch at -1 for a fresh run"
                )
        self.base_lrs = values_of(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        self._initial_step()

    def _initial_step(self) -> None:
        """Set the rates of the first epoch."""
        self._step_count = 0
        with switched(self, "_is_initial"):
            self.step()

    def state_dict(self) -> dict[str, Any]:
        """All that the scheduler knows but its optimizer."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what ``state_dict()`` returned."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[Any]:
        """The rates that were set last, one for each group."""
        return self._last_lr

    def get_lr(self) -> list[Any]:
        """The rates for ``self.last_epoch``, one for each group; called by ``step``."""
        raise NotImplementedError

    @as_one
    def step(self, epoch: int | None = None) -> None:
        """Go on to the next epoch and set its rates; call it after ``optimizer.step()``.

        Parameters
        ----------
        epoch : int, optional
            Deprecated: the epoch to go to.
        """
        if self._step_count == 1 and not self.optimizer._stepped:
            warnings.warn(f"Detected call of `lr_scheduler.step()` before `optimizer.step()`. {ORDER}", stacklevel=2)
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_WARNING, stacklevel=2)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        """Go to an epoch, the next by default, and set its rates."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        rates = getattr(self, "_get_closed_form_lr", self.get_lr) if epoch is not None else self.get_lr
        with switched(self, "_get_lr_called_within_step"):
            values = rates()
        self._set(values)

    def _set(self, rates: list[Any]) -> None:
        """Give each group its rate."""
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            put(group, "lr", rate)
        self._last_lr = values_of(self.optimizer, "lr")

    def _warn_outside_step(self) -> None:
        """Warn where ``get_lr`` is called by people: it tells what comes next, not what is."""
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.", stacklevel=3
            )


@contextlib.contextmanager
def switched(scheduler: LRScheduler, name: str) -> Iterator[None]:
    """A flag of the scheduler is True inside."""
    setattr(scheduler, name, True)
    try:
        yield
    finally:
        setattr(scheduler, name, False)


def checked(optimizer: Any) -> Any:
    """Refuse what is no optimizer."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
    return optimizer


def copied(value: Any) -> Any:
    """A rate that does not change when the group's does: a tensor is copied."""
    return value.clone() if isinstance(value, Tensor) else value


def values_of(optimizer: Optimizer, key: str) -> list[Any]:
    """An option of every group."""
    return [copied(group[key]) for group in optimizer.param_groups]


def put(group: dict[str, Any], key: str, value: Any) -> None:
    """Set an option; one that is a tensor stays that tensor."""
    if isinstance(group[key], Tensor):
        group[key].fill_(value.item() if isinstance(value, Tensor) else value)
    else:
        group[key] = value


def one_for_each(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """An argument for every group: as many as there are, or one for all."""
    groups = optimizer.param_groups
    if not isinstance(value, (list, tuple)):
        return [copied(value) for _ in groups]
    if len(value) != len(groups):
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} values, param_groups "
            f"has {len(groups)}."
        )
    return [copied(v) for v in value]


def state_of_callables(functions: list[Callable[..., Any]]) -> list[Any]:
    """What can be saved of callables: the attributes of objects, nothing of functions."""
    return [None if isinstance(f, types.FunctionType) else f.__dict__.copy() for f in functions]
