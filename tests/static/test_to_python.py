"""Written NumPy modules run where there is no minitorch, and give the same bits."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest

import minitorch as torch
from deployed import MODELS, SIZES, Deployed
from minitorch import nn, static
from minitorch._op import rows
from minitorch._pytree import tree_flatten
from minitorch.static._copied import Copies
from minitorch.static._free_names import Unwritable
from minitorch.static._number_expressions import Expression
from replays import CHOICES, LAYERS, LOSSES, Case
from samples import all_samples
from written import loaded

F = nn.functional

RUNNER = textwrap.dedent(
    """
    import importlib.util
    import sys
    import pathlib

    class NoMinitorch:
        @staticmethod
        def find_spec(name, path=None, target=None):
            if name.partition(".")[0] in ("minitorch", "torch"):
                raise ImportError(name + " is not to be imported")

    sys.meta_path.insert(0, NoMinitorch)
    sys.path.append(sys.argv[2])  # where NumPy is
    import numpy as np

    def leaves(out):
        if isinstance(out, dict):
            out = list(out.values())
        return [leaf for part in out for leaf in leaves(part)] if isinstance(out, (tuple, list)) else [out]

    for path in sorted(pathlib.Path(sys.argv[1]).glob("*.py")):
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for given in sorted(path.parent.glob(path.stem + ".given*")):
            with np.load(given) as file:
                out = module.forward(*[file[name] for name in file.files])
            np.savez(path.parent / given.name.replace("given", "found"), *leaves(out))
    assert "minitorch" not in sys.modules
    """
)
"""Runs all modules of a folder on what is given beside them."""


def stem(name: str) -> str:
    return "".join([letter if letter.isalnum() else "_" for letter in name])


def arrays_of(path: Path) -> list[np.ndarray]:
    with np.load(path) as file:
        return [file[name] for name in file.files]


def same(found: Any, wanted: Any) -> None:
    assert type(found) is np.ndarray
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    assert found.tobytes() == wanted.tobytes() or np.array_equal(found, wanted, equal_nan=True)


def sized(deployed: Deployed, directory: Path, name: str) -> None:
    """The model written once for every batch size, and inputs of some."""
    model, inputs = deployed.model(), deployed.inputs(3)
    names = list(inspect.signature(model.forward).parameters)
    if len(names) < len(inputs) or names == ["inputs"]:
        names = [f"inputs_{number}" for number in range(len(inputs))]
    axes = {name: {axis: "batch"} for name, axis in zip(names, deployed.axes) if axis is not None}
    with torch.no_grad():
        static.trace(model, *inputs, quiet=True).to_python(directory / f"sized_{name}.py", dynamic_axes=axes)
    for size in (1, *SIZES):
        np.savez(directory / f"sized_{name}.given{size}.npz", *[x.numpy() for x in deployed.inputs(size)])


# -- models ------------------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All models, written and run in a process of their own that cannot import minitorch; xdist's workers share them."""
    base = tmp_path_factory.getbasetemp()
    directory = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "written"
    done = directory / "runner" / "done"
    try:
        directory.mkdir()
    except FileExistsError:  # another does it
        for _ in range(6000):
            if done.exists():
                break
            time.sleep(0.1)
        assert done.read_text() == "yes"
        return directory
    try:
        write_and_run(directory)
        done.write_text("yes")
    finally:
        done.parent.mkdir(exist_ok=True)
        done.touch()
    return directory


def write_and_run(directory: Path) -> None:
    for name, deployed in MODELS.items():
        program = static.compile(deployed.model(), quiet=True)
        with torch.no_grad():
            for size in SIZES:
                inputs = deployed.inputs(size)
                np.savez(directory / f"{stem(name)}.given{size}.npz", *[x.numpy() for x in inputs])
                program(*inputs)
        program.to_python(directory / f"{stem(name)}.py")
        sized(deployed, directory, stem(name))
    (directory / "runner").mkdir()
    runner = directory / "runner" / "run.py"
    runner.write_text(RUNNER)
    packages = str(Path(np.__file__).parents[1])
    command = [sys.executable, "-I", "-S", str(runner), str(directory), packages]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", MODELS)
