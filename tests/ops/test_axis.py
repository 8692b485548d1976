"""``axis``, NumPy's name for ``dim``: one of the two."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import minitorch
from backend import torch

ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "chunk": (2,),
    "cosine_similarity": (torch.ones(3, 3),),
    "count_nonzero": (),
    "cross": (torch.ones(3, 3),),
    "kthvalue": (1,),
    "nanquantile": (0.5,),
    "quantile": (0.5,),
    "repeat_interleave": (2,),
    "slice_scatter": (torch.ones(3, 3),),
    "split_with_sizes": ([1, 2],),
    "take_along_dim": (torch.zeros(3, 3, dtype=torch.int64),),
    "tensor_split": (2,),
    "topk": (1,),
    "unsafe_chunk": (2,),
    "unsafe_split": (1,),
    "unsafe_split_with_sizes": ([1, 2],),
}
"""What functions take after the input."""


def has_both(name: str) -> bool:
    function = getattr(minitorch, name)
    try:
        return {"dim", "axis"} <= set(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return False


FUNCTIONS = sorted([name for name in minitorch.__all__ if callable(getattr(minitorch, name)) and has_both(name)])


def outcome(result: Any) -> list[Any]:
    return [part.tolist() for part in result] if isinstance(result, (list, tuple)) else result.tolist()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_axis_is_dim_and_both_are_refused(name: str) -> None:
    function = getattr(torch, name)
    input: Any = torch.arange(9.0).reshape(3, 3)
    arguments = (
        input if name not in ("cat", "concat", "concatenate", "stack") else [input, input + 9],
        *ARGUMENTS.get(name, ()),
    )
    assert outcome(function(*arguments, axis=-2)) == outcome(function(*arguments, dim=-2))
    with pytest.raises(TypeError, match=r"argument 'axis'|invalid combination of arguments|multiple values"):
        function(*arguments, dim=-2, axis=-2)


@pytest.mark.parametrize(
    "name", ["softmax", "log_softmax", "cumsum", "cumprod", "logcumsumexp", "cummax", "cummin", "logsumexp"]
)
def test_a_missing_dim_is_named(name: str) -> None:
    with pytest.raises(TypeError, match=rf'{name}\(\) missing 1 required positional arguments: "dim"'):
        getattr(torch, name)(torch.ones(2, 2))
    with pytest.raises(TypeError, match=rf'{name}\(\) missing 1 required positional arguments: "dim"'):
        getattr(torch.ones(2, 2), name)()


def test_there_are_functions_with_axis() -> None:
    assert len(FUNCTIONS) > 40
