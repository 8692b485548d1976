"""Recurrent layers and cells.

A layer in one direction is a row: its kernel makes all steps, and so does its way back, which has one formula for all
inputs.  Where derivatives are to be differentiated again, the way back is the gradient of the same layer composed of
elementary operations, which stands here too, and serves as the plain description of what the kernels compute.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .._args import array_of
from .._errors import scalar_name
from .._kernels import recurrent as kernels
from .._kernels.recurrent import Sizes
from .._modes import exporting
from .._op import op
from .._runtime import wrap
from . import activation, elementary, join, linear, special
from ._composition import Composition, gradients_of_composition, way_back
from .dropout import dropout

if TYPE_CHECKING:
    from .._tensor import Tensor

States = tuple[Any, ...]
Cell = Callable[..., States]


# -- cells, composed of elementary operations --------------------------------------------------------------------------
def _lstm_step(weights: Sequence[Any], x: Any, h: Any, c: Any) -> States:
    """One step of an LSTM; with a fifth weight, the hidden state is projected."""
    w_ih, w_hh, b_ih, b_hh, *projection = weights
    gates = linear.linear(x, w_ih, b_ih) + linear.linear(h, w_hh, b_hh)
    into, forget, new, out = join.chunk(gates, 4, 1)
    c = special.sigmoid(forget) * c + special.sigmoid(into) * elementary.tanh(new)
    h = special.sigmoid(out) * elementary.tanh(c)
    return linear.linear(h, projection[0]) if projection else h, c


def _gru_step(weights: Sequence[Any], x: Any, h: Any) -> States:
    w_ih, w_hh, b_ih, b_hh = weights
    of_input = join.chunk(linear.linear(x, w_ih, b_ih), 3, 1)
    of_state = join.chunk(linear.linear(h, w_hh, b_hh), 3, 1)
    reset, update = (special.sigmoid(a + b) for a, b in zip(of_input[:2], of_state[:2]))
    new = elementary.tanh(of_input[2] + reset * of_state[2])
    return (new + update * (h - new),)


def _tanh_step(weights: Sequence[Any], x: Any, h: Any) -> States:
    w_ih, w_hh, b_ih, b_hh = weights
    return (elementary.tanh(linear.linear(x, w_ih, b_ih) + linear.linear(h, w_hh, b_hh)),)


def _relu_step(weights: Sequence[Any], x: Any, h: Any) -> States:
    w_ih, w_hh, b_ih, b_hh = weights
    return (activation.relu(linear.linear(x, w_ih, b_ih) + linear.linear(h, w_hh, b_hh)),)


def _composed(step: Cell, x: Any, firsts: States, weights: Sequence[Any], batch_sizes: Sizes, reverse: bool) -> States:
    """A layer: the hidden states of all elements, and the last states; see ``_kernels.recurrent`` for the order."""
    states: Any = None
    outputs, ended = [], []
    for start, end in kernels.steps(batch_sizes, reverse):
        size = end - start
        if states is None:
            states = [first[:size] for first in firsts]
        elif size < len(states[0]):
            ended.append([state[size:] for state in states])
            states = [state[:size] for state in states]
        elif size > len(states[0]):
            states = [join.cat([state, first[len(state) : size]]) for state, first in zip(states, firsts)]
        states = step(weights, x[start:end], *states)
        outputs.append(states[0])
    lasts = [join.cat([state, *[e[i] for e in reversed(ended)]]) for i, state in enumerate(states)]
    return join.cat(outputs[::-1] if reverse else outputs), *lasts


_PLAIN: dict[str, Cell] = {"RNN_TANH": _tanh_step, "RNN_RELU": _relu_step}


# -- rows --------------------------------------------------------------------------------------------------------------
def _by_composition(step: Cell, states: int) -> Callable[..., Any]:
    """The way back on Tensors: the gradient of the composed layer, recorded."""

    def backward(g: Any, needed: list[bool], *inputs: Any, batch_sizes: Sizes, reverse: bool, **_: Any) -> list[Any]:
        def compose(x: Any, *rest: Any) -> States:
            return _composed(step, x, rest[:states], rest[states:], batch_sizes, reverse)

        return gradients_of_composition(compose, g, needed, inputs)

    return backward


def _layer_of(step: Cell, states: int) -> Composition:
    """A layer's row as a composition."""

    def compose(x: Any, *rest: Any, batch_sizes: Sizes, reverse: bool) -> States:
        return _composed(step, x, rest[:states], rest[states:], batch_sizes, reverse)

    return Composition(compose)


