"""What fails for one example of a batch: the error is that of the example alone, and says which it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import minitorch as torch
from minitorch import vmap
from minitorch.nn import functional as F

X = torch.arange(6.0).reshape(3, 2)
INDICES = torch.tensor([0, 1, 9])

CASES: dict[str, Callable[[Any, Any], Any]] = {
    "x[i]": lambda x, i: x[i],
    "x[:, i]": lambda x, i: x[:, i],
    "x[i, 0]": lambda x, i: x[i, 0],
    "x[[i]]": lambda x, i: x[i.reshape(1)],
    "x[-i]": lambda x, i: x[-i],
    "x[i] = 0": lambda x, i: x.index_put((i.reshape(1),), torch.tensor(0.0)),
    "gather": lambda x, i: x.gather(0, i.reshape(1, 1)),
    "scatter": lambda x, i: x.scatter(0, i.reshape(1, 1), 1.0),
    "index_add": lambda x, i: x.index_add(0, i.reshape(1), torch.ones(1, 2)),
    "index_fill": lambda x, i: x.index_fill(0, i.reshape(1), 1.0),
    "index_copy": lambda x, i: x.index_copy(0, i.reshape(1), torch.ones(1, 2)),
    "nll_loss": lambda x, i: F.nll_loss(x.T, i.expand(2)),
    "multi_margin_loss": lambda x, i: F.multi_margin_loss(x, i.expand(3)),
    "max_unpool2d": lambda x, i: F.max_unpool2d(x[:1].reshape(1, 1, 1, 2), i.expand(1, 1, 1, 2), (1, 2)),
    "quantile": lambda x, i: torch.quantile(x, i * 0.5),
    "poisson": lambda x, i: torch.poisson(2.0 - i),
    "binary_cross_entropy": lambda x, i: F.binary_cross_entropy(i * 0.3, torch.tensor(0.5)),
    "matmul of a shape that does not fit": lambda x, i: x @ torch.ones(3, 3),
}


def error_of(function: Callable[[], Any]) -> Exception:
    with pytest.raises((IndexError, RuntimeError)) as caught:
        function()
    return caught.value


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("both", [False, True])
def test_the_error_is_that_of_the_example(name: str, both: bool) -> None:
    function = CASES[name]
    alone = error_of(lambda: function(X, INDICES[2]))
    x, dims = (torch.stack([X] * 3), 0) if both else (X, None)
    mapped = error_of(lambda: vmap(function, in_dims=(dims, 0), randomness="different")(x, INDICES))
    assert mapped.__class__ is alone.__class__
    assert "(3, 3, 2)" not in str(mapped)  # no shape with the batch in it
    for part in ("dimension 0 with size 3", "dimension 1 with size 2", "input has shape (3, 2)", "input has shape ()"):
        assert (part in str(mapped)) == (part in str(alone))


def test_the_note_says_which_example_it_is() -> None:
    error = error_of(lambda: vmap(lambda i: X[i])(INDICES))
    assert "index 9 is out of bounds for dimension 0 with size 3; input has shape (3, 2)" in str(error)
    assert error.__notes__ == ["(raised for example 2 of the 3 of a vmap)"]
    nested = error_of(lambda: vmap(lambda x: vmap(lambda i: x[i])(INDICES))(torch.stack([X, X])))
    assert "dimension 0 with size 3; input has shape (3, 2)" in str(nested)
    matrices = torch.eye(2) * torch.tensor([1.0, 0.0]).reshape(2, 1, 1)
    assert "(Batch element 1)" in str(error_of(lambda: vmap(torch.linalg.inv)(matrices)))
