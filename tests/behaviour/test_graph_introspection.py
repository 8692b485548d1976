"""Reading the recorded graph: edges, leaves' nodes, saved values, metadata and numbering."""

from __future__ import annotations

import gc
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from backend import torch

graph = torch.autograd.graph
F = torch.nn.functional


def leaf(*values: float) -> Any:
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


def names_of_inputs(tensor: Any) -> list[str | None]:
    """Class names of the nodes that `tensor`'s node leads to."""
    return [None if node is None else type(node).__name__ for node, _ in tensor.grad_fn.next_functions]


def test_next_functions_are_pairs_of_node_and_output_number() -> None:
    a, b = leaf(1.0), leaf(2.0)
    product = a * b
    total = product + a
    edges = total.grad_fn.next_functions
    assert isinstance(edges, tuple)
    assert all(isinstance(edge, tuple) for edge in edges)
    assert edges[0] == (product.grad_fn, 0)
    node, number = edges[1]
    assert type(node).__name__ == "AccumulateGrad"
    assert number == 0


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda a, c: a * c, ["AccumulateGrad", None]),
        (lambda a, c: c * a, [None, "AccumulateGrad"]),
        (lambda a, c: a * a, ["AccumulateGrad", "AccumulateGrad"]),
        (lambda a, c: a * 2, ["AccumulateGrad", None]),
        (lambda a, c: a + 2, ["AccumulateGrad", None]),
        (lambda a, c: a / 2, ["AccumulateGrad", None]),
        (lambda a, c: 1 - a, ["AccumulateGrad"]),
        (lambda a, c: a**2, ["AccumulateGrad"]),
        (lambda a, c: 2**a, ["AccumulateGrad"]),
        (lambda a, c: a**c, ["AccumulateGrad", None]),
        (lambda a, c: a.exp().sum(), ["ExpBackward0"]),
        (lambda a, c: torch.cat([a, c, a * 2]), ["AccumulateGrad", None, "MulBackward0"]),
        (lambda a, c: torch.stack([c, a]), [None, "AccumulateGrad"]),
        (lambda a, c: torch.where(c > 3, a, c), ["AccumulateGrad", None]),
        (lambda a, c: torch.where(c > 3, 0.0, a), [None, "AccumulateGrad"]),
        (lambda a, c: torch.dot(c, a), [None, "AccumulateGrad"]),
        (lambda a, c: torch.lerp(a, c, 0.5), ["AccumulateGrad", None]),
        (lambda a, c: torch.addcmul(c, a, c), [None, "AccumulateGrad", None]),
        (lambda a, c: torch.mv(torch.outer(c, c), a), [None, "AccumulateGrad"]),
        (lambda a, c: F.mse_loss(a, c), ["AccumulateGrad", None]),
        (lambda a, c: a[torch.tensor([0])], ["AccumulateGrad"]),
        (lambda a, c: a.gather(0, torch.tensor([0])), ["AccumulateGrad"]),
    ],
)
def test_inputs_of_a_node(call: Callable[[Any, Any], Any], expected: list[str | None]) -> None:
    assert names_of_inputs(call(leaf(1.0, 2.0), torch.tensor([3.0, 4.0], dtype=torch.float64))) == expected


def test_inputs_after_assignment() -> None:
    y = leaf(1.0, 2.0) * 1
    y[0] = 5.0
    assert names_of_inputs(y) == ["MulBackward0", None]
    y[1] = leaf(1.0)[0]
    assert names_of_inputs(y) == ["CopySlices", "SelectBackward0"]


def test_leaf_has_one_accumulating_node_while_it_is_alive() -> None:
    a = leaf(1.0)
    assert a.grad_fn is None
    y = a * 2
    node = y.grad_fn.next_functions[0][0]
    assert node.variable is a
    assert node.next_functions == ()
    assert node.name() == "torch::autograd::AccumulateGrad"
    assert (a + 1).grad_fn.next_functions[0][0] is node
    assert (a * a).grad_fn.next_functions[1][0] is node
    assert a.expand_as(a).grad_fn.next_functions[0][0] is node
    assert graph.get_gradient_edge(a).node is node


