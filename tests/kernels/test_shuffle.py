"""Fisher-Yates shuffles against swaps one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitorch._kernels.shuffle import shuffled


def swapped(partners: np.ndarray) -> list[int]:
    order = list(range(len(partners)))
    for position in range(len(order)):
        partner = int(partners[position])
        order[position], order[partner] = order[partner], order[position]
    return order


@given(n=st.integers(0, 10000), seed=st.integers(0, 2**32 - 1))
def test_random_partners(n: int, seed: int) -> None:
    partners = np.random.default_rng(seed).integers(np.arange(n), n)
    assert shuffled(partners.copy()).tolist() == swapped(partners)


@pytest.mark.parametrize("n", [7, 10000])
def test_special_partners(n: int) -> None:
    positions = np.arange(n)
    last = np.full(n, n - 1)
    assert shuffled(positions.copy()).tolist() == positions.tolist()
    assert shuffled(last.copy()).tolist() == [n - 1, *range(n - 1)]
    assert shuffled(np.minimum(positions + 1, n - 1)).tolist() == [*range(1, n), 0]  # one chain through all positions
