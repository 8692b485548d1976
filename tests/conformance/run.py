"""How many operations conform: ``python tests/conformance/run.py [-v] [-j 2] [NAME or GROUP ...]``."""

from __future__ import annotations

import argparse
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy and PyTorch are loaded
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1]))

from conformance.spec import CORE, all_specs

LEAST = 15


def result_of(name: str) -> tuple[str, int, list[tuple[str, str]], float]:
    """One operation: its name, how many samples were compared, what differs, and how long it took."""
    from conformance.compare import check

    start = time.perf_counter()
    compared, found = check(all_specs()[name])
    return name, compared, [(str(sample), text) for sample, text in found], time.perf_counter() - start


def report(results: list[Any], verbose: bool) -> int:
    """Print what does not conform; return how many do."""
    conforming = 0
    for name, compared, found, _ in results:
        if compared >= LEAST and not found:
            conforming += 1
            continue
        if compared < LEAST:
            print(f"{name}: only {compared} samples; {LEAST} are needed")
        for sample, text in found if verbose else found[:4]:
            print(f"{name}: {sample}\n    {text}")
        if len(found) > 4 and not verbose:
            print(f"{name}: and {len(found) - 4} more")
    return conforming


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="operations or groups (default: all)")
    parser.add_argument("-v", "--verbose", action="store_true", help="every failing sample")
    parser.add_argument("-j", "--jobs", type=int, default=2, help="processes")
    parser.add_argument("-t", "--times", action="store_true", help="the slowest operations")
    options = parser.parse_args()
    every = [name for group in CORE.values() for name in group]
    wanted = [n for name in options.names for n in CORE.get(name, [name])] or every
    if unknown := set(wanted) - set(every):
        parser.error(f"no core operations: {sorted(unknown)}")
    if options.jobs > 1:
        with ProcessPoolExecutor(options.jobs) as pool:
            results = list(pool.map(result_of, wanted))
    else:
        results = [result_of(name) for name in wanted]
    conforming = report(results, options.verbose)
    if options.times:
        for name, compared, _, seconds in sorted(results, key=lambda r: -r[3])[:20]:
            print(f"{seconds:6.2f} s  {name} ({compared} samples)")
    print(f"{sum(r[1] for r in results)} samples in {sum(r[3] for r in results):.0f} s of {options.jobs} processes")
    print(f"ops fully conforming: {conforming}/{len(wanted)}")
    return 0 if conforming == len(wanted) else 1


if __name__ == "__main__":
    sys.exit(main())
