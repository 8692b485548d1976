"""Small models as people deploy them: every family of layers, and the models of docs/examples, at any batch size."""

from __future__ import annotations

import functools
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import minitorch as torch
from minitorch import nn
from minitorch.nn import functional as F

SIZES = (2, 5)
"""The batch sizes at which models are tried."""


class Deployed(NamedTuple):
    """A model and what it is fed.

    Attributes
    ----------
    build : callable
        Makes the module; `model` seeds it and puts it in eval mode.
    shapes : callable
        ``shapes(batch)`` makes the inputs; `inputs` seeds it.
    axes : tuple of (int or None)
        For each input, which of its axes is the batch.
    """

    build: Callable[[], nn.Module]
    shapes: Callable[[int], tuple[torch.Tensor, ...]]
    axes: tuple[int | None, ...]

    def model(self) -> nn.Module:
        """The module in eval mode, with parameters and buffers of which none is the neutral 0 or 1."""
        torch.manual_seed(0)
        model = self.build().eval()
        with torch.no_grad():
            for tensor in (*model.parameters(), *model.buffers()):
                if tensor.is_floating_point() and tensor.numel() and bool((tensor == tensor.reshape(-1)[0]).all()):
                    tensor.add_(torch.rand_like(tensor), alpha=0.5)
        return model

    def inputs(self, batch: int) -> tuple[torch.Tensor, ...]:
        """Inputs of a batch size."""
        torch.manual_seed(batch)
        return self.shapes(batch)


class Of(nn.Module):
    """A function of submodules, functions and inputs as a module."""

    def __init__(self, forward: Callable[..., Any], **parts: Any) -> None:
        super().__init__()
        self.function = forward
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.function(self, *inputs)


def normal(*sizes: int) -> Callable[[int], tuple[torch.Tensor, ...]]:
    """One input, of these sizes after the batch."""
    return lambda batch: (torch.randn(batch, *sizes),)


def plain(build: Callable[[], nn.Module], *sizes: int) -> Deployed:
    """A model of one input, of these sizes after the batch."""
    return Deployed(build, normal(*sizes), (0,))


def chain(*layers: Callable[[], nn.Module]) -> Callable[[], nn.Module]:
    """Layers one after another."""
    return lambda: nn.Sequential(*[layer() for layer in layers])


def of(forward: Callable[..., Any], **parts: Callable[[], Any]) -> Callable[[], nn.Module]:
    """See `Of`."""
    return lambda: Of(forward, **{name: part() for name, part in parts.items()})


make = functools.partial
EXAMPLES = Path(__file__).parents[1] / "docs" / "examples"


@functools.cache
def example(name: str) -> dict[str, Any]:
    """The names of a script in docs/examples."""
    return runpy.run_path(str(EXAMPLES / f"{name}.py"))


