"""Hypothesis strategies for tensors, shapes, dimensions, indices, arguments of convolutions, and small networks.

They need Hypothesis: ``pip install minitorch[testing]``.  What they draw shrinks towards small shapes, whole numbers and
contiguous memory, and is shown as code that makes it again.  Importing this module gives Hypothesis the strategy of
``Tensor`` for ``from_type``, and the default random generator to seed before each draw, so that runs repeat.

Kinds of values, for ``tensors(elements=...)``: `ordinary`, `zeros`, `repeated`, `ties`, `near_kinks`, `subnormals`, `huge`,
`awkward` (the default: all of these but the last two), `trouble` (all of them), `away_from_kinks`.

Examples
--------
>>> import minitorch as torch
>>> from hypothesis import given, settings
>>> from minitorch.testing.strategies import tensors
>>> @settings(max_examples=20)
... @given(tensors(shape=("n", "k")), tensors(shape=("k", 2)))
... def test_transposes(a, b):
...     assert (a @ b).t().shape == (b.t() @ a.t()).shape
>>> test_transposes()
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any, cast

import numpy as np

try:
    import hypothesis
except ImportError as error:
    raise ImportError(
        "minitorch.testing.strategies and property_test need the package hypothesis, which is not there; install it: "
        "pip install minitorch[testing]",
        name="hypothesis",
    ) from error
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from hypothesis.vendor.pretty import for_type_by_name

from .. import _dtypes, _random, nn
from .._tensor import Tensor
from ..ops.from_data import from_numpy
from . import _literals
from ._elements import (
    KINDS,
    Kind,
    away_from_kinks,
    awkward,
    between,
    huge,
    lists,
    near_kinks,
    ordinary,
    repeated,
    subnormals,
    ties,
    trouble,
    zeros,
)

__all__ = [
    "LAYOUTS",
    "Arguments",
    "arguments",
    "away_from_kinks",
    "awkward",
    "broadcastable_shapes",
    "conv_args",
    "dims",
    "dtypes",
    "huge",
    "indices",
    "layouts",
    "matmul_shapes",
    "modules",
    "near_kinks",
    "ordinary",
    "repeated",
    "shapes",
    "subnormals",
    "tensors",
    "ties",
    "trouble",
    "zeros",
]

LAYOUTS = ("contiguous", "transposed", "strided", "offset", "expanded")
"""How a tensor may lie in memory: as it is read; last dimension first; with gaps; at the end of a longer storage, as
``x[-2:]``; one dimension repeated without a copy.  A tensor without dimensions is contiguous or at such an end."""


class Arguments(tuple[Any, ...]):
    """Several arguments that one strategy draws together: ``property_test`` passes them one by one."""


# -- shapes, dimensions, dtypes ----------------------------------------------------------------------------------------
def shapes(
    min_dims: int = 0, max_dims: int = 3, min_side: int = 1, max_side: int = 4
) -> SearchStrategy[tuple[int, ...]]:
    """Shapes: tuples of ints; ``min_side=0`` for empty tensors too.

    Examples
    --------
    >>> from hypothesis import find
    >>> find(shapes(), lambda shape: len(shape) > 1)
    (1, 1)
    """
    return st.lists(st.integers(min_side, max_side), min_size=min_dims, max_size=max_dims).map(tuple)


def broadcastable_shapes(n: int, max_dims: int = 3, max_side: int = 3) -> SearchStrategy[tuple[tuple[int, ...], ...]]:
    """*n* shapes that broadcast with each other.

    Examples
    --------
    >>> from hypothesis import find
    >>> find(broadcastable_shapes(2), lambda pair: pair[0] != pair[1] and len(pair[0]) == 2)
    ((1, 1), ())
    """

    @st.composite
    def draw_them(draw: st.DrawFn) -> tuple[tuple[int, ...], ...]:
        whole = draw(shapes(0, max_dims, 1, max_side))
        found = []
        for _ in range(n):
            kept = whole[len(whole) - draw(st.integers(0, len(whole))) :]
            found.append(tuple([side if draw(st.booleans()) else 1 for side in kept]))
        return tuple(found)

    return draw_them()


def matmul_shapes(max_side: int = 3) -> SearchStrategy[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Two shapes for ``matmul``: vectors, matrices, and batches of matrices that broadcast.

    Examples
    --------
    >>> from hypothesis import find
    >>> find(matmul_shapes(), lambda pair: len(pair[1]) == 3)
    ((1,), (1, 1, 1))
    """
    side = st.integers(1, max_side)

    @st.composite
    def draw_them(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...]]:
        inner = draw(side)
        left, right = draw(st.booleans()), draw(st.booleans())
        batches = draw(broadcastable_shapes(2, 1, 2))
        first = (*batches[0], draw(side), inner) if left else (inner,)
        second = (*batches[1], inner, draw(side)) if right else (inner,)
        return first, second

    return draw_them()


