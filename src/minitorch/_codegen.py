"""The source of a row's recording function and of its node's ``backward``.

Each writer below yields lines of Python; ``source`` puts them together.  Every name the lines use is an argument, a local,
or one of ``_op``'s (see ``_op._shared_names``).  To see what they make of a row: ``print(ops.mul.row.source)`` after a call.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterable, Iterator
from types import CodeType
from typing import TYPE_CHECKING, Any

from ._args import CONVERTERS
from ._sites import WRITTEN

if TYPE_CHECKING:
    from ._op import Row

LOCALS = frozenset(
    [
        "alias",
        "edges",
        "edits",
        "entry",
        "expects",
        "find",
        "found",
        "g",
        "given",
        "home",
        "kernel",
        "kind",
        "layout",
        "level",
        "levels",
        "node",
        "nodes",
        "out",
        "place",
        "retain",
        "row",
        "term",
        "view",
    ]
)
"""What the written code calls its own variables: no input or parameter may have these names."""


def constants(kernel: Callable[..., Any]) -> dict[str, str]:
    """A kernel's keyword-only parameters, each with its default as written in a signature."""
    code = kernel.__code__
    names = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    defaults = kernel.__kwdefaults__ or {}
    return {name: f"={defaults[name]!r}" if name in defaults else "" for name in names}


def parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of a function's positional parameters."""
    code = function.__code__
    return code.co_varnames[: code.co_argcount]


def called_by_formulas(row: Row) -> Callable[..., Any]:
    """A row's kernel as formulas call it on ndarrays: with its outputs alone, like the recording function."""
    kernel, count = row.kernel, row.outputs
    if not row.readers("aside"):
        return kernel
    if count:
        return lambda *arrays, **params: kernel(*arrays, **params)[:count]
    return lambda *arrays, **params: kernel(*arrays, **params)[0]


def source(row: Row, observed: Iterable[str] | None = None) -> str:
    """Two functions: ``recorder(inputs, params)`` and ``backward(node, g, F, edges, retain)``.

    Where there are observers, the recorder tells them, or does what *observed* says.
    """
    inputs = [argument(i) for i in row.inputs]
    signature = [*inputs, *(name + default for name, default in row.params.items())]
    if row.elementwise:
        signature += ["*", *(f"{name}={default!r}" for name, (default, _) in row.rarely.items()), "out=None"]
    lines = [f"def recorder({', '.join(signature)}):"]
    writer = variadic_lines if row.variadic else view_lines if row.view is True and not row.outputs else recorder_lines
    lines += indented(writer(row))
    lines += indented(["if observers:", *indented(observed or [told(row)]), "return out"])
    if row.formulas:
        lines += ["", "def backward(node, g, F, edges, retain):", *indented(backward_lines(row))]
    else:
        lines += ["", "backward = None"]
    return "\n".join(lines) + "\n"


def argument(name: str) -> str:
    """A row's input as the recording function's parameter: PyTorch's functions call the first one ``input``."""
    return "input" if name == "self" else name


def compiled(source: str, name: str) -> CodeType:
    """The code of a source, which tracebacks show; its lines are no places in the user's program."""
    file = f"{WRITTEN}{name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    return compile(source, file, "exec")


def operands(row: Row) -> str:
    """The tuple of a recorder's inputs."""
    return f"tuple({row.inputs[0]})" if row.variadic else f"({', '.join(map(argument, row.inputs))},)"


def given(row: Row) -> str:
    """The tuple of a recorder's parameters."""
    return f"({', '.join(row.params)}{',' if row.params else ''})"


def told(row: Row, name: str = "observe", out: str = "out") -> str:
    """The call that shows a recorder's call to observers."""
    return f"{name}(row, {out}, {operands(row)}, {given(row)})"


def indented(lines: Iterable[str], by: int = 4) -> Iterator[str]:
    return (" " * by + line for line in lines)


