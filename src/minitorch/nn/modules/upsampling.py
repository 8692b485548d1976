"""Images of another size."""

from __future__ import annotations

from collections.abc import Sequence

from ..._tensor import Tensor
from .. import functional as F
from .conv import Sizes
from .module import Module


class Upsample(Module):
    """Images of another size; see ``nn.functional.interpolate``.

    Parameters
    ----------
    size : int or tuple, optional
        The spatial sizes of the output.
    scale_factor : float or tuple, optional
        Instead: how many times as large it is.
    mode : str, default "nearest"
        What new values are made of.
    align_corners : bool, optional
        Whether images reach from centre to centre of their corner values.
    recompute_scale_factor : bool, optional
        Whether rounded sizes say where new values lie.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.Upsample(scale_factor=2)(torch.tensor([[[1.0, 2.0]]]))
    tensor([[[1., 1., 2., 2.]]])
    """

    def __init__(
        self,
        size: Sizes | None = None,
        scale_factor: float | Sequence[float] | None = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.name = type(self).__name__
        self.size, self.mode, self.align_corners = size, mode, align_corners
        if isinstance(scale_factor, tuple):
            scale_factor = tuple([float(factor) for factor in scale_factor])
        elif isinstance(scale_factor, (int, float)):
            scale_factor = float(scale_factor) or None
        self.scale_factor, self.recompute_scale_factor = scale_factor, recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.interpolate(
            input,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            recompute_scale_factor=self.recompute_scale_factor,
        )

    def extra_repr(self) -> str:
        name = "size" if self.scale_factor is None else "scale_factor"
        return f"{name}={getattr(self, name)!r}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Upsample by the nearest values.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.UpsamplingNearest2d(scale_factor=2)(torch.ones(1, 1, 1, 1)).shape
    torch.Size([1, 1, 2, 2])
    """

    def __init__(self, size: Sizes | None = None, scale_factor: float | Sequence[float] | None = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Upsample by bilinear values, corners aligned.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.UpsamplingBilinear2d(size=(1, 3))(torch.tensor([[[[1.0, 3.0]]]]))
    tensor([[[[1., 2., 3.]]]])
    """

    def __init__(self, size: Sizes | None = None, scale_factor: float | Sequence[float] | None = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)
