"""Random numbers: PyTorch's CPU generator, bit for bit, on ndarrays.

A :class:`Generator` is the Mersenne Twister MT19937. NumPy draws its 32-bit words in whole blocks; the block in use is
kept, so a small draw is a slice of it, and the reported state is the block's key and the position in it.

Where PyTorch's own values depend on the processor, these are the values of its x86-64 builds with AVX2: products and
sums are fused (rounded once), and float32 normal numbers come from the single-precision logarithm, sine and cosine of
the Cephes library. A fused float32 operation is computed in float64 and rounded, which differs from true fusion about
once in 2**29. Float64 values go through NumPy's log, log1p, sin, cos, tan and exp: where NumPy uses vectorised versions
of them (AVX-512), the last bit may differ.
"""

from __future__ import annotations

import math
import os
import threading
import warnings
from typing import Any, Final

import numpy as np
from numpy.typing import DTypeLike, NDArray

__all__ = ["Generator", "default_generator", "initial_seed", "manual_seed", "seed"]

Array = NDArray[Any]
Shape = int | tuple[int, ...]

_BLOCK: Final = 624
_MASK21: Final = 2**21 - 1
_MASK24: Final = np.uint32(2**24 - 1)
_MASK53: Final = np.uint64(2**53 - 1)
_FLOAT_DIGITS: Final = {np.dtype(np.float16): 11, np.dtype(np.float32): 24, np.dtype(np.float64): 53}
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
    device : str
        Only ``"cpu"``.

    Attributes
    ----------
    device : str
        ``"cpu"``.

    Notes
    -----
    The draws (`uniform`, `normal`, …) return new ndarrays and consume exactly the words that PyTorch's would. Words are
    taken under a lock, so that threads sharing a generator never get the same ones.

    Examples
    --------
    >>> generator = Generator().manual_seed(0)
    >>> generator.uniform(3).tolist()
    [0.49625658988952637, 0.7682217955589294, 0.08847743272781372]
    >>> generator.randperm(5).tolist()
    [0, 4, 2, 1, 3]
    """

    __slots__ = ("_ahead", "_ahead_from", "_end", "_lock", "_next", "_seed", "_spare", "_twister", "_words", "device")

    def __init__(self, device: Any = "cpu") -> None:
        if str(device) != "cpu":
            raise RuntimeError(f"Generator(): only the device 'cpu' is supported, but got {str(device)!r}")
        self.device = "cpu"
        self._lock = threading.Lock()
        self._twister = np.random.RandomState(0)
        self._spare: float | None = None  # the normal number left over by the last small draw
        self._start(67280421310721)

    # ---- seeds and states ----

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
        self._start(int.from_bytes(os.urandom(8), "little"))
        return self._seed

    def get_state(self) -> NDArray[np.uint8]:
        """The state as 5056 bytes, in PyTorch's own layout: either library can restore the other's."""
        state = np.zeros((), _STATE)
        with self._lock:
            state["seed"] = self._seed
            state["left"] = self._end - self._next + 1
            state["seeded"] = 1
            state["next"] = self._next
            state["key"] = self._twister.get_state(legacy=False)["state"]["key"]
            if self._spare is not None:
                state["normal_y"] = self._spare
                state["normal_valid"] = 1
        return np.frombuffer(state.tobytes(), np.uint8).copy()

    def set_state(self, new_state: NDArray[np.uint8]) -> Generator:
        """Continue from a state that `get_state` returned, and return the generator."""
        if not isinstance(new_state, np.ndarray):
            raise TypeError(f"expected a torch.ByteTensor, but got {type(new_state).__name__}")
        if new_state.dtype != np.uint8:
            raise TypeError(f"RNG state must be a torch.ByteTensor, but its dtype is {new_state.dtype}")
        if new_state.size != _STATE.itemsize:
            raise RuntimeError(
                f"Expected a CPUGeneratorImplState of size {_STATE.itemsize} but found the input RNG state size to be "
                f"{new_state.size}"
            )
        state = np.frombuffer(new_state.tobytes(), _STATE)[0]
        start, end = int(state["next"]), int(state["next"]) + int(state["left"]) - 1
        if state["seeded"] != 1 or not start <= end <= _BLOCK:
            raise RuntimeError("Invalid mt19937 state")
        with self._lock:
            self._twister.set_state(("MT19937", state["key"].astype(np.uint32), 0, 0, 0.0))
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
            self._twister.seed(seed & 0xFFFFFFFF)
            self._seed = seed
            self._spare = None
            self._load(np.empty(0, np.uint32), 0, 0)

    # ---- words ----

    def _load(self, block: NDArray[np.uint32], start: int = 0, end: int = _BLOCK) -> None:
        """Make `block` the words in use, of which those from `start` to `end` are still to come."""
        self._words = block
        self._next, self._end = start, end
        self._ahead = np.empty(0, np.float32)  # normal numbers from the words that follow position _ahead_from
        self._ahead_from = 0

    def _draw_blocks(self, count: int) -> NDArray[np.uint32]:
        return self._twister.randint(0, 2**32, count * _BLOCK, dtype=np.uint32)

    def _take(self, count: int) -> NDArray[np.uint32]:
        """The next `count` words, which may be a view of the block in use: don't write to them."""
        with self._lock:
            start, stop = self._next, self._next + count
            if stop <= self._end:
                self._next = stop
                return self._words[start:stop]
            rest = self._words[start : self._end]
            missing = count - len(rest)
            blocks = -(-missing // _BLOCK)
            drawn = self._draw_blocks(blocks)
            self._load(drawn[-_BLOCK:].copy())
            self._next = missing - (blocks - 1) * _BLOCK
            return np.concatenate((rest, drawn[:missing])) if len(rest) else drawn[:missing]

    def _take64(self, count: int) -> NDArray[np.uint64]:
        words = self._take(2 * count)
        result = words[0::2].astype(np.uint64)
        result <<= np.uint64(32)
        result |= words[1::2]
        return result

    def random64(self) -> int:
        """The next 64-bit word: two 32-bit ones, the high half first."""
        high, low = self._take(2).tolist()
        return high << 32 | low

    def _uniform32(self, count: int) -> NDArray[np.float32]:
        return _unit32(self._take(count))

    def _uniform64(self, count: int) -> NDArray[np.float64]:
        words = self._take64(count)
        words &= _MASK53
        result = words.astype(np.float64)
        result *= 2**-53
        return result

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
        shape, dtype = _shape(shape), _float_dtype(dtype, "check_uniform_bounds")
        unit = low == 0 and high == 1
        if not unit:
            _check_uniform_bounds(low, high, dtype)
        count = math.prod(shape)
        result = self._uniform64(count) if dtype == np.float64 else self._uniform32(count)
        if not unit:
            number = result.dtype.type
            result = _fused_scale(result, float(number(high) - number(low)), low)
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
        shape, dtype = _shape(shape), _float_dtype(dtype, "normal_kernel_cpu")
        if not std >= 0:
            raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
        count = math.prod(shape)
        in_runs = count >= 16 and contiguous
        result = self._runs_of_normals(count, dtype) if in_runs else self._paired_normals(count)
        return _narrow(_fused_scale(result, std, mean), dtype).reshape(shape)

    def _runs_of_normals(self, count: int, dtype: np.dtype[Any]) -> Array:
        """At least 16 normal numbers; if they are no whole number of runs, the last 16 come from 16 fresh uniforms."""
        tail = count % 16
        if not tail and dtype != np.float64:
            return self._normals32(count)
        drawn = count + 16 if tail else count
        if tail and dtype == np.float16:  # which draws no uniforms in vain
            drawn -= tail
        uniforms: Array = self._uniform64(drawn) if dtype == np.float64 else self._uniform32(drawn)
        if tail:
            uniforms = np.concatenate((uniforms[: count - tail], uniforms[-16:]))
        normals = _box_muller64(uniforms) if dtype == np.float64 else _box_muller32(uniforms)
        return np.concatenate((normals[: count - 16], normals[-16:])) if tail else normals

    def _normals32(self, count: int) -> NDArray[np.float32]:
        """Normal numbers in whole runs of 16; small draws share one transform of all that is left of the block."""
        with self._lock:
            if self._next == self._end:
                self._load(self._draw_blocks(1))
            start, stop = self._next, self._next + count
            if stop <= self._end:
                offset = start - self._ahead_from
                if not len(self._ahead) or offset < 0 or offset % 16:
                    runs = (self._end - start) // 16 * 16
                    self._ahead = _box_muller32(_unit32(self._words[start : start + runs]))
                    self._ahead_from, offset = start, 0
                self._next = stop
                return self._ahead[offset : offset + count].copy()
        return _box_muller32(self._uniform32(count))

    def _paired_normals(self, count: int) -> NDArray[np.float64]:
        """Normal numbers made two at a time; an odd one out is kept for the next call."""
        if not count:
            return np.empty(0)
        spare, self._spare = self._spare, None
        filled = 0 if spare is None else 1
        pairs = (count - filled + 1) // 2
        result = np.empty(filled + 2 * pairs)
        if spare is not None:
            result[0] = spare
        if pairs <= 8:
            result[filled:] = _few_pairs(self._take(4 * pairs).tolist())
        else:
            uniforms = self._uniform64(2 * pairs)
            radius = np.sqrt(-2 * np.log1p(-uniforms[1::2]))
            angle = 2 * np.pi * uniforms[0::2]
            np.multiply(radius, np.cos(angle), out=result[filled::2])
            np.multiply(radius, np.sin(angle), out=result[filled + 1 :: 2])
        if len(result) > count:
            self._spare = result[-1].item()
        return result[:count]

    def log_normal(self, shape: Shape, dtype: DTypeLike = np.float32, mean: float = 1.0, std: float = 2.0) -> Array:
        """Numbers whose logarithms are normally distributed with the given mean and (positive) std."""
        shape, dtype = _shape(shape), _float_dtype(dtype, "log_normal_cpu")
        if not std > 0:
            raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std}")
        with np.errstate(over="ignore"):
            result = np.exp(_fused_scale(self._paired_normals(math.prod(shape)), std, mean))
        return _narrow(result, dtype).reshape(shape)

    def exponential(self, shape: Shape, dtype: DTypeLike = np.float32, rate: float = 1.0) -> Array:
        """Exponentially distributed numbers; their mean is ``1 / rate``."""
        shape, dtype = _shape(shape), _continuous_dtype(dtype, "Exponential")
        if not rate > 0:
            raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={rate}")
        result = np.log1p(-self._uniform64(math.prod(shape)))
        result *= -1 / rate
        return _narrow(result, dtype).reshape(shape)

    def cauchy(self, shape: Shape, dtype: DTypeLike = np.float32, median: float = 0.0, sigma: float = 1.0) -> Array:
        """Cauchy distributed numbers; `sigma` is half the distance between the quartiles."""
        shape, dtype = _shape(shape), _continuous_dtype(dtype, "Cauchy")
        if not sigma > 0:
            raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma}")
        result = np.tan(np.pi * (self._uniform64(math.prod(shape)) - 0.5))
        return _narrow(_fused_scale(result, sigma, median), dtype).reshape(shape)

    # ---- discrete distributions ----

    def geometric(self, shape: Shape, dtype: DTypeLike = np.float32, p: float = 0.5) -> Array:
        """How many trials the first success takes, when each succeeds with probability `p`."""
        shape, dtype = _shape(shape), np.dtype(dtype)
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
        shape = _shape(shape)
        if not 0 <= p <= 1:
            raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
        words = self._take64(math.prod(shape))
        words &= _MASK53
        return (words < np.uint64(math.ceil(p * 2**53))).astype(dtype).reshape(shape)

    def bernoulli_tensor(self, p: Array, dtype: DTypeLike | None = None) -> Array:
        """Ones where a uniform number of p's precision is below `p`, else zeros; of p's dtype by default."""
        if p.dtype not in _FLOAT_DIGITS:
            raise NotImplementedError(f'"bernoulli_tensor_cpu_p_" not implemented for {p.dtype.name}')
        if not ((p >= 0) & (p <= 1)).all():
            raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true: the probabilities must be in [0, 1]")
        uniforms = self._uniform64(p.size) if p.dtype == np.float64 else self._uniform32(p.size)
        return (uniforms.reshape(p.shape) < p).astype(p.dtype if dtype is None else dtype)

    def random(self, shape: Shape, dtype: DTypeLike = np.int64) -> Array:
        """Integers from 0 to the largest of the dtype; for a float dtype, to the last that has no gap before it."""
        shape, dtype = _shape(shape), np.dtype(dtype)
        if dtype.char not in _RANDOM_DTYPES:
            raise NotImplementedError(f'"random_kernel_cpu" not implemented for {dtype.name}')
        count = math.prod(shape)
        span = _integer_limit(dtype) + 1
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
        shape, dtype = _shape(shape), np.dtype(dtype)
        if high is None:
            high = _integer_limit(dtype) + 1
        else:
            low, high = _check_integer_bounds(low, high, dtype)
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
        (n,) = _shape(n)
        if dtype.kind not in "iuf":
            raise NotImplementedError(f'"randperm" not implemented for {dtype.name}')
        if dtype.kind == "f" and n > _integer_limit(dtype) + 1:
            raise RuntimeError(f"n cannot be greater than {_integer_limit(dtype) + 1} for {dtype.name}, but got {n}")
        if dtype.kind != "f" and n > _integer_limit(dtype):
            raise RuntimeError(f"value cannot be converted to type {dtype.name} without overflow: n = {n}")
        order = list(range(n))
        steps = self._take(max(n - 1, 0)) % np.arange(n, 1, -1, dtype=np.uint32)
        for position, step in enumerate(steps.tolist()):
            other = position + step
            order[position], order[other] = order[other], order[position]
        return np.array(order, dtype)

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
        _check_multinomial(weights, n, replacement)
        if replacement and n > 1:
            return self._multinomial_with_replacement(weights, n)
        with np.errstate(divide="ignore", over="ignore"):
            # the largest of p / q, q exponential: a race in which outcome i arrives at rate p[i]
            score = weights / self.exponential(weights.shape, weights.dtype)
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


