"""Formulas of functions that choose by values: recorded at some values, they must be those of the function at others."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import minitorch as torch
import minitorch.nn.functional as F
from minitorch.autograd import Tape

VECTORS = ([0.7, 0.1, -0.4], [-0.3, 1.2, 0.5], [0.2, -0.6, 0.9])
MATRICES = (
    [[0.7, 0.1, -0.4], [0.2, 0.5, 0.6]],
    [[-0.3, 1.2, 0.5], [0.9, -0.4, 0.3]],
    [[0.2, -0.6, 0.9], [-0.5, 0.3, -0.1]],
)


def leaf(values: Any) -> Any:
    x = torch.tensor(values, dtype=torch.float64, requires_grad=True)
    x.name = "x"
    return x


def recorded(function: Any, values: Any) -> Any:
    x = leaf(values)
    with Tape() as tape:
        y = function(x)
    return tape.formula(of=y)


def fits(function: Any, at: Any, elsewhere: Any) -> None:
    """Whether a formula that was recorded at some values gives at others what the function does."""
    formula, x = recorded(function, at), leaf(elsewhere)
    y = function(x)
    g = torch.linspace(0.5, 2.0, max(y.numel(), 1), dtype=torch.float64)[: y.numel()].reshape(y.shape)
    y.backward(g if y.ndim else None)
    given = {"g": g} if "g" in formula.names else {}
    found = formula.evaluate(x=x.detach(), **given)
    value, slope = list(found.values())
    np.testing.assert_allclose(value.numpy(), y.detach().numpy(), rtol=1e-12, atol=1e-12, err_msg=str(formula))
    np.testing.assert_allclose(slope.numpy(), x.grad.numpy(), rtol=1e-12, atol=1e-12, err_msg=str(formula))


def assigned(index: Any, value: Any) -> Any:
    def function(x: Any) -> Any:
        v = x.clone()
        v[index(x)] = value(x)
        return v * x

    return function


CHOSEN = {
    "argmax": lambda x: x[x.argmax()] * 2,
    "argmin": lambda x: x[x.argmin()] * x[x.argmax()],
    "of a function": lambda x: x.exp()[x.sin().argmax()] ** 2,
    "max": lambda x: x[x.max(0)[1]] ** 2,
    "median": lambda x: x[x.median(0).indices] ** 2,
    "kthvalue": lambda x: x[x.kthvalue(2)[1]] ** 2,
    "topk": lambda x: x[x.topk(2)[1]] ** 2,
    "an element of topk": lambda x: x[x.topk(2)[1][1]] ** 2,
    "argsort": lambda x: x[x.argsort()] * torch.tensor([1.0, 2.0, 3.0]),
    "an element of argsort": lambda x: x[x.argsort()[0]] ** 2,
    "the last of argsort": lambda x: x[x.argsort(descending=True)[-1]] ** 2,
    "several elements": lambda x: x[x.argsort()[0]] * x[x.argsort()[1]] ** 2,
    "sort": lambda x: x.sort()[0] * torch.tensor([1.0, 2.0, 3.0]),
    "sort, its indices": lambda x: x * x.sort()[1],
    "select": lambda x: x.select(0, x.argmax()) ** 2,
    "narrow": lambda x: x.narrow(0, x.argmax(), 1) ** 2,
    "narrow from the end": lambda x: x.narrow(0, x.argmin() - 3, 1) ** 2,
    "narrow, negative or not": lambda x: x.narrow(0, x.argmin() - 1, 1) ** 2,
    "from the end": lambda x: x[x.argmax() - 3] ** 2,
    "negative or not": lambda x: x[x.argmax() - 2] ** 2,
    "a slice of one": lambda x: x[x.argmax() : x.argmax() + 1] ** 2,
    "a slice": lambda x: (x[: x.argmax() + 1] ** 2).sum(),
    "a slice to the end": lambda x: (x[x.argmax() :] ** 2).sum(),
    "a slice from the end": lambda x: (x[x.argmax() - 3 :] ** 2).sum(),
    "with None": lambda x: x[None, x.argmax()] ** 2,
    "with an ellipsis": lambda x: x[..., x.argmax()] ** 2,
    "a list": lambda x: x[[0, 2]] ** 2,
    "index_select": lambda x: x.index_select(0, x.argmax()) ** 2,
    "index_select of several": lambda x: x.index_select(0, x.argsort()[:2]) ** 2,
    "gather": lambda x: x.gather(0, x.argsort()) * torch.tensor([1.0, 2.0, 3.0]),
    "take": lambda x: x.take(x.argmax()) ** 2,
    "take of several": lambda x: x.take(x.argsort()[1:]) ** 2,
    "take_along_dim": lambda x: torch.take_along_dim(x, x.argsort(), 0) * torch.tensor([1.0, 2.0, 3.0]),
    "one_hot": lambda x: F.one_hot(x.argmax(), 3) * x**2,
    "searchsorted": lambda x: x[torch.searchsorted(torch.tensor([-0.2, 0.3], dtype=torch.float64), x.sum())] ** 2,
    "bucketize": lambda x: x[torch.bucketize(x, torch.tensor([-0.2, 0.3], dtype=torch.float64))] ** 2,
    "count_nonzero": lambda x: x[torch.count_nonzero(x > 0) - 1] ** 2,
    "a number of trues": lambda x: x[(x > 0).sum() - 1] ** 2,
    "a mask": lambda x: (x[x > 0] ** 2).sum(),
    "a mask, its logsumexp": lambda x: x[x > -1].logsumexp(0),
    "a mask, its largest": lambda x: x[x > 0].max() ** 2,
    "a mask, its product": lambda x: x[x > 0] @ x[x > 0],
    "masked_select": lambda x: (x.masked_select(x > -1) ** 2).sum(),
    "masked_fill": lambda x: x.masked_fill(x > 0, 2.0) ** 2,
    "where": lambda x: torch.where(x > 0, x**2, -x),
    "where of a condition": lambda x: (x[torch.where(x > 0)[0]] ** 2).sum(),
    "where of a condition and of three": lambda x: (torch.where(x > 0, x, 2 * x)[torch.where(x > 0)[0]] ** 2).sum(),
    "nonzero": lambda x: (x[(x > 0).nonzero(as_tuple=True)[0]] ** 2).sum(),
    "nonzero, a matrix": lambda x: (x[(x > 0).nonzero()[:, 0]] ** 2).sum(),
    "maximum": lambda x: torch.maximum(x, x.flip(0)),
    "cummax": lambda x: x.cummax(0)[0] ** 2,
    "scatter": lambda x: torch.zeros(3, dtype=torch.float64).scatter(0, x.argsort(), x**2),
    "index_add": lambda x: x.index_add(0, x.argsort()[:1], x[:1] ** 2),
    "index_fill": lambda x: x.index_fill(0, x.argmax(), 2.0) ** 2,
    "index_copy": lambda x: x.index_copy(0, x.argsort()[:1], x[:1] ** 2) ** 2,
    "put": lambda x: x.put(x.argmax(), x[0] ** 2) ** 2,
    "index_put": lambda x: x.index_put((x.argmax(),), x[0] ** 2) ** 2,
    "select_scatter": lambda x: torch.select_scatter(x, x[0] ** 2, 0, x.argmax()) ** 2,
    "assigned": assigned(lambda x: x.argmax(), lambda x: x.sum() * 3),
    "assigned by a mask": assigned(lambda x: x > 0, lambda x: 0.5),
    "assigned a number": assigned(lambda x: x.argmin(), lambda x: 0.5),
    "assigned to a slice": assigned(lambda x: slice(x.argmax(), x.argmax() + 1), lambda x: x[:1] ** 2),
    "assigned by several": assigned(lambda x: x.argsort()[:2], lambda x: x[1:] ** 2),
    "roll by a gather": lambda x: x[(torch.arange(3) + x.argmax()) % 3] * torch.tensor([1.0, 2.0, 3.0]),
}  # fmt: skip
OF_MATRICES = {
    "a row": lambda X: X[X[:, 0].argmax()] ** 2,
    "a column": lambda X: X[:, X[0].argmax()] ** 2,
    "an element": lambda X: X[X[:, 0].argmax(), X[0].argmax()] ** 2,
    "a part of a row": lambda X: X[X[:, 0].argmax(), 1:] ** 2,
    "a row, elements": lambda X: X[X[:, 0].argmax(), torch.tensor([0, 2])] ** 2,
    "a row by row": lambda X: X[X[:, 0].argmax()][X[0].argmax()] ** 2,
    "the largest of each row": lambda X: X.gather(1, X.argmax(1, keepdim=True)) ** 2,
    "the largest of each row, by an index": lambda X: X[torch.arange(2), X.argmax(1)] ** 2,
    "max": lambda X: X.max(1)[0] ** 2,
    "of all": lambda X: X.flatten()[X.argmax()] ** 2,
    "take": lambda X: X.take(X.argmax()) ** 2,
    "sort": lambda X: X.sort(1)[0] * torch.tensor([1.0, 2.0, 3.0]),
    "rows in an order": lambda X: X[X.sum(1).argsort()] * torch.tensor([[1.0], [2.0]]),
    "masked rows": lambda X: (X[X[:, 0] > 0] ** 2).sum(),
    "columns up to one": lambda X: (X[:, : X[0].argmax() + 1] ** 2).sum(),
    "one_hot": lambda X: F.one_hot(X.argmax(1), 3) * X**2,
    "embedding": lambda X: F.embedding(X[0].argsort()[:2] % 2, X) ** 2,
    "cross_entropy of the largest": lambda X: F.cross_entropy(X, X.argmax(1)),
    "assigned to a row": assigned(lambda X: X[:, 0].argmax(), lambda X: X[0] ** 2),
    "assigned to a column": assigned(lambda X: (slice(None), X[0].argmax()), lambda X: X[:, 0] ** 2),
    "assigned to an element": assigned(lambda X: (X[:, 0].argmax(), X[0].argmin()), lambda X: X.sum()),
}


@pytest.mark.parametrize("elsewhere", [1, 2])
@pytest.mark.parametrize("name", CHOSEN)
def test_choices_among_vectors(name: str, elsewhere: int) -> None:
    fits(CHOSEN[name], VECTORS[0], VECTORS[elsewhere])
    fits(CHOSEN[name], VECTORS[elsewhere], VECTORS[0])


@pytest.mark.parametrize("elsewhere", [1, 2])
@pytest.mark.parametrize("name", OF_MATRICES)
def test_choices_among_matrices(name: str, elsewhere: int) -> None:
    fits(OF_MATRICES[name], MATRICES[0], MATRICES[elsewhere])
    fits(OF_MATRICES[name], MATRICES[elsewhere], MATRICES[0])


@pytest.mark.parametrize("at", [0.7, -0.7])
@pytest.mark.parametrize(
    "function",
    [
        lambda x: (x[x > 0] ** 2).sum(),
        lambda x: (x[..., x > 0] ** 2).sum(),
        assigned(lambda x: x > 0, lambda x: 0.5),
    ],
)
def test_masks_of_0d_tensors(function: Any, at: float) -> None:
    fits(function, at, -at)
    fits(function, at, at / 2)


def test_an_index_is_written() -> None:
    formula = recorded(lambda x: x[x.argmax()] * 2, VECTORS[0])
    assert formula.notes == []
    assert [line.text for line in formula.lines[1:2]] == ["2*x[t1]"]
    slices = recorded(lambda x: (x[x.argmax() - 3 : x.argmax() + 1] ** 2).sum(), VECTORS[0])
    assert any(["x[t1 - 3:t1 + 1]" in line.text for line in slices.lines])
    assert slices.latex


SIZED = {
    "mean": lambda x: x[x > 0].mean(),
    "mean of squares": lambda x: (x.masked_select(x > 0) ** 2).mean(),
    "var": lambda x: x[x > 0].var(correction=0),
    "of a slice": lambda x: x[: (x > 0).sum()].mean(),
    "beside what has a size": lambda x: (x[x > 0] * torch.ones(int((x > 0).sum()), dtype=torch.float64) * 2).cumsum(0).mean(),
    "where": lambda x: (x[torch.where(x > 0)[0]] ** 2).mean(),
    "joined": lambda x: torch.cat([x[x > 0], x[x <= 0]]).sin().sum(),
}  # fmt: skip


@pytest.mark.parametrize("name", SIZED)
def test_other_sizes_are_refused_where_a_text_has_the_size_in_it(name: str) -> None:
    at, alike, other = VECTORS[0], [-0.3, 1.2, 0.5], [-0.3, 1.2, -0.5]
    if name != "of a slice":
        fits(SIZED[name], at, alike)
    formula = recorded(SIZED[name], at)
    with pytest.raises(ValueError, match=r"has shape \(1,\), but it had \(2,\) where the function was recorded"):
        formula.evaluate(x=other)


def test_put_and_take_get_tensors() -> None:
    fits(lambda x: torch.take(x, torch.tensor(1)) * 2, VECTORS[0], VECTORS[1])
    fits(lambda x: torch.take(x, torch.tensor([1, 1])).sum(), VECTORS[0], VECTORS[1])


def test_what_python_reads_is_noted() -> None:
    notes = {
        "True: read from the result of gt by bool(), as recorded": lambda x: x * 2 if x > 0 else x * 3,
        "False: read from the result of all and any by bool(), as recorded": lambda x: x * bool((x < 0).all()),
        "0.7: read from x by numpy(), as recorded": lambda x: x * float(x.detach().numpy()),
    }
    for note, function in notes.items():
        formula = recorded(function, 0.7)
        assert [n.replace("the result of detach", "x") for n in formula.notes] == [note]
    assert recorded(lambda x: sum([e * 2 for e in x]), VECTORS[0]).notes == []
    found = recorded(lambda x: x[x.argmax()] * x.argmax().item(), VECTORS[0]).notes
    assert found == ["0: read from the result of argmax by item(), as recorded"]


def test_a_call_with_several_results_is_described_whole() -> None:
    x = leaf([1.0, 2.0])
    with Tape() as tape:
        x.split(1)[1]
    formula = tape.formula()
    assert [line.name for line in formula.lines][:2] == ["y1", "y2"]
    assert formula["y2"] == "split(x, 1)[1]"
    with Tape() as tape, warnings.catch_warnings():
        torch.std_mean(x)
    assert tape.formula()["y2"] == "std_mean(x)[1]"
    with Tape() as tape:
        torch.max(x, 0)
    assert [line.name for line in tape.formula().lines if line.name[0] == "y"] == ["y"]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.sum() / (x > 1.5).sum(),
        lambda x: (x * (x > 1.5)).sum() / (x > 1.5).sum(),
        lambda x: x.sum() * (x > 1.5).sum() * (x > 1.5).sum(),
        lambda x: x.sum() / (x > 1.5).sum() / (x < 2.5).sum(),
        lambda x: x * ((x > 1.5) & (x < 2.5)).sum() ** 2,
        lambda x: x / (x > 1.5)[:1].sum(),
        lambda x: x[1:] / (x > 1.5)[1:],
        lambda x: x / (x.reshape(1, 3) > 1.5).sum(0),
    ],
)
def test_how_many_a_mask_has(function: Any) -> None:
    x = torch.tensor([2.0, 3.0, 4.0], dtype=torch.float64, requires_grad=True)
    x.name = "x"
    with Tape() as tape:
        y = function(x)
    formula = tape.formula(of=y, gradient=torch.ones(y.shape, dtype=torch.float64))
    for values in ([2.0, 3.0, 4.0], [1.0, 2.0, 3.0], [3.0, 1.0, 2.0]):
        at = torch.tensor(values, dtype=torch.float64, requires_grad=True)
        wanted = function(at)
        found = list(formula.evaluate(x=at).values())
        assert torch.allclose(found[0], wanted, equal_nan=True)
        assert torch.allclose(found[-1], torch.autograd.grad(wanted.sum(), at)[0], equal_nan=True)


def test_numbers_that_were_read_are_those_of_then() -> None:
    x = leaf([2.0])
    with Tape() as tape:
        b = torch.tensor([3.0], dtype=torch.float64)
        number = b.item()
        b.add_(1)
        y = (x * number).sum()
    assert tape.formula(of=y).notes == ["[3.0]: read from a tensor by item(), as recorded"]


def test_a_gradient_that_is_a_leaf_is_named() -> None:
    x = leaf(2.0)
    with Tape() as tape:
        y = x * x  # noqa: F841 (the tape keeps it)
    ones = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
    assert "dL/dx" in str(tape.formula(gradient=ones))
