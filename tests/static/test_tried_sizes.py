"""The sizes that a block is tried at: the numbers that its code names, and what it costs to try them."""

from __future__ import annotations

import cProfile
import statistics
import sys
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

import minitorch
from minitorch.static._tried_sizes import Cost, NamedNumbers, worth_trying

MOST = 37
TABLE = {"rows": 41, 43: [47]}


class Named(NamedTuple):
    one: float
    other: int


class Base:
    depth = 53


class Holder(Base):
    def __init__(self) -> None:
        self.inner = SimpleNamespace(width=59, unread=61)
        self.me = self

    def call(self, n: int, scale: float = 66.5) -> int:
        low = n % 12 in (13, 14)
        return low + self.me.inner.width + self.depth + MOST + len(TABLE) + -71


def test_numbers_that_code_names() -> None:
    holder = Holder()
    with NamedNumbers() as numbers:
        holder.call(9)
    assert numbers.found == {12: 0, 13: 0, 14: 0, 71: 0, 9: 1, 37: 1, 53: 1, 59: 1, 66: 1, 67: 1, 2: 2, 41: 3, 43: 3}
    assert sys.getprofile() is None


def test_libraries_are_not_looked_at() -> None:
    x = minitorch.ones(2, 3)
    with NamedNumbers() as numbers:
        np.pad(np.eye(3), 2)
        Named(statistics.mean([1, 2]), 2)
        minitorch.nn.Linear(3, 4)(x).softmax(-1).max(1)
    assert numbers.found == {}


def test_a_profile_goes_on() -> None:
    seen: list[Any] = []
    sys.setprofile(lambda frame, event, _: seen.append(event))
    try:
        with NamedNumbers():
            seen.clear()
            Holder().call(1)
        assert "c_call" not in seen[:1]
        Holder()
    finally:
        sys.setprofile(None)
    assert "call" in seen
    profile = cProfile.Profile()
    profile.enable()
    with NamedNumbers() as numbers:
        Holder().call(1)
    Holder()
    profile.disable()
    assert 12 in numbers.found
    assert "__init__" in [getattr(entry.code, "co_name", "") for entry in profile.getstats()]


def test_numbers_of_the_code_come_first() -> None:
    some = worth_trying({10: 1, 5000: 0})
    assert {10, 11, 21, 30, 5000, 5001, 1025} <= {*some}
    assert some == sorted(some)
    assert min(worth_trying({2: 0})) > 8
    many = worth_trying(dict.fromkeys(range(100, 200), 2) | {9999: 0})
    assert 9999 in many
    assert len(many) < 50


def test_what_is_cheap_is_tried() -> None:
    cost = Cost({10: 1000, 20: 4000})
    assert cost.affords(1000)
    assert not cost.affords(10_000)  # it grows with the square
    cost.add(1000, 1 << 26)
    assert not cost.affords(900)
    assert Cost({10: 0, 20: 0}).affords(10**6)
    assert Cost({10: 50, 20: 50}).affords(10**6)
