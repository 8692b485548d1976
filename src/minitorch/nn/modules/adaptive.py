"""A softmax over many classes whose rare ones are approximated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..._tensor import Tensor
from ...ops.join import cat
from .. import functional as F
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module


class _ASMoutput(NamedTuple):
    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """The log-softmax of classes that are sorted by how often they occur: a head of frequent ones, and tails.

    Parameters
    ----------
    in_features, n_classes : int
        The size of the input's last dimension, and how many classes there are.
    cutoffs : sequence of int
        Where the head and each tail but the last end.
    div_value : float, default 4
        By how much the size shrinks from one tail to the next.
    head_bias : bool, default False
        Whether the head has a bias.
    device, dtype
        Of the parameters.

    Notes
    -----
    Source: Grave et al., "Efficient softmax approximation for GPUs", 2017.

    Examples
    --------
    >>> import minitorch as torch
    >>> layer = torch.nn.AdaptiveLogSoftmaxWithLoss(8, 10, [2, 5], div_value=2.0)
    >>> layer.predict(torch.randn(3, 8)).shape
    torch.Size([3])
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        given = list(cutoffs)
        if not given:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        whole = all([int(cutoff) == cutoff for cutoff in given])
        if not whole or given != sorted(set(given)) or given[0] <= 0 or given[-1] > n_classes - 1:
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each "
                f"value is between 1 and n_classes-1, but got {given}"
            )
        self.in_features, self.n_classes = in_features, n_classes
        self.cutoffs = [*given, n_classes]
        self.div_value, self.head_bias = div_value, head_bias
        self.shortlist_size, self.n_clusters = self.cutoffs[0], len(given)
        self.head_size = self.shortlist_size + self.n_clusters
        options: Any = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **options)
        self.tail = ModuleList()
        for number, (low, high) in enumerate(zip(self.cutoffs, self.cutoffs[1:]), 1):
            size = int(in_features // div_value**number)
            layers = Linear(in_features, size, bias=False, **options), Linear(size, high - low, bias=False, **options)
            self.tail.append(Sequential(*layers))

    def reset_parameters(self) -> None:
        """Draw new values."""
        self.head.reset_parameters()
        for layers in self.tail:
            for layer in layers.children():
                layer.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        batched = target_.dim() > 0
        if target_.dim() > 1 or input_.dim() != target_.dim() + 1:
            raise RuntimeError(
                "expected a target of 0 or 1 dimensions and an input of one more, but got "
                f"{target_.dim()} and {input_.dim()}"
            )
        if batched and len(input_) != len(target_):
            raise RuntimeError(
                f"Input and target should have the same size in the batch dimension, but got {len(input_)} and "
                f"{len(target_)}"
            )
        input, target = (input_, target_) if batched else (input_.unsqueeze(0), target_.unsqueeze(0))
        classes = target._array
        if classes.size and not 0 <= classes.min() <= classes.max() < self.n_classes:
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range [{classes.min()}, "
                f"{classes.max()}] were found. "
            )
        output = input.new_zeros(len(input))
        chosen = target.clone()
        for number, (low, high) in enumerate(zip(self.cutoffs, self.cutoffs[1:])):
            rows = ((target >= low) & (target < high)).nonzero().squeeze(1)
            if rows.numel():
                scores = F.log_softmax(self.tail[number](input.index_select(0, rows)), dim=1)
                found = scores.gather(1, (target.index_select(0, rows) - low).unsqueeze(1)).squeeze(1)
                output = output.index_copy(0, rows, found)
                chosen = chosen.index_fill(0, rows, self.shortlist_size + number)
        head = F.log_softmax(self.head(input), dim=1)
        output = output + head.gather(1, chosen.unsqueeze(1)).squeeze(1)
        loss = (-output).mean()
        return _ASMoutput(output if batched else output.squeeze(0), loss)

    def log_prob(self, input: Tensor) -> Tensor:
        """The logarithms of the probabilities of all classes, (N, n_classes)."""
        head = F.log_softmax(self.head(input), dim=1)
        parts = [head[:, : self.shortlist_size]]
        for number, tail in enumerate(self.tail):
            cluster = head[:, self.shortlist_size + number].unsqueeze(1)
            parts.append(F.log_softmax(tail(input), dim=1) + cluster)
        return cat(parts, 1)

    def predict(self, input: Tensor) -> Tensor:
        """The most probable class of each row."""
        return self.log_prob(input).argmax(1)
