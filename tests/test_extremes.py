"""Every sample with extreme inputs: no floating-point warning of NumPy's reaches the user, forward or backward.

And every sample in float32 and float16: what is computed, saved and given back is of that dtype.
"""

from __future__ import annotations

import contextlib
import warnings
from typing import Any

import numpy as np
import pytest

import minitorch
from minitorch.autograd import grad
from samples.sample import Sample
from test_rows import CASES, DIFFERENTIABLE, ELEMENTWISE, floats, nodes_of, outputs_of

EXTREMES = np.array([0.0, 1.0, -0.0, np.inf, 3e38, np.nan, 1e-42, -1.5, -np.inf, -3e38, 700.0, -1e-42, 0.5, -800.0])


def run(case: Sample, arrays: list[np.ndarray], create_graph: bool) -> tuple[list[Any], list[Any]]:
    inputs = [minitorch.from_numpy(a).requires_grad_(case.order > 0) for a in arrays]
    outputs = floats(outputs_of(case, minitorch, inputs))
    if not outputs:
        return [], []
    starts = [minitorch.ones_like(o) for o in outputs]
    found = grad(outputs, inputs, starts, create_graph=create_graph, allow_unused=True)
    second = [g for g in found if g is not None and g.requires_grad]
    if create_graph and second and case.order > 1:
        grad([g.sum() for g in second], inputs, allow_unused=True)
    return outputs, [g for g in found if g is not None]


@pytest.mark.parametrize(("name", "case"), CASES)
def test_numpys_warnings_stay_inside(name: str, case: Sample) -> None:
    for dtype, first in ((np.float32, 0), (np.float64, 3), (np.float32, 7)):
        values = np.roll(EXTREMES, -first)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            arrays = [np.resize(values, a.shape).astype(dtype) for a in case.inputs]
            warnings.simplefilter("error", RuntimeWarning)
            try:
                run(case, arrays, create_graph=bool(first))
            except RuntimeWarning as warning:
                pytest.fail(f"{name}: {warning}")
            except (RuntimeError, ValueError, IndexError):
                pass  # what such values are refused with


@pytest.mark.parametrize(("name", "case"), ELEMENTWISE)
def test_numpys_warnings_stay_inside_blocks(name: str, case: Sample) -> None:
    """Large arrays take other paths than small ones."""
    arrays = [np.resize(np.roll(EXTREMES, -i), (50, 60)).astype(np.float32) for i in range(len(case.inputs))]
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        with contextlib.suppress(RuntimeError):  # with which values, or a parameter of another shape, are refused
            run(case, arrays, create_graph=False)


# -- dtypes ------------------------------------------------------------------------------------------------------------
def arrays_in(value: Any) -> list[np.ndarray]:
    """The arrays that a value keeps alive: itself, a tensor's, a container's, and those that they are views of."""
    value = getattr(value, "_array", value)
    if isinstance(value, (tuple, list)):
        return [array for item in value for array in arrays_in(item)]
    found = []
    while isinstance(value, np.ndarray):
        found.append(value)
        value = value.base
    return found


@pytest.mark.parametrize(("name", "case"), DIFFERENTIABLE)
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_nothing_wider_is_kept(name: str, case: Sample, dtype: Any) -> None:
    arrays = [a.astype(dtype) for a in case.inputs]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            outputs, found = run(case, arrays, create_graph=True)
        except (RuntimeError, NotImplementedError, TypeError):
            assert dtype is np.float16, "what PyTorch has not in float16 either"
            return
    kept = [*outputs, *found]
    for node in nodes_of(outputs):
        kept += [getattr(node, name, None) for name in node.saved_names]
    for array in arrays_in(kept):
        if array.dtype.kind == "f":
            assert array.dtype.itemsize <= 4, f"{name} keeps {array.dtype}"
            assert dtype is np.float16 or array.dtype == np.float32, f"{name} gives {array.dtype}"


RANDOM = {"uniform", "random", "normal_", "bernoulli", "bernoulli_tensor"}  # which draw other numbers in another dtype
TIED = {"amax-4"}  # two of the sums that are compared are equal once they are rounded
HALF = [p for p in DIFFERENTIABLE if p.values[1].in_torch and p.values[0] not in RANDOM and p.id not in TIED]


@pytest.mark.parametrize(("name", "case"), HALF)
def test_float16_is_computed_right(name: str, case: Sample) -> None:
    halves = [np.asarray(a).astype(np.float16) for a in case.inputs]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            outputs, found = run(case, halves, create_graph=False)
        except (RuntimeError, NotImplementedError, TypeError):
            pytest.skip("not in float16, as in PyTorch")
        exact_outputs, exact = run(case, [a.astype(np.float64) for a in halves], create_graph=False)
    assert all(o.dtype is minitorch.float16 for o in outputs)
    with np.errstate(over="ignore"):
        wide = [t.detach().numpy().astype(np.float16).astype(np.float64) for t in (*exact_outputs, *exact)]
    scale = max([np.abs(values[np.isfinite(values)]).max(initial=0.1) for values in wide])
    for ours, values in zip([*outputs, *found], wide, strict=True):
        assert ours.dtype is minitorch.float16
        np.testing.assert_allclose(ours.detach().numpy(), values, atol=1e-2 * scale, rtol=0)
