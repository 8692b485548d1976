"""Fisher-Yates shuffles whose choices are given."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Below this many elements, swapping in a list is faster.
_FEW = 500


def shuffled(partners: NDArray[np.int64]) -> NDArray[np.int64]:
    """The numbers from 0 to n - 1 after swaps of each position, from the first to the last, with its partner.

    Parameters
    ----------
    partners : ndarray of int64, shape (n,)
        No partner comes before its position. It may be overwritten.

    Notes
    -----
    Position i ends with what its partner held just before step i. That is what position k held just before step k, k
    being the last earlier step with the same partner; without such a step, it is the partner's own number. What
    position k held before step k follows in the same way from the last earlier step whose partner is k: the numbers
    are the roots of a forest.
    """
    if len(partners) < _FEW:
        return _swapped(partners)
    positions = np.arange(len(partners))
    moving = np.flatnonzero(partners != positions)
    held = positions.copy()
    held[partners[moving]] = moving  # of several steps with one partner, the last counts
    while ((further := held.take(held)) != held).any():
        held = further

    order = partners << 32
    order |= positions
    order.sort()  # by partner, then by step
    steps = order & 0xFFFFFFFF
    order >>= 32
    again = np.flatnonzero(order[1:] == order[:-1])
    partners[steps[again + 1]] = held[steps[again]]
    return partners


def _swapped(partners: NDArray[np.int64]) -> NDArray[np.int64]:
    order = list(range(len(partners)))
    for position, partner in enumerate(partners.tolist()):
        order[position], order[partner] = order[partner], order[position]
    return np.array(order, np.int64)