def test_grad_fn_is_the_same_object_each_time() -> None:
    y = leaf(1.0) * 2
    assert y.grad_fn is y.grad_fn
    z = y + 1
    assert z.grad_fn.next_functions[0][0] is y.grad_fn
    assert len({y.grad_fn, y.grad_fn, z.grad_fn}) == 2


def test_output_numbers() -> None:
    a = leaf(1.0, 2.0, 3.0)
    outputs = a.unbind()
    assert [t.output_nr for t in outputs] == [0, 1, 2]
    assert all(t.grad_fn is outputs[0].grad_fn for t in outputs)
    assert [t.output_nr for t in a.split(1)] == [0, 1, 2]
    assert [t.output_nr for t in torch.std_mean(a)] == [0, 1]
    assert a.max(0).values.output_nr == 0
    assert (a.output_nr, (a * 2).output_nr) == (0, 0)
    product = outputs[2] * outputs[1]
    assert product.grad_fn.next_functions == ((outputs[0].grad_fn, 2), (outputs[0].grad_fn, 1))


def test_metadata_belongs_to_the_node() -> None:
    y = leaf(1.0) * 2
    assert y.grad_fn.metadata == {}
    y.grad_fn.metadata["note"] = [1]
    z = y + 1
    del y
    gc.collect()
    node = z.grad_fn.next_functions[0][0]
    assert node.metadata == {"note": [1]}
    assert z.grad_fn.metadata == {}


def test_nodes_of_operations_take_no_other_attributes() -> None:
    node = (leaf(1.0) * 2).grad_fn
    with pytest.raises(AttributeError):
        node.note = 1
    with pytest.raises(AttributeError, match="'MulBackward0' object has no attribute 'note'"):
        _ = node.note


def test_nodes_are_instances_of_node() -> None:
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2

    a = leaf(1.0)
    y = a * 2
    for node in (y.grad_fn, y.grad_fn.next_functions[0][0], Double.apply(a).grad_fn, a.unbind()[0].grad_fn):
        assert isinstance(node, graph.Node)
        assert issubclass(type(node), graph.Node)
    assert not isinstance(a.grad_fn, graph.Node)
    assert not isinstance(a, graph.Node)
    assert type(y.grad_fn) is type((a * a).grad_fn)
    assert type(y.grad_fn) is not type((a + a).grad_fn)


def test_sequence_numbers_rise_in_order_of_recording() -> None:
    a = leaf(1.0, 2.0)
    nodes = [(a + 1).grad_fn, (a * 2).grad_fn, a.exp().grad_fn, a.sum().grad_fn]
    numbers = [node._sequence_nr() for node in nodes]
    assert numbers == sorted(set(numbers))
    leaf_node = nodes[0].next_functions[0][0]
    assert leaf_node._sequence_nr() > numbers[-1]


def test_input_metadata_tells_shape_and_dtype_of_each_output() -> None:
    a = torch.ones(2, 3, requires_grad=True)

    def metadata(tensor: Any) -> list[Any]:
        return [(list(m.shape), m.dtype, str(m.device)) for m in tensor.grad_fn._input_metadata]

    assert metadata(a * 2) == [([2, 3], torch.float32, "cpu")]
    assert metadata(a.sum()) == [([], torch.float32, "cpu")]
    assert metadata(a.double()) == [([2, 3], torch.float64, "cpu")]
    assert metadata(a.unbind()[1]) == [([3], torch.float32, "cpu")] * 2
    assert metadata(torch.std_mean(a, 0)[0]) == [([3], torch.float32, "cpu")] * 2
    leaf_node = (a * 2).grad_fn.next_functions[0][0]
    assert list(leaf_node._input_metadata[0].shape) == [2, 3]


