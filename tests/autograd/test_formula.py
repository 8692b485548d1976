"""``Tape.formula()``: what it writes, and that what it writes evaluates to the tape's numbers."""

from __future__ import annotations

import ast
import copy
import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import minitorch as torch
import minitorch.nn.functional
from minitorch import _op
from minitorch.autograd import Tape, grad
from samples import all_samples
from samples.sample import Sample


def without_dtype(text: str) -> str:
    """A text of float64, whose zeros and ones say that they are, as it is where that is the default."""
    return text.replace(", dtype=float64", "")


def leaf(value: Any, name: str) -> Any:
    tensor = torch.tensor(value, dtype=torch.float64, requires_grad=True)
    tensor.name = name
    return tensor


def scalars(*names: str) -> list[Any]:
    return [leaf(0.3 + 0.4 * i, name) for i, name in enumerate(names)]


def written(function: Any, *leaves: Any, **options: Any) -> Any:
    with Tape() as tape:
        function(*leaves)
    return tape.formula(**options)


# -- what is written ---------------------------------------------------------------------------------------------------
def test_the_example() -> None:
    formula = written(lambda x, w, b: torch.sin(x) * w + b, *scalars("x", "w", "b"))
    assert str(formula) == "y = w*sin(x) + b\ndy/dx = w*cos(x)\ndy/dw = sin(x)\ndy/db = 1"
    assert formula["dy/dx"] == "w*cos(x)"
    assert [line.name for line in formula.lines] == ["y", "dy/dx", "dy/dw", "dy/db"]
    with pytest.raises(KeyError, match="the lines are y, dy/dx"):
        formula["dy/dz"]


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda x, y: x * 1 + 0, "x"),
        (lambda x, y: torch.neg(-x), "x"),
        (lambda x, y: x * x, "x**2"),
        (lambda x, y: x * y / y, "x"),
        (lambda x, y: x * y * x, "x**2*y"),
        (lambda x, y: torch.exp(torch.log(x)), "x"),
        (lambda x, y: torch.log(torch.exp(x)), "x"),
        (lambda x, y: 2 * x + 3 * x - x, "4*x"),
        (lambda x, y: x - y + y, "x"),
        (lambda x, y: x - x + y, "y"),
        (lambda x, y: y + x, "x + y"),
        (lambda x, y: y - (y - x), "x"),
        (lambda x, y: (x + 1) ** 2 / (x + 1), "x + 1"),
        (lambda x, y: torch.sqrt(x) * torch.sqrt(x), "x"),
        (lambda x, y: 1 - x, "1 - x"),
        (lambda x, y: -x - y, "-x - y"),
        (lambda x, y: 2 * x + 2 * y, "2*(x + y)"),
        (lambda x, y: x * y + x * torch.sin(y), "x*(sin(y) + y)"),
        (lambda x, y: x / 3, "x/3"),
        (lambda x, y: 0.1 * x, "0.1*x"),
        (lambda x, y: torch.sin(-x), "-sin(x)"),
        (lambda x, y: torch.cos(-x), "cos(x)"),
        (lambda x, y: torch.sin(x) ** 2 + torch.cos(x) ** 2 + y, "y + 1"),
        (lambda x, y: 1 / torch.sqrt(x), "1/sqrt(x)"),
        (lambda x, y: torch.rsqrt(x) * x, "sqrt(x)"),
        (lambda x, y: x ** 3 + 2 * x ** 2 - 3 * x + 1, "x**3 + 2*x**2 - 3*x + 1"),
        (lambda x, y: (x**2) ** 0.5, "abs(x)"),
        (lambda x, y: (3 * x**4) ** 0.25 * y, "1.3160740129524924*y*abs(x)"),
        (lambda x, y: (x**2) ** 1.5, "abs(x)**3"),
        (lambda x, y: (x**4) ** 0.5, "x**2"),
        (lambda x, y: x.abs() ** 2, "x**2"),
        (lambda x, y: (x**3) ** 0.5, "x**1.5"),
        (lambda x, y: x.exp() * (-x).exp() + y, "y + 1"),
        (lambda x, y: (2 * x).exp() * (-x).exp(), "exp(x)"),
        (lambda x, y: (x + y).exp() / y.exp(), "exp(x)"),
        (lambda x, y: x.exp() * y.exp(), "exp(x)*exp(y)"),
        (lambda x, y: x.exp() ** 2, "exp(x)**2"),
        (lambda x, y: torch.sqrt(torch.exp(x)), "exp(0.5*x)"),
        (lambda x, y: torch.exp(2 * torch.log(x)), "x**2"),
        (lambda x, y: torch.exp(-torch.log(x)), "1/x"),
        (lambda x, y: torch.exp(torch.log(x) / 2), "sqrt(x)"),
        (lambda x, y: torch.relu(torch.relu(x)), "relu(x)"),
        (lambda x, y: torch.relu(x).abs(), "relu(x)"),
        (lambda x, y: torch.relu(x.exp() * y**2), "y**2*exp(x)"),
        (lambda x, y: torch.relu(x.exp() * y), "relu(y*exp(x))"),
        (lambda x, y: x.abs().abs(), "abs(x)"),
        (lambda x, y: x.floor().ceil(), "floor(x)"),
        (lambda x, y: x / (y * 2), "x/(2*y)"),
        (lambda x, y: x**y, "x**y"),
        (lambda x, y: torch.sin(torch.tensor(0.0)) + x, "x"),
        (lambda x, y: torch.maximum(x, y), "maximum(x, y)"),
        (lambda x, y: x.reshape(1, 1).reshape(1).expand(1).squeeze(0).clone(), "x"),
    ],
)  # fmt: skip
def test_identities(function: Any, text: str) -> None:
    x, y = scalars("x", "y")
    formula = written(function, x, y, order=0)
    assert formula[formula.lines[-1].name] == text


@pytest.mark.parametrize(
    ("function", "lines"),
    [
        (lambda X, W, b: X @ W, ["X @ W", "g @ W.mT", "X.mT @ g"]),
        (lambda X, W, b: (X @ W).sum(), ["sum(X @ W)", "ones(3, 2) @ W.mT", "X.mT @ ones(3, 2)"]),
        (lambda X, W, b: X.mT.mT * 2, ["2*X", "2*g"]),
        (lambda X, W, b: X + b, ["X + b", "g", "sum(g, dim=0)"]),
        (lambda X, W, b: (2 * X).sum(1), ["2*sum(X, dim=1)", "(2*g.reshape((3, 1))).expand((3, 2))"]),
        (lambda X, W, b: X.mean(), ["mean(X)", "full((3, 2), 1/6)"]),
        (lambda X, W, b: (b * b).sum(), ["sum(b**2)", "2*b"]),
        (lambda X, W, b: X[0] * b, ["b*X[0]", "select_scatter(zeros(3, 2), b*g, dim=0, index=0)", "g*X[0]"]),
        (lambda X, W, b: X[:, 1:].sum(),
         ["sum(X[:, 1:])", "slice_scatter(zeros(3, 2), ones(3, 1), dim=1, start=1)"]),
        (lambda X, W, b: torch.relu(b), ["relu(b)", "where(b > 0, g, 0)"]),
        (lambda X, W, b: torch.where(b > 0, b, 2.0), ["where(b > 0, b, 2)", "where(b > 0, g, 0)"]),
        (lambda X, W, b: torch.sigmoid(b).sum(), ["sum(sigmoid(b))", "sigmoid(b)*(1 - sigmoid(b))"]),
        (lambda X, W, b: torch.stack([b, b]).sum(), ["sum(stack([b, b]))", "2"]),
        (lambda X, W, b: torch.tensordot(b, b, 1), ["b @ b", "2*b"]),
        (lambda X, W, b: torch.tensordot(X, X, 2), ["sum(X**2)", "2*X"]),
        (lambda X, W, b: torch.einsum("ij,jk->ik", X, W), ["X @ W", "g @ W.mT", "X.mT @ g"]),
        (lambda X, W, b: torch.einsum("ij,jk->ki", X, W), ["W.mT @ X.mT", "g.mT @ W.mT", "X.mT @ g.mT"]),
        (lambda X, W, b: torch.einsum("ij,kj->ik", X, W), ["X @ W.mT", "g @ W", "g.mT @ X"]),
        (lambda X, W, b: torch.einsum("ij,j->i", X, b), ["X @ b", "einsum('i,j->ij', g, b)", "g @ X"]),
        (lambda X, W, b: torch.einsum("ij,jk,k->i", X, W, b), None),
        (lambda X, W, b: torch.einsum("ij,ij->i", X, X), None),
    ],
)  # fmt: skip
def test_tensors(function: Any, lines: list[str] | None) -> None:
    X, W, b = (
        leaf([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], "X"),
        leaf([[1.0, 2.0], [0.0, 1.0]], "W"),
        leaf([0.5, 2.0], "b"),
    )
    formula = written(function, X, W, b)
    same_as_typed(formula)
    if lines is None:
        return
    texts = [without_dtype(line.text) for line in formula.lines if not line.name.startswith("t")]
    if lines[-1] == "2":
        assert formula.evaluate()["dy/db"].tolist() == [2.0, 2.0]
        lines = [lines[0], texts[1]]
    assert texts == lines


DATA = torch.tensor([[1.0, 2.0], [0.5, -1.0], [2.0, 0.5]], dtype=torch.float64)
DATA.name = "X"


def test_reading_of_matrices_elements_and_quotients() -> None:
    x, y, A = leaf(0.5, "x"), leaf(1.5, "x_1"), leaf([[1.0, 2.0], [3.0, 5.0]], "A")
    formula = written(lambda: (x**2 + 1) / (x - y), order=2)
    assert formula["dy/dx"] == "2*x/(x - x_1) - y/(x - x_1)"
    assert "d2y/dx_1dx_1" in [line.name for line in formula.lines]
    assert r"\frac{\partial^2 y}{\partial x_{1}^2}" in formula.latex
    assert written(lambda: torch.trace(A.mT @ A))["dy/dA"] == "2*A"
    assert written(lambda: A[0, 1] * A[1, 0])["y"] == "A[0, 1]*A[1, 0]"
    assert written(lambda: A[:, 1][0] * 2)["y"] == "2*A[0, 1]"
    assert written(lambda: A[0][:1] * 2)["y"] == "2*A[0][:1]"
    latex = written(lambda: A[0].norm() + torch.linalg.vector_norm(A, 1) * x.expand(2, 2)).latex
    assert r"\left\lVert A_{[0]} \right\rVert_{2}" in latex
    assert r"\rVert_{1}" in latex
    assert r"A^{-1}" in written(lambda: torch.linalg.inv(A).sum()).latex
    assert r"2 \, \left(\sum A\right) \, \mathbf{1}" in written(lambda: A.sum() ** 2).latex


