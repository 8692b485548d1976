"""What training loops need beside the model: data loading, checkpointing."""

from . import _pytree, checkpoint, data, hooks

__all__ = ["_pytree", "checkpoint", "data", "hooks"]
