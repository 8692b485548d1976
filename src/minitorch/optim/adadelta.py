"""Adadelta."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._elementwise import Block, ElementwiseOptimizer
from .optimizer import at_least_zero


class Adadelta(ElementwiseOptimizer):
    """Adadelta: the gradient times the ratio of the usual change to the usual gradient.

    Parameters
    ----------
    params : iterable
        Tensors, or groups of them.
    lr : float or Tensor
        What the change is multiplied by.
    rho : float
        How slowly the averages of squared gradients and squared changes move.
    eps : float
        Added to both averages.
    weight_decay : float
        What multiple of the parameters is added to their gradient.
    maximize : bool
        Whether to go uphill.
    foreach : bool, optional
        Accepted; there is one implementation.
    capturable : bool
        Only on graphics cards: with it, ``step`` raises AssertionError.
    differentiable : bool
        Must be False.

    Raises
    ------
    ValueError
        For options out of range.

    Notes
    -----
    Source: Zeiler, "ADADELTA: an adaptive learning rate method", 2012.

    Examples
    --------
    >>> import minitorch as torch
    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.Adadelta([w], eps=0.5)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([-0.4907], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        at_least_zero("learning rate", lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        at_least_zero("epsilon value", eps)
        at_least_zero("weight_decay value", weight_decay)
        defaults = {
            "lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
            "capturable": capturable, "foreach": foreach, "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def state_names(self, group: dict[str, Any]) -> tuple[str, ...]:
        return "square_avg", "acc_delta"

    def rule(self, group: dict[str, Any], block: Block, gradient: np.ndarray, values: np.ndarray | None) -> None:
        rho, eps, change, spare = group["rho"], group["eps"], block.change, block.spare
        square, changes = block.state["square_avg"], block.state["acc_delta"]
        np.multiply(gradient, gradient, change)
        change *= 1 - rho
        square *= rho
        square += change
        np.add(square, eps, spare)
        np.sqrt(spare, spare)
        np.add(changes, eps, change)
        np.sqrt(change, change)
        change /= spare
        change *= gradient
        np.multiply(change, change, spare)
        spare *= 1 - rho
        changes *= rho
        changes += spare
        change *= float(group["lr"])
