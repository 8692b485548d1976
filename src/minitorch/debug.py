"""``python -m minitorch.debug script.py args…``: run a script, and stop with a prompt in its backward passes.

Also ``python -m minitorch.debug -m module args…`` and ``python -m minitorch.debug -c code args…``.  As with
``python -m minitorch``, ``torch`` is minitorch.  The prompt opens before the first node of each backward pass: ``help``
lists its commands, ``off`` ends it.  It opens once more at the node at which an error was raised, where one ends the script.
"""

from __future__ import annotations

import sys
from bdb import BdbQuit
from typing import Any

from .__main__ import call, fail, program_of
from .autograd._debugger import post_mortem, set_trace

USAGE = "usage: python -m minitorch.debug [-c code | -m module | script.py | folder] [argument ...]"


def main(arguments: list[str]) -> None:
    """Run what the arguments say, with the debugger on."""
    if arguments[:1] == ["-"]:
        sys.exit("the prompt reads from the standard input: give the script as a file")
    program = program_of(arguments, USAGE, __doc__)
    set_trace()
    try:
        call(program, failed)
    finally:
        set_trace(False)


def failed(error: BaseException, traceback: Any) -> None:
    """Show an error that ended the program, and the node at which it was raised; end as the program would."""
    if isinstance(error, BdbQuit):
        sys.exit(1)
    set_trace(False)
    try:
        fail(error, traceback)
    finally:
        if not isinstance(error, KeyboardInterrupt):
            post_mortem(error)


if __name__ == "__main__":
    main(sys.argv[1:])
