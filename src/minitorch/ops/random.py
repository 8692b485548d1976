"""Random tensors; streams equal those of PyTorch's CPU generator."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _dtypes, _random, _runtime
from .._args import array_of, flag
from .._choices import choice
from .._modes import observers
from .._op import op
from .._random import Generator, in_memory_order, initial_seed, manual_seed, seed
from .._records import show
from .._runtime import deliver, made
from .._value_notes import note_severed
from .creation import Options, like, made_by, required_size, shape_of
from .random_inplace import drawing, normals, source

if TYPE_CHECKING:
    from typing import Unpack

    from .._device import memory_format as MemoryFormat
    from .._tensor import Tensor
    from .creation import Sizes

__all__ = ["Generator", "initial_seed", "manual_seed", "seed"]


# -- the generator -----------------------------------------------------------------------------------------------------
def get_rng_state() -> Tensor:
    """The state of the default generator, as a uint8 tensor.

    Examples
    --------
    >>> import minitorch as torch
    >>> state = torch.get_rng_state()
    >>> first = torch.rand(2)
    >>> torch.set_rng_state(state)
    >>> torch.equal(torch.rand(2), first)
    True
    """
    return _random.default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Set the state of the default generator to one that ``get_rng_state`` returned.

    Raises
    ------
    TypeError
        If it is no uint8 tensor.
    RuntimeError
        If it is no state.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.set_rng_state(torch.get_rng_state())
    """
    _random.default_generator.set_state(new_state)


@contextlib.contextmanager
def fork_rng(devices: Any = None, enabled: bool = True) -> Iterator[None]:
    """A context after which the default generator goes on as if nothing had been drawn inside.

    Parameters
    ----------
    devices : sequence, optional
        Accelerators, of which there are none.
    enabled : bool
        False makes the context do nothing.

    Examples
    --------
    >>> import minitorch as torch
    >>> generator = torch.manual_seed(0)
    >>> with torch.random.fork_rng():
    ...     _ = torch.rand(100)
    >>> torch.rand(1)
    tensor([0.4963])
    """
    state = get_rng_state()
    try:
        yield
    finally:
        if enabled:
            set_rng_state(state)


# -- rows --------------------------------------------------------------------------------------------------------------
_bernoulli = drawing("bernoulli", "BernoulliBackward0", lambda self, *, generator: generator.bernoulli_tensor(self))


def _normal_mean_kernel(mean: np.ndarray, *, std: float, generator: Generator) -> np.ndarray:
    out = generator.normal(mean.shape, mean.dtype, 0.0, std)
    out += mean
    return out


def _normal_std_kernel(std: np.ndarray, *, mean: float, generator: Generator) -> np.ndarray:
    return _normal_kernel(np.asarray(mean, std.dtype), std, generator=generator)


def _normal_kernel(mean: np.ndarray, std: np.ndarray, *, generator: Generator) -> np.ndarray:
    if (std < 0).any():
        raise RuntimeError("normal expects all elements of std >= 0.0")
    out = generator.normal(np.broadcast_shapes(mean.shape, std.shape), mean.dtype)
    out *= std.astype(mean.dtype, copy=False)
    out += mean
    return out


_normal_mean = op(
    "normal_mean",
    "NormalBackward1",
    _normal_mean_kernel,
    ("mean",),
    tangent="formulas",
    mean=lambda F, g: F.zeros_like(g),
)
_normal_std = op(
    "normal_std", "NormalBackward2", _normal_std_kernel, ("std",), tangent="formulas", std=lambda F, g: F.zeros_like(g)
)
_normal_both = op("normal_both", "NormalBackward3", _normal_kernel, ("mean", "std"), tangent="formulas",
                  mean=lambda F, g, mean: F.zeros_like(mean),
                  std=lambda F, g, std: F.zeros_like(std))  # fmt: skip


# -- factories ---------------------------------------------------------------------------------------------------------
@choice("draw", (), draws=True)
def _draw(*, make: Callable[..., np.ndarray], name: str, batch: tuple[int, ...] | None) -> np.ndarray:
    """What is drawn: *batch* are dimensions in front, of examples that are drawn at once; None where each is drawn alone."""
    return make() if batch is None else make(batch)


