"""Mutants of the op table: each row's derivative formulas, with one thing changed, in the place of the right ones."""

from __future__ import annotations

import ast
import contextlib
import copy
import dis
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any
from unittest import mock

from minitorch import _op
from minitorch._op import Row
from minitorch._runtime import traced

from ._syntax import Change, Watch, changes, compiled, doubled, tree_of

_NO_TENSORS = {"F", "needed", "aside"}


@dataclass(frozen=True)
class Place:
    """A formula of a row, and the function that is changed: the formula, or one that it calls."""

    row: str
    input: str
    part: FunctionType


@dataclass(frozen=True)
class Mutant:
    """A change of a function that formulas are, or call."""

    change: Change
    places: tuple[Place, ...]
    """The formulas that it changes."""

    @property
    def key(self) -> str:
        """What the list of equivalent mutants calls it: its first formula, and the change."""
        place = self.places[0]
        return f"{place.row}.{place.input} {self.change.key}"


def parts() -> list[tuple[Place, ...]]:
    """Each function that formulas are, or call, with the formulas that it is a part of."""
    found: dict[Any, list[Place]] = {}
    for row in _op.rows.values():
        formulas = list(row.formulas.items())
        for name, formula in formulas[:1] if row.together else formulas:
            assert isinstance(formula, FunctionType)
            for part in _parts(formula):
                place = part.__code__.co_filename, tuple(part.__code__.co_positions())
                found.setdefault(place, []).append(Place(row.name, name, part))
    return [tuple(places) for places in found.values()]


def mutants_of(places: tuple[Place, ...]) -> Iterator[Mutant]:
    """All mutants of a function."""
    first = places[0]
    row, part = _op.rows[first.row], first.part
    is_formula = part is row.formulas[first.input]
    for change in changes(part, *_parameters(row, part, is_formula)):
        yield Mutant(change, places)
    for place in places:
        row = _op.rows[place.row]
        if place.part is row.formulas[place.input] and not row.together:
            for change in _other_reads(row, place.part):
                yield Mutant(change, (place,))


def _parts(formula: FunctionType) -> list[FunctionType]:
    """A formula and the functions of the package's operations that it calls by name, directly or not."""
    found: list[FunctionType] = []
    pending = [formula]
    while pending:
        function = pending.pop(0)
        if function not in found:
            found.append(function)
            pending += [*_called(function).values(), *_called_traced(function).values()]
    return found


def _called_traced(function: FunctionType) -> dict[str, FunctionType]:
    """The functions that are no rows and that ``F.<name>`` is where derivatives are recorded."""
    values = {name: getattr(traced, name, None) for name in _attributes(function.__code__)}
    return {
        name: value
        for name, value in values.items()
        if isinstance(value, FunctionType)
        and name not in _op.rows
        and value.__module__.startswith("minitorch.ops.")
        and "np" not in _named(value.__code__)
    }


def _called(function: FunctionType) -> dict[str, FunctionType]:
    """The functions of the package's operations that a function names, but those on ndarrays."""
    values = {name: function.__globals__.get(name) for name in _named(function.__code__)}
    cells = zip(function.__code__.co_freevars, function.__closure__ or ())
    values |= {name: cell.cell_contents for name, cell in cells}
    return {
        name: value
        for name, value in values.items()
        if isinstance(value, FunctionType)
        and value.__module__.startswith("minitorch.ops.")
        and not hasattr(value, "row")
        and "np" not in _named(value.__code__)
    }


def _named(code: CodeType) -> frozenset[str]:
    """The global names that code loads."""
    return _loaded(code, ("LOAD_GLOBAL", "LOAD_NAME"))


def _attributes(code: CodeType) -> frozenset[str]:
    """The names of attributes that code loads."""
    return _loaded(code, ("LOAD_ATTR", "LOAD_METHOD"))


@functools.cache
def _loaded(code: CodeType, instructions: tuple[str, ...]) -> frozenset[str]:
    """What these instructions name, in code and in the functions in it."""
    found = {i.argval for i in dis.get_instructions(code) if i.opname in instructions}
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found |= _loaded(constant, instructions)
    return frozenset(found)


def _parameters(row: Row, part: FunctionType, is_formula: bool) -> tuple[frozenset[str], frozenset[str]]:
    """Which of a function's parameters hold tensors, and which constants."""
    code = part.__code__
    names = set(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]) - _NO_TENSORS
    if is_formula:
        tensors = names & {"g", *row.inputs, *row.results}
    else:
        tensors = {n for n in names if part.__annotations__.get(n) == "Any" and n not in row.params}
    return frozenset(tensors - {"g"} if row.outputs else tensors), frozenset(names - tensors - {"g"})


