"""Every row that has an ONNX form, or is made of rows that have one, on its samples: onnxruntime gives what the row gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minitorch as torch
import minitorch.special  # whose rows are declared when it is imported
from minitorch import _op
from minitorch._pytree import tree_flatten
from samples import all_samples
from samples.sample import Sample

pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

from minitorch import onnx  # noqa: E402

OPTIONS = onnxruntime.SessionOptions()
OPTIONS.intra_op_num_threads = OPTIONS.inter_op_num_threads = 1
OPTIONS.log_severity_level = 4
KINDS = onnx.kinds_of_rows()
CASES = [
    pytest.param(name, case, id=f"{name}-{i}")
    for name, cases in sorted(all_samples().items())
    for i, case in enumerate(cases)
    if KINDS[name]
]
REFUSED = {
    "circular_pad": "padding that cuts off",
    "copy": "the sample looks at NumPy's values",
    "index": "the shape of what a mask picks depends on values",
    "index_put": "written by a mask and an index",
}
"""The rows of which some samples have no form, and why."""


def result(case: Sample, inputs: list[torch.Tensor]) -> list[np.ndarray]:
    """What a sample gives, in float32."""
    with torch.no_grad():
        out = case.call(torch, *[i.clone() for i in inputs])
    return [o.numpy() for o in tree_flatten(out)[0] if isinstance(o, torch.Tensor)]


def exported(case: Sample, inputs: list[torch.Tensor], names: list[str]) -> tuple[Any, list[str]]:
    """The exported model; or None, and the operations that have no form."""
    try:
        return onnx.export(lambda *tensors: case.call(torch, *tensors), tuple(inputs), input_names=names), []
    except onnx.errors.UnsupportedOperatorError as error:
        return None, error.operators


@pytest.mark.parametrize(("name", "case"), CASES)
def test_samples_run_in_onnxruntime(name: str, case: Sample) -> None:
    inputs = [torch.from_numpy(np.array(a)) for a in case.inputs]
    inputs = [i.float() if i.is_floating_point() else i for i in inputs]
    names = [f"x{n}" for n in range(len(inputs))]
    expected = result(case, inputs)
    program, lacking = exported(case, inputs, names)
    if program is None:
        assert name in REFUSED or not [o for o in lacking if o in _op.rows and KINDS[o]], lacking
        return
    session = onnxruntime.InferenceSession(program.model_proto.SerializeToString(), OPTIONS)
    fed: dict[str, Any] = {n: np.array(i.numpy()) for n, i in zip(names, inputs)}
    for found, known in zip(session.run(None, fed), expected, strict=True):
        assert found.dtype == known.dtype
        np.testing.assert_allclose(found, known, rtol=2e-5, atol=2e-5)


def test_every_kind_is_sampled() -> None:
    counts = {kind: sum([k == kind for k in KINDS.values()]) for kind in ("own", "parts", "")}
    assert counts["own"] > 200
    assert counts["parts"] > 40
    assert sum(counts.values()) == len(KINDS)
