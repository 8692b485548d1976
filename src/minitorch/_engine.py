"""The backward walk: nodes in descending order of recording, gradients summed on the way.

A node's consumers were all recorded after it, so taking the newest pending node first runs it only when its gradient is
complete.  There is no topological sort and no recursion; while one node is pending (a chain) the heap is not touched.
See docs/design/01-tape.md.
"""

from __future__ import annotations

import threading
from contextvars import ContextVar, copy_context
from heapq import heappop, heappush
from typing import Any

import numpy as np

from ._hooks import after, before, hooked_leaves
from ._leaves import finish_leaf, own
from ._modes import grad_mode, lifted, observers
from ._reach import completions, prune, reachable
from ._runtime import raw, traced
from ._tape import AccumulateGrad, Node, Outputs

_running: ContextVar[Walk | None] = ContextVar("backward_pass", default=None)
_DEEPEST = 20
"""Backward calls nested in one another beyond this run in a thread of their own, with a Python stack of its own."""


class Walk:
    """What one backward pass was asked for, besides its roots.

    Attributes
    ----------
    create : bool
        Whether the gradients are recorded too.
    lifted : bool
        Whether the formulas run on Tensors: for that, or because something observes the operations of the pass.
    retain : bool
        Whether nodes keep what they saved.
    accumulate : bool
        Whether leaves' ``.grad`` are added to.
    captured : dict or None
        For each node whose gradient is wanted, that gradient once known; None: all leaves, nothing captured.
    pruned : dict or None
        For nodes that lead elsewhere too, the edges to follow.
    due : dict or None
        For leaves with hooks, the position just after their last consumer.
    check : function or None
        What runs a node's backward in anomaly mode.
    """

    __slots__ = (*"accumulate captured check create depth due lifted notes pruned retain roots".split(),)

    def __init__(
        self, create: bool, retain: bool, accumulate: bool, captured: dict[Node, Any] | None, check: Any
    ) -> None:
        self.create, self.retain, self.accumulate, self.captured, self.check = (
            create,
            retain,
            accumulate,
            captured,
            check,
        )
        self.lifted = create or (bool(observers) and lifted())
        self.pruned: dict[Node, Any] | None = None
        self.due: dict[Node, float] | None = None
        self.roots: list[Node] = []
        self.depth = 0
        self.notes: dict[Any, Any] = {}

    def reaches(self, nodes: list[Node]) -> int:
        """How many of these nodes this pass runs."""
        seen: set[Any] = {None}
        stack = list(self.roots)
        while stack:
            node = stack.pop()
            if node not in seen:
                seen.add(node)
                edges = node.edges if self.pruned is None else self.pruned.get(node, node.edges)
                stack.extend(edges or ())
        return len([node for node in nodes if node in seen])


def current_pass() -> Walk:
    """The backward pass that is running here."""
    walk_ = _running.get()
    assert walk_ is not None
    return walk_


def run(roots: list[Node], gradients: list[Any], walk_: Walk) -> None:
    """Walk back from *roots*; deep nesting goes on in a fresh thread, so that the Python stack does not grow with it."""
    if walk_.captured is not None:
        walk_.pruned = prune(roots, walk_.captured)
    if hooked_leaves:
        walk_.due = completions(roots)
    walk_.roots = roots
    outer = _running.get()
    if outer is not None:
        walk_.depth = outer.depth + 1
        if walk_.depth % _DEEPEST == 0:
            return _in_thread(roots, gradients, walk_)
    _run_here(roots, gradients, walk_)


def _run_here(roots: list[Node], gradients: list[Any], walk_: Walk) -> None:
    running = mode = None
    try:
        running = _running.set(walk_)
        mode = grad_mode.set(walk_.create)
        if walk_.lifted:
            walk(roots, gradients, traced, walk_)
        else:
            with np.errstate(all="ignore"):
                walk(roots, gradients, raw, walk_)
    finally:
        if mode is not None:
            grad_mode.reset(mode)
        if running is not None:
            _running.reset(running)


def _in_thread(roots: list[Node], gradients: list[Any], walk_: Walk) -> None:
    """Run the walk in a new thread, in the caller's context, and raise here what it raises."""
    errors: list[BaseException] = []

    def target() -> None:
        try:
            _run_here(roots, gradients, walk_)
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=copy_context().run, args=(target,))
    thread.start()
    thread.join()
    if errors:
        raise errors[0]


