"""Every row, by its samples: forward mode agrees with reverse mode, to second order, and with PyTorch's forward mode."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import minitorch
from minitorch import _op
from minitorch._tangent_rules import KINDS, kind_of
from minitorch.autograd import forward_ad as fwAD
from minitorch.autograd import grad
from minitorch.autograd._jvp import jvp
from samples import all_samples
from samples.sample import Sample

CASES = [
    pytest.param(case, id=f"{name}-{i}")
    for name, cases in sorted(all_samples().items())
    for i, case in enumerate(cases)
    if case.order > 0
]
TWICE = [p for p in CASES if p.values[0].order > 1]
ELSEWHERE = {
    "cholesky_inverse": "PyTorch's forward mode reads both triangles of a triangular factor's tangent",
    "hardsigmoid": "PyTorch's forward mode multiplies by a sixth in float32",
    "hardsigmoid_backward": "PyTorch's forward mode multiplies by a sixth in float32",
    "scatter_reduce_prod": "PyTorch's forward mode loses the tangent",
}
"""What differs from PyTorch's forward mode."""
IN_TORCH = [p for p in CASES if p.values[0].in_torch and str(p.id).rpartition("-")[0] not in ELSEWHERE]


def test_every_row_says_how_forward_mode_goes() -> None:
    missing = sorted(name for name, row in _op.rows.items() if row.formulas and row.tangent is None)
    assert not missing, f'rows without tangent=: {missing}; see the docstring of op(), or say "transpose"'
    assert {kind_of(row) for row in _op.rows.values() if row.formulas} == set(KINDS)


# -- helpers -----------------------------------------------------------------------------------------------------------
def results(case: Sample, torch: Any, inputs: list[Any]) -> tuple[Any, ...]:
    torch.manual_seed(0)
    out = case.call(torch, *inputs)
    return tuple(out) if isinstance(out, (tuple, list)) else (out,)


def vectors(seed: int, like: Any) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [np.asarray(rng.normal(size=tuple(x.shape))) for x in like]


def tensors(arrays: Any, requires_grad: bool = False) -> list[Any]:
    return [minitorch.from_numpy(np.array(a)).requires_grad_(requires_grad) for a in arrays]


def inner(pairs: Any) -> tuple[float, float]:
    """The inner product of tensors, and how large its terms are."""
    terms = [(a.detach().numpy() * b.detach().numpy()).ravel() for a, b in pairs if a is not None and b is not None]
    joined = np.concatenate([*terms, np.zeros(1)])
    return float(joined.sum()), float(np.abs(joined).sum())


def assert_equal(first: Any, second: Any, tolerance: float = 1e-9) -> None:
    (one, size), (two, other) = inner(first), inner(second)
    assert abs(one - two) <= tolerance * max(size, other, 1e-6), f"{one} is not {two}"


def laid_out(array: np.ndarray) -> list[int]:
    return [step for step, size in zip(array.strides, array.shape) if size > 1]


def is_dense(array: np.ndarray) -> bool:
    order = np.argsort(array.strides)[::-1]
    return array.size > 1 and bool(array.transpose(order).flags.c_contiguous)


def pushed(case: Sample, inputs: list[Any], directions: list[Any]) -> tuple[list[Any], list[Any]]:
    """The results that are floats, and their tangents."""
    with fwAD.dual_level():
        duals = [fwAD.make_dual(x, t) for x, t in zip(inputs, directions)]
        outputs = [y for y in results(case, minitorch, duals) if y.is_floating_point()]
        return outputs, [fwAD.unpack_dual(y).tangent for y in outputs]


