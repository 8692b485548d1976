"""L-BFGS."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _runtime
from .._modes import no_grad
from ._line_search import Point, strong_wolfe
from .optimizer import Optimizer, at_least_zero, evaluated

KEPT = ("d", "t", "old_dirs", "old_stps", "ro", "H_diag", "prev_flat_grad", "prev_loss")
"""What one iteration keeps for the next."""


class LBFGS(Optimizer):
    """L-BFGS: steps along the gradient, times an estimate of the inverse Hessian from the latest changes.

    It needs the same function again and again, so a step takes a closure.  It works on all parameters as one vector:
    there can be one group only.

    Parameters
    ----------
    params : iterable of Tensor
        The parameters.
    lr : float or Tensor
        How much of the direction to go, at first.
    max_iter : int
        The most iterations in a step.
    max_eval : int, optional
        The most evaluations of the closure in a step; 5/4 of *max_iter* by default.
    tolerance_grad : float
        Stop where no element of the gradient is larger.
    tolerance_change : float
        Stop where parameters or loss change by less.
    history_size : int
        How many changes are remembered.
    line_search_fn : {None, "strong_wolfe"}
        How the length of a step is found; None: *lr* it is.

    Raises
    ------
    ValueError
        For options out of range, or several groups.

    Notes
    -----
    Source: Liu and Nocedal, "On the limited memory BFGS method for large scale optimization", 1989.

    Examples
    --------
    >>> import minitorch as torch
    >>> x = torch.tensor([-1.2, 1.0], dtype=torch.float64, requires_grad=True)
    >>> optimizer = torch.optim.LBFGS([x], max_iter=100, line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
    ...     loss.backward()
    ...     return loss
    >>> optimizer.step(closure)
    tensor(24.2000, dtype=torch.float64, grad_fn=<AddBackward0>)
    >>> x
    tensor([1.0000, 1.0000], dtype=torch.float64, requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        at_least_zero("learning rate", lr)
        defaults = {
            "lr": lr, "max_iter": max_iter, "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change, "history_size": history_size,
            "line_search_fn": line_search_fn,
        }  # fmt: skip
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params = self.param_groups[0]["params"]

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the parameters, in up to ``max_iter`` iterations.

        Where the closure raises, the parameters are put back to where the iteration began.

        Parameters
        ----------
        closure : callable
            Computes the loss anew, calls ``backward()`` and returns the loss.

        Returns
        -------
        Tensor
            The loss before the step.
        """
        if closure is None:
            raise TypeError("LBFGS.step() missing 1 required positional argument: 'closure'")
        group = self.param_groups[0]
        if group["line_search_fn"] not in (None, "strong_wolfe"):
            raise RuntimeError("only 'strong_wolfe' is supported")
        state = self.state[self._params[0]]
        started = "d" in state
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first = evaluated(closure)
        state["func_evals"] += 1
        loss, gradient, evaluations = number_of(first), self._flat_gradient(), 1
        for number in range(group["max_iter"]):
            if largest(gradient) <= group["tolerance_grad"]:
                break
            direction, t = _runtime.silent(self._direction, state, group, gradient)
            slope = float(gradient.dot(direction))
            before = loss
            remember(state, direction, t, gradient, loss)
            if slope > -group["tolerance_change"]:
                break
            origin = [param._array.copy() for param in self._params]
            try:
                if group["line_search_fn"] is not None:
                    start = Point(0.0, loss, gradient, slope)
                    point, more = strong_wolfe(
                        functools.partial(self._at, closure, origin, direction), start, t, largest(direction),
                        group["tolerance_change"], group["max_eval"] - evaluations,
                    )  # fmt: skip
                    self._move(origin, direction, point.t)
                    loss, gradient, t = point.value, point.gradient, point.t
                else:
                    self._move(origin, direction, t)
                    more = 0
                    if number + 1 < group["max_iter"]:
                        loss, gradient, more = number_of(evaluated(closure)), self._flat_gradient(), 1
            except BaseException:
                self._move(origin, direction, 0.0)
                raise
            state["t"] = t
            evaluations += more
            state["func_evals"] += more
            if (
                evaluations >= group["max_eval"]
                or largest(direction) * t <= group["tolerance_change"]
                or abs(loss - before) < group["tolerance_change"]
            ):
                break
        if not started:
            for name in KEPT:  # in PyTorch's order
                if name in state:
                    state[name] = state.pop(name)
        return first

    def _direction(
        self, state: dict[str, Any], group: dict[str, Any], gradient: np.ndarray
    ) -> tuple[np.ndarray, float]:
        """Where to go, and how far to try at first; the latest change is taken into the memory."""
        state["n_iter"] += 1
        lr = group["lr"] if isinstance(group["lr"], (int, float)) else float(group["lr"])
        if state["n_iter"] == 1:
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
            return -gradient, min(1.0, 1.0 / float(np.abs(gradient).sum())) * lr
        old, steps, inverses = state["old_dirs"], state["old_stps"], state["ro"]
        change = gradient - state["prev_flat_grad"]._array
        step = state["d"]._array * state["t"]
        product = change.dot(step)
        if product > 1e-10:
            if len(old) == group["history_size"]:
                for entries in (old, steps, inverses):
                    entries.pop(0)
            old.append(_runtime.wrap(change))
            steps.append(_runtime.wrap(step))
            inverses.append(_runtime.wrap(np.asarray(1.0 / product)))
            state["H_diag"] = _runtime.wrap(np.asarray(product / change.dot(change)))
        factors = state.setdefault("al", [None] * group["history_size"])
        direction = -gradient
        for i in reversed(range(len(old))):
            factor = steps[i]._array.dot(direction) * inverses[i]._array
            direction -= factor * old[i]._array
            factors[i] = _runtime.wrap(np.asarray(factor))
        direction *= getattr(state["H_diag"], "_array", state["H_diag"])
        for i in range(len(old)):
            factor = old[i]._array.dot(direction) * inverses[i]._array
            direction += (factors[i]._array - factor) * steps[i]._array
        return direction, lr

    def _flat_gradient(self) -> np.ndarray:
        """All gradients as one vector; zeros where there is none."""
        return np.concatenate(
            [
                np.zeros(p._array.size, p._array.dtype) if p.grad is None else p.grad._array.reshape(-1)
                for p in self._params
            ]
        )

    def _move(self, origin: list[np.ndarray], direction: np.ndarray, t: float) -> None:
        """Put the parameters at a distance from where they were."""
        start = 0
        with no_grad():
            for param, array in zip(self._params, origin):
                part = direction[start : start + array.size].reshape(array.shape)
                param.copy_(_runtime.wrap(array + part * t if t else array))
                start += array.size

    def _at(self, closure: Callable[[], Any], origin: list[np.ndarray], direction: np.ndarray, t: float) -> Point:
        """The function at a distance."""
        self._move(origin, direction, t)
        value, gradient = number_of(evaluated(closure)), self._flat_gradient()
        return Point(t, value, gradient, float(gradient.dot(direction)))


def remember(state: dict[str, Any], direction: np.ndarray, t: float, gradient: np.ndarray, loss: float) -> None:
    """Keep what the next iteration compares with."""
    state.update(d=_runtime.wrap(direction), t=t, prev_flat_grad=_runtime.wrap(gradient), prev_loss=loss)


def largest(vector: np.ndarray) -> float:
    """The size of the largest element."""
    return float(np.abs(vector).max(initial=0.0))


def number_of(loss: Any) -> float:
    """A loss as a Python number."""
    return float(loss.detach() if isinstance(loss, _runtime.Tensor) else loss)
