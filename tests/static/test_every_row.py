"""Every row of the op table on symbolic nodes: values bit for bit, gradients of both orders as the engine's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minitorch
from minitorch import _op, static
from minitorch.autograd import Tape, grad
from row_calls import refuses
from samples import all_samples
from samples.sample import Sample

CASES = [
    pytest.param(name, case, id=f"{name}-{i}")
    for name, cases in sorted(all_samples().items())
    for i, case in enumerate(cases)
]


def calls_of(name: str, case: Sample) -> list[Any]:
    """The calls of a row that a sample makes."""
    inputs = [minitorch.from_numpy(np.array(a)) for a in case.inputs]
    with Tape() as tape:
        case.call(minitorch, *inputs)
    return [e for e in tape if isinstance(e.row, _op.Row) and e.row.name == name and not e.in_place]


def tuple_of(out: Any) -> tuple[Any, ...]:
    return tuple(out) if isinstance(out, (tuple, list)) else (out,)


def symbolic_call(
    row: Any, inputs: Any, params: dict[str, Any], count: int
) -> tuple[list[Any], list[Any], dict[Any, Any]]:
    """Placeholders, the row's outputs as nodes, and what to feed."""
    places = [static.placeholder(f"x{n}") for n in range(len(inputs))]
    call = getattr(static.rows, row.name)
    out = call(places, **params) if row.variadic else call(*places, **params)
    nodes = [out[n] for n in range(count)] if row.outputs else [out]
    return places, nodes, {p: i.detach().numpy() for p, i in zip(places, inputs)}


@pytest.mark.parametrize(("name", "case"), CASES)
def test_values_bit_for_bit(name: str, case: Sample) -> None:
    for entry in calls_of(name, case):
        given = [i.detach().clone() for i in entry.inputs]
        drawn = entry.params.get("generator") or minitorch.default_generator
        state = drawn.get_state()
        eager = tuple_of(
            entry.row.call(given, **entry.params) if entry.row.variadic else entry.row.call(*given, **entry.params)
        )
        drawn.set_state(state)
        _, nodes, feed = symbolic_call(entry.row, given, entry.params, len(eager))
        for ours, theirs in zip(static.Executor(nodes).run(feed), eager):
            assert ours.dtype == theirs.numpy().dtype
            np.testing.assert_array_equal(ours, theirs.numpy())


DIFFERENTIABLE = [
    p for p in CASES if p.values[1].order > 0 and not all(map(refuses, _op.rows[p.values[0]].formulas.values()))
]


@pytest.mark.parametrize(("name", "case"), DIFFERENTIABLE)
def test_gradients_of_both_orders(name: str, case: Sample) -> None:
    for entry in calls_of(name, case):
        row, params = entry.row, entry.params
        differentiable = [name for name, formula in row.formulas.items() if not refuses(formula)]
        given = [i.detach().clone() for i in entry.inputs]
        wanted = [
            n
            for n, i in enumerate(given)
            if i.is_floating_point() and row.inputs[0 if row.variadic else n] in differentiable
        ]
        leaves = [i.requires_grad_() if n in wanted else i for n, i in enumerate(given)]
        eager = tuple_of(row.call(leaves, **params) if row.variadic else row.call(*leaves, **params))
        chosen = [n for n, o in enumerate(eager) if o.requires_grad]
        if not chosen:
            continue
        rng = np.random.default_rng(3)
        weights = [
            minitorch.from_numpy(np.asarray(rng.normal(size=tuple(eager[n].shape)), eager[n].numpy(force=True).dtype))
            for n in chosen
        ]
        xs = [leaves[n] for n in wanted]
        first = grad([eager[n] for n in chosen], xs, weights, create_graph=case.order > 1, allow_unused=True)

        places, nodes, feed = symbolic_call(row, given, params, len(eager))
        ys, targets = [nodes[n] for n in chosen], [places[n] for n in wanted]
        found = static.gradients(ys, targets, weights, allow_unused=True)
        check(found, first, feed)
        live = [(o, f) for o, f in zip(first, found) if o is not None and f is not None and o.requires_grad]
        if case.order > 1 and live:
            again = [minitorch.ones(tuple(o.shape), dtype=o.dtype) for o, _ in live]
            second = grad([o for o, _ in live], xs, again, allow_unused=True)
            check(static.gradients([f for _, f in live], targets, allow_unused=True), second, feed)


@pytest.mark.parametrize(("name", "case"), [p for p in DIFFERENTIABLE if _op.rows[p.values[0]].outputs])
def test_gradients_of_one_output_alone(name: str, case: Sample) -> None:
    for entry in calls_of(name, case):
        given = [i.detach().clone() for i in entry.inputs]
        leaves = [i.requires_grad_() if i.is_floating_point() else i for i in given]
        eager = tuple_of(entry.row.call(*leaves, **entry.params))
        for number, output in enumerate(eager):
            if not output.requires_grad:
                continue
            xs = [i for i in leaves if i.requires_grad]
            first = grad(output.sum(), xs, retain_graph=True, create_graph=case.order > 1, allow_unused=True)
            places, nodes, feed = symbolic_call(entry.row, given, entry.params, len(eager))
            targets = [p for p, i in zip(places, leaves) if i.requires_grad]
            found = static.gradients(nodes[number], targets, allow_unused=True)
            check(found, first, feed)
            if case.order > 1 and first[0] is not None and first[0].requires_grad:
                second = grad(first[0].sum(), xs, retain_graph=True, allow_unused=True)
                check(static.gradients(found[0], targets, allow_unused=True), second, feed)


def check(found: Any, expected: Any, feed: Any) -> None:
    """Gradients of the graph as the engine's; None stands for zeros."""
    ran = iter(static.Executor([f for f in found if f is not None]).run(feed))
    for node, theirs in zip(found, expected):
        ours = None if node is None else next(ran)
        if theirs is None or ours is None:
            assert not np.any(ours if theirs is None else theirs.detach().numpy()) or (ours is None and theirs is None)
            continue
        assert ours.dtype == theirs.detach().numpy().dtype
        assert ours.shape == tuple(theirs.shape)
        np.testing.assert_allclose(ours, theirs.detach().numpy(), rtol=1e-7, atol=1e-7)
