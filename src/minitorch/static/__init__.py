"""Define, then run: graphs of symbolic nodes, differentiated as graphs, run many times.

>>> from minitorch import static
>>> x, w = static.placeholder("x"), static.placeholder("w")
>>> y = (x + w) * (w + 1)
>>> (g,) = static.gradients(y, [w])
>>> static.Executor([y, g]).run({x: 2.0, w: 1.0})
[array(6., dtype=float32), array(5., dtype=float32)]
"""

from ._control import cond, while_loop
from ._executor import Executor
from ._functions import apply
from ._functions import symbolic as rows
from ._gradients import gradients
from ._graph import Graph
from ._instructions import Function, Instruction, Number, Program, Slot
from ._memory import MemoryPlan
from ._nodes import Node, constant, parameter, placeholder
from ._order import topological_order
from ._traced import Traced, compile, trace
from ._traced_code import PASSES
from ._vertices import NeedsValues, Symbol

__all__ = [
    "PASSES",
    "Executor",
    "Function",
    "Graph",
    "Instruction",
    "MemoryPlan",
    "NeedsValues",
    "Node",
    "Number",
    "Program",
    "Slot",
    "Symbol",
    "Traced",
    "apply",
    "compile",
    "cond",
    "constant",
    "gradients",
    "parameter",
    "placeholder",
    "rows",
    "topological_order",
    "trace",
    "while_loop",
]
