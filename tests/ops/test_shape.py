"""Views, windows, and rearranged copies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minitorch as torch
from minitorch import Tensor, static


def arange(*shape: int) -> Any:
    return torch.arange(int(np.prod(shape))).reshape(shape)


def leaf(*shape: int) -> Any:
    return torch.from_numpy(np.arange(float(np.prod(shape))).reshape(shape)).requires_grad_()


def gradient_of(function: Callable[[Any], Any], *shape: int) -> Any:
    x = leaf(*shape)
    function(x).sum().backward()
    return x.grad.tolist()


class TestSizes:
    def test_view_and_reshape_take_sizes_in_every_form(self) -> None:
        x = arange(6)
        for y in (
            x.view(2, 3),
            x.view((2, 3)),
            x.view([2, -1]),
            x.view(size=(2, 3)),
            x.reshape(2, 3),
            x.reshape(shape=(-1, 3)),
        ):
            assert y.tolist() == [[0, 1, 2], [3, 4, 5]]
            assert y._base is not None
        assert torch.reshape(x, (3, 2)).shape == (3, 2)
        assert torch.arange(1).view(1, 1).reshape(()).tolist() == 0
        assert torch.zeros(0, 3).view(-1, 3).shape == (0, 3)

    def test_reshape_copies_only_what_is_not_viewable(self) -> None:
        x = arange(2, 3, 2)
        assert x.transpose(0, 1).reshape(3, 4)._base is None
        assert x.transpose(1, 2).reshape(2, 3, 2)._base is None
        assert x.transpose(1, 2).reshape(2, 2, 3, 1)._base is x._base
        assert x.permute(2, 1, 0).reshape(-1).tolist() == [0, 6, 2, 8, 4, 10, 1, 7, 3, 9, 5, 11]

    @pytest.mark.parametrize(
        ("call", "error", "message"),
        [
            (lambda x: x.view(4), RuntimeError, r"shape '\[4\]' is invalid for input of size 6"),
            (lambda x: x.reshape(4), RuntimeError, r"shape '\[4\]' is invalid for input of size 6"),
            (lambda x: x.t().reshape(4), RuntimeError, r"shape '\[4\]' is invalid for input of size 6"),
            (lambda x: x.view(-1, -1), RuntimeError, "only one dimension can be inferred"),
            (lambda x: x.t().view(6), RuntimeError, "view size is not compatible with input tensor's size and stride"),
            (lambda x: x.view(), TypeError, "missing 1 required"),
            (lambda x: x.view((2.0, 3)), TypeError, "float"),
            (lambda x: x[:0].view(-1, 0), RuntimeError, "ambiguous"),
            (lambda x: x.unflatten(0, (3, 2)), RuntimeError, "don't multiply up to the size of dim 0"),
            (lambda x: x.flatten(1, 0), RuntimeError, "start_dim cannot come after end_dim"),
            (
                lambda x: x.expand(3, 3),
                RuntimeError,
                r"expanded size of the tensor \(3\) must match the existing size \(2\)",
            ),
            (lambda x: x.expand(3), RuntimeError, "number of sizes provided"),
            (lambda x: x.expand(-1, 2, 3), RuntimeError, "isn't allowed in a leading, non-existing dimension 0"),
            (lambda x: x.squeeze(2), IndexError, r"range of \[-2, 1\], but got 2"),
            (lambda x: x.unsqueeze(3), IndexError, r"range of \[-3, 2\], but got 3"),
            (lambda x: x.transpose(0, 2), IndexError, "Dimension out of range"),
            (lambda x: x.transpose("a", 0), TypeError, "str"),
            (lambda x: x.permute(0), RuntimeError, "does not match the length of the desired ordering"),
            (lambda x: x.permute(0, 0), RuntimeError, "multiple times"),
            (lambda x: x.permute(0, 2), IndexError, "Dimension out of range"),
            (lambda x: x.unsqueeze(0).t(), RuntimeError, "expects a tensor with <= 2 dimensions"),
            (lambda x: x[0].mT, RuntimeError, "only supported on matrices"),
            (lambda x: x.movedim((0,), (0, 1)), RuntimeError, "same number of dims"),
            (lambda x: x.movedim((0, 0), (0, 1)), RuntimeError, "repeated dim in `source`"),
            (lambda x: x.diagonal(0, 1, 1), RuntimeError, "identical"),
            (lambda x: x.unfold(0, 3, 1), RuntimeError, "maximum size for tensor at dimension 0 is 2 but size is 3"),
            (lambda x: x.unfold(0, 1, 0), RuntimeError, "step is 0 but must be > 0"),
            (lambda x: x.as_strided((7,), (1,)), RuntimeError, "out of bounds for storage"),
            (lambda x: x.as_strided((2,), (-1,)), RuntimeError, "Negative strides"),
            (lambda x: x.repeat(2), RuntimeError, "can not be smaller"),
            (lambda x: x.repeat(2, -1), RuntimeError, "negative dimension"),
            (lambda x: x.flip(0, -2), RuntimeError, "multiple times"),
            (lambda x: x.roll((1, 2), 0), RuntimeError, "must align"),
            (lambda x: x.rot90(1, (0, 0)), RuntimeError, "rotation dims to be different"),
            (lambda x: x[0].tril(), RuntimeError, "at least 2 dimensions"),
            (lambda x: x[0].trace(), RuntimeError, "expected a matrix"),
            (lambda x: torch.diag(x[None]), RuntimeError, "Supports 1D or 2D"),
            (lambda x: torch.broadcast_shapes((2,), (3,)), RuntimeError, "broadcast"),
            (lambda x: x.repeat_interleave(torch.tensor([1, 2, 3]), 0), RuntimeError, "same size as input along dim"),
        ],
    )
    def test_what_does_not_fit(self, call: Callable[[Any], Any], error: type[Exception], message: str) -> None:
        with pytest.raises(error, match=message):
            call(arange(2, 3))

    def test_flatten_ravel_unflatten(self) -> None:
        x = arange(2, 3, 2)
        assert x.flatten(1).shape == (2, 6)
        assert x.flatten(-2, -1).shape == (2, 6)
        assert x.flatten(1, 1) is x
        assert torch.tensor(1).flatten().tolist() == [1]
        assert x.ravel().shape == (12,)
        assert x.unflatten(1, (3, -1)).shape == (2, 3, 1, 2)

    def test_view_as_another_dtype_shares_memory(self) -> None:
        x = torch.zeros(2, 3)
        bits = x.view(torch.int32)
        assert bits.dtype == torch.int32
        bits += 1
        assert (x._version, bool((x.numpy() > 0).all())) == (1, True)

    def test_expand(self) -> None:
        x = arange(2, 1)
        assert x.expand(3, -1, 2).tolist() == [[[0, 0], [1, 1]]] * 3
        assert x.expand(2, 1).add_(1).tolist() == [[1], [2]]
        with pytest.raises(RuntimeError, match="more than one element"):
            x.expand(2, 2).add_(1)
        assert torch.broadcast_tensors(torch.zeros(2, 1), torch.zeros(3))[1].shape == (2, 3)
        assert [t.shape for t in torch.atleast_2d(torch.tensor(1), torch.ones(2))] == [(1, 1), (1, 2)]
        assert gradient_of(lambda x: x.expand(3, 2) * x, 1, 2) == [[0.0, 6.0]]

    def test_dimensions_of_size_1(self) -> None:
        x = torch.zeros(1, 3, 1)
        assert x.squeeze().shape == (3,)
        assert (x.squeeze(1).shape, x.squeeze(-1).shape, x.squeeze((0, 2)).shape) == ((1, 3, 1), (1, 3), (3,))
        assert x.unsqueeze(-2).shape == (1, 3, 1, 1)
        assert torch.tensor(1.0).squeeze(0).shape == ()


class TestOrder:
    def test_transposes(self) -> None:
        x = arange(2, 3)
        turned = [[0, 3], [1, 4], [2, 5]]
        for y in (
            x.t(),
            x.T,
            x.mT,
            x.H,
            x.transpose(0, 1),
            x.swapaxes(-1, 0),
            x.permute(1, 0),
            torch.permute(x, dims=(-1, 0)),
        ):
            assert y.tolist() == turned
            assert y._base is x._base
        assert arange(2, 3, 4).movedim((0, -1), (-1, 0)).shape == (4, 3, 2)
        assert torch.tensor(1).transpose(0, -1).tolist() == 1

    def test_adjoint_needs_matrices(self) -> None:
        assert arange(2, 3).adjoint().shape == (3, 2)
        assert torch.tensor(2.0).adjoint().item() == 2.0
        with pytest.raises(RuntimeError, match="only supported on matrices"):
            arange(2).adjoint()

    @pytest.mark.parametrize(
        "function",
        [
            lambda x: torch.cat([x, x]),
            lambda x: torch.stack([x, x], 1),
            lambda x: x.roll(1, 0),
            lambda x: x.masked_fill(x > 3, 0),
            lambda x: x.masked_fill(x > 3, torch.tensor(0.0)),
            lambda x: x.cumsum(0),
            lambda x: x.cumprod(1),
            lambda x: x.long().cumsum(1),
            lambda x: torch.nn.functional.one_hot(x.long()),
        ],
    )
    def test_results_in_row_major_order(self, function: Callable[[Any], Any]) -> None:
        turned, straight = (
            function(torch.arange(12.0).view(3, 4).t()),
            function(torch.arange(12.0).view(3, 4).t().contiguous()),
        )
        assert turned.is_contiguous()
        assert turned.view(-1).tolist() == straight.flatten().tolist()

    def test_reversing_more_than_two_dimensions_warns(self) -> None:
        with pytest.warns(UserWarning, match="x.T"):
            assert arange(2, 3, 4).T.shape == (4, 3, 2)


class TestInPlace:
    def test_the_tensor_itself_changes_and_keeps_its_history(self) -> None:
        y = leaf(2, 3) * 2
        assert y.t_() is y
        assert (y.shape, y._version, y._base) == ((3, 2), 1, None)
        assert y.unsqueeze_(0).squeeze_().transpose_(0, 1).shape == (2, 3)
        assert [
            f(leaf(2, 1, 2) * 1).grad_fn.name()
            for f in (Tensor.squeeze_, lambda t: t.squeeze_(1), lambda t: t.squeeze_((1,)))
        ] == [
            "SqueezeBackward3",
            "SqueezeBackward4",
            "SqueezeBackward5",
        ]

    def test_a_view_stays_a_view(self) -> None:
        base = leaf(2, 3) * 1
        view = base.view(6)
        view.unsqueeze_(1)
        view.mul_(3)
        assert view._base is base
        assert base.tolist() == [[0.0, 3.0, 6.0], [9.0, 12.0, 15.0]]
        assert base.grad_fn.name().endswith("CopySlices")

    def test_leaves_refuse(self) -> None:
        x = leaf(2, 3)
        with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
            x.t_()
        with pytest.raises(RuntimeError, match="a view of a leaf Variable"):
            x[0].unsqueeze_(0)
        with torch.no_grad():
            x.t_()
        (x * 2).sum().backward()
        assert x.grad.shape == (3, 2)

    def test_what_was_saved_before_is_stale(self) -> None:
        y = leaf(2, 3) * 1
        z = y * y
        y.t_()
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            z.sum().backward()

    def test_resize(self) -> None:
        x = torch.arange(4)
        assert x.resize_(2, 1).tolist() == [[0], [1]]
        assert x.resize_as_(torch.zeros(3)).shape == (3,)
        with pytest.raises(RuntimeError, match="cannot resize variables that require grad"):
            leaf(2).resize_(1)


class TestMemory:
    def test_strides_and_offsets(self) -> None:
        x = torch.zeros(3, 4)
        assert (x.stride(), x.stride(-2), x.t().stride()) == ((4, 1), 4, (1, 4))
        assert (x[1:, 2:].storage_offset(), x[1:].t().storage_offset()) == (6, 4)
        assert (x.unsqueeze(1).stride(), x.expand(2, 3, 4).stride()) == ((4, 4, 1), (0, 4, 1))
        assert torch.zeros(2, 0, 3).stride() == (3, 3, 1)

    def test_contiguous(self) -> None:
        x = leaf(2, 3)
        assert x.is_contiguous()
        assert x.contiguous() is x
        assert x.t().contiguous().is_contiguous()
        assert gradient_of(lambda x: x.t().contiguous() * 2, 1, 2) == [[2.0, 2.0]]

    def test_as_strided_shares_the_gradient_of_overlaps(self) -> None:
        assert gradient_of(lambda x: (x * 1).as_strided((2, 3), (1, 1)), 4) == [1.0, 2.0, 2.0, 1.0]
        assert gradient_of(lambda x: (x * 1).expand(2, 2).as_strided((2,), (1,)), 2) == [1.0, 1.0]
        assert gradient_of(lambda x: (x * 1)[2:].as_strided((2,), (1,), 0), 4) == [0.0, 0.0, 0.0, 0.0]

    def test_write_through_as_strided(self) -> None:
        base = leaf(2, 3) * 1
        base.t().as_strided((2,), (4,)).mul_(10)
        assert base.tolist() == [[0.0, 1.0, 2.0], [3.0, 40.0, 5.0]]
        (g,) = torch.autograd.grad(base.sum(), base)
        assert g.tolist() == [[1.0] * 3] * 2

    @given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 4))
    def test_every_element_counts_once_a_window(self, n: int, size: int, step: int) -> None:
        size = min(n, size)
        counts = [sum(start <= i < start + size for start in range(0, n - size + 1, step)) for i in range(n)]
        assert gradient_of(lambda x: x.unfold(0, size, step), n) == counts


class TestCopies:
    def test_repeats(self) -> None:
        x = torch.tensor([1, 2])
        assert x.repeat(2, 2).tolist() == [[1, 2, 1, 2]] * 2
        assert x.repeat(0).shape == (0,)
        assert arange(2, 2).tile(2).tolist() == [[0, 1, 0, 1], [2, 3, 2, 3]]
        assert x.repeat_interleave(2).tolist() == [1, 1, 2, 2]
        assert x.repeat_interleave(torch.tensor([2, 1])).tolist() == [1, 1, 2]
        assert arange(2, 2).repeat_interleave(2, 1).tolist() == [[0, 0, 1, 1], [2, 2, 3, 3]]

    def test_reversed_shifted_rotated(self) -> None:
        x = arange(2, 3)
        assert x.flip(0, 1).tolist() == [[5, 4, 3], [2, 1, 0]]
        assert torch.flip(torch.tensor(3), ()).tolist() == 3
        assert (x.fliplr().tolist(), x.flipud().tolist()) == ([[2, 1, 0], [5, 4, 3]], [[3, 4, 5], [0, 1, 2]])
        assert x.roll(1).tolist() == [[5, 0, 1], [2, 3, 4]]
        assert x.roll(-1, 1).tolist() == [[1, 2, 0], [4, 5, 3]]
        assert x.rot90().tolist() == [[2, 5], [1, 4], [0, 3]]

    def test_triangles(self) -> None:
        x = torch.ones(2, 3)
        assert (x.tril().tolist(), x.triu(1).tolist()) == ([[1, 0, 0], [1, 1, 0]], [[0, 1, 1], [0, 0, 1]])
        assert torch.full((2, 2), float("nan")).triu()[1, 0].item() == 0
        assert torch.triu_indices(2, 3, 1).tolist() == [[0, 0, 1], [1, 2, 2]]
        assert torch.tril_indices(2, 2, dtype=torch.int32).dtype == torch.int32
        assert x.tril_() is x
        assert x.tolist() == [[1, 0, 0], [1, 1, 0]]

    def test_diagonals(self) -> None:
        x = arange(2, 3)
        assert (x.diagonal(1).tolist(), x.diagonal(-1).tolist(), x.diagonal(5).tolist()) == ([1, 5], [3], [])
        assert torch.diag(torch.tensor([1, 2]), 1).tolist() == [[0, 1, 0], [0, 0, 2], [0, 0, 0]]
        assert torch.diag(x)._base is None
        assert torch.diagflat(torch.tensor([[1], [2]])).tolist() == [[1, 0], [0, 2]]
        assert (x.trace().tolist(), x.int().trace().dtype) == (4, torch.int64)


def test_views_against_pytorch() -> None:
    theirs = pytest.importorskip("torch")
    array = np.arange(24.0).reshape(2, 3, 4)
    calls: list[Callable[[Any], Any]] = [
        lambda x: x.view(4, 6),
        lambda x: x.transpose(0, 1).reshape(6, 4),
        lambda x: x.unsqueeze(1).expand(2, 5, 3, 4)[:, 0],
        lambda x: x.permute(2, 0, 1).flatten(1),
        lambda x: x.movedim(-1, 0).diagonal(1, 0, 2),
        lambda x: x.unfold(2, 2, 1).sum(0).unfold(0, 2, 1),
        lambda x: x[:, 1:].as_strided((2, 2, 2), (3, 1, 2)),
        lambda x: x.flip(0, 2).roll((1, -1), (1, 2)).rot90(1, (1, 2)),
        lambda x: x.tril(-1) + x.triu(1),
        lambda x: x[0].repeat(2, 1).repeat_interleave(2, 1),
    ]
    for call in calls:
        a, b = torch.from_numpy(array.copy()).requires_grad_(), theirs.from_numpy(array.copy()).requires_grad_()
        ours, other = call(a * 1), call(b * 1)
        assert (ours.tolist(), ours.stride(), ours.storage_offset()) == (
            other.tolist(),
            other.stride(),
            other.storage_offset(),
        )
        (ours * ours).sum().backward()
        (other * other).sum().backward()
        np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy())


class TestWrongCalls:
    @pytest.mark.parametrize(
        "call",
        [
            lambda x: torch.permute(x, 0),
            lambda x: torch.flip(x, 0),
            lambda x: torch.broadcast_to(x, 3),
            lambda x: x.unflatten(0, 3),
            lambda x: x.as_strided(2, (1,)),
            lambda x: x.movedim(0, (0,)),
            lambda x: x.squeeze(None),
            lambda x: x.squeeze_(None),
            lambda x: x.max(None),
            lambda x: x.min(dim=None),
            lambda x: x.prod(None),
            lambda x: torch.max(x, x, True),
            lambda x: torch.var_mean(x, False, True),
            lambda x: x.contiguous(1),
            lambda x: x.contiguous(memory_format="x"),
            lambda x: x.is_contiguous(memory_format=None),
            lambda x: x.long().repeat_interleave(),
            lambda x: torch.repeat_interleave(x.long(), dim=0),
            lambda x: x.repeat_interleave(2, output_size="x"),
        ],
    )
    def test_type(self, call: Any) -> None:
        with pytest.raises(TypeError):
            call(torch.ones(3))

    def test_output_size(self) -> None:
        x, counts = torch.ones(3, 2), torch.tensor([1, 2, 0])
        assert torch.repeat_interleave(x, counts, 0, output_size=3).shape == (3, 2)
        assert torch.repeat_interleave(counts, output_size=3).tolist() == [0, 1, 1]
        for repeats in (2, counts, torch.tensor([2])):
            with pytest.raises(RuntimeError, match=r"Invalid output_size, expected \d but got 4"):
                torch.repeat_interleave(x, repeats, 0, output_size=4)
        for repeats, error in ((torch.tensor([1, -1, 1]), RuntimeError), (torch.ones(3), NotImplementedError)):
            with pytest.raises(error):
                torch.repeat_interleave(x, repeats, 0)

    def test_methods_take_ints_one_by_one(self) -> None:
        x = torch.tensor([[1, 2], [3, 4]])
        assert x.flip(0, 1).tolist() == [[4, 3], [2, 1]]
        assert x.permute(1, 0).tolist() == [[1, 3], [2, 4]]
        assert torch.ones(3).broadcast_to(2, 3).shape == (2, 3)
        assert torch.ones(3).broadcast_to(3).shape == (3,)

    def test_tensor_split_wants_int64(self) -> None:
        with pytest.raises(RuntimeError, match="dtype long"):
            torch.ones(3).tensor_split(torch.tensor(1.5))


# -- what is expanded, and views of it ---------------------------------------------------------------------------------
SHARED = [
    lambda a: a[:, :1].expand(3, 3).t()[1],
    lambda a: a[:, 1:2].expand(3, 3)[:, 0],
    lambda a: a.t()[1:2].expand(2, 3)[1:, 1:],
    lambda a: a[::2, 1:].unfold(1, 1, 1).expand(4, 2, 2, 1)[2, :, 1],
    lambda a: a[:, :1].expand(3, 2).diagonal(),
]
"""Views whose elements have a place each, though not those of what they are views of."""


@pytest.mark.parametrize("view", SHARED)
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    "change",
    [lambda v: v.mul_(2).add_(1), lambda v: torch.mul(v, 2, out=v).add_(1), lambda v: v.__setitem__(..., v * 2 + 1)],
)
def test_writes_into_parts_of_what_is_expanded(view: Any, compiled: bool, change: Any) -> None:
    function = lambda a: change(view(a))
    if compiled:
        function = static.compile(function, quiet=True)
    for _ in range(2):
        a = torch.arange(9.0).reshape(3, 3).clone()
        expected = [float(n) for n in range(9)]
        for place in view(torch.arange(9).reshape(3, 3)).flatten().tolist():
            expected[place] = 2.0 * place + 1
        function(a)
        assert a.flatten().tolist() == expected


def test_writes_into_what_is_expanded_are_refused() -> None:
    for wide in (torch.ones(3, 1).expand(3, 3), torch.ones(3, 3)[:, :1].expand(3, 3).t()):
        for write in (lambda v: v.add_(1), lambda v: torch.add(v, 1, out=v), lambda v: torch.max(v, v, out=v)):
            with pytest.raises(RuntimeError, match=r"refers to a single memory location\. Please clone\(\)"):
                write(wide)
        assert wide.tolist() == [[1.0] * 3] * 3


def test_memory_of_another_library_may_have_gaps() -> None:
    gaps = np.lib.stride_tricks.as_strided(np.arange(8.0), (2, 2), (32, 16))
    assert torch.from_numpy(gaps)[:, :1].expand(2, 3).tolist() == [[0.0] * 3, [4.0] * 3]


@pytest.mark.filterwarnings("ignore:Tensor.mT is deprecated")
def test_mT_of_no_dimensions_is_the_tensor_in_all_transforms() -> None:
    from minitorch.func import grad, hessian, jacfwd, jvp, linearize, vmap

    x, double = torch.tensor(1.0), lambda x: x.mT * 2
    assert grad(double)(x).item() == jacfwd(double)(x).item() == linearize(double, x)[1](x).item() == 2
    assert hessian(lambda x: x.mT**3)(x).item() == 6
    assert vmap(double)(torch.ones(3)).tolist() == [2, 2, 2]
    assert vmap(vmap(grad(double)))(torch.ones(2, 3)).equal(2 * torch.ones(2, 3))
    assert jvp(vmap(double), (torch.ones(3),), (torch.ones(3),))[1].tolist() == [2, 2, 2]
    leaf = x.clone().requires_grad_()
    leaf.name = "x"
    with torch.autograd.Tape() as tape:
        double(leaf)
    assert str(tape.formula()) == "y = 2*x\ndy/dx = 2"


def test_mT_of_a_vector_is_refused_by_the_name_and_shape_that_people_know() -> None:
    for call in (lambda: torch.ones(3).mT, lambda: torch.func.vmap(lambda x: x.mT)(torch.ones(2, 3))):
        with pytest.raises(RuntimeError, match=r"^tensor\.mT is only supported on matrices .* 1-D .* has shape \(3,\)"):
            call()
