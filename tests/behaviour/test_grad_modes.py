"""no_grad, enable_grad and set_grad_enabled as context managers, functions and decorators."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from backend import torch

Function = torch.autograd.Function
is_on = torch.is_grad_enabled


@pytest.fixture(autouse=True)
def grad_mode_is_on() -> Iterator[None]:
    """Every test starts with the default mode and must leave it."""
    assert is_on()
    yield
    left_on = is_on()
    torch.set_grad_enabled(True)
    assert left_on


def vector(*values: float) -> Any:
    return torch.tensor(values, requires_grad=True)


class TestContextManagers:
    def test_each_sets_its_mode(self) -> None:
        with torch.no_grad():
            assert not is_on()
            with torch.enable_grad():
                assert is_on()
            assert not is_on()
        assert is_on()
        for flag in (True, False):
            with torch.set_grad_enabled(flag):
                assert is_on() is flag
            assert is_on()

    def test_nesting_restores_the_outer_mode(self) -> None:
        with torch.no_grad():
            with torch.no_grad():
                with torch.set_grad_enabled(True):
                    assert is_on()
                    with torch.no_grad():
                        assert not is_on()
                    assert is_on()
                assert not is_on()
            assert not is_on()

    @pytest.mark.parametrize(
        "make",
        [torch.no_grad, torch.enable_grad, lambda: torch.set_grad_enabled(False), lambda: torch.set_grad_enabled(True)],
    )
    @pytest.mark.parametrize("outer", [True, False])
    def test_an_exception_restores_the_outer_mode(self, make: Callable[[], Any], outer: bool) -> None:
        with torch.set_grad_enabled(outer):
            with pytest.raises(KeyError, match="inside"), make():
                raise KeyError("inside")
            assert is_on() is outer

    def test_one_object_serves_several_times_in_turn(self) -> None:
        no_grad = torch.no_grad()
        for _ in range(2):
            with no_grad:
                assert not is_on()
            assert is_on()

    def test_the_mode_by_a_condition(self) -> None:
        x = vector(1.0)
        for training in (True, False):
            with torch.set_grad_enabled(training):
                assert (x * 2).requires_grad is training


class TestPlainCall:
    def test_it_acts_at_once(self) -> None:
        torch.set_grad_enabled(False)
        assert not is_on()
        assert not (vector(1.0) * 2).requires_grad
        torch.set_grad_enabled(True)
        assert is_on()
        assert (vector(1.0) * 2).requires_grad

    def test_inside_a_context_it_lasts_until_the_end(self) -> None:
        with torch.no_grad():
            torch.set_grad_enabled(True)
            assert is_on()
        assert is_on()
        with torch.enable_grad():
            torch.set_grad_enabled(False)
            assert not is_on()
        assert is_on()

    @pytest.mark.parametrize("flag", [1, 0, None, "yes"])
    def test_the_flag_must_be_a_bool(self, flag: object) -> None:
        with pytest.raises(TypeError):
            torch.set_grad_enabled(flag)


class TestDecorators:
    @pytest.mark.parametrize(
        ("decorate", "expected"),
        [
            (lambda f: torch.no_grad()(f), False),
            (lambda f: torch.no_grad(f), False),
            (lambda f: torch.enable_grad()(f), True),
            (lambda f: torch.enable_grad(f), True),
            (lambda f: torch.set_grad_enabled(False)(f), False),
            (lambda f: torch.set_grad_enabled(True)(f), True),
        ],
    )
    @pytest.mark.parametrize("outer", [True, False])
    def test_the_mode_holds_inside_the_function(
        self, decorate: Callable[[Any], Any], expected: bool, outer: bool
    ) -> None:
        function = decorate(is_on_wrapper)
        with torch.set_grad_enabled(outer):
            assert function() is expected
            assert is_on() is outer

    def test_the_syntax(self) -> None:
        @torch.no_grad()
        def evaluate(x: Any, scale: float = 1.0, *, shift: float) -> Any:
            """Doc."""
            return x * scale + shift

        @torch.no_grad
        def evaluate_bare(x: Any) -> Any:
            return x * 2

        out = evaluate(vector(1.0), 3.0, shift=1.0)
        assert out.tolist() == [4.0]
        assert not out.requires_grad
        assert not evaluate_bare(vector(1.0)).requires_grad
        assert evaluate.__name__ == "evaluate"
        assert evaluate.__doc__ == "Doc."

    def test_set_grad_enabled_leaves_the_mode_alone_at_decoration(self) -> None:
        @torch.set_grad_enabled(False)
        def off() -> bool:
            return is_on()

        assert is_on()
        assert not off()
        assert is_on()
        with torch.no_grad():

            @torch.set_grad_enabled(True)
            def on() -> bool:
                return is_on()

            assert not is_on()
            assert on()
            assert not is_on()

    def test_methods_of_all_kinds(self) -> None:
        class Model:
            @torch.no_grad()
            def method(self) -> bool:
                return is_on()

            @staticmethod
            @torch.no_grad()
            def static() -> bool:
                return is_on()

            @classmethod
            @torch.no_grad
            def of_class(cls) -> bool:
                return is_on()

            @property
            @torch.no_grad()
            def value(self) -> bool:
                return is_on()

        model = Model()
        assert (model.method(), model.static(), model.of_class(), model.value) == (False,) * 4
        assert is_on()

    def test_recursion(self) -> None:
        @torch.no_grad()
        def down(n: int) -> list[bool]:
            inner = down(n - 1) if n else []
            return [*inner, is_on()]

        assert down(3) == [False] * 4
        assert is_on()

    def test_an_exception_restores_the_mode(self) -> None:
        @torch.no_grad()
        def fails() -> None:
            raise KeyError("inside")

        with pytest.raises(KeyError, match="inside"):
            fails()
        assert is_on()

    def test_stacked(self) -> None:
        @torch.no_grad()
        @torch.enable_grad()
        def inner_wins() -> bool:
            return is_on()

        assert inner_wins()

    def test_a_lambda(self) -> None:
        assert torch.no_grad()(lambda: is_on())() is False

    def test_on_a_class_it_warns_and_affects_construction_only(self) -> None:
        class Model:
            def __init__(self, value: float) -> None:
                self.value, self.mode = value, is_on()

            def call(self) -> bool:
                return is_on()

        for decorate in (torch.no_grad(), torch.no_grad, torch.set_grad_enabled(False)):
            with torch.enable_grad(), pytest.warns(FutureWarning, match="Decorating classes is deprecated"):
                decorated = decorate(Model)
            torch.set_grad_enabled(True)
            model = decorated(3.0)
            assert model.value == 3.0
            assert model.mode is False
            assert model.call() is True
            assert isinstance(model, Model)


def is_on_wrapper() -> bool:
    return bool(is_on())


class TestGenerators:
    def test_the_mode_holds_in_each_step_only(self) -> None:
        @torch.no_grad()
        def steps() -> Iterator[bool]:
            for _ in range(3):
                yield is_on()

        for inside in steps():
            assert inside is False
            assert is_on()

    def test_without_parentheses_and_with_the_other_modes(self) -> None:
        @torch.no_grad
        def off() -> Iterator[bool]:
            yield is_on()
            yield is_on()

        @torch.enable_grad()
        def on() -> Iterator[bool]:
            yield is_on()
            yield is_on()

        @torch.set_grad_enabled(False)
        def flagged() -> Iterator[bool]:
            yield is_on()
            yield is_on()

        assert list(off()) == [False, False]
        assert list(flagged()) == [False, False]
        with torch.no_grad():
            for inside in on():
                assert inside is True
                assert not is_on()

    def test_send_throw_close_and_return_pass_through(self) -> None:
        log: list[Any] = []

        @torch.no_grad()
        def worker() -> Generator[Any, Any, str]:
            try:
                got = yield "first"
                log.append((got, is_on()))
                try:
                    yield "second"
                except ValueError as error:
                    log.append((str(error), is_on()))
                    yield "caught"
                return "done"
            finally:
                log.append(("closed", is_on()))

        generator = worker()
        assert next(generator) == "first"
        assert generator.send("hello") == "second"
        assert is_on()
        assert generator.throw(ValueError("oops")) == "caught"
        assert is_on()
        with pytest.raises(StopIteration) as stop:
            next(generator)
        assert stop.value.value == "done"
        assert log == [("hello", False), ("oops", False), ("closed", False)]

        log.clear()
        generator = worker()
        next(generator)
        generator.close()
        assert log == [("closed", False)]
        assert is_on()

    def test_yield_from_returns_the_value(self) -> None:
        @torch.no_grad()
        def inner() -> Generator[int, None, str]:
            yield 1
            yield 2
            return "result"

        def outer() -> Generator[int, None, str]:
            return (yield from inner())

        generator = outer()
        assert [next(generator), next(generator)] == [1, 2]
        with pytest.raises(StopIteration) as stop:
            next(generator)
        assert stop.value.value == "result"

    def test_an_uncaught_exception_leaves_the_mode(self) -> None:
        @torch.no_grad()
        def fails() -> Iterator[int]:
            yield 1
            raise KeyError("inside")

        generator = fails()
        next(generator)
        with pytest.raises(KeyError, match="inside"):
            next(generator)
        assert is_on()
        generator = fails()
        next(generator)
        with pytest.raises(ValueError, match="thrown"):
            generator.throw(ValueError("thrown"))
        assert is_on()

    def test_recursion(self) -> None:
        @torch.no_grad()
        def tree(depth: int) -> Iterator[bool]:
            yield is_on()
            if depth:
                for inside in tree(depth - 1):
                    assert not is_on()
                    yield inside
                yield is_on()

        seen = []
        for inside in tree(3):
            assert is_on()
            seen.append(inside)
        assert seen == [False] * 7

    def test_each_step_starts_in_the_decorators_mode(self) -> None:
        @torch.no_grad()
        def alternates() -> Iterator[bool]:
            yield is_on()
            with torch.enable_grad():
                yield is_on()
                yield is_on()
            yield is_on()

        seen = []
        for inside in alternates():
            assert is_on()
            seen.append(inside)
        assert seen == [False, True, False, False]

    def test_two_generators_interleave(self) -> None:
        @torch.no_grad()
        def off() -> Iterator[bool]:
            while True:
                yield is_on()

        @torch.enable_grad()
        def on() -> Iterator[bool]:
            while True:
                yield is_on()

        first, second = off(), on()
        assert [next(g) for g in (first, second, first, first, second)] == [False, True, False, False, True]
        assert is_on()

    def test_batches_from_a_decorated_generator(self) -> None:
        w = vector(2.0)

        @torch.no_grad()
        def batches() -> Iterator[Any]:
            for value in (1.0, 2.0):
                yield torch.tensor([value]) * w

        for batch in batches():
            assert not batch.requires_grad
            (batch * w).backward()
        assert w.grad.tolist() == [2.0 + 4.0]


class TestUnderNoGrad:
    def test_results_do_not_require_grad(self) -> None:
        x = vector(1.0, 2.0)
        with torch.no_grad():
            for y in (x * 2, 1 - x, x.sum(), x.clone(), torch.cat([x, x]), x @ x, x.exp(), x[[1, 0]], x.max(dim=0)[0]):
                assert not y.requires_grad
                assert y.is_leaf
                assert y.grad_fn is None
        assert x.requires_grad

    def test_views_have_no_history(self) -> None:
        x = vector(1.0, 2.0)
        y = x * 1
        with torch.no_grad():
            for view in (x[0], x.view(2, 1), x.detach(), y[0], y.unsqueeze(0), y.unbind()[0]):
                assert view.grad_fn is None
                assert view.is_leaf
                assert not (view * 2).requires_grad

    def test_factories_and_parameters_still_require_grad(self) -> None:
        with torch.no_grad():
            x = torch.ones(2, requires_grad=True)
            y = (x * 2).requires_grad_()
            p = torch.nn.Parameter(torch.ones(2))
            layer = torch.nn.Linear(2, 1)
        assert all(t.requires_grad for t in (x, y, p))
        assert y.is_leaf
        assert all(q.requires_grad for q in layer.parameters())
        (x * y * p).sum().backward()
        assert x.grad.tolist() == [2.0, 2.0]

    def test_leaves_may_be_written(self) -> None:
        w = vector(1.0, 2.0)
        (w * w).sum().backward()
        with torch.no_grad():
            w -= 0.5 * w.grad
            w.add_(1.0)
            w[0] = 7.0
            w.copy_(w * 2)
        assert w.is_leaf
        assert w.requires_grad
        assert w.grad_fn is None
        assert w.tolist() == [14.0, 2.0]
        with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
            w.add_(1.0)

    def test_a_write_into_a_result_keeps_its_history(self) -> None:
        x = vector(1.0, 2.0)
        y = x * 2
        node = y.grad_fn
        with torch.no_grad():
            y.mul_(10)
        assert y.grad_fn is node
        assert y.tolist() == [20.0, 40.0]
        y.sum().backward()
        assert x.grad.tolist() == [2.0, 2.0]

    def test_a_write_does_not_make_a_constant_require_grad(self) -> None:
        total = torch.zeros(2)
        with torch.no_grad():
            total += vector(1.0, 2.0)
        assert not total.requires_grad

    def test_grad_mode_may_be_turned_on_again_inside(self) -> None:
        x = vector(1.0, 2.0)
        with torch.no_grad():
            constant = x * 2
            with torch.enable_grad():
                loss = (constant * x).sum()
        loss.backward()
        assert x.grad.tolist() == [2.0, 4.0]

    @pytest.mark.parametrize(
        ("record", "write"),
        [
            (lambda x: (x * x, x), lambda t: t.mul_(2)),
            (lambda x: (x.exp(), None), lambda t: t.add_(1)),
            (lambda x: (x.exp(), None), lambda t: t.__setitem__(0, 5.0)),
            (lambda x: (x**3, x), lambda t: t.zero_()),
            (lambda x: (x.sigmoid(), None), lambda t: t[1:].fill_(0.0)),
        ],
    )
    def test_writes_are_not_hidden_from_backward(
        self, record: Callable[[Any], Any], write: Callable[[Any], Any]
    ) -> None:
        y, saved = record(vector(1.0, 2.0))
        with torch.no_grad():
            write(y if saved is None else saved)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()


class TestInsideBackward:
    def record_modes(self, create_graph: bool, outer: bool = True) -> list[bool]:
        modes: list[bool] = []

        class Spy(Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                modes.append(is_on())
                return x.clone()

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                modes.append(is_on())
                return g * 1

        x = vector(1.0)
        y = Spy.apply(x)
        y.register_hook(lambda g: modes.append(is_on()))
        with torch.set_grad_enabled(outer):
            torch.autograd.grad(y, x, create_graph=create_graph)
            modes.append(is_on())
        return modes

    def test_backward_functions_run_with_grad_off(self) -> None:
        assert self.record_modes(create_graph=False) == [False, False, False, True]

    def test_with_create_graph_they_run_with_grad_on(self) -> None:
        assert self.record_modes(create_graph=True) == [False, True, True, True]

    def test_the_callers_mode_is_restored(self) -> None:
        assert self.record_modes(create_graph=True, outer=False) == [False, True, True, False]
        assert self.record_modes(create_graph=False, outer=False) == [False, False, False, False]

    def test_create_graph_records_also_under_no_grad(self) -> None:
        x = vector(1.0, 2.0)
        loss = (x * x * x).sum()
        with torch.no_grad():
            (g,) = torch.autograd.grad(loss, x, create_graph=True)
            assert not is_on()
        assert g.requires_grad
        assert torch.autograd.grad(g.sum(), x)[0].tolist() == [6.0, 12.0]

    def test_a_failing_backward_restores_the_mode(self) -> None:
        def fail(grad: Any) -> None:
            raise KeyError("inside")

        x = vector(1.0)
        y = x * 2
        y.register_hook(fail)
        with pytest.raises(KeyError, match="inside"):
            y.backward()
        assert is_on()
        with torch.no_grad():
            with pytest.raises(KeyError, match="inside"):
                y.backward()
            assert not is_on()


class TestThreads:
    def test_a_new_thread_starts_with_grad_on(self) -> None:
        seen: list[bool] = []
        with torch.no_grad():
            thread = threading.Thread(target=lambda: seen.append(is_on()))
            thread.start()
            thread.join()
            assert not is_on()
        assert seen == [True]

    def test_a_thread_does_not_change_the_mode_of_others(self) -> None:
        thread = threading.Thread(target=lambda: torch.set_grad_enabled(False))
        thread.start()
        thread.join()
        assert is_on()

    def test_modes_of_threads_that_run_at_once(self) -> None:
        barrier = threading.Barrier(2, timeout=30)

        def hold(flag: bool) -> list[bool]:
            seen = []
            with torch.set_grad_enabled(flag):
                for _ in range(20):
                    barrier.wait()
                    seen.append(is_on())
            return seen

        with ThreadPoolExecutor(2) as pool:
            on, off = pool.submit(hold, True), pool.submit(hold, False)
            assert on.result() == [True] * 20
            assert off.result() == [False] * 20
        assert is_on()

    def test_a_thread_of_a_pool_keeps_its_mode(self) -> None:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(torch.set_grad_enabled, False).result()
            assert pool.submit(is_on).result() is False
            pool.submit(torch.set_grad_enabled, True).result()
            assert pool.submit(is_on).result() is True
        assert is_on()
