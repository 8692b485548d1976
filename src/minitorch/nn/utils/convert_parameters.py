"""All parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ... import _runtime
from ...ops.join import cat

if TYPE_CHECKING:
    from ..._tensor import Tensor


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All elements of some tensors as one vector, recorded.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.utils.parameters_to_vector([torch.zeros(2), torch.ones(1, 2)])
    tensor([0., 0., 1., 1.])
    """
    return cat([parameter.reshape(-1) for parameter in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Make the elements of a vector the values of some tensors, which then share its memory.

    Raises
    ------
    TypeError
        If *vec* is no tensor.

    Examples
    --------
    >>> import minitorch as torch
    >>> layer = torch.nn.Linear(2, 1)
    >>> torch.nn.utils.vector_to_parameters(torch.tensor([1.0, 2.0, 3.0]), layer.parameters())
    >>> layer.weight.tolist(), layer.bias.tolist()
    ([[1.0, 2.0]], [3.0])
    """
    if not isinstance(vec, _runtime.Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__name__}")
    start = 0
    for parameter in parameters:
        end = start + parameter.numel()
        parameter.data = vec[start:end].view_as(parameter).data
        start = end
