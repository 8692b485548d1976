"""The backward walk: nodes in descending order of recording, gradients summed on the way.

A node's consumers were all recorded after it, so taking the newest pending node first runs it only when its gradient is
complete.  There is no topological sort and no recursion; while one node is pending (a chain) the heap is not touched.
See docs/design/01-tape.md.
"""

from __future__ import annotations

import operator
import threading
from contextvars import ContextVar, copy_context
from heapq import heappop, heappush
from typing import Any

import numpy as np

from ._hooks import after, at_leaf, before
from ._modes import grad_mode
from ._runtime import raw, traced, wrap
from ._tape import AccumulateGrad, Node, Outputs
from ._views import edited

_accumulating = threading.RLock()
"""Held while a gradient is added to a leaf: several threads may run backward to one leaf."""

_depth: ContextVar[int] = ContextVar("backward_depth", default=0)
_DEEPEST = 20
"""Backward calls nested in one another beyond this run in a thread of their own, with a Python stack of its own."""


class Walk:
    """What one backward pass was asked for, besides its roots.

    Attributes
    ----------
    create : bool
        Whether the gradients are recorded too.
    retain : bool
        Whether nodes keep what they saved.
    accumulate : bool
        Whether leaves' ``.grad`` are added to.
    captured : dict or None
        For each node whose gradient is wanted, that gradient once known; None: all leaves, nothing captured.
    pruned : dict or None
        For nodes that lead elsewhere too, the edges to follow.
    check_nan : bool
        Whether a NaN in a gradient raises (anomaly mode).
    """

    __slots__ = ("create", "retain", "accumulate", "captured", "pruned", "check")

    def __init__(self, create: bool, retain: bool, accumulate: bool, captured: dict[Node, Any] | None, check: Any) -> None:
        self.create, self.retain, self.accumulate, self.captured, self.check = create, retain, accumulate, captured, check
        self.pruned: dict[Node, Any] | None = None


def run(roots: list[Node], gradients: list[Any], walk_: Walk) -> None:
    """Walk back from *roots*; deep nesting goes on in a fresh thread, so that the Python stack does not grow with it."""
    if walk_.captured is not None:
        walk_.pruned = prune(roots, walk_.captured)
    depth = _depth.get()
    if depth and depth % _DEEPEST == 0:
        return _in_thread(roots, gradients, walk_, depth)
    nested = _depth.set(depth + 1)
    mode = grad_mode.set(walk_.create)
    try:
        if walk_.create:
            walk(roots, gradients, traced, walk_)
        else:
            with np.errstate(all="ignore"):
                walk(roots, gradients, raw, walk_)
    finally:
        grad_mode.reset(mode)
        _depth.reset(nested)


def _in_thread(roots: list[Node], gradients: list[Any], walk_: Walk, depth: int) -> None:
    """Run the walk in a new thread, in the caller's context, and raise here what it raises."""
    errors: list[BaseException] = []

    def target() -> None:
        try:
            _depth.set(depth + 1)
            grad_mode.set(walk_.create)
            with np.errstate(all="ignore"):
                walk(roots, gradients, traced if walk_.create else raw, walk_)
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=copy_context().run, args=(target,))
    thread.start()
    thread.join()
    if errors:
        raise errors[0]


