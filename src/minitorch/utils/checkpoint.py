"""Checkpointing: what a function saves for backward is dropped, and computed again when backward needs it.

Source: Chen et al., "Training deep nets with sublinear memory cost", 2016.
"""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from .. import _runtime
from .._engine import _running
from .._modes import enable_grad, grad_on, no_grad, observers
from .._random import default_generator
from ..autograd import Function, backward
from ..autograd.graph import saved_tensors_hooks
from ..nn.modules.container import Sequential
from ..ops.creation import empty

__all__ = [
    "CheckpointError", "checkpoint", "checkpoint_sequential", "noop_context_fn", "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
]  # fmt: skip

_settings: dict[str, bool | None] = {"early_stop": None, "debug": None}
_CHECKS = {"default": lambda tensor: (tensor.shape, tensor.dtype), "none": lambda tensor: None}
_EXPLICIT = (
    "torch.utils.checkpoint{}: the use_reentrant parameter should be passed explicitly. use_reentrant=False is "
    "recommended; without it, use_reentrant=True is taken."
)


class CheckpointError(RuntimeError):
    """What was computed again is not what was computed first."""


class _Stop(BaseException):
    """All that is needed has been computed again."""


def noop_context_fn() -> tuple[AbstractContextManager[None], AbstractContextManager[None]]:
    """Two contexts that do nothing."""
    return nullcontext(), nullcontext()


@contextmanager
def _setting(name: str, value: bool | None) -> Iterator[None]:
    before = _settings[name]
    _settings[name] = value
    try:
        yield
    finally:
        _settings[name] = before


def set_checkpoint_early_stop(enable: bool) -> AbstractContextManager[None]:
    """Context in which all checkpoints stop computing again once they have what they need, or run to their ends."""
    return _setting("early_stop", enable)


def set_checkpoint_debug_enabled(enabled: bool | None) -> AbstractContextManager[None]:
    """Accepted: errors name the tensors that differ in any case."""
    return _setting("debug", enabled)


# -- random numbers ----------------------------------------------------------------------------------------------------
class _RandomState:
    """The state of the default generator; as a context manager, puts it back for a while."""

    def __init__(self) -> None:
        self._state = default_generator.get_state()

    def __enter__(self) -> None:
        self._outside = default_generator.get_state()
        default_generator.set_state(self._state)

    def __exit__(self, *exc: object) -> None:
        default_generator.set_state(self._outside)


# -- by hooks on saved tensors -----------------------------------------------------------------------------------------
class _SavedInputs(Function):
    """A node that keeps a checkpoint's tensor arguments: checked for edits, and packed by checkpoints around this one."""

    @staticmethod
    def forward(recorded: Any, *tensors: Any) -> Any:
        return empty(0)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.save_for_backward(*inputs[1:])

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        """The arguments keep their own tangents."""
        return empty(0)


class _Place:
    """What a node keeps instead of a tensor: the number under which the checkpoint saved it, and what it was like."""

    __slots__ = ("__weakref__", "index", "like")

    def __init__(self, index: int, like: Any) -> None:
        self.index, self.like = index, like