def test_gradient_edges() -> None:
    a = leaf(1.0, 2.0)
    second = (a * 1).unbind()[1]
    edge = graph.get_gradient_edge(second)
    assert edge.node is second.grad_fn
    assert edge.output_nr == 1
    assert graph.GradientEdge(edge.node, edge.output_nr).node is edge.node
    with pytest.raises(RuntimeError, match="not possible to get the gradient edge for a Tensor that does not require"):
        graph.get_gradient_edge(torch.ones(2))


def test_node_may_be_called_with_output_gradients() -> None:
    a, b = leaf(1.0, 2.0), leaf(3.0, 4.0)
    first, second = (a * b).grad_fn(torch.tensor([1.0, 10.0], dtype=torch.float64))
    assert (first.tolist(), second.tolist()) == ([3.0, 40.0], [1.0, 20.0])
    assert a.grad is None


def test_walk_over_the_graph_visits_every_node_once() -> None:
    a, b = leaf(1.0, 2.0), leaf(3.0, 4.0)
    loss = (a * b).sum() + a.exp().mean()
    seen: list[Any] = []
    stack = [loss.grad_fn]
    while stack:
        node = stack.pop()
        if node is not None and node not in seen:
            seen.append(node)
            stack.extend(child for child, _ in node.next_functions)
    assert sorted(type(node).__name__ for node in seen) == [
        "AccumulateGrad",
        "AccumulateGrad",
        "AddBackward0",
        "ExpBackward0",
        "MeanBackward0",
        "MulBackward0",
        "SumBackward0",
    ]
    assert {id(node.variable) for node in seen if hasattr(node, "variable")} == {id(a), id(b)}


def test_no_node_under_no_grad_and_none_for_results_of_constants() -> None:
    a = leaf(1.0)
    with torch.no_grad():
        assert (a * 2).grad_fn is None
    assert (a.detach() * 2).grad_fn is None


def test_repr_shows_the_node() -> None:
    a = leaf(1.0)
    assert "grad_fn=<MulBackward0>" in repr(a * 2)
    assert "grad_fn=<SumBackward0>" in repr((a * 2).sum())
    assert "grad_fn=<UnbindBackward0>" in repr(a.unbind()[0])
    assert "grad_fn" not in repr(a)
    y = a * 2
    y[0] = 1.0
    assert "grad_fn=<CopySlices>" in repr(y)


def test_saved_input_is_the_tensor_itself() -> None:
    a, b = leaf(1.0, 2.0), leaf(3.0, 4.0)
    y = a * 1
    node = (y * b).grad_fn
    assert node._saved_self is y
    assert node._saved_other is b
    assert node._saved_self.grad_fn is y.grad_fn


def test_saved_result_is_a_tensor_with_the_same_node() -> None:
    a = leaf(1.0, 2.0)
    y = a.exp()
    saved = y.grad_fn._saved_result
    assert saved.tolist() == y.tolist()
    assert saved.grad_fn is y.grad_fn
    assert saved.requires_grad
    assert saved is not y


def test_operand_that_no_gradient_needs_is_not_saved() -> None:
    a, c = leaf(1.0, 2.0), torch.tensor([3.0, 4.0], dtype=torch.float64)
    node = (a * c).grad_fn
    assert node._saved_self is None
    assert node._saved_other is c
    node = (c * a).grad_fn
    assert node._saved_self is c
    assert node._saved_other is None
    assert torch.mm(a[None], c[:, None]).grad_fn._saved_self is None


def test_raw_saved_values_exist_for_tensors_only() -> None:
    node = (leaf(1.0) ** 2).grad_fn
    assert hasattr(node, "_raw_saved_self")
    assert not hasattr(node, "_raw_saved_exponent")
    assert not hasattr(node, "_saved_other")


def make_inputs() -> SimpleNamespace:
    x = SimpleNamespace(
        a=leaf(1.0, 2.0), b=leaf(3.0, 4.0), index=torch.tensor([1, 0]), mask=torch.tensor([True, False])
    )
    x.matrix = torch.tensor([[1.0, 2.0], [3.0, 5.0]], dtype=torch.float64, requires_grad=True)
    return x


A, B, MATRIX = [1.0, 2.0], [3.0, 4.0], [[1.0, 2.0], [3.0, 5.0]]

