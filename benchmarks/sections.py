"""Large inputs: a million float32 elements, 256x1024 activations, matrices.

Where minitorch takes more than twice PyTorch's time, the line names the *floor*: what NumPy's own kernel takes, alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from harness import Runs, Table, load_torch, measure

import minitorch

torch = load_torch()
LIBRARIES = {"torch": torch, "minitorch": minitorch} if torch is not None else {"minitorch": minitorch}

Call = Callable[..., Any]
Case = tuple[Call, Call, Call | None, bool]
"""What makes the NumPy inputs; the call, of a library and its tensors; NumPy's own kernel; whether it has a gradient."""

SIZE = 1_000_000


def _normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=shape or (SIZE,)).astype(np.float32)


def _pair() -> list[np.ndarray]:
    return list(_normal(2, SIZE))


def _one() -> list[np.ndarray]:
    return [_normal()]


def _matrix() -> list[np.ndarray]:
    return [_normal(1000, 1000)]


def _positive() -> list[np.ndarray]:
    return [np.abs(_normal()) + np.float32(0.01)]


def _unit() -> list[np.ndarray]:
    return [np.random.default_rng(0).uniform(-0.99, 0.99, SIZE).astype(np.float32)]


def _sum_of_exp(x: np.ndarray) -> np.ndarray:
    return np.log(np.exp(x).sum(-1))


