"""``.safetensors`` checkpoints: they go to PyTorch and back, are whole or not there, and say what is wrong with a file."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minitorch as torch
from minitorch.safetensors import load, load_file, load_model, safe_open, save, save_file, save_model

safetensors = pytest.importorskip("safetensors")

DTYPES = [
    "float16",
    "float32",
    "float64",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "bool",
    "uint16",
    "uint32",
    "uint64",
]


def some(library: Any) -> dict[str, Any]:
    """A tensor of each dtype, and some of special shapes."""
    tensors = {name: library.tensor([[0, 1, 1], [1, 0, 5]]).to(getattr(library, name)) for name in DTYPES}
    tensors["nothing"], tensors["number"] = library.empty(2, 0, 3), library.tensor(3.5)
    tensors["part"] = library.arange(12.0)[4:9]
    tensors["parameter"] = library.nn.Parameter(library.tensor([1.0, -0.0, float("inf")]))
    return tensors


def check_equal(got: dict[str, Any], expected: dict[str, Any]) -> None:
    assert set(got) == set(expected)
    for name, tensor in got.items():
        assert str(tensor.dtype) == str(expected[name].dtype), name
        assert tuple(tensor.shape) == tuple(expected[name].shape), name
        np.testing.assert_array_equal(tensor.detach().numpy(), expected[name].detach().numpy())
        assert not tensor.requires_grad
        assert tensor.is_leaf


def test_there_and_back(tmp_path: Path) -> None:
    tensors = some(torch)
    save_file(tensors, tmp_path / "a.safetensors", {"format": "pt", "epoch": "3"})
    for loaded in (load_file(tmp_path / "a.safetensors"), load(save(tensors))):
        check_equal(loaded, tensors)
    loaded["part"] += 1
    assert loaded["part"].tolist() == [5.0, 6.0, 7.0, 8.0, 9.0]
    with safe_open(tmp_path / "a.safetensors", framework="pt", device="cpu") as file:
        assert file.metadata() == {"format": "pt", "epoch": "3"}
        assert file.keys() == sorted(tensors)
        assert file.get_tensor("part").tolist() == [4.0, 5.0, 6.0, 7.0, 8.0]
        part = file.get_slice("int32")
        assert (part.get_shape(), part.get_dtype()) == ([2, 3], "I32")
        assert part[:, 1:].tolist() == [[1, 1], [0, 5]]
        assert isinstance(part[0], torch.Tensor)
        with pytest.raises(safetensors.SafetensorError, match="does not contain tensor nope"):
            file.get_tensor("nope")
    with safe_open(tmp_path / "a.safetensors", framework="np") as file:
        assert isinstance(file.get_tensor("part"), np.ndarray)


def test_the_format() -> None:
    """Eight bytes with the header's length, the header as JSON, the memory."""
    content = save({"w": torch.tensor([[1.0, 2.0]])}, {"a": "b"})
    (length,) = struct.unpack("<Q", content[:8])
    assert content[8 : 8 + length].strip() == (
        b'{"__metadata__":{"a":"b"},"w":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}}'
    )
    assert np.frombuffer(content[8 + length :], np.float32).tolist() == [1.0, 2.0]


def test_pytorch_reads_ours_and_we_read_pytorchs(tmp_path: Path) -> None:
    reference = pytest.importorskip("torch")
    theirs = pytest.importorskip("safetensors.torch")
    save_file(some(torch), tmp_path / "ours", {"a": "b"})
    theirs.save_file(some(reference), tmp_path / "theirs", {"a": "b"})
    check_equal(theirs.load_file(tmp_path / "ours"), some(torch))
    check_equal(load_file(tmp_path / "theirs"), some(reference))
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()
    check_equal(load(theirs.save(some(reference))), some(reference))
    with pytest.raises(TypeError, match="tensor 'h' in the file is of dtype bfloat16, which minitorch has not"):
        load(theirs.save({"h": reference.ones(2, dtype=reference.bfloat16)}))


