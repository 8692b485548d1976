"""How an operation is declared: the forms of its calls, its tensors, and what the forms are crossed with."""

from __future__ import annotations

import functools
import importlib
import pkgutil
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import values

FLOATS = ("float64", "float32")
NUMERIC = ("float64", "float32", "int64", "int32", "uint8")
ALL = ("float64", "float32", "int64", "bool", "float16", "int32", "uint8")
MIXED = (
    "float64",
    "float32",
    "int64",
    "float64 float32",
    "int64 float32",
    "float32 int64",
    "bool",
    "int64 int32",
    "float16",
)

UNARY_SHAPES = ((3, 4), (), (0,), (2, 0, 3), (2, 3, 4), (5,), "special")
BINARY_SHAPES = (
    ((3, 4), (3, 4)),
    ((2, 3, 4), (4,)),
    ((), (3,)),
    ((3, 1), (1, 4)),
    ((), ()),
    ((0,), (1,)),
    ((2, 0, 3), (3,)),
    ((4,), ()),
    "special",
)
LAYOUTS = ("contiguous", "transposed", "sliced", "expanded")
NEEDS = ("all", "first", "none", "last")

CORE: dict[str, list[str]] = {}
"""The names of the operations, by group."""
for _line in (Path(__file__).parent / "core_ops.txt").read_text().splitlines():
    if _line.startswith("["):
        CORE[_line[1:].split("]")[0]] = []
    elif _line and not _line.startswith("#"):
        list(CORE.values())[-1].extend(_line.split())

specs: dict[str, list[Part]] = {}


@dataclass(frozen=True)
class Part:
    """Some forms of an operation's calls and what they are crossed with.

    Attributes
    ----------
    name : str
        The operation's dotted path.
    forms : tuple of str
        Expressions over ``torch`` and the tensors' names.
    tensors : dict
        For each tensor its domain (see ``values``).
    shapes : tuple
        For each crossing a shape a tensor (or only a shape, of a single tensor); or "special" (zeros, infinities, the
        dtype's bounds) or "ties" (few values).
    dtypes : tuple of str
        A dtype of all tensors, or one a tensor.
    layouts, needs : tuple of str
        How the tensors lie in memory, and which of them require grad.
    bad : tuple of str
        Calls that PyTorch refuses.
    tolerance : float
        Of float64 results and gradients.
    """

    name: str
    forms: tuple[str, ...]
    tensors: dict[str, Any]
    shapes: tuple[Any, ...]
    dtypes: tuple[str, ...]
    layouts: tuple[str, ...]
    needs: tuple[str, ...]
    bad: tuple[str, ...]
    tolerance: float


def op(
    names: str,
    forms: str,
    *,
    shapes: Iterable[Any] = UNARY_SHAPES,
    dtypes: Iterable[str] = ALL,
    layouts: Iterable[str] = LAYOUTS,
    needs: Iterable[str] = NEEDS,
    bad: str = "",
    tolerance: float = 1e-7,
    **tensors: Any,
) -> None:
    """Declare forms of operations: calls, with ``;`` or a new line between; ``@`` is ``torch.<name>``, ``.@`` the method.

    Operations of which there are several declarations have all of them.
    """
    tensors = tensors or {"a": values.normal}
    for name in names.split():
        last = name.split(".")[-1]

        def lines(text: str, name: str = name, last: str = last) -> tuple[str, ...]:
            found = [call.strip() for line in text.splitlines() for call in line.split(";")]
            found = [re.sub(r"\.@(?! )", f".{last}", call) for call in found if call]
            return tuple([re.sub(r"@(?! )", f"torch.{name}", call) for call in found])

        part = Part(
            name,
            lines(forms),
            tensors,
            tuple(shapes),
            tuple(dtypes),
            tuple(layouts),
            tuple(needs),
            lines(bad),
            tolerance,
        )
        specs.setdefault(name, []).append(part)


@functools.cache
def all_specs() -> dict[str, list[Part]]:
    """The declarations of every file in ``specs/``, in the order of the list of names."""
    package = importlib.import_module(f"{__package__}.specs")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
    return {name: specs.get(name, []) for names in CORE.values() for name in names}
