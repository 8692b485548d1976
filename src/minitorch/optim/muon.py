"""Muon."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _runtime
from .._modes import no_grad
from ._elementwise import check_gradients, undisturbed
from .optimizer import Optimizer, at_least_zero, evaluated


class Muon(Optimizer):
    """Muon: momentum whose matrix is made nearly orthogonal, so that no direction of the step outweighs the others.

    It is for matrices, such as the weights of hidden linear layers; biases and embeddings go to another optimizer.  As
    in PyTorch, the matrix is made orthogonal in bfloat16's precision, whatever the dtype of the parameters.

    Parameters
    ----------
    params : iterable
        Tensors of two dimensions, or groups of them.
    lr : float or Tensor
        The learning rate.
    weight_decay : float
        What multiple of the parameters, times *lr*, is subtracted from them.
    momentum : float
        How slowly the average of the gradient moves.
    nesterov : bool
        Whether the momentum looks ahead.
    ns_coefficients : (float, float, float)
        Of the polynomial of degree 5 that is applied to the singular values.
    eps : float
        The least norm that a matrix is divided by.
    ns_steps : int
        How often the polynomial is applied.
    adjust_lr_fn : {None, "original", "match_rms_adamw"}
        How the learning rate is adapted to a matrix of A rows and B columns: times ``sqrt(max(1, A / B))``, or times
        ``0.2 * sqrt(max(A, B))``, with which the steps are as large as AdamW's.

    Raises
    ------
    ValueError
        For options out of range, or parameters that are no matrices.

    Notes
    -----
    Source: Jordan et al., "Muon: an optimizer for hidden layers in neural networks", 2024; the second adaptation: Liu
    et al., "Muon is scalable for LLM training", 2025.

    Examples
    --------
    >>> import minitorch as torch
    >>> w = torch.tensor([[3.0, 0.0], [0.0, 0.5]], requires_grad=True)
    >>> optimizer = torch.optim.Muon([w], lr=0.5, weight_decay=0.0)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([[ 2.6348,  0.0000],
            [ 0.0000, -0.0234]], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        at_least_zero("learning rate", lr)
        at_least_zero("momentum", momentum)
        at_least_zero("weight decay", weight_decay)
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        defaults = {
            "lr": lr, "weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov,
            "ns_coefficients": ns_coefficients, "eps": eps, "ns_steps": ns_steps, "adjust_lr_fn": adjust_lr_fn,
        }  # fmt: skip
        super().__init__(params, defaults)
        for group in self.param_groups:
            for param in group["params"]:
                if param.dim() != 2:
                    raise ValueError(
                        f"Muon only supports 2D parameters whereas we found a parameter with size: {param.size()}"
                    )

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change all parameters that have a gradient.

        Parameters
        ----------
        closure : callable, optional
            Computes the loss anew, calls ``backward()`` and returns the loss, which the step returns.
        """
        loss = evaluated(closure)
        undisturbed(self._change)
        return loss

    def _change(self) -> None:
        for group in self.param_groups:
            if group["ns_steps"] >= 100:
                raise ValueError("Number of steps must be less than 100 for computational efficiency")
            if len(group["ns_coefficients"]) != 3:
                raise ValueError("Coefficients must be a tuple of exactly 3 values")
            params = [param for param in group["params"] if param.grad is not None]
            check_gradients(params, [param.grad._array for param in params])
            for param in params:
                state = self.state[param]
                if "momentum_buffer" not in state:
                    state["momentum_buffer"] = _runtime.wrap(np.zeros(param._array.shape, param._array.dtype))
                buffer = state["momentum_buffer"]._array
                new = _runtime.silent(updated, group, param._array, param.grad._array, buffer)
                with no_grad():
                    param.copy_(_runtime.wrap(new))


def updated(group: dict[str, Any], values: np.ndarray, gradient: np.ndarray, buffer: np.ndarray) -> np.ndarray:
    """The parameter's new values; *buffer* is brought up to date."""
    momentum, lr = group["momentum"], float(group["lr"])
    buffer += (gradient - buffer) * (1 - momentum)
    direction = gradient + (buffer - gradient) * momentum if group["nesterov"] else buffer
    step = orthogonal(direction, group["ns_coefficients"], group["ns_steps"], group["eps"])
    kept = values * (1 - lr * group["weight_decay"])
    kept -= step.astype(values.dtype) * (lr * ratio(group["adjust_lr_fn"], *values.shape))
    return kept


def orthogonal(matrix: np.ndarray, coefficients: Any, steps: int, eps: float) -> np.ndarray:
    """A matrix with the same singular vectors whose singular values are near 1, by Newton and Schulz's iteration."""
    a, b, c = coefficients
    upright = matrix.shape[0] > matrix.shape[1]
    x = rounded(matrix.T if upright else matrix)
    x = rounded(x / np.maximum(rounded(np.sqrt(np.square(x).sum())), rounded(np.asarray(eps))))
    for _ in range(steps):
        gram = rounded(x @ x.T)
        x = rounded(a * x + rounded(b * gram + c * (gram @ gram)) @ x)
    return x.T if upright else x


def rounded(array: np.ndarray) -> np.ndarray:
    """Float32 numbers of bfloat16's precision: the nearest with 8 significant bits, at a tie the even one."""
    single = np.array(array, np.float32, order="C")
    bits = single.view(np.uint32)
    odd = bits >> 16
    odd &= 1
    odd += 0x7FFF
    odd *= np.isfinite(single)
    bits += odd
    bits &= 0xFFFF0000
    return single


def ratio(kind: str | None, rows: int, columns: int) -> float:
    """What the learning rate is multiplied by."""
    if kind == "match_rms_adamw":
        return 0.2 * math.sqrt(max(rows, columns))
    return math.sqrt(max(1, rows / columns))
