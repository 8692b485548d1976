"""Changes of a tensor's own shape: ``tensor.t_()`` and the like."""

from __future__ import annotations

from collections.abc import Sequence
from types import EllipsisType
from typing import TYPE_CHECKING, Any

from .._args import array_of
from .._inplace import LEAF, LEAF_VIEW
from .._modes import grad_on, observers
from .._op import op, rows
from .._runtime import has_tangent, wrap
from .._tape import AccumulateGrad
from .._views import current_node, edit, edits_of, root_of
from . import shape  # noqa: F401  (its rows)
from .memory import as_strided

if TYPE_CHECKING:
    from .._tensor import Tensor


def _in_place_row(name: str, node_name: str, row: Any) -> Any:
    return op(name, node_name, row.kernel, ("self",), view=True, tangent="linear", **row.formulas)


_t_ = _in_place_row("t_", "TBackward1", rows["t"])
_transpose_ = _in_place_row("transpose_", "TransposeBackward1", rows["transpose"])
_unsqueeze_ = _in_place_row("unsqueeze_", "UnsqueezeBackward1", rows["unsqueeze"])
_squeeze_all_ = _in_place_row("squeeze_", "SqueezeBackward3", rows["squeeze"])
_squeeze_dim_ = _in_place_row("squeeze_dim_", "SqueezeBackward4", rows["squeeze_dim"])
_squeeze_dims_ = _in_place_row("squeeze_dims_", "SqueezeBackward5", rows["squeeze_dims"])


def _become(input: Tensor, recorder: Any, *params: Any) -> Tensor:
    """Make the tensor the view that a row makes of what it was; a view stays a view of its base."""
    node, alias = current_node(input), input._alias
    viewed = alias is not None and alias.parent is not None
    if grad_on():
        if node.__class__ is AccumulateGrad:
            raise RuntimeError(LEAF)
        if viewed and root_of(input)._node.__class__ is AccumulateGrad:
            raise RuntimeError(LEAF_VIEW)
        if viewed and node is not None and alias.refusal is not None:
            raise RuntimeError(alias.refusal)
    before = wrap(input._array, node)
    before._alias = alias if viewed else edits_of(input)
    taken = recorder(before, *params)
    if observers:
        has_tangent(taken)
    edit(input)
    edits_of(input).reshaped = True
    input._array, input._layout = taken._array, None
    if node.__class__ is AccumulateGrad:
        node.array = taken._array
    else:
        input._node = taken._node
    if viewed:
        input._alias = taken._alias
    return input


def t_(input: Tensor) -> Tensor:
    """Transpose the tensor itself; see `t`."""
    return _become(input, _t_)


def transpose_(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Swap two dimensions of the tensor itself; see `transpose`."""
    return _become(input, _transpose_, dim0, dim1)


def unsqueeze_(input: Tensor, dim: int) -> Tensor:
    """Give the tensor itself a new dimension of size 1; see `unsqueeze`."""
    return _become(input, _unsqueeze_, dim)


def squeeze_(input: Tensor, dim: int | Sequence[int] | EllipsisType = ...) -> Tensor:
    """Take dimensions of size 1 from the tensor itself; see `squeeze`."""
    if dim is ...:
        return _become(input, _squeeze_all_)
    if isinstance(dim, (tuple, list)):
        return _become(input, _squeeze_dims_, tuple(dim))
    return _become(input, _squeeze_dim_, dim)


def as_strided_(input: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> Tensor:
    """Give the tensor itself other sizes and strides; see `as_strided`."""
    array_of("as_strided_", input)
    return _become(input, as_strided, size, stride, storage_offset)
