"""What scripts touch of devices and tools that are not there: answered or refused, as by a CPU build of PyTorch."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import pytest

import minitorch as torch


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("cuda.is_available()", False),
        ("cuda.device_count()", 0),
        ("cuda.is_initialized()", False),
        ("cuda.is_bf16_supported()", False),
        ("cuda.manual_seed(1)", None),
        ("cuda.manual_seed_all(1)", None),
        ("cuda.empty_cache()", None),
        ("cuda.memory_allocated()", 0),
        ("cuda.max_memory_allocated()", 0),
        ("cuda.memory_reserved()", 0),
        ("cuda.memory_stats()", {}),
        ("cuda.get_arch_list()", []),
        ("cuda.get_rng_state_all()", []),
        ("cuda.set_rng_state_all([])", None),
        ("cuda.set_device(-1)", None),
        ("accelerator.is_available()", False),
        ("accelerator.current_accelerator()", None),
        ("accelerator.device_count()", 0),
        ("mps.manual_seed(1)", None),
        ("mps.device_count()", 0),
        ("xpu.is_available()", False),
        ("backends.mps.is_available()", False),
        ("backends.mps.is_built()", False),
        ("backends.cuda.is_built()", False),
        ("backends.cuda.matmul.allow_tf32", False),
        ("backends.cuda.flash_sdp_enabled()", True),
        ("backends.cudnn.is_available()", False),
        ("backends.cudnn.version()", None),
        ("backends.cudnn.enabled", True),
        ("backends.cudnn.benchmark", False),
        ("backends.cudnn.deterministic", False),
        ("backends.opt_einsum.is_available()", False),
        ("is_autocast_enabled()", False),
        ("is_autocast_enabled('cpu')", False),
        ("compiler.is_compiling()", False),
        ("jit.is_scripting()", False),
        ("jit.is_tracing()", False),
        ("nn.DataParallel(torch.nn.Linear(1, 1)).device_ids", []),
    ],
)
def test_answers(path: str, value: object) -> None:
    assert eval(f"torch.{path}") == value
    try:
        pytorch = importlib.import_module("torch")
    except ImportError:
        return
    assert eval(f"torch.{path}", {"torch": pytorch}) == value


@pytest.mark.parametrize(
    ("path", "error", "message"),
    [
        ("cuda.synchronize()", AssertionError, "Torch not compiled with CUDA enabled"),
        ("cuda.init()", AssertionError, "Torch not compiled with CUDA enabled"),
        ("cuda.current_device()", AssertionError, "Torch not compiled with CUDA enabled"),
        ("cuda.get_device_name(0)", AssertionError, "Torch not compiled with CUDA enabled"),
        ("cuda.get_device_properties(0)", AssertionError, "Torch not compiled with CUDA enabled"),
        ("cuda.get_rng_state()", AssertionError, "Torch not compiled with CUDA enabled"),
        ("cuda.initial_seed()", AssertionError, "Torch not compiled with CUDA enabled"),
        ("cuda.Event(enable_timing=True)", RuntimeError, "Event"),
        ("cuda.Stream()", RuntimeError, "torch.cuda.Stream requires CUDA support"),
        ("cuda.FloatTensor(2)", TypeError, "type torch.cuda.FloatTensor not available"),
        ("cuda.device(0).__enter__()", (RuntimeError, AssertionError), "CUDA"),
        ("ones(1).cuda()", AssertionError, "Torch not compiled with CUDA enabled"),
        ("nn.Linear(1, 1).cuda()", AssertionError, "Torch not compiled with CUDA enabled"),
        (
            "accelerator.current_device_index()",
            RuntimeError,
            "Cannot access accelerator device when none is available.",
        ),
        ("accelerator.synchronize()", RuntimeError, "Cannot access accelerator device when none is available."),
        ("accelerator.empty_cache()", RuntimeError, "Cannot access accelerator device when none is available."),
        ("mps.empty_cache()", RuntimeError, "without (the )?MPS backend"),
        ("autocast('foo')", RuntimeError, "Expected one of cpu, cuda"),
        ("autocast(1)", ValueError, "Expected `device_type` of type `str`"),
    ],
)
def test_refusals(path: str, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        eval(f"torch.{path}")
    try:
        pytorch = importlib.import_module("torch")
    except ImportError:
        return
    with pytest.raises(error, match=message):
        eval(f"torch.{path}", {"torch": pytorch})


def test_settings_of_backends_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    from minitorch.backends import cudnn

    assert cudnn is torch.backends.cudnn
    with cudnn.flags(enabled=False, deterministic=True):
        assert (cudnn.enabled, cudnn.deterministic) == (False, True)
    assert (cudnn.enabled, cudnn.deterministic) == (True, False)
    monkeypatch.setattr(cudnn, "benchmark", True)
    assert torch.backends.cudnn.benchmark
    monkeypatch.setattr(torch.backends.cuda.matmul, "allow_tf32", True)
    assert torch.backends.cuda.matmul.allow_tf32
    with pytest.raises(AttributeError):
        torch.backends.cuda.matmul.allow = True
    with pytest.warns(FutureWarning, match="sdp_kernel"), torch.backends.cuda.sdp_kernel(enable_flash=False):
        assert not torch.backends.cuda.flash_sdp_enabled()
    assert torch.backends.cuda.flash_sdp_enabled()


def test_cuda_tensor_types_recognise_nothing() -> None:
    assert not isinstance(torch.ones(1), torch.cuda.FloatTensor)
    assert repr(torch.cuda.LongTensor) == "<class 'torch.cuda.LongTensor'>"
    assert issubclass(torch.cuda.OutOfMemoryError, RuntimeError)
    assert torch.cuda.OutOfMemoryError is torch.OutOfMemoryError


# -- mixed precision ---------------------------------------------------------------------------------------------------
def test_autocast_that_is_asked_for_warns_and_changes_nothing() -> None:
    a = torch.ones(2, 2)
    with torch.autocast("cpu", enabled=False):
        assert (a @ a).dtype is torch.float32
    with pytest.warns(UserWarning, match="Disabling"), torch.autocast("cpu", dtype=torch.bfloat16):
        assert (a @ a).dtype is torch.float32
    with pytest.warns(UserWarning, match="CUDA is not available"):
        context = torch.amp.autocast("cuda")

    @context
    def product(a: Any) -> Any:
        return a @ a

    assert product(a).dtype is torch.float32
    with pytest.warns(FutureWarning, match="deprecated"), torch.cuda.amp.autocast(enabled=False):
        pass


def test_scaler_that_is_asked_for_warns_and_steps() -> None:
    with pytest.warns(UserWarning, match="Disabling"):
        scaler = torch.amp.GradScaler()
    w = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.5)
    scaler.scale(w.sum()).backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    assert w.tolist() == [0.5, 0.5]
    assert (scaler.get_scale(), scaler.state_dict(), scaler.is_enabled()) == (1.0, {}, False)
    with pytest.warns(FutureWarning, match="deprecated"):
        torch.cuda.amp.GradScaler(enabled=False)


def test_custom_function_decorators() -> None:
    def forward(x: Any) -> Any:
        return x

    assert torch.amp.custom_fwd(forward) is forward
    assert torch.amp.custom_fwd(device_type="cuda")(forward) is forward
    assert torch.cuda.amp.custom_bwd(forward) is forward


# -- compilers, profilers, hubs ----------------------------------------------------------------------------------------
def test_compile_and_script_return_what_they_get() -> None:
    model = torch.nn.Linear(2, 1)
    assert torch.compile(model) is model
    assert torch.compile(mode="reduce-overhead")(model) is model
    assert torch.jit.script(model) is model
    assert torch.jit.trace(model, torch.ones(1, 2)) is model
    assert torch.compiler.disable(model.forward) == model.forward
    with pytest.raises(AssertionError, match="A callable function is expected"):
        torch.compile(3)
    with pytest.raises(RuntimeError, match="Unrecognized mode=fast"):
        torch.compile(abs, mode="fast")
    with pytest.raises(NotImplementedError, match="state dict"):
        torch.jit.save(model, "model.pt")
    with pytest.raises(RuntimeError, match="downloads no code"):
        torch.hub.load("pytorch/vision", "resnet18")


def test_profilers_say_that_they_measure_nothing() -> None:
    from minitorch.profiler import ProfilerActivity, profile, record_function

    with profile(activities=[ProfilerActivity.CPU]) as prof, record_function("step"):
        prof.step()
    assert "measures no operations" in prof.key_averages().table(sort_by="cpu_time_total")
    with torch.autograd.profiler.profile() as other:
        pass
    assert "measures no operations" in str(other.key_averages())

    @record_function("named")
    def one() -> int:
        return 1

    assert one() == 1


def test_data_parallel_hands_on() -> None:
    inner = torch.nn.Linear(2, 1)
    model = torch.nn.DataParallel(inner, device_ids=[0])
    x = torch.ones(3, 2)
    assert torch.equal(model(x), inner(x))
    assert torch.equal(torch.nn.parallel.data_parallel(inner, x), inner(x))
    assert list(model.state_dict()) == ["module.weight", "module.bias"]


def test_anomaly_mode_as_a_function() -> None:
    torch.set_anomaly_enabled(True, False)
    assert (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()) == (True, False)
    torch.set_anomaly_enabled(False)
    assert (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()) == (False, True)


# -- processes ---------------------------------------------------------------------------------------------------------
def _report(index: int, queue: Any) -> None:
    queue.put((index, torch.full((2,), float(index))))


def _fail(index: int) -> None:
    if index == 1:
        raise ValueError("number one fails")


def test_spawn() -> None:
    mp = torch.multiprocessing
    queue = mp.get_context("fork").SimpleQueue()
    mp.start_processes(_report, (queue,), nprocs=2, start_method="fork")
    found = dict([queue.get(), queue.get()])
    assert {index: tensor.tolist() for index, tensor in found.items()} == {0: [0.0, 0.0], 1: [1.0, 1.0]}
    with pytest.raises(mp.ProcessRaisedException, match="number one fails"):
        mp.start_processes(_fail, nprocs=2, start_method="fork")
    assert mp.get_sharing_strategy() in mp.get_all_sharing_strategies()


# -- sparse ------------------------------------------------------------------------------------------------------------
def test_sparse_to_dense() -> None:
    values = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    dense = torch.sparse_coo_tensor(torch.tensor([[0, 1, 1], [2, 0, 0]]), values, (2, 3)).to_dense()
    assert dense.tolist() == [[0.0, 0.0, 1.0], [5.0, 0.0, 0.0]]
    (dense * torch.arange(6.0).reshape(2, 3)).sum().backward()
    assert values.grad.tolist() == [2.0, 3.0, 3.0]
    rows = torch.sparse_coo_tensor([[1]], [[1.0, 2.0]])
    assert rows.shape == (2, 2)
    assert rows.to_dense().tolist() == [[0.0, 0.0], [1.0, 2.0]]
    assert rows.is_sparse
    assert torch.sparse_coo_tensor([[0, 1]], [1.0, 2.0], requires_grad=True).requires_grad


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: torch.sparse_coo_tensor([0, 1], [1.0, 2.0]), "indices must be sparse_dim x nnz"),
        (lambda: torch.sparse_coo_tensor([[0, 1]], [1.0, 2.0, 3.0]), "must have same nnz"),
        (lambda: torch.sparse_coo_tensor([[0, -5]], [1.0, 2.0]), "found negative index -5 for dim 0"),
        (lambda: torch.sparse_coo_tensor([[0, 5]], [1.0, 2.0], (3,)), "size is 3 but found index 5"),
        (lambda: torch.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (3, 3)), "does not fit"),
    ],
)
def test_sparse_errors(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        call()
