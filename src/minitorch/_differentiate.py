"""``backward`` and ``grad``: from tensors to a walk, and from a walk's results to tensors."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from . import _runtime
from ._anomaly import checker
from ._engine import Walk, output_gradient, run
from ._hooks import as_gradient
from ._leaves import accumulated
from ._modes import in_transform, lifted, observers
from ._passes import note_pass, tell
from ._reach import reachable
from ._records import recordings
from ._runtime import raw, traced, wrap
from ._size import Size
from ._stories import tell_shared
from ._tape import AccumulateGrad, Node, Output, output_node
from ._value_notes import tell_derived
from ._views import current_node

CREATE_GRAPH = (
    "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient which "
    "can cause a memory leak. We recommend using autograd.grad when creating the graph to avoid this. If you have to use "
    "this function, make sure to reset the .grad fields of your parameters to None after use to break the cycle and avoid "
    "the leak."
)
_IN_TRANSFORM = (
    "backward() called inside a transform of torch.func (grad, vjp, jvp, ...): it would add to .grad, which a transform "
    "does not return. Use func.grad or func.vjp there, or call backward() outside of the transformed function."
)


class GradientEdge(NamedTuple):
    """Where a tensor's gradient goes: a node and the number of its output. See ``get_gradient_edge``."""

    node: Node
    output_nr: int
    ownership_token: Any = None


def get_gradient_edge(tensor: Any) -> GradientEdge:
    """The edge that gradients of *tensor* flow along; it keeps its meaning when the tensor is later written in place.

    Raises
    ------
    RuntimeError
        If the tensor does not require grad.

    Examples
    --------
    >>> import minitorch as torch
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> y = x * 3
    >>> edge = torch.autograd.graph.get_gradient_edge(y)
    >>> torch.autograd.grad(y.exp().log(), [edge])
    (tensor(1.),)
    """
    node = current_node(tensor)
    if node is None:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    return GradientEdge(node.edges[0], node.index) if node.__class__ is Output else GradientEdge(node, 0)


def tuple_of(tensors: Any) -> tuple[Any, ...]:
    """One tensor or edge, a sequence of them, or a dict's values, as a tuple."""
    if isinstance(tensors, (_runtime.Tensor, GradientEdge)):
        return (tensors,)
    if isinstance(tensors, dict):
        return tuple(tensors.values())
    if not isinstance(tensors, Iterable):
        raise TypeError(f"expected a Tensor, a GradientEdge or a sequence of them, not {type(tensors).__name__}")
    return tuple(tensors)


def starting_points(tensors: tuple[Any, ...], gradients: tuple[Any, ...], create: bool) -> tuple[list[Any], list[Any]]:
    """The nodes to start from, and their gradients, checked."""
    nodes, starts = [], []
    F = traced if create or (observers and lifted()) else raw
    for index, (tensor, gradient) in enumerate(zip(tensors, gradients)):
        if isinstance(tensor, GradientEdge):
            node = tensor.node
            layout = node.layout[tensor.output_nr] if node.several else node.layout
            if node.several:
                node = output_node(node, tensor.output_nr, layout)
            shape, dtype = layout if layout is not None else (node.array.shape, node.array.dtype)  # type: ignore[attr-defined]
        else:
            if not isinstance(tensor, _runtime.Tensor):
                raise TypeError(
                    f"element {index} of tensors must be a Tensor or a GradientEdge, not {type(tensor).__name__}"
                )
            node = current_node(tensor)
            shape, dtype = tensor._array.shape, tensor._array.dtype
        if node is None:
            raise RuntimeError(f"element {index} of tensors does not require grad and does not have a grad_fn")
        nodes.append(node)
        starts.append(as_gradient(_start(gradient, index, shape, dtype), F))
    return nodes, starts


def _start(gradient: Any, index: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """The gradient a root starts with: 1 for a scalar, or what was given, of the root's shape and dtype."""
    if gradient is None:
        if math.prod(shape) != 1:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        return _runtime.made(np.ones(shape, dtype))  # which observers see, so that it is a constant to them
    if not isinstance(gradient, _runtime.Tensor):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(gradient).__name__}")
    if gradient._array.shape != shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{index}] has a shape of {gradient.shape} and output[{index}] has a shape of "
            f"{Size(shape)}."
        )
    return gradient if gradient._array.dtype is dtype else traced.to(gradient, dtype=dtype)


