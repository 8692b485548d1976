"""The base of optimizers whose rule treats every element alike: they run it on flat arrays.

A NumPy call costs about as much as updating a thousand elements.  So small parameters are taken together: their
gradients are gathered into one flat array, the rule runs once for all of them, on state that lies flat too, and what it
gives is subtracted from each parameter.  Large parameters are updated block by block, so that what the rule touches
stays in the processor's cache.  A parameter's own memory is never moved.  See docs/design/08-modules-and-optimizers.md.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Collection
from operator import is_
from typing import Any

import numpy as np

from .. import _dtypes, _runtime
from .._modes import inference_mode_on, observers
from .._tape import AccumulateGrad, next_position
from .._views import INFERENCE_WRITE, Edits, edits_of, tell_edit
from .optimizer import Optimizer, evaluated

BLOCK = 1 << 16
"""Elements that are updated at a time."""
WORTH_A_CALL = 1024
"""Gathering so many elements costs as much as a NumPy call."""


class ElementwiseOptimizer(Optimizer):
    """An optimizer that changes each element by what its own gradient and state tell.

    A subclass says what it remembers (``state_names``) and how to change a block (``rule``).  Weight decay that is
    added to the gradient, and ``maximize``, are taken care of before the rule.
    """

    counters: tuple[str, ...] = ("step",)
    """The names of the numbers that are kept for each parameter; ``advance`` brings them up to date."""

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        if defaults.get("differentiable") and defaults.get("fused"):
            raise RuntimeError("`fused` does not support `differentiable`")
        if defaults.get("differentiable"):
            raise RuntimeError(
                f"{type(self).__name__}: differentiable=True is not supported; to differentiate through a step, "
                "compute new tensors from the parameters and their gradients, and use torch.func.functional_call"
            )
        if defaults.get("fused") and defaults.get("foreach"):
            raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
        self._plans: dict[int, Plan] = {}
        super().__init__(params, defaults)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name, default in self.defaults.items():
                group.setdefault(name, default)
        self._plans = {}

    def state_names(self, group: dict[str, Any]) -> tuple[str, ...]:
        """The names of the arrays that are kept for each parameter."""
        raise NotImplementedError

    def initial(self, group: dict[str, Any], name: str) -> float:
        """What a counter, or each element of an array of ``state_names``, starts from."""
        return 0.0

    def advance(self, group: dict[str, Any], counters: dict[str, np.ndarray]) -> Any:
        """Bring the counters up to date before an update; the rule finds what this returns as ``block.now``.

        By default that is the number of the update, from 1.
        """
        counters["step"] += 1
        return counters["step"].item(0)

    def rule(self, group: dict[str, Any], block: Block, gradient: np.ndarray, values: np.ndarray | None) -> None:
        """Update ``block.state`` and write into ``block.change`` what is to be subtracted from the parameters.

        *gradient* is not to be written; *values* are the parameters where ``reads_values`` said so.
        """
        raise NotImplementedError

    def factor(self, group: dict[str, Any]) -> float | None:
        """What the rule multiplies gradients with, where it does nothing else; None where it does more."""
        return None

    def reads_values(self, group: dict[str, Any]) -> bool:
        """Whether the rule needs the parameters' values."""
        return bool(group["weight_decay"])

    def coupled_decay(self, group: dict[str, Any]) -> float:
        """The weight decay that is added to the gradient."""
        return float(group["weight_decay"])

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change all parameters that have a gradient.

        Parameters
        ----------
        closure : callable, optional
            Computes the loss anew, calls ``backward()`` and returns the loss, which the step returns.
        """
        loss = evaluated(closure)
        for number, group in enumerate(self.param_groups):
            plan, gradients = self._plans.get(number), None
            if plan is not None and not group.get("capturable"):
                gradients = plan.gradients(group["params"], self.state_names(group), self.state)
            if plan is None or gradients is None:
                plan, gradients = self._planned(number, group)
            if plan is not None:
                plan.note_edits()
                if plan.states:
                    _runtime.silent(undisturbed, plan.run, self, group, gradients)
                else:
                    _runtime.silent(plan.run, self, group, gradients)
        return loss

    def _planned(self, number: int, group: dict[str, Any]) -> tuple[Plan | None, list[np.ndarray]]:
        """A new plan for a group, and the gradients to begin with; no plan where there are none."""
        given = [(param, grad) for param in group["params"] if (grad := gradient_of(param)) is not None]
        if not given:
            return None, []
        if group.get("capturable"):
            raise AssertionError(
                f"{type(self).__name__}.step(): If capturable=True, params and state_steps must be on supported "
                "devices: ['cuda', 'xpu', 'hpu', 'privateuseone', 'xla']; set capturable=False"
            )
        params, gradients = [param for param, _ in given], [grad._array for _, grad in given]
        check_gradients(params, gradients)
        plan = self._plans[number] = Plan(self, group, params)
        return plan, gradients


def gradient_of(param: Any) -> Any:
    """A parameter's gradient; that of a leaf is read where it stands, which is quicker."""
    node = param._node
    return node.grad if node.__class__ is AccumulateGrad else param.grad


