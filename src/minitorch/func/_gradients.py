"""Gradients and products with Jacobians as transforms: ``grad``, ``grad_and_value``, ``vjp``, ``jvp``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .. import _runtime
from .._modes import is_grad_enabled
from .._pytree import tree_flatten, tree_map
from .._views import current_node
from ..autograd._jvp import jvp as push
from ..autograd._transform import Level, bare, out_of_inference, recording
from ._arguments import Argnums, check_floats, check_outputs, check_tensor_input, positions, split_aux, written
from ._captured import transforming


def grad(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The function that computes the gradient of *func*, which returns a scalar.

    Parameters
    ----------
    func : function
        Takes tensors, or lists, tuples and dicts of them, at *argnums*, and anything elsewhere; returns a 0-d tensor.
    argnums : int or tuple of int
        The positions of the arguments to differentiate with respect to.
    has_aux : bool
        Whether *func* returns ``(output, aux)``, of which aux, tensors in any structure, is handed on.

    Returns
    -------
    function
        Takes what *func* takes and returns the gradient in the structure of the argument, for a tuple of positions a tuple of
        them; with *has_aux* ``(gradient, aux)``.  The gradient has a history where *func* uses tensors that require grad, so
        that it can be differentiated in turn; transforms nest to any depth.

    Raises
    ------
    RuntimeError
        When called: for outputs that are no 0-d tensor, integer arguments, positions that do not exist.
    ValueError
        When called: for arguments at *argnums* that are no tensors.

    Examples
    --------
    >>> import minitorch as torch
    >>> from minitorch.func import grad
    >>> x = torch.tensor(2.0)
    >>> grad(lambda x: x**3)(x), grad(grad(lambda x: x**3))(x)
    (tensor(12.), tensor(12.))
    >>> grad(lambda p, x: (p["w"] * x).sum())({"w": torch.ones(2)}, torch.tensor([3.0, 4.0]))
    {'w': tensor([3., 4.])}
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        found, value = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return gradient


def grad_and_value(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The function that computes the gradient of *func* and its value; see ``grad``.

    Returns
    -------
    function
        Returns ``(gradient, output)``; with *has_aux* ``(gradient, (output, aux))``.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.func.grad_and_value(lambda x: x**3)(torch.tensor(2.0))
    (tensor(12.), tensor(8.))
    """
    api = "grad_and_value(f)(*args)"

    @out_of_inference
    @functools.wraps(func)
    def gradient_and_value(*args: Any, **kwargs: Any) -> Any:
        level = Level()
        with recording(), transforming(func, (args, kwargs)):
            entered, inputs, spec = _entered(level, args, argnums)
            output, aux = split_aux(func(*entered, **passed(kwargs)), has_aux, api)
        if not isinstance(output, _runtime.Tensor):
            raise RuntimeError(
                f"{api}: Expected f(*args) to return a Tensor, got {type(output)}: {_what_to_return(output)}"
            )
        if output._array.ndim:
            raise RuntimeError(
                f"{api}: Expected f(*args) to return a scalar Tensor, got tensor with {output._array.ndim} dims. Maybe you "
                "wanted to use the vjp or jacrev APIs instead?"
            )
        found = spec.unflatten(level.gradients([output], inputs, retain_graph=level.outer or has_aux))
        value = level.leave(output)
        return found, (value, _left(level, aux)) if has_aux else value

    return gradient_and_value


