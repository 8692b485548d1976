"""Models as people write them: exported once, run at several sizes of a batch and of lengths."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch as torch
from minitorch import nn
from minitorch._pytree import tree_flatten
from minitorch.nn import functional as F

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

OPTIONS = onnxruntime.SessionOptions()
OPTIONS.intra_op_num_threads = OPTIONS.inter_op_num_threads = 1
OPTIONS.log_severity_level = 4


def run(program: Any, inputs: tuple[torch.Tensor, ...]) -> list[np.ndarray]:
    session = onnxruntime.InferenceSession(program.model_proto.SerializeToString(), OPTIONS)
    given = {i.name: np.array(t.numpy()) for i, t in zip(program.model_proto.graph.input, inputs, strict=True)}
    return list(session.run(None, given))


def tensors_in(value: Any) -> list[np.ndarray]:
    return [leaf.numpy() for leaf in tree_flatten(value)[0] if isinstance(leaf, torch.Tensor)]


class Head(nn.Module):
    def __init__(self, size: int, block: int) -> None:
        super().__init__()
        self.qkv = nn.Linear(size, 3 * size, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(block, block)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        T = x.shape[1]
        q, k, v = self.qkv(x).chunk(3, -1)
        scores = (q @ k.transpose(-2, -1) * k.shape[-1] ** -0.5).masked_fill(self.tril[:T, :T] == 0, float("-inf"))
        return F.dropout(F.softmax(scores, dim=-1), 0.2, self.training) @ v


class CharGPT(nn.Module):
    """A table of positions, and a mask, that are all of theirs at the greatest length."""

    def __init__(self) -> None:
        super().__init__()
        self.token, self.position, self.head = nn.Embedding(9, 8), nn.Embedding(12, 8), Head(8, 12)
        self.out = nn.Linear(8, 9, bias=False)
        self.out.weight = self.token.weight

    def forward(self, index: torch.Tensor) -> tuple[torch.Tensor, None]:
        x = self.token(index) + self.position(torch.arange(index.size(1), device=index.device))
        return self.out(x + self.head(x)), None


class UNet(nn.Module):
    """Upsampled to half the size or one less, padded, joined."""

    def __init__(self) -> None:
        super().__init__()
        self.down, self.middle, self.up = [nn.Conv2d(i, o, 3, padding=1) for i, o in ((1, 4), (4, 4), (8, 1))]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        a = F.relu(self.down(x))
        b = F.max_pool2d(a, 2)
        m = F.interpolate(self.middle(F.max_pool2d(b, 2)), scale_factor=2, mode="bilinear", align_corners=True)
        dy, dx = b.size(2) - m.size(2), b.size(3) - m.size(3)
        m = F.pad(m, [dx // 2, dx - dx // 2, dy // 2, dy - dy // 2])
        return F.interpolate(self.up(torch.cat([b, m], 1)), size=a.shape[-2:])


class Detector(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features, self.scores, self.boxes = nn.Conv2d(3, 6, 3, 2, 1), nn.Conv2d(6, 4, 1), nn.Conv2d(6, 4, 1)

    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        f = F.relu(self.features(x))
        h, w = f.shape[-2:]
        scores, boxes = self.scores(f).flatten(2).transpose(1, 2).sigmoid(), self.boxes(f).flatten(2).transpose(1, 2)
        best, label = scores.max(-1)
        top, index = best.topk(3, dim=1)
        ys, xs = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
        centers = torch.stack([xs, ys], -1).reshape(1, -1, 2) + 0.5
        boxes = torch.cat([boxes[..., :2].sigmoid() * 2 + centers, boxes[..., 2:].exp()], -1)
        boxes = boxes.gather(1, index.unsqueeze(-1).expand(-1, -1, 4))
        label = label.gather(1, index)
        return {"boxes": boxes, "labels": torch.where(top > 0.5, label, torch.full_like(label, -1)), "scores": top}


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.gru = nn.LSTM(3, 4, 2, batch_first=True), nn.GRU(4, 5, batch_first=True, bidirectional=True)

    def forward(self, x: torch.Tensor, h: torch.Tensor, c: torch.Tensor) -> Any:
        y, state = self.lstm(x, (h, c))
        return self.gru(y)[0][:, -1], state


class Warped(nn.Module):
    def forward(self, x: torch.Tensor, theta: torch.Tensor) -> torch.Tensor:
        return F.grid_sample(x, F.affine_grid(theta, list(x.shape), align_corners=False), align_corners=False)


class Bagged(nn.Module):
    def __init__(self, mode: str) -> None:
        super().__init__()
        self.bag = nn.EmbeddingBag(9, 4, mode=mode)

    def forward(self, tokens: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
        return self.bag(tokens, offsets)


Inputs = Callable[..., tuple[torch.Tensor, ...]]
IMAGE, TEXT = {0: "n", 2: "h", 3: "w"}, {0: "n", 1: "t"}
IMAGES = [{"n": 2, "h": 16, "w": 20}, {"n": 1, "h": 18, "w": 13}, {"n": 3, "h": 23, "w": 24}]
TEXTS = [{"n": 2, "t": 6}, {"n": 1, "t": 12}, {"n": 4, "t": 3}]


def indices(n: int, t: int) -> tuple[torch.Tensor, ...]:
    return (torch.randint(0, 9, (n, t)),)


def bags(n: int, t: int) -> tuple[torch.Tensor, ...]:
    return torch.randint(0, 9, (t,)), torch.tensor([0, 2, 2, 3][:n])


def images(*channels: int) -> Inputs:
    return lambda n, h, w: (torch.randn(n, *channels, h, w),)


CASES: dict[str, tuple[Callable[[], nn.Module], Inputs, list[dict[int, str]], list[dict[str, int]]]] = {
    "a character model up to its greatest length": (CharGPT, indices, [TEXT], TEXTS),
    "skips of odd sizes": (UNet, images(1), [IMAGE], IMAGES),
    "a detector": (Detector, images(3), [IMAGE], IMAGES),
    "recurrent layers with their states": (
        Recurrent,
        lambda n, t: (torch.randn(n, t, 3), torch.randn(2, n, 4), torch.randn(2, n, 4)),
        [TEXT, {1: "n"}, {1: "n"}],
        TEXTS,
    ),
    "images warped by affine maps": (
        Warped,
        lambda n, h, w: (torch.randn(n, 2, h, w), torch.eye(2, 3).repeat(n, 1, 1) + 0.1 * torch.randn(n, 2, 3)),
        [IMAGE, {0: "n"}],
        IMAGES,
    ),
    **{
        f"bags of several lengths: {mode}": (lambda mode=mode: Bagged(mode), bags, [{0: "t"}, {0: "n"}], TEXTS)  # type: ignore[misc]
        for mode in ("sum", "mean")
    },
}


@pytest.mark.parametrize("name", CASES)
def test_models_at_varying_sizes(name: str) -> None:
    make, inputs, axes, at = CASES[name]
    torch.manual_seed(0)
    model, names = make(), [f"x{n}" for n in range(len(axes))]
    program = torch.onnx.export(model, inputs(**at[0]), input_names=names, dynamic_axes=dict(zip(names, axes)))
    model.eval()
    for sizes in at:
        given = inputs(**sizes)
        with torch.no_grad():
            expected = tensors_in(model(*given))
        for found, known in zip(run(program, given), expected, strict=True):
            assert found.dtype == known.dtype
            np.testing.assert_allclose(found, known, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("mode", "padding", "corners"),
    [*itertools.product(("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection"), (True, False))],
)
def test_images_sampled_at_a_grid(mode: str, padding: str, corners: bool) -> None:
    def sample(x: torch.Tensor, grid: torch.Tensor) -> torch.Tensor:
        return F.grid_sample(x, grid, mode=mode, padding_mode=padding, align_corners=corners)

    torch.manual_seed(0)
    axes = {"x": {0: "n", 2: "h", 3: "w"}, "grid": {0: "n", 1: "p", 2: "q"}}
    program = torch.onnx.export(sample, (torch.randn(2, 2, 6, 7), torch.randn(2, 3, 4, 2)), dynamic_axes=axes)
    x, grid = torch.randn(1, 2, 9, 5), 1.3 * torch.randn(1, 2, 6, 2)
    grid.view(-1)[:4] = torch.tensor([float("nan"), float("inf"), 0.5, -1e9])
    np.testing.assert_allclose(run(program, (x, grid))[0], sample(x, grid).numpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_running_results_along_axes_that_vary(dim: int) -> None:
    def function(x: torch.Tensor) -> Any:
        return x.cummax(dim), x.cummin(dim), x.cumprod(dim), x.median(dim), x.median(), (x > 0).cummax(dim)

    program = torch.onnx.export(function, torch.randn(2, 4, 3), dynamic_axes={"x": {0: "a", 1: "b", 2: "c"}})
    for sizes in ((3, 1, 5), (1, 7, 2)):
        torch.manual_seed(0)
        x = torch.randn(sizes).round()  # of which some are equal
        for found, known in zip(run(program, (x,)), tensors_in(function(x)), strict=True):
            assert found.dtype == known.dtype
            np.testing.assert_allclose(found, known, rtol=1e-5)


# -- special values ----------------------------------------------------------------------------------------------------
NAN, INF = float("nan"), float("inf")
VALUES = torch.tensor(
    [NAN, INF, -INF, -0.0, 0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.1, 1e-8, -1e-8, 1e30, 100.0, -100.0]
)
FEW = torch.tensor([NAN, INF, -INF, 0.0, 1.0, -1.0, 2.0, -3.0, 0.5, 0.1])
ONE, OTHER = [t.reshape(-1) for t in torch.meshgrid(FEW, FEW, indexing="ij")]
FINITE = OTHER.isfinite()
WHOLE = torch.tensor([1, -1, 2, -2, 3, -3, 7, -7, 5, -5])
A, B = [t.reshape(-1) for t in torch.meshgrid(WHOLE, WHOLE, indexing="ij")]
LARGE = torch.tensor([0, 1, -1, 7, -7, 2**31 - 1, -(2**31), 2**62, -(2**63), 2**63 - 1])
SPECIAL: dict[str, tuple[Any, tuple[torch.Tensor, ...]]] = {
    **{
        name: (getattr(torch, name), (VALUES,))
        for name in ("sign", "signbit", "expm1", "log1p", "trunc", "round", "relu", "exp", "log", "sqrt", "tanh", "square")
    },
    "softshrink": (F.softshrink, (VALUES,)),
    "hardshrink": (F.hardshrink, (VALUES,)),
    "threshold": (lambda x: F.threshold(x, 0.1, 20.0), (VALUES,)),
    "clamp": (lambda x: (x.clamp(-1, 1), x.clamp(min=0), x.clamp(2, -2)), (VALUES,)),
    "powers": (lambda x: (x**2, x**3, x**0.5, x**-1, x**1.5, 2.0**x, (-2.0) ** x), (VALUES,)),
    **{
        name: (getattr(torch, name), (ONE, OTHER))
        for name in ("atan2", "remainder", "fmod", "logaddexp", "logaddexp2", "xlogy", "isclose", "maximum", "fmax", "pow")
    },
    "floor_divide": (torch.floor_divide, (ONE[FINITE], OTHER[FINITE])),
    **{
        f"{name} of {dtype}": (getattr(torch, name), (A.to(dtype) * scale, B.to(dtype)))
        for name in ("floor_divide", "remainder", "fmod", "maximum", "minimum", "mul")
        for dtype, scale in ((torch.int64, 1), (torch.int32, 1), (torch.int16, 4000), (torch.int8, 18))
    },
    "large integers": (lambda x: (x // 3, x // -3, x % -3, x**3, x**5, x * 3, x.relu(), x.sign()), (LARGE,)),
    "bools": (lambda x, y: (torch.maximum(x, y), torch.minimum(x, y), x.sort()[0], x.max(0)[0]), (A > 0, B > 1)),
    "equal elements": (
        lambda x: (x.argmax(1), x.sort(1), x.topk(2, 1), x.max(1)),
        (torch.tensor([[1.0, 3, 3, 1], [0, 0, 0, 0]]),),
    ),
    "hidden rows": (
        lambda x: F.scaled_dot_product_attention(torch.ones(3, 2), torch.ones(2, 2), torch.ones(2, 2), attn_mask=x),
        (torch.tensor([[-INF, -INF], [NAN, 1.0], [0.0, -INF]]),),
    ),
    "no elements": (
        lambda x: (x.sum(0), x.softmax(1), x.T @ x, x.cumsum(0), x.sort(1), torch.cat([x, x + 1])),
        (torch.ones(0, 3),),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SPECIAL)
def test_special_values(name: str) -> None:
    function, inputs = SPECIAL[name]
    program = torch.onnx.export(function, inputs, input_names=[f"x{n}" for n in range(len(inputs))])
    for found, known in zip(run(program, inputs), tensors_in(function(*inputs)), strict=True):
        assert found.dtype == known.dtype
        np.testing.assert_allclose(found, known, rtol=2e-5, atol=0 if name in ("expm1", "log1p") else 1e-6)