def test_models_run_without_minitorch_and_give_the_same_bits(folder: Path, name: str, size: int) -> None:
    deployed = MODELS[name]
    with torch.no_grad():
        wanted = [leaf.numpy() for leaf in tree_flatten(deployed.model()(*deployed.inputs(size)))[0]]
    found = arrays_of(folder / f"{stem(name)}.found{size}.npz")
    for a, b in zip(found, wanted, strict=True):
        assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())
    with np.load(folder / f"{stem(name)}.given{size}.npz") as file:
        for a, x in zip([file[n] for n in file.files], deployed.inputs(size)):
            np.testing.assert_array_equal(a, x.numpy())


@pytest.mark.parametrize("size", [1, *SIZES])
@pytest.mark.parametrize("name", MODELS)
def test_models_written_for_every_batch_size(folder: Path, name: str, size: int) -> None:
    deployed = MODELS[name]
    with torch.no_grad():
        wanted = [leaf.numpy() for leaf in tree_flatten(deployed.model()(*deployed.inputs(size)))[0]]
    for a, b in zip(arrays_of(folder / f"sized_{stem(name)}.found{size}.npz"), wanted, strict=True):
        assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())


def test_written_text_is_tidy(folder: Path) -> None:
    for path in folder.glob("*.py"):
        text = path.read_text()
        assert "minitorch" not in "".join([line for line in text.splitlines() if "import" in line])
        assert "\n\n\n\n" not in text
        assert text.endswith("\n")
        assert not [line for line in text.splitlines() if line != line.rstrip()]


# -- every operation ---------------------------------------------------------------------------------------------------
SAMPLES = [
    pytest.param(cases[-1], id=name)
    for name, cases in sorted(all_samples().items())
    # those draw random numbers, and "copy" takes an array out on the way
    if cases
    and "generator" not in rows[name].params
    and name not in ("copy", "fractional_max_pool2d", "fractional_max_pool3d")
]
FUNCTIONS = [pytest.param(case, id=name) for family in (CHOICES, LOSSES, LAYERS) for name, case in family.items()]


def agrees(function: Any, inputs: Any, path: Path) -> None:
    def forward(*tensors: Any) -> Any:
        return function(*tensors)

    with torch.no_grad():
        tensors = [torch.tensor(x) for x in inputs]
        wanted = tree_flatten(forward(*[t.clone() for t in tensors]))[0]
        static.trace(forward, *tensors, quiet=True).to_python(path / "written.py")
    given = [t.numpy().copy() for t in tensors]
    found = tree_flatten(loaded(path / "written.py").forward(*given))[0]
    for a, b in zip(found, wanted, strict=True):
        if isinstance(b, torch.Tensor):
            same(a, b.detach().numpy())
        else:
            assert a == b


@pytest.mark.parametrize("case", SAMPLES)
def test_every_row(case: Any, tmp_path: Path) -> None:
    agrees(lambda *inputs: case.call(torch, *inputs), case.inputs, tmp_path)


@pytest.mark.parametrize("case", FUNCTIONS)
def test_public_functions(case: Case, tmp_path: Path) -> None:
    agrees(*case, tmp_path)


# -- inputs and results ------------------------------------------------------------------------------------------------
def written(function: Any, *examples: Any, path: Path) -> Any:
    """The module of a function that was traced on examples, each a tuple of arguments."""
    program = static.compile(function, quiet=True)
    for example in examples:
        program(*example)
    program.to_python(path / "model.py")
    return loaded(path / "model.py")


def test_weights_have_their_names_and_lie_beside_the_text(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)).eval()
    module = written(model, (torch.ones(1, 2),), path=tmp_path)
    assert sorted(module.W) == ["0.bias", "0.weight", "1.bias", "1.running_mean", "1.running_var", "1.weight"]
    assert 'linear_0 = input.dot(W["0.weight"].T) + W["0.bias"]  # float32[1, 3]' in (tmp_path / "model.py").read_text()
    np.testing.assert_array_equal(module.W["0.weight"], model[0].weight.detach().numpy())


