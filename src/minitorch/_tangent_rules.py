"""How forward mode goes through a row: a function written out from what the row says.

``rule_of(row)`` compiles, when the row is first differentiated forward, a function
``tangent(F, tangents, inputs, params, result)``: the tangent of the result (a tuple where there are several) from those of
the inputs that have one.  *F* holds kernels (everything else then is ndarrays) or recorders (Tensors), as in formulas.
See docs/design/11-transforms.md.
"""

from __future__ import annotations

import dis
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import numpy as np

from . import _codegen
from ._differentiate import grad
from ._engine import fitted
from ._modes import active_levels, enable_grad, grad_on, saved_hooks
from ._op import Row
from ._runtime import raw, silent, traced, wrap
from ._tape import Outputs
from ._trace_instructions import with_asides
from .ops._composition import Composition

KINDS = ("composition", "formulas", "linear", "multilinear", "reduction", "transpose", "view", "written")
"""How a row's tangents may be computed."""


class Rule:
    """What forward mode knows of a row.

    Attributes
    ----------
    kind : str
        One of ``KINDS``.
    places : tuple of int
        The inputs whose tangents count.
    function : callable
        ``tangent(F, tangents, inputs, params, result)``, with a tangent or None for each of these places.
    fits : bool
        Whether tangents must have the result's dtype, and its shape too where the row is elementwise.
    source : str
        The function's source.
    functions : dict
        What gives the term of each input, under the name that it has in the source, such as ``self_rule``.
    """

    __slots__ = ("fits", "function", "functions", "kind", "places", "recorded", "source")

    def __init__(self, row: Row) -> None:
        self.kind = kind_of(row)
        self.fits = len(row.inputs) > 1 and (row.elementwise or row.broadcasts)
        self.recorded = self.kind in ("composition", "transpose", "view")
        self.places = tuple([row.inputs.index(i) for i in row.inputs if i in differentiable(row)])
        self.source = "\n".join(lines(row, self.kind)) + "\n"
        self.functions = _rules(row, self.kind)
        names = _names(row, self.kind) | self.functions
        exec(_codegen.compiled(self.source, f"{row.name}, tangent"), names)
        self.function: Callable[..., Any] = names["tangent"]


def rule_of(row: Any) -> Rule | None:
    """The rule of a row, compiled when it is first asked for; None for a row without formulas."""
    rule: Rule | None = getattr(row, "rule", None)
    if rule is None and row.formulas:
        row.rule = rule = Rule(row)
    return rule


def kind_of(row: Row) -> str:
    """Which of ``KINDS`` a row is."""
    if row.view is True:
        return "view"
    if isinstance(row.tangent, Composition):
        return "composition"
    return "written" if callable(row.tangent) or isinstance(row.tangent, dict) else row.tangent or "transpose"


def differentiable(row: Row) -> Any:
    """The inputs whose tangents count."""
    return row.tangent if isinstance(row.tangent, dict) else row.formulas


# -- the source --------------------------------------------------------------------------------------------------------
def lines(row: Row, kind: str) -> Iterator[str]:
    """The source of a row's tangent function."""
    yield "def tangent(F, tangents, inputs, params, result):"
    body = {
        "view": _view_lines,
        "linear": _all_linear_lines if row.variadic else _linear_lines,
        "multilinear": _multilinear_lines,
        "reduction": _reduction_lines,
        "transpose": _transpose_lines,
        "composition": _composition_lines,
    }.get(kind, _sum_lines)
    yield from _codegen.indented(body(row))


def _unpacked(row: Row, names: set[str]) -> Iterator[str]:
    """What is read, by name."""
    if row.variadic:
        yield f"{row.inputs[0]} = inputs"
    else:
        yield f"{', '.join(row.inputs)}, = inputs"
    if row.params:
        yield f"{', '.join(row.params)}, = params"
    for name in sorted(names):
        if name == "aside":
            yield "aside = aside_of(F, row, inputs, params)"
        elif name.endswith("_shape") and name not in row.params:
            yield f"{name} = F.constant({name[:-6]}).shape"
        elif name.startswith("result") and name != "result":
            yield f"{name} = result[{name[6:]}]"


def _tangents_of(row: Row) -> list[str]:
    return [f"{i}_t" for i in row.inputs if i in differentiable(row)]


def _sum_lines(row: Row) -> Iterator[str]:
    """The sum over the inputs of what each one's tangent gives: by the row's own functions, or by its formulas."""
    rules = _functions(row)
    reads = {i: _codegen.parameters(rule)[2:] for i, rule in rules.items()}
    yield from _unpacked(row, {name for names in reads.values() for name in names})
    yield f"{', '.join(_tangents_of(row))}, = tangents"
    calls = {i: f"{i}_rule({', '.join(['F', f'{i}_t', *names])})" for i, names in reads.items()}
    if len(calls) == 1:
        yield f"return {next(iter(calls.values()))}"
        return
    yield from summed(row, calls)
    yield "return out"


