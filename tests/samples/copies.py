"""Samples of copies, conversions and filling."""

from __future__ import annotations

from typing import Any

from minitorch import _op

from .sample import Sample, normal, sample


def _row(name: str, *inputs: Any, **params: Any) -> Sample:
    """The row of an in-place method, called alone."""
    return sample(lambda torch, *tensors: _op.rows[name].call(*tensors, **params) * tensors[0], *inputs, in_torch=False)


def _copied(torch: Any, a: Any, b: Any) -> Any:
    return _op.rows["copy"].call(a, b, b.detach().numpy().dtype) * a


def _written_through_view(a: Any, b: Any) -> Any:
    out = a * 2
    out[0] = b
    return out


def _written_through_reshaped(a: Any, b: Any) -> Any:
    out = a * 2
    out.view(6)[1:4] = b
    return out.t() * a.t()


SAMPLES: dict[str, list[Sample]] = {
    "to": [sample(lambda torch, a: a.to(a.dtype, copy=True) * a, normal(2, 3))],
    "detach": [sample(lambda torch, a: a.detach(), normal(2, 3), order=0)],
    "clone": [sample(lambda torch, a: a.clone() * a, normal(2, 3))],
    "contiguous": [sample(lambda torch, a: a.mT.contiguous() * a.mT, normal(2, 3))],
    "copy": [sample(_copied, normal(2, 3), normal(3), in_torch=False)],
    "copy_slices": [sample(lambda torch, a, b: _written_through_view(a, b) * a, normal(2, 3), normal(3))],
    "ordered": [sample(lambda torch, a, b: _written_through_reshaped(a, b), normal(2, 3), normal(3))],
    "fill": [sample(lambda torch, a: torch.fill(a, 2.5) * a, normal(2, 3))],
    "fill_tensor": [sample(lambda torch, a, b: torch.fill(a, b) * a, normal(2, 3), normal())],
    "fill_": [_row("fill_", normal(2, 3), value=1.5)],
    "fill_tensor_": [_row("fill_tensor_", normal(2, 3), normal())],
    "zero_": [sample(lambda torch, a: (a * 2).zero_() + a, normal(2, 3), order=1)],
}
