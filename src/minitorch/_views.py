"""Edits and views: whether a saved array was written since, and how a view's node follows its base.

A plain tensor's ``_alias`` is None.  A base that was viewed, edited or detached has an ``Edits``; a view has a ``View``.
An edit takes a position as a node does, so a saved value is stale exactly when its last edit is newer than its node.
See docs/design/04-in-place.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._modes import enable_grad, grad_on, inference_mode_on, observers
from ._tape import NEVER, AccumulateGrad, Output, next_position

MULTIPLE = (
    "{view} is being modified inplace. This view is the output of a function that returns multiple views. Such "
    "functions do not allow the output views to be modified inplace. You should replace the inplace operation by an "
    "out-of-place one."
)
UNRECORDED = (
    "A view was created in no_grad mode and is being modified inplace with grad mode enabled. Given that this use case is "
    "ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the view and the inplace either "
    "both inside the no_grad block (if you don't want the inplace to be tracked) or both outside (if you want the inplace "
    "to be tracked)."
)
CUSTOM = (
    "{view} is being modified inplace. This view was created inside a custom Function (or because an input was "
    "returned as-is) and the autograd logic to handle view+inplace would override the custom backward associated with "
    "the custom Function, leading to incorrect gradients. This behavior is forbidden. You can fix this by cloning the "
    "output of the custom Function."
)
INFERENCE = (
    "A view was created in inference mode and is being modified inplace in normal mode. Clone it outside inference mode, "
    "or write into it inside."
)
INFERENCE_WRITE = (
    "Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone to get a normal tensor "
    "before doing inplace update."
)
EXPANDED = (
    "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
    "Please clone() the tensor before performing the operation."
)
INFERENCE_SAVED = (
    "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in computation "
    "tracked by autograd. To work around this, you can make a clone to get a normal tensor and use it in autograd, or use "
    "`torch.no_grad()` instead of `torch.inference_mode()`."
)


class Edits:
    """In-place edits of one array, shared by a tensor, its views and its detached twins."""

    __slots__ = ("count", "position", "reshaped", "watchers", "writer")
    parent = None  # not a view
    inference = False

    def __init__(self) -> None:
        self.count = 0
        self.position = NEVER
        self.writer: Any = None  # where the last edit was made, if sites are recorded
        self.watchers: Any = None  # what is to be told just before a write
        self.reshaped = False  # whether a tensor with this memory has changed its own shape since: see path_to

    @property
    def edits(self) -> Edits:
        return self


class InferenceEdits(Edits):
    """The edits of a tensor made in inference mode: no node may save it."""

    __slots__ = ()
    inference = True


class View:
    """What a view remembers: its parent, how to take it again, and the edits that its node knows of."""

    __slots__ = ("edits", "index", "params", "parent", "row", "seen", "source")
    edits: Edits
    parent: Any
    row: Any
    params: tuple[Any, ...]
    index: int | None
    seen: int
    source: Any
    """Where something observes, the array that it was taken of, as the parent may be given another one later; of a primal that
    forward mode unpacks, the level at which it has no tangent."""
    refusal: str | None = None
    """Why a recorded write into the view is refused, if it is; its history cannot follow a write into its base either."""

    @property
    def inference(self) -> bool:
        return self.edits.inference


class MultipleView(View):
    __slots__ = ()
    refusal = MULTIPLE


class UnrecordedView(View):
    __slots__ = ()
    refusal = UNRECORDED


class CustomView(View):
    __slots__ = ()
    refusal = CUSTOM


class InferenceView(View):
    __slots__ = ()
    refusal = INFERENCE


def edits_of(tensor: Any) -> Edits:
    """The tensor's edits, made on first need; a node that saved this array as its result is told."""
    alias = tensor._alias
    if alias is not None:
        edits: Edits = alias.edits
        return edits
    tensor._alias = edits = Edits()
    node, number = tensor._node, None
    if node is not None:
        if node.__class__ is Output:
            node, number = node.edges[0], node.index
        if node.saves_result is True or (node.saves_result and number in node.saves_result):
            node.result_edits = (*node.result_edits, edits)
    return edits


def edited(tensor: Any, by: Any = None) -> None:
    """Note that the tensor's array is about to be written in place: with the result of the function *by*."""
    if observers:
        tell_edit(tensor)
    edit(tensor, by)


def tell_edit(tensor: Any) -> None:
    """Tell the observers that a tensor's memory is about to be written."""
    for observer in tuple(observers):
        if observer.active():
            observer.editing(tensor)


def edit(tensor: Any, by: Any = None) -> None:
    """Count an edit, of a tensor's memory or of what else a version counts, such as its shape."""
    edits = edits_of(tensor)
    if edits.inference and not inference_mode_on.get():
        raise RuntimeError(INFERENCE_WRITE)
    if edits.watchers is not None:
        for watcher in tuple(edits.watchers):
            watcher.about_to_be_written(by)
        edits.watchers = None
    edits.count += 1
    edits.position = next_position()


