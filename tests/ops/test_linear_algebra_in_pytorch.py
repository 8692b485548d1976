"""Linear algebra beside PyTorch's: shapes, batches, layouts and options; results, both orders of gradients, error classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch

torch = pytest.importorskip("torch")

SQUARE = ((3, 3), (2, 3, 3), (1, 1), (2, 1, 2, 2))
ANY = ((3, 3), (4, 2), (2, 2, 4), (2, 4, 3))
Call = Callable[..., Any]


def spread(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Matrices whose singular values are distinct and not small."""
    return np.asarray(rng.normal(size=shape) * 0.4 + np.eye(*shape[-2:]) * np.arange(1, shape[-1] + 1))


def definite(t: Any, a: Any) -> Any:
    return a @ a.mT + 0.5 * a.new_tensor(np.eye(a.shape[-2]))


CALLS: list[tuple[str, Call, tuple[tuple[int, ...], ...]]] = [
    ("inv_ex", lambda t, a: t.linalg.inv_ex(a), SQUARE),
    ("solve right", lambda t, a: t.linalg.solve(a, a.mT, left=False), SQUARE),
    ("solve vector", lambda t, a: t.linalg.solve(a, a[..., 0]), SQUARE),
    ("solve_ex", lambda t, a: t.linalg.solve_ex(a, a * a), SQUARE),
    ("cholesky_ex", lambda t, a: t.linalg.cholesky_ex(definite(t, a), upper=True), ANY),
    ("slogdet", lambda t, a: t.linalg.slogdet(a), SQUARE),
    ("lu", lambda t, a: t.linalg.lu(a), ANY),
    ("lu_factor", lambda t, a: t.linalg.lu_factor(a), ANY),
    ("lu_solve", lambda t, a: t.linalg.lu_solve(*t.linalg.lu_factor(a), a.mT), SQUARE),
    ("lu_solve adjoint", lambda t, a: t.linalg.lu_solve(*t.linalg.lu_factor(a), a.mT, adjoint=True), SQUARE),
    ("lu_solve right", lambda t, a: t.linalg.lu_solve(*t.linalg.lu_factor(a), a.mT, left=False), SQUARE),
    ("lu_unpack", lambda t, a: t.lu_unpack(*t.linalg.lu_factor(a)), ANY),
    ("qr", lambda t, a: t.linalg.qr(a), ANY),
    ("householder", lambda t, a: t.linalg.householder_product(a, a[..., 0, :]), ((3, 3), (2, 4, 3), (5, 2))),
    ("ormqr", lambda t, a: t.ormqr(a, a[..., 0, :], a, transpose=True), ((3, 3), (2, 4, 3), (5, 2))),
    ("svdvals", lambda t, a: t.linalg.svdvals(a), ANY),
    ("eigvalsh U", lambda t, a: t.linalg.eigvalsh(a, UPLO="U"), SQUARE),
    ("pinv", lambda t, a: t.linalg.pinv(a), ANY),
    ("pinv cut", lambda t, a: t.linalg.pinv(a, rtol=0.6), ((3, 3), (4, 2))),
    ("pinv hermitian", lambda t, a: t.linalg.pinv(a + a.mT, hermitian=True), SQUARE),
    ("matrix_rank", lambda t, a: t.linalg.matrix_rank(a @ a.mT), ANY),
    ("matrix_rank atol", lambda t, a: t.linalg.matrix_rank(a, atol=1.5, rtol=0.1), ANY),
    *[
        (f"lstsq {driver}", lambda t, a, d=driver: t.linalg.lstsq(a, 2 * a + 1, driver=d)[:3], ANY)
        for driver in (None, "gels", "gelsd", "gelss")
    ],
    *[(f"cond {p}", lambda t, a, p=p: t.linalg.cond(a, p).detach(), SQUARE) for p in (None, -2, 1, -1, "fro", "nuc")],
    *[
        (f"matrix_norm {p}", lambda t, a, p=p: t.linalg.matrix_norm(a, p, keepdim=True), ANY)
        for p in ("fro", "nuc", 1, -1, 2, -2, float("inf"), -float("inf"))
    ],
    *[(f"matrix_power {n}", lambda t, a, n=n: t.linalg.matrix_power(a, n), SQUARE) for n in (-3, -1, 0, 1, 2, 7)],
    ("matrix_exp", lambda t, a: t.linalg.matrix_exp(a), SQUARE),
    ("vander", lambda t, a: t.linalg.vander(a, N=4), ((3, 3), (2,))),
    ("vecdot", lambda t, a: t.linalg.vecdot(a, a * a, dim=0), ANY),
    ("diagonal", lambda t, a: t.linalg.diagonal(a, offset=1), ANY),
    ("cov", lambda t, a: t.cov(a, correction=0, fweights=t.tensor([1, 2, 1]), aweights=abs(a[0])), ((2, 3), (3, 3))),
    ("corrcoef", lambda t, a: t.corrcoef(a), ((4, 2), (3, 3))),
    ("renorm", lambda t, a: t.renorm(a, 3, -1, 1.5), ANY),
    ("dist", lambda t, a: t.dist(a, a * a, 1.5), ANY),
    ("trapezoid", lambda t, a: t.trapezoid(a, a * a), ANY),
    ("cumulative_trapezoid", lambda t, a: t.cumulative_trapezoid(a, dx=3, dim=-2), ANY),
    ("block_diag", lambda t, a: t.block_diag(a, a[0], a[0, 0]), ((3, 3), (4, 2))),
    ("combinations", lambda t, a: t.combinations(a, 3, with_replacement=True), ((4,),)),
]
CASES = [
    pytest.param(call, shape, layout, id=f"{name}-{shape}-{layout}")
    for name, call, shapes in CALLS
    for place, shape in enumerate(shapes)
    for layout in ("contiguous", "transposed")[: 1 if place else 2]
]


