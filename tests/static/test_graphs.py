"""Graphs that are defined, then run: the worked examples, feeding, errors, deep graphs."""

from __future__ import annotations

import subprocess
import sys
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import minitorch as torch
from minitorch import static


def run(outputs: Any, feed: Any) -> list[Any]:
    return static.Executor(outputs).run(feed)


def close(found: Any, expected: Any) -> None:
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


x, w = static.placeholder("x"), static.placeholder("w")


# -- the worked examples -----------------------------------------------------------------------------------------------
def test_a_product_of_sums() -> None:
    y = (x + w) * (w + 1)
    assert str(y) == "((x+w)*(w+1))"
    close(run([y, *static.gradients(y, [x, w])], {x: 2.0, w: 1.0}), [6, 2, 5])


def test_a_quotient() -> None:
    x1, x2 = static.placeholder("x1"), static.placeholder("x2")
    y = (x1 * x2 + x1) / x2
    close(run([y, *static.gradients(y, [x1, x2])], {x1: 0.6, "x2": 0.2}), [3.6, 6, -15])


def test_intermediate_nodes_have_gradients() -> None:
    x2, x3 = x + 3, x + 5
    y = x2 * x3
    found = run([y, *static.gradients(y, [x, x2, x3])], {x: np.ones(3, np.float32)})
    close(found, [[24] * 3, [10] * 3, [6] * 3, [4] * 3])
    assert {f.dtype for f in found} == {np.dtype("float32")}


def test_an_expression_printed_and_differentiated() -> None:
    x1, x2, x3 = [static.placeholder(f"x{n}") for n in (1, 2, 3)]
    y = x1 + x2 * x3 * x1
    assert y.name == "(x1+((x2*x3)*x1))"
    assert repr(y) == "<Node (x1+((x2*x3)*x1))>"
    first = static.gradients(y, [x1, x2, x3])
    close(run([y, *first], {x1: 1.0, x2: 2.0, x3: 3.0}), [7, 7, 3, 2])
    close(run(static.gradients(first[0], [x2]), {x1: 1.0, x2: 2.0, x3: 3.0}), [3])


def test_gradients_of_any_order() -> None:
    y = x**4
    for expected in (32.0, 48.0, 48.0, 24.0):
        (y,) = static.gradients(y, [x])
        close(run([y], {x: 2.0}), [expected])


def test_a_model_at_any_batch_size_with_parameters_that_an_optimizer_changes() -> None:
    torch.manual_seed(0)
    layer, out = torch.nn.Linear(3, 4), torch.nn.Linear(4, 1)
    inputs = static.placeholder("inputs", (None, 3), torch.float32)
    targets = static.placeholder("targets", (None, 1), torch.float32)
    params = [*layer.parameters(), *out.parameters()]
    w1, b1, w2, b2 = [static.parameter(p) for p in params]
    hidden = static.rows.linear(inputs, w1, b1).tanh()
    loss = static.rows.mse_loss(static.rows.linear(hidden, w2, b2), targets, reduction=1)
    graph = static.gradients(loss, [w1, b1, w2, b2])
    executor = static.Executor([loss, *graph])
    optimizer = torch.optim.SGD(params, 0.1)
    for batch in (5, 1, 7):
        a, t = torch.randn(batch, 3), torch.randn(batch, 1)
        value, *gradients = executor.run({inputs: a, targets: t})
        optimizer.zero_grad()
        eager = torch.nn.functional.mse_loss(out(layer(a).tanh()), t)
        eager.backward()
        assert value.item() == eager.item()
        close(gradients, [p.grad for p in params])
        optimizer.step()
    assert not any("gradients" in str(node.op) for node in executor.order)  # all formulas ran on symbols


def test_weights_of_gradients_and_unused_ones() -> None:
    assert static.gradients(x * 2, [w], allow_unused=True) == [None]
    close(run(static.gradients([x * w, w * 3], [w], [2.0, None]), {x: np.ones(2), w: np.ones(2)}), [[5, 5]])
    with pytest.raises(
        RuntimeError, match=r"nothing that is differentiable leads from w to \(x\*2\); pass allow_unused"
    ):
        static.gradients(x * 2, [w])
    with pytest.raises(RuntimeError, match="2 ys and 1 grad_ys"):
        static.gradients([x, w], [x], [1.0])
    with pytest.raises(TypeError, match="ys must be nodes, not Tensor"):
        static.gradients(torch.ones(1), [x])


