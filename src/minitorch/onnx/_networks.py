"""Forms of the rows of networks: products, convolutions, normalisation, recurrent layers, resampling."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..static._size_expressions import Computed, Parts, Repeated, Varying
from ._builder import INT64, Builder, CannotExport, Value
from ._shapes import reduced
from ._table import form


# -- products ----------------------------------------------------------------------------------------------------------
@form("mm", "folded_mm", "bmm", "mv", "folded_mv", "vm", "dot", "vdot")
def product(
    g: Builder, self: Value, mat2: Value | None, vec: Value | None, tensor: Value | None, other: Value | None
) -> Value:
    (second,) = [v for v in (mat2, vec, tensor, other) if v is not None]
    return g("MatMul", self, second)


def _turned(g: Builder, matrices: Value) -> Value:
    return g.swap(matrices, matrices.ndim - 2, matrices.ndim - 1)


@form("mm_nt", "folded_mm_nt", "bmm_nt")
def product_nt(g: Builder, self: Value, mat2: Value) -> Value:
    return g("MatMul", self, _turned(g, mat2))


@form("mm_tn", "bmm_tn")
def product_tn(g: Builder, self: Value, mat2: Value) -> Value:
    """Of more dimensions, all but the last are summed over in ``mm_tn``: they are folded first."""
    if self.ndim == mat2.ndim == 2 or len(g.results[0][0]) > 2:
        return g("MatMul", _turned(g, self), mat2)
    folded = [g.reshape(v, (-1, v.sizes[-1])) for v in (self, mat2)]
    return g("MatMul", g("Transpose", folded[0], perm=[1, 0]), folded[1])


@form("mv_t")
def mv_t(g: Builder, self: Value, vec: Value) -> Value:
    if self.ndim > 2:
        self, vec = g.reshape(self, (-1, self.sizes[-1])), g.reshape(vec, (-1,))
    return g("MatMul", vec, self)


@form("rows_times")
def rows_times(g: Builder, self: Value, vec: Value) -> Value:
    return g("Mul", g.unsqueeze(self, -1), vec)


@form("linear")
def linear(g: Builder, self: Value, weight: Value, bias: Value) -> Value:
    return g("Gemm", self, weight, bias, transB=1)


@form("folded_linear")
def folded_linear(g: Builder, self: Value, weight: Value, bias: Value) -> Value:
    return g("Add", g("MatMul", self, _turned(g, weight)), bias)


@form("vector_linear")
def vector_linear(g: Builder, self: Value, weight: Value) -> Value:
    return g("MatMul", self, _turned(g, weight))


@form("contract")
def contract(g: Builder, self: Value, other: Value, left: Any, right: Any, kept: Any) -> Value:
    letters = dict(zip(dict.fromkeys([*left, *right]), string.ascii_letters))
    terms = ["".join([letters[label] for label in labels]) for labels in (left, right, kept)]
    return g("Einsum", self, other, equation=f"{terms[0]},{terms[1]}->{terms[2]}")


@form("det")
def det(g: Builder, self: Value) -> Value:
    return g("Det", self)


# -- convolutions ------------------------------------------------------------------------------------------------------
def batched(g: Builder, self: Value, ndim: int) -> Value:
    """An input of a convolution or pooling with a batch dimension and one of channels."""
    missing = ndim + 2 - self.ndim
    return g.reshape(self, (1,) * missing + self.sizes) if missing else self


def unbatched(g: Builder, out: Value, self: Value, ndim: int) -> Value:
    """The result without the dimensions that the input had not."""
    return g.squeeze(out, *range(ndim + 2 - self.ndim))


@form("conv", "conv_bias")
def conv(
    g: Builder, self: Value, weight: Value, bias: Value | None, stride: Any, padding: Any, dilation: Any, groups: int
) -> Value:
    ndim = weight.ndim - 2
    out = g("Conv", batched(g, self, ndim), weight, bias, kernel_shape=_static(weight.sizes[2:], "its weight"), strides=stride,
            pads=[*padding, *padding], dilations=dilation, group=groups)  # fmt: skip
    return unbatched(g, out, self, ndim)


@form("conv_input_grad", "conv_input_grad_bias")
def conv_transposed(
    g: Builder, self: Value, weight: Value, bias: Value | None, stride: Any, padding: Any, dilation: Any, groups: int
) -> Value:
    ndim = weight.ndim - 2
    out = g("ConvTranspose", batched(g, self, ndim), weight, bias, kernel_shape=_static(weight.sizes[2:], "its weight"),
            strides=stride, pads=[*padding, *padding], dilations=dilation, group=groups,
            output_padding=_output_padding(g, weight, stride, padding, dilation))  # fmt: skip
    return unbatched(g, out, self, ndim)


def _output_padding(g: Builder, weight: Value, stride: Any, padding: Any, dilation: Any) -> list[int]:
    """How many cells more there are at the end than the input gives: from the shapes in all passes."""
    found = set()
    for seen in g.seen():
        kernel = weight.sizes[2:]
        sizes = zip(seen.given[-len(kernel) :], seen.out[-len(kernel) :], kernel, stride, padding, dilation)
        found.add(tuple([o - ((n - 1) * s - 2 * p + d * (k - 1) + 1) for n, o, k, s, p, d in sizes]))
    if len(found) > 1:
        raise CannotExport("a transposed convolution whose output padding depends on sizes")
    return list(found.pop())


def _static(shape: Sequence[Any], what: str) -> list[int]:
    if not all([isinstance(size, int) for size in shape]):
        raise CannotExport(f"the shape of {what} varies")
    return list(shape)


# -- normalisation -----------------------------------------------------------------------------------------------------
def _plan(plan: Any, name: str) -> Any:
    return plan.attributes[name] if isinstance(plan, Parts) else getattr(plan, name)


@form("batch_norm_evaluated")
def batch_norm_evaluated(
    g: Builder, self: Value, weight: Value, bias: Value, mean: Value, var: Value, plan: Any
) -> Value:
    return g("BatchNormalization", self, weight, bias, mean, var, epsilon=_plan(plan, "eps"))


@form("norm_moments")
def norm_moments(g: Builder, self: Value, plan: Any) -> tuple[Value, Value]:
    if _plan(plan, "groups"):
        raise CannotExport("statistics of groups alone")
    dims = [d for d in range(self.ndim) if d != 1]
    mean = reduced(g, "ReduceMean", self, dims, True)
    rest = g("Sub", self, mean)
    return g.reshape(mean, (-1,)), reduced(g, "ReduceMean", g.like(g("Mul", rest, rest), self), dims, False)


@form("batch_norm")
def batch_norm(g: Builder, self: Value, weight: Value, bias: Value, mean: Value, var: Value, plan: Any) -> Value:
    if _plan(plan, "groups"):
        raise CannotExport("batch_norm() of groups")
    shape = (-1,) + (1,) * (self.ndim - 2)
    weight, bias, mean, var = [g.reshape(v, shape) for v in (weight, bias, mean, var)]
    scale = g("Div", weight, g("Sqrt", g.binary("Add", var, _plan(plan, "eps"))))
    return g("Add", g("Mul", g("Sub", self, mean), scale), bias)


@form("layer_norm")
def layer_norm(g: Builder, self: Value, weight: Value, bias: Value, plan: Any) -> Value:
    return g("LayerNormalization", self, weight, bias, axis=-weight.ndim, epsilon=_plan(plan, "eps"))


@form("group_norm")
def group_norm(g: Builder, self: Value, weight: Value, bias: Value, plan: Any) -> Value:
    groups = _plan(plan, "groups")
    flat = g.reshape(self, (self.sizes[0], groups, -1))
    ones, zeros = g.constant(np.ones(groups), self.dtype), g.constant(np.zeros(groups), self.dtype)
    found = g("InstanceNormalization", flat, ones, zeros, epsilon=_plan(plan, "eps"))
    shape = (-1,) + (1,) * (self.ndim - 2)
    found = g("Mul", g.reshape(found, self.sizes), g.reshape(weight, shape))
    return g("Add", found, g.reshape(bias, shape))


@form("softmax")
def softmax(g: Builder, self: Value, dim: int) -> Value:
    return g("Softmax", self, axis=dim) if self.ndim else g("Exp", g("Sub", self, self))


@form("log_softmax")
def log_softmax(g: Builder, self: Value, dim: int) -> Value:
    return g("LogSoftmax", self, axis=dim) if self.ndim else g("Sub", self, self)


@form("safe_softmax")
def safe_softmax(g: Builder, self: Value) -> Value:
    """Zeros where a whole row is minus infinity."""
    found, highest = g("Softmax", self, axis=-1), g("ReduceMax", self, g.ints([-1]), keepdims=1)
    hidden = g("And", g("IsInf", highest, detect_positive=0), g("IsNaN", found))
    return g("Where", hidden, g.constant(0, self.dtype), found)


# -- recurrent layers --------------------------------------------------------------------------------------------------
def _steps(batch_sizes: Any) -> tuple[Any, Any]:
    """How many steps there are, and how many sequences."""
    if isinstance(batch_sizes, Repeated):
        return batch_sizes.count, batch_sizes.item
    if isinstance(batch_sizes, Sequence) and batch_sizes and all([size == batch_sizes[0] for size in batch_sizes]):
        return len(batch_sizes), batch_sizes[0]
    raise CannotExport("a recurrent layer over sequences of several lengths (a packed sequence)")


def _gates(g: Builder, weight: Value, order: Sequence[int]) -> Value:
    """Weights with their gates in ONNX's order, and a dimension for directions."""
    (rows,) = _static(weight.sizes[:1], "a weight")
    if len(order) > 1:
        size = rows // len(order)
        weight = g("Gather", weight, g.constant(np.arange(rows).reshape(len(order), size)[list(order)].ravel()), axis=0)
    return g.unsqueeze(weight, 0)


