"""The debugger of backward passes: ``set_trace``, and what opens its prompt.

A watcher: each backward pass in the context where it was switched on gets a check that may stop before a node.  The prompt runs
inside the walk, in the walk's thread, so that what follows is the engine's own pass; see docs/design/07-looking.md.
"""

from __future__ import annotations

import os
import sys
from bdb import BdbQuit
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from types import FrameType, TracebackType
from typing import Any

from .._anomaly import Check, Run, watchers
from .._differentiate import GradientEdge
from .._engine import current_pass, fitted, run_nodes
from .._records import Recording, name_of
from .._runtime import Tensor
from .._sites import is_theirs, mark_at, users_frame
from .._tape import AccumulateGrad, Node, Output
from ._entries import Entry, Saved
from ._prompt import Prompt
from ._stepping import Before, Step
from ._table import parent_text
from .tape import Tape

Wanted = Callable[["Visit", Step], bool]
"""Says of a step in a visited pass whether to stop there."""

_here: ContextVar[Debugger | None] = ContextVar("debugger", default=None)


def set_trace(until: str | bool | None = None) -> None:
    """Stop at the next backward pass, and at each one from then on, with a prompt before its first node.

    ``help`` at the prompt lists its commands; ``off`` ends it all, ``quit`` also the pass, with BdbQuit.  From here on the
    lines of operations are recorded too, as by ``record_sites``: so call it before the forward pass.  Passes are stopped that
    run where it was called, in this thread; ``python -m minitorch.debug script.py`` does the same for a whole program.

    Parameters
    ----------
    until : str or False, optional
        Do not stop before the first node but where this says, as the prompt's command ``until`` does: ``"relu"``,
        ``"nonfinite"``, ``"fc1"``, ``"(3, 4)"``, ``"grad.norm() > 10"``.  False: no more prompts, as ``off``.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.autograd.set_trace(until="nonfinite")
    >>> x = torch.ones(2, requires_grad=True)
    >>> x.exp().sum().backward()  # nothing infinite: no prompt
    >>> x.grad
    tensor([2.7183, 2.7183])
    >>> torch.autograd.set_trace(False)
    """
    debugger = _here.get()
    if until is False:
        if debugger is not None:
            debugger.stop()
        return
    if debugger is None or debugger.wanted is None:
        debugger = Debugger()
        _here.set(debugger)
        debugger.start()
    debugger.wanted = at_once if until is None or until is True else debugger.prompt.condition(until)


def at_once(visit: Visit, step: Step) -> bool:
    """Stop at any node."""
    return True


class Debugger:
    """Watches the backward passes of one context and stops them where it is told to.

    Attributes
    ----------
    wanted : function or None
        Where to stop next; None once it is off.
    depth : int
        How many nodes are running, each within the one before, where the debugger looked on.
    visits : int
        How many passes it has seen.
    """

    def __init__(self) -> None:
        self.wanted: Wanted | None = None
        self.depth = self.visits = 0
        self.prompt = Prompt()
        self._asking = False
        self._process = os.getpid()
        self._recording = Recording()

    def start(self) -> None:
        """Begin to watch, outside whatever else watches."""
        watchers.insert(0, self)
        self._recording.start()

    def stop(self) -> None:
        """No more prompts."""
        self.wanted = None
        if self in watchers:
            watchers.remove(self)
        self._recording.stop()

    def for_pass(self) -> Check | None:
        """What looks on in a pass that begins, if it is one of ours."""
        if _here.get() is not self or self._asking or self._process != os.getpid():
            return None
        self.visits += 1
        return Visit(users_frame(sys._getframe(1)), self).check

    def ask(self, visit: Visit, step: Step) -> None:
        """Open the prompt; raises BdbQuit where the user leaves the pass."""
        self._asking = True
        try:
            wanted = self.prompt.ask(visit, step)
        finally:
            self._asking = False
        if wanted is None:
            self.stop()
        else:
            self.wanted = wanted