def _restore(state: NDArray[np.uint8]) -> Generator:
    return Generator().set_state(state)


default_generator = Generator()
default_generator.seed()


def manual_seed(seed: Any) -> Generator:
    """Seed the default generator with ``int(seed)`` and return it."""
    return default_generator.manual_seed(int(seed))


def initial_seed() -> int:
    """The seed of the default generator."""
    return default_generator.initial_seed()


def seed() -> int:
    """Seed the default generator with a number that the operating system chooses, and return that number."""
    return default_generator.seed()


# ---- arguments ----


def _shape(shape: Shape) -> tuple[int, ...]:
    sizes = (shape,) if isinstance(shape, int | np.integer) else tuple(shape)
    for size in sizes:
        if size < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {size}: {list(sizes)}")
    return sizes


def _float_dtype(dtype: DTypeLike, kernel: str) -> np.dtype[Any]:
    dtype = np.dtype(dtype)
    if dtype not in _FLOAT_DIGITS:
        raise NotImplementedError(f'"{kernel}" not implemented for {dtype.name}')
    return dtype


def _continuous_dtype(dtype: DTypeLike, distribution: str) -> np.dtype[Any]:
    dtype = np.dtype(dtype)
    if dtype not in _FLOAT_DIGITS:
        raise RuntimeError(
            f"{distribution} distribution is a continuous probability distribution. dtype must be a floating point but "
            f"you specified {dtype.name}"
        )
    return dtype


