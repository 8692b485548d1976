"""Expressions of sizes: what is written for many sizes gives at each what the function gives."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minitorch as torch
from minitorch import nn, static

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "eye": lambda x: torch.eye(x.shape[0]) @ x,
    "scaled eye": lambda x: torch.eye(len(x), 2 * len(x)) * 3 + x.sum(),
    "a multiple of 4": lambda x: nn.functional.pad(x, (0, 0, 0, -len(x) % 4)),
    "blocks of 4": lambda x: nn.functional.pad(x, (0, 0, 0, -len(x) % 4)).view(-1, 4, x.shape[1]).sum(1),
    "what remains": lambda x: x[: len(x) % 3] + 1,
}
SIZES = (1, 2, 3, 4, 6, 7, 8, 9, 13, 16, 33)


def example(size: int) -> Any:
    return torch.arange(3.0 * size).reshape(size, 3) - 4


@pytest.mark.parametrize("name", FUNCTIONS)
def test_modules(name: str, tmp_path: Path) -> None:
    path = tmp_path / "many.py"
    static.trace(FUNCTIONS[name], example(5)).to_python(path, dynamic_axes={"x": {0: "n"}})
    written = runpy.run_path(str(path))["forward"]
    for size in SIZES:
        assert written(example(size).numpy()).tolist() == FUNCTIONS[name](example(size)).tolist()


@pytest.mark.parametrize("name", [*FUNCTIONS, "linspace"])
def test_onnx_files(name: str, tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    function = FUNCTIONS.get(name, lambda x: x * torch.linspace(0, 1, len(x)).unsqueeze(1))
    path = str(tmp_path / "many.onnx")
    torch.onnx.export(function, example(5), path, input_names=["x"], dynamic_axes={"x": {0: "n"}})
    session = runtime.InferenceSession(path)
    for size in SIZES:
        (found,) = session.run(None, {"x": example(size).numpy()})
        np.testing.assert_allclose(found, function(example(size)).numpy(), rtol=1e-5)


def test_a_quotient_needs_two_periods_to_be_told(tmp_path: Path) -> None:
    def ten_at_most(x: Any) -> Any:
        return x * min(len(x), 10)

    with pytest.raises(RuntimeError, match="no expression was found"):
        static.trace(ten_at_most, example(5)).to_python(tmp_path / "many.py", dynamic_axes={"x": {0: "n"}})


@pytest.mark.parametrize("axes", ["x", ["x"], {"x": 0}])
def test_dynamic_axes_that_are_no_dict_of_axes(axes: Any, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"dynamic_axes must be as \{'x': \{0: 'n'\}\}"):
        static.trace(FUNCTIONS["eye"], example(5)).to_python(tmp_path / "many.py", dynamic_axes=axes)


def test_what_an_export_refuses_has_a_remedy(tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    with pytest.raises(RuntimeError, match=r"draw\(\): random numbers: draw them outside, and pass them as an input"):
        torch.onnx.export(lambda x: x * torch.rand(2), (torch.ones(2),), str(tmp_path / "drawn.onnx"))
    torch.onnx.export(lambda x: x.sum().flip(0), (torch.ones(2),), str(tmp_path / "flipped.onnx"))
    assert [file.name for file in tmp_path.iterdir()] == ["flipped.onnx"]
