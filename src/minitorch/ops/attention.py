"""Attention: means of values, weighted by how well their keys match the queries."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from .._args import array_of, check_tensors, flag, real
from .._choices import choice
from .._dtypes import BOOL
from .._errors import scalar_name
from .._kernels import attention as kernels
from .._op import op, rows
from .._runtime import wrap
from . import arrange, broadcast, join, linalg, pad, pointwise, softmax
from . import reduce as reductions
from . import shape as shapes
from ._composition import Composition, gradients_of_composition, way_back
from .dropout import dropout
from .linear import linear

if TYPE_CHECKING:
    from .._tensor import Tensor


KERNELS = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True, "overrideable": True}
"""Which of PyTorch's kernels are allowed; there is one here, which counts as the two that a CPU has."""


# -- scaled dot products -----------------------------------------------------------------------------------------------
_safe_softmax = op("safe_softmax", "SafeSoftmaxBackward0", lambda self: kernels.safe_softmax(self), ("self",),
                   tangent="formulas",
                   self=lambda F, g, result: F.softmax_backward(g, result, dim=-1))  # fmt: skip


def _composed(query: Any, key: Any, value: Any, mask: Any, scale: float, dropout_p: float = 0.0) -> Any:
    """Attention, of elementary operations; *mask* is what is added to scores."""
    scores = rows["bmm_nt"].call(pointwise.mul(query, scale), key)
    weights = softmax.softmax(scores, -1) if mask is None else _safe_softmax(pointwise.add(scores, mask))
    if dropout_p:
        weights = dropout(weights, dropout_p)
    return linalg.matmul(weights, value)


def _mask_of(query: np.ndarray, key: np.ndarray, attn_mask: Any, is_causal: bool) -> Any:
    """What is added to scores: an array of their shape, or None."""
    length, keys = query.shape[-2], key.shape[-2]
    mask = kernels.causal(length, keys, query.dtype) if is_causal else attn_mask
    try:
        return None if mask is None else np.broadcast_to(mask, (*query.shape[:-1], keys))
    except ValueError:
        raise RuntimeError(
            f"scaled_dot_product_attention(): attn_mask of shape {list(mask.shape)} does not broadcast with the scores, "
            f"{[*query.shape[:-1], keys]}: sizes must match at non-singleton dimensions"
        ) from None


def _attention_kernel(
    query: np.ndarray, key: np.ndarray, value: np.ndarray, *, attn_mask: Any, is_causal: bool, scale: float
) -> list[np.ndarray]:
    return kernels.attention(query, key, value, _mask_of(query, key, attn_mask, is_causal), scale)


def _attention_backward(g: Any, needed: Any, *inputs: Any, kept: Any, scale: float, **_: Any) -> Any:
    return kernels.attention_backward(g, needed, *inputs, *kept, scale=scale)


def _backward_by_composition(
    g: Any, needed: Any, *inputs: Any, kept: Any, attn_mask: Any, is_causal: bool, scale: float
) -> list[Any]:
    def compose(query: Any, key: Any, value: Any) -> tuple[Any]:
        return (_composed_row(query, key, value, attn_mask, is_causal, scale),)

    return gradients_of_composition(compose, {0: g}, needed, inputs)


def _composed_row(query: Any, key: Any, value: Any, attn_mask: Any, is_causal: bool, scale: float) -> Any:
    mask = kernels.causal(query.shape[-2], key.shape[-2], query._array.dtype) if is_causal else attn_mask
    return _composed(query, key, value, None if mask is None else wrap(mask), scale)  # a trace knows it by its array


way_back("attention_backward", _attention_backward, _backward_by_composition)

_attention_row = op(
    "scaled_dot_product_attention", "ScaledDotProductFlashAttentionForCpuBackward0", _attention_kernel,
    ("query", "key", "value"), tangent=Composition(_composed_row), shows={"output": "result", "dropout_p": lambda node: 0.0},
    together=lambda F, g, needed, query, key, value, result, aside, attn_mask, is_causal, scale: F.attention_backward(
        g, needed, query, key, value, kept=(result, *aside), attn_mask=attn_mask, is_causal=is_causal,
        scale=scale))  # fmt: skip


