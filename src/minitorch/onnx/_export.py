"""``export``: a model is traced, its program generalised over sizes, and written as an ONNX graph."""

from __future__ import annotations

import enum
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from .. import version
from .._files import replacing
from .._modes import exporting
from .._runtime import Tensor
from ..nn.modules.module import Module
from ..static._kept import memory_kept
from ..static._python import modules_of
from ..static._size_expressions import Size
from ..static._size_passes import CannotGeneralise
from ..static._sizes import General, generalise
from ..static._stands import an_object, is_plain
from ..static._watch import watched
from ._arguments import (
    arguments,
    axes_that_vary,
    check_outputs_axes,
    check_target,
    checked_model,
    checked_opset,
    misread_dict,
    names_of_inputs,
    names_of_outputs,
    names_of_parameters,
    title_of,
)
from ._builder import Value, library
from ._parts import expand
from ._translate import Translation
from .errors import OnnxExporterError, UnsupportedOperatorError

_LARGEST = 2**31


class TrainingMode(enum.Enum):
    """In which mode a model is exported."""

    EVAL = 0
    PRESERVE = 1
    TRAINING = 2


def is_in_onnx_export() -> bool:
    """Whether a model is being traced to be exported."""
    return exporting.get()


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
        with replacing(os.fsdecode(destination)) as file:
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
    model, version_ = checked_model(model, args), checked_opset(opset_version)
    check_target(f)
    positional, named = arguments(args, kwargs)
    inputs = names_of_inputs(model, positional, named, input_names)
    axes = axes_that_vary(inputs, positional, named, dynamic_axes, dynamic_shapes)
    with _in_mode(model, training):
        try:
            spoken = _watched(model, positional, named)
            general = _program(model, positional, named, axes)
        except (TypeError, OnnxExporterError) as error:
            if problem := misread_dict(model, positional, named, given_by_name=bool(kwargs)):
                raise TypeError(problem) from error
            raise
    names = names_of_parameters(model)
    outputs = names_of_outputs(len(general.results), output_names, [*inputs, *names.values()])
    check_outputs_axes(inputs, outputs, [general.trace.arrays[slot].shape for slot in general.results], dynamic_axes)
    if taken := sorted({*inputs, *outputs} & {*names.values()} | {n for n in inputs if n in outputs}):
        raise ValueError(
            f"export(): names of inputs and outputs must be others than parameters' and each other's, but got {taken}: give "
            "others, as input_names=[...] and output_names=[...]"
        )
    translation = Translation(general, onnx, names, inputs)
    if translation.problems:
        raise _unsupported(translation.problems)
    proto = _assembled(onnx, translation, inputs, outputs, version_, dynamic_axes or {}, title_of(model))
    _parameters_as_inputs(onnx, proto, set(names.values()), export_params, keep_initializers_as_inputs)
    onnx.checker.check_model(proto, full_check=True)
    if verbose:
        import onnx.printer

        print(onnx.printer.to_text(proto))
    if lacking := sorted({op for n in proto.graph.node if (op := translation.builder.doubles.get(n.name))}):
        warnings.warn(
            f"export(): the file computes {', '.join(lacking)} in float32 and converts, as onnxruntime has none of float64: "
            "that has 7 digits, and overflows beyond 3.4e38; to_python() writes a module that computes all in float64",
            stacklevel=2,
        )
    if verify:
        _verify(proto, general, inputs, outputs)
    program = ONNXProgram(proto)
    if f is not None:
        program.save(f)
    if spoken:
        warnings.warn(f"export(): {spoken}; the file does not do it", stacklevel=2)
    return program


# -- tracing -----------------------------------------------------------------------------------------------------------
@contextmanager
def _in_mode(model: Any, training: TrainingMode) -> Iterator[None]:
    """Have the model in a mode, and what it writes as it was in the end."""
    if not isinstance(training, TrainingMode):
        raise TypeError(f"export(): training must be a TrainingMode, such as TrainingMode.EVAL, but is {training!r}")
    modules = list({id(m): m for _, root in modules_of(model) for m in root.modules()}.values())
    modes = [module.training for module in modules]
    token = exporting.set(True)
    try:
        with memory_kept(model):
            for module in modules if training is not TrainingMode.PRESERVE else ():
                module.training = training is TrainingMode.TRAINING
            yield
    finally:
        exporting.reset(token)
        for module, mode in zip(modules, modes):
            module.training = mode


def _watched(model: Any, args: tuple[Any, ...], named: dict[str, Any]) -> str:
    """Refuse a model that does more than to compute tensors; what it prints meanwhile, in words."""
    reason, spoken = watched(model, args, named)
    if reason:
        raise OnnxExporterError(
            f"cannot export {title_of(model)}: {reason}; an ONNX file computes from its inputs alone, and nothing was written"
        )
    return spoken


def _program(model: Any, args: tuple[Any, ...], named: dict[str, Any], axes: dict[int, dict[int, str]]) -> General:
    try:
        general = generalise(lambda a, k: model(*a, **k), [args, named], axes, expand, follows=("select",))
        for name, bound in general.bounds.items():
            if bound.differs:  # which a file cannot refuse
                raise CannotGeneralise(f"the axis {name!r} cannot vary beyond {bound.most}: {bound.said}")
    except CannotGeneralise as error:
        raise OnnxExporterError(f"cannot export with these dynamic axes: {error}") from error
    if not general.results:
        raise OnnxExporterError("the model returned no Tensor: there is nothing to export")
    if others := [x for x in general.passes[0].leaves if not isinstance(x, (Tensor, type(None)))]:
        shown = repr(others[0]) if is_plain(others[0]) else an_object(others[0])
        raise OnnxExporterError(
            f"the model returns {shown} besides tensors, and outputs of an ONNX file are tensors: leave it out, or return "
            "torch.tensor(...) of it"
        )
    return general


def _unsupported(problems: Sequence[Any]) -> OnnxExporterError:
    """One error for all that is in the way."""
    lines = list(dict.fromkeys([f"  {problem}" for problem in problems]))
    names = list(dict.fromkeys([p.name for p in problems]))
    what = f"{len(lines)} operation{'s' * (len(lines) != 1)} cannot be exported to ONNX; nothing was written:\n"
    remedy = "\nreplace them in the model, or compute what they give before or after it"
    return UnsupportedOperatorError(what + "\n".join(lines) + remedy, names)


# -- the model ---------------------------------------------------------------------------------------------------------
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
