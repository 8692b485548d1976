"""Gradients checked against central finite differences: ``gradcheck`` and ``gradgradcheck``.

The numerical Jacobian has one column for each input element, ``(f(x + eps e) - f(x - eps e)) / (2 eps)``; the analytical one
has one row for each output element, a vector-Jacobian product.  In fast mode both are multiplied from both sides by random
unit vectors, as in PyTorch: two evaluations and one backward, whatever the sizes.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _runtime
from .._differentiate import grad
from .._modes import enable_grad, no_grad
from .._runtime import flagged, wrap
from .._value_notes import tell_read
from .._views import current_node

if TYPE_CHECKING:
    from ._subject import Subject

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


def tuple_of(value: Any) -> tuple[Any, ...]:
    """What a function returned, as a tuple."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


class GradcheckError(RuntimeError):
    """A gradient that does not agree with finite differences, or fails another check."""


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Check the gradients of *func* against central finite differences.

    Parameters
    ----------
    func : function
        Takes tensors, returns a tensor or several.
    inputs : Tensor or sequence
        The point to check at; those that require grad are perturbed, in float64 for the default step to make sense.
    eps : float
        The step of the finite differences.
    atol, rtol : float
        How far the two may be apart: ``|a - n| <= atol + rtol * |n|``.
    raise_exception : bool
        Whether a failed check raises or gives False.
    nondet_tol : float
        How far two runs of backward may be apart.
    check_undefined_grad, check_batched_grad : bool
        Whether a missing output gradient must act as zeros; whether batches of vectors must give what single ones do.
    check_grad_dtypes : bool
        Whether each gradient must have its input's dtype.
    check_forward_ad, check_backward_ad : bool
        Whether forward mode is checked; whether backward is.
    check_batched_forward_grad : bool
        Whether batches of tangents must give what single ones do, in forward mode.
    fast_mode : bool
        Whether random projections of the Jacobians are compared instead of all of their entries.
    masked : bool, optional
        Accepted for sparse tensors' sake, which do not exist here.

    Returns
    -------
    bool
        True, or False where the check failed and *raise_exception* is False.

    Raises
    ------
    GradcheckError
        "Jacobian mismatch for output i with respect to input j", "Backward is not reentrant", …
    ValueError
        If no input requires grad.
    AssertionError
        If neither mode is to be checked, or batches in one that is not; if the outputs' shapes change with the inputs.

    Examples
    --------
    >>> import minitorch as torch
    >>> x = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradcheck(lambda x: (x * x).sin(), x)
    True
    """
    _need(
        check_forward_ad or check_backward_ad,
        "Expected at least one of check_forward_ad or check_backward_ad to be True",
    )
    _need(check_backward_ad or not check_batched_grad, _REQUIRES.format("check_batched_grad", "check_backward_ad"))
    _need(
        check_forward_ad or not check_batched_forward_grad,
        _REQUIRES.format("check_batched_forward_grad", "check_forward_ad"),
    )
    check = _Check(func, inputs, eps, atol, rtol, nondet_tol, fast_mode)
    try:
        if not check.prepare():
            return True
        if check_backward_ad:
            check.run()
        if check_forward_ad:
            from ._forward_check import check_forward  # when first needed, as forward mode is

            check_forward(check, check_undefined_grad, check_batched_forward_grad)
        if check_backward_ad:
            if check_undefined_grad:
                check.missing_gradients()
            if check_batched_grad:
                check.batches()
            if check_grad_dtypes:
                check.dtypes()
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Check second derivatives: the gradients of *func*'s gradients, also with respect to the vectors they start from.

    Parameters
    ----------
    func, inputs
        As for ``gradcheck``.
    grad_outputs : Tensor or sequence of Tensor, optional
        The gradients of the outputs to start from; random by default.
    gen_non_contig_grad_outputs : bool
        Whether the random ones are non-contiguous.
    check_fwd_over_rev, check_rev_over_rev : bool
        Whether forward mode over backward is checked; whether backward of backward is.
    eps, atol, rtol, raise_exception, nondet_tol, check_undefined_grad, check_grad_dtypes, check_batched_grad, fast_mode
        As for ``gradcheck``.
    masked : bool
        Accepted.

    Examples
    --------
    >>> import minitorch as torch
    >>> x = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradgradcheck(lambda x: x**3, x)
    True
    """
    _need(
        check_fwd_over_rev or check_rev_over_rev,
        "Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True",
    )
    for name, wanted in (("check_undefined_grad", check_undefined_grad), ("check_batched_grad", check_batched_grad)):
        _need(check_rev_over_rev or not wanted, _REQUIRES.format(name, "check_rev_over_rev"))
    arguments = tuple_of(inputs)
    variables = [i for i, a in enumerate(arguments) if _requires_grad(a)]
    if grad_outputs is None:
        outputs = _differentiable(tuple_of(func(*arguments)))
        vectors = tuple([_random_gradient(o, gen_non_contig_grad_outputs) for o in outputs])
    else:
        vectors = tuple_of(grad_outputs)

    def gradients(*args: Any) -> tuple[Any, ...]:
        given, starts = args[: len(arguments)], args[len(arguments) :]
        outputs = _differentiable(tuple_of(func(*given)))
        wanted = [given[i] for i in variables]
        found = grad(outputs, wanted, list(starts), create_graph=True, allow_unused=True)
        return tuple([g for g in found if g is not None])

    return gradcheck(
        gradients,
        arguments + vectors,
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
    )