class _Checkpoint:
    """A call whose saved tensors are computed again in backward."""

    def __init__(
        self,
        call: Callable[..., Any],
        args: tuple[Any, ...],
        context: AbstractContextManager[Any],
        random: AbstractContextManager[Any],
        early_stop: bool,
        like: Callable[[Any], Any],
    ) -> None:
        self.call, self.context, self.random, self.early_stop, self.like = call, context, random, early_stop, like
        self.places: list[weakref.ref[_Place]] = []
        self.rest = [None if isinstance(a, _runtime.Tensor) else a for a in args]
        self.which = [i for i, a in enumerate(args) if isinstance(a, _runtime.Tensor)]
        self.inputs = _SavedInputs.apply(empty(0, requires_grad=True), *[args[i] for i in self.which]).grad_fn

    def pack(self, tensor: Any) -> _Place:
        place = _Place(len(self.places), self.like(tensor))
        self.places.append(weakref.ref(place))
        return place

    def unpack(self, place: _Place) -> Any:
        """The tensor that was saved there: of what this backward pass computed again, or computed again now."""
        running = _running.get()
        again = {} if running is None else running.notes.setdefault(self, {})
        if place.index not in again:
            again.clear()
            self.compute(again)
        return again.pop(place.index)

    def compute(self, again: dict[int, Any]) -> None:
        """Call the function again, and keep what it saves."""
        count, total = 0, len(self.places)

        def keep(tensor: Any) -> Any:
            nonlocal count
            if count == total:
                raise CheckpointError(
                    f"torch.utils.checkpoint: the function saved {total} tensors at first, and now it saves more; it has to do "
                    "the same each time"
                )
            kept = tensor.detach()
            if _runtime.has_tangent(tensor):
                kept._array = tensor._array  # the same value, with its tangent
            if self.places[count]() is not None:
                again[count] = kept
            count += 1
            if count == total and self.early_stop:
                raise _Stop
            return kept

        args = list(self.rest)
        for index, tensor in zip(self.which, self.inputs.saved_tensors):
            args[index] = tensor
        try:
            with self.random, self.context, enable_grad(), saved_tensors_hooks(keep, lambda kept: kept):
                self.call(*args)
        except _Stop:
            pass
        self.check(count, again)

    def check(self, count: int, again: dict[int, Any]) -> None:
        """Refuse what differs from what was computed first."""
        if count != len(self.places):
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward and "
                f"recomputation: {len(self.places)}, then {count}; the function has to do the same each time"
            )
        places = [place for ref in self.places if (place := ref()) is not None]
        other = [(p.index, p.like, now) for p in places if p.like != (now := self.like(again[p.index]))]
        if other:
            lines = [f"tensor at position {index}: {like} at first, now {now}" for index, like, now in other]
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than during the "
                "forward pass.\n" + "\n".join(lines)
            )