READS: dict[str, tuple[Any, list[str]]] = {
    "a variance": (lambda w: w.var(), ["y = var(w)", "dy/dw = w - mean(w)"]),
    "a deviation": (lambda w: w.std(), ["y = std(w)", "dy/dw = where(std(w) != 0, 1/(2*std(w)), 0)*(w - mean(w))"]),
    "a choice": (lambda w: torch.where(w > 0.15, w**2, -w).sum(),
                 ["y = sum(where(w > 0.15, w**2, -w))", "dy/dw = where(w > 0.15, 2*w, -1)"]),
    "a choice in vectors": (lambda w: torch.where(w > 0.15, w**2, -w),
                            ["y = where(w > 0.15, w**2, -w)", "dL/dw = where(w > 0.15, 2*g*w, -g)"]),
    "elements": (lambda w: w[0] * w[1] + w[2] ** 2, ["y = w[0]*w[1] + w[2]**2", "dy/dw = stack([w[1], w[0], 2*w[2]])"]),
    "softmax": (lambda w: (w.softmax(0) * w.log_softmax(0)).sum(), [
        "t1 = softmax(w, dim=0)", "t2 = log_softmax(w, dim=0)", "y = sum(t1*t2)", "dy/dw = t1*(t2 - y)",
    ]),
    "logsumexp": (lambda w: w.logsumexp(0), ["y = logsumexp(w, dim=0)", "dy/dw = exp(w - y)"]),
    "an outer product": (lambda w: (w[:, None] * w[None, :]).sum(),
                         ["y = sum(w.reshape((1, 3))*w.reshape((3, 1)))", "dy/dw = (2*sum(w)).expand((3,))"]),
    "a diagonal": (lambda w: torch.trace(w[:, None] * DATA.T[:1]), [
        "y = trace(X.mT[:1]*w.reshape((3, 1)))", "dy/dw = sum(X.mT[:1]*eye(3), dim=1)",
    ]),
    "a quotient": (lambda w: (w.exp() / 1.2345).sum(), ["y = sum(exp(w))/1.2345", "dy/dw = exp(w)/1.2345"]),
}  # fmt: skip


@pytest.mark.parametrize("name", READS)
def test_reading(name: str) -> None:
    function, lines = READS[name]
    formula = written(function, leaf([0.1, 0.4, 0.2], "w"))
    assert [without_dtype(line) for line in str(formula).splitlines() if line[0] != "#"] == lines
    moved = leaf([0.7, -0.4, 0.25], "w")
    result, names = function(moved), {"w": moved}
    g = torch.tensor(1.0).double() if not result.ndim else torch.tensor([1.0, 0.5, 2.0]).double()
    found = formula.evaluate(**names, **({"g": g} if result.ndim else {}))
    close(found["y"], result)
    close(list(found.values())[-1], *grad(result, moved, g))


def test_a_layer() -> None:
    x, W, b = leaf([[1.0, 2.0], [0.5, -1.0]], "x"), leaf([[1.0, -1.0], [0.3, 0.7]], "W"), leaf([0.1, 0.2], "b")
    formula = written(lambda: (torch.relu(x @ W + b) ** 2).sum())
    assert str(formula) == (
        "t1 = relu(x @ W + b)\ny = sum(t1**2)\ndy/dx = 2*(t1 @ W.mT)\ndy/dW = 2*(x.mT @ t1)\ndy/db = 2*sum(t1, dim=0)"
    )
    assert formula.operations < formula.expanded


F = torch.nn.functional
MASKED: dict[str, Any] = {
    "relu": lambda x: torch.relu(x).sqrt(),
    "relu, a power": lambda x: torch.relu(x) ** 0.5,
    "relu, rsqrt": lambda x: torch.relu(x).rsqrt(),
    "relu, twice": lambda x: torch.relu(x).sqrt() + torch.relu(x) ** 0.3,
    "relu of relu": lambda x: torch.relu(torch.relu(x)).sqrt(),
    "relu, before and after": lambda x: torch.relu(torch.relu(x).sqrt()).sqrt(),
    "relu, log": lambda x: torch.relu(x) * torch.relu(x).log(),
    "relu, norm": lambda x: torch.relu(x).norm().sqrt(),
    "threshold": lambda x: F.threshold(x, 0, 0).sqrt(),
    "relu6": lambda x: F.relu6(x).sqrt(),
    "clamp": lambda x: x.clamp(min=0).sqrt(),
    "maximum": lambda x: torch.maximum(x, torch.tensor(0.0)).sqrt(),
    "where": lambda x: torch.where(x > 0, x, 0.0).sqrt(),
    "masked_fill": lambda x: x.masked_fill(x < 0, 0.0).sqrt(),
    "hardswish": lambda x: F.hardswish(x - 4).sqrt(),
    "hardsigmoid": lambda x: F.hardsigmoid(x - 5).sqrt(),
    "lp_pool": lambda x: F.lp_pool1d(x.relu()[None, None], 3.0, 3),
    "a product with a mask": lambda x: (x * (x > 0)).sqrt(),
    "a slope of 0": lambda x: F.leaky_relu(x, 0.0).sqrt(),
    "a weight of 0": lambda x: F.prelu(x, torch.tensor([0.0])).sqrt(),
    "elu of 0": lambda x: F.elu(x, 0.0).sqrt(),
    "a mask before a power": lambda x: torch.relu((x * 0).sqrt()),
}


@pytest.mark.parametrize("name", MASKED)
def test_infinities_behind_a_mask_are_as_in_a_backward_pass(name: str) -> None:
    x = torch.tensor([-1.0, -2.0, -0.5], requires_grad=True)
    x.name = "x"
    with Tape() as tape:
        y = MASKED[name](x).sum()
    slope = tape.formula().evaluate()["dy/dx"]
    np.testing.assert_array_equal(slope.numpy(), grad(y, x)[0].numpy())


def test_the_approximate_gelu_has_a_formula() -> None:
    x = leaf([0.5, -1.0], "x")
    formula = written(lambda: F.gelu(x, approximate="tanh").sum(), order=2)
    assert "backward" not in str(formula)
    assert not formula.notes
    y = F.gelu(x, approximate="tanh").sum()
    close(formula.evaluate()["dy/dx"], grad(y, x)[0])


def test_masks_are_choices() -> None:
    x, w = leaf([0.5, -1.0], "x"), leaf([2.0, 3.0], "w")
    lines = {
        "where(x > 0, 1/(2*sqrt(relu(x))), 0)": lambda: torch.relu(x).sqrt().sum(),
        "-where(x > 0, w, 0)": lambda: -(torch.relu(x) * w).sum(),
        "3*where(x > 0, w, 0)": lambda: (torch.relu(x) * w + 2 * w * torch.relu(x)).sum(),
        "where(x > 0, cos(relu(x)) + w, 0)": lambda: (w * x.relu() + x.relu().sin()).sum(),
        "3*relu(x)**2": lambda: (torch.relu(x) ** 3).sum(),
    }
    for line, function in lines.items():
        formula = written(function)
        assert formula["dy/dx"] == line
        same_as_typed(formula)


def test_second_derivatives() -> None:
    (x, w) = scalars("x", "w")
    formula = written(lambda: x**3 * torch.sin(w), order=2)
    assert formula["d2y/dx2"] == "6*x*sin(w)"
    assert formula["d2y/dxdw"] == "3*x**2*cos(w)"
    assert formula["d2y/dw2"] == "-x**3*sin(w)"
    a = leaf([1.0, 2.0], "a")
    formula = written(lambda: (a**3).sum(), order=2)
    assert formula["d(v*dy/da)/da"] == "6*a*v"
    assert formula.evaluate(v=torch.tensor([1.0, 0.0]))["d(v*dy/da)/da"].tolist() == [6.0, 0.0]


def test_a_derivative_has_a_formula_too() -> None:
    (x,) = scalars("x")
    with Tape() as tape:
        (slope,) = grad(x**4, x, create_graph=True)
    formula = tape.formula(slope)
    assert (formula["y"], formula["dy/dx"]) == ("4*x**3", "12*x**2")


def test_results_and_gradients_that_are_given() -> None:
    a = leaf([1.0, 2.0], "a")
    with Tape() as tape:
        y, z = a.sin(), a.cos()
    both = tape.formula([y, z])
    assert str(both).startswith("# g1 = dL/dy1\n# g2 = dL/dy2\n")
    assert both["dL/da"] == "g1*cos(a) - g2*sin(a)"
    assert tape.formula(y, gradient=1)["dL/da"] == "cos(a)"
    assert tape.formula(y, gradient=torch.tensor([2.0, 2.0]).double())["dL/da"] == "2*cos(a)"
    y.name = "energy"
    assert tape.formula(y, gradient=1)["dL/denergy"] == "ones(2, dtype=float64)"
    both = tape.formula([y, z], gradient=[3.0, torch.tensor([1.0, 2.0]).double()])
    assert str(both).splitlines()[-3:] == [
        "dL/denergy = full((2,), 3, dtype=float64)", "dL/dy1 = c", "dL/da = 3*cos(a) - c*sin(a)",
    ]  # fmt: skip


@pytest.mark.parametrize("gradient", [2.0, torch.tensor(2.0).double()])
def test_what_is_given_as_a_gradient_is_said(gradient: Any) -> None:
    (x,) = scalars("x")
    formula = written(lambda: torch.sin(x), gradient=gradient, order=2)
    assert str(formula) == "y = sin(x)\ndL/dy = 2\ndL/dx = 2*cos(x)\nd2L/dx2 = -2*sin(x)"
    assert r"\frac{dL}{dy} &= 2 \\" in formula.latex
    assert r"\frac{dL}{dx} &= 2 \, \cos\left(x\right) \\" in formula.latex
    same_as_typed(formula)
    assert [line.name for line in written(lambda: torch.sin(x), gradient=gradient, order=0).lines] == ["y"]
    for one in (1, torch.tensor(1.0).double()):  # the derivative of y itself
        assert str(written(lambda: torch.sin(x), gradient=one)) == "y = sin(x)\ndy/dx = cos(x)"


# -- names -------------------------------------------------------------------------------------------------------------
def test_names() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    w = torch.tensor([3.0, 4.0], requires_grad=True)
    c = torch.tensor([5.0, 6.0])
    assert written(lambda: (x * x).sum())["y"] == "sum(x**2)"
    assert written(lambda: (x * w * c).sum())["y"] == "sum(c*x1*x2)"
    x.name, w.name, c.name = "lambda", "sum", "data.scale"
    formula = written(lambda: (x * w * c).sum())
    assert formula["y"] == "sum(data_scale*lambda_*sum1)"
    assert formula.names == {"lambda_": x, "sum1": w, "data_scale": c}
    value = formula.evaluate(**{"data.scale": torch.tensor([1.0, 0.0])})["y"]
    assert value.item() == 3.0


