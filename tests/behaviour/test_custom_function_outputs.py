"""Outputs of user-defined Functions: missing gradients, non-differentiable and dirty ones, returned inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from backend import torch
from custom import MODIFIED, grad_of, leaf, make


def test_missing_gradients_of_other_outputs_are_zeros_or_none() -> None:
    seen: list[Any] = []

    def backward(ctx: Any, first: Any, second: Any) -> Any:
        seen.append([g if g is None else g.tolist() for g in (first, second)])
        return first

    def forward_with_none(ctx: Any, x: Any) -> Any:
        ctx.set_materialize_grads(False)
        return x * 2, x[:1] * 3

    x = leaf(1.0, 2.0)
    first, _ = make(lambda ctx, x: (x * 2, x[:1] * 3), backward).apply(x)
    first.sum().backward()
    first, _ = make(forward_with_none, backward).apply(x)
    first.sum().backward()
    assert seen == [[[1.0, 1.0], [0.0]], [[1.0, 1.0], None]]


def test_non_differentiable_output() -> None:
    seen: list[Any] = []

    def forward(ctx: Any, x: Any) -> Any:
        value, mask, rank = x * 2, x > 1, x * 5
        ctx.mark_non_differentiable(mask, rank)
        return value, mask, rank

    def backward(ctx: Any, *grads: Any) -> Any:
        seen.extend((g.dtype, g.tolist()) for g in grads)
        return grads[0]

    x = leaf(1.0, 2.0)
    value, mask, rank = make(forward, backward).apply(x)
    assert value.requires_grad
    for output in (mask, rank):
        assert not output.requires_grad
        assert output.is_leaf
        assert output.grad_fn is None
    value.sum().backward()
    assert seen == [
        (torch.float64, [1.0, 1.0]),
        (torch.bool, [False, False]),
        (torch.float64, [0.0, 0.0]),
    ]


def test_integer_output_is_non_differentiable_by_itself() -> None:
    x = leaf(1.0, 2.0)
    indices, value = make(lambda ctx, x: (x.long(), x * 3), lambda ctx, i, g: g * 3).apply(x)
    assert not indices.requires_grad
    assert grad_of(value, x) == [3.0, 3.0]


def add_one_in_place(ctx: Any, x: Any) -> Any:
    x.add_(1)
    ctx.mark_dirty(x)
    return x


def test_dirty_input_is_returned_as_the_same_object() -> None:
    a = leaf(1.0, 2.0)
    b = a * 3
    c = make(add_one_in_place, lambda ctx, g: g * 5).apply(b)
    assert c is b
    assert b.tolist() == [4.0, 7.0]
    assert b._version >= 1
    assert type(b.grad_fn).__name__ == "MyFunctionBackward"
    assert grad_of(b, a) == [15.0, 15.0]


def test_dirty_input_invalidates_saved_values() -> None:
    b = leaf(1.0, 2.0) * 1
    square = b * b
    make(add_one_in_place, lambda ctx, g: g).apply(b)
    with pytest.raises(RuntimeError, match=MODIFIED):
        square.sum().backward()


def test_dirty_view_writes_the_history_of_its_base() -> None:
    a = leaf(1.0, 2.0)
    b = a * 1
    row = b[0]
    assert make(add_one_in_place, lambda ctx, g: g * 5).apply(row) is row
    assert b.tolist() == [2.0, 2.0]
    assert grad_of(b, a) == [5.0, 1.0]


def test_dirty_leaf_raises() -> None:
    function = make(add_one_in_place, lambda ctx, g: g)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        function.apply(leaf(1.0))
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
        function.apply(leaf(1.0, 2.0)[0])


def test_dirty_input_must_be_returned() -> None:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(x.add_(1))
        return x * 2

    with pytest.raises(RuntimeError, match="Some elements marked as dirty during the forward method were not returned"):
        make(forward, lambda ctx, g: g).apply(leaf(1.0) * 1)


def test_input_returned_unchanged_is_a_new_tensor_with_this_function() -> None:
    x = leaf(1.0, 2.0)
    y = make(lambda ctx, x: x, lambda ctx, g: g * 7).apply(x)
    assert y is not x
    assert x.grad_fn is None
    assert type(y.grad_fn).__name__ == "MyFunctionBackward"
    assert y.data_ptr() == x.data_ptr()
    assert grad_of(y, x) == [7.0, 7.0]
    detached = make(lambda ctx, x: x.detach(), lambda ctx, g: g * 7).apply(x)
    assert grad_of(detached, x) == [7.0, 7.0]


def test_same_output_twice_is_one_tensor() -> None:
    x = leaf(1.0, 2.0)

    def forward(ctx: Any, x: Any) -> Any:
        y = x * 2
        return y, y

    first, second = make(forward, lambda ctx, g, h: g + h).apply(x)
    assert first is second
    assert grad_of(first * 2 + second * 3, x) == [5.0, 5.0]


def test_other_outputs_pass_through() -> None:
    x = leaf(1.0, 2.0)
    function = make(lambda ctx, x: (x * 2, "text", None, [x * 3], {"k": 4}), lambda ctx, g, *_: g * 2)
    value, text, nothing, nested, mapping = function.apply(x)
    assert value.requires_grad
    assert (text, nothing, mapping) == ("text", None, {"k": 4})
    assert not nested[0].requires_grad
    assert grad_of(value, x) == [2.0, 2.0]
    assert make(lambda ctx, x: 3).apply(x) == 3
    assert make(lambda ctx, x: None).apply(x) is None


def test_single_output_tuple_stays_a_tuple() -> None:
    output = make(lambda ctx, x: (x * 2,), lambda ctx, g: g).apply(leaf(1.0))
    assert isinstance(output, tuple)
    assert output[0].requires_grad


CUSTOM_VIEW = r"This view was created inside a custom Function \(or because an input was returned as-is\)"


@pytest.mark.parametrize(
    "forward",
    [lambda ctx, x: x, lambda ctx, x: x.view(2, 1), lambda ctx, x: x[:1], lambda ctx, x: (x * 2)[:1]],
)
def test_view_from_custom_function_may_not_be_written(forward: Callable[[Any, Any], Any]) -> None:
    y = make(forward, lambda ctx, g: g.sum().expand(2)).apply(leaf(1.0, 2.0) * 1)
    with pytest.raises(RuntimeError, match="Output 0 of MyFunction is a view and is being modified inplace"):
        y.add_(1)
    with pytest.raises(RuntimeError, match=CUSTOM_VIEW):
        y.mul_(2)


def test_result_that_is_no_view_may_be_written() -> None:
    x = leaf(1.0, 2.0)
    y = make(lambda ctx, x: x * 2, lambda ctx, g: g * 20).apply(x)
    y.mul_(3)
    assert grad_of(y, x) == [60.0, 60.0]
