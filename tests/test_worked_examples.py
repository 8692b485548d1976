"""Textbook examples of automatic differentiation, each with the values that a reader can work out on paper."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from backend import torch

F = torch.nn.functional


def leaf(*values: float) -> Any:
    return torch.tensor(values, requires_grad=True)


# --- y = (w + x)(w + 1), so dy/dw = 2w + x + 1 and dy/dx = w + 1 -------------------------------------------------


@pytest.fixture
def product() -> dict[str, Any]:
    w, x = leaf(1.0), leaf(2.0)
    a, b = w + x, w + 1
    return {"w": w, "x": x, "a": a, "b": b, "y": a * b}


def test_product_of_sums_has_gradients_at_its_leaves(product: dict[str, Any]) -> None:
    product["y"].backward()
    assert product["w"].grad.tolist() == [5.0]
    assert product["x"].grad.tolist() == [2.0]


def test_only_tensors_made_by_the_user_are_leaves(product: dict[str, Any]) -> None:
    assert [product[name].is_leaf for name in "wxaby"] == [True, True, False, False, False]


@pytest.mark.parametrize("name", ["a", "b", "y"])
def test_intermediate_gradients_are_not_kept(product: dict[str, Any], name: str) -> None:
    product["y"].backward()
    for _ in range(2):  # every access warns, not only the first
        with pytest.warns(UserWarning, match="not a leaf Tensor"):
            assert product[name].grad is None


def test_retain_grad_keeps_an_intermediate_gradient(product: dict[str, Any]) -> None:
    product["a"].retain_grad()
    product["y"].backward()
    assert product["a"].grad.tolist() == [2.0]


def test_grad_fn_names_the_operation(product: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    print(product["y"].grad_fn, product["a"].grad_fn, product["w"].grad_fn, sep="\n")
    mul, add, none = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"<MulBackward0 object at 0x[0-9a-f]+>", mul)
    assert re.fullmatch(r"<AddBackward0 object at 0x[0-9a-f]+>", add)
    assert none == "None"


# --- One input used twice, and a quotient: (x1 x2 + x1) / x2 -----------------------------------------------------


def test_quotient() -> None:
    x1, x2 = leaf(0.6), leaf(0.2)
    h1 = x1 * x2
    h2 = h1 + x1
    out = h2 / x2
    out.backward()
    assert out.item() == pytest.approx(3.6)
    assert x1.grad.item() == pytest.approx(6.0)  # 1 + 1 / x2
    assert x2.grad.item() == pytest.approx(-15.0)  # -x1 / x2^2


# --- A branch that depends on the data: only what ran is differentiated ------------------------------------------


@pytest.mark.parametrize(
    ("value", "result", "gradients"),
    [(3.0, 15.0, [5.0, 3.0, None]), (1.0, 6.0, [-1.0, None, 1.0]), (2.0, 5.0, [-1.0, None, 1.0])],
)
def test_only_the_branch_taken_has_gradients(value: float, result: float, gradients: list[float | None]) -> None:
    x, x3, x4 = leaf(value), leaf(5.0), leaf(7.0)
    y = x * x3 if x > 2 else x4 - x
    y.backward()
    assert y.item() == result
    assert [tensor.grad if tensor.grad is None else tensor.grad.item() for tensor in (x, x3, x4)] == gradients


# --- Several paths from one input add up -------------------------------------------------------------------------


def test_gradients_of_two_paths_add_up() -> None:
    x1 = torch.ones(3, requires_grad=True)
    x2, x3 = x1 + 3, x1 + 5
    x2.retain_grad()
    x3.retain_grad()
    (x2 * x3).sum().backward()
    assert x1.grad.tolist() == [10.0] * 3  # x2 + x3
    assert x2.grad.tolist() == [6.0] * 3
    assert x3.grad.tolist() == [4.0] * 3


def test_gradients_of_four_paths_add_up() -> None:
    x1 = torch.ones(3, requires_grad=True)
    x2, x3 = x1 + 3, x1 + 5
    (x1 + x2 * x3 * x1).sum().backward()
    assert x1.grad.tolist() == [35.0] * 3  # 1 + x2 x3 + x1 (x2 + x3)


def test_factors_that_are_leaves_end_their_paths() -> None:
    x1 = torch.ones(3, requires_grad=True)
    x2, x3 = leaf(4.0, 4.0, 4.0), leaf(6.0, 6.0, 6.0)
    (x1 + x2 * x3 * x1).sum().backward()
    assert x1.grad.tolist() == [25.0] * 3  # 1 + x2 x3
    assert x2.grad.tolist() == [6.0] * 3
    assert x3.grad.tolist() == [4.0] * 3


# --- Convolution and pooling of the image 1, 2, ..., 16 ----------------------------------------------------------


def image_from_1_to_16() -> Any:
    with pytest.warns(UserWarning, match="deprecated"):
        return torch.range(1, 16).view(1, 1, 4, 4)


@pytest.mark.parametrize("seed", [0, 1])
def test_gradient_of_a_mean_convolution_is_the_mean_of_what_each_weight_met(seed: int) -> None:
    torch.manual_seed(seed)  # for other weights, the same gradient
    conv = torch.nn.Conv2d(1, 1, 3, bias=False)
    conv(image_from_1_to_16()).mean().backward()
    assert str(conv.weight.grad) == (
        "tensor([[[[ 3.5000,  4.5000,  5.5000],\n"
        "          [ 7.5000,  8.5000,  9.5000],\n"
        "          [11.5000, 12.5000, 13.5000]]]])"
    )


def test_max_pooling_hands_the_gradient_to_each_maximum() -> None:
    image = torch.arange(1.0, 17.0).view(1, 4, 4).requires_grad_()
    pooled = F.max_pool2d(image, kernel_size=(3, 3), stride=1)
    pooled.mean().backward()
    assert pooled.tolist() == [[[11.0, 12.0], [15.0, 16.0]]]
    assert image.grad.tolist() == [[[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0.25, 0.25], [0, 0, 0.25, 0.25]]]


def test_average_pooling_shares_the_gradient_in_each_window() -> None:
    image = torch.arange(1.0, 17.0, dtype=torch.float64).view(1, 4, 4).requires_grad_()
    pooled = F.avg_pool2d(image, kernel_size=(3, 3), stride=1)
    pooled.mean().backward()
    # A window's average is its centre, and each pixel is in 1, 2 or 4 of the 4 windows of 9 pixels.
    windows = np.array([[[1, 2, 2, 1], [2, 4, 4, 2], [2, 4, 4, 2], [1, 2, 2, 1]]])
    np.testing.assert_allclose(pooled.detach().numpy(), [[[6, 7], [10, 11]]], rtol=1e-14)
    np.testing.assert_allclose(image.grad.numpy(), windows / (4 * 9), rtol=1e-14)


# --- Convolution is a matrix product with the image's patches as columns -----------------------------------------


def patches_as_columns(image: Any, size: int, stride: int, padding: int) -> tuple[Any, tuple[int, int]]:
    """Return the patches, shape (images, channels * size * size, patches), and how many there are down and across."""
    image = F.pad(image, (padding,) * 4)
    down, across = ((extent - size) // stride + 1 for extent in image.shape[2:])
    shifted = [
        image[:, :, i : i + stride * down : stride, j : j + stride * across : stride]
        for i in range(size)
        for j in range(size)
    ]
    return torch.stack(shifted, dim=2).flatten(3).flatten(1, 2), (down, across)


@pytest.mark.parametrize(("size", "stride", "padding"), [(1, 1, 0), (3, 1, 0), (3, 1, 1), (3, 2, 1), (2, 2, 0)])
def test_convolution_is_a_product_with_patches(size: int, stride: int, padding: int) -> None:
    torch.manual_seed(0)
    image = torch.randn(2, 3, 6, 5, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(4, 3, size, size, dtype=torch.float64, requires_grad=True)

    convolved = F.conv2d(image, weight, stride=stride, padding=padding)
    columns, extents = patches_as_columns(image, size, stride, padding)
    product = (weight.flatten(1) @ columns).unflatten(2, extents)
    np.testing.assert_allclose(convolved.detach().numpy(), product.detach().numpy(), rtol=1e-12, atol=1e-13)

    cotangent = torch.randn(convolved.shape, dtype=torch.float64)
    gradients = torch.autograd.grad(convolved, (image, weight), cotangent)
    for actual, expected in zip(gradients, torch.autograd.grad(product, (image, weight), cotangent), strict=True):
        np.testing.assert_allclose(actual.numpy(), expected.numpy(), rtol=1e-12, atol=1e-13)


# --- A network of three matrices, trained by hand and by optim.SGD -----------------------------------------------

STEPS, LEARNING_RATE = 100, 0.2
FIRST_LOSS, LAST_LOSS = 0.5266069476292211, 0.004507558107197864  # before the first step, before the last
LAST_NORM = 3.7975691603286384  # of all weights together, after the last step


def initial_values() -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """Return inputs, targets and three matrices: float64 numbers that look irregular and are the same everywhere."""

    def irregular(start: float, *shape: int) -> np.ndarray:
        return np.sin(start + 1.7 * np.arange(np.prod(shape))).reshape(shape)

    inputs = irregular(1, 16, 4)
    targets = np.stack([inputs[:, 0] * inputs[:, 1], np.abs(inputs[:, 2]) - inputs[:, 3]], axis=1)
    matrices = [irregular(2, 4, 8) / 4**0.5, irregular(3, 8, 6) / 8**0.5, irregular(4, 6, 2) / 6**0.5]
    return inputs, targets, matrices


def steps_by_hand(engine: Any, weights: list[Any]) -> Callable[[], None]:
    def step() -> None:
        with engine.no_grad():
            for weight in weights:
                weight -= LEARNING_RATE * weight.grad
                weight.grad = None

    return step


def steps_by_optimizer(engine: Any, weights: list[Any]) -> Callable[[], None]:
    optimizer = engine.optim.SGD(weights, lr=LEARNING_RATE)

    def step() -> None:
        optimizer.step()
        optimizer.zero_grad()

    return step


def train(engine: Any, make_step: Callable[[Any, list[Any]], Callable[[], None]]) -> tuple[list[float], np.ndarray]:
    """Return the loss before each step, and all weights after each step, one row a step."""
    inputs, targets, matrices = initial_values()
    x, target = engine.tensor(inputs), engine.tensor(targets)
    weights = [engine.tensor(matrix, requires_grad=True) for matrix in matrices]
    step = make_step(engine, weights)
    losses, history = [], []
    for _ in range(STEPS):
        hidden = ((x @ weights[0]).relu() @ weights[1]).relu()
        loss = (hidden @ weights[2] - target).pow(2).mean()
        loss.backward()
        step()
        losses.append(loss.item())
        history.append(np.concatenate([weight.detach().numpy().ravel() for weight in weights]))
    return losses, np.stack(history)


both_ways = pytest.mark.parametrize("make_step", [steps_by_hand, steps_by_optimizer])


@both_ways
def test_training_lowers_the_loss_to_the_known_value(make_step: Any) -> None:
    losses, history = train(torch, make_step)
    assert all(after < before for before, after in itertools.pairwise(losses))
    assert losses[0] == pytest.approx(FIRST_LOSS, rel=1e-10)
    assert losses[-1] == pytest.approx(LAST_LOSS, rel=1e-10)
    assert np.linalg.norm(history[-1]) == pytest.approx(LAST_NORM, rel=1e-10)


@both_ways
def test_every_step_equals_pytorch(make_step: Any) -> None:
    pytorch = pytest.importorskip("torch")
    losses, history = train(torch, make_step)
    expected_losses, expected_history = train(pytorch, make_step)
    np.testing.assert_allclose(losses, expected_losses, rtol=1e-10)
    np.testing.assert_allclose(history, expected_history, rtol=1e-10, atol=1e-10)
