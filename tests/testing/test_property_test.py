"""``testing.property_test``: what passes, what fails, and the test that a failure ends with."""

from __future__ import annotations

import copy
import dataclasses
import functools
import importlib
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch as torch
from minitorch.testing import GradientError, PropertyError, _fresh, check_gradients, property_test, strategies
from minitorch.testing.strategies import tensors

F = torch.nn.functional
F64 = torch.float64


@pytest.fixture(autouse=True)
def _derandomised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "1")
    monkeypatch.setattr(_fresh, "asked", False)


class Cube(torch.autograd.Function):
    """x**3, with a gradient that is two thirds of what it should be."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * 2 * x**2


def failing(fn: Any, *arguments: Any, **options: Any) -> PropertyError:
    with pytest.raises(PropertyError) as error:
        property_test(fn, *arguments, **options)
    return error.value


def run(test: str) -> GradientError:
    """Run a pasted test; the error it raises."""
    namespace: dict[str, Any] = {"__name__": "pasted"}
    exec(compile(test, "pasted", "exec", dont_inherit=True), namespace)
    (function,) = [v for n, v in namespace.items() if n.startswith("test_")]
    with pytest.raises(GradientError) as error:
        function()
    return error.value


RIGHT: dict[str, tuple[Any, ...]] = {
    "elementwise": (torch.sin, tensors(shape=(2, 3))),
    "any shape": (lambda x: (x * x).sum(), tensors()),
    "kinks": (torch.relu, tensors(shape=(3,), elements="near_kinks")),
    "ties": (lambda x: x.amax(0), tensors(shape=(3, 2), elements="ties")),
    "broadcasting": (torch.mul, strategies.arguments(strategies.broadcastable_shapes(2))),
    "matmul": (torch.matmul, strategies.arguments(strategies.matmul_shapes())),
    "named sizes": (torch.matmul, tensors(shape=("n", "k")), tensors(shape=("k", 2))),
    "convolution": (F.conv1d, strategies.conv_args(1)),
    "network": (lambda m, x: m(x), strategies.modules("n"), tensors(shape=(2, "n"))),
    "dimension": (torch.softmax, tensors(shape=(2, 3)), strategies.dims(2)),
    "index": (lambda x, i: x[i], tensors(shape=(2, 3)), strategies.indices((2, 3))),
    "module": (torch.nn.Linear(3, 2), tensors(shape=(2, 3))),
    "constants": (torch.pow, tensors(shape=(2,), elements=st.floats(0.5, 3)), 3),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_gradients_pass(name: str) -> None:
    report = property_test(*RIGHT[name], max_examples=8)
    assert report.draws == 8
    assert report.evaluations >= 8 * 4
    assert str(report).startswith("gradients of ")
    assert " are right in 8 draws (" in str(report)


def test_what_is_reported_of_kinks() -> None:
    report = property_test(torch.abs, tensors(shape=(3,), elements=st.just(0.0)), max_examples=3)
    assert "entries at kinks" in str(report)


def test_a_failure_ends_with_a_test() -> None:
    error = failing(lambda x: Cube.apply(x) + 1, tensors(shape=(2,)))
    text = str(error)
    assert text.startswith("gradients of <lambda> are wrong")
    assert "to blame: CubeBackward, called at File" in text
    assert __file__ in text
    assert "shrunk; this test shows it:\n\nimport minitorch as torch\n" in text
    assert "check_gradients(fn, torch.tensor([0.0, 1.0], dtype=torch.float64))" in text
    assert text.endswith(error.test)
    assert error.inputs[0].tolist() == [0.0, 1.0]
    assert run(error.test).report.failures[0].blame.name == "CubeBackward"
    assert (copy.copy(error).test, str(copy.copy(error))) == (error.test, text)


def test_a_pasted_test_runs_by_itself(tmp_path: Path) -> None:
    def twice(x: Any, *, by: float = 2.0) -> Any:
        return SCALE * Cube.apply(x) * by

    error = failing(lambda x, i: twice(x)[i], tensors(shape=(2,)), strategies.indices((2,)), order=2, skip=("cycles",))
    assert "order=2" in error.test
    assert 'skip=("cycles",)' in error.test
    pasted = tmp_path / "test_pasted.py"
    pasted.write_text(f"{error.test.replace(f'from {__name__} import', 'from test_property_test import')}")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib", str(pasted)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "CubeBackward" in done.stdout


SCALE = 0.5
WEIGHT = torch.tensor([1.0, -2.0])


class Layer(torch.nn.Module):
    """A layer with a wrong gradient."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor([0.5, 2.0]))

    def forward(self, x: Any) -> Any:
        return Cube.apply(x * self.weight)


