"""Padding: with a constant, or with the input's own values reflected, repeated or wrapped around."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._args import array_of, number, sizes_given
from .._errors import scalar_name
from .._kernels._windows import trailing
from .._op import op
from .copies import flat

if TYPE_CHECKING:
    from .._tensor import Tensor

Pads = tuple[tuple[int, int], ...]
Sources = Callable[[int, int, int], np.ndarray]


# -- constants ---------------------------------------------------------------------------------------------------------
def _overlap(size: int, before: int, after: int) -> tuple[slice, slice]:
    """Where an axis of *size*, padded or (where negative) cropped, keeps its own cells: in the input, in the result."""
    start, stop = max(0, -before), size + min(0, after)
    kept = max(0, stop - start)
    return slice(start, start + kept), slice(max(0, before), max(0, before) + kept)


def _constant(self: np.ndarray, *, pads: Pads, value: Any) -> np.ndarray:
    sizes = self.shape[self.ndim - len(pads) :]
    overlaps = [_overlap(size, *pad) for size, pad in zip(sizes, pads)]
    own = self[trailing([source for source, _ in overlaps])]
    if all([before <= 0 and after <= 0 for before, after in pads]):
        return own.copy()
    padded = [size + before + after for size, (before, after) in zip(sizes, pads)]
    result = np.empty((*self.shape[: self.ndim - len(pads)], *padded), self.dtype)
    result.fill(value)
    result[trailing([target for _, target in overlaps])] = own
    return result


def _opposite(pads: Pads) -> Pads:
    return tuple([(-before, -after) for before, after in pads])


_constant_row = op("constant_pad_nd", "ConstantPadNdBackward0", _constant, ("self",),
                   shows={"pad": lambda node: tuple([n for pad in reversed(node.saved_pads) for n in pad])},
                   tangent=lambda F, t, pads: F.constant_pad_nd(t, pads=pads, value=0),
                   self=lambda F, g, pads: F.constant_pad_nd(g, pads=_opposite(pads), value=0))  # fmt: skip


# -- the input's own values --------------------------------------------------------------------------------------------
def _reflected(size: int, before: int, after: int) -> np.ndarray:
    places = np.abs(np.arange(-before, size + after))
    return np.where(places < size, places, 2 * (size - 1) - places)


def _replicated(size: int, before: int, after: int) -> np.ndarray:
    return np.clip(np.arange(-before, size + after), 0, size - 1)


def _wrapped(size: int, before: int, after: int) -> np.ndarray:
    start = max(0, -before)
    kept = size + min(0, after) - start
    return (np.arange(-before, size + after) - start) % max(kept, 1) + start


def _outside(target: slice, size: int) -> list[int]:
    """The cells of a padded axis that are not the input's own."""
    return [*range(min(target.start, size)), *range(target.stop, size)]


