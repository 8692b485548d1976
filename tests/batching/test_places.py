"""What reads or writes places, under maps and derivatives within each other, gives what a loop over the examples gives.

Sources, destinations and indices differ in size, and in what they say of each example.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch
import minitorch.nn.functional as F
from minitorch import Tensor, vmap
from minitorch.func import grad, hessian, jacfwd, jacrev, jvp, vjp

EXAMPLES = 3
Function = Callable[..., Any]
Case = tuple[Function, tuple[int, ...], tuple[np.ndarray, ...]]
_draw = np.random.default_rng(7)


def reals(*shape: int) -> np.ndarray:
    return _draw.uniform(0.3, 1.3, (EXAMPLES, *shape))


def places(*shape: int, of: int = 3) -> np.ndarray:
    return _draw.integers(0, of, (EXAMPLES, *shape))


def distinct(count: int, of: int) -> np.ndarray:
    return np.stack([_draw.permutation(of)[:count] for _ in range(EXAMPLES)])


MASKS = _draw.random((EXAMPLES, 3, 2)) > 0.5
ROWS = minitorch.tensor([[True], [False], [True]])
ZEROS = np.array([[0.0, 1, 1, 1], [1, 1, 1, 1], [1, 0, 0, 1]])


def _written(x: Tensor, i: Tensor) -> Tensor:
    z = x.clone()
    z[i] = z[i] * 2
    return z


def scattered(reduce: str, include_self: bool) -> dict[str, Case]:
    """Scattered and index reductions, of the destination, of the source, of vectors, matrices and scalars."""
    about = {"include_self": include_self}
    named = f"{reduce}, {'with' if include_self else 'without'} self"
    found: dict[str, Case] = {
        f"scatter_reduce of the source, {named}": (
            lambda x, i, y: y.scatter_reduce(0, i, x, reduce, **about), (5,), (places(4), reals(3))),
        f"scatter_reduce of the destination, {named}": (
            lambda x, i, y: x.scatter_reduce(0, i, y, reduce, **about), (3,), (places(4), reals(5))),
        f"scatter_reduce of both, {named}": (
            lambda x, i: x[:3].scatter_reduce(0, i, x[3:], reduce, **about), (8,), (places(4),)),
        f"scatter_reduce of matrices, {named}": (
            lambda x, i, y: y.scatter_reduce(-1, i, x, reduce, **about), (4, 3), (places(2, 3, of=2), reals(5, 2))),
        f"scatter_reduce of scalars, {named}": (
            lambda x, i, y: y.scatter_reduce(0, i, x, reduce, **about), (), (places(of=1), reals())),
    }  # fmt: skip
    if reduce != "sum":
        found[f"index_reduce, {named}"] = (
            lambda x, i, y: y.index_reduce(0, i, x, reduce, **about), (4, 2), (places(4), reals(3, 2)))  # fmt: skip
        found[f"index_reduce by a shared index, {named}"] = (
            lambda x, y: y.index_reduce(1, minitorch.tensor([0, 2, 0, 1]), x, reduce, **about), (2, 4), (reals(2, 3),)
        )  # fmt: skip
    return found


CASES: dict[str, Case] = {
    "embedding that renormalizes": (lambda x, i: F.embedding(i, x.clone(), max_norm=0.5), (3, 2), (places(4),)),
    "a product with zeros": (
        lambda x, i, m: minitorch.ones(3, dtype=x.dtype).scatter_reduce(0, i, x * m, "prod"), (4,),
        (np.stack([[0, 0, 1, 2]] * EXAMPLES), ZEROS)),
    "gather": (lambda x, i: x.gather(-1, i), (3, 4), (places(2, 6),)),
    "take_along_dim": (lambda x, i: minitorch.take_along_dim(x, i, 1), (3, 4), (places(1, 2) - 1,)),
    "take": (lambda x, i: x.take(i), (3, 4), (places(3, of=12) - 3,)),
    "scatter": (lambda x, i, y: y.scatter(0, i, x), (2,), (distinct(2, 4), reals(4))),
    "scatter_add": (lambda x, i, y: y.scatter_add(1, i, x), (3, 5), (places(3, 4), reals(3, 3))),
    "index_select": (lambda x, i: x.index_select(1, i), (2, 3), (places(5),)),
    "index_add": (lambda x, i, y: y.index_add(0, i, x, alpha=2), (4, 2), (places(4), reals(3, 2))),
    "index_copy": (lambda x, i, y: y.index_copy(0, i, x), (2, 2), (distinct(2, 3), reals(3, 2))),
    "index_fill": (lambda x, i: x.index_fill(1, i, 2.0), (2, 3), (places(2),)),
    "index_fill of a value": (
        lambda x, i, y: y.index_fill(1, i, x), (), (np.array([[0, 0], [1, 0], [2, 2]]), reals(2, 3))),
    "index_fill at a shared index": (
        lambda x, y: y.index_fill(0, minitorch.tensor([1, 1]), x), (), (reals(2, 3),)),
    "index_put": (lambda x, i, y: y.index_put((i, i), x, accumulate=True), (4,), (places(4), reals(3, 3))),
    "a subscript": (lambda x, i, j: x[i, :, j], (3, 2, 3), (places(4), places(2, 1))),
    "writes at a subscript": (_written, (3, 2), (places(),)),
    "put": (lambda x, i, y: x.put(i, y, accumulate=True), (3, 2), (places(4, of=6), reals(4))),
    "masked_fill": (lambda x, m, y: y.masked_fill(m, x), (), (MASKS, reals(3, 2))),
    "masked_scatter": (lambda x, m, y: y.masked_scatter(m, x), (6,), (MASKS, reals(3, 2))),
    "masked_select by a shared mask": (lambda x: x.masked_select(ROWS), (3, 2), ()),
    "embedding": (lambda x, i: F.embedding(i, x, padding_idx=1), (3, 2), (places(4),)),
    "embedding_bag": (lambda x, i: F.embedding_bag(i, x, mode="max"), (3, 2), (places(2, 3),)),
    "unfold": (lambda x: F.unfold(x, 2, padding=1), (2, 3, 3), ()),
    "fold": (lambda x: F.fold(x, (3, 3), 2, padding=1, stride=2), (2, 8, 4), ()),
    "pad": (lambda x: F.pad(x, (1, 2), mode="reflect"), (2, 4), ()),
    "cumprod": (lambda x, m: (x * m).cumprod(0), (4,), (ZEROS,)),
    "cummax": (lambda x: x.cummax(0)[0], (4, 2), ()),
    "sort": (lambda x: x.sort(0, descending=True)[0], (4, 2), ()),
    "topk": (lambda x: x.topk(2, 0)[0], (4, 2), ()),
    "levels of quantile": (lambda x, y: y.quantile(x * 0.5, 0), (2,), (reals(4),)),
    "cross_entropy that ignores": (
        lambda x, t: F.cross_entropy(x, t, ignore_index=1), (3, 4),
        (np.array([[1, 1, 2], [2, 2, 2], [1, 2, 0]]),)),
    "ctc_loss": (
        lambda x, t: F.ctc_loss(x.log_softmax(-1), t, minitorch.tensor(6), minitorch.tensor(2)), (6, 4),
        (places(2) + 1,)),
}  # fmt: skip
for _reduce in ("sum", "prod", "mean", "amax", "amin"):
    for _include in (True, False):
        CASES |= scattered(_reduce, _include)

TRANSFORMS: dict[str, Callable[[Function, Function], Function]] = {
    "nothing": lambda f, loss: lambda x, v, *rest: f(x, *rest),
    "grad": lambda f, loss: lambda x, v, *rest: grad(loss)(x, *rest),
    "jvp": lambda f, loss: lambda x, v, *rest: jvp(lambda x: f(x, *rest), (x,), (v,))[1],
    "vjp": lambda f, loss: lambda x, v, *rest: vjp(lambda x: loss(x, *rest), x)[1](v.sum())[0],
    "hessian": lambda f, loss: lambda x, v, *rest: hessian(loss)(x, *rest),
    "jacrev": lambda f, loss: lambda x, v, *rest: jacrev(f)(x, *rest),
    "jacfwd": lambda f, loss: lambda x, v, *rest: jacfwd(f)(x, *rest),
    "jvp of jvp": lambda f, loss: (
        lambda x, v, *rest: jvp(lambda x: jvp(lambda x: f(x, *rest), (x,), (v,))[1], (x,), (v,))[1]
    ),
}


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("name", CASES)
def test_places_under_maps_and_derivatives(name: str, transform: str) -> None:
    function, shape, others = CASES[name]
    if transform == "hessian" and name == "a product with zeros":
        pytest.skip("a second derivative where two zeros go to one place is refused: see below")
    if name == "ctc_loss" and transform in ("hessian", "jvp of jvp"):
        pytest.skip("has one derivative")
    draw = np.random.default_rng(3)
    x, v = [minitorch.tensor(draw.uniform(0.3, 1.3, (EXAMPLES, *shape))) for _ in range(2)]
    rest = [minitorch.tensor(other) for other in others]
    called = TRANSFORMS[transform](function, lambda x, *rest: (function(x, *rest) ** 2).sum())
    expected = minitorch.stack([called(x[b], v[b], *[r[b] for r in rest]) for b in range(EXAMPLES)])

    mapped = vmap(called)(x, v, *rest)
    np.testing.assert_allclose(mapped.numpy(), expected.numpy(), 1e-9, 1e-11)
    last = vmap(called, in_dims=-1)(*[t.movedim(0, -1) for t in (x, v, *rest)])
    np.testing.assert_allclose(last.numpy(), expected.numpy(), 1e-9, 1e-11)
    twice = vmap(vmap(called))(*[minitorch.stack([t, t.flip(0)]) for t in (x, v, *rest)])
    np.testing.assert_allclose(twice[1].numpy(), expected.flip(0).numpy(), 1e-9, 1e-11)
    if rest:
        shared = vmap(called, in_dims=(None, None, *[0] * len(rest)))(x[0], v[0], *rest)
        for b in range(EXAMPLES):
            np.testing.assert_allclose(
                shared[b].numpy(), called(x[0], v[0], *[r[b] for r in rest]).numpy(), 1e-9, 1e-11
            )


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize("name", CASES)
def test_derivatives_of_maps_of_places(name: str) -> None:
    function, shape, others = CASES[name]
    draw = np.random.default_rng(3)
    x, v = [minitorch.tensor(draw.uniform(0.3, 1.3, (EXAMPLES, *shape))) for _ in range(2)]
    rest = [minitorch.tensor(other) for other in others]

    pushed = jvp(lambda x: vmap(function)(x, *rest), (x,), (v,))[1]
    gradient = grad(lambda x: (vmap(function)(x, *rest) ** 2).sum())(x)
    for b in range(EXAMPLES):
        own = [r[b] for r in rest]
        one = jvp(lambda x: function(x, *own), (x[b],), (v[b],))[1]
        np.testing.assert_allclose(pushed[b].numpy(), one.numpy(), 1e-9, 1e-11)
        one = grad(lambda x: (function(x, *own) ** 2).sum())(x[b])
        np.testing.assert_allclose(gradient[b].numpy(), one.numpy(), 1e-9, 1e-11)


def test_a_second_derivative_is_refused_where_any_example_has_several_zeros_at_one_place() -> None:
    index = minitorch.tensor([0, 0, 1])
    second = hessian(lambda x: minitorch.ones(2).scatter_reduce(0, index, x, "prod").sum())
    fine, refused = minitorch.tensor([[1.0, 0.0, 2.0]]), minitorch.tensor([[1.0, 0.0, 2.0], [0.0, 0.0, 2.0]])
    assert vmap(second)(fine).shape == (1, 3, 3)
    with pytest.raises(RuntimeError, match="Double backward is unsupported for src when >1 zeros"):
        vmap(second)(refused)
    first = vmap(grad(lambda x: minitorch.ones(2).scatter_reduce(0, index, x, "prod").sum()))(refused)
    assert first.tolist() == [[0.0, 1.0, 1.0], [0.0, 0.0, 1.0]]


@pytest.mark.filterwarnings("ignore:There is a performance drop")
def test_choices_of_other_shapes_in_some_examples_are_refused() -> None:
    bags = minitorch.tensor([[[0, 1]], [[1, 1]]])
    with pytest.raises(RuntimeError, match="stack expects each tensor to be equal size, but under vmap bags of the"):
        vmap(lambda i: F.embedding_bag(i, minitorch.ones(3, 2), padding_idx=0))(bags)


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("aten::bincount", lambda w: minitorch.bincount(minitorch.tensor([0, 1, 1]), w)),
        ("aten::histogram", lambda w: minitorch.histogram(w, 3)[0]),
        ("nll_loss_forward", lambda w: F.cross_entropy(minitorch.ones(2, 3), minitorch.tensor([1, 2]), weight=w)),
    ],
)
def test_a_tangent_of_the_batch_is_refused_where_that_of_one_example_is(name: str, function: Function) -> None:
    x = minitorch.rand(2, 3)
    with pytest.raises((RuntimeError, NotImplementedError), match=name):
        jvp(vmap(function), (x,), (x,))
    with pytest.raises((RuntimeError, NotImplementedError), match=name):
        jvp(vmap(lambda x: function((x * 2).exp())), (x,), (x,))
    assert jvp(vmap(lambda x: function(x.detach())), (x,), (x,))[1].count_nonzero() == 0
