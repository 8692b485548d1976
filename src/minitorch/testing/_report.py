"""What ``check_gradients`` found, as an object and as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .. import _runtime
from ..autograd.gradcheck import GradcheckError
from ._compare import Comparison, Point


class GradientError(GradcheckError, AssertionError):
    """A function whose gradients fail a check, or that cannot be checked; its text is the verdict.

    Attributes
    ----------
    report : GradientReport
        The same as an object.
    """

    def __init__(self, report: GradientReport) -> None:
        super().__init__(str(report))
        self.report = report

    def __reduce__(self) -> tuple[Any, ...]:
        return GradientError, (self.report,)


@dataclass
class Blame:
    """What is at fault.

    Attributes
    ----------
    kind : str
        "node": an operation whose gradient is not that of its own forward; "second order": the same for the gradient of its
        gradient; "function": a custom Function whose backward does what none may do; "cut": a call that cut the path; "hook": a
        hook that changes gradients; "cast": a cast to a narrower dtype; "write": a call that writes into an argument; "none":
        every operation is right; "kink": an operation with another value at a kink than PyTorch documents; "nan": an operation
        whose gradient is NaN or infinite.
    name : str
        The node, such as ``CubeBackward``, or the call, such as ``detach()``.
    site : str
        The line that made it.
    detail : str
        What was seen there.
    """

    kind: str
    name: str
    site: str
    detail: str = ""

    def __str__(self) -> str:
        known = self.site and not self.site.startswith('File "<frozen ')  # from the shell, Python itself calls
        where = f", called at {self.site}" if known else ""
        titles = {
            "node": f"to blame: {self.name}{where}: its own gradient is not the derivative of its own forward",
            "second order": f"to blame: {self.name}{where}: the gradient of its gradient is wrong",
            "cut": f"to blame: {self.name}{where} cuts the path",
            "hook": f"to blame: {self.name}{where}",
            "kink": f"to blame: {self.name}{where}: its value at a kink",
            "nan": f"to blame: {self.name}{where}",
            "cast": f"to blame: {self.name}{where}",
            "function": f"to blame: {self.name}{where}",
            "write": f"to blame: {self.name}{where}: it writes into an argument; clone that first",
            "none": self.name,
        }
        return titles[self.kind] + (f"\n    {self.detail}" if self.detail else "")


@dataclass
class Failure:
    """One check that failed.

    Attributes
    ----------
    check : str
        Its name, by which it can be switched off.
    text : str
        What was expected, what came, what to do.
    pattern : str or None
        The pattern of the mistake, where there is one.
    blame : Blame or None
        What is at fault, where that was found.
    points : list of Point
        The worst entries.
    """

    check: str
    text: str
    pattern: str | None = None
    blame: Blame | None = None
    points: list[Point] = field(default_factory=list)

    def __str__(self) -> str:
        parts = [f"[{self.check}] {self.text}"]
        if self.points:
            parts.append(table(self.points))
        if self.pattern:
            parts.append(f"  pattern: {self.pattern}")
        if self.blame:
            parts.append(f"  {self.blame}")
        return "\n".join(parts)


@dataclass
class GradientReport:
    """What ``check_gradients`` found.

    Attributes
    ----------
    name : str
        The function's.
    failures : list of Failure
        Empty where everything is right.
    kinks : list of Point
        Entries at kinks, discontinuities, vertical slopes and edges of the domain, whose values were accepted; and at kinks
        of several operations that cancel.
    evaluations, backwards : int
        How often the function was called, and differentiated.
    checks : list of str
        The names of the checks that were made.
    comparison : Comparison or None
        The Jacobians.
    notes : list of str
        What else is to be known of values that were accepted.
    checkable : bool
        Whether there was anything to compare: False for what returns no tensor, is random, or has no value here.
    vacuous : bool
        Whether nothing was compared but zeros.
    too_slow : bool
        Whether that is so as the time was up.
    """

    name: str
    failures: list[Failure] = field(default_factory=list)
    kinks: list[Point] = field(default_factory=list)
    evaluations: int = 0
    backwards: int = 0
    checks: list[str] = field(default_factory=list)
    comparison: Comparison | None = None
    notes: list[str] = field(default_factory=list)
    checkable: bool = True
    vacuous: bool = False
    too_slow: bool = False

    @property
    def ok(self) -> bool:
        """Whether nothing failed."""
        return not self.failures

    def failed(self, check: str) -> bool:
        """Whether the check of this name failed."""
        return any([failure.check == check for failure in self.failures])

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        calls = f"{_counted(self.evaluations, 'evaluation')}, {_counted(self.backwards, 'backward pass', 'es')}"
        if self.ok:
            lines = [f"gradients of {self.name} are right: {', '.join(self.checks)} ({calls})"]
        else:
            lines = [f"gradients of {self.name} {'are wrong' if self.checkable else 'cannot be checked'} ({calls}):"]
            lines += [str(failure) for failure in self.failures]
        if self.kinks:
            kinds = sorted({p.kind for p in self.kinks})
            lines.append(f"at {', '.join(kinds)} ({len(self.kinks)} entries, accepted):\n{table(self.kinks[:3])}")
        lines += [f"  {note}" for note in self.notes]
        return "\n".join(lines)


def _counted(count: int, what: str, ending: str = "s") -> str:
    return f"{count} {what}{'' if count == 1 else ending}"


def table(points: Sequence[Point]) -> str:
    """Entries of a Jacobian, a line each."""
    rows = [["  output", "input", "analytic", "numeric", "error", "left slope", "right slope", "point"]]
    for p in points:
        numbers = [f"{v:.6g}" for v in (p.analytic, p.numeric)] + [f"{p.error:.1g}"]
        numbers += [f"{v:.6g}" for v in (p.left, p.right)]
        rows.append([f"  {p.output}{_at(p.output_index)}", f"{p.input}{_at(p.input_index)}", *numbers, p.kind])
    widths = [max([len(cell) for cell in column]) for column in zip(*rows)]
    return "\n".join(["  ".join([c.ljust(w) for c, w in zip(row, widths)]).rstrip() for row in rows])


def _at(index: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, index))}]" if index else ""


def described(value: Any) -> str:
    """What a value is, in words."""
    if isinstance(value, _runtime.Tensor):
        return f"a tensor of {value.dtype}"
    return (
        f"{value!r} ({type(value).__name__})"
        if value is None or isinstance(value, (int, float))
        else type(value).__name__
    )
