"""The quick way of forward mode: one level, nothing recorded, nobody else who looks.

``write_quick_way(row)`` writes the row's recording functions again, with what they do where there are observers: the tangents
of the inputs are looked up, the row's formulas are called on ndarrays, what they give is kept.  That is what ``_tangents``
does, for the common case without calls, loops and Tensors around the tangents; to it is left what is uncommon.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from numpy import ndarray

from . import _codegen
from ._identity import Entry, forget
from ._modes import active_levels
from ._op import Row
from ._records import observing, show
from ._runtime import quiet, raw
from ._tangent_rules import Rule, fit, rule_of, summed

alone: list[Any] = []
"""The observer of forward mode: what ``observers`` is where nobody else looks.  Learnt from ``_tangents``."""


def write_quick_way(row: Row) -> None:
    """Write a row's recording functions again, with what forward mode does where nobody else observes."""
    rule = rule_of(row)
    if rule is None:
        lines: Iterable[str] = ["if observers != alone:", f"    {_codegen.told(row)}"]
    elif row.variadic or row.outputs or (rule.recorded and rule.kind != "view"):
        return
    else:
        lines = _view_lines(row) if rule.kind == "view" else _lines(row, rule)
    names: dict[str, Any] = {} if rule is None else {"tangent": rule.function} | rule.functions
    names |= {
        "Entry": Entry,
        "active_levels": active_levels,
        "again": getattr(raw, row.name, None),
        "alone": alone,
        "fit": fit,
        "forget": forget,
        "ndarray": ndarray,
        "observing": observing,
        "plain": plain,
        "quiet": quiet,
        "show": show,
        "viewed": viewed,
    }
    row.again = taken_again(row)
    code = _codegen.compiled(_codegen.source(row, lines), f"{row.name}, with tangents")
    for variant in (row.recorder, row.operator):
        scope = variant.__globals__
        scope.update(names)
        exec(code, scope)
        variant.__code__ = scope["recorder"].__code__


# -- what the source calls ---------------------------------------------------------------------------------------------
def plain(found: Any) -> Any:
    """The ndarray of what a level keeps as a tangent; None for a constant, False where there is a history, or may be."""
    if found is None or found.__class__ is ndarray:
        return found
    if found._node is None and (
        (alias := found._alias) is None or alias.parent is None or alias.seen == alias.edits.count
    ):
        return found._array
    return False


def viewed(level: Any, tensor: Any) -> Any:
    """The same for a view that the level does not know: the same view of that of what it was taken of."""
    view = tensor._alias
    base = view.parent
    try:
        source = view.source
    except AttributeError:  # nothing observed
        return plain(level.of(tensor))
    if (entry := level.find(id(source))) is not None:
        found = plain(entry.value)
    elif source is not base._array:
        return plain(level.of(tensor))
    elif (above := base._alias) is None or above.parent is None:
        return None
    else:
        found = viewed(level, base)
    return found if found is None or found is False else view.row.again(found, view.params)


def followed(tensor: Any) -> bool:
    """Whether a tensor has a history, or may have."""
    view = tensor._alias
    return tensor._node is not None or (view is not None and view.parent is not None and view.seen != view.edits.count)


def taken_again(row: Row) -> Callable[[ndarray, tuple[Any, ...]], ndarray]:
    """A function that takes the view once more: of an array, with the parameters in a tuple."""
    given = ", ".join(["array", *(f"{name}=params[{n}]" for n, name in enumerate(row.params))])
    made: Callable[..., ndarray] = eval(f"lambda array, params: kernel({given})", {"kernel": row.kernel})
    return made


# -- the source --------------------------------------------------------------------------------------------------------
def _shown(row: Row) -> list[str]:
    return [f"    {_codegen.told(row, 'show', '(out,)')}", "    return out"]


def _level_lines(row: Row) -> Iterator[str]:
    """The one level that is there and looks."""
    yield "if observers != alone or len(levels := active_levels()) != 1 or observing() is True:"
    yield f"    {_codegen.told(row)}"
    yield "    return out"
    yield "(level,) = levels"


def _view_lines(row: Row) -> Iterator[str]:
    """A view's tangent is the same view of its base's, and is taken when it is wanted."""
    yield "view.source = self_array"
    yield "if observers != alone:"
    yield f"    {_codegen.told(row)}"


