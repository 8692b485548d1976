"""Functions of this package as source text that needs NumPy alone, with all that they use, each once.

What a function uses is found in the text of the file that defines it: names that are not its own stand for statements of that
file, of the file that they are imported from, or of another package.  A copy is the statement as it is written, without
annotations and with the names that things have in the text that is written.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import copy
import functools
import importlib.util
import inspect
import keyword
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from .._trace_instructions import Read
from ._free_names import FreeNames, Unwritable, of_package

PACKAGE = __name__.partition(".")[0]
ENGINE = frozenset([
    f"{PACKAGE}.{name}" for name in (
        "_choices", "_engine", "_inplace", "_modes", "_op", "_random", "_records", "_runtime", "_sites", "_tape",
        "_tensor", "_views",
    )
])  # fmt: skip
"""Modules that nothing is copied from: what needs them runs on tensors."""
_IMPORTED = sys.stdlib_module_names | {"numpy"}
_PRAGMA = re.compile(rb" *# (type: ignore|noqa|fmt: )[^\n]*")
_QUOTED = re.compile(r"'([^'\"\\]*)'")  # what ast.unparse puts between the other quotes
_BUILTINS = frozenset([*vars(builtins), *keyword.kwlist])


def _root(module: Any) -> str:
    """The package that a module is of."""
    return str(module or "").partition(".")[0]


class File:
    """A module's source text."""

    def __init__(self, module: str) -> None:
        self.module = module
        try:
            self.text = inspect.getsource(sys.modules[module]).encode()
        except (OSError, TypeError):
            raise Unwritable(f"{module}, whose source text is not there") from None
        self.tree = ast.parse(self.text)
        self.starts = [0]
        for line in self.text.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.bound = {name: statement for statement in self.tree.body for name in _bound(statement)}
        self._free: dict[Any, FreeNames] = {}

    @functools.cached_property
    def functions(self) -> dict[int, list[Any]]:
        """Its functions and lambdas, by the line in which they begin."""
        found: dict[int, list[Any]] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, (ast.FunctionDef, ast.Lambda)):
                first = min([node.lineno, *[d.lineno for d in getattr(node, "decorator_list", ())]])
                found.setdefault(first, []).append(node)
        return found

    def free_names(self, node: Any) -> FreeNames:
        """What a part of it uses of what is around it."""
        if node not in self._free:
            self._free[node] = FreeNames(node, self)
        return self._free[node]

    def span(self, node: Any) -> tuple[int, int]:
        """Where a node's text begins and ends."""
        return (
            self.starts[node.lineno - 1] + node.col_offset,
            self.starts[node.end_lineno - 1] + node.end_col_offset,
        )

    def lines(self, statement: Any) -> tuple[int, int]:
        """Where the lines of a statement begin and end, with its decorators and the comment above it."""
        first = min([statement.lineno, *[d.lineno for d in getattr(statement, "decorator_list", ())]])
        while first > 1 and (line := self._line(first - 1)).startswith(b"#") and not line.startswith(b"# --"):
            first -= 1
        return self.starts[first - 1], self.starts[statement.end_lineno]

    def imported(self, statement: ast.ImportFrom) -> str:
        """The module that a statement imports from."""
        package = self.module if hasattr(sys.modules[self.module], "__path__") else self.module.rpartition(".")[0]
        return importlib.util.resolve_name("." * statement.level + (statement.module or ""), package)

    def _line(self, number: int) -> bytes:
        return self.text[self.starts[number - 1] : self.starts[number]]


@functools.cache
def file_of(module: str) -> File:
    """The source text of a module."""
    return File(module)


