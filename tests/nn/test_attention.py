"""MultiheadAttention and Transformers: printing, masks, errors; PyTorch's parameters and results for the same seed."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import minitorch
from backend import torch

L, S, N, E, H = 4, 5, 3, 8, 2
CAUSAL = np.triu(np.full((L, L), -np.inf), 1)
PADDED = np.arange(S) >= np.array([[5], [3], [2]])


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).normal(size=shape)


@pytest.fixture(autouse=True)
def _without_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "enable_nested_tensor|Support for mismatched")
        yield


def test_printing_and_names() -> None:
    attention = torch.nn.MultiheadAttention(E, H, kdim=6, add_bias_kv=True)
    assert repr(attention) == (
        "MultiheadAttention(\n"
        "  (out_proj): NonDynamicallyQuantizableLinear(in_features=8, out_features=8, bias=True)\n)"
    )
    assert list(attention.state_dict()) == [
        "q_proj_weight", "k_proj_weight", "v_proj_weight", "in_proj_bias", "bias_k", "bias_v", "out_proj.weight",
        "out_proj.bias",
    ]  # fmt: skip


def test_weights_are_returned_as_wanted() -> None:
    attention, x = torch.nn.MultiheadAttention(E, H), torch.randn(L, N, E)
    output, mean = attention(x, x, x)
    again, weights = attention(x, x, x, average_attn_weights=False)
    other, nothing = attention(x, x, x, need_weights=False)
    assert nothing is None
    assert weights.shape == (N, H, L, L)
    torch.testing.assert_close(weights.mean(1), mean)
    torch.testing.assert_close(weights.sum(-1), torch.ones(N, H, L))
    for result in (again, other):
        torch.testing.assert_close(result, output)


def test_a_causal_hint_needs_the_mask() -> None:
    attention, x = torch.nn.MultiheadAttention(E, H), torch.randn(L, N, E)
    mask = torch.nn.Transformer.generate_square_subsequent_mask(L)
    with pytest.raises(RuntimeError, match="Need attn_mask"):
        attention(x, x, x, is_causal=True)
    hinted, _ = attention(x, x, x, attn_mask=mask, is_causal=True, need_weights=False)
    torch.testing.assert_close(hinted, attention(x, x, x, attn_mask=mask)[0])


def test_padding_gives_zeros_where_pytorch_leaves_it_out() -> None:
    layer = torch.nn.TransformerEncoderLayer(E, H, 6, batch_first=True)
    encoder, x = torch.nn.TransformerEncoder(layer, 1).eval(), torch.randn(1, 3, E)
    padding = torch.tensor([[False, False, True]])
    with torch.no_grad():
        assert (encoder(x, src_key_padding_mask=padding)[0, 2] == 0).all()
    assert (encoder(x, src_key_padding_mask=padding)[0, 2] != 0).all()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: torch.nn.MultiheadAttention(E, 3), AssertionError, "divisible by num_heads"),
        (lambda: torch.nn.MultiheadAttention(0, 3), ValueError, "must be greater than 0"),
        (lambda: attend(torch.randn(E)), AssertionError, "2D or batched 3D"),
        (lambda: attend(torch.randn(L, N, 7)), AssertionError, "expecting embedding dimension 8"),
        (lambda: attend(torch.randn(L, N, E), attn_mask=torch.ones(3, 3)), RuntimeError, "should be .4, 4."),
        (lambda: attend(torch.randn(L, N, E), attn_mask=torch.ones(3)), AssertionError, "2-D or 3-D but found 1-D"),
        (lambda: attend(torch.randn(L, N, E), attn_mask=torch.ones(L, L).long()), AssertionError, "only bool and"),
        (lambda: attend(torch.randn(L, N, E), key_padding_mask=torch.ones(N, 2)), AssertionError, "expecting key_padd"),
        (lambda: torch.nn.TransformerEncoderLayer(E, H, activation="tanh"), RuntimeError, "should be relu/gelu"),
        (lambda: transform(torch.randn(L, N, E), torch.randn(L, 2, E)), RuntimeError, "batch number of src and tgt"),
        (lambda: transform(torch.randn(L, N, 7), torch.randn(L, N, E)), RuntimeError, "feature number of src and tgt"),
    ],
)
def test_errors(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def attend(x: Any, **options: Any) -> Any:
    return torch.nn.MultiheadAttention(E, H)(x, x, x, **options)


def transform(source: Any, target: Any) -> Any:
    return torch.nn.Transformer(E, H, 1, 1, 6)(source, target)


def alike(make: Any, inputs: tuple[np.ndarray, ...], options: dict[str, Any]) -> None:
    """The same seed gives the same parameters, results and gradients in both libraries."""
    results = []
    for library in (pytest.importorskip("torch"), minitorch):
        library.manual_seed(0)
        module = make(library.nn).double()
        tensors = [library.tensor(x, requires_grad=True) for x in inputs]
        library.manual_seed(1)
        given = {k: library.tensor(v) if isinstance(v, np.ndarray) else v for k, v in options.items()}
        out = module(*tensors, **given)
        outputs = [t for t in (out if isinstance(out, tuple) else (out,)) if t is not None]
        leaves = [*tensors, *module.parameters()]
        found = library.autograd.grad(sum([(t * t).sum() for t in outputs]), leaves, allow_unused=True)
        gradients = [np.zeros(1) if g is None else g.numpy() for g in found]
        values = [t.detach().numpy() for t in (*outputs, *module.state_dict().values())]
        results.append((repr(module), list(module.state_dict()), [*values, *gradients]))
    (printed, names, expected), (ours, our_names, got) = results
    assert (ours, our_names) == (printed, names)
    for one, other in zip(expected, got, strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-7, atol=1e-9)


MASKS: list[dict[str, Any]] = [
    {},
    {"attn_mask": normal(L, S) > 0.8},
    {"attn_mask": normal(N * H, L, S)},
    {"key_padding_mask": PADDED},
    {"attn_mask": normal(L, S), "key_padding_mask": PADDED, "need_weights": False},
    {"key_padding_mask": normal(N, S), "average_attn_weights": False},
]


@pytest.mark.parametrize("options", MASKS, ids=lambda options: "-".join(options) or "plain")
def test_attention_as_in_pytorch(options: dict[str, Any]) -> None:
    for bias, extra, separate, batch_first in itertools.product([True, False], repeat=4):
        sizes = {"kdim": 6, "vdim": 10} if separate else {}
        shapes = [(L, E), (S, sizes.get("kdim", E)), (S, sizes.get("vdim", E))]
        inputs = [normal(N, *shape) if batch_first else normal(shape[0], N, shape[1]) for shape in shapes]
        made = {**sizes, "bias": bias, "add_bias_kv": extra, "add_zero_attn": extra, "dropout": 0.2 * extra}
        alike(lambda nn: nn.MultiheadAttention(E, H, **made, batch_first=batch_first), tuple(inputs), options)
    if "key_padding_mask" not in options and np.ndim(options.get("attn_mask", 0)) < 3:
        alike(lambda nn: nn.MultiheadAttention(E, H), (normal(L, E), normal(S, E), normal(S, E)), options)


@pytest.mark.parametrize("activation", ["relu", "gelu", "module"])
def test_layers_as_in_pytorch(activation: str) -> None:
    def chosen(nn: Any) -> Any:
        return nn.SiLU() if activation == "module" else activation

    for norm_first, batch_first, bias in itertools.product([True, False], repeat=3):
        options: dict[str, Any] = {"norm_first": norm_first, "batch_first": batch_first, "bias": bias, "dropout": 0.2}
        x, y = (normal(N, L, E), normal(N, S, E)) if batch_first else (normal(L, N, E), normal(S, N, E))
        for masks in ({}, {"src_mask": CAUSAL, "is_causal": True}, {"src_key_padding_mask": PADDED[:, :L]}):
            alike(lambda nn: nn.TransformerEncoderLayer(E, H, 6, activation=chosen(nn), **options), (x,), masks)
        for masks in ({"tgt_mask": CAUSAL}, {"memory_mask": normal(L, S), "memory_key_padding_mask": PADDED}):
            alike(lambda nn: nn.TransformerDecoderLayer(E, H, 6, activation=chosen(nn), **options), (x, y), masks)


@pytest.mark.parametrize("masks", [{}, {"tgt_mask": CAUSAL}, {"src_key_padding_mask": PADDED}], ids=str)
def test_transformers_as_in_pytorch(masks: dict[str, Any]) -> None:
    alike(lambda nn: nn.Transformer(E, H, 2, 2, 6), (normal(S, N, E), normal(L, N, E)), masks)