def _check_uniform_bounds(low: float, high: float, dtype: np.dtype[Any]) -> None:
    largest = float(np.finfo(dtype).max)
    for name, bound in (("from", low), ("to", high)):
        if not -largest <= bound <= largest:
            raise RuntimeError(f"{name} is out of bounds for {dtype.name}: {bound}")
    if low > high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low} > to={high}")
    if high - low > largest:
        raise RuntimeError(
            f"uniform_ expects to-from <= {largest}, the largest {dtype.name}, but found to={high} and from={low} "
            "which result in to-from to exceed the limit"
        )


def _integer_limit(dtype: np.dtype[Any]) -> int:
    """The largest integer that random integers of the dtype reach."""
    if dtype in _FLOAT_DIGITS:
        return 2 ** _FLOAT_DIGITS[dtype]
    return 1 if dtype.kind == "b" else int(np.iinfo(dtype).max)


def _check_integer_bounds(low: int, high: int, dtype: np.dtype[Any]) -> tuple[int, int]:
    """`low` and `high`, moved inward for a float dtype that would round them outward."""
    for bound in (low, high):
        if not -(2**63) <= bound < 2**63:
            raise ValueError(f"Overflow when unpacking long long: {bound}")
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    if dtype.kind == "c":
        raise RuntimeError("check_random_bounds handles only integral, floating-point and boolean types")
    limit = float(np.finfo(dtype).max) if dtype.kind == "f" else _integer_limit(dtype)
    smallest = -limit if dtype.kind == "f" else 0 if dtype.kind == "b" else int(np.iinfo(dtype).min)
    for name, bound in (("from", low), ("to - 1", high - 1)):
        if not smallest <= bound <= limit:
            raise RuntimeError(f"{name} is out of bounds for {dtype.name}: {bound}")
    if dtype.kind != "f":
        return low, high
    digits = _FLOAT_DIGITS[dtype]
    for name, bound in (("from", low), ("to - 1", high - 1)):
        if abs(bound) > 2**digits:
            warnings.warn(
                f"{name} is out of bounds [-(2^{digits}), 2^{digits}]. Due to precision limitations {dtype.name} can "
                "support discrete uniform distribution only within this range.",
                UserWarning,
                stacklevel=3,
            )
    if (rounded := int(dtype.type(low + 1))) < low:
        low = rounded + (1 << (abs(low + 1).bit_length() - digits))
    if (rounded := int(dtype.type(high - 1))) >= high:
        high = rounded - (1 << (abs(high - 1).bit_length() - digits))
    if low >= high:
        raise RuntimeError(
            "random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, but got "
            f"from={low} >= to={high} in {dtype.name}"
        )
    return low, high


