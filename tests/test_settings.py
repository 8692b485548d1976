"""Threads, precision, determinism: what is set is what is read; what is no setting is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import minitorch as torch


def test_what_is_set_is_read() -> None:
    before = torch.get_num_threads()
    assert before >= 1
    torch.set_num_threads(2)
    assert torch.get_num_threads() == 2
    torch.set_num_threads(before)
    torch.set_num_interop_threads(1)
    assert torch.get_num_interop_threads() == 1
    torch.set_float32_matmul_precision("high")
    assert torch.get_float32_matmul_precision() == "high"
    torch.set_float32_matmul_precision("highest")
    torch.use_deterministic_algorithms(True, warn_only=True)
    assert torch.are_deterministic_algorithms_enabled()
    assert torch.is_deterministic_algorithms_warn_only_enabled()
    torch.set_deterministic_debug_mode("default")
    assert torch.get_deterministic_debug_mode() == 0
    assert not torch.are_deterministic_algorithms_enabled()
    torch.set_warn_always(True)
    assert torch.is_warn_always_enabled()
    torch.set_warn_always(False)
    assert torch.set_flush_denormal(True) is False


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: torch.set_num_threads(0), RuntimeError),
        (lambda: torch.set_num_threads("2"), TypeError),
        (lambda: torch.set_float32_matmul_precision("low"), RuntimeError),
        (lambda: torch.set_deterministic_debug_mode(5), RuntimeError),
    ],
)
def test_errors(call: Callable[[], Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        call()


def test_modules_by_other_addresses() -> None:
    assert torch.version.__version__ == torch.__version__
    assert torch.version.cuda is None
    assert torch.functional.einsum is torch.einsum
    assert torch.types.Tensor is torch.Tensor
