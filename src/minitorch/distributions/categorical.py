"""The categorical distribution."""

from __future__ import annotations

import math
from typing import Any

from .._limits import finfo
from .._size import Size
from ..ops.broadcast import broadcast_tensors
from ..ops.creation import full
from ..ops.random import multinomial
from ..ops.ranges import arange
from . import constraints
from .distribution import Distribution
from .utils import lazy_property, logits_to_probs, one_of, probs_to_logits


class Categorical(Distribution):
    """Integers from 0 to k - 1, of given probabilities.

    Parameters
    ----------
    probs : Tensor, shape (..., k)
        Probabilities, or weights that are divided by their sum.
    logits : Tensor, shape (..., k)
        Log-probabilities up to a constant, instead.
    validate_args : bool, optional
        Whether parameters and values are checked.

    Raises
    ------
    ValueError
        If both or neither are given, or have no dimension.

    Examples
    --------
    >>> import minitorch as torch
    >>> die = torch.distributions.Categorical(torch.tensor([1.0, 1.0, 2.0]))
    >>> die.probs, die.log_prob(torch.tensor(2))
    (tensor([0.2500, 0.2500, 0.5000]), tensor(-0.6931))
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    _expands = ("probs", "logits", "_param")
    _keeps = ("_num_events",)

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        one_of(probs, logits)
        name, given = ("probs", probs) if probs is not None else ("logits", logits)
        if given.dim() < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        if probs is not None:
            self._param = probs / probs.sum(-1, keepdim=True)
        else:
            self._param = logits - logits.logsumexp(dim=-1, keepdim=True)
        self.__dict__[name] = self._param
        self._num_events = self._param.shape[-1]
        super().__init__(self._param.shape[:-1], validate_args=validate_args)

    def _new(self, *args: Any, **kwargs: Any) -> Any:
        return self._param.new(*args, **kwargs)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self._num_events - 1)

    @lazy_property
    def logits(self) -> Any:
        """Log-probabilities."""
        return probs_to_logits(self.probs)

    @lazy_property
    def probs(self) -> Any:
        """Probabilities."""
        return logits_to_probs(self.logits)

    @property
    def param_shape(self) -> Any:
        """The shape of the parameters."""
        return self._param.shape

    @property
    def mean(self) -> Any:
        return full(self._batch_shape, math.nan, dtype=self.probs.dtype)

    @property
    def mode(self) -> Any:
        return self.probs.argmax(dim=-1)

    @property
    def variance(self) -> Any:
        return full(self._batch_shape, math.nan, dtype=self.probs.dtype)

    def sample(self, sample_shape: Any = ()) -> Any:
        shape = Size(sample_shape)
        rows = self.probs.reshape(-1, self._num_events).detach()
        return multinomial(rows, shape.numel(), True).T.reshape(self._extended_shape(shape))

    def log_prob(self, value: Any) -> Any:
        index = self._checked(value).long().unsqueeze(-1)
        index, logits = broadcast_tensors(index, self.logits)
        return logits.gather(-1, index[..., :1]).squeeze(-1)

    def entropy(self) -> Any:
        logits = self.logits.clamp(min=finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Any:
        return self._over_batch(arange(self._num_events), expand)
