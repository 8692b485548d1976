"""The quick way of forward mode: one level, nothing recorded, nobody else who looks.

``quick_way(row, rule)`` writes out ``push(level, inputs, params, out)``: the tangents of the inputs are looked up, the row's
tangent function is called on ndarrays, its result is kept.  It does what ``_tangents`` does, for the common case in one
function without loops, and returns False, having done nothing, where anything is uncommon.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from weakref import ref

import numpy as np

from . import _codegen
from ._modes import grad_on
from ._op import Row
from ._runtime import new_tensor, quiet, raw
from ._tangent_rules import Rule, calmed, fit
from ._views import edits_of

Push = Callable[[Any, Any, Any, Any], bool]


def constant(level: Any, inputs: Any, params: Any, out: Any) -> bool:
    """The quick way of a row without derivative: its result has no tangent."""
    return True


def quick_way(row: Row, rule: Rule | None) -> Push | None:
    """The function for a row, if it can have one."""
    if rule is None:
        return constant
    if row.variadic or row.outputs or (rule.recorded and rule.kind != "view"):
        return None
    lines = _lines(row, rule)
    source = "\n".join(["def push(level, inputs, params, out):", *_codegen.indented(lines)]) + "\n"
    names: dict[str, Any] = {
        "row": row,
        "tangent": rule.function,
        "kernel": row.kernel,
        "ndarray": np.ndarray,
        "ref": ref,
    }
    names |= {"formula": calmed(next(iter(row.formulas.values()))), "partial": partial}
    names |= {
        "raw": raw,
        "quiet": quiet,
        "fit": fit,
        "grad_on": grad_on,
        "new_tensor": new_tensor,
        "edits_of": edits_of,
    }
    exec(compile(source, f"<quick tangent of {row.name}>", "exec"), names)
    push: Push = names["push"]
    return push


def _lines(row: Row, rule: Rule) -> Iterator[str]:
    moving = [row.inputs[place] for place in rule.places]
    yield f"{', '.join(row.inputs)}, = inputs"
    yield "get = level.get"
    for i in moving:
        yield f"{i}_t = get(id({i}._array))"
        yield f"if {i}_t is None:"
        yield f"    alias = {i}._alias"
        yield f"    if alias is not None and alias.parent is not None and level.of({i}) is not None:"
        yield "        return False"
        yield f"elif ({i}_t := {i}_t[0]) is not None:"
        yield f"    if {i}_t._node is not None:"
        yield "        return False"
        yield f"    alias = {i}_t._alias"
        yield "    if alias is not None and alias.parent is not None and alias.seen != alias.edits.count:"
        yield "        return False"
        if rule.kind != "view":
            yield f"    {i}_t = {i}_t._array"
    yield f"if {' and '.join(f'{i}_t is None' for i in moving)}:"
    yield "    return True"
    yield "array = out._array"
    yield "if array.dtype.kind != 'f' or (out._node is not None and grad_on()):"
    yield "    return False"
    if rule.kind == "view":
        yield from _view_lines(row)
        return
    if rule.fits:
        for i in moving:
            alike = f"{i}_t.dtype is array.dtype" + f" and {i}_t.shape == array.shape" * row.elementwise
            yield f"if {i}_t is not None and not ({alike}):"
            yield f"    {i}_t = fit(raw, {i}_t, array, {row.elementwise})"
    given = f"({', '.join(f'{i}_t' for i in moving)},)"
    arrays = f"({', '.join(f'{i}._array' for i in row.inputs)},)"
    yield "try:"
    call = _call(row, rule) or f"tangent, raw, {given}, {arrays}, params, array"
    called, _, rest = call.partition(", ")
    yield f"    found = {called}({rest})" if is_calm(row, rule) else f"    found = quiet({call})"
    yield "except (RuntimeError, FloatingPointError):  # another thread is there, NumPy raises, or the rule says why it cannot"
    yield "    return False"
    owned = " and ".join(["found.__class__ is ndarray", "found.base is None", *(f"found is not {i}_t" for i in moving)])
    yield f"if {owned} and found.dtype is array.dtype and found.strides == array.strides and found.shape == array.shape:"
    yield "    tensor = new_tensor()"
    yield "    tensor._array, tensor._node, tensor._alias, tensor._layout = found, None, None, out._layout"
    yield from _codegen.indented(_kept_lines())
    yield "elif found is not None:"
    yield f"    level.raw_result(out, found, {given})"
    yield "return True"


def is_calm(row: Row, rule: Rule) -> bool:
    """Whether the formulas call nothing but ufuncs: where these would warn, CPython drops it, as for the row's recorder."""
    return rule.kind == "formulas" and all([formula is not calmed(formula) for formula in row.formulas.values()])


def _call(row: Row, rule: Rule) -> str:
    """The call of the formula itself, where there is one input and it reads arrays only."""
    if len(rule.places) > 1 or rule.kind != "formulas":
        return ""
    (i,) = row.formulas
    named = {**{name: f"{name}._array" for name in row.inputs}, "result": "array"}
    reads = row.reads[i]
    if not set(reads) <= set(named):
        return ""
    return ", ".join(["formula", "raw", f"{i}_t", *(named[name] for name in reads)])


def _view_lines(row: Row) -> Iterator[str]:
    yield "if out._alias is None or out._alias.parent is None:"
    yield "    return False"
    if row.params:
        yield f"{', '.join(row.params)}, = params"
    yield "tensor = new_tensor()"
    yield f"tensor._array = kernel({', '.join(['self_t._array', *(f'{p}={p}' for p in row.params)])})"
    yield "tensor._node, tensor._layout = None, out._layout"
    yield "edits = alias.edits if alias is not None else edits_of(self_t)"
    yield "tensor._alias = view = out._alias.__class__()"
    yield "view.edits, view.parent, view.row, view.params = edits, self_t, row, params"
    yield "view.index, view.seen = None, edits.count"
    yield from _kept_lines()
    yield "return True"


def _kept_lines() -> Iterator[str]:
    yield "entries = level.entries"
    yield "key = id(array)"
    yield "entries[key] = tensor, ref(array, partial(entries.pop, key))"
