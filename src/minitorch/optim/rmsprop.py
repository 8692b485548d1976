"""RMSprop."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._elementwise import Block, ElementwiseOptimizer
from .optimizer import at_least_zero


class RMSprop(ElementwiseOptimizer):
    """RMSprop: the gradient divided by the root of a running average of its square.

    Parameters
    ----------
    params : iterable
        Tensors, or groups of them.
    lr : float or Tensor
        The learning rate.
    alpha : float
        How slowly the average moves.
    eps : float
        Added to the root.
    weight_decay : float
        What multiple of the parameters is added to their gradient.
    momentum : float
        How much of the previous change is kept.
    centered : bool
        Whether to divide by an estimate of the standard deviation: the square of the average gradient is subtracted.
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
    Source: Hinton, "Neural networks for machine learning", lecture 6, 2012; centered: Graves, "Generating sequences with
    recurrent neural networks", 2013.

    Examples
    --------
    >>> import minitorch as torch
    >>> w = torch.tensor([1.0, 100.0], requires_grad=True)
    >>> optimizer = torch.optim.RMSprop([w], lr=0.05)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([ 0.5000, 99.5000], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        at_least_zero("learning rate", lr)
        at_least_zero("epsilon value", eps)
        at_least_zero("momentum value", momentum)
        at_least_zero("weight_decay value", weight_decay)
        at_least_zero("alpha value", alpha)
        defaults = {
            "lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered,
            "weight_decay": weight_decay, "capturable": capturable, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def state_names(self, group: dict[str, Any]) -> tuple[str, ...]:
        return (
            "square_avg",
            *(("momentum_buffer",) if group["momentum"] > 0 else ()),
            *(("grad_avg",) if group["centered"] else ()),
        )

    def rule(self, group: dict[str, Any], block: Block, gradient: np.ndarray, values: np.ndarray | None) -> None:
        lr, kept, state, change = float(group["lr"]), group["alpha"], block.state, block.change
        square = state["square_avg"]
        square *= kept
        np.multiply(gradient, gradient, change)
        change *= 1 - kept
        square += change
        if group["centered"]:
            average = state["grad_avg"]
            np.subtract(gradient, average, change)
            change *= 1 - kept
            average += change
            np.multiply(average, average, change)
            np.subtract(square, change, change)
            np.sqrt(change, change)
        else:
            np.sqrt(square, change)
        change += group["eps"]
        np.divide(gradient, change, change)
        if group["momentum"] > 0:
            buffer = state["momentum_buffer"]
            buffer *= group["momentum"]
            buffer += change
            np.multiply(buffer, lr, change)
        else:
            change *= lr
