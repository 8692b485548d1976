"""Einstein summation, and products over chosen dimensions.

Every sum of products is built from one row, the contraction of two operands whose dimensions are labelled; each of its
gradients is again a contraction.  What concerns one operand alone (diagonals, sums, the order of dimensions) is done by
the rows of shapes and reductions.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from .._args import array_of, dims_of
from .._op import op
from .._runtime import deliver
from . import copies, diagonals, linalg, pointwise, products
from . import reduce as reductions
from . import shape as shapes

if TYPE_CHECKING:
    from .._tensor import Tensor

Labels: TypeAlias = tuple[int, ...]


def _arranged(array: np.ndarray, labels: Labels, *groups: list[int]) -> np.ndarray:
    """The array with one axis a group of labels."""
    order = [labels.index(label) for group in groups for label in group]
    sizes = dict(zip(labels, array.shape))
    return array.transpose(order).reshape([prod([sizes[label] for label in group]) for group in groups])


def _contract(self: np.ndarray, other: np.ndarray, *, left: Labels, right: Labels, kept: Labels) -> np.ndarray:
    """The sum of products over the labels that are not in *kept*, as one (batched) matrix product."""
    sizes = dict(zip(left + right, self.shape + other.shape))
    shared = [label for label in left if label in right]
    batch, summed = [label for label in shared if label in kept], [label for label in shared if label not in kept]
    rows, columns = [label for label in left if label not in right], [label for label in right if label not in left]
    if not summed:
        return np.multiply(_spread(self, left, kept), _spread(other, right, kept), out=...)
    if self.dtype.kind == "b":
        products.check_dtypes(self, other)
    if batch:
        product = np.matmul(_arranged(self, left, batch, rows, summed), _arranged(other, right, batch, summed, columns))
    else:
        product = _arranged(self, left, rows, summed).dot(_arranged(other, right, summed, columns))
    order = batch + rows + columns
    product = product.reshape([sizes[label] for label in order])
    return product if order == list(kept) else product.transpose([order.index(label) for label in kept])


def _spread(array: np.ndarray, labels: Labels, out: Labels) -> np.ndarray:
    """The array's axes in the places of *out*, with axes of size 1 for the labels it lacks."""
    present = [label for label in out if label in labels]
    lacking = tuple([place for place, label in enumerate(out) if label not in labels])
    return np.expand_dims(array.transpose([labels.index(label) for label in present]), lacking)


contract = op("contract", "ViewBackward0", _contract, ("self", "other"),
              hides=("self", "other", "left", "right", "kept"), tangent="multilinear",
              self=lambda F, g, other, left, right, kept: F.contract(g, other, left=kept, right=right, kept=left),
              other=lambda F, g, self, left, right, kept:
                  F.contract(g, self, left=kept, right=left, kept=right))  # fmt: skip


# -- evaluation --------------------------------------------------------------------------------------------------------
def sum_of_products(operands: list[Any], labels: list[Labels], out: Labels) -> Any:
    """The sum, over all labels that are not in *out*, of the products of operands; dimensions of size 1 broadcast."""
    sizes: dict[int, int] = {}
    for operand, own in zip(operands, labels):
        for label, size in zip(own, operand._array.shape):
            if sizes.get(label, 1) == 1:
                sizes[label] = size
    prepared = [_distinct(operand, own, sizes) for operand, own in zip(operands, labels)]
    if len(prepared) == 1:
        return _rearranged(*prepared[0], out)
    used = [set(own) for _, own in prepared] + [set(out)]
    result, own = _summed_alone(*prepared[0], set().union(*used[1:]))
    for place, (operand, others) in enumerate(prepared[1:], 1):
        later: set[int] = set().union(*used[place + 1 :])
        operand, others = _summed_alone(operand, others, later | set(own))
        target = tuple(dict.fromkeys([label for label in own + others if label in later]))
        if place == len(prepared) - 1:
            target = tuple([label for label in out if label in target])
        result, own = _product(result, own, operand, others, target), target
    return result if own == out else _rearranged(result, own, out)


def _product(first: Any, left: Labels, second: Any, right: Labels, out: Labels) -> Any:
    if any([label not in out for label in left]):
        return contract(first, second, left, right, out)
    return pointwise.mul(_aligned(first, left, out), _aligned(second, right, out))


