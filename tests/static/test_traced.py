"""Traced functions and compiled training steps give bit for bit what they give as they are written."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import minitorch as torch
from minitorch import nn, static
from minitorch._op import rows
from minitorch.nn import functional as F
from replays import CHOICES, DRAWS, LAYERS, LOSSES, Case
from samples import all_samples
from samples.sample import Sample

SAMPLES = [
    pytest.param(case, id=f"{name}-{i}")
    for name, cases in sorted(all_samples().items())
    for i, case in enumerate(cases)
    # those samples make generators of their own, with which a program goes on; "copy" takes an array out on the way
    if "generator" not in rows[name].params and name != "copy"
]
FUNCTIONS = [
    pytest.param(case, id=name) for family in (CHOICES, LOSSES, LAYERS, DRAWS) for name, case in family.items()
]


def leaves(out: Any) -> list[Any]:
    if isinstance(out, torch.Tensor):
        return [out]
    return [leaf for part in out for leaf in leaves(part)] if isinstance(out, (tuple, list)) else []


def same(found: Any, wanted: Any) -> None:
    for a, b in zip(leaves(found), leaves(wanted), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy())


def shuffled(arrays: Any, seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.permutation(np.array(a).reshape(-1)).reshape(np.shape(a)) for a in arrays]


def tensors(arrays: Any) -> list[Any]:
    return [torch.from_numpy(np.array(a)) for a in arrays]


def agree(call: Any, arrays: Any) -> None:
    """A traced call on other values, twice."""
    torch.manual_seed(0)
    program = static.trace(call, *tensors(arrays), quiet=True)
    assert len(program.variants) == 1, program.notes
    for seed in (1, 2):
        others = shuffled(arrays, seed)
        torch.manual_seed(seed)
        try:
            wanted = call(*tensors(others))
        except (RuntimeError, ValueError, IndexError):
            continue  # values that the operation refuses
        torch.manual_seed(seed)
        same(program(*tensors(others)), wanted)
    assert [note for note in program.notes if "shares memory" not in note] == []


@pytest.mark.parametrize("case", SAMPLES)
def test_samples(case: Sample) -> None:
    agree(lambda *inputs: case.call(torch, *inputs), case.inputs)


@pytest.mark.parametrize("case", FUNCTIONS)
def test_public_functions(case: Case) -> None:
    agree(*case)


# -- training steps ----------------------------------------------------------------------------------------------------
def mlp() -> Any:
    return nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 3))


def convolutional() -> Any:
    return nn.Sequential(
        nn.Unflatten(1, (1, 2)),
        nn.Conv1d(1, 4, 2),
        nn.BatchNorm1d(4),
        nn.GELU(),
        nn.Dropout(0.3),
        nn.Flatten(),
        nn.Linear(4, 3),
    )


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rnn, self.out = nn.LSTM(1, 5, batch_first=True), nn.Linear(5, 3)

    def forward(self, x: Any) -> Any:
        return self.out(self.rnn(x.unsqueeze(-1))[0][:, -1])


class Attending(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.layer = nn.Linear(1, 8), nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.out = nn.Linear(8, 3)

    def forward(self, x: Any) -> Any:
        return self.out(self.layer(self.up(x.unsqueeze(-1))).mean(1))


OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "SGD": lambda ps: torch.optim.SGD(ps, lr=0.1),
    "momentum": lambda ps: torch.optim.SGD(ps, lr=0.05, momentum=0.9, weight_decay=0.01),
    "Adam": lambda ps: torch.optim.Adam(ps, lr=0.01),
}


def training(model: Any, make: Any, ways: tuple[str, ...]) -> Callable[..., Any]:
    optimizer = make(model.parameters())
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)

    def step(x: Any, y: Any) -> Any:
        if "zero in place" in ways:
            optimizer.zero_grad(set_to_none=False)
        else:
            optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y, ignore_index=2)
        loss.backward()
        if "clipped" in ways:
            nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()
        if "scheduled" in ways:
            scheduler.step()
        return loss

    return step


def batches(count: int) -> Iterator[tuple[Any, Any]]:
    rng = np.random.default_rng(3)
    for _ in range(count):
        yield torch.tensor(rng.normal(size=(6, 2)).astype(np.float32)), torch.tensor(rng.integers(0, 3, 6))


def compare(model: Any, make: Any, *ways: str) -> static.Traced:
    """Train twins, one compiled: losses, parameters, buffers, gradients are the same after each step."""
    twin = copy.deepcopy(model)
    eager, compiled = training(model, make, ways), static.compile(training(twin, make, ways), quiet=True)
    for number, (x, y) in enumerate(batches(8)):
        torch.manual_seed(number)
        wanted = eager(x, y)
        torch.manual_seed(number)
        same(compiled(x, y), wanted)
        same([*twin.parameters(), *twin.buffers()], [*model.parameters(), *model.buffers()])
        same([p.grad for p in twin.parameters()], [p.grad for p in model.parameters()])
    return compiled


@pytest.mark.parametrize("model", [mlp, convolutional, Recurrent, Attending])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_training_step_is_the_eager_one(model: Any, optimizer: str) -> None:
    torch.manual_seed(0)
    compiled = compare(model(), OPTIMIZERS[optimizer])
    assert len(compiled.variants) == 1
    assert compiled.notes == []


@pytest.mark.parametrize("way", ["zero in place", "clipped", "scheduled"])
def test_ways_to_write_a_step(way: str) -> None:
    torch.manual_seed(0)
    compiled = compare(mlp(), OPTIMIZERS["momentum"], way)
    assert 1 <= len(compiled.variants) <= 3


def test_gradients_that_are_added_up_outside() -> None:
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    step = static.compile(lambda x: (w * x).sum().backward(), quiet=True)
    for _ in range(2):
        w.grad = None
        for number in range(3):
            step(torch.tensor([1.0, float(number)]))
        assert w.grad.tolist() == [3.0, 3.0]


def test_a_value_that_leaves_after_a_step_has_it_run_as_it_is_written() -> None:
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.5)

    def step(x: Any) -> float:
        optimizer.zero_grad()
        loss = (w * x).sum()
        loss.backward()
        optimizer.step()
        return loss.item() + 1

    compiled = static.compile(step, quiet=True)
    assert [compiled(torch.ones(2)) for _ in range(3)] == [4.0, 3.0, 2.0]
    assert "item()" in compiled.notes[0]
    assert len(compiled.notes) == 1
    closed = static.compile(lambda x: optimizer.step(lambda: (w * x).sum()), quiet=True)
    assert closed(torch.ones(2)).item() == 0.0
    assert "closure" in closed.notes[0]


# -- guards ------------------------------------------------------------------------------------------------------------
def test_branches_and_shapes_are_traced_anew_and_kept(capsys: pytest.CaptureFixture[str]) -> None:
    def f(x: Any, double: bool = False) -> Any:
        y = x * 2 if double else x
        return y + 1 if x.sum() > 0 else y - 1

    program = static.trace(f, torch.ones(2))
    for value, wanted in ((1.0, 2.0), (-1.0, -2.0), (3.0, 4.0), (-4.0, -5.0)):
        assert program(torch.full((2,), value)).tolist() == [wanted] * 2
    assert len(program.variants) == 2
    assert program(torch.ones(3)).shape == (3,)
    assert program(torch.ones(2), double=True).tolist() == [3.0, 3.0]
    assert program(torch.ones(3) * 2).tolist() == [3.0] * 3
    assert len(program.variants) == 4
    said = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in said] == ["f", "f", "f"]
    assert "branch" in said[0]
    assert said[1:] == [
        "f: x has shape (3,), and had (2,): traced anew",
        "f: arguments of another number or structure than before: traced anew",
    ]


def test_too_many_ways_run_as_they_are_written() -> None:
    program = static.compile(lambda x: x * x.sum().item(), quiet=True)
    for number in range(20):
        assert program(torch.tensor([float(number)])).item() == number**2
    assert "ways" in program.notes[-1]


def test_what_was_captured_is_live_and_guarded() -> None:
    layer = nn.Linear(2, 2)
    program = static.compile(layer, quiet=True)
    x = torch.ones(1, 2)
    with torch.no_grad():
        same(program(x), layer(x))
        layer.weight.mul_(2)
        layer.bias.data = torch.tensor([5.0, 6.0])
        same(program(x), layer(x))
        layer.bias = None
        layer.register_parameter("bias", nn.Parameter(torch.zeros(2)))
    assert len(program.variants) == 1


def test_training_and_evaluation_are_different_programs() -> None:
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Dropout())
    program, x = static.compile(model, quiet=True), torch.randn(4, 2)
    torch.manual_seed(0)
    program(x)
    model.eval()
    with torch.no_grad():
        same(program(x), model(x))
        same(program(x), model(x))


def test_gradients_go_back_through_a_program() -> None:
    x, w = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([3.0, 4.0], requires_grad=True)
    program = static.trace(lambda x: (x * w).exp().sum() / 100, x)
    for _ in range(2):
        found = torch.autograd.grad(program(x), [x, w])
        same(found, torch.autograd.grad((x * w).exp().sum() / 100, [x, w]))
    same(program.gradients()(x), torch.autograd.grad((x * w).exp().sum() / 100, [x]))
    with pytest.raises(RuntimeError, match="requires grad"):
        program.gradients()(x.detach())


# -- memory and passes -------------------------------------------------------------------------------------------------
def test_writes_views_and_results_that_are_arguments() -> None:
    total = torch.zeros(3)

    def f(x: Any) -> Any:
        buffer = torch.zeros(2, 3)
        buffer[0] = x
        row = buffer[1]
        row += x * 2
        total.add_(x)
        return buffer, row, x, total

    program, x = static.trace(f, torch.ones(3)), torch.tensor([1.0, 2.0, 3.0])
    version = total._version
    for number in (1, 2):
        buffer, row, again, same_total = program(x)
        assert buffer.tolist() == [[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]]
        assert row.data_ptr() == buffer[1].data_ptr()
        assert again is x
        assert same_total is total
        assert total.tolist() == [1.0 + number, 1.0 + 2 * number, 1.0 + 3 * number]
        assert total._version == version + number


def test_passes_change_no_bit() -> None:
    rng = np.random.default_rng(0)
    x = torch.tensor(rng.normal(size=(40, 30)).astype(np.float32))

    def f(x: Any) -> Any:
        unused = x.exp() @ x.t()
        y = ((x * 2).tanh() + 1).clone() * x
        z = y.view(-1)[::2]
        y = (y + 3).relu()
        return unused.shape[0] + y.sum(0), z.sigmoid()

    wanted = f(x)
    programs = [
        static.trace(f, x, passes=passes) for passes in ((), ("dead code",), ("no copies",), ("reuse",), static.PASSES)
    ]
    for program in programs:
        same(program(x), wanted)
        same(program(x), wanted)
    counts = [len(program.variants[0].plan.instructions) for program in programs]
    assert counts[1] == counts[0] - 3
    assert "matmul" in str(programs[0]) or "mm" in str(programs[0])
    assert "exp" not in str(programs[-1])
    assert programs[3].variants[0].plan.into


def test_random_numbers_are_drawn_afresh() -> None:
    program = static.trace(lambda x: x + torch.randn(3), torch.zeros(3))
    torch.manual_seed(0)
    first = torch.randn(3)
    torch.manual_seed(0)
    same(program(torch.zeros(3)), first)
    assert not torch.equal(program(torch.zeros(3)), first)


def test_a_custom_function() -> None:
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * 3 * x**2

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    program = static.trace(lambda x: torch.autograd.grad(Cube.apply(x).sum(), x)[0], x)
    assert program(torch.tensor([2.0, 3.0], requires_grad=True)).tolist() == [12.0, 27.0]


def test_a_step_by_hand_reads_the_gradient_that_is_there() -> None:
    w = torch.tensor([1.0, 2.0], requires_grad=True)

    def update() -> None:
        with torch.no_grad():
            w.sub_(w.grad)

    compiled = static.compile(update, quiet=True)
    for number in (1.0, 2.0, 3.0):
        before = w.detach().clone()
        w.grad = torch.full((2,), number)
        compiled()
        assert (before - w).tolist() == [number, number]
    data = torch.zeros(2, requires_grad=True)

    def assigned(x: Any) -> Any:
        data.data = data.data + x
        return data * 1

    again = static.compile(assigned, quiet=True)
    with torch.no_grad():
        assert [again(torch.ones(2)).tolist() for _ in range(3)] == [[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]
    assert data.tolist() == [3.0, 3.0]


class Wrapping(nn.Module):
    """A module that compiles a method of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.body = static.compile(self.doubled, quiet=True)

    def doubled(self, x: Any) -> Any:
        return self.layer(x) * 2

    def forward(self, x: Any) -> Any:
        return self.body(x)


