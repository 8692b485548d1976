"""Right functions: products of matrices, linear algebra, layers, normalisations and losses."""

from __future__ import annotations

from typing import Any

import minitorch as torch
import minitorch.nn.functional as F

from ._record import correct, integers, normal, positive, uniform


def spd(a: Any) -> Any:
    """Symmetric positive definite, well conditioned."""
    return a @ a.mT / a.shape[-1] + torch.eye(a.shape[-1], dtype=a.dtype)


# products
correct("mm", torch.mm, normal(2, 3), normal(3, 4), single=True)
correct("matmul_batch", torch.matmul, normal(2, 2, 3), normal(3, 2), single=True)
correct("matmul_broadcast", torch.matmul, normal(2, 1, 2, 3), normal(2, 3, 2))
correct("mv", torch.mv, normal(3, 4), normal(4))
correct("dot", torch.dot, normal(4), normal(4))
correct("outer", torch.outer, normal(3), normal(2))
correct("bmm", torch.bmm, normal(2, 2, 3), normal(2, 3, 2))
correct("addmm", lambda c, a, b: torch.addmm(c, a, b, beta=0.5, alpha=2), normal(2), normal(2, 3), normal(3, 2))
correct("baddbmm", torch.baddbmm, normal(2, 2, 2), normal(2, 2, 3), normal(2, 3, 2))
correct("einsum_trace", lambda a, b: torch.einsum("ij,ji->", a, b), normal(2, 3), normal(3, 2))
correct("einsum_batch", lambda a, b: torch.einsum("bij,bkj->bik", a, b), normal(2, 2, 3), normal(2, 2, 3))
correct("bilinear", lambda x, w, y: torch.einsum("bi,oij,bj->bo", x, w, y), normal(2, 2), normal(2, 2, 3), normal(2, 3))
correct("tensordot", lambda a, b: torch.tensordot(a, b, dims=2), normal(2, 3, 2), normal(3, 2, 2))
correct("quadratic_form", lambda x, a: x @ a @ x, normal(3), normal(3, 3), single=True)
correct("multi_dot", lambda a, b, c: torch.linalg.multi_dot([a, b, c]), normal(2, 3), normal(3, 2), normal(2, 2))
correct("matrix_power", lambda a: torch.matrix_power(a, 3), normal(3, 3))
correct("cross", torch.linalg.cross, normal(2, 3), normal(2, 3))
correct("cdist", torch.cdist, normal(3, 2), normal(2, 2, shift=4.0), order=1)

# linear algebra
correct("inverse", lambda a: torch.linalg.inv(spd(a)), normal(3, 3))
correct("determinant", lambda a: torch.linalg.det(spd(a)), normal(3, 3))
correct("logdet", lambda a: torch.logdet(spd(a)), normal(3, 3))
correct("slogdet", lambda a: torch.linalg.slogdet(spd(a))[1], normal(2, 2, 2))
correct("cholesky", lambda a: torch.linalg.cholesky(spd(a)), normal(3, 3))
correct("solve", lambda a, b: torch.linalg.solve(spd(a), b), normal(3, 3), normal(3, 2))
correct("solve_vector", lambda a, b: torch.linalg.solve(spd(a), b), normal(3, 3), normal(3), single=True)
correct(
    "solve_triangular",
    lambda a, b: torch.linalg.solve_triangular(torch.linalg.cholesky(spd(a)), b, upper=False),
    normal(3, 3),
    normal(3, 2),
)
correct(
    "eigenvalues", lambda a: torch.linalg.eigvalsh(spd(a) + torch.diag(torch.arange(3) * 4.0).to(a.dtype)), normal(3, 3)
)
correct("singular_values", lambda a: torch.linalg.svdvals(spd(a)).sum(), normal(3, 3))
correct("nuclear_norm", lambda a: torch.linalg.matrix_norm(spd(a), "nuc"), normal(2, 2))
correct("frobenius_norm", torch.linalg.matrix_norm, normal(3, 2))
correct("pinv", lambda a: torch.linalg.pinv(spd(a)), normal(2, 2))
correct("qr", lambda a: torch.linalg.qr(spd(a)).R, normal(3, 3), order=1)
correct("matrix_exp", torch.linalg.matrix_exp, normal(2, 2, scale=0.5))
correct("mahalanobis", lambda x, a: (x * torch.linalg.solve(spd(a), x)).sum(), normal(3), normal(3, 3))
correct(
    "gaussian_log_density",
    lambda x, a: -0.5 * (x @ torch.linalg.inv(spd(a)) @ x + torch.logdet(spd(a))),
    normal(2),
    normal(2, 2),
)

