"""One op is one row: ``op()`` turns a row into a node class and a recording function.

    _mul = op("mul", "MulBackward0", np.multiply, ("self", "other"),
              self=lambda F, g, other: g * other,
              other=lambda F, g, self: g * self)

A formula's parameter names say what is saved: an input, ``<input>_shape``, a keyword-only parameter of the kernel, ``result``
(of several outputs also ``result0``, ``result1``, …, one each), or ``aside``, the arrays that the kernel returns after its
outputs.  The recording function and the node's ``backward`` are written by ``_codegen`` as flat Python and compiled when the
row is first used (as dataclasses and attrs do): ``print(row.source)`` shows them, and so do tracebacks.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar

import numpy as np

from . import _codegen, _errors, _layouts, _modes, _records, _runtime, _stories, _tape, _views
from ._dtypes import promote
from ._runtime import not_implemented, raw, traced
from ._saved import call_node, drop_packed, packable, properties_of
from ._tape import Node

rows: dict[str, Row] = {}
"""Every row by name."""

_Function = TypeVar("_Function", bound=Callable[..., Any])


class Row:
    """A row: forward kernel, formulas, what they read, and what ``op()`` made of them.

    Attributes
    ----------
    call : function
        What records it: Tensors in, Tensors out.
    recorder : function
        The written recording function: ``call``, unless that is written by hand, as ``detach`` is.
    operator : function
        The same for an operator: NotImplemented where an operand is foreign.
    node_type : type
        The class of the node.
    source : str
        The generated source of both.
    """

    def __init__(self, name: str, node_name: str, kernel: Callable[..., Any], inputs: tuple[str, ...]) -> None:
        self.name, self.node_name, self.kernel, self.casts = name, node_name, kernel, True
        self.variadic = inputs[0].startswith("*")
        self.inputs = tuple([i.lstrip("*") for i in inputs])
        self.is_ufunc, self.checks = isinstance(kernel, np.ufunc), getattr(kernel, "checks", False)
        self.params = {} if self.is_ufunc else _codegen.constants(kernel)
        self.declared = {p: getattr(kernel, "__annotations__", {}).get(p, "") for p in self.params}
        self.view: bool | str = False
        self.outputs: bool | int = False
        self.results: list[str] = []  # names under which formulas may read outputs
        self.multiple = self.floats = self.elementwise = self.broadcasts = self.together = False
        self.numbers: bool | str = True
        self.tangent: Any = None
        self.rule: Any = None  # what forward mode goes by, once it went: see _tangent_rules and _tangent_quick
        self.quick = False
        self.again: Any = None
        self.instead: dict[str, Callable[..., Any]] = {}
        self.rarely: dict[str, tuple[Any, Callable[..., Any]]] = {}
        self.shows: dict[str, Callable[[Any], Any] | str] = {}
        self.hides: tuple[str, ...] = ()
        self.formulas: dict[str, Callable[..., Any]] = {}
        self.reads: dict[str, tuple[str, ...]] = {}
        self.source, self.absent = "", 0
        self.node_type: Any = None
        self.call: Any = None
        self.recorder: Any = None

    @functools.cached_property
    def operator(self) -> Any:
        return recorder(self, "operator")

    @functools.cached_property
    def kept(self) -> list[str]:
        """What formulas read of arrays: inputs, the result, and what the kernel set aside."""
        return [name for name in (*self.inputs, *self.results, "aside") if self.readers(name)]

    @functools.cached_property
    def constants(self) -> list[str]:
        """The other values that formulas read: shapes of inputs, and parameters."""
        return [name for name in (*(f"{i}_shape" for i in self.inputs), *self.params) if self.readers(name)]

    def readers(self, name: str) -> list[str]:
        """The inputs whose formula reads *name*."""
        return [i for i, reads in self.reads.items() if name in reads]

    def apply(self, array: np.ndarray, *params: Any) -> Any:
        """The kernel with its parameters by position."""
        return self.kernel(array, **dict(zip(self.params, params)))

    def __repr__(self) -> str:
        return f"<op {self.name}({', '.join([*self.inputs, *self.params])})>"

    def __reduce__(self) -> tuple[Any, ...]:
        return row_of, (self.name,)


def row_of(name: str) -> Row:
    """The row of a name."""
    return rows[name]


def op(
    name: str,
    node_name: str,
    kernel: Callable[..., Any],
    inputs: tuple[str, ...],
    *,
    elementwise: bool | None = None,
    broadcasts: bool | None = None,
    view: bool | str = False,
    outputs: bool | int = False,
    multiple: bool = True,
    floats: bool = False,
    numbers: bool | str = True,
    casts: bool = True,
    instead: dict[str, Callable[..., Any]] | None = None,
    tangent: Any = None,
    rarely: dict[str, tuple[Any, Callable[..., Any]]] | None = None,
    shows: dict[str, Callable[[Any], Any] | str] | None = None,
    hides: tuple[str, ...] = (),
    together: Callable[..., Any] | None = None,
    **formulas: Callable[..., Any] | None,
) -> Any:
    """Declare an operation and return its recording function.

    Parameters
    ----------
    name : str
        Its name in ``F`` and in messages.
    node_name : str
        The name of its node, PyTorch's where PyTorch has one.
    kernel : callable
        ndarrays in, ndarray out; keyword-only parameters are constants.  A ufunc, or a function that returns new memory
        (or, for a view, the input's).
    inputs : tuple of str
        The tensors, in order: those with a formula are differentiable, others are masks, indices, targets.
        ``("*tensors",)`` takes a list of tensors, which *broadcasts* promotes to one dtype.
    elementwise : bool
        Whether inputs alike give a result alike (default: a ufunc does).
    broadcasts : bool
        Whether inputs may be broadcast or promoted, so that the engine fits gradients to them (default: elementwise ops
        of several inputs do).  Where the op is not elementwise, inputs without a formula keep their dtype.
    view : bool or "maybe"
        Whether the output shares the input's memory.
    outputs : bool or int
        Whether the kernel returns several arrays, or how many of them are outputs (others are ``aside``, for formulas).
    multiple : bool
        Whether the several outputs, being views, refuse to be written in place.
    floats, casts : bool
        Whether integer inputs are converted to the default float dtype; whether ``out=`` may have another than the result.
    numbers : bool or "either"
        Whether the operands after the first may be numbers; "either": the first of two may be instead.
    instead : dict
        What the generated code calls in place of ``_runtime``'s and ``_layouts``'s functions of these names.
    tangent : str, callable, dict or Composition
        How forward mode goes, see docs/design/11-transforms.md.  "linear" applies the op to the tangents, "multilinear" to
        each in its input's place; "formulas" (which elementwise ops need not say) adds what the formulas give for the
        tangents; "reduction" sums that as the op reduces; ``function(F, t, *saved)``, in a dict where there are several inputs,
        is what an input's tangent adds to the result's; "transpose" does it by a second reverse pass.
    rarely : dict
        Keyword-only arguments of an elementwise op, each with its default and the function that is called instead where it
        differs: ``function(*inputs, value, out=out)``.
    shows : dict
        What people see as the node's ``_saved_<name>`` besides what it saves under its own names: ``function(node)``, or
        the name of a saved value, which is then not shown under that one.
    hides : tuple of str
        Saved values that people do not see.
    together : callable
        One formula for all inputs, where their derivatives have most of their work in common:
        ``function(F, g, needed, *saved)`` returns a sequence of gradients; *needed* says of each whether it is wanted.  Of
        several outputs, *g* has the gradients that came, by number.
    **formulas
        The derivative for each differentiable input: ``lambda F, g, *saved: gradient``.  The node's edges are in this
        order.  None, after the others, is for an input that PyTorch's node has and this row has not: an edge to nowhere.

    Raises
    ------
    TypeError
        At import, where a formula is for something that is no input, or reads what is not there.
    """
    row = Row(name, node_name, kernel, inputs)
    row.view, row.outputs, row.multiple, row.floats = view, outputs, multiple, floats
    row.results = ["result", *(f"result{i}" for i in range(outputs if outputs is not True else 0))]
    row.numbers, row.casts, row.instead = numbers, casts, instead or {}
    row.elementwise = isinstance(kernel, np.ufunc) and kernel.signature is None if elementwise is None else elementwise
    row.broadcasts = row.elementwise and len(inputs) > 1 if broadcasts is None else broadcasts
    row.rarely, row.shows, row.hides = rarely or {}, shows or {}, hides
    row.tangent = tangent or ("formulas" if row.elementwise else None)
    row.formulas = {i: formula for i, formula in formulas.items() if formula is not None}
    row.absent = len(formulas) - len(row.formulas)
    row.reads = {i: _codegen.parameters(f)[2:] for i, f in row.formulas.items()}
    if together is not None:
        row.together, row.formulas = True, dict.fromkeys(row.inputs, together)
        row.reads = dict.fromkeys(row.inputs, _codegen.parameters(together)[3:])
    check(row)
    row.call = row.recorder = recorder(row, "recorder")
    rows[name] = row
    setattr(raw, name, _codegen.called_by_formulas(row))
    setattr(traced, name, row.call)
    return row.call


def check(row: Row) -> None:
    """Refuse, at import, a formula for something that is no input or one that reads what is not there."""
    if row.name in rows:
        raise TypeError(f"op {row.name!r} is declared twice")
    if taken := {*row.inputs, *row.params} & _codegen.LOCALS:
        raise TypeError(
            f"op {row.name!r}: {sorted(taken)} are names of the generated code: give those inputs or parameters others"
        )
    if unknown := set(row.formulas) - set(row.inputs):
        raise TypeError(f"op {row.name!r}: derivative given for {sorted(unknown)}, but its inputs are {row.inputs}")
    readable = {*row.inputs, *row.params, *row.results, "aside", *(f"{i}_shape" for i in row.inputs)}
    if row.variadic:
        readable -= {row.inputs[0], "result"}
    for name, reads in row.reads.items():
        if unknown := set(reads) - readable:
            raise TypeError(
                f"op {row.name!r}: derivative of {name!r} reads {sorted(unknown)}; it may read {sorted(readable)}"
            )


def recorder(row: Row, variant: str) -> Any:
    """A function that becomes the row's recording function when it is first called.

    Its globals' ``__name__`` is None: from such a frame CPython issues no warnings (its rule for modules that are being shut
    down), so that a ufunc called there keeps NumPy's floating-point warnings to itself, whatever the user's filters, at no
    cost.  Kernels in Python have frames of their own: they run in ``quiet``.
    """

    def materialise(*args: Any, **kwargs: Any) -> Any:
        if row.node_type is None:
            build(row)
        return getattr(row, variant)(*args, **kwargs)

    scope = {"materialise": materialise, "__builtins__": __builtins__, "__name__": None}
    placeholder: Any = FunctionType(_PLACEHOLDER, scope)
    placeholder.__name__ = placeholder.__qualname__ = row.name
    placeholder.__module__ = __name__
    placeholder.row = row
    return placeholder


_PLACEHOLDER = (lambda *args, **kwargs: materialise(*args, **kwargs)).__code__  # type: ignore[name-defined]  # noqa: F821  # in each one's scope


def build(row: Row) -> None:
    """Write and compile the row's recording functions and its node's class and backward."""
    slots = tuple([f"saved_{n}" for n in (*row.kept, *row.constants)])
    results = [name for name in row.results if name in row.kept]
    body: dict[str, Any] = {"__slots__": slots + ("result_edits",) * bool(results), "__module__": __name__}
    body |= {
        "row": row,
        "saves_result": results[:1] == ["result"] or frozenset(int(name[6:]) for name in results),
        "several": row.outputs,
        "saved_names": slots,
        "packable": packable,
        "drop_packed": drop_packed,
        "__call__": call_node,
    }
    body |= properties_of(row)
    row.source = _codegen.source(row)
    code = _codegen.compiled(row.source, row.name)
    names = _shared_names() | {f"{i}_formula": f for i, f in row.formulas.items()}
    names |= {f"with_{name}": function for name, (_, function) in row.rarely.items()} | row.instead
    names |= {"row": row, "kernel": row.kernel}
    for variant, foreign in ((row.operator, not_implemented), (row.recorder, _errors.unsupported_operand)):
        scope = variant.__globals__
        scope.update(names, foreign=foreign)
        exec(code, scope)
        if row.node_type is None:
            node_type: Any = type(row.node_name or row.name, (Node,), body | {"backward": scope["backward"]})
            if not row.formulas:
                del node_type.backward
            row.node_type = node_type
        scope["NodeType"] = row.node_type
        made = scope["recorder"]
        variant.__defaults__, variant.__kwdefaults__ = made.__defaults__, made.__kwdefaults__
        variant.__code__ = made.__code__


@functools.cache
def _shared_names() -> dict[str, Any]:
    """What generated code refers to."""
    names: dict[str, Any] = {"promote": promote}
    for module, wanted in (
        (
            _runtime,
            "Tensor check_unedited filled float_operand into new_tensor numpy_scalars operand outputs_of parameter "
            "quiet raise_inference raw rescued rewrapped tensor_types unsaved views_of without_tensors wrap",
        ),
        (_tape, "next_position"),
        (_records, "observe"),
        (_stories, "raise_freed"),
        (_views, "UnrecordedView View attach_view current_node edits_of shares_memory"),
        (_layouts, "floated intern_layout layouts settle settle_all settle_floats"),
        (_modes, "grad_on observers"),
        (_errors, "not_a_tensor"),
    ):
        names |= {name: getattr(module, name) for name in wanted.split()}
    return names


def documents(recording_function: Any) -> Callable[[_Function], _Function]:
    """The decorator of a public signature and docstring that belong to a row's recording function."""

    def decorator(public: _Function) -> _Function:
        recording_function.__doc__ = public.__doc__
        recording_function.__name__ = recording_function.__qualname__ = public.__name__
        recording_function.__module__ = public.__module__
        recording_function.__signature__ = inspect.signature(public)
        recording_function.__annotations__ = public.__annotations__
        return recording_function

    return decorator
