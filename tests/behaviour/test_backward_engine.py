"""Deep graphs, errors inside backward, and backward inside backward."""

from __future__ import annotations

import weakref
from typing import Any, ClassVar

import pytest

from backend import torch

Function = torch.autograd.Function


def vector(*values: float) -> Any:
    return torch.tensor(values, requires_grad=True)


class AddOne(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x + 1

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g.clone()


class TestDeepGraphs:
    depth = 150_000

    def test_a_chain_of_ops_runs_and_is_freed(self) -> None:
        class Counter:
            calls = 0

            def __call__(self, grad: Any) -> None:
                Counter.calls += 1

        x = torch.tensor(1.0, requires_grad=True)
        y = x + 1
        hook = Counter()
        y.register_hook(hook)
        hook_alive = weakref.ref(hook)
        del hook
        for _ in range(self.depth):
            y = y + 1
        y.backward()
        assert x.grad.item() == 1.0
        assert Counter.calls == 1
        assert hook_alive() is not None
        del y
        assert hook_alive() is None

    def test_a_chain_dropped_without_backward(self) -> None:
        x = torch.tensor(1.0, requires_grad=True)
        y = x
        for _ in range(self.depth):
            y = y * 1.0
        del y
        (x * 2).backward()
        assert x.grad.item() == 2.0

    def test_a_chain_of_custom_functions(self) -> None:
        x = torch.tensor(1.0, requires_grad=True)
        y = x
        for _ in range(self.depth):
            y = AddOne.apply(y)
        y.backward()
        assert x.grad.item() == 1.0
        del y

    def test_a_branching_chain(self) -> None:
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        previous, current = x, x
        for _ in range(self.depth // 2):
            previous, current = current, (previous + current) * 0.5
        current.sum().backward()
        torch.testing.assert_close(x.grad, torch.ones(2))
        del previous, current

    def test_many_branches(self) -> None:
        x = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
        terms = [x * 2.0 for _ in range(10_000)]
        torch.stack(terms).sum().backward()
        assert x.grad.item() == 20_000.0


class Interrupted(Exception):
    pass


class Raises(Function):
    """The identity, whose backward raises ``error`` when there is one."""

    error: BaseException | None = None

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        if Raises.error is not None:
            raise Raises.error
        return g * 1


class TestErrorsInBackward:
    @pytest.mark.parametrize(
        "error", [Interrupted("stop"), ValueError("stop"), KeyError("stop"), ZeroDivisionError("stop")]
    )
    def test_an_exception_keeps_its_type(self, error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Raises, "error", error)
        x = vector(1.0, 2.0)
        with pytest.raises(type(error), match="stop") as caught:
            (Raises.apply(x) * 2).sum().backward()
        assert type(caught.value) is type(error)
        assert x.grad is None

    def test_keyboard_interrupt_passes(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Raises, "error", KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            Raises.apply(vector(1.0)).backward()

    def test_later_calls_work(self, monkeypatch: pytest.MonkeyPatch) -> None:
        x = vector(1.0, 2.0)
        loss = (Raises.apply(x) * x).sum()
        monkeypatch.setattr(Raises, "error", Interrupted())
        with pytest.raises(Interrupted):
            loss.backward(retain_graph=True)
        x.grad = None
        monkeypatch.setattr(Raises, "error", None)
        loss.backward()
        assert x.grad.tolist() == [2.0, 4.0]
        assert torch.is_grad_enabled()

    def test_an_exception_in_a_hook(self) -> None:
        x = vector(1.0, 2.0)
        y = x * 2

        def hook(grad: Any) -> None:
            raise Interrupted("in a hook")

        handle = y.register_hook(hook)
        loss = y.sum()
        with pytest.raises(Interrupted, match="in a hook"):
            loss.backward(retain_graph=True)
        handle.remove()
        loss.backward()
        assert x.grad.tolist() == [2.0, 2.0]

    def test_gradients_that_landed_before_stay(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Raises, "error", Interrupted())
        early, late = vector(1.0), vector(2.0)
        hidden = Raises.apply(early)
        loss = (hidden + late * 3).sum()
        with pytest.raises(Interrupted):
            loss.backward()
        assert late.grad.tolist() == [3.0]
        assert early.grad is None


class Nested(Function):
    """The identity, whose backward runs another backward per level below it."""

    modes: ClassVar[list[bool]] = []

    @staticmethod
    def forward(ctx: Any, x: Any, levels: int, error: Exception | None) -> Any:
        ctx.levels, ctx.error = levels, error
        return x.clone()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        Nested.modes.append(torch.is_grad_enabled())
        if ctx.levels == 0:
            if ctx.error is not None:
                raise ctx.error
            return g, None, None
        with torch.enable_grad():
            inner = torch.ones((), requires_grad=True)
            Nested.apply(inner, ctx.levels - 1, ctx.error).backward()
        Nested.modes.append(torch.is_grad_enabled())
        return g * (inner.grad + 1), None, None


class TestReentrantBackward:
    def test_backward_inside_backward(self) -> None:
        class InnerGradient(Function):
            """x -> x**2, whose derivative is found by a backward of its own."""

            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                with torch.enable_grad():
                    ctx.x = x.detach().requires_grad_()
                    ctx.y = ctx.x * ctx.x
                return ctx.y.detach()

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                ctx.y.backward(g)
                return ctx.x.grad

        x = vector(1.0, 2.0, 3.0)
        (InnerGradient.apply(x) * 2).sum().backward()
        assert x.grad.tolist() == [4.0, 8.0, 12.0]

    def test_both_backwards_reach_one_leaf(self) -> None:
        w = vector(3.0)

        class AlsoUses(Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x.clone()

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                with torch.enable_grad():
                    (w * 10).sum().backward()
                return g * 1

        x = vector(1.0)
        (AlsoUses.apply(x) + w).backward()
        assert x.grad.tolist() == [1.0]
        assert w.grad.tolist() == [11.0]

    def test_grad_mode_is_restored(self) -> None:
        Nested.modes.clear()
        x = torch.tensor(1.0, requires_grad=True)
        Nested.apply(x, 3, None).backward()
        assert x.grad.item() == 4.0
        assert Nested.modes == [False] * 7
        assert torch.is_grad_enabled()

    def test_thousands_of_levels(self) -> None:
        x = torch.tensor(1.0, requires_grad=True)
        Nested.apply(x, 2_000, None).backward()
        assert x.grad.item() == 2_001.0

    @pytest.mark.parametrize("levels", [1, 5, 500])
    def test_errors_pass_outward(self, levels: int) -> None:
        x = torch.tensor(1.0, requires_grad=True)
        loss = Nested.apply(x, levels, Interrupted("innermost"))
        with pytest.raises(Interrupted, match="innermost"):
            loss.backward()
        assert x.grad is None
        assert torch.is_grad_enabled()
        (x * 2).backward()
        assert x.grad.item() == 2.0

    def test_inside_a_hook(self) -> None:
        x, w = vector(1.0), vector(2.0)
        y = x * 3

        def hook(grad: Any) -> Any:
            with torch.enable_grad():
                (w * w).sum().backward()
            return grad * w.grad

        y.register_hook(hook)
        y.backward()
        assert w.grad.tolist() == [4.0]
        assert x.grad.tolist() == [12.0]
