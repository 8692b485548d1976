"""Files are there at once and whole, or not at all, wherever writing them is interrupted."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import minitorch as torch
from minitorch import _files, nn
from minitorch._files import replacing


class Interrupts:
    """Raises KeyboardInterrupt at one of the instructions that a function's frames run."""

    def __init__(self, at: int) -> None:
        self.at, self.ran, self.raised = at, 0, False

    def __call__(self, frame: FrameType, event: str, arg: Any) -> Any:
        if frame.f_code.co_filename != _files.__file__:
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return self.instruction

    def instruction(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event == "opcode" and not self.raised:
            self.ran += 1
            if self.ran == self.at:
                self.raised = True
                raise KeyboardInterrupt
        return self.instruction


def interrupted(at: int, call: Callable[[], Any]) -> bool:
    """Whether there was an instruction of this number."""
    watch, before = Interrupts(at), sys.gettrace()
    sys.settrace(watch)
    try:
        call()
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(before)
    return watch.raised


@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # a file that was just opened is closed so
@pytest.mark.skipif(sys.gettrace() is not None, reason="something else traces")
@pytest.mark.parametrize("before", [None, b"before"])
def test_an_interrupt_anywhere_leaves_the_old_file_or_the_new_one(before: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "file"

    def write() -> None:
        with replacing(path) as file:
            file.write(b"aft")
            file.write(b"er")

    at, seen = 0, set()
    while True:
        at += 1
        path.unlink(missing_ok=True)
        if before is not None:
            path.write_bytes(before)
        raised = interrupted(at, write)
        assert {p.name for p in tmp_path.iterdir()} <= {"file"}, f"a file is left at instruction {at}"
        seen.add(path.read_bytes() if path.exists() else None)
        assert seen <= {before, b"after"}
        if not raised:
            break
    assert at > 50
    assert seen == {before, b"after"}


def test_permissions(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_bytes(b"")
    old.chmod(0o640)
    new.write_bytes(b"")
    usual = stat.S_IMODE(new.stat().st_mode)
    new.unlink()
    for path in (old, new):
        with replacing(path) as file:
            file.write(b"x")
    assert stat.S_IMODE(old.stat().st_mode) == 0o640
    assert stat.S_IMODE(new.stat().st_mode) == usual


class Halts:
    """Raises when it is called."""

    def __init__(self, error: type[BaseException]) -> None:
        self.error = error

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise self.error("halted")


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError, MemoryError])
@pytest.mark.parametrize("where", ["onnx.checker.check_model", "os.fsync", "os.replace", "os.open"])
@pytest.mark.parametrize("before", [None, b"before"])
def test_exports_that_fail(
    before: bytes | None, where: str, error: type[BaseException], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("onnx")
    import onnx.checker  # whose function is replaced

    path = tmp_path / "model.onnx"
    if before is not None:
        path.write_bytes(before)
    monkeypatch.setattr(where, Halts(error))
    with pytest.raises(error, match="halted"):
        torch.onnx.export(nn.Linear(3, 3), torch.ones(2, 3), path)
    monkeypatch.undo()
    assert [p.read_bytes() for p in tmp_path.iterdir()] == [before] * (before is not None)
    torch.onnx.export(nn.Linear(3, 3), torch.ones(2, 3), path)
    onnx.checker.check_model(str(path))


class Stops(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        raise KeyboardInterrupt


def test_a_model_that_is_interrupted(tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    path = tmp_path / "model.onnx"
    path.write_bytes(b"before")
    model = nn.Sequential(nn.BatchNorm1d(3), Stops())
    with pytest.raises(KeyboardInterrupt):
        torch.onnx.export(model, torch.ones(2, 3), path, training=torch.onnx.TrainingMode.TRAINING)
    assert [p.read_bytes() for p in tmp_path.iterdir()] == [b"before"]
    assert model.training
    assert model[0].running_mean.tolist() == [0, 0, 0]
    assert not torch.onnx.is_in_onnx_export()


def half_written(path: Any) -> None:
    with replacing(path) as file:
        file.write(b"half")
        raise ZeroDivisionError


def test_a_write_that_fails(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"before")
    for given in (path, str(path), os.fsencode(path)):
        with pytest.raises(ZeroDivisionError):
            half_written(given)
    assert [p.read_bytes() for p in tmp_path.iterdir()] == [b"before"]
