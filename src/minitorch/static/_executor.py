"""Running a graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import _dtypes, _runtime
from .._dtypes import of_numpy
from .._errors import broadcast_problem, public_name
from .._op import Row
from .._runtime import wrap
from ..ops.from_data import tensor
from ._apart import Apart
from ._compile import Compiled
from ._instructions import NotOneTruth, Unchanging
from ._memory import MemoryPlan
from ._nodes import Node, Placeholder, of_new
from ._order import vertices
from ._vertices import Vertex


class Executor(Unchanging):
    """Runs the part of a graph that some nodes need.

    When it is made, the graph is put in order and written out as a flat list of instructions.  ``run`` computes each node
    once, branches that are not taken not at all, and frees what nothing needs any more.

    Parameters
    ----------
    outputs : Node or sequence of Node
        What is computed.

    Attributes
    ----------
    order : list of Vertex
        All that is computed, in order.
    placeholders : list of Node
        What is to be fed.
    program : Program
        The instructions; ``print(executor.program)`` shows them as Python.

    Raises
    ------
    TypeError
        If *outputs* are no nodes.
    RuntimeError
        If the graph has a cycle, or an output belongs to the body of a loop.

    Examples
    --------
    >>> from minitorch import static
    >>> x1, x2 = static.placeholder("x1"), static.placeholder("x2")
    >>> y = (x1 * x2 + x1) / x2
    >>> executor = static.Executor([y, *static.gradients(y, [x1, x2])])
    >>> value, g1, g2 = executor.run({x1: 0.6, x2: 0.2})
    >>> [round(v.item(), 4) for v in (value, g1, g2)]
    [3.6, 6.0, -15.0]
    """

    def __init__(self, outputs: Any) -> None:
        self.outputs = vertices(outputs, "Executor")
        for output in self.outputs:
            if output.scope is not None:
                raise RuntimeError(
                    f"Executor(): {output} belongs to the body of {output.scope.name}; run what the loop gives"
                )
        self._prepare()

    def _prepare(self) -> None:
        """Make the program, in which numbers beside integers are floats of the default dtype."""
        self._default = _dtypes.default()
        self._compiled = Compiled(self.outputs)
        self.order, self.program = self._compiled.order, self._compiled.program
        targets = {output.of for output in self.outputs if isinstance(output, Node)}
        self._feeds = [
            (node, slot, node.dtype, node.fixed, node in targets) for node, slot in self._compiled.placeholders
        ]
        self.placeholders = [node for node, _ in self._compiled.placeholders]
        named: dict[str, Any] = {}
        for node, *_ in self._feeds:
            if named.setdefault(node.label, node) is not node:
                raise RuntimeError(
                    f"Executor(): two placeholders are called {node.label!r}; give each a name of its own, or use one"
                )
        self._by_name = named
        self._results = self._compiled.results
        self._slots = [slot for _, slot in (*self._compiled.placeholders, *self._compiled.parameters)]
        self._apart = Apart(self.outputs, self._compiled.slots)

    def __repr__(self) -> str:
        feeds = ", ".join([str(node) for node, *_ in self._feeds])
        return f"<Executor of {len(self.program.instructions)} instructions on ({feeds})>"

    def run(self, feed_dict: Mapping[Any, Any] | None = None, *, tensors: bool | None = None) -> list[Any]:
        """The values of the outputs.

        Parameters
        ----------
        feed_dict : mapping of (Node or str) to (array, Tensor, number or list)
            The value of each placeholder, by node or by name.
        tensors : bool, optional
            Whether the results are Tensors (without history); default: if a Tensor is fed.

        Returns
        -------
        list of ndarray, or of Tensor
            Each has memory of its own, also where a node is a view of a feed, a parameter or another output.

        Raises
        ------
        RuntimeError
            If a placeholder is not fed, or something that is none; if a shape or a dtype is not the placeholder's; if an
            operation fails, with the node that it is.
        """
        feed: Mapping[Any, Any] = {} if feed_dict is None else feed_dict
        if not isinstance(feed, Mapping):
            names = ", ".join([f"{name}: ..." for name in self._by_name])
            raise TypeError(
                f"run(): feed_dict must be a dict of values by node or name, {{{names}}}, not {type(feed).__name__}"
            )
        if self._default is not _dtypes.default():
            self._prepare()
        registers = self._compiled.registers()
        came = False
        for node, slot, dtype, fixed, target in self._feeds:
            value = feed[node] if node in feed else self._named(node, feed)
            if value.__class__ is not np.ndarray or value.dtype is not dtype:
                came = came or isinstance(value, _runtime.Tensor)
                value = _array(node, value, dtype)
            if fixed is not None and value.shape != fixed:
                _check_shape(node, value.shape, fixed)
            if target and value.dtype.kind != "f":
                raise RuntimeError(f"{node} is fed with {value.dtype}, but only floats have gradients: feed floats")
            registers[slot] = value
        if len(feed) > len(self._feeds):
            raise self._mismatch(feed)
        outside = [registers[slot] for slot in self._apart.leaves]
        try:
            facts = tuple([((a := registers[slot]).dtype, a.ndim > 0) for slot in self._slots])
            code = self.program.facts.get(facts)
            if code is None:
                self._check_parameters()
                code = self.program.code_for(self._slots, facts)
            self.program.run(registers, code)
        except Exception as error:
            raise _explained(error) from error.__cause__
        results = [registers[slot] for slot in self._results]
        if self._apart.asked:
            self._apart(results, outside)
        if tensors if tensors is not None else came:
            return [wrap(r) if isinstance(r, np.ndarray) else r for r in results]
        return results

    def to_python(
        self, path: Any, feed_dict: Mapping[Any, Any] | None = None, dynamic_axes: Mapping[Any, Any] | None = None
    ) -> None:
        """Write the graph as a Python module that imports NumPy alone: see ``Traced.to_python``.

        The module's function is called ``run``; it takes the placeholders under their names and returns a list.
        A name that no parameter can have in Python is changed (``class`` to ``_class``, ``a b`` to ``a_b``), with a warning.

        Parameters
        ----------
        path : path-like
            ``graph.py``, beside which parameters are written into ``graph.npz``.
        feed_dict : mapping
            As for ``run``: an example, for whose shapes and dtypes the module is written.
        dynamic_axes : dict, optional
            For placeholders, by name, the axes whose sizes may vary.  By default those that are None in the placeholders'
            shapes; where the graph does not run with sizes of their own for all of them, those that are equal in the example
            stay equal.  For a placeholder without a shape, and with ``dynamic_axes={}``, the example's shape is written.

        Raises
        ------
        RuntimeError
            As for ``Traced.to_python``, so where the graph does other things at other sizes: then give *dynamic_axes*.

        Examples
        --------
        >>> import os, tempfile
        >>> from minitorch import static
        >>> x, w = static.placeholder("x"), static.placeholder("w")
        >>> executor = static.Executor((x + w) * (w + 1))
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     path = os.path.join(directory, "graph.py")
        ...     executor.to_python(path, {"x": [2.0], "w": [1.0]})
        ...     with open(path) as file:
        ...         print([line.strip() for line in file if "# float32" in line])
        ['add = x + w  # float32[1]', 'add_1 = w + 1.0  # float32[1]', 'mul = add * add_1  # float32[1]']
        """
        from ._graph_function import GraphFunction

        self.run(feed_dict)  # which says what is wrong with what is fed
        GraphFunction(self.placeholders, self._compiled).write(path, self._tensors(feed_dict), dynamic_axes)

    def memory_plan(self, feed_dict: Mapping[Any, Any] | None = None) -> MemoryPlan:
        """The most bytes that computed values take at a time, for feeds of these shapes.

        An Executor frees each value after its last use, as eager code does that keeps no name for it, and uses no memory
        again; so ``eager``, ``freed`` and ``reused`` are equal.  ``history`` is what eager code takes that computes the same
        of leaves that require grad, and keeps what a way back would read.

        Parameters
        ----------
        feed_dict : mapping
            As for ``run``.

        Returns
        -------
        MemoryPlan

        Examples
        --------
        >>> import minitorch as torch
        >>> from minitorch import static
        >>> x = static.placeholder("x")
        >>> y = x
        >>> for _ in range(10):
        ...     y = y.tanh()
        >>> [round(size / 4000) for size in static.Executor(y).memory_plan({x: torch.ones(1000)})]
        [10, 2, 2, 2]
        """
        from ._graph_function import GraphFunction

        self.run(feed_dict)
        return GraphFunction(self.placeholders, self._compiled).memory_plan(self._tensors(feed_dict))

    def _tensors(self, feed_dict: Mapping[Any, Any] | None) -> list[Any]:
        """What is fed, in the placeholders' order."""
        feed: Mapping[Any, Any] = {} if feed_dict is None else feed_dict
        given = [feed[node] if node in feed else feed[node.label] for node in self.placeholders]
        arrays = [_array(node, value, node.dtype) for node, value in zip(self.placeholders, given)]
        return [wrap(array.copy("K")) for array in arrays]  # for one may be fed in two places

    def _check_parameters(self) -> None:
        """Refuse a parameter whose dtype has changed since the graph was made."""
        for node, _ in self._compiled.parameters:
            was, now = node.layout.dtype, node.tensor._array.dtype
            if was is not now:
                raise RuntimeError(f"{node} was {was} when the graph was made and is {now} now: make the graph anew")

    def _named(self, node: Any, feed: Mapping[Any, Any]) -> Any:
        """What is fed under a placeholder's name."""
        if node.label in feed:
            return feed[node.label]
        raise self._mismatch(feed)

    def _mismatch(self, feed: Mapping[Any, Any]) -> RuntimeError:
        """The error of feeds that are missing, and of those that are none of this graph."""
        said = []
        missing = [str(n) for n, *_ in self._feeds if n not in feed and n.label not in feed]
        if missing:
            example = ", ".join([f"{name}: ..." for name in missing])
            said.append(f"no value was fed for {', '.join(missing)}: run({{{example}}}), by the node or by its name")
        surplus = [f"a value was fed for {key}, which {what} here" for key in feed if (what := self._surplus(key))]
        if surplus:
            said += [*surplus, f"the placeholders are: {', '.join(self._by_name) or 'none'}"]
        twice = [name for name, node in self._by_name.items() if name in feed and node in feed]
        said += [f"{name} was fed twice, by its node and by its name" for name in twice]
        return RuntimeError("; ".join(said))

    def _surplus(self, key: Any) -> str:
        """What a key of feeds is that is no placeholder of this graph."""
        if isinstance(key, str):
            return "" if key in self._by_name else "is not needed"
        if not isinstance(key, Vertex):
            return f"is of class {type(key).__name__}, no node or name,"
        if not isinstance(key, Placeholder):
            return "is no placeholder"
        known = self._by_name.get(str(key.label))
        if known is None:
            return "is not needed"
        return "" if known is key else "is another placeholder than the one of that name"


