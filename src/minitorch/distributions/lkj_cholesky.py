"""The LKJ distribution of correlation matrices, by their Cholesky factors."""

from __future__ import annotations

import math
from typing import Any

from .._limits import finfo
from .._modes import no_grad
from ..ops.creation import zeros
from ..ops.gamma_normal import mvlgamma
from ..ops.join import cat
from ..ops.ranges import arange
from ..ops.special import lgamma
from . import constraints
from .beta import Beta
from .distribution import Distribution
from .utils import broadcast_all, standard_normal


class LKJCholesky(Distribution):
    """Lower Cholesky factors of correlation matrices whose density is proportional to ``det ** (concentration - 1)``.

    With a concentration of 1, all correlation matrices are equally likely.

    Parameters
    ----------
    dim : int
        The number of rows, 2 or more.
    concentration : Tensor or float
        Positive.
    validate_args : bool, optional
        Whether parameters and values are checked.

    Raises
    ------
    ValueError
        If *dim* is too small.

    Notes
    -----
    Source: D. Lewandowski, D. Kurowicka and H. Joe, "Generating random correlation matrices based on vines and extended
    onion method", Journal of Multivariate Analysis 100, 2009: the onion method, and the constant on page 1999.  Samples
    are PyTorch's with the same seed.  There, the squared length of row i left of the diagonal, from the third row (i = 2)
    on, is drawn from a beta distribution with parameter ``i - 0.5``, where the paper has ``i / 2``; so the correlations
    of these rows are larger than ``log_prob`` says.

    Examples
    --------
    >>> import minitorch as torch
    >>> lkj = torch.distributions.LKJCholesky(2, 1.0)
    >>> lkj.log_prob(torch.eye(2)).exp()  # the correlation is uniform from -1 to 1
    tensor(0.5000)
    >>> factor = lkj.sample()
    >>> torch.allclose((factor @ factor.mT).diagonal(), torch.ones(2))
    True
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        dtype = self.concentration.dtype
        rows = cat([zeros(1, dtype=dtype), arange(dim - 1, dtype=dtype)])
        others = (self.concentration + 0.5 * (dim - 2)).unsqueeze(-1) - 0.5 * rows
        self._beta = Beta(rows + 0.5, others)  # of the squared length of a row left of its diagonal
        super().__init__(self.concentration.shape, (dim, dim), validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(LKJCholesky, _instance)
        new.dim = self.dim
        new.concentration = self.concentration.expand(tuple(batch_shape))
        new._beta = self._beta.expand((*batch_shape, self.dim))
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def sample(self, sample_shape: Any = ()) -> Any:
        with no_grad():
            squares = self._beta.sample(sample_shape).unsqueeze(-1)
            normal = standard_normal(self._extended_shape(sample_shape), squares).tril(-1)
            directions = normal / normal.norm(dim=-1, keepdim=True)
            directions[..., 0, :] = 0.0  # there is nothing left of the first diagonal element
            left = squares.sqrt() * directions
            rest = (1 - left.pow(2).sum(-1)).clamp(min=finfo(left.dtype).tiny)
            return left + rest.sqrt().diag_embed()

    def log_prob(self, value: Any) -> Any:
        value, eta, size = self._checked(value), self.concentration, self.dim
        powers = 2 * (eta - 1).unsqueeze(-1) + size - arange(2, size + 1)
        density = (powers * value.diagonal(dim1=-1, dim2=-2)[..., 1:].log()).sum(-1)
        alpha = eta + 0.5 * (size - 1)
        constant = 0.5 * math.log(math.pi) * (size - 1) + mvlgamma(alpha - 0.5, size - 1) - lgamma(alpha) * (size - 1)
        return density - constant