def _lines(row: Row, rule: Rule) -> Iterator[str]:
    moving = [row.inputs[place] for place in rule.places]
    yield from _level_lines(row)
    yield "find = level.find"
    for i in moving:
        tensor = _codegen.argument(i)
        yield f"if ({i}_t := find(id({tensor}._array))) is not None:"
        yield f"    {i}_t = {i}_t.value"
        yield f"    if {i}_t.__class__ is not ndarray and ({i}_t := plain({i}_t)) is False:"
        yield from _codegen.indented(_shown(row))
        yield f"elif (alias := {tensor}._alias) is not None and alias.parent is not None:"
        yield f"    if ({i}_t := viewed(level, {tensor})) is False:"
        yield from _codegen.indented(_shown(row))
    yield f"if {' and '.join(f'{i}_t is None' for i in moving)}:"
    yield "    return out"
    if "dtype" in row.params:  # which may be one of whole numbers
        yield "if out_array.dtype.kind != 'f':"
        yield "    return out"
    yield "if out._node is not None and grad_on():"
    yield from _shown(row)
    for i in moving if rule.fits else []:
        alike = f"{i}_t.dtype is out_array.dtype" + f" and {i}_t.shape == out_array.shape" * row.elementwise
        known = f" and (layout is None or {_codegen.argument(i)}._layout is not layout)" * row.elementwise
        yield f"if {i}_t is not None{known} and not ({alike}):"
        yield f"    {i}_t = fit(raw, {i}_t, out_array, {row.elementwise})"
    yield "try:"
    yield from _codegen.indented(_found_lines(row, rule, moving))
    yield "except (RuntimeError, FloatingPointError):  # another thread is there, NumPy raises, or the rule says why it cannot"
    yield from _shown(row)
    fresh = row.elementwise and rule.functions and all(map(is_calm, rule.functions.values()))  # or a tangent as it was
    owned = "" if fresh else " and found.base is None"
    yield f"if (found.__class__ is ndarray{owned} and found.dtype is out_array.dtype"
    yield f"    and found.strides == out_array.strides{' and found.shape == out_array.shape' * (not row.elementwise)}"
    yield f"    and {' and '.join(f'found is not {i}_t' for i in moving)}):"
    yield "    place = id(out_array)"
    yield "    home = level.entries"
    yield "    home[place] = entry = Entry(out_array, forget)"
    yield "    entry.home, entry.key, entry.value = home, place, found"
    yield "elif found is not None:"
    yield f"    level.raw_result(out, found, ({', '.join(f'{i}_t' for i in moving)},))"


def _found_lines(row: Row, rule: Rule, moving: list[str]) -> Iterator[str]:
    """The tangent: by the formulas themselves where each gives a term, else by the rule's function."""
    calls = _terms(row, rule)
    if not calls:
        given = f"({', '.join(f'{i}_t' for i in moving)},)"
        arrays = f"({', '.join(f'{_codegen.argument(i)}._array' for i in row.inputs)},)"
        yield f"found = quiet(tangent, raw, {given}, {arrays}, {_codegen.given(row)}, out_array)"
    elif len(calls) == 1:
        yield f"found = {next(iter(calls.values()))}"
    elif len(calls) == 2:
        (one, first), (two, second) = calls.items()
        both = f"{first} + {second}"
        if rule.kind == "linear":
            given = ", ".join([f"{i}_t" for i in row.inputs])
            both = f"again({given})" if row.is_ufunc else f"quiet(again, {given})"
        yield f"found = {second} if {one}_t is None else {first} if {two}_t is None else {both}"
    else:
        yield from summed(row, calls, "found")


def _terms(row: Row, rule: Rule) -> dict[str, str]:
    """For each input the call that gives its term, where all terms are known to be one call each."""
    arrays = {i: f"{_codegen.argument(i)}._array" for i in row.inputs}
    if rule.kind == "multilinear" or (rule.kind == "linear" and len(row.formulas) == 1):
        params = [f"{p}={p}" for p in row.params]
        return {
            i: f"quiet(again, {', '.join([*(f'{i}_t' if j == i else arrays[j] for j in row.inputs), *params])})"
            for i in row.inputs
            if i in row.formulas
        }
    if rule.kind not in ("formulas", "linear", "written"):
        return {}
    values = arrays | {f"{i}_shape": f"{array}.shape" for i, array in arrays.items()}
    values |= {p: p for p in row.params} | {"result": "out_array"}
    calls = {}
    for i, function in rule.functions.items():
        reads = _codegen.parameters(function)[2:]
        if not set(reads) <= set(values):
            return {}
        input = i.removesuffix("_rule")
        given = ", ".join(["raw", f"{input}_t", *(values[name] for name in reads)])
        calls[input] = f"{i}({given})" if is_calm(function) else f"quiet({i}, {given})"
    return calls


def is_calm(function: Any) -> bool:
    """Whether a rule calls nothing but ufuncs: where these would warn, CPython drops it, as for the row's recorder."""
    return "__name__" in function.__globals__ and function.__globals__["__name__"] is None