def noted_run(roots: list[Node], gradients: list[Any], walk_: Walk) -> None:
    """``run``, noted where recording is on: the pass, what it let go of, which leaves it reached."""
    noted = note_pass(roots, walk_.accumulate)
    wanted = walk_.captured
    try:
        run(roots, gradients, walk_)
    except BaseException as error:
        tell_shared(error, reachable(roots) - {None})
        noted.error = f"{type(error).__name__}: {error}"
        raise
    nodes = reachable(roots) - {None}
    noted.note_reached(nodes)
    for node in nodes:
        if node.__class__ is AccumulateGrad:
            if walk_.accumulate and (wanted is None or node in wanted):
                tell(node, "backward")
        elif node.extras is not None and not walk_.retain and wanted is None:
            node.extras.freed = noted.mark


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Accumulate the gradients of *tensors* into the leaves that they depend on.

    Parameters
    ----------
    tensors : Tensor or sequence of Tensor or GradientEdge
        The roots.
    grad_tensors : sequence of (Tensor or None), optional
        The gradient each root starts with, of the root's shape; may be left out for one-element roots.
    retain_graph : bool, optional
        Whether saved values are kept for another backward (default: *create_graph*).
    create_graph : bool
        Whether the gradients are recorded, for higher derivatives.
    grad_variables : sequence of (Tensor or None), optional
        The old name of *grad_tensors*.
    inputs : Tensor, or sequence of Tensor or GradientEdge, or dict of Tensor, optional
        Accumulate into these only, leaves or not.

    Raises
    ------
    RuntimeError
        For roots that need no gradient, gradients of another shape or number, an empty *inputs*, a graph whose saved
        values were freed or edited; inside a transform of ``func``.

    Examples
    --------
    >>> import minitorch as torch
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> torch.autograd.backward([x * 2, x * 3], [torch.ones(2), torch.ones(2)])
    >>> x.grad
    tensor([5., 5.])
    """
    if in_transform():
        raise RuntimeError(_IN_TRANSFORM)
    for observer in tuple(observers):
        if observer.active():
            observer.accumulating()
    if grad_variables is not None:
        warnings.warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning, stacklevel=2)
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. Please only use "
                "`grad_tensors`."
            )
        grad_tensors = grad_variables
    if inputs is not None and not isinstance(inputs, (_runtime.Tensor, GradientEdge)) and len(inputs) == 0:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    roots = tuple_of(tensors)
    if not roots:
        return
    nodes, starts = starting_points(roots, gradients_for(roots, grad_tensors), create_graph)
    if create_graph:
        warnings.warn(CREATE_GRAPH, UserWarning, stacklevel=2)
    retain = create_graph if retain_graph is None else retain_graph
    targets = None if inputs is None else [_target(i, "inputs") for i in tuple_of(inputs)]
    captured = None if targets is None else dict.fromkeys([node for node, _ in targets])
    (noted_run if recordings else run)(nodes, starts, Walk(create_graph, retain, True, captured, checker()))
    if targets is not None and captured is not None:
        for target, (node, index) in dict(zip(tuple_of(inputs), targets)).items():
            gradient = output_gradient(node, captured[node], index)
            if node.__class__ is AccumulateGrad or gradient is None or not isinstance(target, _runtime.Tensor):
                continue
            if not _retains(node, index, target):
                target._grad = accumulated(getattr(target, "_grad", None), gradient, create_graph)


def _retains(node: Node, index: int, tensor: Any) -> bool:
    """Whether the walk itself has added to this non-leaf's ``.grad``."""
    hooks = None if node.extras is None else node.extras.outputs.get(index)
    return hooks is not None and hooks.retained is not None and hooks.retained() is tensor


def tensor_backward(
    self: Any, gradient: Any = None, retain_graph: bool | None = None, create_graph: bool = False, inputs: Any = None
) -> None:
    """Accumulate the gradients of this tensor into the leaves it depends on; see ``autograd.backward``.

    Parameters
    ----------
    gradient : Tensor, optional
        The gradient to start with, of this tensor's shape; may be left out for one element.
    retain_graph, create_graph, inputs
        As for ``autograd.backward``.

    Examples
    --------
    >>> import minitorch as torch
    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> (x * x).backward()
    >>> x.grad
    tensor(6.)
    """
    array, node = self._array, current_node(self)
    if (
        gradient is None
        and inputs is None
        and not create_graph
        and node is not None
        and array.size == 1
        and not observers
        and not in_transform()
    ):
        start = np.array(1, array.dtype) if not array.ndim else np.ones(array.shape, array.dtype)
        walk_ = Walk(False, bool(retain_graph), True, None, checker())  # the everyday call
        (noted_run if recordings else run)([node], [start], walk_)
    else:
        backward((self,), None if gradient is None else (gradient,), retain_graph, create_graph, inputs=inputs)


