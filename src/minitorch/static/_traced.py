"""Record, then run: a function that is traced once and then runs as a program."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import _dtypes, _runtime
from .._modes import grad_on, inference_mode_on, observers
from .._pytree import tree_flatten, tree_unflatten
from .._runtime import silent
from .._tape import AccumulateGrad
from .._trace import Called, Graded, Ran, Slot, Trace, Written
from .._views import edits_of
from ._facts import flattened, writes_of
from ._memory import MemoryPlan, let_go, memory_plan
from ._surroundings import Surroundings, is_plain
from ._traced_code import PASSES, Plan, Refused, Writer, count_edits

_MOST = 16
"""How many variants there are of a function for one kind of arguments; beyond, it runs as it is written."""

_MOST_KINDS = 64
"""How many kinds of arguments a function is traced for."""

_TRIES = 3
"""How often a function is traced whose calls change what it reads, before it runs as it is written."""


class Variant:
    """One way through a function: its instructions, and when they are what the function does."""

    def __init__(
        self,
        trace: Trace,
        results: Sequence[Any],
        make: Callable[[list[Any]], Any],
        passes: Sequence[str],
        around: Surroundings,
    ) -> None:
        self.around = around
        slots = [trace.slot_of(t) for t in results]
        self._shows = _shows_outside(trace, results)
        self.plan = Plan(trace, slots, passes)
        self._writer = Writer(self.plan)
        self.source, self._program = self._writer.source, self._writer.program
        self.trace, self._slots, self._make = trace, slots, make
        self.required: set[Slot] = set()
        """The arguments that require grad."""
        self.given: Any = None
        self.returned: Any = None
        instructions = list(flattened(trace.instructions))
        self.captured = list(trace.captured.values())
        self._known = [(t._array, t._node is not None) for t in self.captured]
        leaves = [t._node for t in self.captured if t._node.__class__ is AccumulateGrad]
        self._hooks = [(leaf, leaf.hooks, leaf.post_hooks) for leaf in leaves]
        self._grads: list[tuple[Any, Any, int]] = []
        own = {id(t): i for i, t in enumerate(self.captured) if not around.names(t)}
        seen: set[int] = set()
        for graded in [i for i in instructions if isinstance(i, Graded)]:
            if id(graded.tensor) not in seen and not graded.cleared:
                self._grads.append((graded.tensor._node, graded.before, own.get(id(graded.before), -1)))
            seen.add(id(graded.tensor))
        places = {slot: ("argument", i) for i, slot in enumerate(trace.arguments)}
        places |= {slot: ("captured", i) for i, slot in enumerate(trace.captured)}
        self._edited = [place for slot, place in places.items() if slot in self._writer.edited]
        self._leads_back = not grad_on() or any([t._node is not None for t in results])
        self.recorded = any([t._node is not None for t in results]) and not any(map(self._trains, instructions))
        self._steps = any([isinstance(i, Ran) for i in self.plan.instructions])
        self._places = [places.get(slot) for slot in slots]
        let_go(trace)

    def _trains(self, instruction: Any) -> bool:
        """Whether an instruction belongs to a training step, whose results have no history."""
        if isinstance(instruction, Written):
            written = [self.trace.captured.get(slot) for slot in self.plan.family(instruction.target)]
            return any([t is not None and t.requires_grad for t in written])
        return isinstance(instruction, (Graded, Ran))

    def arrays(self) -> list[np.ndarray] | None:
        """The arrays of what was captured; None where something is not as it was."""
        if not self.around.unchanged():
            return None
        for node, before, place in self._grads:
            grad = node.grad
            if grad is not before and (place < 0 or grad is None):
                return None
            if place >= 0:  # an optimizer's zero_grad() may have let another tensor come to be the gradient
                self.captured[place] = grad
        for leaf, hooks, post_hooks in self._hooks:
            if leaf.hooks is not hooks or leaf.post_hooks is not post_hooks:
                return None
        found = []
        for tensor, (known, required) in zip(self.captured, self._known):
            array = tensor._array
            if array is not known and (
                array.shape != known.shape or array.dtype is not known.dtype or array.strides != known.strides
            ):
                return None
            if (tensor._node is not None) is not required:
                return None
            found.append(array)
        return found

    def run(self, tensors: Sequence[Any], captured: list[np.ndarray]) -> tuple[Any, ...] | None:
        """The results, in a tuple; None where a branch goes another way; () where the function itself is to be called:
        for the history of its results, for views of what is outside, or for an error, which it explains."""
        if self._shows or (self.recorded and grad_on()):
            return ()
        written = [tensors[i] if kind == "argument" else self.captured[i] for kind, i in self._edited]
        if any([(e := edits_of(t)).watchers is not None or e.inference or _is_computed(t) for t in written]):
            return ()
        arrays = [t._array for t in tensors]
        try:
            found = self._stepped(arrays, captured) if self._steps else silent(self._program, arrays, captured)
        except Exception as error:
            if self._can_begin_again(error):
                return ()
            count_edits({id(edits_of(t)): t for t in written}.values())
            error.add_note("It failed within a compiled program: what that had written before stays written.")
            raise
        if found is None:
            return None
        if written:
            count_edits({id(edits_of(t)): t for t in written}.values())
        made: dict[int, Any] = {}
        for array, place in zip(found, self._places):
            if id(array) not in made:
                made[id(array)] = self._wrapped(array, place, tensors)
        return (self._make([made[id(array)] for array in found]),)

    def _can_begin_again(self, error: Exception) -> bool:
        """Whether the program failed before it changed anything."""
        at = error.__traceback__
        while at is not None and at.tb_frame.f_code is not self._program.__code__:
            at = at.tb_next
        first = self._writer.first_effect
        return at is not None and (first is None or at.tb_lineno <= first)

    def _stepped(self, arrays: list[Any], captured: list[Any]) -> Any:
        """Run a program that calls others: those are called outside of the quiet context, as they may enter it."""
        program = self._program(arrays, captured)
        found = silent(next, program)
        while found.__class__ is tuple:
            function, given = found
            found = silent(program.send, function(*given))
        return found

    def _wrapped(self, array: np.ndarray, place: Any, tensors: Sequence[Any]) -> Any:
        if place is None:
            return _runtime.wrap(array)
        return tensors[place[1]] if place[0] == "argument" else self.captured[place[1]]

    def memory(self) -> MemoryPlan:
        """See ``Traced.memory_plan``."""
        required = {s for s, t in self.trace.captured.items() if t._node is not None} | self.required
        return memory_plan(self.plan, self._slots, required if self._leads_back else set())


class Kind:
    """What arguments, and modes, a variant ran with: whether others are alike is seen faster than a key is made of them."""

    def __init__(self, tensors: Sequence[Any]) -> None:
        arrays = [t._array for t in tensors]
        self.layouts = [(a.shape, a.dtype, a.strides) for a in arrays]
        self.modes = grad_on(), inference_mode_on.get(), _dtypes.default()
        self.plain = len({*map(id, arrays)}) == len(arrays) and all([t._node is None for t in tensors])

    def fits(self, args: Sequence[Any]) -> bool:
        """Whether these are alike; those that require grad, or are given twice, are not looked at."""
        if not self.plain or len(args) != len(self.layouts):
            return False
        before: Any = None
        for tensor, (shape, dtype, strides) in zip(args, self.layouts):
            if tensor.__class__ is not _runtime.Tensor or tensor._node is not None:
                return False
            array = tensor._array
            if array is before or array.dtype is not dtype or array.shape != shape or array.strides != strides:
                return False
            before = array
        if len(args) > 2 and len({id(t._array) for t in args}) != len(args):
            return False
        return (grad_on(), inference_mode_on.get(), _dtypes.default()) == self.modes


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
        self.function, self.passes, self._quiet = function, tuple(passes), quiet
        self.notes: list[str] = []
        self._variants: dict[Any, list[Variant]] = {}
        self._refused: dict[Any, str] = {}
        self._latest: tuple[Kind, Variant] | None = None
        self._name = getattr(function, "__name__", type(function).__name__)
        self._tries: dict[Any, int] = {}
        self._said_many = False
        functools.update_wrapper(self, function, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What the function gives for these arguments."""
        if observers:  # which are to see the operations themselves
            return self.function(*args, **kwargs)
        if self._latest is not None and not kwargs:
            kind, variant = self._latest
            captured = variant.arrays() if kind.fits(args) else None
            out = None if captured is None else variant.run(args, captured)
            if out is not None:
                return out[0] if out else self.function(*args, **kwargs)
        others: Sequence[Any] = ()
        if not kwargs and all([a.__class__ is _runtime.Tensor for a in args]):
            tensors: Any = args
            key = self._key(args, "")
        else:
            leaves, spec = tree_flatten((args, kwargs))
            tensors = [leaf for leaf in leaves if isinstance(leaf, _runtime.Tensor)]
            others = [leaf for leaf in leaves if not isinstance(leaf, _runtime.Tensor) and not is_plain(leaf)]
            key = self._key(leaves, repr(spec))
        variants = self._variants.get(key)
        for variant in variants or ():
            captured = variant.arrays()
            if captured is not None:
                out = variant.run(tensors, captured)
                if out is not None:
                    if tensors is args:
                        self._latest = Kind(tensors), variant
                    return out[0] if out else self.function(*args, **kwargs)
        if key in self._refused or (variants is None and self._many()):
            return self.function(*args, **kwargs)
        if variants is None and self._variants:
            self._note("arguments of other shapes, dtypes or values than before: traced anew")
        elif variants:
            self._note("a branch over a tensor's value, or something that the block uses, is another one: traced anew")
        return self._traced(key, tensors, others, args, kwargs)

    def _many(self) -> bool:
        """Whether there are so many kinds of arguments that no more are traced."""
        if len(self._variants) < _MOST_KINDS:
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
        around = Surroundings([self.function, *others], tensors)
        trace = Trace(tensors, lifts="kernels")
        trace.all_leaks = True
        with around:
            with trace:
                out = self.function(*args, **kwargs)
            reason = around.refused or around.why_not(trace)
        leaves, spec = tree_flatten(out)
        places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, _runtime.Tensor)]
        results = [leaves[i] for i in places]
        fixed = [None if i in places else leaf for i, leaf in enumerate(leaves)]

        single = out.__class__ is _runtime.Tensor

        def make(values: list[Any]) -> Any:
            if single:
                return values[0]
            filled = list(fixed)
            for place, value in zip(places, values):
                filled[place] = value
            return tree_unflatten(filled, spec)

        try:
            known = self._variants.setdefault(key, [])
            if len(known) >= _MOST:
                raise Refused(f"there are {_MOST} ways through it already; values that branch differ at each call")
            if strange := [
                type(leaf).__name__ for leaf in fixed if not (is_plain(leaf) or isinstance(leaf, np.generic))
            ]:
                kind = strange[0]
                raise Refused(
                    f"it returns a {kind} that would be the same one each time: return tensors, numbers, or lists, tuples "
                    f"and dicts of them, and make the {kind} of them outside"
                )
            if self._settled(key, reason, bool(around.refused)):
                drop_own_gradients(trace, results)
                variant = Variant(trace, results, make, self.passes, around)
                variant.given, variant.returned = (
                    _with_slots((args, kwargs)),
                    make(list(map(Slot, range(len(results))))),
                )
                variant.required = {s for s, t in zip(trace.arguments, tensors) if t._node is not None}
                known.append(variant)
        except Refused as error:
            self._refused[key] = str(error)
            self._note(f"it runs as it is written: {error}")
        return out

    def _settled(self, key: Any, reason: str, surely: bool) -> bool:
        """Whether the call left what it read as it was, and used only tensors that a later call finds, too.

        A first call may fill a cache, so it is looked at again at the next one.
        """
        self._tries[key] = self._tries.get(key, 0) + bool(reason)
        if reason and (surely or self._tries[key] == _TRIES):
            raise Refused(reason)
        return not reason

    def _key(self, leaves: Sequence[Any], spec: str) -> Any:
        """What a program is made for."""
        parts: list[Any] = [spec, grad_on(), inference_mode_on.get(), _dtypes.default()]
        seen: list[Any] = []
        for leaf in leaves:
            if isinstance(leaf, _runtime.Tensor):
                array, node = leaf._array, leaf._node
                parts += (array.shape, array.dtype, array.strides, node is not None, node.__class__ is AccumulateGrad)
                parts += [number for number, other in enumerate(seen) if other is array]
                seen.append(array)
            else:
                parts += (leaf.__class__, repr(leaf) if is_plain(leaf) else id(leaf))
        return tuple(parts)

    def _note(self, text: str) -> None:
        self.notes.append(text)
        if not self._quiet:
            print(f"{self._name}: {text}")

    # -- what there is -------------------------------------------------------------------------------------------------
    @property
    def variants(self) -> list[Variant]:
        """The programs, one for each kind of arguments and way through the function."""
        return [variant for variants in self._variants.values() for variant in variants]

    def __str__(self) -> str:
        return "\n\n".join([_text(variant) for variant in self.variants]) or f"{self._name}: not traced yet"

    def __repr__(self) -> str:
        return f"<traced {self._name}: {len(self.variants)} programs>"

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
        it is given others.

        Parameters
        ----------
        path : path-like
            Where: ``model.py`` gets its weights from ``model.npz``, which is written beside it.  Both take the place of files
            that are there, whole and only where all can be written.
        dynamic_axes : dict, optional
            For inputs, by name, the axes whose sizes may vary, as a dict from axis to a name for its size, or as a list of
            axes; axes of one name are of one size.  The function is then traced at further sizes of them, made of the last
            example.  What was written is run at these sizes, and at 1 and 0, before it is kept.

        Raises
        ------
        ValueError
            For another ending of the path than ``.py``, and for names of inputs and axes that are not there.
        RuntimeError
            Where nothing was traced, or something cannot be written, all of which the message names, with what to do: drawing
            random numbers, ``backward()``, an optimizer's step, writes into arguments or parameters; and where the function
            does other things at other sizes of *dynamic_axes*.

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
            raise RuntimeError(f"{self._name} was not traced yet: call it first")
        return self.variants[-1]

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
            Takes what the function takes and returns a tuple of gradients.
        """
        from .._differentiate import grad

        function = self.function

        def gradients(*args: Any, **kwargs: Any) -> tuple[Any, ...]:
            leaves, _ = tree_flatten((args, kwargs))
            wanted = [t for t in leaves if isinstance(t, _runtime.Tensor) and t.requires_grad]
            if not wanted:
                raise RuntimeError(
                    f"gradients of {self._name}: no argument requires grad: give one that does, x.requires_grad_(); for the "
                    "gradients of a module's parameters, trace a function that takes them: "
                    "lambda p, x: torch.func.functional_call(module, p, (x,)), called with dict(module.named_parameters())"
                )
            results = [t for t in tree_flatten(function(*args, **kwargs))[0] if isinstance(t, _runtime.Tensor)]
            return tuple(grad([t.sum() for t in results if t.requires_grad], wanted, allow_unused=True))

        gradients.__name__ = f"gradients of {self._name}"
        return Traced(gradients, self.passes, self._quiet)


def _with_slots(given: Any) -> Any:
    """Arguments with a slot in the place of each tensor."""
    leaves, spec = tree_flatten(given)
    count = iter(range(len(leaves)))
    return tree_unflatten([Slot(next(count)) if isinstance(x, _runtime.Tensor) else x for x in leaves], spec)


def _is_computed(tensor: Any) -> bool:
    """Whether a tensor has a history, to which a write into it belongs."""
    return tensor._node is not None and tensor._node.__class__ is not AccumulateGrad


def _shows_outside(trace: Trace, results: Sequence[Any]) -> bool:
    """Whether a result shares memory with what was there before, and is not that itself."""
    outside = {*trace.arguments, *trace.captured}
    memory = {trace._owners[slot] for slot in outside}
    slots = [trace.slot_of(t) for t in results if t._array.size]
    return any([slot not in outside and trace._owners[slot] in memory for slot in slots])


def drop_own_gradients(trace: Trace, results: Sequence[Any]) -> None:
    """Leave out gradients of leaves that the block made; refuse those that the caller sees, on other tensors each time."""
    seen = {*trace.arguments, *[trace.slot_of(t) for t in results]} - {*trace.captured}
    kept: list[Any] = []
    for instruction in trace.instructions:
        slot = trace._slots.get(id(instruction.tensor._array)) if isinstance(instruction, Graded) else None
        if slot in seen:
            raise Refused(
                "an argument, or a result, gets a gradient: detach() it, and return what torch.autograd.grad gives"
            )
        if slot is None or slot in trace.captured:
            kept.append(instruction)
    trace.instructions = kept


def _text(variant: Variant) -> str:
    """A program's instructions, with shapes and dtypes of what each gives."""
    lines = []
    for slot, tensor in variant.trace.captured.items():
        lines.append(f"{slot!r} captured, of shape {list(tensor.shape)}")
    for instruction in variant.plan.instructions:
        made = [variant.trace.arrays[s] for s in writes_of(instruction)] if isinstance(instruction, Called) else []
        said = ", ".join([f"{a.dtype.name}{list(a.shape)}" for a in made])
        lines.append(f"{instruction!r}" + f"  # {said}" * bool(said))
    lines.append(f"return {', '.join([repr(s) for s in variant.plan.results])}")
    return "\n".join(lines)


def trace(function: Callable[..., Any], *examples: Any, passes: Sequence[str] = PASSES, quiet: bool = False) -> Traced:
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
    *examples
        Arguments.
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
    traced(*examples)
    return traced


def compile(function: Callable[..., Any], *, passes: Sequence[str] = PASSES, quiet: bool = False) -> Traced:
    """A function or a model that becomes a program at its first call: a whole training step, say.

    A step that computes the loss, calls ``backward()`` and the optimizer's ``step()`` gives bit for bit what it gives as it
    is written; the tensors that it returns have no history.  What cannot be written down runs as it is written, for the
    reason in ``notes``: a value that becomes Python's (``loss.item()``) after something was written, or an optimizer that is
    given a closure.

    Parameters
    ----------
    function, passes, quiet
        As for `trace`.

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
    return Traced(function, passes, quiet)
