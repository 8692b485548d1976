"""Random functions of any number of rows as NumPy modules: at sizes that were not tried, the same bits, or refused."""

from __future__ import annotations

import math
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import minitorch as torch
from minitorch import static
from minitorch.nn import functional as F

SHARES = (0.5, 0.7, 0.29, 0.9, 0.6)
STEPS: dict[str, Callable[[Any, int], Any]] = {
    "chosen by the size": lambda y, i: y + 1 if len(y) > 3 * i else y,
    "mean": lambda y, i: y - y.mean(0, keepdim=True),
    "layer norm": lambda y, i: F.layer_norm(y, (y.shape[1],)),
    "all but some": lambda y, i: y[i % 3 :] if len(y) > 4 else y,
    "longer": lambda y, i: torch.cat([y, y[:2] * len(y)]),
    "attention": lambda y, i: ((y @ y.T) / math.sqrt(len(y))).softmax(-1) @ y,
    "a share": lambda y, i: y[: max(1, int(len(y) * SHARES[i]))] * 1,
    "cumsum": lambda y, i: y.cumsum(0),
    "flip": lambda y, i: y.flip(0) + len(y) // (i + 2),
    "a multiple": lambda y, i: F.pad(y, (0, 0, 0, -len(y) % (i + 2))),
    "transposed": lambda y, i: y.T.reshape(y.shape),
    "masked": lambda y, i: y.masked_fill(torch.arange(len(y)).unsqueeze(1) >= len(y) - i, 0.0),
    "sorted": lambda y, i: y.sort(0)[0],
}
ROWS = (1, 2, 3, 5, 12, 23, 90, 128, 170, 341)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from(sorted(STEPS)), st.integers(0, 4)), min_size=1, max_size=5))
def test_modules_of_random_functions(tmp_path: Path, steps: list[tuple[str, int]]) -> None:
    def function(x: Any) -> Any:
        for name, number in steps:
            x = STEPS[name](x, number)
        return x * 1

    path = tmp_path / "model.py"
    try:
        static.trace(function, torch.randn(6, 3), quiet=True).to_python(path, dynamic_axes={"x": {0: "n"}})
    except RuntimeError as error:
        assert "to_python(): " in str(error)  # noqa: PT017
        return
    module = runpy.run_path(str(path))
    for rows in ROWS:
        x = torch.randn(rows, 3)
        try:
            found = module["function"](x.numpy())
        except module["OtherInputs"]:
            continue
        np.testing.assert_array_equal(found, function(x).numpy(), err_msg=f"{rows} rows")


def test_most_steps_are_written(tmp_path: Path) -> None:
    refused = []
    for name, step in STEPS.items():
        program = static.trace(lambda x, step=step: step(x, 1) * 1, torch.randn(6, 3), quiet=True)
        try:
            program.to_python(tmp_path / "model.py", dynamic_axes={"x": {0: "n"}})
        except RuntimeError:
            refused.append(name)
    assert not refused
