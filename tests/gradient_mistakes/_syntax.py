"""Syntactic mutants of a function: its source with one thing changed, compiled again in its own globals and closure."""

from __future__ import annotations
import __future__

import ast
import copy
import functools
import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType
from typing import Any

Function = Callable[..., Any]
NOT_OF_THIS_TYPE = object()
_TRANSPOSES = {
    "T",
    "mT",
    "mH",
    "H",
    "transpose",
    "transpose_last",
    "permute",
    "movedim",
    "flip",
    "t",
    "adjoint",
    "conj",
}
_COMMUTATIVE = {"min", "max", "eq"}
_MASKS = {"where", "masked_fill", "masked", "tril", "triu"}


@dataclass(frozen=True)
class Change:
    """One change of a function's source."""

    function: str
    """Its module and qualified name."""
    kind: str
    before: str
    after: str
    where: int
    """Which of the same changes of this function, from 0."""
    tree: ast.AST
    """The changed function."""

    @property
    def key(self) -> str:
        return f"{self.function}: {self.before}  =>  {self.after}" + (f"  #{self.where + 1}" if self.where else "")


@functools.cache
def _functions(filename: str) -> dict[int, list[ast.Lambda | ast.FunctionDef]]:
    """The functions of a file by the line at which their code starts."""
    found: dict[int, list[ast.Lambda | ast.FunctionDef]] = {}
    for node in ast.walk(ast.parse(Path(filename).read_text())):
        if isinstance(node, (ast.Lambda, ast.FunctionDef)):
            decorators = node.decorator_list if isinstance(node, ast.FunctionDef) else []
            found.setdefault(min([node.lineno, *(d.lineno for d in decorators)]), []).append(node)
    return found


def tree_of(function: FunctionType) -> ast.Lambda | ast.FunctionDef:
    """The syntax tree of a function: the smallest one that contains all of its code."""
    code = function.__code__
    places = [p for p in code.co_positions() if p[0] and p[1] and p[2] is not None and p[0] >= code.co_firstlineno]
    places = [p for p in places if p[0] != code.co_firstlineno or p[2] or p[3]]
    found: list[ast.Lambda | ast.FunctionDef] = []
    for node in _functions(code.co_filename)[code.co_firstlineno]:
        if isinstance(node, ast.Lambda) and code.co_name == "<lambda>":
            body = node.body
            start, end = (body.lineno, body.col_offset), (body.end_lineno or 0, body.end_col_offset or 0)
            if all(start <= (line, col) and (last, stop) <= end for line, last, col, stop in places):
                found.append(node)
        elif isinstance(node, ast.FunctionDef) and node.name == code.co_name:
            found.append(node)
    assert len(found) == 1, (function, found)
    return found[0]


def compiled(function: FunctionType, tree: ast.AST, extra: dict[str, Any]) -> FunctionType:
    """The function that a changed tree stands for, with the globals and the closure of the one it comes from."""
    free = function.__code__.co_freevars
    definition = copy.deepcopy(tree)
    body: list[ast.stmt]
    if isinstance(definition, ast.Lambda):
        body = [ast.Return(definition)]
    else:
        assert isinstance(definition, ast.FunctionDef)
        definition.decorator_list = []
        body = [definition, ast.Return(ast.Name(definition.name, ast.Load()))]
    arguments = ast.arguments([], [ast.arg(n) for n in free], None, [], [], None, [])
    factory = ast.FunctionDef(name="factory", args=arguments, body=body, decorator_list=[])
    module = ast.fix_missing_locations(ast.Module([factory], []))
    scope = {**function.__globals__, **extra}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        code = compile(module, f"<mutant of {function.__qualname__}>", "exec", flags=_ANNOTATIONS, dont_inherit=True)
    exec(code, scope)
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    made: FunctionType = scope["factory"](*cells)
    made.__kwdefaults__, made.__defaults__ = function.__kwdefaults__, function.__defaults__
    return made


_ANNOTATIONS = __future__.annotations.compiler_flag


