"""Write docs/reference/ from the registry of rows and the public names: ``python docs/generate_reference.py``."""

from __future__ import annotations

import ast
import functools
import inspect
import re
import textwrap
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import minitorch
from minitorch import _codegen, _op
from minitorch.ops.copies import no_gradient

REFERENCE = Path(__file__).parent / "reference"
SOURCE = Path(minitorch.__file__).parent
OPERATORS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "matmul": "@",
    "and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>", "eq": "==", "ne": "!=", "lt": "<", "le": "<=",
    "gt": ">", "ge": ">=", "neg": "-", "invert": "~", "abs": "abs()", "getitem": "[]", "setitem": "[]=",
}  # fmt: skip
OPERATIONS = ("minitorch.ops", "minitorch.nn.functional", "minitorch._casts")
NAMESPACES = {"": minitorch, "F.": minitorch.nn.functional, "linalg.": minitorch.linalg}
NAMESPACES |= {f"{n}.": m for n in ("special", "fft") if isinstance(m := getattr(minitorch, n, None), ModuleType)}

INTRODUCTION = """\
# The operations

Every row of the registry, a family a file: made by `python docs/generate_reference.py`, and checked by a test.
[How rows work](../design/02-rows.md); [how to add one](../how-to/add-an-op.md); [all public names](names.md).

- **Row, node**: the row's name; the name of its `grad_fn`; *elementwise*, *linear*, *view* where it is.
- **Called as**: `name` is a function of the package, `F.name` of `nn.functional`, `.name` a method of `Tensor`, `.name_` its
  in-place form; *out=* where it takes that. A row without a public form says what it serves.
- **Derivatives**: as the row writes them: `g` is the gradient of the result, `F` the other rows, on ndarrays or on Tensors.
- **Saves**: what a node keeps when all its gradients are needed; of that, only what the needed ones read. `x_shape` is a shape.
- **Order**: *any* where the derivatives are themselves differentiable, without end; *zero* for step functions, whose
  gradient is zero and has no history; *once* where the derivative has none itself; *none* where there is no derivative.
"""


# -- formulas, as written ----------------------------------------------------------------------------------------------
@functools.cache
def parsed(filename: str) -> tuple[str, ast.Module, dict[int, list[Any]]]:
    """A file's text, its tree, and its functions by the line on which they begin."""
    text = Path(filename).read_text()
    tree = ast.parse(text)
    functions: dict[int, list[Any]] = defaultdict(list)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Lambda, ast.FunctionDef)):
            functions[min([node.lineno, *[d.lineno for d in getattr(node, "decorator_list", ())]])].append(node)
    return text, tree, functions


@functools.cache
def written(formula: Callable[..., Any]) -> str:
    """A formula's source on one line: a lambda's body, or a function's statements."""
    code = formula.__code__
    text, _, functions = parsed(code.co_filename)
    (node,) = [n for n in functions[code.co_firstlineno] if encloses(n, code)]
    if isinstance(node, ast.Lambda):
        return one_line(text, node.body)
    body = node.body[1:] if ast.get_docstring(node) else node.body
    if len(body) == 1 and isinstance(body[0], ast.Return):
        return one_line(text, body[0].value)
    return "; ".join([one_line(text, statement) for statement in body])


def encloses(node: Any, code: CodeType) -> bool:
    """Whether code comes from this function: for a lambda, of several on a line, by where its instructions stand."""
    if isinstance(node, ast.FunctionDef):
        return node.name == code.co_name
    body = node.body
    places = {(line, column) for line, _, column, end in code.co_positions() if line and column is not None and end}
    start, end = (body.lineno, body.col_offset), (body.end_lineno, body.end_col_offset)
    return code.co_name == "<lambda>" and all(start <= place < end for place in places)


def one_line(text: str, node: ast.AST) -> str:
    segment = ast.get_source_segment(text, node) or ""
    segment = "\n".join([line.split("  #")[0] for line in segment.splitlines()])
    return re.sub(r"([(\[]) | (?=[)\]])", r"\1", re.sub(r"\s+", " ", segment))


# -- what calls what ---------------------------------------------------------------------------------------------------
def codes(function: FunctionType) -> Iterator[CodeType]:
    """A function's code and that of the functions inside it."""
    pending = [function.__code__]
    while pending:
        code = pending.pop()
        yield code
        pending += [c for c in code.co_consts if isinstance(c, CodeType)]


