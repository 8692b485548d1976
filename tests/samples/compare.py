"""Samples of comparisons, logic, bits, and choices between values."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch import _op

from .sample import Sample, distinct, normal, sample

MASK = np.array([[True, False, True], [False, False, True]])
PAIR = distinct(2, 3), np.array([0.2, -0.3, 0.4])


def _pair(name: str) -> list[Sample]:
    """A function of two tensors without gradient."""
    return [sample(lambda torch, a, b: getattr(torch, name)(a, b), *PAIR, order=0)]


def _into(name: str) -> list[Sample]:
    """A comparison in place: gradients of zero."""
    return [
        sample(lambda torch, a, b: getattr(a.clone(), name)(b), *PAIR),
        sample(lambda torch, a: getattr(a.clone(), name)(0.5), PAIR[0]),
    ]


def _bits(name: str) -> list[Sample]:
    return [sample(lambda torch, a, b: getattr(torch, name)(a.long(), b.long()), [[5, 6, 7]], [[1], [2]], order=0)]


def _unary(name: str) -> list[Sample]:
    return [sample(lambda torch, a: getattr(torch, name)(a), [[1.0, np.inf], [np.nan, 0.0], [-np.inf, -2.0]], order=0)]


def _mask(torch: Any, mask: np.ndarray = MASK) -> Any:
    return torch.from_numpy(mask.copy())


def _row(name: str, *inputs: Any, **params: Any) -> Sample:
    """The row itself, which no public function calls alone."""
    return sample(lambda torch, *tensors: _op.rows[name].call(*tensors, **params), *inputs, in_torch=False)


SAMPLES: dict[str, list[Sample]] = {
    **{name: _pair(name) for name in ("eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_xor")},
    **{f"bitwise_{name}": _bits(f"bitwise_{name}") for name in ("and", "or", "xor", "left_shift", "right_shift")},
    **{name: _unary(name) for name in ("isnan", "isinf", "isfinite", "isposinf", "isneginf", "logical_not")},
    **{f"{name}_": _into(f"{name}_") for name in ("eq", "ne", "lt", "le", "gt", "ge")},
    "bitwise_not": [sample(lambda torch, a: ~a.long(), [5.0, -3.0], order=0)],
    "keep": [_row("keep", normal(2, 3), mask=MASK), _row("keep", normal(1, 1100), mask=np.arange(1100)[None] % 3 == 0)],
    "where": [
        sample(lambda torch, a, b: torch.where(_mask(torch), a, b), normal(2, 3), normal(3)),
        sample(lambda torch, a: torch.where(_mask(torch), a, 2.0), normal(3)),
        sample(lambda torch, a: a.where(_mask(torch), 2.0), normal(1, 3)),
    ],
    "masked_fill": [
        sample(lambda torch, a: a.masked_fill(_mask(torch), 2.0), normal(2, 3)),
        sample(lambda torch, a: torch.masked_fill(a, _mask(torch), 2), normal(3)),
    ],
    "masked_fill_tensor": [sample(lambda torch, a, b: a.masked_fill(_mask(torch), b), normal(2, 3), normal())],
    "clamp": [
        sample(lambda torch, a: a.clamp(-0.2, 0.4) * a, distinct(2, 3)),
        sample(lambda torch, a: torch.clamp(a, min=0.1), distinct(2, 3), order=1),
        sample(lambda torch, a: torch.clip(a, max=0.1), distinct(2, 3), order=1),
    ],
    "clamp_backward": [_row("clamp_backward", normal(2, 3), distinct(2, 3), min=-0.2, max=0.4)],
    "clamp_min": [sample(lambda torch, a: a.clamp_min(0.1) * a, distinct(2, 3))],
    "clamp_max": [sample(lambda torch, a: a.clamp_max(0.1) * a, distinct(2, 3))],
    "clamp_low": [sample(lambda torch, a, b: torch.clamp(a, min=b) * a, *PAIR)],
    "clamp_high": [sample(lambda torch, a, b: torch.clamp(a, max=b) * a, *PAIR)],
    "clamp_min_tensor": [sample(lambda torch, a, b: torch.clamp_min(a, b) * a, *PAIR)],
    "clamp_max_tensor": [sample(lambda torch, a, b: torch.clamp_max(a, b) * a, *PAIR)],
    "clamp_tensors": [sample(lambda torch, a, b, c: torch.clamp(a, b, c) * a, *PAIR, [[0.5], [-0.1]])],
    "maximum": [sample(lambda torch, a, b: torch.maximum(a, b) * a, *PAIR)],
    "minimum": [sample(lambda torch, a, b: torch.minimum(a, b) * a, *PAIR)],
    "to_larger": [_row("to_larger", normal(2, 3), *[np.broadcast_to(a, (2, 3)).copy() for a in PAIR])],
    "fmax": [sample(lambda torch, a, b: torch.fmax(a, b) * a, *PAIR)],
    "fmin": [sample(lambda torch, a, b: torch.fmin(a, b) * a, *PAIR)],
    "nan_to_num": [sample(lambda torch, a: torch.nan_to_num(a, 0.5) * a, normal(2, 3))],
}
