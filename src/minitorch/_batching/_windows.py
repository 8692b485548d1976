"""Rules of convolutions and of recurrent layers: the batch becomes further examples, or further groups of channels."""

from __future__ import annotations

from typing import Any

from ._batch import Batch, call, padded, reshaped
from ._shapes import flattened, unfolded


# -- convolutions ------------------------------------------------------------------------------------------------------
def with_channels(tensor: Any) -> Any:
    """A batch ``(B, N, C, ...)`` as channels: ``(N, B * C, ...)``."""
    turned = call("transpose", [tensor], {"dim0": 0, "dim1": 1})
    size, batch, count, *rest = turned._array.shape
    return reshaped(turned, size, batch * count, *rest)


def without_channels(tensor: Any, size: int) -> Any:
    """The inverse."""
    count, channels, *rest = tensor._array.shape
    apart = reshaped(tensor, count, size, channels // size, *rest)
    return call("transpose", [apart], {"dim0": 0, "dim1": 1})


def conv(batch: Batch) -> Any:
    """A convolution, or its adjoint by the input; a bias is added on its own where it cannot stay."""
    params, size = batch.params, batch.size
    shape = params.get("shape")
    if not any(batch.batched[1:]):
        more = {} if shape is None else {"shape": (size * shape[0], *shape[1:])}
        out = batch.again([flattened(batch.tensors[0]), *batch.tensors[1:]], **more)
        return unfolded(out, size, out._array.shape[0] // size)
    inputs, weights = with_channels(batch.whole(0)), flattened(batch.whole(1))
    moved = params | {"groups": params["groups"] * size}
    if shape is not None:
        moved["shape"] = (shape[0], size * shape[1], *shape[2:])
    name = batch.row.name.removesuffix("_bias")
    out = without_channels(call(name, [inputs, weights], moved), size)
    if len(batch.tensors) > 2:
        bias = padded(batch.whole(2), 1)
        out = out + padded(bias, batch.ranks[0] - 2, 3)
    return out


def conv_weight_grad(batch: Batch) -> Any:
    """The adjoint by the weight: each example's are groups of its own."""
    size, (outputs, *rest) = batch.size, batch.params["shape"]
    moved = {"shape": (size * outputs, *rest), "groups": batch.params["groups"] * size}
    out = batch.again([with_channels(t) for t in batch.wholes()], **moved)
    return reshaped(out, size, outputs, *rest)


def channel_sum(batch: Batch) -> Any:
    dims = (1, *range(3, batch.ranks[0] + 1))
    return call("sum", batch.tensors, {"dim": dims, "keepdim": False})


def channel_spread(batch: Batch) -> Any:
    shape = batch.params["shape"]
    wide = padded(padded(batch.tensors[0], 1), len(shape) - 2, 3)
    return call("expand", [wide], {"size": (batch.size, *shape)})


# -- recurrent layers --------------------------------------------------------------------------------------------------
def recurrent(states: int) -> Any:
    """The rule of a layer with so many states: where its weights have no batch, examples are further sequences."""

    def rule(batch: Batch) -> Any:
        if any(batch.batched[1 + states :]):
            return None
        tensors = [behind(batch.whole(place)) for place in range(1 + states)]
        params = dict(batch.params)
        if "batch_sizes" in params:
            params["batch_sizes"] = tuple([n * batch.size for n in params["batch_sizes"]])
        out = call(batch.row, [*tensors, *batch.tensors[1 + states :]], params)
        return tuple([in_front(t, batch.size) for t in out])

    return rule


def behind(tensor: Any) -> Any:
    """The batch folded into the first dimension, varying fastest."""
    return flattened(call("transpose", [tensor], {"dim0": 0, "dim1": 1}))


def in_front(tensor: Any, size: int) -> Any:
    """The inverse."""
    return call("transpose", [unfolded(tensor, tensor._array.shape[0] // size, size)], {"dim0": 0, "dim1": 1})
