"""Views of a whole tensor: other sizes, another order of dimensions.

Expanded views are in ``broadcast``, windows and views of any strides in ``memory``, parts in ``join``, selections by
index in ``subscript``.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from types import EllipsisType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.exceptions import AxisError

from .._args import array_of, arrays_of, dim_of, dims_of, either, integer_or_integers, integers, sizes_given
from .._choices import choice
from .._dtypes import to_numpy
from .._op import documents, op
from .._runtime import raw, traced, wrap
from .._saved import unsigned
from .._views import edits_of
from . import copies

if TYPE_CHECKING:
    from .._tensor import Tensor


# -- sizes -------------------------------------------------------------------------------------------------------------
def _view_kernel(self: np.ndarray, *, size: tuple[int, ...]) -> np.ndarray:
    try:
        out = self.reshape(size)
    except ValueError:
        raise _invalid_shape(self, size) from None
    if out.shape != size and min(size, default=0) < -1:
        raise _invalid_shape(self, size)
    owner = out.base
    if owner is self or (owner is not None and owner is self.base):
        return out
    raise RuntimeError(
        "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
        "contiguous subspaces). Use .reshape(...) instead."
    )


def _invalid_shape(array: np.ndarray, size: tuple[int, ...]) -> RuntimeError:
    sizes = list(size)
    if sizes.count(-1) > 1:
        return RuntimeError("only one dimension can be inferred")
    if -1 in sizes and math.prod(sizes) == 0:
        return RuntimeError(
            f"cannot reshape tensor of {array.size} elements into shape {sizes} because the unspecified dimension "
            "size -1 can "
            "be any value and is ambiguous"
        )
    for place, wrong in enumerate(sizes):
        if wrong < -1:
            return RuntimeError(f"invalid shape dimension {wrong} at index {place} of shape {sizes}")
    return RuntimeError(f"shape '{sizes}' is invalid for input of size {array.size}")


_view = op("view", "ViewBackward0", _view_kernel, ("self",), view=True, tangent="linear",
           self=lambda F, g, self_shape: F.view(g, size=self_shape))  # fmt: skip

_unsafe_view = op("unsafe_view", "UnsafeViewBackward0", lambda self, *, size: self.reshape(size), ("self",),
                  tangent="linear", self=lambda F, g, self_shape: F.view(g, size=self_shape))  # fmt: skip

# what a formula calls copies a gradient that is not contiguous
raw.view = lambda self, *, size: self.reshape(size)
traced.view = lambda self, *, size: _reshaped(self, size)


def view(input: Tensor, *sizes: Any, size: Sequence[int] | None = None, dtype: Any = None) -> Tensor:
    """The same memory with other sizes.

    Parameters
    ----------
    input : Tensor
        Any shape.
    *sizes : int, or a sequence of int
        The sizes of the result, of which one may be -1: what is left.
    dtype : dtype
        Instead of sizes: the same memory, read as another dtype; it has no gradient.

    Raises
    ------
    RuntimeError
        If the sizes do not fit, or would need a copy (`reshape` copies then).

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.arange(6).view(2, -1)
    tensor([[0, 1, 2],
            [3, 4, 5]])
    """
    if sizes and sizes[0].__class__ is int:
        return _view(input, sizes)
    if (
        dtype is None
        and len(sizes) == 1
        and not isinstance(sizes[0], (tuple, list))
        and not hasattr(sizes[0], "__index__")
    ):
        dtype = sizes[0]
    return _view(input, sizes_given("view", sizes, size)) if dtype is None else _reinterpreted(input, to_numpy(dtype))


@choice("view as another dtype", view=True)
def _read_as(self: np.ndarray, *, dtype: np.dtype[Any]) -> np.ndarray:
    return self.view(dtype)


def _reinterpreted(input: Tensor, dtype: np.dtype[Any]) -> Tensor:
    array = input._array
    if array.dtype is dtype:
        return _view(input, array.shape)
    try:
        twin: Tensor = wrap(_read_as(input, dtype=dtype))
    except ValueError as error:
        raise RuntimeError(
            f"view(): a tensor of shape {list(array.shape)} and dtype {array.dtype} cannot be read as {dtype}: {error}"
        ) from None
    twin._alias = edits_of(input)
    return twin


def view_as(input: Tensor, other: Tensor) -> Tensor:
    """``input.view(other.shape)``."""
    return _view(input, array_of("view_as", other, "other", 2).shape)


def _reshaped(input: Tensor, size: tuple[int, ...]) -> Tensor:
    """A view where one is possible, a copy otherwise."""
    array = array_of("reshape", input)
    if not array.flags.c_contiguous:
        try:
            array.reshape(size, copy=False)
        except ValueError as error:
            if "copy" not in str(error):
                raise _invalid_shape(array, size) from None
            return _unsafe_view(input, size)
    return _view(input, size)


def reshape(input: Tensor, *sizes: Any, shape: Sequence[int] | None = None) -> Tensor:
    """The elements in row-major order, with other sizes: a view where strides allow, a copy otherwise.

    Parameters
    ----------
    input : Tensor
        Any shape.
    *sizes : int, or a sequence of int
        The sizes of the result, of which one may be -1: what is left.

    Raises
    ------
    RuntimeError
        If the sizes do not fit.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.arange(6).reshape(3, 2).T.reshape(-1)
    tensor([0, 2, 4, 1, 3, 5])
    """
    size = sizes if sizes and sizes[0].__class__ is int else sizes_given("reshape", sizes, shape, "shape")
    return _view(input, size) if array_of("reshape", input).flags.c_contiguous else _reshaped(input, size)


def reshape_as(input: Tensor, other: Tensor) -> Tensor:
    """``input.reshape(other.shape)``."""
    return _reshaped(input, array_of("reshape_as", other, "other", 2).shape)


def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Dimensions *start_dim* to *end_dim* as one; the tensor itself where that changes nothing.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.zeros(2, 3, 4).flatten(1).shape
    torch.Size([2, 12])
    """
    array = array_of("flatten", input)
    shape = array.shape
    if start_dim == 0 and end_dim == -1 and len(shape) > 1:
        return _view(input, (array.size,)) if array.flags.c_contiguous else _reshaped(input, (array.size,))
    start, end = dim_of(start_dim, len(shape)), dim_of(end_dim, len(shape))
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not shape:
        return _view(input, (1,))
    if start == end:
        return input
    return _reshaped(input, (*shape[:start], math.prod(shape[start : end + 1]), *shape[end + 1 :]))


