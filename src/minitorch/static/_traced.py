"""Record, then run: a function that is traced once and then runs as a program."""

from __future__ import annotations

import functools
import sys
import types
import weakref
from collections.abc import Callable, Collection, Sequence
from typing import Any, overload

import numpy as np

from .. import _runtime
from .._differentiate import grad
from .._modes import enable_grad, inference_mode_on, observers
from .._pytree import tree_flatten, tree_unflatten
from .._trace_instructions import Graded, Left, Ran, Slot, Written
from ..nn.modules.module import Module
from ._facts import draws, flattened
from ._guards import arrays_if_alike
from ._kinds import difference, facts_of, key_of
from ._libraries import of_kind
from ._memory import MemoryPlan
from ._returned import Recording, Returned
from ._stands import an_object, flat, form, is_plain, weakly
from ._surroundings import tells_memory_apart
from ._text import nearest
from ._told import Again
from ._traced_code import PASSES, Refused
from ._uses import by_position, what_is_read
from ._variant import Variant, drop_own_gradients, text_of
from ._watch import TRIES, Watch

_MOST = 16
"""How many variants there are of a function for one kind of arguments; beyond, it runs as it is written."""

_MOST_KINDS = 64
"""How many kinds of arguments a function is traced for."""

_WORTH = 4
"""How often programs have to have run, on average, for another one to take the place of the oldest."""


