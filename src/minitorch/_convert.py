"""From tensors to numbers, lists, arrays, text and copies; and the attributes that tell how a tensor is made.

Each function takes the tensor first: ``Tensor`` has them as methods and properties.
"""

from __future__ import annotations

import copy as copying
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _dtypes, _printing, _runtime
from ._args import array_of, dim_of
from ._device import CPU, device, layout, strided
from ._errors import broadcast_problem
from ._identity import owner
from ._modes import differs, grad_on, in_transform, inner_leaves, observers
from ._runtime import has_tangent, silent
from ._size import Size
from ._value_notes import note_cut, tell_left, tell_sized
from ._views import current_node
from .ops.from_data import checked_array, warn_of_gradient

if TYPE_CHECKING:
    from ._tensor import Tensor

NEEDS_DETACH = "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
LEAVES_ONLY = (
    "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment: detach() "
    "it first, or copy what it was computed from."
)


# -- attributes --------------------------------------------------------------------------------------------------------
def size(input: Tensor, dim: int | None = None) -> Any:
    """The shape, or the size of one dimension.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.zeros(2, 3).size(), torch.zeros(2, 3).size(-1)
    (torch.Size([2, 3]), 3)
    """
    shape = input._array.shape
    if observers:
        tell_sized(input)
    if dim is None:
        return Size(shape)
    if not shape:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return shape[dim_of(dim, len(shape))]


def dim(input: Tensor) -> int:
    """The number of dimensions.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.zeros(2, 3).dim()
    2
    """
    return input._array.ndim


def numel(input: Tensor) -> int:
    """The number of elements.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.numel(torch.zeros(2, 3))
    6
    """
    if observers:
        tell_sized(_tensor("numel", input))
    return _tensor("numel", input)._array.size


def _tensor(name: str, input: Any) -> Any:
    if not isinstance(input, _runtime.Tensor):
        raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    return input


def element_size(input: Tensor) -> int:
    """The bytes an element takes.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.zeros(2).element_size()
    4
    """
    return input._array.itemsize


def nbytes(input: Tensor) -> int:
    """The bytes all elements take."""
    return input._array.nbytes


def data_ptr(input: Tensor) -> int:
    """The memory address of the first element.

    Examples
    --------
    >>> import minitorch as torch
    >>> x = torch.zeros(2)
    >>> x[1].data_ptr() - x.data_ptr()
    4
    """
    if observers:
        tell_left("numpy", input)
    return int(input._array.ctypes.data)


def device_of(input: Tensor) -> device:
    """Where the tensor is: on the CPU."""
    return CPU


def layout_of(input: Tensor) -> layout:
    """How elements are stored: strided."""
    return strided


def get_device(input: Tensor) -> int:
    """The number of the accelerator the tensor is on: -1, the CPU.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.zeros(2).get_device()
    -1
    """
    return -1


def never(input: Tensor) -> bool:
    """False, of any tensor: there are none of this kind."""
    return False


def always(input: Tensor) -> bool:
    """True, of any tensor: all are of this kind."""
    return True


def itself(input: Tensor) -> Tensor:
    """The tensor itself: what conjugation and the like are for real numbers."""
    return input


def imag(input: Tensor) -> Tensor:
    """Refused: real numbers have no imaginary part to view."""
    _tensor("imag", input)
    raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")


def nameless(input: Tensor) -> None:
    """None: tensors have no names."""
    return None


def pin_memory(input: Tensor, device: Any = None) -> Tensor:
    """Refused: pinned memory needs an accelerator."""
    raise RuntimeError("Cannot access accelerator device when none is available.")


def is_floating_point(input: Tensor) -> bool:
    """Whether the dtype is one of floats.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.is_floating_point(torch.tensor([1, 2]))
    False
    """
    return _tensor("is_floating_point", input)._array.dtype.kind == "f"


def is_complex(input: Tensor) -> bool:
    """Whether the dtype is one of complex numbers: never.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.is_complex(torch.tensor([1, 2]))
    False
    """
    return _tensor("is_complex", input)._array.dtype.kind == "c"


def is_signed(input: Tensor) -> bool:
    """Whether the dtype has negative numbers.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.tensor([1, 2]).is_signed()
    True
    """
    return _tensor("is_signed", input)._array.dtype.kind in "if"


def is_tensor(obj: Any) -> bool:
    """Whether *obj* is a tensor.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.is_tensor([1, 2])
    False
    """
    return isinstance(obj, _runtime.Tensor)


def is_nonzero(input: Tensor) -> bool:
    """Whether a tensor's only element is not zero.

    Raises
    ------
    RuntimeError
        If there is not exactly one.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.is_nonzero(torch.tensor([2.0]))
    True
    """
    return truth(_tensor("is_nonzero", input))


