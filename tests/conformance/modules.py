"""How a module is declared that is compared with PyTorch's, and the cases that follow.

A case is an expression that makes the module and one that calls it, in which ``normal(2, 3)`` and the like are tensors; see
``observe.py`` for what is compared.
"""

from __future__ import annotations

import functools
import importlib
import itertools
import pkgutil
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .samples import STRANGE

DTYPES = ("float64", "float32")

LEFT_OUT = {
    ("CrossMapLRN2d", "{float32}"): (
        "gradients",
        "PyTorch's are not those of its result, in which the first channel stays in all sums that come after it",
    ),
    ("CrossMapLRN2d", "{float64}"): ("error", "PyTorch's has no second derivative; for the first, see float32"),
    ("EmbeddingBag", "scale_grad_by_freq=True"): (
        "gradients",
        "PyTorch divides a row's gradient by how often another row was looked up, not by its own frequency, as documented",
    ),
    ("GroupNorm", "GroupNorm(4, 4); m(normal(2, 4))  {float32}"): (
        "result",
        "groups of one element: the result is 0, and PyTorch's is what rounding leaves of it, over sqrt(eps)",
    ),
    ("TransformerEncoderLayer", ".to(normal(1).dtype) * -9"): (
        "evaluation",
        "where no gradient is needed, PyTorch's fused kernel reads a float mask as a bool one, and hides what was only lowered",
    ),
}
"""Cases of a module, by a part of their text: the first observation that is not compared, nor those after it; and why."""


@dataclass(frozen=True)
class Case:
    """A module made by *made_by*, called by *call*, with floating-point tensors of *dtype*."""

    name: str
    made_by: str
    call: str
    dtype: str
    wrong: bool = False

    def __str__(self) -> str:
        return f"m = {self.made_by}; {self.call}  {{{self.dtype}}}"

    @property
    def left_out(self) -> str:
        """The first observation that is not compared; empty where all are."""
        if self.wrong:
            return ""
        return next((o for (name, part), (o, _) in LEFT_OUT.items() if name == self.name and part in str(self)), "")

    @property
    def key(self) -> int:
        return zlib.crc32(str(self).encode())


@dataclass(frozen=True)
class Declared:
    """What *module* was given."""

    options: tuple[str, ...]
    calls: tuple[str, ...]
    wrong: tuple[str, ...]


declared: dict[str, list[Declared]] = {}


def module(names: str, options: str, calls: str, wrong: str = "") -> None:
    """Declare the modules *names*: arguments, calls and wrong calls, separated by semicolons.

    Of ``{a|b}`` each alternative is taken, in all combinations; ``@`` in a call is the module, and in *wrong* its class
    (as in ``@(3)(normal(2, 3))``).
    """
    for name in names.split():
        entry = Declared(
            pieces(options) or ("",),
            pieces(calls),
            pieces(wrong),
        )
        declared.setdefault(name, []).append(entry)


def pieces(text: str) -> tuple[str, ...]:
    return tuple(
        [choice for part in text.split(";") if part.strip() for choice in alternatives(" ".join(part.split()))]
    )


def alternatives(text: str) -> Iterator[str]:
    """The texts for all choices of ``{a|b}``."""
    found = re.search(r"\{([^{}]*\|[^{}]*)\}", text)
    if found is None:
        yield text
        return
    for choice in found[1].split("|"):
        yield from alternatives(text[: found.start()] + choice + text[found.end() :])


@functools.cache
def all_modules() -> dict[str, list[Declared]]:
    """The declarations of every file in ``module_specs/``."""
    package = importlib.import_module(f"{__package__}.module_specs")
    for file in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{file.name}")
    return declared


def cases(name: str, limit: int = 40) -> list[Case]:
    """All options with all calls; of many, those that have each pair of options, call and dtype at least once."""
    found = []
    for entry in all_modules()[name]:
        every = [Case(name, f"nn.{name}({o})", c.replace("@", "m"), d) for o, c, d in axes(entry)]
        every.sort(key=lambda case: case.key)
        covered: set[Any] = set()
        kept = []
        for case in every:
            pairs = set(itertools.combinations((case.made_by, case.call, case.dtype), 2))
            if not pairs <= covered or len(every) <= limit:
                covered |= pairs
                kept.append(case)
        found += kept
    return found


def axes(entry: Declared) -> Iterator[tuple[str, str, str]]:
    yield from itertools.product(entry.options, entry.calls, DTYPES)


def some(name: str, count: int) -> list[Case]:
    """A few cases, the same in every run."""
    return sorted(cases(name), key=lambda case: case.key)[:count]


def wrong_cases(name: str) -> list[Case]:
    """The declared wrong calls, and wrong ones made from the right ones."""
    found = []
    for entry in all_modules()[name]:
        options, call = entry.options[0], entry.calls[0].replace("@", "m")
        right = f"nn.{name}({options})"
        for made_by in ("", "'x'", "None", "object()", ", ".join([*filter(None, [options]), "nonsense=1"])):
            found.append((f"nn.{name}({made_by})", call))
        for argument in STRANGE:
            found += [(right, f"m({argument})"), (right, re.sub(r"(?<=m\()\w+\([^()]*\)", argument, call, count=1))]
        for shape in ("", "7", "7, 5", "2, 0", "7, 5, 3, 2, 2, 2"):
            found.append((right, re.sub(r"(?<=\bnormal\()[^()]*", shape, call, count=1)))
        found += [
            (right, "m()"),
            (right, re.sub(r"\)$", ", nonsense=1)", call)),
            (right, re.sub(r"\bnormal\(", "classes(3, ", call, count=1)),
            (right, re.sub(r"\bclasses\(\d+, ", "normal(", call, count=1)),
            (right, re.sub(r"(\bnormal\([^()]*\))", r"\1.float()", call, count=1)),
        ]
        found += [(w.replace("@", f"nn.{name}"), "m") for w in entry.wrong]
    return [Case(name, made_by, call, "float64", wrong=True) for made_by, call in dict.fromkeys(found)]
