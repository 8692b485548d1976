"""Checkpoints: they go to PyTorch and back, are whole or not there, and hostile files do no harm."""

from __future__ import annotations

import io
import os
import pickle
import signal
import subprocess
import sys
import zipfile
from collections import Counter, OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minitorch
from minitorch import serialization
from minitorch.serialization import _reader, _writer

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


def saved(torch: Any, value: Any, **kwargs: Any) -> io.BytesIO:
    file = io.BytesIO()
    torch.save(value, file, **kwargs)
    file.seek(0)
    return file


def things(torch: Any) -> dict[str, Any]:
    """One of everything that a checkpoint may hold."""
    torch.manual_seed(0)
    base = torch.arange(12.0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    model(torch.ones(2, 3)).sum().backward()
    optimizer.step()
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2)
    return {
        "dtypes": [torch.tensor([0, 1, 1]).to(getattr(torch, d)) for d in DTYPES],
        "views": [base, base.view(3, 4).t(), base[2:8:3], base[5], base.view(3, 4)[:, 1:].expand(2, 3, 3)],
        "empty": [torch.empty(0), torch.empty(2, 0, 3), torch.tensor(3.5)],
        "grad": torch.ones(2, requires_grad=True),
        "parameter": torch.nn.Parameter(torch.ones(2), requires_grad=False),
        "same": [base, base],
        "plain": {
            "n": None,
            "t": True,
            "i": -3,
            "big": 10**30,
            "f": 0.5,
            "s": "é",
            "b": b"\x00\xff",
            "l": [1, (2, [3])],
        },
        "sets": {1, 2},
        "complex": 1 + 2j,
        "bytearray": bytearray(b"abc"),
        "ordered": OrderedDict(b=1, a=2),
        "counter": Counter("aab"),
        "size": torch.ones(2, 3).shape,
        "dtype": torch.float32,
        "device": torch.device("cpu"),
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "scheduler": scheduler.state_dict(),
        "rng": torch.get_rng_state(),
    }


def plain(value: Any) -> Any:
    """What can be compared between libraries."""
    if hasattr(value, "detach"):
        kind = type(value).__name__
        array = value.detach().numpy()
        return kind, str(value.dtype), tuple(value.shape), tuple(value.stride()), value.requires_grad, array.tolist()
    if isinstance(value, dict):
        return type(value).__name__, [(k, plain(v)) for k, v in value.items()], plain(getattr(value, "_metadata", None))
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [plain(v) for v in value]
    return str(value) if type(value).__module__.split(".")[0] in ("torch", "minitorch") else value


