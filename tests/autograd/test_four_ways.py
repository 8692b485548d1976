"""What a Jacobian costs in each of the four ways: the numbers of docs/tutorials/four-ways-to-differentiate.md, and why."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import minitorch as torch
from minitorch.autograd import Tape, count_operations

TUTORIALS = Path(__file__).parent.parent.parent / "docs" / "tutorials"
SHAPES = ((1, 100), (100, 1), (30, 30))


@pytest.fixture
def four_ways(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(TUTORIALS))
    yield __import__("four_ways")
    sys.modules.pop("four_ways", None)


@pytest.mark.parametrize(("m", "n"), SHAPES)
def test_all_ways_agree_and_cost_what_they_must(four_ways: Any, m: int, n: int) -> None:
    f, x = four_ways.layer(m, n)
    found = {name: four_ways.cost(way, f, x) for name, way in four_ways.WAYS.items()}
    exact = torch.func.jacrev(f)(x)
    for name, (jacobian, _) in found.items():
        assert torch.allclose(jacobian, exact, rtol=1e-8, atol=1e-8), name
    costs = {name: cost for name, (_, cost) in found.items()}
    assert costs["forward"][:2] == (n, 0)  # a column for each input
    assert costs["reverse"][:2] == (1, m)  # a row for each output, after one evaluation
    assert costs["numerical"][:2] == (2 * n + 1, 0)
    assert costs["symbolic"][:2] == (1, m)
    of_function = four_ways.cost(lambda f, x: (f(x), 0), f, x)[1].operations
    assert of_function == 2
    assert costs["forward"].operations == 2 * of_function * n  # each operation, and its tangent
    assert costs["reverse"].operations == of_function + of_function * m  # once forward; back, an operation for each
    assert costs["numerical"].operations == of_function * (2 * n + 1)
    assert costs["symbolic"].operations == 2 * of_function + 6 * m  # six operations for each row


def test_where_they_cross(four_ways: Any) -> None:
    def forward_is_cheaper(m: int, n: int) -> bool:
        f, x = four_ways.layer(m, n)
        return (
            four_ways.cost(four_ways.forward, f, x)[1].operations
            < four_ways.cost(four_ways.reverse, f, x)[1].operations
        )

    assert [forward_is_cheaper(*shape) for shape in ((1, 100), (15, 45), (50, 10), (100, 1))] == [
        False,
        False,
        True,
        True,
    ]


def test_the_product_with_a_hessian_costs_a_few_evaluations() -> None:
    W = torch.randn(20, 20)

    def network(x: Any) -> Any:
        return torch.tanh(W @ torch.tanh(W @ x)).sum()

    def operations(function: Any, *arguments: Any) -> int:
        with count_operations() as count:
            function(*arguments)
        return count.total

    x, v = torch.randn(20), torch.randn(20)
    assert operations(torch.autograd.functional.hvp, network, x, v) <= 6 * operations(network, x)


NORM_WEIGHTS = {"weight": torch.ones(20), "bias": torch.zeros(20)}
CHEAP: dict[str, Any] = {
    "glu": torch.nn.functional.glu,
    "layer_norm, linear": lambda x: torch.nn.functional.layer_norm(x, (20,), **NORM_WEIGHTS) @ torch.eye(20),
    "group_norm": lambda x: torch.nn.functional.group_norm(x, 4, **NORM_WEIGHTS).tanh(),
    "batch_norm": lambda x: torch.nn.functional.batch_norm(x, None, None, **NORM_WEIGHTS, training=True).tanh(),
    "encoder layer": torch.nn.TransformerEncoderLayer(20, 2, 40, dropout=0.0),
}


@pytest.mark.parametrize("name", CHEAP)
def test_so_does_one_through_gates_and_normalisations(name: str) -> None:
    x, v = torch.randn(6, 20), torch.randn(6, 20)

    def whole(x: Any) -> Any:
        return CHEAP[name](x).sum()

    with count_operations() as once:
        whole(x)
    with count_operations() as product:
        torch.autograd.functional.hvp(whole, x, v)
    assert product.total <= 6 * once.total


def test_formulas_with_shared_lines_do_not_swell() -> None:
    sizes = []
    for n in (8, 16, 32):
        x = torch.tensor(0.3, dtype=torch.float64, requires_grad=True)
        with Tape() as tape:
            y = x
            for _ in range(n):
                y = 4 * y * (1 - y)
        formula = tape.formula(y)
        sizes.append((formula.operations, formula.expanded))
        assert formula.operations <= 10 * n
    assert sizes[2][0] < 2.2 * sizes[1][0] < 2.2 * 2.2 * sizes[0][0]
    assert sizes[1][1] > 100 * sizes[0][1]
    assert sizes[2][1] > 10_000 * sizes[1][1]


def test_a_map_counts_what_runs_on_the_batch_not_what_makes_the_example() -> None:
    W, batch = torch.randn(3, 3), torch.randn(5, 3)

    def counts(function: Any, *arguments: Any) -> dict[str, int]:
        with count_operations() as count:
            function(*arguments)
        return dict(count.by_name)

    vmap = torch.func.vmap
    assert counts(vmap(lambda x: torch.tanh(W @ x).sum()), batch) == {"mm": 1, "tanh": 1, "sum": 1}
    assert counts(vmap(lambda x: x.sin() + W.sum()), batch) == {"sum": 1, "sin": 1, "add": 1}
    assert counts(vmap(lambda x: vmap(lambda y: (y * x).sin())(W)), batch) == {"unsqueeze": 1, "mul": 1, "sin": 1}
    one = counts(lambda x: torch.func.jvp(torch.sin, (x,), (torch.ones(3),)), batch[0])
    assert counts(vmap(lambda x: torch.func.jvp(torch.sin, (x,), (torch.ones(3),))), batch) == one
    inside = []
    vmap(lambda x: (inside.append(counts(torch.sin, x)), x)[1])(batch)
    assert inside == [{"sin": 1}]
