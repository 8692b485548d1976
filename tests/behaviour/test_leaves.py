"""Which tensors are leaves, which require gradients, and how tensors leave the graph."""

from __future__ import annotations

import copy
import io
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from backend import torch

FACTORIES: dict[str, Callable[..., Any]] = {
    "tensor": lambda **kw: torch.tensor([1.0, 2.0], **kw),
    "zeros": lambda **kw: torch.zeros(2, **kw),
    "ones": lambda **kw: torch.ones(2, 3, **kw),
    "full": lambda **kw: torch.full((2,), 3.0, **kw),
    "eye": lambda **kw: torch.eye(2, **kw),
    "linspace": lambda **kw: torch.linspace(0, 1, 3, **kw),
    "arange": lambda **kw: torch.arange(3.0, **kw),
    "rand": lambda **kw: torch.rand(2, **kw),
    "randn": lambda **kw: torch.randn(2, 2, **kw),
    "zeros_like": lambda **kw: torch.zeros_like(torch.ones(2), **kw),
    "ones_like": lambda **kw: torch.ones_like(torch.zeros(2), **kw),
    "full_like": lambda **kw: torch.full_like(torch.zeros(2), 5.0, **kw),
    "empty": lambda **kw: torch.empty(2, **kw),
}


class TestLeaves:
    @pytest.mark.parametrize("name", FACTORIES)
    def test_a_factory_makes_a_leaf(self, name: str) -> None:
        for requires_grad in (False, True):
            x = FACTORIES[name](requires_grad=requires_grad)
            assert x.is_leaf
            assert x.requires_grad is requires_grad
            assert x.grad_fn is None
            assert x.grad is None

    def test_factories_do_not_require_grad_unless_asked(self) -> None:
        assert not torch.ones(2).requires_grad
        x = torch.ones(2, requires_grad=True)
        assert not torch.zeros_like(x).requires_grad
        assert not x.new_zeros(2).requires_grad
        assert not torch.from_numpy(np.ones(2)).requires_grad

    @pytest.mark.parametrize(
        "fn",
        [
            lambda x: x + 1,
            lambda x: 2 * x,
            lambda x: x / x,
            lambda x: x**2,
            lambda x: -x,
            lambda x: x.exp(),
            lambda x: x.sum(),
            lambda x: x.mean(dim=0),
            lambda x: x[0],
            lambda x: x.view(-1),
            lambda x: x.t(),
            lambda x: x @ x,
            lambda x: x.clone(),
            lambda x: torch.cat([x, torch.ones(2, 2)]),
            lambda x: torch.stack([torch.ones(2, 2), x]),
            lambda x: torch.where(x > 1, x, torch.zeros(())),
            lambda x: x.max(dim=0)[0],
            lambda x: torch.relu(x),
            lambda x: x.to(torch.float64),
            lambda x: x.unbind(0)[1],
            lambda x: torch.nn.functional.softmax(x, dim=1),
        ],
    )
    def test_a_result_of_a_tensor_that_requires_grad_is_no_leaf(self, fn: Callable[[Any], Any]) -> None:
        y = fn(torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True))
        assert y.requires_grad
        assert not y.is_leaf
        assert y.grad_fn is not None

    @pytest.mark.parametrize("fn", [lambda x: x + 1, lambda x: x.sum(), lambda x: x[0], lambda x: x.view(-1)])
    def test_a_result_of_tensors_that_do_not_require_grad_is_a_leaf(self, fn: Callable[[Any], Any]) -> None:
        y = fn(torch.ones(2, 2))
        assert y.is_leaf
        assert not y.requires_grad
        assert y.grad_fn is None

    def test_one_input_that_requires_grad_is_enough(self) -> None:
        a, b = torch.ones(2), torch.ones(2, requires_grad=True)
        assert (a * b).requires_grad
        assert (b * a).requires_grad
        assert (3.0 - b).requires_grad

    def test_a_computed_leaf_can_be_made_to_require_grad(self) -> None:
        w = (torch.ones(3) * 0.5).requires_grad_()
        assert w.is_leaf
        (w * w).sum().backward()
        assert w.grad.tolist() == [1.0, 1.0, 1.0]