class Visit:
    """One backward pass under the debugger: its tape, and what its nodes were given and what they gave.

    Attributes
    ----------
    frame : frame or None
        Of the user's function that asked for the pass; ``mark`` is where in it.
    number, depth : int
        The how manieth pass, and within how many running nodes.
    leaves : dict
        The leaves that it leads to, by name.
    steps, saved : dict
        For each entry that backward has come to, by its number: the step, and what the node had saved.
    error : BaseException or None
        What the node raised at which the pass ended.
    """

    def __init__(self, frame: FrameType | None, debugger: Debugger | None = None, mark: Any = None) -> None:
        self.debugger, self.frame, self.mark = debugger, frame, mark_at(frame) if mark is None else mark
        self.number, self.depth = (0, 0) if debugger is None else (debugger.visits, debugger.depth)
        self.tape: Tape = Tape()
        self.entries: dict[Any, Entry] = {}
        self.leaves: dict[str, Any] = {}
        self.steps: dict[int, Step] = {}
        self.saved: dict[int, tuple[Saved, ...]] = {}
        self.error: BaseException | None = None
        self.shown = False
        self._before: Before | None = None

    def read(self, roots: list[Node]) -> None:
        """Read the tape of the pass."""
        edges = [GradientEdge(r.edges[0], r.index) if isinstance(r, Output) else GradientEdge(r, 0) for r in roots]
        self.tape = Tape(edges, params=self._named_leaves())
        self.entries = {entry.node: entry for entry in self.tape}
        parents = [parent for entry in self.tape for parent in entry.parents if parent.leaf is not None]
        self.leaves = {parent_text(parent): parent.leaf for parent in parents}

    def _named_leaves(self) -> dict[str, Any]:
        """Leaves that have no name go by the variable of the user's function that holds them."""
        if self.frame is None:
            return {}
        scope = {**self.frame.f_globals, **self.frame.f_locals}
        leaves = [(name, t) for name, t in scope.items() if isinstance(t, Tensor)]
        return {n: t for n, t in leaves if t._node.__class__ is AccumulateGrad and name_of(t) is None}

    def note(self, step: Step) -> None:
        """Remember a step: a node frees what it saved when it runs."""
        self.steps[step.entry.number], self.saved[step.entry.number] = step, step.entry.saved

    def check(self, node: Node, gradient: Any, compute: Run, F: Any) -> Any:
        """In the walk, in place of a node's backward."""
        debugger = self.debugger
        if debugger is None or debugger.wanted is None:
            return compute(gradient)
        if not self.entries:
            self.read(current_pass().roots)
            self._before = Before(current_pass().roots) if current_pass().accumulate else None
        entry = self.entries.get(node)
        inside = Inside(debugger, node, compute, F)
        if entry is None:  # a view's history that was taken anew since the pass began
            return inside.ask("run", gradient)
        step = Step(entry, node, gradient, F, inside)
        self.note(step)
        try:
            if debugger.wanted(self, step):
                debugger.ask(self, step)
            return step.results()
        except BdbQuit:
            self.leave()
            raise

    def leave(self) -> None:
        """Every ``.grad`` is as before the pass: what is complete is not accumulated, what was is taken back."""
        if self._before is not None:
            current_pass().captured = {}
            self._before.restore()


class Inside:
    """Runs the node at which a step stands, in the walk itself."""

    def __init__(self, debugger: Debugger, node: Node, compute: Run, F: Any) -> None:
        self.debugger, self.node, self.compute, self.F = debugger, node, compute, F

    def ask(self, command: str, value: Any) -> Any:
        """The gradients of the node's inputs."""
        self.debugger.depth += 1
        try:
            results = self.compute(value)
        finally:
            self.debugger.depth -= 1
        return results if self.node.expects is None else fitted(results, self.node.expects, self.F)


# -- after an error ----------------------------------------------------------------------------------------------------
class Over:
    """Stands where a node would be run, in a pass that is over."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def ask(self, command: str, value: Any) -> Any:
        """There is nothing to be had."""
        raise RuntimeError(f"the node did not run to its end: it raised {type(self.error).__name__}")


def post_mortem(error: BaseException) -> bool:
    """Open the prompt at the node of a backward pass at which an error was raised; says whether there was one."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        failed, frame, mark = _failed(cause.__traceback__)
        if failed is not None:
            scope = failed.f_locals
            visit = Visit(frame, None, mark)
            visit.error = cause
            visit.read(scope["walk_"].roots)
            entry = visit.entries.get(scope["node"])
            if entry is not None:
                step = Step(entry, scope["node"], scope["gradient"], scope["F"], Over(cause))
                visit.note(step)
                with suppress(BdbQuit):
                    Prompt().ask(visit, step)
                return True
        cause = cause.__cause__ or cause.__context__
    return False


def _failed(traceback: TracebackType | None) -> tuple[FrameType | None, FrameType | None, Any]:
    """The innermost walk that an error passed through; the user's frame that asked for it, and where in that."""
    failed = frame = mark = None
    last: tuple[FrameType, int] | None = None
    while traceback is not None:
        current = traceback.tb_frame
        if current.f_code is run_nodes.__code__:
            failed = current
            if last is not None:
                frame, mark = last[0], (last[0].f_code, last[1], "")
        elif is_theirs(current.f_code.co_filename):
            last = current, traceback.tb_lasti
        traceback = traceback.tb_next
    return failed, frame, mark
