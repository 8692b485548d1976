"""Samples of given parameters that take a rejection sampler: counts, gamma and Dirichlet numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._args import array_of
from .._errors import scalar_name
from .._op import op
from .._random import Generator
from ._underived import derivative_error, tangent_error
from .random_inplace import drawing, source

if TYPE_CHECKING:
    from .._tensor import Tensor

_FULL = "fd"
"""The dtypes that the samplers have kernels for, by their letters."""


def _supported(name: str, array: np.ndarray, letters: str = _FULL) -> None:
    if array.dtype.char not in letters:
        raise NotImplementedError(f'"{name}" not implemented for {scalar_name(array.dtype)!r}; convert the input first')


def _samplers() -> Any:
    """The samplers' module, imported by the first draw."""
    from .. import _samplers

    return _samplers


def _standard_gamma_grad(self: np.ndarray, output: np.ndarray) -> np.ndarray:
    from .._kernels import reparameterised

    return reparameterised.standard_gamma_grad(self, output)


def _dirichlet_grad(x: np.ndarray, alpha: np.ndarray, total: np.ndarray) -> np.ndarray:
    from .._kernels import reparameterised

    return reparameterised.dirichlet_grad(x, alpha, total)


# -- rows --------------------------------------------------------------------------------------------------------------
def _gamma_kernel(self: np.ndarray, *, generator: Generator) -> np.ndarray:
    _supported("gamma_cpu", self)
    return _samplers().standard_gamma(self, generator)


def _dirichlet_kernel(self: np.ndarray, *, generator: Generator) -> np.ndarray:
    _supported("dirichlet", self)
    return _samplers().dirichlet(self, generator)


def _poisson_kernel(self: np.ndarray, *, generator: Generator) -> np.ndarray:
    _supported("poisson_cpu", self, "efd")
    return _samplers().poisson(self, generator)


def _binomial_kernel(count: np.ndarray, prob: np.ndarray, *, generator: Generator) -> np.ndarray:
    _supported("binomial_cpu", count)
    if count.dtype != prob.dtype:
        raise RuntimeError(f"Found dtype {scalar_name(prob.dtype)} but expected {scalar_name(count.dtype)}")
    return _samplers().binomial(*np.broadcast_arrays(count, prob), generator)


def _no_derivative(F: Any, g: Any) -> Any:
    raise derivative_error("aten::binomial")


def _no_tangent(F: Any, t: Any) -> Any:
    raise tangent_error("aten::binomial")


def _once(name: str) -> Any:
    def formula(F: Any, g: Any) -> Any:
        raise NotImplementedError(
            f"the derivative for '{name}' is not implemented: samples have first derivatives only"
        )

    return formula


def _dirichlet_self(F: Any, g: Any, self: Any, result: Any) -> Any:
    last = (len(self.shape) - 1,)
    slopes = F.dirichlet_grad(result, self, F.sum(self, dim=last, keepdim=True))
    return slopes * (g - F.sum(result * g, dim=last, keepdim=True))


_gamma = op("standard_gamma", "StandardGammaBackward0", _gamma_kernel, ("self",), tangent="formulas",
            self=lambda F, g, self, result: g * F.standard_gamma_grad(self, result))  # fmt: skip
standard_gamma_grad = op(
    "standard_gamma_grad", "NotImplemented", _standard_gamma_grad,
    ("self", "output"), elementwise=True, numbers=False,
    self=_once("_standard_gamma_grad"), output=_once("_standard_gamma_grad"),
)  # fmt: skip
_dirichlet = op(
    "sample_dirichlet", "_DirichletBackward", _dirichlet_kernel, ("self",), tangent="transpose", self=_dirichlet_self
)
dirichlet_grad = op(
    "dirichlet_grad", "NotImplemented", _dirichlet_grad,
    ("x", "alpha", "total"), elementwise=True, numbers=False,
    x=_once("_dirichlet_grad"), alpha=_once("_dirichlet_grad"), total=_once("_dirichlet_grad"),
)  # fmt: skip
_poisson = drawing("poisson", "PoissonBackward0", _poisson_kernel)
_binomial = op("binomial", "NotImplemented", _binomial_kernel, ("count", "prob"), casts=False,
               tangent={"count": _no_tangent, "prob": _no_tangent},
               count=_no_derivative, prob=_no_derivative)  # fmt: skip


# -- functions ---------------------------------------------------------------------------------------------------------
def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Poisson distributed counts: each element of *input* is the rate of one; their gradient is 0.

    Parameters
    ----------
    input : Tensor
        Floats that are not negative.
    generator : Generator, optional
        Where they come from, by default the default generator.

    Raises
    ------
    NotImplementedError
        For integers.
    RuntimeError
        If a rate is negative or NaN.

    Notes
    -----
    Source: W. Hörmann, "The transformed rejection method for generating Poisson random variables", 1993.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.poisson(torch.tensor([2.0, 5.0, 50.0]), generator=torch.Generator().manual_seed(0))
    tensor([ 6.,  4., 47.])
    """
    array_of("poisson", input)
    return _poisson(input, source("poisson", generator))


def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
    """Binomially distributed counts: how many of *count* trials succeed, each with probability *prob*; no derivative.

    Parameters
    ----------
    count, prob : Tensor
        Of one float dtype; they broadcast.
    generator : Generator, optional
        Where they come from, by default the default generator.

    Raises
    ------
    ValueError
        For integers.
    RuntimeError
        If the dtypes differ.

    Notes
    -----
    Source: W. Hörmann, "The generation of binomial random variates", 1993.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.binomial(torch.tensor([5.0, 100.0]), torch.tensor(0.5), generator=torch.Generator().manual_seed(0))
    tensor([ 4., 55.])
    """
    arrays = {"count": array_of("binomial", count, "count"), "prob": array_of("binomial", prob, "prob", 2)}
    for name, array in arrays.items():
        if array.dtype.kind != "f":
            raise ValueError(
                f"binomial only supports floating-point dtypes for {name}, got: {scalar_name(array.dtype)}"
            )
    return _binomial(count, prob, source("binomial", generator))


def standard_gamma(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Gamma distributed numbers of rate 1: each element of *input* is the concentration of one.

    They have a first derivative: how the sample moves with its concentration where the value of the cumulative distribution
    function stays as it is.

    Raises
    ------
    NotImplementedError
        For integers and float16; from a second derivative.

    Notes
    -----
    Sources: G. Marsaglia and W. W. Tsang, "A simple method for generating gamma variables", 2000; M. Jankowiak and
    F. Obermeyer, "Pathwise derivatives beyond the reparameterization trick", 2018.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch._standard_gamma(torch.tensor([2.0, 3.0]), generator=torch.Generator().manual_seed(0)).shape
    torch.Size([2])
    """
    array_of("_standard_gamma", input)
    return _gamma(input, source("_standard_gamma", generator))


def sample_dirichlet(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Dirichlet distributed points of the simplex: the last dimension of *input* holds the concentrations of each.

    They have a first derivative, as those of ``standard_gamma``.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch._sample_dirichlet(torch.ones(2, 3)).sum(-1)
    tensor([1., 1.])
    """
    array_of("_sample_dirichlet", input)
    return _dirichlet(input, source("_sample_dirichlet", generator))
