"""Eigenvalues and singular values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._args import flag, text
from .._choices import checks
from .._op import op
from .._runtime import deliver, traced, wrap
from . import _returns
from ._matrices import LinAlgError, checked, columns, delivered, identity, matrix_rows, over_columns, over_rows, skew

if TYPE_CHECKING:
    from .._tensor import Tensor


def _divide_nonzero(self: np.ndarray, other: np.ndarray) -> np.ndarray:
    out = np.zeros(np.broadcast_shapes(self.shape, other.shape), self.dtype)
    return np.divide(self, other, out=out, where=self != 0)


op("divide_nonzero", "DivideNonzeroBackward0", _divide_nonzero, ("self", "other"), elementwise=True,
   self=lambda F, g, other: F.divide_nonzero(g, other),
   other=lambda F, g, self, other: F.divide_nonzero(-g * self, other * other))  # fmt: skip


# -- symmetric matrices ------------------------------------------------------------------------------------------------
def _converged(name: str, kernel: Any, matrices: np.ndarray, *args: Any, **options: Any) -> Any:
    """The kernel's results; LinAlgError where its iteration does not converge: from infinite values it may not come back."""
    reason = "contained non-finite values"
    if np.isfinite(matrices).all():
        try:
            return kernel(matrices, *args, **options)
        except np.linalg.LinAlgError:
            reason = "is ill-conditioned or has too many repeated values"
    raise LinAlgError(f"{name}: The algorithm failed to converge because the input matrix {reason}.")


@checks
def _eigh(self: np.ndarray, *, UPLO: str = "L") -> list[np.ndarray]:
    return list(_converged("linalg.eigh", np.linalg.eigh, self, UPLO))


@checks
def _eigvalsh(self: np.ndarray, *, UPLO: str = "L") -> np.ndarray:
    values: np.ndarray = _converged("linalg.eigh", np.linalg.eigvalsh, self, UPLO)
    return values


def _eigh_self(F: Any, g: Any, result: Any) -> Any:
    """``V (diag(gL) + (V^T gV - gV^T V) / (2 (L_j - L_i))) V^T``.

    M. B. Giles, "Collected matrix derivative results" (2008), 3.1; M. Seeger et al., "Auto-differentiating linear algebra"
    (2017).  It is not defined for eigenvectors of repeated eigenvalues: there it is infinite or NaN.
    """
    values, vectors = result
    gaps = over_columns(F, values) - over_rows(F, values) + identity(F, values)
    turning = F.divide_nonzero(skew(F, F.bmm_tn(vectors, g[1])) * 0.5, gaps)
    return F.bmm_nt(F.matmul(vectors, turning + F.diag_embed(g[0])), vectors)


def _eigvalsh_self(F: Any, g: Any, self: Any, UPLO: str) -> Any:
    vectors = F.eigh(self, UPLO=UPLO)[1]
    return F.bmm_nt(vectors * over_columns(F, g), vectors)


def _eigh_tangent(F: Any, t: Any, result: Any) -> tuple[Any, Any]:
    """With K = V^T t V: the diagonal of K, and V times the rest of K over the gaps.  Giles (2008), 3.1."""
    values, vectors = result
    eye = identity(F, values)
    turned = F.bmm_tn(vectors, F.matmul((t + F.mT(t)) * 0.5, vectors))
    gaps = over_columns(F, values) - over_rows(F, values) + eye
    moved = F.matmul(vectors, F.divide_nonzero(turned * (1.0 - eye), gaps))
    return F.sum(turned * eye, dim=(len(t.shape) - 1,), keepdim=False), moved


def _eigvalsh_tangent(F: Any, t: Any, self: Any, UPLO: str) -> Any:
    vectors = F.eigh(self, UPLO=UPLO)[1]
    return F.sum(vectors * F.matmul(t, vectors), dim=(len(t.shape) - 2,), keepdim=False)


_eigh_row = op("eigh", "LinalgEighBackward0", _eigh, ("self",), outputs=2, tangent=_eigh_tangent, self=_eigh_self)
_eigvalsh_row = op(
    "eigvalsh", "LinalgEighBackward0", _eigvalsh, ("self",), tangent=_eigvalsh_tangent, self=_eigvalsh_self
)


def _triangle(UPLO: str) -> str:
    if text(UPLO, "UPLO").upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return UPLO.upper()


