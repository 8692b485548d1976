"""Writes, views and gradients where small mistakes give wrong numbers silently."""

from __future__ import annotations

from typing import Any

import pytest

from backend import torch


def leaf(*values: float) -> Any:
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


class TestBasesThatChangeTheirShape:
    def test_a_view_reads_the_memory_it_always_read(self) -> None:
        x = torch.arange(9.0).view(3, 3).requires_grad_()
        base = x * 1
        row = base[0]
        base.t_()
        (row * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
        assert x.grad.tolist() == [[1.0, 2.0, 3.0], [0.0] * 3, [0.0] * 3]

    def test_a_write_through_an_older_view(self) -> None:
        x = torch.arange(9.0).view(3, 3).requires_grad_()
        base = x * 1
        row = base[0]
        base.t_()
        row.mul_(2)
        (base * torch.arange(9.0).view(3, 3)).sum().backward()
        assert x.grad.tolist() == [[0.0, 6.0, 12.0], [1.0, 4.0, 7.0], [2.0, 5.0, 8.0]]

    def test_a_dimension_more(self) -> None:
        x = torch.arange(6.0).view(2, 3).requires_grad_()
        base = x * 1
        row = base[1]
        base.unsqueeze_(0)
        assert row.requires_grad
        (row * 3).sum().backward()
        assert x.grad.tolist() == [[0.0] * 3, [3.0] * 3]


class TestScalars:
    @pytest.mark.parametrize(
        ("write", "expected"),
        [
            (lambda p: p[None].mul_(3), 36.0),
            (lambda p: p[None].__setitem__(0, 7.0), 0.0),
            (lambda p: p.unsqueeze(0).add_(1), 6.0),
            (lambda p: p.view(1, 1)[0].mul_(p.detach().clone()), 16.0),
        ],
    )
    def test_a_view_of_a_scalar_is_written(self, write: Any, expected: float) -> None:
        x = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
        p = x * 1
        write(p)
        (p * p).backward()
        assert x.grad.item() == expected


class TestGradientsOfResults:
    def test_an_input_that_retains_its_gradient_counts_once(self) -> None:
        y = leaf(1.0, 2.0) * 2
        y.retain_grad()
        (y * 3).sum().backward(inputs=[y])
        assert y.grad.tolist() == [3.0, 3.0]

    def test_an_input_listed_twice_counts_once(self) -> None:
        y = leaf(1.0, 2.0) * 2
        (y * 3).sum().backward(inputs=[y, y])
        assert y.grad.tolist() == [3.0, 3.0]

    def test_a_retained_gradient_is_memory_of_its_own(self) -> None:
        z = leaf(1.0, 2.0) * 1 + 0
        z.retain_grad()
        start = torch.ones(2, dtype=torch.float64)
        z.backward(start)
        z.grad.mul_(7)
        assert start.tolist() == [1.0, 1.0]

    def test_a_retained_gradient_of_a_sum_may_be_written(self) -> None:
        z = leaf(1.0, 2.0) * 1
        z.retain_grad()
        z.sum().backward()
        z.grad.add_(1)
        assert z.grad.tolist() == [2.0, 2.0]


def test_a_refused_write_leaves_saved_values_usable() -> None:
    x = leaf(1.0, 2.0, 3.0)
    y = x * x
    z = y.tanh()
    with torch.no_grad(), pytest.raises(RuntimeError):
        z.add_(torch.ones(5, dtype=torch.float64))
    z.sum().backward()
    assert x.grad is not None


def test_a_view_that_became_unusable_still_tells_what_it_is() -> None:
    base = torch.ones(2, 2, requires_grad=True) * 1
    parts = base.unbind(0)
    base.mul_(2)
    assert parts[1].requires_grad
    assert repr(parts[1]) == "tensor([2., 2.], grad_fn=<Invalid>)"


def test_recording_stays_off_in_inference_mode() -> None:
    x = leaf(1.0)
    with torch.inference_mode(), torch.enable_grad():
        assert not (x * 2).requires_grad


@pytest.mark.parametrize("value", [5, None, "no"])
def test_requires_grad_takes_a_bool(value: Any) -> None:
    x = torch.ones(2)
    with pytest.raises(RuntimeError, match="must be a bool"):
        x.requires_grad = value


def test_gradcheck_does_not_take_nan_for_right() -> None:
    assert not torch.autograd.gradcheck(lambda x: x * float("nan"), (leaf(1.0, 2.0),), raise_exception=False)