@functools.cache
def changes(function: FunctionType, tensors: frozenset[str], constants: frozenset[str]) -> list[Change]:
    """All changes of a function; *tensors* and *constants* are those of its parameters that hold the one or the other."""
    tree = tree_of(function)
    name = f"{function.__module__.removeprefix('minitorch.')}.{function.__qualname__.replace('.<locals>', '')}"
    counts: dict[tuple[str, str], int] = {}
    seen: set[str] = set()
    found = []
    for kind, path, new in _all(tree, tensors, constants):
        changed = _replaced(tree, path, new)
        text = ast.dump(changed)
        if text in seen:
            continue
        seen.add(text)
        before = _excerpt(tree, path)
        after = _line("; ".join(map(ast.unparse, new))) if isinstance(new, list) else _excerpt(changed, path)
        where = counts[before, after] = counts.get((before, after), -1) + 1
        found.append(Change(name, kind, before, after, where, changed))
    return found


# -- places in a tree --------------------------------------------------------------------------------------------------
Path_ = tuple[tuple[str, int | None], ...]


def _at(tree: ast.AST, path: Path_) -> Any:
    node: Any = tree
    for field, index in path:
        node = getattr(node, field) if index is None else getattr(node, field)[index]
    return node


def _replaced(tree: ast.AST, path: Path_, new: Any) -> ast.AST:
    tree = copy.deepcopy(tree)
    parent = _at(tree, path[:-1])
    field, index = path[-1]
    if index is None:
        setattr(parent, field, copy.deepcopy(new))
    else:
        values = getattr(parent, field)
        values[index : index + 1] = copy.deepcopy(new) if isinstance(new, list) else [copy.deepcopy(new)]
    return tree


def _excerpt(tree: ast.AST, path: Path_) -> str:
    """The smallest piece around a place that says what it is: an expression of some length, or a line."""
    for end in range(len(path), -1, -1):
        node = _at(tree, path[:end])
        if isinstance(node, (ast.arguments, ast.keyword, ast.comprehension)) or not isinstance(
            node, (ast.expr, ast.stmt)
        ):
            continue
        text = ast.unparse(node)
        whole = isinstance(node, ast.stmt) or not isinstance(_at(tree, path[: end - 1]) if end else tree, ast.expr)
        if len(text) > 24 or whole:
            break
    return _line(text)


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 150 else line[:150] + "…"


def _places(node: ast.AST, path: Path_ = ()) -> Iterator[tuple[ast.AST, Path_]]:
    yield node, path
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "args", "defaults") and not isinstance(node, ast.Call):
            continue
        for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if isinstance(child, (ast.Raise, ast.Assert)) or not isinstance(child, ast.AST):
                continue
            if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
                continue  # a docstring
            yield from _places(child, (*path, (field, index)))


# -- the changes -------------------------------------------------------------------------------------------------------
def _all(tree: ast.AST, tensors: frozenset[str], constants: frozenset[str]) -> Iterator[tuple[str, Path_, Any]]:
    for node, path in _places(tree):
        for kind, new in _of_node(node):
            yield kind, path, new
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and path:
            if node.id in tensors:
                others = sorted(tensors - {node.id})
                if others:
                    following = [o for o in others if o > node.id] or others
                    yield "wrong saved value", path, ast.Name(following[0], ast.Load())
            elif node.id in constants and not _only_a_condition(tree, path):
                yield _kind_of_constant(node.id), path, _changed(_kind_of_constant(node.id), node)
        if isinstance(node, ast.Lambda) and path == ():
            yield from _of_result(node.body, (("body", None),))
        if isinstance(node, ast.Return) and node.value is not None:
            yield from _of_result(node.value, (*path, ("value", None)))


def _only_a_condition(tree: ast.AST, path: Path_) -> bool:
    """Whether only the truth of an expression matters, or its length: the condition's own changes are enough."""
    parent = _at(tree, path[:-1])
    return (
        (isinstance(parent, ast.Compare) and isinstance(parent.ops[0], (ast.Is, ast.IsNot)))
        or (isinstance(parent, ast.Call) and ast.unparse(parent.func) == "len")
        or isinstance(parent, ast.BoolOp)
        or (isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not))
        or (isinstance(parent, (ast.If, ast.IfExp)) and path[-1][0] == "test")
    )