def eigh(input: Tensor, UPLO: str = "L", *, out: Any = None) -> _returns.linalg_eigh:
    """The eigenvalues and eigenvectors of symmetric matrices.

    Parameters
    ----------
    input : Tensor
        float32 or float64, ``(*, n, n)``; only one triangle is read.
    UPLO : str
        Which: "L", the lower, or "U", the upper.
    out : tuple of two Tensors, optional
        Where the results are written.

    Returns
    -------
    named tuple
        ``eigenvalues``, ``(*, n)``, ascending, and ``eigenvectors``, ``(*, n, n)``, in columns, whose signs are LAPACK's
        choice.  The gradient through eigenvectors is not defined where eigenvalues are repeated.

    Raises
    ------
    linalg.LinAlgError
        If *input* has elements that are not finite.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.linalg.eigh(torch.tensor([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
    tensor([1., 2.])
    """
    if out is not None:
        return delivered("linalg.eigh", lambda: eigh(input, UPLO), (input,), out)
    checked("linalg.eigh", input, kernel="linalg_eigh_cpu")
    return _returns.linalg_eigh(_eigh_row(input, _triangle(UPLO)))


def eigvalsh(input: Tensor, UPLO: str = "L", *, out: Tensor | None = None) -> Tensor:
    """The eigenvalues of symmetric matrices, ascending; their gradients are right for repeated ones too, see `eigh`.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.linalg.eigvalsh(torch.tensor([[0.0, 2.0], [2.0, 0.0]]))
    tensor([-2.,  2.])
    """
    if out is not None:
        return deliver("linalg.eigvalsh", lambda: eigvalsh(input, UPLO), (input,), out)
    checked("linalg.eigh", input, kernel="linalg_eigh_cpu")
    return _eigvalsh_row(input, _triangle(UPLO))


def eig(input: Tensor, *, out: Any = None) -> Any:
    """Refused: the eigenvalues of a matrix that is not symmetric are complex, and there are no complex tensors here.

    Raises
    ------
    NotImplementedError
        Always; `eigh` and `eigvalsh` are for symmetric matrices.
    """
    raise _complex("linalg.eig")


def eigvals(input: Tensor, *, out: Any = None) -> Any:
    """Refused as `eig`.

    Raises
    ------
    NotImplementedError
        Always; `eigvalsh` is for symmetric matrices.
    """
    raise _complex("linalg.eigvals")


def _complex(name: str) -> NotImplementedError:
    return NotImplementedError(
        f"{name}: the results are complex, and complex tensors are not supported; for symmetric matrices use linalg.eigh"
    )


# -- singular values ---------------------------------------------------------------------------------------------------
@checks
def _svd(self: np.ndarray, *, full_matrices: bool = True) -> list[np.ndarray]:
    return list(_converged("linalg.svd", np.linalg.svd, self, full_matrices))


@checks
def _svdvals(self: np.ndarray) -> np.ndarray:
    values: np.ndarray = _converged("linalg.svd", np.linalg.svd, self, compute_uv=False)
    return values


def _svd_self(F: Any, g: Any, result: Any, self_shape: tuple[int, ...]) -> Any:
    """``U ((skew(U^T gU) / E) S + S (skew(V^T gV) / E) + diag(gS)) V^T``, E_ij = S_j^2 - S_i^2, and what is orthogonal to U, V.

    Giles (2008), 3.2; Seeger et al. (2017); of full matrices only the first min(m, n) vectors count.  It is not defined for
    vectors of repeated singular values, or of zero ones where the matrix is not square: there it is infinite or NaN.
    """
    m, n = self_shape[-2:]
    size = min(m, n)
    u, values, vh = columns(F, result[0], 0, size), result[1], matrix_rows(F, result[2], 0, size)
    g_u, g_vh = columns(F, g[0], 0, size), matrix_rows(F, g[2], 0, size)
    across, along = over_columns(F, values), over_rows(F, values)
    gaps = (across - along) * (across + along) + identity(F, values)
    turned_u, turned_v = F.bmm_tn(u, g_u), F.bmm_nt(vh, g_vh)
    inner = F.divide_nonzero(skew(F, turned_u), gaps) * across + along * F.divide_nonzero(skew(F, turned_v), gaps)
    slope = F.matmul(u, F.matmul(inner + F.diag_embed(g[1]), vh))
    if m > size:
        slope = slope + F.matmul(F.divide_nonzero(g_u - F.matmul(u, turned_u), across), vh)
    if n > size:
        rest = g_vh - F.matmul(F.mT(turned_v), vh)
        slope = slope + F.matmul(u, F.divide_nonzero(rest, along))
    return slope


