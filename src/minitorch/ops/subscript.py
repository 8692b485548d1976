"""Subscripts: ``x[index]`` and ``x[index] = value``."""

from __future__ import annotations

import operator
import sys
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _runtime
from .._args import Position, array_of, dim_of
from .._choices import position
from .._errors import scalar_name
from .._inplace import WARNED, in_place_names, rebase, refuse, write
from .._kernels.scatter import ALL, add_at
from .._layouts import layout_of, layouts
from .._modes import differs, every_slice, grad_on, observers
from .._op import build, op, rows
from .._records import note_read, observe_write, tell_assignment
from .._runtime import made, silent, traced, wrap
from .._tape import next_position
from .._views import current_node, edited, edits_of, overlapping, root_of
from . import copies

if TYPE_CHECKING:
    from .._tensor import Tensor

END = sys.maxsize  # where a slice without an end stops


# -- views -------------------------------------------------------------------------------------------------------------
def _select_kernel(self: np.ndarray, *, dim: int, index: int) -> np.ndarray:
    try:
        if dim == 0:
            return self[index] if self.ndim > 1 else self[index, ...]  # a view also where NumPy would give a scalar
        return self[(ALL,) * dim + (index, ...)]
    except IndexError:
        if self.ndim == 0:
            raise IndexError(
                "invalid index of a 0-dim tensor. Use `tensor.item()` in Python to convert a 0-dim tensor to a number"
            ) from None
        raise IndexError(f"index {index} is out of bounds for dimension {dim} with size {self.shape[dim]}") from None


def _select_backward_kernel(self: np.ndarray, *, shape: tuple[int, ...], dim: int, index: int) -> np.ndarray:
    out = np.zeros(shape, self.dtype)
    out[(ALL,) * dim + (index,)] = self
    return out


_select = op("select", "SelectBackward0", _select_kernel, ("self",), view=True, tangent="linear",
             self=lambda F, g, self_shape, dim, index:
                 F.select_backward(g, shape=self_shape, dim=dim, index=index))  # fmt: skip
op("select_backward", "SelectBackwardBackward0", _select_backward_kernel, ("self",), tangent="linear",
   self=lambda F, g, dim, index: F.select(g, dim=dim, index=index))  # fmt: skip


def _slice_kernel(self: np.ndarray, *, dim: int = 0, start: int = 0, end: int = END, step: int = 1) -> np.ndarray:
    if dim == 0:
        try:
            return self[start:end:step]
        except IndexError:
            raise IndexError("slice() cannot be applied to a 0-dim tensor") from None
    return self[(ALL,) * dim + (slice(start, end, step),)]


def _slice_backward_kernel(
    self: np.ndarray, *, shape: tuple[int, ...], dim: int, start: int, end: int, step: int
) -> np.ndarray:
    out = np.zeros(shape, self.dtype)
    out[(ALL,) * dim + (slice(start, end, step),)] = self
    return out


slice_ = op("slice", "SliceBackward0", _slice_kernel, ("self",), view=True, tangent="linear",
            self=lambda F, g, self_shape, dim, start, end, step:
                F.slice_backward(g, shape=self_shape, dim=dim, start=start, end=end, step=step))  # fmt: skip
op("slice_backward", "SliceBackwardBackward0", _slice_backward_kernel, ("self",), tangent="linear",
   self=lambda F, g, dim, start, end, step: F.slice(g, dim=dim, start=start, end=end, step=step))  # fmt: skip

alias = op(
    "alias", "AliasBackward0", lambda self: self.view(), ("self",), view=True, tangent="linear", self=lambda F, g: g
)


def select(input: Tensor, dim: int, index: int) -> Tensor:
    """The slice at one position of a dimension, a view without that dimension.

    Parameters
    ----------
    input : Tensor
        At least 1-d.
    dim : int
        Which dimension.
    index : int
        Which position; negative counts from the end.

    Raises
    ------
    IndexError
        If *dim* or *index* is out of range.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.select(torch.tensor([[1, 2], [3, 4]]), 1, 0)
    tensor([1, 3])
    """
    ndim = array_of("select", input).ndim
    if ndim == 0:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim, place = dim_of(dim, ndim), operator.index(index)
    size = input._array.shape[dim]
    if not -size <= place < size:
        sizes = list(input._array.shape)
        raise IndexError(f"select(): index {place} out of range for tensor of size {sizes} at dimension {dim}")
    return _select(input, dim, position(place, index))