@pytest.mark.parametrize(
    ("name", "identifier"),
    [("x²", "x2"), ("größe", "größe"), ("日本", "日本"), ("ﬁt", "fit"), ("a b", "a_b"), ("1", "_1"), ("None", "None_"),
     ("€", "_"), ("__builtins__", "__builtins__"), ("dy/dx", "dy_dx"), ("t", "t"), ("exp", "exp"), ("t1", "t1"), ("L", "L")],
)  # fmt: skip
def test_names_that_are_no_identifiers(name: str, identifier: str) -> None:
    a, b = leaf([0.5, 2.0], name), leaf([1.0, 3.0], "b")
    formula = written(lambda: (torch.sin(a) * b + a.sum() * torch.sin(a)).sum(), order=2)
    assert formula.names.keys() >= {identifier, "b"}
    same_as_typed(formula)
    given = {identifier: torch.tensor([1.0, 2.0]).double()}
    assert formula.evaluate(**given)["y"].item() == formula.evaluate(**{name: given[identifier]})["y"].item()


def test_shapes_that_are_special() -> None:
    e, s = leaf([], "e"), leaf(0.3, "s")
    formula = written(lambda: (e * 2).sum() + s)
    assert str(formula) == "y = s\ndy/de = full((0,), 2, dtype=float64)\ndy/ds = 1"
    assert written(lambda: (e * 2).mean())["y"] == "mean(2*e)"
    same_as_typed(formula)
    assert written(lambda: torch.ones(3).double()[1] * s)["y"] == "s"
    assert written(lambda: torch.ones(3, 2).double().T[1:].diagonal() * s)["y"] == "s.expand((1,))"


def test_names_of_parameters() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
    with Tape(params=dict(model.named_parameters())) as tape:
        loss = model(torch.randn(4, 2)).sum()
    formula = tape.formula(loss)
    assert set(formula.names) == {"weight_0", "bias_0", "weight_2", "bias_2", "c"}
    loss.backward()
    found = formula.evaluate()
    for number, layer in ((0, model[0]), (2, model[2])):
        for kind in ("weight", "bias"):
            assert torch.allclose(found[f"dy/d{kind}_{number}"], getattr(layer, kind).grad, atol=1e-6)


# -- LaTeX -------------------------------------------------------------------------------------------------------------
def test_latex() -> None:
    formula = written(lambda x, w, b: torch.sin(x) * w / 3 + b**2, *scalars("x", "w_1", "beta"))
    assert formula.latex == (
        "\\begin{aligned}\n"
        "y &= \\beta^{2} + \\frac{w_{1} \\, \\sin\\left(x\\right)}{3} \\\\\n"
        "\\frac{\\partial y}{\\partial x} &= \\frac{w_{1} \\, \\cos\\left(x\\right)}{3} \\\\\n"
        "\\frac{\\partial y}{\\partial w_{1}} &= \\frac{\\sin\\left(x\\right)}{3} \\\\\n"
        "\\frac{\\partial y}{\\partial \\beta} &= 2 \\, \\beta\n"
        "\\end{aligned}"
    )
    assert formula._repr_latex_().startswith("$$\n\\begin{aligned}")


def test_latex_of_matrices_and_functions() -> None:
    X, W = leaf([[1.0, 2.0]], "X"), leaf([[1.0], [2.0]], "weight")
    latex = written(lambda: torch.exp(X @ W).sum(1).mean() + torch.sqrt(X.abs()).sum()).latex
    for part in (r"X \, \mathrm{weight}", r"e^{", r"\sum", r"\sqrt{\left|X\right|}", r"X^{\top}"):
        assert part in latex
    assert r"\odot" in written(lambda: (X * X.sin()).sum()).latex


def test_latex_braces_match_for_every_sample() -> None:
    for cases in list(DIFFERENTIABLE.values())[::4]:
        for case in cases[:1]:
            latex = recorded(case, case.inputs)[1].latex
            assert latex.count("{") == latex.count("}")
            assert latex.count(r"\left") == latex.count(r"\right")
            assert not scripted_twice(latex), latex


def scripted_twice(latex: str) -> list[str]:
    """Where a base has two exponents or two indices, which TeX refuses: ``x^{2}^{3}``."""
    found, opened = [], []
    last = ""  # the script that ends here
    for place, character in enumerate(latex):
        if character == "{":
            opened.append(latex[place - 1] if latex[place - 1 : place] in ("^", "_") else "")
            last = ""
        elif character == "}":
            script = opened.pop()
            last = script if script else ""
        elif character in "^_" and latex[place - 1] != "\\":
            if last == character:
                found.append(latex[max(0, place - 20) : place + 5])
        else:
            last = ""
    return found


def test_powers_of_what_has_an_exponent_are_in_braces() -> None:
    assert scripted_twice(r"x^{\top}^{2}")
    assert not scripted_twice(r"{x^{\top}}^{2} x_{1}^{2}")
    X = leaf([[1.0, 2.0], [3.0, 4.0]], "X")
    latex = written(lambda: (X.mT**2 @ X).sum() + (X.exp() ** 2).sum() + (X.mT**X.mT).sum()).latex
    assert r"{X^{\top}}^{2}" in latex
    assert not scripted_twice(latex)


@pytest.mark.parametrize(
    ("number", "python", "latex"),
    [
        (-1e-7, "-1e-07*x", r"-10^{-7} \, x"),
        (2.5e10, "25000000000*x", r"2.5 \cdot 10^{10} \, x"),
        (1e20, "1e+20*x", r"10^{20} \, x"),
        (-3e-9, "-3e-09*x", r"-3 \cdot 10^{-9} \, x"),
        (1000.0, "1000*x", r"1000 \, x"),
        (123456.0, "123456*x", r"123456 \, x"),
        (0.25, "0.25*x", r"0.25 \, x"),
        (1 / 3, "x/3", r"\frac{x}{3}"),
        (math.inf, "inf*x", r"\infty \, x"),
        (math.nan, "nan*x", r"\mathrm{nan} \, x"),
    ],
)
def test_numbers_of_every_size(number: float, python: str, latex: str) -> None:
    (x,) = scalars("x")
    formula = written(lambda: number * x)
    assert formula["y"] == python
    assert f"y &= {latex} \\\\" in formula.latex
    same_as_typed(formula)


def test_powers_of_ten_beside_others() -> None:
    (x,) = scalars("x")
    latex = written(lambda: x.sin() + 1e-8).latex
    assert r"y &= \sin\left(x\right) + 10^{-8} \\" in latex
    latex = written(lambda: 2.5e-7**x + x**1e-5).latex
    assert r"{\left(2.5 \cdot 10^{-7}\right)}^{x}" in latex
    assert r"x^{10^{-5}}" in latex
    assert not scripted_twice(latex)


def test_constants_that_are_not_a_number() -> None:
    x = leaf([0.5, 1.0], "x")
    formula = written(lambda: (x * torch.tensor([math.nan, math.nan]).double()).sum())
    assert formula["y"] == "nan*sum(x)"
    assert list(formula.names) == ["x"]
    assert formula.evaluate()["dy/dx"].isnan().all()


# -- it evaluates to what the tape says --------------------------------------------------------------------------------
def recorded(case: Sample, arrays: Any, order: int = 1) -> tuple[list[Any], Any, list[Any], list[Any]]:
    """The inputs, the formula, the results, and a gradient for each."""
    inputs = [torch.from_numpy(np.array(a)).requires_grad_() for a in arrays]
    with Tape() as tape:
        out = case.call(torch, *inputs)
    results = [o for o in (out if isinstance(out, (tuple, list)) else (out,)) if o.requires_grad]
    rng = np.random.default_rng(7)
    starts = [torch.from_numpy(rng.normal(size=tuple(r.shape))) for r in results]
    return inputs, tape.formula(results, gradient=starts, order=order), results, starts


def check(formula: Any, found: Any, inputs: list[Any], theirs: list[Any], results: list[Any], gradients: Any) -> None:
    """The values of a formula's lines against results and gradients; *inputs* are the leaves that it was made from."""
    names = {id(tensor): name for name, tensor in formula.names.items()}
    for value, result in zip(found.values(), results):
        close(value, result)
    derivatives = {name.partition("/d")[2]: value for name, value in found.items() if "/d" in name}
    for ours, gradient in zip(inputs, gradients):
        value = derivatives.get(names.get(id(ours), ""))
        if gradient is None or value is None:
            known = gradient if value is None else value
            assert known is None or not known.detach().numpy().any()
        else:
            close(value, gradient)


def close(ours: Any, theirs: Any) -> None:
    assert ours.dtype is theirs.dtype
    a, b = ours.detach().numpy(), theirs.detach().numpy()
    assert a.shape == b.shape
    scale = max(1.0, float(np.abs(b[np.isfinite(b)]).max(initial=0.0)))
    np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9 * scale)


DIFFERENTIABLE = {
    name: [c for c in cases if c.order and _op.rows[name].formulas] for name, cases in sorted(all_samples().items())
}


@pytest.mark.parametrize("name", [name for name, cases in DIFFERENTIABLE.items() if cases])
def test_every_row_evaluates_to_the_tapes_numbers_at_other_values(name: str) -> None:
    for case in DIFFERENTIABLE[name]:
        inputs, formula, results, starts = recorded(case, case.inputs)
        moved = [np.asarray(a * (1 + 1e-3 * np.cos(np.arange(a.size).reshape(a.shape)))) for a in case.inputs]
        theirs, _, results, _ = recorded(case, moved, order=0)
        names = {id(tensor): n for n, tensor in formula.names.items()}
        found = formula.evaluate(**{names[id(i)]: t for i, t in zip(inputs, theirs) if id(i) in names})
        check(formula, found, inputs, theirs, results, grad(results, theirs, starts, allow_unused=True))


@pytest.mark.parametrize("copied", [copy.deepcopy, copy.copy, lambda formula: pickle.loads(pickle.dumps(formula))])
def test_copies_and_pickles_of_every_rows_formula(copied: Any) -> None:
    failed = []
    for name, cases in DIFFERENTIABLE.items():
        for case in cases[:1]:
            _, formula, _, _ = recorded(case, case.inputs)
            values = formula.evaluate()
            made = copied(formula)
            same = str(made) == str(formula) and made.latex == formula.latex
            if not same or not all(
                [np.array_equal(v.detach(), values[n].detach(), True) for n, v in made.evaluate().items()]
            ):
                failed.append(name)
    assert not failed


def test_a_copy_has_values_of_its_own() -> None:
    x, c = leaf([0.5, 1.0], "x"), leaf([2.0, 3.0], "c")
    formula = written(lambda: (x * c).sum(), order=1)
    made = copy.deepcopy(formula)
    with torch.no_grad():
        x.fill_(7.0)
    assert formula.evaluate()["y"].item() == 35.0
    assert made.evaluate()["y"].item() == 4.0
    assert made.names["x"] is not x
    assert made.evaluate(x=[1.0, 1.0])["y"].item() == 5.0
    history = c * 2
    with Tape() as tape:
        y = (x * history.detach()).sum()
    made = pickle.loads(pickle.dumps(tape.formula(y, gradient=(history.sum() * 1).detach())))
    assert made.evaluate()["y"].item() == 70.0


