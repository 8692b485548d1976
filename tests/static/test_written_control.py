"""Graphs with branches and loops as NumPy modules: both branches and the loops are in the text."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minitorch as torch
from minitorch import static
from written import loaded

x, w, n = [static.placeholder(name) for name in ("x", "w", "n")]
ONE = static.parameter(torch.randn(3, 3, requires_grad=True), "one")
TWO = static.parameter(torch.randn(3, 3, requires_grad=True), "two")
draw = np.random.default_rng(0)


def floats(*sizes: int) -> np.ndarray:
    return draw.normal(size=sizes).astype(np.float32)


def with_gradients(y: Any, *wrt: Any, orders: int = 1) -> list[Any]:
    """A node, its gradients, and those of the sum of these."""
    found = [y]
    for _ in range(orders):
        gradients = [g for g in static.gradients(y.sum(), wrt, allow_unused=True) if g is not None]
        found += gradients
        y = sum([g.sum() for g in gradients], static.constant(0.0))
    return found


def repeated(step: Any, *first: Any, times: Any = n) -> Any:
    """What is left after so many steps."""
    return static.while_loop(lambda i, *v: i < times, lambda i, *v: (i + 1, *step(*v)), (0, *first))[1:]


def inner(h: Any) -> Any:
    return repeated(lambda g: [(g * w).sin() + x], h)[0]


def chosen_in_a_loop() -> Any:
    return repeated(lambda h: [static.cond(h.sum() > 0, h * x - 1, lambda: h * w + x)], x * 1)[0]


def loops_in_branches() -> Any:
    return static.cond(
        w.sum() > 0, lambda: repeated(lambda h: [(h * w).tanh()], x)[0], lambda: repeated(lambda h: [h / 2], w)[0] + 1
    )


def nested_branches() -> Any:
    then = static.cond(w.sum() > 0, x * w * w, x * x)
    return static.cond(x.sum() > 0, then, static.cond(w.sum() > 0, x**3, lambda: w * 1))


ROUNDS = [{"x": floats(3), "w": floats(3), "n": np.array(count)} for count in (4, 0, 1, 7)]
SIGNS = [{"x": a * abs(floats(3)), "w": b * abs(floats(3)), "n": np.array(2)} for a in (1, -1) for b in (1, -1)]
CASES: dict[str, Any] = {
    "branches": (lambda: with_gradients(static.cond(x.sum() > 2, x * w, w - x), x, w), SIGNS),
    "nested branches": (lambda: with_gradients(nested_branches(), x, w, orders=2), SIGNS),
    "a branch that is a parameter": (lambda: with_gradients(static.cond(x.sum() > 0, ONE, TWO).T, ONE, TWO), SIGNS),
    "an empty branch": (lambda: with_gradients(static.cond(x.sum() > 0, w, w * x), x, w), SIGNS),
    "a loop": (lambda: with_gradients(repeated(lambda h: [(h @ ONE + x).tanh()], w)[0], ONE, x, w), ROUNDS),
    "variables that change places": (
        lambda: with_gradients(repeated(lambda a, b: (b, a + b * w), x, w * 2)[1], x, w),
        ROUNDS,
    ),
    "a sum from 0.0 on": (
        lambda: with_gradients(repeated(lambda s: [s + x * w], 0.0)[0], x, w),
        [feed for feed in ROUNDS if feed["n"] > 1],
    ),
    "a branch in a loop": (lambda: with_gradients(chosen_in_a_loop(), x, w), ROUNDS),
    "a loop in a branch": (lambda: with_gradients(loops_in_branches(), x, w), [*SIGNS, *ROUNDS]),
    "a loop in a loop": (
        lambda: with_gradients(repeated(lambda h: [inner(h).tanh()], x, times=n + 1)[0], x, w),
        ROUNDS,
    ),
    "a loop to which its parameter is given": (lambda: [repeated(lambda a: [a * 1], ONE)[0].reshape(-1)], ROUNDS),
}


@pytest.mark.parametrize("example", [0, 1])
@pytest.mark.parametrize("name", CASES)
def test_modules_take_all_ways(name: str, example: int, tmp_path: Path) -> None:
    make, feeds = CASES[name]
    executor = static.Executor(make())
    names = [node.label for node in executor.placeholders]
    feeds = [{name: feed[name] for name in names} for feed in feeds]
    executor.to_python(tmp_path / "graph.py", feeds[example])
    module = loaded(tmp_path / "graph.py")
    for feed in feeds:
        check(module.run(**feed), executor.run(feed))
    if hasattr(module, "W"):  # nobody gets hold of the weights
        for found in module.run(**feeds[0]):
            found += 1
        check(module.run(**feeds[0]), executor.run(feeds[0]))


def check(found: Any, wanted: Any) -> None:
    for a, b in zip(found, wanted, strict=True):
        assert isinstance(a, np.ndarray)
        assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())


def test_any_batch_size(tmp_path: Path) -> None:
    rows = static.placeholder("rows", (None, 3))
    h = repeated(lambda h: [static.cond(h.sum() > 0, (h @ ONE).tanh() + rows, lambda: (h @ TWO).sin())], rows)[0]
    loss = (h * h).mean()
    executor = static.Executor([loss, h, *static.gradients(loss, [rows, ONE, TWO])])
    executor.to_python(tmp_path / "graph.py", {"rows": floats(4, 3), "n": 3})
    module = loaded(tmp_path / "graph.py")
    for size in (1, 2, 7, 50):
        for count in (0, 1, 5):
            feed = {"rows": floats(size, 3), "n": np.array(count)}
            check(module.run(**feed), executor.run(feed))


def test_the_text(tmp_path: Path) -> None:
    y = static.cond(x > 2, x * w, w - x)
    _, z = static.while_loop(lambda i, power: i < n, lambda i, power: (i + 1, power * y), (0, y))
    static.Executor(z).to_python(tmp_path / "graph.py", {x: 3.0, w: 5.0, n: 2})
    text = (tmp_path / "graph.py").read_text()
    lines = text[text.index("    gt =") : text.index("class OtherInputs")].rstrip().splitlines()
    assert [line.split("  #")[0] for line in lines] == [
        "    gt = np.greater(x, 2.0, out=...)",
        "    if gt:",
        "        mul = np.multiply(x, w, out=...)",
        "    else:",
        "        sub = np.subtract(w, x, out=...)",
        "    cond = mul if gt else sub",
        "    i, power = np.array(0, np.int64), cond",
        "    while True:",
        "        gt_1 = np.greater(n, i, out=...)",
        "        if not gt_1:",
        "            break",
        "        add = np.add(i, 1, out=...)",
        "        mul_1 = np.multiply(power, cond, out=...)",
        "        i, power = add, mul_1",
        "    return [power]",
    ]


def test_without_minitorch(tmp_path: Path) -> None:
    y = loops_in_branches()
    executor = static.Executor(with_gradients(y, x, w))
    executor.to_python(tmp_path / "graph.py", ROUNDS[0])
    np.savez(tmp_path / "given.npz", **ROUNDS[3])
    script = (
        "import sys\n"
        f"sys.path[:0] = {[str(tmp_path), str(Path(np.__file__).parents[1])]!r}\n"
        "import graph, numpy as np\n"
        "assert not [name for name in sys.modules if 'minitorch' in name]\n"
        f"np.savez({str(tmp_path / 'found.npz')!r}, *graph.run(**np.load({str(tmp_path / 'given.npz')!r})))\n"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with np.load(tmp_path / "found.npz") as found:
        check([found[name] for name in found.files], executor.run(ROUNDS[3]))


def test_a_recurrent_network_over_its_inputs(tmp_path: Path) -> None:
    xs = static.placeholder("xs")
    h = static.while_loop(lambda i, h: i < n, lambda i, h: (i + 1, (h @ ONE + xs[i]).tanh()), (0, x))[1]
    executor = static.Executor([h, *static.gradients(h.sum(), [xs, x, ONE])])
    feeds = [{"xs": floats(6, 2, 3), "x": floats(2, 3), "n": np.array(count)} for count in (3, 0, 6)]
    executor.to_python(tmp_path / "graph.py", feeds[0])
    module = loaded(tmp_path / "graph.py")
    for feed in feeds:
        check(module.run(**feed), executor.run(feed))


# -- what is written as in the example ---------------------------------------------------------------------------------
def test_branches_of_other_shapes_are_checked(tmp_path: Path) -> None:
    executor = static.Executor(static.cond(w.sum() > 0, x, 0.0) * 2)
    executor.to_python(tmp_path / "graph.py", {x: floats(3), w: np.ones(3, np.float32)})
    module = loaded(tmp_path / "graph.py")
    feed = {"x": floats(3), "w": np.ones(3, np.float32)}
    check(module.run(**feed), executor.run(feed))
    with pytest.raises(ValueError, match="branches on a value"):
        module.run(x=feed["x"], w=np.negative(feed["w"], out=...))


def test_a_branch_that_fails_on_the_example_is_checked(tmp_path: Path) -> None:
    y = static.cond(w > 0, x * 2, static.apply(lambda t: t[5] * t, x))
    executor = static.Executor(y)
    executor.to_python(tmp_path / "graph.py", {x: floats(3), w: 1.0})
    module = loaded(tmp_path / "graph.py")
    feed = {"x": floats(3), "w": np.array(2, np.float32)}
    check(module.run(**feed), executor.run(feed))
    with pytest.raises(ValueError, match="branches on a value"):
        module.run(x=feed["x"], w=np.negative(feed["w"], out=...))


@pytest.mark.parametrize("kind", ["dtypes", "shapes"])
def test_rounds_that_differ_are_checked(kind: str, tmp_path: Path) -> None:
    step = (lambda h: [h + x * 0.5]) if kind == "dtypes" else (lambda h: [static.apply(torch.cat, [h, x])])
    executor = static.Executor(repeated(step, 0 if kind == "dtypes" else x)[0])
    feeds = [{"x": floats(3), "n": np.array(count)} for count in (2, 2, 3)]
    executor.to_python(tmp_path / "graph.py", feeds[0])
    module = loaded(tmp_path / "graph.py")
    check(module.run(**feeds[1]), executor.run(feeds[1]))
    with pytest.raises(ValueError, match="branches on a value"):
        module.run(**feeds[2])


def test_rounds_in_which_values_become_numbers_are_checked(tmp_path: Path) -> None:
    step = static.apply(lambda h: h * 2 if h.sum() > 0 else h - 1, x)
    (h,) = repeated(lambda h: [static.apply(lambda h: h * 2 if h.sum() > 0 else h - 1, h)], step)
    executor = static.Executor([h, *static.gradients(h.sum(), [x])])
    feed = {"x": abs(floats(3)), "n": np.array(3)}
    executor.to_python(tmp_path / "graph.py", feed)
    module = loaded(tmp_path / "graph.py")
    check(module.run(**feed), executor.run(feed))
    with pytest.raises(ValueError, match="branches on a value"):
        module.run(x=-feed["x"], n=feed["n"])


def test_second_derivatives_of_loops_have_the_rounds_of_the_example(tmp_path: Path) -> None:
    executor = static.Executor(with_gradients(repeated(lambda h: [(h * w).sin()], x)[0], x, w, orders=2))
    feeds = [{"w": floats(3), "x": floats(3), "n": np.array(count)} for count in (3, 3, 5)]
    executor.to_python(tmp_path / "graph.py", feeds[0])
    module = loaded(tmp_path / "graph.py")
    check(module.run(**feeds[1]), executor.run(feeds[1]))
    with pytest.raises(ValueError, match="branches on a value"):
        module.run(**feeds[2])