def recorder_lines(row: Row) -> Iterator[str]:
    """Check the operands, run the kernel, make the node if any gradient is needed."""
    inputs = [argument(i) for i in row.inputs]
    first, rest = inputs[0], inputs[1:]
    arrays = [f"{i}_array" for i in row.inputs]
    active = list(row.formulas)
    nodes = [f"{i}_node" for i in active]
    for name, (default, _) in row.rarely.items():
        yield f"if {name} {'is not' if default is None else '!='} {default!r}:"
        yield f"    return with_{name}({', '.join(inputs)}, {name}, out=out)"
    if row.numbers and (row.elementwise or row.broadcasts):
        for i in rest:
            yield f"if {i}.__class__ is not Tensor and {i}.__class__ not in tensor_types:"
            yield f"    {i} = {'float_' * row.floats}operand(given := {i}, {first})"
            yield f"    if {i} is NotImplemented:"
            yield f"        return foreign(row, {first}, given)"
    for name in row.params:
        yield from parameter_lines(name, row.declared[name])
    if row.elementwise:
        yield "if out is not None:"
        yield f"    return into(out, row, {operands(row)}, {given(row)})"
    yield "try:"
    for i, array in zip(inputs, arrays):
        yield f"    {array} = {i}._array"
    yield "except AttributeError:"
    yield f"    return without_tensors(row, {operands(row)}, {given(row)})"
    for i, node in zip(active, nodes):
        a = argument(i)
        known = f"(alias := {a}._alias) is None or alias.parent is None or alias.seen == alias.edits.count"
        yield f"{node} = {a}._node if {known} else current_node({a})"
    yield from settling_lines(row, first, rest, arrays, nodes)
    yield from kernel_lines(row, arrays)
    if active:
        yield f"if {' and '.join(f'{n} is None' for n in nodes)} or not grad_on():"
        yield "    node = None" if row.outputs else "    out._node = None"
        yield "else:"
        yield from indented(node_lines(row, active, nodes))
    else:
        yield "node = None" if row.outputs else "out._node = None"
    yield from closing_lines(row)


def parameter_lines(name: str, declared: str) -> Iterator[str]:
    """Look at a parameter unless it is of the class that the kernel declares: NumPy's scalars become numbers (a float64
    would make float64 of float32), others of the wrong type are refused."""
    kind = declared.removesuffix(" | None")
    if kind in CONVERTERS:
        classes, _ = CONVERTERS[kind]
        strange = " and ".join(f"{name}.__class__ is not {c.__name__}" for c in classes)
        yield f"if {name} is not None and {strange}:" if kind != declared else f"if {strange}:"
        yield f"    {name} = parameter(row, {name!r}, {name})"
    else:
        yield f"if {name}.__class__ in numpy_scalars:"
        yield f"    {name} = {name}.item()"


def settling_lines(row: Row, first: str, rest: list[str], arrays: list[str], nodes: list[str]) -> Iterator[str]:
    """Bring operands that are not alike to one dtype; know the result's layout where it is an operand's."""
    joined = ", ".join(arrays)
    if row.elementwise:
        yield f"layout = {first}._layout"
        if rest:
            settle = "settle_all" if len(rest) > 1 else "settle_floats" if row.floats else "settle"
            yield "expects = None"
            yield f"if layout is None or {' or '.join(f'layout is not {i}._layout' for i in rest)}:"
            yield f"    {joined}, layout, expects = {settle}({first}, {', '.join(rest)})"
    elif row.broadcasts and len(row.formulas) > 1:  # an input without a formula, such as a mask, stays as it is
        alike = [f"{i}_array" for i in row.formulas]
        yield f"if {' or '.join(f'{alike[0]}.dtype is not {a}.dtype' for a in alike[1:])}:"
        yield f"    {', '.join(alike)} = promote({', '.join(alike)})"
    if row.floats:  # an integer never has a node
        none = [f"{n} is None" for n in nodes]
        yield f"if {' and '.join([*none, f'{arrays[0]}.dtype.kind != {chr(39)}f{chr(39)}'])}:"
        yield f"    {joined}, = floated({joined})" if len(arrays) == 1 else f"    {joined} = floated({joined})"
        if row.elementwise:
            yield "    layout = None"


def kernel_lines(row: Row, arrays: list[str]) -> Iterator[str]:
    """Call the kernel; a ufunc's ``out=...`` keeps 0-d results ndarrays, and is left out where the result is not 0-d."""
    call = ", ".join([*arrays, *(f"{p}={p}" for p in row.params)])
    target = "out_arrays" if row.outputs else "out._array = out_array"
    if "aside" in row.kept:
        target = "out_arrays"
    if not row.outputs:
        yield "out = new_tensor()"
    yield "try:"
    if row.is_ufunc and row.elementwise:  # quiet by itself: see _op.recorder
        yield "    if layout is None or not layout[0]:"
        yield f"        {target} = kernel({call}, out=...)"
        yield "    else:"
        yield f"        {target} = kernel({call})"
    else:
        yield f"    {target} = kernel({call})" if row.view else f"    {target} = quiet(kernel, {call})"
    yield "except Exception as error:"
    params = "{" + ", ".join(f"{p!r}: {p}" for p in row.params) + "}"
    yield f"    {target} = rescued(error, row, {operands(row)}, ({', '.join(arrays)},), {params})"
    if not row.outputs:
        if "aside" in row.kept:
            yield "out._array = out_array = out_arrays[0]"
        if row.view is not True:
            yield "out._alias = None"
        yield f"out._layout = {'layout' if row.elementwise and row.formulas else 'None'}"


