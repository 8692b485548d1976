"""Which arguments a transform differentiates with respect to, and what arguments and results are checked for."""

from __future__ import annotations

from typing import Any

from .. import _runtime
from .._dtypes import of_numpy
from .._pytree import TreeSpec
from ..autograd._jvp import check_not_empty

Argnums = int | tuple[int, ...]


def positions(argnums: Any, count: int) -> tuple[int, ...]:
    """The positions of the arguments to differentiate with respect to, counted from the front.

    Raises
    ------
    RuntimeError
        For what is neither int nor tuple of ints, positions that do not exist, an empty tuple, one position twice.
    """
    if not isinstance(argnums, (int, tuple)):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    found = []
    for number in argnums if isinstance(argnums, tuple) else (argnums,):
        if not isinstance(number, int):
            raise RuntimeError(f"argnum must be int, got: {type(number)}")
        if not -count <= number < count:
            raise RuntimeError(f"Got argnum={number}, but only {count} positional inputs")
        found.append(number % count)
    if not found:
        raise RuntimeError("argnums must be non-empty")
    if len(set(found)) != len(found):
        raise RuntimeError(f"argnums elements must be unique, got {argnums}")
    return tuple(found)


def check_tensor_input(value: Any) -> None:
    """Raise unless an argument to differentiate with respect to is a tensor."""
    if not isinstance(value, _runtime.Tensor):
        raise ValueError(
            f"Thing passed to transform API must be Tensor, got {type(value)}: pass it as another argument, or bind it with "
            "functools.partial"
        )


def check_outputs(outputs: list[Any], api: str) -> None:
    """Raise unless what a function returned are tensors, and at least one."""
    check_not_empty(outputs, api)
    for output in outputs:
        if not isinstance(output, _runtime.Tensor):
            raise RuntimeError(
                f"{api}: expected f(*primals) to return only tensors, got unsupported type {type(output)}: return what is "
                "no tensor as auxiliary output, (output, aux) with has_aux=True"
            )


def check_floats(outputs: list[Any]) -> None:
    """Raise unless all outputs are of floats."""
    for output in outputs:
        if output._array.dtype.kind != "f":
            raise RuntimeError(
                "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with dtype "
                f"{of_numpy(output._array.dtype)}: return it as an auxiliary output (has_aux=True)"
            )


def split_aux(output: Any, has_aux: bool, api: str) -> tuple[Any, Any]:
    """What a function returned, as the output to differentiate and the auxiliary one."""
    if not has_aux:
        return output, None
    if not (isinstance(output, tuple) and len(output) == 2):
        raise RuntimeError(f"{api}: output of function f should be a tuple: (output, aux) if has_aux is True")
    return output


def written(spec: TreeSpec) -> str:
    """A structure as people write it: ``(*, {'a': *})``."""
    if spec.is_leaf():
        return "*"
    inner = [written(child) for child in spec.children()]
    if spec.type is list:
        return f"[{', '.join(inner)}]"
    if spec.type is tuple:
        return f"({', '.join(inner)}{',' * (len(inner) == 1)})"
    if spec.type is dict:
        return "{" + ", ".join([f"{key!r}: {child}" for key, child in zip(spec.context, inner)]) + "}"
    return f"{spec.type.__name__}({', '.join(inner)})"
