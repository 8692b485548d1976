"""Functions and methods beside the core operations: the same call with PyTorch gives the same."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch

inf, nan = float("inf"), float("nan")


def x(torch: Any, *shape: int) -> Any:
    return torch.tensor(np.random.default_rng(0).normal(size=shape), requires_grad=True)


CALLS: list[Callable[[Any], Any]] = [
    # divisors, steps, parts of floats
    lambda t: t.gcd(t.tensor([4, -6, 0]), t.tensor([6, 9, 0])),
    lambda t: t.tensor([12], dtype=t.uint8).gcd(t.tensor([18])),
    lambda t: t.tensor([4, 5]).lcm_(t.tensor([6, 0])),
    lambda t: t.gcd(t.tensor([4.0]), t.tensor([6.0])),
    lambda t: t.gcd(t.tensor([True]), t.tensor([True])),
    lambda t: t.gcd(t.tensor([4]), 2),
    lambda t: t.heaviside(t.tensor([-1.0, 0, nan, 2]), t.tensor(5.0)),
    lambda t: t.tensor([-1, 0, 2]).heaviside(t.tensor([5])),
    lambda t: t.heaviside(t.tensor([1]), t.tensor([5.0])),
    lambda t: t.heaviside(x(t, 2), t.tensor(1.0, dtype=t.float64)).sum().backward(),
    lambda t: t.nextafter(t.tensor([1.0, 0, nan]), t.tensor(2.0)),
    lambda t: t.nextafter(t.tensor([1]), t.tensor([2])),
    lambda t: t.frexp(t.tensor([3.0, -0.25, 0, inf, nan])),
    lambda t: t.tensor([3.0]).half().frexp(),
    lambda t: t.frexp(t.tensor([3])),
    lambda t: t.angle(t.tensor([-1.0, 0, 2, nan])),
    lambda t: t.tensor([-1, 2]).angle(),
    # membership, places, counts, slopes
    lambda t: t.isin(t.tensor([[1, 2], [3, 4]]), t.tensor([2, 4])),
    lambda t: t.isin(t.tensor([1.0, 2.0]), t.tensor([2])),
    lambda t: t.isin(t.tensor([1, 2]), 2),
    lambda t: t.isin(1, t.tensor([1, 2]), invert=True),
    lambda t: t.isin(t.tensor([1]), [1]),
    lambda t: t.unravel_index(t.tensor([[1, 2], [3, 4]]), (2, 3)),
    lambda t: t.unravel_index(t.tensor([-1, 6]), (2, 3)),
    lambda t: t.unravel_index(t.tensor(5), 6),
    lambda t: t.unravel_index(t.tensor(5.0), (2, 3)),
    lambda t: t.combinations(t.tensor([1, 2, 3])),
    lambda t: t.combinations(t.tensor([1, 2, 3]), 2, with_replacement=True),
    lambda t: t.combinations(t.tensor([1, 2, 3]), r=4),
    lambda t: t.combinations(t.tensor([1, 2, 3]), r=0),
    lambda t: t.combinations(x(t, 4), 3),
    lambda t: t.combinations(t.tensor([[1, 2, 3]])),
    lambda t: t.histogram(t.tensor([1.0, 2, 1]), bins=4, range=(0.0, 3.0)),
    lambda t: t.tensor([1.0, 2, 3]).histogram(3),
    lambda t: t.histogram(t.tensor([1.0, 2, 3]), t.tensor([1.0, 2, 3]), density=True, weight=t.ones(3)),
    lambda t: t.histogram(t.tensor([1.0, 1.0]), 2),
    lambda t: t.histogram(t.tensor([1, 2]), 2),
    lambda t: t.histogramdd(t.tensor([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]]), bins=[2, 2]),
    lambda t: t.histogramdd(t.tensor([[0.0, 1.0], [1.0, 0.5]]), bins=2, range=[0, 1, 0, 2], weight=t.tensor([1.0, 3])),
    lambda t: t.gradient(t.tensor([1.0, 4, 9, 16])),
    lambda t: t.gradient(x(t, 5), edge_order=2),
    lambda t: t.gradient(x(t, 4), spacing=2.0),
    lambda t: t.gradient(x(t, 4), spacing=(t.tensor([0.0, 1, 3, 4]).double(),)),
    lambda t: t.gradient(x(t, 4), spacing=(t.tensor([0.0, 1, 3, 4]).double(),), edge_order=2),
    lambda t: t.gradient(x(t, 3, 4), dim=1),
    lambda t: t.gradient(x(t, 3, 4), spacing=[2.0, 3.0]),
    lambda t: t.gradient(x(t, 2, 2), dim=(0, -1)),
    lambda t: t.gradient(t.tensor([1.0])),
    # copies with a part replaced
    lambda t: t.select_scatter(x(t, 2, 3), t.ones(2), 1, 0),
    lambda t: t.select_scatter(x(t, 2, 3), t.ones(3), 1, 0),
    lambda t: t.slice_scatter(x(t, 4), t.ones(2).double(), 0, 1, 3),
    lambda t: t.slice_scatter(x(t, 4), t.ones(3), 0, 1, 3),
    lambda t: t.diagonal_scatter(x(t, 3, 3), t.ones(2), 1),
    lambda t: t.as_strided_scatter(t.zeros(2, 3), t.ones(2), (2,), (2,), 1),
    lambda t: t.as_strided_scatter(t.zeros(3, 2).t(), t.ones(2), (2,), (2,)),
    lambda t: t.zeros(3, 3).fill_diagonal_(2),
    lambda t: t.zeros(7, 3).fill_diagonal_(2, wrap=True),
    lambda t: (x(t, 3, 2) * 2).fill_diagonal_(1.5),
    lambda t: t.zeros(2, 2, 2).fill_diagonal_(1),
    lambda t: t.zeros(3).fill_diagonal_(1),
    lambda t: t.zeros(2, 3, 2).fill_diagonal_(1),
    lambda t: t.index_reduce(x(t, 3, 2), 0, t.tensor([0, 0, 2]), x(t, 3, 2), "prod"),
    lambda t: t.index_reduce(x(t, 3, 2), 1, t.tensor([1, 1]), x(t, 3, 2), "mean", include_self=False),
    lambda t: x(t, 3, 2).index_reduce(0, t.tensor([2]), x(t, 1, 2), "amax"),
    lambda t: (x(t, 3) * 1).index_reduce_(0, t.tensor([2, 0]), x(t, 2), "amin"),
    lambda t: t.index_reduce(x(t, 3), 0, t.tensor([2]), x(t, 2), "amin"),
    lambda t: t.index_reduce(x(t, 3), 0, t.tensor([5]), x(t, 1), "amin"),
    lambda t: t.index_reduce(x(t, 3), 0, t.tensor([0]), x(t, 1), "sum"),
    lambda t: t.nonzero_static(t.tensor([[1, 0], [0, 1]]), size=3, fill_value=7),
    lambda t: t.renorm(x(t, 3, 4), 2, 0, 0.5),
    lambda t: x(t, 3, 4).renorm(1, 1, 100.0),
    lambda t: t.renorm(x(t, 3), 2, 0, 1.0),
    # windows
    *[
        lambda t, name=name, n=n, p=p: getattr(t, f"{name}_window")(n, p, dtype=t.float64)
        for name in ("hann", "hamming", "blackman", "bartlett", "kaiser")
        for n, p in ((0, True), (1, False), (5, True), (6, False))
    ],
    lambda t: t.hamming_window(5, True, 0.6, 0.4),
    lambda t: t.kaiser_window(5, periodic=False, beta=8.0),
    lambda t: t.hann_window(4, requires_grad=True),
    lambda t: t.hann_window(-1),
    lambda t: t.hann_window(4, dtype=t.int32),
    # memory
    lambda t: t.zeros(2, 3).t().dim_order(),
    lambda t: t.empty_strided((2, 3), (1, 2)).stride(),
    lambda t: t.zeros(2, dtype=t.int32).new_empty_strided((2, 3), (3, 1)).dtype.itemsize,
    lambda t: t.empty_permuted((2, 3, 4), (2, 0, 1)).stride(),
    lambda t: x(t, 2, 3).sum_to_size(2, 1),
    lambda t: x(t, 2, 3).sum_to_size((3,)),
    lambda t: x(t, 2, 3).sum_to_size(3, 1),
    lambda t: t.zeros(2).set_(t.arange(3.0)),
    lambda t: t.zeros(2).set_(),
    lambda t: t.zeros(2).set_(t.arange(6.0).untyped_storage(), 1, (2,), (2,)),
    lambda t: t.zeros(2).set_(t.arange(6.0).storage()),
    lambda t: t.zeros(2).set_(t.arange(3)),
    lambda t: t.zeros(2).is_set_to(t.zeros(2)),
    lambda t: (lambda a: a.is_set_to(a.view(2)))(t.zeros(2)),
    lambda t: (x(t, 4) * 2).as_strided_((2, 2), (1, 2)),
    lambda t: t.ones(3).resize(3, 1),
    lambda t: t.ones(2).resize_as(t.ones(2, 1)),
    lambda t: t.tensor([1, 2]).apply_(lambda v: v * 10),
    lambda t: t.tensor([1, 2]).map_(t.tensor([3]), lambda a, b: a * b),
    lambda t: x(t, 2).apply_(abs),
    lambda t: list(reversed(t.tensor([1, 2, 3]))),
    lambda t: reversed(x(t, 2, 2)),
    lambda t: t.detach(x(t, 2)),
    lambda t: t.real(x(t, 2)),
    lambda t: t.imag(t.ones(2)),
    lambda t: [t.conj(t.ones(1)), t.resolve_conj(t.ones(1)), t.resolve_neg(t.ones(1)), t.conj_physical(t.ones(1))],
    lambda t: [t.is_conj(t.ones(1)), t.is_neg(t.ones(1)), t.ones(1).is_cpu, t.ones(1).is_nested],
    lambda t: [t.is_signed(t.ones(1)), t.is_same_size(t.ones(1), t.ones(2))],
    # copies of views
    lambda t: t.diagonal_copy(x(t, 3, 3), 1),
    lambda t: t.expand_copy(x(t, 1, 3), (2, 3)),
    lambda t: t.permute_copy(x(t, 2, 3), (1, 0)),
    lambda t: t.select_copy(x(t, 2, 3), 0, 1),
    lambda t: t.slice_copy(x(t, 4), 0, 1, 3),
    lambda t: t.split_copy(x(t, 4), 3),
    lambda t: t.split_with_sizes_copy(x(t, 4), [1, 3]),
    lambda t: t.squeeze_copy(x(t, 1, 3)),
    lambda t: t.t_copy(x(t, 2, 3)),
    lambda t: t.transpose_copy(x(t, 2, 3), 0, 1),
    lambda t: t.unbind_copy(x(t, 2, 3)),
    lambda t: t.unfold_copy(x(t, 5), 0, 2, 1),
    lambda t: t.unsqueeze_copy(x(t, 2), 0),
    lambda t: t.view_copy(x(t, 4), (2, 2)),
    lambda t: t.as_strided_copy(x(t, 4), (2, 2), (1, 1)),
    lambda t: t.alias_copy(x(t, 2)),
]  # fmt: skip


def flat(value: Any) -> list[Any]:
    return [item for part in value for item in flat(part)] if isinstance(value, (tuple, list)) else [value]


def outcome(call: Callable[[Any], Any], torch: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return flat(call(torch))
        except Exception as error:
            return error


@pytest.mark.pytorch
@pytest.mark.parametrize("number", range(len(CALLS)))
def test_calls_like_pytorch(number: int) -> None:
    torch = pytest.importorskip("torch")
    ours, theirs = outcome(CALLS[number], minitorch), outcome(CALLS[number], torch)
    if isinstance(theirs, Exception) or isinstance(ours, Exception):
        assert type(ours) is type(theirs), (ours, theirs)
        return
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs):
        if not isinstance(b, torch.Tensor):
            assert a == b
            continue
        assert str(a.dtype) == str(b.dtype)
        assert a.requires_grad == b.requires_grad
        tolerance = 1e-12 if b.dtype in (torch.float64, torch.int64) else 1e-6
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=tolerance, atol=tolerance)
        assert a.shape == b.shape
