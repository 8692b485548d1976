"""Right functions as they are written by hand: losses, normalisations, attention with masks, recurrent steps, scores.

In most of them large terms cancel, or equal numbers come together: gradients that are 0 but for rounding, maxima that are
subtracted and add nothing, rows without a spread.
"""

from __future__ import annotations

import math
from typing import Any

import minitorch as torch

from ._record import Draw, correct, integers, normal, positive, values


def equal(*shape: int) -> Draw:
    """One number, everywhere."""
    return lambda generator: normal()(generator).expand(shape).clone()


def blocks(*shape: int) -> Draw:
    """Few numbers, again and again: whole, so that sums of them are equal too."""
    return lambda generator: torch.randint(-2, 3, shape, generator=generator).double()


# -- softmax and cross-entropy -----------------------------------------------------------------------------------------
def softmax(x: Any, dim: int = -1) -> Any:
    e = (x - x.max(dim, keepdim=True).values).exp()
    return e / e.sum(dim, keepdim=True)


def log_softmax(x: Any) -> Any:
    x = x - x.amax(-1, keepdim=True)
    return x - x.exp().sum(-1, keepdim=True).log()


def logsumexp(x: Any) -> Any:
    m = x.detach().amax(-1, keepdim=True)
    return (m + (x - m).exp().sum(-1, keepdim=True).log()).squeeze(-1)


def cross_entropy(x: Any, t: Any) -> Any:
    return -log_softmax(x)[torch.arange(len(t)), t].mean()


def cross_entropy_of_shares(x: Any, t: Any) -> Any:
    e = x.exp()
    p = e / e.sum(1, keepdim=True)
    return -(torch.eye(x.shape[1], dtype=x.dtype)[t] * p.log()).sum() / len(x)


def cross_entropy_smoothed(x: Any, t: Any) -> Any:
    wanted = torch.full_like(x, 0.1 / x.shape[1]).scatter_add(1, t[:, None], torch.full((len(t), 1), 0.9).to(x.dtype))
    return -(wanted * log_softmax(x)).sum(1).mean()


def focal(x: Any, t: Any) -> Any:
    p = softmax(x).gather(1, t[:, None])
    return -((1 - p) ** 2 * p.log()).mean()


def binary_cross_entropy(x: Any, t: Any) -> Any:
    p, t = 1 / (1 + (-x).exp()), t.to(x.dtype)
    return -(t * p.log() + (1 - t) * (1 - p).log()).mean()


def stable_binary_cross_entropy(x: Any, t: Any) -> Any:
    return (x.clamp(min=0) - x * t.to(x.dtype) + (-x.abs()).exp().log1p()).mean()


def distillation(student: Any, teacher: Any) -> Any:
    p, q = softmax(teacher / 2), log_softmax(student / 2)
    return 4 * (p * (p.log() - q)).sum(-1).mean()


def entropy(x: Any) -> Any:
    p = softmax(x)
    return -(p * p.log()).sum(-1)


def contrastive(a: Any, b: Any) -> Any:
    a, b = a / a.norm(dim=1, keepdim=True), b / b.norm(dim=1, keepdim=True)
    return cross_entropy(a @ b.t() / 0.1, torch.arange(len(a)))


for _name, _draw in (
    ("", normal(3, 4)),
    ("_equal", equal(3, 4)),
    ("_blocks", blocks(3, 4)),
    ("_large", normal(3, 4, scale=30.0)),
):
    correct(f"hand_softmax{_name}", softmax, _draw, single=True, smooth=False)
    correct(f"hand_log_softmax{_name}", log_softmax, _draw, single=True, smooth=False)
    correct(f"hand_logsumexp{_name}", logsumexp, _draw, single=True, smooth=False)
    correct(f"hand_cross_entropy{_name}", cross_entropy, _draw, integers(4, 3), single=True, smooth=False)
    correct(
        f"hand_cross_entropy_smoothed{_name}", cross_entropy_smoothed, _draw, integers(4, 3), single=True, smooth=False
    )
