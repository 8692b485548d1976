"""Batching rules: a row on a whole batch gives what it gives for each example."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np
import pytest

import minitorch
from minitorch import _op
from minitorch._batching import batched, rule_of
from minitorch._batching._choices import CHOICES
from minitorch._batching._table import KINDS, OWN, RULES, STACKED
from minitorch._choices import Choice, choices
from minitorch.autograd import grad
from row_calls import SAMPLES, recorded

EXAMPLES = 3
LOOPED_CHOICES = [
    "edges of bins",
    "histc",
    "histogram",
    "labels",
    "nonzero_static",
    "numbers between ends",
    "resized",
    "rows of at most a norm",
    "the classes that are not the target",
    "the indices of fractional_max_pool",
    "the maxima of bags",
    "the mean over a batch",
    "the rows of maxima",
]
"""Choices that are done so."""
OF_TESTS = {"sign of the sum"}  # of a docstring
REFUSED = ["masked_select", "unique", "unique_consecutive", "unique_dim"]
"""Rows whose results' shapes depend on values."""
Inputs = tuple[Any, ...]


@functools.cache
def calls_of(name: str) -> list[tuple[Inputs, tuple[Any, ...]]]:
    """The row's calls that its samples make, of inputs of different shapes: inputs and constants."""
    found: dict[Any, Any] = {}
    for case in SAMPLES[name]:
        for entry in recorded(case)[0]:
            whole = getattr(entry.row, "name", None) == name and len(entry.params) == len(entry.row.params)
            if whole and all(isinstance(t, minitorch.Tensor) for t in entry.inputs):
                inputs = tuple([t.detach().numpy().copy() for t in entry.inputs])
                found.setdefault(tuple([a.shape for a in inputs]), (inputs, tuple(entry.params.values())))
    return list(found.values())[:6]


def variant(array: np.ndarray, number: int) -> np.ndarray:
    """Another example: floats scaled, indices and masks in another order."""
    if array.dtype.kind == "f":
        return np.asarray(array * (1 - number / 8))
    return np.roll(array.ravel(), number).reshape(array.shape)


def run(row: Any, tensors: Any, params: tuple[Any, ...]) -> tuple[Any, ...]:
    for param in params:
        if isinstance(param, minitorch.Generator):
            param.manual_seed(0)
    out = row.call(list(tensors), *params) if row.variadic else row.call(*tensors, *params)
    return tuple(out) if isinstance(out, (tuple, list)) else (out,)


def subsets(count: int) -> list[tuple[int, ...]]:
    """Which inputs are batched: each subset, of few inputs; one, and all, of many."""
    sizes = range(1, count + 1) if count < 4 else (1, count)
    return [places for size in sizes for places in itertools.combinations(range(count), size)]


def stacked(arrays: list[np.ndarray], at_the_back: bool) -> Any:
    array = np.stack(arrays, -1 if at_the_back else 0)
    return minitorch.from_numpy(array), array.ndim - 1 if at_the_back else 0


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize("name", sorted(set(_op.rows) - set(REFUSED)))
def test_a_batch_gives_what_the_loop_gives(name: str) -> None:
    row = _op.rows[name]
    for (inputs, params), at_the_back in itertools.product(calls_of(name), (False, True)):
        random = any(isinstance(p, minitorch.Generator) for p in params)
        for places in subsets(len(inputs)):
            examples = [[variant(a, k) if i in places else a for i, a in enumerate(inputs)] for k in range(EXAMPLES)]
            expected = [run(row, [minitorch.from_numpy(a.copy()) for a in example], params) for example in examples]
            tensors, dims = [], []
            for i, array in enumerate(inputs):
                tensor, dim = minitorch.from_numpy(array.copy()), None
                if i in places:
                    tensor, dim = stacked([example[i] for example in examples], at_the_back)
                tensors.append(tensor)
                dims.append(dim)
            found, where = batched(row, tensors, dims, params, EXAMPLES)
            assert where == (0,) * len(found)
            for out, column in zip(found, zip(*expected), strict=True):
                whole = np.stack([np.asarray(e.detach().numpy()) for e in column])
                assert out.dtype is column[0].dtype
                assert tuple(out.shape) == whole.shape, (places, dims)
                if not random:
                    np.testing.assert_allclose(out.detach().numpy(), whole, 1e-9, 1e-9)


