"""The names in a formula: of leaves and constants, values, derivatives, shared parts and parameters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ._expressions import Expression
from ._formula_functions import RESERVED, meanings
from ._formula_reading import Reading
from ._formula_text import LEFT_OUT, UNKNOWN, Opaque, identifier, inner, latex_name
from ._formula_values import Symbol

_PLAIN = {"variable": "x", "constant": "c", "index": "i", "gradient": "g", "direction": "v", "hidden": "h"}
"""What symbols are called that have no name: numbered, where there are several."""


def reachable(expressions: Iterable[Expression]) -> list[Expression]:
    """All parts of expressions, each after its own parts."""
    seen: dict[int, Expression] = {}
    stack = list(expressions)
    while stack:
        e = stack.pop()
        if e.serial not in seen:
            seen[e.serial] = e
            stack.extend(e.args)
    return [seen[serial] for serial in sorted(seen)]


class Names:
    """Who is called what.

    Attributes
    ----------
    order : list of Expression
        All parts, each after its own parts.
    of : dict of int to str
        The symbols' names, by their heads.
    symbols : dict of str to Symbol
        The symbols by name.
    roots : list of str
        The values' names.
    opaque : dict of str to Opaque
        The parameters that go by names.
    unknown : list of str
        The parameters that a graph did not keep.
    notes : list of str
        What names mean that nobody gave.
    """

    def __init__(
        self, reading: Reading, expressions: list[Expression], roots: list[str | None], variables: Iterable[int]
    ) -> None:
        self.order = reachable(expressions)
        self._taken = {*RESERVED, *reading.functions, *[e.head for e in self.order if e.kind == "call"]}
        self.notes: list[str] = []
        heads = sorted({*variables, *[e.head for e in self.order if e.kind == "symbol"]})
        used = {head: reading.symbols[head] for head in heads}
        self.of: dict[int, str] = {}
        for head in sorted(used, key=lambda head: used[head].name is None):
            self.of[head] = self._given(used[head], list(used.values()))
        self.symbols: dict[str, Symbol] = {self.of[head]: used[head] for head in sorted(used)}
        self.roots = [self._root(name, len(roots)) for name in roots]
        self.opaque = self._parameters()
        calls = [e for e in self.order if e.kind == "call"]
        unknown = [(e.head, n, v) for e in calls for n, v in e.params if v is UNKNOWN or v is LEFT_OUT]
        self.unknown = [f"the {name} of {head}" for head, name, _ in dict.fromkeys(unknown)]
        left_out = [
            f"the graph did not keep the {n} of {head}" for head, n, v in dict.fromkeys(unknown) if v is LEFT_OUT
        ]
        self.notes += [*meanings({e.head for e in calls}), *left_out]
        for said in dict.fromkeys([s.said for s in self.symbols.values() if s.said]):
            self.notes.append(f"{', '.join([n for n, s in self.symbols.items() if s.said == said])}: {said}")
        hidden = [name for name, symbol in self.symbols.items() if symbol.kind == "hidden"]
        if hidden:
            self.notes.append(f"{', '.join(hidden)}: inside of an in-place call, as recorded")
        self._parts = 0

    def free(self, name: str, several: bool = False) -> str:
        """A name that nothing else has: numbered if *several* want it, or it is taken."""
        chosen, number = (f"{name}1", 1) if several else (name, 0)
        while chosen in self._taken:
            number += 1
            chosen = f"{name}{number}"
        self._taken.add(chosen)
        return chosen

    def part(self) -> str:
        """The name of the next shared part."""
        self._parts += 1
        while f"t{self._parts}" in self._taken:
            self._parts += 1
        return f"t{self._parts}"

    def _given(self, symbol: Symbol, all_of_them: list[Symbol]) -> str:
        if symbol.name is not None:
            name = self.free(identifier(symbol.name))
            if name != identifier(symbol.name):
                self.notes.append(f"{name}: what is called {symbol.name}")
            return name
        alike = [s for s in all_of_them if s.kind == symbol.kind and s.name is None]
        return self.free(_PLAIN[symbol.kind], len(alike) > 1)

    def _root(self, name: str | None, count: int) -> str:
        if name is not None:
            return self.free(identifier(name))
        if count == 1:
            free = [n for n in ("y", "z", "out") if n not in self._taken]
            return self.free(free[0] if free else "y")
        return self.free("y", True)

    def _parameters(self) -> dict[str, Opaque]:
        calls = [e for e in self.order if e.kind == "call"]
        found = {id(o): o for e in calls for _, value in e.params for o in inner(value, Opaque)}
        for absent in (UNKNOWN, LEFT_OUT):
            found.pop(id(absent), None)
        counts = Counter([o.base for o in found.values()])
        for opaque in found.values():
            opaque.name = self.free(opaque.base, counts[opaque.base] > 1)
        return {o.name: o for o in found.values()}


# -- derivatives -------------------------------------------------------------------------------------------------------
def derivative(total: str, by: str, alone: bool) -> tuple[str, str]:
    """The name of a derivative, as text and as LaTeX."""
    d = "d" if alone else r"\partial "
    return f"d{total}/d{by}", rf"\frac{{{d}{latex_name(total)}}}{{{d}{latex_name(by)}}}"


def second_derivative(total: str, by: str, then: str, along: str | None, alone: bool) -> tuple[str, str]:
    """The name of a second derivative, of a gradient's product with the direction *along* if there is one."""
    d = "d" if alone else r"\partial "
    y, x, z = latex_name(total), latex_name(by), latex_name(then)
    if along is not None:
        first, latex = derivative(total, by, alone)
        return f"d({along}*{first})/d{then}", rf"\frac{{{d}}}{{{d}{z}}}\left({latex_name(along)} \cdot {latex}\right)"
    if by == then and not by[-1].isdigit():
        return f"d2{total}/d{by}2", rf"\frac{{{d.strip()}^2 {y}}}{{{d}{x}^2}}"
    below = f"{d}{x}^2" if by == then else rf"{d}{x} \, {d}{z}"
    return f"d2{total}/d{by}d{then}", rf"\frac{{{d.strip()}^2 {y}}}{{{below}}}"
