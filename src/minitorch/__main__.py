"""``python -m minitorch script.py args…``: run a script as it is, with ``torch`` and its submodules being minitorch.

Also ``python -m minitorch -m module args…`` and ``python -m minitorch -c code args…``. The script may be a folder with a
``__main__.py``, or ``-``, the standard input.
"""

from __future__ import annotations

import builtins
import io
import os
import runpy
import sys
from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from types import ModuleType
from typing import Any, NoReturn

from . import __version__
from ._as_torch import install

USAGE = "usage: python -m minitorch [-c code | -m module | script.py | folder | -] [argument ...]"


def main(arguments: list[str]) -> None:
    """Run what the arguments say, in the way that ``python`` with these arguments runs it."""
    call(program_of(arguments, USAGE, __doc__), fail)


def program_of(arguments: list[str], usage: str, about: str) -> Callable[[], Any]:
    """What runs the program that the arguments name; ``sys.argv`` and the like are then as it expects them."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(usage, about, sep="\n\n")
        sys.exit(0 if arguments else 2)
    if arguments[0] in ("-V", "--version"):
        print(f"minitorch {__version__}")
        sys.exit(0)
    if arguments[0] in ("-c", "-m") and len(arguments) == 1:
        sys.exit(f"argument expected for the {arguments[0]} option\n{usage}")
    install()
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        return lambda: runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    if arguments[0] == "-c":
        sys.argv, sys.path[0] = ["-c", *arguments[2:]], ""
        return main_module(arguments[1], "<string>")
    if arguments[0] == "-":
        sys.argv, sys.path[0] = arguments, ""
        return main_module(sys.stdin.read(), "<stdin>")
    if os.path.isdir(arguments[0]):
        sys.argv = arguments
        del sys.path[0]
        return lambda: runpy.run_path(arguments[0], run_name="__main__")
    script = os.path.abspath(arguments[0])
    try:
        with io.open_code(script) as file:
            source = file.read()
    except OSError as error:
        print(f"minitorch: can't open file {script!r}: [Errno {error.errno}] {error.strerror}", file=sys.stderr)
        sys.exit(2)
    sys.argv, sys.path[0] = arguments, os.path.dirname(os.path.realpath(script))
    return main_module(source, script)


def main_module(source: str | bytes, filename: str) -> Callable[[], None]:
    """What runs a program as the module ``__main__``."""
    module: Any = ModuleType("__main__")
    module.__builtins__ = builtins
    if not filename.startswith("<"):
        module.__file__ = filename
        module.__loader__ = SourceFileLoader("__main__", filename)
        module.__cached__ = None
    sys.modules["__main__"] = module
    return lambda: execute(source, filename, module.__dict__)


def execute(source: str | bytes, filename: str, namespace: dict[str, Any]) -> None:
    """Compile and run."""
    exec(compile(source, filename, "exec", dont_inherit=True), namespace)


def call(program: Callable[[], Any], failed: Callable[[BaseException, Any], Any]) -> None:
    """Run a program; what it raises goes to *failed*, with a traceback without what stands above the program."""
    try:
        program()
    except SystemExit:
        raise
    except BaseException as error:
        traceback = error.__traceback__
        while traceback is not None and is_ours(traceback.tb_frame.f_code.co_filename):
            traceback = traceback.tb_next
        failed(error, traceback)


def is_ours(filename: str) -> bool:
    """Whether a frame is one of those that lead to the program."""
    return filename == __file__ or filename in ("<frozen runpy>", runpy.__file__)


def fail(error: BaseException, traceback: Any) -> NoReturn:
    """End as Python does after an error that nothing caught."""
    sys.excepthook(type(error), error.with_traceback(traceback), traceback)
    sys.exit(130 if isinstance(error, KeyboardInterrupt) else 1)


if __name__ == "__main__":
    main(sys.argv[1:])
