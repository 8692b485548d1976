"""The graph: nodes and edges, saved-tensor hooks, hooks on several gradients, and writes into saved tensors."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from typing import Any, Self

from .. import _runtime
from .._differentiate import GradientEdge, get_gradient_edge
from .._engine import current_pass
from .._extras import RemovableHandle
from .._hooks import register_hook
from .._modes import ModeDecorator, Observer, differs, no_grad, observers, saved_hooks
from .._saved import Packed
from .._tape import Node, Output, extras_of
from .._views import current_node, edit

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]

_disabled: ContextVar[str | None] = ContextVar("saved_tensors_hooks_disabled", default=None)


class saved_tensors_hooks(Observer):
    """Context in which each saved tensor is packed when it is saved, and unpacked each time backward reads it.

    Parameters
    ----------
    pack_hook : function
        Takes the tensor, returns anything.
    unpack_hook : function
        Takes what *pack_hook* returned, returns a tensor of the same content.

    Raises
    ------
    RuntimeError
        Where hooks are disabled.

    Notes
    -----
    The history of what was packed, and its tangents, are kept beside it, so that derivatives of any order and the transforms of
    ``func`` go through.  Inside a function that ``vmap`` calls, what stands for a batch is not packed.

    Examples
    --------
    >>> import minitorch as torch
    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> with torch.autograd.graph.saved_tensors_hooks(lambda t: t.item(), lambda v: torch.tensor(v)):
    ...     y = x * x
    >>> y.backward()
    >>> x.grad
    tensor(6.)
    """

    last = True

    def __init__(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        if not callable(pack_hook) or not callable(unpack_hook):
            raise TypeError("saved_tensors_hooks() expects two functions: pack_hook(tensor) and unpack_hook(packed)")
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self) -> saved_tensors_hooks:
        if (message := _disabled.get()) is not None:
            raise RuntimeError(message)
        return self._begin()

    def __exit__(self, *exc: object) -> None:
        observers.remove(self)
        saved_hooks.reset(self._token)

    def _begin(self) -> Self:
        self._token = saved_hooks.set((*saved_hooks.get(), self))
        observers.append(self)
        return self

    def active(self) -> bool:
        """Whether these are the innermost hooks here."""
        hooks = saved_hooks.get()
        return bool(hooks) and hooks[-1] is self

    def takes(self, tensor: Any) -> bool:
        """Whether a tensor is packed: not one that stands for a batch, of which the hooks would see one example."""
        return not differs(tensor)

    def recorded(self, call: Any) -> None:
        """Pack what a node just made has saved."""
        node = call.node
        if node is None or not (saved := [(name, t) for name, t in node.packable() if self.takes(t)]):
            return
        extras = extras_of(node)
        packed = extras.packed = Packed()
        for name, tensor in saved:
            packed.pack(node, name, tensor, self.pack_hook, self.unpack_hook)


class OwnHooks(saved_tensors_hooks):
    """Hooks of this package's own functions, which keep tensors as they are: people who disable hooks mean theirs."""

    def __enter__(self) -> Self:
        return self._begin()

    def takes(self, tensor: Any) -> bool:
        return True


