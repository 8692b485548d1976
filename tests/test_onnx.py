"""Exported models run in onnxruntime at sizes that they were not exported at, and give what they give here."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import minitorch as torch
from deployed import MODELS, SIZES, example
from minitorch import nn
from minitorch._pytree import tree_flatten
from minitorch.nn import functional as F

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

OPTIONS = onnxruntime.SessionOptions()
OPTIONS.intra_op_num_threads = OPTIONS.inter_op_num_threads = 1
OPTIONS.log_severity_level = 4


def tensors_in(value: Any) -> list[torch.Tensor]:
    return [leaf for leaf in tree_flatten(value)[0] if isinstance(leaf, torch.Tensor)]


def assert_equal(file: Any, model: Any, names: list[str], inputs: tuple[torch.Tensor, ...]) -> None:
    """Compare an exported file with the model, on inputs."""
    session = onnxruntime.InferenceSession(file, OPTIONS)
    with torch.no_grad():
        expected = tensors_in(model(*[i.clone() for i in inputs]))
    found = session.run(None, {name: np.array(i.numpy()) for name, i in zip(names, inputs)})
    for ours, theirs in zip(expected, found, strict=True):
        assert theirs.dtype == ours.numpy().dtype
        np.testing.assert_allclose(theirs, ours.numpy(), rtol=1e-5, atol=1e-5)


# -- models ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", MODELS)
def test_one_file_for_several_batch_sizes(name: str, tmp_path: Path) -> None:
    deployed = MODELS[name]
    model, inputs = deployed.model(), deployed.inputs(SIZES[0])
    names = [f"input_{n}" for n in range(len(inputs))]
    axes = {n: {axis: "batch"} for n, axis in zip(names, deployed.axes) if axis is not None}
    path = tmp_path / "model.onnx"
    torch.onnx.export(model, inputs, path, input_names=names, dynamic_axes=axes)
    onnx.checker.check_model(onnx.load(path), full_check=True)
    for batch in (*SIZES, 3):
        assert_equal(str(path), model, names, deployed.inputs(batch))


class Case(NamedTuple):
    """A model with axes that vary, and sizes at which it is tried.

    Attributes
    ----------
    make : callable
        Makes the model or function.
    inputs : callable
        Makes the inputs for sizes, given by name.
    axes : tuple of dict
        For each input, the names of its axes that vary.
    at : sequence of dict
        Sizes: the first those of the example.
    """

    make: Callable[[], Any]
    inputs: Callable[..., tuple[torch.Tensor, ...]]
    axes: tuple[dict[int, str], ...]
    at: Sequence[dict[str, int]]


def images(channels: int) -> Callable[..., tuple[torch.Tensor, ...]]:
    return lambda n, h, w: (torch.randn(n, channels, h, w),)


def sequences(*sizes: int) -> Callable[..., tuple[torch.Tensor, ...]]:
    return lambda n, t: (torch.randn(n, t, *sizes),)


IMAGE, TIME = ({0: "n", 2: "h", 3: "w"},), ({0: "n", 1: "t"},)
IMAGES = {"n": 2, "h": 12, "w": 16}, {"n": 1, "h": 21, "w": 13}, {"n": 3, "h": 32, "w": 32}
TIMES = {"n": 2, "t": 5}, {"n": 3, "t": 9}, {"n": 1, "t": 2}


def written(x: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    y[:, 0] = 1.0
    y[:, 1:3] += x[:, 1:3]
    view = y[:, :, 1]
    y.mul_(2)
    view.add_(view.mean())
    y[..., -1].relu_()
    return y.view(x.shape[0], -1)


def filled(x: torch.Tensor) -> torch.Tensor:
    out = torch.zeros(x.shape[0], 2 * x.shape[1], 3)
    out[:, ::2] = x
    out[:, 1::2] = x.flip(1)
    out[out < 0] = 0.5
    return out


def positions(x: torch.Tensor) -> torch.Tensor:
    n, t, size = x.shape
    angle = torch.arange(t)[:, None] / 10.0 ** torch.arange(0, size)
    x = x + torch.cat([angle.sin(), angle.cos()], -1)[:, :size]
    return x[:, t // 2 :].mean(1) / t**0.5 + x[:, -(t // 2) :].sum((0, 1)) / (n * t)


def causal(x: torch.Tensor) -> torch.Tensor:
    t = x.shape[1]
    scores = x @ x.transpose(1, 2) / x.shape[2] ** 0.5
    return scores.masked_fill(torch.ones(t, t).tril() == 0, float("-inf")).softmax(-1) @ x


def chosen(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    values, indices = x.max(1)
    top = x.topk(2, 1)
    rows = torch.arange(x.shape[0])
    return values, indices, *top, x[rows, indices[:, 0]], x[:, [0, 1]], x.argmin(-1), *x.sort(1), x.cumsum(1)


CASES = {
    "images of any size": Case(
        lambda: nn.Sequential(nn.Conv2d(3, 4, 3, stride=2), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2, padding=1),
                              nn.Conv2d(4, 4, 3, padding="same", groups=2), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                              nn.Linear(4, 2)),
        images(3), IMAGE, IMAGES),
    "norms of images": Case(
        lambda: nn.Sequential(nn.GroupNorm(2, 4), nn.InstanceNorm2d(4), nn.AvgPool2d(3, 2, 1), nn.PixelShuffle(2),
                              nn.ConvTranspose2d(1, 3, 3, stride=2, padding=1), nn.ZeroPad2d(1)),
        images(4), IMAGE, IMAGES),
    "flattened images": Case(lambda: lambda x: (x.flatten(1).sum(1), x.flatten(2).transpose(1, 2).softmax(1), x.mean((2, 3))),
                             images(2), IMAGE, IMAGES),
    "resampled images": Case(
        lambda: lambda x: (
            F.interpolate(x, scale_factor=2), F.interpolate(x, scale_factor=2, mode="bilinear"),
            F.interpolate(x, scale_factor=3, mode="bilinear", align_corners=True),
            F.interpolate(x, size=(5, 20), mode="bicubic"), F.interpolate(x, size=(5, 20)),
            F.interpolate(x, size=(7, 3), mode="nearest-exact")),
        images(2), IMAGE, IMAGES),
    "resampled by any factor, or to a size that is given": Case(
        lambda: lambda x: (
            F.interpolate(x, scale_factor=1.5), F.interpolate(x, scale_factor=0.5, mode="bilinear"),
            F.interpolate(x, scale_factor=(0.5, 2.0), mode="bicubic"), F.interpolate(x, scale_factor=0.7, mode="nearest-exact"),
            F.interpolate(x, size=(x.shape[3], 10)), F.interpolate(x, size=(7, x.shape[2]), mode="nearest-exact")),
        images(2), IMAGE, [*IMAGES, {"n": 1, "h": 35, "w": 70}]),
    "windows": Case(
        lambda: lambda x: (
            x.view(x.shape[0], 2, x.shape[2] // 2, 2, x.shape[3] // 2, 2).permute(0, 2, 4, 3, 5, 1).flatten(0, 2),
            F.pixel_unshuffle(x, 2)),
        lambda n, h, w: (torch.randn(n, 2, 2 * h, 2 * w),), IMAGE, IMAGES),
    "equal parts": Case(
        lambda: lambda x: tuple([part.sum(1) for part in x.chunk(2, 1)]), sequences(4), TIME, TIMES),
    "scattered and reduced": Case(
        lambda: lambda x, i: tuple([
            torch.ones(x.shape[0], 7).scatter_reduce(1, i, x, how, include_self=self)
            for how in ("sum", "prod", "amax", "amin") for self in (True, False)]),
        lambda n, t: (torch.randn(n, t), torch.randint(7, (n, t))), ({0: "n", 1: "t"}, {0: "n", 1: "t"}), TIMES),
    "rows in order": Case(
        lambda: lambda x, at: torch.index_select(x, 0, at),
        lambda n, t: (torch.randn(n + 9, 3), torch.arange(0, n)), ({0: "rows"}, {0: "n"}), TIMES),
    "pooled to a size": Case(lambda: lambda x: (F.adaptive_avg_pool2d(x, (3, 2)), F.adaptive_max_pool2d(x, (2, 5))),
                             images(2), IMAGE, IMAGES),
    "pooled to sizes that windows of many lengths make": Case(
        lambda: lambda x: (F.adaptive_avg_pool2d(x, (7, 5)), F.adaptive_max_pool2d(x, (4, 7)),
                           F.adaptive_avg_pool2d(x, (None, 3)), F.adaptive_max_pool1d(x[0, :, 0], 4)),
        images(2), IMAGE, [{"n": 1 + n % 2, "h": n, "w": n + n % 3} for n in (14, 7, 8, 9, 11, 12, 16, 20, 23, 37)]),
    "columns": Case(lambda: nn.Unfold((2, 3), padding=1, stride=2), images(2), IMAGE, IMAGES),
    "gpt": Case(lambda: example("gpt")["GPT"](20, 8, 16, 2, 4, 0.1).eval(), lambda n, t: (torch.randint(20, (n, t)),), TIME,
                ({"n": 2, "t": 8}, {"n": 3, "t": 5}, {"n": 1, "t": 2})),
    "encoder": Case(lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval(), sequences(8), TIME, TIMES),
    "attention that is masked": Case(
        lambda: lambda q, k, m: F.scaled_dot_product_attention(q, k, k, attn_mask=m),
        lambda n, t, s: (torch.randn(n, 2, t, 4), torch.randn(n, 2, s, 4), torch.randn(t, s) > 0),
        ({0: "n", 2: "t"}, {0: "n", 2: "s"}, {0: "t", 1: "s"}), ({"n": 2, "t": 3, "s": 5}, {"n": 4, "t": 6, "s": 2})),
    "causal attention": Case(lambda: lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True),
                             lambda n, t: (torch.randn(n, 2, t, 4),), ({0: "n", 2: "t"},), TIMES),
    "causal attention by hand": Case(lambda: causal, sequences(4), TIME, TIMES),
    "lstm": Case(lambda: nn.LSTM(3, 4, num_layers=2, bidirectional=True, batch_first=True), sequences(3), TIME, TIMES),
    "gru": Case(lambda: nn.GRU(3, 4, batch_first=True, bias=False), sequences(3), TIME, TIMES),
    "rnn": Case(lambda: nn.RNN(3, 4, nonlinearity="relu"), lambda n, t: (torch.randn(t, n, 3),), ({0: "t", 1: "n"},), TIMES),
    "convolution over time": Case(
        lambda: nn.Sequential(nn.Conv1d(3, 4, 3, stride=2, padding=1), nn.GELU(), nn.Conv1d(4, 4, 2, dilation=2)),
        lambda n, t: (torch.randn(n, 3, t),), ({0: "n", 2: "t"},), ({"n": 2, "t": 9}, {"n": 3, "t": 16})),
    "written": Case(lambda: written, sequences(4), TIME, ({"n": 2, "t": 5}, {"n": 3, "t": 9})),
    "filled": Case(lambda: filled, sequences(3), TIME, TIMES),
    "positions": Case(lambda: positions, sequences(4), TIME, TIMES),
    "chosen": Case(lambda: chosen, sequences(3), TIME, TIMES),
    "two lengths joined": Case(
        lambda: lambda x, y: torch.cat([x, y], 1).reshape(x.shape[0], -1).cumsum(1),
        lambda n, t, s: (torch.randn(n, t, 2), torch.randn(n, s, 2)), ({0: "n", 1: "t"}, {0: "n", 1: "s"}),
        ({"n": 2, "t": 3, "s": 4}, {"n": 1, "t": 7, "s": 2})),
    "embedding bags": Case(lambda: nn.EmbeddingBag(9, 3, mode="sum"), lambda n, t: (torch.randint(9, (n, t)),), TIME, TIMES),
    "an einsum": Case(lambda: lambda x: torch.einsum("ntc,nsc->nts", x, x), sequences(3), TIME, TIMES),
    "bits and truths": Case(
        lambda: lambda x: ((~(x > 0)).float() * x, (x > 0) & ~(x > 1), (x > 0) | (x > 1), (x > 0) ^ (x > 1), ~x.to(torch.int64),
                           x.to(torch.int64) & 3, x.to(torch.int32) ^ 5),
        sequences(3), TIME, TIMES),
    "a loss": Case(lambda: lambda x, y: F.cross_entropy(x, y, ignore_index=0) + F.mse_loss(x, x * 2) + F.huber_loss(x, x * 3),
                   lambda n: (torch.randn(n, 4), torch.randint(4, (n,))), ({0: "n"}, {0: "n"}), ({"n": 5}, {"n": 9})),
    "statistics": Case(lambda: lambda x: (x.var(1), x.std((0, 1)), x.logsumexp(1), x.norm(dim=1), (x > 0).any(1), x.prod(1)),
                       sequences(3), TIME, TIMES),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_several_axes_vary(name: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    case = CASES[name]
    model, inputs = case.make(), case.inputs(**case.at[0])
    names = [f"input_{n}" for n in range(len(inputs))]
    if isinstance(model, nn.Module):
        model.eval()
    path = tmp_path / "model.onnx"
    torch.onnx.export(model, inputs, path, input_names=names, dynamic_axes=dict(zip(names, case.axes)))
    for sizes in case.at:
        assert_equal(str(path), model, names, case.inputs(**sizes))


def test_verifying(monkeypatch: pytest.MonkeyPatch) -> None:
    from minitorch.onnx._table import forms

    model, x = nn.Sequential(nn.Linear(3, 2), nn.Sigmoid()), torch.randn(2, 3)
    torch.onnx.export(model, x, dynamic_axes={"input": {0: "n"}}, verify=True)
    monkeypatch.setitem(forms, "sigmoid", forms["tanh"])
    with pytest.raises(
        torch.onnx.OnnxExporterError, match=r"'output' is off by .* in onnxruntime, for inputs of {'n': 2}"
    ):
        torch.onnx.export(model, x, dynamic_axes={"input": {0: "n"}}, verify=True)


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> torch.Tensor:
        return g * 2


def test_custom_functions_are_what_their_forward_does() -> None:
    program = torch.onnx.export(lambda x: Doubled.apply(x) + 1, torch.ones(3, requires_grad=True))
    assert [node.op_type for node in program.model_proto.graph.node] == ["Mul", "Add"]


def test_a_mask_that_is_given_is_not_asked_for_its_values() -> None:
    model = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 1, enable_nested_tensor=False)
    mask = nn.Transformer.generate_square_subsequent_mask(3)
    axes = {"src": {0: "n", 1: "t"}, "mask": {0: "t", 1: "t"}}
    program = torch.onnx.export(model, (torch.ones(1, 3, 8), mask), dynamic_axes=axes)
    for other in (mask, torch.zeros(3, 3), torch.zeros(5, 5).fill_diagonal_(float("-inf"))):
        inputs = (torch.randn(2, len(other), 8), other)
        assert_equal(program.model_proto.SerializeToString(), model.eval(), ["src", "mask"], inputs)


@pytest.mark.parametrize("opset", torch.onnx.OPSETS)
def test_versions_of_operators(opset: int, tmp_path: Path) -> None:
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.GroupNorm(2, 4), nn.GELU(), nn.AvgPool2d(2), nn.Flatten(), nn.LayerNorm(16)
    )
    inputs = (torch.randn(2, 1, 6, 6),)
    program = torch.onnx.export(model.eval(), inputs, opset_version=opset, dynamic_axes={"input": [0]})
    assert [o.version for o in program.model_proto.opset_import] == [opset]
    assert_equal(program.model_proto.SerializeToString(), model, ["input"], (torch.randn(3, 1, 6, 6),))
    with pytest.raises(ValueError, match="opset_version must be one of"):
        torch.onnx.export(model, inputs, opset_version=7)


# -- names and shapes --------------------------------------------------------------------------------------------------
def shape_of(info: Any) -> list[Any]:
    return [d.dim_param or d.dim_value for d in info.type.tensor_type.shape.dim]


def test_names_and_shapes_are_kept() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2, bias=False))
    program = torch.onnx.export(
        model,
        torch.ones(2, 3),
        input_names=["x"],
        output_names=["scores"],
        dynamic_axes={"x": {0: "batch"}, "scores": [0]},
    )
    graph = program.model_proto.graph
    state = {n: t for n, t in model.state_dict().items() if "num_batches" not in n}
    stored = {t.name: onnx.numpy_helper.to_array(t) for t in graph.initializer}
    assert state.keys() <= stored.keys()
    for name, tensor in state.items():
        np.testing.assert_array_equal(stored[name], tensor.numpy())
    assert [(i.name, shape_of(i)) for i in graph.input] == [("x", ["batch", 3])]
    assert [(o.name, shape_of(o)) for o in graph.output] == [("scores", ["batch", 2])]
    assert graph.node[0].name.startswith("/0/Gemm")


class Named(nn.Module):
    def forward(self, query: torch.Tensor, key: torch.Tensor, scale: float = 1.0) -> dict[str, torch.Tensor]:
        return {"sum": query * scale + key, "same": query, "twice": query * scale + key}


def test_names_by_default_are_those_of_forward() -> None:
    x = torch.ones(2)
    for args, options in (((x, x), {"kwargs": {"scale": 2.0}}), ((x, {"key": x, "scale": 2.0}), {})):
        graph = torch.onnx.export(Named(), args, **options).model_proto.graph
        assert [i.name for i in graph.input] == ["query", "key"]
        assert [o.name for o in graph.output] == ["output_0", "output_1", "output_2"]
    pairs = torch.onnx.export(lambda pair: pair[0] - pair[1], ([x, x],)).model_proto.graph
    assert [i.name for i in pairs.input] == ["pair_0", "pair_1"]


def test_sizes_of_results_are_named() -> None:
    def joined(x: torch.Tensor) -> torch.Tensor:
        return torch.cat([x, x[:1]])

    program = torch.onnx.export(joined, torch.ones(3, 2), dynamic_shapes=({0: "n"},))
    assert shape_of(program.model_proto.graph.output[0]) == ["n + 1", 2]
    program = torch.onnx.export(joined, torch.ones(3, 2), dynamic_shapes={"x": {0: "n"}})
    assert shape_of(program.model_proto.graph.input[0]) == ["n", 2]


def test_parameters_as_inputs() -> None:
    model = nn.Linear(2, 3)
    without = torch.onnx.export(model, torch.ones(1, 2), export_params=False).model_proto.graph
    assert [i.name for i in without.input] == ["input", "weight", "bias"]
    assert not without.initializer
    both = torch.onnx.export(model, torch.ones(1, 2), keep_initializers_as_inputs=True).model_proto.graph
    assert len(both.input) == 3
    assert len(both.initializer) == 2


def test_what_is_bad_is_said() -> None:
    x, model = torch.ones(2, 3), nn.Linear(3, 3)
    for options, text in (
        ({"input_names": ["a", "b"]}, "input_names has 2 names, but the model is given 1 tensor: input"),
        ({"output_names": ["a", "b"]}, "output_names has 2 names, but the model returns 1"),
        ({"output_names": ["weight"]}, r"must be others than parameters'.*\['weight'\]"),
        ({"input_names": ["a"], "output_names": ["a"]}, "each other's"),
        ({"dynamic_axes": {"input": {2: "n"}}}, r"'input' has no axis 2: the example's is of shape \[2, 3\]"),
        ({"dynamic_shapes": {"y": {0: "n"}}}, "dynamic_shapes names 'y'"),
    ):
        with pytest.raises(ValueError, match=text):
            torch.onnx.export(model, x, **options)
    with pytest.raises(torch.onnx.OnnxExporterError, match="example arguments"):
        torch.onnx.export(model)
    with pytest.raises(torch.onnx.OnnxExporterError, match="returned no Tensor"):
        torch.onnx.export(lambda x: 3, x)
    with pytest.raises(torch.onnx.OnnxExporterError, match=r"dynamic axes: the axis 'f' cannot vary.*shape"):
        torch.onnx.export(model, x, dynamic_axes={"input": {1: "f"}})


# -- what has no form --------------------------------------------------------------------------------------------------
class Unsupported(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 3)
        self.middle = nn.Sequential(Special())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.middle(self.first(x))
        return torch.linalg.svdvals(x).sum() + x[x > 0].sum()


class Special(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.special.digamma(x.abs()) + torch.special.digamma(x.abs() + 1)


def test_all_that_has_no_form_is_named_and_nothing_is_written(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    torch.manual_seed(3)  # of which some results are positive
    with pytest.raises(torch.onnx.errors.UnsupportedOperatorError) as caught:
        torch.onnx.export(Unsupported(), torch.ones(2, 3), path)
    assert isinstance(caught.value, RuntimeError)
    assert caught.value.operators == ["digamma", "svdvals"]
    text = str(caught.value)
    assert "  digamma() in middle.0\n" in text
    assert "  svdvals() in Unsupported\n" in text
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_was_there_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"before")
    with pytest.raises(RuntimeError):
        torch.onnx.export(Unsupported(), torch.ones(2, 3), path)
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("no room")))
    with pytest.raises(OSError, match="no room"):
        torch.onnx.export(nn.Linear(3, 3), torch.ones(2, 3), path)
    assert [p.name for p in tmp_path.iterdir()] == ["model.onnx"]
    assert path.read_bytes() == b"before"


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda x: x if x.sum() > 0 else -x, r"bool\(\).*taken out of the graph"),
        (lambda x: x * x.sum().item(), r"item\(\).*taken out of the graph"),
        (lambda x: x + torch.rand_like(x), r"rand_like\(\): random numbers"),
        (lambda x: torch.nn.functional.dropout(x), r"dropout\(\)"),
    ],
)
def test_what_is_no_graph(function: Any, text: str) -> None:
    with pytest.raises(torch.onnx.errors.UnsupportedOperatorError, match=text):
        torch.onnx.export(function, torch.ones(3))


class Counting(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("seen", torch.zeros(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.seen += x.sum(0)
        return x + self.seen


def test_state_is_refused_and_stays_as_it_was() -> None:
    model = Counting()
    with pytest.raises(torch.onnx.OnnxExporterError, match="a buffer, is written: an exported model has no state"):
        torch.onnx.export(model, torch.ones(3, 2), dynamic_axes={"x": {0: "n"}})
    assert model.seen.tolist() == [0, 0]


def test_what_other_sizes_do_is_said() -> None:
    def odd(x: torch.Tensor) -> torch.Tensor:
        return x.exp() if x.shape[0] % 2 else x.sin()

    with pytest.raises(
        torch.onnx.OnnxExporterError, match=r"'n' cannot vary.*at size 5 it does exp\(\) where.*sin\(\)"
    ):
        torch.onnx.export(odd, torch.ones(2), dynamic_axes={"x": {0: "n"}})

    def listed(x: torch.Tensor) -> torch.Tensor:
        return x * torch.tensor([float(n % 3) for n in range(x.shape[0])])

    with pytest.raises(
        torch.onnx.OnnxExporterError, match=r"constant_pad_nd\(\): it depends on a size in a way that no"
    ):
        torch.onnx.export(lambda x: F.pad(x, (0, x.shape[0] ** 2 % 10)), torch.ones(5), dynamic_axes={"x": {0: "n"}})
    with pytest.raises(torch.onnx.OnnxExporterError, match="a constant has other values at other sizes"):
        torch.onnx.export(listed, torch.ones(4), dynamic_axes={"x": {0: "n"}})


# -- the surroundings --------------------------------------------------------------------------------------------------
def test_modes() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5), nn.BatchNorm1d(2))
    model[1].eval()

    class Asking(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.sin() if not self.training and torch.onnx.is_in_onnx_export() else x

    model.append(Asking())
    nodes = torch.onnx.export(model, torch.ones(4, 2)).model_proto.graph.node
    assert [node.op_type for node in nodes] == ["Gemm", "BatchNormalization", "Sin"]
    assert [m.training for m in model] == [True, False, True, True]
    assert not torch.onnx.is_in_onnx_export()
    with pytest.raises(RuntimeError):
        torch.onnx.export(model, torch.ones(4, 2), training=torch.onnx.TrainingMode.TRAINING)
    assert model[2].running_mean.tolist() == [0, 0]


def test_files_and_printing(capsys: pytest.CaptureFixture[str]) -> None:
    file = io.BytesIO()
    program = torch.onnx.export(nn.Linear(2, 3), (torch.ones(1, 2),), file, verbose=True)
    assert file.getvalue() == program.model_proto.SerializeToString()
    assert "Gemm" in capsys.readouterr().out
    assert repr(program) == "<ONNX model: 1 nodes, 2 initializers>"


def test_other_dtypes() -> None:
    def mixed(i: torch.Tensor, d: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return i // 2 + 1, i % 3, i / 2, d * i, d.float() * b, b & (i > 0), b.sum(), i * b, torch.where(b, d, i), i**2

    inputs = (
        torch.tensor([-3, 0, 5]),
        torch.tensor([0.5, -1.5, 2.0], dtype=torch.float64),
        torch.tensor([True, False, True]),
    )
    program = torch.onnx.export(mixed, inputs)
    assert_equal(program.model_proto.SerializeToString(), mixed, ["i", "d", "b"], inputs)


SCRIPT = """
import sys
import torch
import torch.onnx
from torch import nn
model = nn.Sequential(nn.Linear(2, 3), nn.Tanh())
torch.onnx.export(model, (torch.ones(1, 2),), sys.argv[1], input_names=["x"], dynamic_axes={"x": {0: "n"}})
"""


def test_a_script_exports(tmp_path: Path) -> None:
    script, path = tmp_path / "script.py", tmp_path / "model.onnx"
    script.write_text(SCRIPT)
    subprocess.run([sys.executable, "-m", "minitorch", script, path], check=True)
    assert onnx.load(path).graph.input[0].name == "x"


# -- what is refused before anything is written ------------------------------------------------------------------------
def test_axes_of_what_is_no_input_or_output(tmp_path: Path) -> None:
    layer, path = nn.Linear(2, 3), tmp_path / "model.onnx"
    with pytest.raises(ValueError, match=r"names 'inpt', but the inputs are 'input' and the outputs 'output'"):
        torch.onnx.export(layer, torch.ones(1, 2), path, dynamic_axes={"inpt": {0: "b"}})
    assert not path.exists()
    torch.onnx.export(layer, torch.ones(1, 2), path, dynamic_axes={"input": {0: "b"}, "output": {0: "b"}})


@pytest.mark.parametrize("axes", [None, {"d_0": {0: "n"}, "d_1": {0: "n"}}])
def test_a_dict_at_the_end_of_the_arguments_has_arguments_by_name(axes: Any) -> None:
    class Sum(nn.Module):
        def forward(self, d: dict[str, torch.Tensor]) -> torch.Tensor:
            return d["a"] + d["b"]

    given = {"a": torch.ones(2), "b": torch.ones(2)}
    with pytest.raises(TypeError, match=r"taken for arguments by name.*add an empty one after it"):
        torch.onnx.export(Sum(), (given,), dynamic_axes=axes and {"a": {0: "n"}})
    assert [i.name for i in torch.onnx.export(Sum(), (given, {}), dynamic_axes=axes).model_proto.graph.input] == [
        "d_0",
        "d_1",
    ]
    by_name = torch.onnx.export(Sum(), ({"d": given},), dynamic_axes=axes)
    assert len(by_name.model_proto.graph.input) == 2
