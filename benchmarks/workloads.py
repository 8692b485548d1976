"""The workloads. Each checks its gradients against its peers before it is timed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from harness import Runs, Table, load_torch, measure, optional

import minitorch

torch = load_torch()
hips = optional("autograd")
mygrad = optional("mygrad")

LIBRARIES = {"torch": torch, "minitorch": minitorch} if torch is not None else {"minitorch": minitorch}


def agree(name: str, arrays: dict[str, list[np.ndarray]], tolerance: float = 1e-4) -> None:
    """Raise where contenders' gradients differ."""
    reference = arrays["minitorch"]
    for peer, values in arrays.items():
        for ours, theirs in zip(reference, values):
            np.testing.assert_allclose(
                ours, theirs, rtol=tolerance, atol=tolerance, err_msg=f"{name}: minitorch and {peer}"
            )


def leaves(library: Any, *arrays: np.ndarray) -> list[Any]:
    return [library.tensor(a, requires_grad=True) for a in arrays]


# -- single operations -------------------------------------------------------------------------------------------------
OPERATIONS: dict[str, tuple[Callable[[Any, Any], Callable[[], Any]], int]] = {
    "add": (lambda a, b: lambda: a + b, 2),
    "mul": (lambda a, b: lambda: a * b, 2),
    "mul by a number": (lambda a, b: lambda: a * 2.0, 1),
    "exp": (lambda a, b: lambda: a.exp(), 1),
    "matmul": (lambda a, b: lambda: a @ b, 2),
    "sum": (lambda a, b: lambda: a.sum(), 1),
    "a[1:]": (lambda a, b: lambda: a[1:], 1),
    "a[1]": (lambda a, b: lambda: a[1], 1),
}
"""name -> what makes the call that is timed, and how many of its operands get a gradient."""
LIMITED = {"add", "mul", "exp"}


