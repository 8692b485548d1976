"""torch's own signatures of functions of nn.functional."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from against import same_as_pytorch
from backend import torch

_random = np.random.default_rng(0)
X, Y, Z = [_random.normal(size=(4, 3)) for _ in range(3)]
SIGNS = np.array([1.0, -1.0, 1.0, -1.0])
IMAGE, GRID = _random.normal(size=(2, 2, 3, 4)), _random.uniform(-1, 1, size=(2, 3, 3, 2))
STATISTICS = _random.uniform(0.5, 1, size=2)

CALLS: list[tuple[Any, tuple[np.ndarray, ...]]] = [
    (lambda t, x, y: t.kl_div(x, y.exp(), 2), (X, Y)),
    (lambda t, x, y: t.kl_div(x, y, log_target=True), (X, Y)),
    (lambda t, x, y: t.binary_cross_entropy_with_logits(x, y.sigmoid(), reduction=0), (X, Y)),
    (lambda t, x, y: t.poisson_nll_loss(x, y.exp(), True, True, 1e-8, 1), (X, Y)),
    (lambda t, x, y, s: t.cosine_embedding_loss(x, y, s.detach(), 0.1, 2), (X, Y, SIGNS)),
    (lambda t, x, s: t.hinge_embedding_loss(x, s.detach(), 0.5), (X[:, 0], SIGNS)),
    (lambda t, x, y, s: t.margin_ranking_loss(x, y, s.detach(), 0.5, 0), (X[:, 0], Y[:, 0], SIGNS)),
    (lambda t, x, y, z: t.triplet_margin_loss(x, y, z, swap=True, reduction=2), (X, Y, Z)),
    (lambda t, x: t.ctc_loss(x.log_softmax(-1).unsqueeze(1), t.tensor([[1, 2]]), (4,), (2,), 0, 2), (X,)),
    (lambda t, w: t.embedding(w, t.tensor([[0, 1], [3, 3]]), 3), (X,)),
    (lambda t, w: t.embedding_bag(w, t.tensor([0, 1, 3, 3]), t.tensor([0, 1, 1]))[0], (X,)),
    (lambda t, w: t.embedding_bag(w, t.tensor([0, 1, 3, 3]), t.tensor([0, 1]), mode=1)[0], (X,)),
    (lambda t, w: t.embedding_bag(w, t.tensor([0, 1, 3, 3]), t.tensor([0, 1, 1]), mode=2)[0], (X,)),
    (lambda t, x: t.batch_norm(x, None, None, None, None, True, 0.1, 1e-5, False), (IMAGE,)),
    (lambda t, x, m, v: t.batch_norm(x, m, v, m.detach(), v.detach(), False, 0.1, 1e-5, True),
     (IMAGE, STATISTICS, STATISTICS)),
    (lambda t, x: t.instance_norm(x, None, None, None, None, True, 0.1, 1e-5, False), (IMAGE,)),
    (lambda t, x, g: t.grid_sampler(x, g, 0, 1, True), (IMAGE, GRID)),
    (lambda t, x, g: t.grid_sampler_2d(x, g, 1, 0, False), (IMAGE, GRID)),
    (lambda t, x: t.affine_grid_generator(x, [4, 1, 2, 2], False), (X.repeat(2, 1).reshape(4, 2, 3),)),
    (lambda t, x: t.max_pool1d_with_indices(x, 2), (X,)),
    (lambda t, x: t.dropout(x, p=0.4, train=True), (X,)),
    (lambda t, x: t.dropout(x, 0.4, False), (X,)),
    (lambda t, x: t.dropout_(x * 1, 0.4, True), (X,)),
    (lambda t, x: t.alpha_dropout(x, 0.4, True), (X,)),
    (lambda t, x: t.feature_dropout(x, 0.4, True), (X,)),
    (lambda t, x: t.feature_dropout_(x * 1, 0.4, True), (X,)),
    (lambda t, x: t.feature_alpha_dropout(x, 0.4, True), (X,)),
    (lambda t, x: t.rrelu(x, training=True), (X,)),
    (lambda t, x: t.pixel_shuffle(x, 2), (IMAGE.reshape(1, 4, 3, 4),)),
    (lambda t, x, w, b: t.conv_tbc(x, w, b, 1), (_random.normal(size=(5, 2, 3)), _random.normal(size=(2, 3, 4)), np.ones(4))),
]  # fmt: skip


@pytest.mark.parametrize(("call", "arrays"), CALLS, ids=[str(i) for i in range(len(CALLS))])
def test_as_in_pytorch(call: Any, arrays: tuple[np.ndarray, ...]) -> None:
    same_as_pytorch(call, *arrays, second=False)


def test_numbers_of_reductions() -> None:
    x, target = torch.tensor([1.0, 3.0]), torch.tensor([1.0, 1.0])
    assert torch.hinge_embedding_loss(x, target).tolist() == [1.0, 3.0]
    assert torch.hinge_embedding_loss(x, target, reduction=1).item() == 2
    assert torch.hinge_embedding_loss(x, target, reduction=2).item() == 4


def test_dropout_in_place_writes_its_input() -> None:
    for function in (torch.dropout_, torch.alpha_dropout_, torch.feature_dropout_, torch.feature_alpha_dropout_):
        x = torch.ones(2, 3)
        assert function(x, 1.0, True) is x
        assert (x == 0).all()
    with pytest.raises(RuntimeError, match="at least 2 dimensions"):
        torch.feature_dropout(torch.ones(3), 0.5, True)
