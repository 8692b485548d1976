"""Rows without a form of their own that are written in other rows, and calls of them replaced by those.

What is written here runs on tensors and is traced, so sizes may vary in it as in the model.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import ops
from .._modes import no_grad
from .._op import Row, rows
from .._runtime import traced, wrap
from .._trace import Trace
from .._trace_instructions import ArraySlot, Called, NumberSlot, Packed, Slot
from ..ops._composition import Composition
from ..ops.activation_derivatives import DERIVATIVES
from ..static._facts import renamed
from ..static._instructions import settled
from ..static._size_passes import Pass
from ._table import forms

parts: dict[str, Callable[..., Any]] = {}
"""What rows are made of: functions of their inputs and parameters, by name."""


def made_of(row: Any) -> Callable[..., Any] | None:
    """What a row is made of: written here, or its own composition."""
    if row.name in forms:
        return None
    if row.name in parts:
        return parts[row.name]
    tangent = getattr(row, "tangent", None)
    return tangent.compose if isinstance(tangent, Composition) else None


# -- arithmetic --------------------------------------------------------------------------------------------------------
parts |= {
    "addcmul": lambda self, tensor1, tensor2, value: self + tensor1 * tensor2 * value,
    "addcdiv": lambda self, tensor1, tensor2, value: self + tensor1 / tensor2 * value,
    "lerp": lambda self, end, weight: self + weight * (end - self),
    "lerp_number": lambda self, end, weight: self + (end - self) * weight,
    "addmm": lambda self, mat1, mat2, beta, alpha: self * beta + (mat1 @ mat2) * alpha,
    "addmv": lambda self, mat, vec, beta, alpha: self * beta + (mat @ vec) * alpha,
    "addr": lambda self, vec1, vec2, beta, alpha: self * beta + vec1[:, None] * vec2 * alpha,
    "baddbmm": lambda self, batch1, batch2, beta, alpha: self * beta + (batch1 @ batch2) * alpha,
    "addbmm": lambda self, batch1, batch2, beta, alpha: self * beta + (batch1 @ batch2).sum(0) * alpha,
    "logaddexp": lambda self, other: ops.choices.maximum(self, other) + (-_distance(self, other)).exp().log1p(),
    "hypot": lambda self, other: _hypotenuse(self.abs(), other.abs()),
    "sinc": lambda self: ops.choices.where(self == 0, 1.0, (self * 3.141592653589793).sin() / (self * 3.141592653589793)),
    "copysign": lambda self, other: ops.choices.where(other.signbit(), -self.abs(), self.abs()),
    "heaviside": lambda self, values: ops.choices.where(self == 0, values, (self > 0).to(values.dtype)),
    "logit": lambda self, eps: _logit(self if eps is None else self.clamp(eps, 1 - eps)),
    "xlogy": lambda self, other: ops.choices.where((self == 0) & (other == other), 0.0, self * other.log()),
    "ndtr": lambda self: ops.special.erfc(self * -0.7071067811865476) * 0.5,
    "ldexp": lambda self, other: self * other.to(self.dtype).exp2(),
    "cross": lambda self, other, dim: _cross(self, other, dim),
    "trace": lambda self: self.diagonal().sum(),
    "nan_to_num": lambda self, nan, posinf, neginf: _nan_to_num(self, nan, posinf, neginf),
    "median": lambda self: self.reshape(-1).median(0)[0],
    "entr": lambda self: ops.choices.where(
        self == 0, 0.0, ops.choices.where(self < 0, float("-inf"), -self * self.log())
    ),
    "nanmedian": lambda self: self.reshape(-1).nanmedian(0)[0],
    "unfold": lambda self, dimension, size, step: _windows(self, dimension, size, step),
    "pixel_shuffle": lambda self, factor: _shuffled(self, factor),
    "pixel_unshuffle": lambda self, factor: _unshuffled(self, factor),
    "im2col": lambda self, **options: _columns(self, **options),
    "nansum": lambda self, dim, keepdim: ops.choices.where(self != self, 0.0, self).sum(dim, keepdim),
    "atan2": lambda self, other: _angle(self, other),
    "copysign_number": lambda self, other: ops.choices.where(other < 0, -self.abs(), self.abs()),
    "logaddexp2": lambda self, other: ops.choices.maximum(self, other) + ((-_distance(self, other)).exp2() + 1).log2(),
    "xlogy_number": lambda self, other: self * other.log(),
    "number_xlogy": lambda other, self: other.log() * self,
    "round_decimals": lambda self, decimals: (self * 10.0**decimals).round() / 10.0**decimals,
    "cdist": lambda self, other, p, few: (self.unsqueeze(-2) - other.unsqueeze(-3)).norm(p, -1),
    "rot90": lambda self, k, dims: _turned(self, k % 4, *dims),
    "index_fill_tensor": lambda self, index, value, dim: self.index_copy(
        dim, index, value.expand([*self.shape[:dim], index.numel(), *self.shape[dim + 1 :]])
    ),
    "select_scatter": lambda self, src, dim, index: _replaced(self, src.unsqueeze(dim), dim, index % self.shape[dim]),
    "diag_embed": lambda self, offset, dim1, dim2: _on_diagonal(self, offset, dim1, dim2),
    "angle": lambda self: ops.choices.where(self < 0, 3.141592653589793, ops.choices.where(self == self, 0.0, self)),
    "mse_loss": lambda self, target, reduction: _reduced((self - target) ** 2, ("none", "mean", "sum")[reduction]),
    "smooth_l1_loss": lambda self, target, beta, summed, scale: _total(_smooth(self - target, beta), summed, scale),
    "huber_loss": lambda self, target, delta, summed, scale: _total(_huber(self - target, delta), summed, scale),
    "binary_cross_entropy": lambda self, target, weight, summed, scale: _total(
        (target - 1) * (-self).log1p().clamp(min=-100.0) - target * self.log().clamp(min=-100.0), summed, scale, weight
    ),
    "binary_cross_entropy_with_logits": lambda self, target, weight, pos_weight, summed, scale: _total(
        _binary(self, target, pos_weight), summed, scale, weight
    ),
    "nll_loss": lambda self, target, weight, kept, divisor, summed, asked: _picked(
        self, target, weight, kept, divisor, summed
    ),
    "nll_loss2d": lambda self, target, weight, kept, divisor, summed, asked: _picked(
        self, target, weight, kept, divisor, summed
    ),
    "relu_backward": lambda grad, output: ops.choices.where(output > 0, grad, 0.0),
    "threshold_backward": lambda grad, self, threshold: ops.choices.where(self > threshold, grad, 0.0),
    "tanh_backward": lambda grad, output: grad * (1 - output * output),
    "sigmoid_backward": lambda grad, output: grad * output * (1 - output),
    "silu_backward": lambda grad, self: grad * self.sigmoid() * (1 + self * (1 - self.sigmoid())),
    "leaky_relu_backward": lambda grad, self, negative_slope: ops.choices.where(self > 0, grad, grad * negative_slope),
    "softmax_backward": lambda grad, output, dim: output * (grad - (grad * output).sum(dim, keepdim=True)),
    "softmax_bend": lambda grad, other, output, dim: grad * other
    - grad * (other * output).sum(dim, keepdim=True)
    - other * (grad * output).sum(dim, keepdim=True),
    "softmax_turn": lambda grad, other, output, dim: grad * other
    - grad * (other * output).sum(dim, keepdim=True)
    - output * (grad * other).sum(dim, keepdim=True),
    "log_softmax_backward": lambda grad, output, dim: grad - output.exp() * grad.sum(dim, keepdim=True),
    "log_softmax_tangent": lambda grad, output, dim: grad - (grad * output.exp()).sum(dim, keepdim=True),
    "log_softmax_bend": lambda grad, other, output, dim: -grad * output.exp() * other.sum(dim, keepdim=True),
    "softplus_derivative": lambda grad, self, order, beta, threshold: ops.choices.where(
        self * beta < threshold, grad * DERIVATIVES["softplus_derivative"](traced, self, order, beta, threshold), 0.0
    ),
    **{
        name: lambda grad, self, name=name, **params: grad * DERIVATIVES[name](traced, self, **params)
        for name in ("gelu_derivative", "mish_derivative", "silu_derivative", "softsign_derivative")
    },
}  # fmt: skip
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):  # in place, they give the dtype that they are written into
    parts[f"{_name}_"] = lambda self, other, compare=rows[_name]: compare.call(self, other).to(self.dtype)


def _logit(p: Any) -> Any:
    return (p / (1 - p)).log()


def _nan_to_num(x: Any, nan: Any, posinf: Any, neginf: Any) -> Any:
    x = ops.choices.where(x != x, 0.0 if nan is None else nan, x)
    largest = float(np.finfo(x._array.dtype).max)
    x = ops.choices.where(x == float("inf"), largest if posinf is None else posinf, x)
    return ops.choices.where(x == float("-inf"), -largest if neginf is None else neginf, x)


def _hypotenuse(x: Any, y: Any) -> Any:
    """By the quotient of the sides, whose squares may be too large or small for the dtype."""
    longer, shorter = ops.choices.maximum(x, y), ops.choices.minimum(x, y)
    ratio = ops.choices.where(longer == 0, 0.0, shorter / longer)
    return ops.choices.where(x.isinf() | y.isinf(), float("inf"), longer * (1 + ratio * ratio).sqrt())


def _angle(y: Any, x: Any) -> Any:
    """The angle of a point: that of its slope, and half a turn more or less where x is negative."""
    both = y.isinf() & x.isinf()
    y, x = ops.choices.where(both, y.sign(), y), ops.choices.where(both, x.sign(), x)
    slope = (y / x).atan()
    turn = ops.choices.where(y.signbit(), -3.141592653589793, 3.141592653589793)
    angle = ops.choices.where(x < 0, slope + turn, slope)
    straight = ops.choices.where(y == 0, ops.choices.where(x.signbit(), turn, y), turn * 0.5)
    return ops.choices.where((x == 0) & (y == y), straight, angle)


def _distance(x: Any, y: Any) -> Any:
    """How far numbers are apart; infinities of one sign are not."""
    return ops.choices.where(x == y, 0.0, (x - y).abs())


def _turned(x: Any, quarters: int, one: int, other: int) -> Any:
    if quarters == 2:
        return x.flip(one, other)
    return x if not quarters else x.flip(other if quarters == 1 else one).transpose(one, other)


def _on_diagonal(x: Any, offset: int, dim1: int, dim2: int) -> Any:
    """Elements along a diagonal of zeros: where columns are so far beyond rows."""
    x = rows["constant_pad_nd"].call(x, ((max(-offset, 0), max(offset, 0)),), 0.0)
    places = ops.ranges.arange(x.shape[-1])
    out = ops.choices.where(places - places.unsqueeze(1) == offset, x.unsqueeze(-1), 0.0)
    return out.movedim((-2, -1), (dim1, dim2))


def _replaced(x: Any, part: Any, dim: int, start: int) -> Any:
    """A slice along a dimension replaced by another."""
    end = start + part.shape[dim]
    return ops.join.cat([x.narrow(dim, 0, start), part, x.narrow(dim, end, x.shape[dim] - end)], dim)


# -- losses ------------------------------------------------------------------------------------------------------------
def _tensor(value: Any) -> Any:
    """A parameter that may be the array of a tensor."""
    return wrap(value) if isinstance(value, np.ndarray) else value


def _reduced(loss: Any, reduction: str) -> Any:
    return loss if reduction == "none" else getattr(loss, reduction)()


def _total(loss: Any, summed: bool, scale: Any, weight: Any = None) -> Any:
    """The loss times a weight; summed and scaled, if that is asked for."""
    loss = loss if weight is None else loss * _tensor(weight)
    return loss.sum() * scale if summed else loss


def _smooth(difference: Any, beta: float) -> Any:
    size = difference.abs()
    return ops.choices.where(size < beta, difference * difference * (0.5 / beta), size - 0.5 * beta)


def _huber(difference: Any, delta: float) -> Any:
    size = difference.abs()
    return ops.choices.where(size <= delta, difference * difference * 0.5, (size - 0.5 * delta) * delta)


def _binary(x: Any, target: Any, pos_weight: Any) -> Any:
    log = rows["logsigmoid"].call(x)
    return (1 - target) * x - (log if pos_weight is None else log * ((_tensor(pos_weight) - 1) * target + 1))


def _picked(scores: Any, target: Any, weight: Any, kept: Any, divisor: Any, summed: bool) -> Any:
    """The negated scores of the target classes."""
    axis = min(1, scores.dim() - 1)
    found = scores.gather(axis, target.unsqueeze(axis)).squeeze(axis)
    found = found if weight is None else found * _tensor(weight)
    found = found if kept is None else ops.choices.where(_tensor(kept), found, 0.0)
    return -(found.sum() / divisor) if summed else -found


def _cross(x: Any, y: Any, dim: int) -> Any:
    (a, b, c), (d, e, f) = x.unbind(dim), y.unbind(dim)
    return ops.join.stack([b * f - c * e, c * d - a * f, a * e - b * d], dim)


def _windows(x: Any, dim: int, size: int, step: int) -> Any:
    if not x.dim():
        return x.reshape(1)[:size]
    dim %= x.dim()
    every, rest = (slice(None),) * dim, x.shape[dim] - size
    return ops.join.stack([x[(*every, slice(k, rest + k + 1, step))] for k in range(size)], -1)


def _shuffled(x: Any, r: int) -> Any:
    *lead, channels, height, width = x.shape
    x = x.reshape(-1, channels // r**2, r, r, height, width).permute(0, 1, 4, 2, 5, 3)
    return x.reshape(*lead, channels // r**2, height * r, width * r)


def _unshuffled(x: Any, r: int) -> Any:
    *lead, channels, height, width = x.shape
    x = x.reshape(-1, channels, height // r, r, width // r, r).permute(0, 1, 3, 5, 2, 4)
    return x.reshape(*lead, channels * r**2, height // r, width // r)


def _columns(x: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    """Each cell of the kernel at all places, one after the other."""
    (kh, kw), (dh, dw), (ph, pw), (sh, sw) = kernel_size, dilation, padding, stride
    if ph or pw:
        x = rows["constant_pad_nd"].call(x, ((ph, ph), (pw, pw)), 0.0)
    height, width = x.shape[-2] - dh * (kh - 1), x.shape[-1] - dw * (kw - 1)
    cells = [x[:, :, i * dh : i * dh + height : sh, j * dw : j * dw + width : sw] for i in range(kh) for j in range(kw)]
    return ops.join.stack(cells, 2).reshape(x.shape[0], x.shape[1] * kh * kw, -1)


# -- calls replaced ----------------------------------------------------------------------------------------------------
def expand(one: Pass) -> None:
    """Replace calls of what is made of other rows, and of what these are made of, in the instructions of a pass."""
    todo = [(i, one.paths.get(id(i), "")) for i in reversed(one.instructions)]
    done: list[Any] = []
    while todo:
        instruction, path = todo.pop()
        compose = made_of(instruction.row) if isinstance(instruction, Called) else None
        if compose is None:
            one.paths[id(instruction)] = path
            done.append(instruction)
            continue
        todo += [(i, path) for i in reversed(_written_out(one, instruction, compose))]
    one.instructions = done


def _written_out(one: Pass, called: Called, compose: Callable[..., Any]) -> list[Any]:
    """The instructions that stand for a call."""
    trace = one.trace
    slots = list(dict.fromkeys([Slot(s) for s in called.reads]))
    tensors = {slot: wrap(trace.arrays[slot]) for slot in slots}
    inputs = [tensors[i] if isinstance(i, Slot) else i for i in called.inputs]
    given = {name: _filled(p, tensors) for name, p in zip(called.row.params, called.params)}
    with no_grad(), Trace(list(tensors.values())) as inner:
        inputs = _settled(called.row, inputs)
        out = compose(inputs, **given) if called.row.variadic else compose(*inputs, **given)
    outputs = out if isinstance(out, tuple) else (out,)
    names = dict(zip(inner.arguments, slots))
    for tensor, slot in zip(outputs, called.outputs):
        number = inner.slot_of(tensor)
        if number in names:  # one of the inputs, as it is, or an output twice
            same = inner._new(tensor._array.view())
            inner.instructions.append(Called(rows["alias"], (number,), (), (same,)))
            number = same
        names[number] = slot
    for place, array in enumerate(inner.arrays):
        if place not in names:
            names[Slot(place)] = trace._new(array)
    for slot, tensor in inner.captured.items():
        trace.captured[names[slot]] = tensor
    return [_renamed(i, names) for i in inner.instructions]


def _settled(row: Any, inputs: list[Any]) -> list[Any]:
    """Operands in the dtypes that the row takes them in."""
    arrays = [getattr(i, "_array", None) for i in inputs]
    if not isinstance(row, Row) or any([a is None for a in arrays]):
        return inputs
    kinds = [wrap(s).dtype for s in settled(row, arrays)]
    return [i if i.dtype is kind else i.to(kind) for i, kind in zip(inputs, kinds)]


def _filled(param: Any, tensors: dict[Slot, Any]) -> Any:
    if isinstance(param, ArraySlot):
        return tensors[Slot(param)]._array
    if isinstance(param, NumberSlot):
        return tensors[Slot(param)]
    if isinstance(param, Slot):
        return tensors[param]
    return param.kind([_filled(item, tensors) for item in param.items]) if isinstance(param, Packed) else param


def _renamed(instruction: Any, names: dict[Slot, Slot]) -> Any:
    """An instruction of other slots."""
    new = copy.copy(renamed(instruction, names))
    new.outputs = tuple([names[slot] for slot in new.outputs])
    return new


def kinds_of_rows() -> dict[str, str]:
    """For each row by name: "own" where it has an ONNX form, "parts" where it is made of rows that have, else ""."""
    return {n: "own" if n in forms else "parts" if made_of(row) is not None else "" for n, row in sorted(rows.items())}
