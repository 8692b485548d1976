"""Exponential families: entropies, and divergences between members of one family, from the log normaliser."""

from __future__ import annotations

from typing import Any

from .._differentiate import grad
from .._runtime import flagged
from .distribution import Distribution
from .utils import sum_rightmost


class ExponentialFamily(Distribution):
    """A distribution with density ``exp(t(x) . natural - log_normalizer(natural) + carrier(x))``.

    A subclass gives ``_natural_params``, ``_log_normalizer`` and ``_mean_carrier_measure``; the entropy follows from the
    gradient of the log normaliser, which is the mean of ``t(x)``.

    Notes
    -----
    Source: F. Nielsen and R. Nock, "Entropies and cross-entropies of exponential families", ICIP 2010.

    Examples
    --------
    >>> import minitorch as torch
    >>> normal = torch.distributions.Normal(0.0, 1.0)
    >>> torch.distributions.ExponentialFamily.entropy(normal)
    tensor(1.4189, grad_fn=<SubBackward0>)
    """

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        raise NotImplementedError(f"{type(self).__name__} does not define _natural_params")

    def _log_normalizer(self, *natural_params: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not define _log_normalizer")

    @property
    def _mean_carrier_measure(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not define _mean_carrier_measure")

    def entropy(self) -> Any:
        carrier = self._mean_carrier_measure
        natural, normalizer, means = self._mean_statistics()
        result = normalizer - carrier
        for parameter, mean in zip(natural, means):
            result = result - sum_rightmost(parameter * mean, len(parameter.shape) - len(self._batch_shape))
        return result

    def _mean_statistics(self) -> tuple[list[Any], Any, Any]:
        """The natural parameters (as leaves), the log normaliser, and its gradients."""
        natural = [flagged(p.detach()) for p in self._natural_params]
        normalizer = self._log_normalizer(*natural)
        return natural, normalizer, grad(normalizer.sum(), natural, create_graph=True)
