"""Poolings by powers and by random windows, and what undoes max pooling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._tensor import Tensor
from .. import functional as F
from .conv import Sizes, per_dim
from .module import Module


class _LPPool(Module):
    """What pooling by powers has."""

    def __init__(
        self, norm_type: float, kernel_size: Sizes, stride: Sizes | None = None, ceil_mode: bool = False
    ) -> None:
        super().__init__()
        self.norm_type, self.kernel_size, self.stride, self.ceil_mode = norm_type, kernel_size, stride, ceil_mode

    def _options(self) -> tuple[Any, ...]:
        return float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode

    def extra_repr(self) -> str:
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPool):
    """The p-norm of each window along the last dimension.

    Parameters
    ----------
    norm_type : float
        p.
    kernel_size : int
        The size of the window.
    stride : int, optional
        How far it moves; its size by default.
    ceil_mode : bool, default False
        Whether a last window may stick out.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.LPPool1d(2, 2)(torch.tensor([[3.0, 4.0]]))
    tensor([[5.]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.lp_pool1d(input, *self._options())


class LPPool2d(_LPPool):
    """The p-norm of each window of an image; parameters as for LPPool1d."""

    def forward(self, input: Tensor) -> Tensor:
        return F.lp_pool2d(input, *self._options())


class LPPool3d(_LPPool):
    """The p-norm of each window of a volume; parameters as for LPPool1d."""

    def forward(self, input: Tensor) -> Tensor:
        return F.lp_pool3d(input, *self._options())


class _MaxUnpool(Module):
    """What unpooling has."""

    ndim: int

    def __init__(self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0) -> None:
        super().__init__()
        self.kernel_size = per_dim(kernel_size, self.ndim)
        self.stride = per_dim(kernel_size if stride is None else stride, self.ndim)
        self.padding = per_dim(padding, self.ndim)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpool):
    """Each maximum that MaxPool1d found where it was, zeros elsewhere.

    Parameters
    ----------
    kernel_size, stride, padding : int or tuple
        Those of the pooling.

    Examples
    --------
    >>> import minitorch as torch
    >>> pool, unpool = torch.nn.MaxPool1d(2, return_indices=True), torch.nn.MaxUnpool1d(2)
    >>> unpool(*pool(torch.tensor([[[1.0, 3.0, 2.0, 0.0]]])))
    tensor([[[0., 3., 2., 0.]]])
    """

    ndim = 1

    def forward(self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        return F.max_unpool1d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool2d(_MaxUnpool):
    """Each maximum that MaxPool2d found where it was, zeros elsewhere; parameters as for MaxUnpool1d."""

    ndim = 2

    def forward(self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        return F.max_unpool2d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool3d(_MaxUnpool):
    """Each maximum that MaxPool3d found where it was, zeros elsewhere; parameters as for MaxUnpool1d."""

    ndim = 3

    def forward(self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        return F.max_unpool3d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class _FractionalMaxPool(Module):
    """What pooling by random windows has."""

    ndim: int

    def __init__(
        self,
        kernel_size: Sizes,
        output_size: Sizes | None = None,
        output_ratio: float | Sequence[float] | None = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        if (output_size is None) == (output_ratio is None):
            one = "neither" if output_size is None else "both"
            raise ValueError(f"give one of output_size and output_ratio; {one} came")
        self.kernel_size, self.return_indices = per_dim(kernel_size, self.ndim), return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else per_dim(output_size, self.ndim)
        ratios = (output_ratio,) * self.ndim if isinstance(output_ratio, (int, float)) else output_ratio
        self.output_ratio = ratios
        if ratios is not None and not all([0 < ratio < 1 for ratio in ratios]):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def _options(self) -> tuple[Any, ...]:
        return self.kernel_size, self.output_size, self.output_ratio, self.return_indices, self._random_samples


class FractionalMaxPool2d(_FractionalMaxPool):
    """The maxima of windows of an image that start at random steps.

    Parameters
    ----------
    kernel_size : int or tuple
        The size of the window.
    output_size : int or tuple, optional
        The size of the output; or
    output_ratio : float or tuple, optional
        the share of the input's.
    return_indices : bool, default False
        Whether the positions of the maxima are returned too.

    Notes
    -----
    Source: Graham, "Fractional max-pooling", 2014.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.FractionalMaxPool2d(3, output_ratio=0.5)(torch.randn(2, 3, 20, 12)).shape
    torch.Size([2, 3, 10, 6])
    """

    ndim = 2

    def forward(self, input: Tensor) -> Any:
        return F.fractional_max_pool2d(input, *self._options())


class FractionalMaxPool3d(_FractionalMaxPool):
    """The maxima of windows of a volume that start at random steps; parameters as for FractionalMaxPool2d."""

    ndim = 3

    def forward(self, input: Tensor) -> Any:
        return F.fractional_max_pool3d(input, *self._options())
