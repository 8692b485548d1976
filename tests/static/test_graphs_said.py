"""What graphs and traces say: names of nodes, and what is wrong."""

from __future__ import annotations

import copy
import pickle
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import minitorch as torch
from minitorch import static
from written import loaded

X = static.placeholder("x")


@pytest.mark.parametrize(
    ("node", "text"),
    [
        ((-X) ** 2, "((-x)**2)"),
        (-(X**2), "-(x**2)"),
        ((-X) ** X, "((-x)**x)"),
        ((-2.0) ** X, "((-2.0)**x)"),
        (2.0**-X, "(2.0**-x)"),
        ((-X) @ X, "((-x)@x)"),
        (-(X @ X), "-(x@x)"),
        ((~X) ** 2, "((~x)**2)"),
        (-X * X, "(-x*x)"),
    ],
)
def test_names_are_what_python_reads(node: static.Node, text: str) -> None:
    assert str(node) == text


def test_what_are_no_nodes() -> None:
    with pytest.raises(TypeError, match=r"Graph\(\): outputs must be a node or a list of nodes, not Tensor"):
        static.Graph(torch.ones(2))
    with pytest.raises(TypeError, match=r"topological_order\(\): outputs must be a node or a list of nodes, not int"):
        static.topological_order([X, 3])  # type: ignore[list-item]
    with pytest.raises(TypeError, match=r"linear: expected operands .*, got 2 of them; .*static.apply\(torch.nn"):
        static.rows.linear(X, X)


def test_what_a_graph_is_made_of_is_copied_as_itself_and_not_pickled() -> None:
    chosen = static.cond(X > 0, X * 2, X)
    executor = static.Executor(chosen)
    for part in (chosen, X, X.shape, executor, executor.program, static.constant(1.0), chosen.op):
        assert copy.copy(part) is copy.deepcopy(part) is part
        with pytest.raises(
            TypeError, match=f"cannot pickle '{type(part).__name__}' object: make it anew from the code"
        ):
            pickle.dumps(part)
    assert copy.deepcopy({"run": executor})["run"].run({"x": 3.0})[0].item() == 6.0


def test_a_cycle_is_named_by_its_text() -> None:
    x = static.placeholder("x")
    y = x + 1
    z = y * 2
    y.inputs = (z, x)
    with pytest.raises(RuntimeError, match=r"has a cycle: \(\(\.\.\.\+x\)\*2\) depends on itself"):
        static.Executor(z)


def test_pictures_name_their_class(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pygraphviz", None)
    with pytest.raises(ImportError, match=r"Graph.render\(\) needs pygraphviz.*Graph.to_svg\(\) draws without it"):
        static.Graph(X * 2).render("graph.png")


def test_what_has_no_program_says_why() -> None:
    program = static.trace(lambda x: x * time.time(), torch.ones(2), quiet=True)
    assert "not traced yet" not in str(program)
    assert "it calls time.time()" in str(program)
    assert "not traced yet" in str(static.compile(lambda x: x))


@pytest.mark.parametrize("name", ["_given", "_converted", "OtherInputs", "W", "any", "isinstance"])
def test_functions_with_names_that_a_module_uses(name: str, tmp_path: Path) -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    function.__name__ = name
    static.trace(function, torch.ones(2), quiet=True).to_python(tmp_path / "model.py")
    module = loaded(tmp_path / "model.py")
    assert getattr(module, f"{name}_")(np.ones(2, np.float32)).tolist() == [2.0, 2.0]
    with pytest.raises(ValueError, match="has shape"):
        getattr(module, f"{name}_")(np.ones(3, np.float32))


def test_a_node_is_no_number_and_no_list() -> None:
    x = static.placeholder("x")
    assert f"{x}" == "x"
    with pytest.raises(
        static.NeedsValues, match=r"placeholder x has no values .*its value, which the format '.2f' is for, cannot"
    ):
        f"{x:.2f}"
    with pytest.raises(
        static.NeedsValues, match=r"placeholder x has no values .*how many elements it has cannot be known"
    ):
        list(x)


@pytest.mark.parametrize("unused", [False, True])
def test_integers_have_no_gradients(unused: bool) -> None:
    x, n = static.placeholder("x"), static.placeholder("n", (2,), torch.int64)
    with pytest.raises(RuntimeError, match=r"only floats have gradients, and n is of int64: declare it, or convert it"):
        static.gradients(x * n, [x, n], allow_unused=unused)


def test_another_shape_than_declared_names_the_remedy() -> None:
    x = static.placeholder("x", (2,))
    with pytest.raises(
        RuntimeError, match=r"is fed with shape .3,.: reshape what is fed, or declare sizes that vary as None"
    ):
        static.Executor([x + 1]).run({x: [1.0, 2.0, 3.0]})
