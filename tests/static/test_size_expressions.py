"""Expressions of sizes: what is written for many sizes gives at each what the function gives."""

from __future__ import annotations

import math
import re
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minitorch as torch
from minitorch import nn, static

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "eye": lambda x: torch.eye(x.shape[0]) @ x,
    "scaled eye": lambda x: torch.eye(len(x), 2 * len(x)) * 3 + x.sum(),
    "a multiple of 4": lambda x: nn.functional.pad(x, (0, 0, 0, -len(x) % 4)),
    "blocks of 4": lambda x: nn.functional.pad(x, (0, 0, 0, -len(x) % 4)).view(-1, 4, x.shape[1]).sum(1),
    "what remains": lambda x: x[: len(x) % 3] + 1,
    "ten at most": lambda x: x * min(len(x), 10),
    "four at least": lambda x: x * max(4, x.shape[0]),
    "within bounds": lambda x: x * max(3, min(len(x), 21)),
    "a part of 12 at most": lambda x: x[: min(len(x), 12)] + 1,
    "at most 32 rows": lambda x: x[:: max(1, len(x) // 32)] + 1,
    "the three largest": lambda x: x.topk(min(3, len(x)), 0)[0],
    "a remainder": lambda x: x * (len(x) % 7),
    "sixteenths": lambda x: x * (len(x) // 16),
    "blocks of 16": lambda x: nn.functional.pad(x, (0, 0, 0, -len(x) % 16)),
    "from 0 to 1": lambda x: x * torch.linspace(0, 1, len(x)).unsqueeze(1),
    "between decimals": lambda x: x * torch.linspace(-0.3, 0.7, x.shape[0]).unsqueeze(1),
    "pairs": lambda x: x.sum(0) + torch.zeros(len(x) * (len(x) - 1) // 2, 1),
    "triples": lambda x: torch.zeros(len(x) * (len(x) - 1) * (len(x) - 2) // 6).sum() + x,
    "a mean over pairs": lambda x: x.sum(0) / (len(x) * (len(x) + 1)),
    "an even part": lambda x: x[: len(x) // 2 * 2] + 1,
    "what remains behind": lambda x: torch.cat([x, torch.zeros(len(x) % 4, 3)]) * 2,
    "two more than thirds": lambda x: x.sum() + torch.zeros(len(x) // 3 + 2),
    "up to the size": lambda x: x * torch.linspace(1, len(x), 2 * len(x) + 1)[: len(x)].unsqueeze(1),
}
SIZES = (1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 16, 17, 20, 21, 22, 33, 40, 95, 96, 200)


def example(size: int) -> Any:
    return torch.arange(3.0 * size).reshape(size, 3) - 4


@pytest.mark.parametrize("name", FUNCTIONS)
def test_modules(name: str, tmp_path: Path) -> None:
    path = tmp_path / "many.py"
    static.trace(FUNCTIONS[name], example(5)).to_python(path, dynamic_axes={"x": {0: "n"}})
    written = runpy.run_path(str(path))["forward"]
    for size in SIZES:
        assert written(example(size).numpy()).tolist() == FUNCTIONS[name](example(size)).tolist()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_onnx_files(name: str, tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    function = FUNCTIONS[name]
    path = str(tmp_path / "many.onnx")
    torch.onnx.export(function, example(5), path, input_names=["x"], dynamic_axes={"x": {0: "n"}})
    session = runtime.InferenceSession(path)
    for size in SIZES:
        (found,) = session.run(None, {"x": example(size).numpy()})
        np.testing.assert_allclose(found, function(example(size)).numpy(), rtol=1e-5, atol=1e-5)


# -- of several axes ---------------------------------------------------------------------------------------------------
def patches(x: Any) -> Any:
    h, w = x.shape[:2]
    x = x[: h // 2 * 2, : w // 2 * 2]
    return x.reshape(h // 2, 2, w // 2, 2, -1).transpose(1, 2).reshape((h // 2) * (w // 2), -1)


PRODUCTS: dict[str, Callable[[Any], Any]] = {
    "patches": patches,
    "quotients": lambda x: x.sum() + torch.zeros((x.shape[0] // 2) * (x.shape[1] // 3)),
    "times a number": lambda x: x.sum() + torch.zeros(5 * (x.shape[0] // 2) * (x.shape[1] // 2)),
    "a quotient and a difference": lambda x: x * ((x.shape[0] // 4) * (x.shape[1] - 1)),
    "of three": lambda x: x.sum() + torch.zeros((x.shape[0] // 2) * (x.shape[1] // 3) * x.shape[2]),
    "a share": lambda x: x * (-(-x.shape[0] // 2) * (x.shape[1] // 2)),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_of_quotients(name: str, tmp_path: Path) -> None:
    function, axes = PRODUCTS[name], {"x": {0: "h", 1: "w", 2: "d"}}
    path = tmp_path / "many.py"
    static.trace(function, torch.randn(6, 8, 3)).to_python(path, dynamic_axes=axes)
    written = runpy.run_path(str(path))[getattr(function, "__name__", "").replace("<lambda>", "forward")]
    for sizes in [(6, 8, 3), (7, 9, 2), (13, 4, 5), (20, 31, 2), (33, 10, 4)]:
        x = torch.arange(float(math.prod(sizes))).reshape(sizes)
        assert written(x.numpy()).tolist() == function(x).tolist()


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_of_quotients_in_onnx_files(name: str, tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    function, path = PRODUCTS[name], str(tmp_path / "many.onnx")
    axes = {"x": {0: "h", 1: "w", 2: "d"}}
    torch.onnx.export(function, torch.randn(6, 8, 3), path, input_names=["x"], dynamic_axes=axes)
    session = runtime.InferenceSession(path)
    for sizes in [(6, 8, 3), (7, 9, 2), (20, 31, 2)]:
        x = torch.arange(float(math.prod(sizes))).reshape(sizes)
        (found,) = session.run(None, {"x": x.numpy()})
        np.testing.assert_allclose(found, function(x).numpy(), rtol=1e-5, atol=1e-5)


def test_a_size_has_no_brackets_that_it_does_not_need(tmp_path: Path) -> None:
    static.trace(patches, torch.randn(6, 8, 3)).to_python(tmp_path / "many.py", dynamic_axes={"x": {0: "h", 1: "w"}})
    text = (tmp_path / "many.py").read_text()
    assert "reshape(h//2, 2, w//2, 2, -1)" in text
    assert "reshape((h//2)*(w//2), -1)" in text


def _digits(n: int) -> int:
    return n.bit_count() + 2


def test_what_has_no_expression_is_named_as_it_was_called(tmp_path: Path) -> None:
    def viewed(x: Any) -> Any:
        return x.t().reshape(-1, math.gcd(x.shape[0], 60))

    def flat(x: Any) -> Any:
        return x.t().unflatten(1, (-1, math.gcd(x.shape[0], 60))).flatten(0, 1)

    def cut(x: Any) -> Any:
        return x[: _digits(x.shape[0])] * 2

    def made(x: Any) -> Any:
        return x.sum() + torch.zeros(_digits(x.shape[0]))

    for function, said in [(viewed, "reshape"), (flat, "unflatten"), (cut, "getitem"), (made, "zeros")]:
        line = function.__code__.co_firstlineno + 1
        with pytest.raises(
            RuntimeError, match=rf"- {said}\(\) at test_size_expressions.py:{line} (needs|makes) something"
        ):
            static.trace(function, example(30)).to_python(tmp_path / "many.py", dynamic_axes={"x": {0: "n"}})


LIMIT = 70


class Cut(nn.Module):
    """Has a number in an attribute of an attribute."""

    def __init__(self) -> None:
        super().__init__()
        self.options = {"most": 90}
        self.table = nn.Linear(3, 3)
        self.table.rows = 80

    def forward(self, x: Any) -> Any:
        return x.sin() if len(x) > self.options["most"] or len(x) > self.table.rows else x.cos()


BOUNDED: dict[str, tuple[Callable[[Any], Any], int, str]] = {
    "a branch": (lambda x: x.sin() if len(x) > 100 else x.cos(), 100, r"at size 101 it does sin\(\) where.* cos\(\)"),
    "a global": (lambda x: x.sin() if x.shape[0] > LIMIT else x.cos(), 70, r"at size 71 it does sin\(\)"),
    "an attribute": (Cut(), 80, r"at size 81 it does sin\(\) where it otherwise does cos\(\)"),
    "parts of 16": (lambda x: x.split(16)[0] * 2, 16, r"at size 17 it does split\(\)"),
    "a loop": (
        lambda x: torch.cat([x[i : i + 24].cumsum(0) for i in range(0, len(x), 24)]),
        24,
        r"at size 25 it does slice\(\) where it otherwise does cat\(\)",
    ),
    "computed": (lambda x: x.sin() if len(x) * 3 > 900 else x.cos(), 257, r"at size 513 it does sin\(\)"),
}
"""Functions that do another thing beyond a size, the largest at which they are known to do this, and what is said."""


@pytest.mark.parametrize("name", BOUNDED)
def test_beyond_a_size_at_which_it_does_another_thing(name: str, tmp_path: Path) -> None:
    function, most, said = BOUNDED[name]
    path = tmp_path / "many.py"
    static.trace(function, example(5)).to_python(path, dynamic_axes={"x": {0: "n"}})
    module = runpy.run_path(str(path))
    for size in (1, 5, most // 2, most):
        assert module["forward"](example(size).numpy()).tolist() == function(example(size)).tolist()
    with pytest.raises(
        module["OtherInputs"], match=rf"n is {most + 1}, but this was written for {most} or less: {said}"
    ):
        module["forward"](example(most + 1).numpy())
    tried = module["forward"].__doc__.partition("It was compared with what was traced at n ")[2]
    assert str(most) in re.findall(r"\d+", tried)
    pytest.importorskip("onnx")
    with pytest.raises(torch.onnx.OnnxExporterError, match=rf"the axis 'n' cannot vary beyond {most}: {said}"):
        torch.onnx.export(function, example(5), input_names=["x"], dynamic_axes={"x": {0: "n"}})


def test_beyond_a_size_at_which_it_fails(tmp_path: Path) -> None:
    def short(x: Any) -> Any:
        if len(x) > 77:
            raise ValueError("too long")
        return x * 2

    path = tmp_path / "many.py"
    static.trace(short, example(5)).to_python(path, dynamic_axes={"x": {0: "n"}})
    module = runpy.run_path(str(path))
    assert module["short"](example(77).numpy()).shape == (77, 3)
    with pytest.raises(
        module["OtherInputs"], match=r"n is 78, but.* for 77 or less: at size 78 it fails: .*: too long"
    ):
        module["short"](example(78).numpy())


def test_what_fails_at_some_sizes_only_has_no_bound(tmp_path: Path) -> None:
    path = tmp_path / "many.py"
    static.trace(lambda x: x.reshape(-1, 8, 3) + 1, example(16)).to_python(path, dynamic_axes={"x": {0: "n"}})
    assert runpy.run_path(str(path))["forward"](example(4000).numpy()).shape == (500, 8, 3)


SHARES: dict[str, Callable[[int], int]] = {
    "in floats": lambda n: int(n * 0.7),
    "in integers": lambda n: n * 7 // 10,
    "a quotient": lambda n: int(n / 0.3),
    "up": lambda n: math.ceil(n * 0.57) + 1,
    "up, of a quotient": lambda n: -int(-n / 1.5 // 1),
    "to the next": lambda n: round(n * 0.3),
    "hundredths": lambda n: int(n * 0.29),
    "more than all": lambda n: int(n * 1.15) + 1,
    "two thirds": lambda n: int(n * (2 / 3)),
}
"""Parts of a size: 0.7 * 90 is less than 63 in doubles, and more than that at other sizes."""


@pytest.mark.parametrize("name", SHARES)
def test_a_share_of_a_size_at_every_size(name: str, tmp_path: Path) -> None:
    share = SHARES[name]
    path = tmp_path / "many.py"
    static.trace(lambda x: torch.ones(share(len(x))), torch.ones(7)).to_python(path, dynamic_axes={"x": {0: "n"}})
    module = runpy.run_path(str(path))
    for size in [*range(2, 1500), 4567, 65_530, 99_990]:
        assert len(module["forward"](np.ones(size, np.float32))) == share(size)


def test_a_share_of_an_image_that_is_less_than_the_input(tmp_path: Path) -> None:
    conv = nn.Conv2d(1, 1, 3).requires_grad_(False)

    def half(x: Any) -> Any:
        return nn.functional.interpolate(conv(x), scale_factor=(0.7, 1.0))

    path = tmp_path / "many.py"
    static.trace(half, torch.ones(1, 1, 12, 4)).to_python(path, dynamic_axes={"x": {2: "h"}})
    module = runpy.run_path(str(path))
    for size in (5, 40, 91, 92, 93, 182):
        x = torch.randn(1, 1, size, 4)
        assert np.array_equal(module["half"](x.numpy()), half(x).numpy())


def test_a_share_that_could_not_be_told_has_a_bound(tmp_path: Path) -> None:
    def part(x: Any) -> Any:
        if len(x) in (90, 170, 180, 330):
            raise ValueError("none of ninety")
        return torch.ones(int(len(x) * 0.7))

    path = tmp_path / "many.py"
    static.trace(part, torch.ones(7)).to_python(path, dynamic_axes={"x": {0: "n"}})
    module = runpy.run_path(str(path))
    assert len(module["part"](np.ones(89, np.float32))) == int(89 * 0.7)
    with pytest.raises(module["OtherInputs"], match="for 89 or less: how a size is rounded at size 90 was not tried"):
        module["part"](np.ones(180, np.float32))


def test_a_share_in_a_file(tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    for name in ("in floats", "up", "to the next"):
        path = tmp_path / "many.onnx"
        share = SHARES[name]

        def part(x: Any, share: Any = share) -> Any:
            return torch.cat([x, torch.ones(share(len(x)))])

        torch.onnx.export(part, (torch.ones(7),), path, input_names=["x"], dynamic_axes={"x": {0: "n"}})
        run = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"]).run
        for size in (9, 10, 90, 100, 180, 200):
            (found,) = run(None, {"x": np.ones(size, np.float32)})
            assert len(found) == size + share(size)


def test_a_table_that_ends(tmp_path: Path) -> None:
    class Positions(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.known = nn.Embedding(341, 3).requires_grad_(False)

        def forward(self, x: Any) -> Any:
            return x + self.known(torch.arange(len(x)))

    path = tmp_path / "many.py"
    static.trace(Positions(), torch.ones(5, 3)).to_python(path, dynamic_axes={"x": {0: "n"}})
    module = runpy.run_path(str(path))
    assert module["forward"](np.ones((341, 3), np.float32)).shape == (341, 3)
    with pytest.raises(module["OtherInputs"], match="for 341 or less: at size 342 it fails: IndexError"):
        module["forward"](np.ones((342, 3), np.float32))


UNCERTAIN: dict[str, Callable[[Any], Any]] = {
    "one size": lambda x: x * (2 if len(x) == 70 else 3),
    "a table": lambda x: x * {130: 5}.get(len(x), 1),
    "a number that jumps": lambda x: x * (1 + (len(x) > 90)),
    "a power of two": lambda x: x[: 1 << len(x).bit_length() - 1],
    "a root": lambda x: x[: int(len(x) ** 0.5)],
    "a thousandth": lambda x: x[: int(len(x) * 0.4567)],
}


@pytest.mark.parametrize("name", UNCERTAIN)
def test_what_is_right_near_the_example_only_is_refused(name: str, tmp_path: Path) -> None:
    for size in (3, 5, 20):
        with pytest.raises(RuntimeError, match="no expression was found"):
            static.trace(UNCERTAIN[name], example(size)).to_python(tmp_path / "many.py", dynamic_axes={"x": {0: "n"}})
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("axes", ["x", ["x"], {"x": 0}])
def test_dynamic_axes_that_are_no_dict_of_axes(axes: Any, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"dynamic_axes must be as \{'x': \{0: 'n'\}\}"):
        static.trace(FUNCTIONS["eye"], example(5)).to_python(tmp_path / "many.py", dynamic_axes=axes)


def test_what_an_export_refuses_has_a_remedy(tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    with pytest.raises(RuntimeError, match=r"rand\(\): random numbers: draw them outside, and pass them as an input"):
        torch.onnx.export(lambda x: x * torch.rand(2), (torch.ones(2),), str(tmp_path / "drawn.onnx"))
    torch.onnx.export(lambda x: x.sum().flip(0), (torch.ones(2),), str(tmp_path / "flipped.onnx"))
    assert [file.name for file in tmp_path.iterdir()] == ["flipped.onnx"]


# -- from a size on ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("least", "example_of"), [(4, 7), (20, 30), (20, 64)])
def test_what_does_something_else_at_small_sizes_is_written_from_some_size_on(
    least: int, example_of: int, tmp_path: Path
) -> None:
    def function(x: Any) -> Any:
        return x * 2 if len(x) > least else x + 1

    static.trace(function, example(example_of)).to_python(tmp_path / "many.py", dynamic_axes={"x": {0: "n"}})
    module = runpy.run_path(str(tmp_path / "many.py"))
    for size in (least + 1, example_of, 200):
        assert module["function"](example(size).numpy()).tolist() == function(example(size)).tolist()
    for size in (least, least - 1, 0):
        with pytest.raises(
            module["OtherInputs"],
            match=rf"n is {size}, but this was written for {least + 1} or more: at size {least} it does add\(\)",
        ):
            module["function"](example(size).numpy())
    pytest.importorskip("onnx")
    with pytest.raises(torch.onnx.OnnxExporterError, match="cannot vary"):
        torch.onnx.export(function, example(example_of), tmp_path / "many.onnx", dynamic_axes={"x": {0: "n"}})


def test_what_changes_again_and_again_is_no_bound(tmp_path: Path) -> None:
    program = static.trace(lambda x: x * 2 if len(x) % 5 == 0 else x + 1, example(9))
    with pytest.raises(RuntimeError, match="cannot vary: at size"):
        program.to_python(tmp_path / "many.py", dynamic_axes={"x": {0: "n"}})
