"""Softmax, normalisations, convolutions, padding, and losses derived by hand."""

from __future__ import annotations

import math
from typing import Any

import minitorch as torch
import minitorch.nn.functional as F

from ._models import attention, const, convnet, mlp
from ._record import mistake, normal, positive, uniform


class SoftmaxRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y = x.softmax(1)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.saved_tensors[0]


mistake(
    "softmax_without_mean_term",
    "softmax Jacobian",
    lambda x: attention(x, lambda s: SoftmaxRows.apply(s)),
    (normal(5, 4),),
    lambda x: attention(x, lambda s: s.softmax(1)),
    ("SoftmaxRowsBackward", "SoftmaxRows.apply(s)"),
    inside=True,
)


class SoftmaxDiagonal(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y = x.softmax(-1)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (y,) = ctx.saved_tensors
        return g * y * (1 - y)


mistake(
    "softmax_diagonal_only",
    "softmax Jacobian",
    lambda x: SoftmaxDiagonal.apply(x),
    (normal(2, 4),),
    lambda x: x.softmax(-1),
    ("SoftmaxDiagonalBackward", "SoftmaxDiagonal.apply(x)"),
)


class LogSoftmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.log_softmax(-1)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g - g.mean(-1, keepdim=True)


mistake(
    "log_softmax_as_if_uniform",
    "softmax Jacobian",
    lambda x: LogSoftmax.apply(x),
    (normal(2, 4),),
    lambda x: x.log_softmax(-1),
    ("LogSoftmaxBackward", "LogSoftmax.apply(x)"),
)


class LogSumExp(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.columns = x.shape[1]
        return x.logsumexp(1)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g[:, None].expand(-1, ctx.columns)


mistake(
    "logsumexp_as_a_sum",
    "logsumexp",
    lambda x: LogSumExp.apply(x),
    (normal(3, 4),),
    lambda x: x.logsumexp(1),
    ("LogSumExpBackward", "LogSumExp.apply(x)"),
)


class ShiftedLogSumExp(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        top = x.max(1, keepdim=True).values
        e = (x - top).exp()
        ctx.save_for_backward(e)
        return e.sum(1).log() + top[:, 0]

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g[:, None] * ctx.saved_tensors[0]


mistake(
    "logsumexp_not_normalised",
    "logsumexp",
    lambda x: mlp(x, lambda h: h + ShiftedLogSumExp.apply(h)[:, None]),
    (normal(3, 4),),
    lambda x: mlp(x, lambda h: h + h.logsumexp(1, keepdim=True)),
    ("ShiftedLogSumExpBackward", "ShiftedLogSumExp.apply(h)"),
    inside=True,
)


class LayerNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        scale = 1 / (x.var(1, keepdim=True, correction=0) + 1e-5).sqrt()
        ctx.save_for_backward(scale)
        return (x - x.mean(1, keepdim=True)) * scale

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.saved_tensors[0]


mistake(
    "layer_norm_without_mean_terms",
    "normalisation without its mean terms",
    lambda x: mlp(x, lambda h: LayerNorm.apply(h).tanh()),
    (normal(3, 4),),
    lambda x: mlp(x, lambda h: F.layer_norm(h, (6,)).tanh()),
    ("LayerNormBackward", "LayerNorm.apply(h).tanh()"),
    inside=True,
)


class LayerNormCentred(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        scale = 1 / (x.var(1, keepdim=True, correction=0) + 1e-5).sqrt()
        ctx.save_for_backward(scale)
        return (x - x.mean(1, keepdim=True)) * scale

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return (g - g.mean(1, keepdim=True)) * ctx.saved_tensors[0]


mistake(
    "layer_norm_without_variance_term",
    "normalisation without its mean terms",
    lambda x: LayerNormCentred.apply(x),
    (normal(3, 5),),
    lambda x: F.layer_norm(x, (5,)),
    ("LayerNormCentredBackward", "LayerNormCentred.apply(x)"),
)


class BatchNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        mean, var = x.mean((0, 2, 3), keepdim=True), x.var((0, 2, 3), keepdim=True, correction=0)
        scale = 1 / (var + 1e-5).sqrt()
        ctx.save_for_backward(scale)
        return (x - mean) * scale

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.saved_tensors[0]  # as in evaluation


mistake(
    "batch_norm_backward_of_evaluation",
    "batch norm in training",
    lambda x: convnet(x, lambda h: BatchNorm.apply(h)),
    (normal(2, 2, 6, 6),),
    lambda x: convnet(x, lambda h: F.batch_norm(h, None, None, training=True)),
    ("BatchNormBackward", "BatchNorm.apply(h)"),
    inside=True,
)


class BatchNormRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, weight: Any) -> Any:
        scale = 1 / (x.var(0, correction=0) + 1e-5).sqrt()
        normed = (x - x.mean(0)) * scale
        ctx.save_for_backward(normed, scale, weight)
        return normed * weight

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        normed, scale, weight = ctx.saved_tensors
        n = g.shape[0]
        gx = scale / (n - 1) * (n * g - g.sum(0) - normed * (g * normed).sum(0)) * weight
        return gx, (g * normed).sum(0)


mistake(
    "batch_norm_with_bessels_correction",
    "batch norm in training",
    lambda x, w: BatchNormRows.apply(x, w),
    (normal(5, 3), positive(3)),
    lambda x, w: F.batch_norm(x, None, None, w, training=True),
    ("BatchNormRowsBackward", "BatchNormRows.apply(x, w)"),
)


class RootMeanSquare(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x / (x.square().mean(-1, keepdim=True) + 0.1).sqrt()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        r = x.square().mean(-1, keepdim=True).sqrt() + 0.1
        return g / r - x * (g * x).mean(-1, keepdim=True) / r**3


mistake(
    "eps_outside_the_root",
    "wrong place of eps",
    lambda x: RootMeanSquare.apply(x),
    (normal(2, 5),),
    lambda x: F.rms_norm(x, (5,), eps=0.1),
    ("RootMeanSquareBackward", "RootMeanSquare.apply(x)"),
)


class SafeLog(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return (x + 1e-2).log()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g / ctx.saved_tensors[0]


mistake(
    "eps_missing_from_slope",
    "wrong place of eps",
    lambda x: attention(x, lambda s: SafeLog.apply(s.sigmoid())),
    (normal(5, 4),),
    lambda x: attention(x, lambda s: (s.sigmoid() + 1e-2).log()),
    ("SafeLogBackward", "SafeLog.apply(s.sigmoid())"),
    inside=True,
)


class Convolve(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, kernel: Any) -> Any:
        ctx.save_for_backward(x, kernel)
        return F.conv1d(x, kernel, padding=1)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, kernel = ctx.saved_tensors
        gx = F.conv1d(g, kernel.transpose(0, 1), padding=1)
        gk = F.conv1d(x.transpose(0, 1), g.transpose(0, 1), padding=1).transpose(0, 1)
        return gx, gk


mistake(
    "conv1d_kernel_not_flipped",
    "convolution without flip",
    lambda x, k: Convolve.apply(x, k),
    (normal(2, 2, 5), normal(3, 2, 3)),
    lambda x, k: F.conv1d(x, k, padding=1),
    ("ConvolveBackward", "Convolve.apply(x, k)"),
)


class Blur(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, kernel: Any) -> Any:
        ctx.save_for_backward(kernel)
        return F.conv2d(x, kernel, padding=1, groups=3)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return F.conv2d(g, ctx.saved_tensors[0], padding=1, groups=3), None


mistake(
    "depthwise_kernel_not_flipped",
    "convolution without flip",
    lambda x: convnet(x, lambda h: Blur.apply(h, const(3, 1, 3, 3, k=0.7))),
    (normal(2, 2, 6, 6),),
    lambda x: convnet(x, lambda h: F.conv2d(h, const(3, 1, 3, 3, k=0.7), padding=1, groups=3)),
    ("BlurBackward", "Blur.apply(h, "),
    inside=True,
)


class Pad(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.length = x.shape[-1]
        return F.pad(x, (1, 2))

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g.narrow(-1, 2, ctx.length)


mistake(
    "pad_cut_one_too_far",
    "off by one in padding",
    lambda x: Pad.apply(x),
    (normal(2, 4),),
    lambda x: F.pad(x, (1, 2)),
    ("PadBackward", "Pad.apply(x)"),
)


class Shift(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return F.pad(x[..., :-1], (1, 0))

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return F.pad(g[..., 2:], (0, 2))


mistake(
    "shift_back_by_two",
    "off by one in padding",
    lambda x: convnet(x, lambda h: Shift.apply(h)),
    (normal(2, 2, 6, 6),),
    lambda x: convnet(x, lambda h: F.pad(h[..., :-1], (1, 0))),
    ("ShiftBackward", "Shift.apply(h)"),
    inside=True,
)


class Windows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.length = x.shape[0]
        return x.unfold(0, 3, 1).sum(1)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        gradient = torch.zeros(ctx.length, dtype=g.dtype)
        for offset in range(2):  # of three
            gradient[offset : offset + g.shape[0]] += g
        return gradient


mistake(
    "window_sum_misses_last_offset",
    "off by one in padding",
    lambda x: Windows.apply(x),
    (normal(6),),
    lambda x: x.unfold(0, 3, 1).sum(1),
    ("WindowsBackward", "Windows.apply(x)"),
)


class CrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, target: Any) -> Any:
        ctx.save_for_backward(x.softmax(1), target)
        return F.cross_entropy(x, target)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        p, target = ctx.saved_tensors
        return g * (p - F.one_hot(target, p.shape[1])), None


mistake(
    "cross_entropy_not_averaged",
    "loss derived by hand",
    lambda x: mlp(x, lambda h: h + CrossEntropy.apply(h, torch.tensor([0, 5, 2]))),
    (normal(3, 4),),
    lambda x: mlp(x, lambda h: h + F.cross_entropy(h, torch.tensor([0, 5, 2]))),
    ("CrossEntropyBackward", "CrossEntropy.apply(h, "),
    shows="batch size above 1",
    inside=True,
)


class LogitLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, t: Any, weight: float) -> Any:
        ctx.save_for_backward(x, t)
        ctx.weight = weight
        return (weight * t * F.softplus(-x) + (1 - t) * F.softplus(x)).mean()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, t = ctx.saved_tensors
        return g * (x.sigmoid() - t) / x.numel(), None, None


mistake(
    "logit_loss_without_positive_weight",
    "loss derived by hand",
    lambda x: LogitLoss.apply(x, (const(5) > 0).double(), 3.0),
    (normal(5),),
    lambda x: F.binary_cross_entropy_with_logits(x, (const(5) > 0).double(), pos_weight=torch.tensor(3.0)),
    ("LogitLossBackward", "LogitLoss.apply(x, "),
    shows="a weight other than 1",
)


class GaussianLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, log_var: Any) -> Any:
        ctx.save_for_backward(x, log_var)
        return 0.5 * (log_var + x.square() * (-log_var).exp())

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, log_var = ctx.saved_tensors
        return g * x * (-log_var).exp(), -g * 0.5 * x.square() * (-log_var).exp()


mistake(
    "gaussian_loss_without_log_term",
    "loss derived by hand",
    lambda x, v: GaussianLoss.apply(x, v),
    (normal(4), normal(4)),
    lambda x, v: 0.5 * (v + x.square() * (-v).exp()),
    ("GaussianLossBackward", "GaussianLoss.apply(x, v)"),
)


class Scores(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, q: Any, k: Any) -> Any:
        ctx.save_for_backward(q, k)
        return q @ k.t() / math.sqrt(q.shape[1])

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        q, k = ctx.saved_tensors
        return g @ k, g.t() @ q


mistake(
    "scores_without_root_of_d",
    "factor",
    lambda x: attention(x, lambda s: Scores.apply(s, s.sin()).tanh()),
    (normal(5, 4, scale=0.5),),
    lambda x: attention(x, lambda s: (s @ s.sin().t() / math.sqrt(5)).tanh()),
    ("ScoresBackward", "Scores.apply(s, s.sin())"),
    inside=True,
)


class Probability(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, p: Any) -> Any:
        ctx.save_for_backward(p)
        return -(p * p.log()).sum(-1)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return -g[..., None] * ctx.saved_tensors[0].log()


mistake(
    "entropy_without_one",
    "missing term of the product rule",
    lambda p: Probability.apply(p),
    (uniform(0.1, 0.9, 2, 3),),
    lambda p: -(p * p.log()).sum(-1),
    ("ProbabilityBackward", "Probability.apply(p)"),
)