# -- both ways ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", list(things(minitorch)))
@pytest.mark.parametrize("options", [{}, {"pickle_protocol": 4}], ids=str)
def test_pytorch_opens_what_was_saved_here(name: str, options: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch")
    value = things(minitorch)[name]
    file = saved(minitorch, value, **options)
    loaded = torch.load(file, weights_only=not options)  # PyTorch's own restricted reader knows protocol 2 only
    assert plain(loaded) == plain(value)


@pytest.mark.parametrize("name", list(things(minitorch)))
@pytest.mark.parametrize("options", [{}, {"_use_new_zipfile_serialization": False}, {"pickle_protocol": 4}], ids=str)
def test_what_pytorch_saved_is_opened_here(name: str, options: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch")
    value = things(torch)[name]
    file = saved(torch, value, **options)
    assert plain(minitorch.load(file)) == plain(value)
    file.seek(0)
    assert plain(minitorch.load(file, weights_only=False)) == plain(value)


@pytest.mark.parametrize("name", list(things(minitorch)))
def test_there_and_back(name: str, tmp_path: Path) -> None:
    value = things(minitorch)[name]
    minitorch.save(value, tmp_path / "file.pt")
    assert plain(minitorch.load(tmp_path / "file.pt")) == plain(value)
    assert plain(minitorch.load(str(tmp_path / "file.pt"), mmap=True)) == plain(value)


def test_shared_memory_stays_shared() -> None:
    base = minitorch.arange(6.0)
    loaded = minitorch.load(saved(minitorch, {"a": base, "b": base[2:], "c": base.clone()}))
    loaded["a"][3] = 100.0
    assert loaded["b"][1] == 100.0
    assert loaded["c"][3] == 3.0


def test_pytorch_sees_shared_memory() -> None:
    torch = pytest.importorskip("torch")
    base = minitorch.arange(6.0)
    loaded = torch.load(saved(minitorch, [base, base[2:]]))
    loaded[0][3] = 100.0
    assert loaded[1][1] == 100.0


def test_memory_that_pytorch_cannot_tell_is_copied() -> None:
    array = np.arange(12, dtype=np.float32).reshape(3, 4)
    odd = [
        minitorch.from_numpy(array[:, ::2]), minitorch.from_numpy(array.T),
        minitorch.from_numpy(np.lib.stride_tricks.sliding_window_view(np.arange(6.0), 3, writeable=True)),
        minitorch.from_numpy(np.arange(6, dtype=np.int32)[1:3].view(np.int16)),
    ]  # fmt: skip
    for tensor, loaded in zip(odd, minitorch.load(saved(minitorch, odd))):
        assert loaded.tolist() == tensor.tolist()


def test_attributes_of_tensors_are_kept() -> None:
    parameter = minitorch.nn.Parameter(minitorch.ones(2))
    parameter.tag = "weights"
    tensor = minitorch.ones(1)
    tensor.note = [1, 2]
    loaded = minitorch.load(saved(minitorch, [parameter, tensor]))
    assert (loaded[0].tag, loaded[1].note) == ("weights", [1, 2])


def test_training_goes_on_where_it_was_in_the_other_library() -> None:
    torch = pytest.importorskip("torch")

    def parts(library: Any) -> tuple[Any, Any]:
        library.manual_seed(1)
        model = library.nn.Sequential(library.nn.Linear(3, 8), library.nn.Tanh(), library.nn.Linear(8, 1))
        return model, library.optim.AdamW(model.parameters(), lr=0.05)

    def steps(library: Any, model: Any, optimizer: Any, count: int) -> None:
        for _ in range(count):
            optimizer.zero_grad()
            model(library.randn(16, 3)).square().mean().backward()
            optimizer.step()

    results = []
    for first, second in ((torch, minitorch), (minitorch, torch), (torch, torch)):
        model, optimizer = parts(first)
        steps(first, model, optimizer, 3)
        state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "rng": first.get_rng_state()}
        state = second.load(saved(first, state))
        model, optimizer = parts(second)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        second.set_rng_state(state["rng"])
        steps(second, model, optimizer, 3)
        results.append(np.concatenate([p.detach().numpy().ravel() for p in model.parameters()]))
    np.testing.assert_allclose(results[0], results[2], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(results[1], results[2], rtol=1e-4, atol=1e-6)


def test_whole_modules_of_trusted_files() -> None:
    model = minitorch.nn.Sequential(minitorch.nn.Linear(2, 3), minitorch.nn.ReLU())
    file = saved(minitorch, model)
    with pytest.raises(pickle.UnpicklingError, match="Unsupported global"):
        minitorch.load(file)
    file.seek(0)
    loaded = minitorch.load(file, weights_only=False)
    x = minitorch.ones(1, 2)
    assert loaded(x).tolist() == model(x).tolist()


def test_whole_modules_of_pytorchs_trusted_files() -> None:
    torch = pytest.importorskip("torch")
    nn = torch.nn
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten(), nn.Dropout(), nn.Linear(8, 3))
    loaded = minitorch.load(saved(torch, model), weights_only=False)
    x = np.random.default_rng(0).normal(size=(2, 1, 4, 4)).astype(np.float32)
    for one in (model, loaded):
        one.eval()
    expected = model(torch.tensor(x)).detach().numpy()
    np.testing.assert_allclose(loaded(minitorch.tensor(x)).detach().numpy(), expected, rtol=1e-5)
    assert repr(loaded) == repr(model)
    assert list(loaded.state_dict()) == list(model.state_dict())
    assert len(list(loaded.parameters())) == 6


# -- files -------------------------------------------------------------------------------------------------------------
def test_entries_are_aligned_and_uncompressed() -> None:
    file = saved(minitorch, [minitorch.arange(n) for n in (1, 7, 100)])
    archive = zipfile.ZipFile(file)
    assert archive.testzip() is None
    for entry in archive.infolist():
        assert entry.compress_type == zipfile.ZIP_STORED
        with archive.open(entry) as content:
            assert content._orig_compress_start % 64 == 0


def test_the_same_object_gives_the_same_file() -> None:
    assert (
        saved(minitorch, things(minitorch)["model"]).getvalue()
        == saved(minitorch, things(minitorch)["model"]).getvalue()
    )


def test_files_that_cannot_seek_are_written(tmp_path: Path) -> None:
    class Pipe:
        def __init__(self) -> None:
            self.content = b""

        def write(self, content: bytes) -> int:
            self.content += content
            return len(content)

    pipe = Pipe()
    minitorch.save([minitorch.ones(2)], pipe)
    assert minitorch.load(io.BytesIO(pipe.content))[0].tolist() == [1.0, 1.0]


class Unpicklable:
    def __reduce__(self) -> Any:
        raise ValueError("not this one")


def test_a_failed_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file.pt"
    minitorch.save({"epoch": 1}, path)
    path.chmod(0o640)
    with pytest.raises(ValueError, match="not this one"):
        minitorch.save({"epoch": 2, "x": Unpicklable()}, path)

    def fails(*args: Any) -> None:
        raise OSError("disk full")

    with monkeypatch.context() as patched:
        patched.setattr(_writer, "put", fails)
        with pytest.raises(OSError, match="disk full"):
            minitorch.save({"epoch": 2}, path)
    assert minitorch.load(path) == {"epoch": 1}
    minitorch.save({"epoch": 3}, path)
    assert minitorch.load(path) == {"epoch": 3}
    assert path.stat().st_mode & 0o777 == 0o640
    assert os.listdir(tmp_path) == ["file.pt"]


@pytest.mark.skipif(sys.platform == "win32", reason="kills a process by a signal")
def test_a_killed_save_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file.pt"
    minitorch.save({"epoch": 1}, path)
    program = (
        "import os, signal, minitorch as torch\n"
        "from minitorch.serialization import _writer\n"
        "put = _writer.put\n"
        "def killed(archive, name, content):\n"
        "    put(archive, name, content)\n"
        "    if name.endswith('data/0'): archive.fp.flush(); os.kill(os.getpid(), signal.SIGKILL)\n"
        "_writer.put = killed\n"
        f"torch.save([torch.ones(1000)], {str(path)!r})\n"
    )
    done = subprocess.run([sys.executable, "-c", program], check=False)
    assert done.returncode == -signal.SIGKILL
    assert minitorch.load(path) == {"epoch": 1}


def test_links_and_missing_directories(tmp_path: Path) -> None:
    (tmp_path / "link.pt").symlink_to(tmp_path / "file.pt")
    minitorch.save(1, tmp_path / "link.pt")
    assert (tmp_path / "link.pt").is_symlink()
    assert minitorch.load(tmp_path / "file.pt") == 1
    with pytest.raises(RuntimeError, match=r"Parent directory .* does not exist"):
        minitorch.save(1, tmp_path / "none" / "file.pt")
    with pytest.raises(FileNotFoundError):
        minitorch.load(tmp_path / "none.pt")
    minitorch.save(1, os.devnull)


# -- places ------------------------------------------------------------------------------------------------------------
def test_tensors_of_other_devices_need_to_be_told_where_to_go() -> None:
    file = io.BytesIO(
        saved(minitorch, minitorch.ones(2)).getvalue().replace(b"X\x03\x00\x00\x00cpu", b"X\x03\x00\x00\x00gpu")
    )
    file = rewritten(file, lambda name, content: content)  # with new checksums
    with pytest.raises(RuntimeError, match="Attempting to deserialize object on the device gpu"):
        minitorch.load(file)
    for place in ("cpu", minitorch.device("cpu"), {"gpu": "cpu"}, lambda storage, location: storage or True):
        file.seek(0)
        assert minitorch.load(file, map_location=place).tolist() == [1.0, 1.0]
    file.seek(0)
    with pytest.raises(RuntimeError, match="only the CPU"):
        minitorch.load(file, map_location="cuda:0")


def test_arguments_that_do_not_fit() -> None:
    with pytest.raises(TypeError, match="map_location"):
        minitorch.load(saved(minitorch, minitorch.ones(1)), map_location=3)
    with pytest.raises(ValueError, match="mmap"):
        minitorch.load(saved(minitorch, 1), mmap=True)
    with pytest.raises(AttributeError, match="seek"):
        minitorch.load(type("Stream", (), {"read": lambda self, n=-1: b""})())


# -- damage ------------------------------------------------------------------------------------------------------------
EXPECTED = (RuntimeError, pickle.UnpicklingError, EOFError)


def rewritten(file: io.BytesIO, change: Any) -> io.BytesIO:
    """The archive with entries changed, and their checksums too."""
    out = io.BytesIO()
    data = bytearray(file.getvalue())
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        for entry in old.infolist():
            entry.CRC = None
            with old.open(entry) as content:
                content._expected_crc = None
                new.writestr(entry.filename, change(entry.filename, content.read()))
    out.seek(0)
    return out


def test_truncated_files_are_refused() -> None:
    whole = saved(minitorch, things(minitorch)["model"]).getvalue()
    for size in [*range(0, len(whole), 97), len(whole) - 1]:
        with pytest.raises(EXPECTED, match=r"\w+"):
            minitorch.load(io.BytesIO(whole[:size]))


def test_damaged_bytes_are_noticed_or_harmless() -> None:
    value = {"w": minitorch.arange(40.0), "n": 3}
    whole = saved(minitorch, value).getvalue()
    generator = np.random.default_rng(0)
    for _ in range(300):
        damaged = bytearray(whole)
        damaged[generator.integers(len(whole))] ^= int(generator.integers(1, 256))
        try:
            loaded = minitorch.load(io.BytesIO(damaged))
        except EXPECTED:
            continue
        assert loaded["w"].tolist() == value["w"].tolist()
        assert loaded["n"] == 3


def test_damaged_pickles_are_refused_or_plain() -> None:
    whole = saved(minitorch, things(minitorch)["model"])
    generator = np.random.default_rng(0)
    for _ in range(300):

        def damaged(name: str, content: bytes) -> bytes:
            if not name.endswith("data.pkl"):
                return content
            changed = bytearray(content)
            for _ in range(int(generator.integers(1, 4))):
                changed[generator.integers(len(changed))] = generator.integers(256)
            return bytes(changed)

        try:
            minitorch.load(rewritten(whole, damaged))
        except EXPECTED:
            continue


def test_damaged_old_files_are_refused() -> None:
    torch = pytest.importorskip("torch")
    whole = saved(torch, things(torch)["model"], _use_new_zipfile_serialization=False).getvalue()
    for size in [*range(0, len(whole), 97), len(whole) - 1]:
        with pytest.raises(EXPECTED, match=r"\w+"):
            minitorch.load(io.BytesIO(whole[:size]))


def test_other_files_are_refused() -> None:
    for content in (
        b"",
        b"hello, this is text",
        pickle.dumps([1, 2]),
        b"\x80\x02",
        b"\x00" * 100,
        b"PK\x03\x04" + b"x" * 50,
    ):
        with pytest.raises(EXPECTED, match=r"\w+"):
            minitorch.load(io.BytesIO(content))
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("readme.txt", "hello")
    archive.seek(0)
    with pytest.raises(RuntimeError, match=r"no data\.pkl"):
        minitorch.load(archive)


# -- hostile files -----------------------------------------------------------------------------------------------------
def with_pickle(structure: bytes, compression: int = zipfile.ZIP_STORED, **entries: bytes) -> io.BytesIO:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        archive.writestr("archive/data.pkl", structure)
        archive.writestr("archive/version", b"3\n")
        for name, content in entries.items():
            archive.writestr(f"archive/data/{name.strip('_')}", content)
    file.seek(0)
    return file


ran: list[Any] = []


def exploit(what: str) -> None:
    ran.append(what)


class Exploit:
    def __reduce__(self) -> Any:
        return exploit, ("code of the file",)


def tensor_of(
    size: bytes, numel: bytes = b"K\x04", offset: bytes = b"K\x00", stride: bytes = b"K\x01\x85", key: bytes = b"0"
) -> bytes:
    """The pickle of a tensor of storage 0, with parts of it given as opcodes."""
    storage = (
        b"(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x00"
        + key
        + b"X\x03\x00\x00\x00cpu"
        + numel
        + b"tQ"
    )
    call = b"ctorch._utils\n_rebuild_tensor_v2\n("
    return b"\x80\x02" + call + storage + offset + size + stride + b"\x89ccollections\nOrderedDict\n)RtR."


HOSTILE: dict[str, bytes] = {
    "code": pickle.dumps(Exploit(), 2),
    "code in a list": pickle.dumps([1, {"a": Exploit()}], 2),
    "system": b"\x80\x02cposix\nsystem\nX\x04\x00\x00\x00true\x85R.",
    "eval": b"\x80\x02c__builtin__\neval\nX\x01\x00\x00\x001\x85R.",
    "attribute of something allowed": b"\x80\x04\x8c\x0bcollections\x8c\x14OrderedDict.fromkeys\x93]\x85R.",
    "instance by its class": b"(iposix\nsystem\n.",
    "class by call": b"\x80\x02(cbuiltins\nexec\nX\x01\x00\x00\x001o.",
    "extension": b"\x82\x01.",
    "state of a tensor": tensor_of(b"K\x04\x85")[:-1] + b"}X\x06\x00\x00\x00_arrayK\x01sb.",
    "slots of a tensor": tensor_of(b"K\x04\x85")[:-1] + b"N}X\x06\x00\x00\x00_arrayK\x01s\x86b.",
    "beyond its memory": tensor_of(b"K\x05\x85"),
    "beyond by offset": tensor_of(b"K\x04\x85", offset=b"K\x01"),
    "before its memory": tensor_of(b"K\x02\x85", offset=b"J\xff\xff\xff\xff"),
    "negative stride": tensor_of(b"K\x04\x85", stride=b"J\xff\xff\xff\xff\x85"),
    "negative size": tensor_of(b"J\xff\xff\xff\xff\x85"),
    "other dimensions": tensor_of(b"K\x02K\x02\x86"),
    "size of a wrong type": tensor_of(b"G\x40\x00\x00\x00\x00\x00\x00\x00\x85"),
    "huge memory": tensor_of(b"K\x04\x85", numel=b"\x8a\x06\x00\x00\x00\x00\x00\x10"),
    "missing memory": tensor_of(b"K\x04\x85", key=b"7"),
    "memory elsewhere": tensor_of(b"K\x04\x85", key=b"/"),
    "huge bytearray": b"\x80\x02cbuiltins\nbytearray\n\x8a\x06\x00\x00\x00\x00\x00\x10\x85R.",
    "huge text": b"\x80\x04\x8d\x00\x00\x00\x00\x00\x10\x00\x00abc.",
    "huge bytes": b"\x80\x04\x8e\x00\x00\x00\x00\x00\x10\x00\x00abc.",
    "huge bytearray by opcode": b"\x80\x05\x96\x00\x00\x00\x00\x00\x10\x00\x00abc.",
    "huge memo": b"\x80\x02]r\xff\xff\xff\x7f0h\x00.",
    "huge frame": b"\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\x7f]",
    "no end": b"\x80\x02]",
    "empty stack": b"\x80\x020.",
    "unknown opcode": b"\x80\x02\xfe.",
    "dtype that there is not": b"\x80\x02X\x07\x00\x00\x00storage0(X\x07\x00\x00\x00storagectorch\nBFloat16Storage\n"
    b"X\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x04tQ.",
    "call of a tensor": tensor_of(b"K\x04\x85")[:-1] + b"K\x01\x85R.",
    "call of a number": b"\x80\x02K\x01K\x02\x85R.",
    "codec": b"\x80\x02c_codecs\nencode\nX\x01\x00\x00\x00aX\x04\x00\x00\x00zlib\x86R.",
    "new of a function": b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n)\x81.",
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.skipif(sys.platform == "win32", reason="limits its own memory")
def test_hostile_files_are_refused(name: str) -> None:
    import resource

    ran.clear()
    file = with_pickle(HOSTILE[name], _0=np.arange(4, dtype=np.float32).tobytes())
    limits = resource.getrlimit(resource.RLIMIT_AS)
    used = (
        int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() if os.path.exists("/proc") else 0
    )
    if used:
        resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 28), limits[1]))  # a huge allocation would fail
    try:
        with pytest.raises(EXPECTED[:2], match=r"\w+"):
            minitorch.load(file)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)
    assert not ran


