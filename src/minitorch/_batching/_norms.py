"""Rules of normalisations.

Channels with statistics of their own (*groups* is 0): examples are further channels.  Rows or groups of channels: examples are
further rows.
"""

from __future__ import annotations

from typing import Any

from .._kernels.normalize import Plan
from .._op import rows
from ._batch import Batch, call, expanded, reshaped
from ._windows import with_channels, without_channels


def by_channels(tensor: Any, size: int, channels: tuple[int, ...]) -> Any:
    """All elements as ``(B, N, C)`` or ``(B, N, C, L)``."""
    return reshaped(tensor, size, *channels)


def places(value: tuple[Any, bool], size: int, channels: tuple[int, ...]) -> Any:
    """One value for each channel beside elements seen so: of a tensor and whether it is batched."""
    tensor, batched = value
    shape = (1, channels[1], 1)[: len(channels)]
    return reshaped(tensor, *((size,) if batched else ()), *shape)


def total_of(tensor: Any, batch: Batch, size: tuple[int, ...]) -> Any:
    """The sum of each channel's elements."""
    channels = batch.params["plan"].channels if "plan" in batch.params else batch.params["channels"]
    seen = by_channels(tensor, batch.size, channels)
    out = call("sum", [seen], {"dim": (1, 3)[: len(channels) - 1], "keepdim": False})
    return reshaped(out, batch.size, *size)


def like_first(result: Any, batch: Batch) -> Any:
    return reshaped(result, batch.size, *batch.shape(0))


# -- one value for each channel ----------------------------------------------------------------------------------------
def channel_scaled(batch: Batch) -> Any:
    channels = batch.params["channels"]
    seen = by_channels(batch.whole(0), batch.size, channels)
    return like_first(seen * places((batch.tensors[1], batch.batched[1]), batch.size, channels), batch)


def over_deviation(batch: Batch) -> Any:
    channels = batch.params["channels"]
    seen = by_channels(batch.whole(0), batch.size, channels)
    deviation = call("sqrt", [batch.tensors[1] + batch.params["eps"]])
    return like_first(seen / places((deviation, batch.batched[1]), batch.size, channels), batch)


def channel_total(batch: Batch) -> Any:
    return total_of(batch.tensors[0], batch, batch.params["size"])


def channel_fill(batch: Batch) -> Any:
    channels, shape = batch.params["channels"], batch.params["shape"]
    wide = places((batch.tensors[0], True), batch.size, channels)
    return reshaped(call("expand", [wide], {"size": (batch.size, *channels)}), batch.size, *shape)


# -- normalisations ----------------------------------------------------------------------------------------------------
VECTORS = ("weight", "bias", "mean", "var")
"""Inputs that have one value for each channel or group; the others have the elements."""


def wide_plan(plan: Plan, size: int) -> Plan:
    """The plan for all examples at once."""
    count, channels, *rest = plan.channels
    wide = (count, size * channels, *rest) if not plan.groups else (size * count, channels, *rest)
    return Plan(wide, plan.groups, plan.eps, plan.weighted)


def folded(batch: Batch) -> Any:
    """The row on elements with the batch folded into the channels or the rows."""
    plan: Plan = batch.params["plan"]
    tensors = []
    for place, name in enumerate(batch.row.inputs):
        if name not in VECTORS:
            seen = by_channels(batch.whole(place), batch.size, plan.channels)
            tensors.append(seen if plan.groups else with_channels(seen))
        elif plan.groups and name in ("weight", "bias"):
            tensors.append(batch.tensors[place])
        else:
            tensors.append(reshaped(batch.whole(place), -1))
    return batch.again(tensors, plan=wide_plan(plan, batch.size))


def elements(result: Any, batch: Batch) -> Any:
    """Elements that a folded row gave, in the shape of the inputs."""
    if not batch.params["plan"].groups:
        result = without_channels(result, batch.size)
    return like_first(result, batch)


def moments(batch: Batch) -> Any:
    return tuple([reshaped(t, batch.size, -1) for t in folded(batch)])


def normalized(batch: Batch) -> Any:
    """A normalisation; where weights of rows have a batch, they are applied on their own."""
    plan: Plan = batch.params["plan"]
    names: dict[str, tuple[Any, bool]] = dict(zip(batch.row.inputs, zip(batch.tensors, batch.batched)))
    apart = plan.groups and any([names[n][1] for n in ("weight", "bias") if n in names])
    if not apart:
        out = folded(batch)
        if not isinstance(out, tuple):
            return elements(out, batch)
        return elements(out[0], batch), *[reshaped(t, batch.size, -1) for t in out[1:]]  # the statistics
    if batch.row.name == "normalized_backward":
        tensors, batched = list(batch.tensors), list(batch.batched)
        seen = by_channels(batch.whole(0), batch.size, plan.channels)
        tensors[0] = like_first(seen * places(names["weight"], batch.size, plan.channels), batch)
        batched[0] = True
        del tensors[2], batched[2]
        return by_name("standardized_backward", batch, tensors, batched)
    own = batch.tensors[0]
    mean, var = by_name_moments(batch)
    y = by_name("standardized", batch, [own, mean, var], [batch.batched[0], batch.batched[0], batch.batched[0]])
    seen = by_channels(y if batch.batched[0] else expanded(y, batch.size), batch.size, plan.channels)
    seen = seen * places(names["weight"], batch.size, plan.channels)
    out = like_first(seen + places(names["bias"], batch.size, plan.channels), batch)
    if not batch.row.outputs:
        return out
    statistics = mean, var, call("rsqrt", [var + plan.eps])
    return out, *[t if batch.batched[0] else expanded(t, batch.size) for t in statistics]


def by_name(name: str, batch: Batch, tensors: list[Any], batched: list[bool]) -> Any:
    """Another row of normalisation by its rule, or as it is where nothing is batched."""
    params = {"plan": batch.params["plan"]}
    if not any(batched):
        return call(name, tensors, params)
    inner = Batch(rows[name], tensors, batched, params, batch.size)
    return elements(folded(inner), inner)


def by_name_moments(batch: Batch) -> Any:
    params = {"plan": batch.params["plan"]}
    if not batch.batched[0]:
        return call("norm_moments", batch.tensors[:1], params)
    return moments(Batch(rows["norm_moments"], batch.tensors[:1], [True], params, batch.size))


def norm_weight_grad(batch: Batch) -> Any:
    y = by_name("standardized", batch, batch.tensors[1:], batch.batched[1:])
    return total_of(y * batch.tensors[0], batch, batch.params["size"])
