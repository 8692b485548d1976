"""RAdam."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ._elementwise import Block
from ._moments import MomentOptimizer
from .optimizer import at_least_zero, check_betas


class RAdam(MomentOptimizer):
    """RAdam: Adam that does not divide by the average square until enough steps made it reliable.

    Parameters
    ----------
    params : iterable
        Tensors, or groups of them.
    lr : float or Tensor
        The learning rate.
    betas : (float, float)
        How slowly the averages of the gradient and of its square move.
    eps : float
        Added to the root of the average square.
    weight_decay : float
        What multiple of the parameters is added to their gradient (or, decoupled, subtracted from them).
    decoupled_weight_decay : bool
        Whether weight decay is as in AdamW.
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
    Source: Liu et al., "On the variance of the adaptive learning rate and beyond", 2019.

    Examples
    --------
    >>> import minitorch as torch
    >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = torch.optim.RAdam([w], lr=0.25)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.5000, 1.0000], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        at_least_zero("learning rate", lr)
        at_least_zero("epsilon value", eps)
        check_betas(betas)
        at_least_zero("weight_decay value", weight_decay)
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
            "foreach": foreach, "capturable": capturable, "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def state_names(self, group: dict[str, Any]) -> tuple[str, ...]:
        return "exp_avg", "exp_avg_sq"

    def rule(self, group: dict[str, Any], block: Block, gradient: np.ndarray, values: np.ndarray | None) -> None:
        (beta1, beta2), lr, change, step = group["betas"], float(group["lr"]), block.change, block.now
        average, square = self.moments(block, gradient, beta1, beta2)
        longest = 2 / (1 - beta2) - 1  # the length of a simple average that is as smooth, and what it is by now
        length = longest - 2 * step * beta2**step / (1 - beta2**step)
        if length > 5:
            rectified = math.sqrt(
                (length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length) * (1 - beta2**step)
            )
            np.sqrt(square, change)
            change += group["eps"]
            np.divide(average, change, change)
            change *= lr * rectified / (1 - beta1**step)
        else:
            np.multiply(average, lr / (1 - beta1**step), change)
        if values is not None and group["decoupled_weight_decay"]:
            change += np.multiply(values, lr * group["weight_decay"], block.spare)