correct("hand_cross_entropy_of_shares", cross_entropy_of_shares, normal(3, 4), integers(4, 3), single=True)
correct("hand_cross_entropy_of_equal_shares", cross_entropy_of_shares, equal(3, 4), integers(4, 3), single=True)
correct("hand_softmax_adds_up", lambda x: softmax(x, 0).sum(0), normal(3, 4), single=True, smooth=False)
correct("hand_focal", focal, normal(3, 4), integers(4, 3), ties=True, single=True)
correct("hand_bce", binary_cross_entropy, normal(5), integers(2, 5), single=True)
correct("hand_bce_stable", stable_binary_cross_entropy, blocks(5), integers(2, 5), smooth=False, single=True)
correct("hand_distillation", distillation, normal(2, 4), normal(2, 4), single=True, smooth=False)
correct("hand_distillation_of_the_same", lambda x: distillation(x, x), normal(2, 4), single=True, smooth=False)
correct("hand_entropy", entropy, blocks(2, 4), single=True, smooth=False)
correct("hand_contrastive", contrastive, normal(3, 4), normal(3, 4), single=True, smooth=False)
correct("hand_contrastive_with_itself", lambda x: contrastive(x, x), normal(3, 4), single=True, smooth=False)


# -- normalisations and moments ----------------------------------------------------------------------------------------
def variance(x: Any) -> Any:
    return ((x - x.mean()) ** 2).mean()