def operations(table: Table, repeats: int) -> None:
    """Recording one operation on 4x4 leaves."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 4, 4)).astype(np.float32)
    for name, (make, arity) in OPERATIONS.items():
        runs: Runs = {}
        found: dict[str, list[np.ndarray]] = {}
        for peer, library in LIBRARIES.items():
            x, y = leaves(library, a, b)
            make(x, y)().sum().backward()
            found[peer] = [t.grad.numpy() for t in (x, y)[:arity]]
            runs[peer] = make(*leaves(library, a, b))
        if mygrad is not None and name != "exp":  # which its tensors have only as a function
            x, y = mygrad.tensor(a), mygrad.tensor(b)
            make(x, y)().sum().backward()
            found["mygrad"] = [t.grad for t in (x, y)[:arity]]
            runs["mygrad"] = make(mygrad.tensor(a), mygrad.tensor(b))
        agree(name, found)
        table.line(f"{name}, 4x4, recording", measure(runs, repeats=repeats), 0.45 if name in LIMITED else None)


def in_place_and_functions(table: Table, repeats: int) -> None:
    """Recorded in-place writes, assignments, and a custom Function, on 4x4."""
    data = np.full((4, 4), 0.5, np.float32)

    def writes(library: Any) -> Callable[[], Any]:
        x, y = leaves(library, data, data)

        def run() -> Any:
            h = x * 2.0
            h.mul_(y)
            h.add_(y)
            return h

        return run

    def assignment(library: Any) -> Callable[[], Any]:
        x, y = leaves(library, data, data)

        def run() -> Any:
            h = x * 2.0
            h[1] = y[0]
            return h

        return run

    def function(library: Any) -> Callable[[], Any]:
        (x,) = leaves(library, data)

        class Double(library.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x * 2

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                return g * 2

        return lambda: Double.apply(x)

    for name, make in {
        "x*2, mul_, add_": writes,
        "x*2, h[1] = y[0]": assignment,
        "custom Function.apply": function,
    }.items():
        table.line(name, measure({peer: make(library) for peer, library in LIBRARIES.items()}, repeats=repeats), 1.0)


# -- a short chain -----------------------------------------------------------------------------------------------------
def chain(table: Table, repeats: int) -> None:
    """20 x (mul, add) + sum on 4x4: forward and backward, and its create_graph."""
    rng = np.random.default_rng(0)
    a, b = rng.uniform(0.5, 1, size=(2, 4, 4)).astype(np.float32)

    def value(x: Any, y: Any) -> Any:
        h = x
        for _ in range(20):
            h = h * y + x
        return h.sum()

    runs: Runs = {}
    found: dict[str, list[np.ndarray]] = {}
    for peer, library in LIBRARIES.items():
        x, y = leaves(library, a, b)
        value(x, y).backward()
        found[peer] = [x.grad.numpy(), y.grad.numpy()]

        def both(x: Any = x, y: Any = y) -> None:
            x.grad = y.grad = None
            value(x, y).backward()

        runs[peer] = both
    if mygrad is not None:
        p, q = mygrad.tensor(a), mygrad.tensor(b)
        value(p, q).backward()
        found["mygrad"] = [p.grad, q.grad]
        runs["mygrad"] = lambda: value(p, q).backward()
    if hips is not None:
        import autograd.numpy as anp

        def loss(pair: Any) -> Any:
            h = pair[0]
            for _ in range(20):
                h = h * pair[1] + pair[0]
            return anp.sum(h)

        gradient = hips.grad(loss)
        found["HIPS"] = list(gradient((a, b)))
        runs["HIPS"] = lambda: gradient((a, b))
    agree("chain", found)
    table.line("20x(mul, add)+sum, forward+backward, 4x4", measure(runs, repeats=repeats), 0.40)

    graphs: Runs = {}
    second: dict[str, list[np.ndarray]] = {}
    for peer, library in LIBRARIES.items():
        x, y = leaves(library, a, b)
        root = value(x, y)

        def create(library: Any = library, root: Any = root, x: Any = x, y: Any = y) -> Any:
            return library.autograd.grad(root, (x, y), create_graph=True)

        second[peer] = [g.detach().numpy() for g in library.autograd.grad(create()[1].sum(), (x, y), retain_graph=True)]
        graphs[peer] = create
    agree("create_graph", second, 1e-3)
    table.line("its create_graph", measure(graphs, repeats=repeats), 0.60)


# -- training steps ----------------------------------------------------------------------------------------------------
RATE = 1e-7
"""Adam's learning rate: so small that gradients stay as they are, and no moment fades into denormal numbers."""


def small_mlp(table: Table, repeats: int) -> None:
    """MLP 2-16-16-1 with ReLU, mean squared error, batch 32, SGD: one step."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(32, 2)).astype(np.float32), rng.normal(size=(32, 1)).astype(np.float32)
    weights = [rng.normal(size=s).astype(np.float32) * 0.3 for s in ((16, 2), (16,), (16, 16), (16,), (1, 16), (1,))]
    runs: Runs = {}
    found: dict[str, list[np.ndarray]] = {}
    for peer, library in LIBRARIES.items():
        step, parameters = _mlp(library, weights, x, y, "sgd")
        step()
        found[peer] = [p.detach().numpy().copy() for p in parameters]
        runs[peer] = step
    numpy_weights = [w.copy() for w in weights]
    numpy_step = _numpy_small(numpy_weights, x, y)
    numpy_step()
    found["NumPy by hand"] = [w.copy() for w in numpy_weights]
    runs["NumPy by hand"] = numpy_step
    agree("MLP 2-16-16-1", found)
    table.line("MLP 2-16-16-1, batch 32, SGD step", measure(runs, repeats=repeats), 0.25)


def large_mlp(table: Table, repeats: int) -> None:
    """MLP 784-128-10 with ReLU, cross entropy, batch 64, Adam: one step."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(64, 784)).astype(np.float32), rng.integers(0, 10, 64)
    weights = [rng.normal(size=s).astype(np.float32) * 0.05 for s in ((128, 784), (128,), (10, 128), (10,))]
    runs: Runs = {}
    found: dict[str, list[np.ndarray]] = {}
    for peer, library in LIBRARIES.items():
        step, parameters = _mlp(library, weights, x, y, "adam")
        step()
        found[peer] = [p.grad.numpy().copy() for p in parameters]
        runs[peer] = step
    numpy_step = _numpy_large([w.copy() for w in weights], x, y)
    found["NumPy by hand"] = numpy_step()
    runs["NumPy by hand"] = numpy_step
    agree("MLP 784-128-10", found)
    times = measure(runs, repeats=repeats, target_ms=10)
    table.line("MLP 784-128-10, batch 64, Adam step", times, 0.60)
    ratio = times["minitorch"] / times["NumPy by hand"]
    print(f"{'':44s} to NumPy by hand x{ratio:.2f}  (limit 1.25: {'holds' if ratio <= 1.25 else 'MISSED'})")


