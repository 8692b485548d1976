"""Every row, by its samples: derivatives of both orders, both carriers, dtypes, layouts, ownership, and PyTorch's values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import minitorch
from minitorch import _op, _runtime
from minitorch._tape import Outputs
from minitorch.autograd import Tape, grad
from minitorch.testing import check_gradients
from samples import all_samples
from samples.sample import Sample

SAMPLES = all_samples()
CASES = [
    pytest.param(name, case, id=f"{name}-{i}")
    for name, cases in sorted(SAMPLES.items())
    for i, case in enumerate(cases)
]
DIFFERENTIABLE = [p for p in CASES if p.values[1].order > 0]
OTHERS = (
    "determinism", "mutation", "linearity", "dtype", "shape", "finite", "non_contiguous", "expanded", "scalars", "broadcasting",
    "subsets", "create_graph", "cycles",
)  # fmt: skip
"""Checks besides the values: here they are made in their own way, or in the tests of laws."""


def test_every_row_has_a_sample() -> None:
    missing = sorted(set(_op.rows) - set(SAMPLES))
    assert not missing, f"rows without samples: {missing}; add them to tests/samples/<family>.py"


def test_every_sample_has_a_row() -> None:
    unknown = sorted(set(SAMPLES) - set(_op.rows))
    assert not unknown, f"samples of rows that do not exist: {unknown}"


# -- helpers -----------------------------------------------------------------------------------------------------------
def tensors(arrays: Any, requires_grad: bool = True) -> list[Any]:
    return [minitorch.from_numpy(np.array(a)).requires_grad_(requires_grad) for a in arrays]


def outputs_of(case: Sample, torch: Any, inputs: list[Any]) -> tuple[Any, ...]:
    out = case.call(torch, *inputs)
    return tuple(out) if isinstance(out, (tuple, list)) else (out,)


def floats(outputs: tuple[Any, ...]) -> list[Any]:
    return [o for o in outputs if o.requires_grad]


def vectors(outputs: list[Any], dtype: Any = np.float64) -> list[np.ndarray]:
    rng = np.random.default_rng(7)
    return [rng.normal(size=tuple(o.shape)).astype(dtype) for o in outputs]


def gradients(case: Sample, arrays: Any, create_graph: bool = False) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    inputs = tensors(arrays)
    outputs = outputs_of(case, minitorch, inputs)
    chosen = floats(outputs)
    starts = [minitorch.from_numpy(v.astype(c._array.dtype)) for c, v in zip(chosen, vectors(chosen))]
    return outputs, grad(chosen, inputs, starts, create_graph=create_graph, allow_unused=True)


def close(ours: Any, theirs: Any, tolerance: float = 1e-7) -> None:
    if ours is None or theirs is None:
        value = theirs if ours is None else ours
        assert value is None or not np.any(value.detach().numpy())
        return
    np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=tolerance, atol=tolerance)


def nodes_of(outputs: list[Any]) -> Iterator[Any]:
    return (entry.node for entry in Tape(outputs))


# -- each sample -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("name", "case"), CASES)
def test_sample_runs_its_row_and_leaves_its_inputs(name: str, case: Sample) -> None:
    inputs = tensors(case.inputs, case.order > 0)
    with Tape() as tape:
        outputs = outputs_of(case, minitorch, inputs)
        chosen = floats(outputs)
        if chosen:
            starts = [minitorch.from_numpy(v) for v in vectors(chosen)]
            first = grad(chosen, inputs, starts, create_graph=True, allow_unused=True)
            total = sum((g * g).sum() for g in first if g is not None and g.requires_grad)
            if case.order > 1 and isinstance(total, minitorch.Tensor):
                grad(total, inputs, create_graph=True, allow_unused=True)
    assert name in {entry.row.name for entry in tape if hasattr(entry.row, "params")}
    for entry in tape:
        assert all(type(o._array) is np.ndarray for o in entry.outputs), f"{entry.op} gave a NumPy scalar"
    for tensor, given in zip(inputs, case.inputs):
        np.testing.assert_array_equal(tensor.detach().numpy(), given)


@pytest.mark.parametrize(("name", "case"), DIFFERENTIABLE)
def test_gradients_against_finite_differences(name: str, case: Sample) -> None:
    inputs = tensors(case.inputs)

    def function(*args: Any) -> Any:
        return case.call(minitorch, *args)

    report = check_gradients(function, *inputs, order=min(case.order, 2), skip=OTHERS, time_limit=None)
    assert report.checks == ["values", "second_order"][: case.order]


@pytest.mark.parametrize(("name", "case"), DIFFERENTIABLE)
def test_both_carriers_agree(name: str, case: Sample) -> None:
    _, raw = gradients(case, case.inputs)
    _, traced = gradients(case, case.inputs, create_graph=True)
    for a, b in zip(raw, traced):
        close(a, b, 1e-12)


@pytest.mark.parametrize(("name", "case"), DIFFERENTIABLE)
def test_non_contiguous_inputs(name: str, case: Sample) -> None:
    outputs, plain = gradients(case, case.inputs)

    def spread(array: np.ndarray) -> np.ndarray:
        wide = np.zeros((*array.shape, 2))
        wide[..., 0] = array
        return wide[..., 0]

    inputs = [minitorch.from_numpy(spread(a)).requires_grad_() for a in case.inputs]
    again = outputs_of(case, minitorch, inputs)
    for a, b in zip(again, outputs):
        close(a, b, 1e-12)
    chosen = floats(again)
    found = grad(chosen, inputs, [minitorch.from_numpy(v) for v in vectors(chosen)], allow_unused=True)
    for a, b in zip(found, plain):
        close(a, b, 1e-12)


@pytest.mark.parametrize(("name", "case"), DIFFERENTIABLE)
def test_float32_stays_float32(name: str, case: Sample) -> None:
    arrays = [a.astype(np.float32) for a in case.inputs]
    for create_graph in (False, True):
        outputs, found = gradients(case, arrays, create_graph)
        for tensor in (*floats(outputs), *found):
            assert tensor is None or tensor.dtype is minitorch.float32
        for node in nodes_of(floats(outputs)):
            for saved in node.saved_names:
                value = getattr(node, saved, None)
                array = value if isinstance(value, np.ndarray) else getattr(value, "_array", None)
                assert not isinstance(array, np.ndarray) or array.dtype != np.float64, f"{node.name()} saved float64"


@pytest.mark.parametrize(("name", "case"), DIFFERENTIABLE)
def test_formulas_hand_out_only_what_the_engine_may_own(name: str, case: Sample) -> None:
    """A gradient is new, or the incoming one or a view of it: never saved memory, nor one new array for two inputs."""
    inputs = tensors(case.inputs)
    for node in nodes_of(floats(outputs_of(case, minitorch, inputs))):
        rng = np.random.default_rng(3)
        if node.several:
            gradient: Any = Outputs({i: rng.normal(size=s) for i, (s, d) in enumerate(node.layout) if d.kind == "f"})
            incoming = list(gradient.values())
        else:
            gradient = rng.normal(size=node.layout[0])
            incoming = [gradient]
        results = [r for r in node.backward(gradient, _runtime.raw, node.edges, True) if r is not None]
        saved = [getattr(getattr(node, s), "_array", getattr(node, s)) for s in node.saved_names]
        saved = [
            a for s in saved for a in (s if isinstance(s, tuple) else (s,)) if isinstance(a, np.ndarray) and a.size
        ]
        for i, result in enumerate(results):
            if any(result is g for g in incoming) or any(np.may_share_memory(result, g) for g in incoming):
                continue
            assert not any(np.shares_memory(result, a) for a in saved), f"{node.name()} returned what it saved"
            if isinstance(result, np.ndarray) and result.base is None:
                assert not any(result is other for other in results[i + 1 :]), f"{node.name()} returned one array twice"


def calls_an_elementwise_row_alone(name: str, case: Sample) -> bool:
    row = _op.rows.get(name)
    return bool(row and row.elementwise and len(case.inputs) == len(row.inputs) and all(a.ndim for a in case.inputs))


ELEMENTWISE = [p for p in CASES if calls_an_elementwise_row_alone(*p.values)]


@pytest.mark.parametrize(("name", "case"), ELEMENTWISE)
@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3)], ids=str)
def test_elementwise_rows_take_scalars_and_nothing(name: str, case: Sample, shape: tuple[int, ...]) -> None:
    arrays = [np.resize(a, shape) if 0 in shape else a.ravel()[0].reshape(()) for a in case.inputs]
    inputs = tensors(arrays, case.order > 0)
    (out, *_) = outputs_of(case, minitorch, inputs)
    assert type(out._array) is np.ndarray
    assert tuple(out.shape) == shape
    if out.requires_grad:
        out.sum().backward()
        for tensor in inputs:
            assert tensor.grad is None or (type(tensor.grad._array) is np.ndarray and tuple(tensor.grad.shape) == shape)


IN_TORCH = [p for p in CASES if p.values[1].in_torch]


@pytest.mark.pytorch
@pytest.mark.parametrize(("name", "case"), IN_TORCH)
def test_against_pytorch(name: str, case: Sample) -> None:
    torch = pytest.importorskip("torch")
    ours = tensors(case.inputs, case.order > 0)
    theirs = [torch.tensor(a, requires_grad=case.order > 0) for a in case.inputs]
    a, b = outputs_of(case, minitorch, ours), outputs_of(case, torch, theirs)
    assert len(a) == len(b)
    for x, y in zip(a, b):
        assert str(x.dtype) == str(y.dtype)
        assert tuple(x.shape) == tuple(y.shape)
        assert x.requires_grad == y.requires_grad
        close(x, y)
    chosen, theirs_chosen = floats(a), floats(b)
    if not chosen:
        return
    starts = vectors(chosen)
    first = grad(chosen, ours, [minitorch.tensor(v) for v in starts], create_graph=True, allow_unused=True)
    their_first = torch.autograd.grad(
        theirs_chosen, theirs, [torch.tensor(v) for v in starts], create_graph=True, allow_unused=True
    )
    pairs = [(x, y) for x, y in zip(first, their_first) if x is not None and y is not None]
    for x, y in zip(first, their_first):
        close(x, y)
    if case.order < 2:
        return
    weights = vectors([x for x, _ in pairs])
    total = sum((x * minitorch.tensor(w)).sum() for (x, _), w in zip(pairs, weights))
    their_total = sum((y * torch.tensor(w)).sum() for (_, y), w in zip(pairs, weights))
    if isinstance(total, minitorch.Tensor) and total.requires_grad and their_total.requires_grad:
        second = grad(total, ours, allow_unused=True)
        their_second = torch.autograd.grad(their_total, theirs, allow_unused=True)
        for x, y in zip(second, their_second):
            close(x, y, 1e-6)


def graph(case: Sample, torch: Any, alone: int | None) -> list[list[bool] | None]:
    """For each first gradient: which second gradients it has, where one input or each requires grad.

    Where PyTorch's gradients require grad for the company in which one function computes them, though they have no second
    gradients, that is the same as not requiring grad.
    """
    inputs = [torch.tensor(a, requires_grad=alone in (None, i)) for i, a in enumerate(case.inputs)]
    wanted = [t for t in inputs if t.requires_grad]
    chosen = [o.sum() for o in outputs_of(case, torch, inputs) if o.requires_grad]
    found: list[list[bool] | None] = []
    for gradient in torch.autograd.grad(chosen, wanted, create_graph=True, allow_unused=True) if chosen else []:
        second = [None] * len(wanted)
        if gradient is not None and gradient.requires_grad:
            second = torch.autograd.grad(gradient.sum(), wanted, retain_graph=True, allow_unused=True)
        found.append(None if gradient is None else [g is not None for g in second])
    return found


@pytest.mark.pytorch
@pytest.mark.parametrize(("name", "case"), [p for p in IN_TORCH if p.values[1].order > 1 and p.values[1].same_graph])
def test_graphs_against_pytorch(name: str, case: Sample) -> None:
    torch = pytest.importorskip("torch")
    for alone in (None, *range(len(case.inputs))) if len(case.inputs) > 1 else (None,):
        assert graph(case, minitorch, alone) == graph(case, torch, alone), f"where input {alone} requires grad"
