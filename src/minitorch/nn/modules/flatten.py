"""Flattening dimensions and dividing them again."""

from __future__ import annotations

from typing import Any

from ..._tensor import Tensor
from .module import Module


class Flatten(Module):
    """Several dimensions made one: by default all but the first, which counts the samples.

    Parameters
    ----------
    start_dim, end_dim : int
        The first and the last dimension that are taken together.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.Flatten()(torch.zeros(32, 1, 5, 5)).shape
    torch.Size([32, 25])
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """One dimension divided into several.

    Parameters
    ----------
    dim : int
        The dimension.
    unflattened_size : tuple of int
        Its new sizes, of which one may be -1.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.Unflatten(1, (2, 5, 5))(torch.zeros(2, 50)).shape
    torch.Size([2, 2, 5, 5])
    """

    def __init__(self, dim: int, unflattened_size: Any) -> None:
        super().__init__()
        if not isinstance(dim, int):
            raise TypeError(f"dim must be an int: named dimensions are not supported, but got {type(dim).__name__}")
        if not isinstance(unflattened_size, (tuple, list)):
            raise TypeError(
                f"unflattened_size must be a tuple of ints, but found type {type(unflattened_size).__name__}"
            )
        for position, size in enumerate(unflattened_size):
            if not isinstance(size, int):
                raise TypeError(
                    f"unflattened_size must be tuple of ints, but found element of type {type(size).__name__} at pos "
                    f"{position}"
                )
        self.dim, self.unflattened_size = dim, unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
