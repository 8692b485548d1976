"""What is said where something cannot be done: what came, what was expected, what to do; in the caller's words."""

from __future__ import annotations

import operator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minitorch as torch
from minitorch import nn, static


def test_an_optimizer_is_called_by_its_own_class(tmp_path: Path) -> None:
    layer = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(layer.parameters(), 0.1)

    def step(inputs: torch.Tensor) -> None:
        optimizer.zero_grad()
        layer(inputs).sum().backward()
        optimizer.step()

    program = static.compile(step)
    program(torch.ones(1, 2))
    assert "SGD.step()" in str(program)
    assert "ElementwiseOptimizer" not in str(program)
    with pytest.raises(RuntimeError, match=r"it calls SGD\.step\(\)"):
        program.to_python(tmp_path / "step.py")


def test_gradients_of_a_module_say_how_to_get_those_of_its_parameters() -> None:
    module, x = nn.Sequential(nn.Linear(2, 3), nn.Tanh()), torch.ones(1, 2)
    with pytest.raises(
        RuntimeError, match=r"no argument requires grad.*torch\.func\.functional_call\(module, p, \(x,\)\)"
    ):
        static.compile(module).gradients()(x)
    as_said = static.compile(lambda p, x: torch.func.functional_call(module, p, (x,))).gradients()
    module(x).sum().backward()
    for found, parameter in zip(as_said(dict(module.named_parameters()), x), module.parameters(), strict=True):
        assert torch.equal(found, parameter.grad)


def test_the_header_of_written_gradients_is_a_sentence(tmp_path: Path) -> None:
    program = static.compile(lambda x: x * x).gradients()
    program(torch.ones(2, requires_grad=True))
    program.to_python(tmp_path / "g.py")
    assert (tmp_path / "g.py").read_text().splitlines()[0].startswith('"""Gradients of a function as NumPy code')


# -- nodes -------------------------------------------------------------------------------------------------------------
x = static.placeholder("x")
VALUES = np.array([[1.0, 2.0], [4.0, 3.0]])


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t.reshape(-1),
        lambda t: t.view(4),
        lambda t: t.max(),
        lambda t: t.t(),
        lambda t: t.T,
        lambda t: t.var(0),
        lambda t: t.softmax(-1),
        lambda t: t.pow(2),
        lambda t: t.clamp(1.5, 3.5),
        lambda t: t.matmul(t),
        lambda t: t.unsqueeze(0).squeeze(0).flatten(),
        lambda t: t.expand(3, 2, 2),
        lambda t: t.transpose(-1, -2),
        lambda t: t.add(t, alpha=2),
        lambda t: t.masked_fill(t > 2, 0.0),
        lambda t: t.sort().values,
    ],
)
def test_nodes_have_the_methods_of_tensors(call: Any) -> None:
    node = call(x)
    tensor = torch.tensor(VALUES, requires_grad=True)
    expected = call(tensor)
    expected.sum().backward()
    value, gradient = static.Executor([node, *static.gradients(node, [x])]).run({x: VALUES})
    np.testing.assert_array_equal(value, expected.detach().numpy())
    np.testing.assert_allclose(gradient, tensor.grad.numpy(), rtol=1e-12)


def test_methods_of_several_results() -> None:
    values, places = x.sort(descending=True)
    largest, where = x.max(0, outputs=2)
    first, second = x.split(1, outputs=2)
    found = static.Executor([values, places, largest, where, first, second]).run({x: VALUES})
    expected = [[[2, 1], [4, 3]], [[1, 0], [0, 1]], [4, 3], [1, 1], [[1, 2]], [[4, 3]]]
    assert [f.tolist() for f in found] == expected
    with pytest.raises(TypeError, match=r"split\(\): how many nodes it gives .* split\(\.\.\., outputs=2\)"):
        x.split(1)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("sofmax", r"no 'sofmax'; the nearest that there is: softmax.*static\.rows.*static\.apply"),
        ("add_", "nodes do not change; the nearest that there is: add"),
        ("item", r"before the graph runs: run static\.Executor\(node\)"),
        ("stride", "does not give Tensors"),
        ("dtype", "no 'dtype' before the graph runs"),
    ],
)
def test_what_nodes_do_not_have(name: str, said: str) -> None:
    with pytest.raises(AttributeError, match=said):
        getattr(x + 1, name)
    assert not hasattr(x, name if name != "dtype" else "dtyp")


@pytest.mark.parametrize(
    ("call", "kind", "said"),
    [
        (lambda: static.rows.softmx(x), AttributeError, "no row 'softmx'; the nearest that there is: softmax"),
        (lambda: x.__setitem__(0, 1), TypeError, "node x does not change"),
        (lambda: np.asarray(x), static.NeedsValues, "x has no values before the graph runs"),
        (lambda: static.Executor(3), TypeError, "outputs must be a node or a list of nodes, not int"),
        (lambda: static.Executor(x + 1).run(3), TypeError, r"must be a dict .*\{x: \.\.\.\}, not int"),
        (lambda: static.Executor(x + 1).run({x: None}), RuntimeError, "x is fed with NoneType.*feed an array"),
        (lambda: static.Executor(x + 1).run({x: VALUES * 1j}), RuntimeError, "x is fed with an array of complex128"),
        (lambda: static.Executor(x + 1).run({x: np.array(["a"])}), RuntimeError, "x is fed with an array of <U1"),
        (lambda: static.placeholder("p", (2,), "float32"), TypeError, r"p: dtype must be .*such as torch\.float32"),
        (lambda: static.placeholder("p", 3.5), TypeError, "p: shape must be a tuple of sizes, not float"),
        (
            lambda: static.Executor(static.cond(x > 1, x * 2, x + 1)).run({x: VALUES}),
            RuntimeError,
            r"^cond\(\): the condition \(x>1\) has shape \(2, 2\)",
        ),
    ],
)
def test_what_came_and_what_to_do(call: Any, kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=said):
        call()


def test_operators_of_arrays_and_nodes() -> None:
    left, right = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[2.0, 1.0], [1.0, 3.0]])
    names = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "eq", "ne", "lt", "le", "gt", "ge")
    for call in [getattr(operator, name) for name in names]:
        (found,) = static.Executor(call(left, x)).run({x: right})
        np.testing.assert_array_equal(found, call(left, right))
    assert [str(np.float32(2) * x), str(np.multiply(x, 2))] == ["(2.0*x)", "(x*2)"]


@pytest.mark.parametrize("call", [lambda: np.exp(x), lambda: np.hypot(VALUES, x), lambda: np.add(x, 1, out=VALUES)])
def test_functions_of_numpy_name_the_method(call: Any) -> None:
    with pytest.raises(
        TypeError, match=r"np\.\w+\(\) computes at once, and node x has no values yet: write its method, x\."
    ):
        call()
    with pytest.raises(TypeError, match=r"no values yet: rows are in static\.rows"):
        np.add.reduce(x)


@pytest.mark.parametrize("name", ["max", "min", "median", "nanmedian"])
def test_a_dimension_makes_two_results(name: str) -> None:
    for pair in (getattr(x, name)(0), getattr(x, name)(dim=0)):
        found = static.Executor([pair.values, pair.indices]).run({x: VALUES})
        for value, expected in zip(found, getattr(torch.tensor(VALUES), name)(0), strict=True):
            assert value.tolist() == expected.tolist()
    (found,) = static.Executor(getattr(x, name)()).run({x: VALUES})
    assert found == getattr(torch.tensor(VALUES), name)().item()
