"""Functions as code: imported where they can be, with their source and what it uses where they can't."""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
import re
import sys
import textwrap
from types import FunctionType, ModuleType
from typing import Any

import minitorch

from .. import _dtypes, _runtime, nn
from ._literals import literal, module_lines

_WRITTEN = (int, float, str, bytes, _runtime.Tensor, _dtypes.dtype, type(None), type(...), slice, complex, range, set)
"""Types of values whose literals make them again; what is in a container is looked at by itself."""
_PUBLIC = ("", "nn.functional.", "linalg.", "special.", "nn.", "Tensor.")


class Preamble:
    """The imports and definitions that expressions need.

    Parameters
    ----------
    made : dict
        By id, the calls that made modules, where they are known.

    Attributes
    ----------
    imports, definitions : list of str
        Lines, and blocks of lines.
    """

    def __init__(self, made: dict[int, str] | None = None) -> None:
        self.made = made or {}
        self.imports: list[str] = ["import minitorch as torch"]
        self.definitions: list[str] = []
        self._named: dict[int, str] = {}

    def expression(self, value: Any, name: str = "fn") -> str:
        """An expression for a value; what it needs is added.  *name* is for a value that has none of its own."""
        owner = getattr(value, "__self__", None)
        if isinstance(owner, (type, nn.Module)):
            return f"{self.expression(owner, name)}.{value.__name__}"
        if id(value) in self._named:
            return self._named[id(value)]
        found = _public(value) or self._imported(value)
        if found is None:
            self._named[id(value)] = name if _is_lambda(value) else getattr(value, "__name__", name)
            found = self._defined(value, name)
        self._named[id(value)] = found
        return found

    def _imported(self, value: Any) -> str | None:
        """The name of what a module has, imported from it."""
        module, path = getattr(value, "__module__", None), getattr(value, "__qualname__", "")
        if not isinstance(module, str) or module == "__main__" or not path or "<" in path:
            return None
        there: Any = sys.modules.get(module)
        for part in path.split("."):
            there = getattr(there, part, None)
        if there is not value:
            return None
        self._add(self.imports, f"from {module} import {path.split('.')[0]}")
        return path

    def _defined(self, value: Any, name: str) -> str:
        """The name of what is defined here with its source, or with a value."""
        if isinstance(value, nn.Module):
            call = self._call_of(value)
            lines = module_lines(value, name, call)
            self._add(self.definitions, "\n".join(lines) if lines else _missing(name, value))
            return name
        if isinstance(value, functools.partial) and (made := self._partial(value, name)) is not None:
            self._add(self.definitions, f"{name} = {made}")
            return name
        found = _source(value)
        if found is None:
            self._add(self.definitions, _missing(name, value))
            return name
        text, node, scope = found
        names = [n for n in ast.walk(node) if isinstance(n, ast.Name)]
        own = {n.id for n in names if not isinstance(n.ctx, ast.Load)} | {
            n.arg for n in ast.walk(node) if isinstance(n, ast.arg)
        }
        for used in sorted({n.id for n in names} - own):
            if used in scope and scope[used] is not value:
                self._binding(used, scope[used])
        if isinstance(node, ast.Lambda):
            self._add(self.definitions, f"{name} = {text}")
            return name
        self._add(self.definitions, text)
        return str(value.__name__)

    def _call_of(self, module: nn.Module) -> str | None:
        """The call that makes a module of a user's class, where it is known or takes no arguments."""
        kind = type(module)
        if kind.__module__.startswith("minitorch."):
            return None
        needed = [p for p in inspect.signature(kind).parameters.values() if p.default is p.empty and p.kind < 2]
        call = self.made.get(id(module)) or (None if needed else "()")
        return call and self.expression(kind, kind.__name__) + call

    def _binding(self, name: str, value: Any) -> None:
        """Make a name mean a value."""
        if isinstance(value, ModuleType):
            if value.__name__ == "minitorch":
                line = "" if name == "torch" else f"import minitorch as {name}"
            else:
                line = f"import {value.__name__}" + ("" if name == value.__name__ else f" as {name}")
            if line:
                self._add(self.imports, line)
        elif isinstance(value, (nn.Module, FunctionType, type)) or callable(value):
            found = self.expression(value, name)
            if found != name:
                self._add(self.definitions, f"{name} = {found}")
        elif (text := self._literal(value, name)) is not None:
            self._add(self.definitions, f"{name} = {text}")
        else:
            self._add(self.definitions, _missing(name, value))

    def _literal(self, value: Any, name: str) -> str | None:
        """An expression for a value, and for what is in it where it is a container; None where there is none."""
        if type(value) in (tuple, list, dict):
            keys = list(value) if isinstance(value, dict) else list(range(len(value)))
            parts = [self._literal(value[key], re.sub(r"\W", "_", f"{name}_{key}")) for key in keys]
            if None in parts:
                return None
            if isinstance(value, dict):
                names = [self._literal(key, name) for key in keys]
                return None if None in names else "{" + ", ".join([f"{k}: {v}" for k, v in zip(names, parts)]) + "}"
            inner = ", ".join([str(part) for part in parts]) + "," * (isinstance(value, tuple) and len(parts) == 1)
            return f"[{inner}]" if isinstance(value, list) else f"({inner})"
        if isinstance(value, _WRITTEN):
            return literal(value)
        if not callable(value):
            return None
        found = self.expression(value, name)
        return None if any([text.startswith(f"# {found} = ...") for text in self.definitions]) else found

    def _partial(self, value: functools.partial[Any], name: str) -> str | None:
        """A ``functools.partial`` of what can be written."""
        parts = [self._literal(v, f"{name}_{i}") for i, v in enumerate((value.func, *value.args))]
        named = {key: self._literal(v, f"{name}_{key}") for key, v in value.keywords.items()}
        if None in parts or None in named.values():
            return None
        self._add(self.imports, "import functools")
        return f"functools.partial({', '.join([*map(str, parts), *[f'{k}={v}' for k, v in named.items()]])})"

    @staticmethod
    def _add(to: list[str], text: str) -> None:
        if text not in to:
            to.append(text)

    def __str__(self) -> str:
        first, *more = self.imports
        imports = "\n".join(sorted([first, "from minitorch.testing import check_gradients", *more], key=_import_key))
        blocks, before = imports, "import"
        for text in self.definitions:
            kind = "long" if text.startswith(("def ", "class ", "@")) else "short"
            gap = 2 if "long" in (before, kind) else int(before == "import")
            blocks, before = f"{blocks}\n{gap * chr(10)}{text}", kind
        return blocks