# -- layers ------------------------------------------------------------------------------------------------------------
class Residual(nn.Module):
    """A residual block as in ResNet."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(channels)
        self.second = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.relu(x + self.second(F.relu(self.norm(self.first(x)))))


class Depthwise(nn.Module):
    """Separable convolution, squeeze and excitation, as in small mobile networks."""

    def __init__(self) -> None:
        super().__init__()
        self.depth = nn.Conv2d(4, 4, 3, padding=1, groups=4)
        self.point = nn.Conv2d(4, 6, 1)
        self.squeeze = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(6, 3, 1), nn.ReLU(), nn.Conv2d(3, 6, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.hardswish(self.point(self.depth(x)))
        return x * F.hardsigmoid(self.squeeze(x))


class Activations(nn.Module):
    """All activations side by side."""

    def __init__(self) -> None:
        super().__init__()
        kinds = (
            "CELU ELU GELU SELU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU LogSigmoid Mish PReLU ReLU ReLU6 "
            "RReLU Sigmoid SiLU Softplus Softshrink Softsign Tanh Tanhshrink"
        )
        self.kinds = nn.ModuleList([getattr(nn, kind)() for kind in kinds.split()])
        self.kinds.append(nn.GELU(approximate="tanh"))
        self.kinds.append(nn.Threshold(0.1, 0.5))
        self.kinds.append(nn.Softplus(beta=2.0, threshold=1.0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.stack([kind(x) for kind in self.kinds], dim=1)


def heads(self: Any, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    scores = self.linear(x)
    return F.softmax(scores, -1), F.log_softmax(scores, -1), F.softmin(scores, -1), F.glu(scores), scores.argmax(1)


def pools2d(self: Any, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return (
        F.max_pool2d(x, 2),
        F.max_pool2d(x, 3, stride=2, padding=1, ceil_mode=True),
        F.avg_pool2d(x, 3, stride=2, padding=1, count_include_pad=False),
        F.lp_pool2d(x, 2.0, 2),
        F.adaptive_avg_pool2d(x, (3, 2)),
        F.adaptive_max_pool2d(x, 2),
    )


def pools1d(self: Any, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return (
        F.max_pool1d(x, 2),
        F.avg_pool1d(x, 3, stride=2, padding=1),
        F.lp_pool1d(x, 2.0, 2),
        F.adaptive_avg_pool1d(x, 3),
        F.adaptive_max_pool1d(x, 4),
    )


def pools3d(self: Any, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return F.max_pool3d(x, 2), F.avg_pool3d(x, 2), F.adaptive_avg_pool3d(x, 2), F.adaptive_max_pool3d(x, 1)


def paddings(self: Any, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return tuple([F.pad(x, (1, 2, 0, 1), mode=mode) for mode in ("constant", "reflect", "replicate", "circular")])


def resized(self: Any, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return (
        F.interpolate(x, scale_factor=2, mode="nearest"),
        F.interpolate(x, size=(7, 9), mode="bilinear", align_corners=False),
        F.interpolate(x, size=(7, 9), mode="bilinear", align_corners=True),
        F.interpolate(x, scale_factor=2, mode="bicubic", align_corners=False),
        F.interpolate(x, size=(3, 2), mode="area"),
    )


def shuffled(self: Any, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return F.pixel_shuffle(x, 2), F.pixel_unshuffle(x, 2), F.channel_shuffle(x, 2)


def unfolded(self: Any, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    patches = F.unfold(x, 3, padding=1, stride=2)
    return patches, F.fold(patches, (6, 6), 3, padding=1, stride=2)


def tokens(count: int, *sizes: int) -> Callable[[int], tuple[torch.Tensor, ...]]:
    """One input of numbers below *count*, of these sizes after the batch."""
    return lambda batch: (torch.randint(count, (batch, *sizes)),)


def cells(self: Any, x: torch.Tensor, h: torch.Tensor) -> torch.Tensor:
    c = h
    for step in x:
        h = self.rnn(step, h)
        h = self.gru(step, h)
        h, c = self.lstm(step, (h, c))
    return h + c


def recurrent(kind: str, **options: Any) -> Deployed:
    """A recurrent layer, time first."""
    return Deployed(lambda: getattr(nn, kind)(3, 4, **options), lambda batch: (torch.randn(6, batch, 3),), (1,))


def attend(self: Any, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    mixed, weights = self.attention(x, x, x)
    return mixed, weights


LAYERS = {
    "linear": plain(make(nn.Linear, 3, 4), 3),
    "mlp": plain(chain(make(nn.Linear, 2, 16), nn.Tanh, make(nn.Linear, 16, 16), nn.Tanh, make(nn.Linear, 16, 1)), 2),
    "activations": plain(Activations, 7),
    "heads": plain(of(heads, linear=make(nn.Linear, 3, 6)), 3),
    "softmax2d": plain(nn.Softmax2d, 3, 2, 2),
    "conv1d": plain(chain(make(nn.Conv1d, 2, 4, 3, padding=1), nn.ReLU, make(nn.Conv1d, 4, 2, 3, stride=2)), 2, 9),
    "conv2d": plain(
        chain(make(nn.Conv2d, 3, 4, 3), nn.ReLU, make(nn.Conv2d, 4, 4, 3, stride=2, padding=2, dilation=2, groups=2)),
        3,
        8,
        8,
    ),
    "conv2d padded": plain(
        chain(make(nn.Conv2d, 2, 3, 3, padding="same"), make(nn.Conv2d, 3, 2, 3, padding=1, padding_mode="reflect")),
        2,
        6,
        6,
    ),
    "conv3d": plain(make(nn.Conv3d, 2, 3, (2, 3, 3), padding=1), 2, 4, 5, 5),
    "conv transposed": plain(
        chain(
            make(nn.ConvTranspose2d, 3, 4, 3, stride=2, padding=1, output_padding=1), make(nn.ConvTranspose2d, 4, 2, 2)
        ),
        3,
        4,
        4,
    ),
    "conv transposed 1d": plain(make(nn.ConvTranspose1d, 3, 4, 3, stride=2, bias=False), 3, 5),
    "conv transposed 3d": plain(make(nn.ConvTranspose3d, 2, 3, 2, stride=2), 2, 3, 3, 3),
    "pools": plain(of(pools2d), 2, 7, 7),
    "pools 1d": plain(of(pools1d), 2, 9),
    "pools 3d": plain(of(pools3d), 2, 4, 5, 4),
    "batch norm": plain(make(nn.BatchNorm1d, 4), 4),
    "batch norm 2d": plain(make(nn.BatchNorm2d, 3), 3, 4, 4),
    "layer norm": plain(make(nn.LayerNorm, (3, 4)), 3, 4),
    "group norm": plain(make(nn.GroupNorm, 2, 4), 4, 5),
    "instance norm": plain(make(nn.InstanceNorm2d, 3, affine=True), 3, 4, 4),
    "rms norm": plain(make(nn.RMSNorm, 5), 3, 5),
    "local response norm": plain(make(nn.LocalResponseNorm, 2), 4, 3, 3),
    "embedding": Deployed(make(nn.Embedding, 11, 4, padding_idx=0), tokens(11, 6), (0,)),
    "embedding bag": Deployed(make(nn.EmbeddingBag, 11, 4), tokens(11, 6), (0,)),
    "rnn": recurrent("RNN", num_layers=2),
    "lstm": recurrent("LSTM", num_layers=2),
    "lstm both ways": recurrent("LSTM", bidirectional=True),
    "gru": recurrent("GRU", num_layers=2, bidirectional=True),
    "gru batch first": plain(make(nn.GRU, 3, 4, batch_first=True), 6, 3),
    "cells": Deployed(
        of(cells, rnn=make(nn.RNNCell, 3, 4), gru=make(nn.GRUCell, 3, 4), lstm=make(nn.LSTMCell, 3, 4)),
        lambda batch: (torch.randn(5, batch, 3), torch.randn(batch, 4)),
        (1, 0),
    ),
    "attention": plain(of(attend, attention=make(nn.MultiheadAttention, 8, 2, batch_first=True)), 5, 8),
    "encoder": plain(
        lambda: nn.TransformerEncoder(
            nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2, enable_nested_tensor=False
        ),
        5,
        8,
    ),
    "encoder, norm first": plain(
        make(nn.TransformerEncoderLayer, 8, 2, 16, activation="gelu", norm_first=True, batch_first=True), 5, 8
    ),
    "decoder": Deployed(
        lambda: nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16, batch_first=True), 1),
        lambda batch: (torch.randn(batch, 4, 8), torch.randn(batch, 5, 8)),
        (0, 0),
    ),
    "transformer": Deployed(
        make(nn.Transformer, 8, 2, 1, 1, 16, batch_first=True),
        lambda batch: (torch.randn(batch, 5, 8), torch.randn(batch, 4, 8)),
        (0, 0),
    ),
    "padding": plain(of(paddings), 2, 4, 5),
    "upsampling": plain(
        chain(make(nn.Upsample, scale_factor=2), make(nn.UpsamplingBilinear2d, scale_factor=2)), 2, 3, 3
    ),
    "interpolation": plain(of(resized), 2, 5, 4),
    "pixel shuffle": plain(of(shuffled), 4, 4, 4),
    "unfold and fold": plain(of(unfolded), 2, 6, 6),
    "bilinear": Deployed(
        make(nn.Bilinear, 3, 4, 5), lambda batch: (torch.randn(batch, 3), torch.randn(batch, 4)), (0, 0)
    ),
    "cosine similarity": Deployed(
        nn.CosineSimilarity, lambda batch: (torch.randn(batch, 6), torch.randn(batch, 6)), (0, 0)
    ),
    "pairwise distance": Deployed(
        nn.PairwiseDistance, lambda batch: (torch.randn(batch, 6), torch.randn(batch, 6)), (0, 0)
    ),
    "residual": plain(chain(make(Residual, 4), make(Residual, 4), nn.Flatten, make(nn.Linear, 64, 3)), 4, 4, 4),
    "depthwise": plain(Depthwise, 4, 5, 5),
    "dropout": plain(chain(make(nn.Linear, 4, 4), nn.Dropout, nn.AlphaDropout, make(nn.Unflatten, 1, (2, 2))), 4),
}


# -- the models of docs/examples ---------------------------------------------------------------------------------------
class Letters(nn.Module):
    """docs/examples/names.py, for names of one length."""

    def __init__(self, cell: str) -> None:
        super().__init__()
        speller = example("names")["Speller"](cell, 12)
        self.embed, self.recur, self.score = speller.embed, speller.recur, speller.score

    def forward(self, letters: torch.Tensor) -> torch.Tensor:
        return self.score(self.recur(self.embed(letters))[0])


def letters(cell: str) -> Deployed:
    """Names of seven letters, time first."""
    return Deployed(make(Letters, cell), lambda batch: (torch.randint(27, (7, batch)),), (1,))


def reversing(batch: int) -> tuple[torch.Tensor, ...]:
    torch.manual_seed(batch)
    lengths = torch.randint(1, 6, (batch, 1))
    digits = torch.where(torch.arange(5) < lengths, torch.randint(10, (batch, 5)), 10)
    return digits, torch.randint(10, (batch, 6))


def integrated(self: Any, y: torch.Tensor) -> torch.Tensor:
    return self.integrate(self.velocity, y, 4)


def adapted(self: Any, x: torch.Tensor, y: torch.Tensor, others: torch.Tensor) -> torch.Tensor:
    weights = list(self.network.parameters())
    with torch.enable_grad():
        found = self.adapt(weights, x, y)
    return self.predict(found, others).detach()


def peaks(self: Any, x: torch.Tensor) -> torch.Tensor:
    truth = torch.tensor([3.0, 4.5, 7.0]), torch.tensor([0.5, 0.8, 0.4]), torch.tensor([1.0, 0.7, 1.3])
    return self.spectrum(x, *truth)


MLP3 = chain(make(nn.Linear, 1, 8), nn.ReLU, make(nn.Linear, 8, 8), nn.ReLU, make(nn.Linear, 8, 1))
EXAMPLE_MODELS = {
    "names, RNN": letters("RNN"),
    "names, LSTM": letters("LSTM"),
    "names, GRU": letters("GRU"),
    "gpt": Deployed(lambda: example("gpt")["GPT"](20, 6, 16, 2, 4, 0.1), tokens(20, 6), (0,)),
    "reverse": Deployed(lambda: example("reverse")["Reverser"](16, 5), reversing, (0, 0)),
    "digits": plain(lambda: example("digits")["make_network"](), 1, 8, 8),
    "convnet": plain(lambda: example("convnet")["make_network"](4), 1, 8, 8),
    "vae, encoder": plain(
        of(lambda self, x: self.vae.encode(x).chunk(2, 1), vae=lambda: example("vae")["VAE"](16)), 64
    ),
    "vae, decoder": plain(of(lambda self, z: self.vae.decode(z).sigmoid(), vae=lambda: example("vae")["VAE"](16)), 8),
    "gan, generator": plain(lambda: example("gan")["make_network"](8, 2, 16), 8),
    "cartpole, policy": plain(chain(make(nn.Linear, 4, 16), nn.Tanh, make(nn.Linear, 16, 2), make(nn.Softmax, -1)), 4),
    "heat": plain(chain(make(nn.Linear, 2, 8), nn.Tanh, make(nn.Linear, 8, 8), nn.Tanh, make(nn.Linear, 8, 1)), 2),
    "maml": plain(MLP3, 1),
    "maml, adapted": Deployed(
        of(adapted, network=MLP3, **{name: lambda name=name: example("maml")[name] for name in ("adapt", "predict")}),
        lambda batch: (torch.randn(batch, 1), torch.randn(batch, 1), torch.randn(batch, 1)),
        (0, 0, 0),
    ),
    "ode": plain(
        of(
            integrated,
            velocity=lambda: example("ode")["Velocity"](10),
            integrate=lambda: example("ode")["integrate"],
        ),
        2,
    ),
    "peaks": plain(of(peaks, spectrum=lambda: example("peaks")["spectrum"])),
    "spikes": Deployed(
        lambda: example("spikes")["SpikingNetwork"](3, 6, 2), lambda batch: (torch.randn(8, batch, 3),), (1,)
    ),
}

MODELS: dict[str, Deployed] = LAYERS | EXAMPLE_MODELS
"""All of them by name."""
