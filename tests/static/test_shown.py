"""Graphs as sequences, as text and as pictures; names of nodes."""

from __future__ import annotations

import minitorch as torch
from minitorch import static

x = static.placeholder("x", (None, 3), torch.float32)
w = static.parameter(torch.ones(3, 2, requires_grad=True), "w")


def test_a_graph_is_a_sequence_of_operations() -> None:
    h = (x @ w + 1).tanh()
    h.name = "hidden"
    graph = static.Graph([h.sum(), h * h])
    assert [entry.op for entry in graph] == ["mm", "add", "tanh", "sum", "mul"]
    assert graph.entry_of(h) is graph[2]
    assert graph.roots == (3, 4)
    assert graph[2].label == "hidden"
    assert str(graph[1:3]).splitlines()[1].split() == ["1", "add", "#0,", "1", "float32"]
    assert "2  tanh  hidden  #1" in str(graph)
    assert graph.entry_of(static.placeholder("other")) is None


def test_trees_and_pictures() -> None:
    values, vectors = static.rows.eigh(x, UPLO="L")[0], static.rows.eigh(x, UPLO="L")[1]
    y = static.cond(values.sum() > 2.5, values, vectors.sum(0))
    graph = static.Graph(y)
    assert "x  leaf (any, 3)" in graph.tree()
    assert graph.to_svg().startswith("<svg")
    assert "(any, 3) float32" in graph.to_mermaid()
    assert "2.5" in graph.to_dot()
    assert static.Graph(x).entries == []


def test_expressions() -> None:
    a, b = static.placeholder("a"), static.placeholder("b")
    texts = {
        "-((a-b)/2)": -((a - b) / 2),
        "(2**a)": 2**a,
        "(a**0.5)": a**0.5,
        "((a>1)&~(b<=a))": (a > 1) & ~(b <= a),
        "(3/a)": 3 / a,
        "sum(a, dim=(0,), keepdim=True)": a.sum(0, keepdim=True),
        "getitem(a, slice(1, None, None))": a[1:],
        "cat(a, b, dim=0)": static.rows.cat([a, b], dim=0),
        "(shape(a)[0]*2)": a.shape[0] * 2,
        "(a*constant(2,))": a * torch.ones(2),
        "clamp(a, 0, max=b)": static.apply(torch.clamp, a, 0, max=b),
    }
    assert {str(node) for node in texts.values()} == set(texts)


def test_long_expressions_are_cut() -> None:
    y = x
    for _ in range(200):
        y = y * y
    assert len(str(y)) < 300
    assert "#" in str(y)
    y.name = "power"
    assert str(y + 1) == "(power+1)"