def _check_multinomial(weights: Array, n: int, replacement: bool) -> None:
    if weights.ndim not in (1, 2):
        raise RuntimeError(f"prob_dist must be 1 or 2 dim, but its shape is {weights.shape}")
    if weights.dtype not in _FLOAT_DIGITS:
        raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {weights.dtype.name}")
    if n <= 0:
        raise RuntimeError(f"cannot sample n_sample <= 0 samples, but got n_sample={n}")
    if n > weights.shape[-1] and not replacement:
        raise RuntimeError(
            f"cannot sample n_sample > prob_dist.size(-1) samples without replacement, but got n_sample={n} and "
            f"prob_dist of shape {weights.shape}"
        )
    if not ((weights >= 0) & (weights < np.inf)).all():
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if (weights.sum(-1) == 0).any():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")


# ---- arithmetic ----


def _unit32(words: NDArray[np.uint32]) -> NDArray[np.float32]:
    """Float32 numbers from [0, 1), of the low 24 bits of each word."""
    result = (words & _MASK24).astype(np.float32)
    result *= np.float32(2**-24)
    return result


def _narrow(values: Array, dtype: np.dtype[Any]) -> Array:
    """Float values as `dtype`; from float64 to float16 by way of float32, as PyTorch converts them."""
    with np.errstate(over="ignore"):
        if dtype == np.float16:
            values = values.astype(np.float32, copy=False)
        return values.astype(dtype, copy=False)


