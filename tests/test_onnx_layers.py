"""Layers and functions with arguments that are less usual: exported once, run at other sizes, also of none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch as torch
from minitorch import nn
from minitorch._pytree import tree_flatten
from minitorch.nn import functional as F

pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

OPTIONS = onnxruntime.SessionOptions()
OPTIONS.intra_op_num_threads = OPTIONS.inter_op_num_threads = 1
OPTIONS.log_severity_level = 4


def assert_same(function: Callable[..., Any], axes: list[dict[int, str]], *several: tuple[torch.Tensor, ...]) -> Any:
    """The file of the first inputs gives for all what the function gives."""
    names = [f"x{k}" for k in range(len(axes))]
    program = torch.onnx.export(function, several[0], input_names=names, dynamic_axes=dict(zip(names, axes)))
    session = onnxruntime.InferenceSession(program.model_proto.SerializeToString(), OPTIONS)
    taken = {given.name for given in session.get_inputs()}
    if isinstance(function, nn.Module):
        function.eval()
    for inputs in several:
        with torch.no_grad():
            expected = [t.numpy() for t in tree_flatten(function(*[i.clone() for i in inputs]))[0]]
        found = session.run(None, {n: np.array(i.numpy()) for n, i in zip(names, inputs) if n in taken})
        for got, known in zip(found, expected, strict=True):
            assert (got.dtype, got.shape) == (known.dtype, known.shape)
            np.testing.assert_allclose(got, known, 1e-5, 1e-5)
    return program


# -- bags --------------------------------------------------------------------------------------------------------------
INDICES = torch.tensor([1, 2, 2, 4, 0, 4, 3, 2, 9])


@pytest.mark.parametrize("padding", [None, 2])
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags(mode: str, padding: int | None) -> None:
    torch.manual_seed(0)
    model = nn.EmbeddingBag(10, 3, mode=mode, padding_idx=padding)
    model.weight.data[4, 1] = float("nan")
    rows = INDICES.view(3, 3), INDICES[:8].view(2, 4), torch.full((2, 3), 2), torch.tensor([[7]])
    assert_same(model, [{0: "n", 1: "k"}], *[(x,) for x in rows])
    starts = (INDICES, [0, 4, 6]), (INDICES[:7], [0, 1, 1, 5]), (INDICES[:3], [0, 0, 3]), (INDICES[:1], [0])
    assert_same(model, [{0: "t"}, {0: "n"}], *[(x, torch.tensor(o)) for x, o in starts])
    last = nn.EmbeddingBag(10, 3, mode=mode, padding_idx=padding, include_last_offset=True)
    ended = (INDICES, [0, 4, 6, 9]), (INDICES[:7], [0, 1, 1, 5, 6]), (INDICES[:7], [0, 0, 7])
    assert_same(last, [{0: "t"}, {0: "n"}], *[(x, torch.tensor(o)) for x, o in ended])


def test_bags_with_weights() -> None:
    weight = torch.randn(10, 2)

    def weighted(i: torch.Tensor, o: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, ...]:
        given: dict[str, Any] = {"mode": "sum", "per_sample_weights": w}
        return (
            F.embedding_bag(i, weight, o, **given),
            F.embedding_bag(i, weight, o, padding_idx=2, **given),
            F.embedding_bag(i, weight, o, include_last_offset=True, **given),
        )

    axes = [{0: "t"}, {0: "n"}, {0: "t"}]
    assert_same(
        weighted,
        axes,
        (INDICES, torch.tensor([0, 4, 8]), torch.randn(9)),
        (INDICES[:4], torch.tensor([0, 0, 1, 3]), torch.randn(4)),
    )


def test_which_rows_the_maxima_are_from() -> None:
    weight = torch.randn(10, 2)
    found, _, _, rows = torch.embedding_bag(weight, INDICES, torch.tensor([0, 4, 4]), mode=2)
    for bag in (0, 2):
        assert found[bag].tolist() == [weight[i, k].item() for k, i in enumerate(rows[bag].tolist())]
    assert (found[1].tolist(), rows[1].tolist()) == ([0, 0], [0, 0])
    empty = torch.embedding_bag(weight.requires_grad_(), INDICES[:0], torch.tensor([0, 0]), mode=2)
    assert (empty[0].tolist(), empty[3].tolist()) == ([[0, 0]] * 2, [[0, 0]] * 2)
    empty[0].sum().backward()
    assert (weight.grad == 0).all()


# -- recurrent layers --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "options", [{}, {"bidirectional": True, "num_layers": 2}, {"batch_first": True}, {"bias": False}], ids=str
)
def test_projected_states_over_any_number_of_steps(options: dict[str, Any]) -> None:
    torch.manual_seed(0)
    model = nn.LSTM(4, 3, proj_size=2, **options)
    sizes = (5, 2), (7, 3), (1, 1)
    program = assert_same(model, [{0: "t", 1: "n"}], *[(torch.randn(t, n, 4),) for t, n in sizes])
    ops = [node.op_type for node in program.model_proto.graph.node]
    layers = (1 + options.get("bidirectional", False)) * options.get("num_layers", 1)
    assert ops.count("LSTM") == layers
    if not options.get("batch_first"):
        axes = [{0: "t", 1: "n"}, {1: "n"}, {1: "n"}]
        states = [(torch.randn(t, n, 4), torch.randn(layers, n, 2), torch.randn(layers, n, 3)) for t, n in sizes]
        assert_same(lambda x, h, c: model(x, (h, c)), axes, *states)


# -- classes and labels ------------------------------------------------------------------------------------------------
def test_one_hot_of_as_many_classes_as_there_are() -> None:
    given = [(torch.tensor(x),) for x in ([1, 2, 0], [1, 5, 0, 2], [0])]
    program = assert_same(lambda x: F.one_hot(x) * 2, [{0: "n"}], *given)
    assert len({d.dim_param for d in program.model_proto.graph.output[0].type.tensor_type.shape.dim}) == 2
    compiled = torch.compile(lambda x: F.one_hot(x) * 2)
    assert [compiled(x).shape for (x,) in given] == [(3, 3), (4, 6), (1, 1)]
    with pytest.raises(RuntimeError, match="Can not infer total number of classes"):
        F.one_hot(INDICES[:0])


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_margins(reduction: str) -> None:
    torch.manual_seed(0)
    axes = [{0: "n"}, {0: "n"}]
    given = (torch.randn(4, 3), torch.tensor([0, 2, 1, 1])), (torch.randn(2, 3), torch.tensor([2, 2]))
    for options in ({}, {"p": 2}, {"margin": 0.5}, {"weight": torch.tensor([1.0, 2.0, 3.0])}):
        loss = nn.MultiMarginLoss(reduction=reduction, **options)  # type: ignore[arg-type]
        assert_same(loss, axes, *given)
    labels = torch.tensor([[0, 2, -1], [1, -1, 2], [-1, 0, 1], [2, 1, 0]]), torch.tensor([[2, -1, 0], [-1, -1, -1]])
    assert_same(nn.MultiLabelMarginLoss(reduction=reduction), axes, *[(x, y) for (x, _), y in zip(given, labels)])


# -- sums of samples ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dim", [0, 1])
def test_trapezoids_of_any_number_of_samples(dim: int) -> None:
    given = [(torch.randn(4, 3),), (torch.randn(1, 2),), (torch.randn(0, 3),), (torch.randn(2, 0),)]
    axes = [{0: "n", 1: "m"}]
    assert_same(lambda y: torch.trapezoid(y, dim=dim), axes, *given)
    assert_same(lambda y: torch.trapezoid(y, y * y, dim=dim) + torch.trapezoid(y, dx=0.5, dim=dim), axes, *given)
    assert_same(lambda y: torch.cumulative_trapezoid(y, dim=dim), axes, *given)


# -- functions ---------------------------------------------------------------------------------------------------------
FUNCTIONS: dict[str, Callable[[torch.Tensor], Any]] = {
    "det": lambda x: torch.linalg.det((x.t() @ x)[:2, :2].unsqueeze(0)),
    "isin": lambda x: torch.isin((2 * x).round(), torch.tensor([0.0, 1.0, -2.0])),
    "isin of integers, inverted": lambda x: torch.isin((2 * x).long(), torch.tensor([0, 1]), invert=True),
    "entr": lambda x: torch.special.entr(x.round()),
    "scatter_reduce": lambda x: x.scatter_reduce(1, x.argsort(1) // 2, x * 2, "mean"),
    "scatter_reduce without self": lambda x: x.scatter_reduce(1, x.argsort(1) // 2, x, "mean", include_self=False),
    "scatter_reduce of integers": lambda x: (9 * x).long().scatter_reduce(0, 0 * x.argsort(0), (5 * x).long(), "mean"),
    "index_reduce": lambda x: x.index_reduce(0, torch.tensor([0, 0]), torch.ones(2, x.shape[1]), "mean"),
    "index_reduce of maxima": lambda x: x.index_reduce(1, torch.tensor([1]), x[:, :1] * 3, "amax", include_self=False),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_matrices_of_any_size(name: str) -> None:
    torch.manual_seed(0)
    assert_same(
        FUNCTIONS[name], [{0: "n", 1: "m"}], *[(torch.randn(n, m),) for n, m in ((4, 5), (1, 3), (5, 2), (7, 6))]
    )


def in_parts(x: torch.Tensor) -> Any:
    out, like, new = torch.empty(x.shape[0], 2), torch.empty_like(x), x.new_empty(x.shape)
    out[:, 0], out[:, 1] = x.sum(1), x.amax(1)
    like.copy_(x.flip(0))
    new[:] = x * 2
    like[like < 0] *= -1
    return out, like, new


def test_memory_that_was_empty_is_written() -> None:
    assert_same(in_parts, [{0: "n", 1: "m"}], *[(torch.randn(n, m),) for n, m in ((4, 5), (2, 3), (7, 2))])
