"""Run a sample with minitorch and with PyTorch, and say where they differ."""

from __future__ import annotations

import functools
import re
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch as pytorch

import minitorch

from .samples import Sample, samples, some, wrong
from .spec import Part

RELATIVE = {"float16": 5e-3, "float32": 1e-4}
ABSOLUTE = {"float16": 5e-3, "float32": 1e-5}


@dataclass
class Outcome:
    """What a call gave.

    Attributes
    ----------
    error : Exception or None
        What it raised; the rest is then empty.
    values : list
        The result, flat: tensors as (dtype, shape, requires_grad, array), everything else as it is.
    inputs : list of ndarray
        What is in the inputs afterwards.
    first, second : list of (ndarray or None), or Exception, or None
        Gradients of both orders.
    """

    error: Exception | None = None
    values: list[Any] = field(default_factory=list)
    inputs: list[np.ndarray] = field(default_factory=list)
    raw: Any = None
    first: Any = None
    second: Any = None


# -- building the inputs -----------------------------------------------------------------------------------------------
def lay_out(torch: Any, array: np.ndarray, layout: str, needs_grad: bool, copied: bool) -> tuple[Any, Any]:
    """A leaf, and the tensor with the array's values that a call gets."""
    if layout == "transposed" and array.ndim > 1:
        base, view = array.T, lambda t: t.permute(tuple(range(array.ndim))[::-1])
    elif layout == "sliced" and array.ndim:
        base, view = np.repeat(array, 2, -1), lambda t: t[..., ::2]
    elif layout == "sliced":
        base, view = np.stack([array, array]), lambda t: t[1]
    elif layout == "expanded" and array.ndim:
        base, view = array[:1], lambda t: t.expand(array.shape)
    else:
        base, view = array, lambda t: t
    leaf = torch.from_numpy(np.array(base, order="C"))
    if needs_grad:
        leaf.requires_grad_()
    return leaf, view(leaf.clone() if copied else leaf)


def inputs_of(torch: Any, sample: Sample) -> tuple[list[Any], dict[str, Any]]:
    """The leaves that require grad, and every tensor by name."""
    leaves, tensors = [], {}
    arrays = sample.arrays()
    able = [name for name, array in arrays.items() if array.dtype.kind == "f"]
    chosen = {"all": able, "first": able[:1], "last": able[-1:], "none": []}[sample.needs]
    for name, array in arrays.items():
        leaf, tensors[name] = lay_out(torch, array, sample.layout, name in chosen, sample.writes)
        if name in chosen:
            leaves.append(leaf)
    return leaves, tensors


# -- running -----------------------------------------------------------------------------------------------------------
@functools.cache
def compiled(form: str) -> Any:
    return compile(form, form, "eval")


def evaluate(torch: Any, sample: Sample, tensors: dict[str, Any]) -> Any:
    names = {"torch": torch, "inf": float("inf"), "nan": float("nan"), "np": np, **tensors}
    if not re.search(r"=out\b", sample.form):
        return eval(compiled(sample.form), names)
    with torch.no_grad():
        result = eval(compiled(re.sub(r"(, )?out=out", "", sample.form)), names)
    names["out"] = out = prepared(torch, result, sample.key % 3)
    result = eval(compiled(sample.form), names)
    outs, results = ([out], [result]) if isinstance(out, torch.Tensor) else (out, result)
    return result, [r is o for r, o in zip(results, outs)], out


def prepared(torch: Any, result: Any, kind: int) -> Any:
    """Tensors for ``out=``: alike, empty, or not contiguous."""
    if not isinstance(result, torch.Tensor):
        return tuple([prepared(torch, r, kind) for r in result])
    if kind == 0:
        return torch.empty(0, dtype=result.dtype)
    if kind == 1 and result.dim():
        return torch.zeros(*result.shape, 2, dtype=result.dtype)[..., 0]
    return torch.zeros(tuple(result.shape), dtype=result.dtype)