def _array(node: Any, value: Any, dtype: Any) -> np.ndarray:
    """What is fed, as an array of the placeholder's dtype; numbers and lists are converted, arrays must fit."""
    if isinstance(value, _runtime.Tensor):
        array = value._array
    elif isinstance(value, np.ma.MaskedArray):
        raise RuntimeError(
            f"{node} is fed with a masked array: feed the values, value.filled(...), and the mask by itself"
        )
    elif isinstance(value, (np.ndarray, np.generic)):
        array = np.asarray(value)
    elif isinstance(value, Vertex):
        raise RuntimeError(f"{node} is fed with the node {value}: feed an array, a Tensor, a number or a list")
    else:
        try:
            return tensor(value, dtype=None if dtype is None else of_numpy(dtype))._array
        except (TypeError, ValueError, RuntimeError) as error:
            raise RuntimeError(
                f"{node} is fed with {type(value).__name__}: {of_new(error)}; feed an array, a Tensor, a number or a list of "
                "numbers"
            ) from None
    given = array.dtype
    if given.kind not in "biuf" or given.itemsize > 8:
        raise RuntimeError(
            f"{node} is fed with an array of {given}: feed floats of 16 to 64 bits, integers or bools"
            + (" (of complex numbers, real and imaginary parts as two arrays)" if given.kind == "c" else "")
        )
    if not given.isnative:
        array = array.astype(given.newbyteorder("="))
    if dtype is not None and array.dtype != dtype:
        raise RuntimeError(
            f"{node} has dtype {dtype}, but is fed with {array.dtype}: convert it, value.astype({str(dtype)!r})"
        )
    return array


