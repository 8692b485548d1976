"""Whole Jacobians: ``jacrev``, ``hessian``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from .._pytree import tree_flatten, tree_leaves
from .._runtime import traced
from ..autograd._transform import one_hot_rows
from ._arguments import Argnums, positions
from ._gradients import pulled_back


def jacrev(
    func: Callable[..., Any],
    argnums: Argnums = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:
    """The function that computes the Jacobian of *func* by reverse mode: one backward pass for each element of the output.

    Parameters
    ----------
    func : function
        Takes tensors, or structures of them, at *argnums*; returns tensors of floats in any structure.
    argnums : int or tuple of int
        The positions of the arguments to differentiate with respect to.
    has_aux : bool
        Whether *func* returns ``(output, aux)``, of which aux is handed on.
    chunk_size : int, optional
        How many rows of the Jacobian are computed at a time (default: all).

    Returns
    -------
    function
        Returns, in the structure of the output, in that of the argument (for a tuple of positions, in a tuple of these):
        tensors of shape ``output.shape + argument.shape``.  With *has_aux* ``(jacobian, aux)``.

    Raises
    ------
    ValueError
        If *chunk_size* is not positive.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.func.jacrev(lambda x: x**2)(torch.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func)
    def jacobian(*args: Any) -> Any:
        output, pullback, *aux = pulled_back(func, args, argnums, has_aux)
        outputs, output_spec = tree_flatten(output)
        where = positions(argnums, len(args))
        inputs, input_spec = tree_flatten(
            tuple([args[i] for i in where]) if isinstance(argnums, tuple) else args[where[0]]
        )
        rows = _each(lambda row: tree_leaves(pullback(output_spec.unflatten(row))), one_hot_rows(outputs), inputs)
        blocks = zip(*[_split(of_input, outputs, i) for of_input, i in zip(rows, inputs)])
        result = output_spec.unflatten([input_spec.unflatten(of_output) for of_output in blocks])
        return (result, *aux) if has_aux else result

    return jacobian


def _each(function: Callable[[list[Any]], list[Any]], rows: Sequence[Any], like: Sequence[Any]) -> list[Any]:
    """The function of each row, stacked."""
    count = len(rows[0])
    if not count:
        return [traced.stack([t], 0)[:0] for t in like]
    each = [function([r[i] for r in rows]) for i in range(count)]
    return [traced.stack(list(parts), 0) for parts in zip(*each)]


def _split(rows: Any, outputs: Sequence[Any], input: Any) -> list[Any]:
    """Rows of a Jacobian with respect to one input, as blocks of the outputs' shapes."""
    blocks, first = [], 0
    for output in outputs:
        size = output._array.size
        blocks.append(rows[first : first + size].reshape(output._array.shape + input._array.shape))
        first += size
    return blocks


def hessian(func: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """The function that computes the Hessian of *func*: the Jacobian of its Jacobian.

    Parameters
    ----------
    func : function
        Takes tensors, or structures of them, at *argnums*; returns tensors of floats in any structure.
    argnums : int or tuple of int
        The positions of the arguments to differentiate with respect to.

    Returns
    -------
    function
        Returns, in the structure of the Jacobian, in that of the argument: tensors of shape
        ``output.shape + argument.shape + argument.shape``.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.func.hessian(lambda x: x[0] * x[0] * x[1])(torch.tensor([2.0, 3.0]))
    tensor([[6., 4.],
            [4., 0.]])
    """
    return jacrev(jacrev(func, argnums), argnums)
