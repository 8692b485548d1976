"""Samples of distances, cross products, integrals, and what is made of vectors."""

from __future__ import annotations

from .sample import Sample, distinct, normal, sample

_SETS = normal(3, 2), normal(4, 2)

SAMPLES: dict[str, list[Sample]] = {
    "cdist": [
        sample(lambda t, a, b: t.cdist(a, b), *_SETS, same_graph=False, in_torch=False),
        *[
            sample(lambda t, a, b, p=p: t.cdist(a, b, p), *_SETS, order=1)
            for p in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, float("inf"))
        ],
        *[sample(lambda t, a, b, p=p: t.cdist(a, b, p), *_SETS, in_torch=False) for p in (1.0, 1.5, 3.0, float("inf"))],
        sample(lambda t, a, b: t.cdist(a, b, compute_mode="use_mm_for_euclid_dist"), *_SETS),
        sample(lambda t, a, b: t.cdist(a, b), normal(2, 1, 3, 2), normal(3, 2, 2), order=1),
        sample(lambda t, a, b: t.cdist(a, b), [[1.0, 2.0], [0.0, 1.0]], [[1.0, 2.0]], in_torch=False, order=0),
        sample(lambda t, a: t.pdist(a), normal(4, 2), order=1),
        sample(lambda t, a: t.nn.functional.pdist(a, 3), normal(4, 2), in_torch=False),
    ],
    "cross": [
        sample(lambda t, a, b: t.linalg.cross(a, b), normal(2, 3), normal(1, 3)),
        sample(lambda t, a, b: t.cross(a, b, dim=0), normal(3, 2), normal(3, 2)),
        sample(lambda t, a, b: a.cross(b), normal(2, 3, 2), normal(2, 3, 2), in_torch=False),
    ],
    "sum": [
        sample(lambda t, a, b: t.linalg.vecdot(a, b), normal(2, 3), normal(3)),
        sample(lambda t, y, x: t.trapezoid(y, x), normal(2, 4), distinct(4)),
        sample(lambda t, y: t.trapz(y, dx=0.5, dim=0), normal(3, 2)),
    ],
    "cumsum": [
        sample(lambda t, y, x: t.cumulative_trapezoid(y, x, dim=0), normal(4, 2), distinct(4)),
        sample(lambda t, y: t.cumulative_trapezoid(y, dx=0.5), normal(3, 2)),
    ],
    "vector_norm": [
        sample(lambda t, a, b: t.dist(a, b, 3), normal(2, 3), normal(3)),
        sample(lambda t, x: t.renorm(x, 2, 1, 1.0), normal(3, 2, 2)),
        sample(lambda t, x: t.linalg.norm(x), normal(3, 2, 2)),
        sample(lambda t, x: t.linalg.matrix_norm(x, dim=(0, 2), keepdim=True), normal(3, 2, 2)),
    ],
    "cat": [
        sample(lambda t, x: t.linalg.vander(x, N=4), normal(2, 3)),
        sample(lambda t, x, y, z: t.block_diag(x, y, z), normal(2, 2), normal(3), normal()),
    ],
    "flip": [sample(lambda t, x: t.vander(x), normal(3), in_torch=False)],
    "stack": [sample(lambda t, x: t.combinations(x, 2, with_replacement=True), normal(3))],
}
