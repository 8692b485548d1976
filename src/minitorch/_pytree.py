"""Trees of containers: taken apart into their leaves and what is needed to put them together again.

Lists, tuples, dicts and their kin are nodes, and so are classes that are registered; everything else is a leaf.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from ._size import Size

PyTree = Any
Context = Any
IsLeaf = Callable[[Any], bool] | None


class Node(NamedTuple):
    """How objects of a class are taken apart, into children and a context, and put together again."""

    flatten: Callable[[Any], tuple[Iterable[Any], Any]]
    unflatten: Callable[[Iterable[Any], Any], Any]


def _values(mapping: Any) -> tuple[list[Any], Any]:
    return list(mapping.values()), list(mapping)


def _unflatten_default(children: Iterable[Any], context: Any) -> Any:
    return defaultdict(context[0], zip(context[1], children))


NODES: dict[Any, Node] = {
    tuple: Node(lambda t: (t, None), lambda c, _: tuple(c)),
    list: Node(lambda t: (t, None), lambda c, _: list(c)),
    dict: Node(_values, lambda c, keys: dict(zip(keys, c))),
    namedtuple: Node(lambda t: (t, type(t)), lambda c, kind: kind(*c)),
    OrderedDict: Node(_values, lambda c, keys: OrderedDict(zip(keys, c))),
    defaultdict: Node(lambda t: (list(t.values()), [t.default_factory, list(t)]), _unflatten_default),
    deque: Node(lambda t: (t, t.maxlen), lambda c, length: deque(c, length)),
    Size: Node(lambda t: (t, None), lambda c, _: tuple(c)),
}
"""By class; named tuples of all classes stand under ``namedtuple``."""

MAPPINGS = (dict, OrderedDict, defaultdict)


def register_pytree_node(
    cls: type,
    flatten_fn: Callable[[Any], tuple[Iterable[Any], Context]],
    unflatten_fn: Callable[[Iterable[Any], Context], Any],
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: Any = None,
    from_dumpable_context: Any = None,
    flatten_with_keys_fn: Any = None,
) -> None:
    """Make objects of a class nodes of trees.

    Parameters
    ----------
    cls : type
        The class; classes derived from it are leaves unless they are registered too.
    flatten_fn : callable
        From an object to its children and a context, which is compared with ``==``.
    unflatten_fn : callable
        From children and a context to an object.
    serialized_type_name, to_dumpable_context, from_dumpable_context, flatten_with_keys_fn
        Accepted: specs are not written to files, and there are no paths.

    Raises
    ------
    ValueError
        If the class is a node already.

    Examples
    --------
    >>> from minitorch.utils import _pytree as pytree
    >>> class Pair:
    ...     def __init__(self, first, second):
    ...         self.first, self.second = first, second
    >>> pytree.register_pytree_node(Pair, lambda p: ((p.first, p.second), None), lambda parts, _: Pair(*parts))
    >>> pytree.tree_map(lambda x: 2 * x, Pair(1, [2])).second
    [4]
    """
    if cls in NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    NODES[cls] = Node(flatten_fn, unflatten_fn)


def kind_of(tree: Any) -> Any:
    """What a tree's root is registered under; None for a leaf."""
    cls = type(tree)
    if cls in NODES:
        return cls
    if issubclass(cls, tuple):
        if isinstance(getattr(cls, "_fields", None), tuple):
            return namedtuple
        if hasattr(cls, "n_fields"):  # results of several fields, such as torch.return_types.max
            NODES[cls] = Node(lambda t: (t, None), lambda c, _: cls(c))
            return cls
    return None


