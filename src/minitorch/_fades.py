"""Where gradients become zero on their way: noted in backward passes while recording is on, for ``autograd.explain``.

Of each gradient it is known which share of its entries is zero.  Where an operation makes that share larger, the operation is
noted, with what its saved values tell about the reason, and the note goes along with the gradient, down to the leaf.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ._records import Positions, history, op_name, recordings
from ._tape import AccumulateGrad, Node, Output, Outputs, extras_of

_NOTICED = 0.05
"""How much larger the share of zeros must become to be noted."""


class Fade(NamedTuple):
    """An operation that made a gradient zero, in whole or in part.

    Attributes
    ----------
    node : str
        The node's name.
    op : str
        The operation.
    mark : tuple or None
        Where it was called: see ``_sites.site_of``.
    before, after : float
        The share of zeros in the gradient that came in, and in the one that went out; ``after`` is 2 where none went out.
    why : str
        What the values that the operation saved tell.
    """

    node: str
    op: str
    mark: Any
    before: float
    after: float
    why: str


class Way(NamedTuple):
    """What is known of a gradient: its share of zeros, and which operations made them."""

    zeros: float
    fades: tuple[Fade, ...]


def for_pass(at_leaves: dict[Node, Way] | None = None) -> Callable[..., Any]:
    """What looks at each node of the backward pass that begins; what is known of leaves' gradients goes to their nodes, or to
    *at_leaves*.
    """
    ways: dict[Node, Way] = {} if at_leaves is None else at_leaves

    def check(node: Node, gradient: Any, run: Callable[[Any], Any], F: Any) -> Any:
        way, zeros = ways.pop(node, None), share_of_zeros(gradient)
        fades = () if way is None else way.fades
        if way is not None and zeros == 1 and way.zeros < 1 and node.extras is not None:
            fades = (_fade(node, way.zeros, zeros, "a hook there made it zero"),)
        elif fades and zeros < fades[-1].after - 0.5:
            fades = ()  # what came in since is not zero
        saved = [getattr(node, name, None) for name in node.saved_names]  # read before it runs, as it lets go of them
        results = run(gradient)
        for index, edge in enumerate(node.edges):
            if edge is None:
                continue
            result = results[index]
            if result is None:
                if not hasattr(node, "row"):  # a user's function; rows give None only where none is asked for
                    _note_stopped(node, edge, zeros)
                continue
            after = share_of_zeros(result)
            passed = fades
            more = after - zeros > (_NOTICED if after < 1 else 0)
            if more and node.__class__ is not Output and not (fades and _is_part(result, gradient)):
                passed = (*fades[-2:], _fade(node, zeros, after, why(node, index, saved, after)))
            way = _with_what_came_before(ways.get(edge), Way(after, passed))
            ways[edge] = way
            if at_leaves is None and edge.__class__ is AccumulateGrad:
                extras_of(edge).way = way
        return results

    return check


def _is_part(result: Any, gradient: Any) -> bool:
    """Whether what goes out is a part of what came in: then the zeros are those of whoever made them there."""
    return gradient.__class__ is not Outputs and np.may_share_memory(_value(result), _value(gradient))


def _with_what_came_before(known: Way | None, way: Way) -> Way:
    """What is known of one contribution together with what is known of those before."""
    if known is None:
        return way
    if known.zeros == 1 and way.zeros == 1:
        return Way(1.0, tuple(dict.fromkeys((*known.fades, *way.fades)))[-3:])
    return known if known.zeros < way.zeros else way


def _note_stopped(node: Node, edge: Node, zeros: float) -> None:
    """Note an operation that gives an input no gradient."""
    fade = _fade(node, zeros, 2.0, "its backward returned None for this input")
    stopped: tuple[Fade, Positions] = fade, history([edge])[0]
    for recording in recordings:
        recording.stopped.append(stopped)


def _fade(node: Node, before: float, after: float, why: str) -> Fade:
    row = getattr(node, "row", None)
    op = node.name().partition("Backward")[0] if row is None else op_name(row)
    return Fade(node.name(), op, None if node.extras is None else node.extras.mark, before, after, why)


def share_of_zeros(gradient: Any) -> float:
    """The share of entries that are zero; of several outputs, over all that have a gradient."""
    if gradient.__class__ is np.ndarray:
        return 1 - np.count_nonzero(gradient) / gradient.size if gradient.size else 1.0
    parts = gradient.values() if gradient.__class__ is Outputs else (gradient,)
    arrays = [np.asarray(getattr(part, "_array", part)) for part in parts if part is not None]
    size = sum([array.size for array in arrays])
    return 1 - sum([int(np.count_nonzero(array)) for array in arrays]) / size if size else 1.0


# -- reasons -----------------------------------------------------------------------------------------------------------
def _value(saved: Any) -> Any:
    return getattr(saved, "_array", saved)


def _zero(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.size > 0 and value.dtype.kind in "fbiu" and not value.any()


def _range(value: Any) -> str:
    if not isinstance(value, np.ndarray) or not value.size or value.dtype.kind not in "fiu":
        return ""
    return f"{value.min():.4g} to {value.max():.4g}"


def why(node: Any, index: int, saved: list[Any], after: float) -> str:
    """Why an operation's gradient is zero, as far as its saved values tell."""
    row = getattr(node, "row", None)
    if row is None:
        return "its backward returned zeros"
    kept = {name.removeprefix("saved_"): _value(value) for name, value in zip(node.saved_names, saved)}
    name = node.name().partition("Backward")[0].lower()
    how = "every" if after == 1 else "part of the"
    for names, reason in _REASONS:
        if name.startswith(names):
            return reason(row, index, kept, how)
    zero = [key for key, value in kept.items() if _zero(value)]
    if zero:
        return f"what it was multiplied by, {' and '.join(zero)}, is zero everywhere"
    ranges = [f"{key} is {text}" for key, value in kept.items() if (text := _range(value))]
    return "its derivative is zero for these values" + (f" ({', '.join(ranges)})" if ranges else "")


