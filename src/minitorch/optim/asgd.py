"""ASGD."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._elementwise import Block, ElementwiseOptimizer
from .optimizer import at_least_zero


class ASGD(ElementwiseOptimizer):
    """Averaged stochastic gradient descent: it keeps the average of the parameters over the later steps, too.

    The averages are in ``optimizer.state[p]["ax"]``.

    Parameters
    ----------
    params : iterable
        Tensors, or groups of them.
    lr : float or Tensor
        The learning rate.
    lambd : float
        The parameters are made smaller by this times the learning rate.
    alpha : float
        The power at which the learning rate decays.
    t0 : float
        The step at which averaging starts.
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
    Source: Polyak and Juditsky, "Acceleration of stochastic approximation by averaging", 1992.

    Examples
    --------
    >>> import minitorch as torch
    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.ASGD([w], lr=0.25, lambd=0)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.5000], requires_grad=True)
    """

    counters = ("step", "eta", "mu")

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        at_least_zero("learning rate", lr)
        at_least_zero("weight_decay value", weight_decay)
        defaults = {
            "lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def state_names(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("ax",)

    def initial(self, group: dict[str, Any], name: str) -> float:
        return {"eta": float(group["lr"]), "mu": 1.0}.get(name, 0.0)

    def reads_values(self, group: dict[str, Any]) -> bool:
        return True

    def advance(self, group: dict[str, Any], counters: dict[str, np.ndarray]) -> tuple[float, float]:
        """The learning rate and the weight of the newest values in the average."""
        now = counters["eta"].item(0), counters["mu"].item(0)
        step, lr = super().advance(group, counters), float(group["lr"])
        counters["eta"][...] = lr / (1 + group["lambd"] * lr * step) ** group["alpha"]
        counters["mu"][...] = 1 / max(1, step - group["t0"])
        return now

    def rule(self, group: dict[str, Any], block: Block, gradient: np.ndarray, values: np.ndarray | None) -> None:
        assert values is not None  # reads_values says so
        (eta, mu), change, spare, average = block.now, block.change, block.spare, block.state["ax"]
        np.multiply(values, group["lambd"] * eta, change)
        change += np.multiply(gradient, eta, spare)
        np.subtract(values, change, spare)
        if mu == 1:
            average[...] = spare
        else:
            spare -= average
            spare *= mu
            average += spare
