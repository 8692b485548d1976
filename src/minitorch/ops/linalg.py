"""Matrix products."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._op import op

mm = op("mm", "MmBackward0", lambda self, mat2: self.dot(mat2), ("self", "mat2"),
        self=lambda F, g, mat2: g @ F.mT(mat2),
        mat2=lambda F, g, self: F.mT(self) @ g)  # fmt: skip


def matmul(input: Any, other: Any) -> Any:
    return mm(input, other)