class Plan:
    """How a group's parameters with gradients are updated: made once, used as long as nothing is moved or replaced."""

    __slots__ = ("arrays", "buckets", "edits", "entries", "everyone", "names", "params", "states")

    def __init__(self, optimizer: ElementwiseOptimizer, group: dict[str, Any], params: list[Any]) -> None:
        self.params, self.names = params, optimizer.state_names(group)
        self.arrays = [param._array for param in params]
        with_gradients = dict(zip(map(id, params), self.arrays))
        self.everyone = [(param, with_gradients.get(id(param))) for param in group["params"]]
        self.edits: list[Edits] = [edits_of(param) for param in params]
        if any([edits.inference for edits in self.edits]) and not inference_mode_on.get():
            raise RuntimeError(INFERENCE_WRITE)
        kept, state = (*optimizer.counters, *self.names), optimizer.state
        starts = {name: optimizer.initial(group, name) for name in kept}
        groups = divided(params, optimizer.counters, starts, state)
        scratch = {
            dtype: np.empty((5, room(groups, self.arrays, dtype)), dtype) for dtype in {a.dtype for a in self.arrays}
        }
        self.buckets = [
            Bucket(members, [params[i] for i in members], optimizer.counters, starts, state, scratch)
            for members in groups
        ]
        self.states = [state[param] for param in params] if kept else []
        self.entries = [(s, name, s[name], s[name]._array) for s in self.states for name in kept]

    def gradients(self, params: list[Any], names: tuple[str, ...], state: dict[Any, Any]) -> list[np.ndarray] | None:
        """The gradients of a group's parameters; None where not the same ones have some, or where their memory or their state
        are not those that the plan was made for."""
        if len(params) != len(self.everyone) or names != self.names:
            return None
        found = []
        for param, (known, array) in zip(params, self.everyone):
            node = param._node
            grad = node.grad if node.__class__ is AccumulateGrad else param.grad
            if param is not known or (None if grad is None else param._array) is not array:
                return None
            if grad is not None:
                found.append(grad._array)
        if self.states and not all(map(is_, map(state.get, self.params), self.states)):
            return None
        for entries, name, tensor, array in self.entries:
            if entries.get(name) is not tensor or tensor._array is not array:
                return None
        return found

    def note_edits(self) -> None:
        """Note that all parameters are about to be written: ``_views.edited`` for many at once."""
        if observers:
            for param in self.params:
                tell_edit(param)
        position = next_position()
        for edits in self.edits:
            if edits.watchers is not None:
                for watcher in tuple(edits.watchers):
                    watcher.about_to_be_written(None)
                edits.watchers = None
            edits.count += 1
            edits.position = position

    def run(self, optimizer: ElementwiseOptimizer, group: dict[str, Any], gradients: list[np.ndarray]) -> None:
        """Update everything."""
        reads, decay, maximize = optimizer.reads_values(group), optimizer.coupled_decay(group), group["maximize"]
        for bucket in self.buckets:
            if bucket.changes and (factor := optimizer.factor(group)) is not None:
                bucket.subtract(gradients, -factor if maximize else factor)
                continue
            gathered = bucket.gathered(gradients, bucket.gradient, bucket.gradient_bytes)
            values = bucket.gathered(self.arrays, bucket.values, bucket.value_bytes) if reads else None
            now = optimizer.advance(group, bucket.counters) if bucket.counters else None
            for block in bucket.blocks:
                block.now = now
                gradient = gathered if block.span is None else gathered[block.span]
                value = values if values is None or block.span is None else values[block.span]
                if decay and value is not None:
                    np.multiply(value, decay, block.given)
                    (np.subtract if maximize else np.add)(block.given, gradient, block.given)
                    gradient = block.given
                elif maximize:
                    gradient = np.negative(gradient, block.given)
                optimizer.rule(group, block, gradient, value)
                block.fresh = False
                for target, change in block.changes:
                    target -= change


