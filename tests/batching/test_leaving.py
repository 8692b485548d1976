"""Ways out of a map, and random numbers in one: what the first example has is not what all have."""

from __future__ import annotations

import copy
import io
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch as torch
from minitorch import _runtime, nn, vmap

X = torch.tensor([0.3, 1.2, 0.7], dtype=torch.float64)

WAYS: dict[str, Callable[[Any], Any]] = {
    "numerical_jacobian of a captured value": lambda x: torch.autograd.numerical_jacobian(lambda y: y * x, X),
    "torch.from_dlpack": torch.from_dlpack,
    "np.from_dlpack": lambda x: torch.tensor(np.from_dlpack(x)),
    "__dlpack__": lambda x: x.__dlpack__(),
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
    "save": lambda x: torch.save(x, io.BytesIO()),
    "deepcopy": copy.deepcopy,
    "untyped_storage": lambda x: x.untyped_storage(),
    "storage": lambda x: x.storage(),
    "data_ptr": lambda x: x.data_ptr(),
    "assert_close": lambda x: torch.testing.assert_close(x, X[0]),
    "assert_close, second": lambda x: torch.testing.assert_close(X[0], x),
    "gradcheck": lambda x: torch.autograd.gradcheck(torch.sin, _runtime.flagged(x.detach())),
    "check_gradients": lambda x: torch.testing.check_gradients(torch.sin, x),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_ways_out_are_refused(way: Callable[[Any], Any]) -> None:
    def function(x: Any) -> Any:
        way(x)
        return x

    with pytest.raises(RuntimeError, match="vmapped over"):
        vmap(function)(X)


@pytest.mark.parametrize("way", [copy.deepcopy, copy.copy, pickle.dumps], ids=["deepcopy", "copy", "pickle"])
def test_one_example_is_not_copied_as_if_it_were_all(way: Callable[[Any], Any]) -> None:
    for x in (X, X.clone().requires_grad_()):
        for function in (lambda x: (way(x), x)[1], lambda x: (way(2 * x), x)[1]):
            with pytest.raises(NotImplementedError, match=r"copy\(\) reads the memory.*vmapped over.*\.clone\(\)"):
                vmap(function)(x)


def test_what_does_not_depend_on_the_batch_may_leave() -> None:
    def function(x: Any) -> Any:
        torch.testing.assert_close(X, X.clone())
        return x * float(torch.from_dlpack(X)[0]) + copy.deepcopy(X)[0]

    assert vmap(function)(X).tolist() == (X * 0.3 + 0.3).tolist()


# -- random numbers ----------------------------------------------------------------------------------------------------
DRAWS: dict[str, Callable[[Any], Any]] = {
    "gumbel_softmax": lambda x: nn.functional.gumbel_softmax(x),
    "trunc_normal_": lambda x: x + nn.init.trunc_normal_(torch.empty(3)),
    "orthogonal_": lambda x: x + nn.init.orthogonal_(torch.empty(3, 3)),
    "sparse_": lambda x: x + nn.init.sparse_(torch.empty(3, 3), 0.3),
}


@pytest.mark.parametrize("draws", DRAWS.values(), ids=DRAWS)
def test_randomness_is_heeded(draws: Callable[[Any], Any]) -> None:
    x = torch.zeros(4, 3)
    with pytest.raises(RuntimeError, match="random operation while in randomness error mode"):
        vmap(draws)(x)
    alike = vmap(draws, randomness="same")(x)
    assert all((row == alike[0]).all() for row in alike)
    apart = vmap(draws, randomness="different")(x)
    assert all((row != apart[0]).any() for row in apart[1:])


def test_different_numbers_are_pytorchs_and_leave_the_generator_where_it_does() -> None:
    torch.manual_seed(0)
    found = vmap(lambda x: x + torch.randn(3), randomness="different")(torch.zeros(4, 3))
    after = torch.rand(2)
    torch.manual_seed(0)
    assert found.tolist() == torch.randn(4, 3).tolist()
    assert found[0, :2].tolist() == pytest.approx([1.5410, -0.2934], abs=1e-4)
    assert after.tolist() == torch.rand(2).tolist()


def test_what_is_drawn_and_not_read_is_drawn_all_the_same() -> None:
    def function(x: Any) -> Any:
        torch.rand(2)
        return x + torch.rand(1)

    torch.manual_seed(0)
    found = vmap(function, randomness="different")(torch.zeros(3, 1))
    torch.manual_seed(0)
    torch.rand(3, 2)
    assert found.tolist() == torch.rand(3, 1).tolist()


# -- numbers -----------------------------------------------------------------------------------------------------------
READS: dict[str, Callable[[Any], Any]] = {
    "f-string": lambda x: f"{x}",
    "f-string with a format": lambda x: f"{x:.1f}",
    "format": "{:.2f}".format,
    "percent": lambda x: "%.2f" % x,  # noqa: UP031
    "int": int,
    "complex": complex,
    "floor": math.floor,
    "in a list": lambda x: x in [1.0, 2.0],
    "index": [X[0], 1.0].index,
    "max": lambda x: max(x, 2 * x),
    "sorted": lambda x: sorted([x, 2 * x]),
    "a chain": lambda x: 0 < x < 1,
    "full": lambda x: torch.full((2,), x),
    "tensor of a list": lambda x: torch.tensor([x, x]),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_a_number_is_not_read_of_one_example(read: Callable[[Any], Any]) -> None:
    with pytest.raises(RuntimeError, match=r"vmap: It looks like you're (calling \.item\(\)|attempting)"):
        vmap(lambda x: (read(x), x)[1])(X)
    with pytest.raises(RuntimeError, match="vmap: It looks like"):
        vmap(lambda s: vmap(lambda x: (read(s), s * x)[1])(X))(X)
    assert vmap(lambda x: (read(X[0]), x)[1])(X).tolist() == X.tolist()


def test_a_text_says_that_it_shows_the_first_example() -> None:
    texts: list[str] = []

    def function(x: Any) -> Any:
        texts.extend([repr(x), f"{x.expand(2)}", repr(X), repr(torch.tensor(1.0))])
        return x

    vmap(function)(X)
    assert texts == [
        "tensor(0.3000, dtype=torch.float64, vmap=<first of 3 examples>)",
        "tensor([0.3000, 0.3000], dtype=torch.float64, vmap=<first of 3 examples>)",
        "tensor([0.3000, 1.2000, 0.7000], dtype=torch.float64)",
        "tensor(1.)",
    ]


Y, NUMBERS = torch.arange(6.0).reshape(3, 2), torch.tensor([1, 2, 1])
OPTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, i: torch.add(x, x, alpha=i),
    "rsub": lambda x, i: torch.rsub(x, x, alpha=i),
    "layer_norm": lambda x, i: nn.functional.layer_norm(x, (2,), eps=i),
    "huber_loss": lambda x, i: nn.functional.huber_loss(x, x, delta=i),
    "scaled_dot_product_attention": lambda x, i: nn.functional.scaled_dot_product_attention(
        *[x.reshape(1, 2, 1)] * 3, scale=i
    ),
    "sum": lambda x, i: x.sum(i),
    "zeros": lambda x, i: torch.zeros(2, i),
    "view": lambda x, i: x.view(i, -1),
    "topk": lambda x, i: x.topk(i),
    "chunk": lambda x, i: x.chunk(i)[0],
    "narrow": lambda x, i: x.narrow(0, 0, i),
    "arange": lambda x, i: torch.arange(i),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_an_option_that_is_a_number_is_one_for_all_examples(name: str) -> None:
    with pytest.raises(
        RuntimeError, match=rf"calling \.item\(\) on a Tensor: {name}\(\) takes a number .* vmapped over"
    ):
        vmap(OPTIONS[name])(Y, NUMBERS)


def test_numbers_that_are_operands_may_differ_from_example_to_example() -> None:
    lowest = torch.tensor([1.0, 2.5, 4.5])
    for function in (
        lambda x, i: x.clamp(min=i),
        lambda x, i: x.clamp(i, i + 1),
        lambda x, i: x.masked_fill(x > 2, i),
        lambda x, i: torch.lerp(x, x + 1, i),
    ):
        expected = torch.stack([function(x, i) for x, i in zip(Y, lowest)])
        assert vmap(function)(Y, lowest).tolist() == expected.tolist()


def test_one_hot_needs_the_number_of_classes() -> None:
    with pytest.raises(RuntimeError, match="explicit positive num_classes"):
        vmap(nn.functional.one_hot)(NUMBERS)
    assert vmap(lambda i: nn.functional.one_hot(i, 3))(NUMBERS).tolist() == nn.functional.one_hot(NUMBERS, 3).tolist()


@pytest.mark.parametrize(
    "way",
    [lambda x: x.numpy(), np.asarray, copy.deepcopy, copy.copy, lambda x: pickle.dumps(x)],
    ids=["numpy", "asarray", "deepcopy", "copy", "pickle"],
)
def test_a_tangent_is_not_lost_silently(way: Callable[[Any], Any]) -> None:
    with pytest.raises(RuntimeError, match=r"has a tangent in a transform of func.*detach\(\)"):
        torch.func.jvp(lambda x: (way(x), x)[1], (X,), (X,))
    kept = torch.func.jvp(lambda x: (way(x.detach()), x)[1], (X,), (X,))
    assert kept[1].tolist() == X.tolist()
    with torch.autograd.forward_ad.dual_level():  # as in PyTorch
        way(torch.autograd.forward_ad.make_dual(X, X))


@pytest.mark.parametrize(
    "way", [copy.deepcopy, copy.copy, lambda x: pickle.loads(pickle.dumps(x))], ids=["deepcopy", "copy", "pickle"]
)
def test_a_derivative_is_not_lost_in_a_copy(way: Callable[[Any], Any]) -> None:
    func, outside = torch.func, torch.ones(3, requires_grad=True)
    for transform in (func.grad, func.jacrev, lambda f: lambda x: func.vjp(f, x)[0]):
        with pytest.raises(RuntimeError, match=r"is differentiated in a transform of func.*clone\(\)"):
            transform(lambda x: way(x).sum())(X)
        with pytest.raises(RuntimeError):
            transform(lambda x: way(x * 2).sum())(X)
        transform(lambda x: (x * way(outside) * way(x.detach())).sum())(X)


def test_data_is_not_set_within_transforms() -> None:
    def function(x: Any) -> Any:
        z = torch.zeros(3, dtype=torch.float64)
        z.data = x
        return z.sum()

    with pytest.raises(RuntimeError, match=r"mutating directly with `\.data`"):
        torch.func.grad(function)(X)
    with pytest.raises(RuntimeError, match=r"mutating directly with `\.data`"):
        torch.func.jvp(function, (X,), (X,))
