"""Initial values for parameters: each function fills a tensor in place, unrecorded, and returns it.

They draw the random numbers that PyTorch's draw.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _runtime
from .._modes import no_grad
from .._random import Generator, default_generator
from ..ops.random import drawn

if TYPE_CHECKING:
    from .._tensor import Tensor

EMPTY = "Initializing zero-element tensors is a no-op"


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor by which a nonlinearity wants its weights scaled, so that activations keep their variance.

    Parameters
    ----------
    nonlinearity : str
        ``"linear"``, ``"conv2d"`` and the like, ``"sigmoid"``, ``"tanh"``, ``"relu"``, ``"leaky_relu"`` or ``"selu"``.
    param : float, optional
        The negative slope of leaky_relu, 0.01 by default.

    Examples
    --------
    >>> from minitorch import nn
    >>> nn.init.calculate_gain("tanh")
    1.6666666666666667
    """
    if nonlinearity in ("linear", "sigmoid") or nonlinearity in [
        f"conv{t}{n}d" for t in ("", "_transpose") for n in (1, 2, 3)
    ]:
        return 1
    if nonlinearity == "tanh":
        return 5 / 3
    if nonlinearity == "relu":
        return math.sqrt(2)
    if nonlinearity == "leaky_relu":
        if param is not None and (isinstance(param, bool) or not isinstance(param, (int, float))):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2 / (1 + (0.01 if param is None else param) ** 2))
    if nonlinearity == "selu":
        return 3 / 4
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """How many inputs an output has, and how many outputs an input has, through a weight tensor."""
    shape = tensor._array.shape
    if len(shape) < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(shape[2:])
    return shape[1] * field, shape[0] * field


def _fan(tensor: Tensor, mode: str) -> int:
    modes = ["fan_in", "fan_out"]
    if mode.lower() not in modes:
        raise ValueError(f"Mode {mode.lower()} not supported, please use one of {modes}")
    return _calculate_fan_in_and_fan_out(tensor)[modes.index(mode.lower())]


def _filled(tensor: Tensor, array: np.ndarray | float) -> Tensor:
    """The tensor with its values replaced."""
    with no_grad():
        if not isinstance(array, np.ndarray):
            return tensor.fill_(array)
        return tensor.copy_(_runtime.wrap(np.asarray(array, tensor._array.dtype)))


def _drawn(name: str, tensor: Tensor, draw: Callable[[], np.ndarray]) -> Tensor:
    """The tensor with its values replaced by what is drawn, as observers are shown."""
    dtype = tensor._array.dtype
    with no_grad():
        return tensor.copy_(drawn(name, lambda: np.asarray(draw(), dtype)))


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill with numbers spread evenly over [a, b).

    Examples
    --------
    >>> import minitorch as torch
    >>> _ = torch.manual_seed(0)
    >>> torch.nn.init.uniform_(torch.empty(3), -1, 1)
    tensor([-0.0075,  0.5364, -0.8230])
    """
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill with normally distributed numbers.

    Examples
    --------
    >>> import minitorch as torch
    >>> _ = torch.manual_seed(0)
    >>> torch.nn.init.normal_(torch.empty(3), mean=5, std=0.1)
    tensor([5.1541, 4.9707, 4.7821])
    """
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:
    """Fill with normally distributed numbers of which those outside [a, b] are drawn again.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.init.trunc_normal_(torch.empty(100)).abs().max().item() <= 2
    True
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be "
            "incorrect.",
            stacklevel=2,
        )
    source = default_generator if generator is None else generator
    inside = (math.erf((b - mean) / std / math.sqrt(2)) - math.erf((a - mean) / std / math.sqrt(2))) / 2
    draw = _redrawn if inside > 0.3 else _rejected
    array = tensor._array
    return _drawn(
        "trunc_normal_", tensor, lambda: _runtime.silent(draw, array.shape, array.dtype, mean, std, a, b, source)
    )


def _redrawn(
    shape: tuple[int, ...], dtype: np.dtype[Any], mean: float, std: float, a: float, b: float, source: Generator
) -> np.ndarray:
    """Draw everything again until each element was inside once: for bounds that most numbers keep."""
    values = source.normal(shape, dtype, mean, std)
    low, high = dtype.type(a), dtype.type(b)
    while (outside := (values < low) | (values > high)).any():
        values = np.where(outside, source.normal(shape, dtype, mean, std), values)
    return values


def _rejected(
    shape: tuple[int, ...], dtype: np.dtype[Any], mean: float, std: float, a: float, b: float, source: Generator
) -> np.ndarray:
    """Rejection sampling: uniform numbers, each kept with the odds of its density relative to the highest in [a, b]."""
    peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2
    values = np.empty(shape, dtype)
    pending = np.ones(shape, bool)
    while pending.any():
        candidates = source.uniform(shape, dtype, a, b)
        values[pending] = candidates[pending]
        log_density = np.square((candidates - mean) / std) * -0.5 - peak
        pending &= np.log(source.uniform(shape, dtype)) > log_density
    return values


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with one number.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.init.constant_(torch.empty(2), 0.5)
    tensor([0.5000, 0.5000])
    """
    return _filled(tensor, val)