def undisturbed(change: Callable[..., None], *args: Any) -> None:
    """Call what changes parameters and state, with a Ctrl-C held back until these fit each other again."""
    handler, pending = signal.getsignal(signal.SIGINT), []
    if not callable(handler) or threading.current_thread() is not threading.main_thread():
        change(*args)  # nothing is raised here
        return
    signal.signal(signal.SIGINT, lambda *caught: pending.append(caught))
    try:
        change(*args)
    finally:
        signal.signal(signal.SIGINT, handler)
    if pending:
        handler(*pending[0])


class Bucket:
    """Parameters whose elements lie one after the other in flat arrays: several small ones, or a large one.

    Attributes
    ----------
    members : list of int
        Which of the plan's parameters they are.
    gradient, values : ndarray or None
        Where gradients and parameters are gathered; None for a large one, which is used in place.
    gradient_bytes, value_bytes : memoryview or None
        The same as bytes, where the members are small: joined as bytes, they are there in a fraction of the time.
    counters : dict of ndarray
        The members' counters: a number for each member, all the same.
    blocks : list of Block
        The parts that are updated one after the other.
    changes : list of (int, ndarray, ndarray)
        Where gathering costs more than a call each: the members, their memory, and room for what is subtracted from it.
    """

    __slots__ = (
        "blocks", "changes", "counters", "dtypes", "gradient", "gradient_bytes", "members", "value_bytes", "values",
    )  # fmt: skip

    def __init__(
        self,
        members: list[int],
        params: list[Any],
        counters: tuple[str, ...],
        starts: dict[str, float],
        state: dict[Any, Any],
        scratch: dict[np.dtype[Any], np.ndarray],
    ) -> None:
        self.members = members
        arrays = [param._array for param in params]
        size = sum([array.size for array in arrays])
        numbers: Any = np.float64 if _dtypes.default() == np.float64 else np.float32
        fresh = not has_state(params[0], starts, state)
        self.counters, flat = {}, {}
        for name, start in starts.items():
            if name in counters:
                loaded = getattr(state[params[0]].get(name), "_array", None)  # which may have its parameter's dtype
                whole = self.counters[name] = np.full(len(members), start, numbers if loaded is None else loaded.dtype)
                parts = [whole[i : i + 1].reshape(()) for i in range(len(members))]
            else:
                whole = flat[name] = np.full(size, start, arrays[0].dtype)
                parts = parts_of(whole, arrays)
            for param, part in zip(params, parts):
                put(part, state[param].get(name), name)
                keep(state[param], name, part)
        buffers = scratch[arrays[0].dtype]
        self.changes: list[tuple[int, np.ndarray, np.ndarray]] = []
        self.gradient_bytes = self.value_bytes = None
        self.dtypes = [array.dtype for array in arrays]
        if in_place(arrays):
            self.gradient = self.values = None
            elements = arrays[0].reshape(-1)
            spans = [slice(start, min(start + BLOCK, size)) for start in range(0, size, BLOCK)]
            self.blocks = [
                Block(span, {n: a[span] for n, a in flat.items()}, buffers, fresh, [elements[span]]) for span in spans
            ]
        else:
            self.gradient, self.values = buffers[3, :size], buffers[4, :size]
            self.blocks = [Block(None, flat, buffers, fresh, arrays)]
            if size > WORTH_A_CALL * len(arrays):
                self.changes = [(i, a, buffers[0, : a.size].reshape(a.shape)) for i, a in zip(members, arrays)]
            elif size:
                self.gradient_bytes = self.gradient.data.cast("B")
                self.value_bytes = self.values.data.cast("B")

    def subtract(self, gradients: list[np.ndarray], factor: float) -> None:
        """Update each parameter by its gradient times a factor, without gathering: what is subtracted stays in the cache."""
        by = np.full((), factor, self.changes[0][1].dtype)  # NumPy reads a 0-d array faster than a number
        for member, target, change in self.changes:
            np.multiply(gradients[member], by, change)
            np.subtract(target, change, target)

    def gathered(self, arrays: list[np.ndarray], out: np.ndarray | None, raw: memoryview | None) -> np.ndarray:
        """The members' arrays as one flat array, *out*; *raw*: its bytes."""
        members = self.members
        if out is None:
            return arrays[members[0]].reshape(-1)
        own = arrays if len(members) == len(arrays) else [arrays[i] for i in members]
        if raw is not None and [array.dtype for array in own] == self.dtypes:
            try:
                raw[:] = b"".join(own)  # type: ignore[arg-type]  # arrays are buffers
            except (TypeError, ValueError):  # one whose elements do not lie in order, or of another size
                pass
            else:
                return out
        return np.concatenate(own, None, out)


