"""Tensors made of numbers, sequences, ndarrays, sizes and ranges."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minitorch as torch

Call = Callable[[Any], Any]


class TestTensor:
    @pytest.mark.parametrize(
        ("data", "dtype", "values"),
        [
            (3, torch.int64, 3),
            (2.5, torch.float32, 2.5),
            (True, torch.bool, True),
            ([1, 2.5, True], torch.float32, [1.0, 2.5, 1.0]),
            ([True, 2], torch.int64, [1, 2]),
            ([], torch.float32, []),
            ([[], []], torch.float32, [[], []]),
            (((1, 2), [3, 4]), torch.int64, [[1, 2], [3, 4]]),
            (range(3), torch.int64, [0, 1, 2]),
            (bytearray(b"ab"), torch.int64, [97, 98]),
            (np.array([1.5]), torch.float64, [1.5]),
            (np.array([1], np.int8), torch.int8, [1]),
            (np.float64(2), torch.float64, 2.0),
            ([np.float32(2), 1], torch.float32, [2.0, 1.0]),
            ([np.float64(2), 1.5], torch.float64, [2.0, 1.5]),
            ([np.int32(2)], torch.int32, [2]),
            ([np.array([1, 2]), [3, 4]], torch.int64, [[1, 2], [3, 4]]),
            ([torch.tensor(1.0), torch.tensor(2)], torch.float32, [1.0, 2.0]),
            ([torch.tensor([1.0]), 2], torch.float32, [1.0, 2.0]),
            (1e40, torch.float32, float("inf")),
        ],
    )
    def test_dtype_and_values(self, data: Any, dtype: Any, values: Any) -> None:
        x = torch.tensor(data)
        assert x.dtype is dtype
        assert x.tolist() == values

    def test_the_default_dtype(self) -> None:
        torch.set_default_dtype(torch.float64)
        try:
            assert torch.tensor([1.5]).dtype is torch.float64
            assert torch.zeros(1).dtype is torch.float64
            assert torch.arange(1.0).dtype is torch.float64
        finally:
            torch.set_default_dtype(torch.float32)

    @pytest.mark.parametrize(
        ("data", "dtype", "values"),
        [
            ([2.7, -2.7], torch.int64, [2, -2]),
            ([-1, 255], torch.uint8, [255, 255]),
            ([1, 0], torch.bool, [True, False]),
            ([1e40], torch.float16, [float("inf")]),
            ([1, 2], float, [1.0, 2.0]),
        ],
    )
    def test_a_dtype_that_is_asked_for(self, data: Any, dtype: Any, values: Any) -> None:
        assert torch.tensor(data, dtype=dtype).tolist() == values

    @pytest.mark.parametrize(
        ("data", "dtype", "error", "message"),
        [
            ([[1, 2], [3]], None, ValueError, r"expected sequence of length 2 at dim 1 \(got 1\)"),
            ([[1], [3, 4]], None, ValueError, r"expected sequence of length 1 at dim 1 \(got 2\)"),
            ([np.ones(2), np.ones(3)], None, ValueError, r"expected sequence of length 2 at dim 1 \(got 3\)"),
            ([1, [2]], None, TypeError, "list"),
            ([[1], 2], None, TypeError, "not a sequence"),
            ("a", None, TypeError, "invalid data type 'str'"),
            ([1, "a"], None, TypeError, "invalid data type 'str'"),
            (None, None, RuntimeError, "Could not infer dtype of NoneType"),
            ([1.5, None], None, RuntimeError, "Could not infer dtype of NoneType"),
            ({1, 2}, None, RuntimeError, "Could not infer dtype of set"),
            (1j, None, TypeError, "complex"),
            (2**63, None, ValueError, "Overflow"),
            ([300], torch.uint8, RuntimeError, "uint8 without overflow"),
            (float("nan"), torch.int64, RuntimeError, "int64 without overflow"),
            ([torch.ones(2), torch.ones(2)], None, ValueError, "only one element tensors"),
            (np.array(["a"]), None, TypeError, "can't convert np.ndarray"),
            (np.array([1], ">i4"), None, ValueError, "byte order"),
            (np.arange(3)[::-1], None, ValueError, "negative"),
        ],
    )
    def test_errors(self, data: Any, dtype: Any, error: type[Exception], message: str) -> None:
        with pytest.raises(error, match=message):
            torch.tensor(data, dtype=dtype)

    def test_it_is_a_copy(self) -> None:
        array = np.zeros(2)
        x = torch.tensor(array)
        array[0] = 1
        assert x.tolist() == [0.0, 0.0]

    def test_of_a_tensor(self) -> None:
        source = torch.ones(2, requires_grad=True)
        with pytest.warns(UserWarning, match=r"detach\(\).clone\(\)"):
            x = torch.tensor(source)
        assert not x.requires_grad
        assert x.data_ptr() != source.data_ptr()

    def test_requires_grad(self) -> None:
        assert torch.tensor([1.0], requires_grad=True).is_leaf
        with pytest.raises(
            RuntimeError, match="Only Tensors of floating point and complex dtype can require gradients"
        ):
            torch.tensor([1], requires_grad=True)

    def test_other_devices(self) -> None:
        assert torch.tensor(1, device="cpu:0").item() == 1
        with pytest.raises(AssertionError, match="CUDA"):
            torch.tensor(1, device="cuda")
        with pytest.raises(RuntimeError, match="pin_memory"):
            torch.tensor(1, pin_memory=True)

    @given(
        st.recursive(
            st.integers(-(2**63), 2**63 - 1), lambda item: st.lists(item, min_size=2, max_size=2), max_leaves=8
        )
    )
    def test_nested_lists_come_back(self, data: Any) -> None:
        try:
            array = np.array(data)
        except ValueError:
            with pytest.raises((ValueError, TypeError)):
                torch.tensor(data)
        else:
            assert torch.tensor(data).tolist() == array.tolist() == data


class TestSharing:
    def test_from_numpy(self) -> None:
        array = np.array([1.0, 2.0])
        x = torch.from_numpy(array)
        array[0] = 5
        x[1] = 7
        assert x.tolist() == array.tolist() == [5.0, 7.0]
        assert np.shares_memory(x.numpy(), array)
        array.shape = (2, 1)  # the array is the user's, its shape too
        assert x.shape == (2,)

    @pytest.mark.parametrize(
        ("array", "error", "message"),
        [
            ([1], TypeError, r"expected np.ndarray \(got list\)"),
            (np.float64(1), TypeError, r"expected np.ndarray \(got float64\)"),
            (np.arange(3)[::-1], ValueError, "negative"),
            (np.array([1], ">i4"), ValueError, "byte order"),
            (np.array([1], np.longdouble), TypeError, "can't convert"),
            (np.zeros(3, "i4,i1")["f0"], ValueError, "multiple of the element byte size"),
        ],
    )
    def test_from_numpy_refuses(self, array: Any, error: type[Exception], message: str) -> None:
        with pytest.raises(error, match=message):
            torch.from_numpy(array)

    def test_from_numpy_of_memory_that_cannot_be_written(self) -> None:
        with pytest.warns(UserWarning, match="not writable"):
            x = torch.from_numpy(np.broadcast_to(np.ones(1), (3,)))
        assert x.tolist() == [1.0, 1.0, 1.0]

    def test_as_tensor(self) -> None:
        array, x = np.zeros(2), torch.ones(2, requires_grad=True)
        assert torch.as_tensor(x) is x
        assert torch.as_tensor(array).data_ptr() == array.ctypes.data
        assert torch.as_tensor(array, dtype=torch.float32).dtype is torch.float32
        assert torch.as_tensor(x, dtype=torch.float64).grad_fn.name() == "ToCopyBackward0"
        assert torch.as_tensor([1, 2]).tolist() == [1, 2]

    def test_asarray(self) -> None:
        array, x = np.zeros(2), torch.ones(2, requires_grad=True)
        assert torch.asarray(x) is x
        assert not torch.asarray(x, requires_grad=False).requires_grad
        assert torch.asarray(array).data_ptr() == array.ctypes.data
        assert torch.asarray(array, copy=True).data_ptr() != array.ctypes.data
        assert torch.asarray(bytearray([1, 0, 2, 0]), dtype=torch.int16).tolist() == [1, 2]
        assert torch.asarray([1.5], requires_grad=True).requires_grad
        with pytest.raises(ValueError, match="can't alias arbitrary sequence"):
            torch.asarray([1], copy=False)
        with pytest.raises(ValueError, match="can't alias tensor with dtype 'Double' into dtype 'Float'"):
            torch.asarray(array, copy=False, dtype=torch.float32)

    def test_dlpack(self) -> None:
        array, x = np.arange(3), torch.ones(2)
        assert torch.from_dlpack(array).data_ptr() == array.ctypes.data
        assert torch.from_dlpack(x).data_ptr() == x.data_ptr()
        assert np.from_dlpack(x).tolist() == [1.0, 1.0]
        with pytest.raises(BufferError, match="require gradient"):
            x.requires_grad_().__dlpack__()
        with pytest.raises(RuntimeError, match="__dlpack__"):
            torch.from_dlpack([1])

    def test_frombuffer(self) -> None:
        buffer = bytearray([1, 0, 2, 0, 3, 0])
        x = torch.frombuffer(buffer, dtype=torch.int16, count=2, offset=2)
        assert x.tolist() == [2, 3]
        x[0] = 9
        assert buffer[2] == 9


FACTORIES: list[Call] = [
    lambda t: t.zeros(2, 3),
    lambda t: t.zeros((2, 3)),
    lambda t: t.zeros([2, 3]),
    lambda t: t.zeros(size=(2, 3)),
    lambda t: t.zeros(t.Size([2, 3])),
    lambda t: t.zeros(t.tensor(2), np.int64(3)),
    lambda t: t.zeros(2, 3, out=t.empty(0)),
    lambda t: t.zeros(2, 3, layout=t.strided, device=t.device("cpu"), pin_memory=False, dtype=None),
    lambda t: t.empty(2, 3, memory_format=t.contiguous_format).fill_(0),
    lambda t: t.full((2, 3), 0.0),
    lambda t: t.zeros_like(t.ones(2, 3, requires_grad=True)),
    lambda t: t.ones(2, dtype=t.float64).new_zeros(2, 3, dtype=t.float32),
    lambda t: t.ones(1).new_full((2, 3), 0),
]


@pytest.mark.parametrize("call", FACTORIES)
def test_forms_of_factories(call: Call) -> None:
    x = call(torch)
    assert x.dtype is torch.float32
    assert x.tolist() == [[0.0] * 3] * 2
    assert not x.requires_grad


class TestFactories:
    def test_scalars(self) -> None:
        assert torch.zeros(()).item() == 0.0
        assert torch.scalar_tensor(3).dtype is torch.float32
        assert torch.full((), 2).dtype is torch.int64

    def test_full_infers_its_dtype(self) -> None:
        assert torch.full((2,), True).dtype is torch.bool
        assert torch.full((2,), 1.5).dtype is torch.float32
        assert torch.full((2,), torch.tensor(3)).tolist() == [3, 3]
        assert torch.full((2,), -1, dtype=torch.uint8).tolist() == [255, 255]
        assert torch.full((2,), 1.5, dtype=torch.int64).tolist() == [1, 1]

    def test_eye(self) -> None:
        assert torch.eye(2).tolist() == [[1.0, 0.0], [0.0, 1.0]]
        assert torch.eye(2, 1, dtype=torch.int64).tolist() == [[1], [0]]

    def test_like_keeps_dtype_and_order_in_memory(self) -> None:
        x = torch.zeros(2, 3, dtype=torch.float64).mT
        assert torch.ones_like(x).stride() == (1, 3)
        assert torch.ones_like(x, memory_format=torch.contiguous_format).stride() == (2, 1)
        assert torch.full_like(torch.tensor([1, 2]), 2.5).tolist() == [2, 2]
        assert torch.empty_like(x, dtype=torch.int32).dtype is torch.int32
        assert torch.zeros_like(x, requires_grad=True).requires_grad

    def test_new(self) -> None:
        x = torch.tensor([1, 2], dtype=torch.int32)
        assert x.new_tensor([1.7]).tolist() == [1]
        assert x.new_ones((2,)).dtype is torch.int32
        assert x.new_empty(2, 3).shape == (2, 3)
        assert x.new_zeros(2, dtype=torch.float32, requires_grad=True).requires_grad
        assert x.new([1, 2]).dtype is torch.int32

    def test_out(self) -> None:
        out = torch.ones(6)
        version = out._version
        assert torch.zeros(2, 3, out=out) is out
        assert out.shape == (2, 3)
        assert out._version > version
        with pytest.raises(RuntimeError, match=r"dtype Long does not match dtype of out parameter \(Float\)"):
            torch.zeros(2, out=torch.empty(2), dtype=torch.int64)

    @pytest.mark.parametrize(
        ("call", "error", "message"),
        [
            (lambda: torch.zeros(), TypeError, 'missing 1 required positional arguments: "size"'),
            (lambda: torch.zeros(2.0), TypeError, "tuple of ints.*float"),
            (lambda: torch.zeros("a"), TypeError, "tuple of ints.*str"),
            (lambda: torch.zeros(True), TypeError, "bool"),
            (lambda: torch.zeros(2, (3,)), TypeError, "tuple"),
            (lambda: torch.ones(-1), RuntimeError, "negative dimension -1"),
            (lambda: torch.zeros(2, foo=1), TypeError, r"zeros\(\) got an unexpected keyword argument 'foo'"),
            (lambda: torch.zeros(2, dtype="float32"), TypeError, "torch.dtype"),
            (
                lambda: torch.zeros(2, dtype=torch.int32, requires_grad=True),
                RuntimeError,
                "Only Tensors of floating point",
            ),
            (lambda: torch.zeros(2, dtype=torch.bfloat16), TypeError, "bfloat16 is not supported"),
            (lambda: torch.zeros(2, layout=torch.sparse_coo), NotImplementedError, "sparse_coo"),
            (lambda: torch.full(2, 3), TypeError, "tuple of ints, not int"),
            (lambda: torch.full((2,), "a"), TypeError, "must be Number, not str"),
            (lambda: torch.full((2,), 300, dtype=torch.uint8), RuntimeError, "without overflow"),
            (lambda: torch.full((2,), 1e40), RuntimeError, "without overflow"),
            (lambda: torch.full((2,), torch.ones((), requires_grad=True)), TypeError, "Number"),
            (lambda: torch.zeros_like([1]), TypeError, "must be Tensor, not list"),
            (lambda: torch.eye(-1), RuntimeError, "greater or equal to 0"),
            (lambda: torch.eye(2.0), TypeError, "must be int, not float"),
            (lambda: torch.arange(5, 1), RuntimeError, "inconsistent with step sign"),
            (lambda: torch.arange(1, 5, 0), RuntimeError, "step must be nonzero"),
            (lambda: torch.arange(0, float("inf")), RuntimeError, "unsupported range"),
            (lambda: torch.arange(2**63), RuntimeError, "overflow"),
            (lambda: torch.arange(), TypeError, "missing 1 required argument: 'end'"),
            (lambda: torch.linspace(0, 1e39, 3), RuntimeError, "without overflow"),
            (lambda: torch.arange("a"), TypeError, "must be Number, not str"),
            (lambda: torch.arange(3, dtype=torch.bool), NotImplementedError, "arange_cpu"),
            (lambda: torch.arange(3, requires_grad=True), RuntimeError, "Only Tensors of floating point"),
            (lambda: torch.linspace(0, 1, -1), RuntimeError, "non-negative"),
            (lambda: torch.linspace(torch.ones(2), 1, 5), RuntimeError, "0-dimensional start and end"),
            (lambda: torch.zeros(size=9), TypeError, "'size' must be tuple of ints, not int"),
            (lambda: torch.ones(2, size=(3,)), TypeError, "multiple values for argument 'size'"),
            (lambda: torch.linspace(0, 1, 2.0), TypeError, "must be int, not float"),
        ],
    )
    def test_errors(self, call: Callable[[], Any], error: type[Exception], message: str) -> None:
        with pytest.raises(error, match=message):
            call()

    def test_inference_mode(self) -> None:
        with torch.inference_mode():
            made = [torch.zeros(2), torch.arange(3), torch.tensor([1.0]), torch.rand(2), torch.from_numpy(np.ones(2))]
        assert all([x.is_inference() for x in made])


class TestRanges:
    @pytest.mark.parametrize(
        ("args", "dtype", "values"),
        [
            ((3,), torch.int64, [0, 1, 2]),
            ((3.0,), torch.float32, [0.0, 1.0, 2.0]),
            ((1, 5, 2), torch.int64, [1, 3]),
            ((5, 1, -2), torch.int64, [5, 3]),
            ((1, 2, 0.5), torch.float32, [1.0, 1.5]),
            ((0,), torch.int64, []),
            ((True,), torch.int64, [0]),
        ],
    )
    def test_arange(self, args: Any, dtype: Any, values: Any) -> None:
        x = torch.arange(*args)
        assert x.dtype is dtype
        assert x.tolist() == values

    def test_arange_by_keyword(self) -> None:
        assert torch.arange(start=1, end=4).tolist() == [1, 2, 3]
        assert torch.arange(end=3).tolist() == [0, 1, 2]
        assert torch.arange(torch.tensor(3)).tolist() == [0, 1, 2]
        assert torch.arange(2.7, dtype=torch.int64).tolist() == [0, 1]

    def test_range_is_deprecated_and_includes_its_end(self) -> None:
        with pytest.warns(UserWarning, match="deprecated"):
            assert torch.range(1, 3, 0.5).tolist() == [1.0, 1.5, 2.0, 2.5, 3.0]

    def test_linspace(self) -> None:
        assert torch.linspace(0, 1, 5).tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
        assert torch.linspace(3, 10, 1).tolist() == [3.0]
        assert torch.linspace(0, 1, 0).shape == (0,)
        assert torch.linspace(-10, 10, 4, dtype=torch.int32).tolist() == [-10, -3, 3, 10]
        assert torch.linspace(torch.tensor(0.0), 1, steps=2, requires_grad=True).requires_grad

    def test_logspace(self) -> None:
        assert torch.logspace(0, 2, 3).tolist() == [1.0, 10.0, 100.0]
        assert torch.logspace(0, 2, 3, base=2).tolist() == [1.0, 2.0, 4.0]
        np.testing.assert_array_equal(torch.logspace(0, 2, 5, base=-2).numpy(), [1, np.nan, -2, np.nan, 4])

    @given(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3), st.integers(2, 50))
    def test_linspace_is_the_same_from_both_ends(self, start: float, end: float, steps: int) -> None:
        there = torch.linspace(start, end, steps, dtype=torch.float64)
        back = torch.linspace(end, start, steps, dtype=torch.float64)
        assert there[0].item() == start
        assert there[-1].item() == end
        np.testing.assert_allclose(there.numpy(), back.numpy()[::-1], rtol=0, atol=1e-12)

    @given(st.integers(-50, 50), st.integers(-50, 50), st.integers(1, 7))
    def test_arange_is_python_range(self, start: int, end: int, step: int) -> None:
        low, high = sorted((start, end))
        assert torch.arange(low, high, step).tolist() == list(range(low, high, step))
        assert torch.arange(high, low, -step).tolist() == list(range(high, low, -step))


COMPARED: list[Call] = [
    *FACTORIES,
    lambda t: t.tensor([[1, 2], [3, 4]], dtype=t.int8),
    lambda t: t.tensor([np.float64(2), t.tensor(1.0)]),
    lambda t: t.tensor([[[]]]),
    lambda t: t.tensor([1.5], dtype=t.float64, requires_grad=True),
    lambda t: t.as_tensor(np.float64(3)),
    lambda t: t.full((2,), 3.0, dtype=t.float16),
    lambda t: t.arange(0, 1, 0.1),
    lambda t: t.arange(0.0, 1.0, 0.3, dtype=t.float64),
    lambda t: t.arange(300, dtype=t.uint8),
    lambda t: t.arange(3, out=t.empty(3)),
    lambda t: t.range(0, 3, dtype=t.int64),
    lambda t: t.linspace(-5, 3, 37),
    lambda t: t.linspace(-5.5, 3.2, 7, dtype=t.int64),
    lambda t: t.linspace(0, 1, 17, dtype=t.float16),
    lambda t: t.logspace(-2, 2, 9, dtype=t.float64),
    lambda t: t.logspace(0, 3, 4, dtype=t.int64),
    lambda t: t.eye(3, 2, dtype=t.int64),
    lambda t: t.ones(2).new_tensor(np.ones(2)),
]


@pytest.mark.parametrize("call", COMPARED)
def test_equals_pytorch(call: Call) -> None:
    pytorch = pytest.importorskip("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = call(torch), call(pytorch)
    assert str(ours.dtype) == str(theirs.dtype)
    assert ours.requires_grad == theirs.requires_grad
    np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-6, atol=1e-6)
