"""class Tensor: an explicit index of its methods (aliases of the operations: no wrapper frames)."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _autograd_methods as autograd_methods
from . import _dtypes, _printing, _runtime
from ._differentiate import tensor_backward
from ._hooks import register_hook, register_post_accumulate_grad_hook
from ._inplace import in_place, setitem_view
from ._op import rows
from ._size import Size
from .ops import copies, linalg, pointwise, reduce
from .ops import shape as shapes


class Tensor:
    """An ndarray plus what autograd needs: its node, and what it shares with views and detached twins.

    Made by ``tensor``, ``zeros``, ``randn`` and the like, and by operations.
    """

    __slots__ = ("_array", "_node", "_alias", "_layout", "_grad", "__dict__", "__weakref__")
    __hash__ = object.__hash__

    # -- attributes and conversion
    @property
    def shape(self) -> Size:
        """The sizes of the dimensions."""
        return Size(self._array.shape)

    @property
    def dtype(self) -> _dtypes.dtype:
        """The element type."""
        return _dtypes.of_numpy(self._array.dtype)

    def numpy(self) -> np.ndarray:
        return self._array

    def __repr__(self) -> str:
        suffixes = [f"grad_fn=<{self.grad_fn.name()}>"] if self.grad_fn else ["requires_grad=True"] * self.requires_grad
        return _printing.format_tensor(self._array, default_dtype=_dtypes.default(), suffixes=suffixes)

    # -- arithmetic, elementary functions, comparisons, copies
    add, sub, mul, div = pointwise.add, pointwise.sub, pointwise.mul, pointwise.div
    __add__ = __radd__ = rows["add"].operator
    __sub__ = rows["sub"].operator
    __mul__ = __rmul__ = rows["mul"].operator
    __truediv__ = rows["div"].operator
    __gt__ = rows["gt"].operator
    neg = __neg__ = pointwise.neg
    exp, log, tanh = pointwise.exp, pointwise.log, pointwise.tanh
    add_ = __iadd__ = in_place(pointwise.add)
    mul_ = __imul__ = in_place(pointwise.mul)
    sub_ = __isub__ = in_place(pointwise.sub)
    exp_ = in_place(pointwise.exp)
    clone = copies.clone
    copy_ = in_place(copies.copy, "copy_")

    # -- reductions
    sum = reduce.sum

    # -- products
    matmul = __matmul__ = linalg.matmul

    # -- nn

    # -- shape
    mT = property(shapes.mT)

    def view(self, *size: Any) -> Tensor:
        return shapes.view(self, size)

    def expand(self, *size: Any) -> Tensor:
        return shapes.expand(self, size)

    def unbind(self, dim: int = 0) -> Tensor:
        return shapes.unbind(self, dim)

    # -- indexing
    __getitem__ = shapes.getitem
    __setitem__ = setitem_view

    # -- autograd
    backward = tensor_backward
    register_hook = register_hook
    register_post_accumulate_grad_hook = register_post_accumulate_grad_hook
    requires_grad = property(autograd_methods.requires_grad, autograd_methods.set_requires_grad)
    is_leaf = property(autograd_methods.is_leaf)
    grad_fn = property(autograd_methods.grad_fn)
    grad = property(autograd_methods.grad, autograd_methods.set_grad, autograd_methods.delete_grad)
    data = property(autograd_methods.data, autograd_methods.set_data)
    output_nr = property(autograd_methods.output_nr)
    retains_grad = property(autograd_methods.retains_grad)
    _version = property(autograd_methods.version)
    requires_grad_ = autograd_methods.requires_grad_
    retain_grad = autograd_methods.retain_grad
    detach = autograd_methods.detach
    detach_ = autograd_methods.detach_
    is_inference = autograd_methods.is_inference


def tensor(data: Any, requires_grad: bool = False) -> Tensor:
    array = np.array(data)
    if array.dtype == np.float64 and not isinstance(data, np.ndarray):
        array = array.astype(np.float32)
    return _runtime.made(array, requires_grad)


_runtime.learn_tensor(Tensor)
