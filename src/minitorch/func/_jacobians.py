"""Whole Jacobians: ``jacrev``, ``jacfwd``, ``hessian``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from .._batching._vmap import vmap
from .._pytree import tree_flatten, tree_leaves, tree_map, tree_structure
from .._runtime import traced
from ..autograd._jvp import jvp as push
from ..autograd._transform import at_once, column_blocks, each, one_hot_rows, out_of_inference, row_blocks
from ._arguments import Argnums, check_tensor_input, positions
from ._captured import transforming
from ._gradients import check_aux, passed, pulled_back


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

    @out_of_inference
    @functools.wraps(func)
    def jacobian(*args: Any) -> Any:
        output, pullback, *aux = pulled_back(func, args, argnums, has_aux)
        outputs, output_spec = tree_flatten(output)
        where = positions(argnums, len(args))
        inputs, input_spec = tree_flatten(
            tuple([args[i] for i in where]) if isinstance(argnums, tuple) else args[where[0]]
        )
        rows = _rows(lambda row: tree_leaves(pullback(output_spec.unflatten(row))), outputs, chunk_size)
        blocks = zip(*[row_blocks(of_input, outputs, i) for of_input, i in zip(rows, inputs)])
        result = output_spec.unflatten([input_spec.unflatten(of_output) for of_output in blocks])
        return (result, *aux) if has_aux else result

    return jacobian


def _rows(product: Callable[[list[Any]], list[Any]], outputs: list[Any], chunk_size: int | None) -> Sequence[Any]:
    """The rows of a Jacobian, for each input."""
    basis = one_hot_rows(outputs)
    count = basis[0]._array.shape[0]
    size = chunk_size or count
    if size == 1:
        return each(product, basis)
    if size >= count:
        return at_once(product, basis)
    chunks = [at_once(product, [b[first : first + size] for b in basis]) for first in range(0, count, size)]
    return [traced.cat(list(parts), 0) for parts in zip(*chunks)]


def jacfwd(
    func: Callable[..., Any], argnums: Argnums | None = 0, has_aux: bool = False, *, randomness: str = "error"
) -> Callable[..., Any]:
    """The function that computes the Jacobian of *func* by forward mode: one pass forward for each element of the input.

    Parameters
    ----------
    func : function
        Takes tensors of floats, or structures of them, at *argnums*; returns tensors in any structure.
    argnums : int or tuple of int or None
        The positions of the arguments to differentiate with respect to; None: all, as a tuple.
    has_aux : bool
        Whether *func* returns ``(output, aux)``, of which aux is handed on.
    randomness : str
        What random operations in *func* do, which runs for all columns: see ``vmap``.

    Returns
    -------
    function
        Returns what ``jacrev``'s does.

    Raises
    ------
    ValueError
        When called: for arguments at *argnums* that are no tensors of floats.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.func.jacfwd(lambda x: x**2)(torch.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """

    @out_of_inference
    @functools.wraps(func)
    def jacobian(*args: Any) -> Any:
        numbers: Argnums = tuple(range(len(args))) if argnums is None else argnums
        where = positions(numbers, len(args))
        inputs, spec = tree_flatten(tuple([args[i] for i in where]))
        for i in inputs:
            check_tensor_input(i)
        seen: list[Any] = []

        def tangents(*row: Any) -> Any:
            with transforming(func, args, "forward"):
                output, tangent, *aux = push(function, spec.unflatten(inputs), spec.unflatten(row), has_aux=has_aux)
            seen[:] = [tree_structure(output)]
            return tree_leaves(tangent), tree_map(check_aux, aux)

        def function(*wanted: Any) -> Any:
            chosen = dict(zip(where, wanted))
            return func(*[chosen[i] if i in chosen else passed(arg) for i, arg in enumerate(args)])

        columns, aux = vmap(tangents, out_dims=(0, None), randomness=randomness)(*one_hot_rows(inputs))
        (output_spec,) = seen
        single = not isinstance(numbers, tuple)
        blocks = [spec.unflatten(column_blocks(c, inputs)) for c in columns]
        result = output_spec.unflatten([b[0] if single else b for b in blocks])
        return (result, *aux) if has_aux else result

    return jacobian


def hessian(func: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """The function that computes the Hessian of *func*: the Jacobian, by forward mode, of its Jacobian by reverse mode.

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
    return jacfwd(jacrev(func, argnums), argnums)