# -- advanced indices --------------------------------------------------------------------------------------------------
class Indices(tuple[Any, ...]):
    """For each dimension the tensor that indexes it, or None where all of it is taken: what an ``index`` node saves.

    ``key`` is the same for NumPy; it raises where a tensor was written since, since the node would then undo another
    indexing than it did.

    Attributes
    ----------
    arrays : tuple
        The tensors' arrays.
    sole : int or None
        The dimension that is indexed, where there is one and it is indexed by integers.
    """

    arrays: tuple[np.ndarray | None, ...]
    versions: tuple[int, ...]
    sole: int | None

    def __new__(cls, tensors: Sequence[Any]) -> Indices:
        self = super().__new__(cls, tensors)
        self.arrays = tuple([None if t is None else t._array for t in tensors])
        self.versions = tuple([0 if t is None or t._alias is None else t._alias.edits.count for t in tensors])
        last = len(tensors) - 1
        integers = tensors[last]._array.dtype.kind != "b" and tensors.count(None) == last
        self.sole = last if integers else None
        return self

    def key(self) -> tuple[Any, ...]:
        for tensor, version in zip(self, self.versions):
            if tensor is not None and tensor._alias is not None and tensor._alias.edits.count != version:
                raise RuntimeError(
                    "one of the variables needed for gradient computation has been modified by an inplace operation: a "
                    f"tensor that was used as an index is at version {tensor._alias.edits.count}; expected version "
                    f"{version} instead. Clone it before writing into it."
                )
        return tuple([ALL if array is None else array for array in self.arrays])

    def result_ndim(self, ndim: int) -> int:
        """The number of dimensions of what is indexed in an array of *ndim* dimensions."""
        given = [array for array in self.arrays if array is not None]
        taken = sum([array.ndim if array.dtype.kind == "b" else 1 for array in given])
        return ndim - taken + max([1 if array.dtype.kind == "b" else array.ndim for array in given])


def _reworded(error: IndexError) -> IndexError:
    return IndexError(
        str(error)
        .replace("for axis", "for dimension")
        .replace("arrays could", "tensors could")
        .replace("boolean index", "mask")
    )


def _index_kernel(self: np.ndarray, *, indices: Indices) -> np.ndarray:
    key, sole = indices.key(), indices.sole
    try:
        out = np.asarray(self[key] if sole is None else self.take(key[sole], axis=sole))
    except IndexError as error:
        raise _reworded(error) from None
    if not out.size:
        _refuse_places_in_nothing(self, indices)
    return out


def _refuse_places_in_nothing(array: np.ndarray, indices: Indices) -> None:
    """Raise for an index into a dimension without elements, which NumPy lets pass where the result has none."""
    if not all([index is None or index.size for index in indices.arrays]):
        return
    dim = 0
    for index in indices.arrays:
        if index is not None and index.dtype.kind == "b":
            dim += index.ndim
            continue
        if index is not None and not array.shape[dim]:
            raise IndexError("index is out of bounds for dimension with size 0")
        dim += 1


def _index_backward_kernel(self: np.ndarray, *, indices: Indices, shape: tuple[int, ...]) -> np.ndarray:
    key = indices.key()
    out = np.zeros(shape, self.dtype)
    masks = [array for array in indices.arrays if array is not None]
    if len(masks) == 1 and masks[0].dtype.kind == "b":  # no place twice
        out[key] = self
        return out
    return add_at(out, indices.arrays, self)


