"""Any arguments, to every public operation: a result, or an error of a documented class that says something.

Arguments are drawn to look right, by the annotations of the signature; one of them is not.  ``FUZZ=300 pytest
tests/test_fuzz.py`` looks harder.
"""

from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import minitorch
import minitorch.nn.functional
from minitorch import Tensor

DOCUMENTED = {
    TypeError,
    ValueError,
    RuntimeError,
    IndexError,
    NotImplementedError,
    AssertionError,
    np.linalg.LinAlgError,
}
"""What the functions raise: AssertionError, in PyTorch's few places, with a message, which an ``assert`` has not.  Subclasses
of these that are NumPy's own are not meant."""
QUIET = (UserWarning, FutureWarning, DeprecationWarning)
"""The warnings that people may see: not those of NumPy's arithmetic."""
UNSUITABLE = {
    "manual_seed", "seed", "initial_seed", "set_default_device", "set_default_dtype", "set_default_tensor_type",
    "set_num_threads", "set_num_interop_threads", "set_printoptions", "set_rng_state", "save", "load", "compile",
    "use_deterministic_algorithms", "set_flush_denormal", "set_float32_matmul_precision", "set_warn_always",
    "register_hook", "register_post_accumulate_grad_hook", "apply_", "map_", "map2_", "set_anomaly_enabled",
}  # fmt: skip
"""Functions that change settings, write files or call what they are given."""

EXAMPLES = int(os.environ.get("FUZZ", "6"))


# -- functions ---------------------------------------------------------------------------------------------------------
def public() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Each function once, under the first of its names."""
    owners: dict[str, tuple[Any, list[str]]] = {
        "torch": (minitorch, minitorch.__all__),
        "functional": (minitorch.nn.functional, minitorch.nn.functional.__all__),
        "linalg": (minitorch.linalg, [n for n in dir(minitorch.linalg) if not n.startswith("_")]),
        "Tensor": (Tensor, [n for n in dir(Tensor) if not n.startswith("_")]),
    }
    met: set[int] = set()
    for label, (owner, names) in owners.items():
        for name in names:
            value = inspect.getattr_static(owner, name) if owner is Tensor else getattr(owner, name)
            if inspect.isfunction(value) and name not in UNSUITABLE and id(value) not in met:
                met.add(id(value))
                yield f"{label}.{name}", value


FUNCTIONS = dict(public())


# -- arguments: small, so that nothing allocates much ------------------------------------------------------------------
SHAPES: list[tuple[int, ...]] = [(), (0,), (1,), (3,), (2, 3), (3, 3), (2, 0), (1, 2, 3), (2, 3, 4, 4)]
MODES = ["mean", "sum", "none", "constant", "linear", "fro", "ij->i", "floor", "left", "same", "nonsense", ""]
DTYPES = ["float32", "float64", "int64", "int32", "uint8", "bool", "float16"]
BEYOND = [2**63, -(2**63) - 1, 2**70]
"""Integers of more than 64 bits."""


def tensor(rng: Random, shapes: list[tuple[int, ...]] = SHAPES, dtypes: list[str] = DTYPES) -> Tensor:
    shape, dtype = rng.choice(shapes), rng.choice(dtypes)
    values = (np.arange(int(np.prod(shape))) * 7 % 5 - rng.randint(0, 3)).reshape(shape).astype(dtype)
    made: Tensor = minitorch.from_numpy(values)
    return made.requires_grad_() if dtype.startswith("float") and rng.random() < 0.5 else made


def likely(rng: Random) -> Tensor:
    """A tensor that most functions take."""
    return tensor(rng, SHAPES[3:7], ["float32"]) if rng.random() < 0.7 else tensor(rng)


def integer(rng: Random) -> int:
    return rng.randint(-3, 4)


def number(rng: Random) -> float:
    return rng.choice([0.0, 0.5, 1.0, 2.5, -1.5, float("nan"), float("inf"), 1e300])


def integers(rng: Random) -> Any:
    return rng.choice([tuple, list])([integer(rng) for _ in range(rng.randint(0, 4))])


def strange(rng: Random) -> Any:
    makers: list[Callable[[], Any]] = [
        lambda: rng.choice([None, True, 1j, b"a", "cpu", "cuda", "a", minitorch.int64, *BEYOND]),
        lambda: rng.choice([object(), {}, ["a"], [None], [[1], [2, 3]], {1}, np.float64(1.5), np.ones((2, 3), np.float32)]),
        lambda: integer(rng), lambda: number(rng), lambda: integers(rng), lambda: tensor(rng), lambda: rng.choice(MODES),
        lambda: [tensor(rng) for _ in range(rng.randint(0, 3))],
    ]  # fmt: skip
    return rng.choice(makers)()


KINDS: dict[str, Callable[[Random], Any]] = {
    "Sequence[Tensor]": lambda rng: [likely(rng) for _ in range(rng.randint(0, 3))],
    "Tensor": likely,
    "int": integer,
    "Dims": lambda rng: rng.choice([integer, integers])(rng),
    "float": number,
    "Number": number,
    "bool": lambda rng: rng.random() < 0.5,
    "Sequence[int]": integers,
    "Sizes": integers,
    "str": lambda rng: rng.choice(MODES),
    "type": lambda rng: getattr(minitorch, rng.choice(DTYPES)),
    "None": lambda rng: None,
}
"""For words of annotations: what they ask for."""


def fitting(annotation: str, rng: Random) -> Any:
    makers = [make for word, make in KINDS.items() if word in annotation]
    return rng.choice(makers or [strange])(rng)


def arguments(function: Callable[..., Any], method: bool, rng: Random) -> tuple[list[Any], dict[str, Any]]:
    """All but perhaps one of the right types; a method's first is a tensor."""
    parameters = [p for p in inspect.signature(function).parameters.values() if p.name[0] != "_"][method:]
    args: list[Any] = [likely(rng)] if method else []
    kwargs: dict[str, Any] = {}
    wrong = rng.randint(0, max(len(parameters), 1))
    for place, parameter in enumerate(parameters):
        annotation = str(parameter.annotation)
        draw: Callable[[], Any] = (lambda: strange(rng)) if place == wrong else (lambda a=annotation: fitting(a, rng))
        if parameter.kind is parameter.VAR_POSITIONAL:
            args += [draw() for _ in range(rng.randint(0, 3))]
        elif parameter.kind is not parameter.VAR_KEYWORD:
            if parameter.default is not parameter.empty and place != wrong and rng.random() < 0.6:
                if parameter.kind is not parameter.KEYWORD_ONLY:
                    args.append(parameter.default)
            elif parameter.kind is parameter.KEYWORD_ONLY:
                kwargs[parameter.name] = draw()
            else:
                args.append(draw())
    return args, kwargs


