"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._elementwise import Block, ElementwiseOptimizer
from .optimizer import not_negative


class SGD(ElementwiseOptimizer):
    """Stochastic gradient descent, with momentum if wanted.

    Parameters
    ----------
    params : iterable
        Tensors, or groups of them.
    lr : float or Tensor
        The learning rate.
    momentum : float
        How much of the previous change is kept.
    dampening : float
        How much the gradient counts less towards the momentum.
    weight_decay : float
        What multiple of the parameters is added to their gradient.
    nesterov : bool
        Whether the momentum looks ahead.
    maximize : bool
        Whether to go uphill.
    foreach, fused : bool, optional
        Accepted; there is one implementation.
    differentiable : bool
        Must be False.

    Raises
    ------
    ValueError
        For options out of range.

    Notes
    -----
    Source: Sutskever et al., "On the importance of initialization and momentum in deep learning", 2013.

    Examples
    --------
    >>> import minitorch as torch
    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.SGD([w], lr=0.25)
    >>> for _ in range(3):
    ...     optimizer.zero_grad()
    ...     (w * w).sum().backward()
    ...     optimizer.step()
    >>> w
    tensor([0.1250], requires_grad=True)
    """

    counters = ()

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        not_negative("learning rate", lr)
        not_negative("momentum value", momentum)
        not_negative("weight_decay value", weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        defaults = {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay, "nesterov": nesterov,
            "maximize": maximize, "foreach": foreach, "differentiable": differentiable, "fused": fused,
        }  # fmt: skip
        super().__init__(params, defaults)

    def state_names(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("momentum_buffer",) if group["momentum"] else ()

    def factor(self, group: dict[str, Any]) -> float | None:
        return None if group["momentum"] or group["weight_decay"] else float(group["lr"])

    def rule(self, group: dict[str, Any], block: Block, gradient: np.ndarray, values: np.ndarray | None) -> None:
        momentum, lr = group["momentum"], float(group["lr"])
        if not momentum:
            np.multiply(gradient, block.number(lr), block.change)
            return
        buffer = block.state["momentum_buffer"]
        if block.fresh:
            buffer[...] = gradient
        else:
            buffer *= momentum
            kept = 1 - group["dampening"]
            buffer += gradient if kept == 1 else np.multiply(gradient, kept, block.spare)
        if group["nesterov"]:
            np.multiply(buffer, momentum, block.change)
            block.change += gradient
            block.change *= lr
        else:
            np.multiply(buffer, lr, block.change)
