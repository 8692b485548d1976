"""The text of a NumPy module that does what traced programs do."""

from __future__ import annotations

import ast
import builtins
import json
import os
import re
import textwrap
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .._files import replacing
from ._control_instructions import Control
from ._copied import Copies
from ._python import Block, Body, Weights, block_of
from ._python_sizes import SizedBody, Trial
from ._written_signature import head, passed
from ._written_variants import as_it_is_now, variants_of
from ._written_ways import Way, not_written, settled, ways_of

_GIVEN = '''
class OtherInputs(ValueError):
    """Inputs that this module was not written for."""


def _given(value, name, shape, dtype):
    """An input as an array, checked, in row-major order."""
    if type(value) is not {np}.ndarray or value.dtype != dtype:
        value = _converted(value, name, dtype)
    if len(value.shape) != len(shape) or any(n != m for n, m in zip(value.shape, shape) if not isinstance(m, str)):
        raise OtherInputs(
            f"{function}(): {{name}} has shape {{value.shape}}, but this was written for {{shape}}: "
            {other_shapes}
        )
    return {np}.asarray(value, order="C").view(dtype)


def _converted(given, name, dtype):
    """Numbers, lists of them, and arrays in another order of bytes, as an array."""
    try:
        value = {np}.asarray(given)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{function}(): {{name}} is no array of numbers: {{error}}") from None
    if value.dtype.kind not in "biuf" or isinstance(given, {np}.ma.MaskedArray):
        raise TypeError(f"{function}(): {{name}} must be an array of numbers, not {{type(given).__name__}} of {{value.dtype}}")
    plain = type(given) in (bool, int, float, list, tuple)  # what becomes an array of any dtype that has such numbers
    kinds = {{"b": "b", "i": "biu", "u": "biu", "f": "biuf"}}[{np}.dtype(dtype).kind] if plain else ""
    if value.dtype.kind not in kinds and value.dtype.newbyteorder("=") != dtype:
        remedy = f"np.asarray({{name}}, np.{{dtype}})"
        raise OtherInputs(f"{function}(): {{name}} is {{value.dtype}}, but must be {{dtype}}: use {{remedy}}")
    try:
        return {np}.asarray(given, dtype)
    except OverflowError as error:
        raise OtherInputs(f"{function}(): {{name}} must be {{dtype}}: {{error}}") from None
'''
_SAME_WAY = '''
def _same_way(value, seen, kind):
    """Go on only where a value that the model branches on is what it was when it was traced."""
    if value.tobytes() != seen.tobytes():
        raise OtherInputs(
            f"{function}(): the model branches on a value ({{kind}}()) that was {{seen.tolist()}} for the inputs that it was "
            f"traced on and is {{value.tolist()}} here: trace it on such inputs too, and write the module again"
        )
'''
_SAME_ARGUMENT = '''
def _same_argument(value, name, seen):
    """Go on only where an argument that is no array is what it was when the function was traced."""
    if repr(value) != repr(seen):
        raise OtherInputs(
            f"{function}(): {{name}} was {{seen!r}} when this was traced, but is {{value!r}}: trace the model with that anew, "
            "and write a module for it"
        )
'''
_AT_LEAST = '''
def _at_least(name, size, least, below):
    """Check a size."""
    if size < least:
        said = f": {{below}}" if below else ""
        raise OtherInputs(f"{function}(): {{name}} is {{size}}, but this was written for {{least}} or more{{said}}")
'''
_AT_MOST = '''
def _at_most(name, size, most, beyond):
    """Check a size."""
    if size > most:
        raise OtherInputs(f"{function}(): {{name}} is {{size}}, but this was written for {{most}} or less: {{beyond}}")
'''
_NOT_AT = '''
def _not_at(name, size, failing):
    """Check a size."""
    if size in failing:
        raise OtherInputs(
            f"{function}(): {{name}} is {{size}}, but at the sizes {{failing}} the model fails, or does something else"
        )
'''
_SAME_SIZE = '''
def _same_size(name, size, one, found, other):
    """Check a size that two axes have."""
    if found != size:
        raise OtherInputs(
            f"{function}(): {{name}} is {{size}} in {{one}} but {{found}} in {{other}}: give inputs in which these sizes are "
            "equal"
        )
'''
_LIES = '''
def _lies_in_order(value, name, order):
    """Go on only where an array lies in memory as the one did that was traced."""
    if isinstance(value, {np}.ndarray) and value.ndim == len(order) and not value.transpose(order).flags.c_contiguous:
        raise OtherInputs(
            f"{function}(): as_strided() shows the memory of {{name}}, which must have its axes in the order {{order}} there, "
            f"without gaps: give np.ascontiguousarray({{name}}.transpose({{order}})), with its axes put back"
        )
'''
_HELD = '''
class _Held:
    """An array as operations hold tensors."""

    _alias = None

    def __init__(self, array):
        self._array = array
'''
_HELPERS = {
    "_same_way": _SAME_WAY,
    "_same_argument": _SAME_ARGUMENT,
    "_lies_in_order": _LIES,
    "_at_least": _AT_LEAST,
    "_at_most": _AT_MOST,
    "_not_at": _NOT_AT,
    "_same_size": _SAME_SIZE,
    "_Held": _HELD,
}
_OWN = {"W", "OtherInputs", "_given", "_converted", *_HELPERS}
_WEIGHTS = """
with {np}.load({path}(__file__).with_name({name}), allow_pickle=False) as _file:
    W = {{_name: _file[_name] for _name in _file.files}}
"""