def arrays(value: Any) -> Iterator[np.ndarray]:
    """The arrays of all tensors in an argument."""
    if isinstance(value, Tensor):
        yield value._array
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from arrays(item)


# -- the test ----------------------------------------------------------------------------------------------------------
def check(function: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]) -> None:
    given_arrays = list(arrays([*args, *kwargs.values()]))
    before = [a.copy() for a in given_arrays]
    raised: Exception | None = None
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            result = function(*args, **kwargs)
        except Exception as error:
            raised = error
        else:
            assert not isinstance(result, np.generic), "a NumPy scalar"
    loud = [str(w.message) for w in seen if not issubclass(w.category, QUIET)]
    call = f"{args} {kwargs}"
    assert not loud, f"warnings escaped: {loud}; of {call}"
    if raised is not None:
        kind = type(raised)
        assert kind in DOCUMENTED or kind.__module__.startswith("minitorch"), f"{kind.__name__}: {raised}; of {call}"
        assert str(raised), f"{kind.__name__} without a message; of {call}"
        for array, old in zip(given_arrays, before):
            np.testing.assert_array_equal(array, old, err_msg=f"a failing call changed its input; of {call}")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_any_arguments(name: str) -> None:
    function = FUNCTIONS[name]

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize="FUZZ" not in os.environ,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.integers(0, 2**64 - 1))
    def draws(seed: int) -> None:
        check(function, *arguments(function, name.startswith("Tensor."), Random(seed)))

    draws()