def writable(array: np.ndarray) -> bool:
    """Whether each element has a memory place of its own (an expanded tensor's do not)."""
    if array.flags.writeable:
        return True
    if array.size == 0 or any([stride == 0 and size > 1 for stride, size in zip(array.strides, array.shape)]):
        return False
    array.flags.writeable = True  # NumPy makes every broadcast result read-only, also where nothing was repeated
    return True


def overlapping(array: np.ndarray) -> bool:
    """Whether several elements may be one place of memory."""
    if array.flags.forc:
        return False
    strides = array.strides
    return not strides[0] if len(strides) == 1 else overlap(array.shape, strides)


def overlap(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether several elements may be one place of memory."""
    whole = None
    for n, step in zip(shape, strides):  # mostly, each step leads past all of the dimensions behind it
        if n != 1:
            if whole is not None and whole < n * step:
                break
            whole = step
    else:
        if whole is None or whole > 0:
            return False
    reach = 0
    for step, n in sorted([(abs(step), n) for step, n in zip(strides, shape) if n != 1]):
        if step <= reach:
            return 0 not in shape
        reach += step * (n - 1)
    return False


def places_of(shape: tuple[int, ...], strides: tuple[int, ...]) -> np.ndarray:
    """The number of each element's place in memory, in row-major order."""
    offsets = np.zeros((), np.intp)
    for n, step in zip(shape, strides):
        offsets = np.add.outer(offsets, np.arange(n) * step)
    return np.unique(offsets, return_inverse=True)[1].reshape(-1)


def shares_memory(array: Any, base: Any) -> bool:
    """Whether *array*, just taken from *base* by NumPy, is a view of it rather than a copy."""
    owner = array.base
    return owner is not None and (owner is base or owner is base.base)


def attach_view(out: Any, parent: Any, row: Any, params: tuple[Any, ...]) -> None:
    """Make *out* a view of *parent*."""
    out._alias = view = View() if grad_on() else UnrecordedView()
    alias = parent._alias
    view.edits = edits = edits_of(parent) if alias is None else alias if alias.parent is None else alias.edits
    view.parent, view.row, view.params, view.index, view.seen = parent, row, params, None, edits.count


def current_node(tensor: Any) -> Any:
    """The tensor's node; a view whose memory was edited since is taken again first, from its root, as in PyTorch."""
    view = tensor._alias
    if view is None or view.parent is None or view.seen == view.edits.count:
        return tensor._node
    if tensor._node.__class__ is not AccumulateGrad:
        root, steps = path_to(tensor)
        if root._node is not None:
            if view.refusal is not None:
                raise RuntimeError(refusal_of(tensor, "its base or another view of its base has been"))
            with enable_grad():
                for step in steps:
                    root = take_step(root, *step)
            tensor._node = root._node
    view.seen = view.edits.count
    return tensor._node


def path_to(tensor: Any) -> tuple[Any, list[tuple[Any, tuple[Any, ...], int | None]]]:
    """The tensor whose memory a chain of views shows, and the steps from it to this view."""
    steps, shown, view_of = [], tensor._alias, tensor
    while (view := tensor._alias) is not None and view.parent is not None:
        steps.append((view.row, view.params, view.index))
        tensor = view.parent
    steps.reverse()
    if steps and shown.edits.reshaped:  # the steps were for other shapes: go by the places in memory
        steps = [strided_step(tensor, view_of)]
    return tensor, steps


strided_step: Any = None
"""The step from a root to a view by their places in memory; learnt from ``ops.memory``."""


def learn_strided_step(function: Any) -> None:
    """Called once by ops.memory."""
    global strided_step
    strided_step = function


def refusal_of(tensor: Any, happens: str = "is being") -> str:
    """Why a view may not be written (or be used after a write into its base), naming what made it."""
    node, index = tensor._node, 0
    if node.__class__ is Output:
        node, index = node.edges[0], node.index
    view: str = tensor._alias.refusal
    if "{view}" not in view:
        of_view = tensor._alias.parent._alias is not None and tensor._alias.parent._alias.parent is not None
        made_by = tensor._alias.row.node_name if tensor._alias.row is not None else "a function"
        what = (
            f"Output {index} of {made_by.partition('Backward')[0]} is a view of a view which" if of_view else "A view"
        )
        return view.replace("A view", what, 1).replace("is being", happens, 1)
    made_by = "a function" if node is None else getattr(node, "function", type(node)).__name__.partition("Backward")[0]
    return view.replace("{view}", f"Output {index} of {made_by} is a view and", 1).replace("is being", happens, 1)


def take_step(root: Any, row: Any, params: tuple[Any, ...], index: int | None) -> Any:
    """A view's step from its parent: taken on a Tensor (recorded) or on an ndarray."""
    if isinstance(root, (np.ndarray, np.generic)):  # the walk's sums of 0-d arrays are NumPy scalars
        taken = row.apply(np.asarray(root), *params)
    else:
        taken = row.call(root, *params)
    return taken if index is None else taken[index]


def root_of(tensor: Any) -> Any:
    """The tensor whose memory a chain of views shows."""
    while tensor._alias is not None and tensor._alias.parent is not None:
        tensor = tensor._alias.parent
    return tensor
