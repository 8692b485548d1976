"""Each pass, alone and with the others, changes no bit of what a program gives, writes and draws."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch as torch
from minitorch import nn, static
from minitorch._op import rows
from minitorch.static import _loops
from minitorch.static._facts import is_elementwise_ufunc
from minitorch.static._forms import PIECES

Step = tuple[str, int, int, Any]
NUMBERS = (1, 1.0, 0, 0.0, -0.0, 2.0, -1.0)

UNARY: dict[str, Callable[[Any], Any]] = {
    "exp": lambda x: x.exp(),
    "neg": lambda x: -x,
    "relu": lambda x: x.relu(),
    "tanh": lambda x: x.tanh(),
    "sigmoid": lambda x: x.sigmoid(),
    "clone": lambda x: x.clone(),
    "detach": lambda x: x.detach(),
    "t": lambda x: x.t(),
    "contiguous": lambda x: x.contiguous(),
    "view": lambda x: x.reshape(-1).view(x.shape),
    "to": lambda x: x.to(torch.float64).to(torch.float32),
    "first row": lambda x: x[0].expand(x.shape),
    "column": lambda x: x[:, 1:2] * x,
    "sum": lambda x: x.sum(0) + x,
    "softmax": lambda x: x.softmax(1),
    "power": lambda x: x**1,
    "drawn": lambda x: x + torch.rand(x.shape),
    "dropped": lambda x: torch.nn.functional.dropout(x, 0.5),
    "mask": lambda x: x * torch.ones(x.shape).tril() + torch.eye(x.shape[0]) * 2,
    "arange": lambda x: x + torch.arange(float(x.shape[0])).neg().neg(),
}
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "mm": lambda x, y: x @ y,
    "maximum": torch.maximum,
    "where": lambda x, y: torch.where(x > y, x, y),
    "row": lambda x, y: x * y[0],
    "by column": lambda x, y: x - y[:, :1].contiguous(),
}
IN_PLACE: dict[str, Callable[[Any, Any], Any]] = {
    "add_": lambda x, y: x.add_(y),
    "mul_ row": lambda x, y: x[0].mul_(y[1]),
    "copy_": lambda x, y: x.copy_(y),
    "neg_ column": lambda x, _: x[:, 1].neg_(),
}
BY_NUMBER: dict[str, Callable[[Any, Any], Any]] = {
    "add number": lambda x, n: x + n,
    "sub number": lambda x, n: x - n,
    "mul number": lambda x, n: x * n,
    "div number": lambda x, n: x / (n or 1),
}

chosen = st.one_of(
    st.tuples(st.sampled_from(sorted(UNARY)), st.integers(0, 99), st.just(0), st.just(None)),
    st.tuples(st.sampled_from(sorted(BINARY)), st.integers(0, 99), st.integers(0, 99), st.just(None)),
    st.tuples(st.sampled_from(sorted(IN_PLACE)), st.integers(0, 99), st.integers(0, 99), st.just(None)),
    st.tuples(st.sampled_from(sorted(BY_NUMBER)), st.integers(0, 99), st.just(0), st.sampled_from(NUMBERS)),
)


def program_of(steps: list[Step], returned: list[int], captured: Any) -> Callable[..., Any]:
    """A function of two tensors that does these steps, each on values that are there by then."""
    calls = [
        (UNARY.get(step[0]), BY_NUMBER.get(step[0]), BINARY.get(step[0]), IN_PLACE.get(step[0]), *step[1:])
        for step in steps
    ]

    def function(x: Any, y: Any) -> Any:
        values = [x, y, captured]
        for alone, by_number, together, in_place, first, second, number in calls:
            a, b = values[first % len(values)], values[second % len(values)]
            if alone:
                values.append(alone(a))
            elif by_number:
                values.append(by_number(a, number))
            elif together:
                values.append(together(a, b))
            elif 0 not in a.stride():
                in_place(a, b)
        return [values[n % len(values)] for n in returned]

    return function


def bits(tensors: Any) -> list[Any]:
    return [(t.dtype, tuple(t.shape), t.stride(), t.detach().numpy().tobytes()) for t in tensors]


@functools.cache
def drawn(seed: int, side: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.choice(np.array([0.0, -0.0, 1.5, -2.25, 0.5, 3e38, np.inf, 7.0], np.float32), (2, side, side))


def inputs(seed: int, side: int = 3) -> tuple[Any, Any]:
    first, second = drawn(seed, side)
    return torch.from_numpy(first.copy()), torch.from_numpy(second.copy())


def ran(function: Callable[..., Any], captured: Any, seed: int) -> list[Any]:
    """Bits of the results and of what was there before, and where results share memory."""
    captured.copy_(inputs(seed + 100, len(captured))[0])
    torch.manual_seed(seed)
    given = inputs(seed, len(captured))
    out = function(*given)
    shared = [[a.data_ptr() == b.data_ptr() for b in (*out, *given, captured)] for a in out]
    found = [*bits([*out, *given, captured]), shared]
    for tensor in out:  # what a program keeps is not to be changed by what is done with its results
        array = tensor.numpy()
        if array.flags.writeable:
            array[...] = np.nan
    return found


def agree(steps: list[Step], returned: list[int], passes: tuple[str, ...], side: int = 3) -> static.Traced:
    captured = torch.zeros(side, side)
    function = program_of(steps, returned, captured)
    wanted = [ran(function, captured, seed) for seed in (1, 2, 3)]
    captured.copy_(inputs(100, side)[0])
    program = static.trace(function, *inputs(0, side), passes=passes, quiet=True)
    assert [ran(program, captured, seed) for seed in (1, 2, 3)] == wanted
    assert [note for note in program.notes if "shares memory" not in note] == []
    return program


@pytest.fixture(scope="module", autouse=True)
def small_pieces() -> Iterator[None]:
    """Loops over pieces of 64 elements."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_loops, "PIECE", 64)
        yield


