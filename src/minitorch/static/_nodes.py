"""Nodes: what stands for a tensor before there is one."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .. import _runtime
from .._dtypes import floating, of_numpy, to_numpy
from .._op import Row, rows
from ..ops.from_data import tensor
from ..ops.reduce import reduced_dims
from ._instructions import Function, Number
from ._vertices import BESIDE, SHAPE, Layout, Symbol, Vertex, gathered, layout_for


class Node(Vertex):
    """Stands for a tensor that a graph computes: operators and methods make further nodes.

    Make them with `placeholder`, `constant`, `parameter`; run them with `Executor`.  All methods of Tensors that return Tensors
    are there (``x.reshape(2, -1)``, ``x.softmax(-1)``, ``x.T``), but those that change a Tensor; what has two results gives two
    nodes (``values, places = x.sort()``), and where their number depends on the call, it is said: ``x.split(1, outputs=2)``.

    Examples
    --------
    >>> from minitorch import static
    >>> x, w = static.placeholder("x"), static.placeholder("w")
    >>> y = (x + w) * (w + 1)
    >>> y
    <Node ((x+w)*(w+1))>
    >>> y.shape
    <Symbol shape(((x+w)*(w+1)))>
    >>> static.Executor([y]).run({x: 2.0, w: 1.0})
    [array(6., dtype=float32)]
    >>> static.Executor([x.clamp(min=0.0).reshape(-1)]).run({x: [[1.0], [-2.0]]})
    [array([1., 0.], dtype=float32)]
    """

    __slots__ = ("layout", "of")

    def __init__(self, *args: Any, layout: Layout | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.layout = Layout() if layout is None else layout
        self.of: Any = None

    @property
    def name(self) -> str:
        """The name that was given, or the expression."""
        return self.label or str(self)

    @name.setter
    def name(self, label: str) -> None:
        self.label = label

    @property
    def shape(self) -> Any:
        """The shape, a symbol: it is known when the graph runs."""
        return Symbol(SHAPE, self, ndim=self.layout.ndim)

    @property
    def ndim(self) -> Any:
        """How many dimensions, if that is known."""
        return self._refused("its number of dimensions") if self.layout.ndim is None else self.layout.ndim

    @property
    def _array(self) -> Any:
        remedy = "functions of Tensors take nodes through static.apply(function, ...), rows through static.rows"
        raise self.needs("its values, shape and dtype", remedy)

    # -- operators
    def __add__(self, other: Any) -> Any:
        return made("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return made("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return made("sub", self, other)

    def __rsub__(self, other: Any) -> Any:
        return made("sub", other, self)

    def __mul__(self, other: Any) -> Any:
        return made("mul", self, other)

    def __rmul__(self, other: Any) -> Any:
        return made("mul", other, self)

    def __truediv__(self, other: Any) -> Any:
        return made("div", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return made("div", other, self)

    def __floordiv__(self, other: Any) -> Any:
        return made("floor_divide", self, other)

    def __mod__(self, other: Any) -> Any:
        return made("remainder" if isinstance(other, Node) else "remainder_number", self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return made("floor_divide", other, self)

    def __rmod__(self, other: Any) -> Any:
        return made("remainder", other, self)

    def __pow__(self, other: Any) -> Any:
        if isinstance(other, (int, float)):
            return made("pow_number", self if isinstance(other, int) else floated(self), exponent=other)
        return made("pow", self, other)

    def __rpow__(self, other: Any) -> Any:
        if isinstance(other, (int, float)):
            return made("pow_of_number", self if isinstance(other, int) else floated(self), self=other)
        return made("pow", other, self)

    def __matmul__(self, other: Any) -> Any:
        from ._functions import product

        return product(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        from ._functions import product

        return product(other, self)

    def __neg__(self) -> Any:
        return made("neg", self)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return made("abs", self)

    def __invert__(self) -> Any:
        return made("bitwise_not", self)

    def __and__(self, other: Any) -> Any:
        return made("bitwise_and", self, other)

    def __or__(self, other: Any) -> Any:
        return made("bitwise_or", self, other)

    def __xor__(self, other: Any) -> Any:
        return made("bitwise_xor", self, other)

    def __rand__(self, other: Any) -> Any:
        return made("bitwise_and", other, self)

    def __ror__(self, other: Any) -> Any:
        return made("bitwise_or", other, self)

    def __rxor__(self, other: Any) -> Any:
        return made("bitwise_xor", other, self)

    def __lshift__(self, other: Any) -> Any:
        return made("bitwise_left_shift", self, other)

    def __rshift__(self, other: Any) -> Any:
        return made("bitwise_right_shift", self, other)

    def __rlshift__(self, other: Any) -> Any:
        return made("bitwise_left_shift", other, self)

    def __rrshift__(self, other: Any) -> Any:
        return made("bitwise_right_shift", other, self)

    def __eq__(self, other: Any) -> Any:
        return NotImplemented if other is None or isinstance(other, str) else made("eq", self, other)

    def __ne__(self, other: Any) -> Any:
        return NotImplemented if other is None or isinstance(other, str) else made("ne", self, other)

    def __lt__(self, other: Any) -> Any:
        return made("lt", self, other)

    def __le__(self, other: Any) -> Any:
        return made("le", self, other)

    def __gt__(self, other: Any) -> Any:
        return made("gt", self, other)

    def __ge__(self, other: Any) -> Any:
        return made("ge", self, other)

    __hash__ = object.__hash__

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        from ._methods import of_ufunc

        return of_ufunc(self, ufunc, method, inputs, kwargs)

    def __getitem__(self, index: Any) -> Any:
        from ._functions import apply
        from ._indexing import getitem, parts_of

        parts = parts_of(index)
        return apply(operator.getitem, self, index) if parts is None else apply(getitem, self, parts)

    def __setitem__(self, index: Any, value: Any) -> None:
        raise TypeError(
            f"node {self} does not change, so x[...] = value is not possible: make another node, with "
            "static.apply(torch.where, ...), .index_put(...), .slice_scatter(...), .masked_fill(...)"
        )

    def __array__(self, *args: Any, **kwargs: Any) -> np.ndarray:
        return self._refused("its values")

    # -- methods: those of Tensors; some are written out, for speed and for what they know of the shape
    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
        from ._methods import method

        return method(self, name)

    def exp(self) -> Any:
        """The exponential."""
        return made("exp", self)

    def log(self) -> Any:
        """The natural logarithm."""
        return made("log", self)

    def sqrt(self) -> Any:
        """The square root."""
        return made("sqrt", self)

    def sin(self) -> Any:
        """The sine."""
        return made("sin", self)

    def cos(self) -> Any:
        """The cosine."""
        return made("cos", self)

    def tanh(self) -> Any:
        """The hyperbolic tangent."""
        return made("tanh", self)

    def sigmoid(self) -> Any:
        """The logistic function."""
        return made("sigmoid", self)

    def relu(self) -> Any:
        """The values where they are positive, else 0."""
        return made("relu", self)

    def sum(self, dim: Any = None, keepdim: bool = False, **more: Any) -> Any:
        """The sum over all elements, or over dimensions."""
        from ._functions import reduced

        return reduced("sum", self, dim, keepdim, more)

    def mean(self, dim: Any = None, keepdim: bool = False, **more: Any) -> Any:
        """The mean over all elements, or over dimensions."""
        from ._functions import reduced

        return reduced("mean", self, dim, keepdim, more)


class Leaf(Node):
    """A node that no operation makes."""

    __slots__ = ()


class Placeholder(Leaf):
    """A node whose values are fed; see `placeholder`."""

    __slots__ = ("dtype", "fixed")

    def __init__(self, label: str, fixed: tuple[int | None, ...] | None, dtype: np.dtype[Any] | None) -> None:
        known = None
        if fixed is not None:
            full = all([n is not None for n in fixed])
            known = layout_for(fixed, dtype) if full and dtype is not None else Layout(len(fixed), dtype)  # type: ignore[arg-type]
        super().__init__(None, label=label, layout=known or Layout(None, dtype))
        self.fixed, self.dtype = fixed, dtype


class Constant(Leaf):
    """A node whose values never change."""

    __slots__ = ("array",)

    def __init__(self, array: np.ndarray, label: str | None) -> None:
        super().__init__(None, label=label, layout=layout_for(array.shape, array.dtype))
        self.array = array
        array.flags.writeable = False  # a result may be a view of it


class Parameter(Leaf):
    """A node whose values are those that a Tensor has when the graph runs."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: Any, label: str | None) -> None:
        array = tensor._array
        super().__init__(None, label=label, layout=Layout(array.ndim, array.dtype))
        self.tensor = tensor