@pytest.mark.parametrize("name", [name for name, cases in DIFFERENTIABLE.items() if cases])
def test_every_row_has_second_derivatives_that_evaluate(name: str) -> None:
    case = DIFFERENTIABLE[name][0]
    if case.order < 2:
        return
    inputs, formula, results, starts = recorded(case, case.inputs, order=2)
    found = formula.evaluate()
    names = [{id(t): n for n, t in formula.names.items()}.get(id(i)) for i in inputs]
    first = grad(results, inputs, starts, allow_unused=True, create_graph=True)
    for i, slope in enumerate(first):
        if slope is None or not slope.requires_grad:
            continue
        second = grad(slope, inputs, torch.ones_like(slope), allow_unused=True, retain_graph=True)
        for j, curvature in enumerate(second):
            if curvature is None or (j < i and not inputs[i].ndim and not inputs[j].ndim):
                continue
            ends = (f"/d{names[i]})/d{names[j]}", f"/d{names[i]}d{names[j]}", f"/d{names[i]}2" if i == j else "")
            values = [
                v for n, v in found.items() if any([e and n.endswith(e) for e in ends]) and (n[:2] in ("d(", "d2"))
            ]
            if not values:
                assert not curvature.numpy().any()
            else:
                close(values[0], curvature)


UNARY = [
    torch.sin, torch.tanh, torch.sigmoid, torch.neg, torch.square, torch.relu, torch.abs, torch.clone,
    lambda a: torch.exp(torch.tanh(a)),
    lambda a: torch.log(a * a + 1),
    lambda a: torch.sqrt(a * a + 1),
    lambda a: torch.rsqrt(a * a + 1),
    lambda a: a * 3 - 1,
    lambda a: a / 4,
    lambda a: a**3,
    lambda a: 1 / (a * a + 2),
    lambda a: a - a.detach(),
    lambda a: torch.where(a > 0.2, a, 0.5),
    lambda a: a.reshape(-1),
    lambda a: a.mT @ a if a.ndim == 2 else a,
    lambda a: a.mean(-1, keepdim=True) if a.ndim else a,
    lambda a: a.sum(0) if a.ndim else a,
    lambda a: torch.softmax(a, -1) if a.ndim else a,
    lambda a: a[..., :1] if a.ndim else a,
    lambda a: a.var() if a.numel() > 1 else a,
]  # fmt: skip
BINARY = [
    torch.add, torch.sub, torch.mul, torch.maximum, torch.matmul,
    lambda a, b: a / (b * b + 1),
    lambda a, b: a * b / (1 + b**2),
    lambda a, b: torch.atan2(a, b * b + 1),
    lambda a, b: torch.lerp(a, b, 0.25),
]  # fmt: skip
STEP = st.tuples(st.integers(0, len(UNARY) + len(BINARY) - 1), st.integers(0, 30), st.integers(0, 30))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps=st.lists(STEP, max_size=10), seed=st.integers(0, 2**16))
def test_random_graphs(steps: list[tuple[int, int, int]], seed: int) -> None:
    def function(leaves: list[Any]) -> Any:
        values = list(leaves)
        for which, first, second in steps:
            a, b = values[-1 - first % len(values)], values[-1 - second % len(values)]
            try:
                made = UNARY[which](a) if which < len(UNARY) else BINARY[which - len(UNARY)](a, b)
            except RuntimeError:  # shapes that do not go together
                continue
            if made.numel() and made.abs().max().item() < 50:
                values.append(made)
        return sum([v.sum() for v in values[-3:]])

    def leaves(seed: int) -> list[Any]:
        rng = np.random.default_rng(seed)
        return [torch.from_numpy(rng.uniform(0.3, 1.5, shape)).requires_grad_() for shape in ((2, 2), (2,), ())]

    inputs = leaves(seed)
    with Tape() as tape:
        result = function(inputs)
    formula = tape.formula(result)
    check(formula, formula.evaluate(), inputs, inputs, [result], grad(result, inputs, allow_unused=True))


def test_a_choice_has_the_shape_of_a_number_that_is_written_without_one() -> None:
    x, y = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor(0.5, requires_grad=True)
    with Tape() as tape:
        zeros = x - x
        result = y + zeros.sum() + torch.maximum(zeros, y).sum()
    formula = tape.formula(result)
    check(formula, formula.evaluate(), [x, y], [x, y], [result], grad(result, [x, y], allow_unused=True))


# -- what is not known, and what is wrong ------------------------------------------------------------------------------
def test_a_tape_that_was_read_from_a_result() -> None:
    x, w = scalars("x", "w")
    tape = Tape(torch.sin(x) * w + 1)
    formula = tape.formula()
    assert str(formula) == "y = w*sin(x) + c\ndy/dx = w*cos(x)\ndy/dw = sin(x)"
    with pytest.raises(TypeError, match="c must be given: a graph keeps only what gradients need"):
        formula.evaluate()
    assert formula.evaluate(c=1.0)["dy/dw"].item() == pytest.approx(np.sin(0.3))
    x = torch.tensor([1.0, -1.0], requires_grad=True)
    formula = Tape(torch.nn.functional.threshold(x, 0.1, 20.0).sum()).formula()
    assert formula["y"] == "sum(threshold(x, threshold=0.1, value=...))"
    with pytest.raises(TypeError, match="the value of threshold is not known"):
        formula.evaluate()


def test_wrong_uses() -> None:
    x = torch.tensor(2.0, requires_grad=True)
    with pytest.raises(RuntimeError, match="nothing was recorded in this block"):
        Tape().formula()
    with Tape() as tape:
        y = x * x
    with pytest.raises(ValueError, match="order must be 0, 1 or 2, not 3"):
        tape.formula(order=3)
    with pytest.raises(TypeError, match="element 0 of the results must be a Tensor, not int"):
        tape.formula(3)
    with pytest.raises(TypeError, match="'z' is no name of this formula; it has x"):
        tape.formula().evaluate(z=1.0)
    y.backward()
    with pytest.raises(RuntimeError, match="before backward"):
        tape.formula()


@pytest.mark.parametrize("of_a_result", [True, False])
def test_a_graph_that_was_freed_says_what_to_do(of_a_result: bool) -> None:
    x = leaf([0.5, 1.0], "x")
    optimizer = torch.optim.SGD([x], lr=0.1)
    with Tape() as tape:
        y = (x.sin() * x).sum()
        y.backward()
        optimizer.step()
    tape = Tape(y) if of_a_result else tape
    with pytest.raises(RuntimeError, match=r"before backward\(\).*backward\(retain_graph=True\)") as raised:
        tape.formula(y)
    assert "second time" in str(raised.value.__cause__)
    with Tape() as tape:
        y = (x.sin() * x).sum()
        y.backward(retain_graph=True)
    assert tape.formula()["dy/dx"] == "x*cos(x) + sin(x)"


def test_the_function_alone_needs_no_graph() -> None:
    x = leaf([0.5, 1.0], "x")
    with Tape() as tape:
        y = (x.sin() * x).sum()
        y.backward()
    assert str(tape.formula(y, order=0)) == "y = sum(x*sin(x))"


def test_numbers_that_python_read_are_noted() -> None:
    x = leaf([0.5, 2.0], "x")
    with Tape() as tape:
        y = (x * x.max().item()).sum()
        y.item()  # of no result
    assert str(tape.formula()).splitlines()[:2] == [
        "# 2.0: read from the result of max by item(), as recorded",
        "y = 2*sum(x)",
    ]
    assert written(lambda: (x * float(x.detach()[0])).sum()).notes == [
        "0.5: read from the result of select by item(), as recorded"
    ]
    assert written(lambda: x.sum() * x.tolist()[1]).notes == ["[0.5, 2.0]: read from x by tolist(), as recorded"]
    with Tape() as tape:
        y = x.sum()
        z = y * 2
        z.item()
        z * 3
    assert not tape.formula(z).notes


def test_results_that_a_tape_did_not_record() -> None:
    x = leaf([1.0, 2.0], "x")
    with Tape() as tape:
        y = x * 2
        part = y[0]
    with Tape() as other:
        z = x * 3
    message = r"element 0 of the results, a tensor of shape \(2,\), is no result that was recorded on this tape"
    for stranger in (z, torch.tensor([1.0, 2.0]), y * 1):
        with pytest.raises(RuntimeError, match=message):
            tape.formula(of=stranger)
        with pytest.raises(RuntimeError, match=message):
            Tape(y).formula(of=stranger)
    with pytest.raises(RuntimeError, match="element 1 of the results"):
        other.formula(of=[z, y])
    with pytest.raises(ValueError, match="`of` is empty"):
        tape.formula(of=[])
    assert (
        str(tape.formula(of=x, gradient=1)) == "y = x\ndL/dy = ones(2, dtype=float64)\ndL/dx = ones(2, dtype=float64)"
    )
    assert tape.formula(of=part)["y"] == "(2*x)[0]"


@pytest.mark.parametrize("write", [lambda y: y.mul_(3), lambda y: y[0].zero_(), lambda y: y.detach().fill_(1.0)])
def test_a_result_that_was_written_after_the_tape_had_ended(write: Any) -> None:
    x = leaf([1.0, 2.0], "x")
    with Tape() as tape:
        y = x * 2
    read = Tape(y)
    assert tape.formula(of=y, gradient=1)["dL/dx"] == "full((2,), 2, dtype=float64)"
    write(y)
    for each in (tape, read):
        with pytest.raises(RuntimeError, match="was written in place after the tape had ended"):
            each.formula(of=y)
    with Tape() as tape:
        y = x * 2
        write(y)
        z = y + x
    assert tape.formula(of=z).evaluate()["y"].tolist() == z.tolist()


def test_a_result_that_was_written_between_two_parts_of_a_block() -> None:
    x, tape = leaf([1.0, 2.0], "x"), Tape()
    with tape:
        y = x * 2
    with tape:
        z = y * x
    assert tape.formula(z)["y"] == "2*x**2"
    y.mul_(3)
    with tape:
        z = y + x
    with pytest.raises(RuntimeError, match="the result of entry 0, mul, was written in place between two parts"):
        tape.formula(z)


def test_gradients_that_do_not_fit() -> None:
    x = leaf([1.0, 2.0], "x")
    with Tape() as tape:
        y, z = x * 2, x * 3
    with pytest.raises(ValueError, match="there are 2 results, but 1 gradients"):
        tape.formula([y, z], gradient=[torch.ones(2).double()])
    with pytest.raises(TypeError, match="the gradient of result 1 must be a Tensor or a number, not str"):
        tape.formula([y, z], gradient=[1, "a"])
    with pytest.raises(ValueError, match=r"the gradient of result 0 has shape \(3,\), but the result has \(2,\)"):
        tape.formula(y, gradient=torch.ones(3).double())
    assert tape.formula([y, z], gradient=[1, 2])["dL/dx"] == "full((2,), 8, dtype=float64)"


