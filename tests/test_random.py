"""Random streams: PyTorch 2.13's values, laws of the state, errors, and a randomised comparison with PyTorch."""

from __future__ import annotations

import copy
import hashlib
import importlib
import math
import pickle
import random
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minitorch
from minitorch import _random
from minitorch._kernels.box_muller import normal_runs32
from minitorch._random import Generator, default_generator

F16, F32, F64 = np.float16, np.float32, np.float64
WEIGHTS = np.array([0.1, 0.2, 0.7], F32)

Draw = Callable[[Generator], Any]

# Seed 0, PyTorch 2.13; the first values of each draw.
VALUES: dict[str, tuple[Draw, list[Any]]] = {
    "rand": (
        lambda g: g.uniform(4),
        [0.49625658988952637, 0.7682217955589294, 0.08847743272781372, 0.13203048706054688],
    ),
    "rand float64": (lambda g: g.uniform(3, F64), [0.9700530018065531, 0.707819864399788, 0.45938294312745087]),
    "rand float16": (lambda g: g.uniform(4, F16), [0.496337890625, 0.76806640625, 0.0885009765625, 0.132080078125]),
    "uniform_(-1, 1)": (
        lambda g: g.uniform(3, F32, -1, 1),
        [-0.007486820220947266, 0.5364435911178589, -0.8230451345443726],
    ),
    "uniform_(-.37, 1.9)": (
        lambda g: g.uniform(3, F32, -0.37, 1.9),
        [0.7565024495124817, 1.3738634586334229, -0.1691562384366989],
    ),
    "randn 5": (
        lambda g: g.normal(5),
        [1.5409960746765137, -0.293428897857666, -2.1787893772125244, 0.5684312582015991, -1.0845223665237427],
    ),
    "randn 5 again": (lambda g: (g.normal(5), g.normal(5))[1], [-1.3985954523086548, 0.40334683656692505]),
    "randn 16": (
        lambda g: g.normal(16),
        [-1.1258398294448853, -1.152360200881958, -0.2505785822868347, -0.4338788092136383, 0.8487103581428528],
    ),
    "randn 20": (
        lambda g: g.normal(20),
        [-1.1258398294448853, -1.152360200881958, -0.2505785822868347, -0.4338788092136383, 0.5988394618034363],
    ),
    "randn 20 float16": (
        lambda g: g.normal(20, F16),
        [-1.1259765625, -1.15234375, -0.25048828125, -0.433837890625, -1.3525390625, -1.6962890625],
    ),
    "normal_(1, 2) 3": (lambda g: g.normal(3, F32, 1, 2), [4.081992149353027, 0.4131421744823456, -3.357578754425049]),
    "normal_(1, 2) 17": (
        lambda g: g.normal(17, F32, 1, 2),
        [-1.2516796588897705, -2.391862392425537, 2.133301258087158],
    ),
    "normal_ not contiguous": (
        lambda g: g.normal((4, 5), contiguous=False)[:3, 0],
        [1.5409960746765137, -1.3985954523086548, -0.5966353416442871],
    ),
    "rand after an odd randn": (lambda g: (g.normal(5), g.uniform(2))[1], [0.022325754165649414, 0.16885894536972046]),
    "randint": (lambda g: g.randint(0, 100, 6), [44, 39, 33, 60, 63, 79]),
    "randint 2**40": (lambda g: g.randint(0, 2**40, 3), [741280623151, 506137267392, 291447657211]),
    "randint int32": (lambda g: g.randint(-5, 2**30, 3, np.int32), [500684172, 173853861, 226251419]),
    "randint uint8": (lambda g: g.randint(0, 256, 4, np.uint8), [172, 47, 117, 192]),
    "randint float32": (lambda g: g.randint(0, 10, 4, F32), [4.0, 9.0, 3.0, 0.0]),
    "randint all int64": (lambda g: g.randint(-(2**63), None, 2), [-8322921849960486353, -5253828890213626688]),
    "random_": (lambda g: g.random(3), [900450186894289455, 3969543146641149120, 1895649597198586619]),
    "random_ float32": (lambda g: g.random(3, F32), [8325664.0, 12888472.0, 1484222.0]),
    "random_ uint8": (lambda g: g.random(3, np.uint8), [172, 47, 117]),
    "random_ bool": (lambda g: g.random(6, np.bool_), [False, True, True, False, True, True]),
    "randperm": (lambda g: g.randperm(10), [4, 1, 7, 5, 3, 9, 0, 8, 6, 2]),
    "bernoulli_(0.3)": (lambda g: g.bernoulli(0.3, 8), [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0]),
    "dropout mask": (lambda g: g.bernoulli(0.5, 8), [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0]),
    "bernoulli": (
        lambda g: g.bernoulli_tensor(np.full(8, 0.3, F32)),
        [0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0],
    ),
    "exponential_": (lambda g: g.exponential(3), [3.508326292037964, 1.2303847074508667, 0.615044116973877]),
    "cauchy_": (lambda g: g.cauchy(3), [10.597729682922363, 0.7647672891616821, -0.12829934060573578]),
    "log_normal_": (lambda g: g.log_normal(3), [59.2634162902832, 1.5115599632263184, 0.03481946140527725]),
    "geometric_": (lambda g: g.geometric(3, p=0.3), [1.0, 1.0, 3.0]),
    "multinomial 1": (lambda g: g.multinomial(WEIGHTS, 1), [2]),
    "multinomial thrice": (
        lambda g: np.concatenate([g.multinomial(WEIGHTS, n, n == 5) for n in (1, 5, 2)]),
        [2, 2, 2, 2, 1, 2, 2, 1],
    ),
    "multinomial rows": (
        lambda g: g.multinomial(np.array([[0.1, 0.2, 0.7], [5, 1, 1]], F32), 2).reshape(-1),
        [2, 1, 0, 1],
    ),
    "random64": (lambda g: [g.random64() % 2**63], [900450186894289455]),
}


