"""Modes: what changes how operations are recorded, per thread of control."""

from __future__ import annotations

import functools
import inspect
import sys
import warnings
from collections.abc import Callable, Generator
from contextvars import ContextVar
from typing import Any, TypeVar
from weakref import WeakSet

_Function = TypeVar("_Function", bound=Callable[..., Any])

grad_mode: ContextVar[bool] = ContextVar("grad_mode", default=True)
"""Whether operations are recorded.  A new thread starts with the default."""

grad_on = grad_mode.get
"""``is_grad_enabled`` without a Python frame: recorders ask it at every operation."""

levels: ContextVar[tuple[Any, ...]] = ContextVar("levels", default=())

active_levels = levels.get
"""The levels of forward mode at which operations here and now compute tangents, outermost first: see ``_tangents``."""

transform_mode: ContextVar[str] = ContextVar("transform_mode", default="")

in_transform = transform_mode.get
"""Whether a transform of ``func`` is calling a function: "reverse" if one of them is by reverse mode, "linearize" if that is
the only one, else "forward" or ""."""

inner_leaves: WeakSet[Any] = WeakSet()
"""The nodes of leaves that transforms give functions in the place of their arguments."""

_hidden: ContextVar[tuple[bool, tuple[Any, ...]]] = ContextVar("hidden_levels", default=(False, ()))
"""Whether forward mode is switched off here, and then the levels that would be active."""

inference_mode_on: ContextVar[bool] = ContextVar("inference_mode", default=False)

observers: list[Any] = []
"""What looks at every operation once it is recorded (a Tape, saved-tensor hooks, sites, inference mode).  Usually empty.

Who writes calls down is inserted in front, so that a call is known to all of them when forward mode, which is appended, reads
its results."""


