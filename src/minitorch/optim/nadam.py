"""NAdam."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ._elementwise import Block
from ._moments import MomentOptimizer
from .optimizer import at_least_zero, check_betas


class NAdam(MomentOptimizer):
    """NAdam: Adam with Nesterov's momentum.

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
    momentum_decay : float
        How fast the momentum's schedule grows.
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
    Source: Dozat, "Incorporating Nesterov momentum into Adam", 2016.

    Examples
    --------
    >>> import minitorch as torch
    >>> w = torch.tensor([1.0, 100.0], requires_grad=True)
    >>> optimizer = torch.optim.NAdam([w], lr=0.5)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([ 0.4718, 99.4718], requires_grad=True)
    """

    counters = ("step", "mu_product")

    def __init__(
        self,
        params: Any,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
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
        at_least_zero("momentum_decay value", momentum_decay)
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay, "maximize": maximize, "foreach": foreach,
            "capturable": capturable, "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def state_names(self, group: dict[str, Any]) -> tuple[str, ...]:
        return "exp_avg", "exp_avg_sq"

    def initial(self, group: dict[str, Any], name: str) -> float:
        return 1.0 if name == "mu_product" else 0.0

    def advance(self, group: dict[str, Any], counters: dict[str, np.ndarray]) -> tuple[float, float, float]:
        """The number of the update, and the factors of the gradient and of its average."""
        step = super().advance(group, counters)
        now, following = [
            group["betas"][0] * (1 - 0.5 * 0.96 ** (number * group["momentum_decay"])) for number in (step, step + 1)
        ]
        counters["mu_product"] *= now
        product = counters["mu_product"].item(0)
        return step, (1 - now) / (1 - product), following / (1 - product * following)

    def rule(self, group: dict[str, Any], block: Block, gradient: np.ndarray, values: np.ndarray | None) -> None:
        (beta1, beta2), lr, change, spare = group["betas"], float(group["lr"]), block.change, block.spare
        average, square = self.moments(block, gradient, beta1, beta2)
        step, of_gradient, of_average = block.now
        np.multiply(gradient, lr * of_gradient, change)
        change += np.multiply(average, lr * of_average, spare)
        np.sqrt(square, spare)
        spare /= math.sqrt(1 - beta2**step)
        spare += group["eps"]
        change /= spare
        if values is not None and group["decoupled_weight_decay"]:
            change += np.multiply(values, lr * group["weight_decay"], spare)
