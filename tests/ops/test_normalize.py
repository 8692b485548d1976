"""Normalisations: values, running statistics, optional parameters, accuracy, gradients' structure and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend import torch

F = torch.nn.functional


def close(tensor: Any, expected: Any) -> None:
    np.testing.assert_allclose(tensor.detach().numpy(), np.array(expected), rtol=1e-6, atol=1e-6)


def pairs() -> Any:
    return torch.tensor([[1.0, 3.0], [10.0, 30.0]])


def test_layer_norm_normalises_rows() -> None:
    close(F.layer_norm(pairs(), (2,), eps=0.0), [[-1, 1], [-1, 1]])
    weight, bias = torch.tensor([2.0, 3.0]), torch.tensor([0.0, 1.0])
    close(F.layer_norm(pairs(), [2], weight, bias, 0.0), [[-2, 4], [-2, 4]])
    close(F.layer_norm(pairs(), (2,), weight, eps=0.0), [[-2, 3], [-2, 3]])
    close(F.layer_norm(pairs(), (2,), None, bias, 0.0), [[-1, 2], [-1, 2]])
    assert F.layer_norm(pairs(), (2, 2), eps=0.0).mean().item() == pytest.approx(0, abs=1e-6)


def test_group_norm_normalises_groups() -> None:
    x = torch.tensor([[1.0, 3.0, 10.0, 30.0]])
    weight = torch.tensor([1.0, 2.0, 3.0, 4.0])
    close(F.group_norm(x, 2, eps=0.0), [[-1, 1, -1, 1]])
    close(F.group_norm(x, 2, weight, weight, eps=0.0), [[0, 4, 0, 8]])


def test_batch_norm_normalises_channels_and_moves_statistics() -> None:
    mean, var = torch.zeros(2), torch.ones(2)
    out = F.batch_norm(pairs(), mean, var, training=True, momentum=0.5)
    np.testing.assert_allclose(out.numpy(), [[-1, -1], [1, 1]], atol=1e-6)
    close(mean, [2.75, 8.25])
    close(var, [0.5 + 40.5 / 2, 0.5 + 364.5 / 2])
    assert (mean._version, var._version) == (0, 0)
    F.batch_norm(pairs(), mean, var, training=True, momentum=1.0)
    close(mean, [5.5, 16.5])


def test_batch_norm_in_evaluation_uses_them() -> None:
    mean, var = torch.tensor([1.0, 0.0]), torch.tensor([4.0, 1.0])
    close(F.batch_norm(pairs(), mean, var, eps=0.0), [[0, 3], [4.5, 30]])
    x = pairs().requires_grad_()
    F.batch_norm(x, mean, var, torch.tensor([3.0, 5.0]), eps=0.0).sum().backward()
    assert x.grad.tolist() == [[1.5, 5], [1.5, 5]]


def test_instance_norm_and_rms_norm() -> None:
    close(F.instance_norm(pairs()[None], eps=0.0), [[[-1, 1], [-1, 1]]])
    close(F.rms_norm(torch.tensor([3.0, 4.0, 12.0, 0.0]), (4,), eps=0.0), [3 / 6.5, 4 / 6.5, 12 / 6.5, 0])


def test_a_large_mean_costs_few_digits() -> None:
    x = torch.arange(8.0).reshape(2, 4)
    expected = F.layer_norm(x, (4,))
    np.testing.assert_allclose(F.layer_norm(x + 4096, (4,)).numpy(), expected.numpy(), atol=1e-3)
    expected = F.batch_norm(x.double(), None, None, training=True).float()
    np.testing.assert_allclose(F.batch_norm(x + 4096, None, None, training=True).numpy(), expected.numpy(), atol=1e-3)


@pytest.mark.parametrize("shift", [0.0, 10.0, 100.0])
def test_a_row_of_one_element_is_its_mean(shift: float) -> None:
    x = torch.linspace(-1, 1, 7).reshape(7, 1).add(shift).requires_grad_()
    weight, bias = torch.tensor([-1.5]).requires_grad_(), torch.tensor([0.25])
    y = F.layer_norm(x, (1,), weight, bias)
    y.sum().backward()
    assert y.tolist() == [[0.25]] * 7
    for grad in (x.grad, weight.grad):
        np.testing.assert_allclose(grad.numpy(), 0, atol=1e-6)


def test_gradients_of_groups_far_from_zero() -> None:
    rng = np.random.default_rng(0)
    x, cotangent, weight = rng.normal(size=(3, 8, 5)) + 100, rng.normal(size=(3, 8, 5)), rng.normal(size=8)
    found = []
    x = x.astype(np.float32)
    for dtype in (np.float64, np.float32):
        leaves = [torch.from_numpy(a.astype(dtype)).requires_grad_() for a in (x, weight)]
        y = F.group_norm(leaves[0], 4, leaves[1])
        y.backward(torch.from_numpy(cotangent.astype(dtype)))
        found.append([y.detach().numpy(), *[leaf.grad.numpy() for leaf in leaves]])
    for single, double in zip(found[1], found[0]):
        np.testing.assert_allclose(single, double, atol=1e-4)


def test_gradients_of_layer_norm_sum_to_zero_along_rows() -> None:
    x = torch.arange(12.0).reshape(3, 4).sin().requires_grad_()
    (F.layer_norm(x, (4,)) ** 3).sum().backward()
    np.testing.assert_allclose(x.grad.sum(1).numpy(), 0, atol=1e-5)


@given(st.floats(0.1, 10), st.floats(-3, 3))
def test_scale_and_shift_of_the_input_do_not_matter(scale: float, shift: float) -> None:
    x = torch.arange(12.0, dtype=torch.float64).reshape(2, 3, 2).cos()
    for norm in (
        lambda t: F.layer_norm(t, (3, 2), eps=0.0),
        lambda t: F.group_norm(t, 3, eps=0.0),
        lambda t: F.batch_norm(t, None, None, training=True, eps=1e-12),
        lambda t: F.instance_norm(t, eps=0.0),
    ):
        np.testing.assert_allclose(norm(scale * x + shift).numpy(), norm(x).numpy(), atol=1e-5)


def test_a_result_may_be_overwritten_before_backward() -> None:
    x = pairs().requires_grad_()
    F.relu(F.layer_norm(x, (2,)), inplace=True).sum().backward()
    F.relu(F.batch_norm(x, None, None, training=True), inplace=True).sum().backward()
    assert x.grad.shape == (2, 2)


def test_nothing_to_normalise() -> None:
    assert F.layer_norm(torch.zeros(0, 3), (3,)).shape == (0, 3)
    assert F.layer_norm(torch.zeros(2, 0), (0,)).shape == (2, 0)
    assert F.group_norm(torch.zeros(0, 4, 3), 2).shape == (0, 4, 3)
    assert F.batch_norm(torch.zeros(0, 4), None, None, training=True).shape == (0, 4)


def test_half_precision_is_computed_in_single() -> None:
    out = F.layer_norm(pairs().half() * 1000, (2,))
    assert out.dtype is torch.float16
    assert out.tolist() == [[-1, 1], [-1, 1]]


def long() -> Any:
    return torch.zeros(4, 6, 3)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: F.layer_norm(long(), 3), TypeError, "'normalized_shape' .* must be tuple of ints, not int"),
        (lambda: F.layer_norm(long(), ()), RuntimeError, "at least 1-dimensional"),
        (lambda: F.layer_norm(long(), (4,)), RuntimeError, r"expected input with shape \[\*, 4\]"),
        (lambda: F.layer_norm(long(), (3,), torch.ones(6)), RuntimeError, "Expected weight to be of same shape"),
        (lambda: F.layer_norm(long(), (3,), None, torch.ones(6)), RuntimeError, "Expected bias to be of same shape"),
        (lambda: F.layer_norm(long().long(), (3,)), NotImplementedError, "not implemented for 'Long'"),
        (lambda: F.layer_norm(long(), (3,), torch.ones(3).double()), RuntimeError, "mixed dtype"),
        (lambda: F.layer_norm(3, (3,)), TypeError, "must be Tensor, not int"),
        (lambda: F.rms_norm(long(), (4,), torch.ones(3)), RuntimeError, "Expected weight to be of same shape"),
        (lambda: F.batch_norm(long(), None, None), RuntimeError, "running_mean must be defined in evaluation mode"),
        (lambda: F.batch_norm(long(), torch.ones(6), None), RuntimeError, "running_var must be defined"),
        (lambda: F.batch_norm(long(), torch.ones(5), torch.ones(6)), RuntimeError, "should contain 6 elements not 5"),
        (
            lambda: F.batch_norm(long(), torch.ones(6), torch.ones(6), torch.ones(3)),
            RuntimeError,
            "should contain 6 elements",
        ),
        (
            lambda: F.batch_norm(long(), torch.ones(6, requires_grad=True), torch.ones(6)),
            RuntimeError,
            "not differentiable with respect to argument 'running_mean'",
        ),
        (
            lambda: F.batch_norm(torch.ones(1, 2), None, None, training=True),
            ValueError,
            "more than 1 value per channel",
        ),
        (lambda: F.batch_norm(torch.ones(2), None, None, training=True), IndexError, "shape|out of range"),
        (lambda: F.batch_norm(torch.ones(2), torch.ones(2), torch.ones(2)), RuntimeError, "shape|should contain"),
        (lambda: F.batch_norm(long(), "x", None, training=True), TypeError, "running_mean.* must be Tensor, not str"),
        (lambda: F.batch_norm(long().long(), torch.ones(6), torch.ones(6)), NotImplementedError, "for 'Long'"),
        (lambda: F.rms_norm(torch.ones(3), (3, 3)), ValueError, "at least 2 dimensions"),
        (lambda: F.batch_norm(long(), None, None, training=True, eps=0.0), ValueError, "eps must be positive"),
        (lambda: F.batch_norm(long(), torch.ones(6), None, training=True), ValueError, "both be None or neither"),
        (lambda: F.group_norm(long(), 4), RuntimeError, "divisible by num_groups"),
        (lambda: F.group_norm(long(), -2), RuntimeError, "greater than 0, got -2"),
        (lambda: F.group_norm(long()[0, 0], 1), RuntimeError, "at least 2 dimensions"),
        (lambda: F.group_norm(long(), 2, torch.ones(3)), RuntimeError, "weight to be a vector of size equal"),
        (lambda: F.group_norm(torch.ones(1, 6), 6), ValueError, "more than 1 value per channel"),
        (lambda: F.instance_norm(long()[:, :, :1]), ValueError, "more than 1 spatial element"),
        (lambda: F.instance_norm(long(), use_input_stats=False), RuntimeError, "Expected running_mean and running_var"),
    ],
)
def test_errors(call: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_rms_norm_of_halves_does_not_overflow() -> None:
    x = torch.tensor([[300.0, 400.0]], dtype=torch.float16)
    result = torch.nn.functional.rms_norm(x, (2,), weight=torch.tensor([1.0, 2.0], dtype=torch.float16))
    assert result.dtype == torch.float16
    assert result.tolist() == [pytest.approx([0.8485, 2.2627], abs=2e-3)]


@pytest.mark.parametrize(
    ("name", "shape", "seen", "dims"),
    [
        ("layer_norm", (3, 4), (3, 4), (1,)),
        ("batch_norm", (5, 3, 2), (5, 3, 2), (0, 2)),
        ("group_norm", (2, 4, 3), (4, 6), (1,)),
    ],
)
def test_derivatives_of_every_order_are_those_of_what_it_is_composed_of(
    name: str, shape: Any, seen: Any, dims: Any
) -> None:
    """PyTorch's third ones take the statistics for constants."""
    arguments: dict[str, Any] = {
        "layer_norm": {"normalized_shape": shape[1:]},
        "batch_norm": {"running_mean": None, "running_var": None, "training": True},
        "group_norm": {"num_groups": 2},
    }

    def composed(x: Any) -> Any:
        x = x.reshape(seen)
        x = x - x.mean(dims, keepdim=True)
        return (x / (x.square().mean(dims, keepdim=True) + 0.1).sqrt()).reshape(shape)

    values, *directions = np.random.default_rng(3).normal(size=(6, *shape))
    found = []
    for function in (lambda x: getattr(torch.nn.functional, name)(x, **arguments[name], eps=0.1), composed):
        x = torch.tensor(values, requires_grad=True)
        y = function(x)
        for direction in directions:
            (y,) = torch.autograd.grad(y, x, torch.tensor(direction), create_graph=True)
            found.append(y.detach().numpy())
    for one, other in zip(found[:5], found[5:]):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)
