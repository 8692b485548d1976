"""``property_test``: check the gradients of a function at many drawn inputs, and show the smallest that fails."""

from __future__ import annotations

import os
import re
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import hypothesis
import hypothesis.errors
from hypothesis import HealthCheck, Phase, Verbosity
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from .. import nn
from .._tensor import Tensor
from . import _fresh, _time
from ._asked import Options, check_function, check_options, name_of, parameters_of
from ._check import check_gradients
from ._literals import literal
from ._report import Failure, GradientError, GradientReport
from ._sources import Preamble
from ._state import CHECKS
from .strategies import GIVEN_DTYPE, Arguments


@dataclass
class PropertyReport:
    """What ``property_test`` did.

    Attributes
    ----------
    name : str
        The function's.
    draws : int
        At how many drawn inputs the gradients were checked.
    outside : int
        How many more draws the function refused with an error that was allowed.
    kinks : int
        How many entries were at kinks and the like, and accepted.
    evaluations : int
        How often the function was called.
    seconds : float
        How long it took.
    stopped : bool
        Whether the time was up before all examples were drawn.
    vacuous : int
        At how many of the draws nothing was compared but zeros.
    """

    name: str
    draws: int = 0
    outside: int = 0
    kinks: int = 0
    evaluations: int = 0
    seconds: float = 0.0
    stopped: bool = False
    vacuous: int = 0

    def __str__(self) -> str:
        more = f", {self.kinks} entries at kinks" if self.kinks else ""
        more += f", {self.outside} draws outside the function's domain" if self.outside else ""
        more += f", nothing but zeros compared in {self.vacuous} draws" if self.vacuous else ""
        more += ", stopped as the time was up" if self.stopped else ""
        return f"gradients of {self.name} are right in {self.draws} draws ({self.evaluations} evaluations{more})"


class PropertyError(GradientError):
    """A function whose gradients fail a check at drawn inputs; its text is the verdict and a test that shows it.

    Attributes
    ----------
    report : GradientReport
        What ``check_gradients`` found at the smallest failing inputs.
    inputs : tuple
        Those inputs.
    test : str
        A test with these inputs written out, to be pasted into a file.
    """

    def __init__(self, report: GradientReport, inputs: tuple[Any, ...], test: str, draws: int, note: str = "") -> None:
        super().__init__(report)
        self.inputs, self.test = inputs, test
        self._rest = (draws, note)
        self.args = (f"{report}{note}\nFound at draw {draws} and shrunk; this test shows it:\n\n{test}",)

    def __reduce__(self) -> tuple[Any, ...]:
        return PropertyError, (self.report, self.inputs, self.test, *self._rest)


def property_test(
    fn: Callable[..., Any],
    *arguments: Any,
    order: int = 1,
    fast: bool = False,
    kinks: str = "between",
    reference: Callable[..., Any] | None = None,
    parameters: Iterable[Any] | None = None,
    skip: Sequence[str] = (),
    allow: type[Exception] | tuple[type[Exception], ...] = (),
    max_examples: int = 50,
    seed: int | None = None,
    derandomize: bool | None = None,
    time_limit: float = 60.0,
) -> PropertyReport:
    """Check the gradients of a function at inputs that Hypothesis draws.

    Parameters
    ----------
    fn : function or Module
        Takes one argument for each of *arguments*, returns a tensor or a sequence of tensors.
    *arguments
        Strategies of ``testing.strategies`` or any others; `Arguments` that one draws are passed one by one.  Anything else
        is passed as it is.
    order, fast, kinks, reference, parameters, skip
        As for ``check_gradients``; the parameters of modules that are drawn are checked too.
    allow : exception class or tuple of them
        Errors by which *fn* says that a draw is outside its domain.
    max_examples : int
        How many inputs are drawn.
    seed : int, optional
        Of the draws.
    derandomize : bool, optional
        Whether each run draws the same; by default where the environment variable ``CI`` is set.
    time_limit : float
        Seconds after which no more is drawn, checked, nor shrunk; a call of *fn* that has begun is not interrupted.  Of a
        failure, the check that is reported is made once more.

    Returns
    -------
    PropertyReport
        How much was drawn and evaluated.

    Raises
    ------
    PropertyError
        A `GradientError`: the verdict at the smallest failing inputs, and a test that can be pasted.  That is run once in a
        process of its own; where it passes there, as the failure depends on earlier calls, the text says so.
    TypeError, ValueError
        For options that do not exist.

    Examples
    --------
    >>> import minitorch as torch
    >>> from minitorch.testing.strategies import tensors
    >>> report = torch.testing.property_test(torch.sin, tensors(shape=(2, 3)), max_examples=10)
    >>> report.draws
    10
    """
    options = {"order": order, "fast": fast, "kinks": kinks, "reference": reference, "parameters": parameters}
    options["skip"] = skip
    run = Run(fn, arguments, options, allow, time_limit)
    return run.run(max_examples, seed, derandomize)


_FRESH = 30.0
"""Seconds that the printed test may take when it is run by itself."""


class _OutOfTime(BaseException):
    """No more is drawn; not an Exception, so that Hypothesis lets it through."""


