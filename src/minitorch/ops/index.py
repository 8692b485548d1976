"""Operations on the slices along one dimension that a vector of indices names; embeddings."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _runtime
from .._args import array_of, dim_of, integer
from .._choices import choice, replace
from .._errors import scalar_name
from .._kernels.scatter import ALL, add_along
from .._modes import differs, observers
from .._op import op
from .._runtime import deliver, severed
from .._saved import unsigned
from .._types import Number
from .._views import edit
from . import copies

if TYPE_CHECKING:
    from .._tensor import Tensor


def _select_rows_kernel(self: np.ndarray, index: np.ndarray, *, dim: int) -> np.ndarray:
    return self.take(index.reshape(-1), axis=dim) if self.ndim else self.copy()


def _sum_rows_kernel(source: np.ndarray, index: np.ndarray, *, dim: int, shape: tuple[int, ...]) -> np.ndarray:
    return add_along(np.zeros(shape, source.dtype), index.reshape(-1), source, dim)


def _index_add_kernel(
    self: np.ndarray, index: np.ndarray, source: np.ndarray, *, dim: int, alpha: Number = 1
) -> np.ndarray:
    scaled = source if alpha == 1 else source * copies.filler(alpha, source.dtype)
    return add_along(np.array(self, order="C"), index.reshape(-1), scaled, dim)


def _index_copy_kernel(self: np.ndarray, index: np.ndarray, source: Any, *, dim: int) -> np.ndarray:
    out = np.array(self, order="C")
    rows = out if out.ndim else out.reshape(1)
    rows[(ALL,) * dim + (index.reshape(-1),)] = source
    return out


def _index_fill_kernel(self: np.ndarray, index: np.ndarray, *, dim: int, value: Any) -> np.ndarray:
    return _index_copy_kernel(self, index, value, dim=dim)


def _index_fill_tensor_kernel(self: np.ndarray, index: np.ndarray, value: np.ndarray, *, dim: int) -> np.ndarray:
    return _index_copy_kernel(self, index, value, dim=dim)


def _index_add_source(F: Any, g: Any, index: Any, dim: int, alpha: Number) -> Any:
    selected = F.index_select(g, index, dim=dim)
    return selected if alpha == 1 else selected * alpha


_index_select = op("index_select", "IndexSelectBackward0", _select_rows_kernel, ("self", "index"), tangent="linear",
                   self=lambda F, g, self_shape, index, dim:
                       F.index_sum(g, index, dim=dim, shape=self_shape))  # fmt: skip
op("index_sum", "IndexAddBackward0", _sum_rows_kernel, ("source", "index"), tangent="linear",
   source=lambda F, g, index, dim: F.index_select(g, index, dim=dim))  # fmt: skip
_index_add = op("index_add", "IndexAddBackward0", _index_add_kernel, ("self", "index", "source"), tangent="linear",
                self=lambda F, g: g,
                source=_index_add_source)  # fmt: skip
_index_copy = op("index_copy", "IndexCopyBackward0", _index_copy_kernel, ("self", "index", "source"), tangent="linear",
                 self=lambda F, g, index, dim: F.index_fill(g, index, dim=dim, value=0),
                 source=lambda F, g, index, dim: F.index_select(g, index, dim=dim))  # fmt: skip
_index_fill = op("index_fill", "IndexFillBackward0", _index_fill_kernel, ("self", "index"),
                 tangent="formulas",
                 self=lambda F, g, index, dim: F.index_fill(g, index, dim=dim, value=0))  # fmt: skip
_index_fill_tensor = op("index_fill_tensor", "IndexFillBackward1", _index_fill_tensor_kernel,
                        ("self", "index", "value"), tangent="linear",
                        self=lambda F, g, index, dim: F.index_fill(g, index, dim=dim, value=0),
                        value=lambda F, g, index, dim:
                            F.sum_to(F.keep(g, F.slices_named(g, index, dim=dim)), shape=()))  # fmt: skip


def _slices_named_kernel(like: np.ndarray, index: np.ndarray, *, dim: int) -> np.ndarray:
    """Whether an index names the slices, along a dimension, that elements are in: once or more often."""
    return _index_copy_kernel(np.zeros(like.shape, bool), index, True, dim=dim)


op("slices_named", "", _slices_named_kernel, ("like", "index"))


def first_outside(index: np.ndarray, size: int, lowest: int = 0) -> int | None:
    """The first index that is not in ``[lowest, size)``, if any."""
    if not index.size:
        return None
    if lowest == 0 and index.dtype.char == "l":  # read as unsigned, negative ones are too large as well: one pass
        if np.maximum.reduce(index.view(np.uint64), axis=None) < size:
            return None
    elif index.min() >= lowest and index.max() < size:
        return None
    return int(index[(index < lowest) | (index >= size)].flat[0])


def outside(
    index: Any, size: int, name: str, dim: int | None = None, lowest: int = 0, error: type[Exception] = IndexError
) -> int | None:
    """The same of a tensor; where none is, observers are shown that this was looked at, for whom, and what is raised."""
    wrong = first_outside(index._array, size, lowest)
    if wrong is None and observers:
        where = "a dimension of" if dim is None else f"dimension {dim} with"
        _in_range(
            index,
            size=size,
            lowest=lowest,
            where=f"{name}(): index {{}} is out of bounds for {where} size {{}}",
            runtime=error is RuntimeError,
        )
    return wrong


@choice("indices in range", ("index",), checks=True)
def _in_range(index: np.ndarray, *, size: int, lowest: int, where: str, runtime: bool) -> np.ndarray:
    """Raise if an index is out of range; False for each that is not."""
    if (wrong := first_outside(index, size, lowest)) is not None:
        raise (RuntimeError if runtime else IndexError)(where.format(wrong, size))
    return np.zeros(index.shape, bool)


def checked_slices(name: str, index: Any, input: Any, dim: Any, source: Any = None) -> int:
    """The dimension, for an operation on slices along it whose index and source fit."""
    sizes, array = array_of(name, input).shape, array_of(name, index, "index", 3)
    dim = dim_of(dim, len(sizes))
    if array.ndim > 1:
        raise IndexError(
            f"{name}(): Index is supposed to be a vector, but got dim: {array.ndim} and size: {list(array.shape)}"
        )
    if array.dtype not in (np.int64, np.int32):
        raise RuntimeError(
            f"{name}(): Expected dtype int32/int64 for index but got: {scalar_name(array.dtype)} "
            f"(shape {list(array.shape)})"
        )
    if source is not None:
        given = array_of(name, source, "source", 4)
        if given.dtype != input._array.dtype:
            raise RuntimeError(
                f"{name}(): self ({scalar_name(input._array.dtype)}) and source ({scalar_name(given.dtype)}) must have "
                "the same scalar type"
            )
        along = given.shape[dim] if given.ndim else 1
        if along != array.size:
            kind = IndexError if name == "index_copy_" else RuntimeError
            raise kind(
                f"{name}(): Number of indices ({array.size}) should be equal to source.size(dim): ({along}), for dim: "
                f"{dim}"
            )
        if sizes[:dim] + sizes[dim + 1 :] != given.shape[:dim] + given.shape[dim + 1 :]:
            raise RuntimeError(
                f"{name}(): source tensor shape must match self tensor shape, excluding the specified dimension. Got "
                f"self.shape = {list(sizes)} source.shape = {list(given.shape)}"
            )
    return dim


def index_select(input: Tensor, dim: int, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The slices along a dimension that a vector of indices names, in its order; a copy.

    Parameters
    ----------
    input : Tensor
        Any shape.
    dim : int
        Which dimension.
    index : Tensor
        int64 or int32, 1-d (or 0-d), from 0 to ``input.shape[dim] - 1``.
    out : Tensor, optional
        Where the result is written.

    Raises
    ------
    IndexError
        If an index is out of range.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.index_select(torch.tensor([[1, 2], [3, 4]]), 1, torch.tensor([1, 1]))
    tensor([[2, 2],
            [4, 4]])
    """
    if out is not None:
        return deliver("index_select", lambda: index_select(input, dim, index), (input, index), out)
    dim = checked_slices("index_select", index, input, dim)
    shape = input._array.shape
    if (wrong := _outside(index, shape, "index_select", dim)) is not None:
        raise IndexError(
            f"index out of range in self: index_select() got index {wrong} for dimension {dim} with size "
            f"{shape[dim] if shape else 1}"
        )
    if not shape and index._array.size != 1:
        raise RuntimeError(f"index_select(): Index to scalar can have only 1 value, got {index._array.size} value(s)")
    return _index_select(input, index, dim)


