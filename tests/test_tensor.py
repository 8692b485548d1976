"""Tensor's attributes and conversions: numbers, lists, arrays, text, copies, dtypes, devices."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minitorch as torch


def vector(*values: float, requires_grad: bool = False) -> Any:
    return torch.tensor(values, requires_grad=requires_grad)


class Marked(torch.Tensor):
    """A subclass with a required argument, to see that it is not called for copies."""

    def __new__(cls, values: list[float]) -> Any:
        made = torch.Tensor.__new__(cls)
        made._array, made._node, made._alias, made._layout = np.array(values, np.float32), None, None, None
        return made

    def __init__(self, values: list[float]) -> None:
        self.mark = len(values)


class TestAttributes:
    def test_sizes(self) -> None:
        x = torch.zeros(2, 3)
        assert x.shape == x.size() == torch.Size([2, 3])
        assert (x.size(0), x.size(-1), x.size(dim=1)) == (2, 3, 3)
        assert x.dim() == x.ndim == x.ndimension() == 2
        assert x.numel() == x.nelement() == torch.numel(x) == 6
        assert x.is_same_size(torch.ones(2, 3))
        with pytest.raises(IndexError, match=r"range of \[-2, 1\], but got 5"):
            x.size(5)
        with pytest.raises(IndexError, match="no dimensions"):
            torch.tensor(1).size(0)

    def test_memory(self) -> None:
        x = torch.zeros(2, 3)
        assert (x.element_size(), x.itemsize, x.nbytes) == (4, 4, 24)
        assert x[1].data_ptr() - x.data_ptr() == 12

    def test_where_it_is(self) -> None:
        x = torch.zeros(2)
        assert x.device == torch.device("cpu")
        assert x.get_device() == -1
        assert x.layout is torch.strided
        assert not any([x.is_cuda, x.is_sparse, x.is_quantized, x.is_meta, x.is_pinned(), x.is_shared()])

    def test_kinds(self) -> None:
        x, i = torch.zeros(2), torch.tensor([1], dtype=torch.uint8)
        assert x.is_floating_point()
        assert torch.is_floating_point(x)
        assert not i.is_floating_point()
        assert x.is_signed()
        assert not i.is_signed()
        assert not torch.is_complex(x)
        assert torch.is_tensor(x)
        assert not torch.is_tensor([1])
        assert x.real is x.conj() is x
        with pytest.raises(RuntimeError, match="imag"):
            _ = x.imag
        with pytest.raises(TypeError, match=r"numel\(\): argument 'input' \(position 1\) must be Tensor, not int"):
            torch.numel(3)
        with pytest.raises(TypeError, match="complex"):
            torch.complex(x, x)


class TestNumbers:
    def test_item(self) -> None:
        assert torch.tensor([[2.5]]).item() == 2.5
        assert type(torch.tensor(3).item()) is int
        assert torch.tensor(True).item() is True
        assert vector(1.0, requires_grad=True)[0].item() == 1.0
        with pytest.raises(RuntimeError, match="a Tensor with 2 elements cannot be converted to Scalar"):
            vector(1, 2).item()
        with pytest.raises(RuntimeError, match="a Tensor with 0 elements"):
            vector().item()

    def test_tolist(self) -> None:
        assert torch.tensor([[1, 2], [3, 4]]).tolist() == [[1, 2], [3, 4]]
        assert torch.tensor(2.5).tolist() == 2.5
        assert torch.zeros(2, 0).tolist() == [[], []]
        assert vector(1.0, requires_grad=True).tolist() == [1.0]

    def test_truth(self) -> None:
        assert torch.tensor(2.5)
        assert not torch.tensor([[0]])
        assert torch.tensor(float("nan"))
        with pytest.raises(RuntimeError, match="Boolean value of Tensor with more than one value is ambiguous"):
            bool(vector(1, 2))
        with pytest.raises(RuntimeError, match="Boolean value of Tensor with no values is ambiguous"):
            bool(vector())
        with pytest.raises(RuntimeError, match="ambiguous"):
            torch.is_nonzero(vector(1, 2))

    def test_python_numbers(self) -> None:
        x = torch.tensor([2.5])
        assert (int(x), float(x), complex(x)) == (2, 2.5, 2.5 + 0j)
        assert "%d" % x == "2"  # noqa: UP031
        with pytest.raises(ValueError, match="only one element tensors can be converted to Python scalars"):
            float(vector(1, 2))
        with pytest.raises(ValueError, match="NaN"):
            int(torch.tensor(float("nan")))
        with pytest.warns(UserWarning, match="requires_grad=True to a scalar"):
            assert float(vector(1.5, requires_grad=True)) == 1.5

    def test_index(self) -> None:
        assert [1, 2, 3][torch.tensor(1)] == 2
        assert list(range(torch.tensor([3]))) == [0, 1, 2]
        assert [1, 2][torch.tensor(True)] == 2
        for wrong in (torch.tensor(1.0), torch.tensor([1, 2])):
            with pytest.raises(TypeError, match="only integer tensors of a single element"):
                [1, 2, 3][wrong]


class TestSequences:
    def test_length_and_iteration(self) -> None:
        x = torch.tensor([[1, 2], [3, 4]])
        assert len(x) == 2
        assert [row.tolist() for row in x] == [[1, 2], [3, 4]]
        with pytest.raises(TypeError, match=r"len\(\) of a 0-d tensor"):
            len(torch.tensor(1))
        with pytest.raises(TypeError, match="iteration over a 0-d tensor"):
            iter(torch.tensor(1))

    def test_iteration_is_unbind(self) -> None:
        a, b = vector(1.0, 2.0, requires_grad=True)
        assert a.grad_fn is b.grad_fn
        assert a.grad_fn.name() == "UnbindBackward0"

    def test_contains(self) -> None:
        x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
        assert 3 in x
        assert 5 not in x
        assert torch.tensor([9.0, 2.0]) in x
        assert 300 not in torch.tensor([44], dtype=torch.uint8)
        for wrong in ("a", [1], None):
            with pytest.raises(RuntimeError, match="only supports Tensor or scalar"):
                wrong in x  # noqa: B015
        with pytest.raises(RuntimeError, match="size of tensor a"):
            torch.ones(3) in x  # noqa: B015

    def test_hash_is_identity(self) -> None:
        x, y = torch.ones(2), torch.ones(2)
        assert {x: 1}[x] == 1
        assert len({x, x, y}) == 2


class TestText:
    def test_format(self) -> None:
        x = torch.tensor(2.5)
        assert f"{x:.2f}" == "2.50"
        assert f"{x}" == "2.5"
        assert f"{torch.tensor(3):03d}" == "003"
        assert f"{vector(1.0)}" == "tensor([1.])"
        with pytest.raises(TypeError, match="unsupported format string passed to Tensor"):
            f"{vector(1.0):.2f}"

    def test_repr(self) -> None:
        x = vector(1.0, 2.0, requires_grad=True)
        assert repr(x) == str(x) == "tensor([1., 2.], requires_grad=True)"
        assert repr(x * 2) == "tensor([2., 4.], grad_fn=<MulBackward0>)"
        assert repr(x.detach().double()) == "tensor([1., 2.], dtype=torch.float64)"
        assert repr(x.unbind()[0]) == "tensor(1., grad_fn=<UnbindBackward0>)"
        assert repr(Marked([1.0])) == "Marked([1.])"


class TestArrays:
    def test_numpy_shares_memory(self) -> None:
        x = vector(1.0, 2.0)
        x.numpy()[0] = 5
        np.asarray(x)[1] = 6
        assert x.tolist() == [5.0, 6.0]
        assert np.array(x) is not x.numpy()

    def test_what_requires_grad_is_refused(self) -> None:
        x = vector(1.0, requires_grad=True)
        for call in (x.numpy, (x * 2).numpy, x.__array__, lambda: np.asarray(x)):
            with pytest.raises(RuntimeError, match=r"Can't call numpy\(\) on Tensor that requires grad"):
                call()
        assert x.numpy(force=True).tolist() == x.detach().numpy().tolist() == [1.0]

    def test_array_protocol(self) -> None:
        x = vector(1.5)
        assert np.asarray(x, dtype=np.int64).tolist() == [1]
        assert np.shares_memory(np.array(x, copy=False), x.numpy())
        x.numpy().shape = (1, 1)
        assert x.shape == (1,)
        with pytest.raises(ValueError, match="avoid copy"):
            np.array(x, dtype=np.float64, copy=False)


class TestCopies:
    def test_deepcopy(self) -> None:
        x = vector(1.0, 2.0, requires_grad=True)
        (x * 3).sum().backward()
        x.note = ["a"]
        twin, again = copy.deepcopy([x, x])
        assert twin is again
        assert twin.requires_grad
        assert twin.is_leaf
        assert (twin.grad.tolist(), twin.note) == ([3.0, 3.0], ["a"])
        assert twin.grad is not x.grad
        assert twin.note is not x.note
        assert twin.data_ptr() != x.data_ptr()

    def test_deepcopy_keeps_the_order_in_memory(self) -> None:
        assert copy.deepcopy(torch.zeros(2, 3).mT).stride() == (1, 3)

    def test_deepcopy_of_a_result(self) -> None:
        with pytest.raises(RuntimeError, match=r"\(graph leaves\) support the deepcopy protocol"):
            copy.deepcopy(vector(1.0, requires_grad=True) * 2)

    def test_copy_shares_memory(self) -> None:
        x = vector(1.0, requires_grad=True)
        twin = copy.copy(x)
        assert twin is not x
        assert twin.requires_grad
        assert twin.data_ptr() == x.data_ptr()

    @pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
    def test_pickle(self, protocol: int) -> None:
        x = vector(1.0, requires_grad=True)
        x.note = "a"
        sources = [x, torch.zeros(2, 3, dtype=torch.float64).mT, torch.tensor(True), torch.ones(1).expand(3)]
        twins = pickle.loads(pickle.dumps(sources, protocol))
        for source, twin in zip(sources, twins):
            assert (twin.dtype, twin.shape, twin.requires_grad) == (source.dtype, source.shape, source.requires_grad)
            assert twin.tolist() == source.tolist()
        assert twins[0].note == "a"
        assert twins[1].stride() == (1, 3)

    def test_a_pickled_tensor_is_alike_to_others(self) -> None:
        twin = pickle.loads(pickle.dumps(vector(1.0, 2.0)))
        assert twin._array.dtype is np.dtype(np.float32)

    @pytest.mark.parametrize("remake", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
    def test_a_subclass_stays_one(self, remake: Callable[[Any], Any]) -> None:
        twin = remake(Marked([1.0, 2.0]))
        assert type(twin) is Marked
        assert twin.mark == 2
        assert twin.tolist() == [1.0, 2.0]


class TestDtypes:
    @pytest.mark.parametrize(
        ("method", "dtype"),
        [
            ("double", torch.float64),
            ("float", torch.float32),
            ("half", torch.float16),
            ("long", torch.int64),
            ("int", torch.int32),
            ("short", torch.int16),
            ("char", torch.int8),
            ("byte", torch.uint8),
            ("bool", torch.bool),
        ],
    )
    def test_methods_named_after_dtypes(self, method: str, dtype: Any) -> None:
        x = getattr(torch.tensor([1.0, 0.0], dtype=torch.float64), method)()
        assert x.dtype is dtype
        assert x.tolist() == [1, 0]
        assert getattr(x, method)() is x

    @pytest.mark.parametrize(
        ("call", "dtype"),
        [
            (lambda x: x.to(torch.float64), torch.float64),
            (lambda x: x.to(float), torch.float64),
            (lambda x: x.to("cpu", torch.int64), torch.int64),
            (lambda x: x.to(device="cpu", dtype=torch.int64), torch.int64),
            (lambda x: x.to(torch.device("cpu"), torch.int32, non_blocking=True, copy=True), torch.int32),
            (lambda x: x.to(torch.tensor(1)), torch.int64),
            (lambda x: x.to(torch.float64, True, True), torch.float64),
            (lambda x: x.to("cpu", None, True, True), torch.float32),
            (lambda x: x.type("torch.LongTensor"), torch.int64),
            (lambda x: x.type(torch.LongTensor), torch.int64),
            (lambda x: x.type(torch.float64), torch.float64),
            (lambda x: x.type_as(torch.tensor(1)), torch.int64),
        ],
    )
    def test_forms_of_to(self, call: Callable[[Any], Any], dtype: Any) -> None:
        x = torch.ones(2)
        y = call(x)
        assert y.dtype is dtype
        assert y.tolist() == [1, 1]
        assert y is not x

    def test_nothing_to_do(self) -> None:
        x = torch.ones(2)
        for same in (x.to("cpu"), x.to(torch.float32), x.to(), x.to(x), x.cpu(), x.type("torch.FloatTensor")):
            assert same is x
        assert x.to(torch.float32, copy=True) is not x

    def test_gradients(self) -> None:
        x = torch.ones(2, requires_grad=True)
        x.to(torch.float64).sum().backward()
        assert x.grad.dtype is torch.float32
        assert x.grad.tolist() == [1.0, 1.0]
        assert not x.long().requires_grad

    def test_what_is_out_of_range_wraps(self) -> None:
        assert torch.tensor([300.0, -1.0]).byte().tolist() == [44, 255]
        assert torch.tensor([300, -1]).byte().tolist() == [44, 255]

    @pytest.mark.parametrize(
        ("call", "error", "message"),
        [
            (lambda x: x.to("cuda"), AssertionError, "CUDA"),
            (lambda x: x.cuda(), AssertionError, "Torch not compiled with CUDA enabled"),
            (lambda x: x.cuda(0), RuntimeError, "accelerator"),
            (lambda x: x.to(0), RuntimeError, "accelerator"),
            (lambda x: x.to("foo"), RuntimeError, "device string: foo"),
            (lambda x: x.to("float32"), RuntimeError, "device string: float32"),
            (lambda x: x.to(foo=1), TypeError, "foo"),
            (lambda x: x.to("cpu", torch.int64, True, True, 1), TypeError, "invalid combination"),
            (lambda x: x.to(torch.bfloat16), TypeError, "bfloat16 is not supported"),
            (lambda x: x.bfloat16(), TypeError, "bfloat16 is not supported"),
            (lambda x: x.type("foo"), ValueError, "invalid type: 'foo'"),
            (lambda x: x.pin_memory(), RuntimeError, "accelerator"),
        ],
    )
    def test_errors(self, call: Callable[[Any], Any], error: type[Exception], message: str) -> None:
        with pytest.raises(error, match=message):
            call(torch.ones(2))

    def test_type_names(self) -> None:
        assert torch.ones(2).type() == torch.typename(torch.ones(2)) == "torch.FloatTensor"
        assert torch.tensor(1).type() == "torch.LongTensor"
        assert torch.typename(3) == "int"


class TestOldConstructors:
    def test_of_values(self) -> None:
        assert torch.FloatTensor([1, 2]).tolist() == [1.0, 2.0]
        assert torch.LongTensor([1.7]).tolist() == [1]
        assert torch.BoolTensor([1, 0]).tolist() == [True, False]
        assert torch.FloatTensor(np.ones(2)).dtype is torch.float32

    def test_of_sizes(self) -> None:
        assert torch.FloatTensor(2, 3).shape == (2, 3)
        assert torch.LongTensor(torch.Size([2])).shape == (2,)
        assert torch.DoubleTensor().shape == (0,)
        assert torch.IntTensor(size=(2,)).dtype is torch.int32

    def test_isinstance(self) -> None:
        assert isinstance(torch.ones(2), torch.FloatTensor)
        assert not isinstance(torch.ones(2), torch.LongTensor)
        assert not isinstance(2, torch.LongTensor)

    def test_errors(self) -> None:
        with pytest.raises(TypeError, match=r"data must be a sequence \(got float\)"):
            torch.FloatTensor(5.5)
        with pytest.raises(TypeError, match="invalid data type 'str'"):
            torch.FloatTensor("a")
        with pytest.raises(TypeError, match=r"expected a tensor of torch.float32, but got torch.int64"):
            torch.FloatTensor(torch.tensor([1]))


@given(st.lists(st.floats(width=32, allow_nan=False), max_size=20))
def test_numbers_come_back(values: list[float]) -> None:
    x = torch.tensor(values)
    assert x.tolist() == values
    assert torch.from_numpy(x.numpy()).tolist() == values
    assert pickle.loads(pickle.dumps(x)).tolist() == values


CONVERSIONS: list[Callable[[Any, Any], Any]] = [
    lambda t, x: x.to(t.int64),
    lambda t, x: x.to(t.uint8),
    lambda t, x: x.to(t.int8),
    lambda t, x: x.to(t.int16),
    lambda t, x: x.to(t.float16),
    lambda t, x: x.to(t.bool),
    lambda t, x: x.long().to(t.uint8),
    lambda t, x: x.double().float(),
    lambda t, x: x.type(t.IntTensor),
]


@pytest.mark.parametrize("convert", CONVERSIONS)
def test_conversions_equal_pytorch(convert: Callable[[Any, Any], Any]) -> None:
    pytorch = pytest.importorskip("torch")
    values = [[0.0, 1.5, -2.7], [200.3, -130.0, 1000.0]]
    ours, theirs = convert(torch, torch.tensor(values)), convert(pytorch, pytorch.tensor(values))
    assert str(ours.dtype) == str(theirs.dtype)
    assert ours.tolist() == theirs.tolist()


def test_text_equals_pytorch() -> None:
    pytorch = pytest.importorskip("torch")
    for make in (
        lambda t: t.tensor([1.5, 2], requires_grad=True),
        lambda t: t.tensor([1.5, 2], requires_grad=True) * 2,
        lambda t: t.tensor(3),
        lambda t: t.zeros(2, 0),
        lambda t: t.ones(2, 2, dtype=t.float64),
        lambda t: t.tensor([1.0, 2.0], requires_grad=True).unbind()[1],
        lambda t: t.device("cuda", 1),
        lambda t: t.Size([2, 3]),
        lambda t: t.float32,
    ):
        assert repr(make(torch)) == repr(make(pytorch))
        assert str(make(torch)) == str(make(pytorch))
        assert f"{make(torch)}" == f"{make(pytorch)}"
