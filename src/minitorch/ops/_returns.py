"""The named tuples that functions with several results return: ``torch.return_types``."""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .._tensor import Tensor


class _Results(tuple[Any, ...]):
    """A tuple whose fields have names: made, as in PyTorch, from one sequence."""

    __slots__ = ()
    _names: tuple[str, ...] = ()

    def __new__(cls, results: Iterable[Any]) -> Any:
        made = super().__new__(cls, results)
        if len(made) != len(cls._names):
            expected = len(cls._names)
            raise TypeError(f"torch.return_types.{cls.__name__}() takes a {expected}-sequence, not one of {len(made)}")
        return made

    @property
    def n_fields(self) -> int:
        """How many fields there are."""
        return len(self._names)

    def __repr__(self) -> str:
        fields = ",\n".join([f"{name}={value!r}" for name, value in zip(self._names, self)])
        return f"torch.return_types.{type(self).__name__}(\n{fields})"


class _ValuesIndices(_Results):
    __slots__ = ()
    _names = ("values", "indices")

    values: Tensor = property(itemgetter(0))  # type: ignore[assignment]
    indices: Tensor = property(itemgetter(1))  # type: ignore[assignment]


class max(_ValuesIndices):
    __slots__ = ()


class min(_ValuesIndices):
    __slots__ = ()


class median(_ValuesIndices):
    __slots__ = ()


class nanmedian(_ValuesIndices):
    __slots__ = ()


class mode(_ValuesIndices):
    __slots__ = ()


class kthvalue(_ValuesIndices):
    __slots__ = ()


class sort(_ValuesIndices):
    __slots__ = ()


class topk(_ValuesIndices):
    __slots__ = ()


class cummax(_ValuesIndices):
    __slots__ = ()


class cummin(_ValuesIndices):
    __slots__ = ()


class aminmax(_Results):
    __slots__ = ()
    _names = ("min", "max")

    min: Tensor = property(itemgetter(0))  # type: ignore[assignment]
    max: Tensor = property(itemgetter(1))  # type: ignore[assignment]
