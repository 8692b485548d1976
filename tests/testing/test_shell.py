"""``python -m minitorch.testing``: what it prints, and its exit status."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from minitorch.testing import _fresh
from minitorch.testing.__main__ import main

MODULE = """
import minitorch as torch

def good(x, w):
    return (x @ w).sin()

def bad(x, w):
    return (x @ w.detach()).tanh()

class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]

class Net(torch.nn.Module):
    def __init__(self, inputs, hidden=2):
        super().__init__()
        self.first = torch.nn.Linear(inputs, hidden)

    def forward(self, x):
        return self.first(x).relu()

class Wrong(torch.nn.Module):
    def __init__(self, inputs=2):
        super().__init__()
        self.first = torch.nn.Linear(inputs, 1)

    def forward(self, x):
        return Square.apply(self.first(x))

model = Net(3)
number = 3

def nothing(x):
    pass

def indices(x):
    return x.argmax()

def detached(x):
    return x.detach() * 2

def positive_part(x):
    return x[x > 0]

def noisy(x):
    return x * torch.rand_like(x)

def writes(x):
    return x.add_(1)

def writes_unseen(x):
    x.data.mul_(2)
    return x * 3

def log(x):
    if (x <= 0).any():
        raise ValueError("only positive numbers")
    return x.log()

def slow(x):
    import time
    time.sleep(0.2)
    return (x * x + x).sum()
