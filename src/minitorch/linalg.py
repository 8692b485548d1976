"""Linear algebra: what there is under ``torch.linalg``."""

from .ops.linalg import multi_dot
from .ops.vector_norm import vector_norm

__all__ = ["multi_dot", "vector_norm"]
