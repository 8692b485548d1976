"""Numbers that a function only returns: ``return loss.item()`` needs no guard, for nothing else depends on the number."""

from __future__ import annotations

import dis
import functools
import inspect
import sys
from collections.abc import Iterable, Mapping, Sequence
from types import CodeType, FrameType
from typing import Any, TypeAlias

from .. import _runtime
from .._pytree import tree_unflatten
from .._trace import Trace
from .._trace_instructions import Left
from ._facts import flattened
from ._libraries import of_kind
from ._names_in_code import instructions_of
from ._stands import flat

Path: TypeAlias = tuple[Any, ...]
"""The indices and keys that lead to a number in a list, a tuple or a dict."""

_CONVERT = ("_convert.py", "_value_notes.py", "_trace.py", "_returned.py")
"""Where numbers are made of tensors, in ``item()``, ``float()`` and the like."""
_GENERATES = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_QUIET = {"NOP", "CACHE", "PRECALL", "RESUME", "KW_NAMES", "EXTENDED_ARG", "MAKE_CELL", "COPY_FREE_VARS"}
_VARIABLES = {"LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_BORROW", "STORE_FAST", "DELETE_FAST"}
_BUILDS = {"BUILD_TUPLE", "BUILD_LIST", "BUILD_MAP", "BUILD_CONST_KEY_MAP"}
_CALLS = {"CALL": 2, "CALL_KW": 3}
"""How many values a call takes besides its arguments."""
_TAKES = {
    "LOAD_GLOBAL": 0, "LOAD_DEREF": 0, "LOAD_CLOSURE": 0, "PUSH_NULL": 0, "LOAD_NAME": 0,
    "LOAD_ATTR": 1, "LOAD_METHOD": 1, "BINARY_OP": 2, "BINARY_SUBSCR": 2, "COMPARE_OP": 2, "IS_OP": 2, "CONTAINS_OP": 2,
    "UNARY_NOT": 1, "UNARY_NEGATIVE": 1, "UNARY_INVERT": 1, "UNARY_POSITIVE": 1, "STORE_DEREF": 1, "STORE_GLOBAL": 1,
    "GET_ITER": 1, "STORE_ATTR": 2, "STORE_SUBSCR": 3, "FORMAT_VALUE": 1, "BEFORE_WITH": 1,
}  # fmt: skip
"""How many values on the stack an instruction takes, to do something with them."""
_MOST = 2000


class Known:
    """What is known of a value on the stack or in a variable: where in it the number is, or that it is a constant."""

    __slots__ = ("constant", "paths")

    def __init__(self, paths: frozenset[Path] = frozenset(), constant: Any = None) -> None:
        self.paths, self.constant = paths, constant


_NOTHING = Known()


class Recording(Trace):
    """A trace that knows where in what a function returns a value is that became a number.

    Attributes
    ----------
    within : CodeType
        The code that calls the function.
    """

    within: CodeType | None = None

    def left(self, kind: str, tensor: Any) -> None:
        """A value becomes Python's or NumPy's."""
        count = len(self.instructions)
        super().left(kind, tensor)
        if len(self.instructions) > count and kind in ("item", "bool", "tolist"):
            self.instructions[-1].path = _path_from(sys._getframe(1), self.within)


def _path_from(frame: FrameType | None, within: CodeType | None) -> Path | None:
    """Where the number that is being made will be in what the outermost function returns; None where it is used otherwise."""
    while frame is not None and frame.f_code.co_filename.endswith(_CONVERT):
        frame = frame.f_back
    path: Path | None = ()
    while frame is not None and path is not None and frame.f_code is not within:
        found = path_to_return(frame.f_code, frame.f_lasti)
        path = None if found is None else found + path
        frame = frame.f_back
    return path


class Frame:
    """What is known of a frame's stack and variables; of the stack's lower part, nothing is.

    Attributes
    ----------
    stack : list of Known
    variables : dict of str to Known
        Those in which the number is.
    used : bool
        Whether something else may have become of the number.
    """

    def __init__(self, stack: Iterable[Known], variables: Iterable[tuple[str, Known]]) -> None:
        self.stack, self.variables, self.used = list(stack), dict(variables), False

    def pop(self, count: int) -> list[Known]:
        """The uppermost values, the last one on top."""
        return [self.stack.pop() if self.stack else _NOTHING for _ in range(count)][::-1]

    def push(self, *values: Known) -> None:
        """Put values on the stack."""
        self.stack += values

    def take(self, count: int, made: int) -> None:
        """Values are used, for which others come."""
        self.used = self.used or any([value.paths for value in self.pop(count)])
        self.push(*[_NOTHING] * made)

    def run(self, instruction: dis.Instruction, jump: bool) -> None:
        """An instruction runs, and goes on after it, or jumps."""
        name, arg = instruction.opname, instruction.arg or 0
        given = instruction.arg if instruction.opcode >= dis.HAVE_ARGUMENT else None
        effect = dis.stack_effect(instruction.opcode, given, jump=jump)
        if name == "LOAD_CONST":
            self.push(Known(constant=instruction.argval))
        elif name in _VARIABLES:
            self._variable(name, instruction.argval)
        elif name in _BUILDS:
            self._build(name, arg)
        elif name in ("SWAP", "COPY"):
            values = self.pop(arg)
            if name == "SWAP":
                values[0], values[-1] = values[-1], values[0]
            self.push(*values, *values[:1] * (name == "COPY"))
        elif name == "POP_TOP":
            self.pop(1)
        elif name in _TAKES:
            self.take(_TAKES[name], effect + _TAKES[name])
        elif name in _CALLS:
            self.take(arg + _CALLS[name], 1)
        elif name.startswith("POP_JUMP"):
            self.take(1, 0)
        elif name not in _QUIET:
            unknown = name.startswith(("LOAD_FAST", "STORE_FAST")) and bool(self.variables)
            self.used = self.used or unknown or any([value.paths for value in self.stack])
            self.take(max(-effect, 0), max(effect, 0))

    def _variable(self, name: str, variable: str) -> None:
        if name.startswith("LOAD"):
            self.push(self.variables.get(variable, _NOTHING))
            return
        self.variables.pop(variable, None)
        for value in self.pop(1) if name == "STORE_FAST" else ():
            self.variables |= {variable: value} if value.paths else {}

    def _build(self, name: str, count: int) -> None:
        keys: Sequence[Any] = range(count)
        if name == "BUILD_CONST_KEY_MAP":
            keys = self.pop(1)[0].constant
        values = self.pop(2 * count if name == "BUILD_MAP" else count)
        if name == "BUILD_MAP":
            keys, values = [key.constant for key in values[::2]], values[1::2]
            self.used = self.used or any([v.paths and k is None for k, v in zip(keys, values)])
        self.push(Known(frozenset([(key, *path) for key, value in zip(keys, values) for path in value.paths])))


