"""Pictures of a tape: nothing overlaps, nothing is clipped, no wire runs through a box; and what they show."""

from __future__ import annotations

import gc
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch as torch
from counted import calls
from graphs import random_graph
from minitorch import nn
from minitorch.autograd import Tape
from minitorch.autograd._scene import ADVANCE, EM, INSIDE, LINE, PAD, Box, Line, Node, Options, Scene, columns

SVG = "{http://www.w3.org/2000/svg}"


class Nested(nn.Module):
    """A module with modules in it, which all do something random with what there is so far."""

    def __init__(self, rng: random.Random, depth: int) -> None:
        super().__init__()
        self.rng = rng
        self.scale = nn.Parameter(torch.ones(2))
        self.parts = nn.ModuleList([Nested(rng, depth - 1) for _ in range(rng.randrange(3) if depth else 0)])

    def forward(self, pool: list[Any]) -> None:
        for turn in range(self.rng.randrange(1, 6)):
            a, b = self.rng.choice(pool), self.rng.choice(pool)
            kind = self.rng.randrange(3)
            pool.append(a * b if kind == 0 else a + self.scale if kind == 1 else torch.stack([a, b]).unbind()[1])
            if turn < len(self.parts):
                self.parts[turn](pool)


def nested_tape(seed: int) -> Tape:
    rng = random.Random(seed)
    model = Nested(rng, 3)
    pool = [torch.ones(2, requires_grad=True), torch.ones(2)]
    pool[0].name = "x"
    with torch.autograd.record_sites():
        model(pool)
        loss = sum(p.sum() for p in pool if p.requires_grad)
    return Tape(loss)


def scene_of(tape: Tape, room: int | None = None, fold: tuple[str, ...] = ()) -> Scene:
    return Scene(tape, Options(room, fold, False, False)).place()


def boxes_in(box: Box) -> Iterator[tuple[Box, tuple[Box, ...]]]:
    """All modules' boxes, with those around each."""
    stack: list[tuple[Box, tuple[Box, ...]]] = [(box, ())]
    while stack:
        box, around = stack.pop()
        yield box, around
        stack += [(thing, (*around, box)) for thing in box.things if isinstance(thing, Box)]


def points(line: Line) -> list[tuple[float, float]]:
    """Points all along a wire's piece."""
    middle = (line.turn + line.over) / 2
    found = [(line.x0, line.y0 + (line.turn - line.y0) * i / 8) for i in range(9)]
    for i in range(1, 16):
        t = i / 16
        a, b, c, d = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3
        found.append(((a + b) * line.x0 + (c + d) * line.x1, a * line.turn + (b + c) * middle + d * line.over))
    return found + [(line.x1, line.over + (line.y1 - line.over) * i / 8) for i in range(9)]


def apart(one: Any, other: Any) -> bool:
    x = one.x + one.width <= other.x + 1e-6 or other.x + other.width <= one.x + 1e-6
    return x or one.y + one.height <= other.y + 1e-6 or other.y + other.height <= one.y + 1e-6


def within(inner: Any, outer: Any) -> bool:
    x = outer.x - 1e-6 <= inner.x and inner.x + inner.width <= outer.x + outer.width + 1e-6
    return x and outer.y - 1e-6 <= inner.y and inner.y + inner.height <= outer.y + outer.height + 1e-6


def any_in(points: list[tuple[float, float]], boxes: list[Any], margin: float = 1e-3) -> bool:
    """Whether a point is inside a box."""
    x, y = np.array(points).T[:, :, None]
    left, top, width, height = np.array([(b.x, b.y, b.width, b.height) for b in boxes]).T
    inside = (x > left + margin) & (x < left + width - margin) & (y > top + margin) & (y < top + height - margin)
    return bool(inside.any())


def check_geometry(scene: Scene) -> None:
    boxes = list(boxes_in(scene.box))
    for i, one in enumerate(scene.nodes):
        assert all(apart(one, other) for other in scene.nodes[:i])
        assert max(columns(a) + columns(b) for a, b in one.lines) * ADVANCE + 2 * PAD <= one.width + 1e-6
        assert len(one.lines) * LINE <= one.height - PAD
    for box, around in boxes:
        assert all(within(thing, box) for thing in box.things)
        assert not around or within(box, around[-1])
        inside = {id(thing) for b, a in boxes if b is box or box in a for thing in b.things}
        assert all(apart(box, node) for node in scene.nodes if id(node) not in inside)
        others = [b for b, a in boxes if box is not b and box not in a and b not in around]
        assert all(apart(box, other) for other in others)
    lines = [line for box, _ in boxes for line in box.lines]
    labels = [Label(box) for box, around in boxes if around]
    for line in lines:
        source, ends = scene.wires[line.wire]
        related = {b for node in (source, *ends) for b in scene.places[node]}
        others = [b for b, _ in boxes if b not in related]
        assert not any_in(points(line), [*scene.nodes, *others, *labels])


