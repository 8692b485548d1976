"""``out=``: which dtypes it may have, what it is resized to, and in which dtype sums are computed."""

from __future__ import annotations

from typing import Any

import pytest

import minitorch

X = [[1.5, -2.5], [0.5, 4.0]]
CASTING: dict[str, Any] = {
    "add": lambda torch, x, out: torch.add(x, 1, out=out),
    "exp": lambda torch, x, out: torch.exp(x, out=out),
    "square": lambda torch, x, out: torch.square(x, out=out),
    "maximum": lambda torch, x, out: torch.maximum(x, x, out=out),
    "sum": lambda torch, x, out: torch.sum(x, 0, out=out),
    "mean": lambda torch, x, out: torch.mean(x, 0, out=out),
    "prod": lambda torch, x, out: torch.prod(x, 0, out=out),
    "var": lambda torch, x, out: torch.var(x, 0, out=out),
    "std": lambda torch, x, out: torch.std(x, 0, out=out),
    "max": lambda torch, x, out: torch.max(x, out=out),
    "min": lambda torch, x, out: torch.min(x, out=out),
    "cumsum": lambda torch, x, out: torch.cumsum(x, 0, out=out),
    "cumprod": lambda torch, x, out: torch.cumprod(x, 0, out=out),
    "cat": lambda torch, x, out: torch.cat([x, x], out=out),
    "stack": lambda torch, x, out: torch.stack([x, x], out=out),
    "kron": lambda torch, x, out: torch.kron(x, x, out=out),
    "outer": lambda torch, x, out: torch.outer(x[0], x[0], out=out),
    "addr": lambda torch, x, out: torch.addr(x, x[0], x[0], out=out),
}
EXACT: dict[str, Any] = {
    "abs": lambda torch, x, out: torch.abs(x, out=out),
    "neg": lambda torch, x, out: torch.neg(x, out=out),
    "sign": lambda torch, x, out: torch.sign(x, out=out),
    "floor": lambda torch, x, out: torch.floor(x, out=out),
    "round": lambda torch, x, out: torch.round(x, decimals=1, out=out),
    "frac": lambda torch, x, out: torch.frac(x, out=out),
    "signbit": lambda torch, x, out: torch.signbit(x, out=out),
    "isposinf": lambda torch, x, out: torch.isposinf(x, out=out),
    "nan_to_num": lambda torch, x, out: torch.nan_to_num(x, out=out),
    "where": lambda torch, x, out: torch.where(x > 0, x, x, out=out),
    "mm": lambda torch, x, out: torch.mm(x, x, out=out),
    "addmm": lambda torch, x, out: torch.addmm(x, x, x, out=out),
    "matmul": lambda torch, x, out: torch.matmul(x, x[0], out=out),
    "dot": lambda torch, x, out: torch.dot(x[0], x[0], out=out),
    "tensordot": lambda torch, x, out: torch.tensordot(x, x, 1, out=out),
    "tril": lambda torch, x, out: torch.tril(x, out=out),
    "diag": lambda torch, x, out: torch.diag(x, out=out),
    "amax": lambda torch, x, out: torch.amax(x, 0, out=out),
    "argmax": lambda torch, x, out: torch.argmax(x, 0, out=out),
    "gather": lambda torch, x, out: torch.gather(x, 0, torch.tensor([[0, 1]]), out=out),
    "index_select": lambda torch, x, out: torch.index_select(x, 0, torch.tensor([0]), out=out),
    "take": lambda torch, x, out: torch.take(x, torch.tensor([0]), out=out),
    "masked_select": lambda torch, x, out: torch.masked_select(x, x > 0, out=out),
    "nonzero": lambda torch, x, out: torch.nonzero(x, out=out),
    "softmax": lambda torch, x, out: torch.softmax(x, 0, out=out),
    "log_softmax": lambda torch, x, out: torch.log_softmax(x, 0, out=out),
    "norm": lambda torch, x, out: torch.norm(x, 2, 0, out=out),
    "quantile": lambda torch, x, out: torch.quantile(x, 0.5, 0, out=out),
    "logcumsumexp": lambda torch, x, out: torch.logcumsumexp(x, 0, out=out),
}
DTYPES = ["float64", "float32", "float16", "int64", "uint8", "bool"]


@pytest.mark.parametrize("name", CASTING)
def test_a_wider_float_may_take_the_result(name: str) -> None:
    x = minitorch.tensor(X)
    out = minitorch.empty(0, dtype=minitorch.float64)
    assert CASTING[name](minitorch, x, out) is out
    expected = CASTING[name](minitorch, x, minitorch.empty(0))
    assert out.dtype is minitorch.float64
    assert out.tolist() == pytest.approx(expected.tolist(), rel=1e-6) if out.ndim < 2 else out.shape == expected.shape


@pytest.mark.parametrize("name", EXACT)
def test_another_dtype_is_refused(name: str) -> None:
    x = minitorch.tensor(X)
    with pytest.raises(RuntimeError, match="Expected out tensor to have dtype"):
        EXACT[name](minitorch, x, minitorch.empty(0, dtype=minitorch.float16))


@pytest.mark.pytorch
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("given", ["float32", "int64"])
@pytest.mark.parametrize("name", [*CASTING, *EXACT])
def test_against_pytorch(name: str, given: str, dtype: str) -> None:
    torch = pytest.importorskip("torch")
    call = {**CASTING, **EXACT}[name]

    def outcome(lib: Any) -> Any:
        out = lib.empty(0, dtype=getattr(lib, dtype))
        try:
            call(lib, lib.tensor(X).to(getattr(lib, given)), out)
        except Exception as error:
            return RuntimeError if isinstance(error, RuntimeError) else type(error)  # or NotImplementedError
        return str(out.dtype), tuple(out.shape), [round(v, 2) for v in out.double().flatten().tolist()]

    assert outcome(minitorch) == outcome(torch)


def test_sums_are_computed_in_the_dtype_of_out() -> None:
    x, out = minitorch.tensor([1.5, 2.5]), minitorch.tensor(0)
    assert minitorch.sum(x, 0, out=out).item() == 3
    assert minitorch.cumsum(x, 0, out=minitorch.tensor([0, 0])).tolist() == [1, 3]
    with pytest.raises(RuntimeError, match="Expected out tensor to have dtype Double, but got Float instead"):
        minitorch.sum(x, 0, dtype=minitorch.float64, out=minitorch.tensor(0.0))


def test_joining_into_a_lower_category_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="can't be cast to the desired output type Long"):
        minitorch.cat([minitorch.tensor([1.5])], out=minitorch.empty(0, dtype=minitorch.int64))
