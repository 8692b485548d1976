"""A tape's picture as text for Graphviz and Mermaid, and drawn by Graphviz."""

from __future__ import annotations

import os.path
from collections.abc import Iterator
from typing import Any

from ._scene import Box, Node, Scene

_DOT_STYLES = {
    "op": 'style="filled" fillcolor="#eaf1fb" color="#5b82b8"',
    "leaf": 'style="filled,rounded" fillcolor="#e6f4e7" color="#46935a"',
    "constant": 'style="filled,dashed" fillcolor="#f1f1f1" color="#8d8d8d"',
    "piece": 'style="filled" fillcolor="#fcf2dd" color="#b9811a" peripheries=2',
}
_MERMAID_SHAPES = {"op": '["{}"]', "leaf": '(["{}"])', "constant": '("{}")', "piece": '[["{}"]]'}


def _ids(scene: Scene) -> dict[Node, str]:
    """A short name for each node."""
    return {node: f"n{index}" for index, node in enumerate(scene.nodes)}


def _text(node: Node) -> list[str]:
    return ["  ".join(filter(None, line)) for line in node.lines]


# -- Graphviz ----------------------------------------------------------------------------------------------------------
def dot(scene: Scene) -> str:
    """The picture in Graphviz's language."""
    ids = _ids(scene)
    lines = ["digraph tape {", '  node [shape=box fontname="monospace" fontsize=10]', "  edge [arrowsize=0.6]"]
    lines += _dot_box(scene.box, ids, "  ", iter(range(10**9)))
    lines += [f"  {ids[source]} -> {ids[end]}" for source, ends in scene.wires.values() for end in ends]
    return "\n".join([*lines, "}", ""])


def _dot_box(box: Box, ids: dict[Node, str], indent: str, numbers: Iterator[int]) -> Iterator[str]:
    for thing in box.things:
        if isinstance(thing, Node):
            label = "".join([f"{_dot_escape(text)}\\l" for text in _text(thing)])
            bold = " penwidth=2" * (thing.root or thing.shared)
            yield f'{indent}{ids[thing]} [label="{label}" {_DOT_STYLES[thing.kind]}{bold}]'
        else:
            yield f"{indent}subgraph cluster_{next(numbers)} {{"
            yield f'{indent}  label="{_dot_escape(thing.label)}" style=rounded color="#b3bcc7"'
            yield from _dot_box(thing, ids, indent + "  ", numbers)
            yield indent + "}"


def _dot_escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")


def drawn_by_graphviz(text: str, path: Any, format: str | None, program: str, kind: str = "Tape") -> bytes | None:
    """Have Graphviz draw a picture, into a file or as bytes; *kind*: the class of what is drawn."""
    try:
        import pygraphviz
    except ImportError:
        raise ImportError(
            f"{kind}.render() needs pygraphviz, which brings Graphviz: pip install 'minitorch[viz]'. "
            f"{kind}.to_svg() draws without it."
        ) from None
    graph = pygraphviz.AGraph(string=text)
    try:
        drawn: bytes = graph.draw(format=format or os.path.splitext(path)[1][1:], prog=program)
    finally:
        graph.close()
    if path is None:
        return drawn
    with open(path, "wb") as file:
        file.write(drawn)
    return None


# -- Mermaid -----------------------------------------------------------------------------------------------------------
def mermaid(scene: Scene) -> str:
    """The picture as a Mermaid flowchart."""
    ids = _ids(scene)
    lines = ["flowchart TD", *_mermaid_box(scene.box, ids, "  ", iter(range(10**9)))]
    for source, ends in scene.wires.values():
        arrow = "-.->" if source.kind == "constant" else "-->"
        lines += [f"  {ids[source]} {arrow} {ids[end]}" for end in ends]
    return "\n".join(lines)


def _mermaid_box(box: Box, ids: dict[Node, str], indent: str, numbers: Iterator[int]) -> Iterator[str]:
    for thing in box.things:
        if isinstance(thing, Node):
            label = "<br/>".join([_mermaid_escape(text) for text in _text(thing)])
            yield indent + ids[thing] + _MERMAID_SHAPES[thing.kind].format(label)
        else:
            yield f'{indent}subgraph m{next(numbers)}["{_mermaid_escape(thing.label)}"]'
            yield from _mermaid_box(thing, ids, indent + "  ", numbers)
            yield f"{indent}end"


def _mermaid_escape(text: str) -> str:
    """Mermaid writes characters that mean something to it by their numbers."""
    return "".join([f"#{ord(c)};" if c in '#"<>&`\n' else c for c in text])
