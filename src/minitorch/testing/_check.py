"""``check_gradients``: everything that can be asked of a function's gradients, in one call."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ..autograd._subject import ChangedShape
from ._asked import STEADY, Options, check_function, check_options, name_of, refusal
from ._first_order import properties, setting_of, values
from ._reference import against_reference
from ._report import GradientError, GradientReport, described
from ._second_order import second_order
from ._setting import distance
from ._state import CHECKS, State, Stop
from ._time import OutOfTime, Unsteady, at_most
from ._untold import untold


def check_gradients(
    fn: Callable[..., Any],
    *inputs: Any,
    order: int = 1,
    fast: bool = False,
    kinks: str = "between",
    reference: Callable[..., Any] | None = None,
    parameters: Iterable[Any] | None = None,
    skip: Sequence[str] = (),
    seed: int = 0,
    time_limit: float | None = 60.0,
    raise_exception: bool = True,
) -> GradientReport:
    """Check the gradients of a function against finite differences, and what else must hold of them.

    Tolerances are not asked for: each finite difference comes with an estimate of its error, in the precision of the
    inputs, and a gradient is wrong where it differs by more than that explains.

    Parameters
    ----------
    fn : function or Module
        Takes the inputs, returns a tensor or a sequence of tensors.
    *inputs
        The point to check at: tensors of any shapes, of float64 or a narrower dtype, and anything else *fn* takes.  Those
        that require grad are checked; all tensors of floats if none does.  They are not changed.
    order : int
        1, or 2: whether the gradients of the gradients are checked too.
    fast : bool
        Whether random projections are compared in place of all entries: at most 20 evaluations, whatever the sizes, where
        nothing is wrong.
    kinks : str
        At a kink any value between the slopes on its two sides is accepted, and reported; with "reference" only the one that
        PyTorch documents for the operation.
    reference : function, optional
        Another function of the same inputs, whose values and gradients must be the same.
    parameters : iterable of Tensor, optional
        Tensors that *fn* reads by itself and whose gradients are checked too (default: those of a Module).
    skip : sequence of str
        Names of checks to leave out: "values", "determinism", "mutation", "dtype", "shape", "linearity", "finite",
        "non_contiguous", "expanded", "scalars", "broadcasting", "subsets", "create_graph", "cycles", "second_order",
        "reference".
    seed : int
        Of the random vectors.
    time_limit : float, optional
        Seconds that all of it may take.  What could not be checked by then is named, and is a failure where nothing else is.  A
        call of *fn* that has begun is not interrupted.
    raise_exception : bool
        Whether a failure raises; otherwise look at the report's ``ok`` and ``failures``.

    Returns
    -------
    GradientReport
        What was checked, what failed and why, which entries are at kinks, how often the function was called.

    Raises
    ------
    GradientError
        A ``GradcheckError`` and an ``AssertionError``, whose text is the verdict.
    TypeError, ValueError
        For options that do not exist.

    Examples
    --------
    >>> import minitorch as torch
    >>> x = torch.tensor([0.5, 2.0], dtype=torch.float64)
    >>> bool(torch.testing.check_gradients(lambda x: (x * x).sin(), x, order=2))
    True
    >>> torch.testing.check_gradients(lambda x: x * x.detach(), x, raise_exception=False).ok
    False
    """
    check_function("check_gradients", fn)
    options = Options(order, fast, kinks, reference, skip, seed, time_limit)
    check_options("check_gradients", CHECKS, options)
    state = State(name_of(fn), fn, inputs, options, parameters)
    # what moves beyond the range is not finite, and known as that
    with contextlib.suppress(Stop), np.errstate(all="ignore"), at_most(state.time_limit):
        _run(state)
    report = state.finished()
    if raise_exception and not report.ok:
        raise GradientError(report)
    return report


def _run(state: State) -> None:
    """Make all checks that there is time for."""
    try:
        _first_call(state)
        if state.wants("determinism"):
            _same_again(state)
        if state.wants("values"):
            values(state)
        setting = setting_of(state)
        properties(state, setting)
        if state.reference is not None and state.wants("reference"):
            against_reference(state, setting)
        if state.options.order > 1 and state.wants("second_order") and state.meaningful():
            second_order(state)
        if state.report.ok:
            notes, state.report.vacuous = untold(state.subject, setting)
            state.report.notes += notes
    except OutOfTime:
        state.out_of_time()
    except Unsteady as found:
        state.unsteady(found.error)


def _first_call(state: State) -> None:
    """Evaluate once: what cannot be checked is said here."""
    subject = state.subject
    if not subject.arrays:
        kinds = ", ".join([described(a) for a in state.inputs]) or "nothing"
        state.stop("values", f"there is no input to differentiate with respect to: got {kinds}; give tensors of floats")
    try:
        outputs, _ = subject.point()
    except Exception as error:
        remedy = ""
        if "in-place" in str(error):
            remedy = ": the function writes into its input; clone it first, or write out of place"
        error.add_note(f"(raised by {state.report.name} at the inputs that check_gradients was given{remedy})")
        if not remedy:
            raise
        state.stop("mutation", f"{type(error).__name__}: {error}{remedy}")
    if refused := refusal(outputs):
        state.stop("values", refused)
    if not np.isfinite(subject.base).any() and subject.base.size:
        state.stop("values", "no output is finite here: check at a point of the function's domain")


def _same_again(state: State) -> None:
    """The function must give the same for the same."""
    subject = state.subject
    try:
        again = subject.values(subject.arrays)
    except ChangedShape as error:
        again = None
        text = str(error)
    if again is not None:
        far = distance(again, subject.base, 0.0)
        text = f"{far}" if far else ""
    if text:
        state.stop(
            "determinism",
            f"the function is random: called again with the same inputs it gives other values ({text}). {STEADY}",
        )