@settings(max_examples=80, deadline=None)
@given(
    st.lists(chosen, min_size=1, max_size=12),
    st.lists(st.integers(0, 99), min_size=1, max_size=3),
    st.sampled_from([*[(name,) for name in static.PASSES], ("fuse", "reuse"), static.PASSES]),
    st.sampled_from([3, 16]),
)
def test_passes_change_no_bit(steps: list[Step], returned: list[int], passes: tuple[str, ...], side: int) -> None:
    agree(steps, returned, passes, side)


NUMBER = st.integers(0, 99)
ALONE = ["exp", "neg", "relu", "tanh", "sigmoid", "power"]
TOGETHER = ["add", "sub", "mul", "maximum", "row", "by column"]
fused = st.one_of(
    st.tuples(st.sampled_from(ALONE), NUMBER, st.just(0), st.just(None)),
    st.tuples(st.sampled_from(TOGETHER), NUMBER, NUMBER, st.just(None)),
    st.tuples(st.sampled_from(sorted(BY_NUMBER)), NUMBER, st.just(0), st.sampled_from(NUMBERS)),
)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(fused, min_size=3, max_size=12),
    st.lists(st.integers(0, 99), min_size=1, max_size=3),
    st.sampled_from([("fuse",), ("fuse", "reuse"), static.PASSES]),
)
def test_loops_over_pieces_change_no_bit(steps: list[Step], returned: list[int], passes: tuple[str, ...]) -> None:
    agree(steps, returned, passes, 16)


@pytest.mark.parametrize("name", [*UNARY, *BINARY, *IN_PLACE, *BY_NUMBER])
def test_pairs(name: str) -> None:
    """Two steps after each other, twice, with a write between them."""
    steps: list[Step] = [(name, 0, 1, 1.0), ("", 3, 0, -0.0), (name, 0, 1, 1.0), ("neg_ column", 4, 0, None)]
    for again in (*UNARY, *BINARY, *IN_PLACE, *BY_NUMBER):
        agree(
            [s if s[0] else (again, *s[1:]) for s in [*steps, steps[1]]],
            [3, 4, -1],
            static.PASSES,
            3 + 13 * (again > name),
        )


