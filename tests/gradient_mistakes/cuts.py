"""Paths cut by detach, data, item, numpy, lists, no_grad and casts; straight-through by mistake."""

from __future__ import annotations

from typing import Any

import numpy as np

import minitorch as torch
import minitorch.nn.functional as F

from ._models import attention, mlp, motion, recurrent
from ._record import Blame, mistake, normal, positive, uniform

mistake(
    "centred_by_detached_mean",
    "detached path",
    lambda x: mlp(x, lambda h: (h - h.mean(1, keepdim=True).detach()).exp()),
    (normal(3, 4),),
    lambda x: mlp(x, lambda h: (h - h.mean(1, keepdim=True)).exp()),
    ("detach", "h.mean(1, keepdim=True).detach()"),
    inside=True,
)
mistake(
    "softmax_with_data_in_denominator",
    "detached path",
    lambda x: attention(x, lambda s: s.exp() / s.exp().data.sum(1, keepdim=True)),
    (normal(5, 4, scale=0.5),),
    lambda x: attention(x, lambda s: s.softmax(1)),
    ("data", "s.exp().data.sum(1, keepdim=True)"),
    inside=True,
)
mistake(
    "divided_by_item_of_norm",
    "detached path",
    lambda x: x / x.norm().item(),
    (normal(4),),
    lambda x: x / x.norm(),
    ("item", "x.norm().item()"),
)
mistake(
    "energy_by_item",
    "detached path",
    lambda x: motion(x, lambda p: p * (1 + p.square().mean().item())),
    (normal(8, scale=0.5),),
    lambda x: motion(x, lambda p: p * (1 + p.square().mean())),
    ("item", "p.square().mean().item()"),
    inside=True,
)


def _sine_by_numpy(x: Any) -> Any:
    there = np.sin(x.detach().numpy())
    return x * torch.from_numpy(there)


mistake(
    "factor_through_numpy",
    "detached path",
    _sine_by_numpy,
    (normal(5),),
    lambda x: x * x.sin(),
    Blame("numpy", "there = np.sin(x.detach().numpy())", or_line="torch.from_numpy(there)"),
)


def _rebuilt(h: Any) -> Any:
    gate = torch.tensor(h.tolist(), dtype=h.dtype).sigmoid()
    return h * gate


mistake(
    "gate_rebuilt_from_list",
    "detached path",
    lambda x: recurrent(x, _rebuilt),
    (normal(5, 3, 4),),
    lambda x: recurrent(x, F.silu),
    ("tolist", "torch.tensor(h.tolist(), dtype=h.dtype)"),
    inside=True,
)


def _standardised(h: Any) -> Any:
    with torch.no_grad():
        spread = h.std(0, keepdim=True) + 0.1
    return h / spread


mistake(
    "spread_under_no_grad",
    "detached path",
    lambda x: mlp(x, _standardised),
    (normal(4, 4),),
    lambda x: mlp(x, lambda h: h / (h.std(0, keepdim=True) + 0.1)),
    Blame("no_grad", "spread = h.std(0, keepdim=True) + 0.1"),
    inside=True,
)
mistake(
    "weight_as_a_float",
    "detached path",
    lambda x, w: x * float(w.detach()),
    (normal(4), lambda generator: torch.tensor(1.3, dtype=torch.float64)),
    lambda x, w: x * w,
    ("detach", "x * float(w.detach())"),
)
mistake(
    "through_half_precision",
    "dtype cast",
    lambda x: mlp(x, lambda h: (3 * h).half().double().sin()),
    (normal(3, 4),),
    lambda x: mlp(x, lambda h: (3 * h).sin()),
    ("half", "(3 * h).half().double().sin()"),
    proof="gradient, values roughly",
    inside=True,
)


class SavedInHalf(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x.half())
        return x.exp()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * x.double().exp()


mistake(
    "saved_in_half_precision",
    "dtype cast",
    lambda x: SavedInHalf.apply(x),
    (uniform(17.0, 31.0, 6),),
    torch.exp,
    ("SavedInHalfBackward", "SavedInHalf.apply(x)"),
    shows="inputs that half precision rounds by much",
)


class FloatDifference(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, c: Any) -> Any:
        ctx.save_for_backward(x.float(), c.float())
        return (x - c).square()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, c = ctx.saved_tensors
        d = 2 * g * (x - c)
        return d, -d


mistake(
    "saved_in_single_precision",
    "dtype cast",
    lambda x, c: FloatDifference.apply(x, c),
    (normal(6, shift=200000.0), normal(6, shift=200000.0)),
    lambda x, c: (x - c).square(),
    ("FloatDifferenceBackward", "FloatDifference.apply(x, c)"),
    shows="close numbers far from zero",
)


class RoundThrough(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.round()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g


mistake(
    "round_straight_through",
    "straight-through by mistake",
    lambda x: RoundThrough.apply(x * 4) / 4,
    (uniform(0.03, 0.1, 5),),
    lambda x: (x * 4).round() / 4,
    ("RoundThroughBackward", "RoundThrough.apply(x * 4)"),
)
mistake(
    "sign_straight_through_detach",
    "straight-through by mistake",
    lambda x: mlp(x, lambda h: h + (h.sign() - h).detach() + h * h),
    (normal(3, 4),),
    lambda x: mlp(x, lambda h: h.sign() + h * h),
    ("detach", "(h.sign() - h).detach()"),
    inside=True,
)
mistake(
    "frozen_temperature",
    "detached path",
    lambda s, t: (s / t.detach()).log_softmax(-1),
    (normal(2, 3), positive(1)),
    lambda s, t: (s / t).log_softmax(-1),
    ("detach", "(s / t.detach())"),
)
