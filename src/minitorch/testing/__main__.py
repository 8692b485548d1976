"""``python -m minitorch.testing package.module:function --shapes "(3,4),(4,)"``: property-test gradients from the shell.

What stands after the colon is a function, a ``Function`` (its ``apply`` is tested), a module, or a module's class, with literal
arguments where it takes any: ``package.module:Net(4, hidden=8)``.  Names in shapes are sizes that are drawn, the same for the
same name: "(n,4),(4,)".  The exit status is 0 where all gradients are right, 1 where one is wrong, 2 where the call is.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import inspect
import sys
from typing import Any

import minitorch

from .. import nn
from ..autograd import Function


def main(arguments: list[str]) -> int:
    """Run what the arguments say; the exit status."""
    parser = _parser()
    given = parser.parse_args(arguments)
    try:
        from . import strategies
        from ._property_test import PropertyError, PropertyReport, Run

        fn = found(given.function)
        options = {
            "order": given.order,
            "fast": given.fast,
            "kinks": given.kinks,
            "reference": given.reference and found(given.reference),
            "parameters": None,
            "skip": tuple(given.skip),
        }
        dtype = given.dtype and getattr(minitorch, given.dtype)
        if isinstance(fn, nn.Module):
            fn = fn.to(dtype or minitorch.float64)
            dtype = dtype or minitorch.float64
        drawn = [strategies.tensors(shape, dtype, given.elements) for shape in shapes(given.shapes)]

        def progress(report: PropertyReport) -> None:
            if sys.stderr.isatty():
                print(_progress(report, given.examples), end="\r", file=sys.stderr, flush=True)

        run = Run(fn, drawn, options, given.allow and exception(given.allow), given.time_limit, progress)
        run.check_examples(given.examples)
        missing = _missing_inputs(fn, len(drawn))
        if missing:
            raise ValueError(missing)
        run.made[id(fn)] = "(" + given.function.partition("(")[2] if "(" in given.function else "()"
    except Exception as error:  # the imported module's too
        parser.error(f"{type(error).__name__}: {error}")
    try:
        report = run.run(given.examples, given.seed)
    except PropertyError as error:
        print(_progress(run.report, given.examples), file=sys.stderr)
        print(error)
        return 1
    print(_progress(report, given.examples), file=sys.stderr)
    print(report)
    return 0


def _missing_inputs(fn: Any, count: int) -> str:
    """What is said where a function does not take so many inputs; nothing where it does, or where that is not known."""
    try:
        signature = inspect.signature(fn.forward if isinstance(fn, nn.Module) else fn)
        signature.bind(*range(count))
    except ValueError:
        return ""
    except TypeError as error:
        return f"--shapes has {count} shapes, one for each input, but the function's inputs are {signature}: {error}"
    return ""


def _progress(report: Any, examples: int) -> str:
    return f"{report.draws} of {examples} draws, {report.evaluations} evaluations"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m minitorch.testing", description=__doc__)
    parser.add_argument("function", metavar="package.module:function")
    parser.add_argument("--shapes", required=True, help='of its inputs: "(3,4),(4,)"')
    parser.add_argument(
        "--dtype", choices=["float64", "float32", "float16"], help="default: float64 and float32 are drawn"
    )
    parser.add_argument(
        "--elements",
        help='a kind of values, such as "trouble" or "away_from_kinks", or a range: 0.1:10, --elements=-1:1',
    )
    parser.add_argument(
        "--allow", metavar="ERROR", help="the name of the exception by which it says that inputs are outside its domain"
    )
    parser.add_argument("--order", type=int, default=1, choices=[1, 2])
    parser.add_argument("--kinks", default="between", choices=["between", "reference"])
    parser.add_argument("--fast", action="store_true", help="random projections in place of all entries")
    parser.add_argument("--reference", metavar="package.module:function", help="what it must be equal to")
    parser.add_argument(
        "--skip", action="append", default=[], metavar="CHECK", help="a check to leave out; may be repeated"
    )
    parser.add_argument("--examples", type=int, default=50, help="how many inputs are drawn (50)")
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds that it may take (60)")
    parser.add_argument("--seed", type=int, help="of the draws")
    return parser


def found(name: str) -> Any:
    """What ``package.module:function`` names.

    Raises
    ------
    ImportError, AttributeError, TypeError, ValueError
        Where there is no such thing, or it cannot be tested.
    """
    module, colon, rest = name.partition(":")
    if not colon or not module or not rest:
        raise ValueError(f"{name!r} is not package.module:function")
    path, *given = rest.split("(", 1)
    value: Any = importlib.import_module(module)
    for part in path.split("."):
        value = getattr(value, part)
    if isinstance(value, type) and issubclass(value, Function):
        return value.apply
    if given or (isinstance(value, type) and issubclass(value, nn.Module)):
        args, options = _call(given[0] if given else ")", name)
        try:
            value = value(*args, **options)
        except TypeError as error:
            raise TypeError(f"{error}; give the arguments: {module}:{path}(...)") from error
    if not callable(value):
        raise TypeError(f"{name} is no function: {value!r}")
    return value


def exception(name: str) -> type[Exception]:
    """A class of exceptions: a builtin one by its name, another as ``package.module:Error``.

    Raises
    ------
    ImportError, AttributeError, TypeError
        Where there is no such thing.
    """
    module, _, path = name.rpartition(":")
    value: Any = getattr(importlib.import_module(module or "builtins"), path)
    if not (isinstance(value, type) and issubclass(value, Exception)):
        raise TypeError(f"--allow: {name} is no exception")
    return value


def _call(text: str, name: str) -> tuple[list[Any], dict[str, Any]]:
    """The literal arguments of a call."""
    try:
        call: Any = ast.parse(f"f({text}", mode="eval").body
        return [ast.literal_eval(a) for a in call.args], {k.arg: ast.literal_eval(k.value) for k in call.keywords}
    except (SyntaxError, ValueError) as error:
        raise ValueError(f"the arguments in {name!r} are not literals: {error}") from error


def shapes(text: str) -> list[tuple[int | str, ...]]:
    """Shapes as they are written: ``"(3,4),(n,)"``.

    Raises
    ------
    ValueError
        For what is no shape.

    Examples
    --------
    >>> shapes("(3, 4), (n,), ()")
    [(3, 4), ('n',), ()]
    """
    wrong = f'shapes are written "(3,4),(4,)", not {text!r}'
    try:
        tree: Any = ast.parse(f"[{text}]", mode="eval").body
    except SyntaxError as error:
        raise ValueError(wrong) from error
    made: list[tuple[int | str, ...]] = []
    for entry in tree.elts:
        sides: list[Any] = [
            getattr(side, "id", getattr(side, "value", None)) for side in getattr(entry, "elts", (None,))
        ]
        if any([type(side) not in (int, str) for side in sides]):
            raise ValueError(wrong)
        made.append(tuple(sides))
    return made


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