def walk(edges: Any, results: Any, F: Any, walk_: Walk) -> None:
    """Run every node from the roots down.

    ``heap`` holds the positions of pending nodes, ``pending`` for each its [node, gradient, whether that is an array of
    ours].  ``following`` is a node just found that need not go there if nothing pending is newer.
    """
    pending: dict[int, list[Any]] = {}
    heap: list[int] = []
    retain, captured, pruned = walk_.retain or walk_.create, walk_.captured, walk_.pruned
    node, gradient, ours = None, None, False
    arrays = F is raw
    while True:
        following = None
        index = 0
        for edge in edges:
            if edge is not None:
                result = results[index]
                if result is not None:
                    if edge is following:
                        upcoming = upcoming + result
                        fresh = True
                    elif pending and (entry := pending.get(edge.position)) is not None:
                        if entry[2] and arrays:
                            entry[1] += result
                        else:
                            entry[1] = entry[1] + result
                            entry[2] = True
                    elif following is None:
                        following, upcoming = edge, result
                        fresh = ours and result is not gradient and result.base is None
                    else:
                        position = edge.position
                        pending[position] = [edge, result, ours and result is not gradient and result.base is None]
                        heappush(heap, position)
            index += 1
        if following is not None:
            if heap and heap[0] < following.position:
                position = following.position
                pending[position] = [following, upcoming, fresh]
                heappush(heap, position)
                node, gradient, fresh = pending.pop(heappop(heap))
            else:
                node, gradient = following, upcoming
        elif heap:
            node, gradient, fresh = pending.pop(heappop(heap))
        else:
            return
        if node.__class__ is AccumulateGrad:
            finish_leaf(node, gradient, fresh, F, walk_)
            edges = ()
            continue
        if node.extras is not None:
            gradient = before(node, gradient, F)
        edges = node.edges
        if pruned is not None:
            if node in captured:  # type: ignore[operator]
                captured[node] = gradient  # type: ignore[index]
            edges = pruned.get(node, edges)
            if edges is None:  # captured, and nothing is needed below it
                edges = ()
                continue
        if node.extras is None and walk_.check is None:
            results = node.backward(gradient, F, edges, retain)
            ours = arrays and node.owns_gradients
            if node.expects is not None:
                results = fitted(results, node.expects, F)
        else:
            results = after(node, gradient, F, edges, retain, walk_.check)
            ours = False
            if node.expects is not None:
                results = fitted(results, node.expects, F)


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
            if node.position > oldest or not edges and node not in captured:
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


def fitted(gradients: Any, expects: tuple[Any, ...], F: Any) -> list[Any]:
    """Undo broadcasting and promotion: each gradient gets its input's shape and dtype."""
    fixed = []
    for gradient, (shape, dtype) in zip(gradients, expects):
        if gradient is not None:
            array = gradient if F is raw else gradient._array
            if array.shape != shape:
                gradient = F.sum_to(gradient, shape=shape)
            if array.dtype != dtype:
                gradient = F.to(gradient, dtype=dtype)
        fixed.append(gradient)
    return fixed


def finish_leaf(node: AccumulateGrad, gradient: Any, fresh: bool, F: Any, walk_: Walk) -> None:
    """The leaf's hooks; then its gradient is captured, or added to ``.grad``."""
    leaf = node.variable
    hooked = leaf._node.hooks or node.extras is not None
    if hooked:
        gradient = at_leaf(node, gradient, F, walk_.accumulate)
    if walk_.captured is not None:
        if node not in walk_.captured:
            return
        walk_.captured[node] = gradient if walk_.create or fresh and not hooked else np.array(gradient)
        if not walk_.accumulate:
            return
        gradient = walk_.captured[node]
    accumulate(leaf, gradient, fresh and not hooked, walk_.create)
    if node.extras is not None:
        for hook in tuple(node.extras.posthooks.values()):
            hook((), (gradient if walk_.create else wrap(np.asarray(gradient)),))
    if leaf._node.post_hooks:
        for hook in tuple(leaf._node.post_hooks.values()):
            if hook(leaf) is not None:
                raise RuntimeError("post accumulate grad hooks should return None.")


def accumulate(tensor: Any, gradient: Any, fresh: bool, create: bool) -> None:
    """Add to ``.grad``: in place unless the sum is to be differentiable; a first gradient that is ours becomes it."""
    with _accumulating:
        grad = getattr(tensor, "_grad", None)
        if create:
            tensor._grad = gradient if grad is None else grad + gradient
        elif grad is None:
            tensor._grad = grad = wrap(gradient if fresh and gradient.__class__ is np.ndarray else np.array(gradient))
            grad._layout = tensor._layout
        elif grad._node is not None:  # somebody may still differentiate what is there
            tensor._grad = wrap(grad._array + gradient)
        else:
            np.add(grad._array, gradient, out=grad._array)
            edited(grad)


def output_gradient(node: Node, gradient: Any, index: int) -> Any:
    """Of a captured gradient, the part that came for one output."""
    return gradient.get(index) if gradient.__class__ is Outputs else gradient