def summed(row: Row, calls: dict[str, str], out: str = "out") -> Iterator[str]:
    """The sum of what the calls give for those inputs that have tangents."""
    (first, call), *others = calls.items()
    yield f"{out} = None if {first}_t is None else {call}"
    for i, call in others:
        yield f"if {i}_t is not None:"
        yield f"    term = {call}"
        yield f"    {out} = term if {out} is None else {f'plus({out}, term)' if row.outputs else f'{out} + term'}"


def _linear_lines(row: Row) -> Iterator[str]:
    """The row itself, of tangents; zeros stand for those that are not there, or the others' formulas are enough."""
    yield from _unpacked(row, set())
    yield f"{', '.join(_tangents_of(row))}, = tangents"
    if row.elementwise and len(row.formulas) > 1:
        yield f"if {' or '.join(f'{t} is None' for t in _tangents_of(row))}:"
        yield from _codegen.indented(summed(row, {i: f"{i}_rule(F, {i}_t)" for i in row.formulas}))
        yield "    return out"
    elif len(row.formulas) > 1:
        for i in row.formulas:
            yield f"if {i}_t is None:"
            yield f"    {i}_t = F.zeros(F.constant({i}).shape, {i})"
    yield f"return {_call(row, set(row.formulas))}"


def _multilinear_lines(row: Row) -> Iterator[str]:
    """The sum over the inputs of the row with one input replaced by its tangent."""
    yield from _unpacked(row, set())
    yield f"{', '.join(_tangents_of(row))}, = tangents"
    yield from summed(row, {i: _call(row, {i}) for i in row.inputs if i in row.formulas})
    yield "return out"


def _reduction_lines(row: Row) -> Iterator[str]:
    """Each element counts for one result: each one's derivative times its tangent, summed as the row reduces."""
    names = {name for reads in row.reads.values() for name in reads}
    yield from _unpacked(row, names)
    yield f"{', '.join(_tangents_of(row))}, = tangents"
    yield "one = ones(F, result)"
    calls = {i: f"{i}_rule({', '.join(['F', 'one', *reads])}) * {i}_t" for i, reads in row.reads.items()}
    dims = ", dim, keepdim" if {"dim", "keepdim"} <= set(row.params) else ""
    if len(calls) == 1:
        yield f"return reduced(F, {next(iter(calls.values()))}, result{dims})"
        return
    yield from summed(row, calls)
    yield f"return reduced(F, out, result{dims})"


def _call(row: Row, replaced: set[str]) -> str:
    """A call of the row in which some inputs are replaced by their tangents."""
    given = [f"{i}_t" if i in replaced else i for i in row.inputs]
    return f"F.{row.name}({', '.join([*given, *(f'{p}={p}' for p in row.params)])})"


def _all_linear_lines(row: Row) -> Iterator[str]:
    yield from _unpacked(row, set())
    yield "given = [F.zeros(F.constant(i).shape, i) if t is None else t for i, t in zip(inputs, tangents)]"
    yield f"return F.{row.name}({', '.join(['given', *(f'{p}={p}' for p in row.params)])})"


def _view_lines(row: Row) -> Iterator[str]:
    """The same view of the tangent."""
    yield "return row.call(tangents[0], *params)"


def _composition_lines(row: Row) -> Iterator[str]:
    """The composition's tangent, at a level of its own."""
    yield "return through(row.tangent.compose, tangents, inputs, dict(zip(row.params, params)))"


def _transpose_lines(row: Row) -> Iterator[str]:
    """The formulas, as a function of the gradient, in which they are linear, and its gradient for the tangents."""
    reads = {i: row.reads[i] for i in row.formulas}
    yield from _unpacked(row, {name for names in reads.values() for name in names})
    yield "def vjp(g, needed):"
    if row.together:
        names = next(iter(reads.values()))
        yield f"    return {row.inputs[0]}_formula({', '.join(['F', 'g', 'needed', *names])})"
    else:
        calls = [
            f"{i}_formula({', '.join(['F', 'g', *names])}) if needed[{n}] else None"
            for n, (i, names) in enumerate(reads.items())
        ]
        yield f"    return ({', '.join(calls)},)"
    order = [[i for i in row.inputs if i in row.formulas].index(i) for i in row.formulas]
    yield f"tangents = [tangents[n] for n in {order}]"
    yield "return transposed(row, vjp, inputs, tangents, result)"


# -- what the source calls ---------------------------------------------------------------------------------------------
def _functions(row: Row) -> dict[str, Callable[..., Any]]:
    """What gives a term of the tangent, by input."""
    if isinstance(row.tangent, dict):
        return row.tangent
    return row.formulas if isinstance(row.tangent, str) else {row.inputs[0]: row.tangent}


def _names(row: Row, kind: str) -> dict[str, Any]:
    called = (aside_of, ones, plus, reduced, transposed, through)
    names: dict[str, Any] = {"row": row, "__name__": None} | {function.__name__: function for function in called}
    if kind == "transpose":
        names |= {f"{i}_formula": formula for i, formula in row.formulas.items()}
    return names


