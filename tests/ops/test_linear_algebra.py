"""Linear algebra: values known beforehand, what is delicate, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import minitorch as torch
from minitorch import linalg
from minitorch.testing import check_gradients

SINGULAR = [[1.0, 2.0], [2.0, 4.0]]


def matrix(rows: Any, requires_grad: bool = False) -> torch.Tensor:
    return torch.tensor(rows, dtype=torch.float64, requires_grad=requires_grad)


def normal(*shape: int, requires_grad: bool = False) -> torch.Tensor:
    return matrix(np.random.default_rng(5).normal(size=shape), requires_grad)


def close(found: torch.Tensor, expected: Any) -> None:
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=1e-10, atol=1e-12)


# -- values ------------------------------------------------------------------------------------------------------------
def test_known_values() -> None:
    a = matrix([[4.0, 2.0], [2.0, 3.0]])
    close(linalg.det(a), 8)
    close(linalg.slogdet(a).logabsdet, math.log(8))
    close(linalg.inv(a), [[0.375, -0.25], [-0.25, 0.5]])
    close(linalg.solve(a, matrix([2.0, 1.0])), [0.5, 0])
    close(linalg.cholesky(a), [[2, 0], [1, math.sqrt(2)]])
    close(linalg.eigvalsh(a), [(7 - math.sqrt(17)) / 2, (7 + math.sqrt(17)) / 2])
    close(linalg.svdvals(a), [(7 + math.sqrt(17)) / 2, (7 - math.sqrt(17)) / 2])
    close(linalg.matrix_norm(a, 1), 6)
    close(linalg.matrix_norm(a, "nuc"), 7)
    close(linalg.norm(a), math.sqrt(33))
    close(linalg.cond(a, 1), 6 * 0.75)
    close(linalg.matrix_power(a, -1), linalg.inv(a).numpy())
    close(linalg.matrix_power(a, 3), [[108, 82], [82, 67]])
    close(torch.cov(matrix([[0.0, 2.0], [1.0, 1.0]])), [[2, 0], [0, 0]])
    close(torch.cdist(matrix([[0.0, 0.0]]), matrix([[3.0, -4.0]]), p=1), [[7]])
    close(torch.renorm(matrix([[3.0, 4.0], [0.0, 0.5]]), 1, 0, 1.0), [[3 / 7.0000001, 4 / 7.0000001], [0, 0.5]])


def test_factors_multiply_to_the_matrix() -> None:
    for shape in [(3, 3), (2, 4, 3), (3, 5), (70, 70), (2, 40, 35)]:
        a = normal(*shape)
        p, lower, upper = linalg.lu(a)
        close(p @ lower @ upper, a.numpy())
        q, r = linalg.qr(a)
        close(q @ r, a.numpy())
        u, s, vh = linalg.svd(a, full_matrices=False)
        close(u * s.unsqueeze(-2) @ vh, a.numpy())
        close(a @ linalg.pinv(a) @ a, a.numpy())
        if shape[-2] >= shape[-1]:
            close(linalg.householder_product(*torch.geqrf(a)), q.numpy())
    a = normal(2, 5, 5)
    values, vectors = linalg.eigh(a + a.mT)
    close(vectors * values.unsqueeze(-2) @ vectors.mT, (a + a.mT).numpy())


@pytest.mark.parametrize("size", [1, 7, 33, 100])
@pytest.mark.parametrize("upper", [False, True])
def test_triangular_systems_of_any_size(size: int, upper: bool) -> None:
    a, b = normal(size, size) / size + 2 * torch.eye(size, dtype=torch.float64), normal(2, size, 3)
    triangle = a.triu() if upper else a.tril()
    close(triangle @ linalg.solve_triangular(a, b, upper=upper), b.numpy())
    unit = (triangle - torch.diag(triangle.diagonal()) + torch.eye(size, dtype=torch.float64)).double()
    solution = linalg.solve_triangular(a, b.mT, upper=upper, left=False, unitriangular=True)
    close(solution @ unit, b.mT.numpy())


def test_exponentials_of_small_and_large_matrices() -> None:
    for angle in (0.0, 1e-9, 0.5, 40.0):
        turn = linalg.matrix_exp(matrix([[0.0, -angle], [angle, 0.0]]))
        close(turn, [[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    both = linalg.matrix_exp(matrix([[[0.0, 1.0], [0.0, 0.0]], [[9.0, 0.0], [0.0, -3.0]]]))
    close(both, [[[1, 1], [0, 1]], [[math.exp(9), 0], [0, math.exp(-3)]]])
    assert torch.isnan(linalg.matrix_exp(matrix([[math.nan, 0.0], [0.0, 0.0]]))).any()


@pytest.mark.parametrize(
    ("call", "shape"),
    [
        (linalg.det, ()),
        (linalg.inv, (0, 0)),
        (linalg.cholesky, (0, 0)),
        (linalg.eigvalsh, (0,)),
        (linalg.svdvals, (0,)),
        (linalg.pinv, (0, 0)),
        (linalg.matrix_exp, (0, 0)),
        (lambda a: linalg.lu_factor(a).LU, (0, 0)),
        (lambda a: linalg.qr(a).Q, (0, 0)),
        (lambda a: linalg.solve(a, a), (0, 0)),
        (lambda a: linalg.eigh(a).eigenvectors, (0, 0)),
        (lambda a: linalg.matrix_power(a, 3), (0, 0)),
    ],
)
def test_nothing(call: Any, shape: tuple[int, ...]) -> None:
    for batch in ((), (2,), (0,)):
        a = torch.zeros(*batch, 0, 0, requires_grad=True)
        result = call(a)
        assert tuple(result.shape) == batch + shape
        result.sum().backward()
        assert a.grad is not None
        assert a.grad.shape == a.shape
    assert call(torch.eye(3).expand(0, 3, 3)).shape[0] == 0


def test_float32_stays_and_views_are_taken() -> None:
    a = torch.tensor(np.random.default_rng(0).normal(size=(4, 4)).astype(np.float32)).T[1:, 1:]
    for result in (linalg.inv(a), linalg.det(a), *linalg.svd(a), linalg.matrix_exp(a), linalg.lu_factor(a).LU):
        assert result.dtype is torch.float32
    np.testing.assert_allclose(linalg.inv(a).numpy(), np.linalg.inv(a.numpy()), rtol=1e-4)


def test_named_results() -> None:
    a = torch.eye(2)
    assert type(linalg.eigh(a)).__name__ == "linalg_eigh"
    assert linalg.svd(a).Vh.shape == (2, 2)
    assert torch.svd(a).V.shape == (2, 2)
    assert linalg.slogdet(a).sign.item() == 1
    assert linalg.lstsq(a, a).rank.item() == 2
    assert linalg.lu_factor_ex(a).info.dtype is torch.int32
    assert torch.lu_unpack(*linalg.lu_factor(a)).P.tolist() == a.tolist()


def test_out() -> None:
    a, values, vectors = torch.diag(torch.tensor([2.0, 1.0])), torch.empty(2), torch.empty(2, 2)
    assert linalg.eigh(a, out=(values, vectors)).eigenvalues is values
    assert values.tolist() == [1, 2]
    assert linalg.inv(a, out=vectors) is vectors
    assert vectors.tolist() == [[0.5, 0], [0, 1]]
    norm = torch.empty(())
    assert linalg.norm(a.requires_grad_(), 1, out=norm).requires_grad
    with pytest.raises(TypeError, match="tuple of Tensors"):
        linalg.eigh(a.detach(), out=values)


# -- derivatives -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("rows", [SINGULAR, [[0.0, 0.0], [0.0, 3.0]], np.zeros((2, 2)), np.arange(9.0).reshape(3, 3)])
def test_det_of_singular_matrices_has_both_derivatives(rows: Any) -> None:
    a = matrix(rows, requires_grad=True)
    assert check_gradients(torch.det, a, order=2)


def test_det_has_a_third_derivative() -> None:
    a = normal(3, 3, requires_grad=True)
    (first,) = torch.autograd.grad(torch.det(a), a, create_graph=True)
    weights = normal(3, 3)

    def second(a: torch.Tensor) -> torch.Tensor:
        (g,) = torch.autograd.grad(torch.det(a), a, create_graph=True)
        return torch.autograd.grad((g * weights).sum(), a, create_graph=True)[0]

    assert first.requires_grad
    assert check_gradients(second, a, order=2)


def test_repeated_values() -> None:
    """Eigenvalues and singular values alone have gradients; vectors of repeated ones have none."""
    a = matrix(np.eye(3) * 2, requires_grad=True)
    close(torch.autograd.grad(linalg.eigvalsh(a).sum(), a)[0], np.eye(3))
    close(torch.autograd.grad(linalg.eigh(a).eigenvalues.sum(), a)[0], np.eye(3))
    close(torch.autograd.grad(linalg.svd(a).S.sum(), a)[0], np.eye(3))
    close(torch.autograd.grad(linalg.matrix_norm(a, "nuc"), a)[0], np.eye(3))
    (lost,) = torch.autograd.grad(linalg.eigh(a).eigenvectors[0, 1], a)
    assert not torch.isfinite(lost).all()


def test_distances_of_zero_have_gradient_zero() -> None:
    for p in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, math.inf):
        a = matrix([[1.0, 2.0], [1.0, 2.0]], requires_grad=True)
        (g,) = torch.autograd.grad(torch.cdist(a, a, p).sum(), a)
        assert g.tolist() == [[0, 0], [0, 0]], p
        (g,) = torch.autograd.grad(torch.pdist(a, p).sum(), a)
        assert g.tolist() == [[0, 0], [0, 0]], p
    near = normal(30, 3, requires_grad=True)
    direct, product = [
        torch.autograd.grad((torch.cdist(near, near.detach(), compute_mode=mode) ** 3).sum(), near)[0]
        for mode in ("donot_use_mm_for_euclid_dist", "use_mm_for_euclid_dist")
    ]
    np.testing.assert_allclose(direct.numpy(), product.numpy(), rtol=1e-6)


def test_what_cannot_be_differentiated_says_so() -> None:
    a = normal(3, 2, requires_grad=True)
    with pytest.raises(RuntimeError, match="not differentiable when mode='complete'"):
        linalg.qr(a, "complete").R.sum().backward()
    with pytest.raises(RuntimeError, match="depends on Q"):
        linalg.qr(a, "r").R.sum().backward()


# -- refusals ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda a: linalg.inv(a), "inversion could not be completed"),
        (lambda a: linalg.inv(a.expand(2, 2, 2)), "Batch element 0"),
        (lambda a: linalg.solve(a, a), "input matrix is singular"),
        (lambda a: linalg.cholesky(a), "leading minor of order 2"),
        (lambda a: torch.cholesky(-a), "leading minor of order 1"),
        (lambda a: linalg.matrix_power(a, -2), "inversion could not be completed"),
        (lambda a: linalg.svd(a * math.nan), "non-finite"),
        (lambda a: linalg.eigh(a * math.inf), "non-finite"),
        (lambda a: linalg.lstsq(a, a, driver="gels"), "full rank"),
        (lambda a: torch.cholesky_inverse(torch.zeros(1, 1)), "diagonal element 1 is zero"),
    ],
)
def test_what_has_no_result_raises_linalgerror(call: Any, message: str) -> None:
    assert issubclass(linalg.LinAlgError, RuntimeError)
    with pytest.raises(linalg.LinAlgError, match=message):
        call(matrix(SINGULAR))


def test_ex_functions_say_which_failed() -> None:
    both = torch.stack([torch.eye(2, dtype=torch.float64), matrix(SINGULAR)])
    inverse, info = linalg.inv_ex(both)
    assert info.tolist() == [0, 2]
    assert inverse[0].tolist() == [[1, 0], [0, 1]]
    factor, info = linalg.cholesky_ex(both)
    assert info.tolist() == [0, 2]
    assert factor[0].tolist() == [[1, 0], [0, 1]]
    solution, info = linalg.solve_ex(both, matrix([[1.0], [2.0]]))
    assert info.tolist() == [0, 2]
    assert solution[0].tolist() == [[1], [2]]
    assert linalg.lu_factor_ex(both).info.tolist() == [0, 2]
    with pytest.raises(RuntimeError, match=r"Batch element 1.*U\[2,2\] is zero"):
        linalg.lu_factor(both)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: linalg.det(torch.ones(2, 2, dtype=torch.int64)), RuntimeError, "Got Long"),
        (lambda: linalg.inv(torch.ones(2, 2, dtype=torch.float16)), RuntimeError, "Low precision"),
        (lambda: linalg.eigh(torch.ones(2, 2, dtype=torch.int64)), NotImplementedError, "Long"),
        (lambda: linalg.svd(torch.ones(3)), RuntimeError, "at least 2 dimensions"),
        (lambda: linalg.pinv(torch.eye(2), 1e-3, rtol=1e-3), TypeError, "rcond together with rtol"),
        (lambda: linalg.matrix_rank(torch.eye(2), 1e-3, atol=1e-3), TypeError, "tol together with atol"),
        (lambda: torch.baddbmm(torch.ones(1, 2, 2), torch.ones(1, 2, 2), torch.eye(2).double()), IndexError, "3D"),
        (lambda: torch.einsum(5, torch.eye(2)), TypeError, "'equation' .* must be str, not int"),
        (lambda: linalg.inv(torch.ones(2, 3)), RuntimeError, "2 by 3"),
        (lambda: linalg.inv([[1.0]]), TypeError, "must be Tensor, not list"),
        (lambda: linalg.solve(torch.eye(3), torch.ones(2)), RuntimeError, "Incompatible shapes"),
        (lambda: linalg.solve(torch.eye(2), torch.ones(2, dtype=torch.float64)), RuntimeError, "same dtype"),
        (lambda: linalg.solve(torch.ones(2, 1, 1), torch.ones(3, 1, 1)), RuntimeError, r"size of tensor a \(2\)"),
        (lambda: linalg.solve(torch.eye(2), torch.ones(2), left=3), TypeError, "must be bool"),
        (lambda: linalg.eig(torch.eye(2)), NotImplementedError, "complex"),
        (lambda: linalg.eigvals(torch.eye(2)), NotImplementedError, "complex"),
        (lambda: linalg.qr(torch.eye(2), "x"), RuntimeError, "unrecognized mode"),
        (lambda: linalg.svd(torch.eye(2), driver="gesvd"), RuntimeError, "driver"),
        (lambda: linalg.lu(torch.eye(2), pivot=False), RuntimeError, "without pivoting"),
        (lambda: linalg.matrix_norm(torch.eye(2), 3), RuntimeError, "Order 3 not supported"),
        (lambda: linalg.norm(torch.ones(2, 2, 2), 1), RuntimeError, "1D or 2D"),
        (lambda: linalg.cond(torch.ones(2, 3), 1), RuntimeError, "square"),
        (lambda: linalg.matrix_power(torch.eye(2), 1.5), TypeError, "must be int"),
        (lambda: linalg.cross(torch.ones(2), torch.ones(2)), RuntimeError, "length 3"),
        (lambda: torch.cdist(torch.ones(2, 3), torch.ones(2, 4)), RuntimeError, "number of columns"),
        (lambda: torch.cdist(torch.ones(2, 3), torch.ones(2, 3), compute_mode="x"), ValueError, "compute_mode"),
        (lambda: torch.renorm(torch.ones(2, 2), 0, 0, 1), RuntimeError, "non-positive-norm"),
        (lambda: torch.cov(torch.ones(2, 2, 2)), RuntimeError, "two or fewer dimensions"),
        (lambda: torch.trapezoid(torch.ones(3), torch.ones(2)), RuntimeError, "one `x` value"),
        (lambda: torch.combinations(torch.ones(2, 2)), RuntimeError, "1D vector"),
        (lambda: torch.block_diag(torch.ones(2, 2, 2)), RuntimeError, "2 or fewer dimensions"),
    ],
)
def test_refused(call: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        call()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("name", ["svd", "svdvals", "pinv", "lstsq", "eigh", "eigvalsh"])
def test_values_that_are_not_finite_are_refused_at_once(name: str, whole: bool, value: float) -> None:
    a = torch.full((3, 3), value) if whole else torch.eye(3) + torch.arange(9.0).reshape(3, 3) / 7
    a[0, 0] = value
    with pytest.raises(torch.linalg.LinAlgError, match="failed to converge"):
        getattr(torch.linalg, name)(a, *([torch.ones(3, 1)] if name == "lstsq" else []))


@pytest.mark.parametrize(
    ("value", "place", "minor"),
    [
        (float("nan"), (0, 0), 1),
        (float("nan"), (1, 1), 2),
        (float("nan"), (2, 1), 3),
        (float("inf"), (0, 0), 2),
        (float("inf"), (1, 0), 2),
        (float("inf"), (2, 2), 0),
    ],
)
def test_a_cholesky_factor_of_what_is_not_finite(value: float, place: tuple[int, int], minor: int) -> None:
    a = torch.eye(3) * 4
    a[place] = value
    assert torch.linalg.cholesky_ex(torch.stack([torch.eye(3), a])).info.tolist() == [0, minor]  # as PyTorch's


def test_degrees_of_polynomials_that_are_no_integers() -> None:
    degrees = torch.tensor([float("nan"), float("inf"), 1e30, -2.0, 2.9])
    assert torch.special.chebyshev_polynomial_t(torch.tensor(0.5), degrees).tolist() == [0, 0, 0, 0, -0.5]
    assert torch.special.legendre_polynomial_p(torch.tensor(2.0), degrees).tolist() == [0, 0, 0, 0, 5.5]
