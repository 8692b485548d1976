"""What is deployed runs: each model gives what its traced program gives, at each batch size."""

from __future__ import annotations

import pytest

import minitorch as torch
from deployed import MODELS, SIZES
from minitorch import static
from minitorch._pytree import tree_flatten


@pytest.mark.parametrize("name", MODELS)
def test_models_are_traced(name: str) -> None:
    deployed = MODELS[name]
    model = deployed.model()
    program = static.compile(model, quiet=True)
    with torch.no_grad():
        for batch in SIZES:
            inputs = deployed.inputs(batch)
            assert [x.shape[axis] for x, axis in zip(inputs, deployed.axes) if axis is not None] != []
            wanted, _ = tree_flatten(model(*inputs))
            for _ in range(2):
                found, _ = tree_flatten(program(*inputs))
                assert [torch.equal(a, b) for a, b in zip(found, wanted, strict=True)] == [True] * len(wanted)
    assert len(program.variants) == len(SIZES), program.notes
