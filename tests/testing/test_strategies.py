"""``testing.strategies``: what they draw, what it shrinks to, how it is shown."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, find, given, settings
from hypothesis import strategies as st

import minitorch as torch
from minitorch.testing import _elements, _literals, strategies
from minitorch.testing.strategies import tensors

F = torch.nn.functional
FEW = settings(max_examples=25)
QUICK = settings(max_examples=2000, derandomize=True, database=None, suppress_health_check=list(HealthCheck))


def smallest(strategy: Any, condition: Any) -> Any:
    return find(strategy, condition, settings=QUICK)


# -- what they shrink to -----------------------------------------------------------------------------------------------
SHRUNK: dict[str, tuple[Any, Any, Any]] = {
    "shape": (strategies.shapes(), lambda s: True, ()),
    "shape with dimensions": (strategies.shapes(max_side=9), lambda s: len(s) > 1 and s[1] > 2, (1, 3)),
    "shapes that broadcast": (strategies.broadcastable_shapes(3), lambda s: s[0] != s[1], ((), (1,), ())),
    "shapes of matmul": (strategies.matmul_shapes(), lambda s: len(s[0]) == 2, ((1, 1), (1,))),
    "dimension": (strategies.dims(3), lambda d: True, 0),
    "dtype": (strategies.dtypes(integers=True), lambda d: not d.is_floating_point, torch.int64),
    "index": (strategies.indices((4, 4)), lambda i: len(i) > 0 and isinstance(i[0], slice), (slice(None),)),
    "layout": (strategies.layouts(), lambda name: True, "contiguous"),
}


@pytest.mark.parametrize("name", SHRUNK)
def test_they_shrink(name: str) -> None:
    strategy, condition, expected = SHRUNK[name]
    assert smallest(strategy, condition) == expected


def test_tensors_shrink_to_small_shapes_and_simple_numbers() -> None:
    tensor = smallest(tensors(), lambda t: bool((t.abs() > 2).any()))
    assert (tuple(tensor.shape), tensor.item(), tensor.dtype) == ((), 3.0, torch.float64)
    tensor = smallest(tensors(shape=(2, 3)), lambda t: bool((t > 1).any()))
    assert sorted(tensor.flatten().tolist()) == [0, 0, 0, 0, 0, 2]
    assert tensor.is_contiguous()
    assert not tensor.storage_offset()


def test_modules_shrink_to_one_layer() -> None:
    model = smallest(strategies.modules(inputs=2), lambda m: any(p.any() for p in m.parameters()))
    assert len(model) == 1
    assert sum(int((p != 0).sum()) for p in model.parameters()) == 1


# -- what they draw ----------------------------------------------------------------------------------------------------
@FEW
@given(tensors(shape=("n", "k", 2)), tensors(shape=(3, "k"), requires_grad=True))
def test_sizes_with_one_name_are_equal_and_so_are_the_dtypes(a: Any, b: Any) -> None:
    assert a.shape[1] == b.shape[1]
    assert (a.shape[2], b.shape[0]) == (2, 3)
    assert a.dtype is b.dtype
    assert (a.requires_grad, b.requires_grad, b.is_leaf) == (False, True, True)


STRIDES = {
    "contiguous": lambda t: t.is_contiguous() and t.storage_offset() == 0,
    "transposed": lambda t: t.stride() == (1, 2) and not t.is_contiguous(),
    "strided": lambda t: t.stride() == (6, 2),
    "offset": lambda t: t.is_contiguous() and t.storage_offset() == 6,
    "expanded": lambda t: 0 in t.stride(),
}


@pytest.mark.parametrize("layout", strategies.LAYOUTS)
def test_layouts(layout: str) -> None:
    @settings(max_examples=10)
    @given(tensors(shape=(2, 3), layout=layout))
    def lies(t: Any) -> None:
        assert tuple(t.shape) == (2, 3)
        assert STRIDES[layout](t)

    lies()


def test_every_layout_is_drawn() -> None:
    for name, lies in STRIDES.items():
        assert lies(smallest(tensors(shape=(2, 3)), lies)), name
    assert smallest(tensors(shape=()), lambda t: t.storage_offset() == 1).shape == ()


WANTED: dict[str, Any] = {
    "zeros": lambda v: np.signbit(v[v == 0]).any(),
    "repeated": lambda v: len(set(v.tolist())) < 3 and abs(v[0]) > 2,
    "ties": lambda v: 0 < abs(v[0] - v[1]) < 1e-5,
    "near_kinks": lambda v: ((v != np.round(v)) & (np.abs(v - np.round(v)) < 1e-3)).any(),
    "subnormals": lambda v: (np.abs(v[v != 0]) < np.finfo(v.dtype).tiny).any(),
    "huge": lambda v: np.isinf(v * v.astype(v.dtype)).any(),
}


def values_of(elements: str, dtype: Any, examples: int) -> list[np.ndarray]:
    """What is drawn, not shrunk."""
    drawn = []

    @settings(max_examples=examples, derandomize=True, database=None)
    @given(tensors(shape=(3,), dtype=dtype, elements=elements, layout="contiguous"))
    def draws(t: Any) -> None:
        drawn.append(t.numpy())

    draws()
    return drawn


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
def test_values_love_trouble(dtype: Any) -> None:
    everything = values_of("trouble", dtype, 200)
    with np.errstate(over="ignore"):
        for kind, wanted in WANTED.items():
            assert any(wanted(v) for v in values_of(kind, dtype, 30)), kind
            assert any(wanted(v) for v in everything), kind


@FEW
@given(tensors(shape=("n", 3), elements="away_from_kinks", layout="contiguous"))
def test_values_away_from_kinks(t: Any) -> None:
    values = np.sort(np.abs(t.numpy().astype(np.float64).ravel()))
    assert (np.diff(values) > 0.15).all()
    assert (np.abs(values * 2 - np.round(values * 2)) > 0.3).all()


@FEW
@given(tensors(dtype=strategies.dtypes(integers=True, half=True)))
def test_all_dtypes(t: Any) -> None:
    assert t.dtype in (torch.float16, torch.float32, torch.float64, torch.bool) or not t.is_floating_point()


@FEW
@given(st.data(), strategies.shapes(min_side=0))
def test_indices_index(data: Any, shape: tuple[int, ...]) -> None:
    t = torch.arange(int(np.prod(shape))).reshape(shape)
    index = data.draw(strategies.indices(shape))
    # as in PyTorch, numbers choose first: they are not among the indices that are arrays, as in NumPy
    chosen = t.numpy()[tuple([slice(None) if isinstance(i, torch.Tensor) else i for i in index])]
    left = [i for i in index if not isinstance(i, int)]
    arrays = [i.numpy() if isinstance(i, torch.Tensor) else i if i is ... else slice(None) for i in left]
    assert np.array_equal(t[index].numpy(), chosen[tuple(arrays)])


@FEW
@given(strategies.broadcastable_shapes(3))
def test_broadcastable_shapes_broadcast(shapes: Any) -> None:
    np.broadcast_shapes(*shapes)


@FEW
@given(strategies.arguments(strategies.matmul_shapes()))
def test_matmul_shapes_multiply(pair: Any) -> None:
    torch.matmul(*pair)


@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_arguments_of_convolutions(ndim: int) -> None:
    @settings(max_examples=20)
    @given(strategies.conv_args(ndim))
    def runs(args: Any) -> None:
        assert getattr(F, f"conv{ndim}d")(*args).numel()

    runs()


@FEW
@given(strategies.modules(inputs="n"), tensors(shape=(2, "n")))
def test_modules_run(model: Any, x: Any) -> None:
    assert model(x).shape[0] == 2
    assert model(x).dtype is x.dtype


@FEW
@given(st.from_type(torch.Tensor))
def test_from_type(t: Any) -> None:
    assert isinstance(t, torch.Tensor)


@FEW
@given(...)
def test_annotations(t: torch.Tensor) -> None:
    assert t.is_floating_point()


def test_runs_repeat() -> None:
    def drawn() -> list[float]:
        found: list[float] = []

        @settings(max_examples=3, database=None)
        @given(st.integers())
        def draws(n: int) -> None:
            found.append(torch.rand(1).item())

        draws()
        return found

    torch.manual_seed(7)
    expected = torch.rand(2).tolist()
    torch.manual_seed(7)
    first = torch.rand(1).item()
    assert drawn() == drawn()
    assert [first, torch.rand(1).item()] == expected  # a test leaves the generator as it was


# -- how it is shown ---------------------------------------------------------------------------------------------------
@FEW
@given(tensors(dtype=strategies.dtypes(integers=True, half=True), elements="trouble", requires_grad=st.booleans()))
def test_literals_make_the_same_tensor(t: Any) -> None:
    again = eval(_literals.literal(t), {"torch": torch})
    assert (again.dtype, again.shape, again.requires_grad) == (t.dtype, t.shape, t.requires_grad)
    assert again.storage_offset() == t.storage_offset()
    assert again.stride() == t.stride() or t.numel() < 2 or t.is_contiguous()
    assert np.array_equal(again.detach().numpy(), t.detach().numpy())
    assert np.array_equal(np.signbit(again.detach().numpy()), np.signbit(t.detach().numpy()))


@pytest.mark.parametrize(
    "value",
    [
        (1,),
        [float("inf"), {"a": (slice(1, None), ..., None)}],
        torch.float32,
        torch.zeros(0, 3),
        torch.tensor(float("-inf")),
    ],
    ids=str,
)
def test_other_literals(value: Any) -> None:
    again = eval(_literals.literal(value), {"torch": torch})
    assert str(again) == str(value)


def test_hypothesis_shows_literals() -> None:
    @settings(QUICK, print_blob=False)
    @given(tensors(shape=(2,), dtype=torch.float32))
    def fails(x: Any) -> None:
        assert x.sum() < 1

    with pytest.raises(AssertionError) as error:
        fails()
    assert "x=torch.tensor([0.0, 1.0], dtype=torch.float32)" in "\n".join(error.value.__notes__)


# -- mistakes ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"layout": "backwards"}, "there is no layout 'backwards'"),
        ({"elements": "nice"}, "there are no elements 'nice'; there are ordinary, zeros"),
        ({"elements": 3}, "elements must be a strategy of numbers, or one of ordinary"),
        ({"shape": (2, -1)}, "shape has -1"),
        ({"shape": (2.5,)}, "shape has 2.5"),
    ],
    ids=str,
)
def test_mistakes(options: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        tensors(**options)


def test_the_extra_is_named_where_hypothesis_is_missing() -> None:
    program = """
