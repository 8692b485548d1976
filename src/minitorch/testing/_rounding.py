"""How far rounding alone moves values and gradients: from the sizes of what they are sums of.

A small difference of large numbers is off by what rounds the large ones.  Their sizes are not in the result; they are in the
graph.  Nothing here is computed unless a comparison has failed without it.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import _runtime
from .._modes import Observer, observers
from .._op import Row
from .._runtime import wrap
from .._views import current_node
from ..autograd._differences import Array
from ..autograd._subject import Subject, vjp
from ..autograd.tape import Tape
from ._recording import Recording

UNITS = 2.0**10
"""Rounding units by which two ways to compute the same sum may differ."""

_NUDGES = 6
_SIGNS = 3
_LARGEST = 2.0**10
"""No larger than this are the numbers that an operation is taken to round within; what is larger is mostly a mask's."""


def of_values(subject: Subject, weights: Array) -> Array:
    """How far rounding moves sums of a function's values: two numbers for each row of *weights*.

    Each recorded operation rounds its result; by how much that moves the sum, the gradient says that arrives there: the root
    of the sum of the squares of (gradient x result), in rounding units.  The second number is for operations that round
    numbers as large as those they are given on the way to a small result, as ``log_softmax`` of ``(40, 0)`` does: 1 and
    exp(-40) are 1.
    """
    subject.point()
    with Recording() as recording:
        outputs, wanted = subject.call()
    squares = np.zeros(2)
    met: dict[int, tuple[Any, list[Any]]] = {}
    for entry, given in zip(recording, recording.values):
        if entry.node is not None:
            results = [getattr(t, "_array", None) for t in entry.outputs or ()]
            sizes = [None if r is None else _rounded(entry.row, r, given, subject.precision.floor) for r in results]
            met[id(entry.node)] = entry.node, sizes

    def noting(results: list[Any]) -> Callable[..., None]:
        def note(gradients: Sequence[Any]) -> None:
            nonlocal squares
            for g, sizes in zip(gradients, results):
                if g is not None and sizes is not None and g._array.shape == sizes.shape[1:]:
                    moves = np.square(g._array.astype(float) * sizes).reshape(2, -1)
                    squares = squares + np.where(np.isfinite(moves), moves, 0).sum(axis=1)

        return note

    handles = [node.register_prehook(noting(results)) for node, results in met.values()]
    found = []
    for weight in weights:
        squares = np.zeros(2)
        subject.backwards += 1
        vjp([outputs[o] for o in subject.which], wanted, subject.split(weight))
        found.append(squares)
    for handle in handles:
        handle.remove()
    return subject.precision.unit * np.sqrt(np.nan_to_num(np.array(found).reshape(-1, 2), posinf=0))


def _rounded(row: Any, result: Array, given: Sequence[Any], floor: float) -> Array:
    """The sizes of what an operation rounds: its result, and that or what it was given."""
    own = np.abs(result.astype(float)) + floor
    within = own
    for array in [a for a in given if isinstance(a, np.ndarray) and a.dtype.kind == "f"]:
        size = np.abs(array.astype(float))
        size = np.minimum(np.where(np.isfinite(size), size, 0), _LARGEST)
        within = np.maximum(within, size if _alike(row, size, own) else size.max(initial=0))
    return np.stack([own, within])


def _alike(row: Any, given: Array, result: Array) -> bool:
    """Whether each element of a result is made of one of what is given."""
    return isinstance(row, Row) and row.elementwise and given.shape == result.shape


def of_gradients(
    outputs: Sequence[Any],
    wanted: Sequence[Any],
    vectors: Sequence[Array],
    unit: float,
    create_graph: bool = False,
    sums: bool = False,
) -> list[float]:
    """How far rounding moves the elements of each gradient of these vectors.

    Three measures, of which the sum is taken.  What cancels between operations adds up where the gradients on their way have
    random signs.  What cancels within one shows where the vectors are others by a few units; or, as in g - g p, where what
    the operations of its formula round is; with *sums*, each is taken to round what is as large as the gradient it is given.
    """
    rng = np.random.default_rng(13)
    vectors = [np.asarray(v, o._array.dtype) for v, o in zip(vectors, outputs)]

    def gradients(of: Sequence[Array]) -> list[Array]:
        found = vjp(outputs, wanted, of, create_graph)
        return [np.zeros(t._array.shape) if g is None else g._array.astype(float) for t, g in zip(wanted, found)]

    at = gradients(vectors)
    moved = [_sizes(gradients([_nudged(v, unit, rng) for v in vectors]), at) for _ in range(_NUDGES)]
    roots = [t for t in outputs if isinstance(t, _runtime.Tensor) and current_node(t) is not None]
    handles = [entry.node.register_prehook(_signed(rng)) for entry in Tape(roots) if entry.node] if roots else []
    terms = [_sizes(gradients(vectors)) for _ in range(_SIGNS)]
    for handle in handles:
        handle.remove()
    within = [float(m.max(initial=0)) for m in _moves(lambda _: gradients(vectors), (), unit, sums)]
    return [UNITS * unit * max(t) + 16 * max(m) + w for t, m, w in zip(zip(*terms), zip(*moved), within)]


def at_point(subject: Subject, vectors: Sequence[Array], create_graph: bool = False, sums: bool = False) -> list[float]:
    """How far rounding moves each of a function's gradients of these vectors.

    No less than by what moves the value, over the size of an input, by a few of its own roundings.
    """
    outputs, wanted = subject.point()
    subject.backwards += 1 + _NUDGES + _SIGNS
    unit = subject.precision.unit
    own = of_gradients([outputs[o] for o in subject.which], wanted, vectors, unit, create_graph, sums)
    value = of_values(subject, np.concatenate([np.ravel(v) for v in vectors])[None])[0, 0]
    sizes = [max(1.0, subject.scales(v).min(initial=np.inf)) for v in range(len(wanted))]
    return [floor + 64 * value / size for floor, size in zip(own, sizes)]


