"""Categorical distributions of one-hot vectors."""

from __future__ import annotations

from typing import Any

from ..ops.creation import eye
from ..ops.index import one_hot
from . import constraints
from ._by_categorical import ByCategorical
from .categorical import Categorical
from .distribution import Distribution


class OneHotCategorical(ByCategorical, Distribution):
    """One-hot vectors, of given probabilities.

    Parameters
    ----------
    probs, logits : Tensor, shape (..., k)
        One of them, as for ``Categorical``.
    validate_args : bool, optional
        Whether parameters and values are checked.

    Examples
    --------
    >>> import minitorch as torch
    >>> vectors = torch.distributions.OneHotCategorical(torch.tensor([0.25, 0.75]))
    >>> vectors.log_prob(torch.tensor([0.0, 1.0])), vectors.mode
    (tensor(-0.2877), tensor([0., 1.]))
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot
    has_enumerate_support = True
    _expands = ("_categorical",)

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._categorical = Categorical(probs, logits)
        shape = self._categorical.param_shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.probs

    @property
    def mode(self) -> Any:
        return one_hot(self.probs.argmax(dim=-1), self.probs.shape[-1]).to(self.probs)

    @property
    def variance(self) -> Any:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Any:
        return one_hot(self._categorical.sample(sample_shape), self.probs.shape[-1]).to(self.probs)

    def log_prob(self, value: Any) -> Any:
        return self._categorical.log_prob(self._checked(value).max(-1)[1])

    def entropy(self) -> Any:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Any:
        return self._over_batch(eye(self._event_shape[0], dtype=self._param.dtype), expand)


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """``OneHotCategorical`` whose samples have the gradient of the probabilities.

    Notes
    -----
    Source: Y. Bengio, N. Léonard and A. Courville, "Estimating or propagating gradients through stochastic neurons for
    conditional computation", 2013.

    Examples
    --------
    >>> import minitorch as torch
    >>> probs = torch.tensor([0.25, 0.75], requires_grad=True)
    >>> (torch.distributions.OneHotCategoricalStraightThrough(probs).rsample() * torch.tensor([0.0, 1.0])).sum().backward()
    >>> probs.grad
    tensor([-0.7500,  0.2500])
    """

    has_rsample = True

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.sample(sample_shape) + (self.probs - self.probs.detach())
