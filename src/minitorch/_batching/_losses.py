"""Rules of losses: unreduced, and then reduced for each example."""

from __future__ import annotations

import math
from typing import Any

from .. import _runtime
from .._choices import Number
from ._batch import Batch, Batched, call, on_array, padded, reshaped, spread, to_front
from ._shapes import flattened, settled, together, unfolded


def total(loss: Any, factor: float = 1.0) -> Any:
    """The sum of each example's elements, times a factor."""
    dims = tuple(range(1, loss._array.ndim))
    loss = call("sum", [loss], {"dim": dims, "keepdim": False}) if dims else loss
    return loss if factor == 1 else loss * factor


def mse_loss(batch: Batch) -> Any:
    loss = batch.again(settled(batch), reduction=0)
    reduction = batch.params["reduction"]
    if not reduction:
        return loss
    count = math.prod(loss._array.shape[1:])
    return total(loss, 1 if reduction == 2 else 1.0 / count if count else float("nan"))


def summed(batch: Batch) -> Any:
    """A loss that is summed and scaled, or neither."""
    if not batch.params["summed"]:
        return batch.again(settled(batch)) if batch.row.broadcasts else together(batch)
    tensors = settled(batch) if batch.row.broadcasts else batch.wholes()
    return total(batch.again(tensors, summed=False, scale=1.0), batch.params["scale"])


def by_rows(batch: Batch, tensors: list[Any], **changed: Any) -> Any:
    """The row on samples of all examples in one dimension, unreduced."""
    single = batch.ranks[-1] == 0  # one sample and its class
    params = batch.params | {"summed": False, "divisor": 1.0, "asked": (None, None, -100, 0, 0.0)} | changed
    for name in ("weight", "kept"):
        if params[name] is not None:
            wide = spread(params[name], batch.size)
            params[name] = wide if single else on_array(flattened, wide)
    return call(batch.row, tensors if single else [flattened(t) for t in tensors], params)


def divided(values: Any, divisor: Any) -> Any:
    """Values over a divisor: a number, or one for each example."""
    if divisor.__class__ is Batched:
        return values / padded(divisor.tensor, values._array.ndim - 1)
    if divisor.__class__ is Number:  # which differs from example to example of a map around this one
        return values / _runtime.wrap(divisor.array)
    return values * (1.0 / divisor if divisor else float("nan"))


def nll_loss(batch: Batch) -> Any:
    loss = reshaped(by_rows(batch, batch.wholes()), batch.size, *batch.shape(-1))
    return divided(total(loss), batch.params["divisor"]) if batch.params["summed"] else loss


def nll_loss_backward(batch: Batch) -> Any:
    grad, self, target = batch.wholes()
    if batch.params["summed"]:
        wide = padded(divided(grad, batch.params["divisor"]), batch.ranks[2])
        grad = call("expand", [wide], {"size": target._array.shape})
    return reshaped(by_rows(batch, [grad, self, target]), *self._array.shape)


def ctc_loss(batch: Batch) -> Any:
    """Samples, which are in the second dimension, of all examples in one."""
    samples = batch.shape(0)[1]
    return unfolded(call("ctc_loss", [in_second(batch.whole(0))], side_by_side(batch)), batch.size, samples)


def ctc_loss_backward(batch: Batch) -> Any:
    grad, log_probs, loss = batch.wholes()
    tensors = [flattened(grad), in_second(log_probs), flattened(loss)]
    out = call("ctc_loss_backward", tensors, side_by_side(batch))
    times, samples, classes = batch.shape(1)
    return to_front(reshaped(out, times, batch.size, samples, classes), 1)


def in_second(tensor: Any) -> Any:
    """The batch in front within the second dimension."""
    size, times, samples, classes = tensor._array.shape
    return reshaped(call("permute", [tensor], {"dims": (1, 0, 2, 3)}), times, size * samples, classes)


def side_by_side(batch: Batch) -> dict[str, Any]:
    """The constants, samples of all examples in one dimension."""
    filled = batch.filled()
    return {name: on_array(flattened, v) if name != "zero_infinity" else v for name, v in filled.items()}
