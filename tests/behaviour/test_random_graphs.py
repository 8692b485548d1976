"""Random graphs of operations, views and in-place writes: gradients against finite differences and against PyTorch."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from backend import torch as engine

STEPS = 12
MATRIX, ROW = (2, 3), (3,)


class Program:
    """A random program over 2x3 matrices and rows of three, the same for every engine that runs it.

    A careful program writes only into fresh copies, before anything has saved them, and never detaches: it has
    derivatives everywhere. Others write into whatever they have at hand: errors are part of their outcome.
    """

    def __init__(self, engine: Any, seed: int, careful: bool) -> None:
        self.engine = engine
        self.random = random.Random(seed)
        self.careful = careful
        self.matrices: list[Any] = []
        self.rows: list[Any] = []
        self.errors: list[str] = []

    def run(self, leaves: list[Any]) -> list[Any]:
        """Run all steps and return every tensor made, the leaves first."""
        self.mask = self.engine.tensor([[True, False, True], [False, False, True]])
        self.matrices, self.rows = list(leaves[:-1]), [leaves[-1]]
        for _ in range(STEPS):
            self.step()
        return self.matrices + self.rows

    def step(self) -> None:
        kind = self.random.random()
        if kind < 0.4:
            self.matrices.append(self.random.choice(MATRIX_OPS)(self, self.matrix(), self.matrix(), self.row()))
        elif kind < 0.6:
            self.rows.append(self.random.choice(ROW_OPS)(self, self.matrix(), self.row(), self.random.randrange(2)))
        else:
            self.write()

    def write(self) -> None:
        target, other, row = self.matrix(), self.matrix(), self.row().clone()
        write = self.random.choice(WRITES)
        number = self.random.randrange(2)
        if self.careful:
            target = target * 1.0
            view = target[number] if self.random.random() < 0.5 else None
            self.guarded(write, target, other.clone(), row, number)
            self.matrices.append(target)
            if view is not None:
                self.rows.append(view)
        elif not target.is_leaf or not target.requires_grad:
            self.guarded(write, target, other if other is target else other.clone(), row, number)

    def guarded(self, write: Callable[..., Any], *arguments: Any) -> None:
        try:
            write(self, *arguments)
        except RuntimeError as error:
            self.errors.append(kind_of(error))

    def matrix(self) -> Any:
        return self.random.choice(self.matrices)

    def row(self) -> Any:
        return self.random.choice(self.rows)

    def integer(self, stop: int) -> int:
        return self.random.randrange(stop)

    def detached(self, tensor: Any) -> Any:
        return tensor * 1.0 if self.careful else tensor.detach()


def kind_of(error: RuntimeError) -> str:
    """An error's class and the part of its message that callers match on."""
    return f"{type(error).__name__}: {str(error)[:60]}"


# Operations, each on (program, matrix, matrix, row), with a matrix as result.
MATRIX_OPS: list[Callable[[Program, Any, Any, Any], Any]] = [
    lambda p, a, b, r: a + b,
    lambda p, a, b, r: a * b,
    lambda p, a, b, r: a - 0.5 * b,
    lambda p, a, b, r: a * r,
    lambda p, a, b, r: r - a,
    lambda p, a, b, r: a / (b * b + 1),
    lambda p, a, b, r: a.tanh(),
    lambda p, a, b, r: a.sin() * 0.9,
    lambda p, a, b, r: a.tanh().exp(),
    lambda p, a, b, r: a.sigmoid(),
    lambda p, a, b, r: (a * a + 0.5).sqrt(),
    lambda p, a, b, r: p.engine.where(p.mask, a, b * 2),
    lambda p, a, b, r: a.softmax(1),
    lambda p, a, b, r: a.cumsum(1),
    lambda p, a, b, r: a @ (b.t() @ a) * 0.2,
    lambda p, a, b, r: a.reshape(3, 2).t().reshape(2, 3),
    lambda p, a, b, r: a.t().contiguous().view(6).view(2, 3),
    lambda p, a, b, r: a.transpose(0, 1).transpose(1, 0),
    lambda p, a, b, r: a.unsqueeze(0).squeeze(0),
    lambda p, a, b, r: a[:, [2, 0, 0]],
    lambda p, a, b, r: a.flip(1),
    lambda p, a, b, r: p.engine.cat([a[:1], b[1:]]),
    lambda p, a, b, r: p.engine.stack([r, a[1]]),
    lambda p, a, b, r: r.expand(2, 3),
    lambda p, a, b, r: r.unsqueeze(0).repeat(2, 1),
    lambda p, a, b, r: a.clone(),
    lambda p, a, b, r: p.detached(a),
    lambda p, a, b, r: a.masked_fill(p.mask, 0.25),
    lambda p, a, b, r: p.engine.linalg.vector_norm(a, dim=1, keepdim=True) + b,
]