def kept(function: Callable[..., Any], passes: tuple[str, ...], *examples: Any) -> list[str]:
    """The rows that are left."""
    program = static.trace(function, *(examples or inputs(0)[:1]), passes=passes)
    return [getattr(getattr(i, "row", None), "name", type(i).__name__) for i in program.variants[0].plan.instructions]


def test_constants_are_computed_once() -> None:
    parameter = torch.ones(3)

    def f(x: Any) -> Any:
        mask = (torch.ones(3, 3).tril() * 2 + torch.eye(3)).exp()
        return x * mask + parameter.exp() + torch.rand(3).exp()

    assert kept(f, ("constants",)).count("exp") == 2
    assert kept(f, ("dead code", "constants")).count("Made") == 1
    program = static.trace(f, torch.ones(3, 3), passes=("constants",))
    parameter.fill_(2.0)
    torch.manual_seed(0)
    wanted = f(torch.ones(3, 3))
    torch.manual_seed(0)
    assert torch.equal(program(torch.ones(3, 3)), wanted)


def test_what_is_computed_twice() -> None:
    assert kept(lambda x: x.exp() * x.exp() + (x + 2) * (x + 2), ("common",)) == ["exp", "mul", "add", "mul", "add"]
    assert kept(lambda x: (x + 0.0) * (x + -0.0) * (x + 1) * (x + True), ("common",)).count("add") == 3
    assert kept(lambda x: (x.exp(), x.exp()), ("common",)) == ["exp", "exp"]

    def written_between(x: Any) -> Any:
        y = x * 2
        first = y.exp()
        y.add_(1)
        return first * y.exp()

    assert kept(written_between, ("common",)).count("exp") == 2


def test_what_changes_nothing() -> None:
    def nothing(x: Any) -> Any:
        return (x.neg().neg() * 1 / 1 - 0 + -0.0).t().t().reshape(3, 3).view(9).view(3, 3).clone() ** 1 + x

    assert kept(nothing, ("dead code", "no-ops")) == ["add"]
    assert kept(lambda x: x + 0 + x, ("no-ops",)) == ["add", "add"]
    assert kept(lambda x: x - -0.0 + x, ("no-ops",)) == ["sub", "add"]
    assert kept(lambda x: x * 1, ("no-ops",)) == ["mul"]
    assert kept(lambda x: x.exp() * 1, ("no-ops",)) == ["exp"]

    def written_after(x: Any) -> Any:
        y = x * 1
        x.add_(1)
        return y * 2

    assert "mul" in kept(written_after, ("no-ops",))[0]


ROWS = {"lerp_number": 0.3, "addcmul": 0.7, "addcdiv": 0.7, "add_scaled": 1.5, "sub_scaled": 1.5, "pow_number": 3}
PARAMS = {
    "clamp": (-0.5, 0.5), "clamp_backward": (-0.5, 0.5), "clamp_min": (0.0,), "clamp_max": (0.0,), "elu": (1.5, 1.0, 1.0),
    "gelu_backward": ("none",), "hardtanh": (-1.0, 1.0), "hardtanh_backward": (-1.0, 1.0), "leaky_relu": (0.1,),
    "leaky_relu_backward": (0.1,), "mish_derivative": (1,), "softplus": (1.0, 20.0), "softsign_derivative": (1,),
}  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "name", sorted([*_loops.PIECEWISE, *[n for n, row in rows.items() if is_elementwise_ufunc(row)]])
)
def test_a_row_on_pieces(name: str, dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_loops, "PIECE", 1 << 15)
    rng, row = np.random.default_rng(0), rows[name]
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 1e-40, -1e-40, 3e38, 1, -1, 0.5])
    values = rng.normal(size=(3, 3 * 2**15 + 77)) * 2
    values = np.where(rng.random(values.shape) < 0.3, rng.choice(special, values.shape), values)
    params, call = PARAMS.get(name, (ROWS[name],) if name in ROWS else ()), row.call

    def f(*given: Any) -> Any:
        return call(*[x * 1.5 for x in given], *params)

    given = [torch.from_numpy(v.astype(dtype)) for v in values[: len(row.inputs)]]
    program = static.trace(f, *given)
    assert len(program.variants[0].plan.loops) == 1
    assert bits([program(*given)]) == bits([f(*given)])
    assert ("copyto(" in program.variants[0].source) == (name in _loops.PIECEWISE and name not in PIECES)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["weight", "exponent", "slope", "bound", "number"])
