"""What people see of a node's saved values: ``_saved_self``, ``_raw_saved_self`` and their packing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from . import _runtime
from ._modes import active_levels, grad_on, no_grad
from ._records import unobserved
from ._stories import raise_freed
from ._tape import Node, Output, Outputs, extras_of
from ._views import current_node, edits_of


def properties_of(row: Any) -> dict[str, property]:
    """The properties of a row's node class that show saved values, under PyTorch's names."""
    shapes = {f"{i}_shape": f"{i}_sym_sizes" for i in row.inputs}
    renamed = {source: name for name, source in row.shows.items() if isinstance(source, str)}
    names = {n: renamed.get(n, shapes.get(n, n)) for n in (*row.kept, *row.constants) if n not in (*row.hides, "aside")}
    shown = {f"_saved_{name}": saved_value(n) for n, name in names.items()}
    shown |= {f"_saved_{n}": property(get, doc=f"PyTorch's {n!r}.") for n, get in row.shows.items() if callable(get)}
    return shown | {f"_raw_saved_{names[n]}": raw_saved(n) for n in row.kept if n in names}


def saved_value(name: str) -> property:
    """The property that shows what a node saved under this name: a Tensor, or a constant."""

    def get(node: Any) -> Any:
        return reveal(node, name)

    return property(get, doc=f"What the node saved as {name!r}.")


def unsigned(name: str) -> Callable[[Any], Any]:
    """What shows a saved integer (or tuple of them) as PyTorch does a dimension: -1 as 2**64 - 1."""

    def get(node: Any) -> Any:
        value = getattr(node, f"saved_{name}")
        return value % 2**64 if isinstance(value, int) else tuple([v % 2**64 for v in value])

    return get


def raw_saved(name: str) -> property:
    """The property ``_raw_saved_<name>``: the saved value as an object whose packing can be set."""
    return property(lambda node: SavedTensor(node, name), doc=f"The saved {name!r}, unread; see register_hooks.")


def reveal(node: Any, name: str) -> Any:
    """A saved value as a Tensor (unpacked and checked), as a constant, or None where no needed gradient reads it."""
    value = getattr(node, f"saved_{name}")
    if name in node.row.constants:
        if isinstance(value, np.ndarray):  # the node's own: not for the user to write into
            return _runtime.wrap(value.copy())
        return tuple(value) if isinstance(value, list) else value
    is_result = name in node.row.results
    number = int(name[6:]) if is_result and name != "result" else None
    packed = None if node.extras is None else node.extras.packed
    if packed is not None and name in packed.values:
        tensor = packed.unpacked(name)
        return _runtime.rewrapped(node, tensor._array, number) if is_result else tensor
    if value is None:
        raise_freed(node)
    if value is _runtime.unsaved:
        return None
    if name == "aside":
        return [_runtime.wrap(array) for array in value]
    if packed is not None and value.__class__ is tuple:
        value = packed.all_results(name, value)
    if is_result:
        for edits in node.result_edits:
            _runtime.check_unedited(node, edits, name)
        return _runtime.rewrapped(node, value, number)
    if value._alias is not None:
        _runtime.check_unedited(node, value._alias.edits, name)
    return value


def _separate(name: str, value: Any) -> list[tuple[Any, Any]]:
    """What of a saved value is packed, by name; of all results together those of floats, by number too."""
    if value.__class__ is not tuple:
        return [] if getattr(value, "is_number", False) else [(name, value)]
    return [((name, i), t) for i, t in enumerate(value) if t._array.dtype.kind == "f"]


def packable(node: Any) -> list[tuple[str, Any]]:
    """The tensors a row's node saved, for pack hooks, by name; of all its results together, those of floats, by number too."""
    saved = [name for name in node.row.kept if name != "aside"]  # that is no variable
    there = [name for name in saved if getattr(node, f"saved_{name}") is not _runtime.unsaved]
    return [pair for name in there for pair in _separate(name, reveal(node, name))]


def drop_packed(node: Any, name: Any) -> None:
    """Forget what a pack hook took of a row's node: a saved value, or one of all its results."""
    if name.__class__ is tuple:
        name, number = name
        if (results := getattr(node, f"saved_{name}")) is None:
            return
        value = tuple([None if i == number else array for i, array in enumerate(results)])
    else:
        value = None
    setattr(node, f"saved_{name}", value)


def release(node: Any) -> None:
    """Let go of what a node saved, as a backward pass does that does not retain the graph."""
    if hasattr(node, "row"):
        for name in node.row.kept:
            setattr(node, f"saved_{name}", None)
    elif hasattr(node, "saved"):
        node.saved = None
    if node.extras is not None:
        node.extras.packed = None


def call_node(node: Any, *gradients: Any) -> Any:
    """``grad_fn(*grad_outputs)``: the gradients of a node's inputs, recorded where grad mode is on; nothing is freed."""
    F = _runtime.traced if grad_on() else _runtime.raw
    given = [g if g is None or F is _runtime.traced else g._array for g in gradients]
    gradient = Outputs({i: g for i, g in enumerate(given) if g is not None}) if node.several else given[0]
    with unpacking(node, True):
        results = node.backward(gradient, F, node.edges, True)
    tensors = [r if r is None or F is _runtime.traced else _runtime.wrap(np.asarray(r)) for r in results]
    return tensors[0] if len(tensors) == 1 else tuple(tensors)