def _index_put_kernel(
    self: np.ndarray, values: np.ndarray, *, indices: Indices, accumulate: bool = False
) -> np.ndarray:
    key = indices.key()
    out = np.array(self, order="C")
    try:
        if accumulate:
            indexed = np.broadcast_to(np.zeros((), bool), self.shape)[key].shape
            return add_at(out, indices.arrays, np.broadcast_to(values, indexed))
        out[key] = values
    except IndexError as error:
        raise _reworded(error) from None
    except (ValueError, TypeError):
        raise RuntimeError(_mismatch(values, self[key])) from None
    return out


def _mismatch(values: np.ndarray, indexed: np.ndarray) -> str:
    of = list(values.shape)
    return f"shape mismatch: value tensor of shape {of} cannot be broadcast to indexing result of shape {list(indexed.shape)}"


def _index_put_self(F: Any, g: Any, indices: Indices, accumulate: bool) -> Any:
    return g if accumulate else F.index_put(g, F.zeros((), g), indices=indices)


_index = op("index", "IndexBackward0", _index_kernel, ("self",), tangent="linear",
            self=lambda F, g, self_shape, indices: F.index_backward(g, indices=indices, shape=self_shape))  # fmt: skip
op("index_backward", "IndexPutImplBackward0", _index_backward_kernel, ("self",), tangent="linear",
   self=lambda F, g, indices: F.index(g, indices=indices))  # fmt: skip
_index_put = op("index_put", "IndexPutBackward0", _index_put_kernel, ("self", "values"), broadcasts=True,
                tangent="linear",
                self=_index_put_self,
                values=lambda F, g, indices: F.index(g, indices=indices))  # fmt: skip
in_place_names[_index_put] = "index_put_"


# -- subscripts --------------------------------------------------------------------------------------------------------
_INVALID = "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got {})"


def getitem(input: Tensor, index: Any) -> Tensor:
    """``input[index]``: views for integers, slices, None and ``...``; then a copy where tensors or masks index it."""
    if index.__class__ is int:
        return _select(input, 0, index)
    if index.__class__ is slice:
        return slice_(input, 0, *_bounds(index))
    viewed, indices = _viewed(input, index)
    out = _index(viewed, indices) if indices is not None else alias(input) if viewed is input else viewed
    if observers:
        note_read(out, index)
    return out


def _bounds(part: slice) -> tuple[int, int, int]:
    """Start, end and step of a slice, as integers."""
    start, end, step = part.start, part.stop, part.step
    try:
        start = 0 if start is None else start if start.__class__ is int else position(operator.index(start), start)
        end = END if end is None else end if end.__class__ is int else position(operator.index(end), end)
        step = 1 if step is None else step if step.__class__ is int else operator.index(step)
    except TypeError:
        raise TypeError("slice indices must be integers or None or have an __index__ method") from None
    if step <= 0:
        raise ValueError("slice step cannot be zero" if step == 0 else "step must be greater than zero")
    return start, end, step


def _viewed(input: Any, index: Any, written: bool = False) -> tuple[Any, Indices | None]:
    """What the basic parts of a subscript show (integers that differ in a map too, if not *written*), and the advanced ones."""
    parts, free = [], input._array.ndim
    for part in index if index.__class__ is tuple else _parts(index):
        if part.__class__ is int or part.__class__ is slice:
            free -= 1
        else:
            part = _part(part)
            free -= _dims_taken(part)
        parts.append(part)
    if free < 0:
        if input._array.ndim == 0 and all([part.__class__ in (int, Position) for part in parts]):
            return _select(input, 0, parts[0]), None
        raise IndexError(f"too many indices for tensor of dimension {input._array.ndim}")
    viewed, dim = input, 0
    placed: dict[int, Any] = {}
    for part in parts:
        if part.__class__ is int or part.__class__ is Position:
            viewed = _select(viewed, dim, part)
        elif part.__class__ is slice:
            start, end, step = _bounds(part)
            moves = start.__class__ is Position or end.__class__ is Position
            if start or step != 1 or end < viewed._array.shape[dim] or moves or (end != END and every_slice()):
                viewed = slice_(viewed, dim, start, end, step)
            dim += 1
        elif part is None or part.__class__ is bool:
            viewed = traced.unsqueeze(viewed, dim)
            if part is not None:
                placed[dim] = wrap(np.zeros(int(part), np.int64))
            dim += 1
        elif part is ...:
            dim, free = dim + free, 0
        elif not part._array.ndim and part._array.dtype.kind == "b":
            viewed, placed[dim] = traced.unsqueeze(viewed, dim), traced.view(part, size=(1,))
            dim += 1
        elif not written and not part._array.ndim:
            viewed = _index(viewed, Indices([None] * dim + [part]))
        else:
            placed[dim] = part
            dim += _dims_taken(part)
    return viewed, _placed(placed, viewed._array) if placed else None


