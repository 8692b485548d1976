"""A few samples of each core operation against PyTorch; all of them: ``python tests/conformance/run.py``."""

from __future__ import annotations

import pytest

from conformance.spec import CORE, all_specs

pytest.importorskip("torch")


def test_there_are_300_operations_each_with_a_declaration() -> None:
    missing = [name for name, parts in all_specs().items() if not parts]
    assert sum(map(len, CORE.values())) == 300
    assert not missing, f"operations without a declaration in tests/conformance/specs/: {missing}"


@pytest.mark.parametrize("name", list(all_specs()))
def test_samples(name: str) -> None:
    from conformance.compare import check

    _, found = check(all_specs()[name], only=2)
    assert not found, "\n".join(f"{sample}: {text}" for sample, text in found)
