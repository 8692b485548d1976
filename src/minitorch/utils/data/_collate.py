"""Samples made one batch."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

from ..._dtypes import float64
from ..._tensor import Tensor
from ...ops.from_data import as_tensor, tensor
from ...ops.join import stack

NOT_SUPPORTED = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"


def default_collate(batch: Sequence[Any]) -> Any:
    """Samples as one batch: tensors and arrays are stacked, numbers become tensors, containers are entered.

    Parameters
    ----------
    batch : sequence
        Samples of the same structure.

    Returns
    -------
    object
        A batch of that structure; tuples become lists, strings stay in a list.

    Raises
    ------
    RuntimeError
        If lists have different lengths, or tensors different shapes.
    TypeError
        If there is something else.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.utils.data.default_collate([{"x": 1.0, "name": "a"}, {"x": 2.0, "name": "b"}])
    {'x': tensor([1., 2.], dtype=torch.float64), 'name': ['a', 'b']}
    """
    first = batch[0]
    if isinstance(first, Tensor):
        return stack(batch)
    if isinstance(first, np.ndarray):
        if first.dtype.kind in "SUO":
            raise TypeError(NOT_SUPPORTED.format(first.dtype))
        return stack([as_tensor(array) for array in batch])
    if isinstance(first, (np.bool_, np.number)):
        return as_tensor(np.array(batch))
    if isinstance(first, float):
        return tensor(batch, dtype=float64)
    if isinstance(first, int):
        return tensor(batch)
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Mapping):
        return mapped(first, lambda key: default_collate([sample[key] for sample in batch]))
    if isinstance(first, Sequence):
        sizes = [len(sample) for sample in batch]
        if len(set(sizes)) > 1:
            raise RuntimeError(f"each element in list of batch should be of equal size, but the sizes are {sizes}")
        columns = list(zip(*batch))
        return sequenced(first, [default_collate(column) for column in columns])
    raise TypeError(NOT_SUPPORTED.format(type(first)))


def default_convert(data: Any) -> Any:
    """A sample with its arrays and NumPy scalars made tensors; containers are entered, everything else stays.

    Examples
    --------
    >>> import minitorch as torch
    >>> import numpy as np
    >>> torch.utils.data.default_convert({"x": np.arange(3), "name": "a"})
    {'x': tensor([0, 1, 2]), 'name': 'a'}
    """
    if isinstance(data, Tensor):
        return data
    if isinstance(data, np.ndarray):
        return data if data.dtype.kind in "SUO" else as_tensor(data)
    if isinstance(data, np.generic):
        return data if isinstance(data, (np.str_, np.bytes_)) else as_tensor(data)
    if isinstance(data, Mapping):
        return mapped(data, lambda key: default_convert(data[key]))
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return sequenced(data, [default_convert(d) for d in data])
    return data


def mapped(like: Mapping[Any, Any], value: Callable[[Any], Any]) -> Any:
    """A mapping like another, with other values; a dict where its class makes none."""
    values = {key: value(key) for key in like}
    try:
        if isinstance(like, MutableMapping):
            clone = copy.copy(like)
            clone.update(values)
            return clone
        return type(like)(values)  # type: ignore[call-arg]
    except TypeError:
        return values


def sequenced(like: Sequence[Any], values: list[Any]) -> Any:
    """A sequence like another, with other values; a list for tuples and where its class makes none."""
    if isinstance(like, tuple):
        return type(like)(*values) if hasattr(like, "_fields") else values
    try:
        if isinstance(like, MutableSequence):
            clone = copy.copy(like)
            for i, value in enumerate(values):
                clone[i] = value
            return clone
        return type(like)(values)  # type: ignore[call-arg]
    except TypeError:
        return values
