"""Recurrent layers over packed sequences: LSTM, GRU, and the plain one.

The elements of all sequences stand one time step after the other, ``batch_sizes[t]`` of them at step *t*: the longest
sequences come first, so the batch only shrinks.  The product with the inputs' weights is made once for all steps; the
steps themselves do the rest.  A cell is a layer of one step.

What a step needs again on the way back is kept in arrays over all elements.  There, the factors that do not depend on
the incoming gradient are computed for all steps at once, before the steps are walked in reverse.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import accumulate
from typing import Any

import numpy as np

from .reduce import number, sum_to

Sizes = tuple[int, ...]
Arrays = list[np.ndarray]


@lru_cache(64)
def steps(batch_sizes: Sizes, reverse: bool) -> tuple[tuple[int, int], ...]:
    """Where each step's elements are, in the order in which the steps are made."""
    spans = tuple([(end - size, end) for end, size in zip(accumulate(batch_sizes), batch_sizes)])
    return spans[::-1] if reverse else spans


def running(state: np.ndarray, first: np.ndarray, final: np.ndarray | None, size: int) -> np.ndarray:
    """The state of the sequences that a step works on, after the step before.

    Where sequences have ended, their state is final; where others begin (in reverse), they have their first one.
    """
    have = len(state)
    if size < have:
        if final is not None:
            final[size:have] = state[size:]
        return state[:size]
    return state if size == have else np.concatenate([state, first[have:size]])


