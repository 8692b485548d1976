"""Samples of Cholesky, LU and QR factorisations."""

from __future__ import annotations

from typing import Any

import numpy as np

from .sample import Sample, normal, sample
from .solves import well

_PIVOTS = np.array([3, 2, 3], np.int32)


def _definite(x: Any) -> Any:
    return x @ x.mT + x.new_ones(x.shape[-1]).diag()


SAMPLES: dict[str, list[Sample]] = {
    "cholesky_ex": [
        sample(lambda t, x: t.linalg.cholesky(_definite(x)), normal(3, 3)),
        sample(lambda t, x: t.linalg.cholesky(_definite(x), upper=True), normal(2, 2, 2)),
        sample(lambda t, x: t.linalg.cholesky_ex(_definite(x)).L, normal(2, 2)),
    ],
    "lu_factor_ex": [
        sample(lambda t, x: t.linalg.lu_factor(x).LU, normal(3, 3)),
        sample(lambda t, x: t.linalg.lu_factor_ex(x).LU, normal(2, 2, 3)),
        sample(lambda t, x: t.lu(x)[0], normal(4, 2), in_torch=False),
    ],
    "lu": [
        sample(lambda t, x: t.linalg.lu(x)[1:], normal(3, 3)),
        sample(lambda t, x: t.linalg.lu(x)[1:], normal(2, 2, 4)),
        sample(lambda t, x: t.linalg.lu(x)[1:], normal(4, 2)),
    ],
    "lu_parts": [
        sample(lambda t, x: t.lu_unpack(x, t.tensor(_PIVOTS))[1:], normal(3, 3)),
        sample(lambda t, x: t.lu_unpack(x, t.tensor(_PIVOTS), unpack_pivots=False)[1:], normal(2, 3, 4)),
        sample(lambda t, x: t.lu_unpack(x, t.tensor(_PIVOTS), unpack_pivots=False)[1:], normal(4, 3)),
    ],
    "permutation": [sample(lambda t, x: t.lu_unpack(x, t.tensor(_PIVOTS)).P, normal(3, 3), order=0)],
    "lu_solve": [
        sample(lambda t, a, b: t.linalg.lu_solve(a, t.tensor(_PIVOTS), b), well(3, 3), normal(3, 2)),
        sample(lambda t, a, b: t.lu_solve(b, *t.linalg.lu_factor(a)), well(2, 2, 2), normal(2, 2, 1), in_torch=False),
        sample(lambda t, a, b: t.linalg.lu_solve(a, t.tensor(_PIVOTS), b, adjoint=True), well(3, 3), normal(2, 3, 1)),
        sample(lambda t, a, b: t.linalg.lu_solve(a, t.tensor(_PIVOTS), b, left=False), well(3, 3), normal(2, 3)),
    ],
    "qr": [
        sample(lambda t, x: t.linalg.qr(x), normal(3, 3)),
        sample(lambda t, x: t.linalg.qr(x), normal(2, 3, 2)),
        sample(lambda t, x: t.qr(x), normal(2, 4), in_torch=False),
        sample(lambda t, x: t.linalg.qr(x, mode="complete"), normal(2, 3)),
    ],
    "matmul": [
        sample(lambda t, a, b: t.linalg.householder_product(a, b), normal(2, 4, 3), normal(2, 2)),
        sample(lambda t, a, b, c: t.ormqr(a, b, c), normal(2, 4, 3), normal(2, 3), normal(2, 4, 2)),
        sample(lambda t, a, b, c: t.ormqr(a, b, c, False, True), normal(2, 3, 3), normal(2, 3), normal(2, 2, 3)),
    ],
}
