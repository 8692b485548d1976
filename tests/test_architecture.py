"""The structure that keeps the code readable: imports point downward, nothing outgrows a sitting, formulas stay open."""

from __future__ import annotations

import ast
import dis
import functools
from collections.abc import Iterator
from pathlib import Path

import pytest

import minitorch
from minitorch import _op

SOURCE = Path(minitorch.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))

LAYERS = [
    [
        "_allocator",
        "_types",
        "_size",
        "_dtypes",
        "_args",
        "_errors",
        "_printing",
        "_returns",
        "_device",
        "_kernels",
        "_extras",
        "_files",
        "_identity",
        "_pytree",
    ],
    ["_modes", "_layouts"],
    ["_tape"],
    ["_views"],
    ["_sites", "_records", "_as_one", "_passes", "_module_paths", "_value_notes"],
    ["_stories"],
    ["_runtime"],
    ["_random", "_random_args", "_random_words", "_limits", "_samplers"],
    ["_saved", "_codegen", "_anomaly", "_fades", "_nonfinite", "_nonfinite_causes"],
    ["_op", "_choices"],
    ["_hooks"],
    ["_reach", "_leaves", "_engine"],
    ["_inplace"],
    ["_differentiate", "_trace_instructions"],
    ["_trace"],
    ["ops"],
    ["linalg", "special"],
    ["_tangent_rules", "_tangent_quick", "_tangents"],
    ["_storage", "_memory_methods", "_convert", "_casts", "_legacy", "_interop", "_autograd_methods"],
    ["_tensor"],
    ["autograd", "_batching"],
    ["testing", "nn.functional"],
    ["nn"],
    ["testing.strategies", "testing._sources", "testing._property_test", "testing.__main__"],
    ["optim", "utils", "serialization", "distributions"],
    ["static"],
    ["_settings", "version", "types", "functional", "func", "random"],
    ["amp", "_sparse", "safetensors", "onnx"],
    [
        "cuda",
        "backends",
        "accelerator",
        "mps",
        "xpu",
        "compiler",
        "hub",
        "jit",
        "multiprocessing",
        "profiler",
        "",
        "_loading",
    ],
    ["_as_torch", "__main__", "debug"],
]
"""Modules by layer, lowest first: a module imports from its own layer or lower ones."""


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__").replace("__init__", "")


MODULES = {module_of(path) for path in FILES}


@functools.cache
def layer_of(module: str) -> int:
    found = [
        (len(name), level)
        for level, names in enumerate(LAYERS)
        for name in names
        if module == name or (name and module.startswith(name + "."))
    ]
    assert found, f"{module} is in no layer: add it to LAYERS"
    return max(found)[1]  # of the longest name: nn.functional is below nn


Nodes = dict[Path, list[ast.AST]]


@pytest.fixture(scope="module")
def nodes() -> Nodes:
    """The syntax of all files, which is too much to be kept for longer."""
    return {path: list(ast.walk(ast.parse(path.read_text()))) for path in FILES}


def imports(path: Path, nodes: Nodes) -> Iterator[tuple[int, str]]:
    """The package's modules that a file imports when it runs (not for type checking only)."""
    package = module_of(path).split(".") if path.name == "__init__.py" else module_of(path).split(".")[:-1]
    package = [p for p in package if p]
    skip: set[int] = set()
    for node in nodes[path]:
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            skip |= {id(n) for n in ast.walk(node)}
    for node in nodes[path]:
        if isinstance(node, ast.ImportFrom) and node.level and id(node) not in skip:
            base = package[: len(package) - node.level + 1]
            stem = [*base, *(node.module.split(".") if node.module else [])]
            for alias in node.names:
                full = ".".join([*stem, alias.name])
                yield node.lineno, full if full in MODULES else ".".join(stem)


def upward(path: Path, nodes: Nodes) -> Iterator[str]:
    """What a file imports from above."""
    own = layer_of(module_of(path))
    for line, target in imports(path, nodes):
        if layer_of(target) > own:
            yield f"{path.relative_to(SOURCE)}:{line} imports {target}"


def test_imports_point_downward(nodes: Nodes) -> None:
    found = [problem for path in FILES for problem in upward(path, nodes)]
    assert not found, "imports from above:\n" + "\n".join(found)


def too_long(path: Path, nodes: Nodes) -> Iterator[str]:
    """What of a file is not read in a sitting."""
    name = path.relative_to(SOURCE)
    if path.name not in ("_tensor.py", "__init__.py") and len(path.read_text().splitlines()) > 620:
        yield f"{name} has more than about 600 lines: split it"
    for node in nodes[path]:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = node.body[0]
            has_doc = (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            )
            start = first.end_lineno if has_doc else node.lineno
            if node.end_lineno - start > 62:
                yield f"{name}:{node.lineno} {node.name} has more than about 60 lines"


def test_files_and_functions_are_read_in_a_sitting(nodes: Nodes) -> None:
    found = [problem for path in FILES for problem in too_long(path, nodes)]
    assert not found, "\n".join(found)


def test_the_core_is_small() -> None:
    lines = sum(len((SOURCE / name).read_text().splitlines()) for name in ("_tape.py", "_op.py", "_engine.py"))
    assert lines <= 820


def test_formulas_name_only_the_carrier() -> None:
    """A formula that named NumPy could not run on Tensors."""
    for row in _op.rows.values():
        for formula in row.formulas.values():
            names = {i.argval for i in dis.get_instructions(formula) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
            assert not names & {"np", "numpy", "raw", "traced", "wrap"}, f"the formula of {row.name} names {names}"


def test_no_method_is_attached_from_outside(nodes: Nodes) -> None:
    for path in FILES:
        for node in nodes[path]:
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "setattr":
                target = node.args[0]
                assert not (isinstance(target, ast.Name) and target.id == "Tensor"), f"{path} patches Tensor"