"""


@pytest.fixture(autouse=True)
def _package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "shell_package"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "functions.py").write_text(MODULE)
    (package / "broken.py").write_text("1 / 0")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("CI", "1")
    monkeypatch.setattr(_fresh, "asked", False)
    for name in [n for n in sys.modules if n.startswith("shell_package")]:
        del sys.modules[name]


def call(function: str, shapes: str, *options: str) -> int:
    return main([f"shell_package.{function}", "--shapes", shapes, "--examples", "10", *options])


@pytest.mark.parametrize(
    ("function", "shapes", "options"),
    [
        ("functions:good", "(3,4),(4,)", ["--order", "2", "--dtype", "float64", "--skip", "cycles"]),
        (
            "functions:good",
            "(n, k), (k, 2)",
            ["--elements", "ordinary", "--seed", "3", "--kinks", "reference", "--fast"],
        ),
        ("functions:good", "(3,),(3,)", ["--reference", "shell_package.functions:good", "--time-limit", "20"]),
        ("functions:Net(3, hidden=4)", "(2,3)", ["--dtype", "float32"]),
        ("functions:model", "(3,)", []),
        ("functions:log", "(3,)", ["--elements", "0.1:10"]),
        ("functions:log", "(1,)", ["--allow", "ValueError", "--seed", "1"]),
    ],
    ids=str,
)
def test_right_gradients(function: str, shapes: str, options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert call(function, shapes, *options) == 0
    out, err = capsys.readouterr()
    assert re.search("are right in ([1-9]|10) draws", out)
    assert re.match("([1-9]|10) of 10 draws, ", err)
    assert ("10 draws" in out) == ("--allow" not in options)


@pytest.mark.parametrize(
    ("function", "shapes", "blamed"),
    [
        ("functions:bad", "(n,4),(4,)", "to blame: detach(), called at File"),
        ("functions:Square", "(2,)", "to blame: SquareBackward"),
        ("functions:Wrong", "(2,2)", "to blame: SquareBackward"),
        ("functions:Wrong(3)", "(2,3)", "to blame: SquareBackward"),
    ],
)
def test_wrong_gradients(function: str, shapes: str, blamed: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(function, shapes) == 1
    out, _ = capsys.readouterr()
    assert blamed in out
    namespace: dict[str, object] = {}
    exec(out.partition("this test shows it:\n")[2], namespace)
    (test,) = [v for n, v in namespace.items() if n.startswith("test_")]
    with pytest.raises(AssertionError, match=r"gradients of [\w.]+ are wrong"):
        test()


@pytest.mark.parametrize(
    ("function", "what", "remedy"),
    [
        ("nothing", "the function must return tensors, but output 0 is None", "was a return forgotten?"),
        ("indices", "the function returns torch.int64, which has no gradient", "return values of floats"),
        ("detached", "zero: the gradient is zero everywhere", "to blame: detach(), called at"),
        ("positive_part", "The shape depends on the values", "pad, or sum what it returns"),
        ("noisy", "the function is random", "Draw random numbers outside and pass them in"),
        ("writes", "the function writes into its input", "clone it first"),
        ("writes_unseen", "to blame: mul_(), called at", "it writes into an argument; clone that first"),
        ("log", "log raised ValueError: only positive numbers", "draw others"),
        ("slow", "finite differences would take too long", "Pass fast=True"),
    ],
)
def test_what_cannot_be_tested(function: str, what: str, remedy: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(f"functions:{function}", "(3,)", "--time-limit", "1" if function == "slow" else "60") == 1
    out, _ = capsys.readouterr()
    assert what in out
    assert remedy in out
    assert "this test shows it:" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "arguments are required"),
        (["shell_package.functions:good"], "--shapes"),
        (["shell_package.functions", "--shapes", "()"], "is not package.module:function"),
        (["shell_package.functions:goood", "--shapes", "()"], "has no attribute 'goood'"),
        (["shell_package.functions:number", "--shapes", "()"], "is no function: 3"),
        (["shell_package.functions:Net", "--shapes", "()"], "give the arguments: shell_package.functions:Net(...)"),
        (["shell_package.functions:Net(x)", "--shapes", "()"], "are not literals"),
        (["shell_package.nothing:f", "--shapes", "()"], "No module named"),
        (["shell_package.broken:f", "--shapes", "()"], "ZeroDivisionError"),
        (["shell_package.functions:good", "--shapes", "(3"], 'shapes are written "(3,4),(4,)", not'),
        (["shell_package.functions:good", "--shapes", "3,4"], 'shapes are written "(3,4),(4,)", not'),
        (["shell_package.functions:good", "--shapes", "()", "--dtype", "int64"], "invalid choice"),
        (["shell_package.functions:good", "--shapes", "()", "--elements", "nice"], "there are no elements 'nice'"),
        (
            ["shell_package.functions:log", "--shapes", "()", "--elements", "1:x"],
            'is written "low:high", such as "0.1:10"',
        ),
        (
            ["shell_package.functions:log", "--shapes", "()", "--elements", "2:1"],
            'is written "low:high", such as "0.1:10"',
        ),
        (["shell_package.functions:log", "--shapes", "()", "--allow", "Valu"], "has no attribute 'Valu'"),
        (["shell_package.functions:log", "--shapes", "()", "--allow", "sum"], "--allow: sum is no exception"),
        (["shell_package.functions:good", "--shapes", "()", "--skip", "nothing"], "there are no checks"),
        (["shell_package.functions:good", "--shapes", "()"], "--shapes has 1 shapes, one for each input"),
        (["shell_package.functions:good", "--shapes", ""], "--shapes has 0 shapes, one for each input"),
        (["shell_package.functions:slow", "--shapes", "()", "--examples", "0"], "must be a positive int, not 0"),
        (["shell_package.functions:slow", "--shapes", "()", "--examples", "-5"], "must be a positive int, not -5"),
        (
            ["shell_package.functions:slow", "--shapes", "()", "--time-limit", "-1"],
            "time_limit must not be negative, but is -1",
        ),
    ],
    ids=str,
)
def test_bad_usage(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit:
        main(arguments)
    assert exit.value.code == 2
    assert message in capsys.readouterr().err


def test_as_a_program(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "minitorch.testing", "shell_package.functions:bad", "--shapes", "(2,),(2,)"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 1
    assert "to blame: detach()" in done.stdout
    assert done.stderr.endswith("evaluations\n")


def test_no_line_is_named_where_the_shell_called(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "minitorch.testing", "shell_package.functions:Square", "--shapes", "(2,)"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 1
    assert "gradients of Square.apply are wrong" in done.stdout
    assert "to blame: SquareBackward: its own gradient" in done.stdout
    assert "frozen" not in done.stdout
    assert " 0 evaluations" not in done.stderr


def test_modules_that_import_torch(tmp_path: Path) -> None:
    (tmp_path / "shell_package" / "plain.py").write_text("import torch\n\ndef double(x):\n    return torch.mul(x, 2)\n")
    done = subprocess.run(
        [sys.executable, "-m", "minitorch", "-m", "minitorch.testing"]
        + ["shell_package.plain:double", "--shapes", "(n,)", "--examples", "3"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr
    assert "gradients of double are right in 3 draws" in done.stdout
