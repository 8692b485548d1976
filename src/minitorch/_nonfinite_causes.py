"""The usual causes of infinities and NaNs, by operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Arrays = dict[str, Any]
"""What an operation read, by name."""


def usual_cause(op: str, origin: Any, inputs: Arrays, out: np.ndarray) -> str | None:
    """Why an operation, or a node's backward, gave what is not finite; None where no usual cause is recognised."""
    name = op.rpartition(":")[2].rstrip("_")
    for known, causes in _CAUSES.items():
        if name in known.split():
            for holds, text in causes:
                try:
                    if holds(_First(inputs, origin, out)):
                        return text
                except (TypeError, ValueError, KeyError, IndexError):
                    continue
    if not origin.nan and out.dtype.kind == "f" and not name.endswith("Backward0"):
        return f"the result is beyond the largest {out.dtype}, {np.finfo(out.dtype).max:.3g}"
    return None


class _First:
    """What the conditions ask about: the inputs, in order, and the first bad place."""

    def __init__(self, inputs: Arrays, origin: Any, out: np.ndarray) -> None:
        self.arrays = list(inputs.values())
        self.by_name, self.origin, self.out = inputs, origin, out

    def some(self, holds: Callable[[Any], Any], index: int = 0) -> bool:
        """Whether an input has an element of which this holds."""
        return bool(np.any(holds(self.arrays[index])))

    def saved(self, holds: Callable[[Any], Any]) -> bool:
        """The same of any saved value: not of the gradient."""
        return any([bool(np.any(holds(a))) for name, a in self.by_name.items() if name != "gradient"])

    @property
    def nan(self) -> bool:
        return bool(self.origin.nan)


