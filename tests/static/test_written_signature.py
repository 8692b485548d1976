"""Written functions have the parameters of the traced ones, and the sizes that placeholders leave open."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minitorch as torch
from minitorch import nn, static
from written import loaded

N = np.ones(2, np.float32)


def written(function: Any, path: Path, *args: Any, dynamic_axes: Any = None, **kwargs: Any) -> Any:
    """The module of a function that was traced on arguments."""
    static.trace(function, *args, quiet=True, **kwargs).to_python(path / "model.py", dynamic_axes)
    return loaded(path / "model.py")


def nested(d: Any, k: int = 2, *, z: Any = None) -> Any:
    return d["a"] * k + z


@pytest.mark.parametrize("axes", [None, {"z": {0: "n"}, "d['a']": {0: "n"}}])
def test_a_call_as_it_was_traced(tmp_path: Path, axes: Any) -> None:
    x = torch.ones(2)
    run = written(nested, tmp_path, {"a": x, "sizes": [1, 2]}, 3, z=x, dynamic_axes=axes).nested
    assert str(inspect.signature(run)) == "(d, k=2, *, z=None)"
    d = {"a": N, "sizes": [1, 2]}
    for found in (run(d, 3, z=N), run(z=N, k=3, d=d)):
        assert found.tolist() == [4.0, 4.0]
    with pytest.raises(ValueError, match=r"nested\(\): k was 3 when this was traced, but is 4"):
        run(d, 4, z=N)
    with pytest.raises(ValueError, match="k was 3 when this was traced, but is 2"):
        run(d, z=N)
    with pytest.raises(ValueError, match=r"d\['sizes'\] was \[1, 2\] when this was traced, but is \(1, 2\)"):
        run({"a": N, "sizes": (1, 2)}, 3, z=N)
    with pytest.raises(TypeError, match="z must be an array of numbers, not NoneType of object"):
        run(d, 3)
    with pytest.raises(TypeError, match="takes from 1 to 2 positional arguments but 3 were given"):
        run(d, 3, N)


def test_what_is_not_given_is_its_default(tmp_path: Path) -> None:
    def function(x: Any, how: str = "up", by: Any = float("inf"), *, more: Any = ()) -> Any:
        return x + 1 if how == "up" else x - 1

    module = written(function, tmp_path, torch.ones(2))
    assert module.function(N).tolist() == module.function(N, "up", float("inf"), more=()).tolist() == [2.0, 2.0]
    assert "``function(x)`` takes" in module.__doc__
    with pytest.raises(ValueError, match="how was 'up' when this was traced, but is 'down'"):
        module.function(N, "down")
    with pytest.raises(ValueError, match=r"more was \(\) when this was traced, but is \[\]"):
        module.function(N, more=[])


def test_kinds_of_parameters(tmp_path: Path) -> None:
    def function(a: Any, /, b: int = 1, *rest: Any, c: float = 0.5, **more: Any) -> Any:
        return a * b + rest[0] * c + more["d"]

    x = torch.ones(2)
    module = written(function, tmp_path, x, 1, x, 7, c=2.0, d=x)
    assert str(inspect.signature(module.function)) == "(a, /, b, rest_0, rest_1, *, c=0.5, d)"
    assert module.function(N, 1, N, 7, c=2.0, d=N).tolist() == [4.0, 4.0]
    with pytest.raises(ValueError, match="rest_1 was 7 when this was traced, but is 8"):
        module.function(N, 1, N, 8, c=2.0, d=N)


def test_several_kinds_of_inputs(tmp_path: Path) -> None:
    program = static.compile(nested, quiet=True)
    for size in (2, 3):
        program({"a": torch.ones(size)}, 3, z=torch.ones(size))
    program.to_python(tmp_path / "model.py")
    module = loaded(tmp_path / "model.py")
    assert str(inspect.signature(module.nested)) == "(d, k=2, *, z=None)"
    for size in (2, 3):
        ones = np.ones(size, np.float32)
        assert module.nested({"a": ones}, 3, z=ones).tolist() == [4.0] * size
    with pytest.raises(ValueError, match=r"(?s)nothing is written for these inputs.*k was 3 .*, but is 5"):
        module.nested({"a": N}, 5, z=N)


def test_names_that_a_module_uses_itself(tmp_path: Path) -> None:
    def function(way: Any, problems: int = 1, *, np: Any, error: str = "") -> Any:
        return way * problems + np

    program = static.compile(function, quiet=True)
    for size in (2, 3):
        program(torch.ones(size), 3, np=torch.ones(size))
    program.to_python(tmp_path / "model.py")
    module = loaded(tmp_path / "model.py")
    assert module.function(np.ones(3, np.float32), 3, np=np.ones(3, np.float32)).tolist() == [4.0] * 3
    with pytest.raises(ValueError, match="problems was 3 when this was traced, but is 1"):
        module.function(N, np=N)


def test_what_has_no_text_is_left_out(tmp_path: Path) -> None:
    model = nn.Linear(2, 2)
    table = torch.ones(2)

    def function(x: Any, of: Any, shift: Any = table, y: Any = table) -> Any:
        return of(x) + shift + y

    x = torch.randn(1, 2)
    module = written(function, tmp_path, x, model, y=x)
    assert str(inspect.signature(module.function)) == "(x, y)"
    np.testing.assert_array_equal(module.function(x.numpy(), y=x.numpy()), function(x, model, y=x).detach().numpy())


def test_parameters_that_are_called_as_functions_of_python(tmp_path: Path) -> None:
    def function(x: Any, max: float = 1.5, float: int = 2) -> Any:
        return x.clamp(max=max) * float / x.shape[0]

    module = written(function, tmp_path, torch.ones(3), dynamic_axes={"x": {0: "n"}})
    assert "_builtin_float = float\n" in (tmp_path / "model.py").read_text()
    assert str(inspect.signature(module.function)) == "(x, max=1.5, float=2)"
    for size in (1, 2, 5):
        x = torch.randn(size)
        np.testing.assert_array_equal(module.function(x.numpy()), function(x).numpy())


def test_many_parameters_have_lines_of_their_own(tmp_path: Path) -> None:
    attention = nn.MultiheadAttention(4, 2).eval()
    x = torch.randn(3, 1, 4)
    with torch.no_grad():
        module = written(attention, tmp_path, x, x, x, need_weights=False)
        wanted = attention(x, x, x, need_weights=False)[0].numpy()
    assert str(inspect.signature(module.forward)) == str(inspect.signature(bare(attention)))
    assert max(map(len, (tmp_path / "model.py").read_text().splitlines())) <= 150
    n = x.numpy()
    np.testing.assert_array_equal(module.forward(n, n, n, need_weights=False)[0], wanted)
    with pytest.raises(ValueError, match="need_weights was False when this was traced, but is True"):
        module.forward(n, n, n)


def bare(model: Any) -> Any:
    """The parameters of a model's ``forward``, without what they are said to be."""

    def forward() -> None: ...

    empty = inspect.Parameter.empty
    parameters = [p.replace(annotation=empty) for p in inspect.signature(model.forward).parameters.values()]
    forward.__signature__ = inspect.Signature(parameters)
    return forward


