"""AdamW, under PyTorch's name of the file."""

from .adam import AdamW

__all__ = ["AdamW"]
