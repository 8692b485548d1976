"""Random programs of a batch of rows: views, writes into them, and sizes, exported once and run at other sizes."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

import minitorch as torch

pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

Step = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def shifted(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    out = a.clone()
    out.t()[1:].copy_(b.t()[:-1])
    return out


def first_row(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    out = a.clone()
    out[0].mul_(b[1])
    return out


def padded(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    out = torch.zeros(a.shape[0], 3)
    out[:-1] = a[1:]
    out[-1] = 1
    return out


def negated(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    out = a.clone()
    flat = out.view(-1)
    flat[::2].neg_()
    return out + flat.view(a.shape)


def masked(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    out = a.clone()
    out[out > 0.3] = 0.1
    out[:, [0, 2]] = b[:, 1:]
    return out


STEPS: list[Step] = [
    lambda a, b: a * b.sigmoid(),
    lambda a, b: a - b[1],
    lambda a, b: torch.stack(a.unbind(1), 1).flip(0),
    lambda a, b: a.t().reshape(-1, 3) + a.sum(0).expand(a.shape),
    lambda a, b: (a + 0).add_(b),
    lambda a, b: torch.cat(a.split([1, 2], 1)[::-1], 1),
    lambda a, b: torch.where(a > 0.5, a, b),
    lambda a, b: torch.cat([a, b])[: a.shape[0]].roll(1, 0),
    lambda a, b: (a - a.mean(0, keepdim=True)).softmax(0),
    lambda a, b: (a @ b.t()).tril() @ a / a.shape[0],
    lambda a, b: a.cumsum(0) / torch.arange(1, a.shape[0] + 1)[:, None],
    lambda a, b: a.gather(0, b.argsort(0)),
    lambda a, b: a.unsqueeze(0).expand(2, a.shape[0], 3).sum(0),
    shifted,
    first_row,
    padded,
    negated,
    masked,
]


def program(seed: int) -> Callable[..., tuple[torch.Tensor, ...]]:
    """A function of two batches."""

    def function(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        rng = random.Random(seed)
        pool = [x, y]
        for _ in range(rng.randrange(3, 16)):
            pool.append(rng.choice(STEPS)(rng.choice(pool), rng.choice(pool)))
        return pool[-1], rng.choice(pool[2:]).sum(), pool[-2]

    return function


@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed: int) -> None:
    function = program(seed)
    torch.manual_seed(seed)
    example = torch.randn(3, 3), torch.randn(3, 3)
    exported = torch.onnx.export(function, example, dynamic_axes={"x": {0: "n"}, "y": {0: "n"}})
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(exported.model_proto.SerializeToString(), options)
    for count in (3, 2, 11):
        x, y = torch.randn(count, 3), torch.randn(count, 3)
        found = session.run(None, {"x": np.array(x.numpy()), "y": np.array(y.numpy())})
        for ours, theirs in zip(function(x.clone(), y.clone()), found, strict=True):
            np.testing.assert_allclose(theirs, ours.numpy(), rtol=1e-4, atol=1e-5)
