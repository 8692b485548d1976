"""Parametrizations of weights: of length and direction, of spectral norm 1, orthogonal."""

from __future__ import annotations

from typing import Any, TypeVar

from ..._limits import finfo
from ..._modes import no_grad
from ..._tensor import Tensor
from ...ops.compare import allclose
from ...ops.creation import eye, zeros_like
from ...ops.join import cat
from ...ops.linalg import dot, mv
from ...ops.matrix_functions import matrix_exp
from ...ops.orthogonal import geqrf, householder_product
from ...ops.random import randn
from ...ops.solves import solve
from ..functional import normalize
from ..modules.module import Module
from .parametrize import register_parametrization
from .spectral_norm import as_matrix, output_dim, random_unit
from .weight_norm import norm_except_dim, normalised

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]

_Module = TypeVar("_Module", bound=Module)


def _tensor_of(module: Module, name: str) -> Tensor:
    tensor = getattr(module, name, None)
    if not isinstance(tensor, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return tensor


# -- length and direction ----------------------------------------------------------------------------------------------
class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return normalised(weight_g, weight_v, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return norm_except_dim(weight, self.dim), weight


def weight_norm(module: _Module, name: str = "weight", dim: int | None = 0) -> _Module:
    """Parametrize a weight by its length and its direction.

    Parameters
    ----------
    module : Module
        The module.
    name : str
        The weight's name; its length is then ``parametrizations.<name>.original0``, its direction ``original1``.
    dim : int or None
        The dimension that keeps lengths of its own; None: one length for all.

    Notes
    -----
    Source: Salimans and Kingma, "Weight normalization", 2016.

    Examples
    --------
    >>> import minitorch as torch
    >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(3, 2))
    >>> layer.parametrizations.weight.original0.shape
    torch.Size([2, 1])
    """
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def rename(state: dict[str, Any], prefix: str, *rest: Any) -> None:
        """What the older form saved, under the newer names."""
        old = [f"{prefix}{name}_g", f"{prefix}{name}_v"]
        if all([key in state for key in old]):
            for index, key in enumerate(old):
                state[f"{prefix}parametrizations.{name}.original{index}"] = state.pop(key)

    module._register_load_state_dict_pre_hook(rename)
    return module


# -- spectral norm -----------------------------------------------------------------------------------------------------
class _SpectralNorm(Module):
    def __init__(self, weight: Tensor, n_power_iterations: int, dim: int, eps: float) -> None:
        super().__init__()
        if not -weight.ndim <= dim < weight.ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [-{weight.ndim}, {weight.ndim - 1}] but got {dim})"
            )
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.dim, self.eps, self.n_power_iterations = dim % weight.ndim, eps, n_power_iterations
        if weight.ndim > 1:
            with no_grad():
                matrix = as_matrix(weight, self.dim)
                self.register_buffer("_u", random_unit(weight, matrix.shape[0], eps))
                self.register_buffer("_v", random_unit(weight, matrix.shape[1], eps))
            self._improve(matrix, 15)

    def _improve(self, matrix: Tensor, times: int) -> None:
        """Power iterations, in place."""
        with no_grad():
            for _ in range(times):
                self._u.copy_(normalize(mv(matrix, self._v), dim=0, eps=self.eps))
                self._v.copy_(normalize(mv(matrix.t(), self._u), dim=0, eps=self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return normalize(weight, dim=0, eps=self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            self._improve(matrix, self.n_power_iterations)
        u, v = (
            self._u.clone(),
            self._v.clone(),
        )  # the next call writes the buffers while backward of this one still reads
        return weight / dot(u, mv(matrix, v))

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


def spectral_norm(
    module: _Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> _Module:
    """Parametrize a weight to have spectral norm 1: it is divided by its largest singular value, as power iteration knows it.

    Parameters
    ----------
    module : Module
        The module.
    name : str
        The weight's name.
    n_power_iterations : int
        How often the singular vectors are improved each time the weight is read in training mode.
    eps : float
        The smallest length that vectors are divided by.
    dim : int, optional
        The dimension of the outputs: 0, or 1 for transposed convolutions.

    Notes
    -----
    Source: Miyato et al., "Spectral normalization for generative adversarial networks", 2018.

    Examples
    --------
    >>> import minitorch as torch
    >>> layer = torch.nn.utils.parametrizations.spectral_norm(torch.nn.Linear(3, 2))
    >>> 0.9 < torch.linalg.matrix_norm(layer.weight, 2).item() < 1.1
    True
    """
    weight = _tensor_of(module, name)
    register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, output_dim(module, dim), eps))
    return module


# -- orthogonal --------------------------------------------------------------------------------------------------------
def _orthogonalised(matrix: Tensor) -> Tensor:
    """The Q of its QR decomposition whose R has a positive diagonal."""
    reflectors, tau = geqrf(matrix)
    return householder_product(reflectors, tau) * reflectors.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


class _Orthogonal(Module):
    base: Tensor

    def __init__(self, weight: Tensor, orthogonal_map: str, use_trivialization: bool) -> None:
        super().__init__()
        self.shape, self.orthogonal_map, self.trivialised = weight.shape, orthogonal_map, use_trivialization
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        wide = X.shape[-2] < X.shape[-1]
        X = X.mT if wide else X
        Q = self._reflected(X) if self.orthogonal_map == "householder" else self._rotated(X)
        Q = self.base @ Q if self.trivialised else Q
        return Q.mT if wide else Q

    def _rotated(self, X: Tensor) -> Tensor:
        """The rotation of the skew-symmetric matrix that X's lower triangle gives."""
        n, k = X.shape[-2:]
        X = X.tril()
        if n != k:
            X = cat([X, X.new_zeros((*X.shape[:-2], n, n - k))], dim=-1)
        A = X - X.mT
        if self.orthogonal_map == "matrix_exp":
            Q = matrix_exp(A)
        else:  # Cayley's map
            one = eye(n, dtype=A.dtype)
            Q = solve(one - 0.5 * A, one + 0.5 * A)
        return Q[..., :k]

    def _reflected(self, X: Tensor) -> Tensor:
        """The product of the reflections in X's columns below the diagonal; the diagonal has signs."""
        A = X.tril(diagonal=-1)
        tau = 2.0 / (1.0 + (A * A).sum(dim=-2))
        return householder_product(A, tau) * X.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)

    def right_inverse(self, Q: Tensor) -> Tensor:
        if Q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {Q.shape}."
            )
        with no_grad():
            wide = Q.shape[-2] < Q.shape[-1]
            tall = Q.mT if wide else Q
            if not self.trivialised:
                X = self._reflectors_of(tall)
                return X.mT if wide else X
            self.base = self._completed(tall)
            start = zeros_like(Q)
            start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
            return start

    def _reflectors_of(self, Q: Tensor) -> Tensor:
        if self.orthogonal_map != "householder":
            raise NotImplementedError(
                "It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
                "use_trivialization=False."
            )
        A, tau = geqrf(Q)
        diagonal = A.diagonal(dim1=-2, dim2=-1)
        diagonal.sign_()
        diagonal[tau == 0.0] *= -1
        return A

    def _completed(self, Q: Tensor) -> Tensor:
        """A square orthogonal matrix that begins with the columns of Q, made orthogonal if need be."""
        n, k = Q.shape[-2:]
        if n != k:
            return _orthogonalised(cat([Q, randn(*Q.shape[:-2], n, n - k, dtype=Q.dtype)], dim=-1))
        near = allclose(Q.mT @ Q, eye(k, dtype=Q.dtype), atol=10.0 * n * finfo(Q.dtype).eps)
        return Q.clone() if near else _orthogonalised(Q)


