"""What backward() computes, where gradients land, and when it refuses."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

from backend import torch

Function = torch.autograd.Function


def vector(*values: float) -> Any:
    return torch.tensor(values, requires_grad=True)


class TestRoot:
    def test_the_gradient_of_a_scalar_needs_no_argument(self) -> None:
        x = vector(1.0, 2.0)
        assert (x * x).sum().backward() is None
        assert x.grad.tolist() == [2.0, 4.0]

    def test_one_element_counts_as_a_scalar(self) -> None:
        x = vector(1.0, 2.0)
        (x * 2)[:1].backward()
        assert x.grad.tolist() == [2.0, 0.0]
        (x * 3)[1:].view(1, 1).backward()
        assert x.grad.tolist() == [2.0, 3.0]

    @pytest.mark.parametrize("fn", [lambda x: x * 2, lambda x: x.view(2, 1), lambda x: x[:0]])
    def test_more_or_fewer_elements_need_a_gradient(self, fn: Callable[[Any], Any]) -> None:
        x = vector(1.0, 2.0)
        with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
            fn(x).backward()
        assert x.grad is None

    @pytest.mark.parametrize(
        "make",
        [
            lambda: torch.ones(()),
            lambda: torch.ones(2).sum() * 2,
            lambda: vector(1.0, 2.0).detach().sum(),
            lambda: vector(1.0, 2.0).argmax().float(),
            lambda: (vector(1.0, 2.0) > 1).sum(),
        ],
    )
    def test_a_tensor_outside_any_graph_raises(self, make: Callable[[], Any]) -> None:
        with pytest.raises(RuntimeError, match="does not require grad"):
            make().backward()

    def test_a_result_made_under_no_grad_raises(self) -> None:
        x = vector(1.0)
        with torch.no_grad():
            loss = (x * 2).sum()
        with pytest.raises(RuntimeError, match="does not require grad"):
            loss.backward()

    def test_a_leaf_can_be_the_root(self) -> None:
        z = torch.tensor(3.0, requires_grad=True)
        z.backward()
        z.backward()
        assert z.grad.item() == 2.0
        x, g = vector(1.0, 2.0), torch.tensor([5.0, 6.0])
        x.backward(g)
        assert x.grad.tolist() == [5.0, 6.0]
        assert x.grad is not g


class TestGradientArgument:
    @pytest.mark.parametrize("shape", [(3,), (1,), (), (2, 1), (1, 2), (0,)])
    def test_another_shape_raises(self, shape: tuple[int, ...]) -> None:
        x = vector(1.0, 2.0)
        with pytest.raises(RuntimeError, match=r"^Mismatch in shape: grad_output\[0\] has a shape of"):
            (x * 2).backward(torch.ones(shape))
        assert x.grad is None

    def test_the_message_shows_both_shapes(self) -> None:
        x = torch.ones(2, 3, requires_grad=True)
        with pytest.raises(RuntimeError, match=r"^Mismatch in shape") as error:
            (x * 2).backward(torch.ones(3, 2))
        assert "grad_output[0] has a shape of torch.Size([3, 2])" in str(error.value)
        assert "output[0] has a shape of torch.Size([2, 3])" in str(error.value)

    def test_a_scalar_takes_no_vector(self) -> None:
        with pytest.raises(RuntimeError, match=r"^Mismatch in shape"):
            vector(1.0, 2.0).sum().backward(torch.ones(1))

    @pytest.mark.parametrize(
        ("dtype", "given"), [("float32", "float64"), ("float64", "float32"), ("float32", "float16")]
    )
    def test_another_float_dtype_is_cast(self, dtype: str, given: str) -> None:
        x = torch.tensor([1.0, 2.0], dtype=getattr(torch, dtype), requires_grad=True)
        (x * x).backward(torch.tensor([1.0, 10.0], dtype=getattr(torch, given)))
        assert x.grad.dtype == x.dtype
        assert x.grad.tolist() == [2.0, 40.0]

    def test_by_position_and_by_name(self) -> None:
        x = vector(1.0, 2.0)
        (x * x).backward(torch.tensor([1.0, 10.0]))
        (x * x).backward(gradient=torch.tensor([1.0, 10.0]))
        (x * x).sum().backward(torch.tensor(3.0))
        (x * x).sum().backward(None)
        assert x.grad.tolist() == [2.0 + 2.0 + 6.0 + 2.0, 40.0 + 40.0 + 12.0 + 4.0]

    @pytest.mark.parametrize("gradient", [1.0, [1.0, 1.0], "ones"])
    def test_it_must_be_a_tensor(self, gradient: object) -> None:
        with pytest.raises(TypeError):
            (vector(1.0, 2.0) * 2).backward(gradient)

    def test_it_is_never_written_to(self) -> None:
        for fn in (lambda x: x, lambda x: x + 0, lambda x: x * 1):
            x, g = vector(1.0, 2.0), torch.ones(2)
            fn(x).backward(g)
            fn(x).backward(g)
            assert g.tolist() == [1.0, 1.0]
            assert g._version == 0
            assert x.grad.tolist() == [2.0, 2.0]
            g.fill_(7.0)
            assert x.grad.tolist() == [2.0, 2.0]

    def test_an_expanded_gradient_is_accepted(self) -> None:
        x = vector(1.0, 2.0)
        (x * 3).backward(torch.ones(()).expand(2))
        (x * 3).backward(torch.ones(1).expand(2))
        assert x.grad.tolist() == [6.0, 6.0]


class TestAccumulation:
    def test_calls_add_up(self) -> None:
        x = vector(1.0, 2.0)
        for n in range(1, 4):
            (x * x).sum().backward()
            assert x.grad.tolist() == [2.0 * n, 4.0 * n]

    def test_it_is_in_place(self) -> None:
        x = vector(1.0, 2.0)
        (x * x).sum().backward()
        held, pointer = x.grad, x.grad.data_ptr()
        (x * x).sum().backward()
        assert x.grad is held
        assert held.data_ptr() == pointer
        assert held.tolist() == [4.0, 8.0]

    def test_it_adds_to_an_assigned_gradient(self) -> None:
        x, g = vector(1.0, 2.0), torch.tensor([10.0, 20.0])
        x.grad = g
        assert x.grad is g
        (x * 2).sum().backward()
        assert x.grad is g
        assert g.tolist() == [12.0, 22.0]

    def test_a_first_gradient_is_not_shared_between_leaves(self) -> None:
        a, b = vector(1.0, 2.0), vector(3.0, 4.0)
        (a + b).sum().backward()
        a.grad.mul_(100)
        assert b.grad.tolist() == [1.0, 1.0]
        (a + b).sum().backward()
        assert a.grad.tolist() == [101.0, 101.0]
        assert b.grad.tolist() == [2.0, 2.0]

    def test_a_gradient_does_not_alias_the_leaf_or_a_constant(self) -> None:
        x, c = vector(1.0, 2.0), torch.tensor([3.0, 4.0])
        (x * c).sum().backward()
        x.grad.zero_()
        assert c.tolist() == [3.0, 4.0]
        (x * x).sum().backward()
        x.grad.zero_()
        assert x.tolist() == [1.0, 2.0]

    def test_zeroing_in_a_loop(self) -> None:
        x = vector(1.0, 2.0)
        for _ in range(3):
            if x.grad is not None:
                x.grad.zero_()
            (x * x).sum().backward()
            assert x.grad.tolist() == [2.0, 4.0]

    def test_a_gradient_of_a_plain_backward_has_no_graph(self) -> None:
        x = vector(1.0, 2.0)
        (x**3).sum().backward()
        assert not x.grad.requires_grad
        assert x.grad.is_leaf


class TestSeveralPaths:
    def test_uses_add_up(self) -> None:
        x = vector(3.0)
        y = x * x + x * 2 + x
        y.backward()
        assert x.grad.tolist() == [6.0 + 2.0 + 1.0]

    def test_both_arguments_of_one_op(self) -> None:
        x = vector(2.0, 3.0)
        (x - x).sum().backward()
        assert x.grad.tolist() == [0.0, 0.0]
        x.grad = None
        (x / x).sum().backward()
        assert x.grad.tolist() == [0.0, 0.0]
        x.grad = None
        (x @ x).backward()
        assert x.grad.tolist() == [4.0, 6.0]

    def test_several_outputs_of_one_op(self) -> None:
        x = vector(1.0, 2.0, 3.0)
        a, _, c = x.unbind()
        (a * 2 + c * c).backward()
        assert x.grad.tolist() == [2.0, 0.0, 6.0]

    def test_a_node_runs_once_with_the_sum_of_its_consumers(self) -> None:
        seen: list[float] = []

        class Double(Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x * 2

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                seen.append(g.item())
                return g * 2

        x = torch.tensor(3.0, requires_grad=True)
        y = Double.apply(x)
        z = y
        for _ in range(3):  # consumers at different depths
            z = z * 1 + y
        z.backward()
        assert seen == [4.0]
        assert x.grad.item() == 8.0

    def test_a_ladder_of_doublings_takes_linear_time(self) -> None:
        x = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
        y = x
        for _ in range(100):
            y = y + y
        y.backward()
        assert x.grad.item() == 2.0**100

    def test_the_same_root_twice(self) -> None:
        x = vector(1.0, 2.0)
        y = x * x
        torch.autograd.backward([y, y], [torch.tensor([1.0, 0.0]), torch.tensor([10.0, 1.0])])
        assert x.grad.tolist() == [22.0, 4.0]

    def test_the_same_scalar_root_twice(self) -> None:
        x = vector(1.0, 2.0)
        loss = (x * x).sum()
        torch.autograd.backward([loss, loss])
        assert x.grad.tolist() == [4.0, 8.0]
        assert torch.autograd.grad([x, x], x, [torch.ones(2), torch.ones(2)])[0].tolist() == [2.0, 2.0]

    def test_a_root_inside_the_graph_of_another(self) -> None:
        x = vector(1.0, 2.0)
        y = x * 2
        z = y * 3
        torch.autograd.backward([z, y], [torch.ones(2), torch.ones(2)])
        assert x.grad.tolist() == [8.0, 8.0]


class TestSeveralRoots:
    def test_gradients_of_all_roots_add_up(self) -> None:
        x, w = vector(1.0, 2.0), vector(3.0)
        torch.autograd.backward([(x * w).sum(), (x * x).sum(), w.sum()])
        assert x.grad.tolist() == [5.0, 7.0]
        assert w.grad.tolist() == [4.0]

    def test_gradients_may_be_none_for_scalars(self) -> None:
        x = vector(1.0, 2.0)
        torch.autograd.backward((x.sum(), x * 2), (None, torch.tensor([1.0, 10.0])))
        assert x.grad.tolist() == [3.0, 21.0]
        torch.autograd.backward((x.sum(), x.sum()), None)
        assert x.grad.tolist() == [5.0, 23.0]
        with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
            torch.autograd.backward((x.sum(), x * 2), (None, None))

    def test_keywords(self) -> None:
        x = vector(1.0, 2.0)
        torch.autograd.backward(tensors=[x * 2], grad_tensors=[torch.ones(2)], retain_graph=True)
        torch.autograd.backward(x * 2, torch.ones(2))
        assert x.grad.tolist() == [4.0, 4.0]

    def test_every_root_must_require_grad(self) -> None:
        x = vector(1.0, 2.0)
        with pytest.raises(RuntimeError, match="element 1 of tensors does not require grad"):
            torch.autograd.backward([x.sum(), torch.ones(())])
        assert x.grad is None

    def test_fewer_gradients_than_roots_raise(self) -> None:
        x = vector(1.0, 2.0)
        with pytest.raises(RuntimeError, match="got 2 tensors and 1 gradients"):
            torch.autograd.backward([x * 2, x * 3], [torch.ones(2)])
        with pytest.raises(RuntimeError, match="got 2 tensors and 1 gradients"):
            torch.autograd.backward([x.sum(), x.sum()], [None])

    def test_a_shared_graph_is_walked_once(self) -> None:
        x = vector(1.0, 2.0)
        hidden = x * x
        torch.autograd.backward([hidden.sum(), (hidden * hidden).sum()])
        assert x.grad.tolist() == [2.0 + 4.0, 4.0 + 32.0]


class TestInputs:
    def test_only_the_inputs_receive_gradients(self) -> None:
        x, w = vector(1.0, 2.0), vector(3.0, 4.0)
        loss = (x * w).sum()
        loss.backward(inputs=[x], retain_graph=True)
        assert x.grad.tolist() == [3.0, 4.0]
        assert w.grad is None
        torch.autograd.backward(loss, inputs=[w])
        assert w.grad.tolist() == [1.0, 2.0]
        assert x.grad.tolist() == [3.0, 4.0]

    def test_a_single_tensor_is_accepted(self) -> None:
        x, w = vector(1.0, 2.0), vector(3.0, 4.0)
        (x * w).sum().backward(inputs=x)
        assert x.grad.tolist() == [3.0, 4.0]
        assert w.grad is None

    def test_results_may_be_inputs(self) -> None:
        x = vector(1.0, 2.0)
        y = x * 2
        (y * y).sum().backward(inputs=[y])
        assert x.grad is None
        assert y.grad.tolist() == [4.0, 8.0]

    def test_a_result_and_its_leaf(self) -> None:
        x = vector(1.0, 2.0)
        y = x * 2
        (y * y).sum().backward(inputs=[x, y])
        assert x.grad.tolist() == [8.0, 16.0]
        assert y.grad.tolist() == [4.0, 8.0]

    def test_gradients_accumulate(self) -> None:
        x = vector(1.0, 2.0)
        x.grad = torch.tensor([10.0, 10.0])
        (x * x).sum().backward(inputs=[x])
        assert x.grad.tolist() == [12.0, 14.0]

    def test_an_input_listed_twice_counts_once(self) -> None:
        x = vector(1.0, 2.0)
        (x * x).sum().backward(inputs=[x, x])
        assert x.grad.tolist() == [2.0, 4.0]

    def test_an_input_outside_the_graph_is_left_alone(self) -> None:
        x, other = vector(1.0, 2.0), vector(5.0)
        (x * x).sum().backward(inputs=[x, other])
        assert x.grad.tolist() == [2.0, 4.0]
        assert other.grad is None

    @pytest.mark.parametrize("inputs", [[], ()])
    def test_an_empty_list_raises(self, inputs: Any) -> None:
        x = vector(1.0, 2.0)
        with pytest.raises(RuntimeError, match="cannot be empty"):
            x.sum().backward(inputs=inputs)
        with pytest.raises(RuntimeError, match="cannot be empty"):
            torch.autograd.backward(x.sum(), inputs=inputs)

    def test_branches_not_needed_do_not_run(self) -> None:
        class Fails(Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x.clone()

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                raise AssertionError("this branch is not needed")

        x, w = vector(1.0), vector(2.0)
        (x * 3 + Fails.apply(w)).backward(inputs=[x])
        assert x.grad.tolist() == [3.0]


class TestEmptyTensors:
    def test_broadcasting_against_no_elements(self) -> None:
        a, b = torch.rand(4, 0, requires_grad=True), torch.rand(4, 1, requires_grad=True)
        (a + b).sum().backward()
        assert a.grad.shape == (4, 0)
        assert b.grad.tolist() == [[0.0]] * 4

    @pytest.mark.parametrize(
        "fn",
        [
            lambda x: x * 2,
            lambda x: x.exp(),
            lambda x: x * x,
            lambda x: x.t(),
            lambda x: x.reshape(0),
            lambda x: x.sum(dim=0),
            lambda x: x.prod(dim=1),
            lambda x: torch.cat([x, x]),
            lambda x: x[:, :2],
            lambda x: x @ torch.ones(3, 2),
            lambda x: x.cumsum(1),
        ],
    )
    def test_no_elements(self, fn: Callable[[Any], Any]) -> None:
        x = torch.ones(0, 3, requires_grad=True)
        fn(x).sum().backward()
        assert x.grad.shape == (0, 3)

    def test_a_product_over_no_columns(self) -> None:
        a, b = torch.ones(2, 0, requires_grad=True), torch.ones(0, 3, requires_grad=True)
        out = a @ b
        assert out.tolist() == [[0.0] * 3] * 2
        out.sum().backward()
        assert a.grad.shape == (2, 0)
        assert b.grad.shape == (0, 3)

    def test_selecting_nothing(self) -> None:
        x = vector(1.0, 2.0)
        x[x > 5].sum().backward()
        assert x.grad.tolist() == [0.0, 0.0]


class TestGradAttribute:
    def test_it_can_be_reset(self) -> None:
        x = vector(1.0, 2.0)
        for reset in (lambda: setattr(x, "grad", None), lambda: delattr(x, "grad")):
            (x * 2).sum().backward()
            assert x.grad.tolist() == [2.0, 2.0]
            reset()
            assert x.grad is None

    @pytest.mark.parametrize("value", [1.0, 0, [1.0, 1.0], "zero", (1.0, 1.0)])
    def test_it_takes_tensors_only(self, value: object) -> None:
        x = vector(1.0, 2.0)
        with pytest.raises(TypeError):
            x.grad = value
        assert x.grad is None

    @pytest.mark.parametrize("shape", [(3,), (1,), (), (1, 2), (2, 1)])
    def test_another_shape_raises(self, shape: tuple[int, ...]) -> None:
        x = vector(1.0, 2.0)
        with pytest.raises(RuntimeError):
            x.grad = torch.ones(shape)
        assert x.grad is None

    @pytest.mark.parametrize("dtype", ["float64", "float16", "int64", "bool"])
    def test_another_dtype_raises(self, dtype: str) -> None:
        x = vector(1.0, 2.0)
        with pytest.raises(RuntimeError):
            x.grad = torch.ones(2, dtype=getattr(torch, dtype))
        assert x.grad is None

    def test_a_tensor_is_not_its_own_gradient(self) -> None:
        x = vector(1.0, 2.0)
        with pytest.raises(RuntimeError):
            x.grad = x

    def test_an_assigned_tensor_is_kept_itself(self) -> None:
        x, g = torch.ones(2), torch.zeros(2)
        x.grad = g
        assert x.grad is g

    def test_gradient_clipping_by_assignment(self) -> None:
        x = vector(1.0, 2.0)
        (x * 100).sum().backward()
        x.grad = x.grad.clamp(-1.0, 1.0)
        assert x.grad.tolist() == [1.0, 1.0]
        x.grad.data.mul_(3)
        assert x.grad.tolist() == [3.0, 3.0]

    def test_reading_it_on_a_result_warns_each_time(self) -> None:
        y = vector(1.0, 2.0) * 2
        for _ in range(2):
            with pytest.warns(UserWarning, match="not a leaf Tensor"):
                assert y.grad is None
        y.sum().backward()
        with pytest.warns(UserWarning, match="not a leaf Tensor") as caught:
            assert y.grad is None
        assert len(caught) == 1

    def test_leaves_and_retaining_tensors_do_not_warn(self) -> None:
        x = vector(1.0, 2.0)
        y = x * 2
        y.retain_grad()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert x.grad is None
            assert torch.ones(2).grad is None
            assert y.grad is None
            (y * y).sum().backward()
            assert y.grad.tolist() == [4.0, 8.0]
            assert x.detach().grad is None


def test_backward_under_no_grad_runs_a_graph_recorded_before() -> None:
    x = vector(1.0, 2.0)
    loss = (x * x).sum()
    with torch.no_grad():
        loss.backward()
        assert not torch.is_grad_enabled()
    assert x.grad.tolist() == [2.0, 4.0]
    loss = (x * x).sum()
    with torch.no_grad():
        (grad,) = torch.autograd.grad(loss, x)
    assert grad.tolist() == [2.0, 4.0]


def test_a_plain_training_loop_descends() -> None:
    w = torch.zeros(2, requires_grad=True)
    data, target = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), torch.tensor([2.0, -1.0, 1.0])
    for _ in range(200):
        loss = ((data @ w - target) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            w -= 0.3 * w.grad
            w.grad.zero_()
    torch.testing.assert_close(w.detach(), torch.tensor([2.0, -1.0]), rtol=0, atol=1e-3)
