"""Printed tensors: literal texts, laws of the layout, and a comparison with PyTorch's printing."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from minitorch._printing import format_array, format_tensor, get_printoptions, set_printoptions

DEFAULTS = {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80, "sci_mode": None}

f32 = np.float32


def floats(*values: float) -> NDArray[np.float32]:
    return np.array(values, np.float32)


@pytest.fixture(autouse=True)
def _default_options() -> Iterator[None]:
    set_printoptions(profile="default")
    yield
    set_printoptions(profile="default")


# What PyTorch 2.13 prints.
TEXTS: list[tuple[NDArray[Any], str]] = [
    (np.array(0.0, f32), "tensor(0.)"),
    (np.array(-0.0, f32), "tensor(-0.)"),
    (np.array(3.0, f32), "tensor(3.)"),
    (np.array(1e-5, f32), "tensor(1.0000e-05)"),
    (np.array(7), "tensor(7)"),
    (np.array(True), "tensor(True)"),
    (np.array(math.nan, f32), "tensor(nan)"),
    (floats(1, 2, 3), "tensor([1., 2., 3.])"),
    (floats(1, -2.5, 10), "tensor([ 1.0000, -2.5000, 10.0000])"),
    (floats(-0.0, 0.0), "tensor([-0., 0.])"),
    (floats(-0.0, 100.0), "tensor([ -0., 100.])"),
    (floats(0.1, 1000), "tensor([1.0000e-01, 1.0000e+03])"),
    (floats(1.0, 1001.0), "tensor([1.0000e+00, 1.0010e+03])"),
    (floats(1e-4, 0.05), "tensor([1.0000e-04, 5.0000e-02])"),
    (floats(1e8, 2e8), "tensor([1.0000e+08, 2.0000e+08])"),
    (floats(1, 1.5e8), "tensor([1.0000e+00, 1.5000e+08])"),
    (floats(1e8), "tensor([100000000.])"),
    (floats(1e9), "tensor([1.0000e+09])"),
    (np.array(1e-4), "tensor(0.0001, dtype=torch.float64)"),
    (floats(math.nan, math.inf, -math.inf), "tensor([nan, inf, -inf])"),
    (floats(1, math.nan, -math.inf), "tensor([1., nan, -inf])"),
    (floats(0.5, math.nan, -math.inf), "tensor([0.5000,    nan,   -inf])"),
    (floats(1e-9, math.nan, -math.inf, 0), "tensor([1.0000e-09,        nan,       -inf, 0.0000e+00])"),
    (floats(0, math.nan), "tensor([0., nan])"),
    (np.array([0.5, 1e-300, 1e300]), "tensor([ 5.0000e-01, 1.0000e-300, 1.0000e+300], dtype=torch.float64)"),
    (np.array([1.5, 2.5]), "tensor([1.5000, 2.5000], dtype=torch.float64)"),
    (np.array([1.5, 65504], np.float16), "tensor([1.5000e+00, 6.5504e+04], dtype=torch.float16)"),
    (
        np.array([[True, False], [False, False]]),
        "tensor([[ True, False],\n        [False, False]])",
    ),
    (np.array([0, 255], np.uint8), "tensor([  0, 255], dtype=torch.uint8)"),
    (np.array([-128, 127], np.int8), "tensor([-128,  127], dtype=torch.int8)"),
    (np.array([-300, 7], np.int16), "tensor([-300,    7], dtype=torch.int16)"),
    (np.array([1, 2], np.int32), "tensor([1, 2], dtype=torch.int32)"),
    (np.array([-(2**63), 5]), "tensor([-9223372036854775808,                    5])"),
    (np.zeros(0, f32), "tensor([])"),
    (np.zeros(0), "tensor([], dtype=torch.float64)"),
    (np.zeros((2, 0), f32), "tensor([], size=(2, 0))"),
    (np.zeros((0, 3), np.int64), "tensor([], size=(0, 3), dtype=torch.int64)"),
    (np.zeros(0, np.bool_), "tensor([], dtype=torch.bool)"),
    (
        np.arange(6.0, dtype=f32).reshape(2, 3),
        "tensor([[0., 1., 2.],\n        [3., 4., 5.]])",
    ),
    (
        np.arange(8).reshape(2, 2, 2),
        "tensor([[[0, 1],\n         [2, 3]],\n\n        [[4, 5],\n         [6, 7]]])",
    ),
    (
        np.arange(8).reshape(2, 1, 2, 2),
        "tensor([[[[0, 1],\n          [2, 3]]],\n\n\n        [[[4, 5],\n          [6, 7]]]])",
    ),
    (
        np.arange(30),
        (
            "tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,\n"
            "        18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29])"
        ),
    ),
    (
        np.arange(12, dtype=f32) / 7,
        (
            "tensor([0.0000, 0.1429, 0.2857, 0.4286, 0.5714, 0.7143, 0.8571, 1.0000, 1.1429,\n"
            "        1.2857, 1.4286, 1.5714])"
        ),
    ),
    (np.arange(1001), "tensor([   0,    1,    2,  ...,  998,  999, 1000])"),
    (
        np.arange(1100, dtype=f32).reshape(2, 550),
        (
            "tensor([[0.0000e+00, 1.0000e+00, 2.0000e+00,  ..., 5.4700e+02, 5.4800e+02,\n"
            "         5.4900e+02],\n"
            "        [5.5000e+02, 5.5100e+02, 5.5200e+02,  ..., 1.0970e+03, 1.0980e+03,\n"
            "         1.0990e+03]])"
        ),
    ),
    (
        np.arange(1050).reshape(7, 2, 75),
        (
            "tensor([[[   0,    1,    2,  ...,   72,   73,   74],\n"
            "         [  75,   76,   77,  ...,  147,  148,  149]],\n"
            "\n"
            "        [[ 150,  151,  152,  ...,  222,  223,  224],\n"
            "         [ 225,  226,  227,  ...,  297,  298,  299]],\n"
            "\n"
            "        [[ 300,  301,  302,  ...,  372,  373,  374],\n"
            "         [ 375,  376,  377,  ...,  447,  448,  449]],\n"
            "\n"
            "        ...,\n"
            "\n"
            "        [[ 600,  601,  602,  ...,  672,  673,  674],\n"
            "         [ 675,  676,  677,  ...,  747,  748,  749]],\n"
            "\n"
            "        [[ 750,  751,  752,  ...,  822,  823,  824],\n"
            "         [ 825,  826,  827,  ...,  897,  898,  899]],\n"
            "\n"
            "        [[ 900,  901,  902,  ...,  972,  973,  974],\n"
            "         [ 975,  976,  977,  ..., 1047, 1048, 1049]]])"
        ),
    ),
    (
        np.arange(1001).reshape(1001, 1, 1),
        (
            "tensor([[[   0]],\n"
            "\n"
            "        [[   1]],\n"
            "\n"
            "        [[   2]],\n"
            "\n"
            "        ...,\n"
            "\n"
            "        [[ 998]],\n"
            "\n"
            "        [[ 999]],\n"
            "\n"
            "        [[1000]]])"
        ),
    ),
]

# The same with print options.
TEXTS_WITH_OPTIONS: list[tuple[dict[str, Any], NDArray[Any], str]] = [
    ({"precision": 2}, floats(1.234, 10), "tensor([ 1.23, 10.00])"),
    ({"precision": 0}, floats(0.5, 1.5), "tensor([0, 2])"),
    ({"precision": 8}, np.array([0.1, 1.0]), "tensor([0.10000000, 1.00000000], dtype=torch.float64)"),
    ({"sci_mode": True}, floats(1, 20), "tensor([1.0000e+00, 2.0000e+01])"),
    ({"sci_mode": True}, floats(0, math.inf), "tensor([0., inf])"),
    ({"sci_mode": False}, floats(1e-9, 1e9, 0.5), "tensor([         0.0000, 1000000000.0000,          0.5000])"),
    ({"threshold": 5}, np.arange(6), "tensor([0, 1, 2, 3, 4, 5])"),
    ({"threshold": 5}, np.arange(7), "tensor([0, 1, 2,  ..., 4, 5, 6])"),
    (
        {"threshold": 5, "edgeitems": 1},
        np.arange(12).reshape(3, 4),
        "tensor([[ 0,  ...,  3],\n        ...,\n        [ 8,  ..., 11]])",
    ),
    ({"threshold": 5, "edgeitems": 0}, np.arange(12).reshape(3, 4), "tensor([...], size=(3, 4))"),
    ({"edgeitems": 0}, floats(1, 2), "tensor([1., 2.], size=(2,))"),
    ({"threshold": 7}, np.arange(7), "tensor([0, 1, 2, 3, 4, 5, 6])"),
    ({"threshold": 0}, np.array(3), "tensor(3)"),
    ({"threshold": 0, "edgeitems": 0}, np.array(3), "tensor(3, size=())"),
    (
        {"linewidth": 20},
        np.arange(8),
        "tensor([0, 1, 2, 3,\n        4, 5, 6, 7])",
    ),
    (
        {"linewidth": 4},
        np.arange(3),
        "tensor([0,\n        1,\n        2])",
    ),
    (
        {"linewidth": 40, "threshold": 8, "edgeitems": 4},
        np.arange(50, dtype=f32) / 8,
        "tensor([0.0000, 0.1250, 0.2500, 0.3750,\n         ..., 5.7500, 5.8750, 6.0000,\n        6.1250])",
    ),
    ({"profile": "short"}, np.linspace(0, 1, 1001), "tensor([0.00, 0.00,  ..., 1.00, 1.00], dtype=torch.float64)"),
    ({"profile": "short", "precision": 3}, floats(0.25), "tensor([0.250])"),
    (
        {"profile": "full", "linewidth": 20},
        np.arange(3, dtype=np.uint8),
        "tensor([0, 1, 2],\n       dtype=torch.uint8)",
    ),
]


@pytest.mark.parametrize(("array", "expected"), TEXTS)
def test_text(array: NDArray[Any], expected: str) -> None:
    assert format_tensor(array) == expected


@pytest.mark.parametrize(("options", "array", "expected"), TEXTS_WITH_OPTIONS)
def test_text_with_options(options: dict[str, Any], array: NDArray[Any], expected: str) -> None:
    set_printoptions(**options)
    assert format_tensor(array) == expected


@pytest.mark.parametrize(
    ("array", "suffix", "expected"),
    [
        (floats(1, 1), "requires_grad=True", "tensor([1., 1.], requires_grad=True)"),
        (floats(1, 1), "grad_fn=<MulBackward0>", "tensor([1., 1.], grad_fn=<MulBackward0>)"),
        (np.ones(1), "requires_grad=True", "tensor([1.], dtype=torch.float64, requires_grad=True)"),
        (
            np.ones((0, 2)),
            "grad_fn=<MulBackward0>",
            "tensor([], size=(0, 2), dtype=torch.float64, grad_fn=<MulBackward0>)",
        ),
        (
            np.arange(7, dtype=f32) + 0.5,
            "requires_grad=True",
            "tensor([0.5000, 1.5000, 2.5000, 3.5000, 4.5000, 5.5000, 6.5000],\n       requires_grad=True)",
        ),
        (
            np.arange(10, 25, dtype=f32),
            "grad_fn=<MulBackward0>",
            (
                "tensor([10., 11., 12., 13., 14., 15., 16., 17., 18., 19., 20., 21., 22., 23.,\n"
                "        24.], grad_fn=<MulBackward0>)"
            ),
        ),
    ],
)
def test_grad_suffix(array: NDArray[Any], suffix: str, expected: str) -> None:
    assert format_tensor(array, suffixes=[suffix]) == expected


@pytest.mark.parametrize(
    ("array", "linewidth", "expected"),
    [
        (np.ones(1), 54, "tensor([1.], dtype=torch.float64, requires_grad=True)"),
        (np.ones(1), 53, "tensor([1.], dtype=torch.float64,\n       requires_grad=True)"),
        (np.ones(1), 34, "tensor([1.], dtype=torch.float64,\n       requires_grad=True)"),
        (np.ones(1), 33, "tensor([1.],\n       dtype=torch.float64,\n       requires_grad=True)"),
        (np.ones(8), 46, f"tensor([{'1., ' * 7}1.],\n       dtype=torch.float64, requires_grad=True)"),
        (np.ones(8), 45, f"tensor([{'1., ' * 7}1.],\n       dtype=torch.float64,\n       requires_grad=True)"),
    ],
)
def test_line_breaks_before_a_suffix_that_would_not_fit(array: NDArray[Any], linewidth: int, expected: str) -> None:
    set_printoptions(linewidth=linewidth)
    assert format_tensor(array, suffixes=["requires_grad=True"]) == expected


def test_default_dtype_is_left_out() -> None:
    assert format_tensor(np.ones(2), default_dtype=np.float64) == "tensor([1., 1.])"
    assert format_tensor(np.ones(0), default_dtype=np.dtype("float64")) == "tensor([])"
    assert format_tensor(floats(1), default_dtype=np.float64) == "tensor([1.], dtype=torch.float32)"
    assert format_tensor(floats(), default_dtype=np.float64) == "tensor([], dtype=torch.float32)"


def test_prefix_sets_the_indent() -> None:
    assert format_tensor(np.eye(2, dtype=f32), prefix="Weight(") == "Weight([[1., 0.],\n        [0., 1.]])"


def test_options_are_reported_and_restored() -> None:
    assert get_printoptions() == DEFAULTS
    set_printoptions(precision=6, threshold=7, edgeitems=1, linewidth=50, sci_mode=True)
    options = get_printoptions()
    assert options == {"precision": 6, "threshold": 7, "edgeitems": 1, "linewidth": 50, "sci_mode": True}
    set_printoptions(profile="default")
    assert get_printoptions() == DEFAULTS
    set_printoptions(**options)
    assert get_printoptions() == options


def test_profiles() -> None:
    set_printoptions(profile="short")
    assert get_printoptions() == DEFAULTS | {"precision": 2, "edgeitems": 2}
    set_printoptions(profile="full")
    assert get_printoptions() == DEFAULTS | {"threshold": math.inf}


def test_every_call_sets_sci_mode_and_leaves_other_options_alone() -> None:
    set_printoptions(precision=2, sci_mode=True)
    set_printoptions(linewidth=60)
    assert get_printoptions() == DEFAULTS | {"precision": 2, "linewidth": 60}


def test_unknown_profile_changes_nothing() -> None:
    set_printoptions(profile="verbose")
    assert get_printoptions() == DEFAULTS


def test_elements_left_out_are_never_read() -> None:
    # Far more elements than could be formatted, or copied.
    array = np.broadcast_to(np.float32(1.5), (10**6, 10**6))
    row = "[1.5000, 1.5000, 1.5000,  ..., 1.5000, 1.5000, 1.5000]"
    assert format_array(array) == "[" + ",\n ".join([row] * 3 + ["..."] + [row] * 3) + "]"


def test_elements_left_out_do_not_choose_the_notation() -> None:
    array = np.ones(1001, f32)
    array[500] = 1e30
    assert format_array(array) == "[1., 1., 1.,  ..., 1., 1., 1.]"


INTEGERS = hnp.arrays(
    st.sampled_from([np.int8, np.int16, np.int32, np.int64, np.uint8, np.bool_]),
    hnp.array_shapes(min_dims=0, max_dims=4, max_side=9),
)


@given(INTEGERS)
def test_whole_text_reads_back(array: NDArray[Any]) -> None:
    set_printoptions(profile="full")
    assert ast.literal_eval(format_array(array)) == array.tolist()


@given(hnp.arrays(np.float64, st.integers(0, 60), elements=st.floats(-1e6, 1e6)), st.integers(0, 12))
def test_values_read_back_to_the_printed_precision(array: NDArray[Any], precision: int) -> None:
    set_printoptions(precision=precision, sci_mode=False)
    read = np.array(ast.literal_eval(format_array(array)), np.float64)
    np.testing.assert_allclose(read, array, rtol=1e-15, atol=0.5000001 * 10.0**-precision)


@given(INTEGERS, st.integers(0, 12), st.integers(40, 100))
def test_lines_are_indented_and_no_longer_than_the_line_width(array: NDArray[Any], indent: int, linewidth: int) -> None:
    set_printoptions(linewidth=linewidth)
    first, *others = format_array(array, indent).split("\n")
    assert all(not line or line.startswith(" " * (indent + 1)) for line in others)
    closing = array.ndim  # brackets and the comma after them do not count
    assert all(len(line) <= linewidth + closing for line in [" " * indent + first, *others])


DTYPES = ["float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool"]


def random_shape(rng: np.random.Generator) -> tuple[int, ...]:
    ndim = int(rng.integers(0, 5))
    kind = rng.random()
    if kind < 0.1:
        return tuple(rng.integers(0, 3, ndim).tolist())
    if kind < 0.25 and ndim:  # mostly above the threshold
        longest = {1: 1300, 2: 60, 3: 20, 4: 9}[ndim]
        return tuple(rng.integers(longest // 3, longest, ndim).tolist())
    return tuple(rng.integers(1, {0: 1, 1: 60, 2: 12, 3: 6, 4: 4}[ndim] + 1, ndim).tolist())


def random_array(rng: np.random.Generator) -> NDArray[Any]:
    shape, dtype = random_shape(rng), np.dtype(rng.choice(DTYPES))
    if dtype.kind == "b":
        return np.asarray(rng.random(shape) < 0.5)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        low, high = [(0, 2), (0, 100), (-100, 100), (info.min, info.max)][rng.integers(4)]
        return np.asarray(rng.integers(max(low, info.min), min(high, info.max), shape, dtype, endpoint=True))
    array = np.asarray(rng.standard_normal(shape))
    scale = rng.choice([1, 1, 1, 10, 1e3, 1e-3, 1e-4, 1e-6, 1e5, 1e8, 1e-40, 1e30, 1e300, 1e-310])
    array = array * scale
    kind = rng.random()
    if kind < 0.15:
        array = array * 10.0 ** rng.integers(-6, 6, shape)
    elif kind < 0.5:
        array = np.round(array)
    elif kind < 0.6:  # where the notation changes
        array = rng.choice([1e-4, 1.0, 1000.0, 1001.0, 1e8, 1e5, 0.0, 0.1, 0.99995, 9999.99995], shape)
    for special in (0.0, -0.0, math.nan, math.inf, -math.inf, 1.0, 1e4):
        if rng.random() < 0.12:
            array = np.where(rng.random(shape) < rng.choice([0.1, 0.5, 1.0]), special, array)
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(array).astype(dtype)


def random_options(rng: np.random.Generator) -> dict[str, Any]:
    options: dict[str, Any] = {}
    if rng.random() < 0.5:
        return options
    choices: dict[str, list[Any]] = {
        "precision": [0, 1, 2, 6, 10],
        "threshold": [0, 5, 20, 100, math.inf],
        "edgeitems": [0, 1, 2, 4, 5],
        "linewidth": [1, 20, 40, 79, 81, 120],
        "profile": ["default", "short", "full"],
        "sci_mode": [True, False],
    }
    for name, values in choices.items():
        if rng.random() < 0.3:
            options[name] = values[rng.integers(len(values))]
    return options


@pytest.mark.parametrize("seed", range(8))
def test_random_tensors_print_as_in_pytorch(seed: int) -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(seed)
    default_dtype = torch.get_default_dtype()
    try:
        for _ in range(300):
            array, options = random_array(rng), random_options(rng)
            tensor = torch.from_numpy(array)
            suffixes = []
            if array.dtype.kind == "f" and rng.random() < 0.4:
                tensor.requires_grad_()
                suffixes = ["requires_grad=True"]
                if rng.random() < 0.5:
                    tensor = tensor.clone()
                    suffixes = ["grad_fn=<CloneBackward0>"]
            default = rng.choice(["float32", "float32", "float64", "float16"])
            torch.set_default_dtype(getattr(torch, default))
            for module_options in (torch.set_printoptions, set_printoptions):
                module_options(profile="default")
                module_options(**options)
            assert get_printoptions() == torch._tensor_str.get_printoptions()
            text = format_tensor(array, default_dtype=default, suffixes=suffixes)
            assert text == repr(tensor), (options, default, array.dtype, array.shape)
    finally:
        torch.set_default_dtype(default_dtype)
        torch.set_printoptions(profile="default")
