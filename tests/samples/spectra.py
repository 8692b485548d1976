"""Samples of eigenvalues and singular values, and what is made of them."""

from __future__ import annotations

from typing import Any

from .determinants import row
from .sample import Sample, normal, sample
from .solves import well

_EQUAL = [[2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 1.0]]


def _symmetric(x: Any) -> Any:
    return x + x.mT


def _without_signs(u: Any, s: Any, vh: Any) -> Any:
    """What does not depend on the signs of singular vectors, which libraries choose differently."""
    return u * u, s, vh * vh


SAMPLES: dict[str, list[Sample]] = {
    "divide_nonzero": [sample(row("divide_nonzero"), [1.0, 2.0, -3.0], [2.0, 0.5, 4.0], in_torch=False)],
    "eigh": [
        sample(lambda t, x: t.linalg.eigh(_symmetric(x)), normal(3, 3), in_torch=False),
        sample(lambda t, x: t.linalg.eigh(_symmetric(x), UPLO="U"), normal(2, 2, 2), in_torch=False),
        sample(lambda t, x: t.linalg.eigh(_symmetric(x)).eigenvectors ** 2, normal(3, 3)),
    ],
    "eigvalsh": [
        sample(lambda t, x: t.linalg.eigvalsh(_symmetric(x)), normal(2, 3, 3)),
        sample(lambda t, x: t.linalg.eigvalsh(_symmetric(x)).sum(), _EQUAL, order=1),
    ],
    "svd": [
        sample(lambda t, x: t.linalg.svd(x, full_matrices=False), normal(3, 3), in_torch=False),
        sample(lambda t, x: t.linalg.svd(x, full_matrices=False), normal(2, 3, 2), in_torch=False),
        sample(lambda t, x: t.linalg.svd(x, full_matrices=False), normal(2, 4), in_torch=False),
        sample(lambda t, x: t.linalg.svd(x)[1:], normal(4, 2), in_torch=False),
        *[
            sample(lambda t, x: _without_signs(*t.linalg.svd(x, full_matrices=False)), normal(*shape))
            for shape in ((3, 3), (4, 2), (2, 2, 4))
        ],
        sample(lambda t, x: _without_signs(*t.svd(x)), normal(3, 2)),
    ],
    "svdvals": [
        sample(lambda t, x: t.linalg.svdvals(x), normal(2, 3, 2)),
        sample(lambda t, x: t.svd(x, compute_uv=False)[1], normal(2, 3)),
        sample(lambda t, x: t.linalg.matrix_norm(x, "nuc"), normal(2, 2, 3)),
        sample(lambda t, x: t.linalg.norm(x, -2, dim=(0, 2), keepdim=True), normal(2, 2, 3)),
        sample(lambda t, x: t.linalg.cond(x), normal(2, 3, 3)),
        sample(lambda t, x: t.norm(x, "nuc"), normal(2, 3)),
    ],
    "pinv": [
        sample(lambda t, x: t.linalg.pinv(x), normal(2, 3, 2)),
        sample(lambda t, x: t.pinverse(x), normal(2, 3)),
        sample(lambda t, x: t.linalg.pinv(x @ x.mT), normal(3, 2)),
        sample(lambda t, x: t.linalg.pinv(_symmetric(x), hermitian=True), normal(3, 3)),
    ],
    "lstsq": [
        sample(lambda t, a, b: t.linalg.lstsq(a, b).solution, normal(4, 2), normal(4, 2)),
        sample(lambda t, a, b: t.linalg.lstsq(a, b)[0], normal(2, 2, 3), normal(2, 2)),
        sample(lambda t, a, b: t.linalg.lstsq(a, b, driver="gelsd")[:2], normal(4, 2), normal(4, 1)),
    ],
    "matrix_exp": [
        sample(lambda t, x: t.linalg.matrix_exp(x), normal(3, 3)),
        sample(lambda t, x: t.matrix_exp(x), normal(2, 2, 2)),
        sample(lambda t, x: t.matrix_exp(8 * x), normal(2, 2)),
    ],
    "mm": [
        sample(lambda t, x: t.matrix_power(x, 5), normal(2, 2)),
        sample(lambda t, x: t.linalg.matrix_power(x, -2), well(2, 2)),
        sample(lambda t, x: t.cov(x), normal(2, 4)),
        sample(lambda t, x: t.corrcoef(x), normal(3, 4)),
    ],
    "amax": [
        sample(lambda t, x: t.linalg.matrix_norm(x, 1), normal(2, 2, 3), order=1),
        sample(lambda t, x: t.linalg.norm(x, float("inf")), normal(2, 3), order=1),
        sample(lambda t, x: t.linalg.cond(x, 1), well(3, 3), in_torch=False),
    ],
}
