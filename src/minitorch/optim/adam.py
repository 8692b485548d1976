"""Adam and AdamW."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._tensor import Tensor
from ._elementwise import Block
from ._moments import MomentOptimizer
from .optimizer import at_least_zero, check_betas


class Adam(MomentOptimizer):
    """Adam: steps scaled by running averages of the gradient and of its square.

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
    amsgrad : bool
        Whether to divide by the largest average square so far.
    maximize : bool
        Whether to go uphill.
    decoupled_weight_decay : bool
        Whether weight decay is as in AdamW.
    foreach, fused : bool, optional
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
    Source: Kingma and Ba, "Adam: a method for stochastic optimization", 2014; amsgrad: Reddi et al., "On the
    convergence of Adam and beyond", 2018.

    Examples
    --------
    >>> import minitorch as torch
    >>> w = torch.tensor([1.0, 100.0], requires_grad=True)
    >>> optimizer = torch.optim.Adam([w], lr=0.5)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([ 0.5000, 99.5000], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[Any, Any] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        at_least_zero("learning rate", lr)
        at_least_zero("epsilon value", eps)
        check_betas(betas)
        at_least_zero("weight_decay value", weight_decay)
        _check_tensors(lr, betas, bool(foreach) and not capturable)
        defaults = {
            "lr": lr, "betas": tuple([b.squeeze() if isinstance(b, Tensor) else b for b in betas]), "eps": eps,
            "weight_decay": weight_decay, "amsgrad": amsgrad, "maximize": maximize, "foreach": foreach,
            "capturable": capturable, "differentiable": differentiable, "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }  # fmt: skip
        super().__init__(params, defaults)

    def state_names(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("exp_avg", "exp_avg_sq", "max_exp_avg_sq") if group["amsgrad"] else ("exp_avg", "exp_avg_sq")

    def rule(self, group: dict[str, Any], block: Block, gradient: np.ndarray, values: np.ndarray | None) -> None:
        (beta1, beta2), lr, state, change = map(float, group["betas"]), float(group["lr"]), block.state, block.change
        average, square = self.moments(block, gradient, beta1, beta2)
        if group["amsgrad"]:
            square = np.maximum(state["max_exp_avg_sq"], square, out=state["max_exp_avg_sq"])
        # lr * (m / c1) / (sqrt(v / c2) + eps) with the corrections c1 and c2 moved out of the arrays
        root_correction = math.sqrt(1 - beta2**block.now)
        np.sqrt(square, change)
        change += group["eps"] * root_correction
        np.divide(average, change, change)
        change *= lr * root_correction / (1 - beta1**block.now)
        if values is not None and group["decoupled_weight_decay"]:
            change += np.multiply(values, lr * group["weight_decay"], block.spare)


def _check_tensors(lr: Any, betas: Any, plain_foreach: bool) -> None:
    """Refuse tensors among the options where PyTorch does."""
    if not (all([isinstance(b, float) for b in betas]) or all([isinstance(b, Tensor) for b in betas])):
        raise ValueError("betas must be either both floats or both Tensors")
    for name, value in (("lr", lr), ("betas[0]", betas[0]), ("betas[1]", betas[1])):
        if isinstance(value, Tensor):
            if plain_foreach:
                raise ValueError(f"{name} as a Tensor is not supported for capturable=False and foreach=True")
            if value.numel() != 1:
                raise ValueError(f"Tensor {name} must be 1-element")


class AdamW(Adam):
    """Adam with decoupled weight decay: a multiple of the parameters is subtracted from them, apart from the gradient.

    Parameters
    ----------
    params, lr, betas, eps, amsgrad, maximize, foreach, capturable, differentiable, fused
        As for Adam.
    weight_decay : float, default 0.01
        Times ``lr``, the multiple.

    Notes
    -----
    Source: Loshchilov and Hutter, "Decoupled weight decay regularization", 2017.

    Examples
    --------
    >>> import minitorch as torch
    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.AdamW([w], lr=0.5, weight_decay=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.4500], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[Any, Any] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize, capturable=capturable,
            differentiable=differentiable, fused=fused, decoupled_weight_decay=True,
        )  # fmt: skip

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True