@pytest.mark.parametrize("name", VALUES)
def test_values(name: str) -> None:
    draw, expected = VALUES[name]
    assert np.asarray(draw(Generator().manual_seed(0)))[: len(expected)].tolist() == expected


@pytest.mark.parametrize(
    ("draw", "expected"),
    [
        (
            lambda g: g.normal(16, F64),
            [-2.310411800234176, -0.3732508612577643, -1.0608166785462863, 0.9995093547811761],
        ),
        (lambda g: g.normal(3, F64), [1.5409961082440433, -0.2934289057609464, -2.1787893820745574]),
        (lambda g: g.normal(3, F64, 0.123, 1.77), [2.8505631115919567, -0.3963691631968751, -3.7334572062719666]),
    ],
    ids=["16", "3", "scaled"],
)
def test_values_of_float64_normals(draw: Draw, expected: list[float]) -> None:
    result = draw(Generator().manual_seed(0))[: len(expected)]
    np.testing.assert_array_max_ulp(result, np.array(expected), maxulp=4)  # the platform's log, cos and sin


@pytest.mark.parametrize(
    ("count", "normals", "uniforms", "state"),
    [
        (16, "c14326a9b25c0a68", "ead9fbda9168a6fc", "f4d0f85ca6e7bf26"),
        (17, "db7ffaaa9d24272a", "2fb4aa20c5885883", "54586c3865948b5e"),
        (1000, "4b1786693e247183", "b432fd8a84c4a59a", "4e599bc179ab3858"),
        (100000, "9ce1e15822a349ed", "2b1f34bd059a3b16", "0cdfd1dcc518805f"),
    ],
)
def test_every_bit_of_long_streams_and_of_the_state(count: int, normals: str, uniforms: str, state: str) -> None:
    generator = Generator().manual_seed(7)
    assert _digest(generator.normal(count)) == normals
    assert _digest(generator.uniform(count)) == uniforms
    assert _digest(generator.get_state()) == state


def _digest(values: Any) -> str:
    return hashlib.sha256(np.asarray(values).tobytes()).hexdigest()[:16]


