"""Forward mode over tiny graphs: a level, dual tensors, the function, its tangent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from harness import Runs, Table, measure
from workloads import LIBRARIES, agree

Function = Callable[..., Any]


def _chain(x: Any, y: Any) -> Any:
    return ((x * y).tanh() + x).exp().sum()


def _polynomial(x: Any, y: Any) -> Any:
    return (x * x * x - 2.0 * x * y + y / 3.0).sum()


def _views(x: Any, y: Any) -> Any:
    return (x[0] * y[1] + x.reshape(16)[4:8] - x.mT[2]).sum()


def _layers(x: Any, y: Any) -> Any:
    return ((x @ y).relu() @ y.mT).sigmoid().mean()


FUNCTIONS: dict[str, Function] = {"chain": _chain, "polynomial": _polynomial, "views": _views, "layers": _layers}


def forward(table: Table, repeats: int) -> None:
    """Each function of two 4x4 tensors, of which both move."""
    rng = np.random.default_rng(0)
    arrays = rng.normal(size=(4, 4, 4)).astype(np.float32)
    for name, function in FUNCTIONS.items():
        runs: Runs = {}
        found: dict[str, list[np.ndarray]] = {}
        for peer, library in LIBRARIES.items():
            runs[peer] = run = _run(library, function, *[library.tensor(a) for a in arrays])
            found[peer] = [run().numpy()]
        agree(name, found)
        table.line(f"{name}, 4x4, one tangent", measure(runs, repeats=repeats), 0.6)


def _run(library: Any, function: Function, x: Any, y: Any, t: Any, u: Any) -> Callable[[], Any]:
    mode = library.autograd.forward_ad

    def run() -> Any:
        with mode.dual_level():
            return mode.unpack_dual(function(mode.make_dual(x, t), mode.make_dual(y, u))).tangent

    return run
