"""Samples of inverses and systems of equations."""

from __future__ import annotations

import numpy as np

from .sample import Sample, normal, sample


def well(*shape: int) -> np.ndarray:
    """Matrices that are far from singular."""
    return np.asarray(normal(*shape) + 3 * np.eye(shape[-1]))


SAMPLES: dict[str, list[Sample]] = {
    "inv_ex": [
        sample(lambda t, x: t.linalg.inv(x), well(3, 3)),
        sample(lambda t, x: x.inverse(), well(2, 2, 2)),
        sample(lambda t, x: t.linalg.inv_ex(x).inverse, well(2, 2)),
        sample(lambda t, x: t.linalg.tensorinv(x, 1), well(4, 4).reshape(4, 2, 2)),
    ],
    "solve_ex": [
        sample(lambda t, a, b: t.linalg.solve(a, b), well(3, 3), normal(3, 2)),
        sample(lambda t, a, b: t.linalg.solve(a, b), well(2, 1, 2, 2), normal(3, 2, 1)),
        sample(lambda t, a, b: t.linalg.solve(a, b, left=False), well(2, 2), normal(3, 1, 2)),
        sample(lambda t, a, b: t.linalg.solve(a, b), well(2, 2, 2), normal(2, 2)),
        sample(lambda t, a, b: t.linalg.solve_ex(a, b).result, well(3, 3), normal(3)),
        sample(lambda t, a, b: t.linalg.tensorsolve(a, b), well(4, 4).reshape(2, 2, 4), normal(2, 2)),
    ],
    "solve_triangular": [
        sample(lambda t, a, b: t.linalg.solve_triangular(a, b, upper=True), well(3, 3), normal(3, 2)),
        sample(lambda t, a, b: t.linalg.solve_triangular(a, b, upper=False), well(2, 1, 2, 2), normal(3, 2, 1)),
        sample(lambda t, a, b: t.linalg.solve_triangular(a, b, upper=True, left=False), well(2, 2), normal(2, 3, 2)),
        sample(
            lambda t, a, b: t.linalg.solve_triangular(a, b, upper=False, left=False, unitriangular=True),
            well(3, 3),
            normal(2, 3),
        ),
        sample(
            lambda t, a, b: t.triangular_solve(b, a, transpose=True).solution, well(3, 3), normal(3, 1), in_torch=False
        ),
    ],
    "cholesky_solve": [
        sample(lambda t, a, b: t.cholesky_solve(b, a), well(3, 3), normal(2, 3, 2), in_torch=False),
        sample(lambda t, a, b: t.cholesky_solve(b, a.tril()), well(3, 3), normal(2, 3, 2)),
        sample(lambda t, a, b: b.cholesky_solve(a.triu(), upper=True), well(3, 3), normal(3, 1)),
    ],
    "cholesky_inverse": [
        sample(lambda t, a: t.cholesky_inverse(a.tril()), well(2, 3, 3)),
        sample(lambda t, a: t.cholesky_inverse(a, upper=True), well(3, 3), in_torch=False),
    ],
}