def test_of_functions_the_models_that_they_use_are_found(tmp_path: Path) -> None:
    model, other = nn.Linear(2, 3), nn.Linear(3, 2)

    def both(x: torch.Tensor) -> torch.Tensor:
        return other(model(x))

    module = written(both, (torch.ones(1, 2),), path=tmp_path)
    assert sorted(module.W) == ["model.bias", "model.weight", "other.bias", "other.weight"]
    same(module.both(np.ones((1, 2), np.float32)), both(torch.ones(1, 2)).detach().numpy())


def test_without_weights_there_is_the_text_alone(tmp_path: Path) -> None:
    module = written(lambda x: x + 1, (torch.ones(2),), path=tmp_path)
    same(module.forward(np.zeros(2, np.float32)), np.ones(2, np.float32))
    assert [path.name for path in tmp_path.iterdir() if path.suffix] == ["model.py"]


def test_structures_and_other_arguments(tmp_path: Path) -> None:
    def function(pair: Any, more: Any, *, scale: float, where: torch.Tensor) -> Any:
        first, (second, _) = pair
        return {"sum": first + second * scale, "rest": [more["x"].exp(), where, "said", 2.5, None]}

    a, b, c = torch.tensor([1.0]), torch.tensor([2.0]), torch.tensor([True])
    program = static.compile(function, quiet=True)
    program((a, [b, 3]), {"x": a}, scale=2.0, where=c)
    program.to_python(tmp_path / "model.py")
    given = [t.numpy() for t in (a, b, c)]
    found = loaded(tmp_path / "model.py").function(
        (given[0], [given[1], 3]), {"x": given[0]}, scale=2.0, where=given[2]
    )
    assert found["sum"].tolist() == [5.0]
    same(found["rest"][0], np.exp(given[0]))
    assert found["rest"][1].tolist() == [True]
    assert found["rest"][2:] == ["said", 2.5, None]


def test_what_is_returned_is_not_the_weights_themselves(tmp_path: Path) -> None:
    model = nn.Linear(2, 2)
    module = written(lambda x: (model(x), model.weight, model.bias[:1]), (torch.ones(1, 2),), path=tmp_path)
    for leaf in module.forward(np.ones((1, 2), np.float32)):
        leaf[...] = 0
    assert all([weight.all() for weight in module.W.values()])


def test_tied_and_transposed_weights(tmp_path: Path) -> None:
    model = nn.Module()
    model.register_parameter("a", nn.Parameter(torch.randn(3, 2).t()))
    model.register_parameter("b", nn.Parameter(torch.randn(2, 3, 4).permute(1, 2, 0)))
    model.forward = lambda x: (x @ model.a, (model.b * 2).sum(0), x @ model.a)
    x = torch.randn(5, 2)
    found = written(model, (x,), path=tmp_path).forward(x.numpy())
    for a, b in zip(found, model(x), strict=True):
        same(a, b.detach().numpy())


def test_inputs_lie_in_memory_as_the_example_did(tmp_path: Path) -> None:
    x = torch.randn(3, 4, 5).permute(2, 0, 1)
    module = written(lambda x: (x.transpose(1, 2).reshape(5, 12), x.sum(0)), (x,), path=tmp_path)
    for given in (x.numpy(), np.ascontiguousarray(x.numpy())):
        for a, b in zip(module.forward(given), (x.transpose(1, 2).reshape(5, 12), x.sum(0)), strict=True):
            same(a, b.numpy())


def test_writes_into_memory_of_its_own_stay_there(tmp_path: Path) -> None:
    def filled(x: torch.Tensor) -> torch.Tensor:
        out = torch.zeros(3, 2)
        out[1] = x
        out[2].add_(x).mul_(3)
        return out

    module = written(filled, (torch.ones(2),), path=tmp_path)
    for value in (2.0, 3.0):
        x = torch.full((2,), value)
        same(module.filled(x.numpy()), filled(x).numpy())


