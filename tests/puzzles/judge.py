"""How many of the puzzles the tools explain: ``python tests/puzzles/judge.py``.

Each script is run once more, as its user would run it to find out: with recording on, under the tool for its kind of
trouble; then the question is asked.  It is solved if the answer has the words of the true cause and names its line.
See README.md.
"""

from __future__ import annotations

import contextlib
import gc
import io
import linecache
import re
import sys
import tomllib
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import minitorch as torch
from minitorch import autograd

HERE = Path(__file__).parent
ANSWERS: dict[str, dict[str, Any]] = tomllib.loads((HERE / "answers.toml").read_text())


def explains(text: str, answer: dict[str, Any]) -> bool:
    """Whether the text has all words, or beginnings of words, of one of the answer's alternatives."""
    patterns = [
        [(r"\b" if word[0].isalnum() else "") + re.escape(word) for word in words] for words in answer["keywords"]
    ]
    return any(all(re.search(pattern, text, re.IGNORECASE) for pattern in words) for words in patterns)


def line_of(name: str) -> int:
    """The number of the line that is the cause."""
    lines = (HERE / f"{name}.py").read_text().splitlines()
    return next(number for number, text in enumerate(lines, 1) if ANSWERS[name]["line"] in text)


def names_line(text: str, name: str) -> bool:
    """Whether the text names the line: as ``name.py:7``, or as in a traceback."""
    number = line_of(name)
    return bool(re.search(rf'{name}\.py(:|", line ){number}\b', text))


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keeps to itself what is printed and warned of."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        yield


def chain(error: BaseException | None) -> Iterator[str]:
    """An error, and those that caused it, as a traceback shows them."""
    while error is not None:
        yield f"{type(error).__name__}: {error}"
        error = error.__cause__


def play(name: str) -> tuple[dict[str, Any], str]:
    """Run a script: the namespace it leaves behind, and what it raised."""
    path = HERE / f"{name}.py"
    gc.collect()  # what an earlier script left
    namespace: dict[str, Any] = {"__name__": "__main__"}
    linecache.checkcache(str(path))
    said = ""
    with quiet():
        try:
            exec(compile(path.read_text(), str(path), "exec"), namespace)
        except Exception as error:
            said = "\n".join(chain(error))
    return namespace, said


# -- one tool for each kind of trouble ---------------------------------------------------------------------------------
def grad(name: str) -> str:
    """``explain``; the line it gives must be the one."""
    with autograd.record_sites():
        namespace, _ = play(name)
        with quiet():
            answer = autograd.explain(eval(ANSWERS[name]["target"], namespace))
    place = "" if answer.site is None else str(answer.site)
    return f"{answer.text}\n{place}" if names_line(place, name) else answer.text.replace(f"{name}.py", "elsewhere")


def nonfinite(name: str) -> str:
    """Anomaly mode for what backward makes, the guard for what the forward pass makes."""
    with quiet(), autograd.detect_anomaly(), autograd.nonfinite_guard("raise"):
        return play(name)[1]


def error(name: str) -> str:
    """What the error says, with recording on."""
    with autograd.record_sites():
        return play(name)[1]


def leak(name: str) -> str:
    """What is alive, and who holds it."""
    with autograd.record_sites():
        namespace, _ = play(name)
        report = str(autograd.alive())
        namespace.clear()
    return report


def dtype(name: str) -> str:
    """The guard of dtypes."""
    with autograd.record_sites(), autograd.dtype_guard("raise"):
        return play(name)[1]


def shape(name: str) -> str:
    """The guard of broadcasting."""
    with autograd.record_sites(), autograd.broadcast_guard("raise"):
        return play(name)[1]


TOOLS = {"grad": grad, "nonfinite": nonfinite, "error": error, "leak": leak, "dtype": dtype, "shape": shape}


def judged(name: str) -> tuple[bool, str]:
    """Whether a puzzle is solved, and what the tool said."""
    torch.manual_seed(0)
    try:
        text = TOOLS[ANSWERS[name]["kind"]](name)
    except Exception:  # of the tool: the script's own are caught
        return False, traceback.format_exc()
    return explains(text, ANSWERS[name]) and names_line(text, name), text


def main() -> int:
    solved = 0
    for name in ANSWERS:
        right, text = judged(name)
        solved += right
        if not right:
            print(
                f"--- {name}: line {line_of(name)}, one of {ANSWERS[name]['keywords']}\n{text.strip() or 'nothing was said'}\n"
            )
    print(f"puzzles {solved}/{len(ANSWERS)}")
    return 0 if solved == len(ANSWERS) else 1


if __name__ == "__main__":
    sys.exit(main())