def test_second_derivatives_of_a_result_with_an_open_constant() -> None:
    x, w = scalars("x", "w")
    formula = Tape(torch.sin(x) * w + torch.tensor(1.0)).formula(order=2)
    assert [line.name for line in formula.lines] == ["y", "dy/dx", "dy/dw", "d2y/dx2", "d2y/dxdw"]
    a, v = leaf([1.0, 2.0], "a"), leaf(0.5, "v")
    formula = Tape((a**3).sum() * v + torch.tensor(1.0)).formula(order=2)
    assert formula["d(v1*dy/da)/da"] == "6*a*v*v1"


# -- values that are given ---------------------------------------------------------------------------------------------
def test_values_must_fit_what_was_recorded() -> None:
    x, i = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([1, 0, 1])
    x.name, i.name = "x", "i"
    with Tape() as tape:
        y = (x[i] * 2).sum()
    formula = tape.formula(y)
    with pytest.raises(ValueError, match=r"'x' has shape \(3,\), but had \(2,\) where the function was recorded"):
        formula.evaluate(x=torch.ones(3))
    with pytest.raises(ValueError, match=r"'x' has shape \(1, 2\)"):
        formula.evaluate(x=[[1.0, 2.0]])
    with pytest.raises(ValueError, match=r"'x' has shape \(\)"):
        formula.evaluate(x=torch.tensor(1.0))
    with pytest.raises(TypeError, match=r"'i' must be of torch\.int64, as it was, not of torch\.float64"):
        formula.evaluate(i=[0.5, 1.0, 1.0])
    with pytest.raises(TypeError, match="'x' must be a Tensor, an ndarray, numbers or a number, not str"):
        formula.evaluate(x="1")
    with pytest.raises(TypeError, match="not an array of complex128"):
        formula.evaluate(x=np.ones(2) * 1j)
    with pytest.raises(TypeError, match="'z' is no name of this formula; it has x, i"):
        formula.evaluate(z=1.0)
    assert formula.evaluate(x=3)["y"].item() == 18.0
    assert formula.evaluate(x=[3, 4], i=np.array([1, 1, 1]))["y"].item() == 24.0


def test_wider_values_are_computed_with() -> None:
    x = torch.tensor([[0.1, 0.7], [0.3, 0.2]], requires_grad=True)
    w = torch.tensor([0.3, 0.9], requires_grad=True)
    x.name, w.name = "x", "w"

    def function(x: Any, w: Any) -> Any:
        return (torch.where(x > 0.2, x, 1.5) @ w).tanh().sum() + x[0].max() / 3

    with Tape() as tape:
        y = function(x, w)
    formula = tape.formula(y)
    wide = torch.tensor([[0.11, 0.7], [0.3, 0.21]], dtype=torch.float64, requires_grad=True)
    result = function(wide, w.detach().double())
    for value in (wide, wide.detach().numpy()):
        found = formula.evaluate(x=value)
        close(found["y"], result)
        close(found["dy/dx"], *grad(result, wide, retain_graph=True))
    for value in (wide.float(), wide.tolist(), 1, np.ones((2, 2), np.float16)):
        assert {v.dtype for v in formula.evaluate(x=value).values()} == {torch.float32}
    narrow = written(function, leaf(x.tolist(), "x"), leaf(w.tolist(), "w")).evaluate(x=x.detach())
    assert {v.dtype for v in narrow.values()} == {torch.float64}


@pytest.mark.parametrize("default", [torch.float32, torch.float64])
def test_zeros_and_ones_say_their_dtype_where_it_is_not_the_default(default: Any) -> None:
    before = torch.get_default_dtype()
    torch.set_default_dtype(default)
    try:
        formulas = [written(lambda x: x[1:].sum(), torch.ones(2, dtype=kind).requires_grad_())
                    for kind in (torch.float32, torch.float64)]  # fmt: skip
        texts = [formula["dy/dx"] for formula in formulas]
    finally:
        torch.set_default_dtype(before)
    kinds = ["" if kind is default else f", dtype={str(kind)[6:]}" for kind in (torch.float32, torch.float64)]
    assert texts == [f"slice_scatter(zeros(2{k}), ones(1{k}), dim=0, start=1)" for k in kinds]
    assert [f.evaluate()["dy/dx"].dtype for f in formulas] == [torch.float32, torch.float64]


def test_integers_and_bools_are_written_as_such() -> None:
    c = torch.tensor([1, 2, 3])
    c.name = "c"
    formula = written(lambda: (c * 2 + 1).sum() * 3)
    assert formula["y"] == "3*sum(2*c + 1)"
    same_as_typed(formula)
    formula = written(lambda: (c > 1) & torch.tensor([True, True, True]))
    same_as_typed(formula)
    formula = written(lambda: c + (2**62 + 1))
    assert formula["y"] == "c + 4611686018427387905"
    assert formula.evaluate()["y"].tolist() == [4611686018427387906, 4611686018427387907, 4611686018427387908]


def test_nothing_is_changed() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with Tape() as tape:
        y = (x * x).sum()
    before = len(tape)
    tape.formula(order=2)
    assert (len(tape), x.grad) == (before, None)
    y.backward()
    assert x.grad is not None
    assert x.grad.tolist() == [2.0, 4.0]


def test_in_place_and_custom_functions() -> None:
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, a: Any, scale: float) -> Any:
            ctx.save_for_backward(a)
            ctx.scale = scale
            return scale * a**3

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (a,) = ctx.saved_tensors
            return 3 * ctx.scale * g * a**2, None

    a, b = leaf([1.0, 2.0, 3.0], "a"), leaf([0.5, 0.25], "b")

    def function(a: Any, b: Any) -> Any:
        y = a * 1
        y.mul_(2)
        y[1:] = b
        y[0].add_(b[0])
        return Cube.apply(y, 0.5).sum()

    with Tape() as tape:
        result = function(a, b)
    formula = tape.formula()
    check(formula, formula.evaluate(), [a, b], [a, b], [result], grad(result, [a, b]))
    moved = [leaf([2.0, 1.0, 1.0], "a"), leaf([1.5, 3.0], "b")]
    result = function(*moved)
    check(formula, formula.evaluate(a=moved[0], b=moved[1]), [a, b], moved, [result], grad(result, moved))


def scaled_by(name: str, factor: float) -> Any:
    class Made(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, scale: Any, a: Any) -> Any:
            ctx.save_for_backward(a)
            ctx.scale = scale
            return scale * factor * a**2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (a,) = ctx.saved_tensors
            return None, 2 * ctx.scale * factor * g * a

    Made.__name__ = name
    return Made


def test_custom_functions_of_one_name_and_of_other_arguments() -> None:
    x = leaf([1.0, 2.0], "x")
    square, exp = scaled_by("Square", 1.0), scaled_by("exp", 3.0)

    def function(x: Any) -> Any:
        made = scaled_by("Square", 10.0).apply(1.0, x) + exp.apply(1.0, x) + x.exp()
        return (square.apply(0.5, x) - square.apply(2.0, x) + made).sum()

    formula = written(function, x)
    assert {"Square", "Square1", "exp", "exp1"} <= formula.functions.keys()
    assert "Square1(0.5, x) - Square1(2.0, x)" in str(formula)
    moved = leaf([0.3, 0.7], "x")
    result = function(moved)
    check(formula, formula.evaluate(x=moved), [x], [moved], [result], grad(result, moved))
    x.name = "Square"
    formula = written(lambda x: square.apply(0.5, x).sum(), x)
    assert formula["y"] == "sum(Square(0.5, Square1))"
    assert formula.evaluate()["y"].item() == 2.5


def test_what_happens_inside_of_an_in_place_call_is_not_frozen_silently() -> None:
    x = leaf([[1.0, 2.0], [0.1, 0.2]], "x")
    formula = written(lambda: (x * 1).renorm_(2, 0, 1.0).sum())
    assert formula.notes[-1].endswith("inside of an in-place call, as recorded")
    assert formula.evaluate()["y"].item() == pytest.approx(3 / 5**0.5 + 0.3)
    with pytest.raises(TypeError, match=r"values inside of an in-place call .* call it out of place"):
        formula.evaluate(x=x)
    moved = leaf([[0.1, 2.0], [1.1, 0.2]], "x")
    result = moved.renorm(2, 0, 1.0).sum()
    formula = written(lambda: x.renorm(2, 0, 1.0).sum())
    check(formula, formula.evaluate(x=moved), [x], [moved], [result], grad(result, moved))


def test_statistics_that_a_call_moves_are_read_before_and_after() -> None:
    norm, x = torch.nn.BatchNorm1d(2).double(), leaf([[1.0, 2.0], [0.1, 0.2]], "x")
    norm.running_mean.name = "m"

    def function() -> Any:
        before = norm.running_mean * 2
        return (norm(x) * norm.running_mean + before).sum()

    with Tape() as tape:
        y = function()
    formula = tape.formula(y, order=0)
    assert formula.names["m"].tolist() == [0.0, 0.0]
    close(formula.evaluate()["y"], y)


def test_as_strided_of_results() -> None:
    x = leaf([[1.0, 2.0], [0.1, 0.2]], "x")
    formula = written(lambda x: (x * 2).as_strided((2,), (1,), 1).sum(), x)
    assert formula["y"] == "sum(as_strided((2*x).contiguous(), (2,), (1,), 1))"
    assert formula.evaluate(x=[[1.0, 3.0], [5.0, 7.0]])["y"].item() == 16.0


def test_float32_stays_float32() -> None:
    x = torch.tensor([0.5, 2.0], requires_grad=True)
    with Tape() as tape:
        y = (torch.exp(x) * 0.1).mean()
    found = tape.formula().evaluate()
    assert [v.dtype for v in found.values()] == [torch.float32] * 2
    assert torch.equal(found["y"], y.detach())
    assert "0.1" in tape.formula()["y"]


def test_deep_graphs_have_short_lines() -> None:
    x = leaf(0.4, "x")

    def function(x: Any) -> Any:
        y = x
        for _ in range(150):
            y = torch.sin(y) + y * 0.5
        return y

    formula = written(function, x)
    assert max([len(line.text) for line in formula.lines]) < 500
    assert formula.operations < 3000 < formula.expanded
    close(formula.evaluate()["dy/dx"], grad(function(x), x)[0])


def test_random_numbers_stay_those_that_were_drawn() -> None:
    x = leaf([1.0, 2.0, 3.0, 4.0], "x")
    with Tape() as tape:
        y = torch.nn.functional.dropout(x, 0.5).sum()
    assert torch.equal(tape.formula().evaluate()["y"], y.detach())
    assert tape.formula().notes == ["c: drawn at random, as recorded"]


