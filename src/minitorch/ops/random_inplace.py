"""In-place draws: tensors filled with random numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _random, _runtime
from .._args import real
from .._errors import broadcast_problem
from .._inplace import write
from .._modes import observers
from .._op import op
from .._random import Generator, memory_order
from .._random import in_memory_order as filled

if TYPE_CHECKING:
    from .._tensor import Tensor


def source(name: str, generator: Any) -> Generator:
    """The generator that is given, or the default one; observers are told that it is about to draw."""
    if generator is None:
        return _random.default_generator
    if not isinstance(generator, Generator):
        raise TypeError(f"{name}(): argument 'generator' must be torch.Generator, not {type(generator).__name__}")
    for observer in observers:
        if observer.active():
            observer.drawing(generator)
    return generator


def drawing(name: str, node_name: str, kernel: Callable[..., np.ndarray]) -> Any:
    """A row that replaces values: its input gets no gradient."""
    return op(name, node_name, kernel, ("self",), tangent="formulas", self=lambda F, g: F.zeros_like(g))


_uniform = drawing(
    "uniform", "UniformBackward0",
    lambda self, *, low, high, generator: filled(self, lambda shape: generator.uniform(shape, self.dtype, low, high)),
)  # fmt: skip
_normal = drawing(
    "normal_", "NormalBackward0",
    lambda self, *, mean, std, generator: filled(self, lambda shape: normals(self, generator, shape, mean, std)),
)  # fmt: skip
_random_any = drawing(
    "random", "RandomBackward2",
    lambda self, *, generator: filled(self, lambda shape: generator.random(shape, self.dtype)),
)  # fmt: skip
_random_below = drawing(
    "random_below", "RandomBackward1",
    lambda self, *, high, generator: filled(self, lambda shape: generator.randint(0, high, shape, self.dtype)),
)  # fmt: skip
_random_between = drawing(
    "random_between", "RandomBackward0",
    lambda self, *, low, high, generator: filled(self, lambda shape: generator.randint(low, high, shape, self.dtype)),
)  # fmt: skip
_bernoulli_number = drawing(
    "bernoulli_number", "BernoulliBackward2",
    lambda self, *, p, generator: filled(self, lambda shape: generator.bernoulli(p, shape, self.dtype)),
)  # fmt: skip
_exponential = drawing(
    "exponential", "ExponentialBackward0",
    lambda self, *, lambd, generator: filled(self, lambda shape: generator.exponential(shape, self.dtype, lambd)),
)  # fmt: skip
_cauchy = drawing(
    "cauchy", "CauchyBackward0",
    lambda self, *, median, sigma, generator: filled(
        self, lambda shape: generator.cauchy(shape, self.dtype, median, sigma)
    ),
)  # fmt: skip
_log_normal = drawing(
    "log_normal", "LogNormalBackward0",
    lambda self, *, mean, std, generator: filled(
        self, lambda shape: generator.log_normal(shape, self.dtype, mean, std)
    ),
)  # fmt: skip
_geometric = drawing(
    "geometric", "GeometricBackward0",
    lambda self, *, p, generator: filled(self, lambda shape: generator.geometric(shape, self.dtype, p)),
)  # fmt: skip


def normals(array: np.ndarray, generator: Generator, shape: tuple[int, ...], mean: float, std: float) -> np.ndarray:
    """Normal numbers for an array that need not be contiguous."""
    return generator.normal(shape, array.dtype, mean, std, array.flags.c_contiguous)


def _bernoulli_tensor_kernel(self: np.ndarray, p: np.ndarray, *, generator: Generator) -> np.ndarray:
    try:
        p = np.broadcast_to(p, self.shape)
    except ValueError:
        raise RuntimeError(broadcast_problem([self.shape, p.shape])) from None
    order = memory_order(self)
    return generator.bernoulli_tensor(p.transpose(order), self.dtype).transpose(np.argsort(order))


_bernoulli_tensor = op("bernoulli_tensor", "BernoulliBackward1", _bernoulli_tensor_kernel, ("self", "p"), tangent="formulas",
                       self=lambda F, g: F.zeros_like(g),
                       p=lambda F, g, p: F.zeros_like(p))  # fmt: skip


def _start(name: str, given: Any, keywords: dict[str, Any]) -> Any:
    """The argument that PyTorch calls ``from``, which Python's syntax takes as a keyword only in ``**``."""
    given = keywords.pop("from", given)
    if keywords:
        raise TypeError(f"{name}() got an unexpected keyword argument '{next(iter(keywords))}'")
    return given


