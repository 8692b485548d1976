"""Whether the checker catches a seeded mistake and names what is to blame; whether it lets right functions pass."""

from __future__ import annotations

import linecache
import re
import warnings
import zlib
from typing import Any

import minitorch
from minitorch.testing import GradientReport, check_gradients

from ._record import Correct, Mistake

DRAWS = 100
"""Points at which each right function is checked."""


def checked(mistake: Mistake) -> GradientReport:
    """What the checker says of a mistake."""
    fn, inputs = mistake.make()
    inputs = inputs if mistake.at is None else mistake.at(inputs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return check_gradients(
            fn,
            *inputs,
            order=mistake.blame.order,
            reference=mistake.reference,
            time_limit=None,
            raise_exception=False,
        )


def blamed(mistake: Mistake, report: GradientReport) -> bool:
    """Whether a failure names what the record says, with its line."""
    wanted = mistake.blame
    for failure in report.failures:
        found = failure.blame
        if found is None:
            continue
        line = _line_of(found.site)
        at_line = wanted.line and wanted.line in line
        if wanted.what == "reference":
            right = failure.check == "reference" and found.kind == "none"
        elif wanted.what == "input mutated":
            right = failure.check == "mutation" and at_line
        elif wanted.or_line and wanted.or_line in line:
            right = True
        else:
            second = failure.check == "second_order"
            right = at_line and wanted.what in f"{found.name} {found.detail}" and second == (wanted.order == 2)
        if right:
            return True
    return False


def _line_of(site: str) -> str:
    """The line of source that a site names."""
    place = re.search(r'File "(.*)", line (\d+)', site)
    return "" if place is None else linecache.getline(place[1], int(place[2]))


def said(report: GradientReport) -> str:
    """A report's checks and blames on one line."""
    return "; ".join(
        f"{f.check}: {f.blame.name[:60]} at {f.blame.site}" if f.blame else f"{f.check}: nothing blamed"
        for f in report.failures
    )


def false_alarms(function: Correct, draws: range) -> list[str]:
    """What the checker says against a right function, at these of its points."""
    found = []
    generator: Any = minitorch.Generator()
    for draw in draws:
        generator.manual_seed(zlib.crc32(function.name.encode()) + draw)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                report = check_gradients(
                    function.fn,
                    *function.draw(generator),
                    order=function.order,
                    time_limit=None,
                    raise_exception=False,
                )
            except Exception as error:
                found.append(f"{function.name}, draw {draw}: {type(error).__name__}: {error}")
                continue
        if not report.ok:
            found.append(f"{function.name}, draw {draw}: {report}")
    return found