def drawn(name: str, make: Callable[[], np.ndarray]) -> Any:
    """A tensor of what is drawn, as observers are shown."""
    result = _runtime.wrap(make())
    if observers:
        show(_draw.choice, (result,), (), (make, name, None))
    return result


def _drawn_by(
    name: str, make: Callable[..., np.ndarray], default: Any, out: Tensor | None, options: Options, alone: bool = False
) -> Any:
    """A factory's result whose numbers are drawn: ``make(dtype, batch)``."""
    if observers and out is not None:
        return made_by(name, lambda dtype: drawn(name, lambda: make(dtype))._array, default, out, options)
    result = made_by(name, make, default, out, options)
    if observers:
        batch = None if alone else ()
        show(_draw.choice, (result,), (), (partial(make, result._array.dtype), name, batch))
    return result


def _drawn_like(name: str, input: Tensor, make: Callable[[Any], np.ndarray], options: Any, memory_format: Any) -> Any:
    """The same of a factory that takes shape and dtype from a tensor."""
    result = like(name, input, make, options, memory_format)
    if observers:
        model = np.empty_like(result._array)
        again: Callable[..., np.ndarray] = partial(make, model)
        batch = None
        if model.flags.c_contiguous:
            batch = ()

            def again(batch: tuple[int, ...]) -> np.ndarray:
                return make(np.empty((*batch, *model.shape), model.dtype))

        show(_draw.choice, (result,), (), (again, name, batch))
    return result


def rand(
    *sizes: Sizes,
    size: Sequence[int] | None = None,
    generator: Generator | None = None,
    out: Tensor | None = None,
    **options: Unpack[Options],
) -> Tensor:
    """Numbers spread evenly over [0, 1).

    Parameters
    ----------
    *sizes : int
        The shape, as ints or one sequence.
    size : sequence of int, optional
        The shape by keyword.
    generator : Generator, optional
        Where they come from, by default the default generator.
    out : Tensor, optional
        Where the result is written.
    **options
        dtype (by default the default float dtype), layout, device, pin_memory, requires_grad.

    Raises
    ------
    NotImplementedError
        For a dtype that is not of floats.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.rand(2, generator=torch.Generator().manual_seed(0))
    tensor([0.4963, 0.7682])
    """
    shape, words = shape_of("rand", sizes, size), source("rand", generator)
    return _drawn_by(
        "rand", lambda dtype, batch=(): words.uniform((*batch, *shape), dtype), _dtypes.default(), out, options
    )


def randn(
    *sizes: Sizes,
    size: Sequence[int] | None = None,
    generator: Generator | None = None,
    out: Tensor | None = None,
    **options: Unpack[Options],
) -> Tensor:
    """Normally distributed numbers of mean 0 and variance 1; arguments are those of ``rand``.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.randn(2, generator=torch.Generator().manual_seed(0))
    tensor([ 1.5410, -0.2934])
    """
    shape, words = shape_of("randn", sizes, size), source("randn", generator)
    return _drawn_by(
        "randn", lambda dtype, batch=(): words.normal((*batch, *shape), dtype), _dtypes.default(), out, options
    )


def randint(
    *bounds: Any,
    low: int = 0,
    high: int | None = None,
    size: Sequence[int] | None = None,
    generator: Generator | None = None,
    out: Tensor | None = None,
    **options: Unpack[Options],
) -> Tensor:
    """Integers from *low* to ``high - 1``: ``randint(high, size)`` or ``randint(low, high, size)``.

    Parameters
    ----------
    low : int
        The smallest, by default 0.
    high : int
        One above the largest.
    size : sequence of int
        The shape.
    generator : Generator, optional
        Where they come from, by default the default generator.
    out : Tensor, optional
        Where the result is written.
    **options
        dtype (by default int64), layout, device, pin_memory, requires_grad.

    Raises
    ------
    RuntimeError
        If there is no integer in the range, or the dtype does not hold it.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.randint(100, (3,), generator=torch.Generator().manual_seed(0))
    tensor([44, 39, 33])
    """
    given = list(bounds)
    if size is None and given and isinstance(given[-1], (tuple, list)):
        size = given.pop()
    if high is None and given:
        high = given.pop()
    if given:
        low = given.pop()
    if given or high is None:
        raise TypeError(f"randint(): expected (high, size) or (low, high, size), but got {bounds}")
    shape, words = required_size("randint", size), source("randint", generator)
    first, end = _integer("randint", "low", low), _integer("randint", "high", high)

    def make(dtype: Any, batch: tuple[int, ...] = ()) -> np.ndarray:
        return words.randint(first, end, (*batch, *shape), dtype)

    return _drawn_by("randint", make, _dtypes.INT64, out, options)


