"""QR factorisations, and products of Householder reflections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._args import array_of, flag, text
from .._choices import choice
from .._op import op
from .._runtime import deliver, traced, wrap
from . import _returns
from ._matrices import (
    check_batches,
    check_floats,
    check_same_dtype,
    checked,
    columns,
    delivered,
    symmetric_of_lower,
)
from ._underived import underived

if TYPE_CHECKING:
    from .._tensor import Tensor


# -- QR ----------------------------------------------------------------------------------------------------------------
def _qr(self: np.ndarray, *, mode: Any) -> list[Any]:
    if mode == "r":
        return [np.empty(0, self.dtype), np.linalg.qr(self, mode)]
    q, r = np.linalg.qr(self, mode)
    return [q, r]


def _qr_self(F: Any, g: Any, result: Any, self_shape: tuple[int, ...], mode: str) -> Any:
    """``(gQ + Q S) R^-T``, with the symmetric S whose lower triangle is that of ``R gR^T - gQ^T Q``.

    S. F. Walter and L. Lehmann, "Algorithmic differentiation of linear algebra functions with application in optimum
    experimental design" (2010), 3.2.  Of a wide matrix ``Q (U|V)`` the columns on the right are Q V.
    """
    m, n = self_shape[-2:]
    if mode == "r":
        raise RuntimeError(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use linalg.qr(A, "
            "mode='reduced') if you are going to differentiate through linalg.qr."
        )
    if mode == "complete" and m > n:
        raise RuntimeError("The QR decomposition is not differentiable when mode='complete' and nrows > ncols.")
    q, r, g_q, g_r = result[0], result[1], g[0], g[1]
    if n > m:
        g_right = columns(F, g_r, m, n)
        g_q = g_q + F.matmul(q, F.bmm_nt(columns(F, r, m, n), g_right))
        r, g_r = columns(F, r, 0, m), columns(F, g_r, 0, m)
    middle = symmetric_of_lower(F, F.bmm_nt(r, g_r) - F.bmm_tn(g_q, q))
    slope = F.solve_triangular(F.mT(r), g_q + F.matmul(q, middle), upper=False, left=False)
    return F.cat([slope, F.matmul(q, g_right)], dim=len(self_shape) - 1) if n > m else slope


_qr_row = op(
    "qr", "LinalgQrBackward0", _qr, ("self",), outputs=2, hides=("self_shape",), tangent="transpose", self=_qr_self
)


def qr(A: Tensor, mode: str = "reduced", *, out: Any = None) -> _returns.linalg_qr:
    """The QR factorisation: ``A = Q @ R`` with orthonormal columns of Q and upper triangular R.

    Parameters
    ----------
    A : Tensor
        float32 or float64, ``(*, m, n)``.
    mode : str
        "reduced": k = min(m, n) columns of Q; "complete": m of them, which cannot be differentiated where m > n; "r": only
        R, which cannot be differentiated.
    out : tuple of two Tensors, optional
        Where the results are written.

    Returns
    -------
    named tuple
        ``Q``, ``(*, m, k)``, and ``R``, ``(*, k, n)``.  The derivative needs the first k columns of *A* to be independent.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.linalg.qr(torch.tensor([[3.0, 1.0], [4.0, 2.0]])).R
    tensor([[-5.0000, -2.2000],
            [ 0.0000,  0.4000]])
    """
    if out is not None:
        return delivered("linalg.qr", lambda: qr(A, mode), (A,), out)
    half = getattr(A, "_array", np.empty(0)).dtype == np.float16
    checked("linalg.qr", A, square=False, kernel="geqrf_cpu" if half else "")
    if text(mode, "mode") not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode {mode!r} but expected one of 'reduced' (default), 'r', or 'complete'"
        )
    return _returns.linalg_qr(_qr_row(A, mode))


def input_qr(input: Tensor, some: bool = True, *, out: Any = None) -> _returns.qr:
    """The QR factorisation, reduced or (with *some* false) complete: `linalg.qr`.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.qr(torch.eye(2)).Q.shape
    torch.Size([2, 2])
    """
    return _returns.qr(qr(input, "reduced" if flag(some, "some") else "complete", out=out))


# -- Householder reflections -------------------------------------------------------------------------------------------
def geqrf(input: Tensor, *, out: Any = None) -> _returns.geqrf:
    """The QR factorisation as LAPACK has it: R, below it the Householder vectors, and their factors; without gradient.

    Parameters
    ----------
    input : Tensor
        float32 or float64, ``(*, m, n)``.
    out : tuple of two Tensors, optional
        Where the results are written.

    Returns
    -------
    named tuple
        ``a``, ``(*, m, n)``, and ``tau``, ``(*, min(m, n))``: what `linalg.householder_product` and `ormqr` take.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.geqrf(torch.tensor([[3.0], [4.0]])).a
    tensor([[-5.0000],
            [ 0.5000]])
    """
    if out is not None:
        return delivered("geqrf", lambda: geqrf(input), (input,), out)
    array = array_of("geqrf", input)
    if array.ndim < 2:
        raise RuntimeError("torch.geqrf: input must have at least 2 dimensions.")
    check_floats("geqrf", array, "geqrf_cpu")
    return _returns.geqrf([underived("geqrf", wrap(part), input) for part in _geqrf(input)])


@choice("geqrf", warns=True)
def _geqrf(self: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    turned, tau = np.linalg.qr(self, "raw")
    return turned.swapaxes(-1, -2), tau


def _reflections(vectors: Tensor, tau: Tensor, other: Tensor, transpose: bool) -> Tensor:
    """``H_1 H_2 ... H_k @ other`` or the transposed product, with ``H_i = I - tau_i v_i v_i^T``, as ``I - V T V^T``.

    The compact form of R. Schreiber and C. Van Loan, "A storage-efficient WY representation for products of Householder
    transformations" (1989); T is not formed, but a triangular system is solved.
    """
    m, k = vectors._array.shape[-2], tau._array.shape[-1]
    one = wrap(np.eye(m, k, dtype=vectors._array.dtype))
    v = traced.tril(columns(traced, vectors, 0, k), diagonal=-1) + one
    factors = traced.unsqueeze(tau, dim=-1)
    system = traced.triu(traced.bmm_tn(v, v), diagonal=1) * factors
    inner = traced.bmm_tn(v, other)
    if transpose:
        turned = traced.solve_triangular(traced.mT(system), inner, upper=False, unitriangular=True)
        return other - traced.matmul(v, turned * factors)
    return other - traced.matmul(v, traced.solve_triangular(system, inner * factors, upper=True, unitriangular=True))


def householder_product(input: Tensor, tau: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The first n columns of a product of Householder reflections: Q of what `geqrf` gives.

    Parameters
    ----------
    input : Tensor
        float32 or float64, ``(*, m, n)`` with m >= n: below the diagonal the vectors, whose first elements, 1, are left
        out.
    tau : Tensor
        The factors, ``(*, k)`` with k <= n.
    out : Tensor, optional
        Where the result is written.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.linalg.householder_product(*torch.geqrf(torch.tensor([[3.0], [4.0]])))
    tensor([[-0.6000],
            [-0.8000]])
    """
    name = "linalg.householder_product"
    if out is not None:
        return deliver(name, lambda: householder_product(input, tau), (input, tau), out)
    a, factors = array_of(name, input), array_of(name, tau, "tau", 2)
    if a.ndim < 2:
        raise RuntimeError(f"torch.{name}: input must have at least 2 dimensions.")
    m, n = a.shape[-2:]
    if m < n:
        raise RuntimeError(f"torch.{name}: input.shape[-2] must be greater than or equal to input.shape[-1]")
    if n < factors.shape[-1]:
        raise RuntimeError(f"torch.{name}: input.shape[-1] must be greater than or equal to tau.shape[-1]")
    _check_reflections(name, a, factors)
    check_floats(name, a, "orgqr_cpu")
    one = wrap(np.eye(m, n, dtype=a.dtype))
    return _reflections(input, tau, one, False)