class TestRequiresGrad:
    @pytest.mark.parametrize(
        "make",
        [
            lambda: torch.tensor([1, 2], requires_grad=True),
            lambda: torch.tensor(True, requires_grad=True),
            lambda: torch.zeros(2, dtype=torch.bool, requires_grad=True),
            lambda: torch.ones(2, dtype=torch.int32, requires_grad=True),
            lambda: torch.arange(3, requires_grad=True),
            lambda: torch.tensor([1, 2]).requires_grad_(),
            lambda: setattr(torch.tensor([1, 2]), "requires_grad", True),
            lambda: setattr(torch.tensor([True]), "requires_grad", True),
        ],
    )
    def test_only_floating_point_tensors_can_require_grad(self, make: Callable[[], Any]) -> None:
        with pytest.raises(RuntimeError, match="floating point"):
            make()

    def test_an_integer_tensor_can_be_told_not_to_require_grad(self) -> None:
        x = torch.tensor([1, 2])
        assert x.requires_grad_(False) is x
        x.requires_grad = False
        assert not x.requires_grad

    @pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
    def test_every_float_dtype_can_require_grad(self, dtype: str) -> None:
        x = torch.ones(2, dtype=getattr(torch, dtype), requires_grad=True)
        (x * 2).sum().backward()
        assert x.grad.dtype == x.dtype

    def test_the_method_returns_its_tensor(self) -> None:
        x = torch.ones(2)
        assert x.requires_grad_() is x
        assert x.requires_grad
        assert x.requires_grad_(False) is x
        assert not x.requires_grad

    def test_a_leaf_can_be_frozen_and_thawed(self) -> None:
        x, w = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
        w.requires_grad = False
        (x * w).sum().backward()
        assert w.grad is None
        assert x.grad.tolist() == [1.0, 1.0]
        w.requires_grad = True
        (x * w).sum().backward()
        assert w.grad.tolist() == [1.0, 1.0]

    def test_a_leaf_frozen_after_the_forward_pass_gets_no_gradient(self) -> None:
        x, w = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
        y = (x * w).sum()
        w.requires_grad_(False)
        y.backward()
        assert w.grad is None
        assert x.grad.tolist() == [1.0, 1.0]

    @pytest.mark.parametrize("flag", [True, False])
    def test_the_flag_of_a_result_cannot_be_assigned(self, flag: bool) -> None:
        y = torch.ones(2, requires_grad=True) * 2
        with pytest.raises(RuntimeError, match="you can only change requires_grad flags of leaf variables"):
            y.requires_grad = flag
        assert y.requires_grad

    def test_the_method_on_a_result(self) -> None:
        y = torch.ones(2, requires_grad=True) * 2
        assert y.requires_grad_() is y
        assert y.requires_grad_(True) is y
        assert not y.is_leaf
        with pytest.raises(RuntimeError, match="you can only change requires_grad flags of leaf variables"):
            y.requires_grad_(False)


