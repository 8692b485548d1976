"""Names of attributes and functions that tell, by themselves, what code asks for."""

from __future__ import annotations

import types
from collections.abc import Set
from typing import Any

UNGUARDED = {
    "_version": "the number of writes into a tensor", "storage_offset": "where in its memory a tensor begins",
    "data_ptr": "where a tensor lies", "is_set_to": "where a tensor lies", "_is_view": "whether a tensor is a view",
    "output_nr": "how a tensor was made", "retains_grad": "whether a gradient is kept",
    "untyped_storage": "the memory around a tensor", "is_inference": "in which mode a tensor was made",
    "grad_fn": "how a tensor was made", "_base": "which tensor a view is of",
    "ctypes": "where an array lies", "__array_interface__": "where an array lies",
    "get_num_threads": "the number of threads", "geterr": "what NumPy does about errors",
    "__globals__": "variables whose names are not seen", "cell_contents": "a closure's variables",
    "getrecursionlimit": "the interpreter's limit",
}  # fmt: skip
"""Attributes that no program asks for again."""

ASKED = {"getattr", "hasattr", "setattr"}
ANY_ATTRIBUTE = ASKED | {"delattr", "vars", "dir", "__dict__"}
ANY_ATTRIBUTE |= {"attrgetter", "methodcaller", "getattr_static", "__getattribute__", "asdict", "astuple", "pformat"}
OF_FUNCTIONS = {"__name__", "__qualname__", "__doc__", "__module__", "__annotations__", "__code__"}
OF_FUNCTIONS |= {"__defaults__", "__kwdefaults__"}
"""Attributes of functions that are not in their ``__dict__``."""
INSPECTS = {"signature", "getfullargspec", "get_type_hints", "get_annotations", "getsource", "getdoc"}
"""What reads those."""
SHOWS = {"__repr__", "__str__", "__format__"}
"""What makes a text of all attributes of a namespace."""

REGISTRIES = {"_parameter_names", "_buffer_names", "_module_names", "_non_persistent_buffers_set"}
"""What modules keep of their members' names: of library modules, whose attributes are compared, they change with those."""
MEMBERS = {"_parameter_names", "_buffer_names", "_module_names"}

UNCALLED = frozenset(
    f"__{name}__" for name in ("init", "new", "repr", "str", "del", "module", "dict", "weakref", "doc", "annotations")
)
"""Special methods that are looked at where they run alone."""


def asks_for_all(holder: Any, names: Set[str]) -> bool:
    """Whether code that has these names reads more attributes of an object than it names."""
    shown = isinstance(holder, types.SimpleNamespace) and not names.isdisjoint(SHOWS)
    return shown or not names.isdisjoint(ANY_ATTRIBUTE)


def read_of_functions(names: Set[str]) -> Set[str]:
    """Which attributes of functions code reads that has these names."""
    return OF_FUNCTIONS & names if names.isdisjoint(INSPECTS) else OF_FUNCTIONS
