"""The names in a piece of source text that are not its own, and the annotations in it."""

from __future__ import annotations

import ast
import sys
from typing import Any


class Unwritable(Exception):
    """Something cannot be written as text; the message says what."""


class FreeNames(ast.NodeVisitor):
    """What a statement, function or lambda uses of what is around it.

    Attributes
    ----------
    found : list of (Name, Attribute or Call or None)
        The names; with the attribute that is taken of it, also by ``getattr``.
    imports : dict of str to (str, str)
        What is imported from this package where it is used: the module, and the name there.
    drops : list of (int, int, str)
        Where annotations stand that can be left out: begin, end, what stands there instead.
    identifiers : set of str
        The names of its own.
    """

    def __init__(self, node: Any, file: Any) -> None:
        self.file = file
        self.found: list[tuple[ast.Name, ast.Attribute | ast.Call | None]] = []
        self.imports: dict[str, tuple[str, str]] = {}
        self.drops: list[tuple[int, int, str]] = []
        self.identifiers: set[str] = set()
        self._scopes: list[set[str]] = []
        self._in_class = False
        self.visit(node)

    def _enter(self, names: set[str], nodes: Any) -> None:
        self.identifiers |= names
        self._scopes.append(names)
        for node in nodes:
            self.visit(node)
        self._scopes.pop()

    # -- names ---------------------------------------------------------------------------------------------------------
    def visit_Name(self, node: ast.Name) -> None:
        if not any([node.id in scope for scope in self._scopes]):
            self.found.append((node, None))

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if isinstance(node.value, ast.Name) and not any([node.value.id in scope for scope in self._scopes]):
            self.found.append((node.value, node))
        else:
            self.visit(node.value)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.level:
            source = self.file.imported(node)
            self.imports.update({a.asname or a.name: (source, a.name) for a in node.names})
            start = self.file.starts[node.lineno - 1]
            self.drops.append((start, self.file.starts[node.end_lineno or node.lineno], ""))

    def visit_Call(self, node: ast.Call) -> None:
        taken = isinstance(node.func, ast.Name) and node.func.id == "getattr" and len(node.args) == 2
        if taken and isinstance(node.args[0], ast.Name) and node.args[0].id in self.imports:
            self.found.append((node.args[0], node))
        else:
            self.generic_visit(node)

    # -- scopes --------------------------------------------------------------------------------------------------------
    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._signature(node.args)
        if node.returns is not None:
            end = self.file.span(node.returns)[1]
            start = self.file.text.rindex(b"->", 0, self.file.span(node.returns)[0])
            self.drops.append((len(self.file.text[:start].rstrip()), end, ""))
        for decorator in node.decorator_list:
            if not of_package(decorator, self.file):
                self.visit(decorator)
        outer, self._in_class = self._in_class, False
        hidden = self._scopes.pop() if outer else None  # methods do not see the names of their class
        self._enter({*_arguments(node.args), *_stored(node.body)}, node.body)
        if hidden is not None:
            self._scopes.append(hidden)
        self._in_class = outer

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._signature(node.args)
        self._enter({*_arguments(node.args)}, [node.body])

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for part in (*node.bases, *node.decorator_list):
            self.visit(part)
        outer, self._in_class = self._in_class, True
        self._enter(_stored(node.body), node.body)
        self._in_class = outer

    def _comprehension(self, node: Any) -> None:
        values = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        targets = {n.id for g in node.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)}
        self._enter(targets, [*node.generators, *values])

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    # -- annotations ---------------------------------------------------------------------------------------------------
    def _signature(self, args: ast.arguments) -> None:
        given = [*args.posonlyargs, *args.args]
        defaults: list[Any] = [None] * (len(given) - len(args.defaults)) + list(args.defaults) + list(args.kw_defaults)
        for arg, default in zip([*given, *args.kwonlyargs], defaults):
            self._unannotated(arg, default)
            if default is not None:
                self.visit(default)
        for rest in (args.vararg, args.kwarg):
            self._unannotated(rest, None)

    def _unannotated(self, arg: ast.arg | None, default: Any) -> None:
        if arg is not None and arg.annotation is not None:
            start = self.file.span(arg)[0] + len(arg.arg.encode())
            end = self.file.span(arg)[1] if default is None else self.file.span(default)[0]
            self.drops.append((start, end, "=" * (default is not None)))

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if self._in_class and isinstance(node.target, ast.Name):
            self.drops.append((*self.file.span(node.annotation), "object"))
        elif node.value is None:
            self.drops.append((*self.file.span(node), "pass"))
        else:
            self.drops.append((self.file.span(node.target)[1], self.file.span(node.annotation)[1], ""))
        if node.value is not None:
            self.visit(node.value)
        self.visit(node.target)


def of_package(decorator: Any, file: Any) -> bool:
    """Whether a decorator is of this package, or of the file's: it is left out."""
    name = next((n for n in ast.walk(decorator) if isinstance(n, ast.Name)), None)
    value = vars(sys.modules[file.module]).get(name.id) if name is not None else None
    return str(getattr(value, "__module__", "")).partition(".")[0] in {
        m.partition(".")[0] for m in (__name__, file.module)
    }


def _arguments(args: ast.arguments) -> list[str]:
    given = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
    return [a.arg for a in given if a is not None]


def _stored(body: list[Any]) -> set[str]:
    """The names that statements bind, but for those within functions and classes."""
    names: set[str] = set()
    shared: set[str] = set()
    todo: list[Any] = list(body)
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
            continue
        if isinstance(node, ast.Lambda):
            continue
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.add(node.id)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            names.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            if not getattr(node, "level", 0):
                names.update([alias.asname or alias.name for alias in node.names])
        elif isinstance(node, ast.Global):
            shared.update(node.names)
        todo += ast.iter_child_nodes(node)
    return names - shared
