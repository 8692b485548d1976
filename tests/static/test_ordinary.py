"""Ordinary functions and models are traced as often as they have to be, and no more; they give what they give as written."""

from __future__ import annotations

import sys
from typing import Any

import pytest

import minitorch as torch
from minitorch import static
from ordinary import PROGRAMS


def leaves(out: Any) -> list[Any]:
    if isinstance(out, dict):
        return [leaf for key, part in out.items() for leaf in (key, *leaves(part))]
    if isinstance(out, (list, tuple)):
        return [leaf for part in out for leaf in leaves(part)]
    if isinstance(out, torch.Tensor):
        return [(str(out.dtype), out.shape, out.detach().numpy().tobytes())]
    return [repr(out)]


@pytest.mark.skipif(sys.gettrace() is not None, reason="what runs is not looked at while a debugger does")
@pytest.mark.parametrize("name", PROGRAMS)
def test_an_ordinary_function_is_traced_no_more_often_than_it_has_to(name: str) -> None:
    function, programs = PROGRAMS[name]
    made: list[static.Traced] = []

    def compiled(inner: Any) -> Any:
        made.append(static.compile(inner, quiet=True))
        return made[-1]

    torch.manual_seed(0)
    expected = function(lambda inner: inner)
    torch.manual_seed(0)
    assert leaves(function(compiled)) == leaves(expected)
    assert not [note for traced in made for note in traced.notes if "as it is written" in note]
    assert sum([len(traced.variants) for traced in made]) == programs