def _recurrent(
    g: Builder, op: str, order: Sequence[int], x: Value, states: Sequence[Value], weights: Sequence[Value],
    batch_sizes: Any, reverse: bool, **attributes: Any,
) -> tuple[Value, ...]:  # fmt: skip
    """A layer in one direction; its steps are one after the other, as the row has them, and states have no direction."""
    steps, batch = _steps(batch_sizes)
    w_ih, w_hh, b_ih, b_hh = weights
    x = g.reshape(x, (steps, batch, x.sizes[-1]))
    bias = g("Concat", _gates(g, b_ih, order), _gates(g, b_hh, order), axis=1)
    first = [g.unsqueeze(state, 0) for state in states]
    found = g(op, x, _gates(g, w_ih, order), _gates(g, w_hh, order), bias, None, *first, outputs=1 + len(states),
              hidden_size=w_hh.sizes[1], direction="reverse" if reverse else "forward", **attributes)  # fmt: skip
    (shape, _) = g.results[0]
    return (g.reshape(found[0], shape), *[g.squeeze(state, 0) for state in found[1:]])


@form("lstm_layer")
def lstm_layer(
    g: Builder, self: Value, hx: Value, cx: Value, w_ih: Value, w_hh: Value, b_ih: Value, b_hh: Value, batch_sizes: Any,
    reverse: bool,
) -> tuple[Value, ...]:  # fmt: skip
    return _recurrent(g, "LSTM", (0, 3, 1, 2), self, (hx, cx), (w_ih, w_hh, b_ih, b_hh), batch_sizes, reverse)