class _Wrong(Exception):
    """A failed check.  Each kind of failure has a class of its own: Hypothesis shrinks without going from one to another."""

    kinds: ClassVar[dict[tuple[Any, ...], type[Exception]]] = {}

    @classmethod
    def of(cls, error: Exception) -> Exception:
        """An exception that stands for a failure."""
        key: tuple[Any, ...] = (type(error),)
        if isinstance(error, GradientError):
            failure = error.report.failures[0]
            key = (failure.check, failure.blame and (failure.blame.kind, failure.blame.name))
        return cls.kinds.setdefault(key, type("Wrong", (cls,), {}))()


class Run:
    """One call of ``property_test``.

    Attributes
    ----------
    progress : function
        Called with the report after each draw.
    made : dict
        By id, the calls that made modules, for the test that is printed.
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        arguments: Sequence[Any],
        options: dict[str, Any],
        allow: Any,
        time_limit: float,
        progress: Callable[[PropertyReport], None] = lambda report: None,
    ) -> None:
        defaults = {"order": 1, "fast": False, "kinks": "between", "reference": None, "skip": ()}
        check_function("property_test", fn)
        asked = {k: v for k, v in options.items() if k in defaults}
        check_options("property_test", CHECKS, Options(**asked, time_limit=time_limit))
        if options["parameters"] is not None:
            options["parameters"] = parameters_of("property_test", fn, options["parameters"])
        self.fn, self.allow, self.time_limit, self.progress = fn, allow or (), time_limit, progress
        self.parameters = options["parameters"]
        self.options = {k: v for k, v in options.items() if k in defaults and v != defaults[k]}
        self.strategy = st.tuples(*[a if isinstance(a, SearchStrategy) else st.just(a) for a in arguments])
        self.report = PropertyReport(name_of(fn))
        self.refusal: Exception | None = None
        self.failures: list[tuple[tuple[Any, ...], Exception]] = []
        self.made: dict[int, str] = {}

    @staticmethod
    def check_examples(max_examples: Any) -> None:
        """Raise ValueError for what is no number of draws."""
        if isinstance(max_examples, bool) or not isinstance(max_examples, int) or max_examples < 1:
            raise ValueError(f"property_test(): max_examples must be a positive int, not {max_examples!r}")

    def run(self, max_examples: int = 50, seed: int | None = None, derandomize: bool | None = None) -> PropertyReport:
        """Draw and check; raises PropertyError."""
        self.check_examples(max_examples)
        start = self.start = time.monotonic()
        if derandomize is None:
            derandomize = hypothesis.settings.default.derandomize or bool(os.environ.get("CI"))  # type: ignore[union-attr]
        test = hypothesis.settings(
            max_examples=max_examples,
            derandomize=derandomize and seed is None,
            database=None,
            deadline=None,
            phases=(Phase.generate, Phase.shrink),
            report_multiple_bugs=False,
            print_blob=False,
            verbosity=Verbosity.quiet,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.nested_given],
        )(hypothesis.given(self.strategy)(lambda drawn: self.check(drawn)))
        dtypes = {p.dtype for p in getattr(self.fn, "parameters", tuple)() if p.is_floating_point()}
        token = GIVEN_DTYPE.set(dtypes.pop() if len(dtypes) == 1 else None)
        try:
            (test if seed is None else hypothesis.seed(seed)(test))()
        except _OutOfTime:
            self.report.stopped = True
        except (_Wrong, hypothesis.errors.Flaky):
            pass  # it is in self.failures
        finally:
            GIVEN_DTYPE.reset(token)
        self.report.seconds = time.monotonic() - start
        if self.failures:
            raise self.error()
        if self.refusal is not None and not self.report.draws:
            self.refusal.add_note(f"(so did {self.report.name} for each of the {self.report.outside} draws)")
            raise self.refusal
        return self.report

    def check(self, drawn: tuple[Any, ...]) -> None:
        """Check the gradients at one draw."""
        left = self.start + self.time_limit - time.monotonic()
        if left <= 0 and (self.report.draws or self.report.outside):
            raise _OutOfTime
        inputs = tuple([v for a in drawn for v in (a if isinstance(a, Arguments) else (a,))])
        try:
            found = self.check_at(inputs, max(left, 0.0))
        except Exception as error:
            if _too_slow(error) and self.report.draws:  # there would have been time for a smaller one
                raise _OutOfTime from None
            if not isinstance(error, GradientError) and isinstance(error, self.allow):
                self.report.outside += 1
                self.refusal = error
                return
            if not self.failures:
                self.report.draws += 1
            self.report.evaluations += error.report.evaluations if isinstance(error, GradientError) else 1
            self.failures.append((inputs, error))
            raise _OutOfTime if _too_slow(error) else _Wrong.of(error) from None
        if not self.failures:
            self.report.draws += 1
            self.report.kinks += len(found.kinks)
            self.report.vacuous += found.vacuous
            self.report.evaluations += found.evaluations
            self.progress(self.report)

    def check_at(self, inputs: tuple[Any, ...], time_limit: float) -> GradientReport:
        """Check the gradients at some inputs."""
        parameters = self.parameters
        if models := [a for a in inputs if isinstance(a, nn.Module)]:
            parameters = (*(parameters or ()), *[p for m in models for p in m.parameters()])
        return check_gradients(self.fn, *inputs, parameters=parameters, time_limit=time_limit, **self.options)

    def error(self) -> PropertyError:
        """What is wrong at the smallest inputs: those that Hypothesis ran last, or the shortest where the time was up."""
        inputs, error = self.failures[-1]
        if self.report.stopped:
            inputs, error = min(self.failures, key=lambda failure: len(literal(failure[0])))
        note, random, options = "", None, self.options
        if _too_slow(error):
            options = {**options, "time_limit": self.time_limit}
        else:
            try:
                self.check_at(inputs, self.time_limit)
                note = (
                    "\nThe same inputs did not fail when they were checked again: the function is random, or keeps something "
                    "from call to call. Draw random numbers outside and pass them in."
                )
            except Exception as again:  # without Hypothesis between the caller and the function
                error = error if _too_slow(again) else again
            random = self.random_at(inputs)
        if random is not None:
            report, note = random, ""
        elif isinstance(error, GradientError):
            report = error.report
        else:
            report = GradientReport(self.report.name)
            report.checkable = False
            report.failures.append(Failure("call", _raised(self.report.name, error)))
        if report.failures[0].text.startswith("no output is finite"):
            note += (
                '\nIf these inputs are outside the function\'s domain, draw others: tensors(elements="0.1:4"); from the shell, '
                "--elements 0.1:4"
            )
        test = written_out(self.fn, inputs, options, self.parameters or (), self.made)
        if not note and random is None and not _too_slow(error) and _fresh.passes(test, min(self.time_limit, _FRESH)):
            note = (
                "\nRun by itself, in a new process, the test below passes: the failure depends on what earlier calls have left "
                "behind, such as a cache, a counter, or an attribute of a class or module. Keep nothing from call to call, "
                "or put into the test what makes it fail"
            )
        made = PropertyError(report, inputs, test, self.report.draws, note)
        made.__cause__ = None if isinstance(error, GradientError) else error
        return made

    def random_at(self, inputs: tuple[Any, ...]) -> GradientReport | None:
        """What is said of a random function, if it is one: next to the inputs, as random numbers may be multiplied by a 0."""
        moved = [a.detach() + 1 if isinstance(a, Tensor) and a.is_floating_point() else a for a in inputs]
        others = tuple([check for check in CHECKS if check != "determinism"])
        limit = self.time_limit
        try:
            found = check_gradients(self.fn, *moved, skip=others, fast=True, time_limit=limit, raise_exception=False)
        except Exception:
            return None
        return found if found.failed("determinism") else None


def _too_slow(error: Exception) -> bool:
    return isinstance(error, GradientError) and error.report.too_slow


def _raised(name: str, error: Exception) -> str:
    kind = type(error).__name__
    frames = traceback.extract_tb(error.__traceback__)
    if isinstance(error, TypeError) and frames[-1].filename == _time.__file__:  # it was not even entered
        return f"{name} cannot be called with these inputs: {error}. Give one strategy, or shape, for each of its arguments"
    return (
        f"{name} raised {kind}: {error}. Where that means that the inputs are outside its domain, draw others "
        f'(elements="0.1:4", shape=; sizes with one name are equal: tensors(shape=("n", 3))), or pass allow={kind}; from the '
        f"shell, --elements 0.1:4 or --allow {kind}"
    )


# -- the test that is printed ------------------------------------------------------------------------------------------
def written_out(
    fn: Callable[..., Any],
    inputs: Sequence[Any],
    options: dict[str, Any],
    parameters: Sequence[Any],
    made: dict[int, str],
) -> str:
    """A test that checks the gradients at these inputs."""
    preamble = Preamble(made)
    body: list[str] = []
    called = [preamble.expression(fn)]
    models: list[str] = []
    for place, value in enumerate(inputs):
        if isinstance(value, nn.Module):
            models.append(f"model{len(models) or ''}")
            body += preamble.module(value, models[-1])
            called.append(models[-1])
        else:
            called.append(preamble.value(value, f"input_{place}"))
    if models:
        called.append(f"parameters=[{', '.join([f'*{m}.parameters()' for m in models])}]")
    elif parameters:
        names = preamble.tensors(parameters, [fn])
        if names is None:
            body.append("# parameters = [...]  # to be filled in: the tensors that were passed as parameters=")
        called.append("parameters=" + ("parameters" if names is None else f"[{', '.join(names)}]"))
    for name, value in options.items():
        called.append(f"{name}={preamble.value(value, name)}")
    call = f"check_gradients({', '.join(called)})"
    if len(call) > 100:
        call = "check_gradients(\n" + "".join([f"    {argument},\n" for argument in called]) + ")"
    name = re.sub(r"\W+", "_", called[0].replace("torch.", "")).strip("_")
    lines = "\n".join([*body, call]).replace("\n", "\n    ")
    return f"{str(preamble).rstrip()}\n\n\ndef test_gradients_of_{name}():\n    {lines}\n"
