"""What autograd.grad() returns, and gradient edges as its inputs and outputs."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from backend import torch

Function = torch.autograd.Function
GradientEdge = torch.autograd.graph.GradientEdge
get_gradient_edge = torch.autograd.graph.get_gradient_edge
grad = torch.autograd.grad


def vector(*values: float) -> Any:
    return torch.tensor(values, requires_grad=True)


class TestResult:
    def test_it_is_a_tuple_in_input_order(self) -> None:
        x, w = vector(1.0, 2.0), vector(3.0, 4.0)
        for inputs, expected in (
            ([x, w], [[3.0, 4.0], [1.0, 2.0]]),
            ((w, x), [[1.0, 2.0], [3.0, 4.0]]),
            ([w], [[1.0, 2.0]]),
            (x, [[3.0, 4.0]]),
        ):
            result = grad((x * w).sum(), inputs)
            assert type(result) is tuple
            assert [g.tolist() for g in result] == expected

    def test_any_iterable_of_parameters(self) -> None:
        layer = torch.nn.Linear(2, 1)
        weight, bias = grad(layer(torch.tensor([[1.0, 2.0]])).sum(), list(layer.parameters()))
        assert weight.tolist() == [[1.0, 2.0]]
        assert bias.tolist() == [1.0]

    def test_grad_attributes_are_left_alone(self) -> None:
        x, w = vector(1.0, 2.0), vector(3.0, 4.0)
        kept = torch.tensor([7.0, 7.0])
        w.grad = kept
        grad((x * w).sum(), [x, w])
        grad((x * w).sum(), [x], create_graph=True)
        assert x.grad is None
        assert w.grad is kept
        assert kept.tolist() == [7.0, 7.0]

    def test_it_has_no_graph_unless_created(self) -> None:
        x = vector(1.0, 2.0)
        (g,) = grad((x**3).sum(), x)
        assert not g.requires_grad
        (g,) = grad((x**3).sum(), x, create_graph=True)
        assert g.requires_grad
        (g,) = grad((x * 3).sum(), x, create_graph=True)
        assert not g.requires_grad

    def test_an_input_listed_twice_is_answered_twice(self) -> None:
        x = vector(1.0, 2.0)
        first, second = grad((x * x).sum(), [x, x])
        assert first.tolist() == second.tolist() == [2.0, 4.0]

    def test_an_output_is_its_own_input(self) -> None:
        x = vector(1.0, 2.0)
        y = x * x
        assert grad(y, y, torch.tensor([5.0, 6.0]))[0].tolist() == [5.0, 6.0]
        assert grad(x, x, torch.ones(2))[0].tolist() == [1.0, 1.0]
        gy, gx = grad(y.sum(), [y, x])
        assert gy.tolist() == [1.0, 1.0]
        assert gx.tolist() == [2.0, 4.0]

    def test_the_graph_is_freed_unless_retained(self) -> None:
        x = vector(1.0, 2.0)
        loss = (x * x).sum()
        for _ in range(3):
            assert grad(loss, x, retain_graph=True)[0].tolist() == [2.0, 4.0]
        grad(loss, x)
        with pytest.raises(RuntimeError, match="Specify retain_graph=True"):
            grad(loss, x)

    def test_each_dtype_and_shape_is_that_of_its_input(self) -> None:
        x = torch.ones(3, 1, dtype=torch.float64, requires_grad=True)
        w = torch.ones(2, requires_grad=True)
        gx, gw = grad((x * w).sum(), [x, w])
        assert (gx.dtype, gx.shape) == (torch.float64, (3, 1))
        assert (gw.dtype, gw.shape) == (torch.float32, (2,))


class TestUnused:
    def test_an_unused_input_raises(self) -> None:
        x, w = vector(1.0), vector(2.0)
        with pytest.raises(RuntimeError, match="Set allow_unused=True"):
            grad(x * x, [x, w])
        with pytest.raises(RuntimeError, match="Set allow_unused=True"):
            grad(x * x, w, allow_unused=False)

    def test_an_input_behind_the_output_raises(self) -> None:
        x = vector(1.0)
        y = x * 2
        z = y * 3
        with pytest.raises(RuntimeError, match="Set allow_unused=True"):
            grad(y, z)
        sibling = x * 5
        with pytest.raises(RuntimeError, match="Set allow_unused=True"):
            grad(z, sibling)

    def test_a_detached_use_is_no_use(self) -> None:
        x = vector(1.0, 2.0)
        with pytest.raises(RuntimeError, match="Set allow_unused=True"):
            grad((x.detach() * vector(1.0, 1.0)).sum(), x)

    def test_a_view_made_afterwards_is_unused(self) -> None:
        x = torch.ones(4, requires_grad=True)
        loss = (x * 2).sum()
        with pytest.raises(RuntimeError, match="Set allow_unused=True"):
            grad(loss, x.view(2, 2))

    def test_allowed_it_gives_none(self) -> None:
        x, w = vector(1.0, 2.0), vector(3.0)
        gw, gx = grad((x * x).sum(), [w, x], allow_unused=True)
        assert gw is None
        assert gx.tolist() == [2.0, 4.0]

    def test_materialized_it_gives_zeros(self) -> None:
        x = vector(1.0, 2.0)
        w = torch.ones(2, 3, dtype=torch.float64, requires_grad=True)
        gw, gx = grad((x * x).sum(), [w, x], materialize_grads=True)
        assert gw.tolist() == [[0.0] * 3] * 2
        assert gw.dtype == torch.float64
        assert gx.tolist() == [2.0, 4.0]
        (gw,) = grad((x * x).sum(), [w], allow_unused=True, materialize_grads=True)
        assert gw.tolist() == [[0.0] * 3] * 2

    def test_materialized_contradicts_a_ban(self) -> None:
        x = vector(1.0)
        with pytest.raises(ValueError, match="allow_unused"):
            grad(x * x, x, materialize_grads=True, allow_unused=False)


class TestRequirements:
    def test_inputs_must_require_grad(self) -> None:
        x = vector(1.0, 2.0)
        for other in (torch.ones(2), x.detach(), x.argmax()):
            with pytest.raises(RuntimeError, match="does not require grad"):
                grad((x * x).sum(), [x, other])
            with pytest.raises(RuntimeError, match="does not require grad"):
                grad((x * x).sum(), other, allow_unused=True)

    def test_outputs_must_require_grad(self) -> None:
        x = vector(1.0, 2.0)
        with pytest.raises(RuntimeError, match="does not require grad"):
            grad(torch.ones(()), x)
        with pytest.raises(RuntimeError, match="does not require grad"):
            grad([x.sum(), x.detach().sum()], x)
        with torch.no_grad():
            loss = (x * x).sum()
        with pytest.raises(RuntimeError, match="does not require grad"):
            grad(loss, x)

    def test_inputs_cannot_be_empty(self) -> None:
        x = vector(1.0, 2.0)
        for empty in ([], ()):
            with pytest.raises(RuntimeError, match="cannot be empty"):
                grad(x.sum(), empty)

    def test_a_linear_function_has_no_second_derivative(self) -> None:
        x = vector(2.0)
        (g,) = grad(x * 3, x, create_graph=True)
        with pytest.raises(RuntimeError, match="does not require grad"):
            grad(g, x)

    def test_a_non_scalar_output_needs_a_gradient(self) -> None:
        x = vector(1.0, 2.0)
        with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
            grad(x * x, x)


class TestInputs:
    def test_results_may_be_inputs(self) -> None:
        x = vector(1.0, 2.0)
        y = x * 2
        loss = (y * y + x).sum()
        gy, gx = grad(loss, [y, x], retain_graph=True)
        assert gy.tolist() == [4.0, 8.0]
        assert gx.tolist() == [9.0, 17.0]
        assert grad(loss, y)[0].tolist() == [4.0, 8.0]

    def test_outputs_of_one_op(self) -> None:
        x = vector(1.0, 2.0, 3.0)
        a, b, c = x.unbind()
        ga, gc = grad(a * a + b + c * 5, [a, c])
        assert ga.item() == 2.0
        assert gc.item() == 5.0

    def test_the_gradient_of_a_result_counts_all_its_uses(self) -> None:
        x = vector(2.0)
        y = x * x
        z = y.exp().log() + y * y
        (gy,) = grad(z, y)
        torch.testing.assert_close(gy, torch.tensor([9.0]))

    def test_branches_needed_by_other_inputs_do_not_run(self) -> None:
        class Fails(Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x.clone()

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                raise AssertionError("this branch is not needed")

        x, w = vector(1.0), vector(2.0)
        loss = x * 3 + Fails.apply(w) * x
        (gx,) = grad(loss, x, retain_graph=True)
        assert gx.tolist() == [5.0]
        hidden = Fails.apply(w)
        (g,) = grad(hidden * 4, hidden)
        assert g.tolist() == [4.0]
        with pytest.raises(AssertionError, match="not needed"):
            grad(loss, w)


class TestGradOutputs:
    def test_they_weigh_the_outputs(self) -> None:
        x = vector(1.0, 2.0)
        assert grad(x * x, x, torch.tensor([1.0, 10.0]))[0].tolist() == [2.0, 40.0]
        assert grad([x * x], [x], grad_outputs=[torch.tensor([0.0, 1.0])])[0].tolist() == [0.0, 4.0]

    def test_none_stands_for_one(self) -> None:
        x = vector(1.0, 2.0)
        assert grad([x.sum(), x * 3], x, [None, torch.tensor([1.0, 10.0])])[0].tolist() == [4.0, 31.0]
        assert grad([x.sum(), x.prod()], x, [None, None])[0].tolist() == [3.0, 2.0]
        assert grad(x.sum(), x, None)[0].tolist() == [1.0, 1.0]
        with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
            grad([x.sum(), x * 3], x, [None, None])

    def test_there_must_be_one_per_output(self) -> None:
        x = vector(1.0, 2.0)
        with pytest.raises(RuntimeError, match="got 2 tensors and 1 gradients"):
            grad([x * 2, x * 3], x, [torch.ones(2)])

    def test_the_shape_must_match(self) -> None:
        x = vector(1.0, 2.0)
        with pytest.raises(RuntimeError, match=r"^Mismatch in shape: grad_output\[0\] has a shape of"):
            grad(x * 2, x, torch.ones(3))

    def test_the_result_is_differentiable_in_them(self) -> None:
        x, v = vector(1.0, 2.0), vector(3.0, 4.0)
        (g,) = grad(x * x, x, v, create_graph=True)  # 2 x v
        assert grad(g.sum(), v)[0].tolist() == [2.0, 4.0]
        (g,) = grad(x * x, x, v)
        assert not g.requires_grad

    def test_a_jacobian_vector_product_by_two_reverse_passes(self) -> None:
        x, v = vector(1.0, 2.0), torch.tensor([1.0, 10.0])
        y = x**3
        u = torch.zeros(2, requires_grad=True)
        (g,) = grad(y, x, u, create_graph=True)
        assert grad(g, u, v)[0].tolist() == [3.0, 120.0]


class TestBatchedGrads:
    def test_an_identity_gives_the_jacobian(self) -> None:
        x = vector(1.0, 2.0, 3.0)
        (jacobian,) = grad(x * x, x, torch.eye(3), is_grads_batched=True)
        assert jacobian.tolist() == [[2.0, 0.0, 0.0], [0.0, 4.0, 0.0], [0.0, 0.0, 6.0]]

    def test_a_dense_jacobian(self) -> None:
        weight = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        x = vector(1.0, 1.0, 1.0)
        (jacobian,) = grad(weight @ x, x, (torch.eye(2),), is_grads_batched=True)
        assert jacobian.tolist() == weight.tolist()

    def test_scalar_outputs(self) -> None:
        x = vector(1.0, 2.0)
        (g,) = grad((x * x).sum(), x, torch.tensor([1.0, 2.0, 3.0]), is_grads_batched=True)
        assert g.tolist() == [[2.0, 4.0], [4.0, 8.0], [6.0, 12.0]]

    def test_several_outputs_and_an_unused_input(self) -> None:
        x, w = vector(1.0, 2.0), vector(3.0)
        gx, gw = grad(
            [x * x, x.sum()],
            [x, w],
            [torch.eye(2), torch.tensor([1.0, 10.0])],
            is_grads_batched=True,
            allow_unused=True,
        )
        assert gx.tolist() == [[3.0, 1.0], [10.0, 14.0]]
        assert gw is None

    def test_it_agrees_with_one_call_a_row(self) -> None:
        x = torch.tensor([[0.5, -1.0], [2.0, 0.25]], dtype=torch.float64, requires_grad=True)
        y = torch.tanh(x @ x).softmax(dim=1)
        rows = torch.arange(12, dtype=torch.float64).reshape(3, 2, 2).cos()
        (batched,) = grad(y, x, rows, is_grads_batched=True, retain_graph=True)
        one_by_one = torch.stack([grad(y, x, row, retain_graph=True)[0] for row in rows])
        torch.testing.assert_close(batched, one_by_one)

    def test_with_create_graph(self) -> None:
        x = vector(1.0, 2.0)
        (jacobian,) = grad(x**3, x, torch.eye(2), is_grads_batched=True, create_graph=True)
        assert jacobian.requires_grad
        assert grad(jacobian.sum(), x)[0].tolist() == [6.0, 12.0]

    @pytest.mark.parametrize("shape", [(2,), (2, 3), (3, 2, 1), (2, 2, 2)])
    def test_the_first_dimension_must_be_the_batch(self, shape: tuple[int, ...]) -> None:
        x = vector(1.0, 2.0)
        with pytest.raises(RuntimeError, match="we interpret the first"):
            grad(x * x, x, torch.ones(shape), is_grads_batched=True)


class TestHigherOrders:
    def test_three_times(self) -> None:
        x = torch.tensor(2.0, requires_grad=True)
        values = []
        y = x * x * x
        for _ in range(3):
            (y,) = grad(y, x, create_graph=True)
            values.append(y.item())
        assert values == [12.0, 12.0, 6.0]

    def test_many_times(self) -> None:
        x = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
        y = x.sin()
        for _ in range(8):
            (y,) = grad(y, x, create_graph=True)
        torch.testing.assert_close(y, x.sin())

    def test_a_polynomial_ends_at_its_degree(self) -> None:
        x = torch.tensor(3.0, requires_grad=True)
        y = x**4
        for factor in (4 * 27.0, 12 * 9.0, 24 * 3.0, 24.0):
            (y,) = grad(y, x, create_graph=True)
            assert y.item() == factor

    def test_mixed_derivatives_commute(self) -> None:
        x = torch.tensor(0.3, dtype=torch.float64, requires_grad=True)
        y = torch.tensor(1.7, dtype=torch.float64, requires_grad=True)
        f = (x * y).sin() * y.exp() + x**3 / y
        gx, gy = grad(f, [x, y], create_graph=True)
        (gxy,) = grad(gx, y, retain_graph=True)
        (gyx,) = grad(gy, x)
        torch.testing.assert_close(gxy, gyx)

    def test_a_hessian_row_by_row(self) -> None:
        x = vector(1.0, 2.0)
        f = x[0] ** 2 * x[1] + x[1] ** 3
        (g,) = grad(f, x, create_graph=True)
        hessian = torch.stack([grad(gi, x, retain_graph=True)[0] for gi in g])
        assert hessian.tolist() == [[4.0, 2.0], [2.0, 12.0]]

    def test_a_hessian_vector_product(self) -> None:
        x, v = vector(1.0, 2.0), torch.tensor([1.0, 0.5])
        (g,) = grad((x**3).sum(), x, create_graph=True)
        assert grad((g * v).sum(), x)[0].tolist() == [6.0, 6.0]

    def test_it_does_not_warn(self) -> None:
        x = vector(1.0)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            (g,) = grad(x * x, x, create_graph=True)
            g.backward()
        assert x.grad.tolist() == [2.0]

    def test_an_unrolled_optimizer_step(self) -> None:
        rate = torch.tensor(0.1, requires_grad=True)
        w = torch.tensor(2.0, requires_grad=True)
        (g,) = grad(w * w, w, create_graph=True)
        updated = w - rate * g
        (g_rate, g_w) = grad(updated * updated, [rate, w])
        torch.testing.assert_close(g_rate, torch.tensor(2 * 1.6 * -4.0))
        torch.testing.assert_close(g_w, torch.tensor(2 * 1.6 * 0.8))


class TestGradientEdges:
    def test_an_edge_names_a_node_and_an_output(self) -> None:
        x = vector(1.0, 2.0)
        y = x * x
        edge = get_gradient_edge(y)
        assert edge.node is y.grad_fn
        assert edge.output_nr == 0
        first, second = x.unbind()
        assert get_gradient_edge(first).output_nr == 0
        assert get_gradient_edge(second).output_nr == 1
        assert get_gradient_edge(first).node is get_gradient_edge(second).node

    def test_the_edge_of_a_leaf_is_its_accumulator(self) -> None:
        x = vector(1.0, 2.0)
        edge = get_gradient_edge(x)
        assert type(edge.node).__name__ == "AccumulateGrad"
        assert edge.node.variable is x

    def test_a_tensor_without_grad_has_no_edge(self) -> None:
        with pytest.raises(RuntimeError):
            get_gradient_edge(torch.ones(2))

    def test_grad_accepts_edges(self) -> None:
        x = vector(2.0)
        y = x * 3
        z = y * y
        for edge in (get_gradient_edge(y), GradientEdge(y.grad_fn, 0)):
            assert grad(z, edge, retain_graph=True)[0].tolist() == [12.0]
        gy, gx = grad(z, [get_gradient_edge(y), x], retain_graph=True)
        assert (gy.tolist(), gx.tolist()) == ([12.0], [36.0])
        assert grad(z, get_gradient_edge(x))[0].tolist() == [36.0]

    def test_an_edge_of_a_later_output(self) -> None:
        a, b = vector(1.0, 2.0).unbind()
        loss = a * a + b * 3
        assert grad(loss, GradientEdge(a.grad_fn, 1), retain_graph=True)[0].item() == 3.0
        assert grad(loss, GradientEdge(a.grad_fn, 0))[0].item() == 2.0

    def test_an_unused_edge(self) -> None:
        x, w = vector(1.0), vector(2.0)
        edge = get_gradient_edge(w)
        with pytest.raises(RuntimeError, match="Set allow_unused=True"):
            grad(x * x, edge)
        assert grad(x * x, edge, allow_unused=True) == (None,)

    def test_an_edge_means_the_version_it_was_taken_from(self) -> None:
        x = vector(2.0)
        y = x * 3
        old = get_gradient_edge(y)
        before = (y + 1) ** 2
        y.mul_(2)
        new = get_gradient_edge(y)
        assert new.node is not old.node
        assert grad(before, old, retain_graph=True)[0].tolist() == [14.0]
        after = y * 5
        assert grad(after, old, retain_graph=True)[0].tolist() == [10.0]
        assert grad(after, new)[0].tolist() == [5.0]

    def test_a_modified_tensor_is_not_part_of_older_outputs(self) -> None:
        x = vector(2.0)
        y = x * 3
        before = y + 1
        y.mul_(2)
        with pytest.raises(RuntimeError, match="to not have been used in the graph"):
            grad(before, y)

    def test_backward_accepts_edges_as_inputs(self) -> None:
        x, w = vector(2.0), vector(5.0)
        y = x * 3
        (y * y * w).backward(inputs=[get_gradient_edge(x)])
        assert x.grad.tolist() == [180.0]
        assert w.grad is None
        torch.autograd.backward(x * w, inputs=[get_gradient_edge(w), x])
        assert w.grad.tolist() == [2.0]
        assert x.grad.tolist() == [185.0]

    def test_edges_can_be_roots(self) -> None:
        x = vector(2.0)
        y = x * x
        torch.autograd.backward(get_gradient_edge(y), torch.ones(1), retain_graph=True)
        assert x.grad.tolist() == [4.0]
        assert grad(get_gradient_edge(y), x, torch.tensor([10.0]))[0].tolist() == [40.0]

    def test_an_unused_edge_cannot_be_materialized(self) -> None:
        x, w = vector(1.0), vector(2.0)
        with pytest.raises(RuntimeError):
            grad(x * x, [x, get_gradient_edge(w)], materialize_grads=True)


class TestArguments:
    def test_only_inputs_is_accepted(self) -> None:
        x = vector(1.0, 2.0)
        y = (x * x).sum()
        (g,) = grad(y, x, None, True, True, True, False, False)
        assert g.tolist() == [2.0, 4.0]
        assert g.requires_grad
        with pytest.warns(FutureWarning, match="only_inputs argument is deprecated"):
            assert grad(y, x, only_inputs=False)[0].tolist() == [2.0, 4.0]

    def test_a_dict_of_inputs_gives_a_dict(self) -> None:
        x, w = vector(1.0, 2.0), vector(3.0, 4.0)
        gradients = grad((x * w).sum(), {"w": w, "x": x})
        assert {name: g.tolist() for name, g in gradients.items()} == {"w": [1.0, 2.0], "x": [3.0, 4.0]}
        torch.autograd.backward((x * w).sum(), inputs={"w": w})
        assert w.grad.tolist() == [1.0, 2.0]
        assert x.grad is None

    def test_an_unused_input_is_named_by_its_place(self) -> None:
        x, unused = vector(1.0), vector(2.0)
        with pytest.raises(RuntimeError, match="differentiated Tensor at index 1 appears to not have been used"):
            grad(x.sum(), [x, unused])

    def test_the_old_name_of_grad_tensors(self) -> None:
        x = vector(1.0, 2.0)
        with pytest.warns(FutureWarning, match="`grad_variables` is deprecated"):
            torch.autograd.backward(x * 2, grad_variables=torch.ones(2))
        assert x.grad.tolist() == [2.0, 2.0]
        with pytest.warns(FutureWarning), pytest.raises(RuntimeError, match="arguments both passed"):
            torch.autograd.backward(x * 2, torch.ones(2), grad_variables=torch.ones(2))

    def test_an_assigned_gradient_must_fit(self) -> None:
        x = vector(1.0, 2.0)
        with pytest.raises(
            RuntimeError, match=r"attempting to assign a gradient of size '\[3\]' to a tensor of size '\[2\]'"
        ):
            x.grad = torch.ones(3)
        with pytest.raises(RuntimeError, match="attempting to assign a gradient with dtype"):
            x.grad = torch.ones(2, dtype=torch.float64)
