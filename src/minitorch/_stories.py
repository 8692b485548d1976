"""Errors that tell what happened: which operation saved a value and which wrote it, which pass freed a node, where operands
were made.  What was not recorded they say how to record.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._errors import scalar_name
from ._records import name_of, notes_of
from ._sites import site_of
from ._tape import AccumulateGrad, Node, Output

RECORD = "torch.autograd.record_sites()"

FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already "
    "been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
    "Specify retain_graph=True if you need to backward through the graph a second time or if you need to access "
    "saved tensors after calling backward."
)


# -- values that were written ------------------------------------------------------------------------------------------
def stale(node: Any, edits: Any, name: str) -> RuntimeError:
    """The error of a saved value that was written after *node* saved it."""
    value = getattr(node, f"saved_{name}", None)
    array = value if isinstance(value, np.ndarray) else getattr(value, "_array", None)
    what = "a tensor" if array is None else f"[torch.{scalar_name(array.dtype)}Tensor {list(array.shape)}]"
    called = name_of(value) if hasattr(value, "_array") else None
    what += f" {called!r}" if called else ""
    what += ", the result" if name.startswith("result") else f", the {name!r}"
    site = site_of_node(node)
    recorded = f", which was recorded at {site}," if site else ","
    later = [(op, site_of(mark)) for position, op, mark in edits.writer or () if position < node.position]
    known = later and len(later) < 8
    expected = (
        f"; expected version {edits.count - len(later)} instead" if known else " and was written after it was saved"
    )
    written = "".join([f" It was written at {site}, by {op}." for op, site in later[:3]])
    hint = (
        ""
        if site
        else " Hint: enable anomaly detection to find the operation that failed to compute its gradient, with "
        f"torch.autograd.set_detect_anomaly(True); {RECORD} tells the line that wrote it."
    )
    return RuntimeError(
        f"one of the variables needed for gradient computation has been modified by an inplace operation: {what} that "
        f"{node.name()} saved{recorded} is at version {edits.count}{expected}. Clone it before writing into it.{written}{hint}"
    )


def site_of_node(node: Any) -> Any:
    """Where a node was recorded, if that is known."""
    return None if node.extras is None else site_of(node.extras.mark)


# -- second passes -----------------------------------------------------------------------------------------------------
def raise_freed(node: Node) -> None:
    """Raise the error of a second backward."""
    site = site_of_node(node)
    freed = None if node.extras is None else site_of(node.extras.freed)
    recorded = f", recorded at {site}," if site else ""
    by = f" by the backward pass at {freed}: {freed.source}" if freed else ""
    hint = "" if freed else f" {RECORD} tells which pass freed it."
    raise RuntimeError(f"{FREED} ({node.name()}{recorded} has freed what it saved{by}.{hint})")


def is_freed(error: BaseException) -> bool:
    """Whether an error is that of a second backward pass."""
    return str(error).startswith(FREED[:40])


def tell_shared(error: BaseException, nodes: set[Any]) -> None:
    """Add to the error of a second backward which part of the graph an earlier pass had been through."""
    if not is_freed(error):
        return
    gone = {node for node in nodes if node.__class__ is not Output and node.extras is not None and node.extras.freed}
    inner = {_behind(edge) for node in gone for edge in node.edges}
    shared = sorted([node for node in gone - inner if gone != nodes], key=lambda node: node.position)
    if shared and any([node not in gone for node in nodes if node.__class__ not in (AccumulateGrad, Output)]):
        told = []
        for node in shared[:3]:
            module = node.extras.mark[2] if node.extras.mark else ""
            where = f" (module {module})" if module else ""
            told.append(f"{node.name()}{where} at {site_of_node(node)}")
        error.args = (f"{error.args[0]} Both passes go through {', '.join(told)}.", *error.args[1:])


def _behind(edge: Any) -> Any:
    return edge.edges[0] if edge.__class__ is Output else edge


# -- operands ----------------------------------------------------------------------------------------------------------
def tell_operands(error: Exception, inputs: tuple[Any, ...], names: list[str]) -> Exception:
    """Add to an error about operands what they are called and where they were made."""
    told, known = [], False
    for name, tensor in zip(names, inputs):
        if hasattr(tensor, "_array") and not getattr(tensor, "is_number", False):
            called = name_of(tensor)
            site = _made_at(tensor)
            known = known or site is not None
            if called or site:
                made = f" was made at {site.short}: {site.source}" if site else ""
                told.append(f"{name}{f' is {called!r}' if called else ''}{' and' * bool(called and made)}{made}")
    hint = [] if known else [f"{RECORD} tells where operands were made"]
    error.args = ("; ".join([str(error), *told, *hint]),)
    return error


def _made_at(tensor: Any) -> Any:
    node = tensor._node
    if node is None:
        return site_of(notes_of(tensor)[0])
    node = _behind(node)
    return None if node.__class__ is AccumulateGrad else site_of_node(node)
