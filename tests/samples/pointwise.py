"""Samples of arithmetic, powers, signs and rounding."""

from __future__ import annotations

import numpy as np

from .sample import Sample, distinct, normal, positive, sample, within

QUOTIENTS = np.array([7.3, -7.3, 2.6]), np.array([2.0, 3.5, -1.1])

SAMPLES: dict[str, list[Sample]] = {
    "add": [
        sample(lambda torch, a, b: a + b, normal(2, 3), normal(2, 3)),
        sample(lambda torch, a, b: torch.add(a, b), normal(2, 1), normal(3)),
        sample(lambda torch, a: 2 + a, normal(2)),
    ],
    "add_scaled": [sample(lambda torch, a, b: torch.add(a, b, alpha=-1.5), normal(2, 3), normal(3))],
    "sub": [
        sample(lambda torch, a, b: a - b, normal(2, 3), normal(3)),
        sample(lambda torch, a: a - 2, normal(2)),
    ],
    "sub_scaled": [sample(lambda torch, a, b: a.sub(b, alpha=3), normal(3), normal(2, 1))],
    "rsub": [sample(lambda torch, a, b: torch.rsub(a, b, alpha=2), normal(2, 3), normal(3))],
    "rsub_number": [sample(lambda torch, a: 10 - a, normal(2, 3))],
    "mul": [
        sample(lambda torch, a, b: a * b, normal(2, 3), normal(2, 1)),
        sample(lambda torch, a: a * 3 * a, normal(2, 3)),
    ],
    "neg": [sample(lambda torch, a: -a, normal(2, 3))],
    "reciprocal": [
        sample(lambda torch, a: a.reciprocal(), positive(2, 3)),
        sample(lambda torch, a: 3 / a, positive(2)),
    ],
    "div": [
        sample(lambda torch, a, b: a / b, normal(2, 3), positive(3)),
        sample(lambda torch, a: torch.true_divide(a, 4), normal(2, 3)),
    ],
    "div_floor": [
        sample(lambda torch, a, b: torch.div(a, b, rounding_mode="floor"), *QUOTIENTS, order=1),
        sample(lambda torch, a: a.div(2, rounding_mode="floor"), QUOTIENTS[0], order=1),
    ],
    "div_trunc": [sample(lambda torch, a, b: torch.div(a, b, rounding_mode="trunc"), *QUOTIENTS, order=1)],
    "floor_divide": [
        sample(lambda torch, a, b: a // b, *QUOTIENTS, order=0),
        sample(lambda torch, a: 7 // a, QUOTIENTS[0], order=0),
    ],
    "remainder": [sample(lambda torch, a, b: a % b, *QUOTIENTS, order=1)],
    "remainder_number": [sample(lambda torch, a: a % 2, QUOTIENTS[0], order=1)],
    "fmod": [sample(lambda torch, a, b: torch.fmod(a, b), *QUOTIENTS, order=1)],
    "fmod_number": [sample(lambda torch, a: a.fmod(2), QUOTIENTS[0], order=1)],
    "lerp": [sample(lambda torch, a, b, w: torch.lerp(a, b, w), normal(2, 3), normal(3), within(0, 1, 2, 1))],
    "lerp_number": [
        sample(lambda torch, a, b: torch.lerp(a, b, 0.25), normal(2, 3), normal(3)),
        sample(lambda torch, a, b: a.lerp(b, 0.75), normal(3), normal(3)),
    ],
    "addcmul": [
        sample(lambda torch, a, b, c: torch.addcmul(a, b, c), normal(2, 3), normal(3), normal(2, 1)),
        sample(lambda torch, a, b, c: a.addcmul(b, c, value=0.5), normal(3), normal(3), normal(3)),
    ],
    "addcdiv": [
        sample(lambda torch, a, b, c: torch.addcdiv(a, b, c), normal(2, 3), normal(3), positive(2, 1)),
        sample(lambda torch, a, b, c: a.addcdiv(b, c, value=-2), normal(3), normal(3), positive(3)),
    ],
    "pow": [sample(lambda torch, a, b: a**b, positive(2, 3), normal(3))],
    "pow_number": [
        sample(lambda torch, a: a**2, normal(2, 3)),
        sample(lambda torch, a: a**3 + a**1, normal(2, 3)),
        sample(lambda torch, a: torch.pow(a, -1) + a.pow(0.5) + a**2.7, positive(2, 3)),
        sample(lambda torch, a: a * a**0, normal(2)),
    ],
    "pow_of_number": [
        sample(lambda torch, a: 2**a, normal(2, 3)),
        sample(lambda torch, a: a * torch.pow(0.0, a), positive(3), in_torch=False),
    ],
    "sqrt": [sample(lambda torch, a: a.sqrt(), positive(2, 3))],
    "rsqrt": [sample(lambda torch, a: torch.rsqrt(a), positive(2, 3))],
    "ldexp": [sample(lambda torch, a, b: torch.ldexp(a, b), normal(2, 3), normal(3))],
    "abs": [sample(lambda torch, a: abs(a) * a, distinct(2, 3))],
    "sign": [sample(lambda torch, a: torch.sign(a), distinct(2, 3), order=1)],
    "sgn": [sample(lambda torch, a: torch.sgn(a), distinct(2, 3), order=1, in_torch=False)],
    "signbit": [sample(lambda torch, a: torch.signbit(a), distinct(2, 3), order=0)],
    "copysign": [sample(lambda torch, a, b: torch.copysign(a, b) * a, distinct(2, 3), distinct(3))],
    "copysign_number": [sample(lambda torch, a: a.copysign(-2) * a, distinct(2, 3))],
    "floor": [sample(lambda torch, a: a.floor(), distinct(2, 3), order=1)],
    "ceil": [sample(lambda torch, a: a.ceil(), distinct(2, 3), order=1)],
    "trunc": [sample(lambda torch, a: a.trunc(), distinct(2, 3), order=1)],
    "round": [sample(lambda torch, a: a.round(), distinct(2, 3), order=1)],
    "round_decimals": [
        sample(lambda torch, a: torch.round(a, decimals=1), distinct(2, 3) + 0.02, order=1),
        sample(lambda torch, a: torch.round(a * 10, decimals=-1), distinct(2, 3), order=1),
    ],
    "frac": [sample(lambda torch, a: torch.frac(a), distinct(2, 3), order=1)],
}
