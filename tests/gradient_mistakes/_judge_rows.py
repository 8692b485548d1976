"""Which mutants of the op table the checker catches, by the samples of their rows."""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np

import minitorch
from minitorch.autograd import grad
from minitorch.testing import _first_order, _second_order, check_gradients
from minitorch.testing._report import Blame
from minitorch.testing._state import CHECKS
from samples import all_samples
from samples.sample import Sample

from . import _samples
from ._rows import Mutant, Place, installed
from ._syntax import Change

Arrays = list[np.ndarray | None]


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant."""

    how: str
    """"caught", "raises", "unchanged" (its constants have no other value of their type), "same" (no derivative of any
    sample is another one), or "missed"."""
    detail: str = ""


@functools.cache
def samples_of(row: str) -> list[Sample]:
    return [*all_samples().get(row, []), *_samples.SAMPLES.get(row, [])]


def _outputs(case: Sample, inputs: Any) -> list[Any]:
    out = case.call(minitorch, *inputs)
    outputs = out if isinstance(out, (tuple, list)) else (out,)
    return [o for o in outputs if o.requires_grad]


def _numbers(gradients: Any) -> Arrays:
    return [None if g is None else np.array(g.detach().numpy()) for g in gradients]


def derivatives(case: Sample) -> tuple[Arrays, Arrays]:
    """First derivatives on both carriers; and second ones, by the inputs and by g."""
    inputs = [minitorch.from_numpy(np.array(a)).requires_grad_() for a in case.inputs]
    outputs = _outputs(case, inputs)
    if not outputs:
        return [], []
    rng = np.random.default_rng(7)
    starts = [minitorch.from_numpy(rng.normal(size=tuple(o.shape)).astype(o._array.dtype)) for o in outputs]
    first = _numbers(grad(outputs, inputs, starts, retain_graph=True, allow_unused=True))
    for i in range(len(inputs) if len(inputs) > 1 else 0):
        first += _numbers(grad(outputs, inputs[i : i + 1], starts, retain_graph=True, allow_unused=True))
    starts = [s.requires_grad_() for s in starts] if case.order > 1 else starts
    recorded = grad(outputs, inputs, starts, create_graph=True, allow_unused=True)
    first += _numbers(recorded)
    second: Arrays = []
    if case.order > 1:
        chosen = [r for r in recorded if r is not None and r.requires_grad]
        weights = [minitorch.from_numpy(rng.normal(size=tuple(r.shape)).astype(r._array.dtype)) for r in chosen]
        if chosen:
            second = _numbers(grad(chosen, [*inputs, *starts], weights, allow_unused=True))
    return first, second


def _alike(a: Arrays, b: Arrays) -> bool:
    if len(a) != len(b):
        return False
    for x, y in zip(a, b):
        x, y = (np.zeros(()) if v is None else v for v in (x, y))
        if x.shape != y.shape and np.any(x) | np.any(y):
            return False
        size = np.abs(y[np.isfinite(y)]).max(initial=1e-30)
        if not np.allclose(x, y, rtol=1e-9, atol=1e-9 * size, equal_nan=True):
            return False
    return True


@functools.cache
def _right(row: str) -> list[tuple[Arrays, Arrays]]:
    return [derivatives(case) for case in samples_of(row)]


@functools.cache
def _refuses(row: str) -> bool:
    """Whether a row's formula is there to say that there is no derivative."""
    try:
        _right(row)
    except (RuntimeError, NotImplementedError):
        return True
    return False


def _weighted(case: Sample) -> tuple[Any, list[Any]]:
    """A sample's function times an input for each output, so that g depends on inputs."""
    inputs = [minitorch.from_numpy(np.array(a)).requires_grad_() for a in case.inputs]
    rng = np.random.default_rng(5)
    weights = [
        minitorch.from_numpy(rng.uniform(0.5, 1.5, size=tuple(o.shape))).requires_grad_()
        for o in _outputs(case, inputs)
    ]

    def fn(*args: Any) -> Any:
        leaves, given = args[: len(inputs)], args[len(inputs) :]
        return tuple([o * w for o, w in zip(_outputs_or_all(case, leaves), given)])

    return fn, [*inputs, *weights]


