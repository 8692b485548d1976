"""Causal masks for ``scaled_dot_product_attention`` where there are more keys than queries, or fewer."""

from __future__ import annotations

import enum
import warnings
from typing import Any

import numpy as np

from ... import _runtime
from ..._tensor import Tensor
from ..parameter import _sharing

__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]


class CausalVariant(enum.IntEnum):
    """Whether the first query sees the first key only, or the last query sees all keys."""

    UPPER_LEFT = 1
    LOWER_RIGHT = 2


class CausalBias(Tensor):
    """A causal mask: a tensor of bools that remembers what it is.

    Parameters
    ----------
    variant : CausalVariant
        To which corner the diagonal leads.
    seq_len_q, seq_len_kv : int
        How many queries and keys there are.
    """

    __slots__ = ("seq_len_kv", "seq_len_q", "variant")
    variant: CausalVariant
    seq_len_q: int
    seq_len_kv: int

    def __new__(cls, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> CausalBias:
        if not isinstance(variant, CausalVariant):
            raise AssertionError(f"variant must be a CausalVariant, got {type(variant).__name__}")
        later = seq_len_kv - seq_len_q if variant == CausalVariant.LOWER_RIGHT else 0
        bias: Any = _sharing(cls, _runtime.wrap(np.tri(seq_len_q, seq_len_kv, later, np.bool_)))
        bias.variant, bias.seq_len_q, bias.seq_len_kv = variant, seq_len_q, seq_len_kv
        if later < 0:
            warnings.warn(
                "Lower right causal bias leaves queries without a key when seq_len_q > seq_len_kv: their result is zero.",
                stacklevel=3,
            )
        return bias

    def __init__(self, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> None:
        pass


def causal_upper_left(*size: int) -> CausalBias:
    """A mask with which query i sees the keys up to number i.

    Parameters
    ----------
    *size : int
        How many queries and keys there are.

    Raises
    ------
    AssertionError
        If these are not two numbers.

    Examples
    --------
    >>> from minitorch.nn.attention.bias import causal_upper_left
    >>> causal_upper_left(2, 3)
    tensor([[ True, False, False],
            [ True,  True, False]])
    """
    if len(size) != 2:
        raise AssertionError("causal_upper_left only supports 2D tensors")
    return CausalBias(CausalVariant.UPPER_LEFT, *size)


def causal_lower_right(*size: int) -> CausalBias:
    """A mask with which the last query sees all keys, and each one before it one less.

    Parameters
    ----------
    *size : int
        How many queries and keys there are.

    Raises
    ------
    AssertionError
        If these are not two numbers.

    Examples
    --------
    >>> from minitorch.nn.attention.bias import causal_lower_right
    >>> causal_lower_right(2, 3)
    tensor([[ True,  True, False],
            [ True,  True,  True]])
    """
    if len(size) != 2:
        raise AssertionError("causal_lower_right only supports 2D tensors")
    return CausalBias(CausalVariant.LOWER_RIGHT, *size)
