"""Samples of views, and of rearranged copies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitorch import _op

from .sample import Sample, normal, sample


def _row(name: str, **params: Any) -> Callable[..., Any]:
    """A call of a row that has no public function."""
    return lambda torch, *inputs: _op.rows[name].call(*inputs, **params)


def _own(name: str, **params: Any) -> Sample:
    """A sample of a row that has no public function."""
    return sample(_row(name, **params), normal(2, 3, 2), in_torch=False)


def _with_shape(method: str, *arguments: Any) -> Callable[..., Any]:
    """A call of a method that changes the shape of the tensor itself."""
    return lambda torch, x: getattr(x * 1, method)(*arguments) * x.sum()


SAMPLES: dict[str, list[Sample]] = {
    # -- sizes
    "expand": [
        sample(lambda torch, x: x.expand(2, 3, 4), normal(3, 1)),
        sample(lambda torch, x: x.expand(-1, 3), normal(2, 1)),
        sample(lambda torch, x: torch.broadcast_to(x, (2, 3)), normal()),
        sample(lambda torch, x, y: torch.broadcast_tensors(x, y), normal(2, 1), normal(3)),
    ],
    "view": [
        sample(lambda torch, x: (x * 1).view(3, -1), normal(2, 3)),
        sample(lambda torch, x: x.reshape(-1), normal(2, 3, 2)),
        sample(lambda torch, x: x.unflatten(1, (2, 2)), normal(2, 4)),
        sample(lambda torch, x: torch.atleast_3d(x), normal()),
    ],
    "unsafe_view": [
        sample(lambda torch, x: x.mT.reshape(2, -1), normal(2, 3, 2)),
        sample(lambda torch, x: x.expand(2, 3).flatten(), normal(3)),
    ],
    "unsqueeze": [
        sample(lambda torch, x: x.unsqueeze(1), normal(2, 3)),
        sample(lambda torch, x: torch.unsqueeze(x, -1), normal()),
    ],
    "unsqueeze_dims": [_own("unsqueeze_dims", dim=(0, -1)), _own("unsqueeze_dims", dim=2)],
    "squeeze": [
        sample(lambda torch, x: x.squeeze(), normal(1, 3, 1)),
        sample(lambda torch, x: torch.squeeze(x), normal(2)),
    ],
    "squeeze_dim": [
        sample(lambda torch, x: x.squeeze(-1), normal(1, 3, 1)),
        sample(lambda torch, x: x.squeeze(1), normal(1, 3)),
        sample(lambda torch, x: x.squeeze(0), normal()),
    ],
    "squeeze_dims": [sample(lambda torch, x: x.squeeze((0, 1, -1)), normal(1, 3, 1))],
    # -- order of dimensions
    "transpose": [
        sample(lambda torch, x: x.transpose(0, -1), normal(2, 3, 2)),
        sample(lambda torch, x: torch.swapaxes(x, 0, 0), normal()),
        sample(lambda torch, x: x.mH, normal(2, 3)),
    ],
    "t": [sample(lambda torch, x: x.t(), normal(2, 3)), sample(lambda torch, x: torch.t(x), normal(2))],
    "mT": [sample(lambda torch, x: x.mT, normal(2, 3, 2))],
    "T": [sample(lambda torch, x: x.T, normal(2, 3))],
    "permute": [
        sample(lambda torch, x: x.permute(2, 0, 1), normal(2, 3, 1)),
        sample(lambda torch, x: torch.permute(x, (-1, 0)), normal(2, 3)),
        sample(lambda torch, x: torch.movedim(x, (0, 1), (-1, 0)), normal(2, 3, 1)),
    ],
    # -- in place
    "t_": [sample(_with_shape("t_"), normal(2, 3))],
    "transpose_": [sample(_with_shape("transpose_", 0, -1), normal(2, 3, 2))],
    "unsqueeze_": [sample(_with_shape("unsqueeze_", 1), normal(2, 3))],
    "squeeze_": [sample(_with_shape("squeeze_"), normal(1, 3, 1))],
    "squeeze_dim_": [sample(_with_shape("squeeze_", 0), normal(1, 3, 1))],
    "squeeze_dims_": [sample(_with_shape("squeeze_", (0, 2)), normal(1, 3, 1))],
    # -- parts and windows
    "diagonal": [
        sample(lambda torch, x: x.diagonal(), normal(3, 2)),
        sample(lambda torch, x: torch.diagonal(x, -1, 2, 0), normal(2, 2, 3)),
    ],
    "diagonal_backward": [_own("diagonal_backward", shape=(3, 2, 3, 4), offset=1, dim1=-1, dim2=0)],
    "unfold": [
        sample(lambda torch, x: x.unfold(0, 3, 2), normal(6, 2)),
        sample(lambda torch, x: x.unfold(-1, 2, 1), normal(2, 4)),
        sample(lambda torch, x: x.unfold(0, 1, 1), normal()),
    ],
    "unfold_backward": [_own("unfold_backward", shape=(5, 3), dimension=0, size=2, step=2)],
    "as_strided": [
        sample(lambda torch, x: (x * 1).as_strided((2, 3), (1, 2)), normal(2, 3)),
        sample(lambda torch, x: (x * 1).as_strided((3, 3), (1, 1), 1), normal(6)),
        sample(lambda torch, x: x.sum().expand(3).as_strided((2,), (0,)), normal(2)),
    ],
    "restride": [
        sample(
            _row("restride", source=((2, 3), (1, 1), 1), target=((2, 4), (0, 1), 0), shared=((2, 4), (0, 1), 0)),
            normal(2, 3),
            in_torch=False,
        )
    ],
    # -- rearranged copies
    "repeat": [
        sample(lambda torch, x: x.repeat(2, 3), normal(3)),
        sample(lambda torch, x: torch.tile(x, (2,)), normal(2, 3)),
    ],
    "flip": [
        sample(lambda torch, x: x.flip(0, -1), normal(2, 3, 2)),
        sample(lambda torch, x: torch.fliplr(x), normal(2, 3)),
    ],
    "roll": [
        sample(lambda torch, x: x.roll(1), normal(2, 3)),
        sample(lambda torch, x: torch.roll(x, (1, -2), (0, 1)), normal(2, 3)),
    ],
    "rot90": [
        sample(lambda torch, x: x.rot90(), normal(2, 3)),
        sample(lambda torch, x: torch.rot90(x, -2, (2, 0)), normal(2, 3, 2)),
    ],
    "tril": [
        sample(lambda torch, x: x.tril(), normal(2, 3, 3)),
        sample(lambda torch, x: torch.tril(x, -1), normal(3, 2)),
    ],
    "triu": [sample(lambda torch, x: x.triu(1), normal(2, 3, 3))],
    "diag_embed": [
        sample(lambda torch, x: torch.diag_embed(x, 1, 0, 2), normal(2, 3)),
        sample(lambda torch, x: torch.diag(x, -1), normal(3)),
        sample(lambda torch, x: torch.diagflat(x), normal(2, 2)),
    ],
    "diagonal_copy": [sample(lambda torch, x: torch.diag(x, 1), normal(2, 3))],
    "trace": [sample(lambda torch, x: x.trace(), normal(2, 3))],
}
