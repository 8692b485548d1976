"""Adafactor."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _dtypes, _runtime
from .._modes import no_grad
from ._elementwise import check_gradients, undisturbed
from .optimizer import Optimizer, at_least_zero, evaluated


class Adafactor(Optimizer):
    """Adafactor: steps scaled by an average of the squared gradient, which of a matrix is kept by rows and by columns.

    Parameters
    ----------
    params : iterable
        Tensors, or groups of them.
    lr : float or Tensor
        The largest step, relative to the size of a parameter; it falls with the root of the number of steps.
    beta2_decay : float
        The power of the number of steps by which the newest square counts.
    eps : (float or None, float)
        The least root of an average square (None: what the dtype resolves), and the least size of a parameter that
        counts for its step.
    d : float
        The size above which an update is scaled down to it.
    weight_decay : float
        What multiple of the parameters, times *lr*, is subtracted from them.
    foreach : bool, optional
        Accepted; there is one implementation.
    maximize : bool
        Whether to go uphill.

    Raises
    ------
    ValueError
        For options out of range.

    Notes
    -----
    Source: Shazeer and Stern, "Adafactor: adaptive learning rates with sublinear memory cost", 2018; where *lr* and the
    first *eps* come in is PyTorch's.

    Examples
    --------
    >>> import minitorch as torch
    >>> w = torch.tensor([[1.0, 100.0], [1.0, 100.0]], requires_grad=True)
    >>> optimizer = torch.optim.Adafactor([w], lr=0.01)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([[ 0.2929, 99.2929],
            [ 0.2929, 99.2929]], requires_grad=True)
    >>> sorted(optimizer.state[w])
    ['col_var', 'row_var', 'step']
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        at_least_zero("learning rate", lr)
        if not beta2_decay <= 0:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        if eps[0] is not None:
            at_least_zero("epsilon1", eps[0])
        at_least_zero("epsilon2", eps[1])
        if not d >= 1:
            raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
        at_least_zero("weight_decay", weight_decay)
        defaults = {
            "lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize,
        }  # fmt: skip
        super().__init__(params, defaults)

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
            params = [param for param in group["params"] if param.grad is not None]
            check_gradients(params, [param.grad._array for param in params])
            for param in params:
                state = self.state[param]
                if not state:
                    begin(state, param._array)
                state["step"] += 1
                arrays = {name: tensor._array for name, tensor in state.items()}
                new = _runtime.silent(updated, group, param._array, param.grad._array, arrays)
                with no_grad():
                    param.copy_(_runtime.wrap(new))


def begin(state: dict[str, Any], values: np.ndarray) -> None:
    """The state of a parameter before its first update."""
    number = np.float64 if _dtypes.default() == np.float64 else np.float32
    state["step"] = _runtime.wrap(np.zeros((), number))
    shape = values.shape
    if len(shape) > 1:
        state["row_var"] = _runtime.wrap(np.zeros((*shape[:-1], 1), values.dtype))
        state["col_var"] = _runtime.wrap(np.zeros((*shape[:-2], 1, shape[-1]), values.dtype))
    else:
        state["variance"] = _runtime.wrap(np.zeros(shape, values.dtype))


def updated(
    group: dict[str, Any], values: np.ndarray, gradient: np.ndarray, state: dict[str, np.ndarray]
) -> np.ndarray:
    """The parameter's new values; the averages in *state* are brought up to date."""
    (least, least_size), lr, number = group["eps"], float(group["lr"]), float(state["step"])
    if least is None:
        least = np.finfo(values.dtype).eps.item()
    newest = number ** group["beta2_decay"]
    reach = max(least_size, root_mean_square(values)) * min(lr, 1 / math.sqrt(number))
    squares = gradient * gradient
    if values.ndim > 1:
        rows, columns = state["row_var"], state["col_var"]
        rows += (squares.mean(-1, keepdims=True) - rows) * newest
        columns += (squares.mean(-2, keepdims=True) - columns) * newest
        estimate = rows @ columns
        estimate /= np.maximum(rows.mean(-2, keepdims=True), least)
    else:
        state["variance"] += (squares - state["variance"]) * newest
        estimate = state["variance"].copy()
    np.maximum(estimate, least * least, out=estimate)
    update = np.divide(gradient, np.sqrt(estimate, out=estimate), out=estimate)
    update *= (1 if group["maximize"] else -1) * reach / max(1.0, root_mean_square(update) / group["d"])
    update += values * (1 - lr * group["weight_decay"])
    return update


def root_mean_square(array: np.ndarray) -> float:
    """The root of the mean of an array's squares; zero where there are no elements."""
    return math.sqrt(np.square(array, dtype=np.float64).sum() / max(array.size, 1))
