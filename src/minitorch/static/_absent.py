"""Gradients that are absent: where nothing differentiable leads from a value to what it is the gradient of.

The engine tells such a gradient, None, from zeros: what lies behind it is not differentiated at all, while zeros times an
infinite derivative are NaN.  Most are known to be absent when a graph is made; what a function of Tensors leads to, and which
branch is taken, is known when it runs.  There an empty register stands for them: what would be computed from one is not
computed, and is absent too.  Functions of which ``lacks`` says so take them as they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._runtime import raw, traced
from ._instructions import Function
from ._nodes import Node


def _sum(F: Any) -> Any:
    def add(one: Any, other: Any) -> Any:
        if one is None or other is None:
            return other if one is None else one
        return np.add(one, other, out=...) if F is raw else one + other

    return add


def _or_zeros(F: Any) -> Any:
    def or_zeros(gradient: Any, like: Any, *others: Any) -> Any:
        if gradient is None and not (others and all([other is None for other in others])):
            return F.zeros_like(like)
        return gradient

    return or_zeros


def _wanted(g: Any, needed: Any) -> list[Any]:
    return [g if wanted else None for wanted in needed]


SUM = Function("add", _sum(raw), _sum(traced), gradient=lambda node, g, needed: _wanted(g, needed), lacks=all)
"""The sum of two gradients, of which either may be absent."""
OR_ZEROS = Function(
    "or_zeros",
    _or_zeros(raw),
    _or_zeros(traced),
    gradient=lambda node, g, needed: [g] + [None] * (len(needed) - 1),
    lacks=lambda absent: len(absent) > 2 and all([absent[0], *absent[2:]]),
)
"""A gradient, or zeros in the shape of what it belongs to; with others beside it, unless these are absent, too."""
ABSENT = Function("absent", lambda like: None, lacks=lambda absent: True)
"""The gradient of what one branch does not lead to."""


def added(one: Node, other: Node, like: Any) -> Node:
    """The sum of two gradients of a vertex."""
    if one.absent or other.absent:
        return Node(SUM, (one, other), layout=getattr(like, "layout", None))
    return one + other


def or_zeros(gradient: Node, like: Any, *others: Node) -> Node:
    """A gradient that is there."""
    return Node(OR_ZEROS, (gradient, like, *others), layout=like.layout) if gradient.absent else gradient