import sys
sys.modules["hypothesis"] = None
import minitorch as torch
from minitorch.testing import *
assert torch.testing.check_gradients(torch.sin, torch.ones(2))
for name in ("strategies", "property_test"):
    try:
        getattr(torch.testing, name)
    except ImportError as error:
        assert "pip install minitorch[testing]" in str(error)
    else:
        raise AssertionError(name)
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_kinds_are_public() -> None:
    assert set(_elements.KINDS) < set(strategies.__all__)
    assert strategies.__all__ == sorted(strategies.__all__, key=lambda n: (not n.isupper(), n[0].islower(), n))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.int64])
def test_ranges_of_numbers(dtype: Any) -> None:
    @settings(max_examples=50, derandomize=True, database=None)
    @given(tensors(shape=(4,), dtype=dtype, elements="-0.7:2.3"))
    def checks(x: Any) -> None:
        assert all(-0.7 <= value <= 2.3 for value in x.tolist())

    checks()


def test_what_is_no_range() -> None:
    for text in ("1:", "2:1", "a:b", "0:inf", "1:2:3"):
        with pytest.raises(ValueError, match="low:high"):
            tensors(elements=text)
    with pytest.raises(ValueError, match="no whole numbers"):
        find(tensors(dtype=torch.int64, elements="0.2:0.8"), lambda t: True)


def test_every_layout_has_a_form_without_dimensions() -> None:
    for layout in strategies.LAYOUTS:
        assert find(tensors(shape=(), layout=layout), lambda t: True).shape == ()


def test_sizes_may_be_strategies() -> None:
    assert smallest(tensors(shape=(st.integers(2, 3), 2, "n")), lambda t: True).shape == (2, 2, 1)
