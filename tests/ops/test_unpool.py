"""Unpooling, poolings by powers and by random windows, normalisation over neighbouring channels."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from against import same_as_pytorch
from backend import torch

F = torch.nn.functional


def test_unpooling_puts_maxima_back() -> None:
    x = torch.tensor([[1.0, 5.0, 2.0, 3.0, 7.0]])
    values, places = F.max_pool1d_with_indices(x, 2)
    assert F.max_unpool1d(values, places, 2).tolist() == [[0.0, 5.0, 0.0, 3.0]]
    assert F.max_unpool1d(values, places, 2, output_size=(1, 1, 5)).tolist() == [[0.0, 5.0, 0.0, 3.0, 0.0]]


def test_random_windows_are_those_of_the_seed() -> None:
    torch.manual_seed(0)
    values, places = F.fractional_max_pool2d_with_indices(torch.arange(30.0).view(1, 5, 6), 2, output_ratio=0.7)
    assert values.tolist() == [[[7.0, 8.0, 10.0, 11.0], [13.0, 14.0, 16.0, 17.0], [25.0, 26.0, 28.0, 29.0]]]
    assert places.tolist() == values.long().tolist()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: F.max_unpool2d(x, x.long(), 2, output_size=(9, 9)), ValueError, "invalid output_size"),
        (lambda x: F.max_unpool2d(x, x.long(), 2, output_size=(9,)), ValueError, "containing 2 or more"),
        (lambda x: F.max_unpool2d(x, x.int(), 2), RuntimeError, "should be type int64"),
        (lambda x: F.max_unpool2d(x, x.long()[:1], 2), RuntimeError, "same as that of the input"),
        (lambda x: F.max_unpool2d(x, x.long() + 99, 2), RuntimeError, "invalid max index: 100"),
        (lambda x: F.max_unpool3d(x, x.long(), 2), RuntimeError, "must have 4 or 5 dimensions"),
        (lambda x: F.fractional_max_pool2d(x, 2), ValueError, "either an output_size or an output_ratio"),
        (lambda x: F.fractional_max_pool2d(x, 2, 3), RuntimeError, "do not fit"),
        (lambda x: F.local_response_norm(x[0], 2), ValueError, "Expected 3D or higher"),
    ],
)
def test_errors(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call(torch.ones(2, 3, 3))


SHAPES = [(2, 7), (2, 3, 6, 5), (1, 2, 4, 5, 6)]


@pytest.mark.parametrize("shape", SHAPES)
def test_as_in_pytorch(shape: tuple[int, ...]) -> None:
    generator = np.random.default_rng(0)
    ndim = max(1, len(shape) - 2)
    x, positive = generator.normal(size=shape), generator.uniform(0.1, 2, size=shape)

    def unpooled(t: Any, x: Any, **options: Any) -> Any:
        functional = t.nn.functional
        values, places = getattr(functional, f"max_pool{ndim}d_with_indices")(x, 2, **options)
        return getattr(functional, f"max_unpool{ndim}d")(values, places, 2, **options, output_size=x.shape[-ndim:])

    for options in ({}, {"stride": 3}, {"stride": 2, "padding": 1}):
        same_as_pytorch(lambda t, x: unpooled(t, x, **options), x)
    for power, ceil_mode in itertools.product((1, 2, 3.5), (False, True)):
        name = f"lp_pool{ndim}d"
        same_as_pytorch(lambda t, x: getattr(t.nn.functional, name)(x, power, 2, 2, ceil_mode), positive)
    same_as_pytorch(lambda t, x: getattr(t.nn.functional, f"adaptive_max_pool{ndim}d_with_indices")(x, 2), x)
    if ndim > 1:
        for output in ({"output_size": 2}, {"output_ratio": (0.6,) * ndim}):
            name = f"fractional_max_pool{ndim}d"
            for kernel in (2, (2,) * ndim):
                same_as_pytorch(lambda t, x: getattr(t.nn.functional, name)(x, kernel, **output), x, second=False)
        for size in (1, 2, 3):
            same_as_pytorch(lambda t, x: t.nn.functional.local_response_norm(x, size, 0.3, 0.6, 0.7), x)


def test_samples_that_are_given() -> None:
    generator = np.random.default_rng(0)
    x, samples = generator.normal(size=(2, 6, 5)), generator.uniform(size=(1, 2, 2))
    for given in (samples, samples.repeat(2, 0)):
        same_as_pytorch(
            lambda t, x, s: t.nn.functional.fractional_max_pool2d(x, 2, 3, _random_samples=s.detach()),
            x,
            given,
            second=False,
        )