def _import_key(line: str) -> tuple[bool, str]:
    return line.startswith("from"), line


def _missing(name: str, value: Any) -> str:
    return f"# {name} = ...  # to be filled in: {type(value).__name__} {getattr(value, '__qualname__', '')}".rstrip()


def _is_lambda(value: Any) -> bool:
    return getattr(value, "__name__", "") == "<lambda>"


def _public(value: Any) -> str | None:
    """The name of one of the package's own functions and classes."""
    name = getattr(value, "__name__", None)
    if not isinstance(name, str) or not callable(value):
        return None
    for prefix in _PUBLIC:
        there: Any = minitorch
        for part in (prefix + name).split("."):
            there = getattr(there, part, None)
        if there is value:
            return f"torch.{prefix}{name}"
    return None


# -- sources -----------------------------------------------------------------------------------------------------------
def _source(value: Any) -> tuple[str, ast.AST, dict[str, Any]] | None:
    """The text of a function or class, its syntax, and what the names in it mean."""
    value = inspect.unwrap(value) if callable(value) else value
    functions = [value] if isinstance(value, FunctionType) else _methods(value)
    if not functions:
        return None
    lines = linecache.getlines(functions[0].__code__.co_filename, functions[0].__globals__)
    try:
        tree = ast.parse("".join(lines))
    except SyntaxError:
        return None
    scope = dict(functions[0].__globals__)
    for function in functions:
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            if name != "__class__":
                scope[name] = cell.cell_contents
    found = [node for node in ast.walk(tree) if _makes(node, value, functions[0])]
    for node in found if len(found) == 1 else [n for n in found if _is_body(n, functions[0])]:
        if isinstance(node, ast.Lambda):
            text = ast.get_source_segment("".join(lines), node) or ""
            return (f"({text})" if "\n" in text else text), node, scope
        start = min([node.lineno, *[d.lineno for d in node.decorator_list]])  # type: ignore[attr-defined]
        text = "".join(lines[start - 1 : node.end_lineno])  # type: ignore[attr-defined]
        return textwrap.dedent(text).rstrip(), node, scope
    return None


def _methods(value: Any) -> list[FunctionType]:
    """The functions of a class, those of static and class methods too."""
    if not isinstance(value, type):
        return []
    plain = [getattr(entry, "__func__", entry) for entry in vars(value).values()]
    return [f for f in plain if isinstance(f, FunctionType) and f.__qualname__.startswith(value.__qualname__)]


def _makes(node: ast.AST, value: Any, function: FunctionType) -> bool:
    """Whether a piece of syntax is the one that made a function or class."""
    code = function.__code__
    if isinstance(value, type):
        return (
            isinstance(node, ast.ClassDef)
            and node.name == value.__name__
            and node.lineno <= code.co_firstlineno <= (node.end_lineno or 0)
        )
    if isinstance(node, ast.Lambda):
        return code.co_name == "<lambda>" and node.lineno == code.co_firstlineno
    if isinstance(node, ast.FunctionDef):
        return node.name == code.co_name and code.co_firstlineno in (
            node.lineno,
            *[d.lineno for d in node.decorator_list],
        )
    return False


def _is_body(node: ast.AST, function: FunctionType) -> bool:
    """Whether a lambda's body is where the code of a function comes from: of several in one line."""
    places = [p for p in function.__code__.co_positions() if p[3]]
    start = min([(line, column) for line, _, column, _ in places])
    body = getattr(node, "body", None)
    return isinstance(body, ast.expr) and (body.lineno, body.col_offset) == start