def test_gradients_of_a_row_whose_operands_are_one_node() -> None:
    close(run(static.gradients(static.rows.atan2(x, x) + x * x, [x]), {x: 0.5}), [1])


# -- constants, numbers, dtypes ----------------------------------------------------------------------------------------
def test_numbers_and_arrays_are_promoted_as_in_eager_code() -> None:
    for value in (torch.arange(3), torch.ones(3), torch.ones((), dtype=torch.float64), torch.tensor([True, False])):
        for call in (lambda v: v + 1, lambda v: v * 2.5, lambda v: 1 / v, lambda v: 3 - v, lambda v: v == 1,
                     lambda v: v / 3, lambda v: v + True, lambda v: v - True,
                     lambda v: v - 0.5, lambda v: 2.0 ** (v + 0), lambda v: v + torch.ones(1)):  # fmt: skip
            try:
                expected = call(value)
            except RuntimeError:  # bools are not subtracted
                with pytest.raises(RuntimeError):
                    run([call(x)], {x: value})
                continue
            (found,) = run([call(x)], {x: value})
            assert found.dtype == expected.dtype
            assert torch.equal(found, expected)


OVER_A_DIMENSION = {
    "sum": lambda t, dim: t.sum(dim),
    "sum, kept": lambda t, dim: t.sum((dim,), True),
    "mean": lambda t, dim: t.mean([dim]),
    "amax": lambda t, dim: t.amax(dim),
    "logsumexp": lambda t, dim: t.logsumexp(dim),
    "std": lambda t, dim: t.std(dim, correction=0),
    "softmax": lambda t, dim: t.softmax(dim),
    "cumsum": lambda t, dim: t.cumsum(dim),
    "sort": lambda t, dim: t.sort(dim)[0],
}


@pytest.mark.parametrize("dim", [0, -1])
@pytest.mark.parametrize("name", OVER_A_DIMENSION)
def test_what_turns_out_to_have_no_dimensions_has_dimension_0_and_minus_1(name: str, dim: int) -> None:
    over = OVER_A_DIMENSION[name]
    for before in (lambda t: t * t, lambda t: t.max() * t):
        y = before(over(before(x), dim))
        (g,) = static.gradients(y, [x])
        (gg,) = static.gradients(g * g, [x])
        executor = static.Executor([y, g, gg])
        for values in (1.5, [1.5, -0.5, 2.0]):
            t = torch.tensor(values, requires_grad=True)
            out = before(over(before(t), dim))
            (first,) = torch.autograd.grad(out.sum(), t, create_graph=True)
            second = (
                torch.autograd.grad((first * first).sum(), t, allow_unused=True)[0] if first.requires_grad else None
            )
            second = torch.zeros_like(t) if second is None else second
            for found, expected in zip(executor.run({x: t.detach()}), (out, first, second), strict=True):
                torch.testing.assert_close(found, expected.detach())


@pytest.mark.parametrize("name", ["sum", "mean", "nansum", "amax", "amin", "logsumexp", "aminmax", "var_mean", "std"])
def test_rows_that_reduce_do_so_too(name: str) -> None:
    more = {"correction": 0} if name in ("var_mean", "std") else {}
    for dim in ((0,), (-1,)):
        out = getattr(static.rows, name)(x, dim=dim, **more)
        y = out[0] * 2 + out[1] if isinstance(out, tuple) else out * 2
        executor = static.Executor([y, *static.gradients(y, [x])])
        assert [v.shape for v in executor.run({x: np.float32(2)})] == [(), ()]
        assert [v.shape for v in executor.run({x: np.ones((2, 3))})] == [(3,) if dim == (0,) else (2,), (2, 3)]