DIFFERENTIATED = """
    add mul where atan2 sum sum_all mean_all prod_all max_all amax var softmax cumsum cat expand view transpose squeeze
    mm mm_tn matmul mv vm dot linear folded_linear vector_linear conv conv_bias conv_weight_grad layer_norm batch_norm
    group_norm index index_put index_select gather scatter_add embedding mse_loss nll_loss max_pool2d avg_pool2d
    constant_pad_nd cross contract lstm_layer gru_layer scaled_dot_product_attention solve_ex det upsample_bilinear2d
    take put masked_scatter masked_place masked_pack lstsq as_strided as_strided_scatter restride ctc_loss
""".split()


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize("name", DIFFERENTIATED)
def test_gradients_are_those_of_the_loop(name: str) -> None:
    row = _op.rows[name]
    for inputs, params in calls_of(name):
        floats = tuple([i for i, a in enumerate(inputs) if a.dtype.kind == "f"])
        for places in {floats, floats[:1]}:
            stacks = [
                np.stack([variant(a, k) for k in range(EXAMPLES)]) if i in places else a for i, a in enumerate(inputs)
            ]
            leaves = [minitorch.from_numpy(a.copy()).requires_grad_(a.dtype.kind == "f") for a in stacks]
            active = [t for t in leaves if t.requires_grad]

            def gradients(outputs: list[Any], active: list[Any] = active) -> Any:
                chosen = [o for o in outputs if o.requires_grad]
                weights = [minitorch.arange(o.numel(), dtype=o.dtype).reshape(o.shape).cos() for o in chosen]
                return grad(chosen, active, weights, allow_unused=True)

            dims = [0 if i in places else None for i in range(len(inputs))]
            found = gradients(list(batched(row, leaves, dims, params, EXAMPLES)[0]))
            rows = [[t[k] if i in places else t for i, t in enumerate(leaves)] for k in range(EXAMPLES)]
            columns = zip(*[run(row, tensors, params) for tensors in rows])
            for a, b in zip(found, gradients([minitorch.stack(column) for column in columns])):
                assert (a is None) == (b is None)
                if a is not None:
                    np.testing.assert_allclose(a.numpy(), b.numpy(), 1e-8, 1e-8)


def test_no_row_is_done_example_by_example() -> None:
    assert [name for name, row in _op.rows.items() if rule_of(row) is None] == []


def test_only_these_choices_are_done_example_by_example() -> None:
    fitting = {name for name, choice in choices.items() if choice.fits and choice.__class__ is Choice}
    assert sorted(set(CHOICES) - fitting - STACKED) == []
    assert sorted(fitting - set(CHOICES) - OF_TESTS) == LOOPED_CHOICES


def test_each_rule_is_of_a_row_and_stands_in_one_table() -> None:
    named = [name for names in KINDS.values() for name in names.split()]
    assert len(named) == len(set(named))
    assert not set(named) & set(OWN)
    assert sorted(set(RULES) - set(_op.rows)) == []
    assert [name for name in RULES if _op.rows[name].elementwise and _op.rows[name].broadcasts] == [
        "where_not_positive"
    ]


@pytest.mark.parametrize("name", REFUSED)
def test_results_of_unknown_shape_are_refused(name: str) -> None:
    inputs, params = calls_of(name)[0]
    tensors = [minitorch.from_numpy(np.stack([a, a])) for a in inputs]
    with pytest.raises(RuntimeError, match="shape depends on the values"):
        batched(_op.rows[name], tensors, [0] * len(tensors), params, 2)


def test_a_loop_warns_once() -> None:
    from minitorch import _batching

    _batching._warned.discard("histc")
    x = minitorch.arange(6.0).reshape(2, 3)
    with pytest.warns(UserWarning, match="not yet implemented the batching rule for histc"):
        found = minitorch.vmap(lambda row: minitorch.histc(row, 3))(x)
    assert found.tolist() == minitorch.vmap(lambda row: minitorch.histc(row, 3))(x).tolist() == [[1, 1, 1]] * 2


def test_a_0d_example_counts_less_in_promotion_as_it_does_alone() -> None:
    x, y = minitorch.ones(3, dtype=minitorch.float64), minitorch.ones(2)
    ((out,), _) = batched(_op.rows["mul"], [x, y], [0, None], (), 3)
    assert out.dtype is minitorch.float32
    assert tuple(out.shape) == (3, 2)
