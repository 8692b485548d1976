"""The same mistakes and right functions given to PyTorch's gradcheck, with its default settings, and to ``check_gradients``.

``python tests/gradient_mistakes/against_pytorch.py`` writes the table of ``docs/reference/gradient-checks.md``.
"""

from __future__ import annotations

import sys
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from gradient_mistakes import CORRECT, MISTAKES, _judge_seeded, in_pytorch

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "gradient-checks.md"
DRAWS = 2


def complains(check: Callable[..., bool], fn: Any, inputs: Any) -> bool:
    """Whether a check of PyTorch's does not pass."""
    try:
        return not check(fn, inputs)
    except Exception:
        return True


def of_mistakes(torch: Any) -> list[str]:
    """A line for each kind of mistake."""
    theirs = {m.name: m for m in in_pytorch().MISTAKES}
    counts: dict[str, list[int]] = {}
    for mistake in MISTAKES:
        twin = theirs[mistake.name]

        def at(twin: Any = twin) -> tuple[Any, Any]:
            fn, inputs = twin.make()
            return fn, tuple(inputs if twin.at is None else twin.at(inputs))

        report = _judge_seeded.checked(mistake)
        first = complains(torch.autograd.gradcheck, *at())
        second = first or complains(torch.autograd.gradgradcheck, *at())
        found = counts.setdefault(mistake.kind, [0, 0, 0, 0, 0])
        for i, value in enumerate((True, first, second, not report.ok, _judge_seeded.blamed(mistake, report))):
            found[i] += value
    total = [sum(column) for column in zip(*counts.values())]
    return [_row(kind, *numbers) for kind, numbers in sorted(counts.items())] + [_row("**all**", *total)]


def of_right_functions(torch: Any) -> list[str]:
    """A line for each sort of right function."""
    counts: dict[str, list[int]] = {}
    for ours, theirs in zip(CORRECT, in_pytorch().CORRECT, strict=True):
        assert ours.name == theirs.name
        sort = "in float32" if ours.name.endswith("_float32") else "in float64"
        sort = f"{'with' if ours.kinks else 'without'} kinks, {sort}"
        generator = torch.Generator()
        alarms = 0
        for draw in range(DRAWS):
            generator.manual_seed(zlib.crc32(ours.name.encode()) + draw)
            alarms += complains(torch.autograd.gradcheck, theirs.fn, tuple(theirs.draw(generator)))
        found = counts.setdefault(sort, [0, 0, 0])
        found[0] += DRAWS
        found[1] += alarms
        found[2] += len(_judge_seeded.false_alarms(ours, range(DRAWS)))
    total = [sum(column) for column in zip(*counts.values())]
    return [_row(sort, *numbers) for sort, numbers in sorted(counts.items())] + [_row("**all**", *total)]


def _row(name: str, *numbers: int) -> str:
    return f"| {name} | {' | '.join(map(str, numbers))} |"


def page(torch: Any) -> str:
    """The text of the page."""
    version = torch.__version__.split("+")[0]
    return "\n".join(
        [
            "# Gradient checks compared",
            "",
            f"What `testing.check_gradients` and PyTorch {version}'s `gradcheck` say of the same functions, both with default",
            "settings. `python tests/gradient_mistakes/against_pytorch.py` writes this page.",
            "",
            "## Mistakes",
            "",
            "Functions, layers and models with one mistake each. The second column of `gradcheck` counts those that it or",
            "`gradgradcheck` refuses. Mistakes that show only in second derivatives are given to `check_gradients` with",
            "`order=2`, those that show only beside a reference with `reference=`, which `gradcheck` has not.",
            "",
            "| kind | mistakes | gradcheck | or gradgradcheck | check_gradients | and blamed rightly |",
            "|---|---|---|---|---|---|",
            *of_mistakes(torch),
            "",
            "## Right functions",
            "",
            f"Functions in which nothing is wrong, at {DRAWS} points each; a fifth of the points of those with kinks has",
            "elements at a kink or next to it. Counted are refusals.",
            "",
            "| functions | points | gradcheck | check_gradients |",
            "|---|---|---|---|",
            *of_right_functions(torch),
            "",
        ]
    )


if __name__ == "__main__":
    import torch

    warnings.simplefilter("ignore")
    PAGE.write_text(page(torch))
