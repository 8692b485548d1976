"""The names in a function's code: of what it reads, sets, calls and imports."""

from __future__ import annotations

import dis
import functools
import re
import types
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

_ASK = ("hasattr", "getattr", "setattr", "delattr")
_BY_TEXT = ("attrgetter", "methodcaller", "getattr_static", "__getattribute__")
"""What finds attributes by a text, besides those."""
_IMPORT = ("import_module", "__import__")
_FIELD = re.compile(r"\{[^{}]*?\.(\w+)[^{}]*\}")
"""In a text for ``format``, the name of an attribute."""
_CALL = "PRECALL" if "PRECALL" in dis.opmap else "CALL"
"""What a call's arguments stand before."""
_PAIRS = {
    f"{a}_FAST_{b}_FAST": (f"{a}_FAST", f"{b}_FAST")
    for a, b in (("LOAD", "LOAD"), ("STORE", "LOAD"), ("STORE", "STORE"))
}
_BINARY = {
    "+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "**": "pow", "@": "matmul", "&": "and",
    "|": "or", "^": "xor", "<<": "lshift", ">>": "rshift",
}  # fmt: skip
_COMPARED = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}
_SPECIAL = {
    "BINARY_SUBSCR": "getitem", "STORE_SUBSCR": "setitem", "DELETE_SUBSCR": "delitem", "GET_ITER": "iter",
    "UNPACK_SEQUENCE": "iter", "CONTAINS_OP": "contains", "UNARY_NEGATIVE": "neg", "UNARY_POSITIVE": "pos",
    "UNARY_INVERT": "invert", "UNARY_NOT": "bool", "POP_JUMP_IF_TRUE": "bool", "POP_JUMP_IF_FALSE": "bool",
    "POP_JUMP_FORWARD_IF_TRUE": "bool", "POP_JUMP_FORWARD_IF_FALSE": "bool", "JUMP_IF_TRUE_OR_POP": "bool",
    "JUMP_IF_FALSE_OR_POP": "bool", "FORMAT_VALUE": "format",
    "FORMAT_SIMPLE": "format", "FORMAT_WITH_SPEC": "format", "TO_BOOL": "bool", "BINARY_SLICE": "getitem",
    "STORE_SLICE": "setitem",
}  # fmt: skip
_BY_FUNCTION = {
    "abs": ("abs",), "len": ("len",), "bool": ("bool",), "int": ("int",), "float": ("float",), "complex": ("complex",),
    "sum": ("add", "radd"), "min": ("lt",), "max": ("gt",), "pow": ("pow", "rpow"), "all": ("iter", "bool"),
    "any": ("iter", "bool"), "repr": ("repr",), "str": ("str",), "format": ("format",),
    "list": ("iter",), "tuple": ("iter",), "reversed": ("reversed",),
}  # fmt: skip
"""The special methods that Python's operators and functions call."""
_LEAVES = {
    dis.opmap[name] for name in ("RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE") if name in dis.opmap
}
ENDS = {*dis.hasjrel, *dis.hasjabs} | _LEAVES
"""Where what follows may not run."""


class Names(NamedTuple):
    """The names in a function's code: of globals and of attributes, of attributes that it sets, and of what is read to be
    called at once, or not: there, attributes begin with a dot; of modules that it imports; of what may be absent: what a
    function asks for that uses ``hasattr`` or ``getattr``, or catches errors; and chains of names as they stand, beginning with
    a variable's: ``torch.nn.functional``, or ``torch`` alone."""

    globals: frozenset[str]
    attributes: frozenset[str]
    stored: frozenset[str]
    called: frozenset[str]
    handed: frozenset[str]
    imports: frozenset[str]
    maybe: frozenset[str]
    chains: frozenset[tuple[str, ...]]


@functools.cache
def names_in(code: types.CodeType) -> Names:
    """The names in a code, and in those of the functions that are made in it."""
    inner = [names_in(value) for value in code.co_consts if isinstance(value, types.CodeType)]
    return _names_of(code, instructions_of(code), inner)


def names_run(code: types.CodeType, ran: Mapping[int, Any]) -> Names:
    """The names in those instructions of a code that have run, and of the functions that are made in it: their places, by the
    ``id`` of their code."""
    inner = [value for value in code.co_consts if isinstance(value, types.CodeType) and id(value) in ran]
    instructions = executed(instructions_of(code), ran[id(code)].places)
    return _names_of(code, instructions, [names_run(value, ran) for value in inner])


@functools.cache
def instructions_of(code: types.CodeType) -> list[dis.Instruction]:
    """A code's instructions, those that do two things at once taken apart."""
    found = []
    for instruction in dis.get_instructions(code):
        parts = _PAIRS.get(instruction.opname)
        if parts is None:
            found.append(instruction)
        else:
            named = zip(parts, instruction.argval)
            found += [instruction._replace(opname=n, opcode=dis.opmap[n], arg=0, argval=a, argrepr=a) for n, a in named]
    return found


