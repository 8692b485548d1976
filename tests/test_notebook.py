"""The notebook's outputs are what its cells give."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import linecache
import re
from pathlib import Path
from typing import Any

from minitorch.autograd import record_sites

NOTEBOOK = Path(__file__).parent.parent / "docs" / "tutorials" / "looking.ipynb"


def shown(source: str, name: str, variables: dict[str, Any]) -> dict[str, str]:
    """Run a cell: what it prints, and its last expression as text and as a picture."""
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    outputs = {}
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, name, "exec"), variables)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), name, "eval"), variables)
            if value is not None:
                outputs["text/plain"] = repr(value)
                if hasattr(value, "_repr_svg_"):
                    outputs["image/svg+xml"] = value._repr_svg_()
    if printed.getvalue():
        outputs["printed"] = printed.getvalue()
    return outputs


def stored(cell: dict[str, Any]) -> dict[str, str]:
    outputs = {}
    for output in cell["outputs"]:
        if output["output_type"] == "stream":
            outputs["printed"] = "".join(output["text"])
        else:
            outputs |= {
                kind: "".join(text) for kind, text in output["data"].items() if kind in ("text/plain", "image/svg+xml")
            }
    return outputs


def without_cells(text: str) -> str:
    """The text with the names that a kernel gives to cells taken out, and the widths that depend on them."""
    return re.sub(r"\s+", " ", re.sub(r"\w+\.py:(\d+)", r"cell:\1", text))


def test_every_output_is_what_the_cell_gives() -> None:
    cells = [cell for cell in json.loads(NOTEBOOK.read_text())["cells"] if cell["cell_type"] == "code"]
    assert len(cells) == 9
    variables: dict[str, Any] = {"__name__": "__main__"}
    try:
        for number, cell in enumerate(cells):
            given, expected = shown("".join(cell["source"]), f"cell{number}.py", variables), stored(cell)
            assert given.keys() == expected.keys()
            for kind in given:
                assert without_cells(given[kind]) == without_cells(expected[kind])
    finally:
        record_sites(False)