def with_defaults(x: Any) -> Any:
    return x * x.detach() + WEIGHT.sum() * torch.nn.functional.relu(x)


NESTED = [lambda x: Cube.apply(x), lambda x: x.cos().detach() * x]  # two in a line

WRONG: dict[str, tuple[Any, ...]] = {
    "a function of this module": (with_defaults, tensors(shape=(2,))),
    "apply": (Cube.apply, tensors(shape=(2,))),
    "a module": (Layer(), tensors(shape=(2,), dtype=torch.float32)),
    "a method": (Layer().forward, tensors(shape=(2,), dtype=torch.float32)),
    "a drawn network": (lambda m, x: Cube.apply(m(x)), strategies.modules("n"), tensors(shape=(2, "n"))),
    "the first of two lambdas": (NESTED[0], tensors(shape=(2,))),
    "the second of two lambdas": (NESTED[1], tensors(shape=(2,))),
    "arguments": (lambda *args: F.conv1d(*args).detach() * args[0].sum(), strategies.conv_args(1)),
    "a network of layers": (
        torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Tanh()),
        tensors(shape=(1, 2), dtype=torch.float32),
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_the_test_reproduces_the_failure(name: str) -> None:
    fn, *arguments = WRONG[name]
    options = {"reference": lambda x: x * 2} if name == "a network of layers" else {}
    error = failing(fn, *arguments, max_examples=20, **options)
    assert run(error.test).report.failures[0].check == error.report.failures[0].check


def test_local_functions_are_written_out() -> None:
    scale, shift = 3.0, torch.tensor([1.0, 2.0])

    class Local(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * scale

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * -scale

    def local(scale: Any) -> Any:
        return Local.apply(scale) + shift.to(scale.dtype)

    error = failing(local, tensors(shape=(2,)))
    assert "class Local(torch.autograd.Function):" in error.test
    assert "scale = 3.0" in error.test
    assert "\n\n\n\n" not in error.test
    assert run(error.test).report.failures[0].pattern == error.report.failures[0].pattern


@dataclasses.dataclass(frozen=True)
class Settings:
    scale: float

    def doubled(self) -> float:
        return 2 * self.scale


class Called:
    """An object that is called, with attributes of several kinds, itself among them."""

    def __init__(self, settings: Settings) -> None:
        self.settings, self.weight, self.act = settings, torch.tensor([1.0, 2.0]), torch.relu
        self.table, self.me = np.array([1.0, np.inf]), self

    def __call__(self, x: Any) -> Any:
        return self.act(x.detach()) * x * self.settings.doubled() + self.weight.sum()

    def method(self, x: Any) -> Any:
        return self(x)


class Slotted:
    __slots__ = ("factor",)

    def __init__(self, factor: float) -> None:
        self.factor = factor

    def __call__(self, x: Any) -> Any:
        return x.detach() * x * self.factor


SLOTTED = Slotted(2.0)


class Parts(torch.nn.Module):
    """A network whose constructor takes what is not known later."""

    def __init__(self, size: int, act: Any) -> None:
        super().__init__()
        self.act, self.first = act, torch.nn.Linear(size, 2)
        self.more = torch.nn.ModuleList([torch.nn.Tanh(), torch.nn.Linear(2, 2)])
        self.scale = torch.nn.Parameter(torch.ones(2))
        self.register_buffer("shift", torch.ones(2))

    def forward(self, x: Any) -> Any:
        return self.act(self.more[1](self.first(x))) * self.scale * x.detach().sum() + self.shift


OBJECTS: dict[str, tuple[Any, ...]] = {
    "an object": (Called(Settings(2.0)), tensors(shape=(2,), elements="away_from_kinks")),
    "its method": (Called(Settings(2.0)).method, tensors(shape=(2,), elements="away_from_kinks")),
    "a partial of it": (
        functools.partial(Called(Settings(2.0)).method),
        tensors(shape=(2,), elements="away_from_kinks"),
    ),
    "slots": (Slotted(3.0), tensors(shape=(2,))),
    "an argument": (lambda x, s: x.detach() * x * s.scale, tensors(shape=(2,)), Settings(4.0)),
    "a default": (lambda x, given=SLOTTED: given(x), tensors(shape=(2,))),
    "a module by its parts": (Parts(3, torch.sin), tensors(shape=(1, 3), dtype=torch.float32)),
    "its forward": (Parts(3, lambda x: x.cos()).eval().forward, tensors(shape=(1, 3), dtype=torch.float32)),
}


@pytest.mark.parametrize("name", OBJECTS)
@pytest.mark.parametrize("imported", [True, False])
def test_objects_are_written_with_their_state(name: str, imported: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    fn, *arguments = OBJECTS[name]
    if not imported:  # as what is typed into a notebook
        for kind in (Settings, Called, Slotted, Parts):
            monkeypatch.setattr(kind, "__module__", "__main__")
    error = failing(fn, *arguments, max_examples=20)
    assert "to be filled in" not in error.test
    assert (f"from {__name__} import" in error.test) == imported
    assert run(error.test).report.failures[0].check == "values"


def test_what_cannot_be_written_is_said() -> None:
    class Opaque:
        def __init__(self) -> None:
            self.lock = threading.Lock()

        def __call__(self, x: Any) -> Any:
            with self.lock:
                return x * x.detach()

    test = failing(Opaque(), tensors(shape=(2,))).test
    assert "# fn.lock = ...  # to be filled in: lock" in test
    compile(test, "test", "exec")
    test = failing(lambda x, lock: x * x.detach(), tensors(shape=(2,)), threading.Lock()).test
    assert "# input_1 = ...  # to be filled in: lock" in test
    compile(test, "test", "exec")


OWN = torch.tensor([1.0, 2.0], dtype=F64, requires_grad=True)


def with_its_own(x: Any) -> Any:
    return x * OWN * OWN.detach()


def test_parameters_are_written_by_name() -> None:
    local = torch.tensor([1.0, 2.0], dtype=F64, requires_grad=True)
    for fn, own in ((lambda x: x * local * local.detach(), local), (with_its_own, OWN)):
        test = failing(fn, tensors(shape=(2,), dtype=F64), parameters=[own]).test
        assert f"parameters=[{'local' if own is local else 'OWN'}]" in test
        assert run(test).report.failures[0].check == "values"
    hidden = torch.ones(2, dtype=F64, requires_grad=True)
    test = failing(with_its_own, tensors(shape=(2,), dtype=F64), parameters=[OWN, hidden]).test
    assert "# parameters = [...]  # to be filled in" in test
    compile(test, "test", "exec")


REMEMBERED = """
import minitorch as torch

class Remembered(torch.autograd.Function):
    first = None

    @staticmethod
    def forward(ctx, x):
        Remembered.first = x.detach().clone() if Remembered.first is None else Remembered.first
        return x.sin()

    @staticmethod
    def backward(ctx, g):
        return g * Remembered.first.cos()
"""


def test_failures_that_depend_on_earlier_calls_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_fresh, "asked", True)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "module_with_a_memory.py").write_text(REMEMBERED)
    function = importlib.import_module("module_with_a_memory").Remembered
    function.first = torch.tensor(3.0, dtype=F64)
    points = tensors(shape=(), dtype=F64, elements=st.just(0.5))
    error = failing(function.apply, points, skip=("linearity",), max_examples=2)
    assert "Run by itself, in a new process, the test below passes" in str(error)
    always = failing(lambda x: x * x.detach(), points, max_examples=2)
    assert "Run by itself" not in str(always)


def test_given() -> None:
    @settings(max_examples=30, derandomize=True, database=None)
    @given(tensors(shape=(2,)))
    def checks(x: Any) -> None:
        check_gradients(Cube.apply, x)

    with pytest.raises(GradientError, match="scaled by a constant") as error:
        checks()
    assert "x=torch.tensor([0.0, 1.0], dtype=torch.float64)" in "\n".join(error.value.__notes__)


def test_runs_repeat(monkeypatch: pytest.MonkeyPatch) -> None:
    def drawn(**options: Any) -> list[Any]:
        seen: list[Any] = []

        def fn(x: Any) -> Any:
            seen.append(x.tolist())
            return x.sin()

        property_test(fn, tensors(shape=(2,)), max_examples=3, skip=("determinism",), **options)
        return seen

    assert drawn() == drawn()
    monkeypatch.delenv("CI")
    assert drawn(seed=3) == drawn(seed=3) != drawn(seed=4)
    assert drawn(derandomize=True) == drawn(derandomize=True)


# -- functions that cannot be tested -----------------------------------------------------------------------------------
def positive(x: Any) -> Any:
    if bool((x <= 0).any()):
        raise ValueError("only positive numbers")
    return x.log()


def test_functions_that_raise_for_some_draws() -> None:
    error = failing(positive, tensors(shape=(2,)))
    assert "[call] positive raised ValueError: only positive numbers. Where that means" in str(error)
    assert "or pass allow=ValueError" in str(error)
    assert isinstance(error.__cause__, ValueError)
    with pytest.raises(ValueError, match="only positive"):
        exec(f"{error.test}\ntest_gradients_of_positive()", {})
    report = property_test(positive, tensors(shape=(2,)), allow=ValueError)
    assert report.outside > 0 < report.draws
    assert "draws outside the function's domain" in str(report)
    property_test(positive, tensors(shape=(2,), elements=st.floats(0.1, 3)), max_examples=5)


def test_functions_of_other_arguments() -> None:
    error = failing(lambda x, y: x * y, tensors(shape=(2,)))
    assert "cannot be called with these inputs: " in str(error)
    assert "Give one strategy, or shape, for each of its arguments" in str(error)


def test_functions_that_raise_for_all_draws() -> None:
    with pytest.raises(ValueError, match="only positive") as error:
        property_test(positive, tensors(shape=(2,), elements=st.floats(-3, -1)), allow=ValueError, max_examples=5)
    assert "so did positive for each of the 5 draws" in error.value.__notes__[-1]


def test_functions_without_values_for_some_draws() -> None:
    error = failing(torch.sqrt, tensors(shape=(1,), dtype=F64))
    assert error.inputs[0].tolist() == [-1.0]
    assert "no output is finite here" in str(error)
    assert 'draw others: tensors(elements="0.1:4"); from the shell, --elements 0.1:4\nFound at draw' in str(error)


def test_random_functions() -> None:
    assert "the function is random" in str(failing(lambda x: x * torch.rand(2), tensors(shape=(2,))))


def test_functions_with_a_memory() -> None:
    calls = []

    def once(x: Any) -> Any:
        calls.append(x)
        if len(calls) == 1:
            raise ValueError("the first time")
        return x.sin()

    assert "did not fail when they were checked again" in str(failing(once, tensors(shape=(2,))))


@pytest.mark.parametrize(
    ("options", "kind"), [({"order": 3}, ValueError), ({"kinks": "no"}, ValueError), ({"skip": "values"}, TypeError)]
)
def test_mistakes_in_options(options: Any, kind: Any) -> None:
    with pytest.raises(kind, match=r"property_test\(\): (order|kinks|skip) must be"):
        property_test(torch.sin, tensors(), **options)


def test_what_is_no_function() -> None:
    with pytest.raises(TypeError, match="fn must be a function or a Module, not 3"):
        property_test(3, tensors())


def test_another_domain_is_proposed_only_where_no_value_is_finite() -> None:
    for fn, proposed in ((lambda x: None, False), (lambda x: x.argmax(), False), (lambda x: x * float("nan"), True)):
        with pytest.raises(AssertionError, match="cannot be checked") as error:
            property_test(fn, tensors(shape=(2,)), max_examples=3)
        assert ("draw others" in str(error.value)) == proposed


def test_draws_with_nothing_to_compare_are_counted() -> None:
    report = property_test(torch.sin, tensors(shape=(0,)), max_examples=5)
    assert report.vacuous == report.draws
    assert f"nothing but zeros compared in {report.draws} draws" in str(report)
    assert "nothing but zeros" not in str(property_test(torch.sin, tensors(shape=(2,)), max_examples=5))


@pytest.mark.parametrize("limits", [{"time_limit": -1}, {"max_examples": 0}, {"max_examples": -5}])
def test_no_draws_at_all_are_refused(limits: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"must not be negative|must be a positive"):
        property_test(torch.sin, tensors(), **limits)


def test_containers_of_functions_and_partials_are_written_out() -> None:
    own = {"relu": torch.relu, "cut": [lambda x: x.detach(), 2.0]}

    def scaled(a: float, x: torch.Tensor, power: int = 1) -> torch.Tensor:
        return own["cut"][0](own["relu"](x)) * x**power * a * own["cut"][1]

    for fn in (functools.partial(scaled, 3.0, power=1), lambda x: scaled(1.0, x)):
        with pytest.raises(PropertyError) as error:
            property_test(fn, tensors(shape=(1,), dtype=torch.float64), seed=0)
        namespace: dict[str, Any] = {}
        exec(error.value.test, namespace)
        (test,) = [v for n, v in namespace.items() if n.startswith("test_")]
        with pytest.raises(AssertionError, match="cuts the path"):
            test()


def test_containers_of_what_cannot_be_written_are_to_be_filled_in() -> None:
    held = {"lock": threading.Lock()}

    def cut(x: torch.Tensor) -> torch.Tensor:
        return x.detach() * x * len(held)

    with pytest.raises(PropertyError) as error:
        property_test(cut, tensors(shape=(1,)), seed=0)
    assert "# held = ...  # to be filled in: dict" in error.value.test
    compile(error.value.test, "test", "exec")