def ravel(input: Tensor) -> Tensor:
    """The elements in row-major order, in one dimension: a view of *input* where it is contiguous.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.tensor([[1, 2], [3, 4]]).ravel()
    tensor([1, 2, 3, 4])
    """
    flat = array_of("ravel", input).flags.c_contiguous
    return _view(input if flat else copies._contiguous(input), (input._array.size,))


def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """A view with dimension *dim* as several.

    Parameters
    ----------
    input : Tensor
        At least one dimension.
    dim : int
        The dimension.
    sizes : sequence of int
        Its new sizes, of which one may be -1.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.zeros(2, 12).unflatten(1, (3, -1)).shape
    torch.Size([2, 3, 4])
    """
    shape = array_of("unflatten", input).shape
    dim = dim_of(dim, len(shape))
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    given = integers(sizes, "sizes")
    known = math.prod([n for n in given if n != -1])
    if given.count(-1) == 1 and known and shape[dim] % known == 0:
        given = tuple([shape[dim] // known if n == -1 else n for n in given])
    if math.prod(given) != shape[dim]:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(given)} don't multiply up to the size of dim {dim} ({shape[dim]}) "
            "in the input tensor"
        )
    return _view(input, (*shape[:dim], *given, *shape[dim + 1 :]))


# -- dimensions of size 1 ----------------------------------------------------------------------------------------------
def _unsqueeze_kernel(self: np.ndarray, *, dim: int) -> np.ndarray:
    if dim == 0:
        return self[None]
    if dim == -1:
        return self[..., None]
    place = dim if dim >= 0 else dim + self.ndim + 1
    if not 0 <= place <= self.ndim:
        dim_of(dim, self.ndim + 1)
    return self[(slice(None),) * place + (None,)]


