"""Jacobians and Hessians at a point, and products with them: ``vjp``, ``jvp``, ``vhp``, ``hvp``, ``jacobian``, ``hessian``.

Each takes a function and its inputs, a tensor or a tuple of tensors.  Results have no history unless ``create_graph=True``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import _runtime
from .._modes import in_transform, is_grad_enabled
from .._op import Row
from .._runtime import traced
from .._tape import AccumulateGrad, Output
from .._views import current_node
from . import _strict as strictly
from ._jvp import jvp as push
from ._transform import (
    at_once,
    bare,
    column_blocks,
    cut,
    each,
    gradients,
    inner,
    leaf,
    one_hot_rows,
    recording,
    zeros_like,
)
from .forward_ad import check_dual

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

_OUTPUTS = "outputs of the user-provided function"
_NO_VECTOR = (
    "The vector v can only be None if the input to the user-provided function is a single Tensor with a single element."
)


# -- arguments and results ---------------------------------------------------------------------------------------------
def _check_place(name: str, create: bool) -> None:
    """Refuse what would be a constant to a transform around it: its gradient would be zero without a word.

    Raises
    ------
    RuntimeError
        Inside a reverse-mode transform of ``func`` without *create_graph*.
    """
    if not create and in_transform() in ("reverse", "linearize"):
        raise RuntimeError(
            f"autograd.functional.{name}() called inside a transform of torch.func (grad, vjp, jacrev, ...): its result has no "
            "history, so that the transform would take it for a constant. Use the transforms there too (func.grad, vjp, jvp, "
            "jacrev, jacfwd, hessian), or pass create_graph=True."
        )


def _tuple_of(value: Any, what: str, name: str) -> tuple[bool, tuple[Any, ...]]:
    """Whether it is a tuple, and it as one.

    Raises
    ------
    TypeError
        For what is neither a tensor nor a tuple of tensors.
    """
    several = isinstance(value, tuple)
    tensors: tuple[Any, ...] = value if several else (value,)
    for index, tensor in enumerate(tensors):
        if not isinstance(tensor, _runtime.Tensor):
            which = f"value at index {index}" if several else f"given {what}"
            raise TypeError(
                f"The {what} given to {name} must be either a Tensor or a tuple of Tensors but the {which} has type "
                f"{type(tensor)}."
            )
    return several, tensors


def _point(inputs: Any, name: str, create: bool) -> tuple[bool, list[Any]]:
    """The inner inputs: with *create*, those through which gradients go on to the inputs."""
    several, tensors = _tuple_of(inputs, "inputs", name)
    return several, [inner(t) if create and current_node(t) is not None else leaf(t) for t in tensors]


def _vector(v: Any, name: str, create: bool, like: Sequence[Any], several: bool, missing: str) -> list[Any] | None:
    """The vector of a product, checked; None where it may be left out.

    Raises
    ------
    RuntimeError
        For a vector of other sizes, or none where there is more than one element.
    """
    if v is None:
        if len(like) != 1 or like[0]._array.size != 1:
            raise RuntimeError(missing)
        return None
    vectors = _tuple_of(v, "v", name)[1]
    if len(vectors) != len(like):
        if several:
            raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(vectors)}.")
        raise RuntimeError("The given v should contain a single Tensor.")
    for index, (vector, tensor) in enumerate(zip(vectors, like)):
        if vector.shape != tensor.shape:
            entry = f"Entry {index} in " if several else ""
            raise RuntimeError(f"{entry}v has invalid size: should be {tensor.shape} but got {vector.shape}.")
    return [v if create else bare(v) for v in vectors]


def _scalar(output: Any, name: str, strict: bool) -> Any:
    """The one-element output of a function that has a Hessian.

    Raises
    ------
    RuntimeError
        For several outputs, or one of several elements.
    """
    several, outputs = _tuple_of(output, _OUTPUTS, name)
    if strict:
        strictly.check_outputs(outputs)
    if several:
        raise RuntimeError(f"The function given to {name} should return a single Tensor")
    if output._array.size != 1:
        raise RuntimeError(
            f"The Tensor returned by the function given to {name} should contain a single element: sum() it, or use jacobian"
        )
    return output


def _result(tensors: Sequence[Any], several: bool, create: bool) -> Any:
    """A tuple, or its one element; without history unless it was asked for."""
    results = tuple(tensors if create else map(cut, tensors))
    return results if several else results[0]


def _or_zeros(found: Sequence[Any], like: Sequence[Any]) -> list[Any]:
    return [zeros_like(t) if g is None else g for g, t in zip(found, like)]


# -- products ----------------------------------------------------------------------------------------------------------
def vjp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The value of *func* at a point, and the product of a vector with its Jacobian there: one backward pass.

    Parameters
    ----------
    func : function
        Takes the inputs, returns a tensor or a tuple of tensors.
    inputs : Tensor or tuple of Tensor
        The point.
    v : Tensor or tuple of Tensor, optional
        The vector, of the outputs' shapes; may be left out for a single element.
    create_graph : bool
        Whether the results have a history, so that they can be differentiated in turn.
    strict : bool
        Whether an output or a result that does not depend on the inputs raises; it has zeros otherwise.

    Returns
    -------
    outputs
        What *func* returns.
    product : Tensor or tuple of Tensor
        Like the inputs.

    Raises
    ------
    TypeError
        For inputs, outputs or vectors that are no tensors or tuples of tensors.
    RuntimeError
        For a vector of other sizes, integer inputs; where *strict* is not met; inside a reverse-mode transform of ``func``
        without *create_graph*.

    Examples
    --------
    >>> import minitorch as torch
    >>> from minitorch.autograd.functional import vjp
    >>> vjp(lambda x: x**2, torch.tensor([1.0, 2.0]), torch.tensor([1.0, 1.0]))
    (tensor([1., 4.]), tensor([2., 4.]))
    """
    _check_place("vjp", create_graph)
    with recording():
        several_inputs, point = _point(inputs, "vjp", create_graph)
        several, outputs = _tuple_of(func(*point), _OUTPUTS, "vjp")
        if strict:
            strictly.check_outputs(outputs)
        missing = (
            "The vector v can only be None if the user-provided function returns a single Tensor with a single element."
        )
        vectors = _vector(v, "vjp", create_graph, outputs, several, missing)
    with recording(create_graph or is_grad_enabled()):
        found = gradients(outputs, point, vectors, create_graph=create_graph)
    if strict:
        strictly.check_products(found, create_graph, "jacobian", "The output")
    product = _result(_or_zeros(found, point), several_inputs, create_graph)
    return _result(outputs, several, create_graph), product


def jvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The value of *func* at a point, and the product of its Jacobian there with a vector.

    Parameters
    ----------
    func, inputs, create_graph, strict
        As for ``vjp``.
    v : Tensor or tuple of Tensor, optional
        The vector, of the inputs' shapes; may be left out for a single element.

    Returns
    -------
    outputs
        What *func* returns.
    product : Tensor or tuple of Tensor
        Like the outputs.

    Raises
    ------
    TypeError, RuntimeError
        As for ``vjp``.

    Examples
    --------
    >>> import minitorch as torch
    >>> from minitorch.autograd.functional import jvp
    >>> jvp(lambda x: x.sum() * x, torch.tensor([1.0, 2.0]), torch.tensor([1.0, 0.0]))
    (tensor([3., 6.]), tensor([4., 2.]))
    """
    _check_place("jvp", create_graph)
    with recording():
        several_inputs, point = _point(inputs, "jvp", create_graph)
        vectors = _vector(v, "jvp", create_graph, point, several_inputs, _NO_VECTOR)
        several = False

        def outputs_of(*point: Any) -> tuple[Any, ...]:
            nonlocal several
            several, outputs = _tuple_of(func(*point), _OUTPUTS, "jvp")
            if strict:
                strictly.check_outputs(outputs)
            return outputs

        outputs, products = _pushed(outputs_of, outputs_of, point, vectors)
        if strict:
            strictly.check_connected(outputs, point)
            strictly.check_products(products, create_graph, "jacobian", "The output")
    return _result(outputs, several, create_graph), _result(products, several, create_graph)


def _pushed(
    function: Callable[..., Any], recorded: Callable[..., Any], point: list[Any], vectors: list[Any] | None
) -> tuple[Any, Any]:
    """A function's outputs and their tangents: by forward mode; where that ends at a custom Function without jvp, by reverse
    mode twice, on *recorded*, whose outputs have a history."""
    given = [one_hot_rows([p])[0].reshape(p.shape) for p in point] if vectors is None else vectors
    directions = tuple([v if v.is_floating_point() else v.to(p.dtype) for v, p in zip(given, point)])
    try:
        outputs, products = push(function, tuple(point), directions)
    except NotImplementedError:
        outputs = recorded(*point)
        cotangents = [leaf(zeros_like(o)) for o in outputs]
        pulled = gradients(outputs, point, cotangents, create_graph=True)
        products = _or_zeros(gradients(pulled, cotangents, directions, create_graph=True), outputs)
    return outputs, products


def vhp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The value of a scalar function at a point, and the product of a vector with its Hessian there: two backward passes.

    Parameters
    ----------
    func, inputs, create_graph, strict
        As for ``vjp``; *func* returns one tensor of one element.
    v : Tensor or tuple of Tensor, optional
        The vector, of the inputs' shapes; may be left out for a single element.

    Returns
    -------
    output : Tensor
        What *func* returns.
    product : Tensor or tuple of Tensor
        Like the inputs.

    Raises
    ------
    TypeError, RuntimeError
        As for ``vjp``; RuntimeError for outputs of more than one element.

    Examples
    --------
    >>> import minitorch as torch
    >>> from minitorch.autograd.functional import vhp
    >>> vhp(lambda x: (x**3).sum(), torch.tensor([1.0, 2.0]), torch.tensor([1.0, 1.0]))
    (tensor(9.), tensor([ 6., 12.]))
    """
    return _hessian_product("vhp", func, inputs, v, create_graph, strict)


def hvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The value of a scalar function at a point, and the product of its Hessian there with a vector.

    The Hessian of what operations make is symmetric, and this is ``vhp``: two backward passes.  Where the function calls custom
    Functions, or has hooks change gradients, it may not be, and there are three.

    Parameters
    ----------
    func, inputs, v, create_graph, strict
        As for ``vhp``.

    Returns
    -------
    output, product
        As for ``vhp``.

    Raises
    ------
    TypeError, RuntimeError
        As for ``vhp``.

    Examples
    --------
    >>> import minitorch as torch
    >>> from minitorch.autograd.functional import hvp
    >>> hvp(lambda x: x[0] * x[0] * x[1], torch.tensor([2.0, 3.0]), torch.tensor([1.0, 0.0]))
    (tensor(12.), tensor([6., 4.]))
    """
    return _hessian_product("hvp", func, inputs, v, create_graph, strict)


def _hessian_product(name: str, func: Any, inputs: Any, v: Any, create_graph: bool, strict: bool) -> tuple[Any, Any]:
    """The gradient's gradient, weighed by the vector: its product with the Hessian from the left, and the same from the right
    where the Hessian is symmetric.  Where it may not be, a third pass turns the one into the other, as a vjp's gradient for the
    vector that it is linear in is the jvp."""
    _check_place(name, create_graph)
    with recording():
        several, point = _point(inputs, name, create_graph)
        vectors = _vector(v, name, create_graph, point, several, _NO_VECTOR)
        output = _scalar(func(*point), name, strict)
        gradient = gradients([output], point, create_graph=True)
        if strict:
            strictly.check_gradients(gradient, second=True)
        turned = name == "hvp" and not _of_rows(output, point)
        if turned:
            weights = [leaf(zeros_like(p)) for p in point]
            gradient = gradients(gradient, point, weights, create_graph=True)
    with recording(create_graph or is_grad_enabled()):
        found = gradients(gradient, weights if turned else point, vectors, create_graph=create_graph)
    if strict:
        strictly.check_products(found, create_graph, "hessian", "The jacobian")
    return _result([output], False, create_graph), _result(_or_zeros(found, point), several, create_graph)


def _of_rows(output: Any, point: Sequence[Any]) -> bool:
    """Whether nothing stands between a point and an output but operations whose backward is their derivative: no custom
    Functions, no hooks."""
    seen: set[Any] = {None, *[p._node for p in point]}
    stack = [current_node(output)]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        extras = node.extras
        if extras is not None and (extras.outputs or extras.prehooks or extras.posthooks):
            return False
        if node.__class__ not in (Output, AccumulateGrad) and getattr(node, "row", None).__class__ is not Row:
            return False
        stack.extend(node.edges)
    return True


# -- whole Jacobians ---------------------------------------------------------------------------------------------------
def jacobian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian of *func* at a point.

    Parameters
    ----------
    func, inputs, create_graph, strict
        As for ``vjp``.
    vectorize : bool
        Whether all rows (or columns) are computed at once.
    strategy : str
        "reverse-mode": a backward pass for each element of the outputs; "forward-mode": a forward pass for each element of the
        inputs.

    Returns
    -------
    Tensor, or tuple of tuples of Tensor
        For one output and one input, of shape ``output.shape + input.shape``; a tuple for each output of a tuple for each
        input, or a tuple for the one of which there are several.

    Raises
    ------
    AssertionError
        For another strategy.
    TypeError, RuntimeError
        As for ``vjp``; RuntimeError where *strict* is combined with *vectorize* or with forward mode.

    Examples
    --------
    >>> import minitorch as torch
    >>> from minitorch.autograd.functional import jacobian
    >>> jacobian(lambda x: x.sum() * x, torch.tensor([1.0, 2.0]))
    tensor([[4., 1.],
            [2., 5.]])
    """
    _check_place("jacobian", create_graph)
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: with more outputs than inputs, '
            '"forward-mode" takes fewer passes; otherwise "reverse-mode" does.'
        )
    if strategy == "forward-mode":
        if strict:
            raise RuntimeError(
                'torch.autograd.functional.jacobian: `strict=True` and `strategy="forward-mode"` are not supported together. '
                'Please either set `strict=False` or `strategy="reverse-mode"`.'
            )
        return _by_columns(func, inputs, create_graph, at_once if vectorize else each)
    with recording():
        several_inputs, point = _point(inputs, "jacobian", create_graph)
        several, outputs = _tuple_of(func(*point), _OUTPUTS, "jacobian")
        if strict:
            strictly.check_outputs(outputs)
            if vectorize:
                raise RuntimeError(
                    "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported together. "
                    "Please either set `strict=False` or `vectorize=False`."
                )
        compute = _all_rows if vectorize else _each_row
        rows = [compute(number, output, point, create_graph, strict) for number, output in enumerate(outputs)]
    blocks = [_result(of_output, several_inputs, create_graph) for of_output in rows]
    return tuple(blocks) if several else blocks[0]


