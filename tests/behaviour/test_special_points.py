"""Gradients at ties, kinks, zeros and infinities, and their dtypes and shapes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import pytest

from backend import torch

functional = torch.nn.functional
inf, nan = math.inf, math.nan


def gradient(fn: Callable[[Any], Any], values: Any, dtype: str = "float64") -> Any:
    """The gradient of the sum of ``fn`` at ``values``, as nested lists."""
    x = torch.tensor(values, dtype=getattr(torch, dtype), requires_grad=True)
    fn(x).sum().backward()
    return x.grad.tolist()


def gradients(fn: Callable[[Any, Any], Any], first: Any, second: Any) -> tuple[Any, Any]:
    a = torch.tensor(first, dtype=torch.float64, requires_grad=True)
    b = torch.tensor(second, dtype=torch.float64, requires_grad=True)
    fn(a, b).sum().backward()
    return a.grad.tolist(), b.grad.tolist()


def same(actual: Any, expected: Any) -> bool:
    """Equality in which NaN equals NaN, to rounding."""
    return bool(
        torch.allclose(
            torch.tensor(actual, dtype=torch.float64),
            torch.tensor(expected, dtype=torch.float64),
            rtol=1e-12,
            atol=1e-15,
            equal_nan=True,
        )
    )


class TestTies:
    @pytest.mark.parametrize(
        ("fn", "values", "expected"),
        [
            (lambda x: x.max(), [1.0, 3.0, 3.0, 2.0], [0.0, 0.5, 0.5, 0.0]),
            (lambda x: x.min(), [1.0, 3.0, 1.0], [0.5, 0.0, 0.5]),
            (lambda x: x.amax(), [1.0, 3.0, 3.0, 2.0], [0.0, 0.5, 0.5, 0.0]),
            (lambda x: x.amin(), [1.0, 3.0, 1.0], [0.5, 0.0, 0.5]),
            (lambda x: x.median(), [1.0, 3.0, 3.0, 1.0], [0.5, 0.0, 0.0, 0.5]),
            (lambda x: x.median(), [3.0, 5.0, 3.0, 1.0, 9.0], [0.5, 0.0, 0.5, 0.0, 0.0]),
            (torch.max, [2.0, 2.0, 2.0, 2.0], [0.25] * 4),
            (torch.min, [[1.0, 5.0], [1.0, 1.0]], [[1 / 3, 0.0], [1 / 3, 1 / 3]]),
            (lambda x: x.amax(dim=1), [[1.0, 5.0], [5.0, 5.0]], [[0.0, 1.0], [0.5, 0.5]]),
            (lambda x: x.amax(dim=1, keepdim=True), [[1.0, 5.0], [5.0, 5.0]], [[0.0, 1.0], [0.5, 0.5]]),
            (lambda x: x.amin(dim=(0, 1)), [[1.0, 5.0], [1.0, 5.0]], [[0.5, 0.0], [0.5, 0.0]]),
        ],
    )
    def test_reductions_to_a_value_split_evenly(self, fn: Callable[[Any], Any], values: Any, expected: Any) -> None:
        assert same(gradient(fn, values), expected)

    @pytest.mark.parametrize(
        ("fn", "values"),
        [
            (lambda x: x.max(dim=0), [1.0, 3.0, 3.0, 2.0]),
            (lambda x: x.max(0), [2.0, 2.0]),
            (lambda x: x.min(dim=0), [1.0, 1.0, 2.0]),
            (lambda x: x.median(dim=0), [2.0, 2.0, 2.0]),
            (lambda x: x.kthvalue(2, dim=0), [2.0, 2.0, 1.0]),
        ],
    )
    def test_reductions_with_an_index_choose_it(self, fn: Callable[[Any], Any], values: list[float]) -> None:
        x = torch.tensor(values, requires_grad=True)
        value, index = fn(x)
        value.backward()
        expected = [0.0] * len(values)
        expected[index.item()] = 1.0
        assert x.grad.tolist() == expected

    def test_the_index_is_the_first_of_equal_maxima(self) -> None:
        assert gradient(lambda x: x.max(dim=1)[0], [[1.0, 5.0, 5.0], [7.0, 7.0, 7.0]]) == [[0, 1, 0], [1, 0, 0]]

    def test_maximum_and_minimum_of_a_tensor_with_itself(self) -> None:
        for fn in (torch.maximum, torch.minimum, torch.max, torch.min):
            a = torch.tensor([1.0, 2.0], requires_grad=True)
            fn(a, a).sum().backward()
            assert a.grad.tolist() == [1.0, 1.0]

    def test_maximum_and_minimum_share_ties_between_their_arguments(self) -> None:
        assert gradients(torch.maximum, [1.0, 2.0, 0.0], [1.0, 1.0, 3.0]) == ([0.5, 1.0, 0.0], [0.5, 0.0, 1.0])
        assert gradients(torch.minimum, [1.0, 2.0, 0.0], [1.0, 1.0, 3.0]) == ([0.5, 0.0, 1.0], [0.5, 1.0, 0.0])
        assert gradients(torch.max, [2.0], [2.0]) == ([0.5], [0.5])
        zeros = torch.zeros(3, dtype=torch.float64)
        assert gradient(lambda x: torch.maximum(x, zeros), [-1.0, 0.0, 1.0]) == [0.0, 0.5, 1.0]

    def test_sorting_gives_each_element_one_place(self) -> None:
        weights = torch.tensor([1.0, 2.0, 4.0], dtype=torch.float64)
        assert sorted(gradient(lambda x: x.sort()[0] * weights, [5.0, 5.0, 5.0])) == [1.0, 2.0, 4.0]
        assert sum(gradient(lambda x: x.topk(2)[0], [3.0, 3.0, 3.0])) == 2.0

    def test_max_pooling_chooses_one(self) -> None:
        x = torch.ones(1, 1, 2, 2, requires_grad=True)
        functional.max_pool2d(x, 2).sum().backward()
        assert sorted(x.grad.flatten().tolist()) == [0.0, 0.0, 0.0, 1.0]


class TestKinksAndZeros:
    @pytest.mark.parametrize(
        ("fn", "values", "expected"),
        [
            (lambda x: x.abs(), [-1.0, 0.0, -0.0, 2.0], [-1.0, 0.0, 0.0, 1.0]),
            (abs, [0.0], [0.0]),
            (torch.relu, [-1.0, 0.0, 1.0], [0.0, 0.0, 1.0]),
            (functional.relu, [0.0], [0.0]),
            (torch.nn.ReLU(), [0.0, 2.0], [0.0, 1.0]),
            (lambda x: x.norm(), [0.0, 0.0], [0.0, 0.0]),
            (lambda x: x.norm(dim=1), [[0.0, 0.0], [3.0, 4.0]], [[0.0, 0.0], [0.6, 0.8]]),
            (lambda x: x.norm(p=1), [0.0, -2.0], [0.0, -1.0]),
            (lambda x: x.norm(p=3), [0.0, 0.0], [0.0, 0.0]),
            (lambda x: x.norm(p=inf), [1.0, -1.0, 0.0], [0.5, -0.5, 0.0]),
            (torch.linalg.vector_norm, [0.0, 0.0], [0.0, 0.0]),
            (lambda x: x.sqrt(), [0.0, 4.0], [inf, 0.25]),
            (lambda x: x.log(), [0.0], [inf]),
            (lambda x: 1 / x, [0.0], [-inf]),
            (lambda x: x.rsqrt(), [0.0], [-inf]),
            (lambda x: x.sign(), [0.0, 1.0], [0.0, 0.0]),
            (lambda x: x.floor(), [1.0, 1.5], [0.0, 0.0]),
            (lambda x: x.round(), [0.5], [0.0]),
            (lambda x: x % 1, [1.0, 1.5], [1.0, 1.0]),
            (lambda x: x.sigmoid(), [1000.0, -1000.0, 0.0], [0.0, 0.0, 0.25]),
            (lambda x: x.tanh(), [1000.0, 0.0], [0.0, 1.0]),
            (functional.softplus, [0.0, 100.0], [0.5, 1.0]),
            (lambda x: functional.leaky_relu(x, 0.25), [0.0, -1.0], [0.25, 0.25]),
            (functional.elu, [0.0], [1.0]),
            (lambda x: functional.l1_loss(x, torch.zeros(2, dtype=torch.float64)), [0.0, 1.0], [0.0, 0.5]),
            (lambda x: x.logsumexp(dim=0), [-inf, 0.0], [0.0, 1.0]),
            (lambda x: functional.log_softmax(x, dim=0)[1], [-inf, 0.0], [0.0, 0.0]),
        ],
    )
    def test_pointwise(self, fn: Callable[[Any], Any], values: Any, expected: Any) -> None:
        assert same(gradient(fn, values), expected)

    @pytest.mark.parametrize(
        ("fn", "values", "expected"),
        [
            (lambda x: x.clamp(-1, 1), [-2.0, -1.0, 0.0, 1.0, 2.0], [0.0, 1.0, 1.0, 1.0, 0.0]),
            (lambda x: x.clamp(min=0), [-1.0, 0.0, 1.0], [0.0, 1.0, 1.0]),
            (lambda x: x.clamp(max=0.0), [-1.0, 0.0, 1.0], [1.0, 1.0, 0.0]),
            (lambda x: x.clamp_min(0), [0.0], [1.0]),
            (lambda x: x.clamp_max(1), [1.0], [1.0]),
            (lambda x: torch.clamp(x, 0, 1), [0.0, 1.0, 1.5], [1.0, 1.0, 0.0]),
            (functional.hardtanh, [-1.0, 0.0, 1.0], [0.0, 1.0, 0.0]),
            (functional.relu6, [0.0, 3.0, 6.0], [0.0, 1.0, 0.0]),
        ],
    )
    def test_clamp_passes_gradient_on_its_bounds(self, fn: Callable[[Any], Any], values: Any, expected: Any) -> None:
        assert gradient(fn, values) == expected

    @pytest.mark.parametrize(
        ("fn", "values", "expected"),
        [
            (lambda x: x**0, [0.0, 2.0, -3.0], [0.0, 0.0, 0.0]),
            (lambda x: x**0.0, [0.0], [0.0]),
            (lambda x: x.pow(0), [0.0, 1.0], [0.0, 0.0]),
            (lambda x: x ** torch.zeros(2), [0.0, 2.0], [0.0, 0.0]),
            (lambda x: x**1, [0.0, 5.0], [1.0, 1.0]),
            (lambda x: x**2, [0.0, -3.0], [0.0, -6.0]),
            (lambda x: x**3, [0.0, -2.0], [0.0, 12.0]),
            (lambda x: x**0.5, [0.0, 4.0], [inf, 0.25]),
            (lambda x: x**1.5, [0.0], [0.0]),
            (lambda x: x**-1, [0.0, 2.0], [-inf, -0.25]),
            (lambda x: 2**x, [0.0, 1.0], [math.log(2), 2 * math.log(2)]),
            (lambda x: 0**x, [0.0, 1.0, 2.0], [0.0, 0.0, 0.0]),
        ],
    )
    def test_powers(self, fn: Callable[[Any], Any], values: Any, expected: Any) -> None:
        assert same(gradient(fn, values), expected)

    def test_powers_of_zero_with_two_tensors(self) -> None:
        base, exponent = gradients(torch.pow, [0.0, 2.0, 0.0], [0.0, 0.0, 2.0])
        assert base == [0.0, 0.0, 0.0]
        assert same(exponent, [0.0, math.log(2), 0.0])

    @pytest.mark.parametrize(
        ("fn", "values", "expected"),
        [
            (lambda x: x.std(), [2.0, 2.0, 2.0], [0.0, 0.0, 0.0]),
            (lambda x: x.std(unbiased=False), [1.0, 1.0], [0.0, 0.0]),
            (lambda x: x.std(correction=0), [5.0], [0.0]),
            (lambda x: x.std(dim=1), [[2.0, 2.0], [1.0, 3.0]], [[0.0, 0.0], [-math.sqrt(0.5), math.sqrt(0.5)]]),
            (lambda x: x.var(), [2.0, 2.0], [0.0, 0.0]),
            (lambda x: torch.std_mean(x)[0], [3.0, 3.0], [0.0, 0.0]),
        ],
    )
    def test_the_spread_of_equal_elements(self, fn: Callable[[Any], Any], values: Any, expected: Any) -> None:
        assert same(gradient(fn, values), expected)

    def test_norm_of_zero_does_not_spoil_other_terms(self) -> None:
        x = torch.zeros(3, requires_grad=True)
        (x.norm() + (x * 2).sum()).backward()
        assert x.grad.tolist() == [2.0, 2.0, 2.0]


class TestWhere:
    @pytest.mark.parametrize(
        ("fn", "values", "expected"),
        [
            (lambda x: torch.where(x > 0, x.sqrt(), torch.zeros_like(x)), [0.0, 4.0], [nan, 0.25]),
            (lambda x: torch.where(x > 0, x.log(), x * 2), [0.0, 2.0], [nan, 0.5]),
            (lambda x: torch.where(x == 0, torch.ones_like(x), 1 / x), [0.0, 2.0], [nan, -0.25]),
            (lambda x: x.sqrt().masked_fill(x == 0, 0.0), [0.0, 4.0], [nan, 0.25]),
            (lambda x: x.sqrt() * 0, [0.0, 4.0], [nan, 0.0]),
        ],
    )
    def test_an_infinite_derivative_of_the_unused_branch_gives_nan(
        self, fn: Callable[[Any], Any], values: Any, expected: Any
    ) -> None:
        assert same(gradient(fn, values), expected)

    def test_a_nan_value_in_the_unused_branch_is_harmless(self) -> None:
        assert gradient(lambda x: torch.where(x > 0, x * 3, x + nan), [1.0, 2.0]) == [3.0, 3.0]
        assert gradient(lambda x: torch.where(x > 0, x, torch.full_like(x, nan)), [1.0, 2.0]) == [1.0, 1.0]

    def test_the_remedy_is_a_safe_argument(self) -> None:
        def safe_sqrt(x: Any) -> Any:
            positive = x > 0
            return torch.where(positive, torch.where(positive, x, 1.0).sqrt(), 0.0)

        assert gradient(safe_sqrt, [0.0, 4.0]) == [0.0, 0.25]

    def test_indexing_avoids_the_unused_branch(self) -> None:
        assert gradient(lambda x: x[x > 0].sqrt(), [0.0, 4.0]) == [0.0, 0.25]

    def test_each_branch_gets_the_gradient_where_it_is_used(self) -> None:
        x = torch.tensor([1.0, -2.0, 3.0], requires_grad=True)
        y = torch.tensor([5.0], requires_grad=True)
        torch.where(x > 0, x * 2, y * 10).sum().backward()
        assert x.grad.tolist() == [2.0, 0.0, 2.0]
        assert y.grad.tolist() == [10.0]


QUADRUPLES = list(itertools.product((0.0, 2.0, -3.0), repeat=4))


class TestProductsWithZeros:
    @pytest.mark.parametrize(
        ("values", "expected"),
        [
            ([0.0, 2.0, 3.0], [6.0, 0.0, 0.0]),
            ([0.0, 0.0, 3.0], [0.0, 0.0, 0.0]),
            ([2.0, 3.0, 4.0], [12.0, 8.0, 6.0]),
            ([0.0], [1.0]),
            ([5.0], [1.0]),
        ],
    )
    def test_prod(self, values: list[float], expected: list[float]) -> None:
        assert gradient(lambda x: x.prod(), values) == expected
        assert gradient(lambda x: x.prod(dim=0), values) == expected
        assert gradient(torch.prod, values, dtype="float32") == expected

    @pytest.mark.parametrize("values", QUADRUPLES)
    def test_prod_against_the_product_of_the_others(self, values: tuple[float, ...]) -> None:
        others = [math.prod(values[:i] + values[i + 1 :]) for i in range(4)]
        assert gradient(lambda x: x.prod(), values) == others
        assert gradient(lambda x: x.prod(dim=1, keepdim=True), [values, values[::-1]]) == [others, others[::-1]]

    def test_prod_over_a_dimension(self) -> None:
        assert gradient(lambda x: x.prod(dim=1), [[0.0, 2.0], [3.0, 4.0]]) == [[2.0, 0.0], [4.0, 3.0]]
        assert gradient(lambda x: x.prod(dim=0), [[0.0, 2.0], [0.0, 4.0]]) == [[0.0, 4.0], [0.0, 2.0]]

    @pytest.mark.parametrize(
        ("values", "expected"),
        [
            ([0.0, 2.0, 3.0], [9.0, 0.0, 0.0]),
            ([2.0, 0.0, 3.0], [1.0, 8.0, 0.0]),
            ([2.0, 3.0, 0.0], [4.0, 2.0, 6.0]),
            ([0.0, 0.0, 3.0], [1.0, 0.0, 0.0]),
            ([2.0, 3.0, 4.0], [16.0, 10.0, 6.0]),
        ],
    )
    def test_cumprod(self, values: list[float], expected: list[float]) -> None:
        assert gradient(lambda x: x.cumprod(dim=0), values) == expected
        assert gradient(lambda x: x.cumprod(dim=0), values, dtype="float32") == expected

    @pytest.mark.parametrize("values", QUADRUPLES)
    def test_cumprod_against_its_definition(self, values: tuple[float, ...]) -> None:
        weights = (1.0, 10.0, 100.0, 1000.0)
        expected = [
            sum(weights[k] * math.prod(values[j] for j in range(k + 1) if j != i) for k in range(i, 4))
            for i in range(4)
        ]
        weigh = torch.tensor(weights, dtype=torch.float64)
        assert same(gradient(lambda x: x.cumprod(dim=0) * weigh, values), expected)
        assert same(gradient(lambda x: x.cumprod(dim=1) * weigh, [values]), [expected])

    @pytest.mark.parametrize(
        ("fn", "values", "expected"),
        [
            (lambda x: x.prod(), [0.0, 2.0, 3.0], [5.0, 3.0, 2.0]),
            (lambda x: x.prod(), [0.0, 0.0, 3.0], [3.0, 3.0, 0.0]),
            (lambda x: x.cumprod(dim=0).sum(), [2.0, 0.0, 3.0], [4.0, 6.0, 2.0]),
        ],
    )
    def test_second_derivatives(self, fn: Callable[[Any], Any], values: list[float], expected: list[float]) -> None:
        x = torch.tensor(values, requires_grad=True)
        (g,) = torch.autograd.grad(fn(x), x, create_graph=True)
        assert torch.autograd.grad(g.sum(), x)[0].tolist() == expected


SHAPES = [
    ((2, 3), (3,)),
    ((2, 3), (1, 3)),
    ((2, 3), (2, 1)),
    ((2, 3), ()),
    ((2, 3), (1,)),
    ((2, 1), (1, 3)),
    ((4, 1, 3), (2, 1)),
    ((), ()),
    ((1,), ()),
    ((0, 3), (1, 3)),
    ((5, 1, 1), (3, 4)),
]

BINARY: list[Callable[[Any, Any], Any]] = [
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: a * b,
    lambda a, b: a / b,
    lambda a, b: a**b,
    torch.maximum,
    lambda a, b: torch.where(a > b, a, b),
    lambda a, b: torch.lerp(a, b, 0.5),
    torch.atan2,
]


class TestShapesAndDtypes:
    @pytest.mark.parametrize(("first", "second"), SHAPES)
    @pytest.mark.parametrize("fn", BINARY)
    def test_broadcasting_is_undone(
        self, fn: Callable[[Any, Any], Any], first: tuple[int, ...], second: tuple[int, ...]
    ) -> None:
        for shapes in ((first, second), (second, first)):
            a = torch.full(shapes[0], 2.0, requires_grad=True)
            b = torch.full(shapes[1], 3.0, requires_grad=True)
            fn(a, b).sum().backward()
            assert a.grad.shape == a.shape
            assert b.grad.shape == b.shape
            assert a.grad.dtype == b.grad.dtype == torch.float32

    def test_a_broadcast_gradient_is_summed(self) -> None:
        a = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
        row = torch.tensor([10.0, 20.0, 30.0], requires_grad=True)
        column = torch.tensor([[2.0], [3.0]], requires_grad=True)
        scalar = torch.tensor(0.5, requires_grad=True)
        (a * row * column * scalar).sum().backward()
        assert row.grad.tolist() == [7.0, 9.5, 12.0]
        assert column.grad.tolist() == [[70.0], [160.0]]
        assert scalar.grad.item() == 2 * 140.0 + 3 * 320.0

    @pytest.mark.parametrize(
        "fn", [lambda a, b: a + b, lambda a, b: a * b, lambda a, b: a / b, torch.maximum, torch.pow]
    )
    def test_promotion_is_undone(self, fn: Callable[[Any, Any], Any]) -> None:
        a = torch.tensor([1.0, 2.0], requires_grad=True)
        b = torch.tensor([3.0, 4.0], dtype=torch.float64, requires_grad=True)
        out = fn(a, b)
        assert out.dtype == torch.float64
        out.sum().backward()
        assert a.grad.dtype == torch.float32
        assert b.grad.dtype == torch.float64

    def test_half_and_single_precision(self) -> None:
        a = torch.tensor([1.0, 2.0], dtype=torch.float16, requires_grad=True)
        b = torch.tensor([3.0, 4.0], requires_grad=True)
        (a * b).sum().backward()
        assert (a.grad.dtype, a.grad.tolist()) == (torch.float16, [3.0, 4.0])
        assert (b.grad.dtype, b.grad.tolist()) == (torch.float32, [1.0, 2.0])

    def test_scalars_and_integers_do_not_change_the_dtype(self) -> None:
        for other in (2, 2.5, True, torch.tensor(2), torch.tensor([1, 2]), torch.tensor(2.0, dtype=torch.float64)):
            x = torch.tensor([1.0, 2.0], requires_grad=True)
            (x * other + other - other / x).sum().backward()
            assert x.grad.dtype == torch.float32

    def test_a_scalar_tensor_keeps_its_own_dtype(self) -> None:
        s = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        out = s * x
        assert out.dtype == torch.float32
        out.sum().backward()
        assert (s.grad.dtype, s.grad.item()) == (torch.float64, 3.0)
        assert (x.grad.dtype, x.grad.tolist()) == (torch.float32, [2.0, 2.0])

    @pytest.mark.parametrize(
        "fn",
        [
            lambda x: x.double(),
            lambda x: x.to(torch.float64),
            lambda x: x.half(),
            lambda x: x.sum(dtype=torch.float64),
            lambda x: x.mean(dtype=torch.float64),
            lambda x: x.cumsum(0, dtype=torch.float64),
            lambda x: torch.cat([x, torch.ones(1, dtype=torch.float64)]),
            lambda x: torch.stack([x, torch.ones(2, dtype=torch.float64)]),
            lambda x: torch.where(x > 1, x, torch.zeros(2, dtype=torch.float64)),
            lambda x: functional.softmax(x, dim=0, dtype=torch.float64),
            lambda x: x.double().exp().float().to(torch.float64) * 2,
        ],
    )
    def test_casts_on_the_way_are_undone(self, fn: Callable[[Any], Any]) -> None:
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        out = fn(x)
        assert out.dtype != torch.float32
        out.sum().backward()
        assert x.grad.dtype == torch.float32
        assert x.grad.shape == (2,)

    def test_shape_changes_on_the_way_are_undone(self) -> None:
        for fn in (
            lambda x: x.view(6),
            lambda x: x.reshape(3, 2).t(),
            lambda x: x.permute(1, 0),
            lambda x: x.unsqueeze(0).expand(4, 2, 3),
            lambda x: x.repeat(2, 2),
            lambda x: x[:, 1],
            lambda x: x[None, ..., ::2],
            lambda x: x[[0, 0, 1]],
            lambda x: x.flatten()[x.flatten() > 0],
            lambda x: x.sum(),
            lambda x: x.mean(dim=1, keepdim=True),
            lambda x: torch.cat(x.split(1, dim=1), dim=0),
            lambda x: x @ torch.ones(3),
            lambda x: torch.ones(5, 4, 2) @ x,
        ):
            x = torch.ones(2, 3, requires_grad=True)
            fn(x).sum().backward()
            assert x.grad.shape == (2, 3)
            assert x.grad.dtype == torch.float32

    def test_gradients_of_results_too(self) -> None:
        x = torch.ones(2, 1, requires_grad=True)
        y = x * 2
        z = torch.ones(3, dtype=torch.float64, requires_grad=True)
        (gy, gz) = torch.autograd.grad((y * z).sum(), [y, z])
        assert (gy.dtype, gy.shape) == (torch.float32, (2, 1))
        assert (gz.dtype, gz.shape) == (torch.float64, (3,))

    def test_double_backward_keeps_them(self) -> None:
        x = torch.tensor([[1.0], [2.0]], requires_grad=True)
        w = torch.tensor([3.0, 4.0, 5.0], dtype=torch.float64, requires_grad=True)
        gx, gw = torch.autograd.grad(((x * w) ** 2).sum(), [x, w], create_graph=True)
        assert (gx.dtype, gw.dtype) == (torch.float32, torch.float64)
        hx, hw = torch.autograd.grad(gx.sum() + gw.sum(), [x, w])
        assert (hx.dtype, hx.shape) == (torch.float32, (2, 1))
        assert (hw.dtype, hw.shape) == (torch.float64, (3,))
