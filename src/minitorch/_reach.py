"""Searches of the graph, for those backward passes that must know beforehand what they will reach."""

from __future__ import annotations

import operator
from typing import Any

from ._tape import AccumulateGrad, Node


def reachable(nodes: list[Node]) -> set[Any]:
    """These nodes and all that their edges lead to."""
    seen: set[Any] = {None}
    stack = list(nodes)
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            stack.extend(node.edges)
    return seen


def prune(roots: list[Node], captured: dict[Node, Any]) -> dict[Node, Any] | None:
    """The edges to follow, for each node that has others too, so that only what leads to a captured node is run.

    None where every path leads to captured leaves.  Nodes recorded before the oldest captured one need no visit.
    """
    oldest = max([node.position for node in captured])
    others = any([node.__class__ is not AccumulateGrad for node in captured])
    seen: set[Any] = {None}
    stack = list(roots)
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            edges = node.edges
            if node.position > oldest or (not edges and node not in captured):
                others = True
            else:
                stack.extend(edges)
    if not others:
        return None
    seen.discard(None)
    needed: set[Any] = set()
    pruned: dict[Node, Any] = {}
    for node in sorted(seen, key=operator.attrgetter("position"), reverse=True):  # oldest first
        edges = tuple([edge if edge in needed else None for edge in node.edges])
        if edges != node.edges or not edges:
            pruned[node] = edges if any(edges) else None
        if node in captured or any(edges):
            needed.add(node)
    return pruned


def completions(roots: list[Node]) -> dict[Node, float]:
    """For each reachable leaf that has hooks, a position just after that of its oldest consumer: when it is complete."""
    oldest: dict[Any, int] = {root: root.position for root in roots if root.__class__ is AccumulateGrad}
    seen: set[Any] = {None}
    stack = list(roots)
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            position = node.position
            for edge in node.edges:
                if edge.__class__ is AccumulateGrad:
                    oldest[edge] = max(oldest.get(edge, position), position)
                else:
                    stack.append(edge)
    hooked = [leaf for leaf in oldest if leaf.hooks or leaf.post_hooks or leaf.extras is not None]
    return {leaf: oldest[leaf] + (i + 1) / (len(hooked) + 1) for i, leaf in enumerate(hooked)}
