"""Mixtures of distributions of one family."""

from __future__ import annotations

from typing import Any

from .._modes import no_grad
from .._size import Size
from ..nn.functional import log_softmax
from . import constraints
from .categorical import Categorical
from .distribution import Distribution


class MixtureSameFamily(Distribution):
    """A sample of a component that is itself drawn; the components are the last batch dimension of one distribution.

    Parameters
    ----------
    mixture_distribution : Categorical
        Which component.
    component_distribution : Distribution
        The components, with a batch shape that ends with their number.
    validate_args : bool, optional
        Whether values are checked.

    Raises
    ------
    ValueError
        If they are something else, or don't fit.

    Examples
    --------
    >>> import minitorch as torch
    >>> D = torch.distributions
    >>> mixture = D.MixtureSameFamily(D.Categorical(torch.ones(2)), D.Normal(torch.tensor([-1.0, 1.0]), 1.0))
    >>> mixture.mean, mixture.variance, mixture.log_prob(torch.tensor(0.0))
    (tensor(0.), tensor(2.), tensor(-1.4189))
    """

    arg_constraints: dict[str, Any] = {}
    has_rsample = False

    def __init__(
        self, mixture_distribution: Any, component_distribution: Any, validate_args: bool | None = None
    ) -> None:
        for name, given, wanted in (
            ("Mixture", mixture_distribution, Categorical),
            ("Component", component_distribution, Distribution),
        ):
            if not isinstance(given, wanted):
                raise ValueError(
                    f"The {name} distribution needs to be an instance of torch.distributions.{wanted.__name__}, "
                    f"but got {type(given).__name__}"
                )
        batch, components = component_distribution.batch_shape[:-1], component_distribution.batch_shape[-1:]
        chooses, events = mixture_distribution.batch_shape, mixture_distribution.logits.shape[-1]
        if any(i != j and 1 not in (i, j) for i, j in zip(reversed(chooses), reversed(batch))):
            raise ValueError(
                f"`mixture_distribution.batch_shape` ({chooses}) is not compatible with "
                f"`component_distribution.batch_shape` ({batch})"
            )
        if components and components[0] != events:
            raise ValueError(
                f"`mixture_distribution component` ({events}) does not equal `component_distribution.batch_shape[-1]` "
                f"({components[0]})"
            )
        self._mixture_distribution, self._component_distribution = mixture_distribution, component_distribution
        self._num_component, self._event_ndims = events, len(component_distribution.event_shape)
        super().__init__(batch, component_distribution.event_shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(MixtureSameFamily, _instance)
        components = self._component_distribution.expand(Size((*batch_shape, self._num_component)))
        new._component_distribution = components
        new._mixture_distribution = self._mixture_distribution.expand(Size(batch_shape))
        new._num_component, new._event_ndims = self._num_component, self._event_ndims
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @constraints.dependent_property
    def support(self) -> Any:
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Any:
        """Which component."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Any:
        """The components."""
        return self._component_distribution

    def _weights(self) -> Any:
        """The probabilities of the components, with dimensions for the batch and the event."""
        probs, chooses = self._mixture_distribution.probs, len(self._mixture_distribution.batch_shape)
        missing = 0 if chooses == 1 else len(self._batch_shape) - chooses
        return probs.reshape((*probs.shape[:-1], *[1] * missing, probs.shape[-1], *[1] * self._event_ndims))

    def _average(self, values: Any) -> Any:
        return (self._weights() * values).sum(-1 - self._event_ndims)

    def _for_each(self, value: Any) -> Any:
        return value.unsqueeze(-1 - self._event_ndims)

    @property
    def mean(self) -> Any:
        return self._average(self._component_distribution.mean)

    @property
    def variance(self) -> Any:
        within = self._average(self._component_distribution.variance)
        between = self._average((self._component_distribution.mean - self._for_each(self.mean)).pow(2.0))
        return within + between

    def cdf(self, value: Any) -> Any:
        below = self._component_distribution.cdf(self._for_each(value))
        return (below * self._mixture_distribution.probs).sum(-1)

    def log_prob(self, value: Any) -> Any:
        value = self._for_each(self._checked(value))
        weights = log_softmax(self._mixture_distribution.logits, dim=-1)
        return (self._component_distribution.log_prob(value) + weights).logsumexp(dim=-1)

    def sample(self, sample_shape: Any = ()) -> Any:
        with no_grad():
            dim = len(sample_shape) + len(self._batch_shape)
            choices = self._mixture_distribution.sample(sample_shape)
            samples = self._component_distribution.sample(sample_shape)
            index = choices.reshape((*choices.shape, *[1] * (self._event_ndims + 1)))
            index = index.expand((*choices.shape, 1, *self._event_shape))
            return samples.gather(dim, index).squeeze(dim)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self._mixture_distribution},\n  {self._component_distribution})"
