"""Points at which mutants show that do not show at the samples of ``tests/samples``: ties, zeros, other options, batches."""

from __future__ import annotations

from typing import Any

import numpy as np

import minitorch
from minitorch import _op
from minitorch._kernels.normalize import Plan
from samples.sample import Sample, distinct, normal, sample

F = minitorch.nn.functional


def row(name: str, *params: Any) -> Any:
    """A call of a row that has no public function."""
    return lambda torch, *inputs: _op.rows[name].call(*inputs, *params)


def _standardized_backward(torch: Any, grad: Any, x: Any) -> Any:
    plan = Plan((3, 2), 0, 1e-5)
    mean, var = _op.rows["norm_moments"].call(x, plan)[:2]
    return _op.rows["standardized_backward"].call(grad, x, mean.detach(), var.detach(), plan)


def _standardized(torch: Any, x: Any) -> Any:
    plan = Plan((3, 2), 0, 1e-5)
    mean, var = _op.rows["norm_moments"].call(x, plan)[:2]
    return _op.rows["standardized"].call(x, mean.detach(), var.detach(), plan)


def _first_vectors(torch: Any, x: Any) -> Any:
    u, values, vh = torch.linalg.svd(x)
    return u[:, :2], values, vh[:2]


def _reduced(how: str, include: bool = True) -> Any:
    index = minitorch.tensor([[0, 1, 1], [2, 1, 0]])
    return lambda t, x, src: t.scatter_reduce(x, 0, index, src, how, include_self=include)


def _gates(gates: int, hidden: int, size: int = 1) -> tuple[Any, ...]:
    """The weights and biases of a recurrent layer."""
    rows = gates * hidden
    return normal(rows, size), normal(rows, hidden), normal(rows), normal(rows)


_INFINITE = float("inf")
_TIED = [[1.0, -1.0, 0.5], [-0.25, 0.5, 0.5], [2.0, -0.3, 0.1]]
_AROUND = [-4.5, -3.5, -1.2, -0.4, 0.3, 1.1, 3.4, 5.2]
_SQUARE = normal(3, 3)
_FULL = normal(3, 3) * 0.3 + np.eye(3) * 2