def test_dimensions_that_are_not_there() -> None:
    with pytest.raises(IndexError, match=r"sum\(\): axis 1 is out of bounds .* at node sum\(x, dim=\(1,\)"):
        run([x.sum(1)], {x: np.ones(3)})
    with pytest.raises(IndexError, match=r"mean\(\): axis -2 is out of bounds .* at node mean\(x, dim=\(-2,\)"):
        run([x.mean(-2)], {x: np.ones(3)})
    known = static.placeholder("known", (None, 3))
    with pytest.raises(IndexError, match=r"^sum\(\): Dimension out of range .*but got 2\); it is node known"):
        known.sum(2)
    with pytest.raises(RuntimeError, match=r"^mean\(\): dim 1 appears multiple times .*; it is node known"):
        known.mean((1, -1))
    with pytest.raises(
        TypeError, match=r"^sum\(\): argument 'dim' must be tuple of ints, but found element of type float"
    ):
        known.sum(1.0)


def test_sums_take_what_tensors_sums_take() -> None:
    close(run([x.sum(axis=0), x.mean(0, keepdims=True), x.sum(dtype=torch.float64)], {x: [1.0, 2.0]}), [3, [1.5], 3])


def test_constants_are_copies_and_parameters_are_live() -> None:
    array, tensor = np.ones(2), torch.ones(2, requires_grad=True)
    graph = [static.constant(array, "c") * x, static.parameter(tensor, "p") * x, x * array]
    executor = static.Executor(graph)
    array[:] = 5
    tensor.data[:] = 5
    close(executor.run({x: 1.0}), [[1, 1], [5, 5], [1, 1]])
    assert [str(node) for node in graph] == ["(c*x)", "(p*x)", "(x*constant(2,))"]


def test_a_parameter_keeps_its_dtype_and_a_constant_its_values() -> None:
    tensor = torch.ones(2)
    executor = static.Executor([static.parameter(tensor, "p") * x, static.rows.T(static.constant([1.0, 2.0])) + 0])
    executor.run({x: 1.0})
    tensor.data = torch.ones(2, dtype=torch.float64)
    with pytest.raises(RuntimeError, match="p was float32 when the graph was made and is float64 now"):
        executor.run({x: 1.0})
    executor = static.Executor(static.rows.view(static.constant([1.0, 2.0]), size=(2, 1)))
    executor.run()[0][0] = 5
    assert executor.run()[0].tolist() == [[1.0], [2.0]]


def test_an_executor_runs_in_threads() -> None:
    y = static.apply(torch.softmax, static.rows.gelu(x.sigmoid(), approximate="none").tanh(), -1).sum()
    executor = static.Executor([y, *static.gradients(y * y, [x])])
    fed = {x: torch.rand(50, 50)}
    expected = executor.run(fed)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: executor.run(fed), range(40)):
            assert all(map(torch.equal, found, expected))


def test_arrays_in_arrays_out_and_tensors_in_tensors_out() -> None:
    executor = static.Executor([x * 2])
    assert isinstance(executor.run({x: np.ones(2)})[0], np.ndarray)
    assert isinstance(executor.run({x: torch.ones(2)})[0], torch.Tensor)
    assert isinstance(executor.run({x: torch.ones(2)}, tensors=False)[0], np.ndarray)
    assert not executor.run({x: torch.ones(2, requires_grad=True)})[0].requires_grad


def test_results_are_not_the_fed_arrays() -> None:
    fed = np.ones(2)
    (out,) = run([x], {x: fed})
    out += 1
    assert fed.tolist() == [1, 1]


# -- functions of Tensors ----------------------------------------------------------------------------------------------
def test_apply_differentiates_any_function() -> None:
    def power(base: Any, times: int) -> Any:
        out = base
        for _ in range(times):  # Python's own loop, on values
            out = out * base if out.sum() < 100 else out
        return out

    y = static.apply(power, x, times=3)
    (g,) = static.gradients(y, [x])
    (h,) = static.gradients(g, [x])
    assert str(y) == "power(x, times=3)"
    close(run([y, g, h], {x: 2.0}), [16, 32, 48])
    close(run([y, g, h], {x: 6.0}), [216, 108, 36])