# What a call saves, by attribute name: tensors as nested lists.
SAVED: list[tuple[Callable[[SimpleNamespace], Any], dict[str, Any]]] = [
    (lambda x: x.a + x.b, {"alpha": 1}),
    (lambda x: torch.add(x.a, x.b, alpha=3), {"alpha": 3}),
    (lambda x: x.a - x.b, {"alpha": 1}),
    (lambda x: x.a * x.b, {"self": A, "other": B}),
    (lambda x: x.a / x.b, {"self": A, "other": B}),
    (lambda x: x.a**2, {"self": A, "exponent": 2}),
    (lambda x: x.a**x.b, {"self": A, "exponent": B, "result": [1.0, 16.0]}),
    (lambda x: 2**x.a, {"self": 2, "exponent": A, "result": [2.0, 4.0]}),
    (lambda x: x.a.log(), {"self": A}),
    (lambda x: x.a.sin(), {"self": A}),
    (lambda x: x.a.abs(), {"self": A}),
    (lambda x: (x.b * 3).sqrt(), {"result": [3.0, 12.0**0.5]}),
    (lambda x: x.a.reciprocal(), {"result": [1.0, 0.5]}),
    (lambda x: x.a.relu(), {"result": A}),
    (lambda x: torch.maximum(x.a, x.b), {"self": A, "other": B}),
    (lambda x: torch.where(x.mask, x.a, x.b), {"condition": [True, False]}),
    (lambda x: x.a.clamp(0.5, 1.5), {"self": A, "min": 0.5, "max": 1.5}),
    (lambda x: x.a.clamp(min=1.5), {"self": A, "min": 1.5, "max": None}),
    (lambda x: x.a.masked_fill(x.mask, 0.0), {"mask": [True, False]}),
    (lambda x: torch.lerp(x.a, x.b, 0.5), {"weight": 0.5}),
    (lambda x: torch.addcmul(x.a, x.a, x.b, value=2), {"tensor1": A, "tensor2": B, "value": 2}),
    (lambda x: x.matrix.sum(0), {"dim": (0,), "keepdim": False}),
    (lambda x: x.matrix.sum((0, 1), keepdim=True), {"dim": (0, 1), "keepdim": True}),
    (lambda x: x.matrix.mean(1), {"dim": (1,), "keepdim": False}),
    (lambda x: x.matrix.prod(), {"self": MATRIX}),
    (lambda x: x.a.std(0, correction=0), {"self": A, "result": 0.5, "dim": (0,), "correction": 0, "keepdim": False}),
    (lambda x: x.a.var(0), {"self": A, "dim": (0,), "correction": 1}),
    (lambda x: x.matrix.max(), {"self": MATRIX, "result": 5.0}),
    (lambda x: x.matrix.max(1).values, {"dim": 1, "indices": [1, 1], "keepdim": False}),
    (lambda x: x.matrix.amax(0), {"self": MATRIX, "result": [3.0, 5.0], "dim": (0,), "keepdim": False}),
    (lambda x: x.a.median(0).values, {"dim": 0, "indices": 0}),
    (lambda x: x.a.cumsum(0), {"dim": 0}),
    (lambda x: x.a.cumprod(0), {"dim": 0, "self": A}),
    (lambda x: torch.logsumexp(x.a, 0), {"dim": (0,), "keepdim": False, "self": A}),
    (lambda x: x.a.norm(), {"self": A, "result": 5.0**0.5, "keepdim": False}),
    (lambda x: x.b.sort(0).values, {"dim": 0, "indices": [0, 1]}),
    (lambda x: torch.topk(x.b, 1, 0).values, {"dim": 0, "indices": [1]}),
    (lambda x: x.matrix.softmax(1), {"dim": 1}),
    (lambda x: x.matrix.log_softmax(0), {"dim": 0}),
    (lambda x: x.a.unsqueeze(1), {"dim": 1}),
    (lambda x: x.a[None].squeeze(0), {"dim": 0}),
    (lambda x: x.matrix.transpose(0, 1), {"dim0": 0, "dim1": 1}),
    (lambda x: x.matrix.permute(1, 0), {"dims": (1, 0)}),
    (lambda x: x.matrix.select(1, 0), {"dim": 1, "index": 0}),
    (lambda x: x.matrix[1], {"dim": 0, "index": 1}),
    (lambda x: x.a[0:1], {"dim": 0, "start": 0, "end": 1, "step": 1}),
    (lambda x: x.a[1:], {"dim": 0, "start": 1, "end": 2**63 - 1, "step": 1}),
    (lambda x: x.a.narrow(0, 1, 1), {"dim": 0, "start": 1, "end": 2, "step": 1}),
    (lambda x: x.a[x.index], {"indices": [[1, 0]]}),
    (lambda x: x.matrix[:, x.index], {"indices": [None, [1, 0]]}),
    (lambda x: x.matrix.index_select(1, x.index), {"dim": 1, "index": [1, 0]}),
    (lambda x: x.a.gather(0, x.index), {"dim": 0, "index": [1, 0]}),
    (lambda x: x.a.scatter_add(0, x.index, x.b), {"dim": 0, "index": [1, 0]}),
    (lambda x: x.matrix.diagonal(), {"offset": 0, "dim1": 0, "dim2": 1}),
    (lambda x: x.matrix.tril(), {"diagonal": 0}),
    (lambda x: x.a.flip(0), {"dims": (0,)}),
    (lambda x: x.a.roll(1, 0), {"shifts": (1,), "dims": (0,)}),
    (lambda x: x.a.repeat(2, 1), {"repeats": (2, 1)}),
    (lambda x: torch.cat([x.matrix, x.matrix], 1), {"dim": 1}),
    (lambda x: torch.stack([x.a, x.b], 1), {"dim": 1}),
    (lambda x: x.a.unbind(0)[0], {"dim": 0}),
    (lambda x: x.a.split(1)[0], {"dim": 0, "split_size": 1}),
    (lambda x: x.a.split([1, 1])[0], {"dim": 0, "split_sizes": (1, 1)}),
    (lambda x: torch.mm(x.matrix, x.matrix), {"self": MATRIX, "mat2": MATRIX}),
    (lambda x: torch.mv(x.matrix, x.a), {"self": MATRIX, "vec": A}),
    (lambda x: torch.dot(x.a, x.b), {"self": A, "tensor": B}),
    (lambda x: torch.bmm(x.matrix[None], x.matrix[None]), {"self": [MATRIX], "mat2": [MATRIX]}),
    (
        lambda x: torch.addmm(x.a, x.matrix, x.matrix, beta=0.5),
        {"mat1": MATRIX, "mat2": MATRIX, "alpha": 1, "beta": 0.5},
    ),
    (lambda x: F.leaky_relu(x.a), {"self": A, "negative_slope": 0.01}),
    (lambda x: F.elu(x.a), {"self": A, "alpha": 1.0}),
    (lambda x: F.softplus(x.a), {"self": A, "beta": 1, "threshold": 20}),
    (lambda x: F.gelu(x.a), {"self": A, "approximate": "none"}),
    (lambda x: F.hardtanh(x.a), {"self": A, "min_val": -1.0, "max_val": 1.0}),
    (lambda x: F.pad(x.a, (1, 2)), {"pad": (1, 2)}),
    (lambda x: F.mse_loss(x.a, x.b), {"self": A, "target": B, "reduction": 1}),
    (lambda x: F.mse_loss(x.a, x.b, reduction="sum"), {"self": A, "target": B, "reduction": 2}),
    (
        lambda x: F.layer_norm(x.a, (2,), eps=0.75),
        {"input": A, "normalized_shape": (2,), "weight": None, "result1": [1.5], "result2": [1.0]},
    ),
    (lambda x: F.layer_norm(x.a, (2,), x.b), {"input": A, "weight": B}),
    (
        lambda x: F.batch_norm(x.matrix, None, None, x.b, training=True, eps=3.0),
        {
            "input": MATRIX,
            "weight": B,
            "eps": 3.0,
            "training": True,
            "result1": [2.0, 3.5],
            "result2": [0.5, 5.25**-0.5],
        },
    ),
    (
        lambda x: F.batch_norm(x.matrix, x.a.detach(), x.b.detach(), x.b),
        {"input": MATRIX, "weight": B, "eps": 1e-5, "training": False, "running_mean": A, "running_var": B},
    ),
    (
        lambda x: F.group_norm(x.matrix, 1, eps=0.75),
        {"input": MATRIX, "N": 2, "C": 2, "HxW": 1, "group": 1, "eps": 0.75, "result1": [[1.5], [4.0]]},
    ),
    (
        lambda x: F.conv1d(x.a[None, None], x.b[None, None], padding=1),
        {"input": [[A]], "weight": [[B]], "padding": (1,), "stride": (1,), "dilation": (1,), "groups": 1},
    ),
    (
        lambda x: F.conv1d(x.a[None, None], x.b[None, None]),
        {"transposed": False, "output_padding": (0,), "bias_sym_sizes_opt": (0,)},
    ),
    (lambda x: F.conv1d(x.a[None, None], x.b[None, None], x.a[:1]), {"bias_sym_sizes_opt": (1,)}),
    (
        lambda x: F.conv_transpose1d(x.a[None, None], x.b[None, None], x.a[:1]),
        {"input": [[A]], "weight": [[B]], "transposed": True, "bias_sym_sizes_opt": (1,)},
    ),
    (
        lambda x: F.linear(x.matrix, x.matrix, x.a),
        {"mat1": MATRIX, "mat2": [[1.0, 3.0], [2.0, 5.0]], "alpha": 1, "beta": 1},
    ),
    (lambda x: F.linear(x.matrix, x.matrix), {"self": MATRIX, "mat2": [[1.0, 3.0], [2.0, 5.0]]}),
    (
        lambda x: F.nll_loss(x.matrix, x.index),
        {
            "self": MATRIX,
            "target": [1, 0],
            "weight": None,
            "reduction": 1,
            "ignore_index": 2**64 - 100,
            "total_weight": 2.0,
        },
    ),
    (
        lambda x: F.nll_loss(x.matrix, x.index, x.b.detach(), ignore_index=1, reduction="sum"),
        {"target": [1, 0], "weight": B, "reduction": 2, "ignore_index": 1, "total_weight": 3.0},
    ),
    (lambda x: F.nll_loss(x.matrix, x.index, reduction="none"), {"reduction": 0, "total_weight": 0.0}),
    (lambda x: F.cross_entropy(x.matrix, x.index), {"target": [1, 0], "reduction": 1, "total_weight": 2.0}),
    (
        lambda x: F.max_pool2d(x.matrix[None], (1, 2)),
        {
            "self": [MATRIX],
            "kernel_size": (1, 2),
            "stride": (),
            "padding": (0, 0),
            "dilation": (1, 1),
            "ceil_mode": False,
            "result1": [[[1], [3]]],
        },
    ),
    (lambda x: F.max_pool2d(x.matrix[None], 1, 2, ceil_mode=True), {"stride": (2, 2), "ceil_mode": True}),
    (lambda x: F.adaptive_max_pool2d(x.matrix[None], (1, 1)), {"result1": [[[3]]]}),
    (
        lambda x: F.embedding(x.index, x.matrix),
        {"indices": [1, 0], "weight_sym_argsize_0": 2, "padding_idx": 2**64 - 1},
    ),
    (lambda x: x.matrix.T, {"dims": (1, 0)}),
    (lambda x: x.matrix.mT, {"dim0": 2**64 - 2, "dim1": 2**64 - 1}),
    (lambda x: x.matrix.transpose(-1, 0), {"dim0": 2**64 - 1, "dim1": 0}),
    (lambda x: x.matrix.permute(-1, 0), {"dims": (2**64 - 1, 0)}),
]


