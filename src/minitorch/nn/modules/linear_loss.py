"""The cross-entropy of a linear layer's output, as one loss."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ..._dtypes import dtype
from ..._tensor import Tensor
from .. import functional as F
from .linear import Linear
from .loss import _WeightedLoss


@dataclass(frozen=True)
class LinearCrossEntropyOptions:
    """How PyTorch divides ``linear_cross_entropy`` into parts: accepted, and checked; here the logits are made whole.

    Parameters
    ----------
    allow_retain_graph : bool
        Whether backward may run again: it may in any case.
    batch_chunk_size : int, optional
        How many samples make a part.
    chunking_method : str or None
        How that number is found: "auto", "aspect_ratio" or "aspect_ratio:N".
    acc_policy : {"auto", "accurate", "balanced", "compact"}
        What is kept in *acc_dtype*.
    acc_dtype : dtype, optional
        In what sums are made.

    Raises
    ------
    ValueError
        If one of them is none of these.
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: dtype | None = None

    def __post_init__(self) -> None:
        if self.acc_policy not in ("auto", "accurate", "balanced", "compact"):
            raise ValueError(f"invalid acc_policy: {self.acc_policy!r}")
        if self.chunking_method not in (None, "auto"):
            name, colon, factor = str(self.chunking_method).partition(":")
            if name != "aspect_ratio" or (colon and not (factor.isdigit() and int(factor) > 0)):
                raise ValueError(f"invalid chunking_method: {self.chunking_method!r}")
        size = self.batch_chunk_size
        if size is not None and not (isinstance(size, int) and size > 0):
            raise ValueError(f"batch_chunk_size must be positive int or None, got {size!r}")
        if self.acc_dtype is not None and not self.acc_dtype.is_floating_point:
            raise ValueError(f"acc_dtype must be None or a floating-point dtype, got {self.acc_dtype!r}")


class LinearCrossEntropyLoss(_WeightedLoss):
    """The cross-entropy of targets and of scores that the loss makes itself, by a linear layer.

    Parameters
    ----------
    in_features : int
        The size of a sample.
    num_classes : int
        C.
    out_features : tuple of int
        Of each sample there are so many choices between classes; then targets have these dimensions too.
    bias : bool, default False
        Whether the linear layer has a bias.
    device, dtype
        Of the linear layer.
    reduction : "mean", "sum" or "none"
        Of the samples' losses; the mean is weighted.
    weight : Tensor, shape (C,), optional
        How much each class counts.
    ignore_index : int, optional
        A target that does not count; -100 by default.
    label_smoothing : float, default 0
        The part of each target that is spread evenly over the classes.
    options : LinearCrossEntropyOptions, optional
        Accepted.

    Attributes
    ----------
    linear : Linear
        From *in_features* to ``C * prod(out_features)``.

    Raises
    ------
    RuntimeError
        If *weight* is not of the size of the classes, or *label_smoothing* is out of range.

    Examples
    --------
    >>> import minitorch as torch
    >>> loss = torch.nn.LinearCrossEntropyLoss(3, 10)
    >>> loss(torch.zeros(2, 3), torch.tensor([4, 9]))
    tensor(2.3026, grad_fn=<NllLossBackward0>)
    """

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Any = None,
        dtype: Any = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: LinearCrossEntropyOptions | None = None,
    ) -> None:
        if weight is not None and tuple(weight.shape) != (num_classes,):
            raise RuntimeError(f"expected weight shape to be {(num_classes,)}, got {tuple(weight.shape)}")
        if not 0 <= label_smoothing <= 1:
            raise RuntimeError(f"expected label_smoothing to be in range [0, 1], got {label_smoothing}")
        super().__init__(weight, None, None, reduction)
        self.num_classes, self.out_features = num_classes, out_features
        self.ignore_index, self.label_smoothing, self.options = ignore_index, label_smoothing, options
        total = math.prod(out_features, start=num_classes)
        self.linear = Linear(in_features, total, bias=bias, device=device, dtype=dtype)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        linear, shape = self.linear, (self.num_classes, *self.out_features)
        return F.linear_cross_entropy(
            input,
            linear.weight.reshape((*shape, linear.in_features)),
            target,
            linear_bias=None if linear.bias is None else linear.bias.reshape(shape),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def _misfit(self, input: Tensor, target: Tensor) -> str:
        size, shape, got = self.linear.in_features, tuple(input.shape), tuple(target.shape)
        expected = (*shape[:-1], *self.out_features)
        if shape[-1:] == (size,) and got in (expected, (*shape[:-1], self.num_classes, *self.out_features)):
            return ""
        return (
            f"LinearCrossEntropyLoss({size}, {self.num_classes}) expects an input of shape (N, {size}) and a target of shape "
            f"{('N', *self.out_features)}, and got {shape} and {got}: reshape them, or change in_features or out_features"
        )

    def extra_repr(self) -> str:
        names = ("num_classes", "out_features", "bias", "reduction", "ignore_index", "label_smoothing", "options")
        shown = [f"in_features={self.linear.in_features}"]
        shown += [f"{n}={self.linear.bias is not None if n == 'bias' else getattr(self, n)}" for n in names]
        return ", ".join(shown)