class Block:
    """A part that is updated at a time.

    Attributes
    ----------
    span : slice or None
        Which elements of the bucket; None: all.
    state : dict of ndarray
        The arrays of ``state_names``, flat.
    change : ndarray
        Where the rule writes what is to be subtracted.
    spare : ndarray
        For the rule's own use.
    given : ndarray
        Where the gradient stands that has weight decay added, or its sign changed.
    fresh : bool
        Whether this is the first update: the state is still zeros.
    now : object
        What ``advance`` returned: by default, the number of this update, from 1.
    changes : list of (ndarray, ndarray)
        The parameters' memory and the parts of ``change`` that belong to it.
    """

    __slots__ = ("_number", "_read", "change", "changes", "fresh", "given", "now", "span", "spare", "state")

    def __init__(
        self,
        span: slice | None,
        state: dict[str, np.ndarray],
        buffers: np.ndarray,
        fresh: bool,
        targets: list[np.ndarray],
    ) -> None:
        self.span, self.state, self.fresh = span, state, fresh
        self.now: Any = None
        self._number: Any = None
        self.change, self.spare, self.given = buffers[:3, : sum([target.size for target in targets])]
        self.changes = list(zip(targets, parts_of(self.change, targets)))

    def number(self, value: float) -> np.ndarray:
        """A number as a 0-d array of the parameters' dtype, which NumPy reads faster; it is kept while the number is."""
        if value is not self._number:
            self._number, self._read = value, np.full((), value, self.change.dtype)
        return self._read


def in_place(arrays: list[np.ndarray]) -> bool:
    """Whether a bucket of these parameters needs no gathering: it is a single one, whose elements lie in order."""
    return len(arrays) == 1 and arrays[0].flags.c_contiguous


def room(groups: list[list[int]], arrays: list[np.ndarray], dtype: np.dtype[Any]) -> int:
    """The length of the longest block of this dtype: all work in the same buffers, one after the other."""
    longest = 0
    for members in groups:
        own = [arrays[i] for i in members]
        if own[0].dtype == dtype:
            size = sum([array.size for array in own])
            longest = max(longest, min(size, BLOCK) if in_place(own) else size)
    return longest


def divided(
    params: list[Any], counters: tuple[str, ...], starts: dict[str, float], state: dict[Any, Any]
) -> list[list[int]]:
    """The positions of parameters that go together: of one dtype and history, and not too many elements."""
    groups: list[list[int]] = []
    open_groups: dict[Any, tuple[list[int], int]] = {}
    for i, param in enumerate(params):
        size, own = param._array.size, state.get(param, {})
        key = param._array.dtype, has_state(param, starts, state), *[float(own.get(n, starts[n])) for n in counters]
        group, filled = open_groups.get(key, ([], BLOCK + 1))
        if filled + size > BLOCK:
            group, filled = [], 0
            groups.append(group)
        group.append(i)
        open_groups[key] = group, filled + size
    return groups


def has_state(param: Any, names: Collection[str], state: dict[Any, Any]) -> bool:
    """Whether the parameter was updated before."""
    return bool(names) and param in state and all([state[param].get(name) is not None for name in names])


def parts_of(flat: np.ndarray, arrays: list[np.ndarray]) -> list[np.ndarray]:
    """Views of a flat array, one for each of *arrays* and of its shape."""
    parts, start = [], 0
    for array in arrays:
        parts.append(flat[start : start + array.size].reshape(array.shape))
        start += array.size
    return parts


def put(part: np.ndarray, value: Any, name: str) -> None:
    """Copy a state that is there already into its place in the flat array."""
    if value is not None:
        array = getattr(value, "_array", value)  # a number, where it was saved long ago
        if np.shape(array) != part.shape:
            raise RuntimeError(
                f"optimizer state {name!r} has shape {np.shape(array)}, but its parameter has shape "
                f"{part.shape}: the parameter was given other data since; remove its entry from optimizer.state"
            )
        part[...] = array


def keep(entries: dict[str, Any], name: str, array: np.ndarray) -> None:
    """Show an array as a state tensor; one that is there already stays the same object, with other memory."""
    tensor = entries.get(name)
    if isinstance(tensor, _runtime.Tensor):
        tensor._array, tensor._layout = array, None
    else:
        entries[name] = _runtime.wrap(array)


def check_gradients(params: list[Any], gradients: list[np.ndarray]) -> None:
    """Refuse a gradient that was left from before its parameter was given other data."""
    for number, (param, gradient) in enumerate(zip(params, gradients)):
        if param._array.shape != gradient.shape:
            raise RuntimeError(
                f"parameter {number} of the optimizer's group has shape {tuple(param._array.shape)}, but its gradient "
                f"has shape {tuple(gradient.shape)}: call zero_grad() after giving it other data"
            )
