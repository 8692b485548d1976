"""Modules on several devices: with none but the CPU, they run there."""

from .data_parallel import DataParallel, data_parallel

__all__ = ["DataParallel", "data_parallel"]