def _parts(index: Any) -> Sequence[Any]:
    """A subscript as a sequence of parts: a tuple is one; so, with a warning, is a list of more than numbers."""
    if isinstance(index, _runtime.Tensor):
        return (index,)
    if isinstance(index, tuple):
        return index
    if isinstance(index, list) and len(index) < 32:
        several = (slice, list, tuple, range, np.ndarray, _runtime.Tensor)
        if any([part is None or part is ... or isinstance(part, several) for part in index]):
            warnings.warn(
                "Using a non-tuple sequence for multidimensional indexing is deprecated; use x[tuple(seq)] instead of "
                "x[seq]",
                stacklevel=4,
            )
            return index
    return (index,)


def _part(part: Any) -> Any:
    """One part of a subscript: None, ..., a bool, an int, a slice, or a tensor of integers or bools (0-d where observed)."""
    if part is None or part is ... or part.__class__ in (int, bool, slice):
        return part
    if isinstance(part, _runtime.Tensor) and part._array.ndim and part._array.dtype.char in "l?":
        return part
    if isinstance(part, (int, np.integer)):
        return int(part)
    if isinstance(part, (list, tuple, range)):
        part = _listed(part)
    if isinstance(part, np.ndarray):
        part = wrap(part)
    if not isinstance(part, _runtime.Tensor):
        if isinstance(part, str):
            raise TypeError("new(): invalid data type 'str'")
        kind = type(part)
        name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
        raise IndexError(_INVALID.format(name))
    array = part._array
    if array.ndim == 0:
        if array.dtype.kind == "b" or array.dtype == np.uint8:
            return (part.ne(0) if array.dtype == np.uint8 else part) if observers and not differs(part) else bool(part)
        if array.dtype.kind in "iu":
            return part if observers and differs(part) else position(int(part), part)
    if array.dtype == np.uint8:
        said = "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead"
        warnings.warn(said, stacklevel=5)
        return part.ne(0)
    if array.dtype not in (np.int64, np.int32, np.bool_):
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    return part


def _listed(part: Sequence[Any]) -> np.ndarray:
    """A sequence of numbers, or of sequences of them, as an array of indices."""
    array = np.asarray([(p.numpy() if observers else p._array) if isinstance(p, _runtime.Tensor) else p for p in part])
    if array.dtype.kind in "US":
        raise TypeError("new(): invalid data type 'str'")
    if array.dtype.kind == "O":
        raise RuntimeError(f"Could not infer dtype of {type(array.flat[0]).__name__}")
    return array if array.size else array.astype(np.int64)


def _dims_taken(part: Any) -> int:
    """How many of the tensor's dimensions a part takes."""
    if part is None or part is ... or part.__class__ is bool:
        return 0
    return part._array.ndim if isinstance(part, _runtime.Tensor) and part._array.dtype.kind == "b" else 1


def _placed(placed: dict[int, Any], array: np.ndarray) -> Indices:
    """Index tensors by the dimension that they start at, one entry for each that NumPy reads."""
    if len(placed) == 1 and 0 in placed and placed[0]._array.dtype.kind != "b":
        return Indices((placed[0],))
    tensors: list[Any] = []
    dim = 0
    for start, tensor in placed.items():
        tensors += [None] * (start - dim)
        taken = _dims_taken(tensor)
        if tensor._array.dtype.kind == "b" and tensor._array.shape != array.shape[start : start + taken]:
            wrong = next(i for i in range(taken) if tensor._array.shape[i] != array.shape[start + i])
            raise IndexError(
                f"The shape of the mask {list(tensor._array.shape)} at index {wrong} does not match the shape of the "
                f"indexed tensor {list(array.shape)} at index {start + wrong}"
            )
        tensors.append(tensor)
        dim = start + taken
    return Indices(tensors)


