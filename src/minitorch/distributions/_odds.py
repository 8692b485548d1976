"""Distributions of events that happen or not: of probability ``probs``, or of log-odds ``logits``."""

from __future__ import annotations

from typing import Any

from . import constraints
from .utils import broadcast_all, lazy_property, logits_to_probs, one_of, probs_to_logits


class Odds:
    """The parameters ``probs`` and ``logits``, of which one is given and the other follows."""

    arg_constraints: Any = {"probs": constraints.unit_interval, "logits": constraints.real}
    _param: Any

    def _set_odds(self, probs: Any, logits: Any, *others: Any) -> list[Any]:
        """Set the given one, of one shape with *others*, which are returned."""
        one_of(probs, logits)
        name, given = ("probs", probs) if probs is not None else ("logits", logits)
        *others_expanded, self._param = broadcast_all(*others, given)
        self.__dict__[name] = self._param
        return [other.type_as(self._param) for other in others_expanded]

    def _new(self, *args: Any, **kwargs: Any) -> Any:
        return self._param.new(*args, **kwargs)

    @lazy_property
    def logits(self) -> Any:
        """Log-odds: ``log(probs / (1 - probs))``."""
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Any:
        """Probabilities."""
        return logits_to_probs(self.logits, is_binary=True)

    @property
    def param_shape(self) -> Any:
        """The shape of the parameters."""
        return self._param.shape