_OTHER_SHAPES = "for other shapes, trace the model on inputs of those shapes too, and write the module again"
WIDTH = 120


def write(traced: Any, path: Any, dynamic_axes: Any = None) -> None:
    """Write a traced function as a module, and its weights; see ``Traced.to_python``."""
    now: Any = traced

    def blocks() -> list[Block]:
        nonlocal now
        now = as_it_is_now(traced)
        return [block_of(v) for v in variants_of(now)]

    write_blocks(traced.function, traced._name, blocks, path, dynamic_axes)
    for said in dict.fromkeys([now._refused[key] for key in now._silent]):
        warnings.warn(f"to_python(): {said}", stacklevel=3)


def write_blocks(function: Any, title: str, blocks: Callable[[], list[Block]], path: Any, dynamic_axes: Any) -> None:
    """Write what a function does for several kinds of inputs as a module."""
    target = Path(os.fspath(path))
    if target.suffix != ".py":
        raise ValueError(f"to_python(): the path must end in .py, but is {str(target)!r}")
    weights = Weights(function)
    text = Module(function, title, blocks(), weights, target.with_suffix(".npz").name, dynamic_axes).text
    if not weights.arrays:
        with replacing(target) as file:
            file.write(text.encode())
        return
    with replacing(target) as file, replacing(target.with_suffix(".npz")) as beside:
        weights.written(beside)
        file.write(text.encode())


def _sentence(title: str) -> str:
    """Words with a capital at the beginning; a name stays as it is."""
    return title[0].upper() + title[1:] if " " in title else title


