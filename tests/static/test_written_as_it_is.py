"""What is written is what a call would do now, on arguments that are tensors of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minitorch as torch
from minitorch import nn, onnx, static
from written import loaded

ONES = np.ones(3, np.float32)


@pytest.fixture
def load(tmp_path: Path) -> Any:
    def load(program: Any, *args: Any, **kwargs: Any) -> Any:
        """The function of a module that was written, and its text."""
        path = tmp_path / "model.py"
        program.to_python(path, *args, **kwargs)
        module = loaded(path)
        names = [n for n in ("forward", "weighted", "run") if hasattr(module, n)]
        return getattr(module, names[0]), path.read_text()

    return load


def weighted(a: Any, b: Any) -> Any:
    return a * 2 + b


# -- one tensor as several arguments -----------------------------------------------------------------------------------
@pytest.mark.parametrize("axes", [None, {"a": {0: "n"}, "b": {0: "n"}}])
def test_one_tensor_given_twice(load: Any, axes: Any) -> None:
    x = torch.ones(3)
    run, _ = load(static.trace(weighted, x, x, quiet=True), axes)
    assert run(ONES, 5 * ONES).tolist() == [7.0, 7.0, 7.0]


def test_one_tensor_twice_in_a_list(load: Any) -> None:
    x = torch.ones(3)
    run, _ = load(static.trace(lambda pair: pair[0] * 2 + pair[1], [x, x], quiet=True))
    assert run([ONES, 5 * ONES]).tolist() == [7.0, 7.0, 7.0]


def test_attention_of_one_tensor(load: Any) -> None:
    torch.manual_seed(0)
    model, x = nn.MultiheadAttention(8, 2).eval(), torch.randn(5, 3, 8)
    run, _ = load(static.trace(model, x, x, x, quiet=True))
    q, k, v = [torch.randn(5, 3, 8) for _ in range(3)]
    for found, wanted in zip(run(q.numpy(), k.numpy(), v.numpy()), model(q, k, v)):
        assert np.array_equal(found, wanted.detach().numpy())


def test_products_whose_kernels_know_one_tensor(load: Any) -> None:
    x = torch.randn(30, 30)
    run, _ = load(static.trace(lambda q, k: q @ k.T, x, x, quiet=True))
    q, k = torch.randn(30, 30), torch.randn(30, 30)
    assert np.array_equal(run(q.numpy(), k.numpy()), (q @ k.T).numpy())


def test_a_weight_as_an_argument(load: Any) -> None:
    layer, x = nn.Linear(3, 3), torch.ones(3)
    run, _ = load(static.trace(lambda w, x: w @ x + layer.weight.sum(), layer.weight, x, quiet=True))
    wanted = torch.eye(3) @ x + layer.weight.sum()
    assert np.array_equal(run(np.eye(3, dtype=np.float32), ONES), wanted.detach().numpy())


@pytest.mark.parametrize("first_apart", [False, True])
def test_calls_with_one_tensor_and_with_two(load: Any, first_apart: bool) -> None:
    x, y = torch.ones(3), torch.zeros(3)
    compiled = static.compile(weighted, quiet=True)
    for other in (y, x) if first_apart else (x, y):
        compiled(x, other)
    run, text = load(compiled)
    assert run(ONES, 5 * ONES).tolist() == [7.0, 7.0, 7.0]
    assert text.count("def weighted") == 1


def test_a_graph_that_is_fed_one_array_twice(load: Any) -> None:
    x, y = static.placeholder("x"), static.placeholder("y")
    run, _ = load(static.Executor(x * 2 + y), {x: ONES, y: ONES})
    assert run(ONES, 5 * ONES)[0].tolist() == [7.0, 7.0, 7.0]


def test_functions_that_ask_whether_they_are_one(load: Any) -> None:
    x = torch.ones(3)
    program = static.trace(lambda a, b: a if a is b else b * 2, x, x, quiet=True)
    with pytest.raises(RuntimeError, match="gives other numbers where two of its arguments are one tensor"):
        load(program)
    layer = nn.Linear(3, 1)
    program = static.trace(lambda w: w * 2 if w is layer.weight else w, layer.weight, quiet=True)
    with pytest.raises(RuntimeError, match="gives other numbers where two of its arguments are one tensor"):
        load(program)


def test_a_large_example_that_is_gone(load: Any) -> None:
    compiled = static.compile(weighted, quiet=True)
    x = torch.ones(300_000)
    compiled(x, x)
    del x
    with pytest.raises(RuntimeError, match="was traced for one tensor as several arguments, and the example is gone"):
        load(compiled)
    compiled(torch.ones(3), torch.zeros(3))
    run, _ = load(compiled)
    assert run(ONES, 5 * ONES).tolist() == [7.0, 7.0, 7.0]


# -- what has changed --------------------------------------------------------------------------------------------------
class Scaled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.k = 2.0

    def forward(self, x: Any) -> Any:
        return x * self.k


def test_another_parameter(load: Any) -> None:
    layer, x = nn.Linear(1, 1, bias=False), torch.ones(1, 1)
    program = static.trace(layer, x, quiet=True)
    layer.weight = nn.Parameter(torch.full((1, 1), 9.0))
    assert load(program)[0](x.numpy()).tolist() == [[9.0]]
    layer.load_state_dict({"weight": torch.full((1, 1), 7.0)}, assign=True)
    assert load(program)[0](x.numpy()).tolist() == [[7.0]]
    assert program(x).tolist() == [[7.0]]


@pytest.mark.parametrize("axes", [None, {"input": {0: "n"}}])
def test_another_module_or_attribute(load: Any, axes: Any) -> None:
    model, x = nn.Sequential(nn.Linear(2, 2), nn.ReLU()), torch.ones(3, 2)
    program = static.trace(model, x, quiet=True)
    model[1] = nn.Tanh()
    run, text = load(program, axes)
    assert np.array_equal(run(x.numpy()), model(x).detach().numpy())
    assert "tanh" in text
    assert "maximum" not in text
    scaled = Scaled()
    program = static.trace(scaled, torch.ones(3), quiet=True)
    scaled.k = 5.0
    assert load(program)[0](ONES).tolist() == [5.0, 5.0, 5.0]


def test_programs_of_different_times(load: Any) -> None:
    scaled = Scaled()
    compiled = static.compile(scaled, quiet=True)
    compiled(torch.ones(3))
    scaled.k = 5.0
    compiled(torch.ones(4))
    run, _ = load(compiled)
    assert run(ONES).tolist() == [5.0] * 3
    assert run(np.ones(4, np.float32)).tolist() == [5.0] * 4


def test_what_fails_by_now(load: Any) -> None:
    scaled = Scaled()
    program = static.trace(scaled, torch.ones(3), quiet=True)
    scaled.k = torch.ones(2)  # type: ignore[assignment]
    with pytest.raises(RuntimeError, match="was traced before what it reads changed, and fails now: RuntimeError"):
        load(program)


@pytest.mark.parametrize("recorded", [True, False])
def test_a_call_in_training_mode_before(load: Any, recorded: bool) -> None:
    torch.manual_seed(0)
    model, x = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2), nn.Dropout()), torch.randn(4, 2)
    compiled = static.compile(model, quiet=True)
    with torch.set_grad_enabled(recorded):
        compiled(x)
        model.eval()
        compiled(x)
    run, text = load(compiled)
    assert np.array_equal(run(x.numpy()), model(x).detach().numpy())
    assert text.count("def forward") == 1


def test_statistics_are_left_alone(load: Any) -> None:
    model, x = nn.BatchNorm1d(2).eval(), torch.randn(4, 2)
    program = static.trace(model, x, quiet=True)
    model.train()
    before = model.running_mean.clone()
    with pytest.raises(RuntimeError, match="put the model in eval mode"):
        load(program)
    assert torch.equal(model.running_mean, before)


# -- gradients within --------------------------------------------------------------------------------------------------
class Force(nn.Module):
    """The gradient of an energy."""

    def __init__(self) -> None:
        super().__init__()
        self.energy = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))

    def forward(self, x: Any) -> Any:
        x = x.detach().requires_grad_()
        return torch.autograd.grad(self.energy(x).sum(), x)[0]


@pytest.mark.parametrize("asked", [False, True])
def test_models_that_differentiate(load: Any, asked: bool) -> None:
    model = Force()
    x = torch.randn(4, 2, requires_grad=asked)
    function = model if not asked else lambda x: torch.autograd.grad(model.energy(x).sum(), x)[0]
    run, _ = load(static.trace(function, x, quiet=True), {"x": {0: "n"}})
    for size in (1, 2, 7):
        z = torch.randn(size, 2)
        assert np.array_equal(run(z.numpy()), model(z).numpy())


def test_models_that_differentiate_as_onnx() -> None:
    runtime = pytest.importorskip("onnxruntime")
    model = Force()
    program = onnx.export(model, (torch.randn(4, 2),), dynamic_axes={"x": {0: "n"}})
    session = runtime.InferenceSession(program.model_proto.SerializeToString())
    z = torch.randn(7, 2)
    assert np.allclose(session.run(None, {"x": z.numpy()})[0], model(z).numpy(), 1e-5, 1e-6)
    assert all(p.grad is None for p in model.parameters())


# -- how arrays lie in memory ------------------------------------------------------------------------------------------
def diagonal(x: Any) -> Any:
    return x.as_strided((2,), (3,)) * 2


@pytest.mark.parametrize("turned", [False, True])
def test_what_shows_memory_asks_how_an_array_lies(load: Any, turned: bool) -> None:
    rows = np.arange(4, dtype=np.float32).reshape(2, 2)
    like, other = (rows.T, rows) if turned else (rows, rows.T)
    run, _ = load(static.trace(lambda x: x.as_strided((2,), (1,)) * 2, torch.from_numpy(like), quiet=True))
    assert run(like).tolist() == [0.0, 2.0]
    with pytest.raises(
        ValueError, match=r"as_strided\(\) shows the memory of x, which must have its axes in the order"
    ):
        run(other)


def test_memory_with_gaps_is_not_shown(load: Any) -> None:
    program = static.trace(diagonal, torch.arange(8.0)[::2], quiet=True)
    with pytest.raises(RuntimeError, match=r"shows the memory of x, which has gaps: give x.contiguous\(\)"):
        load(program)


def test_a_training_step_is_not_taken_again(load: Any) -> None:
    w = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)

    def step(x: Any) -> Any:
        loss = (w * x).sum()
        loss.backward()
        optimizer.step()
        return loss

    compiled = static.compile(step, quiet=True)
    compiled(torch.ones(2))
    before = w.detach().clone()
    with pytest.raises(RuntimeError, match="changes more than the tensors that it returns"):
        load(compiled)
    assert torch.equal(w.detach(), before)
