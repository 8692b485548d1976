"""Functions as code: imported where they can be, with their source and what it uses where they can't."""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
import re
import sys
import textwrap
from collections.abc import Sequence
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

import minitorch

from .. import _dtypes, _runtime, nn
from ._literals import literal, module_lines, numbers

_WRITTEN = (int, bool, float, str, bytes, type(None), type(...), slice, complex, range, set)
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
        if owner is not None and (isinstance(value, MethodType) or isinstance(owner, (type, nn.Module))):
            return f"{self._literal(owner, name) or self._missing(name, owner)}.{value.__name__}"
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
            self._add(self.definitions, "\n".join(self.module(value, name)))
            return name
        if isinstance(value, functools.partial) and (made := self._partial(value, name)) is not None:
            self._add(self.definitions, f"{name} = {made}")
            return name
        found = _source(value)
        if found is None:
            lines = _plain(value) and self._object(value, name)
            return self._missing(name, value) if not lines else self._add(self.definitions, "\n".join(lines)) or name
        text, node, scope = found
        names = [n for n in ast.walk(node) if isinstance(n, ast.Name)]
        own = {n.id for n in names if not isinstance(n.ctx, ast.Load)} | {
            n.arg for n in ast.walk(node) if isinstance(n, ast.arg)
        }
        given = _defaults(node, value)
        scope |= given
        for used in sorted({n.id for n in names} - own | given.keys()):
            if used in scope and scope[used] is not value:
                self._binding(used, scope[used])
        if isinstance(node, ast.Lambda):
            self._add(self.definitions, f"{name} = {text}")
            return name
        self._add(self.definitions, text)
        return str(value.__name__)

    def module(self, module: nn.Module, name: str) -> list[str]:
        """Statements that make a network again; what they need is added."""
        kind = type(module)
        call = self.made.get(id(module)) or (None if inspect.signature(kind).parameters else "()")
        if call and not kind.__module__.startswith("minitorch."):
            return module_lines(module, name, self.expression(kind, kind.__name__) + call)
        return module_lines(module, name) or self._parts(module, name)

    def _parts(self, module: nn.Module, name: str) -> list[str]:
        """Statements that make a network of a user's class from its parts: what its constructor was given is not known."""
        lines = [f"{name} = object.__new__({self.expression(type(module), type(module).__name__)})"]
        lines.append(f"torch.nn.Module.__init__({name})")
        parts = {*vars(nn.Module()), *module._parameters, *module._buffers, *module._modules}
        lines += [self._attribute(name, key, module, v) for key, v in vars(module).items() if key not in parts]
        for key, parameter in module._parameters.items():
            made = "None"
            if parameter is not None:
                tail = "" if parameter.requires_grad else ", requires_grad=False"
                made = f"torch.nn.Parameter({literal(parameter.detach())}{tail})"
            lines.append(f'{name}.register_parameter("{key}", {made})')
        for key, value in module._buffers.items():
            lines.append(f'{name}.register_buffer("{key}", {literal(value)})')
        for key, child in module._modules.items():
            inner = "None" if child is None else self.expression(child, f"{name}_{key}")
            lines.append(f'{name}.add_module("{key}", {inner})')
        return lines if module.training else [*lines, f"{name}.eval()"]

    def _object(self, value: Any, name: str) -> list[str]:
        """Statements that make an object without its constructor, which may need anything, and give it its attributes."""
        kind = type(value)
        made = self._literal(kind, kind.__name__)
        if made is None:
            return []
        slots = [slot for base in kind.__mro__ for slot in _tuple(vars(base).get("__slots__", ())) if slot[:2] != "__"]
        held = {**getattr(value, "__dict__", {}), **{s: getattr(value, s) for s in slots if hasattr(value, s)}}
        return [f"{name} = object.__new__({made})", *[self._attribute(name, key, value, v) for key, v in held.items()]]

    def _attribute(self, name: str, key: str, owner: Any, value: Any) -> str:
        """A statement that gives an object an attribute, or says that it is to be filled in."""
        text = self._literal(value, f"{name}_{key}")
        if text is None:
            return _to_fill_in(f"{name}.{key}", value)
        setter: Any = type(owner).__setattr__
        usual = setter in (object.__setattr__, nn.Module.__setattr__) and key.isidentifier()
        return f"{name}.{key} = {text}" if usual else f'object.__setattr__({name}, "{key}", {text})'

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
            if text != name:
                self._add(self.definitions, f"{name} = {text}")
            if isinstance(value, _runtime.Tensor):
                self._named[id(value)] = name
        else:
            self._missing(name, value)

    def value(self, value: Any, name: str) -> str:
        """An expression for any value; a name that is to be filled in where there is none."""
        return self._literal(value, name) or self._missing(name, value)

    def tensors(self, values: Sequence[Any], users: Sequence[Any]) -> list[str] | None:
        """The names of tensors that functions read by themselves, where all are known: written, or of their modules."""
        found = []
        for value in values:
            if id(value) not in self._named:
                for scope in [getattr(inspect.unwrap(user), "__globals__", {}) for user in users]:
                    names = [name for name, there in scope.items() if there is value]
                    if (
                        names
                        and scope.get("__name__") in sys.modules
                        and f"from {scope['__name__']} import" in str(self)
                    ):
                        self._add(self.imports, f"from {scope['__name__']} import {names[0]}")
                        self._named[id(value)] = names[0]
            if id(value) not in self._named:
                return None
            found.append(self._named[id(value)])
        return found

    def _missing(self, name: str, value: Any) -> str:
        """The name, which is to be filled in."""
        self._add(self.definitions, _to_fill_in(name, value))
        return name

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
        if id(value) in self._named:
            return self._named[id(value)]
        if isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
            self._add(self.imports, "import numpy as np")
            return f"np.array({numbers(value)}, dtype=np.{value.dtype.name})"
        if type(value) in _WRITTEN or isinstance(value, (_runtime.Tensor, _dtypes.dtype)):
            return literal(value)
        if not callable(value) and not _plain(value):
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