def test_apply_takes_structures_and_gives_several() -> None:
    parts = static.apply(lambda tensors, flip: tuple(tensors[::-1] if flip else tensors), [x, w], True, outputs=2)
    close(run([*parts, *static.gradients(parts[0] * 3, [w])], {x: 1.0, w: 2.0}), [2, 1, 3])
    with pytest.raises(TypeError, match=r"must give a Tensor, not 2 values; of several, say how many: outputs=2"):
        run([static.apply(lambda t: (t, t), x)], {x: 1.0})
    with pytest.raises(TypeError, match="no argument is a node"):
        static.apply(torch.exp, torch.ones(1))


def test_subscripts_and_products() -> None:
    a, b = torch.randn(3, 4), torch.randn(4, 2)
    y = (x @ w)[1:].sum()
    fed = [t.clone().requires_grad_() for t in (a, b)]
    eager = (fed[0] @ fed[1])[1:].sum()
    found = run([y, *static.gradients(y, [x, w])], {x: a, w: b})
    close(found, [eager.detach(), *torch.autograd.grad(eager, fed)])
    p, q = static.placeholder("p", (None, 4), torch.float32), static.placeholder("q", (4, 2), torch.float32)
    assert str(p @ q) == "(p@q)"
    close(
        run(static.gradients((p @ q).sum(-1), [p, q]), {p: a, q: b}), torch.autograd.grad((fed[0] @ fed[1]).sum(), fed)
    )


# -- what is said of mistakes ------------------------------------------------------------------------------------------
p = static.placeholder("p", (None, 3), torch.float32)
FEEDS: list[Any] = [
    ([x + w], {x: 1.0}, r"no value was fed for w: run\({w: ...}\)"),
    ([x + 1], {x: 1.0, w: 2.0}, "a value was fed for w, which is not needed here; the placeholders are: x"),
    ([x + 1], {x: 1.0, "y": 2.0}, "a value was fed for y, which is not needed here"),
    ([x + 1], {x: 1.0, "x": 2.0}, "x was fed twice"),
    ([x + 1], {x: w}, "x is fed with the node w: feed an array"),
    ([x + 1], {x: "one"}, "x is fed with str: invalid data type 'str': tensors hold numbers; feed an array"),
    (
        [x + 1],
        {static.placeholder("x"): 1.0},
        "a value was fed for x, which is another placeholder than the one of that name",
    ),
    ([x + w], {x: 1.0, 3: 2.0}, "a value was fed for 3, which is of class int, no node or name"),
    (
        [x + w],
        {None: 1.0},
        r"no value was fed for x, w: run\({x: ..., w: ...}\).*; a value was fed for None, which is of",
    ),
    (
        [x + w],
        {x: 1.0, static.placeholder("other"): 1.0, "y": 2.0},
        "no value was fed for w: .*; a value was fed for other, which is not needed here; a value was fed for y, which is not",
    ),
    ([x + 1], {x: 1.0, x + 1: 2.0}, r"a value was fed for \(x\+1\), which is no placeholder here"),
    (
        [x + 1],
        {x: np.ones(2, np.longdouble)},
        "x is fed with an array of .*: feed floats of 16 to 64 bits, integers or bools",
    ),
    ([x + 1], {x: np.ma.array([1.0])}, "x is fed with a masked array: feed the values"),
    ([p + 1], {p: np.ones((2, 4), np.float32)}, r"p has shape \(any, 3\), but is fed with shape \(2, 4\)"),
    ([p + 1], {p: np.ones(3, np.float32)}, r"p has shape \(any, 3\), but is fed with shape \(3,\)"),
    ([p + 1], {p: np.ones((2, 3))}, r"p has dtype float32, but is fed with float64: convert it"),
    (static.gradients(x * 2, [x]), {x: [1, 2]}, "x is fed with int64, but only floats have gradients"),
]


