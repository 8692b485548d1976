"""Products, factorisations and solves."""

from __future__ import annotations

import numpy as np

from conformance import values
from conformance.spec import FLOATS, op

INTS = (*FLOATS, "int64", "float16")
TWO = {"a": values.normal, "b": values.normal}
BAD = (
    "@(); @(a); @('x'); @(a, 'x'); @(a, 1); @(a, b, b, b, b, b); @(a, b, nonsense=1); @(a, None); "
    "@(a, torch.ones(7, 7)); @(a, b.int()); "
)
PRODUCT = "@(a, b); a.@(b); @(a, b, out=out); "


def spread(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Square matrices far from singular, with distinct eigenvalues."""
    size = shape[-1]
    return np.asarray(rng.normal(size=shape) * 0.4 + np.diag(np.arange(1, size + 1) * 1.3)).astype(dtype)


def definite(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Symmetric, positive definite, with distinct eigenvalues."""
    half = spread(rng, shape, "float64")
    return np.asarray(half @ half.swapaxes(-1, -2)).astype(dtype)


def triangle(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    return np.tril(spread(rng, shape, dtype))


PLAIN = ("contiguous", "transposed", "sliced")
SQUARES = ((3, 3), (1, 1), (2, 3, 3), (0, 0), (2, 2), (2, 0, 3, 3), (4, 4))
WIDE = ((3, 4), (4, 2), (3, 3), (2, 3, 4), (1, 3), (2, 2, 3))
MATMUL = (
    ((3, 4), (4, 2)),
    ((3,), (3,)),
    ((3, 4), (4,)),
    ((3,), (3, 2)),
    ((2, 3, 4), (4, 5)),
    ((2, 1, 3, 4), (5, 4, 2)),
    ((0, 3), (3, 2)),
    ((2, 0), (0, 3)),
    ((3,), (2, 3, 4)),
    ((2, 3, 4), (4,)),
    ((3, 4), (5, 2)),
    ((), (3,)),
)
op(
    "matmul",
    PRODUCT + "@(input=a, other=b); a @ b; @(a, other=b)",
    shapes=MATMUL,
    dtypes=(*INTS, "float64 float32"),
    **TWO,
    bad=BAD,
)
op(
    "mm",
    PRODUCT + "@(input=a, mat2=b); a.@(mat2=b)",
    shapes=(((3, 4), (4, 2)), ((0, 3), (3, 2)), ((2, 0), (0, 3)), ((1, 1), (1, 1)), ((3, 4), (5, 2)), ((5, 3), (3, 5))),
    dtypes=INTS,
    **TWO,
    bad=BAD + "@(a, b[0]); @(a[None], b)",
)
op(
    "bmm",
    PRODUCT + "@(input=a, mat2=b); a.@(mat2=b)",
    shapes=(
        ((2, 3, 4), (2, 4, 2)),
        ((0, 3, 2), (0, 2, 3)),
        ((2, 2, 0), (2, 0, 3)),
        ((1, 1, 1), (1, 1, 1)),
        ((3, 5, 2), (3, 2, 5)),
    ),
    dtypes=INTS,
    **TWO,
    bad=BAD + "@(a, b[0]); @(a[:1], b); @(a, b[:, :1])",
)
op(
    "mv",
    "@(a, b); a.@(b); @(a, b, out=out); @(input=a, vec=b); a.@(vec=b)",
    shapes=(((3, 4), (4,)), ((0, 3), (3,)), ((2, 0), (0,)), ((1, 1), (1,)), ((5, 2), (2,))),
    dtypes=INTS,
    **TWO,
    bad=BAD + "@(a, a); @(b, b)",
)
op(
    "dot",
    "@(a, b); a.@(b); @(a, b, out=out); @(input=a, tensor=b); a.@(tensor=b)",
    shapes=(((4,), (4,)), ((0,), (0,)), ((1,), (1,)), ((7,), (7,))),
    dtypes=(*INTS, "int32"),
    **TWO,
    bad=BAD + "@(a[None], b); @(a, b[None]); @(a, b[:2])",
)
op(
    "inner",
    PRODUCT + "@(input=a, other=b); a.@(other=b)",
    shapes=(((4,), (4,)), ((3, 4), (4,)), ((2, 3), (5, 3)), ((), (3,)), ((), ()), ((2, 3, 4), (2, 4)), ((0,), (0,))),
    dtypes=INTS,
    **TWO,
    bad=BAD,
)
op(
    "outer",
    "@(a, b); a.@(b); @(a, b, out=out); @(input=a, vec2=b); a.@(vec2=b); torch.ger(a, b)",
    shapes=(((4,), (3,)), ((0,), (3,)), ((1,), (1,)), ((2,), (5,))),
    dtypes=(*INTS, "bool", "float64 float32"),
    **TWO,
    bad=BAD + "@(a[None], b); @(a, b[None]); @(a[0], b)",
)
ADDED = (
    "@(c, a, b); c.@(a, b); @(c, a, b, beta=2); @(c, a, b, alpha=0.5, beta=-1); c.@(a, b, beta=0); "
    "@(c, a, b, out=out); "
)
ADDED_IN_PLACE = "c.@_(a, b); c.@_(a, b, alpha=2)"
ADD_BAD = (
    "@(); @(c); @(c, a); @(c, a, 'x'); @(c, 1, b); @(c, a, b, alpha='x'); @(c, a, torch.ones(7, 7)); "
    "@(torch.ones(7, 7), a, b); @(c, a, b.int()); c.@_(a, a); @(1.0, a, b); @(c, a, b, nonsense=1); "
)
op(
    "addmm",
    ADDED + ADDED_IN_PLACE + "; @(c, mat1=a, mat2=b, beta=1)",
    shapes=(
        ((3, 4), (4, 2), (3, 2)),
        ((3, 4), (4, 2), (2,)),
        ((3, 4), (4, 2), (3, 1)),
        ((3, 4), (4, 2), ()),
        ((0, 3), (3, 2), (2,)),
        ((2, 0), (0, 3), (2, 3)),
    ),
    dtypes=(*FLOATS, "float16"),
    **TWO,
    c=values.normal,
    bad=ADD_BAD,
)
op(
    "addmm",
    "@(c, a, b); @(c, a, b, alpha=2, beta=3); c.@(a, b)",
    shapes=(((3, 4), (4, 2), (3, 2)), ((0, 3), (3, 2), (2,))),
    dtypes=("int64", "int32"),
    **TWO,
    c=values.normal,
)
op(
    "baddbmm",
    ADDED + "@(c, batch1=a, batch2=b, beta=1)",
    shapes=(
        ((2, 3, 4), (2, 4, 2), (2, 3, 2)),
        ((2, 3, 4), (2, 4, 2), (2,)),
        ((2, 3, 4), (2, 4, 2), (2, 3, 1)),
        ((2, 3, 4), (2, 4, 2), ()),
        ((0, 3, 1), (0, 1, 2), (2,)),
    ),
    dtypes=(*FLOATS, "float16"),
    **TWO,
    c=values.normal,
    bad=ADD_BAD,
)
op(  # into an expanded tensor PyTorch adds up as its loops happen to run
    "baddbmm",
    ADDED_IN_PLACE,
    shapes=(((2, 3, 4), (2, 4, 2), (2, 3, 2)), ((1, 3, 2), (1, 2, 5), (1, 3, 5))),
    dtypes=(*FLOATS, "float16"),
    layouts=PLAIN,
    **TWO,
    c=values.normal,
)
op(
    "tensordot",
    "@(a, b, 1); @(a, b, dims=([1], [0])); @(a, b, ([-1], [0])); @(a, b, 0); @(a, b, dims=((), ())); "
    "@(a, b, torch.tensor(1)); @(a, b, torch.tensor([[1], [0]])); @(a, b, dims=1)",
    shapes=(((3, 4), (4, 2)), ((2, 4), (4, 3, 2)), ((0, 3), (3, 2)), ((5, 2), (2,)), ((1, 3), (1, 3))),
    dtypes=FLOATS,
    **TWO,
    bad=BAD + "@(a, b, 9); @(a, b, ([0], [0, 1])); @(a, b, ([9], [0])); @(a, b, 'x'); @(a, b, -1); "
    "@(a, b, ([0, 0], [0, 1]))",
)
op(
    "tensordot",
    "@(a, b); @(a, b, 2); @(a, b, ([0, 1], [0, 1])); @(a, b, dims=([-1, 0], [1, 0]))",
    shapes=(((3, 4), (3, 4)), ((3, 4), (3, 4, 2)), ((2, 2), (2, 2))),
    dtypes=FLOATS,
    **TWO,
)
op(
    "einsum",
    "@('ij,jk->ik', a, b); @('ij,jk', a, b); @('ij,jk->ki', a, b); @('ij,jk->', a, b); @('ij->ji', a); "
    "@('ij->i', a); @('ij->', a); @('ij,jk->ijk', a, b); @('...j,jk->...k', a, b); @('ij,ij->ij', a, a); "
    "@('ij , jk -> ik', a, b); @('ij,jk->ik', [a, b])\n"
    "@(a, [0, 1], b, [1, 2], [0, 2]); @(a, [0, 1], b, [1, 2]); @('ij,ij->', a, a); "
    "@('ab,bc,cd->ad', a, b, b.T); @('...ij->...ji', a); @('ij,kl->ijkl', a, b); @('i...->...', a)",
    shapes=(((3, 4), (4, 2)), ((1, 3), (3, 5)), ((0, 3), (3, 2)), ((2, 2), (2, 2)), ((4, 3), (3, 1))),
    dtypes=(*FLOATS, "int64"),
    **TWO,
    bad="@(); @('ij'); @('ij,jk->ik', a); @('ij,jk->iz', a, b); @('ijk,jk', a, b); "
    "@('ij,ik', a, torch.ones(7, 7)); @('i1', a); @(a, b); @('ij->ii', a); @('ij,jk->ik', a, 1); @('', a)",
)
op(
    "einsum",
    "@('ii->i', a); @('ii', a); @('ii->', a); @('ij,ij,ij->i', a, a, a); @('bij->bji', a[None]); @('...ii->...i', a)",
    shapes=((3, 3), (1, 1), (0, 0), (4, 4)),
    dtypes=FLOATS,
)
op(
    "cross",
    "@(a, b, dim=-1); a.@(b, dim=-1); @(a, b, -1); @(a, b, dim=1); a.@(b, 1); @(a, b, dim=-1, out=out); "
    "@(a, other=b, dim=-1)",
    shapes=(((2, 3), (2, 3)), ((1, 3), (4, 3)), ((0, 3), (0, 3)), ((3, 3), (3, 3)), ((2, 3), (1, 3))),
    dtypes=(*INTS, "float64 float32"),
    **TWO,
    bad=BAD + "@(a, b, dim=9); @(a, b, dim=0); @(torch.ones(2, 4), torch.ones(2, 4))",
)
op("cross", "@(a, b); a.@(b)", shapes=(((3,), (3,)), ((3, 4), (3, 4)), ((2, 4, 3), (2, 4, 3))), dtypes=FLOATS, **TWO)
op(
    "kron",
    PRODUCT + "@(input=a, other=b); a.@(other=b)",
    shapes=(((3, 2), (2, 2)), ((3,), (2,)), ((2,), (2, 3)), ((), (3,)), ((0, 2), (2, 2)), ((), ()), ((2, 1, 2), (3,))),
    dtypes=(*INTS, "float32 int64"),
    layouts=("contiguous",),
    **TWO,
    bad="@(); @(a); @('x'); @(a, 'x'); @(a, 1); @(a, b, b, b); @(a, b, nonsense=1); @(a, None); a.@()",
)
op(
    "cdist",
    "@(a, b); @(a, b, 1); @(a, b, p=2.0); @(a, b, 3.0); @(a, b, p=inf); "
    "@(a, b, compute_mode='donot_use_mm_for_euclid_dist'); @(a, b, compute_mode='use_mm_for_euclid_dist'); "
    "@(a, b, p=1.5); @(a, b, 0.0); @(x1=a, x2=b)",
    shapes=(
        ((3, 4), (5, 4)),
        ((2, 3, 4), (2, 2, 4)),
        ((2, 3, 4), (5, 4)),
        ((0, 3), (2, 3)),
        ((3, 0), (2, 0)),
        ((2, 1, 3, 2), (4, 5, 2)),
    ),
    dtypes=FLOATS,
    **TWO,
    tolerance=1e-6,
    bad=BAD + "@(a, b, -1.0); @(a[0], b); @(a, b, compute_mode='x'); @(a.long(), b.long()); "
    "@(a, torch.ones(3, 7)); @(a, b, 'x')",
)
op(
    "linalg.multi_dot",
    "@([a, b]); @((a, b)); @(tensors=[a, b]); @([a, b, b.T]); @([a, b], out=out); @([a, b, b.T, b])",
    shapes=(((3, 4), (4, 2)), ((0, 3), (3, 2)), ((1, 5), (5, 5)), ((4, 2), (2, 3)), ((3,), (3, 2))),
    dtypes=FLOATS,
    **TWO,
    bad="@(); @([a]); @(a); @([]); @([a, torch.ones(7, 7)]); @([a, 1]); @('x'); @([a, b], 1); @([a, b[None]]); "
    "@([a, b.int()]); @([a, b, b[0]])",
)
ONE_BAD = "@(); @('x'); @(1.0); @(torch.ones(3)); @(torch.tensor(1.0)); @(a, nonsense=1); @(None); @([a]); "
SQUARE_BAD = ONE_BAD + "@(torch.ones(2, 3)); @(a.long()); "
square = {"shapes": SQUARES, "dtypes": FLOATS, "tolerance": 1e-6, "layouts": PLAIN}
op("linalg.det", "@(a); a.det(); @(A=a); torch.det(a); @(a, out=out); @(a) * 2", **square, a=spread, bad=SQUARE_BAD)
op(
    "linalg.det",
    "@(a - a); @(a[..., :1] * a[..., :1, :])",
    shapes=((3, 3), (2, 2), (2, 3, 3)),
    dtypes=("float64",),
    a=spread,
    needs=("none",),
    layouts=PLAIN,
)
op(
    "linalg.slogdet",
    "@(a); a.slogdet(); @(A=a); torch.slogdet(a); @(a).logabsdet; @(-a); @(a, out=out)",
    **square,
    a=spread,
    bad=SQUARE_BAD,
)
op("logdet", "@(a); a.@(); @(input=a); @(a) + 1; -@(a)", **square, a=definite, bad=SQUARE_BAD)
op(
    "linalg.inv",
    "@(a); a.inverse(); @(A=a); torch.inverse(a); @(a, out=out); torch.linalg.inv(a) @ a",
    **square,
    a=spread,
    bad=SQUARE_BAD + "@(torch.zeros(3, 3)); @(torch.ones(2, 2))",
)
op(
    "linalg.solve",
    "@(a, b); @(A=a, B=b); @(a, b, left=True); @(a, b, out=out); @(a.mT, b); @(a, b * 2)",
    shapes=(
        ((3, 3), (3, 2)),
        ((3, 3), (3,)),
        ((2, 3, 3), (2, 3, 1)),
        ((2, 3, 3), (3, 2)),
        ((0, 0), (0, 2)),
        ((1, 1), (1, 1)),
        ((3, 3), (3, 0)),
        ((2, 3, 3), (2, 3)),
    ),
    dtypes=FLOATS,
    layouts=PLAIN,
    tolerance=1e-6,
    a=spread,
    b=values.normal,
    bad=SQUARE_BAD + "@(a); @(a, 1.0); @(a, torch.ones(7, 2)); @(torch.zeros(3, 3), b); @(a, b.int()); "
    "@(a, b, 1, 2); @(a, 'x'); @(a, b, left='x')",
)
op(
    "linalg.solve",
    "@(a, b, left=False)",
    shapes=(((3, 3), (2, 3)), ((2, 3, 3), (2, 1, 3)), ((1, 1), (4, 1))),
    dtypes=FLOATS,
    layouts=PLAIN,
    tolerance=1e-6,
    a=spread,
    b=values.normal,
)
op(
    "linalg.solve_triangular",
    "@(a, b, upper=False); @(a.mT, b, upper=True); @(a, b, upper=False, unitriangular=True); "
    "@(a, B=b, upper=False); @(a, b, upper=True); @(a, b, upper=False, out=out)",
    shapes=(
        ((3, 3), (3, 2)),
        ((2, 3, 3), (2, 3, 1)),
        ((2, 3, 3), (3, 2)),
        ((0, 0), (0, 2)),
        ((1, 1), (1, 1)),
        ((3, 3), (3, 0)),
    ),
    dtypes=FLOATS,
    layouts=PLAIN,
    tolerance=1e-6,
    a=triangle,
    b=values.normal,
    bad=SQUARE_BAD + "@(a, b); @(a, upper=False); @(a, 1.0, upper=False); @(a, torch.ones(7, 2), upper=False); "
    "@(a, b.int(), upper=True); @(a, b, upper='x'); @(a, b[0], upper=True)",
)
op(
    "linalg.solve_triangular",
    "@(a, b, upper=False, left=False); @(a.mT, b, upper=True, left=False)",
    shapes=(((3, 3), (2, 3)), ((2, 3, 3), (2, 1, 3))),
    dtypes=FLOATS,
    layouts=PLAIN,
    tolerance=1e-6,
    a=triangle,
    b=values.normal,
)
op(
    "linalg.cholesky",
    "@(a); @(a, upper=True); @(a, out=out); @(a, upper=False) * 2; @(a) @ @(a).mT",
    **square,
    a=definite,
    bad=SQUARE_BAD + "@(-torch.eye(3)); @(torch.zeros(2, 2)); @(a, upper='x')",
)
op(
    "cholesky",
    "@(a); a.@(); @(a, upper=True); @(a, True); @(a, out=out); a.@(upper=False); @(a) * 2",
    **square,
    a=definite,
    bad=SQUARE_BAD + "@(-torch.eye(3)); @(torch.zeros(2, 2)); @(a, upper='x')",
)
op(
    "linalg.eigh",
    "@(a).eigenvalues; @(a, 'L')[0]; @(a, UPLO='U').eigenvalues; @(a).eigenvectors.abs(); @(a)[1] ** 2",
    **square,
    a=definite,
    bad=SQUARE_BAD + "@(a, 'x'); @(a, UPLO=1)",
)
op(
    "linalg.eigvalsh",
    "@(a); @(a, 'L'); @(a, UPLO='U'); @(a, out=out); @(a) * 2",
    **square,
    a=definite,
    bad=SQUARE_BAD + "@(a, 'x'); @(a, UPLO=1)",
)
op(
    "linalg.qr",
    "@(a); @(A=a); @(a, 'reduced'); @(a, mode='reduced').R; torch.qr(a).Q; a.qr()[0]; @(a, out=out)",
    shapes=((3, 3), (4, 2), (2, 3, 3), (5, 1), (2, 4, 3)),
    dtypes=FLOATS,
    layouts=PLAIN,
    tolerance=1e-6,
    bad=ONE_BAD + "@(a, 'x'); @(a.long()); @(a, mode=1)",
)
op(
    "linalg.qr",
    "@(a, mode='complete'); @(a, mode='r'); @(a, 'complete').R",
    shapes=((3, 3), (4, 2), (2, 3), (2, 4, 3), (0, 3), (3, 0)),
    dtypes=FLOATS,
    layouts=PLAIN,
    needs=("none",),
    tolerance=1e-6,
)
op(
    "linalg.svd",
    "@(a).S; @(A=a)[1]; @(a, False).S; @(a, full_matrices=False).U.abs(); "
    "@(a, full_matrices=False)[2] ** 2; a.svd().S; torch.svd(a)[1]; "
    "@(a, full_matrices=False).Vh.shape",
    shapes=WIDE,
    dtypes=FLOATS,
    layouts=PLAIN,
    tolerance=1e-6,
    bad=ONE_BAD + "@(a, 'x'); @(a.long()); @(a, driver='x')",
)
op(
    "linalg.svdvals",
    "@(a); @(A=a); @(a) * 2; @(a, out=out); @(a)[..., 0]",
    shapes=(*WIDE, (0, 3)),
    dtypes=FLOATS,
    layouts=PLAIN,
    tolerance=1e-6,
    bad=ONE_BAD + "@(a, 'x'); @(a.long()); @(a, driver='x')",
)
op(
    "linalg.pinv",
    "@(a); a.pinverse(); torch.pinverse(a); @(a, rtol=1e-3); @(a, atol=0.01, rtol=0.01); @(a, out=out)",
    shapes=(*WIDE, (0, 3)),
    dtypes=FLOATS,
    layouts=PLAIN,
    tolerance=1e-6,
    bad=ONE_BAD + "@(a, 'x'); @(a.long()); @(a, hermitian='x')",
)
op(
    "linalg.pinv",
    "@(a, hermitian=True)",
    shapes=((3, 3), (2, 3, 3)),
    dtypes=FLOATS,
    layouts=PLAIN,
    tolerance=1e-6,
    a=definite,
)
NORMED = {"dtypes": (*FLOATS, "float16"), "tolerance": 1e-6}
NORM_BAD = (
    "@(); @('x'); @(1.0); @(a, 'x'); @(a.long()); @(a, nonsense=1); @(a, 2, 9); @(a, 2, 'x'); "
    "@(a, 2, (0, 0)); @(a, dtype='x'); @(None); "
)
op(
    "linalg.norm",
    "@(a); @(a, 2, 0); @(a, 1, -1, True); @(a, dim=1); @(a, inf, 0); "
    "@(a, ord=-inf, dim=1); @(a, 0, 1); @(a, 3, dim=0, keepdim=True); @(a, dim=(0, 1)); @(a, None, None, True); "
    "@(a, dtype=torch.float64); "
    "@(a, out=out)",
    shapes=((3, 4), (2, 3, 4), (4, 4), (1, 3), "ties"),
    **NORMED,
    bad=NORM_BAD + "@(a, 'fro', 0); @(a, 'nuc', 0); @(a, 3, (0, 1))",
)
op(
    "linalg.norm",
    "@(a, 'fro'); @(a, 'nuc'); @(a, 1); @(a, -1); @(a, inf); @(a, -inf); @(a, 2); @(a, -2); @(a, 'fro', (0, 1), True)",
    shapes=((3, 4), (4, 4), (1, 3)),
    dtypes=FLOATS,
    tolerance=1e-6,
    layouts=PLAIN,
)
op(
    "linalg.vector_norm",
    "@(a); @(x=a); @(a, 1); @(a, inf); @(a, -inf); @(a, 0); @(a, 3); @(a, ord=2.5); "
    "@(a, 2, 0); @(a, 1, (0, 1), True); @(a, dim=-1); @(a, dtype=torch.float64); @(a, out=out); "
    "@(a, 2, None, True); @(a, 2, dim=())",
    shapes=((3, 4), (2, 3, 4), (4, 4), (5, 1), "ties"),
    **NORMED,
    bad=NORM_BAD,
)
op("linalg.vector_norm", "@(a); @(a, 1); @(a, 0)", shapes=((), (0,), (5,), "special"), **NORMED)
op(
    "linalg.matrix_norm",
    "@(a); @(a, 'fro'); @(a, 'nuc'); @(a, 1); @(a, -1); @(a, inf); @(a, -inf); @(a, 2); "
    "@(a, -2); @(a, dim=(0, 1)); @(a, 'fro', (-1, -2), True); @(a, keepdim=True); @(a, dtype=torch.float64); "
    "@(a, 1, out=out)",
    shapes=((3, 4), (2, 3, 4), (4, 4), (1, 3)),
    dtypes=FLOATS,
    tolerance=1e-6,
    layouts=PLAIN,
    bad=NORM_BAD + "@(torch.ones(3)); @(a, 3); @(a, 'x'); @(a, dim=(0, 9))",
)
op(
    "linalg.matrix_power",
    "@(a, 2); torch.matrix_power(a, 3); @(a, n=0); @(a, 1); @(a, -1); @(a, -2); "
    "a.matrix_power(2); @(a, 5); @(a, 2, out=out)",
    **square,
    a=spread,
    bad=SQUARE_BAD + "@(a); @(a, 'x'); @(a, 1.5); @(torch.zeros(3, 3), -1)",
)
