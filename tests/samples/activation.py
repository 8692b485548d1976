"""Samples of activation functions."""

from __future__ import annotations

import math
from typing import Any

from minitorch import _op

from .sample import Sample, distinct, normal, sample


def called(name: str, *inputs: Any, options: dict[str, Any] | None = None, **about: Any) -> Sample:
    """A call of a function of ``torch.nn.functional``."""
    return sample(lambda t, *x: getattr(t.nn.functional, name)(*x, **(options or {})), *inputs, **about)


def kinked(name: str, **options: Any) -> Sample:
    """A call of a function with kinks, none of them near."""
    return called(name, distinct(3, 4), options=options)


def smooth(name: str, **options: Any) -> Sample:
    return called(name, 2 * normal(3, 4), options=options)


def derivative(name: str, *params: Any, kinks: bool = False) -> Sample:
    """A gradient times a derivative of some order."""

    def call(torch: Any, grad: Any, x: Any) -> Any:
        return _op.rows[name].call(grad, x, *params)

    return sample(call, normal(3, 4), distinct(3, 4) if kinks else 2 * normal(3, 4), in_torch=False)


def gated(name: str, halved: list[bool]) -> list[Sample]:
    """A row of glu's derivatives; of inputs, which are of half the size."""
    call = _op.rows[name].call
    return [
        sample(lambda torch, *x: call(*x, 1), *[normal(3, 2 if half else 4) for half in halved], in_torch=False),
        sample(lambda torch, *x: call(*x, 0), *[normal(1 if half else 2, 3) for half in halved], in_torch=False),
    ]


relu, leaky_relu, hardtanh = kinked("relu"), kinked("leaky_relu"), kinked("hardtanh")
threshold = kinked("threshold", threshold=0.2, value=3.0)
softshrink, hardswish = kinked("softshrink"), kinked("hardswish")
hardsigmoid = [
    called("hardsigmoid", distinct(3, 4), order=1),  # PyTorch has no second derivative
    called("hardsigmoid", distinct(3, 4), in_torch=False),
]
gelus = [smooth("gelu"), smooth("gelu", approximate="tanh")]
softpluses = [smooth("softplus"), kinked("softplus", beta=2.0, threshold=1.5)]
elu = smooth("elu", alpha=1.5)
prelus = [called("prelu", distinct(2, 3, 2), normal(3)), called("prelu", distinct(4), normal(1))]
self_weighted = [sample(lambda t, x: t.nn.functional.prelu(x, x[0, :, 0]), distinct(2, 3, 2))]
glus = [smooth("glu"), called("glu", normal(2, 3), options={"dim": 0})]

SAMPLES: dict[str, list[Sample]] = {
    "relu": [relu, sample(lambda t, x: (x * 1).relu_(), distinct(5))],
    "relu_backward": [relu],
    "threshold": [threshold],
    "threshold_backward": [threshold],
    "leaky_relu": [leaky_relu, kinked("leaky_relu", negative_slope=-0.5)],
    "leaky_relu_backward": [leaky_relu],
    "hardtanh": [hardtanh, kinked("relu6")],
    "hardtanh_backward": [hardtanh],
    "softshrink": [softshrink],
    "hardshrink": [kinked("hardshrink", lambd=0.4)],
    "shrink_backward": [softshrink],
    "hardsigmoid": hardsigmoid,
    "hardsigmoid_backward": hardsigmoid,
    "hardswish": [hardswish],
    "hardswish_backward": [hardswish],
    "gelu": gelus,
    "gelu_backward": gelus,
    "silu": [smooth("silu")],
    "silu_backward": [smooth("silu")],
    "silu_derivative": [smooth("silu"), derivative("silu_derivative", 2)],
    "gelu_derivative": [*gelus, *[derivative("gelu_derivative", 2, how) for how in ("none", "tanh")]],
    "mish": [smooth("mish")],
    "mish_derivative": [smooth("mish"), *[derivative("mish_derivative", order) for order in (1, 2)]],
    "softsign": [smooth("softsign")],
    "softsign_derivative": [smooth("softsign"), *[derivative("softsign_derivative", order) for order in (1, 2)]],
    "softplus": softpluses,
    "softplus_backward": softpluses,
    "softplus_derivative": [
        *softpluses,
        smooth("logsigmoid"),
        derivative("softplus_derivative", 2, 2.0, 1.5, kinks=True),
        derivative("softplus_derivative", 2, -1.0, math.inf),
    ],
    "logsigmoid": [smooth("logsigmoid")],
    "logsigmoid_backward": [smooth("logsigmoid")],
    "elu": [elu, smooth("selu")],
    "celu": [smooth("celu", alpha=2.0)],
    "elu_derivative": [elu, derivative("elu_derivative", 1.5, 1.0, 0.5, 2, kinks=True)],
    "prelu": self_weighted,
    "prelu_backward": prelus,
    "where_not_positive": self_weighted,
    "glu": glus,
    "glu_backward": [*glus, *gated("glu_backward", halved=[True, False])],
    "glu_jvp": gated("glu_jvp", halved=[False, False]),
    "glu_bend": [*glus, *gated("glu_bend", halved=[True, False, False])],
    "half": gated("glu_bend", halved=[True, False, False]),
    "half_of": gated("glu_bend", halved=[True, False, False]),
    "halves": gated("glu_bend", halved=[True, False, False]),
}
