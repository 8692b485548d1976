"""Which kernels ``scaled_dot_product_attention`` may use: there is one, and it counts as MATH and as FLASH_ATTENTION."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...ops.attention import KERNELS

__all__ = ["SDPBackend", "sdpa_kernel"]


class SDPBackend(enum.Enum):
    """The kernels of attention in PyTorch."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

    def __repr__(self) -> str:
        return f"<{self}: {self.value}>"

    def __int__(self) -> int:
        return self.value

    __index__ = __int__


FLAGS = {
    "math": SDPBackend.MATH,
    "flash": SDPBackend.FLASH_ATTENTION,
    "mem_efficient": SDPBackend.EFFICIENT_ATTENTION,
    "cudnn": SDPBackend.CUDNN_ATTENTION,
    "overrideable": SDPBackend.OVERRIDEABLE,
}


@contextmanager
def sdpa_kernel(backends: SDPBackend | list[SDPBackend], set_priority: bool = False) -> Iterator[dict[str, Any]]:
    """Context in which attention may use these kernels only.

    There is one kernel here, so the result is always the same; but where neither MATH nor FLASH_ATTENTION, which a CPU
    has in PyTorch, is allowed, ``scaled_dot_product_attention`` is refused as it is there.

    Parameters
    ----------
    backends : SDPBackend or list of SDPBackend
        What is allowed.
    set_priority : bool
        Accepted: whether the first one that can be used is.

    Raises
    ------
    AssertionError
        If *backends* is neither.

    Examples
    --------
    >>> import minitorch as torch
    >>> from minitorch.nn.attention import SDPBackend, sdpa_kernel
    >>> x = torch.eye(2)
    >>> with sdpa_kernel(SDPBackend.MATH):
    ...     torch.nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True)
    tensor([[1.0000, 0.0000],
            [0.3302, 0.6698]])
    """
    if not isinstance(backends, (list, SDPBackend)):
        raise AssertionError(
            "Backend must be an instance of SDPBackend or a list of SDPBackend instances, got "
            + type(backends).__name__
        )
    allowed = [backends] if isinstance(backends, SDPBackend) else backends
    before = dict(KERNELS)
    KERNELS.update({name: backend in allowed for name, backend in FLAGS.items()})
    try:
        yield {}
    finally:
        KERNELS.update(before)