def test_large_values_are_let_go_of(tmp_path: Path) -> None:
    written(lambda x: ((x * 2).exp() + 1).sum(), (torch.ones(1 << 15),), path=tmp_path)
    text = (tmp_path / "model.py").read_text()
    assert "    del x\n" in text
    assert "    del mul\n" in text


def test_the_last_call_is_traced_with_the_values_of_now(tmp_path: Path) -> None:
    model = nn.Linear(2, 2)
    program = static.compile(model, quiet=True)
    program(torch.ones(1, 2))
    with torch.no_grad():
        model.weight.fill_(2.0)
    program.to_python(tmp_path / "model.py")
    np.testing.assert_array_equal(loaded(tmp_path / "model.py").W["weight"], np.full((2, 2), 2.0))


# -- sizes that may vary -----------------------------------------------------------------------------------------------
def test_sizes_are_read_from_the_inputs(tmp_path: Path) -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        outer = (x.unsqueeze(2) * y.unsqueeze(1)).reshape(x.shape[0], -1)
        return outer / x.shape[1] + torch.arange(outer.shape[1]) + torch.ones(x.shape[0], x.shape[1]).triu().sum()

    program = static.trace(function, torch.randn(4, 3), torch.randn(4, 5), quiet=True)
    program.to_python(tmp_path / "model.py", dynamic_axes={"x": {0: "batch", 1: "width"}, "y": {0: "batch", 1: "n"}})
    module = loaded(tmp_path / "model.py")
    text = (tmp_path / "model.py").read_text()
    assert '    x = _given(x, "x", ("batch", "width"), "float32")\n    batch = x.shape[0]\n' in text
    assert '    y = _given(y, "y", ("batch", "n"), "float32")\n' in text
    for batch, width, n in ((2, 2, 2), (7, 5, 3), (1, 1, 1), (4, 1, 9)):
        x, y = torch.randn(batch, width), torch.randn(batch, n)
        same(module.function(x.numpy(), y.numpy()), function(x, y).numpy())
    with pytest.raises(ValueError, match=r"batch is 2 in x.shape\[0\] but 3 in y.shape\[0\]"):
        module.function(np.ones((2, 2), np.float32), np.ones((3, 2), np.float32))


def test_what_cannot_be_written_is_not_traced_at_other_sizes(tmp_path: Path) -> None:
    norm = nn.BatchNorm1d(3)
    program = static.trace(norm, torch.randn(4, 3), quiet=True)
    before = norm.running_mean.clone()
    with pytest.raises(RuntimeError, match="it writes into num_batches_tracked, running_mean, running_var"):
        program.to_python(tmp_path / "model.py", dynamic_axes={"input": {0: "batch"}})
    assert torch.equal(norm.running_mean, before)


def test_parameters_that_are_named_as_what_is_called(tmp_path: Path) -> None:
    def function(np: torch.Tensor, W: torch.Tensor, softmax: torch.Tensor, type: torch.Tensor) -> torch.Tensor:
        return F.softmax(F.linear(np, W) + softmax.exp(), 1) + type

    tensors = [torch.randn(3, 3) for _ in range(4)]
    module = written(function, tensors, path=tmp_path)
    assert list(inspect.signature(module.function).parameters) == ["np", "W_", "softmax", "type"]
    same(module.function(*[t.numpy() for t in tensors]), function(*tensors).numpy())


SEVERAL_AXES = {
    "gpt": ({"characters": {0: "batch", 1: "length"}}, lambda b, n: (torch.randint(20, (b, n)),)),
    "lstm": ({"input": {0: "length", 1: "batch"}}, lambda b, n: (torch.randn(n, b, 3),)),
    "conv2d": ({"input": {0: "batch", 2: "height", 3: "width"}}, lambda b, n: (torch.randn(b, 3, n + 6, n + 8),)),
    "transformer": (
        {"src": {0: "batch", 1: "length"}, "tgt": {0: "batch", 1: "written"}},
        lambda b, n: (torch.randn(b, n, 8), torch.randn(b, n + 2, 8)),
    ),
}
"""Axes that may vary, and inputs of two sizes."""


