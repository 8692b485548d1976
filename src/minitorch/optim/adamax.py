"""Adamax."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._elementwise import Block, ElementwiseOptimizer
from .optimizer import at_least_zero, check_betas


class Adamax(ElementwiseOptimizer):
    """Adamax: Adam with a decaying maximum of the gradient's size in place of the average of its square.

    Parameters
    ----------
    params : iterable
        Tensors, or groups of them.
    lr : float or Tensor
        The learning rate.
    betas : (float, float)
        How slowly the average of the gradient moves and the maximum decays.
    eps : float
        Added to the gradient's size.
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
    Source: Kingma and Ba, "Adam: a method for stochastic optimization", 2014, section 7.

    Examples
    --------
    >>> import minitorch as torch
    >>> w = torch.tensor([1.0, 100.0], requires_grad=True)
    >>> optimizer = torch.optim.Adamax([w], lr=0.5)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([ 0.5000, 99.5000], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        at_least_zero("learning rate", lr)
        at_least_zero("epsilon value", eps)
        check_betas(betas)
        at_least_zero("weight_decay value", weight_decay)
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def state_names(self, group: dict[str, Any]) -> tuple[str, ...]:
        return "exp_avg", "exp_inf"

    def rule(self, group: dict[str, Any], block: Block, gradient: np.ndarray, values: np.ndarray | None) -> None:
        (beta1, beta2), change = group["betas"], block.change
        average, largest = block.state["exp_avg"], block.state["exp_inf"]
        np.subtract(gradient, average, change)
        change *= 1 - beta1
        average += change
        np.abs(gradient, change)
        change += group["eps"]
        largest *= beta2
        np.maximum(largest, change, out=largest)
        np.divide(average, largest, change)
        change *= float(group["lr"]) / (1 - beta1**block.now)