class TestDetach:
    def test_a_detached_tensor_is_a_leaf_without_grad(self) -> None:
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        for source in (x, x * 2):
            d = source.detach()
            assert d is not source
            assert d.is_leaf
            assert not d.requires_grad
            assert d.grad_fn is None
            assert d.tolist() == source.tolist()

    def test_it_shares_storage_and_the_version_counter(self) -> None:
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        d = x.detach()
        assert d.data_ptr() == x.data_ptr()
        assert (x._version, d._version) == (0, 0)
        d[0] = 5.0
        assert x.tolist() == [5.0, 2.0]
        assert (x._version, d._version) == (1, 1)
        with torch.no_grad():
            x.mul_(2)
        assert d.tolist() == [10.0, 4.0]
        assert (x._version, d._version) == (2, 2)

    def test_it_stops_the_gradient(self) -> None:
        x = torch.tensor([2.0, 3.0], requires_grad=True)
        (x * x.detach()).sum().backward()
        assert x.grad.tolist() == [2.0, 3.0]

    def test_it_can_start_a_graph_of_its_own(self) -> None:
        x = torch.tensor([2.0], requires_grad=True)
        d = (x * x).detach().requires_grad_()
        (d * 3).sum().backward()
        assert d.grad.tolist() == [3.0]
        assert x.grad is None

    def test_a_clone_of_a_detached_tensor_shares_nothing(self) -> None:
        x = torch.ones(2, requires_grad=True)
        c = x.detach().clone()
        c.add_(1)
        assert x.tolist() == [1.0, 1.0]
        assert x._version == 0

    def test_in_place_it_cuts_the_graph(self) -> None:
        x = torch.ones(2, requires_grad=True)
        y = x * 2
        assert y.detach_() is y
        assert y.is_leaf
        assert not y.requires_grad
        assert y.grad_fn is None
        assert x.requires_grad
        assert x.detach_() is x
        assert not x.requires_grad

    def test_in_place_it_carries_state_over_truncated_steps(self) -> None:
        w = torch.tensor(2.0, requires_grad=True)
        state = torch.tensor(1.0)
        for _ in range(3):
            state = state * w
            state.backward()
            state.detach_()
        assert w.grad.item() == 1.0 + 2.0 + 4.0

    @pytest.mark.parametrize(
        "view", [lambda y: y[0], lambda y: y.view(-1), lambda y: y.t(), lambda y: y.narrow(0, 0, 1)]
    )
    def test_in_place_on_a_view_it_raises(self, view: Callable[[Any], Any]) -> None:
        y = torch.ones(2, 2, requires_grad=True) * 2
        with pytest.raises(RuntimeError, match="view"):
            view(y).detach_()

    def test_data_shares_storage_but_not_the_version_counter(self) -> None:
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        data = x.data
        assert not data.requires_grad
        assert data.is_leaf
        data.add_(1)
        assert x.tolist() == [2.0, 3.0]
        assert (x._version, data._version) == (0, 1)
        assert x.data._version == 0

    def test_writes_through_data_go_unnoticed(self) -> None:
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = (x * x).sum()
        x.data[0] = 10.0
        y.backward()
        assert x.grad.tolist() == [20.0, 4.0]

    def test_writes_through_detach_are_noticed(self) -> None:
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = (x * x).sum()
        x.detach()[0] = 10.0
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.backward()

    def test_data_can_be_replaced(self) -> None:
        w = torch.zeros(2, requires_grad=True)
        w.data = torch.tensor([3.0, 4.0])
        assert w.requires_grad
        assert w.is_leaf
        (w * w).sum().backward()
        assert w.grad.tolist() == [6.0, 8.0]
        w.data -= 0.5 * w.grad
        assert w.tolist() == [0.0, 0.0]


class TestLeavingTheGraph:
    @pytest.mark.parametrize("convert", [lambda t: t.numpy(), np.asarray, lambda t: t.__array__()])
    def test_numpy_needs_a_detached_tensor(self, convert: Callable[[Any], Any]) -> None:
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        for t in (x, x * 2):
            with pytest.raises(RuntimeError, match=r"Can't call numpy\(\) on Tensor that requires grad"):
                convert(t)
            np.testing.assert_array_equal(convert(t.detach()), t.tolist())

    def test_numpy_by_force(self) -> None:
        y = torch.tensor([1.0, 2.0], requires_grad=True) * 2
        np.testing.assert_array_equal(y.numpy(force=True), [2.0, 4.0])

    def test_numpy_of_a_detached_tensor_shares_memory(self) -> None:
        x = torch.ones(2, requires_grad=True)
        x.detach().numpy()[0] = 7.0
        assert x.tolist() == [7.0, 1.0]

    def test_numbers_can_be_read(self) -> None:
        x = torch.tensor([1.5], requires_grad=True)
        y = (x * 2).sum()
        assert y.item() == 3.0
        assert type(y.item()) is float
        assert x.tolist() == [1.5]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a conversion may warn that it leaves the graph
            assert float(y) == 3.0
            assert int(y) == 3
            assert float(x) == 1.5
            assert f"{y.item():.2f}" == "3.00"

    def test_item_needs_one_element(self) -> None:
        assert torch.ones(1, 1, 1).item() == 1.0
        for t in (torch.ones(2), torch.ones(2, requires_grad=True), torch.ones(0)):
            with pytest.raises(RuntimeError):
                t.item()

    @pytest.mark.parametrize("shape", [(2,), (2, 2), (1, 2), (0,)])
    def test_the_truth_of_several_elements_is_ambiguous(self, shape: tuple[int, ...]) -> None:
        t = torch.ones(shape, requires_grad=True)
        with pytest.raises(RuntimeError, match="ambiguous"):
            bool(t)
        with pytest.raises(RuntimeError, match="ambiguous"):
            assert t > 0

    def test_the_truth_of_one_element(self) -> None:
        assert torch.tensor(1.0, requires_grad=True)
        assert not torch.tensor([[0.0]])
        assert torch.tensor([2.0], requires_grad=True) > 1

    def test_a_scalar_cannot_be_iterated(self) -> None:
        x = torch.tensor(1.0, requires_grad=True)
        with pytest.raises(TypeError):
            iter(x)
        with pytest.raises(TypeError):
            list(x)
        with pytest.raises(TypeError):
            len(x)
        with pytest.raises(TypeError):
            tuple(x * 2)

    def test_iteration_is_differentiable(self) -> None:
        x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        a, b, c = x
        (a * b + c).backward()
        assert x.grad.tolist() == [2.0, 1.0, 1.0]


