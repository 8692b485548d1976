"""NumPy's names of arguments, ``axis`` for ``dim`` and ``keepdims`` for ``keepdim``, which PyTorch takes too."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import minitorch
from backend import torch

X = [[1.0, -2.0, 3.0], [0.5, 4.0, -1.0]]

CALLS: list[tuple[Callable[[Any], Any], Callable[[Any], Any]]] = [
    (lambda x: x.cumsum(axis=0), lambda x: x.cumsum(0)),
    (lambda x: torch.cumprod(x, axis=1), lambda x: torch.cumprod(x, 1)),
    (lambda x: x.logcumsumexp(axis=0), lambda x: x.logcumsumexp(0)),
    (lambda x: x.cummax(axis=1), lambda x: x.cummax(1)),
    (lambda x: x.cummin(axis=1), lambda x: x.cummin(1)),
    (lambda x: x.diff(axis=0), lambda x: x.diff(dim=0)),
    (lambda x: torch.softmax(x, axis=1), lambda x: torch.softmax(x, 1)),
    (lambda x: x.log_softmax(axis=0), lambda x: x.log_softmax(0)),
    (lambda x: torch.stack([x, x], axis=1), lambda x: torch.stack([x, x], 1)),
    (lambda x: torch.chunk(x, 2, axis=1), lambda x: torch.chunk(x, 2, 1)),
    (lambda x: x.unbind(axis=1), lambda x: x.unbind(1)),
    (lambda x: x.tensor_split(2, axis=1), lambda x: x.tensor_split(2, 1)),
    (lambda x: x.sort(axis=0), lambda x: x.sort(0)),
    (lambda x: x.argsort(axis=0), lambda x: x.argsort(0)),
    (lambda x: x.topk(1, axis=0), lambda x: x.topk(1, 0)),
    (lambda x: x.kthvalue(1, axis=0, keepdims=True), lambda x: x.kthvalue(1, 0, True)),
    (lambda x: x.median(axis=1, keepdims=True), lambda x: x.median(1, True)),
    (lambda x: x.nanmedian(axis=0), lambda x: x.nanmedian(0)),
    (lambda x: x.mode(axis=1), lambda x: x.mode(1)),
    (lambda x: torch.var_mean(x, axis=1, keepdims=True), lambda x: torch.var_mean(x, 1, keepdim=True)),
    (lambda x: torch.std_mean(x, axis=0), lambda x: torch.std_mean(x, 0)),
    (lambda x: x.amax(axis=0, keepdims=True), lambda x: x.amax(0, True)),
    (lambda x: x.amin(axis=1), lambda x: x.amin(1)),
    (lambda x: x.aminmax(axis=1), lambda x: x.aminmax(dim=1)),
    (lambda x: x.nansum(axis=1, keepdims=True), lambda x: x.nansum(1, True)),
    (lambda x: x.nanmean(axis=1), lambda x: x.nanmean(1)),
    (lambda x: x.count_nonzero(axis=1), lambda x: x.count_nonzero(1)),
    (lambda x: x.logsumexp(axis=1, keepdims=True), lambda x: x.logsumexp(1, True)),
    (lambda x: x.quantile(0.5, axis=1, keepdims=True), lambda x: x.quantile(0.5, 1, True)),
    (lambda x: x.nanquantile(0.5, axis=0), lambda x: x.nanquantile(0.5, 0)),
    (lambda x: torch.linalg.norm(x, axis=0, keepdims=True), lambda x: torch.linalg.norm(x, dim=0, keepdim=True)),
    (lambda x: torch.linalg.vector_norm(x, axis=1), lambda x: torch.linalg.vector_norm(x, dim=1)),
    (lambda x: torch.linalg.matrix_norm(x, axis=(0, 1)), lambda x: torch.linalg.matrix_norm(x, dim=(0, 1))),
    (lambda x: x.cross(x.flip(1), axis=1), lambda x: x.cross(x.flip(1), dim=1)),
    (lambda x: torch.linalg.cross(x, x.flip(1), axis=1), lambda x: torch.linalg.cross(x, x.flip(1), dim=1)),
    (lambda x: torch.linalg.vecdot(x, x, axis=0), lambda x: torch.linalg.vecdot(x, x, dim=0)),
    (lambda x: x.repeat_interleave(2, axis=0), lambda x: x.repeat_interleave(2, 0)),
    (lambda x: torch.repeat_interleave(x, 2, axis=1), lambda x: torch.repeat_interleave(x, 2, 1)),
    (lambda x: x[:1].squeeze(axis=0), lambda x: x[:1].squeeze(0)),
    (lambda x: x.take_along_dim(x.argsort(1), axis=1), lambda x: x.take_along_dim(x.argsort(1), 1)),
    (lambda x: torch.gradient(x, axis=0), lambda x: torch.gradient(x, dim=0)),
    (lambda x: torch.cosine_similarity(x, x.flip(1), axis=0), lambda x: torch.cosine_similarity(x, x.flip(1), 0)),
    (lambda x: torch.trapezoid(x, axis=0), lambda x: torch.trapezoid(x, dim=0)),
    (lambda x: torch.cumulative_trapezoid(x, axis=0), lambda x: torch.cumulative_trapezoid(x, dim=0)),
    (lambda x: torch.cat([x, x], axis=1), lambda x: torch.cat([x, x], 1)),
    (lambda x: x.sum(axis=0, keepdims=True), lambda x: x.sum(0, True)),
    (lambda x: x.max(axis=1), lambda x: x.max(1)),
    (lambda x: x.argmax(axis=1, keepdims=True), lambda x: x.argmax(1, True)),
]


def listed(value: Any) -> Any:
    return [listed(v) for v in value] if isinstance(value, (tuple, list)) else value.tolist()


@pytest.mark.parametrize(("by_axis", "by_dim"), CALLS, ids=range(len(CALLS)))
def test_axis_is_dim(by_axis: Callable[[Any], Any], by_dim: Callable[[Any], Any]) -> None:
    x = torch.tensor(X)
    assert listed(by_axis(x)) == listed(by_dim(x))


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "logcumsumexp", "cummax", "softmax", "log_softmax", "logsumexp"])
def test_one_of_the_names_is_needed(name: str) -> None:
    with pytest.raises(TypeError, match="dim"):
        getattr(torch, name)(torch.tensor(X))


PYTHON = frozenset(
    ["split", "stack_scatter", "unique", "unique_consecutive", "norm", "stride", "unflatten", "pairwise_distance"]
)
"""Functions of PyTorch's that are written in Python, or take no other name for another reason."""

BEFORE_OTHERS = frozenset(
    [
        "gather",
        "index_add",
        "index_copy",
        "index_fill",
        "index_reduce",
        "index_select",
        "narrow",
        "narrow_copy",
        "renorm",
        "scatter",
        "scatter_add",
        "scatter_reduce",
        "select",
        "select_scatter",
        "size",
        "unsqueeze",
        "unsqueeze_",
        "squeeze_",
    ]
)
"""Known to differ: the dimension is followed by arguments that have no default, or the function is made of its row."""


def test_every_function_with_dim_has_axis() -> None:
    lacking = set()
    for place in (minitorch, minitorch.Tensor, minitorch.linalg, minitorch.special):
        for name in dir(place):
            function = getattr(place, name)
            if name[0] != "_" and inspect.isfunction(function):
                names = inspect.signature(function).parameters
                if ("dim" in names and "axis" not in names) or ("keepdim" in names and "keepdims" not in names):
                    lacking.add(name)
    assert lacking <= PYTHON | BEFORE_OTHERS