def flat(torch: Any, value: Any, tensors: list[Any], given: dict[str, Any]) -> list[Any]:
    """Tensors go to *tensors*; what they are, and everything else, into a list."""
    if isinstance(value, torch.Tensor):
        tensors.append(value)
        same = [name for name, tensor in given.items() if tensor is value]
        return [("tensor", str(value.dtype), tuple(value.shape), value.requires_grad, tuple(same))]
    if isinstance(value, (tuple, list)):
        kind: Any = "list" if isinstance(value, list) else "tuple"
        if hasattr(value, "n_fields"):  # a named tuple
            kind = [(n, i) for n in dir(value) for i, v in enumerate(value) if n[0] != "_" and getattr(value, n) is v]
        return [(kind, len(value)), *(x for v in value for x in flat(torch, v, tensors, given))]
    if isinstance(value, (bool, int, float, str, type(None))):
        return [(type(value).__name__, value)]
    return [(str(value),)]


def starts(torch: Any, tensors: list[Any], seed: int) -> list[Any]:
    rng = np.random.default_rng([seed, 1])
    made = [np.asarray(rng.normal(size=tuple(t.shape))).astype(str(t.dtype).split(".")[1]) for t in tensors]
    return [torch.from_numpy(m) for m in made]


def plain(tensor: Any) -> Any:
    return None if tensor is None else tensor.detach().numpy()


def run(torch: Any, sample: Sample) -> Outcome:
    """Call it, and differentiate it once and twice."""
    outcome = Outcome()
    leaves, given = inputs_of(torch, sample)
    try:
        result = evaluate(torch, sample, given)
    except Exception as error:
        return Outcome(error)
    tensors: list[Any] = []
    outcome.values = flat(torch, result, tensors, given)
    outcome.values += [plain(t).copy() for t in tensors]
    outcome.inputs = [plain(t).copy() for t in given.values()]
    outputs = [t for t in tensors if t.requires_grad]
    if outputs and leaves:
        differentiate(torch, outcome, outputs, leaves, sample)
    return outcome


def differentiate(torch: Any, outcome: Outcome, outputs: list[Any], leaves: list[Any], sample: Sample) -> None:
    grad = torch.autograd.grad
    with_second = all([t.dtype is torch.float64 for t in (*outputs, *leaves)])
    try:
        if torch is minitorch or not with_second:
            found = grad(
                outputs, leaves, starts(torch, outputs, sample.key), retain_graph=with_second, allow_unused=True
            )
            outcome.raw = outcome.first = [plain(g) for g in found]
        if with_second:
            found = grad(outputs, leaves, starts(torch, outputs, sample.key), create_graph=True, allow_unused=True)
            outcome.first = [plain(g) for g in found]
    except Exception as error:
        outcome.first = error
        return
    if not with_second:
        return
    again = [g for g in found if g is not None and g.requires_grad]
    try:
        second = grad(again, leaves, starts(torch, again, sample.key), allow_unused=True) if again else []
        outcome.second = [plain(g) for g in second]
    except Exception as error:
        outcome.second = error


# -- comparing ---------------------------------------------------------------------------------------------------------
def close(ours: Any, theirs: Any, tolerance: float) -> str:
    """How two arrays differ; None counts as zeros."""
    if ours is None or theirs is None:
        value = theirs if ours is None else ours
        return "" if value is None or not np.any(value) else f"{ours} instead of {theirs}"
    if ours.dtype != theirs.dtype or ours.shape != theirs.shape:
        return f"{ours.dtype} {ours.shape} instead of {theirs.dtype} {theirs.shape}"
    relative, absolute = RELATIVE.get(str(theirs.dtype), tolerance), ABSOLUTE.get(str(theirs.dtype), tolerance)
    if np.allclose(ours, theirs, relative, absolute, equal_nan=True):
        return ""
    wrong = ~np.isclose(ours, theirs, relative, absolute, equal_nan=True)
    return f"{ours[wrong].ravel()[:3].tolist()} instead of {theirs[wrong].ravel()[:3].tolist()}"