def test_a_generator_of_its_own() -> None:
    generator = Generator().manual_seed(42)
    assert generator.uniform(3).tolist() == [0.8822692632675171, 0.9150039553642273, 0.38286375999450684]
    assert generator.randperm(5).tolist() == [4, 3, 0, 1, 2]
    assert generator.device == minitorch.device("cpu")


@pytest.mark.parametrize(
    ("seed", "initial_seed", "values"),
    [
        (-1, 2**64 - 1, [0.9937993884086609, 0.5713063478469849]),
        (2**40 + 5, 2**40 + 5, [0.8302518725395203, 0.12611091136932373]),
        (5, 5, [0.8302518725395203, 0.12611091136932373]),
    ],
)
def test_the_low_32_bits_of_the_seed_count(seed: int, initial_seed: int, values: list[float]) -> None:
    generator = Generator().manual_seed(seed)
    assert generator.initial_seed() == initial_seed
    assert generator.uniform(2).tolist() == values


def test_default_seeds() -> None:
    assert Generator().initial_seed() == 67280421310721
    first, second = Generator(), Generator()
    assert first.seed() == first.initial_seed() != second.seed()
    saved = default_generator.get_state()
    try:
        assert _random.manual_seed(3.0) is default_generator
        assert _random.initial_seed() == 3
        assert _random.seed() == default_generator.initial_seed()
    finally:
        default_generator.set_state(saved)


# ---- state ----


def test_state_bytes() -> None:
    generator = Generator().manual_seed(0)
    assert generator.get_state().shape == (5056,)
    assert generator.get_state().dtype == minitorch.uint8
    assert _digest(generator.get_state()) == "1ccf17250133dec5"
    generator.uniform(3)
    generator.normal(3)
    assert _digest(generator.get_state()) == "9ea3a2659222c4fe"


DRAWS: list[Draw] = [
    lambda g: g.uniform(3),
    lambda g: g.normal(3),
    lambda g: g.normal(32),
    lambda g: g.normal(17, F64),
    lambda g: g.uniform(700, F64),
    lambda g: g.randint(0, 2**40, 2),
    lambda g: g.randperm(5),
    lambda g: g.log_normal(2),
    lambda g: g.normal(624),
    lambda g: g.normal(0),
]


@given(
    seed=st.integers(-(2**63), 2**64 - 1),
    before=st.lists(st.sampled_from(DRAWS)),
    after=st.lists(st.sampled_from(DRAWS)),
)
def test_a_restored_state_continues_the_stream(seed: int, before: list[Draw], after: list[Draw]) -> None:
    generator = Generator().manual_seed(seed)
    for draw in before:
        draw(generator)
    restored = Generator().set_state(generator.get_state())
    assert restored.initial_seed() == generator.initial_seed() == seed % 2**64
    for draw in after:
        np.testing.assert_array_equal(draw(generator), draw(restored))
        np.testing.assert_array_equal(generator.get_state(), restored.get_state())


@given(sizes=st.lists(st.integers(0, 700), max_size=6))
def test_uniforms_are_one_stream_however_they_are_cut(sizes: list[int]) -> None:
    parts = Generator().manual_seed(1)
    whole = Generator().manual_seed(1).uniform(sum(sizes))
    np.testing.assert_array_equal(np.concatenate([np.empty(0, F32), *map(parts.uniform, sizes)]), whole)


@given(start=st.integers(0, 40), runs=st.lists(st.integers(1, 30), min_size=1, max_size=6))
def test_small_normals_equal_a_large_draw(start: int, runs: list[int]) -> None:
    small, large = Generator().manual_seed(2), Generator().manual_seed(2)
    small.uniform(start), large.uniform(start)
    parts = [small.normal(16 * count) for count in runs]
    np.testing.assert_array_equal(np.concatenate(parts), large.normal(16 * sum(runs)))
    np.testing.assert_array_equal(small.get_state(), large.get_state())


