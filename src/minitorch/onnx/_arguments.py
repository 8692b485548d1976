"""What `export` is given: checked, and with a name for each input and output, and for the axes that vary."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .._pytree import tree_flatten
from .._runtime import Tensor
from ..nn.modules.module import Module
from ..static._executor import Executor
from ..static._nodes import Node
from ..static._python import modules_of
from .errors import OnnxExporterError

OPSETS = range(20, 24)
"""The versions of ONNX's operators that models are written for; the first is what `export` takes by default."""


def title_of(model: Any) -> str:
    """What a model or a function is called."""
    return type(model).__name__ if isinstance(model, Module) else getattr(model, "__name__", "function")


# -- the model and its arguments ---------------------------------------------------------------------------------------
def checked_model(model: Any, args: Any) -> Any:
    """A model, or the function that was compiled."""
    model = vars(model)["function"] if hasattr(type(model), "to_python") and "function" in vars(model) else model
    if isinstance(model, (Executor, Node)):
        raise TypeError(
            f"export(): a graph of minitorch.static ({type(model).__name__}) is no function of tensors: write it as one, or "
            "write it with Executor.to_python"
        )
    if isinstance(model, type):
        raise TypeError(f"export(): got the class {model.__name__}, not a model: make one, {model.__name__}(...)")
    if callable(model) and not isinstance(model, Tensor):
        return model
    said = type(model).__name__
    if isinstance(model, Tensor) and isinstance(args, Module):
        said += ", and args is the model: export(model, args)"
    elif isinstance(model, Mapping):
        said += ": make the model, load_state_dict() it, and export that"
    raise TypeError(f"export(): the model must be a Module or a function of tensors, but is {said}")


def checked_opset(given: int | None) -> int:
    """A version of the operators."""
    if given is None:
        return OPSETS[0]
    if given not in OPSETS:
        raise ValueError(
            f"export(): opset_version must be one of {list(OPSETS)}, but is {given!r}: leave it out for {OPSETS[0]}"
        )
    return given


def check_target(f: Any) -> None:
    """Refuse what cannot be written to, before the model is called."""
    if f is None or hasattr(f, "write"):
        return
    if not isinstance(f, (str, bytes, os.PathLike)):
        raise TypeError(f"export(): f must be a path, or a file to write bytes to, but is {type(f).__name__}")
    if os.path.isdir(f):
        raise IsADirectoryError(f"export(): {os.fsdecode(f)!r} is a directory: give a path of a file in it")
    if not os.path.isdir(os.path.dirname(os.path.realpath(f))):
        raise RuntimeError(f"Parent directory {os.path.dirname(os.fsdecode(f))} does not exist.")


