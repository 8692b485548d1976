"""``Tensor(...)``, ``Variable``, subclasses of Tensor, and the memory behind tensors."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch as torch


class TestTensor:
    def test_of_sizes(self) -> None:
        assert torch.Tensor(2, 3).shape == torch.Tensor(torch.Size([2, 3])).shape == torch.Tensor(size=(2, 3)).shape
        assert torch.Tensor().shape == (0,)
        assert torch.Tensor(np.int64(2)).shape == (2,)

    @pytest.mark.parametrize("data", [[1, 2], (1, 2), range(1, 3), np.array([1, 2]), [torch.tensor(1), 2.0]])
    def test_of_values(self, data: Any) -> None:
        made = torch.Tensor(data)
        assert made.tolist() == [1.0, 2.0]
        assert made.dtype is torch.float32
        assert torch.Tensor(data=data).tolist() == [1.0, 2.0]

    def test_the_default_dtype(self) -> None:
        torch.set_default_dtype(torch.float64)
        try:
            assert torch.Tensor([1]).dtype is torch.Tensor(2).dtype is torch.float64
        finally:
            torch.set_default_dtype(torch.float32)

    def test_of_an_array_shares_its_memory(self) -> None:
        array = np.zeros(2, np.float32)
        torch.Tensor(array)[0] = 5
        assert array.tolist() == [5.0, 0.0]

    def test_of_a_tensor_is_an_alias_of_any_dtype(self) -> None:
        x = torch.ones(2, requires_grad=True)
        assert torch.Tensor(x).grad_fn.name() == "AliasBackward0"
        assert torch.Tensor(torch.tensor([1])).dtype is torch.int64

    @pytest.mark.parametrize(
        ("call", "error", "message"),
        [
            (lambda: torch.Tensor(1.5), TypeError, r"data must be a sequence \(got float\)"),
            (lambda: torch.Tensor("ab"), TypeError, "invalid data type 'str'"),
            (lambda: torch.Tensor(2, "a"), TypeError, r"tuple of ints"),
            (lambda: torch.Tensor([1], dtype=torch.float32), TypeError, "unexpected keyword argument 'dtype'"),
            (lambda: torch.Tensor([[1, 2], [3]]), ValueError, "expected sequence of length 2 at dim 1"),
            (lambda: torch.Tensor([1], device="cuda"), AssertionError, "CUDA"),
        ],
    )
    def test_errors(self, call: Callable[[], Any], error: type[Exception], message: str) -> None:
        with pytest.raises(error, match=message):
            call()


class Plain(torch.Tensor):
    """A subclass without a constructor."""


class Named(torch.Tensor):
    """A subclass with an ``__init__``."""

    def __init__(self, data: Any, label: str = "") -> None:
        self.label = label


class TestSubclasses:
    def test_are_made_like_tensors(self) -> None:
        for made in (Plain([1, 2]), Plain(torch.ones(2)), Plain(2)):
            assert type(made) is Plain
            assert made.shape == (2,)
        assert Named([1, 2], label="a").label == "a"
        assert Named([1, 2], "b").tolist() == [1.0, 2.0]

    def test_are_operands(self) -> None:
        x = torch.tensor([3.0], requires_grad=True)
        (Plain([2.0]) * x + x * Plain([1.0])).sum().backward()
        assert x.grad.tolist() == [3.0]

    def test_are_copied(self) -> None:
        x = Plain([1, 2])
        assert type(pickle.loads(pickle.dumps(x))) is type(copy.deepcopy(x)) is type(copy.copy(x)) is Plain


class TestVariable:
    def test_is_a_detached_tensor(self) -> None:
        x = torch.ones(2, requires_grad=True)
        variable = torch.autograd.Variable(x * 2)
        assert variable.is_leaf
        assert not variable.requires_grad
        assert torch.autograd.Variable(torch.ones(1), requires_grad=True).requires_grad
        assert isinstance(variable, torch.autograd.Variable)
        assert torch.autograd.Variable().shape == (0,)

    def test_errors(self) -> None:
        with pytest.raises(TypeError, match="Variable data has to be a tensor, but got list"):
            torch.autograd.Variable([1])
        with pytest.warns(UserWarning, match="volatile was removed"):
            torch.autograd.Variable(torch.ones(1), volatile=True)


class TestStorage:
    def test_is_the_memory_of_the_whole(self) -> None:
        x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
        part = x.t()[1]
        assert part.storage().tolist() == list(x.storage()) == [1.0, 2.0, 3.0, 4.0]
        assert part.untyped_storage().data_ptr() == x.storage().data_ptr() == x.data_ptr()
        assert len(x.storage()) == x.storage().size() == 4
        assert x.untyped_storage().nbytes() == x.untyped_storage().size() == x.storage().nbytes() == 16
        assert x.storage().dtype is torch.float32
        assert x.storage().element_size() == 4
        assert x.storage().untyped().size() == 16
        assert torch.is_storage(x.storage())
        assert not torch.is_storage(x)

    def test_writes_reach_the_tensors(self) -> None:
        x = torch.zeros(3)
        version = x._version
        x.storage()[1] = 5
        assert x.tolist() == [0.0, 5.0, 0.0]
        assert x._version > version
        x.storage().fill_(2)
        x.storage().copy_(torch.ones(3).storage())
        assert x.tolist() == [1.0, 1.0, 1.0]
        x.storage().clone()[0] = 7
        assert x[0] == 1

    def test_makes_tensors(self) -> None:
        x = torch.ones(2, 2)
        assert torch.FloatTensor(x.storage()).data_ptr() == x.data_ptr()
        with pytest.raises(TypeError, match=r"expected a storage of torch\.int64"):
            torch.LongTensor(x.storage())

    def test_prints(self) -> None:
        storage = torch.ones(2).storage()
        assert repr(storage) == " 1.0\n 1.0\n[torch.storage.TypedStorage(dtype=torch.float32, device=cpu) of size 2]"
        assert repr(storage.untyped()).endswith("[torch.storage.UntypedStorage(device=cpu) of size 8]")