class TestCopies:
    @pytest.mark.parametrize("requires_grad", [True, False])
    def test_deepcopy_keeps_requires_grad(self, requires_grad: bool) -> None:
        x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=requires_grad)
        y = copy.deepcopy(x)
        assert y is not x
        assert y.requires_grad is requires_grad
        assert y.is_leaf
        assert y.dtype == torch.float64
        with torch.no_grad():
            y.add_(1)
        assert x.tolist() == [1.0, 2.0]
        assert x._version == 0

    def test_deepcopy_copies_the_gradient(self) -> None:
        x = torch.ones(2, requires_grad=True)
        (x * 3).sum().backward()
        y = copy.deepcopy(x)
        assert y.grad.tolist() == [3.0, 3.0]
        assert y.grad is not x.grad

    def test_deepcopy_keeps_sharing_within_a_structure(self) -> None:
        x = torch.ones(2, requires_grad=True)
        copied = copy.deepcopy({"a": x, "b": [x]})
        assert copied["a"] is copied["b"][0]
        assert copied["a"] is not x

    def test_deepcopy_keeps_views_of_one_memory_together(self) -> None:
        flat = torch.arange(6.0)
        parts = copy.deepcopy([flat[4:], flat, flat.view(2, 3).t(), flat[:1].expand(2)])
        parts[1][4] = 40.0
        parts[2][0, 0] = -1.0
        assert [part.tolist() for part in parts] == [
            [40.0, 5.0], [-1.0, 1.0, 2.0, 3.0, 40.0, 5.0], [[-1.0, 3.0], [1.0, 40.0], [2.0, 5.0]], [-1.0, -1.0],
        ]  # fmt: skip
        assert [part.stride() for part in parts] == [(1,), (1,), (1, 3), (0,)]
        assert flat.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
        assert copy.deepcopy(torch.from_numpy(np.arange(6.0)[::2])).tolist() == [0.0, 2.0, 4.0]

    def test_deepcopy_of_a_result_raises(self) -> None:
        y = torch.ones(2, requires_grad=True) * 2
        with pytest.raises(RuntimeError, match="graph leaves"):
            copy.deepcopy(y)
        with pytest.raises(RuntimeError, match="graph leaves"):
            copy.deepcopy({"loss": y})
        assert copy.deepcopy(y.detach()).tolist() == [2.0, 2.0]

    def test_deepcopy_of_a_module(self) -> None:
        layer = torch.nn.Linear(2, 1)
        layer.bias.requires_grad_(False)
        twin = copy.deepcopy(layer)
        assert twin.weight.requires_grad
        assert not twin.bias.requires_grad
        assert type(twin.weight) is torch.nn.Parameter
        assert twin.weight.tolist() == layer.weight.tolist()

    @pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
    @pytest.mark.parametrize("requires_grad", [True, False])
    def test_pickle_keeps_requires_grad(self, requires_grad: bool, protocol: int) -> None:
        x = torch.tensor([[1.0, 2.0]], requires_grad=requires_grad)
        y = pickle.loads(pickle.dumps(x, protocol=protocol))
        assert y.requires_grad is requires_grad
        assert y.is_leaf
        assert y.tolist() == [[1.0, 2.0]]
        assert y.dtype == torch.float32

    def test_pickle_in_a_structure(self) -> None:
        state = {"w": torch.ones(2, requires_grad=True), "step": 3, "mask": torch.tensor([True, False])}
        buffer = io.BytesIO()
        pickle.dump(state, buffer)
        buffer.seek(0)
        loaded = pickle.load(buffer)
        assert loaded["w"].requires_grad
        assert loaded["step"] == 3
        assert loaded["mask"].tolist() == [True, False]


