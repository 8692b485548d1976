"""``export``: a model is traced, its program generalised over sizes, and written as an ONNX graph."""

from __future__ import annotations

import enum
import inspect
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from .. import version
from .._files import replacing
from .._pytree import tree_flatten
from .._runtime import Tensor
from ..nn.modules.module import Module
from ..static._size_expressions import Size
from ..static._size_passes import CannotGeneralise
from ..static._sizes import General, generalise
from ._builder import Value, library
from ._parts import expand
from ._translate import Translation
from .errors import OnnxExporterError, UnsupportedOperatorError

OPSETS = range(20, 24)
"""The versions of ONNX's operators that models are written for; the first is what `export` takes by default."""
_LARGEST = 2**31
_exporting: ContextVar[bool] = ContextVar("exporting", default=False)


class TrainingMode(enum.Enum):
    """In which mode a model is exported."""

    EVAL = 0
    PRESERVE = 1
    TRAINING = 2


def is_in_onnx_export() -> bool:
    """Whether a model is being traced to be exported."""
    return _exporting.get()


class ONNXProgram:
    """An exported model.

    Attributes
    ----------
    model_proto : onnx.ModelProto
    """

    def __init__(self, model_proto: Any) -> None:
        self.model_proto = model_proto

    def save(self, destination: str | os.PathLike[str]) -> None:
        """Write it to a file, which is there as a whole or not at all."""
        data = self.model_proto.SerializeToString()
        if hasattr(destination, "write"):
            destination.write(data)
            return
        with replacing(destination) as file:
            file.write(data)

    def __repr__(self) -> str:
        graph = self.model_proto.graph
        return f"<ONNX model: {len(graph.node)} nodes, {len(graph.initializer)} initializers>"


def export(
    model: Module | Callable[..., Any],
    args: Any = (),
    f: str | os.PathLike[str] | None = None,
    *,
    kwargs: dict[str, Any] | None = None,
    verbose: bool | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    opset_version: int | None = None,
    dynamic_axes: Mapping[str, Mapping[int, str] | Sequence[int]] | None = None,
    dynamic_shapes: Any = None,
    export_params: bool = True,
    keep_initializers_as_inputs: bool = False,
    training: TrainingMode = TrainingMode.EVAL,
    dynamo: bool = True,
    do_constant_folding: bool = True,
    external_data: bool = True,
    optimize: bool = True,
    verify: bool = False,
    report: bool = False,
) -> ONNXProgram:
    """Write a model as an ONNX file.

    The model is called on the example arguments in eval mode, and what it does is written down: its parameters, by their
    names, and a node or some for each operation.  Where axes may vary, it is called at several sizes of them, and sizes in the
    graph are computed from those of the inputs.  The model is checked by ``onnx.checker``.

    Parameters
    ----------
    model : Module or callable
        What is called on tensors and returns tensors, alone or in tuples, lists and dicts.
    args : tuple or Tensor
        Example arguments; a dict at the end has arguments by name (where a dict is itself the last argument: ``({...}, {})``).
    f : str, path or file, optional
        Where it is written; without it, the result is only returned.
    kwargs : dict, optional
        Example arguments by name.
    verbose : bool
        Whether the graph is printed.
    input_names, output_names : sequence of str, optional
        What inputs and outputs are called; by default as the parameters of ``forward``, and ``output`` or ``output_0``, ...
    opset_version : int, optional
        The version of ONNX's operators: 20 (the default) to 23.
    dynamic_axes : dict, optional
        For inputs, by name, which of their axes may vary: ``{"x": {0: "batch"}}`` or ``{"x": [0]}``.  Axes of one name are
        of one size.  Those of outputs follow from these.
    dynamic_shapes : dict or sequence, optional
        The same for the arguments in order or by name: ``({0: "batch"},)``.
    export_params : bool
        Whether the values of parameters are written; otherwise they are inputs.
    keep_initializers_as_inputs : bool
        Whether parameters are inputs too, with their values as defaults.
    training : TrainingMode
        The mode that the model is called in.
    verify : bool
        Whether the model is run in onnxruntime, at the sizes that it was traced at, and compared.
    dynamo, do_constant_folding, external_data, optimize, report
        As in PyTorch; they change nothing here.

    Returns
    -------
    ONNXProgram

    Raises
    ------
    ValueError
        If *dynamic_axes* names what is neither an input nor an output, or an axis that is not there.
    UnsupportedOperatorError
        A RuntimeError, if operations have no ONNX form: all are named.
    OnnxExporterError
        A RuntimeError, if the model does other things at other sizes, asks for values of tensors, or keeps state.
    ImportError
        If the package ``onnx`` is not installed; to verify, ``onnxruntime``.

    Examples
    --------
    >>> import minitorch as torch
    >>> model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
    >>> program = torch.onnx.export(model, torch.ones(1, 2), dynamic_axes={"input": {0: "batch"}})
    >>> [(node.op_type, *node.input) for node in program.model_proto.graph.node]
    [('Gemm', 'input', '0.weight', '0.bias'), ('Relu', '/0/Gemm_0_output_0')]
    """
    onnx = library()
    version_ = _checked_opset(opset_version)
    positional, named = _arguments(args, kwargs)
    inputs = _names_of_inputs(model, positional, named, input_names)
    axes = _axes(inputs, positional, named, dynamic_axes, dynamic_shapes)
    with _in_mode(model, training):
        try:
            general = _program(model, positional, named, axes)
        except (TypeError, OnnxExporterError) as error:
            if problem := _misread_dict(model, positional, named, given_by_name=bool(kwargs)):
                raise TypeError(problem) from error
            raise
    outputs = _names_of_outputs(len(general.results), output_names)
    _check_axes_named(inputs, outputs, dynamic_axes or {})
    names = _names_of_parameters(model)
    if taken := sorted({*inputs, *outputs} & {*names.values()} | {n for n in inputs if n in outputs}):
        raise ValueError(
            f"names of inputs and outputs must be others than parameters' and each other's, but got {taken}: give others, as "
            "input_names=[...] and output_names=[...]"
        )
    translation = Translation(general, onnx, names, inputs)
    if translation.problems:
        raise _unsupported(translation.problems)
    proto = _assembled(onnx, translation, inputs, outputs, version_, dynamic_axes or {}, _title(model))
    _parameters_as_inputs(onnx, proto, set(names.values()), export_params, keep_initializers_as_inputs)
    onnx.checker.check_model(proto, full_check=True)
    if verbose:
        import onnx.printer

        print(onnx.printer.to_text(proto))
    if verify:
        _verify(proto, general, inputs, outputs)
    program = ONNXProgram(proto)
    if f is not None:
        program.save(f)
    return program


