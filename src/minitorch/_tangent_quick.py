"""The quick way of forward mode: one level, nothing recorded, nobody else who looks.

``quick_way(row)`` writes out what the row's recording function calls in place of ``_records.observe``: the tangents of the
inputs are looked up, the row's formulas are called on ndarrays, what they give is kept.  It does what ``_tangents`` does, for
the common case in one function without loops and without Tensors around the tangents, and leaves to it what is uncommon.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from . import _codegen
from ._identity import Entry
from ._modes import active_levels, grad_on, observers
from ._op import Row
from ._records import observe, observing, show
from ._runtime import quiet, raw
from ._tangent_rules import Rule, fit, rule_of, summed

alone: list[Any] = []
"""The observer of forward mode: what ``observers`` is where nobody else looks.  Learnt from ``_tangents``."""


def quick_way(row: Row) -> Callable[[Row, Any, Any, Any], None]:
    """The function for a row; its recording functions call it from now on."""
    rule = rule_of(row)
    if rule is not None and (row.variadic or row.outputs or (rule.recorded and rule.kind != "view")):
        return shown
    if rule is None or rule.kind == "view":
        made: Any = constant if rule is None else view
        row.again = taken_again(row)
    else:
        names: dict[str, Any] = {"tangent": rule.function, "ndarray": np.ndarray, "again": getattr(raw, row.name)}
        names |= {"Entry": Entry, "raw": raw, "quiet": quiet, "fit": fit, "grad_on": grad_on}
        names |= {"plain": plain, "show": show, "observe": observe, "observing": observing}
        names |= {"observers": observers, "alone": alone, "active_levels": active_levels, "__name__": None}
        names |= rule.functions
        source = "\n".join(["def quick(row, out, inputs, params):", *_codegen.indented(_lines(row, rule))]) + "\n"
        exec(_codegen.compiled(source, f"{row.name}, quick tangent"), names)
        made = names["quick"]
    for variant in (row.recorder, row.operator):
        variant.__globals__["observe"] = made
    return made


def shown(row: Row, out: Any, inputs: Any, params: Any) -> None:
    """What a row does that has no quick way."""
    show(row, out if out.__class__ is tuple else (out,), inputs, params)


def constant(row: Row, out: Any, inputs: Any, params: Any) -> None:
    """The quick way of a row without derivative: its result has no tangent."""
    if observers != alone:
        observe(row, out, inputs, params)


def view(row: Row, out: Any, inputs: Any, params: Any) -> None:
    """That of a view: its tangent is the same view of its base's, and is taken when it is wanted."""
    if observers != alone or len(levels := active_levels()) != 1 or observing() is True:
        observe(row, out, inputs, params)
        return
    (level,), base, array = levels, inputs[0]._array, out._array
    if (entry := level.find(id(base))) is None:
        alias = inputs[0]._alias
        if alias is None or alias.parent is None or level.of(inputs[0]) is None:
            return
        entry = level.find(id(base))
    elif entry.value is None or array is base:  # where nothing was squeezed, say
        return
    key = id(array)
    level.entries[key] = taken = Entry(array, level.forget)
    taken.key, taken.value = key, (entry, out._alias)


# -- what the source calls ---------------------------------------------------------------------------------------------
def plain(found: Any) -> Any:
    """The ndarray of what a level keeps as a tangent; None for a constant, False where there is a history, or may be."""
    if found.__class__ is tuple:
        base, view = found
        if (found := base.value).__class__ is not np.ndarray and ((found := plain(found)) is None or found is False):
            return found
        return view.row.again(found, view.params)
    if found is None:
        return None
    if found._node is None and (
        (alias := found._alias) is None or alias.parent is None or alias.seen == alias.edits.count
    ):
        return found._array
    return False


def followed(tensor: Any) -> bool:
    """Whether a tensor has a history, or may have."""
    view = tensor._alias
    return tensor._node is not None or (view is not None and view.parent is not None and view.seen != view.edits.count)


def taken_again(row: Row) -> Callable[[np.ndarray, tuple[Any, ...]], np.ndarray]:
    """A function that takes the view once more: of an array, with the parameters in a tuple."""
    given = ", ".join(["array", *(f"{name}=params[{n}]" for n, name in enumerate(row.params))])
    made: Callable[..., np.ndarray] = eval(f"lambda array, params: kernel({given})", {"kernel": row.kernel})
    return made