def _check_reflections(name: str, a: np.ndarray, tau: np.ndarray) -> None:
    if tau.ndim != a.ndim - 1:
        raise RuntimeError(
            f"torch.{name}: Expected tau to have one dimension less than input, but got tau.ndim equal to {tau.ndim} and "
            f"input.ndim is equal to {a.ndim}"
        )
    if tau.shape[:-1] != a.shape[:-2]:
        raise RuntimeError(
            f"torch.{name}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got "
            f"{list(tau.shape[:-1])}"
        )
    if tau.dtype != a.dtype:
        raise RuntimeError(f"torch.{name}: tau dtype {tau.dtype} does not match input dtype {a.dtype}")


def orgqr(input: Tensor, input2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of Householder reflections: `linalg.householder_product`.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.orgqr(torch.tensor([[1.0]]), torch.tensor([0.0]))
    tensor([[1.]])
    """
    return householder_product(input, input2, out=out)


def ormqr(
    input: Tensor,
    input2: Tensor,
    input3: Tensor,
    left: bool = True,
    transpose: bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """A matrix times a product of Householder reflections, which is not formed.

    Parameters
    ----------
    input, input2 : Tensor
        The reflections, as `geqrf` gives them: ``(*, m, k)`` and ``(*, k)``.
    input3 : Tensor
        ``(*, m, n)``, or ``(*, n, m)`` where *left* is false.
    left : bool
        Whether the product of reflections stands on the left.
    transpose : bool
        Whether it is transposed.
    out : Tensor, optional
        Where the result is written.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.ormqr(*torch.geqrf(torch.tensor([[3.0], [4.0]])), torch.tensor([[-5.0], [0.0]])).shape
    torch.Size([2, 1])
    """
    name = "ormqr"
    if out is not None:
        return deliver(name, lambda: ormqr(input, input2, input3, left, transpose), (input, input2, input3), out)
    a, factors, b = array_of(name, input), array_of(name, input2, "input2", 2), array_of(name, input3, "input3", 3)
    for array, which in ((a, "input"), (b, "other")):
        if array.ndim < 2:
            raise RuntimeError(f"torch.{name}: {which} must have at least 2 dimensions.")
    side = -2 if flag(left, "left") else -1
    if b.shape[side] != a.shape[-2]:
        raise RuntimeError(f"torch.{name}: other.shape[{side}] must be equal to input.shape[-2]")
    if b.shape[side] < factors.shape[-1] or a.shape[-1] < factors.shape[-1]:
        raise RuntimeError(f"torch.{name}: tau.shape[-1] must be equal to min(other.shape[{side}], input.shape[-1])")
    _check_reflections(name, a, factors)
    check_same_dtype(name, a, b, "input", "other")
    check_floats(name, a, "ormqr_cpu")
    check_batches(name, a.shape[:-2], b.shape[:-2])
    if left:
        return _reflections(input, input2, input3, flag(transpose, "transpose"))
    return traced.mT(_reflections(input, input2, traced.mT(input3), not flag(transpose, "transpose")))