def _outside(
    index: Any, shape: tuple[int, ...], name: str, dim: int, lowest: int = 0, error: type[Exception] = IndexError
) -> int | None:
    return outside(index, shape[dim] if shape else 1, name, dim, lowest, error)


def index_add(
    input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Number = 1, out: Tensor | None = None
) -> Tensor:
    """A copy with ``alpha * source`` added to the slices along a dimension that an index names, repeated ones too.

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
    alpha : number
        A factor for *source*.
    out : Tensor, optional
        Where the result is written.

    Raises
    ------
    RuntimeError
        If an index is out of range, or shapes or dtypes do not fit.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.index_add(torch.zeros(3), 0, torch.tensor([0, 0, 2]), torch.tensor([1.0, 2.0, 3.0]))
    tensor([3., 0., 3.])
    """
    if out is not None:
        compute = partial(index_add, input, dim, index, source, alpha=alpha)
        return deliver("index_add", compute, (input, index, source), out)
    dim = checked_slices("index_add_", index, input, dim, source)
    shape = input._array.shape
    if (wrong := _outside(index, shape, "index_add_", dim, error=RuntimeError)) is not None:
        raise RuntimeError(
            f"index_add_(): index {wrong} is out of bounds for dimension {dim} with size {(shape or (1,))[dim]}"
        )
    return _index_add(input, index, source, dim, alpha)


