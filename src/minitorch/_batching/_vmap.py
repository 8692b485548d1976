"""``vmap``: a function of one example as a function of a batch of them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import _random, _runtime
from .._kernels.scatter import ALL
from .._pytree import TreeSpec, kind_of, tree_flatten
from .._records import unobserved
from .._trace import _current
from .._views import current_node
from ._batch import expanded, to_front
from ._escaped import forbid
from ._examples import Again, Examples


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """The function that does to each example of a batch what *func* does to one, at once.

    *func* is called once, with the first example; what it does is then done to whole batches.  See the how-to guide "Map a
    function over a batch".

    Parameters
    ----------
    func : callable
        Of tensors, or of lists, tuples and dicts of them; it returns tensors in any structure.
    in_dims : int, None, or a structure of them
        Which dimension of each argument the examples lie along; None for an argument that all of them share.  One number is
        for all arguments; otherwise a tuple with an entry for each argument, each a number, None, or a structure like the
        argument's.  Keyword arguments are shared.
    out_dims : int, None, or a structure of them
        Where the results have the examples.  None is for results that do not depend on the example.
    randomness : {"error", "same", "different"}
        Whether random operations raise, draw once for all examples, or for each.
    chunk_size : int, optional
        How many examples are done at once; by default all.

    Returns
    -------
    callable
        Takes what *func* takes, with the further dimension.

    Raises
    ------
    ValueError
        When called: for *in_dims* or *out_dims* that do not fit the arguments' or the results' structure, dimensions that do
        not exist, arguments with different numbers of examples, results that are no tensors.
    RuntimeError
        When called: where *func* makes a Python value or a condition of a tensor that depends on the example, draws random
        numbers and *randomness* is ``"error"``, or writes such a tensor into one that all examples share.

    Examples
    --------
    >>> import minitorch as torch
    >>> x, y = torch.arange(6.0).reshape(3, 2), torch.tensor([1.0, 10.0])
    >>> torch.vmap(torch.dot, in_dims=(0, None))(x, y)
    tensor([10., 32., 54.])
    >>> torch.vmap(torch.func.grad(lambda w, x: (w * x).sum() ** 2), in_dims=(None, 0))(y, x)
    tensor([[  0.,  20.],
            [128., 192.],
            [432., 540.]])
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func, updated=())
    def mapped(*args: Any, **kwargs: Any) -> Any:
        call = Mapped(func, in_dims, out_dims, randomness, kwargs)
        call.take(args)
        return call.all_at_once(call.leaves) if chunk_size is None else call.in_chunks(chunk_size)

    return mapped


def name_of(func: Any) -> str:
    """What a function is called."""
    if isinstance(func, functools.partial):
        return f"functools.partial({name_of(func.func)}, ...)"
    name: str = getattr(func, "__name__", None) or repr(func)
    return name


def spread_over(dims: Any, spec: TreeSpec) -> list[Any] | None:
    """A dimension for each leaf of a structure: a leaf of *dims* is for all below it; None where the structures differ."""
    if kind_of(dims) is None:
        return [dims] * spec.num_leaves
    own = tree_flatten(dims, is_leaf=lambda part: part is not dims)[1]
    if own.type is not spec.type or own.num_children != spec.num_children or own.context != spec.context:
        return None
    parts = tree_flatten(dims, is_leaf=lambda part: part is not dims)[0]
    found: list[Any] = []
    for part, child in zip(parts, spec.children()):
        below = spread_over(part, child)
        if below is None:
            return None
        found += below
    return found


