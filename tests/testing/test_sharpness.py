"""How small a mistake may be: 1 % in float64 and 10 % in float32 are caught in rows' gradients, and nothing in right ones."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minitorch
from minitorch.autograd._subject import Subject
from minitorch.testing._compare import compare

sys.path.insert(0, str(Path(__file__).parents[1]))

from samples import all_samples

FIRST = [(name, next((c for c in cases if c.order), None)) for name, cases in sorted(all_samples().items())]
ROWS = [pytest.param(case, id=name) for name, case in FIRST if case is not None][::16]


@pytest.mark.parametrize(("dtype", "factor"), [(np.float64, 1.01), (np.float32, 1.1)], ids=["float64", "float32"])
@pytest.mark.parametrize("case", ROWS)
def test_mistakes_of_a_row(case: Any, dtype: Any, factor: float) -> None:
    arrays = [np.array(a, dtype) if np.asarray(a).dtype.kind == "f" else np.array(a) for a in case.inputs]
    varied = [i for i, a in enumerate(arrays) if a.dtype.kind == "f"]
    subject = Subject(lambda *x: case.call(minitorch, *x), [minitorch.from_numpy(a) for a in arrays], varied)
    right = subject.rows()
    assert compare(subject, right).agrees
    large = np.abs(right) > 1e-3 * np.abs(right).max(initial=0)
    if large.any() and np.isfinite(right).all():
        found = compare(subject, right * factor)
        assert found.wrong[large].mean() > 0.9