@pytest.mark.parametrize("dtype", [F16, F32])
@given(before=st.integers(0, 5100), count=st.integers(16, 400))
def test_small_normals_equal_transforms_of_their_own(dtype: Any, before: int, count: int) -> None:
    generator, other = Generator().manual_seed(3), Generator().manual_seed(3)
    for each in (generator, other):
        each.normal(17)
        each.uniform(before)
    tail = count % 16
    uniforms = other.uniform(count - tail if tail and dtype is F16 else count)
    expected = normal_runs32(uniforms[: count - tail])
    if tail:
        expected = np.concatenate((expected[: count - 16], normal_runs32(other.uniform(16))))
    np.testing.assert_array_equal(generator.normal(count, dtype), expected.astype(dtype))
    np.testing.assert_array_equal(generator.get_state(), other.get_state())


def test_seeding_drops_the_spare_normal() -> None:
    generator = Generator().manual_seed(0)
    first = generator.normal(1)
    generator.manual_seed(0)
    assert generator.normal(1) == first
    generator.set_state(Generator().manual_seed(0).get_state())
    assert generator.normal(1) == first


@pytest.mark.parametrize(
    "duplicate",
    [copy.copy, copy.deepcopy, Generator.clone_state, lambda g: pickle.loads(pickle.dumps(g))],
    ids=["copy", "deepcopy", "clone_state", "pickle"],
)
def test_copies_are_independent(duplicate: Callable[[Generator], Generator]) -> None:
    generator = Generator().manual_seed(0)
    generator.normal(3)
    other = duplicate(generator)
    expected = generator.normal(5).tolist()
    generator.uniform(7)
    assert other.normal(5).tolist() == expected


def test_results_do_not_share_memory_with_the_generator() -> None:
    generator, untouched = Generator().manual_seed(0), Generator().manual_seed(0)
    draws: list[Draw] = [*DRAWS, lambda g: g.randint(0, 9, 4, np.int32), lambda g: g.random(4, np.uint8)]
    for draw in draws:
        draw(generator)[...] = 1
        draw(untouched)
    np.testing.assert_array_equal(generator.normal(32), untouched.normal(32))