class Tied(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed, self.head = torch.nn.Embedding(5, 3), torch.nn.Linear(3, 5, bias=False)
        self.head.weight = self.embed.weight
        self.register_buffer("turned", torch.arange(6.0).view(2, 3).t())


def test_models_with_shared_tensors(tmp_path: Path) -> None:
    model, other = Tied(), Tied()
    with pytest.raises(RuntimeError, match=r"Some tensors share memory.*\['embed.weight', 'head.weight'\].*save_model"):
        save_file(model.state_dict(), tmp_path / "m")
    save_model(model, tmp_path / "m", {"by": "us"})
    assert sorted(load_file(tmp_path / "m")) == ["embed.weight", "turned"]
    with safe_open(tmp_path / "m") as file:
        assert file.metadata() == {"by": "us", "head.weight": "embed.weight"}
    assert load_model(other, tmp_path / "m") == (set(), [])
    assert other.head.weight is other.embed.weight
    assert torch.equal(other.head.weight, model.head.weight)
    save_file({"head.weight": torch.zeros(5, 3), "turned": torch.zeros(3, 2)}, tmp_path / "n")
    load_model(other, tmp_path / "n")
    assert not other.embed.weight.any()
    with pytest.raises(ValueError, match=r"non contiguous tensor: `turned`.*force_contiguous=True"):
        save_model(model, tmp_path / "m", force_contiguous=False)


def test_names_that_do_not_fit(tmp_path: Path) -> None:
    layer = torch.nn.Linear(2, 1)
    save_file({"weight": torch.ones(1, 2), "more": torch.ones(1)}, tmp_path / "m")
    assert load_model(layer, tmp_path / "m", strict=False) == ({"bias"}, ["more"])
    with pytest.raises(
        RuntimeError, match=r'for Linear:\n *Missing key\(s\).*: "bias"\n *Unexpected key\(s\).*: "more"'
    ):
        load_model(layer, tmp_path / "m")


BASE = torch.arange(12.0)


@pytest.mark.parametrize(
    ("tensors", "error", "message"),
    [
        ([torch.ones(1)], ValueError, "Expected a dict of"),
        ({"a": 1}, ValueError, "Key `a` is invalid, expected torch.Tensor but received <class 'int'>"),
        ({"a": BASE.view(3, 4).t()}, ValueError, "non contiguous tensor: `a`"),
        ({"a": BASE, "b": BASE}, RuntimeError, r"share memory.*\[\['a', 'b'\]\]"),
        ({"a": BASE[:5], "b": BASE[4:], "c": torch.ones(1)}, RuntimeError, r"share memory.*\[\['a', 'b'\]\]"),
        ({"a": torch.ones(()).expand(3)}, ValueError, "non contiguous tensor: `a`"),
        ({1: torch.ones(1)}, TypeError, "str"),
    ],
)
def test_what_is_refused(tensors: Any, error: type[Exception], message: str, tmp_path: Path) -> None:
    (tmp_path / "old").write_bytes(b"as it was")
    with pytest.raises(error, match=message):
        save_file(tensors, tmp_path / "old")
    assert (tmp_path / "old").read_bytes() == b"as it was"
    assert os.listdir(tmp_path) == ["old"]


def test_parts_that_do_not_overlap_are_saved() -> None:
    loaded = load(save({"a": BASE[:5], "b": BASE[5:], "none": BASE[:0]}))
    assert {name: len(tensor) for name, tensor in loaded.items()} == {"a": 5, "b": 7, "none": 0}


def test_metadata_are_texts() -> None:
    with pytest.raises(TypeError, match="metadata"):
        save({"a": torch.ones(1)}, {"epoch": 3})


WHOLE = save({"a": torch.ones(2, 3)})


@pytest.mark.parametrize("content", [b"", WHOLE[:4], WHOLE[:40], WHOLE[:-3], WHOLE + b"zz", b"x" * 100])
def test_damaged_files(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "bad").write_bytes(content)
    with pytest.raises(safetensors.SafetensorError, match=r"bad is no complete \.safetensors file: .*header"):
        load_file(tmp_path / "bad")
    with pytest.raises(safetensors.SafetensorError, match=r"the data are no complete \.safetensors file"):
        load(content)


def test_missing_files(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load_file(tmp_path / "nope")
    with pytest.raises(RuntimeError, match="does not exist"):
        save_file({"a": torch.ones(1)}, tmp_path / "no" / "file")


SCRIPT = """
import torch
from safetensors import safe_open
from safetensors.torch import load_file, load_model, save_file, save_model

model = torch.nn.Linear(2, 1)
save_file({"w": model.weight, "b": model.bias}, "one.safetensors", metadata={"format": "pt"})
state = load_file("one.safetensors")
assert torch.equal(state["w"], model.weight)
save_model(model, "two.safetensors")
load_model(torch.nn.Linear(2, 1), "two.safetensors")
with safe_open("two.safetensors", framework="pt") as file:
    for name in file.keys():
        assert isinstance(file.get_tensor(name), torch.Tensor)
with safe_open("two.safetensors", framework="np") as file:
    print(type(file.get_tensor("bias")).__name__, torch.__name__)
"""


def test_scripts_run(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(SCRIPT)
    environment = {**os.environ, "PYTHONPATH": str(Path(torch.__file__).parents[1])}
    command = [sys.executable, "-m", "minitorch", "program.py"]
    result = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert result.stdout == "ndarray minitorch\n", result.stderr
