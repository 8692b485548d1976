"""What a mapped function may do: index by its own integers, write into what it makes, check, draw; all as a loop does it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

import minitorch as torch
from minitorch import distributions
from minitorch.func import grad, jvp

X = torch.arange(120.0).reshape(4, 5, 3, 2) / 60
XS = torch.arange(360.0).reshape(3, 4, 5, 3, 2) / 60
I_, J = torch.tensor([0, 2, 1]), torch.tensor([[1, 0], [0, 1], [1, 1]])
ROWS = torch.arange(12.0).reshape(4, 3) / 6 + 0.5


def loop(function: Callable[..., Any], *batches: Any) -> Any:
    return torch.stack([function(*example) for example in zip(*batches)])


def same(function: Callable[..., Any], *batches: Any) -> None:
    """The map gives what the loop gives, values and gradients."""
    leaves = [[b.clone().requires_grad_(b.is_floating_point()) for b in batches] for _ in range(2)]
    found, expected = torch.vmap(function)(*leaves[0]), loop(function, *leaves[1])
    torch.testing.assert_close(found, expected)
    if expected.requires_grad:
        weights = torch.arange(expected.numel(), dtype=expected.dtype).reshape(expected.shape).cos()
        for out in (found, expected):
            (out * weights).sum().backward()
        for one, other in zip(*leaves):
            assert (one.grad is None) == (other.grad is None)
            if one.grad is not None:
                torch.testing.assert_close(one.grad, other.grad)


# -- integers of each example ------------------------------------------------------------------------------------------
READS = [
    "x[i]",
    "x[i,1]",
    "x[:,i]",
    "x[i,:,1]",
    "x[i,i]",
    "x[i,:,i]",
    "x[...,i-1]",
    "x[i,j]",
    "x[i,:,j]",
    "x[j,:,i]",
    "x[i,None]",
    "x[None,i]",
    "x[i,1:3]",
    "x[i][i]",
    "x[-i]",
    "x[i.int()]",
    "x[0,i,1:,j]",
]


@pytest.mark.parametrize("read", READS)
def test_reading_at_an_integer_of_each_example(read: str) -> None:
    code = compile(read, read, "eval")
    same(lambda x, i, j: eval(code, {"x": x, "i": i, "j": j}), XS, I_, J)
    same(lambda i, j: eval(code, {"x": X, "i": i, "j": j}), I_, J)


WRITES = """
b[i] = 7.0; b[i] = x[0]; b[:, i] = x[:, 0] * 2; b[i, 1] = x[0, 2]; b[i, i] = x[0, 0]; b[i, :, 1] = x[0, :, 0]
b[..., i % 2] = x[..., 0] * 3; b[i, j[0]] = x[0, 1] * 3; b[i, 1:3] = x[0, :2] * 2; b[i] += 1; b[i] *= x[1]
"""


@pytest.mark.parametrize("write", [w.strip() for line in WRITES.strip().splitlines() for w in line.split(";")])
@pytest.mark.parametrize("start", ["x.clone()", "torch.zeros_like(x)", "torch.ones(4, 5, 3, 2)", "X * 2"])
def test_writing_at_an_integer_of_each_example(write: str, start: str) -> None:
    code = compile(f"b = {start}\n{write}", write, "exec")

    def function(x: Any, i: Any, j: Any) -> Any:
        names = {"torch": torch, "X": X, "x": x, "i": i, "j": j}
        exec(code, names)
        return names["b"]

    same(function, XS, I_, J)


def test_lists_of_integers_of_each_example_are_refused() -> None:
    with pytest.raises(RuntimeError, match=r"vmap: .*\.numpy\(\)"):
        torch.vmap(lambda i: X[[i, 0], 1])(I_)


COUNTS = torch.tensor([[1, 0, 2], [2, 1, 0], [0, 3, 0], [1, 1, 1]])


def test_repeats_of_each_example() -> None:
    for options in ({}, {"output_size": 3}):
        same(lambda a, n, o=options: a.repeat_interleave(n, **o) * a[0], ROWS, COUNTS)
        same(lambda a, n, o=options: torch.outer(a, a).repeat_interleave(n, dim=1, **o), ROWS, COUNTS)
        same(lambda n, o=options: ROWS.repeat_interleave(n, dim=-1, **o), COUNTS)
        same(lambda a, o=options: a.repeat_interleave(COUNTS[0], **o), ROWS)
        same(lambda n, o=options: torch.repeat_interleave(n, **o), COUNTS)
        nested = torch.vmap(torch.vmap(lambda a, n, o=options: a.repeat_interleave(n, **o)), in_dims=(None, 0))
        found = nested(ROWS, torch.stack([COUNTS, COUNTS.flip(1)]))
        expected = [loop(lambda a, n: a.repeat_interleave(n), ROWS, c) for c in (COUNTS, COUNTS.flip(1))]
        assert torch.equal(found, torch.stack(expected))
    for counts, size, message in (
        (COUNTS, 4, r"Invalid output_size, expected 3 but got 4"),
        (torch.tensor([[1, 0, 2], [2, 2, 0]]), 3, r"Invalid output_size, expected \[3, 4\] but got 3"),
        (torch.tensor([[1, 0, 2], [2, 2, 0]]), None, r"must have one size, but the repeats' sums are \[3, 4\]"),
        (torch.tensor([[1, 0, 2], [4, 0, -1]]), 3, "repeats can not be negative"),
    ):
        with pytest.raises(RuntimeError, match=message):
            torch.vmap(lambda n, s=size: ROWS.repeat_interleave(n, dim=1, output_size=s))(counts)


# -- masks and memory --------------------------------------------------------------------------------------------------
MASKS = ROWS.sin() > 0.6


def test_what_masks_of_each_example_take() -> None:
    assert len(set(MASKS.sum(1).tolist())) > 1
    same(lambda a, m, s: torch.masked_scatter(a * 2, m, s.exp()), ROWS, MASKS, ROWS.flip(0))
    same(lambda a, m: torch.masked_scatter(a[:, None], m, ROWS.exp() * a[0]), ROWS, MASKS)
    same(lambda m: torch.masked_scatter(ROWS, m, ROWS.exp()), MASKS)
    same(lambda a: torch.masked_scatter(a, MASKS, ROWS.exp()), ROWS)
    none = torch.zeros(4, 3, dtype=torch.bool)
    same(lambda a, m: torch.masked_scatter(a, m, torch.ones(0)), ROWS, none)
    double = torch.vmap(torch.vmap(torch.masked_scatter), in_dims=(0, None, 0))(
        XS[:2, :, 0], MASKS[:, :, None], XS[1:, :, 1]
    )
    expected = [loop(torch.masked_scatter, XS[k, :, 0], MASKS[:, :, None], XS[k + 1, :, 1]) for k in range(2)]
    assert torch.equal(double, torch.stack(expected))
    with pytest.raises(RuntimeError, match=r"Number of elements of source < number of ones in mask: got 1 and \["):
        torch.vmap(lambda m: torch.masked_scatter(ROWS[0], m, torch.ones(1)))(
            torch.eye(3) > torch.tensor([[0.5], [-1], [2]])
        )


def test_gradients_of_selected_elements_come_in_batches() -> None:
    for take in (lambda x: x.masked_select(MASKS), lambda x: torch.zeros(4, 3).masked_scatter(MASKS, x.sin())):
        x = ROWS.clone().requires_grad_()
        y = take(x) * x[0, 0]
        units = torch.eye(y.numel()).reshape(-1, *y.shape)
        found = torch.autograd.grad(y, x, units, is_grads_batched=True, retain_graph=True)[0]
        rows = [torch.autograd.grad(y, x, u, retain_graph=True)[0] for u in units]
        torch.testing.assert_close(found, torch.stack(rows))


def test_places_in_memory_are_those_of_each_example() -> None:
    windows = lambda a: a.as_strided((2, 2), (1, 1))
    same(windows, ROWS)
    same(lambda a: windows(a.exp()) * a[0], ROWS)
    same(lambda a: a.as_strided((2,), (1,), 1 + a.storage_offset()), ROWS)
    same(lambda a, b: torch.as_strided_scatter(a, b[:2], (2,), (2,), a.storage_offset()), ROWS, ROWS)
    same(lambda a: windows(a.clone()), ROWS.expand(4, 3))
    repeated = torch.ones(1, 3, requires_grad=True)
    found = torch.vmap(grad(lambda a: (windows(a) ** 2).sum()))(repeated.expand(4, 3))
    assert found.tolist() == [[2, 4, 2]] * 4

    def written(a: Any) -> Any:
        b = a.clone()
        windows(b)[0].mul_(a[1])
        b.as_strided((2,), (2,)).add_(1)
        return b * a

    same(written, ROWS)


def test_losses_of_alignments_take_a_batch() -> None:
    labels, lengths = torch.tensor([[1, 2], [2, 0]]), torch.tensor([2, 1])
    for reduction in ("mean", "sum", "none"):

        def loss(x: Any, reduction: str = reduction) -> Any:
            return torch.nn.functional.ctc_loss(
                x.log_softmax(2), labels, torch.tensor([4, 3]), lengths, reduction=reduction
            )

        same(loss, XS.reshape(3, 4, 2, 15)[..., :3])
        same(lambda x: loss(x[:, None].expand(4, 2, 3)), XS.reshape(3, 4, 2, 15)[:, :, 0, :3])


def test_least_squares_take_a_batch() -> None:
    A, b = XS[:, :, 0, :2, 0].sin(), XS[:, :, 0, 2:, 0].cos()
    for driver in ("gelsy", "gels", "gelsd"):
        same(lambda a, b, d=driver: torch.linalg.lstsq(a, b, driver=d).solution, A, b)
        same(lambda a, d=driver: torch.linalg.lstsq(a, b[0], driver=d).solution, A)
        found = torch.vmap(lambda a, b, d=driver: torch.linalg.lstsq(a, b, driver=d))(A, b)
        for example in range(3):
            for one, other in zip(found, torch.linalg.lstsq(A[example], b[example], driver=driver)):
                torch.testing.assert_close(one[example], other)


# -- writes into what the function made --------------------------------------------------------------------------------
def _sorted(a: Any) -> Any:
    values, _ = torch.ones(3).sort()
    first = torch.ones(2, 3)[0]
    first.add_(a)
    return values.add_(a) * first


def _written(start: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def function(a: Any) -> Any:
        b = start(a)
        b[0] = a.sum()
        b.mul_(a)
        return b

    return function


MADE: dict[str, Callable[[Any], Any]] = {
    "clone of zeros_like": _written(lambda a: torch.zeros_like(a).clone()),
    "clone of new_ones": _written(lambda a: a.new_ones(3).clone()),
    "clone of zeros": _written(lambda a: torch.zeros(3).clone()),
    "sum": _written(lambda a: torch.ones(3) + torch.eye(3)[1]),
    "cast": _written(lambda a: torch.ones_like(a, dtype=torch.float64).to(a.dtype)),
    "view of a copy": lambda a: (lambda b: (b.view(3, 1).add_(a[:, None]), b)[1])(torch.ones(3) * 2),
    "copy of what is outside": _written(lambda a: X[0, 0, :, 0].clone()),
    "two": lambda a: (lambda b, c: b.add_(a) * c.mul_(a))(torch.ones(3) * 2, torch.ones(3) * 3),
    "several results": _sorted,
}


@pytest.mark.parametrize("name", MADE)
def test_writes_into_what_the_function_computed(name: str) -> None:
    same(MADE[name], ROWS)


def _through(w: Any, a: Any) -> Any:
    """Writes into a copy of *w*, and into a copy of that."""
    b = w * 2
    b[1:].add_(a[1:])
    c = b.clone()
    c.mul_(a)
    d = (w * a) * a
    d.add_(a)
    return (b * c + d).sum()


def test_writes_keep_histories_and_tangents() -> None:
    w, t = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, -1.0, 0.5])

    def results(f: Callable[[Any], Any]) -> list[Any]:
        return [
            grad(lambda w: f(w).sum())(w),
            jvp(f, (w,), (t,))[1],
            jvp(grad(lambda w: f(w).sum()), (w,), (t,))[1],
            grad(lambda w: jvp(f, (w,), (t,))[1].sum())(w),
        ]

    found = results(lambda w: torch.vmap(lambda a: _through(w, a))(ROWS))
    torch.testing.assert_close(found, results(lambda w: loop(lambda a: _through(w, a), ROWS)))
    nested = torch.vmap(lambda w: torch.vmap(lambda a: _through(w, a))(ROWS))(ROWS)
    torch.testing.assert_close(nested, loop(lambda w: loop(lambda a: _through(w, a), ROWS), ROWS))


def test_what_is_outside_is_not_written() -> None:
    w = torch.zeros(3)
    for write in (lambda a: w.add_(a), lambda a: w.view(3).add_(a), lambda a: w.contiguous().add_(a)):
        with pytest.raises(RuntimeError, match="an inplace operation is not possible"):
            torch.vmap(write)(ROWS)
    assert w.tolist() == [0, 0, 0]


# -- distributions -----------------------------------------------------------------------------------------------------
def test_distributions_check_every_example() -> None:
    loc, scale = torch.tensor([0.0, 1.0, 2.0]), torch.tensor([1.0, 2.0, 3.0])
    same(lambda m, s: distributions.Normal(m, s).log_prob(m + 1), loc, scale)
    same(lambda p: distributions.Bernoulli(p).log_prob(torch.ones(3)), ROWS / 4)
    same(lambda p, i: distributions.Categorical(p).log_prob(i), ROWS, torch.tensor([0, 2, 1, 0]))
    same(lambda m: distributions.kl_divergence(distributions.Normal(m, 1.0), distributions.Normal(0.0, 1.0)), loc)
    covariances = torch.stack([torch.eye(2), 2 * torch.eye(2)])
    same(lambda c: distributions.MultivariateNormal(torch.zeros(2), c).log_prob(torch.ones(2)), covariances)
    with pytest.raises(
        ValueError, match=r"Expected parameter scale .* found invalid values among the examples of a map"
    ):
        torch.vmap(lambda s: distributions.Normal(0.0, s).log_prob(s))(torch.tensor([1.0, -1.0]))
    with pytest.raises(ValueError, match=r"Expected value argument .* within the support"):
        torch.vmap(lambda v: distributions.Exponential(1.0).log_prob(v))(torch.tensor([1.0, -1.0]))


# -- numbers and counts ------------------------------------------------------------------------------------------------
@pytest.mark.filterwarnings("ignore:There is a performance drop")
def test_numbers_between_ends_of_each_example() -> None:
    low, high = torch.tensor([0.0, 1.0, 2.0]), torch.tensor([5, 4, 9])
    same(lambda a, b: torch.linspace(a, b, 4), low.detach(), high)
    same(lambda b: torch.linspace(0, b, 4, dtype=torch.float64), high)
    same(lambda b: torch.logspace(0.5, b, 3), high)


@pytest.mark.filterwarnings("ignore:There is a performance drop")
def test_counts_of_each_example() -> None:
    indices = torch.tensor([[0, 2, 1], [3, 0, 0]])
    same(lambda i: torch.bincount(i, minlength=5), indices)
    same(lambda i: torch.bincount(i, ROWS[0].detach(), minlength=5), indices)
    with pytest.raises(RuntimeError, match="stack expects each tensor to be equal size"):
        torch.vmap(torch.bincount)(indices)


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags_of_each_example(mode: str) -> None:
    def bags(indices: Any, table: Any) -> Any:
        return torch.nn.functional.embedding_bag(indices, table, torch.tensor([0, 2]), mode=mode)

    same(bags, torch.tensor([[0, 2, 1], [3, 0, 0]]), torch.stack([ROWS, ROWS.cos()]))
    offsets = torch.tensor([[0, 1], [0, 2]])
    same(lambda o: torch.nn.functional.embedding_bag(torch.tensor([0, 3, 1]), ROWS, o, mode=mode), offsets)


# -- random numbers ----------------------------------------------------------------------------------------------------
DRAWS: dict[str, Callable[[Any, Any, Any, int], Any]] = {
    "randn": lambda t, a, g, k: t.randn(k, generator=g),
    "rand": lambda t, a, g, k: t.rand(k, generator=g),
    "randint": lambda t, a, g, k: t.randint(0, 100, (k,), generator=g),
    "randperm": lambda t, a, g, k: t.randperm(k, generator=g),
    "normal of numbers": lambda t, a, g, k: t.normal(0.0, 1.0, (k,), generator=g),
    "normal": lambda t, a, g, k: t.normal(a[:1].expand(k), 1.0, generator=g),
    "normal_": lambda t, a, g, k: a[:1].repeat(k).normal_(generator=g),
    "uniform_": lambda t, a, g, k: a[:1].repeat(k).uniform_(generator=g),
    "exponential_": lambda t, a, g, k: a[:1].repeat(k).exponential_(generator=g),
    "bernoulli": lambda t, a, g, k: t.bernoulli(a[:1].repeat(k) * 0 + 0.5, generator=g),
    "bernoulli of what is shared": lambda t, a, g, k: t.bernoulli(t.full((k,), 0.5), generator=g),
    "multinomial": lambda t, a, g, k: t.multinomial(a[:1].repeat(k), k, generator=g),
    "two": lambda t, a, g, k: t.randn(k, generator=g) - t.randn(k, generator=g),
    "randn_like": lambda t, a, g, k: t.randn_like(a[:1].repeat(k)),
    "dropout": lambda t, a, g, k: t.nn.functional.dropout(a[:1].repeat(k)),
}


def drawn(library: Any, name: str, size: int, own: bool) -> list[Any]:
    library.manual_seed(0)
    generator = library.Generator().manual_seed(5) if own else None
    rows = library.ones(3, 2)
    found = library.vmap(lambda a: DRAWS[name](library, a, generator, size), randomness="different")(rows)
    after = library.rand(1), library.rand(1, generator=generator)
    return [found.tolist(), *[t.item() for t in after]]


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("size", [3, 16, 20])
@pytest.mark.parametrize("name", DRAWS)
def test_different_numbers_for_each_example_as_in_pytorch(name: str, size: int, own: bool) -> None:
    ours = drawn(torch, name, size, own)
    if size > 3:
        assert len({str(row) for row in ours[0]}) == 3
    pytorch = pytest.importorskip("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = drawn(pytorch, name, size, own)
    assert ours[1:] == theirs[1:]
    for one, other in zip(ours[0], theirs[0]):
        assert one == pytest.approx(other, 1e-6, 1e-6)


def test_draws_are_the_same_where_the_function_runs_again() -> None:
    weight, calls = torch.ones(2, requires_grad=True), list[Any]()

    def function(a: Any, generator: Any) -> Any:
        calls.append(a)
        return (weight * 0).add_(a) + torch.rand(1, generator=generator)

    for own in (False, True):
        torch.manual_seed(0)
        generator = torch.Generator().manual_seed(0) if own else None
        found = torch.vmap(lambda a, g=generator: function(a, g), randomness="different")(torch.zeros(4, 2))
        assert found[:, 0].tolist() == torch.rand(4, generator=torch.Generator().manual_seed(0)).tolist()
    assert len(calls) == 4


# -- arguments ---------------------------------------------------------------------------------------------------------
def test_dimensions_are_no_bools() -> None:
    for dims in (True, False, (True,), ({"x": False},)):
        argument = {"x": ROWS} if isinstance(dims, tuple) and isinstance(dims[0], dict) else ROWS
        with pytest.raises(TypeError, match="in_dim must be int, not bool"):
            torch.vmap(lambda x: x, in_dims=dims)(argument)


def test_batches_of_gradients_must_be_there_and_alike() -> None:
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        torch.autograd.grad(y, x, is_grads_batched=True)
    with pytest.raises(ValueError, match="there are none: pass them"):
        torch.autograd.grad(y.sum(), x, is_grads_batched=True)
    with pytest.raises(ValueError, match=r"same size in the mapped dimension, got sizes \[3, 2\]"):
        torch.autograd.grad((y, y), x, (torch.eye(3), torch.eye(3)[:2]), is_grads_batched=True)


def test_a_tape_between_two_maps_has_what_depends_on_the_outer_one() -> None:
    def mapped(x: Any) -> Any:
        with torch.autograd.Tape() as tape:
            out = torch.vmap(lambda z: x.exp() * z)(torch.ones(3))
        assert [entry.op for entry in tape] == ["exp", "mul"]
        return out

    assert torch.vmap(mapped)(torch.zeros(2)).tolist() == [[1, 1, 1]] * 2