def _fused_scale(values: Array, scale: float, shift: float) -> Array:
    """``values * scale + shift``, rounded once, in the values' dtype; may overwrite them (one dimension)."""
    if scale != 1 and shift == 0:
        values *= values.dtype.type(scale)
    elif scale == 1 and shift != 0:
        values += values.dtype.type(shift)
    elif scale != 1 and values.dtype == np.float32:
        for start in range(0, len(values), 2**15):
            block = values[start : start + 2**15]
            product = block.astype(np.float64)
            product *= float(np.float32(scale))
            product += float(np.float32(shift))
            block[:] = product
    elif scale != 1:
        return _fused_scale64(values, np.float64(scale), shift)
    return values


def _fused_scale64(values: NDArray[np.float64], scale: np.float64, shift: float) -> NDArray[np.float64]:
    """The same for float64, by Dekker's exact product and Knuth's exact sum.

    T. J. Dekker, A floating-point technique for extending the available precision, Numerische Mathematik 18 (1971).
    """
    with np.errstate(over="ignore", invalid="ignore"):
        product = values * scale
        high, low = _halves(values)
        scale_high, scale_low = _halves(scale)
        product_error = ((high * scale_high - product) + high * scale_low + low * scale_high) + low * scale_low
        total = product + shift
        shift_part = total - product
        sum_error = (product - (total - shift_part)) + (shift - shift_part)
        result = total + (sum_error + product_error)
        return np.where(np.isfinite(result), result, total)


