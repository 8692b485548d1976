"""``linearize``: a function's value, and its derivative at that point as a linear function."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from .. import _runtime
from .._dtypes import of_numpy
from .._modes import is_grad_enabled
from .._pytree import tree_flatten
from .._size import Size
from ..autograd._transform import Level, gradients, out_of_inference, recording, zeros_like
from ..autograd.graph import OwnHooks, Watched
from ._arguments import check_tensor_input
from ._captured import transforming


@out_of_inference
def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """The value of *func*, and its derivative at this point as a function of tangents.

    *func* runs once, and may write into what it computed.

    Its pullback is linear in the cotangents; the derivative is the pullback of that.  So custom Functions
    need a ``backward`` that can be differentiated; they may be of either style.  What *func* computes under ``no_grad`` is a
    constant here (to ``jvp`` it is none: nor is it in PyTorch, whose ``linearize`` goes by forward mode).

    Parameters
    ----------
    func : function
        Takes the primals, returns tensors in any structure; what else is among them is handed on by the derivative, too.
    *primals : Tensor, or structure of Tensor
        The point.

    Returns
    -------
    output
        What *func* returns.
    derivative : function
        ``derivative(*tangents)``, with tangents like the primals, returns the Jacobian's product with them, in the structure of
        the output.  It may be called again and again.

    Raises
    ------
    RuntimeError
        When the derivative is called, for tangents of another structure, shape or dtype.

    Examples
    --------
    >>> import minitorch as torch
    >>> output, derivative = torch.func.linearize(torch.square, torch.tensor([1.0, 2.0]))
    >>> output, derivative(torch.tensor([1.0, 0.0])), derivative(torch.tensor([0.0, 1.0]))
    (tensor([1., 4.]), tensor([2., 0.]), tensor([0., 4.]))
    """
    level = Level()
    given, spec = tree_flatten(primals)
    for primal in given:
        check_tensor_input(primal)
    for primal in given:
        if isinstance(primal, _runtime.Tensor) and not _is_float(primal):
            raise ValueError(f"Expected primal to be floating point or complex, but got: {primal.dtype}")
    with recording(), transforming(func, primals, "linearize"):
        inputs = [level.enter(primal) for primal in given]
        with OwnHooks(Watched, attrgetter("tensor")):  # func may write into what was saved
            outputs, output_spec = tree_flatten(func(*spec.unflatten(inputs)))
        floats = [o for o in outputs if _is_float(o)]
        cotangents = [level.leaf(zeros_like(o)) for o in floats]
        pulled = gradients(floats, inputs, cotangents, create_graph=True)
    level.end()

    @out_of_inference
    def derivative(*tangents: Any) -> Any:
        vectors, structure = tree_flatten(tangents)
        if structure != spec:
            raise RuntimeError(
                f"Expected the tangents {structure} to have the same argspec as the primals {spec}: one for each"
            )
        for place, (vector, primal) in enumerate(zip(vectors, given)):
            _check_tangent(place, vector, primal)
        level.outer = is_grad_enabled()
        found = iter(level.gradients(pulled, cotangents, vectors, retain_graph=True))
        return output_spec.unflatten([next(found) if _is_float(o) else _constant(o) for o in outputs])

    return output_spec.unflatten([level.leave(o) if isinstance(o, _runtime.Tensor) else o for o in outputs]), derivative


def _is_float(output: Any) -> bool:
    return isinstance(output, _runtime.Tensor) and output._array.dtype.kind == "f"


def _constant(output: Any) -> Any:
    """The derivative of what is no tensor of floats: zeros of a tensor, anything else is handed on."""
    return zeros_like(output) if isinstance(output, _runtime.Tensor) else output


def _check_tangent(place: int, tangent: Any, primal: Any) -> None:
    """Raise unless a tangent is like its primal."""
    check_tensor_input(tangent)
    for what, came, expected in (
        ("shape", Size(tangent._array.shape), Size(primal._array.shape)),
        ("dtype", of_numpy(tangent._array.dtype), of_numpy(primal._array.dtype)),
    ):
        if came != expected:
            raise RuntimeError(
                f"tangent:{place} with {what} {came} in flattened pytree doesn't match the {what} {expected} of the "
                "corresponding primal."
            )
