"""inference_mode and the tensors made inside it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from backend import torch

inference_mode = torch.inference_mode
is_on = torch.is_inference_mode_enabled


def vector(*values: float) -> Any:
    return torch.tensor(values, requires_grad=True)


def inference_tensor(*values: float) -> Any:
    with inference_mode():
        return torch.tensor(values)


class TestTensorsMadeInside:
    def test_factories_and_results(self) -> None:
        x = vector(1.0, 2.0)
        with inference_mode():
            for t in (
                torch.ones(2),
                torch.arange(3),
                x * 2,
                x.sum(),
                x.clone(),
                torch.cat([x, x]),
                torch.rand(2) > 0.5,
            ):
                assert t.is_inference()
                assert torch.is_inference(t)
                assert not t.requires_grad
                assert t.is_leaf

    def test_views_of_them(self) -> None:
        with inference_mode():
            t = torch.ones(2, 2)
            inside = [t[0], t.view(-1), t.t(), t.detach(), t.unbind()[0]]
        outside = [t[0], t.view(-1), t.t(), t.detach()]
        assert all(v.is_inference() for v in inside + outside)

    def test_results_computed_outside_are_normal(self) -> None:
        t = inference_tensor(1.0, 2.0)
        for normal in (t + 1, t.exp(), t.clone(), torch.cat([t, t])):
            assert not normal.is_inference()
            version = normal._version
            normal.add_(1)
            assert normal._version == version + 1

    def test_a_module_run_inside(self) -> None:
        model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
        with inference_mode():
            out = model(torch.ones(4, 2))
        assert out.shape == (4, 1)
        assert out.is_inference()
        assert not out.requires_grad
        assert not any(p.is_inference() for p in model.parameters())

    def test_asked_to_require_grad(self) -> None:
        with inference_mode():
            p = torch.ones(2, requires_grad=True)
            assert p.requires_grad
            assert p.is_leaf
            assert not (p * 2).requires_grad
        assert p.is_inference()
        with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
            p * vector(1.0, 2.0)


class TestTensorsFromOutside:
    def test_they_stay_normal(self) -> None:
        x = vector(1.0, 2.0)
        with inference_mode():
            assert not x.is_inference()
            assert x.requires_grad
            assert not x.view(2, 1).is_inference()
            assert not x.detach().is_inference()

    def test_writes_inside_bump_the_version(self) -> None:
        t = torch.ones(2)
        with inference_mode():
            t.add_(1)
            t[0] = 5.0
            assert not t.is_inference()
        assert t._version == 2
        assert t.tolist() == [5.0, 2.0]

    def test_a_leaf_may_be_written_inside(self) -> None:
        w = vector(1.0, 2.0)
        with inference_mode():
            w.mul_(2)
        assert w.is_leaf
        assert w.requires_grad
        assert w.tolist() == [2.0, 4.0]

    def test_a_pending_backward_notices(self) -> None:
        x = vector(1.0, 2.0)
        loss = (x * x).sum()
        with inference_mode():
            x.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            loss.backward()

    def test_inference_tensors_may_be_written_into_them(self) -> None:
        total, t = torch.ones(2), inference_tensor(3.0, 4.0)
        total += t
        total.copy_(total * t)
        assert not total.is_inference()
        assert total.tolist() == [12.0, 20.0]


class TestOutside:
    def test_there_is_no_version_counter(self) -> None:
        t = inference_tensor(1.0, 2.0)
        for u in (t, t[0], t.view(2, 1)):
            with pytest.raises(RuntimeError, match="Inference tensors do not track version counter"):
                _ = u._version

    @pytest.mark.parametrize(
        "write",
        [
            lambda t: t.add_(1),
            lambda t: t.zero_(),
            lambda t: t.copy_(torch.ones(2)),
            lambda t: t.__setitem__(0, 1.0),
            lambda t: t[0].mul_(2),
            lambda t: t.view(2, 1).fill_(3.0),
            lambda t: t.__iadd__(1),
            lambda t: torch.relu_(t),
        ],
    )
    def test_writes_raise(self, write: Callable[[Any], Any]) -> None:
        t = inference_tensor(1.0, 2.0)
        with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode"):
            write(t)

    def test_writes_are_fine_inside(self) -> None:
        t = inference_tensor(1.0, 2.0)
        with inference_mode():
            t.add_(1)
            t[0] = 7.0
        assert t.tolist() == [7.0, 3.0]

    def test_it_cannot_be_made_to_require_grad(self) -> None:
        t = inference_tensor(1.0, 2.0)
        for make in (t.requires_grad_, lambda: setattr(t, "requires_grad", True), lambda: torch.nn.Parameter(t)):
            with pytest.raises(RuntimeError, match="inference tensor"):
                make()
        assert t.requires_grad_(False) is t
        assert not t.requires_grad

    @pytest.mark.parametrize(
        "op",
        [
            lambda t, x: t * x,
            lambda t, x: x * t,
            lambda t, x: x / t,
            lambda t, x: t @ x,
            lambda t, x: x * t[0],
            lambda t, x: torch.where(x > 0, x, t) * t,
        ],
    )
    def test_saving_it_for_backward_raises(self, op: Callable[[Any, Any], Any]) -> None:
        with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
            op(inference_tensor(1.0, 2.0), vector(3.0, 4.0))

    def test_ops_that_save_nothing_work(self) -> None:
        t, x = inference_tensor(1.0, 2.0), vector(3.0, 4.0)
        for out in (t + x, x - t, torch.cat([t, x]), torch.stack([x, t])):
            assert out.requires_grad
            assert not out.is_inference()
            x.grad = None
            out.sum().backward()
            assert x.grad.tolist() == [1.0, 1.0]

    def test_ops_that_need_no_gradient_work(self) -> None:
        t, x = inference_tensor(1.0, 2.0), vector(3.0, 4.0)
        assert (t * t).tolist() == [1.0, 4.0]
        assert t.sum().item() == 3.0
        with torch.no_grad():
            assert (t * x).tolist() == [3.0, 8.0]
        assert (t * x.detach()).tolist() == [3.0, 8.0]

    def test_a_clone_is_a_way_out(self) -> None:
        t, x = inference_tensor(1.0, 2.0), vector(3.0, 4.0)
        (t.clone() * x).sum().backward()
        assert x.grad.tolist() == [1.0, 2.0]
        w = t.clone().requires_grad_()
        (w * w).sum().backward()
        assert w.grad.tolist() == [2.0, 4.0]

    def test_values_can_be_read(self) -> None:
        t = inference_tensor(1.0, 2.0)
        assert t.tolist() == [1.0, 2.0]
        assert t[1].item() == 2.0
        assert t.numpy().tolist() == [1.0, 2.0]
        assert t.argmax().item() == 1


class TestViewsAcrossTheBorder:
    def test_a_view_of_a_tracked_tensor_made_inside_may_not_be_written_outside(self) -> None:
        x = vector(1.0, 2.0) * 1
        with inference_mode():
            view = x.view(2, 1)
            row = x[0]
        for v in (view, row):
            with pytest.raises(RuntimeError, match="A view was created in inference mode and is being modified"):
                v.add_(1)
        assert x.tolist() == [1.0, 2.0]

    def test_it_may_be_written_inside(self) -> None:
        t = torch.ones(2)
        with inference_mode():
            view = t.view(2, 1)
            view.add_(1)
        with inference_mode():
            view.mul_(2)
        assert t.tolist() == [4.0, 4.0]
        assert t._version == 2
        assert view._version == 2

    def test_a_view_made_outside_may_be_written_inside(self) -> None:
        t = torch.ones(2)
        view = t[0]
        with inference_mode():
            view.add_(1)
        assert t.tolist() == [2.0, 1.0]


class TestMode:
    def test_it_tells_whether_it_is_on(self) -> None:
        assert not is_on()
        with inference_mode():
            assert is_on()
            assert not torch.is_grad_enabled()
            with inference_mode():
                assert is_on()
            assert is_on()
        assert not is_on()
        assert torch.is_grad_enabled()

    def test_false_is_a_mode_that_does_nothing(self) -> None:
        x = vector(1.0)
        with inference_mode(False):
            assert not is_on()
            y = x * 2
        assert y.requires_grad
        assert not y.is_inference()
        with inference_mode(mode=True):
            assert is_on()

    def test_false_turns_it_off_inside(self) -> None:
        x = vector(1.0)
        with inference_mode():
            with inference_mode(False):
                assert not is_on()
                y = x * x
            assert is_on()
        assert not is_on()
        assert not y.is_inference()
        y.backward()
        assert x.grad.tolist() == [2.0]

    def test_an_exception_restores_the_mode(self) -> None:
        with pytest.raises(KeyError, match="inside"), inference_mode():
            raise KeyError("inside")
        assert not is_on()
        assert torch.is_grad_enabled()

    def test_as_a_decorator(self) -> None:
        @inference_mode()
        def evaluate(x: Any, scale: float = 1.0) -> Any:
            """Doc."""
            return x * scale

        @inference_mode
        def evaluate_bare(x: Any) -> Any:
            return x * 2

        @inference_mode(False)
        def ordinary(x: Any) -> Any:
            return x * 2

        x = vector(1.0)
        assert evaluate(x, scale=3.0).is_inference()
        assert evaluate.__name__ == "evaluate"
        assert evaluate_bare(x).is_inference()
        assert ordinary(x).requires_grad
        assert not is_on()

    def test_on_a_generator_it_holds_in_each_step_only(self) -> None:
        @inference_mode()
        def batches() -> Iterator[Any]:
            for value in (1.0, 2.0):
                yield torch.tensor([value])

        for batch in batches():
            assert batch.is_inference()
            assert not is_on()
            assert not torch.ones(1).is_inference()

    def test_each_thread_has_its_own(self) -> None:
        seen: list[bool] = []
        with inference_mode():
            thread = threading.Thread(target=lambda: seen.append(is_on()))
            thread.start()
            thread.join()
        assert seen == [False]

    def test_backward_of_a_graph_recorded_before(self) -> None:
        x = vector(1.0, 2.0)
        loss = (x * x).sum()
        with inference_mode():
            loss.backward()
        assert x.grad.tolist() == [2.0, 4.0]

    def test_nothing_can_be_differentiated_inside(self) -> None:
        x = vector(1.0, 2.0)
        with inference_mode(), pytest.raises(RuntimeError, match="does not require grad"):
            (x * x).sum().backward()