def node_lines(row: Row, active: list[str], nodes: list[str]) -> Iterator[str]:
    """Fill a node's fields."""
    yield f"{'' if row.outputs else 'out._node = '}node = NodeType()"
    yield "node.position = next_position()"
    yield f"node.edges = ({', '.join([*nodes, *['None'] * row.absent])},)"
    for name in row.kept:  # a tensor is kept only if a needed gradient reads it
        if name == "aside":
            yield f"node.saved_aside = out_arrays[{int(row.outputs) or 1}:]"
            continue
        if name in row.results:
            number = name.removeprefix("result")
            value = f"out_arrays[{number}]" if number else "tuple(out_arrays)" if row.outputs else "out_array"
            yield f"node.saved_{name} = {value}"
            yield "node.result_edits = ()"
            continue
        readers = row.readers(name)
        a = argument(name)
        if len(readers) == len(active):
            yield f"node.saved_{name} = {a}"
            yield f"if {a}._alias is not None and {a}._alias.inference:"
            yield "    raise_inference()"
        else:
            yield f"if {' or '.join(f'{i}_node is not None' for i in readers)}:"
            yield f"    node.saved_{name} = {a}"
            yield f"    if {a}._alias is not None and {a}._alias.inference:"
            yield "        raise_inference()"
            yield "else:"
            yield f"    node.saved_{name} = unsaved"
    for name in row.constants:
        value = name if name in row.params else f"{name[:-6]}_array.shape"
        if row.view and name == "self_shape":  # asking NumPy costs more than a known layout
            value += " if input._layout is None else input._layout[0]"
        yield f"node.saved_{name} = {value}"
    if row.elementwise and row.broadcasts:
        if len(active) == len(row.inputs):
            yield "node.expects = expects"
        else:  # one layout an edge
            wanted = ", ".join(f"expects[{row.inputs.index(i)}]" for i in active)
            yield f"node.expects = None if expects is None else ({wanted},)"
    elif row.broadcasts:
        yield f"node.expects = layouts({', '.join(argument(i) for i in active)})"
    else:
        yield "node.expects = None"
    if row.outputs and row.view:
        yield "node.layout = [(array.shape, array.dtype) for array in out_arrays]"
    elif row.outputs:
        yield f"node.layout = [intern_layout(array) for array in {shown_outputs(row)}]"
    elif row.elementwise:
        yield "if layout is None:"
        yield "    out._layout = layout = intern_layout(out_array)"
        yield "node.layout = layout"
    elif row.view:
        yield "node.layout = out_array.shape, out_array.dtype"
    else:
        yield "node.layout = out._layout = intern_layout(out_array)"
    yield "node.extras = None"


def shown_outputs(row: Row) -> str:
    """Those of a kernel's arrays that are outputs; the others are for the formulas only."""
    return "out_arrays" if row.outputs is True else f"out_arrays[:{row.outputs}]"


def closing_lines(row: Row) -> Iterator[str]:
    """Make views of what shares memory."""
    first = argument(row.inputs[0])
    if row.outputs and row.view:
        yield f"out = views_of(node, out_arrays, {first}, row, {given(row)})"
    elif row.outputs:
        yield f"out = outputs_of(node, {shown_outputs(row)})"
    elif row.view:
        yield f"if shares_memory(out_array, {row.inputs[0]}_array):"
        yield f"    attach_view(out, {first}, row, {given(row)})"