def _outputs_or_all(case: Sample, inputs: Any) -> list[Any]:
    out = case.call(minitorch, *inputs)
    outputs = out if isinstance(out, (tuple, list)) else (out,)
    return [o for o in outputs if o.is_floating_point()]


_ALONE = [c for c in CHECKS if c not in ("values", "second_order")]


_BLAME = Blame("node", "a row", "")


@contextlib.contextmanager
def _yes_or_no() -> Iterator[None]:
    """Only whether something is wrong is asked here: not what, nor who is to blame."""
    projections = _first_order._projections

    def stopping(state: Any) -> bool:
        if not projections(state):
            state.stop("values", "projections differ")
        return True

    with (
        mock.patch.object(_first_order, "blame_first_order", return_value=_BLAME),
        mock.patch.object(_second_order, "blame_second_order", return_value=_BLAME),
        mock.patch.object(_first_order, "_projections", stopping),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        yield


_AT_KINKS = 4
"""The attempt that a boundary is for: at a kink either slope is accepted, but for PyTorch's value."""


def _attempts(case: Sample) -> list[tuple[Any, list[Any], dict[str, Any]]]:
    """The calls of the checker for a sample: a cheap one and a full one for first derivatives, and for second; one at kinks."""
    inputs = [minitorch.from_numpy(np.array(a)).requires_grad_() for a in case.inputs]

    def fn(*args: Any) -> Any:
        return case.call(minitorch, *args)

    calls = [
        (fn, inputs, {"order": 1, "fast": True, "skip": _ALONE}),
        (fn, inputs, {"order": 1}),
    ]
    function, at = _weighted(case)
    return [
        *calls,
        (function, at, {"order": 2, "fast": True, "skip": [*_ALONE, "values"]}),
        (function, at, {"order": 2}),
        (fn, inputs, {"order": 1, "kinks": "reference"}),
    ]


def _check_failed(case: Sample, number: int) -> str:
    """The check that fails in one of the attempts."""
    function, at, options = _attempts(case)[number]
    with _yes_or_no():
        report = check_gradients(function, *at, time_limit=None, raise_exception=False, **options)
    return "" if report.ok else report.failures[0].check


@functools.cache
def _sound(row: str, sample: int, attempt: int) -> bool:
    """Whether the right row passes an attempt."""
    return not _check_failed(samples_of(row)[sample], attempt)


def judged(mutant: Mutant) -> Outcome:
    """Install a mutant in its rows, one after another, until the checker catches it by a sample."""
    outcomes = []
    places = [place for place in mutant.places if not _refuses(place.row)]
    if not places:
        return Outcome("unchanged", "the row's formula says that there is no derivative")
    for place in places:
        outcomes.append(_judged(mutant.change, place))
        if outcomes[-1].how in ("caught", "raises"):
            break
    order = ["caught", "raises", "missed", "same", "unchanged"]
    return min(outcomes, key=lambda outcome: order.index(outcome.how))


def _judged(change: Change, place: Place) -> Outcome:
    right = _right(place.row)
    missed, touched = "", False
    for number, case in enumerate(samples_of(place.row)):
        failing: list[tuple[int, str]] = []
        try:
            with installed(change, place) as watch, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                first, second = derivatives(case)
                touched |= watch.touched
                first_alike, second_alike = (_alike(a, b) for a, b in zip((first, second), right[number]))
                if first_alike and second_alike:
                    continue
                attempts = [*range(2 * first_alike, 2 + 2 * (case.order > 1))]
                for attempt in [*attempts, _AT_KINKS] if change.kind == "boundary" else attempts:
                    check = _check_failed(case, attempt)
                    if check:
                        failing.append((attempt, check))
                        if change.kind != "boundary":  # projections alone are not conclusive at kinks
                            break
        except Exception as error:
            return Outcome("raises", f"{type(error).__name__}: {error}")
        for attempt, check in failing:
            if _sound(place.row, number, attempt):
                return Outcome("caught", check)
        missed = (
            f"sample {number} of {place.row}" + (" at second order" if first_alike else "") + " unsound" * bool(failing)
        )
    if missed:
        return Outcome("missed", missed)
    if "_changed" in change.after and not touched:
        return Outcome("unchanged")
    return Outcome("same")