SAMPLES: dict[str, list[Sample]] = {
    "adaptive_avg_pool_grad": [sample(lambda t, x: F.adaptive_avg_pool2d(x, (2, 1)).tanh(), normal(2, 4, 3))],
    "addmv": [sample(lambda t, a, b, c: t.addmv(a, b, c, beta=0.5), normal(2), normal(2, 3), normal(3))],
    "addr": [sample(lambda t, a, b, c: t.addr(a, b, c, alpha=2.5), normal(2, 3), normal(2), normal(3))],
    "atan2": [sample(lambda t, a, b: t.atan2(a, b), [0.0, 1.0, 0.6], [0.0, 0.0, 0.8], order=1)],
    "channel_fill": [sample(row("channel_fill", (3, 2), (3, 2)), normal(2))],
    "channel_spread": [sample(row("channel_spread", (3, 2, 2)), normal(2))],
    "cholesky_inverse": [sample(lambda t, x, u=u: t.cholesky_inverse(x, upper=u), _FULL) for u in (True, False)],
    "cholesky_solve": [
        sample(lambda t, b, x, u=u: t.cholesky_solve(b, x, upper=u), normal(3, 2), _FULL) for u in (True, False)
    ],
    "clamp_tensors": [
        sample(
            lambda t, x, low, high: t.clamp(x, low, high),
            [-3.0, -1.5, -0.2, 0.4, 0.9, 2.5, -0.6, 1.7],
            [-1.0, -1.2, 0.5, 0.1, -0.3, 0.2, 1.0, 0.6],
            [1.0, 0.3, 0.8, 0.7, 0.2, 1.4, 0.4, -0.5],
            order=1,
        ),
        sample(
            lambda t, x, low, high: t.clamp(x, low, high),
            [-1.0, 1.0, 0.5, 0.25, 1.5],
            [-1.0, -2.0, 1.0, -1.0, 0.5],
            [1.0, 1.0, 1.0, 0.25, 0.5],
            order=1,
        ),
    ],
    "clamp_low": [sample(lambda t, x, low: t.clamp(x, min=low), [-1.0, 0.5, 0.25], [-1.0, 1.0, 0.0], order=1)],
    "clamp_high": [sample(lambda t, x, high: t.clamp(x, max=high), [-1.0, 0.5, 0.25], [-1.0, 1.0, 0.0], order=1)],
    "cofactor_slope": [sample(row("cofactor_slope"), normal(2, 4, 4), normal(2, 4, 4))],
    "copysign": [sample(lambda t, a, b: t.copysign(a, b), [0.0, 1.0, -1.5], [1.0, -2.0, 3.0], order=1)],
    "elu_derivative": [sample(row("elu_derivative", 1.3, 1.1, 0.8, 1), normal(6), distinct(6))],
    "half_of": [sample(row("half_of", 0, True), normal(2))],
    "hardsigmoid": [sample(lambda t, x: F.hardsigmoid(x), _AROUND)],
    "hardsigmoid_backward": [sample(lambda t, x: F.hardsigmoid(x) * x, _AROUND)],
    "hardswish": [sample(lambda t, x: F.hardswish(x), _AROUND)],
    "hardswish_backward": [sample(lambda t, x: F.hardswish(x) * x, _AROUND)],
    "i1": [sample(lambda t, x: t.special.i1(x), [0.0, 0.5, -1.0, 1.0], order=1)],
    "i1e": [sample(lambda t, x: t.special.i1e(x), [0.0, 0.5, -1.0, 1.0], order=1)],
    "index_fill_tensor": [
        sample(lambda t, x, v: t.index_fill(x, 1, t.tensor([0, 2, 0]), v), normal(2, 3), normal(), order=1),
    ],
    "index_add": [
        sample(lambda t, x, s: t.index_add(x, 0, t.tensor([1, 1]), s, alpha=2), normal(3, 2), normal(2, 2)),
    ],
    "gru_layer": [sample(row("gru_layer", (1,), False), *[normal(1, n) for n in (1, 4)], *_gates(3, 4))],
    "lstm_layer": [  # sequences of different lengths, forwards and backwards; and more units than gates
        *[
            sample(
                row("lstm_layer", (3, 2, 1, 1), reverse),
                *[normal(n, k) for n, k in ((7, 2), (3, 1), (3, 1))],
                *_gates(4, 1, 2),
            )
            for reverse in (False, True)
        ],
        sample(row("lstm_layer", (1,), False), *[normal(1, n) for n in (1, 5, 5)], *_gates(4, 5)),
    ],
    "lstsq": [
        sample(lambda t, a, b: t.linalg.lstsq(a, b)[:2], normal(2, 4, 2), normal(2, 4, 3), order=1),
        sample(lambda t, a, b: t.linalg.lstsq(a, b)[1], normal(4, 2), normal(4, 3)),
        sample(lambda t, a, b: t.linalg.lstsq(a, b)[0], normal(4, 2) * [1.0, 0.1], normal(4, 3), order=1),
    ],
    "lu_parts": [
        sample(lambda t, x: t.lu_unpack(x, t.tensor([1, 2, 3]), unpack_pivots=False)[1:], normal(2, 4, 3)),
        sample(lambda t, x: t.lu_unpack(x, t.tensor([1, 2, 3]), unpack_pivots=False)[1:], normal(2, 3, 4)),
    ],
    "masked_scatter": [
        sample(
            lambda t, x, s: t.masked_scatter(x, t.tensor([[True, False, True], [False, True, False]]), s),
            normal(3),
            normal(4),
        )
    ],
    "matrix_exp": [sample(lambda t, x: t.matrix_exp(x), normal(2, 3, 3))],
    "mish": [sample(lambda t, x: F.mish(x), [-25.0, -4.0, 0.2, 6.0, 19.0, 25.0])],
    "nansum": [sample(lambda t, x: t.nansum(x, 1), _SQUARE)],
    "pow": [
        sample(lambda t, a, b: a**b, [[2.0, 1.0, 1.0], [1.5, 2.0, 0.5]], [[1.0, 3.0, 0.0], [2.0, 0.0, 1.0]], order=1)
    ],
    "pow_number": [sample(lambda t, x: t.pow(x, 0), [0.0, 1.0, -2.0], order=1)],
    "pow_of_number": [sample(lambda t, x: t.pow(0.5, x), normal(3)), sample(lambda t, x: t.pow(1, x), normal(3))],
    "prelu": [sample(lambda t, x, w: F.prelu(x, w), distinct(4), [-0.3])],
    "qr": [sample(lambda t, x: t.linalg.qr(x), normal(2, 2, 4)), sample(lambda t, x: t.linalg.qr(x), normal(2, 4, 2))],
    "scatter_reduce_extreme": [
        sample(_reduced("amax", False), distinct(3, 3), distinct(2, 3), order=1),
        sample(_reduced("amin"), distinct(3, 3), distinct(2, 3), order=1),
    ],
    "scatter_reduce_prod": [
        sample(_reduced("prod"), normal(3, 3), [[0.0, 1.2, 0.7], [-0.4, 0.3, 1.5]], order=1),
        sample(_reduced("prod"), normal(3, 3), normal(2, 3)),
        sample(_reduced("prod"), normal(3, 3), [[0.0, 1.2, 0.0], [-0.4, 0.0, 1.5]], order=1),
        sample(_reduced("prod"), normal(3, 3), [[0.3, 0.0, 0.7], [-0.4, 0.0, 1.5]], order=1),
        sample(_reduced("prod", False), normal(3, 3), [[0.5, 1.2, 0.7], [-0.4, 0.0, 1.5]], order=1),
    ],
    "sinc": [
        sample(lambda t, x: t.sinc(x), [0.0, 0.3, -0.7, 1.4]),
        sample(lambda t, x: t.sinc(x), [0.03, -0.025, 0.02]),
    ],
    "softmax_backward": [
        sample(lambda t, x: t.softmax(x, 0), normal()),
        sample(lambda t, x: t.log_softmax(x, 0), normal()),
    ],
    "standardized": [sample(_standardized, normal(3, 2))],
    "standardized_backward": [sample(_standardized_backward, normal(3, 2), normal(3, 2))],
    "std_mean": [
        sample(lambda t, x: t.std_mean(x, 1), _SQUARE),
        sample(lambda t, x: t.std_mean(x, 1, keepdim=True), _SQUARE),
    ],
    "var": [sample(lambda t, x: t.var(x), normal(2))],
    "var_mean": [sample(lambda t, x: t.var_mean(x, 1), _SQUARE)],
    "svd": [sample(_first_vectors, normal(2, 3), order=1), sample(_first_vectors, normal(3, 2), order=1)],
    "vector_norm": [
        sample(lambda t, x: x.norm(0), distinct(2, 3), order=1),
        sample(lambda t, x: x.norm(0, dim=1), distinct(2, 3), order=1),
        sample(lambda t, x: x.norm(4, dim=1), normal(3, 3)),
        sample(lambda t, x: x.norm(1.25, dim=0), normal(3, 2)),
        sample(lambda t, x: x.norm(_INFINITE, dim=1), distinct(4, 3), order=1),
        sample(lambda t, x: x.norm(_INFINITE, dim=1), _TIED, order=1),
        sample(lambda t, x: x.norm(_INFINITE), _TIED, order=1),
    ],
    "xlog1py": [sample(lambda t, a, b: t.special.xlog1py(a, b), [0.0, 1.5, 0.0], [2.0, 3.0, -0.5], order=1)],
    "xlogy": [sample(lambda t, a, b: t.xlogy(a, b), [0.0, 1.5, 0.0], [2.0, 3.0, 0.5], order=1)],
    "xlogy_number": [sample(lambda t, a: t.xlogy(a, 2.5), [0.0, 1.5, -2.0], order=1)],
}