# -- by a custom Function ----------------------------------------------------------------------------------------------
class CheckpointFunction(Function):
    """A call run without recording; its backward runs it again, recorded, and backward through that."""

    @staticmethod
    def forward(ctx: Any, run_function: Callable[..., Any], preserve_rng_state: bool, *args: Any) -> Any:
        if not any([isinstance(a, _runtime.Tensor) and a.requires_grad for a in args]):
            warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)
        ctx.run = run_function
        ctx.random = _RandomState() if preserve_rng_state else nullcontext()
        ctx.which = [i for i, a in enumerate(args) if isinstance(a, _runtime.Tensor)]
        ctx.rest = [None if isinstance(a, _runtime.Tensor) else a for a in args]
        ctx.save_for_backward(*[args[i] for i in ctx.which])
        with no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        running = _running.get()
        if running is not None and running.captured is not None:
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` "
                "parameter to .backward(). To resolve this error, you can either set use_reentrant=False, or call .backward() "
                "without passing the `inputs` argument."
            )
        args = list(ctx.rest)
        for index, tensor in zip(ctx.which, ctx.saved_tensors):
            args[index] = tensor.detach()
            args[index].requires_grad = tensor.requires_grad
        with ctx.random, enable_grad():
            outputs = ctx.run(*args)
        outputs = (outputs,) if isinstance(outputs, _runtime.Tensor) else outputs
        pairs = [(o, g) for o, g in zip(outputs, gradients) if isinstance(o, _runtime.Tensor) and o.requires_grad]
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        backward([o for o, _ in pairs], [g for _, g in pairs])
        return None, None, *[a.grad if isinstance(a, _runtime.Tensor) else None for a in args]


# -- what users call ---------------------------------------------------------------------------------------------------
def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], tuple[AbstractContextManager[Any], AbstractContextManager[Any]]] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """Call a function without keeping what it saves for backward; backward calls it again to have that.

    Parameters
    ----------
    function : callable
        Does the same at each call.
    *args, **kwargs
        Its arguments; keyword arguments only with ``use_reentrant=False``. ``preserve_rng_state=False`` says that the
        second call need not draw the random numbers of the first.
    use_reentrant : bool
        False: saved tensors are packed, and unpacking computes them again; recommended. True: the call is one node, whose
        backward is a backward pass of its own, which ``autograd.grad`` refuses and which does not reach tensors that the
        function gets in other ways unless an argument requires grad. It should be given; without it, a warning.
    context_fn : function
        Returns two contexts: for the first call, and for the second one.
    determinism_check : {"default", "none"}
        Whether shapes and dtypes of what is computed again are compared with the first ones.
    debug : bool
        Accepted.
    early_stop : bool
        Whether the second call ends once all that is needed has been computed.

    Returns
    -------
    object
        What the function returns.

    Notes
    -----
    With ``use_reentrant=False``, forward mode goes through, also over a backward pass; a backward pass over forward mode,
    a gradient of a tangent, does not: it raises a CheckpointError.  Inside of ``vmap`` the function is just called, and
    keeps what it saves.  With ``use_reentrant=True`` neither goes.

    Raises
    ------
    ValueError
        For arguments that do not go together.
    CheckpointError
        In backward, if the function did something else at the second call.

    Examples
    --------
    >>> import minitorch as torch
    >>> from minitorch.utils.checkpoint import checkpoint
    >>> x = torch.tensor([0.0, 1.0], requires_grad=True)
    >>> checkpoint(lambda x: x.exp().sum(), x, use_reentrant=False).backward()
    >>> x.grad
    tensor([1.0000, 2.7183])
    """
    if use_reentrant is None:
        warnings.warn(_EXPLICIT.format(""), stacklevel=2)
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if use_reentrant:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ", ".join(kwargs))
        if context_fn is not noop_context_fn or debug:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        return CheckpointFunction.apply(function, preserve, *args)
    if determinism_check not in _CHECKS:
        raise ValueError(f"determinism_check should be one of {list(_CHECKS)}, but got {determinism_check}")
    first, second = context_fn()
    if not grad_on() or any([observer.batches for observer in observers]):
        with first:
            return function(*args, **kwargs)
    stop = early_stop if _settings["early_stop"] is None else _settings["early_stop"]
    random = _RandomState() if preserve else nullcontext()
    saved = _Checkpoint(lambda *a: function(*a, **kwargs), args, second, random, stop, _CHECKS[determinism_check])
    with first, saved_tensors_hooks(saved.pack, saved.unpack):
        return function(*args, **kwargs)


def checkpoint_sequential(
    functions: Sequential | Sequence[Callable[..., Any]],
    segments: int,
    input: Any,
    use_reentrant: bool | None = None,
    **kwargs: Any,
) -> Any:
    """Call functions one after the other, in segments of which each but the last is checkpointed.

    Parameters
    ----------
    functions : Sequential or sequence of callables
        The functions.
    segments : int
        In how many segments.
    input : Tensor
        What the first function gets.
    use_reentrant : bool
        As for ``checkpoint``.
    preserve_rng_state : bool
        As for ``checkpoint``.

    Examples
    --------
    >>> import minitorch as torch
    >>> model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Tanh(), torch.nn.Linear(2, 1))
    >>> y = torch.utils.checkpoint.checkpoint_sequential(model, 2, torch.ones(1, 2), use_reentrant=False)
    >>> torch.equal(y, model(torch.ones(1, 2)))
    True
    """
    if use_reentrant is None:
        warnings.warn(_EXPLICIT.format(".checkpoint_sequential"), stacklevel=2)
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    steps = list(functions.children()) if isinstance(functions, Sequential) else list(functions)
    size = len(steps) // segments
    for start in range(0, size * (segments - 1), size) if size else ():
        segment = _in_turn(steps[start : start + size])
        input = checkpoint(segment, input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return _in_turn(steps[size * (segments - 1) :])(input)


def _in_turn(steps: Sequence[Callable[..., Any]]) -> Callable[[Any], Any]:
    """The function that calls others one after the other."""

    def run(input: Any) -> Any:
        for step in steps:
            input = step(input)
        return input

    return run
