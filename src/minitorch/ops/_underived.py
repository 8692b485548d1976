"""What is computed in the forward pass and has no derivative: results from which a backward pass raises, as in PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._op import op
from .._runtime import moves, traced


def derivative_error(function: str) -> Exception:
    """What a backward pass raises."""
    if function.startswith("aten::"):
        return RuntimeError(f"derivative for {function} is not implemented: detach() what it is computed from")
    return NotImplementedError(f"the derivative for '{function}' is not implemented: detach() what it is computed from")


def tangent_error(function: str) -> Exception:
    """What forward mode raises."""
    return NotImplementedError(
        f"Trying to use forward AD with {function} that does not support it: detach() its inputs"
    )


def _no_derivative(F: Any, g: Any, function: str) -> Any:
    """The formula of an input without derivative; *function* is a parameter of the row."""
    raise derivative_error(function)


def _no_tangent(F: Any, t: Any, function: str) -> Any:
    """The same in forward mode."""
    raise tangent_error(function)


def _kernel(self: np.ndarray, source: np.ndarray, *, function: str) -> np.ndarray:
    return np.where(True, self, source)


_underived = op("underived", "NotImplemented", _kernel, ("self", "source"), elementwise=True, numbers=False,
                tangent={"self": _no_tangent, "source": _no_tangent},
                self=_no_derivative, source=_no_derivative)  # fmt: skip


def underived(function: str, result: Any, *sources: Any) -> Any:
    """A result that has no derivative: a row's where one of its sources requires grad or has a tangent.

    Parameters
    ----------
    function : str
        Who computed it, as PyTorch's errors say it.
    result : Tensor
        Of floats, without a history.
    *sources : Tensor
        What it was computed from.
    """
    for source in sources:
        if moves(source):
            result = _underived(result, traced.sum_all(source), function)
    return result
