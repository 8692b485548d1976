"""The weak map by the identity of arrays."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from minitorch._identity import ByArray


def test_keys_are_objects_not_values() -> None:
    a, b = np.ones(2), np.ones(2)
    found = ByArray()
    found[a] = 1
    assert a in found
    assert b not in found
    assert a[:] not in found
    assert found[a] == found.get(a) == 1
    assert found.get(b) is None
    assert found.get(b, 7) == 7
    with pytest.raises(KeyError):
        found[b]


def test_a_value_is_replaced_and_taken_out() -> None:
    a = np.ones(2)
    found = ByArray()
    found[a] = 1
    found[a] = 2
    gc.collect()
    assert len(found) == 1
    assert found.pop(a) == 2
    assert found.pop(a, "none") == "none"
    assert len(found) == 0


def test_an_entry_goes_with_its_array_and_the_next_at_its_address_is_another() -> None:
    found = ByArray()
    for i in range(100):
        array = np.empty(3)
        assert array not in found, "the array that was at this address is gone"
        found[array] = i
        assert [(a is array, value) for a, value in found.items()] == [(True, i)]
        del array
        assert len(found) == 0


def test_an_entry_goes_with_an_array_in_a_cycle() -> None:
    found = ByArray()
    cycle: list[object] = [np.ones(2)]
    cycle.append(cycle)
    found[cycle[0]] = "there"
    del cycle
    gc.collect()
    assert len(found) == 0
    assert list(found.items()) == []


def test_the_map_may_go_before_its_arrays() -> None:
    array, found = np.ones(2), ByArray()
    found[array] = "there"
    del found
    gc.collect()
    assert array.sum() == 2
