"""Subscripts and their assignment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import minitorch
from indexing import MASK, arange, chain, gradient, tensor, values


class TestSubscripts:
    @pytest.mark.parametrize(
        ("read", "shape", "nodes"),
        [
            (lambda x: x[0], (3, 4), ["Select"]),
            (lambda x: x[-1, 1], (4,), ["Select", "Select"]),
            (lambda x: x[1:], (1, 3, 4), ["Slice"]),
            (lambda x: x[:], (2, 3, 4), ["Slice"]),
            (lambda x: x[:, :], (2, 3, 4), ["Alias"]),
            (lambda x: x[...], (2, 3, 4), ["Alias"]),
            (lambda x: x[()], (2, 3, 4), ["Alias"]),
            (lambda x: x[:, 1], (2, 4), ["Select"]),
            (lambda x: x[..., ::2], (2, 3, 2), ["Slice"]),
            (lambda x: x[0, ..., 1], (3,), ["Select", "Select"]),
            (lambda x: x[None], (1, 2, 3, 4), ["Unsqueeze"]),
            (lambda x: x[True], (1, 2, 3, 4), ["Index", "Unsqueeze"]),
            (lambda x: x[False], (0, 2, 3, 4), ["Index", "Unsqueeze"]),
            (lambda x: x[tensor(1)], (3, 4), ["Select"]),
            (lambda x: x[tensor(True)], (1, 2, 3, 4), ["Index", "Unsqueeze"]),
            (lambda x: x[np.int64(1)], (3, 4), ["Select"]),
            (lambda x: x[np.array(1)], (3, 4), ["Select"]),
            (lambda x: x[tensor(1) :], (1, 3, 4), ["Slice"]),
            (lambda x: x[[1, 0, 1]], (3, 3, 4), ["Index"]),
            (lambda x: x[range(2)], (2, 3, 4), ["Index"]),
            (lambda x: x[[]], (0, 3, 4), ["Index"]),
            (lambda x: x[np.array([1, 0])], (2, 3, 4), ["Index"]),
            (lambda x: x[tensor([1, 0], np.int32)], (2, 3, 4), ["Index"]),
            (lambda x: x[0, :, [1, 2]], (3, 2), ["Index", "Select"]),
            (lambda x: x[:, 0, [1, 2]], (2, 2), ["Index", "Select"]),
            (lambda x: x[[0, 1], :, [1, 2]], (2, 3), ["Index"]),
            (lambda x: x[[0, 1], None, [1, 2]], (2, 1, 4), ["Index", "Unsqueeze"]),
            (lambda x: x[tensor(MASK)], (3, 4), ["Index"]),
            (lambda x: x[tensor(MASK), 1:], (3, 3), ["Index", "Slice"]),
            (lambda x: x[tensor(MASK), 1], (3,), ["Index", "Select"]),
            (lambda x: x[:, tensor(MASK[0])], (2, 2, 4), ["Index"]),
            (lambda x: x[[True, False]], (1, 3, 4), ["Index"]),
        ],
    )
    def test_shape_and_nodes(self, read: Callable[[Any], Any], shape: tuple[int, ...], nodes: list[str]) -> None:
        y = read(arange(2, 3, 4))
        assert y._array.shape == shape
        assert chain(y) == [f"{name}Backward0" for name in nodes]

    @pytest.mark.parametrize(
        ("read", "error", "message"),
        [
            (lambda x: x[5], IndexError, "index 5 is out of bounds for dimension 0 with size 2"),
            (lambda x: x[0, 0, 0, 0], IndexError, "too many indices for tensor of dimension 3"),
            (lambda x: x[[5]], IndexError, "index 5 is out of bounds for dimension 0 with size 2"),
            (lambda x: x[:, [-4]], IndexError, "index -4 is out of bounds for dimension 1 with size 3"),
            (lambda x: x[[0, 1], [0, 1, 2]], IndexError, "indexing tensors could not be broadcast together"),
            (lambda x: x[1.0], IndexError, r"only integers, slices .* are valid indices \(got float\)"),
            (lambda x: x[np.bool_(True)], IndexError, r"are valid indices \(got numpy.bool\)"),
            (lambda x: x["a"], TypeError, "invalid data type 'str'"),
            (lambda x: x[tensor([1.0])], IndexError, "tensors used as indices must be long, int, byte or bool tensors"),
            (lambda x: x[tensor([1], np.int8)], IndexError, "must be long, int, byte or bool tensors"),
            (lambda x: x[::-1], ValueError, "step must be greater than zero"),
            (lambda x: x[::0], ValueError, "slice step cannot be zero"),
            (lambda x: x[1.5:], TypeError, "slice indices must be integers or None or have an __index__ method"),
            (
                lambda x: x[tensor(MASK[0])],
                IndexError,
                r"The shape of the mask \[3\] at index 0 does not match the shape of the",
            ),
            (lambda x: x[0][0][0][0], IndexError, "invalid index of a 0-dim tensor"),
            (lambda x: x[0][0][0][:], IndexError, r"slice\(\) cannot be applied to a 0-dim tensor"),
            (
                lambda x: x.select(1, 5),
                IndexError,
                r"select\(\): index 5 out of range for tensor of size \[2, 3, 4\] at dimension 1",
            ),
        ],
    )
    def test_errors(self, read: Callable[[Any], Any], error: type[Exception], message: str) -> None:
        with pytest.raises(error, match=message):
            read(arange(2, 3, 4))

    def test_views_share_memory_and_copies_do_not(self) -> None:
        x = arange(2, 3, requires_grad=False)
        for view in (x[0], x[:, 1:], x[None], x[...], x[0, 0]):
            assert view._array.base is not None
            assert np.shares_memory(view._array, x._array)
        for copy in (x[[0, 1]], x[tensor(MASK)], x[True]):
            assert not np.shares_memory(copy._array, x._array)

    def test_old_forms_warn(self) -> None:
        x = arange(2, 3, 4)
        with pytest.warns(UserWarning, match="non-tuple sequence"):
            assert x[[[0, 1], [1, 2]]]._array.shape == (2, 4)
        with pytest.warns(UserWarning, match="torch.uint8 is now deprecated"):
            assert x[tensor([1, 0], np.uint8)]._array.shape == (1, 3, 4)

    def test_gradients_add_up_where_an_index_repeats(self) -> None:
        x = arange(3, 2)
        assert gradient(lambda x: x[[1, 1, -1]], x) == [[0, 0], [4, 6], [5, 6]]
        assert gradient(lambda x: x[[0, 0], [1, 1]], x) == [[0, 3], [0, 0], [0, 0]]
        assert gradient(lambda x: x[x > 2], x) == [[0, 0], [0, 1], [2, 3]]

    def test_saved_indices_are_those_given_and_checked(self) -> None:
        x, index = arange(3, 2), tensor([0, 1])
        y = x[:, index]
        assert y.grad_fn._saved_indices == (None, index)
        index[0] = 1
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()

    @given(st.data())
    def test_equals_numpy_where_both_agree(self, data: st.DataObject) -> None:
        array = np.arange(60.0).reshape(3, 4, 5)
        index = data.draw(hnp.basic_indices(array.shape, allow_newaxis=True).filter(_no_backward_step))
        assert np.array_equal(tensor(array, "f8")[index]._array, array[index])
        index = data.draw(hnp.integer_array_indices(array.shape, result_shape=hnp.array_shapes(max_dims=2, max_side=4)))
        x = tensor(array, "f8", requires_grad=True)
        y = x[index]
        assert np.array_equal(y._array, array[index])
        y.sum().backward()
        expected = np.zeros_like(array)
        np.add.at(expected, index, 1)
        assert np.array_equal(x.grad._array, expected)


def _no_backward_step(index: Any) -> bool:
    parts = index if isinstance(index, tuple) else (index,)
    return all(not isinstance(part, slice) or part.step is None or part.step > 0 for part in parts)


class TestAssignment:
    @pytest.mark.parametrize(
        ("index", "value", "expected", "node", "gradient"),
        [
            (0, 9.0, [[9, 9, 9], [3, 4, 5]], "CopySlices", [[0, 0, 0], [4, 5, 6]]),
            ((slice(None), 1), 9.0, [[0, 9, 2], [3, 9, 5]], "CopySlices", [[1, 0, 3], [4, 0, 6]]),
            (Ellipsis, 9.0, [[9, 9, 9], [9, 9, 9]], "FillBackward3", [[0, 0, 0], [0, 0, 0]]),
            (None, 9.0, [[9, 9, 9], [9, 9, 9]], "CopySlices", [[0, 0, 0], [0, 0, 0]]),
            (True, 9.0, [[9, 9, 9], [9, 9, 9]], "CopySlices", [[0, 0, 0], [0, 0, 0]]),
            (False, 9.0, [[0, 1, 2], [3, 4, 5]], "MulBackward0", [[1, 2, 3], [4, 5, 6]]),
            ([1], 9.0, [[0, 1, 2], [9, 9, 9]], "IndexPutBackward0", [[1, 2, 3], [0, 0, 0]]),
            (([0, 1], [2, 0]), 9.0, [[0, 1, 9], [9, 4, 5]], "IndexPutBackward0", [[1, 2, 0], [0, 5, 6]]),
            ((1, [0, 2]), 9.0, [[0, 1, 2], [9, 4, 9]], "CopySlices", [[1, 2, 3], [0, 5, 0]]),
        ],
    )
    def test_numbers(self, index: Any, value: float, expected: Any, node: str, gradient: Any) -> None:
        x = arange(2, 3)
        y = x * 1.0
        version = y._version
        y[index] = value
        assert values(y) == expected
        assert y._version == version + (index is not False)
        assert type(y.grad_fn).__name__ == node
        (y * (arange(2, 3, requires_grad=False) + 1.0)).sum().backward()
        assert values(x.grad) == gradient

    @pytest.mark.parametrize("index", [0, [0], (slice(0, 1), [0, 1, 2])])
    def test_the_value_gets_its_gradient_summed_over_what_it_was_broadcast_to(self, index: Any) -> None:
        x, v = arange(2, 3), tensor(7.0, requires_grad=True)
        y = x * 1.0
        y[index] = v * 1.0
        y.sum().backward()
        assert values(v.grad) == 3.0
        assert values(x.grad) == [[0, 0, 0], [1, 1, 1]]

    def test_the_edge_of_a_value_leads_to_its_own_node(self) -> None:
        y, v = arange(2, 3) * 1.0, arange(3)
        y[1] = v.select(0, 0)
        assert [node.name() for node, _ in y.grad_fn.next_functions] == ["MulBackward0", "SelectBackward0"]
        y = arange(2, 3) * 1.0
        y[tensor(MASK)] = v * 2.0
        assert [node.name() for node, _ in y.grad_fn.next_functions] == ["MulBackward0", "MulBackward0"]

    def test_chains_write_through_views(self) -> None:
        x = arange(2, 3)
        y = x * 1.0
        y[1:][tensor(MASK[1:])] = 9.0
        y[0][1] = 8.0
        assert values(y) == [[0, 8, 2], [3, 9, 5]]
        y[[0, 0]][0] = 100.0
        assert values(y) == [[0, 8, 2], [3, 9, 5]]
        y.sum().backward()
        assert values(x.grad) == [[1, 0, 1], [1, 0, 1]]

    def test_augmented_assignment_counts_two_writes(self) -> None:
        y = arange(3, requires_grad=False)
        y[0] += 1.0
        assert y._version == 2
        y[tensor([True, False, True])] *= 3.0
        assert values(y) == [3, 1, 6]
        assert y._version == 3

    def test_leading_dimensions_of_size_1_are_dropped(self) -> None:
        for index in (0, [0]):
            y, v = arange(2, 3) * 1.0, tensor(np.ones((1, 1, 3)), requires_grad=True)
            y[index] = v * 1.0
            y.sum().backward()
            assert values(v.grad) == [[[1, 1, 1]]]
        y = arange(2, 3) * 1.0
        y[tensor(MASK)] = tensor([[1.0, 2.0, 3.0]])
        assert values(y) == [[1, 1, 2], [3, 3, 5]]

    def test_converts_numbers_and_tensors(self) -> None:
        y = tensor([0, 0, 0], np.int64)
        y[0], y[1], y[[2]] = 1.7, tensor(2.7), True
        assert values(y) == [1, 2, 1]
        y = tensor([0, 0], np.uint8)
        y[0] = -1
        assert values(y) == [255, 0]
        y, v = tensor([0.0, 0.0]), tensor([1.5], "f8", requires_grad=True)
        y[:1] = v * 1.0
        assert y._array.dtype == np.float32
        y.sum().backward()
        assert v.grad._array.dtype == np.float64

    @pytest.mark.parametrize(
        ("index", "value", "error", "message"),
        [
            (3, 1.0, IndexError, "index 3 is out of bounds for dimension 0 with size 2"),
            ([3], 1.0, IndexError, "index 3 is out of bounds for dimension 0 with size 2"),
            (0, tensor([1.0, 2.0]), RuntimeError, r"shape mismatch: value tensor of shape \[2\] cannot be broadcast"),
            ([0], tensor([1.0, 2.0]), RuntimeError, r"shape mismatch: value tensor of shape \[2\] cannot be broadcast"),
            (MASK, tensor([[1.0] * 3] * 2), RuntimeError, "shape mismatch: value tensor"),
            (
                [0],
                tensor(1.0, "f8"),
                RuntimeError,
                "Index put requires the source and destination dtypes match, got Float",
            ),
            (0, [1.0, 2.0, 3.0], TypeError, "can't assign a list"),
            ([0], np.ones(3), TypeError, "can't assign a ndarray"),
            (0, 3j, RuntimeError, "without overflow"),
            (0, 1e300, RuntimeError, "without overflow"),
            (0, 2**63, ValueError, "Overflow when unpacking long long"),
            (slice(None, None, -1), 1.0, ValueError, "step must be greater than zero"),
        ],
    )
    @pytest.mark.parametrize("recorded", [False, True])
    def test_nothing_changes_when_it_fails(
        self, index: Any, value: Any, error: type[Exception], message: str, recorded: bool
    ) -> None:
        y = arange(2, 3, requires_grad=recorded)
        y = y * 1.0
        node = y.grad_fn
        with pytest.raises(error, match=message):
            y[index] = value
        assert values(y) == [[0, 1, 2], [3, 4, 5]]
        assert y._version == 0
        assert y.grad_fn is node

    def test_leaves_refuse(self) -> None:
        x = arange(2, 3)
        for index in (0, [0], tensor(MASK), ...):
            with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
                x[index] = 1.0
        with minitorch.no_grad():
            x[0] = 1.0
            x[tensor(MASK)] = 2.0
        assert values(x) == [[2, 1, 2], [3, 2, 5]]
        assert x._version == 2

    def test_index_put(self) -> None:
        x, v = arange(3), tensor([1.0, 2.0], requires_grad=True)
        y = x.index_put((tensor([1, 1]),), v, accumulate=True)
        assert values(y) == [0, 4, 2]
        y = (x * 1.0).index_put_((tensor([True, False, True]),), v)
        assert values(y) == [1, 1, 2]
        with pytest.raises(TypeError, match="must be tuple of Tensors, not Tensor"):
            x.index_put(tensor([1]), v)

    @pytest.mark.parametrize("index", [(True, 0), (0, True)])
    def test_a_bool_is_no_index_of_a_tensor_without_dimensions(self, index: Any) -> None:
        with pytest.raises(IndexError, match="too many indices"):
            tensor(5.0)[index]
