"""Fisher-Yates shuffles whose choices are given."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Below this many elements, swapping in a list is faster.
_FEW = 500
# Steps at a time: what they need is small enough for the L2 cache, and for memory that is never given back.
_BLOCK = 2**12


def shuffled(partners: NDArray[np.int64]) -> NDArray[np.int64]:
    """The numbers from 0 to n - 1 after each position, from the first to the last, swapped with its partner.

    Parameters
    ----------
    partners : ndarray of int64, shape (n,)
        No partner comes before its position.
    """
    if len(partners) < _FEW:
        return np.array(_swapped(partners.tolist()), np.int64)
    order = np.arange(len(partners))
    for start in range(0, len(partners), _BLOCK):
        _swap_block(order, start, partners[start : start + _BLOCK])
    return order


def _swapped(partners: list[int]) -> list[int]:
    order = list(range(len(partners)))
    for position, partner in enumerate(partners):
        order[position], order[partner] = order[partner], order[position]
    return order


def _swap_block(order: NDArray[np.int64], start: int, partners: NDArray[np.int64]) -> None:
    """Swap the positions from `start` on with their partners, all at once.

    What a position holds just before its own step is what the last earlier step of the block with it as partner put
    there: what that step's position held before. So these contents are, by position, the roots of a forest. A position
    ends with what its partner held, which is what the last earlier step with the same partner put there.
    """
    block = order[start : start + len(partners)]
    steps = np.arange(len(partners))
    within = partners - start
    inner = np.flatnonzero((within < len(partners)) & (within != steps))
    source = steps.copy()
    source[within[inner]] = inner  # of several steps with one partner, the last counts
    while not np.array_equal(further := source.take(source), source):
        source = further
    held, result = block.take(source), order.take(partners)

    by_partner = within << 32
    by_partner |= steps
    by_partner.sort()
    sorted_steps = by_partner & 0xFFFFFFFF
    by_partner >>= 32
    again = np.flatnonzero(by_partner[1:] == by_partner[:-1])
    result[sorted_steps[again + 1]] = held[sorted_steps[again]]

    order[partners] = held  # the last counts, again
    block[:] = result
