"""Calls of rows, as their samples make them, to be made again with other values: what the tests of laws run."""

from __future__ import annotations

import dis
import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import minitorch
import minitorch.nn  # some rows come with it
from minitorch import _op
from minitorch.autograd import Tape, grad
from samples import all_samples, families
from samples.sample import Sample

NUMBERS = st.lists(st.integers(-8, 8), min_size=7, max_size=7).map(lambda drawn: np.array(drawn) / 4)
"""Numbers to fill arrays with, by `filled`."""
CHOICES = st.integers(0, 2**16 - 1)
"""Choices to make, a bit each: one draw costs less than many."""
FAMILIES, SAMPLES = families(), all_samples()


def filled(numbers: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """An array of drawn numbers, repeated as often as needed; seven, so that repeats do not fall into columns."""
    return np.resize(numbers, tuple(shape))


def refuses(formula: Callable[..., Any]) -> bool:
    """Whether a formula only raises: nobody knows the derivative, or it is refused as in PyTorch."""
    names = [i.opname for i in dis.get_instructions(formula)]
    return "RAISE_VARARGS" in names and not any(name.startswith("RETURN") for name in names)


def rows_of(family: str, wanted: Callable[[_op.Row], Any]) -> Iterator[_op.Row]:
    """A family's differentiable rows of a kind."""
    for name in FAMILIES[family]:
        row = _op.rows[name]
        if not all(map(refuses, row.formulas.values())) and wanted(row):
            yield row


WITH_STATISTICS = {"normalized_backward", "standardized_backward", "standardized_bend"}


@dataclass(frozen=True)
class Call:
    """A row with inputs and constants.

    Attributes
    ----------
    row : Row
        What is called.
    inputs : tuple of ndarray
        Its tensors.
    params : tuple
        Its constants.
    """

    row: _op.Row
    inputs: tuple[np.ndarray, ...]
    params: tuple[Any, ...]

    @property
    def differentiable(self) -> list[int]:
        """Which inputs have a gradient."""
        names = self.row.inputs * len(self.inputs) if self.row.variadic else self.row.inputs
        known = {n for n, formula in self.row.formulas.items() if not refuses(formula)}
        return [i for i, (n, a) in enumerate(zip(names, self.inputs)) if n in known and a.dtype.kind == "f"]

    @property
    def has_places(self) -> bool:
        """Whether constants belong to places of the inputs, so that others do not fit."""
        return any(isinstance(p, np.ndarray) for p in self.params)

    def with_inputs(self, inputs: Sequence[np.ndarray]) -> Call:
        return Call(self.row, tuple([np.asarray(a) for a in inputs]), self.params)

    def varied(self, numbers: np.ndarray) -> Call:
        """The same with other values: an elementwise row's in another order, another row's scaled down.

        Statistics beside what they were computed from would no longer be its own: rows that take them stay as they are.
        """
        if self.row.name in WITH_STATISTICS:
            return self
        places, scale = (numbers * 4).astype(int), 0.75 + numbers[0] / 8
        inputs = list(self.inputs)
        for i in self.differentiable:
            array = inputs[i]
            if self.row.elementwise and array.size:
                inputs[i] = array.ravel()[filled(places, array.shape) % array.size]
            elif not self.row.elementwise:
                inputs[i] = np.asarray(array * scale)
        return self.with_inputs(inputs)

    def inputs_from(self, numbers: np.ndarray) -> list[np.ndarray]:
        """Inputs of which the differentiable ones are drawn numbers: for linear rows, which take any."""
        return [filled(numbers + i, a.shape) if i in self.differentiable else a for i, a in enumerate(self.inputs)]

    def tensors(self, active: Sequence[int] | None = None) -> list[Any]:
        """New leaves: those at *active* require grad."""
        active = self.differentiable if active is None else active
        return [minitorch.from_numpy(np.array(a)).requires_grad_(i in active) for i, a in enumerate(self.inputs)]

    def run(self, tensors: Sequence[Any]) -> list[Any]:
        """The outputs."""
        operands = [list(tensors)] if self.row.variadic else tensors
        out = self.row.call(*operands, *self.seeded())
        return list(out) if isinstance(out, (tuple, list)) else [out]

    def seeded(self) -> tuple[Any, ...]:
        """The constants, generators among them made to draw the same as before."""
        for param in self.params:
            if isinstance(param, minitorch.Generator):
                param.manual_seed(0)
        return self.params

    def run_plainly(self) -> list[Any]:
        """The outputs where nothing requires grad."""
        return self.run(self.tensors([]))


def law(wanted: Callable[[_op.Row], Any], **drawn: st.SearchStrategy[Any]) -> Callable[[Any], Any]:
    """Make a law of one call a test of every differentiable row of a kind: a test for each family, with drawn values.

    A failure is not made smaller, as an example runs a whole family; a note names the call.
    """

    def decorator(check: Callable[..., None]) -> Any:
        @pytest.mark.parametrize("family", [f for f in FAMILIES if any(rows_of(f, wanted))])
        @settings(max_examples=3, phases=[Phase.generate])
        @given(**drawn)
        def test(family: str, **values: Any) -> None:
            for row in rows_of(family, wanted):
                for call in calls_of(row.name):
                    try:
                        check(call, **values)
                    except Exception as error:
                        error.add_note(f"in {row!r} of {[a.shape for a in call.inputs]} with {call.params}")
                        raise

        test.__name__, test.__doc__, test.__module__ = check.__name__, check.__doc__, check.__module__
        return test

    return decorator


@functools.cache
def calls_of(name: str) -> list[Call]:
    """The calls of one row that its samples make: at most three, of inputs of different shapes."""
    found: dict[Any, Call] = {}
    for case in [case for case in SAMPLES[name] if case.order]:
        for entry in recorded(case)[0]:
            if getattr(entry.row, "name", None) == name and not entry.in_place:
                if entry.row.view and any(map(overlaps, entry.inputs)):
                    continue  # of a copy it would be another call
                inputs = tuple([t.detach().numpy().copy() for t in entry.inputs])
                call = Call(entry.row, inputs, tuple(entry.params.values()))
                if call.differentiable:
                    found.setdefault(tuple([a.shape for a in inputs]), call)
    return list(found.values())[:3]


def overlaps(tensor: Any) -> bool:
    """Whether some elements are one in memory."""
    return any(stride == 0 and size > 1 for stride, size in zip(tensor.stride(), tensor.shape))


def recorded(case: Sample) -> tuple[Tape, list[Any]]:
    """What a sample does, forward and as often backward as it may: a block's tape; and its inputs."""
    inputs = [minitorch.from_numpy(np.array(a)).requires_grad_(case.order > 0) for a in case.inputs]
    with Tape() as tape:
        out = case.call(minitorch, *inputs)
        results = list(out) if isinstance(out, (tuple, list)) else [out]
        for _ in range(case.order):
            results = [r for r in results if r is not None and r.requires_grad]
            if results:
                starts = [minitorch.from_numpy(filled(np.arange(1, 8) / 8, r.shape)) for r in results]
                results = list(grad(results, inputs, starts, create_graph=True, allow_unused=True))
    return tape, inputs


def vjp(
    outputs: Sequence[Any], inputs: Sequence[Any], gradients: Sequence[Any], create_graph: bool = False
) -> list[Any]:
    """The gradients of the inputs that require grad, as Tensors; zeros where there is none."""
    chosen = [(o, g) for o, g in zip(outputs, gradients) if o.requires_grad]
    wanted = [t for t in inputs if t.requires_grad]
    starts = [g if isinstance(g, minitorch.Tensor) else minitorch.from_numpy(np.asarray(g)) for _, g in chosen]
    found = grad([o for o, _ in chosen], wanted, starts, create_graph=create_graph, allow_unused=True)
    return [minitorch.zeros_like(t) if g is None else g for t, g in zip(wanted, found)]


def close(found: Sequence[Any], expected: Sequence[Any], tolerance: float = 1e-9) -> None:
    """Assert that tensors, or arrays, have the same values but for rounding."""
    assert len(found) == len(expected)
    for a, b in zip(map(array_of, found), map(array_of, expected)):
        finite = np.abs(b[np.isfinite(b)]) if b.dtype.kind == "f" else np.abs(b)
        np.testing.assert_allclose(a, b, tolerance, tolerance * max(1.0, finite.max(initial=0.0)))


def array_of(value: Any) -> np.ndarray:
    """A tensor's values, or those of an array."""
    return np.asarray(value.detach().numpy() if isinstance(value, minitorch.Tensor) else value)


def dot(a: Sequence[Any], b: Sequence[Any]) -> float:
    """The sum of the products of all elements."""
    return float(sum([np.vdot(array_of(x), array_of(y)) for x, y in zip(a, b)]))
