"""Matrix products: the functions, and the rows of those that add something to a product."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._args import array_of, arrays_of
from .._errors import not_a_tensor
from .._op import op, rows
from .._runtime import deliver
from .._types import Number
from . import _affine, pointwise
from . import shape as shapes
from ._affine import scaled
from .copies import filler
from .products import (
    bmm_kernel,
    bmm_row,
    check_dtypes,
    dot_row,
    folded_mm,
    folded_mv,
    matmul_row,
    mm_kernel,
    mm_row,
    mv_kernel,
    mv_row,
    vdot_row,
    vm,
)

if TYPE_CHECKING:
    from .._tensor import Tensor


# -- public products ---------------------------------------------------------------------------------------------------
def _operands(name: str, *given: Any) -> list[np.ndarray]:
    """The arrays of tensors of one dtype; TypeError for what is no tensor."""
    for tensor in given:
        if getattr(tensor, "_array", None) is None:
            raise not_a_tensor(rows[name], given, type(given[0]) if hasattr(given[0], "_array") else type(None))
    arrays = [tensor._array for tensor in given]
    for array in arrays[1:]:
        if array.dtype is not arrays[0].dtype:
            check_dtypes(arrays[0], array)
    return arrays


def _need_ndim(array: np.ndarray, ndim: int, message: str) -> None:
    if array.ndim != ndim:
        raise RuntimeError(f"{message}, got a {array.ndim}-D tensor")


def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The matrix product; of vectors the dot product, of more than two dimensions a batch of matrix products.

    Parameters
    ----------
    input, other : Tensor
        ``(*, n, k)`` and ``(*, k, m)``, whose leading dimensions broadcast; a 1-D tensor is a row on the left, a column
        on the right, and its dimension is left out of the result.
    out : Tensor, optional
        Where the result is written.

    Raises
    ------
    RuntimeError
        If the inner sizes or the dtypes differ, or an operand is 0-D.

    Examples
    --------
    >>> import minitorch as torch
    >>> a = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> torch.matmul(a, torch.tensor([1.0, 1.0]))
    tensor([3., 7.])
    """
    if out is not None:
        return deliver("matmul", lambda: matmul(input, other), (input, other), out)
    result = matmul_operator(input, other)
    if result is NotImplemented:
        raise not_a_tensor(rows["matmul"], (input, other), type(input) if hasattr(input, "_array") else type(None))
    return result


def matmul_operator(input: Any, other: Any) -> Any:
    """``input @ other``; NotImplemented where an operand is no tensor."""
    try:
        left, right = input._array.ndim, other._array.ndim
    except AttributeError:
        return NotImplemented
    if right == 2:
        if left == 2:
            return mm_row(input, other)
        return folded_mm(input, other) if left > 2 else vm(input, other) if left else _refuse_scalar(left, right)
    if right == 1 and left:
        return mv_row(input, other) if left == 2 else dot_row(input, other) if left == 1 else folded_mv(input, other)
    if not left or not right:
        _refuse_scalar(left, right)
    _operands("matmul", input, other)
    if left == 1:
        return shapes.squeeze(matmul_row(shapes.unsqueeze(input, 0), other), -2)
    return matmul_row(input, other)


def matmul_reflected(input: Any, other: Any) -> Any:
    """``other @ input``."""
    return matmul_operator(other, input)


def _refuse_scalar(left: int, right: int) -> Any:
    raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {left}D and {right}D")


def mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of two matrices, ``(n, k)`` and ``(k, m)``; see `matmul` for other shapes.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.mm(torch.ones(2, 3), torch.ones(3, 1))
    tensor([[3.],
            [3.]])
    """
    if out is not None:
        return deliver("mm", lambda: mm(input, mat2), (input, mat2), out)
    a, b = _operands("mm", input, mat2)
    _need_ndim(a, 2, "mm(): self must be a matrix")
    _need_ndim(b, 2, "mm(): mat2 must be a matrix")
    return mm_row(input, mat2)


def bmm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The products of two batches of matrices, ``(b, n, k)`` and ``(b, k, m)``; nothing broadcasts.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.bmm(torch.ones(5, 2, 3), torch.ones(5, 3, 4)).shape
    torch.Size([5, 2, 4])
    """
    if out is not None:
        return deliver("bmm", lambda: bmm(input, mat2), (input, mat2), out)
    a, b = _operands("bmm", input, mat2)
    _check_batches(a, b)
    return bmm_row(input, mat2)


def _check_batches(a: np.ndarray, b: np.ndarray) -> None:
    _need_ndim(a, 3, "batch1 must be a 3D tensor")
    _need_ndim(b, 3, "batch2 must be a 3D tensor")
    if (a.shape[0], a.shape[2]) != b.shape[:2]:
        expected = [a.shape[0], a.shape[2]]
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: {expected} but got: {list(b.shape[:2])}."
        )