def test_the_exploit_would_work_in_a_trusting_reader() -> None:
    ran.clear()
    minitorch.load(with_pickle(HOSTILE["code"]), weights_only=False)
    assert ran == ["code of the file"]
    ran.clear()


def test_archives_that_unpack_to_more_than_they_are_get_refused() -> None:
    file = with_pickle(tensor_of(b"K\x04\x85"), zipfile.ZIP_DEFLATED, _0=b"\x00" * 10_000_000)
    with pytest.raises(RuntimeError, match="compressed"):
        minitorch.load(file)


def test_deep_structures_do_not_crash() -> None:
    depth = 100_000
    value = minitorch.load(with_pickle(b"\x80\x02" + b"]" * (depth + 1) + b"a" * depth + b"."))
    for _ in range(depth):
        (value,) = value


def test_a_tensor_larger_than_the_file_by_expansion_is_a_view() -> None:
    loaded = minitorch.load(
        with_pickle(tensor_of(b"\x8a\x06\x00\x00\x00\x00\x00\x10\x85", stride=b"K\x00\x85"), _0=b"\x00" * 16)
    )
    assert tuple(loaded.shape) == (1 << 44,)
    assert loaded[12345].item() == 0.0


# -- names -------------------------------------------------------------------------------------------------------------
class Settings:
    def __init__(self, rate: float) -> None:
        self.rate = rate


def test_further_names_are_allowed_by_the_user() -> None:
    file = saved(minitorch, {"settings": Settings(0.5)})
    with pytest.raises(pickle.UnpicklingError, match=r"Settings.*add_safe_globals"):
        minitorch.load(file)
    with serialization.safe_globals([Settings]):
        file.seek(0)
        assert minitorch.load(file)["settings"].rate == 0.5
    assert serialization.get_safe_globals() == []
    serialization.add_safe_globals([(Settings, "elsewhere.Other")])
    try:
        assert _reader._names.allowed("elsewhere", "Other") is Settings
    finally:
        serialization.clear_safe_globals()
