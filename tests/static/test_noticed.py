"""What is noticed while a function is traced: calls that a program would not repeat; and what notes say is another one."""

from __future__ import annotations

import cProfile
import dataclasses
import datetime
import functools
import io
import json
import logging
import os
import pstats
import re
import runpy
import sys
import time
import uuid
import warnings
from pathlib import Path
from typing import Any

import pytest

import minitorch as torch
from minitorch import nn, static

HERE = Path(__file__).name


def helper(x: Any) -> Any:
    print("helped")
    return x


say = functools.partial(print, "said")


def line_of(function: Any) -> str:
    """Where a function has its first line."""
    return f"{HERE}:{function.__code__.co_firstlineno + 1}"


def through_the_stream(x: Any) -> Any:
    sys.stdout.write("")
    return x * 2


def to_the_log(x: Any) -> Any:
    logging.getLogger("test").error("x")
    return x * 2


def with_a_warning(x: Any) -> Any:
    warnings.warn("slow", stacklevel=2)
    return x * 2


def of_the_day(x: Any) -> Any:
    return x * datetime.datetime.now().year


def of_the_directory(x: Any) -> Any:
    return x * len(os.listdir("."))


def of_chance(x: Any) -> Any:
    return x * len(str(uuid.uuid4()))


now = time.perf_counter


def by_another_name(x: Any) -> Any:
    return x + 0 * now()


def into_a_file(x: Any) -> Any:
    with open(os.devnull, "w") as file:
        json.dump([1], file)
    return x * 2


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (through_the_stream, "it prints"),
        (to_the_log, "it writes a log"),
        (with_a_warning, "it warns"),
        (of_the_day, r"it calls datetime\.now\(\)"),
        (of_the_directory, r"it calls os\.listdir\(\)"),
        (of_chance, r"it calls os\.urandom\(\)"),
        (by_another_name, r"it calls time\.perf_counter\(\)"),
        (into_a_file, r"it calls open\(\)"),
    ],
)
@pytest.mark.filterwarnings("ignore:slow")
def test_what_a_program_would_not_do_again(function: Any, said: str) -> None:
    program = static.compile(function, quiet=True)
    for _ in range(4):
        assert program(torch.ones(2)).shape == (2,)
    assert not program.variants
    assert re.match(f"it runs as it is written: {said}.* \\({line_of(function)}\\)$", program.notes[-1])


def test_the_line_is_that_of_the_call_in_a_helper(capsys: pytest.CaptureFixture[str]) -> None:
    program = static.compile(lambda x: helper(x) * 2, quiet=True)
    for _ in range(3):
        program(torch.ones(2))
    assert f"it prints, which a program does not: print outside what it returns ({line_of(helper)})" in program.notes[0]
    assert capsys.readouterr().out == "helped\n" * 3


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (list(map(print, ("said",))), x * 2)[1],
        lambda x: (functools.partial(print, "said")(), x * 2)[1],
        lambda x: (say(), x * 2)[1],
    ],
)
def test_what_is_called_by_c(function: Any, capsys: pytest.CaptureFixture[str]) -> None:
    program = static.compile(function, quiet=True)
    for _ in range(3):
        program(torch.ones(2))
    assert capsys.readouterr().out == "said\n" * 3
    assert not program.variants


def test_what_is_named_and_not_called(capsys: pytest.CaptureFixture[str]) -> None:
    verbose = False

    def function(x: Any) -> Any:
        if verbose:
            print(time.time() > 0)
        return x * 2

    program = static.compile(function, quiet=True)
    for shown in (False, False, True, True, False):
        verbose = shown
        assert program(torch.ones(1)).item() == 2
    assert capsys.readouterr().out == "True\n" * 2
    assert len(program.variants) == 1
    assert program.notes[0] == "verbose is another one: traced anew"
    assert "it calls time.time()" in program.notes[1]


def test_a_module_that_the_first_call_loads(tmp_path: Path) -> None:
    (tmp_path / "scale.py").write_text("import os, time\nSCALE = 3.0 + 0 * time.time() * len(os.listdir('.'))")

    @functools.cache
    def scale() -> float:
        found: float = runpy.run_path(str(tmp_path / "scale.py"))["SCALE"]
        return found

    program = static.compile(lambda x: x * scale(), quiet=True)
    assert [program(torch.ones(1)).item() for _ in range(2)] == [3.0] * 2
    assert (len(program.variants), program.notes) == (1, [])


