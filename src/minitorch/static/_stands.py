"""What guards compare: plain values, items, attributes as they stand, memory."""

from __future__ import annotations

import enum
import gc
import pickle
import types
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import _runtime
from .._device import device
from .._dtypes import dtype

MISSING: Any = object()
_PLAIN: tuple[type, ...] = (
    types.NoneType, bool, int, float, complex, str, bytes, slice, range, types.EllipsisType, np.dtype, device, dtype,
    enum.Enum, np.number, np.bool_, np.datetime64, np.timedelta64,
)  # fmt: skip


def is_plain(value: Any) -> bool:
    """Whether a value never changes and holds nothing that does."""
    return isinstance(value, _PLAIN) or (isinstance(value, tuple) and all(map(is_plain, value)))


def alike(a: Any, b: Any) -> bool:
    """Whether two values are one object, or the same number or text."""
    return a is b or (a.__class__ is b.__class__ and is_plain(a) and repr(a) == repr(b))


def shown(array: np.ndarray) -> tuple[Any, ...]:
    """Which elements an array shows: those that show the same are one value."""
    return array.ctypes.data, array.shape, array.strides, array.dtype


def same_memory(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays show the same elements."""
    return a is b or shown(a) == shown(b)


def slots_of(kind: Any) -> Sequence[str]:
    slots = vars(kind).get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)


def held(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return MISSING


def stored(holder: Any, name: str, default: Any = MISSING) -> Any:
    """An attribute as it stands: where there is none, the object's ``__getattr__`` is not asked."""
    try:
        return object.__getattribute__(holder, name)
    except AttributeError:
        return default


def weakly(value: Any, callback: Callable[[Any], None] | None = None) -> weakref.ref[Any] | None:
    """A reference that does not keep an object alive; None where there can be none."""
    try:
        return weakref.ref(value, callback)
    except TypeError:
        return None


def there(holder: Any) -> Any:
    """What a reference that does not keep it alive is to, None where it is gone; of anything else, that itself."""
    return holder() if holder.__class__ is weakref.ref else holder


def items_of(container: Any) -> Any:
    return container.values() if isinstance(container, dict) else container


def item(sequence: Sequence[Any], place: Any) -> Any:
    """An item of a list; MISSING where there is none."""
    try:
        return sequence[place]
    except (IndexError, TypeError):
        return MISSING


def state_of(source: Any) -> bytes:
    """The state of a generator of random numbers."""
    if isinstance(source, np.random.Generator):
        return pickle.dumps(source.bit_generator.state)
    return pickle.dumps(source.getstate() if hasattr(source, "getstate") else source.get_state(legacy=False))


def keeps(cached: Any, count: int) -> bool:
    """Whether a function's cache has what it had when it had computed something so many times."""
    info = cached.cache_info()
    return info.misses >= count and (info.misses == count or info.maxsize is None or info.currsize < info.maxsize)


def kept_by(cached: Any) -> list[Any]:
    """The tensors that a function's cache keeps: as what was computed, or within that."""
    ends = (type, _runtime.Tensor, types.FunctionType, types.ModuleType)
    layer: list[Any] = [cached]
    seen = {id(cached.__wrapped__): cached.__wrapped__}
    for _ in range(5):  # the table, its links, results, what these hold
        seen |= {id(x): x for x in layer}
        layer = [x for x in gc.get_referents(*[x for x in layer if not isinstance(x, ends)]) if id(x) not in seen]
    return [x for x in [*seen.values(), *layer] if isinstance(x, _runtime.Tensor)]


def an_object(value: Any) -> str:
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"
