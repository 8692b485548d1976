"""The types of tensors on CUDA devices: names to ask with; no tensor is of them."""

from __future__ import annotations

from typing import Any, NoReturn


class CudaTensorType(type):
    """The class of ``torch.cuda.FloatTensor`` and its kin: they make no tensor and recognise none."""

    def __call__(cls, *data: Any, **options: Any) -> NoReturn:
        raise TypeError(
            f"type torch.cuda.{cls.__name__} not available. Torch not compiled with CUDA enabled: use torch.{cls.__name__}"
        )

    def __instancecheck__(cls, instance: Any) -> bool:
        return False

    def __repr__(cls) -> str:
        return f"<class 'torch.cuda.{cls.__name__}'>"


class FloatTensor(metaclass=CudaTensorType):
    """A float32 tensor on a CUDA device: making one is refused."""


class DoubleTensor(metaclass=CudaTensorType):
    """A float64 tensor on a CUDA device: making one is refused."""


class HalfTensor(metaclass=CudaTensorType):
    """A float16 tensor on a CUDA device: making one is refused."""


class LongTensor(metaclass=CudaTensorType):
    """An int64 tensor on a CUDA device: making one is refused."""


class IntTensor(metaclass=CudaTensorType):
    """An int32 tensor on a CUDA device: making one is refused."""


class ShortTensor(metaclass=CudaTensorType):
    """An int16 tensor on a CUDA device: making one is refused."""


class CharTensor(metaclass=CudaTensorType):
    """An int8 tensor on a CUDA device: making one is refused."""


class ByteTensor(metaclass=CudaTensorType):
    """A uint8 tensor on a CUDA device: making one is refused."""


class BoolTensor(metaclass=CudaTensorType):
    """A bool tensor on a CUDA device: making one is refused."""