# -- graphs ------------------------------------------------------------------------------------------------------------
def graph(path: Path, outputs: Any, shapes: dict[str, tuple[int, ...]], axes: Any = None) -> tuple[Any, Any]:
    executor = static.Executor(outputs)
    executor.to_python(path / "graph.py", {name: np.ones(s, np.float32) for name, s in shapes.items()}, axes)
    return loaded(path / "graph.py"), executor


def test_sizes_that_placeholders_leave_open_vary(tmp_path: Path) -> None:
    x, y = static.placeholder("x", (None, 3)), static.placeholder("y", (2, None))
    w = static.parameter(torch.randn(3, 2), "w")
    module, executor = graph(tmp_path, [x @ w, y.sum()], {"x": (2, 3), "y": (2, 2)})
    draw = np.random.default_rng(0)
    for rows, columns in ((2, 2), (1, 5), (7, 1)):
        feed = {"x": draw.normal(size=(rows, 3)).astype("f"), "y": draw.normal(size=(2, columns)).astype("f")}
        for a, b in zip(module.run(**feed), executor.run(feed), strict=True):
            assert (a.shape, a.tobytes()) == (b.shape, b.tobytes())
    with pytest.raises(ValueError, match=r"x has shape \(2, 4\), but this was written for \('x_size_0', 3\)"):
        module.run(np.ones((2, 4), np.float32), np.ones((2, 2), np.float32))


