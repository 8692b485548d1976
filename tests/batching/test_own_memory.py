"""Writes of an example into what the function made: it runs once, and gives what a loop over the examples gives."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch as torch
from minitorch.func import grad, hessian, jacfwd, jacrev, vmap

ROWS = torch.tensor([[1.0, 2.0], [3.0, 4.0], [-1.0, 0.5]])
WEIGHT = torch.tensor([1.0, 2.0], requires_grad=True)

MAKERS: dict[str, Callable[[Any], Any]] = {
    "zeros_like": torch.zeros_like,
    "ones_like": torch.ones_like,
    "empty_like": lambda x: torch.empty_like(x).fill_(3),
    "full_like": lambda x: torch.full_like(x, 2.0),
    "rand_like": torch.rand_like,
    "new_zeros": lambda x: x.new_zeros(2),
    "new_ones": lambda x: x.new_ones(2),
    "new_full": lambda x: x.new_full((2,), 3.0),
    "new_empty": lambda x: x.new_empty(2).zero_(),
    "new_empty_strided": lambda x: x.new_empty_strided((2,), (1,)).zero_(),
    "new_tensor": lambda x: x.new_tensor([1.0, 2.0]),
    "zeros": lambda x: torch.zeros(2),
    "arange": lambda x: torch.arange(2.0),
    "computed": lambda x: torch.ones(2) * 2,
}
TRANSFORMS: dict[str, Callable[[Any], Any]] = {
    "vmap": lambda f: vmap(f, randomness="different")(ROWS),
    "vmap of vmap": lambda f: vmap(vmap(f, randomness="different"), randomness="different")(torch.stack([ROWS, ROWS])),
    "vmap of grad": lambda f: vmap(grad(lambda x: f(x).sum()), randomness="different")(ROWS),
    "vmap of jacrev": lambda f: vmap(jacrev(f), randomness="different")(ROWS),
    "vmap of jacfwd": lambda f: vmap(jacfwd(f, randomness="different"), randomness="different")(ROWS),
    "jacfwd": lambda f: jacfwd(f, randomness="different")(ROWS[0]),
    "jacrev of jacfwd": lambda f: jacrev(jacfwd(lambda x: f(x * x), randomness="different"))(ROWS[0]),
    "jacfwd of jacrev": lambda f: jacfwd(jacrev(lambda x: f(x * x)), randomness="different")(ROWS[0]),
}


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_python_state_acts_once(name: str, transform: str) -> None:
    numbers, seen, calls = iter(range(1, 9)), list[int](), [0]

    def stateful(x: Any) -> Any:
        calls[0] += 1
        seen.append(len(seen))
        z = MAKERS[name](x)
        z[0] = x[1] * next(numbers)
        return z * calls[0]

    def plain(x: Any) -> Any:
        z = MAKERS[name](x)
        return torch.stack([x[1], z[1]])

    torch.manual_seed(0)
    found = TRANSFORMS[transform](stateful)
    torch.manual_seed(0)
    torch.testing.assert_close(found, TRANSFORMS[transform](plain))
    assert (calls, seen, next(numbers)) == ([1], [0], 2)


def test_hessians_call_their_function_once() -> None:
    calls = []

    def energy(x: Any) -> Any:
        calls.append(random.random())
        z = torch.zeros_like(x)
        z[0] = x[1] * x[0]
        return (z * x).sum()

    assert hessian(energy)(torch.tensor([1.0, 2.0])).tolist() == [[4.0, 2.0], [2.0, 0.0]]
    assert len(calls) == 1


def viewed(x: Any) -> Any:
    z = torch.zeros(2, 2)
    row, turned = z[1], z.T
    z[0] = x
    row.mul_(2).add_(x)
    return z * 2 + turned, row + 0, turned + 1


def detached(x: Any) -> Any:
    z = torch.zeros(2)
    d = z.detach()
    z[0] = x[1]
    return d + 0, z


def written_detached(x: Any) -> Any:
    z = torch.zeros(2)
    z.detach()[0] = x[1]
    return z * 2


def several_views(x: Any) -> Any:
    z = torch.zeros(3, 2)
    a, b, c = z.unbind(0)
    s, t = z.split([1, 2])
    del b
    z[1] = x
    t.add_(1)
    return z, a + 0, c + 0, s * 1, t * 1


def read_before(x: Any) -> Any:
    z = torch.zeros(2)
    y = x * z
    z += 1
    w = x + z
    z.add_(x).sub_(1)
    return y, w, z


def of_itself(x: Any) -> Any:
    z = torch.arange(4.0)
    z[:2] = z[2:] * x
    z[2:].mul_(z[:2])
    return z


def base_dropped(x: Any) -> Any:
    z = torch.zeros(4)[1:][:2]
    y = z.view(2, 1)
    z.copy_(x)
    return y


def steps(x: Any) -> Any:
    h, out = torch.zeros(2), torch.zeros(3, 2)
    for i in range(3):
        h = h * 0.5 + x
        out[i] = h
    return out


def with_history(x: Any) -> Any:
    z = WEIGHT * 2
    first = z[0]
    z[1] = x[0]
    return z, first + 0


def history_later(x: Any) -> Any:
    z = torch.zeros(2)
    first = z[0]
    z.add_(WEIGHT)
    z[1] = x[0]
    return z, first * 3


def as_result(x: Any) -> Any:
    return torch.add(x.detach(), 1, out=torch.empty(2))


def copies_of_itself(x: Any) -> Any:
    z = torch.zeros(4)
    y = z.contiguous().float().to(torch.float32)
    z[:2] = x
    return z, y


def set_to(x: Any) -> Any:
    z, y = torch.zeros(2), torch.ones(2)
    y.set_(z)
    z.copy_(x)
    return y + 0


def of_bits(x: Any) -> Any:
    z = torch.zeros(2)
    bits = z.view(torch.int32)
    z.copy_(x.detach())
    return bits + 0


def by_data(x: Any) -> Any:
    z = torch.zeros(2)
    d = z.data
    z[0] = x[1]
    return d + 0


def mapped_within(x: Any) -> Any:
    z = torch.zeros(3, 2)
    first = z[0]
    found = vmap(lambda a: a.add_(x))(z)
    return z, first + 0, found


def differentiated_within(x: Any) -> Any:
    z = torch.zeros(2)
    before = grad(lambda y: (y * z).sum())(torch.ones(2))
    z[0] = x[0]
    return grad(lambda y: (y * z).sum())(x), before


@pytest.mark.parametrize(
    "function",
    [
        viewed, detached, written_detached, several_views, read_before, of_itself, base_dropped, steps, with_history,
        history_later, as_result, copies_of_itself, set_to, of_bits, by_data, mapped_within, differentiated_within,
    ],
)  # fmt: skip
def test_what_shows_the_memory_follows(function: Any) -> None:
    def results(x: Any) -> tuple[Any, ...]:
        out = function(x)
        return out if isinstance(out, tuple) else (out,)

    for found, column in zip(vmap(results)(ROWS), zip(*[results(row.clone()) for row in ROWS])):
        assert torch.equal(found, torch.stack(list(column)))
    for nested, found in zip(vmap(vmap(results))(torch.stack([ROWS, ROWS])), vmap(results)(ROWS)):
        assert torch.equal(nested, torch.stack([found, found]))


@pytest.mark.parametrize("function", [viewed, steps, with_history, history_later, base_dropped])
def test_gradients_go_through(function: Any) -> None:
    def gradients(run: Callable[[Any], Any]) -> Any:
        x = ROWS.clone().requires_grad_()
        out = run(x)
        total = sum([(o * o).sum() for o in (out if isinstance(out, tuple) else (out,))])
        return torch.autograd.grad(total, (x, WEIGHT), materialize_grads=True, allow_unused=True)

    def loop(x: Any) -> Any:
        return tuple([o for row in x.unbind(0) for o in [function(row)] for o in (o if isinstance(o, tuple) else (o,))])

    for found, expected in zip(gradients(vmap(function)), gradients(loop)):
        torch.testing.assert_close(found, expected)


def test_captured_tensors_may_be_written_beside() -> None:
    count, norm = torch.zeros(2), torch.nn.BatchNorm1d(2)

    def function(x: Any) -> Any:
        count.add_(1)
        norm.num_batches_tracked.add_(1)
        z = torch.zeros_like(x)
        z[0] = x[1]
        return z + count

    assert vmap(function)(torch.ones(3, 2)).tolist() == [[2, 1]] * 3
    assert (count.tolist(), norm.num_batches_tracked.item()) == ([1, 1], 1)


def test_memory_from_outside_is_not_the_functions() -> None:
    shared = np.zeros(2, np.float32)

    def function(x: Any) -> Any:
        one, other = torch.from_numpy(shared), torch.from_numpy(shared)
        one.copy_(x)
        return other + 0

    with pytest.raises(RuntimeError, match="what it is written into is not"):
        vmap(function)(ROWS)


def test_what_is_read_as_an_index_is_the_functions_own() -> None:
    calls = []

    def function(x: Any) -> Any:
        calls.append(1)
        i, y = torch.tensor(1), torch.arange(3.0)
        read = y[:i].sum() + y.narrow(0, i, 2).sum() + y[i]
        i.copy_(x.to(torch.int64))
        return i + read

    assert torch.vmap(function)(torch.tensor([1.0, 2.0])).tolist() == [5.0, 6.0]
    assert len(calls) == 1
