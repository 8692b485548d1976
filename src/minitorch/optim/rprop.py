"""Rprop."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._elementwise import Block, ElementwiseOptimizer
from .optimizer import at_least_zero


class Rprop(ElementwiseOptimizer):
    """Resilient backpropagation: only the gradient's sign counts, and each element has a step size of its own.

    The size grows while the sign stays and shrinks when it changes.

    Parameters
    ----------
    params : iterable
        Tensors, or groups of them.
    lr : float or Tensor
        The size of the first step.
    etas : (float, float)
        The factors by which the size shrinks and grows.
    step_sizes : (float, float)
        The smallest and the largest size.
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
    Source: Riedmiller and Braun, "A direct adaptive method for faster backpropagation learning: the RPROP algorithm",
    1993.

    Examples
    --------
    >>> import minitorch as torch
    >>> w = torch.tensor([1.0, 100.0], requires_grad=True)
    >>> optimizer = torch.optim.Rprop([w], lr=0.5)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([ 0.5000, 99.5000], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        at_least_zero("learning rate", lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        defaults = {
            "lr": lr, "etas": etas, "step_sizes": step_sizes, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "capturable": capturable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def state_names(self, group: dict[str, Any]) -> tuple[str, ...]:
        return "prev", "step_size"

    def initial(self, group: dict[str, Any], name: str) -> float:
        return float(group["lr"]) if name == "step_size" else 0.0

    def reads_values(self, group: dict[str, Any]) -> bool:
        return False

    def coupled_decay(self, group: dict[str, Any]) -> float:
        return 0.0

    def rule(self, group: dict[str, Any], block: Block, gradient: np.ndarray, values: np.ndarray | None) -> None:
        (shrink, grow), (least, most), change = group["etas"], group["step_sizes"], block.change
        previous, size = block.state["prev"], block.state["step_size"]
        np.multiply(gradient, previous, change)
        turned = change < 0
        size *= np.where(turned, shrink, np.where(change > 0, grow, 1.0)).astype(size.dtype)
        np.clip(size, least, most, out=size)
        previous[...] = gradient
        previous[turned] = 0
        np.sign(previous, change)
        change *= size