def view_lines(row: Row) -> Iterator[str]:
    """A recorder of views: as making one costs more than the kernel, each field is stored once, and no layout is interned."""
    yield "try:"
    yield "    self_array, alias = input._array, input._alias"
    yield "except AttributeError:"
    yield "    raise not_a_tensor(row, (input,), Tensor) from None"
    yield from kernel_lines(row, ["self_array"])
    yield "self_node, kind = input._node, View"
    yield "if alias is None:"
    yield "    edits = edits_of(input)"
    yield "elif alias.parent is None:"
    yield "    edits = alias"
    yield "else:  # a view of a view: what is refused there is refused here"
    yield "    kind, edits = alias.__class__, alias.edits"
    yield "    if alias.seen != edits.count:"
    yield "        self_node = current_node(input)"
    yield "if grad_on():"
    yield "    out._alias = view = kind()"
    yield "    if self_node is None:"
    yield "        out._node = None"
    yield "    else:"
    yield from indented(node_lines(row, ["self"], ["self_node"]), 8)
    yield "else:"
    yield "    out._node = None"
    yield "    out._alias = view = UnrecordedView()"
    yield "view.edits = edits"
    yield "view.parent = input"
    yield "view.row = row"
    yield f"view.params = {given(row)}"
    yield "view.index = None"
    yield "view.seen = edits.count"


def variadic_lines(row: Row) -> Iterator[str]:
    """A recorder whose inputs are one list of tensors."""
    name = row.inputs[0]
    yield f"{name}_array, nodes, dtypes, expects = [], [], set(), None"
    yield "try:"
    yield f"    for t in {name}:"
    yield f"        {name}_array.append(array := t._array)"
    yield "        dtypes.add(array.dtype)"
    yield "        nodes.append(t._node if t._alias is None or t._alias.parent is None else current_node(t))"
    yield "except AttributeError:"
    yield f"    raise not_a_tensor(row, {operands(row)}, Tensor) from None"
    if row.broadcasts:
        yield "if len(dtypes) > 1:"
        yield f"    {name}_array, expects = promote(*{name}_array), layouts(*{name})"
    yield from kernel_lines(row, [f"{name}_array"])
    yield "if not any(nodes) or not grad_on():"
    yield "    node = None" if row.outputs else "    out._node = None"
    yield "else:"
    body = list(node_lines(row, [], []))
    body = ["node.edges = tuple(nodes)" if line.startswith("node.edges") else line for line in body]
    body = ["node.expects = expects" if line.startswith("node.expects") else line for line in body]
    shapes = f"node.saved_{name}_shape = {name}_array.shape"
    body = [f"node.saved_{name}_shape = [a.shape for a in {name}_array]" if line == shapes else line for line in body]
    yield from indented(body)
    yield from closing_lines(row)


def backward_lines(row: Row) -> Iterator[str]:
    """Fetch what was saved, check it, apply the formulas that are needed."""
    tensors = [n for n in row.kept if n in row.inputs]
    for n in row.kept:
        yield f"{n} = node.saved_{n}"
    if row.kept:
        yield f"if {row.kept[0]} is None:"
        yield "    raise_freed(node)"
    for n in tensors:
        yield f"if {n}._alias is not None:"
        yield f"    check_unedited(node, {n}._alias.edits, {n!r})"
    if tensors:
        yield "if F is raw:"
        for n in tensors:
            yield f"    {n} = {n}._array"
    results = [n for n in row.kept if n in row.results]
    if results:
        yield "for edits in node.result_edits:"
        yield f"    check_unedited(node, edits, {results[0]!r})"
        yield "if F is not raw:"
        for n in results:
            yield f"    {n} = rewrapped(node, {n}, {n.removeprefix('result') or None})"
    if "aside" in row.kept:
        yield "if F is not raw:"
        yield "    aside = [wrap(array) for array in aside]"
    if row.kept:
        yield "if not retain:"
        yield f"    {' = '.join(f'node.saved_{n}' for n in row.kept)} = None"
    for n in row.constants:
        yield f"{n} = node.saved_{n}"
    if row.outputs and not row.together:
        yield "g = filled(node, g, F)"
    if row.together:
        reads = row.reads[row.inputs[0]]
        needed = "[edge is not None for edge in edges]"
        yield f"return {row.inputs[0]}_formula({', '.join(['F', 'g', needed, *reads])})"
        return
    calls = {i: f"{i}_formula({', '.join(['F', 'g', *reads])})" for i, reads in row.reads.items()}
    if len(calls) > 1:
        targets = [*(f"{i}_edge" for i in calls), *["_"] * row.absent]
        yield f"{', '.join(targets)} = edges"
        calls = {i: f"None if {i}_edge is None else {call}" for i, call in calls.items()}
    results = [*calls.values(), *["None"] * row.absent]
    yield f"return {results[0]}" if row.variadic else f"return ({', '.join(results)},)"
