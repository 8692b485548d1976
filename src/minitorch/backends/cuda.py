"""CUDA libraries, which are not there: their settings can be set, and change nothing."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..ops.attention import KERNELS


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


def is_built() -> bool:
    """Whether there is CUDA: never."""
    return False


def flash_sdp_enabled() -> bool:
    """What ``enable_flash_sdp`` was given, or True."""
    return KERNELS["flash"]


def enable_flash_sdp(enabled: bool) -> None:
    """Allow the kernel or not; attention is computed in one way, and refused without both math and flash."""
    KERNELS["flash"] = enabled


def mem_efficient_sdp_enabled() -> bool:
    """What ``enable_mem_efficient_sdp`` was given, or True."""
    return KERNELS["mem_efficient"]


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Allow the kernel or not; attention is computed in one way, and refused without both math and flash."""
    KERNELS["mem_efficient"] = enabled


def math_sdp_enabled() -> bool:
    """What ``enable_math_sdp`` was given, or True."""
    return KERNELS["math"]


def enable_math_sdp(enabled: bool) -> None:
    """Allow the kernel or not; attention is computed in one way, and refused without both math and flash."""
    KERNELS["math"] = enabled


def cudnn_sdp_enabled() -> bool:
    """What ``enable_cudnn_sdp`` was given, or True."""
    return KERNELS["cudnn"]


def enable_cudnn_sdp(enabled: bool) -> None:
    """Allow the kernel or not; attention is computed in one way, and refused without both math and flash."""
    KERNELS["cudnn"] = enabled


def is_flash_attention_available() -> bool:
    """Whether there is flash attention: never."""
    return False


@contextmanager
def _chosen(**kernels: bool) -> Iterator[dict[str, Any]]:
    before = dict(KERNELS)
    KERNELS.update(kernels)
    try:
        yield {}
    finally:
        KERNELS.update(before)


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