@pytest.mark.parametrize("name", SEVERAL_AXES)
def test_lengths_and_image_sizes_vary_too(name: str, tmp_path: Path) -> None:
    axes, inputs = SEVERAL_AXES[name]
    model = MODELS[name].model()
    with torch.no_grad():
        static.trace(model, *inputs(3, 5), quiet=True).to_python(tmp_path / "model.py", dynamic_axes=axes)
    module = loaded(tmp_path / "model.py")
    for sizes in ((1, 1), (2, 3), (4, 2), (5, 6)):
        given = inputs(*sizes)
        with torch.no_grad():
            wanted = tree_flatten(model(*given))[0]
        for a, b in zip(tree_flatten(module.forward(*[x.numpy() for x in given]))[0], wanted, strict=True):
            same(a, b.numpy())


RESAMPLED: dict[str, Any] = {
    "nearest": lambda x: F.interpolate(x, scale_factor=2),
    "bilinear": lambda x: F.interpolate(x, scale_factor=1.5, mode="bilinear"),
    "bicubic": lambda x: F.interpolate(x, size=(7, x.shape[2]), mode="bicubic", align_corners=True),
    "antialiased": lambda x: F.interpolate(x, scale_factor=0.5, mode="bilinear", antialias=True),
    "exact": lambda x: F.interpolate(x, size=(x.shape[3], 5), mode="nearest-exact"),
}


@pytest.mark.parametrize("name", RESAMPLED)
def test_images_of_any_size_are_resampled(name: str, tmp_path: Path) -> None:
    function = RESAMPLED[name]
    program = static.trace(function, torch.randn(1, 2, 6, 5), quiet=True)
    program.to_python(tmp_path / "model.py", dynamic_axes={"x": {2: "height", 3: "width"}})
    module = loaded(tmp_path / "model.py")
    for height, width in ((3, 4), (9, 2), (33, 20), (70, 35)):
        x = torch.randn(1, 2, height, width)
        same(module.forward(x.numpy()), function(x).numpy())


def test_tables_that_depend_on_sizes_are_refused(tmp_path: Path) -> None:
    program = static.trace(lambda x: x * torch.hann_window(len(x)), torch.randn(5), quiet=True)
    with pytest.raises(
        RuntimeError, match=r"hann_window\(\) at test_to_python.py:408 makes something that depends on sizes in a way"
    ):
        program.to_python(tmp_path / "model.py", dynamic_axes={"x": {0: "n"}})


def test_axes_without_names(tmp_path: Path) -> None:
    program = static.trace(lambda x: x.reshape(-1), torch.ones(2, 3), quiet=True)
    program.to_python(tmp_path / "model.py", dynamic_axes={"x": [0, -1]})
    assert loaded(tmp_path / "model.py").forward(np.ones((4, 5), np.float32)).shape == (20,)


def test_sizes_at_which_it_does_other_things_are_refused(tmp_path: Path) -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return x + 1 if x.shape[0] == 1 else x * 2

    static.trace(function, torch.full((3,), 3.0), quiet=True).to_python(
        tmp_path / "model.py", dynamic_axes={"x": {0: "n"}}
    )
    module = loaded(tmp_path / "model.py")
    assert module.function(np.ones(2, np.float32)).tolist() == [2.0, 2.0]
    with pytest.raises(ValueError, match=r"function\(\): n is 1, but this was written for 2 or more"):
        module.function(np.ones(1, np.float32))


@pytest.mark.parametrize("pool", [nn.functional.max_pool1d, nn.functional.avg_pool1d])
def test_sizes_at_which_the_function_fails_are_refused(pool: Any, tmp_path: Path) -> None:
    def function(x: Any) -> Any:
        return pool(x[None, None], 3)

    static.trace(function, torch.ones(4)).to_python(tmp_path / "pool.py", dynamic_axes={"x": {0: "n"}})
    written = loaded(tmp_path / "pool.py").function
    assert "n 3 to 9" in written.__doc__
    for size in range(3):
        with pytest.raises(ValueError, match=f"n is {size}, but this was written for 3 or more"):
            written(np.ones(size, np.float32))
    assert written(np.ones(7, np.float32)).shape == (1, 1, 2)


