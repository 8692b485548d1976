"""docs/reference/ is what docs/generate_reference.py writes, and what that says of rows is so."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

import minitorch
from minitorch import _op
from row_calls import SAMPLES, calls_of, vjp

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture(scope="module")
def generator() -> Any:
    spec = importlib.util.spec_from_file_location("generate_reference", DOCS / "generate_reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", ["operations.md", "names.md", "onnx.md"])
def test_the_page_is_up_to_date(generator: Any, page: str) -> None:
    there = (DOCS / "reference" / page).read_text()
    if there != generator.PAGES[page]():
        pytest.fail(f"docs/reference/{page} is out of date: run `python docs/generate_reference.py`", pytrace=False)


def test_each_row_has_a_family_and_a_use(generator: Any) -> None:
    places, (own, others) = generator.declared_in(), generator.forms()
    callers = generator.serves({name: own[name] + others[name] for name in _op.rows})
    lost = [name for name, place in places.items() if place == "?"]
    assert not lost, f"no file declares {lost}"
    unused = [n for n in _op.rows if generator.use_of(n, own[n], others[n], callers[n]) == "in "]
    assert not unused, f"nothing calls {unused}"


def test_the_order_is_that_of_the_samples(generator: Any) -> None:
    """What can be differentiated without end has gradients with a history; a step's gradient is zero and has none."""
    for name, row in _op.rows.items():
        order = generator.order(row)
        if order in ("any", "zero"):
            assert order == "zero" or max(case.order for case in SAMPLES[name]) > 0, (
                f"{name} has no sample of its gradient"
            )
            for call in calls_of(name)[:1]:
                known = [
                    i for i in call.differentiable if row.variadic or not generator.raises(row.formulas[row.inputs[i]])
                ]
                inputs = call.tensors(known)
                out = [o for o in call.run(inputs) if o.requires_grad]
                found = vjp(out, inputs, [minitorch.ones_like(o, requires_grad=True) for o in out], create_graph=True)
                again = any(f.requires_grad for f in found)
                assert again == (order == "any"), f"{name} is said to be of order {order}"
                assert again or not any(f.any() for f in found)


@pytest.mark.parametrize(
    ("name", "input", "text"),
    [
        ("mul", "self", "g * other"),
        ("cumsum", "self", "F.cumsum(g, dim=dim, reverse=not reverse)"),
        ("linear", "bias", "F.sum_to(g, shape=bias_shape)"),
        ("expand", "self", "F.sum_to(g, shape=self_shape)"),
    ],
)
def test_formulas_are_shown_as_written(generator: Any, name: str, input: str, text: str) -> None:
    assert generator.written(_op.rows[name].formulas[input]) == text


def test_forms_are_found(generator: Any) -> None:
    own, _ = generator.forms()
    assert {"mul", "multiply", ".mul", ".mul_", ".__mul__", ".__rmul__", ".__imul__"} <= set(own["mul"])
    assert set(own["max_dim"]) == {"max", ".max"}
    assert {"relu", "F.relu", ".relu_"} <= set(own["relu"])
