"""What training loops need beside the model: data loading, checkpointing."""

from . import checkpoint, data

__all__ = ["checkpoint", "data"]