def _check_shape(node: Any, shape: tuple[int, ...], fixed: tuple[Any, ...]) -> None:
    if len(shape) != len(fixed) or any([want is not None and n != want for n, want in zip(shape, fixed)]):
        expected = (
            "(" + ", ".join(["any" if n is None else str(n) for n in fixed]) + ("," if len(fixed) == 1 else "") + ")"
        )
        raise RuntimeError(
            f"{node} has shape {expected}, but is fed with shape {tuple(shape)}: reshape what is fed, or declare sizes that "
            "vary as None"
        )


def _explained(error: Exception) -> Exception:
    """An operation's error, saying at which node, and on what."""
    ins = getattr(error, "instruction", None)
    if ins is None:
        return error
    row, said = ins.op, str(error)
    came = [v for v in error.values if isinstance(v, np.ndarray)]  # type: ignore[attr-defined]
    name = public_name(row) if isinstance(row, Row) else row.name
    if isinstance(error, NotOneTruth) and name != "while_loop":  # the operation is only what the branch begins with
        error.args = (f"cond(): {said}",)
        return error
    if isinstance(error, ValueError) and "broadcast" in said:
        said = broadcast_problem([a.shape for a in came])
    operands = "; ".join([f"{v} has shape {a.shape} and dtype {a.dtype}" for v, a in zip(_nodes(ins.source), came)])
    kind = (
        type(error) if isinstance(error, (RuntimeError, IndexError, TypeError, NotImplementedError)) else RuntimeError
    )
    text = f"{said if said.startswith(name) else f'{name}(): {said}'}, at node {ins.source}" + (
        f"; {operands}" if operands else ""
    )
    try:
        made = kind(text)
    except TypeError:
        made = RuntimeError(text)
    made.instruction, made.__cause__ = ins, error  # type: ignore[union-attr]
    return made


def _nodes(source: Any) -> list[Any]:
    return [v for v in getattr(source, "inputs", ()) if isinstance(v, Node)]
