"""What is said where something cannot be done: what came, what was expected, what to do; in the caller's words."""

from __future__ import annotations

from pathlib import Path

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
