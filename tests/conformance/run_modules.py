"""How many modules conform: ``python tests/conformance/run_modules.py [-v] [-j 2] [NAME ...]``."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy and PyTorch are loaded
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1]))

from conformance.modules import all_modules


def result_of(name: str) -> tuple[str, int, list[tuple[str, str]], float]:
    """One module: its name, how many right cases were compared, what differs, and how long it took."""
    from conformance.observe import check

    start = time.perf_counter()
    return name, *check(name), time.perf_counter() - start


def report(result: Any, verbose: bool) -> None:
    """Print what of a module does not conform."""
    name, compared, found, _ = result
    if not compared:
        print(f"{name}: no cases", flush=True)
    for case, text in found if verbose else found[:4]:
        print(f"{name}: {case}\n    {text}", flush=True)
    if len(found) > 4 and not verbose:
        print(f"{name}: and {len(found) - 4} more", flush=True)


def results_of(names: list[str], jobs: int) -> Iterator[Any]:
    if jobs == 1:
        yield from map(result_of, names)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(result_of, names)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="modules (default: all)")
    parser.add_argument("-v", "--verbose", action="store_true", help="every failing case")
    parser.add_argument("-j", "--jobs", type=int, default=2, help="processes")
    parser.add_argument("-t", "--times", action="store_true", help="the slowest modules")
    options = parser.parse_args()
    wanted = options.names or list(all_modules())
    if unknown := set(wanted) - set(all_modules()):
        parser.error(f"no modules declared: {sorted(unknown)}")
    results = []
    for result in results_of(wanted, options.jobs):
        report(result, options.verbose)
        results.append(result)
    conforming = sum([compared > 0 and not found for _, compared, found, _ in results])
    if options.times:
        for name, compared, _, seconds in sorted(results, key=lambda r: -r[3])[:20]:
            print(f"{seconds:6.2f} s  {name} ({compared} cases)")
    print(f"{sum(r[1] for r in results)} cases in {sum(r[3] for r in results):.0f} s of {options.jobs} processes")
    print(f"modules fully conforming: {conforming}/{len(wanted)}")
    return 0 if conforming == len(wanted) else 1


if __name__ == "__main__":
    sys.exit(main())