_REQUIRES = "Setting {}=True requires {} to be True"


def _need(met: bool, message: str) -> None:
    if not met:
        raise AssertionError(message)


class _Check:
    """One gradcheck: the function, the point, the tolerances."""

    def __init__(
        self, func: Callable[..., Any], inputs: Any, eps: float, atol: float, rtol: float, nondet_tol: float, fast: bool
    ) -> None:
        self.func, self.arguments = func, tuple_of(inputs)
        tell_read(self.arguments)
        self.eps, self.atol, self.rtol, self.nondet_tol, self.fast = eps, atol, rtol, nondet_tol, fast
        self.variables = [i for i, a in enumerate(self.arguments) if _requires_grad(a)]
        if not self.variables:
            raise ValueError(
                "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True."
            )
        for i in self.variables:
            if self.arguments[i]._array.dtype != np.float64:
                warnings.warn(
                    f"Input #{i} requires gradient and is not a double precision floating point or complex. This check will "
                    "likely fail if all the inputs are not of double precision floating point or complex. ",
                    stacklevel=3,
                )
            array = self.arguments[i]._array
            if array.size > 1 and 0 in array.strides:
                raise RuntimeError(
                    f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs that are "
                    "non-overlapping to be able to compute the numerical gradients correctly. You should call "
                    ".contiguous on the input before passing it to gradcheck."
                )
        self.differentiable: list[int] = []
        self.subject: Subject | None = None

    # -- evaluating
    def outputs(self) -> tuple[Any, ...]:
        """The outputs at the point, recorded."""
        with enable_grad():
            outputs = tuple_of(self.func(*self.arguments))
        for number, output in enumerate(outputs):
            if not isinstance(output, _runtime.Tensor):
                raise AttributeError(
                    f"gradcheck expects the function to return tensors, but its output {number} is of type "
                    f"{type(output).__name__}: was a return forgotten?"
                )
        return outputs

    def called(self) -> tuple[Any, ...]:
        """The outputs for copies of the arguments as they are now: func may write into them, and differentiate inside."""
        arguments = list(self.arguments)
        for i in self.variables:
            arguments[i] = flagged(wrap(arguments[i]._array.copy()))
        return tuple_of(self.func(*arguments))

    def difference(self, variable: int, which: Sequence[int], direction: np.ndarray) -> list[np.ndarray]:
        """Central differences of the outputs along a direction of one input, which is moved in place."""
        from ._differences import glance  # when first needed: importing the package does without
        from ._subject import ChangedShape, Subject

        if self.subject is None:
            varied = [self.arguments[i] for i in self.variables]
            self.subject = Subject(self.called, (), (), varied, tolerant=False)
        directions = [direction if i == variable else None for i in self.variables]
        try:
            differences = glance(self.subject.line(directions), self.eps).central
        except ChangedShape as error:
            moved = [tuple(map(int, index)) for index in np.argwhere(direction)]
            raise error.as_in_gradcheck(f" on index {moved[0]} by {self.eps}" if len(moved) == 1 else "") from None
        found = dict(zip(self.subject.which, self.subject.split(differences)))
        return [found[o] for o in which]

    # -- checking
    def prepare(self) -> bool:
        """Find the outputs that have derivatives; where none has, the numerical ones must be zero."""
        outputs = self.outputs()
        self.differentiable = [o for o, t in enumerate(outputs) if _requires_grad(t)]
        if not self.differentiable:
            self._expect_zero(outputs)
        return bool(self.differentiable)

    def run(self) -> None:
        """Compare numerical and analytical derivatives of every output for every input."""
        (self._projections if self.fast else self._jacobians)(self.outputs())

    def numerical(self, variable: int, sizes: Sequence[int]) -> list[np.ndarray]:
        """For each output that has derivatives, of these sizes, the Jacobian by differences: input by output elements."""
        size = self.arguments[variable]._array.size
        directions = unit_vectors(self.arguments[variable]._array.shape)
        columns = [self.difference(variable, self.differentiable, e) for e in directions]
        return [np.array([c[place].ravel() for c in columns]).reshape(size, n) for place, n in enumerate(sizes)]

    def _expect_zero(self, outputs: tuple[Any, ...]) -> None:
        floats = [o for o, t in enumerate(outputs) if isinstance(t, _runtime.Tensor) and t._array.dtype.kind == "f"]
        for variable in self.variables:
            for direction in unit_vectors(self.arguments[variable]._array.shape):
                for numerical in self.difference(variable, floats, direction):
                    if not np.allclose(numerical, 0, rtol=self.rtol, atol=self.atol):
                        raise GradcheckError("Numerical gradient for function expected to be zero")

    def _jacobians(self, outputs: tuple[Any, ...]) -> None:
        which = self.differentiable
        for number, variable in enumerate(self.variables):
            for o, numerical in zip(which, self.numerical(variable, [outputs[o]._array.size for o in which])):
                analytical = self._vjp_rows(outputs[o], variable)
                if not self.close(analytical, numerical):
                    raise GradcheckError(mismatch(o, number, numerical, analytical))

    def _vjp_rows(self, output: Any, variable: int) -> np.ndarray:
        """The analytical Jacobian, input elements by output elements, each row computed twice."""
        input = self.arguments[variable]
        analytical = np.zeros((input._array.size, output._array.size))
        for k, vector in enumerate(unit_vectors(output._array.shape)):
            first, again = [self._vjp(output, input, vector) for _ in range(2)]
            if not np.allclose(first, again, rtol=0, atol=self.nondet_tol, equal_nan=True):
                raise GradcheckError(_not_reentrant(first, again, self.nondet_tol))
            analytical[:, k] = first.ravel()
        return analytical

    @staticmethod
    def _vjp(output: Any, input: Any, vector: np.ndarray) -> np.ndarray:
        (gradient,) = grad(
            output, input, wrap(vector.astype(output._array.dtype)), retain_graph=True, allow_unused=True
        )
        if gradient is None:
            return np.zeros(input._array.shape)
        if gradient._array.shape != input._array.shape:
            raise GradcheckError(
                f"grad has shape {gradient._array.shape}, but its input has shape {input._array.shape}"
            )
        return gradient._array.astype(np.float64)

    def _projections(self, outputs: tuple[Any, ...]) -> None:
        rng = np.random.default_rng(0)
        which = self.differentiable
        for number, variable in enumerate(self.variables):
            u = random_unit(rng, self.arguments[variable]._array.shape)
            numerical = self.difference(variable, which, u)
            for place, o in enumerate(which):
                v = random_unit(rng, outputs[o]._array.shape)
                first, again = [self._vjp(outputs[o], self.arguments[variable], v) for _ in range(2)]
                if not np.allclose(first, again, rtol=0, atol=self.nondet_tol, equal_nan=True):
                    raise GradcheckError(_not_reentrant(first, again, self.nondet_tol))
                a, n = np.vdot(first, u), np.vdot(v, numerical[place])
                if not self.close(np.array([a]), np.array([n])):
                    raise GradcheckError(mismatch(o, number, n, a) + IN_FAST_MODE)

    def close(self, analytical: np.ndarray, numerical: np.ndarray) -> bool:
        return np.allclose(analytical, numerical, rtol=self.rtol, atol=self.atol)

    def missing_gradients(self) -> None:
        """An output whose gradient is missing must act as one whose gradient is zero."""
        outputs = [self.outputs()[o] for o in self.differentiable]
        wanted = [self.arguments[i] for i in self.variables]
        if len(outputs) < 2:
            return
        for o, output in enumerate(outputs):
            zeros = [wrap(np.zeros_like(t._array)) for t in outputs]
            zeros[o] = wrap(np.ones_like(output._array))
            alone = grad(output, wanted, zeros[o], retain_graph=True, allow_unused=True)
            among = grad(outputs, wanted, zeros, retain_graph=True, allow_unused=True)
            for a, b in zip(alone, among):
                left = 0.0 if a is None else a._array
                right = 0.0 if b is None else b._array
                if not np.allclose(left, right, rtol=self.rtol, atol=self.atol, equal_nan=True):
                    raise GradcheckError("Expected backward function to handle undefined output grads.")

    def batches(self) -> None:
        """A batch of vectors must give what each of them does."""
        for o in self.differentiable:
            output = self.outputs()[o]
            rng = np.random.default_rng(1)
            batch = rng.normal(size=(2, *output._array.shape)).astype(output._array.dtype)
            for i in self.variables:
                try:
                    together = grad(
                        output,
                        self.arguments[i],
                        wrap(batch),
                        retain_graph=True,
                        allow_unused=True,
                        is_grads_batched=True,
                    )[0]
                except RuntimeError as error:
                    raise GradcheckError(f"While computing batched gradients, got: {error}") from error
                each = [self._vjp(output, self.arguments[i], vector) for vector in batch]
                if together is not None and not np.allclose(
                    together._array, np.stack(each), rtol=self.rtol, atol=self.atol
                ):
                    raise GradcheckError("Gradients of a batch of vectors differ from those of each vector")

    def dtypes(self) -> None:
        """Each gradient must have its input's dtype."""
        for o in self.differentiable:
            output = self.outputs()[o]
            wanted = [self.arguments[i] for i in self.variables]
            found = grad(output, wanted, wrap(np.ones_like(output._array)), allow_unused=True)
            for gradient, input in zip(found, wanted):
                if gradient is not None and gradient._array.dtype != input._array.dtype:
                    raise GradcheckError(f"grad has dtype {gradient.dtype}, but its input has dtype {input.dtype}")