def _to_fill_in(name: str, value: Any) -> str:
    return f"# {name} = ...  # to be filled in: {type(value).__name__} {getattr(value, '__qualname__', '')}".rstrip()


def _tuple(value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _plain(value: Any) -> bool:
    """Whether an object is of a class that Python makes, so that its attributes are its state."""
    try:
        return not isinstance(value, (type, FunctionType)) and object.__new__(type(value)) is not None
    except TypeError:
        return False


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
    if isinstance(value, type):
        scope = dict(vars(sys.modules.get(value.__module__, object)))
        file = functions[0].__code__.co_filename if functions else scope.get("__file__", "")
    elif functions:
        scope, file = {}, functions[0].__code__.co_filename
    else:
        return None
    scope |= functions[0].__globals__ if functions else {}
    lines = linecache.getlines(file, scope)
    try:
        tree = ast.parse("".join(lines))
    except SyntaxError:
        return None
    for function in functions:
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            if name != "__class__":
                scope[name] = cell.cell_contents
    found: list[Any] = [node for node in ast.walk(tree) if _makes(node, value, functions)]
    for node in found if len(found) == 1 else [n for n in found if functions and _is_body(n, functions[0])]:
        if isinstance(node, ast.Lambda):
            text = ast.get_source_segment("".join(lines), node) or ""
            return (f"({text})" if "\n" in text else text), node, scope
        start = min([node.lineno, *[d.lineno for d in node.decorator_list]])
        text = "".join(lines[start - 1 : node.end_lineno])
        return textwrap.dedent(text).rstrip(), node, scope
    return None


def _methods(value: Any) -> list[FunctionType]:
    """The functions of a class, those of static and class methods too."""
    if not isinstance(value, type):
        return []
    plain = [getattr(entry, "__func__", entry) for entry in vars(value).values()]
    own = [f for f in plain if isinstance(f, FunctionType) and f.__qualname__.startswith(value.__qualname__)]
    written = [f for f in own if not hasattr(f, "__wrapped__")]  # a dataclass has others, made of no file
    return [f for f in written if linecache.getlines(f.__code__.co_filename, f.__globals__)]


def _makes(node: ast.AST, value: Any, functions: list[FunctionType]) -> bool:
    """Whether a piece of syntax is the one that made a function, or the class that has these."""
    if isinstance(value, type):
        places = [f.__code__.co_firstlineno for f in functions[:1]]
        return (
            isinstance(node, ast.ClassDef)
            and node.name == value.__name__
            and all([node.lineno <= place <= (node.end_lineno or 0) for place in places])
        )
    code = functions[0].__code__
    if isinstance(node, ast.Lambda):
        return code.co_name == "<lambda>" and node.lineno == code.co_firstlineno
    if isinstance(node, ast.FunctionDef):
        return node.name == code.co_name and code.co_firstlineno in (
            node.lineno,
            *[d.lineno for d in node.decorator_list],
        )
    return False


def _defaults(node: ast.AST, value: Any) -> dict[str, Any]:
    """What the names mean that stand for default values of a function."""
    arguments = getattr(node, "args", None)
    if not isinstance(arguments, ast.arguments) or not isinstance(value, FunctionType):
        return {}
    pairs = [*zip(arguments.defaults, value.__defaults__ or ())]
    named = [(a.arg, default) for a, default in zip(arguments.kwonlyargs, arguments.kw_defaults)]
    pairs += [(default, (value.__kwdefaults__ or {}).get(name)) for name, default in named if default is not None]
    return {default.id: v for default, v in pairs if isinstance(default, ast.Name)}


def _is_body(node: ast.AST, function: FunctionType) -> bool:
    """Whether a lambda's body is where the code of a function comes from: of several in one line."""
    places = [p for p in function.__code__.co_positions() if p[3]]
    start = min([(line, column) for line, _, column, _ in places])
    body = getattr(node, "body", None)
    return isinstance(body, ast.expr) and (body.lineno, body.col_offset) == start
