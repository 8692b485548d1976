"""Without the package ``onnx``, exporting says how to get it; nothing else needs it."""

from __future__ import annotations

import sys

import pytest

import minitorch as torch


def test_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match="pip install onnx") as caught:
        torch.onnx.export(torch.nn.Linear(2, 3), torch.ones(1, 2))
    assert caught.value.name == "onnx"