def _relu(row: Any, index: int, kept: dict[str, Any], how: str) -> str:
    seen = kept.get("self")
    at = f" ({_range(seen)})" if _range(seen) else ""
    if how == "every":
        return f"dead: every input is negative or zero{at}, so that its output and its derivative are zero"
    return f"part of its inputs are negative or zero{at}, where its derivative is zero"


def _clamp(row: Any, index: int, kept: dict[str, Any], how: str) -> str:
    low = kept.get("min", kept.get("min_val"))
    high = kept.get("max", kept.get("max_val"))
    bounds = " and ".join(
        [
            f"{side} {b if not isinstance(b, np.ndarray) else _range(b)}"
            for side, b in (("below", low), ("above", high))
            if b is not None
        ]
    )
    inputs = "every input is" if how == "every" else "part of its inputs are"
    at = f" (they are {text})" if (text := _range(kept.get("self"))) else ""
    where = f"{inputs} out of its bounds, {bounds or 'the other argument'}{at}"
    return f"{where}: there its output is constant and its derivative zero"


def _saturated(row: Any, index: int, kept: dict[str, Any], how: str) -> str:
    result = kept.get("result")
    if row.name in ("softmax", "log_softmax"):
        return "saturated: its scores are so far apart that its results are one-hot, where its derivative is zero"
    if _zero(result):
        return "saturated: its results are exactly 0 everywhere"
    return f"saturated: its results ({_range(result)}) are at their limits, where the derivative is zero"


def _product(row: Any, index: int, kept: dict[str, Any], how: str) -> str:
    name = row.inputs[index] if index < len(row.inputs) else ""
    others = {key: value for key, value in kept.items() if key != name}
    if any([_zero(value) for value in others.values()]):
        return "everything is multiplied by zero: the other factor is zero everywhere (as a mask that is false everywhere is)"
    if how != "every":
        return "part of the other factor is zero (as where a mask is false)"
    return "the gradient times the other factor is zero, or too small a number for its dtype"


def _choice(row: Any, index: int, kept: dict[str, Any], how: str) -> str:
    condition = kept.get("condition", kept.get("mask"))
    if how == "every":
        return f"every entry was taken from elsewhere: the condition is {bool(np.asarray(condition).flat[:1].any())} everywhere"
    return "part of the entries were taken from elsewhere"


def _largest(row: Any, index: int, kept: dict[str, Any], how: str) -> str:
    ends = "smallest" if "min" in row.name else "largest"
    return f"it passes the gradient on to the {ends} entries only; those that are not selected get zero"


def _selected(row: Any, index: int, kept: dict[str, Any], how: str) -> str:
    return "only the entries that it looked up, or chose, get a gradient; the others get zero"


def _flat(row: Any, index: int, kept: dict[str, Any], how: str) -> str:
    return "it is constant between its steps, so that its derivative is zero everywhere"


def _written(row: Any, index: int, kept: dict[str, Any], how: str) -> str:
    return "the values were overwritten in place, so that nothing depends on the old ones"


def _labels(row: Any, index: int, kept: dict[str, Any], how: str) -> str:
    if _zero(kept.get("kept")):
        return "every target is one to be ignored (ignore_index)"
    return "the targets that are ignored (ignore_index), or have no weight, give none"


_REASONS: tuple[tuple[tuple[str, ...], Callable[..., str]], ...] = (
    (("relu", "threshold"), _relu),
    (("clamp", "hardtanh", "hardsigmoid", "hardswish"), _clamp),
    (("softmax", "logsoftmax", "sigmoid", "tanh", "logsigmoid", "erf"), _saturated),
    (("where", "maskedfill", "maskedselect", "maskedscatter"), _choice),
    (("maximum", "minimum", "fmax", "fmin"), _largest),
    (
        (
            "max",
            "min",
            "amax",
            "amin",
            "aminmax",
            "topk",
            "sort",
            "kthvalue",
            "median",
            "mode",
            "cummax",
            "cummin",
            "adaptivemaxpool",
            "fractionalmaxpool",
        ),
        _largest,
    ),
    (("mul", "mm", "bmm", "mv", "addmm", "addmv", "baddbmm", "dot", "linear", "einsum"), _product),
    (
        (
            "embedding",
            "index",
            "gather",
            "select",
            "slice",
            "narrow",
            "take",
            "scatter",
            "split",
            "unbind",
            "diag",
            "tri",
        ),
        _selected,
    ),
    (("floor", "ceil", "round", "trunc", "sign", "heaviside", "bernoulli"), _flat),
    (("nllloss",), _labels),
    (("zero", "fill", "copybackwards", "copyslices", "copy"), _written),
)
"""Reasons by the beginning of the node's name, in small letters."""