def _aligned(operand: Any, labels: Labels, out: Labels) -> Any:
    """`_spread`, recorded."""
    order = [labels.index(label) for label in out if label in labels]
    if order != sorted(order):
        operand = shapes.permute(operand, order)
    for place, label in enumerate(out):
        if label not in labels and labels:
            operand = shapes.unsqueeze(operand, place)
    return operand


def _distinct(operand: Any, labels: Labels, sizes: dict[int, int]) -> tuple[Any, Labels]:
    """The operand with each label once, on the diagonal of those repeated, without the dimensions that broadcast."""
    own = list(labels)
    for label in dict.fromkeys(labels):
        while own.count(label) > 1:
            first = own.index(label)
            second = own.index(label, first + 1)
            operand = diagonals.diagonal(operand, 0, first, second)
            own = [name for place, name in enumerate(own) if place not in (first, second)] + [label]
    for label in tuple(own):
        place = own.index(label)
        if operand._array.shape[place] == 1 and sizes[label] != 1:
            operand = shapes.squeeze(operand, place)
            own.remove(label)
    return operand, tuple(own)


def _summed_alone(operand: Any, labels: Labels, needed: set[int]) -> tuple[Any, Labels]:
    """The operand summed over the labels that nothing else has."""
    alone = [place for place, label in enumerate(labels) if label not in needed]
    if alone:
        operand = reductions.sum(operand, alone)
    return operand, tuple([label for label in labels if label in needed])


def _rearranged(operand: Any, labels: Labels, out: Labels) -> Any:
    """The operand with the dimensions of *out*, in that order, the others summed."""
    rest = [label for label in labels if label not in out]
    operand = shapes.permute(operand, [labels.index(label) for label in [*out, *rest]])
    return reductions.sum(operand, list(range(len(out), len(labels)))) if rest else operand


# -- tensordot ---------------------------------------------------------------------------------------------------------
def tensordot(a: Tensor, b: Tensor, dims: Any = 2, out: Tensor | None = None) -> Tensor:
    """The sum of products over chosen dimensions of both tensors.

    Parameters
    ----------
    a, b : Tensor
        Of one dtype.
    dims : int or pair of sequences of int
        The number of last dimensions of *a* and first ones of *b*; or the dimensions of *a* and those of *b*, in pairs.

    Returns
    -------
    Tensor
        The remaining dimensions of *a*, then those of *b*.

    Raises
    ------
    RuntimeError
        If the paired sizes or the dtypes differ, or a dimension is given twice.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.tensordot(torch.ones(2, 3), torch.ones(3, 4), 1).shape
    torch.Size([2, 4])
    >>> torch.tensordot(torch.ones(2, 3), torch.ones(4, 2, 3), ([0, 1], [1, 2]))
    tensor([6., 6., 6., 6.])
    """
    if out is not None:
        return deliver("tensordot", lambda: tensordot(a, b, dims), (a, b), out)
    one, two = linalg._operands("matmul", a, b)
    first, second = _paired_dims(dims, one.ndim, two.ndim)
    if len(first) != len(second):
        raise RuntimeError(f"tensordot(): both dimension lists should have same length, but got {first} and {second}")
    for i, j in zip(first, second):
        if one.shape[i] != two.shape[j] and 1 not in (one.shape[i], two.shape[j]):
            raise RuntimeError(
                f"tensordot(): contracted dimensions need to match, but first has size {one.shape[i]} in dim {i} and "
                f"second has size {two.shape[j]} in dim {j}"
            )
    left = tuple(range(one.ndim))
    right = tuple([first[second.index(j)] if j in second else one.ndim + j for j in range(two.ndim)])
    kept = tuple([label for label in left + right if label not in first])
    return _sum_over_pairs(a, b, left, right, kept)


def _sum_over_pairs(a: Any, b: Any, left: Labels, right: Labels, out: Labels) -> Any:
    """`sum_of_products`; at once where nothing broadcasts."""
    sizes = dict(zip(left, a._array.shape))
    if all([sizes.get(label, size) == size for label, size in zip(right, b._array.shape)]):
        return contract(a, b, left, right, out)
    return copies.converted(sum_of_products([a, b], [left, right], out), a._array.dtype)


