"""What ``check_gradients`` and ``property_test`` are asked: what cannot be meant is refused, and said."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from types import MethodType
from typing import Any

from .. import _runtime
from ..autograd import Function
from ._report import described

STEADY = (
    "Draw random numbers outside and pass them in, call torch.manual_seed inside, or put dropout into eval mode; keep nothing "
    "from call to call"
)


def name_of(fn: Any) -> str:
    """What a function is called: of a method with its class, as there are many called ``apply``."""
    name = getattr(fn, "__name__", type(fn).__name__)
    owner = getattr(fn, "__self__", None) if isinstance(fn, MethodType) else None
    return name if owner is None else f"{getattr(owner, '__name__', type(owner).__name__)}.{name}"


def check_function(name: str, fn: Any) -> None:
    """Raise TypeError for what is no function, or a class of which one is to be made first."""
    if isinstance(fn, type) and issubclass(fn, Function):
        raise TypeError(f"{name}(): fn is the class {fn.__name__}, a Function: pass {fn.__name__}.apply")
    if isinstance(fn, type) and hasattr(fn, "parameters"):
        raise TypeError(
            f"{name}(): fn is the class {fn.__name__}, a Module: pass one that is made of it, such as {fn.__name__}(...)"
        )
    if not callable(fn):
        raise TypeError(f"{name}(): fn must be a function or a Module, not {described(fn)}")


@dataclass(frozen=True)
class Options:
    """Those of ``check_gradients``, whose docstring says what they mean."""

    order: Any = 1
    fast: Any = False
    kinks: Any = "between"
    reference: Any = None
    skip: Any = ()
    seed: Any = 0
    time_limit: Any = 60.0


def check_options(name: str, checks: Collection[str], asked: Options) -> None:
    """Raise TypeError or ValueError for options that do not exist."""
    skip, seed, time_limit = asked.skip, asked.seed, asked.time_limit
    if asked.order not in (1, 2):
        raise ValueError(f"{name}(): order must be 1 or 2, not {asked.order!r}")
    if asked.kinks not in ("between", "reference"):
        raise ValueError(f"{name}(): kinks must be 'between' or 'reference', not {asked.kinks!r}")
    if isinstance(skip, str) or not isinstance(skip, Collection):
        example = skip if isinstance(skip, str) else "linearity"
        raise TypeError(
            f"{name}(): skip must be a sequence of names, such as ({example!r},), not a {type(skip).__name__}"
        )
    if unknown := sorted({str(s) for s in skip} - set(checks)):
        raise ValueError(f"{name}(): there are no checks {unknown} to skip; there are {', '.join(checks)}")
    if asked.reference is not None:
        try:
            check_function(name, asked.reference)
        except TypeError as error:
            raise TypeError(str(error).replace("fn ", "reference ", 1)) from None
    if seed is not None and (isinstance(seed, bool) or not hasattr(seed, "__index__")):
        raise TypeError(f"{name}(): seed must be an int, not {described(seed)}")
    if time_limit is not None and not isinstance(time_limit, (int, float)):
        raise TypeError(f"{name}(): time_limit must be a number of seconds, not {described(time_limit)}")
    if time_limit is not None and not time_limit >= 0:
        raise ValueError(f"{name}(): time_limit must not be negative, but is {time_limit!r}")


def parameters_of(name: str, fn: Callable[..., Any], given: Iterable[Any] | None) -> tuple[Any, ...]:
    """The tensors that *fn* reads by itself: those given, else those of a Module.

    Raises
    ------
    TypeError
        For what is no sequence of tensors of floats.
    """
    if given is None:
        return tuple([p for p in fn.parameters() if p.requires_grad]) if hasattr(fn, "parameters") else ()
    wanted = f"{name}(): parameters must be a sequence of tensors of floats"
    if hasattr(given, "parameters"):
        raise TypeError(f"{wanted}: pass its parameters()")
    if isinstance(given, _runtime.Tensor) or not isinstance(given, Iterable):
        raise TypeError(f"{wanted}, such as [w], not {described(given)}")
    found = tuple(given)
    for place, parameter in enumerate(found):
        if not isinstance(parameter, _runtime.Tensor) or parameter._array.dtype.kind != "f":
            raise TypeError(f"{wanted}, but number {place} is {described(parameter)}")
    return found


def refusal(outputs: Sequence[Any], who: str = "the function") -> str | None:
    """What is said of outputs that have no gradient: none at all, no tensors, integers; None if they have one."""
    for number, output in enumerate(outputs):
        if not isinstance(output, _runtime.Tensor):
            what = "return tensors, not what .item() or numpy() gives"
            if output is None:
                what = "was a return forgotten?"
            elif isinstance(output, (dict, list, tuple)):
                what = "return the tensors in it as one tuple"
            return f"{who} must return tensors, but output {number} is {described(output)}: {what}"
    if not any([t._array.dtype.kind == "f" for t in outputs]):
        kinds = ", ".join([str(t.dtype) for t in outputs]) or "nothing"
        return f"{who} returns {kinds}, which has no gradient: return values of floats, not indices or masks"
    return None
