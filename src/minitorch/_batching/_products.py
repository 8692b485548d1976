"""Rules of products of matrices and vectors, and of affine maps."""

from __future__ import annotations

from typing import Any

from ._batch import Batch, Batched, call, on_array, padded, reshaped, spread
from ._shapes import flattened, unfolded


# -- matrices ----------------------------------------------------------------------------------------------------------
def product(left_turned: bool = False, right_turned: bool = False) -> Any:
    """The rule of a product of matrices, one of which may be transposed; the first one's leading dimensions are rows too."""

    def rule(batch: Batch) -> Any:
        return multiplied(batch, left_turned, right_turned)

    return rule


def multiplied(batch: Batch, left_turned: bool = False, right_turned: bool = False) -> Any:
    """The product of the first two inputs."""
    left, right = batch.tensors[:2]
    if not left_turned and not batch.batched[1]:  # examples are further rows
        return call("folded_mm_nt" if right_turned else "folded_mm", [left, right])
    rank, shape = batch.ranks[0], batch.shape(0)
    if rank > 2:
        left = reshaped(left, *left._array.shape[: batch.batched[0]], -1, shape[-1])
    if left_turned and batch.ranks[1] > 2:
        right = reshaped(right, *right._array.shape[: batch.batched[1]], -1, right._array.shape[-1])
    name = "bmm_tn" if left_turned else "bmm_nt" if right_turned else "matmul"
    out = call(name, [left, right])
    if rank > 2 and not left_turned:
        return reshaped(out, batch.size, *shape[:-1], out._array.shape[-1])
    return out


def matmul(batch: Batch) -> Any:
    """Products of matrices whose leading dimensions broadcast."""
    if batch.batched == [True, False] and batch.ranks[1] == 2 and batch.row.name in ("matmul", "bmm_nt"):
        return multiplied(batch, right_turned=batch.row.name == "bmm_nt")
    name = "matmul" if batch.row.name == "bmm" else batch.row.name
    return call(name, batch.aligned())


def contract(batch: Batch) -> Any:
    """A contraction with one more index, which is kept."""
    left, right, kept = [batch.params[name] for name in ("left", "right", "kept")]
    new = max((*left, *right, *kept), default=0) + 1
    labels = [(new, *own) if b else own for own, b in zip((left, right), batch.batched)]
    return batch.again(batch.tensors, left=labels[0], right=labels[1], kept=(new, *kept))


# -- vectors -----------------------------------------------------------------------------------------------------------
def row_of(tensor: Any) -> Any:
    """Vectors as matrices of one row."""
    return padded(tensor, 1, tensor._array.ndim - 1)


def column_of(tensor: Any) -> Any:
    """Vectors as matrices of one column."""
    return padded(tensor, 1, tensor._array.ndim)


def squeezed(tensor: Any, dim: int) -> Any:
    return call("squeeze_dim", [tensor], {"dim": dim % tensor._array.ndim})


def mv(batch: Batch) -> Any:
    matrix, vector = batch.tensors
    if not batch.batched[1]:
        return call("folded_mv", [matrix, vector])
    if not batch.batched[0]:  # vectors are rows, which the matrix's rows multiply
        return moved_last(batch, call("mm_nt", [vector, reshaped(matrix, -1, matrix._array.shape[-1])]))
    wide = column_of(vector)
    return squeezed(call("matmul", [matrix, padded(wide, batch.ranks[0] - 2)]), -1)


def moved_last(batch: Batch, out: Any) -> Any:
    """Rows of several leading dimensions as these."""
    return reshaped(out, batch.size, *batch.shape(0)[:-1])


def mv_t(batch: Batch) -> Any:
    """The transposed matrix times a vector; leading dimensions are rows."""
    matrix, vector = batch.tensors
    matrix = reshaped(matrix, *matrix._array.shape[: batch.batched[0]], -1, matrix._array.shape[-1])
    vector = reshaped(vector, *vector._array.shape[: batch.batched[1]], -1)
    if not batch.batched[0]:
        return call("mm", [vector, matrix])
    return squeezed(call("matmul", [row_of(vector), matrix]), -2)


