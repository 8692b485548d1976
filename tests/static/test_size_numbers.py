"""Numbers that depend on sizes, as they are written into a NumPy module: every bit at sizes and values that were not tried."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minitorch as torch
from minitorch import nn, static
from written import loaded

F = nn.functional
SIZES = (*range(1, 48), 63, 130, 257, 999)


def gradient_of(loss: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def gradient(x: Any) -> Any:
        y = x.detach().requires_grad_()
        with torch.enable_grad():
            return torch.autograd.grad(loss(y), y)[0]

    return gradient


def bits(array: np.ndarray) -> bytes:
    return (
        np.where(np.isnan(array), np.nan, array).astype(array.dtype).tobytes()
        if array.dtype.kind == "f"
        else array.tobytes()
    )


NUMBERS: dict[str, Callable[[Any], Any]] = {
    "a cosine": lambda x: x * math.cos(len(x)) + 2 * math.sin(len(x)),
    "an exponential": lambda x: x * math.exp(-0.1 * len(x)),
    "a warm-up": lambda x: x * math.tanh(len(x) / 10),
    "over a root": lambda x: x / math.sqrt(len(x)),
    "over a product": lambda x: x / (len(x) * 0.1),
    "over a quotient": lambda x: x / (3 / len(x)),
    "over a negative": lambda x: x / -len(x),
    "from a sum": lambda x: x - (len(x) - 1),
    "a sum from it": lambda x: (len(x) + 1) - x,
    "one over": lambda x: x * (1 / len(x)),
    "two over": lambda x: x * (2 / len(x)),
    "a power": lambda x: x * len(x) ** -0.5,
    "a root of a quotient": lambda x: x * math.sqrt(6 / (len(x) + 4)),
    "a product": lambda x: x * (len(x) * 0.1),
    "pi over": lambda x: x * (math.pi / len(x)),
    "a little more": lambda x: x / (len(x) + 1e-5),
    "a share": lambda x: x * (1 - 1 / len(x)),
    "a quotient": lambda x: x * (len(x) / (len(x) + 1)),
    "a logarithm": lambda x: x * math.log(len(x)),
    "a decay": lambda x: x * 0.9 ** len(x),
    "a schedule": lambda x: x * (1 / (1 + 0.01 * len(x))),
    "a rounded share": lambda x: x[: round(len(x) * 0.75)] * 2,
    "a rounded half": lambda x: x[: round(len(x) / 2)] * 2,
    "a parameter": lambda x: x.add(x, alpha=1 / len(x)),
    "a limit": lambda x: x.clamp(max=1 / len(x)),
    "doubles": lambda x: x.double() / math.sqrt(len(x)),
    "integers": lambda x: (x * 10).long() * len(x),
    "integers by a number": lambda x: (x * 10).long() * (1 / len(x)),
    "a tensor": lambda x: x * torch.tensor(1 / len(x)),
    "a tensor of two": lambda x: x.sum() * torch.tensor([3, len(x)]),
    "positions": lambda x: x * torch.exp(torch.arange(len(x)) * (-math.log(10000.0) / len(x))),
    "the gradient of mean": gradient_of(lambda y: y.mean()),
    "the gradient of var": gradient_of(lambda y: y.var()),
    "the gradient of std": gradient_of(lambda y: (y + torch.arange(len(y))).std(0)),
    "the gradient of mse_loss": gradient_of(lambda y: F.mse_loss(y, torch.zeros_like(y))),
    "the gradient of smooth_l1_loss": gradient_of(lambda y: F.smooth_l1_loss(y, torch.zeros_like(y))),
    "the gradient of a loss of logits": gradient_of(lambda y: F.binary_cross_entropy_with_logits(y, torch.ones_like(y))),
    "attention": lambda x: (x[:, None] @ x[None] / math.sqrt(len(x))).softmax(-1) @ x,
    "distances": lambda x: torch.cdist(x[:, None], torch.arange(4.0)[:, None]),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("example", [torch.zeros(3), torch.linspace(-2, 2, 7)], ids=["3 zeros", "7 numbers"])
def test_a_number_made_of_sizes(name: str, example: torch.Tensor, tmp_path: Path) -> None:
    function = NUMBERS[name]
    program = static.trace(lambda x: function(x), example, quiet=True)
    program.to_python(tmp_path / "model.py", dynamic_axes={"x": {0: "n"}})
    module = loaded(tmp_path / "model.py")
    draw = np.random.default_rng(1)
    compared = 0
    for size in SIZES:
        x = draw.normal(size=size).astype(np.float32)
        try:
            found = module.forward(x)
        except module.OtherInputs:
            assert size < 2  # where the function may fail, or divide by zero
            continue
        wanted = function(torch.tensor(x)).numpy()
        assert (found.dtype, found.shape, bits(found)) == (wanted.dtype, wanted.shape, bits(wanted)), size
        compared += 1
    assert compared >= len(SIZES) - 1


def test_attention_that_was_traced_on_zeros(tmp_path: Path) -> None:
    program = static.trace(
        lambda x: (x @ x.transpose(1, 2) / math.sqrt(x.shape[1])).softmax(-1) @ x, torch.zeros(2, 5, 4), quiet=True
    )
    program.to_python(tmp_path / "model.py", dynamic_axes={"x": {0: "n", 1: "t"}})
    forward = loaded(tmp_path / "model.py").forward
    for n, t in [(1, 9), (4, 6), (3, 20)]:
        x = torch.randn(n, t, 4)
        np.testing.assert_array_equal(forward(x.numpy()), program(x).numpy())


@pytest.mark.parametrize("rows", [3, 6, 7])
def test_the_gradient_of_a_graph_with_any_number_of_rows(rows: int, tmp_path: Path) -> None:
    x, y = static.placeholder("x", (None, 3)), static.placeholder("y", (None, 3))
    loss = ((x - y) * (x - y)).mean()
    executor = static.Executor([loss, static.gradients(loss, [x])[0], x * (1 / x.shape[0])])
    feed = {"x": np.zeros((rows, 3), np.float32), "y": np.ones((rows, 3), np.float32)}
    executor.to_python(tmp_path / "graph.py", feed)
    module = loaded(tmp_path / "graph.py")
    for size in (2, 5, 11, 47, 53):
        feed = {name: np.random.default_rng(size).normal(size=(size, 3)).astype(np.float32) for name in feed}
        for found, wanted in zip(module.run(**feed), executor.run(feed), strict=True):
            np.testing.assert_array_equal(found, wanted)


def test_a_number_of_which_no_expression_is_known_is_refused(tmp_path: Path) -> None:
    for function in (lambda x: x * math.cos(len(x) ** 0.5), lambda x: x * torch.full((1,), math.pi / len(x))):
        program = static.trace(function, torch.ones(5), quiet=True)
        with pytest.raises(RuntimeError, match="no expression was found"):
            program.to_python(tmp_path / "model.py", dynamic_axes={"x": {0: "n"}})


def test_what_a_few_sizes_do_not_tell_is_compared_at_others(tmp_path: Path) -> None:
    program = static.trace(lambda x: x * (2.0 if f" {len(x)} " in " 13 26 " else 3.0), torch.ones(5), quiet=True)
    with pytest.raises(RuntimeError, match=r"other bits than the model at \{'n': 13\}"):
        program.to_python(tmp_path / "model.py", dynamic_axes={"x": {0: "n"}})


def test_other_values_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from minitorch.static._number_expressions import Expression

    monkeypatch.setattr(Expression, "text", lambda self, *_: "0.3")
    program = static.trace(lambda x: x / math.sqrt(len(x)), torch.zeros(5), quiet=True)
    with pytest.raises(RuntimeError, match=r"other bits than the model at .*, on values that were drawn"):
        program.to_python(tmp_path / "model.py", dynamic_axes={"x": {0: "n"}})


def test_integers_that_are_drawn_stay_in_range(tmp_path: Path) -> None:
    table = nn.Embedding(5, 3)
    program = static.trace(lambda i: table(i) / math.sqrt(len(i)), torch.tensor([0, 4, 2]), quiet=True)
    program.to_python(tmp_path / "model.py", dynamic_axes={"i": {0: "n"}})
    indices = np.array([4, 1, 0, 3, 3, 2, 1])
    np.testing.assert_array_equal(
        loaded(tmp_path / "model.py").forward(indices), program(torch.tensor(indices)).detach()
    )


@pytest.mark.parametrize("name", ["flip", "np", "sqrt", "forward", "pathlib", "max"])
def test_a_parameter_keeps_its_name(name: str, tmp_path: Path) -> None:
    scope: dict[str, Any] = {"math": math}
    exec(f"def forward({name}):\n    return {name}.flip(0).max() / math.sqrt(len({name})) + {name}.sort()[0]", scope)
    program = static.trace(scope["forward"], torch.ones(3), quiet=True)
    x = torch.randn(5)
    for axes in (None, {name: {0: "n"}}):
        program.to_python(tmp_path / "model.py", dynamic_axes=axes)
        given = x if axes else x[:3]
        found = loaded(tmp_path / "model.py").forward(**{name: given.numpy()})
        np.testing.assert_array_equal(found, scope["forward"](given).numpy())


def test_placeholders_keep_the_names_that_parameters_may_have(tmp_path: Path) -> None:
    nodes = [static.placeholder(name) for name in ("np", "class", "a b")]
    executor = static.Executor(nodes[0] * nodes[1] + nodes[2].exp())
    feed = {name: np.ones(2, np.float32) for name in ("np", "class", "a b")}
    with pytest.warns(UserWarning, match="is the parameter") as said:
        executor.to_python(tmp_path / "graph.py", feed, dynamic_axes={name: {0: "n"} for name in feed})
    assert [str(w.message).split(",")[0] for w in said] == [
        "to_python(): placeholder 'class' is the parameter '_class'",
        "to_python(): placeholder 'a b' is the parameter 'a_b'",
    ]
    twos = np.full(3, 2.0, np.float32)
    (found,) = loaded(tmp_path / "graph.py").run(np=twos, _class=twos, a_b=twos)
    np.testing.assert_array_equal(found, executor.run(dict.fromkeys(feed, twos))[0])


def test_a_graph_says_what_to_do_for_other_shapes(tmp_path: Path) -> None:
    x = static.placeholder("x")
    static.Executor(x + 1).to_python(tmp_path / "graph.py", {x: np.ones(2, np.float32)})
    module = loaded(tmp_path / "graph.py")
    with pytest.raises(
        module.OtherInputs, match="make the sizes that vary None in the placeholder's shape, or name them in"
    ):
        module.run(np.ones(3, np.float32))
