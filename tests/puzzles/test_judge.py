"""The tools explain the puzzles."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import minitorch as torch
from minitorch._modes import observers
from puzzles import judge


@pytest.mark.parametrize("name", judge.ANSWERS)
def test_puzzle(name: str) -> None:
    solved, text = judge.judged(name)
    assert solved, text
    assert not observers
    assert not torch.is_anomaly_enabled()


def test_an_answer_must_have_the_words_and_the_line() -> None:
    answer = {"keywords": [["relu", "dead"], ["relu", "negative"]]}
    assert judge.explains("A dead ReLU", answer)
    assert not judge.explains("dead", answer)
    assert not judge.explains("prelu, undead", answer)
    assert judge.names_line("at 03_equaliser_gain.py:16: ...", "03_equaliser_gain")
    assert judge.names_line('File "/x/03_equaliser_gain.py", line 16, in factors', "03_equaliser_gain")
    assert not judge.names_line("03_equaliser_gain.py:160", "03_equaliser_gain")


def test_the_program_prints_the_score() -> None:
    ran = subprocess.run([sys.executable, Path(judge.__file__)], capture_output=True, text=True, check=False)
    assert ran.stdout.splitlines()[-1] == "puzzles 30/30"
    assert ran.returncode == 0