def _is_plain(q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: Any, dropout_p: float) -> bool:
    """Whether the row computes this attention; PyTorch has a kernel of its own for the same."""
    return (
        q.ndim == k.ndim == v.ndim == 4
        and not dropout_p
        and q.shape[:2] == k.shape[:2] == v.shape[:2]
        and q.shape[3] == v.shape[3]
        and k.shape[2] == v.shape[2]
        and q.size * k.size > 0
        and q.itemsize > 2
        and (mask is None or (mask._array.ndim in (2, 4) and not mask.requires_grad))
    )


@choice("mask to be added")
def _minus_infinity(self: np.ndarray, *, hides: bool, dtype: Any) -> np.ndarray:
    """Minus infinity where a mask *hides* and is true, or shows and is not; zero elsewhere."""
    mask = np.zeros(self.shape, dtype)
    mask[self if hides else ~self] = -np.inf
    return mask


def _check_attention(query: Any, key: Any, value: Any, attn_mask: Any, is_causal: bool) -> None:
    name = "scaled_dot_product_attention"
    given = array_of(name, query, "query"), array_of(name, key, "key", 2), array_of(name, value, "value", 3)
    q, k, v = given
    if min(q.ndim, k.ndim, v.ndim) < 2:
        raise RuntimeError(
            f"{name}(): expected query, key and value of at least 2 dimensions, but got {q.ndim}, {k.ndim} and {v.ndim}"
        )
    if not q.dtype == k.dtype == v.dtype:
        raise RuntimeError(
            f"{name}(): expected query, key and value of one dtype, but got {' and '.join([str(a.dtype) for a in given])}"
        )
    if q.dtype.kind != "f":
        raise RuntimeError(f"{name}(): expected scalar type Float but found {scalar_name(q.dtype)}")
    if attn_mask is None:
        return
    mask = array_of(name, attn_mask, "attn_mask", 4)
    if mask.dtype not in (BOOL, np.float32, q.dtype):
        raise RuntimeError(
            f"{name}(): expected attn_mask dtype to be bool or float or to match query dtype, but got {mask.dtype} for "
            f"query dtype {q.dtype}"
        )
    if mask.ndim < 2:
        raise IndexError(f"{name}(): expected attn_mask of at least 2 dimensions, but got {mask.ndim}")
    if is_causal:
        raise RuntimeError(f"{name}(): attn_mask and is_causal exclude each other; give one of them")