def _padding_row(name: str, node_name: str, sources: Sources) -> Any:
    """Declare a padding whose every cell is the input's cell that *sources* names, and its adjoint, which adds cells up."""

    def padded(self: np.ndarray, *, pads: Pads) -> np.ndarray:
        for axis, (before, after) in enumerate(pads, self.ndim - len(pads)):
            given = self.swapaxes(0, axis)
            places = sources(len(given), before, after)
            own, target = _overlap(len(given), before, after)
            result = np.empty((*self.shape[:axis], len(places), *self.shape[axis + 1 :]), self.dtype)
            rows = result.swapaxes(0, axis)
            rows[target] = given[own]
            for place in _outside(target, len(places)):
                rows[place] = given[places[place]]
            self = result
        return self

    def gathered(grad: np.ndarray, *, pads: Pads, shape: tuple[int, ...]) -> np.ndarray:
        first = grad.ndim - len(pads)
        for axis in range(first, grad.ndim):
            before, after = pads[axis - first]
            size, given = shape[axis], grad.swapaxes(0, axis)
            places = sources(size, before, after)
            own, target = _overlap(size, before, after)
            result = np.zeros((*grad.shape[:axis], size, *grad.shape[axis + 1 :]), grad.dtype)
            rows = result.swapaxes(0, axis)
            rows[own] = given[target]
            for place in _outside(target, len(places)):
                rows[places[place]] += given[place]
            grad = result
        return grad

    adjoint = f"{name}_backward"
    if node_name == "CopySlices":
        op(adjoint, node_name, gathered, ("grad",), tangent="linear",
           grad=lambda F, g, pads: getattr(F, name)(g, pads=pads))  # fmt: skip
        return op(name, node_name, padded, ("self",), tangent="linear",
                  self=lambda F, g, self_shape, pads: getattr(F, adjoint)(g, pads=pads, shape=self_shape))  # fmt: skip
    # These read nothing but the shape of the padded input; still, as in PyTorch, their derivative by it is zeros.
    op(adjoint, node_name.replace("Backward0", "BackwardBackward0"),
       lambda grad, self, *, pads: gathered(grad, pads=pads, shape=self.shape), ("grad", "self"), tangent="linear",
       grad=lambda F, g, pads: getattr(F, name)(g, pads=pads), self=flat)  # fmt: skip
    return op(name, node_name, padded, ("self",), tangent="linear",
              self=lambda F, g, self, pads: getattr(F, adjoint)(g, self, pads=pads))  # fmt: skip


_reflection_pads = (
    _padding_row("reflection_pad1d", "ReflectionPad1DBackward0", _reflected),
    _padding_row("reflection_pad2d", "ReflectionPad2DBackward0", _reflected),
    _padding_row("reflection_pad3d", "ReflectionPad3DBackward0", _reflected),
)
_replication_pads = (
    _padding_row("replication_pad1d", "ReplicationPad1DBackward0", _replicated),
    _padding_row("replication_pad2d", "ReplicationPad2DBackward0", _replicated),
    _padding_row("replication_pad3d", "ReplicationPad3DBackward0", _replicated),
)
_circular_pads = (_padding_row("circular_pad", "CopySlices", _wrapped),) * 3
_ROWS = {"reflect": _reflection_pads, "replicate": _replication_pads, "circular": _circular_pads}


# -- public ------------------------------------------------------------------------------------------------------------
def _pads_of(name: str, input: Any, pad: Any) -> tuple[np.ndarray, Pads]:
    """The input's array, and *pad* as a pair for each of its trailing dimensions, in their order."""
    array = array_of(name, input)
    if not isinstance(pad, (tuple, list)):
        raise TypeError(f"{name}(): argument 'pad' (position 2) must be tuple of ints, not {type(pad).__name__}")
    amounts = sizes_given(name, tuple(pad), argument="pad") if pad else ()
    if len(amounts) % 2:
        raise RuntimeError(f"Padding length must be divisible by 2, but got {len(amounts)} amounts")
    if len(amounts) > 2 * array.ndim:
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(amounts)} and input of dimension {array.ndim}"
        )
    pairs = [(int(before), int(after)) for before, after in zip(amounts[::2], amounts[1::2])]
    return array, tuple(reversed(pairs))


def constant_pad_nd(input: Tensor, pad: Sequence[int], value: Any = 0) -> Tensor:
    """`nn.functional.pad` with a constant.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.constant_pad_nd(torch.ones(2), (1, 0), 5)
    tensor([5., 1., 1.])
    """
    array, pads = _pads_of("constant_pad_nd", input, pad)
    for size, (before, after) in zip(array.shape[array.ndim - len(pads) :], pads):
        if size + min(0, before) + min(0, after) < 0:
            raise RuntimeError(
                f"constant_pad_nd(): cannot crop ({before}, {after}) off a dimension of size {size}: narrow(): length must "
                "be non-negative."
            )
    value = number(value, "value")
    if array.dtype.kind in "iu":
        value, info = int(value), np.iinfo(array.dtype)
        if not info.min <= value <= info.max:
            raise RuntimeError(f"value cannot be converted to type {array.dtype}_t without overflow")
    return _constant_row(input, pads, value)


