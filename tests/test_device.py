"""Devices, layouts and memory formats."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import minitorch as torch


@pytest.mark.parametrize(
    ("args", "kind", "index", "text"),
    [
        (("cpu",), "cpu", None, "device(type='cpu')"),
        (("cpu:0",), "cpu", 0, "device(type='cpu', index=0)"),
        (("cuda", 1), "cuda", 1, "device(type='cuda', index=1)"),
        ((torch.device("cuda:2"),), "cuda", 2, "device(type='cuda', index=2)"),
    ],
)
def test_devices(args: Any, kind: str, index: int | None, text: str) -> None:
    device = torch.device(*args)
    assert (device.type, device.index, repr(device)) == (kind, index, text)
    assert torch.device(str(device)) == device
    assert pickle.loads(pickle.dumps(device)) == copy.deepcopy(device) == device
    assert hash(torch.device(str(device))) == hash(device)


def test_equality() -> None:
    assert torch.device("cpu") != torch.device("cpu:0")
    assert torch.device("cpu") != "cpu"


@pytest.mark.parametrize(
    ("args", "error", "message"),
    [
        (("foo",), RuntimeError, "Expected one of cpu, cuda, .* device string: foo"),
        (("cpu:x",), RuntimeError, "Invalid device string: 'cpu:x'"),
        (("cpu:01",), RuntimeError, "Invalid device string"),
        ((0,), RuntimeError, "accelerator"),
        ((None,), TypeError, "must be str or torch.device, not NoneType"),
    ],
)
def test_names_that_are_none(args: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        torch.device(*args)


@pytest.mark.parametrize(
    ("device", "error"),
    [
        ("cuda", AssertionError),
        (torch.device("cuda:1"), AssertionError),
        ("xpu", AssertionError),
        ("mps", NotImplementedError),
        (0, RuntimeError),
        (1.5, TypeError),
    ],
)
def test_others_are_refused_on_use(device: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        torch.ones(2, device=device)


def test_the_default_device_is_the_cpu() -> None:
    torch.set_default_device("cpu")
    assert torch.get_default_device() == torch.device("cpu")
    with torch.device("cpu"):
        assert torch.zeros(1).device == torch.device("cpu")
    with pytest.raises(AssertionError, match="CUDA"):
        torch.set_default_device("cuda")
    with pytest.raises(AssertionError, match="CUDA"), torch.device("cuda"):
        pass


def test_no_cuda() -> None:
    assert not torch.cuda.is_available()
    assert torch.cuda.device_count() == 0
    torch.cuda.manual_seed_all(0)
    with pytest.raises(AssertionError, match="CUDA"):
        torch.cuda.synchronize()


def test_layouts_and_memory_formats() -> None:
    assert repr(torch.strided) == "torch.strided"
    assert isinstance(torch.strided, torch.layout)
    assert isinstance(torch.channels_last, torch.memory_format)
    assert pickle.loads(pickle.dumps(torch.contiguous_format)) is torch.contiguous_format
    with pytest.raises(TypeError, match="layout, not str"):
        torch.zeros(2, layout="strided")


def test_numbers_of_devices_are_not_negative() -> None:
    with pytest.raises(RuntimeError, match="Device index must not be negative"):
        torch.device("cpu", -1)


@pytest.mark.parametrize(
    "use",
    [
        lambda: copy.deepcopy(torch.nn.Linear(2, 2)).to("meta"),
        lambda: torch.zeros(2, device="meta"),
        lambda: torch.nn.Linear(2, 2, device="meta"),
        lambda: torch.nn.Linear(2, 2).to_empty(device="meta"),
    ],
)
def test_the_meta_device_names_what_to_do_without_it(use: Any) -> None:
    with pytest.raises(
        NotImplementedError, match=r"leave \.to\('meta'\) out; torch\.nn\.utils\.skip_init\(cls, \.\.\.\)"
    ):
        use()
    with pytest.raises(NotImplementedError, match=r"device='cpu'$"):
        torch.zeros(2, device="mps")


def test_an_ensemble_needs_no_meta_device() -> None:
    models = [torch.nn.Linear(3, 2) for _ in range(4)]
    parameters, buffers = torch.func.stack_module_state(models)
    base = torch.nn.utils.skip_init(torch.nn.Linear, 3, 2)
    x = torch.ones(5, 3)
    out = torch.vmap(lambda p, b: torch.func.functional_call(base, (p, b), x))(parameters, buffers)
    assert torch.allclose(out, torch.stack([model(x) for model in models]))