def vm(batch: Batch) -> Any:
    vector, matrix = batch.tensors
    if not batch.batched[1]:
        return call("mm" if vector._array.ndim == 2 else "folded_mm", [vector, matrix])
    return squeezed(call("matmul", [row_of(vector), matrix]), -2)


def rows_times(batch: Batch) -> Any:
    """Each element of the first times the second, a vector."""
    first, second = batch.tensors
    if not batch.batched[1]:
        return call("rows_times", [first, second])
    return call("mul", [column_of(first), padded(second, batch.ranks[0])])


def dot(batch: Batch) -> Any:
    first, second = batch.tensors
    if not all(batch.batched):
        return call("folded_mv", [first, second] if batch.batched[0] else [second, first])
    out = call("matmul", [row_of(first), column_of(second)])
    return reshaped(out, batch.size)


# -- products and sums -------------------------------------------------------------------------------------------------
def added(tensor: Any, result: Any, batched: bool, rank: int, beta: Any = 1, alpha: Any = 1) -> Any:
    """``beta * tensor + alpha * result``, where the tensor broadcasts with one example's result of this rank."""
    if batched:
        tensor = padded(tensor, rank + 1 - tensor._array.ndim)
    if alpha != 1:
        result = result * alpha
    return result if beta == 0 else (tensor if beta == 1 else tensor * beta) + result


def sum_of(rule: Any, rank: int) -> Any:
    """The rule of ``beta * self + alpha * product``, by that of the product."""

    def summed(batch: Batch) -> Any:
        inner = Batch(batch.row, batch.tensors[1:], batch.batched[1:], {}, batch.size)
        if any(inner.batched):
            result = rule(inner)
        else:
            inner.tensors[0], inner.batched[0] = batch.whole(1), True
            result = rule(inner)
        return added(batch.tensors[0], result, batch.batched[0], rank, **batch.params)

    return summed


def bmm(batch: Batch) -> Any:
    return call("matmul", batch.tensors)


def sum_of_bmm(batch: Batch) -> Any:
    return call("sum", [bmm(batch)], {"dim": (1,), "keepdim": False})


def outer(batch: Batch) -> Any:
    first, second = batch.tensors
    return call("mul", [column_of(first), row_of(second)])


def linear(batch: Batch) -> Any:
    """An affine map: where only the inputs are batched, examples are further rows."""
    self, weight, *bias = batch.tensors
    if batch.batched[0] and not any(batch.batched[1:]):
        if bias:
            return call("linear" if self._array.ndim == 2 else "folded_linear", batch.tensors)
        return call("mm_nt" if self._array.ndim == 2 else "folded_mm_nt", batch.tensors)
    rank = batch.ranks[0]
    inner = Batch(batch.row, [self, weight], batch.batched[:2], {}, batch.size)
    if rank == 1:
        inner.tensors[0] = row_of(self)
    if not any(inner.batched):
        inner.tensors[0], inner.batched[0] = inner.whole(0), True
    out = multiplied(inner, right_turned=True)
    out = squeezed(out, -2) if rank == 1 else out
    return added(bias[0], out, batch.batched[2], rank) if bias else out


def attention(batch: Batch) -> Any:
    """Attention of four dimensions: examples are further ones of the first."""
    mask = batch.params["attn_mask"]
    query = batch.whole(0)
    if mask is not None and (mask.__class__ is Batched or mask.ndim == 4):
        mask = on_array(spread_mask, spread(mask, batch.size), batch.shape(0)[0])
    out = batch.again([flattened(t) for t in batch.wholes()], attn_mask=mask)
    return unfolded(out, *query._array.shape[:2])


def spread_mask(mask: Any, count: int) -> Any:
    """A batch of masks for as many examples as there are in queries of four dimensions."""
    mask = padded(mask, 5 - mask._array.ndim)
    size, _, *rest = mask._array.shape
    return flattened(call("expand", [mask], {"size": (size, count, *rest)}))