def plain(value: Any) -> Any:
    """Tensors as lists, also within a tuple of them; other values as they are."""
    if isinstance(value, torch.Tensor):
        return value.tolist()
    if isinstance(value, tuple) and any(isinstance(v, torch.Tensor) for v in value):
        return [plain(v) for v in value]
    return value


@pytest.mark.parametrize(("call", "expected"), SAVED)
def test_saved_values_by_name(call: Callable[[SimpleNamespace], Any], expected: dict[str, Any]) -> None:
    node = call(make_inputs()).grad_fn
    assert {name: plain(getattr(node, f"_saved_{name}")) for name in expected} == expected


def test_saved_results_by_name() -> None:
    x = make_inputs()
    for y in (x.a.exp(), x.a.tanh(), x.a.sigmoid(), x.matrix.softmax(1), x.matrix.log_softmax(0), x.a.rsqrt()):
        assert y.grad_fn._saved_result.tolist() == y.tolist()


def test_nodes_list_what_they_saved() -> None:
    names = dir((leaf(1.0) * leaf(2.0)).grad_fn)
    public = ["metadata", "name", "next_functions", "register_hook", "register_prehook"]
    assert {"_saved_self", "_saved_other", "_raw_saved_self", "_raw_saved_other", *public} <= set(names)
    assert "variable" in dir((leaf(1.0) * 2).grad_fn.next_functions[0][0])
    assert "_saved_self_sym_sizes" in dir(make_inputs().matrix.sum(0).grad_fn)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda x: F.nll_loss(x.matrix, x.index), "ignore_index reduction self target total_weight weight"),
        (lambda x: x.matrix.max(1).values, "dim indices keepdim self_sym_sizes"),
        (lambda x: x.b.sort(0).values, "dim indices self_sym_sizes"),
        (lambda x: x.a.cumsum(0), "dim"),
        (lambda x: x.a.var(0), "correction dim keepdim self"),
        (lambda x: torch.cat([x.a, x.b]), "dim"),
        (lambda x: x.matrix.mT, "dim0 dim1"),
        (
            lambda x: F.max_pool2d(x.matrix[None], 1),
            "ceil_mode dilation kernel_size padding result1 self stride",
        ),
        (
            lambda x: F.conv1d(x.a[None, None], x.b[None, None]),
            "bias_sym_sizes_opt dilation groups input output_padding padding stride transposed weight",
        ),
        (
            lambda x: F.group_norm(x.matrix, 1),
            "C HxW N eps group input result1 result2 weight",
        ),
    ],
)
def test_nodes_list_no_other_saved_names(call: Callable[[SimpleNamespace], Any], expected: str) -> None:
    names = dir(call(make_inputs()).grad_fn)
    assert sorted(name.removeprefix("_saved_") for name in names if name.startswith("_saved_")) == expected.split()


