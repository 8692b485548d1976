"""The base of all distributions."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from .. import _runtime
from .._modes import no_grad
from .._size import Size
from ..ops.compare import refuse_invalid
from . import constraints
from .utils import lazy_property


class Distribution:
    """A distribution, or a batch of them.

    Parameters
    ----------
    batch_shape : Size
        The shape of the batch: of independent distributions whose parameters differ.
    event_shape : Size
        The shape of one sample of one of them.
    validate_args : bool, optional
        Whether parameters and values are checked, by default as ``set_default_validate_args`` says.

    Attributes
    ----------
    arg_constraints : dict
        What each parameter must satisfy.
    has_rsample, has_enumerate_support : bool
        Whether samples have gradients; whether ``enumerate_support`` works.

    Raises
    ------
    ValueError
        If a parameter violates its constraint.

    Examples
    --------
    >>> import minitorch as torch
    >>> normal = torch.distributions.Normal(torch.zeros(3), 1.0)
    >>> normal.batch_shape, normal.event_shape, normal.sample((2,)).shape
    (torch.Size([3]), torch.Size([]), torch.Size([2, 3]))
    """

    has_rsample: Any = False
    has_enumerate_support: Any = False
    _validate_args = __debug__

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether distributions check their arguments unless told otherwise; ValueError unless True or False."""
        if value not in (True, False):
            raise ValueError(f"set_default_validate_args(): expected True or False, but got {value!r}")
        Distribution._validate_args = value

    def __init__(
        self, batch_shape: Any = (), event_shape: Any = (), validate_args: bool | None = None
    ) -> None:  # fmt: skip
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()

    def _check_parameters(self) -> None:
        try:
            given = self.arg_constraints
        except NotImplementedError:
            warnings.warn(
                f"{type(self)} does not define `arg_constraints`: set it to {{}}, or pass validate_args=False",
                stacklevel=4,
            )
            return
        for name, constraint in given.items():
            if constraints.is_dependent(constraint):
                continue
            if name not in self.__dict__ and isinstance(getattr(type(self), name, None), lazy_property):
                continue  # the other of probs and logits
            value = getattr(self, name)
            self._refuse_invalid(
                f"parameter {name}", value, constraint.check(value), f"satisfy the constraint {constraint!r}"
            )

    def _refuse_invalid(self, what: str, value: Any, valid: Any, must: str) -> None:
        def said(batched: bool) -> str:
            return (
                f"Expected {what} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution {self!r} to {must}, "
                + (
                    "but found invalid values among the examples of a map"
                    if batched
                    else f"but found invalid values:\n{value}"
                )
            )

        refuse_invalid(valid, rank=valid.dim(), said=said)

    # -- shapes
    @property
    def batch_shape(self) -> Size:
        """The shape of the batch."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one sample."""
        return self._event_shape

    def _extended_shape(self, sample_shape: Any = ()) -> Size:
        return Size((*sample_shape, *self._batch_shape, *self._event_shape))

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The distribution with its parameters expanded to a larger batch.

        A class that declares ``_expands``, the names of its tensors and of the distributions that it is made of, needs no
        ``expand`` of its own; ``_keeps`` are those that stay as they are.
        """
        owner = next((c for c in type(self).__mro__ if "_expands" in vars(c)), None)
        if owner is None:
            raise NotImplementedError(f"{type(self).__name__} does not implement expand")
        return self._expanded(owner, Size(batch_shape), _instance)

    def _expanded(self, owner: Any, batch_shape: Size, _instance: Any) -> Any:
        new = self._get_checked_instance(owner, _instance)
        dims = len(self._batch_shape)
        for name in owner._expands:
            if name in self.__dict__:
                value = self.__dict__[name]
                is_part = isinstance(value, Distribution)
                shape = batch_shape if is_part else Size((*batch_shape, *value.shape[dims:]))
                new.__dict__[name] = value.expand(shape)
        for name in getattr(owner, "_keeps", ()):
            new.__dict__[name] = self.__dict__[name]
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _get_checked_instance(self, cls: Any, _instance: Any = None) -> Any:
        if _instance is None and type(self).__init__ is not cls.__init__:
            raise NotImplementedError(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ method must also define a "
                "custom .expand() method."
            )
        return object.__new__(type(self)) if _instance is None else _instance

    # -- what a distribution may have
    @property
    def arg_constraints(self) -> Any:
        """What each parameter must satisfy."""
        raise NotImplementedError(f"{type(self).__name__} does not define arg_constraints")

    @property
    def support(self) -> Any:
        """What samples satisfy."""
        raise NotImplementedError(f"{type(self).__name__} does not define support")

    @property
    def mean(self) -> Any:
        """The mean."""
        raise NotImplementedError(f"{type(self).__name__} does not implement mean")

    @property
    def mode(self) -> Any:
        """The most likely value."""
        raise NotImplementedError(f"{type(self).__name__} does not implement mode")

    @property
    def variance(self) -> Any:
        """The variance."""
        raise NotImplementedError(f"{type(self).__name__} does not implement variance")

    @property
    def stddev(self) -> Any:
        """The standard deviation."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Any = ()) -> Any:
        """Samples without gradients, of shape ``sample_shape + batch_shape + event_shape``."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Samples with gradients: as functions of the parameters and of noise that does not depend on them."""
        raise NotImplementedError(f"{type(self).__name__} does not implement rsample")

    def sample_n(self, n: int) -> Any:
        """``sample((n,))``."""
        warnings.warn(
            "`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", category=FutureWarning, stacklevel=2
        )
        return self.sample(Size((n,)))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density, or probability, at *value*."""
        raise NotImplementedError(f"{type(self).__name__} does not implement log_prob")

    def cdf(self, value: Any) -> Any:
        """The probability of at most *value*."""
        raise NotImplementedError(f"{type(self).__name__} does not implement cdf")

    def icdf(self, value: Any) -> Any:
        """The inverse of ``cdf``."""
        raise NotImplementedError(f"{type(self).__name__} does not implement icdf")

    def enumerate_support(self, expand: bool = True) -> Any:
        """All values of a discrete distribution, along a new first dimension; expanded over the batch, unless told not to."""
        raise NotImplementedError(f"{type(self).__name__} does not implement enumerate_support")

    def _over_batch(self, values: Any, expand: bool) -> Any:
        """Values along a first dimension, each with the event's dimensions, as ``enumerate_support`` returns them."""
        event = values.shape[1:]
        values = values.view((-1, *[1] * len(self._batch_shape), *event))
        return values.expand((-1, *self._batch_shape, *event)) if expand else values

    def entropy(self) -> Any:
        """The entropy, in nats."""
        raise NotImplementedError(f"{type(self).__name__} does not implement entropy")

    def perplexity(self) -> Any:
        """``exp(entropy())``."""
        return self.entropy().exp()

    # -- values
    def _validate_sample(self, value: Any) -> None:
        """Refuse a value of another shape, or outside the support."""
        if not isinstance(value, _runtime.Tensor):
            raise ValueError(f"The value argument to log_prob must be a Tensor, but got {type(value).__name__}")
        shape, expected = value.shape, (*self._batch_shape, *self._event_shape)
        if shape[len(shape) - len(self._event_shape) :] != self._event_shape:
            raise ValueError(f"The right-most size of value must match event_shape: {shape} vs {self._event_shape}.")
        if not _broadcast(shape, expected):
            raise ValueError(f"Value is not broadcastable with batch_shape+event_shape: {shape} vs {Size(expected)}.")
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{type(self)} does not define `support`, so that values are not checked: pass validate_args=False",
                stacklevel=3,
            )
            return
        self._refuse_invalid("value argument", value, support.check(value), f"be within the support ({support!r})")

    def _checked(self, value: Any) -> Any:
        """The value, validated if this distribution validates."""
        if self._validate_args:
            self._validate_sample(value)
        return value

    def __repr__(self) -> str:
        values = [(name, self.__dict__[name]) for name in self.arg_constraints if name in self.__dict__]
        shown = [f"{name}: {value if value.numel() == 1 else value.shape}" for name, value in values]
        return f"{type(self).__name__}({', '.join(shown)})"


def _broadcast(shape: Sequence[int], other: Sequence[int]) -> bool:
    return all(i == j or 1 in (i, j) for i, j in zip(reversed(shape), reversed(other)))
