"""Guards: observers that report operations which are legal, and mostly mistakes."""

from __future__ import annotations

import math
import sys
import warnings
from types import FrameType
from typing import Any

import numpy as np

from .. import _runtime
from .._modes import Observer, observers
from .._nonfinite import NonfiniteError as NonfiniteError
from .._nonfinite import note_origin
from .._records import name_of, op_name
from .._sites import current_site, is_theirs, mark_at


class Guard(Observer):
    """An observer that warns or raises at calls that ``problem`` finds fault with.

    Switched on when it is made, with what it was made with; as a context manager, for the block only.
    """

    name: str
    """The name of the public function: one guard of a name is on at a time."""

    def __init__(self, mode: str) -> None:
        if mode not in ("warn", "raise", "off"):
            raise ValueError(f"{self.name}() expects 'warn', 'raise' or 'off', not {mode!r}")
        self.mode = mode
        self._before = [o for o in observers if isinstance(o, Guard) and o.name == self.name]
        self._switch([] if mode == "off" else [self])

    def _switch(self, guards: list[Any]) -> None:
        observers[:] = [o for o in observers if not (isinstance(o, Guard) and o.name == self.name)]
        observers[:0] = guards

    def __enter__(self) -> Guard:
        return self

    def __exit__(self, *exc: object) -> None:
        self._switch(self._before)
        self._before = []

    def recorded(self, call: Any) -> None:
        """Report a call, if there is something to report."""
        said = self.problem(call)
        if said is not None:
            site = current_site()
            message = f"{said} ({site})" if site else said
            if self.mode == "raise":
                raise self.error(message)
            warnings.warn_explicit(message, UserWarning, site.file if site else "", site.line if site else 1)

    def problem(self, call: Any) -> str | None:
        """What is wrong with a call, or None."""
        raise NotImplementedError

    def error(self, message: str) -> RuntimeError:
        """What is raised."""
        return RuntimeError(message)


def _operands(call: Any) -> list[tuple[str, Any]]:
    """The tensors among a call's inputs, as they are called; Python numbers are none."""
    names = getattr(call.row, "inputs", ())
    return [
        (name_of(t) or ("input" if name == "self" else name), t)
        for name, t in zip(names, call.inputs)
        if isinstance(t, _runtime.Tensor) and not getattr(t, "is_number", False)
    ]


