"""Gather and scatter: reading, writing and adding at places that index tensors name."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _runtime
from .._args import array_of, dim_of, either, flag, integer, text
from .._choices import choice
from .._errors import broadcast_problem, scalar_name
from .._kernels import scatter as kernels
from .._kernels.scatter import positions
from .._modes import observers
from .._op import op
from .._runtime import deliver, traced, wrap
from .._types import Number
from . import copies
from .index import first_outside, outside

if TYPE_CHECKING:
    from .._tensor import Tensor


# -- gather and scatter: kernels ---------------------------------------------------------------------------------------
def _gather_kernel(self: np.ndarray, index: np.ndarray, *, dim: int) -> np.ndarray:
    return np.asarray(self.reshape(-1)[positions(index, dim, self.shape)])


def _scatter_sum_kernel(src: np.ndarray, index: np.ndarray, *, dim: int, shape: tuple[int, ...]) -> np.ndarray:
    out = np.zeros(shape, src.dtype)
    np.add.at(out.reshape(-1), positions(index, dim, shape).reshape(-1), src.reshape(-1))
    return out


def _scatter_kernel(self: np.ndarray, index: np.ndarray, src: Any, *, dim: int) -> np.ndarray:
    out = np.array(self, order="C")
    out.reshape(-1)[positions(index, dim, self.shape)] = src
    return out


def _scatter_value_kernel(self: np.ndarray, index: np.ndarray, *, dim: int, value: Any) -> np.ndarray:
    return _scatter_kernel(self, index, value, dim=dim)


def _scatter_add_kernel(
    self: np.ndarray, index: np.ndarray, src: np.ndarray, *, dim: int, include_self: bool = True
) -> np.ndarray:
    return kernels.scatter_reduce(self, index, src, dim, "sum", include_self)


# -- gather and scatter: rows ------------------------------------------------------------------------------------------
def _overwritten(F: Any, g: Any, index: Any, dim: int) -> Any:
    return F.scatter_value(g, index, dim=dim, value=0)


def _kept(F: Any, g: Any, index: Any, dim: int, include_self: bool) -> Any:
    return g if include_self else F.scatter_value(g, index, dim=dim, value=0)


def _gathered(F: Any, g: Any, index: Any, dim: int) -> Any:
    return F.gather(g, index, dim=dim)


_gather = op("gather", "GatherBackward0", _gather_kernel, ("self", "index"), tangent="linear",
             self=lambda F, g, self_shape, index, dim: F.scatter_sum(g, index, dim=dim, shape=self_shape))  # fmt: skip
op("scatter_sum", "ScatterAddBackward0", _scatter_sum_kernel, ("src", "index"), tangent="linear", src=_gathered)
_scatter = op("scatter", "ScatterBackward0", _scatter_kernel, ("self", "index", "src"), tangent="linear",
              self=_overwritten,
              src=_gathered)  # fmt: skip
_scatter_value = op("scatter_value", "ScatterBackward1", _scatter_value_kernel, ("self", "index"), tangent="formulas",
                    self=_overwritten)  # fmt: skip
_scatter_add = op("scatter_add", "ScatterAddBackward0", _scatter_add_kernel, ("self", "index", "src"), tangent="linear",
                  self=_kept,
                  src=_gathered)  # fmt: skip


# -- gather and scatter: functions -------------------------------------------------------------------------------------
def _checked(name: str, input: Any, dim: Any, index: Any, src: Any = None) -> int:
    """The dimension, for a gather or scatter whose tensors fit one another."""
    array, where = array_of(name, input), array_of(name, index, "index", 3)
    if dim.__class__ is not int or not 0 <= dim < array.ndim:
        dim = dim_of(dim, array.ndim)
    if where.dtype.char != "l" and where.dtype not in (np.int64, np.int32) and where.size:
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index, but got {scalar_name(where.dtype)}")
    if src is not None and src._array.dtype is not array.dtype and src._array.dtype != array.dtype:
        came = f"{scalar_name(array.dtype)} and {scalar_name(src._array.dtype)}"
        raise RuntimeError(f"scatter(): Expected self.dtype to be equal to src.dtype, but got {came}")
    if not where.size:
        return dim
    _check_sizes(name, array.shape, dim, where.shape, None if src is None else src._array.shape)
    size = array.shape[dim] if array.ndim else 1
    if (wrong := outside(index, size, name, dim, error=RuntimeError)) is not None:
        raise RuntimeError(f"{name}(): index {wrong} is out of bounds for dimension {dim} with size {size}")
    return dim


def _check_sizes(
    name: str, sizes: tuple[int, ...], dim: int, index: tuple[int, ...], src: tuple[int, ...] | None
) -> None:
    """Refuse an index that is larger than what it reads or writes."""
    for which, other in (("input" if name == "gather" else "self", sizes), ("src", src)):
        if other is not None and len(other) != len(index) and (len(other) or 1) != (len(index) or 1):
            raise RuntimeError(
                f"{name}(): Index tensor must have the same number of dimensions as {which} tensor: got {len(index)} "
                f"and {len(other)}"
            )
    too_large = False
    for d, (wanted, size) in enumerate(zip(index, sizes)):
        too_large = too_large or (wanted > size and d != dim)
    if src is not None and (too_large or any([wanted > given for wanted, given in zip(index or (1,), src or (1,))])):
        raise RuntimeError(
            f"Expected index {list(index)} to be no larger than self {list(sizes)} apart from dimension {dim} and to "
            f"be no larger size than src {list(src)}"
        )
    if too_large:
        raise RuntimeError(
            f"{name}(): Size does not match: expected index {list(index)} to be no larger than self {list(sizes)} "
            f"apart from dimension {dim}"
        )


def _narrowed(src: Any, index: Any) -> Any:
    """The leading part of a source that an index reads."""
    wanted = index._array.shape
    for dim, size in enumerate(wanted or (1,) * src._array.ndim):
        if src._array.ndim and src._array.shape[dim] != size:
            src = traced.slice(src, dim, 0, size, 1)
    if len(wanted) == src._array.ndim:
        return src
    return traced.view(src, size=wanted) if src._array.ndim else traced.expand(src, size=wanted)


def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False, out: Tensor | None = None) -> Tensor:
    """Values read along a dimension: ``out[i][j] = input[index[i][j]][j]`` for ``dim=0``.

    Parameters
    ----------
    input : Tensor
        Any shape.
    dim : int
        Which dimension.
    index : Tensor
        int64 or int32, from 0; as many dimensions as *input*, and no larger than it but along *dim*.
    sparse_grad : bool
        Has no effect: gradients are dense.
    out : Tensor, optional
        Where the result is written.

    Returns
    -------
    Tensor
        Of *index*'s shape.

    Raises
    ------
    RuntimeError
        If an index is out of range, or shapes do not fit.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.gather(torch.tensor([[1, 2], [3, 4]]), 1, torch.tensor([[0], [1]]))
    tensor([[1],
            [4]])
    """
    if sparse_grad is not False:
        flag(sparse_grad, "sparse_grad")
    if out is not None:
        return deliver("gather", lambda: gather(input, dim, index), (input, index), out)
    return _gather(input, index, _checked("gather", input, dim, index))


def scatter(
    input: Tensor,
    dim: int,
    index: Tensor,
    src: Tensor | Number | None = None,
    *,
    value: Number | None = None,
    reduce: str | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """A copy with values written along a dimension: ``out[index[i][j]][j] = src[i][j]`` for ``dim=0``.

    Parameters
    ----------
    input : Tensor
        Any shape.
    dim : int
        Which dimension.
    index : Tensor
        int64 or int32, from 0; as many dimensions as *input*, and no larger than it but along *dim*.  Where it repeats
        a place, one of the values stays.
    src : Tensor or number
        The values: *input*'s dtype, and at least as large as *index*; a 0-d tensor is one value.
    value : number
        The same value for all, in place of *src*; a 0-d tensor is taken as a number, without derivative.
    reduce : {"add", "multiply"}, optional
        Combine with what is there, instead of replacing it.
    out : Tensor, optional
        Where the result is written.

    Raises
    ------
    RuntimeError
        If an index is out of range, or shapes or dtypes do not fit.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.scatter(torch.zeros(2, 3), 1, torch.tensor([[2], [0]]), 5)
    tensor([[0., 0., 5.],
            [5., 0., 0.]])
    """
    if out is not None:
        compute = partial(scatter, input, dim, index, src, value=value, reduce=reduce)
        return deliver("scatter", compute, (input, index, src), out)
    if (src is None) == (value is None):
        raise TypeError("scatter(): give either src or value")
    if reduce is not None and text(reduce, "reduce") not in ("add", "multiply"):
        raise RuntimeError(f"scatter(): reduce argument must be either add or multiply, but got {reduce!r}.")
    if isinstance(value, _runtime.Tensor) and not value._array.ndim:
        if _runtime.moves(value):
            raise TypeError("scatter(): argument 'value' is a number, which has no derivative; pass the tensor as src")
        value = value.item()
    if isinstance(src, _runtime.Tensor):
        dim = _checked("scatter", input, dim, index, src)
        values = _narrowed(src, index)
    else:
        dim = _checked("scatter", input, dim, index)
        number = copies.number_as(value if src is None else src, input._array.dtype)
        if reduce is None:
            return _scatter_value(input, index, dim, number.item())
        values = wrap(np.full(index._array.shape, number))
    row = {None: _scatter, "add": _scatter_add, "multiply": traced.scatter_reduce_prod}[reduce]
    return row(input, index, values, dim)


def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A copy with values added along a dimension: ``out[index[i][j]][j] += src[i][j]`` for ``dim=0``.

    Parameters
    ----------
    input : Tensor
        Any shape.
    dim : int
        Which dimension.
    index : Tensor
        int64 or int32, from 0; as many dimensions as *input*, and no larger than it but along *dim*.
    src : Tensor
        *input*'s dtype, at least as large as *index*.
    out : Tensor, optional
        Where the result is written.

    Raises
    ------
    RuntimeError
        If an index is out of range, or shapes or dtypes do not fit.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.scatter_add(torch.zeros(3), 0, torch.tensor([0, 0, 2]), torch.tensor([1.0, 2.0, 3.0]))
    tensor([3., 0., 3.])
    """
    if out is not None:
        return deliver("scatter_add", lambda: scatter_add(input, dim, index, src), (input, index, src), out)
    _require_tensor("scatter_add", src)
    dim = _checked("scatter_add", input, dim, index, src)
    return _scatter_add(input, index, _narrowed(src, index), dim)