def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether another tensor has this one's shape.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.zeros(2).is_same_size(torch.zeros(3))
    False
    """
    return array_of("is_same_size", input).shape == array_of("is_same_size", other, "other", 2).shape


# -- numbers -----------------------------------------------------------------------------------------------------------
def item(input: Tensor) -> Any:
    """The only element as a Python number.

    Raises
    ------
    RuntimeError
        If there is not exactly one.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.tensor([2.5]).item()
    2.5
    """
    array = input._array
    if array.size != 1:
        raise RuntimeError(f"a Tensor with {array.size} elements cannot be converted to Scalar")
    if observers:
        note_cut("item", input)
    return array.item()


def tolist(input: Tensor) -> Any:
    """The elements as nested lists of Python numbers; of a 0-d tensor, the number.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.tensor([[1, 2], [3, 4]]).tolist()
    [[1, 2], [3, 4]]
    """
    if observers:
        note_cut("tolist", input)
    return input._array.tolist()


def truth(input: Tensor) -> bool:
    """``bool(tensor)``: whether its only element is not zero."""
    array = input._array
    if array.size != 1:
        which = "more than one value" if array.size else "no values"
        raise RuntimeError(f"Boolean value of Tensor with {which} is ambiguous")
    if observers:
        tell_left("bool", input)
    return bool(array)


def _scalar(input: Tensor) -> Any:
    array = input._array
    if array.size != 1:
        raise ValueError("only one element tensors can be converted to Python scalars")
    if current_node(input) is not None:
        warn_of_gradient(stacklevel=4)
    if observers:
        note_cut("item", input)
    return array.item()


def to_int(input: Tensor) -> int:
    """``int(tensor)``: its only element, truncated."""
    return int(_scalar(input))


def to_float(input: Tensor) -> float:
    """``float(tensor)``: its only element."""
    return float(_scalar(input))


def to_complex(input: Tensor) -> complex:
    """``complex(tensor)``: its only element."""
    return complex(_scalar(input))


def to_index(input: Tensor) -> int:
    """A one-element integer tensor as an index."""
    array = input._array
    if array.size != 1 or array.dtype.kind == "f":
        raise TypeError("only integer tensors of a single element can be converted to an index")
    if observers:
        tell_left("item", input)
    return int(array.item())


# -- sequences ---------------------------------------------------------------------------------------------------------
def length(input: Tensor) -> int:
    """``len(tensor)``: the size of the first dimension."""
    if observers:
        tell_sized(input)
    try:
        return input._array.shape[0]
    except IndexError:
        raise TypeError("len() of a 0-d tensor") from None


def iterate(input: Tensor) -> Iterator[Tensor]:
    """The tensors along the first dimension."""
    if not input._array.ndim:
        raise TypeError("iteration over a 0-d tensor")
    return iter(input.unbind(0))


def contains(input: Tensor, element: Any) -> bool:
    """``element in tensor``: whether any element equals a number, or a tensor that is broadcast."""
    own: np.ndarray
    other: Any
    if observers:
        for tensor in (input, element):
            if isinstance(tensor, _runtime.Tensor):
                tell_left("bool", tensor)
    if isinstance(element, _runtime.Tensor):
        own, other = _dtypes.promote(input._array, element._array)
    elif isinstance(element, (bool, int, float, np.generic)):
        own, other = input._array, element
    else:
        raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")
    try:
        return bool(silent(np.equal, own, other).any())
    except ValueError:
        raise RuntimeError(broadcast_problem([own.shape, other.shape])) from None


# -- text --------------------------------------------------------------------------------------------------------------
def text(input: Tensor, prefix: str | None = None) -> str:
    """The repr: values, dtype where it does not go without saying, and how gradients are to be had.

    Parameters
    ----------
    input : Tensor
        Any.
    prefix : str, optional
        What stands before the values: by default ``tensor(``, or the name of a user's subclass.
    """
    if observers:
        tell_left("print", input)
    if prefix is None:
        kind = type(input)
        own = kind.__module__.partition(".")[0] == __name__.partition(".")[0]
        prefix = "tensor(" if own else f"{kind.__name__}("
    return _printing.format_tensor(
        input._array, prefix=prefix, default_dtype=_dtypes.default(), suffixes=_grad_suffix(input)
    )


def _grad_suffix(input: Tensor) -> list[str]:
    """What a tensor's text says of its gradient, and of its tangent."""
    try:
        node = input.grad_fn
    except RuntimeError:  # a view that may not be used since its base was written
        return ["grad_fn=<Invalid>"]
    said = ["requires_grad=True"] if input.requires_grad else []
    if node is not None:
        said = [f"grad_fn=<{type(node).__name__}>"]
    if observers:
        from ._tangents import tangent_text

        said += tangent_text(input)
        said += [text for observer in observers if observer.active() and (text := observer.said(input))]
    return said


def formatted(input: Tensor, spec: str) -> str:
    """``format(tensor, spec)``: of a 0-d tensor, that of its number."""
    if not input._array.ndim and type(input) is _runtime.Tensor:
        if observers:
            tell_left("format", input)
            tell_left("print", input)
        return format(input._array.item(), spec)
    return object.__format__(input, spec)


# -- arrays ------------------------------------------------------------------------------------------------------------
def numpy(input: Tensor, *, force: bool = False) -> np.ndarray:
    """The tensor's memory as an ndarray: a change of one is a change of the other.

    Parameters
    ----------
    input : Tensor
        One that does not require grad, unless under `no_grad`.
    force : bool
        Detach first where it does.

    Raises
    ------
    RuntimeError
        If the tensor requires grad and gradients are recorded.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.tensor([1.0, 2.0]).numpy()
    array([1., 2.], dtype=float32)
    """
    if not force and current_node(input) is not None and grad_on():
        raise RuntimeError(NEEDS_DETACH)
    if observers:
        if not force:
            _check_tangent("numpy()", input)
        note_cut("numpy", input)
    return input._array.view()  # whose shape the user may set


def _check_tangent(what: str, input: Tensor) -> None:
    """Refuse to lose a derivative silently, within ``func.jvp``."""
    if in_transform() and has_tangent(input):
        raise RuntimeError(_lost(what, "has a tangent"))


def _check_inner(what: str, input: Tensor) -> None:
    """The same within ``func.grad``; copies of leaves from outside are leaves, as elsewhere."""
    node = current_node(input)
    if node is not None and (not input.is_leaf or node in inner_leaves):
        raise RuntimeError(_lost(what, "is differentiated"))


def _check_alike(what: str, input: Tensor) -> None:
    """Refuse to copy one example of a batch, as if it were all there is."""
    if observers and differs(input):
        raise NotImplementedError(
            f"vmap: {what} reads the memory of one Tensor, but this one is vmapped over, so it stands for one of each example. "
            "Use .clone(), which copies each"
        )


def _lost(what: str, why: str) -> str:
    return (
        f"Can't call {what} on a Tensor that {why} in a transform of func: its derivative would be lost. Use "
        "clone(), which keeps it, or tensor.detach() first"
    )


def to_array(input: Tensor, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
    """``np.asarray(tensor)``: shares memory where the dtype allows it."""
    array = numpy(input)
    if dtype is not None and dtype != array.dtype:
        if copy is False:
            raise ValueError(
                f"Unable to avoid copy while converting a tensor of {input.dtype!r} to an array of {dtype}"
            )
        return silent(array.astype, dtype)
    return array.copy() if copy else array.view()


def to_dlpack(input: Tensor, **keywords: Any) -> Any:
    """A DLPack capsule of the tensor's memory, for another library."""
    if current_node(input) is not None:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if observers:
        tell_left("numpy", input)
    return input._array.__dlpack__(**keywords)


def dlpack_device(input: Tensor) -> tuple[Any, Any]:
    """The device in DLPack's terms: the CPU."""
    return input._array.__dlpack_device__()


# -- copies ------------------------------------------------------------------------------------------------------------
def deepcopied(input: Tensor, memo: dict[int, Any]) -> Tensor:
    """``copy.deepcopy(tensor)``: of a leaf, with its gradient and attributes."""
    if id(input) in memo:
        return memo[id(input)]
    _check_alike("copy.deepcopy()", input)
    if in_transform():
        _check_inner("copy.deepcopy()", input)
    if not input.is_leaf:
        raise RuntimeError(LEAVES_ONLY)
    if observers:
        _check_tangent("copy.deepcopy()", input)
        tell_left("numpy", input)
    twin = rebuilt(type(input), _twin(input._array, memo), input.requires_grad)
    memo[id(input)] = twin
    if input.grad is not None:
        twin.grad = copying.deepcopy(input.grad, memo)
    twin.__dict__.update(copying.deepcopy(input.__dict__, memo))
    return twin


def _twin(array: np.ndarray, memo: dict[int, Any]) -> np.ndarray:
    """A copy of the array with its strides; copies of arrays that show one memory show one memory too."""
    memory = owner(array)
    twin = memo.get(id(memory))
    if twin is None:
        memo[id(memory)] = twin = memory.copy(order="K")
    if array is memory:
        return twin
    if twin.strides != memory.strides:  # the memory has gaps
        return array.copy(order="K")
    begin = array.__array_interface__["data"][0] - memory.__array_interface__["data"][0]
    return np.ndarray(array.shape, array.dtype, twin.ravel(order="K"), begin, array.strides)


def reduced(input: Tensor, protocol: Any) -> tuple[Any, ...]:
    """How ``pickle`` and ``copy.copy`` remake the tensor: a leaf of its class, dtype and ``requires_grad``."""
    _check_alike("pickle or copy.copy()", input)
    if in_transform():
        _check_inner("pickle or copy.copy()", input)
    if observers:
        _check_tangent("pickle or copy.copy()", input)
        tell_left("numpy", input)
    return rebuilt, (type(input), input._array, input.requires_grad), input.__dict__ or None


def rebuilt(kind: type[Tensor], array: np.ndarray, requires_grad: bool) -> Tensor:
    """A tensor of class *kind* around an array."""
    tensor = object.__new__(kind)
    tensor._array, tensor._node, tensor._alias, tensor._layout = checked_array(array), None, None, None
    if requires_grad:
        tensor.requires_grad = True
    return tensor