def _integer(name: str, argument: str, value: Any) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name}(): argument '{argument}' must be int, not {type(value).__name__}")
    return int(value)


def randperm(
    n: int, *, generator: Generator | None = None, out: Tensor | None = None, **options: Unpack[Options]
) -> Tensor:
    """The integers from 0 to ``n - 1`` in random order.

    Parameters
    ----------
    n : int
        How many.
    generator : Generator, optional
        Where they come from, by default the default generator.
    out : Tensor, optional
        Where the result is written.
    **options
        dtype (by default int64), layout, device, pin_memory, requires_grad.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.randperm(5, generator=torch.Generator().manual_seed(0))
    tensor([4, 0, 1, 3, 2])
    """
    count, words = _integer("randperm", "n", n), source("randperm", generator)
    return _drawn_by("randperm", lambda dtype: words.randperm(count, dtype), _dtypes.INT64, out, options, alone=True)


def rand_like(
    input: Tensor,
    *,
    generator: Generator | None = None,
    memory_format: MemoryFormat | None = None,
    **options: Unpack[Options],
) -> Tensor:
    """Numbers spread evenly over [0, 1), with the shape and dtype of another tensor; see ``rand`` and ``zeros_like``.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.rand_like(torch.zeros(2, 3)).shape
    torch.Size([2, 3])
    """
    words = source("rand_like", generator)

    def make(array: np.ndarray) -> np.ndarray:
        return in_memory_order(array, lambda shape: words.uniform(shape, array.dtype))

    return _drawn_like("rand_like", input, make, options, memory_format)


def randn_like(
    input: Tensor,
    *,
    generator: Generator | None = None,
    memory_format: MemoryFormat | None = None,
    **options: Unpack[Options],
) -> Tensor:
    """Normally distributed numbers with the shape and dtype of another tensor; see ``randn`` and ``zeros_like``.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.randn_like(torch.zeros(2, 3)).shape
    torch.Size([2, 3])
    """
    words = source("randn_like", generator)

    def make(array: np.ndarray) -> np.ndarray:
        return in_memory_order(array, lambda shape: normals(array, words, shape, 0.0, 1.0))

    return _drawn_like("randn_like", input, make, options, memory_format)


def randint_like(
    input: Tensor,
    *bounds: int,
    low: int = 0,
    high: int | None = None,
    generator: Generator | None = None,
    memory_format: MemoryFormat | None = None,
    **options: Unpack[Options],
) -> Tensor:
    """Integers with the shape and dtype of another tensor: ``randint_like(input, high)`` or ``(input, low, high)``.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.randint_like(torch.zeros(2), 1)
    tensor([0., 0.])
    """
    given = list(bounds)
    if high is None and given:
        high = given.pop()
    if given:
        low = given.pop()
    first, end = _integer("randint_like", "low", low), _integer("randint_like", "high", high)
    words = source("randint_like", generator)

    def make(array: np.ndarray) -> np.ndarray:
        return in_memory_order(array, lambda shape: words.randint(first, end, shape, array.dtype))

    return _drawn_like("randint_like", input, make, options, memory_format)


# -- draws from given parameters ---------------------------------------------------------------------------------------
def _to(name: str, out: Tensor | None, inputs: tuple[Any, ...], compute: Callable[[], Any]) -> Any:
    return compute() if out is None else deliver(name, compute, inputs, out, casts=True)


