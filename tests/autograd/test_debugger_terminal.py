"""``python -m minitorch.debug`` at a terminal: a real session through a pseudo-terminal, and the one that the docs show."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import minitorch

pytest.importorskip("pty")
readline = pytest.importorskip("readline")

SOURCE = Path(minitorch.__file__).parents[1]
TUTORIALS = Path(__file__).parents[2] / "docs" / "tutorials"
PROMPT = "(backward) "
MARKS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x07")

SCRIPT = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(3, 4), nn.Linear(4, 2)

    def forward(self, x):
        h = torch.relu(self.fc1(x))
        return self.fc2(h)

torch.manual_seed(0)
model = Net()
for epoch in range(2):
    loss = model(torch.ones(5, 3)).square().sum()
    try:
        loss.backward()
    finally:
        print("grad is", None if model.fc1.weight.grad is None else "there")
"""


def heed_interrupts() -> None:
    """Have Ctrl-C interrupt, also where the tests run in the background."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Terminal:
    """A process at a pseudo-terminal of 80 columns."""

    def __init__(self, *arguments: str, cwd: Path, term: str = "dumb") -> None:
        import fcntl
        import pty
        import struct
        import termios

        self.side, other = pty.openpty()
        fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        environment = {**os.environ, "PYTHONPATH": str(SOURCE), "TERM": term, "INPUTRC": "/dev/null"}
        for name in ("COLUMNS", "LINES", "NO_COLOR"):
            environment.pop(name, None)
        command = [sys.executable, "-m", *arguments]
        files = {"stdin": other, "stdout": other, "stderr": other}
        session = {"start_new_session": True, "preexec_fn": heed_interrupts}
        self.process = subprocess.Popen(command, cwd=cwd, env=environment, **session, **files)
        os.close(other)

    def until(self, end: str | None) -> str:
        """What is shown up to *end*, or to the end of all."""
        shown, deadline = "", time.monotonic() + 120
        while end is None or not shown.endswith(end):
            ready, _, _ = select.select([self.side], [], [], deadline - time.monotonic())
            assert ready, f"waited for {end!r} after {shown!r}"
            try:
                piece = os.read(self.side, 4096)
            except OSError:  # Linux says so when the other side is closed
                piece = b""
            if not piece:
                assert end is None, f"ended before {end!r}, after {shown!r}"
                break
            shown += piece.decode()
        return shown.replace("\r\n", "\n")

    def type(self, text: str) -> None:
        os.write(self.side, text.encode())

    def say(self, command: str) -> str:
        """Type a command; what is shown for it, without its echo."""
        self.type(f"{command}\n")
        shown = self.until(PROMPT)
        return shown.partition("\n")[2].removesuffix(PROMPT)

    def interrupt(self) -> None:
        """Send Ctrl-C until it is answered: one that comes between prompt and read is kept by Python until the next."""
        for _ in range(10):
            self.process.send_signal(signal.SIGINT)
            if select.select([self.side], [], [], 10)[0]:
                break

    def ends(self) -> str:
        shown = self.until(None)
        self.process.wait(60)
        return shown


@pytest.fixture
def at_terminal() -> Iterator[Any]:
    """Starts Python with such arguments at a terminal."""
    terminals: list[Terminal] = []

    def start(*arguments: str, **options: Any) -> Terminal:
        terminals.append(Terminal(*arguments, **options))
        return terminals[-1]

    yield start
    for terminal in terminals:
        terminal.process.kill()
        terminal.process.wait(60)
        os.close(terminal.side)


@pytest.fixture
def script(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text(SCRIPT)
    return tmp_path


def test_a_session(script: Path, at_terminal: Any) -> None:
    terminal = at_terminal("minitorch.debug", "train.py", cwd=script)
    shown = terminal.until(PROMPT)
    assert "backward at train.py:19: loss.backward()\n-> #4 SumBackward0  ()\n" in shown
    assert "\x1b" not in shown
    assert "-> #1 ReluBackward0  (5, 4)  in Net\n  train.py:11  h = torch.relu(self.fc1(x))\n" in terminal.say(
        "until relu"
    )
    shown = terminal.say("grad")
    assert shown.startswith("in  (5, 4) float32  ")
    assert "out 0 to #0 AddmmBackward0  (5, 4) float32  " in shown
    assert terminal.say("saved").startswith("result  (5, 4) float32  0 to ")
    assert "train.py:11 in forward\n          h = torch.relu(self.fc1(x))\n              ^^^^" in terminal.say("where")
    assert terminal.say("up").startswith(">> #2 AddmmBackward0  (5, 2)  in fc2\n")
    assert "├─ fc2.bias  leaf (2,)\n" in terminal.say("tree")
    terminal.interrupt()
    assert "--KeyboardInterrupt--" in terminal.until(PROMPT)
    terminal.type("quit\n")
    shown = terminal.ends()
    assert "grad is None" in shown
    assert "Traceback" not in shown
    assert terminal.process.returncode == 1


@pytest.mark.skipif("libedit" in (readline.__doc__ or ""), reason="TAB is bound in another way")
def test_completion_by_tab(script: Path, at_terminal: Any) -> None:
    terminal = at_terminal("minitorch.debug", "train.py", cwd=script)
    terminal.until(PROMPT)
    terminal.type("unt\t rel\t")
    terminal.until("until relu")
    terminal.type("\n")
    assert "-> #1 ReluBackward0" in terminal.until(PROMPT)
    terminal.type("model.fc1.wei\t")
    terminal.until("model.fc1.weight")
    terminal.type(".shape\n")
    assert "torch.Size([4, 3])" in terminal.until(PROMPT)
    terminal.type("saved r\t")
    terminal.until("saved result")
    terminal.type("\n")
    assert "tensor([[" in terminal.until(PROMPT)
    terminal.type("s\t\t")  # all that begin so
    shown = terminal.until(f"{PROMPT}s")
    assert all(name in shown for name in ("saved", "set", "skip", "step"))
    terminal.type("\x15off\n")
    assert terminal.ends().count("grad is there") == 2
    assert terminal.process.returncode == 0


def test_an_empty_line_repeats_and_the_end_of_input_quits(script: Path, at_terminal: Any) -> None:
    terminal = at_terminal("minitorch.debug", "train.py", cwd=script)
    terminal.until(PROMPT)
    assert "-> #3 " in terminal.say("step")
    assert "-> #2 " in terminal.say("")
    terminal.type("\x04")
    assert "grad is None" in terminal.ends()


def test_colour_where_the_terminal_has_it(script: Path, at_terminal: Any) -> None:
    terminal = at_terminal("minitorch.debug", "train.py", cwd=script, term="xterm")
    assert "\x1b[1m-> #4 SumBackward0  ()\x1b[0m" in terminal.until(PROMPT)
    terminal.type("off\n")
    terminal.ends()


def test_after_an_error_the_prompt_is_at_the_node(tmp_path: Path, at_terminal: Any) -> None:
    (tmp_path / "fails.py").write_text(
        "import torch\nx = torch.ones(2, requires_grad=True)\ny = x.exp()\nz = y * 2\ny.add_(1)\nz.sum().backward()\n"
    )
    terminal = at_terminal("minitorch.debug", "fails.py", cwd=tmp_path)
    terminal.until(PROMPT)
    shown = terminal.say("off")
    assert "modified by an inplace operation" in shown
    assert "RuntimeError in backward at fails.py:6: z.sum().backward()\n-> #" in shown
    assert "forward   fails.py:" in terminal.say("where")
    terminal.type("q\n")
    terminal.ends()
    assert terminal.process.returncode == 1


def test_set_trace_in_a_script(tmp_path: Path, at_terminal: Any) -> None:
    (tmp_path / "plain.py").write_text(
        "import torch\ntorch.autograd.set_trace()\n"
        "x = torch.ones(2, requires_grad=True)\nx.exp().sum().backward()\nprint(x.grad)\n"
    )
    terminal = at_terminal("minitorch", "plain.py", cwd=tmp_path)
    assert "  plain.py:4  x.exp().sum().backward()" in terminal.until(PROMPT)
    terminal.type("c\n")
    assert "tensor([2.7183, 2.7183])" in terminal.ends()


def test_usage(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}

    def run(*arguments: str) -> Any:
        command = [sys.executable, "-m", "minitorch.debug", *arguments]
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, input=""
        )

    assert "usage: python -m minitorch.debug" in run("--help").stdout
    assert run().returncode == 2
    assert run("-").returncode == 1
    done = run("-c", "import torch, sys; print(torch.ones(2).sum(), sys.argv); sys.exit(5)", "a")
    assert (done.stdout, done.returncode) == ("tensor(2.) ['-c', 'a']\n", 5)
    done = run("-c", "1 / 0")
    assert done.stderr.endswith("ZeroDivisionError: division by zero\n")
    assert (done.stdout, done.returncode) == ("", 1)


def transcript() -> str:
    """The session that the page shows."""
    page = (TUTORIALS / "looking-at-the-tape.md").read_text()
    return re.findall(r"```text\n(\$ python -m minitorch\.debug.*?)```", page, re.DOTALL)[0]


def test_the_session_of_the_docs_is_what_happens(at_terminal: Any) -> None:
    expected = transcript()
    first, _, rest = expected.partition("\n")
    terminal = at_terminal(*first.removeprefix("$ python -m ").split(), cwd=TUTORIALS)
    shown = terminal.until(PROMPT)
    commands = re.findall(r"^\(backward\) (.*)$", rest, re.MULTILINE)
    for command in commands[:-1]:
        terminal.type(f"{command}\n")
        shown += terminal.until(PROMPT)
    terminal.type(f"{commands[-1]}\n")
    shown += terminal.ends()
    assert MARKS.sub("", shown).strip() == rest.strip()
