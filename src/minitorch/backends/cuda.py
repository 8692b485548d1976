"""CUDA libraries, which are not there: their settings can be set, and change nothing."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class _Matmul:
    """The settings of matrix products on CUDA devices."""

    __slots__ = (
        "allow_bf16_reduced_precision_reduction",
        "allow_fp16_accumulation",
        "allow_fp16_reduced_precision_reduction",
        "allow_tf32",
        "fp32_precision",
    )

    def __init__(self) -> None:
        self.allow_tf32 = False
        self.allow_bf16_reduced_precision_reduction = True
        self.allow_fp16_reduced_precision_reduction = True
        self.allow_fp16_accumulation = False
        self.fp32_precision = "none"


matmul = _Matmul()
_kernels = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True}


def is_built() -> bool:
    """Whether there is CUDA: never."""
    return False


def flash_sdp_enabled() -> bool:
    """What ``enable_flash_sdp`` was given, or True."""
    return _kernels["flash"]


def enable_flash_sdp(enabled: bool) -> None:
    """Accepted: attention is computed in one way."""
    _kernels["flash"] = enabled


def mem_efficient_sdp_enabled() -> bool:
    """What ``enable_mem_efficient_sdp`` was given, or True."""
    return _kernels["mem_efficient"]


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Accepted: attention is computed in one way."""
    _kernels["mem_efficient"] = enabled


def math_sdp_enabled() -> bool:
    """What ``enable_math_sdp`` was given, or True."""
    return _kernels["math"]


def enable_math_sdp(enabled: bool) -> None:
    """Accepted: attention is computed in one way."""
    _kernels["math"] = enabled


def cudnn_sdp_enabled() -> bool:
    """What ``enable_cudnn_sdp`` was given, or True."""
    return _kernels["cudnn"]


def enable_cudnn_sdp(enabled: bool) -> None:
    """Accepted: attention is computed in one way."""
    _kernels["cudnn"] = enabled


def is_flash_attention_available() -> bool:
    """Whether there is flash attention: never."""
    return False


@contextmanager
def _chosen(**kernels: bool) -> Iterator[dict[str, Any]]:
    before = dict(_kernels)
    _kernels.update(kernels)
    try:
        yield {}
    finally:
        _kernels.update(before)


def sdp_kernel(
    enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True, enable_cudnn: bool = True
) -> Any:
    """Context with other kernels of attention: accepted, as attention is computed in one way."""
    warnings.warn(
        "`torch.backends.cuda.sdp_kernel()` is deprecated: use `torch.nn.attention.sdpa_kernel()`.",
        FutureWarning,
        stacklevel=2,
    )
    return _chosen(flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn)
