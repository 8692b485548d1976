"""A graph as a function of Tensors, and as a NumPy module."""

from __future__ import annotations

import inspect
import keyword
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from .._modes import no_grad
from .._trace import Trace, current_trace
from .._trace_instructions import Slot
from ._compile import Compiled
from ._control_instructions import Control
from ._control_traced import ControlTrace
from ._memory import MemoryPlan, memory_plan
from ._python import FOLLOWED, PASSES, Block
from ._traced_code import Plan
from ._written_module import write_blocks


class GraphFunction:
    """Runs a graph on Tensors.

    Parameters
    ----------
    placeholders : sequence of Node
        Its parameters, under their names.
    compiled : Compiled
    """

    __name__ = "run"
    other_shapes = (
        "for other shapes, make the sizes that vary None in the placeholder's shape, or name them in dynamic_axes, and write "
        "the module again"
    )
    """What a module says of inputs that it is not written for."""

    def __init__(self, placeholders: Sequence[Any], compiled: Compiled) -> None:
        self.compiled = compiled
        names: list[str] = []
        for node in placeholders:
            name = re.sub(r"\W", "_", str(node.label))
            name = name if name.isidentifier() and not keyword.iskeyword(name) else f"_{name}"
            while name in names:
                name += "_"
            names.append(name)
        self.names = {str(node.label): name for node, name in zip(placeholders, names)}
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        self.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in names])

    def named_parameters(self) -> Iterator[tuple[str, Any]]:
        """The parameters of the graph, under the names of their nodes."""
        yield from [(node.label, node.tensor) for node, _ in self.compiled.parameters]

    def named_buffers(self) -> Iterator[tuple[str, Any]]:
        """None."""
        yield from ()

    def _registers(self, tensors: Sequence[Any]) -> list[Any]:
        registers = self.compiled.template.copy()
        for (_, slot), tensor in zip(self.compiled.placeholders, tensors):
            registers[slot] = tensor
        return registers

    def __call__(self, *tensors: Any) -> list[Any]:
        registers = self._registers(tensors)
        trace = current_trace()
        if trace is None:
            self.compiled.on_tensors(registers)
        else:
            ControlTrace(trace).run(self.compiled, registers)
        return [registers[slot] for slot in self.compiled.results]

    def memory_plan(self, tensors: list[Any]) -> MemoryPlan:
        """The figures of a run on these: see ``Executor.memory_plan``."""
        trace = Trace(tensors, lifts="kernels")
        registers = self._registers(tensors)
        with no_grad(), trace:
            self.compiled.on_tensors(registers)
        plan = Plan(trace, [trace.slot_of(registers[slot]) for slot in self.compiled.results], ())
        leaves = {s for s in trace.arguments if trace.arrays[s].dtype.kind == "f"}
        trained = {s for s, tensor in trace.captured.items() if tensor._node is not None}
        plan_of_run = memory_plan(plan, plan.results, leaves | trained)
        return plan_of_run._replace(freed=plan_of_run.eager, reused=plan_of_run.eager)

    def write(self, path: Any, tensors: list[Any], dynamic_axes: Any) -> None:
        """Write it as a NumPy module; see ``Executor.to_python``."""
        if isinstance(dynamic_axes, Mapping):
            dynamic_axes = {self.names.get(name, name): axes for name, axes in dynamic_axes.items()}
        for label, name in self.names.items():
            if label != name:
                warnings.warn(
                    f"to_python(): placeholder {label!r} is the parameter {name!r}, since {label!r} is no name of a parameter "
                    "in Python",
                    stacklevel=3,
                )
        ways = [dynamic_axes] if dynamic_axes is not None else self._axes(tensors)
        for way in ways:
            try:
                return self._write(path, tensors, way)
            except RuntimeError as error:
                if dynamic_axes is not None or not way:
                    raise
                last = error
        raise RuntimeError(
            f"{last}; sizes of placeholders that are None are to vary here: with dynamic_axes={{}}, those of the example "
            "are written"
        ) from last

    def _axes(self, tensors: list[Any]) -> list[dict[str, dict[int, str]]]:
        """The axes of sizes that are None: of sizes of their own, or else of those that are equal in the example."""
        free = [
            (name, axis, tensor.shape[axis])
            for name, (node, _), tensor in zip(self.__signature__.parameters, self.compiled.placeholders, tensors)
            for axis, size in enumerate(node.fixed or ())
            if size is None
        ]
        ways: list[dict[str, dict[int, str]]] = []
        kinds: list[Callable[[str, int, int], Any]] = [lambda *place: place, lambda _, *place: place, lambda *p: p[2]]
        for kind in kinds:
            way: dict[str, dict[int, str]] = {}
            called: dict[Any, str] = {}
            for name, axis, size in free:
                said = called.setdefault(kind(name, axis, size), f"{name}_size_{axis}")
                way.setdefault(name, {})[axis] = said
            if way not in ways:
                ways.append(way)
        return ways

    def _write(self, path: Any, tensors: list[Any], dynamic_axes: Any) -> None:
        trace = Trace(tensors, lifts="kernels")
        trace.all_leaks, trace.follows = True, FOLLOWED
        with no_grad(), trace:
            results = self(*tensors)
        branches = any([isinstance(ins, Control) for ins in trace.instructions])  # of which passes do not know
        plan = Plan(trace, [trace.slot_of(t) for t in results], ("dead code",) if branches else PASSES)
        given: Any = tuple([Slot(number) for number in range(len(tensors))]), {}
        examples = [tensor._array for tensor in tensors]
        block = Block(plan, plan.instructions, given, [Slot(number) for number in range(len(results))], examples)
        write_blocks(self, "A graph", lambda: [block], path, dynamic_axes)
