"""Right gradients that look wrong: ties, kinks next to tiny numbers, large terms that cancel, NaN at a kink, huge numbers."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import minitorch as torch
from gradient_mistakes.algebra import NearlyTanh
from minitorch.testing import check_gradients

F64, F32 = torch.float64, torch.float32
F = torch.nn.functional


def at(*values: float, dtype: Any = F64) -> Any:
    return torch.tensor(list(values), dtype=dtype)


# -- ties --------------------------------------------------------------------------------------------------------------
CHOICES: dict[str, Any] = {
    "sort": lambda x: x.sort().values,
    "sort, weighted": lambda x: x.sort().values * torch.arange(1.0, x.numel() + 1, dtype=x.dtype),
    "topk": lambda x: x.topk(2).values,
    "median": lambda x: x.median(),
    "kthvalue": lambda x: x.kthvalue(2).values,
    "quantile": lambda x: x.quantile(0.5),
    "max": lambda x: x.max(0).values,
    "cummax": lambda x: x.cummax(0).values,
}


@pytest.mark.parametrize("dtype", [F64, F32], ids=str)
@pytest.mark.parametrize("name", CHOICES)
def test_ties_of_several(name: str, dtype: Any) -> None:
    for values in ((1.0, 1.0, 1.0), (0.0, 0.0, 0.0), (2.0, 1.0, 1.0, 1.0), (3.0, 3.0, -1.0, 3.0, 3.0, 3.0)):
        assert check_gradients(CHOICES[name], at(*values, dtype=dtype)).ok


def test_a_wrong_gradient_at_a_tie_is_found() -> None:
    class Sorted(torch.autograd.Function):
        factor = 1.0

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            values, indices = x.sort()
            ctx.save_for_backward(indices)
            return values

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (indices,) = ctx.saved_tensors
            return torch.zeros_like(g).scatter(0, indices, g * Sorted.factor)

    assert check_gradients(Sorted.apply, at(1.0, 1.0, 1.0)).ok
    Sorted.factor = 1.01
    report = check_gradients(Sorted.apply, at(1.0, 1.0, 1.0), raise_exception=False)
    assert report.failed("values")
    assert report.failures[0].blame is not None
    assert report.failures[0].blame.name == "SortedBackward"


# -- kinks next to the point ------------------------------------------------------------------------------------------
BESIDE: dict[str, tuple[Any, list[float]]] = {
    "abs of a tiny number": (torch.abs, [3e-201, 1.0]),
    "abs of a subnormal number": (torch.abs, [3.5e-323, 1.0]),
    "relu of a subnormal number": (torch.relu, [3.5e-323, -3.5e-323, 1.0]),
    "clamp at and next to its bounds": (lambda x: x.clamp(-1, 1), [1 + 2**-52, 1 - 2**-53, 1.0, -1 - 2**-52, -1.0]),
    "hinge": (lambda x: (0.5 - x).relu(), [0.5, 0.5 + 2**-53, 0.5 - 2**-54]),
    "hardswish": (F.hardswish, [3.0, 3 + 2**-51, 3 - 2**-51, -3.0]),
}


@pytest.mark.parametrize("kinks", ["between", "reference"])
@pytest.mark.parametrize("name", BESIDE)
def test_next_to_kinks_by_less_than_any_step(name: str, kinks: str) -> None:
    fn, values = BESIDE[name]
    assert check_gradients(fn, at(*values), kinks=kinks).ok


def test_the_wrong_side_of_a_kink_next_to_a_tiny_number() -> None:
    class Absolute(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x.abs()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * torch.where(x > 1e-100, 1.0, -1.0)

    assert check_gradients(Absolute.apply, at(-3e-201, 1.0)).ok
    assert check_gradients(Absolute.apply, at(3e-201, 1.0), raise_exception=False).failed("values")


def test_a_slope_that_only_shows_below_all_steps() -> None:
    similarity = check_gradients(lambda x, y: F.cosine_similarity(x, y, dim=0), at(0.0, 0.0), at(1.0, 2.0))
    assert similarity.ok
    assert not similarity.kinks


# -- small differences of large terms ----------------------------------------------------------------------------------
def normalized(x: Any, weight: Any) -> Any:
    centred = x - x.mean(-1, keepdim=True)
    return centred / ((centred**2).mean(-1, keepdim=True) + 1e-5).sqrt() * weight


def safe_softmax(x: Any, bias: Any) -> Any:
    y = x + bias
    e = (y - y.amax(-1, keepdim=True)).exp()
    return e / e.sum(-1, keepdim=True)


CANCELLING: dict[str, tuple[Any, list[tuple[tuple[int, ...], float]], int]] = {
    "sin² + cos²": (lambda x: x.sin() ** 2 + x.cos() ** 2, [((2, 3), 1)], 2),
    "x - x": (lambda x: x * 3.3 - x * 1.1 * 3, [((2, 3), 1)], 2),
    "log of exp": (lambda x: (x.exp().log() - x) * 1e3, [((2, 3), 1)], 1),
    "sum of softmax": (lambda x: x.softmax(-1).sum(-1), [((2, 3), 1)], 2),
    "softmax of large numbers": (lambda x, b: (x + b).softmax(-1), [((2, 3), 30), ((2, 1), 10)], 1),
    "softmax by hand": (safe_softmax, [((2, 3), 30), ((2, 1), 10)], 1),
    "layer norm of one element": (torch.nn.LayerNorm(1).double(), [((3, 1), 3)], 2),
    "layer norm by hand": (normalized, [((4, 2), 1), ((2,), 1)], 2),
    "unit vectors of one element": (lambda x: F.normalize(x, dim=-1), [((2, 1), 1)], 2),
    "cosine of one element": (lambda x, y: F.cosine_similarity(x, y, dim=-1), [((2, 1), 1), ((2, 1), 1)], 1),
    "share of one element": (lambda x: x / x.sum(-1, keepdim=True), [((2, 1), 1)], 2),
}


@pytest.mark.parametrize("dtype", [F64, F32], ids=str)
@pytest.mark.parametrize("name", CANCELLING)
def test_gradients_that_cancel(name: str, dtype: Any) -> None:
    fn, inputs, order = CANCELLING[name]
    if isinstance(fn, torch.nn.Module):
        fn.to(dtype)
    rng = np.random.default_rng(0)
    for _ in range(3):
        tensors = [torch.tensor(rng.normal(size=s) * size, dtype=dtype) for s, size in inputs]
        assert check_gradients(fn, *tensors, order=order).ok


def test_equal_rows_of_a_layer_norm() -> None:
    layer = torch.nn.LayerNorm(1).double()
    rng = np.random.default_rng(3)
    for _ in range(60):
        with torch.no_grad():
            layer.weight.fill_(round(rng.normal() * 3, 1))
            layer.bias.fill_(round(rng.normal() * 3, 1))
        x = torch.full((2, 1), round(rng.normal() * 3, 1), dtype=F64)
        assert check_gradients(layer, x, skip=("values",)).ok


def test_a_constant_is_found_however_large_the_terms_are() -> None:
    class Affine(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1e3

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 1e3 + 1e-6

    report = check_gradients(lambda x: Affine.apply(x) - 1e3 * x, at(0.5, 2.0), raise_exception=False)
    assert report.failed("linearity")


HUGE = [8.5070587e37, -8.5070587e37, 1.8446743e19]


@pytest.mark.parametrize(
    "fn",
    [torch.tanh, lambda x: (3 * x).tanh(), torch.sigmoid, F.softplus],
    ids=["tanh", "tanh of 3x", "sigmoid", "softplus"],
)
def test_ordinary_numbers_among_huge_ones(fn: Any) -> None:
    for values in ([0.0], [7.0], [4.8151436, 0.99999], [3.135016, 0.0]):
        assert check_gradients(fn, at(*HUGE, *values, dtype=F32)).ok


def test_values_that_are_rounded_before_they_are_saved() -> None:
    def rows(x: Any, u: Any) -> Any:
        return (x @ u).tanh().tanh()

    rng = np.random.default_rng(0)
    for _ in range(3):
        x, u = (torch.tensor(rng.normal(size=(3, 3)) * size, dtype=F32) for size in (9, 1))
        assert check_gradients(rows, x, u).ok
    assert check_gradients(torch.var, torch.tensor([-4.1, -4.1, -4.1 + 4e-7, -4.1], dtype=F32)).ok


def test_a_wrong_gradient_of_rounded_values_is_found() -> None:
    for dtype, values in ((F32, (3.0, -1.5)), (F64, (9.0, 3.0))):
        assert check_gradients(
            lambda x: NearlyTanh.apply(x, 1.1) + x / 50, at(*values, dtype=dtype), raise_exception=False
        ).failed("values")


# -- kinks of several operations ---------------------------------------------------------------------------------------
def stable_bce(x: Any) -> Any:
    return (x.clamp(min=0) - x + (-x.abs()).exp().log1p()).mean()


@pytest.mark.parametrize("dtype", [F64, F32], ids=str)
@pytest.mark.parametrize("fn", [stable_bce, lambda x: x.relu() - (-x).relu(), lambda x: (x + x.abs()) - 2 * x.relu()])
def test_kinks_that_cancel(fn: Any, dtype: Any) -> None:
    report = check_gradients(fn, at(0.0, 1.0, 0.0, dtype=dtype), order=2)
    assert {p.kind for p in report.kinks} <= {"kinks that cancel"}
    if fn is stable_bce:
        assert [p.input_index for p in report.kinks] == [(0,), (2,)]
        assert "the kinks of ClampBackward1 (" in report.notes[0]
        assert "and AbsBackward0 (" in report.notes[0]


def test_what_is_wrong_beside_kinks_that_cancel_is_found() -> None:
    def fn(x: Any) -> Any:
        return stable_bce(x) + x.detach().sum()

    (failure, *_) = check_gradients(fn, at(0.0, 1.0), raise_exception=False).failures
    assert failure.blame is not None
    assert failure.blame.name == "detach()"


def test_second_derivatives_next_to_kinks() -> None:
    def rendered(density: Any, colour: Any) -> Any:
        passed = (-density.abs()).exp()
        return ((1 - passed) * passed.cumprod(0) * colour).sum()

    assert check_gradients(rendered, at(0.0, 0.0, 0.0), at(0.0, 0.0, 1.0), order=2).ok

    def cosine(a: Any, b: Any) -> Any:
        return (a * b).sum(-1) / (a.norm(dim=-1) * b.norm(dim=-1) + 1e-8)

    assert check_gradients(cosine, at(0.0, 0.0, 1e-7), at(0.5, 1.0, 0.0), order=2).ok


# -- other functions of other shapes -----------------------------------------------------------------------------------
def test_different_functions_with_the_same_values_at_zeros() -> None:
    def recurrent(x: Any, h: Any, w: Any, u: Any) -> Any:
        for step in x:
            h = (step @ w + h @ u).tanh()
        return h

    zeros = [torch.zeros(s, dtype=F64) for s in ((3, 2), (2, 3), (3, 3))]
    assert check_gradients(recurrent, zeros[0], at(0.0, 0.0, 1.0), *zeros[1:]).ok


# -- NaN at a kink -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kinks", ["between", "reference"])
def test_nan_that_an_operation_gives_at_its_kink(kinks: str) -> None:
    report = check_gradients(torch.hypot, at(0.0, 1.0), at(0.0, 2.0), kinks=kinks)
    assert [(p.input, p.input_index, p.kind) for p in report.kinks] == [(0, (0,), "kink"), (1, (0,), "kink")]
    assert all(np.isnan(p.analytic) for p in report.kinks)
    assert "HypotBackward0" in report.notes[0]
    assert "gives NaN, as PyTorch's does" in str(report)


def test_nan_that_operations_make_at_a_kink() -> None:
    def length(x: Any) -> Any:
        return (x * x).sum().sqrt()

    report = check_gradients(length, at(0.0, 0.0), raise_exception=False)
    (failure,) = report.failures
    assert failure.check == "finite"
    assert "at a kink" in failure.text
    assert failure.blame is not None
    assert failure.blame.name == "SqrtBackward0"
    assert "infinite" in failure.blame.detail
    assert check_gradients(length, at(0.0, 0.0), skip=("finite",)).ok
    assert check_gradients(torch.norm, at(0.0, 0.0)).ok


def test_nan_that_a_custom_function_gives() -> None:
    class Absolute(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x.abs()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * x / x.abs()

    (failure,) = check_gradients(Absolute.apply, at(0.0, 3.0), raise_exception=False).failures
    assert failure.check == "finite"
    assert "Give the slope of one side" in failure.text
    assert failure.blame is not None
    assert failure.blame.name == "AbsoluteBackward"


# -- numbers beyond the range ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", [F64, F32], ids=str)
@pytest.mark.parametrize(
    "fn", [lambda x: x * 2, lambda x: x * x, torch.exp, torch.sum, torch.norm, lambda x: x.softmax(0)]
)
def test_huge_numbers_make_no_warnings(fn: Any, dtype: Any) -> None:
    most = torch.finfo(dtype).max
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for values in ([most, 1.0], [most**0.5, -(most**0.5)], [most / 4, -most / 4], [np.inf, 1.0], [np.nan, 1.0]):
            report = check_gradients(fn, at(*values, dtype=dtype), order=2, raise_exception=False)
            assert report.ok or "no output is finite" in str(report)
            torch.autograd.numerical_jacobian(fn, at(*values, dtype=dtype), with_error=True)


# -- cancellation within one operation ---------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", [F64, F32], ids=str)
@pytest.mark.parametrize("logit", [10, 14, 18, 30, 36, 60, 300])
def test_a_confident_model(logit: float, dtype: Any) -> None:
    x = at(logit, 0.0, 0.0, dtype=dtype)
    assert check_gradients(lambda x: F.cross_entropy(x, torch.tensor(0)), x, order=2).ok
    assert check_gradients(lambda x: -x.log_softmax(0)[0], x).ok


def test_a_mistake_where_values_do_not_move_is_found() -> None:
    class Positive(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.relu() * 1e-10

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 1e-10

    for dtype in (F64, F32):
        assert check_gradients(Positive.apply, at(-3.0, 40.0, dtype=dtype), raise_exception=False).failed("values")


# -- numbers that nothing is next to, and gradients of few digits ------------------------------------------------------
@pytest.mark.parametrize("fn", [torch.sin, torch.floor, torch.frac, torch.cos, lambda x: torch.fmod(x, 1.5)])
def test_periods_that_are_shorter_than_the_distance_of_numbers(fn: Any) -> None:
    for huge, dtype in ((1.3407807929942596e154, F64), (1e16, F64), (1e18, F32)):
        assert check_gradients(fn, at(huge, 1.0, -2.3, dtype=dtype)).ok


def test_what_is_not_compared_is_said() -> None:
    report = check_gradients(torch.sin, at(1e20, 0.3))
    assert report.notes[0].startswith("not comparable: input 0 at [0] is 1e+20, and the next number is 1.64e+04 away")

    def halves(x: Any) -> Any:
        return x / 2 + (x / 2).detach()

    assert check_gradients(halves, at(1e20), raise_exception=False).failed("values")
    assert check_gradients(halves, at(1e20, 0.3), raise_exception=False).failed("values")


@pytest.mark.parametrize(("logit", "dtype"), [(-100.0, F32), (-103.0, F32), (-720.0, F64), (-745.0, F64)])
def test_gradients_that_are_subnormal(logit: float, dtype: Any) -> None:
    assert check_gradients(lambda x: x.softmax(0), at(logit, 0.3, dtype=dtype), order=2).ok
    assert check_gradients(lambda x: F.softplus(x * 10, beta=3), at(-3.0, logit / 30, dtype=dtype)).ok


@pytest.mark.parametrize("dtype", [F64, F32], ids=str)
def test_ties_of_singular_values(dtype: Any) -> None:
    for matrix in (torch.zeros(2, 2), torch.zeros(2, 3), torch.eye(3), torch.diag(torch.tensor([2.0, 0.0, 0.0]))):
        assert check_gradients(torch.linalg.svdvals, matrix.to(dtype)).ok


def with_noise(x: Any) -> Any:
    torch.manual_seed(0)
    return x * torch.rand_like(x)


def with_dropout(x: Any) -> Any:
    torch.manual_seed(0)
    return torch.nn.functional.dropout(x)


def with_its_generator(x: Any) -> Any:
    return x * torch.empty_like(x).uniform_(generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("fn", [with_noise, with_dropout, with_its_generator])
def test_draws_fill_memory_in_its_order(fn: Any) -> None:
    assert check_gradients(fn, torch.arange(1.0, 7.0, dtype=torch.float64).view(2, 3)).ok
