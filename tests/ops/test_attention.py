"""Attention: values, masks, heads that are shared, errors; PyTorch's results over options."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import minitorch
from backend import torch

F = torch.nn.functional


def eye(*shape: int) -> Any:
    return torch.eye(2).repeat(*shape, 1, 1) if shape else torch.eye(2)


def test_weights_are_the_softmax_of_scaled_products() -> None:
    x = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
    weights = torch.softmax(torch.tensor([[1.0, 0.0], [0.0, 4.0]]) / 2**0.5, -1)
    torch.testing.assert_close(F.scaled_dot_product_attention(x, x, x), weights @ x)
    torch.testing.assert_close(F.scaled_dot_product_attention(x, x, x, scale=0.0), torch.tensor([[0.5, 1.0]] * 2))


def test_causal_queries_see_no_later_keys() -> None:
    x = torch.randn(2, 3, 5, 4)
    out = F.scaled_dot_product_attention(x, x, x, is_causal=True)
    torch.testing.assert_close(out[..., 0, :], x[..., 0, :])
    hidden = torch.ones(5, 5, dtype=torch.bool).tril()
    torch.testing.assert_close(out, F.scaled_dot_product_attention(x, x, x, attn_mask=hidden))


def test_a_query_that_sees_nothing_gets_zeros_and_zero_gradients() -> None:
    x = torch.randn(3, 4, requires_grad=True)
    mask = torch.tensor([[True] * 3, [False] * 3, [True] * 3])
    out = F.scaled_dot_product_attention(x, x, x, attn_mask=mask)
    assert out[1].tolist() == [0.0] * 4
    out.sum().backward()
    assert torch.isfinite(x.grad).all()
    nothing = F.scaled_dot_product_attention(x, x[:0], x[:0])
    assert nothing.tolist() == [[0.0] * 4] * 3


def test_heads_are_shared() -> None:
    q, k, v = torch.randn(2, 4, 3, 5), torch.randn(2, 2, 3, 5), torch.randn(2, 2, 3, 5)
    wide = [t.repeat_interleave(2, 1) for t in (k, v)]
    torch.testing.assert_close(
        F.scaled_dot_product_attention(q, k, v, enable_gqa=True), F.scaled_dot_product_attention(q, *wide)
    )


def test_dropout_is_drawn_from_the_stream() -> None:
    x = torch.ones(1, 1, 2, 2)
    assert (F.scaled_dot_product_attention(x, x, x, dropout_p=1.0) == 0).all()
    torch.manual_seed(0)
    weights = torch.nn.functional.dropout(torch.full((1, 1, 2, 2), 0.5), 0.5)
    torch.manual_seed(0)
    torch.testing.assert_close(F.scaled_dot_product_attention(x, x, x, dropout_p=0.5), weights @ x)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: F.scaled_dot_product_attention(x[0], x, x), RuntimeError, "at least 2 dimensions"),
        (lambda x: F.scaled_dot_product_attention(x, x, x.double()), RuntimeError, "of one dtype"),
        (lambda x: F.scaled_dot_product_attention(*[x.long()] * 3), RuntimeError, "expected scalar type Float"),
        (lambda x: F.scaled_dot_product_attention(x, x, x, x, is_causal=True), RuntimeError, "exclude each other"),
        (lambda x: F.scaled_dot_product_attention(x, x, x, x.double()), RuntimeError, "attn_mask dtype"),
        (lambda x: F.scaled_dot_product_attention(x, x, x, x[0]), IndexError, "at least 2 dimensions"),
        (lambda x: F.scaled_dot_product_attention(x, x[:, :1], x), RuntimeError, "same last size"),
        (lambda x: F.scaled_dot_product_attention(x, x[:1], x), RuntimeError, "cannot be multiplied"),
        (lambda x: F.scaled_dot_product_attention(x, [1], x), TypeError, "argument 'key' .position 2. must be Tensor"),
        (lambda x: F.scaled_dot_product_attention(x, x, x, dropout_p=1.5), RuntimeError, "dropout probability"),
        (
            lambda x: F.scaled_dot_product_attention(*[x.expand(n, 2, 2) for n in (3, 2, 2)], enable_gqa=True),
            RuntimeError,
            "must divide",
        ),
    ],
)
def test_errors(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call(eye())


SHAPES = [((2, 3, 4), (2, 5, 4), (2, 5, 6)), ((2, 2, 3, 4), (2, 2, 5, 4), (2, 2, 5, 4)), ((3, 4), (5, 4), (5, 2))]


@pytest.mark.parametrize("shapes", SHAPES)
def test_values_and_gradients_of_both_orders_as_in_pytorch(shapes: Any) -> None:
    pytorch = pytest.importorskip("torch")
    generator = np.random.default_rng(0)
    arrays = [generator.normal(size=shape) for shape in shapes]
    visible = generator.random((3, 5)) < 0.6
    visible[1] = False
    added = generator.normal(size=(3, 5))
    masks: list[Any] = [None, visible, added, "causal"]
    for mask, scale, dropout in itertools.product(masks, (None, 0.7), (0.0, 0.4)):
        results = []
        for library in (pytorch, minitorch):
            # three dimensions: PyTorch's kernel for four has no second derivative
            tensors = [library.tensor(a.reshape(-1, *a.shape[-2:])).requires_grad_() for a in arrays]
            options: dict[str, Any] = {"scale": scale, "dropout_p": dropout, "is_causal": isinstance(mask, str)}
            if isinstance(mask, np.ndarray):
                options["attn_mask"] = library.tensor(mask)
            library.manual_seed(1)
            out = library.nn.functional.scaled_dot_product_attention(*tensors, **options)
            first = library.autograd.grad((out * out).sum(), tensors, create_graph=True)
            second = library.autograd.grad(sum([(g * g).sum() for g in first]), tensors)
            results.append([t.detach().numpy() for t in (out, *first, *second)])
        for expected, found in zip(*results):
            np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)


def test_one_node_refuses_edits_of_its_result_and_names_masks_that_do_not_fit() -> None:
    q = torch.randn(2, 5, 3, 4, requires_grad=True).transpose(1, 2)
    out = torch.nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True)
    assert out.grad_fn.name() == "ScaledDotProductFlashAttentionForCpuBackward0"
    assert out.stride() == q.stride()  # so that heads are joined without a copy
    out.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()
    with pytest.raises(RuntimeError, match=r"attn_mask of shape \[4, 4\].*\[2, 3, 5, 5\]"):
        torch.nn.functional.scaled_dot_product_attention(q, q, q, torch.zeros(4, 4))