@static.compile
def halved(x: Any) -> Any:
    return x / 2


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_copies_begin_without_programs(copied: Any) -> None:
    x = torch.ones(1, 2)
    for module in (Wrapping(), static.compile(nn.Linear(2, 2), quiet=True)):
        with torch.no_grad():
            wanted = module(x)
            other = copied(module)
            assert torch.equal(other(x), wanted)
            next(iter(other.parameters())).add_(1)
            assert not torch.equal(other(x), wanted)
            assert torch.equal(module(x), wanted)
    halved(x)
    assert copied(halved) is halved


def test_a_compiled_model_has_the_models_attributes() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5))
    compiled = static.compile(model, quiet=True)
    assert list(compiled.state_dict()) == ["0.weight", "0.bias"]
    assert [p is q for p, q in zip(compiled.parameters(), model.parameters())] == [True, True]
    for same in (compiled.eval(), compiled.to(torch.float64).float(), compiled.requires_grad_(False)):
        assert same is compiled
    assert torch.equal(compiled(torch.ones(1, 2)), compiled.eval()(torch.ones(1, 2)))
    assert len(compiled.variants) == 1
    assert not model.training
    with pytest.raises(AttributeError, match="'Sequential' object has no attribute 'wieght'"):
        _ = compiled.wieght


class Within(nn.Module):
    """A module of which a part is compiled."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.head = static.compile(nn.Linear(2, 3), quiet=True), nn.Linear(3, 1)

    def forward(self, x: Any) -> Any:
        return self.head(self.body(x))


def test_a_compiled_model_is_a_part_of_others() -> None:
    names = ["body.weight", "body.bias", "head.weight", "head.bias"]
    model = Within()
    assert [name for name, _ in model.named_parameters()] == list(model.state_dict()) == names
    model.eval()
    assert not model.body.training
    optimizer, before = torch.optim.SGD(model.parameters(), lr=0.1), model.body.weight.detach().clone()
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    assert not torch.equal(model.body.weight, before)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert torch.equal(other(torch.ones(1, 2)), model(torch.ones(1, 2)))
        assert other.body.function is not model.body.function
    assert isinstance(nn.Sequential(model.body, nn.Tanh())[0], nn.Linear)
    assert not isinstance(static.compile(lambda x: x), nn.Module)
