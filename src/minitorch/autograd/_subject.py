"""The function whose gradients are checked: evaluated at points near the given one, and counted."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import _runtime
from .._differentiate import grad
from .._modes import enable_grad
from .._runtime import flagged, wrap
from .._size import Size
from .._value_notes import tell_read
from .._views import current_node
from ..ops.memory import storage_offset, strides_of
from ._differences import DOUBLE, Array, Line, Precision, precision_of, rounding_noise
from .gradcheck import tuple_of as tuple_of


class ChangedShape(AssertionError):
    """Outputs had other shapes, or another number, at another point: *here* and *there*; None for what is no tensor."""

    def __init__(self, here: Sequence[Any], there: Sequence[Any]) -> None:
        words = [", ".join([str(shape) for shape in shapes]) for shapes in (here, there)]
        super().__init__(
            f"the outputs' shapes change under a perturbation of the inputs: {words[0]} here, {words[1]} next to it"
        )
        self.here, self.there = here, there

    def as_in_gradcheck(self, how: str) -> AssertionError:
        """What PyTorch's gradcheck raises."""
        words = [
            ", ".join([str(shape if shape is None else Size(shape)) for shape in shapes])
            for shapes in (self.here, self.there)
        ]
        return AssertionError(
            f"Expected `func` to return outputs with the same shape when inputs are perturbed{how}, but got: shapes "
            f"{words[0]} and {words[1]}."
        )


class Wanted(list[Any]):
    """The tensors that stand for the variables at a point; of parameters, which are others after the call, their values there.

    Parameters
    ----------
    tensors : sequence of Tensor
        All of them.
    parameters : sequence of Tensor
        Those that keep their own values.
    arrays : sequence of ndarray
        Their values at the point.

    Attributes
    ----------
    moved : bool
        Whether those are not their own.
    """

    def __init__(self, tensors: Sequence[Any], parameters: Sequence[Any], arrays: Sequence[Array]) -> None:
        super().__init__(tensors)
        self._given = list(zip(parameters, arrays))
        self.moved = any([p._array.dtype != a.dtype or not np.array_equal(p._array, a) for p, a in self._given])

    @contextlib.contextmanager
    def values(self) -> Iterator[None]:
        """Give the parameters the values they have at the point, for a call or for its backward pass."""
        before = [(p, p._array, p._array.copy()) for p, _ in self._given]
        try:
            for parameter, array in self._given:
                if parameter._array.dtype == array.dtype:
                    parameter._array[...] = array
                else:
                    parameter._array, parameter._layout = array, None
            yield
        finally:
            for parameter, array, values in before:
                if parameter._array is not array:
                    parameter._array, parameter._layout = array, None
                array[...] = values


