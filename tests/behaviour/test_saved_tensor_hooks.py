"""Hooks that pack and unpack the values saved for backward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from backend import torch

graph = torch.autograd.graph
FREED = "after they have already been freed"


def leaf(*values: float) -> Any:
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


def grad_of(output: Any, x: Any, **options: Any) -> Any:
    (grad,) = torch.autograd.grad(output.sum(), x, **options)
    return grad.tolist()


def identity(value: Any) -> Any:
    return value


def logging_hooks(log: list[Any]) -> Any:
    """Hooks that keep values as they are and note ("pack" or "unpack", value)."""

    def pack(t: Any) -> Any:
        log.append(("pack", t.tolist()))
        return t

    def unpack(t: Any) -> Any:
        log.append(("unpack", t.tolist()))
        return t

    return graph.saved_tensors_hooks(pack, unpack)


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x, None)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        x, nothing = ctx.saved_tensors
        assert nothing is None
        return 2 * x * grad


def test_pack_runs_in_forward_and_unpack_whenever_backward_reads() -> None:
    a, log = leaf(1.0, 2.0), []
    with logging_hooks(log):
        y = a.exp().log()
    exp = a.detach().exp().tolist()
    assert log == [("pack", exp), ("pack", exp)]
    log.clear()
    y.sum().backward(retain_graph=True)
    assert log == [("unpack", exp), ("unpack", exp)]
    y.sum().backward()
    assert log == [("unpack", exp)] * 4


def test_each_saved_operand_is_packed() -> None:
    a, b, log = leaf(1.0, 2.0), leaf(3.0, 4.0), []
    with logging_hooks(log):
        y = a * b
        y = a / b
    assert sorted(log) == [("pack", [1.0, 2.0])] * 2 + [("pack", [3.0, 4.0])] * 2
    assert y.requires_grad


@pytest.mark.parametrize(
    ("operation", "packed"),
    [
        (lambda a, c: a + c, []),
        (lambda a, c: a * c, [[3.0, 4.0]]),
        (lambda a, c: c * a, [[3.0, 4.0]]),
        (lambda a, c: a * 5, []),
        (lambda a, c: a / 5, []),
        (lambda a, c: -a, []),
        (lambda a, c: a.sum(), []),
        (lambda a, c: a.mean(), []),
        (lambda a, c: a[0], []),
        (lambda a, c: a.view(2, 1).t(), []),
        (lambda a, c: torch.cat([a, c]), []),
        (lambda a, c: c * c, []),
        (lambda a, c: a.detach().exp(), []),
        (lambda a, c: a**2, [[1.0, 2.0]]),
        (lambda a, c: a / c, [[3.0, 4.0]]),
        (lambda a, c: torch.dot(a, c), [[3.0, 4.0]]),
    ],
)
def test_only_what_a_needed_gradient_reads_is_packed(operation: Callable[[Any, Any], Any], packed: list[Any]) -> None:
    log: list[Any] = []
    with logging_hooks(log):
        operation(leaf(1.0, 2.0), torch.tensor([3.0, 4.0], dtype=torch.float64))
    assert [value for _, value in log] == packed


def test_nothing_is_packed_under_no_grad_or_outside() -> None:
    a, log = leaf(1.0, 2.0), []
    with logging_hooks(log), torch.no_grad():
        a * a
    a * a
    assert not log


def test_gradient_uses_what_unpack_returns() -> None:
    a = leaf(1.0, 2.0)
    with graph.saved_tensors_hooks(lambda t: t * 2, identity):
        y = a * a
    assert y.tolist() == [1.0, 4.0]
    assert grad_of(y, a) == [4.0, 8.0]
    with graph.saved_tensors_hooks(lambda t: "anything", lambda _: torch.tensor([4.0, 5.0], dtype=torch.float64)):
        y = a**3
    assert grad_of(y, a) == [48.0, 75.0]


def test_values_may_be_saved_on_disk(tmp_path: Any) -> None:
    files: list[Any] = []

    def pack(t: Any) -> Any:
        files.append(tmp_path / f"{len(files)}.npy")
        np.save(files[-1], t.detach().numpy())
        return files[-1]

    a = leaf(1.0, 2.0)
    with graph.saved_tensors_hooks(pack, lambda path: torch.from_numpy(np.load(path))):
        y = (a * a).exp()
    assert len(files) == 3
    e = torch.tensor([1.0, 4.0], dtype=torch.float64).exp().tolist()
    assert grad_of(y, a) == pytest.approx([2 * e[0], 4 * e[1]])


def test_values_may_be_saved_in_another_dtype_or_as_arrays() -> None:
    a = leaf(1.5, 2.25)
    with graph.saved_tensors_hooks(lambda t: t.detach().float(), lambda t: t.double()):
        y = a * a
    assert grad_of(y, a) == [3.0, 4.5]
    with graph.saved_tensors_hooks(lambda t: t.detach().numpy().copy(), torch.from_numpy):
        y = a * a
    assert grad_of(y, a) == [3.0, 4.5]


def test_double_backward_through_hooks() -> None:
    a = leaf(2.0, 3.0)
    with graph.saved_tensors_hooks(identity, identity):
        y = a * a * a
    (first,) = torch.autograd.grad(y.sum(), a, create_graph=True)
    assert first.tolist() == [12.0, 27.0]
    assert grad_of(first, a) == [12.0, 18.0]


def test_hooks_around_backward_pack_what_create_graph_saves() -> None:
    a, log = leaf(2.0, 3.0), []
    y = a * a
    with logging_hooks(log):
        (first,) = torch.autograd.grad(y.sum(), a, create_graph=True)
    assert log
    assert {kind for kind, _ in log} == {"pack"}
    assert grad_of(first, a) == [2.0, 2.0]


def test_grad_mode_inside_hooks() -> None:
    a, modes = leaf(1.0, 2.0), []
    with graph.saved_tensors_hooks(
        lambda t: (modes.append(("pack", torch.is_grad_enabled())), t)[1],
        lambda t: (modes.append(("unpack", torch.is_grad_enabled())), t)[1],
    ):
        y = a.sin()
    torch.autograd.grad(y.sum(), a, retain_graph=True)
    torch.autograd.grad(y.sum(), a, create_graph=True)
    assert modes == [("pack", False), ("unpack", False), ("unpack", True)]


def test_pack_gets_the_input_itself_or_the_recorded_result() -> None:
    a, seen = leaf(1.0, 2.0), []
    with graph.saved_tensors_hooks(lambda t: (seen.append((t.requires_grad, t.is_leaf)), t)[1], identity):
        a.sin()
        a.exp()
    assert seen == [(True, True), (True, False)]


def test_only_the_innermost_pair_runs() -> None:
    a, outer, inner = leaf(1.0, 2.0), [], []
    with logging_hooks(outer):
        first = a.sin()
        with logging_hooks(inner):
            second = a.cos()
        third = a.tan()
    assert (len(outer), len(inner)) == (2, 1)
    (first + second + third).sum().backward()
    assert (len(outer), len(inner)) == (4, 2)


def test_hooks_stop_with_their_context_also_after_an_exception() -> None:
    a, log = leaf(1.0, 2.0), []
    with pytest.raises(KeyError), logging_hooks(log):
        raise KeyError
    a.sin()
    assert not log


@pytest.mark.parametrize(("result", "name"), [(3, "int"), (None, "NoneType"), ("text", "str"), ([], "list")])
def test_unpack_must_return_a_tensor(result: Any, name: str) -> None:
    a = leaf(1.0, 2.0)
    with graph.saved_tensors_hooks(identity, lambda _: result):
        y = a * a
    message = f"Output of saved tensor unpack_hook expected to be a Tensor but got result of type {name}"
    with pytest.raises(TypeError, match=message):
        y.sum().backward()


def test_exceptions_of_hooks_reach_the_caller() -> None:
    def fail(_: Any) -> Any:
        raise LookupError("mine")

    a = leaf(1.0, 2.0)
    with graph.saved_tensors_hooks(fail, identity), pytest.raises(LookupError, match="mine"):
        a * a
    with graph.saved_tensors_hooks(identity, fail):
        y = a * a
    with pytest.raises(LookupError, match="mine"):
        y.sum().backward()
    assert grad_of(a * a, a) == [2.0, 4.0]


@pytest.mark.parametrize(
    "pack", [lambda t: t.mul_(2), lambda t: t.detach().add_(1), lambda t: t.zero_(), lambda t: t[0].fill_(1)]
)
def test_pack_may_not_modify_its_argument(pack: Callable[[Any], Any]) -> None:
    y = leaf(1.0, 2.0) * 1
    with (
        graph.saved_tensors_hooks(pack, identity),
        pytest.raises(RuntimeError, match=r"A saved tensor pack hook is modifying its input in place\."),
    ):
        y * y


def test_copying_hooks_make_later_writes_harmless() -> None:
    a = leaf(1.0, 2.0)
    y = a * 1
    with graph.saved_tensors_hooks(lambda t: t.clone(), identity):
        z = y * y
    y.add_(100)
    assert grad_of(z, a) == [2.0, 4.0]


def test_hooks_can_be_disabled() -> None:
    a = leaf(1.0, 2.0)
    hooks = graph.saved_tensors_hooks(identity, identity)
    with graph.disable_saved_tensors_hooks("no hooks here"), pytest.raises(RuntimeError, match="no hooks here"), hooks:
        pass
    on_cpu = graph.save_on_cpu()
    with graph.disable_saved_tensors_hooks("none"), pytest.raises(RuntimeError, match="none"), on_cpu:
        pass
    with hooks:
        y = a * a
    assert grad_of(y, a) == [2.0, 4.0]


def test_innermost_message_of_disabled_hooks_counts() -> None:
    def enter() -> None:
        with graph.saved_tensors_hooks(identity, identity):
            pass

    with graph.disable_saved_tensors_hooks("outer"):
        with graph.disable_saved_tensors_hooks("inner"), pytest.raises(RuntimeError, match="inner"):
            enter()
        with pytest.raises(RuntimeError, match="outer"):
            enter()
    enter()


def test_hooks_may_not_be_disabled_while_active() -> None:
    with (
        graph.saved_tensors_hooks(identity, identity),
        pytest.raises(RuntimeError, match="not now"),
        graph.disable_saved_tensors_hooks("not now"),
    ):
        pass


def test_disabling_works_as_decorator() -> None:
    @graph.disable_saved_tensors_hooks("decorated")
    def enter() -> None:
        with graph.saved_tensors_hooks(identity, identity):
            pass

    with pytest.raises(RuntimeError, match="decorated"):
        enter()


def test_save_on_cpu_gives_the_same_gradients() -> None:
    a, b = leaf(1.0, 2.0), leaf(3.0, 4.0)
    expected = [g.tolist() for g in torch.autograd.grad(((a * b).exp() * a).sum(), (a, b))]
    with graph.save_on_cpu():
        y = (a * b).exp() * a
    got = torch.autograd.grad(y.sum(), (a, b))
    assert [g.tolist() for g in got] == expected


def test_values_saved_by_custom_functions_go_through_hooks() -> None:
    a, log = leaf(1.0, 2.0), []
    with logging_hooks(log):
        y = Square.apply(a)
    assert log == [("pack", [1.0, 2.0])]
    assert grad_of(y, a) == [2.0, 4.0]
    assert log == [("pack", [1.0, 2.0]), ("unpack", [1.0, 2.0])]


def test_custom_function_reads_what_unpack_returns() -> None:
    a = leaf(1.0, 2.0)
    with graph.saved_tensors_hooks(lambda t: t * 10, identity):
        y = Square.apply(a)
    assert grad_of(y, a) == [20.0, 40.0]


def test_saved_tensors_of_custom_function_are_freed_by_backward() -> None:
    a = leaf(1.0, 2.0)
    y = Square.apply(a)
    node = y.grad_fn
    saved, nothing = node.saved_tensors
    assert saved.tolist() == [1.0, 2.0]
    assert nothing is None
    y.sum().backward(retain_graph=True)
    assert node.saved_tensors[0].tolist() == [1.0, 2.0]
    y.sum().backward()
    with pytest.raises(RuntimeError, match=FREED):
        _ = node.saved_tensors


@pytest.mark.parametrize(
    ("operation", "name"),
    [(lambda a: a * a, "_saved_self"), (lambda a: a.exp(), "_saved_result"), (lambda a: a.sin(), "_saved_self")],
)
def test_saved_values_of_operations_are_freed_by_backward(operation: Callable[[Any], Any], name: str) -> None:
    y = operation(leaf(1.0, 2.0))
    assert len(getattr(y.grad_fn, name)) == 2
    y.sum().backward()
    with pytest.raises(RuntimeError, match=FREED):
        getattr(y.grad_fn, name)


def test_hooks_on_one_saved_value() -> None:
    a, log = leaf(1.0, 2.0), []
    y = a * a
    y.grad_fn._raw_saved_self.register_hooks(
        lambda t: (log.append("pack"), t.detach() * 10)[1], lambda t: (log.append("unpack"), t)[1]
    )
    assert log == ["pack"]
    assert y.grad_fn._saved_self.tolist() == [10.0, 20.0]
    assert log == ["pack", "unpack"]
    assert grad_of(y, a) == [11.0, 22.0]
    assert log == ["pack", "unpack", "unpack"]


def test_hooks_on_one_saved_value_are_refused_when_they_make_no_sense() -> None:
    a = leaf(1.0, 2.0)
    y = a * a
    raw = y.grad_fn._raw_saved_self
    raw.register_hooks(identity, identity)
    with pytest.raises(RuntimeError, match="whose hooks have already been set"):
        raw.register_hooks(identity, identity)
    other = y.grad_fn._raw_saved_other
    y.sum().backward()
    with pytest.raises(RuntimeError, match="Calling register_hooks on a saved tensor after it has been freed"):
        other.register_hooks(identity, identity)
    z = a * torch.ones(2)
    with pytest.raises(RuntimeError, match="Calling register_hooks on a saved tensor with value None is forbidden"):
        z.grad_fn._raw_saved_self.register_hooks(identity, identity)
    with pytest.raises(TypeError):
        (a * a).grad_fn._raw_saved_self.register_hooks(identity, 3)


def test_hooks_must_be_callable() -> None:
    with pytest.raises(TypeError), graph.saved_tensors_hooks(1, 2):
        pass


def test_a_node_called_by_hand_unpacks_what_it_saved() -> None:
    x = leaf(1.0, 2.0)
    with graph.saved_tensors_hooks(lambda t: t * 1, lambda t: t * 2):
        y, z = x**2, x.exp()
    ones = torch.ones(2, dtype=torch.float64)
    for _ in range(2):
        assert y.grad_fn(ones).tolist() == [4.0, 8.0]
        assert z.grad_fn(ones).tolist() == (2 * x.exp()).tolist()


@pytest.mark.parametrize(
    ("function", "count"),
    [
        (torch.linalg.inv, 1),
        (lambda a: sum(t.sum() for t in torch.linalg.qr(a)), 2),
        (lambda a: sum((t * t).sum() for t in torch.linalg.eigh(a)), 4),
        (lambda a: torch.linalg.svd(a)[1], 3),
        (lambda a: torch.linalg.cholesky(a), 1),
    ],
    ids=["inv", "qr", "eigh", "svd", "cholesky"],
)
def test_results_that_are_kept_together_are_packed(function, count):
    def derivatives(leaf):
        out = function(leaf).sum()
        (first,) = torch.autograd.grad(out, leaf, create_graph=True)
        (second,) = torch.autograd.grad((first * first).sum(), leaf)
        return first.detach(), second

    matrix = torch.tensor([[3.0, 1.0], [1.0, 2.0]], dtype=torch.float64)
    plain = derivatives(matrix.clone().requires_grad_())
    packed, unpacked = [], []

    def pack(tensor):
        packed.append(tuple(tensor.shape))
        return tensor.detach().numpy().copy()  # none of the tensor's own memory

    def unpack(array):
        unpacked.append(array.shape)
        return torch.from_numpy(array)

    leaf = matrix.clone().requires_grad_()
    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        out = function(leaf).sum()
    assert len(packed) >= count
    (gradient,) = torch.autograd.grad(out, leaf, retain_graph=True)
    (again,) = torch.autograd.grad(out, leaf)
    assert len(unpacked) == 2 * len(packed)
    assert torch.allclose(gradient, plain[0])
    assert torch.allclose(again, plain[0])
    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        both = derivatives(matrix.clone().requires_grad_())
    assert torch.allclose(both[0], plain[0])
    assert torch.allclose(both[1], plain[1])


def test_what_the_unpack_hook_returns_for_one_of_several_results_is_used():
    leaf = torch.tensor([[3.0, 1.0], [1.0, 2.0]], dtype=torch.float64, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: 2 * t):
        inverse = torch.linalg.inv(leaf)
    (gradient,) = torch.autograd.grad(inverse.sum(), leaf)
    (expected,) = torch.autograd.grad(torch.linalg.inv(leaf).sum(), leaf)
    assert torch.allclose(gradient, 4 * expected)
