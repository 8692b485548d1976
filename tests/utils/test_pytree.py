"""Trees of containers: taken apart, put together, mapped."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from importlib import import_module
from typing import Any

import pytest

from backend import torch

pytree = import_module(f"{torch.__name__}.utils._pytree")
Point = namedtuple("Point", ["x", "y"])


class Box:
    def __init__(self, content: Any, label: str = "") -> None:
        self.content, self.label = content, label


pytree.register_pytree_node(Box, lambda box: ([box.content], box.label), lambda parts, label: Box(*parts, label))

TREES = [
    (1, [1], "*"),
    (None, [None], "*"),
    ("ab", ["ab"], "*"),
    ((1, 2), [1, 2], "TreeSpec(tuple, None, [*,\n  *])"),
    ((), [], "TreeSpec(tuple, None, [])"),
    (
        [1, [2, (3,)]],
        [1, 2, 3],
        "TreeSpec(list, None, [*,\n  TreeSpec(list, None, [*,\n    TreeSpec(tuple, None, [*])])])",
    ),
    ({"b": 1, "a": [2]}, [1, 2], "TreeSpec(dict, ['b', 'a'], [*,\n  TreeSpec(list, None, [*])])"),
    (OrderedDict(b=1, a=2), [1, 2], "TreeSpec(OrderedDict, ['b', 'a'], [*,\n  *])"),
    (defaultdict(list, a=1), [1], "TreeSpec(defaultdict, [<class 'list'>, ['a']], [*])"),
    (deque([1, 2], 3), [1, 2], "TreeSpec(deque, 3, [*,\n  *])"),
    (Point(1, [2]), [1, 2], f"TreeSpec(namedtuple, {Point}, [*,\n  TreeSpec(list, None, [*])])"),
]


@pytest.mark.parametrize(("tree", "leaves", "spec"), TREES, ids=lambda v: repr(v)[:30])
def test_there_and_back(tree: Any, leaves: list[Any], spec: str) -> None:
    found, structure = pytree.tree_flatten(tree)
    assert found == leaves == pytree.tree_leaves(tree) == list(pytree.tree_iter(tree))
    assert repr(structure) == spec
    assert structure.num_leaves == len(leaves)
    assert structure == pytree.tree_structure(tree)
    assert structure.is_leaf() == (spec == "*")
    built = pytree.tree_unflatten(leaves, structure)
    assert built == tree
    assert type(built) is type(tree)
    if isinstance(tree, deque):
        assert built.maxlen == 3
    if isinstance(tree, defaultdict):
        assert built.default_factory is list


def test_registered_classes() -> None:
    doubled = pytree.tree_map(lambda x: 2 * x, {"a": Box([1, 2], "old")})["a"]
    assert (doubled.content, doubled.label) == ([2, 4], "old")
    assert repr(pytree.tree_structure(Box(1, "new"))) == "TreeSpec(Box, new, [*])"
    assert pytree.tree_structure(Box(1, "new")) != pytree.tree_structure(Box(1, "old"))

    class Derived(Box):
        pass

    assert pytree.tree_is_leaf(Derived(1))
    with pytest.raises(ValueError, match="is already registered as pytree node"):
        pytree.register_pytree_node(Box, lambda b: ([], None), lambda c, _: None)


def test_results_of_several_fields_are_nodes() -> None:
    found = torch.ones(2, 3).max(1)
    mapped = pytree.tree_map(lambda t: t + 1, found)
    assert type(mapped) is type(found)
    assert mapped.values.tolist() == [2.0, 2.0]
    assert pytree.tree_leaves(torch.Size([2, 3])) == [2, 3]


def test_several_trees() -> None:
    add = lambda *xs: sum(xs)
    assert pytree.tree_map(add, {"a": 1, "b": (2,)}, {"b": (20,), "a": 10}, OrderedDict(a=100, b=(200,))) == {
        "a": 111, "b": (222,),
    }  # fmt: skip
    assert pytree.tree_map(lambda a, b: (a, b), [1, 2], [[3, 4], 5]) == [(1, [3, 4]), (2, 5)]
    assert pytree.tree_map(add, Point(1, 2), Point(3, 4)) == Point(4, 6)
    calls: list[Any] = []
    tree = [1, (2,)]
    assert pytree.tree_map_(calls.append, tree) is tree
    assert calls == [1, 2]


@pytest.mark.parametrize(
    ("tree", "other", "message"),
    [
        ([1, 2], [1], "Node arity mismatch; expected 2, but got 1"),
        ([1, 2], (1, 2), "Node type mismatch; expected <class 'list'>, but got <class 'tuple'>"),
        ([1], 1, "Node type mismatch; expected <class 'list'>, but got <class 'int'>"),
        ({"a": 1}, {"b": 1}, r"Node keys mismatch; missing key\(s\): {'a'}; extra key\(s\): {'b'}"),
        (Box(1, "a"), Box(1, "b"), "Node context mismatch"),
    ],
)
def test_trees_that_differ(tree: Any, other: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pytree.tree_map(lambda a, b: a, tree, other)


def test_wrong_numbers_of_leaves() -> None:
    spec = pytree.tree_structure([1, 2])
    for leaves in ([1], [1, 2, 3]):
        with pytest.raises(ValueError, match=f"`leaves` has length {len(leaves)} but the spec refers to .* 2 items"):
            pytree.tree_unflatten(leaves, spec)
    with pytest.raises(TypeError, match="Expected `treespec` to be an instance of"):
        pytree.tree_unflatten([1], [1])


def test_what_is_a_leaf_can_be_said() -> None:
    pairs = lambda x: isinstance(x, tuple)
    assert pytree.tree_leaves([1, (2, 3)], is_leaf=pairs) == [1, (2, 3)]
    assert pytree.tree_map(len, [(1,), (2, 3)], is_leaf=pairs) == [1, 2]
    assert pytree.tree_is_leaf((1,), is_leaf=pairs)


def test_some_leaves() -> None:
    assert pytree.tree_map_only(int, lambda x: -x, [1, "a", 2.0]) == [-1, "a", 2.0]
    assert pytree.tree_map_only((int, str), lambda x: 2 * x, [1, "a", 2.0]) == [2, "aa", 2.0]
    assert pytree.tree_map_only(lambda x: x == 1, lambda x: 0, [1, 2]) == [0, 2]
    assert pytree.tree_all(lambda x: x > 0, [1, (2,)])
    assert not pytree.tree_any(lambda x: x > 2, [1, (2,)])


def test_specs() -> None:
    spec = pytree.tree_structure([1, {"a": 2}])
    assert (spec.num_nodes, spec.num_leaves, spec.num_children, spec.type, spec.context) == (4, 2, 2, list, None)
    assert spec.child(1) == pytree.tree_structure({"a": 0})
    assert spec.children()[0].is_leaf()
    assert hash(spec) == hash(pytree.tree_structure(["x", {"a": "y"}]))
    assert spec != pytree.tree_structure([1, {"b": 2}])
    assert spec.unflatten("xy") == ["x", {"a": "y"}]
    assert spec.flatten_up_to([(1, 2), {"a": [3]}]) == [(1, 2), [3]]


def test_broadcasting_to_a_structure() -> None:
    spec = pytree.tree_structure([1, [2, 3]])
    assert pytree._broadcast_to_and_flatten(0, spec) == [0, 0, 0]
    assert pytree._broadcast_to_and_flatten([0, None], spec) == [0, None, None]
    assert pytree._broadcast_to_and_flatten([0, [1, 2]], spec) == [0, 1, 2]
    assert pytree._broadcast_to_and_flatten((0, 1), spec) is None
    assert pytree._broadcast_to_and_flatten([0], spec) is None