@functools.cache
def path_to_return(code: CodeType, offset: int) -> Path | None:
    """Where in what a code returns the result of the call at *offset* is, if nothing but that becomes of it."""
    if code.co_flags & _GENERATES or {"locals", "vars", "eval", "exec"}.intersection(code.co_names):
        return None
    instructions = instructions_of(code)
    places: dict[int, int] = {}  # of those at one place, the first
    for number, instruction in enumerate(instructions):
        places.setdefault(instruction.offset, number)
    found: set[Path | None] = set()
    seen: set[Any] = set()
    call = max([number for number, instruction in enumerate(instructions) if instruction.offset <= offset])
    todo = [(call + 1, Frame([Known(frozenset([()]))], ()))]
    while todo and len(found) < 2:
        number, frame = todo.pop()
        state = (
            number,
            *[(k.paths, repr(k.constant)) for k in frame.stack],
            *[(n, k.paths) for n, k in frame.variables.items()],
        )
        if state in seen:
            continue
        seen.add(state)
        instruction = instructions[number]
        if instruction.opname.startswith("RETURN_"):
            values = frame.pop(1) if instruction.opname == "RETURN_VALUE" else [_NOTHING]
            found.update(values[0].paths or [None])
        elif instruction.opname not in ("RAISE_VARARGS", "RERAISE"):
            for target, jump in _ways(instruction, number, places):
                after = Frame(frame.stack, frame.variables.items())
                after.run(instruction, jump)
                if after.used or len(seen) > _MOST:
                    return None
                todo.append((target, after))
    return found.pop() if len(found) == 1 else None


def _ways(instruction: dis.Instruction, number: int, places: dict[int, int]) -> list[tuple[int, bool]]:
    """Where it goes on after an instruction, and whether it jumps there."""
    jumps = instruction.opcode in dis.hasjrel or instruction.opcode in dis.hasjabs
    ways = [(places[instruction.argval], True)] if jumps else []
    return (
        ways
        if instruction.opname.startswith("JUMP_") and "_IF_" not in instruction.opname
        else [*ways, (number + 1, False)]
    )


_HERE = object()


def leaf_at(value: Any, path: Path) -> tuple[int, Any]:
    """Of what a function returned, the number of the leaf at a path, and the leaf; -1 where there is none."""
    number = value
    for key in path:
        if type(number) not in (list, tuple, dict) or not (
            key in number if type(number) is dict else key < len(number)
        ):
            return -1, None
        number = number[key]
    leaves, _ = flat(_put(value, path))
    return next((n for n, leaf in enumerate(leaves) if leaf is _HERE), -1), number


def _put(value: Any, path: Path) -> Any:
    if not path:
        return _HERE
    if isinstance(value, dict):
        return {key: _put(item, path[1:]) if key == path[0] else item for key, item in value.items()}
    return type(value)([_put(item, path[1:]) if n == path[0] else item for n, item in enumerate(value)])


class Returned:
    """What a function returned, which is made again of other tensors and numbers.

    Attributes
    ----------
    fixed : list
        Its leaves that are no tensors, and None in the place of those that are.
    """

    def __init__(self, trace: Trace, out: Any) -> None:
        leaves, self._structure = flat(out)
        self._alone = isinstance(out, _runtime.Tensor)
        self._places = [n for n, leaf in enumerate(leaves) if of_kind(leaf, _runtime.Tensor)]
        self.fixed = [None if of_kind(leaf, _runtime.Tensor) else leaf for leaf in leaves]
        self._numbers: dict[Path, int] = {}
        lefts = [i for i in flattened(trace.instructions) if isinstance(i, Left) and i.path is not None]
        for left in lefts:
            place, number = leaf_at(out, left.path)
            once = sum([other.path == left.path for other in lefts]) == 1
            if once and place >= 0 and type(number) in (bool, int, float, complex):
                left.returns = type(number)
                self._numbers[left.path] = place

    def tensors(self, out: Any) -> list[Any]:
        """The tensors in what was returned."""
        leaves, _ = flat(out)
        return [leaves[place] for place in self._places]

    def made(self, tensors: Sequence[Any], numbers: Mapping[Path, Any]) -> Any:
        """The same of other tensors, and of numbers by their paths."""
        if self._alone:
            return tensors[0]
        leaves = list(self.fixed)
        for place, tensor in zip(self._places, tensors):
            leaves[place] = tensor
        for path, number in numbers.items():
            leaves[self._numbers[path]] = number
        return tree_unflatten(leaves, self._structure)
