"""A tape's picture as SVG."""

from __future__ import annotations

from collections.abc import Iterator
from xml.sax.saxutils import escape

from ._scene import EM, INSIDE, LINE, PAD, Box, Line, Node, Scene

THEMES = ("auto", "light", "dark")
_FONT = "DejaVu Sans Mono, Menlo, Consolas, Liberation Mono, monospace"
_LIGHT = {
    "ground": "#ffffff", "text": "#1c2128", "muted": "#5f6b7a", "wire": "#76818f", "box": "#f6f8fa", "border": "#b3bcc7",
    "op": "#eaf1fb", "op-line": "#5b82b8", "leaf": "#e6f4e7", "leaf-line": "#46935a", "constant": "#f1f1f1",
    "constant-line": "#8d8d8d", "piece": "#fcf2dd", "piece-line": "#b9811a", "root": "#b3372b",
}  # fmt: skip
_DARK = {
    "ground": "#10151b", "text": "#e6edf3", "muted": "#9ba7b4", "wire": "#8b96a3", "box": "#171d25", "border": "#46515e",
    "op": "#1c2c44", "op-line": "#7aa3dd", "leaf": "#17311f", "leaf-line": "#62b676", "constant": "#262a30",
    "constant-line": "#8f98a3", "piece": "#392c13", "piece-line": "#d6a344", "root": "#f08375",
}  # fmt: skip


def svg(scene: Scene, theme: str) -> str:
    """The picture of a scene that has been placed."""
    width, height = scene.box.width + 2 * INSIDE, scene.box.height + 2 * INSIDE
    name = f"minitorch-{theme}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{name}" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.1f} {height:.1f}" role="img" aria-label="A tape of {len(scene.entries):,} operations">',
        f"<style>{_style(name, theme)}</style>",
        f'<rect class="ground" width="{width:.1f}" height="{height:.1f}"/>',
    ]
    boxes = list(_boxes(scene.box))
    parts += [_box(box) for box in boxes if box.label]
    pieces: dict[object, list[Line]] = {}
    for box in boxes:
        for line in box.lines:
            pieces.setdefault(line.wire, []).append(line)
    parts += [_wire(lines, scene.wires[wire][0]) for wire, lines in pieces.items()]
    parts += [_node(node) for node in scene.nodes]
    return "\n".join([*parts, "</svg>\n"])


def _style(name: str, theme: str) -> str:
    text = _rules(name, _DARK if theme == "dark" else _LIGHT, True)
    if theme == "auto":
        text += f"@media (prefers-color-scheme: dark) {{{_rules(name, _DARK, False)}}}"
    return text


def _rules(name: str, colours: dict[str, str], shapes: bool) -> str:
    rules = {
        ".ground": f"fill: {colours['ground']};",
        "text": f"fill: {colours['text']};",
        "text .muted, .muted": f"fill: {colours['muted']};",
        ".box": f"fill: {colours['box']}; stroke: {colours['border']};",
        ".wire": f"stroke: {colours['wire']};",
        ".head": f"fill: {colours['wire']};",
    }
    for kind in ("op", "leaf", "constant", "piece"):
        rules[f".{kind} rect"] = f"fill: {colours[kind]}; stroke: {colours[kind + '-line']};"
    rules[".root rect"] = f"stroke: {colours['root']};"
    if shapes:
        rules["text"] += f" font: {EM:g}px {_FONT}; white-space: pre;"
        rules[".wire"] += " fill: none; stroke-width: 1.2px;"
        rules[".dashed"] = "stroke-dasharray: 4 3;"
        rules[".shared rect, .root rect"] = "stroke-width: 2px;"
    return "".join([f"{_below(name, selector)} {{{rule}}} " for selector, rule in rules.items()])


def _below(name: str, selectors: str) -> str:
    return ", ".join([f".{name} {selector.strip()}" for selector in selectors.split(",")])


def _boxes(box: Box) -> Iterator[Box]:
    yield box
    for thing in box.things:
        if isinstance(thing, Box):
            yield from _boxes(thing)


def _box(box: Box) -> str:
    return (
        f'<rect class="box" x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" rx="8"/>'
        f'<text class="muted" x="{box.x + INSIDE:.1f}" y="{box.y + INSIDE + EM:.1f}">{escape(box.label)}</text>'
    )


def _wire(lines: list[Line], source: Node) -> str:
    path, heads = [], []
    for k in lines:
        end = k.y1 - 5 if k.arrives else k.y1
        middle = (k.turn + k.over) / 2
        path.append(
            f"M{k.x0:.1f} {k.y0:.1f}V{k.turn:.1f}C{k.x0:.1f} {middle:.1f} {k.x1:.1f} {middle:.1f} {k.x1:.1f} "
            f"{min(k.over, end):.1f}V{end:.1f}"
        )
        if k.arrives:
            heads.append(f"M{k.x1 - 3.5:.1f} {k.y1 - 6.5:.1f}h7L{k.x1:.1f} {k.y1:.1f}z")
    dashed = " dashed" if source.kind == "constant" else ""
    drawn = f'<path class="wire{dashed}" d="{"".join(path)}"/><path class="head" d="{"".join(heads)}"/>'
    return f"<g><title>{escape(source.about.splitlines()[0])}</title>{drawn}</g>"


def _node(node: Node) -> str:
    kinds = node.kind + " root" * node.root + " shared" * node.shared
    x, y, width, height = node.x, node.y, node.width, node.height
    drawn = []
    if node.kind == "piece":  # sheets on each other
        width, height = width - 4, height - 4
        drawn.append(f'<rect x="{x + 4:.1f}" y="{y + 4:.1f}" width="{width:.1f}" height="{height:.1f}" rx="4"/>')
    round_ = {"leaf": min(height / 2, 12.0), "constant": 2.0}.get(node.kind, 4.0)
    drawn.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="{round_:g}"/>')
    for index, (left, right) in enumerate(node.lines):
        at = y + PAD + EM - 3 + index * LINE
        muted = ' class="muted"' if index else ""
        if left:
            drawn.append(f'<text{muted} x="{x + PAD:.1f}" y="{at:.1f}">{escape(left)}</text>')
        if right:
            drawn.append(
                f'<text class="muted" x="{x + width - PAD:.1f}" y="{at:.1f}" text-anchor="end">{escape(right)}</text>'
            )
    return f'<g class="{kinds}"><title>{escape(node.about)}</title>{"".join(drawn)}</g>'