ELEMENTWISE: dict[str, Case] = {
    "add": (_pair, lambda t, x, y: x + y, np.add, True),
    "mul": (_pair, lambda t, x, y: x * y, np.multiply, True),
    "div": (_pair, lambda t, x, y: x / y, np.divide, True),
    "add, broadcast row": (
        lambda: [_normal(1000, 1000), _normal(1000)], lambda t, x, y: x + y, np.add, True),
    "add, broadcast column": (
        lambda: [_normal(1000, 1000), _normal(1000, 1)], lambda t, x, y: x + y, np.add, True),
    "exp": (_one, lambda t, x: x.exp(), np.exp, True),
    "log": (_positive, lambda t, x: x.log(), np.log, True),
    "log1p": (_positive, lambda t, x: x.log1p(), np.log1p, True),
    "expm1": (_one, lambda t, x: x.expm1(), np.expm1, True),
    "sqrt": (_positive, lambda t, x: x.sqrt(), np.sqrt, True),
    "rsqrt": (_positive, lambda t, x: x.rsqrt(), np.sqrt, True),
    "sin": (_one, lambda t, x: x.sin(), np.sin, True),
    "cos": (_one, lambda t, x: x.cos(), np.cos, True),
    "tan": (_one, lambda t, x: x.tan(), np.tan, True),
    "atan": (_one, lambda t, x: x.atan(), np.arctan, True),
    "tanh": (_one, lambda t, x: x.tanh(), np.tanh, True),
    "sigmoid": (_one, lambda t, x: x.sigmoid(), np.exp, True),
    "softplus": (_one, lambda t, x: t.nn.functional.softplus(x), np.exp, True),
    "logsigmoid": (_one, lambda t, x: t.nn.functional.logsigmoid(x), np.exp, True),
    "silu": (_one, lambda t, x: t.nn.functional.silu(x), np.exp, True),
    "elu": (_one, lambda t, x: t.nn.functional.elu(x), np.exp, True),
    "leaky_relu": (_one, lambda t, x: t.nn.functional.leaky_relu(x), np.multiply.reduce, True),
    "relu": (_one, lambda t, x: x.relu(), lambda x: np.maximum(x, 0), True),
    "gelu": (_one, lambda t, x: t.nn.functional.gelu(x), np.exp, True),
    "erf": (_one, lambda t, x: x.erf(), np.tanh, True),
    "erfc": (_one, lambda t, x: x.erfc(), np.exp, True),
    "erfinv": (_unit, lambda t, x: x.erfinv(), np.log, True),
    "lgamma": (_positive, lambda t, x: x.lgamma(), np.log, True),
    "digamma": (_positive, lambda t, x: x.digamma(), np.log, True),
    "pow 2": (_one, lambda t, x: x**2, np.square, True),
    "pow 3": (_one, lambda t, x: x**3, lambda x: x * x * x, True),
    "pow 2.5": (_positive, lambda t, x: x**2.5, lambda x: np.power(x, np.float32(2.5)), True),
    "pow tensor": (lambda: [*_positive(), *_one()], lambda t, x, y: x**y, np.power, True),
    "where": (_pair, lambda t, x, y: t.where(x > y, x, y), lambda x, y: np.where(x > y, x, y), True),
    "clamp": (_one, lambda t, x: x.clamp(-1, 1), lambda x: np.clip(x, np.float32(-1), np.float32(1)), True),
    "maximum": (_pair, lambda t, x, y: t.maximum(x, y), np.maximum, True),
    "abs": (_one, lambda t, x: x.abs(), np.abs, True),
    "round": (_one, lambda t, x: x.round(), np.rint, False),
    "comparison": (_pair, lambda t, x, y: x > y, np.greater, False),
    "to float64": (_one, lambda t, x: x.double(), lambda x: x.astype(np.float64), True),
    "transposed copy": (_matrix, lambda t, x: x.t().contiguous(), lambda x: x.T.copy(), True),
}  # fmt: skip
REDUCTIONS: dict[str, Case] = {
    "sum": (_one, lambda t, x: x.sum(), np.sum, True),
    "sum(0)": (_matrix, lambda t, x: x.sum(0), lambda x: x.sum(0), True),
    "sum(1)": (_matrix, lambda t, x: x.sum(1), lambda x: x.sum(1), True),
    "mean": (_one, lambda t, x: x.mean(), np.mean, True),
    "var": (_one, lambda t, x: x.var(), np.var, True),
    "std(1)": (_matrix, lambda t, x: x.std(1), lambda x: x.std(1), True),
    "std(0)": (_matrix, lambda t, x: x.std(0), lambda x: x.std(0), True),
    "norm": (_one, lambda t, x: x.norm(), np.linalg.norm, True),
    "norm(dim=1)": (_matrix, lambda t, x: x.norm(dim=1), lambda x: np.linalg.norm(x, axis=1), True),
    "prod": (lambda: [np.exp(_normal(SIZE) / 100)], lambda t, x: x.prod(), np.prod, True),
    "prod(1)": (lambda: [np.exp(_normal(1000, 1000) / 100)],
                lambda t, x: x.prod(1), lambda x: x.prod(1), True),
    "max": (_one, lambda t, x: x.max(), np.max, True),
    "max(1)": (_matrix, lambda t, x: x.max(1).values, lambda x: x.max(1), True),
    "max(0)": (_matrix, lambda t, x: x.max(0).values, lambda x: x.max(0), True),
    "amax(1)": (_matrix, lambda t, x: x.amax(1), lambda x: x.max(1), True),
    "amax(0)": (_matrix, lambda t, x: x.amax(0), lambda x: x.max(0), True),
    "argmax": (_one, lambda t, x: x.argmax(), np.argmax, False),
    "argmax(1)": (_matrix, lambda t, x: x.argmax(1), lambda x: x.argmax(1), False),
    "any": (_one, lambda t, x: (x > 9).any(), lambda x: np.any(x > 9), False),
    "logsumexp(1)": (_matrix, lambda t, x: x.logsumexp(1), _sum_of_exp, True),
    "logsumexp(0)": (_matrix, lambda t, x: x.logsumexp(0), lambda x: _sum_of_exp(x.T), True),
    "cumsum": (_one, lambda t, x: x.cumsum(0), np.cumsum, True),
    "cumsum(0)": (_matrix, lambda t, x: x.cumsum(0), lambda x: np.cumsum(x, 0), True),
    "cumsum(1)": (_matrix, lambda t, x: x.cumsum(1), lambda x: np.cumsum(x, 1), True),
    "cumprod(1)": (lambda: [np.exp(_normal(1000, 1000) / 100)],
                   lambda t, x: x.cumprod(1), lambda x: np.cumprod(x, 1), True),
    "cummax(1)": (_matrix, lambda t, x: x.cummax(1).values, lambda x: np.maximum.accumulate(x, 1), True),
    "logcumsumexp(1)": (_matrix, lambda t, x: x.logcumsumexp(1), lambda x: np.logaddexp.accumulate(x, 1), True),
    "sort": (_one, lambda t, x: x.sort().values, np.argsort, True),
    "sort(1)": (_matrix, lambda t, x: x.sort(1).values, lambda x: np.argsort(x, 1), True),
    "argsort(1)": (_matrix, lambda t, x: x.argsort(1), lambda x: np.argsort(x, 1), False),
    "topk 10": (_one, lambda t, x: x.topk(10).values, lambda x: np.argpartition(x, SIZE - 10), True),
    "topk 10 (1)": (_matrix, lambda t, x: x.topk(10, 1).values, lambda x: np.argpartition(x, 990, 1), True),
    "median": (_one, lambda t, x: x.median(), lambda x: np.partition(x, SIZE // 2), True),
    "median(1)": (_matrix, lambda t, x: x.median(1).values, lambda x: np.partition(x, 500, 1), True),
    "gather": (lambda: [_normal(1000, 1000)],
               lambda t, x: x[:, t.arange(999, -1, -1)], lambda x: x.take(np.arange(999, -1, -1), 1), True),
}  # fmt: skip


def _activation() -> list[np.ndarray]:
    return [_normal(256, 1024)]


def _layer_norm_inputs() -> list[np.ndarray]:
    return [_normal(256, 1024), 1 + _normal(1024) / 10, _normal(1024)]


def _numpy_softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def _numpy_layer_norm(x: np.ndarray, w: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5) * w + b


ACTIVATIONS: dict[str, Case] = {
    "softmax": (_activation, lambda t, x: x.softmax(1), _numpy_softmax, True),
    "softmax(0)": (_activation, lambda t, x: x.softmax(0), lambda x: _numpy_softmax(x.T), True),
    "log_softmax": (_activation, lambda t, x: x.log_softmax(1), _numpy_softmax, True),
    "layer_norm": (_layer_norm_inputs, lambda t, x, w, b: t.nn.functional.layer_norm(x, (1024,), w, b),
                   _numpy_layer_norm, True),
    "batch_norm": (_layer_norm_inputs,
                   lambda t, x, w, b: t.nn.functional.batch_norm(x, None, None, w, b, training=True),
                   _numpy_layer_norm, True),
    "gelu": (_activation, lambda t, x: t.nn.functional.gelu(x), np.exp, True),
    "gelu tanh": (_activation, lambda t, x: t.nn.functional.gelu(x, approximate="tanh"), np.exp, True),
    "cross_entropy": (_activation,
                      lambda t, x: t.nn.functional.cross_entropy(x, t.arange(256)), _numpy_softmax, True),
    "randn": (lambda: [], lambda t: t.randn(256, 1024), lambda: np.random.default_rng(0).normal(size=(256, 1024)),
              False),
    "rand": (lambda: [], lambda t: t.rand(256, 1024), lambda: np.random.default_rng(0).random((256, 1024)), False),
    "dropout": (_activation, lambda t, x: t.nn.functional.dropout(x, 0.5),
                lambda x: np.random.default_rng(0).random(x.shape), True),
}  # fmt: skip


def _product(*shapes: tuple[int, ...]) -> Call:
    return lambda: [_normal(*shape) for shape in shapes]


def _at(t: Any, x: Any, y: Any) -> Any:
    return x @ y


MATMULS: dict[str, Case] = {
    "64x64 @ 64x64": (_product((64, 64), (64, 64)), _at, np.matmul, True),
    "256x256 @ 256x256": (_product((256, 256), (256, 256)), _at, np.matmul, True),
    "1024x1024 @ 1024x1024": (_product((1024, 1024), (1024, 1024)), _at, np.matmul, True),
    "1024x16 @ 16x1024": (_product((1024, 16), (16, 1024)), _at, np.matmul, True),
    "16x4096 @ 4096x16": (_product((16, 4096), (4096, 16)), _at, np.matmul, True),
    "1024x1024 @ 1024": (_product((1024, 1024), (1024,)), _at, np.matmul, True),
    "4096 @ 4096": (_product((4096,), (4096,)), _at, np.matmul, True),
    "32x64x64 @ 32x64x64": (_product((32, 64, 64), (32, 64, 64)), _at, np.matmul, True),
    "512x8x8 @ 512x8x8": (_product((512, 8, 8), (512, 8, 8)), _at, np.matmul, True),
    "32x64x64 @ 64x64": (_product((32, 64, 64), (64, 64)), _at, np.matmul, True),
    "8x12x64x64 @ transposed": (
        _product((8, 12, 64, 64), (8, 12, 64, 64)), lambda t, x, y: x @ y.transpose(-1, -2),
        lambda x, y: x @ y.swapaxes(-1, -2), True),
    "linear 64x784 to 128": (
        _product((64, 784), (128, 784), (128,)), lambda t, x, w, b: t.nn.functional.linear(x, w, b),
        lambda x, w, b: x @ w.T + b, True),
    "einsum bij,bjk->bik": (
        _product((32, 64, 64), (32, 64, 64)), lambda t, x, y: t.einsum("bij,bjk->bik", x, y), np.matmul, True),
}  # fmt: skip


def elementwise(table: Table, repeats: int) -> None:
    """Elementwise functions and reductions of a million float32 elements."""
    _section(table, repeats, ELEMENTWISE | REDUCTIONS)


def activations(table: Table, repeats: int) -> None:
    """Layers' functions of 256x1024 float32 elements."""
    _section(table, repeats, ACTIVATIONS)


def matmuls(table: Table, repeats: int) -> None:
    """Products of matrices and vectors of float32."""
    _section(table, repeats, MATMULS)


def _section(table: Table, repeats: int, cases: dict[str, Case]) -> None:
    for name, (make, call, kernel, differentiable) in cases.items():
        arrays = make()
        for backward in (False, True)[: 1 + differentiable]:
            runs: Runs = {peer: _run(library, call, arrays, backward) for peer, library in LIBRARIES.items()}
            _agree(name, runs, arrays)
            if kernel is not None and not backward:
                runs["NumPy"] = lambda kernel=kernel, arrays=arrays: kernel(*arrays)
            table.line(name + ", forward+backward" * backward, measure(runs, repeats=repeats))


def _run(library: Any, call: Call, arrays: list[np.ndarray], backward: bool) -> Callable[[], Any]:
    inputs = [library.tensor(a, requires_grad=backward) for a in arrays]
    if not backward:
        return lambda: call(library, *inputs)
    like = call(library, *inputs).detach().numpy()
    start = library.tensor(np.random.default_rng(1).normal(size=like.shape).astype(like.dtype))

    def both() -> Any:
        for x in inputs:
            x.grad = None
        call(library, *inputs).backward(start)
        return inputs

    return both


def _agree(name: str, runs: Runs, arrays: list[np.ndarray]) -> None:
    """Raise where PyTorch's result, or its gradients, are others."""
    if len(runs) < 2 or not arrays or name == "dropout":
        return
    found = {}
    for peer, run in runs.items():
        result = run()
        found[peer] = [x.grad.numpy().copy() for x in result] if isinstance(result, list) else [result.numpy()]
    for ours, theirs in zip(found["minitorch"], found["torch"], strict=True):
        if theirs.dtype.kind == "f":  # indices of equal values may differ
            size = max(1.0, float(np.abs(theirs).max()))
            np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=2e-4 * size, err_msg=name)