class Subject:
    """A function of tensors at a point, seen as one from a vector of variables to a vector of outputs.

    Parameters
    ----------
    fn : function
        Takes the arguments, returns a tensor or a sequence of tensors.
    arguments : sequence
        Tensors and anything else.
    variables : sequence of int
        Which arguments are varied.
    parameters : sequence of Tensor
        Tensors that *fn* reads by itself and that are varied too, in place.
    tolerant : bool
        Whether an error next to the point means that there is no value.
    requiring : sequence of int, optional
        Which of the varied arguments require grad (default: all).

    Attributes
    ----------
    evaluations, backwards : int
        How often *fn* was called, and differentiated.
    refused : int
        How often it raised next to the point, where it has no value then; ``refusal`` is the first error.
    rounding : dict of int to ndarray
        For some output elements, how far rounding moves them: what operations give, and what they are given too.
    given, point_given : sequence
        What the last call was given, and the one at the point itself.
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        arguments: Sequence[Any],
        variables: Sequence[int],
        parameters: Sequence[Any] = (),
        tolerant: bool = True,
        requiring: Sequence[int] | None = None,
    ) -> None:
        self.fn, self.arguments, self.variables = fn, tuple(arguments), tuple(variables)
        self.parameters = tuple(parameters)
        self.evaluations = self.backwards = self.refused = 0
        tell_read((*self.arguments, *self.parameters))
        self.refusal: Exception | None = None
        self.arrays = [t._array.copy() for t in (*[self.arguments[i] for i in variables], *self.parameters)]
        self.sizes = [a.size for a in self.arrays]
        self._layouts = [layout_of(a) if isinstance(a, _runtime.Tensor) else None for a in self.arguments]
        self.tolerant, self.requiring = tolerant, requiring
        self.rounding: dict[int, Array] = {}
        self._asked = False
        self._double: Subject | None = None
        self._noise: Array | None = None
        self._point: tuple[tuple[Any, ...], list[Any]] | None = None

    # -- evaluating
    def call(
        self, arrays: Sequence[Array] | None = None, requiring: Sequence[int] | None = None
    ) -> tuple[tuple[Any, ...], list[Any]]:
        """The outputs, recorded, and the tensors that stand for the variables.

        *fn* is given copies, which lie in memory as the arguments do: it may write into what it gets.  Of the variables that
        are arguments, those at the places *requiring* require grad (default: all).
        """
        arrays = self.arrays if arrays is None else arrays
        requiring = self.requiring if requiring is None else requiring
        arguments = [
            wrap(laid_out(a._array, layout)) if isinstance(a, _runtime.Tensor) else a
            for a, layout in zip(self.arguments, self._layouts)
        ]
        wanted = []
        for place, (i, array) in enumerate(zip(self.variables, arrays)):
            arguments[i] = flagged(wrap(laid_out(array, self._layouts[i])), requiring is None or place in requiring)
            wanted.append(arguments[i])
        self.given: Sequence[Any] = arguments
        there = Wanted([*wanted, *self.parameters], self.parameters, arrays[len(self.variables) :])
        with there.values(), enable_grad():
            self.evaluations += 1
            outputs = tuple_of(self.fn(*arguments))
        return outputs, there

    def point(self) -> tuple[tuple[Any, ...], list[Any]]:
        """The outputs at the point itself, and its variables; made once."""
        if self._point is None:
            self._point = self.call()
            self.point_given = self.given
            outputs = self._point[0]
            self.which = [o for o, t in enumerate(outputs) if isinstance(t, _runtime.Tensor) and _floats(t)]
            self.shapes = [outputs[o]._array.shape for o in self.which]
            self.base = self.flat(outputs)
            dtypes = [a.dtype for a in self.arrays] + [outputs[o]._array.dtype for o in self.which]
            self.precision: Precision = precision_of(dtypes)
        return self._point

    def flat(self, outputs: Sequence[Any]) -> Array:
        """The values of all outputs of floats, one after another, in float64."""
        tell_read(outputs)
        parts = [outputs[o]._array.astype(np.float64).ravel() for o in self.which]
        return np.concatenate(parts) if parts else np.zeros(0)

    def values(self, arrays: Sequence[Array]) -> Array:
        """The values at another point."""
        try:
            outputs, _ = self.call(arrays)
        except Exception as error:
            if not self.tolerant:
                raise
            self.refused += 1
            self.refusal = self.refusal or error
            return np.full(self.base.size, np.nan)
        shapes = [getattr(getattr(t, "_array", None), "shape", None) for t in outputs]
        expected = [getattr(getattr(t, "_array", None), "shape", None) for t in self.point()[0]]
        if shapes != expected:
            raise ChangedShape(expected, shapes)
        return self.flat(outputs)

    # -- lines
    def line(self, directions: Sequence[Array | None]) -> Line:
        """Along a direction: one array for each variable, None where it stays."""
        self.point()

        def at(step: float) -> tuple[float, Array]:
            moved = [a if d is None else moved_by(a, step * d) for a, d in zip(self.arrays, directions)]
            return step, self.values(moved)

        return Line(at, self.base)

    def column(self, variable: int, element: int) -> Line:
        """Along one element of one variable; steps are those that rounding leaves."""
        self.point()
        original = float(self.arrays[variable].flat[element])

        def at(step: float) -> tuple[float, Array]:
            arrays = list(self.arrays)
            arrays[variable] = array = self.arrays[variable].copy()
            array.flat[element] = original + step
            return float(array.flat[element]) - original, self.values(arrays)

        return Line(at, self.base)

    def scales(self, variable: int) -> Array:
        """The size of each element, for the choice of steps: its own, or what is usual in the tensor if that is larger.

        What is usual among huge numbers is none of the business of an ordinary one beside them.
        """
        size = np.abs(self.arrays[variable].astype(np.float64))
        finite = size[np.isfinite(size) & (size > 0)]
        usual = float(np.median(finite)) if finite.size else 1.0
        own = np.where(np.isfinite(size), size, 1.0)
        return np.maximum(own, np.minimum(usual, 2.0**10 * np.maximum(own, 1)))

    def huge(self, variable: int) -> Array:
        """Which elements are so large that the next number is as far away as the longest steps for what is of size 1."""
        size = np.abs(self.arrays[variable].astype(np.float64))
        return np.isfinite(size) & (8 * self.precision.unit * size >= self.precision.coarsest)

    def any_huge(self) -> bool:
        """Whether there are any such elements."""
        return any([self.huge(v).any() for v in range(len(self.arrays))])

    def own_sizes(self, variable: int) -> Array:
        """Each element's own size, at most 1; where it is 0, what is usual in the tensor."""
        size = np.abs(self.arrays[variable].astype(np.float64))
        return np.minimum(np.where((size > 0) & np.isfinite(size), size, self.scales(variable)), 1)

    def noise(self) -> Array:
        """The rounding noise of each output value, measured when first asked for."""
        if self._noise is None:
            self.point()
            rng = np.random.default_rng(11)
            signs = [rng.choice([-1.0, 1.0], a.shape) * self.own_sizes(v) for v, a in enumerate(self.arrays)]
            self._noise = rounding_noise(
                self.line(signs), (self.precision.step / 2, 2 * self.precision.finest), self.precision.unit
            )
        return self._noise

    @property
    def calls(self) -> int:
        """How often the function was called, in float64 too."""
        return self.evaluations + (0 if self._double is None else self._double.evaluations)

    def in_double(self, rounding: Callable[[Array], Array] | None = None) -> Subject | None:
        """The same function of float64 inputs, if it takes them and gives the same values; made when first asked for.

        *rounding* says how far the values of some rows may be off, where they differ by more than their size suggests.
        """
        if not self._asked:
            self._asked, self._double = True, self._made_double(rounding)
        return self._double

    def _made_double(self, rounding: Callable[[Array], Array] | None) -> Subject | None:
        outputs = self.point()[0]
        if self.precision is DOUBLE:
            return None
        arguments = [
            wrap(a._array.astype(np.float64)) if isinstance(a, _runtime.Tensor) and _floats(a) else a
            for a in self.arguments
        ]
        double = Subject(self.fn, arguments, self.variables, self.parameters)
        double.arrays = [a.astype(np.float64) for a in self.arrays]
        try:
            double.point()
        except Exception:
            return None
        if double.precision is not DOUBLE or double.shapes != self.shapes or len(double.point()[0]) != len(outputs):
            return None
        known = np.isfinite(self.base)
        apart = np.where(known, np.abs(double.base - self.base), 0)
        far = ~(apart <= 2**10 * self.precision.unit * np.abs(self.base[known]).max(initial=0))
        if far.any() and rounding is not None:
            far &= ~(apart <= rounding(far))
        return None if far.any() else double

    # -- gradients
    def vjp(self, vectors: Sequence[Array | None], create_graph: bool = False, several: bool = True) -> list[Any]:
        """The gradients at the point for one vector for each output of floats (None: zero); None where there is none."""
        outputs, wanted = self.point()
        return vjp([outputs[o] for o in self.which], wanted, vectors, create_graph, several)

    def rows(self, before_each: Callable[[], None] = lambda: None) -> Array:
        """The analytic Jacobian: an output element a row, for which *before_each* is called, a variable's element a column."""
        self.point()
        jacobian = np.zeros((self.base.size, sum(self.sizes)))
        for row in range(self.base.size):
            before_each()
            self.backwards += 1
            jacobian[row] = self.joined(self.vjp(self.unit(row, -2.0))) / -2  # 1 hides a g that is left out, squared, …
        return jacobian

    def unit(self, row: int, value: float = 1.0) -> list[Array | None]:
        """The vectors that select one output element."""
        vectors: list[Array | None] = []
        for shape in self.shapes:
            size = int(np.prod(shape))
            vector = None
            if 0 <= row < size:
                vector = np.zeros(shape)
                vector.flat[row] = value
            vectors.append(vector)
            row -= size
        return vectors

    def split(self, flat: Array) -> list[Array]:
        """A vector over all output elements, as one array for each output."""
        ends = np.cumsum([int(np.prod(s)) for s in self.shapes])[:-1]
        return [part.reshape(shape) for part, shape in zip(np.split(flat, ends), self.shapes)]

    def joined(self, gradients: Sequence[Any]) -> Array:
        """Gradients of all variables, one after another, in float64; zeros where there is none."""
        return np.concatenate(
            [
                np.zeros(size) if g is None else g._array.astype(np.float64).ravel()
                for g, size in zip(gradients, self.sizes)
            ]
            or [np.zeros(0)]
        )

    # -- places
    def owners(self) -> Array:
        """For each row, the number of its output, of those of floats."""
        return np.concatenate([np.full(int(np.prod(s)), i) for i, s in enumerate(self.shapes)] or [np.zeros(0, int)])

    def output_of(self, row: int) -> tuple[int, tuple[int, ...]]:
        """Which output, and which of its elements, a row is."""
        for o, shape in zip(self.which, self.shapes):
            size = int(np.prod(shape))
            if row < size:
                return o, _index(row, shape)
            row -= size
        raise IndexError(row)

    def input_of(self, column: int) -> tuple[int, tuple[int, ...]]:
        """Which variable, and which of its elements, a column is."""
        for variable, array in enumerate(self.arrays):
            if column < array.size:
                return variable, _index(column, array.shape)
            column -= array.size
        raise IndexError(column)


