"""``make_tensor``: a random tensor of any dtype."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _dtypes
from .._device import check_device
from ..ops.creation import empty, shape_of
from ..ops.random import randint

if TYPE_CHECKING:
    from .._tensor import Tensor

_FLOATS = (-9, 9)


def make_tensor(
    *shape: Any,
    dtype: Any,
    device: Any = None,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """A tensor of random numbers from *low* up to, but not including, *high*.

    Parameters
    ----------
    *shape : int
        The shape, as ints or one sequence.
    dtype : dtype
        The element type.
    device : device or str, optional
        Only the CPU.
    low, high : number, optional
        The range; by default -9 to 9 for floats, -9 to 10 for integers, from 0 for unsigned ones, 0 to 2 for bools.
    requires_grad : bool
        Whether operations on the tensor are recorded.
    noncontiguous : bool
        Whether its elements lie apart in memory.
    exclude_zero : bool
        Whether zeros are replaced by the next number that is none.
    memory_format : memory_format, optional
        Of no influence on values.

    Raises
    ------
    ValueError
        If *low* is not less than *high*, or gradients of integers are asked for.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.testing.make_tensor(2, 3, dtype=torch.float64, low=0, high=1).shape
    torch.Size([2, 3])
    """
    check_device(device)
    numpy = _dtypes.to_numpy(dtype)
    sizes = shape_of("make_tensor", shape or ((),))
    default = _FLOATS if numpy.kind == "f" else (0, 2) if numpy.kind == "b" else (0 if numpy.kind == "u" else -9, 10)
    least, most = default[0] if low is None else low, default[1] if high is None else high
    if not least < most:
        raise ValueError(f"`low` must be less than `high`, but got {least} >= {most}")
    if requires_grad and numpy.kind != "f":
        raise ValueError(
            f"`requires_grad=True` is not supported for boolean and integral dtypes, but got dtype={dtype}"
        )
    apart = noncontiguous and bool(sizes) and sizes[-1] > 0 and int(np.prod(sizes)) > 1
    drawn = (*sizes[:-1], sizes[-1] * 2) if apart else sizes
    made: Any
    if numpy.kind == "f":
        made = empty(drawn, dtype=dtype).uniform_(least, most)
    else:
        made = randint(int(np.ceil(least)), int(np.ceil(most)), drawn, dtype=dtype)
    if apart:
        made = made[..., ::2]
    if exclude_zero:
        made[made == 0] = float(np.finfo(numpy).tiny) if numpy.kind == "f" else 1
    made.requires_grad = requires_grad
    return made