def dims(ndim: int) -> SearchStrategy[int]:
    """A dimension of a tensor that has *ndim*, counted from either end; 0 or -1 where there is none.

    Examples
    --------
    >>> from hypothesis import find
    >>> find(dims(3), lambda dim: dim < 0)
    -1
    """
    return st.integers(-max(ndim, 1), max(ndim, 1) - 1)


def dtypes(floats: bool = True, integers: bool = False, half: bool = False) -> SearchStrategy[Any]:
    """Dtypes: float64 and float32; with *half* float16; with *integers* those of whole numbers, and bool.

    Examples
    --------
    >>> from hypothesis import find
    >>> find(dtypes(), lambda dtype: True)
    torch.float64
    """
    names = ["float64", "float32"] * floats + ["float16"] * half
    names += ["int64", "int32", "int16", "int8", "uint8", "bool"] * integers
    return st.sampled_from(names).map(lambda name: _dtypes.of_numpy(np.dtype(name)))


def layouts(ndim: int = 2) -> SearchStrategy[str]:
    """A name of `LAYOUTS` that tensors with *ndim* dimensions can have; the simplest is contiguous."""
    return st.sampled_from(LAYOUTS if ndim else ("contiguous", "offset"))


# -- tensors -----------------------------------------------------------------------------------------------------------
GIVEN_DTYPE: ContextVar[Any] = ContextVar("GIVEN_DTYPE", default=None)
"""In place of those that are drawn: that of a module's parameters, while ``property_test`` tests it."""


@st.composite
def _shared_dtype(draw: st.DrawFn) -> Any:
    return GIVEN_DTYPE.get() or draw(dtypes())


SHARED_DTYPE = st.shared(_shared_dtype(), key="minitorch dtype")


def tensors(
    shape: Any = None,
    dtype: Any = None,
    elements: Any = None,
    requires_grad: bool | SearchStrategy[bool] = False,
    layout: str | SearchStrategy[str] | None = None,
) -> SearchStrategy[Tensor]:
    """Tensors.  Each argument is a value or a strategy of values.

    Parameters
    ----------
    shape : sequence of (int, str or strategy of int), optional
        By default any of up to three dimensions.  Sizes that have the same name are equal within one draw:
        ``tensors(shape=("n", "k"))`` and ``tensors(shape=("k", 2))`` can be multiplied.
    dtype : dtype, optional
        By default float64 or float32, the same for all tensors of one draw; where ``property_test`` tests a module, that of
        its parameters.
    elements : kind of values, range or strategy of numbers, optional
        A function of this module such as `trouble` or `away_from_kinks`, or its name; a range, ``"0.1:10"``; or any strategy
        of numbers: ``st.floats(0.1, 2.0)``.  By default `awkward`; small whole numbers for tensors of those.
    requires_grad : bool
        Whether operations on it are recorded; of no influence on whole numbers.
    layout : str, optional
        A name of `LAYOUTS`; by default any.

    Raises
    ------
    ValueError
        For layouts, kinds and ranges that do not exist.

    Examples
    --------
    >>> from hypothesis import find
    >>> find(tensors(), lambda t: bool((t > 1).any()))
    tensor(2., dtype=torch.float64)
    >>> find(tensors(shape=(2, 2), layout="transposed"), lambda t: bool((t != 0).all())).stride()
    (1, 2)
    """
    if isinstance(layout, str) and layout not in LAYOUTS:
        raise ValueError(f"tensors(): there is no layout {layout!r}; there are {', '.join(LAYOUTS)}")
    values = _kind_of(elements)
    sizes = _shapes_of(shape)

    @st.composite
    def draw_them(draw: st.DrawFn) -> Tensor:
        numpy = _dtypes.to_numpy(draw(SHARED_DTYPE if dtype is None else _strategy(dtype)))
        dims = draw(sizes)
        lies = draw(layouts(len(dims)) if layout is None else _strategy(layout))
        numbers = draw(values(numpy, math.prod(dims)))
        with np.errstate(all="ignore"):
            array = np.array(numbers, dtype=np.float64 if numpy.kind == "f" else numpy).astype(numpy).reshape(dims)
        if lies == "expanded" and array.size and dims:
            array = np.take(array, [0], draw(st.integers(0, len(dims) - 1)))
        made = _laid_out(array, lies, dims)
        return made.requires_grad_() if draw(_strategy(requires_grad)) and numpy.kind == "f" else made

    return draw_them()