def of_points(call: Callable[[Sequence[Array]], list[Array]], arrays: Sequence[Array], unit: float) -> list[float]:
    """How far what *call* gives moves where its arguments, and what each operation rounds, do by a few units.

    Equal numbers stay equal.
    """
    return [float(m.max(initial=0)) for m in _moves(call, arrays, unit)]


def _moves(
    call: Callable[[Sequence[Array]], list[Array]], arrays: Sequence[Array], unit: float, sums: bool = False
) -> list[Array]:
    """The same for each element.  Where *call* raises, it does not count."""
    rng = np.random.default_rng(23)
    with Moving(rng, 0.0):  # what backward passes are lifted to may be another formula than what is run
        at = call(arrays)
    largest = [np.zeros(np.shape(a)) for a in at]
    for units in (1, 2, 3, 3, 5, 5):
        with contextlib.suppress(Exception), Moving(rng, 2 * unit, sums) as moving:
            found = call([moving.moved(a, 2 * units * unit) for a in arrays])
            apart = [np.abs(np.nan_to_num(a - b, posinf=0, neginf=0)) for a, b in zip(found, at)]
            largest = [np.maximum(a, b) for a, b in zip(largest, apart)]
    return [16 * a for a in largest]


def near_point(subject: Subject, vectors: Sequence[Array]) -> Array:
    """How far rounding moves each element of the gradients of these vectors, that of the values they are made of included.

    At a kink the gradient is another next to the point: this is for what is smooth.
    """

    def gradients(at: Sequence[Array]) -> list[Array]:
        outputs, wanted = subject.call(at)
        subject.backwards += 1
        found = vjp([outputs[o] for o in subject.which], wanted, vectors)
        return [np.zeros(a.shape) if g is None else g._array.astype(float) for g, a in zip(found, at)]

    moves = _moves(gradients, subject.arrays, subject.precision.unit)
    return np.concatenate([m.ravel() for m in moves]) + np.repeat(at_point(subject, vectors), subject.sizes)


class Moving(Observer):
    """While it is entered, what operations round is a little larger or smaller; equal numbers move alike.

    What an operation passes on is not rounded: what it is given, its numbers, and these with another sign.  Those of backward
    passes are moved too.

    Parameters
    ----------
    rng : Generator
        Says by its digits which number becomes larger.
    by : float
        The part of a number that is added or taken away.
    sums : bool
        Whether operations of a backward pass are taken to sum what is as large as the gradient they are given, as
        ``log_softmax``'s does g - g p, and to round that.
    """

    lifts = True

    def __init__(self, rng: np.random.Generator, by: float, sums: bool = False) -> None:
        self._sums = sums
        self._factor = 2 * int(rng.integers(2**62)) + 1
        self._by, self._thread = by, threading.get_ident()

    def __enter__(self) -> Moving:
        observers.insert(0, self)
        return self

    def __exit__(self, *exc: object) -> None:
        observers.remove(self)

    def active(self) -> bool:
        """Whether it moves what is called here."""
        return threading.get_ident() == self._thread

    def recorded(self, call: Any) -> None:
        """Move what a call has rounded."""
        if self._by and isinstance(call.row, Row) and not call.row.view and not call.in_place:
            given = [t._array for t in call.inputs if isinstance(t, _runtime.Tensor) and t._array.dtype.kind == "f"]
            numbers = np.array([float(p) for p in (*call.params, *call.inputs) if isinstance(p, (int, float))])
            for array in [out._array for out in call.outputs]:
                shared = any([np.may_share_memory(array, a) for a in given])
                if array.dtype.kind == "f" and array.flags.writeable and not shared:
                    passed_on = np.concatenate([np.abs(a).ravel() for a in (*given, numbers.astype(array.dtype))])
                    moved = np.where(np.isin(np.abs(array), passed_on), array, self.moved(array, self._by))
                    if self._sums and call.row.inputs[0] == "grad" and not call.row.elementwise:
                        moved += self._signs(array) * self._by * np.abs(given[0]).max(initial=0)
                    array[...] = moved

    def moved(self, array: Array, by: float) -> Array:
        """Numbers larger or smaller by this part of them."""
        signs = self._signs(array)
        least = float(np.finfo(array.dtype).smallest_subnormal) * (array != 0)
        with np.errstate(all="ignore"):
            return np.asarray((array * (1 + by * signs) + least * signs).astype(array.dtype))

    def _signs(self, array: Array) -> Array:
        whole: Any = np.dtype(f"u{array.itemsize}")
        digits = np.multiply(array.view(whole), whole.type(self._factor % 2 ** (8 * array.itemsize)))
        return np.asarray(1.0 - 2.0 * (digits >> whole.type(8 * array.itemsize - 1)))


def _nudged(vector: Array, unit: float, rng: np.random.Generator) -> Array:
    return (vector * (1 + 2 * unit * rng.integers(-3, 4, vector.shape))).astype(vector.dtype)


def _signed(rng: np.random.Generator) -> Callable[..., Any]:
    def hook(gradients: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(
            [
                None if g is None else wrap(g._array * rng.choice([-1, 1], g._array.shape).astype(g._array.dtype))
                for g in gradients
            ]
        )

    return hook


def _sizes(found: Sequence[Array], at: Sequence[Array] | None = None) -> list[float]:
    """The largest finite number of each array, or difference from another one."""
    apart = found if at is None else [a - b for a, b in zip(found, at)]
    return [float(np.abs(np.nan_to_num(a, posinf=0, neginf=0)).max(initial=0)) for a in apart]