@pytest.mark.parametrize(
    ("function", "axes", "error", "message"),
    [
        (lambda x: x + 1, {"y": {0: "n"}}, ValueError, "dynamic_axes names 'y', but the inputs are 'x'"),
        (lambda x: x + 1, {"x": {1: "n"}}, ValueError, "'x' has 1 dimensions, but dynamic_axes names dimension 1"),
        (lambda x: x + 1 if x.shape[0] % 2 else x, {"x": {0: "n"}}, RuntimeError, "with these dynamic_axes, the axis 'n'"),
        (lambda x: (x, x.shape[0]), {"x": {0: "n"}}, RuntimeError, "numbers that are returned depend on sizes"),
        (lambda x: x + crc32(bytes([x.shape[0], 7])) % 1009, {"x": {0: "n"}}, RuntimeError, "depends on sizes in a way"),
        (lambda x: x + torch.tensor([crc32(bytes([len(x)])) % 9]), {"x": {0: "n"}}, RuntimeError, "makes something that"),
        (lambda x: x * (1 << x.shape[0].bit_length()), {"x": {0: "n"}}, RuntimeError, "depends on sizes in a way"),
    ],
)  # fmt: skip
def test_axes_that_cannot_vary(function: Any, axes: Any, error: Any, message: str, tmp_path: Path) -> None:
    program = static.trace(function, torch.ones(4), quiet=True)
    with pytest.raises(error, match=message):
        program.to_python(tmp_path / "model.py", dynamic_axes=axes)
    assert not (tmp_path / "model.py").exists()


def test_what_gives_other_bits_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Expression, "text", lambda self, *_: "0.3")
    program = static.trace(lambda x: x / x.shape[0] ** 0.5, torch.ones(4), quiet=True)
    with pytest.raises(RuntimeError, match="the code would give other bits than the model at"):
        program.to_python(tmp_path / "model.py", dynamic_axes={"x": {0: "n"}})


def test_parameters_are_called_as_what_a_module_has_itself(tmp_path: Path) -> None:
    model = nn.Linear(3, 2)
    inputs = [torch.randn(4, 3) for _ in range(6)]

    def function(W: Any, _given: Any, _at_least: Any, _same_way: Any, _Held: Any, OtherInputs: Any) -> Any:
        return model(W) + model(_given) * model(_at_least) - model(_same_way) + model(_Held) / model(OtherInputs)

    for axes in (None, {name: {0: "W"} for name in ("W", "_given", "_at_least", "_same_way", "_Held", "OtherInputs")}):
        static.trace(function, *inputs, quiet=True).to_python(tmp_path / "model.py", dynamic_axes=axes)
        found = loaded(tmp_path / "model.py").function(*[x.numpy() for x in inputs])
        np.testing.assert_array_equal(found, function(*inputs).detach().numpy())


ONES = np.ones((2, 3), np.float32)
TAKEN: dict[str, Any] = {
    "a list": ([[1, 2.0, True]] * 2, 2.0),
    "a number of NumPy": (ONES, np.float32(3)),
    "an integer": (ONES, 3),
    "another order of bytes": (ONES.astype(">f4"), np.array(2, ">f4")),
    "columns first": (np.asfortranarray(ONES), np.array(2, np.float32)),
    "a view": (np.ones((3, 4), np.float32).T[::2], 1.5),
    "a tensor": (torch.ones(2, 3), 1.5),
}


