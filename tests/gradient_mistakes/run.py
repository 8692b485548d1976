"""Judge ``testing.check_gradients``: mutants of every row's formulas, seeded mistakes, and right functions.

``python tests/gradient_mistakes/run.py`` prints one line and exits with 1 unless all is caught, blamed and let pass; ``-v``
lists the kinds and what went wrong, ``--only rows|seeded|right`` runs a part, ``--draws`` says at how many points each right
function is checked, ``--jobs`` in how many processes.
"""

from __future__ import annotations

import argparse
import collections
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

from gradient_mistakes import CORRECT, MISTAKES, _judge_seeded, _rows  # noqa: E402
from gradient_mistakes._equivalent import Equivalents  # noqa: E402

PARTS = _rows.parts()
EQUIVALENT = Path(__file__).with_name("equivalent.txt")


# -- what a process does -----------------------------------------------------------------------------------------------
def judge_part(number: int) -> list[tuple[str, str, str, str]]:
    """Each mutant of a function that formulas are or call: its key, its kind, what became of it, and how."""
    from gradient_mistakes._judge_rows import judged

    found = []
    for mutant in _rows.mutants_of(PARTS[number]):
        outcome = judged(mutant)
        found.append((mutant.key, mutant.change.kind, outcome.how, outcome.detail))
    return found


def judge_mistake(number: int) -> tuple[bool, bool, str]:
    """Whether a mistake is caught, whether it is blamed rightly, and what was said."""
    mistake = MISTAKES[number]
    report = _judge_seeded.checked(mistake)
    said = f"{mistake.name}: wanted {mistake.blame} at «{mistake.blame.line}»; {_judge_seeded.said(report)}"
    return not report.ok, _judge_seeded.blamed(mistake, report), said


def judge_right(task: tuple[int, int, int]) -> list[str]:
    """False alarms of a function at some of its points."""
    number, first, last = task
    return _judge_seeded.false_alarms(CORRECT[number], range(first, last))


# -- the three parts ---------------------------------------------------------------------------------------------------
Map = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]


def rows_part(run: Map, verbose: bool) -> tuple[str, bool]:
    """Mutants of the op table."""
    equivalents = Equivalents(EQUIVALENT.read_text())
    kinds: dict[str, collections.Counter[str]] = {}
    wrong = []
    for outcomes in run(judge_part, range(len(PARTS))):
        for key, kind, how, detail in outcomes:
            if how == "unchanged":
                continue
            caught = how in ("caught", "raises")
            if not caught and equivalents.matches(key):
                how = "equivalent"
            kinds.setdefault(kind, collections.Counter())[how] += 1
            if not caught and how != "equivalent":
                wrong.append(f"{how}: {key} {detail}")
    every = sum(kinds.values(), collections.Counter())
    wrong += [f"listed as equivalent, but there is no such mutant: {line}" for line in equivalents.unused()]
    if verbose:
        print(f"{'kind':22}{'by a check':>12}{'raise':>8}{'of':>8}{'equivalent':>12}")
        for kind, counts in [*sorted(kinds.items()), ("all", every)]:
            print(f"{kind:22}{counts['caught']:12}{counts['raises']:8}{_total(counts):8}{counts['equivalent']:12}")
        print(*wrong, sep="\n")
    caught, raising = every["caught"], every["raises"]
    return f"rows' mutants caught {caught + raising}/{_total(every)} ({raising} of them raise)", not wrong


def _total(counts: collections.Counter[str]) -> int:
    """How many mutants there are, without those in the list."""
    return sum(counts.values()) - counts["equivalent"]


def seeded_part(run: Map, verbose: bool) -> tuple[str, bool]:
    """Seeded mistakes."""
    outcomes = list(run(judge_mistake, range(len(MISTAKES))))
    caught, blamed = sum(c for c, _, _ in outcomes), sum(b for _, b, _ in outcomes)
    if verbose:
        print(*(said for caught, blamed, said in outcomes if not (caught and blamed)), sep="\n")
    return f"seeded caught {caught}/{len(outcomes)}, blamed {blamed}/{len(outcomes)}", blamed == len(outcomes) == caught


def right_part(run: Map, verbose: bool, draws: int) -> tuple[str, bool]:
    """Right functions."""
    step = 10
    tasks = [(n, d, min(d + step, draws)) for n in range(len(CORRECT)) for d in range(0, draws, step)]
    alarms = [alarm for found in run(judge_right, tasks) for alarm in found]
    if verbose:
        print(*alarms, sep="\n\n")
    return f"false alarms {len(alarms)}/{len(CORRECT) * draws}", not alarms


def main() -> int:
    """Run the parts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("--only", choices=("rows", "seeded", "right"))
    parser.add_argument("--draws", type=int, default=_judge_seeded.DRAWS)
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1))
    options = parser.parse_args()
    parts: dict[str, Callable[[Map], tuple[str, bool]]] = {
        "rows": lambda run: rows_part(run, options.verbose),
        "seeded": lambda run: seeded_part(run, options.verbose),
        "right": lambda run: right_part(run, options.verbose, options.draws),
    }
    start = time.monotonic()
    lines, good = [], True
    with multiprocessing.get_context("fork").Pool(options.jobs) as pool:
        for name, part in parts.items():
            if options.only in (None, name):
                line, right = part(lambda f, tasks: pool.imap_unordered(f, tasks, chunksize=1))
                lines.append(line)
                good &= right
    print(" · ".join(lines), f"({time.monotonic() - start:.0f} s)", flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
