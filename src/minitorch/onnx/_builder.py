"""An ONNX graph that is being built: nodes, initializers, and sizes as values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from ..static._number_expressions import Expression
from ..static._size_expressions import Axis, Counted, Diagonal, Filled, Listed, Share, Size, Spaced, Triangle

INT64, BOOL = np.dtype(np.int64), np.dtype(np.bool_)

_BOOL_RESULTS = frozenset(
    ["Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "And", "Or", "Xor", "Not", "IsNaN", "IsInf"]
)  # of one dtype whatever the inputs are
_INT_RESULTS = frozenset(["Shape", "Size", "NonZero", "ArgMax", "ArgMin"])
_OPERATIONS = {
    "+": "Add", "-": "Sub", "*": "Mul", "/": "Div", "**": "Pow", "sqrt": "Sqrt", "log": "Log", "exp": "Exp", "sin": "Sin",
    "cos": "Cos", "tanh": "Tanh",
}  # fmt: skip
_ROUNDINGS = {"int": "Floor", "ceil": "Ceil", "round": "Round"}
# fmt: off
_NO_NARROW = frozenset(
    [
        "ArgMax", "ArgMin", "Clip", "CumSum", "Einsum", "MatMul", "Max", "MaxPool", "Min", "Neg", "NonZero", "OneHot", "Pad",
        "Pow", "Range", "ReduceL1", "ReduceL2", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd",
        "ReduceSum", "Relu", "Resize", "TopK", "Trilu", "Where",
    ]
)  # which ONNX or onnxruntime has for no integers, or not for all, of less than 32 bits
# fmt: on
_NO_BOOL = frozenset(
    ["Abs", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "MatMul", "Sign", "Where"]
)  # which there is not for bools
_NO_INTEGERS = frozenset(["IsInf", "IsNaN"])  # for which a float32 of them does
# fmt: off
_NO_DOUBLE = frozenset(
    [
        "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "AveragePool", "Celu", "Conv", "ConvTranspose", "Cosh", "Det", "Elu",
        "Erf", "GRU", "Gelu", "GlobalAveragePool", "HardSigmoid", "HardSwish", "InstanceNormalization", "LSTM", "LeakyRelu",
        "Mish", "PRelu", "RNN", "Resize", "Selu", "Sinh", "Softplus", "Softsign", "Tan", "ThresholdedRelu",
    ]
)  # which onnxruntime does not have for float64: they are computed in float32
# fmt: on
_SECOND = frozenset(["Where"])  # the dtype is the second input's


class CannotExport(Exception):
    """An operation has no ONNX form here; the message says why."""


def library() -> ModuleType:
    """The package ``onnx``.

    Raises
    ------
    ImportError
        If it is not installed.
    """
    try:
        import onnx
        import onnx.checker
        import onnx.helper
        import onnx.numpy_helper
    except ImportError as error:
        raise ImportError(
            "the package onnx, which makes and checks ONNX models, is not there; install it: pip install onnx",
            name="onnx",
        ) from error
    return onnx


def narrow(dtype: np.dtype[Any]) -> bool:
    """Whether a dtype is of integers of less than 32 bits."""
    return dtype.kind in "iu" and dtype.itemsize < 4


def _instead(op: str, dtype: np.dtype[Any]) -> Any:
    """The dtype in which an operator takes what it does not take in this one; None where it does."""
    if (narrow(dtype) and op in _NO_NARROW) or (dtype.kind == "b" and op in _NO_BOOL):
        return np.int32
    return (
        np.float32 if (dtype == np.float64 and op in _NO_DOUBLE) or (dtype.kind != "f" and op in _NO_INTEGERS) else None
    )


class Value:
    """A value of the graph.

    Attributes
    ----------
    name : str
    dtype : numpy.dtype
    shape : tuple of int or Size, or None
        None where it is not noted: of what is between the values of the traced program.
    """

    __slots__ = ("dtype", "name", "shape")

    def __init__(self, name: str, dtype: np.dtype[Any], shape: tuple[Any, ...] | None = None) -> None:
        self.name, self.dtype, self.shape = name, dtype, shape

    @property
    def sizes(self) -> tuple[Any, ...]:
        """Its shape, which is noted."""
        assert self.shape is not None
        return self.shape

    @property
    def ndim(self) -> int:
        """How many dimensions it has."""
        return len(self.sizes)


class Seen(NamedTuple):
    """A call as it was in one of the passes.

    Attributes
    ----------
    name : str
        The row's.
    given, out : tuple of int
        The shapes of the first input and of the first result.
    params : dict
        The parameters.
    """

    name: str
    given: tuple[int, ...]
    out: tuple[int, ...]
    params: dict[str, Any]


class Builder:
    """Nodes in order.  Calling it adds one: ``g("Add", a, b)`` gives its result.

    Parameters
    ----------
    onnx : module
    axis_of : callable
        Gives the value that an `Axis` is of, and its number there.
    has : callable
        Whether there is such a value already.
    seen : callable
        Gives the call that is being written as it was in each pass.

    Attributes
    ----------
    path : str
        The module that what is added is of; it is in the nodes' names.
    results : list of (shape, dtype)
        What the operation that is being written gives.
    doubles : dict of str to str
        The operator of each node that is computed in float32 though its values are of float64, by the node's name.
    """

    def __init__(
        self,
        onnx: ModuleType,
        axis_of: Callable[[Axis], tuple[Value, int]],
        has: Callable[[Axis], bool],
        seen: Callable[[], list[Seen]],
    ) -> None:
        self.onnx, self._axis_of, self.has, self.seen = onnx, axis_of, has, seen
        self.nodes: list[Any] = []
        self.initializers: dict[str, np.ndarray] = {}
        self.path = ""
        self.doubles: dict[str, str] = {}
        self.results: list[tuple[tuple[Any, ...], np.dtype[Any]]] = []
        self._constants: dict[Any, Value] = {}
        self._sizes: dict[Any, Value] = {}
        self._count = 0

    def __call__(self, op: str, *inputs: Value | None, outputs: int = 1, dtype: Any = None, **attributes: Any) -> Any:
        """Add a node; its result, or several in a tuple.  The result's dtype is the first input's if nothing is said."""
        if dtype is None:
            dtype = BOOL if op in _BOOL_RESULTS else INT64 if op in _INT_RESULTS else None
        if dtype is None:
            (source,) = [i for i in inputs[op in _SECOND :] if i is not None][:1]
            dtype = source.dtype
        dtype = np.dtype(dtype)
        others = [None if i is None else _instead(op, i.dtype) for i in inputs]
        if any(others[op in _SECOND :]):
            return self._in_others(op, inputs, others, outputs, dtype, attributes)
        number, self._count = self._count, self._count + 1
        stem = f"/{self.path.replace('.', '/')}/{op}" if self.path else f"/{op}"
        names = [f"{stem}_{number}_output_{i}" for i in range(outputs)]
        given = ["" if i is None else i.name for i in inputs]
        while given and not given[-1]:
            given.pop()
        self.nodes.append(self.onnx.helper.make_node(op, given, names, name=f"{stem}_{number}", **attributes))
        made = [Value(name, dtype) for name in names]
        return made[0] if outputs == 1 else tuple(made)

    def _in_others(
        self, op: str, inputs: Sequence[Value | None], others: Sequence[Any], outputs: int, dtype: Any, attributes: Any
    ) -> Any:
        """A node of operands in other dtypes, which there is one for; its first result has the dtype that it was to have."""
        own = len(inputs[: op in _SECOND])
        given = [
            self.cast(i, o) if i is not None and o and n >= own else i for n, (i, o) in enumerate(zip(inputs, others))
        ]
        known = op in _BOOL_RESULTS or op in _INT_RESULTS
        found = self(op, *given, outputs=outputs, dtype=(not known and _instead(op, dtype)) or dtype, **attributes)
        if op in _NO_DOUBLE:
            self.doubles[self.nodes[-1].name] = op
        return self.cast(found, dtype) if outputs == 1 else (self.cast(found[0], dtype), *found[1:])

    # -- constants -----------------------------------------------------------------------------------------------------
    def constant(self, value: Any, dtype: Any = None) -> Value:
        """A constant; the same one for equal values."""
        array = np.asarray(value, dtype)
        key = array.dtype.str, array.shape, array.tobytes()
        if key not in self._constants:
            name = f"/constant_{len(self._constants)}"  # as of nodes: no parameter's name begins like that
            self.initializers[name] = array
            self._constants[key] = Value(name, array.dtype, array.shape)
        return self._constants[key]

    def parameter(self, name: str, array: np.ndarray) -> Value:
        """A constant of this name."""
        self.initializers[name] = array
        return Value(name, array.dtype, array.shape)

    def ints(self, items: Sequence[Any]) -> Value:
        """A vector of integers and sizes."""
        if all([isinstance(i, int) for i in items]):
            return self.constant(list(items), INT64)
        if not all([isinstance(i, (int, Size)) for i in items]):
            raise CannotExport("it depends on a size in a way that no expression was found for")
        key = tuple(items)
        if key not in self._sizes:
            parts = [self.size(i) if isinstance(i, Size) else self.ints([i]) for i in items]
            self._sizes[key] = parts[0] if len(parts) == 1 else self("Concat", *parts, axis=0)
        return self._sizes[key]

    def size(self, size: Size) -> Value:
        """A size as a vector of one element."""
        if isinstance(size, Share) and size not in self._sizes:
            wide = np.dtype(np.float64)
            factor = self.constant(size.factor, wide)
            exact = self(_OPERATIONS[size.operation], self.cast(self._axis(size.axes[0]), wide), factor)
            self._sizes[size] = self.cast(self(_ROUNDINGS[size.rounding], exact), INT64)
        if size not in self._sizes:
            total: Value | None = None
            for coefficient, axes in size.terms:
                factors = [self.size(axis) if isinstance(axis, Size) else self._axis(axis) for axis in axes]
                if coefficient != 1 or not factors:
                    factors.append(self.ints([coefficient]))
                term = factors[0]
                for factor in factors[1:]:
                    term = self("Mul", term, factor)
                total = term if total is None else self("Add", total, term)
            assert total is not None
            if size.divisor != 1:  # rounded down: Div rounds towards zero
                divisor = self.ints([size.divisor])
                total = self("Div", self("Sub", total, self("Mod", total, divisor)), divisor)
            if size.modulus:
                total = self("Mod", total, self.ints([size.modulus]))
            for op, bound in (("Max", size.low), ("Min", size.high)):
                total = total if bound is None else self(op, total, self.ints([bound]))
            self._sizes[size] = total
        return self._sizes[size]

    def _axis(self, axis: Axis) -> Value:
        if axis not in self._sizes:
            value, number = self._axis_of(axis)
            self._sizes[axis] = self("Shape", value, start=number, end=number + 1)
        return self._sizes[axis]

    def number(self, value: Any, dtype: Any) -> Value:
        """A number, or an expression of sizes, as a value without dimensions."""
        dtype = np.dtype(getattr(dtype, "dtype", dtype))
        if isinstance(value, Value):
            return self.cast(value, dtype)
        if isinstance(value, Size):
            return self.cast(self.scalar(value), dtype)
        if isinstance(value, Expression):
            return self.cast(self._computed(value), dtype)
        return self.constant(value, dtype)

    def _computed(self, value: Any) -> Value:
        """A number that depends on sizes, in double precision, as Python computes it."""
        if not isinstance(value, Expression):
            return self.number(value, np.dtype(np.float64))
        parts = [self._computed(part) for part in value.parts]
        return parts[0] if value.operation == "float" else self(_OPERATIONS[value.operation], *parts)

    def scalar(self, value: Any) -> Value:
        """An integer or a size as a value without dimensions."""
        if isinstance(value, Size):
            return self("Reshape", self.size(value), self.ints([]))
        return self.constant(value, INT64)

    def expression(self, value: Any) -> Value:
        """A constant array whose sizes may vary."""
        if isinstance(value, np.ndarray):
            return self.constant(value)
        if isinstance(value, Filled):
            return self.expand(self.number(value.value, value.dtype), value.shape)
        if isinstance(value, Listed):
            items = [self("Reshape", self.number(item, value.dtype), self.ints([1])) for item in value.items]
            return self("Reshape", self("Concat", *items, axis=0), self.ints([*value.shape]))
        if isinstance(value, Counted):
            # start and step times whole numbers, so that nothing adds up
            count = self("Range", self.scalar(0), self.scalar(value.count), self.scalar(1))
            step = self("Mul", self.cast(count, value.dtype), self.number(value.step, value.dtype))
            return self("Add", step, self.number(value.start, value.dtype))
        if isinstance(value, Spaced):
            return self._spaced(value)
        if isinstance(value, (Diagonal, Triangle)):
            rows, columns = [self("Range", self.scalar(0), self.scalar(n), self.scalar(1)) for n in value.shape]
            offset = self("Sub", columns, self("Unsqueeze", rows, self.ints([1])))
            if isinstance(value, Diagonal):
                inside = self("Equal", offset, self.scalar(0))
                return self("Where", inside, self.number(value.on, value.dtype), self.number(value.off, value.dtype))
            inside = self("LessOrEqual", offset, self.scalar(value.diagonal))
            return self("Where", inside, self.number(value.below, value.dtype), self.number(value.above, value.dtype))
        raise CannotExport("a constant has other values at other sizes, and no expression for them was found")

    def _spaced(self, value: Spaced) -> Value:
        """As the kernel does it: counted from the nearer end, with products and sums of floats in doubles."""
        wide = np.dtype(np.float64)
        size, two = self.scalar(value.count), self.scalar(2)
        last = self("Sub", size, self.scalar(1))
        start, end = [self.number(number, value.dtype) for number in (value.start, value.end)]
        step = self("Div", self("Sub", end, start), self.cast(self("Max", last, self.scalar(1)), value.dtype))
        index, step = self("Range", self.scalar(0), size, self.scalar(1)), self.cast(step, wide)
        up = self("Add", self.cast(start, wide), self("Mul", step, self.cast(index, wide)))
        back = self.cast(self("Sub", last, index), wide)
        down = self("Sub", self.cast(end, wide), self("Mul", step, back))
        first = self("Less", index, self("Max", self("Div", size, two), self("Sub", two, size)))
        return self.cast(self("Where", first, up, down), value.dtype)

    # -- what many forms do --------------------------------------------------------------------------------------------
    def cast(self, value: Value, dtype: Any) -> Value:
        """A value in a dtype."""
        dtype = np.dtype(dtype)
        if value.dtype == dtype:
            return value
        to = self.onnx.helper.np_dtype_to_tensor_dtype(dtype)
        return self._shaped(self("Cast", value, to=to, dtype=dtype), value.shape)

    def reshape(self, value: Value, shape: Sequence[Any]) -> Value:
        """A value in a shape, of which one size may be unknown."""
        sizes = list(shape)
        if 0 in sizes:
            return self._shaped(self("Reshape", value, self.ints(sizes), allowzero=1), tuple(shape))
        for place, (size, old) in enumerate(zip(shape, value.shape or ())):
            if isinstance(size, Size) and size == old:
                sizes[place] = 0  # as it is
        varying = [place for place, size in enumerate(sizes) if isinstance(size, Size)]
        unknown = [place for place in varying if not self._is_known(sizes[place])]
        if len(unknown) > 1:
            raise CannotExport("more than one of its sizes is no expression of known ones")
        if -1 not in sizes and varying:
            sizes[(unknown or varying)[0]] = -1
        return self._shaped(self("Reshape", value, self.ints(sizes)), tuple(shape))

    def known(self, size: Any) -> bool:
        """Whether a size can be computed from values that are there."""
        return isinstance(size, int) or self._is_known(size)

    def _is_known(self, size: Size) -> bool:
        return all([axis in self._sizes or self.has(axis) for axis in size.axes])

    def places(self, value: Value) -> Value:
        """In the shape of a value, the places of its elements in the order of rows."""
        return self.reshape(self("Range", self.scalar(0), self("Size", value), self.scalar(1)), value.sizes)

    def put(self, value: Value, places: Value, new: Value) -> Value:
        """A value with new elements at places."""
        index = self.reshape(places, (-1, 1))
        found = self("ScatterND", self.reshape(value, (-1,)), index, self.reshape(new, (-1,)))
        return self.reshape(found, value.sizes)

    def expand(self, value: Value, shape: Sequence[Any]) -> Value:
        """A value broadcast to a shape."""
        return self._shaped(self("Expand", value, self.ints(shape)), tuple(shape))

    def transpose(self, value: Value, order: Sequence[int]) -> Value:
        """A value with its dimensions in another order."""
        out = self("Transpose", value, perm=list(order))
        return self._shaped(out, tuple([value.sizes[i] for i in order]))

    def swap(self, value: Value, one: int, other: int) -> Value:
        """A value with two dimensions exchanged."""
        order = list(range(value.ndim))
        order[one], order[other] = order[other], order[one]
        return self.transpose(value, order)

    def unsqueeze(self, value: Value, *dims: int) -> Value:
        """A value with dimensions of size 1 more, which are there then."""
        return self("Unsqueeze", value, self.ints(dims))

    def squeeze(self, value: Value, *dims: int) -> Value:
        """A value without these dimensions of size 1."""
        return self("Squeeze", value, self.ints(dims)) if dims else value

    def slice(self, value: Value, dim: int, start: Any, end: Any, step: Any = 1) -> Value:
        """A part of a value along a dimension."""
        return self("Slice", value, self.ints([start]), self.ints([end]), self.ints([dim]), self.ints([step]))

    def binary(self, op: str, value: Value, number: float) -> Value:
        """An operation with a number."""
        return self(op, value, self.constant(number, value.dtype))

    def extreme(self, op: str, value: Value, other: Value) -> Value:
        """``Max`` or ``Min``, which there are not for bools."""
        if value.dtype == bool:
            return self("Or" if op == "Max" else "And", value, other)
        return self(op, value, other)

    def ordered(self, value: Value) -> Value:
        """A value in a dtype that runtimes can sort."""
        return self.cast(value, np.int32) if value.dtype == bool or narrow(value.dtype) else value

    def ranked(self, value: Value, nan: float = np.inf) -> Value:
        """A value to sort, in which what is no number is beyond all else: *nan*, an infinity, stands for it.  Infinities of
        that sign are numbers beyond those of the dtype; of float64, the last of them."""
        if value.dtype.kind != "f":
            return self.like(self.ordered(value), value)
        wide = self.cast(value, np.float64)
        last = np.copysign(1e300 if value.dtype.itemsize < 8 else np.finfo(np.float64).max, nan)
        far = self("IsInf", value, **{"detect_negative" if nan > 0 else "detect_positive": 0})
        known = self("Where", far, self.constant(last, wide.dtype), wide)
        return self.like(self("Where", self("IsNaN", value), self.constant(nan, wide.dtype), known), value)

    def like(self, value: Value, other: Value) -> Value:
        """A value, of which is noted that it has the shape of another."""
        return self._shaped(value, other.shape)

    def _shaped(self, value: Value, shape: tuple[Any, ...] | None) -> Value:
        value.shape = shape
        return value
