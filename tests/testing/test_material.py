"""A sample of the mistakes and of the right functions by which the checker is judged."""

from __future__ import annotations

import linecache
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import minitorch as torch
from minitorch.testing import check_gradients

sys.path.insert(0, str(Path(__file__).parents[1]))

from gradient_mistakes import CORRECT, MISTAKES


@pytest.mark.parametrize("mistake", MISTAKES[::9], ids=lambda m: m.name)
def test_mistakes_are_caught_and_blamed(mistake: Any) -> None:
    fn, inputs = mistake.make()
    if mistake.at is not None:
        inputs = mistake.at(inputs)
    report = check_gradients(fn, *inputs, order=2, reference=mistake.reference, raise_exception=False)
    assert not report.ok
    places = re.findall(r'File "([^"]+)", line (\d+)', str(report))
    lines = [linecache.getline(file, int(line)) for file, line in places]
    if mistake.blame.line:
        assert any(mistake.blame.line in line or (mistake.blame.or_line or "\n\n") in line for line in lines)
    if mistake.blame.what.endswith(("Backward", "Backward0")):
        assert mistake.blame.what in str(report)


@pytest.mark.parametrize("function", CORRECT[::9], ids=lambda c: c.name)
def test_right_functions_pass(function: Any) -> None:
    generator = torch.Generator().manual_seed(3)
    for _ in range(2):
        check_gradients(function.fn, *function.draw(generator), order=min(function.order, 2), time_limit=None)
