"""Samples of recurrent layers and cells."""

from __future__ import annotations

from typing import Any

import numpy as np

from .sample import Sample, normal, sample


def weights(gates: int, size: int = 2, hidden: int = 2) -> tuple[np.ndarray, ...]:
    return normal(gates * hidden, size), normal(gates * hidden, hidden), normal(gates * hidden), normal(gates * hidden)


def layer(kind: str, gates: int, positive: bool = False, **options: Any) -> Sample:
    """A module with given weights; the inputs are a sequence, the first states, and the weights."""

    def call(t: Any, x: Any, *rest: Any) -> Any:
        module = getattr(t.nn, kind)(2, 2, dtype=t.float64, **options)
        *states, w_ih, w_hh, b_ih, b_hh = rest
        names = ["weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"]
        given = dict(zip(names, (w_ih, w_hh, b_ih, b_hh)))
        hx = tuple(states) if kind == "LSTM" else states[0]
        if t.__name__ == "torch":
            out = t.func.functional_call(module, given, (x, hx))
        else:  # a module's members are ordinary attributes
            for name, tensor in given.items():
                del module._parameters[name]
                module.__dict__[name] = tensor
            out = module(x, hx)
        output, last = out
        return (output, *last) if kind == "LSTM" else (output, last)

    states = 2 if kind == "LSTM" else 1
    arrays = normal(3, 2, 2), *[normal(1, 2, 2) for _ in range(states)], *weights(gates)
    return sample(call, *[np.abs(a) for a in arrays] if positive else arrays, same_graph=False)


SAMPLES: dict[str, list[Sample]] = {
    "lstm_layer": [layer("LSTM", 4)],
    "gru_layer": [layer("GRU", 3)],
    "rnn_tanh_layer": [layer("RNN", 1)],
    "rnn_relu_layer": [layer("RNN", 1, positive=True, nonlinearity="relu")],  # all units are active
    "lstm_cell": [
        sample(lambda t, x, h, c, *w: t.lstm_cell(x, (h, c), *w), normal(2, 2), normal(2, 2), normal(2, 2), *weights(4),
               same_graph=False)
    ],
}  # fmt: skip