@pytest.mark.parametrize(("outputs", "feed", "message"), FEEDS)
def test_feeds_that_do_not_fit(outputs: Any, feed: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        run(outputs, feed)


def test_an_operation_that_fails_names_its_node() -> None:
    y = ((x + w) * 2).exp()
    message = r"size of tensor a \(3\) must match .* at node \(x\+w\); x has shape \(3,\) and dtype float64; w has"
    with pytest.raises(RuntimeError, match=message):
        run([y], {x: np.ones(3), w: np.ones(4)})
    assert run([y], {x: 0.0, w: 0.0})[0] == 1


def test_values_are_asked_of_symbols() -> None:
    with pytest.raises(TypeError, match=r"node \(x>0\) has no values before the graph runs, .* static.cond"):
        bool(x > 0)
    for ask in (len, list, float, int, lambda node: node.ndim):
        with pytest.raises(TypeError, match="placeholder x has no values before the graph runs"):
            ask(x)
    for function in (torch.exp, torch.sum, lambda node: torch.softmax(node, 0), lambda node: torch.add(node, 1)):
        with pytest.raises(TypeError, match=r"take nodes through static.apply\(function, ...\)"):
            function(x)
    with pytest.raises(TypeError, match=r"symbol shape\(x\)\[0\] has no values"):
        range(x.shape[0])


def test_what_tensors_are_asked_has_another_place() -> None:
    for ask in (lambda: x.backward(), lambda: x.grad, lambda: x.retain_grad()):
        with pytest.raises(AttributeError, match=r"before the graph runs: its gradients are nodes, static\.gradients"):
            ask()
    for ask in (lambda: x.item(), lambda: x.numpy()):
        with pytest.raises(AttributeError, match=r"before the graph runs: run static\.Executor\(node\)"):
            ask()
    for ask in (lambda: x.size(0), lambda: x.numel()):
        with pytest.raises(AttributeError, match=r"before the graph runs: its sizes are symbols, node\.shape\[0\]"):
            ask()


def test_calls_of_rows_and_functions_that_do_not_fit() -> None:
    for call, message in (
        (lambda: static.rows.softmax(x), r"softmax: parameter 'dim' is missing; it has \('dim',\)"),
        (lambda: static.rows.exp(x, w), r"exp: expected operands \('self',\) and parameters \(\), got 2 in all"),
        (lambda: static.apply(3, x), r"apply\(\): argument 'function' must be a function of Tensors, not int"),
        (lambda: static.gradients(3.0, [x]), r"gradients\(\): ys must be nodes, not float"),
        (lambda: static.gradients(x * x, 3.0), r"gradients\(\): xs must be nodes, not float"),
        (lambda: static.constant("one"), r"constant\(\): argument 'value' is str: invalid data type 'str'"),
    ):
        with pytest.raises(TypeError, match=message):
            call()


def test_what_does_not_go_together() -> None:
    with pytest.raises(RuntimeError, match="while_loop: a Tensor that requires grad is given, and no gradient"):
        static.while_loop(lambda i: i < 3, lambda i: i + 1, torch.ones((), requires_grad=True))
    with pytest.raises(RuntimeError, match=r"a Tensor that requires grad meets the symbolic node x.*static.parameter"):
        x + torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="is a Tensor that requires grad"):
        static.constant(torch.ones(2, requires_grad=True))
    with pytest.raises(TypeError, match="expected a node, a Tensor, an array or a number beside x, not str"):
        x + "one"
    with pytest.raises(RuntimeError, match="two placeholders are called 'x'"):
        static.Executor(x + static.placeholder("x"))
    with pytest.raises(TypeError, match="outputs must be a node or a list of nodes, not float in a list"):
        static.Executor([1.0])
    with pytest.raises(TypeError, match="'name' must be a string"):
        static.placeholder(3)
    with pytest.raises(TypeError, match="sizes must be integers from 0"):
        static.placeholder("x", (-1, 2))
    with pytest.raises(TypeError, match=r"must be a Tensor, not ndarray; see static\.constant"):
        static.parameter(np.ones(2))
    with pytest.raises(TypeError, match=r"sum: no parameter 'dims'; it has \('dim', 'keepdim'\)"):
        static.rows.sum(x, dims=1)
    with pytest.raises(TypeError, match="parameter 'dim' must be a constant, not the node w"):
        static.rows.sum(x, dim=w)