class Traced:
    """A function that is traced once for each kind of arguments, and then runs as a program; see `trace`.

    Attributes
    ----------
    function : callable
        What was traced.
    notes : list of str
        Why it was traced anew, or runs as it is written.
    """

    def __init__(self, function: Callable[..., Any], passes: Sequence[str] = PASSES, quiet: bool = False) -> None:
        if not callable(function) or isinstance(function, _runtime.Tensor):
            raise TypeError(f"a function or a model is compiled or traced, not {type(function).__name__}")
        check_passes(passes)
        self.function, self.passes, self._quiet = function, tuple(passes), quiet
        self._recorded = function
        self._met: list[Any] = []
        self._may_repeat = False  # whether the last call is not known yet, and changed nothing
        self.notes: list[str] = []
        self._variants: dict[Any, list[Variant]] = {}
        self._silent: dict[Any, list[Variant]] = {}  # what it does besides printing, for `to_python`
        self._refused: dict[Any, str] = {}
        self._latest: tuple[Callable[[Sequence[Any]], list[Any] | None], Variant] | None = None
        self._name = getattr(function, "__name__", type(function).__name__)
        self._tries: dict[Any, int] = {}
        self._unsettled = ""  # why the last call that was traced gave no program
        self._objects: dict[int, tuple[Any, set[Any]]] = {}
        """By id, the arguments that are other objects than tensors: how they are held, and the keys that have their ids."""
        self._examples: Any = None  # what `trace` was given
        self._in_vain = 0  # kinds of arguments with an object that was gone before its programs had run often
        self._ran: dict[Any, int] = {}
        self._said_many = False
        self._said: set[Any] = set()  # what notes that were printed are about
        self._kinds: dict[Any, Any] = {}  # by key, what counts of the arguments
        functools.update_wrapper(self, function, updated=())
        self._own = frozenset([*vars(self), "_own"])

    def __getattr__(self, name: str) -> Any:
        """A model's attributes and methods, such as its parameters."""
        if name.startswith("__") or "function" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        found = getattr(self.function, name)
        if not isinstance(found, types.MethodType) or found.__self__ is not self.function or not hasattr(Module, name):
            return found

        @functools.wraps(found)
        def method(*args: Any, **kwargs: Any) -> Any:
            out = found(*args, **kwargs)
            return self if out is self.function else out  # as of eval() and to()

        return method

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "function" and "_own" in self.__dict__:
            raise AttributeError("what is compiled stays the function that it is: compile the other one")
        if self._hands_on(name):
            setattr(self.function, name, value)
        else:
            super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        if self._hands_on(name):
            delattr(self.function, name)
        else:
            super().__delattr__(name)

    def _hands_on(self, name: str) -> bool:
        """Whether an attribute is the model's."""
        own = self.__dict__
        return "_own" in own and name not in own and isinstance(own["function"], Module)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """The model's class, so that a compiled model is a module wherever one is asked for, as a part of another one, say."""
        function = self.__dict__.get("function")
        return type(function) if isinstance(function, Module) else Traced

    def __reduce_ex__(self, protocol: Any) -> Any:
        """A copy, or what is unpickled, begins without programs; a decorated function of a module is known by its name."""
        name = getattr(self, "__qualname__", "")
        found: Any = sys.modules.get(self.__module__ or "")
        for part in name.split("."):
            found = getattr(found, part, None)
        return name if found is self else (Traced, (self.function, self.passes, self._quiet))

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """As a method: with the object as the first argument."""
        binds = instance is not None and isinstance(self.function, types.FunctionType)
        return types.MethodType(self, instance) if binds else self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What the function gives for these arguments."""
        if observers and not all([observer.whole for observer in observers]):
            return self.function(*args, **kwargs)
        latest = self._latest
        if latest is not None and not kwargs:
            arrays_of, variant = latest
            arrays = arrays_of(args)
            if arrays is not None and (captured := variant.arrays()) is not None:
                out = variant.run(args, arrays, captured)
                if out is not None:
                    return out[0] if out else self.function(*args, **kwargs)
        others: list[Any] = []
        if kwargs:
            args, kwargs = by_position(self.function, args, kwargs)  # type: ignore[assignment]
        read: Any = (args, kwargs)
        if not kwargs and all([type(a) is _runtime.Tensor for a in args]):
            tensors: Any = args
            key = key_of(args, (), others)
        else:
            read = what_is_read(self.function, args, kwargs)
            leaves, spec = flat(read)
            tensors = [leaf for leaf in leaves if of_kind(leaf, _runtime.Tensor)]
            key = key_of(leaves, form(spec, others), others)
        variants, as_written = self._variants.get(key), False
        for variant in variants or ():
            captured = variant.arrays()
            out = None
            if captured is not None:
                out = variant.run(tensors, [t._array for t in tensors], captured)
            if out:
                if tensors is args:
                    self._latest = arrays_if_alike(tensors), variant
                return out[0]
            as_written = as_written or out is not None
        if as_written:
            return self.function(*args, **kwargs)
        if key in self._refused or (variants is None and self._many()):
            return self.function(*args, **kwargs)
        facts = facts_of(self.function, *read)
        if variants is None and (self._variants or self._in_vain):
            self._note(*difference(key, facts, self._kinds, self._variants))
        elif variants:
            self._note(f"{variants[-1].difference()}: traced anew")
        self._kinds[key] = facts
        if len(self._kinds) > 2 * _MOST_KINDS:  # those of objects that are gone
            self._kinds.pop(next(iter(self._kinds)))
        return self._traced(key, tensors, others, args, kwargs)

    def _many(self) -> bool:
        """Whether there are so many kinds of arguments that no more are traced."""
        if len(self._variants) + self._in_vain < _MOST_KINDS:
            return False
        if not self._said_many:
            self._said_many = True
            self._note(
                f"there are programs for {_MOST_KINDS} kinds of arguments already; others run as the function is written: "
                "pass numbers that differ at each call as tensors"
            )
        return True

    def _traced(self, key: Any, tensors: list[Any], others: Sequence[Any], args: Any, kwargs: Any) -> Any:
        """Run the function and write down what it does."""
        for value in others:
            self._hold(value, key)
        watch, trace = Watch(self.function, others, tensors, self._met), Recording(tensors, lifts="kernels")
        out = watch.call(trace, args, kwargs)
        reason = watch.reason or self._meets(watch.unseen)
        written = [i for i in flattened(trace.instructions) if isinstance(i, (Written, Graded, Ran)) or draws(i)]
        self._may_repeat = bool(watch.unseen and not written)
        returned = Returned(trace, out)
        results = returned.tensors(out)
        try:
            known = self._variants.setdefault(key, [])
            _make_room(known)
            _check_results(trace, returned.fixed, results)
            ran = sum([variant.runs for variant in known])
            if ran - self._ran.get(key, 0) >= _WORTH:  # since it was looked at last
                self._tries[key] = 0
            self._ran[key] = ran
            if self._settled(key, reason or watch.changed, watch.surely):
                if tells_memory_apart(trace, results):
                    raise Refused(
                        "`.data = ...` gives a tensor other memory, and what it had is used after that: write with copy_()"
                    )
                drop_own_gradients(trace, results, watch.around.tensors)
                variant = Variant(trace, results, returned.made, self.passes, watch.read)
                variant.given, variant.returned = (
                    _with_slots((args, kwargs)),
                    returned.made(list(map(Slot, range(len(results)))), {}),
                )
                if watch.spoken:
                    if not any([i.kind == "print" for i in flattened(trace.instructions) if isinstance(i, Left)]):
                        self._silent[key] = [variant]
                    raise Refused(watch.spoken)
                known.append(variant)
                if (instead := variant.instead()) and instead not in self.notes:
                    self._note(instead)
        except Refused as error:
            self._refused[key] = str(error)
            self._note(f"it runs as it is written: {error}")
        return out

    def _hold(self, value: Any, key: Any) -> None:
        """An argument that is no tensor is known by its id.  Its programs go with it; what cannot be referred to weakly
        stays."""
        if id(value) not in self._objects:
            own, number = weakref.ref(self), id(value)

            def gone(_: Any) -> None:
                if (traced := own()) is not None:
                    for known in traced._objects.pop(number)[1]:
                        variants = traced._variants.pop(known, [])
                        traced._in_vain += sum([variant.runs for variant in variants]) < _WORTH
                        for table in (traced._refused, traced._tries, traced._ran, traced._silent):
                            table.pop(known, None)

            self._objects[number] = weakly(value, gone) or value, set()
        self._objects[id(value)][1].add(key)

    def _meets(self, unseen: Sequence[Any]) -> str:
        """Note functions that no name in the code had led to, by ``getattr`` of a computed name, say, and what libraries gave:
        what these read is looked at from the next call on."""
        self._met += unseen
        if given := [call for call in unseen if isinstance(call, Again)]:
            return f"it calls {given[0].path}, which gives an object: read that outside"
        called = [f.__qualname__ for f in unseen if isinstance(f, types.FunctionType)]
        return f"it calls {called[0]}, which no name in its code leads to: use its name" if called else ""

    def _settled(self, key: Any, reason: str, surely: bool) -> bool:
        """Whether the call left what it read as it was, and used only tensors that a later call finds, too.

        A first call may fill a cache, so it is looked at again at the next one.
        """
        self._tries[key] = self._tries.get(key, 0) + 1 if reason else 0
        self._unsettled = reason
        if reason and (surely or self._tries[key] == TRIES):
            raise Refused(reason)
        return not reason

    def _note(self, text: str, about: Any = None) -> None:
        """Keep a note, if there is one, and print it if none about the same has been."""
        if not text:
            return
        self.notes.append(text)
        if not self._quiet and (about or text) not in self._said:
            print(f"{self._name}: {text}")
        self._said.add(about or text)

    # -- what there is -------------------------------------------------------------------------------------------------
    @property
    def variants(self) -> list[Variant]:
        """The programs, one for each kind of arguments and way through the function."""
        return [variant for variants in self._variants.values() for variant in variants]

    def __str__(self) -> str:
        return "\n\n".join([text_of(variant) for variant in self.variants]) or f"{self._name}: {self._none_yet()}"

    def _none_yet(self) -> str:
        return f"no program, {self.why_none()}" if self.notes or self._unsettled else "not traced yet"

    def __repr__(self) -> str:
        count = len(self.variants)
        return f"<traced {self._name}: {count} program{'s' * (count != 1)}>"

    def explain_passes(self) -> str:
        """The instructions of the last program as they were traced, and after each pass that changed them.

        Examples
        --------
        >>> import minitorch as torch
        >>> from minitorch import static
        >>> print(static.trace(lambda x: x.exp() * 1 + x.exp(), torch.ones(2)).explain_passes())
        as traced: 4 instructions
            %1 = exp(%0)
            %2 = mul(%1, 1.0)
            %3 = exp(%0)
            %4 = add(%2, %3)
        no-ops: 4 -> 3 instructions
            %1 = exp(%0)
            %3 = exp(%0)
            %4 = add(%1, %3)
        common: 3 -> 2 instructions
            %1 = exp(%0)
            %4 = add(%1, %1)
        reuse: 2 -> 2 instructions
            %1 = exp(%0)
            %4 = add(%1, %1)  # into %1
        """
        return self._last().plan.explained()

    def to_python(self, path: Any, dynamic_axes: Any = None) -> None:
        '''Write the programs as a Python module that imports NumPy alone, with the weights beside it.

        The module has one function, named as the traced function is (``forward`` where that is a model), that takes and returns
        ndarrays and gives the same bits.  It is made for the shapes and dtypes that there are programs for, and says so where
        it is given others.  Its parameters are those of the traced function, with their kinds and defaults; numbers, texts
        and lists of them must be what they were when it was traced.  What has no text, such as a model, is left out.

        Parameters
        ----------
        path : path-like
            Where: ``model.py`` gets its weights from ``model.npz``, which is written beside it.  Both take the place of files
            that are there, whole and only where all can be written.
        dynamic_axes : dict, optional
            For inputs, by name, the axes whose sizes may vary, as a dict from axis to a name for its size, or as a list of
            axes; axes of one name are of one size.  The function is then traced at further sizes of them, made of the last
            example of each way that was traced.  What was written is run at these sizes, and at 1 and 0, before it is kept.

        Raises
        ------
        ValueError
            For another ending of the path than ``.py``, and for names of inputs and axes that are not there.
        RuntimeError
            Where nothing was traced, or something cannot be written, all of which the message names, with what to do: drawing
            random numbers, ``backward()``, an optimizer's step, writes into arguments or parameters; and where the function
            does other things at other sizes of *dynamic_axes*.

        Warns
        -----
        UserWarning
            Where the function prints, warns or writes a log: the module does not.  Where a way that was traced before the last
            cannot be written for other sizes of *dynamic_axes*: it is written for its own.

        Examples
        --------
        >>> import os, tempfile
        >>> import minitorch as torch
        >>> from minitorch import static
        >>> program = static.trace(lambda x: (x * 2 + 1).relu(), torch.tensor([1.0, -1.0]))
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     program.to_python(os.path.join(directory, "doubled.py"))
        ...     with open(os.path.join(directory, "doubled.py")) as file:
        ...         text = file.read()
        >>> print(text[text.index("def forward") : text.index("class OtherInputs")].strip())
        def forward(x):
            """From x float32[2] to float32[2]."""
            x = _given(x, "x", (2,), "float32")
            mul = x * 2.0  # float32[2]
            add = mul + 1.0  # float32[2]
            relu = np.maximum(add, 0.0)  # float32[2]
            return relu
        '''
        from ._written_module import write

        write(self, path, dynamic_axes)

    def _last(self) -> Variant:
        if not self.variants:
            raise RuntimeError(f"there is no program of {self._name}: {self.why_none()}")
        return self.variants[-1]

    def why_none(self) -> str:
        """Why there is no program, in words."""
        if self.notes:
            return self.notes[-1]
        if self._unsettled:
            return f"{self._unsettled} (if that only filled a cache, call it once more)"
        return "it was not traced yet: call it on an example first"

    def memory_plan(self) -> MemoryPlan:
        """The most bytes that the last program allocates at a time, with and without its passes, and that eager code does.

        Values count until their last use; a variable of the function that lives longer holds more in eager code.  What
        kernels need besides their results is measured on arrays of zeros that lie in memory as theirs do.

        Examples
        --------
        >>> import minitorch as torch
        >>> from minitorch import nn, static
        >>> model = nn.Sequential(*[nn.Sequential(nn.Linear(64, 64), nn.Tanh()) for _ in range(20)])
        >>> program = static.compile(model)
        >>> with torch.no_grad():
        ...     y = program(torch.ones(64, 64))
        >>> [round(size / y.nbytes) for size in program.memory_plan()]  # history, eager, freed, reused
        [21, 3, 3, 3]
        """
        return self._last().memory()

    def gradients(self) -> Traced:
        """The program of the gradients: of the sum of the results, by those arguments that require grad.

        Returns
        -------
        Traced
            Takes what the function takes and returns a tuple of gradients, None for an argument that the results do not depend
            on.  Its own ``gradients()`` are those of the gradients' sum, and so on.

        Examples
        --------
        >>> import minitorch as torch
        >>> from minitorch import static
        >>> cubed = static.compile(lambda x: x**3)
        >>> x = torch.tensor(2.0, requires_grad=True)
        >>> cubed.gradients()(x), cubed.gradients().gradients()(x)
        ((tensor(12.),), (tensor(12.),))
        """
        made = Traced(_gradients_of(self._recorded, self._name, False), self.passes, self._quiet)
        made._recorded = _gradients_of(self._recorded, self._name, True)
        return made


def _gradients_of(function: Callable[..., Any], name: str, recorded: bool) -> Callable[..., Any]:
    """A function of the gradients, which have a history themselves where they are *recorded*."""

    def gradients(*args: Any, **kwargs: Any) -> tuple[Any, ...]:
        leaves, _ = tree_flatten((args, kwargs))
        wanted = [t for t in leaves if isinstance(t, _runtime.Tensor) and t.requires_grad]
        if not wanted:
            raise RuntimeError(
                f"gradients of {name}: no argument requires grad: give one that does, x.requires_grad_(); for the "
                "gradients of a module's parameters, trace a function that takes them: "
                "lambda p, x: torch.func.functional_call(module, p, (x,)), called with dict(module.named_parameters())"
            )
        with enable_grad():
            results = [t for t in tree_flatten(function(*args, **kwargs))[0] if isinstance(t, _runtime.Tensor)]
            total = [t.sum() for t in results if t.requires_grad]
            return tuple(grad(total, wanted, create_graph=recorded, allow_unused=True))

    gradients.__name__ = f"gradients of {name}"
    return gradients


def _make_room(known: list[Variant]) -> None:
    """Where there are as many ways through a function as are kept: leave out the oldest, if they have run often enough."""
    if len(known) < _MOST:
        return
    if sum([variant.runs for variant in known]) < _WORTH * len(known):
        raise Refused(
            f"there are {_MOST} ways through it already, as {known[-1].difference()} at almost each call: a number that "
            "changes can be a tensor, written with fill_() or copy_()"
        )
    known.pop(0)


def _check_results(trace: Recording, others: Sequence[Any], tensors: Sequence[Any]) -> None:
    """Refuse results that a program does not make."""
    if strange := [leaf for leaf in others if not (is_plain(leaf) or of_kind(leaf, np.generic))]:
        raise Refused(
            f"it returns {an_object(strange[0])} that would be the same one each time: return tensors, numbers, or lists, "
            f"tuples and dicts of them, and make the {type(strange[0]).__name__} of them outside"
        )
    if any([t.is_inference() for t in tensors]) and not inference_mode_on.get():
        raise Refused("it returns tensors of inference mode, which is off outside: have it on outside")
    if any([vars(t) for t in tensors if trace.slot_of(t) not in (*trace.arguments, *trace.captured)]):
        raise Refused("it returns a tensor with an attribute of its own: set that outside")


def _with_slots(given: Any) -> Any:
    """Arguments with a slot in the place of each tensor; objects that have a state are not kept alive."""
    leaves, spec = flat(given)
    count = iter(range(len(leaves)))
    loose = [x if is_plain(x) else weakly(x) or x for x in leaves]
    slotted = [Slot(next(count)) if of_kind(x, _runtime.Tensor) else y for x, y in zip(leaves, loose)]
    return tree_unflatten(slotted, spec)


def check_passes(passes: Sequence[str]) -> None:
    """Refuse what are no names of passes."""
    if isinstance(passes, str) or not isinstance(passes, Collection):
        example = passes if isinstance(passes, str) else PASSES[-1]
        raise TypeError(f"passes must be a list of names, such as passes=[{example!r}], not {type(passes).__name__}")
    if unknown := [name for name in passes if name not in PASSES]:
        said = nearest(str(unknown[0]), PASSES) or f"; there are {', '.join(map(repr, PASSES))}"
        raise ValueError(f"passes: there is none called {unknown[0]!r}{said}")


def trace(
    function: Callable[..., Any], *examples: Any, passes: Sequence[str] = PASSES, quiet: bool = False, **keywords: Any
) -> Traced:
    """Run a function once on examples, write down what it does, and run that from then on.

    A program runs the kernels alone: no tensors are made between them, and no history.  It is made for the shapes and dtypes
    of the arguments, for the way that Python branches over tensors' values went, and for what the function reads by name:
    variables, globals, attributes, items.  For others the function is traced anew, which a printed note says.  Parameters
    stay live, random numbers are drawn afresh, writes are writes.  Where gradients are to go back through the results, or
    something observes operations, the function itself is called.

    Parameters
    ----------
    function : callable
        Of tensors, numbers, and lists, tuples and dicts of them.  If it changes more than tensors (a counter, a list), reads
        an iterator or prints, it runs as it is written, for the reason in ``notes``.
    *examples, **keywords
        Arguments; they are kept, for ``to_python`` with other sizes.
    passes : sequence of str
        What is done to the instructions: see ``static.PASSES``; by default all.
    quiet : bool
        Whether notes are only kept in ``notes``.

    Returns
    -------
    Traced
        Called as the function is; ``print`` shows its instructions.

    Examples
    --------
    >>> import minitorch as torch
    >>> from minitorch import static
    >>> program = static.trace(lambda x: (x * 2 + 1).relu(), torch.tensor([1.0, -1.0]))
    >>> program(torch.tensor([-3.0, 2.0]))
    tensor([0., 5.])
    >>> print(program)
    %1 = mul(%0, 2.0)  # float32[2]
    %2 = add(%1, 1.0)  # float32[2]
    %3 = relu(%2)  # float32[2]
    return %3
    """
    traced = Traced(function, passes, quiet)
    traced(*examples, **keywords)
    if traced._may_repeat:  # it calls functions that are known by now
        traced(*examples, **keywords)
    traced._examples = examples, keywords
    return traced


@overload
def compile(function: Callable[..., Any], *, passes: Sequence[str] = ..., quiet: bool = ...) -> Traced: ...
@overload
def compile(*, passes: Sequence[str] = ..., quiet: bool = ...) -> Callable[[Callable[..., Any]], Traced]: ...
def compile(function: Any = None, *, passes: Sequence[str] = PASSES, quiet: bool = False) -> Any:
    """A function or a model that becomes a program at its first call: a whole training step, say.

    A step that computes the loss, calls ``backward()`` and the optimizer's ``step()`` gives bit for bit what it gives as it
    is written.  Tensors that it returns, and through whose history its ``backward()`` has gone, require grad as they do in
    eager code, where to go through it again is an error, too.  Where another one has a history, the function itself is
    called.  What cannot be written down runs as it is written, for the reason in ``notes``: a number (``loss.item()``) that is
    used, not only returned, after something was written, or an optimizer that is given a closure.

    Parameters
    ----------
    function, passes, quiet
        As for `trace`.  Without a function, ``compile(quiet=True)`` is a decorator.  A method that is compiled in its class
        takes its object, for each of which there is a program.

    Raises
    ------
    TypeError
        For what is no function or model, and passes that are no list.
    ValueError
        For a pass that there is not.

    Examples
    --------
    >>> import minitorch as torch
    >>> from minitorch import static
    >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = torch.optim.SGD([w], lr=0.1)
    >>> @static.compile
    ... def step(x):
    ...     optimizer.zero_grad()
    ...     loss = (w * x).sum()
    ...     loss.backward()
    ...     optimizer.step()
    ...     return loss
    >>> x = torch.tensor([1.0, 1.0])
    >>> [round(step(x).item(), 4) for _ in range(3)]
    [3.0, 2.8, 2.6]
    """
    if function is None:
        check_passes(passes)
        return functools.partial(compile, passes=passes, quiet=quiet)
    return Traced(function, passes, quiet)
