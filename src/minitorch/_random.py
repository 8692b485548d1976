"""Random numbers: PyTorch's CPU generator, bit for bit, on ndarrays.

A :class:`Generator` is the Mersenne Twister MT19937. NumPy draws its 32-bit words several blocks ahead, so that a small
draw is a slice of them; the reported state is the key of the block in use and the position in it.

Where PyTorch's own values depend on the processor, these are the values of its x86-64 builds with AVX2 (see
``_kernels/box_muller.py``). Float64 values go through NumPy's log, log1p, sin, cos, tan and exp: where NumPy uses
vectorised versions of them (AVX-512), the last bit may differ.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from . import _runtime
from ._as_one import as_one
from ._device import CPU, device
from ._kernels.box_muller import (
    RunTable,
    few_normal_pairs,
    fused_scale,
    normal_pairs,
    normal_runs32,
    normal_runs64,
)
from ._kernels.shuffle import shuffled
from ._random_args import (
    FLOAT_DIGITS,
    Shape,
    check_integer_bounds,
    check_multinomial,
    check_uniform_bounds,
    continuous_dtype,
    float_dtype,
    integer_limit,
    shape_of,
)
from ._random_words import MASK53, few_units, joined, unit32, unit64, untempered

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    from ._tensor import Tensor

__all__ = ["Generator", "default_generator", "initial_seed", "manual_seed", "seed"]

Array: TypeAlias = np.ndarray

_BLOCK: Final = 624
_AHEAD: Final = 8 * _BLOCK  # words that are drawn at least
_FEW_PAIRS: Final = 8  # up to which normal numbers are made without arrays
_FEW_WORDS: Final = 1500  # up to which normal numbers come from a table
_DRAWS_OF_TABLE: Final = 32  # draws like the first that a table serves
_RANDOM_DTYPES: Final = frozenset("?bBhilqefd")

# The memory of PyTorch's legacy generator state, which is what it saves: 5056 bytes.
_STATE: Final = np.dtype(
    [
        ("seed", "<u8"),
        ("left", "<i4"),
        ("seeded", "<i4"),
        ("next", "<u8"),
        ("key", "<u8", _BLOCK),
        ("normal_x", "<f8"),
        ("normal_y", "<f8"),
        ("normal_rho", "<f8"),
        ("normal_valid", "<i4"),
        ("padding", "V12"),
    ]
)


class Generator:
    """A source of random numbers whose streams equal those of PyTorch's CPU generator.

    Parameters
    ----------
    device : device or str
        Only the CPU.

    Attributes
    ----------
    device : device
        The CPU.

    Notes
    -----
    The draws (`uniform`, `normal`, …) return new ndarrays and consume exactly the words that PyTorch's would. Words and
    the normal number that a draw leaves over are taken under a lock: threads that share a generator share no number.

    Examples
    --------
    >>> generator = Generator().manual_seed(0)
    >>> generator.uniform(3).tolist()
    [0.49625658988952637, 0.7682217955589294, 0.08847743272781372]
    >>> generator.randperm(5).tolist()
    [0, 4, 2, 1, 3]
    """

    __slots__ = (
        "_end",
        "_lock",
        "_next",
        "_seed",
        "_spare",
        "_table",
        "_table_start",
        "_twister",
        "_words",
        "device",
    )

    def __init__(self, device: device | str = "cpu") -> None:
        if str(device) != "cpu":
            raise RuntimeError(f"Generator(): only the device 'cpu' is supported, but got {str(device)!r}")
        self.device = CPU
        self._lock = threading.Lock()
        self._twister: np.random.RandomState | None = None
        self._spare: float | None = None  # the normal number left over by the last small draw
        self._start(67280421310721)

    # ---- seeds and states ----

    @as_one
    def manual_seed(self, seed: int) -> Generator:
        """Start the stream of `seed`, of which the low 32 bits count, and return the generator.

        Parameters
        ----------
        seed : int
            From -2**63 to 2**64 - 1; a negative one stands for ``2**64 + seed``.
        """
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
        if not -(2**63) <= seed < 2**64:
            raise ValueError(f"Overflow when unpacking long long: seed must be in [-2**63, 2**64), but got {seed}")
        self._start(int(seed) % 2**64)
        return self

    def initial_seed(self) -> int:
        """The seed that started the stream, as a number from 0 to 2**64 - 1."""
        return self._seed

    def seed(self) -> int:
        """Start the stream of a seed that the operating system chooses, and return that seed."""
        seed = int.from_bytes(os.urandom(8), "little")
        self._start(seed)
        return seed

    @as_one
    def get_state(self) -> Tensor:
        """The state, a uint8 tensor of 5056 bytes in PyTorch's own layout: either library can restore the other's."""
        state = np.zeros((), _STATE)
        with self._lock:
            state["seed"] = self._seed
            first = max(self._next - 1, 0) // _BLOCK * _BLOCK  # of the block in use, be it used up
            state["left"] = min(self._end, first + _BLOCK) - self._next + 1
            state["seeded"] = 1
            state["next"] = self._next - first
            if len(self._words):
                state["key"] = untempered(self._words[first : first + _BLOCK])
            else:
                state["key"] = self._source().get_state(legacy=False)["state"]["key"]
            if self._spare is not None:
                state["normal_y"] = self._spare
                state["normal_valid"] = 1
        return _runtime.made(np.frombuffer(state.tobytes(), np.uint8).copy())

    @as_one
    def set_state(self, new_state: Tensor) -> Generator:
        """Continue from a state that `get_state` returned, and return the generator."""
        if not isinstance(new_state, _runtime.Tensor):
            raise TypeError(f"expected a torch.ByteTensor, but got {type(new_state).__name__}")
        array = new_state._array
        if array.dtype != np.uint8:
            raise TypeError(f"RNG state must be a torch.ByteTensor, but its dtype is {new_state.dtype}")
        if array.size != _STATE.itemsize:
            raise RuntimeError(
                f"Expected a CPUGeneratorImplState of size {_STATE.itemsize} but found the input RNG state size to be "
                f"{array.size}"
            )
        state = np.frombuffer(array.tobytes(), _STATE)[0]
        start, end = int(state["next"]), int(state["next"]) + int(state["left"]) - 1
        if state["seeded"] != 1 or not start <= end <= _BLOCK:
            raise RuntimeError("Invalid mt19937 state")
        with self._lock:
            self._source().set_state(("MT19937", state["key"].astype(np.uint32), 0, 0, 0.0))
            self._load(self._draw_blocks(1), start, end)
            self._seed = int(state["seed"])
            self._spare = float(state["normal_y"]) if state["normal_valid"] else None
        return self

    def clone_state(self) -> Generator:
        """A second generator that continues from the same state."""
        return Generator().set_state(self.get_state())

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.get_state(),)

    def _start(self, seed: int) -> None:
        with self._lock:
            self._twister = None
            self._seed = seed
            self._spare = None
            self._load(np.empty(0, np.uint32), 0, 0)

    def _source(self) -> np.random.RandomState:
        """NumPy's twister at the start of the stream, made when first needed: `numpy.random` is slow to import."""
        if self._twister is None:
            self._twister = np.random.RandomState(self._seed & 0xFFFFFFFF)
        return self._twister

    # ---- draws that may have to be made again ----

    def place(self) -> tuple[Any, ...]:
        """Where the stream is, for `again`."""
        with self._lock:
            return self._words, self._next, self._end, self._spare

    def again(self, place: tuple[Any, ...]) -> None:
        """Go back to a `place` in the stream of the same seed: what has been drawn since is drawn again."""
        words, start, end, spare = place
        with self._lock:
            if words is not self._words:  # the twister has gone on from the last block of them
                self._twister = None
                if len(words):
                    self._source().set_state(("MT19937", untempered(words[-_BLOCK:]), _BLOCK, 0, 0.0))
            self._load(words, start, end)
            self._spare = spare

    # ---- words ----

    def _load(self, words: NDArray[np.uint32], start: int, end: int) -> None:
        """Make `words` (whole blocks) those in use, of which the ones from `start` to `end` are still to come."""
        self._words = words
        self._next, self._end = start, end
        self._table: RunTable | None = None  # of some words from position _table_start on
        self._table_start = 0

    def _draw_blocks(self, count: int) -> NDArray[np.uint32]:
        return self._source().randint(0, 2**32, count * _BLOCK, dtype=np.uint32)

    def _take(self, count: int) -> NDArray[np.uint32]:
        """The next `count` words, which may be a view of those in use: don't write to them."""
        with self._lock:
            return self._advance(count)

    def _advance(self, count: int) -> NDArray[np.uint32]:
        """`_take` for those who hold the lock."""
        start, stop = self._next, self._next + count
        if stop <= self._end:
            self._next = stop
            return self._words[start:stop]
        rest = self._words[start : self._end]
        missing = count - len(rest)
        drawn = self._draw_blocks(max(-(-missing // _BLOCK), _AHEAD // _BLOCK))
        self._load(drawn[-_AHEAD:].copy(), missing - (len(drawn) - _AHEAD), _AHEAD)
        return np.concatenate((rest, drawn[:missing])) if len(rest) else drawn[:missing]

    def random64(self) -> int:
        """The next 64-bit word: two 32-bit ones, the high half first."""
        high, low = self._take(2).tolist()
        return high << 32 | low

    def _take64(self, count: int) -> NDArray[np.uint64]:
        return joined(self._take(2 * count))

    def _uniform32(self, count: int) -> NDArray[np.float32]:
        return unit32(self._take(count))

    def _uniform64(self, count: int) -> NDArray[np.float64]:
        return unit64(self._take(2 * count))

    # ---- continuous distributions ----

    def uniform(self, shape: Shape, dtype: DTypeLike = np.float32, low: float = 0.0, high: float = 1.0) -> Array:
        """Numbers spread evenly over [low, high).

        Parameters
        ----------
        shape : int or tuple of int
        dtype : float16, float32 or float64
        low, high : float
            Finite and in order, with a difference that the dtype can hold.
        """
        shape, dtype = shape_of(shape), float_dtype(dtype, "check_uniform_bounds")
        unit = low == 0 and high == 1
        if not unit:
            check_uniform_bounds(low, high, dtype)
        count = math.prod(shape)
        result = self._uniform64(count) if dtype == np.float64 else self._uniform32(count)
        if not unit:
            number = result.dtype.type
            result = fused_scale(result, float(number(high) - number(low)), low)
        if not unit or dtype == np.float16:
            result = _narrow(result, dtype)
            result[result == dtype.type(high)] = low  # rounding may reach the bound that is excluded
        return result.reshape(shape)

    def normal(
        self,
        shape: Shape,
        dtype: DTypeLike = np.float32,
        mean: float = 0.0,
        std: float = 1.0,
        contiguous: bool = True,
    ) -> Array:
        """Normally distributed numbers.

        Parameters
        ----------
        shape : int or tuple of int
        dtype : float16, float32 or float64
        mean, std : float
            ``std`` is not negative.
        contiguous : bool
            Whether the tensor to be filled is contiguous: from 16 elements on, PyTorch fills such tensors by runs of
            16, others two elements at a time, in the order of their memory.
        """
        shape, dtype = shape_of(shape), float_dtype(dtype, "normal_kernel_cpu")
        if not std >= 0:
            raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
        count = math.prod(shape)
        in_runs = count >= 16 and contiguous
        result = self._runs_of_normals(count, dtype) if in_runs else self._paired_normals(count)
        return _narrow(fused_scale(result, std, mean), dtype).reshape(shape)

    def _runs_of_normals(self, count: int, dtype: np.dtype[Any]) -> Array:
        """At least 16 normal numbers; if they are no whole number of runs, the last 16 come from 16 fresh uniforms."""
        tail = count % 16
        whole = count - tail
        drawn = count
        if tail:
            drawn = (whole if dtype == np.float16 else count) + 16  # float16 draws no uniforms in vain
        if dtype != np.float64 and drawn <= _FEW_WORDS:
            return self._few_runs(count, drawn)
        uniforms: Array = self._uniform64(drawn) if dtype == np.float64 else self._uniform32(drawn)
        if tail:
            uniforms = np.concatenate((uniforms[:whole], uniforms[-16:]))
        normals = normal_runs64(uniforms) if dtype == np.float64 else normal_runs32(uniforms)
        return np.concatenate((normals[: count - 16], normals[-16:])) if tail else normals

    def _few_runs(self, count: int, drawn: int) -> NDArray[np.float32]:
        """`_runs_of_normals` by a table, from `drawn` words."""
        with self._lock:
            words = self._advance(drawn)
            stop = self._next
            if self._table is None or stop > self._table_start + len(self._table):
                ahead = self._words[stop : min(stop + (_DRAWS_OF_TABLE - 1) * drawn, self._end)]
                self._table = RunTable(unit32(np.concatenate((words, ahead))))
                self._table_start = stop - drawn  # negative if the first words are from former blocks
            table, start = self._table, stop - drawn - self._table_start
        result = np.empty(count, np.float32)
        table.fill(result[: count // 16 * 16], start)
        if count % 16:
            table.fill(result[-16:], start + drawn - 16)
        return result

    def _paired_normals(self, count: int) -> NDArray[np.float64]:
        """Normal numbers made two at a time; an odd one out is kept for the next call."""
        if not count:
            return np.empty(0)
        with self._lock:
            made = [] if self._spare is None else [self._spare]
            pairs = (count - len(made) + 1) // 2
            words = self._advance(4 * pairs)
            if pairs <= _FEW_PAIRS:
                result = np.array(made + few_normal_pairs(few_units(words.tolist())))
            else:
                result = np.concatenate((made, normal_pairs(unit64(words))))
            self._spare = result[-1].item() if len(result) > count else None
        return result[:count]

    def log_normal(self, shape: Shape, dtype: DTypeLike = np.float32, mean: float = 1.0, std: float = 2.0) -> Array:
        """Numbers whose logarithms are normally distributed with the given mean and (positive) std."""
        shape, dtype = shape_of(shape), float_dtype(dtype, "log_normal_cpu")
        if not std > 0:
            raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std}")
        with np.errstate(over="ignore"):
            result = np.exp(fused_scale(self._paired_normals(math.prod(shape)), std, mean))
        return _narrow(result, dtype).reshape(shape)

    def exponential(self, shape: Shape, dtype: DTypeLike = np.float32, rate: float = 1.0) -> Array:
        """Exponentially distributed numbers; their mean is ``1 / rate``."""
        shape, dtype = shape_of(shape), continuous_dtype(dtype, "Exponential")
        if not rate > 0:
            raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={rate}")
        result = np.log1p(-self._uniform64(math.prod(shape)))
        result *= -1 / rate
        return _narrow(result, dtype).reshape(shape)

    def cauchy(self, shape: Shape, dtype: DTypeLike = np.float32, median: float = 0.0, sigma: float = 1.0) -> Array:
        """Cauchy distributed numbers; `sigma` is half the distance between the quartiles."""
        shape, dtype = shape_of(shape), continuous_dtype(dtype, "Cauchy")
        if not sigma > 0:
            raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma}")
        result = np.tan(np.pi * (self._uniform64(math.prod(shape)) - 0.5))
        return _narrow(fused_scale(result, sigma, median), dtype).reshape(shape)

    # ---- discrete distributions ----

    def geometric(self, shape: Shape, dtype: DTypeLike = np.float32, p: float = 0.5) -> Array:
        """How many trials the first success takes, when each succeeds with probability `p`."""
        shape, dtype = shape_of(shape), np.dtype(dtype)
        if not 0 < p < 1:
            raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p}")
        if dtype.kind not in "iuf":
            raise NotImplementedError(f'"geometric_cpu" not implemented for {dtype.name}')
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            trials = np.ceil(np.log(self._uniform64(math.prod(shape))) / math.log1p(-p))
            result = _narrow(trials, dtype) if dtype.kind == "f" else trials.astype(np.int64).astype(dtype)
        return result.reshape(shape)

    def bernoulli(self, p: float, shape: Shape, dtype: DTypeLike = np.float32) -> Array:
        """Ones with probability `p`, else zeros, all of one probability (dropout's masks)."""
        shape = shape_of(shape)
        if not 0 <= p <= 1:
            raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
        words = self._take64(math.prod(shape))
        words &= MASK53
        return (words < np.uint64(math.ceil(p * 2**53))).astype(dtype).reshape(shape)

    def bernoulli_tensor(self, p: Array, dtype: DTypeLike | None = None) -> Array:
        """Ones where a uniform number of p's precision is below `p`, else zeros; of p's dtype by default."""
        if p.dtype not in FLOAT_DIGITS:
            raise NotImplementedError(f'"bernoulli_tensor_cpu_p_" not implemented for {p.dtype.name}')
        if not ((p >= 0) & (p <= 1)).all():
            raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true: the probabilities must be in [0, 1]")
        uniforms = self._uniform64(p.size) if p.dtype == np.float64 else self._uniform32(p.size)
        return (uniforms.reshape(p.shape) < p).astype(p.dtype if dtype is None else dtype)

    def random(self, shape: Shape, dtype: DTypeLike = np.int64) -> Array:
        """Integers from 0 to the largest of the dtype; for a float dtype, to the last that has no gap before it."""
        shape, dtype = shape_of(shape), np.dtype(dtype)
        if dtype.char not in _RANDOM_DTYPES:
            raise NotImplementedError(f'"random_kernel_cpu" not implemented for {dtype.name}')
        count = math.prod(shape)
        span = integer_limit(dtype) + 1
        words = self._take64(count) if dtype.itemsize == 8 else self._take(count)
        return (words % words.dtype.type(span)).astype(dtype).reshape(shape)

    def randint(self, low: int, high: int | None, shape: Shape, dtype: DTypeLike = np.int64) -> Array:
        """Integers from `low` to ``high - 1``.

        Parameters
        ----------
        low, high : int
            ``low < high``. A `high` of None means up to the last integer that `random` draws.
        shape : int or tuple of int
        dtype : dtype
            An integer, bool or float dtype that holds ``low`` and ``high - 1``.
        """
        shape, dtype = shape_of(shape), np.dtype(dtype)
        if high is None:
            high = integer_limit(dtype) + 1
        else:
            low, high = check_integer_bounds(low, high, dtype)
        span, count = high - low, math.prod(shape)
        if span < 2**28:
            result = (self._take(count) % np.uint32(span)).astype(np.int64)
            result += low
            return result.astype(dtype, copy=False).reshape(shape)
        words = self._take64(count)
        if span < 2**64:
            words = words % np.uint64(span) + np.uint64(low % 2**64)
        return words.view(np.int64).astype(dtype, copy=False).reshape(shape)

    def randperm(self, n: int, dtype: DTypeLike = np.int64) -> Array:
        """The numbers from 0 to ``n - 1`` in random order."""
        dtype = np.dtype(dtype)
        (n,) = shape_of(n)
        if dtype.kind not in "iuf":
            raise NotImplementedError(f'"randperm" not implemented for {dtype.name}')
        if dtype.kind == "f" and n > integer_limit(dtype) + 1:
            raise RuntimeError(f"n cannot be greater than {integer_limit(dtype) + 1} for {dtype.name}, but got {n}")
        if dtype.kind != "f" and n > integer_limit(dtype):
            raise RuntimeError(f"value cannot be converted to type {dtype.name} without overflow: n = {n}")
        partners = np.arange(n, dtype=np.int64)
        partners[:-1] += np.remainder(self._take(max(n - 1, 0)), np.arange(n, 1, -1, dtype=np.uint32))
        return shuffled(partners).astype(dtype, copy=False)

    def multinomial(self, weights: Array, n: int, replacement: bool = False) -> NDArray[np.int64]:
        """Indices drawn with probabilities proportional to `weights`.

        Parameters
        ----------
        weights : ndarray, shape (k,) or (rows, k)
            Not negative, and not all zero in any row; a float dtype.
        n : int
            How many to draw from each row; without replacement at most k.
        replacement : bool
            Whether an index may come again.

        Returns
        -------
        ndarray of int64, shape (n,) or (rows, n)
        """
        check_multinomial(weights, n, replacement)
        if replacement and n > 1:
            return self._multinomial_with_replacement(weights, n)
        with np.errstate(divide="ignore", over="ignore"):
            # the largest of p / q, q exponential: a race in which outcome i arrives at rate p[i]
            score = weights / in_memory_order(weights, lambda shape: self.exponential(shape, weights.dtype))
        if n == 1:
            return score.argmax(-1, keepdims=True)
        return np.argsort(-score, axis=-1, kind="stable")[..., :n]

    def _multinomial_with_replacement(self, weights: Array, n: int) -> NDArray[np.int64]:
        rows = weights.reshape(-1, weights.shape[-1])
        running = np.cumsum(rows, axis=-1, dtype=np.promote_types(weights.dtype, np.float32))
        total = running[:, -1:]
        cumulative = running / total
        cumulative[:, -1] = 1
        uniforms = self._uniform64(len(rows) * n).reshape(len(rows), n)
        result = np.empty(uniforms.shape, np.int64)
        for row, edges, points in zip(result, cumulative.astype(np.float64), uniforms, strict=True):
            row[:] = edges.searchsorted(points)
        return result.reshape(*weights.shape[:-1], n)


def memory_order(array: Array) -> list[int]:
    """The dimensions of an array from the slowest to the fastest in its memory; as they are where it is expanded."""
    if 0 in array.strides:
        return list(range(array.ndim))
    return sorted(range(array.ndim), key=lambda dim: -array.strides[dim])


def in_memory_order(array: Array, draw: Callable[[tuple[int, ...]], Array]) -> Array:
    """What ``draw(shape)`` gives for an array, element by element in the order of its memory."""
    if array.flags.c_contiguous:
        return draw(array.shape)
    order = memory_order(array)
    return draw(tuple([array.shape[dim] for dim in order])).transpose(np.argsort(order))


def _restore(state: Tensor) -> Generator:
    return Generator().set_state(state)


def positions(generators: Iterable[Generator]) -> list[tuple[Any, int]]:
    """Where generators are in their streams, the words in use and the next one: both are the same until they draw."""
    return [(g._words, g._next) for g in generators]


default_generator = Generator()
default_generator.seed()


def manual_seed(seed: Any) -> Generator:
    """Seed the default generator with ``int(seed)`` and return it.

    Examples
    --------
    >>> import minitorch as torch
    >>> _ = torch.manual_seed(0)
    >>> torch.rand(2)
    tensor([0.4963, 0.7682])
    """
    return default_generator.manual_seed(int(seed))


def initial_seed() -> int:
    """The seed of the default generator.

    Examples
    --------
    >>> import minitorch as torch
    >>> _ = torch.manual_seed(3)
    >>> torch.initial_seed()
    3
    """
    return default_generator.initial_seed()


def seed() -> int:
    """Seed the default generator with a number that the operating system chooses, and return that number."""
    return default_generator.seed()


# ---- words as numbers ----


def _narrow(values: Array, dtype: np.dtype[Any]) -> Array:
    """Float values as `dtype`; from float64 to float16 by way of float32, as PyTorch converts them."""
    if values.dtype == dtype:
        return values
    with np.errstate(over="ignore"):
        if dtype == np.float16:
            values = values.astype(np.float32, copy=False)
        return values.astype(dtype, copy=False)
