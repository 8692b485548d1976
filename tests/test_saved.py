"""What nodes show of what they saved."""

from __future__ import annotations

import pytest

import minitorch as torch


def test_a_row_shows_values_under_further_names() -> None:
    x = torch.tensor([[1.0, 3.0], [2.0, 0.0]], requires_grad=True)
    assert (x + x).grad_fn._saved_alpha == 1
    assert x.mean().grad_fn._saved_self_sym_numel == 4
    assert x.max(1, keepdim=True).values.grad_fn._saved_indices.tolist() == [[1], [0]]
    assert x.max(1).values.grad_fn._saved_indices.tolist() == [1, 0]
    assert x.cummax(1).values.grad_fn._saved_indices.tolist() == [[0, 1], [0, 0]]
    assert x[0, 0].max(0).values.grad_fn._saved_indices.tolist() == 0


def test_shown_values_cannot_be_set() -> None:
    node = (torch.ones(2, requires_grad=True) + 1).grad_fn
    with pytest.raises(AttributeError):
        node._saved_alpha = 2


def test_a_shown_index_is_a_copy() -> None:
    x = torch.tensor([1.0, 3.0], requires_grad=True)
    y = x.max(0).values
    y.grad_fn._saved_indices.zero_()
    y.backward()
    assert x.grad.tolist() == [0.0, 1.0]


def test_shapes_have_pytorchs_name() -> None:
    node = torch.ones(2, 3, requires_grad=True).sum(0).grad_fn
    assert node._saved_self_sym_sizes == (2, 3)
    assert not hasattr(node, "_saved_self_shape")


def test_nodes_list_nothing_internal() -> None:
    node = (torch.ones(2, requires_grad=True) * 2).grad_fn
    assert [name for name in dir(node) if not name.startswith("__")] == [
        "_input_metadata",
        "_raw_saved_other",
        "_raw_saved_self",
        "_saved_other",
        "_saved_self",
        "_sequence_nr",
        "metadata",
        "name",
        "next_functions",
        "register_hook",
        "register_prehook",
    ]


def test_a_custom_functions_node_lists_its_own_attributes() -> None:
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.factor = 2
            return x * ctx.factor

        @staticmethod
        def backward(ctx, g):
            return g * ctx.factor

    names = dir(Double.apply(torch.ones(1, requires_grad=True)).grad_fn)
    assert {"factor", "saved_tensors", "needs_input_grad"} <= set(names)
    assert "tensor_arguments" not in names
