"""Two runs of the tests, of which the second leaves out what passed in the first: together they are all."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CI = Path(__file__).parents[1] / ".ci"
TESTS = """
import os
import pytest

def test_plain():
    assert "PYTEST_ADDOPTS" not in os.environ  # or tests that run pytest would write over the note

@pytest.mark.parametrize("name", ["a b", "c\\n"])
def test_needs_more(name):
    assert pytest.importorskip("more").VALUE == (name != "a b")

@pytest.fixture
def late():
    yield
    pytest.importorskip("more")

def test_skipped_late(late):
    pass
"""
ASKING = """
def test_asks():
    try:
        import more
    except ImportError:
        return
"""


@pytest.mark.skipif(not CI.exists(), reason="a source distribution has no .ci")
def test_the_second_run_has_what_did_not_pass_in_the_first(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(TESTS)
    (tmp_path / "test_asking.py").write_text(ASKING)
    environment = {**os.environ, "PYTHONPATH": f"{CI}:installed", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}

    def run(*options: str) -> str:
        environment["PYTEST_ADDOPTS"] = " ".join(["-p remember", *options])
        command = [sys.executable, "-m", "pytest", "-rA"]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        return done.stdout + done.stderr

    assert "3 passed, 3 skipped" in run("--note-passed", "passed")
    assert (tmp_path / "passed").read_text() == "'test_asking.py::test_asks'\n'test_some.py::test_plain'\n"
    (tmp_path / "installed").mkdir()
    (tmp_path / "installed" / "more.py").write_text("VALUE = True\n")
    second = run("--beyond", "passed")
    assert "1 failed, 3 passed, 1 deselected" in second
    assert "test_plain" not in second
    (tmp_path / "test_some.py").write_text(TESTS.replace("test_plain", "test_other"))
    assert "1 tests passed before and are not there now" in run("--beyond", "passed")
