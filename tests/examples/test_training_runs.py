"""The examples, reduced, in minitorch and in PyTorch: equal initial weights and equal losses from the same seed."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

compare = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "examples" / "compare.py"))
run, length, differences = compare["run"], compare["length"], compare["differences"]

SIZES: dict[str, dict[str, Any]] = {
    "names": {"width": 24, "batch": 8},
    "gpt": {"width": 16, "length": 16, "batch": 4},
    "reverse": {"width": 16, "batch": 8},
    "convnet": {},
    "vae": {},
    "gan": {"width": 32, "batch": 32},
    "cartpole": {"longest": 60},
    "heat": {"width": 16, "points": 16},
    "maml": {"width": 16, "tasks": 2},
    "ode": {"span": 5, "batch": 8},
    "peaks": {},
    "spikes": {"width": 16, "batch": 16},
}
"""What makes a step of each example quick."""
LOOSER = {
    # The advantages' mean is zero, and so, but for the policy's own terms, is the loss: rounding is large beside it.
    ("cartpole", "float32"): 1e-3,
    # Steps 4 to 6 are where the fit falls from 10 to 0.07, and the line search interpolates between values that nearly agree.
    ("peaks", "float32"): 1e-3,
}
"""Where losses may differ by more than a ten-thousandth, and why."""


def test_every_compared_example_is_here() -> None:
    assert list(SIZES) == list(compare["LENGTHS"])


@pytest.mark.parametrize("name", SIZES)
def test_examples_run(name: str) -> None:
    losses = run(name, "minitorch", "float32", **SIZES[name], **length(name, 2)).losses
    assert len(losses) >= 2
    assert np.isfinite(losses).all()


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize(("dtype", "losses"), [("float64", 50), ("float32", 10)])
@pytest.mark.parametrize("name", SIZES)
def test_same_weights_and_losses_as_pytorch(name: str, dtype: str, losses: int) -> None:
    torch = pytest.importorskip("torch")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        ours, theirs = (
            run(name, library, dtype, **SIZES[name], **length(name, losses)) for library in ("minitorch", "torch")
        )
    finally:
        torch.set_num_threads(threads)
    assert len(ours.weights) == len(theirs.weights) > 0
    for one, other in zip(ours.weights, theirs.weights):
        # PyTorch's logarithms and cosines differ in the last bits from one processor to another, and so do its normal numbers.
        np.testing.assert_array_max_ulp(one, other, 4)
    assert len(ours.losses) == len(theirs.losses) >= losses
    difference = differences(ours, theirs)[:losses]
    assert difference.max() < LOOSER.get((name, dtype), 1e-4), difference
