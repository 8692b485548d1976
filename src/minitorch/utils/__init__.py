"""What training loops need beside the model: data loading."""

from . import data

__all__ = ["data"]