def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A copy whose slices along a dimension, where an index names them, are those of a source.

    Parameters
    ----------
    input : Tensor
        Any shape.
    dim : int
        Which dimension.
    index : Tensor
        int64, 1-d, from 0.
    source : Tensor
        *input*'s dtype and shape, but for its size along *dim*: that of *index*.
    out : Tensor, optional
        Where the result is written.

    Raises
    ------
    IndexError
        If an index is out of range or their number is not the source's.
    RuntimeError
        If shapes or dtypes do not fit.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.index_copy(torch.zeros(3), 0, torch.tensor([2, 0]), torch.tensor([1.0, 2.0]))
    tensor([2., 0., 1.])
    """
    if out is not None:
        compute = partial(index_copy, input, dim, index, source)
        return deliver("index_copy", compute, (input, index, source), out)
    own, given = array_of("index_copy", input).ndim, array_of("index_copy", source, "source", 4).ndim
    if own != given and own and given:
        raise IndexError(
            f"index_copy_(): source must have as many dimensions as the tensor it is copied into, but they have {given} "
            f"and {own}"
        )
    if array_of("index_copy", index, "index", 3).dtype != np.int64 and index._array.ndim < 2:
        raise RuntimeError(
            f"index_copy_(): Expected a long tensor for index, but got {scalar_name(index._array.dtype)}"
        )
    dim = checked_slices("index_copy_", index, input, dim, source)
    shape = input._array.shape
    if (wrong := _outside(index, shape, "index_copy_", dim)) is not None:
        raise IndexError(
            f"index_copy_(): index {wrong} is out of bounds for dimension {dim} with size {(shape or (1,))[dim]}"
        )
    return _index_copy(input, index, source, dim)


def index_fill(input: Tensor, dim: int, index: Tensor, value: Tensor | Number) -> Tensor:
    """A copy whose slices along a dimension, where an index names them, hold one value.

    Parameters
    ----------
    input : Tensor
        Any shape.
    dim : int
        Which dimension.
    index : Tensor
        int64, 1-d; negative ones count from the end.
    value : number or Tensor
        A 0-d tensor may require grad.

    Raises
    ------
    IndexError
        If an index is out of range or not int64.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.index_fill(torch.zeros(3), 0, torch.tensor([0, -1]), 7)
    tensor([7., 0., 7.])
    """
    if array_of("index_fill", index, "index", 3).dtype != np.int64:
        raise IndexError(f"index_fill_(): Expected dtype int64 for index, but got {scalar_name(index._array.dtype)}")
    if index._array.ndim > 1:
        raise RuntimeError(
            f"index_fill_(): Index has to be a vector or a scalar, but has shape {list(index._array.shape)}"
        )
    dim = checked_slices("index_fill_", index, input, dim)
    shape = input._array.shape
    size = shape[dim] if shape else 1
    if (wrong := _outside(index, shape, "index_fill_", dim, -size)) is not None:
        raise IndexError(f"index_fill_(): index {wrong} is out of bounds for dimension {dim} with size {size}")
    if not isinstance(value, _runtime.Tensor):
        return _index_fill(input, index, dim, copies.number_as(value, input._array.dtype)[()])
    if value._array.ndim:
        raise RuntimeError(
            "index_fill_ only supports a 0-dimensional value tensor, but got tensor with "
            f"{value._array.ndim} dimension(s)."
        )
    if value._array.dtype != input._array.dtype:
        value = copies.converted(value, input._array.dtype)
    return _index_fill_tensor(input, index, value, dim)


# -- embeddings --------------------------------------------------------------------------------------------------------
def _embedding_kernel(
    weight: np.ndarray, indices: np.ndarray, *, padding_idx: int = -1, scale_grad_by_freq: bool = False
) -> np.ndarray:
    return weight.take(indices, axis=0)


def _importance(
    indices: np.ndarray, padding_idx: int, scale_grad_by_freq: bool, dtype: np.dtype[Any]
) -> np.ndarray | None:
    """What each looked-up row counts for in the gradient: padding nothing, the others, if scaled, 1 / how often."""
    if padding_idx < 0 and not scale_grad_by_freq:
        return None
    counts = np.ones(indices.shape, dtype)
    if scale_grad_by_freq:
        counts = np.asarray(1 / np.bincount(indices.reshape(-1))[indices], dtype)
    counts[indices == padding_idx] = 0
    return counts[..., None]


def _embedding_masked_kernel(
    weight: np.ndarray, indices: np.ndarray, *, padding_idx: int, scale_grad_by_freq: bool
) -> np.ndarray:
    rows = weight.take(indices, axis=0)
    importance = _importance(indices, padding_idx, scale_grad_by_freq, rows.dtype)
    return rows if importance is None else rows * importance


def _embedding_backward_kernel(
    self: np.ndarray, indices: np.ndarray, *, shape: tuple[int, ...], padding_idx: int, scale_grad_by_freq: bool
) -> np.ndarray:
    importance = _importance(indices, padding_idx, scale_grad_by_freq, self.dtype)
    rows = (
        self if importance is None else np.where(importance == 0, 0, self * importance)
    )  # an infinite row may be padding
    return add_along(np.zeros(shape, self.dtype), indices.reshape(-1), rows, 0)


_embedding = op("embedding", "EmbeddingBackward0", _embedding_kernel, ("weight", "indices"), tangent="linear",
                shows={"weight_sym_argsize_0": lambda node: node.saved_weight_shape[0],
                       "padding_idx": unsigned("padding_idx")},
                hides=("weight_shape",),
                weight=lambda F, g, weight_shape, indices, padding_idx, scale_grad_by_freq:
                    F.embedding_backward(g, indices, shape=weight_shape, padding_idx=padding_idx,
                                         scale_grad_by_freq=scale_grad_by_freq))  # fmt: skip
op("embedding_backward", "EmbeddingDenseBackwardBackward0", _embedding_backward_kernel, ("self", "indices"),
   tangent="linear",
   self=lambda F, g, indices, padding_idx, scale_grad_by_freq:
       F.embedding_masked(g, indices, padding_idx=padding_idx, scale_grad_by_freq=scale_grad_by_freq))  # fmt: skip
op("embedding_masked", "EmbeddingMaskedBackward0", _embedding_masked_kernel, ("weight", "indices"), tangent="linear",
   weight=lambda F, g, weight_shape, indices, padding_idx, scale_grad_by_freq:
       F.embedding_backward(g, indices, shape=weight_shape, padding_idx=padding_idx,
                            scale_grad_by_freq=scale_grad_by_freq))  # fmt: skip


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows of a table that indices name.

    Parameters
    ----------
    input : Tensor
        int64 or int32, any shape.
    weight : Tensor
        The table, 2-d: (number of rows, size of a row).
    padding_idx : int, optional
        A row that gets no gradient.
    max_norm : float, optional
        Rows that are looked up and have a larger norm are first scaled down to it, in place.
    norm_type : float
        The p of that norm.
    scale_grad_by_freq : bool
        Whether each row's gradient is divided by how often the row is looked up.
    sparse : bool
        Must be False: gradients are dense.

    Returns
    -------
    Tensor
        Of shape ``(*input.shape, weight.shape[1])``.

    Raises
    ------
    IndexError
        If an index is out of range.

    Examples
    --------
    >>> import minitorch as torch
    >>> table = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> torch.nn.functional.embedding(torch.tensor([1, 0, 1]), table)
    tensor([[3., 4.],
            [1., 2.],
            [3., 4.]])
    """
    indices = array_of("embedding", input)
    if sparse:
        raise NotImplementedError("embedding(): sparse gradients are not supported; use sparse=False")
    if indices.dtype not in (np.int64, np.int32):
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"{scalar_name(indices.dtype)} instead (while checking arguments for embedding)"
        )
    if array_of("embedding", weight, "weight", 2).ndim != 2:
        raise RuntimeError(f"embedding(): 'weight' must be 2-D, but has shape {list(weight._array.shape)}")
    rows = weight._array.shape[0]
    padding = -1
    if padding_idx is not None:
        if not -rows <= padding_idx < rows:
            raise AssertionError(f"Padding_idx must be within num_embeddings: got {padding_idx} for {rows}")
        padding = padding_idx % rows
    if (wrong := outside(input, rows, "embedding", 0)) is not None:
        raise IndexError(f"index out of range in self: embedding() got index {wrong} for a weight of {rows} rows")
    if max_norm is not None:
        _renormalise(weight, input, max_norm, norm_type)
    return _embedding(weight, input, padding, scale_grad_by_freq)