# -- arguments and names -----------------------------------------------------------------------------------------------
def _checked_opset(given: int | None) -> int:
    if given is None:
        return OPSETS[0]
    if given not in OPSETS:
        raise ValueError(f"opset_version must be one of {list(OPSETS)}, but got {given!r}")
    return given


def _arguments(args: Any, kwargs: dict[str, Any] | None) -> tuple[tuple[Any, ...], dict[str, Any]]:
    args = (args,) if isinstance(args, Tensor) else tuple(args)
    named = dict(kwargs or {})
    if args and isinstance(args[-1], dict) and not kwargs:
        named, args = dict(args[-1]), args[:-1]
    if not any([isinstance(leaf, Tensor) for leaf in tree_flatten((args, named))[0]]):
        raise OnnxExporterError("export() needs example arguments: at least one Tensor")
    return args, named


def _misread_dict(model: Any, args: tuple[Any, ...], named: dict[str, Any], given_by_name: bool) -> str | None:
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
            f"export(): the dict at the end of 'args' is taken for arguments by name, but with those {_title(model)}'s "
            f"call fails: {error}; if the dict is an argument itself, add an empty one after it: args=(..., {{...}}, {{}})"
        )
    return None


def _names_of_inputs(
    model: Any, args: tuple[Any, ...], named: dict[str, Any], given: Sequence[str] | None
) -> list[str]:
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
        if len(given) > len(found):
            raise ValueError(f"input_names has {len(given)} names, but there are {len(found)} tensors: {found}")
        found[: len(given)] = given
    if len(set(found)) < len(found):
        raise ValueError(f"the names of inputs must differ, but are {found}")
    return found


def _names_of_outputs(count: int, given: Sequence[str] | None) -> list[str]:
    names = ["output"] if count == 1 else [f"output_{i}" for i in range(count)]
    if given is not None:
        if len(given) > count:
            raise ValueError(f"output_names has {len(given)} names, but the model returns {count} tensors")
        names[: len(given)] = given
    return names


def _check_axes_named(inputs: list[str], outputs: list[str], dynamic_axes: Mapping[str, Any]) -> None:
    """Refuse axes of what is neither an input nor an output."""
    if unknown := [name for name in dynamic_axes if name not in inputs and name not in outputs]:
        raise ValueError(
            f"export(): dynamic_axes names {unknown[0]!r}, but the inputs are {', '.join(map(repr, inputs))} and the "
            f"outputs {', '.join(map(repr, outputs))}; input_names=[...] and output_names=[...] give them others"
        )