def test_evaluated_values_can_be_differentiated() -> None:
    x = leaf(0.7, "x")
    formula = written(lambda: torch.exp(x) * x)
    z = torch.tensor(0.3, dtype=torch.float64, requires_grad=True)
    found = formula.evaluate(x=z)
    (slope,) = grad(found["y"], z)
    close(found["dy/dx"], slope)


def test_choices_are_made_again() -> None:
    a = leaf([1.0, 3.0, 2.0], "a")
    formula = written(lambda: a.max(0).values * 2)
    found = formula.evaluate(a=torch.tensor([5.0, 3.0, 2.0], dtype=torch.float64))
    assert found["y"].item() == 10.0
    assert found["dy/da"].tolist() == [2.0, 0.0, 0.0]


# -- constants that share memory with a leaf, or were computed without history --------------------------------------------
def viewed(x: Any) -> Any:
    with torch.no_grad():
        return x.view(3)


DETACHED = [
    lambda x: x.detach(),
    lambda x: x.data,
    viewed,
    lambda x: torch.from_numpy(x.detach().numpy()),
]


@pytest.mark.parametrize("constant", DETACHED)
@pytest.mark.parametrize("first", [True, False])
def test_what_shares_a_leafs_memory_without_history_is_detached(constant: Any, first: bool) -> None:
    x = leaf([0.3, 1.2, 0.7], "x")
    c = constant(x)
    formulas = [Tape((c * x).sum() if first else (x * c).sum()).formula()]
    if not first:
        formulas.append(written(lambda: (constant(x) * x).sum()))
    for formula in formulas:
        assert (formula["y"], formula["dy/dx"]) == ("sum(x*detach(x))", "detach(x)")
        found = formula.evaluate(x=torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64))
        assert (found["y"].item(), found["dy/dx"].tolist()) == (14.0, [1.0, 2.0, 3.0])


def test_a_detached_leaf_within_a_function() -> None:
    x = leaf([0.3, 1.2, 0.7], "x")
    formula = Tape((x.detach().sin() * x.detach() * x.sin()).sum()).formula()
    assert "sin(x)" in formula["y"]
    assert "x*" not in formula["y"].replace("c*", "")
    formula = Tape((x.detach() * x.sin()).sum()).formula()
    assert str(formula) == "y = sum(detach(x)*sin(x))\ndy/dx = cos(x)*detach(x)"


def test_what_was_computed_without_history_is_detached() -> None:
    x = leaf([0.3, 1.2, 0.7], "x")

    def function() -> Any:
        with torch.no_grad():
            c = x * 2
            d = c + x
        return (c * x + d.sin() * x[0]).sum()

    with Tape() as tape:
        y = function()
    formula = tape.formula()
    assert "detach(2*x)" in str(formula)
    assert "x**2" not in str(formula)
    found = formula.evaluate()
    close(found["y"], y)
    close(found["dy/dx"], *grad(y, x))
    with Tape() as tape, torch.no_grad():
        (x * x).sum()
    assert str(tape.formula()) == "y = sum(x**2)"


def test_latex_of_an_index_of_what_has_one() -> None:
    x = leaf([0.3, 1.2, 0.7], "x1")
    assert Tape(x[0] * 2).formula(order=0).latex.splitlines()[1] == r"y &= 2 \, {x_{1}}_{[0]}"
    formula = written(lambda: (x.topk(2)[0] ** 2).sum())
    assert "}_{[1]}" in formula.latex
    assert "}_{[" not in formula.latex.replace("}}_{[", "")


def test_like_gradients_of_elements_are_added() -> None:
    x = leaf([0.3, 1.2, 0.7], "x")
    formula = Tape(3 * x[0] - x[0] * 3 + x[1] ** 2).formula()
    assert without_dtype(formula["dy/dx"]) == "2*select_scatter(zeros(3), x[1], dim=0, index=1)"
    assert formula.evaluate()["dy/dx"].tolist() == [0.0, 2.4, 0.0]


@pytest.mark.parametrize("followed", [True, False])
@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.max(1)[0],
        lambda x: x.sort()[0],
        lambda x: x.topk(1)[0],
        lambda x: x.cummax(0)[0],
        lambda x: x.median(1)[0],
        lambda x: torch.linalg.inv(x),
        lambda x: torch.linalg.solve(x, x * 2),
        lambda x: torch.linalg.cholesky(x @ x.T),
    ],
)
def test_the_result_of_a_block_is_no_helper_of_its_last_operation(function: Any, followed: bool) -> None:
    x = leaf([[2.0, 0.3], [0.1, 3.0]], "x").requires_grad_(followed)
    with Tape() as tape:
        y = function(x)
    values = tape.formula().evaluate()
    assert torch.allclose(values["y"], y)
    assert list(values) == (["y", "dL/dx"] if followed else ["y"])


def test_the_last_result_of_a_block_may_be_without_history_or_floats() -> None:
    x, c = leaf([1.0, 2.0], "x"), torch.tensor([3, 4])
    with Tape() as tape:
        y = x * 2
        y.argmax()
    assert tape.formula()["y"] == "2*x"
    with Tape() as tape:
        c.argmax()
    assert tape.formula()["y"].startswith("argmax(")


@pytest.mark.parametrize("function", [lambda x: x * 0 + 1, lambda x: x.sin() ** 2 + x.cos() ** 2])
def test_a_derivative_that_is_zero_is_written(function: Any) -> None:
    formula = written(function, leaf([0.5, 2.0], "x"))
    assert str(formula) == "# g = dL/dy\ny = ones(2, dtype=float64)\ndL/dx = zeros(2, dtype=float64)"
    values = formula.evaluate(g=[1.0, 2.0], x=[3.0, 4.0])
    assert values["y"].tolist() == [1.0, 1.0]
    assert values["dL/dx"].tolist() == [0.0, 0.0]
    assert str(written(lambda x: function(x).sum(), leaf([0.5, 2.0], "x"))).endswith("dy/dx = zeros(2, dtype=float64)")


def test_a_value_must_be_one() -> None:
    formula = written(torch.exp, leaf(1.0, "x"))
    with pytest.raises(TypeError, match="'x' must be a Tensor, an ndarray, numbers or a number, not None"):
        formula.evaluate(x=None)
    with pytest.raises(TypeError, match="'z' is no name of this formula; it has none"):
        written(lambda: torch.ones(2) * 2).evaluate(z=1.0)