def _of_one_state(row: str, op: str, order: Sequence[int], **attributes: Any) -> None:
    @form(row)
    def layer(
        g: Builder, self: Value, hx: Value, w_ih: Value, w_hh: Value, b_ih: Value, b_hh: Value, batch_sizes: Any, reverse: bool,
    ) -> tuple[Value, ...]:  # fmt: skip
        return _recurrent(g, op, order, self, (hx,), (w_ih, w_hh, b_ih, b_hh), batch_sizes, reverse, **attributes)


_of_one_state("gru_layer", "GRU", (1, 0, 2), linear_before_reset=1)
_of_one_state("rnn_tanh_layer", "RNN", (0,), activations=["Tanh"])
_of_one_state("rnn_relu_layer", "RNN", (0,), activations=["Relu"])


# -- padding and resampling --------------------------------------------------------------------------------------------
def _padded(g: Builder, self: Value, pads: Any, mode: str, value: Any = None) -> Value:
    """Pads are pairs, of the last dimensions; what is cut off is cut off afterwards."""
    lead = self.ndim - len(pads)
    added = [[max(0, p) if isinstance(p, int) else p for p in pair] for pair in pads]
    amounts = [0] * lead + [p[0] for p in added] + [0] * lead + [p[1] for p in added]
    out = g("Pad", self, g.ints(amounts), None if value is None else g.number(value, self), mode=mode)
    for dim, pair in enumerate(pads, lead):
        low, high = [-p if isinstance(p, int) and p < 0 else 0 for p in pair]
        if low or high:
            out = g.slice(out, dim, low, -high or 2**63 - 1)
    return out


@form("constant_pad_nd")
def constant_pad(g: Builder, self: Value, pads: Any, value: Any) -> Value:
    return _padded(g, self, pads, "constant", value)


@form("pad_end")
def pad_end(g: Builder, self: Value, amounts: Any) -> Value:
    return _padded(g, self, [(0, amount) for amount in amounts], "constant", 0)


@form("reflection_pad1d", "reflection_pad2d", "reflection_pad3d")
def reflection_pad(g: Builder, self: Value, pads: Any) -> Value:
    return _padded(g, self, pads, "reflect")


