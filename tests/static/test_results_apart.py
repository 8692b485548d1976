"""Results of graphs have memory of their own, and functions that change things are not run twice for gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minitorch as torch
from minitorch import nn, static
from minitorch._op import Row
from minitorch.autograd import Tape
from minitorch.static._apart import UNRECORDED
from samples import all_samples

VIEWS = {
    "itself": lambda x: x,
    "T": lambda x: x.T,
    "mT": lambda x: x.mT,
    "transpose": lambda x: x.transpose(0, 1),
    "row": lambda x: x[0],
    "slice": lambda x: x[1:],
    "reshape": lambda x: x.reshape(9),
    "unsqueeze": lambda x: x.unsqueeze(0),
    "diagonal": lambda x: x.diagonal(),
    "function": lambda x: static.apply(torch.t, x),
    "two": lambda x: static.apply(lambda t: t.T.T, x),
    "view of a function's": lambda x: static.apply(lambda t: t.T, x).T,
    "branch": lambda x: static.cond(x.sum() > -1, x.T, x),
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
@pytest.mark.parametrize("kind", ["feed", "parameter", "constant", "computed"])
def test_no_result_shares_memory(view: Any, kind: str) -> None:
    array, weight = np.ones((3, 3), np.float32), torch.ones(3, 3)
    fed = static.placeholder("x")
    x = {
        "feed": fed,
        "parameter": static.parameter(weight, "w"),
        "constant": static.constant(np.ones((3, 3), np.float32)),
        "computed": fed * 2,
    }[kind]
    executor = static.Executor([view(x), view(x), x, fed + 1])
    feed = {fed: array}
    first = executor.run(feed)
    wanted = [r.copy() for r in first]
    for number, result in enumerate(first):
        assert not any(np.shares_memory(result, other) for other in (*first[:number], array, weight.numpy()))
    for result in first:
        result[...] = 0
    assert all(map(np.array_equal, executor.run(feed), wanted))


def test_what_a_loop_gives_of_a_constant() -> None:
    array, x = np.array([5.0, 6.0], np.float32), static.placeholder("x")
    executor = static.Executor(
        static.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, static.constant(array)), (x, x))
    )
    for _ in range(2):
        _, found = executor.run({x: np.zeros((), np.float32)})
        assert found.tolist() == [5.0, 6.0]
        found[...] = 0


def test_only_what_may_be_shared_is_looked_at() -> None:
    x, w = (
        static.placeholder("x", (None, 3), torch.float32),
        static.parameter(torch.ones(3, 3, requires_grad=True), "w"),
    )
    y = ((x @ w).tanh() + static.constant([1.0, 2.0, 3.0])).sum()
    executor = static.Executor([y, *static.gradients(y, [x, w])])
    assert (executor._apart.asked, executor._apart.leaves) == ([], [])
    views = static.Executor([y, x.T, (x + 1).T, (x * 2).reshape(-1)])
    assert [number for number, _ in views._apart.asked] == [1]


SHARED = [
    pytest.param(name, case, id=f"{name}-{n}")
    for name, of in sorted(all_samples().items())
    for n, case in enumerate(of)
]


@pytest.mark.parametrize(("name", "case"), SHARED)
def test_rows_whose_results_show_their_operands_memory_are_known(name: str, case: Any) -> None:
    with Tape() as tape:
        case.call(torch, *[torch.from_numpy(np.array(a)) for a in case.inputs])
    for call in [
        e for e in tape if isinstance(e.row, Row) and e.row.name == name and not e.in_place and not e.row.view
    ]:
        arrays = [i.detach().clone().numpy() for i in call.inputs]
        with np.errstate(all="ignore"):
            found = call.row.kernel(*([arrays] if call.row.variadic else arrays), **call.params)
        several = found if isinstance(found, (tuple, list)) else [found]
        shown = any([np.shares_memory(a, f) for a in arrays for f in several if isinstance(f, np.ndarray)])
        assert shown <= (name in UNRECORDED)


def test_what_a_function_keeps_is_not_a_result() -> None:
    layer, x = nn.Linear(2, 2), static.placeholder("x")
    kept = static.apply(lambda t: layer.weight, x)
    for node in (kept, kept.T):
        executor = static.Executor(node)
        for _ in range(2):
            (found,) = executor.run({x: [1.0]})
            assert not np.shares_memory(found, layer.weight.detach().numpy())


# -- functions that run twice ------------------------------------------------------------------------------------------
def test_statistics_are_not_moved_twice() -> None:
    norm, x = nn.BatchNorm1d(2, momentum=0.5), static.placeholder("x")
    y = static.apply(norm, x)
    executor = static.Executor([y, *static.gradients(y, [x])])
    z = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)
    with pytest.raises(RuntimeError, match=r"gradients of BatchNorm1d: it changes BatchNorm1d.\w+, and runs again"):
        executor.run({x: z})
    assert norm.running_mean.tolist() == [1.0, 1.5]  # once
    with pytest.raises(RuntimeError, match=r"put a model in eval mode, model.eval\(\)"):
        executor.run({x: z})
    assert norm.running_mean.tolist() == [1.5, 2.25]
    norm.eval()
    for _ in range(2):
        value, gradient = executor.run({x: z})
    t = torch.tensor(z, requires_grad=True)
    norm(t).sum().backward()
    assert np.array_equal(value, norm(t).detach().numpy())
    assert t.grad is not None
    assert np.array_equal(gradient, t.grad.numpy())
    norm.train()  # after runs that changed nothing
    with pytest.raises(RuntimeError, match="it changes BatchNorm1d"):
        executor.run({x: z})


def test_a_counter_is_not_counted_twice() -> None:
    calls, x = [0], static.placeholder("x")

    def counted(t: Any) -> Any:
        calls[0] += 1
        return t * calls[0]

    y = static.apply(counted, x)
    assert [static.Executor(y).run({x: 1.0})[0].item() for _ in range(2)] == [1.0, 2.0]
    with pytest.raises(RuntimeError, match=r"gradients of counted: it changes calls, and runs again"):
        static.Executor([y, *static.gradients(y, [x])]).run({x: 1.0})


def test_what_a_branch_passes_on_of_a_function() -> None:
    kept = []

    def function(x: Any) -> Any:
        kept.append(x * 2)
        return kept[-1]

    x, w = static.placeholder("x"), static.placeholder("w")
    chosen = static.cond(x > 0, static.apply(function, w), w)
    (out,) = static.Executor(chosen).run({x: np.float32(1), w: np.ones(2, np.float32)})
    out[...] = 9
    assert kept[-1].tolist() == [2.0, 2.0]
