"""Forward mode inside of maps, and between them: the samples of every row, against a loop without maps."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import minitorch as torch
from minitorch import vmap
from minitorch._batching._examples import Examples
from minitorch.func import grad, jacfwd, jacrev, jvp
from row_calls import SAMPLES

EXAMPLES = 2
SCALES = (1.0, 0.5)
NAMES = sorted(name for name, cases in SAMPLES.items() if any(case.order > 0 and case.inputs for case in cases))
REFUSED = {
    "same randomness with a batched tensor",
    "shape depends on the values",
    "keep to operations on Tensors",
}
"""What is said of samples that cannot be mapped: see test_samples.py."""
Function = Callable[..., Any]
Point = tuple[Any, ...]


def function_of(case: Any) -> Function:
    """A sample, to a weighted sum of each result that is of floats."""

    def function(x: Point) -> Any:
        torch.manual_seed(0)
        out = case.call(torch, *x)
        outs = [o for o in (out if isinstance(out, (tuple, list)) else (out,)) if o.is_floating_point()]
        weights = [torch.arange(1, 1 + o.numel(), dtype=o.dtype).reshape(o.shape).cos() for o in outs]
        return torch.stack([(o * w).sum() for o, w in zip(outs, weights)])

    return function


def along(f: Function, x: Point, v: Point) -> Any:
    """The derivative at a point along a direction."""
    return jvp(lambda *x: f(x), x, v)[1]


def examples_of(case: Any) -> tuple[list[Point], list[Point]]:
    """Points and directions."""
    rng = np.random.default_rng(7)
    points = [[np.asarray(a * (1 - number / 8)) for a in case.inputs] for number in range(EXAMPLES)]
    directions = [[np.asarray(rng.normal(size=a.shape)) for a in point] for point in points]
    return [tensors(p) for p in points], [tensors(d) for d in directions]


def tensors(arrays: list[np.ndarray]) -> Point:
    return tuple([torch.from_numpy(a) for a in arrays])


def stacked(points: list[Point]) -> Point:
    return tuple([torch.stack(column) for column in zip(*points)])


def nestings(f: Function, order: int, maps: bool) -> Iterator[tuple[str, Function, Function]]:
    """What is done to each example, with the maps and without."""
    scales = torch.tensor(SCALES, dtype=torch.float64)

    def scaled(v: Point, by: Any) -> Point:
        return tuple([t * by for t in v])

    yield "a direction", lambda x, v: along(f, x, v), lambda x, v: along(f, x, v)
    if not maps:
        return
    yield (
        "a direction of a map",
        lambda x, v: along(lambda x: vmap(lambda s: f(x) * s, randomness="same")(scales), x, v),
        lambda x, v: torch.stack([along(f, x, v) * s for s in SCALES]),
    )
    if order > 1:
        yield (
            "a direction of a map of directions",
            lambda x, v: along(lambda x: vmap(lambda s: along(f, x, scaled(v, s)), randomness="same")(scales), x, v),
            lambda x, v: torch.stack([along(lambda x, s=s: along(f, x, scaled(v, s)), x, v) for s in SCALES]),
        )


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize("name", NAMES)
def test_tangents_in_and_between_maps_are_those_of_the_loop(name: str) -> None:
    cases = [case for case in SAMPLES[name] if case.order > 0 and case.inputs]
    for number, case in enumerate(cases):
        points, directions = examples_of(case)
        for what, mapped, plain in nestings(function_of(case), case.order, not number):
            expected = torch.stack([plain(x, v) for x, v in zip(points, directions)])
            try:
                found = vmap(mapped, randomness="same")(stacked(points), stacked(directions))
            except RuntimeError as error:
                assert any(reason in str(error) for reason in REFUSED), error  # noqa: PT017
                continue
            np.testing.assert_allclose(found.numpy(), expected.numpy(), 1e-8, 1e-8, err_msg=what)


def multiplied(x: Any, t: Any) -> Any:
    y = x.exp()
    return y.mul_(t)


def filled(x: Any, t: Any) -> Any:
    y = torch.zeros(3, dtype=torch.float64)
    y[:2] = t[:2] * x[:2]
    y += x
    return y.sin()


def through_a_view(x: Any, t: Any) -> Any:
    y = x.exp()
    rest = y[1:]
    y.mul_(t)
    rest.mul_(x[1:])
    return y * x


@pytest.mark.parametrize("f", [multiplied, filled, through_a_view])
def test_what_a_map_makes_one_for_each_example_has_the_tangents_that_it_had(f: Any) -> None:
    x, v = torch.tensor([[0.3, -0.5, 1.2], [0.7, 0.2, -0.4]], dtype=torch.float64).unbind()
    t = torch.tensor([[1.5, 0.4, -0.9], [-0.1, 0.8, 0.6]], dtype=torch.float64)

    def one(x: Any, t: Any) -> Any:
        return jvp(lambda x: f(x, t), (x,), (t,))[1]

    for each in (f, one):
        mapped = lambda x, v, g=each: jvp(lambda x: vmap(g, (None, 0))(x, t), (x,), (v,))[1]
        plain = lambda x, v, g=each: torch.stack([jvp(lambda x: g(x, s), (x,), (v,))[1] for s in t])
        np.testing.assert_allclose(mapped(x, v).numpy(), plain(x, v).numpy(), 1e-12)
        points = torch.stack([x, v]), torch.stack([v, x])
        expected = torch.stack([plain(x, v), plain(v, x)])
        np.testing.assert_allclose(vmap(mapped)(*points).numpy(), expected.numpy(), 1e-12)


TRANSFORMS: dict[str, Function] = {
    "grad": grad,
    "jacrev": jacrev,
    "jacfwd": jacfwd,
    "jvp": lambda f: lambda x: jvp(f, (x,), (torch.ones_like(x),))[1],
    "vmap of jvp": lambda f: lambda x: vmap(lambda t: jvp(f, (x,), (t,))[1])(torch.stack([x * 0, x * 0 + 1]))[1],
}


@pytest.mark.parametrize("names", list(itertools.product(TRANSFORMS, repeat=3)), ids=" ".join)
def test_third_derivatives_mapped(names: tuple[str, ...]) -> None:
    x = torch.tensor([0.7, -0.3, 1.2], dtype=torch.float64)
    f = lambda x: x.sin() * x.exp() * x**2
    for name in names:
        f = TRANSFORMS[name](f)
    sin, cos = x.sin(), x.cos()
    expected = x.exp() * (x**2 * (2 * cos - 2 * sin) + 12 * x * cos + 6 * (sin + cos))
    np.testing.assert_allclose(vmap(f)(x).numpy(), expected.numpy(), 1e-11)


def test_writes_in_nested_maps_make_each_map_run_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    made, init = [], Examples.__init__

    def counted(self: Any, *args: Any) -> None:
        made.append(args)
        init(self, *args)

    def f(x: Any) -> Any:
        y = x * 1.0
        for _ in range(2):
            y[1:].mul_(x[:2])
        return y

    x = torch.tensor([[0.3, -0.5, 1.2], [0.7, 0.2, -0.4]], dtype=torch.float64)
    expected = torch.stack(
        [jacrev(jacrev(lambda x: torch.stack([x[0], x[1] * x[0] ** 2, x[2] * x[1] ** 2])))(p) for p in x]
    )
    monkeypatch.setattr(Examples, "__init__", counted)
    np.testing.assert_allclose(vmap(jacfwd(jacfwd(f)))(x).numpy(), expected.numpy(), 1e-12)
    assert len(made) < 60  # an outer map that runs again knows what inner ones had found


def test_a_write_that_an_outer_map_has_to_know_of_is_not_taken_for_the_inner_ones() -> None:
    def f(x: Any) -> Any:
        y = torch.zeros(2)
        return vmap(lambda t: y.copy_(x) * t)(torch.tensor([1.0, 2.0]))

    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert vmap(f)(x).tolist() == [[[1.0, 2.0], [2.0, 4.0]], [[3.0, 4.0], [6.0, 8.0]]]


WRITING: dict[str, Any] = {
    "mul_": lambda y, x: y.mul_(x),
    "add_": lambda y, x: y.add_(x),
    "sin_": lambda y, x: y.sin_(),
    "by a sum": lambda y, x: y.mul_(y.sum()),
    "a part": lambda y, x: y[1:].mul_(x[0]),
    "through a view": lambda y, x: y.view(-1)[::2].mul_(y.sum()),
    "copy_": lambda y, x: y.copy_(x * x * x),
}


@pytest.mark.parametrize("name", WRITING)
def test_tangents_of_writes_in_a_map_keep_their_history(name: str) -> None:
    """What is written over is kept for the tangents, which an outer gradient goes through."""

    def function(x: Any) -> Any:
        y = x * x
        WRITING[name](y, x)
        return y * x.cos()

    def slopes(mapped: Any) -> Any:
        x = torch.tensor([[0.3, -0.5, 0.2], [1.1, 0.4, -0.7]], dtype=torch.float64, requires_grad=True)
        direction = torch.tensor([[1.0, 2.0, -1.0], [0.5, -1.5, 1.0]], dtype=torch.float64)
        tangent = torch.func.jvp(mapped, (x,), (direction,))[1]
        return torch.autograd.grad((tangent * direction.cos()).sum(), x)[0]

    found, expected = slopes(torch.vmap(function)), slopes(lambda x: torch.stack([function(row) for row in x]))
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
