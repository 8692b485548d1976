"""Functions that read a tensor's values in Python: a program is made for those values, and tells when they are other ones."""

from __future__ import annotations

from typing import Any

import pytest

import minitorch as torch
from minitorch import nn, static

rnn = nn.utils.rnn
T = torch.tensor
sparse_coo_tensor: Any = torch.sparse_coo_tensor
X = torch.arange(1.0, 5.0)
ONES = torch.ones(4, 2, 1)


def packed_and_padded(x: Any, lengths: Any) -> Any:
    return rnn.pad_packed_sequence(rnn.pack_padded_sequence(x, lengths, enforce_sorted=False), total_length=4)


CASES: dict[str, tuple[Any, Any, Any]] = {
    "pack": (lambda n: packed_and_padded(ONES, n)[0], T([4, 4]), T([3, 2])),
    "pack, both results": (lambda n: packed_and_padded(ONES, n), T([4, 3]), T([2, 3])),
    "pad": (lambda n: rnn.pad_packed_sequence(rnn.PackedSequence(X, n), total_length=4), T([2, 2]), T([3, 1])),
    "unpad": (lambda n: [part.sum() for part in rnn.unpad_sequence(ONES, n)], T([4, 4]), T([3, 2])),
    "invert_permutation": (rnn.invert_permutation, T([0, 1, 2]), T([1, 2, 0])),
    "tensor_split": (lambda n: [part.sum() for part in torch.tensor_split(X, n)], T([1, 2]), T([1, 3])),
    "tensor_split, how many": (lambda n: torch.tensor_split(X, n)[0].sum(), T(2), T(4)),
    "tensordot": (lambda n: torch.tensordot(X.view(2, 2), X.view(2, 2), n), T([[0], [0]]), T([[0], [1]])),
    "sparse_coo_tensor": (lambda n: sparse_coo_tensor(n, X[:2]).to_dense(), T([[0, 2]]), T([[0, 3]])),
    "max_unpool1d": (
        lambda n: nn.functional.max_unpool1d(X.view(1, 4), n, 2),
        T([[0, 2, 4, 6]]),
        T([[1, 3, 5, 7]]),
    ),
    "histogram": (lambda x: tuple(torch.histogram(x, 3)), X, X**2),
    "repeat_interleave": (lambda n: torch.repeat_interleave(X[:2], n, output_size=4), T([2, 2]), T([3, 1])),
    "embedding_bag": (
        lambda n: nn.functional.embedding_bag(T([0, 1, 2]), torch.arange(6.0).view(3, 2), n),
        T([0, 1]),
        T([0, 2]),
    ),
    "take_along_dim": (lambda n: torch.take_along_dim(X, n, 0), T([0, 1]), T([-1, 1])),
    "linspace": (lambda n: torch.linspace(T(0.0), n, 3), T(1.0), T(2.0)),
    "nan_to_num": (lambda n: torch.nan_to_num(T([float("nan")]), nan=n), T(1.0), T(2.0)),
    "pad, how much": (lambda n: nn.functional.pad(X, (0, n)).sum() + n, T(1), T(2)),
}


@pytest.mark.parametrize("name", CASES)
def test_other_values_give_other_results(name: str) -> None:
    function, first, second = CASES[name]
    program = static.compile(function, quiet=True)
    for given in (first, first, first, first, second, first):
        assert repr(program(given)) == repr(function(given))
    assert repr(function(first)) != repr(function(second))
