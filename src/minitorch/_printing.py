"""How tensors print: the text of their values, the suffixes of their repr, and the options that shape both."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["format_array", "format_tensor", "get_printoptions", "set_printoptions"]


class _PrintOptions(NamedTuple):
    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


_PROFILES: Mapping[str, Mapping[str, float]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}

_options = _PrintOptions()


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Choose how tensors print from now on.

    An argument left at None keeps the option as it was, except `sci_mode`, which every call sets.

    Parameters
    ----------
    precision : int, optional
        Digits after the decimal point of floating-point values (default 4).
    threshold : float, optional
        Number of elements above which a tensor is summarised (default 1000; ``math.inf`` for never).
    edgeitems : int, optional
        Elements a summary shows at each end of each dimension (default 3).
    linewidth : int, optional
        Characters a line may have before it is wrapped (default 80).
    profile : {"default", "short", "full"}, optional
        A set of values for the four options above, which the other arguments override. "short" prints two digits and
        two edge items; "full" never summarises. Any other name changes nothing.
    sci_mode : bool, optional
        Whether floating-point values print in scientific notation; None chooses it where a tensor's values are tiny,
        huge, or far apart.

    See Also
    --------
    get_printoptions : the options in force.

    Examples
    --------
    >>> set_printoptions(precision=2)
    >>> format_array(np.array([0.125, 2.5]))
    '[0.12, 2.50]'
    >>> set_printoptions(profile="default")
    >>> format_array(np.array([0.125, 2.5]))
    '[0.1250, 2.5000]'
    """
    global _options
    chosen: dict[str, Any] = dict(_PROFILES.get(profile, {})) if profile is not None else {}
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    chosen.update((name, value) for name, value in given.items() if value is not None)
    _options = _options._replace(**chosen, sci_mode=sci_mode)


def get_printoptions() -> dict[str, Any]:
    """Return the print options in force, as keyword arguments of `set_printoptions`.

    Examples
    --------
    >>> get_printoptions()
    {'precision': 4, 'threshold': 1000, 'edgeitems': 3, 'linewidth': 80, 'sci_mode': None}
    """
    return _options._asdict()