def _kind_of_constant(name: str) -> str:
    if name.endswith(("_shape", "size", "sizes", "shape")):
        return "wrong shape"
    if name.startswith(("dim", "axis", "axes")):
        return "wrong axis"
    return "wrong constant"


def _changed(kind: str, value: ast.expr) -> ast.Call:
    return _call("_changed_axes" if kind == "wrong axis" else "_changed", value)


def _of_result(value: ast.expr, path: Path_) -> Iterator[tuple[str, Path_, Any]]:
    """Changes of what is returned: another sign, a factor; of each where several are."""
    if isinstance(value, (ast.Tuple, ast.List)):
        for i, item in enumerate(value.elts):
            yield from _of_result(item, (*path, ("elts", i)))
    elif isinstance(value, ast.IfExp):
        yield from _of_result(value.body, (*path, ("body", None)))
        yield from _of_result(value.orelse, (*path, ("orelse", None)))
    elif isinstance(value, ast.Call) and ast.unparse(value.func) in ("F.zeros", "F.zeros_like"):
        yield "wrong constant", path, ast.BinOp(value, ast.Add(), ast.Constant(1))
    elif not isinstance(value, ast.Constant):
        yield "sign", path, ast.UnaryOp(ast.USub(), value)
        yield "factor", path, _call("_doubled", value)


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


def _of_node(node: ast.AST) -> Iterator[tuple[str, Any]]:
    if isinstance(node, ast.BinOp):
        yield from _of_arithmetic(node)
    elif isinstance(node, ast.AugAssign) and isinstance(node.op, (ast.Add, ast.Sub)):
        yield "sign", ast.AugAssign(node.target, ast.Sub() if isinstance(node.op, ast.Add) else ast.Add(), node.value)
        yield "dropped term", ast.Pass()
    elif isinstance(node, ast.UnaryOp):
        if isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.Constant):
            yield "sign", node.operand
        elif isinstance(node.op, (ast.Not, ast.Invert)):
            yield "condition", node.operand
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            yield "wrong constant", ast.Constant(not node.value)
        elif isinstance(node.value, (int, float)):
            yield "wrong constant", ast.Constant(node.value + 1)
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        for kind, others in (("condition", _OPPOSITE), ("boundary", _BESIDE)):
            other = others.get(type(node.ops[0]))
            if other:
                yield kind, ast.Compare(node.left, [other()], node.comparators)
    elif isinstance(node, ast.BoolOp):
        yield "condition", ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    elif isinstance(node, (ast.IfExp, ast.If)):
        yield from _of_branches(node)
    elif isinstance(node, ast.Attribute) and node.attr in _TRANSPOSES and ast.unparse(node.value) != "F":
        yield "dropped transpose", node.value
    elif isinstance(node, ast.Call):
        yield from _of_call(node)


_OPPOSITE: dict[type, type] = {
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}


_BESIDE: dict[type, type] = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
"""Comparisons that differ where both sides are equal."""


def _of_arithmetic(node: ast.BinOp) -> Iterator[tuple[str, ast.expr]]:
    left, op, right = node.left, node.op, node.right
    if isinstance(op, (ast.Add, ast.Sub)):
        yield "sign", ast.BinOp(left, ast.Sub() if isinstance(op, ast.Add) else ast.Add(), right)
        yield "dropped term", left
        yield "dropped term", right if isinstance(op, ast.Add) else ast.UnaryOp(ast.USub(), right)
    elif isinstance(op, ast.Mult):
        yield "dropped factor", left
        yield "dropped factor", right
    elif isinstance(op, (ast.Div, ast.FloorDiv, ast.Pow)):
        yield "dropped factor", left
    elif isinstance(op, (ast.BitAnd, ast.BitOr)):
        yield "condition", left
        yield "condition", right
    if isinstance(op, (ast.Sub, ast.Div, ast.Pow, ast.MatMult)):
        yield "swapped operands", ast.BinOp(right, op, left)


