"""Initial values: ranges, streams, errors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import minitorch
from backend import torch

init = torch.nn.init


@pytest.mark.parametrize(
    ("nonlinearity", "param", "gain"),
    [
        ("linear", None, 1), ("conv_transpose3d", None, 1), ("sigmoid", None, 1), ("tanh", None, 5 / 3),
        ("relu", None, math.sqrt(2)), ("leaky_relu", None, math.sqrt(2 / 1.0001)), ("leaky_relu", 0.5, math.sqrt(1.6)),
        ("selu", None, 0.75),
    ],
)  # fmt: skip
def test_gains(nonlinearity: str, param: Any, gain: float) -> None:
    assert init.calculate_gain(nonlinearity, param) == pytest.approx(gain, rel=1e-12)


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda: init.calculate_gain("cube"), ValueError, "Unsupported nonlinearity cube"),
        (lambda: init.calculate_gain("leaky_relu", True), ValueError, "negative_slope True not a valid number"),
        (lambda: init.kaiming_normal_(torch.empty(3)), ValueError, "fewer than 2 dimensions"),
        (lambda: init.kaiming_normal_(torch.empty(3, 3), mode="fan"), ValueError, "Mode fan not supported"),
        (lambda: init.eye_(torch.empty(3)), ValueError, "Only tensors with 2 dimensions"),
        (lambda: init.sparse_(torch.empty(3), 0.5), ValueError, "Only tensors with 2 dimensions"),
        (lambda: init.dirac_(torch.empty(3, 3)), ValueError, "Only tensors with 3, 4, or 5 dimensions"),
        (lambda: init.dirac_(torch.empty(3, 3, 3), groups=2), ValueError, "dim 0 must be divisible by groups"),
        (lambda: init.orthogonal_(torch.empty(3)), ValueError, "Only tensors with 2 or more dimensions"),
    ],
)
def test_errors(wrong: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        wrong()


def test_they_fill_parameters_and_return_them() -> None:
    weight = torch.nn.Parameter(torch.empty(2, 3))
    assert init.ones_(weight) is weight
    assert weight.is_leaf
    assert weight.requires_grad
    assert weight.tolist() == [[1, 1, 1], [1, 1, 1]]
    assert init.constant_(weight, 0.5).sum().item() == 3
    assert init.zeros_(weight).sum().item() == 0
    assert init.eye_(weight).tolist() == [[1, 0, 0], [0, 1, 0]]


def test_dirac_hands_channels_on() -> None:
    weight = init.dirac_(torch.empty(4, 2, 3), groups=2)
    assert weight.nonzero().tolist() == [[0, 0, 1], [1, 1, 1], [2, 0, 1], [3, 1, 1]]


def test_values_of_a_seed() -> None:
    torch.manual_seed(0)
    assert init.trunc_normal_(torch.empty(4)).tolist() == [
        1.5409960746765137, -0.293428897857666, 0.40334683656692505, 0.5684312582015991,
    ]  # fmt: skip
    torch.manual_seed(0)
    expected = [
        [0.9746115207672119, -0.18558073043823242],
        [-1.3779873847961426, 0.3595075011253357],
        [-0.6859121322631836, -0.8845493793487549],
    ]
    assert init.xavier_normal_(torch.empty(3, 2)).tolist() == expected
    torch.manual_seed(0)
    np.testing.assert_allclose(
        init.orthogonal_(torch.empty(3, 3)).numpy(),
        [
            [0.9111348390579224, 0.0751304179430008, 0.40520182251930237],
            [0.3360927104949951, -0.7044632434844971, -0.6251187324523926],
            [0.23848432302474976, 0.7057529091835022, -0.6671117544174194],
        ],
        atol=1e-6,
    )


def test_warnings() -> None:
    with pytest.warns(UserWarning, match="Initializing zero-element tensors is a no-op"):
        init.kaiming_uniform_(torch.empty(0, 3))
    with pytest.warns(UserWarning, match="mean is more than 2 std from"):
        init.trunc_normal_(torch.empty(3), mean=5.0)


@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (4, 3, 2)])
def test_orthogonal_rows_or_columns(shape: tuple[int, ...]) -> None:
    weight = init.orthogonal_(torch.empty(*shape, dtype=torch.float64), gain=2.0).view(shape[0], -1).numpy()
    product = weight @ weight.T if weight.shape[0] < weight.shape[1] else weight.T @ weight
    np.testing.assert_allclose(product, 4 * np.eye(len(product)), atol=1e-12)


CALLS = [
    "uniform_(w, -2, 3)", "normal_(w, 1, 2)", "xavier_uniform_(w, 2.0)", "xavier_normal_(w)",
    "kaiming_uniform_(w, 0.3)",
    "kaiming_normal_(w, mode='fan_out', nonlinearity='relu')", "trunc_normal_(w, 0.5, 2.0)",
    "trunc_normal_(w, 0, 1, 2.5, 3)", "trunc_normal_(w, 1.0, 0.5, -2, 1)", "sparse_(w, 0.4)", "orthogonal_(w, 1.5)",
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:mean is more than 2 std")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(3, 4), (20, 11)])
@pytest.mark.parametrize("call", CALLS)
def test_streams_equal_pytorchs(call: str, shape: tuple[int, ...], dtype: str) -> None:
    reference = pytest.importorskip("torch")
    results = []
    for library in (reference, minitorch):
        library.manual_seed(5)
        w = library.empty(*shape, dtype=getattr(library, dtype))
        eval("init." + call, {"init": library.nn.init, "w": w})
        results.append((w.numpy(), library.rand(1).item()))
    (expected, after), (got, after_ours) = results
    np.testing.assert_allclose(
        got, expected, rtol=2e-6 if dtype == "float32" else 1e-12, atol=1e-6 if "orth" in call else 1e-12
    )
    assert after == after_ours
