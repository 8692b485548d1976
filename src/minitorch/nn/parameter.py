"""Parameters and buffers: the tensors that a module owns."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from .. import _runtime
from .._modes import observers
from .._records import tell_parts
from .._runtime import has_tangent
from .._tensor import Tensor
from .._value_notes import note_cut, tell_left
from .._views import edits_of
from ..ops.creation import empty
from ..ops.from_data import checked_array


class Parameter(Tensor):
    """A tensor that a module optimises: assigned as an attribute of a module, it is listed in ``module.parameters()``.

    It shares the memory of *data*, requires grad by default, and is a leaf; results of operations on it are plain
    tensors.

    Parameters
    ----------
    data : Tensor, optional
        The initial values, any shape; an empty tensor by default.
    requires_grad : bool, default True
        Whether gradients are computed for it.

    Raises
    ------
    TypeError
        If *data* is no tensor.
    RuntimeError
        If gradients are required of integers or bools.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.Parameter(torch.ones(2))
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    """

    __slots__ = ()

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Parameter:
        parameter = _sharing(cls, data)
        if observers and data is not None:
            note_cut("Parameter", data, parameter)
        parameter.requires_grad = requires_grad
        return parameter

    def __init__(self, data: Any = None, requires_grad: bool = True) -> None:
        pass

    def __repr__(self, *args: Any, **kwargs: Any) -> str:
        return "Parameter containing:\n" + super().__repr__(*args, **kwargs)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(_twin(self), self.requires_grad)
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        if observers:
            tell_left("numpy", self)
        return _rebuilt, (type(self), self._array, self.requires_grad), self.__dict__ or None


class Buffer(Tensor):
    """A tensor that a module keeps but does not optimise: assigned as an attribute, it is in ``module.buffers()``.

    Parameters
    ----------
    data : Tensor, optional
        The values, whose memory is shared; an empty tensor by default.
    persistent : bool, default True
        Whether it is part of the module's ``state_dict()``.

    Examples
    --------
    >>> import minitorch as torch
    >>> module = torch.nn.Module()
    >>> module.mean = torch.nn.Buffer(torch.zeros(2))
    >>> dict(module.state_dict())
    {'mean': tensor([0., 0.])}
    """

    __slots__ = ("persistent",)
    persistent: bool

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Buffer:
        buffer = _sharing(cls, data)
        buffer.persistent = persistent
        if data is not None and data.requires_grad:
            buffer.requires_grad = True
        return buffer

    def __init__(self, data: Any = None, *, persistent: bool = True) -> None:
        pass

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            copied = _twin(self)
            copied.requires_grad = self.requires_grad
            memo[id(self)] = type(self)(copied, persistent=self.persistent)
        return memo[id(self)]


def _twin(tensor: Tensor) -> Any:
    """A tensor of the same values, which observers are told of."""
    array = tensor._array.copy(order="K")
    if observers:
        tell_parts("copied", tensor, array)
    return _runtime.wrap(array)


def _sharing(cls: type[Tensor], data: Any) -> Any:
    """A tensor of class *cls* with the memory, and the record of edits, of *data*."""
    if data is None:
        data = _runtime.wrap(np.empty(0, np.float32))
    if not isinstance(data, Tensor):
        raise TypeError(f"{cls.__name__}(): data must be a Tensor, not {type(data).__name__}")
    if has_tangent(data):
        data = data.detach()
    tensor = Tensor.__new__(cls)
    tensor._array, tensor._node, tensor._layout = data._array, None, data._layout
    tensor._alias = edits_of(data)
    return tensor


def _rebuilt(cls: type[Parameter], array: np.ndarray, requires_grad: bool) -> Parameter:
    """A parameter from its pickled parts."""
    return cls(_runtime.wrap(checked_array(array)), requires_grad)


# -- tensors whose shapes are not known yet ----------------------------------------------------------------------------
_memory: Any = Tensor.__dict__["_array"]  # what a tensor without a shape hides


class UninitializedTensorMixin:
    """A tensor of a lazy module that has a dtype but no shape yet: `materialize` makes it an ordinary one."""

    __slots__ = ()
    cls_to_become: ClassVar[Any]

    @property
    def _array(self) -> Any:
        raise ValueError(
            f"Attempted to use an uninitialized parameter or buffer, {self!r}. Call the lazy module that it belongs to "
            "with a batch first, which gives it its shape."
        )

    @property
    def data(self) -> Any:
        """An empty tensor, of the dtype that this one will have."""
        return _runtime.wrap(_memory.__get__(self))

    @data.setter
    def data(self, value: Any) -> None:
        _memory.__set__(self, value._array)

    @property
    def dtype(self) -> Any:
        """The dtype that it will have."""
        return self.data.dtype

    @property
    def shape(self) -> Any:
        """Nothing: there is none yet."""
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
            "`load_state_dict` when trying to load an uninitialized parameter into an initialized one. Call `forward` to "
            "initialize the parameters before accessing their attributes."
        )

    def materialize(self: Any, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Become an ordinary tensor of this shape, whose values are not set."""
        values = empty(tuple(shape), device=device, dtype=self.dtype if dtype is None else dtype)
        self.__class__ = self.cls_to_become
        self.data = values

    def to(self, dtype: Any) -> Any:
        """Take another dtype."""
        self.data = self.data.to(dtype)
        return self

    def detach(self) -> Any:
        """Itself: as a value of a ``state_dict()``."""
        return self

    def __repr__(self, *args: Any, **kwargs: Any) -> str:
        return f"<{type(self).__name__}>"

    def __deepcopy__(self: Any, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = _without_shape(type(self), self.requires_grad, self.data.numpy())
        return memo[id(self)]

    def __reduce_ex__(self: Any, protocol: Any) -> tuple[Any, ...]:
        return _without_shape, (type(self), self.requires_grad, self.data.numpy())


class UninitializedParameter(UninitializedTensorMixin, Parameter):  # type: ignore[misc,override]
    """A parameter whose shape is not known yet.

    Examples
    --------
    >>> import minitorch as torch
    >>> parameter = torch.nn.UninitializedParameter()
    >>> parameter.materialize((2, 3))
    >>> type(parameter).__name__, parameter.shape
    ('Parameter', torch.Size([2, 3]))
    """

    __slots__ = ()
    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:
        return _without_shape(cls, requires_grad, empty(0, device=device, dtype=dtype)._array)

    def __init__(self, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> None:
        pass


class UninitializedBuffer(UninitializedTensorMixin, Tensor):  # type: ignore[misc,override]
    """A buffer whose shape is not known yet; see UninitializedParameter.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.UninitializedBuffer()
    <UninitializedBuffer>
    """

    __slots__ = ()
    cls_to_become = Tensor

    def __new__(cls, requires_grad: bool = False, device: Any = None, dtype: Any = None) -> Any:
        return _without_shape(cls, requires_grad, empty(0, device=device, dtype=dtype)._array)

    def __init__(self, requires_grad: bool = False, device: Any = None, dtype: Any = None) -> None:
        pass


def _without_shape(cls: Any, requires_grad: bool, array: np.ndarray) -> Any:
    """A tensor of class *cls* with the dtype of *array* and no shape."""
    tensor = _sharing(cls.cls_to_become, _runtime.wrap(checked_array(array)))
    tensor.requires_grad = requires_grad
    tensor.__class__ = cls
    return tensor


def is_lazy(param: Any) -> bool:
    """Whether a parameter or buffer has no shape yet."""
    return isinstance(param, UninitializedTensorMixin)