def test_sizes_that_must_be_equal_are(tmp_path: Path) -> None:
    x, y = static.placeholder("x", (None, None)), static.placeholder("y", (None, 3))
    module, _ = graph(tmp_path, (x + y).sum(), {"x": (3, 3), "y": (3, 3)}, {})
    assert 'x = _given(x, "x", (3, 3), "float32")' in (tmp_path / "graph.py").read_text()
    x, y = static.placeholder("x", (None, 3)), static.placeholder("y", (None, 3))
    module, _ = graph(tmp_path, (x + y).sum(), {"x": (2, 3), "y": (2, 3)})
    assert module.run(np.ones((5, 3), np.float32), np.ones((5, 3), np.float32))[0] == 30
    with pytest.raises(ValueError, match=r"x_size_0 is 5 in x.shape\[0\] but 4 in y.shape\[0\]"):
        module.run(np.ones((5, 3), np.float32), np.ones((4, 3), np.float32))
    x, y = static.placeholder("x", (4, None)), static.placeholder("y", (None, 2))
    module, _ = graph(tmp_path, x @ y, {"x": (4, 3), "y": (3, 2)})
    assert module.run(np.ones((4, 6), np.float32), np.ones((6, 2), np.float32))[0].tolist() == [[6.0] * 2] * 4


def test_a_graph_that_does_other_things_at_other_sizes(tmp_path: Path) -> None:
    x = static.placeholder("x", (None,))
    y = static.apply(lambda t: t * 3 if t.shape[0] > 3 else t - 4, x)
    with pytest.raises(RuntimeError, match=r"with dynamic_axes=\{\}, those of the example are written"):
        graph(tmp_path, y, {"x": (2,)})
    assert not (tmp_path / "graph.py").exists()
    module, _ = graph(tmp_path, y, {"x": (2,)}, {})
    assert module.run(N)[0].tolist() == [-3.0, -3.0]
    with pytest.raises(ValueError, match=r"x has shape \(3,\), but this was written for \(2,\)"):
        module.run(np.ones(3, np.float32))


def test_placeholders_with_names_that_python_keeps(tmp_path: Path) -> None:
    a, b, c = [static.placeholder(name) for name in ("def", "np", "run")]
    with pytest.warns(UserWarning, match="placeholder 'def' is the parameter '_def'"):
        module, executor = graph(tmp_path, a * b - c, {"def": (2,), "np": (2,), "run": (2,)})
    feed = {a: np.array([1, 2], np.float32), b: np.array([3, 4], np.float32), c: np.array([5, 6], np.float32)}
    assert module.run(*feed.values())[0].tolist() == executor.run(feed)[0].tolist() == [-2.0, 2.0]


def test_placeholders_whose_names_become_one(tmp_path: Path) -> None:
    a, b, c = [static.placeholder(name) for name in ("a b", "a-b", "a.b")]
    with pytest.warns(UserWarning, match="is the parameter"):
        module, _ = graph(tmp_path, a * 100 + b * 10 + c, {"a b": (2,), "a-b": (2,), "a.b": (2,)})
    assert module.run(*[np.full(2, n, np.float32) for n in (1, 2, 3)])[0].tolist() == [123.0, 123.0]