# Operations, each on (program, matrix, row, 0 or 1), with a row as result.
ROW_OPS: list[Callable[[Program, Any, Any, int], Any]] = [
    lambda p, a, r, i: a[i],
    lambda p, a, r, i: a.select(0, i),
    lambda p, a, r, i: a.view(6)[1:4] if a.is_contiguous() else a[i],
    lambda p, a, r, i: a.t()[:, i],
    lambda p, a, r, i: a.sum(0),
    lambda p, a, r, i: a.mean(0) * r,
    lambda p, a, r, i: a[i] * r,
    lambda p, a, r, i: a[:, i + 1].sum() * r,
    lambda p, a, r, i: r.cos(),
    lambda p, a, r, i: p.engine.logsumexp(a, 0),
    lambda p, a, r, i: a.prod(0),
    lambda p, a, r, i: r.clone(),
    lambda p, a, r, i: p.detached(r),
]

# Writes, each on (program, matrix to write into, matrix, row, 0 or 1).
WRITES: list[Callable[[Program, Any, Any, Any, int], Any]] = [
    lambda p, t, a, r, i: t.add_(a),
    lambda p, t, a, r, i: t.mul_(a),
    lambda p, t, a, r, i: t.sub_(r, alpha=0.5),
    lambda p, t, a, r, i: t.sigmoid_(),
    lambda p, t, a, r, i: t.tanh_(),
    lambda p, t, a, r, i: t.neg_(),
    lambda p, t, a, r, i: t.copy_(a),
    lambda p, t, a, r, i: t.zero_(),
    lambda p, t, a, r, i: t.masked_fill_(p.mask, 0.1),
    lambda p, t, a, r, i: t.__setitem__(i, r),
    lambda p, t, a, r, i: t.__setitem__((slice(None), i), 2.0),
    lambda p, t, a, r, i: t.__setitem__(p.mask, 0.5),
    lambda p, t, a, r, i: t.__setitem__(p.mask, r),
    lambda p, t, a, r, i: t.__setitem__(slice(i, None), r),
    lambda p, t, a, r, i: t.__setitem__(p.engine.tensor([1, 0]), a.clone()),
    lambda p, t, a, r, i: t[i].mul_(r),
    lambda p, t, a, r, i: t[i, 1:].zero_(),
    lambda p, t, a, r, i: t[:, 1:].add_(a[:, :2].clone()),
    lambda p, t, a, r, i: t.t()[i].copy_(r[:2]),
    lambda p, t, a, r, i: t.view(6)[2:4].mul_(r[1:]),
    lambda p, t, a, r, i: t.diagonal().add_(r[:2]),
    lambda p, t, a, r, i: t.unsqueeze(1)[:, 0].mul_(a.clone()),
    lambda p, t, a, r, i: t.narrow(1, i, 2).tanh_(),
    lambda p, t, a, r, i: t.addcmul_(a, r),
    lambda p, t, a, r, i: t.__iadd__(r),
]


def leaf_values(seed: int) -> list[Any]:
    """Three matrices and a row, as nested lists."""
    source = random.Random(seed + 1_000_000)
    matrices = [[[source.gauss(0, 0.6) for _ in range(3)] for _ in range(2)] for _ in range(3)]
    return [*matrices, [source.gauss(0, 0.6) for _ in range(3)]]


def make_leaves(module: Any, values: list[Any]) -> list[Any]:
    return [module.tensor(v, dtype=module.float64, requires_grad=True) for v in values]


