"""Which programs are written: those of what a call would do now, on arguments that are tensors of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._modes import no_grad, set_grad_enabled
from .._pytree import tree_flatten, tree_unflatten
from .._runtime import Tensor, wrap
from .._trace_instructions import Graded, Ran, Slot
from ._facts import draws, flattened
from ._kept import memory_kept
from ._stands import flat, there
from ._variant import Variant
from ._watch import TRIES


def variants_of(traced: Any) -> list[Variant]:
    """The programs of a traced function, of those for one kind of inputs the last ones."""
    known = [variants for variants in (*traced._variants.values(), *traced._silent.values()) if variants]
    if not known:
        raise RuntimeError(f"to_python(): there is no program of {traced._name}: {traced.why_none()}")
    found: dict[Any, list[Variant]] = {}
    for variants in known:
        for variant in variants:
            arrays = [variant.trace.arrays[s] for s in variant.trace.arguments]
            key = repr(variant.given), *[(a.shape, a.dtype.name) for a in arrays]
            if variant is variants[0]:
                found[key] = []
            found[key].append(variant)
    all_found = [v for variants in found.values() for v in variants]
    if len({repr(v.given) for v in all_found}) > 1:
        raise RuntimeError(
            f"to_python(): {traced._name} was traced for arguments of several structures, or with other values of "
            "arguments that are no tensors: trace it anew for each, and write a module for each"
        )
    return all_found


def as_it_is_now(traced: Any) -> Any:
    """A traced function whose programs are what its calls do now, each argument a tensor of its own.

    A program that reads what has changed since, or was made for one tensor in two places, is made anew, on copies of its
    example.  Where the example is gone, it is left out.
    """
    known = [*traced._variants.values(), *traced._silent.values()]
    outdated = [
        v for variants in known for v in variants if (v.arrays() is None or v.one_for_several) and _only_computes(v)
    ]
    if not outdated:
        return traced
    made = type(traced)(traced.function, traced.passes, quiet=True)
    made._name, made._met, made._recorded = traced._name, list(traced._met), traced._recorded
    for table, own in ((traced._variants, made._variants), (traced._silent, made._silent)):
        for key, variants in table.items():
            if kept := [v for v in variants if not any([v is other for other in outdated])]:
                own[key] = kept
    made._refused.update({key: traced._refused[key] for key in made._silent})
    reason = ""
    with memory_kept(traced.function, whole=True):
        for variant in outdated:
            reason = _made_anew(made, variant) or reason
    if reason and not (made.variants or made._silent):
        raise RuntimeError(f"to_python(): {made._name} {reason}")
    return made


def _only_computes(variant: Variant) -> bool:
    """Whether a program is no training step, which is refused as it is: another call would change the weights."""
    return not any([isinstance(i, (Graded, Ran)) for i in flattened(variant.trace.instructions)])


def _made_anew(made: Any, variant: Variant) -> str:
    """Trace a function on the example of a program; why that cannot be, in words."""
    leaves, spec = flat(variant.given)
    leaves = [there(leaf) for leaf in leaves]
    arrays = [example() for example in variant.examples]
    if any([array is None for array in arrays]):
        why = "for one tensor as several arguments" if variant.one_for_several else "before what it reads changed"
        return f"was traced {why}, and the example is gone, for large ones are not kept: call it once more, on others"

    def call(function: Any, tensors: Sequence[Any]) -> Any:
        args, kwargs = tree_unflatten([tensors[x] if isinstance(x, Slot) else x for x in leaves], spec)
        return function(*args, **kwargs)

    try:
        with set_grad_enabled(variant.recording):
            for _ in range(TRIES):  # a first call may fill a cache
                call(made, own_tensors(arrays, variant.required))
                if not made._unsettled:
                    break
    except Exception as error:
        return f"was traced before what it reads changed, and fails now: {type(error).__name__}: {error}"
    if variant.one_for_several and not any(map(draws, variant.plan.instructions)):
        apart = own_tensors(arrays, variant.required)
        together = [apart[n] if named is None else named() for n, named in zip(variant.one_for_several, variant.named)]
        with no_grad():
            if None not in together and not _about_equal(call(made.function, together), call(made.function, apart)):
                raise RuntimeError(
                    f"to_python(): {made._name} gives other numbers where two of its arguments are one tensor, as in the "
                    "example, than where they are two of equal values: let it not ask that, or trace it on tensors of their own"
                )
    return ""


def own_tensors(arrays: Sequence[Any], required: Any = ()) -> list[Any]:
    """Tensors of copies of arrays, of which those at some places require grad."""
    tensors = [wrap(array.copy("K")) for array in arrays]
    for place, tensor in enumerate(tensors):
        tensor.requires_grad_(place in required)
    return tensors


def _about_equal(found: Any, other: Any) -> bool:
    """Whether results are equal to rounding."""
    (ours, spec), (theirs, its) = tree_flatten(found), tree_flatten(other)
    if spec != its:
        return False
    for a, b in [(a._array, b._array) for a, b in zip(ours, theirs) if isinstance(a, Tensor) and isinstance(b, Tensor)]:
        if a.shape != b.shape or a.dtype != b.dtype:
            return False
        close = float(np.finfo(a.dtype).eps) ** 0.5 if a.dtype.kind == "f" else 0.0
        if not np.allclose(a, b, close, close * float(np.abs(b).max(initial=0, where=np.isfinite(b))), equal_nan=True):
            return False
    return True