def setitem(input: Tensor, index: Any, value: Any) -> None:
    """``input[index] = value``: copied into the view, or put at the places, that the subscript names.

    Raises
    ------
    RuntimeError
        Where the value does not fit, or the tensor may not be written in place.
    IndexError
        Where the subscript does not fit.  Nothing is changed then.
    """
    if index is False or (input._node is None and not observers and _set_plain(input, index, value)):
        return
    if not isinstance(value, _runtime.Tensor):
        value = made(copies.number_as(value, input._array.dtype))
    if index.__class__ is int:
        return _assign(_select(input, 0, index), value)
    viewed, indices = (input[None], None) if index is True else _viewed(input, index, written=True)
    if indices is not None:
        _put(viewed, indices, value)
    elif viewed is input:
        value = _leading_ones_dropped(value, input._array.ndim)
        write(input, copies.copy if value._array.ndim else copies.written, (value,))
    else:
        _assign(viewed, value)
    if observers:
        note_read(input, (index, value))


def _set_plain(input: Any, index: Any, value: Any) -> bool:
    """Write at once where nothing is to be recorded, refused or converted; False where something may be."""
    alias, array, kind = input._alias, input._array, index.__class__
    if alias is not None and (alias.parent is not None or alias.inference or alias.watchers is not None):
        return False
    if isinstance(value, _runtime.Tensor):
        if value._node is not None or value._alias is not None or value._array.dtype is not array.dtype:
            return False
        value = value._array
    elif value.__class__ not in (float, int) or array.dtype.kind != "f" or not -1e4 < value < 1e4:
        return False
    if kind is tuple:
        if not all([part.__class__ is int or part.__class__ is slice for part in index]):
            return False
    elif isinstance(index, _runtime.Tensor):
        index = index._array
        if not index.ndim or index.dtype.char not in "l?":
            return False
    elif kind is not int and kind is not slice:
        return False
    if any([p.__class__ is slice and p.step not in (None, 1) for p in (index if kind is tuple else (index,))]):
        return False
    edits = edits_of(input)
    count, position = edits.count, edits.position
    edits.count, edits.position = count + 1, next_position()
    try:
        array[index] = value
    except (IndexError, ValueError, TypeError):  # to be explained
        edits.count, edits.position = count, position
        return False
    return True


def _leading_ones_dropped(value: Any, ndim: int) -> Any:
    """A value without the leading dimensions of size 1 that the place it goes to lacks."""
    sizes = value._array.shape
    while len(sizes) > ndim and sizes[0] == 1:
        sizes = sizes[1:]
    return value if len(sizes) == value._array.ndim else traced.view(value, size=sizes)


def _assign(part: Any, value: Any) -> None:
    """Copy a value into a view: the history of its root is rewritten, and leads to the value's own node."""
    target, edits, root = part._array, part._alias.edits, root_of(part)
    if overlapping(target):
        write(part, copies.copy, (value,))
        return
    refuse(part, part._node, (value,))
    node = current_node(value) if grad_on() and target.dtype.kind == "f" else None
    if node is not None and value._array.dtype is not target.dtype:
        value = copies.converted(value, target.dtype)
    if value._array.ndim > target.ndim:
        value = _leading_ones_dropped(value, target.ndim)
    if node is not None:
        node = current_node(value)  # before it becomes one of memory that was written
    array = value._array
    if observers:
        tell_assignment(part, value)
    count, position = edits.count, edits.position
    edited(part)
    try:
        if array.dtype is target.dtype:
            target[...] = array
        else:
            silent(np.copyto, target, array, casting="unsafe")
    except ValueError:
        edits.count, edits.position = count, position
        raise RuntimeError(_mismatch(array, target)) from None
    recorded = grad_on() and (node is not None or root._node is not None)
    if recorded:
        rebase(part, wrap(array, node))
        if array.shape != target.shape:
            root._node.expects = layouts(root, value)
    if observers:
        observe_write(rows["copy"], part, (part, value), (), root._node if recorded else None)


