"""Attention and transformers with masks: the files of either mode of gradients compute what inference gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch as torch
from minitorch import nn

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

OPTIONS = onnxruntime.SessionOptions()
OPTIONS.intra_op_num_threads = OPTIONS.inter_op_num_threads = 1
OPTIONS.log_severity_level = 4
AXES = {"x": {0: "n", 1: "t"}, "padding": {0: "n", 1: "t"}, "mask": {0: "t", 1: "t"}}
SIZES = ((3, 5), (1, 7), (4, 2))


def padding(n: int, t: int, dtype: Any = torch.bool, *, at_the_end: bool = True) -> torch.Tensor:
    """Which elements are padding: ever more of a sequence."""
    hidden = torch.arange(t) >= t - torch.arange(n).clamp(max=t - 1).unsqueeze(1)
    hidden = hidden if at_the_end else hidden.flip(1)
    return hidden if dtype is torch.bool else torch.zeros(n, t).masked_fill(hidden, float("-inf"))


def layer(**options: Any) -> nn.TransformerEncoderLayer:
    return nn.TransformerEncoderLayer(8, 2, 16, **{"batch_first": True, **options})


class Encoded(nn.Module):
    def __init__(self, encoder: Callable[[], nn.Module]) -> None:
        super().__init__()
        self.encoder = encoder()

    def forward(self, x: torch.Tensor, padding: torch.Tensor) -> torch.Tensor:
        return self.encoder(x, src_key_padding_mask=padding)


class Masked(Encoded):
    def forward(self, x: torch.Tensor, padding: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return self.encoder(x, mask, padding)


class Attends(nn.Module):
    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True, **options)

    def forward(self, x: torch.Tensor, padding: torch.Tensor, mask: torch.Tensor) -> Any:
        return self.attention(x, x, x, key_padding_mask=padding, attn_mask=mask, average_attn_weights=False)


class Decodes(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16, batch_first=True), 2)

    def forward(self, x: torch.Tensor, padding: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return self.decoder(
            x, x * 2, tgt_mask=mask, tgt_key_padding_mask=padding, memory_key_padding_mask=padding, memory_mask=mask
        )


ENCODERS: dict[str, Callable[[], nn.Module]] = {
    "encoder": lambda: nn.TransformerEncoder(layer(), 2),
    "encoder with a norm, of gelu": lambda: nn.TransformerEncoder(layer(activation="gelu"), 2, nn.LayerNorm(8)),
    "encoder that norms first": lambda: nn.TransformerEncoder(layer(norm_first=True), 1, enable_nested_tensor=False),
    "encoder without nested tensors": lambda: nn.TransformerEncoder(layer(), 1, enable_nested_tensor=False),
    "encoder that checks no mask": lambda: nn.TransformerEncoder(layer(), 1, mask_check=False),
    "layer": layer,
}
MODELS: dict[str, Callable[[], nn.Module]] = {
    **{name: lambda make=make: Encoded(make) for name, make in ENCODERS.items()},  # type: ignore[misc]
    **{f"{name}, masked": lambda make=make: Masked(make) for name, make in ENCODERS.items()},  # type: ignore[misc]
    "attention": Attends,
    "attention with further keys": lambda: Attends(add_bias_kv=True, add_zero_attn=True),
    "decoder": Decodes,
}


def run(program: Any, inputs: tuple[torch.Tensor, ...]) -> list[np.ndarray]:
    session = onnxruntime.InferenceSession(program.model_proto.SerializeToString(), OPTIONS)
    given = {i.name: np.array(t.numpy()) for i, t in zip(program.model_proto.graph.input, inputs, strict=True)}
    return list(session.run(None, given))


def inputs(model: nn.Module, n: int, t: int, dtype: Any = torch.bool, **options: Any) -> tuple[torch.Tensor, ...]:
    later = torch.ones(t, t).triu(1) > 0
    mask = later if dtype is torch.bool else torch.zeros(t, t).masked_fill(later, -9.0)
    return torch.randn(n, t, 8), padding(n, t, dtype, **options), *[mask] * (type(model) is not Encoded)


def assert_inference(program: Any, model: nn.Module, given: tuple[torch.Tensor, ...]) -> None:
    with torch.no_grad():
        expected = model(*given)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for found, known in zip(run(program, given), expected, strict=True):
        np.testing.assert_allclose(found, known.numpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("recording", [True, False])
@pytest.mark.parametrize("dtype", [torch.bool, torch.float32])
@pytest.mark.parametrize("name", MODELS)
def test_masks(name: str, dtype: Any, recording: bool) -> None:
    torch.manual_seed(0)
    model = MODELS[name]()
    given = inputs(model, 3, 5, dtype)
    with torch.set_grad_enabled(recording):
        program = torch.onnx.export(model, given, dynamic_axes=dict([*AXES.items()][: len(given)]))
    model.eval()
    for n, t in SIZES:
        for at_the_end in (True, False):
            assert_inference(program, model, inputs(model, n, t, dtype, at_the_end=at_the_end))


@pytest.mark.parametrize("recording", [True, False])
@pytest.mark.parametrize("mode", [torch.onnx.TrainingMode.EVAL, torch.onnx.TrainingMode.PRESERVE])
def test_padding_of_an_encoder_is_zeros_in_every_mode_of_inference(mode: Any, recording: bool) -> None:
    torch.manual_seed(0)
    model = Encoded(ENCODERS["encoder"]).eval()
    with torch.set_grad_enabled(recording):
        program = torch.onnx.export(model, inputs(model, 3, 5), training=mode)
    given = inputs(model, 3, 5)
    (found,) = run(program, given)
    assert (found[given[1].numpy()] == 0).all()
    assert (found[~given[1].numpy()] != 0).all()


def test_padding_of_an_encoder_in_training_is_computed() -> None:
    torch.manual_seed(0)
    model = Encoded(lambda: nn.TransformerEncoder(layer(dropout=0.0), 2)).train()
    given = inputs(model, 3, 5)
    program = torch.onnx.export(model, given, training=torch.onnx.TrainingMode.TRAINING)
    (found,) = run(program, given)
    assert (found[given[1].numpy()] != 0).all()
    np.testing.assert_allclose(found, model(*given).detach().numpy(), rtol=1e-5, atol=1e-5)
