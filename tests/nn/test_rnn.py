"""Recurrent layers and cells, and packed sequences: outputs, gradients, weights and refusals equal PyTorch's."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import minitorch
from backend import torch
from minitorch.testing import check_gradients

nn = torch.nn
LAYERS: list[tuple[str, dict[str, Any]]] = [
    *[(kind, dict(zip(("num_layers", "bias", "batch_first", "bidirectional"), values)))
      for kind in ("RNN", "GRU", "LSTM")
      for values in itertools.product((1, 2), (True, False), (True, False), (True, False))],
    ("RNN", {"nonlinearity": "relu", "num_layers": 2}),
    ("LSTM", {"proj_size": 2}), ("LSTM", {"proj_size": 2, "num_layers": 2, "bidirectional": True, "bias": False}),
    ("GRU", {"num_layers": 3, "dropout": 0.5}), ("LSTM", {"num_layers": 2, "dropout": 0.3, "bidirectional": True}),
]  # fmt: skip
INPUTS = ["batched", "states", "unbatched", "packed", "packed unsorted", "packed states", "one step"]


def flat(value: Any) -> list[Any]:
    """The tensors in an output."""
    if isinstance(value, (tuple, list)):
        return [t for v in value for t in flat(v)]
    return [] if value is None else [value]


def made(library: Any, kind: str, options: dict[str, Any], how: str) -> tuple[Any, list[Any], list[Any]]:
    """A layer, and all tensors of its output, and the gradients of its input, states and weights."""
    library.manual_seed(0)
    layer = getattr(library.nn, kind)(3, 4, dtype=library.float64, **options)
    generator = np.random.default_rng(1)
    first, second = (1, 5) if how == "one step" else (5, 4)
    shape = (first, 3) if how == "unbatched" else (first, second, 3)
    if options.get("batch_first") and how != "unbatched":
        shape = (second, first, 3)
    x = library.tensor(generator.normal(size=shape), requires_grad=True)
    states: list[Any] = []
    hx = None
    if "states" in how or how == "unbatched":
        number = options.get("num_layers", 1) * (2 if options.get("bidirectional") else 1)
        batch = () if how == "unbatched" else (second,)
        sizes = [options.get("proj_size", 4), 4] if kind == "LSTM" else [4]
        states = [library.tensor(generator.normal(size=(number, *batch, size)), requires_grad=True) for size in sizes]
        hx = tuple(states) if kind == "LSTM" else states[0]
    given = x
    if how.startswith("packed"):
        unsorted = "unsorted" in how
        lengths = [2, 5, 1, 3] if unsorted else [5, 3, 3, 1]
        given = library.nn.utils.rnn.pack_padded_sequence(
            x, lengths, batch_first=options.get("batch_first", False), enforce_sorted=not unsorted
        )
    out = layer(given, hx)
    outputs = [t for t in flat(out) if t.requires_grad]
    sum(
        [(t * library.arange(t.numel(), dtype=library.float64).reshape(t.shape).cos()).sum() for t in outputs]
    ).backward()
    return layer, flat(out), [t.grad for t in (x, *states, *layer.parameters())]


@pytest.mark.pytorch
@pytest.mark.parametrize("how", INPUTS)
@pytest.mark.parametrize(("kind", "options"), LAYERS, ids=str)
def test_layers_equal_pytorchs(kind: str, options: dict[str, Any], how: str) -> None:
    reference = pytest.importorskip("torch")
    ours, out, grads = made(minitorch, kind, options, how)
    theirs, expected, expected_grads = made(reference, kind, options, how)
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    for a, b in zip(ours.parameters(), theirs.parameters()):
        np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy())
    for a, b in zip(out, expected, strict=True):
        assert tuple(a.shape) == tuple(b.shape)
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-9, atol=1e-12)
    for a, b in zip(grads, expected_grads, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-8, atol=1e-11)


@pytest.mark.parametrize("options", [{}, {"bias": False}])
@pytest.mark.parametrize("kind", ["RNNCell", "LSTMCell", "GRUCell"])
@pytest.mark.parametrize("shape", [(3,), (2, 3)])
@pytest.mark.parametrize("given", [False, True])
def test_cells_equal_pytorchs(kind: str, options: dict[str, Any], shape: tuple[int, ...], given: bool) -> None:
    reference = pytest.importorskip("torch")
    found = []
    for library in (minitorch, reference):
        library.manual_seed(0)
        cell = getattr(library.nn, kind)(3, 4, dtype=library.float64, **options)
        generator = np.random.default_rng(0)
        x = library.tensor(generator.normal(size=shape), requires_grad=True)
        states = [library.tensor(generator.normal(size=(*shape[:-1], 4)), requires_grad=True) for _ in range(2)]
        hx = (tuple(states) if kind == "LSTMCell" else states[0]) if given else None
        out = flat(cell(x, hx))
        sum([t.square().sum() for t in out]).backward()
        leaves = [x, *(states if given and kind == "LSTMCell" else states[:1] if given else []), *cell.parameters()]
        found.append((repr(cell), [t.detach().numpy() for t in out], [t.grad.numpy() for t in leaves]))
    (ours, out, grads), (theirs, expected, expected_grads) = found
    assert ours == theirs
    for a, b in zip([*out, *grads], [*expected, *expected_grads], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def test_weights_by_value() -> None:
    torch.manual_seed(0)
    lstm = nn.LSTM(3, 2)
    assert lstm.weight_ih_l0[0].tolist() == pytest.approx(
        [-0.005293981172144413, 0.37932288646698, -0.5819807648658752]
    )
    assert lstm.bias_hh_l0[:2].tolist() == pytest.approx([-0.3135983347892761, -0.02551409974694252])


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_second_derivatives(kind: str) -> None:
    torch.manual_seed(0)
    layer = getattr(minitorch.nn, kind)(2, 3, num_layers=2, bidirectional=True, dtype=minitorch.float64)
    x = minitorch.randn(3, 2, 2, dtype=minitorch.float64, requires_grad=True)
    assert check_gradients(lambda x: layer(x)[0], x, order=2)


def test_a_step_at_a_time_gives_what_a_sequence_gives() -> None:
    torch.manual_seed(0)
    layer, cell = nn.LSTM(3, 4), nn.LSTMCell(3, 4)
    cell.load_state_dict({k.removesuffix("_l0"): v for k, v in layer.state_dict().items()})
    x = torch.randn(5, 2, 3)
    state = (torch.zeros(2, 4), torch.zeros(2, 4))
    states = []
    for step in x:
        state = cell(step, state)
        states.append(state[0])
    output, (_, c) = layer(x)
    np.testing.assert_allclose(torch.stack(states).detach().numpy(), output.detach().numpy(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(state[1].detach().numpy(), c[0].detach().numpy(), rtol=1e-5, atol=1e-6)


def test_float32_stays_float32() -> None:
    for kind in ("RNN", "GRU", "LSTM"):
        layer = getattr(nn, kind)(3, 4)
        x = torch.randn(5, 2, 3, requires_grad=True)
        out = flat(layer(x))
        out[0].sum().backward()
        assert {t.dtype for t in (*out, x.grad, *[p.grad for p in layer.parameters()])} == {torch.float32}


@pytest.mark.parametrize(
    ("kind", "refused"),
    [
        ("LSTM", [True, False, False]),
        ("GRU", [False, False]),
        ("RNN", [False, False]),
        ("LSTMCell", [False, False]),
        ("GRUCell", [False]),
        ("RNNCell", [True]),
    ],
)
def test_edits_of_outputs(kind: str, refused: list[bool]) -> None:
    """What the way back reads may not be edited; the gradients after other edits are those without."""
    module = getattr(nn, kind)(3, 4)
    x = torch.randn(2, 3) if kind.endswith("Cell") else torch.randn(5, 2, 3)
    for number in (None, *range(len(refused))):
        module.zero_grad()
        outputs = flat(module(x))
        loss = sum((output * 2).sum() for output in outputs)
        if number is not None:
            outputs[number].mul_(2)
            if refused[number]:
                with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                    loss.backward()
                continue
        loss.backward()
        gradients = [p.grad.clone() for p in module.parameters()]
        if number is None:
            expected = gradients
        for gradient, wanted in zip(gradients, expected):
            assert torch.equal(gradient, wanted)


def test_refusals() -> None:
    lstm, gru, cell = nn.LSTM(3, 4), nn.GRU(3, 4), nn.LSTMCell(3, 4)
    ones = torch.ones
    for call, error, message in [
        (lambda: lstm(ones(2, 2, 2, 3)), ValueError, "Expected input to be 2D or 3D, got 4D"),
        (lambda: lstm(ones(5, 2, 4)), RuntimeError, "input.size(-1) must be equal to input_size. Expected 3, got 4"),
        (
            lambda: lstm(ones(5, 2, 3), (ones(1, 2, 4), ones(1, 3, 4))),
            RuntimeError,
            "Expected hidden[1] size (1, 2, 4)",
        ),
        (lambda: lstm(ones(5, 3), (ones(1, 2, 4), ones(1, 2, 4))), RuntimeError, "For unbatched 2-D input"),
        (lambda: gru(ones(5, 2, 3), ones(4)), RuntimeError, "For batched 3-D input"),
        (lambda: lstm(ones(5, 2, 3).double()), ValueError, "does not match weight dtype"),
        (lambda: nn.LSTM(3, 0), ValueError, "hidden_size must be greater than zero"),
        (lambda: nn.LSTM("a", 3), TypeError, "input_size should be of type int"),
        (lambda: nn.LSTM(3, 4, 0), ValueError, "num_layers must be greater than zero"),
        (lambda: nn.LSTM(3, 4, dropout=2), ValueError, "dropout should be a number in range"),
        (lambda: nn.LSTM(3, 4, proj_size=4), ValueError, "proj_size has to be smaller"),
        (lambda: nn.GRU(3, 4, proj_size=2), ValueError, "only supported for LSTM"),
        (lambda: nn.RNN(3, 4, nonlinearity="x"), ValueError, "Unknown nonlinearity 'x'"),
        (lambda: cell(ones(2, 2, 3)), ValueError, "Expected input to be 1D or 2D, got 3D"),
        (lambda: cell(ones(2, 4)), RuntimeError, "inconsistent input_size: got 4 expected 3"),
        (lambda: cell(ones(2, 3), (ones(3, 4), ones(3, 4))), RuntimeError, "Input batch size 2 doesn't match hidden0"),
        (lambda: nn.GRUCell(3, 4)(ones(2, 3), ones(2, 5)), RuntimeError, "hidden0 has inconsistent hidden_size"),
        (lambda: nn.RNNCell(3, 4, nonlinearity="x")(ones(2, 3)), RuntimeError, "Unknown nonlinearity: x"),
    ]:
        with pytest.raises(error) as caught:
            call()
        assert message in str(caught.value)
    with pytest.warns(UserWarning, match="dropout option adds dropout after all but last"):
        nn.LSTM(3, 4, dropout=0.5)


# -- sequences ---------------------------------------------------------------------------------------------------------
def test_sequences_are_packed_and_padded_as_pytorchs() -> None:
    reference = pytest.importorskip("torch")
    found = []
    for library in (minitorch, reference):
        rnn = library.nn.utils.rnn
        parts = [library.arange(n * 2.0).view(n, 2) + 10 * n for n in (2, 4, 1)]
        packed = rnn.pack_sequence(parts, enforce_sorted=False)
        padded = [
            rnn.pad_sequence(parts), rnn.pad_sequence(parts, True, -1.0), rnn.pad_sequence(parts, True, padding_side="left"),
            *rnn.pad_packed_sequence(packed, padding_value=7.0, total_length=6), *rnn.pad_packed_sequence(packed, True),
            *rnn.unpack_sequence(packed), *packed, rnn.invert_permutation(packed.sorted_indices),
            packed.double().data,
        ]  # fmt: skip
        found.append([(str(t.dtype), t.tolist()) for t in padded])
    assert found[0] == found[1]


def test_padding_carries_gradients() -> None:
    rnn = nn.utils.rnn
    parts = [torch.ones(n, requires_grad=True) for n in (1, 3)]
    padded, lengths = rnn.pad_packed_sequence(rnn.pack_sequence(parts, enforce_sorted=False))
    (padded * torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])).sum().backward()
    assert [p.grad.tolist() for p in parts] == [[1.0], [2.0, 4.0, 6.0]]
    assert lengths.tolist() == [1, 3]


def test_sequences_that_do_not_fit() -> None:
    rnn = nn.utils.rnn
    for call, error, message in [
        (lambda: rnn.pack_padded_sequence(torch.ones(3, 2), [1, 3]), RuntimeError, "sorted in decreasing order"),
        (lambda: rnn.pack_padded_sequence(torch.ones(3, 2), [3, 0]), RuntimeError, "greater than 0"),
        (lambda: rnn.pack_padded_sequence(torch.ones(3, 2), [3]), RuntimeError, "batch_size"),
        (lambda: rnn.pad_sequence([]), RuntimeError, "empty list"),
        (lambda: rnn.pad_sequence(3), RuntimeError, "Expected iterable"),
        (lambda: rnn.pad_sequence([torch.ones(1)], padding_side="top"), RuntimeError, "padding_side"),
        (
            lambda: rnn.pad_packed_sequence(rnn.pack_sequence([torch.ones(3)]), total_length=2),
            ValueError,
            "total_length",
        ),
    ]:
        with pytest.raises(error) as caught:
            call()
        assert message in str(caught.value)


# -- layers as functions -----------------------------------------------------------------------------------------------
FUNCTIONS = {
    "lstm": ("LSTM", {}),
    "gru": ("GRU", {}),
    "rnn_tanh": ("RNN", {}),
    "rnn_relu": ("RNN", {"nonlinearity": "relu"}),
}


def called(library: Any, name: str, options: dict[str, Any], packed: bool) -> list[np.ndarray]:
    """What the function gives, and the gradients of input, states and weights; the same from the layer itself."""
    library.manual_seed(0)
    kind, more = FUNCTIONS[name]
    layer = getattr(library.nn, kind)(3, 4, dtype=library.float64, **options, **more)
    generator = np.random.default_rng(1)
    number = layer.num_layers * (2 if layer.bidirectional else 1)
    x = library.tensor(generator.normal(size=(4, 5, 3)), requires_grad=True)
    sizes = [layer.proj_size or 4, 4] if name == "lstm" else [4]
    batch = 5 if not (layer.batch_first and not packed) else 4
    states = [library.tensor(generator.normal(size=(number, batch, size)), requires_grad=True) for size in sizes]
    hx = tuple(states) if name == "lstm" else states[0]
    weights = [weight for weights in layer.all_weights for weight in weights]
    rest = layer.bias, layer.num_layers, layer.dropout, layer.training, layer.bidirectional
    function = getattr(library, name)
    if packed:
        sequence = library.nn.utils.rnn.pack_padded_sequence(x, [4, 4, 2, 1, 1])
        outputs = function(sequence.data, sequence.batch_sizes, hx, weights, *rest)
    else:
        outputs = function(x, hx, weights, *rest, layer.batch_first)
    sum([(out * out).sum() for out in outputs]).backward()
    return [t.detach().numpy() for t in outputs] + [t.grad.numpy() for t in (x, *states, *weights)]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    "options", [{}, {"num_layers": 2, "bidirectional": True}, {"bias": False, "batch_first": True}]
)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_functions_equal_pytorchs(name: str, options: dict[str, Any], packed: bool) -> None:
    reference = pytest.importorskip("torch")
    for got, expected in zip(called(minitorch, name, options, packed), called(reference, name, options, packed)):
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-12)


def test_the_function_with_projections_and_with_dropout_equals_pytorchs() -> None:
    reference = pytest.importorskip("torch")
    for options in ({"proj_size": 2, "num_layers": 2}, {"num_layers": 2, "dropout": 0.5}):
        for got, expected in zip(called(minitorch, "lstm", options, False), called(reference, "lstm", options, False)):
            np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_function_is_what_the_layer_computes(name: str) -> None:
    kind, more = FUNCTIONS[name]
    layer = getattr(nn, kind)(3, 4, **more)
    x, state = torch.randn(5, 2, 3), torch.randn(1, 2, 4)
    hx = (state, state.exp()) if name == "lstm" else state
    out, last = layer(x, hx)
    weights = layer._flat_weights
    got = getattr(torch, name)(x, hx, weights, True, 1, 0.0, True, False, batch_first=False)
    for tensor, expected in zip(got, (out, *flat(last))):
        assert torch.allclose(tensor, expected)


def test_wrong_calls_of_the_functions() -> None:
    layer = nn.LSTM(3, 4)
    x, hx, weights = torch.randn(5, 2, 3), (torch.zeros(1, 2, 4),) * 2, layer._flat_weights
    with pytest.raises(TypeError, match=r"lstm\(\) received an invalid combination of arguments - got \(Tensor, tuple"):
        torch.lstm(x, hx, weights, True, 1, 0.0, True, False)
    with pytest.raises(RuntimeError, match="lstm expects two hidden states"):
        torch.lstm(x, hx[:1], weights, True, 1, 0.0, True, False, False)
    with pytest.raises(RuntimeError, match="sequence length to be larger than 0"):
        torch.lstm(x[:0], hx, weights, True, 1, 0.0, True, False, False)
    if torch.__name__ != "torch":  # PyTorch computes something from these
        with pytest.raises(RuntimeError, match="expected 8 params, 4 for each layer and direction, got 4"):
            torch.lstm(x, hx, weights, True, 2, 0.0, True, False, False)
        with pytest.raises(RuntimeError, match=r"input has size 2, but w_ih of shape \(16, 3\) expects 3"):
            torch.lstm(x[..., :2], hx, weights, True, 1, 0.0, True, False, False)
        with pytest.raises(RuntimeError, match=r"expected hidden states of shape \(1, 2, 4\), got \(1, 3, 4\)"):
            torch.lstm(x, (torch.zeros(1, 3, 4),) * 2, weights, True, 1, 0.0, True, False, False)
