"""Windows of signal processing: ``hann_window`` and its kin."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _dtypes
from .._args import integer, real
from .._runtime import silent
from .creation import Options, made_by, settled

if TYPE_CHECKING:
    from typing import Unpack

    from .._tensor import Tensor


def _window(
    name: str, length: int, periodic: bool, options: Options, shape: Callable[[np.ndarray], np.ndarray]
) -> Tensor:
    """``shape(x)`` for x from 0 to 1; of a periodic window, the last point is the first of the next and left out."""
    dtype, _ = settled(name, options, _dtypes.default())
    if dtype.kind != "f":
        raise RuntimeError(f"{name} expects floating point dtypes, got: {dtype}")
    length = integer(length, "window_length")
    if length < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={length}")

    def make(dtype: Any) -> np.ndarray:
        if length < 2:
            return np.ones(length, dtype)
        steps = length if periodic else length - 1
        return silent(lambda: shape(np.arange(length) / steps).astype(dtype))

    return made_by(name, make, _dtypes.default(), None, options)


def _cosines(*coefficients: float) -> Callable[[np.ndarray], np.ndarray]:
    """A sum of cosines with alternating signs."""

    def shape(x: np.ndarray) -> np.ndarray:
        return np.sum([(-1) ** k * a * np.cos(2 * math.pi * k * x) for k, a in enumerate(coefficients)], axis=0)

    return shape


def hann_window(window_length: int, periodic: bool = True, **options: Unpack[Options]) -> Tensor:
    """Hann's window, ``sin(pi n / N) ** 2``.

    Parameters
    ----------
    window_length : int
        The number of points.
    periodic : bool
        Whether N is *window_length*, as a Fourier transform wants it, or one less, which makes a symmetric window.
    **options
        See ``zeros``.

    Raises
    ------
    RuntimeError
        For a negative length, or a dtype that is none of floats.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return _window("hann_window", window_length, periodic, options, lambda x: np.sin(math.pi * x) ** 2)


def hamming_window(
    window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, **options: Unpack[Options]
) -> Tensor:
    """Hamming's window, ``alpha - beta cos(2 pi n / N)``; arguments as for ``hann_window``.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.hamming_window(4)
    tensor([0.0800, 0.5400, 1.0000, 0.5400])
    """
    return _window(
        "hamming_window", window_length, periodic, options, _cosines(real(alpha, "alpha"), real(beta, "beta"))
    )


def blackman_window(window_length: int, periodic: bool = True, **options: Unpack[Options]) -> Tensor:
    """Blackman's window, ``0.42 - 0.5 cos(2 pi n / N) + 0.08 cos(4 pi n / N)``; arguments as for ``hann_window``.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.blackman_window(5, periodic=False)[1:4]
    tensor([0.3400, 1.0000, 0.3400])
    """
    return _window("blackman_window", window_length, periodic, options, _cosines(0.42, 0.5, 0.08))


def bartlett_window(window_length: int, periodic: bool = True, **options: Unpack[Options]) -> Tensor:
    """Bartlett's window, a triangle ``1 - |2 n / N - 1|``; arguments as for ``hann_window``.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.bartlett_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return _window("bartlett_window", window_length, periodic, options, lambda x: 1 - np.abs(2 * x - 1))


def kaiser_window(window_length: int, periodic: bool = True, beta: float = 12.0, **options: Unpack[Options]) -> Tensor:
    """Kaiser's window, ``I0(beta sqrt(1 - (2 n / N - 1) ** 2)) / I0(beta)``; arguments as for ``hann_window``.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.kaiser_window(3, periodic=False, beta=2.0)
    tensor([0.4387, 1.0000, 0.4387])
    """
    beta = real(beta, "beta", "kaiser_window")

    def shape(x: np.ndarray) -> np.ndarray:
        return np.i0(beta * np.sqrt(np.maximum(1 - (2 * x - 1) ** 2, 0))) / np.i0(beta)

    return _window("kaiser_window", window_length, periodic, options, shape)