def arguments(shapes: SearchStrategy[Any], **options: Any) -> SearchStrategy[Arguments]:
    """Several tensors of shapes that are drawn together; the options are those of `tensors`.

    ``property_test`` passes them one by one.

    Examples
    --------
    >>> import minitorch as torch
    >>> report = torch.testing.property_test(torch.matmul, arguments(matmul_shapes()), max_examples=5)
    """
    return shapes.flatmap(lambda drawn: st.tuples(*[tensors(shape, **options) for shape in drawn])).map(Arguments)


def _strategy(value: Any) -> SearchStrategy[Any]:
    return value if isinstance(value, SearchStrategy) else st.just(value)


def _size(side: int | str | SearchStrategy[int]) -> SearchStrategy[int]:
    if isinstance(side, SearchStrategy):
        return side
    return st.shared(st.integers(1, 4), key=f"minitorch size {side}") if isinstance(side, str) else st.just(side)


def _shapes_of(shape: Any) -> SearchStrategy[tuple[int, ...]]:
    if shape is None:
        return shapes()
    if isinstance(shape, SearchStrategy):
        return cast("SearchStrategy[tuple[int, ...]]", shape.map(tuple))
    sides = (shape,) if isinstance(shape, (int, str)) else tuple(shape)
    known = (int, str, SearchStrategy)
    wrong = [side for side in sides if not isinstance(side, known) or (isinstance(side, int) and side < 0)]
    if wrong:
        raise ValueError(
            f"tensors(): sizes are numbers from 0, strategies of them, or names, but shape has {wrong[0]!r}"
        )
    return st.tuples(*[_size(side) for side in sides])


def _kind_of(elements: Any) -> Kind:
    """What draws the numbers of a tensor."""
    if isinstance(elements, SearchStrategy):
        return lambda numpy, count: lists(elements, count)
    if isinstance(elements, str) and ":" in elements:
        return functools.cache(between(elements))
    if isinstance(elements, str):
        if elements not in KINDS:
            known = ", ".join(KINDS)
            raise ValueError(
                f'tensors(): there are no elements {elements!r}; there are {known}, and ranges such as "0.1:10"'
            )
        elements = KINDS[elements]
    if elements is not None and not callable(elements):
        raise TypeError(
            f"tensors(): elements must be a strategy of numbers, or one of {', '.join(KINDS)}, not {elements!r}"
        )
    chosen: Kind = awkward if elements is None else elements
    return functools.cache(
        lambda numpy, count: chosen(numpy, count) if numpy.kind == "f" else lists(_whole(numpy), count)
    )


def _whole(numpy: Any) -> SearchStrategy[Any]:
    return st.booleans() if numpy.kind == "b" else st.integers(0 if numpy.kind == "u" else -4, 9)


def _laid_out(array: np.ndarray, layout: str, shape: tuple[int, ...]) -> Tensor:
    """A tensor of these values that lies in memory as asked for."""
    if layout == "transposed" and array.ndim:
        return from_numpy(np.ascontiguousarray(array.T)).permute(*reversed(range(array.ndim)))
    if layout == "strided" and array.ndim:
        return from_numpy(np.stack([array, np.zeros_like(array)], -1))[..., 0]
    if layout == "offset":
        line = np.concatenate([np.zeros_like(array.ravel()), array.ravel()])
        return from_numpy(line)[array.size :].view(shape)
    made = from_numpy(array)
    return made.expand(shape) if layout == "expanded" else made


# -- indices -----------------------------------------------------------------------------------------------------------
def indices(shape: Sequence[int]) -> SearchStrategy[tuple[Any, ...]]:
    """What ``t[...]`` takes for a tensor of that shape: ints, slices, None, an ellipsis, tensors of ints, a mask.

    Examples
    --------
    >>> from hypothesis import find
    >>> find(indices((2, 3)), lambda index: [type(part) for part in index] == [int, int])
    (0, 0)
    """

    @st.composite
    def draw_them(draw: st.DrawFn) -> tuple[Any, ...]:
        found: list[Any] = []
        count = draw(st.integers(0, len(shape)))
        mask = draw(st.booleans())  # one mask, or tensors of ints that have one length
        length = draw(st.integers(1, 3))
        for size in shape[:count]:
            kinds = ["int", "slice", "tensor"] if size else ["slice"]
            kind = draw(st.sampled_from(kinds))
            if kind == "int":
                found.append(draw(st.integers(-size, size - 1)))
            elif kind == "slice":
                found.append(_slice(draw, size))
            elif mask and not any([isinstance(entry, Tensor) for entry in found]):
                found.append(_tensor_of(draw(lists(st.booleans(), size)), np.bool_))
            elif mask:
                found.append(slice(None))
            else:
                found.append(_tensor_of(draw(lists(st.integers(-size, size - 1), length)), np.int64))
        if draw(st.booleans()):
            found.insert(draw(st.integers(0, len(found))), None)
        if draw(st.booleans()):
            found.append(...)
        return tuple(found)

    return draw_them()


