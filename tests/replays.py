"""Calls of public functions whose results depend on values in other ways than by rows alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import minitorch as torch
from minitorch.nn import functional as F

_random = np.random.default_rng(5)


def floats(*shape: int) -> np.ndarray:
    """Normal numbers, in float32."""
    return _random.normal(size=shape).astype(np.float32)


def integers(high: int, *shape: int) -> np.ndarray:
    """Integers below *high*."""
    return _random.integers(0, high, size=shape)


def bools(*shape: int) -> np.ndarray:
    """True or false, one of each at least in the first two."""
    found = _random.random(size=shape) < 0.5
    found.flat[:2] = True, False
    return found


Case = tuple[Callable[..., Any], tuple[np.ndarray, ...]]


def case(function: Callable[..., Any], *inputs: np.ndarray) -> Case:
    return function, inputs


def _histograms(x: Any, w: Any) -> Any:
    x, w = x.detach(), w.detach()
    return *torch.histogram(x, 4), *torch.histogram(x, 3, range=(-1, 1), weight=w)


def _counts(x: Any) -> Any:
    return torch.poisson(x.abs()), torch.binomial(x.detach().abs().round() + 4, x.detach().sigmoid())


CHOICES: dict[str, Case] = {
    "argmax": case(lambda x: (x.argmax(), x.argmax(1), x.argmax(0, keepdim=True)), floats(3, 4)),
    "argmin": case(lambda x: (x.argmin(), x.argmin(1)), floats(3, 4)),
    "argsort": case(lambda x: (x.argsort(), x.argsort(0, descending=True)), floats(3, 4)),
    "max": case(lambda x: (*x.max(1), *x.max(0, keepdim=True), x.max()), floats(3, 4)),
    "min": case(lambda x: tuple(x.min(1)), floats(3, 4)),
    "aminmax": case(lambda x: tuple(torch.aminmax(x)), floats(3, 4)),
    "sort": case(lambda x: (*x.sort(), *x.sort(0, True), torch.msort(x)), floats(3, 4)),
    "topk": case(lambda x: (*x.topk(2), *x.topk(1, 0, False)), floats(30, 4)),
    "kthvalue": case(lambda x: (*x.kthvalue(2), *x.kthvalue(1, 0, True)), floats(3, 4)),
    "median": case(lambda x: (x.median(), *x.median(1), *x.nanmedian(0)), floats(3, 4)),
    "mode": case(lambda x: tuple(x.mode()), integers(3, 4, 5)),
    "cummax": case(lambda x: (*x.cummax(1), *x.cummin(0)), floats(3, 4)),
    "quantile": case(lambda x, q: (x.quantile(q), x.quantile(0.3, 1), x.nanquantile(q, 0, True)), floats(5, 4),
                     np.array([0.2, 0.7], np.float32)),
    "quantile, not interpolated": case(
        lambda x: [x.quantile(0.3, 1, interpolation=i) for i in ("lower", "higher", "midpoint", "nearest")], floats(5, 4)),
    "histc": case(lambda x: (x.histc(5), x.histc(4, -1, 1)), floats(20)),
    "bincount": case(lambda i, w: (i.bincount(minlength=9), i.bincount(w.detach(), 9)), integers(7, 20), floats(20)),
    "histogram": case(_histograms, floats(20),
                      floats(20)),
    "histogramdd": case(lambda x: torch.histogramdd(x.detach(), [2, 3])[0], floats(20, 2)),
    "searchsorted": case(
        lambda s, x: (torch.searchsorted(s.sort()[0], x), torch.bucketize(x, s.sort()[0], right=True),
                      torch.searchsorted(s, x, sorter=s.argsort())), floats(6), floats(5)),
    "isin": case(lambda a, b: (torch.isin(a, b), torch.isin(a, 2)), integers(6, 8), integers(6, 3)),
    "isclose": case(lambda a, b: torch.isclose(a, b, rtol=0.5), floats(9), floats(9)),
    "any": case(lambda x: ((x > 0).any(), (x > 0).all(1), x.bool().any(0, True)), floats(3, 4)),
    "count_nonzero": case(lambda x: (x.count_nonzero(), x.count_nonzero(0)), integers(3, 4, 5)),
    "nanmean": case(lambda x: (x.log().nanmean(), x.log().nanmean(1), x.log().nansum()), floats(4, 5)),
    "unravel_index": case(lambda i: torch.unravel_index(i, (3, 4)), integers(12, 5)),
    "gradient": case(lambda x, s: torch.gradient(x, spacing=(s.cumsum(0),)), floats(6), np.abs(floats(6)) + 1),
    "frexp": case(lambda x: tuple(x.frexp()), floats(5)),
    "nonzero_static": case(lambda x: torch.nonzero_static(x, size=4), integers(2, 6)),
    "take_along_dim": case(lambda x, i: torch.take_along_dim(x, i, 1), floats(3, 4), integers(4, 3, 2) - 2),
    "one_hot": case(lambda i: F.one_hot(i, 5), integers(5, 6)),
    "index_reduce": case(lambda x, i, s: torch.index_reduce(x, 0, i, s, "amax"), floats(4, 3), integers(4, 3), floats(3, 3)),
    "scatter": case(lambda x, i: (x.scatter(1, i, 2.0), x.scatter_add(1, i, x), x.gather(1, i)), floats(3, 4),
                    integers(4, 3, 4)),
    "index": case(lambda x, i, m: (x[i], x[:, i], torch.where(m, x, -x), x.index_select(0, i)), floats(4, 4),
                  integers(4, 3), bools(4, 4)),
    "index_put": case(lambda x, i, v: x.index_put((i,), v, accumulate=True), floats(4, 4), integers(4, 3), floats(3, 4)),
    "assigned": case(lambda x, i, m: assigned(x.clone(), i, m), floats(4, 4), integers(4, 2), bools(4, 4)),
    "take": case(lambda x, i: (x.take(i), torch.put(x, i, x.flatten()[:3])), floats(3, 4), np.array([1, 5, 7])),
    "masked": case(lambda x, m: (x.masked_fill(m, 2.0), x.masked_scatter(m, x * 2)), floats(3, 4), bools(3, 4)),
    "integers": case(lambda x: ((x * 9).int(), x.long(), x.bool(), (x * 3).to(torch.uint8)), floats(5)),
    "another dtype's view": case(lambda x: (x.view(torch.int32) & 7, x.view(torch.int16).sum()), floats(4)),
    "rounding": case(lambda x: (x.round(), x.floor(), x.sign(), x.trunc(), x.frac(), x % 0.5), floats(9)),
    "bits": case(lambda i, j: (i & j, i | j, i << 1, ~i, torch.gcd(i, j)), integers(9, 5), integers(9, 5) + 1),
    "renorm": case(lambda x: x.renorm(2, 0, 1.0), floats(4, 5)),
    "cond": case(lambda x: (torch.linalg.cond(x), torch.linalg.cond(x, 1), torch.linalg.matrix_rank(x)), floats(3, 3)),
    "geqrf": case(lambda x: tuple(torch.geqrf(x.detach())), floats(4, 3)),
    "lu": case(lambda x: (*torch.linalg.lu(x), x.det(), x.slogdet()[1], torch.linalg.solve(x, x[:, 0])), floats(3, 3)),
    "svd": case(lambda x: (*torch.linalg.svd(x), torch.linalg.pinv(x), *torch.linalg.qr(x)), floats(4, 3)),
    "eigh": case(lambda x: tuple(torch.linalg.eigh(x @ x.T)), floats(3, 3)),
    "lstsq": case(lambda x, y: torch.linalg.lstsq(x, y)[0], floats(5, 3), floats(5, 2)),
    "cdist": case(lambda x, y: (torch.cdist(x, y), F.pdist(x), torch.cdist(x, y, 1.0)), floats(4, 3), floats(5, 3)),
    "combinations": case(torch.combinations, floats(4)),
    "vander": case(lambda x: (torch.vander(x), torch.linalg.multi_dot([x.diag(), x.diag(), x])), floats(4)),
    "trapezoid": case(lambda x: (torch.trapezoid(x), x.diff(), x.cumsum(0), x.logcumsumexp(0)), floats(4)),
}  # fmt: skip
"""Choices, counts and masks, whose results fit their inputs."""


def assigned(x: Any, i: Any, m: Any) -> Any:
    x[0] = x[1] * 2
    x[i] = 1.5
    x[m] = x[m] * 3
    x[:, 1] += 1
    x[2, i] = x[i, 2]
    return x


LOSSES: dict[str, Case] = {
    "cross_entropy": case(F.cross_entropy, floats(6, 4), integers(4, 6)),
    "cross_entropy, ignored": case(
        lambda x, t, w: [F.cross_entropy(x, t, w, ignore_index=1, reduction=r) for r in ("mean", "sum", "none")],
        floats(6, 4), integers(4, 6), np.abs(floats(4))),
    "cross_entropy, smooth": case(
        lambda x, t, w: [F.cross_entropy(x, t, ww, ignore_index=1, label_smoothing=0.1) for ww in (None, w)], floats(6, 4),
        integers(4, 6), np.abs(floats(4))),
    "cross_entropy of images": case(lambda x, t: F.cross_entropy(x, t, ignore_index=2), floats(2, 4, 3, 3),
                                    integers(4, 2, 3, 3)),
    "cross_entropy of probabilities": case(lambda x, y: F.cross_entropy(x, y.softmax(1)), floats(6, 4), floats(6, 4)),
    "nll_loss": case(lambda x, t: F.nll_loss(x.log_softmax(1), t), floats(6, 4), integers(4, 6)),
    "multi_margin_loss": case(lambda x, t, w: (F.multi_margin_loss(x, t), F.multi_margin_loss(x, t, 2, weight=w)),
                              floats(6, 4), integers(4, 6), floats(4)),
    "multilabel_margin_loss": case(F.multilabel_margin_loss, floats(3, 4), integers(5, 3, 4) - 1),
    "multilabel_soft_margin_loss": case(lambda x, t: F.multilabel_soft_margin_loss(x, t.float()), floats(3, 4), bools(3, 4)),
    "margins": case(
        lambda x, y, z: (F.triplet_margin_loss(x, y, z), F.margin_ranking_loss(x, y, z.sign()), F.soft_margin_loss(x, z.sign()),
                         F.hinge_embedding_loss(x, z.sign()), F.cosine_embedding_loss(x, y, z[:, 0].sign())),
        floats(3, 4), floats(3, 4), floats(3, 4)),
    "regressions": case(lambda x, y: (F.mse_loss(x, y), F.l1_loss(x, y), F.smooth_l1_loss(x, y), F.huber_loss(x, y)),
                        floats(3, 4), floats(3, 4)),
    "gaussian_nll_loss": case(lambda x, y, v: F.gaussian_nll_loss(x, y, v * v, eps=0.3), floats(5), floats(5), floats(5)),
    "poisson_nll_loss": case(lambda x, y: F.poisson_nll_loss(x, y.abs() * 3, full=True), floats(5), floats(5)),
    "kl_div": case(lambda x, y: F.kl_div(x.log_softmax(1), y.softmax(1), reduction="batchmean"), floats(3, 4), floats(3, 4)),
    "bce": case(lambda x, y, w: (F.binary_cross_entropy(x.sigmoid(), y.sigmoid(), w.abs()),
                                 F.binary_cross_entropy_with_logits(x, y.sigmoid(), pos_weight=w.abs())),
                floats(4), floats(4), floats(4)),
    "ctc_loss": case(lambda x, t: F.ctc_loss(x.log_softmax(-1), t + 1, (6, 5), (2, 2)), floats(6, 2, 4), integers(3, 2, 2)),
}  # fmt: skip
"""Losses, of targets that are values too."""


LAYERS: dict[str, Case] = {
    "max_pool": case(lambda x: (*F.max_pool2d(x, 2, return_indices=True), F.max_pool2d(x, 3, 1, 1)), floats(1, 2, 4, 6)),
    "max_pool1d": case(lambda x: tuple(F.max_pool1d(x, 2, return_indices=True)), floats(1, 2, 6)),
    "adaptive_max_pool": case(lambda x: tuple(F.adaptive_max_pool2d(x, (2, 3), return_indices=True)), floats(1, 2, 5, 6)),
    "unpool": case(lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2), floats(1, 2, 4, 4)),
    "lp_pool": case(lambda x: (F.lp_pool2d(x.abs(), 2.0, 2), F.avg_pool2d(x, 2), F.local_response_norm(x, 2)),
                    floats(1, 2, 4, 4)),
    "grid_sample": case(
        lambda x, g: [F.grid_sample(x, g.tanh() * 1.5, mode=m, padding_mode=p, align_corners=False)
                      for m in ("bilinear", "nearest", "bicubic") for p in ("zeros", "border", "reflection")],
        floats(2, 3, 4, 5), floats(2, 3, 3, 2)),
    "affine_grid": case(lambda t: F.affine_grid(t, (2, 1, 3, 3), align_corners=False), floats(2, 2, 3)),
    "interpolate": case(lambda x: [F.interpolate(x, scale_factor=2, mode=m) for m in ("nearest", "bilinear", "bicubic")],
                        floats(1, 2, 3, 3)),
    "embedding": case(lambda i, w: (F.embedding(i, w, padding_idx=1), F.embedding(i, w, scale_grad_by_freq=True)),
                      integers(6, 2, 3), floats(6, 4)),
    "embedding_bag": case(lambda i, w: [F.embedding_bag(i, w, mode=m) for m in ("sum", "mean", "max")], integers(6, 3, 4),
                          floats(6, 4)),
    "embedding_bag, offsets": case(
        lambda i, w, s: (F.embedding_bag(i, w, torch.tensor([0, 2, 5]), mode="max"),
                         F.embedding_bag(i, w, torch.tensor([0, 2, 2]), mode="sum", per_sample_weights=s)),
        integers(6, 8), floats(6, 4), floats(8)),
    "batch_norm": case(
        lambda x: (F.batch_norm(x, torch.zeros(3), torch.ones(3), training=True), F.instance_norm(x), F.layer_norm(x, (4,)),
                   F.group_norm(x, 3), F.rms_norm(x, (4,))), floats(5, 3, 4)),
    "normalize": case(lambda x: (F.normalize(x), F.cosine_similarity(x, x.flip(0)), F.pairwise_distance(x, x.flip(0))),
                      floats(3, 4)),
    "attention": case(
        lambda q, k, m: (F.scaled_dot_product_attention(q, k, k, is_causal=True),
                         F.scaled_dot_product_attention(q, k, k, attn_mask=m),
                         F.scaled_dot_product_attention(q, k, k, attn_mask=m.float())),
        floats(2, 2, 5, 4), floats(2, 2, 5, 4), bools(5, 5)),
    "activations": case(
        lambda x: [f(x) for f in (F.relu, F.gelu, F.elu, F.selu, F.silu, F.mish, F.softplus, F.hardtanh, F.hardswish,
                                  F.leaky_relu, F.threshold_, F.glu, F.softsign, F.logsigmoid, F.relu6, F.celu) if
                   f is not F.threshold_], floats(3, 4)),
    "in place": case(
        lambda x: [f(x * 1) for f in (F.relu_, F.elu_, F.selu_, torch.exp_, torch.sigmoid_, torch.abs_,
                                      lambda y: F.dropout(y, 0.0, inplace=True), lambda y: y.clamp_(-0.5, 0.5),
                                      lambda y: y.t_().add_(1), lambda y: y.unsqueeze_(0).mul_(2))], floats(3, 4)),
}  # fmt: skip
"""Functions of layers."""


DRAWS: dict[str, Case] = {
    "dropout": case(lambda x: (F.dropout(x), F.dropout(x, 0.2), F.dropout(x * 1, inplace=True)), floats(3, 4)),
    "dropout of features": case(lambda x: (F.dropout1d(x), F.feature_alpha_dropout(x, training=True)), floats(2, 3, 4)),
    "alpha_dropout": case(lambda x: (F.alpha_dropout(x, training=True), F.alpha_dropout(x * 1, 0.3, True, True)), floats(3, 4)),
    "rrelu": case(lambda x: F.rrelu(x, training=True), floats(3, 4)),
    "gumbel_softmax": case(lambda x: (F.gumbel_softmax(x), F.gumbel_softmax(x, hard=True)), floats(3, 4)),
    "factories": case(
        lambda x: (x + torch.randn(3, 4), x * torch.rand(3, 4), torch.randint(5, (3,)), torch.randperm(5),
                   torch.normal(0.0, 1.0, (2,))), floats(3, 4)),
    "like": case(lambda x: (torch.randn_like(x), torch.rand_like(x.t()), torch.randint_like(x, 4)), floats(3, 4)),
    "in place": case(lambda x: (x.clone().normal_(), torch.zeros(3).uniform_(), torch.empty(2).exponential_(),
                                torch.zeros(3).random_(5)), floats(3, 4)),
    "bernoulli": case(lambda x: (torch.bernoulli(x.sigmoid()), torch.bernoulli(x, 0.5), x.clone().bernoulli_(0.3)),
                      floats(3, 4)),
    "multinomial": case(lambda x: (x.abs().multinomial(2), x.abs().multinomial(5, True)), floats(3, 4)),
    "normal": case(lambda x: (torch.normal(x, 2.0), torch.normal(0.0, x.abs()), torch.normal(x, x.abs())), floats(3, 4)),
    "poisson": case(_counts, floats(3, 4)),
    "fractional_max_pool": case(lambda x: tuple(F.fractional_max_pool2d(x, 2, 2, return_indices=True)), floats(1, 2, 5, 5)),
    "attention": case(lambda q: F.scaled_dot_product_attention(q, q, q, dropout_p=0.3), floats(2, 2, 5, 4)),
}  # fmt: skip
"""What draws random numbers: anew in each run."""


UNFIT: dict[str, Case] = {
    "nonzero": case(lambda x: (x.nonzero(), *x.nonzero(as_tuple=True), *torch.where(x)), integers(2, 3, 4)),
    "unique": case(lambda x: torch.unique(x, return_inverse=True, return_counts=True), integers(4, 9)),
    "unique_consecutive": case(lambda x: torch.unique_consecutive(x, return_inverse=True), integers(3, 9)),
    "masked_select": case(lambda x, m: (x.masked_select(m), x[m], x[:, m[0]]), floats(3, 4), bools(3, 4)),
    "repeat_interleave": case(lambda x, r: x.repeat_interleave(r, 0), floats(3, 4), integers(4, 3)),
    "embedding_bag": case(lambda i, w: F.embedding_bag(i, w, padding_idx=1, mode="mean"), integers(6, 3, 4), floats(6, 4)),
}  # fmt: skip
"""What has shapes that depend on values."""
