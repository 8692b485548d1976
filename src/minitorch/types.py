"""Names for annotations, as in ``torch.types``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from ._device import device
from ._dtypes import dtype
from ._size import Size
from ._storage import Storage
from ._tensor import Tensor

__all__ = ["Device", "IntLikeType", "Number", "Size", "Storage", "Tensor", "device", "dtype"]

Number: TypeAlias = int | float | bool
IntLikeType: TypeAlias = int
Device: TypeAlias = device | str | int | None
_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]
_int, _float, _bool, _size, _dtype, _device = int, float, bool, Size, dtype, device
