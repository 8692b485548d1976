"""How forward mode goes through rows that add a product to something: what the tangent of each input adds."""

from __future__ import annotations

from typing import Any


def scaled(x: Any, factor: Any) -> Any:
    """``x * factor``, without the multiplication where the factor is 1."""
    return x if factor == 1 else x * factor


def _added(F: Any, t: Any, result: Any, beta: Any) -> Any:
    return F.expand(scaled(t, beta), size=F.constant(result).shape)


def _mapped(F: Any, x: Any, weight: Any) -> Any:
    return F.folded_mm_nt(x, weight) if len(x.shape) > 1 else F.vector_linear(x, weight)


def _summed(F: Any, batches: Any, alpha: Any) -> Any:
    return scaled(F.sum(batches, dim=(0,), keepdim=False), alpha)


addmm: dict[str, Any] = {
    "self": _added,
    "mat1": lambda F, t, mat2, alpha: scaled(F.mm(t, mat2), alpha),
    "mat2": lambda F, t, mat1, alpha: scaled(F.mm(mat1, t), alpha),
}
addmv: dict[str, Any] = {
    "self": _added,
    "mat": lambda F, t, vec, alpha: scaled(F.mv(t, vec), alpha),
    "vec": lambda F, t, mat, alpha: scaled(F.mv(mat, t), alpha),
}
addr: dict[str, Any] = {
    "self": _added,
    "vec1": lambda F, t, vec2, alpha: scaled(F.rows_times(t, vec2), alpha),
    "vec2": lambda F, t, vec1, alpha: scaled(F.rows_times(vec1, t), alpha),
}
baddbmm: dict[str, Any] = {
    "self": _added,
    "batch1": lambda F, t, batch2, alpha: scaled(F.bmm(t, batch2), alpha),
    "batch2": lambda F, t, batch1, alpha: scaled(F.bmm(batch1, t), alpha),
}
addbmm: dict[str, Any] = {
    "self": _added,
    "batch1": lambda F, t, batch2, alpha: _summed(F, F.bmm(t, batch2), alpha),
    "batch2": lambda F, t, batch1, alpha: _summed(F, F.bmm(batch1, t), alpha),
}
linear: dict[str, Any] = {
    "self": lambda F, t, weight: _mapped(F, t, weight),
    "weight": lambda F, t, self: _mapped(F, self, t),
    "bias": lambda F, t, result: F.expand(t, size=F.constant(result).shape),
}
