"""Gradients overwritten, values gone stale, tensors edited behind the engine's back, and promises broken."""

from __future__ import annotations

from typing import Any

import minitorch as torch

from ._models import attention, mlp, motion, recurrent
from ._record import Blame, mistake, normal, positive


class Lookup(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, table: Any, index: Any) -> Any:
        ctx.save_for_backward(index)
        ctx.shape = table.shape
        return table[index]

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        gradient = torch.zeros(ctx.shape, dtype=g.dtype)
        gradient[ctx.saved_tensors[0]] = g
        return gradient, None


mistake(
    "lookup_overwrites_repeated_rows",
    "overwritten accumulation",
    lambda table: Lookup.apply(table, torch.tensor([2, 0, 2, 1])),
    (normal(3, 2),),
    lambda table: table[torch.tensor([2, 0, 2, 1])],
    ("LookupBackward", "Lookup.apply(table"),
    shows="repeated indices",
)


class SquarePlusSine(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x + x.sin()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        gradient = g * 2 * x
        gradient = g * x.cos()
        return gradient


mistake(
    "second_use_overwrites_first",
    "overwritten accumulation",
    lambda x: mlp(x, lambda h: SquarePlusSine.apply(h)),
    (normal(3, 4),),
    lambda x: mlp(x, lambda h: h * h + h.sin()),
    ("SquarePlusSineBackward", "SquarePlusSine.apply(h)"),
    inside=True,
)


class TwoHeads(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2, x * 3

    @staticmethod
    def backward(ctx: Any, a: Any, b: Any) -> Any:
        gradient = torch.empty_like(a)
        gradient.copy_(2 * a)
        gradient.copy_(3 * b)
        return gradient


mistake(
    "second_output_overwrites_first",
    "overwritten accumulation",
    lambda x: TwoHeads.apply(x),
    (normal(3),),
    lambda x: (x * 2, x * 3),
    ("TwoHeadsBackward", "TwoHeads.apply(x)"),
    shows="both outputs used",
)


class KeptOnClass(torch.autograd.Function):
    kept: Any = None

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        KeptOnClass.kept = x.detach()
        return x.exp()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * KeptOnClass.kept.exp()


mistake(
    "saved_on_the_class",
    "stale saved value",
    lambda x: recurrent(x, lambda h: KeptOnClass.apply(h)),
    (normal(5, 3, 4, scale=0.5),),
    lambda x: recurrent(x, torch.exp),
    ("KeptOnClassBackward", "KeptOnClass.apply(h)"),
    shows="called more than once",
    inside=True,
)


class CachedSlope(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, cache: Any) -> Any:
        if "slope" not in cache:
            cache["slope"] = x.detach().cos()
        ctx.cache = cache
        return x.sin()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.cache["slope"], None


def _motion_with_cache(x: Any) -> Any:
    cache: dict[str, Any] = {}
    return motion(x, lambda p: CachedSlope.apply(p, cache))


mistake(
    "slope_of_the_first_step_cached",
    "stale saved value",
    _motion_with_cache,
    (normal(8),),
    lambda x: motion(x, torch.sin),
    ("CachedSlopeBackward", "CachedSlope.apply(p, cache)"),
    shows="called more than once",
    inside=True,
)


class SavedBefore(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        x = x + 1
        return x * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return 2 * g * ctx.saved_tensors[0]


mistake(
    "saved_before_the_shift",
    "stale saved value",
    lambda x: SavedBefore.apply(x),
    (normal(3),),
    lambda x: (x + 1) ** 2,
    ("SavedBeforeBackward", "SavedBefore.apply(x)"),
)


class KeptAttribute(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.x = x
        return x * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return 2 * g * ctx.x.detach()


def _edit_after(h: Any) -> Any:
    h = h * 1.5
    y = KeptAttribute.apply(h)
    h.mul_(0.5)  # of a tensor kept as an attribute
    return y + h


mistake(
    "attribute_edited_afterwards",
    "edit of a saved tensor",
    lambda x: mlp(x, _edit_after),
    (normal(3, 4),),
    lambda x: mlp(x, lambda h: (h * 1.5).square() + h * 0.75),
    Blame("KeptAttributeBackward", "KeptAttribute.apply(h)", or_line="h.mul_(0.5)"),
    inside=True,
)


def _edit_through_numpy(x: Any) -> Any:
    h = x * 2
    y = h * h
    h.detach().numpy()[...] += 1
    return y


mistake(
    "saved_value_edited_through_numpy",
    "edit of a saved tensor",
    _edit_through_numpy,
    (normal(3),),
    lambda x: (2 * x).square(),
    Blame("numpy", "h.detach().numpy()[...] += 1", or_line="y = h * h"),
)


def _edit_through_data(scores: Any) -> Any:
    e = torch.exp(scores)
    y = e.sin()
    e.data.div_(e.data.sum())
    return y


mistake(
    "saved_result_edited_through_data",
    "edit of a saved tensor",
    lambda x: attention(x, _edit_through_data),
    (normal(5, 4, scale=0.5),),
    lambda x: attention(x, lambda s: s.exp().sin()),
    Blame("data", "e.data.div_(e.data.sum())", or_line="e = torch.exp(scores)"),
    inside=True,
)


class InPlaceDouble(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        buffer = x.detach().numpy()
        buffer *= 2
        return torch.from_numpy(buffer)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return 2 * g


mistake(
    "returns_its_inputs_buffer",
    "returns the input buffer",
    lambda x: InPlaceDouble.apply(x),
    (normal(3),),
    None,
    ("input mutated", "InPlaceDouble.apply(x)"),
    proof="input mutated",
)


def _normalise_weights(x: Any, w: Any) -> Any:
    w.data.div_(w.data.sum())
    return mlp(x, lambda h: h * w)


mistake(
    "normalises_its_input_in_place",
    "mutates its input",
    _normalise_weights,
    (normal(3, 4), positive(6)),
    None,
    ("input mutated", "w.data.div_(w.data.sum())"),
    proof="input mutated",
    inside=True,
)


class DoublesSaved(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x.square()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        work = x.detach().numpy()
        work *= 2
        return g * torch.from_numpy(work.copy())


mistake(
    "backward_doubles_what_was_saved",
    "mutates its input",
    lambda x: DoublesSaved.apply(x),
    (normal(3),),
    None,
    ("input mutated", "DoublesSaved.apply(x)"),
    proof="input mutated",
    shows="after backward",
)


class ScalesG(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 4

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        g.detach().mul_(4)
        return g


mistake(
    "backward_scales_g_in_place",
    "mutates g",
    lambda x: ScalesG.apply(x),
    (normal(3),),
    lambda x: x * 4,
    ("ScalesGBackward", "ScalesG.apply(x)"),
    proof="gradient mutated",
)


class DoublesG(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        g.detach().numpy()[...] *= 2
        return g


mistake(
    "scaled_g_reaches_the_other_branch",
    "mutates g",
    lambda x: torch.cos(torch.tanh(x) + DoublesG.apply(x)).sum(0),
    (normal(3, 2),),
    lambda x: torch.cos(2 * x + x.tanh()).sum(0),
    ("DoublesGBackward", "DoublesG.apply(x)"),
    shows="g that another branch reads too",
)


class WorksInSaved(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y = x.exp()
        ctx.work = y.detach().clone()
        return y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        ctx.work.mul_(g.detach())
        return ctx.work.clone()


mistake(
    "backward_works_in_saved_buffer",
    "mutates a saved tensor",
    lambda x: WorksInSaved.apply(x),
    (normal(3),),
    torch.exp,
    ("WorksInSavedBackward", "WorksInSaved.apply(x)"),
    proof="nondeterministic",
    shows="a second backward",
)


class Accumulates(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.total = torch.zeros_like(x)
        return x * 5

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        ctx.total = ctx.total + 5 * g
        return ctx.total


mistake(
    "backward_adds_to_its_last_result",
    "mutates a saved tensor",
    lambda x: mlp(x, lambda h: Accumulates.apply(h)),
    (normal(3, 4),),
    lambda x: mlp(x, lambda h: h * 5),
    ("AccumulatesBackward", "Accumulates.apply(h)"),
    proof="nondeterministic",
    shows="a second backward",
    inside=True,
)


class Noisy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return 2 * g * (torch.rand_like(g) > 0.3) / 0.7


mistake(
    "backward_drops_at_random",
    "nondeterministic backward",
    lambda x: Noisy.apply(x),
    (normal(8),),
    lambda x: x * 2,
    ("NoisyBackward", "Noisy.apply(x)"),
    proof="nondeterministic",
)


class Jittered(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * (x + 0.01 * torch.randn_like(x)).cos()


mistake(
    "backward_with_jitter",
    "nondeterministic backward",
    lambda x: motion(x, lambda p: Jittered.apply(p)),
    (normal(8),),
    lambda x: motion(x, torch.sin),
    ("JitteredBackward", "Jittered.apply(p)"),
    proof="nondeterministic",
    inside=True,
)


class KeepsItsOutput(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.y = y = x.exp()
        return y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.y.detach()


mistake(
    "output_kept_as_attribute",
    "reference cycle",
    lambda x: KeepsItsOutput.apply(x),
    (normal(3),),
    torch.exp,
    ("KeepsItsOutputBackward", "KeepsItsOutput.apply(x)"),
    proof="cycle",
)
