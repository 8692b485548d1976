"""Backward, one node at a time: ``Tape.backward``.

The engine's own walk runs in a thread of its own and waits at each node: so what it does is what ``loss.backward()`` does, and
the engine knows nothing of it.  Nothing is freed, and every ``.grad`` can be put back, until the walk is through.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from .. import _runtime
from .._anomaly import Run, checker
from .._differentiate import gradients_for, starting_points
from .._engine import Walk, fitted, run
from .._hooks import as_gradient, as_tensor, checked, listed
from .._nonfinite import has_nonfinite
from .._reach import reachable
from .._saved import release
from .._tape import AccumulateGrad, Node, Outputs

if TYPE_CHECKING:
    from .tape import Entry, Tape


class Left(BaseException):
    """Ends a walk that nobody steps on."""


class Asked(Protocol):
    """Runs the node at which a walk stands."""

    def ask(self, command: str, value: Any) -> Any: ...


class Step:
    """A node that is about to run in a backward pass, or has just run.

    Attributes
    ----------
    entry : Entry
        The operation on the tape.
    gradients : tuple of (Tensor or None)
        The gradient of each output, as it came in; None where none came.
    outgoing : tuple of (Tensor or None) or None
        The gradient of each input, once the node has run: after ``run()``, or when the loop has gone on.
    """

    def __init__(self, entry: Entry, node: Node, gradient: Any, F: Any, channel: Asked) -> None:
        self.entry = entry
        self.gradients = tuple([as_tensor(g, F) for g in listed(node, gradient)])
        self.outgoing: tuple[Any, ...] | None = None
        self.skipped = False
        self._node, self._F, self._channel = node, F, channel

    @property
    def gradient(self) -> Any:
        """The gradient of the (first) output."""
        return self.gradients[0]

    @gradient.setter
    def gradient(self, value: Any) -> None:
        self.set_gradient(value)

    def set_gradient(self, value: Any, output: int = 0) -> None:
        """Have the node run with another gradient of one of its outputs.

        Raises
        ------
        RuntimeError
            Where the node has run, or the gradient has another shape or dtype than the one that came.
        IndexError
            Where there is no such output.
        """
        if self.outgoing is not None:
            raise RuntimeError(
                f"{self.entry!r} has run: set the gradient before run(), or change outgoing with set_outgoing"
            )
        self.gradients = self._replaced(self.gradients, value, output, "output")

    def set_outgoing(self, value: Any, input: int = 0) -> None:
        """Hand on another gradient of one of the node's inputs; the node runs first, if it has not.

        Raises
        ------
        RuntimeError
            Where the gradient has another shape or dtype than the one it replaces.
        IndexError
            Where there is no such input.
        """
        self.outgoing = self._replaced(self.run(), value, input, "input")

    def _replaced(self, gradients: tuple[Any, ...], value: Any, index: int, what: str) -> tuple[Any, ...]:
        if not -len(gradients) <= index < len(gradients):
            raise IndexError(f"{self.entry!r} has {len(gradients)} {what}(s): there is none with the number {index}")
        if value is None:
            raise TypeError("a gradient must be a Tensor: use torch.zeros_like for none, or skip()")
        changed = list(gradients)
        changed[index] = checked(gradients[index], value)
        return tuple(changed)

    def run(self) -> tuple[Any, ...]:
        """Run the node now, if it has not run, and give the gradients of its inputs."""
        if self.outgoing is None:
            gradients = [as_gradient(g, self._F) for g in self.gradients]
            given = Outputs({i: g for i, g in enumerate(gradients) if g is not None})
            results = self._channel.ask("run", given if self._node.several else gradients[0])
            self.outgoing = tuple([as_tensor(r, self._F) for r in results])
        return self.outgoing

    def skip(self) -> None:
        """Do not run the node: no gradient goes on from here."""
        if self.outgoing is None:
            self.outgoing, self.skipped = (None,) * len(self._node.edges), True

    def results(self) -> list[Any]:
        """What the walk goes on with."""
        return [as_gradient(g, self._F) for g in self.run()]

    def __repr__(self) -> str:
        return f"<Step {self.entry!r}>"


Condition = Any
"""Where to stop: see ``Tape.backward``."""


def stops_at(until: Condition, tape: Tape) -> Callable[[Step], bool]:
    """The function of a step that says whether to stop there."""
    if until is None:
        return lambda step: True
    if isinstance(until, str):
        if until == "nonfinite":
            return _is_nonfinite
        if not any([is_called(entry, until) for entry in tape]):
            raise ValueError(f"nothing on this tape is called {until!r}")
        return lambda step: is_called(step.entry, until)
    if isinstance(until, (tuple, list)):
        return lambda step: tuple(until) in [tuple(shape) for shape in step.entry.shapes]
    if callable(until) and not isinstance(until, (Node, _runtime.Tensor)):
        return until
    entry = tape.entry_of(until)
    if entry is None:
        raise ValueError(
            f"until={until!r} is not on this tape: give an operation, a node, a shape, a module or a function"
        )
    return lambda step: step.entry is entry


def is_called(entry: Entry, name: str) -> bool:
    """Whether an entry's operation, node, output or module has this name, or a parameter that it reads."""
    return (
        name in (entry.op, entry.name, entry.label, entry.module)
        or entry.module.startswith(f"{name}.")
        or any([parent.leaf is not None and parent.name == name for parent in entry.parents])
    )


def _is_nonfinite(step: Step) -> bool:
    """Whether an infinity or a NaN comes in or goes out; the node runs to see that."""
    return any([g is not None and has_nonfinite(g._array) for g in (*step.gradients, *step.run())])


