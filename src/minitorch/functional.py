"""``torch.functional``: some operations by their other address."""

from .ops.broadcast import broadcast_shapes, broadcast_tensors
from .ops.distances import cdist
from .ops.einsum import einsum, tensordot
from .ops.join import cartesian_prod, meshgrid, split
from .ops.linalg import chain_matmul
from .ops.shape import atleast_1d, atleast_2d, atleast_3d
from .ops.sort import unique, unique_consecutive
from .ops.vector_norm import norm
from .ops.vectors import block_diag

__all__ = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "block_diag",
    "broadcast_shapes",
    "broadcast_tensors",
    "cartesian_prod",
    "cdist",
    "chain_matmul",
    "einsum",
    "meshgrid",
    "norm",
    "split",
    "tensordot",
    "unique",
    "unique_consecutive",
]