def layer_norm(x: Any, weight: Any, bias: Any) -> Any:
    mean = x.mean(-1, keepdim=True)
    return (x - mean) / (x.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt() * weight + bias


def batch_norm(x: Any, weight: Any, bias: Any) -> Any:
    mean, var = x.mean(0), ((x - x.mean(0)) ** 2).mean(0)
    return weight * (x - mean) / torch.sqrt(var + 1e-5) + bias


def group_norm(x: Any) -> Any:
    y = x.reshape(len(x), 2, -1)
    y = (y - y.mean(2, keepdim=True)) * (y.var(2, keepdim=True, unbiased=False) + 1e-5).rsqrt()
    return y.reshape(x.shape)


def cosine(a: Any, b: Any) -> Any:
    return (a * b).sum(-1) / (a.norm(dim=-1) * b.norm(dim=-1) + 1e-8)


def correlation(x: Any, y: Any) -> Any:
    x, y = x - x.mean(), y - y.mean()
    return (x * y).sum() / ((x**2).sum() * (y**2).sum()).sqrt()


def whitened(x: Any) -> Any:
    x = x - x.mean(0)
    values, vectors = torch.linalg.eigh(x.t() @ x / len(x) + torch.diag(torch.tensor([0.1, 5.0])).to(x.dtype))
    return (x @ vectors / values.sqrt()) @ vectors.t()


for _name, _rows in (
    ("", normal(3, 4)),
    ("_blocks", blocks(3, 4)),
    ("_far", normal(3, 4, shift=50.0)),
    ("_spread", normal(3, 4, scale=20.0)),
):
    correct(f"hand_layer_norm{_name}", layer_norm, _rows, positive(4), normal(4), single=True, smooth=False)
    correct(f"hand_batch_norm{_name}", batch_norm, _rows, positive(4), normal(4), single=True, smooth=False)
    correct(f"hand_group_norm{_name}", group_norm, _rows, single=True, smooth=False)
    correct(f"hand_variance{_name}", variance, _rows, single=True, smooth=False)
correct("hand_variance_equal", variance, equal(5), single=True)
correct("hand_variance_of_few", variance, values(0.1, 0.1, 0.1), single=True)
correct("hand_var_equal", lambda x: x.var(), equal(4), single=True)
correct("hand_moments", lambda x: (x**2).mean() - x.mean() ** 2, equal(5), single=True)
correct("hand_covariance", lambda x: (x - x.mean(0)).t() @ (x - x.mean(0)) / 2, blocks(3, 2), single=True)
correct("hand_standardised", lambda x: (x - x.mean()) / (x.std() + 1e-6), normal(5), single=True)
correct(
    "hand_rms_norm",
    lambda x, w: x * (x.square().mean(-1, keepdim=True) + 1e-6).rsqrt() * w,
    normal(2, 4),
    normal(4),
    single=True,
)
correct("hand_cosine", cosine, normal(3, 4), normal(3, 4), single=True)
correct("hand_cosine_with_itself", lambda x: cosine(x, x), normal(3, 4), single=True)
correct("hand_cosine_opposite", lambda x: cosine(x, -2 * x), normal(3, 4), single=True)
correct("hand_correlation", correlation, normal(5), normal(5), single=True)
correct("hand_correlation_with_itself", lambda x: correlation(x, 3 * x + 1), normal(5), single=True)
correct("hand_whitened", whitened, normal(4, 2), single=True, smooth=False)
correct("hand_min_max", lambda x: (x - x.min()) / (x.max() - x.min()), normal(5), single=True, smooth=False)
correct("hand_clipped_norm", lambda x: x * (1 / x.norm()).clamp(max=1), normal(4), single=True, smooth=False)
correct("hand_zero", lambda x: x * 3 - x - x * 2, normal(2, 3, scale=7.0), single=True)
correct("hand_one", lambda x: x.cosh() ** 2 - x.sinh() ** 2, normal(2, 3), single=True)


# -- margins, distances, robust losses ---------------------------------------------------------------------------------
def hinge(x: Any, t: Any) -> Any:
    return (1 - (2 * t - 1).to(x.dtype) * x).clamp(min=0).mean()


def margins(x: Any, t: Any) -> Any:
    right = x.gather(1, t[:, None])
    return torch.relu(1 + x - right).sum(1).mean() - 1


def huber(x: Any, y: Any) -> Any:
    d = (x - y).abs()
    return torch.where(d < 1, 0.5 * d**2, d - 0.5).mean()


def pinball(x: Any) -> Any:
    return torch.maximum(0.9 * x, -0.1 * x).mean()


def triplet(a: Any, p: Any, n: Any) -> Any:
    return torch.relu(((a - p) ** 2).sum(1) - ((a - n) ** 2).sum(1) + 1).mean()


def distances(a: Any, b: Any) -> Any:
    squares = (a**2).sum(1)[:, None] + (b**2).sum(1) - 2 * a @ b.t()
    return (squares.clamp(min=0) + 1e-3).sqrt()


def chamfer(a: Any, b: Any) -> Any:
    d = ((a[:, None] - b) ** 2).sum(-1)
    return d.min(0).values.sum() + d.min(1).values.sum()


correct("hand_hinge", hinge, normal(6), integers(2, 6), at=(1.0, -1.0), single=True)
correct("hand_multiclass_hinge", margins, normal(3, 4), integers(4, 3), ties=True, single=True)
correct("hand_huber", huber, normal(6), normal(6), order=1, single=True)
correct("hand_huber_equal", lambda x: huber(x, x.detach()), normal(6), single=True, order=1)
correct("hand_pinball", pinball, normal(6), at=(0.0,), single=True)
correct("hand_triplet", triplet, normal(3, 2), normal(3, 2), normal(3, 2), smooth=False, single=True)
correct("hand_distances", distances, normal(3, 2), normal(2, 2), smooth=False, single=True)
correct("hand_chamfer", chamfer, normal(4, 2), normal(3, 2), smooth=False, single=True)
correct("hand_total_variation", lambda x: (x[1:] - x[:-1]).abs().sum(), blocks(6), smooth=False, single=True)
correct("hand_soft_threshold", lambda x: x.sign() * (x.abs() - 0.5).relu(), normal(6), at=(0.0, 0.5, -0.5), single=True)
correct("hand_log_cosh", lambda x: x.cosh().log().mean(), normal(6), single=True)
correct(
    "hand_wasserstein",
    lambda x, y: (x.sort().values - y.sort().values).abs().mean(),
    blocks(5),
    normal(5),
    smooth=False,
    single=True,
)
correct("hand_elastic_net", lambda w: 0.3 * w.abs().sum() + 0.7 * (w**2).sum(), normal(5), at=(0.0,), single=True)
correct("hand_worst_losses", lambda x: (x**2).topk(2).values.mean(), normal(5), ties=True, single=True)
correct("hand_leaky_relu", lambda x: torch.where(x > 0, x, 0.1 * x), normal(6), at=(0.0,), single=True)
correct("hand_elu", lambda x: torch.where(x > 0, x, x.clamp(max=0).exp() - 1), normal(6), at=(0.0,), single=True)
correct(
    "hand_gelu",
    lambda x: 0.5 * x * (1 + (math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)).tanh()),
    normal(6),
    single=True,
)
correct("hand_hard_sigmoid", lambda x: (0.2 * x + 0.5).clamp(0, 1), normal(6), at=(2.5, -2.5), single=True)
correct("hand_gaussian_kl", lambda m, s: -0.5 * (1 + s - m**2 - s.exp()).sum(), normal(4), normal(4), single=True)
correct(
    "hand_gaussian_kl_of_the_same",
    lambda m, s: -0.5 * (1 + s - m**2 - s.exp()).sum(),
    values(0.0, 0.0),
    values(0.0, 0.0),
    single=True,
)
correct(
    "hand_iou",
    lambda x, t: 1 - (x.sigmoid() * t).sum() / (x.sigmoid() + t - x.sigmoid() * t).sum(),
    normal(6),
    integers(2, 6),
    smooth=False,
    single=True,
)