class Module:
    """A module's text, from what a function does for several kinds of inputs.

    Attributes
    ----------
    text : str
    """

    def __init__(
        self, function: Any, title: str, blocks: list[Block], weights: Weights, beside: str, dynamic_axes: Any = None
    ) -> None:
        name = getattr(function, "__name__", "forward")
        self.name = name if name.isidentifier() and name != "<lambda>" else "forward"
        self.name += "_" * (self.name in _OWN or hasattr(builtins, self.name))  # which the module itself calls
        self.function = function
        self.weights, self.beside, self.title = weights, beside, _sentence(title.replace("<lambda>", "a function"))
        problems: dict[str, None] = {}
        self.copies = Copies(weights.kept)
        self.bodies = [Body(function, block, self.copies, weights, problems) for block in blocks]
        apart = self._look(problems)
        if dynamic_axes:
            self._write_sizes(blocks, dynamic_axes, problems)
        else:
            self.bodies, blocks = [self.bodies[n] for n in apart], [blocks[n] for n in apart]
            self._name_all()
            self._try(function, blocks)
        self.text = self._text()

    def _name_all(self) -> None:
        """Settle what all is called."""
        builtin = sorted({p.name for body in self.bodies for p in body.parameters} & {*vars(builtins)})
        self.hidden = re.compile(rf"(?<![\w.])({'|'.join(builtin) or '(?!)'})(?=\()")  # calls of what parameters hide
        self.np = self.copies.numpy()
        self.path = self.copies.imported("pathlib", "Path", "Path", None) if self.weights.arrays else ""
        called = {*[f"{self.name}_{n}" for n in range(1, 1 + len(self.bodies))], *[f"_builtin_{n}" for n in builtin]}
        called |= _OWN
        self.kept = {p.name for body in self.bodies for p in body.parameters} - called  # what parameters are called
        self.copies.settle({self.name, *called, *self.kept})
        self.np = self.copies.numpy()

    def _write_sizes(self, blocks: list[Block], dynamic_axes: Any, problems: dict[str, None]) -> None:
        """Write each way for many sizes, and besides, as they are, those blocks that none of these is right for."""
        function, traced = self.function, self.bodies
        ways, without = ways_of(function, blocks, traced, dynamic_axes)
        sized = self._sized(ways, [], problems)
        settled(self._scope(), self.name, sized, function, ways)
        if rest := not_written(self._scope()[self.name], function, blocks, traced):
            known = sized
            for body, same in zip(self._sized(ways, rest, problems), known):
                body.least, body.right, body.failing = same.least, same.right, same.failing
            if not_written(self._scope()[self.name], function, rest, self.bodies[: len(rest)]):
                raise RuntimeError("to_python(): the code would give other bits than the model for an example")
        for block, reason in without:
            shapes = [array.shape for array in block.examples if array is not None]
            warnings.warn(
                f"to_python(): what {self.name}() does for {', '.join(map(str, shapes))} is written for these shapes only: "
                f"{reason}",
                stacklevel=6,
            )

    def _sized(self, ways: list[Way], rest: list[Block], problems: dict[str, None]) -> list[SizedBody]:
        """Begin anew, with bodies of ways for many sizes, after those of the *rest*."""
        self.weights.clear()
        self.copies = Copies(self.weights.kept)
        given = self.copies, self.weights, problems
        sized = [SizedBody(self.function, way.general, way.block, *given) for way in ways]
        self.bodies = [*[Body(self.function, block, *given) for block in rest], *sized]
        self._look(problems)
        self._name_all()
        return sized

    def _look(self, problems: dict[str, None]) -> list[int]:
        """Write it once, to see what is used: the numbers of the bodies that differ."""
        found: dict[Any, int] = {}
        for number, body in enumerate(self.bodies):
            body.begin(set())
            found.setdefault(tuple(body.lines("_given")), number)
        if problems:
            listed = "\n".join([f"  - {problem}" for problem in problems])
            raise RuntimeError(f"to_python(): {self.name}() cannot be written as NumPy code:\n{listed}")
        return [*found.values()]

    def _try(self, function: Any, blocks: list[Block]) -> None:
        """Run what has loops or branches on its example."""
        tried = [
            (body, block)
            for body, block in zip(self.bodies, blocks)
            if any([isinstance(ins, Control) for ins in body.instructions])
        ]
        written = self._scope()[self.name] if tried else None
        for body, block in tried:
            trial = Trial(written, body, function, {}, block)
            if not trial.gives(block.examples, [body.trace.arrays[slot] for slot in body.plan.results]):
                raise RuntimeError(
                    "to_python(): the code would give other bits than the graph for the example: the first rounds of a loop "
                    "differ from the others; give its variables first values of the shapes that they have later"
                )

    def _scope(self) -> dict[str, Any]:
        """What a module of the text has, which does not load its weights."""
        scope: dict[str, Any] = {"__name__": "written", "W": self.weights.arrays}
        exec(compile(self._text(loads=False), "<written module>", "exec"), scope)
        return scope

    # -- the text ------------------------------------------------------------------------------------------------------
    def _text(self, loads: bool = True) -> str:
        single = len(self.bodies) == 1
        functions = [
            self._function(body, self.name if single else f"{self.name}_{number}")
            for number, body in enumerate(self.bodies, 1)
        ]
        text = "\n\n".join(functions if single else [self._chooser(), *functions])
        helpers = [_GIVEN, *[helper for name, helper in _HELPERS.items() if f"{name}(" in text]]
        kernels = [text for _, text in self.copies.texts()]
        parts = [self._head(), self.copies.imports()]
        if self.weights.arrays and loads:
            parts.append(_WEIGHTS.format(np=self.np, path=self.path, name=json.dumps(self.beside)).rstrip())
        hidden = sorted({*re.findall(r"(?<!\w)_builtin_(\w+)\(", text)})
        parts += ["", *[f"_builtin_{n} = {n}" for n in hidden]] * bool(hidden)
        remedy = json.dumps(getattr(self.function, "other_shapes", _OTHER_SHAPES))
        parts += ["", "", text, *[h.format(np=self.np, function=self.name, other_shapes=remedy) for h in helpers]]
        if kernels:
            parts += ["", "# -- operations as minitorch computes them " + "-" * 79, spaced(kernels)]
        return re.sub(r"\n{4,}", "\n\n\n", "\n".join(parts)).rstrip() + "\n"

    def _head(self) -> str:
        body = self.bodies[0]
        shown = f"{self.name}({passed(body.parameters, whole=False)})"
        kept = sum([a.nbytes for a in self.weights.arrays.values()])
        needs = (
            f"NumPy and {self.beside}, which has its weights: {kept} bytes" if self.weights.arrays else "NumPy alone"
        )
        return (
            f'"""{self.title} as NumPy code: ``{shown}`` takes and returns ndarrays.\n\n'
            f'Written by minitorch with NumPy {np.__version__}.  It needs {needs}.\n"""\n'
        )

    def _function(self, body: Body, name: str) -> str:
        body.begin((self.copies.taken | {self.name, name}) - self.kept)
        lines = list(body.lines("_given"))
        return "\n".join([
            f'@{self.np}.errstate(all="ignore")',
            self._def(body, name),
            *[f"    {line}".rstrip() for line in self._docstring(body)],
            *[f"    {part}" for line in lines for part in folded(self.hidden.sub(r"_builtin_\1", line))],
            "",
        ])  # fmt: skip

    def _def(self, body: Body, name: str) -> str:
        """The first line of a function; several where it would be too long."""
        said = head(body.parameters)
        line = f"def {name}({', '.join(said)}):"
        return line if len(line) <= WIDTH else "\n".join([f"def {name}(", *[f"    {p}," for p in said], "):"])

    def _docstring(self, body: Body) -> list[str]:
        inputs = ", ".join([f"{path} {body.layout(slot)}" for _, path, slot in body.inputs()]) or "nothing"
        outputs = ", ".join([body.layout(slot) for slot in body.plan.results])
        tried = body.tried()
        if not tried:
            return [f'"""From {inputs} to {outputs}."""']
        return [f'"""From {inputs} to {outputs}.', "", *textwrap.wrap(tried, WIDTH - 4), '"""']

    def _chooser(self) -> str:
        """The function that tries those for the kinds of inputs."""
        parameters = self.bodies[0].parameters
        taken = {p.name for p in parameters}
        way, problems, error = [name + "_" * (name in taken) for name in ("way", "problems", "error")]
        names = ", ".join([f"{self.name}_{number}" for number in range(1, 1 + len(self.bodies))])
        return f'''{self._def(self.bodies[0], self.name)}
    """Calls the function that is written for such inputs."""
    {problems} = []
    for {way} in ({names}):
        try:
            return {way}({passed(parameters)})
        except OtherInputs as {error}:
            {problems}.append(f"\\n  {{{way}.__doc__.splitlines()[0]}} {{{error}}}")
    raise OtherInputs("{self.name}(): nothing is written for these inputs:" + "".join({problems}))
'''