def walk(roots: Any, gradients: Any, F: Any, walk_: Walk) -> None:
    """Run every node from the roots down, then the leaves; after an error, only the leaves that were complete by then."""
    pending: dict[float, list[Any]] = {}
    leaves: dict[AccumulateGrad, list[Any]] = {}
    try:
        run_nodes(roots, gradients, F, walk_, pending, leaves)
    except BaseException:
        incomplete = reachable([entry[0] for entry in pending.values()])
        for leaf in [leaf for leaf in leaves if leaf not in incomplete]:
            gradient, fresh = leaves.pop(leaf)
            finish_leaf(leaf, gradient, fresh, F, walk_)
        raise
    for leaf in tuple(leaves):
        gradient, fresh = leaves.pop(leaf)
        finish_leaf(leaf, gradient, fresh, F, walk_)


def run_nodes(edges: Any, results: Any, F: Any, walk_: Walk, pending: dict[float, Any], leaves: dict[Any, Any]) -> None:
    """Run nodes from new to old until none is pending.

    ``heap`` holds the positions of pending nodes, ``pending`` for each its [node, gradient, whether that is an array of
    ours]; ``following`` is the next node while there is only one.  ``leaves`` are collected apart: they would only fill the
    heap.  Where leaves have hooks, ``due`` says when each of those is complete.
    """
    heap: list[float] = []
    retain, due, plain = walk_.retain, walk_.due, walk_.pruned is None and walk_.check is None
    gradient: Any = None
    upcoming: Any = None
    ours, fresh, arrays = False, False, F is raw
    while True:
        following = None
        index = 0
        for edge in edges:
            if edge is not None and (result := results[index]) is not None:
                # An array of ours may be added into: see docs/design/03-ownership.md.
                new = ours and result is not gradient and result.base is None
                if edge.__class__ is AccumulateGrad and (due is None or edge not in due):
                    entry = leaves.get(edge)
                    if entry is None:
                        leaves[edge] = [result, new]
                    elif entry[1] and arrays:
                        entry[0] += result
                    else:
                        entry[:] = entry[0] + result, True
                elif edge is following:
                    upcoming, fresh = upcoming + result, True
                elif following is None and not heap:
                    following, upcoming, fresh = edge, result, new
                else:
                    position = due[edge] if due is not None and edge in due else edge.position
                    entry = pending.get(position)
                    if entry is None:
                        pending[position] = [edge, result, new]
                        heappush(heap, position)
                    elif entry[2] and arrays:
                        entry[1] += result
                    else:
                        entry[1:] = entry[1] + result, True
            index += 1
        if not heap:
            if following is None:
                return
            node, gradient = following, upcoming
        else:
            if following is not None:  # several became pending at once
                position = due[following] if due is not None and following in due else following.position
                pending[position] = [following, upcoming, fresh]
                heappush(heap, position)
            node, gradient, fresh = pending.pop(heappop(heap))
        try:
            if node.extras is None and plain and node.__class__ is not AccumulateGrad:
                edges = node.edges
                results = node.backward(gradient, F, edges, retain)
                ours = arrays and node.owns_gradients
            else:
                edges, results = run_specially(node, gradient, fresh, F, walk_)
                ours = False
            if node.expects is not None and edges:
                results = fitted(results, node.expects, F)
        except BaseException:
            pending[node.position] = [node, gradient, False]
            raise


def run_specially(node: Node, gradient: Any, fresh: bool, F: Any, walk_: Walk) -> tuple[Any, Any]:
    """Run a leaf, a node that has hooks or packed values, one in a pass that wants some gradients only, or in anomaly mode."""
    if node.__class__ is AccumulateGrad:
        finish_leaf(node, gradient, fresh, F, walk_)
        return (), ()
    if node.extras is not None:
        gradient = before(node.extras.outputs, gradient, F)
    edges: Any = node.edges
    if walk_.pruned is not None and walk_.captured is not None:
        if node in walk_.captured:
            walk_.captured[node] = own(gradient, fresh and node.extras is None, F)
        edges = walk_.pruned.get(node, edges)
        if edges is None:  # captured, and nothing is needed below it
            return (), ()
    if node.extras is None and walk_.check is None:
        return edges, node.backward(gradient, F, edges, walk_.retain)
    return edges, after(node, gradient, F, edges, walk_.retain, walk_.check)


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


def sum_to_layout(tensor: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """A gradient Tensor summed down to *shape*, in *dtype*."""
    (fixed,) = fitted((tensor,), ((shape, dtype),), traced)
    return fixed


def output_gradient(node: Node, gradient: Any, index: int) -> Any:
    """Of a captured gradient, the part that came for one output."""
    return gradient.get(index) if gradient.__class__ is Outputs else gradient