# -- the source --------------------------------------------------------------------------------------------------------
SHOWN = "    return show(row, (out,), inputs, params)"


def _lines(row: Row, rule: Rule) -> Iterator[str]:
    moving = [row.inputs[place] for place in rule.places]
    yield "if observers != alone or len(levels := active_levels()) != 1 or observing() is True:"
    yield "    return observe(row, out, inputs, params)"
    yield f"{', '.join(f'{i}_x' for i in row.inputs)}, = inputs"
    yield "(level,) = levels"
    yield "find = level.find"
    for i in moving:
        yield f"if ({i}_t := find(id({i}_x._array))) is not None:"
        yield f"    {i}_t = {i}_t.value"
        yield f"    if {i}_t.__class__ is not ndarray and ({i}_t := plain({i}_t)) is False:"
        yield "    " + SHOWN
        yield f"elif (alias := {i}_x._alias) is not None and alias.parent is not None and level.of({i}_x) is not None:"
        yield SHOWN
    yield f"if {' and '.join(f'{i}_t is None' for i in moving)}:"
    yield "    return"
    yield "array = out._array"
    yield "dtype = array.dtype"
    if "dtype" in row.params:  # which may be one of whole numbers
        yield "if dtype.kind != 'f':"
        yield "    return"
    yield "if out._node is not None and grad_on():"
    yield SHOWN
    if rule.fits:
        if row.elementwise:
            yield "layout = out._layout"
        for i in moving:
            alike = f"{i}_t.dtype is dtype" + f" and {i}_t.shape == array.shape" * row.elementwise
            known = f" and ({i}_x._layout is not layout or layout is None)" * row.elementwise
            yield f"if {i}_t is not None{known} and not ({alike}):"
            yield f"    {i}_t = fit(raw, {i}_t, array, {row.elementwise})"
    yield "try:"
    yield from _codegen.indented(_found_lines(row, rule, moving))
    yield "except (RuntimeError, FloatingPointError):  # another thread is there, NumPy raises, or the rule says why it cannot"
    yield SHOWN
    owned = " and ".join(
        ["found.__class__ is ndarray", *(f"found is not {i}_t" for i in moving), "found.dtype is dtype"]
    )
    owned += " and found.strides == array.strides" + " and found.shape == array.shape" * (not row.elementwise)
    yield f"if {owned} and found.base is None:"
    yield "    key = id(array)"
    yield "    level.entries[key] = entry = Entry(array, level.forget)"
    yield "    entry.key, entry.value = key, found"
    yield "elif found is not None:"
    yield f"    level.raw_result(out, found, ({', '.join(f'{i}_t' for i in moving)},))"


def _found_lines(row: Row, rule: Rule, moving: list[str]) -> Iterator[str]:
    """The tangent: by the formulas themselves where each gives a term, else by the rule's function."""
    calls = _terms(row, rule)
    if not calls:
        given = f"({', '.join(f'{i}_t' for i in moving)},)"
        arrays = f"({', '.join(f'{i}_x._array' for i in row.inputs)},)"
        yield f"found = quiet(tangent, raw, {given}, {arrays}, params, array)"
        return
    if row.params:
        yield f"{', '.join(row.params)}, = params"
    if len(calls) == 1:
        yield f"found = {next(iter(calls.values()))}"
    else:
        yield from summed(row, calls, "found")


def _terms(row: Row, rule: Rule) -> dict[str, str]:
    """For each input the call that gives its term, where all terms are known to be one call each."""
    if rule.kind == "multilinear" or (rule.kind == "linear" and len(row.formulas) == 1):
        params = [f"{p}={p}" for p in row.params]
        return {
            i: f"quiet(again, {', '.join([*(f'{i}_t' if j == i else f'{j}_x._array' for j in row.inputs), *params])})"
            for i in row.inputs
            if i in row.formulas
        }
    if rule.kind not in ("formulas", "written"):
        return {}
    values = {i: f"{i}_x._array" for i in row.inputs} | {f"{i}_shape": f"{i}_x._array.shape" for i in row.inputs}
    values |= {p: p for p in row.params} | {"result": "array"}
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
