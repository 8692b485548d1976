"""Gradients at points where derivatives are infinite or undefined: those of graphs are as the engine's, also where these are
NaN, infinite, or where no gradient comes at all, so that nothing undefined is multiplied by it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch as torch
from minitorch import _op, static
from minitorch.autograd import grad
from usable_rows import ROWS

POINTS = np.array([0.0, -0.0, np.inf, -np.inf, -2.0, -1.0, 1.0, 2.0, 0.5, np.nan])
X, Y = [side.ravel() for side in np.meshgrid(POINTS, POINTS)]
CHOICES: dict[str, Callable[..., Any]] = {
    "where": lambda a, b: torch.where(a > 0.3, a, b),
    "where of another": lambda a, b: torch.where(b > 0.3, a, 2.0),
    "masked_fill": lambda a, b: a.masked_fill(b > 0.3, 2.0),
    "clamp": lambda a, b: a.clamp(-1.0, 1.0),
    "clamp between": lambda a, b: torch.clamp(a, b, b + 1),
    "maximum": torch.maximum,
    "relu": lambda a, b: a.relu(),
    "leaky_relu": lambda a, b: torch.nn.functional.leaky_relu(a),
    "sinc": lambda a, b: a.sinc(),
    "xlogy": torch.xlogy,
    "detached": lambda a, b: a * b.detach(),
    "selected": lambda a, b: torch.stack([a, b])[0],
    "summed": lambda a, b: torch.stack([a, b]).sum(0, keepdim=True)[0],
    "largest": lambda a, b: torch.stack([a, b]).amax(0),
    "sorted": lambda a, b: torch.stack([a, b]).sort(0)[0][1],
}


@st.composite
def programs(draw: st.DrawFn) -> list[Any]:
    """Steps on two inputs: what is called, and the numbers of its operands."""
    steps: list[Any] = []
    for made in range(2, 2 + draw(st.integers(2, 5))):
        operands = [draw(st.integers(0, made - 1)) for _ in range(2)]
        kind = draw(st.sampled_from((1, 2, 0)))
        steps.append((kind, draw(st.sampled_from(ROWS[kind] if kind else sorted(CHOICES))), operands))
    return steps


def build(row: Any, choice: Any, inputs: Any, steps: list[Any]) -> Any:
    """The last value of a program."""
    values = list(inputs)
    for kind, name, operands in steps:
        given = [values[n] for n in operands]
        values.append(row(name, *given[:kind]) if kind else choice(CHOICES[name], *given))
    return values[-1]


def eager(function: Callable[..., Any], arrays: Any, orders: int) -> list[Any]:
    """The gradients of a function of Tensors, and of these, as often as is said; None where there is none."""
    inputs = [torch.tensor(array, requires_grad=True) for array in arrays]
    values, found = [function(*inputs)], []
    for _ in range(orders):
        values = [v for v in values if v is not None and v.requires_grad]
        ones = [torch.ones_like(v) for v in values]
        values = (
            list(grad(values, inputs, ones, create_graph=True, allow_unused=True)) if values else [None] * len(inputs)
        )
        found += [None if v is None else v.detach().numpy() for v in values]
    return found


def symbolic(function: Callable[..., Any], arrays: Any, orders: int) -> list[Any]:
    """The same of a function of nodes."""
    places = [static.placeholder(f"x{n}") for n in range(len(arrays))]
    values, nodes = [function(*places)], []
    for _ in range(orders):
        values = [v for v in values if v is not None]
        values = static.gradients(values, places, allow_unused=True) if values else [None] * len(places)
        nodes += values
    live = [node for node in nodes if node is not None]
    if not live:
        return nodes
    executor = static.Executor(live)
    fed = dict(zip([place.label for place in places], arrays))
    ran = iter(executor.run({place: fed[place.label] for place in executor.placeholders}))
    return [None if node is None else next(ran) for node in nodes]


def check(ours: list[Any], theirs: list[Any]) -> None:
    """Equal, NaN where the other is; None stands for zeros."""
    for found, wanted in zip(ours, theirs, strict=True):
        if found is not None or wanted is not None:
            wanted = np.zeros_like(found) if wanted is None else wanted
            found = np.zeros_like(wanted) if found is None else found
            np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-9)


def row_on_tensors(name: str, *operands: Any) -> Any:
    return _op.rows[name].call(*operands)


def choice_on_nodes(function: Any, *operands: Any) -> Any:
    return static.apply(function, *operands)


@settings(max_examples=150)
@given(programs(), st.integers(1, 3), st.sampled_from(("parts", "one function")))
def test_gradients_at_special_points(steps: list[Any], orders: int, way: str) -> None:
    def whole(*inputs: Any) -> Any:
        return build(row_on_tensors, lambda function, *operands: function(*operands), inputs, steps)

    def parts(*places: Any) -> Any:
        return build(lambda name, *o: getattr(static.rows, name)(*o), choice_on_nodes, places, steps)

    on_nodes = parts if way == "parts" else lambda *places: static.apply(whole, *places)
    check(symbolic(on_nodes, (X, Y), orders), eager(whole, (X, Y), orders))


@pytest.mark.parametrize("name", [*ROWS[1], *ROWS[2]])
def test_three_orders_of_every_row(name: str) -> None:
    inputs = (X, Y)[: len(_op.rows[name].inputs)]
    check(
        symbolic(getattr(static.rows, name), inputs, 3),
        eager(lambda *given: row_on_tensors(name, *given), inputs, 3),
    )


def test_what_is_not_chosen_is_not_differentiated_again() -> None:
    def function(x: Any, where: Any, log1p: Any) -> Any:
        return where(x > -1, log1p(x), x * x)

    point = np.array([-2.0, -1.0, 0.5])
    ours = symbolic(
        lambda x: function(x, lambda *of: static.apply(torch.where, *of), lambda v: v.log1p() * v.sqrt()), [point], 2
    )
    check(ours, eager(lambda x: function(x, torch.where, lambda v: v.log1p() * v.sqrt()), [point], 2))


def test_a_branch_leads_to_nothing_of_the_other() -> None:
    def on_nodes(x: Any) -> Any:
        z = x.log()
        return static.cond(z.sum() > -1, z, x * 3)

    def on_tensors(x: Any) -> Any:
        z = x.log()
        return z if z.sum() > -1 else x * 3

    for point in (0.0, 1.0, 4.0):
        check(symbolic(on_nodes, [np.array(point)], 3), eager(on_tensors, [np.array(point)], 3))


def test_rounds_of_a_loop_lead_to_nothing_that_they_do_not_read() -> None:
    def on_nodes(x: Any, y: Any) -> Any:
        def body(p: Any, q: Any) -> Any:
            return static.apply(torch.where, p > 100, p * q, p * 2), q.sqrt().detach()

        return static.while_loop(lambda p, q: p.sum() < 20, body, (x, y.log()))[0]

    def on_tensors(x: Any, y: Any) -> Any:
        p, q = x, y.log()
        while p.sum() < 20:
            p, q = torch.where(p > 100, p * q, p * 2), q.sqrt().detach()
        return p

    for arrays in ([np.array(3.0), np.array(0.0)], [np.array(30.0), np.array(0.0)], [np.array(1.0), np.array(1.0)]):
        check(symbolic(on_nodes, arrays, 2), eager(on_tensors, arrays, 2))


def test_gradients_that_are_absent_are_zeros_in_the_end() -> None:
    x, y = static.placeholder("x"), static.placeholder("y")
    z = static.apply(lambda a, b: a + b.detach(), x, y.log())
    assert str(static.gradients(z, y)[0]).startswith("(")
    run = static.Executor(static.gradients(z, [x, y])).run({x: [1.0, 2.0], y: [0.0, 1.0]})
    np.testing.assert_array_equal(run, [[1.0, 1.0], [0.0, 0.0]])


def test_written_modules_have_what_a_graph_has(tmp_path: Any) -> None:
    x = static.placeholder("x", (3,), torch.float64)
    y = static.apply(torch.where, x > -1, x.log1p(), x * x)
    (first,) = static.gradients(y, x)
    (second,) = static.gradients(first, x)
    executor, fed = static.Executor([first, second]), {x: np.array([-2.0, -1.0, 0.5])}
    executor.to_python(tmp_path / "written.py", fed)
    scope: dict[str, Any] = {"__name__": "written", "__file__": str(tmp_path / "written.py")}
    exec(compile((tmp_path / "written.py").read_text(), "written.py", "exec"), scope)
    for ours, theirs in zip(scope["run"](fed[x]), executor.run(fed)):
        assert ours.tobytes() == theirs.tobytes()