class SavedTensor:
    """A value that a node saved, unread.

    Parameters
    ----------
    node : Node
        The node that saved it.
    name : str
        The name it was saved under.
    """

    __slots__ = ("_name", "_node")

    def __init__(self, node: Node, name: str) -> None:
        self._node, self._name = node, name

    @property
    def data(self) -> Any:
        """The value, unpacked."""
        return reveal(self._node, self._name)

    def register_hooks(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        """Pack the value now with *pack_hook*; *unpack_hook* is called each time it is read.

        Raises
        ------
        RuntimeError
            Where hooks are set already, or the value was freed or is None.
        """
        node, name = self._node, self._name
        packed = node.extras.packed if node.extras is not None else None
        if packed is not None and any([key == name or key[:1] == (name,) for key in packed.values]):
            raise RuntimeError(
                "Calling register_hooks on a saved tensor whose hooks have already been set. Only one pair of hooks is "
                "allowed at a time."
            )
        if not callable(pack_hook) or not callable(unpack_hook):
            raise TypeError("register_hooks() expects two functions: pack_hook(tensor) and unpack_hook(packed)")
        if getattr(node, f"saved_{name}") is None:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor after it has been freed. Saved intermediate values are freed by "
                "backward."
            )
        value = reveal(node, name)
        if value is None:
            raise RuntimeError("Calling register_hooks on a saved tensor with value None is forbidden")
        extras = extras_of(node)
        if extras.packed is None:
            extras.packed = Packed()
        for key, tensor in _separate(name, value):
            extras.packed.pack(node, key, tensor, pack_hook, unpack_hook)


class Packed:
    """Saved tensors as pack hooks left them, by name.

    Of each the packed value, the unpack hook, and what the hooks do not see: the node of the tensor that was packed, and its
    tangents with their levels.
    """

    __slots__ = ("values",)

    def __init__(self) -> None:
        self.values: dict[Any, tuple[Any, Callable[[Any], Any], Any, list[tuple[Any, Any]]]] = {}

    def pack(self, node: Any, name: Any, tensor: Any, pack: Callable[[Any], Any], unpack: Callable[[Any], Any]) -> None:
        """Replace what *node* saved as *name* by what *pack* makes of it."""
        source = current_node(tensor)
        value = packed_by(pack, tensor)
        source = None if source is node or is_output_of(source, node) else source
        self.values[name] = value, unpack, source, [(level, level.copy_of(tensor)) for level in active_levels()]
        node.drop_packed(name)

    def unpacked(self, name: Any) -> Any:
        """What the unpack hook makes of a packed value, with the history and the tangents of the tensor that was packed."""
        value, unpack, source, tangents = self.values[name]
        tensor = unpack(value)
        if not isinstance(tensor, _runtime.Tensor):
            raise TypeError(
                "Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                f"{type(tensor).__name__}"
            )
        result = _runtime.twin(tensor, source)
        for level, tangent in tangents:
            if tangent is not None and level in active_levels():
                if result._array is tensor._array:  # the user's tensor has no tangents by this
                    result._array = tensor._array.view()
                level.put(result, tangent)
        return result

    def all_results(self, name: str, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
        """All results of a node, which are kept together, with what the unpack hooks return in the places of those packed."""
        return tuple(
            [self.unpacked((name, i))._array if (name, i) in self.values else array for i, array in enumerate(arrays)]
        )

    def restore(self, node: Any) -> None:
        """Give a row's node what the unpack hooks return."""
        for name in {name[0] if name.__class__ is tuple else name: None for name in self.values}:
            if name not in self.values:
                setattr(node, f"saved_{name}", self.all_results(name, getattr(node, f"saved_{name}")))
                node.result_edits = ()
                continue
            tensor = self.unpacked(name)
            if name in node.row.results:
                setattr(node, f"saved_{name}", tensor._array)
                node.result_edits = ()
            else:
                setattr(node, f"saved_{name}", tensor)


@contextmanager
def unpacking(node: Any, retain: bool) -> Iterator[None]:
    """Have a row's node hold what the unpack hooks return, for one run of its backward; a custom Function asks itself."""
    packed = None if node.extras is None else node.extras.packed
    of_row = packed if hasattr(node, "row") else None
    try:
        if of_row is not None:
            of_row.restore(node)
        yield
    finally:
        for name in () if of_row is None else of_row.values:
            node.drop_packed(name)
    if packed is not None and not retain:
        node.extras.packed = None


def is_output_of(source: Any, node: Node) -> bool:
    """Whether *source* is the node of one of *node*'s outputs."""
    return source.__class__ is Output and source.edges[0] is node


def packed_by(pack: Callable[[Any], Any], tensor: Any) -> Any:
    """What the pack hook makes of a tensor; RuntimeError if it wrote into it."""
    edits = edits_of(tensor)
    before = edits.count
    with no_grad(), unobserved():
        value = pack(tensor)
    if edits.count != before:
        raise RuntimeError(
            "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook can not be "
            "modified by in-place operations as this can lead to unexpected side-effects. Clone it, and pack the clone."
        )
    if value is tensor:  # kept without its node: a node that owned its own output would be a cycle
        value = _runtime.twin(tensor)
        value._alias = edits
    return value
