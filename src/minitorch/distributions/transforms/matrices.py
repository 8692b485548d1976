"""Transforms to triangular and to positive definite matrices."""

from __future__ import annotations

import math
from typing import Any

from ..._limits import finfo
from ..._size import Size
from ...ops.activation import softplus
from ...ops.creation import eye
from ...ops.factorisations import cholesky
from ...ops.pad import pad
from .. import constraints
from ..utils import tril_matrix_to_vec, vec_to_tril_matrix
from .composed import enough
from .transform import Transform


class _OfMatrices(Transform):
    domain = constraints.independent(constraints.real, 2)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self))

    __hash__ = object.__hash__


class LowerCholeskyTransform(_OfMatrices):
    """The lower triangle, with the diagonal's ``exp``: a Cholesky factor.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.distributions.LowerCholeskyTransform()(torch.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    codomain = constraints.lower_cholesky

    def _call(self, x: Any) -> Any:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Any) -> Any:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(_OfMatrices):
    """``L @ L.T`` of the Cholesky factor that ``LowerCholeskyTransform`` gives."""

    codomain = constraints.positive_definite

    def _call(self, x: Any) -> Any:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Any) -> Any:
        return LowerCholeskyTransform().inv(cholesky(y))


class CorrCholeskyTransform(Transform):
    """Numbers below the diagonal to the Cholesky factor of a correlation matrix: its rows have length 1.

    ``tanh`` makes the numbers canonical partial correlations, and those break each row's unit length as a stick.

    Notes
    -----
    Source: D. Lewandowski, D. Kurowicka and H. Joe, "Generating random correlation matrices based on vines and extended
    onion method", Journal of Multivariate Analysis 100 (2009).

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.distributions.CorrCholeskyTransform()(torch.tensor([0.5]))
    tensor([[1.0000, 0.0000],
            [0.4621, 0.8868]])
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Any) -> Any:
        eps = finfo(x.dtype).eps
        partial = vec_to_tril_matrix(x.tanh().clamp(min=-1 + eps, max=1 - eps), diag=-1)
        left = (1 - partial**2).sqrt().cumprod(-1)
        partial = partial + eye(partial.shape[-1], dtype=partial.dtype)
        return partial * pad(left[..., :-1], [1, 0], value=1)

    def _inverse(self, y: Any) -> Any:
        left = pad((1 - (y * y).cumsum(-1))[..., :-1], [1, 0], value=1)
        partial = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(left, diag=-1).sqrt()
        return (partial.log1p() - partial.neg().log1p()) / 2

    def log_abs_det_jacobian(self, x: Any, y: Any, intermediates: Any = None) -> Any:
        left = tril_matrix_to_vec(1 - (y * y).cumsum(-1), diag=-2)
        return 0.5 * left.log().sum(-1) - 2 * (x + softplus(-2 * x) - math.log(2.0)).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        enough(len(shape), 1)
        n = round((0.25 + 2 * shape[-1]) ** 0.5 + 0.5)
        if n * (n - 1) // 2 != shape[-1]:
            raise ValueError(f"Input is not a flattened lower-diagonal number: its size is {shape[-1]}")
        return Size((*shape[:-1], n, n))

    def inverse_shape(self, shape: Any) -> Any:
        enough(len(shape), 2)
        if shape[-2] != shape[-1]:
            raise ValueError(f"Input is not square: its shape is {Size(shape)}")
        return Size((*shape[:-2], shape[-1] * (shape[-1] - 1) // 2))
