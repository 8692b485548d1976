"""The state of one call of ``check_gradients``: what it asks, what it has found, and words for what it could not check."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .. import _runtime
from ..autograd._subject import Subject
from ._asked import STEADY, Options, parameters_of
from ._blame import ALONE
from ._kinks import CANCELLING
from ._properties import PROPERTIES
from ._report import Blame, Failure, GradientReport
from ._time import OutOfTime, Timed, said

CHECKS = ("values", *PROPERTIES, "second_order", "reference")
"""The names of all checks."""
NOT_FAST = ("expanded", "scalars", "broadcasting")
"""Those that ``fast=True`` leaves out."""
FAST = 20
"""The most calls that ``fast=True`` needs where nothing is wrong."""


class Stop(Exception):
    """Nothing more can be checked."""


class State:
    """One call of ``check_gradients``.

    Attributes
    ----------
    fn, reference : Timed
        The function, and what it is compared with.
    subject : Subject
        The function at the inputs.
    others : list of Subject
        Other functions that were called, for the counts.
    report : GradientReport
        What was found.
    current : str
        The check that is made.
    """

    def __init__(
        self,
        name: str,
        fn: Callable[..., Any],
        inputs: Sequence[Any],
        options: Options,
        parameters: Iterable[Any] | None,
    ) -> None:
        self.fn, self.inputs, self.options = Timed(fn), inputs, options
        self.reference = None if options.reference is None else Timed(options.reference)
        self.time_limit = math.inf if options.time_limit is None else options.time_limit
        self.report = GradientReport(name)
        tensors = [i for i, a in enumerate(inputs) if isinstance(a, _runtime.Tensor) and a._array.dtype.kind == "f"]
        chosen = [i for i in tensors if inputs[i].requires_grad] or tensors
        self.subject = Subject(self.fn, inputs, chosen, parameters_of("check_gradients", fn, parameters))
        self.rng = np.random.default_rng(options.seed)
        self.current, self.steady = "values", False
        self.others: list[Subject] = []
        modules = fn.modules() if hasattr(fn, "modules") else ()
        self._buffers = [
            (m, name, b, b._array.copy()) for m in modules for name, b in m._buffers.items() if b is not None
        ]

    # -- what is noted
    def wants(self, check: str) -> bool:
        """Whether a check is to be made; it is noted if so."""
        if check in self.options.skip:
            return False
        self.current = check
        self.report.checks.append(check)
        return True

    def fail(self, check: str, text: str, **more: Any) -> None:
        """Note a failure."""
        self.report.failures.append(Failure(check, text, **more))

    def stop(self, check: str, text: str, **more: Any) -> None:
        """Note a failure after which nothing can be checked."""
        self.report.checkable = "blame" in more
        self.fail(check, text, **more)
        raise Stop

    def finished(self) -> GradientReport:
        """The report, with its counts; a module's buffers are as they were."""
        subjects = [self.subject, *self.others]
        self.report.evaluations = sum([s.calls for s in subjects]) + self.fn.repeated
        self.report.backwards = sum([s.backwards for s in subjects])
        for module, key, buffer, values in self._buffers:  # such as the statistics of a batch norm
            buffer._array[...] = values
            if module._buffers[key] is not buffer:
                setattr(module, key, buffer)
        return self.report

    def unsteady(self, error: Exception) -> None:
        """Note before all else that the function raises only now and then."""
        text = f"the function raised {type(error).__name__}: {error}; called again alike it did not. {STEADY}"
        self.report.failures.insert(0, Failure("determinism", text))
        self.report.checkable = False

    def meaningful(self) -> bool:
        """Whether second derivatives can be compared, and would not only repeat what failed."""
        known = np.isfinite(self.subject.base).all() and CANCELLING not in [p.kind for p in self.report.kinks]
        return bool(known) and not any([self.report.failed(check) for check in ("values", "determinism", "linearity")])

    # -- what is to blame
    def known(self, blame: Blame | None) -> Blame | None:
        """The same, of a Function that was seen to be wrong before: that is said, in place of nothing having been seen."""
        seen = {f.blame.name: f for f in self.report.failures if f.blame and f.blame.kind in ("node", "function")}
        if blame is not None and blame.detail == ALONE and blame.name in seen:
            return replace(blame, detail=f"it is to blame for [{seen[blame.name].check}], too")
        return blame

    def blamed(self, look: Callable[..., Blame | None], *args: Any) -> Blame | None:
        """What is to blame for a failure, if there is time to find it."""
        try:
            return look(*args)
        except OutOfTime:
            return self.unknown()

    # -- time
    def unknown(self, more: str = "") -> Blame:
        """What is said where there was no time to find what is to blame."""
        return Blame("none", f"what is to blame was not found in {said(self.time_limit)}{more}. {self.remedy()}", "")

    def out_of_time(self) -> None:
        """Say what was not checked."""
        left_out = {*self.report.checks, *self.options.skip, *(NOT_FAST if self.options.fast else ())} - {self.current}
        left_out |= {"second_order"} if self.options.order == 1 else set()
        left_out |= {"reference"} if self.reference is None else set()
        missing = [name for name in CHECKS if name not in left_out]
        self.report.checks = [name for name in self.report.checks if name not in missing]
        text = (
            f"{said(self.time_limit)} are too short to check {', '.join(missing)}: a call of the function takes "
            f"{said(self.fn.seconds)}. {self.remedy()}"
        )
        if self.report.failures:
            self.report.notes.append(text)
        else:
            self.too_slow(self.current, text)

    def too_slow(self, check: str, text: str) -> None:
        """Note that nothing is known, as the time was up or would be."""
        self.report.checkable, self.report.too_slow = False, True
        self.fail(check, text)

    def remedy(self) -> str:
        ways = "smaller inputs, or a larger time_limit="
        return f"Pass {ways}" if self.options.fast else f"Pass fast=True ({FAST} calls), {ways}"

    # -- names
    def named(self, variable: int) -> str:
        """A variable in words."""
        subject = self.subject
        shape = subject.arrays[variable].shape
        if variable < len(subject.variables):
            return f"input {subject.variables[variable]} {shape}"
        return f"parameter {variable - len(subject.variables)} {shape}"
