"""``autograd.functional``: products with Jacobians and Hessians, whole ones, what strict mode refuses."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch as torch
from minitorch.autograd import count_operations, numerical_jacobian
from minitorch.autograd.functional import hessian, hvp, jacobian, jvp, vhp, vjp

F64 = torch.float64


def point(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=F64)


# -- values ------------------------------------------------------------------------------------------------------------
def test_shapes_of_a_jacobian() -> None:
    x = torch.arange(6.0).reshape(2, 3)
    both = torch.zeros(2, 3, 2, 3)
    for i, j in itertools.product(range(2), range(3)):
        both[i, j, i, j] = 2 * x[i, j]
    assert torch.equal(jacobian(lambda x: x * x, x), both)
    pair = jacobian(lambda x, y: (x @ y, y.sum()), (x, torch.ones(3)))
    assert [[tuple(t.shape) for t in row] for row in pair] == [[(2, 2, 3), (2, 3)], [(2, 3), (3,)]]
    assert isinstance(jacobian(lambda x: x.sum(), (x,)), tuple)
    assert isinstance(jacobian(lambda x: (x.sum(),), x), tuple)
    for options in ({}, {"vectorize": True}, {"strategy": "forward-mode"}):
        assert jacobian(lambda x: x * 2, torch.ones(0), **options).shape == (0, 0)
        assert jacobian(lambda x: x.sum(), torch.ones(0, 2), **options).shape == (0, 2)
        assert jacobian(lambda x: x[:0], torch.ones(2), **options).shape == (0, 2)


@pytest.mark.parametrize("vectorize", [False, True])
@pytest.mark.parametrize("strategy", ["reverse-mode", "forward-mode"])
def test_a_jacobian_is_the_same_in_each_way(vectorize: bool, strategy: str) -> None:
    found = jacobian(
        lambda x, y: (x.outer(y).tanh(), x.sum(), torch.ones(2, dtype=F64)),
        (point(1, 2), point(0.5, -1, 3)),
        vectorize=vectorize,
        strategy=strategy,
    )
    slope = 1 - torch.tanh(point(1, 2).outer(point(0.5, -1, 3))) ** 2
    expected = torch.einsum("ij,ik,j->ijk", slope, torch.eye(2, dtype=F64), point(0.5, -1, 3))
    torch.testing.assert_close(found[0][0], expected)
    torch.testing.assert_close(found[0][1], torch.einsum("ij,jk,i->ijk", slope, torch.eye(3, dtype=F64), point(1, 2)))
    assert found[1][0].tolist() == [1, 1]
    assert found[1][1].tolist() == [0, 0, 0]
    assert not found[2][0].any()
    assert found[2][1].shape == (2, 3)


@pytest.mark.parametrize("vectorize", [False, True])
@pytest.mark.parametrize("outer", ["reverse-mode", "forward-mode"])
def test_a_hessian_is_the_same_in_each_way(vectorize: bool, outer: str) -> None:
    (xx, xy), (yx, yy) = hessian(
        lambda x, y: (x**2 * y).sum(), (point(1, 2), point(3, 4)), vectorize=vectorize, outer_jacobian_strategy=outer
    )
    assert xx.tolist() == [[6, 0], [0, 8]]
    assert not yy.any()
    assert xy.tolist() == [[2, 0], [0, 4]] == yx.tolist()


def test_products() -> None:
    x, v = point(1, 2), point(1, -1)
    matrix = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], dtype=F64)
    output, product = vjp(lambda x: matrix @ x, x, point(1, 1, 0))
    assert output.tolist() == [5, 11, 17]
    assert product.tolist() == [4, 6]
    assert jvp(lambda x: matrix @ x, x, v)[1].tolist() == [-1, -1, -1]
    assert vhp(lambda x: (x**3).sum(), x, v)[1].tolist() == [6, -12] == hvp(lambda x: (x**3).sum(), x, v)[1].tolist()
    assert vjp(lambda x: x.sum(), x)[1].tolist() == [1, 1]
    assert jvp(lambda x: x**2, point(3))[1].tolist() == [6]
    value, parts = vjp(lambda x, y: (x * y, x.sum()), (x, v), (v, torch.tensor(2.0, dtype=F64)))
    assert isinstance(value, tuple)
    assert [p.tolist() for p in parts] == [[3, 3], [1, -2]]


class Curl(torch.autograd.Function):
    """Of (x0, x1) the "gradient" (x1, 0): its derivative is not symmetric."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return (x * 0).sum()

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        return torch.stack([g * x[1], g * 0])


