"""The tape: nodes and the positions that order them.

Every recorded operation takes the next *position*.  Positions count down, so the newest node has the smallest one:
what ``heapq`` pops first is what a backward pass runs first.  In-place edits draw from the same counter: a saved value
is stale exactly when its last edit is newer than the node that saved it, so no version is stored at record time.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple
from weakref import ref

from ._device import device
from ._dtypes import dtype, of_numpy
from ._extras import Extras, OutputHooks, RemovableHandle
from ._size import Size

next_position: Callable[[], int] = itertools.count(-1, -1).__next__  # atomic under the GIL

NEVER = 1  # the position of an edit that has not happened: before every node


class Node:
    """One recorded operation: what ``Tensor.grad_fn`` returns.

    ``edges`` holds the node that each gradient goes to (None where it is not needed), ``expects`` the layout of each input
    where broadcasting or promotion changed one, ``layout`` that of the output (of each output, as a list, where there are
    several), ``extras`` hooks and metadata (None on almost every node).  A row's class adds a slot for each name its
    formulas read.
    """

    __slots__ = ("__weakref__", "edges", "expects", "extras", "layout", "position")
    position: int
    edges: tuple[Any, ...]
    expects: tuple[Any, ...] | None
    layout: Any
    extras: Extras | None

    saves_result = False
    several = False
    owns_gradients = True  # ``backward`` returns new arrays, or its gradient, or views; never an array held elsewhere
    saved_names: tuple[str, ...] = ()

    def backward(self, gradient: Any, F: Any, edges: tuple[Any, ...], retain: bool) -> Any:
        """One gradient per edge; *F* holds kernels (ndarrays in, ndarrays out) or recorders (Tensors).

        What was saved is let go at once unless *retain*.
        """
        raise NotImplementedError(f"derivative for {self.name()} is not implemented")

    def packable(self) -> list[tuple[Any, Any]]:
        """The saved tensors by name, for pack hooks."""
        return []

    def name(self) -> str:
        """The name of the operation's gradient, such as ``MulBackward0``."""
        name = type(self).__name__
        return f"torch::autograd::{name}" if name in _NAMESPACED else name

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {id(self):#x}>"

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """For each input, the node its gradient goes to and which of that node's outputs it is."""
        return tuple([_public(edge) for edge in self.edges])

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dictionary for the user's notes; it lives as long as the node."""
        return extras_of(self).metadata

    def _sequence_nr(self) -> int:
        return -self.position

    @property
    def _input_metadata(self) -> list[InputMetadata]:
        """Of each gradient that comes in, that is of each output: shape, dtype and device."""
        layouts = self.layout if self.several else [self.layout]
        return [InputMetadata(Size(shape), of_numpy(kind), device("cpu")) for shape, kind in filter(None, layouts)]

    def register_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(grad_inputs, grad_outputs)`` after the node ran; what it returns replaces ``grad_inputs``."""
        return RemovableHandle(extras_of(self).posthooks, hook)

    def register_prehook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(grad_outputs)`` before the node runs; what it returns replaces them."""
        return RemovableHandle(extras_of(self).prehooks, hook)

    def __dir__(self) -> list[str]:
        names = {*super().__dir__()}
        saved = [name for name in names if name.startswith(("_saved_", "_raw_saved_"))]
        return sorted([*saved, *names & _SHOWN, *getattr(self, "__dict__", ())])


_SHOWN = frozenset(
    [
        "_input_metadata",
        "_sequence_nr",
        "mark_dirty",
        "mark_non_differentiable",
        "metadata",
        "name",
        "needs_input_grad",
        "next_functions",
        "non_differentiable",
        "register_hook",
        "register_prehook",
        "save_for_backward",
        "save_for_forward",
        "saved_for_forward",
        "saved_tensors",
        "saved_variables",
        "set_materialize_grads",
        "to_save",
        "variable",
    ]
)
"""What ``dir()`` lists of a node besides its saved values and a custom Function's own attributes: PyTorch's names."""

_NAMESPACED = {"AccumulateGrad", "CopySlices", "CopyBackwards"}
"""Nodes whose ``name()`` PyTorch gives with its C++ namespace."""


class InputMetadata(NamedTuple):
    """What a node knows of a gradient that comes in."""

    shape: Size
    dtype: dtype
    device: device


class AccumulateGrad(Node):
    """The node of a leaf: adds to the leaf's ``.grad``.

    It is made when the leaf comes to require grad and is the leaf's own: the leaf holds it, it knows the leaf only weakly,
    and graphs that use the leaf hold it.  What must outlive a leaf that is dropped before its graph is kept here: the
    array, the gradient, the hooks, the attributes.  See docs/design/01-tape.md.
    """

    __slots__ = ("array", "attributes", "grad", "hooks", "kind", "leaf", "post_hooks")
    edges = ()
    expects = None
    layout = None

    def __init__(self, tensor: Any) -> None:
        self.position = next_position()
        self.extras = None
        self.leaf: Callable[[], Any] = ref(tensor)
        self.kind: type = type(tensor)
        self.array: Any = tensor._array
        self.attributes: dict[str, Any] = tensor.__dict__
        self.grad: Any = None
        self.hooks: dict[Any, Any] | None = None
        self.post_hooks: dict[Any, Any] | None = None

    @property
    def _input_metadata(self) -> list[InputMetadata]:
        return [InputMetadata(Size(self.array.shape), of_numpy(self.array.dtype), device("cpu"))]

    def _sequence_nr(self) -> int:
        return 2**64 - 1  # as in PyTorch, where leaves come first whatever their age

    @property
    def variable(self) -> Any:
        """The leaf."""
        tensor: Any = self.leaf()
        if tensor is None:  # dropped by the user, but graphs still lead here
            tensor = object.__new__(self.kind)
            tensor._array, tensor._node, tensor._alias, tensor._layout = self.array, self, None, None
            tensor.__dict__ = self.attributes
            self.leaf = ref(tensor)
        return tensor


class Output(Node):
    """One output of a node that has several; hands its gradient on, labelled."""

    __slots__ = ("index",)
    index: int
    expects = None

    def backward(self, gradient: Any, F: Any, edges: tuple[Any, ...], retain: bool) -> Any:
        return (Outputs({self.index: gradient}),)


class Outputs(dict[int, Any]):
    """Gradients of a several-output node by output number; ``+`` merges, so that the walk need not know."""

    base = ()  # like an array that the engine may not add to in place

    def __add__(self, other: Outputs) -> Outputs:
        merged = Outputs(self)
        for index, gradient in other.items():
            merged[index] = merged[index] + gradient if index in merged else gradient
        return merged

    __iadd__ = __add__


def output_node(node: Node, index: int, layout: Any) -> Output:
    """The node of one output of *node*."""
    output = Output()
    output.position, output.edges, output.index = next_position(), (node,), index
    output.layout, output.extras = layout, None
    return output


def _public(edge: Node | None) -> tuple[Node | None, int]:
    """An edge as people see it: the node and the number of its output."""
    return (edge.edges[0], edge.index) if type(edge) is Output else (edge, 0)


def extras_of(node: Node) -> Extras:
    """The node's extras, made on first use."""
    if node.extras is None:
        node.extras = Extras()
    return node.extras


def output_hooks(node: Node) -> OutputHooks:
    """The hooks at the output that this node (or this ``Output``) stands for, made on first use."""
    node, index = (node.edges[0], node.index) if isinstance(node, Output) else (node, 0)
    return extras_of(node).outputs.setdefault(index, OutputHooks())