def _names_of_parameters(model: Any) -> dict[int, str]:
    """The names of parameters and buffers, by the id of their arrays."""
    if not isinstance(model, Module):
        return {}
    found: dict[int, str] = {}
    for name, tensor in (*model.named_parameters(), *model.named_buffers()):
        found.setdefault(id(tensor._array), name)
    return found


def _axes(
    inputs: list[str], args: tuple[Any, ...], named: dict[str, Any], dynamic_axes: Any, dynamic_shapes: Any
) -> dict[int, dict[int, str]]:
    """For the tensors among the arguments, by number, the names of the axes that may vary."""
    axes: dict[int, dict[int, str]] = {}
    for name, given in (dynamic_axes or {}).items():
        if name in inputs:
            unnamed = not isinstance(given, Mapping)
            axes[inputs.index(name)] = {a: f"{name}_dim_{a}" for a in given} if unnamed else dict(given)
    if dynamic_shapes is not None:
        order = dict(zip(inputs, range(len(inputs))))
        shapes = dynamic_shapes.items() if isinstance(dynamic_shapes, Mapping) else zip(inputs, dynamic_shapes)
        for name, given in shapes:
            if name not in order or not isinstance(given, (Mapping, type(None), list, tuple)):
                raise ValueError(f"dynamic_shapes names {name!r}; inputs are {inputs}, each with a dict of axes")
            pairs = given.items() if isinstance(given, Mapping) else enumerate(given or ())
            known = {axis: dim if isinstance(dim, str) else getattr(dim, "__name__", "") for axis, dim in pairs}
            axes[order[name]] = {
                axis: said or f"{name}_dim_{axis}" for axis, said in known.items() if dict(pairs).get(axis) is not None
            }
    tensors = [leaf for leaf in tree_flatten((args, named))[0] if isinstance(leaf, Tensor)]
    for number, of in axes.items():
        for axis in of:
            if not isinstance(axis, int) or not -tensors[number].dim() <= axis < tensors[number].dim():
                shape = list(tensors[number].shape)
                raise ValueError(f"{inputs[number]!r} has no axis {axis!r}: the example is of shape {shape}")
    return axes


# -- tracing -----------------------------------------------------------------------------------------------------------
@contextmanager
def _in_mode(model: Any, training: TrainingMode) -> Iterator[None]:
    """Have the model in a mode, and its buffers as they were in the end."""
    modules = list(model.modules()) if isinstance(model, Module) else []
    modes = [module.training for module in modules]
    buffers = [(b, b._array.copy()) for b in model.buffers()] if isinstance(model, Module) else []
    for module in modules if training is not TrainingMode.PRESERVE else ():
        module.training = training is TrainingMode.TRAINING
    token = _exporting.set(True)
    try:
        yield
    finally:
        _exporting.reset(token)
        for module, mode in zip(modules, modes):
            module.training = mode
        for buffer, before in buffers:
            if not np.array_equal(buffer._array, before, equal_nan=before.dtype.kind == "f"):
                buffer._array[...] = before


def _program(model: Any, args: tuple[Any, ...], named: dict[str, Any], axes: dict[int, dict[int, str]]) -> General:
    try:
        general = generalise(lambda a, k: model(*a, **k), [args, named], axes, expand)
        for name, bound in general.bounds.items():
            if bound.differs:  # which a file cannot refuse
                raise CannotGeneralise(f"the axis {name!r} cannot vary beyond {bound.most}: {bound.said}")
    except CannotGeneralise as error:
        raise OnnxExporterError(f"cannot export with these dynamic axes: {error}") from error
    if not general.results:
        raise OnnxExporterError("the model returned no Tensor: there is nothing to export")
    return general


def _unsupported(problems: Sequence[Any]) -> OnnxExporterError:
    """One error for all that is in the way."""
    lines = list(dict.fromkeys([f"  {problem}" for problem in problems]))
    names = list(dict.fromkeys([p.name for p in problems]))
    what = f"{len(lines)} operation{'s' * (len(lines) != 1)} cannot be exported to ONNX; nothing was written:\n"
    remedy = "\nreplace them in the model, or compute what they give before or after it"
    return UnsupportedOperatorError(what + "\n".join(lines) + remedy, names)


# -- the model ---------------------------------------------------------------------------------------------------------
def _title(model: Any) -> str:
    return type(model).__name__ if isinstance(model, Module) else getattr(model, "__name__", "function")


