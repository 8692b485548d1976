"""Types of public signatures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

Number: TypeAlias = float | int | bool
Dims: TypeAlias = int | Sequence[int]
