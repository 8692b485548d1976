"""Datasets and samplers: what they hold, and what they refuse."""

from __future__ import annotations

from typing import Any

import pytest

from backend import torch

data = torch.utils.data


class Letters(data.Dataset):
    def __init__(self, letters: str = "abc") -> None:
        self.letters = letters

    def __getitem__(self, index: Any) -> str:
        return self.letters[index]

    def __len__(self) -> int:
        return len(self.letters)


def test_tensor_dataset() -> None:
    dataset = data.TensorDataset(torch.arange(6).view(3, 2), torch.tensor([1.0, 2.0, 3.0]))
    assert len(dataset) == 3
    a, b = dataset[1]
    assert (a.tolist(), b.item()) == ([2, 3], 2.0)
    assert [t.tolist() for t in dataset[torch.tensor([0, 2])]] == [[[0, 1], [4, 5]], [1.0, 3.0]]
    with pytest.raises(AssertionError, match="Size mismatch"):
        data.TensorDataset(torch.ones(2), torch.ones(3))


def test_sums_subsets_and_stacks() -> None:
    both = Letters("ab") + Letters("cde")
    assert [both[i] for i in range(5)] == list("abcde")
    assert (both[-1], both[-5], len(both), both.cumulative_sizes) == ("e", "a", 5, [2, 5])
    with pytest.raises(ValueError, match="absolute value of index"):
        both[-6]
    with pytest.raises(AssertionError, match="empty"):
        data.ConcatDataset([])
    subset = data.Subset(both, [4, 0])
    assert (subset[0], subset.__getitems__([1, 0]), len(subset)) == ("e", ["a", "e"], 2)
    stacked = data.StackDataset(Letters(), data.Subset(both, [4, 3, 2]))
    assert (stacked[1], stacked.__getitems__([0, 2]), len(stacked)) == (("b", "d"), [("a", "e"), ("c", "c")], 3)
    assert data.StackDataset(x=Letters(), y=Letters()).__getitems__([0]) == [{"x": "a", "y": "a"}]
    for make in (
        lambda: data.StackDataset(Letters(), y=Letters()),
        lambda: data.StackDataset(),
        lambda: data.StackDataset(Letters(), Letters("ab")),
    ):
        with pytest.raises(ValueError, match=r"\w+"):
            make()


def test_a_subset_that_overrides_half_of_it_is_refused() -> None:
    class Loud(data.Subset):
        def __getitem__(self, index: Any) -> Any:
            return super().__getitem__(index).upper()

    with pytest.raises(NotImplementedError, match="__getitems__"):
        Loud(Letters(), [0])


def test_a_dataset_without_items_says_so() -> None:
    with pytest.raises(NotImplementedError, match="__getitem__"):
        data.Dataset()[0]


def test_splits() -> None:
    assert [len(p) for p in data.random_split(range(11), [0.3, 0.3, 0.4])] == [4, 3, 4]
    parts = data.random_split(range(6), [2, 4], generator=torch.Generator().manual_seed(1))
    assert sorted([i for p in parts for i in p.indices]) == list(range(6))
    with pytest.raises(ValueError, match="Sum of input lengths"):
        data.random_split(range(5), [2, 2])
    with pytest.raises(ValueError, match="Fraction at index 0"):
        data.random_split(range(5), [1.5, -0.5])
    with pytest.warns(UserWarning, match="Length of split at index 1 is 0"):
        data.random_split(range(2), [0.9, 0.1])


def test_samplers() -> None:
    assert list(data.SequentialSampler("abc")) == [0, 1, 2]
    assert sorted(data.RandomSampler("abcd")) == [0, 1, 2, 3]
    assert sorted(data.SubsetRandomSampler([5, 7])) == [5, 7]
    assert list(data.BatchSampler(range(5), 2, True)) == [[0, 1], [2, 3]]
    assert [len(data.BatchSampler(range(5), 2, drop)) for drop in (True, False)] == [2, 3]
    assert len(data.WeightedRandomSampler([1.0, 1.0], 5)) == 5
    for make in (
        lambda: data.RandomSampler("ab", num_samples=0),
        lambda: data.RandomSampler(""),
        lambda: data.WeightedRandomSampler([1.0], 0),
        lambda: data.WeightedRandomSampler([[1.0]], 1),
        lambda: data.WeightedRandomSampler([1.0], 1, replacement=2),
        lambda: data.BatchSampler("ab", 0, False),
        lambda: data.BatchSampler("ab", 1, None),
        lambda: data.distributed.DistributedSampler("ab", 2, 2),
    ):
        with pytest.raises(ValueError, match=r"\w+"):
            make()
    with pytest.raises(TypeError, match="replacement"):
        data.RandomSampler("ab", replacement=1)