def _called_by(names: frozenset[str]) -> bool:
    """Whether one of the package's functions of these names is running."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not is_theirs(frame.f_code.co_filename):
        if frame.f_code.co_name in names:
            return True
        frame = frame.f_back
    return False


class BroadcastGuard(Guard):
    """Reports operations that enlarge every operand.

    Operations entry by entry only: products of matrices, solvers and indexed writes broadcast parts of shapes, which differ
    beside those as they should.
    """

    name = "broadcast_guard"

    by_entry = frozenset(
        ("binary_cross_entropy_with_logits", "huber_loss", "keep", "masked_fill", "masked_fill_tensor", "mse_loss")
        + ("smooth_l1_loss", "where")
    )
    """The rows that work entry by entry, beside those that are ``elementwise``."""
    products = frozenset(("einsum", "kron", "outer"))
    """The functions that are meant to enlarge both operands, and call such rows."""

    def problem(self, call: Any) -> str | None:
        """A call whose operands are all smaller than what they broadcast to."""
        row = call.row
        if not getattr(row, "broadcasts", False) or not (row.elementwise or row.name in self.by_entry):
            return None
        operands = _operands(call)
        shapes = [tuple(t._array.shape) for _, t in operands]
        if len(shapes) < 2 or len({s for s in shapes if s}) < 2:
            return None
        joint = np.broadcast_shapes(*shapes)
        if joint in shapes or _called_by(self.products):
            return None
        came = " and ".join([f"{name} {shape}" for (name, _), shape in zip(operands, shapes)])
        return (
            f"{op_name(call.row)}: {came} broadcast to {joint}, larger than any of them ({math.prod(joint)} elements): "
            "if the shapes are meant to be alike, squeeze or reshape one; if not, expand one of them to this shape first"
        )


class DtypeGuard(Guard):
    """Reports operations that make a float64 from a float32."""

    name = "dtype_guard"

    def problem(self, call: Any) -> str | None:
        """A call that takes a float32 and gives a float64."""
        outputs = [t._array.dtype for t in call.outputs]
        if not any([kind == np.float64 for kind in outputs]) or call.in_place:
            return None
        operands = _operands(call) or [("input", t) for t in call.inputs if isinstance(t, _runtime.Tensor)]
        kinds = [t._array.dtype for _, t in operands]
        if not any([kind == np.float32 for kind in kinds]):
            return None
        came = " and ".join([f"{name} {kind} {tuple(t._array.shape)}" for (name, t), kind in zip(operands, kinds)])
        wide = next((name for (name, _), kind in zip(operands, kinds) if kind == np.float64), None)
        cause = f"convert {wide!r} with .float() where it is made" if wide else "the call itself asks for float64"
        return f"{op_name(call.row)}: a float64 is made from a float32: {came}; {cause}"


class NonfiniteGuard(Guard):
    """Reports operations that make an infinity or a NaN of finite values."""

    name = "nonfinite_guard"

    def problem(self, call: Any) -> str | None:
        """A call whose output is not finite, though its inputs are."""
        origin = note_origin(call)
        if origin is None or not origin.made:
            return None
        if origin.mark is None:
            origin.mark = mark_at(sys._getframe())
        self._origin = origin
        return origin.story()

    def error(self, message: str) -> RuntimeError:
        """The error that knows the origin."""
        error = self._origin.error()
        del self._origin
        return error


def nonfinite_guard(mode: str) -> NonfiniteGuard:
    """Report the first operation that makes an infinity or a NaN of finite values: which, where, of what, and the usual cause.

    An infinity that is asked for, such as ``masked_fill(mask, -inf)``, is none. Anomaly mode finds the same for what backward
    makes.

    Parameters
    ----------
    mode : {"warn", "raise", "off"}
        What to do about it, from now on; as a context manager, in the block only.

    Raises
    ------
    NonfiniteError
        A RuntimeError. In mode "raise", at the operation.
    ValueError
        For another mode.

    Examples
    --------
    >>> import minitorch as torch
    >>> with torch.autograd.nonfinite_guard("raise"):
    ...     torch.tensor([0.5, 0.0]).log()  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    minitorch._nonfinite.NonfiniteError: forward: log gave infinite values in 1 of 2 elements, first at (1,), of finite inputs
      at File "...", line 2, in <module>: torch.tensor([0.5, 0.0]).log()  # doctest: +ELLIPSIS
      input: (2,) float32, values from 0 to 0.5, 1 zero; 0 at that place
      usual cause: log of 0 is -inf: clamp the input, or use log_softmax, xlogy or logsumexp
    """
    return NonfiniteGuard(mode)


def broadcast_guard(mode: str) -> BroadcastGuard:
    """Report operations that enlarge both operands, such as ``(N, 1) - (N,)``, which gives ``(N, N)``.

    Parameters
    ----------
    mode : {"warn", "raise", "off"}
        What to do about them, from now on; as a context manager, in the block only.

    Raises
    ------
    RuntimeError
        In mode "raise", at the operation.
    ValueError
        For another mode.

    Examples
    --------
    >>> import minitorch as torch
    >>> prediction, target = torch.zeros(3, 1), torch.zeros(3)
    >>> with torch.autograd.broadcast_guard("raise"):
    ...     prediction - target  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    RuntimeError: sub: input (3, 1) and other (3,) broadcast to (3, 3), larger than any of them (9 elements): ...
    """
    return BroadcastGuard(mode)


def dtype_guard(mode: str) -> DtypeGuard:
    """Report operations that make a float64 from a float32, which is mostly a NumPy array that slipped in.

    Parameters
    ----------
    mode : {"warn", "raise", "off"}
        What to do about them, from now on; as a context manager, in the block only.

    Raises
    ------
    RuntimeError
        In mode "raise", at the operation.
    ValueError
        For another mode.

    Examples
    --------
    >>> import minitorch as torch
    >>> weight, data = torch.ones(2), torch.tensor([1.0, 2.0], dtype=torch.float64)
    >>> with torch.autograd.dtype_guard("raise"):
    ...     weight * data  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    RuntimeError: mul: a float64 is made from a float32: input float32 (2,) and other float64 (2,); convert 'other' ...
    """
    return DtypeGuard(mode)
