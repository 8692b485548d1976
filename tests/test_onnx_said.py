"""What an ONNX file cannot do is refused before anything is written, and bad arguments are named."""

from __future__ import annotations

import functools
import itertools
import logging
import os
import random
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minitorch as torch
from minitorch import nn, static
from minitorch._choices import choices
from minitorch._errors import called_as
from minitorch._trace_instructions import Graded, Made, Sized, Written
from minitorch.static import _control_instructions, _size_passes

onnx = pytest.importorskip("onnx")
X = torch.ones(2, 3)


class Counts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.n = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.n += 1
        return x * self.n


LOG: list[int] = []
COUNT = itertools.count(1)
GENERATOR = np.random.default_rng(0)
OTHER = {"scale": 2}


def appends(x: torch.Tensor) -> torch.Tensor:
    LOG.append(1)
    return x * len(LOG)


def reads_a_file(x: torch.Tensor) -> torch.Tensor:
    with open(__file__) as file:
        return x * len(file.readline())


def changes_its_list(x: torch.Tensor, items: list[int]) -> torch.Tensor:
    items.append(1)
    return x * len(items)


@pytest.mark.parametrize(
    ("function", "args", "text"),
    [
        (
            Counts(),
            X,
            "a call changes self.n, which is no write into a tensor: pass it as an argument, and return what it becomes",
        ),
        (appends, X, "a call changes LOG, which is no write into a tensor"),
        (lambda x: x * random.random(), X, "it draws from random: .*or pass the numbers as an argument"),
        (lambda x: x * np.random.rand(), X, r"it draws from np\.random: .*or pass the numbers as an argument"),
        (lambda x: x * GENERATOR.random(), X, "it draws from GENERATOR"),
        (lambda x: x * next(COUNT), X, "COUNT is a.* count, which changes where it is read"),
        (lambda x: x * time.time(), X, r"it calls time\.time\(\): call it outside \(test_onnx_said.py:"),
        (
            reads_a_file,
            X,
            r"it calls open\(\): read before, and pass what was read as an argument \(test_onnx_said.py:",
        ),
        (lambda x: x * os.urandom(1)[0], X, r"it calls os\.urandom\(\)"),
        (changes_its_list, (X, [1]), "a call changes a list or a dict that is an argument"),
        (
            lambda x, a: x + torch.from_numpy(a),
            (X, np.ones(3, np.float32)),
            "an argument is a NumPy array.*pass a tensor",
        ),
        (lambda x: (x, 3), X, r"the model returns 3 besides tensors.*torch\.tensor\(\.\.\.\) of it"),
        (lambda x: {"x": x, "size": x.shape[0]}, X, "the model returns 2 besides tensors"),
        (lambda x: (x * 2, "text"), X, "the model returns 'text' besides tensors"),
        (lambda x: [print(x), x][1], X, r"print\(\): a tensor is made a text .*: do that outside"),
        (
            lambda x: [torch.manual_seed(0), x][1],
            X,
            r"manual_seed\(\): a model to export computes only: call it outside",
        ),
    ],
)
def test_more_than_tensors_is_refused(function: Any, args: Any, text: str, tmp_path: Path, recwarn: Any) -> None:
    path = tmp_path / "model.onnx"
    with pytest.raises(torch.onnx.OnnxExporterError, match=text):
        torch.onnx.export(function, args, path)
    assert not [*tmp_path.iterdir()]


def test_what_a_first_call_fills_is_no_state() -> None:
    cache: dict[str, torch.Tensor] = {}

    def cached(x: torch.Tensor) -> torch.Tensor:
        if "table" not in cache:
            cache["table"] = torch.arange(3.0)
        return x + cache["table"] * OTHER["scale"]

    assert len(torch.onnx.export(cached, X).model_proto.graph.node) == 1 + 1


