"""Samples of divisors, steps, floats by their parts, and copies with a part replaced."""

from __future__ import annotations

from minitorch import _op

from .sample import Sample, normal, sample

SAMPLES: dict[str, list[Sample]] = {
    "gcd": [sample(lambda torch, a, b: torch.gcd(a.long(), b.long()), [4.0, -6.0, 0.0], [6.0, 9.0, 0.0], order=0)],
    "lcm": [sample(lambda torch, a, b: torch.lcm(a.long(), b.long()), [4.0, -6.0, 0.0], [6.0, 9.0, 0.0], order=0)],
    "heaviside": [sample(lambda torch, a, b: torch.heaviside(a, b), [-1.0, 0.0, 2.0], [0.5], order=0)],
    "underived": [
        sample(
            lambda torch, a, b: _op.rows["underived"].call(a, b, "aten::nothing"),
            [1.0, 2.0],
            0.5,
            order=0,
            in_torch=False,
        )
    ],
    "nextafter": [
        sample(lambda torch, a, b: torch.nextafter(a, b), [1.0, -2.0], [2.0, 2.0]),
        sample(lambda torch, a, b: torch.nextafter(a, b), [1.0, -2.0, 0.5], [2.0, 2.0, 0.5], order=0),
    ],
    "frexp": [
        sample(lambda torch, x: torch.frexp(x).mantissa, [[1.5, -2.5], [0.3, 100.0]], same_graph=False),
        sample(lambda torch, x: x.frexp()[0], 0.75, same_graph=False),
    ],
    "angle": [sample(lambda torch, x: torch.angle(x), [-1.5, 2.0, 0.5], order=0)],
    "select_scatter": [
        sample(lambda torch, x, y: torch.select_scatter(x, y, 1, -1), normal(2, 3), normal(2)),
        sample(lambda torch, x, y: x.select_scatter(y, 0, 0), normal(3), normal()),
    ],
    "slice_scatter": [
        sample(lambda torch, x, y: torch.slice_scatter(x, y, 1, 1), normal(2, 3), normal(2, 2)),
        sample(lambda torch, x, y: x.slice_scatter(y, start=-4, end=9, step=2), normal(5, 2), normal(2, 2)),
    ],
    "diagonal_scatter": [
        sample(lambda torch, x, y: torch.diagonal_scatter(x, y), normal(3, 3), normal(3)),
        sample(lambda torch, x, y: x.diagonal_scatter(y, 1, 0, 2), normal(3, 2, 3), normal(2, 2)),
    ],
    "as_strided_scatter": [  # PyTorch's gradient of x is that of the places which are replaced
        sample(
            lambda torch, x, y: torch.as_strided_scatter(x.contiguous(), y, (2, 2), (1, 2), 1),
            normal(2, 3),
            normal(2, 2),
            in_torch=False,
        ),
    ],
}