@pytest.mark.parametrize(
    ("draw", "one"),
    [
        (lambda g: g.random(5, F64), lambda g: g.random(1, F64)),
        (lambda g: g.normal(5, F64), lambda g: g.normal(1, F64)),
        (lambda g: g.normal(48), lambda g: g.normal(16)),
    ],
    ids=["words", "pairs of normals", "runs of normals"],
)
def test_threads_never_get_the_same_numbers(draw: Draw, one: Draw) -> None:
    generator, alone = Generator().manual_seed(0), Generator().manual_seed(0)
    with ThreadPoolExecutor(4) as pool:
        together = np.concatenate(list(pool.map(lambda _: draw(generator), range(200))))
    expected = np.concatenate([one(alone) for _ in range(len(together) // len(one(Generator())))])
    np.testing.assert_array_equal(np.sort(together), np.sort(expected))


# ---- shapes and distributions ----


@pytest.mark.parametrize("shape", [(), 0, 3, (0, 2), (2, 3), (4, 5, 6)])
def test_shapes_and_dtypes(shape: Any) -> None:
    generator = Generator()
    expected = (shape,) if isinstance(shape, int) else shape
    for dtype in (F16, F32, F64):
        for draw in (
            generator.uniform,
            generator.normal,
            generator.exponential,
            generator.cauchy,
            generator.log_normal,
        ):
            result = draw(shape, dtype)
            assert isinstance(result, np.ndarray)
            assert result.shape == expected
            assert result.dtype == dtype
    assert generator.randint(0, 5, shape, np.int8).shape == expected
    assert generator.bernoulli(0.5, shape, np.bool_).dtype == np.bool_
    assert generator.bernoulli_tensor(np.full(shape, 0.5, F64)).dtype == F64


def test_permutations_and_ranges() -> None:
    generator = Generator().manual_seed(1)
    assert sorted(generator.randperm(1000).tolist()) == list(range(1000))
    assert set(generator.randint(-3, 4, 500).tolist()) == set(range(-3, 4))
    assert set(generator.bernoulli(0, 50).tolist()) == {0.0}
    assert set(generator.bernoulli(1, 50).tolist()) == {1.0}
    assert (generator.uniform(10**5, F16) < 1).all()
    chosen = generator.multinomial(np.array([0, 1, 0, 2], F32), 200, replacement=True)
    assert set(chosen.tolist()) == {1, 3}
    assert sorted(generator.multinomial(np.ones((50, 4)), 4).reshape(-1).tolist()) == sorted([0, 1, 2, 3] * 50)


# ---- errors ----

NAN, INF = math.nan, math.inf
ERRORS: list[tuple[Draw, type[Exception], str]] = [
    (lambda g: Generator("cuda"), RuntimeError, "cpu"),
    (lambda g: g.manual_seed(cast(Any, 1.5)), RuntimeError, "manual_seed expected a long, but got float"),
    (lambda g: g.manual_seed(cast(Any, NAN)), RuntimeError, "manual_seed expected a long, but got float"),
    (lambda g: g.manual_seed(True), RuntimeError, "manual_seed expected a long, but got bool"),
    (lambda g: g.manual_seed(2**64), ValueError, "Overflow when unpacking long"),
    (lambda g: g.manual_seed(-(2**63) - 1), ValueError, "Overflow when unpacking long"),
    (lambda g: _random.manual_seed(NAN), ValueError, "cannot convert float NaN to integer"),
    (lambda g: _random.manual_seed(2**64), ValueError, "Overflow when unpacking long"),
    (lambda g: g.set_state(cast(Any, 5)), TypeError, "expected a torch.ByteTensor, but got int"),
    (
        lambda g: g.set_state(minitorch.from_numpy(np.zeros(5056, np.int8))),
        TypeError,
        "RNG state must be a torch.ByteTensor",
    ),
    (
        lambda g: g.set_state(minitorch.from_numpy(np.zeros(100, np.uint8))),
        RuntimeError,
        "(?i)state of size 5056 but found .* 100",
    ),
    (lambda g: g.set_state(minitorch.from_numpy(np.zeros(5056, np.uint8))), RuntimeError, "Invalid mt19937 state"),
    (lambda g: g.uniform(-1), RuntimeError, r"negative dimension -1: \[-1\]"),
    (lambda g: g.uniform(3, np.int64), NotImplementedError, "check_uniform_bounds"),
    (lambda g: g.uniform(3, F32, 2, 1), RuntimeError, "found from=2 > to=1"),
    (lambda g: g.uniform(0, F32, 2, 1), RuntimeError, "found from=2 > to=1"),
    (lambda g: g.uniform(3, F32, NAN, 1), RuntimeError, "from is out of bounds for float32"),
    (lambda g: g.uniform(3, F32, 0, 1e39), RuntimeError, "to is out of bounds for float32"),
    (lambda g: g.uniform(3, F32, -3e38, 3e38), RuntimeError, "exceed the limit"),
    (lambda g: g.normal((2, -3)), RuntimeError, r"negative dimension -3: \[2, -3\]"),
    (lambda g: g.normal(3, np.int32), NotImplementedError, "normal_kernel_cpu"),
    (lambda g: g.normal(3, F32, 0, -1), RuntimeError, "expects std >= 0.0, but found std -1"),
    (lambda g: g.normal(0, F32, 0, NAN), RuntimeError, "expects std >= 0.0, but found std nan"),
    (lambda g: g.log_normal(3, F32, 0, 0), RuntimeError, "expects std > 0.0, but found std=0"),
    (lambda g: g.log_normal(3, np.int64), NotImplementedError, "log_normal_cpu"),
    (lambda g: g.exponential(3, F32, 0), RuntimeError, "expects lambda > 0.0, but found lambda=0"),
    (lambda g: g.exponential(3, np.int64), RuntimeError, "continuous probability distribution"),
    (lambda g: g.cauchy(3, F32, 0, -1), RuntimeError, "expects sigma > 0.0, but found sigma=-1"),
    (lambda g: g.cauchy(3, np.int64), RuntimeError, "continuous probability distribution"),
    (lambda g: g.geometric(3, F32, 1), RuntimeError, r"p to be in \(0, 1\), but got p=1"),
    (lambda g: g.geometric(3, np.bool_, 0.5), NotImplementedError, "geometric_cpu"),
    (lambda g: g.bernoulli(1.1, 3), RuntimeError, r"p to be in \[0, 1\], but got p=1.1"),
    (lambda g: g.bernoulli(NAN, 3), RuntimeError, r"p to be in \[0, 1\], but got p=nan"),
    (lambda g: g.bernoulli_tensor(np.array([1.5])), RuntimeError, "Expected p_in >= 0 && p_in <= 1"),
    (lambda g: g.bernoulli_tensor(np.array([NAN])), RuntimeError, "Expected p_in >= 0 && p_in <= 1"),
    (lambda g: g.bernoulli_tensor(np.array([1])), NotImplementedError, "bernoulli_tensor_cpu_p_"),
    (lambda g: g.random(3, np.uint16), NotImplementedError, "random_kernel_cpu"),
    (lambda g: g.randint(5, 5, 2), RuntimeError, "from=5 >= to=5"),
    (lambda g: g.randint(5, 3, 0), RuntimeError, "from=5 >= to=3"),
    (lambda g: g.randint(0, 2**63, 2), ValueError, "Overflow when unpacking long"),
    (lambda g: g.randint(0, 300, 2, np.uint8), RuntimeError, "to - 1 is out of bounds for uint8"),
    (lambda g: g.randint(-1, 25, 2, np.uint8), RuntimeError, "from is out of bounds for uint8"),
    (lambda g: g.randint(0, 3, 2, np.bool_), RuntimeError, "to - 1 is out of bounds for bool"),
    (lambda g: g.randint(0, 70000, 2, F16), RuntimeError, "to - 1 is out of bounds for float16"),
    (lambda g: g.randint(2**25 + 1, 2**25 + 2, 2, F32), RuntimeError, "'from' casted to dtype to be less than 'to'"),
    (lambda g: g.randint(0, 9, 2, np.complex64), RuntimeError, "check_random_bounds"),
    (lambda g: g.randperm(-1), RuntimeError, r"negative dimension -1: \[-1\]"),
    (lambda g: g.randperm(257, np.uint8), RuntimeError, "cannot be converted to type uint8"),
    (lambda g: g.randperm(2050, F16), RuntimeError, "n cannot be greater than 2049"),
    (lambda g: g.randperm(5, np.bool_), NotImplementedError, '"randperm" not implemented'),
    (lambda g: g.multinomial(WEIGHTS, 4), RuntimeError, "without replacement"),
    (lambda g: g.multinomial(WEIGHTS, 0), RuntimeError, "cannot sample n_sample <= 0"),
    (lambda g: g.multinomial(-WEIGHTS, 1), RuntimeError, "inf`, `nan` or element < 0"),
    (lambda g: g.multinomial(WEIGHTS * INF, 1, True), RuntimeError, "inf`, `nan` or element < 0"),
    (lambda g: g.multinomial(WEIGHTS * 0, 1), RuntimeError, "sum of probabilities <= 0"),
    (lambda g: g.multinomial(np.array([1, 2]), 1), RuntimeError, "only supports floating-point dtypes"),
    (lambda g: g.multinomial(np.ones((2, 3, 4)), 1), RuntimeError, "prob_dist must be 1 or 2 dim"),
]


@pytest.mark.parametrize(("draw", "error", "message"), ERRORS)
def test_errors_leave_the_stream_alone(draw: Draw, error: type[Exception], message: str) -> None:
    generator = Generator().manual_seed(0)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*is out of bounds", category=UserWarning)
        with pytest.raises(error, match=message):
            draw(generator)
    np.testing.assert_array_equal(generator.get_state(), Generator().manual_seed(0).get_state())


def test_randint_warns_where_a_float_dtype_has_gaps() -> None:
    with pytest.warns(UserWarning, match=r"to - 1 is out of bounds \[-\(2\^24\), 2\^24\]"):
        result = Generator().manual_seed(0).randint(0, 2**25, 100, F32)
    assert (result < 2**25).all()


# ---- PyTorch itself ----

INTEGERS: list[Any] = [np.int64, np.int32, np.int16, np.int8, np.uint8]
FLOATS: list[Any] = [F16, F32, F64]


class _Pair:
    """The same draw by a generator of ours and one of PyTorch's, with random arguments."""

    def __init__(self, torch: Any, seed: int) -> None:
        self.torch, self.choose = torch, random.Random(seed)
        seed = self.choose.choice([seed, self.choose.randrange(2**64), -self.choose.randrange(2**63)])
        self.ours, self.theirs = Generator().manual_seed(seed), torch.Generator().manual_seed(seed)
        self.names = sorted(name for name in dir(self) if name.startswith("draw_"))

    def empty(self, count: int, dtype: Any) -> Any:
        return self.torch.empty(count, dtype=getattr(self.torch, np.dtype(dtype).name))

    def draw(self, name: str, count: int) -> None:
        ours, theirs = getattr(self, name)(count)
        np.testing.assert_array_equal(ours, theirs.numpy(), err_msg=name, strict=True)
        np.testing.assert_array_equal(self.ours.get_state(), self.theirs.get_state().numpy(), err_msg=name)

    def exchange_states(self) -> None:
        ours, theirs = self.ours.get_state(), self.theirs.get_state()
        self.ours, self.theirs = Generator().set_state(minitorch.from_numpy(theirs.numpy())), self.torch.Generator()
        self.theirs.set_state(self.torch.from_numpy(ours.numpy()))

    def _scale(self) -> tuple[float, float]:
        uniform = self.choose.uniform
        return self.choose.choice([(0.0, 1.0), (uniform(-2, 2), 1.0), (0.0, uniform(0.1, 2)), (uniform(-2, 2), 1.77)])

    def draw_uniform(self, count: int) -> Any:
        dtype, (low, width) = self.choose.choice(FLOATS), self._scale()
        high = low + width * self.choose.choice([1, 1, 1e-3])
        return self.ours.uniform(count, dtype, low, high), self.empty(count, dtype).uniform_(
            low, high, generator=self.theirs
        )

    def draw_normal(self, count: int) -> Any:
        dtype, scale = self.choose.choice(FLOATS), self._scale()
        return self.ours.normal(count, dtype, *scale), self.empty(count, dtype).normal_(*scale, generator=self.theirs)

    def draw_strided_normal(self, count: int) -> Any:
        target = self.empty(2 * count + 4, F32)[: 2 * count + 4 : 2]
        return self.ours.normal(count + 2, contiguous=False), target.normal_(generator=self.theirs)

    def draw_log_normal(self, count: int) -> Any:
        dtype, scale = self.choose.choice(FLOATS), self._scale()
        return self.ours.log_normal(count, dtype, *scale), self.empty(count, dtype).log_normal_(
            *scale, generator=self.theirs
        )

    def draw_cauchy(self, count: int) -> Any:
        dtype, scale = self.choose.choice(FLOATS), self._scale()
        return self.ours.cauchy(count, dtype, *scale), self.empty(count, dtype).cauchy_(*scale, generator=self.theirs)

    def draw_exponential(self, count: int) -> Any:
        dtype, rate = self.choose.choice(FLOATS), self._scale()[1]
        return self.ours.exponential(count, dtype, rate), self.empty(count, dtype).exponential_(
            rate, generator=self.theirs
        )

    def draw_geometric(self, count: int) -> Any:
        dtype, p = self.choose.choice(FLOATS + INTEGERS), self.choose.uniform(0.01, 0.99)
        return self.ours.geometric(count, dtype, p), self.empty(count, dtype).geometric_(p, generator=self.theirs)

    def draw_bernoulli(self, count: int) -> Any:
        dtype, p = self.choose.choice([*FLOATS, *INTEGERS, np.bool_]), self.choose.choice([0, 1, self.choose.random()])
        return self.ours.bernoulli(p, count, dtype), self.empty(count, dtype).bernoulli_(p, generator=self.theirs)

    def draw_bernoulli_tensor(self, count: int) -> Any:
        p = np.linspace(0, 1, count).astype(self.choose.choice(FLOATS))
        return self.ours.bernoulli_tensor(p), self.torch.bernoulli(self.torch.from_numpy(p), generator=self.theirs)

    def draw_random(self, count: int) -> Any:
        dtype = self.choose.choice([*FLOATS, *INTEGERS, np.bool_])
        return self.ours.random(count, dtype), self.empty(count, dtype).random_(generator=self.theirs)

    def draw_integers(self, count: int) -> Any:
        dtype = self.choose.choice(INTEGERS)
        limits = np.iinfo(dtype)
        low, last = sorted(self.choose.randrange(int(limits.min), int(limits.max)) for _ in range(2))
        high = self.choose.choice([last + 1, min(low + 10, last + 1), None])
        return self.ours.randint(low, high, count, dtype), self.empty(count, dtype).random_(
            low, high, generator=self.theirs
        )

    def draw_integers_as_floats(self, count: int) -> Any:
        dtype = self.choose.choice(FLOATS)
        limit = 2 ** self.choose.randrange(3, {F16: 15, F32: 40, F64: 62}[dtype])
        low, last = sorted(self.choose.randrange(-limit, limit) for _ in range(2))
        ours = self.ours.randint(low, last + 1, count, dtype)
        return ours, self.empty(count, dtype).random_(low, last + 1, generator=self.theirs)

    def draw_randperm(self, count: int) -> Any:
        return self.ours.randperm(count), self.torch.randperm(count, generator=self.theirs)

    def draw_multinomial(self, count: int) -> Any:
        # float16 scores tie, and PyTorch leaves the order of ties open
        weights = np.random.default_rng(count).random((self.choose.randrange(1, 4), count % 500 + 1))
        weights = weights.astype(self.choose.choice([F32, F64])) + 0.01
        replacement, n = self.choose.choice([(False, 1), (False, weights.shape[1]), (True, 50)])
        theirs = self.torch.multinomial(self.torch.from_numpy(weights), n, replacement, generator=self.theirs)
        return self.ours.multinomial(weights, n, replacement), theirs


SIZES = [*range(101), 623, 624, 625, 1248, 3000]


@pytest.mark.parametrize("seed", range(40))
def test_interleaved_draws_equal_pytorchs(seed: int) -> None:
    pair = _Pair(_pytorch(), seed)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*is out of bounds", category=UserWarning)
        for step in range(40):
            pair.draw(pair.choose.choice(pair.names), pair.choose.choice(SIZES))
            if step % 9 == 8:
                pair.exchange_states()
            if step % 17 == 16:
                pair.ours.manual_seed(step), pair.theirs.manual_seed(step)


@pytest.mark.parametrize("name", [name for name in vars(_Pair) if name.startswith("draw_")])
def test_large_draws_equal_pytorchs(name: str) -> None:
    pair = _Pair(_pytorch(), 5)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*is out of bounds", category=UserWarning)
        for count in (10**5, 10**5 + 7):
            pair.draw(name, count)


def _pytorch() -> Any:
    """PyTorch, where every bit is comparable: it fuses products and sums, and NumPy's functions are the C library's."""
    torch = pytest.importorskip("torch")
    if torch.backends.cpu.get_cpu_capability() not in ("AVX2", "AVX512"):
        pytest.skip("PyTorch's last bits differ on processors without AVX2")
    points = np.random.default_rng(0).random(2000)
    for name in ("log", "log1p", "exp", "sin", "cos", "tan"):
        if getattr(np, name)(points).tolist() != [getattr(math, name)(point) for point in points.tolist()]:
            pytest.skip(f"this NumPy computes {name} of float64 by other means than the C library")
    return torch


def test_the_module_of_random_streams_is_imported_by_its_name() -> None:
    module = importlib.import_module("minitorch.random")
    assert module is minitorch.random
    module.manual_seed(3)
    first = minitorch.rand(2)
    with module.fork_rng():
        minitorch.rand(5)
    second = minitorch.rand(2)
    module.default_generator.manual_seed(3)
    assert minitorch.equal(minitorch.rand(2), first)
    assert minitorch.equal(minitorch.rand(2), second)
    assert module.initial_seed() == 3