def _other_reads(row: Row, formula: FunctionType) -> Iterator[Change]:
    """A formula that reads another input, or the result, in place of what it reads."""
    tree = tree_of(formula)
    readable = [*row.inputs, *(() if row.variadic or row.outputs else ("result",))]
    reads = formula.__code__.co_varnames[2 : formula.__code__.co_argcount]
    function = f"{formula.__module__.removeprefix('minitorch.')}.{formula.__qualname__.replace('.<locals>', '')}"
    for name in reads:
        suffix = "_shape" if name.endswith("_shape") else ""
        if name.removesuffix(suffix) not in readable:
            continue
        for other in [r + suffix for r in readable if r + suffix not in reads and not (suffix and r == "result")][:1]:
            changed = copy.deepcopy(tree)
            for node in ast.walk(changed):
                if isinstance(node, ast.Name) and node.id == name:
                    node.id = other
                elif isinstance(node, ast.arg) and node.arg == name:
                    node.arg = other
            yield Change(function, "wrong saved value", f"{row.name}: reads {name}", f"reads {other}", 0, changed)


def _built(change: Change, place: Place, watch: Watch) -> tuple[FunctionType, dict[str, FunctionType]]:
    """The mutant's formula: the changed function, called by copies of those that lead to it; and those that ``traced`` has."""
    formula = _op.rows[place.row].formulas[place.input]
    assert isinstance(formula, FunctionType)
    changed = compiled(
        place.part, change.tree, {"_changed": watch.value, "_changed_axes": watch.axes, "_doubled": doubled}
    )
    copies: dict[FunctionType, FunctionType] = {place.part: changed}

    def copied(function: FunctionType) -> FunctionType:
        if function not in copies:
            scope = dict(function.__globals__)
            made = FunctionType(
                function.__code__, scope, function.__name__, function.__defaults__, function.__closure__
            )
            made.__kwdefaults__ = function.__kwdefaults__
            copies[function] = made
            called = _called(function)
            scope.update({name: copied(value) for name, value in called.items()})
            cells = [
                _cell(copied(called[name])) if name in called else cell
                for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ())
            ]
            if any(name in called for name in function.__code__.co_freevars):
                again = FunctionType(function.__code__, scope, function.__name__, function.__defaults__, tuple(cells))
                again.__kwdefaults__ = function.__kwdefaults__
                copies[function] = again
        return copies[function]

    changed.__globals__.update({name: copied(value) for name, value in _called(changed).items()})
    of_traced = {name: value for part in _parts(formula) for name, value in _called_traced(part).items()}
    return copied(formula), {name: copied(value) for name, value in of_traced.items()}


def _cell(value: Any) -> Any:
    return (lambda: value).__closure__[0]


@contextlib.contextmanager
def installed(change: Change, place: Place) -> Iterator[Watch]:
    """The mutant in the place of a row's formula."""
    row = _op.rows[place.row]
    if row.node_type is None:
        _op.build(row)
    watch = Watch()
    formula, others = _built(change, place, watch)
    with mock.patch.multiple(traced, **others) if others else contextlib.nullcontext():
        yield from _installed(row, place, formula, watch)


def _installed(row: Row, place: Place, formula: FunctionType, watch: Watch) -> Iterator[Watch]:
    saved, reads = dict(row.formulas), dict(row.reads)
    names = list(saved) if row.together else [place.input]
    code = formula.__code__
    row.formulas |= dict.fromkeys(names, formula)
    other = code.co_varnames[2 + row.together : code.co_argcount]
    if other == reads[place.input]:
        scope = row.node_type.backward.__globals__
        before = {f"{n}_formula": scope[f"{n}_formula"] for n in names}
        scope.update(dict.fromkeys(before, formula))
        try:
            yield watch
        finally:
            scope.update(before)
            row.formulas.update(saved)
        return
    try:
        row.reads[place.input] = other
        _rebuild(row)
        yield watch
    finally:
        row.formulas.update(saved)
        row.reads.update(reads)
        _rebuild(row)


def _rebuild(row: Row) -> None:
    """Write the row's recorder and node again."""
    for name in ("kept", "constants"):
        row.__dict__.pop(name, None)
    row.node_type = None
    _op.build(row)