def test_a_file_that_the_first_call_reads_into_a_cache(tmp_path: Path) -> None:
    (tmp_path / "scale.txt").write_text("3")

    @functools.cache
    def scale() -> float:
        return float((tmp_path / "scale.txt").read_text())

    program = static.compile(lambda x: x * scale(), quiet=True)
    assert [program(torch.ones(1)).item() for _ in range(4)] == [3.0] * 4
    assert len(program.variants) == 1
    assert program.notes == []


def test_what_stays_as_it_is_may_be_called() -> None:
    def function(x: Any) -> Any:
        logging.getLogger("minitorch.test").debug("not shown")
        return x * len(os.path.join("a", json.dumps([1]))) + len(io.StringIO("ab").read())

    program = static.compile(function, quiet=True)
    assert [program(torch.ones(1)).item() for _ in range(3)] == [7.0] * 3
    assert program.notes == []
    assert len(program.variants) == 1


def test_profilers_see_what_they_saw_before() -> None:
    profile = cProfile.Profile()
    profile.enable()
    static.compile(lambda x: x * 2, quiet=True)(torch.ones(1))
    helper_of_the_profiled = sorted([3, 1])
    profile.disable()
    out = io.StringIO()
    pstats.Stats(profile, stream=out).print_stats("sorted")
    assert "sorted" in out.getvalue(), helper_of_the_profiled

    seen: list[str] = []

    def see(frame: Any, event: str, called: Any) -> None:
        seen.append(event)

    before = sys.getprofile()
    sys.setprofile(see)
    try:
        static.compile(lambda x: x * 2, quiet=True)(torch.ones(1))
        assert sys.getprofile() is see
    finally:
        sys.setprofile(before)
    assert "call" in seen


# -- what is another one -----------------------------------------------------------------------------------------------
def choosing(x: Any) -> Any:
    if x.sum() > 0:
        return x * 2
    return x * x.max().item()


def test_the_branch_and_its_line() -> None:
    program = static.compile(choosing, quiet=True)
    for value in (1.0, -1.0, -2.0):
        assert program(torch.tensor([value])).item() == choosing(torch.tensor([value])).item()
    first = choosing.__code__.co_firstlineno
    assert program.notes == [
        f"a branch over a tensor's value, x.sum() > 0 at {HERE}:{first + 1}, goes another way: traced anew",
        f"a tensor's value that becomes Python's by item(), x.max().item() at {HERE}:{first + 3}, is another one: traced anew",
    ]


def test_a_branch_after_which_others_are_called_back() -> None:
    w = torch.ones(1, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.5)

    def step(x: Any) -> Any:
        loss = (w * x).sum() if x.sum() > 0 else (w * x * 3).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    program = static.compile(step, quiet=True)
    for value in (1.0, -1.0, 1.0, -1.0):
        program(torch.tensor([value]))
    assert w.item() == 1 - 0.5 * 2 + 1.5 * 2
    assert len(program.notes) == 1
    assert "a branch over a tensor's value" in program.notes[0]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda box: setattr(box, "factor", 3.0), "box.factor"),
        (lambda box: box.table.append(1.0), "box.table"),
        (lambda box: box.table.__setitem__(0, 5.0), "box.table[0]"),
        (lambda box: setattr(box, "weight", torch.ones(2, 1)), "box.weight"),
    ],
)
def test_the_name_of_what_is_another_one(change: Any, said: str) -> None:
    @dataclasses.dataclass
    class Box:
        factor: float
        table: list[float]
        weight: Any

    box = Box(2.0, [1.0], torch.ones(1))
    function = lambda x: x * box.factor * sum(box.table) * box.weight
    program = static.compile(function, quiet=True)
    program(torch.ones(1))
    change(box)
    assert torch.equal(program(torch.ones(1)), function(torch.ones(1)))
    assert program.notes == [f"{said} is another one: traced anew"]


def test_objects_that_are_new_at_each_call() -> None:
    @dataclasses.dataclass
    class Batch:
        x: Any

    program = static.compile(lambda batch: batch.x * 2, quiet=True)
    for _ in range(2):
        program(Batch(torch.ones(1)))
    assert program.notes == [
        "batch is another Batch: traced anew for each: to have one program, pass its tensors, or a dict of them"
    ]