# -- rows that have parameters of their own ----------------------------------------------------------------------------
X = torch.tensor([[0.3, -1.2, 0.7, 2.0], [1.1, 0.4, -0.6, 0.9], [-0.2, 0.8, 1.5, -1.0]], dtype=torch.float64)
C, F = torch.tensor([1, 0, 2]), torch.nn.functional
IMAGE = X.reshape(1, 1, 3, 4)
AS_CALLED: dict[str, tuple[Any, Any, list[str]]] = {
    "cross entropy": (X, lambda x: F.cross_entropy(x, C), [
        "y = nll_loss(log_softmax(x, dim=1), c)",
        "dy/dx = (softmax(x, dim=1) - one_hot(c, 4))/3",
    ]),
    "weighted": (X, lambda x: F.nll_loss(x, C, torch.tensor([1.0, 2, 3, 4], dtype=torch.float64), reduction="sum"), [
        "y = nll_loss(x, c1, weight=c2, reduction='sum')",
        "dy/dx = nll_loss_backward(tensor(1), x, c1, weight=c2, reduction='sum')",
    ]),
    "gelu": (X, F.gelu, [
        "y = gelu(x)",
        "dL/dx = g*(0.3989422804014327*x*exp(-0.5*x**2) + ndtr(x))",
    ]),
    "layer norm": (X, lambda x: F.layer_norm(x, (4,)), [
        "y = layer_norm(x, (4,))",
        "t1 = x - mean(x, dim=1, keepdim=True)",
        "t2 = mean(t1**2, dim=1, keepdim=True) + 1e-05",
        "dL/dx = (g - t1*mean(g*t1, dim=1, keepdim=True)/t2 - mean(g, dim=1, keepdim=True))/sqrt(t2)",
    ]),
    "weight of a layer norm": (X[0], lambda w: F.layer_norm(X, (4,), w).sum(), [
        "t1 = c - mean(c, dim=1, keepdim=True)",
        "y = sum(layer_norm(c, (4,), weight=x))",
        "dy/dx = sum(t1/sqrt(mean(t1**2, dim=1, keepdim=True) + 1e-05), dim=0)",
    ]),
    "bias of a convolution": (X[0, :2], lambda b: F.conv2d(IMAGE, torch.ones(2, 1, 2, 2).double(), b).exp().sum(), [
        "t1 = exp(conv2d(c, ones(2, 1, 2, 2), x))",
        "y = sum(t1)",
        "dy/dx = sum(t1, dim=(0, 2, 3))",
    ]),
    "convolution": (IMAGE, lambda x: F.conv2d(x, torch.ones(1, 1, 2, 2).double(), stride=2, padding=1), [
        "y = conv2d(x, ones(1, 1, 2, 2), stride=(2, 2), padding=(1, 1))",
        "dL/dx = conv_transpose2d(g, ones(1, 1, 2, 2), stride=(2, 2), padding=(1, 1), output_padding=(1, 0))",
    ]),
    "pooling": (IMAGE, lambda x: F.max_pool2d(x, 2, 1), [
        "y = max_pool2d(x, (2, 2), stride=(1, 1))",
        "dL/dx = max_pool2d_backward(g, x, (2, 2), stride=(1, 1))",
    ]),
    "means": (IMAGE, lambda x: F.avg_pool2d(x, 2), [
        "y = avg_pool2d(x, (2, 2))",
        "dL/dx = avg_pool2d_backward(g, x, (2, 2))",
    ]),
    "padding": (X, lambda x: F.pad(x, (1, 2)), ["y = pad(x, (1, 2))", "dL/dx = pad(g, (-1, -2))"]),
    "index": (X, lambda x: x[C], ["y = x[i]", "dL/dx = zeros(3, 4).index_put((i,), g, accumulate=True)"]),
    "columns": (X, lambda x: x[:, C], ["y = x[:, i]", "dL/dx = index_backward(g, indices=(None, i), shape=(3, 4))"]),
    "mask": (X, lambda x: x[x.detach() > 0], [
        "t1 = detach(x) > 0",
        "y = x[t1]",
        "dL/dx = zeros(3, 4).index_put((t1,), g, accumulate=True)",
    ]),
    "largest": (X, lambda x: x.topk(2)[0], [
        "t1 = topk(x, 2, dim=1)",
        "y = t1[0]",
        "dL/dx = scatter(zeros(3, 4), dim=1, index=t1[1], src=g)",
    ]),
    "records": (X, lambda x: x.cummax(1)[0], [
        "t1 = cummax(x, dim=1)",
        "y = t1[0]",
        "dL/dx = scatter_add(zeros(3, 4), dim=1, index=t1[1], src=g)",
    ]),
    "loss of errors": (X, lambda x: F.smooth_l1_loss(x, torch.zeros(3, 4).double()), [
        "y = smooth_l1_loss(x, zeros(3, 4))",
        "dy/dx = hardtanh(x)/12",
    ]),
    "elu": (X, F.elu, ["y = elu(x)", "dL/dx = g*where(x > 0, 1, exp(x))"]),
    "selu": (X, F.selu, ["y = selu(x)", "dL/dx = g*where(x > 0, 1.0507009873554805, 1.7580993408473766*exp(x))"]),
    "celu": (X, lambda x: F.celu(x, 2.0), ["y = celu(x, alpha=2.0)", "dL/dx = g*where(x > 0, 1, exp(0.5*x))"]),
    "max": (X, torch.max, ["y = max(x)", "t1 = (x == max(x)).to(float64)", "dy/dx = t1/sum(t1)"]),
    "max along a dimension": (X, lambda x: x.max(1).values, [
        "y = max(x, dim=1)[0]",
        "dL/dx = scatter(zeros(3, 4), dim=1, index=argmax(x, dim=1, keepdim=True), src=g.reshape((3, 1)))",
    ]),
    "sort": (X, lambda x: x.sort(1, descending=True)[0], [
        "t1 = sort(x, dim=1, descending=True)",
        "y = t1[0]",
        "dL/dx = scatter(zeros(3, 4), dim=1, index=t1[1], src=g)",
    ]),
    "median": (X, lambda x: x.median(0).values, [
        "t1 = median(x, dim=0, keepdim=True)",
        "y = t1[0].reshape((4,))",
        "dL/dx = scatter(zeros(3, 4), dim=0, index=t1[1], src=g.reshape((1, 4)))",
    ]),
    "gather": (X, lambda x: x.gather(1, C[:, None]), [
        "t1 = c.reshape((3, 1))",
        "y = gather(x, dim=1, index=t1)",
        "dL/dx = scatter_add(zeros(3, 4), dim=1, index=t1, src=g)",
    ]),
    "embedding": (X, lambda x: F.embedding(torch.tensor([0, 2, 0]), x), [
        "y = embedding(c, x)",
        "dL/dx = zeros(3, 4).index_put((c,), g, accumulate=True)",
    ]),
    "bilinear": (IMAGE, lambda x: F.interpolate(x, size=(4, 6), mode="bilinear"), [
        "y = interpolate(x, size=(4, 6), mode='bilinear')",
        f"dL/dx = interpolate_backward(g, zeros{tuple(IMAGE.shape)}, size=(4, 6), mode='bilinear')",
    ]),
    "corners": (IMAGE, lambda x: F.interpolate(x, size=(4, 6), mode="bilinear", align_corners=True), [
        "y = interpolate(x, size=(4, 6), mode='bilinear', align_corners=True)",
        f"dL/dx = interpolate_backward(g, zeros{tuple(IMAGE.shape)}, size=(4, 6), mode='bilinear', align_corners=True)",
    ]),
    "factors": (IMAGE, lambda x: F.interpolate(x, scale_factor=1.7), [
        "y = interpolate(x, scale_factor=(1.7, 1.7))",
        f"dL/dx = interpolate_backward(g, zeros{tuple(IMAGE.shape)}, scale_factor=(1.7, 1.7))",
    ]),
    "circular": (X, lambda x: F.pad(x, (1, 2), mode="circular"), [
        "y = pad(x, (1, 2), mode='circular')",
        "dL/dx = pad_backward(g, zeros(3, 4), (1, 2), mode='circular')",
    ]),
    "windows": (X, lambda x: x.unfold(1, 2, 2), [
        "y = x.unfold(1, 2, 2)",
        "dL/dx = unfold_backward(g, shape=(3, 4), dimension=1, size=2, step=2)",
    ]),
    "running sum": (X, lambda x: x.cumsum(1), [
        "y = cumsum(x, dim=1)",
        "dL/dx = flip(cumsum(flip(g, dims=(1,)), dim=1), dims=(1,))",
    ]),
    "gated": (X, lambda x: F.glu(x, 1), [
        "y = glu(x, dim=1)",
        "t1 = chunk(x, 2, dim=1)",
        "t2 = sigmoid(t1[1])",
        "dL/dx = cat([g*t2, g*t2*t1[0]*(1 - t2)], dim=1)",
    ]),
    "softplus": (X, F.softplus, ["y = softplus(x)", "dL/dx = where(x > 20, g, g*sigmoid(x))"]),
    "norm": (X, lambda x: x.norm(), ["y = vector_norm(x)", "dy/dx = where(y != 0, x/y, 0)"]),
    "filled": (X, lambda x: torch.full_like(x, 2.5).fill_(1.5) * x, ["y = 1.5*x", "dL/dx = 1.5*g"]),
    "batch norm": (X, lambda x: F.batch_norm(x, None, None, training=True), [
        "t1 = x - mean(x, dim=0, keepdim=True)",
        "y = batch_norm(x, None, None, training=True)",
        "t2 = mean(t1**2, dim=0, keepdim=True) + 1e-05",
        "dL/dx = (g - t1*mean(g*t1, dim=0, keepdim=True)/t2 - mean(g, dim=0, keepdim=True))/sqrt(t2)",
    ]),
}  # fmt: skip


@pytest.mark.parametrize("name", AS_CALLED)
def test_functions_are_written_as_people_call_them(name: str) -> None:
    values, function, lines = AS_CALLED[name]
    x = values.clone().requires_grad_()
    with Tape() as tape:
        y = function(x)
    formula = tape.formula(of=y)
    assert [without_dtype(line) for line in str(formula).splitlines() if line[0] != "#"] == lines
    moved = (values * 1.01).requires_grad_()
    result = function(moved)
    g = torch.ones_like(result) * 0.7 if "g" in formula.names else torch.ones_like(result)
    found = formula.evaluate(x=moved, **({"g": g} if "g" in formula.names else {}))
    close(found["y"], result)
    close(found[lines[-1].partition(" = ")[0]], *grad(result, moved, g))


OTHER, PLACES = X[:, :2].cos() + 1, torch.tensor([0, 1])
IN_PLACE: dict[str, Any] = {
    "index_fill_": lambda y: y.index_fill_(1, PLACES, 0.2),
    "index_add_": lambda y: y.index_add_(1, PLACES, OTHER, alpha=2),
    "scatter_": lambda y: y.scatter_(1, PLACES.expand(3, 2), OTHER),
    "scatter_reduce_": lambda y: y.scatter_reduce_(1, PLACES.expand(3, 2), OTHER, reduce="prod"),
    "index_put_": lambda y: y.index_put_((PLACES,), OTHER.mean(), accumulate=True),
    "cumsum_": lambda y: y.cumsum_(1),
    "cumprod_": lambda y: y.cumprod_(dim=1),
    "add_ of a multiple": lambda y: y.add_(X, alpha=3),
    "sub_ of a multiple": lambda y: y.sub_(X, alpha=3),
    "div_ rounded": lambda y: y.div_(0.3, rounding_mode="floor"),
    "div_ by a tensor rounded": lambda y: y.div_(X, rounding_mode="trunc"),
    "leaky_relu_": lambda y: F.leaky_relu(y, 0.1, inplace=True),
    "elu_": lambda y: F.elu(y, inplace=True),
    "hardtanh_": lambda y: F.hardtanh(y, 0.2, 0.9, inplace=True),
    "threshold_": lambda y: F.threshold(y, 0.5, 0.1, inplace=True),
    "logit_": lambda y: y.logit_(0.1),
    "nan_to_num_": lambda y: y.nan_to_num_(),
    "round_": lambda y: y.round_(decimals=1),
    "lerp_": lambda y: y.lerp_(end=X, weight=0.25),
    "addmm_": lambda y: y.addmm_(OTHER, X[:2], beta=0.5, alpha=2),
    "pow_": lambda y: y.pow_(2),
    "fill_": lambda y: y[1].fill_(0.7),
    "fill_diagonal_": lambda y: y.fill_diagonal_(0.7),
    "a view of a view": lambda y: y[0][1:].mul_(3),
    "a transposed view": lambda y: y.mT[0].add_(1),
    "a reshaped view": lambda y: y.view(4, 3)[1].mul_(2),
    "a diagonal": lambda y: y.diagonal().mul_(2),
    "a view with a new dimension": lambda y: y[None, :, 1].exp_(),
    "a mask": lambda y: y.__setitem__(X > 0, 0.5),
}


def filled_rows(x: Any) -> Any:
    y = torch.ones(2, 4, dtype=x.dtype)
    y[1] = x[0]
    y[0] *= x.sum()
    return y.prod()


def copied_and_scaled(x: Any) -> Any:
    y = torch.zeros_like(x)
    y.copy_(x)
    y.mul_(x)
    return (y * y).sum()


def one_element(x: Any) -> Any:
    y = torch.zeros_like(x)
    y[0, 1] = x[1, 0]
    y.add_(x.sin())
    return (y * y).sum()


def of_a_constant(x: Any) -> Any:
    y = X.clone().detach()
    y[:, 1:].mul_(x[:, :3])
    return (y * x).sum()


@pytest.mark.parametrize("function", [filled_rows, copied_and_scaled, one_element, of_a_constant])
@pytest.mark.parametrize("order", [1, 2])
def test_writes_into_constants_read_what_those_were(function: Any, order: int) -> None:
    """A tensor that is written has another value, and a history, by the time the formula is made."""
    x = X.clone().requires_grad_()
    with Tape() as tape:
        y = function(x)
    formula = tape.formula(y, order=order)
    assert [t for t in formula.names.values() if t.requires_grad] == [x]
    moved = (X * 1.01).requires_grad_()
    result = function(moved)
    found = formula.evaluate(**{n: moved for n, t in formula.names.items() if t is x})
    close(found["y"], result)
    close(next(v for n, v in found.items() if n.startswith("dy/d")), *grad(result, moved))


def test_a_constant_that_a_block_writes_has_its_name_and_first_value() -> None:
    x, c = X[0].clone().requires_grad_(), torch.tensor([1.0, 2.0, 3.0, 4.0], dtype=torch.float64)
    x.name, c.name = "x", "c"
    with Tape() as tape:
        c.mul_(x)
        y = (c * x).sum()
    formula = tape.formula(y)
    assert str(formula) == "y = sum(c*x**2)\ndy/dx = 2*c*x"
    assert formula.names["c"].tolist() == [1.0, 2.0, 3.0, 4.0]


@pytest.mark.parametrize("name", IN_PLACE)
def test_writes_read_as_what_they_write(name: str) -> None:
    def function(x: Any) -> Any:
        y = x * x + 0.1
        IN_PLACE[name](y)
        return (y * x[0, 0]).sum()

    x = X.clone().requires_grad_()
    with Tape() as tape:
        y = function(x)
    formula = tape.formula(y)
    moved = (X * 1.01).requires_grad_()
    result = function(moved)
    found = formula.evaluate(**{n: moved for n, t in formula.names.items() if t is x})
    close(found["y"], result)
    close(next(v for n, v in found.items() if "/d" in n), *grad(result, moved))
    assert "take=" not in str(formula)