def vjp(
    outputs: Sequence[Any],
    wanted: Sequence[Any],
    vectors: Sequence[Array | None],
    create_graph: bool = False,
    several: bool = True,
) -> list[Any]:
    """Gradients of those outputs that require grad, from these vectors; None where nothing leads to a variable."""
    chosen, starts = [], []
    for output, vector in zip(outputs, vectors):
        if vector is not None and current_node(output) is not None:
            chosen.append(output)
            starts.append(wrap(np.array(vector, output._array.dtype)))
    if not chosen:
        return [None] * len(wanted)
    reached = [t for t in wanted if t.requires_grad]
    retain = several or create_graph
    with wanted.values() if isinstance(wanted, Wanted) and wanted.moved else contextlib.nullcontext():
        found = grad(chosen, reached, starts, retain_graph=retain, create_graph=create_graph, allow_unused=True)
    by_id = {id(t): g for t, g in zip(reached, found)}
    return [by_id.get(id(t)) for t in wanted]


class Layout(NamedTuple):
    """Where a tensor's elements are in its memory: its strides and the place of its first element, in elements; and its end."""

    strides: tuple[int, ...]
    offset: int
    end: int


def layout_of(tensor: Any) -> Layout | None:
    """How a tensor lies in memory; None where that is one element after another from the start, or elements share a place."""
    strides, offset = strides_of(tensor._array), storage_offset(tensor)
    end = offset + 1
    for stride, size in sorted(zip(strides, tensor._array.shape)):
        if (size > 1 and stride < end - offset) or not size:
            return None
        end += (size - 1) * stride
    return None if not offset and tensor.is_contiguous() else Layout(strides, offset, end)


def moved_by(array: Array, difference: Array) -> Array:
    """The sum, in the dtype of *array*: an array of it, also where it has no dimensions."""
    return np.add(array, difference, out=...).astype(array.dtype)


def laid_out(array: Array, layout: Layout | None) -> Array:
    """A copy of values that lies in memory like that."""
    if layout is None:
        return array.copy()
    memory, size = np.zeros(layout.end, array.dtype), array.itemsize
    made: Array = np.ndarray(array.shape, array.dtype, memory, layout.offset * size, [size * s for s in layout.strides])
    made[...] = array
    return made


def _floats(tensor: Any) -> bool:
    return bool(tensor._array.dtype.kind == "f")


def _index(position: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple([int(i) for i in np.unravel_index(position, shape)])
