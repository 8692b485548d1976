"""Samplers that draw until a draw is accepted: gamma, Poisson and binomial numbers, PyTorch's bit for bit.

How many numbers one sample takes is known only when it is found, so these draw one number at a time, in Python:

- gamma: G. Marsaglia and W. W. Tsang, "A simple method for generating gamma variables", ACM Transactions on Mathematical
  Software 26 (2000); below 1, a sample of one more times a power of a uniform number;
- Poisson: W. Hörmann, "The transformed rejection method for generating Poisson random variables", Insurance: Mathematics
  and Economics 12 (1993), from a rate of 10 on; below, a product of uniform numbers;
- binomial: W. Hörmann, "The generation of binomial random variates", Journal of Statistical Computation and Simulation 46
  (1993), from a mean of 10 on; below, a sum of geometric numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ._kernels.box_muller import few_normal_pairs
from ._random import Generator
from ._random_words import few_units

_AHEAD: Final = 512
"""The most words that are taken at once."""
_THIRD: Final = np.float32(1) / np.float32(3)
_SQUEEZE: Final = float(np.float32(0.0331))
# log(k!) less the leading terms of Stirling's formula, for k = 0..9
_STIRLING_TAIL: Final = (
    0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509, 0.0166446911898211,
    0.0138761288230707, 0.0118967099458917, 0.0104112652619720, 0.00925546218271273, 0.00833056343336287,
)  # fmt: skip


class Stream:
    """A generator's float64 numbers, one at a time: a context, in which no other thread draws.

    Words are taken ahead of their use; those left over go back when the context ends.
    """

    __slots__ = ("_generator", "_units")

    def __init__(self, generator: Generator) -> None:
        self._generator, self._units = generator, list[float]()

    def __enter__(self) -> Stream:
        self._generator._lock.acquire()
        return self

    def __exit__(self, *problem: object) -> None:
        self._generator._next -= 2 * len(self._units)
        self._generator._lock.release()

    def uniform(self) -> float:
        """A number from [0, 1)."""
        if not self._units:
            left = (self._generator._end - self._generator._next) // 2 * 2  # only these can go back
            words = self._generator._advance(min(left, _AHEAD) or 2)
            self._units = few_units(words.tolist())[::-1]
        return self._units.pop()

    def normal(self) -> float:
        """A normal number: every second one was left over by the one before."""
        kept = self._generator._spare
        if kept is not None:
            self._generator._spare = None
            return kept
        first, self._generator._spare = few_normal_pairs([self.uniform(), self.uniform()])
        return first


def _filled(dtype: np.dtype[Any], shape: tuple[int, ...], values: list[float]) -> np.ndarray:
    with np.errstate(over="ignore"):
        return np.array(values, np.float64).astype(dtype, copy=False).reshape(shape)


# -- gamma -------------------------------------------------------------------------------------------------------------
def standard_gamma(concentration: np.ndarray, generator: Generator) -> np.ndarray:
    """Gamma numbers of rate 1, at least the least normal number of the dtype."""
    return _at_least_tiny(_gamma(concentration, generator))


def dirichlet(concentration: np.ndarray, generator: Generator) -> np.ndarray:
    """Points of the simplex of the last dimension, none of whose coordinates is 0 or 1."""
    gammas = _at_least_tiny(_gamma(concentration.astype(np.float64, copy=False), generator))
    points = _at_least_tiny((gammas / gammas.sum(-1, keepdims=True)).astype(concentration.dtype))
    one = concentration.dtype.type(1)
    return np.minimum(points, np.nextafter(one, 0 * one))


def _at_least_tiny(samples: np.ndarray) -> np.ndarray:
    tiny = np.finfo(samples.dtype).tiny
    return np.where(samples > tiny, samples, tiny)  # of NaN too


def _gamma(concentration: np.ndarray, generator: Generator) -> np.ndarray:
    if not concentration.ndim:
        return _gamma(concentration.reshape(1), generator).reshape(())
    boosted = concentration < 1
    exponents = np.where(boosted, np.float32(1) / concentration, 0)
    offsets = np.where(boosted, concentration + np.float32(1), concentration) - _THIRD
    offsets = offsets.astype(np.float64)
    widths = 1 / np.sqrt(9 * offsets)
    with Stream(generator) as stream:
        values = [
            _one_gamma(exponent, offset, width, stream) if given else 0.0
            for given, exponent, offset, width in zip(
                concentration.ravel().tolist(),
                exponents.ravel().tolist(),
                offsets.ravel().tolist(),
                widths.ravel().tolist(),
            )
        ]
    return _filled(concentration.dtype, concentration.shape, values)


def _one_gamma(exponent: float, offset: float, width: float, stream: Stream) -> float:
    scale = 1.0
    if exponent:
        try:
            scale = (1 - stream.uniform()) ** exponent
        except OverflowError:  # of a negative concentration
            scale = math.inf
    uniform, normal, log = stream.uniform, stream.normal, math.log
    while True:
        x = normal()
        root = 1 + width * x
        if root <= 0:
            continue
        cube = root * root * root
        u = 1 - uniform()
        square = x * x
        if u < 1 - _SQUEEZE * square * square or log(u) < 0.5 * square + offset * (1 - cube + log(cube)):
            return scale * offset * cube


# -- counts ------------------------------------------------------------------------------------------------------------
def poisson(rate: np.ndarray, generator: Generator) -> np.ndarray:
    """Poisson numbers; RuntimeError for a rate that is negative or NaN."""
    if not (rate >= 0).all():
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    with Stream(generator) as stream:
        values = [
            0.0 if r == 0 else _few_events(r, stream.uniform) if r < 10 else _many_events(r, stream.uniform)
            for r in rate.ravel().tolist()
        ]
    return _filled(rate.dtype, rate.shape, values)


def _few_events(rate: float, uniform: Callable[[], float]) -> float:
    bound, product, count = math.exp(-rate), uniform(), 0
    while product > bound:
        product *= uniform()
        count += 1
    return count


def _many_events(rate: float, uniform: Callable[[], float]) -> float:
    if rate == math.inf:
        return math.nan
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    certain = 0.9277 - 3.6224 / (b - 2)
    log_rate = math.log(rate)
    while True:
        u = uniform() - 0.5
        v = uniform()
        distance = 0.5 - abs(u)
        if not distance:
            continue
        k = math.floor((2 * a / distance + b) * u + rate + 0.43)
        if distance >= 0.07 and v <= certain:
            return k
        if k < 0 or (distance < 0.013 and v > distance) or not v:
            continue
        ratio = math.log(v) + math.log(inverse_alpha) - math.log(a / (distance * distance) + b)
        if ratio <= -rate + k * log_rate - math.lgamma(k + 1):
            return k


def binomial(count: np.ndarray, prob: np.ndarray, generator: Generator) -> np.ndarray:
    """How many of *count* trials succeed, each with probability *prob*: two arrays of one shape and dtype."""
    flipped = prob > 0.5
    rare = np.where(flipped, 1 - prob, prob)
    means, odds, logs = count * rare, rare / (1 - rare), np.log1p(-rare)
    spreads, modes = np.sqrt(means * (1 - rare)), np.floor((count + 1) * rare)
    columns = [c.ravel().tolist() for c in (count, rare, means, odds, logs, spreads, modes, flipped)]
    values: list[float] = []
    with Stream(generator) as stream:
        for n, p, mean, ratio, log, spread, mode, other in zip(*columns):
            if n <= 0 or p <= 0:
                found = 0.0
            elif math.isnan(n) or math.isnan(p):
                values.append(math.nan)
                continue
            elif mean >= 10:
                found = _transformed_rejection(n, p, mean, ratio, spread, mode, stream.uniform)
            else:
                found = _by_waiting(n, log, stream.uniform)
            values.append(max(n, 0.0) - found if other else found)
    return _filled(count.dtype, count.shape, values)


def _by_waiting(n: float, log_failure: float, uniform: Callable[[], float]) -> float:
    """Successes among n trials, by the geometric numbers of trials between them."""
    trials, successes = 0.0, 0
    while True:
        u = uniform()
        trials += math.ceil(math.log(u) / log_failure) if u else math.inf
        if trials > n:
            return successes
        successes += 1


def _stirling_tail(k: float) -> float:
    if k < len(_STIRLING_TAIL):
        return _STIRLING_TAIL[int(k)]
    square = (k + 1) * (k + 1)
    return (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / (k + 1)


def _transformed_rejection(
    n: float, p: float, mean: float, odds: float, spread: float, mode: float, uniform: Callable[[], float]
) -> float:
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    centre, certain, alpha = mean + 0.5, 0.92 - 4.2 / b, (2.83 + 5.1 / b) * spread
    log = math.log
    while True:
        u = uniform() - 0.5
        v = uniform()
        distance = 0.5 - abs(u)
        if not distance:
            continue
        k = float(math.floor((2 * a / distance + b) * u + centre))
        if k < 0 or k > n:
            continue
        if distance >= 0.07 and v <= certain:
            return k
        bound = (
            (mode + 0.5) * log((mode + 1) / (odds * (n - mode + 1)))
            + (n + 1) * log((n - mode + 1) / (n - k + 1))
            + (k + 0.5) * log(odds * (n - k + 1) / (k + 1))
            + _stirling_tail(mode) + _stirling_tail(n - mode) - _stirling_tail(k) - _stirling_tail(n - k)
        )  # fmt: skip
        v = v * alpha / (a / (distance * distance) + b)
        if not v or log(v) <= bound:
            return k