def _require_tensor(name: str, src: Any) -> None:
    if not isinstance(src, _runtime.Tensor):
        raise TypeError(f"{name}(): argument 'src' (position 3) must be Tensor, not {type(src).__name__}")


def take_along_dim(
    input: Tensor, indices: Tensor, dim: int | None = None, *, out: Tensor | None = None, axis: int | None = None
) -> Tensor:
    """``gather`` whose tensors broadcast along the other dimensions; what ``argmax`` and ``argsort`` return fits.

    Parameters
    ----------
    input : Tensor
        Any shape.
    indices : Tensor
        int64; negative ones count from the end.
    dim : int, optional
        Which dimension; None reads from the flattened input.
    out : Tensor, optional
        Where the result is written.
    axis
        NumPy's name for *dim*.

    Raises
    ------
    RuntimeError
        If an index is out of range or not int64, or the numbers of dimensions differ.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.take_along_dim(torch.tensor([[1, 2], [3, 4]]), torch.tensor([[1], [0]]), 1)
    tensor([[2],
            [3]])
    """
    dim = dim if axis is None else either(dim, axis)
    if out is not None:
        return deliver("take_along_dim", lambda: take_along_dim(input, indices, dim), (input, indices), out)
    array_of("take_along_dim", input)
    if dim is not None and dim.__class__ is not int:
        dim = integer(dim, "dim")
    if array_of("take_along_dim", indices, "indices", 2).dtype != np.int64:
        raise RuntimeError(
            f"torch.take_along_dim(): dtype of indices should be Long but got {scalar_name(indices._array.dtype)}"
        )
    if dim is None:
        input, indices, dim = traced.view(input, size=(-1,)), traced.view(indices, size=(-1,)), 0
    sizes, wanted = input._array.shape, indices._array.shape
    if len(sizes) != len(wanted):
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
            f"{len(sizes)} dimensions for input, and {len(wanted)} dimensions for indices"
        )
    dim = dim_of(dim, len(sizes))
    if sizes:
        rest = _broadcast_shape(sizes[:dim] + (1,) + sizes[dim + 1 :], wanted[:dim] + (1,) + wanted[dim + 1 :])
        input = traced.expand(input, size=rest[:dim] + sizes[dim : dim + 1] + rest[dim + 1 :])
        indices = traced.expand(indices, size=rest[:dim] + wanted[dim : dim + 1] + rest[dim + 1 :])
        size = sizes[dim]
        if first_outside(indices._array, size, -size) is None and (observers or (indices._array < 0).any()):
            indices = wrap(_counted_from_end(indices, size=size))
    return gather(input, dim, indices)


@choice("indices counted from the end")
def _counted_from_end(self: np.ndarray, *, size: int) -> np.ndarray:
    return np.add(self, size, out=self.copy(), where=self < 0)


def _broadcast_shape(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise RuntimeError(broadcast_problem(list(shapes))) from None