# -- attention ---------------------------------------------------------------------------------------------------------
def attended(q: Any, k: Any, v: Any, mask: Any, fill: float) -> Any:
    scores = (q @ k.mT / math.sqrt(q.shape[-1])).masked_fill(mask, fill)
    return softmax(scores) @ v


def causal(x: Any, fill: float) -> Any:
    return attended(x, x, x, torch.ones(x.shape[-2], x.shape[-2]).triu(1) > 0, fill)


def padded(q: Any, k: Any, v: Any) -> Any:
    bias = torch.tensor([0.0, 0.0, -1e9, 0.0, -1e9], dtype=q.dtype)
    return (q @ k.mT * 0.5 + bias).softmax(-1) @ v


def heads(x: Any, w: Any) -> Any:
    q, k, v = (x @ w).reshape(len(x), 3, 2, 2).permute(1, 2, 0, 3)
    mask = torch.full((len(x), len(x)), -math.inf, dtype=x.dtype).triu(1)
    return ((q @ k.mT / math.sqrt(2) + mask).softmax(-1) @ v).permute(1, 0, 2).reshape(len(x), 4)


def pooled(x: Any, w: Any) -> Any:
    a = softmax((x @ w).masked_fill(torch.tensor([False, True, False, False]), -1e9), 0)
    return (a[:, None] * x).sum(0)


for _fill, _name in ((-math.inf, "inf"), (-1e9, "1e9")):
    correct(f"hand_causal_attention_{_name}", lambda x, f=_fill: causal(x, f), normal(4, 3), single=True, smooth=False)
    correct(
        f"hand_causal_attention_equal_{_name}", lambda x, f=_fill: causal(x, f), equal(4, 3), single=True, smooth=False
    )
    correct(
        f"hand_masked_attention_{_name}",
        lambda q, k, v, f=_fill: attended(q, k, v, torch.arange(5) > 2, f),
        normal(2, 3, 2),
        normal(2, 5, 2),
        normal(2, 5, 2),
        single=True,
        smooth=False,
    )
correct("hand_padded_attention", padded, normal(3, 2), normal(5, 2), normal(5, 2), single=True)
correct("hand_heads", heads, normal(3, 4), normal(4, 12), single=True)
correct("hand_attention_pooling", pooled, normal(4, 3), normal(3), single=True, smooth=False)
correct(
    "hand_attention_to_one",
    lambda q, k, v: softmax(q @ k.mT) @ v,
    normal(3, 2),
    normal(1, 2),
    normal(1, 2),
    smooth=False,
    single=True,
)


# -- recurrent steps ---------------------------------------------------------------------------------------------------
def rnn(x: Any, h: Any, w: Any, u: Any) -> Any:
    for step in x:
        h = (step @ w + h @ u).tanh()
    return h


def lstm_cell(x: Any, h: Any, c: Any, w: Any) -> Any:
    i, f, o, n = (torch.cat([x, h], 1) @ w).chunk(4, 1)
    c = f.sigmoid() * c + i.sigmoid() * n.tanh()
    return o.sigmoid() * c.tanh(), c


def gru_cell(x: Any, h: Any, w: Any, u: Any) -> Any:
    (r, z, n), (s, y, m) = (x @ w).chunk(3, -1), (h @ u).chunk(3, -1)
    z = (z + y).sigmoid()
    return (1 - z) * (n + (r + s).sigmoid() * m).tanh() + z * h


def written_states(x: Any) -> Any:
    states = torch.zeros(4, 2, dtype=x.dtype)
    for i in range(4):
        states[i] = (x[i] + (states[i - 1] * 0.5 if i else 0)).tanh()
    return states


correct("hand_rnn", rnn, normal(3, 2), normal(3), normal(2, 3), normal(3, 3), single=True)
correct(
    "hand_rnn_saturated", rnn, normal(3, 2, scale=9.0), normal(3), normal(2, 3), normal(3, 3), single=True, smooth=False
)
correct("hand_lstm_cell", lstm_cell, normal(2, 2), normal(2, 2), normal(2, 2), normal(4, 8), single=True)
correct("hand_gru_cell", gru_cell, normal(2, 2), normal(2, 2), normal(2, 6), normal(2, 6), single=True)
correct("hand_written_states", written_states, normal(4, 2), single=True)
correct("hand_tanh_saturated", torch.tanh, values(-7.0, 7.5, 20.0, -6.0, 9.0), single=True)
correct(
    "hand_tanh_by_exp", lambda x: (x.exp() - (-x).exp()) / (x.exp() + (-x).exp()), normal(5, scale=3.0), single=True
)
correct("hand_tanh_of_troubles", torch.tanh, values(1e-30, -0.0, 3e37, 0.5, -1e-7), single=True, smooth=False)
correct("hand_sigmoid_of_troubles", torch.sigmoid, values(1e-30, -0.0, 3e37, 0.5, -80.0), single=True, smooth=False)