# -- helpers -----------------------------------------------------------------------------------------------------------
def _requires_grad(value: Any) -> bool:
    return isinstance(value, _runtime.Tensor) and current_node(value) is not None


def _differentiable(outputs: tuple[Any, ...]) -> list[Any]:
    return [o for o in outputs if _requires_grad(o)]


def _random_gradient(output: Any, non_contiguous: bool) -> Any:
    array = np.random.default_rng(output._array.size).normal(size=(*output._array.shape, 2)).astype(output._array.dtype)
    half = array[..., 0]
    with no_grad():
        return flagged(wrap(half if non_contiguous else np.ascontiguousarray(half).reshape(half.shape)))


def unit_vectors(shape: tuple[int, ...]) -> Iterator[np.ndarray]:
    """The directions of a shape's elements."""
    for index in np.ndindex(*shape):
        vector = np.zeros(shape)
        vector[index] = 1
        yield vector


def random_unit(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """A random direction."""
    vector = rng.normal(size=shape)
    norm = float(np.linalg.norm(vector))
    return vector / norm if norm else vector


IN_FAST_MODE = (
    "\n\nThe above quantities relating the numerical and analytical jacobians are computed in fast mode: projected on random "
    "unit vectors. Run with fast_mode=False to see the entries."
)


def mismatch(output: int, input: int, numerical: Any, analytical: Any, mode: str = "") -> str:
    """What is said of derivatives that differ."""
    return (
        f"Jacobian {mode}mismatch for output {output} with respect to input {input},\n"
        f"numerical:{_shown(numerical)}\nanalytical:{_shown(analytical)}\n"
    )


def _shown(value: Any) -> str:
    return repr(wrap(np.asarray(value)))


def _not_reentrant(first: np.ndarray, again: np.ndarray, tolerance: float) -> str:
    return (
        "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives different "
        f"values, although analytical gradient matches numerical gradient. The tolerance for nondeterminism was {tolerance}; "
        f"the largest difference was {float(np.max(np.abs(first - again)))}."
    )
