"""What training loops need beside the model: data loading, checkpointing."""

from . import checkpoint, data, hooks

__all__ = ["checkpoint", "data", "hooks"]