@pytest.mark.parametrize("name", TAKEN)
def test_what_numpy_takes_for_an_array_is_taken(name: str, tmp_path: Path) -> None:
    module = written(lambda x, n: x * n + 1, (torch.ones(2, 3), torch.tensor(2.0)), path=tmp_path)
    x, n = TAKEN[name]
    same(module.forward(x, n), np.asarray(x, np.float32) * np.float32(n) + 1)
    locked = ONES.copy()
    locked.setflags(write=False)
    same(module.forward(locked, n), locked * np.float32(n) + 1)


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        (np.float64(2), ValueError, "n is float64, but must be uint8: use np.asarray"),
        (2.0, ValueError, "n is float64, but must be uint8"),
        (np.array(2), ValueError, "n is int64, but must be uint8"),
        (300, ValueError, "n must be uint8: Python integer 300 out of bounds"),
        ("2", TypeError, "n must be an array of numbers, not str of <U1"),
        (2j, TypeError, "n must be an array of numbers, not complex of complex128"),
        (np.ma.array(2, np.uint8), TypeError, "n must be an array of numbers, not MaskedArray"),
        ([[1], [2, 3]], TypeError, "n is no array of numbers: setting an array element with a sequence"),
        ([1], ValueError, r"n has shape \(1,\), but this was written for \(\)"),
    ],
)
def test_what_is_no_such_array_is_refused(given: Any, kind: Any, message: str, tmp_path: Path) -> None:
    module = written(lambda x, n: x * n, (torch.ones(2, 3), torch.tensor(2, dtype=torch.uint8)), path=tmp_path)
    same(module.forward(ONES, 2), ONES * 2)
    with pytest.raises(kind, match=message):
        module.forward(ONES, given)


# -- what is refused ---------------------------------------------------------------------------------------------------
def test_inputs_that_it_was_not_written_for(tmp_path: Path) -> None:
    module = written(lambda x: x + 1, (torch.ones(2, 3),), path=tmp_path)
    with pytest.raises(ValueError, match=r"forward\(\): x has shape \(3, 3\), but this was written for \(2, 3\)"):
        module.forward(np.ones((3, 3), np.float32))
    with pytest.raises(ValueError, match=r"forward\(\): x is float64, but must be float32: use np.asarray"):
        module.forward(np.ones((2, 3)))
    module = written(lambda x: x + 1, (torch.ones(2, 3),), (torch.ones(4),), path=tmp_path)
    same(module.forward(np.ones(4, np.float32)), np.full(4, 2, np.float32))
    with pytest.raises(ValueError, match=r"(?s)nothing is written for.*for \(2, 3\).*for \(4,\)"):
        module.forward(np.ones(3, np.float32))


def test_branches_over_values(tmp_path: Path) -> None:
    def absolute(x: torch.Tensor) -> torch.Tensor:
        return x if x.sum() > 0 else -x

    one, other = torch.tensor([1.0]), torch.tensor([-2.0])
    module = written(absolute, (one,), path=tmp_path)
    with pytest.raises(
        ValueError, match=r"the model branches on a value \(bool\(\)\) that was True .* and is False here"
    ):
        module.absolute(other.numpy())
    module = written(absolute, (one,), (other,), path=tmp_path)
    assert [module.absolute(np.array([v], np.float32)).item() for v in (3.0, -3.0)] == [3.0, 3.0]


def test_all_that_cannot_be_written_is_named_at_once(tmp_path: Path) -> None:
    w = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    norm = nn.BatchNorm1d(2)

    def step(x: torch.Tensor) -> torch.Tensor:
        loss = F.dropout(norm(x) * w).sum()
        loss.backward()
        optimizer.step()
        x.add_(1)
        return loss

    (tmp_path / "model.py").write_text("before")
    with pytest.raises(RuntimeError) as caught:
        written(step, (torch.ones(3, 2),), path=tmp_path)
    message = str(caught.value)
    for part in (
        "to_python(): step() cannot be written as NumPy code:\n",
        "draws random numbers: put the model in eval mode (model.eval())",
        "it writes into num_batches_tracked, running_mean, running_var: put the model in eval mode",
        "it gives tensors their .grad (backward())",
        "step(), which changes more than the tensors that it returns",
        "it writes into an argument: write into a clone",
    ):
        assert part in message
    assert [path.name for path in tmp_path.iterdir()] == ["model.py"]
    assert (tmp_path / "model.py").read_text() == "before"


def test_what_is_no_tensor_among_the_results(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"it returns an object .*: return tensors, numbers"):
        written(lambda x: (x, object()), (torch.ones(1),), path=tmp_path)


