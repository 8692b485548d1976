"""Places in the user's program: who called, and where.

A *mark* is where a call was made, as cheap as can be: ``(code, offset, module path)``, with the whole stack in anomaly mode;
``site_of`` reads it.
"""

from __future__ import annotations

import linecache
import os.path
import sys
import traceback
from contextvars import ContextVar
from types import CodeType, FrameType
from typing import Any, NamedTuple

PACKAGE = os.path.dirname(__file__)
WRITTEN = "<op "
"""How the names of files begin that are none, but of rows' written code."""
theirs: set[str] = set()
_ours: set[str] = set()
"""Files by name: the user's; and the package's with its generated code, which are no places in the user's program."""
getframe = sys._getframe
running_path: ContextVar[str] = ContextVar("module_path", default="")
module_path = running_path.get
"""The path, in the model that was called, of the module that is running."""
stacks: list[Any] = []
"""The recordings that want the whole stack with each mark."""


class Site(NamedTuple):
    """Where in the user's program something was called.

    Attributes
    ----------
    file : str
    line : int
    function : str
    module : str
        The path of the module that was running in the model that was called, such as ``encoder.0``; the model's class where it
        was the model itself; empty outside modules.
    columns : tuple of (int, int) or None
        Where the call begins and ends in the line (-1 where it goes on in further ones), in bytes of UTF-8.
    calls : tuple of (str, int, str)
        In anomaly mode the calls that led here, outermost first: file, line, function.
    """

    file: str
    line: int
    function: str
    module: str = ""
    columns: tuple[int, int] | None = None
    calls: tuple[tuple[str, int, str], ...] = ()

    def __str__(self) -> str:
        return f'File "{self.file}", line {self.line}, in {self.function}'

    @property
    def short(self) -> str:
        """``train.py:41``."""
        return f"{os.path.basename(self.file)}:{self.line}"

    @property
    def source(self) -> str:
        """The line's text, if the file can be read."""
        return linecache.getline(self.file, self.line).strip()

    @property
    def expression(self) -> str:
        """The text of the call itself; the rest of its first line, where it has several."""
        line = linecache.getline(self.file, self.line).encode()
        return line[slice(*self.columns)].decode(errors="replace").strip() if self.columns else ""

    @property
    def text(self) -> str:
        """The call's traceback, formatted, in anomaly mode; empty otherwise."""
        return "".join(traceback.format_list([traceback.FrameSummary(*call) for call in self.calls]))


def mark_at(frame: FrameType | None) -> Any:
    """The mark of the innermost of the calls at *frame* that is the user's."""
    while frame is not None:
        if (name := frame.f_code.co_filename) in theirs or is_theirs(name):
            mark = frame.f_code, frame.f_lasti, module_path()
            return (*mark, calls_at(frame)) if stacks else mark
        frame = frame.f_back
    return None


def users_frame(frame: FrameType | None) -> FrameType | None:
    """The innermost of the calls at *frame* that is the user's."""
    while frame is not None and not is_theirs(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def is_theirs(file: str) -> bool:
    """Whether a file is none of the package's."""
    if file in _ours:
        return False
    ours = file.startswith((WRITTEN, PACKAGE))
    (_ours if ours else theirs).add(file)
    return not ours


def site_of(mark: Any) -> Site | None:
    """The place that a mark stands for."""
    if mark is None:
        return None
    code, offset, path, *calls = mark
    line, end, first, last = _position(code, offset)
    columns = None if first is None else (first, last if end == line else -1)
    return Site(code.co_filename, line, code.co_name, path, columns, tuple(calls[0]) if calls else ())


def _position(code: CodeType, offset: int | None) -> Any:
    for index, position in enumerate(code.co_positions()):
        if offset is not None and index == offset // 2:
            return position if position[0] is not None else (code.co_firstlineno, None, None, None)
    return code.co_firstlineno, None, None, None


def calls_at(frame: FrameType | None) -> list[tuple[str, int, str]]:
    """The calls that led to *frame*, outermost first."""
    calls = []
    while frame is not None:
        calls.append((frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name))
        frame = frame.f_back
    return calls[::-1]


def current_site() -> Site | None:
    """The site of the user's line that is running."""
    return site_of(mark_at(getframe(1)))
