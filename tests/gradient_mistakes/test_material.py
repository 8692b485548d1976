"""The material itself: every mistake is one, every right function is right, by PyTorch's autograd too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minitorch

from . import CORRECT, MISTAKES, Correct, Mistake, in_pytorch
from ._prove import gradients, nodes, outputs_of, proven, second_gradients

LINES = [line for path in sorted(Path(__file__).parent.glob("*.py")) for line in path.read_text().splitlines()]

each_mistake = pytest.mark.parametrize("mistake", MISTAKES, ids=lambda m: m.name)
each_correct = pytest.mark.parametrize("function", CORRECT, ids=lambda c: c.name)


def test_there_is_enough() -> None:
    assert len(MISTAKES) >= 64
    assert len({m.kind for m in MISTAKES}) >= 22
    assert sum(m.inside for m in MISTAKES) >= 20
    assert len(CORRECT) >= 200
    assert sum(c.name.endswith("_float32") for c in CORRECT) >= 60


def test_names_and_lines_are_unique() -> None:
    names = [r.name for r in (*MISTAKES, *CORRECT)]
    assert len(set(names)) == len(names)
    lines = [m.blame.line for m in MISTAKES if m.blame.line]
    assert len(set(lines)) == len(lines)


def _is_node(what: str) -> bool:
    return what.endswith(("Backward", "Backward0"))


@each_mistake
def test_blame_can_be_given(mistake: Mistake) -> None:
    """The line is there once (besides the record); the node is in the graph, or the cutting call in the line."""
    blame = mistake.blame
    if blame.what == "reference":
        assert mistake.reference is not None
        return
    for part in filter(None, (blame.line, blame.or_line)):
        code = [line for line in LINES if part in line and f'"{part}' not in line and f"'{part}" not in line]
        assert len(code) == 1, (part, code)
    fn, inputs = mistake.make()
    outputs = outputs_of(fn(*inputs))
    if _is_node(blame.what):
        if blame.order == 2:
            g = [minitorch.ones_like(y).requires_grad_() for y in outputs]
            found = minitorch.autograd.grad(outputs, inputs, g, create_graph=True)
            assert blame.what in nodes((*outputs, *found))
        else:
            assert blame.what in nodes(outputs)
    else:
        assert blame.what in ("no_grad", "input mutated") or blame.what in blame.line


@pytest.mark.parametrize("mistake", [m for m in MISTAKES if m.inside], ids=lambda m: m.name)
def test_models_have_ten_to_fifty_operations(mistake: Mistake) -> None:
    fn, inputs = mistake.make()
    operations = [n for n in nodes(outputs_of(fn(*inputs))) if "AccumulateGrad" not in n]
    assert 10 <= len(operations) <= 60


@each_mistake
def test_make_repeats(mistake: Mistake) -> None:
    (_, first), (_, second) = mistake.make(), mistake.make()
    for a, b in zip(first, second, strict=True):
        assert a.is_leaf
        assert a.requires_grad
        assert a.dtype == minitorch.float64
        np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy())


@each_mistake
def test_mistake_is_one(mistake: Mistake) -> None:
    assert proven(minitorch, mistake)


@pytest.mark.pytorch
@each_mistake
def test_mistake_is_one_in_pytorch(mistake: Mistake) -> None:
    torch = pytest.importorskip("torch")
    (twin,) = [m for m in in_pytorch().MISTAKES if m.name == mistake.name]
    assert proven(torch, twin)


def _drawn(function: Correct, seed: int) -> list[Any]:
    return function.draw(minitorch.Generator().manual_seed(seed))


def _in_pytorch(torch: Any, inputs: list[Any]) -> list[Any]:
    return [torch.from_numpy(x.detach().numpy().copy()).requires_grad_(x.requires_grad) for x in inputs]


@each_correct
def test_correct_function_runs(function: Correct) -> None:
    dtype = np.float32 if function.name.endswith("_float32") else np.float64
    inputs = _drawn(function, 1)
    values, found = gradients(minitorch, function.fn, inputs)
    assert all(a.dtype == dtype and np.isfinite(a).all() for a in (*values, *found))


def test_draws_differ_and_a_fifth_has_trouble() -> None:
    (relu,) = [c for c in CORRECT if c.name == "relu"]
    draws = [_drawn(relu, seed)[0].detach().numpy() for seed in range(100)]
    assert len({d.tobytes() for d in draws}) == 100
    assert 10 <= sum((np.abs(d) < 1e-8).any() for d in draws) <= 30


def _outputs(function: Correct, inputs: list[Any]) -> np.ndarray:
    return np.concatenate([y.detach().numpy().ravel() for y in outputs_of(function.fn(*inputs))])


def _jacobian(function: Correct, inputs: list[Any]) -> np.ndarray:
    """One row for each element of the outputs, one column for each element of the inputs that require gradients."""
    needed = [x for x in inputs if x.requires_grad]
    rows = []
    for y in outputs_of(function.fn(*inputs)):
        for one in minitorch.eye(y.numel(), dtype=y.dtype):
            found = minitorch.autograd.grad(y, needed, one.reshape(y.shape), retain_graph=True)
            rows.append(np.concatenate([f.numpy().ravel() for f in found]))
    return np.array(rows)


@pytest.mark.parametrize(
    "function", [c for c in CORRECT if c.kinks and not c.name.endswith("_float32")], ids=lambda c: c.name
)
def test_slopes_at_kinks_lie_between_those_beside(function: Correct) -> None:
    step = 1e-7
    for seed in range(4):
        inputs = _drawn(function, seed)
        slopes, here = _jacobian(function, inputs), _outputs(function, inputs)
        entries = [(x.detach().numpy(), at) for x in inputs if x.requires_grad for at in np.ndindex(*x.shape)]
        for column, (array, at) in enumerate(entries):
            beside, value = [], array[at]
            for signed in (step, -step):
                array[at] = value + signed
                beside.append((_outputs(function, inputs) - here) / signed)
                array[at] = value
            assert (slopes[:, column] >= np.minimum(*beside) - 1e-5).all()
            assert (slopes[:, column] <= np.maximum(*beside) + 1e-5).all()


def _alike(a: list[np.ndarray], b: list[np.ndarray], least: float) -> bool:
    """Whether arrays differ by less than a part of them, or by roundings of ordinary numbers."""
    pairs = list(zip(a, b, strict=True))
    assert all(x.shape == y.shape and np.isfinite(y).all() for x, y in pairs)
    return all((np.abs(x - y) <= least * np.abs(y).max(initial=0) + 32 * np.finfo(y.dtype).eps).all() for x, y in pairs)


@pytest.mark.pytorch
@each_correct
def test_correct_function_is_right_by_pytorch(function: Correct) -> None:
    torch = pytest.importorskip("torch")
    (twin,) = [c for c in in_pytorch().CORRECT if c.name == function.name]
    least = 2e-4 if function.name.endswith("_float32") else 1e-7  # PyTorch rounds some constants to float32
    for seed in range(2):
        inputs = _drawn(function, seed)
        there = _in_pytorch(torch, inputs)
        values, found = gradients(minitorch, function.fn, inputs)
        right_values, right = gradients(torch, twin.fn, there)
        assert [a.dtype for a in (*values, *found)] == [a.dtype for a in (*right_values, *right)]
        assert _alike(values, right_values, least)
        assert _alike(found, right, least)
    if function.order == 2 and least == 1e-7:
        second = second_gradients(minitorch, function.fn, inputs), second_gradients(torch, twin.fn, there)
        assert _alike(*second, 1e-6)


@pytest.mark.pytorch
@pytest.mark.parametrize(
    "function", [c for c in CORRECT if c.smooth and not c.name.endswith("_float32")], ids=lambda c: c.name
)
def test_pytorchs_gradcheck_agrees(function: Correct) -> None:
    torch = pytest.importorskip("torch")
    (twin,) = [c for c in in_pytorch().CORRECT if c.name == function.name]
    inputs = _in_pytorch(torch, _drawn(function, 0))
    fast = sum(x.numel() for x in inputs) > 50
    assert torch.autograd.gradcheck(twin.fn, inputs, rtol=1e-3, atol=1e-4, fast_mode=fast)