def gradients_for(roots: tuple[Any, ...], gradients: Any) -> tuple[Any, ...]:
    """One starting gradient, or None, for each root."""
    if gradients is None:
        return (None,) * len(roots)
    gradients = (gradients,) if isinstance(gradients, _runtime.Tensor) else tuple(gradients)
    if len(gradients) != len(roots):
        raise RuntimeError(f"got {len(roots)} tensors and {len(gradients)} gradients")
    return gradients


def _target(target: Any, what: str) -> tuple[Node, int]:
    """The node and output number whose gradient is wanted."""
    if isinstance(target, _runtime.Tensor):
        if current_node(target) is None:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
        target = get_gradient_edge(target)
    if not isinstance(target, GradientEdge):
        raise TypeError(f"{what} must be Tensors or GradientEdges, not {type(target).__name__}")
    return target.node, target.output_nr


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Any:
    """The gradients of *outputs* with respect to *inputs*, without touching any ``.grad``.

    Parameters
    ----------
    outputs, inputs : Tensor or sequence of Tensor or GradientEdge
        What is differentiated, and with respect to what (leaves or not); *inputs* may be a dict of tensors.
    grad_outputs : Tensor or sequence of (Tensor or None), optional
        The vector of the vector-Jacobian product; may be left out for one-element outputs.
    retain_graph, create_graph : bool
        As for ``backward``.
    only_inputs : bool
        Accepted and without effect, as in PyTorch: gradients are of *inputs* only.
    allow_unused : bool, optional
        Whether an input that outputs do not depend on gives None instead of an error.
    is_grads_batched : bool
        Whether the first dimension of *grad_outputs* runs over a batch of vectors; gradients then have it too.
    materialize_grads : bool
        Whether unused inputs give zeros; implies *allow_unused*.

    Returns
    -------
    tuple of Tensor
        In the order of *inputs*; of a dict, a dict with its keys.

    Raises
    ------
    RuntimeError
        For tensors that need no gradient, unused inputs, empty inputs.
    ValueError
        For *materialize_grads* with ``allow_unused=False``.

    Examples
    --------
    >>> import minitorch as torch
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> g, = torch.autograd.grad(x**3, x, create_graph=True)
    >>> g, torch.autograd.grad(g, x)
    (tensor(12., grad_fn=<MulBackward0>), (tensor(12.),))
    """
    if not only_inputs:
        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for other "
            "parts of the graph, please use torch.autograd.backward.",
            FutureWarning,
            stacklevel=2,
        )
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    allow_unused = bool(materialize_grads if allow_unused is None else allow_unused)
    roots, wanted = tuple_of(outputs), tuple_of(inputs)
    if materialize_grads and any([isinstance(w, GradientEdge) for w in wanted]):
        raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
    if not wanted:
        raise RuntimeError("grad requires non-empty inputs: the sequence `inputs` cannot be empty")
    retain = create_graph if retain_graph is None else retain_graph
    compute = batched if is_grads_batched else gradients
    results = compute(roots, wanted, grad_outputs, retain, create_graph, allow_unused, materialize_grads)
    if observers and not create_graph:
        tell_derived([g for g in results if g is not None])
    return dict(zip(inputs, results)) if isinstance(inputs, dict) else results


def gradients(
    roots: tuple[Any, ...],
    wanted: tuple[Any, ...],
    grad_outputs: Any,
    retain: bool,
    create: bool,
    unused: bool,
    materialize: bool,
) -> tuple[Any, ...]:
    """One walk: the gradients of *roots* with respect to each that is wanted."""
    nodes, starts = starting_points(roots, gradients_for(roots, grad_outputs), create)
    targets = [_target(w, "inputs") for w in wanted]
    captured = dict.fromkeys([node for node, _ in targets])
    (noted_run if recordings else run)(nodes, starts, Walk(create, retain, False, captured, checker()))
    results = []
    for place, (target, (node, index)) in enumerate(zip(wanted, targets)):
        gradient = output_gradient(node, captured[node], index)
        if gradient is None:
            if not unused:
                raise RuntimeError(
                    f"The differentiated Tensor at index {place} appears to not have been used in the graph. Set "
                    "allow_unused=True if this is the desired behavior."
                )
            results.append(wrap(np.zeros_like(target._array)) if materialize else None)
        else:
            results.append(gradient if isinstance(gradient, _runtime.Tensor) else wrap(np.asarray(gradient)))
    return tuple(results)


batched: Any = None
"""The same as ``gradients`` for a batch of vectors at once; learnt from ``autograd``, as it stands on ``vmap``."""


def learn_batched(function: Any) -> None:
    """Called once by autograd."""
    global batched
    batched = function
