"""Averages of a model's parameters over training: stochastic weight averaging and exponential moving averages."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .. import _runtime
from .._as_one import as_one
from .._modes import no_grad
from ..nn.modules.batchnorm import _BatchNorm
from ..nn.modules.module import Module
from .lr_scheduler import LRScheduler
from .lr_scheduler._base import one_for_each
from .optimizer import Optimizer

__all__ = [
    "SWALR", "AveragedModel", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn", "get_swa_multi_avg_fn",
    "update_bn",
]  # fmt: skip


def _check_decay(decay: float) -> None:
    if not 0.0 <= decay <= 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def get_ema_avg_fn(decay: float = 0.999) -> Callable[[Any, Any, Any], Any]:
    """A function that averages exponentially, for ``AveragedModel(avg_fn=...)``.

    Parameters
    ----------
    decay : float
        How much of the average is kept, from 0 to 1.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.optim.swa_utils.get_ema_avg_fn(0.75)(torch.tensor(1.0), torch.tensor(5.0), 1)
    tensor(2.)
    """
    _check_decay(decay)

    def ema_update(ema_param: Any, current_param: Any, num_averaged: Any) -> Any:
        with no_grad():
            return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn() -> Callable[[Any, Any, Any], Any]:
    """A function that averages equally, for ``AveragedModel(avg_fn=...)``; it is the default.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.optim.swa_utils.get_swa_avg_fn()(torch.tensor(1.0), torch.tensor(5.0), 3)
    tensor(2.)
    """

    def swa_update(averaged_param: Any, current_param: Any, num_averaged: Any) -> Any:
        with no_grad():
            return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[[Any, Any, Any], None]:
    """As ``get_ema_avg_fn``, for ``AveragedModel(multi_avg_fn=...)``: it changes a list of averages in place.

    Examples
    --------
    >>> import minitorch as torch
    >>> average = [torch.tensor(1.0)]
    >>> torch.optim.swa_utils.get_ema_multi_avg_fn(0.75)(average, [torch.tensor(5.0)], 1)
    >>> average
    [tensor(2.)]
    """
    _check_decay(decay)

    def ema_update(ema_param_list: Any, current_param_list: Any, _: Any) -> None:
        with no_grad():
            for average, current in zip(ema_param_list, current_param_list, strict=True):
                if average.is_floating_point():
                    average.lerp_(current, 1 - decay)
                else:
                    average.copy_(average * decay + current * (1 - decay))

    return ema_update


def get_swa_multi_avg_fn() -> Callable[[Any, Any, Any], None]:
    """As ``get_swa_avg_fn``, for ``AveragedModel(multi_avg_fn=...)``: it changes a list of averages in place.

    Examples
    --------
    >>> import minitorch as torch
    >>> average = [torch.tensor(1.0)]
    >>> torch.optim.swa_utils.get_swa_multi_avg_fn()(average, [torch.tensor(5.0)], 3)
    >>> average
    [tensor(2.)]
    """

    def swa_update(averaged_param_list: Any, current_param_list: Any, num_averaged: Any) -> None:
        with no_grad():
            part = 1 / (float(num_averaged) + 1)
            for average, current in zip(averaged_param_list, current_param_list, strict=True):
                if average.is_floating_point():
                    average.lerp_(current, part)
                else:
                    average.add_(((current - average) * part).to(average.dtype))

    return swa_update


class AveragedModel(Module):
    """A copy of a model whose parameters are averages of the model's.

    Parameters
    ----------
    model : Module
        The model.
    device : device, optional
        Where the copy is; there is one device.
    avg_fn : callable, optional
        ``new = avg_fn(average, current, number_of_models_averaged)``; by default, all count the same.
    multi_avg_fn : callable, optional
        The same for lists of tensors, in place.
    use_buffers : bool
        Whether buffers are averaged too; otherwise they are copied.

    Raises
    ------
    AssertionError
        If both functions are given.

    Examples
    --------
    >>> import minitorch as torch
    >>> model = torch.nn.Linear(1, 1, bias=False)
    >>> average = torch.optim.swa_utils.AveragedModel(model)
    >>> for value in (1.0, 2.0, 6.0):
    ...     _ = torch.nn.init.constant_(model.weight, value)
    ...     average.update_parameters(model)
    >>> average.module.weight.item()
    3.0
    """

    n_averaged: Any

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Callable[[Any, Any, Any], Any] | None = None,
        multi_avg_fn: Callable[[Any, Any, Any], None] | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", _runtime.wrap(np.array(0)))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the averaged model returns."""
        return self.module(*args, **kwargs)

    @as_one
    def update_parameters(self, model: Module) -> None:
        """Take the model's parameters, as they are now, into the averages."""
        buffers, current_buffers = list(self.module.buffers()), list(model.buffers())
        averages = itertools.chain(self.module.parameters(), buffers if self.use_buffers else ())
        currents = itertools.chain(model.parameters(), current_buffers if self.use_buffers else ())
        pairs = [(a.detach(), c.detach()) for a, c in zip(averages, currents)]
        if self.n_averaged.item() == 0:
            for average, current in pairs:
                average.copy_(current)
        elif self.multi_avg_fn is not None:
            for dtype in dict.fromkeys([average.dtype for average, _ in pairs]):
                alike = [pair for pair in pairs if pair[0].dtype == dtype]
                self.multi_avg_fn([a for a, _ in alike], [c for _, c in alike], self.n_averaged)
        else:
            averaged = self.avg_fn or get_swa_avg_fn()
            for average, current in pairs:
                average.copy_(averaged(average, current, self.n_averaged))
        if not self.use_buffers:
            for average, current in zip(buffers, current_buffers):
                average.detach().copy_(current.detach())
        self.n_averaged += 1


