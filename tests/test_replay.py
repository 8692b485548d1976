"""Whatever is computed of values is written down: a trace run again on other values gives what eager gives, bit for bit."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import minitorch as torch
from minitorch import _op
from minitorch._choices import choices
from minitorch._trace import Trace
from replays import CHOICES, DRAWS, LAYERS, LOSSES, UNFIT, Case
from samples import all_samples
from samples.sample import Sample

SAMPLES = [
    pytest.param(case, id=f"{name}-{i}")
    for name, cases in sorted(all_samples().items())
    for i, case in enumerate(cases)
]
FUNCTIONS = [
    pytest.param(case, id=name) for family in (CHOICES, LOSSES, LAYERS, DRAWS) for name, case in family.items()
]
SHAPES_BY_VALUES = {
    "bags": "with a padding index, or offsets, as many rows as there are indices that count",
    "bincount": "as long as the largest number asks for",
    "nonzero": "as many rows as there are elements that are not zero",
    "repeats": "as long as the sum of the counts",
    "states": "as long as the longest target",
    "the coordinates of what is not zero": "as nonzero",
    "one_hot without num_classes": "as many columns as the largest number asks for",
    "unique": "as many as there are different values",
    "unique_consecutive": "as many as there are runs",
}
"""The choices whose results have shapes that depend on values, and how: who runs a trace on other values must look at them."""


def leaves(out: Any) -> list[Any]:
    if isinstance(out, torch.Tensor):
        return [out]
    return [leaf for part in out for leaf in leaves(part)] if isinstance(out, (tuple, list)) else []


def shuffled(array: np.ndarray, rng: Any) -> np.ndarray:
    return rng.permutation(array.reshape(-1)).reshape(array.shape)


def varied(array: np.ndarray, rng: Any) -> np.ndarray:
    """Other values of the same signs."""
    scaled = array * rng.uniform(0.7, 1.3, size=array.shape)
    return scaled.astype(array.dtype) if array.dtype.kind == "f" else array.copy()


def tensors(arrays: Any, floats: int) -> list[Any]:
    """Tensors, of which the first so many that are of floats require grad."""
    found = [torch.from_numpy(np.array(a)) for a in arrays]
    for tensor in [t for t in found if t.dtype.is_floating_point][:floats]:
        tensor.requires_grad_()
    return found


def values(call: Any, inputs: list[Any], gradients: bool) -> list[Any]:
    """The outputs of a call, and the gradients of their sum."""
    outputs = leaves(call(*inputs))
    chosen, wanted = [o for o in outputs if o.requires_grad], [i for i in inputs if i.requires_grad]
    if not gradients or not chosen:
        return outputs
    found = torch.autograd.grad(chosen, wanted, [torch.ones_like(o) for o in chosen], allow_unused=True)
    return [*outputs, *[g for g in found if g is not None]]


def reseed(trace: Trace) -> None:
    """Have the generators that the block made begin again."""
    for instruction in trace.instructions:
        for param in getattr(instruction, "params", ()):
            if isinstance(param, torch.Generator) and param is not torch.default_generator:
                param.manual_seed(param.initial_seed())


def check(call: Any, arrays: Any, others: list[Any], floats: int, gradients: bool) -> int:
    """Trace on *arrays*, and compare with eager on *others*; how many of these the call accepts."""
    torch.manual_seed(0)
    inputs = tensors(arrays, floats)
    with Trace(inputs, lifts="kernels") as trace:
        results = values(call, inputs, gradients)
    compared = 0
    for other in others:
        torch.manual_seed(1)
        try:
            wanted = values(call, tensors(other, floats), gradients)
        except (RuntimeError, ValueError, IndexError):
            continue  # values that the operation refuses
        torch.manual_seed(1)
        reseed(trace)
        found = trace.again(tensors(other, floats), results)
        for a, b in zip(found, wanted, strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy())
        compared += 1
    return compared


@pytest.mark.parametrize("case", SAMPLES)
def test_every_sample(case: Sample) -> None:
    rng = np.random.default_rng(0)
    others = [[way(np.array(a), rng) for a in case.inputs] for way in (shuffled, varied)]
    floats = len(case.inputs) if case.order else 0
    call = partial(case.call, torch)
    assert check(call, case.inputs, others, floats, gradients=False)
    if case.order:
        assert check(call, case.inputs, others, floats, gradients=True)


@pytest.mark.parametrize("case", FUNCTIONS)
def test_public_functions(case: Case) -> None:
    call, arrays = case
    rng = np.random.default_rng(0)
    others = [[shuffled(a, rng) for a in arrays] for _ in range(2)]
    assert check(call, arrays, others, 0, gradients=False) == 2
    assert check(call, arrays, others, 1, gradients=True) == 2


@pytest.mark.parametrize("case", [pytest.param(case, id=name) for name, case in UNFIT.items()])
def test_shapes_that_depend_on_values(case: Case) -> None:
    call, arrays = case
    rng = np.random.default_rng(0)
    others = [rng.integers(0, int(a.max()) + 1, a.shape).astype(a.dtype) if a.dtype.kind in "ib" else a for a in arrays]
    assert check(call, arrays, [others], 0, gradients=False) == 1
    torch.manual_seed(0)
    shapes = [[tuple(o.shape) for o in leaves(call(*tensors(given, 0)))] for given in (arrays, others)]
    with Trace(inputs := tensors(arrays, 0)) as trace:
        call(*inputs)
    told = any(
        not getattr(i.row, "fits", True) or "indices" in i.row.params for i in trace.instructions if hasattr(i, "row")
    )
    assert told or shapes[0] == shapes[1]


def test_which_shapes_depend_on_values_is_known() -> None:
    assert sorted(name for name, choice in choices.items() if not choice.fits) == sorted(SHAPES_BY_VALUES)


def test_running_statistics_move_in_each_run() -> None:
    rng = np.random.default_rng(0)
    a, b = (torch.tensor(rng.normal(size=(6, 3)).astype(np.float32)) for _ in range(2))
    layer, eager = torch.nn.BatchNorm1d(3), torch.nn.BatchNorm1d(3)
    with Trace([a]) as trace:
        out = layer(a)
    eager(a)
    (found,) = trace.again([b], [out])
    np.testing.assert_array_equal(found.detach().numpy(), eager(b).detach().numpy())
    for ours, theirs in zip(layer.buffers(), eager.buffers(), strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


@pytest.mark.parametrize("name", ["LSTM", "GRU", "RNN", "TransformerEncoderLayer", "MultiheadAttention", "BatchNorm2d"])
def test_layers_with_their_gradients(name: str) -> None:
    torch.manual_seed(0)
    made = {"TransformerEncoderLayer": (4, 2, 8), "MultiheadAttention": (4, 2), "BatchNorm2d": (4,)}
    layer = getattr(torch.nn, name)(*made.get(name, (4, 4)))
    shape = (2, 4, 3, 3) if name == "BatchNorm2d" else (3, 2, 4)
    inputs = (torch.randn(shape),) * (3 if name == "MultiheadAttention" else 1)

    def step(x: Any) -> Any:
        for parameter in layer.parameters():
            parameter.grad = None
        out = leaves(layer(*(x,) * len(inputs)))
        sum(o.sum() for o in out).backward()
        return *out, *[p.grad for p in layer.parameters() if p.grad is not None]

    state = {key: value.clone() for key, value in layer.state_dict().items()}
    with Trace([inputs[0]], lifts="kernels") as trace:
        results = step(inputs[0])
    other = torch.randn(shape)
    torch.manual_seed(1)
    found = trace.again([other], results)
    layer.load_state_dict(state)
    torch.manual_seed(0)
    torch.manual_seed(1)
    for a, b in zip(found, step(other), strict=True):
        np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy())


def test_written_into_what_is_given() -> None:
    a, b = torch.tensor([1.0, 2.0]), torch.tensor([5.0, 7.0])
    out = torch.zeros(2)
    with Trace([a]) as trace:
        torch.mul(a, a, out=out)
    trace.again([b], [])
    assert out.tolist() == [25.0, 49.0]


def test_every_row_is_replayed() -> None:
    assert set(all_samples()) == set(_op.rows)