def executed(instructions: Sequence[dis.Instruction], places: set[int]) -> list[dis.Instruction]:
    """Those at places that have run, and what follows on them: an interpreter may tell of several as one."""
    found, runs = [], False
    for instruction in instructions:
        runs = runs or instruction.offset in places
        if runs:
            found.append(instruction)
        runs = runs and instruction.opcode not in ENDS
    return found


def _special(instruction: dis.Instruction) -> list[str]:
    """The special methods that an instruction may call."""
    kind = instruction.opname
    found: Sequence[str] = ()
    if kind == "BINARY_OP":
        symbol = instruction.argrepr.removesuffix("=")
        name = _BINARY.get(symbol, "getitem")  # which is one from Python 3.14 on
        found = (name, f"r{name}", f"i{name}") if instruction.argrepr != symbol else (name, f"r{name}")
    elif kind == "COMPARE_OP":
        found = (_COMPARED.get(instruction.argval, "eq"),)
    elif kind in _SPECIAL:
        found = (_SPECIAL[kind],)
    elif kind == "LOAD_GLOBAL":
        found = _BY_FUNCTION.get(instruction.argval, ())
    return [f"__{name}__" for name in found]


def _names_of(code: types.CodeType, instructions: list[dis.Instruction], inner: Sequence[Names]) -> Names:
    found: Any = Names._make([set() for _ in Names._fields])
    for others in inner:
        for names, more in zip(found, others):
            names |= more
    calls = catches = False
    constant = _ASK if _ask_by_constants(instructions) else ()
    asks = False
    chain: tuple[str, ...] = ()
    for number, instruction in enumerate(instructions):
        name, kind = instruction.argval, instruction.opname
        found.attributes.update(_special(instruction))
        if kind.startswith("IMPORT"):
            (found.imports if kind == "IMPORT_NAME" else found.attributes).add(name)
        elif kind.endswith(("_GLOBAL", "_NAME", "_ATTR", "_METHOD")):
            is_global = kind.endswith(("_GLOBAL", "_NAME"))
            asks = asks or name in _BY_TEXT or (is_global and name in _ASK)
            found.chains.update([chain] if is_global and len(chain) == 1 else [])
            chain = (name,) if is_global else (*chain, name) if chain else ()
            found.chains.update([chain] if len(chain) > 1 else [])
            if not (is_global and name in constant):
                (found.globals if is_global else found.attributes).add(name)
            if kind == "STORE_ATTR":
                found.stored.add(name)
            # For a call's sake there is a "NULL" in argrepr, of a module in the line before its function's.
            calls = kind == "LOAD_METHOD" or instruction.argrepr != name or (kind == "LOAD_ATTR" and calls)
            (found.called if calls else found.handed).add(name if is_global else f".{name}")
            continue
        calls = False
        found.chains.update([chain] if len(chain) == 1 else [])
        chain = (name,) if kind == "LOAD_DEREF" else ()
        catches = catches or kind == "CHECK_EXC_MATCH"
        if kind == "MATCH_CLASS":  # the names of attributes stand before it; of those by position, in the class
            given = instructions[number - 1].argval
            found.attributes.update(("__match_args__", *(given if isinstance(given, tuple) else ())))
    texts = [c for c in code.co_consts if isinstance(c, str)]
    if asks:
        found.maybe.update([part for text in texts for part in text.split(".") if part.isidentifier()])
        found.attributes.update(found.maybe)
    if "format" in found.attributes:
        found.attributes.update([name for text in texts for name in _FIELD.findall(text)])
    if not found.globals.isdisjoint(_IMPORT) or not found.attributes.isdisjoint(_IMPORT):
        found.imports.update([text for text in texts if text.replace(".", "").isidentifier()])
    if catches:
        found.maybe.update(found.attributes)
    return Names(*map(frozenset, found))


def _ask_by_constants(instructions: list[dis.Instruction]) -> bool:
    """Whether each ``getattr`` and its like in a code is called with a name that stands in it."""
    for number, instruction in enumerate(instructions):
        if instruction.argval not in _ASK or not instruction.opname.endswith(("_GLOBAL", "_NAME")):
            continue
        depth, last = 0, None  # of the arguments; what has given the second one
        for following in instructions[number + 1 :]:
            if following.opcode in dis.hasjrel or following.opcode in dis.hasjabs:
                return False
            if following.opname == _CALL and following.arg == depth:
                break
            depth += dis.stack_effect(following.opcode, following.arg, jump=False)
            last = following if depth == 2 else last
        if last is None or last.opname != "LOAD_CONST" or not isinstance(last.argval, str):
            return False
    return True


@functools.cache
def codes_in(code: types.CodeType) -> frozenset[types.CodeType]:
    """A code, and those of the functions that are made in it."""
    inner = [codes_in(value) for value in code.co_consts if isinstance(value, types.CodeType)]
    return frozenset([code]).union(*inner)