@pytest.mark.parametrize(
    ("calls", "said"),
    [
        ([torch.ones(2), torch.ones(3)], ["x has shape (3,), and had (2,): traced anew"]),
        ([torch.ones(2), torch.ones(2).double()], ["x has dtype torch.float64, and had torch.float32: traced anew"]),
        ([torch.ones(2, 3), torch.ones(3, 2).t()], ["x has strides (1, 2), and had (3, 1): traced anew"]),
        ([torch.ones(2), torch.ones(2, requires_grad=True)], ["x requires grad, and did not: traced anew"]),
        ([1, 2.0, True, None], [f"x is {n}: traced anew" for n in ("2.0, and was 1", "True, and was 1", "None, and was 1")]),
        ([1, 1.0, torch.ones(1)], ["x is 1.0, and was 1: traced anew", "x is a tensor, and was 1: traced anew"]),
        ([{"a": 1}, {"a": 2}, {"b": 2}], [
            "x['a'] is 2, and was 1: traced anew", "arguments of another number or structure than before: traced anew",
        ]),
        ([torch.relu, abs], ["x is another builtin_function_or_method: traced anew for each: to have one program, pass the "
                             "same one each time"]),
    ],
)  # fmt: skip
def test_in_which_way_an_argument_is_another_one(calls: list[Any], said: list[str]) -> None:
    program = static.compile(lambda x: [x] if isinstance(x, dict) else str(x)[:0], quiet=True)
    for given in calls:
        program(given)
    assert [note for note in program.notes if "as it is written" not in note] == said


def test_what_is_not_seen_in_arguments() -> None:
    program = static.compile(lambda x, y: x.mul_(2) + y, quiet=True)
    whole = torch.ones(4)
    program(torch.ones(2), torch.ones(2))
    program(whole[:2], whole[:2])
    with torch.no_grad():
        program(torch.ones(2), torch.ones(2))
    assert program.notes == [
        "arguments share memory otherwise than before: traced anew",
        "another mode of gradients, or another default dtype, than before: traced anew",
    ]