def _paired_dims(dims: Any, ndim_a: int, ndim_b: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if hasattr(dims, "_array"):
        dims = dims.tolist()
    if isinstance(dims, (tuple, list)):
        if len(dims) != 2:
            raise RuntimeError(f"tensordot(): expected dims to be an int or a pair of lists, but got {dims!r}")
        first, second = dims
        return dims_of(first, ndim_a), dims_of(second, ndim_b)
    if isinstance(dims, bool) or not hasattr(dims, "__index__"):
        raise RuntimeError(f"tensordot expects dims to be int or a pair of lists of ints, but got dims={dims!r}")
    if dims < 0:
        raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
    if dims > min(ndim_a, ndim_b):
        raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
    return tuple(range(ndim_a - dims, ndim_a)), tuple(range(dims))


def inner(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sum of products over both last dimensions; with a 0-D tensor, the product.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.inner(torch.tensor([1.0, 2.0]), torch.tensor([[3.0, 4.0], [5.0, 6.0]]))
    tensor([11., 17.])
    """
    one, two = linalg._operands("matmul", input, other)
    if not one.ndim or not two.ndim:
        return pointwise.mul(input, other, out=out)
    if out is not None:
        return deliver("inner", lambda: inner(input, other), (input, other), out)
    if one.shape[-1] != two.shape[-1]:
        raise RuntimeError(
            f"inner() the last dimension must match on both input tensors but got shapes {list(one.shape)} and "
            f"{list(two.shape)}"
        )
    return tensordot(input, other, ([-1], [-1]))


# -- einsum ------------------------------------------------------------------------------------------------------------
def einsum(*args: Any) -> Tensor:
    """The sum of products that an equation of subscripts describes.

    Each letter names a dimension; letters not in the output are summed; a letter repeated in one operand takes the
    diagonal; ``...`` stands for further dimensions, which broadcast.  Without ``->``, the output has the letters that
    occur once, in alphabetical order.

    Parameters
    ----------
    equation : str
        For instance ``"ij,jk->ik"``; spaces are ignored.
    *operands : Tensor
        One for each group of subscripts, or a list of them.  Instead of an equation, each operand may be followed by
        its list of subscripts (numbers below 52, and ``...``), with the output's list last.

    Raises
    ------
    RuntimeError
        If the equation does not fit the operands.
    TypeError
        If the first argument is neither an equation nor a tensor.

    Examples
    --------
    >>> import minitorch as torch
    >>> a = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> torch.einsum("ij,jk->ik", a, a)
    tensor([[ 7., 10.],
            [15., 22.]])
    >>> torch.einsum("ii", a)
    tensor(5.)
    >>> torch.einsum(a, [0, 1], [1, 0])
    tensor([[1., 3.],
            [2., 4.]])
    """
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand and its "
            "subscripts list"
        )
    if isinstance(args[0], str):
        equation, operands = args[0], list(args[1:])
        if len(operands) == 1 and isinstance(operands[0], (tuple, list)):
            operands = list(operands[0])
        subscripts, output = _parsed(equation)
    elif not hasattr(args[0], "_array"):
        raise TypeError(f"einsum(): argument 'equation' (position 1) must be str, not {type(args[0]).__name__}")
    else:
        operands = list(args[: len(args) // 2 * 2 : 2])
        subscripts = [_listed(numbers) for numbers in args[1::2]]
        output = _listed(args[-1]) if len(args) % 2 else None
    for position, operand in enumerate(operands, 2):
        array_of("einsum", operand, "operands", position)
    if len(operands) != len(subscripts):
        more = "fewer" if len(operands) < len(subscripts) else "more"
        raise RuntimeError(f"einsum(): {more} operands were provided than specified in the equation")
    arrays = linalg._operands("matmul", *operands)
    labels, covered = _labelled(subscripts, [array.shape for array in arrays])
    return sum_of_products(operands, labels, _output(output, subscripts, covered))


_ELLIPSIS = -1  # among subscripts; labels of the dimensions it stands for are negative too, counted from the last


def _parsed(equation: str) -> tuple[list[list[int]], list[int] | None]:
    """The subscripts of each operand and of the output, letters as their code points."""
    left, arrow, right = equation.partition("->")
    groups: list[list[int]] = []
    start = 0
    for group in left.split(","):
        groups.append(_subscripts(group, start, f"for operand {len(groups)}"))
        start += len(group) + 1
    return groups, _subscripts(right, len(left) + 2, "for the output") if arrow else None


def _subscripts(text: str, start: int, where: str) -> list[int]:
    found: list[int] = []
    place = 0
    while place < len(text):
        character = text[place]
        if text.startswith("...", place):
            if _ELLIPSIS in found:
                raise RuntimeError(f"einsum(): found '.' {where} for which an ellipsis was already found")
            found.append(_ELLIPSIS)
            place += 2
        elif character == ".":
            raise RuntimeError(f"einsum(): found '.' {where} that is not part of any ellipsis")
        elif character.isascii() and character.isalpha():
            found.append(ord(character))
        elif character != " ":
            raise RuntimeError(
                f"einsum(): invalid subscript given at index {start + place} in the equation string, subscripts must "
                "be in [a-zA-Z]"
            )
        place += 1
    return found


def _listed(numbers: Sequence[Any]) -> list[int]:
    """Subscripts given as numbers, as code points of letters: capitals first, as they are ordered."""
    found = []
    for number in numbers:
        if number is not Ellipsis and not 0 <= number < 52:
            raise ValueError(f"einsum(): subscript {number} is not within the valid range [0, 52)")
        found.append(_ELLIPSIS if number is Ellipsis else ord("A") + number if number < 26 else ord("a") + number - 26)
    return found


def _labelled(subscripts: list[list[int]], shapes_: list[tuple[int, ...]]) -> tuple[list[Labels], int]:
    """A label for each dimension, and how many dimensions the ellipses stand for."""
    labels, covered = [], 0
    sizes: dict[int, int] = {}
    for number, (own, shape) in enumerate(zip(subscripts, shapes_)):
        hidden = len(shape) - len(own) + (_ELLIPSIS in own)
        if hidden < 0 or (hidden and _ELLIPSIS not in own):
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({len(own) - (_ELLIPSIS in own)}) "
                f"{'does not match' if _ELLIPSIS not in own else 'is more than'} the number of dimensions "
                f"({len(shape)}) for "
                f"operand {number}" + (" and no ellipsis was given" if _ELLIPSIS not in own else "")
            )
        if _ELLIPSIS in own:
            place = own.index(_ELLIPSIS)
            own = own[:place] + list(range(-hidden, 0)) + own[place + 1 :]
            covered = max(covered, hidden)
        _check_sizes(number, own, shape, sizes)
        labels.append(tuple(own))
    return labels, covered


def _check_sizes(number: int, own: list[int], shape: tuple[int, ...], sizes: dict[int, int]) -> None:
    """Raise where a label has another size than before; note the sizes."""
    for place, (label, size) in enumerate(zip(own, shape)):
        name = chr(label) if label > 0 else "..."
        if label in own[:place] and shape[own.index(label)] != size:
            raise RuntimeError(
                f"einsum(): subscript {name} is repeated for operand {number} but the sizes don't match, "
                f"{size} != {shape[own.index(label)]}"
            )
        if size != 1 and sizes.setdefault(label, size) != size:
            raise RuntimeError(
                f"einsum(): subscript {name} has size {size} for operand {number} which does not broadcast with "
                "previously "
                f"seen size {sizes[label]}"
            )


def _output(output: list[int] | None, subscripts: list[list[int]], covered: int) -> Labels:
    """The output's labels, given or implied."""
    every = [label for own in subscripts for label in own if label != _ELLIPSIS]
    hidden = list(range(-covered, 0))
    if output is None:
        return tuple(hidden + sorted([label for label in set(every) if every.count(label) == 1]))
    for label in output:
        if label != _ELLIPSIS and label not in every:
            raise RuntimeError(
                f"einsum(): output subscript {chr(label)} does not appear in the equation for any input operand"
            )
        if output.count(label) > 1:
            raise RuntimeError(f"einsum(): output subscript {chr(label)} appears more than once in the output")
    return tuple([found for label in output for found in (hidden if label == _ELLIPSIS else [label])])