def normal(
    mean: Tensor | float,
    std: Tensor | float = 1.0,
    size: Sequence[int] | None = None,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    **options: Unpack[Options],
) -> Tensor:
    """Normally distributed numbers: of one mean and deviation with a *size*, or one for each element of tensors.

    Parameters
    ----------
    mean : Tensor or float
        The mean, or that of each element.
    std : Tensor or float
        The standard deviation, or that of each element; broadcasts with *mean*.
    size : sequence of int, optional
        The shape, where both are numbers.
    generator : Generator, optional
        Where they come from, by default the default generator.
    out : Tensor, optional
        Where the result is written.
    **options
        Those of ``randn``, with *size* only.

    Raises
    ------
    RuntimeError
        If a deviation is negative.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.normal(1.0, 2.0, (2,), generator=torch.Generator().manual_seed(0))
    tensor([4.0820, 0.4131])
    """
    words = source("normal", generator)
    means, deviations = isinstance(mean, _runtime.Tensor), isinstance(std, _runtime.Tensor)
    if size is not None and not means and not deviations:
        shape = required_size("normal", size)

        def make(dtype: Any, batch: tuple[int, ...] = ()) -> np.ndarray:
            return words.normal((*batch, *shape), dtype, mean, std)  # type: ignore[arg-type]  # numbers

        return _drawn_by("normal", make, _dtypes.default(), out, options)
    if size is not None or options or not (means or deviations):
        raise TypeError("normal(): expected tensors for mean or std, or two numbers and a size")
    if means and deviations:
        return _to("normal", out, (mean, std), lambda: _normal_both(mean, std, words))
    if means:
        return _to("normal", out, (mean,), lambda: _normal_mean(mean, std, words))
    return _to("normal", out, (std,), lambda: _normal_std(std, mean, words))


def bernoulli(
    input: Tensor, p: float | None = None, *, generator: Generator | None = None, out: Tensor | None = None
) -> Tensor:
    """Ones and zeros: each element of *input* is the probability of a one, unless *p* is that of all.

    Parameters
    ----------
    input : Tensor
        Of floats from 0 to 1; with *p* only the shape and dtype count.
    p : float, optional
        One probability for all.
    generator : Generator, optional
        Where they come from, by default the default generator.
    out : Tensor, optional
        Where the result is written.

    Raises
    ------
    RuntimeError
        If a probability is not in [0, 1].

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.bernoulli(torch.tensor([0.0, 1.0, 1.0]))
    tensor([0., 1., 1.])
    """
    words = source("bernoulli", generator)
    if p is None:
        return _to("bernoulli", out, (input,), lambda: _bernoulli(input, words))
    array_of("bernoulli", input)
    return _to("bernoulli", out, (), lambda: made(_ones(input, p=p, generator=words)))


@choice("bernoulli of one probability", draws=True)
def _ones(self: np.ndarray, *, p: float, generator: Generator) -> np.ndarray:
    return generator.bernoulli(p, self.shape, self.dtype)


@choice("multinomial", draws=True)
def _indices(self: np.ndarray, *, count: int, replaced: bool, generator: Generator) -> np.ndarray:
    return generator.multinomial(self, count, replaced)


def multinomial(
    input: Tensor,
    num_samples: int,
    replacement: bool = False,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Indices drawn with probabilities proportional to *input*.

    Parameters
    ----------
    input : Tensor, shape (k,) or (rows, k)
        Weights: floats that are not negative, and not all zero in any row.
    num_samples : int
        How many to draw from each row.
    replacement : bool
        Whether an index may come again.
    generator : Generator, optional
        Where they come from, by default the default generator.
    out : Tensor, optional
        Where the result is written.

    Returns
    -------
    Tensor, shape (num_samples,) or (rows, num_samples)
        Of int64.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.multinomial(torch.tensor([0.0, 1.0, 0.0]), 1)
    tensor([1])
    """
    array_of("multinomial", input)
    replaced = flag(replacement, "replacement")
    words, count = source("multinomial", generator), _integer("multinomial", "num_samples", num_samples)

    def draw() -> Tensor:
        drawn = made(_indices(input, count=count, replaced=replaced, generator=words))
        if observers:
            note_severed("multinomial", drawn, (input,))
        return drawn

    return draw() if out is None else deliver("multinomial", draw, (), out)