def _halves(values: Any) -> tuple[Any, Any]:
    scaled = values * 134217729.0  # 2**27 + 1
    high = scaled - (scaled - values)
    return high, values - high


def _few_pairs(words: list[int]) -> list[float]:
    """A pair of normal numbers from every four words: as with arrays, but without their overhead."""
    normals: list[float] = []
    for first in range(0, len(words), 4):
        angle_high, angle_low, radius_high, radius_low = words[first : first + 4]
        angle = 2 * math.pi * (((angle_high & _MASK21) << 32 | angle_low) * 2**-53)
        radius = math.sqrt(-2 * math.log1p(-((radius_high & _MASK21) << 32 | radius_low) * 2**-53))
        normals += (radius * math.cos(angle), radius * math.sin(angle))
    return normals


def _box_muller64(uniforms: NDArray[np.float64]) -> NDArray[np.float64]:
    """Normal numbers from uniform ones: each run of 16 holds eight radii, then eight angles."""
    runs = uniforms.reshape(-1, 2, 8)
    radius = np.sqrt(-2 * np.log(1 - runs[:, 0]))
    angle = 2 * np.pi * runs[:, 1]
    return np.stack((radius * np.cos(angle), radius * np.sin(angle)), 1).reshape(-1)


def _float32s(*coefficients: float) -> tuple[float, ...]:
    return tuple(float(np.float32(coefficient)) for coefficient in coefficients)


# The polynomials of logf, cosf and sinf in S. L. Moshier's Cephes library (single), http://www.netlib.org/cephes.
_LOG: Final = _float32s(7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
                        -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1)  # fmt: skip
_COS_SIN: Final = tuple(
    np.array(column).reshape(2, 1)
    for column in zip(
        _float32s(2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2),
        _float32s(-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1),
        strict=True,
    )
)
# π/2 in two parts: a small multiple of the first is exact, and so is its difference from the angle, even in float32.
_HALF_PI: Final = (2 * (0.78515625 + 2.4187564849853515625e-4), 2 * float(np.float32(3.77489497744594108e-8)))
_SQRT_HALF_BITS: Final = np.float32(math.sqrt(0.5)).view(np.int32)


