"""A sample of what ``run.py`` does in full: mutants of the op table, and what the material says of the checker."""

from __future__ import annotations

from pathlib import Path
from types import FunctionType

import pytest

import minitorch
from minitorch import _op

from . import _rows
from ._equivalent import Equivalents
from ._judge_rows import derivatives, judged, samples_of
from ._rows import Place, installed, mutants_of
from ._syntax import changes

LISTED = Equivalents(Path(__file__).with_name("equivalent.txt").read_text())
PARTS = _rows.parts()
LAST = len(PARTS) // 24


def _place(row: str, name: str = "self") -> Place:
    formula = _op.rows[row].formulas[name]
    assert isinstance(formula, FunctionType)
    return Place(row, name, formula)


@pytest.mark.parametrize("number", range(7, len(PARTS), LAST))
def test_mutants_of_rows_are_caught(number: int) -> None:
    for mutant in mutants_of(PARTS[number]):
        outcome = judged(mutant)
        assert outcome.how in ("caught", "raises", "unchanged") or LISTED.matches(mutant.key), (
            f"{mutant.key}: {outcome}"
        )


def test_what_mutants_there_are() -> None:
    found = {
        (c.kind, c.after) for c in changes(_place("div", "other").part, frozenset({"g", "self", "other"}), frozenset())
    }
    assert ("sign", "g * (self / other / other)") in found
    assert ("wrong saved value", "-g * (self / other / self)") in found
    assert ("swapped operands", "-g * (other / self / other)") in found
    assert ("dropped factor", "lambda F, g, self, other: -g") in found


def test_a_mutant_is_installed_and_gone_afterwards() -> None:
    place = _place("exp")
    x, g = minitorch.tensor([0.5, 1.0], requires_grad=True), minitorch.tensor([2.0, 3.0])
    right = g * x.exp().detach()
    for change in changes(place.part, frozenset({"g", "result"}), frozenset()):
        with installed(change, place):
            (found,) = minitorch.autograd.grad(x.exp(), x, g)
            assert not minitorch.equal(found, right), change.key
        assert minitorch.equal(minitorch.autograd.grad(x.exp(), x, g)[0], right)


def test_a_mutant_that_reads_another_value_has_it() -> None:
    (mutant,) = [m for m in mutants_of((_place("sin"),)) if m.change.after == "reads result"]
    x = minitorch.tensor([0.5, 1.0], requires_grad=True)
    with installed(mutant.change, mutant.places[0]):
        assert minitorch.allclose(minitorch.autograd.grad(x.sin().sum(), x)[0], x.sin().cos())
    assert minitorch.allclose(minitorch.autograd.grad(x.sin().sum(), x)[0], x.cos())


def test_every_sample_has_derivatives() -> None:
    for row in ("mul", "vector_norm", "standardized_backward"):
        assert all(derivatives(case)[0] for case in samples_of(row))


def test_the_list_of_equivalent_mutants() -> None:
    listed = Equivalents(
        "# the operands may change places\n*.f: F.eq(a, b)  =>  F.eq(b, a)\nmul.self *: x[0] + *  =>  x[0]\n"
    )
    assert listed.matches("mul.self ops.f: F.eq(a, b)  =>  F.eq(b, a)")
    assert not listed.matches("mul.self ops.f: F.eq(a, b)  =>  F.eq(a, a)")
    assert not listed.matches("div.self ops.g: x[0] + y  =>  x[0]")
    assert listed.unused() == ["mul.self *: x[0] + *  =>  x[0]"]
    assert listed.matches("mul.self ops.g: x[0] + y  =>  x[0]")
    assert listed.unused() == []
    with pytest.raises(ValueError, match="no reason"):
        Equivalents("ops.f: a  =>  b\n")


def test_equivalent_mutants_have_reasons() -> None:
    assert all(len(reason.split()) >= 3 for reason in LISTED.reasons.values())