def weighted_sum(tensors: list[Any]) -> Any:
    """A scalar that depends on every entry of the tensors with another factor, bounded in each of them."""
    total = 0.0
    for number, tensor in enumerate(tensors, start=1):
        total = total + (tensor.tanh() * number).sum() + (tensor[..., 0] * 0.3).sin().sum()
    return total


def flat(values: Any) -> list[float]:
    """All numbers of nested lists in order."""
    return [number for value in values for number in flat(value)] if isinstance(values, list) else [values]


@pytest.mark.parametrize("block", range(10))
def test_gradients_agree_with_finite_differences(block: int) -> None:
    step = 1e-6
    for seed in range(block * 6, block * 6 + 6):
        values = leaf_values(seed)

        def evaluate(leaves: list[Any], seed: int = seed) -> Any:
            tensors = Program(engine, seed, careful=True).run(leaves)
            return weighted_sum(tensors[4:])

        leaves = make_leaves(engine, values)
        gradients = engine.autograd.grad(evaluate(leaves), leaves, allow_unused=True, materialize_grads=True)
        source = random.Random(seed)
        directions = [engine.tensor([source.gauss(0, 1) for _ in flat(v)], dtype=engine.float64) for v in values]
        with engine.no_grad():
            shifted = [
                evaluate([x + sign * step * d.view(x.shape) for x, d in zip(leaves, directions, strict=True)]).item()
                for sign in (1, -1)
            ]
        numeric = (shifted[0] - shifted[1]) / (2 * step)
        exact = sum((g.reshape(-1) * d).sum().item() for g, d in zip(gradients, directions, strict=True))
        assert exact == pytest.approx(numeric, rel=1e-5, abs=1e-6), f"seed {seed}"


def outcome(module: Any, seed: int, careful: bool) -> dict[str, Any]:
    """Everything a random program shows on `module`: values, flags, versions, errors, first and second gradients."""
    leaves = make_leaves(module, leaf_values(seed))
    program = Program(module, seed, careful)
    tensors = program.run(leaves)
    result: dict[str, Any] = {
        "values": [t.tolist() for t in tensors],
        "flags": [(t.requires_grad, t.is_leaf, t._version) for t in tensors],
        "errors": program.errors,
    }
    source = random.Random(seed)
    live = [t for t in tensors if t.requires_grad]
    inputs = source.sample(live, min(4, len(live)))
    loss = weighted_sum(source.sample(live, min(6, len(live))))
    try:
        first = module.autograd.grad(loss, inputs, retain_graph=True, allow_unused=True)
        result["first"] = [g if g is None else g.tolist() for g in first]
        again = module.autograd.grad(loss, inputs, create_graph=True, allow_unused=True)
        result["again"] = [g if g is None else g.tolist() for g in again]
        differentiable = [(g * g).sum() for g in again if g is not None and g.requires_grad]
        if differentiable:
            sum(differentiable).backward()
    except RuntimeError as error:
        result["refused"] = kind_of(error)
    result["second"] = [x.grad if x.grad is None else x.grad.tolist() for x in leaves]
    return result


def assert_same(ours: Any, theirs: Any, path: str) -> None:
    """Equality of nested results, with a tolerance for floats."""
    if isinstance(theirs, dict):
        assert ours.keys() == theirs.keys(), path
        for key in theirs:
            assert_same(ours[key], theirs[key], f"{path} {key}")
    elif isinstance(theirs, list | tuple):
        assert len(ours) == len(theirs), path
        for number, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            assert_same(a, b, f"{path} [{number}]")
    elif isinstance(theirs, float):
        assert ours == pytest.approx(theirs, rel=1e-7, abs=1e-9, nan_ok=True), path
    else:
        assert ours == theirs, path


@pytest.mark.parametrize("careful", [True, False])
@pytest.mark.parametrize("block", range(10))
def test_everything_agrees_with_pytorch(block: int, careful: bool) -> None:
    reference = pytest.importorskip("torch")
    for seed in range(block * 10, block * 10 + 10):
        ours, theirs = outcome(engine, seed, careful), outcome(reference, seed, careful)
        if "view size is not compatible" in theirs.get("refused", ""):  # PyTorch cannot take one of the views again
            ours = {key: ours[key] for key in ("values", "flags", "errors")}
            theirs = {key: theirs[key] for key in ours}
        assert_same(ours, theirs, f"seed {seed}")
