"""The structure that keeps the code readable: imports point downward, nothing outgrows a sitting, formulas stay open."""

from __future__ import annotations

import ast
import dis
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
    ["_records", "_passes", "_module_paths", "_value_notes"],
    ["_stories"],
    ["_runtime"],
    ["_random", "_random_args", "_limits", "_samplers"],
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


def layer_of(module: str) -> int:
    found = [
        (len(name), level)
        for level, names in enumerate(LAYERS)
        for name in names
        if module == name or (name and module.startswith(name + "."))
    ]
    assert found, f"{module} is in no layer: add it to LAYERS"
    return max(found)[1]  # of the longest name: nn.functional is below nn


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """The package's modules that a file imports when it runs (not for type checking only)."""
    package = module_of(path).split(".") if path.name == "__init__.py" else module_of(path).split(".")[:-1]
    package = [p for p in package if p]
    skip: set[int] = set()
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            skip |= {id(n) for n in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level and id(node) not in skip:
            base = package[: len(package) - node.level + 1]
            stem = [*base, *(node.module.split(".") if node.module else [])]
            for alias in node.names:
                full = SOURCE.joinpath(*stem, alias.name)
                is_module = full.with_suffix(".py").exists() or full.is_dir()
                yield node.lineno, ".".join([*stem, alias.name] if is_module else stem)


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_point_downward(path: Path) -> None:
    module = module_of(path)
    own = layer_of(module)
    upward = [f"line {line}: {target}" for line, target in imports(path) if layer_of(target) > own]
    assert not upward, f"{module} imports from above: {upward}"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_files_and_functions_are_read_in_a_sitting(path: Path) -> None:
    text = path.read_text()
    if path.name not in ("_tensor.py", "__init__.py"):
        assert len(text.splitlines()) <= 620, "a file of more than about 600 lines: split it"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = node.body[0]
            has_doc = (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            )
            start = first.end_lineno if has_doc else node.lineno
            assert node.end_lineno - start <= 62, f"{node.name} has more than about 60 lines"


def test_the_core_is_small() -> None:
    lines = sum(len((SOURCE / name).read_text().splitlines()) for name in ("_tape.py", "_op.py", "_engine.py"))
    assert lines <= 820


def test_formulas_name_only_the_carrier() -> None:
    """A formula that named NumPy could not run on Tensors."""
    for row in _op.rows.values():
        for formula in row.formulas.values():
            names = {i.argval for i in dis.get_instructions(formula) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
            assert not names & {"np", "numpy", "raw", "traced", "wrap"}, f"the formula of {row.name} names {names}"


def test_no_method_is_attached_from_outside() -> None:
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "setattr":
                target = node.args[0]
                assert not (isinstance(target, ast.Name) and target.id == "Tensor"), f"{path} patches Tensor"
