"""Distributions that are made of a categorical one."""

from __future__ import annotations

from typing import Any


class ByCategorical:
    """The parameters of a categorical distribution, ``self._categorical``."""

    _categorical: Any

    def _new(self, *args: Any, **kwargs: Any) -> Any:
        return self._categorical._new(*args, **kwargs)

    @property
    def _param(self) -> Any:
        return self._categorical._param

    @property
    def probs(self) -> Any:
        """Probabilities."""
        return self._categorical.probs

    @property
    def logits(self) -> Any:
        """Log-probabilities."""
        return self._categorical.logits

    @property
    def param_shape(self) -> Any:
        """The shape of the parameters."""
        return self._categorical.param_shape
