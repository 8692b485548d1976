"""Tensors given by their elements that are not zero, to be made dense."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._device import layout, sparse_coo
from ._runtime import flagged
from ._size import Size
from ._value_notes import tell_read
from .ops.creation import zeros
from .ops.from_data import as_tensor
from .ops.subscript import index_put

if TYPE_CHECKING:
    from ._dtypes import dtype
    from ._tensor import Tensor


class SparseTensor:
    """Places and values, as ``sparse_coo_tensor`` takes them; ``to_dense()`` makes a tensor of them.

    It takes no part in operations.
    """

    __slots__ = ("_indices", "_values", "shape")

    layout: layout = sparse_coo
    is_sparse = True

    def __init__(self, indices: Tensor, values: Tensor, shape: Size) -> None:
        self._indices, self._values, self.shape = indices, values, shape

    def indices(self) -> Tensor:
        """The places: a column for each value."""
        return self._indices

    def values(self) -> Tensor:
        """The values."""
        return self._values

    def size(self, dim: int | None = None) -> Any:
        """The shape, or one of its sizes."""
        return self.shape if dim is None else self.shape[dim]

    @property
    def dtype(self) -> dtype:
        """The dtype of the values."""
        return self._values.dtype

    @property
    def requires_grad(self) -> bool:
        """Whether the values require grad."""
        return self._values.requires_grad

    def to_dense(self) -> Tensor:
        """The tensor; where a place is given several times, its values are added.  Gradients reach the values."""
        base = zeros(self.shape, dtype=self._values.dtype)
        return index_put(base, tuple(self._indices.unbind(0)), self._values, accumulate=True)

    def __repr__(self) -> str:
        indent = " " * 7
        return (
            f"tensor(indices={self._indices},\n{indent}values={self._values},\n{indent}size={tuple(self.shape)}, "
            f"nnz={len(self._values)}, layout=torch.sparse_coo)"
        )


def sparse_coo_tensor(
    indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: dtype | None = None,
    device: Any = None,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> SparseTensor:
    """A tensor given by places and values, which ``to_dense()`` makes; nothing else is done with it.

    Parameters
    ----------
    indices : array_like of int
        Shape (dimensions, values).
    values : array_like
        Shape (values, ...): a value may itself have dimensions, the last ones of the tensor.
    size : sequence of int, optional
        The shape; without it, just large enough.
    dtype : dtype, optional
        Of the values.
    requires_grad : bool
        Whether the values require grad.

    Raises
    ------
    RuntimeError
        If *indices* has another shape, does not fit the values, or lies outside *size*.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3)).to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 5.]])
    """
    places = as_tensor(indices).long()
    given = as_tensor(values, dtype=dtype, device=device)
    if places.ndim != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(places.shape)}")
    if given.ndim == 0 or places.shape[1] != given.shape[0]:
        got = given.shape[0] if given.ndim else given.numel()
        raise RuntimeError(
            f"indices and values must have same nnz, but got nnz from indices: {places.shape[1]}, nnz from values: {got}"
        )
    lowest = places._array.min(1, initial=0)
    if (lowest < 0).any():
        dim = int((lowest < 0).argmax())
        raise RuntimeError(f"found negative index {int(lowest[dim])} for dim {dim}")
    if size is None:
        tell_read([places])
    least = (places._array.max(1, initial=-1) + 1).tolist()
    shape = Size([*least, *given.shape[1:]] if size is None else size)
    if len(shape) != len(least) + given.ndim - 1 or shape[len(least) :] != given.shape[1:]:
        raise RuntimeError(
            f"size {list(shape)} does not fit indices of {len(least)} dimensions and values {list(given.shape)}"
        )
    for dim, (needed, there) in enumerate(zip(least, shape)):
        if needed > there:
            raise RuntimeError(
                f"size is inconsistent with indices: dim {dim}: size is {there} but found index {needed - 1}"
            )
    if requires_grad:
        given = flagged(given.detach())
    return SparseTensor(places, given, shape)