def placeholder(name: str, shape: Sequence[int | None] | None = None, dtype: Any = None) -> Placeholder:
    """A node whose values are fed when the graph runs.

    Parameters
    ----------
    name : str
        What it is called, in expressions and messages, and as a key of ``feed_dict``.
    shape : sequence of (int or None), optional
        What is fed must have this shape; None stands for any size, as of a batch.  Default: any shape.
    dtype : dtype, optional
        What is fed must have it; Python numbers and lists are converted.  Default: any.

    Returns
    -------
    Node

    Raises
    ------
    TypeError
        If *name* is no string, or a size is no integer.

    Examples
    --------
    >>> import minitorch as torch
    >>> from minitorch import static
    >>> x = static.placeholder("x", (None, 2), torch.float32)
    >>> run = static.Executor([(x * x).sum(1)]).run
    >>> run({x: [[1.0, 2.0]]}), run({x: [[1.0, 2.0], [0.0, 3.0]]})
    ([array([5.], dtype=float32)], [array([5., 9.], dtype=float32)])
    """
    if not isinstance(name, str) or not name:
        raise TypeError(f"placeholder(): argument 'name' must be a string that is not empty, not {name!r}")
    fixed = None
    if shape is not None:
        if not isinstance(shape, (int, Iterable)):
            raise TypeError(f"placeholder(): {name}: shape must be a tuple of sizes, not {type(shape).__name__}")
        fixed = (shape,) if isinstance(shape, int) else tuple(shape)
        for size in fixed:
            if size is not None and (not isinstance(size, int) or size < 0):
                raise TypeError(
                    f"placeholder(): {name}: sizes must be integers from 0, or None for any size, not {size!r}"
                )
    try:
        return Placeholder(name, fixed, None if dtype is None else to_numpy(dtype))
    except TypeError as error:
        raise TypeError(f"placeholder(): {name}: {error}, such as torch.float32") from None


