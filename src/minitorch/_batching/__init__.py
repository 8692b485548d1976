"""Batching rules: a row on whole batches, as it is on each of their examples.

``batched`` runs a row by its rule; ``vmap`` (in ``func``) runs the operations of a function so.  See
docs/design/11-transforms.md.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any

from .._errors import public_name
from .._modes import no_grad
from .._op import Row, rows
from .._pytree import tree_map
from ..ops._matrices import LinAlgError
from ..ops.subscript import Indices
from ._batch import Batch, Batched, Rule, call, to_front
from ._choices import CHOICES, PARTIAL
from ._places import dynamic as refused
from ._shapes import elementwise
from ._table import BARE, NO_NEGATIVES, NUMBERS, RULES, SHOWN, STACKED, SUBSCRIPTS

__all__ = ["Batched", "batched", "by_rule", "of_an_example", "rule_of"]

_warned: set[str] = set()


def rule_of(row: Any) -> Rule | None:
    """The rule of a row, or of a choice; None where it has none and is done example by example."""
    if row.__class__ is not Row:
        return CHOICES.get(row.name) if row.fits or row.name in STACKED else refused
    name = row.name.removesuffix(", with asides")
    found = RULES.get(name)
    return elementwise if found is None and rows[name].elementwise else found


def batched(
    row: Row, tensors: Sequence[Any], dims: Sequence[int | None], params: Sequence[Any], size: int
) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    """The outputs of a row for every example of a batch, and where their batch dimensions are.

    Parameters
    ----------
    row : Row
        What is called.
    tensors : sequence
        Its inputs: Tensors, or numbers.
    dims : sequence of int or None
        Which dimension of each is the batch; None where it has none.
    params : sequence
        The row's constants, as one example has them; ``Batched`` where a tensor among them has a batch, in front.
    size : int
        How many examples there are.
    """
    fronts = [t if d is None else to_front(t, d) for t, d in zip(tensors, dims)]
    out = by_rule(Batch(row, fronts, [d is not None for d in dims], dict(zip(row.params, params)), size))
    outputs = tuple(out) if isinstance(out, (tuple, list)) else (out,)
    return outputs, (0,) * len(outputs)


def by_rule(batch: Batch) -> Any:
    """What the row gives, by its rule or example by example: a Tensor or a tuple, with the batch in front."""
    rule = rule_of(batch.row)
    if batch.row.name in NO_NEGATIVES:
        refuse_negatives(batch)
    out = None if rule is None or (batch.params and not knows(rule, batch.params)) else rule(batch)
    return looped(batch) if out is None else out


def refuse_negatives(batch: Batch) -> None:
    """Raise for an index below zero in some example: public functions have looked at the first one only."""
    for name, tensor in zip(batch.row.inputs, batch.tensors):
        array = tensor._array
        if name in ("index", "indices") and array.size and (lowest := array.min()) < 0:
            raise NO_NEGATIVES[batch.row.name](f"{batch.row.name}(): index {lowest} is out of bounds (under vmap)")


def knows(rule: Rule, params: dict[str, Any]) -> bool:
    """Whether a rule knows the constants that have a batch, if any."""
    read = [p for name, p in params.items() if name not in SHOWN]
    within = [v for p in read if isinstance(p, (tuple, list)) for v in p if isinstance(v, Batched)]
    alone = [p for p in read if isinstance(p, Batched)]
    if within or not all([p.bare for p in alone]):
        return rule in SUBSCRIPTS
    if any([p.number for p in alone]):
        return rule in NUMBERS
    return not alone or rule in BARE


def may_loop(choice: Any) -> bool:
    """Whether a choice has no rule, or one that does not cover all of its calls."""
    rule = rule_of(choice)
    return rule is None or rule in PARTIAL


def function_of(row: Any) -> str:
    """The function that people called, or whose gradient it is."""
    name = public_name(row).removesuffix("_layer")
    function, _, part = name.rpartition("_")
    return f"the gradient of {function}" if part == "backward" else name


def looped(batch: Batch) -> Any:
    """The row on each example; the results stacked."""
    name = batch.caller or function_of(batch.row)
    if name not in _warned:
        _warned.add(name)
        warnings.warn(
            f"There is a performance drop because we have not yet implemented the batching rule for {name}: it runs once for "
            "each of the examples.",
            UserWarning,
            stacklevel=3,
        )

    results = []
    for number in range(batch.size):
        out = call(batch.row, *_example(batch, number))
        results.append(tuple(out) if isinstance(out, (tuple, list)) else (out,))
    columns = list(zip(*results))
    for column in columns if batch.row.name in STACKED else ():
        if len(shapes := {t._array.shape for t in column}) > 1:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but under vmap {batch.row.name} of the examples have the shapes "
                f"{sorted(shapes)}: give them the same sizes, or loop over the examples"
            )
    return tuple([call("stack", list(column), {"dim": 0}) for column in columns])


def of_an_example(batch: Batch, error: Exception) -> Exception:
    """The error of the first example that a row fails for, which names its shapes; that of the whole batch, if none fails."""
    if batch.row.__class__ is not Row or isinstance(
        error, (LinAlgError, Warning)
    ):  # which say themselves what is wrong
        return error
    for number in range(batch.size):
        try:
            with no_grad():
                call(batch.row, *_example(batch, number))
        except Exception as own:
            if own.__class__ is error.__class__:
                own.add_note(f"(raised for example {number} of the {batch.size} of a vmap)")
                return own
    return error


def _example(batch: Batch, number: int) -> tuple[list[Any], dict[str, Any]]:
    """The tensors and the constants of an example."""
    tensors = [_part(t, number) if b else t for t, b in zip(batch.tensors, batch.batched)]
    one = partial(_part_of_constant, number=number)
    params = {name: tree_map(one, value) for name, value in batch.params.items()}
    if rule_of(batch.row) in SUBSCRIPTS:
        params["indices"] = Indices(params["indices"])
    return tensors, params


def _part(tensor: Any, number: int) -> Any:
    return call("select", [tensor], {"dim": 0, "index": number})


def _part_of_constant(value: Any, number: int) -> Any:
    if not isinstance(value, Batched):
        return value
    tensor = _part(value.tensor, number)
    return float(tensor._array) if value.number else tensor._array if value.bare else tensor