def format_array(array: npt.NDArray[Any], indent: int = 0) -> str:
    """Return the values of an array as a tensor's repr shows them.

    Parameters
    ----------
    array : ndarray
        Booleans, integers or floating-point numbers, of any shape.
    indent : int
        Column at which the text will start; the lines after the first are indented to match.

    Returns
    -------
    str
        Nested brackets with aligned columns; only the edges of each dimension if the array has more elements than
        the threshold. The elements left out are never read.

    Examples
    --------
    >>> print(format_array(np.array([[1.0, -0.5], [10.0, 2.0]])))
    [[ 1.0000, -0.5000],
     [10.0000,  2.0000]]
    >>> format_array(np.arange(2000))
    '[   0,    1,    2,  ..., 1997, 1998, 1999]'
    """
    if array.size == 0:
        return "[]"
    elided = [False] * array.ndim
    if array.ndim > 0 and array.size > _options.threshold:
        if _options.edgeitems == 0:
            return "[...]"
        elided = [length > 2 * _options.edgeitems for length in array.shape]
        array = _edges(array, _options.edgeitems)

    texts, width = _format_elements(array)
    per_line = max(1, int((_options.linewidth - indent - array.ndim + 1) // (width + len(", "))))
    # From the innermost dimension outwards, join the texts of each dimension's items into the text of one item.
    for axis in reversed(range(array.ndim)):
        innermost = axis == array.ndim - 1
        length = array.shape[axis]
        rows = [texts[start : start + length] for start in range(0, len(texts), length)]
        if elided[axis]:
            for row in rows:
                row.insert(length // 2, " ..." if innermost else "...")
        if innermost:
            rows = [_fill_lines(row, per_line) for row in rows]
        separator = "," + "\n" * max(1, array.ndim - 1 - axis) + " " * (indent + axis + 1)
        texts = [f"[{separator.join(row)}]" for row in rows]
    return texts[0]


def format_tensor(
    array: npt.NDArray[Any],
    *,
    prefix: str = "tensor(",
    default_dtype: npt.DTypeLike = np.float32,
    suffixes: Sequence[str] = (),
) -> str:
    """Return the repr of a tensor.

    Parameters
    ----------
    array : ndarray
        The tensor's values.
    prefix : str
        What comes before the values, with the opening parenthesis; lines after the first are indented by its length.
    default_dtype : dtype
        The floating-point dtype that goes without saying.
    suffixes : sequence of str
        What follows the values, shape and dtype, in this order, such as ``"grad_fn=<MulBackward0>"``.

    Returns
    -------
    str
        The prefix, values and suffixes, and a closing parenthesis. The dtype is shown unless it is the default one
        or, when there are values to tell it by, int64 or bool. The shape is shown where the brackets don't tell it.

    Examples
    --------
    >>> print(format_tensor(np.array([1.0, 2.0]), suffixes=["requires_grad=True"]))
    tensor([1., 2.], dtype=torch.float64, requires_grad=True)
    >>> print(format_tensor(np.zeros((2, 0), dtype=np.float32)))
    tensor([], size=(2, 0))
    """
    empty = array.size == 0
    parts = []
    if array.ndim != 1 if empty else _options.edgeitems == 0:
        parts.append(f"size={array.shape}")
    implied_dtypes = [default_dtype] if empty else [default_dtype, np.int64, np.bool_]
    if array.dtype not in implied_dtypes:
        parts.append(f"dtype=torch.{array.dtype.name}")
    indent = len(prefix)
    return _append_suffixes(prefix + format_array(array, indent), [*parts, *suffixes], indent)


def _edges(array: npt.NDArray[Any], edgeitems: int) -> npt.NDArray[Any]:
    """Return the array without the middle of each dimension that is longer than twice `edgeitems`."""
    kept = [
        np.r_[:edgeitems, length - edgeitems : length] if length > 2 * edgeitems else np.arange(length)
        for length in array.shape
    ]
    return array[np.ix_(*kept)]


def _format_elements(array: npt.NDArray[Any]) -> tuple[list[str], int]:
    """Return the padded text of every element, in C order, and the width they were padded to."""
    flat = array.ravel()
    if array.dtype.kind != "f":
        texts = [str(value) for value in flat.tolist()]
        width = max(map(len, texts))
    else:
        # Zeros, infinities and nans take no part in choosing the notation or the width, even if they are wider.
        decisive = np.isfinite(flat) & (flat != 0)
        spec, point = _float_notation(flat[decisive])
        texts = [format(value, spec) + (point if math.isfinite(value) else "") for value in flat.tolist()]
        width = max((len(text) for text, decides in zip(texts, decisive.tolist(), strict=True) if decides), default=1)
    return [text.rjust(width) for text in texts], width


def _float_notation(values: npt.NDArray[np.floating[Any]]) -> tuple[str, str]:
    """Return the format spec for floats of which `values` are the non-zero finite ones, and what follows each."""
    if values.size == 0:
        return ".0f", "."
    if _use_scientific(values):
        return f".{_options.precision}e", ""
    if np.all(values == np.trunc(values)):
        return ".0f", "."
    return f".{_options.precision}f", ""


def _use_scientific(values: npt.NDArray[np.floating[Any]]) -> bool:
    if _options.sci_mode is not None:
        return _options.sci_mode
    magnitudes = np.abs(values)
    smallest, largest = float(magnitudes.min()), float(magnitudes.max())
    return largest / smallest > 1e3 or largest > 1e8 or smallest < 1e-4


def _fill_lines(texts: Sequence[str], per_line: int) -> list[str]:
    return [", ".join(texts[start : start + per_line]) for start in range(0, len(texts), per_line)]


def _append_suffixes(text: str, suffixes: Sequence[str], indent: int) -> str:
    """Append suffixes and a closing parenthesis to `text`, with a line break before each that would not fit."""
    # The line that ends the values counts two characters more than it has, so that the first suffix breaks earlier.
    column = len(text) - (text.rfind("\n") + 1) + 2
    for suffix in suffixes:
        if column + len(", ") + len(suffix) > _options.linewidth:
            text += ",\n" + " " * indent + suffix
            column = indent + len(suffix)
        else:
            text += ", " + suffix
            column += len(", ") + len(suffix)
    return text + ")"
