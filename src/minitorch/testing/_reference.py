"""A function compared with a reference: values and gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..autograd._differences import Array
from ..autograd._subject import Subject
from . import _rounding
from ._asked import name_of, refusal
from ._blame import blame_for_reference
from ._setting import Setting, distance
from ._state import State


def against_reference(state: State, setting: Setting) -> None:
    """Compare values and gradients with those of another function."""
    subject = state.subject
    reference: Any = state.reference
    other = Subject(reference, state.inputs, subject.variables, subject.parameters)
    state.others.append(other)
    name = name_of(reference.fn)
    try:
        outputs, _ = other.point()
        refused = refusal(outputs, f"the reference {name}")
    except Exception as error:
        refused = f"the reference {name} raised {type(error).__name__}: {error}"
    if refused:
        state.fail("reference", refused)
        return
    if other.shapes != subject.shapes:
        state.fail("reference", f"the function gives shapes {subject.shapes}, the reference {other.shapes}")
        return
    far = distance(subject.base, other.base, 2.0**12 * subject.precision.unit)
    if far:
        unit = subject.precision.unit
        (own,) = _rounding.of_points(lambda at: [subject.values(at)], subject.arrays, unit)
        (its,) = _rounding.of_points(lambda at: [other.values(at)], subject.arrays, unit)
        far = distance(subject.base, other.base, 2.0**12 * unit, own + its)
    blame = state.blamed(blame_for_reference, subject, not far)
    if far:
        state.fail("reference", f"the function's values differ from the reference's ({far})", blame=blame)
        return
    found = setting.differ(
        setting.gradients, other.vjp(setting.vectors), lambda: _rounding_of_both(state, setting), factor=2.0**14
    )
    if found:
        state.fail("reference", f"the gradient differs from the reference's ({found})", blame=blame)


def _rounding_of_both(state: State, setting: Setting) -> list[float]:
    """How far rounding moves the gradients of the function and of its reference."""

    def of(subject: Subject) -> list[float]:
        def made(arrays: Sequence[Array]) -> tuple[list[Any], list[Any]]:
            outputs, wanted = subject.call(arrays)
            return [outputs[o] for o in subject.which], wanted

        return setting.rounding_of_call(made, subject.arrays, setting.vectors)

    return [a + b for a, b in zip(of(state.subject), of(state.others[0]))]
