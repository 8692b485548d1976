"""Laws of the optimizers that run on flat arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backend import torch

SHAPES: list[tuple[int, ...]] = [(), (3,), (2, 3), (0, 2), (5, 1, 2)]
PRESENT = st.lists(st.lists(st.booleans(), min_size=len(SHAPES), max_size=len(SHAPES)), max_size=6)


def made() -> list[Any]:
    generator = np.random.default_rng(0)
    return [torch.tensor(generator.normal(size=shape), requires_grad=True) for shape in SHAPES]


def run(make: Any, present: list[list[bool]], together: bool) -> list[np.ndarray]:
    """The parameters after steps in which only those marked as present have gradients."""
    params = made()
    optimizers = [make(params)] if together else [make([p]) for p in params]
    generator = np.random.default_rng(1)
    for row in present:
        for p, has in zip(params, row):
            gradient = generator.normal(size=tuple(p.shape))
            p.grad = torch.tensor(gradient) if has else None
        for optimizer in optimizers:
            optimizer.step()
    return [p.detach().numpy() for p in params]


@pytest.mark.parametrize(
    "make",
    [
        lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, dampening=0.2),
        lambda p: torch.optim.Adam(p, lr=0.1, amsgrad=True, weight_decay=0.1),
    ],
)
@given(present=PRESENT)
@settings(max_examples=20, deadline=None)
def test_parameters_do_not_influence_each_other(make: Any, present: list[list[bool]]) -> None:
    for a, b in zip(run(make, present, together=True), run(make, present, together=False)):
        np.testing.assert_array_equal(a, b)


@given(present=PRESENT)
@settings(max_examples=20, deadline=None)
def test_saving_and_loading_between_steps_changes_nothing(present: list[list[bool]]) -> None:
    class Reloading(torch.optim.Adam):
        def step(self, closure: Any = None) -> Any:
            self.load_state_dict(self.state_dict())
            return super().step(closure)

    expected = run(lambda p: torch.optim.Adam(p, lr=0.1), present, together=True)
    for a, b in zip(run(lambda p: Reloading(p, lr=0.1), present, together=True), expected):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("size", [65535, 65536, 65537, 200_000])
def test_every_element_of_a_large_parameter_is_updated_once(size: int) -> None:
    p = torch.zeros(size, dtype=torch.float64, requires_grad=True)
    p.grad = torch.arange(size, dtype=torch.float64)
    optimizer = torch.optim.SGD([p], lr=1.0, momentum=0.5)
    optimizer.step()
    optimizer.step()
    np.testing.assert_array_equal(p.detach().numpy(), np.arange(size) * -2.5)


def test_the_learning_rate_of_each_step_counts() -> None:
    rates = [0.1, 0.1, 0.3, 0.0, -0.0, torch.tensor(0.2), torch.tensor(0.4), 1, 0.1]

    def stepped(anew: bool) -> list[tuple[float, bool]]:
        p = torch.tensor([-0.0], requires_grad=True)
        optimizer, seen = torch.optim.SGD([p], lr=1.0), []
        for rate in rates:
            optimizer = torch.optim.SGD([p], lr=1.0) if anew else optimizer
            optimizer.param_groups[0]["lr"] = rate
            p.grad = torch.ones(1)
            optimizer.step()
            seen.append((p.item(), bool(p.signbit())))
            with torch.no_grad():
                p.fill_(-0.0)
        return seen

    assert stepped(anew=False) == stepped(anew=True)
    assert [sign for _, sign in stepped(anew=False)][3:5] == [True, False]


@pytest.mark.parametrize("kind", ["in order", "transposed", "expanded", "every other", "other data"])
@pytest.mark.parametrize("decay", [0.0, 0.5])
def test_gradients_of_small_parameters_may_lie_in_memory_in_any_way(kind: str, decay: float) -> None:
    gradients = {
        "in order": torch.arange(12.0).reshape(3, 4),
        "transposed": torch.arange(12.0).reshape(4, 3).t(),
        "expanded": torch.arange(4.0).expand(3, 4),
        "every other": torch.arange(24.0).reshape(3, 8)[:, ::2],
        "other data": torch.arange(12.0).reshape(3, 4),
    }
    gradient = gradients[kind]
    parameters = [torch.zeros(4, 3).t(), torch.full((2,), 1.0), torch.full((3, 4), 2.0)]
    parameters = [p.requires_grad_() for p in parameters]
    optimizer = torch.optim.SGD(parameters, lr=0.5, weight_decay=decay)
    expected = [p.detach().clone() for p in parameters]
    for _ in range(3):
        parameters[0].grad, parameters[2].grad = gradient, gradient.clone()
        parameters[1].grad = torch.tensor([1.0, -2.0])
        if kind == "other data":
            parameters[2].grad.data = gradient.to(torch.int32)
        optimizer.step()
        for value, g in zip(expected, (gradient, torch.tensor([1.0, -2.0]), gradient)):
            value -= 0.5 * (g + decay * value)
    for p, value in zip(parameters, expected):
        assert torch.equal(p.detach(), value)