_SLOPE = (
    "{0}, where the slope is infinite; with a gradient of 0 (the branch that where() did not take, a masked element) that "
    "is 0 * inf = nan: make the input safe before the call, such as where(ok, x, 1), or add a small number inside"
)
_CAUSES: dict[str, list[tuple[Callable[[_First], bool], str]]] = {
    "log log2 log10": [
        (
            lambda f: not f.nan and f.some(lambda x: x == 0),
            "log of 0 is -inf: clamp the input, or use log_softmax, xlogy or logsumexp",
        ),
        (
            lambda f: f.some(lambda x: x < 0),
            "log of a negative number is nan: a value meant to be positive (a probability, a variance) is not",
        ),
    ],
    "log1p": [
        (
            lambda f: f.some(lambda x: x == -1),
            "log1p of -1 is -inf: clamp the input",
        ),
        (
            lambda f: f.some(lambda x: x < -1),
            "log1p of a number below -1 is nan: a value meant to be a probability is above 1",
        ),
    ],
    "xlogy": [
        (
            lambda f: f.some(lambda x: x <= 0, 1),
            "xlogy takes the log of 0 or of a negative number",
        ),
    ],
    "logit": [
        (
            lambda f: True,
            "logit is infinite at 0 and 1 and nan outside: pass eps=, or clamp",
        ),
    ],
    "sqrt": [
        (
            lambda f: f.some(lambda x: x < 0),
            "sqrt of a negative number is nan, rounding may have made it of 0: clamp at 0",
        ),
    ],
    "rsqrt": [
        (
            lambda f: f.some(lambda x: x < 0),
            "rsqrt of a negative number is nan: clamp the input",
        ),
        (
            lambda f: f.some(lambda x: x == 0),
            "rsqrt of 0 is infinite: add a small number inside",
        ),
    ],
    "div true_divide floor_divide fmod remainder": [
        (
            lambda f: f.nan and f.some(lambda x: x == 0, 1),
            "0 / 0 is nan: an empty sum, a norm or a count of 0 divides; add a small number or use where",
        ),
        (
            lambda f: f.some(lambda x: x == 0, 1),
            "division by 0: add a small number to the divisor, or clamp it",
        ),
    ],
    "reciprocal": [
        (
            lambda f: f.some(lambda x: x == 0),
            "the reciprocal of 0 is infinite: add a small number, or clamp",
        ),
    ],
    "exp exp2 expm1 sinh cosh": [
        (
            lambda f: True,
            "exp overflows (beyond 88.7 in float32, 709.7 in float64): subtract the maximum first, use logsumexp "
            "or softmax, or clamp",
        ),
    ],
    "pow pow_number float_power": [
        (
            lambda f: f.nan and f.some(lambda x: x < 0),
            "a negative number to a fractional power is nan",
        ),
        (
            lambda f: f.some(lambda x: x == 0),
            "0 to a negative power is infinite",
        ),
    ],
    "acos asin arccos arcsin": [
        (
            lambda f: True,
            "it is nan outside [-1, 1], where rounding may have brought a cosine: clamp",
        ),
    ],
    "atanh acosh": [
        (
            lambda f: True,
            "the input is at the end of what it is defined for, or outside: clamp",
        ),
    ],
    "erfinv ndtri": [
        (
            lambda f: True,
            "it is infinite at the ends of what it is defined for, and nan outside: clamp",
        ),
    ],
    "lgamma digamma": [
        (
            lambda f: True,
            "it is infinite at 0 and at negative integers",
        ),
    ],
    "softmax log_softmax": [
        (
            lambda f: True,
            "a row is -inf everywhere (all masked), so that it becomes 0 / 0: leave one element, or replace such rows",
        ),
    ],
    "mean nanmean": [
        (
            lambda f: f.out.size > 0 and f.arrays[0].size == 0,
            "the mean of no elements is 0 / 0",
        ),
    ],
    "std var std_mean var_mean": [
        (
            lambda f: f.nan,
            "the variance of one element with correction=1 (the default) is 0 / 0: pass correction=0, or look at "
            "the size first",
        ),
    ],
    "sum cumsum prod cumprod mul matmul mm bmm addmm": [
        (
            lambda f: not f.nan,
            "the result overflows: it is beyond the largest number of its dtype",
        ),
    ],
    "sub add": [
        (
            lambda f: f.nan,
            "inf - inf is nan: two infinities met that were of opposite sign",
        ),
    ],
    "binary_cross_entropy": [
        (
            lambda f: True,
            "the input must be probabilities within [0, 1]",
        ),
    ],
    # of the backward
    "SqrtBackward0": [
        (lambda f: f.saved(lambda x: x == 0), _SLOPE.format("sqrt at 0")),
    ],
    "RsqrtBackward0": [
        (lambda f: True, _SLOPE.format("rsqrt at 0")),
    ],
    "LogBackward0 Log2Backward0 Log10Backward0": [
        (lambda f: f.saved(lambda x: x == 0), _SLOPE.format("log at 0")),
    ],
    "DivBackward0 ReciprocalBackward0": [
        (lambda f: f.saved(lambda x: x == 0), _SLOPE.format("division by 0")),
    ],
    "PowBackward0 PowBackward1": [
        (lambda f: f.saved(lambda x: x == 0), _SLOPE.format("a power below 1 (or its logarithm) at 0")),
    ],
    "AcosBackward0 AsinBackward0 AtanhBackward0 AcoshBackward0": [
        (lambda f: True, _SLOPE.format("at the end of what it is defined for")),
    ],
    "LinalgVectorNormBackward0 NormBackward0 NormBackward1 CdistBackward0": [
        (lambda f: True, _SLOPE.format("a norm of 0")),
    ],
    "StdBackward0": [
        (lambda f: True, _SLOPE.format("a standard deviation of 0 (elements that are alike), or of one element")),
    ],
    "Atan2Backward0": [
        (
            lambda f: True,
            "atan2 has no slope at (0, 0)",
        ),
    ],
    "ExpBackward0": [
        (
            lambda f: True,
            "exp overflowed in the forward pass, or its gradient does",
        ),
    ],
}
"""Names of operations or nodes, and what may hold of their inputs: the first that does is told."""
