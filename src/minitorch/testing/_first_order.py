"""First derivatives: the values, and what holds of them besides."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..autograd._differences import Array
from ..autograd._subject import ChangedShape
from . import _not_a_number
from ._blame import blame_first_order, blame_property, blame_raising, blame_writing
from ._compare import Comparison, along_all, compare, groups, random_directions, severity
from ._kinks import CANCELLING, cancelling, documented
from ._patterns import pattern_of
from ._properties import COMPARED, PROPERTIES
from ._report import Blame
from ._setting import Setting
from ._state import FAST, NOT_FAST, State, Stop
from ._time import OutOfTime, in_time, left, said
from ._verdict import along


def values(state: State) -> None:
    """Compare first derivatives with finite differences."""
    subject = state.subject
    try:
        if state.options.fast and _projections(state):
            return
        if sum(subject.sizes) * subject.base.size > 2**26:
            state.stop(
                "values",
                f"finite differences would take too long: {subject.base.size} output elements by {sum(subject.sizes)} "
                f"input elements are too many to look at each. Pass fast=True ({FAST} calls) or smaller inputs",
            )
        analytic = _jacobian(state)
        calls = 2 * len(groups(analytic))
        if calls * state.fn.seconds > left():
            state.too_slow(
                "values",
                f"finite differences would take too long: {calls} calls of {said(state.fn.seconds)} each, and of "
                f"{said(state.time_limit)} there are {said(left())} left. {state.remedy()}",
            )
            raise Stop
        found = compare(subject, analytic)
    except ChangedShape as error:
        state.stop(
            "values",
            f"{error}. The shape depends on the values: such a function has no derivative; pad, or sum what it returns",
        )
    state.report.comparison, state.report.kinks = found, found.accepted
    state.report.notes += found.notes()
    if subject.refused and subject.refused >= subject.evaluations - 2:
        state.stop(
            "values",
            f"the function raises at every point next to the given one: {type(subject.refusal).__name__}: "
            f"{subject.refusal}. Check at a point inside its domain",
        )
    if not found.agrees and _not_a_number.at_kinks(found):
        _nans_at_kinks(state, found)
    elif not found.agrees:
        _mismatch(state, found)
    elif state.options.kinks == "reference" and found.accepted:
        for name, point, rule, site in documented(subject):
            text = f"at a kink {name} gives {point.analytic:.6g}; PyTorch documents {rule}"
            state.fail("values", text, points=[point], blame=Blame("kink", name, site))


def _jacobian(state: State) -> Array:
    """The analytic Jacobian; where backward raises, nothing more can be checked."""
    try:
        return state.subject.rows(in_time)
    except Exception as error:
        text = f"backward raised {type(error).__name__}: {error}"
        state.stop("values", text, blame=state.blamed(blame_raising, state.subject))
        raise


def _projections(state: State) -> bool:
    """Compare derivatives along random directions, of random sums of the outputs; whether all agree."""
    subject = state.subject
    for _ in range(2):
        vectors = state.rng.normal(size=subject.base.size)
        try:
            gradient = subject.joined(subject.vjp(subject.split(vectors)))
        except Exception:
            return False  # what is wrong is said where all entries are looked at
        subject.backwards += 1
        directions = random_directions(subject, state.rng)
        flat = np.concatenate([d.ravel() for d in directions])
        behaviour, wrong = along(subject, directions, np.array([gradient @ flat]), vectors[None])
        if wrong.any():
            return False
        if behaviour is not None and behaviour.kind[0]:
            state.report.kinks += along_all(behaviour, gradient @ flat)
    return True


def _mismatch(state: State, found: Comparison) -> None:
    """Say what is wrong: which output and input, the worst entries, the pattern, what is to blame."""
    subject = state.subject
    try:
        blame = _culprit(state, found)
    except OutOfTime:
        blame = state.unknown(", nor whether kinks of several operations cancel here")
    if blame is None:
        return
    meaningful = blame.kind not in ("function", "hook") or _one_gradient(state)
    for output, variable in found.blocks():
        rows, columns = found.block(output, variable)
        points = [p for p in found.mistakes if (p.output, p.input) == (output, variable)]
        points.sort(key=lambda p: -severity(p))
        wrong = int(found.wrong[rows, columns].sum())
        total = found.wrong[rows, columns].size
        place = subject.which.index(output)
        pattern = meaningful and pattern_of(
            found.analytic[rows, columns],
            found.numeric[rows, columns],
            2 * found.error[rows, columns],
            subject.shapes[place],
            subject.arrays[variable].shape,
        )
        state.fail(
            "values",
            f"gradient of output {output} {subject.shapes[place]} with respect to {state.named(variable)}: "
            f"{wrong} of {total} entries differ from finite differences by more than their error explains",
            pattern=pattern or None,
            blame=blame,
            points=points[:5],
        )


def _one_gradient(state: State) -> bool:
    """Whether backward gives the same twice, and is linear: else that is said first, as numbers do not tell much then."""
    try:
        setting = Setting(state.subject, state.options.seed, state.options.fast)
        before = len(state.report.failures)
        properties(state, setting, ("determinism", "linearity"))
    except RuntimeError:  # said where all properties are asked for
        return True
    return len(state.report.failures) == before


def _culprit(state: State, found: Comparison) -> Blame | None:
    """What is to blame for wrong values; None where kinks cancel, which is noted."""
    subject = state.subject
    blame = blame_first_order(subject, found)
    if blame.kind == "none" and np.isnan(found.analytic[found.wrong]).any():
        made = _not_a_number.maker(subject)
        blame = blame if made is None else made.blame
    if blame.kind == "none":
        blame = blame_writing(subject) or blame
    if blame.kind == "none" and (names := cancelling(subject)):
        state.report.kinks += [replace(p, kind=CANCELLING) for p in found.mistakes]
        state.report.notes.append(
            f"the kinks of {' and '.join(dict.fromkeys(names))} cancel here: each has the slope of one of its sides, and "
            "together they have none of the function's, as in PyTorch. Next to the point the gradient is right"
        )
        return None
    return blame


def _nans_at_kinks(state: State, found: Comparison) -> None:
    """Say of NaNs at kinks what they are: PyTorch's own value for an operation there, or made by several."""
    made = _not_a_number.maker(state.subject)
    points = [p for p in found.mistakes if p.kind != "smooth"] or found.mistakes
    if made is not None and made.documented:
        state.report.kinks += [p for p in found.mistakes if p.kind != "smooth"]
        blame = made.blame
        state.report.notes.append(
            f"{blame.name}, called at {blame.site}, has no derivative there, and gives NaN, as PyTorch's does"
        )
    elif state.wants("finite"):
        point, custom = points[0], made is not None and made.custom
        remedy = (
            "PyTorch gives it here, too. Keep away from the point: clamp or add a little before the root or division"
        )
        if custom:
            remedy = "Give the slope of one side there, such as 0"
        text = (
            f"the gradient of {state.named(point.input)} is NaN at {list(point.input_index)}, at a {point.kind}: there is "
            "no derivative here, and any value between the slopes would do, but NaN spreads to all that it touches. "
            f"{remedy}; or accept it: skip=('finite',)"
        )
        state.fail("finite", text, points=points[:5], blame=None if made is None else made.blame)


def setting_of(state: State) -> Setting:
    """What the properties are asked of."""
    try:
        setting = Setting(state.subject, state.options.seed, state.options.fast)
    except RuntimeError as error:
        state.stop("shape", f"backward raised {type(error).__name__}: {error}", blame=None)
    setting.regular = not any(
        [
            p.kind in ("vertical slope", "edge of the domain", "undefined") or math.isnan(p.analytic)
            for p in state.report.kinks
        ]
    )
    return setting


def properties(state: State, setting: Setting, names: Sequence[str] = tuple(PROPERTIES)) -> None:
    """Check what holds beyond the values."""
    for name in names:
        holds = PROPERTIES[name]
        if state.report.failed("determinism") and name in COMPARED:
            continue
        if state.options.fast and name in NOT_FAST:
            continue
        if name == "determinism":
            if name in state.options.skip or state.steady:
                continue
            state.current, state.steady = name, True
        elif name in state.report.checks or not state.wants(name):  # made with the values
            continue
        try:
            wrong = holds(setting)
        except Exception as error:
            wrong = f"raised {type(error).__name__}: {error}"
        if wrong:
            state.fail(name, wrong, blame=state.known(state.blamed(blame_property, state.subject, name)))
