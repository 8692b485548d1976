"""The functions that texts call: which are public, what the others mean, and what each does."""

from __future__ import annotations

import functools
import inspect
import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _runtime, ops
from .._choices import choices as choices_by_name
from .._differentiate import grad as gradient_of
from .._modes import enable_grad
from .._op import rows
from ..ops import (
    activation,
    adaptive_pool,
    arrange,
    choices,
    class_loss,
    conv,
    diagonals,
    einsum,
    extrema,
    factorisations,
    gamma_normal,
    gather,
    index,
    join,
    loss,
    masked,
    matrix_functions,
    memory,
    normalize,
    pad,
    pointwise,
    pool,
    reduce,
    resample,
    rounding,
    scan,
    scatter_reduce,
    solves,
    sort,
    special,
    statistics,
    view_scatter,
)  # fmt: skip
from ._formula_text import LEFT_OUT, Ref, identifier, inner
from ._formula_written import heads


# -- names -------------------------------------------------------------------------------------------------------------
def name_of_call(name: str, args: Any, params: tuple[tuple[str, Any], ...]) -> str:
    """How texts call a row or a choice: by its name, unless a function of this name would take that otherwise."""
    given = [p for p, value in params if value is not LEFT_OUT and (value is not None or p[0] == "_")]
    refs = {ref.place for _, value in params for ref in inner(value, Ref)}
    places = 1 if "*" in given else len(args) - len(refs) + len([p for p in given if p[0] == "_"])
    words = tuple([p for p in given if p[0] not in "_*"])
    return name if name != "lu_solve" and binds(name, places, words) else f"{name}{OWN}"


@functools.cache
def binds(name: str, places: int, words: tuple[str, ...]) -> bool:
    """Whether a function, if there is one of this name, takes so many arguments and these keywords."""
    found = functions().get(name, [])
    for function in found:
        try:
            inspect.signature(function).bind(*[None] * places, **dict.fromkeys(words))
        except TypeError:
            continue
        return True
    return not found


@functools.cache
def functions() -> dict[str, list[Any]]:
    """The public functions by name."""
    known: dict[str, list[Any]] = {}
    for path in [path for path in sys.modules if path.startswith(f"{ops.__name__}.")]:
        for name, value in vars(sys.modules[path]).items():
            if name[0] != "_" and inspect.isfunction(value) and value.__module__ == path:
                known.setdefault(name, []).append(value)
    return known


OWN = "_op"
"""How names end of rows and choices that are called otherwise than the function of their name."""


# -- what other names mean ---------------------------------------------------------------------------------------------
_MEANINGS = {
    "shift": "moves elements by one place along dim; zeros come in",
    "linear_recurrence": "y[i] = factor[i]*y[i - 1] + x[i] along dim",
    "exclusive_cumprod": "the product of the elements before each one along dim",
    "prod_backward": "grad times the product of the other elements along dim",
    "cofactor": "the matrix of cofactors, det(x)*inv(x).mT",
    "cofactor_slope": "the derivative of cofactor",
    "lu_parts": "the factors L and U that lie in one matrix",
    "permutation": "the matrix of a permutation",
    "safe_softmax": "softmax; zeros where all of a row is -inf",
    "index_backward": "grad, added up at the indices among zeros of the shape",
    "restride": "what lies at other places of the memory",
    "copy_slices": "a copy in which one view is written over",
    "masked_pack": "what the mask selects, in front of zeros",
    "unfold_backward": "windows, added up",
    "masked_place": "elements one after the other where the mask is true, among zeros",
    "embedding_masked": "embedding; zeros for the padding",
    "max_pool_grad": "grad at the indices of the largest, among zeros",
    "unique_parts": "the different elements, where they are, and how often",
    "consecutive_parts": "the elements that differ from those before, where they are, and how often",
    "standard_gamma_grad": "how a drawn gamma variable depends on its concentration",
    "dirichlet_grad": "how drawn Dirichlet variables depend on their concentration",
    "scatter_prod_once": "a tensor whose product with others has no second derivative",
    "underived": "the first argument, whose derivative is refused",
    "exponents": "the powers of two in front of numbers",
    "states": "labels with blanks between them, where they may be skipped, and lengths",
    "ctc_loss_backward": "the derivative of ctc_loss by logits",
    "gru_layer": "the outputs of a GRU's layer, and its last state",
    "lstm_layer": "the outputs of an LSTM's layer, and its last state and cell",
    "rnn_relu_layer": "the outputs of a recurrent layer with relu, and its last state",
    "rnn_tanh_layer": "the outputs of a recurrent layer with tanh, and its last state",
    "slices_named": "whether an index names the slice that an element is in",
    "ignored_classes": "whether a target is ignored, and the sum of the weights of the others",
    "grid_places": "where in an image the coordinates of a grid are, and how that depends on them",
    "placed": "coordinates of a grid as places in an image",
    "cell_floor": "the cell before each place",
    "image_cells": "the numbers of cells, and whether they are outside",
    "quantile_ranks": "the two elements around a quantile, and the share of the second",
    "scatter_extreme_shares": "one over the number of equal extremes, for those",
    "place_counts": "how many values the mean at each place is taken of",
    "scatter_lone_zeros": "where an element is the only zero of its product",
    "zeros_of": "whether elements are zero",
}
"""Of functions that have no name that people know."""


