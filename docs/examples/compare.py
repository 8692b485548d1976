"""Run the examples in minitorch and in PyTorch, from the same seed, and compare their losses.

    python docs/examples/compare.py
    python docs/examples/compare.py heat maml --losses 1000

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
LENGTHS = {
    "names": ("steps", 1),
    "gpt": ("steps", 1),
    "reverse": ("steps", 1),
    "convnet": ("epochs", 30),
    "vae": ("steps", 1),
    "gan": ("steps", 2),
    "cartpole": ("episodes", 1),
    "heat": ("steps", 1),
    "maml": ("steps", 1),
    "ode": ("steps", 1),
    "peaks": ("steps", 1),
    "spikes": ("steps", 1),
}
"""example -> what it calls its length, and how many losses one of those gives."""


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


def length(name: str, losses: int) -> dict[str, int]:
    """The option of an example's ``main`` that makes it give so many losses, or a few more."""
    option, each = LENGTHS[name]
    return {option: -(-losses // each)}


def differences(ours: Run, theirs: Run) -> np.ndarray:
    """The relative difference of the losses, step by step."""
    return np.abs(ours.losses - theirs.losses) / np.abs(theirs.losses)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=list(LENGTHS), metavar="example")
    parser.add_argument("--losses", type=int, default=100, help="how many of each (default: 100)")
    arguments = parser.parse_args()
    print("| example | losses | initial weights | float64 | float32, first 10 | float32, all | part at | time |")
    print("|---|---|---|---|---|---|---|---|")
    for name in arguments.names:
        options = length(name, arguments.losses)
        double, single = (
            [run(name, library, dtype, **options) for library in ("minitorch", "torch")]
            for dtype in ("float64", "float32")
        )
        equal = all(np.array_equal(a, b) for pair in (double, single) for a, b in zip(*(run.weights for run in pair)))
        exact, rough = differences(*double), differences(*single)
        parting = next((str(step) for step, difference in enumerate(rough) if difference > 1e-4), "never")
        cells = [f"[{name}]({name}.py)", str(len(exact)), "equal" if equal else "differ"]
        cells += [f"{part.max():.0e}" for part in (exact, rough[:10], rough)]
        cells += [parting, f"{single[0].seconds / single[1].seconds:.2f}"]
        print("|", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