class TreeSpec:
    """The structure of a tree: what it is without its leaves.

    Attributes
    ----------
    type : type
        What the root is registered under; None for a leaf.
    context : object
        What it needs beside its children.
    children_specs : list of TreeSpec
        Its children's.
    num_nodes, num_leaves, num_children : int
        How many there are.
    """

    __slots__ = ("children_specs", "context", "num_children", "num_leaves", "num_nodes", "type")

    def __init__(self, type: Any, context: Any, children_specs: Sequence[TreeSpec]) -> None:
        self.type, self.context, self.children_specs = type, context, list(children_specs)
        self.num_children = len(self.children_specs)
        self.num_nodes: int = 1 + sum([child.num_nodes for child in self.children_specs])
        self.num_leaves: int = sum([child.num_leaves for child in self.children_specs]) if type is not None else 1

    def __repr__(self, indent: int = 0) -> str:
        if self.type is None:
            return "*"
        inner = indent + 2
        children = (",\n" + " " * inner).join([child.__repr__(inner) for child in self.children_specs])
        return f"TreeSpec({self.type.__name__}, {self.context}, [{children}])"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TreeSpec):
            return NotImplemented
        own, theirs = (self.type, self.context), (other.type, other.context)
        return own == theirs and self.children_specs == other.children_specs

    def __hash__(self) -> int:
        context = tuple(self.context) if self.type in MAPPINGS[:2] else None
        return hash((self.type, context, tuple(self.children_specs)))

    def is_leaf(self) -> bool:
        """Whether it is that of a leaf."""
        return self.type is None

    def children(self) -> list[TreeSpec]:
        """The children's specs."""
        return list(self.children_specs)

    def child(self, index: int) -> TreeSpec:
        """A child's spec."""
        return self.children_specs[index]

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The tree with these leaves.

        Raises
        ------
        ValueError
            If there are more or fewer leaves than the tree has.
        """
        given = list(leaves)
        if len(given) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(given)} but the spec refers to a pytree that holds "
                f"{self.num_leaves} items ({self})."
            )
        return self._built(iter(given))

    def _built(self, leaves: Iterator[Any]) -> Any:
        if self.type is None:
            return next(leaves)
        return NODES[self.type].unflatten([child._built(leaves) for child in self.children_specs], self.context)

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """The parts of another tree that stand where this one has its leaves.

        Raises
        ------
        ValueError
            If the other tree has another structure above them.
        """
        parts: list[Any] = []
        self._collect(tree, parts)
        return parts

    def _collect(self, tree: Any, parts: list[Any]) -> None:
        if self.type is None:
            parts.append(tree)
            return
        kind = kind_of(tree)
        if self.type in MAPPINGS and kind in MAPPINGS:
            keys = self.context[1] if self.type is defaultdict else self.context
            missing, extra = set(keys) - set(tree), set(tree) - set(keys)
            if missing or extra:
                message = f"; missing key(s): {missing}" * bool(missing) + f"; extra key(s): {extra}" * bool(extra)
                raise ValueError(f"Node keys mismatch{message}.")
            children = [tree[key] for key in keys]
        else:
            if kind is not self.type:
                raise ValueError(f"Node type mismatch; expected {self.type!r}, but got {kind or type(tree)!r}.")
            found, context = NODES[kind].flatten(tree)
            children = list(found)
            if len(children) != self.num_children:
                raise ValueError(f"Node arity mismatch; expected {self.num_children}, but got {len(children)}.")
            if context != self.context:
                raise ValueError(
                    f"Node context mismatch for node type {self.type!r}: expected {self.context!r}, but got {context!r}."
                )
        for spec, child in zip(self.children_specs, children):
            spec._collect(child, parts)


class LeafSpec(TreeSpec):
    """The structure of a leaf."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(None, None, [])


LEAF = LeafSpec()