class Observer:
    """What stands among the ``observers``, with what it may want besides seeing calls.

    Attributes
    ----------
    lifts : bool or "kernels"
        Whether backward passes run their formulas on Tensors though no graph is wanted, so that their operations are seen too;
        "kernels": with the ways back that are kernels on ndarrays as one call each, not as the operations they are made of.
    parts : bool
        Whether the operations inside of an in-place one are shown, and then ``written``, instead of the in-place call.
    batches : bool
        Whether what it sees is done again, to batches.
    pushes : bool
        Whether it computes more of the results, tangents.
    every_slice : bool
        Whether it wants to see slices that are all of a dimension, too, as at other sizes they are a part.
    last : bool
        Whether it sees calls after those that compute more of their results have.
    whole : bool
        Whether calls of compiled functions may run as a whole beside it, for it need not see their operations.
    """

    lifts: bool | str = False
    parts = batches = pushes = every_slice = last = whole = False
    direct: Any = None
    """Where it is the only observer: ``direct(row, out, inputs, params)`` is called, if there is one, and no ``Call`` made."""

    def active(self) -> bool:
        """Whether it looks at what is called here and now."""
        return True

    def keeps(self) -> bool:
        """Whether it keeps the operands of what it sees here and now, so that those are not to be written over."""
        return False

    def recorded(self, call: Any) -> None:
        """A row was called."""

    def writing(self, tensor: Any) -> None:
        """An in-place operation on *tensor* begins: its parts follow, then ``written``, unless it fails."""

    def overwriting(self, tensor: Any) -> None:
        """A tensor is about to be written, by a call that follows; also for observers that are not shown its parts."""

    def editing(self, tensor: Any) -> None:
        """The memory of a tensor is about to be written, by whatever: a call may follow, or none."""

    def written(self, tensor: Any, out: Any) -> None:
        """The values of *out* are written into *tensor*."""

    def rebound(self, tensor: Any) -> None:
        """The values that were written last become the tensor's with their memory, by ``.data = ...``."""

    def copied(self, tensor: Any, array: Any) -> None:
        """The values that *tensor* has now were copied into *array*, which stands for them from now on."""

    def applying(self, function: Any, args: tuple[Any, ...]) -> None:
        """A custom Function's forward begins; its operations follow, then ``recorded``, unless it fails."""

    def forward(self, function: Any, args: tuple[Any, ...], recording: bool) -> Any:
        """What the forward gives of a custom Function that has its own rule for batches; asked where `batches`."""
        return function.forward(*args)

    def made(self, tensor: Any) -> None:
        """A factory made a tensor."""

    def drawing(self, generator: Any) -> None:
        """A generator, which is not the default one, is about to draw."""

    def accumulating(self) -> None:
        """``backward()`` is called: gradients will be added to leaves' ``.grad``."""

    def graded(self, tensor: Any, before: Any, after: Any) -> None:
        """A tensor's ``.grad`` was *before* and is *after*; the same, if it was added to in place."""

    def derived(self, gradient: Any) -> None:
        """A gradient was computed of which the operations are not shown."""

    def sized(self, tensor: Any) -> None:
        """The user looks at the sizes of a tensor."""

    def grad_read(self, tensor: Any, value: Any) -> None:
        """A leaf's ``.grad`` was looked at."""

    def ran(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> None:
        """A function was called whose operations are not shown, since it is to be called again as a whole."""

    def differs(self, tensor: Any) -> bool:
        """Whether a tensor stands for one of each example of a batch, so that its values are not all there is to know."""
        return False

    def said(self, tensor: Any) -> str:
        """What a tensor's text is to say of what it stands for."""
        return ""

    def pushed(self, tensor: Any) -> bool:
        """Whether a tensor stands for a batch that has a tangent."""
        return False

    def holds(self, tensor: Any) -> bool:
        """Whether it differs by this observer, not by one around it only."""
        return False

    def hides(self, level: Any, tensor: Any) -> bool:
        """Whether a tensor's tangent at a level of forward mode is not known here: until the map within the level has ended."""
        return False

    def left(self, kind: str, tensor: Any) -> None:
        """A tensor's values become Python's or NumPy's: by ``item``, ``bool``, ``numpy``, ``tolist`` or ``data``; "index": what
        was read last is an index that can be followed to the tensor."""


def lifted() -> bool:
    """Whether backward passes here are to run their formulas on Tensors."""
    return any([bool(observer.lifts) and observer.active() for observer in observers])


def every_slice() -> bool:
    """Whether slices that are all of a dimension are calls here, too."""
    return any([observer.every_slice and observer.active() for observer in observers])


def differs(tensor: Any) -> bool:
    """Whether a tensor stands here for one of each example of a batch."""
    return any([observer.active() and observer.differs(tensor) for observer in observers])


def differ_since(observer: Observer, values: tuple[Any, ...]) -> bool:
    """Whether one of the tensors among *values* differs so by a map that began while *observer* stood here: what is computed
    of one example is not what the map computes, which follows for the whole batch."""
    began = observers[: observers.index(observer)]
    return any([o.holds(v) for o in began for v in values if hasattr(v, "_array")])


saved_hooks: ContextVar[tuple[Any, ...]] = ContextVar("saved_hooks", default=())
"""The saved-tensor hooks that are entered here, of which the innermost pack what nodes save."""

exporting: ContextVar[bool] = ContextVar("exporting", default=False)
"""Whether a model is being traced to be exported: values are not asked for where they only hint at a faster way, and what
depends on whether gradients are needed is as where none are."""

mode_place: ContextVar[Any] = ContextVar("mode_place", default=None)
"""Where the mode was switched: code and offset, or the code of a decorated function and None; while something observes."""


def is_grad_enabled() -> bool:
    """Whether operations are recorded here and now.

    Examples
    --------
    >>> import minitorch as torch
    >>> with torch.no_grad():
    ...     print(torch.is_grad_enabled())
    False
    """
    return grad_mode.get()


def is_inference_mode_enabled() -> bool:
    """Whether inference mode is on here and now."""
    return inference_mode_on.get()


class ModeDecorator:
    """A context manager that also decorates functions, generator functions and (deprecated) classes.

    A subclass gives ``__enter__``, ``__exit__`` and ``clone``, which makes a fresh context for each call.
    """

    function: Any = None  # what is decorated

    def clone(self) -> Any:
        return type(self)()

    def note_place(self) -> None:
        """Note where the block begins, or the call is."""
        if self.function is not None:
            code = getattr(inspect.unwrap(self.function), "__code__", None)
            mode_place.set(None if code is None else (code, None))
        else:
            frame = sys._getframe(2)
            mode_place.set((frame.f_code, frame.f_lasti))

    def __enter__(self) -> Any:
        raise NotImplementedError

    def __exit__(self, *exc: object) -> None:
        raise NotImplementedError

    def __call__(self, function: _Function) -> _Function:
        if inspect.isclass(function):
            warnings.warn(
                "Decorating classes is deprecated and will be disabled in future versions. You should only decorate "
                "functions or methods. To preserve the current behavior of class decoration, you can directly decorate "
                "the `__init__` method and nothing else.",
                FutureWarning,
                stacklevel=2,
            )
            function.__init__ = self(function.__init__)  # type: ignore[method-assign]
            return function

        def fresh() -> Any:
            context = self.clone()
            context.function = function
            return context

        if inspect.isgeneratorfunction(function):
            return _in_each_step(fresh, function)  # type: ignore[return-value]

        @functools.wraps(function)
        def decorated(*args: Any, **kwargs: Any) -> Any:
            with fresh():
                return function(*args, **kwargs)

        return decorated  # type: ignore[return-value]


def _in_each_step(context: Callable[[], Any], function: Callable[..., Generator[Any, Any, Any]]) -> Callable[..., Any]:
    """A generator function whose body runs in *context*, step by step; the caller's mode holds between steps."""

    @functools.wraps(function)
    def decorated(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        with context():
            generator = function(*args, **kwargs)
        step: Callable[[], Any] = generator.__next__
        while True:
            try:
                with context():
                    produced = step()
            except StopIteration as stop:
                return stop.value
            try:
                sent = yield produced
            except GeneratorExit:
                with context():
                    generator.close()
                raise
            except BaseException as error:
                step = functools.partial(generator.throw, error)
            else:
                step = functools.partial(generator.send, sent)

    return decorated


class _GradMode(ModeDecorator):
    mode = False
    previous: list[tuple[bool, tuple[Any] | None]]

    def __new__(cls, function: Any = None) -> Any:
        context = super().__new__(cls)
        context.previous = []
        return context if function is None else context(function)  # used as a bare decorator

    def __enter__(self) -> None:
        self.previous.append((grad_mode.get(), (mode_place.get(),) if observers else None))
        grad_mode.set(self.mode and not inference_mode_on.get())
        if observers and not self.mode:
            self.note_place()

    def __exit__(self, *exc: object) -> None:
        mode, place = self.previous.pop()  # no tokens: the block may end in another context than it began in
        grad_mode.set(mode)
        if place is not None:
            mode_place.set(place[0])


class no_grad(_GradMode):
    """Context manager or decorator: operations inside are not recorded.

    Examples
    --------
    >>> import minitorch as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """


class enable_grad(_GradMode):
    """Context manager or decorator: operations inside are recorded, inside ``no_grad`` too.

    Examples
    --------
    >>> import minitorch as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.no_grad(), torch.enable_grad():
    ...     y = x * 2
    >>> y.requires_grad
    True
    """

    mode = True


class set_grad_enabled(ModeDecorator):
    """Switch grad mode at once; as a context manager, restore it on leaving; as a decorator, switch it inside only.

    Parameters
    ----------
    mode : bool
        Whether operations are recorded.

    Examples
    --------
    >>> import minitorch as torch
    >>> with torch.set_grad_enabled(False):
    ...     torch.is_grad_enabled()
    False
    """

    def __init__(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            raise TypeError(f"set_grad_enabled(): argument 'mode' must be bool, not {type(mode).__name__}")
        self.mode = mode
        self.previous = grad_mode.get(), mode_place.get()
        grad_mode.set(self.mode)
        mode_place.set(None)
        if observers and not mode:
            self.note_place()

    def clone(self) -> set_grad_enabled:
        return set_grad_enabled(self.mode)

    def __call__(self, function: _Function) -> _Function:
        self.__exit__()  # decorating alone changes nothing
        return super().__call__(function)

    def __enter__(self) -> None:
        grad_mode.set(self.mode)
        if observers and self.function is not None and not self.mode:
            self.note_place()

    def __exit__(self, *exc: object) -> None:
        mode, place = self.previous
        grad_mode.set(mode)
        mode_place.set(place)


def tangents_enabled() -> bool:
    """Whether operations compute tangents here and now, where there are levels."""
    return not _hidden.get()[0]


def switch_tangents(mode: bool, at: tuple[Any, ...] | None = None) -> tuple[bool, tuple[Any, ...]]:
    """Switch that on or off, at the levels that are there or at those given, and return what it was."""
    off, hidden = _hidden.get()
    there = hidden if off else active_levels()
    at = there if at is None else at
    _hidden.set((not mode, () if mode else at))
    levels.set(at if mode else ())
    return not off, there


class inference_mode(ModeDecorator):
    """Context manager or decorator: nothing is recorded, and tensors made inside can never take part in recording.

    Forward mode stops too: what is computed inside has no tangents.

    Parameters
    ----------
    mode : bool or callable, default True
        False makes the context do nothing but switch inference mode off inside; a function is decorated.

    Examples
    --------
    >>> import minitorch as torch
    >>> with torch.inference_mode():
    ...     y = torch.ones(2)
    >>> y.is_inference()
    True
    """

    def __new__(cls, mode: Any = True) -> Any:
        context = super().__new__(cls)
        if isinstance(mode, bool):
            return context
        context.__init__()  # type: ignore[misc]
        return context(mode)

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode
        self.entered: list[Any] = []

    def clone(self) -> inference_mode:
        context: inference_mode = inference_mode(self.mode)
        return context

    def __enter__(self) -> None:
        off = self.mode or (not inference_mode_on.get() and not grad_mode.get())
        forward = switch_tangents(not self.mode) if observers else None  # which stand among the observers
        self.entered.append((inference_mode_on.get(), grad_mode.get(), mode_place.get(), forward))
        inference_mode_on.set(self.mode)
        grad_mode.set(not off)
        if observers:
            self.note_place()
        if self.mode:
            observers.insert(0, inference_marks)

    def __exit__(self, *exc: object) -> None:
        inference, grad, place, forward = self.entered.pop()
        if forward is not None:
            switch_tangents(*forward)
        inference_mode_on.set(inference)
        grad_mode.set(grad)
        mode_place.set(place)
        if self.mode:
            observers.remove(inference_marks)


class InferenceMarks(Observer):
    """The observer of inference mode; what it does to new tensors is given by ``_views``, which knows their records."""

    mark: Callable[[Any], None]
    whole = True

    def active(self) -> bool:
        return inference_mode_on.get()

    def recorded(self, call: Any) -> None:
        for out in call.outputs:
            self.mark(out)


inference_marks = InferenceMarks()