def _unsqueeze_dims_kernel(self: np.ndarray, *, dim: int | tuple[int, ...]) -> np.ndarray:
    if not isinstance(dim, tuple):
        return _unsqueeze_kernel(self, dim=dim)
    ndim = self.ndim + len(dim)
    new = {d % ndim for d in dim}
    return self[(*[None if d in new else slice(None) for d in range(ndim)], ...)]


def _squeeze_dims_kernel(self: np.ndarray, *, dim: tuple[int, ...]) -> np.ndarray:
    return self.squeeze(tuple([d for d in dims_of(dim, self.ndim) if self.ndim and self.shape[d] == 1]))


def _squeeze_dim_kernel(self: np.ndarray, *, dim: int) -> np.ndarray:
    try:
        return self.squeeze(dim) if self.shape[dim] == 1 else self
    except IndexError:  # 0-d tensors have a dimension 0
        dim_of(dim, self.ndim)
        return self


_unsqueeze = op("unsqueeze", "UnsqueezeBackward0", _unsqueeze_kernel, ("self",), view=True, tangent="linear",
                self=lambda F, g, dim: F.squeeze_dim(g, dim=dim))  # fmt: skip
op("unsqueeze_dims", "UnsqueezeBackward0", _unsqueeze_dims_kernel, ("self",), view=True, tangent="linear",
   self=lambda F, g, self_shape: F.view(g, size=self_shape))  # fmt: skip
_squeeze_all = op("squeeze", "SqueezeBackward0", lambda self: self.squeeze(), ("self",), view=True, tangent="linear",
                  self=lambda F, g, self_shape: F.view(g, size=self_shape))  # fmt: skip
_squeeze_dim = op("squeeze_dim", "SqueezeBackward1", _squeeze_dim_kernel, ("self",), view=True, tangent="linear",
                  self=lambda F, g, self_shape, dim:
                      F.unsqueeze(g, dim=dim) if self_shape and self_shape[dim] == 1 else g)  # fmt: skip
_squeeze_dims = op("squeeze_dims", "SqueezeBackward2", _squeeze_dims_kernel, ("self",), view=True, tangent="linear",
                   self=lambda F, g, self_shape: F.view(g, size=self_shape))  # fmt: skip


@documents(_unsqueeze)
def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """A view with a new dimension of size 1 at place *dim*.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.zeros(2, 3).unsqueeze(-1).shape
    torch.Size([2, 3, 1])
    """


def squeeze(
    input: Tensor, dim: int | Sequence[int] | EllipsisType = ..., *, axis: int | Sequence[int] | None = None
) -> Tensor:
    """A view without dimensions of size 1.

    Parameters
    ----------
    input : Tensor
        Any shape.
    dim : int or sequence of int, optional
        Which dimensions go, if their size is 1; all such where it is not given.
    axis
        NumPy's name for *dim*.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.zeros(1, 3, 1).squeeze().shape, torch.zeros(1, 3, 1).squeeze(0).shape
    (torch.Size([3]), torch.Size([3, 1]))
    """
    dim = dim if axis is None else either(dim, axis, ...)
    if dim is ...:
        return _squeeze_all(input)
    if isinstance(dim, (tuple, list)):
        return _squeeze_dims(input, tuple(dim))
    return _squeeze_dim(input, dim)


def _at_least(name: str, ndim: int, tensors: tuple[Any, ...], widened: Any) -> Any:
    given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors
    out = tuple(
        [
            t if a.ndim >= ndim else _view(t, (1,) * ndim) if not a.ndim else widened(t)
            for t, a in zip(given, arrays_of(name, given))
        ]
    )
    return out if given is not tensors or len(tensors) != 1 else out[0]


def atleast_1d(*tensors: Any) -> Any:
    """Tensors with at least one dimension: 0-d ones get one; one tensor alone comes back alone."""
    return _at_least("atleast_1d", 1, tensors, lambda t: t)