def _renormalise(weight: Any, indices: Any, max_norm: float, norm_type: float) -> None:
    """Scale rows whose norm is larger down to it, in place and unrecorded."""
    replace(weight, _scaled_down, indices, max_norm=max_norm, norm_type=norm_type)
    edit(weight)


@choice("rows of at most a norm", ("weight", "indices"))
def _scaled_down(weight: np.ndarray, indices: np.ndarray, *, max_norm: float, norm_type: float) -> np.ndarray:
    out, used = weight.copy(), np.unique(indices)
    rows = weight[used]
    norms = np.linalg.norm(rows, ord=norm_type, axis=1, keepdims=True)
    out[used] = rows * np.where(norms > max_norm, max_norm / (norms + 1e-7), 1).astype(rows.dtype)
    return out


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """Class numbers as vectors of int64 that are 1 at the class and 0 elsewhere.

    Parameters
    ----------
    tensor : Tensor
        int64, any shape, from 0.
    num_classes : int
        How long the vectors are; -1 for one more than the largest class.

    Returns
    -------
    Tensor
        Of shape ``(*tensor.shape, num_classes)``.

    Raises
    ------
    RuntimeError
        If a class is negative or too large.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.functional.one_hot(torch.tensor([0, 2]), num_classes=3)
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """
    classes = array_of("one_hot", tensor, "tensor")
    if classes.dtype != np.int64:
        raise RuntimeError(
            f"one_hot is only applicable to index tensor of type LongTensor, but got {scalar_name(classes.dtype)}."
        )
    num_classes = integer(num_classes, "num_classes")
    if not classes.size and num_classes <= 0:
        raise RuntimeError("Can not infer total number of classes from empty tensor.")
    if classes.size and classes.min() < 0:
        raise RuntimeError(f"Class values must be non-negative: got {classes.min()}.")
    if num_classes == -1:
        if observers and differs(tensor):
            raise RuntimeError(
                "When vmap-ing one_hot, please provide an explicit positive num_classes argument: the largest class may "
                "differ from example to example"
            )
        return severed("one_hot", _one_hot_of_all(tensor), tensor)
    if (wrong := outside(tensor, num_classes, "one_hot", error=RuntimeError)) is not None:
        raise RuntimeError(f"Class values must be smaller than num_classes: got {wrong} for {num_classes} classes.")
    return severed("one_hot", _one_hot(tensor, num_classes=num_classes), tensor)


@choice("one_hot without num_classes", fits=False)
def _one_hot_of_all(self: np.ndarray) -> np.ndarray:
    """Of as many classes as the largest one asks for."""
    return np.asarray(_one_hot.choice.kernel(self, num_classes=int(self.max()) + 1))


@choice("one_hot")
def _one_hot(self: np.ndarray, *, num_classes: int) -> np.ndarray:
    return (self[..., None] == np.arange(num_classes)).astype(np.int64, order="C")