def test_gradients_and_tensors_that_are_not_as_they_were() -> None:
    w = torch.ones(2, requires_grad=True)

    def function(x: Any) -> Any:
        (w * x).sum().backward()
        return w.grad * 1

    program = static.compile(function, quiet=True)
    assert [program(torch.ones(2)).tolist() for _ in range(3)] == [[n, n] for n in (1.0, 2.0, 3.0)]
    w.grad = None
    program(torch.ones(2))
    w.register_hook(lambda g: g * 2)
    program(torch.ones(2))
    assert program.notes == [
        "the gradient of w is there, and was not: traced anew",
        "w has other hooks than before: traced anew",
    ]

    v = torch.ones(2)
    program = static.compile(lambda x: (x * v).detach(), quiet=True)
    program(torch.ones(2))
    v.requires_grad_()
    program(torch.ones(2))
    v.data = torch.ones(1)
    program(torch.ones(2))
    assert program.notes == [
        "v requires grad, and did not: traced anew",
        "v is float32[1], and was float32[2]: traced anew",
    ]


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda x: x[:1], "a result shares memory with an argument, or with a tensor from outside.*: return a clone"),
        (nn.Linear(2, 2), r"lead back to what requires grad.*compile the whole step, .* or call it under no_grad\(\)"),
    ],
)
def test_what_runs_as_it_is_written_at_each_call_is_said_once(
    function: Any, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    program = static.compile(function)
    for size in (2, 2, 3, 3):
        program(torch.ones(size, 2))
    assert len([note for note in program.notes if "as it is written" in note]) == 1
    assert re.search(said, capsys.readouterr().out)


def test_the_same_note_is_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    program = static.compile(lambda x, n: x * n)
    for n in range(5):
        program(torch.ones(2), n)
    assert capsys.readouterr().out == "<lambda>: n is 1, and was 0: traced anew\n"
    assert len(program.notes) == 4


def test_an_argument_is_not_told_to_become_one() -> None:
    def function(x: Any, seen: list[int]) -> Any:
        seen.append(1)
        return x * 2

    class Seen:
        count = 0

    def counts(x: Any, seen: Seen) -> Any:
        seen.count += 1
        return x * 2

    program = static.compile(counts, quiet=True)
    seen = Seen()
    for _ in range(3):
        program(torch.ones(1), seen)
    assert seen.count == 3
    assert program.notes[-1].endswith("which is no write into a tensor: return what it becomes")


# -- what is compiled --------------------------------------------------------------------------------------------------
def test_a_compiled_method_takes_its_object() -> None:
    class Scaled(nn.Module):
        def __init__(self, scale: float) -> None:
            super().__init__()
            self.scale = scale

        @static.compile(quiet=True)
        def forward(self, x: Any) -> Any:
            return x * self.scale

    two, three = Scaled(2.0), Scaled(3.0)
    for _ in range(3):
        assert (two(torch.ones(1)).item(), three(torch.ones(1)).item()) == (2.0, 3.0)
    assert isinstance(Scaled.forward, static.Traced)
    assert len(Scaled.forward.variants) == 2


def test_a_compiled_module_in_a_class_is_not_bound() -> None:
    class Model:
        double = static.compile(nn.Identity(), quiet=True)

    assert torch.equal(Model().double(torch.ones(1)), torch.ones(1))


def test_the_decorator_with_options() -> None:
    @static.compile(quiet=True, passes=["reuse"])
    def function(x: Any) -> Any:
        """Doubles."""
        return x * 2

    assert function(torch.ones(1)).item() == 2
    assert (function.__name__, function.__doc__, function.passes) == ("function", "Doubles.", ("reuse",))


def test_examples_by_keyword() -> None:
    def function(x: Any, *, scale: float, passed: Any = None) -> Any:
        return x * scale

    program = static.trace(function, torch.ones(1), scale=2.0)
    assert len(program.variants) == 1
    assert program(torch.ones(1), scale=2.0).item() == 2
    assert program.notes == []


def test_gradients_of_gradients() -> None:
    cubed = static.compile(lambda x, y: x**3 * y, quiet=True)
    x, y = torch.tensor(2.0, requires_grad=True), torch.tensor(5.0, requires_grad=True)
    first, second = cubed.gradients(), cubed.gradients().gradients()
    for _ in range(2):
        assert [g.item() for g in first(x, y)] == [60.0, 8.0]
        assert [g.item() for g in second(x, y)] == [60.0 + 12.0, 12.0]
        assert not any([g.requires_grad for g in second(x, y)])
    assert [g.item() for g in second.gradients()(x, y)] == [30.0 + 12.0 + 12.0, 12.0]
    (none,) = static.compile(lambda x: x * 3, quiet=True).gradients().gradients()(x)
    assert none is None


@pytest.mark.parametrize("call", [static.compile, static.trace, static.Traced])
@pytest.mark.parametrize("value", [torch.ones(3), 3, "f"])
def test_what_cannot_be_compiled(call: Any, value: Any) -> None:
    with pytest.raises(TypeError, match=f"a function or a model is compiled or traced, not {type(value).__name__}"):
        call(value)


@pytest.mark.parametrize(
    ("passes", "kind", "said"),
    [
        ("fuse", TypeError, r"must be a list of names, such as passes=\['fuse'\], not str"),
        (None, TypeError, "must be a list of names, .* not NoneType"),
        (["fus"], ValueError, "none called 'fus'; the nearest that there is: fuse"),
        ([3], ValueError, "none called 3; there are 'guards first', "),
    ],
)
@pytest.mark.parametrize(
    "call",
    [
        lambda p: static.compile(abs, passes=p),
        lambda p: static.compile(passes=p),
        lambda p: static.trace(abs, passes=p),
    ],
)
def test_passes_are_looked_at_where_they_are_given(passes: Any, kind: Any, said: str, call: Any) -> None:
    with pytest.raises(kind, match=said):
        call(passes)


@pytest.mark.parametrize("ask", [torch.initial_seed, torch.seed])
def test_the_seed_is_asked_for_at_each_call(ask: Any) -> None:
    program = static.compile(lambda x: x + ask() % 1000, quiet=True)
    for seed in range(3):
        torch.manual_seed(seed)
        found = program(torch.zeros(1)).item()
        assert found == torch.initial_seed() % 1000
    assert "it asks a generator for its seed" in program.notes[0]


def test_seeds_and_states_may_be_set() -> None:
    def function(x: Any) -> Any:
        torch.manual_seed(3)
        state = torch.get_rng_state()
        first = torch.rand(2)
        torch.set_rng_state(state)
        return x + first - torch.rand(2) * 2

    program = static.compile(function, quiet=True)
    assert all([torch.equal(program(torch.zeros(2)), function(torch.zeros(2))) for _ in range(3)])
    assert program.notes == []


@pytest.mark.parametrize("call", [lambda x, y: x - y, lambda x, y: y - x, lambda x, y: torch.rsub(x, y)])
def test_differences_of_several_dtypes(call: Any) -> None:
    program = static.compile(call, quiet=True)
    x, y = torch.tensor([0.1, 2.0]), torch.tensor([0.3, 1.0], dtype=torch.float64)
    for other in (y, y, torch.tensor([1, 2])):
        found, expected = program(x, other), call(x, other)
        assert found.dtype == expected.dtype
        assert torch.equal(found, expected)
    assert len(program.variants) == 2


def test_a_tensor_that_is_set_anew_is_to_be_written_into() -> None:
    class Summed(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("seen", torch.zeros(2))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.seen = self.seen + x
            return self.seen * 2

    model = static.compile(Summed())
    for n in range(3):
        assert model(torch.ones(2)).tolist() == [2.0 + 2 * n] * 2
    assert model.notes[-1].endswith(
        "a call sets self.seen to another tensor: write into the one that is there, with copy_() or the like"
    )
