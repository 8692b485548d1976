"""Random tensors by the public functions: the values of PyTorch 2.13's CPU generator, arguments, errors."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch as torch

Call = Callable[[Any], Any]

# The first values after manual_seed(0).
STREAMS: dict[str, tuple[Call, list[float]]] = {
    "rand": (lambda t: t.rand(4), [0.49625658988952637, 0.7682217955589294, 0.08847743272781372, 0.13203048706054688]),
    "rand, float64": (
        lambda t: t.rand(3, dtype=t.float64),
        [0.9700530018065531, 0.707819864399788, 0.45938294312745087],
    ),
    "randn": (
        lambda t: t.randn(5),
        [1.5409960746765137, -0.293428897857666, -2.1787893772125244, 0.5684312582015991, -1.0845223665237427],
    ),
    "randn of 16": (
        lambda t: t.randn(16),
        [-1.1258398294448853, -1.152360200881958, -0.2505785822868347, -0.4338788092136383, 0.8487103581428528],
    ),
    "randn of 20": (
        lambda t: t.randn(4, 5).view(20),
        [-1.1258398294448853, -1.152360200881958, -0.2505785822868347, -0.4338788092136383, 0.5988394618034363],
    ),
    "randn, float64": (
        lambda t: t.randn(3, dtype=t.float64),
        [1.5409961082440433, -0.2934289057609464, -2.1787893820745574],
    ),
    "randn, float64, of 16": (
        lambda t: t.randn(16, dtype=t.float64),
        [-2.310411800234176, -0.3732508612577643, -1.0608166785462863, 0.9995093547811761],
    ),
    "randint": (lambda t: t.randint(100, (6,)), [44, 39, 33, 60, 63, 79]),
    "randint, large": (lambda t: t.randint(2**40, (3,)), [741280623151, 506137267392, 291447657211]),
    "randperm": (lambda t: t.randperm(10), [4, 1, 7, 5, 3, 9, 0, 8, 6, 2]),
    "bernoulli_": (lambda t: t.empty(8).bernoulli_(0.3), [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0]),
    "bernoulli": (lambda t: t.bernoulli(t.full((8,), 0.3)), [0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0]),
    "exponential_": (lambda t: t.empty(3).exponential_(), [3.508326292037964, 1.2303847074508667, 0.615044116973877]),
    "uniform_": (
        lambda t: t.empty(3).uniform_(-1, 1),
        [-0.007486820220947266, 0.5364435911178589, -0.8230451345443726],
    ),
    "normal_": (lambda t: t.empty(3).normal_(1, 2), [4.081992149353027, 0.4131421744823456, -3.357578754425049]),
    "normal_ of 17": (
        lambda t: t.empty(17).normal_(1, 2),
        [-1.2516796588897705, -2.391862392425537, 2.133301258087158],
    ),
    "normal": (lambda t: t.normal(1.0, 2.0, (3,)), [4.081992149353027, 0.4131421744823456, -3.357578754425049]),
    "normal of tensors": (
        lambda t: t.normal(t.tensor([1.0, 1.0]), t.tensor([2.0, 2.0])),
        [4.081992149353027, 0.413142204284668],
    ),
    "multinomial": (lambda t: t.multinomial(t.tensor([0.1, 0.2, 0.7]), 1), [2]),
    "cauchy_": (lambda t: t.empty(3).cauchy_(), [10.597729682922363, 0.7647672891616821, -0.12829934060573578]),
    "log_normal_": (lambda t: t.empty(3).log_normal_(), [59.2634162902832, 1.5115599632263184, 0.03481946140527725]),
    "geometric_": (lambda t: t.empty(3).geometric_(0.3), [1.0, 1.0, 3.0]),
    "random_": (
        lambda t: t.zeros(3, dtype=t.int64).random_(),
        [900450186894289455, 3969543146641149120, 1895649597198586619],
    ),
    "normal_, transposed": (
        lambda t: t.empty(2, 3).mT.normal_()[:, 0],
        [1.5409960746765137, -0.293428897857666, -2.1787893772125244],
    ),
}


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(0)


@pytest.mark.parametrize("name", STREAMS)
def test_streams(name: str) -> None:
    call, values = STREAMS[name]
    np.testing.assert_allclose(call(torch).tolist()[: len(values)], values, rtol=3e-7)


def test_a_spare_normal_number_is_kept_for_the_next_draw() -> None:
    torch.randn(5)
    assert torch.randn(5).tolist()[:2] == [-1.3985954523086548, 0.40334683656692505]


class TestGenerator:
    def test_a_generator_of_its_own(self) -> None:
        generator = torch.Generator().manual_seed(42)
        assert torch.rand(3, generator=generator).tolist() == [
            0.8822692632675171,
            0.9150039553642273,
            0.38286375999450684,
        ]
        assert torch.randperm(5, generator=generator).tolist() == [4, 3, 0, 1, 2]
        assert generator.device == torch.device("cpu")

    def test_seeds(self) -> None:
        assert torch.manual_seed(-1).initial_seed() == 2**64 - 1
        assert torch.rand(2).tolist() == [0.9937993884086609, 0.5713063478469849]
        assert torch.manual_seed(torch.tensor(3)) is torch.default_generator
        assert torch.initial_seed() == 3
        assert torch.seed() == torch.initial_seed()
        with pytest.raises(ValueError, match="Overflow"):
            torch.manual_seed(2**64)

    def test_states(self) -> None:
        state = torch.get_rng_state()
        assert state.shape == (5056,)
        assert state.dtype is torch.uint8
        first = torch.randn(3).tolist()
        torch.set_rng_state(state)
        assert torch.randn(3).tolist() == first
        with torch.random.fork_rng():
            expected = torch.rand(2).tolist()
        assert torch.rand(2).tolist() == expected

    def test_states_that_are_none(self) -> None:
        with pytest.raises(TypeError, match="ByteTensor, but got list"):
            torch.set_rng_state([1])
        with pytest.raises(TypeError, match="must be a"):
            torch.set_rng_state(torch.zeros(5056))
        with pytest.raises(RuntimeError, match="size 5056"):
            torch.set_rng_state(torch.zeros(3, dtype=torch.uint8))

    def test_other_devices_are_refused(self) -> None:
        with pytest.raises(RuntimeError, match="cpu"):
            torch.Generator("cuda")

    def test_threads_never_draw_the_same_numbers(self) -> None:
        drawn: list[float] = []
        threads = [threading.Thread(target=lambda: drawn.extend(torch.rand(100).tolist())) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        torch.manual_seed(0)
        assert sorted(drawn) == sorted(torch.rand(400).tolist())


class TestFactories:
    def test_options(self) -> None:
        x = torch.rand(2, 3, dtype=torch.float64, requires_grad=True, device="cpu", layout=torch.strided)
        assert (x.shape, x.dtype, x.requires_grad, x.is_leaf) == ((2, 3), torch.float64, True, True)
        out = torch.empty(0)
        assert torch.randn(2, out=out) is out
        assert out.shape == (2,)

    @pytest.mark.parametrize(
        "call",
        [
            lambda: torch.randint(2, 5, (4,)),
            lambda: torch.randint(low=2, high=5, size=(4,)),
            lambda: torch.randint(2, high=5, size=(4,)),
            lambda: torch.randint(2, 5, size=[4]),
        ],
    )
    def test_forms_of_randint(self, call: Callable[[], torch.Tensor]) -> None:
        assert call().tolist() == [4, 2, 4, 2]

    def test_dtypes_of_integers(self) -> None:
        assert torch.randint(5, (2,), dtype=torch.float32).dtype is torch.float32
        assert torch.randint(2, (2,), dtype=torch.bool).dtype is torch.bool
        assert torch.randperm(3, dtype=torch.int32).dtype is torch.int32
        assert torch.randint_like(torch.zeros(2), 2, 5).dtype is torch.float32

    @pytest.mark.parametrize(
        ("call", "error", "message"),
        [
            (lambda: torch.rand(), TypeError, "size"),
            (lambda: torch.rand(2.5), TypeError, "tuple of ints"),
            (lambda: torch.rand(-2), RuntimeError, "negative dimension -2"),
            (lambda: torch.rand(2, dtype=torch.int64), NotImplementedError, "not implemented for int64"),
            (lambda: torch.rand(2, generator=3), TypeError, "'generator' must be torch.Generator, not int"),
            (lambda: torch.randint(5, 2), TypeError, "size"),
            (lambda: torch.randint(2.5, (2,)), TypeError, "must be int, not float"),
            (lambda: torch.randint(5, 3, (2,)), RuntimeError, "from=5 >= to=3"),
            (lambda: torch.randint(0, 300, (2,), dtype=torch.uint8), RuntimeError, "out of bounds"),
            (lambda: torch.randint(5, (2,), requires_grad=True), RuntimeError, "Only Tensors of floating point"),
            (lambda: torch.randperm(-1), RuntimeError, "negative dimension"),
            (lambda: torch.normal(0.0, 1.0), TypeError, "size"),
            (lambda: torch.normal(0.0, -1.0, (2,)), RuntimeError, "std >= 0.0"),
            (lambda: torch.normal(torch.zeros(2), -torch.ones(2)), RuntimeError, "std >= 0.0"),
            (lambda: torch.bernoulli(torch.ones(2) * 2), RuntimeError, "probabilities must be in"),
            (lambda: torch.multinomial(torch.ones(3), 5), RuntimeError, "without replacement"),
            (lambda: torch.multinomial(torch.ones(3), 2.5), TypeError, "must be int"),
            (lambda: torch.empty(3).geometric_(2), RuntimeError, "p to be in"),
            (lambda: torch.empty(3).random_(5, 2), RuntimeError, "from=5 >= to=2"),
            (lambda: torch.empty(3).random_(1, 2, 3), TypeError, "from, to"),
            (lambda: torch.empty(3).uniform_(a=1), TypeError, "unexpected keyword argument 'a'"),
            (lambda: torch.empty(3).bernoulli_(torch.ones(2)), RuntimeError, "size of tensor a"),
        ],
    )
    def test_errors(self, call: Callable[[], Any], error: type[Exception], message: str) -> None:
        with pytest.raises(error, match=message):
            call()


class TestInPlace:
    def test_they_return_the_tensor_and_count_as_edits(self) -> None:
        x = torch.zeros(3)
        assert x.uniform_() is x
        assert x._version == 1

    def test_the_keyword_from(self) -> None:
        assert torch.empty(2).random_(**{"from": 1, "to": 2}).tolist() == [1.0, 1.0]
        assert torch.empty(2).uniform_(**{"from": 3.0, "to": 3.0}).tolist() == [3.0, 3.0]
        assert torch.empty(2).random_(to=1).tolist() == [0.0, 0.0]

    def test_what_was_there_before_gets_no_gradient(self) -> None:
        x = torch.ones(3, requires_grad=True)
        y = x * 2
        y.normal_()
        assert y.grad_fn.name() == "NormalBackward0"
        (y * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
        assert x.grad.tolist() == [0.0, 0.0, 0.0]

    def test_a_parameter_is_filled_under_no_grad(self) -> None:
        x = torch.ones(3, requires_grad=True)
        with pytest.raises(RuntimeError, match="leaf Variable"):
            x.uniform_()
        with torch.no_grad():
            x.uniform_()
        assert x.is_leaf
        assert x.requires_grad
        assert x.tolist() == torch.rand(3, generator=torch.Generator().manual_seed(0)).tolist()

    def test_a_view(self) -> None:
        x = torch.zeros(2, 3)
        x[0].uniform_(1, 1)
        x[1].bernoulli_(1)
        assert x.tolist() == [[1.0] * 3] * 2


COMPARED: list[Call] = [call for call, _ in STREAMS.values()] + [
    lambda t: t.rand(size=(2, 3)),
    lambda t: t.rand(3, dtype=t.float16),
    lambda t: t.randn(7, 9, dtype=t.float16),
    lambda t: t.empty(4, 5).mT.uniform_(),
    lambda t: t.empty(4, 5).mT.normal_(),
    lambda t: t.zeros(6, 8)[::2].normal_(),
    lambda t: t.zeros(4, 6).mT.bernoulli_(t.full((6, 4), 0.4)),
    lambda t: t.zeros(4, dtype=t.float64).bernoulli_(t.full((4,), 0.4)),
    lambda t: t.zeros(2, 3).bernoulli_(t.full((3,), 0.4)),
    lambda t: t.zeros(3, 5).cauchy_(1, 2),
    lambda t: t.zeros(3, 5, dtype=t.int64).geometric_(0.3),
    lambda t: t.zeros(3, 5).random_(-5, 5),
    lambda t: t.normal(t.arange(20.0), t.arange(20.0) + 1),
    lambda t: t.normal(t.arange(20.0), 2.5),
    lambda t: t.normal(1.5, t.arange(20.0)),
    lambda t: t.normal(t.zeros(3, 1), t.ones(4)),
    lambda t: t.normal(t.arange(20.0), t.ones(20, dtype=t.float64) * 3),
    lambda t: t.rand_like(t.zeros(4, 5).mT),
    lambda t: t.randn_like(t.zeros(4, 5).mT),
    lambda t: t.randint_like(t.zeros(4, 5), 3, 30),
    lambda t: t.rand_like(t.zeros(2, dtype=t.int64), dtype=t.float64),
    lambda t: t.multinomial((t.arange(20.0) + 1).view(4, 5).mT, 2),
    lambda t: t.multinomial(t.arange(20.0), 40, replacement=True),
    lambda t: t.bernoulli(t.zeros(3), p=0.5),
]


@pytest.mark.parametrize("call", COMPARED)
def test_values_and_state_equal_pytorch(call: Call) -> None:
    pytorch = pytest.importorskip("torch")
    pytorch.manual_seed(0)
    ours, theirs = call(torch), call(pytorch)
    assert str(ours.dtype) == str(theirs.dtype)
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-6, atol=1e-7)
    np.testing.assert_array_equal(torch.get_rng_state().numpy(), pytorch.get_rng_state().numpy())
