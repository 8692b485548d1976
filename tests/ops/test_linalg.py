"""Matrix products: shapes, factors, equations, dtypes and errors."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend import torch

linear = torch.nn.functional.linear


def counted(*shape: int, dtype: Any = None) -> Any:
    """The numbers 1, 2, 3, … in a shape."""
    return (torch.arange(int(np.prod(shape))) + 1).reshape(shape).to(dtype or torch.float32)


SHAPES = [
    ((2, 3), (3, 4)),
    ((3,), (3,)),
    ((2, 3), (3,)),
    ((3,), (3, 4)),
    ((5, 2, 3), (3, 4)),
    ((5, 2, 3), (3,)),
    ((3,), (5, 3, 4)),
    ((2, 3), (5, 3, 4)),
    ((5, 1, 2, 3), (4, 3, 2)),
    ((2, 0), (0, 3)),
    ((0, 2, 3), (3, 4)),
]


@pytest.mark.parametrize(("left", "right"), SHAPES)
def test_matmul_of_every_combination_of_ranks(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    a, b = counted(*left), counted(*right)
    expected = np.matmul(a.numpy(), b.numpy())
    for result in (torch.matmul(a, b), a @ b, a.matmul(b)):
        assert tuple(result.shape) == expected.shape
        np.testing.assert_array_equal(result.numpy(), expected)


def test_products_of_integers_stay_integers() -> None:
    a = counted(2, 2, dtype=torch.int64)
    assert (a @ a).tolist() == [[7, 10], [15, 22]]
    assert (a @ a).dtype is torch.int64
    assert torch.dot(a[0], a[1]).item() == 11


def test_gradient_of_a_square_matrix_product() -> None:
    a = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    (a @ a).sum().backward()
    assert a.grad.tolist() == [[7.0, 11.0], [9.0, 13.0]]


def test_gradient_of_a_weight_shared_by_a_batch_is_summed() -> None:
    x, w = counted(2, 2, 2), torch.eye(2, requires_grad=True)
    (x @ w).sum().backward()
    assert w.grad.tolist() == [[16.0, 16.0], [20.0, 20.0]]


def test_out_receives_the_product() -> None:
    a, out = counted(2, 2), torch.empty(2, 2)
    for function in (torch.matmul, torch.mm):
        assert function(a, a, out=out) is out
        assert out.tolist() == [[7.0, 10.0], [15.0, 22.0]]


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: counted(2, 3) @ counted(4, 5), RuntimeError, r"cannot be multiplied \(2x3 and 4x5\)"),
        (lambda: counted(2, 3, 4) @ counted(5, 6), RuntimeError, r"cannot be multiplied \(6x4 and 5x6\)"),
        (lambda: counted(2, 3) @ counted(4), RuntimeError, "size mismatch"),
        (lambda: counted(2) @ counted(3), RuntimeError, "same number of elements"),
        (lambda: counted(2, 3, 4) @ counted(2, 5, 6), RuntimeError, r"to be: \[2, 4\] but got: \[2, 5\]"),
        (lambda: counted(2, 3, 4) @ counted(3, 4, 5), RuntimeError, "size of tensor a"),
        (lambda: counted() @ counted(2), RuntimeError, "at least 1D"),
        (lambda: counted(2, 2) @ counted(2, 2, dtype=torch.float64), RuntimeError, "same dtype"),
        (lambda: torch.mm(counted(2, 2, 2), counted(2, 2)), RuntimeError, "must be a matrix"),
        (lambda: torch.bmm(counted(2, 2), counted(2, 2)), RuntimeError, "3D"),
        (lambda: torch.bmm(counted(2, 3, 4), counted(3, 4, 5)), RuntimeError, r"but got: \[3, 4\]"),
        (lambda: torch.mv(counted(2), counted(2)), RuntimeError, "vector"),
        (lambda: torch.dot(counted(2, 2), counted(2)), RuntimeError, "1D"),
        (lambda: torch.outer(counted(2, 2), counted(2)), RuntimeError, "1-D"),
        (lambda: torch.addmm(counted(4), counted(2, 3), counted(3, 3)), RuntimeError, "4"),
        (lambda: torch.matmul(counted(2), 3), TypeError, "must be Tensor"),
        (lambda: torch.inner(counted(2, 3), counted(4, 5)), RuntimeError, "last dimension must match"),
        (lambda: torch.tensordot(counted(2, 3), counted(4, 4), 1), RuntimeError, "need to match"),
        (lambda: torch.tensordot(counted(2, 3), counted(3, 4), 3), RuntimeError, "dims"),
        (lambda: torch.tensordot(counted(2, 3), counted(3, 4), -1), RuntimeError, "dims >= 0"),
        (lambda: torch.tensordot(counted(3, 3), counted(3, 3), ([0, 0], [0, 1])), RuntimeError, "multiple times"),
        (lambda: torch.tensordot(counted(2, 3), counted(3, 4), ([0, 1], [0])), RuntimeError, "same length"),
    ],
)
def test_errors_of_products(call: Any, kind: type, message: str) -> None:
    with pytest.raises(kind, match=message):
        call()


def test_an_operator_with_something_else_is_a_type_error() -> None:
    with pytest.raises(TypeError):
        counted(2, 2) @ "text"


# -- sums with products ------------------------------------------------------------------------------------------------
def test_addmm_and_its_kin_scale_both_parts() -> None:
    matrix, vector, batch = counted(2, 2), counted(2), counted(2, 2, 2)
    assert torch.addmm(vector, matrix, matrix, beta=10, alpha=2).tolist() == [[24.0, 40.0], [40.0, 64.0]]
    assert torch.addmv(vector, matrix, vector, beta=0.5).tolist() == [5.5, 12.0]
    assert torch.addr(matrix, vector, vector, alpha=-1).tolist() == [[0.0, 0.0], [1.0, 0.0]]
    assert torch.baddbmm(matrix, batch, batch).tolist() == [[[8.0, 12.0], [18.0, 26.0]], [[68.0, 80.0], [94.0, 110.0]]]
    assert torch.addbmm(matrix, batch, batch, alpha=0.5).tolist() == [[38.0, 46.0], [56.0, 68.0]]


def test_a_zero_beta_does_not_read_the_input() -> None:
    nan = torch.full((2, 2), float("nan"))
    assert torch.addmm(nan, counted(2, 2), torch.eye(2), beta=0).tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_addmm_in_place() -> None:
    x = counted(2, 2)
    assert x.addmm_(torch.eye(2), torch.eye(2)) is x
    assert x.tolist() == [[2.0, 2.0], [3.0, 5.0]]


def test_kron_and_multi_dot() -> None:
    assert torch.kron(counted(1, 2), counted(2, 1)).tolist() == [[1.0, 2.0], [2.0, 4.0]]
    chain = [counted(2, 3), counted(3, 5), counted(5, 2), counted(2, 4)]
    expected = np.linalg.multi_dot([c.numpy() for c in chain])
    assert torch.chain_matmul(*chain).tolist() == expected.tolist()


# -- linear ------------------------------------------------------------------------------------------------------------
def test_linear_of_every_rank() -> None:
    weight, bias = counted(2, 3), torch.tensor([0.5, -0.5])
    assert linear(counted(3), weight, bias).tolist() == [14.5, 31.5]
    assert linear(counted(1, 3), weight, bias).tolist() == [[14.5, 31.5]]
    assert linear(counted(1, 1, 3), weight).tolist() == [[[14.0, 32.0]]]
    assert linear(counted(2, 3), weight[0]).tolist() == [14.0, 32.0]


def test_gradients_of_linear() -> None:
    for shape in ((3,), (2, 3), (2, 2, 3)):
        x, w, b = torch.ones(shape), torch.ones(4, 3), torch.ones(4)
        tensors = [t.requires_grad_() for t in (x, w, b)]
        linear(*tensors).sum().backward()
        rows = int(np.prod(shape[:-1]))
        assert x.grad.tolist() == np.full(shape, 4.0).tolist()
        assert w.grad.tolist() == np.full((4, 3), rows).tolist()
        assert b.grad.tolist() == [rows] * 4


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: linear(counted(2, 3), counted(4, 5)), r"cannot be multiplied \(2x3 and 5x4\)"),
        (lambda: linear(counted(2, 2, 3), counted(4, 5), counted(4)), r"cannot be multiplied \(4x3 and 5x4\)"),
        (lambda: linear(counted(2, 3), counted(4, 3), counted(5)), "must match the existing size"),
        (
            lambda: linear(counted(2, 3, dtype=torch.int64), counted(4, 3), counted(4)),
            "mat1 and mat2 must have the same dtype",
        ),
        (lambda: linear(counted(), counted(4, 3)), "at least 1D"),
    ],
)
def test_errors_of_linear(call: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        call()


# -- einsum and tensordot ----------------------------------------------------------------------------------------------
EQUATIONS = [
    ("ij,jk->ik", (2, 3), (3, 4)),
    ("ij,jk", (2, 3), (3, 4)),
    ("ij->ji", (2, 3)),
    ("ii->i", (3, 3)),
    ("ii", (3, 3)),
    ("i,i", (3,), (3,)),
    ("i,j->ij", (3,), (2,)),
    ("ij,ij->ij", (2, 3), (2, 3)),
    ("ij->", (2, 3)),
    ("...ij,...jk", (5, 2, 3), (3, 4)),
    ("bij,bjk->bik", (5, 2, 3), (5, 3, 4)),
    ("bhid,bhjd->bhij", (2, 3, 4, 5), (2, 3, 6, 5)),
    ("i...j,j...->i...", (2, 3, 4), (4, 3)),
    ("...a,...b->...ab", (1, 3), (5, 2)),
    ("bn,anm,bm->ba", (2, 3), (4, 3, 5), (2, 5)),
    ("ij,kj,ki->", (2, 3), (4, 3), (4, 2)),
    ("iij,ik->kj", (3, 3, 2), (3, 4)),
    ("ij,->ij", (2, 3), ()),
]


@pytest.mark.parametrize(("equation", "shapes"), [(e, s) for e, *s in EQUATIONS], ids=[e for e, *_ in EQUATIONS])
def test_einsum_agrees_with_numpy(equation: str, shapes: list[tuple[int, ...]]) -> None:
    operands = [counted(*shape) for shape in shapes]
    expected = np.einsum(equation, *[o.numpy() for o in operands])
    spaced = equation.replace(",", " , ").replace("->", " -> ")
    for result in (torch.einsum(equation, *operands), torch.einsum(spaced, operands)):
        assert tuple(result.shape) == expected.shape
        np.testing.assert_allclose(result.numpy(), expected, rtol=1e-6)


def test_einsum_with_lists_of_subscripts() -> None:
    a, b = counted(2, 3), counted(3, 4)
    assert torch.einsum(a, [0, 1], b, [1, 2], [0, 2]).tolist() == (a @ b).tolist()
    assert torch.einsum(a, [0, 1], b, [1, 2]).tolist() == (a @ b).tolist()
    assert torch.einsum(a, [..., 51], [51, ...]).tolist() == a.T.tolist()


def test_einsum_broadcasts_dimensions_of_size_one() -> None:
    assert torch.einsum("ij,j->i", counted(2, 3), torch.tensor([2.0])).tolist() == [12.0, 30.0]


def test_capital_letters_come_first_in_an_implied_output() -> None:
    assert torch.einsum("aB", counted(2, 3)).shape == (3, 2)


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        (("ij->ik", counted(2, 3)), RuntimeError, "output subscript k does not appear"),
        (("ij->iij", counted(2, 3)), RuntimeError, "more than once in the output"),
        (("ij,jk->ik", counted(2, 3), counted(4, 4)), RuntimeError, "does not broadcast with previously seen size 3"),
        (("ijk", counted(2, 3)), RuntimeError, "number of subscripts"),
        (("ij,jk", counted(2, 3)), RuntimeError, "fewer operands"),
        (("ij", counted(2, 3), counted(2, 3)), RuntimeError, "more operands"),
        (("i.j", counted(2, 3)), RuntimeError, "not part of any ellipsis"),
        (("i1", counted(2, 3)), RuntimeError, "invalid subscript given at index 1"),
        (("ii", counted(2, 3)), RuntimeError, "repeated for operand 0"),
        (("ij",), ValueError, "at least one operand"),
    ],
)
def test_errors_of_einsum(arguments: Any, kind: type, message: str) -> None:
    with pytest.raises(kind, match=message):
        torch.einsum(*arguments)


@given(st.data())
def test_tensordot_agrees_with_numpy(data: st.DataObject) -> None:
    a = data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    places = data.draw(st.permutations(range(len(a))))
    count = data.draw(st.integers(0, len(a)))
    chosen = list(places[:count])
    rest = data.draw(st.lists(st.integers(1, 3), max_size=2))
    b = rest + [a[place] for place in chosen]
    other = [place - len(b) for place in range(len(rest), len(b))]
    x, y = counted(*a), counted(*b)
    expected = np.tensordot(x.numpy(), y.numpy(), (chosen, other))
    np.testing.assert_allclose(torch.tensordot(x, y, dims=(chosen, other)).numpy(), expected, rtol=1e-6)


def test_tensordot_by_number_of_dimensions() -> None:
    a, b = counted(2, 3, 2), counted(3, 2, 2)
    for dims in (0, 2):
        np.testing.assert_array_equal(torch.tensordot(a, b, dims).numpy(), np.tensordot(a.numpy(), b.numpy(), dims))


# -- against PyTorch ---------------------------------------------------------------------------------------------------
def test_values_and_gradients_equal_pytorch() -> None:
    pytorch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    layouts = itertools.product(SHAPES, (False, True))
    for (left, right), transposed in layouts:
        arrays = [rng.normal(size=shape) for shape in (left, right)]
        results = []
        for engine in (torch, pytorch):
            a, b = [engine.tensor(array, requires_grad=True) for array in arrays]
            if transposed and a.ndim == b.ndim == 2:
                out = b.mT @ a.mT
            else:
                out = a @ b
            out.cos().sum().backward()
            results.append([t.detach().numpy() for t in (out, a.grad, b.grad)])
        for ours, theirs in zip(*results):
            np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)
