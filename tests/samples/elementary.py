"""Samples of elementary and special functions."""

from __future__ import annotations

from typing import Any

from minitorch import _op

from .sample import Sample, normal, positive, sample, within


def _unary(name: str, low: float = -1.5, high: float = 1.5) -> list[Sample]:
    """A function of one tensor, on values within an interval."""
    return [sample(lambda torch, x: getattr(torch, name)(x), within(low, high, 2, 3))]


def _backward(name: str) -> list[Sample]:
    def call(torch: Any, grad: Any, output: Any) -> Any:
        return _op.rows[name].call(grad, output)

    return [sample(call, normal(2, 3), within(-0.9, 0.9, 2, 3), in_torch=False)]


SAMPLES: dict[str, list[Sample]] = {
    **{name: _unary(name) for name in ("exp", "exp2", "expm1", "sin", "cos", "tan", "atan")},
    **{name: _unary(name) for name in ("sinh", "cosh", "tanh", "asinh")},
    **{name: _unary(name, 0.3, 4) for name in ("log", "log2", "log10", "log1p", "lgamma", "digamma")},
    **{name: _unary(name, -0.9, 0.9) for name in ("asin", "acos", "atanh", "erfinv")},
    **{name: _unary(name) for name in ("sigmoid", "erf", "erfc", "deg2rad", "rad2deg")},
    "acosh": _unary("acosh", 1.2, 3),
    "sinc": [*_unary("sinc", 0.2, 1.5), *_unary("sinc", 0.01, 0.03)],
    "tanh_backward": _backward("tanh_backward"),
    "sigmoid_backward": _backward("sigmoid_backward"),
    "atan2": [sample(lambda torch, a, b: torch.atan2(a, b), normal(2, 3), positive(3))],
    "logit": [
        sample(lambda torch, x: torch.logit(x), within(0.1, 0.9, 2, 3)),
        sample(lambda torch, x: x.logit(0.3), [0.1, 0.4, 0.6, 0.8]),
    ],
    "logaddexp": [sample(lambda torch, a, b: torch.logaddexp(a, b), normal(2, 3), normal(3))],
    "logaddexp2": [sample(lambda torch, a, b: torch.logaddexp2(a, b), normal(2, 3), normal(3))],
    "hypot": [sample(lambda torch, a, b: torch.hypot(a, b), normal(2, 3), positive(3))],
    "xlogy": [sample(lambda torch, a, b: torch.xlogy(a, b), normal(2, 3), positive(3))],
    "xlogy_number": [sample(lambda torch, a: torch.xlogy(a, 2.5) * a, normal(2, 3))],
    "number_xlogy": [sample(lambda torch, a: torch.xlogy(2.5, a), positive(2, 3))],
    "polygamma": [
        sample(lambda torch, x: torch.polygamma(1, x), within(0.5, 4, 2, 3)),
        sample(lambda torch, x: x.polygamma(2), within(0.5, 4, 2, 3)),
    ],
}
