"""Recurrent layers and cells."""

from __future__ import annotations

import math
import numbers
import warnings
from typing import Any

from ..._tensor import Tensor
from ...ops import recurrent
from ...ops.creation import empty, zeros
from .. import init
from ..parameter import Parameter
from ..utils.rnn import PackedSequence, reordered
from . import _misfit
from .module import Module

GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


class RNNBase(Module):
    """Recurrent layers on top of each other, each in one direction or both: see ``RNN``, ``LSTM`` and ``GRU``."""

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        check_sizes(input_size, hidden_size, num_layers, bias, batch_first, dropout, proj_size)
        if mode not in GATES:
            raise ValueError(f"Unrecognized RNN mode: {mode}")
        self.mode, self.input_size, self.hidden_size, self.num_layers = mode, input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.proj_size = bidirectional, proj_size
        gates, state = GATES[mode] * hidden_size, proj_size or hidden_size
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            for suffix in ("", "_reverse") if bidirectional else ("",):
                into = input_size if layer == 0 else state * (2 if bidirectional else 1)
                shapes: dict[str, tuple[int, ...]] = {"weight_ih": (gates, into), "weight_hh": (gates, state)}
                if bias:
                    shapes |= {"bias_ih": (gates,), "bias_hh": (gates,)}
                if proj_size:
                    shapes["weight_hr"] = (proj_size, hidden_size)
                names = [f"{name}_l{layer}{suffix}" for name in shapes]
                for name, shape in zip(names, shapes.values()):
                    self.register_parameter(name, Parameter(empty(*shape, device=device, dtype=dtype)))
                self._all_weights.append(names)
        self.reset_parameters()

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The weights of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    @property
    def _flat_weights(self) -> list[Parameter]:
        return [weight for weights in self.all_weights for weight in weights]

    def flatten_parameters(self) -> None:
        """Accepted: the weights stay where they are."""

    def reset_parameters(self) -> None:
        """Draw new values."""
        bound = 1.0 / math.sqrt(self.hidden_size)
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Refuse an input of another dtype, or of sizes that do not fit."""
        weight = getattr(self, self._all_weights[0][0])
        if input.dtype != weight.dtype:
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({weight.dtype}). Convert input: "
                f"input.to({weight.dtype}), or convert model: model.to({input.dtype})"
            )
        expected = 3 if batch_sizes is None else 2
        if input.dim() != expected:
            raise RuntimeError(f"input must have {expected} dimensions, got {input.dim()}")
        if input.size(-1) != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}"
            )

    def _state_sizes(self) -> tuple[int, ...]:
        """The sizes of the states that a step begins with."""
        return (self.proj_size or self.hidden_size,)

    def _given(self, hx: Any, batched: bool) -> tuple[Tensor, ...] | None:
        """The states that were given, of a batch, or None."""
        if hx is None:
            return None
        number = len(self._state_sizes())
        given = (hx,) if number == 1 else hx
        kind, dims = ("batched 3-D", 3) if batched else ("unbatched 2-D", 2)
        found = [given[i].dim() for i in range(number)]
        if any([n != dims for n in found]):
            found = [f"{n}-D" for n in found]
            what, got = (
                ("hx", f"{found[0]} tensor") if len(given) == 1 else ("hx and cx", f"({', '.join(found)}) tensors")
            )
            raise RuntimeError(f"For {kind} input, {what} should also be {dims}-D but got {got}")
        if not batched:
            return tuple([given[i].unsqueeze(1) for i in range(number)])
        if not isinstance(given, (tuple, list)):
            raise TypeError(f"argument 'hx' must be a tuple of {number} Tensors, not {type(hx).__name__}")
        if len(given) != number:
            raise RuntimeError(f"expected {number} hidden states in a tuple, (h_0, c_0), but got {len(given)}")
        return tuple(given)

    def _begin(self, input: Tensor, given: tuple[Tensor, ...] | None, batch: int) -> tuple[Tensor, ...]:
        """The first states: those that were given, checked, or zeros."""
        number = self.num_layers * (2 if self.bidirectional else 1)
        sizes = self._state_sizes()
        if given is None:
            return tuple([zeros(number, batch, size, dtype=input.dtype) for size in sizes])
        for position, (state, size) in enumerate(zip(given, sizes)):
            expected = (number, batch, size)
            if tuple(state.shape) != expected:
                which = f"hidden[{position}]" if len(given) > 1 else "hidden"
                raise RuntimeError(f"Expected {which} size {expected}, got {list(state.shape)}")
            recurrent.check_dtypes(state, input)
        return given

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        if isinstance(input, PackedSequence):
            return self._forward_packed(input, hx)
        dims = input.dim()
        if dims not in (2, 3):
            name = type(self).__name__
            raise ValueError(f"{name}: Expected input to be 2D or 3D, got {dims}D instead")
        batched, batch_dim = dims == 3, 0 if self.batch_first else 1
        given = self._given(hx, batched)
        if not batched:
            input = input.unsqueeze(batch_dim)
        self.check_input(input, None)
        if self.batch_first:
            input = input.transpose(0, 1)
        length, batch = input.shape[:2]
        states = self._begin(input, given, batch)
        if not length:
            raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
        output, last = self._run(input.reshape(length * batch, self.input_size), states, (batch,) * length)
        output = output.view(length, batch, output.shape[-1])
        if self.batch_first:
            output = output.transpose(0, 1)
        if not batched:
            output, last = output.squeeze(batch_dim), tuple([state.squeeze(1) for state in last])
        return output, last if len(last) > 1 else last[0]

    def _forward_packed(self, input: PackedSequence, hx: Any) -> tuple[PackedSequence, Any]:
        data, batch_sizes, sorted_indices, unsorted_indices = input
        self.check_input(data, batch_sizes)
        sizes = tuple(batch_sizes.tolist())
        states = tuple(
            [reordered(state, sorted_indices) for state in self._begin(data, self._given(hx, True), sizes[0])]
        )
        output, last = self._run(data, states, sizes)
        last = tuple([reordered(state, unsorted_indices) for state in last])
        return PackedSequence(output, batch_sizes, sorted_indices, unsorted_indices), last if len(last) > 1 else last[0]

    def _misfit(self, input: Any, hx: Any = None) -> str:
        packed = isinstance(input, PackedSequence)
        shape = tuple(input.data.shape if packed else input.shape)
        name = f"{type(self).__name__}({self.input_size}, {self.hidden_size})"
        order = f"({'N, L' if self.batch_first else 'L, N'}, {self.input_size})"
        if not packed and len(shape) not in (2, 3):
            return f"{name} expects an input of shape {order} or (L, {self.input_size}) and got {shape}: reshape it"
        if shape[-1] != self.input_size:
            return (
                f"{name} expects last dimension {self.input_size}, of {order}, and got {shape}: permute the input, or make the "
                f"layer with input_size={shape[-1]}"
            )
        if hx is None:
            return ""
        batch = (
            int(input.batch_sizes[0]) if packed else shape[0 if self.batch_first else 1] if len(shape) == 3 else None
        )
        number = self.num_layers * (2 if self.bidirectional else 1)
        sizes = tuple([(number, size) if batch is None else (number, batch, size) for size in self._state_sizes()])
        return _misfit.states(name, hx, ("h_0", "c_0")[: len(sizes)], sizes)

    def _run(self, x: Tensor, states: Any, batch_sizes: tuple[int, ...]) -> tuple[Any, Any]:
        drop = self.dropout if self.training else 0.0
        return recurrent.layers(self.mode, x, states, self.all_weights, batch_sizes, self.bidirectional, drop)

    def extra_repr(self) -> str:
        shown = [f"{self.input_size}, {self.hidden_size}"]
        defaults = {
            "proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0.0, "bidirectional": False,
        }  # fmt: skip
        shown += [f"{name}={getattr(self, name)}" for name, value in defaults.items() if getattr(self, name) != value]
        return ", ".join(shown)


def check_sizes(
    input_size: Any, hidden_size: Any, num_layers: int, bias: Any, batch_first: Any, dropout: Any, proj_size: int
) -> None:
    """Refuse arguments of wrong types or out of range."""
    if not isinstance(dropout, numbers.Number) or isinstance(dropout, bool) or not 0 <= dropout <= 1:  # type: ignore[operator]  # numbers
        raise ValueError(
            "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
        )
    if dropout > 0 and num_layers == 1:  # type: ignore[operator]  # a number
        warnings.warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers greater "
            f"than 1, but got dropout={dropout} and num_layers={num_layers}",
            stacklevel=4,
        )
    for name, value in (("bias", bias), ("batch_first", batch_first)):
        if not isinstance(value, bool):
            raise TypeError(f"{name} should be of type bool, got: {type(value).__name__}")
    for name, value in (("input_size", input_size), ("hidden_size", hidden_size)):
        if not isinstance(value, int):
            raise TypeError(f"{name} should be of type int, got: {type(value).__name__}")
        if value <= 0:
            raise ValueError(f"{name} must be greater than zero")
    if num_layers <= 0:
        raise ValueError("num_layers must be greater than zero")
    if proj_size < 0:
        raise ValueError("proj_size should be a positive integer or zero to disable projections")
    if proj_size >= hidden_size:
        raise ValueError("proj_size has to be smaller than hidden_size")


class RNN(RNNBase):
    """Plain recurrent layers: ``h' = tanh(W_ih x + b_ih + W_hh h + b_hh)``.

    Parameters
    ----------
    input_size, hidden_size : int
        The sizes of an element and of a state.
    num_layers : int
        How many layers are on top of each other.
    nonlinearity : {"tanh", "relu"}
        What bends the states.
    bias : bool
        Whether there are biases.
    batch_first : bool
        Whether inputs and outputs are ``(batch, length, size)`` rather than ``(length, batch, size)``.
    dropout : float
        The probability at which elements between layers are zeroed in training.
    bidirectional : bool
        Whether each layer goes in both directions.

    Returns
    -------
    output : Tensor or PackedSequence
        The last layer's states, ``(length, batch, directions * hidden_size)``.
    h_n : Tensor
        The last states, ``(num_layers * directions, batch, hidden_size)``.

    Raises
    ------
    TypeError, ValueError
        For arguments of wrong types or out of range.
    RuntimeError
        From a call, for sizes that do not fit.

    Notes
    -----
    Source: Elman, "Finding structure in time", 1990.

    Examples
    --------
    >>> import minitorch as torch
    >>> rnn = torch.nn.RNN(3, 5, num_layers=2)
    >>> output, h_n = rnn(torch.randn(7, 2, 3))
    >>> output.shape, h_n.shape
    (torch.Size([7, 2, 5]), torch.Size([2, 2, 5]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        nonlinearity = args[3] if len(args) > 3 else kwargs.pop("nonlinearity", "tanh")
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(f"RNN_{nonlinearity.upper()}", *args[:3], *args[4:], **kwargs)
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    """Layers of long short-term memory.

    With gates ``i, f, g, o = sigmoid, sigmoid, tanh, sigmoid`` of ``W_ih x + b_ih + W_hh h + b_hh``: ``c' = f c + i g``,
    ``h' = o tanh(c')``.

    Parameters
    ----------
    input_size, hidden_size : int
        The sizes of an element and of a state.
    num_layers : int
        How many layers are on top of each other.
    bias : bool
        Whether there are biases.
    batch_first : bool
        Whether inputs and outputs are ``(batch, length, size)`` rather than ``(length, batch, size)``.
    dropout : float
        The probability at which elements between layers are zeroed in training.
    bidirectional : bool
        Whether each layer goes in both directions.
    proj_size : int
        Where above 0, hidden states are projected to this size.

    Returns
    -------
    output : Tensor or PackedSequence
        The last layer's hidden states, ``(length, batch, directions * hidden_size)``.
    (h_n, c_n) : (Tensor, Tensor)
        The last hidden and cell states, ``(num_layers * directions, batch, hidden_size)``.

    Raises
    ------
    TypeError, ValueError
        For arguments of wrong types or out of range.
    RuntimeError
        From a call, for sizes that do not fit.

    Notes
    -----
    Source: Hochreiter and Schmidhuber, "Long short-term memory", 1997; Gers et al., "Learning to forget", 2000; projections:
    Sak et al., "Long short-term memory based recurrent neural network architectures", 2014.

    Examples
    --------
    >>> import minitorch as torch
    >>> lstm = torch.nn.LSTM(3, 5, bidirectional=True, batch_first=True)
    >>> output, (h_n, c_n) = lstm(torch.randn(2, 7, 3))
    >>> output.shape, h_n.shape, c_n.shape
    (torch.Size([2, 7, 10]), torch.Size([2, 2, 5]), torch.Size([2, 2, 5]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def _state_sizes(self) -> tuple[int, ...]:
        return self.proj_size or self.hidden_size, self.hidden_size


class GRU(RNNBase):
    """Layers of gated recurrent units.

    With ``r, z = sigmoid(W_ih x + b_ih + W_hh h + b_hh)``: ``n = tanh(W_in x + b_in + r (W_hn h + b_hn))`` and
    ``h' = (1 - z) n + z h``.

    Parameters
    ----------
    input_size, hidden_size : int
        The sizes of an element and of a state.
    num_layers : int
        How many layers are on top of each other.
    bias : bool
        Whether there are biases.
    batch_first : bool
        Whether inputs and outputs are ``(batch, length, size)`` rather than ``(length, batch, size)``.
    dropout : float
        The probability at which elements between layers are zeroed in training.
    bidirectional : bool
        Whether each layer goes in both directions.

    Returns
    -------
    output : Tensor or PackedSequence
        The last layer's states, ``(length, batch, directions * hidden_size)``.
    h_n : Tensor
        The last states, ``(num_layers * directions, batch, hidden_size)``.

    Raises
    ------
    TypeError, ValueError
        For arguments of wrong types or out of range.
    RuntimeError
        From a call, for sizes that do not fit.

    Notes
    -----
    Source: Cho et al., "Learning phrase representations using RNN encoder-decoder for statistical machine translation", 2014.

    Examples
    --------
    >>> import minitorch as torch
    >>> gru = torch.nn.GRU(3, 5)
    >>> output, h_n = gru(torch.randn(7, 3))
    >>> output.shape, h_n.shape
    (torch.Size([7, 5]), torch.Size([1, 5]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)


# -- cells -------------------------------------------------------------------------------------------------------------
class RNNCellBase(Module):
    """One step of a recurrent layer: see ``RNNCell``, ``LSTMCell`` and ``GRUCell``."""

    weight_ih: Parameter
    weight_hh: Parameter
    bias_ih: Parameter | None
    bias_hh: Parameter | None

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        gates = num_chunks * hidden_size
        self.weight_ih = Parameter(empty(gates, input_size, device=device, dtype=dtype))
        self.weight_hh = Parameter(empty(gates, hidden_size, device=device, dtype=dtype))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, Parameter(empty(gates, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new values."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0.0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _step(self, kind: str, input: Tensor, states: Any, names: tuple[str, ...]) -> tuple[Tensor, ...]:
        """The states after a step; *states* are None or those before."""
        name = type(self).__name__
        dims = input.dim()
        if dims not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {dims}D instead")
        if states is None:
            zero = zeros(*input.shape[:-1], self.hidden_size, dtype=input.dtype)
            states = (zero,) * len(names)
        for which, state in zip(names, states):
            if state.dim() not in (1, 2):
                raise ValueError(f"{name}: Expected {which} to be 1D or 2D, got {state.dim()}D instead")
        if dims == 1:
            input, states = input.unsqueeze(0), [state.unsqueeze(0) for state in states]
        out = recurrent.cell(kind, input, states, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return tuple([state.squeeze(0) for state in out]) if dims == 1 else out

    def _misfit(self, input: Tensor, hx: Any = None) -> str:
        shape = tuple(input.shape)
        name = f"{type(self).__name__}({self.input_size}, {self.hidden_size})"
        if len(shape) not in (1, 2) or shape[-1] != self.input_size:
            return (
                f"{name} expects an input of shape (N, {self.input_size}) or ({self.input_size},), one step, and got {shape}: "
                f"reshape it, or make the layer with input_size={shape[-1] if shape else 1}"
            )
        if hx is None:
            return ""
        names = ("h", "c") if isinstance(self, LSTMCell) else ("h",)
        return _misfit.states(name, hx, names, ((*shape[:-1], self.hidden_size),) * len(names))

    def extra_repr(self) -> str:
        shown = [f"{self.input_size}, {self.hidden_size}"]
        if self.bias is not True:
            shown.append(f"bias={self.bias}")
        if getattr(self, "nonlinearity", "tanh") != "tanh":
            shown.append(f"nonlinearity={self.nonlinearity}")
        return ", ".join(shown)


class RNNCell(RNNCellBase):
    """One step of ``RNN``.

    Parameters
    ----------
    input_size, hidden_size : int
        The sizes of an element and of a state.
    bias : bool
        Whether there are biases.
    nonlinearity : {"tanh", "relu"}
        What bends the state.

    Returns
    -------
    Tensor
        The state, ``(batch, hidden_size)``.

    Raises
    ------
    ValueError, RuntimeError
        From a call, for sizes that do not fit.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.RNNCell(3, 5)(torch.randn(2, 3)).shape
    torch.Size([2, 5])
    """

    nonlinearity: str

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        states = None if hx is None else (hx,)
        return self._step(f"RNN_{self.nonlinearity.upper()}", input, states, ("hidden",))[0]


class LSTMCell(RNNCellBase):
    """One step of ``LSTM``.

    Parameters
    ----------
    input_size, hidden_size : int
        The sizes of an element and of a state.
    bias : bool
        Whether there are biases.

    Returns
    -------
    (Tensor, Tensor)
        The hidden state and the cell, ``(batch, hidden_size)``.

    Raises
    ------
    ValueError, RuntimeError
        From a call, for sizes that do not fit.

    Examples
    --------
    >>> import minitorch as torch
    >>> cell = torch.nn.LSTMCell(3, 5)
    >>> h, c = cell(torch.randn(2, 3))
    >>> h, c = cell(torch.randn(2, 3), (h, c))
    >>> h.shape
    torch.Size([2, 5])
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, ...]:
        if hx is not None and not isinstance(hx, (tuple, list)):
            raise TypeError(
                f"lstm_cell(): argument 'hx' (position 2) must be tuple of Tensors, not {type(hx).__name__}"
            )
        return self._step("LSTM", input, hx, ("hx[0]", "hx[1]"))


class GRUCell(RNNCellBase):
    """One step of ``GRU``.

    Parameters
    ----------
    input_size, hidden_size : int
        The sizes of an element and of a state.
    bias : bool
        Whether there are biases.

    Returns
    -------
    Tensor
        The state, ``(batch, hidden_size)``.

    Raises
    ------
    ValueError, RuntimeError
        From a call, for sizes that do not fit.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.GRUCell(3, 5)(torch.randn(2, 3)).shape
    torch.Size([2, 5])
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._step("GRU", input, None if hx is None else (hx,), ("hidden",))[0]