def _rules(row: Row, kind: str) -> dict[str, Callable[..., Any]]:
    if kind not in ("formulas", "written", "reduction") and not (kind == "linear" and row.elementwise):
        return {}
    return {f"{i}_rule": calmed(function) for i, function in _functions(row).items()}


def calmed(formula: Any) -> Any:
    """The formula; where it calls nothing but ufuncs, as a function that drops their warnings: see ``_op.recorder``."""
    code = formula.__code__
    reads = {i.argval for i in dis.get_instructions(code) if i.opname == "LOAD_GLOBAL"}
    calls = [name for name in code.co_names if name not in reads]
    if reads or code.co_freevars or not all([isinstance(getattr(raw, name, None), np.ufunc) for name in calls]):
        return formula
    return FunctionType(code, {"__name__": None, "__builtins__": __builtins__}, formula.__name__, formula.__defaults__)


def plus(one: Any, two: Any) -> Any:
    """The sum of two terms; of tuples, place by place."""
    if one is None or two is None:
        return two if one is None else one
    if isinstance(one, (tuple, list)):
        return tuple([plus(a, b) for a, b in zip(one, two)])
    return one + two


def aside_of(F: Any, row: Row, inputs: Any, params: tuple[Any, ...]) -> Any:
    """What the kernel set aside, by another run of it; on Tensors one that observers see."""
    if F is raw:
        made = silent(row.kernel, *inputs, **dict(zip(row.params, params)))
    else:
        made = with_asides(row).call(*inputs, *params)
    return made[int(row.outputs) or 1 :]


def ones(F: Any, result: Any) -> Any:
    """Ones in the place of a gradient of the result."""
    array = np.ones_like(F.constant(result))
    return array if F is raw else wrap(array)


def reduced(F: Any, terms: Any, result: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """Terms, one for each element of the input, summed as the result is made of them."""
    shape, given = F.constant(result).shape, F.constant(terms).shape
    if given == shape:
        return terms
    if dim is None and not keepdim:
        return F.sum_all(terms)
    dims = tuple(range(len(given))) if dim is None else dim if isinstance(dim, tuple) else (dim,)
    return F.sum(terms, dim=dims, keepdim=keepdim)


def transposed(row: Row, vjp: Any, inputs: Any, tangents: Any, result: Any) -> Any:
    """The tangent by a second reverse pass: the vjp is linear in the gradient *g*, and its derivative for g is the jvp."""
    results = result if isinstance(result, tuple) else (result,)
    starts = [wrap(np.zeros_like(r._array)) for r in results]
    token = saved_hooks.set(())  # a pass of this function's own
    try:
        return _transposed(row, vjp, inputs, tangents, starts)
    finally:
        saved_hooks.reset(token)


def _transposed(row: Row, vjp: Any, inputs: Any, tangents: Any, starts: list[Any]) -> Any:
    leaves = [start for start in starts if start._array.dtype.kind == "f"]
    with enable_grad():
        for leaf in leaves:
            leaf.requires_grad = True
        g: Any = starts if row.outputs else starts[0]
        if row.outputs and row.together:
            g = Outputs(enumerate(starts))
        found = vjp(g, [t is not None for t in tangents])
        pairs = [(v, t, i) for v, t, i in zip(found, tangents, row.formulas) if v is not None and t is not None]
        if row.broadcasts:
            wanted = [inputs[row.inputs.index(i)]._array for _, _, i in pairs]
            values = fitted([v for v, _, _ in pairs], tuple([(a.shape, a.dtype) for a in wanted]), traced)
            pairs = [(v, t, i) for v, (_, t, i) in zip(values, pairs)]
    pairs = [(v, t, i) for v, t, i in pairs if v.requires_grad]
    gradients: Any = [None] * len(leaves)
    if pairs:
        roots = [v for v, _, _ in pairs]
        weights = [fit(traced, t, v._array, shapes=False) for v, t, _ in pairs]
        gradients = grad(roots, leaves, weights, create_graph=grad_on(), allow_unused=True)
    by_leaf = dict(zip(map(id, leaves), gradients))
    ordered = tuple([by_leaf.get(id(start)) for start in starts])
    return ordered if row.outputs else ordered[0]


def through(compose: Any, tangents: Any, inputs: Any, params: dict[str, Any]) -> Any:
    """What forward mode gives for the operations that a function is composed of."""
    from ._tangents import Level, computing, dual  # which stands above

    outer = active_levels()
    level = Level(outer)
    duals = [x if t is None else dual(level, x, t) for x, t in zip(inputs, tangents)]
    with computing((*outer, level)):
        found = compose(*duals, **params)
    return tuple([level.of(out) for out in found]) if isinstance(found, tuple) else level.of(found)


def fit(F: Any, tangent: Any, array: np.ndarray, shapes: bool) -> Any:
    """A tangent in the result's dtype, and shape."""
    given = F.constant(tangent)
    if given.dtype is not array.dtype:
        tangent = F.to(tangent, dtype=array.dtype)
    if shapes and given.shape != array.shape:
        tangent = F.expand(tangent, size=array.shape)
    return tangent