# -- each sample -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("case", CASES)
def test_forward_and_reverse_agree(case: Sample) -> None:
    inputs, directions = tensors(case.inputs, True), tensors(vectors(1, case.inputs))
    outputs, tangents = pushed(case, inputs, directions)
    plain, same = pushed(case, tensors(case.inputs), directions)  # on ndarrays, nothing being recorded
    pairs = [(y, t) for y, t in zip(outputs, tangents) if y.requires_grad]
    starts = tensors(vectors(2, [y for y, _ in pairs]))
    gradients = grad([y for y, _ in pairs], inputs, starts, allow_unused=True)
    assert_equal(zip(starts, [t for _, t in pairs]), zip(gradients, directions))
    assert len(plain) == len(outputs)
    for recorded, raw in zip(tangents, same):
        assert (recorded is None) == (raw is None)
        if raw is not None:
            assert type(raw._array) is np.ndarray
            np.testing.assert_allclose(raw.numpy(), recorded.detach().numpy(), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("case", CASES)
def test_tangents_have_shape_dtype_and_layout_of_their_primals(case: Sample) -> None:
    arrays = [a.astype(np.float32) for a in case.inputs]
    directions = [minitorch.from_numpy(v.astype(np.float32)) for v in vectors(1, case.inputs)]
    for requires_grad in (False, True):
        inputs = tensors(arrays, requires_grad)
        for primal, tangent in zip(*pushed(case, inputs, directions)):
            if tangent is not None:
                assert tangent.dtype is primal.dtype
                assert tangent._array.shape == primal._array.shape
                assert not is_dense(primal._array) or laid_out(tangent._array) == laid_out(primal._array)
                assert not np.shares_memory(tangent._array, primal._array)


@pytest.mark.parametrize("case", TWICE)
def test_second_derivatives_agree_in_every_order_of_modes(case: Sample) -> None:
    inputs, directions = tensors(case.inputs, True), tensors(vectors(1, case.inputs))
    with fwAD.dual_level():
        duals = [fwAD.make_dual(x, t) for x, t in zip(inputs, directions)]
        outputs = [y for y in results(case, minitorch, duals) if y.requires_grad]
        tangents = [fwAD.unpack_dual(y).tangent for y in outputs]
        starts = tensors(vectors(2, outputs))
        gradients = grad(outputs, duals, starts, create_graph=True, allow_unused=True)
        over_reverse = [None if g is None else fwAD.unpack_dual(g).tangent for g in gradients]
        plain = grad(outputs, duals, starts, retain_graph=True, allow_unused=True)
        unrecorded = [None if g is None else fwAD.unpack_dual(g).tangent for g in plain]
    live = [(g, t) for g, t in zip(gradients, over_reverse) if g is not None and g.requires_grad]
    weights = tensors(vectors(3, [g for g, _ in live]))
    if live:
        second = grad([g for g, _ in live], inputs, weights, retain_graph=True, allow_unused=True)
        assert_equal(zip(weights, [t for _, t in live]), zip(second, directions))
    moving = [(t, u) for t, u in zip(tangents, starts) if t is not None and t.requires_grad]
    if moving:
        over_forward = grad([t for t, _ in moving], inputs, [u for _, u in moving], allow_unused=True)
        others = tensors(vectors(4, inputs))
        assert_equal(zip(over_forward, others), zip(over_reverse, others))
    others = tensors(vectors(5, inputs))
    assert_equal(zip(unrecorded, others), zip(over_reverse, others))
    twice = jvp(
        lambda *xs: jvp(lambda *ys: _floats(case, ys), xs, tuple(directions))[1],
        tuple(tensors(case.inputs)),
        tuple(directions),
    )[1]
    kept = [t for y, t in zip(_floats(case, inputs), twice) if y.requires_grad]
    assert_equal(zip(starts, kept), zip(over_reverse, directions))


def _floats(case: Sample, inputs: Any) -> tuple[Any, ...]:
    return tuple([y for y in results(case, minitorch, list(inputs)) if y.is_floating_point()])


@pytest.fixture(scope="module")
def torch() -> Any:
    """PyTorch, with its forward mode loaded, which compiles scripts and says that this is deprecated."""
    module = pytest.importorskip("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with module.autograd.forward_ad.dual_level():
            module.autograd.forward_ad.make_dual(module.ones(1), module.ones(1))
    return module


@pytest.mark.pytorch
@pytest.mark.parametrize("case", IN_TORCH)
def test_against_pytorch(torch: Any, case: Sample) -> None:
    directions = vectors(1, case.inputs)
    _, tangents = pushed(case, tensors(case.inputs), tensors(directions))
    with torch.autograd.forward_ad.dual_level():
        make, unpack = torch.autograd.forward_ad.make_dual, torch.autograd.forward_ad.unpack_dual
        duals = [make(torch.tensor(a), torch.tensor(v)) for a, v in zip(case.inputs, directions)]
        try:
            theirs = [unpack(y).tangent for y in results(case, torch, duals) if y.is_floating_point()]
        except (NotImplementedError, RuntimeError) as error:
            if "forward AD" not in str(error) and "jvp" not in str(error):
                raise
            pytest.skip(str(error))
    assert len(tangents) == len(theirs)
    for ours, their in zip(tangents, theirs):
        a = 0.0 if ours is None else ours.numpy()
        b = 0.0 if their is None else their.numpy(force=True)
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-9)