class TestRepr:
    def test_leaves(self) -> None:
        assert repr(torch.tensor([1.0, 2.0], requires_grad=True)) == "tensor([1., 2.], requires_grad=True)"
        assert repr(torch.tensor(1.5, requires_grad=True)) == "tensor(1.5000, requires_grad=True)"
        assert repr(torch.tensor([1.0, 2.0])) == "tensor([1., 2.])"
        x = torch.ones(2, dtype=torch.float64, requires_grad=True)
        assert repr(x) == "tensor([1., 1.], dtype=torch.float64, requires_grad=True)"

    def test_parameters(self) -> None:
        p = torch.nn.Parameter(torch.ones(2))
        assert repr(p) == "Parameter containing:\ntensor([1., 1.], requires_grad=True)"

    @pytest.mark.parametrize(
        ("fn", "expected"),
        [
            (lambda x: x * 2, "tensor([2., 4.], grad_fn=<MulBackward0>)"),
            (lambda x: x + 1, "tensor([2., 3.], grad_fn=<AddBackward0>)"),
            (lambda x: x.sum(), "tensor(3., grad_fn=<SumBackward0>)"),
            (lambda x: x.mean(), "tensor(1.5000, grad_fn=<MeanBackward0>)"),
            (lambda x: x.view(2, 1), "tensor([[1.],\n        [2.]], grad_fn=<ViewBackward0>)"),
            (lambda x: (x * 2).detach(), "tensor([2., 4.])"),
        ],
    )
    def test_results(self, fn: Callable[[Any], Any], expected: str) -> None:
        assert repr(fn(torch.tensor([1.0, 2.0], requires_grad=True))) == expected

    def test_formatting_a_result(self) -> None:
        y = torch.tensor(2.0, requires_grad=True) * 2
        assert str(y) == "tensor(4., grad_fn=<MulBackward0>)"
        assert f"{y:.3f}" == "4.000"
        assert f"{y}" == "4.0"
        assert f"{y.reshape(1)}" == "tensor([4.], grad_fn=<ViewBackward0>)"


class TestDiscreteOutputs:
    @pytest.mark.parametrize(
        "fn",
        [
            lambda x: x.argmax(),
            lambda x: x.argmin(dim=0),
            lambda x: x.argsort(),
            lambda x: x > 1,
            lambda x: x <= x.sum(),
            lambda x: x == x,
            lambda x: x != 0,
            lambda x: torch.isnan(x),
            lambda x: torch.isfinite(x),
            lambda x: torch.isclose(x, x),
            lambda x: torch.logical_and(x, x),
            lambda x: x.any(),
            lambda x: x.all(dim=0),
            lambda x: x.nonzero(),
            lambda x: x.long(),
            lambda x: x.to(torch.int32),
            lambda x: x.bool(),
            lambda x: x.max(dim=0)[1],
            lambda x: x.min(dim=0).indices,
            lambda x: x.sort()[1],
            lambda x: x.sort(descending=True).indices,
            lambda x: x.topk(2)[1],
            lambda x: x.median(dim=0).indices,
            lambda x: x.kthvalue(1).indices,
            lambda x: torch.cummax(x, 0).indices,
        ],
    )
    def test_they_never_require_grad(self, fn: Callable[[Any], Any]) -> None:
        out = fn(torch.tensor([1.0, 3.0, 2.0], requires_grad=True))
        assert not out.requires_grad
        assert out.grad_fn is None
        assert not out.is_floating_point()

    @pytest.mark.parametrize(
        "fn",
        [
            lambda x: x.max(dim=0),
            lambda x: x.min(dim=0),
            lambda x: x.sort(),
            lambda x: x.topk(1),
            lambda x: x.median(dim=0),
        ],
    )
    def test_the_values_beside_them_do(self, fn: Callable[[Any], Any]) -> None:
        values, indices = fn(torch.tensor([1.0, 3.0, 2.0], requires_grad=True))
        assert values.requires_grad
        assert not indices.requires_grad

    def test_they_can_select_differentiable_values(self) -> None:
        x = torch.tensor([1.0, 3.0, 2.0], requires_grad=True)
        (x[x.argmax()] * 2 + x[x < 3].sum()).backward()
        assert x.grad.tolist() == [1.0, 2.0, 1.0]
