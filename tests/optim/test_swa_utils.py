"""Averaged models: their parameters, buffers and rates equal PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minitorch
from backend import torch

MODES: dict[str, Any] = {
    "equal": lambda u: {},
    "ema": lambda u: {"avg_fn": u.get_ema_avg_fn(0.9)},
    "ema of lists": lambda u: {"multi_avg_fn": u.get_ema_multi_avg_fn(0.9)},
    "equal lists": lambda u: {"multi_avg_fn": u.get_swa_multi_avg_fn()},
    "buffers": lambda u: {"use_buffers": True},
}


def averaged(library: Any, mode: str) -> tuple[dict[str, Any], list[Any]]:
    library.manual_seed(0)
    nn, utils = library.nn, library.optim.swa_utils
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 2))
    average = utils.AveragedModel(model, **MODES[mode](utils))
    optimizer = library.optim.SGD(model.parameters(), lr=0.1)
    scheduler = utils.SWALR(optimizer, swa_lr=0.5, anneal_epochs=3)
    rates = []
    batches = [library.randn(5, 3) for _ in range(5)]
    for x in batches:
        optimizer.zero_grad()
        model(x).square().sum().backward()
        optimizer.step()
        average.update_parameters(model)
        scheduler.step()
        rates += scheduler.get_last_lr()
    utils.update_bn(batches, average)
    average.eval()
    state = {k: v.numpy() for k, v in average.state_dict().items()}
    return state | {"out": average(batches[0]).detach().numpy()}, rates


@pytest.mark.parametrize("mode", MODES)
def test_averages_equal_pytorchs(mode: str) -> None:
    reference = pytest.importorskip("torch")
    (ours, rates), (theirs, their_rates) = averaged(minitorch, mode), averaged(reference, mode)
    assert list(ours) == list(theirs)
    for name, value in theirs.items():
        np.testing.assert_allclose(ours[name], value, rtol=1e-4, atol=1e-6, err_msg=name)
    assert rates == pytest.approx(their_rates)


def test_refusals() -> None:
    utils, optimizer = torch.optim.swa_utils, torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1)
    for make in (
        lambda: utils.get_ema_avg_fn(1.5),
        lambda: utils.get_ema_multi_avg_fn(-1),
        lambda: utils.SWALR(optimizer, 0.1, anneal_strategy="square"),
        lambda: utils.SWALR(optimizer, 0.1, anneal_epochs=-1),
        lambda: utils.SWALR(optimizer, [0.1, 0.2]),
    ):
        with pytest.raises(ValueError, match=r"\w+"):
            make()
    with pytest.raises(AssertionError, match="Only one"):
        utils.AveragedModel(torch.nn.Linear(1, 1), avg_fn=max, multi_avg_fn=max)