PUBLIC = {name: getattr(m, name) for m in (torch, F, torch.linalg, torch.special) for name in m.__all__}


def typed(formula: Any) -> dict[str, Any]:
    """What the lines give where they are typed, with the public functions and those that notes explain."""
    noted = {note.partition(":")[0] for note in formula.notes} | set(formula._opaque)
    scope = PUBLIC | {name: f for name, f in formula.functions.items() if name in noted}
    values = {name: tensor.detach() for name, tensor in formula.names.items()}
    for line in formula.lines:
        values[line.name] = eval(line.text, dict(scope), values)
    return values


def same_as_typed(formula: Any) -> None:
    values = typed(formula)
    for name, value in formula.evaluate().items():
        found = values[name]
        close(value, found if isinstance(found, torch.Tensor) else torch.tensor(found, dtype=value.dtype))


ALL_SAMPLES = {name: cases for name, cases in sorted(all_samples().items()) if cases}


@pytest.mark.parametrize("name", ALL_SAMPLES)
def test_every_rows_texts_give_the_same_where_they_are_typed(name: str) -> None:
    for case in ALL_SAMPLES[name]:
        if case.order and _op.rows[name].formulas:
            same_as_typed(recorded(case, case.inputs)[1])
        with Tape() as tape:
            out = case.call(torch, *[torch.from_numpy(np.array(a)) for a in case.inputs])
        results = out if isinstance(out, (tuple, list)) else (out,)
        same_as_typed(tape.formula([r for r in results if isinstance(r, torch.Tensor)]))


MATRIX, LABELS = (
    torch.tensor([[0.3, -1.2, 0.7], [2.0, 0.0, 0.9]], dtype=torch.float64),
    torch.tensor([[1, -1, 0], [2, 0, -1]]),
)
CHOICES: dict[str, Any] = {
    "any": lambda x: (x > 0).any(1),
    "all": lambda x: (x < 9).all(),
    "count_nonzero": lambda x: torch.count_nonzero(x, 1),
    "histc": lambda x: torch.histc(x, 4, -1, 2),
    "isin": lambda x: torch.isin(x, MATRIX[0], invert=True),
    "searchsorted": lambda x: torch.searchsorted(x.sort(1)[0], MATRIX, right=True),
    "bucketize": lambda x: torch.bucketize(x, torch.tensor([0.0, 1.0])),
    "unravel_index": lambda x: torch.unravel_index(LABELS.abs(), (3, 4)),
    "nonzero": lambda x: x.nonzero(as_tuple=True),
    "matrix_rank": torch.linalg.matrix_rank,
    "argmax": lambda x: x.argmax(1, keepdim=True),
    "isclose": lambda x: torch.isclose(x, MATRIX, rtol=0.2),
    "unique": lambda x: x.detach().unique(return_inverse=True),
    "one_hot": lambda x: F.one_hot(LABELS.abs()),
    "repeats": lambda x: x.repeat_interleave(torch.tensor([1, 2]), 0),
    "take_along_dim": lambda x: torch.take_along_dim(x, LABELS.abs(), 1),
    "bags": lambda x: F.embedding_bag(LABELS.abs() % 2, x, mode="max"),
    "renorm of an embedding": lambda x: F.embedding(LABELS.abs() % 2, x * 1, max_norm=1.0),
    "margins": lambda x: F.multi_margin_loss(x, torch.tensor([1, 2])),
    "labels": lambda x: F.multilabel_margin_loss(x, LABELS),
    "a mask": lambda x: x[x > 0],
    "quantile": lambda x: x.quantile(0.3),
    "attention": lambda x: F.scaled_dot_product_attention(x, MATRIX, MATRIX),
}


@pytest.mark.parametrize("name", CHOICES)
def test_choices_are_made_again_by_functions_that_people_know(name: str) -> None:
    def run(values: Any) -> tuple[Any, Any, Any]:
        x = values.clone().requires_grad_()
        x.name = "x"
        with Tape() as tape:
            out = CHOICES[name](x)
        results = [out] if isinstance(out, torch.Tensor) else list(out)
        followed = [r for r in results if r.requires_grad]
        formula = tape.formula(
            followed or results, gradient=[torch.ones_like(r) for r in followed] if followed else None
        )
        return x, formula, followed or results

    _, formula, _ = run(MATRIX)
    same_as_typed(formula)
    moved, _, results = run(MATRIX.flip(1) * 1.1 + 0.1)
    found = list(formula.evaluate(**({"x": moved} if "x" in formula.names else {})).values())
    for ours, theirs in zip(found, results):
        close(ours, theirs)
    if results[0].requires_grad:
        close(found[-1], *grad(results, moved, [torch.ones_like(r) for r in results]))


def test_texts_call_functions_that_people_know() -> None:
    """All samples' formulas name public functions, or what a note explains."""
    strangers: dict[str, str] = {}
    for name, cases in DIFFERENTIABLE.items():
        for case in cases:
            formula = recorded(case, case.inputs)[1]
            noted = {note.partition(":")[0] for note in formula.notes}
            for line in formula.lines:
                calls = [n.func for n in ast.walk(ast.parse(line.text)) if isinstance(n, ast.Call)]
                for head in {f.id for f in calls if isinstance(f, ast.Name)} - noted:
                    if not any([hasattr(m, head) for m in (torch, F, torch.linalg, torch.special)]):
                        strangers[head] = f"{name}: {line.text}"
    assert strangers == {}


def test_leaves_named_as_functions_get_numbers() -> None:
    x = leaf([0.3, 1.2, 0.7], "pad")
    formula = Tape(F.pad(x, (1, 0))).formula(order=0)
    assert formula["y"] == "pad(pad1, (1, 0))"
    assert formula.notes == ["pad1: what is called pad", "the graph did not keep the value of pad"]
    x.name = "exp"
    assert Tape(x.sin()).formula(order=0)["y"] == "sin(exp)"
    with pytest.raises(TypeError, match="the value of pad is not known"):
        formula.evaluate()


def test_indices_of_other_values_stay_those_that_they_are() -> None:
    """The second derivative of a maximum takes what the first was given where the values were largest."""
    x = IMAGE.clone().requires_grad_()
    formula = Tape((F.max_pool2d(x, 2) ** 3).sum()).formula(order=2)
    (h,) = grad(grad((F.max_pool2d(x, 2) ** 3).sum(), x, create_graph=True)[0].sum(), x)
    close(formula.evaluate()["d(v*dy/dx)/dx"], h)


# -- writes into views -------------------------------------------------------------------------------------------------
def _twice(x: Any, y: Any) -> Any:
    part = y[0]
    part.mul_(x[1])
    part.mul_(x[1])
    part.pow_(3)
    return y


WRITES: dict[str, Any] = {
    "a product": lambda x, y: y[:, 1:3].mul_(x[:, :2]),
    "a power": lambda x, y: y[0].pow_(2),
    "a quotient": lambda x, y: y[0].div_(x[1]),
    "several": _twice,
    "of a transposed view": lambda x, y: y.t()[1].mul_(x[:, 0]),
    "each other": lambda x, y: (y[1].mul_(y[0]), y[0].mul_(y[1])),
    "one after the other": lambda x, y: y.cos_().sin_().mul_(y).mul_(y),
    "two views of one part": lambda x, y: (lambda one, two: (one.add_(two), two.mul_(one)))(y[0], y[0]),
}


@pytest.mark.parametrize("name", WRITES)
def test_gradients_of_writes_into_views_read_what_was_there(name: str) -> None:
    x = X.clone().requires_grad_()
    with Tape() as tape:
        y = x.clone()
        WRITES[name](x, y)
    formula, g = tape.formula(of=y), torch.arange(12.0).double().reshape(3, 4)
    assert {*formula.names} == {"x", "g"}
    moved = (X * 1.1).requires_grad_()
    y = moved.clone()
    WRITES[name](moved, y)
    found = formula.evaluate(x=moved, g=g)
    close(found["y"], y)
    close(found["dL/dx"], *grad(y, moved, g))


def test_parts_that_share_memory_are_read_as_they_are() -> None:
    x = X.clone().requires_grad_()
    with Tape() as tape:
        y = x.clone()
        one, two = y[0], y[0]
        one.add_(two)
        z = two * 1
    assert str(tape.formula(of=z, order=0)) == "y = select_scatter(x, 2*x[0], dim=0, index=0)[0]"


def test_a_written_part_is_a_scatter() -> None:
    x = X.clone().requires_grad_()
    with Tape() as tape:
        y = x.clone()
        y[0] = y[1] * 2
        y[:, 1:3].mul_(3)
    assert str(tape.formula(of=y, order=0)).splitlines() == [
        "t1 = select_scatter(x, 2*x[1], dim=0, index=0)",
        "y = slice_scatter(t1, 3*t1[:, 1:3], dim=1, start=1, end=3)",
    ]


def test_choices_that_have_a_formula_or_a_short_name() -> None:
    x, c = leaf([0.5, 1.0, 3.0], "x"), torch.tensor([1.0, 0.0, 1e-9]).double()
    formula = written(lambda: F.gaussian_nll_loss(x, x.detach(), c, eps=1e-6))
    assert "lacking" not in str(formula)
    assert not formula.notes
    same_as_typed(formula)
    for keepdim in (True, False):
        formula = written(
            lambda keepdim=keepdim: x.nanmean(0, keepdim).sum() + x.expand(2, 3).nanmean(1, keepdim).sum()
        )
        assert "sum(~isnan(x))" in str(formula)
        assert "sum(~isnan(t2), dim=1" in str(formula)
        assert not formula.notes
        same_as_typed(formula)
        assert formula.evaluate(x=[math.nan, 1.0, 2.0])["dy/dx"][0].item() == 0.0
    formula = written(lambda: torch.quantile(x, 0.3))
    assert "quantile_ranks: the two elements around a quantile, and the share of the second" in formula.notes


def test_results_that_are_not_shown_are_noted() -> None:
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    w.name = "w"
    with Tape() as tape:
        pair = w.sin(), w.cos()
    assert str(tape.formula()).splitlines()[1:] == [
        "# the result of sin: not shown; formula(of=...) takes what is wanted, one result or several",
        "y = cos(w)",
        "dL/dw = -g*sin(w)",
    ]
    assert tape.formula(of=pair).notes == ["g1 = dL/dy1", "g2 = dL/dy2"]
    with Tape() as tape:
        first, second, third = w.exp(), w.tan(), w.sum()
        first.name = "a"
    assert tape.formula().notes == [
        "a and the result of tan: not shown; formula(of=...) takes what is wanted, one result or several"
    ]
    assert not any("not shown" in note for note in tape.formula(of=[first, second, third]).notes)
    with Tape() as tape:
        values, _ = w.max(0)
        _ = w.detach().sum()  # without history
        values * 2
    assert tape.formula().notes == []