def _what_to_return(output: Any) -> str:
    """What to do about a function that returned no tensor."""
    if output is None:
        return "was a return forgotten?"
    if isinstance(output, tuple) and len(output) == 2 and isinstance(output[0], _runtime.Tensor):
        return "of (loss, aux), loss is differentiated and aux handed on with has_aux=True"
    return "return the loss alone, a Tensor; what else is of interest, as (loss, aux) with has_aux=True"


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The value of *func* and the function that pulls gradients of its outputs back to its inputs.

    Parameters
    ----------
    func : function
        Takes the primals, returns tensors of floats in any structure.
    *primals : Tensor, or structure of Tensor
        The point.
    has_aux : bool
        Whether *func* returns ``(output, aux)``, of which aux is handed on.

    Returns
    -------
    output
        What *func* returns.
    pullback : function
        ``pullback(cotangents)``, with cotangents in the structure of the output, returns the products of the cotangents with
        the Jacobians: a tuple with an entry for each primal.  It may be called again and again.
    aux
        Only with *has_aux*.

    Raises
    ------
    TypeError
        Where *func* needs more arguments than there are primals.
    RuntimeError
        For outputs that are no tensors of floats; when the pullback is called, for cotangents of another structure or shape.

    Examples
    --------
    >>> import minitorch as torch
    >>> output, pullback = torch.func.vjp(torch.mul, torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))
    >>> output, pullback(torch.tensor([1.0, 0.0]))
    (tensor([3., 8.]), (tensor([3., 0.]), tensor([1., 0.])))
    """
    return pulled_back(func, primals, None, has_aux)


@out_of_inference
def jvp(func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """The value of *func*, and the product of its Jacobian with tangents: one pass forward.

    It costs a small constant times the function, whatever the sizes of inputs and outputs, and keeps nothing.

    Parameters
    ----------
    func : function
        Takes the primals, returns tensors in any structure.
    primals : tuple
        Its arguments: tensors of floats, or structures of them.
    tangents : tuple
        In the structure of the primals, for each tensor one of its shape.
    strict : bool
        Whether an output that does not depend on the primals raises; its tangent is zero otherwise.
    has_aux : bool
        Whether *func* returns ``(output, aux)``, of which aux is handed on.

    Returns
    -------
    output, tangent
        What *func* returns, and its derivative, in the same structure; with *has_aux* also aux.

    Raises
    ------
    RuntimeError
        For primals and tangents that do not match, outputs that are no tensors; where *strict* is not met.
    ValueError
        For primals or tangents that are no floats.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.func.jvp(torch.sin, (torch.tensor(0.0),), (torch.tensor(2.0),))
    (tensor(0.), tensor(2.))
    """
    with transforming(func, primals, "forward"):
        results = push(func, primals, tangents, strict=strict, has_aux=has_aux)
    if has_aux:
        tree_map(check_aux, results[2])
    return results


@out_of_inference
def pulled_back(func: Callable[..., Any], primals: tuple[Any, ...], argnums: Argnums | None, has_aux: bool) -> Any:
    """``vjp`` with respect to the arguments at *argnums*; to all, where that is None."""
    api = "vjp(f, *primals)"
    level = Level()
    with recording(), transforming(func, primals):
        entered, inputs, spec = _entered(level, primals, tuple(range(len(primals))) if argnums is None else argnums)
        output, aux = split_aux(func(*entered), has_aux, api)
        outputs, output_spec = tree_flatten(output)
        check_outputs(outputs, api)
        check_floats(outputs)
    level.end()

    @out_of_inference
    def pullback(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        vectors, given = tree_flatten(cotangents)
        if given != output_spec:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function. "
                f"cotangents: {written(given)}, primal output: {written(output_spec)}"
            )
        level.outer = is_grad_enabled() if create_graph is None else create_graph
        return spec.unflatten(level.gradients(outputs, inputs, vectors, retain_graph=retain_graph))

    results = output_spec.unflatten([level.leave(o) for o in outputs])
    return (results, pullback, _left(level, aux)) if has_aux else (results, pullback)


def _entered(level: Level, args: tuple[Any, ...], argnums: Argnums) -> tuple[list[Any], list[Any], Any]:
    """The arguments for the function; the inner inputs among them; the structure that gradients come in."""
    if not args and argnums == ():  # vjp without primals
        return [], [], tree_flatten(())[1]
    where = positions(argnums, len(args))
    wanted = tuple([args[i] for i in where]) if isinstance(argnums, tuple) else args[where[0]]
    leaves, spec = tree_flatten(wanted)
    for leaf in leaves:
        check_tensor_input(leaf)
    inputs = [level.enter(leaf) for leaf in leaves]
    made = spec.unflatten(inputs)
    entered = [arg if i in where else passed(arg) for i, arg in enumerate(args)]
    for i, argument in zip(where, made if isinstance(argnums, tuple) else (made,)):
        entered[i] = argument
    return entered, inputs, spec


def passed(tree: Any) -> Any:
    """Arguments that are not differentiated: in tensors of their own, so that writes do not give the caller's a history."""
    return tree_map(lambda t: bare(t) if isinstance(t, _runtime.Tensor) and current_node(t) is None else t, tree)


def _left(level: Level, aux: Any) -> Any:
    """Auxiliary output, without the history that nothing outside needs."""

    return tree_map(lambda value: level.leave(check_aux(value)), aux)


def check_aux(value: Any) -> Any:
    """Auxiliary output, which is to be tensors."""
    if not isinstance(value, _runtime.Tensor):
        raise RuntimeError(f"Expected tensors, got unsupported type {type(value)}: auxiliary output must be tensors")
    return value
