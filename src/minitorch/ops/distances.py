"""Distances between vectors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .._args import array_of, dim_of, number, real
from .._errors import scalar_name
from .._kernels import reduce as reductions
from .._op import op
from .._runtime import deliver, traced, wrap
from .._types import Number
from . import pointwise
from ._matrices import check_batches, check_same_dtype
from .vector_norm import vector_norm

if TYPE_CHECKING:
    from .._tensor import Tensor


# -- rows --------------------------------------------------------------------------------------------------------------
_CHUNK = 1 << 20  # elements of differences that are held at once


def _length(differences: np.ndarray, p: float) -> np.ndarray:
    """The norms along the last axis of an array that may be written into."""
    if p == 2:
        return np.sqrt(np.einsum("...i,...i->...", differences, differences))
    if p == 0:
        return (differences != 0).sum(-1).astype(differences.dtype)
    sizes = np.abs(differences, out=differences)
    if math.isinf(p):
        return sizes.max(-1, initial=0)
    if p == 1:
        return reductions.sum(sizes, (sizes.ndim - 1,), False)
    total = reductions.sum(np.power(sizes, p, out=sizes), (sizes.ndim - 1,), False)
    return np.power(total, 1 / p, out=total)


def _cdist(self: np.ndarray, other: np.ndarray, *, p: float, few: float = 25.0) -> np.ndarray:
    if p == 2 and max(self.shape[-2], other.shape[-2]) > few:
        return _products(self, other)
    batch = np.broadcast_shapes(self.shape[:-2], other.shape[:-2])
    rows, columns, size = self.shape[-2], other.shape[-2], self.shape[-1]
    out = np.empty((*batch, rows, columns), self.dtype)
    step = max(1, _CHUNK // max(1, math.prod(batch) * columns * size))
    for start in range(0, rows, step):
        end = start + step
        out[..., start:end, :] = _length(self[..., start:end, None, :] - other[..., None, :, :], p)
    return out


def _products(self: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Euclidean distances by ``|a|^2 + |b|^2 - 2 a b``."""
    squares = [reductions.sum(x * x, (x.ndim - 1,), False) for x in (self, other)]
    out = self @ other.swapaxes(-1, -2)
    out *= -2
    out += squares[0][..., None]
    out += squares[1][..., None, :]
    return np.sqrt(np.maximum(out, 0, out=out), out)


def _weights(F: Any, g: Any, difference: Any, result: Any, p: float) -> Any:
    """The gradients of norms along the last axis to the differences; 0 where the norm is 0."""
    g, result = F.unsqueeze(g, dim=-1), F.unsqueeze(result, dim=-1)
    if p == 1:
        return g * F.sign(difference)
    if math.isinf(p):
        largest = F.eq(F.abs(difference), result)
        return g * F.where(F.sign(difference), F.zeros_like(difference), largest)
    if p > 1:
        ratio = F.abs(F.divide_or_zero(difference, result))
        return g * F.sign(difference) * ratio ** (p - 1)
    return F.divide_or_zero(g * F.sign(difference), F.divide_or_zero(F.abs(difference), result) ** (1 - p))


def _cdist_part(F: Any, g: Any, self: Any, other: Any, result: Any, p: float) -> Any:
    """The gradient to *self*; for Euclidean distances with no array of all differences."""
    if p == 0:
        return F.zeros_like(self)
    if p == 2:
        weights = F.divide_or_zero(g, result)
        total = F.sum(weights, dim=(len(weights.shape) - 1,), keepdim=True)
        return self * total - F.matmul(weights, other)
    difference = F.unsqueeze(self, dim=-2) - F.unsqueeze(other, dim=-3)
    slopes = _weights(F, g, difference, result, p)
    return F.sum(slopes, dim=(len(slopes.shape) - 2,), keepdim=False)


def _cdist_other(F: Any, g: Any, self: Any, other: Any, result: Any, p: float) -> Any:
    return _cdist_part(F, F.mT(g), other, self, F.mT(result), p)


def _cdist_tangent(F: Any, t: Any, self: Any, other: Any, result: Any, p: float) -> Any:
    """What moving the points of *self* adds to the distances."""
    if p == 0:
        return F.zeros_like(result)
    last = len(t.shape) - 1
    if p == 2:
        return F.divide_or_zero(F.sum(t * self, dim=(last,), keepdim=True) - F.matmul(t, F.mT(other)), result)
    difference = F.unsqueeze(self, dim=-2) - F.unsqueeze(other, dim=-3)
    slopes = _weights(F, F.zeros_like(result) + 1, difference, result, p)
    moved = slopes * F.unsqueeze(t, dim=-2)
    return F.sum(moved, dim=(len(moved.shape) - 1,), keepdim=False)


def _cdist_other_tangent(F: Any, t: Any, self: Any, other: Any, result: Any, p: float) -> Any:
    return F.mT(_cdist_tangent(F, t, other, self, F.mT(result), p))


_cdist_row = op("cdist", "CdistBackward0", _cdist, ("self", "other"), broadcasts=True, numbers=False,
                tangent={"self": _cdist_tangent, "other": _cdist_other_tangent},
                self=_cdist_part, other=_cdist_other)  # fmt: skip


