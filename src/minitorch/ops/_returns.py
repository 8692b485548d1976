"""The named tuples that functions with several results return: ``torch.return_types``."""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .._tensor import Tensor


def _field(place: int) -> Any:
    """A result by its name."""
    return property(itemgetter(place))


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

    values: Tensor = _field(0)
    indices: Tensor = _field(1)


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

    min: Tensor = _field(0)
    max: Tensor = _field(1)


class _SignLogabsdet(_Results):
    __slots__ = ()
    _names = ("sign", "logabsdet")

    sign: Tensor = _field(0)
    logabsdet: Tensor = _field(1)


class linalg_slogdet(_SignLogabsdet):
    __slots__ = ()


class slogdet(_SignLogabsdet):
    __slots__ = ()


class linalg_inv_ex(_Results):
    __slots__ = ()
    _names = ("inverse", "info")

    inverse: Tensor = _field(0)
    info: Tensor = _field(1)


class linalg_solve_ex(_Results):
    __slots__ = ()
    _names = ("result", "info")

    result: Tensor = _field(0)
    info: Tensor = _field(1)


class linalg_cholesky_ex(_Results):
    __slots__ = ()
    _names = ("L", "info")

    L: Tensor = _field(0)
    info: Tensor = _field(1)


class linalg_eigh(_Results):
    __slots__ = ()
    _names = ("eigenvalues", "eigenvectors")

    eigenvalues: Tensor = _field(0)
    eigenvectors: Tensor = _field(1)


class _QR(_Results):
    __slots__ = ()
    _names = ("Q", "R")

    Q: Tensor = _field(0)
    R: Tensor = _field(1)


class linalg_qr(_QR):
    __slots__ = ()


class qr(_QR):
    __slots__ = ()


class geqrf(_Results):
    __slots__ = ()
    _names = ("a", "tau")

    a: Tensor = _field(0)
    tau: Tensor = _field(1)


class linalg_svd(_Results):
    __slots__ = ()
    _names = ("U", "S", "Vh")

    U: Tensor = _field(0)
    S: Tensor = _field(1)
    Vh: Tensor = _field(2)


class svd(_Results):
    __slots__ = ()
    _names = ("U", "S", "V")

    U: Tensor = _field(0)
    S: Tensor = _field(1)
    V: Tensor = _field(2)


class _PLU(_Results):
    __slots__ = ()
    _names = ("P", "L", "U")

    P: Tensor = _field(0)
    L: Tensor = _field(1)
    U: Tensor = _field(2)


class linalg_lu(_PLU):
    __slots__ = ()


class lu_unpack(_PLU):
    __slots__ = ()


class linalg_lu_factor(_Results):
    __slots__ = ()
    _names = ("LU", "pivots")

    LU: Tensor = _field(0)
    pivots: Tensor = _field(1)


class linalg_lu_factor_ex(_Results):
    __slots__ = ()
    _names = ("LU", "pivots", "info")

    LU: Tensor = _field(0)
    pivots: Tensor = _field(1)
    info: Tensor = _field(2)


class linalg_lstsq(_Results):
    __slots__ = ()
    _names = ("solution", "residuals", "rank", "singular_values")

    solution: Tensor = _field(0)
    residuals: Tensor = _field(1)
    rank: Tensor = _field(2)
    singular_values: Tensor = _field(3)


class triangular_solve(_Results):
    __slots__ = ()
    _names = ("solution", "cloned_coefficient")

    solution: Tensor = _field(0)
    cloned_coefficient: Tensor = _field(1)


class frexp(_Results):
    __slots__ = ()
    _names = ("mantissa", "exponent")

    mantissa: Tensor = _field(0)
    exponent: Tensor = _field(1)


class histogram(_Results):
    __slots__ = ()
    _names = ("hist", "bin_edges")

    hist: Tensor = _field(0)
    bin_edges: Any = _field(1)


class histogramdd(histogram):
    __slots__ = ()