class Label:
    """Where the name of a module is written."""

    def __init__(self, box: Box) -> None:
        self.x, self.y = box.x + INSIDE, box.y + INSIDE
        self.width, self.height = columns(box.label) * ADVANCE, EM


def check_wires(scene: Scene) -> None:
    """Each wire leads from its source to all its ends without a gap."""
    found: dict[Any, list[Line]] = {}
    for box, _ in boxes_in(scene.box):
        for line in box.lines:
            found.setdefault(line.wire, []).append(line)
    assert found.keys() == scene.wires.keys()
    for key, (source, ends) in scene.wires.items():
        arrived = {(round(line.x1, 3), round(line.y1, 3)) for line in found[key]}
        for line in found[key]:
            at_source = abs(line.y0 - source.y - source.height) < 1e-3 and source.x < line.x0 < source.x + source.width
            assert at_source or (round(line.x0, 3), round(line.y0, 3)) in arrived
        for end in ends:
            heads = [
                k for k in found[key] if k.arrives and abs(k.y1 - end.y) < 1e-3 and end.x < k.x1 < end.x + end.width
            ]
            assert len(heads) == 1
        assert sum(line.arrives for line in found[key]) == len(ends)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**20), st.sampled_from([None, 8, 15]))
def test_nothing_overlaps_and_wires_run_beside_boxes(seed: int, room: int | None) -> None:
    scene = scene_of(Tape(random_graph(seed)), room)
    check_geometry(scene)
    check_wires(scene)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**20), st.sampled_from([None, 8, 15]))
def test_modules_are_boxes_around_theirs(seed: int, room: int | None) -> None:
    tape = nested_tape(seed)
    scene = scene_of(tape, room)
    check_geometry(scene)
    check_wires(scene)
    if room is None:
        shown = [node for node in scene.nodes if node.kind == "op"]
        assert len(shown) == len(tape)
    else:
        assert sum(node.kind in ("op", "piece") for node in scene.nodes) <= max(room, 8) or len(tape) <= room


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def small() -> Any:
    x, w = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([3.0, 4.0], requires_grad=True)
    x.name = "x<&>"
    y = x * w
    y.name = "logits"
    return y.exp().sum()


def test_what_is_shown() -> None:
    shown = texts(Tape(small()).to_svg())
    assert {"x<&>", "leaf0", "mul", "#0", "logits", "(2,) float32", "exp", "#1", "sum", "#2", "() float32"} <= {*shown}
    root = ElementTree.fromstring(Tape(small()).to_svg())
    kinds = [g.get("class") for g in root.iter(f"{SVG}g") if g.get("class")]
    assert sorted(kinds) == ["leaf", "leaf", "op", "op", "op root"]
    assert any("saves 16 B" in (t.text or "") for t in root.iter(f"{SVG}title"))


def test_values_and_gradients() -> None:
    x = torch.tensor([1.0, -2.0], requires_grad=True)
    with Tape() as tape:
        y = x * 2
        y.retain_grad()
        loss = (y + torch.arange(2.0)).sum()
    loss.backward()
    shown = texts(tape.to_svg(values=True, gradients=True))
    assert "= [1, -2]" in shown
    assert "= [2, -4]" in shown
    assert "grad [2, 2]" in shown
    assert "grad [1, 1]" in shown
    assert "constant" in shown
    given = Tape(x * 2).to_svg(gradients={0: torch.tensor([5.0, float("nan")] * 3)})
    assert "grad 5 … 5, 3 not finite" in texts(given)
    z = x.exp()
    z.retain_grad()
    z.sum().backward()
    assert "grad [1, 1]" in texts(Tape(z.sum()).to_svg(gradients=True))


def test_themes() -> None:
    auto, light, dark = (Tape(small()).to_svg(theme=theme) for theme in ("auto", "light", "dark"))
    assert "prefers-color-scheme: dark" in auto
    assert "prefers-color-scheme" not in light + dark
    assert "#10151b" in dark
    assert "#10151b" not in light
    with pytest.raises(ValueError, match="auto, light, dark, not 'blue'"):
        Tape(small()).to_svg(theme="blue")


def block_tape(depth: int) -> Tape:
    model = nn.Sequential(*[nn.Sequential(nn.Linear(2, 2), nn.ReLU()) for _ in range(depth)])
    with torch.autograd.record_sites():
        return Tape(model(torch.ones(1, 2)).sum())