# layers
correct("linear", F.linear, normal(2, 3), normal(4, 3), normal(4), single=True)
correct(
    "conv1d", lambda x, w, b: F.conv1d(x, w, b, padding=1), normal(1, 2, 5), normal(3, 2, 3), normal(3), single=True
)
correct("conv1d_strided", lambda x, w: F.conv1d(x, w, stride=2, dilation=2), normal(1, 2, 7), normal(2, 2, 2))
correct("conv2d", lambda x, w: F.conv2d(x, w, padding=1), normal(1, 2, 3, 3), normal(2, 2, 3, 3), single=True)
correct("conv2d_groups", lambda x, w: F.conv2d(x, w, groups=2), normal(1, 2, 3, 3), normal(2, 1, 2, 2))
correct("conv_transpose1d", lambda x, w: F.conv_transpose1d(x, w, stride=2), normal(1, 2, 3), normal(2, 2, 2))
correct("conv_transpose2d", F.conv_transpose2d, normal(1, 2, 2, 2), normal(2, 1, 2, 2))
correct("avg_pool1d", lambda x: F.avg_pool1d(x, 2), normal(1, 2, 4))
correct("avg_pool2d_padded", lambda x: F.avg_pool2d(x, 3, 2, 1), normal(1, 1, 4, 4))
correct("max_pool1d", lambda x: F.max_pool1d(x, 2), normal(1, 2, 6), ties=True)
correct("max_pool2d", lambda x: F.max_pool2d(x, 2), normal(1, 1, 4, 4), ties=True, single=True)
correct("adaptive_avg_pool", lambda x: F.adaptive_avg_pool1d(x, 3), normal(1, 2, 5))
correct("lp_pool", lambda x: F.lp_pool1d(x, 2, 2), positive(1, 1, 4))
correct("unfold", lambda x: F.unfold(x, 2), normal(1, 1, 3, 3))
correct("fold", lambda x: F.fold(x, (3, 3), 2), normal(1, 4, 4))
correct("interpolate_nearest", lambda x: F.interpolate(x, scale_factor=2.0), normal(1, 1, 3))
correct("interpolate_bilinear", lambda x: F.interpolate(x, size=(3, 5), mode="bilinear"), normal(1, 1, 2, 3))
correct("pixel_shuffle", lambda x: F.pixel_shuffle(x, 2), normal(1, 4, 2, 2))
correct("embedding", lambda i, w: F.embedding(i, w), integers(4, 5), normal(4, 2), single=True)
correct("embedding_sum", lambda w, i: F.embedding(i, w).sum(0).tanh(), normal(4, 2), integers(4, 5))
correct("softmax", lambda x: x.softmax(1), normal(2, 4), single=True)
correct("softmax_columns", lambda x: x.softmax(0), normal(3, 2))
correct("log_softmax", lambda x: x.log_softmax(-1), normal(2, 4), single=True)
correct("softmin", lambda x: F.softmin(x, 1), normal(2, 3))
correct(
    "attention",
    lambda q, k, v: F.scaled_dot_product_attention(q, k, v),
    normal(1, 3, 2),
    normal(1, 4, 2),
    normal(1, 4, 2),
    single=True,
)
correct("causal_attention", lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True), normal(1, 3, 2))

# normalisations
correct("layer_norm", lambda x, w, b: F.layer_norm(x, (4,), w, b), normal(2, 4), positive(4), normal(4), single=True)
correct("rms_norm", lambda x, w: F.rms_norm(x, (4,), w, eps=1e-5), normal(2, 4), positive(4))
correct(
    "batch_norm",
    lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True),
    normal(5, 2),
    positive(2),
    normal(2),
    single=True,
)
correct(
    "batch_norm_evaluated",
    lambda x: F.batch_norm(x, torch.zeros(2, dtype=x.dtype), torch.full((2,), 1.5, dtype=x.dtype)),
    normal(3, 2),
)
correct("group_norm", lambda x: F.group_norm(x, 2), normal(1, 4, 3))
correct("instance_norm", lambda x: F.instance_norm(x), normal(2, 2, 4))
correct("normalize", lambda x: F.normalize(x, dim=1), positive(2, 3), single=True)
correct("local_response_norm", lambda x: F.local_response_norm(x, 3), normal(1, 4, 3))
correct("cosine_similarity", lambda a, b: F.cosine_similarity(a, b), normal(3, 4), normal(3, 4))
correct("pairwise_distance", lambda a, b: F.pairwise_distance(a, b), normal(3, 4), normal(3, 4, shift=3.0))