def ones_(tensor: Tensor) -> Tensor:
    """Fill with ones.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.init.ones_(torch.empty(2))
    tensor([1., 1.])
    """
    return _filled(tensor, 1)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill with zeros.

    Examples
    --------
    >>> import minitorch as torch
    >>> layer = torch.nn.Linear(3, 2)
    >>> torch.nn.init.zeros_(layer.bias)
    Parameter containing:
    tensor([0., 0.], requires_grad=True)
    """
    return _filled(tensor, 0)


def eye_(tensor: Tensor) -> Tensor:
    """Make a matrix the identity.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.init.eye_(torch.empty(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    if tensor._array.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    return _filled(tensor, np.eye(*tensor._array.shape))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Make a convolution's weights such that it hands on as many channels, of each group, as it can.

    Parameters
    ----------
    tensor : Tensor
        ``(outputs, inputs / groups, *)``.
    groups : int
        The convolution's groups.

    Raises
    ------
    ValueError
        If the tensor has not 3, 4 or 5 dimensions, or *groups* does not divide the first.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.init.dirac_(torch.empty(2, 2, 3))
    tensor([[[0., 1., 0.],
             [0., 0., 0.]],
    <BLANKLINE>
            [[0., 0., 0.],
             [0., 1., 0.]]])
    """
    shape = tensor._array.shape
    if len(shape) not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if shape[0] % groups:
        raise ValueError("dim 0 must be divisible by groups")
    outputs = shape[0] // groups
    values = np.zeros(shape)
    centre = tuple([size // 2 for size in shape[2:]])
    for channel in range(min(outputs, shape[1])):
        values[(slice(channel, None, outputs), channel, *centre)] = 1
    return _filled(tensor, values)


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill with uniform numbers of variance ``2 gain² / (fan_in + fan_out)``.

    Source: Glorot and Bengio, "Understanding the difficulty of training deep feedforward neural networks", 2010.

    Raises
    ------
    ValueError
        If the tensor has fewer than 2 dimensions.

    Examples
    --------
    >>> import minitorch as torch
    >>> _ = torch.manual_seed(0)
    >>> torch.nn.init.xavier_uniform_(torch.empty(2, 3))
    tensor([[-0.0082,  0.5876, -0.9016],
            [-0.8062, -0.4219,  0.2938]])
    """
    bound = math.sqrt(3) * _xavier_std(tensor, gain)
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill with normal numbers of variance ``2 gain² / (fan_in + fan_out)``: see ``xavier_uniform_``.

    Raises
    ------
    ValueError
        If the tensor has fewer than 2 dimensions.

    Examples
    --------
    >>> import minitorch as torch
    >>> _ = torch.manual_seed(0)
    >>> torch.nn.init.xavier_normal_(torch.empty(2, 3))
    tensor([[ 0.9746, -0.1856, -1.3780],
            [ 0.3595, -0.6859, -0.8845]])
    """
    return normal_(tensor, 0, _xavier_std(tensor, gain), generator)


def _xavier_std(tensor: Tensor, gain: float) -> float:
    return gain * math.sqrt(2 / sum(_calculate_fan_in_and_fan_out(tensor)))


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Fill with uniform numbers of variance ``gain² / fan``.

    Parameters
    ----------
    tensor : Tensor
        A weight of 2 or more dimensions.
    a : float
        The negative slope of the leaky_relu that follows.
    mode : "fan_in" or "fan_out"
        Whether the variance is kept in the forward or in the backward pass.
    nonlinearity : str
        What follows: see ``calculate_gain``.

    Notes
    -----
    Source: He et al., "Delving deep into rectifiers", 2015.

    Raises
    ------
    ValueError
        If the tensor has fewer than 2 dimensions, or for an unknown *mode* or *nonlinearity*.

    Examples
    --------
    >>> import minitorch as torch
    >>> _ = torch.manual_seed(0)
    >>> torch.nn.init.kaiming_uniform_(torch.empty(2, 3), nonlinearity="relu")
    tensor([[-0.0106,  0.7586, -1.1640],
            [-1.0408, -0.5447,  0.3792]])
    """
    if 0 in tensor._array.shape:
        warnings.warn(EMPTY, stacklevel=2)
        return tensor
    bound = math.sqrt(3) * (calculate_gain(nonlinearity, a) / math.sqrt(_fan(tensor, mode)))
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Fill with normal numbers of variance ``gain² / fan``: see ``kaiming_uniform_``.

    Raises
    ------
    ValueError
        As ``kaiming_uniform_``.

    Examples
    --------
    >>> import minitorch as torch
    >>> _ = torch.manual_seed(0)
    >>> torch.nn.init.kaiming_normal_(torch.empty(2, 3), nonlinearity="relu")
    tensor([[ 1.2582, -0.2396, -1.7790],
            [ 0.4641, -0.8855, -1.1419]])
    """
    if 0 in tensor._array.shape:
        warnings.warn(EMPTY, stacklevel=2)
        return tensor
    return normal_(tensor, 0, calculate_gain(nonlinearity, a) / math.sqrt(_fan(tensor, mode)), generator)


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Generator | None = None) -> Tensor:
    """Fill with a random matrix of orthonormal rows or columns, the dimensions after the first taken together.

    Source: Saxe et al., "Exact solutions to the nonlinear dynamics of learning", 2013; uniform over orthogonal matrices
    by Mezzadri, "How to generate random matrices from the classical compact groups", 2006.

    Raises
    ------
    ValueError
        If the tensor has fewer than 2 dimensions.

    Examples
    --------
    >>> import minitorch as torch
    >>> weight = torch.nn.init.orthogonal_(torch.empty(2, 3))
    >>> torch.allclose(weight @ weight.T, torch.eye(2), atol=1e-6)
    True
    """
    array = tensor._array
    if array.ndim < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if not array.size:
        return tensor
    rows = array.shape[0]
    source = default_generator if generator is None else generator

    def draw() -> np.ndarray:
        values = source.normal((rows, array.size // rows), array.dtype)
        wide = values.shape[0] < values.shape[1]
        q, r = np.linalg.qr(values.T if wide else values)
        q *= np.sign(np.diag(r))
        return (q.T if wide else q).reshape(array.shape) * array.dtype.type(gain)

    return _drawn("orthogonal_", tensor, draw)


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None) -> Tensor:
    """Fill a matrix with normal numbers, then set the given part of each column to zero.

    Source: Martens, "Deep learning via Hessian-free optimization", 2010.

    Raises
    ------
    ValueError
        If the tensor is no matrix.

    Examples
    --------
    >>> import minitorch as torch
    >>> (torch.nn.init.sparse_(torch.empty(10, 3), sparsity=0.3) == 0).sum(0)
    tensor([3, 3, 3])
    """
    array = tensor._array
    if array.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = array.shape
    source = default_generator if generator is None else generator

    def draw() -> np.ndarray:
        values = source.normal(array.shape, array.dtype, 0, std)
        for column in range(columns):
            values[default_generator.randperm(rows)[: math.ceil(sparsity * rows)], column] = 0
        return values

    return _drawn("sparse_", tensor, draw)


# -- old names ---------------------------------------------------------------------------------------------------------
def _renamed(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A function under its old name, without the underscore."""
    new = function.__name__

    def old(*args: Any, **kwargs: Any) -> Tensor:
        warnings.warn(
            f"`nn.init.{new[:-1]}` is now deprecated in favor of `nn.init.{new}`.", FutureWarning, stacklevel=2
        )
        return function(*args, **kwargs)

    old.__name__ = old.__qualname__ = new[:-1]
    old.__doc__ = f"``{new}``, by its old name."
    return old


uniform, normal, constant, eye, dirac = [_renamed(f) for f in (uniform_, normal_, constant_, eye_, dirac_)]
xavier_uniform, xavier_normal = _renamed(xavier_uniform_), _renamed(xavier_normal_)
kaiming_uniform, kaiming_normal = _renamed(kaiming_uniform_), _renamed(kaiming_normal_)
orthogonal, sparse = _renamed(orthogonal_), _renamed(sparse_)
