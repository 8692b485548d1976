"""Forward mode: tensors that carry a tangent through every operation, inside of a level.

See docs/how-to/forward-mode.md.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any, NamedTuple

from .. import _modes, _runtime, _tangents
from .._args import integer
from .._layouts import layout_of
from .._modes import ModeDecorator
from .._tangent_quick import alone
from .._tangents import Level

_entered: ContextVar[Level | None] = ContextVar("dual_level", default=None)
"""The dual level that is entered here, if one is: the only one, as in PyTorch."""


class UnpackedDualTensor(NamedTuple):
    """What ``unpack_dual`` returns.

    Attributes
    ----------
    primal : Tensor
        The tensor, without its tangent.
    tangent : Tensor or None
        Its tangent.
    """

    primal: Any
    tangent: Any


def enter_dual_level() -> int:
    """Enter a level, inside of which tensors may have tangents, and return its number; ``dual_level`` is the context manager.

    Raises
    ------
    RuntimeError
        Inside of a level: ``func.jvp`` nests.
    """
    if _entered.get() is not None:
        raise RuntimeError(
            "Nested forward mode AD is not supported at the moment: there is one dual level at a time; func.jvp nests"
        )
    _entered.set(_tangents.enter(histories=True))
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """Leave the level: the tangents of all tensors are gone.

    Raises
    ------
    RuntimeError
        Where no level was entered, or another.
    """
    entered = _entered.get()
    if entered is None:
        raise RuntimeError("Dual level must be a positive number: no level was entered.")
    if level not in (None, 0):
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is not supported."
        )
    _entered.set(None)
    _tangents.leave(entered)


def make_dual(tensor: Any, tangent: Any, *, level: int | None = None) -> Any:
    """A view of a tensor that has a tangent: what is computed from it in this level has tangents too.

    Parameters
    ----------
    tensor : Tensor
        The primal, of floats.
    tangent : Tensor
        Of the same shape; kept as it is where it is laid out in memory as the primal is, so that writes into the dual write
        into it, and copied otherwise.
    level : int, optional
        The number that ``enter_dual_level`` returned.

    Raises
    ------
    RuntimeError
        Outside of a level; for a tensor, or a tangent, that has a tangent already; for a tangent of another shape.
    ValueError
        For integers.

    Examples
    --------
    >>> import minitorch as torch
    >>> from minitorch.autograd import forward_ad as fwAD
    >>> with fwAD.dual_level():
    ...     x = fwAD.make_dual(torch.tensor(3.0), torch.tensor(1.0))
    ...     print(x * x)
    tensor(9., tangent=6.0)
    """
    entered = _entered.get() if level is None else _level("make_dual", level)
    if entered is None:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    check_dual("make_dual()", tensor, tangent)
    if not entered.entries:
        return _tangents.dual(entered, tensor, tangent)
    if entered.of(tensor) is not None:
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level 0 is not supported."
        )
    if entered.of(tangent) is not None:
        raise RuntimeError(
            "Setting a forward grad that itself has a forward gradient at the same level 0 is not supported: take the primal "
            "that unpack_dual() gives; func.jvp nests"
        )
    return _tangents.dual(entered, tensor, tangent)


def unpack_dual(tensor: Any, *, level: int | None = None) -> UnpackedDualTensor:
    """A tensor's primal and tangent; outside of a level, and for a tensor that depends on no dual one, the tangent is None.

    Raises
    ------
    RuntimeError
        For a tensor of one example, within a ``vmap`` that is within the level.

    Examples
    --------
    >>> import minitorch as torch
    >>> from minitorch.autograd import forward_ad as fwAD
    >>> with fwAD.dual_level():
    ...     x = fwAD.make_dual(torch.tensor(3.0), torch.tensor(1.0))
    ...     fwAD.unpack_dual(x.exp()).tangent
    tensor(20.0855)
    """
    if not isinstance(tensor, _runtime.Tensor):
        raise TypeError(f"unpack_dual(): argument 'tensor' must be Tensor, not {type(tensor).__name__}")
    entered = _entered.get() if level is None else _level("unpack_dual", level)
    if entered is None:
        return UnpackedDualTensor(tensor, None)
    observers = _modes.observers
    if observers != alone and any([o.active() and o.hides(entered, tensor) for o in observers]):
        raise RuntimeError(
            "unpack_dual(): the tensor depends on the example of a vmap within the level, so that its tangent is known when "
            "the map has ended. Return the tensor, and unpack what vmap gives; or take func.jvp inside of the mapped function"
        )
    tangent = entered.of(tensor) if _modes.tangents_enabled() else None
    return UnpackedDualTensor._make((_tangents.dual(entered, tensor, None), tangent))


def check_dual(name: str, tensor: Any, tangent: Any) -> None:
    """Refuse what can be no primal and tangent."""
    try:
        one, two = tensor._layout or layout_of(tensor), tangent._layout or layout_of(tangent)
        if one[1].kind == "f" and (one is two or (one[0] == two[0] and two[1].kind == "f")):
            return
    except AttributeError:  # no Tensor
        pass
    for what, given in (("primal", tensor), ("tangent", tangent)):
        if not isinstance(given, _runtime.Tensor):
            raise TypeError(f"{name}: expected {what} to be a Tensor, but got: {type(given).__name__}")
        if given._array.dtype.kind != "f":
            raise ValueError(f"Expected {what} to be floating point or complex, but got: {given.dtype}")
    if tensor._array.shape != tangent._array.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
            f"supported. Tensor is of size {list(tensor.shape)} while the given forward gradient is of size "
            f"{list(tangent.shape)}."
        )


def _level(name: str, level: int) -> Level | None:
    if integer(level, "level", name) != 0:
        raise RuntimeError(f"Invalid level given to {name}: there is no level {level}")
    return _entered.get()


class dual_level(ModeDecorator):
    """Context manager or decorator: a level, inside of which ``make_dual`` gives tensors tangents.

    Examples
    --------
    >>> import minitorch as torch
    >>> from minitorch.autograd import forward_ad as fwAD
    >>> x, t = torch.tensor([0.0, 1.0]), torch.tensor([1.0, 0.0])
    >>> with fwAD.dual_level():
    ...     y = fwAD.make_dual(x, t).cos().sum()
    ...     fwAD.unpack_dual(y).tangent
    tensor(0.)
    """

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *exc: object) -> None:
        exit_dual_level()


class _set_fwd_grad_enabled(ModeDecorator):
    """Whether operations compute tangents; as a context manager, inside only."""

    def __init__(self, mode: bool) -> None:
        self.mode = mode
        self.previous = _modes.switch_tangents(mode)

    def clone(self) -> _set_fwd_grad_enabled:
        return _set_fwd_grad_enabled(self.mode)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        _modes.switch_tangents(*self.previous)


def _is_fwd_grad_enabled() -> bool:
    return _modes.tangents_enabled()


__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]
