"""The records, and how inputs are drawn."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import minitorch as torch

Draw = Callable[[Any], Any]
"""From a generator to a tensor."""


def normal(*shape: int, scale: float = 1.0, shift: float = 0.0) -> Draw:
    """Normal numbers."""
    return lambda generator: torch.randn(shape, generator=generator, dtype=torch.float64) * scale + shift


def uniform(low: float, high: float, *shape: int) -> Draw:
    """Uniform numbers between ``low`` and ``high``."""
    return lambda generator: torch.rand(shape, generator=generator, dtype=torch.float64) * (high - low) + low


def positive(*shape: int) -> Draw:
    """Numbers between 0.5 and 2."""
    return uniform(0.5, 2.0, *shape)


def integers(high: int, *shape: int) -> Draw:
    """Integers below ``high``."""
    return lambda generator: torch.randint(0, high, shape, generator=generator)


def values(*numbers: Any) -> Draw:
    """Always these."""
    return lambda generator: torch.tensor(list(numbers), dtype=torch.float64)


def leaves(draws: tuple[Draw, ...], generator: Any) -> list[Any]:
    """Draw inputs: those of floating point require gradients."""
    tensors = [draw(generator) for draw in draws]
    return [t.requires_grad_() if t.is_floating_point() else t for t in tensors]


@dataclass(frozen=True)
class Blame:
    """What a right report names."""

    what: str
    """The node ("ScaleBackward"), the cutting call ("detach", "item", "numpy", ...), a broken promise ("input mutated"), or
    "reference" where every node is consistent and the function is simply another one."""
    line: str
    """Found on one line of this folder: the line that made the call.  Empty for "reference"."""
    order: int = 1
    """2 where only second derivatives are wrong."""
    or_line: str = ""
    """Another line that is as right an answer, where there is one."""

    def __str__(self) -> str:
        return self.what if self.order == 1 else f"second order of {self.what}"


@dataclass(frozen=True)
class Mistake:
    """A function with one mistake."""

    name: str
    kind: str
    make: Callable[[], tuple[Callable[..., Any], list[Any]]]
    """Gives the function and float64 inputs, the same at each call."""
    blame: Blame
    truth: Callable[..., Any] | None
    """The right function of the same inputs (None where the proof needs none)."""
    proof: str = "gradient"
    """How the test shows that it is one: see ``PROOFS`` in ``_prove.py``."""
    shows: str = ""
    """Where the mistake shows, if not everywhere."""
    inside: bool = False
    """Whether it sits inside a model of 10 to 50 operations."""
    reference: Callable[..., Any] | None = None
    """The function to compare with, where that is what shows it."""
    at: Callable[[list[Any]], list[Any]] | None = None
    """From the inputs of ``make`` to the ones where it shows, if others."""


@dataclass(frozen=True)
class Correct:
    """A function whose gradients are right."""

    name: str
    fn: Callable[..., Any]
    draw: Callable[[Any], list[Any]]
    """From a generator to the inputs: another point at each call."""
    smooth: bool
    """Whether every point drawn has a derivative, and a finite difference with a fixed step is near it."""
    kinks: bool
    """Whether a fifth of the draws hits kinks, ties or zeros."""
    order: int
    """How often it may be differentiated."""


MISTAKES: list[Mistake] = []
CORRECT: list[Correct] = []


def mistake(
    name: str,
    kind: str,
    fn: Callable[..., Any],
    inputs: tuple[Draw, ...],
    truth: Callable[..., Any] | None,
    blame: Blame | tuple[str, ...],
    **more: Any,
) -> None:
    """Add a mistake."""
    seed = zlib.crc32(name.encode())

    def make() -> tuple[Callable[..., Any], list[Any]]:
        return fn, leaves(inputs, torch.Generator().manual_seed(seed))

    found = blame if isinstance(blame, Blame) else Blame(*blame)
    MISTAKES.append(Mistake(name, kind, make, found, truth, **more))


def _troubled(tensors: list[Any], at: tuple[float, ...], ties: bool, generator: Any) -> None:
    """Put kinks, points next to them, and ties into a fifth of the draws."""
    if not (at or ties) or torch.rand((), generator=generator).item() > 0.2:
        return
    for tensor in tensors:
        if not tensor.is_floating_point() or not tensor.numel():
            continue
        flat, count = tensor.view(-1), tensor.numel()
        for _ in range(max(1, count // 3) if at else 0):
            place, which, off = torch.randint(0, 1 << 20, (3,), generator=generator).tolist()
            flat[place % count] = at[which % len(at)] + (0.0, 0.0, 1e-9, -1e-9, 1e-4, -1e-4)[off % 6]
        if ties and count > 1:
            place = int(torch.randint(1, count, (), generator=generator).item())
            flat[place] = flat[place - 1].item()


def correct(
    name: str,
    fn: Callable[..., Any],
    *inputs: Draw,
    at: tuple[float, ...] = (),
    ties: bool = False,
    single: bool = False,
    smooth: bool | None = None,
    order: int = 2,
) -> None:
    """Add a right function: ``at`` are its kinks (or other delicate points), ``single`` adds it in float32 too."""

    def draw(generator: Any, dtype: Any = torch.float64) -> list[Any]:
        tensors = [d(generator) for d in inputs]
        _troubled(tensors, at, ties, generator)
        return [t.to(dtype).requires_grad_() if t.is_floating_point() else t for t in tensors]

    kinks = bool(at or ties)
    even = not kinks if smooth is None else smooth
    order = order if even else 1  # gradients jump at kinks
    CORRECT.append(Correct(name, fn, draw, even, kinks, order))
    if single:
        CORRECT.append(
            Correct(f"{name}_float32", fn, lambda generator: draw(generator, torch.float32), even, kinks, order)
        )
