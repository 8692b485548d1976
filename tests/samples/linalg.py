"""Samples of matrix products."""

from __future__ import annotations

from .sample import Sample, normal, sample

MATRICES = normal(2, 3), normal(3, 4)
BATCHES = normal(2, 2, 3), normal(2, 3, 2)

mm = sample(lambda t, a, b: t.mm(a, b), *MATRICES)
folded_mm = sample(lambda t, a, b: a @ b, normal(2, 2, 3), normal(3, 2))
mv = sample(lambda t, a, b: t.mv(a, b), normal(2, 3), normal(3))
matmul = sample(lambda t, a, b: t.matmul(a, b), normal(2, 1, 2, 3), normal(2, 3, 2))
addmm = sample(lambda t, a, b, c: t.addmm(a, b, c, beta=0.5, alpha=2), normal(4), *MATRICES)
linear = sample(lambda t, a, w, b: t.nn.functional.linear(a, w, b), normal(2, 3), normal(4, 3), normal(4))

SAMPLES: dict[str, list[Sample]] = {
    "mm": [mm, sample(lambda t, a, b: a @ b, normal(3, 2), normal(2, 1)), sample(lambda t, a: a @ a, normal(2, 2))],
    "mm_nt": [mm, sample(lambda t, a, w: t.nn.functional.linear(a, w), normal(2, 3), normal(4, 3)), folded_mm],
    "mm_tn": [mm, folded_mm, linear],
    "folded_mm": [folded_mm],
    "folded_mm_nt": [sample(lambda t, a, w: t.nn.functional.linear(a, w), normal(2, 2, 3), normal(4, 3))],
    "mv": [mv, sample(lambda t, a, b: a @ b, normal(2, 3), normal(3))],
    "folded_mv": [sample(lambda t, a, b: a @ b, normal(2, 2, 3), normal(3))],
    "mv_t": [mv],
    "rows_times": [mv],
    "vm": [sample(lambda t, a, b: a @ b, normal(3), normal(3, 2))],
    "dot": [sample(lambda t, a, b: t.dot(a, b), normal(3), normal(3)), sample(lambda t, a: a @ a, normal(3))],
    "vdot": [sample(lambda t, a, b: t.vdot(a, b), normal(3), normal(3))],
    "matmul": [
        matmul,
        sample(lambda t, a, b: a @ b, normal(2, 3), normal(2, 3, 2)),
        sample(lambda t, a, b: a @ b, normal(3), normal(2, 3, 2)),
    ],
    "bmm": [sample(lambda t, a, b: t.bmm(a, b), *BATCHES)],
    "bmm_nt": [matmul],
    "bmm_tn": [matmul],
    "addmm": [
        addmm,
        sample(lambda t, a, b, c: t.addmm(a, b, c), normal(2, 4), *MATRICES),
        sample(lambda t, a, b, c: t.addmm(a, b, c, beta=0), normal(2, 4), *MATRICES),
    ],
    "addmv": [sample(lambda t, a, b, c: t.addmv(a, b, c, alpha=2), normal(2), normal(2, 3), normal(3))],
    "addr": [sample(lambda t, a, b, c: t.addr(a, b, c, beta=3), normal(2, 3), normal(2), normal(3))],
    "baddbmm": [sample(lambda t, a, b, c: t.baddbmm(a, b, c, beta=0.5, alpha=2), normal(1, 2), *BATCHES)],
    "addbmm": [sample(lambda t, a, b, c: t.addbmm(a, b, c, beta=0.5, alpha=2), normal(2, 2), *BATCHES)],
    "linear": [linear],
    "folded_linear": [
        sample(lambda t, a, w, b: t.nn.functional.linear(a, w, b), normal(2, 2, 3), normal(4, 3), normal(4)),
        sample(lambda t, a, w, b: t.nn.functional.linear(a, w, b), normal(3), normal(4, 3), normal(4)),
    ],
    "vector_linear": [sample(lambda t, a, w: t.nn.functional.linear(a, w), normal(3), normal(4, 3))],
    "contract": [
        sample(lambda t, a, b: t.einsum("ij,jk->ki", a, b), *MATRICES),
        sample(lambda t, a, b: t.einsum("bij,bjk->bik", a, b), *BATCHES),
        sample(lambda t, a, b: t.einsum("i...,i...", a, b), normal(3, 2), normal(3, 1)),
        sample(lambda t, a, b, c: t.einsum("bn,anm,bm->ba", a, b, c), normal(2, 2), normal(2, 2, 3), normal(2, 3)),
        sample(lambda t, a, b: t.tensordot(a, b, dims=([0, -1], [1, 0])), normal(2, 2, 3), normal(3, 2, 2)),
    ],
}
