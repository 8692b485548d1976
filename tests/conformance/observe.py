"""What is observed of a module, in both libraries, and how that differs.

Each case is built from the same seed, run forwards and backwards, trained, copied, saved and loaded.
"""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch as pytorch

import minitorch

from .compare import named, same_class
from .modules import Case, cases, some, wrong_cases

TOLERANCE = {"float64": 1e-7, "float32": 1e-4}


# -- tensors -----------------------------------------------------------------------------------------------------------
class Inputs:
    """The functions of a call's expression that make tensors; *leaves* are those that require grad."""

    def __init__(self, torch: Any, case: Case) -> None:
        self.torch, self.dtype = torch, case.dtype
        self.rng = np.random.default_rng(case.key)
        self.leaves: list[Any] = []

    def names(self) -> dict[str, Any]:
        makers = (self.normal, self.unit, self.fixed, self.classes, self.mask, self.signs)
        return {maker.__name__: maker for maker in makers}

    def leaf(self, array: Any) -> Any:
        self.leaves.append(self.torch.from_numpy(np.asarray(array).astype(self.dtype)).requires_grad_())
        return self.leaves[-1]

    def normal(self, *shape: int) -> Any:
        return self.leaf(self.rng.normal(size=shape))

    def unit(self, *shape: int) -> Any:
        return self.leaf(self.rng.uniform(0.05, 0.95, shape))

    def fixed(self, *shape: int) -> Any:
        """Positive, and not differentiated."""
        return self.torch.from_numpy(np.asarray(self.rng.uniform(0.2, 2.0, shape)).astype(self.dtype))

    def classes(self, limit: int, *shape: int) -> Any:
        return self.torch.from_numpy(np.asarray(self.rng.integers(0, limit, shape)))

    def mask(self, *shape: int) -> Any:
        return self.torch.from_numpy(np.asarray(self.rng.random(shape) < 0.3))

    def signs(self, *shape: int) -> Any:
        return self.torch.from_numpy(np.asarray(self.rng.choice([-1.0, 1.0], shape)).astype(self.dtype))


def tensors_of(torch: Any, value: Any) -> list[Any]:
    """All tensors of a nested result, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        return [t for v in value for t in tensors_of(torch, v)]
    return []


def plain(torch: Any, value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    if torch.nn.parameter.is_lazy(value):
        return "not yet of a shape"
    return value.numpy(force=True).copy()


# -- what is observed --------------------------------------------------------------------------------------------------
def observe(torch: Any, case: Case) -> dict[str, Any]:
    """Everything about a case that has to be alike, by name; "error" is what it raised."""
    seen: dict[str, Any] = {}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for name, value in stages(torch, case):
                seen[name] = value
    except Exception as error:
        seen["error"] = error
    return seen


def make(torch: Any, case: Case, seed: int) -> Any:
    torch.manual_seed(seed)
    names = {"torch": torch, "nn": torch.nn, **Inputs(torch, case).names()}
    made = eval(case.made_by, names)
    return made.to(getattr(torch, case.dtype)) if isinstance(made, torch.nn.Module) else made


def call(torch: Any, case: Case, module: Any) -> tuple[list[Any], Any]:
    """The call's leaves, and its result."""
    torch.manual_seed(5)
    inputs = Inputs(torch, case)
    result = eval(case.call, {"torch": torch, "nn": torch.nn, "m": module, **inputs.names()})
    return inputs.leaves, result


def starts(torch: Any, tensors: list[Any]) -> list[Any]:
    rng = np.random.default_rng(1)
    arrays = [np.asarray(rng.normal(size=tuple(t.shape))).astype(str(t.dtype).split(".")[1]) for t in tensors]
    return [torch.from_numpy(a) for a in arrays]


def state(torch: Any, module: Any) -> dict[str, Any]:
    return {name: plain(torch, value) for name, value in module.state_dict().items()}


def stages(torch: Any, case: Case) -> Iterator[tuple[str, Any]]:
    """Build, call, differentiate, train, copy, save."""
    module = make(torch, case, 3)
    if case.wrong:
        yield "result", call(torch, case, module)[1] is not None
        return
    yield "repr", repr(module)
    yield "initial state", state(torch, module)
    yield "parameters", [(name, p.requires_grad) for name, p in module.named_parameters()]
    yield "submodules", [(name, type(m).__name__, m.training) for name, m in module.named_modules()]
    yield from gradients(torch, case, module)
    yield from training(torch, case, module)
    module.eval()
    with torch.no_grad():
        results = {"evaluation": module, "deepcopy": copy.deepcopy(module)}
        if "lambda" not in case.made_by:
            results["pickled"] = pickle.loads(pickle.dumps(module))
        fresh = make(torch, case, 7).eval()
        if not any([torch.nn.parameter.is_lazy(p) for p in fresh.parameters()]):  # PyTorch leaves these half of a shape
            yield "loading", str(fresh.load_state_dict(module.state_dict()))
            results["loaded"] = fresh
        for name, one in results.items():
            yield name, [plain(torch, t) for t in tensors_of(torch, call(torch, case, one)[1])]