# -- public functions --------------------------------------------------------------------------------------------------
_MODES = {
    "use_mm_for_euclid_dist_if_necessary": 25.0,
    "use_mm_for_euclid_dist": -1.0,
    "donot_use_mm_for_euclid_dist": math.inf,
}
"""More vectors than this on one side: Euclidean distances go by a product of matrices."""


def cdist(
    x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str | None = "use_mm_for_euclid_dist_if_necessary"
) -> Tensor:
    """The distances between each of two sets of vectors.

    Parameters
    ----------
    x1, x2 : Tensor
        float32 or float64, ``(*, n, k)`` and ``(*, m, k)``; the batches broadcast.
    p : float
        The order of the norm, from 0 to ``inf``.
    compute_mode : str
        Whether Euclidean distances go by a product of matrices, which is faster and, for vectors that are close, less
        exact: "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist", or, the default,
        "use_mm_for_euclid_dist_if_necessary", with more than 25 vectors.

    Returns
    -------
    Tensor
        ``(*, n, m)``; the gradient is 0 where a distance is 0.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.cdist(torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0], [0.0, 1.0]]))
    tensor([[5., 1.]])
    """
    a, b = array_of("cdist", x1, "x1"), array_of("cdist", x2, "x2", 2)
    for array, which in ((a, "X1"), (b, "X2")):
        if array.dtype.kind != "f":
            raise RuntimeError(f"cdist only supports floating-point dtypes, {which} got: {scalar_name(array.dtype)}")
        if array.ndim < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {which} got: {array.ndim}D")
        if array.dtype.itemsize < 4:
            raise NotImplementedError(f'"cdist" not implemented for {scalar_name(array.dtype)!r}; use .float()')
    if a.shape[-1] != b.shape[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {a.shape[-1]} X2: {b.shape[-1]}")
    check_batches("cdist", a.shape[:-2], b.shape[:-2])
    check_same_dtype("cdist", a, b, "x1", "x2")
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    if compute_mode is not None and compute_mode not in _MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    return _cdist_row(x1, x2, float(p), _MODES[compute_mode or "use_mm_for_euclid_dist_if_necessary"])


def pdist(input: Tensor, p: float = 2) -> Tensor:
    """The distances between all pairs of a matrix's rows: the part of ``cdist(input, input)`` above the diagonal.

    Parameters
    ----------
    input : Tensor
        float32 or float64, ``(n, k)``.
    p : float
        The order of the norm, from 0 to ``inf``.

    Returns
    -------
    Tensor
        ``(n * (n - 1) / 2,)``.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.pdist(torch.tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]]))
    tensor([5.0000, 1.0000, 4.2426])
    """
    array = array_of("pdist", input)
    if array.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {array.ndim}D")
    if array.dtype.kind != "f":
        raise RuntimeError("pdist only supports floating-point dtypes")
    if array.dtype.itemsize < 4:
        raise NotImplementedError(f'"pdist" not implemented for {scalar_name(array.dtype)!r}; use .float()')
    p = real(p, "p", "pdist")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    size = len(array)
    first, second = np.triu_indices(size, 1)
    distances = _cdist_row(input, input, float(p), math.inf)
    return traced.index_select(traced.view(distances, size=(-1,)), wrap(first * size + second), 0)


def dist(input: Tensor, other: Tensor, p: Number = 2, *, out: Tensor | None = None) -> Tensor:
    """The norm of the difference of two tensors, which broadcast.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.dist(torch.tensor([1.0, 1.0]), torch.tensor([4.0, 5.0]))
    tensor(5.)
    """
    if out is not None:
        return deliver("dist", lambda: dist(input, other, p), (input, other), out)
    array_of("dist", input)
    array_of("dist", other, "other", 2)
    return vector_norm(pointwise.sub(input, other), p)


def renorm(input: Tensor, p: Number, dim: int, maxnorm: Number, *, out: Tensor | None = None) -> Tensor:
    """Slices scaled down to a largest norm; those with a smaller norm stay.

    Parameters
    ----------
    input : Tensor
        Floats, at least 2-D.
    p : number
        The order of the norm, above 0.
    dim : int
        The dimension along which the slices are numbered.
    maxnorm : number
        The largest norm.
    out : Tensor, optional
        Where the result is written.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.renorm(torch.tensor([[3.0, 4.0], [0.3, 0.4]]), 2, 0, 1.0)
    tensor([[0.6000, 0.8000],
            [0.3000, 0.4000]])
    """
    if out is not None:
        return deliver("renorm", lambda: renorm(input, p, dim, maxnorm), (input,), out)
    array = array_of("renorm", input)
    kept = dim_of(dim, array.ndim)
    if p <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    maxnorm = number(maxnorm, "maxnorm", "renorm")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    if array.ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {array.ndim} dimensions")
    others = tuple([d for d in range(array.ndim) if d != kept])
    norms = vector_norm(input, p, others, keepdim=True)
    factors = maxnorm / (norms + 1e-7)
    return pointwise.mul(input, traced.masked_fill(factors, norms.le(maxnorm), value=1.0))