def test_a_cycle_is_found() -> None:
    y = x + 1
    z = y * 2
    y.inputs = (z, x)
    with pytest.raises(RuntimeError, match=r"the graph has a cycle: \(\(\.\.\.\+x\)\*2\) depends on itself"):
        static.topological_order(z)
    with pytest.raises(RuntimeError, match="the graph has a cycle"):
        static.Executor(z)


# -- running -----------------------------------------------------------------------------------------------------------
def test_each_node_runs_once_and_is_freed_after_its_last_use() -> None:
    calls: list[str] = []
    alive: list[int] = []
    made: list[Any] = []

    def noted(name: str) -> Any:
        def function(tensor: Any) -> Any:
            calls.append(name)
            alive.append(len([a for a in made if a() is not None]))
            out = tensor * 1
            made.append(weakref.ref(out._array))
            return out

        return function

    a = static.apply(noted("a"), x)
    b = static.apply(noted("b"), a * a)
    c = static.apply(noted("c"), b + 0)
    run([c], {x: np.ones(3)})
    assert calls == ["a", "b", "c"]
    assert alive == [0, 0, 0]


def test_random_rows_draw_at_every_run() -> None:
    y = static.apply(torch.nn.functional.dropout, x, 0.5)
    executor = static.Executor(y)
    torch.manual_seed(3)
    one, two = [executor.run({x: torch.ones(50)})[0] for _ in range(2)]
    torch.manual_seed(3)
    assert torch.equal(executor.run({x: torch.ones(50)})[0], one)
    assert not torch.equal(one, two)


def test_deep_graphs() -> None:
    y: Any = x
    for _ in range(20_000):
        y = y + 1.0
    executor = static.Executor([y])
    assert executor.run({x: 1.0})[0] == 20_001
    assert len(executor.order) == 20_001
    assert len(str(y)) < 200
    del executor, y
    z: Any = x
    for _ in range(5_000):
        z = z * w
    close(run(static.gradients(z, [x, w]), {x: 1.0, w: 1.0}), [1, 5_000])


def test_warnings_are_kept_and_numpy_may_raise() -> None:
    executor = static.Executor([x / w, static.rows.logit(x - 1, eps=None)])
    with np.errstate(all="raise"):
        assert np.isinf(executor.run({x: 1.0, w: 0.0})[0])
    assert np.isinf(executor.run({x: 1.0, w: 0.0})[0])


def test_importing_minitorch_does_not_import_it() -> None:
    code = "import sys, minitorch; assert 'minitorch.static' not in sys.modules; minitorch.static.placeholder('x')"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("generator", [None, torch.Generator().manual_seed(0)])
def test_gradients_of_a_function_that_draws_are_refused(generator: Any) -> None:
    def noisy(x: Any, generator: Any) -> Any:
        return x * torch.rand(3, generator=generator)

    y = static.apply(noisy, x, generator)
    (g,) = static.gradients(y, [x])
    with pytest.raises(RuntimeError, match="gradients of noisy: it draws random numbers"):
        static.Executor([y, g]).run({x: [1.0, 2.0, 3.0]})


def test_gradients_of_a_function_that_draws_no_more() -> None:
    y = static.apply(torch.nn.functional.dropout, x, 0.5, training=False)
    (g,) = static.gradients(y, [x])
    assert static.Executor(g).run({x: [1.0, 2.0]})[0].tolist() == [1.0, 1.0]


def test_other_orders_of_bytes_are_turned() -> None:
    given = np.arange(6.0, dtype=">f4").reshape(2, 3)
    for node in (x, p):
        (found,) = run([node * 2], {node: given})
        assert found.dtype == np.dtype("=f4")
        assert found.tolist() == (given * 2).tolist()


@pytest.mark.parametrize("outputs", [None, "x", {"y": x}, [x, None], [[x]], [3], torch.ones(2)])
def test_outputs_that_are_no_nodes(outputs: Any) -> None:
    with pytest.raises(TypeError, match=r"Executor\(\): outputs must be "):
        static.Executor(outputs)