def _of_branches(node: ast.IfExp | ast.If) -> Iterator[tuple[str, Any]]:
    own = isinstance(node.test, (ast.Compare, ast.BoolOp)) or (
        isinstance(node.test, ast.UnaryOp) and isinstance(node.test.op, ast.Not)
    )
    if isinstance(node, ast.IfExp):
        if not own:
            yield "condition", ast.IfExp(node.test, node.orelse, node.body)
        yield "dropped branch", node.body
        yield "dropped branch", node.orelse
    elif not any(isinstance(part, ast.Raise) for part in node.body):
        if not own:
            yield "condition", ast.If(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse)
        yield "dropped branch", node.body
        yield "dropped branch", node.orelse or [ast.Pass()]


def _of_call(node: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """A call left out, its operands swapped, its axis or shape another one."""
    function, arguments = node.func, list(node.args)
    if any(isinstance(a, ast.Starred) for a in arguments):
        return
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    skip = 1 if arguments and isinstance(arguments[0], ast.Name) and arguments[0].id == "F" else 0
    operands = arguments[skip:]
    method = isinstance(function, ast.Attribute) and not (
        isinstance(function.value, ast.Name) and function.value.id == "F"
    )
    if name == "where" and len(operands) == 3:
        yes, no, mask = operands  # the order of rows
        yield "missing mask", yes
        yield "missing mask", no
        yield "missing mask", ast.Call(function, [*arguments[:skip], no, yes, mask], node.keywords)
        return
    if name in ("tuple", "list", "int", "float", "bool"):
        return
    kind = "dropped transpose" if name in _TRANSPOSES else "missing mask" if name in _MASKS else "dropped call"
    if method and isinstance(function, ast.Attribute):
        yield kind, function.value
    elif operands:
        yield kind, operands[0]
    if len(operands) > 1 and name not in _COMMUTATIVE and not any(isinstance(o, ast.Constant) for o in operands[:2]):
        swapped = [*arguments[:skip], operands[1], operands[0], *operands[2:]]
        yield "swapped operands", ast.Call(function, swapped, node.keywords)
    for i, keyword in enumerate(node.keywords):
        of_keyword = _kind_of_constant(keyword.arg or "")
        if of_keyword != "wrong constant" and not isinstance(keyword.value, ast.Constant):
            changed = ast.keyword(keyword.arg, _changed(of_keyword, keyword.value))
            yield of_keyword, ast.Call(function, arguments, [*node.keywords[:i], changed, *node.keywords[i + 1 :]])


def doubled(value: Any) -> Any:
    """Stands for ``_doubled`` in mutants: twice a gradient, or twice each of several."""
    return [doubled(v) for v in value] if isinstance(value, (list, tuple)) else None if value is None else value * 2


class Watch:
    """Has ``_changed`` and ``_changed_axes`` of mutants: another value of the same type; knows whether it ever gave one."""

    def __init__(self) -> None:
        self.touched = False

    def value(self, value: Any) -> Any:
        """Another number, or a shape turned round."""
        new = _another(value)
        if new is NOT_OF_THIS_TYPE:
            return value
        self.touched = self.touched or new != value
        return new

    def axes(self, value: Any) -> Any:
        """Another axis, or one less of several."""
        if isinstance(value, (tuple, list)) and len(value) > 1:
            self.touched = True
            return value[:-1]
        return self.value(value)


def _another(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value - 1 if value > 0 else value + 1
    if isinstance(value, float):
        return value * 1.5 + 0.25 if math.isfinite(value) else 2.0
    if isinstance(value, str):
        return {"mean": "sum", "sum": "mean"}.get(value, NOT_OF_THIS_TYPE)
    if isinstance(value, (tuple, list)) and all(isinstance(v, int) for v in value):
        turned = type(value)(value[::-1])
        return turned if turned != value else type(value)(_another(v) for v in value)
    return NOT_OF_THIS_TYPE