def _numbers(name: str, generator: Any, **numbers: Any) -> dict[str, Any]:
    """The parameters of a draw: numbers, and where they come from."""
    return {
        **{argument: real(given, argument) for argument, given in numbers.items()},
        "generator": source(name, generator),
    }


def uniform_(
    input: Tensor, from_: float = 0.0, to: float = 1.0, *, generator: Generator | None = None, **keywords: float
) -> Tensor:
    """Fill with numbers spread evenly over [from, to).

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.empty(2).uniform_(-1, 1, generator=torch.Generator().manual_seed(0))
    tensor([-0.0075,  0.5364])
    """
    low = _start("uniform_", from_, keywords)
    return write(
        input,
        _uniform,
        (),
        {"low": real(low, "from"), "high": real(to, "to"), "generator": source("uniform_", generator)},
    )


def normal_(input: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Fill with normally distributed numbers.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.empty(2).normal_(generator=torch.Generator().manual_seed(0))
    tensor([ 1.5410, -0.2934])
    """
    return write(input, _normal, (), _numbers("normal_", generator, mean=mean, std=std))


def random_(input: Tensor, *bounds: int | None, generator: Generator | None = None, **keywords: int | None) -> Tensor:
    """Fill with integers: ``random_()`` all that the dtype has, ``random_(to)`` or ``random_(from, to)`` below *to*.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.zeros(3, dtype=torch.int64).random_(100, generator=torch.Generator().manual_seed(0))
    tensor([44, 39, 33])
    """
    words, given = source("random_", generator), list(bounds)
    has_end = "to" in keywords or bool(given)
    high = keywords.pop("to") if "to" in keywords else given.pop() if given else None
    low = _start("random_", given.pop() if given else None, keywords)
    if given:
        raise TypeError(f"random_(): expected (), (to) or (from, to), but got {bounds}")
    if low is not None:
        return write(input, _random_between, (), {"low": low, "high": high, "generator": words})
    if has_end:
        return write(input, _random_below, (), {"high": high, "generator": words})
    return write(input, _random_any, (), {"generator": words})


def bernoulli_(input: Tensor, p: float | Tensor = 0.5, *, generator: Generator | None = None) -> Tensor:
    """Fill with ones of probability *p*, else zeros; *p* may be a tensor that broadcasts to this one.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.empty(2).bernoulli_(1)
    tensor([1., 1.])
    """
    words = source("bernoulli_", generator)
    if isinstance(p, _runtime.Tensor):
        return write(input, _bernoulli_tensor, (p,), {"generator": words})
    return write(input, _bernoulli_number, (), {"p": real(p, "p"), "generator": words})


def exponential_(input: Tensor, lambd: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Fill with exponentially distributed numbers of mean ``1 / lambd``.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.empty(2).exponential_(generator=torch.Generator().manual_seed(0))
    tensor([3.5083, 1.2304])
    """
    return write(input, _exponential, (), _numbers("exponential_", generator, lambd=lambd))


def cauchy_(input: Tensor, median: float = 0.0, sigma: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Fill with Cauchy distributed numbers.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.empty(2).cauchy_(generator=torch.Generator().manual_seed(0))
    tensor([10.5977,  0.7648])
    """
    return write(input, _cauchy, (), _numbers("cauchy_", generator, median=median, sigma=sigma))


def log_normal_(input: Tensor, mean: float = 1.0, std: float = 2.0, *, generator: Generator | None = None) -> Tensor:
    """Fill with numbers whose logarithms are normally distributed with this mean and deviation.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.empty(2).log_normal_(generator=torch.Generator().manual_seed(0))
    tensor([59.2634,  1.5116])
    """
    return write(input, _log_normal, (), _numbers("log_normal_", generator, mean=mean, std=std))


def geometric_(input: Tensor, p: float, *, generator: Generator | None = None) -> Tensor:
    """Fill with how many trials the first success takes, each of probability *p*.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.empty(3).geometric_(0.3, generator=torch.Generator().manual_seed(0))
    tensor([1., 1., 3.])
    """
    return write(input, _geometric, (), _numbers("geometric_", generator, p=p))
