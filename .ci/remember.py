"""A pytest plugin for two runs, of which the second, where more is installed, runs what that can change.

``--note-passed FILE``: note which tests pass. ``--beyond FILE``: leave out those noted there, but for tests in files that
ask what is installed or start Python anew. So each test has passed in one run or is run in the other.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ASKS = re.compile(r"\bImportError\b|\bModuleNotFoundError\b|\bfind_spec\b|\bsys\.(modules|executable)\b")


@functools.cache
def asks(path: Path) -> bool:
    """Whether tests in a file may do something else, and pass, where more is installed."""
    return ASKS.search(path.read_text()) is not None


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--note-passed", metavar="FILE", help="write which tests pass")
    parser.addoption("--beyond", metavar="FILE", help="leave out tests that passed by an earlier --note-passed")


def pytest_configure(config: pytest.Config) -> None:
    os.environ.pop("PYTEST_ADDOPTS", None)  # which may have loaded this, and is not for runs that tests start
    if config.option.note_passed and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Noting(config.option.note_passed))


class Noting:
    """Writes, at the end, a line for each test that passed."""

    def __init__(self, path: str) -> None:
        self.path, self.passed, self.others = Path(path), list[str](), set[str]()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.passed:
            self.others.add(report.nodeid)
        elif report.when == "call":
            self.passed.append(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        self.path.write_text("".join([f"{n!r}\n" for n in self.passed if n not in self.others]))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[Any]) -> Iterator[None]:
    if config.option.beyond:
        passed = set(Path(config.option.beyond).read_text().splitlines())
        gone = passed - {repr(item.nodeid) for item in items}
        if gone:
            raise pytest.UsageError(f"{len(gone)} tests passed before and are not there now: {sorted(gone)[:10]}")
        left_out = [item for item in items if repr(item.nodeid) in passed and not asks(item.path)]
        chosen = set(map(id, left_out))
        items[:] = [item for item in items if id(item) not in chosen]
        config.hook.pytest_deselected(items=left_out)
    return (yield)
