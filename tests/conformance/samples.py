"""The samples of an operation: its forms crossed with shapes, dtypes, layouts and what requires grad; and wrong calls.

Of the whole cross, which is large, those samples are kept that cover every pair of choices (each form with each dtype, each
shape with each layout, ...), in an order that depends on nothing but the names.
"""

from __future__ import annotations

import ast
import itertools
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import values
from .spec import Part


@dataclass(frozen=True)
class Sample:
    """One call: an expression over the tensors of *part*, which have these shapes, dtypes and layout."""

    part: Part
    form: str
    shape: Any
    dtype: str
    layout: str
    needs: str
    wrong: bool = False

    def __str__(self) -> str:
        return f"{self.form}  {{{self.shape} {self.dtype} {self.layout} grad={self.needs}}}"

    @property
    def key(self) -> int:
        return zlib.crc32(f"{self.part.name} {self}".encode())

    @property
    def names(self) -> list[str]:
        """The tensors that the expression names, in the order of their declaration."""
        return [name for name in self.part.tensors if re.search(rf"\b{name}\b", self.form)]

    @property
    def writes(self) -> bool:
        return re.search(r"\.\w+[a-z0-9]_\(", self.form) is not None

    def arrays(self) -> dict[str, np.ndarray]:
        """The values of the tensors that the expression names."""
        every = self.part.tensors
        found = {}
        for place, (name, domain) in enumerate(every.items()):
            if name in self.names:
                if isinstance(self.shape, str):
                    shape = self.shape
                else:
                    shape = self.shape if len(every) == 1 else self.shape[place]
                dtypes = self.dtype.split()
                rng = np.random.default_rng([self.key, place])
                found[name] = values.draw(domain, rng, shape, dtypes[place % len(dtypes)], place, len(every))
        return found


def samples(part: Part) -> list[Sample]:
    """Samples that cover each pair of choices."""
    axes: tuple[Any, ...] = (part.forms, part.shapes, part.dtypes, part.layouts, part.needs)
    if len(part.tensors) == 1:
        axes = (*axes[:4], tuple([n for n in part.needs if n in ("all", "none")]) or part.needs)
    every = [Sample(part, *choice) for choice in itertools.product(*axes)]
    every = [s for s in every if s.needs == "none" or "=out" not in s.form or "none" not in part.needs]
    every.sort(key=lambda s: s.key)
    covered: set[Any] = set()
    kept = []
    for sample in every:
        choices = tuple(enumerate((sample.form, str(sample.shape), sample.dtype, sample.layout, sample.needs)))
        pairs = set(itertools.combinations(choices, 2))
        if not pairs <= covered:
            covered |= pairs
            kept.append(sample)
    kept.sort(key=lambda s: (part.forms.index(s.form), s.key))
    return kept


def some(parts: list[Part], count: int) -> list[Sample]:
    """A few samples, without making all."""
    found = []
    for number in range(count):
        part = parts[number % len(parts)]
        axes: tuple[Any, ...] = (part.forms, part.shapes, part.dtypes, part.layouts, part.needs)
        choice = [a[zlib.crc32(f"{part.name} {number} {i}".encode()) % len(a)] for i, a in enumerate(axes)]
        found.append(Sample(part, *choice))
    return found


# -- wrong calls -------------------------------------------------------------------------------------------------------
STRANGE = ("'x'", "None", "object()", "[object()]")
NUMBERS = ("9", "-9", "1.5")
LEFT_OUT = {
    ("eye", "torch.eye(3, m=None)"): "None is the default, which may be said",
    ("nn.functional.group_norm", "torch.nn.functional.group_norm(x, 0)"): "ZeroDivisionError says nothing of groups",
    (
        "nn.functional.interpolate",
        "torch.nn.functional.interpolate(x, scale_factor='x', mode='bicubic', recompute_scale_factor=True)",
    ): "ValueError since 'x' * 4 is a string, which is no int; otherwise it is TypeError",
    ("nn.functional.normalize", "torch.nn.functional.normalize(x, out=1)"): "1 is made a tensor, which nobody gets",
    ("norm", "torch.norm(a, inf, 1, object())"): "the dimension is wrong too; either error is right",
}
"""Wrong calls that do not count, and why: what PyTorch does follows from how it is made, and nobody can rely on it."""
TENSORS = ("torch.zeros(7, 5, 3)", "torch.zeros(7, dtype=torch.int64)", "torch.zeros(2, dtype=torch.bool)")


def wrong(part: Part, limit: int = 14) -> list[Sample]:
    """The declared wrong calls, and wrong ones made from the forms: an argument that is wrong, missing, unknown or too many."""
    plain = next((s for s in part.shapes if not isinstance(s, str)), part.shapes[0])
    made = sorted(
        {c for form in part.forms for c in _mutants(form, part.tensors)}, key=lambda c: zlib.crc32(c.encode())
    )
    calls = [call for call in (*part.bad, *made[:limit]) if (part.name, call) not in LEFT_OUT]
    return [Sample(part, call, plain, part.dtypes[0], "contiguous", "none", wrong=True) for call in calls]


def _mutants(form: str, tensors: dict[str, Any]) -> Iterator[str]:
    call = ast.parse(form, mode="eval").body
    if not isinstance(call, ast.Call) or "lambda" in form:
        return
    function, arguments = ast.unparse(call.func), [ast.unparse(a) for a in call.args]
    keywords = {k.arg: ast.unparse(k.value) for k in call.keywords if k.arg}

    def written(arguments: list[str], keywords: dict[str, str]) -> str:
        return f"{function}({', '.join([*arguments, *(f'{k}={v}' for k, v in keywords.items())])})"

    yield written(arguments, keywords | {"nonsense": "1"})
    if arguments:
        yield written(arguments[:-1], {k: v for k, v in keywords.items() if k != "out"})
    yield written([*arguments, "object()"], keywords)
    for i, argument in enumerate(arguments):
        for value in (*STRANGE, *NUMBERS, *(TENSORS if argument in tensors else ())):
            yield written([*arguments[:i], value, *arguments[i + 1 :]], keywords)
    for name, argument in keywords.items():
        others = () if name == "out" else (*NUMBERS, *TENSORS) if argument in tensors else NUMBERS
        for value in (*STRANGE, *others):
            yield written(arguments, keywords | {name: value})