def _check_own(mode: str, array: np.ndarray, pads: Pads) -> None:
    """Raise where a padding with the input's own values is not defined."""
    if len(pads) not in (1, 2, 3) or array.ndim not in (len(pads) + 1, len(pads) + 2):
        raise NotImplementedError(
            f"Padding size {2 * len(pads)} is not supported for {array.ndim}D input tensor.\n"
            "Supported combinations for non-constant padding:\n"
            "  - 2D or 3D input: padding size = 2 (pads last dimension)\n"
            "  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n"
            "  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"
        )
    first = array.ndim - len(pads)
    padded = [size + before + after for size, (before, after) in zip(array.shape[first:], pads)]
    if mode == "circular":
        return _check_circular(array.shape[first:], pads, padded)
    kind = "reflection_pad" if mode == "reflect" else "replication_pad"
    if array.dtype.kind == "b":
        raise NotImplementedError(f'"{kind}{len(pads)}d" not implemented for {scalar_name(array.dtype)!r}')
    if 0 in array.shape[array.ndim == len(pads) + 2 :]:
        raise RuntimeError(
            f"Expected {len(pads) + 1}D or {len(pads) + 2}D (batch mode) tensor with possibly 0 batch size and other "
            f"non-zero dimensions for input, but got: {list(array.shape)}"
        )
    for dim, (before, after) in reversed(list(enumerate(pads, first))):
        if mode == "reflect" and max(before, after) >= array.shape[dim]:
            raise RuntimeError(
                f"Argument #{2 + 2 * len(pads)}: Padding size should be less than the corresponding input dimension, but "
                f"got: padding ({before}, {after}) at dimension {dim} of input {list(array.shape)}"
            )
    if min(padded) < 0 or max(padded) < 1:
        names = "DHW"[3 - len(pads) :]
        given = " ".join([f"{name}: {size}" for name, size in zip(names, array.shape[first:])])
        calculated = " ".join([f"{name}: {size}" for name, size in zip(names, padded)])
        raise RuntimeError(f"input ({given}) is too small. Calculated output {calculated}")


def _check_circular(sizes: tuple[int, ...], pads: Pads, padded: list[int]) -> None:
    for size, (before, after), result in zip(sizes, pads, padded):
        if result < 0:
            raise RuntimeError("Negative padding value is resulting in an empty dimension")
        if max(before, after) > size + min(0, before) + min(0, after):
            raise RuntimeError("Padding value causes wrapping around more than once.")


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """Add cells at the ends of dimensions; a negative amount takes cells away.

    Parameters
    ----------
    input : Tensor
        Any shape for "constant"; otherwise one, two or three padded dimensions after a channel and perhaps a batch
        dimension.
    pad : sequence of int
        How much before and after the last dimension, then before and after the last but one, and so on.
    mode : {"constant", "reflect", "replicate", "circular"}
        What is added: *value*; the input mirrored at its edge cells; its edge cells again; its other end.
    value : number, optional
        The constant, by default 0.

    Raises
    ------
    RuntimeError
        If the amounts do not fit the input.
    NotImplementedError
        For another mode, or for a shape that the mode is not defined for.

    Examples
    --------
    >>> import minitorch as torch
    >>> x = torch.tensor([[1.0, 2.0, 3.0]])
    >>> torch.nn.functional.pad(x, (1, -1), value=9.0)
    tensor([[9., 1., 2.]])
    >>> torch.nn.functional.pad(x, (2, 1), mode="reflect")
    tensor([[3., 2., 1., 2., 3., 2.]])
    """
    if not isinstance(mode, str):
        raise TypeError(f"pad(): argument 'mode' (position 3) must be str, not {type(mode).__name__}")
    array, pads = _pads_of("pad", input, pad)
    if mode == "constant":
        return constant_pad_nd(input, pad, 0 if value is None else value)
    if mode not in _ROWS:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if value:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    _check_own(mode, array, pads)
    return _ROWS[mode][len(pads) - 1](input, pads)