def closes(ours: Any, theirs: Any, tolerance: float) -> str:
    if isinstance(ours, Exception):
        return f"raises {type(ours).__name__}: {str(ours)[:100]}"
    if len(ours or []) != len(theirs or []):  # gradients that do not require grad have second derivatives of zero
        more = [m for m in ours or theirs if m is not None]
        return f"{ours} instead of {theirs}" if any([close(m, np.zeros_like(m), tolerance) for m in more]) else ""
    return next(filter(None, [close(a, b, tolerance) for a, b in zip(ours or [], theirs or [])]), "")


def named(error: Exception) -> str:
    return type(error).__name__.strip("_")


def same_class(ours: Exception, theirs: Exception) -> bool:
    """Whether the classes are the same; TypeError also where PyTorch's code in Python stumbles over what is no Tensor."""
    return named(ours) == named(theirs) or (
        isinstance(ours, TypeError) and isinstance(theirs, AttributeError) and "object has no attribute" in str(theirs)
    )


def difference(sample: Sample) -> str | None:
    """How minitorch differs from PyTorch; "" where it does not; None where the sample does not count."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = run(pytorch, sample)
    if sample.wrong and theirs.error is None:
        return None
    if not sample.wrong and isinstance(theirs.error, NotImplementedError):
        return None  # a dtype for which PyTorch has no kernel
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        ours = run(minitorch, sample)
    if theirs.error is not None:
        if not sample.wrong and isinstance(ours.error, NotImplementedError):
            return None  # the dtype is wrong too
        if ours.error is None:
            return f"gives {str(ours.values)[:80]}, but should raise {named(theirs.error)}: {str(theirs.error)[:90]!r}"
        if not same_class(ours.error, theirs.error):
            return (
                f"raises {named(ours.error)}: {str(ours.error)[:90]!r}, "
                f"but should raise {named(theirs.error)}: {str(theirs.error)[:90]!r}"
            )
        return ""
    if ours.error is not None:
        return f"raises {named(ours.error)}: {str(ours.error)[:160]!r}"
    return different(ours, theirs, sample.part.tolerance)


def different(ours: Outcome, theirs: Outcome, tolerance: float) -> str:
    if any([v[:2] == ("tensor", "torch.float32") for v in theirs.values if isinstance(v, tuple)]):
        tolerance = RELATIVE["float32"]  # of gradients too, though they may be of float64 again
    ours_plain = [v for v in ours.values if not isinstance(v, np.ndarray)]
    theirs_plain = [v for v in theirs.values if not isinstance(v, np.ndarray)]
    if not same_plain(ours_plain, theirs_plain):
        return f"{ours_plain} instead of {theirs_plain}"
    arrays = [[v for v in o.values if isinstance(v, np.ndarray)] for o in (ours, theirs)]
    if found := closes(*arrays, tolerance):
        return f"value: {found}"
    if found := closes(ours.inputs, theirs.inputs, tolerance):
        return f"inputs afterwards: {found}"
    stages = [
        ("gradient", ours.raw, theirs.first if ours.raw is not None else None, tolerance),
        ("gradient with create_graph", ours.first, theirs.first, tolerance),
        ("second gradient", ours.second, theirs.second, max(tolerance, 1e-6)),
    ]
    for stage, mine, pytorchs, bound in stages:
        if pytorchs is None or isinstance(pytorchs, Exception):
            continue
        if found := closes(mine, pytorchs, bound):
            return f"{stage}: {found}"
    return ""


def same_plain(ours: list[Any], theirs: list[Any]) -> bool:
    if ours == theirs:
        return True
    for a, b in zip(ours, theirs):
        if a[0] == b[0] == "float" and np.isclose(a[1], b[1], 1e-6, 1e-6, equal_nan=True):
            continue
        if a != b:
            return False
    return len(ours) == len(theirs)


def check(parts: list[Part], only: int | None = None) -> tuple[int, list[tuple[Sample, str]]]:
    """How many right calls were compared, of all or of a few, and what differs."""
    chosen = [s for part in parts for s in (*samples(part), *wrong(part))] if only is None else some(parts, only)
    compared, found = 0, []
    for sample in chosen:
        text = difference(sample)
        compared += text is not None and not sample.wrong
        if text:
            found.append((sample, text))
    return compared, found