def constant(value: Any, name: str | None = None, dtype: Any = None) -> Constant:
    """A node with values that never change: a copy of an array, a Tensor, numbers or lists of them.

    Raises
    ------
    RuntimeError
        If *value* is a Tensor that requires grad: that is a `parameter`.

    Examples
    --------
    >>> from minitorch import static
    >>> static.constant([1.0, 2.0], "c")
    <Constant c>
    """
    if isinstance(value, _runtime.Tensor):
        if value.requires_grad:
            raise RuntimeError(
                "constant(): argument 'value' is a Tensor that requires grad, and no gradient would reach it; "
                "use static.parameter(tensor), or pass tensor.detach()"
            )
        array = value._array
    elif isinstance(value, np.ndarray):
        array = value.astype(of_numpy(value.dtype).numpy)
    else:
        try:
            array = tensor(value, dtype=dtype)._array
        except (TypeError, ValueError, RuntimeError) as error:
            raise type(error)(f"constant(): argument 'value' is {type(value).__name__}: {of_new(error)}") from None
    return Constant(np.array(array, None if dtype is None else to_numpy(dtype)), name)


def parameter(value: Any, name: str | None = None) -> Parameter:
    """A node whose values are those that a Tensor has whenever the graph runs: what an optimizer changes.

    Examples
    --------
    >>> import minitorch as torch
    >>> from minitorch import static
    >>> w = torch.tensor(2.0, requires_grad=True)
    >>> run = static.Executor([static.parameter(w, "w") * 3.0]).run
    >>> before = run()
    >>> with torch.no_grad():
    ...     w += 1
    >>> before, run()
    ([array(6., dtype=float32)], [array(9., dtype=float32)])
    """
    if not isinstance(value, _runtime.Tensor):
        raise TypeError(
            f"parameter(): argument 'value' must be a Tensor, not {type(value).__name__}; see static.constant"
        )
    return Parameter(value, name or value.__dict__.get("name"))


def of_new(error: Exception) -> str:
    """What making a tensor of something says, without the name of the function that did."""
    return str(error).removeprefix("new(): ")


# -- making them -------------------------------------------------------------------------------------------------------
def operand(value: Any, like: Any, where: str) -> Any:
    """An operand of a row: a node, a number, or a tensor or array as a constant."""
    if isinstance(value, (Node, Number)):
        return value
    if isinstance(value, Symbol):
        return Node(BESIDE, (value, like), layout=Layout(0))
    if isinstance(value, (bool, int, float)):
        return Number(value)
    if isinstance(value, np.generic):
        return Number(value.item())
    if isinstance(value, np.ndarray):
        return constant(value)
    if isinstance(value, _runtime.Tensor):
        if value.requires_grad:
            what = "is given" if like is None else f"meets the symbolic node {like}"
            raise RuntimeError(
                f"{where}: a Tensor that requires grad {what}, and no gradient would reach it; put it into the graph with "
                "static.parameter(tensor), or pass tensor.detach() as a constant"
            )
        return constant(value)
    raise TypeError(
        f"{where}: expected a node, a Tensor, an array or a number beside {like}, not {type(value).__name__}"
    )


def made(name: str, *args: Any, **params: Any) -> Any:
    """The node, or the tuple of nodes, of a row by name."""
    return node_of(rows[name], args, params)