def _raw_backward(kernel: Callable[..., Any]) -> Callable[..., Any]:
    def backward(g: Any, needed: list[bool], *inputs: Any, kept: Any, **params: Any) -> Any:
        return kernel(g, needed, *inputs[:-2], *kept, **params)  # biases do not matter

    return backward


def _cell_by_composition(g: Any, needed: list[bool], x: Any, *inputs: Any, kept: Any) -> list[Any]:
    came = {number + 1: gradient for number, gradient in g.items()}  # a cell has its last state only
    return _by_composition(_lstm_step, 2)(came, needed, x, *inputs, batch_sizes=(len(x),), reverse=False)


way_back("lstm_backward", _raw_backward(kernels.lstm_backward), _by_composition(_lstm_step, 2))
way_back("lstm_cell_backward", _raw_backward(kernels.lstm_cell_backward), _cell_by_composition)
way_back("gru_backward", _raw_backward(kernels.gru_backward), _by_composition(_gru_step, 1))
way_back("rnn_tanh_backward", _raw_backward(kernels.rnn_tanh_backward), _by_composition(_tanh_step, 1))
way_back("rnn_relu_backward", _raw_backward(kernels.rnn_relu_backward), _by_composition(_relu_step, 1))

# Edits of outputs are refused where PyTorch refuses them: those of an LSTM's hidden states, and of a plain cell's.
_lstm_row = op(
    "lstm_layer", "LstmBackward0", kernels.lstm, ("self", "hx", "cx", "w_ih", "w_hh", "b_ih", "b_hh"), outputs=3,
    tangent=_layer_of(_lstm_step, 2),
    together=lambda F, g, needed, self, hx, cx, w_ih, w_hh, b_ih, b_hh, result0, aside, batch_sizes, reverse:
        F.lstm_backward(g, needed, self, hx, cx, w_ih, w_hh, b_ih, b_hh, kept=(result0, *aside),
                        batch_sizes=batch_sizes, reverse=reverse))  # fmt: skip
_cell_row = op(
    "lstm_cell", "LstmCellBackward0", kernels.lstm_cell, ("self", "hx", "cx", "w_ih", "w_hh", "b_ih", "b_hh"), outputs=2,
    tangent=Composition(lambda x, h, c, *weights: _lstm_step(weights, x, h, c)),
    together=lambda F, g, needed, self, hx, cx, w_ih, w_hh, b_ih, b_hh, aside: F.lstm_cell_backward(
        g, needed, self, hx, cx, w_ih, w_hh, b_ih, b_hh, kept=aside))  # fmt: skip
_gru_row = op(
    "gru_layer", "GruBackward0", kernels.gru, ("self", "hx", "w_ih", "w_hh", "b_ih", "b_hh"), outputs=2,
    tangent=_layer_of(_gru_step, 1),
    together=lambda F, g, needed, self, hx, w_ih, w_hh, b_ih, b_hh, aside, batch_sizes, reverse: F.gru_backward(
        g, needed, self, hx, w_ih, w_hh, b_ih, b_hh, kept=aside, batch_sizes=batch_sizes, reverse=reverse))  # fmt: skip
_tanh_row = op(
    "rnn_tanh_layer", "RnnTanhBackward0", kernels.rnn_tanh, ("self", "hx", "w_ih", "w_hh", "b_ih", "b_hh"), outputs=2,
    tangent=_layer_of(_tanh_step, 1),
    together=lambda F, g, needed, self, hx, w_ih, w_hh, b_ih, b_hh, aside, batch_sizes, reverse: F.rnn_tanh_backward(
        g, needed, self, hx, w_ih, w_hh, b_ih, b_hh, kept=aside, batch_sizes=batch_sizes, reverse=reverse))  # fmt: skip
_relu_row = op(
    "rnn_relu_layer", "RnnReluBackward0", kernels.rnn_relu, ("self", "hx", "w_ih", "w_hh", "b_ih", "b_hh"), outputs=2,
    tangent=_layer_of(_relu_step, 1),
    together=lambda F, g, needed, self, hx, w_ih, w_hh, b_ih, b_hh, aside, batch_sizes, reverse: F.rnn_relu_backward(
        g, needed, self, hx, w_ih, w_hh, b_ih, b_hh, kept=aside, batch_sizes=batch_sizes, reverse=reverse))  # fmt: skip

