"""Distributions of transformed samples."""

from __future__ import annotations

from typing import Any

from .._modes import no_grad
from .._size import Size
from . import constraints
from .distribution import Distribution
from .independent import Independent
from .transforms import ComposeTransform, Transform
from .utils import sum_rightmost


class TransformedDistribution(Distribution):
    """The distribution of ``transforms(x)`` for samples *x* of another one: densities change by the Jacobian determinant.

    Parameters
    ----------
    base_distribution : Distribution
        What is transformed.
    transforms : Transform or list of Transform
        Applied in this order.
    validate_args : bool, optional
        Whether values are checked.

    Raises
    ------
    ValueError
        For other transforms, and if the base has fewer dimensions than they need.

    Examples
    --------
    >>> import minitorch as torch
    >>> base = torch.distributions.Normal(0.0, 1.0)
    >>> log_normal = torch.distributions.TransformedDistribution(base, torch.distributions.ExpTransform())
    >>> log_normal.log_prob(torch.tensor(1.0))
    tensor(-0.9189)
    """

    arg_constraints: dict[str, Any] = {}
    _expands: tuple[str, ...] = ()

    def __init__(self, base_distribution: Any, transforms: Any, validate_args: bool | None = None) -> None:
        self.transforms = [transforms] if isinstance(transforms, Transform) else transforms
        if not isinstance(self.transforms, list) or not all(isinstance(t, Transform) for t in self.transforms):
            raise ValueError(f"transforms must be a Transform or a list of Transforms, but was {transforms}")
        whole = ComposeTransform(self.transforms)
        shape = Size((*base_distribution.batch_shape, *base_distribution.event_shape))
        event_dims, needed, gives = len(base_distribution.event_shape), whole.domain.event_dim, whole.codomain.event_dim
        if len(shape) < needed:
            raise ValueError(f"base_distribution needs to have shape with size at least {needed}, but got {shape}.")
        result_shape = Size(whole.forward_shape(shape))
        if (wider := Size(whole.inverse_shape(result_shape))) != shape:
            base_distribution = base_distribution.expand(wider[: len(wider) - event_dims])
        if needed > event_dims:
            base_distribution = Independent(base_distribution, needed - event_dims)
        self.base_dist = base_distribution
        cut = len(result_shape) - max(gives, event_dims + gives - needed)
        super().__init__(result_shape[:cut], result_shape[cut:], validate_args=validate_args)

    def _expanded(self, owner: Any, batch_shape: Size, _instance: Any) -> Any:
        shape: Any = Size((*batch_shape, *self._event_shape))
        for transform in reversed(self.transforms):
            shape = transform.inverse_shape(shape)
        new = super()._expanded(owner, batch_shape, _instance)
        new.base_dist = self.base_dist.expand(Size(shape[: len(shape) - len(self.base_dist.event_shape)]))
        new.transforms = self.transforms
        return new

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        if not self.transforms:
            return self.base_dist.support
        last = self.transforms[-1].codomain
        more = len(self._event_shape) - last.event_dim
        return constraints.independent(last, more) if more > 0 else last

    @property
    def has_rsample(self) -> Any:
        return self.base_dist.has_rsample

    def _transformed(self, x: Any) -> Any:
        for transform in self.transforms:
            x = transform(x)
        return x

    def sample(self, sample_shape: Any = ()) -> Any:
        with no_grad():
            return self._transformed(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self._transformed(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Any) -> Any:
        y, event_dims, total = self._checked(value), len(self._event_shape), 0.0
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            event_dims += transform.domain.event_dim - transform.codomain.event_dim
            stretch = transform.log_abs_det_jacobian(x, y)
            total = total - sum_rightmost(stretch, event_dims - transform.domain.event_dim)
            y = x
        return total + sum_rightmost(self.base_dist.log_prob(y), event_dims - len(self.base_dist.event_shape))

    def _turned(self, probability: Any) -> Any:
        """``1 - probability`` where the transforms together decrease."""
        sign: Any = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        if isinstance(sign, int) and sign == 1:
            return probability
        return sign * (probability - 0.5) + 0.5

    def cdf(self, value: Any) -> Any:
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._turned(self.base_dist.cdf(value))

    def icdf(self, value: Any) -> Any:
        return self._transformed(self.base_dist.icdf(self._turned(value)))