# -- gathers, scatters, running sums and products ----------------------------------------------------------------------
def policy(x: Any, a: Any, r: Any) -> Any:
    return -(log_softmax(x).gather(1, a[:, None])[:, 0] * r).mean()


def clipped_policy(x: Any, old: Any, a: Any, r: Any) -> Any:
    ratio = (log_softmax(x).gather(1, a[:, None])[:, 0] - old).exp()
    return -torch.minimum(ratio * r, ratio.clamp(0.8, 1.2) * r).mean()


def mean_of_neighbours(x: Any) -> Any:
    source, target = torch.tensor([0, 1, 2, 3, 0, 2]), torch.tensor([1, 0, 0, 2, 2, 3])
    total = torch.zeros_like(x).index_add(0, target, x[source])
    count = torch.zeros(len(x), dtype=x.dtype).scatter_add(0, target, torch.ones(6, dtype=x.dtype))
    return total / count[:, None].clamp(min=1)


def segment_softmax(x: Any) -> Any:
    group = torch.tensor([0, 0, 1, 1, 1])
    e = (x - x.detach().max()).exp()
    return e / torch.zeros(2, dtype=x.dtype).scatter_add(0, group, e)[group]


def rendered(density: Any, colour: Any) -> Any:
    alpha = 1 - (-density.abs()).exp()
    light = torch.cat([torch.ones(1, dtype=alpha.dtype), (1 - alpha + 1e-10).cumprod(0)[:-1]])
    return (light * alpha * colour).sum()


def discounted(r: Any) -> Any:
    powers = 0.9 ** torch.arange(len(r)).to(r.dtype)
    return (r * powers).flip(0).cumsum(0).flip(0) / powers


correct("hand_policy", policy, normal(3, 4), integers(4, 3), normal(3), ties=True, single=True)
correct(
    "hand_clipped_policy",
    clipped_policy,
    normal(3, 4),
    normal(3, shift=-1.0),
    integers(4, 3),
    normal(3),
    smooth=False,
    single=True,
)
correct("hand_mean_of_neighbours", mean_of_neighbours, normal(4, 2), single=True)
correct("hand_segment_softmax", segment_softmax, normal(5), single=True)
correct("hand_segment_softmax_equal", segment_softmax, equal(5), single=True)
correct("hand_rendered", rendered, positive(5), normal(5), single=True)
correct("hand_discounted", discounted, normal(5), single=True)
correct("hand_cumprod", lambda x: x.cumprod(0), normal(5), at=(0.0,), smooth=True, single=True)
correct("hand_cumprod_of_ones", lambda x: x.cumprod(0), values(1.0, 1.0, 1.0, 1.0), single=True)
correct(
    "hand_stick_breaking",
    lambda x: x.sigmoid() * torch.cat([x[:1] * 0 + 1, (1 - x.sigmoid()).cumprod(0)[:-1]]),
    normal(4),
    single=True,
)
correct("hand_log_of_cumsum", lambda x: x.exp().cumsum(0).log() - x, normal(5), single=True)
correct("hand_sinkhorn", lambda x: _sinkhorn(x), normal(3, 3), single=True)
correct(
    "hand_mixture",
    lambda x, m, s: logsumexp(-0.5 * ((x[:, None] - m) / s) ** 2 - s.log()).mean(),
    normal(3),
    normal(2),
    positive(2),
    single=True,
)
correct(
    "hand_embedded_mean",
    lambda w, i: (w[i] * (i > 0)[..., None]).sum(1) / (i > 0).sum(1).clamp(min=1)[:, None],
    normal(4, 2),
    integers(4, 3, 3),
    single=True,
)
correct("hand_euler_steps", lambda x: _euler(x), normal(2), single=True)


def _sinkhorn(x: Any) -> Any:
    for _ in range(5):
        x = x - x.logsumexp(1, keepdim=True)
        x = x - x.logsumexp(0, keepdim=True)
    return x.exp()


def _euler(x: Any) -> Any:
    for _ in range(6):
        x = x + 0.1 * torch.stack([x[1], -x[0].sin()])
    return x