def _by_columns(func: Callable[..., Any], inputs: Any, create: bool, over: Callable[..., Sequence[Any]]) -> Any:
    """The Jacobian by forward mode, over the directions of all elements of the inputs."""
    several_inputs, tensors = _tuple_of(inputs, "inputs", "jacobian")
    for primal in tensors:
        check_dual("jacobian()", primal, primal)
    several = False

    def outputs_of(*point: Any) -> tuple[Any, ...]:
        nonlocal several
        several, outputs = _tuple_of(func(*point), _OUTPUTS, "jacobian")
        return outputs

    with recording():
        _, point = _point(inputs, "jacobian", create)
        columns = over(lambda row: push(outputs_of, tuple(point), tuple(row))[1], one_hot_rows(point))
        blocks = [_result(column_blocks(c, tensors), several_inputs, create) for c in columns]
    return tuple(blocks) if several else blocks[0]


def _each_row(number: int, output: Any, point: list[Any], create: bool, strict: bool) -> list[Any]:
    """The Jacobians of one output: a backward pass for each of its elements."""
    columns: list[list[Any]] = [[] for _ in point]
    (basis,) = one_hot_rows([output])
    for i in range(output._array.size):
        found = gradients([output], point, [basis[i]], create_graph=create, retain_graph=True)
        if strict:
            strictly.check_products(found, create, "jacobian", f"Output {number}")
        for column, gradient in zip(columns, _or_zeros(found, point)):
            column.append(gradient)
    shape = output._array.shape
    return [
        (traced.stack(column, 0) if column else zeros_like(i)[None][:0]).reshape(shape + i._array.shape)
        for column, i in zip(columns, point)
    ]


def _all_rows(number: int, output: Any, point: list[Any], create: bool, strict: bool) -> list[Any]:
    """The same by one backward pass over a batch of vectors."""
    basis = one_hot_rows([output])
    found = gradients([output], point, basis, create_graph=create, retain_graph=True, is_grads_batched=True)
    shape = output._array.shape
    rows = [zeros_like(i).expand(basis[0].shape[:1] + i.shape) if g is None else g for g, i in zip(found, point)]
    return [row.reshape(shape + i._array.shape) for row, i in zip(rows, point)]


def hessian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The Hessian of a scalar function at a point: the Jacobian of its gradient.

    Parameters
    ----------
    func, inputs, create_graph, strict
        As for ``vjp``; *func* returns one tensor of one element.
    vectorize, outer_jacobian_strategy
        How the Jacobian of the gradient is computed; see ``jacobian``.

    Returns
    -------
    Tensor, or tuple of tuples of Tensor
        For one input, of shape ``input.shape + input.shape``; for several, a tuple of tuples, with the derivatives for each
        pair.

    Raises
    ------
    AssertionError, TypeError, RuntimeError
        As for ``jacobian``; RuntimeError for outputs of more than one element.

    Examples
    --------
    >>> import minitorch as torch
    >>> from minitorch.autograd.functional import hessian
    >>> hessian(lambda x: (x**3).sum(), torch.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    _check_place("hessian", create_graph)
    several, _ = _tuple_of(inputs, "inputs", "hessian")

    def gradient(*point: Any) -> Any:
        tensors = [t if current_node(t) is not None else leaf(t) for t in point]
        output = _scalar(func(*tensors), "hessian", strict)
        found = _or_zeros(gradients([output], tensors, create_graph=True), tensors)
        if strict:
            strictly.check_gradients(found, second=True)
        return tuple(found) if several else found[0]

    return jacobian(gradient, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)