def tree_is_leaf(tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether a tree is a leaf: of no class that is a node, or one of which *is_leaf* says so."""
    return (is_leaf is not None and is_leaf(tree)) or kind_of(tree) is None


def tree_flatten(tree: PyTree, is_leaf: IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """A tree's leaves, in order, and its structure.

    Parameters
    ----------
    tree : object
        Lists, tuples, dicts, named tuples and registered classes within each other.
    is_leaf : callable, optional
        What it says True of is a leaf, whatever its class.

    Examples
    --------
    >>> from minitorch.utils._pytree import tree_flatten
    >>> tree_flatten({"a": 1, "b": (2, [3])})
    ([1, 2, 3], TreeSpec(dict, ['a', 'b'], [*,
      TreeSpec(tuple, None, [*,
        TreeSpec(list, None, [*])])]))
    """
    leaves: list[Any] = []
    spec = _flattened(tree, is_leaf, leaves)
    return leaves, spec


def _flattened(tree: PyTree, is_leaf: IsLeaf, leaves: list[Any]) -> TreeSpec:
    """The structure of a tree, whose leaves are appended.  (No inner function: a recursive one would keep them alive.)"""
    if tree_is_leaf(tree, is_leaf):
        leaves.append(tree)
        return LEAF
    kind = kind_of(tree)
    children, context = NODES[kind].flatten(tree)
    return TreeSpec(kind, context, [_flattened(child, is_leaf, leaves) for child in children])


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> PyTree:
    """The tree of a structure with these leaves: the inverse of ``tree_flatten``.

    Raises
    ------
    TypeError
        If *treespec* is none.
    ValueError
        If there are more or fewer leaves than the tree has.
    """
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"Expected `treespec` to be an instance of TreeSpec but got item of type {type(treespec)}.")
    return treespec.unflatten(leaves)


def tree_leaves(tree: PyTree, is_leaf: IsLeaf = None) -> list[Any]:
    """A tree's leaves, in order."""
    return tree_flatten(tree, is_leaf)[0]


def tree_iter(tree: PyTree, is_leaf: IsLeaf = None) -> Iterator[Any]:
    """A tree's leaves, one after the other."""
    yield from tree_leaves(tree, is_leaf)


def tree_structure(tree: PyTree, is_leaf: IsLeaf = None) -> TreeSpec:
    """A tree's structure."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """The tree with ``func(leaf)`` in place of each leaf.

    Parameters
    ----------
    func : callable
        Of one leaf of each tree.
    tree, *rests : object
        The trees; the others must have at least the first one's structure.
    is_leaf : callable, optional
        As for ``tree_flatten``.

    Raises
    ------
    ValueError
        If the trees' structures differ.

    Examples
    --------
    >>> from minitorch.utils._pytree import tree_map
    >>> tree_map(lambda x, y: x + y, {"a": 1, "b": (2,)}, {"a": 10, "b": (20,)})
    {'a': 11, 'b': (22,)}
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    return spec.unflatten(map(func, leaves, *[spec.flatten_up_to(rest) for rest in rests]))


def tree_map_(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """Call ``func`` on each leaf, for what it does; returns the tree as it was."""
    leaves, spec = tree_flatten(tree, is_leaf)
    for arguments in zip(leaves, *[spec.flatten_up_to(rest) for rest in rests]):
        func(*arguments)
    return tree


def _only(kinds: Any, func: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The function, for what is of these classes, or of what a callable says True; anything else as it is."""
    wanted = (lambda x: isinstance(x, kinds)) if isinstance(kinds, (type, tuple)) else kinds
    return lambda x: func(x) if wanted(x) else x


def tree_map_only(kinds: Any, func: Callable[[Any], Any], tree: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """``tree_map`` of the leaves that are of a class, or of several, or of which a callable says True.

    Examples
    --------
    >>> from minitorch.utils._pytree import tree_map_only
    >>> tree_map_only(int, lambda x: x + 1, [1, "a"])
    [2, 'a']
    """
    return tree_map(_only(kinds, func), tree, is_leaf=is_leaf)


def tree_map_only_(kinds: Any, func: Callable[[Any], Any], tree: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """``tree_map_`` of the leaves that are of a class, or of several, or of which a callable says True."""
    return tree_map_(_only(kinds, func), tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether a predicate holds of all leaves."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether a predicate holds of a leaf."""
    return any(map(pred, tree_leaves(tree, is_leaf)))


def broadcast_to_and_flatten(tree: PyTree, treespec: TreeSpec, is_leaf: IsLeaf = None) -> list[Any] | None:
    """The leaves of a tree that is the upper part of a structure, each as often as there are leaves below; None if it is not.

    Examples
    --------
    >>> from minitorch.utils._pytree import _broadcast_to_and_flatten, tree_structure
    >>> _broadcast_to_and_flatten((0, None), tree_structure(("a", ["b", "c"])))
    [0, None, None]
    """
    if tree_is_leaf(tree, is_leaf):
        return [tree] * treespec.num_leaves
    kind = kind_of(tree)
    if kind is not treespec.type:
        return None
    found, context = NODES[kind].flatten(tree)
    children = list(found)
    if len(children) != treespec.num_children or context != treespec.context:
        return None
    leaves: list[Any] = []
    for child, spec in zip(children, treespec.children_specs):
        below = broadcast_to_and_flatten(child, spec, is_leaf)
        if below is None:
            return None
        leaves += below
    return leaves