def test_modules_fold() -> None:
    tape = block_tape(3)
    scene = scene_of(tape)
    assert sorted(box.label for box, _ in boxes_in(scene.box)) == ["", "0", "1", "2"]
    folded = scene_of(tape, fold=("1",))
    assert sorted(box.label for box, _ in boxes_in(folded.box)) == ["", "0", "2"]
    piece = next(node for node in folded.nodes if node.kind == "piece")
    assert piece.lines == [("1", "#2–3"), ("2 operations", ""), ("(1, 2) float32", "")]
    assert len(folded.nodes) == len(scene.nodes) - 3  # with its weight and bias
    assert tape.to_svg(fold="1") == tape.to_svg(fold=["1"])
    with pytest.raises(ValueError, match="no module '7' ran"):
        tape.to_svg(fold="7")


def test_long_tapes_are_folded() -> None:
    scene = scene_of(block_tape(150), 80)
    assert len(scene.nodes) < 20
    assert any("2 operations, 149 times" in left for node in scene.nodes for left, _ in node.lines)
    x = torch.ones(2, requires_grad=True)
    y = x
    rng = random.Random(0)
    for _ in range(5000):
        y = rng.choice([torch.tanh, torch.sin, torch.exp, torch.relu, torch.cos])(y)
    assert len(scene_of(Tape(y), 80).nodes) <= 90
    assert len(Tape(y).to_svg()) < 100_000


def test_a_picture_costs_a_fixed_number_of_calls_for_each_operation() -> None:
    def cost(length: int) -> float:
        rng = random.Random(1)
        pool = [torch.ones(3, requires_grad=True) for _ in range(8)]
        while len(pool) < length:
            a, b = rng.choice(pool[-12:]), rng.choice(pool[-12:])
            pool.append(torch.tanh(a * b) if rng.random() < 0.3 else a + b)
        tape = Tape(sum(p.sum() for p in pool[-8:]))
        assert len(tape) > length - 10
        return calls(lambda: tape.to_svg(full=True)) / len(tape)

    assert cost(450) < 1.2 * cost(100)


def test_a_notebook_shows_the_picture_and_has_the_table_as_text(tmp_path: Path) -> None:
    tape = Tape(small())
    assert tape._repr_svg_() == tape.to_svg()
    assert repr(tape) == tape.table()
    assert Tape()._repr_svg_() is None
    tape.to_svg(tmp_path / "tape.svg")
    assert (tmp_path / "tape.svg").read_text("utf-8") == tape.to_svg()
    assert not hasattr(torch.ones(2), "_repr_svg_")


def test_wide_characters_have_room() -> None:
    assert columns("ab") == 2
    assert columns("損失") == 4
    assert columns("é") == 1
    x = torch.ones(2, requires_grad=True)
    x.name = "損失" * 9
    check_geometry(scene_of(Tape(x * 2)))


def test_drawing_leaves_no_cycles() -> None:
    tape = nested_tape(3)
    tape.to_svg()
    gc.collect()
    gc.disable()
    try:
        tape.to_svg(), tape.to_dot(), tape.to_mermaid(), tape.tree(), tape.table()
        assert gc.collect() == 0
    finally:
        gc.enable()


# -- as text for others ------------------------------------------------------------------------------------------------
def test_dot() -> None:
    text = block_tape(2).to_dot()
    assert len(re.findall(r"n\d+ \[label=", text)) == 9
    assert len(re.findall(r"n\d+ -> n\d+", text)) == 8
    assert text.count("subgraph cluster_") == 2
    assert 'label="x<&>\\l' in Tape(small()).to_dot()


def test_mermaid() -> None:
    text = block_tape(2).to_mermaid()
    assert text.startswith("flowchart TD\n")
    assert text.count("subgraph m") == text.count("  end\n") == 2
    assert text.count("-->") == 8
    assert "x#60;#38;#62;" in Tape(small()).to_mermaid()


def test_graphviz(tmp_path: Path) -> None:
    pytest.importorskip("pygraphviz")
    tape = block_tape(2)
    tape.render(tmp_path / "tape.svg")
    assert "<svg" in (tmp_path / "tape.svg").read_text()
    assert tape.render(format="png")[:4] == b"\x89PNG"
    assert b"<svg" in tape.render(fold="0")


def test_graphviz_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pygraphviz", None)
    with pytest.raises(ImportError, match=r"pip install 'minitorch\[viz\]'"):
        Tape(small()).render("tape.png")


def test_nodes_have_kinds_and_texts() -> None:
    x = torch.ones(2, 2, requires_grad=True)
    with Tape() as tape:
        torch.where(x > 0, x, 3.0).sum()
    scene = scene_of(tape)
    assert {node.kind for node in scene.nodes} == {"op", "leaf", "constant"}
    assert all(isinstance(node, Node) and node.about for node in scene.nodes)
    assert any(node.lines == [("3", "")] for node in scene.nodes if node.kind == "constant")
    assert next(node for node in scene.nodes if node.kind == "leaf").shared