def _svdvals_self(F: Any, g: Any, self: Any) -> Any:
    u, _, vh = F.svd(self, full_matrices=False)
    return F.matmul(u * over_columns(F, g), vh)


def _svdvals_tangent(F: Any, t: Any, self: Any) -> Any:
    u, _, vh = F.svd(self, full_matrices=False)
    return F.sum(F.bmm_tn(u, t) * vh, dim=(len(t.shape) - 1,), keepdim=False)


_svd_row = op(
    "svd",
    "LinalgSvdBackward0",
    _svd,
    ("self",),
    outputs=3,
    hides=("self_shape",),
    tangent="transpose",
    self=_svd_self,
)
_svdvals_row = op("svdvals", "LinalgSvdBackward0", _svdvals, ("self",), tangent=_svdvals_tangent, self=_svdvals_self)


def _check_svd(A: Tensor, driver: str | None = None) -> None:
    half = getattr(A, "_array", np.empty(0)).dtype == np.float16
    checked("linalg.svd", A, square=False, kernel="linalg_svd_cpu" if half else "")
    if driver is not None:
        raise RuntimeError(
            "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend."
        )


def svd(A: Tensor, full_matrices: bool = True, *, driver: str | None = None, out: Any = None) -> _returns.linalg_svd:
    """The singular value decomposition: ``A = U @ diag(S) @ Vh``.

    Parameters
    ----------
    A : Tensor
        float32 or float64, ``(*, m, n)``.
    full_matrices : bool
        Whether U and Vh are square; else they have k = min(m, n) columns and rows.
    driver : None
        A choice that there is on GPUs only.
    out : tuple of three Tensors, optional
        Where the results are written.

    Returns
    -------
    named tuple
        ``U``, ``S``, descending, and ``Vh``; the signs of singular vectors are LAPACK's choice.  The gradient through
        singular vectors is not defined where singular values are repeated.

    Raises
    ------
    linalg.LinAlgError
        If *A* has elements that are not finite.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.linalg.svd(torch.tensor([[0.0, 2.0], [1.0, 0.0]])).S
    tensor([2., 1.])
    """
    if out is not None:
        return delivered("linalg.svd", lambda: svd(A, full_matrices, driver=driver), (A,), out)
    _check_svd(A, driver)
    return _returns.linalg_svd(_svd_row(A, flag(full_matrices, "full_matrices")))


def svdvals(A: Tensor, *, driver: str | None = None, out: Tensor | None = None) -> Tensor:
    """The singular values, descending; their gradients are right for repeated ones too, see `svd`.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.linalg.svdvals(torch.tensor([[0.0, 2.0], [1.0, 0.0]]))
    tensor([2., 1.])
    """
    if out is not None:
        return deliver("linalg.svdvals", lambda: svdvals(A, driver=driver), (A,), out)
    _check_svd(A, driver)
    return _svdvals_row(A)


def input_svd(input: Tensor, some: bool = True, compute_uv: bool = True, *, out: Any = None) -> _returns.svd:
    """The singular value decomposition with V in columns: ``input = U @ diag(S) @ V.mT``; see `linalg.svd`.

    Parameters
    ----------
    input : Tensor
        float32 or float64, ``(*, m, n)``.
    some : bool
        Whether U and V have min(m, n) columns only.
    compute_uv : bool
        Whether U and V are wanted; else they are square matrices of zeros.
    out : tuple of three Tensors, optional
        Where the results are written.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.svd(torch.ones(3, 2)).V.shape
    torch.Size([2, 2])
    """
    if out is not None:
        return delivered("svd", lambda: input_svd(input, some, compute_uv), (input,), out)
    if not flag(compute_uv, "compute_uv"):
        values = svdvals(input)
        *batch, m, n = input._array.shape
        empty = [wrap(np.zeros((*batch, size, size), input._array.dtype)) for size in (m, n)]
        return _returns.svd((empty[0], values, empty[1]))
    u, values, vh = svd(input, not flag(some, "some"))
    return _returns.svd((u, values, traced.transpose(vh, -2, -1)))