ROWS: dict[str, Callable[..., Any]] = {
    "LSTM": _lstm_row, "GRU": _gru_row, "RNN_TANH": _tanh_row, "RNN_RELU": _relu_row,
}  # fmt: skip


# -- layers ------------------------------------------------------------------------------------------------------------
def _projected(x: Any, firsts: States, weights: Sequence[Any], batch_sizes: Sizes, reverse: bool) -> States:
    """A layer with a projection as one without: its states are those before the projection, which is a factor of the
    weights of the step after.  The first state was never projected, and is a part of the first step's input."""
    w_ih, w_hh, b_ih, b_hh, w_hr = weights
    (hx, cx), batch = firsts, batch_sizes[0]
    none = hx.new_zeros((len(x), hx.shape[1]))
    first = join.cat([none, hx])[batch:] if reverse else join.cat([hx, none])[: len(x)]
    inputs = join.cat([x, first], 1)
    before = hx.new_zeros((batch, w_hr.shape[1]))
    into = join.cat([w_ih, w_hh], 1)
    out, last, cell = _lstm_row(
        inputs, before, cx, into, w_hh @ w_hr, b_ih, b_hh, batch_sizes=batch_sizes, reverse=reverse
    )
    return linear.linear(out, w_hr), linear.linear(last, w_hr), cell


def layer(kind: str, x: Any, firsts: States, weights: Sequence[Any], batch_sizes: Sizes, reverse: bool) -> States:
    """One layer in one direction: the hidden states of all elements, and the last states.

    *weights* are ``w_ih, w_hh``, then ``b_ih, b_hh`` or none, then ``w_hr`` where the LSTM's hidden state is projected.
    """
    matrices, rest = list(weights[:2]), list(weights[2:])
    if len(rest) < 2:  # no biases
        zeros = wrap(np.zeros(len(matrices[0]), matrices[0]._array.dtype))
        rest = [zeros, zeros, *rest]
    if len(rest) == 3:
        way = _projected if exporting.get() and len({*batch_sizes}) == 1 else partial(_composed, _lstm_step)
        return way(x, firsts, [*matrices, *rest], batch_sizes, reverse)
    out = ROWS[kind](x, *firsts, *matrices, *rest, batch_sizes=batch_sizes, reverse=reverse)
    return tuple(out)


def layers(
    kind: str,
    x: Any,
    firsts: States,
    weights: Sequence[Sequence[Any]],
    batch_sizes: Sizes,
    bidirectional: bool,
    drop: float,
) -> tuple[Any, States]:
    """Layers on top of each other, each in one direction or both: the last one's hidden states, and all last states.

    *firsts* and the last states are ``(layers * directions, batch, hidden)``; *weights* are in that order.
    """
    directions = 2 if bidirectional else 1
    lasts = []
    for start in range(0, len(weights), directions):
        if drop and start:
            x = dropout(x, drop, True)
        outputs = []
        for number in range(start, start + directions):
            own = tuple([first[number] for first in firsts])
            out, *last = layer(kind, x, own, weights[number], batch_sizes, number > start)
            outputs.append(out)
            lasts.append(last)
        x = outputs[0] if directions == 1 else join.cat(outputs, 1)
    return x, tuple([join.stack(states) for states in zip(*lasts)])


# -- public functions --------------------------------------------------------------------------------------------------
def check_dtypes(one: Any, other: Any) -> None:
    """RuntimeError where two factors of a matrix product have different dtypes."""
    if one._array.dtype is not other._array.dtype:
        names = scalar_name(one._array.dtype), scalar_name(other._array.dtype)
        raise RuntimeError(
            f"mat1 and mat2 must have the same dtype, but got {names[0]} and {names[1]}: convert one of them with .to()"
        )


def _fits(x: Any, states: Sequence[Any], w_ih: Any, w_hh: Any, *biases: Any) -> bool:
    """Whether a cell's arguments are as they must be; where they are not, `_check_cell` says why."""
    try:
        (batch, size), (_, inputs), (_, hidden) = x._array.shape, w_ih._array.shape, w_hh._array.shape
        dtype, expected = x._array.dtype, (batch, hidden)
        for state in states:
            if state._array.shape != expected or state._array.dtype is not dtype:
                return False
        for weight in (w_ih, w_hh, *biases):
            if weight._array.dtype is not dtype:
                return False
    except (AttributeError, ValueError):
        return False
    return bool(inputs == size)


