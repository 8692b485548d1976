"""What distributions share: parameters brought to one shape, probabilities and logits, properties computed once."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from .. import _runtime
from .._dtypes import get_default_dtype
from .._limits import finfo
from .._modes import enable_grad
from ..nn.functional import softmax
from ..ops.broadcast import broadcast_tensors
from ..ops.creation import empty
from ..ops.from_data import tensor
from ..ops.ranges import arange

euler_constant: float = 0.57721566490153286060
"""The Euler-Mascheroni constant."""

Number = (bool, int, float)


def broadcast_all(*values: Any) -> tuple[Any, ...]:
    """Tensors and numbers as tensors of one shape; numbers take the dtype of the first tensor.

    Raises
    ------
    ValueError
        For something that is neither.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.distributions.utils.broadcast_all(1, torch.zeros(2))
    (tensor([1., 1.]), tensor([0., 0.]))
    """
    tensors = [v for v in values if isinstance(v, _runtime.Tensor)]
    for value in values:
        if not isinstance(value, (_runtime.Tensor, *Number)):
            raise ValueError(
                f"Input arguments must all be instances of Number or torch.Tensor, but got {type(value).__name__}"
            )
    dtype = tensors[0].dtype if tensors else get_default_dtype()
    return tuple(broadcast_tensors(*[v if isinstance(v, _runtime.Tensor) else tensor(v, dtype=dtype) for v in values]))


def standard_normal(shape: Sequence[int], like: Any) -> Any:
    """Normal numbers of mean 0 and variance 1, in another tensor's dtype."""
    return empty(tuple(shape), dtype=like.dtype).normal_()


def sum_rightmost(value: Any, dims: int) -> Any:
    """The sum over the last *dims* dimensions."""
    if not dims:
        return value
    return value.reshape((*value.shape[:-dims], -1)).sum(-1)


_sum_rightmost = sum_rightmost


# -- probabilities -----------------------------------------------------------------------------------------------------
def logits_to_probs(logits: Any, is_binary: bool = False) -> Any:
    """Probabilities of logits: of one event each if *is_binary*, else of the events along the last dimension."""
    return logits.sigmoid() if is_binary else softmax(logits, dim=-1)


def clamp_probs(probs: Any) -> Any:
    """Probabilities at least one epsilon of their dtype from 0 and from 1."""
    eps = finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Any, is_binary: bool = False) -> Any:
    """The inverse of ``logits_to_probs``, up to a constant unless *is_binary*."""
    inside = clamp_probs(probs)
    return inside.log() - (-inside).log1p() if is_binary else inside.log()


def one_of(probs: Any, logits: Any) -> None:
    """Refuse a distribution that is given both or neither."""
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")


class lazy_property:
    """A property that is computed when it is first asked for, with gradients, and then kept in the instance.

    Examples
    --------
    >>> import minitorch as torch
    >>> class Squares:
    ...     @torch.distributions.utils.lazy_property
    ...     def values(self):
    ...         print("computed")
    ...         return 4
    >>> squares = Squares()
    >>> squares.values, squares.values
    computed
    (4, 4)
    """

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        self.wrapped = wrapped
        functools.update_wrapper(self, wrapped)  # type: ignore[arg-type]  # it stands for the function

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        with enable_grad():
            value = self.wrapped(instance)
        instance.__dict__[self.wrapped.__name__] = value
        return value


# -- lower triangles ---------------------------------------------------------------------------------------------------
def _triangle(n: int, diag: int) -> Any:
    places = arange(n)
    return places < places.view(-1, 1) + (diag + 1)


def tril_matrix_to_vec(mat: Any, diag: int = 0) -> Any:
    """The entries of (batches of) square matrices on and below a diagonal, row by row.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.distributions.utils.tril_matrix_to_vec(torch.tensor([[1.0, 0.0], [2.0, 3.0]]))
    tensor([1., 2., 3.])
    """
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    return mat[..., _triangle(n, diag)]


def vec_to_tril_matrix(vec: Any, diag: int = 0) -> Any:
    """The inverse of ``tril_matrix_to_vec``.

    Raises
    ------
    ValueError
        If no triangle has this number of entries.
    """
    entries = vec.shape[-1]
    twice = 1 + 2 * diag
    size = (-twice + (twice**2 + 8 * entries + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    n = round(size)
    if n - size > finfo(vec.dtype).eps:
        raise ValueError(
            f"The size of last dimension is {entries} which cannot be expressed as the lower triangular part of a square matrix"
        )
    matrix = vec.new_zeros((*vec.shape[:-1], n, n))
    matrix[..., _triangle(n, diag)] = vec
    return matrix