def ended(state: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """The states of all sequences, when the last step is done; *whole* has those of sequences that ended before."""
    if len(state) == len(whole):
        return state
    whole[: len(state)] = state
    return whole


def arriving(g: dict[int, np.ndarray], number: int, like: np.ndarray) -> np.ndarray:
    """The gradient of an output; zeros where none came."""
    return g[number] if number in g else np.zeros_like(like, order="C")


def before(states: np.ndarray, first: np.ndarray, batch_sizes: Sizes, reverse: bool) -> np.ndarray:
    """For each element, the state that its step began with."""
    spans = steps(batch_sizes, reverse)
    parts, previous = [], None
    for start, end in spans:
        size = end - start
        if previous is None:
            parts.append(first[:size])
        else:
            parts.append(running(states[previous[0] : previous[1]], first, None, size))
        previous = start, end
    return np.concatenate(parts[::-1] if reverse else parts) if len(parts) > 1 else parts[0]


# -- LSTM --------------------------------------------------------------------------------------------------------------
@lru_cache(16)
def squashing(hidden: int, dtype: np.dtype[Any]) -> tuple[np.ndarray, np.ndarray]:
    """What makes one tanh of all four gates: the sigmoid is ``tanh(x / 2) / 2 + 1 / 2``; the third gate is a tanh."""
    scale, shift = np.full(4 * hidden, 0.5, dtype), np.full(4 * hidden, 0.5, dtype)
    scale[2 * hidden : 3 * hidden], shift[2 * hidden : 3 * hidden] = 1, 0
    return scale, shift


def lstm(
    self: np.ndarray, hx: np.ndarray, cx: np.ndarray, w_ih: np.ndarray, w_hh: np.ndarray, b_ih: np.ndarray,
    b_hh: np.ndarray, *, batch_sizes: Sizes, reverse: bool,
) -> Arrays:  # fmt: skip
    """The hidden states, the last hidden and cell states, and what the way back needs: gates, cells, tanh of cells."""
    hidden = w_hh.shape[1]
    scale, shift = squashing(hidden, self.dtype)
    gates = self.dot(w_ih.T)
    gates += b_ih + b_hh
    gates *= scale
    weights = np.multiply(w_hh.T, scale, order="C")
    states, cells, curved = [np.empty((len(gates), hidden), self.dtype) for _ in range(3)]
    last, last_cell = np.empty(hx.shape, hx.dtype), np.empty(cx.shape, cx.dtype)
    spans = steps(batch_sizes, reverse)
    h, c = hx[: spans[0][1] - spans[0][0]], cx[: spans[0][1] - spans[0][0]]
    for start, end in spans:
        if len(h) != end - start:
            h, c = running(h, hx, last, end - start), running(c, cx, last_cell, end - start)
        gate = gates[start:end]
        gate += h.dot(weights)
        h, c = lstm_states(gate, c, scale, shift, states[start:end], cells[start:end], curved[start:end])
    return [states, ended(h, last).copy(), ended(c, last_cell).copy(), gates, cells, curved]


def lstm_states(
    gate: np.ndarray, c: np.ndarray, scale: np.ndarray, shift: np.ndarray, state: np.ndarray, cell: np.ndarray,
    curved: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """The states after a step, of its scaled gates, which are squashed in place, and the cells before."""
    a = state.shape[1]
    np.tanh(gate, gate)
    gate *= scale
    gate += shift
    np.multiply(gate[:, a : 2 * a], c, cell)
    cell += np.multiply(gate[:, :a], gate[:, 2 * a : 3 * a], state)
    np.tanh(cell, curved)
    return np.multiply(curved, gate[:, 3 * a :], state), cell


def squashing_slopes(gates: np.ndarray, curved: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The slopes of what squashed the gates; what the hidden state's gradient is multiplied with for that by the cell."""
    a, one = curved.shape[1], number(curved.dtype.char, 1.0)
    slopes = np.subtract(one, gates)
    new = slopes[:, 2 * a : 3 * a]
    rest = new.copy()
    slopes *= gates
    new += rest  # n (1 - n) + (1 - n), of a tanh
    through = np.multiply(curved, curved)
    np.subtract(one, through, through)
    through *= gates[:, 3 * a :]
    return slopes, through


def lstm_slopes(gates: np.ndarray, curved: np.ndarray, cells_before: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What the gradients by the cell are multiplied with for those by its gates; from the hidden state into the cell.

    (For the last gate it is the gradient by the hidden state.)
    """
    slopes, through = squashing_slopes(gates, curved)
    a = curved.shape[1]
    into, forget, new, out = [slopes[:, i * a : (i + 1) * a] for i in range(4)]
    into *= gates[:, 2 * a : 3 * a]
    forget *= cells_before
    new *= gates[:, :a]
    out *= curved
    return slopes, through


def lstm_backward(
    g: dict[int, np.ndarray], needed: list[bool], self: np.ndarray, hx: np.ndarray, cx: np.ndarray, w_ih: np.ndarray,
    w_hh: np.ndarray, states: np.ndarray, gates: np.ndarray, cells: np.ndarray, curved: np.ndarray, *, batch_sizes: Sizes,
    reverse: bool,
) -> list[np.ndarray | None]:  # fmt: skip
    """The gradients of the inputs that are needed."""
    hidden = w_hh.shape[1]
    forget = gates[:, hidden : 2 * hidden]
    slopes, through = lstm_slopes(gates, curved, before(cells, cx, batch_sizes, reverse))
    last, last_cell, of_output = arriving(g, 1, hx), arriving(g, 2, cx), g.get(0)
    first, first_cell = np.zeros(hx.shape, hx.dtype), np.zeros(cx.shape, cx.dtype)
    spans = steps(batch_sizes, reverse)[::-1]
    size = spans[0][1] - spans[0][0]
    gh, gc = last[:size], last_cell[:size].copy()
    by_gate = slopes.reshape(len(slopes), 4, hidden)
    for start, end in spans:
        if len(gh) != end - start:
            gh, gc = running(gh, last, first, end - start), running(gc, last_cell, first_cell, end - start)
        if of_output is not None:
            gh = gh + of_output[start:end]
        gc += gh * through[start:end]
        step = by_gate[start:end]
        step[:, :3] *= gc[:, None]
        step[:, 3] *= gh
        gh = slopes[start:end].dot(w_hh)
        gc *= forget[start:end]
    firsts = [ended(gh, first), ended(gc, first_cell)]
    return gathered(needed, firsts, slopes, slopes, self, before(states, hx, batch_sizes, reverse), w_ih)


def lstm_cell(
    self: np.ndarray, hx: np.ndarray, cx: np.ndarray, w_ih: np.ndarray, w_hh: np.ndarray, b_ih: np.ndarray,
    b_hh: np.ndarray,
) -> Arrays:  # fmt: skip
    """A layer of one step: the hidden state, the cell, and what the way back needs: gates, tanh of the cell."""
    scale, shift = squashing(w_hh.shape[1], self.dtype)
    gates = self.dot(w_ih.T)
    gates += hx.dot(w_hh.T)
    gates += b_ih + b_hh
    gates *= scale
    state, cell, curved = [np.empty(cx.shape, cx.dtype) for _ in range(3)]
    lstm_states(gates, cx, scale, shift, state, cell, curved)
    return [state, cell, gates, curved]


def lstm_cell_backward(
    g: dict[int, np.ndarray], needed: list[bool], self: np.ndarray, hx: np.ndarray, cx: np.ndarray, w_ih: np.ndarray,
    w_hh: np.ndarray, gates: np.ndarray, curved: np.ndarray,
) -> list[np.ndarray | None]:  # fmt: skip
    """The gradients of the inputs that are needed."""
    a = w_hh.shape[1]
    slopes, gc = squashing_slopes(gates, curved)
    gh = arriving(g, 0, hx)
    gc *= gh
    if 1 in g:
        gc += g[1]
    factors = np.empty(gates.shape, gates.dtype)
    np.multiply(gc, gates[:, 2 * a : 3 * a], factors[:, :a])
    np.multiply(gc, cx, factors[:, a : 2 * a])
    np.multiply(gc, gates[:, :a], factors[:, 2 * a : 3 * a])
    np.multiply(gh, curved, factors[:, 3 * a :])
    slopes *= factors
    gc *= gates[:, a : 2 * a]
    return gathered(needed, [slopes.dot(w_hh) if needed[1] else gh, gc], slopes, slopes, self, hx, w_ih)


def gathered(
    needed: list[bool], firsts: Arrays, of_inputs: np.ndarray, of_states: np.ndarray, self: np.ndarray,
    states_before: np.ndarray, w_ih: np.ndarray,
) -> list[np.ndarray | None]:  # fmt: skip
    """The gradients of all inputs, from those of what the gates are made of: the inputs' part and the states' part."""
    *states, w_ih_needed, w_hh_needed, b_ih_needed, b_hh_needed = needed
    found: list[np.ndarray | None] = [of_inputs.dot(w_ih) if states[0] else None]
    found += [first if wanted else None for first, wanted in zip(firsts, states[1:])]
    found.append(of_inputs.T.dot(self) if w_ih_needed else None)
    found.append(of_states.T.dot(states_before) if w_hh_needed else None)
    total = sum_to(of_inputs, of_inputs.shape[1:]) if b_ih_needed else None
    found.append(total)
    if not b_hh_needed:
        found.append(None)
    else:
        found.append(
            total.copy() if total is not None and of_states is of_inputs else sum_to(of_states, of_states.shape[1:])
        )
    return found


# -- GRU ---------------------------------------------------------------------------------------------------------------
def sigmoid_in_place(array: np.ndarray) -> None:
    """The sigmoid by a tanh."""
    array *= 0.5
    np.tanh(array, array)
    array *= 0.5
    array += 0.5


def gru(
    self: np.ndarray, hx: np.ndarray, w_ih: np.ndarray, w_hh: np.ndarray, b_ih: np.ndarray, b_hh: np.ndarray,
    *, batch_sizes: Sizes, reverse: bool,
) -> Arrays:  # fmt: skip
    """The hidden states, the last one, and what the way back needs: hidden states that nobody edits, gates, and what the
    reset gate was multiplied with."""
    hidden = w_hh.shape[1]
    a, b = hidden, 2 * hidden
    gates = self.dot(w_ih.T)
    gates += b_ih
    weights = w_hh.T
    states, inner = np.empty((len(gates), hidden), self.dtype), np.empty((len(gates), hidden), self.dtype)
    last = np.empty(hx.shape, hx.dtype)
    spans = steps(batch_sizes, reverse)
    h = hx[: spans[0][1] - spans[0][0]]
    for start, end in spans:
        if len(h) != end - start:
            h = running(h, hx, last, end - start)
        gate = gates[start:end]
        of_state = h.dot(weights)
        of_state += b_hh
        both = gate[:, :b]
        both += of_state[:, :b]
        sigmoid_in_place(both)
        inner[start:end] = of_state[:, b:]
        new = gate[:, b:]
        new += gate[:, :a] * of_state[:, b:]
        np.tanh(new, new)
        h = np.subtract(h, new, states[start:end])  # new + update * (state - new)
        h *= gate[:, a:b]
        h += new
    return [states.copy(), ended(h, last).copy(), states, gates, inner]


def gru_backward(
    g: dict[int, np.ndarray], needed: list[bool], self: np.ndarray, hx: np.ndarray, w_ih: np.ndarray, w_hh: np.ndarray,
    states: np.ndarray, gates: np.ndarray, inner: np.ndarray, *, batch_sizes: Sizes, reverse: bool,
) -> list[np.ndarray | None]:  # fmt: skip
    """The gradients of the inputs that are needed."""
    hidden = w_hh.shape[1]
    a, b = hidden, 2 * hidden
    reset, update, new = gates[:, :a], gates[:, a:b], gates[:, b:]
    of_inputs = np.empty_like(gates)
    np.multiply(new, new, of_inputs[:, b:])  # the slopes times what the state's gradient is multiplied with
    np.subtract(1, of_inputs[:, b:], of_inputs[:, b:])
    of_inputs[:, b:] *= 1 - update
    np.multiply(update, 1 - update, of_inputs[:, a:b])
    of_inputs[:, a:b] *= before(states, hx, batch_sizes, reverse) - new
    np.multiply(reset, 1 - reset, of_inputs[:, :a])
    of_inputs[:, :a] *= inner
    of_inputs[:, :a] *= of_inputs[:, b:]
    of_states = of_inputs.copy()
    of_states[:, b:] *= reset
    last, of_output, first = arriving(g, 1, hx), g.get(0), np.zeros(hx.shape, hx.dtype)
    spans = steps(batch_sizes, reverse)[::-1]
    gh = last[: spans[0][1] - spans[0][0]]
    by_gate, by_gate_of_states = (t.reshape(len(t), 3, hidden) for t in (of_inputs, of_states))
    for start, end in spans:
        if len(gh) != end - start:
            gh = running(gh, last, first, end - start)
        gh = gh.copy() if of_output is None else gh + of_output[start:end]
        by_gate[start:end] *= gh[:, None]
        by_gate_of_states[start:end] *= gh[:, None]
        gh *= update[start:end]
        gh += of_states[start:end].dot(w_hh)
    return gathered(
        needed, [ended(gh, first)], of_inputs, of_states, self, before(states, hx, batch_sizes, reverse), w_ih
    )


# -- the plain one -----------------------------------------------------------------------------------------------------
def _rnn(
    self: np.ndarray, hx: np.ndarray, w_ih: np.ndarray, w_hh: np.ndarray, b_ih: np.ndarray, b_hh: np.ndarray,
    batch_sizes: Sizes, reverse: bool, bend: Callable[[np.ndarray], np.ndarray],
) -> Arrays:  # fmt: skip
    """The hidden states, the last one, and for the way back hidden states that nobody edits."""
    states = self.dot(w_ih.T)
    states += b_ih + b_hh
    weights, last = w_hh.T, np.empty(hx.shape, hx.dtype)
    spans = steps(batch_sizes, reverse)
    h = hx[: spans[0][1] - spans[0][0]]
    for start, end in spans:
        if len(h) != end - start:
            h = running(h, hx, last, end - start)
        state = states[start:end]
        state += h.dot(weights)
        h = bend(state)
    return [states.copy(), ended(h, last).copy(), states]


def rnn_tanh(
    self: np.ndarray, hx: np.ndarray, w_ih: np.ndarray, w_hh: np.ndarray, b_ih: np.ndarray, b_hh: np.ndarray,
    *, batch_sizes: Sizes, reverse: bool,
) -> Arrays:  # fmt: skip
    """See `_rnn`."""
    return _rnn(self, hx, w_ih, w_hh, b_ih, b_hh, batch_sizes, reverse, lambda state: np.tanh(state, state))


def rnn_relu(
    self: np.ndarray, hx: np.ndarray, w_ih: np.ndarray, w_hh: np.ndarray, b_ih: np.ndarray, b_hh: np.ndarray,
    *, batch_sizes: Sizes, reverse: bool,
) -> Arrays:  # fmt: skip
    """See `_rnn`."""
    return _rnn(self, hx, w_ih, w_hh, b_ih, b_hh, batch_sizes, reverse, lambda state: np.maximum(state, 0, out=state))


def rnn_tanh_backward(
    g: dict[int, np.ndarray], needed: list[bool], self: np.ndarray, hx: np.ndarray, w_ih: np.ndarray, w_hh: np.ndarray,
    states: np.ndarray, *, batch_sizes: Sizes, reverse: bool,
) -> list[np.ndarray | None]:  # fmt: skip
    """The gradients of the inputs that are needed."""
    slopes = 1 - states * states
    return _rnn_backward(g, needed, slopes, self, hx, w_ih, w_hh, states, batch_sizes, reverse)


def rnn_relu_backward(
    g: dict[int, np.ndarray], needed: list[bool], self: np.ndarray, hx: np.ndarray, w_ih: np.ndarray, w_hh: np.ndarray,
    states: np.ndarray, *, batch_sizes: Sizes, reverse: bool,
) -> list[np.ndarray | None]:  # fmt: skip
    """The gradients of the inputs that are needed."""
    slopes = (states > 0).astype(states.dtype)
    return _rnn_backward(g, needed, slopes, self, hx, w_ih, w_hh, states, batch_sizes, reverse)


def _rnn_backward(
    g: dict[int, np.ndarray], needed: list[bool], slopes: np.ndarray, self: np.ndarray, hx: np.ndarray, w_ih: np.ndarray,
    w_hh: np.ndarray, states: np.ndarray, batch_sizes: Sizes, reverse: bool,
) -> list[np.ndarray | None]:  # fmt: skip
    """The gradients of the inputs that are needed, from the slopes of what bends the states."""
    last, of_output, first = arriving(g, 1, hx), g.get(0), np.zeros(hx.shape, hx.dtype)
    spans = steps(batch_sizes, reverse)[::-1]
    gh = last[: spans[0][1] - spans[0][0]]
    for start, end in spans:
        if len(gh) != end - start:
            gh = running(gh, last, first, end - start)
        step = slopes[start:end]
        step *= gh if of_output is None else gh + of_output[start:end]
        gh = step.dot(w_hh)
    return gathered(needed, [ended(gh, first)], slopes, slopes, self, before(states, hx, batch_sizes, reverse), w_ih)
