"""Run the examples in minitorch and in PyTorch, from the same seed, and compare their losses.

    python docs/examples/compare.py
    python docs/examples/compare.py heat maml

Nothing is copied from one library to the other: both draw their own initial weights and batches. Prints the table in
docs/examples/README.md. PyTorch must be installed.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import time
import types
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

HERE = Path(__file__).parent
NAMES = [
    "names", "gpt", "reverse", "convnet", "vae", "gan", "cartpole", "heat", "maml", "ode", "peaks", "spikes"
]  # fmt: skip


class Run(NamedTuple):
    losses: np.ndarray
    weights: list[np.ndarray]
    """Every parameter at the time an optimizer was made for it."""
    seconds: float


def load(name: str, library: str) -> types.ModuleType:
    """The example as a module, with *library* in place of minitorch: the one change that users make."""
    path = HERE / f"{name}.py"
    source = path.read_text()
    if library == "torch":
        source = source.replace("import minitorch as torch", "import torch").replace("minitorch", "torch")
    module = types.ModuleType(f"{name}_in_{library}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    exec(compile(source, path, "exec"), module.__dict__)
    return module


def run(name: str, library: str, dtype: str, **options: Any) -> Run:
    """Run an example's ``main`` with *dtype* as the default."""
    module = load(name, library)
    torch = module.torch
    weights: list[np.ndarray] = []

    plain = torch.optim.Optimizer.add_param_group

    def watched(self: Any, group: Any) -> None:
        plain(self, group)
        weights.extend(p.detach().numpy().copy() for p in self.param_groups[-1]["params"])

    torch.optim.Optimizer.add_param_group = watched
    torch.set_default_dtype(getattr(torch, dtype))
    start = time.thread_time()
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            losses = np.array(module.main(**options))
    finally:
        torch.set_default_dtype(torch.float32)
        torch.optim.Optimizer.add_param_group = plain
    return Run(losses, weights, time.thread_time() - start)


def differences(ours: Run, theirs: Run) -> np.ndarray:
    """The relative difference of the losses, step by step."""
    return np.abs(ours.losses - theirs.losses) / np.abs(theirs.losses)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=NAMES, metavar="example")
    print("| example | losses | weights | float64: first 50 | all | float32: first 10 | first 50 | part at | time |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name in parser.parse_args().names:
        pairs = {d: [run(name, library, d) for library in ("minitorch", "torch")] for d in ("float64", "float32")}
        equal = all(np.array_equal(a, b) for pair in pairs.values() for a, b in zip(*(r.weights for r in pair)))
        double, single = (differences(*pair) for pair in pairs.values())
        parting = next((str(step) for step, one in enumerate(single) if one > 1e-4), "never")
        ours, theirs = pairs["float32"]
        cells = [f"[{name}]({name}.py)", len(double), "equal" if equal else "differ"]
        cells += [f"{part.max():.0e}" for part in (double[:50], double, single[:10], single[:50])]
        print("|", " | ".join(map(str, [*cells, parting, f"{ours.seconds / theirs.seconds:.2f}"])), "|", flush=True)


if __name__ == "__main__":
    main()