def _mlp(
    library: Any, weights: list[np.ndarray], x: np.ndarray, y: np.ndarray, optimiser: str
) -> tuple[Callable[[], Any], list[Any]]:
    nn, optim = library.nn, library.optim
    layers: list[Any] = []
    for weight in weights[::2]:
        layers += [nn.Linear(weight.shape[1], weight.shape[0]), nn.ReLU()]
    model = nn.Sequential(*layers[:-1])
    with library.no_grad():
        for parameter, weight in zip(model.parameters(), weights):
            parameter.copy_(library.tensor(weight))
    parameters = list(model.parameters())
    optimizer = optim.SGD(parameters, lr=0.01) if optimiser == "sgd" else optim.Adam(parameters, lr=RATE)
    loss_of = nn.MSELoss() if optimiser == "sgd" else nn.CrossEntropyLoss()
    inputs, targets = library.tensor(x), library.tensor(y)

    def step() -> None:
        optimizer.zero_grad()
        loss_of(model(inputs), targets).backward()
        optimizer.step()

    return step, parameters


def _numpy_small(weights: list[np.ndarray], x: np.ndarray, y: np.ndarray) -> Callable[[], Any]:
    def step() -> None:
        w1, b1, w2, b2, w3, b3 = weights
        h1 = np.maximum(x.dot(w1.T) + b1, 0)
        h2 = np.maximum(h1.dot(w2.T) + b2, 0)
        g3 = (h2.dot(w3.T) + b3 - y) * np.float32(2 / y.size)
        g2 = g3.dot(w3) * (h2 > 0)
        g1 = g2.dot(w2) * (h1 > 0)
        gradients = (g1.T.dot(x), g1.sum(0), g2.T.dot(h1), g2.sum(0), g3.T.dot(h2), g3.sum(0))
        for weight, gradient in zip(weights, gradients):
            weight -= np.float32(0.01) * gradient

    return step


def _numpy_large(weights: list[np.ndarray], x: np.ndarray, y: np.ndarray) -> Callable[[], Any]:
    moments = [(np.zeros_like(w), np.zeros_like(w)) for w in weights]
    state = {"t": 0}
    rows = np.arange(len(y))

    def step() -> list[np.ndarray]:
        w1, b1, w2, b2 = weights
        h = x.dot(w1.T)
        h += b1
        np.maximum(h, 0, out=h)
        z = h.dot(w2.T) + b2
        z -= z.max(1, keepdims=True)
        np.exp(z, out=z)
        z /= z.sum(1, keepdims=True)
        z[rows, y] -= 1
        z /= len(y)
        g = z.dot(w2)
        g *= h > 0
        gradients = [g.T.dot(x), g.sum(0), z.T.dot(h), z.sum(0)]
        state["t"] += 1
        first, second = 1 - 0.9 ** state["t"], 1 - 0.999 ** state["t"]
        for weight, gradient, (m, v) in zip(weights, gradients, moments):
            m *= np.float32(0.9)
            m += np.float32(0.1) * gradient
            v *= np.float32(0.999)
            v += np.float32(0.001) * (gradient * gradient)
            step_size = np.sqrt(v)
            step_size /= np.float32(second**0.5)
            step_size += np.float32(1e-8)
            weight -= np.float32(RATE / first) * (m / step_size)
        return gradients

    return step
