"""The digits that docs/examples/digits.py learns to read are the ones that docs/examples/data/README.md describes."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

import numpy as np
import pytest

DATA = Path(__file__).parents[2] / "docs" / "examples" / "data"
FILE = DATA / "digits.csv.gz"


@pytest.fixture(scope="module")
def table() -> np.ndarray:
    return np.loadtxt(FILE, delimiter=",", dtype=np.int64)


def test_file_is_unchanged() -> None:
    packed = FILE.read_bytes()
    assert hashlib.sha256(packed).hexdigest() == "02633070f0eba52475fb2cfaedcf256826aa2b6c462429e2e6d0826619fc55c9"
    unpacked = gzip.decompress(packed)
    assert hashlib.sha256(unpacked).hexdigest() == "6ebb3d2fee246a4e99363262ddf8a00a3c41bee6014c373ed9d9216ba7f651b8"


def test_readme_states_the_hashes() -> None:
    readme = (DATA / "README.md").read_text(encoding="utf-8")
    packed = FILE.read_bytes()
    assert hashlib.sha256(packed).hexdigest() in readme
    assert hashlib.sha256(gzip.decompress(packed)).hexdigest() in readme


def test_table_holds_1797_images_and_their_digits(table: np.ndarray) -> None:
    assert table.shape == (1797, 65)
    assert (table[:, :64].min(), table[:, :64].max()) == (0, 16)
    assert np.bincount(table[:, 64]).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]


def test_table_equals_the_one_in_scikit_learn(table: np.ndarray) -> None:
    digits = pytest.importorskip("sklearn.datasets").load_digits()
    np.testing.assert_array_equal(table[:, :64], digits.data)
    np.testing.assert_array_equal(table[:, 64], digits.target)