def _repeated_heads(query: Any, key: Any, value: Any) -> tuple[Any, Any]:
    """Keys and values of fewer heads, each repeated for the queries' heads that share it."""
    heads = query._array.shape[-3] if query._array.ndim > 2 else 1
    repeated = []
    for name, tensor in (("key", key), ("value", value)):
        given = tensor._array.shape[-3] if tensor._array.ndim > 2 else 1
        if given == 0 or heads % given:
            raise RuntimeError(
                f"scaled_dot_product_attention(): with enable_gqa the number of heads of {name}, {given}, must divide "
                f"that of query, {heads}"
            )
        repeated.append(tensor if given == heads else arrange.repeat_interleave(tensor, heads // given, -3))
    return repeated[0], repeated[1]


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """``softmax(query @ key^T * scale + attn_mask) @ value``: for each query, the mean of the values whose keys match.

    See A. Vaswani et al., "Attention Is All You Need", 2017.

    Parameters
    ----------
    query : Tensor
        ``(*, L, E)``.
    key, value : Tensor
        ``(*, S, E)`` and ``(*, S, V)``, of the same dtype.
    attn_mask : Tensor, optional
        Broadcasts with the scores, ``(*, L, S)``: bool, which says what takes part, or floats, which are added.  Where
        nothing takes part, the result is zero.
    dropout_p : float
        The probability with which a weight becomes zero; always applied.
    is_causal : bool
        Whether query i sees only keys up to number i; in place of *attn_mask*.
    scale : float, optional
        What the products are multiplied by: by default one over the root of E.
    enable_gqa : bool
        Whether keys and values may have fewer heads (dimension -3) than queries, which then share them; see J. Ainslie
        et al., "GQA: Training Generalized Multi-Query Transformer Models", 2023.

    Returns
    -------
    Tensor
        ``(*, L, V)``.

    Raises
    ------
    RuntimeError
        If shapes or dtypes do not fit, or both *attn_mask* and *is_causal* are given.

    Examples
    --------
    >>> import minitorch as torch
    >>> x = torch.eye(2)
    >>> torch.nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True)
    tensor([[1.0000, 0.0000],
            [0.3302, 0.6698]])
    """
    _check_attention(query, key, value, attn_mask, flag(is_causal, "is_causal"))
    if not (KERNELS["math"] or KERNELS["flash"]):
        raise RuntimeError(
            "No viable backend for scaled_dot_product_attention was found: both SDPBackend.MATH and FLASH_ATTENTION, which "
            "a CPU has, are turned off."
        )
    if enable_gqa:
        key, value = _repeated_heads(query, key, value)
    q, k = query._array, key._array
    if scale is None:
        scale = 1 / math.sqrt(q.shape[-1]) if q.shape[-1] else 1.0
    elif scale.__class__ is not float:
        scale = real(scale, "scale")
    if q.shape[-1] != k.shape[-1]:
        raise RuntimeError(
            f"scaled_dot_product_attention(): query and key must have the same last size, but got {list(q.shape)} and "
            f"{list(k.shape)}"
        )
    if attn_mask is not None and attn_mask._array.dtype == BOOL:
        attn_mask = wrap(_minus_infinity(attn_mask, hides=False, dtype=q.dtype))
    elif attn_mask is not None and attn_mask._array.dtype != q.dtype:
        attn_mask = attn_mask.to(query.dtype)
    if dropout_p > 1:
        raise RuntimeError(
            f"scaled_dot_product_attention(): dropout probability has to be between 0 and 1, but got {dropout_p}"
        )
    if _is_plain(q, k, value._array, attn_mask, dropout_p):
        mask = None if attn_mask is None else attn_mask._array
        return _attention_row(query, key, value, attn_mask=mask, is_causal=is_causal, scale=scale)
    if is_causal:
        attn_mask = wrap(kernels.causal(q.shape[-2], k.shape[-2], q.dtype))
    return _composed(query, key, value, attn_mask, scale, dropout_p)


# -- several heads -----------------------------------------------------------------------------------------------------
def additive_mask(mask: Any, name: str, like: Any, other: Any = None, other_name: str = "") -> Any:
    """A mask as what is added to scores: minus infinity where a bool one is True.

    Raises
    ------
    AssertionError
        If it is neither of bools nor of floats.
    """
    if mask is None:
        return None
    dtype = array_of("multi_head_attention_forward", mask, name).dtype
    if dtype != BOOL and dtype.kind != "f":
        raise AssertionError(f"only bool and floating types of {name} are supported, but got {mask.dtype}")
    if other is not None and other.dtype != mask.dtype:
        warnings.warn(
            f"Support for mismatched {name} and {other_name} is deprecated. Use same type for both instead.",
            stacklevel=3,
        )
    return wrap(_minus_infinity(mask, hides=True, dtype=like._array.dtype)) if dtype == BOOL else mask


def _check_ranks(query: Any, key: Any, value: Any, padding: Any, mask: Any, heads: int) -> bool:
    """Whether there is a batch; AssertionError where numbers of dimensions do not fit together."""
    check_tensors("multi_head_attention_forward", query=query, key=key, value=value)
    ndim = query.dim()
    if ndim not in (2, 3):
        raise AssertionError(f"query should be unbatched 2D or batched 3D tensor but received {ndim}-D query tensor")
    given = f"For {'batched' if ndim == 3 else 'unbatched'} ({ndim}-D) `query`, expected"
    if key.dim() != ndim or value.dim() != ndim:
        raise AssertionError(f"{given} `key` and `value` to be {ndim}-D but found {key.dim()}-D and {value.dim()}-D")
    if padding is not None and padding.dim() != ndim - 1:
        raise AssertionError(f"{given} `key_padding_mask` to be `None` or {ndim - 1}-D but found {padding.dim()}-D")
    if mask is not None and mask.dim() not in (2, 3):
        raise AssertionError(f"{given} `attn_mask` to be `None`, 2-D or 3-D but found {mask.dim()}-D tensor instead")
    expected = (heads, query.shape[0], key.shape[0])
    if ndim == 2 and mask is not None and mask.dim() == 3 and tuple(mask.shape) != expected:
        raise AssertionError(f"Expected `attn_mask` shape to be {expected} but got {tuple(mask.shape)}")
    return ndim == 3


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise AssertionError(message)


def _unsqueezed(query: Any, key: Any, value: Any) -> tuple[Any, Any, Any]:
    """The three as a batch of one; what was one tensor stays one."""
    wide = query.unsqueeze(1)
    keys = wide if key is query else key.unsqueeze(1)
    return wide, keys, keys if value is key else value.unsqueeze(1)


def _projected(query: Any, key: Any, value: Any, separate: Any, packed: Any, bias: Any) -> tuple[Any, Any, Any]:
    """Queries, keys and values mapped by three weights, or by one that holds them."""
    alike = key.shape == value.shape if separate is None else key.shape[:2] == value.shape[:2]
    _require(alike, f"key shape {key.shape} does not match value shape {value.shape}")
    if separate is None:
        _require(packed is not None, "use_separate_proj_weight is False but in_proj_weight is None")
        if query is key and key is value:
            q, k, v = linear(query, packed, bias).chunk(3, -1)
            return q, k, v
        separate = packed.chunk(3)
    _require(None not in separate, "use_separate_proj_weight is True but one of the three weights is None")
    biases = (None,) * 3 if bias is None else bias.chunk(3)
    q, k, v = [linear(x, w, b) for x, w, b in zip((query, key, value), separate, biases)]
    return q, k, v


def _by_head(x: Any, static: Any, name: str, batches: int, size: int) -> Any:
    """``(length, N, E)`` as ``(N * heads, length, E / heads)``; or what is given instead of it."""
    if static is None:
        return x.reshape(len(x), batches, size).transpose(0, 1)
    _require(static.shape[0] == batches, f"expecting {name}.size(0) of {batches}, but got {static.shape[0]}")
    _require(static.shape[2] == size, f"expecting {name}.size(2) of {size}, but got {static.shape[2]}")
    return static


def _longer(mask: Any) -> Any:
    """A mask for one more key, which all queries see."""
    return None if mask is None else pad.pad(mask, (0, 1))


def _check_mask(mask: Any, rows: int, columns: int, batches: int) -> Any:
    """The mask with three dimensions; RuntimeError where its shape does not fit."""
    expected = (rows, columns) if mask.dim() == 2 else (batches, rows, columns)
    if tuple(mask.shape) != expected:
        raise RuntimeError(f"The shape of the {mask.dim()}D attn_mask is {mask.shape}, but should be {expected}.")
    return mask.unsqueeze(0) if mask.dim() == 2 else mask


def _merged(mask: Any, padding: Any, batch: int, heads: int, length: int) -> Any:
    """The mask of scores and that of keys as one."""
    if padding is None:
        return mask
    if tuple(padding.shape) != (batch, length):
        raise AssertionError(f"expecting key_padding_mask shape of {(batch, length)}, but got {tuple(padding.shape)}")
    wide = broadcast.broadcast_to(padding.view(batch, 1, 1, length), (batch, heads, 1, length))
    wide = wide.reshape(batch * heads, 1, length)
    return wide if mask is None else mask + wide


def _attended(q: Any, k: Any, v: Any, mask: Any, dropout_p: float, is_causal: bool, batch: int) -> tuple[Any, None]:
    """The attention of all heads, without their weights."""
    heads = len(q) // batch if batch else 1
    if mask is not None:
        mask = mask.unsqueeze(0) if len(mask) == 1 else mask.view(batch, heads, *mask.shape[1:])
    q, k, v = [x.reshape(batch, heads, *x.shape[1:]) for x in (q, k, v)]
    return scaled_dot_product_attention(q, k, v, mask, dropout_p, is_causal).flatten(0, 1), None


def _weighed(q: Any, k: Any, v: Any, mask: Any, dropout_p: float, is_causal: bool, batch: int) -> tuple[Any, Any]:
    """The attention of all heads, and its weights."""
    scores = rows["bmm_nt"].call(q * math.sqrt(1.0 / q.shape[-1]), k)
    weights = softmax.softmax(scores if mask is None else mask + scores, -1)
    if dropout_p > 0.0:
        weights = dropout(weights, dropout_p)
    return linalg.bmm(weights, v), weights


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Attention by several heads, each on its part of projected queries, keys and values: what MultiheadAttention does.

    Parameters
    ----------
    query, key, value : Tensor
        ``(L, N, E)``, ``(S, N, Ek)``, ``(S, N, Ev)``; or without N.
    embed_dim_to_check, num_heads : int
        E, and among how many heads it is divided.
    in_proj_weight, in_proj_bias : Tensor
        Of the three projections, one below the other; or, with *use_separate_proj_weight*, *q_proj_weight*,
        *k_proj_weight* and *v_proj_weight*.
    bias_k, bias_v : Tensor, optional
        One more key and value, ``(1, 1, E)``.
    add_zero_attn : bool
        Whether there is one more key and value of zeros.
    dropout_p : float
        With what probability, in training, a weight becomes zero.
    out_proj_weight, out_proj_bias : Tensor
        Of the projection of the result.
    key_padding_mask : Tensor, optional
        ``(N, S)``: True for keys that do not take part, or floats, which are added to scores.
    need_weights, average_attn_weights : bool
        Whether the weights are returned, and whether as their mean over heads.
    attn_mask : Tensor, optional
        ``(L, S)`` or ``(N * num_heads, L, S)``: True where a query does not see a key, or floats, which are added.
    static_k, static_v : Tensor, optional
        Keys and values by head, ``(N * num_heads, S, E / num_heads)``, in place of the projected ones.
    is_causal : bool
        A hint that *attn_mask* is the causal one.

    Returns
    -------
    output : Tensor
        ``(L, N, E)``.
    weights : Tensor or None
        ``(N, L, S)``, or ``(N, num_heads, L, S)``.

    Raises
    ------
    AssertionError, RuntimeError
        If shapes or arguments do not fit together.
    """
    batched = _check_ranks(query, key, value, key_padding_mask, attn_mask, num_heads)
    key_padding_mask = additive_mask(key_padding_mask, "key_padding_mask", query, attn_mask, "attn_mask")
    if not batched:
        query, key, value = _unsqueezed(query, key, value)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint; Transformer.generate_square_subsequent_mask makes one."
        )
    if is_causal and key_padding_mask is None and not need_weights:
        attn_mask = None
    else:
        attn_mask, is_causal = additive_mask(attn_mask, "attn_mask", query), False
    length, batch, embed_dim = query.shape
    size, batches = embed_dim // num_heads, batch * num_heads
    _require(
        embed_dim == embed_dim_to_check, f"expecting embedding dimension {embed_dim_to_check}, but got {embed_dim}"
    )
    _require(size * num_heads == embed_dim, f"embed_dim {embed_dim} not divisible by num_heads {num_heads}")
    separate = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else None
    q, k, v = _projected(query, key, value, separate, in_proj_weight, in_proj_bias)

    if attn_mask is not None:
        attn_mask = _check_mask(attn_mask, length, len(key), batches)
    _require((bias_k is None) == (bias_v is None), "bias_k and bias_v must be set together")
    if bias_k is not None and bias_v is not None:
        _require(static_k is None and static_v is None, "bias cannot be added to static key or value.")
        k, v = join.cat([k, bias_k.repeat(1, batch, 1)]), join.cat([v, bias_v.repeat(1, batch, 1)])
        attn_mask, key_padding_mask = _longer(attn_mask), _longer(key_padding_mask)
    q = _by_head(q, None, "", batches, size)
    k, v = _by_head(k, static_k, "static_k", batches, size), _by_head(v, static_v, "static_v", batches, size)
    if add_zero_attn:
        zeros = k.new_zeros((batches, 1, size))
        k, v = join.cat([k, zeros], 1), join.cat([v, zeros], 1)
        attn_mask, key_padding_mask = _longer(attn_mask), _longer(key_padding_mask)
    mask = _merged(attn_mask, key_padding_mask, batch, num_heads, k.shape[1])
    output, found = (_weighed if need_weights else _attended)(q, k, v, mask, dropout_p * training, is_causal, batch)
    output = output.transpose(0, 1).reshape(length * batch, embed_dim)
    output = linear(output, out_proj_weight, out_proj_bias)
    output = output.view(length, batch, output.size(-1))
    if found is not None:
        found = found.view(batch, num_heads, length, k.shape[1])
        found = reductions.mean(found, 1) if average_attn_weights else found
    if batched:
        return output, found
    return shapes.squeeze(output, 1), None if found is None else shapes.squeeze(found, 0)