def test_rows_on_pieces_for_other_numbers(name: str, dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_loops, "PIECE", 1 << 15)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 1e-40, -1e-40, 3e38, 1, -1, 0.5])
    values = np.random.default_rng(0).choice(special, (2, 2**17 + 3))
    given = [torch.from_numpy(v.astype(dtype)) for v in values]
    calls: dict[str, Callable[[Any, Any], Any]] = {
        "weight": lambda x, y: [torch.lerp(x + 1, y, w) * 2 for w in (-0.7, 0.49, 0.5, 1.5)],
        "exponent": lambda x, y: [(x * 2) ** e * y for e in (2, 3, 0.5, -1, 1.5, 4)],
        "slope": lambda x, y: [nn.functional.leaky_relu(x * 2, s) * y for s in (0, 1.5, -0.5)],
        "bound": lambda x, y: [(x * 2).clamp(*b) * y for b in ((-1, None), (None, 0.25), (1, -1))],
        "number": lambda x, y: [(3 - x * 2) * y, (1 / (x * 2)) * y, torch.add(x * 2, y, alpha=-3) * y],
    }
    program = static.trace(calls[name], *given)
    assert len(program.variants[0].plan.loops) == 1
    assert bits(program(*given)) == bits(calls[name](*given))


def test_loops() -> None:
    row, column, matrix = torch.rand(16), torch.rand(16, 1), torch.rand(16, 16)

    def loops(f: Callable[..., Any]) -> list[int]:
        program = static.trace(f, matrix)
        found = program.variants[0].plan.loops.values()
        for x in (matrix, matrix * 3):
            assert bits([program(x)]) == bits([f(x)])
        return [len(loop.members) for loop in found]

    assert loops(lambda x: (x * 2 + row - column).exp() * x) == [5]
    assert loops(lambda x: (x * 2 + x.sum(0)).exp()) == [3]  # the sum is moved before the loop
    assert loops(lambda x: (x * 2).t() + 1) == []
    assert loops(lambda x: ((x * 2 + 1) @ x).exp() * 2) == [2, 2]
    assert loops(lambda x: (x[:2] * 2 + 1) * 3) == []
    result = static.trace(lambda x: (x * 2 + 1) * x, matrix)(matrix)
    assert result._array.__array_interface__["data"][0] % 64 == 0
    assert (result.storage_offset(), result.untyped_storage().nbytes()) == (0, 16 * 16 * 4)
    blocks, other = torch.rand(4, 4), torch.rand(4, 1, 1)
    assert loops(lambda x: (x.view(4, 4, 4, 4) * blocks + 1) * other) == [2]


def test_memory_is_used_again() -> None:
    def products(x: Any) -> Any:
        y = x @ x
        z = y @ x
        return (z @ x) @ (x + 1)

    plan = static.trace(products, torch.ones(3, 3)).variants[0].plan
    operands = [i.inputs for i in plan.instructions]
    assert [slot in operands[number] for number, slot in plan.into.items()] == [False, False]

    def gradients(x: Any) -> Any:
        y = x.tanh()
        return torch.autograd.grad(y.sigmoid().sum(), x)

    for dtype in (torch.float32, torch.float64, torch.float16):
        x = torch.linspace(-2, 2, 12).view(3, 4).to(dtype).requires_grad_()
        for compiled in (static.trace(gradients, x), static.trace(gradients, x, passes=())):
            assert bits(compiled(x)) == bits(gradients(x))