def meanings(heads: set[str]) -> list[str]:
    """Notes on functions in a formula that have no public name."""
    notes = [f"{head}: {_MEANINGS[head]}" for head in _MEANINGS if head in heads]
    for head in sorted(heads - set(_MEANINGS)):
        if head.endswith(OWN):
            notes.append(f"{head}: {head.removesuffix(OWN)}, as an operation with parameters of its own")
        elif head in _choices() - rows.keys() and not functions().get(head):
            notes.append(f"{head}: what the operation takes as a constant")
        for end, which in (("_backward", "its first argument"), ("_weight", "its weight")):
            if (function := head.removesuffix(end)) in _NAMED and function != head:
                notes.append(f"{head}: the derivative of {function} by {which}")
    return notes


@functools.cache
def _choices() -> frozenset[str]:
    return frozenset([identifier(name) for name in choices_by_name])


# -- evaluating --------------------------------------------------------------------------------------------------------
def backward_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """The gradient of a function's first argument."""

    def backward(grad: Any, input: Any, *args: Any, **params: Any) -> Any:
        with enable_grad():
            leaf = input.detach().requires_grad_()
            return gradient_of(function(leaf, *args, **params), leaf, grad)[0]

    known = inspect.signature(function)
    first = inspect.Parameter("grad", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    backward.__signature__ = known.replace(parameters=[first, *known.parameters.values()])  # type: ignore[attr-defined]
    return backward


def weight_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """The gradient of a convolution's weight."""

    def backward(input: Any, grad: Any, weight_size: Any, **params: Any) -> Any:
        with enable_grad():
            weight = _runtime.wrap(np.zeros(weight_size, input._array.dtype)).requires_grad_()
            return gradient_of(function(input.detach(), weight, **params), weight, grad)[0]

    return backward


_NAMED = frozenset(
    """topk cummax cummin sort kthvalue mode median nanmedian embedding pinv inv solve cholesky as_strided gather scatter
    select_scatter slice_scatter diagonal_scatter flip aminmax lstsq elu celu selu masked_scatter ndtr nll_loss smooth_l1_loss
    huber_loss binary_cross_entropy binary_cross_entropy_with_logits layer_norm group_norm batch_norm gelu pad interpolate
    conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d avg_pool1d avg_pool2d avg_pool3d
    adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d max_pool2d max_pool3d adaptive_max_pool2d
    adaptive_max_pool3d""".split()
)
"""Functions that texts call, besides those of ``WRITTEN``."""
_HOMES = (
    activation, adaptive_pool, arrange, choices, class_loss, conv, diagonals, extrema, factorisations, gamma_normal, gather,
    index, join, loss, masked, matrix_functions, normalize, pad, pointwise, pool, reduce, resample, rounding, scan,
    scatter_reduce, solves, sort, special, statistics, view_scatter, memory,
)  # fmt: skip


@functools.cache
def public(name: str) -> Any:
    """The function that a text calls by this name; None where it calls a row."""
    if name in _NAMED or name in heads():
        found = [home.__dict__.get(name) for home in _HOMES]
        return next((f for f, home in zip(found, _HOMES) if getattr(f, "__module__", None) == home.__name__), None)
    for end, made in (("_backward", backward_of), ("_weight", weight_of)):
        if name.removesuffix(end) in _NAMED:
            return made(public(name.removesuffix(end)))
    return None


def either(function: Any, row: Any) -> Any:
    """A function, or the row of the same name where it is called with parameters that only that has."""
    known = inspect.signature(function).parameters

    def call(*args: Any, **params: Any) -> Any:
        return (row if params.keys() - known.keys() else function)(*args, **params)

    return call


USUAL: dict[str, Any] = {
    "inf": math.inf, "nan": math.nan, "sum": reduce.sum, "mean": reduce.mean, "where": choices.where,
    "einsum": einsum.einsum, "one_hot": index.one_hot,
}  # fmt: skip
MADE = frozenset(["zeros", "ones", "eye", "full", "tensor"])
DTYPES = frozenset(["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"])
RESERVED = frozenset([*USUAL, *MADE, *DTYPES, "sqrt"])
"""Names that texts have a use for, besides those of rows and functions."""