def orthogonal(
    module: _Module, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> _Module:
    """Parametrize a weight to have orthonormal columns, or rows if it is wide.

    Parameters
    ----------
    module : Module
        The module.
    name : str
        The weight's name; of more than two dimensions, it is a batch of matrices.
    orthogonal_map : {"matrix_exp", "cayley", "householder"}, optional
        How it is computed: by default "matrix_exp" if it is square, else "householder".
    use_trivialization : bool
        Whether it is computed relative to a fixed orthogonal matrix, at first its own.

    Notes
    -----
    Source: Lezcano-Casado, "Trivializations for gradient-based optimization on manifolds", 2019.

    Raises
    ------
    ValueError
        If there is no such tensor, it is no matrix, or the map is unknown.

    Examples
    --------
    >>> import minitorch as torch
    >>> layer = torch.nn.utils.parametrizations.orthogonal(torch.nn.Linear(2, 3))
    >>> torch.allclose(layer.weight.T @ layer.weight, torch.eye(2), atol=1e-6)
    True
    """
    weight = _tensor_of(module, name)
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        orthogonal_map = "matrix_exp" if weight.shape[-2] == weight.shape[-1] else "householder"
    if orthogonal_map not in ("matrix_exp", "cayley", "householder"):
        raise ValueError(
            f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}'
        )
    register_parametrization(module, name, _Orthogonal(weight, orthogonal_map, use_trivialization), unsafe=True)
    return module