@pytest.mark.parametrize("shape", [(3, 4), (300, 4), (2, 3, 4), (4,), (0, 4)])
def test_rows_that_are_written_out(shape: tuple[int, ...]) -> None:
    layer = torch.nn.Linear(4, 4)

    def f(x: Any, y: Any) -> Any:
        loss = torch.nn.functional.mse_loss(layer(x).tanh(), y, reduction="mean" if len(shape) == 2 else "sum")
        return loss, *torch.autograd.grad(loss, [x, *layer.parameters()])

    x, y = torch.randn(shape, requires_grad=True), torch.randn(shape)
    program = static.trace(f, x, y)
    for _ in range(2):
        x, y = torch.randn(shape, requires_grad=True), torch.randn(shape)
        assert bits(program(x, y)) == bits(f(x, y))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
@pytest.mark.parametrize("shape", [(2, 3, 4), (5, 2, 3, 4), (2, 0, 4), (1, 1, 4)])
def test_products_of_more_axes(shape: tuple[int, ...], dtype: Any) -> None:
    weight = torch.randn(4, 4, dtype=dtype)

    def f(x: Any) -> Any:
        y = (x.transpose(0, 1) @ weight) @ weight @ weight.t() + torch.nn.functional.linear(x, weight).transpose(0, 1)
        return y, (y @ weight).sum((0, 1)), *torch.autograd.grad(y.sum(), x)

    x = torch.randn(shape, dtype=dtype, requires_grad=True)
    program = static.trace(f, x)
    for _ in range(2):
        x = torch.randn(shape, dtype=dtype, requires_grad=True)
        assert bits(program(x)) == bits(f(x))
    assert (".reshape(" in program.variants[0].source) == (dtype != torch.float16)
    assert program.variants[0].plan.into


def test_what_each_pass_did_is_shown() -> None:
    program = static.trace(lambda x: (x.exp() * 1 + x.exp()).t().t(), torch.ones(2, 2))
    text = program.explain_passes()
    assert text.splitlines()[0] == "as traced: 6 instructions"
    assert "no-ops: 6 -> 4 instructions" in text
    assert "common: 4 -> 3 instructions" in text
    assert "dead code: 3 -> 2 instructions" in text
    assert "into %1" in text
    with pytest.raises(ValueError, match="none called 'speed'"):
        static.trace(lambda x: x, torch.ones(1), passes=("speed",))


@pytest.mark.parametrize("function", [torch.maximum, torch.minimum])
@pytest.mark.parametrize("side", [4, 300])
def test_where_to_write_is_told_as_numpy_wants_it(function: Any, side: int) -> None:
    x, y = torch.rand(side, side), torch.rand(side, side)
    program = static.trace(lambda x, y: function(x * 2, y) + 1, x, y)
    assert "out=" in program.variants[0].source
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = program.variants[0].run([x, y], [x.numpy(), y.numpy()], [])
    assert len(found) == 1  # it is not the function itself that has to be called


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("bias", [0.5, -0.0, float("inf"), float("nan")])
def test_layers_of_few_outputs(outputs: int, bias: float) -> None:
    layer, x = torch.nn.Linear(3, outputs), torch.cat([torch.randn(5, 3), torch.full((1, 3), -0.0)])
    with torch.no_grad():
        layer.bias.fill_(bias)
        program = static.trace(layer, x)
        assert program(x).shape == (6, outputs)
        assert program(x).numpy().tobytes() == layer(x).numpy().tobytes()


def test_relu_of_float16_has_one_sign_of_zero_at_every_size() -> None:
    for size in (8, 300 * 257):
        assert torch.relu(torch.full((size,), -0.0, dtype=torch.float16)).signbit().all()