def gradients(torch: Any, case: Case, module: Any) -> Iterator[tuple[str, Any]]:
    """The result in training mode, its gradients, and for float64 gradients of these."""
    leaves, result = call(torch, case, module)
    tensors = tensors_of(torch, result)
    yield "kind of result", [type(result).__name__, [(str(t.dtype), t.requires_grad) for t in tensors]]
    yield "result", [plain(torch, t) for t in tensors]
    outputs = [t for t in tensors if t.requires_grad]
    leaves = [*leaves, *[p for p in module.parameters() if p.requires_grad]]
    if not outputs or not leaves:
        return
    second = case.dtype == "float64"
    first = torch.autograd.grad(outputs, leaves, starts(torch, outputs), create_graph=second, allow_unused=True)
    yield "gradients", [plain(torch, g) for g in first]
    again = [g for g in first if g is not None and g.requires_grad]
    try:
        found = (
            torch.autograd.grad(again, leaves, starts(torch, again), allow_unused=True)
            if again
            else [None] * len(leaves)
        )
    except RuntimeError as error:  # PyTorch has no second derivative of some
        yield "second gradients", error
    else:
        yield "second gradients", [plain(torch, g) for g in found]


def training(torch: Any, case: Case, module: Any) -> Iterator[tuple[str, Any]]:
    """The losses of three steps, and what state they leave."""
    parameters = [p for p in module.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(parameters, lr=0.02, momentum=0.9) if parameters else None
    losses = []
    for _ in range(3 if parameters or list(module.buffers()) else 0):
        outputs = [t for t in tensors_of(torch, call(torch, case, module)[1]) if t.requires_grad]
        if optimizer is not None and outputs:
            loss = sum([(t * s).mean() for t, s in zip(outputs, starts(torch, outputs))])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(plain(torch, loss))
    yield "losses", losses
    yield "state after training", state(torch, module)


# -- comparing ---------------------------------------------------------------------------------------------------------
def differs(ours: Any, theirs: Any, tolerance: float) -> str:
    """How two observations differ; None counts as zeros."""
    if isinstance(theirs, Exception):
        return ""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        if list(ours) != list(theirs):
            return f"{list(ours)} instead of {list(theirs)}"
        found = [(name, differs(ours[name], theirs[name], tolerance)) for name in theirs]
        return next((f"{name}: {text}" for name, text in found if text), "")
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        return next(filter(None, [differs(a, b, tolerance) for a, b in zip(ours, theirs)]), "")
    if isinstance(ours, np.ndarray) and isinstance(theirs, np.ndarray):
        return close(ours, theirs, tolerance)
    if isinstance(ours, np.ndarray) and theirs is None:
        return "" if not np.any(ours) else "a gradient instead of None"
    if isinstance(theirs, np.ndarray) and ours is None:
        return "" if not np.any(theirs) else "None instead of a gradient"
    return "" if type(ours) is type(theirs) and ours == theirs else f"{ours!r} instead of {theirs!r}"


def close(ours: np.ndarray, theirs: np.ndarray, tolerance: float) -> str:
    if ours.dtype != theirs.dtype or ours.shape != theirs.shape:
        return f"{ours.dtype} {ours.shape} instead of {theirs.dtype} {theirs.shape}"
    finite = np.abs(theirs[np.isfinite(theirs)])
    absolute = tolerance * max(0.1, finite.max() if finite.size else 0)
    wrong = ~np.isclose(ours, theirs, tolerance, absolute, equal_nan=True)
    return f"{ours[wrong][:3].tolist()} instead of {theirs[wrong][:3].tolist()}" if np.any(wrong) else ""


def difference(case: Case) -> str | None:
    """How minitorch differs from PyTorch; "" where it does not; None where a wrong call is none to PyTorch."""
    theirs = observe(pytorch, case)
    if case.wrong and ("error" not in theirs or "'NoneType' has no len()" in str(theirs["error"])):
        return None  # an output size of None, which is documented
    ours = observe(minitorch, case)
    for name, value in theirs.items():
        if name == case.left_out:
            return ""
        if name == "error":
            if "error" not in ours:
                return f"gives no error, but should raise {named(value)}: {str(value)[:150]!r}"
            mine = ours["error"]
            return (
                ""
                if alike(mine, value)
                else f"raises {mine!r:.150}, but should raise {named(value)}: {str(value)[:150]!r}"
            )
        if name not in ours:
            return f"{name}: raises {ours.get('error')!r:.200}"
        if text := differs(ours[name], value, TOLERANCE[case.dtype]):
            return f"{name}: {text[:300]}"
    return f"raises {ours['error']!r:.200}" if "error" in ours else ""


def alike(ours: Exception, theirs: Exception) -> bool:
    """Whether the classes are the same; RuntimeError also where PyTorch reads a dimension that it has yet to check."""
    return same_class(ours, theirs) or (
        isinstance(ours, RuntimeError) and isinstance(theirs, IndexError) and str(theirs).startswith("Dimension ")
    )


def check(name: str, only: int | None = None) -> tuple[int, list[tuple[str, str]]]:
    """How many right calls were compared, of all or of a few, and what differs."""
    chosen = [*cases(name), *wrong_cases(name)] if only is None else some(name, only)
    compared, found = 0, []
    for case in chosen:
        text = difference(case)
        compared += text is not None and not case.wrong
        if text:
            found.append((str(case), text))
    return compared, found