def _need_batches(a: np.ndarray, b: np.ndarray) -> None:
    """Refuse operands that lack a dimension, with the class of error of ``baddbmm``."""
    if a.ndim < 2 or b.ndim < 3:
        raise IndexError(f"batch1 and batch2 must be 3D tensors, got a {a.ndim}-D and a {b.ndim}-D tensor")


def mv(input: Tensor, vec: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of a matrix ``(n, k)`` and a vector ``(k,)``.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.mv(torch.tensor([[1.0, 2.0]]), torch.tensor([3.0, 4.0]))
    tensor([11.])
    """
    if out is not None:
        return deliver("mv", lambda: mv(input, vec), (input, vec), out)
    a, b = _operands("mv", input, vec)
    if a.ndim != 2 or b.ndim != 1:
        raise RuntimeError(f"mv(): expected a matrix and a vector, but got a {a.ndim}-D and a {b.ndim}-D tensor")
    return mv_row(input, vec)


def _check_vectors(name: str, *arrays: np.ndarray) -> None:
    if any([array.ndim != 1 for array in arrays]):
        raise RuntimeError(
            f"{name}(): 1D tensors expected, but got {' and '.join([f'{a.ndim}D' for a in arrays])} tensors"
        )


def dot(input: Tensor, tensor: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The dot product of two vectors of one length.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.dot(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))
    tensor(11.)
    """
    if out is not None:
        return deliver("dot", lambda: dot(input, tensor), (input, tensor), out)
    _check_vectors("dot", *_operands("dot", input, tensor))
    return dot_row(input, tensor)


def vdot(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The dot product of two vectors (of real numbers: `dot`)."""
    if out is not None:
        return deliver("vdot", lambda: vdot(input, other), (input, other), out)
    _check_vectors("vdot", *_operands("vdot", input, other))
    return vdot_row(input, other)


def outer(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The outer product of two vectors: ``result[i, j] = input[i] * vec2[j]``; also called `ger`.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.outer(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))
    tensor([[3., 4.],
            [6., 8.]])
    """
    for name, array in (("self", array_of("outer", input)), ("vec2", array_of("outer", vec2, "vec2", 2))):
        if array.ndim != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {array.ndim}-D")
    return pointwise.mul(shapes.unsqueeze(input, 1), vec2, out=out)


ger = outer


# -- sums with products ------------------------------------------------------------------------------------------------
def _plus(product: np.ndarray, self: np.ndarray, beta: Number, alpha: Number) -> np.ndarray:
    """``alpha * product + beta * self``, in the place of *product*; zero times NaN is then nothing."""
    if product.dtype.kind != "f":
        alpha, beta = filler(alpha, product.dtype).item(), filler(beta, product.dtype).item()
    if alpha != 1:
        product *= alpha
    if beta == 1:
        product += self
    elif beta != 0:
        product += self * beta
    return product


def _addmm(self: np.ndarray, mat1: np.ndarray, mat2: np.ndarray, *, beta: Number, alpha: Number) -> np.ndarray:
    return _plus(mm_kernel(mat1, mat2), self, beta, alpha)


def _addmv(self: np.ndarray, mat: np.ndarray, vec: np.ndarray, *, beta: Number, alpha: Number) -> np.ndarray:
    return _plus(mv_kernel(mat, vec), self, beta, alpha)


def _addr(self: np.ndarray, vec1: np.ndarray, vec2: np.ndarray, *, beta: Number, alpha: Number) -> np.ndarray:
    return _plus(vec1[:, None] * vec2, self, beta, alpha)


def _baddbmm(self: np.ndarray, batch1: np.ndarray, batch2: np.ndarray, *, beta: Number, alpha: Number) -> np.ndarray:
    return _plus(bmm_kernel(batch1, batch2), self, beta, alpha)


def _addbmm(self: np.ndarray, batch1: np.ndarray, batch2: np.ndarray, *, beta: Number, alpha: Number) -> np.ndarray:
    side_by_side = batch1.swapaxes(0, 1).reshape(batch1.shape[1], batch1.shape[0] * batch1.shape[2])
    return _plus(mm_kernel(side_by_side, batch2.reshape(side_by_side.shape[1], batch2.shape[2])), self, beta, alpha)


_addmm_row = op("addmm", "AddmmBackward0", _addmm, ("self", "mat1", "mat2"), broadcasts=True, tangent=_affine.addmm,
                self=lambda F, g, beta: scaled(g, beta),
                mat1=lambda F, g, mat2, alpha: scaled(F.mm_nt(g, mat2), alpha),
                mat2=lambda F, g, mat1, alpha: scaled(F.mm_tn(mat1, g), alpha))  # fmt: skip

_addmv_row = op("addmv", "AddmvBackward0", _addmv, ("self", "mat", "vec"), broadcasts=True, tangent=_affine.addmv,
                self=lambda F, g, beta: scaled(g, beta),
                mat=lambda F, g, vec, alpha: scaled(F.rows_times(g, vec), alpha),
                vec=lambda F, g, mat, alpha: scaled(F.mv_t(mat, g), alpha))  # fmt: skip

_addr_row = op("addr", "AddrBackward0", _addr, ("self", "vec1", "vec2"), broadcasts=True, tangent=_affine.addr,
               self=lambda F, g, beta: scaled(g, beta),
               vec1=lambda F, g, vec2, alpha: scaled(F.mv(g, vec2), alpha),
               vec2=lambda F, g, vec1, alpha: scaled(F.mv_t(g, vec1), alpha))  # fmt: skip

_baddbmm_row = op("baddbmm", "BaddbmmBackward0", _baddbmm, ("self", "batch1", "batch2"), broadcasts=True,
                  tangent=_affine.baddbmm,
                  self=lambda F, g, beta: scaled(g, beta),
                  batch1=lambda F, g, batch2, alpha: scaled(F.bmm_nt(g, batch2), alpha),
                  batch2=lambda F, g, batch1, alpha: scaled(F.bmm_tn(batch1, g), alpha))  # fmt: skip

_addbmm_row = op("addbmm", "AddbmmBackward0", _addbmm, ("self", "batch1", "batch2"), broadcasts=True, tangent=_affine.addbmm,
                 self=lambda F, g, beta: scaled(g, beta),
                 batch1=lambda F, g, batch2, alpha: scaled(F.bmm_nt(g, batch2), alpha),
                 batch2=lambda F, g, batch1, alpha: scaled(F.bmm_tn(batch1, g), alpha))  # fmt: skip


def _add(
    name: str, recorder: Any, inputs: tuple[Tensor, ...], beta: Number, alpha: Number, out: Tensor | None
) -> Tensor:
    """Record ``beta * inputs[0] + alpha * product`` after the checks that all of these share."""
    batches = name in ("addbmm", "baddbmm")
    try:
        arrays = _operands(name, *inputs)
    except RuntimeError:  # the dtypes differ; missing dimensions are the greater error
        if batches:
            _need_batches(inputs[1]._array, inputs[2]._array)
        raise
    if batches:
        _need_batches(*arrays[1:])
        _check_batches(*arrays[1:])
    else:
        dims = {"addmm": (2, 2), "addmv": (2, 1)}[name]
        for array, ndim, which in zip(arrays[1:], dims, rows[name].inputs[1:]):
            _need_ndim(array, ndim, f"{name}(): expected {which} to have {ndim} dimension{'s' if ndim > 1 else ''}")
    if out is not None:
        return deliver(name, lambda: recorder(*inputs, beta, alpha), inputs, out)
    return recorder(*inputs, beta, alpha)


def addmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Number = 1, alpha: Number = 1, out: Tensor | None = None
) -> Tensor:
    """``beta * input + alpha * (mat1 @ mat2)``.

    Parameters
    ----------
    input : Tensor
        Broadcasts to ``(n, m)``; not read where *beta* is 0.
    mat1, mat2 : Tensor
        ``(n, k)`` and ``(k, m)``.
    beta, alpha : number
        The factors.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.addmm(torch.tensor([1.0, 2.0]), torch.ones(1, 3), torch.ones(3, 2), alpha=2)
    tensor([[7., 8.]])
    """
    return _add("addmm", _addmm_row, (input, mat1, mat2), beta, alpha, out)


def addmv(
    input: Tensor, mat: Tensor, vec: Tensor, *, beta: Number = 1, alpha: Number = 1, out: Tensor | None = None
) -> Tensor:
    """``beta * input + alpha * (mat @ vec)``, of a matrix ``(n, m)`` and a vector ``(m,)``.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.addmv(torch.ones(2), torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([1.0, 0.0]))
    tensor([2., 4.])
    """
    return _add("addmv", _addmv_row, (input, mat, vec), beta, alpha, out)


def addr(
    input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: Number = 1, alpha: Number = 1, out: Tensor | None = None
) -> Tensor:
    """``beta * input + alpha * outer(vec1, vec2)``; the tensors are promoted to one dtype.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.addr(torch.zeros(2, 2), torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))
    tensor([[3., 4.],
            [6., 8.]])
    """
    inputs = (input, vec1, vec2)
    arrays = [array_of("addr", t, name, i) for i, (name, t) in enumerate(zip(("input", "vec1", "vec2"), inputs), 1)]
    for array, which in zip(arrays[1:], ("vec1", "vec2")):
        _need_ndim(array, 1, f"addr(): expected {which} to have 1 dimension")
    if "f" not in [array.dtype.kind for array in arrays] and float in (type(alpha), type(beta)):
        raise RuntimeError("For integral input tensors, arguments beta and alpha must not be floating point numbers.")
    if out is not None:
        return deliver("addr", lambda: _addr_row(*inputs, beta, alpha), inputs, out, casts=True)
    return _addr_row(*inputs, beta, alpha)


def baddbmm(
    input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1, out: Tensor | None = None
) -> Tensor:
    """``beta * input + alpha * bmm(batch1, batch2)``; *input* broadcasts to ``(b, n, m)``.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.baddbmm(torch.ones(2), torch.ones(1, 2, 3), torch.ones(1, 3, 2), alpha=2)
    tensor([[[7., 7.],
             [7., 7.]]])
    """
    return _add("baddbmm", _baddbmm_row, (input, batch1, batch2), beta, alpha, out)


def addbmm(
    input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1, out: Tensor | None = None
) -> Tensor:
    """``beta * input + alpha * bmm(batch1, batch2).sum(0)``; *input* broadcasts to ``(n, m)``.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.addbmm(torch.ones(2, 2), torch.ones(4, 2, 3), torch.ones(4, 3, 2))
    tensor([[13., 13.],
            [13., 13.]])
    """
    return _add("addbmm", _addbmm_row, (input, batch1, batch2), beta, alpha, out)


# -- chains and Kronecker products -------------------------------------------------------------------------------------
def multi_dot(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """The product of several matrices, in the order of multiplications that takes the fewest steps.

    The first and the last may be vectors.  The order is found by dynamic programming, see T. H. Cormen et al.,
    *Introduction to Algorithms*, on matrix-chain multiplication.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.chain_matmul(torch.ones(2, 3), torch.ones(3, 4), torch.ones(4, 1))
    tensor([[12.],
            [12.]])
    """
    arrays = arrays_of("linalg.multi_dot", tensors)
    if len(tensors) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    if out is not None:
        if getattr(out, "_array", arrays[0]).dtype != arrays[0].dtype:
            raise RuntimeError(f"multi_dot(): expected out tensor to have dtype {arrays[0].dtype} but got {out.dtype}")
        return deliver("multi_dot", lambda: multi_dot(tensors), tuple(tensors), out)
    _operands("matmul", *tensors)
    for position, array in enumerate(arrays):
        ends = position in (0, len(arrays) - 1)
        if array.ndim != 2 and not (ends and array.ndim == 1):
            raise RuntimeError(
                f"multi_dot(): tensor {position} must be {'1D or 2D' if ends else '2D'} but got {array.ndim}D"
            )
    sizes = [arrays[0].shape[0] if arrays[0].ndim == 2 else 1]
    sizes += [array.shape[0] for array in arrays[1:]] + [arrays[-1].shape[1] if arrays[-1].ndim == 2 else 1]
    cost = {(i, i): (0, i) for i in range(len(arrays))}
    for length in range(1, len(arrays)):
        for i in range(len(arrays) - length):
            j = i + length
            cost[i, j] = min(
                [(cost[i, k][0] + cost[k + 1, j][0] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)]
            )

    def product(i: int, j: int) -> Any:
        split = cost[i, j][1]
        return tensors[i] if i == j else matmul(product(i, split), product(split + 1, j))

    return product(0, len(arrays) - 1)


def chain_matmul(*matrices: Tensor, out: Tensor | None = None) -> Tensor:
    """`multi_dot` of matrices given one by one."""
    return matrices[0] if len(matrices) == 1 else multi_dot(matrices, out=out)


def kron(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Kronecker product: *other* times each element of *input*, in blocks.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.kron(torch.tensor([1.0, 10.0]), torch.tensor([1.0, 2.0]))
    tensor([ 1.,  2., 10., 20.])
    """
    if out is not None:
        return deliver("kron", lambda: kron(input, other), (input, other), out, casts=True)
    ndim = max(array_of("kron", input).ndim, array_of("kron", other, "other", 2).ndim)
    left, right = [(1,) * (ndim - t._array.ndim) + t._array.shape for t in (input, other)]
    blocks = pointwise.mul(
        shapes.reshape(input, [size for n in left for size in (n, 1)]),
        shapes.reshape(other, [size for n in right for size in (1, n)]),
    )
    return shapes.reshape(blocks, [n * m for n, m in zip(left, right)])
