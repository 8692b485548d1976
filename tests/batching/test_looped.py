"""Operations without a rule for batches: the guide names them, and they say so once, by the names that people call."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import minitorch as torch
from minitorch import _batching
from minitorch._choices import choices

F = torch.nn.functional
ROWS = torch.arange(1.0, 9.0).reshape(2, 4)
INDICES, TABLE = torch.tensor([[0, 1, 1], [2, 0, 2]]), torch.arange(6.0).reshape(3, 2)
NORM = torch.tensor([[0.0, 0.0], [1.0, 1.0]])
CALLS: dict[str, list[tuple[Callable[..., Any], tuple[Any, ...]]]] = {
    "bincount": [(lambda i: torch.bincount(i, minlength=3), (INDICES,))],
    "ctc_loss": [
        (
            lambda t: F.ctc_loss(ROWS.reshape(4, 1, 2).log_softmax(-1), t, torch.tensor([4]), torch.tensor([2])),
            (torch.tensor([[[1, 1]], [[1, 1]]]),),
        )
    ],
    "embedding": [(lambda i: F.embedding(i, TABLE.clone(), max_norm=1.0), (INDICES,))],
    "embedding_bag": [
        *[(lambda i, mode=mode: F.embedding_bag(i[None], TABLE, mode=mode), (INDICES,)) for mode in ("mean", "max")],
        (lambda i: torch.embedding_bag(TABLE, i, torch.tensor([0]), mode=2)[3], (INDICES,)),
    ],
    "fractional_max_pool2d": [
        (
            lambda x: F.fractional_max_pool2d(
                x.reshape(1, 2, 2), 1, output_size=1, _random_samples=torch.zeros(1, 1, 2)
            ),
            (ROWS,),
        )
    ],
    "histc": [(lambda x: torch.histc(x, 3), (ROWS,))],
    "histogram": [(lambda x: torch.histogram(x, 3)[0], (ROWS,))],
    "instance_norm": [
        (
            lambda x, m: F.instance_norm(
                x.reshape(2, 2, 1).expand(2, 2, 3), m, torch.ones(2) * m, use_input_stats=True
            ),
            (ROWS, NORM),
        )
    ],
    "linspace": [(lambda x: torch.linspace(x[0], x[1], 3), (ROWS,))],
    "logspace": [(lambda x: torch.logspace(x[0], x[1], 3), (ROWS,))],
    "multi_margin_loss": [(lambda t: F.multi_margin_loss(TABLE, t), (INDICES.clamp(max=1),))],
    "multilabel_margin_loss": [(lambda t: F.multilabel_margin_loss(ROWS[0, :3], t), (INDICES,))],
    "nonzero_static": [(lambda x: torch.nonzero_static(x, size=2), (ROWS,))],
    "resize_": [(lambda x: x.clone().resize_(2), (ROWS,))],
}


def looped(function: Callable[..., Any], batches: tuple[Any, ...]) -> list[str]:
    """The functions that a map warns of."""
    _batching._warned.clear()
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        torch.vmap(function, randomness="different")(*batches)
        torch.vmap(function, randomness="different")(*batches)  # which does not say it again
    return [m[1] for w in found if (m := re.search(r"batching rule for (.*): it runs once for each", str(w.message)))]


@pytest.mark.parametrize("name", CALLS)
def test_a_loop_names_what_was_called_once(name: str) -> None:
    for function, batches in CALLS[name]:
        assert looped(function, batches) == [name]
        each = [function(*[b[i].clone() for b in batches]) for i in range(2)]
        torch.testing.assert_close(torch.vmap(function, randomness="different")(*batches), torch.stack(each))


def test_all_that_have_no_rule_are_called_here(monkeypatch: pytest.MonkeyPatch) -> None:
    reached: set[str] = set()
    loop = _batching.looped

    def noted(batch: Any) -> Any:
        reached.add(batch.row.name)
        return loop(batch)

    monkeypatch.setattr(_batching, "looped", noted)
    for function, batches in (call for calls in CALLS.values() for call in calls):
        looped(function, batches)
    without = {name for name, choice in choices.items() if _batching.rule_of(choice) is None}
    assert without <= reached


def test_the_guide_names_them() -> None:
    guide = (Path(__file__).parents[2] / "docs/how-to/vmap.md").read_text()
    (paragraph,) = [part for part in guide.split("\n\n") if part.startswith("An operation without a rule")]
    assert set(re.findall(r"`(\w+)`", paragraph)) - {"max_norm"} == set(CALLS)


def test_layers_and_gradients_are_named_by_their_functions() -> None:
    layer = torch.nn.GRU(4, 2)
    weights = {name: torch.stack([p.detach(), 2 * p.detach()]) for name, p in layer.named_parameters()}
    run = lambda w, x: torch.func.functional_call(layer, w, (x[None],))[0]
    assert looped(run, (weights, ROWS)) == ["gru"]
    assert _batching.function_of(torch._op.rows["ctc_loss_backward"]) == "the gradient of ctc_loss"