def arguments(args: Any, kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The example arguments in order and by name."""
    if not isinstance(args, (Tensor, tuple, list)):
        remedy = {
            np.ndarray: "make it one, torch.from_numpy(...)",
            dict: "give arguments by name as kwargs={...}, or as the last one, args=({...},)",
        }.get(type(args), "args=(x,)")
        raise TypeError(f"export(): args must be a Tensor or a tuple of them, but is {type(args).__name__}: {remedy}")
    if kwargs is not None and not isinstance(kwargs, Mapping):
        raise TypeError(f"export(): kwargs must be a dict of arguments by name, but is {type(kwargs).__name__}")
    args = (args,) if isinstance(args, Tensor) else tuple(args)
    named = dict(kwargs or {})
    if args and isinstance(args[-1], dict) and not kwargs:
        named, args = dict(args[-1]), args[:-1]
    if not any([isinstance(leaf, Tensor) for leaf in tree_flatten((args, named))[0]]):
        raise OnnxExporterError(
            "export() needs example arguments: at least one Tensor, as export(model, x) or export(model, (x, y))"
        )
    return args, named


def misread_dict(model: Any, args: tuple[Any, ...], named: dict[str, Any], given_by_name: bool) -> str | None:
    """What is wrong where a dict at the end of *args* was taken for arguments by name, and the model has no such ones."""
    forward = getattr(model, "forward", model)
    try:
        signature = inspect.signature(forward)
    except (TypeError, ValueError):
        return None
    if given_by_name or not named:
        return None
    try:
        signature.bind(*args, **named)
    except TypeError as error:
        return (
            f"export(): the dict at the end of 'args' is taken for arguments by name, but with those {title_of(model)}'s "
            f"call fails: {error}; if the dict is an argument itself, add an empty one after it: args=(..., {{...}}, {{}})"
        )
    return None


# -- names -------------------------------------------------------------------------------------------------------------
def _given_names(said: str, given: Any) -> list[str]:
    if isinstance(given, str) or not isinstance(given, Sequence):
        example = given if isinstance(given, str) else "x"
        raise TypeError(f"export(): {said} must be a list of names, as [{example!r}], but is {type(given).__name__}")
    for name in given:
        if not isinstance(name, str) or not name:
            raise (ValueError if name == "" else TypeError)(f"export(): {said} must be names, but has {name!r}")
    return list(given)


def _tensors(count: int) -> str:
    return f"{count} tensor{'s' * (count != 1)}"


def names_of_inputs(model: Any, args: tuple[Any, ...], named: dict[str, Any], given: Any) -> list[str]:
    """A name for each tensor among the arguments."""
    found: list[str] = []
    try:
        parameters = inspect.signature(getattr(model, "forward", model)).parameters.values()
        own = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    except (TypeError, ValueError):
        own = []
    for number, (argument, name) in enumerate(
        [*zip(args, [*own, *[""] * len(args)]), *[(v, k) for k, v in named.items()]]
    ):
        leaves = [leaf for leaf in tree_flatten(argument)[0] if isinstance(leaf, Tensor)]
        stem = name or f"input_{number}"
        found += [stem] if isinstance(argument, Tensor) else [f"{stem}_{i}" for i in range(len(leaves))]
    if given is not None:
        given = _given_names("input_names", given)
        if len(given) > len(found):
            raise ValueError(
                f"export(): input_names has {len(given)} names, but the model is given {_tensors(len(found))}: "
                f"{', '.join(found)}"
            )
        found[: len(given)] = given
    if repeated := [name for name in found if found.count(name) > 1]:
        raise ValueError(f"export(): the names of inputs must differ, but two are {repeated[0]!r}, of {found}")
    return found


def names_of_outputs(count: int, given: Any, taken: Iterable[str]) -> list[str]:
    """A name for each tensor that the model returns; none that is taken, where that is not asked for."""
    stem = "output"
    while {stem, *[f"{stem}_{i}" for i in range(count)]}.intersection(taken):
        stem += "_"
    names = [stem] if count == 1 else [f"{stem}_{i}" for i in range(count)]
    if given is not None:
        given = _given_names("output_names", given)
        if len(given) > count:
            raise ValueError(
                f"export(): output_names has {len(given)} names, but the model returns {_tensors(count)} (None is not one)"
            )
        names[: len(given)] = given
    if repeated := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"export(): the names of outputs must differ, but two are {repeated[0]!r}, of {names}")
    return names


def names_of_parameters(model: Any) -> dict[int, str]:
    """The names of parameters and buffers, by the id of their arrays."""
    found: dict[int, str] = {}
    for prefix, module in modules_of(model):
        for name, tensor in (*module.named_parameters(), *module.named_buffers()):
            found.setdefault(id(tensor._array), f"{prefix}.{name}" if prefix else name)
    return found


# -- axes --------------------------------------------------------------------------------------------------------------
def _axes_of(name: str, given: Any) -> dict[Any, Any]:
    """The axes of an input or output that vary, with names."""
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise TypeError(
            f"export(): dynamic_axes must be as {{{name!r}: {{0: 'n'}}}} or {{{name!r}: [0]}}, but has {given!r} for it"
        )
    found = dict(given) if isinstance(given, Mapping) else dict.fromkeys(given)
    for axis, said in found.items():
        if not isinstance(axis, int) or isinstance(axis, bool):
            raise ValueError(f"export(): {name!r} has no axis {axis!r}: axes are numbers, such as 0 or -1")
        if not isinstance(said, (str, type(None))):
            raise TypeError(f"export(): the name of axis {axis} of {name!r} must be a str, but is {said!r}")
    return {axis: said or f"{name}_dim_{axis}" for axis, said in found.items()}


def _shapes_by_name(inputs: list[str], given: Any) -> dict[str, Any]:
    """``dynamic_shapes`` as ``dynamic_axes``: without what is None or an integer, which stays as it is."""
    if isinstance(given, (str, bytes)) or not isinstance(given, (Mapping, Sequence)):
        raise TypeError(
            f"export(): dynamic_shapes must be as ({{0: 'n'}},) or {{{inputs[0]!r}: {{0: 'n'}}}}, but is {given!r}"
        )
    if not isinstance(given, Mapping) and len(given) > len(inputs):
        raise ValueError(f"export(): dynamic_shapes is of {len(given)} inputs, but there are {len(inputs)}: {inputs}")
    found: dict[str, Any] = {}
    for name, axes in given.items() if isinstance(given, Mapping) else zip(inputs, given):
        if name not in inputs or not isinstance(axes, (Mapping, type(None), list, tuple)):
            raise ValueError(f"export(): dynamic_shapes names {name!r}; inputs are {inputs}, each with a dict of axes")
        pairs = axes.items() if isinstance(axes, Mapping) else enumerate(axes or ())
        varying = {axis: dim for axis, dim in pairs if dim is not None and not isinstance(dim, int)}
        found[name] = {a: d if isinstance(d, str) else getattr(d, "__name__", None) for a, d in varying.items()}
    return found


def axes_that_vary(
    inputs: list[str], args: tuple[Any, ...], named: dict[str, Any], dynamic_axes: Any, dynamic_shapes: Any
) -> dict[int, dict[int, str]]:
    """For the tensors among the arguments, by number, the names of the axes that may vary."""
    if not isinstance(dynamic_axes, (Mapping, type(None))):
        raise TypeError(
            f"export(): dynamic_axes must be as {{{inputs[0]!r}: {{0: 'n'}}}} or {{{inputs[0]!r}: [0]}}, but is "
            f"{dynamic_axes!r}"
        )
    asked = dict(dynamic_axes or {})
    if dynamic_shapes is not None:
        asked |= _shapes_by_name(inputs, dynamic_shapes)
    tensors = [leaf for leaf in tree_flatten((args, named))[0] if isinstance(leaf, Tensor)]
    found = {}
    for name, given in asked.items():
        axes = _axes_of(name, given)
        if name in inputs:
            number = inputs.index(name)
            _check_axes(name, axes, tensors[number].shape)
            found[number] = axes
    return found


def check_outputs_axes(
    inputs: list[str], outputs: list[str], shapes: Sequence[Sequence[Any]], dynamic_axes: Any
) -> None:
    """Refuse axes of what is neither an input nor an output, and those that outputs have not."""
    for name, given in (dynamic_axes or {}).items():
        if name in outputs:
            _check_axes(name, given, shapes[outputs.index(name)])
        elif name not in inputs:
            raise ValueError(
                f"export(): dynamic_axes names {name!r}, but the inputs are {', '.join(map(repr, inputs))} and the "
                f"outputs {', '.join(map(repr, outputs))}; input_names=[...] and output_names=[...] give them others"
            )


def _check_axes(name: str, axes: Iterable[int], shape: Sequence[Any]) -> None:
    if wrong := [axis for axis in axes if not -len(shape) <= axis < len(shape)]:
        raise ValueError(f"export(): {name!r} has no axis {wrong[0]}: the example's is of shape {list(shape)}")