class Mapped:
    """One call of a mapped function."""

    def __init__(self, func: Any, in_dims: Any, out_dims: Any, randomness: str, kwargs: dict[str, Any]) -> None:
        self.func, self.in_dims, self.out_dims = func, in_dims, out_dims
        self.randomness, self.kwargs = randomness, kwargs
        self.leaves: list[Any] = []
        self.dims: list[Any] = []
        self.spec: Any = None

    @property
    def name(self) -> str:
        """What the function is called, in messages."""
        return name_of(self.func)

    @property
    def where(self) -> str:
        """How messages about arguments begin."""
        return f"vmap({self.name}, in_dims={self.in_dims}, ...)(<inputs>): "

    # -- arguments -----------------------------------------------------------------------------------------------------
    def take(self, args: tuple[Any, ...]) -> None:
        """Look at the arguments and their dimensions."""
        for dim in () if isinstance(self.out_dims, int) else tree_flatten(self.out_dims)[0]:
            if dim is not None and not isinstance(dim, int):
                raise ValueError(
                    f"vmap({self.name}, ..., out_dims={self.out_dims}): `out_dims` must be an int, None or a python collection "
                    "of ints representing where in the outputs the vmapped dimension should appear."
                )
        if not isinstance(self.in_dims, (int, tuple)):
            raise ValueError(
                f"{self.where}expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, "
                f"got: {type(self.in_dims)}."
            )
        if not args:
            raise ValueError(
                f"vmap({self.name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a "
                "function with no inputs. The latter is unsupported."
            )
        self.leaves, self.spec = tree_flatten(args)
        dims = spread_over(self.in_dims, self.spec)
        if dims is None:
            raise ValueError(
                f"{self.where}in_dims is not compatible with the structure of `inputs`. in_dims has structure "
                f"{tree_flatten(self.in_dims)[1]} but inputs has structure {self.spec}."
            )
        self.dims = [self._dim(leaf, dim) for leaf, dim in zip(self.leaves, dims)]
        self.sizes_agree(self.leaves)

    def _dim(self, leaf: Any, dim: Any) -> int | None:
        """An argument's dimension, from the front."""
        if dim is None:
            return None
        if not isinstance(dim, int):
            raise ValueError(
                f"{self.where}Got in_dim={dim} for an input but in_dim must be either an integer dimension or None."
            )
        if not isinstance(leaf, _runtime.Tensor):
            raise ValueError(
                f"{self.where}Got in_dim={dim} for an input but the input is of type {type(leaf)}. We cannot vmap over "
                "non-Tensor arguments, please use None as the respective in_dim"
            )
        rank = leaf._array.ndim
        if not -rank <= dim < rank:
            raise ValueError(
                f"{self.where}Got in_dim={dim} for some input, but that input is a Tensor of dimensionality {rank} so expected "
                f"in_dim to satisfy -{rank} <= in_dim < {rank}."
            )
        if isinstance(dim, bool):
            raise TypeError(f"{self.where}Got in_dim={dim} for an input: in_dim must be int, not bool")
        return dim % rank

    def sizes_agree(self, leaves: Sequence[Any]) -> int:
        """How many examples there are."""
        sizes = [leaf._array.shape[dim] for leaf, dim in zip(leaves, self.dims) if dim is not None]
        if not sizes:
            raise ValueError("vmap: Expected at least one Tensor to vmap over: every in_dim is None")
        if len(set(sizes)) > 1:
            raise ValueError(
                "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
                f"{sizes} for the mapped dimension"
            )
        return int(sizes[0])

    # -- the call ------------------------------------------------------------------------------------------------------
    def all_at_once(self, leaves: Sequence[Any]) -> Any:
        """The results for a batch."""
        ran: list[Examples] = []
        try:
            return self._all_at_once(leaves, ran)
        finally:
            forbid([array for examples in ran for array in examples.let_go()])

    def _all_at_once(self, leaves: Sequence[Any], ran: list[Examples]) -> Any:
        size, outer, within = self.sizes_agree(leaves), _current.get(), list[frozenset[int]]()
        outer = outer if isinstance(outer, Examples) else None
        apart = outer.expected() if outer else frozenset[int]()
        place = len(outer.within) - 1 if outer else 0
        while True:
            ran.append(Examples(size, self.randomness, apart, within))
            try:
                examples, batches, out = self.of_first(leaves, ran[-1])
                break
            except Again as again:
                if again.examples is not ran[-1]:
                    raise
                apart |= {again.number}
                within = ran[-1].within
                if outer:
                    outer.within[place] = apart
                ran[-1].put_back()
        flat, spec = tree_flatten(out)
        slots = [examples.slot_of(t) if isinstance(t, _runtime.Tensor) else None for t in flat]
        dims = self.dims_of_results(out, spec, flat, slots)
        if self.randomness == "different":  # the batch draws what the first example drew, and more
            examples.put_back()
        values = examples.run(batches, [slot for slot in slots if slot is not None])
        results = []
        for tensor, slot, dim in zip(flat, slots, dims):
            whole = tensor if dim is None else expanded(tensor, size) if slot is None else values[slot]
            results.append(whole if dim is None else from_front(whole, dim))
        return spec.unflatten(results)

    def of_first(self, leaves: Sequence[Any], examples: Examples) -> tuple[Examples, list[Any], Any]:
        """What the function does to the first example: as written down, with the batches, and what it returns."""
        batches, firsts = [], []
        for leaf, dim in zip(leaves, self.dims):
            if dim is None:
                firsts.append(leaf)
                continue
            firsts.append(first_of(leaf, dim))
            examples.add(firsts[-1]._array, _runtime.has_tangent(leaf))
            batches.append(to_front(leaf, dim))
        with examples:
            return examples, batches, self.func(*self.spec.unflatten(firsts), **self.kwargs)

    def dims_of_results(self, out: Any, spec: TreeSpec, flat: list[Any], slots: list[Any]) -> list[Any]:
        """Where each result has the examples."""
        dims: Any = self.out_dims
        if isinstance(out, _runtime.Tensor):
            found = [dims[0]] if isinstance(dims, tuple) and len(dims) == 1 else None if kind_of(dims) else [dims]
        else:
            found = spread_over(dims, spec)
        if found is None:
            raise ValueError(
                f"vmap({self.name}, ..., out_dims={dims})(<inputs>): out_dims is not compatible with the structure of "
                f"`outputs`. out_dims has structure {tree_flatten(dims)[1]} but outputs has structure {spec}."
            )
        for tensor, slot, dim in zip(flat, slots, found):
            if dim is None and slot is not None:
                raise ValueError(
                    f"vmap({self.name}, ...): `{self.name}` can not return a BatchedTensor when out_dim is None: the result "
                    "depends on the example"
                )
            if dim is not None and not isinstance(tensor, _runtime.Tensor):
                raise ValueError(
                    f"vmap({self.name}, ...): `{self.name}` must only return Tensors, got type {type(tensor)}. Did you mean to "
                    "set out_dims= to None for output?"
                )
        return found

    def in_chunks(self, count: int) -> Any:
        """The results for batches of at most *count* examples, joined."""
        size = self.sizes_agree(self.leaves)
        state = _random.default_generator.get_state() if self.randomness == "same" else None
        chunks = []
        for start in range(0, max(size, 1), count):
            if state is not None:
                _random.default_generator.set_state(state)
            parts = [
                leaf if dim is None else leaf.narrow(dim, start, min(count, size - start))
                for leaf, dim in zip(self.leaves, self.dims)
            ]
            chunks.append(tree_flatten(self.all_at_once(parts)))
        spec = chunks[0][1]
        dims = spread_over(self.out_dims, spec) or [0] * spec.num_leaves
        joined = [
            parts[0] if dim is None else _runtime.traced.cat(list(parts), dim % parts[0]._array.ndim)
            for dim, parts in zip(dims, zip(*[flat for flat, _ in chunks]))
        ]
        return spec.unflatten(joined)


def first_of(tensor: Any, dim: int) -> Any:
    """The first example, in memory of its own; ones where there is none."""
    array = tensor._array
    if array.shape[dim]:
        first = np.array(array[(ALL,) * dim + (0,)], order="C")
    else:
        first = np.ones(array.shape[:dim] + array.shape[dim + 1 :], array.dtype)
    tensor, own = _runtime.wrap(first), current_node(tensor)
    if own is not None:
        with unobserved():
            tensor.requires_grad = True
    return tensor


def from_front(tensor: Any, dim: int) -> Any:
    """A view whose first dimension is put at *dim*."""
    rank = tensor._array.ndim
    if not -rank <= dim < rank:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [-{rank}, {rank - 1}], but got {dim}): out_dims of vmap"
        )
    dim %= rank
    order = [*range(1, rank)]
    order.insert(dim, 0)
    return tensor if not dim else _runtime.traced.permute(tensor, tuple(order))
