"""docs/how-to/add-an-op.md, followed word for word in a copy of the package."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "how-to" / "add-an-op.md"
BLOCK = re.compile(r"```python\n# ([^\n]*)\n(.*?)```", re.DOTALL)

ERRORS = """
import minitorch as torch

x = torch.tensor([3.0])
for error, call in (
    (RuntimeError, lambda: torch.log_cosh(x, 0)),
    (TypeError, lambda: torch.log_cosh(x, "a")),
    (TypeError, lambda: torch.log_cosh(3.0)),
    (RuntimeError, lambda: torch.tensor([3, 4]).log_cosh_()),
    (RuntimeError, lambda: x.clone().requires_grad_().log_cosh_()),
):
    try:
        call()
    except error as raised:
        assert "log_cosh" in str(raised) or "in-place" in str(raised) or "cast" in str(raised), raised
    else:
        raise AssertionError("not refused")
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project in which the page was followed."""
    copy = tmp_path_factory.mktemp("project")
    for folder in ("src", "tests"):
        shutil.copytree(ROOT / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__", ".hypothesis"))
    shutil.copy(ROOT / "pyproject.toml", copy)
    for place, block in BLOCK.findall(PAGE.read_text()):
        name, _, anchor = place.partition(", after: ")
        if anchor:
            text = (copy / name).read_text()
            assert text.count(anchor) == 1, f"{name} has {text.count(anchor)} times {anchor!r}"
            (copy / name).write_text(text.replace(anchor, f"{anchor}\n{block.rstrip()}"))
    return copy


def run(project: Path, *arguments: str) -> str:
    """What Python prints in the copy."""
    environment = os.environ | {"PYTHONPATH": str(project / "src"), "PYTHONDONTWRITEBYTECODE": ""}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=project, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_example_prints_what_the_page_says(project: Path) -> None:
    text = PAGE.read_text()
    (example,) = [block for place, block in BLOCK.findall(text) if place == "try it"]
    expected = text[text.index(example) :].split("```text\n")[1].split("```")[0]
    assert run(project, "-W", "error", "-c", example) == expected


def test_the_custom_function_does_what_the_page_says(project: Path) -> None:
    blocks = re.findall(r"```pycon\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert blocks
    (project / "page.txt").write_text("\n".join(blocks))
    run(project, "-m", "doctest", "page.txt")


def test_errors(project: Path) -> None:
    run(project, "-W", "error", "-c", ERRORS)


def test_the_projects_own_tests_accept_it(project: Path) -> None:
    files = ["tests/test_rows.py", "tests/test_public_names.py"]
    chosen = "log_cosh or public_names or every_row"
    printed = run(project, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files, "-k", chosen)
    assert int(printed.split(" passed")[0].split()[-1]) >= 10, printed


def test_its_documentation_runs(project: Path) -> None:
    run(project, "-c", "import doctest; from minitorch.ops import special; assert not doctest.testmod(special).failed")
