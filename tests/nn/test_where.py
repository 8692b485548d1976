"""An error in a model says which layer raised it."""

from __future__ import annotations

from typing import Any

import pytest

from minitorch import nn, ones


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 4), nn.Linear(5, 2)])

    def forward(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x)
        return x


def notes(call: Any) -> list[str]:
    with pytest.raises(Exception) as caught:  # noqa: PT011
        call()
    return getattr(caught.value, "__notes__", [])


@pytest.mark.parametrize("hooked", [False, True])
def test_the_path_in_the_model_is_noted_once(hooked: bool) -> None:
    net = nn.Sequential(nn.ReLU(), Block())
    if hooked:
        net[1].register_forward_hook(lambda *_: None)
    expected = "(raised by the module at '1.layers.1' of Sequential: Linear(in_features=5, out_features=2, bias=True))"
    assert notes(lambda: net(ones(2, 3)))[0] == expected
    assert len(notes(lambda: net(ones(2, 3)))) == 2


def test_a_module_that_is_called_alone_is_named() -> None:
    linear = nn.Linear(2, 3)
    assert (
        notes(lambda: linear(ones(5)))[0] == "(raised by the module Linear(in_features=2, out_features=3, bias=True))"
    )


def test_a_module_that_is_not_registered_is_named() -> None:
    class Hidden(nn.Module):
        def forward(self, x: Any) -> Any:
            return nn.Linear(2, 3)(x)

    expected = "(raised by the module called by Hidden: Linear(in_features=2, out_features=3, bias=True))"
    assert notes(lambda: Hidden()(ones(5)))[0] == expected


def test_an_error_that_is_handled_in_the_model_is_not_touched() -> None:
    found = []

    class Careful(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(2, 3)

        def forward(self, x: Any) -> Any:
            try:
                return self.inner(x)
            except RuntimeError as error:
                found.append(getattr(error, "__notes__", []))
                return x

    assert Careful()(ones(5)).shape == (5,)
    assert found == [[]]


def test_a_module_that_is_only_half_made_raises_its_own_error() -> None:
    class Half(nn.Module):
        def __init__(self) -> None:
            pass

        def forward(self, x: Any) -> Any:
            raise KeyError("own")

    with pytest.raises(KeyError, match="own"):
        Half()(1)
