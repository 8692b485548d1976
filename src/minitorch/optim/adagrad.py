"""Adagrad."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _runtime
from ._elementwise import Block, ElementwiseOptimizer
from .optimizer import at_least_zero


class Adagrad(ElementwiseOptimizer):
    """Adagrad: the gradient divided by the root of the sum of all its squares so far.

    Parameters
    ----------
    params : iterable
        Tensors, or groups of them.
    lr : float or Tensor
        The learning rate.
    lr_decay : float
        The learning rate is divided by one plus this times the number of steps done.
    weight_decay : float
        What multiple of the parameters is added to their gradient.
    initial_accumulator_value : float
        What the sums start from.
    eps : float
        Added to the root.
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
    Source: Duchi, Hazan and Singer, "Adaptive subgradient methods for online learning and stochastic optimization", 2011.

    Examples
    --------
    >>> import minitorch as torch
    >>> w = torch.tensor([1.0, 100.0], requires_grad=True)
    >>> optimizer = torch.optim.Adagrad([w], lr=0.5)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([ 0.5000, 99.5000], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        at_least_zero("learning rate", lr)
        at_least_zero("lr_decay value", lr_decay)
        at_least_zero("weight_decay value", weight_decay)
        at_least_zero("initial_accumulator_value value", initial_accumulator_value)
        at_least_zero("epsilon value", eps)
        defaults = {
            "lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "fused": fused,
        }  # fmt: skip
        super().__init__(params, defaults)
        for group in self.param_groups:
            for param in group["params"]:
                start = self.initial(group, "sum")
                self.state[param] = {
                    "step": _runtime.wrap(np.array(0.0, np.float32)),
                    "sum": _runtime.wrap(np.full(param._array.shape, start, param._array.dtype)),
                }

    def share_memory(self) -> None:
        """Accepted: the sums are in this process's memory."""

    def state_names(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("sum",)

    def initial(self, group: dict[str, Any], name: str) -> float:
        return float(group["initial_accumulator_value"]) if name == "sum" else 0.0

    def rule(self, group: dict[str, Any], block: Block, gradient: np.ndarray, values: np.ndarray | None) -> None:
        total, change = block.state["sum"], block.change
        np.multiply(gradient, gradient, change)
        total += change
        np.sqrt(total, change)
        change += group["eps"]
        np.divide(gradient, change, change)
        change *= float(group["lr"]) / (1 + (block.now - 1) * group["lr_decay"])