def says(text: str) -> Callable[[torch.Tensor], torch.Tensor]:
    def function(x: torch.Tensor) -> torch.Tensor:
        if text == "print":
            print(x.shape)
        elif text == "log":
            logging.getLogger("test").error("called")
        else:
            warnings.warn("called", stacklevel=1)
        return x * 2

    return function


@pytest.mark.parametrize(("kind", "text"), [("print", "it prints"), ("log", "it writes a log"), ("warn", "it warns")])
def test_what_is_only_said_is_left_out(kind: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    warnings.simplefilter("ignore")
    with pytest.warns(UserWarning, match=rf"export\(\): {text}.*\(test_onnx_said.py:.*the file does not do it"):
        torch.onnx.export(says(kind), X, path)
    assert path.exists()
    program = static.trace(says(kind), X, quiet=True)
    with pytest.warns(UserWarning, match=rf"to_python\(\): {text}"):
        program.to_python(tmp_path / "said.py")
    assert "x * 2.0" in (tmp_path / "said.py").read_text()
    assert not program.variants  # it says it again at each call
    assert text in program.notes[-1]


def test_none_is_no_output() -> None:
    program = torch.onnx.export(lambda x: {"a": x + 1, "b": (None, [x + 2, x + 3])}, X, output_names=["p", "q", "r"])
    assert [o.name for o in program.model_proto.graph.output] == ["p", "q", "r"]
    with pytest.raises(
        ValueError, match=r"output_names has 2 names, but the model returns 1 tensor \(None is not one\)"
    ):
        torch.onnx.export(lambda x: (x + 1, None), X, output_names=["a", "b"])


# -- models and arguments ----------------------------------------------------------------------------------------------
class Dropped(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(3, 2), nn.Dropout(0.5))

    def encode(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x)


def test_methods_and_compiled_models_have_names_and_are_in_eval_mode() -> None:
    model = Dropped()
    for function in (
        model.encode,
        functools.partial(model.encode),
        static.compile(model.encode, quiet=True),
        lambda x: model.encode(x),
    ):
        graph = torch.onnx.export(function, X).model_proto.graph
        assert [i.name for i in graph.input] == ["x"]
        assert {t.name for t in graph.initializer} == {"inner.0.weight", "inner.0.bias"}
        assert model.inner.training
    graph = torch.onnx.export(static.compile(model.inner, quiet=True), X).model_proto.graph
    assert [i.name for i in graph.input] == ["input"]


def test_a_name_that_is_taken_is_not_that_of_an_output() -> None:
    graph = torch.onnx.export(lambda output: output + 1, X).model_proto.graph
    assert ([i.name for i in graph.input], [o.name for o in graph.output]) == (["output"], ["output_"])


MODEL = nn.Linear(3, 3)


@pytest.mark.parametrize(
    ("model", "args", "error", "text"),
    [
        (3, X, TypeError, "the model must be a Module or a function of tensors, but is int"),
        (X, MODEL, TypeError, r"but is Tensor, and args is the model: export\(model, args\)"),
        (MODEL.state_dict(), X, TypeError, r"but is OrderedDict: make the model, load_state_dict\(\) it"),
        (nn.Linear, X, TypeError, r"got the class Linear, not a model: make one, Linear\(\.\.\.\)"),
        (static.Executor([static.placeholder("x") * 2]), X, TypeError, r"a graph of minitorch\.static \(Executor\)"),
        (MODEL, None, TypeError, "args must be a Tensor or a tuple of them, but is NoneType"),
        (MODEL, np.ones((2, 3)), TypeError, r"but is ndarray: make it one, torch\.from_numpy"),
        (MODEL, {"input": X}, TypeError, r"but is dict: give arguments by name as kwargs=\{"),
        (
            MODEL,
            (),
            torch.onnx.OnnxExporterError,
            r"needs example arguments: at least one Tensor, as export\(model, x\)",
        ),
    ],
)
def test_what_is_no_model_and_no_arguments(model: Any, args: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=rf"export\(\).*{text}"):
        torch.onnx.export(model, args)


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"kwargs": [1]}, TypeError, "kwargs must be a dict of arguments by name, but is list"),
        ({"input_names": "x"}, TypeError, r"input_names must be a list of names, as \['x'\], but is str"),
        ({"output_names": {"x"}}, TypeError, "output_names must be a list of names"),
        ({"input_names": [3]}, TypeError, "input_names must be names, but has 3"),
        ({"input_names": [""]}, ValueError, "input_names must be names, but has ''"),
        (
            {"dynamic_axes": ["input"]},
            TypeError,
            r"dynamic_axes must be as \{'input': \{0: 'n'\}\} or \{'input': \[0\]\}",
        ),
        ({"dynamic_axes": {"input": 0}}, TypeError, "dynamic_axes must be as .* but has 0 for it"),
        ({"dynamic_axes": {"input": "b"}}, TypeError, "dynamic_axes must be as .* but has 'b' for it"),
        ({"dynamic_axes": {"input": {"0": "b"}}}, ValueError, "'input' has no axis '0': axes are numbers"),
        ({"dynamic_axes": {"input": {True: "b"}}}, ValueError, "'input' has no axis True"),
        ({"dynamic_axes": {"input": {0: 5}}}, TypeError, "the name of axis 0 of 'input' must be a str, but is 5"),
        (
            {"dynamic_axes": {"input": {2: "b"}}},
            ValueError,
            r"'input' has no axis 2: the example's is of shape \[2, 3\]",
        ),
        ({"dynamic_axes": {"output": {7: "b"}}}, ValueError, "'output' has no axis 7"),
        ({"dynamic_shapes": "b"}, TypeError, r"dynamic_shapes must be as \(\{0: 'n'\},\)"),
        ({"dynamic_shapes": ({0: "b"}, {0: "b"})}, ValueError, "dynamic_shapes is of 2 inputs, but there are 1"),
        ({"training": True}, TypeError, "training must be a TrainingMode"),
        ({"opset_version": 17}, ValueError, "opset_version must be one of .* but is 17: leave it out for 20"),
        ({"f": 3}, TypeError, "f must be a path, or a file to write bytes to, but is int"),
        ({"f": os.curdir}, IsADirectoryError, "'.' is a directory: give a path of a file in it"),
        ({"f": "not/there.onnx"}, RuntimeError, "Parent directory not does not exist"),
    ],
)
def test_options_are_checked(options: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        torch.onnx.export(MODEL, X, **options)


def test_an_integer_in_dynamic_shapes_is_the_size() -> None:
    shapes = {"input": {0: "n", 1: 3}}
    graph = torch.onnx.export(MODEL, X, dynamic_shapes=shapes).model_proto.graph
    assert [d.dim_param or d.dim_value for d in graph.input[0].type.tensor_type.shape.dim] == ["n", 3]


def test_paths_of_bytes(tmp_path: Path) -> None:
    torch.onnx.export(MODEL, X, os.fsencode(tmp_path / "model.onnx"))
    assert (tmp_path / "model.onnx").exists()


# -- writes into what is not the call's own ----------------------------------------------------------------------------
WEIGHT = torch.ones(4, 2) * 9


def counts_unread(x: torch.Tensor) -> torch.Tensor:
    WEIGHT[1:].add_(1)
    return x


@pytest.mark.parametrize(
    ("function", "args", "text"),
    [
        (lambda i: nn.functional.embedding(i, WEIGHT, max_norm=1.0), torch.tensor([0]), r"embedding\(\): max_norm="),
        (
            lambda i: nn.functional.embedding(i, WEIGHT, max_norm=1.0, norm_type=1.0),
            torch.tensor([0]),
            r"of a tensor of shape \[4, 2\] .*weight\.data\.renorm_\(1, 0, max_norm\)",
        ),
        (
            lambda i: nn.functional.embedding_bag(i, WEIGHT, max_norm=1.0),
            torch.tensor([[0, 1], [2, 3]]),
            r"embedding\(\): max_norm=",
        ),
        (counts_unread, torch.ones(2), "is written: an exported model has no state"),
    ],
)
def test_writes_into_captured_tensors_are_refused_and_undone(function: Any, args: Any, text: str) -> None:
    with pytest.raises(torch.onnx.errors.UnsupportedOperatorError, match=text):
        torch.onnx.export(function, args)
    assert (WEIGHT == 9).all()


@pytest.mark.parametrize("layer", [nn.Embedding, nn.EmbeddingBag])
def test_a_refused_norm_leaves_the_weights(layer: Any) -> None:
    model = layer(8, 3, max_norm=0.5)
    before, args = model.weight.detach().clone(), torch.tensor([[0, 1], [2, 3]])
    with pytest.raises(torch.onnx.errors.UnsupportedOperatorError, match="scales rows of 'weight' in place"):
        torch.onnx.export(model, args)
    assert (model.weight == before).all()
    expected = model(args)
    model.weight.data.renorm_(2, 0, 0.5)
    model.max_norm = None
    torch.testing.assert_close(model(args), expected)
    torch.onnx.export(model, args)


def steps(x: torch.Tensor) -> torch.Tensor:
    h = torch.zeros(x.shape[1:])
    for k in range(x.shape[0]):
        h = (h + x[k]).tanh()
    return h


def rows(x: torch.Tensor) -> torch.Tensor:
    h = torch.zeros(x.shape[1:])
    for row in x:
        h = (h * row).exp()
    return h


@pytest.mark.parametrize(
    ("loop", "said"),
    [(steps, r"select\(\), add\(\), tanh\(\)"), (rows, r"mul\(\), exp\(\)"),
     (lambda x: torch.stack([2 * x[i] for i in range(len(x))]), r"select\(\), mul\(\)")],
)  # fmt: skip
def test_a_loop_over_an_axis_that_varies(loop: Any, said: str) -> None:
    words = (
        f"'t' cannot vary: at size 7 a Python loop over the axis does {said} 3 times more: it is written out.*cumsum"
    )
    with pytest.raises(torch.onnx.OnnxExporterError, match=words):
        torch.onnx.export(loop, torch.ones(4, 2), dynamic_axes={"x": {0: "t"}})
    program = torch.onnx.export(loop, torch.ones(4, 2), dynamic_axes={"x": {1: "n"}})
    assert len(program.model_proto.graph.node) > 4


def test_a_branch_is_no_loop() -> None:
    def branch(x: torch.Tensor) -> torch.Tensor:
        return x.tanh().sin() if len(x) > 6 else x

    with pytest.raises(
        torch.onnx.OnnxExporterError, match=r"at size 7 it does tanh\(\) where it otherwise does nothing"
    ):
        torch.onnx.export(branch, torch.ones(4), dynamic_axes={"x": {0: "t"}})


def test_other_numbers_of_parts_are_said() -> None:
    with pytest.raises(torch.onnx.OnnxExporterError, match=r"unbind\(\) into 7 where it otherwise does so into 4"):
        torch.onnx.export(lambda x: torch.stack(x.unbind(0)), torch.ones(4), dynamic_axes={"x": {0: "t"}})


def test_what_is_chosen_within_functions_has_their_names() -> None:
    unnamed = [name for name in choices if not name.isidentifier() and called_as(name) == name]
    assert not unnamed, f"name what is called for {unnamed}, in _errors._PARTS"


@pytest.mark.parametrize("kind", [Made, Written, Graded, Sized, *_control_instructions.Control.__subclasses__()])
def test_instructions_have_names_of_what_was_written(kind: type) -> None:
    said = _size_passes._named(kind.__new__(kind))
    assert kind.__name__.lower() not in said
    assert "cond" in said or "while_loop" in said or not issubclass(kind, _control_instructions.Control)
