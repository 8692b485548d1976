"""Every distribution over parameters and shapes: values, samples with a seed and gradients are PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minitorch
from distributions.cases import EACH, assert_same, gradients, make, outcome, second_gradients


@pytest.fixture(params=EACH, ids=str)
def both(request: pytest.FixtureRequest) -> Any:
    """The distribution in both libraries with its parameters, and the tolerance."""
    reference = pytest.importorskip("torch")
    ours, theirs = make(minitorch, *request.param), make(reference, *request.param)
    return ours, theirs, 1e-9 if ours[1] else 3e-5  # of numbers, it is in float32


def drawn(library: Any, call: Any) -> Any:
    library.manual_seed(1)
    result = outcome(call)
    return result, library.rand(1, dtype=library.float64).item()


def test_shapes_and_text(both: Any) -> None:
    (ours, _), (theirs, _), _ = both
    for distribution in (ours, theirs):
        assert repr(distribution)
    assert repr(ours) == repr(theirs)
    for name in ("batch_shape", "event_shape", "has_rsample", "has_enumerate_support"):
        assert repr(getattr(ours, name)) == repr(getattr(theirs, name))
    assert repr(ours.support) == repr(theirs.support)


def test_moments(both: Any) -> None:
    (ours, p), (theirs, q), tolerance = both
    for name in ("mean", "mode", "variance", "stddev"):
        got, expected = outcome(lambda: getattr(ours, name)), outcome(lambda: getattr(theirs, name))
        assert_same(got, expected, tolerance)
        for g, e in zip(
            gradients(minitorch, got, p), gradients(pytest.importorskip("torch"), expected, q), strict=True
        ):
            np.testing.assert_allclose(g, e, rtol=tolerance * 10, atol=tolerance * 10)


def test_entropy_and_support(both: Any) -> None:
    (ours, p), (theirs, q), tolerance = both
    if type(ours).__name__ == "Multinomial":
        tolerance = max(tolerance, 1e-6)  # PyTorch's has a float32 part
    for name in ("entropy", "perplexity", "enumerate_support"):
        got, expected = outcome(getattr(ours, name)), outcome(getattr(theirs, name))
        assert_same(got, expected, tolerance)
        for g, e in zip(
            gradients(minitorch, got, p), gradients(pytest.importorskip("torch"), expected, q), strict=True
        ):
            np.testing.assert_allclose(g, e, rtol=tolerance * 10, atol=tolerance * 10)
    got, expected = outcome(lambda: ours.enumerate_support(False)), outcome(lambda: theirs.enumerate_support(False))
    assert_same(got, expected, tolerance)


def test_samples_with_a_seed(both: Any) -> None:
    (ours, p), (theirs, q), tolerance = both
    reference = pytest.importorskip("torch")
    for shape in ((), (7,), (4, 3)):
        got, next_ours = drawn(minitorch, lambda: ours.sample(shape))
        expected, next_theirs = drawn(reference, lambda: theirs.sample(shape))
        assert_same(got, expected, tolerance)
        assert next_ours == next_theirs
        assert not got.requires_grad
    options = (
        {"max_try_correction": 0} if "Wishart" in repr(theirs) else {}
    )  # PyTorch has no gradient after corrections
    got, _ = drawn(minitorch, lambda: ours.rsample((5,), **options))
    expected, _ = drawn(reference, lambda: theirs.rsample((5,), **options))
    assert_same(got, expected, tolerance)
    for g, e in zip(gradients(minitorch, got, p), gradients(reference, expected, q), strict=True):
        np.testing.assert_allclose(g, e, rtol=tolerance * 30, atol=tolerance * 30)


def test_densities_at_samples(both: Any) -> None:
    (ours, p), (theirs, q), tolerance = both
    reference = pytest.importorskip("torch")
    reference.manual_seed(2)
    sample = outcome(lambda: theirs.sample((4,))).numpy()
    shape = (3, *[1] * len(ours.batch_shape))
    for name in ("log_prob", "cdf", "icdf"):
        found: list[list[Any]] = []
        for library, distribution, leaves in ((minitorch, ours, p), (reference, theirs, q)):
            points = np.array([0.1, 0.5, 0.8], sample.dtype).reshape(shape) if name == "icdf" else sample
            value = library.tensor(points, requires_grad=points.dtype.kind == "f")
            result = outcome(lambda: getattr(distribution, name)(value))
            wanted = [*leaves, value] if value.requires_grad else leaves
            second = second_gradients(library, result, wanted)
            found.append([result, *gradients(library, result, wanted), *second])
        (got, *got_gradients), (expected, *expected_gradients) = found
        assert_same(got, expected, tolerance)
        for g, e in zip(got_gradients, expected_gradients, strict=True):
            np.testing.assert_allclose(g, e, rtol=tolerance * 100, atol=tolerance * 100)


def test_expanded(both: Any) -> None:
    (ours, _), (theirs, _), tolerance = both
    reference = pytest.importorskip("torch")
    outcome(lambda: (ours.mean, ours.variance, theirs.mean, theirs.variance))  # what is computed once, is expanded too
    ours, theirs = ours.expand((5, *ours.batch_shape)), theirs.expand((5, *theirs.batch_shape))
    assert repr(ours) == repr(theirs)
    assert ours.batch_shape == tuple(theirs.batch_shape)
    assert_same(outcome(lambda: ours.mean), outcome(lambda: theirs.mean), tolerance)
    assert_same(outcome(lambda: ours.variance), outcome(lambda: theirs.variance), tolerance)
    got, _ = drawn(minitorch, lambda: ours.sample((2,)))
    expected, _ = drawn(reference, lambda: theirs.sample((2,)))
    assert_same(got, expected, tolerance)
    assert_same(ours.log_prob(minitorch.tensor(expected.numpy())), theirs.log_prob(expected), tolerance)


@pytest.mark.parametrize(("name", "place"), EACH)
def test_in_float32(name: str, place: int) -> None:
    reference = pytest.importorskip("torch")
    (ours, _), (theirs, _) = make(minitorch, name, place, "float32"), make(reference, name, place, "float32")
    for attribute in ("mean", "mode", "variance"):
        assert_same(outcome(lambda: getattr(ours, attribute)), outcome(lambda: getattr(theirs, attribute)), 3e-5)
    assert_same(outcome(ours.entropy), outcome(theirs.entropy), 3e-5)
    got, _ = drawn(minitorch, lambda: ours.sample((20,)))
    expected, _ = drawn(reference, lambda: theirs.sample((20,)))
    assert_same(got, expected, 1e-6)
    for method in ("log_prob", "cdf"):
        found = outcome(lambda: getattr(ours, method)(minitorch.tensor(expected.numpy())))
        assert_same(found, outcome(lambda: getattr(theirs, method)(expected)), 3e-5)