def test_no_outputs_and_outputs_twice() -> None:
    assert run([], {}) == []
    twice = x * 2
    assert [v.tolist() for v in run([x + 1, twice, twice, x, x], {x: 1.0})] == [2.0, 2.0, 2.0, 1.0, 1.0]


def test_programs_are_shown() -> None:
    program = static.Executor(x + 1).program
    assert repr(program) == "<Program of 1 instructions>"
    assert "add" in str(program)


def test_memory_of_a_graph() -> None:
    y = x
    for _ in range(5):
        y = y.tanh()
    given = np.ones((100, 10), np.float32)
    plan = static.Executor(y).memory_plan({x: given})
    assert [round(size / given.nbytes) for size in plan] == [5, 2, 2, 2]
    loop = static.while_loop(lambda v: v.sum() > 0, lambda v: v.tanh() - 1, x)
    assert static.Executor(loop).memory_plan({x: given}).eager >= given.nbytes
    with pytest.raises(RuntimeError, match="no value was fed for x"):
        static.Executor(y).memory_plan()


BITS = np.array([1, 2, 5])


@pytest.mark.parametrize(
    "function",
    [
        lambda v: v << 1,
        lambda v: 1 << v,
        lambda v: v >> 1,
        lambda v: 8 >> v,
        lambda v: 3 & v,
        lambda v: 3 | v,
        lambda v: 3 ^ v,
        lambda v: BITS | v,
        lambda v: +v,
        lambda v: True & (v > 1),
    ],
)
def test_operators_of_bits_with_the_node_on_either_side(function: Any) -> None:
    (found,) = run([function(x)], {x: BITS})
    assert found.tolist() == function(torch.from_numpy(BITS)).tolist()


def test_nodes_beside_what_is_no_number() -> None:
    assert (x == None) is False  # noqa: E711
    assert (x != "x") is True
    for wrong in (lambda: x @ 2, lambda: 2 @ x, lambda: x + None, lambda: x * "a", lambda: x - 1j):
        with pytest.raises(TypeError):
            wrong()


i, j = static.placeholder("i"), static.placeholder("j")
INDICES: dict[str, Any] = {
    "a number": (lambda v, i, j: v[i], 1, 0),
    "from the end": (lambda v, i, j: v[i], -1, 0),
    "two": (lambda v, i, j: v[i, j], 2, -1),
    "the second": (lambda v, i, j: v[:, i], 1, 0),
    "the last": (lambda v, i, j: v[..., i], 1, 0),
    "among others": (lambda v, i, j: v[1:, i, None, j], 0, 2),
    "beside a number": (lambda v, i, j: v[0, i, 1:], -2, 0),
    "a slice": (lambda v, i, j: v[i:j], 1, 3),
    "slices": (lambda v, i, j: v[:i, 1:, ::j], 2, 2),
    "a list": (lambda v, i, j: v[i], [2, 0, 2], 0),
    "a mask": (lambda v, i, j: v[i], [True, False, True, True], 0),
    "a size": (lambda v, i, j: v[: v.shape[1] - 1, v.shape[0] - 3], 0, 0),
}


@pytest.mark.parametrize("name", INDICES)
def test_indices_that_are_nodes(name: str) -> None:
    function, at, to = INDICES[name]
    given = np.arange(24.0).reshape(4, 2, 3)[:, [0, 1, 0]]
    tensor = torch.from_numpy(given).requires_grad_()
    eager = function(tensor, torch.tensor(at), torch.tensor(to))
    y = function(x, i, j)
    executor = static.Executor([y, *static.gradients((y * y).sum(), [x])])
    feed = {x: given, i: np.array(at), j: np.array(to)}
    found = executor.run({node: feed[node] for node in executor.placeholders})
    close(found, [eager.detach(), *torch.autograd.grad((eager * eager).sum(), [tensor])])


def test_an_index_that_is_not_there() -> None:
    for at in (4, -5):
        with pytest.raises(IndexError, match=r"out of range .* at node getitem\(x, i\)"):
            run(x[i], {x: np.ones((4, 2)), i: at})
    with pytest.raises(IndexError, match="tensors used as indices must be"):
        run(x[i], {x: np.ones((4, 2)), i: 1.0})
