"""Second derivatives, along random directions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _runtime
from .._differentiate import grad
from .._modes import enable_grad
from .._views import current_node
from ..autograd._subject import Subject, tuple_of
from ._blame import blame_second_order
from ._compare import changed, compared_along, random_directions, severity
from ._kinks import moved
from ._patterns import pattern_of
from ._state import State


def second_order(state: State) -> None:
    """Compare second derivatives along random directions.

    The gradients of <v, f(x)> by x and by v have a symmetric Jacobian: its product with d from the left, which backward of
    backward gives, is their derivative along d.  So two evaluations of them check all of its elements.
    """
    subject = state.subject
    starts = subject.split(state.rng.normal(size=subject.base.size))
    which, count = subject.which, len(state.inputs)
    dtypes = [subject.point()[0][o]._array.dtype for o in which]

    def gradients(*args: Any) -> tuple[Any, ...]:
        with enable_grad():
            outputs = tuple_of(state.fn(*args[:count]))
            given = args[count:] or [_runtime.wrap(s.astype(d)) for s, d in zip(starts, dtypes)]
            wanted = [args[i] for i in subject.variables] + list(subject.parameters)
            recorded = [(outputs[o], start) for o, start in zip(which, given) if current_node(outputs[o]) is not None]
            found: Sequence[Any] = [None] * len(wanted)
            if recorded:
                chosen, vectors = zip(*recorded)
                found = grad(chosen, wanted, vectors, create_graph=True, allow_unused=True)
        found = [_zeros_like(w) if g is None else g for g, w in zip(found, wanted)]
        places = len(subject.variables)
        by_start = [outputs[o] for o in which] if len(args) > count else []
        return (*found[:places], *by_start, *found[places:])

    vectors = [_runtime.wrap(s.astype(d)) for s, d in zip(starts, dtypes)]
    variables = [*subject.variables, *range(count, count + len(vectors))]
    second = Subject(gradients, [*state.inputs, *vectors], variables, subject.parameters)
    state.others.append(second)
    try:
        second.point()
    except Exception as error:
        state.fail("second_order", f"the gradient cannot be recorded: {type(error).__name__}: {error}")
        return
    for _ in range(1 if state.options.fast else 3):
        directions = random_directions(second, state.rng)
        try:
            analytic, behaviour, wrong = compared_along(second, directions)
        except Exception as error:
            state.fail("second_order", f"the gradient cannot be differentiated: {type(error).__name__}: {error}")
            return
        if wrong.any() and (state.report.kinks or second.any_huge()) and _right_beside(state, second):
            return
        if wrong.any():
            assert behaviour is not None
            points = [changed(second, row, analytic[row], behaviour) for row in map(int, np.flatnonzero(wrong))]
            points.sort(key=lambda p: -severity(p))
            variables = sorted({p.output for p in points})
            picked = analytic[None, wrong], behaviour.value[None, wrong], 2 * behaviour.error[None, wrong]
            state.fail(
                "second_order",
                f"the second derivative with respect to {', '.join([_named(state, v) for v in variables])} along a random "
                f"direction: {len(points)} of {len(wrong)} entries of the gradient change otherwise than backward of "
                "backward says (output: the gradient's entry)",
                points=points[:5],
                pattern=pattern_of(*picked, (), (int(wrong.sum()),)),
                blame=state.blamed(blame_second_order, subject, gradients),
            )
            return


def _right_beside(state: State, second: Subject) -> bool:
    """Whether second derivatives are right next to a kink, where steps do not come to it; or at ordinary sizes."""
    other = moved(second, state.rng)
    state.others.append(other)
    return not compared_along(other, random_directions(other, state.rng))[2].any()


def _named(state: State, variable: int) -> str:
    """A variable of second derivatives: the inputs, then the incoming gradients, then the parameters."""
    incoming = variable - len(state.subject.variables)
    if 0 <= incoming < len(state.subject.which):
        return f"the incoming gradient {incoming}"
    return state.named(variable if incoming < 0 else variable - len(state.subject.which))


def _zeros_like(tensor: Any) -> Any:
    return _runtime.wrap(np.zeros_like(tensor._array))
