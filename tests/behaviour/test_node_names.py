"""Which node each public call records: the class names that `grad_fn` shows to people."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from backend import torch

F = torch.nn.functional
Call = Callable[[SimpleNamespace], Any]


def make_inputs() -> SimpleNamespace:
    """Small float64 leaves in [0.5, 1.5), and constants, that every call of the tables accepts."""
    generator = torch.Generator().manual_seed(0)

    def new(*shape: int) -> Any:
        return (torch.rand(shape, generator=generator, dtype=torch.float64) + 0.5).requires_grad_()

    x = SimpleNamespace(new=new, a=new(3, 3), b=new(3, 3), v=new(3), w=new(3), scalar=new())
    x.batch, x.batch2 = new(2, 3, 3), new(2, 3, 3)
    x.image, x.kernel2d = new(1, 2, 6, 6), new(3, 2, 3, 3)
    x.signal, x.kernel1d = new(1, 2, 8), new(3, 2, 3)
    x.const = torch.ones(3, 3, dtype=torch.float64)
    x.mask = torch.tensor([[True, False, False], [False, True, False], [False, False, True]])
    x.index, x.classes = torch.tensor([0, 2]), torch.tensor([0, 1, 2])
    return x


# Calls of one operation each, by the class name of the node that they record.
NODE_NAMES: dict[str, list[Call]] = {
    "AddBackward0": [
        lambda x: x.a + x.b,
        lambda x: x.a + 1,
        lambda x: 1 + x.a,
        lambda x: x.const + x.a,
        lambda x: x.a.clone().add_(1),
        lambda x: x.a.clone().add_(x.b),
    ],
    "SubBackward0": [
        lambda x: x.a - x.b,
        lambda x: x.a - 1,
        lambda x: torch.sub(x.a, x.b, alpha=2),
        lambda x: x.a.clone().sub_(1),
    ],
    "RsubBackward1": [lambda x: 1 - x.a, lambda x: torch.rsub(x.a, 2.0)],
    "RsubBackward0": [lambda x: torch.rsub(x.a, x.b)],
    "MulBackward0": [lambda x: x.a * x.b, lambda x: x.a * 2, lambda x: 2 * x.a, lambda x: x.a.clone().mul_(2)],
    "DivBackward0": [lambda x: x.a / x.b, lambda x: x.a / 2, lambda x: x.a.clone().div_(2)],
    "DivBackward2": [
        lambda x: torch.div(x.a, x.b, rounding_mode="floor"),
        lambda x: torch.div(x.a, 2.0, rounding_mode="trunc"),
    ],
    "RemainderBackward0": [lambda x: x.a % 2, lambda x: torch.remainder(x.a, 2)],
    "RemainderBackward1": [lambda x: x.a % x.b],
    "FmodBackward0": [lambda x: torch.fmod(x.a, 2)],
    "FmodBackward1": [lambda x: torch.fmod(x.a, x.b)],
    "PowBackward0": [lambda x: x.a**2, lambda x: x.a.clone().pow_(2)],
    "PowBackward1": [lambda x: x.a**x.b, lambda x: x.a**x.v],
    "PowBackward2": [lambda x: 2**x.a],
    "NegBackward0": [lambda x: -x.a, lambda x: x.a.clone().neg_()],
    "AbsBackward0": [lambda x: abs(x.a), lambda x: torch.abs(x.a)],
    "ExpBackward0": [lambda x: torch.exp(x.a), lambda x: x.a.clone().exp_()],
    "Exp2Backward0": [lambda x: torch.exp2(x.a)],
    "Expm1Backward0": [lambda x: torch.expm1(x.a)],
    "LogBackward0": [lambda x: torch.log(x.a)],
    "Log2Backward0": [lambda x: torch.log2(x.a)],
    "Log10Backward0": [lambda x: torch.log10(x.a)],
    "Log1PBackward0": [lambda x: torch.log1p(x.a)],
    "SqrtBackward0": [lambda x: torch.sqrt(x.a)],
    "RsqrtBackward0": [lambda x: torch.rsqrt(x.a)],
    "ReciprocalBackward0": [lambda x: torch.reciprocal(x.a)],
    "SinBackward0": [lambda x: torch.sin(x.a)],
    "CosBackward0": [lambda x: torch.cos(x.a)],
    "TanBackward0": [lambda x: torch.tan(x.a)],
    "AsinBackward0": [lambda x: torch.asin(x.a * 0.5)],
    "AcosBackward0": [lambda x: torch.acos(x.a * 0.5)],
    "AtanBackward0": [lambda x: torch.atan(x.a)],
    "SinhBackward0": [lambda x: torch.sinh(x.a)],
    "CoshBackward0": [lambda x: torch.cosh(x.a)],
    "TanhBackward0": [lambda x: torch.tanh(x.a), lambda x: x.a.clone().tanh_()],
    "AsinhBackward0": [lambda x: torch.asinh(x.a)],
    "AcoshBackward0": [lambda x: torch.acosh(x.a + 1)],
    "AtanhBackward0": [lambda x: torch.atanh(x.a * 0.5)],
    "SigmoidBackward0": [lambda x: torch.sigmoid(x.a), lambda x: x.a.clone().sigmoid_()],
    "LogitBackward0": [lambda x: torch.logit(x.a * 0.5)],
    "ErfBackward0": [lambda x: torch.erf(x.a)],
    "ErfcBackward0": [lambda x: torch.erfc(x.a)],
    "ErfinvBackward0": [lambda x: torch.erfinv(x.a * 0.5)],
    "LgammaBackward0": [lambda x: torch.lgamma(x.a)],
    "DigammaBackward0": [lambda x: torch.digamma(x.a)],
    "SincBackward0": [lambda x: torch.sinc(x.a)],
    "SignBackward0": [lambda x: torch.sign(x.a)],
    "FloorBackward0": [lambda x: torch.floor(x.a)],
    "CeilBackward0": [lambda x: torch.ceil(x.a)],
    "RoundBackward0": [lambda x: torch.round(x.a)],
    "RoundBackward1": [lambda x: torch.round(x.a, decimals=1)],
    "TruncBackward0": [lambda x: torch.trunc(x.a)],
    "NanToNumBackward0": [lambda x: torch.nan_to_num(x.a)],
    "Atan2Backward0": [lambda x: torch.atan2(x.a, x.b)],
    "HypotBackward0": [lambda x: torch.hypot(x.a, x.b)],
    "MaximumBackward0": [lambda x: torch.maximum(x.a, x.b), lambda x: x.a.max(x.b)],
    "MinimumBackward0": [lambda x: torch.minimum(x.a, x.b)],
    "LogaddexpBackward0": [lambda x: torch.logaddexp(x.a, x.b)],
    "XlogyBackward0": [lambda x: torch.xlogy(x.a, x.b)],
    "XlogyBackward2": [lambda x: torch.xlogy(x.a, 2.0)],
    "XlogyBackward1": [lambda x: torch.xlogy(2.0, x.a)],
    "LerpBackward0": [lambda x: torch.lerp(x.a, x.b, 0.5), lambda x: x.a.clone().lerp_(x.b, 0.5)],
    "LerpBackward1": [lambda x: torch.lerp(x.a, x.b, x.const)],
    "AddcmulBackward0": [lambda x: torch.addcmul(x.a, x.b, x.const)],
    "AddcdivBackward0": [lambda x: torch.addcdiv(x.a, x.b, x.const)],
    "WhereBackward0": [lambda x: torch.where(x.mask, x.a, x.b), lambda x: torch.where(x.mask, x.a, 0.0)],
    "ClampBackward1": [
        lambda x: torch.clamp(x.a, 0.0, 1.0),
        lambda x: torch.clamp(x.a, min=0.0),
        lambda x: torch.clamp(x.a, max=1.0),
        lambda x: x.a.clone().clamp_(0, 1),
    ],
    "ClampBackward0": [lambda x: torch.clamp(x.a, min=x.const), lambda x: torch.clamp(x.a, min=x.b, max=x.const)],
    "ClampMinBackward0": [lambda x: torch.clamp_min(x.a, 0.5)],
    "ClampMaxBackward0": [lambda x: torch.clamp_max(x.a, 0.5)],
    "ClampMinBackward1": [lambda x: torch.clamp_min(x.a, x.b)],
    "ClampMaxBackward1": [lambda x: torch.clamp_max(x.a, x.b)],
    "MaskedFillBackward0": [lambda x: x.a.masked_fill(x.mask, 0.0), lambda x: x.a.clone().masked_fill_(x.mask, 0.0)],
    "MaskedFillBackward1": [lambda x: x.a.masked_fill(x.mask, x.scalar)],
    "SumBackward0": [lambda x: x.a.sum(), lambda x: x.a.sum(dtype=torch.float32)],
    "SumBackward1": [lambda x: x.a.sum(0), lambda x: x.a.sum(dim=(0, 1)), lambda x: x.a.sum(-1, keepdim=True)],
    "MeanBackward0": [lambda x: x.a.mean()],
    "MeanBackward1": [lambda x: x.a.mean(0)],
    "ProdBackward0": [lambda x: x.a.prod()],
    "ProdBackward1": [lambda x: x.a.prod(0)],
    "StdBackward0": [lambda x: x.a.std(), lambda x: x.a.std(0)],
    "VarBackward0": [lambda x: x.a.var(), lambda x: x.a.var(1, correction=0)],
    "StdMeanBackward0": [lambda x: torch.std_mean(x.a)[0], lambda x: torch.std_mean(x.a)[1]],
    "VarMeanBackward0": [lambda x: torch.var_mean(x.a)[0], lambda x: torch.var_mean(x.a)[1]],
    "MaxBackward1": [lambda x: x.a.max()],
    "MinBackward1": [lambda x: x.a.min()],
    "MaxBackward0": [lambda x: x.a.max(0).values],
    "MinBackward0": [lambda x: x.a.min(0)[0]],
    "AmaxBackward0": [lambda x: x.a.amax(0)],
    "AminBackward0": [lambda x: x.a.amin()],
    "MedianBackward0": [lambda x: x.a.median()],
    "MedianBackward1": [lambda x: x.a.median(0).values],
    "NansumBackward0": [lambda x: x.a.nansum()],
    "LinalgVectorNormBackward0": [
        lambda x: x.a.norm(),
        lambda x: x.a.norm(1),
        lambda x: x.a.norm(2, dim=0),
        lambda x: x.a.norm(p=2, dim=0, keepdim=True),
        lambda x: torch.linalg.vector_norm(x.a),
    ],
    "LogsumexpBackward0": [lambda x: torch.logsumexp(x.a, 0)],
    "CumsumBackward0": [lambda x: x.a.cumsum(0)],
    "CumprodBackward0": [lambda x: x.a.cumprod(0)],
    "CummaxBackward0": [lambda x: torch.cummax(x.a, 0).values],
    "CumminBackward0": [lambda x: torch.cummin(x.a, 0).values],
    "LogcumsumexpBackward0": [lambda x: torch.logcumsumexp(x.a, 0)],
    "TraceBackward0": [lambda x: torch.trace(x.a)],
    "SortBackward0": [lambda x: torch.sort(x.v).values],
    "SortBackward1": [lambda x: torch.sort(x.v, stable=True).values],
    "TopkBackward0": [lambda x: torch.topk(x.v, 2).values],
    "KthvalueBackward0": [lambda x: torch.kthvalue(x.v, 2).values],
    "ViewBackward0": [
        lambda x: x.a.view(9),
        lambda x: x.a.view(-1),
        lambda x: x.a.view_as(x.const),
        lambda x: x.a.reshape(9),
        lambda x: x.a.reshape_as(x.const),
        lambda x: x.a.flatten(),
        lambda x: x.batch.flatten(1),
        lambda x: x.a.ravel(),
        lambda x: x.a.unflatten(0, (1, 3)),
    ],
    "UnsafeViewBackward0": [lambda x: x.a.t().reshape(9)],
    "SqueezeBackward0": [lambda x: x.a.squeeze()],
    "SqueezeBackward1": [lambda x: x.a.squeeze(0)],
    "SqueezeBackward2": [lambda x: x.a.squeeze((0, 1))],
    "UnsqueezeBackward0": [lambda x: x.a.unsqueeze(0), lambda x: x.a[None]],
    "TBackward0": [lambda x: x.a.t()],
    "PermuteBackward0": [lambda x: x.a.T, lambda x: x.a.permute(1, 0), lambda x: x.a.movedim(0, 1)],
    "TransposeBackward0": [
        lambda x: x.a.mT,
        lambda x: x.batch.mT,
        lambda x: x.a.transpose(0, 1),
        lambda x: x.a.swapaxes(0, 1),
    ],
    "ExpandBackward0": [
        lambda x: x.v.expand(3, 3),
        lambda x: x.v.expand_as(x.a),
        lambda x: torch.broadcast_to(x.v, (3, 3)),
        lambda x: torch.broadcast_tensors(x.v, x.a)[0],
    ],
    "RepeatBackward0": [lambda x: x.a.repeat(2, 1)],
    "CatBackward0": [lambda x: torch.cat([x.a, x.b]), lambda x: torch.cat([x.a, x.const], 1)],
    "StackBackward0": [lambda x: torch.stack([x.a, x.b])],
    "SplitBackward0": [lambda x: torch.split(x.a, 1)[0], lambda x: x.a.chunk(3)[2]],
    "SplitWithSizesBackward0": [lambda x: torch.split(x.a, [1, 2])[1]],
    "UnsafeSplitBackward0": [lambda x: torch.unsafe_split(x.a, 1)[0]],
    "UnbindBackward0": [lambda x: x.a.unbind()[1]],
    "FlipBackward0": [lambda x: torch.flip(x.a, (0,))],
    "RollBackward0": [lambda x: torch.roll(x.a, 1)],
    "Rot90Backward0": [lambda x: torch.rot90(x.a)],
    "SliceBackward0": [
        lambda x: x.a.narrow(0, 0, 2),
        lambda x: x.a[0:2],
        lambda x: x.a[:],
        lambda x: x.a[0, 1:],
        lambda x: x.a[::2],
    ],
    "SelectBackward0": [lambda x: x.a.select(0, 1), lambda x: x.a[0], lambda x: x.a[0, 1], lambda x: x.a[:, 1]],
    "UnfoldBackward0": [lambda x: x.v.unfold(0, 2, 1)],
    "DiagonalBackward0": [lambda x: x.a.diagonal()],
    "DiagEmbedBackward0": [lambda x: torch.diag_embed(x.v)],
    "TrilBackward0": [lambda x: torch.tril(x.a)],
    "TriuBackward0": [lambda x: torch.triu(x.a)],
    "CloneBackward0": [lambda x: x.a.clone(), lambda x: x.a.t().contiguous()],
    "AsStridedBackward0": [lambda x: x.a.as_strided((2,), (1,))],
    "ToCopyBackward0": [lambda x: x.a.float(), lambda x: x.a.to(torch.float32), lambda x: x.a.type(torch.float32)],
    "AliasBackward0": [lambda x: x.a[...]],
    "IndexBackward0": [lambda x: x.a[x.index], lambda x: x.a[:, x.index], lambda x: x.a[x.mask]],
    "GatherBackward0": [lambda x: torch.gather(x.a, 0, x.index[None])],
    "ScatterBackward1": [
        lambda x: torch.scatter(x.a, 0, x.index[None], 1.0),
        lambda x: x.a.clone().scatter_(0, x.index[None], 1.0),
    ],
    "ScatterBackward0": [lambda x: torch.scatter(x.a, 0, x.index[None], x.b)],
    "ScatterAddBackward0": [lambda x: torch.scatter_add(x.a, 0, x.index[None], x.b)],
    "ScatterReduceBackward0": [lambda x: torch.scatter_reduce(x.a, 0, x.index[None], x.b, "sum")],
    "IndexSelectBackward0": [lambda x: torch.index_select(x.a, 0, x.index)],
    "IndexAddBackward0": [lambda x: torch.index_add(x.a, 0, x.index, x.b[:2])],
    "IndexCopyBackward0": [lambda x: torch.index_copy(x.a, 0, x.index, x.b[:2])],
    "IndexFillBackward0": [
        lambda x: torch.index_fill(x.a, 0, x.index, 1.0),
        lambda x: x.a.clone().index_fill_(0, x.index, 0.0),
    ],
    "TakeBackward0": [lambda x: torch.take(x.a, x.index)],
    "MaskedSelectBackward0": [lambda x: torch.masked_select(x.a, x.mask)],
    "MaskedScatterBackward0": [lambda x: torch.masked_scatter(x.a, x.mask, x.b)],
    "MmBackward0": [
        lambda x: x.a @ x.b,
        lambda x: torch.matmul(x.a, x.b),
        lambda x: torch.mm(x.a, x.b),
        lambda x: F.linear(x.a, x.b),
    ],
    "MvBackward0": [lambda x: x.a @ x.v, lambda x: torch.mv(x.a, x.v)],
    "DotBackward0": [lambda x: x.v @ x.w, lambda x: torch.dot(x.v, x.w)],
    "BmmBackward0": [lambda x: torch.bmm(x.batch, x.batch2)],
    "AddmmBackward0": [lambda x: torch.addmm(x.a, x.a, x.b), lambda x: F.linear(x.a, x.b, x.v)],
    "BaddbmmBackward0": [lambda x: torch.baddbmm(x.batch, x.batch, x.batch2)],
    "ReluBackward0": [lambda x: torch.relu(x.a), lambda x: F.relu(x.a), lambda x: x.a.clone().relu_()],
    "LeakyReluBackward0": [lambda x: F.leaky_relu(x.a)],
    "EluBackward0": [lambda x: F.elu(x.a)],
    "CeluBackward0": [lambda x: F.celu(x.a)],
    "GeluBackward0": [lambda x: F.gelu(x.a)],
    "SiluBackward0": [lambda x: F.silu(x.a)],
    "MishBackward0": [lambda x: F.mish(x.a)],
    "HardtanhBackward0": [lambda x: F.hardtanh(x.a)],
    "HardsigmoidBackward0": [lambda x: F.hardsigmoid(x.a)],
    "HardswishBackward0": [lambda x: F.hardswish(x.a)],
    "SoftplusBackward0": [lambda x: F.softplus(x.a)],
    "PreluKernelBackward0": [lambda x: F.prelu(x.a, x.scalar.reshape(1))],
    "GluBackward0": [lambda x: F.glu(x.new(4))],
    "SoftmaxBackward0": [lambda x: torch.softmax(x.a, 0), lambda x: x.a.softmax(-1), lambda x: F.softmax(x.a, 1)],
    "LogSoftmaxBackward0": [lambda x: torch.log_softmax(x.a, 0), lambda x: F.log_softmax(x.a, 1)],
    "MseLossBackward0": [lambda x: F.mse_loss(x.a, x.b), lambda x: F.mse_loss(x.a, x.b, reduction="none")],
    "SmoothL1LossBackward0": [lambda x: F.smooth_l1_loss(x.a, x.b)],
    "HuberLossBackward0": [lambda x: F.huber_loss(x.a, x.b)],
    "NllLossBackward0": [lambda x: F.nll_loss(x.a, x.classes)],
    "NllLoss2DBackward0": [lambda x: F.nll_loss(x.new(1, 3, 2, 2), torch.zeros(1, 2, 2, dtype=torch.long))],
    "BinaryCrossEntropyBackward0": [lambda x: F.binary_cross_entropy(x.a.sigmoid(), x.const)],
    "BinaryCrossEntropyWithLogitsBackward0": [lambda x: F.binary_cross_entropy_with_logits(x.a, x.const)],
    "ConvolutionBackward0": [
        lambda x: F.conv1d(x.signal, x.kernel1d),
        lambda x: F.conv2d(x.image, x.kernel2d),
        lambda x: F.conv_transpose1d(x.signal, x.new(2, 3, 3)),
        lambda x: F.conv_transpose2d(x.image, x.new(2, 3, 3, 3)),
    ],
    "AvgPool2DBackward0": [lambda x: F.avg_pool2d(x.image, 2)],
    "MaxPool2DWithIndicesBackward0": [
        lambda x: F.max_pool2d(x.image, 2),
        lambda x: F.max_pool2d(x.image, 2, return_indices=True)[0],
    ],
    "AdaptiveAvgPool2DBackward0": [lambda x: F.adaptive_avg_pool2d(x.image, 2)],
    "NativeBatchNormBackward0": [
        lambda x: F.batch_norm(x.image, None, None, training=True),
        lambda x: F.batch_norm(x.image, torch.zeros(2).double(), torch.ones(2).double()),
    ],
    "NativeLayerNormBackward0": [lambda x: F.layer_norm(x.a, (3,)), lambda x: F.layer_norm(x.a, (3,), x.v, x.w)],
    "NativeGroupNormBackward0": [lambda x: F.group_norm(x.image, 2)],
    "EmbeddingBackward0": [lambda x: F.embedding(x.index, x.a)],
    "ConstantPadNdBackward0": [lambda x: F.pad(x.a, (1, 1))],
    "ReflectionPad1DBackward0": [lambda x: F.pad(x.signal, (1, 1), mode="reflect")],
    "ReplicationPad1DBackward0": [lambda x: F.pad(x.signal, (1, 1), mode="replicate")],
    "UpsampleNearest2DBackward0": [lambda x: F.interpolate(x.image, scale_factor=2)],
    "UpsampleBilinear2DBackward0": [lambda x: F.interpolate(x.image, scale_factor=2, mode="bilinear")],
    "UpsampleNearest1DBackward0": [lambda x: F.interpolate(x.signal, scale_factor=2)],
    "Im2ColBackward0": [lambda x: F.unfold(x.image, 2)],
    "PixelShuffleBackward0": [lambda x: F.pixel_shuffle(x.new(1, 4, 2, 2), 2)],
    "PixelUnshuffleBackward0": [lambda x: F.pixel_unshuffle(x.image, 2)],
    "ZeroBackward0": [lambda x: x.a.clone().zero_()],
    "FillBackward2": [lambda x: x.a.clone().fill_(1.0)],
    "FillBackward3": [lambda x: x.a.clone().fill_(x.scalar)],
    "CopyBackwards": [lambda x: x.a.clone().copy_(x.b)],
    "TBackward1": [lambda x: x.a.clone().t_()],
    "UnsqueezeBackward1": [lambda x: x.a.clone().unsqueeze_(0)],
    "SqueezeBackward3": [lambda x: x.a.clone().squeeze_()],
    "TransposeBackward1": [lambda x: x.a.clone().transpose_(0, 1)],
}


# Calls made of several operations, by the class name of the node of their last one.
COMPOSITE_NODE_NAMES: dict[str, list[Call]] = {
    "MulBackward0": [lambda x: 2 / x.a, lambda x: torch.outer(x.v, x.w), lambda x: F.dropout(x.a, 0.5)],
    "PowBackward0": [lambda x: torch.square(x.a)],
    "SubBackward0": [lambda x: torch.diff(x.v), lambda x: F.tanhshrink(x.a)],
    "RepeatBackward0": [lambda x: torch.tile(x.a, (2,))],
    "CatBackward0": [
        lambda x: torch.hstack([x.a, x.b]),
        lambda x: torch.vstack([x.a, x.b]),
        lambda x: torch.vstack([x.v, x.w]),
        lambda x: torch.dstack([x.a, x.b]),
    ],
    "SliceBackward0": [lambda x: torch.tensor_split(x.a, 3)[0]],
    "FlipBackward0": [lambda x: torch.fliplr(x.a)],
    "DiagEmbedBackward0": [lambda x: torch.diag(x.v), lambda x: torch.diagflat(x.v)],
    "ExpandBackward0": [lambda x: torch.meshgrid(x.v, x.w, indexing="ij")[0]],
    "SqueezeBackward4": [lambda x: x.v @ x.a],
    "UnsafeViewBackward0": [
        lambda x: x.batch @ x.batch2,
        lambda x: x.batch @ x.a,
        lambda x: x.batch @ x.v,
        lambda x: F.linear(x.batch, x.b),
    ],
    "ViewBackward0": [
        lambda x: torch.tensordot(x.a, x.b, 1),
        lambda x: torch.einsum("ij,jk->ik", x.a, x.b),
        lambda x: F.linear(x.batch, x.b, x.v),
        lambda x: F.linear(x.v, x.b, x.w),
    ],
    "PermuteBackward0": [lambda x: torch.einsum("ii->i", x.a)],
    "HardtanhBackward0": [lambda x: F.relu6(x.a)],
    "EluBackward0": [lambda x: F.selu(x.a)],
    "DivBackward0": [lambda x: F.softsign(x.a), lambda x: F.normalize(x.a)],
    "SoftmaxBackward0": [lambda x: F.softmin(x.a, 1)],
    "MeanBackward0": [
        lambda x: F.l1_loss(x.a, x.b),
        lambda x: F.margin_ranking_loss(x.v, x.w, torch.ones(3)),
    ],
    "NllLossBackward0": [lambda x: F.cross_entropy(x.a, x.classes)],
    "SqueezeBackward1": [
        lambda x: F.avg_pool1d(x.signal, 2),
        lambda x: F.max_pool1d(x.signal, 2),
        lambda x: F.adaptive_avg_pool1d(x.signal, 2),
    ],
    "MeanBackward1": [lambda x: F.adaptive_avg_pool2d(x.image, 1)],
}


def assigned(index: Any, value: Any, through: Any = None) -> Any:
    """A clone of a 3x3 leaf after `clone[index] = value`, or after the same assignment to the view `through(clone)`."""
    x = make_inputs()
    base = x.a.clone()
    target = base if through is None else through(base)
    target[index(x) if callable(index) else index] = value(x) if callable(value) else value
    return base


def cases(table: dict[str, list[Call]]) -> list[Any]:
    return [
        pytest.param(call, name, id=f"{name}-{number}")
        for name, calls in table.items()
        for number, call in enumerate(calls)
    ]


def check_name(fn: Any, name: str) -> None:
    """The class name is `name`; nodes that copy have a qualified `name()`."""
    assert type(fn).__name__ == name
    qualified = f"torch::autograd::{name}" if name in ("CopySlices", "CopyBackwards") else name
    assert fn.name() == qualified
    assert repr(fn).startswith(f"<{name} object at 0x")


@pytest.mark.parametrize(("call", "name"), cases(NODE_NAMES))
def test_node_name_of_operation(call: Call, name: str) -> None:
    check_name(call(make_inputs()).grad_fn, name)


@pytest.mark.parametrize(("call", "name"), cases(COMPOSITE_NODE_NAMES))
def test_node_name_of_last_step_of_composite(call: Call, name: str) -> None:
    check_name(call(make_inputs()).grad_fn, name)


@pytest.mark.parametrize(
    ("index", "value", "name"),
    [
        (0, 1.0, "CopySlices"),
        (0, lambda x: x.v, "CopySlices"),
        (-1, lambda x: x.const[0], "CopySlices"),
        ((0, 1), 1.0, "CopySlices"),
        (slice(0, 2), 0.0, "CopySlices"),
        (slice(0, 2), lambda x: x.v, "CopySlices"),
        ((slice(None), 1), 0.0, "CopySlices"),
        (lambda x: x.mask, 0.0, "IndexPutBackward0"),
        (lambda x: x.index, lambda x: x.v, "IndexPutBackward0"),
        (lambda x: x.index, 0.0, "IndexPutBackward0"),
    ],
)
def test_node_name_after_assignment(index: Any, value: Any, name: str) -> None:
    check_name(assigned(index, value).grad_fn, name)


def test_node_names_after_write_through_view() -> None:
    base = make_inputs().a.clone()
    row = base[0]
    row.mul_(2)
    check_name(base.grad_fn, "CopySlices")
    assert row.grad_fn.name() in ("SelectBackward0", "AsStridedBackward0")  # as it was taken, or by its strides
    check_name(base[0].grad_fn, "SelectBackward0")


def test_assignment_through_view_records_on_base() -> None:
    check_name(assigned(0, 5.0, through=lambda t: t[1:]).grad_fn, "CopySlices")


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.a.contiguous(),
        lambda x: x.a.double(),
        lambda x: x.a.to(torch.float64),
        lambda x: x.a.requires_grad_(),
        lambda x: F.dropout(x.a, 0.5, training=False),
        lambda x: +x.a,
    ],
)
def test_calls_that_change_nothing_return_the_same_leaf(call: Call) -> None:
    x = make_inputs()
    assert call(x) is x.a


@pytest.mark.parametrize("call", [lambda x: x.a // 2, lambda x: x.a // x.b, lambda x: torch.floor_divide(x.a, x.b)])
def test_floor_division_requires_grad_but_has_no_derivative(call: Call) -> None:
    result = call(make_inputs())
    assert result.requires_grad
    with pytest.raises(RuntimeError, match="derivative for aten::floor_divide is not implemented"):
        result.sum().backward()


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.a > x.b,
        lambda x: x.a == x.b,
        lambda x: x.a.argmax(),
        lambda x: x.a.argsort(),
        lambda x: torch.isnan(x.a),
        lambda x: x.a.max(0).indices,
        lambda x: torch.sort(x.v).indices,
        lambda x: torch.topk(x.v, 2).indices,
        lambda x: x.a.detach(),
        lambda x: x.a.data,
        lambda x: x.a.long(),
        lambda x: torch.zeros_like(x.a),
        lambda x: x.const + 1,
    ],
)
def test_results_without_node(call: Call) -> None:
    result = call(make_inputs())
    assert result.grad_fn is None
    assert result.is_leaf
    assert not result.requires_grad
