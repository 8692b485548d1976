"""The examples run, and the README shows what its own really prints."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def run(name: str, *arguments: str) -> str:
    command = [sys.executable, str(ROOT / "docs" / "examples" / name), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout


def test_the_readme_shows_the_quickstart_and_its_output() -> None:
    readme = (ROOT / "README.md").read_text()
    code, output = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", readme, re.DOTALL).groups()
    assert code == (ROOT / "docs" / "examples" / "quickstart.py").read_text()
    assert run("quickstart.py") == output


def test_digits_are_learnt() -> None:
    printed = run("digits.py")
    right, total = map(int, re.search(r"(\d+) of (\d+) held-out digits read correctly", printed).groups())
    assert total == 359
    assert right / total >= 0.97
    assert "nll_loss" in printed
    assert float(re.search(r"relative error\s+(\S+)", printed).group(1)) < 1e-6
    assert "True" in printed.splitlines()[-1]


def test_digits_with_one_epoch_and_another_seed() -> None:
    assert "epoch  1 of 1" in run("digits.py", "--epochs", "1", "--seed", "3")