def atleast_2d(*tensors: Any) -> Any:
    """Tensors with at least two dimensions: 1-d ones become rows; one tensor alone comes back alone.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.atleast_2d(torch.tensor([1, 2]))
    tensor([[1, 2]])
    """
    return _at_least("atleast_2d", 2, tensors, lambda t: _unsqueeze(t, 0))


def atleast_3d(*tensors: Any) -> Any:
    """Tensors with at least three dimensions: ``(n,)`` becomes ``(1, n, 1)``, ``(n, m)`` becomes ``(n, m, 1)``."""
    return _at_least("atleast_3d", 3, tensors, lambda t: _unsqueeze(_unsqueeze(t, 0) if t._array.ndim == 1 else t, -1))


# -- order of dimensions -----------------------------------------------------------------------------------------------
def _transpose_kernel(self: np.ndarray, *, dim0: int, dim1: int) -> np.ndarray:
    try:
        return self.swapaxes(dim0, dim1)
    except AxisError:  # 0-d tensors have a dimension 0
        dim_of(dim0, self.ndim), dim_of(dim1, self.ndim)
        return self


def _t_kernel(self: np.ndarray) -> np.ndarray:
    if self.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {self.ndim}D")
    return self.T


def _mT_kernel(self: np.ndarray) -> np.ndarray:
    if self.ndim > 1:
        return self.mT
    if self.ndim:
        raise RuntimeError(
            f"tensor.mT is only supported on matrices or batches of matrices. Got {self.ndim}-D tensor; use x as it is"
        )
    warnings.warn("Tensor.mT is deprecated on 0-D tensors. This function is the identity in these cases.", stacklevel=3)
    return self


def _T_kernel(self: np.ndarray) -> np.ndarray:
    if self.ndim > 2:
        warnings.warn(
            "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it "
            "will throw an "
            "error in a future release. Consider `x.mT` to transpose batches of matrices or "
            "`x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the dimensions of a tensor.",
            stacklevel=3,
        )
    elif not self.ndim:
        warnings.warn(
            "Tensor.T is deprecated on 0-D tensors. This function is the identity in these cases.", stacklevel=3
        )
    return self.T


def _permute_kernel(self: np.ndarray, *, dims: tuple[int, ...]) -> np.ndarray:
    try:
        return self.transpose(dims)
    except ValueError:
        if len(dims) != self.ndim:
            raise RuntimeError(
                "number of dimensions in the tensor input does not match the length of the desired ordering of "
                "dimensions "
                f"i.e. input.dim() = {self.ndim} is not equal to len(dims) = {len(dims)}"
            ) from None
        dims_of([dim_of(d, self.ndim) for d in dims], self.ndim)
        raise


def inverse(dims: Sequence[int]) -> tuple[int, ...]:
    """The permutation that undoes *dims*."""
    places = [d % len(dims) for d in dims]
    return tuple([places.index(d) for d in range(len(places))])


_transpose = op("transpose", "TransposeBackward0", _transpose_kernel, ("self",), view=True, tangent="linear",
                shows={"dim0": unsigned("dim0"), "dim1": unsigned("dim1")},
                self=lambda F, g, dim0, dim1: F.transpose(g, dim0=dim0, dim1=dim1))  # fmt: skip
_t = op("t", "TBackward0", _t_kernel, ("self",), view=True, tangent="linear", self=lambda F, g: F.t(g))
_mT = op("mT", "TransposeBackward0", _mT_kernel, ("self",), view=True, tangent="linear",
         shows={"dim0": lambda node: 2**64 - 2, "dim1": lambda node: 2**64 - 1},
         self=lambda F, g: F.mT(g) if g.ndim else g)  # fmt: skip
_T = op("T", "PermuteBackward0", _T_kernel, ("self",), view=True, tangent="linear",
        shows={"dims": lambda node: tuple(range(len(node.layout[0]) - 1, -1, -1))},
        self=lambda F, g: F.permute(g, dims=tuple(range(len(g.shape) - 1, -1, -1))))  # fmt: skip
_permute = op("permute", "PermuteBackward0", _permute_kernel, ("self",), view=True, tangent="linear",
              shows={"dims": unsigned("dims")},
              self=lambda F, g, dims: F.permute(g, dims=inverse(dims)))  # fmt: skip


