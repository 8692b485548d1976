"""Writes into tensors of which several elements are one place of memory: expanded ones, and windows that overlap."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch

MULTIPLE = "more than one element of the written-to tensor refers to a single memory location"

UNARY = [
    "abs",
    "absolute",
    "acos",
    "acosh",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctanh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "ceil",
    "cos",
    "cosh",
    "deg2rad",
    "digamma",
    "erf",
    "erfc",
    "erfinv",
    "exp",
    "exp2",
    "expm1",
    "fix",
    "floor",
    "frac",
    "i0",
    "lgamma",
    "log",
    "log10",
    "log1p",
    "log2",
    "logical_not",
    "logit",
    "nan_to_num",
    "neg",
    "negative",
    "rad2deg",
    "reciprocal",
    "relu",
    "round",
    "rsqrt",
    "sgn",
    "sigmoid",
    "sign",
    "sin",
    "sinc",
    "sinh",
    "sqrt",
    "square",
    "tan",
    "tanh",
    "tril",
    "triu",
    "trunc",
    "zero",
    "cauchy",
    "exponential",
    "log_normal",
    "normal",
    "random",
    "uniform",
    "conj_physical",
]
BINARY = [
    "add",
    "arctan2",
    "atan2",
    "clamp",
    "clamp_max",
    "clamp_min",
    "clip",
    "copysign",
    "div",
    "divide",
    "eq",
    "float_power",
    "floor_divide",
    "fmod",
    "ge",
    "greater",
    "greater_equal",
    "gt",
    "heaviside",
    "hypot",
    "igamma",
    "igammac",
    "ldexp",
    "le",
    "less",
    "less_equal",
    "logical_and",
    "logical_or",
    "logical_xor",
    "lt",
    "mul",
    "multiply",
    "ne",
    "nextafter",
    "not_equal",
    "pow",
    "remainder",
    "sub",
    "subtract",
    "true_divide",
    "xlogy",
    "copy",
]
INTEGER = ["bitwise_and", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor", "gcd", "lcm"]
WITHOUT_A_WRITE = {
    "as_strided_", "detach_", "requires_grad_", "resize_", "resize_as_", "set_", "share_memory_", "squeeze_", "swapaxes_",
    "swapdims_", "t_", "transpose_", "unsqueeze_",
}  # fmt: skip
"""Methods that change what a tensor shows, not what is there."""

Written = Callable[[Any, Any], Any]


def halves(torch: Any, *shape: int) -> Any:
    return torch.full(shape or (3, 3), 0.5, dtype=torch.float64)


def mask(torch: Any) -> Any:
    return torch.tensor([[True, False, True], [True, False, True], [False, False, True]])


def rows(torch: Any) -> Any:
    return torch.tensor([0, 2])


def index(torch: Any) -> Any:
    return torch.tensor([[0, 1, 2], [2, 1, 0], [0, 2, 1]])


def sevens(torch: Any, *shape: int) -> Any:
    return torch.full(shape, 7.0, dtype=torch.float64)


def assign(key: Callable[[Any], Any], value: Callable[[Any], Any]) -> Written:
    return lambda torch, d: d.__setitem__(key(torch), value(torch))


CALLS: dict[str, Written] = {
    **{f"{name}_": (lambda torch, d, name=name: getattr(d, f"{name}_")()) for name in [*UNARY, "bitwise_not"]},
    **{f"{name}_": (lambda torch, d, name=name: getattr(d, f"{name}_")(halves(torch))) for name in BINARY},
    **{f"{name}_": (lambda torch, d, name=name: getattr(d, f"{name}_")(torch.ones_like(d))) for name in INTEGER},
    "add_ a number": lambda torch, d: d.add_(1),
    "addbmm_": lambda torch, d: d.addbmm_(halves(torch, 2, 3, 3), halves(torch, 2, 3, 3)),
    "addcdiv_": lambda torch, d: d.addcdiv_(halves(torch), halves(torch)),
    "addcmul_": lambda torch, d: d.addcmul_(halves(torch), halves(torch)),
    "addmm_": lambda torch, d: d.addmm_(halves(torch), halves(torch)),
    "addmv_": lambda torch, d: d.select(1, 0).addmv_(halves(torch), halves(torch, 3)),
    "addr_": lambda torch, d: d.addr_(halves(torch, 3), halves(torch, 3)),
    "apply_": lambda torch, d: d.apply_(lambda value: value + 1),
    "baddbmm_": lambda torch, d: d.unsqueeze(0).baddbmm_(halves(torch, 1, 3, 3), halves(torch, 1, 3, 3)),
    "bernoulli_": lambda torch, d: d.bernoulli_(0.5),
    "cumprod_": lambda torch, d: d.cumprod_(1),
    "cumsum_": lambda torch, d: d.cumsum_(0),
    "fill_": lambda torch, d: d.fill_(7.0),
    "fill_ a tensor": lambda torch, d: d.fill_(sevens(torch)),
    "fill_diagonal_": lambda torch, d: d.fill_diagonal_(7.0),
    "geometric_": lambda torch, d: d.geometric_(0.5),
    "index_add_": lambda torch, d: d.index_add_(0, rows(torch), halves(torch, 2, 3)),
    "index_copy_": lambda torch, d: d.index_copy_(0, rows(torch), halves(torch, 2, 3)),
    "index_fill_": lambda torch, d: d.index_fill_(1, rows(torch), 7.0),
    "index_fill_ a tensor": lambda torch, d: d.index_fill_(0, rows(torch), sevens(torch)),
    "index_put_": lambda torch, d: d.index_put_((rows(torch),), sevens(torch)),
    "index_put_ mask": lambda torch, d: d.index_put_((mask(torch),), sevens(torch)),
    "index_reduce_": lambda torch, d: d.index_reduce_(0, rows(torch), 3 * halves(torch, 2, 3), "amax"),
    "lerp_": lambda torch, d: d.lerp_(halves(torch), 0.5),
    "map2_": lambda torch, d: d.map2_(halves(torch), halves(torch), lambda a, b, c: a + b),
    "map_": lambda torch, d: d.map_(halves(torch), lambda a, b: a + b),
    "masked_fill_": lambda torch, d: d.masked_fill_(mask(torch), 7.0),
    "masked_fill_ a tensor": lambda torch, d: d.masked_fill_(mask(torch), sevens(torch)),
    "masked_scatter_": lambda torch, d: d.masked_scatter_(mask(torch), sevens(torch, 9)),
    "mvlgamma_": lambda torch, d: d.mvlgamma_(1),
    "polygamma_": lambda torch, d: d.polygamma_(1),
    "put_": lambda torch, d: d.put_(torch.tensor([0, 4]), sevens(torch, 2)),
    "renorm_": lambda torch, d: d.renorm_(2, 0, 1.0),
    "scatter_": lambda torch, d: d.scatter_(0, index(torch), sevens(torch, 3, 3)),
    "scatter_add_": lambda torch, d: d.scatter_add_(0, index(torch), halves(torch)),
    "scatter_reduce_": lambda torch, d: d.scatter_reduce_(0, index(torch), halves(torch), "sum"),
    "x[mask] = number": assign(mask, lambda torch: 7.0),
    "x[mask] = tensor": assign(mask, lambda torch: sevens(torch, 5)),
    "x[rows] = number": assign(rows, lambda torch: 7.0),
    "x[rows] = tensor": assign(rows, lambda torch: halves(torch, 2, 3)),
    "x[rows, :2] = number": assign(lambda torch: (rows(torch), slice(0, 2)), lambda torch: 7.0),
    "x[0] = number": assign(lambda torch: 0, lambda torch: 7.0),
    "x[0] = tensor": assign(lambda torch: 0, lambda torch: halves(torch, 3)),
    "x[:, 0] = number": assign(lambda torch: (slice(None), 0), lambda torch: 7.0),
    "x[0, 1] = number": assign(lambda torch: (0, 1), lambda torch: 7.0),
    "x[:] = number": assign(lambda torch: slice(None), lambda torch: 7.0),
    "x[:] = tensor": assign(lambda torch: slice(None), halves),
    "F.relu_": lambda torch, d: torch.nn.functional.relu_(d),
    "F.leaky_relu_": lambda torch, d: torch.nn.functional.leaky_relu_(d),
    "F.threshold_": lambda torch, d: torch.nn.functional.threshold_(d, 1.5, 0.0),
    "F.silu": lambda torch, d: torch.nn.functional.silu(d, inplace=True),
    "F.dropout": lambda torch, d: torch.nn.functional.dropout(d, 0.5, inplace=True),
    "init.zeros_": lambda torch, d: torch.nn.init.zeros_(d),
    "init.constant_": lambda torch, d: torch.nn.init.constant_(d, 2.0),
    "init.normal_": lambda torch, d: torch.nn.init.normal_(d),
    "out=": lambda torch, d: torch.add(halves(torch), 1, out=d),
}  # fmt: skip
WARNED = {name for name in CALLS if re.match(r"masked_fill_|index_fill_|index_put_|x\[(mask|rows)", name)}
DONE = {
    "fill_",
    "fill_diagonal_",
    "zero_",
    "tril_",
    "triu_",
    "conj_physical_",
    "F.threshold_",
    "init.zeros_",
    "init.constant_",
}
ORDERED = {"addmv_", "apply_", "baddbmm_", "map2_", "map_"}
"""What PyTorch does to expanded tensors, with values that depend on the order in which it writes; refused here."""
PARTS = {"x[0] = number", "x[0] = tensor", "x[:, 0] = number", "x[0, 1] = number"}
DRAWN = {
    "bernoulli_",
    "cauchy_",
    "exponential_",
    "geometric_",
    "log_normal_",
    "normal_",
    "random_",
    "uniform_",
    "F.dropout",
    "init.normal_",
}
OF_INTEGERS = {f"{name}_" for name in [*INTEGER, "bitwise_not"]}
SHARED: dict[str, tuple[int, Callable[[Any], Any]]] = {
    "rows": (3, lambda base: base.expand(3, 3)),
    "columns": (3, lambda base: base.view(3, 1).expand(3, 3)),
    "strides": (3, lambda base: base.as_strided((3, 3), (0, 1))),
    "windows": (5, lambda base: base.unfold(0, 3, 1)),
    "overlap": (7, lambda base: base.as_strided((3, 3), (2, 1))),
}
EXPANDED = ("rows", "columns", "strides")


def base_of(torch: Any, name: str, size: int) -> Any:
    numbers = torch.arange(size, dtype=torch.float64) * 0.25 + 1
    return numbers.long() if name in OF_INTEGERS else numbers


def outcome(torch: Any, name: str, of: str) -> tuple[str, list[float]]:
    """Whether a write is done, done with a warning, or refused; and what the memory holds then."""
    size, take = SHARED[of]
    base = base_of(torch, name, size)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            CALLS[name](torch, take(base))
            found = "warned" if any(["on expanded tensors is deprecated" in str(w.message) for w in caught]) else "done"
        except RuntimeError as error:
            if MULTIPLE not in str(error):
                raise
            found = "refused"
    return found, base.tolist()


def test_every_method_that_writes_is_called() -> None:
    methods = {name for name in dir(minitorch.Tensor) if name.endswith("_") and not name.startswith("_")}
    assert methods - WITHOUT_A_WRITE == {name.split()[0] for name in CALLS if name.split("_")[0].islower() and "." not in name
                                         and "[" not in name and "=" not in name}  # fmt: skip


@pytest.mark.parametrize("of", EXPANDED)
@pytest.mark.parametrize("name", CALLS)
def test_expanded_tensors(name: str, of: str) -> None:
    found, values = outcome(minitorch, name, of)
    if name not in PARTS:
        assert found == (
            "warned" if name in WARNED else "done" if name in DONE or (name, of) == ("addmv_", "columns") else "refused"
        )
    if found == "refused":
        assert values == base_of(minitorch, name, 3).tolist()


@pytest.mark.parametrize("of", SHARED)
@pytest.mark.parametrize("name", CALLS)
def test_as_in_pytorch(name: str, of: str) -> None:
    torch = pytest.importorskip("torch")
    if name in ORDERED and of in EXPANDED:
        return
    mine, theirs = outcome(minitorch, name, of), outcome(torch, name, of)
    assert mine[0] == theirs[0]
    if of in EXPANDED and name not in DRAWN:
        np.testing.assert_allclose(mine[1], theirs[1])


@pytest.mark.parametrize("of", ["windows", "overlap"])
@pytest.mark.parametrize(
    "name", [n for n in CALLS if re.match(r"masked|index_[cfp]|scatter_$|put_|tri|fill|x\[|copy_", n)]
)
def test_what_a_write_names_is_what_stays(name: str, of: str) -> None:
    torch = pytest.importorskip("torch")
    np.testing.assert_allclose(outcome(minitorch, name, of)[1], outcome(torch, name, of)[1])


FLAT = {"apply_", "map_", "map2_", "out=", "x[0]", "x[:,"} | DRAWN | OF_INTEGERS
UNDERIVED = {
    "heaviside_",
    "nextafter_",
    "igamma_",
    "igammac_",
    "floor_divide_",
    "polygamma_",
    "init.zeros_",
    "init.constant_",
}


def changed(torch: Any, name: str, of: str) -> Callable[[Any], Any]:
    """A function of the memory: what it holds after the write."""

    def function(leaf: Any) -> Any:
        base = leaf * 1
        CALLS[name](torch, SHARED[of][1](base))
        return base

    return function


SMOOTH = [n for n in CALLS if n.split()[0] not in FLAT | UNDERIVED and not n.startswith("logical")]


@pytest.mark.parametrize("of", ["windows", "overlap"])
@pytest.mark.parametrize("name", SMOOTH)
def test_derivatives_of_overlapping_writes(name: str, of: str) -> None:
    point = (minitorch.arange(SHARED[of][0], dtype=minitorch.float64) * 0.0625 + 0.3).requires_grad_()
    if name in ("acosh_", "arccosh_"):
        point = (point + 1).detach().requires_grad_()
    assert minitorch.autograd.gradcheck(changed(minitorch, name, of), point, check_forward_ad=True)


@pytest.mark.parametrize("of", EXPANDED)
@pytest.mark.parametrize("name", sorted(WARNED | DONE - {"conj_physical_", "init.zeros_", "init.constant_"}))
@pytest.mark.filterwarnings("ignore:Use of .* on expanded tensors")
def test_backward_refuses_expanded_writes_and_forward_mode_does_not(name: str, of: str) -> None:
    point = base_of(minitorch, name, 3) + 0.1
    out = changed(minitorch, name, of)(point.clone().requires_grad_())
    with pytest.raises(RuntimeError, match=MULTIPLE):
        out.sum().backward()
    direction = minitorch.tensor([0.5, -1.0, 2.0], dtype=minitorch.float64)
    value, tangent = minitorch.func.jvp(changed(minitorch, name, of), (point,), (direction,))
    assert value.tolist() == out.tolist()
    measured = minitorch.autograd.numerical_jacobian(changed(minitorch, name, of), point) @ direction
    np.testing.assert_allclose(tangent.numpy(), measured.numpy(), atol=1e-8)


@pytest.mark.parametrize("of", SHARED)
@pytest.mark.parametrize("name", sorted(WARNED | DONE | {"copy_", "scatter_", "exp_", "mul_", "masked_scatter_"}))
@pytest.mark.filterwarnings("ignore:Use of .* on expanded tensors")
def test_a_map_is_the_loop(name: str, of: str) -> None:
    point = base_of(minitorch, name, SHARED[of][0])
    batch = minitorch.stack([point, point * 2, point + 0.1])
    function = changed(minitorch, name, of)
    if of in EXPANDED and name not in WARNED | DONE:
        with pytest.raises(RuntimeError, match=MULTIPLE):
            minitorch.vmap(function)(batch)
        return
    assert minitorch.vmap(function)(batch).tolist() == [function(one).tolist() for one in batch]


def test_masks_of_each_example() -> None:
    masks = minitorch.tensor([[True, False, False], [False, True, True]])

    def function(x: Any, mask: Any) -> Any:
        base = x * 1
        base.unfold(0, 3, 1).masked_fill_(mask, 7.0)
        return base

    batch = minitorch.arange(10.0).reshape(2, 5)
    found = minitorch.vmap(function)(batch, masks)
    assert found.tolist() == [function(x, m).tolist() for x, m in zip(batch, masks)]
    assert found.tolist() == [[7, 7, 7, 3, 4], [5, 7, 7, 7, 7]]


def test_an_expanded_tensor_stays_refused_after_a_write_that_is_done() -> None:
    x = minitorch.zeros(3).expand(2, 3)
    x.fill_(1)
    with pytest.raises(RuntimeError, match=MULTIPLE):
        x.add_(1)
    with pytest.warns(UserWarning, match=r"Use of index_put_ on expanded tensors is deprecated"):
        x[x > 0] = 2
    with pytest.raises(RuntimeError, match=MULTIPLE):
        x.add_(1)
    assert x.tolist() == [[2, 2, 2]] * 2
