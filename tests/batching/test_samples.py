"""The samples of every row, mapped: what public functions make of a batch is what they make of each example."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import minitorch
from minitorch import vmap
from row_calls import SAMPLES

EXAMPLES = 3
REFUSED = {
    "bernoulli bernoulli_tensor binomial fractional_max_pool2d fractional_max_pool3d normal_both normal_mean normal_std "
    "poisson sample_dirichlet standard_gamma": "same randomness with a batched tensor",
    "masked_select unique unique_consecutive unique_dim": "shape depends on the values",
    "copy": "keep to operations on Tensors",
}
"""Rows whose samples are refused, all of them or some, by what is said then."""
REASONS = {name: reason for names, reason in REFUSED.items() for name in names.split()}


def variant(array: np.ndarray, number: int, how: str) -> np.ndarray:
    """Another example: scaled, or in another order."""
    return (
        np.asarray(array * (1 - number / 8)) if how == "scaled" else np.roll(array.ravel(), number).reshape(array.shape)
    )


def cases(name: str) -> Iterator[tuple[Any, list[list[np.ndarray]]]]:
    """A function of tensors for each of a row's samples, and examples."""
    for case in SAMPLES[name]:

        def function(*tensors: Any, case: Any = case) -> list[Any]:
            minitorch.manual_seed(0)
            out = case.call(minitorch, *tensors)
            return list(out) if isinstance(out, (tuple, list)) else [out]

        for how in ("scaled", "rolled") if case.inputs else ():
            yield function, [[variant(a, number, how) for a in case.inputs] for number in range(EXAMPLES)]


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_a_sample_mapped_is_the_loop(name: str) -> None:
    for function, examples in cases(name):
        try:
            each = [function(*[minitorch.from_numpy(a.copy()) for a in example]) for example in examples]
        except RuntimeError:  # such as a matrix that is not positive definite in another order
            continue
        batch = [minitorch.from_numpy(np.stack(column)) for column in zip(*examples)]
        try:
            found = vmap(function, randomness="same")(*batch)
        except RuntimeError as error:
            assert name in REASONS, error  # noqa: PT017
            assert REASONS[name] in str(error)  # noqa: PT017
            continue
        for out, column in zip(found, zip(*each), strict=True):
            expected = minitorch.stack(column)
            assert out.dtype is expected.dtype
            assert tuple(out.shape) == tuple(expected.shape)
            np.testing.assert_allclose(out.detach().numpy(), expected.detach().numpy(), 1e-7, 1e-9)