def _assembled(
    onnx: Any,
    translation: Translation,
    inputs: list[str],
    outputs: list[str],
    opset: int,
    dynamic_axes: Any,
    title: str,
) -> Any:
    """The model, of the nodes that results need."""
    helper, builder, general = onnx.helper, translation.builder, translation.general
    _name_results(builder, translation.results, [*inputs, *builder.initializers], outputs)
    nodes, used = _needed(builder.nodes, outputs)
    given = [
        _info(helper, name, general.trace.arrays[slot].dtype, general.shapes[slot])
        for name, slot in zip(inputs, general.trace.arguments)
    ]
    results = []
    for name, slot in zip(outputs, general.results):
        said = dynamic_axes.get(name, {})
        said = said if isinstance(said, Mapping) else {}
        results.append(_info(helper, name, general.trace.arrays[slot].dtype, general.shapes[slot], said))
    constants = {name: array for name, array in builder.initializers.items() if name in used}
    if (total := sum([array.nbytes for array in constants.values()])) >= _LARGEST:
        raise OnnxExporterError(f"an ONNX file holds less than 2 GiB, but the parameters take {total} bytes")
    tensors = [onnx.numpy_helper.from_array(np.ascontiguousarray(a).reshape(a.shape), n) for n, a in constants.items()]
    graph = helper.make_graph(nodes, title, given, results, tensors)
    opsets = [helper.make_opsetid("", opset)]
    return helper.make_model(
        graph,
        opset_imports=opsets,
        ir_version=helper.find_min_ir_version_for(opsets),
        producer_name="minitorch",
        producer_version=version.__version__,
    )


def _verify(proto: Any, general: General, inputs: list[str], outputs: list[str]) -> None:
    """Compare what onnxruntime gives with what the passes gave."""
    try:
        import onnxruntime
    except ImportError as error:
        raise ImportError(
            "verify=True needs onnxruntime; install it: pip install onnxruntime", name="onnxruntime"
        ) from error
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    names = {given.name for given in session.get_inputs()}
    for one in general.passes:
        given = {n: np.array(one.given[k]) for k, n in enumerate(inputs) if n in names}
        for name, slot, found in zip(outputs, one.results, session.run(None, given)):
            known = one.trace.arrays[slot]
            if not np.allclose(found, known, 1e-3, 1e-4, equal_nan=known.dtype.kind == "f"):
                off = float(np.nanmax(np.abs(found.astype(np.float64) - known)))
                raise OnnxExporterError(
                    f"{name!r} is off by {off:.3g} in onnxruntime, for inputs of {general.sizes(one)}"
                )


def _name_results(builder: Any, results: list[Value], others: Sequence[str], outputs: list[str]) -> None:
    """Have the results under the names of the outputs."""
    new: dict[str, str] = {}
    for value, name in zip(results, outputs):
        if value.name in others or value.name in new:
            builder.nodes.append(builder.onnx.helper.make_node("Identity", [value.name], [name], name=f"/{name}"))
        else:
            new[value.name] = name
    for node in builder.nodes:
        for names in (node.input, node.output):
            names[:] = [new.get(name, name) for name in names]


def _needed(nodes: Sequence[Any], outputs: Sequence[str]) -> tuple[list[Any], set[str]]:
    """The nodes that the outputs need, and all names that they read."""
    used = set(outputs)
    kept = []
    for node in reversed(nodes):
        if used.intersection(node.output):
            used.update(node.input)
            kept.append(node)
    return kept[::-1], used


def _info(
    helper: Any, name: str, dtype: np.dtype[Any], shape: Sequence[Any], said: Mapping[int, str] | None = None
) -> Any:
    """What is said of an input or output: its dtype, sizes, and names of those that vary."""
    sizes: list[Any] = []
    for axis, size in enumerate(shape):
        if not isinstance(size, Size):
            sizes.append(size)
            continue
        single = size == Size(((1, tuple(size.axes[:1])),))
        known = all([a.name for a in size.axes])
        by_user = (said or {}).get(axis) or (said or {}).get(axis - len(shape))
        sizes.append(
            size.axes[0].name if single and known else by_user or (repr(size) if known else f"{name}_dim_{axis}")
        )
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(dtype), sizes)


def _parameters_as_inputs(onnx: Any, proto: Any, names: set[str], values: bool, inputs_too: bool) -> None:
    """Make parameters inputs, without values or with them as defaults."""
    if values and not inputs_too:
        return
    graph = proto.graph
    for tensor in [t for t in graph.initializer if t.name in names]:
        graph.input.append(onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims)))
        if not values:
            graph.initializer.remove(tensor)
