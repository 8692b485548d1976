"""The named tuples of functions with several results."""

from __future__ import annotations

import pickle

import pytest

import minitorch as torch


def test_they_look_like_pytorchs() -> None:
    assert repr(torch.max(torch.tensor([[1.0, 3.0]]), 1)) == (
        "torch.return_types.max(\nvalues=tensor([3.]),\nindices=tensor([1]))"
    )
    extremes = torch.aminmax(torch.tensor([1.0, 3.0]))
    assert repr(extremes) == "torch.return_types.aminmax(\nmin=tensor(1.),\nmax=tensor(3.))"


def test_they_are_tuples_with_names() -> None:
    found = torch.sort(torch.tensor([3.0, 1.0]))
    values, indices = found
    assert isinstance(found, tuple)
    assert isinstance(found, torch.return_types.sort)
    assert (found[0], found[1]) == (values, indices) == (found.values, found.indices)
    assert found.n_fields == len(found) == 2


def test_they_are_made_from_a_sequence_and_pickled() -> None:
    made = torch.return_types.topk((1, 2))
    assert (made.values, made.indices) == (1, 2)
    assert pickle.loads(pickle.dumps(made)) == made
    with pytest.raises(TypeError, match="takes a 2-sequence"):
        torch.return_types.topk((1, 2, 3))
