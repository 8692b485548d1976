"""Random programs of all kinds of operations: eager, traced, compiled and static agree bit for bit in value, at several sizes;
gradients that are compiled are the eager ones bit for bit where dtypes are not mixed, those of static graphs up to the order of
their sums."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch as torch
from minitorch import static
from minitorch._op import rows
from minitorch.nn import functional as F
from usable_rows import ROWS

SHAPES = (("batch", 3), ("batch", 3), (3,), ("batch", 1), ())
"""Of the inputs; operands of structural steps have the first one."""


def written(a: Any, b: Any) -> Any:
    out = a.clone()
    out[:, 1] = b[:, 0]
    out[0].mul_(b[-1])
    out.t()[2] += 1
    out[b > 0.5] = 0.25
    return out


def accumulated(a: Any, b: Any) -> Any:
    out, part = torch.zeros_like(a), b[:, :2] * 2
    for column in range(3):
        out[:, column].add_(a[:, -1 - column] * b[:, column])
    part.sigmoid_()
    return out.index_add_(1, torch.tensor([2, 0]), part.to(out.dtype))


def by_parts(a: Any, b: Any) -> Any:
    first, rest = a.split([1, 2], 1)
    x, y, z = b.unbind(1)
    return torch.cat([rest, first], 1) * torch.stack([z, x, y], 1)


def by_order(a: Any, b: Any) -> Any:
    values, order = a.sort(1)
    return values - b.gather(1, order) + a.max(0, keepdim=True)[0] + b.topk(1, 1)[0]


STRUCTURAL: dict[str, Callable[[Any, Any], Any]] = {
    "written": written,
    "accumulated": accumulated,
    "by parts": by_parts,
    "by order": by_order,
    "product": lambda a, b: a @ (b.t() @ b).to(a.dtype),
    "folded": lambda a, b: (a.t() * 2).reshape(-1).view(3, -1).t() + b[:1].expand(a.shape),
    "statistics": lambda a, b: (a - a.mean(0)) / (b.var(1, keepdim=True, correction=0) + 1) + a.cumsum(1),
    "softmax": lambda a, b: a.softmax(1) * b.log_softmax(0),
    "indexed": lambda a, b: a[:, [2, 0, 1]] + b.index_select(1, torch.tensor([1, 1, 0])) + a[-1].flip(0),
    "chosen": lambda a, b: torch.where(a > b, a, b * 2).masked_fill(b < 0.25, -1.0),
    "constants": lambda a, b: a * torch.arange(3.0) + torch.eye(3, dtype=b.dtype)[1] * 0.5,
    "integers": lambda a, b: (a * 10).long() % 3 * b + (b > 0.5).int(),
    "strided": lambda a, b: a.t().contiguous().t() + b.clone(memory_format=torch.preserve_format)[:, ::2].sum(1, True),
}


@st.composite
def programs(draw: st.DrawFn) -> list[tuple[str, int, Any]]:
    """Steps: what, the number of the first operand, and that of the second, or a number."""
    steps: list[tuple[str, int, Any]] = []
    full = [0, 1]
    for made in range(len(SHAPES), len(SHAPES) + draw(st.integers(1, 7))):
        kind, a = draw(st.integers(0, 4)), draw(st.sampled_from(full))
        anything = st.integers(0, made - 1)
        if kind == 0:
            steps.append((draw(st.sampled_from(ROWS[1])), a, None))
        elif kind == 1:
            steps.append((draw(st.sampled_from(ROWS[2])), a, draw(anything)))
        elif kind == 2:
            steps.append((draw(st.sampled_from(("add", "mul", "div"))), a, draw(st.sampled_from((2.0, 3, -0.5)))))
        else:
            steps.append((draw(st.sampled_from(list(STRUCTURAL))), a, draw(st.sampled_from(full))))
        full.append(made)
    return steps


def build(call: Any, apply: Any, inputs: Any, steps: list[Any]) -> Any:
    """The sum of what the steps give, each of which is squashed so that it stays in the domain of most functions."""
    values = list(inputs)
    for name, a, b in steps:
        second = values[b] if b.__class__ is int and name not in ("add", "mul", "div") else b
        if name in STRUCTURAL:
            value = apply(STRUCTURAL[name], values[a], second)
        else:
            value = call(name)(values[a]) if b is None else call(name)(values[a], second)
        values.append(call("sigmoid")(value))
    return values[-1] * values[0] + values[-2]


def eager(*inputs: Any, steps: list[Any]) -> Any:
    return build(lambda name: rows[name].call, lambda function, *operands: function(*operands), inputs, steps)


def fed(batch: int, seed: int, dtypes: list[Any], grad: bool = False) -> list[Any]:
    rng = np.random.default_rng(seed)
    shapes = [tuple([batch if n == "batch" else n for n in shape]) for shape in SHAPES]
    arrays = [np.asarray(rng.uniform(0.1, 0.9, shape), dtype) for shape, dtype in zip(shapes, dtypes)]
    return [torch.from_numpy(a).requires_grad_(grad) for a in arrays]


def same(found: Any, wanted: Any) -> None:
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found.detach().numpy(), wanted.detach().numpy())


KINDS = st.sampled_from((np.float32, np.float64))
DTYPES = st.one_of(KINDS.map(lambda kind: [kind] * 5), st.lists(KINDS, min_size=5, max_size=5))


@settings(max_examples=25)
@given(programs(), DTYPES, st.booleans())
@pytest.mark.filterwarnings("error")
def test_traced_compiled_and_eager_agree(steps: list[Any], dtypes: list[Any], dropped: bool) -> None:
    def value(*inputs: Any) -> Any:
        out = eager(*inputs, steps=steps)
        return F.dropout(out, 0.3) if dropped else out

    def gradients(*inputs: Any) -> Any:
        found = torch.autograd.grad(value(*inputs).square().sum(), inputs, allow_unused=True)
        return [torch.zeros(()) if g is None else g for g in found]

    traced, compiled = static.trace(value, *fed(4, 0, dtypes), quiet=True), static.compile(gradients, quiet=True)
    plain = static.compile(gradients, passes=(), quiet=True)
    for seed, batch in enumerate((4, 4, 1, 4, 6)):
        inputs, leaves = fed(batch, seed, dtypes), fed(batch, seed, dtypes, grad=True)
        torch.manual_seed(seed)
        wanted = value(*inputs)
        torch.manual_seed(seed)
        same(traced(*inputs), wanted)
        torch.manual_seed(seed)
        wanted = gradients(*leaves)
        for program in (compiled, plain):
            torch.manual_seed(seed)
            for ours, theirs in zip(program(*leaves), wanted, strict=True):
                if len({*dtypes}) == 1:
                    same(ours, theirs)
                else:  # formulas on arrays and on Tensors promote 0-d operands at different places
                    assert ours.dtype == theirs.dtype
                    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-3, atol=1e-3)
    for program in (traced, compiled, plain):
        assert len(program.variants) == 3 or len({*dtypes}) > 1, program.notes


@settings(max_examples=25)
@given(programs(), DTYPES)
@pytest.mark.filterwarnings("error")
def test_static_and_eager_agree(steps: list[Any], dtypes: list[Any]) -> None:
    places = [static.placeholder(f"x{n}") for n in range(len(SHAPES))]
    out = build(lambda name: getattr(static.rows, name), static.apply, places, steps)
    found = static.gradients(out, places, allow_unused=True)
    executor = static.Executor([out, *[g for g in found if g is not None]])
    for batch in (4, 1):
        inputs = fed(batch, batch, dtypes)
        ran = iter(executor.run({p: inputs[int(p.name[1])] for p in executor.placeholders}))
        leaves = fed(batch, batch, dtypes, grad=True)
        value = eager(*leaves, steps=steps)
        same(next(ran), value)
        wanted = torch.autograd.grad(value.sum(), leaves, allow_unused=True)
        for ours, theirs in zip([None if g is None else next(ran) for g in found], wanted, strict=True):
            if ours is None or theirs is None:
                assert all([t is None or not t.any() for t in (ours, theirs)])
            else:
                tolerance = 1e-9 if np.float32 not in dtypes else 2e-3
                scale = max(1.0, float(np.max(np.abs(theirs.numpy()), initial=0, where=np.isfinite(theirs.numpy()))))
                np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=tolerance, atol=tolerance * scale)
