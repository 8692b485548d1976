"""A few cases of each module against PyTorch; all of them: ``python tests/conformance/run_modules.py``."""

from __future__ import annotations

import pytest

import minitorch
from conformance.modules import all_modules

pytorch = pytest.importorskip("torch")

ABSTRACT = {"Module", "RNNBase", "RNNCellBase"}


def modules_of(nn: object) -> set[str]:
    return {name for name, value in vars(nn).items() if isinstance(value, type) and issubclass(value, nn.Module)}


def test_every_module_that_both_have_is_declared() -> None:
    both = modules_of(minitorch.nn) & modules_of(pytorch.nn)
    missing = both - ABSTRACT - set(all_modules())
    assert not missing, f"modules without a declaration in tests/conformance/module_specs/: {sorted(missing)}"
    assert set(all_modules()) <= both


@pytest.mark.parametrize("name", list(all_modules()))
def test_cases(name: str) -> None:
    from conformance.observe import check

    compared, found = check(name, only=1)
    assert compared
    assert not found, "\n".join(f"{case}: {text}" for case, text in found)
