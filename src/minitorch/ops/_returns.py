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


class _SignLogabsdet(_Results):
    __slots__ = ()
    _names = ("sign", "logabsdet")

    sign: Tensor = property(itemgetter(0))  # type: ignore[assignment]
    logabsdet: Tensor = property(itemgetter(1))  # type: ignore[assignment]


class linalg_slogdet(_SignLogabsdet):
    __slots__ = ()


class slogdet(_SignLogabsdet):
    __slots__ = ()


class linalg_inv_ex(_Results):
    __slots__ = ()
    _names = ("inverse", "info")

    inverse: Tensor = property(itemgetter(0))  # type: ignore[assignment]
    info: Tensor = property(itemgetter(1))  # type: ignore[assignment]


class linalg_solve_ex(_Results):
    __slots__ = ()
    _names = ("result", "info")

    result: Tensor = property(itemgetter(0))  # type: ignore[assignment]
    info: Tensor = property(itemgetter(1))  # type: ignore[assignment]


class linalg_cholesky_ex(_Results):
    __slots__ = ()
    _names = ("L", "info")

    L: Tensor = property(itemgetter(0))  # type: ignore[assignment]
    info: Tensor = property(itemgetter(1))  # type: ignore[assignment]


class linalg_eigh(_Results):
    __slots__ = ()
    _names = ("eigenvalues", "eigenvectors")

    eigenvalues: Tensor = property(itemgetter(0))  # type: ignore[assignment]
    eigenvectors: Tensor = property(itemgetter(1))  # type: ignore[assignment]


class _QR(_Results):
    __slots__ = ()
    _names = ("Q", "R")

    Q: Tensor = property(itemgetter(0))  # type: ignore[assignment]
    R: Tensor = property(itemgetter(1))  # type: ignore[assignment]


class linalg_qr(_QR):
    __slots__ = ()


class qr(_QR):
    __slots__ = ()


class geqrf(_Results):
    __slots__ = ()
    _names = ("a", "tau")

    a: Tensor = property(itemgetter(0))  # type: ignore[assignment]
    tau: Tensor = property(itemgetter(1))  # type: ignore[assignment]


class linalg_svd(_Results):
    __slots__ = ()
    _names = ("U", "S", "Vh")

    U: Tensor = property(itemgetter(0))  # type: ignore[assignment]
    S: Tensor = property(itemgetter(1))  # type: ignore[assignment]
    Vh: Tensor = property(itemgetter(2))  # type: ignore[assignment]


class svd(_Results):
    __slots__ = ()
    _names = ("U", "S", "V")

    U: Tensor = property(itemgetter(0))  # type: ignore[assignment]
    S: Tensor = property(itemgetter(1))  # type: ignore[assignment]
    V: Tensor = property(itemgetter(2))  # type: ignore[assignment]


class _PLU(_Results):
    __slots__ = ()
    _names = ("P", "L", "U")

    P: Tensor = property(itemgetter(0))  # type: ignore[assignment]
    L: Tensor = property(itemgetter(1))  # type: ignore[assignment]
    U: Tensor = property(itemgetter(2))  # type: ignore[assignment]


class linalg_lu(_PLU):
    __slots__ = ()


class lu_unpack(_PLU):
    __slots__ = ()


class linalg_lu_factor(_Results):
    __slots__ = ()
    _names = ("LU", "pivots")

    LU: Tensor = property(itemgetter(0))  # type: ignore[assignment]
    pivots: Tensor = property(itemgetter(1))  # type: ignore[assignment]


class linalg_lu_factor_ex(_Results):
    __slots__ = ()
    _names = ("LU", "pivots", "info")

    LU: Tensor = property(itemgetter(0))  # type: ignore[assignment]
    pivots: Tensor = property(itemgetter(1))  # type: ignore[assignment]
    info: Tensor = property(itemgetter(2))  # type: ignore[assignment]


class linalg_lstsq(_Results):
    __slots__ = ()
    _names = ("solution", "residuals", "rank", "singular_values")

    solution: Tensor = property(itemgetter(0))  # type: ignore[assignment]
    residuals: Tensor = property(itemgetter(1))  # type: ignore[assignment]
    rank: Tensor = property(itemgetter(2))  # type: ignore[assignment]
    singular_values: Tensor = property(itemgetter(3))  # type: ignore[assignment]


class triangular_solve(_Results):
    __slots__ = ()
    _names = ("solution", "cloned_coefficient")

    solution: Tensor = property(itemgetter(0))  # type: ignore[assignment]
    cloned_coefficient: Tensor = property(itemgetter(1))  # type: ignore[assignment]


class frexp(_Results):
    __slots__ = ()
    _names = ("mantissa", "exponent")

    mantissa: Tensor = property(itemgetter(0))  # type: ignore[assignment]
    exponent: Tensor = property(itemgetter(1))  # type: ignore[assignment]


class histogram(_Results):
    __slots__ = ()
    _names = ("hist", "bin_edges")

    hist: Tensor = property(itemgetter(0))  # type: ignore[assignment]
    bin_edges: Any = property(itemgetter(1))


class histogramdd(histogram):
    __slots__ = ()