def _bound(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement of a module binds."""
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        yield statement.name
    elif isinstance(statement, (ast.Import, ast.ImportFrom)):
        yield from [alias.asname or alias.name for alias in statement.names]
    elif isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None:
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        names = [n for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)]
        yield from [n.id for n in names if isinstance(n.ctx, ast.Store)]


# -- definitions -------------------------------------------------------------------------------------------------------
class Imported:
    """An import from another package."""

    identifiers: frozenset[str] = frozenset()

    def __init__(self, module: str, name: str, wanted: str) -> None:
        self.module, self.original = module, name
        self.names = {wanted: wanted}
        self.wishes: dict[str, str] = {}
        self.used: list[tuple[Any, str, str | None]] = []

    def text(self) -> str:
        """The import statement."""
        (name,) = self.names.values()
        whole = self.original or self.module
        renamed = "" if name == whole else f" as {name}"
        return (
            f"from {self.module} import {self.original}{renamed}" if self.original else f"import {self.module}{renamed}"
        )


class Copied:
    """A statement of a file of this package, or a function or lambda within one.

    Attributes
    ----------
    names : dict
        For each name that it binds, the name that it gets.
    wishes : dict
        Names to be preferred.
    identifiers : set of str
        The names of its own in it.
    used : list of (definition, str, str or None)
        What it uses: which of the definition's names, and how the text spells it.
    """

    def __init__(self, copies: Copies, file: File, node: Any, names: list[str], inside: Mapping[str, Any]) -> None:
        self.file, self.node, self.names = file, node, {n: n for n in names}
        self.wishes: dict[str, str] = {}
        self.copies, self.inside = copies, inside
        self.used: list[tuple[Any, str, str | None]] = []
        self.free = file.free_names(node)
        self.identifiers = self.free.identifiers

    def look(self) -> None:
        """Find what it uses."""
        with self.copies.looking(self):
            self.text()

    def text(self) -> str:
        """Its text, with the names that things have now."""
        edits = [*self.free.drops, *self._decorators()]
        for name, attribute in self.free.found:
            if isinstance(name.ctx, ast.Store):
                if name.id in self.names:
                    edits.append((*self.file.span(name), self.names[name.id]))
                continue
            said = self.copies.spelled(self.file, name, attribute, self.inside, self.free.imports)
            if said is not None:
                edits.append((*self.file.span(said[0]), said[1]))
        if isinstance(self.node, ast.Lambda):
            return self._function(edits)
        if isinstance(self.node, (ast.FunctionDef, ast.ClassDef)):
            edits.append(self._own_name())
        start, end = self.file.lines(self.node)
        return textwrap.dedent(self._edited(start, end, edits)).rstrip()

    def _own_name(self) -> tuple[int, int, str]:
        start = self.file.span(self.node)[0]
        found = re.compile(rb"(?:def|class)\s+(\w+)").match(self.file.text, start)
        assert found is not None
        return (*found.span(1), self.names[self.node.name])

    def _decorators(self) -> Iterator[tuple[int, int, str]]:
        """Those of this package are left out."""
        decorators = getattr(self.node, "decorator_list", [])
        lines = [*[d.lineno for d in decorators], self.node.lineno]
        for decorator, following in zip(decorators, lines[1:]):
            if of_package(decorator, self.file):
                yield self.file.starts[decorator.lineno - 1], self.file.starts[following - 1], ""

    def _function(self, edits: Any) -> str:
        """A lambda as a function."""
        (name,) = self.names.values()
        body = self._edited(*self.file.span(self.node.body), edits)
        body = f"({body})" if "\n" in body else body
        return f"def {name}({ast.unparse(self.node.args)}):\n    return {body}"

    def _edited(self, start: int, end: int, edits: Any) -> str:
        text, at = [], start
        for first, last, said in sorted(edits):
            if at <= first and last <= end:
                text += [self.file.text[at:first], said.encode()]
                at = last
        text.append(self.file.text[at:end])
        return _PRAGMA.sub(b"", b"".join(text)).decode()


class Copies:
    """What is copied, in the order in which it must stand.

    Parameters
    ----------
    store : callable
        ``store(array)`` keeps an array that is too large to be written as text, and returns an expression for it.
    """

    def __init__(self, store: Callable[[np.ndarray], str]) -> None:
        self.store = store
        self.definitions: list[Any] = []
        self.roots = {PACKAGE}  # the packages of which functions are copied: those that kernels are of
        self._known: dict[Any, Any] = {}
        self._user: list[Any] = []
        self._settled = False

    @contextlib.contextmanager
    def looking(self, user: Any) -> Iterator[None]:
        """While a definition is looked through, what is named is used by it."""
        self._user.append(user)
        try:
            yield
        finally:
            self._user.pop()

    def _name(self, definition: Any, name: str, spelled: str | None) -> str:
        if self._user and not self._settled:
            self._user[-1].used.append((definition, name, spelled))
        return str(definition.names[name])

    def _defined(self, key: Any, make: Callable[[], Any]) -> Any:
        if key not in self._known:
            self._known[key] = made = make()
            if isinstance(made, Copied):
                made.look()
            self.definitions.append(made)
        return self._known[key]

    # -- what a name stands for ----------------------------------------------------------------------------------------
    def spelled(
        self, file: File, name: ast.Name, taken: Any, inside: Mapping[str, Any], imports: dict[str, tuple[str, str]]
    ) -> tuple[Any, str] | None:
        """The node that is to be replaced and by what; None where it stays as it is.

        Parameters
        ----------
        file : File
        name : Name
        taken : Attribute or Call or None
            What is taken of it: an attribute, or by ``getattr``.
        inside : dict
            The values of a closure's variables.
        imports : dict
            What is imported where it is used.
        """
        if name.id in inside:
            return name, self.expression(inside[name.id])
        if name.id in imports:
            source, original = imports[name.id]
            value = getattr(importlib.import_module(source), original, None)
            if not isinstance(value, ModuleType):
                return name, str(self.global_name(file_of(source), original, None))
        else:
            value = vars(sys.modules[file.module]).get(name.id)
        if isinstance(value, ModuleType) and _root(value.__name__) in self.roots:
            wanted = getattr(taken, "attr", None)
            if isinstance(taken, ast.Call) and isinstance(taken.args[1], ast.Name):
                wanted = inside.get(taken.args[1].id)
            if not isinstance(wanted, str):
                raise Unwritable(f"the module {value.__name__} as a value")
            said = self.global_name(file_of(value.__name__), wanted, None)
            return None if said is None else (taken, said)
        said = self.global_name(file, name.id, name.id)
        return None if said is None else (name, said)

    def global_name(self, file: File, name: str, spelled: str | None) -> str | None:
        """What a name of a module is called in the text that is written; None for a builtin."""
        scope = vars(sys.modules[file.module])
        if name not in scope:
            if name in vars(builtins):
                return None
            raise Unwritable(f"{file.module}.{name}, which is not there when it runs")
        value, statement = scope[name], file.bound.get(name)
        if isinstance(value, ModuleType):
            return self.imported(value.__name__, "", name, spelled)
        if isinstance(statement, ast.ImportFrom):
            original = next(a.name for a in statement.names if name in (a.asname, a.name))
            source = file.imported(statement)
            if _root(source) in self.roots:
                return self.global_name(file_of(source), original, spelled if original == name else None)
            return self.imported(source, original, name, spelled)
        if file.module in ENGINE or hasattr(value, "row") or hasattr(value, "choice"):
            raise Unwritable(f"{file.module}.{name}, which is of tensors")
        if statement is None or (isinstance(value, FunctionType) and statement.__class__ is not ast.FunctionDef):
            return self.expression(value)
        return self._name(self._statement(file, statement), name, spelled)

    def imported(self, module: str, original: str, name: str, spelled: str | None) -> str:
        """What an import from another package is called."""
        if _root(module) not in _IMPORTED:
            raise Unwritable(f"{module}{'.' * bool(original)}{original}, which is neither NumPy's nor Python's own")
        definition = self._defined((module, original), lambda: Imported(module, original, name))
        (own,) = definition.names
        return self._name(definition, own, spelled)

    def _statement(self, file: File, statement: Any) -> Any:
        return self._defined(
            (file.module, statement.lineno), lambda: Copied(self, file, statement, [*_bound(statement)], {})
        )

    # -- values --------------------------------------------------------------------------------------------------------
    def function(self, function: Any, wish: str = "") -> str:
        """The name of a function, which is copied with all that it uses.

        Raises
        ------
        Unwritable
            Where it needs tensors.
        """
        if not isinstance(function, FunctionType) or _root(function.__module__) in _IMPORTED:
            return self.expression(function)
        self.roots.add(_root(function.__module__))
        file, node = file_of(function.__module__), node_of(function)
        if file.bound.get(function.__name__) is node:
            definition, name = self._statement(file, node), function.__name__
        else:
            name = function.__name__ if node.__class__ is ast.FunctionDef else re.sub(r"\W+", "_", wish or "function")
            definition = self._defined(
                function, lambda: Copied(self, file, node, [name], inspect.getclosurevars(function).nonlocals)
            )
        if wish:
            definition.wishes.setdefault(name, re.sub(r"\W+", "_", wish))
        return self._name(definition, name, None)

    def numpy(self) -> str:
        """The name of NumPy."""
        return self.imported("numpy", "", "np", None)

    def expression(self, value: Any) -> str:
        """An expression for a value."""
        kind = value.__class__
        if value is None or value is Ellipsis or kind in (bool, int, str):
            return "..." if value is Ellipsis else repr(value)
        if kind is float:
            return repr(value) if np.isfinite(value) else f'float("{value}")'
        if kind is Read:
            return str(int(value))
        if isinstance(value, (tuple, list)):
            return self._sequence(value)
        if kind is dict:
            items = [f"{self.expression(k)}: {self.expression(v)}" for k, v in value.items()]
            return f"{{{', '.join(items)}}}"
        if kind is slice:
            return f"slice({', '.join([self.expression(v) for v in (value.start, value.stop, value.step)])})"
        if isinstance(value, np.dtype):
            return f'{self.numpy()}.dtype("{value.name}")'
        if isinstance(value, (np.ndarray, np.generic)):
            return self.array(np.asarray(value))
        if kind is functools.partial:
            given = [f"{name}={self.expression(v)}" for name, v in value.keywords.items()]
            parts = [self.function(value.func), *map(self.expression, value.args), *given]
            return f"{self.imported('functools', 'partial', 'partial', None)}({', '.join(parts)})"
        if isinstance(value, (type, FunctionType, np.ufunc)) or (callable(value) and hasattr(value, "__name__")):
            return self._named(value)
        return self._instance(value)

    def _sequence(self, value: Any) -> str:
        items = [self.expression(v) for v in value]
        if isinstance(value, list):
            return f"[{', '.join(items)}]"
        if hasattr(value, "_fields"):
            given = [f"{field}={item}" for field, item in zip(value._fields, items)]
            return f"{self._named(value.__class__)}({', '.join(given)})"
        return f"({', '.join(items)}{',' * (len(items) == 1)})"

    def _named(self, value: Any) -> str:
        """A function or a class by its name."""
        if isinstance(getattr(value, "__self__", None), (type, np.ufunc)):
            return f"{self._named(value.__self__)}.{value.__name__}"
        name, module = value.__name__, getattr(value, "__module__", None) or "numpy"
        if getattr(np, name, None) is value:
            return f"{self.numpy()}.{name}"
        if getattr(builtins, name, None) is value:
            return str(name)
        if _root(module) not in self.roots:
            return self.imported(module, name, name, None)
        if isinstance(value, FunctionType):
            return self.function(value)
        found = [n for n, v in vars(sys.modules[module]).items() if v is value]
        if not found:
            raise Unwritable(f"{module}.{name}, which is made when it runs")
        return str(self.global_name(file_of(module), found[0], None))

    def array(self, value: np.ndarray) -> str:
        """An array: as text where it is small, otherwise one that is kept beside the text."""
        dtype = f"{self.numpy()}.{'bool' if value.dtype.kind == 'b' else value.dtype.name}"
        if value.size <= 8 and value.flags.c_contiguous and value.dtype.kind in "biuf":
            said = _numbers(value)
            if value.shape == (0,) or 0 not in value.shape:
                return f"{self.numpy()}.array({said}, {dtype})"
            return f"{self.numpy()}.empty({value.shape}, {dtype})"
        return self.store(value)

    def _instance(self, value: Any) -> str:
        """An object by a call of its class, whose arguments are its attributes."""
        kind = value.__class__
        if _root(kind.__module__) not in self.roots or kind.__module__ in ENGINE:
            raise Unwritable(f"a {kind.__name__} ({value!r})")
        try:
            names = list(inspect.signature(kind).parameters)
        except ValueError:  # a class of which Python does not tell how it is called
            names = [""]
        if not all([hasattr(value, name) for name in names]):
            raise Unwritable(f"a {kind.__name__} ({value!r})")
        return f"{self._named(kind)}({', '.join([self.expression(getattr(value, name)) for name in names])})"

    # -- in place of a call --------------------------------------------------------------------------------------------
    def inlined(self, function: Any, given: dict[str, str]) -> str | None:
        """The expression that a function returns, for arguments; None where it does more than that."""
        if not isinstance(function, FunctionType) or _root(function.__module__) in _IMPORTED:
            return None
        self.roots.add(_root(function.__module__))
        node = node_of(function)
        body = node.body if isinstance(node, ast.Lambda) else _returned(node)
        complex_ones = (ast.Lambda, ast.NamedExpr, ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)
        if body is None or any([isinstance(n, complex_ones) for n in ast.walk(body)]):
            return None
        defaults = {p.name: p.default for p in inspect.signature(function).parameters.values() if p.name not in given}
        given = given | {name: self.expression(value) for name, value in defaults.items()}
        inside = inspect.getclosurevars(function).nonlocals
        changed = _Inlined(self, file_of(function.__module__), given, inside).visit(copy.deepcopy(body))
        return _QUOTED.sub(r'"\1"', ast.unparse(ast.fix_missing_locations(changed)))

    # -- the text ------------------------------------------------------------------------------------------------------
    def settle(self, reserved: set[str]) -> None:
        """Give everything its name: one that is not *reserved*, nor hidden by a name of the text that uses it."""
        users: dict[tuple[int, str], list[tuple[Any, str | None]]] = {}
        for user in self.definitions:
            for definition, name, spelled in user.used:
                users.setdefault((id(definition), name), []).append((user, spelled))
        taken = {*reserved}
        for definition in sorted(self.definitions, key=lambda d: isinstance(d, Copied)):
            for name in definition.names:
                found = users.get((id(definition), name), [])
                for wanted in _candidates(definition, name):
                    hidden = [u for u, spelled in found if spelled != wanted and wanted in u.identifiers]
                    if wanted not in taken and wanted not in _BUILTINS and not hidden:
                        break
                taken.add(wanted)
                definition.names[name] = wanted
        self.taken, self._settled = taken, True

    def imports(self) -> str:
        """The import statements: of the standard library, and then of NumPy."""
        lines = [d.text() for d in self.definitions if isinstance(d, Imported)]
        lines.sort(key=lambda line: (line.split()[1].startswith("numpy"), line[0] == "f", line))
        first = next((n for n, line in enumerate(lines) if line.split()[1].startswith("numpy")), len(lines))
        return "\n".join([*lines[:first], *[""] * (0 < first < len(lines)), *lines[first:]])

    def texts(self) -> Iterator[tuple[Any, str]]:
        """The copied definitions in order, each with its text."""
        for definition in self.definitions:
            if isinstance(definition, Copied):
                yield definition, definition.text()


def _candidates(definition: Any, name: str) -> Iterator[str]:
    if name in definition.wishes:
        yield definition.wishes[name]
    yield name
    if isinstance(definition, Copied):
        name = f"{definition.file.module.rpartition('.')[2].strip('_')}_{name.strip('_')}"
        yield name
    number = 2
    while True:
        yield f"{name}_{number}"
        number += 1


class _Inlined(ast.NodeTransformer):
    """Puts arguments in the place of parameters, and names of the written text in that of others."""

    def __init__(self, copies: Copies, file: File, given: dict[str, str], inside: Mapping[str, Any]) -> None:
        self.copies, self.file, self.given, self.inside = copies, file, given, inside

    def visit_Name(self, node: ast.Name) -> Any:
        if node.id in self.given:
            return _parsed(self.given[node.id])
        said = self.copies.spelled(self.file, node, None, self.inside, {})
        return node if said is None else _parsed(said[1])

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        if isinstance(node.value, ast.Name) and node.value.id not in self.given:
            said = self.copies.spelled(self.file, node.value, node, self.inside, {})
            if said is not None and said[0] is node:
                return _parsed(said[1])
        return self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        test = self.visit(node.test)
        if isinstance(test, ast.Constant):
            return self.visit(node.body if test.value else node.orelse)
        return ast.IfExp(test, self.visit(node.body), self.visit(node.orelse))


def _parsed(text: str) -> Any:
    return ast.parse(text, mode="eval").body


def _returned(node: Any) -> Any:
    """What a function returns that does nothing else; None for others."""
    body = [s for s in node.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    return body[0].value if len(body) == 1 and isinstance(body[0], ast.Return) else None


def _numbers(array: np.ndarray) -> str:
    """The numbers of a small array as nested lists, each as short as its dtype allows."""
    if array.ndim:
        return f"[{', '.join([_numbers(part) for part in array])}]"
    number = array[()]
    if array.dtype.kind != "f":
        return repr(number.item())
    return str(number) if np.isfinite(number) else f'float("{number}")'


@functools.cache
def node_of(function: FunctionType) -> Any:
    """The text of a function, as a syntax tree."""
    code = function.__code__
    wanted = list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
    found = []
    for node in file_of(function.__module__).functions.get(code.co_firstlineno, ()):
        args = [a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
        named = isinstance(node, ast.Lambda) == (code.co_name == "<lambda>")
        if args == wanted and named and _contains(node, code):
            found.append(node)
    if not found:
        raise Unwritable(f"{function.__module__}.{function.__qualname__}, whose source text is not there")
    return found[-1]


def _contains(node: Any, code: Any) -> bool:
    """Whether a lambda's code lies within a node."""
    if code.co_name != "<lambda>":
        return True
    places = [(p[0], p[2]) for p in code.co_positions() if p[0] and p[2] is not None and p[2] != p[3]]
    start, end = (node.body.lineno, node.body.col_offset), (node.body.end_lineno, node.body.end_col_offset)
    return all([start <= place <= end for place in places])
