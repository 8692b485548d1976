"""Transforms that act on parts of a tensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ops.join import cat, stack
from .. import constraints
from ..utils import lazy_property, sum_rightmost
from .transform import Transform


class _Parts(Transform):
    """Several transforms, each of one part along a dimension."""

    def __init__(self, tseq: Sequence[Any], dim: int = 0, cache_size: int = 0) -> None:
        if not all(isinstance(t, Transform) for t in tseq):
            raise AssertionError("All elements of tseq must be Transform instances")
        super().__init__(cache_size=cache_size)
        self.transforms = [t.with_cache(cache_size) for t in tseq] if cache_size else list(tseq)
        self.dim = dim

    @property
    def bijective(self) -> Any:
        return all(t.bijective for t in self.transforms)

    def _check(self, value: Any, size: int) -> None:
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(f"dim {self.dim} out of range for tensor with {value.dim()} dimensions")
        if value.shape[self.dim] != size:
            raise AssertionError(f"the size of dim {self.dim} must be {size}, but is {value.shape[self.dim]}")


class CatTransform(_Parts):
    """Transforms of slices of the given lengths along a dimension.

    Examples
    --------
    >>> import minitorch as torch
    >>> D = torch.distributions
    >>> D.CatTransform([D.ExpTransform(), D.identity_transform], lengths=[1, 2])(torch.zeros(3))
    tensor([1., 0., 0.])
    """

    def __init__(
        self, tseq: Sequence[Any], dim: int = 0, lengths: Sequence[int] | None = None, cache_size: int = 0
    ) -> None:
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match transforms ({len(self.transforms)})")

    @lazy_property
    def event_dim(self) -> Any:
        return max(t.event_dim for t in self.transforms)

    @lazy_property
    def length(self) -> Any:
        return sum(self.lengths)

    def with_cache(self, cache_size: int = 1) -> Any:
        if self._cache_size == cache_size:
            return self
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _split(self, value: Any) -> Any:
        self._check(value, self.length)
        return value.split(self.lengths, self.dim)

    def _call(self, x: Any) -> Any:
        return cat([t(part) for t, part in zip(self.transforms, self._split(x))], self.dim)

    def _inverse(self, y: Any) -> Any:
        return cat([t.inv(part) for t, part in zip(self.transforms, self._split(y))], self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        terms = [
            sum_rightmost(t.log_abs_det_jacobian(one, other), self.event_dim - t.event_dim)
            for t, one, other in zip(self.transforms, self._split(x), self._split(y))
        ]
        dim = (self.dim - x.dim() if self.dim >= 0 else self.dim) + self.event_dim
        return cat(terms, dim) if dim < 0 else sum(terms)

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(_Parts):
    """One transform for each index of a dimension.

    Examples
    --------
    >>> import minitorch as torch
    >>> D = torch.distributions
    >>> D.StackTransform([D.ExpTransform(), D.identity_transform])(torch.zeros(2, 2))
    tensor([[1., 1.],
            [0., 0.]])
    """

    def with_cache(self, cache_size: int = 1) -> Any:
        return self if self._cache_size == cache_size else StackTransform(self.transforms, self.dim, cache_size)

    def _unbound(self, value: Any) -> Any:
        self._check(value, len(self.transforms))
        return value.unbind(self.dim)

    def _call(self, x: Any) -> Any:
        return stack([t(part) for t, part in zip(self.transforms, self._unbound(x))], self.dim)

    def _inverse(self, y: Any) -> Any:
        return stack([t.inv(part) for t, part in zip(self.transforms, self._unbound(y))], self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        pairs = zip(self.transforms, self._unbound(x), self._unbound(y))
        return stack([t.log_abs_det_jacobian(one, other) for t, one, other in pairs], self.dim)

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.stack([t.codomain for t in self.transforms], self.dim)