def mentions(function: FunctionType) -> tuple[set[str], list[Any]]:
    """The rows that a function names, as ``F.name``, ``traced.name`` or ``rows["name"]``, and the objects that it names."""
    names: set[str] = set()
    texts: set[str] = set()
    for code in codes(function):
        names |= {*code.co_names}
        texts |= {c for c in code.co_consts if isinstance(c, str)}
    cells = [c.cell_contents for c in function.__closure__ or ()]
    objects = [function.__globals__[n] for n in names if n in function.__globals__] + cells
    objects += [getattr(o, n) for o in objects if isinstance(o, ModuleType) for n in names if n in vars(o)]
    given = {c for c in cells if isinstance(c, str)}
    made = given | {c + text for c in given for text in texts}  # getattr(F, f"{name}_backward")
    if "rows" in names or made:
        made |= texts
    if "F" in _codegen.parameters(function)[:1] or names & {"traced", "raw"}:
        made |= names
    return {m for m in made if m in _op.rows}, [o for given in objects for o in flat(given)]


def flat(value: Any) -> Iterator[Any]:
    """What is in a container, however deep; anything else is itself."""
    if isinstance(value, (dict, tuple, list)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from flat(item)
    else:
        yield value


def rows_of(function: Any, public: frozenset[int] = frozenset(), name: str = "") -> set[str]:
    """The rows that an operation calls, itself or by way of functions that are private or have its *name*."""
    pending, seen, found = [operation(function)], {id(function)}, set()
    while pending:
        function = pending.pop()
        if isinstance(row := getattr(function, "row", None), _op.Row):
            found.add(row.name)
        elif isinstance(function, FunctionType) and function.__module__.startswith(OPERATIONS):
            named, objects = mentions(function)
            found |= named
            for o in objects:
                if id(o) not in seen and (id(o) not in public or getattr(o, "__name__", None) == name):
                    seen.add(id(o))
                    pending.append(o)
    return found


def operation(value: Any) -> Any:
    """What a property gets and what an in-place form does."""
    if isinstance(value, property):
        return value.fget
    if isinstance(value, FunctionType) and value.__module__ == "minitorch._inplace" and value.__closure__:
        return value.__closure__[value.__code__.co_freevars.index("function")].cell_contents
    return value


def serves(called: dict[str, list[str]]) -> dict[str, set[str]]:
    """For each row, the rows with public forms whose derivatives come to it."""
    callers: dict[str, set[str]] = defaultdict(set)
    for row in _op.rows.values():
        for formula in row.formulas.values():
            for name in rows_of(formula):
                callers[name].add(row.name)
    return {name: climbed(name, callers, called) for name in _op.rows}


def climbed(name: str, callers: dict[str, set[str]], called: dict[str, list[str]]) -> set[str]:
    """A row's nearest callers that people call."""
    seen: set[str] = set()
    pending = [name]
    while pending:
        new = callers[pending.pop()] - seen
        seen |= new
        pending += [n for n in new if not called[n]]
    return {n for n in seen if called[n]} or callers[name]


# -- public forms ------------------------------------------------------------------------------------------------------
@functools.cache
def public_objects() -> dict[str, Any]:
    """Every public callable by the name that the page shows."""
    found = {}
    for prefix, module in NAMESPACES.items():
        found |= {prefix + n: getattr(module, n) for n in module.__all__ if not inspect.isclass(getattr(module, n))}
    underscored = {n: v for n, v in vars(minitorch).items() if n[0] == "_" and hasattr(v, "__module__")}
    found |= {n: v for n, v in underscored.items() if str(v.__module__).startswith("minitorch.ops.")}
    methods = {n: v for n, v in vars(minitorch.Tensor).items() if callable(v) or isinstance(v, property)}
    return found | {f".{n}": v for n, v in methods.items()}


def forms() -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """For each row, what people call it by, and which other operations call it."""
    objects = public_objects()
    public = frozenset([id(v) for v in objects.values()])
    own: dict[str, list[str]] = {name: [] for name in _op.rows}
    others: dict[str, list[str]] = {name: [] for name in _op.rows}
    for name, value in objects.items():
        function = operation(value)
        if isinstance(row := getattr(function, "row", None), _op.Row):
            own[row.name].append(name)
            if not name.startswith(".__"):
                for reached in set().union(*[rows_of(rare, public) for _, rare in row.rarely.values()]):
                    own[reached].append(name)
            continue
        written_as = getattr(function, "__name__", "").removeprefix("operator_").removeprefix("reflected_")
        names = {name.split(".")[-1].rstrip("_"), written_as}
        for reached in rows_of(value, public, name.split(".")[-1]):
            if any(reached == bare or reached.startswith(f"{bare}_") for bare in names):
                own[reached].append(name)
            elif name.startswith(".__") or not name.endswith("_"):
                others[reached].append(name)
    return own, others


def use_of(name: str, own: list[str], others: list[str], callers: set[str]) -> str:
    """How a row is called, as text."""
    if own:
        out = any(takes_out(public_objects()[n]) for n in own if not n.startswith("."))
        return some(listed(own), " ") + " *out=*" * out
    if others:
        return "in " + some(listed(others), " ")
    if callers:
        return "in the derivatives of " + some(sorted(callers), ", ")
    users = [p.name for p in sorted(SOURCE.rglob("*.py")) if f'rows["{name}"]' in p.read_text()]
    return "in " + some(users, ", ")


def takes_out(function: Any) -> bool:
    return callable(function) and "out" in inspect.signature(function).parameters


def listed(names: list[str]) -> list[str]:
    """Operators as Python writes them, then functions and methods by name."""
    symbols, plain = set(), []
    for name in names:
        bare = name.removeprefix(".__").removesuffix("__")
        if not name.startswith(".__"):
            plain.append(name)
        elif bare in OPERATORS:
            symbols.add(OPERATORS[bare])
        elif bare[1:] in OPERATORS:  # reflected, or in place
            symbols.add(OPERATORS[bare[1:]] + "=" * (bare[0] == "i"))
    return [*sorted(symbols), *sorted(plain, key=lambda n: (n.strip("._").split(".")[-1], n))]


def some(names: list[str], joint: str) -> str:
    """Names as text: the first dozen of many."""
    return joint.join([code(n) for n in names[:12]]) + " …" * (len(names) > 12)


def code(text: str) -> str:
    return f"`{text}`".replace("|", "\\|")


# -- order -------------------------------------------------------------------------------------------------------------
def order(row: _op.Row) -> str:
    """How often a row can be differentiated."""
    if not row.formulas or all_raise(row):
        return "none"
    if all(is_zero(f) for f in row.formulas.values()):
        return "zero"
    straight = [text for f in row.formulas.values() if not re.search(r"\bif\b", text := written(f))]
    called = {name for text in straight for name in re.findall(r"F\.(\w+)\(", text)}
    return "once" if any(n in _op.rows and all_raise(_op.rows[n]) for n in called) else "any"


def all_raise(row: _op.Row) -> bool:
    return bool(row.formulas) and all(raises(f) for f in row.formulas.values())


def raises(formula: Callable[..., Any]) -> bool:
    return written(formula).startswith("raise ")


def is_zero(formula: Callable[..., Any]) -> bool:
    return formula is no_gradient or written(formula).startswith("F.zeros")


# -- the pages ---------------------------------------------------------------------------------------------------------
def declared_in() -> dict[str, str]:
    """The file of each row: where its name stands in a call at module level, or where its functions come from."""
    names: list[tuple[Any, str]] = []
    files = {
        path: path.relative_to(SOURCE).as_posix()
        for path in [*sorted((SOURCE / "ops").glob("*.py")), SOURCE / "special.py"]
    }
    for path, shown in files.items():
        for statement in parsed(str(path))[1].body:
            if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
                continue
            for node in ast.walk(statement):
                if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
                    names.append((node.args[0].value, shown))
    found = {name: shown for name, shown in reversed(names) if name in _op.rows}
    for name, row in _op.rows.items():
        functions = [row.kernel, *row.formulas.values()]
        paths = [Path(f.__code__.co_filename) for f in functions if hasattr(f, "__code__")]
        found.setdefault(name, next((files[p] for p in paths if p in files and p.name != "copies.py"), "?"))
    return found


def operations() -> str:
    """The page of rows."""
    families: dict[str, list[_op.Row]] = defaultdict(list)
    places, (own, others) = declared_in(), forms()
    callers = serves({name: own[name] + others[name] for name in _op.rows})
    for name, row in _op.rows.items():
        families[places[name]].append(row)
    lines = [INTRODUCTION]
    for filename in sorted(families):
        first = (ast.get_docstring(parsed(str(SOURCE / filename))[1]) or "").splitlines()[0]
        lines += [
            f"## {filename.removeprefix('ops/').removesuffix('.py')}",
            "",
            f"{first} [Source](../../src/minitorch/{filename})",
            "",
        ]
        lines += ["| Row, node | Called as | Derivatives | Saves | Order |", "|---|---|---|---|---|"]
        lines += [
            line_of(row, use_of(row.name, own[row.name], others[row.name], callers[row.name]))
            for row in families[filename]
        ]
        lines += [""]
    return "\n".join(lines)


def line_of(row: _op.Row, use: str) -> str:
    """A row's line of the table."""
    kinds = {"elementwise": row.elementwise, "linear": row.tangent == "linear", "view": row.view}
    title = "<br>".join(
        [code(row.name), row.node_name or "(no node)", *[f"*{k}*" for k, true in kinds.items() if true]]
    )
    shown = {", ".join(row.inputs): next(iter(row.formulas.values()))} if row.together else row.formulas
    formulas = "<br>".join([f"{code(i)}: {code(written(f))}" for i, f in shown.items()])
    saves = ", ".join([code(n) for n in (*row.kept, *row.constants)])
    return f"| {title} | {use} | {formulas} | {saves} | {order(row)} |"


def names() -> str:
    """The page of public names."""
    lines = [
        "# Public names",
        "",
        "Made by `python docs/generate_reference.py`. [The operations behind them](operations.md).",
    ]
    titles = {"": "minitorch", "F.": "minitorch.nn.functional", "linalg.": "minitorch.linalg"}
    listed: dict[str, dict[str, Any]] = {}
    for prefix, module in NAMESPACES.items():
        listed[titles.get(prefix, f"minitorch.{prefix[:-1]}")] = {n: getattr(module, n) for n in sorted(module.__all__)}
    listed["Tensor"] = {n: v for n, v in sorted(vars(minitorch.Tensor).items()) if not n.startswith("_")}
    listed["minitorch.nn"] = {n: getattr(minitorch.nn, n) for n in sorted(minitorch.nn.__all__)}
    listed["minitorch.optim"] = {n: getattr(minitorch.optim, n) for n in sorted(minitorch.optim.__all__)}
    listed["minitorch.onnx"] = {n: getattr(minitorch.onnx, n) for n in sorted(minitorch.onnx.__all__)}
    listed["minitorch.static"] = {n: getattr(minitorch.static, n) for n in sorted(minitorch.static.__all__)}
    for title, values in listed.items():
        lines += ["", f"## {title}", "", "| name | |", "|---|---|"]
        lines += [f"| {code(name)} | {summary(value)} |" for name, value in values.items()]
    return "\n".join(lines) + "\n"


def summary(value: Any) -> str:
    """The first paragraph of a docstring, or the value of a constant."""
    if not callable(value) and not isinstance(value, (property, ModuleType)):
        if type(value).__repr__ is not object.__repr__:
            return code(str(value))
        value = type(value)
    doc = (inspect.getdoc(value) or "").split("\n\n")[0]
    return " ".join(doc.split()).replace("``", "`").replace("|", "\\|")


ONNX = """\
# Operations in ONNX

Made by `python docs/generate_reference.py`. `onnx.export` ([how to](../how-to/deploy.md)) writes each row of
[the operations](operations.md) by a form of its own, or as the rows that it is made of; tests run every sample of these in
onnxruntime. Rows without either are named in one error. Random rows and those whose result's shape depends on values are among
them on purpose.
"""
ONNX_KINDS = {"own": "With a form of their own", "parts": "Made of others", "": "Without one"}


def onnx() -> str:
    """The page of ONNX forms."""
    lines = [ONNX]
    kinds = minitorch.onnx.kinds_of_rows()
    for kind, title in ONNX_KINDS.items():
        found = [code(name) for name, of in kinds.items() if of == kind]
        lines += [f"## {title}: {len(found)}", "", textwrap.fill(", ".join(found), 120, break_on_hyphens=False), ""]
    return "\n".join(lines)


PAGES = {"operations.md": operations, "names.md": names, "onnx.md": onnx}

if __name__ == "__main__":
    REFERENCE.mkdir(exist_ok=True)
    for filename, page in PAGES.items():
        (REFERENCE / filename).write_text(page())
