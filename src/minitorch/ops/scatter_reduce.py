"""Values combined with those at the places that an index names: sums, products, means and extremes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .._args import text
from .._choices import checks, choice
from .._errors import check_kind
from .._kernels import scatter as kernels
from .._kernels.scatter import positions
from .._op import op
from .._runtime import deliver, raw, wrap
from .gather import (
    _checked,
    _gather_kernel,
    _gathered,
    _kept,
    _narrowed,
    _require_tensor,
    _scatter_add_kernel,
    _scatter_sum_kernel,
)
from .index import checked_slices, outside

if TYPE_CHECKING:
    from .._tensor import Tensor


def _scatter_mean_kernel(
    self: np.ndarray, index: np.ndarray, src: np.ndarray, *, dim: int, counts: np.ndarray, include_self: bool
) -> np.ndarray:
    if self.dtype.kind == "b":
        raise NotImplementedError("scatter_reduce() with 'mean' is not implemented for 'Bool'; convert the input first")
    total = kernels.scatter_reduce(self, index, src, dim, "mean", include_self)
    divide = np.divide if total.dtype.kind == "f" else np.floor_divide
    return divide(total, counts, out=total)


def _scatter_extreme_kernel(
    self: np.ndarray, index: np.ndarray, src: np.ndarray, *, dim: int, reduce: str, include_self: bool
) -> np.ndarray:
    return kernels.scatter_reduce(self, index, src, dim, reduce, include_self)


def _extreme_shares_kernel(
    self: np.ndarray, index: np.ndarray, src: np.ndarray, result: np.ndarray, *, dim: int, include_self: bool, of: str
) -> np.ndarray:
    """The share in the gradient of each entry of ``self`` or of ``src``: those equal to the extreme share it evenly."""
    chosen = self == result
    if not include_self:
        chosen.reshape(-1)[positions(index, dim, self.shape)] = False
    mine = chosen.astype(self.dtype)
    theirs = (src == _gather_kernel(result, index, dim=dim)).astype(self.dtype)
    count = np.maximum(mine + _scatter_sum_kernel(theirs, index, dim=dim, shape=self.shape), 1)
    if of == "self":
        return np.divide(mine, count, out=...)
    return np.divide(theirs, _gather_kernel(count, index, dim=dim), out=...)


def _scatter_prod_kernel(
    self: np.ndarray, index: np.ndarray, src: np.ndarray, *, dim: int, include_self: bool = True
) -> np.ndarray:
    return kernels.scatter_reduce(self, index, src, dim, "prod", include_self)


def _zeros_kernel(src: np.ndarray) -> np.ndarray:
    """1 where ``src`` is 0."""
    return np.equal(src, 0, out=...).astype(src.dtype)


def _zeros_beside(index: np.ndarray, zeros: np.ndarray, dim: int, shape: tuple[int, ...]) -> np.ndarray:
    """How many of the entries of a source that go to the same place are 0."""
    return _gather_kernel(_scatter_sum_kernel(zeros, index, dim=dim, shape=shape), index, dim=dim)


def _lone_zeros_kernel(self: np.ndarray, index: np.ndarray, src: np.ndarray, *, dim: int) -> np.ndarray:
    """1 where ``src`` is the only 0 among the entries that go to the same place."""
    zeros = _zeros_kernel(src)
    return np.multiply(zeros, _zeros_beside(index, zeros, dim, self.shape) == 1, out=...)


_scatter_sum = op("scatter_reduce_sum", "ScatterReduceBackward0", _scatter_add_kernel, ("self", "index", "src"),
                  tangent="linear",
                  self=_kept,
                  src=_gathered)  # fmt: skip
_scatter_mean = op("scatter_reduce_mean", "ScatterReduceBackward0", _scatter_mean_kernel, ("self", "index", "src"),
                   tangent="linear",
                   self=lambda F, g, index, dim, counts, include_self: _kept(F, g / counts, index, dim, include_self),
                   src=lambda F, g, index, dim, counts: F.gather(g / counts, index, dim=dim))  # fmt: skip
op("scatter_extreme_shares", "", _extreme_shares_kernel, ("self", "index", "src", "result"))


def _scatter_extreme_self(
    F: Any, g: Any, self: Any, index: Any, src: Any, result: Any, dim: int, include_self: bool
) -> Any:
    return g * F.scatter_extreme_shares(self, index, src, result, dim=dim, include_self=include_self, of="self")


def _scatter_extreme_src(
    F: Any, g: Any, self: Any, index: Any, src: Any, result: Any, dim: int, include_self: bool
) -> Any:
    shares = F.scatter_extreme_shares(self, index, src, result, dim=dim, include_self=include_self, of="src")
    return F.gather(g, index, dim=dim) * shares


def _scatter_extreme_tangent(
    F: Any, t: Any, self: Any, index: Any, src: Any, result: Any, dim: int, include_self: bool
) -> Any:
    shares = F.scatter_extreme_shares(self, index, src, result, dim=dim, include_self=include_self, of="src")
    return F.scatter_sum(t * shares, index, dim=dim, shape=F.constant(result).shape)


_scatter_extreme = op("scatter_reduce_extreme", "ScatterReduceBackward0", _scatter_extreme_kernel,
                      ("self", "index", "src"),
                      tangent={"self": _scatter_extreme_self, "src": _scatter_extreme_tangent},
                      self=_scatter_extreme_self,
                      src=_scatter_extreme_src)  # fmt: skip


def _scatter_prod_self(F: Any, g: Any, self_shape: Any, index: Any, src: Any, dim: int, include_self: bool) -> Any:
    if not include_self:
        return F.scatter_value(g, index, dim=dim, value=0)
    return g * F.scatter_reduce_prod(F.zeros(self_shape, g) + 1, index, src, dim=dim)


def _scatter_prod_src(
    F: Any, g: Any, self: Any, index: Any, src: Any, result: Any, dim: int, include_self: bool
) -> Any:
    """The product of the others: divided out, but for zeros; where one factor alone is 0, the product without it."""
    zeros = F.zeros_of(src)
    lone = F.scatter_lone_zeros(self, index, src, dim=dim)
    src = F.scatter_prod_once(self, index, src, dim=dim)
    without = F.scatter_reduce_prod(self, index, src * (1 - lone) + lone, dim=dim, include_self=include_self)
    divided = F.gather(g * result, index, dim=dim) / (src + zeros) * (1 - zeros)
    return F.gather(g * without, index, dim=dim) * lone + divided


@checks
def _prod_twice_kernel(
    grad: np.ndarray, self: np.ndarray, index: np.ndarray, src: np.ndarray, *, dim: int
) -> np.ndarray:
    if (_zeros_beside(index, _zeros_kernel(src), dim, self.shape) > 1).any():
        raise RuntimeError(
            "scatter_reduce(): Double backward is unsupported for src when >1 zeros in src are scattered to the same "
            "position in self"
        )
    return grad.copy()


def _twice(F: Any, g: Any, self: Any, index: Any, src: Any, dim: int) -> Any:
    return F.scatter_prod_twice(g, self, index, src, dim=dim)


op("zeros_of", "", _zeros_kernel, ("src",))
op("scatter_lone_zeros", "", _lone_zeros_kernel, ("self", "index", "src"))
op("scatter_prod_once", "ScatterReduceBackward0Backward0", lambda self, index, src, *, dim: src.copy(),
   ("self", "index", "src"), tangent={"src": _twice}, src=_twice)  # fmt: skip
op("scatter_prod_twice", "ScatterReduceBackward0Backward0", _prod_twice_kernel, ("grad", "self", "index", "src"),
   tangent="linear", grad=_twice)  # fmt: skip
raw.scatter_prod_once = lambda self, index, src, dim: src
_scatter_prod = op("scatter_reduce_prod", "ScatterReduceBackward0", _scatter_prod_kernel, ("self", "index", "src"),
                   tangent="transpose",
                   self=_scatter_prod_self,
                   src=_scatter_prod_src)  # fmt: skip


def scatter_reduce(
    input: Tensor,
    dim: int,
    index: Tensor,
    src: Tensor,
    reduce: str,
    *,
    include_self: bool = True,
    out: Tensor | None = None,
) -> Tensor:
    """A copy with values combined along a dimension with those at the places that an index names.

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
    reduce : {"sum", "prod", "mean", "amax", "amin"}
        How.  The gradient of an extreme is shared evenly among those equal to it.
    include_self : bool
        Whether what is there takes part.
    out : Tensor, optional
        Where the result is written.

    Raises
    ------
    RuntimeError
        If an index is out of range, or shapes or dtypes do not fit.

    Examples
    --------
    >>> import minitorch as torch
    >>> index, src = torch.tensor([0, 0, 2]), torch.tensor([1.0, 2.0, 3.0])
    >>> torch.scatter_reduce(torch.ones(3), 0, index, src, "mean", include_self=False)
    tensor([1.5000, 1.0000, 3.0000])
    """
    if out is not None:
        compute = partial(scatter_reduce, input, dim, index, src, reduce, include_self=include_self)
        return deliver("scatter_reduce", compute, (input, index, src), out)
    if text(reduce, "reduce") not in ("sum", "prod", "mean", "amax", "amin"):
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    _require_tensor("scatter_reduce", src)
    dim = _checked("scatter_reduce", input, dim, index, src)
    src = _narrowed(src, index)
    if reduce in ("amax", "amin"):
        return _scatter_extreme(input, index, src, dim, reduce, include_self)
    if reduce == "mean":
        counts = _counts(input, index, dim=dim, include_self=include_self)
        return _scatter_mean(input, index, src, dim, counts, include_self)
    return (_scatter_sum if reduce == "sum" else _scatter_prod)(input, index, src, dim, include_self)


@choice("counts of places", ("self", "index"))
def _counts(self: np.ndarray, index: np.ndarray, *, dim: int, include_self: bool) -> np.ndarray:
    """How many values a mean at each place is taken of; 1 where there are none."""
    ones, base = np.ones(index.shape, self.dtype), np.ones(self.shape, self.dtype)
    return kernels.scatter_reduce(base, index, ones, dim, "sum", include_self)


def index_reduce(
    input: Tensor,
    dim: int,
    index: Tensor,
    source: Tensor,
    reduce: str,
    *,
    include_self: bool = True,
    out: Tensor | None = None,
) -> Tensor:
    """A copy with slices combined along a dimension with those that a vector of indices names.

    Parameters
    ----------
    input : Tensor
        Any shape.
    dim : int
        Which dimension.
    index : Tensor
        int64 or int32, 1-d, from 0.
    source : Tensor
        *input*'s dtype and shape, but for its size along *dim*: that of *index*.
    reduce : {"prod", "mean", "amax", "amin"}
        How; see ``scatter_reduce``.
    include_self : bool
        Whether what is there takes part.
    out : Tensor, optional
        Where the result is written.

    Raises
    ------
    RuntimeError
        If an index is out of range, or shapes or dtypes do not fit.

    Examples
    --------
    >>> import minitorch as torch
    >>> index, source = torch.tensor([0, 0]), torch.tensor([[2.0, 3.0], [4.0, 5.0]])
    >>> torch.index_reduce(torch.ones(2, 2), 0, index, source, "prod")
    tensor([[ 8., 15.],
            [ 1.,  1.]])
    """
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    dim = checked_slices("index_reduce", index, input, dim, source)
    size = (input._array.shape or (1,))[dim]
    if (wrong := outside(index, size, "index_reduce", dim)) is not None:
        raise IndexError(f"index_reduce(): index {wrong} is out of range for dimension {dim} with size {size}")
    check_kind("index_reduce", input._array, "fiu")
    sizes = source._array.shape
    spread = wrap(_spread(index, dim=dim, sizes=sizes))
    return scatter_reduce(input, dim, spread, source, reduce, include_self=include_self, out=out)


@choice("indices of slices")
def _spread(self: np.ndarray, *, dim: int, sizes: tuple[int, ...]) -> np.ndarray:
    places = self.reshape((-1,) + (1,) * (len(sizes) - dim - 1)) if sizes else self.reshape(())
    return np.broadcast_to(places, sizes)
