"""The Jacobian-vector product of a function: forward mode at a level of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _pytree, _runtime, _tangents
from .._runtime import wrap
from .forward_ad import check_dual

_CALL = "jvp(f, primals, tangents)"


def jvp(func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """A function's value, and its derivative in the direction of the tangents, computed in one pass forward.

    It costs a small constant times the function, whatever the number of inputs and outputs; it nests, to any order.

    Parameters
    ----------
    func : callable
        Of tensors, or trees (tuples, lists, dicts) of them; it returns tensors, or a tree of them.
    primals : tuple
        Its arguments.
    tangents : tuple
        For each tensor in *primals* one of the same shape.
    strict : bool
        Whether an output that does not depend on the inputs is refused; its tangent is zero otherwise.
    has_aux : bool
        Whether *func* returns a pair, whose second is returned as it is.

    Returns
    -------
    tuple
        ``(output, tangent)``, or ``(output, tangent, aux)``.

    Raises
    ------
    RuntimeError
        If primals and tangents do not match, or an output is no tensor.
    ValueError
        For primals or tangents of integers.

    Examples
    --------
    >>> import minitorch as torch
    >>> from minitorch.autograd._jvp import jvp
    >>> x = torch.tensor([1.0, 2.0])
    >>> jvp(lambda x: x**3, (x,), (torch.ones(2),))
    (tensor([1., 8.]), tensor([ 3., 12.]))
    >>> jvp(lambda x: jvp(lambda x: x**3, (x,), (torch.ones(2),))[1], (x,), (torch.ones(2),))[1]
    tensor([ 6., 12.])
    """
    flat, directions, spec = _matching(primals, tangents)
    level = _tangents.enter()
    try:
        duals = [_tangents.dual(level, primal, tangent) for primal, tangent in zip(flat, directions)]
        result = func(*_pytree.tree_unflatten(duals, spec))
        aux: Any = None
        if has_aux:
            if not (isinstance(result, tuple) and len(result) == 2):
                raise RuntimeError(f"{_CALL}: output of function f should be a tuple: (output, aux) if has_aux is True")
            result, aux = result
        outputs, shape = _pytree.tree_flatten(result)
        check_not_empty(outputs, _CALL)
        found = [_tangent(level, output, strict) for output in outputs]
    finally:
        _tangents.leave(level)
    tangent = _pytree.tree_unflatten(found, shape)
    return (result, tangent, aux) if has_aux else (result, tangent)


def check_not_empty(outputs: list[Any], api: str) -> None:
    """Raise where a function returned nothing."""
    if not outputs or (len(outputs) == 1 and outputs[0] is None):
        raise RuntimeError(
            f"{api}: Expected f to be a function that has non-empty output (got output = {outputs}): was a return forgotten?"
        )


def _matching(primals: Any, tangents: Any) -> tuple[list[Any], list[Any], Any]:
    """The tensors of primals and tangents, and their common structure."""
    if not isinstance(primals, tuple):
        raise RuntimeError(f"{_CALL}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals).")
    flat, spec = _pytree.tree_flatten(primals)
    directions, other = _pytree.tree_flatten(tangents)
    if spec != other:
        raise RuntimeError(
            f"{_CALL}: Expected primals and tangents to have the same python structure. For example, if primals is a tuple "
            f"of 3 tensors, tangents also must be. Got primals with structure {spec} and tangents with structure {other}"
        )
    for what, leaves in (("primals", flat), ("tangents", directions)):
        for leaf in leaves:
            if not isinstance(leaf, _runtime.Tensor):
                raise RuntimeError(f"{_CALL}: Expected {what} to only contain Tensors, got {type(leaf)}")
        if not leaves:
            raise RuntimeError(f"{_CALL}: Expected {what} to contain at least one Tensor.")
    for primal, tangent in zip(flat, directions):
        check_dual(_CALL, primal, tangent)
    return flat, directions, spec


def _tangent(level: Any, output: Any, strict: bool) -> Any:
    if not isinstance(output, _runtime.Tensor):
        raise RuntimeError(
            f"{_CALL}: expected f(*primals) to return only tensors, got unsupported type {type(output)}: return what is no "
            "tensor as auxiliary output, (output, aux) with has_aux=True"
        )
    tangent = level.of(output)
    if tangent is not None:
        return tangent
    if strict:
        raise RuntimeError(
            f"{_CALL[:-1]}, strict=True): The output of f is independent of the inputs. This is not allowed with strict=True."
        )
    return wrap(np.zeros_like(output._array))