def _put(input: Any, indices: Indices, value: Any) -> None:
    """Put a value at the places of a tensor, or of a view, that index tensors name."""
    target = input._array
    _check_put(input, value)
    ndim = indices.result_ndim(target.ndim)
    if value._array.ndim > ndim:
        value = _leading_ones_dropped(value, ndim)
        if value._array.ndim > ndim:  # NumPy lets values of any shape be put nowhere
            raise RuntimeError(_mismatch(value._array, target[indices.key()]))
    edits = edits_of(input)
    node, value_node = current_node(input), current_node(value)
    recorded = grad_on() and (node is not None or value_node is not None)
    if observers or (recorded and input._alias.parent is not None):
        write(input, _index_put, (value,), {"indices": indices}, WARNED)
        return
    refuse(input, node, (value,), WARNED, _index_put)
    count, position, alone = edits.count, edits.position, target.flags.writeable
    edited(input)
    try:
        target.flags.writeable = True
        target[indices.key()] = value._array
    except (IndexError, ValueError, TypeError) as error:
        edits.count, edits.position = count, position
        if isinstance(error, IndexError):
            raise _reworded(error) from None
        raise RuntimeError(_mismatch(value._array, target[indices.key()])) from None
    finally:
        target.flags.writeable = alone
    if recorded:
        rebase(input, wrap(target, _index_put_node(input, node, indices, value, value_node)))


def _index_put_node(input: Any, node: Any, indices: Indices, value: Any, value_node: Any) -> Any:
    """The node of values that were put into a tensor in place: no need to copy it."""
    row = rows["index_put"]
    if row.node_type is None:
        build(row)
    made = row.node_type()
    made.position = next_position()
    made.edges = (node, value_node)
    made.saved_indices, made.saved_accumulate = indices, False
    made.expects, made.layout, made.extras = layouts(input, value), layout_of(input), None
    return made


def _check_put(input: Any, values: Any) -> None:
    if values._array.dtype is not input._array.dtype and values._array.dtype != input._array.dtype:
        raise RuntimeError(
            f"Index put requires the source and destination dtypes match, got {scalar_name(input._array.dtype)} for "
            f"the destination and {scalar_name(values._array.dtype)} for the source."
        )


def index_put(input: Tensor, indices: Sequence[Tensor], values: Tensor, accumulate: bool = False) -> Tensor:
    """A copy with values put at the places that index tensors name: ``input[indices] = values``.

    Parameters
    ----------
    input : Tensor
        Any shape.
    indices : tuple of Tensor
        Integers or masks, for the leading dimensions.
    values : Tensor
        Same dtype; broadcasts with what ``input[indices]`` is.
    accumulate : bool
        Whether values are added, also where an index is repeated.

    Raises
    ------
    IndexError
        If an index is out of range.
    RuntimeError
        If dtypes differ or *values* does not broadcast.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.index_put(torch.zeros(3), (torch.tensor([0, 0]),), torch.tensor(2.0), accumulate=True)
    tensor([4., 0., 0.])
    """
    if not isinstance(indices, (tuple, list)):
        raise TypeError(f"index_put(): argument 'indices' must be tuple of Tensors, not {type(indices).__name__}")
    for i, given in enumerate(indices):
        if not isinstance(given, _runtime.Tensor):
            raise TypeError(f"index_put(): expected Tensor as element {i} of 'indices', but got {type(given).__name__}")
    array_of("index_put", input), array_of("index_put", values, "values", 3)
    placed: dict[int, Any] = {}
    dim = 0
    for given in indices:
        part = _part(given) if given._array.ndim else given
        placed[dim] = part
        dim += _dims_taken(part)
    if dim > input._array.ndim:
        raise IndexError(f"too many indices for tensor of dimension {input._array.ndim} (got {dim})")
    places = _placed(placed, input._array)
    _check_put(input, values)
    return _index_put(input, values, places, accumulate)
