"""The puzzles are what their answers say: the symptom shows in minitorch and in PyTorch, and goes when the line is changed."""

from __future__ import annotations

import contextlib
import importlib
import io
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from puzzles.judge import ANSWERS, explains

HERE = Path(__file__).parent
NEEDED = {"question", "kind", "target", "symptom", "cause", "keywords", "line", "fix", "reports"}
OPTIONAL = {"raises", "says"}


def source(name: str) -> str:
    return (HERE / f"{name}.py").read_text()


def played(name: str, script: str, engine: str) -> tuple[dict[str, Any], Exception | None]:
    """The namespace the script leaves behind, and what it raised."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    code = compile(script.replace("minitorch", engine), f"{name}.py", "exec")
    raised: Exception | None = None
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        try:
            exec(code, namespace)
        except Exception as error:
            raised = error
    return namespace, raised


def holds(expression: str, namespace: dict[str, Any]) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # .grad of a tensor that is not a leaf
        return bool(eval(expression, namespace))


def test_every_script_has_an_answer() -> None:
    assert sorted(ANSWERS) == sorted(path.stem for path in HERE.glob("[0-9]*.py"))
    assert [name[:2] for name in sorted(ANSWERS)] == [f"{number:02}" for number in range(1, 31)]


def test_there_are_18_gradients_6_numbers_and_6_other_faults() -> None:
    kinds = Counter(answer["kind"] for answer in ANSWERS.values())
    assert set(kinds) == {"grad", "nonfinite", "error", "leak", "dtype", "shape"}
    assert (kinds["grad"], kinds["nonfinite"], kinds.total()) == (18, 6, 30)


def test_the_situations_were_reported_by_users() -> None:
    reports = {report for answer in ANSWERS.values() for report in answer["reports"]}
    assert len(reports) >= 25
    assert all(answer["reports"] for answer in ANSWERS.values())


def test_the_readme_lists_every_puzzle() -> None:
    text = (HERE / "README.md").read_text()
    assert [name for name in ANSWERS if f"`{name}`" not in text] == []


@pytest.mark.parametrize("name", ANSWERS)
def test_entries(name: str) -> None:
    answer = ANSWERS[name]
    assert NEEDED <= set(answer) <= NEEDED | OPTIONAL
    assert (answer["kind"] == "error") == ("raises" in answer) == ("says" in answer)


@pytest.mark.parametrize("name", ANSWERS)
def test_script(name: str) -> None:
    lines = source(name).splitlines()
    assert 10 <= len(lines) <= 60
    assert "import minitorch as torch" in lines


@pytest.mark.parametrize("name", ANSWERS)
def test_one_line_is_the_cause(name: str) -> None:
    places = [text for text in source(name).splitlines() if ANSWERS[name]["line"] in text]
    assert len(places) == 1
    assert source(name).count(ANSWERS[name]["line"]) == 1
    assert places[0].strip().startswith(ANSWERS[name]["line"])


@pytest.mark.parametrize("name", ANSWERS)
def test_keywords_tell_this_cause_from_the_others(name: str) -> None:
    assert explains(ANSWERS[name]["cause"], ANSWERS[name])
    assert [other for other in ANSWERS if other != name and explains(ANSWERS[other]["cause"], ANSWERS[name])] == []


@pytest.mark.parametrize("engine", ["minitorch", "torch"])
@pytest.mark.parametrize("name", ANSWERS)
def test_symptom(name: str, engine: str) -> None:
    pytest.importorskip(engine)
    answer = ANSWERS[name]
    namespace, raised = played(name, source(name), engine)
    assert type(raised).__name__ == answer.get("raises", "NoneType"), raised
    if raised is not None:
        assert answer["says"] in str(raised)
    assert isinstance(eval(answer["target"], namespace), importlib.import_module(engine).Tensor)
    assert holds(answer["symptom"], namespace)


@pytest.mark.parametrize("engine", ["minitorch", "torch"])
@pytest.mark.parametrize("name", ANSWERS)
def test_the_symptom_goes_when_the_line_is_changed(name: str, engine: str) -> None:
    pytest.importorskip(engine)
    answer, script = ANSWERS[name], source(name)
    assert answer["fix"][0][0] in answer["line"]
    for old, new in answer["fix"]:
        assert script.count(old) == 1
        script = script.replace(old, new)
    namespace, raised = played(name, script, engine)
    assert raised is None, raised
    assert "raises" in answer or not holds(answer["symptom"], namespace)