def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Compute the running statistics of a model's batch normalisations anew, from data.

    Parameters
    ----------
    loader : iterable
        Batches: tensors, or lists of which the first is the input.
    model : Module
        The model.
    device : device, optional
        Where to move the batches; there is one device.

    Examples
    --------
    >>> import minitorch as torch
    >>> model = torch.nn.BatchNorm1d(1)
    >>> torch.optim.swa_utils.update_bn([torch.tensor([[1.0], [3.0]])], model)
    >>> model.running_mean
    tensor([2.])
    """
    with no_grad():
        layers = [module for module in model.modules() if isinstance(module, _BatchNorm)]
        if not layers:
            return
        momenta = [layer.momentum for layer in layers]
        training = model.training
        model.train()
        for layer in layers:
            layer.reset_running_stats()
            layer.momentum = None
        for batch in loader:
            first = batch[0] if isinstance(batch, (list, tuple)) else batch
            model(first if device is None else first.to(device))
        for layer, momentum in zip(layers, momenta):
            layer.momentum = momentum
        model.train(training)


class SWALR(LRScheduler):
    """Moves the rates to *swa_lr* over some epochs, and leaves them there.

    Parameters
    ----------
    optimizer : Optimizer
        The optimizer.
    swa_lr : float or list of float
        The rate, for all groups or for each.
    anneal_epochs : int
        How many epochs.
    anneal_strategy : {"cos", "linear"}
        Along what it goes.
    last_epoch : int
        The epoch after which a resumed training goes on; -1 to begin.

    Raises
    ------
    ValueError
        For arguments out of range.

    Notes
    -----
    Source: Izmailov et al., "Averaging weights leads to wider optima and better generalization", 2018.

    Examples
    --------
    >>> import minitorch as torch
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = torch.optim.swa_utils.SWALR(optimizer, swa_lr=0.0, anneal_epochs=2, anneal_strategy="linear")
    >>> rates = []
    >>> for epoch in range(4):
    ...     rates += scheduler.get_last_lr()
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [1.0, 0.5, 0.0, 0.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: Any,
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        rates = one_for_each("swa_lr", optimizer, swa_lr)
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        for rate, group in zip(rates, optimizer.param_groups):
            group["swa_lr"] = rate
        self._anneal_strategy, self.anneal_epochs = anneal_strategy, anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _part(self, step: int) -> float:
        """How much of the new rate there is at a step."""
        part = max(0, min(1, step / max(1, self.anneal_epochs)))
        return part if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * part)) / 2

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._part(step - 1), self._part(step)
        rates = []
        for group in self.optimizer.param_groups:  # the old rate is what the last one was mixed from
            new = group["swa_lr"]
            old = new if before == 1 else (group["lr"] - before * new) / (1 - before)
            rates.append(new * now + old * (1 - now))
        return rates