def node_of(row: Row, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """The node of a row's call, or its several outputs."""
    if row.variadic:
        given, more = tuple(args[0]), args[1:]
    else:
        given, more = args[: len(row.inputs)], args[len(row.inputs) :]
        if len(given) < len(row.inputs):
            raise TypeError(
                f"{row.name}: expected operands {row.inputs}, got {len(given)} of them; rows take all; functions, of "
                "which some may be left out, go through static.apply(torch.nn.functional.linear, x, weight)"
            )
    if "other" in row.inputs and any([v is NotImplemented for v in given]):
        return NotImplemented
    if len(more) > len(row.params):
        raise TypeError(
            f"{row.name}: expected operands {row.inputs} and parameters {tuple(row.params)}, got {len(args)} in all"
        )
    params = dict(zip(row.params, more)) | params
    like = next((v for v in given if isinstance(v, Node)), None)
    if "operand" in row.instead:  # which refuses some numbers
        for value in given:
            if isinstance(value, bool):
                row.instead["operand"](value, None)
    inputs = tuple([operand(v, like, row.name) for v in given])
    params = {name: _parameter(row, name, value) for name, value in params.items()}
    if missing := [name for name, default in row.params.items() if not default and name not in params]:
        raise TypeError(f"{row.name}: parameter {missing[0]!r} is missing; it has {tuple(row.params)}")
    if "keepdim" in row.params and params.get("dim").__class__ is tuple:
        params["dim"] = counted(row, inputs[0], params["dim"])
    if row.outputs or "aside" in row.kept:
        from ._functions import outputs_of

        return outputs_of(row, inputs, params)
    return Node(row, inputs, params, layout=_layout(row, inputs))


FLOATED = Function(
    "floated",
    floating,
    lambda t: t if t._array.dtype.kind == "f" else _runtime.wrap(floating(t._array)),
    gradient=lambda node, g, needed: [g],
)


def floated(node: Node) -> Node:
    """A node that is certainly of floats: integers become floats."""
    known = node.layout.dtype
    return node if known is not None and known.kind == "f" else Node(FLOATED, (node,), layout=Layout(node.layout.ndim))


def _parameter(row: Row, name: str, value: Any) -> Any:
    if name not in row.params:
        raise TypeError(f"{row.name}: no parameter {name!r}; it has {tuple(row.params)}")
    if isinstance(value, Node):
        raise TypeError(f"{row.name}: parameter {name!r} must be a constant, not the node {value}; use static.apply")
    value = gathered(value)
    if isinstance(value, Symbol):
        return value
    try:
        return _runtime.parameter(row, name, value.item() if value.__class__ in _runtime.numpy_scalars else value)
    except TypeError as error:
        raise TypeError(str(error).replace("minitorch()", f"{row.name}()", 1)) from None


def _counted_in(array: np.ndarray, *, given: tuple[int, ...]) -> tuple[int, ...]:
    if given == (0,):
        return given if array.ndim else ()
    try:
        return reduced_dims(given, array.ndim)
    except (IndexError, RuntimeError):  # which the row says itself
        return given


DIMS = Function("dims", _counted_in)


def counted(row: Row, node: Any, dims: tuple[int, ...]) -> Any:
    """The dimensions that a row reduces over, counted from 0: a symbol, where that depends on how many there are.

    For people, a value without dimensions has dimension 0, and -1; for a row it has none.
    """
    ndim = node.layout.ndim if isinstance(node, Node) else 0
    if ndim is not None:
        try:
            return reduced_dims(dims, ndim) if dims else dims
        except (IndexError, RuntimeError) as error:
            raise type(error)(f"{row.name}(): {str(error).partition(': ')[2]}; it is node {node}") from None
    if dims != (0,) and min(dims, default=0) >= 0:
        return dims
    found = Symbol(DIMS, node, given=dims)
    found.label = str(dims)
    return found


def _layout(row: Row, inputs: tuple[Any, ...]) -> Layout | None:
    """What is known of a result's shape and dtype."""
    nodes = [i for i in inputs if isinstance(i, Node)]
    if not row.elementwise or not nodes:
        dtypes = {n.layout.dtype for name, n in zip(row.inputs, inputs) if name in row.formulas and isinstance(n, Node)}
        dtype = dtypes.pop() if len(dtypes) == 1 and "dtype" not in row.params and not row.variadic else None
        floats = dtype is not None and dtype.kind == "f"  # what is made of float32 is float32
        return Layout(2 if row.name in ("mm", "mm_nt", "mm_tn") else None, dtype if floats else None)
    first = nodes[0].layout
    ranks = [n.layout.ndim for n in nodes]
    ndim = None if None in ranks else max(ranks)  # type: ignore[type-var]
    if not row.formulas or any([n.layout is not first for n in nodes]):
        return Layout(ndim)
    floats = first.dtype is not None and first.dtype.kind == "f"
    if floats or (len(nodes) == len(inputs) and not row.floats):
        return first
    return Layout(ndim)
