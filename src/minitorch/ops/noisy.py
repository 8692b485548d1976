"""Activations with random parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _random
from .._args import array_of
from .._choices import choice
from .._errors import scalar_name
from .._inplace import write
from .._random import in_memory_order
from .._runtime import wrap
from . import activation, pointwise, softmax

if TYPE_CHECKING:
    from .._tensor import Tensor


@choice("slopes of rrelu", draws=True)
def _slopes(self: np.ndarray, *, lower: float, upper: float) -> np.ndarray:
    """One where the array is positive; elsewhere a slope that is drawn, in order of elements."""
    slopes = np.ones(self.shape, self.dtype)
    negative = np.asarray(self <= 0)
    slopes[negative] = _random.default_generator.uniform((int(negative.sum()),), np.float64, lower, upper)
    return slopes


def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """The input where it is positive, elsewhere the input times a slope: drawn in training, the mean of both bounds else.

    See B. Xu et al., "Empirical Evaluation of Rectified Activations in Convolution Network", 2015.

    Parameters
    ----------
    input : Tensor
        Any shape.
    lower, upper : float
        The bounds of slopes.
    training : bool
        Whether slopes are drawn, uniformly, from the default generator.
    inplace : bool
        Whether the input itself is written.

    Raises
    ------
    RuntimeError
        If *lower* is greater than *upper*.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.functional.rrelu(torch.tensor([-1.0, 2.0]), 0.25, 0.75)
    tensor([-0.5000,  2.0000])
    """
    array = array_of("rrelu", input)
    if array.dtype.kind != "f":
        raise NotImplementedError(f'"rrelu" not implemented for {scalar_name(array.dtype)!r}')
    if lower > upper:
        raise RuntimeError(
            f"rrelu(): lower bound should be less than or equal to the upper bound, got {lower} > {upper}"
        )
    if not training:
        slope = ((lower + upper) / 2,)
        return write(input, activation.leaky_relu, slope) if inplace else activation.leaky_relu(input, *slope)
    slopes = (wrap(_slopes(input, lower=lower, upper=upper)),)
    return write(input, pointwise.mul, slopes) if inplace else pointwise.mul(input, *slopes)


def rrelu_(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False) -> Tensor:
    """`rrelu` in place."""
    return rrelu(input, lower, upper, training, inplace=True)


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """A sample of probabilities that is differentiable by the logits: their softmax after Gumbel noise is added.

    See E. Jang et al., "Categorical Reparameterization with Gumbel-Softmax", 2017.

    Parameters
    ----------
    logits : Tensor
        Logarithms of probabilities that need not be normalised.
    tau : float
        The temperature: the lower, the nearer to one class.
    hard : bool
        Whether the result is exactly one class, with the gradient of the soft sample.
    eps : float
        Ignored.
    dim : int
        The dimension of classes.

    Examples
    --------
    >>> import minitorch as torch
    >>> _ = torch.manual_seed(0)
    >>> torch.nn.functional.gumbel_softmax(torch.tensor([0.0, 0.0, 0.0]), hard=True)
    tensor([0., 0., 1.])
    """
    array_of("gumbel_softmax", logits, "logits")
    soft: Any = softmax.softmax((logits + wrap(_gumbel(logits))) / tau, dim)
    return wrap(_one_hot(soft, dim=dim)) - soft.detach() + soft if hard else soft


@choice("gumbel noise", draws=True, warns=True)
def _gumbel(self: np.ndarray) -> np.ndarray:
    draw = _random.default_generator.exponential
    return np.negative(np.log(in_memory_order(self, lambda shape: draw(shape, self.dtype))), out=...)


@choice("the largest as one")
def _one_hot(self: np.ndarray, *, dim: int) -> np.ndarray:
    found = np.zeros(self.shape, self.dtype)
    np.put_along_axis(found, np.expand_dims(self.argmax(dim), dim), 1, dim)
    return found