def folded(line: str) -> list[str]:
    """A line, with the arguments of a call on lines of their own where it would be too long."""
    if len(line) <= WIDTH - 4:
        return [line]
    if line[0] == " ":
        return [f"    {part}" for part in folded(line[4:])]
    statement = ast.parse(line).body[0]
    call = getattr(statement, "value", None)
    call = call.value if isinstance(call, ast.Subscript) else call
    if not isinstance(call, ast.Call) or not (call.args or call.keywords):
        return [line]
    code = line.encode()
    items: list[Any] = [*call.args, *call.keywords]
    start, end = items[0].col_offset, call.end_col_offset
    assert end is not None
    lines = [""]
    for item in items:
        text = code[item.col_offset : item.end_col_offset].decode()
        if lines[-1] and len(lines[-1]) + len(text) > WIDTH - 12:
            lines.append("")
        lines[-1] += f"{' ' * bool(lines[-1])}{text},"
    return [code[:start].decode(), *[f"    {part}" for part in lines], code[end - 1 :].decode()]


def spaced(kernels: list[str]) -> str:
    """Definitions, with two empty lines around functions and classes."""
    text = "\n"
    for kernel in kernels:
        block = kernel.lstrip().startswith(("def ", "class ", "@")) or "\ndef " in kernel
        text += ("\n\n" if block or text.endswith("\n\n") else "") + kernel + ("\n\n" if block else "\n")
    return text.replace("\n\n\n\n", "\n\n\n")
