"""class Tensor: an explicit index of its methods (aliases of the operations: no wrapper frames)."""

from __future__ import annotations

import warnings
import weakref
from typing import Any

import numpy as np

from . import _dtypes, _inplace, _printing, _runtime
from ._differentiate import tensor_backward
from ._hooks import register_hook, register_post_accumulate_grad_hook
from ._inplace import in_place
from ._op import rows
from ._runtime import operand, wrap
from ._size import Size
from ._tape import AccumulateGrad, Output, extras_of
from ._views import current_node, edits_of
from .ops import copies, linalg, pointwise, reduce
from .ops import shape as shapes


class Tensor:
    """An ndarray plus what autograd needs: its node, and what it shares with views and detached twins."""

    __slots__ = ("_array", "_node", "_alias", "_layout", "_grad", "__dict__", "__weakref__")
    __hash__ = object.__hash__
    __array_priority__ = 1000

    @property
    def shape(self) -> Size:
        return Size(self._array.shape)

    @property
    def dtype(self) -> _dtypes.dtype:
        return _dtypes.of_numpy(self._array.dtype)

    # -- arithmetic
    add, sub, mul, div = pointwise.add, pointwise.sub, pointwise.mul, pointwise.div
    __add__ = __radd__ = rows["add"].operator
    __sub__ = rows["sub"].operator
    __mul__ = __rmul__ = rows["mul"].operator
    __truediv__ = rows["div"].operator
    __gt__ = rows["gt"].operator
    neg = __neg__ = pointwise.neg
    exp, log, tanh = pointwise.exp, pointwise.log, pointwise.tanh
    matmul = __matmul__ = linalg.matmul
    add_ = __iadd__ = in_place(pointwise.add)
    mul_ = __imul__ = in_place(pointwise.mul)
    sub_ = __isub__ = in_place(pointwise.sub)
    exp_ = in_place(pointwise.exp)
    copy_ = in_place(copies.copy, "copy_")

    sum = reduce.sum
    clone = copies.clone
    __getitem__ = shapes.getitem

    def __setitem__(self, index, value):
        part = self[index]
        part.copy_(value if isinstance(value, Tensor) else operand(value, self))

    mT = property(shapes.mT)

    def view(self, *size):
        return shapes.view(self, size)

    def expand(self, *size):
        return shapes.expand(self, size)

    def unbind(self, dim=0):
        return shapes.unbind(self, dim)

    # -- autograd
    backward = tensor_backward
    register_hook = register_hook
    register_post_accumulate_grad_hook = register_post_accumulate_grad_hook

    @property
    def requires_grad(self):
        return current_node(self) is not None

    @property
    def is_leaf(self):
        node = current_node(self)
        return node is None or node.__class__ is AccumulateGrad

    @property
    def grad_fn(self):
        node = current_node(self)
        return None if node.__class__ is AccumulateGrad else node.edges[0] if node.__class__ is Output else node

    @property
    def grad(self):
        node = self._node
        return node.grad if node.__class__ is AccumulateGrad else getattr(self, "_grad", None)

    @grad.setter
    def grad(self, value):
        node = self._node
        if node.__class__ is AccumulateGrad:
            node.grad = value
        else:
            self._grad = value

    def requires_grad_(self, requires_grad=True):
        if requires_grad and self._node is None:
            self._node = AccumulateGrad(self)
        elif not requires_grad:
            self._node = None
        return self

    def detach(self):
        twin = wrap(self._array)
        twin._alias = edits_of(self)
        return twin

    def retain_grad(self):
        node = current_node(self)
        if node.__class__ is not AccumulateGrad:
            extras_of(node).retained = weakref.ref(self)

    @property
    def _version(self):
        return 0 if self._alias is None else self._alias.edits.count

    def numpy(self):
        return self._array

    def __repr__(self):
        return _printing.format_tensor(self._array, default_dtype=_dtypes.default(), suffixes=[f"grad_fn=<{self.grad_fn.name()}>"] if self.grad_fn else ["requires_grad=True"] if self.requires_grad else [])


def tensor(data, requires_grad=False):
    array = np.array(data)
    if array.dtype == np.float64 and not isinstance(data, np.ndarray):
        array = array.astype(np.float32)
    return _runtime.made(array, requires_grad)


_runtime.learn_tensor(Tensor)