def laid_out(t: Any, array: np.ndarray, layout: str) -> tuple[Any, Any]:
    """A leaf, and the view of it with these values."""
    given = array if layout == "contiguous" else np.ascontiguousarray(array.T)
    leaf = t.tensor(given, requires_grad=True)
    return leaf, leaf if layout == "contiguous" else leaf.permute(*range(array.ndim - 1, -1, -1))


def results(t: Any, call: Call, array: np.ndarray, layout: str) -> list[np.ndarray]:
    """The results, whether each is differentiable, and the first and second gradients of weighted sums of these."""
    leaf, view = laid_out(t, array, layout)
    found = call(t, view)
    found = list(found) if isinstance(found, tuple) else [found]
    gathered = [f.detach().numpy() for f in found] + [np.array([f.requires_grad for f in found])]
    rng = np.random.default_rng(1)
    for _ in range(2):
        chosen = [f for f in found if f.requires_grad and f.numel()]
        if not chosen:
            break
        weights = [t.tensor(rng.normal(size=tuple(f.shape))) for f in chosen]
        found = list(t.autograd.grad(chosen, leaf, weights, create_graph=True, allow_unused=True))
        found = [f for f in found if f is not None]
        gathered += [f.detach().resolve_neg().numpy(force=True) if t is torch else f.detach().numpy() for f in found]
    return gathered


@pytest.mark.parametrize(("call", "shape", "layout"), CASES)
def test_as_pytorch(call: Call, shape: tuple[int, ...], layout: str) -> None:
    rng = np.random.default_rng(4)
    array = spread(rng, shape) if len(shape) > 1 else rng.normal(size=shape)
    ours, theirs = [results(t, call, array, layout) for t in (minitorch, torch)]
    for one, other in zip(ours, theirs):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)
    more = [extra for extra in (*ours[len(theirs) :], *theirs[len(ours) :]) if extra.dtype.kind == "f"]
    assert not any(np.abs(extra).max(initial=0) > 1e-9 for extra in more)


WRONG: list[Call] = [
    lambda t: t.linalg.det(t.ones(3)),
    lambda t: t.linalg.inv(t.ones(2, 2, dtype=t.int32)),
    lambda t: t.linalg.eigvalsh(t.ones(2, 2, dtype=t.bool)),
    lambda t: t.linalg.svd(t.ones(2, 2, dtype=t.float16)),
    lambda t: t.linalg.cholesky(-t.eye(2)),
    lambda t: t.linalg.cholesky(t.ones(2, 2), "upper"),
    lambda t: t.linalg.solve_triangular(t.eye(2), t.ones(2), upper=True),
    lambda t: t.linalg.solve_triangular(t.eye(2), t.ones(2, 1)),
    lambda t: t.linalg.lu_solve(t.eye(2), t.ones(2, dtype=t.int64), t.eye(2)),
    lambda t: t.linalg.lu_factor(t.zeros(2, 2)),
    lambda t: t.linalg.lstsq(t.eye(2), t.eye(3)),
    lambda t: t.linalg.lstsq(t.eye(2), t.eye(2), driver="x"),
    lambda t: t.linalg.householder_product(t.ones(2, 3), t.ones(2)),
    lambda t: t.linalg.matrix_norm(t.eye(2), dim=(0, 0)),
    lambda t: t.linalg.matrix_norm(t.eye(2), dim=0),
    lambda t: t.linalg.norm(t.eye(2), "fro", 1),
    lambda t: t.linalg.matrix_power(t.eye(2), "x"),
    lambda t: t.linalg.tensorinv(t.ones(2, 3)),
    lambda t: t.linalg.tensorsolve(t.ones(2, 3), t.ones(2)),
    lambda t: t.linalg.multi_dot([t.eye(2)]),
    lambda t: t.linalg.vander(t.ones(2), N=1),
    lambda t: t.linalg.vecdot(t.ones(2), t.ones(3)),
    lambda t: t.linalg.cross(t.ones(3), t.ones(2, 3)),
    lambda t: t.cholesky_solve(t.ones(3, 1), t.eye(2)),
    lambda t: t.cdist(t.ones(2, 2), t.ones(2, 2), p=-1.0),
    lambda t: t.pdist(t.ones(3)),
    lambda t: t.renorm(t.ones(2, 2), 1, 5, 1),
    lambda t: t.trapezoid(t.tensor(1.0)),
    lambda t: t.cov(t.ones(2, 2), fweights=t.ones(2)),
    lambda t: t.combinations(t.ones(3), -1),
]


@pytest.mark.parametrize("call", WRONG)
def test_wrong_arguments_as_pytorch(call: Call) -> None:
    with pytest.raises(Exception) as theirs:  # noqa: PT011
        call(torch)
    with pytest.raises(Exception) as ours:  # noqa: PT011
        call(minitorch)
    assert ours.type.__name__ == theirs.type.__name__
