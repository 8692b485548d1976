"""Arguments that are no tensors: every public function refuses them in its own words."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import minitorch
import minitorch.nn.functional

INTERNAL = ("'_array'", "'_node'", "'_alias'", "'_layout'")
FOREIGN = {"list": [1.0, 2.0], "float": 1.5, "str": "a", "None": None, "ndarray": np.ones((2, 2), np.float32)}
SETTINGS = {"manual_seed", "seed", "set_default_device", "set_default_dtype", "set_num_threads", "set_printoptions"}


OTHER_FIRST = {
    "alpha_dropout",
    "bitwise_and",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "bucketize",
    "dropout",
    "einsum",
    "empty",
    "feature_alpha_dropout",
    "fill",
    "masked_select",
    "multinomial",
    "normal",
    "ones",
    "polygamma",
    "rand",
    "randint_like",
    "randn",
    "set_default_tensor_type",
    "softshrink",
    "take",
    "take_along_dim",
    "tril_indices",
    "triu_indices",
    "zeros",
    "celu",
    "selu",
}
"""Functions whose first argument is no tensor, and those that look at another argument first."""


def functions(owner: Any) -> list[str]:
    """The public functions of a module or class, without those that change settings."""
    public = [n for n in dir(owner) if not n.startswith("_") and n not in SETTINGS]
    return [n for n in public if callable(getattr(owner, n)) and not inspect.isclass(getattr(owner, n))]


def calls(module: Any, most: int) -> Iterator[tuple[int, str, list[Any]]]:
    """Up to *most* arguments: tensors, one of them replaced by something else."""
    for count in range(1, most + 1):
        for place in range(count):
            for kind, value in FOREIGN.items():
                arguments = [module.ones(2, 2) for _ in range(count)]
                arguments[place] = value
                yield place, kind, arguments


def leaks(function: Any, arguments: list[Any]) -> str:
    """The message of an AttributeError that names an internal attribute, or nothing."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function(*arguments)
    except Exception as error:
        if isinstance(error, AttributeError) and any(name in str(error) for name in INTERNAL):
            return str(error)
    return ""


@pytest.mark.parametrize("module", [minitorch, minitorch.nn.functional], ids=["torch", "functional"])
def test_functions_never_name_internals(module: Any) -> None:
    found = [
        f"{name}(), argument {place + 1} is a {kind}: {message}"
        for name in functions(module)
        for place, kind, arguments in calls(minitorch, 3)
        if (message := leaks(getattr(module, name), arguments))
    ]
    assert not found, "check these arguments with _args.array_of:\n" + "\n".join(found)


def test_methods_never_name_internals() -> None:
    found = [
        f"Tensor.{name}(), argument {place + 1} is a {kind}: {message}"
        for name in functions(minitorch.Tensor)
        for place, kind, arguments in calls(minitorch, 2)
        if (message := leaks(getattr(minitorch.ones(2, 2), name), arguments))
    ]
    assert not found, "check these arguments with _args.array_of:\n" + "\n".join(found)


T: Any = minitorch.ones(2, 2)
F: Any = minitorch.nn.functional
ARRAY = FOREIGN["ndarray"]

REFUSED = {
    "abs_": (minitorch.abs_, ([1.0],), "abs_(): argument 'input' (position 1) must be Tensor, not list"),
    "cross_entropy": (F.cross_entropy, (T, [0, 1]), "cross_entropy(): argument 'target' (position 2) must be Tensor"),
    "nll_loss": (F.nll_loss, (T, ARRAY), "nll_loss(): argument 'target' (position 2) must be Tensor, not ndarray"),
    "mse_loss": (F.mse_loss, (T, ARRAY), "mse_loss(): argument 'target' (position 2) must be Tensor, not ndarray"),
    "dropout": (F.dropout, ([1.0],), "dropout(): argument 'input' (position 1) must be Tensor, not list"),
    "embedding": (minitorch.nn.Embedding(3, 2), ([1],), "embedding(): argument 'input' (position 1) must be Tensor"),
    "max_pool2d": (F.max_pool2d, ([1.0], 2), "max_pool2d(): argument 'input' (position 1) must be Tensor, not list"),
    "one_hot": (F.one_hot, ([1],), "one_hot(): argument 'tensor' (position 1) must be Tensor, not list"),
    "softmax": (minitorch.softmax, ([1.0], 0), "softmax(): argument 'input' (position 1) must be Tensor, not list"),
    "reshape": (minitorch.reshape, ([1.0], (1,)), "reshape(): argument 'input' (position 1) must be Tensor, not list"),
    "outer": (minitorch.outer, (T[0], "a"), "outer(): argument 'vec2' (position 2) must be Tensor, not str"),
    "sum": (minitorch.sum, ([1.0],), "sum(): argument 'input' (position 1) must be Tensor, not list"),
    "squeeze": (minitorch.squeeze, ([1.0], 0), "squeeze(): argument 'input' (position 1) must be Tensor, not list"),
    "max": (minitorch.max, ([1.0], 0), "max(): argument 'input' (position 1) must be Tensor, not list"),
    "maximum": (minitorch.maximum, (T, 1.5), "maximum(): argument 'other' (position 2) must be Tensor, not float"),
    "logical_and": (
        minitorch.logical_and,
        (T, 1),
        "logical_and(): argument 'other' (position 2) must be Tensor, not int",
    ),
    "meshgrid": (
        minitorch.meshgrid,
        (T[0], "a"),
        "meshgrid(): argument 'tensors[1]' (position 1) must be Tensor, not str",
    ),
    "broadcast_tensors": (
        minitorch.broadcast_tensors,
        (T, 1.0),
        "broadcast_tensors(): argument 'tensors[1]' (position 1) must be Tensor, not float",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_message_names_function_argument_and_type(name: str) -> None:
    function, arguments, message = REFUSED[name]
    with pytest.raises(TypeError) as raised:
        function(*arguments)
    assert message in str(raised.value)


def test_class_for_the_first_argument_is_pytorchs() -> None:
    torch = pytest.importorskip("torch")
    pairs = ((minitorch, torch), (minitorch.nn.functional, torch.nn.functional))
    wrong = []
    for ours, theirs in pairs:
        for name in sorted((set(functions(ours)) & set(functions(theirs))) - OTHER_FIRST):
            for (place, kind, mine), (_, _, same) in zip(calls(minitorch, 2), calls(torch, 2)):
                if place:
                    continue
                got, expected = outcome(getattr(ours, name), mine), outcome(getattr(theirs, name), same)
                if got is not expected and expected is TypeError and got is not None:
                    wrong.append(f"{name}(), given a {kind}: {got.__name__}, not TypeError")
    assert not wrong, "\n".join(wrong)


def outcome(function: Any, arguments: list[Any]) -> type[Exception] | None:
    """The class of what a call raises."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function(*arguments)
    except Exception as error:
        return type(error)
    return None