def _box_muller32(uniforms: NDArray[np.float32]) -> NDArray[np.float32]:
    """`_box_muller64` in single precision, block by block, so that temporaries stay in the cache."""
    runs = uniforms.reshape(-1, 2, 8)
    result = np.empty_like(runs)
    for start in range(0, len(runs), 4096):
        block = slice(start, start + 4096)
        radius = _log32((np.float32(1) - runs[block, 0]).reshape(-1))
        radius *= np.float32(-2)
        np.sqrt(radius, out=radius)
        cos, sin = _cos_sin32((runs[block, 1] * np.float32(2 * np.pi)).reshape(-1))
        cos *= radius
        sin *= radius
        result[block, 0] = cos.reshape(-1, 8)
        result[block, 1] = sin.reshape(-1, 8)
    return result.reshape(-1)


def _log32(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Cephes' logarithm of normal positive numbers: ``e ln 2 + ln(1 + x)`` with ``1 + x`` from sqrt(1/2) to sqrt(2)."""
    bits = values.view(np.int32)
    exponent = bits - _SQRT_HALF_BITS
    exponent >>= 23
    e = exponent.astype(np.float32)
    exponent <<= 23
    x = (bits - exponent).view(np.float32)
    x -= np.float32(1)
    square = x * x
    wide = x.astype(np.float64)
    y, single = _horner32(wide, _LOG)
    y *= wide
    np.copyto(single, y, casting="same_kind")
    np.multiply(single, square, out=y, dtype=np.float64)
    y += e * np.float32(-2.12194440e-4)
    np.copyto(single, y, casting="same_kind")
    square *= np.float32(0.5)
    single -= square
    single += x
    e *= np.float32(0.693359375)
    single += e
    return single


def _cos_sin32(angles: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Cephes' cosine and sine of angles from 0 to 2π."""
    quarter = (angles * np.float32(4 / np.pi)).astype(np.int32)
    quarter += 1
    quarter >>= 1
    multiple = quarter.astype(np.float64)
    wide = angles.astype(np.float64)
    wide -= multiple * _HALF_PI[0]
    wide -= multiple * _HALF_PI[1]
    x = wide.astype(np.float32)
    np.copyto(wide, x)
    z = (x * x).astype(np.float64)

    result, single = _horner32(z, _COS_SIN)
    result *= z
    np.copyto(single, result, casting="same_kind")
    np.copyto(result, single)
    cos, sin = result
    cos *= z
    z *= 0.5
    cos -= z
    sin *= wide
    sin += wide
    np.copyto(single, result, casting="same_kind")
    single[0] += np.float32(1)
    bits = single.view(np.int32)
    return _turn(bits[0], bits[1], quarter)


def _turn(
    cos: NDArray[np.int32], sin: NDArray[np.int32], quarter: NDArray[np.int32]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The bits of cos(x), sin(x) become cos and sin of ``x + quarter * π/2``."""
    difference = cos ^ sin
    difference &= -(quarter & 1)  # all bits where cosine and sine change places
    cos ^= difference
    sin ^= difference
    sin ^= (quarter & 2) << 30
    quarter += 1
    cos ^= (quarter & 2) << 30
    return cos.view(np.float32), sin.view(np.float32)


def _horner32(x: NDArray[np.float64], coefficients: tuple[Any, ...]) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
    """A polynomial by fused float32 steps, of float32 numbers held in float64; the result, and scratch memory like it.

    Coefficients that are columns make several polynomials, one in each row of the result.
    """
    result = x * coefficients[0]
    single = np.empty(result.shape, np.float32)
    for coefficient in coefficients[1:-1]:
        result += coefficient
        np.copyto(single, result, casting="same_kind")
        np.copyto(result, single)
        result *= x
    result += coefficients[-1]
    np.copyto(single, result, casting="same_kind")
    np.copyto(result, single)
    return result, single