def _check_cell(x: Any, states: Sequence[Any], w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any) -> None:
    """Raise where a cell's arguments do not fit together."""
    array = array_of("", x)
    for name, weight in (("w_ih", w_ih), ("w_hh", w_hh), *[("hx", state) for state in states]):
        if array_of("", weight, name, 0).ndim != 2:
            raise RuntimeError(f"{name} must have 2 dimensions, but has shape {list(weight._array.shape)}")
    for name, bias in (("b_ih", b_ih), ("b_hh", b_hh)):
        if bias is not None:
            array_of("", bias, name, 0)
    if array.ndim != 2:
        raise RuntimeError(f"input must have 2 dimensions, but has shape {list(array.shape)}")
    batch, size = array.shape
    if w_ih._array.shape[1] != size:
        raise RuntimeError(f"input has inconsistent input_size: got {size} expected {w_ih._array.shape[1]}")
    hidden = w_hh._array.shape[1]
    for number, state in enumerate(states):
        rows, width = state._array.shape
        if rows != batch:
            raise RuntimeError(f"Input batch size {batch} doesn't match hidden{number} batch size {rows}")
        if width != hidden:
            raise RuntimeError(f"hidden{number} has inconsistent hidden_size: got {width}, expected {hidden}")
    check_dtypes(x, w_ih)
    check_dtypes(states[0], w_hh)
    if b_ih is not None:
        check_dtypes(b_ih, w_ih)
        check_dtypes(b_hh, w_hh)


def cell(kind: str, x: Any, states: Sequence[Any], w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any) -> States:
    """The states after one step, with sizes checked."""
    if not _fits(x, states, w_ih, w_hh, b_ih, b_hh):
        _check_cell(x, states, w_ih, w_hh, b_ih, b_hh)
    if kind == "LSTM" and b_ih is not None:
        return tuple(_cell_row(x, *states, w_ih, w_hh, b_ih, b_hh))
    if kind in _PLAIN:
        return _PLAIN[kind]((w_ih, w_hh, b_ih, b_hh), x, *states)
    weights = [w_ih, w_hh] if b_ih is None else [w_ih, w_hh, b_ih, b_hh]
    return layer(kind, x, tuple(states), weights, (len(x),), False)[1:]


def lstm_cell(input: Tensor, hx: Sequence[Tensor], w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None,
              b_hh: Tensor | None = None) -> tuple[Tensor, Tensor]:  # fmt: skip
    """One step of long short-term memory: see ``nn.LSTMCell``.

    Parameters
    ----------
    input : Tensor
        ``(batch, input_size)``.
    hx : (Tensor, Tensor)
        The hidden state and the cell, ``(batch, hidden_size)``.
    w_ih, w_hh : Tensor
        ``(4 * hidden_size, input_size)`` and ``(4 * hidden_size, hidden_size)``.
    b_ih, b_hh : Tensor, optional
        ``(4 * hidden_size,)``.

    Examples
    --------
    >>> import minitorch as torch
    >>> h, c = torch.lstm_cell(torch.ones(1, 1), [torch.zeros(1, 1)] * 2, torch.ones(4, 1), torch.ones(4, 1))
    >>> h, c
    (tensor([[0.3696]]), tensor([[0.5568]]))
    """
    return cell("LSTM", input, hx, w_ih, w_hh, b_ih, b_hh)


def gru_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None,
             b_hh: Tensor | None = None) -> Tensor:  # fmt: skip
    """One step of a gated recurrent unit: see ``nn.GRUCell``; weights as for ``lstm_cell``, for three gates."""
    return cell("GRU", input, (hx,), w_ih, w_hh, b_ih, b_hh)[0]


def rnn_tanh_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None,
                  b_hh: Tensor | None = None) -> Tensor:  # fmt: skip
    """One step of a plain recurrent layer: see ``nn.RNNCell``; weights as for ``lstm_cell``, for one gate."""
    return cell("RNN_TANH", input, (hx,), w_ih, w_hh, b_ih, b_hh)[0]


def rnn_relu_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None,
                  b_hh: Tensor | None = None) -> Tensor:  # fmt: skip
    """One step of a plain recurrent layer with relu: see ``nn.RNNCell``; weights as for ``lstm_cell``, for one gate."""
    return cell("RNN_RELU", input, (hx,), w_ih, w_hh, b_ih, b_hh)[0]
