"""What transforms of functions refuse, and what they say then."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import minitorch as torch


def test_linearize_refuses_integers_as_jvp_does() -> None:
    whole = torch.tensor([1, 2])
    said = []
    for call in (
        lambda: torch.func.linearize(lambda x: x * 2, whole),
        lambda: torch.func.jvp(lambda x: x * 2, (whole,), (whole,)),
    ):
        with pytest.raises(ValueError, match="Expected primal to be floating point or complex") as raised:
            call()
        said.append(str(raised.value))
    assert said[0] == said[1]


def written(x: Any) -> Any:
    x = x * 1
    x[x > 0] = 0
    return x


@pytest.mark.parametrize("function", [written, lambda x: x[x > 0]])
def test_a_mask_as_an_index_of_examples(function: Callable[[Any], Any]) -> None:
    with pytest.raises(RuntimeError, match=r"an index that is a mask .* data-dependent control flow.*torch\.where"):
        torch.vmap(function)(torch.ones(2, 3))


@pytest.mark.parametrize("name", ["equal", "allclose"])
def test_one_answer_for_all_examples(name: str) -> None:
    with pytest.raises(RuntimeError, match=rf"{name}\(\) is one answer .* data-dependent control flow"):
        torch.vmap(lambda x: getattr(torch, name)(x, x))(torch.ones(2, 3))
