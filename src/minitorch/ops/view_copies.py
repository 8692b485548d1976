"""What views show, in memory of its own: ``view_copy`` for ``view``, and so on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._args import array_of
from .._runtime import deliver, traced
from . import broadcast, diagonals, join, memory, shape, subscript


def _copying(view: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The function that returns a copy of what a view shows, or of each of several."""

    def function(input: Any, *args: Any, out: Any = None, **keywords: Any) -> Any:
        if out is not None:
            return deliver(name, lambda: function(input, *args, **keywords), (input,), out)
        shown = view(input, *args, **keywords)
        return tuple([traced.clone(v) for v in shown]) if isinstance(shown, tuple) else traced.clone(shown)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``{name.removesuffix('_copy')}`` with the result in memory of its own."
    return function


def _detach(input: Any) -> Any:
    array_of("detach_copy", input)
    return input.detach()


def _slice(input: Any, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Any:
    array_of("slice_copy", input)
    return input[(slice(None),) * (dim % input.ndim) + (slice(start, end, step),)]


alias_copy = _copying(subscript.alias, "alias_copy")
as_strided_copy = _copying(memory.as_strided, "as_strided_copy")
detach_copy = _copying(_detach, "detach_copy")
diagonal_copy = _copying(diagonals.diagonal, "diagonal_copy")
expand_copy = _copying(broadcast.expand, "expand_copy")
permute_copy = _copying(shape.permute, "permute_copy")
select_copy = _copying(subscript.select, "select_copy")
slice_copy = _copying(_slice, "slice_copy")
split_copy = _copying(join.split, "split_copy")
split_with_sizes_copy = _copying(join.split_with_sizes, "split_with_sizes_copy")
squeeze_copy = _copying(shape.squeeze, "squeeze_copy")
t_copy = _copying(shape.t, "t_copy")
transpose_copy = _copying(shape.transpose, "transpose_copy")
unbind_copy = _copying(join.unbind, "unbind_copy")
unfold_copy = _copying(memory.unfold, "unfold_copy")
unsqueeze_copy = _copying(shape.unsqueeze, "unsqueeze_copy")
view_copy = _copying(shape.view, "view_copy")
