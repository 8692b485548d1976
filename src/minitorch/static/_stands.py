"""What guards compare: plain values, items, attributes as they stand, memory."""

from __future__ import annotations

import ctypes
import gc
import pickle
import reprlib
import struct
import sys
import types
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from .. import _runtime
from .._device import device
from .._dtypes import dtype
from .._pytree import tree_flatten
from .._size import Size
from ._libraries import of_kind, of_library

MISSING: Any = object()
_NUMBERS = frozenset(np.sctypeDict.values()) - {np.void, np.object_}
"""The classes of NumPy's numbers and texts."""
_PLAIN = frozenset([types.NoneType, bool, int, float, complex, str, bytes, range, types.EllipsisType, device, dtype])
_PLAIN |= _NUMBERS


def is_plain(value: Any) -> bool:
    """Whether a value never changes and holds nothing that does: its class counts, for those derived from it may have more."""
    kind = type(value)
    if kind in _PLAIN:
        return True
    if kind is tuple or (issubclass(kind, tuple) and of_library(kind)):
        return all(map(is_plain, value))
    if kind is slice:
        return is_plain((value.start, value.stop, value.step))
    return issubclass(kind, np.dtype)


def told(value: Any) -> Any:
    """What tells a plain value from others of its class: of numbers, the bits, so that 0.0 is not -0.0, and nan is itself."""
    kind = type(value)
    if kind is float:
        return struct.pack("d", value)
    if kind is complex:
        return struct.pack("dd", value.real, value.imag)
    if kind is slice:
        return told((value.start, value.stop, value.step))
    if kind in _NUMBERS:
        return value.dtype, value.tobytes()
    return tuple([(type(item), told(item)) for item in value]) if of_kind(value, tuple) else value


def alike(a: Any, b: Any) -> bool:
    """Whether two values are one object, or the same number or text."""
    return a is b or (type(a) is type(b) and is_plain(a) and is_plain(b) and told(a) == told(b))


def mark(value: Any, others: list[Any]) -> Any:
    """What stands for a value in a key; what is known by identity alone, and may change, is added to *others*."""
    if is_plain(value):
        return type(value), told(value)
    if type(value) in (list, tuple):
        return type(value), tuple([mark(item, others) for item in value])
    if type(value) is dict:
        return dict, tuple([(mark(key, others), mark(item, others)) for key, item in value.items()])
    others.append(value)
    return type(value), id(value)


def form(spec: Any, others: list[Any]) -> tuple[Any, ...]:
    """What stands in a key for how a tree is made, with the keys of dicts."""
    if spec.type is None:
        return ()
    return spec.type, mark(spec.context, others), tuple([form(child, others) for child in spec.children_specs])


def flat(tree: Any) -> tuple[list[Any], Any]:
    """The leaves and the structure of arguments or results; a ``Size`` is a value, a named tuple with attributes an object."""
    return tree_flatten(tree, _is_one)


def _is_one(part: Any) -> bool:
    kind = type(part)
    return issubclass(kind, tuple) and (kind is Size or bool(getattr(part, "__dict__", None)))


def shown(array: np.ndarray) -> tuple[Any, ...]:
    """Which elements an array shows: those that show the same are one value."""
    return array.ctypes.data, array.shape, array.strides, array.dtype


def array_state(array: np.ndarray) -> tuple[Any, ...]:
    """What code can read of an array: its elements, and how they lie in memory."""
    return array.tobytes(), array.shape, array.dtype, array.strides, array.flags.num


def same_memory(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays show the same elements."""
    return a is b or shown(a) == shown(b)


def slots_of(kind: Any) -> Sequence[str]:
    """The names of a class's slots; private ones have the class's name before them."""
    slots = vars(kind).get("__slots__", ())
    own = f"_{kind.__name__.lstrip('_')}"
    return [own + s if s[:2] == "__" != s[-2:] else s for s in ((slots,) if of_kind(slots, str) else slots)]


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


def standing(holder: Any, name: str) -> Any:
    """What stands under a name in a class and what it is derived from, in a module, or in its variables; MISSING where nothing
    does."""
    if not of_kind(holder, type):
        return (holder if of_kind(holder, dict) else vars(holder)).get(name, MISSING)
    bases = type.__dict__["__mro__"].__get__(holder)
    return next((vars(base)[name] for base in bases if name in vars(base)), MISSING)


def there(holder: Any) -> Any:
    """What a reference that does not keep it alive is to, None where it is gone; of anything else, that itself."""
    return holder() if type(holder) is weakref.ref else holder


def is_there(reference: weakref.ref[Any]) -> bool:
    """Whether what a reference is to has not gone."""
    return reference() is not None


def items_of(container: Any) -> Any:
    return container.values() if of_kind(container, dict) else container


def _addresses_read(items: Iterable[Any]) -> bytes:
    kept = tuple(items)
    return ctypes.string_at(id(kept) + tuple.__basicsize__, len(kept) * ctypes.sizeof(ctypes.c_void_p))


def _addresses_asked(items: Iterable[Any]) -> bytes:
    return np.array([*map(id, items)], np.uintp).tobytes()


_EXAMPLE = (None, True, "")
_READ = sys.implementation.name == "cpython" and _addresses_read(_EXAMPLE) == _addresses_asked(_EXAMPLE)
addresses: Callable[[Iterable[Any]], bytes] = _addresses_read if _READ else _addresses_asked
"""Where items lie: while some are kept, others lie there only if they are the same.

CPython's tuples have the addresses of their items in themselves, where they are read in a tenth of the time that it takes to
compare one item after the other.
"""


def item(sequence: Sequence[Any], place: Any) -> Any:
    """An item of a list; MISSING where there is none."""
    try:
        return sequence[place]
    except (IndexError, TypeError):
        return MISSING


def state_of(source: Any) -> bytes:
    """The state of a generator of random numbers."""
    if of_kind(source, np.random.Generator):
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
        layer = [x for x in gc.get_referents(*[x for x in layer if not of_kind(x, ends)]) if id(x) not in seen]
    return [x for x in [*seen.values(), *layer] if of_kind(x, _runtime.Tensor)]


def an_object(value: Any) -> str:
    name = type(value).__name__
    spoken = "AEFHILMNORSX" if name.isupper() else "aeioAEIO"  # an SGD, a UserDict
    return f"{'an' if name[0] in spoken or name[:2] == 'nd' else 'a'} {name}"


def as_item(key: Any) -> str:
    """How code would write the item of a key."""
    return f"[{reprlib.repr(key)}]" if is_plain(key) else f"[{an_object(key)}]"


def cached_by(cached: Any) -> list[Any]:
    """What a function's cache holds: arguments and results."""
    parts = gc.get_referents(cached)
    table = next(part for part in parts if type(part) is dict and part is not vars(cached))
    held = [*parts, *[item for pair in table.items() for item in pair]]
    own = {id(cached.__wrapped__), id(vars(cached)), id(table)}
    return [x for x in held if id(x) not in own and not of_kind(x, type) and type(x).__name__ != "_lru_list_elem"]