def test_a_failed_write_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = nn.Linear(2, 2)
    written(model, (torch.ones(1, 2),), path=tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}

    def full(*args: Any, **kwargs: Any) -> None:
        raise OSError("no space")

    monkeypatch.setattr(np.lib.format, "write_array", full)
    with pytest.raises(OSError, match="no space"):
        written(nn.Linear(2, 3), (torch.ones(1, 2),), path=tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == before


def test_paths_and_programs_that_are_not_there(tmp_path: Path) -> None:
    program = static.compile(nn.Linear(2, 2), quiet=True)
    with pytest.raises(
        RuntimeError, match="there is no program of Linear: it was not traced yet: call it on an example first"
    ):
        program.to_python(tmp_path / "model.py")
    program(torch.ones(1, 2))
    with pytest.raises(ValueError, match=r"the path must end in .py, but is '.*model.txt'"):
        program.to_python(tmp_path / "model.txt")
    with pytest.raises(RuntimeError, match="Parent directory"):
        program.to_python(tmp_path / "nowhere" / "model.py")


class Counting(nn.Module):
    """Counts its calls."""

    calls = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return x * self.calls


@pytest.mark.parametrize("calls", [1, 2, 3, 4])
def test_why_there_is_no_program_is_said_from_the_first_call_on(calls: int, tmp_path: Path) -> None:
    program = static.compile(Counting(), quiet=True)
    for _ in range(calls):
        program(torch.ones(2))
    for ask in (lambda: program.to_python(tmp_path / "model.py"), program.memory_plan, program.explain_passes):
        with pytest.raises(RuntimeError, match=r"no program of Counting: .*a call changes self\.calls, which is no"):
            ask()


def test_arguments_of_several_structures(tmp_path: Path) -> None:
    program = static.compile(lambda x, n: x * n, quiet=True)
    program(torch.ones(1), 2)
    program(torch.ones(1), 3)
    with pytest.raises(
        RuntimeError, match="with other values of arguments that are no tensors: trace it anew for each"
    ):
        program.to_python(tmp_path / "model.py")


# -- graphs ------------------------------------------------------------------------------------------------------------
def test_graphs_are_written_too(tmp_path: Path) -> None:
    x = static.placeholder("x")
    w = static.parameter(torch.randn(3, 4), "w")
    y = (static.rows.tanh(x @ w) * x.sum()).sum()
    executor = static.Executor([y, *static.gradients(y, [x, w])])
    given = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
    executor.to_python(tmp_path / "graph.py", {"x": given}, {"x": {0: "batch"}})
    module = loaded(tmp_path / "graph.py")
    assert list(module.W) == ["w"]
    for size in (1, 2, 5):
        for a, b in zip(module.run(given[:size]), executor.run({x: given[:size]}), strict=True):
            same(a, b)


def test_graphs_need_an_example(tmp_path: Path) -> None:
    executor = static.Executor(static.placeholder("x") + 1)
    with pytest.raises(RuntimeError, match="no value was fed for x"):
        executor.to_python(tmp_path / "graph.py")


# -- functions of others -----------------------------------------------------------------------------------------------
HALF = np.float32(0.5)


def halved(x: np.ndarray, *, times: int = 1) -> np.ndarray:
    """An own kernel."""
    for _ in range(times):
        x = x * HALF
    return x


def through_pytest(x: np.ndarray) -> np.ndarray:
    return pytest.approx(x)


def test_kernels_of_others_are_copied_where_they_need_numpy_alone() -> None:
    copies = Copies(lambda array: "W")
    name = copies.function(halved, "halve")
    copies.settle(set())
    name = copies.function(halved)
    scope: dict[str, Any] = {}
    exec("\n".join([copies.imports(), *[text for _, text in copies.texts()]]), scope)
    same(scope[name](np.ones(2, np.float32), times=2), np.full(2, 0.25, np.float32))
    with pytest.raises(Unwritable, match="pytest, which is neither NumPy's nor Python's own"):
        Copies(lambda array: "W").function(through_pytest)
