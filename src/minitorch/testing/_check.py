"""``check_gradients``: everything that can be asked of a function's gradients, in one call."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .. import _runtime
from .._differentiate import grad
from .._modes import enable_grad
from .._views import current_node
from ..autograd._differences import Array
from ..autograd._subject import ChangedShape, Subject, Unsteady, tuple_of
from . import _not_a_number, _rounding
from ._asked import STEADY, check_function, check_options, parameters_of, refusal
from ._blame import (
    ALONE,
    blame_first_order,
    blame_for_reference,
    blame_property,
    blame_raising,
    blame_second_order,
    blame_writing,
)
from ._compare import Comparison, along_all, changed, compare, compared_along, groups, random_directions, severity
from ._kinks import CANCELLING, cancelling, documented, moved
from ._patterns import pattern_of
from ._properties import COMPARED, PROPERTIES, Setting, distance
from ._report import Blame, Failure, GradientError, GradientReport, described
from ._time import OutOfTime, Timed, at_most, in_time, left, said
from ._untold import untold
from ._verdict import along

CHECKS = ("values", *PROPERTIES, "second_order", "reference")
"""The names of all checks."""
_NOT_FAST = ("expanded", "scalars", "broadcasting")
_FAST = 20
"""The most calls that ``fast=True`` needs where nothing is wrong."""


class _Stop(Exception):
    """Nothing more can be checked."""


def check_gradients(
    fn: Callable[..., Any],
    *inputs: Any,
    order: int = 1,
    fast: bool = False,
    kinks: str = "between",
    reference: Callable[..., Any] | None = None,
    parameters: Iterable[Any] | None = None,
    skip: Sequence[str] = (),
    seed: int = 0,
    time_limit: float | None = 60.0,
    raise_exception: bool = True,
) -> GradientReport:
    """Check the gradients of a function against finite differences, and what else must hold of them.

    Tolerances are not asked for: each finite difference comes with an estimate of its error, in the precision of the
    inputs, and a gradient is wrong where it differs by more than that explains.

    Parameters
    ----------
    fn : function or Module
        Takes the inputs, returns a tensor or a sequence of tensors.
    *inputs
        The point to check at: tensors of any shapes, of float64 or a narrower dtype, and anything else *fn* takes.  Those
        that require grad are checked; all tensors of floats if none does.  They are not changed.
    order : int
        1, or 2: whether the gradients of the gradients are checked too.
    fast : bool
        Whether random projections are compared in place of all entries: at most 20 evaluations, whatever the sizes, where
        nothing is wrong.
    kinks : str
        At a kink any value between the slopes on its two sides is accepted, and reported; with "reference" only the one that
        PyTorch documents for the operation.
    reference : function, optional
        Another function of the same inputs, whose values and gradients must be the same.
    parameters : iterable of Tensor, optional
        Tensors that *fn* reads by itself and whose gradients are checked too (default: those of a Module).
    skip : sequence of str
        Names of checks to leave out: "values", "determinism", "mutation", "linearity", "dtype", "shape", "finite",
        "non_contiguous", "expanded", "scalars", "broadcasting", "subsets", "create_graph", "cycles", "second_order",
        "reference".
    seed : int
        Of the random vectors.
    time_limit : float, optional
        Seconds that all of it may take.  What could not be checked by then is named, and is a failure where nothing else is.  A
        call of *fn* that has begun is not interrupted.
    raise_exception : bool
        Whether a failure raises; otherwise look at the report's ``ok`` and ``failures``.

    Returns
    -------
    GradientReport
        What was checked, what failed and why, which entries are at kinks, how often the function was called.

    Raises
    ------
    GradientError
        A ``GradcheckError`` and an ``AssertionError``, whose text is the verdict.
    TypeError, ValueError
        For options that do not exist.

    Examples
    --------
    >>> import minitorch as torch
    >>> x = torch.tensor([0.5, 2.0], dtype=torch.float64)
    >>> bool(torch.testing.check_gradients(lambda x: (x * x).sin(), x, order=2))
    True
    >>> torch.testing.check_gradients(lambda x: x * x.detach(), x, raise_exception=False).ok
    False
    """
    check_function("check_gradients", fn)
    check_options("check_gradients", CHECKS, order, kinks, skip, reference, seed, time_limit)
    name = getattr(fn, "__name__", type(fn).__name__)
    check = _Check(fn, inputs, order, fast, kinks, reference, parameters, skip, seed, time_limit, name)
    # what moves beyond the range is not finite, and known as that
    with contextlib.suppress(_Stop), np.errstate(all="ignore"), at_most(check.time_limit):
        check.run()
    report = check.finished()
    if raise_exception and not report.ok:
        raise GradientError(report)
    return report


class _Check:
    """One call of ``check_gradients``."""

    def __init__(
        self,
        fn: Callable[..., Any],
        inputs: Sequence[Any],
        order: int,
        fast: bool,
        kinks: str,
        reference: Callable[..., Any] | None,
        parameters: Iterable[Any] | None,
        skip: Sequence[str],
        seed: int,
        time_limit: float | None,
        name: str,
    ) -> None:
        self.fn, self.inputs, self.order, self.fast, self.kinks = Timed(fn), inputs, order, fast, kinks
        self.reference, self.skip, self.seed = None if reference is None else Timed(reference), skip, seed
        self.time_limit = math.inf if time_limit is None else time_limit
        self.report = GradientReport(name)
        tensors = [i for i, a in enumerate(inputs) if isinstance(a, _runtime.Tensor) and a._array.dtype.kind == "f"]
        chosen = [i for i in tensors if inputs[i].requires_grad] or tensors
        self.subject = Subject(self.fn, inputs, chosen, parameters_of("check_gradients", fn, parameters))
        self.rng = np.random.default_rng(seed)
        self.current, self.steady = "values", False
        self.others: list[Subject] = []

    # -- reporting
    def wants(self, check: str) -> bool:
        """Whether a check is to be made; it is noted if so."""
        if check in self.skip:
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
        raise _Stop

    def finished(self) -> GradientReport:
        """The report, with its counts."""
        subjects = [self.subject, *self.others]
        self.report.evaluations = sum([s.calls for s in subjects])
        self.report.backwards = sum([s.backwards for s in subjects])
        return self.report

    # -- checking
    def run(self) -> None:
        """Make all checks that there is time for."""
        try:
            self.first_call()
            if self.wants("determinism"):
                self.same_again()
            if self.wants("values"):
                self.values()
            setting = self.setting()
            self.properties(setting)
            if self.reference is not None and self.wants("reference"):
                self.against_reference(setting)
            if self.order > 1 and self.wants("second_order") and not self.unsteady():
                self.second_order()
            if self.report.ok:
                notes, self.report.vacuous = untold(self.subject, setting)
                self.report.notes += notes
        except OutOfTime:
            self.out_of_time()
        except Unsteady as found:
            text = f"the function raised {type(found.error).__name__}: {found.error}; called again alike it did not. {STEADY}"
            self.stop("determinism", text)

    def properties(self, setting: Setting, names: Sequence[str] = tuple(PROPERTIES)) -> None:
        """Check what holds beyond the values."""
        for name in names:
            holds = PROPERTIES[name]
            if self.report.failed("determinism") and name in COMPARED:
                continue
            if self.fast and name in _NOT_FAST:
                continue
            if name == "determinism":
                if name in self.skip or self.steady:
                    continue
                self.current, self.steady = name, True
            elif name in self.report.checks or not self.wants(name):  # made with the values
                continue
            try:
                wrong = holds(setting)
            except Exception as error:
                wrong = f"raised {type(error).__name__}: {error}"
            if wrong:
                self.fail(name, wrong, blame=self.known(self.blamed(blame_property, self.subject, name)))

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

    def unknown(self, more: str = "") -> Blame:
        """What is said where there was no time to find what is to blame."""
        return Blame("none", f"what is to blame was not found in {said(self.time_limit)}{more}. {self._remedy()}", "")

    def out_of_time(self) -> None:
        """Say what was not checked."""
        left_out = {*self.report.checks, *self.skip, *(_NOT_FAST if self.fast else ())} - {self.current}
        left_out |= {"second_order"} if self.order == 1 else set()
        left_out |= {"reference"} if self.reference is None else set()
        missing = [name for name in CHECKS if name not in left_out]
        self.report.checks = [name for name in self.report.checks if name not in missing]
        text = (
            f"{said(self.time_limit)} are too short to check {', '.join(missing)}: a call of the function takes "
            f"{said(self.fn.seconds)}. {self._remedy()}"
        )
        if self.report.failures:
            self.report.notes.append(text)
        else:
            self.too_slow(self.current, text)

    def too_slow(self, check: str, text: str) -> None:
        """Note that nothing is known, as the time was up or would be."""
        self.report.checkable, self.report.too_slow = False, True
        self.fail(check, text)

    def _remedy(self) -> str:
        ways = "smaller inputs, or a larger time_limit="
        return f"Pass {ways}" if self.fast else f"Pass fast=True ({_FAST} calls), {ways}"

    def unsteady(self) -> bool:
        """Whether something failed that second derivatives would only repeat, or they have nothing to be compared with."""
        known = np.isfinite(self.subject.base).all() and CANCELLING not in [p.kind for p in self.report.kinks]
        return not known or any([self.report.failed(check) for check in ("values", "determinism", "linearity")])

    def first_call(self) -> None:
        """Evaluate once: what cannot be checked is said here."""
        subject = self.subject
        if not subject.arrays:
            kinds = ", ".join([described(a) for a in self.inputs]) or "nothing"
            self.stop(
                "values", f"there is no input to differentiate with respect to: got {kinds}; give tensors of floats"
            )
        try:
            outputs, _ = subject.point()
        except Exception as error:
            remedy = ""
            if "in-place" in str(error):
                remedy = ": the function writes into its input; clone it first, or write out of place"
            error.add_note(f"(raised by {self.report.name} at the inputs that check_gradients was given{remedy})")
            if not remedy:
                raise
            self.stop("mutation", f"{type(error).__name__}: {error}{remedy}")
        if refused := refusal(outputs):
            self.stop("values", refused)
        if not np.isfinite(subject.base).any() and subject.base.size:
            self.stop("values", "no output is finite here: check at a point of the function's domain")

    def same_again(self) -> None:
        """The function must give the same for the same."""
        subject = self.subject
        try:
            again = subject.values(subject.arrays)
        except ChangedShape as error:
            again = None
            text = str(error)
        if again is not None:
            far = distance(again, subject.base, 0.0)
            text = f"{far}" if far else ""
        if text:
            self.stop(
                "determinism",
                f"the function is random: called again with the same inputs it gives other values ({text}). {STEADY}",
            )

    def values(self) -> None:
        """Compare first derivatives with finite differences."""
        subject = self.subject
        try:
            if self.fast and self.projections():
                return
            if sum(subject.sizes) * subject.base.size > 2**26:
                self.stop(
                    "values",
                    f"finite differences would take too long: {subject.base.size} output elements by {sum(subject.sizes)} "
                    f"input elements are too many to look at each. Pass fast=True ({_FAST} calls) or smaller inputs",
                )
            analytic = self.rows()
            calls = 2 * len(groups(analytic))
            if calls * self.fn.seconds > left():
                self.too_slow(
                    "values",
                    f"finite differences would take too long: {calls} calls of {said(self.fn.seconds)} each, and of "
                    f"{said(self.time_limit)} there are {said(left())} left. {self._remedy()}",
                )
                raise _Stop
            found = compare(subject, analytic)
        except ChangedShape as error:
            self.stop(
                "values",
                f"{error}. The shape depends on the values: such a function has no derivative; pad, or sum what it returns",
            )
        self.report.comparison, self.report.kinks = found, found.accepted
        self.report.notes += found.notes()
        if subject.refused and subject.refused >= subject.evaluations - 2:
            self.stop(
                "values",
                f"the function raises at every point next to the given one: {type(subject.refusal).__name__}: "
                f"{subject.refusal}. Check at a point inside its domain",
            )
        if not found.agrees and _not_a_number.at_kinks(found):
            self.not_a_number(found)
        elif not found.agrees:
            self.mismatch(found)
        elif self.kinks == "reference" and found.accepted:
            for name, point, rule, site in documented(subject):
                text = f"at a kink {name} gives {point.analytic:.6g}; PyTorch documents {rule}"
                self.fail("values", text, points=[point], blame=Blame("kink", name, site))

    def rows(self) -> Array:
        """The analytic Jacobian; where backward raises, nothing more can be checked."""
        try:
            return self.subject.rows(in_time)
        except Exception as error:
            text = f"backward raised {type(error).__name__}: {error}"
            self.stop("values", text, blame=self.blamed(blame_raising, self.subject))
            raise

    def projections(self) -> bool:
        """Compare derivatives along random directions, of random sums of the outputs; whether all agree."""
        subject = self.subject
        for _ in range(2):
            vectors = self.rng.normal(size=subject.base.size)
            try:
                gradient = subject.joined(subject.vjp(subject.split(vectors)))
            except Exception:
                return False  # what is wrong is said where all entries are looked at
            subject.backwards += 1
            directions = random_directions(subject, self.rng)
            flat = np.concatenate([d.ravel() for d in directions])
            behaviour, wrong = along(subject, directions, np.array([gradient @ flat]), vectors[None])
            if wrong.any():
                return False
            if behaviour is not None and behaviour.kind[0]:
                self.report.kinks += along_all(behaviour, gradient @ flat)
        return True

    def mismatch(self, found: Comparison) -> None:
        """Say what is wrong: which output and input, the worst entries, the pattern, what is to blame."""
        subject = self.subject
        try:
            blame = self.culprit(found)
        except OutOfTime:
            blame = self.unknown(", nor whether kinks of several operations cancel here")
        if blame is None:
            return
        meaningful = blame.kind not in ("function", "hook") or self.one_gradient()
        for output, variable in found.blocks():
            rows, columns = found.block(output, variable)
            points = [p for p in found.mistakes if (p.output, p.input) == (output, variable)]
            points.sort(key=lambda p: -severity(p))
            wrong = int(found.wrong[rows, columns].sum())
            total = found.wrong[rows, columns].size
            place = subject.which.index(output)
            pattern = meaningful and pattern_of(
                found.analytic[rows, columns],
                found.numeric[rows, columns],
                2 * found.error[rows, columns],
                subject.shapes[place],
                subject.arrays[variable].shape,
            )
            self.fail(
                "values",
                f"gradient of output {output} {subject.shapes[place]} with respect to {self.named(variable)}: "
                f"{wrong} of {total} entries differ from finite differences by more than their error explains",
                pattern=pattern or None,
                blame=blame,
                points=points[:5],
            )

    def one_gradient(self) -> bool:
        """Whether backward gives the same twice, and is linear: else that is said first, as numbers do not tell much then."""
        try:
            setting = Setting(self.subject, self.seed, self.fast)
            before = len(self.report.failures)
            self.properties(setting, ("determinism", "linearity"))
        except RuntimeError:  # said where all properties are asked for
            return True
        return len(self.report.failures) == before

    def culprit(self, found: Comparison) -> Blame | None:
        """What is to blame for wrong values; None where kinks cancel, which is noted."""
        subject = self.subject
        blame = blame_first_order(subject, found)
        if blame.kind == "none" and np.isnan(found.analytic[found.wrong]).any():
            made = _not_a_number.maker(subject)
            blame = blame if made is None else made.blame
        if blame.kind == "none":
            blame = blame_writing(subject) or blame
        if blame.kind == "none" and (names := cancelling(subject)):
            self.report.kinks += [replace(p, kind=CANCELLING) for p in found.mistakes]
            self.report.notes.append(
                f"the kinks of {' and '.join(dict.fromkeys(names))} cancel here: each has the slope of one of its sides, and "
                "together they have none of the function's, as in PyTorch. Next to the point the gradient is right"
            )
            return None
        return blame

    def not_a_number(self, found: Comparison) -> None:
        """Say of NaNs at kinks what they are: PyTorch's own value for an operation there, or made by several."""
        made = _not_a_number.maker(self.subject)
        points = [p for p in found.mistakes if p.kind != "smooth"] or found.mistakes
        if made is not None and made.documented:
            self.report.kinks += [p for p in found.mistakes if p.kind != "smooth"]
            blame = made.blame
            self.report.notes.append(
                f"{blame.name}, called at {blame.site}, has no derivative there, and gives NaN, as PyTorch's does"
            )
        elif self.wants("finite"):
            point, custom = points[0], made is not None and made.custom
            remedy = "PyTorch gives it here, too. Keep away from the point: clamp or add a little before the root or division"
            if custom:
                remedy = "Give the slope of one side there, such as 0"
            text = (
                f"the gradient of {self.named(point.input)} is NaN at {list(point.input_index)}, at a {point.kind}: there is "
                "no derivative here, and any value between the slopes would do, but NaN spreads to all that it touches. "
                f"{remedy}; or accept it: skip=('finite',)"
            )
            self.fail("finite", text, points=points[:5], blame=None if made is None else made.blame)

    def named(self, variable: int) -> str:
        """A variable in words."""
        subject = self.subject
        shape = subject.arrays[variable].shape
        if variable < len(subject.variables):
            return f"input {subject.variables[variable]} {shape}"
        return f"parameter {variable - len(subject.variables)} {shape}"

    def named_second(self, variable: int) -> str:
        """A variable of second derivatives: the inputs, then the incoming gradients, then the parameters."""
        incoming = variable - len(self.subject.variables)
        if 0 <= incoming < len(self.subject.which):
            return f"the incoming gradient {incoming}"
        return self.named(variable if incoming < 0 else variable - len(self.subject.which))

    def setting(self) -> Setting:
        """What the properties are asked of."""
        try:
            setting = Setting(self.subject, self.seed, self.fast)
        except RuntimeError as error:
            self.stop("shape", f"backward raised {type(error).__name__}: {error}", blame=None)
        setting.regular = not any(
            [
                p.kind in ("vertical slope", "edge of the domain", "undefined") or math.isnan(p.analytic)
                for p in self.report.kinks
            ]
        )
        return setting

    def against_reference(self, setting: Setting) -> None:
        """Compare values and gradients with those of another function."""
        subject = self.subject
        other = Subject(self.reference, self.inputs, subject.variables, subject.parameters)  # type: ignore[arg-type]
        self.others.append(other)
        name = getattr(self.reference.fn, "__name__", "")  # type: ignore[union-attr]
        try:
            outputs, _ = other.point()
            refused = refusal(outputs, f"the reference {name}")
        except Exception as error:
            refused = f"the reference {name} raised {type(error).__name__}: {error}"
        if refused:
            self.fail("reference", refused)
            return
        if other.shapes != subject.shapes:
            self.fail("reference", f"the function gives shapes {subject.shapes}, the reference {other.shapes}")
            return
        far = distance(subject.base, other.base, 2.0**12 * subject.precision.unit)
        if far:
            unit = subject.precision.unit
            (own,) = _rounding.of_points(lambda at: [subject.values(at)], subject.arrays, unit)
            (its,) = _rounding.of_points(lambda at: [other.values(at)], subject.arrays, unit)
            far = distance(subject.base, other.base, 2.0**12 * unit, own + its)
        blame = self.blamed(blame_for_reference, subject, not far)
        if far:
            self.fail("reference", f"the function's values differ from the reference's ({far})", blame=blame)
            return
        found = setting.differ(
            setting.gradients, other.vjp(setting.vectors), lambda: self.rounding(setting), factor=2.0**14
        )
        if found:
            self.fail("reference", f"the gradient differs from the reference's ({found})", blame=blame)

    def rounding(self, setting: Setting) -> list[float]:
        """How far rounding moves the gradients of the function and of its reference."""

        def of(subject: Subject) -> list[float]:
            def made(arrays: Sequence[Array]) -> tuple[list[Any], list[Any]]:
                outputs, wanted = subject.call(arrays)
                return [outputs[o] for o in subject.which], wanted

            return setting.rounding_of_call(made, subject.arrays, setting.vectors)

        return [a + b for a, b in zip(of(self.subject), of(self.others[0]))]

    def second_order(self) -> None:
        """Compare second derivatives along random directions.

        The gradients of <v, f(x)> by x and by v have a symmetric Jacobian: its product with d from the left, which backward of
        backward gives, is their derivative along d.  So two evaluations of them check all of its elements.
        """
        subject = self.subject
        starts = subject.split(self.rng.normal(size=subject.base.size))
        which, count = subject.which, len(self.inputs)
        dtypes = [subject.point()[0][o]._array.dtype for o in which]

        def gradients(*args: Any) -> tuple[Any, ...]:
            with enable_grad():
                outputs = tuple_of(self.fn(*args[:count]))
                given = args[count:] or [_runtime.wrap(s.astype(d)) for s, d in zip(starts, dtypes)]
                wanted = [args[i] for i in subject.variables] + list(subject.parameters)
                recorded = [
                    (outputs[o], start) for o, start in zip(which, given) if current_node(outputs[o]) is not None
                ]
                found: Sequence[Any] = [None] * len(wanted)
                if recorded:
                    chosen, vectors = zip(*recorded)
                    found = grad(chosen, wanted, vectors, create_graph=True, allow_unused=True)
            found = [_zeros_like(w) if g is None else g for g, w in zip(found, wanted)]
            places = len(subject.variables)
            by_start = [outputs[o] for o in which] if len(args) > count else []
            return (*found[:places], *by_start, *found[places:])

        vectors = [_runtime.wrap(s.astype(d)) for s, d in zip(starts, dtypes)]
        variables = [*subject.variables, *range(count, count + len(vectors))]
        second = Subject(gradients, [*self.inputs, *vectors], variables, subject.parameters)
        self.others.append(second)
        try:
            second.point()
        except Exception as error:
            self.fail("second_order", f"the gradient cannot be recorded: {type(error).__name__}: {error}")
            return
        for _ in range(1 if self.fast else 3):
            directions = random_directions(second, self.rng)
            try:
                analytic, behaviour, wrong = compared_along(second, directions)
            except Exception as error:
                self.fail("second_order", f"the gradient cannot be differentiated: {type(error).__name__}: {error}")
                return
            if wrong.any() and (self.report.kinks or second.any_huge()) and self.right_beside(second):
                return
            if wrong.any():
                assert behaviour is not None
                points = [changed(second, row, analytic[row], behaviour) for row in map(int, np.flatnonzero(wrong))]
                points.sort(key=lambda p: -severity(p))
                variables = sorted({p.output for p in points})
                picked = analytic[None, wrong], behaviour.value[None, wrong], 2 * behaviour.error[None, wrong]
                self.fail(
                    "second_order",
                    f"the second derivative with respect to {', '.join(map(self.named_second, variables))} along a random "
                    f"direction: {len(points)} of {len(wrong)} entries of the gradient change otherwise than backward of "
                    "backward says (output: the gradient's entry)",
                    points=points[:5],
                    pattern=pattern_of(*picked, (), (int(wrong.sum()),)),
                    blame=self.blamed(blame_second_order, subject, gradients),
                )
                return

    def right_beside(self, second: Subject) -> bool:
        """Whether second derivatives are right next to a kink, where steps do not come to it; or at ordinary sizes."""
        other = moved(second, self.rng)
        self.others.append(other)
        return not compared_along(other, random_directions(other, self.rng))[2].any()


def _zeros_like(tensor: Any) -> Any:
    return _runtime.wrap(np.zeros_like(tensor._array))
