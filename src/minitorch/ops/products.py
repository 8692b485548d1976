"""The rows of matrix products.

The products come in closed trios: ``a @ b``, ``a @ b^T`` and ``a^T @ b`` are each differentiated by the other two, so
that no formula needs a transposed view.  Suffixes say which operand is transposed: ``nt`` the second, ``tn`` the first.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from .._dtypes import BOOL
from .._errors import scalar_name
from .._op import op
from .._saved import reveal
from . import shape as shapes


# -- matrices ----------------------------------------------------------------------------------------------------------
def check_dtypes(a: np.ndarray, b: np.ndarray) -> None:
    """Raise unless the dtypes are equal, and not bool (to be called where they are not one object, or that)."""
    if a.dtype != b.dtype:
        raise RuntimeError(
            f"mat1 and mat2 must have the same dtype, but got {scalar_name(a.dtype)} and {scalar_name(b.dtype)}: "
            "convert one of them with .to()"
        )
    if a.dtype is BOOL and a.size and b.size:
        raise NotImplementedError("matrix products are not implemented for 'Bool': convert the masks with .to()")


def _not_aligned(a: np.ndarray, b: np.ndarray) -> RuntimeError:
    """The error of ``a @ b`` where the inner sizes differ."""
    return RuntimeError(
        f"mat1 and mat2 shapes cannot be multiplied ({prod(a.shape[:-1])}x{a.shape[-1]} and {b.shape[0]}x{b.shape[1]})"
    )


def as_matrix(array: np.ndarray) -> np.ndarray:
    """All axes but the last made one."""
    return array.reshape(-1 if array.size else prod(array.shape[:-1]), array.shape[-1])


def mm_kernel(self: np.ndarray, mat2: np.ndarray) -> np.ndarray:
    """``self @ mat2`` of a matrix, or of more axes than two, and a matrix."""
    dtype = self.dtype
    if dtype is not mat2.dtype or dtype is BOOL:
        check_dtypes(self, mat2)
    try:
        if self.ndim == 2:
            return self.dot(mat2)
        out = np.empty((*self.shape[:-1], mat2.shape[1]), dtype)
        as_matrix(self).dot(mat2, as_matrix(out))
    except ValueError:
        raise _not_aligned(self, mat2) from None
    return out


def _mm_nt(self: np.ndarray, mat2: np.ndarray) -> np.ndarray:
    return mm_kernel(self, mat2.T)


def _mm_tn(self: np.ndarray, mat2: np.ndarray) -> np.ndarray:
    """The sum over all leading axes of the outer products of their rows."""
    if self.ndim != 2:
        self, mat2 = as_matrix(self), as_matrix(mat2)
    return self.T.dot(mat2)


mm_row = op("mm", "MmBackward0", mm_kernel, ("self", "mat2"), tangent="multilinear",
            self=lambda F, g, mat2: F.mm_nt(g, mat2),
            mat2=lambda F, g, self: F.mm_tn(self, g))  # fmt: skip


def transposed(name: str) -> Callable[[Any], Any]:
    """What shows a node's saved matrix transposed, as PyTorch's node has it."""

    def get(node: Any) -> Any:
        matrix = reveal(node, name)
        return None if matrix is None else shapes.t(matrix)

    return get


mm_nt = op("mm_nt", "MmBackward0", _mm_nt, ("self", "mat2"), shows={"mat2": transposed("mat2")}, tangent="multilinear",
           self=lambda F, g, mat2: F.mm(g, mat2),
           mat2=lambda F, g, self: F.mm_tn(g, self))  # fmt: skip

mm_tn = op("mm_tn", "MmBackward0", _mm_tn, ("self", "mat2"), shows={"self": transposed("self")}, tangent="multilinear",
           self=lambda F, g, mat2: F.mm_nt(mat2, g),
           mat2=lambda F, g, self: F.mm(self, g))  # fmt: skip

folded_mm = op("folded_mm", "UnsafeViewBackward0", mm_kernel, ("self", "mat2"), hides=("self", "mat2"), tangent="multilinear",
                self=lambda F, g, mat2: F.mm_nt(g, mat2),
                mat2=lambda F, g, self: F.mm_tn(self, g))  # fmt: skip

folded_mm_nt = op("folded_mm_nt", "UnsafeViewBackward0", _mm_nt, ("self", "mat2"), hides=("self", "mat2"),
                  tangent="multilinear",
                  self=lambda F, g, mat2: F.mm(g, mat2),
                  mat2=lambda F, g, self: F.mm_tn(g, self))  # fmt: skip


# -- matrices and vectors ----------------------------------------------------------------------------------------------
def mv_kernel(self: np.ndarray, vec: np.ndarray) -> np.ndarray:
    """``self @ vec``, over the last axis."""
    if self.dtype is not vec.dtype or self.dtype is BOOL:
        check_dtypes(self, vec)
    try:
        return self.dot(vec)
    except ValueError:
        size = f"{prod(self.shape[:-1])}x{self.shape[-1]}"
        raise RuntimeError(f"size mismatch, got input ({self.shape[0]}), mat ({size}), vec ({len(vec)})") from None


def _mv_t(self: np.ndarray, vec: np.ndarray) -> np.ndarray:
    """``self^T @ vec``, over all axes but the last; *vec* has those."""
    return vec.ravel().dot(as_matrix(self))


def vm_kernel(self: np.ndarray, mat2: np.ndarray) -> np.ndarray:
    if self.dtype is not mat2.dtype or self.dtype is BOOL:
        check_dtypes(self, mat2)
    try:
        return self.dot(mat2)
    except ValueError:
        raise _not_aligned(self, mat2) from None


def _dot(self: np.ndarray, tensor: np.ndarray) -> np.ndarray:
    if self.dtype is not tensor.dtype or self.dtype is BOOL:
        check_dtypes(self, tensor)
    if self.size != tensor.size:
        raise RuntimeError(
            "inconsistent tensor size, expected both to have the same number of elements, but got "
            f"{self.size} and {tensor.size} elements"
        )
    return np.asarray(self.dot(tensor))


mv_row = op("mv", "MvBackward0", mv_kernel, ("self", "vec"), tangent="multilinear",
             self=lambda F, g, vec: F.rows_times(g, vec),
             vec=lambda F, g, self: F.mv_t(self, g))  # fmt: skip

folded_mv = op("folded_mv", "UnsafeViewBackward0", mv_kernel, ("self", "vec"), tangent="multilinear",
                self=lambda F, g, vec: F.rows_times(g, vec),
                vec=lambda F, g, self: F.mv_t(self, g))  # fmt: skip

op("mv_t", "MvBackward0", _mv_t, ("self", "vec"), tangent="multilinear",
   self=lambda F, g, vec: F.rows_times(vec, g),
   vec=lambda F, g, self: F.mv(self, g))  # fmt: skip

op("rows_times", "MulBackward0", lambda self, vec: self[..., None] * vec, ("self", "vec"), tangent="multilinear",
   self=lambda F, g, vec: F.mv(g, vec),
   vec=lambda F, g, self: F.mv_t(g, self))  # fmt: skip

vm = op("vm", "SqueezeBackward4", vm_kernel, ("self", "mat2"), tangent="multilinear",
        self=lambda F, g, mat2: F.mv(mat2, g),
        mat2=lambda F, g, self: F.rows_times(self, g))  # fmt: skip

dot_row = op("dot", "DotBackward0", _dot, ("self", "tensor"), tangent="multilinear",
              self=lambda F, g, tensor: g * tensor,
              tensor=lambda F, g, self: g * self)  # fmt: skip

vdot_row = op("vdot", "VdotBackward0", _dot, ("self", "other"), tangent="multilinear",
               self=lambda F, g, other: g * other,
               other=lambda F, g, self: g * self)  # fmt: skip


# -- batches of matrices -----------------------------------------------------------------------------------------------
def bmm_kernel(self: np.ndarray, mat2: np.ndarray) -> np.ndarray:
    if self.dtype is BOOL:
        check_dtypes(self, mat2)
    try:
        return np.matmul(self, mat2)
    except ValueError:
        expected, got = [*self.shape[:-2], self.shape[-1]], [*mat2.shape[:-2], mat2.shape[-2]]
        if expected[-1] == got[-1]:
            raise
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: {expected} but got: {got}."
        ) from None


op("bmm_nt", "BmmBackward0", lambda self, mat2: np.matmul(self, mat2.swapaxes(-1, -2)), ("self", "mat2"),
   broadcasts=True, tangent="multilinear",
   self=lambda F, g, mat2: F.matmul(g, mat2),
   mat2=lambda F, g, self: F.bmm_tn(g, self))  # fmt: skip

op("bmm_tn", "BmmBackward0", lambda self, mat2: np.matmul(self.swapaxes(-1, -2), mat2), ("self", "mat2"),
   broadcasts=True, tangent="multilinear",
   self=lambda F, g, mat2: F.bmm_nt(mat2, g),
   mat2=lambda F, g, self: F.matmul(self, g))  # fmt: skip

matmul_row = op("matmul", "UnsafeViewBackward0", bmm_kernel, ("self", "other"), broadcasts=True, hides=("self", "other"),
             tangent="multilinear",
             self=lambda F, g, other: F.bmm_nt(g, other),
             other=lambda F, g, self: F.bmm_tn(self, g))  # fmt: skip

bmm_row = op("bmm", "BmmBackward0", bmm_kernel, ("self", "mat2"), tangent="multilinear",
              self=lambda F, g, mat2: F.bmm_nt(g, mat2),
              mat2=lambda F, g, self: F.bmm_tn(self, g))  # fmt: skip