def test_hvp_multiplies_from_the_right_and_vhp_from_the_left() -> None:
    x, v = point(1, 2), point(3, 5)
    assert hvp(Curl.apply, x, v)[1].tolist() == [5, 0]
    assert vhp(Curl.apply, x, v)[1].tolist() == [0, 3]


def test_hooks_too_may_make_a_hessian_that_is_not_symmetric() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        y = x * 1.0
        y.register_hook(lambda g: torch.stack([g[0] * x[1], g[1]]))
        return (y * y).sum() / 2

    assert hvp(function, point(1, 2), point(3, 5))[1].tolist() == [17, 5]
    assert vhp(function, point(1, 2), point(3, 5))[1].tolist() == [12, 8]


class Doubled(torch.autograd.Function):
    """Twice the input, without a rule for forward mode."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> torch.Tensor:
        return g * 2


@pytest.mark.parametrize("create_graph", [False, True])
def test_products_go_through_functions_that_have_a_backward_only(create_graph: bool) -> None:
    x, v = point(1, 2).requires_grad_(), point(3, 5)
    output, product = jvp(lambda x: Doubled.apply(x) ** 2, x, v, create_graph)
    assert output.tolist() == [4, 16]
    assert product.tolist() == [24, 80]
    assert product.requires_grad is create_graph
    assert hvp(lambda x: (Doubled.apply(x) ** 3).sum(), x, v, create_graph)[1].tolist() == [144, 480]
    with pytest.raises(RuntimeError, match="must override the setup_context staticmethod"):
        torch.func.jvp(Doubled.apply, (x,), (v,))


# -- history -----------------------------------------------------------------------------------------------------------
CALLS: dict[str, Callable[..., Any]] = {
    "vjp": lambda x, w, **o: vjp(lambda x: w * x**3, x, x, **o),
    "jvp": lambda x, w, **o: jvp(lambda x: w * x**3, x, x, **o),
    "vhp": lambda x, w, **o: vhp(lambda x: (w * x**3).sum(), x, x, **o),
    "hvp": lambda x, w, **o: hvp(lambda x: (w * x**3).sum(), x, x, **o),
    "jacobian": lambda x, w, **o: [jacobian(lambda x: w * x**3, x, **o)],
    "hessian": lambda x, w, **o: [hessian(lambda x: (w * x**3).sum(), x, **o)],
}


@pytest.mark.parametrize("name", CALLS)
def test_results_have_a_history_only_if_it_is_asked_for(name: str) -> None:
    x, w = point(1, 2).requires_grad_(), point(3, 4).requires_grad_()
    assert not any(t.requires_grad for t in CALLS[name](x, w))
    with torch.no_grad():
        assert not any(t.requires_grad for t in CALLS[name](x, w))
        assert all(t.requires_grad for t in CALLS[name](x, w, create_graph=True))
    results = CALLS[name](x, w, create_graph=True)
    gx, gw = torch.autograd.grad(results[-1].sum(), (x, w))
    expected = {
        "vjp": (6 * x**2 * w + 3 * w * x**2, 3 * x**3),
        "jvp": (6 * x**2 * w + 3 * w * x**2, 3 * x**3),
        "vhp": (6 * w * x + 6 * w * x, 6 * x**2),
        "hvp": (6 * w * x + 6 * w * x, 6 * x**2),
        "jacobian": (6 * w * x, 3 * x**2),
        "hessian": (6 * w, 6 * x),
    }[name]
    torch.testing.assert_close((gx, gw), tuple(e.detach() for e in expected))
    assert x.grad is None
    assert w.grad is None


def test_the_same_tensor_from_outside_is_a_constant() -> None:
    x = point(2, 3).requires_grad_()
    assert jacobian(lambda y: x * y, x).tolist() == [[2, 0], [0, 3]]
    assert jacobian(lambda y: x * y, x, create_graph=True).tolist() == [[2, 0], [0, 3]]


@pytest.mark.parametrize("strategy", ["reverse-mode", "forward-mode"])
def test_a_jacobian_can_be_differentiated(strategy: str) -> None:
    x, w = point(1, 2).requires_grad_(), point(3, 4).requires_grad_()
    found = jacobian(lambda x: w * x**3, x, create_graph=True, strategy=strategy)
    gx, gw = torch.autograd.grad(found.sum(), (x, w))
    torch.testing.assert_close((gx, gw), ((6 * w * x).detach(), (3 * x**2).detach()))
    assert not jacobian(lambda x: w * x**3, x, strategy=strategy).requires_grad


def test_in_inference_mode() -> None:
    with torch.inference_mode():
        assert jacobian(lambda x: x**2, torch.ones(2)).tolist() == [[2, 0], [0, 2]]


# -- strict ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["vjp", "jvp", "vhp", "hvp"])
@pytest.mark.parametrize("create", [False, True])
def test_strict_products(name: str, create: bool) -> None:
    product = {"vjp": vjp, "jvp": jvp, "vhp": vhp, "hvp": hvp}[name]
    x = point(1, 2)
    v, pair = (None, None) if name == "vjp" else (x, (x, x))
    with pytest.raises(RuntimeError, match="Output 0 of the user-provided function does not require gradients"):
        product(lambda x: torch.ones((), dtype=F64), x, v, create, strict=True)
    for result in product(lambda x: torch.ones((), dtype=F64), x, v, create)[1:]:
        assert not result.any()
    independent = "independent of input 1" if name in ("vjp", "jvp") and not create else "is independent of"
    with pytest.raises(RuntimeError, match=independent):
        product(lambda x, y: x.sum(), (x, x), pair, create, strict=True)
    if name in ("vhp", "hvp"):
        with pytest.raises(RuntimeError, match="jacobian of the user-provided function with respect to input 0"):
            product(lambda x: x.sum(), x, v, create, strict=True)
        constant = "hessian of the user-provided function is independent of input 0.*when create_graph=True"
    else:
        constant = "jacobian of the user-provided function is independent of input 0.*when create_graph=True"
    if create:
        with pytest.raises(RuntimeError, match=constant):
            product(
                (lambda x: x.sum()) if name in ("vjp", "jvp") else (lambda x: (x * x).sum()), x, v, True, strict=True
            )
    product(lambda x: (x**4).sum(), x, v, create, strict=True)


def test_strict_jacobians() -> None:
    x = point(1, 2)
    with pytest.raises(RuntimeError, match="Output 0 of the user-provided function is independent of input 1"):
        jacobian(lambda x, y: x, (x, x), strict=True)
    with pytest.raises(RuntimeError, match=r"jacobian .* is independent of input 0.*create_graph=True"):
        jacobian(lambda x: x, x, strict=True, create_graph=True)
    with pytest.raises(RuntimeError, match="with respect to input 0 is independent of the input"):
        hessian(lambda x: x.sum(), x, strict=True)
    with pytest.raises(RuntimeError, match=r"`strict=True` and `vectorized=True` are not supported together"):
        jacobian(lambda x: x, x, strict=True, vectorize=True)
    with pytest.raises(RuntimeError, match=r"not supported together"):
        jacobian(lambda x: x, x, strict=True, strategy="forward-mode")


# -- what is refused ---------------------------------------------------------------------------------------------------
def test_bad_arguments() -> None:
    x = point(1, 2)
    with pytest.raises(TypeError, match=r"inputs given to vjp must be .* given inputs has type <class 'list'>"):
        vjp(lambda x: x, [x], x)
    with pytest.raises(TypeError, match=r"inputs given to jacobian .* value at index 1 has type <class 'float'>"):
        jacobian(lambda x: x, (x, 2.0))
    with pytest.raises(TypeError, match="outputs of the user-provided function given to hvp"):
        hvp(lambda x: 2.0, x, x)
    with pytest.raises(TypeError, match="v given to jvp"):
        jvp(lambda x: x, x, 2.0)
    with pytest.raises(
        RuntimeError, match=r"v has invalid size: should be torch.Size\(\[2\]\) but got torch.Size\(\[3\]\)"
    ):
        vjp(lambda x: x, x, point(1, 2, 3))
    with pytest.raises(RuntimeError, match="Entry 0 in v has invalid size"):
        jvp(lambda x: x, (x,), point(1))
    with pytest.raises(RuntimeError, match="v is a tuple of invalid length: should be 1 but got 2"):
        hvp(lambda x: x.sum(), (x,), (x, x))
    with pytest.raises(RuntimeError, match="The given v should contain a single Tensor"):
        vhp(lambda x: x.sum(), x, (x, x))
    for product in (jvp, vhp, hvp):
        with pytest.raises(RuntimeError, match="The vector v can only be None if the input"):
            product(lambda x: x.sum(), x)
    with pytest.raises(RuntimeError, match="The vector v can only be None if the user-provided function returns"):
        vjp(lambda x: x, x)
    for product in (vhp, hvp):
        with pytest.raises(RuntimeError, match="should return a single Tensor"):
            product(lambda x: (x.sum(),), x, x)
    for second in (hessian, lambda f, x: vhp(f, x, x), lambda f, x: hvp(f, x, x)):
        with pytest.raises(RuntimeError, match="should contain a single element"):
            second(lambda x: x, x)
    with pytest.raises(AssertionError, match="strategy"):
        jacobian(lambda x: x, x, strategy="symbolic")
    with pytest.raises(AssertionError, match="strategy"):
        hessian(lambda x: x.sum(), x, outer_jacobian_strategy="symbolic")
    with pytest.raises(RuntimeError, match="only Tensors of floating point dtype"):
        jacobian(lambda x: x * 1.0, torch.tensor([1, 2]))


# -- what it costs -----------------------------------------------------------------------------------------------------
MATRIX = torch.from_numpy(np.random.default_rng(0).normal(size=(20, 20)) / 5)


def layers(depth: int, activation: Callable[[Any], Any] = torch.tanh) -> Callable[[Any], Any]:
    def network(x: Any) -> Any:
        for _ in range(depth):
            x = activation(MATRIX @ x)
        return x.sum()

    return network


@pytest.mark.parametrize("product", [vhp, hvp])
@pytest.mark.parametrize(
    "function",
    [
        pytest.param(layers(1), id="layer"),
        pytest.param(layers(20), id="layers"),
        pytest.param(lambda x: (x * (MATRIX @ x)).sum(), id="quadratic"),
        pytest.param(lambda x: torch.nn.functional.softplus(-(MATRIX @ x)).sum(), id="logistic"),
        pytest.param(lambda x: (x**3).sum(), id="cubes"),
        pytest.param(lambda x: ((1 - x[:-1]) ** 2 + 100 * (x[1:] - x[:-1] ** 2) ** 2).sum(), id="rosenbrock"),
        pytest.param(lambda x: torch.nn.functional.mse_loss(torch.tanh(MATRIX @ x), x.detach()), id="mse"),
        pytest.param(lambda x: torch.nn.functional.gelu(MATRIX @ x).sum(), id="gelu"),
        pytest.param(lambda x: torch.nn.functional.silu(MATRIX @ x).sum(), id="silu"),
        pytest.param(
            lambda x: torch.nn.functional.cross_entropy((MATRIX @ x)[None], torch.tensor([3])), id="cross entropy"
        ),
    ],
)
def test_a_product_with_a_hessian_costs_at_most_six_functions(product: Any, function: Any) -> None:
    x = torch.linspace(-1, 1, 20, dtype=F64)
    with count_operations() as once:
        function(x)
    with count_operations() as count:
        product(function, x, x)
    assert count.total <= 6 * once.total
    assert count["mv"] + count["mv_t"] <= 4 * once["mv"]


F = torch.nn.functional
ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    name: getattr(F, name)
    for name in """relu leaky_relu elu selu celu relu6 hardtanh hardsigmoid hardswish hardshrink softshrink gelu silu mish
    softplus logsigmoid softsign sigmoid tanh""".split()
} | {
    "gelu tanh": lambda x: F.gelu(x, approximate="tanh"),
    "softmax": lambda x: F.softmax(x, 0),
    "log_softmax": lambda x: F.log_softmax(x, 0),
}


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_so_does_one_of_a_network_whatever_its_activation(activation: str) -> None:
    x = torch.linspace(-1, 1, 20, dtype=F64)
    for depth in (1, 20):
        network = layers(depth, ACTIVATIONS[activation])
        with count_operations() as once:
            network(x)
        with count_operations() as by_two_passes:
            _, product = hvp(network, x, x)
        with count_operations() as by_a_tangent:
            _, tangent = torch.func.jvp(torch.func.grad(network), (x,), (x,))
        assert by_two_passes.total <= 6 * once.total
        if depth == 20:  # where what is done once, to begin with, does not count
            assert by_a_tangent.total <= 6 * once.total
        torch.testing.assert_close(product, tangent)


WAYS_TO_A_JACOBIAN: dict[str, Callable[..., Any]] = {
    "reverse": jacobian,
    "forward": lambda f, x: jacobian(f, x, strategy="forward-mode"),
    "numerical": lambda f, x: numerical_jacobian(f, x, method="central"),
}
COSTS = {
    # outputs, inputs: evaluations in reverse, forward, numerical mode; of these, the cheapest in operations
    (1, 100): ((1, 100, 201), "reverse"),
    (100, 1): ((1, 1, 3), "forward"),
    (30, 30): ((1, 30, 61), "reverse"),
}


@pytest.mark.parametrize("shape", COSTS, ids=str)
def test_what_a_jacobian_costs_in_each_mode(shape: tuple[int, int]) -> None:
    weight = torch.from_numpy(np.random.default_rng(0).normal(size=shape))
    evaluations = 0

    def layer(x: Any) -> Any:
        nonlocal evaluations
        evaluations += 1
        return torch.tanh(weight @ x)

    x = torch.linspace(-1, 1, shape[1], dtype=F64)
    counted, operations, found = [], {}, []
    for way, compute in WAYS_TO_A_JACOBIAN.items():
        evaluations = 0
        with count_operations() as count:
            found.append(compute(layer, x))
        counted.append(evaluations)
        operations[way] = count.by_name
    torch.testing.assert_close(found[0], found[1])
    torch.testing.assert_close(found[0], found[2], rtol=1e-6, atol=1e-8)
    expected, cheapest = COSTS[shape]
    assert tuple(counted) == expected
    assert min(operations, key=lambda way: operations[way]["mv"] + operations[way]["mv_t"]) == cheapest
    outputs, inputs = shape
    assert operations["reverse"]["mv_t"] == outputs  # one product for each pass backward
    assert operations["numerical"]["tanh"] == 2 * inputs + 1


def test_a_gradient_costs_the_same_number_of_functions_whatever_the_size() -> None:
    counts = []
    for size in (10, 1000):
        with count_operations() as count:
            jacobian(lambda x: (x.exp() * x).sum(), torch.ones(size))
        counts.append(count.total)
    assert counts[0] == counts[1] <= 12


# -- as in PyTorch -----------------------------------------------------------------------------------------------------
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "vector": lambda t, x, y: (x * y).exp() / (1 + x**2),
    "several": lambda t, x, y: (x.sum() * y, (x - y).tanh().cumsum(0)),
    "scalar": lambda t, x, y: ((x * y).sin() * x).sum() ** 2,
    "one-element": lambda t, x, y: (x * y).prod().reshape(1),
    "unused": lambda t, x, y: x * 2,
    "constant": lambda t, x, y: t.ones(2, dtype=t.float64),
}


OPTIONS: list[dict[str, bool]] = [{}, {"create_graph": True}, {"strict": True}]
WAYS = [
    *itertools.product(["vjp", "jvp", "vhp", "hvp", "jacobian", "hessian"], OPTIONS),
    *itertools.product(["jacobian", "hessian"], [{"vectorize": True}]),
]


@pytest.mark.pytorch
@pytest.mark.parametrize(("name", "options"), WAYS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_as_in_pytorch(name: str, function: str, options: dict[str, bool]) -> None:
    pytest.importorskip("torch")
    results = []
    for library in ("torch", "minitorch"):
        t = importlib.import_module(library)
        functional = importlib.import_module(f"{library}.autograd.functional")
        x, y = [t.tensor(v, dtype=t.float64, requires_grad=True) for v in ([0.3, -1.2], [0.7, 0.4])]
        vectors = (t.tensor([1.0, 2.0], dtype=t.float64), t.tensor([-1.0, 0.5], dtype=t.float64))
        if name == "vjp":
            out = FUNCTIONS[function](t, x, y)
            vectors = tuple(t.ones_like(o) for o in out) if isinstance(out, tuple) else t.ones_like(out)
        given = () if name in ("jacobian", "hessian") else (vectors,)
        try:
            found = getattr(functional, name)(lambda x, y, t=t: FUNCTIONS[function](t, x, y), (x, y), *given, **options)
        except Exception as error:
            results.append((type(error), str(error)))
            continue
        results.append(described(found))
    theirs, ours = results
    if isinstance(theirs, tuple) and isinstance(theirs[0], type):
        assert isinstance(ours, tuple), (theirs, ours)
        assert ours[0] is theirs[0], (theirs, ours)
        assert ours[1].startswith(theirs[1].rstrip(".")), (theirs, ours)
    else:
        assert same(ours, theirs), (theirs, ours)


def described(value: Any) -> Any:
    """Nested tuples of (values, whether it requires grad)."""
    if isinstance(value, (tuple, list)):
        return [described(v) for v in value]
    return value.detach().numpy(), value.requires_grad


def same(one: Any, other: Any) -> bool:
    if isinstance(one, list):
        return isinstance(other, list) and len(one) == len(other) and all(map(same, one, other))
    return (
        one[1] == other[1] and one[0].shape == other[0].shape and np.allclose(one[0], other[0], rtol=1e-12, atol=1e-14)
    )


@pytest.mark.parametrize("vectorize", [False, True])
@pytest.mark.parametrize("integers", [torch.arange(3), torch.arange(3) > 0])
def test_forward_mode_refuses_integers_as_forward_mode_does(integers: Any, vectorize: bool) -> None:
    expected = r"Expected primal to be floating point or complex, but got: torch\."
    with pytest.raises(ValueError, match=expected):
        jacobian(lambda x: x * x, integers, strategy="forward-mode", vectorize=vectorize)
    with pytest.raises(ValueError, match=expected):
        jacobian(lambda x, y: x * y, (point(1, 2, 3), integers), strategy="forward-mode", vectorize=vectorize)
    with pytest.raises(ValueError, match=expected):
        hessian(lambda x: (x * x).sum(), integers, outer_jacobian_strategy="forward-mode", vectorize=vectorize)


def test_a_direction_of_integers() -> None:
    outputs, product = jvp(lambda x: x * x, point(1, 2, 3), torch.tensor([1, 0, 2]))
    assert outputs.tolist() == [1, 4, 9]
    assert product.tolist() == [2, 0, 12]
    assert product.dtype == F64
    assert jvp(lambda x: x * x, point(1, 2), torch.tensor([True, False]))[1].tolist() == [2, 0]