@documents(_transpose)
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """A view with two dimensions swapped.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.zeros(2, 3, 4).transpose(0, -1).shape
    torch.Size([4, 3, 2])
    """


swapdims = transpose


def swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:
    """`transpose` by another name."""
    return _transpose(input, axis0, axis1)


@documents(_t)
def t(input: Tensor) -> Tensor:
    """The transposed matrix, a view; tensors of fewer dimensions as they are.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.tensor([[1, 2], [3, 4]]).t()
    tensor([[1, 3],
            [2, 4]])
    """


def permute(input: Tensor, dims: Sequence[int]) -> Tensor:
    """A view with the dimensions in another order.

    Parameters
    ----------
    input : Tensor
        Any shape.
    dims : sequence of int
        For each dimension of the result, which dimension of *input* it is; the method takes several ints too.

    Raises
    ------
    RuntimeError
        If a dimension is missing or comes twice.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.zeros(2, 3, 4).permute(2, 0, 1).shape
    torch.Size([4, 2, 3])
    """
    return _permute(input, integers(dims, "dims"))


def permute_method(input: Tensor, *order: Any, dims: Sequence[int] | None = None) -> Tensor:
    """A view with the dimensions in another order, given as ints or as a sequence of them; see `permute`."""
    return _permute(input, order if len(order) > 1 else sizes_given("permute", order, dims, "dims"))


def movedim(input: Tensor, source: int | Sequence[int], destination: int | Sequence[int]) -> Tensor:
    """A view with some dimensions moved to other places, the others in their order.

    Parameters
    ----------
    input : Tensor
        Any shape.
    source, destination : int or sequence of int
        Which dimensions, and where each goes.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.zeros(2, 3, 4).movedim(0, -1).shape
    torch.Size([3, 4, 2])
    """
    ndim = array_of("movedim", input).ndim
    given = [
        dims if isinstance(dims, tuple) else (dims,)
        for dims in (integer_or_integers(source, "source"), integer_or_integers(destination, "destination"))
    ]
    if isinstance(source, (tuple, list)) is not isinstance(destination, (tuple, list)):
        raise TypeError("movedim(): 'source' and 'destination' must both be ints or both be tuples of ints")
    if len(given[0]) != len(given[1]):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({list(given[0])} dims) should contain the same "
            "number of dims "
            f"as destination ({list(given[1])} dims)"
        )
    for name, dims in zip(("source", "destination"), given):
        if len({dim_of(d, ndim) for d in dims}) != len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({list(dims)})")
    if not ndim:
        return _permute(input, ())
    places = {to % ndim: moved % ndim for moved, to in zip(*given)}
    others = iter([d for d in range(ndim) if d not in places.values()])
    return _permute(input, tuple([places[d] if d in places else next(others) for d in range(ndim)]))


moveaxis = movedim


@documents(_T)
def T(input: Tensor) -> Tensor:
    """``tensor.T``: a view of a matrix transposed; of another tensor, with its dimensions reversed (deprecated)."""


@documents(_mT)
def mT(input: Tensor) -> Tensor:
    """``tensor.mT``: a view with the last two dimensions swapped."""


def adjoint(input: Tensor) -> Tensor:
    """The last two dimensions swapped (numbers here are real: nothing is conjugated)."""
    ndim = array_of("adjoint", input).ndim
    if ndim == 1:
        raise RuntimeError(
            "adjoint() is only supported on matrices or batches of matrices. Got 1-D tensor; use x as it is"
        )
    return _transpose(input, -2 if ndim else -1, -1)


def adjoint_matrix(input: Tensor) -> Tensor:
    """``tensor.H``: a matrix transposed (numbers here are real: nothing is conjugated)."""
    if input._array.ndim not in (0, 2):
        raise RuntimeError(
            f"tensor.H is only supported on matrices (2-D tensors). Got {input._array.ndim}-D tensor. For batches "
            "of matrices, "
            "consider using tensor.mH"
        )
    return _transpose(input, 0, -1)
