"""Random graphs of rows: static and eager agree bit for bit in value, and to rounding in gradients, at several batch sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch
from minitorch import _op, static
from minitorch.autograd import grad
from usable_rows import ROWS

OVER_BATCH: dict[str, Any] = {"dim": (0,), "keepdim": True}
REDUCTIONS: Any = (("sum_all", {}), ("mean_all", {}), ("sum", OVER_BATCH), ("mean", OVER_BATCH))
SHAPES = (("batch", 3), (3,), ("batch", 1), (), (1, 3))


@st.composite
def programs(draw: st.DrawFn) -> list[Any]:
    """Steps: a row, its operands (the numbers of earlier values, or ``("number", value)``), its parameters."""
    steps: list[Any] = []
    for made in range(len(SHAPES), len(SHAPES) + draw(st.integers(1, 8))):
        value = st.integers(0, made - 1)
        kind = draw(st.integers(0, 5))
        if kind < 2:
            steps.append((draw(st.sampled_from(ROWS[1])), [draw(value)], {}))
        elif kind < 4:
            steps.append((draw(st.sampled_from(ROWS[2])), [draw(value), draw(value)], {}))
        elif kind == 4:
            number = "number", draw(st.sampled_from((2.0, 3, -0.5)))
            steps.append((draw(st.sampled_from(("add", "mul", "div"))), [draw(value), number], {}))
        else:
            name, params = draw(st.sampled_from(REDUCTIONS))
            steps.append((name, [0 if params else draw(value)], params))
    return steps


def build(call: Any, inputs: list[Any], steps: list[Any]) -> list[Any]:
    """The values of a program; each step's is squashed, so that none leaves the domain of most functions."""
    values = list(inputs)
    for name, operands, params in steps:
        operands = [o[1] if isinstance(o, tuple) else values[o] for o in operands]
        values.append(call("sigmoid", call(name, *operands, **params)))
    return values


def fed(batch: int, dtypes: list[Any]) -> list[np.ndarray]:
    """Values for the inputs."""
    rng = np.random.default_rng(batch)
    shapes = [tuple([batch if n == "batch" else n for n in shape]) for shape in SHAPES]
    return [np.asarray(rng.uniform(0.1, 0.9, shape), dtype) for shape, dtype in zip(shapes, dtypes)]


@settings(max_examples=50)
@given(programs(), st.lists(st.sampled_from((np.float32, np.float64)), min_size=5, max_size=5), st.booleans())
@pytest.mark.filterwarnings("error")
def test_static_and_eager_agree(steps: list[Any], dtypes: list[Any], declared: bool) -> None:
    places = [
        static.placeholder(
            f"x{n}", [None if s == "batch" else s for s in shape], minitorch.from_numpy(np.empty(0, dtype)).dtype
        )
        if declared
        else static.placeholder(f"x{n}")
        for n, (shape, dtype) in enumerate(zip(SHAPES, dtypes))
    ]
    nodes = build(lambda name, *o, **p: getattr(static.rows, name)(*o, **p), places, steps)
    gradients = static.gradients(nodes[-1], places, allow_unused=True)
    used = [g for g in gradients if g is not None]
    again = static.gradients(used, places, allow_unused=True)
    executor = static.Executor([nodes[-1], *used, *[g for g in again if g is not None]])
    exact = np.float32 not in dtypes
    for batch in (3, 1, 5):
        arrays = fed(batch, dtypes)
        by_name = {p.name: a for p, a in zip(places, arrays)}
        ran = iter(executor.run({p: by_name[p.name] for p in executor.placeholders}))
        inputs = [minitorch.from_numpy(a).requires_grad_() for a in arrays]
        values = build(lambda name, *o, **p: _op.rows[name].call(*o, **p), inputs, steps)
        value = next(ran)
        np.testing.assert_array_equal(value, values[-1].detach().numpy())
        assert value.dtype == values[-1].detach().numpy().dtype
        first = grad(values[-1], inputs, minitorch.ones_like(values[-1]), create_graph=True, allow_unused=True)
        compare(gradients, first, ran, exact)
        live = [g for g in first if g is not None and g.requires_grad]
        second = grad(live, inputs, [minitorch.ones_like(g) for g in live], allow_unused=True) if live else [None] * 5
        compare(again, second, ran, exact)


def compare(nodes: list[Any], expected: Any, ran: Any, exact: bool) -> None:
    """Gradients that ran against the engine's; None on one side stands for zeros on the other."""
    for node, theirs in zip(nodes, expected):
        ours = None if node is None else next(ran)
        if ours is None or theirs is None:
            assert ours is None or not np.any(ours)
            assert theirs is None or not np.any(theirs.detach().numpy())
            continue
        theirs = theirs.detach().numpy()
        assert ours.dtype == theirs.dtype
        assert ours.shape == theirs.shape
        tolerance = 1e-9 if exact else 2e-3
        scale = np.max(np.abs(theirs), initial=0, where=np.isfinite(theirs))
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance * max(1.0, float(scale)))