class Backward(Iterator[Step]):
    """A backward pass that stops at nodes: iterate over it.  See ``Tape.backward``."""

    def __init__(
        self,
        tape: Tape,
        roots: Sequence[Any],
        gradients: Any,
        until: Condition,
        retain_graph: bool,
        create_graph: bool,
        keep: Literal["nothing", "reached"],
    ) -> None:
        if keep not in ("nothing", "reached"):
            raise ValueError(f"keep must be 'nothing' or 'reached', not {keep!r}")
        nodes, starts = starting_points(tuple(roots), gradients_for(tuple(roots), gradients), create_graph)
        self._wanted = stops_at(until, tape)
        self._keep = keep
        self._step: Step | None = None
        self._before = Before(nodes)
        self._channel = channel = Channel({entry.node: entry for entry in tape if entry.node is not None})
        self._walk = walk = Walk(create_graph, True, True, None, _within(channel.check, checker()))
        self._frees = [] if retain_graph or create_graph else nodes
        context = copy_context()
        self._thread = threading.Thread(target=context.run, args=(channel.work, nodes, starts, walk), daemon=True)
        self._state: Literal["new", "running", "through", "left"] = "new"

    def __iter__(self) -> Backward:
        return self

    def __next__(self) -> Step:
        while True:
            step = self._next()
            if step is None:
                raise StopIteration
            if self._wanted is None or self._wanted(step):
                return step

    def _next(self) -> Step | None:
        """Let the walk go on to its next node; None where it is through."""
        if self._state in ("through", "left"):
            return None
        if self._state == "new":
            self._state = "running"
            self._thread.start()
        else:
            assert self._step is not None
            self._channel.answers.put(("go", self._step.results()))
        self._step = None
        try:
            self._step = self._channel.get()
        except BaseException:
            self._end()
            raise
        if self._step is None:
            self._end()
            for node in reachable(self._frees):
                if node is not None:
                    release(node)
        return self._step

    def _end(self) -> None:
        self._state = "through"
        self._thread.join()

    def finish(self) -> None:
        """Run the rest without stopping."""
        self._wanted = lambda step: False
        for _ in self:
            pass

    def stop(self) -> None:
        """Leave the pass here: every ``.grad`` is as before, or, with ``keep="reached"``, complete leaves have theirs."""
        if self._state == "running":
            self._state = "left"
            if self._keep == "nothing":
                self._walk.captured = {}  # what is complete is not accumulated
            self._channel.answers.put(("leave", None))
            self._thread.join()
            if self._keep == "nothing":
                self._before.restore()
        elif self._state == "new":
            self._state = "left"

    close = stop

    def __enter__(self) -> Backward:
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def __del__(self) -> None:
        if getattr(self, "_state", None) == "running":
            self.stop()


class Channel:
    """Between the thread of the walk and the one that steps."""

    def __init__(self, entries: dict[Any, Entry]) -> None:
        self.entries = entries
        self.steps: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.answers: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def check(self, node: Node, gradient: Any, compute: Run, F: Any) -> Any:
        """In the walk: show the node, and wait for what to go on with."""
        entry = self.entries.get(node)
        if entry is None:  # a leaf, or history that was taken anew since the tape was read
            return compute(gradient)
        self.steps.put(Step(entry, node, gradient, F, self))
        while True:
            command, value = self.answers.get()
            if command == "go":
                return value
            if command == "leave":
                raise Left
            try:
                results = compute(value)
                self.steps.put(results if node.expects is None else fitted(results, node.expects, F))
            except BaseException as error:
                self.steps.put(error)

    def ask(self, command: str, value: Any) -> Any:
        """From the other side: have the walk do something at the node where it waits."""
        self.answers.put((command, value))
        return self.get()

    def get(self) -> Any:
        """What the walk shows next; an error of the walk is raised."""
        shown = self.steps.get()
        if isinstance(shown, BaseException):
            raise shown
        return shown

    def work(self, nodes: list[Node], starts: list[Any], walk: Walk) -> None:
        """The thread: the engine's walk, from start to end."""
        try:
            run(nodes, starts, walk)
        except Left:
            self.steps.put(None)
        except BaseException as error:
            self.steps.put(error)
        else:
            self.steps.put(None)


def _within(outer: Any, inner: Any) -> Any:
    """A check around another one, if there is another."""
    if inner is None:
        return outer
    return lambda node, gradient, run, F: outer(node, gradient, lambda g: inner(node, g, run, F), F)


class Before:
    """The gradients of all leaves, and those kept at other tensors, as they were before a pass."""

    def __init__(self, roots: list[Any]) -> None:
        self.leaves: list[tuple[AccumulateGrad, Any, Any]] = []
        self.kept: list[tuple[Any, Any, Any]] = []
        for node in reachable(roots):
            if node.__class__ is AccumulateGrad:
                self.leaves.append((node, node.grad, _copied(node.grad)))
            elif node is not None and node.extras is not None:
                for hooks in node.extras.outputs.values():
                    tensor = None if hooks.retained is None else hooks.retained()
                    if tensor is not None:
                        grad = getattr(tensor, "_grad", None)
                        self.kept.append((hooks.retained, grad, _copied(grad)))

    def restore(self) -> None:
        """Put them back."""
        for node, grad, copy in self.leaves:
            node.grad = grad
            if grad is not None:
                np.copyto(grad._array, copy)
        for reference, grad, copy in self.kept:
            tensor = reference()
            if tensor is not None:
                tensor._grad = grad
                if grad is not None:
                    np.copyto(grad._array, copy)


def _copied(grad: Any) -> Any:
    return None if grad is None else grad._array.copy()
