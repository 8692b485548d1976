"""Subscripts of all kinds mixed, generated: what they get and put, and the gradients, are PyTorch's."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch


def _slice(rng: random.Random, size: int) -> slice:
    ends = [None, *range(-size - 1, size + 2)]
    return slice(rng.choice(ends), rng.choice(ends), rng.choice([None, 1, 2, 3]))


def _indices(rng: random.Random, size: int, *shapes: tuple[int, ...]) -> np.ndarray:
    shape = rng.choice(shapes) if size else (0,)
    return np.array([rng.randrange(-size, size) for _ in range(int(np.prod(shape)))], np.int64).reshape(shape)


def _mask(rng: random.Random, *sizes: int) -> np.ndarray:
    return np.array([rng.random() < 0.5 for _ in range(int(np.prod(sizes)))], bool).reshape(sizes)


def _constant(value: Any) -> Callable[[Any], Any]:
    return lambda torch: value


def _tensor(array: np.ndarray) -> Callable[[Any], Any]:
    return lambda torch: torch.tensor(array)


# How many dimensions each takes, and what makes one, of a random generator and the sizes from that dimension on: a
# function that gives what the subscript holds there, with torch or minitorch.
PARTS: dict[str, tuple[int, Callable[[random.Random, list[int]], Callable[[Any], Any]]]] = {
    "int": (1, lambda rng, n: _constant(rng.randint(-n[0] - 1, n[0]))),
    "slice": (1, lambda rng, n: _constant(_slice(rng, n[0]))),
    "all": (1, lambda rng, n: _constant(slice(None))),
    "None": (0, lambda rng, n: _constant(None)),
    "bool": (0, lambda rng, n: _constant(rng.random() < 0.7)),
    "0-d bool": (0, lambda rng, n: _tensor(np.array(rng.random() < 0.7))),
    "0-d integer": (1, lambda rng, n: _tensor(np.array(_indices(rng, n[0], (1,)).sum()))),
    "NumPy integer": (1, lambda rng, n: _constant(_indices(rng, n[0], (1,)).sum())),
    "tensor": (1, lambda rng, n: _tensor(_indices(rng, n[0], (1,), (2,), (2, 1)))),
    "int32 tensor": (1, lambda rng, n: _tensor(_indices(rng, n[0], (2,), (1, 2)).astype("i4"))),
    "array": (1, lambda rng, n: _constant(_indices(rng, n[0], (2,), (1, 2)))),
    "list": (1, lambda rng, n: _constant(_indices(rng, n[0], (2,), (0,)).tolist())),
    "range": (1, lambda rng, n: _constant(range(min(2, n[0])))),
    "mask": (1, lambda rng, n: _tensor(_mask(rng, n[0]))),
    "mask array": (1, lambda rng, n: _constant(_mask(rng, n[0]))),
    "uint8 mask": (1, lambda rng, n: _tensor(_mask(rng, n[0]).astype("u1"))),
    "2-d mask": (2, lambda rng, n: _tensor(_mask(rng, *n[:2]))),
}


def subscript(rng: random.Random, shape: tuple[int, ...]) -> Callable[[Any], Any]:
    """A random subscript for tensors of a shape."""
    parts: list[Callable[[Any], Any]] = []
    dim, spread = 0, rng.random() < 0.3
    for _ in range(rng.randrange(1, 5)):
        taken, make = PARTS[rng.choice(list(PARTS))]
        if dim + taken > len(shape):
            continue
        parts.append(make(rng, list(shape[dim:])))
        dim += taken
    if spread and dim == len(shape):
        parts.insert(rng.randrange(len(parts) + 1), lambda torch: ...)
    elif spread:
        parts.append(lambda torch: ...)
    return lambda torch: parts[0](torch) if len(parts) == 1 else tuple([part(torch) for part in parts])


def got(torch: Any, array: np.ndarray, index: Callable[[Any], Any]) -> list[Any]:
    x = torch.tensor(array, requires_grad=True)
    y = x[index(torch)]
    start = torch.tensor(np.random.default_rng(0).normal(size=tuple(y.shape)), requires_grad=True)
    (first,) = torch.autograd.grad((y * y * start).sum(), x, create_graph=True)
    second = torch.autograd.grad((first * first).sum(), [x, start], allow_unused=True)
    return [y, first, *[torch.zeros(1) if s is None else s for s in second]]


def put(torch: Any, array: np.ndarray, index: Callable[[Any], Any], value: Any) -> list[Any]:
    x = torch.tensor(array, requires_grad=True)
    values = torch.tensor(value, requires_grad=True) if isinstance(value, np.ndarray) else value
    y = x * 1
    y[index(torch)] = values
    weights = torch.tensor(np.random.default_rng(1).normal(size=array.shape))
    inputs = [t for t in (x, values) if isinstance(t, torch.Tensor)]
    first = torch.autograd.grad((y * y * weights).sum(), inputs, create_graph=True, allow_unused=True)
    found = [torch.zeros(1) if g is None else g for g in first]
    second = torch.autograd.grad(sum([(g * g).sum() for g in found]) + 0 * x.sum(), inputs, allow_unused=True)
    return [y, *found, *[torch.zeros(1) if s is None else s for s in second]]


def outcome(call: Callable[..., list[Any]], *args: Any) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return [t.detach().numpy() for t in call(*args)]
    except (IndexError, RuntimeError, ValueError, TypeError) as error:
        return error


def values(rng: random.Random, shape: tuple[int, ...]) -> list[Any]:
    """What broadcasts to a shape, and what does not."""
    draw = np.random.default_rng(2).normal
    ones = tuple([1 if rng.random() < 0.5 else n for n in shape])
    return [1.5, draw(size=shape), draw(size=()), draw(size=ones), draw(size=(1, *shape)), draw(size=(5, *shape))]


@pytest.mark.parametrize("seed", range(24))
def test_mixtures_like_pytorch(seed: int) -> None:
    torch = pytest.importorskip("torch")
    rng = random.Random(seed)
    for _ in range(6):
        shape = tuple([rng.choice([1, 2, 3, 4]) for _ in range(rng.choice([1, 2, 3, 3, 4]))])
        if rng.random() < 0.1:
            shape = (*shape[:-1], 0)
        array = np.random.default_rng(seed).normal(size=shape)
        index = subscript(rng, shape)
        theirs, ours = outcome(got, torch, array, index), outcome(got, minitorch, array, index)
        check(index, shape, ours, theirs)
        for value in [1.5] if isinstance(theirs, Exception) else values(rng, theirs[0].shape):
            if np.size(value) != 1 or "uint8" not in str(index(torch)):  # where PyTorch refuses one value
                ours, theirs = (outcome(put, t, array, index, value) for t in (minitorch, torch))
                check(index, shape, ours, theirs)


def check(index: Callable[[Any], Any], shape: tuple[int, ...], ours: Any, theirs: Any) -> None:
    message = f"{shape}[{index(minitorch)}]: {ours!r}, {theirs!r}"
    if isinstance(theirs, Exception) or isinstance(ours, Exception):
        assert type(ours) is type(theirs) or (0 in shape and isinstance(ours, IndexError)), message
        return
    for a, b in zip(ours, theirs):
        assert a.shape == b.shape, message
        np.testing.assert_allclose(a, b, atol=1e-12, err_msg=message)