@form("replication_pad1d", "replication_pad2d", "replication_pad3d")
def replication_pad(g: Builder, self: Value, pads: Any) -> Value:
    return _padded(g, self, pads, "edge")


@form("circular_pad")
def circular_pad(g: Builder, self: Value, pads: Any) -> Value:
    if any([isinstance(p, int) and p < 0 for pair in pads for p in pair]):
        raise CannotExport("circular padding that cuts off: slice first")
    return _padded(g, self, pads, "wrap")


@form(
    *[f"upsample_{kind}{n}d" for n in (1, 2, 3) for kind in ("nearest", "nearest_exact")],
    "upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d", "upsample_bicubic2d",
)  # fmt: skip
def upsample(g: Builder, self: Value, axes: Any) -> Value:
    """Each dimension as a product with a matrix, or, where only one element counts, by its index."""
    if any([isinstance(axis, (Computed, Varying)) for axis in axes]):
        return _resized(g, self)
    for number, axis in enumerate(axes, self.ndim - len(axes)):
        if getattr(axis, "low", None) is not None and axis.share is None:
            out = g("Gather", self, g.constant(axis.low, INT64), axis=number)
        else:
            matrix = g.constant(np.ascontiguousarray(axis.matrix(self.dtype).T))
            last = self.ndim - 1
            out = g("MatMul", self if number == last else g.swap(self, number, last), matrix)
            if number != last:
                order = list(range(self.ndim))
                order[number], order[last] = last, number
                out = g("Transpose", out, perm=order)
        out.shape = self.sizes  # of so many dimensions; their sizes are not read
        self = out
    return self


def _resized(g: Builder, self: Value) -> Value:
    """Resampling of sizes that vary, by the rule that gives the axes in all passes."""
    passes = [[axis.given for axis in call.params["axes"]] for call in g.seen()]
    rules = [[(kind, mode, factor, corners) for kind, mode, _, _, factor, corners, _ in axes] for axes in passes]
    factors, (kind, mode, _, corners) = [rule[2] for rule in rules[0]], rules[0][0]
    if any([rule != rules[0] for rule in rules]) or kind == "smooth" or len({f is None for f in factors}) > 1:
        raise CannotExport("resampling from a size that varies, antialiased, or by a factor that varies")
    lead = self.ndim - len(factors)
    sizes = [*self.sizes[:lead], *g.results[0][0][lead:]]
    if mode.startswith("nearest") and not all([factor and factor == int(factor) for factor in factors]):
        for dim, factor in enumerate(factors, lead):
            places = _nearest(g, self.sizes[dim], sizes[dim], factor, 0.5 * (mode == "nearest-exact"))
            self = g.like(g("Gather", self, places, axis=dim), self)
        return self
    scales = None if factors[0] is None else g.constant([1.0] * lead + factors, np.float32)
    to = (scales,) if scales is not None else (None, g.ints(sizes))
    if mode.startswith("nearest"):
        where, rounding = ("asymmetric", "floor") if mode == "nearest" else ("half_pixel", "round_prefer_ceil")
        return g("Resize", self, None, *to, mode="nearest", coordinate_transformation_mode=where, nearest_mode=rounding)
    where = "align_corners" if corners else "half_pixel"
    return g("Resize", self, None, *to, mode="cubic" if kind else "linear", cubic_coeff_a=-0.75,
             coordinate_transformation_mode=where)  # fmt: skip


def _nearest(g: Builder, size: Any, out: Any, factor: float | None, shift: float) -> Value:
    """The elements that are taken, computed as the kernel does, so that roundings are the same."""
    wide = g.cast(g.scalar(size), np.dtype(np.float64))
    if factor is None:
        count = g.scalar(out)
        scale = g.cast(g("Div", wide, g.cast(count, wide.dtype)), np.float32)
    else:
        count, scale = g.cast(g("Floor", g.binary("Mul", wide, factor)), INT64), g.constant(1 / factor, np.float32)
    places = g.cast(g("Range", g.scalar(0), count, g.scalar(1)), np.float32)
    places = g("Floor", g("Mul", g.binary("Add", places, shift) if shift else places, scale))
    return g("Min", g.cast(places, INT64), g("Sub", g.scalar(size), g.scalar(1)))


@form("col2im")
def col2im(g: Builder, self: Value, size: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Value:
    given = self if self.ndim == 3 else g.reshape(self, (1, *self.sizes))
    out = g("Col2Im", given, g.ints(size), g.ints(kernel_size), dilations=dilation, pads=[*padding, *padding],
            strides=stride)  # fmt: skip
    return out if self.ndim == 3 else g.squeeze(out, 0)
