"""Padding: more at the ends of the last dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._tensor import Tensor
from .. import functional as F
from .module import Module


class _Pad(Module):
    """What all paddings have: how much, and of what kind."""

    ndim: int
    mode: str

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__()
        self.padding = (padding,) * (2 * self.ndim) if isinstance(padding, int) else tuple(padding)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self.mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPad(_Pad):
    value: float

    def __init__(self, padding: int | Sequence[int], value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPad):
    """A value at both ends of the last dimension.

    Parameters
    ----------
    padding : int or tuple
        How often: at both ends, or (left, right).
    value : float
        The value.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.ConstantPad1d((1, 2), 7.0)(torch.zeros(1, 2))
    tensor([[7., 0., 0., 7., 7.]])
    """

    ndim = 1


class ConstantPad2d(_ConstantPad):
    """A value around images; *padding* may be (left, right, top, bottom).

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.ConstantPad2d((0, 0, 1, 0), 7.0)(torch.zeros(1, 1, 2))
    tensor([[[7., 7.],
             [0., 0.]]])
    """

    ndim = 2


class ConstantPad3d(_ConstantPad):
    """A value around volumes; *padding* may be (left, right, top, bottom, front, back)."""

    ndim = 3


class _ZeroPad(_ConstantPad):
    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad1d(_ZeroPad):
    """Zeros at both ends of the last dimension; parameters as for ConstantPad1d."""

    ndim = 1


class ZeroPad2d(_ZeroPad):
    """Zeros around images; parameters as for ConstantPad2d.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.ZeroPad2d(1)(torch.ones(1, 1, 1))
    tensor([[[0., 0., 0.],
             [0., 1., 0.],
             [0., 0., 0.]]])
    """

    ndim = 2


class ZeroPad3d(_ZeroPad):
    """Zeros around volumes; parameters as for ConstantPad3d."""

    ndim = 3


class ReflectionPad1d(_Pad):
    """The elements before each end in reverse order, without the last itself; parameters as for ConstantPad1d.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.ReflectionPad1d(2)(torch.tensor([[1.0, 2.0, 3.0]]))
    tensor([[3., 2., 1., 2., 3., 2., 1.]])
    """

    ndim, mode = 1, "reflect"


class ReflectionPad2d(_Pad):
    """Images reflected at their edges; parameters as for ConstantPad2d."""

    ndim, mode = 2, "reflect"


class ReflectionPad3d(_Pad):
    """Volumes reflected at their faces; parameters as for ConstantPad3d."""

    ndim, mode = 3, "reflect"


class ReplicationPad1d(_Pad):
    """The last element at each end again; parameters as for ConstantPad1d.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.ReplicationPad1d(2)(torch.tensor([[1.0, 2.0]]))
    tensor([[1., 1., 1., 2., 2., 2.]])
    """

    ndim, mode = 1, "replicate"


class ReplicationPad2d(_Pad):
    """The edges of images again; parameters as for ConstantPad2d.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.ReplicationPad2d((1, 0, 0, 0))(torch.tensor([[[1.0], [2.0]]]))
    tensor([[[1., 1.],
             [2., 2.]]])
    """

    ndim, mode = 2, "replicate"


class ReplicationPad3d(_Pad):
    """The faces of volumes again; parameters as for ConstantPad3d."""

    ndim, mode = 3, "replicate"


class _CircularPad(_Pad):
    mode = "circular"

    def forward(self, input: Any) -> Tensor:
        if input.dim() not in (self.ndim + 1, self.ndim + 2):
            raise ValueError(f"expected {self.ndim + 1}D or {self.ndim + 2}D input (got {input.dim()}D input)")
        return super().forward(input)


class CircularPad1d(_CircularPad):
    """What stands at the other end, at each end; parameters as for ConstantPad1d.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.CircularPad1d(1)(torch.tensor([[1.0, 2.0, 3.0]]))
    tensor([[3., 1., 2., 3., 1.]])
    """

    ndim = 1


class CircularPad2d(_CircularPad):
    """Images as if they were repeated; parameters as for ConstantPad2d."""

    ndim = 2


class CircularPad3d(_CircularPad):
    """Volumes as if they were repeated; parameters as for ConstantPad3d."""

    ndim = 3
