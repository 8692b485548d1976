"""Recurrent layers as functions of their input, first states and weights: what ``nn.LSTM`` and its kin call in PyTorch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._args import array_of
from .recurrent import layers

if TYPE_CHECKING:
    from .._tensor import Tensor

WHOLE = "input", "hx", "params", "has_biases", "num_layers", "dropout", "train", "bidirectional", "batch_first"
PACKED = "data", "batch_sizes", "hx", "params", "has_biases", "num_layers", "dropout", "train", "bidirectional"
GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}


def lstm(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Layers of long short-term memory: see ``nn.LSTM``.

    It is called in one of two ways: ``lstm(input, hx, params, has_biases, num_layers, dropout, train, bidirectional,
    batch_first)``, or for a packed sequence ``lstm(data, batch_sizes, hx, params, has_biases, num_layers, dropout, train,
    bidirectional)``.

    Parameters
    ----------
    input : Tensor
        ``(length, batch, input_size)``, or with *batch_first* ``(batch, length, input_size)``.
    data, batch_sizes : Tensor
        Of a packed sequence.
    hx : (Tensor, Tensor)
        The first hidden states and cells, ``(layers * directions, batch, hidden_size)``.
    params : sequence of Tensor
        For each layer and direction ``w_ih``, ``w_hh``, with *has_biases* ``b_ih``, ``b_hh``, and, where hidden states
        are projected, ``w_hr``.
    has_biases : bool
        See *params*.
    num_layers : int
        How many layers are on top of each other.
    dropout : float
        The probability with which, while *train* is set, elements between layers become zero.
    train, bidirectional, batch_first : bool
        See above.

    Returns
    -------
    (Tensor, Tensor, Tensor)
        The last layer's hidden states of all steps, the last hidden states and the last cells.

    Raises
    ------
    TypeError
        If it is called in another way.
    RuntimeError
        If shapes or the number of parameters do not fit.

    Examples
    --------
    >>> import minitorch as torch
    >>> layer = torch.nn.LSTM(3, 4)
    >>> first = torch.zeros(1, 2, 4), torch.zeros(1, 2, 4)
    >>> out, h, c = torch.lstm(torch.ones(5, 2, 3), first, layer._flat_weights, True, 1, 0.0, True, False, False)
    >>> out.shape, h.shape, c.shape
    (torch.Size([5, 2, 4]), torch.Size([1, 2, 4]), torch.Size([1, 2, 4]))
    """
    return _recurrent("lstm", args, kwargs)


def gru(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
    """Layers of gated recurrent units: see ``nn.GRU``; called as ``lstm``, with *hx* one Tensor.

    Examples
    --------
    >>> import minitorch as torch
    >>> layer = torch.nn.GRU(3, 4)
    >>> weights = layer._flat_weights
    >>> out, h = torch.gru(torch.ones(5, 2, 3), torch.zeros(1, 2, 4), weights, True, 1, 0.0, True, False, False)
    >>> out.shape, h.shape
    (torch.Size([5, 2, 4]), torch.Size([1, 2, 4]))
    """
    return _recurrent("gru", args, kwargs)


def rnn_tanh(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
    """Plain recurrent layers: see ``nn.RNN``; called as ``lstm``, with *hx* one Tensor."""
    return _recurrent("rnn_tanh", args, kwargs)


def rnn_relu(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
    """Plain recurrent layers with relu: see ``nn.RNN``; called as ``lstm``, with *hx* one Tensor."""
    return _recurrent("rnn_relu", args, kwargs)


def _recurrent(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The outputs and the last states of layers."""
    given = _bound(name, args, kwargs)
    x = given["data" if "data" in given else "input"]
    firsts = tuple(given["hx"]) if name == "lstm" else (given["hx"],)
    if len(firsts) != (2 if name == "lstm" else 1):
        raise RuntimeError("lstm expects two hidden states")
    directions = 2 if given["bidirectional"] else 1
    weights = _by_layer(name, list(given["params"]), given["has_biases"], given["num_layers"] * directions, firsts)
    array = array_of(name, x)
    if "data" in given:
        sizes = tuple(given["batch_sizes"].tolist())
        _check(name, 2, array.shape, sizes[0], firsts, weights)
        out, last = layers(name.upper(), x, firsts, weights, sizes, directions == 2, given["dropout"] * given["train"])
        return out, *last
    if array.ndim != 3:
        raise RuntimeError(f"{name}(): expected input of 3 dimensions, but got {array.ndim}")
    if given["batch_first"]:
        x = x.transpose(0, 1)
    length, batch, size = x.shape
    if not length:
        raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
    _check(name, 3, array.shape, batch, firsts, weights)
    steps = x.reshape(length * batch, size)
    drop = given["dropout"] * given["train"]
    out, last = layers(name.upper(), steps, firsts, weights, (batch,) * length, directions == 2, drop)
    out = out.view(length, batch, out.size(-1))
    return out.transpose(0, 1) if given["batch_first"] else out, *last


def _bound(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments by name, for one of the two ways to call."""
    for names in (WHOLE, PACKED):
        given = dict(zip(names, args)) | kwargs
        fits = len(args) + len(kwargs) == len(names) and set(given) == set(names)
        if fits and isinstance(given["params"], (list, tuple)) and isinstance(given["has_biases"], bool):
            return given
    came = ", ".join([type(value).__name__ for value in (*args, *kwargs.values())])
    raise TypeError(
        f"{name}() received an invalid combination of arguments - got ({came}), but expected one of:\n"
        f" * ({', '.join(PACKED)})\n * ({', '.join(WHOLE)})"
    )


def _by_layer(name: str, params: list[Any], has_biases: bool, number: int, firsts: tuple[Any, ...]) -> list[list[Any]]:
    """The weights of each layer and direction."""
    each = 4 if has_biases else 2
    if name == "lstm" and firsts[0].shape[-1] != firsts[1].shape[-1]:
        each += 1  # the hidden states are projected
    if len(params) != number * each:
        raise RuntimeError(
            f"{name}(): expected {number * each} params, {each} for each layer and direction, got {len(params)}"
        )
    return [params[start : start + each] for start in range(0, len(params), each)]


def _check(
    name: str, dims: int, shape: tuple[int, ...], batch: int, firsts: tuple[Any, ...], weights: list[list[Any]]
) -> None:
    """Refuse sizes that do not fit."""
    (rows, size), hidden = weights[0][0].shape, weights[0][1].shape[1]
    if len(shape) != dims:
        raise RuntimeError(f"{name}(): expected data of {dims} dimensions, but got {len(shape)}")
    if shape[-1] != size:
        raise RuntimeError(f"{name}(): input has size {shape[-1]}, but w_ih of shape ({rows}, {size}) expects {size}")
    for first, width in zip(firsts, (hidden, rows // GATES[name])):
        if tuple(first.shape) != (len(weights), batch, width):
            raise RuntimeError(
                f"{name}(): expected hidden states of shape {(len(weights), batch, width)}, got {tuple(first.shape)}"
            )