def _slice(draw: st.DrawFn, size: int) -> slice:
    ends = st.none() | st.integers(-size - 1, size + 1)
    return slice(draw(ends), draw(ends), draw(st.none() | st.integers(1, 3)))


def _tensor_of(values: list[Any], numpy: Any) -> Tensor:
    return from_numpy(np.array(values, numpy))


# -- arguments of layers, and layers -----------------------------------------------------------------------------------
def conv_args(
    ndim: int = 2, dtype: Any = None, elements: Any = ordinary, requires_grad: bool = False
) -> SearchStrategy[Arguments]:
    """Arguments of ``conv1d``, ``conv2d`` or ``conv3d``: input, weight, bias or None, stride, padding, dilation, groups.

    Examples
    --------
    >>> import minitorch as torch
    >>> from hypothesis import find
    >>> args = find(conv_args(1), lambda args: args[3] == (2,))
    >>> torch.nn.functional.conv1d(*args).shape
    torch.Size([1, 1, 1])
    """

    @st.composite
    def draw_them(draw: st.DrawFn) -> Arguments:
        few = st.integers(1, 2)
        batch, groups, inputs, outputs = [draw(few) for _ in range(4)]
        kernel = tuple([draw(st.integers(1, 3)) for _ in range(ndim)])
        stride, dilation = [tuple([draw(few) for _ in range(ndim)]) for _ in range(2)]
        padding = tuple([draw(st.integers(0, 2)) for _ in range(ndim)])
        sizes = [
            max(1, d * (k - 1) + 1 - 2 * p) + draw(st.integers(0, 2)) for k, p, d in zip(kernel, padding, dilation)
        ]
        options: dict[str, Any] = {"dtype": dtype, "elements": elements, "requires_grad": requires_grad}
        return Arguments(
            (
                draw(tensors((batch, groups * inputs, *sizes), **options)),
                draw(tensors((groups * outputs, inputs, *kernel), **options)),
                draw(st.none() | tensors((groups * outputs,), **options)),
                stride,
                padding,
                dilation,
                groups,
            )
        )

    return draw_them()


def modules(inputs: int | str = 3, dtype: Any = None, max_layers: int = 3) -> SearchStrategy[nn.Module]:
    """Small networks: ``Sequential`` of linear layers, activations and normalisations, for inputs of ``(..., inputs)``.

    Examples
    --------
    >>> import minitorch as torch
    >>> model = modules(inputs="n")
    >>> report = torch.testing.property_test(lambda m, x: m(x), model, tensors(shape=(2, "n")), max_examples=5)
    """

    @st.composite
    def draw_them(draw: st.DrawFn) -> nn.Module:
        kind = draw(SHARED_DTYPE if dtype is None else _strategy(dtype))
        width, layers = draw(_size(inputs)), []
        for _ in range(draw(st.integers(1, max_layers))):
            made = draw(st.sampled_from(_LAYERS))(width, draw(st.integers(1, 4)))
            width = made.out_features if isinstance(made, nn.Linear) else width
            layers.append(made)
        model = nn.Sequential(*layers).to(kind)
        for parameter in model.parameters():
            numbers = draw(ordinary(np.dtype(np.float32), parameter.numel()))
            parameter._array[...] = np.reshape(numbers, parameter._array.shape)
        return model

    return draw_them()


_LAYERS: list[Callable[[int, int], nn.Module]] = [
    lambda width, wider: nn.Linear(width, wider),
    lambda width, wider: nn.Linear(width, wider, bias=False),
    lambda width, wider: nn.Tanh(),
    lambda width, wider: nn.Sigmoid(),
    lambda width, wider: nn.ReLU(),
    lambda width, wider: nn.GELU(),
    lambda width, wider: nn.Softplus(),
    lambda width, wider: nn.LayerNorm(width) if width > 1 else nn.Identity(),  # of one number it is a constant
]


# -- what Hypothesis is told -------------------------------------------------------------------------------------------
class _DefaultGenerator:
    """The default random generator, with the methods of ``random.Random`` that Hypothesis calls."""

    def seed(self, seed: int) -> None:
        _random.default_generator.manual_seed(seed % 2**63)

    def getstate(self) -> bytes:
        return _random.default_generator.get_state()._array.tobytes()

    def setstate(self, state: bytes) -> None:
        _random.default_generator.set_state(from_numpy(np.frombuffer(state, np.uint8).copy()))


_default_generator = _DefaultGenerator()  # Hypothesis keeps a weak reference
hypothesis.register_random(_default_generator)
st.register_type_strategy(Tensor, tensors())
for_type_by_name(Tensor.__module__, Tensor.__name__, lambda t, printer, cycle: printer.text(_literals.literal(t)))
