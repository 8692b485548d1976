"""Trees of containers under PyTorch's name: see ``minitorch._pytree``."""

from .._pytree import (
    NODES,
    Context,
    LeafSpec,
    PyTree,
    TreeSpec,
    broadcast_to_and_flatten,
    register_pytree_node,
    tree_all,
    tree_any,
    tree_flatten,
    tree_is_leaf,
    tree_iter,
    tree_leaves,
    tree_map,
    tree_map_,
    tree_map_only,
    tree_map_only_,
    tree_structure,
    tree_unflatten,
)

SUPPORTED_NODES = NODES
_register_pytree_node = register_pytree_node
_broadcast_to_and_flatten = broadcast_to_and_flatten

__all__ = [
    "Context",
    "LeafSpec",
    "PyTree",
    "TreeSpec",
    "register_pytree_node",
    "tree_all",
    "tree_any",
    "tree_flatten",
    "tree_is_leaf",
    "tree_iter",
    "tree_leaves",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_map_only_",
    "tree_structure",
    "tree_unflatten",
]