# losses
correct("mse", F.mse_loss, normal(3, 2), normal(3, 2), single=True)
correct("l1", F.l1_loss, normal(6), normal(6), at=(0.5,), single=True)
correct(
    "huber",
    lambda x: F.huber_loss(x, torch.zeros_like(x), reduction="sum"),
    normal(6),
    at=(-1.0, 1.0),
    order=1,
    single=True,
)
correct("smooth_l1", lambda x: F.smooth_l1_loss(x, torch.zeros_like(x)), normal(6), at=(-1.0, 0.0, 1.0), order=1)
correct("cross_entropy", F.cross_entropy, normal(3, 4), integers(4, 3), single=True)
correct("cross_entropy_smoothed", lambda x, t: F.cross_entropy(x, t, label_smoothing=0.1), normal(3, 4), integers(4, 3))
correct("cross_entropy_ignoring", lambda x: F.cross_entropy(x, torch.tensor([1, -100, 0])), normal(3, 4))
correct("cross_entropy_soft", lambda x, t: F.cross_entropy(x, t.softmax(1)), normal(3, 4), normal(3, 4))
correct("nll", lambda x, t: F.nll_loss(x.log_softmax(1), t, reduction="sum"), normal(3, 4), integers(4, 3))
correct("bce", lambda x, t: F.binary_cross_entropy(x.sigmoid(), t.double().to(x.dtype)), normal(5), integers(2, 5))
correct(
    "bce_logits",
    lambda x, t: F.binary_cross_entropy_with_logits(x, t.to(x.dtype)),
    normal(5),
    integers(2, 5),
    single=True,
)
correct(
    "kl_div", lambda p, q: F.kl_div(p.log_softmax(1), q.softmax(1), reduction="batchmean"), normal(2, 3), normal(2, 3)
)
correct("gaussian_nll", lambda x, m, v: F.gaussian_nll_loss(x, m, v), normal(4), normal(4), positive(4))
correct("poisson_nll", lambda x, t: F.poisson_nll_loss(x, t.to(x.dtype)), normal(4), integers(4, 4))
correct("hinge_embedding", lambda x: F.hinge_embedding_loss(x, torch.tensor([1, -1, 1, -1])), normal(4), at=(1.0,))
correct(
    "margin_ranking",
    lambda a, b: F.margin_ranking_loss(a, b, torch.tensor([1, -1, 1])),
    normal(3),
    normal(3),
    smooth=False,
)
correct("soft_margin", lambda x: F.soft_margin_loss(x, torch.tensor([1.0, -1.0, 1.0], dtype=x.dtype)), normal(3))
correct(
    "triplet",
    lambda a, p, n: F.triplet_margin_loss(a, p, n, margin=20.0),
    normal(2, 3),
    normal(2, 3),
    normal(2, 3),
    order=1,
)
correct("multi_margin", lambda x, t: F.multi_margin_loss(x, t), normal(2, 3), integers(3, 2), smooth=False)
correct(
    "cosine_embedding", lambda a, b: F.cosine_embedding_loss(a, b, torch.tensor([1, 1])), normal(2, 3), normal(2, 3)
)
correct("ctc", lambda x: F.ctc_loss(x.log_softmax(2), torch.tensor([[1, 2]]), (4,), (2,)), normal(4, 1, 3), order=1)
correct("entropy", lambda x: -(x.softmax(0) * x.log_softmax(0)).sum(), normal(5))
correct("focal", lambda x: (-((1 - x.sigmoid()) ** 2) * F.logsigmoid(x)).mean(), normal(5), single=True)
correct("dice", lambda x: 1 - 2 * (x.sigmoid()[:2].sum() + 1) / (x.sigmoid().sum() + 4), normal(5))
correct("log_cosh", lambda x: (x + F.softplus(-2 * x) - 0.6931471805599453).sum(), normal(5))
correct("uniform_simplex", lambda x: (x / x.sum()).log().mean(), uniform(0.2, 1.0, 4))