class save_on_cpu(saved_tensors_hooks):
    """Context in which saved tensors are kept in main memory: where all tensors here are anyway.

    Parameters
    ----------
    pin_memory : bool
        Accepted; nothing is pinned.
    device_type : str
        Accepted.
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(lambda tensor: tensor, lambda tensor: tensor)


class disable_saved_tensors_hooks(ModeDecorator):
    """Context in which entering ``saved_tensors_hooks`` raises.

    Parameters
    ----------
    error_message : str
        The RuntimeError's message.

    Examples
    --------
    >>> import minitorch as torch
    >>> with torch.autograd.graph.disable_saved_tensors_hooks("not here"):
    ...     try:
    ...         torch.autograd.graph.saved_tensors_hooks(abs, abs).__enter__()
    ...     except RuntimeError as error:
    ...         print(error)
    not here
    """

    def __init__(self, error_message: str) -> None:
        self._message = error_message

    def clone(self) -> disable_saved_tensors_hooks:
        return disable_saved_tensors_hooks(self._message)

    def __enter__(self) -> None:
        if _disabled.get() is None and not all([isinstance(hooks, OwnHooks) for hooks in saved_hooks.get()]):
            raise RuntimeError(self._message)
        self._token = _disabled.set(self._message)

    def __exit__(self, *exc: object) -> None:
        _disabled.reset(self._token)


def increment_version(tensor: Any) -> None:
    """Note a write into a tensor (or each of several) that autograd could not see.

    Examples
    --------
    >>> import minitorch as torch
    >>> x = torch.ones(2)
    >>> torch.autograd.graph.increment_version(x)
    >>> x._version
    1
    """
    tensors = (tensor,) if isinstance(tensor, _runtime.Tensor) else tensor
    if not isinstance(tensors, Iterable):
        raise RuntimeError(f"increment_version expects a Tensor or an iterable of Tensors, not {type(tensor).__name__}")
    for one in tensors:
        edit(one)


class _MultiHandle:
    """Removes several hooks at once."""

    def __init__(self, handles: Sequence[RemovableHandle]) -> None:
        self._handles = tuple(handles)

    def remove(self) -> None:
        for handle in self._handles:
            handle.remove()

    def __enter__(self) -> _MultiHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


def register_multi_grad_hook(tensors: Sequence[Any], fn: Callable[..., Any], *, mode: str = "all") -> _MultiHandle:
    """Call *fn* once per backward with the gradients of several tensors.

    Parameters
    ----------
    tensors : sequence of Tensor
        Each requires grad.
    fn : function
        With ``mode="all"``, takes a list of gradients, None for tensors that this backward does not reach; with
        ``mode="any"``, the first gradient that is computed.
    mode : "all" or "any"
        When *fn* is called.

    Returns
    -------
    handle
        With ``remove()``.

    Raises
    ------
    ValueError
        For another *mode*.
    RuntimeError
        For a tensor that needs no gradient.

    Examples
    --------
    >>> import minitorch as torch
    >>> a, b = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    >>> handle = torch.autograd.graph.register_multi_grad_hook((a, b), lambda grads: print(grads))
    >>> (a * 2 + b * 3).backward()
    [tensor([2.]), tensor([3.])]
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    state = _MultiHook(tensors, fn, mode)
    return _MultiHandle([register_hook(tensor, state.hook(i)) for i, tensor in enumerate(tensors)])


class _MultiHook:
    """What a multi-gradient hook knows of each backward pass that is running."""

    def __init__(self, tensors: Sequence[Any], fn: Callable[..., Any], mode: str) -> None:
        nodes = [current_node(t) for t in tensors]
        self._nodes = [n.edges[0] if isinstance(n, Output) else n for n in nodes]
        self._fn, self._mode = fn, mode
        self._lock = threading.Lock()

    def hook(self, index: int) -> Callable[[Any], None]:
        """The tensor hook of the tensor with this number."""

        def collect(gradient: Any) -> None:
            running = current_pass()
            with self._lock:
                seen = running.notes.setdefault(self, {})
                first = not seen
                seen[index] = gradient
                if self._mode == "any":
                    ready = first
                else:
                    expected = running.notes.get((self, "expected"))
                    if expected is None:
                        expected = running.notes[self, "expected"] = running.reaches(self._nodes)
                    ready = len(seen) == expected
            if ready:
                self._fn(gradient if self._mode == "any" else [seen.get(i) for i in range(len(self._nodes))])

        return collect


class allow_mutation_on_saved_tensors(saved_tensors_hooks):
    """Context in which a saved tensor may be written in place: it is cloned first, and backward uses the clone.

    Raises
    ------
    RuntimeError
        Where such contexts are nested.
    AssertionError
        When backward runs after the context was left.

    Examples
    --------
    >>> import minitorch as torch
    >>> a = torch.ones(2, requires_grad=True)
    >>> with torch.autograd.graph.allow_mutation_on_saved_tensors():
    ...     b = a.clone()
    ...     c = b * b
    ...     _ = b.mul_(10)
    ...     c.sum().backward()
    >>> a.grad
    tensor([2., 2.])
    """

    def __init__(self) -> None:
        super().__init__(self._watch, self._read)
        self._entered = False

    def __enter__(self) -> allow_mutation_on_saved_tensors:
        if any([isinstance(hooks, allow_mutation_on_saved_tensors) for hooks in saved_hooks.get()]):
            raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
        super().__enter__()
        self._entered = True
        return self

    def __exit__(self, *exc: object) -> None:
        self._entered = False
        super().__exit__(*exc)

    def _watch(self, tensor: Any) -> Watched:
        return Watched(tensor)

    def _read(self, watched: Watched) -> Any:
        if not self._entered:
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in which the graph was "
                "originally recorded."
            )
        return watched.tensor


class Watched:
    """A saved tensor; just before its memory is first written, a clone takes its place."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor
        edits = tensor._alias.edits
        if edits.watchers is None:
            edits.watchers = weakref.WeakSet()
        edits.watchers.add(self)

    def about_to_be_written(self, by: Any) -> None:
        with no_grad():
            self.tensor = self.tensor.clone()
