"""Which sizes written modules take: all at which they were found right, and what is said of others."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minitorch as torch
from minitorch import static
from written import loaded


def pairs_only(x: Any) -> Any:
    if len(x) % 2:
        raise ValueError("an odd size")
    return x * 2


def from_three_on(x: Any) -> Any:
    return x.unfold(0, 3, 1) * 1


DIVIDED: dict[str, tuple[Any, list[int]]] = {
    "view": (lambda x: x.view(-1, 2).sum(1), [0, 2, 4, 6, 8, 10, 100]),
    "rows": (lambda x: x.reshape(len(x) // 2, 2) + 1, [0, 2, 4, 6, 8, 10, 100]),
    "columns": (lambda x: x.view(2, -1) + 1, [0, 2, 4, 6, 8, 10, 100]),
    "halves": (lambda x: x[: len(x) // 2] + x[len(x) // 2 :], [0, 1, 2, 3, 4, 6, 8, 10, 100]),
    "chunks": (lambda x: x.chunk(2)[0] - x.chunk(2)[1], [2, 3, 4, 6, 8, 10, 100]),
    "thirds": (lambda x: x.view(-1, 3) * 2, [0, 3, 6, 9, 99]),
    "asked": (pairs_only, [0, 2, 4, 6, 8, 10, 100]),
    "from three on": (from_three_on, [3, 4, 5, 6, 7, 8, 9, 100]),
}
"""Functions that fail at some sizes, and sizes at which they do not."""


EXAMPLES = [(name, size) for name, (_, sizes) in DIVIDED.items() for size in (3, 4, 6, 12) if size in [*sizes, 12]]


@pytest.mark.parametrize(("name", "example"), EXAMPLES)
def test_all_sizes_at_which_it_was_right_are_taken(name: str, example: int, tmp_path: Path) -> None:
    function, sizes = DIVIDED[name]
    static.trace(function, torch.randn(example), quiet=True).to_python(
        tmp_path / "model.py", dynamic_axes={"x": {0: "n"}}
    )
    module = loaded(tmp_path / "model.py")
    written = getattr(module, function.__name__, None) or module.forward
    for size in sizes:
        x = torch.randn(size)
        np.testing.assert_array_equal(written(x.numpy()), function(x).numpy(), strict=True)
    for size in {*range(9)} - {*sizes}:
        with pytest.raises(ValueError, match=r"reshape|broadcast|this was written for|the model fails"):
            written(np.ones(size, np.float32))


def test_the_sizes_that_are_named_are_taken(tmp_path: Path) -> None:
    static.trace(pairs_only, torch.ones(4)).to_python(tmp_path / "model.py", dynamic_axes={"x": {0: "n"}})
    written = loaded(tmp_path / "model.py").pairs_only
    assert "compared with what was traced at n 0, 2, 4, 6, 8, " in written.__doc__
    with pytest.raises(ValueError, match=re.escape("n is 5, but at the sizes [1, 3, 5, 7] the model fails")):
        written(np.ones(5, np.float32))


def test_graphs_take_the_size_of_their_example(tmp_path: Path) -> None:
    x = static.placeholder("x", (None,))
    executor = static.Executor(x.reshape(-1, 2).sum(1))
    executor.to_python(tmp_path / "graph.py", {"x": np.ones(4, np.float32)})
    run = loaded(tmp_path / "graph.py").run
    for size in (2, 4, 6, 50):
        assert run(np.ones(size, np.float32))[0].tolist() == [2.0] * (size // 2)


# -- names of axes -----------------------------------------------------------------------------------------------------
def scaled(x: Any, n: Any) -> Any:
    return x * n


def first(items: Any, items_0: Any) -> Any:
    return items[0] - items_0


NAMED: list[tuple[Any, list[Any], dict[str, Any]]] = [
    (lambda a, b: a - b, [torch.ones(2), torch.ones(2)], {"a": {0: "b"}, "b": {0: "b"}}),
    (lambda a, b: a - b, [torch.ones(2), torch.ones(2)], {"a": {0: "a"}, "b": {0: "a"}}),
    (scaled, [torch.ones(2), 3], {"x": {0: "n"}}),
    (scaled, [torch.ones(2), torch.tensor(3.0)], {"x": {0: "n"}}),
    (scaled, [torch.ones(2), torch.tensor(3.0)], {"x": {0: 'the "size"'}}),
    (scaled, [torch.ones(2), torch.tensor(3.0)], {"x": {0: "x"}}),
    (scaled, [torch.ones(2), torch.tensor(3.0)], {"x": {0: "lambda"}}),
    (first, [[torch.ones(2)], torch.ones(2)], {"items_0": {0: "items"}, "items[0]": {0: "items"}}),
]


@pytest.mark.parametrize("number", range(len(NAMED)))
def test_axes_are_named_as_parameters(number: int, tmp_path: Path) -> None:
    function, example, axes = NAMED[number]
    static.trace(function, *example, quiet=True).to_python(tmp_path / "model.py", dynamic_axes=axes)
    module = loaded(tmp_path / "model.py")
    written = getattr(module, function.__name__, None) or module.forward

    def longer(given: Any) -> Any:
        if isinstance(given, list):
            return [longer(item) for item in given]
        return torch.arange(5.0) if isinstance(given, torch.Tensor) and given.dim() else given

    given = [longer(item) for item in example]
    arrays = [[x.numpy() for x in g] if isinstance(g, list) else g.numpy() if hasattr(g, "numpy") else g for g in given]
    np.testing.assert_array_equal(written(*arrays), function(*given).numpy(), strict=True)


@pytest.mark.parametrize("name", ["", "  "])
def test_axes_have_names(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="dynamic_axes gives dimension 0 of 'x' an empty name"):
        static.trace(scaled, torch.ones(2), 3).to_python(tmp_path / "model.py", dynamic_axes={"x": {0: name}})


def test_a_name_that_several_axes_have_is_one_size(tmp_path: Path) -> None:
    def product(x: Any, y: Any) -> Any:
        return x @ y

    axes = {"x": {0: "r", 1: "c"}, "y": {0: "c"}}
    static.trace(product, torch.ones(2, 3), torch.ones(3, 2)).to_python(tmp_path / "model.py", dynamic_axes=axes)
    written = loaded(tmp_path / "model.py").product
    assert written(np.ones((4, 7), np.float32), np.ones((7, 2), np.float32)).tolist() == [[7.0, 7.0]] * 4
    with pytest.raises(ValueError, match=r"c is 7 in x\.shape\[1\] but 6 in y\.shape\[0\]: give inputs in which these"):
        written(np.ones((2, 7), np.float32), np.ones((6, 2), np.float32))


def test_axes_of_one_input_that_have_one_name(tmp_path: Path) -> None:
    def mirrored(x: Any) -> Any:
        return x + x.T

    axes = {"x": {0: "n", 1: "n"}}
    static.trace(mirrored, torch.ones(3, 3)).to_python(tmp_path / "model.py", dynamic_axes=axes)
    written = loaded(tmp_path / "model.py").mirrored
    assert written(np.ones((5, 5), np.float32)).sum() == 50
    with pytest.raises(ValueError, match=r"n is 1 in x\.shape\[0\] but 4 in x\.shape\[1\]"):
        written(np.ones((1, 4), np.float32))
