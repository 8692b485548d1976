"""What a compiled function writes into what was there before has the history, and the version, that eager code gives it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import minitorch as torch
from minitorch import nn, static
from minitorch._pytree import tree_flatten

CALLS = 5


def sqrt_into(a: Any, p: Any) -> None:
    """A custom function that writes into its argument."""

    class Sqrt(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, a: Any, p: Any) -> Any:
            a.copy_(a.abs().sqrt() * p)
            ctx.mark_dirty(a)
            ctx.save_for_backward(p)
            return a

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return None, g * ctx.saved_tensors[0]

    Sqrt.apply(a, p)


def quietly(function: Callable[..., Any], *args: Any) -> None:
    """Call a function whose result is not returned."""
    function(*args)


def part_of_transposed(a: Any, p: Any) -> None:
    a.view(1, -1).t()[1:].mul_(p[1:].view(-1, 1))


def through_a_twin(a: Any, p: Any) -> None:
    a.detach().mul_(p.detach())


def a_row_twice(a: Any, p: Any) -> None:
    a[0] = p[0] * p[1]
    a[0] *= 2


WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "add_": lambda a, p: a.add_(p),
    "mul_": lambda a, p: a.mul_(p),
    "sub_ by the row's parameter": lambda a, p: a.sub_(p, alpha=2),
    "copy_": lambda a, p: a.copy_(p * 2),
    "copy_ of another dtype": lambda a, p: a.copy_((p * 2).double()),
    "setitem": lambda a, p: a.__setitem__(slice(None), p.exp()),
    "one item": lambda a, p: a.__setitem__(1, p[0]),
    "of a mask": lambda a, p: a.__setitem__(torch.tensor([True, False, True]), p[:2]),
    "of indices": lambda a, p: a.__setitem__(torch.tensor([2, 0]), p[:2]),
    "index_add_": lambda a, p: a.index_add_(0, torch.tensor([0, 0, 2]), p),
    "scatter_": lambda a, p: a.scatter_(0, torch.tensor([2, 1, 0]), p),
    "masked_fill_": lambda a, p: a.masked_fill_(torch.tensor([True, False, True]), p.sum()),
    "addcmul_": lambda a, p: a.addcmul_(p, p),
    "lerp_": lambda a, p: a.lerp_(p, 0.25),
    "fill_": lambda a, p: a.fill_(p.sum()),
    "clamp_ after it": lambda a, p: a.mul_(p).clamp_(-1, 1),
    "its own values": lambda a, p: a.add_(a * p),
    "a view's part": lambda a, p: a[1:].add_(p[1:]),
    "a view of views": part_of_transposed,
    "chunks": lambda a, p: a.unbind(0) and a.narrow(0, 0, 2).copy_(p[:2]),
    "a row twice": a_row_twice,
    "a custom function": sqrt_into,
    "under no_grad": torch.no_grad()(lambda a, p: a.add_(p)),
    "of what is detached": lambda a, p: a.add_(p.detach()),
    "a detached twin": through_a_twin,
    "zero_": lambda a, p: a.zero_(),
    "written, then overwritten without": lambda a, p: (a.add_(p), a.zero_()),
    "with gradients inside no_grad": torch.no_grad()(lambda a, p: torch.enable_grad()(a.mul_)(p)),
}


def whole(base: Any) -> Any:
    return base[0].clone().detach()


def in_a_dict(base: Any) -> Any:
    return {"state": [base[1].clone(), (base[0].clone(),)]}


def a_view(base: Any) -> Any:
    return base[0]


def an_unrecorded_view(base: Any) -> Any:
    with torch.no_grad():
        return base[1]


def of_several_views(base: Any) -> Any:
    return base.unbind(0)[0]


def base_and_view(base: Any) -> Any:
    flat = base.view(-1)[:3]
    return [flat, flat[0:2]]


ARGUMENTS = [whole, in_a_dict, a_view, an_unrecorded_view, of_several_views, base_and_view]


def tensors_in(tree: Any) -> list[Any]:
    return [t for t in tree_flatten(tree)[0] if isinstance(t, torch.Tensor)]


def seen(tensor: Any) -> Any:
    """What code can ask of a tensor."""
    try:
        requires, node = tensor.requires_grad, type(tensor.grad_fn).__name__
    except RuntimeError as error:
        requires, node = str(error), ""
    return requires, node, tensor._version, tensor.detach().numpy().tobytes()


def attempt(function: Callable[[], Any]) -> str:
    """What an error says, but for the node that it names."""
    try:
        function()
    except RuntimeError as error:
        return str(error).partition(" (")[0]
    return ""


def history(step: Callable[[Any], Any], make: Callable[[Any], Any], leaf: Any, modes: Any) -> Iterator[Any]:
    """What calls leave: in their arguments, in what those are views of, and as gradients that go back through them."""
    for call in range(CALLS):
        leaf.grad = None
        base = torch.arange(6.0).view(2, 3) + call
        given = make(base)
        yield modes(call, leaf)
        with torch.set_grad_enabled(modes(call, leaf)):
            yield attempt(lambda: step(given))
        tensors = [base, *tensors_in(given)]
        yield [seen(t) for t in tensors]
        needs = [t for t in tensors if seen(t)[0] is True]
        yield attempt(lambda: sum([(t * t).sum() for t in needs]).backward()) if needs else ""
        yield None if leaf.grad is None else leaf.grad.numpy().tobytes()


def always(call: int, leaf: Any) -> bool:
    return True


def grad_mode_at_some(call: int, leaf: Any) -> bool:
    return call in (1, 2, 4)


def required_later(call: int, leaf: Any) -> bool:
    leaf.requires_grad_(call >= 2)
    return True


def required_first(call: int, leaf: Any) -> bool:
    leaf.requires_grad_(call < 2)
    return True


MODES = [always, grad_mode_at_some, required_later, required_first]


@pytest.mark.parametrize("modes", MODES)
@pytest.mark.parametrize("make", ARGUMENTS)
@pytest.mark.parametrize("name", WRITES)
def test_arguments_have_the_history_that_eager_code_gives_them(name: str, make: Any, modes: Any) -> None:
    write = WRITES[name]

    def calls(wrap: Callable[[Any], Any]) -> list[Any]:
        p = torch.tensor([0.5, -1.5, 2.0], requires_grad=True)

        def step(given: Any) -> Any:
            for tensor in tensors_in(given)[:1]:
                write(tensor, p)

        return list(history(wrap(step), make, p, modes))

    assert calls(lambda step: static.compile(step, quiet=True)) == calls(lambda step: step)


@pytest.mark.parametrize("modes", MODES)
@pytest.mark.parametrize("name", WRITES)
def test_another_argument_gives_the_history(name: str, modes: Any) -> None:
    write = WRITES[name]

    def calls(wrap: Callable[[Any], Any]) -> list[Any]:
        p = torch.tensor([0.5, -1.5, 2.0], requires_grad=True)
        step = wrap(lambda a, b: quietly(write, a, b))
        return list(history(lambda given: step(given, p), whole, p, modes))

    assert calls(lambda step: static.compile(step, quiet=True)) == calls(lambda step: step)


@pytest.mark.parametrize("place", [whole, a_view, an_unrecorded_view])
@pytest.mark.parametrize("detached", [False, True])
@pytest.mark.parametrize("name", WRITES)
def test_tensors_from_outside_do_as_well(name: str, detached: bool, place: Any) -> None:
    write = WRITES[name]

    def calls(wrap: Callable[[Any], Any]) -> Iterator[Any]:
        p = torch.tensor([0.5, -1.5, 2.0], requires_grad=True)
        base = torch.arange(6.0).view(2, 3)
        state = place(base)
        step = wrap(lambda x: quietly(write, state, p * x))
        for call in range(CALLS):
            p.grad = None
            if detached and not attempt(state.detach_):
                yield seen(state)
            yield attempt(lambda: step(torch.tensor([1.0, 2.0, call])))
            yield seen(base), seen(state)
            if base.requires_grad or seen(state)[0] is True:
                yield attempt(lambda: (base.sum() + state.sum()).backward(retain_graph=True))
            yield None if p.grad is None else p.grad.numpy().tobytes()

    assert list(calls(lambda step: static.compile(step, quiet=True))) == list(calls(lambda step: step))


# -- the function's own backward pass ----------------------------------------------------------------------------------
def training(write: Callable[[Any, Any], Any], p: Any) -> Callable[[Any], Any]:
    optimizer = torch.optim.SGD([p], lr=0.05, momentum=0.9)

    def step(given: Any) -> Any:
        optimizer.zero_grad()
        a = tensors_in(given)[0]
        write(a, p * p)
        loss = (a * a * p).sum()
        if loss.requires_grad:
            loss.backward()
        optimizer.step()
        return loss.detach()

    return step


@pytest.mark.parametrize("make", ARGUMENTS)
@pytest.mark.parametrize("name", WRITES)
def test_a_step_with_its_own_backward_leaves_a_used_up_history(name: str, make: Any) -> None:
    def calls(wrap: Callable[[Any], Any]) -> list[Any]:
        p = torch.tensor([0.5, -1.5, 2.0], requires_grad=True)
        found = list(history(wrap(training(WRITES[name], p)), make, p, always))
        return [*found, p.detach().numpy().tobytes()]

    assert calls(lambda step: static.compile(step, quiet=True)) == calls(lambda step: step)


def test_such_a_step_is_a_program() -> None:
    p = torch.tensor([0.5, -1.5, 2.0], requires_grad=True)
    step = static.compile(training(lambda a, q: a.mul_(q.exp()), p))
    for _ in range(4):
        x = torch.ones(3)
        step(x)
        assert x.requires_grad
        assert x.grad_fn.name() == "MulBackward0"
        with pytest.raises(RuntimeError, match="backward through the graph a second time"):
            x.sum().backward()
    assert [variant.runs for variant in step.variants] == [3]
    assert not step.notes


def test_outside_a_tensor_that_is_detached_before_each_call_is_written_by_a_program() -> None:
    encoder, state = nn.Linear(3, 3), torch.zeros(2, 3)
    optimizer = torch.optim.SGD(encoder.parameters(), lr=0.1)

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        state.copy_(encoder(x).exp())
        loss = state.square().mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    compiled = static.compile(step)
    for _ in range(4):
        state.detach_()
        compiled(torch.ones(2, 3))
        assert state.requires_grad
    assert [variant.runs for variant in compiled.variants] == [3]


# -- what is said ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("into", [torch.zeros(3), torch.zeros(2, 3)[0]])
def test_it_is_said_why_the_function_runs_itself(into: Any, capsys: Any) -> None:
    p = torch.ones(3, requires_grad=True)
    f = static.compile(lambda x: quietly(x.add_, p))
    with contextlib.suppress(RuntimeError):
        f(into)
    assert len(f.notes) == 1
    assert "what it writes into an argument" in f.notes[0]
    assert "leads back to what requires grad" in capsys.readouterr().out


def test_writes_of_values_alone_are_programs() -> None:
    p = torch.ones(3, requires_grad=True)
    for write in (torch.no_grad()(lambda x: quietly(x.add_, p)), lambda x: quietly(x.add_, p.detach())):
        f = static.compile(write)
        for _ in range(3):
            f(torch.zeros(3))
        assert [variant.runs for variant in f.variants] == [2]
        assert not f.notes


# -- views that a write into what they show has given a history ---------------------------------------------------------
def test_a_view_whose_root_was_written_since_requires_grad() -> None:
    p = torch.full((3,), 2.0, requires_grad=True)
    step = static.compile(lambda v: quietly(v.mul_, 3), quiet=True)
    total = static.compile(lambda v: (v * v).sum(), quiet=True)
    for _ in range(3):  # programs for what requires no grad
        step(torch.ones(2, 3)[0])
        total(torch.ones(2, 3)[0])
    for _ in range(2):
        p.grad = None
        base = torch.ones(2, 3)
        view = base[0]
        base.mul_(p)
        step(view)
        assert view.requires_grad
        assert base.requires_grad
        total(view).backward()
        assert p.grad.tolist() == [36.0] * 3


def test_outside_such_a_view_does_as_well() -> None:
    p = torch.full((3,), 2.0, requires_grad=True)
    base = torch.ones(2, 3)
    view = base[0]
    total = static.compile(lambda x: (view * x).sum(), quiet=True)
    for _ in range(3):
        assert not total(torch.ones(3)).requires_grad
    base.mul_(p)
    total(torch.ones(3)).backward()
    assert p.grad.tolist() == [1.0] * 3


def test_a_view_of_a_leaf_is_refused_as_in_eager_code() -> None:
    step = static.compile(lambda v: quietly(v.mul_, 3))
    for _ in range(3):
        step(torch.ones(2, 3)[0])
    with torch.no_grad():
        view = torch.ones(2, 3, requires_grad=True)[0]
    with pytest.raises(RuntimeError, match="A view was created in no_grad mode"):
        step(view)


# -- versions ----------------------------------------------------------------------------------------------------------
def batch_norm() -> tuple[Any, Callable[[Any], Any], list[Any]]:
    model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(x: Any) -> None:
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()

    return model, step, list(model.state_dict(keep_vars=True).values())


def instance_norm() -> tuple[Any, Callable[[Any], Any], list[Any]]:
    model = nn.InstanceNorm1d(2, affine=True, track_running_stats=True)

    def step(x: Any) -> None:
        with torch.no_grad():
            model(x[:, :2].t().unsqueeze(0))

    return model, step, list(model.buffers())


def through_data() -> tuple[Any, Callable[[Any], Any], list[Any]]:
    model = nn.Linear(3, 2)

    def step(x: Any) -> None:
        for p in model.parameters():
            p.data.sub_(0.1)
            p.detach().mul_(0.5)

    return model, step, list(model.parameters())


def of_both_kinds() -> tuple[Any, Callable[[Any], Any], list[Any]]:
    model = nn.BatchNorm1d(3)

    def step(x: Any) -> None:
        with torch.no_grad():
            model(x)
        model.running_mean.mul_(0.5).add_(1)

    return model, step, list(model.buffers())


@pytest.mark.parametrize("make", [batch_norm, instance_norm, through_data, of_both_kinds])
def test_versions_count_the_writes_that_they_count_in_eager_code(make: Any) -> None:
    def calls(wrap: Callable[[Any], Any]) -> list[Any]:
        torch.manual_seed(0)
        _, step, tensors = make()
        step, found = wrap(step), []
        for _ in range(4):
            step(torch.randn(4, 3))
            found.append([t._version for t in tensors])
        return found

    compiled: list[Any] = []
    assert calls(lambda step: compiled.append(static.compile(step)) or compiled[0]) == calls(lambda step: step)
    assert [variant.runs for variant in compiled[0].variants] == [3]


def test_an_older_graph_that_read_running_statistics_can_still_be_gone_through() -> None:
    torch.manual_seed(0)
    model, step, _ = batch_norm()
    step = static.compile(step)
    for _ in range(2):
        step(torch.randn(4, 3))
    model.eval()
    x = torch.randn(4, 2, requires_grad=True)
    loss = model[1](x).sum()
    model.train()
    with torch.no_grad():
        weight = model[1].weight.clone()
    only_statistics = static.compile(lambda x: quietly(torch.no_grad()(model[1]), x))
    for _ in range(3):
        only_statistics(torch.randn(4, 2))
    loss.backward()
    assert torch.equal(model[1].weight, weight)
    assert x.grad is not None