def test_inputs_of_layers_are_in_the_order_of_their_nodes() -> None:
    x = make_inputs()
    edges = F.linear(x.matrix * 1, x.matrix, x.a).grad_fn.next_functions
    assert edges[0][0].variable is x.a
    assert type(edges[1][0]).__name__ == "MulBackward0"
    assert len(edges) == 3
    signal, kernel = x.a[None, None], x.b[None, None]
    for convolve in (F.conv1d, F.conv_transpose1d):
        node = convolve(signal, kernel).grad_fn
        assert node.next_functions == ((signal.grad_fn, 0), (kernel.grad_fn, 0), (None, 0))
        assert node(torch.ones(1, 1, 1 if convolve is F.conv1d else 3, dtype=torch.float64))[2] is None
        biased = convolve(signal, kernel, x.a[:1])
        assert type(biased.grad_fn.next_functions[2][0]).__name__ == "SliceBackward0"


def test_saved_sizes() -> None:
    x = make_inputs()
    assert x.matrix.sum().grad_fn._saved_self_sym_sizes == (2, 2)
    assert x.matrix.view(4).grad_fn._saved_self_sym_sizes == (2, 2)
    assert x.a.expand(3, 2).grad_fn._saved_self_sym_sizes == (2,)
    assert x.matrix.mean().grad_fn._saved_self_sym_numel == 4
