"""Attention by several heads."""

from __future__ import annotations

from typing import Any

from ..._tensor import Tensor
from ...ops.attention import additive_mask
from ...ops.creation import empty
from .. import functional as F
from .. import init
from ..parameter import Parameter
from .linear import NonDynamicallyQuantizableLinear
from .module import Module


class MultiheadAttention(Module):
    """Attention by several heads, each on its part of projected queries, keys and values.

    Parameters
    ----------
    embed_dim, num_heads : int
        The size of queries, and among how many heads it is divided.
    dropout : float, default 0
        With what probability, in training, a weight becomes zero.
    bias : bool, default True
        Whether projections have biases.
    add_bias_kv : bool, default False
        Whether one more key and value is learnt.
    add_zero_attn : bool, default False
        Whether there is one more key and value of zeros.
    kdim, vdim : int, optional
        The sizes of keys and values: by default *embed_dim*.
    batch_first : bool, default False
        Whether inputs and outputs are (N, L, E), not (L, N, E).
    device, dtype
        Of the parameters.

    Attributes
    ----------
    in_proj_weight : Parameter or None, shape (3 * embed_dim, embed_dim)
        The three projections; where sizes differ there are *q_proj_weight*, *k_proj_weight* and *v_proj_weight* instead.
    out_proj : Linear
        The projection of the result.

    Notes
    -----
    Source: Vaswani et al., "Attention is all you need", 2017.

    Examples
    --------
    >>> import minitorch as torch
    >>> attention = torch.nn.MultiheadAttention(8, 2, batch_first=True)
    >>> x = torch.randn(4, 5, 8)
    >>> output, weights = attention(x, x, x)
    >>> output.shape, weights.shape
    (torch.Size([4, 5, 8]), torch.Size([4, 5, 5]))
    """

    bias_k: Parameter | None
    bias_v: Parameter | None

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and num_heads={num_heads}"
            )
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim, self.vdim = embed_dim if kdim is None else kdim, embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads, self.dropout, self.batch_first = num_heads, dropout, batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError(f"embed_dim must be divisible by num_heads, but got {embed_dim} and {num_heads}")

        def parameter(*size: int) -> Parameter:
            return Parameter(empty(*size, device=device, dtype=dtype))

        separate = not self._qkv_same_embed_dim
        if separate:
            self.q_proj_weight = parameter(embed_dim, embed_dim)
            self.k_proj_weight = parameter(embed_dim, self.kdim)
            self.v_proj_weight = parameter(embed_dim, self.vdim)
            self.register_parameter("in_proj_weight", None)
        else:
            self.in_proj_weight = parameter(3 * embed_dim, embed_dim)
            for name in ("q_proj_weight", "k_proj_weight", "v_proj_weight"):
                self.register_parameter(name, None)
        self.register_parameter("in_proj_bias", parameter(3 * embed_dim) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, device=device, dtype=dtype)
        self.bias_k = parameter(1, 1, embed_dim) if add_bias_kv else None
        self.bias_v = parameter(1, 1, embed_dim) if add_bias_kv else None
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        """Draw new values."""
        if self._qkv_same_embed_dim:
            init.xavier_uniform_(self.in_proj_weight)
        else:
            for weight in (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            biases: Any = (self.in_proj_bias, self.out_proj.bias)
            for bias in biases:
                init.zeros_(bias)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        key_padding_mask = additive_mask(key_padding_mask, "key_padding_mask", query, attn_mask, "attn_mask")
        attn_mask = additive_mask(attn_mask, "attn_mask", query)
        swapped = self.batch_first and query.dim() == 3
        if swapped:
            turned = query.transpose(1, 0)
            keys = turned if key is query else key.transpose(1, 0)
            query, key, value = turned, keys, keys if value is key else value.transpose(1, 0)
        output, weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return output.transpose(1, 0) if swapped else output, weights

    def _misfit(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        **options: Any,
    ) -> str:
        q, k, v = tuple(query.shape), tuple(key.shape), tuple(value.shape)
        name, sizes = f"MultiheadAttention({self.embed_dim}, {self.num_heads})", (self.embed_dim, self.kdim, self.vdim)
        got, batch = f"and got {q}, {k} and {v}", 0 if self.batch_first else 1
        if not len(q) == len(k) == len(v) or len(q) not in (2, 3):
            return f"{name} expects query, key and value with 3 dimensions each, or 2 without a batch, {got}: unsqueeze them"
        if (q[-1], k[-1], v[-1]) != sizes:
            return (
                f"{name} expects last dimensions {sizes} of query, key and value {got}: project them to these, or set "
                "embed_dim, kdim and vdim"
            )
        if len(q) == 3 and not q[batch] == k[batch] == v[batch]:
            return (
                f"{name} expects one batch size in dimension {batch}, as batch_first={self.batch_first}, {got}: transpose "
                f"them, or set batch_first={not self.batch_first}"
            )
        if k[:-1] != v[:-1]:
            return f"{name} expects as many keys as values {got}: give both the same length"
        length = 0 if len(q) == 2 else 1 - batch
        lengths, samples = (q[length], k[length]), q[batch] if len(q) == 3 else 1
        padding = (samples, lengths[1])[3 - len(q) :]
        masks = ((lengths, (samples * self.num_heads, *lengths)), (padding,))
        for which, mask, shapes in zip(("attn_mask", "key_padding_mask"), (attn_mask, key_padding_mask), masks):
            if mask is not None and tuple(mask.shape) not in shapes:
                expected = " or ".join(map(str, shapes))
                return f"{name} expects {which} of shape {expected}, and got {tuple(mask.shape)}: reshape or expand it"
        return ""
