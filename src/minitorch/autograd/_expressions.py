"""Expressions: sums, products and calls over symbols, brought to a normal form as they are made.

An ``Algebra`` interns them, so that equal ones are one object and whatever is shared is known.  Sums collect like terms,
products add exponents; the rest are calls of functions.  Elements of tensors are numbers to this algebra: an expression has a
shape, and what loses its shape on the way (``x - x + 1``) is expanded back to it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from .._dtypes import result_dtype
from ._loose import is_loose
from ._masks import chosen_of, in_one_dtype, mask_of, uncast, uncast_factors, uncast_terms, wraps

Shape = tuple[int, ...]
Number = int | float

_MOST = 8
"""Sums and products are merged into larger ones up to so many parts."""
_LARGE = 3
"""What is used more than once and is made of more operations than this stays one part."""


class Expression:
    """A symbol, a number, a sum, a product, a call of a function, or one of several results of a call.

    Attributes
    ----------
    kind : {"symbol", "number", "sum", "product", "call", "item"}
    head : Any
        The symbol; the function's name; which result it is.
    args : tuple of Expression
        The terms, factors or arguments.
    params : tuple
        Of a sum the terms' coefficients, of a product the factors' exponents, of a call (name, value) of each parameter.
    number : int or float
        The number; what a sum adds beside its terms; what multiplies a product.
    shape, dtype
        Of the value; None of a call with several results. ``loose``: whether the shape depends on values.
    """

    __slots__ = tuple("algebra args dtype head kind loose number params serial shape weight".split())

    def __init__(
        self, algebra: Algebra, kind: str, head: Any, args: Any, params: Any, number: Any, shape: Any, dtype: Any
    ) -> None:
        self.algebra, self.kind, self.head, self.args, self.params = algebra, kind, head, args, params
        self.number, self.shape, self.dtype = number, shape, dtype
        self.serial = len(algebra.interned)
        self.loose = is_loose(self)
        self.weight = min(1 + sum([a.weight for a in args]), 1000) if args else 0

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def floats(self) -> bool:
        return self.dtype is not None and self.dtype.kind == "f"

    def _with(self, other: Any) -> tuple[Expression, Shape, Any]:
        """An operand as an expression, and what the result is."""
        if not isinstance(other, Expression):
            return self.algebra.constant(other, (), self.dtype), self.shape, self.dtype
        shape = np.broadcast_shapes(self.shape, other.shape)
        stand_ins = [np.empty((0,) * bool(e.shape), e.dtype) for e in (self, other)]
        return other, shape, result_dtype(stand_ins)

    def __add__(self, other: Any) -> Expression:
        other, shape, dtype = self._with(other)
        return self.algebra.sum([(self, 1), (other, 1)], 0, shape, dtype)

    def __sub__(self, other: Any) -> Expression:
        other, shape, dtype = self._with(other)
        return self.algebra.sum([(self, 1), (other, -1)], 0, shape, dtype)

    def __rsub__(self, other: Any) -> Expression:
        other, shape, dtype = self._with(other)
        return self.algebra.sum([(other, 1), (self, -1)], 0, shape, dtype)

    def __mul__(self, other: Any) -> Expression:
        other, shape, dtype = self._with(other)
        return self.algebra.product(1, [(self, 1), (other, 1)], shape, dtype)

    def __truediv__(self, other: Any) -> Expression:
        other, shape, dtype = self._with(other)
        return self.algebra.product(1, [(self, 1), (other, -1)], shape, dtype)

    def __rtruediv__(self, other: Any) -> Expression:
        other, shape, dtype = self._with(other)
        return self.algebra.product(1, [(other, 1), (self, -1)], shape, dtype)

    def __pow__(self, exponent: Number) -> Expression:
        return self.algebra.product(1, [(self, exponent)], self.shape, self.dtype)

    def __neg__(self) -> Expression:
        return self.algebra.product(-1, [(self, 1)], self.shape, self.dtype)

    __radd__, __rmul__ = __add__, __mul__

    def __matmul__(self, other: Expression) -> Expression:
        return self.algebra.matmul(self, other)

    @property
    def mT(self) -> Expression:
        return self.algebra.transposed(self)


class Algebra:
    """Makes expressions, each in its normal form and once.

    ``shared`` holds the serial numbers of results that the computation itself used more than once: they stay whole.
    """

    def __init__(self) -> None:
        self.interned: dict[Any, Expression] = {}
        self.shared: set[int] = set()

    def _made(self, kind: str, head: Any, args: Any, params: Any, number: Any, shape: Any, dtype: Any) -> Expression:
        key = kind, head, tuple([a.serial for a in args]), params, number, shape, dtype
        if (found := self.interned.get(key)) is None:
            self.interned[key] = found = Expression(self, kind, head, args, params, number, shape, dtype)
        return found

    # -- atoms
    def symbol(self, head: Any, shape: Shape, dtype: Any) -> Expression:
        return self._made("symbol", head, (), (), None, shape, dtype)

    def constant(self, value: Any, shape: Shape, dtype: Any) -> Expression:
        """A number, as every element of a shape."""
        value = int(value) if dtype.kind in "iu" else plain(value)
        return self._made("number", math.copysign(1, value), (), (), value, shape, dtype)

    # -- sums
    def sum(self, terms: Iterable[tuple[Expression, Number]], number: Number, shape: Shape, dtype: Any) -> Expression:
        """The sum of coefficients times expressions, and a number."""
        if dtype.kind != "f":
            return self._integers("sum", terms, number, shape, dtype)
        found: dict[int, list[Any]] = {}
        merged = 0
        stack = [(unexpanded(e), c) for e, c in terms][::-1]
        while stack:
            e, c = stack.pop()
            if not e.floats and e.kind != "number":
                e = self.fitted(e, e.shape, dtype)
            if e.kind == "number":
                number += c * e.number
            elif e.kind == "product" and e.number != 1 and self._merges(e, 0):
                stack.append((unexpanded(self._product(1, e.args, e.params, e.dtype)), c * e.number))
            elif e.kind == "sum" and self._merges(e, merged):
                merged += len(e.args)
                number += c * e.number
                stack.extend([(a, c * f) for a, f in zip(e.args, e.params)][::-1])
            else:
                entry = found.setdefault(e.serial, [e, 0])
                entry[1] += c
        parts = in_one_dtype([(e, plain(c)) for e, c in found.values() if c], not number, dtype)
        return self.fitted(self._sum(self._pythagoras(parts), plain(number), dtype), shape, dtype)

    def _sum(self, parts: list[tuple[Expression, Number]], number: Number, dtype: Any) -> Expression:
        """The same of terms that are collected; its shape is what theirs make."""
        if not parts:
            return self.constant(number, (), dtype)
        if len(parts) == 1 and not number:
            return self._product(parts[0][1], [parts[0][0]], [1], dtype)
        sizes = {abs(c) for _, c in parts} | ({abs(number)} if number else set())
        if len(sizes) == 1 and sizes != {1} and math.isfinite(sum(sizes)):  # 2*x + 2*y = 2*(x + y)
            (size,) = sizes
            inner = self._sum([(e, plain(c / size)) for e, c in parts], plain(number / size), dtype)
            return self._product(size, [inner], [1], dtype)
        if (chosen := self._chosen(parts, dtype)) is not None:
            return self.sum(
                [*chosen, (self.constant(number, (), dtype), 1)], 0, broadcast([e for e, _ in parts]), dtype
            )
        if not number and (stacked := self._stacked(parts)) is not None:
            return stacked
        if not number and (common := common_factors([e for e, _ in parts])):
            rest = [(self._divided(e, common), c) for e, c in parts]
            factors = [*common.values(), (self.sum(rest, 0, broadcast([e for e, _ in rest]), dtype), 1)]
            return self.product(1, factors, broadcast([e for e, _ in parts]), dtype)
        parts.sort(key=lambda part: part[0].serial)
        parts = uncast_terms(parts, number)
        args, coefficients = zip(*parts)
        shape = broadcast(args)
        return self._made("sum", None, args, coefficients, number, shape, dtype)

    def _chosen(self, parts: list[tuple[Expression, Number]], dtype: Any) -> list[tuple[Expression, Number]] | None:
        """With one choice, ``where(c, a, b)``, for ``a`` where *c* is true and ``b`` where it is not; or for two by one."""
        masked = [(part, *found) for part in parts if (found := mask_of(part[0])) is not None]
        for one, condition, a in masked:
            for two, opposite, b in masked:
                if opposite is condition and one is not two and all([chosen_of(e) is not None for e, _ in (one, two)]):
                    both = [(chosen_of(e), c * (e.number if e.kind == "product" else 1)) for e, c in (one, two)]
                    total = self.sum(both, 0, broadcast([e for e, _ in both]), dtype)
                    if total.kind == "number":
                        continue
                    shape = broadcast([condition, total])
                    zero = self.constant(0, (), dtype)
                    made = self._made("call", "where", (condition, unexpanded(total), zero), (), None, shape, dtype)
                    return [*[part for part in parts if part not in (one, two)], (made, 1)]
                if opposite.head == "bitwise_not" and opposite.args[0] is condition:
                    first, second = [
                        unexpanded(self.product(c, inner, broadcast([x for x, _ in inner]), dtype))
                        for (_, c), inner in ((one, a), (two, b))
                    ]
                    if first.kind == second.kind == "number":
                        continue
                    shape = broadcast([e for e in (condition, first, second) if e.kind != "number"])
                    made = self._made("call", "where", (condition, first, second), (), None, shape, dtype)
                    return [*[part for part in parts if part not in (one, two)], (made, 1)]
        return None

    def _stacked(self, parts: list[tuple[Expression, Number]]) -> Expression | None:
        """Gradients of all elements of a dimension, each in its place among zeros, as ``stack([...])``."""
        first = parts[0][0]
        if any([e.head != "select_backward" or len(e.args) != 1 or e.params[:2] != first.params[:2] for e, _ in parts]):
            return None
        (_, shape), (_, dim), _ = first.params
        dim %= len(shape)
        found: dict[int, list[tuple[Expression, Number]]] = {}
        for e, c in parts:
            found.setdefault(e.params[2][1] % shape[dim], []).append((e.args[0], c))
        if len(found) < shape[dim]:
            return None
        inner = (*shape[:dim], *shape[dim + 1 :])
        entries = [self.sum(found[place], 0, inner, first.dtype) for place in range(shape[dim])]
        return self.call("stack", entries, (("*", True), *((("dim", dim),) if dim else ())), shape, first.dtype)

    def _divided(self, e: Expression, common: dict[int, tuple[Expression, Number]]) -> Expression:
        """A term without the factors that all terms have."""
        left = [(a, n - common.get(a.serial, (a, 0))[1]) for a, n in factors_of(e)]
        return self._product(1, [a for a, n in left if n], [n for _, n in left if n], e.dtype)

    def _pythagoras(self, parts: list[tuple[Expression, Number]]) -> list[tuple[Expression, Number]]:
        """With ``sin(u)**2 + cos(u)**2 = 1`` applied once, where it is all there is of both."""
        for e, c in parts:
            if e.kind == "product" and len(e.args) == 1 and e.params == (2,) and e.args[0].head == "sin":
                cosine = self.call("cos", e.args[0].args, (), e.shape, e.dtype)
                other = self._product(1, [cosine], [2], e.dtype)
                if (other, c) in parts:
                    rest = [part for part in parts if part[0] not in (e, other)]
                    return [*rest, (self.fitted(self.constant(1, (), e.dtype), e.shape, e.dtype), c)]
        return parts

    def _merges(self, e: Expression, merged: int) -> bool:
        """Whether a sum or product is taken apart within a larger one."""
        return merged + len(e.args) <= _MOST and (e.serial not in self.shared or e.weight <= _LARGE)

    # -- products
    def product(
        self, number: Number, factors: Iterable[tuple[Expression, Number]], shape: Shape, dtype: Any
    ) -> Expression:
        """A number times powers of expressions."""
        if dtype.kind != "f":
            return self._integers("product", factors, number, shape, dtype)
        found: dict[int, list[Any]] = {}
        merged = 0
        stack = [(unexpanded(e), n) for e, n in factors][::-1]
        while stack:
            e, n = stack.pop()
            if n == 0:
                continue
            e = uncast(e)
            if e.kind == "number":
                number *= power(e.number, n)
            elif wraps(e):
                entry = found.setdefault(e.serial, [e, 0])
                entry[1] += n
            elif e.kind == "product" and foldable(e, n) and (self._merges(e, merged) or len(e.args) == 1):
                merged += len(e.args)
                number *= e.number**n
                stack.extend([(a, m * n) for a, m in zip(e.args, e.params)][::-1])
            elif e.kind == "product" and e.number != 1 and (foldable(e, n) or e.number > 0):
                number *= e.number**n
                core = self._product(1, e.args, e.params, e.dtype)
                self.shared |= {core.serial} if e.serial in self.shared else set()
                stack.append((core, n))
            elif (simpler := self._powered(e, n)) is not None:
                stack.append(simpler)
            elif e.kind == "sum" and float(n).is_integer() and negative(e):
                number *= (-1) ** int(n)
                stack.append((self._sum([(a, -c) for a, c in zip(e.args, e.params)], -e.number, e.dtype), n))
            else:
                entry = found.setdefault(e.serial, [e, 0])
                entry[1] = 1 if entry[1] > 0 < n and e.dtype.kind == "b" else entry[1] + n
        if not number:
            return self.constant(0, shape, dtype)
        parts = self._exponentials([(e, plain(n)) for e, n in found.values() if n])
        parts = in_one_dtype(parts, abs(math.frexp(number)[0]) == 0.5, dtype)
        parts.sort(key=lambda part: part[0].serial)
        made = self._product(plain(number), [e for e, _ in parts], [n for _, n in parts], dtype)
        return self.fitted(made, shape, dtype)

    def _powered(self, e: Expression, n: Number) -> tuple[Expression, Number] | None:
        """A power of a power, of an absolute value or of an exponential as another power; None where it is none."""
        whole = float(n).is_integer()
        if e.head == "abs" and float(n / 2).is_integer():
            return e.args[0], n
        if e.head == "exp" and not whole:
            return self.call("exp", [n * e.args[0]], (), e.shape, e.dtype), 1
        if e.kind == "product" and e.number == 1 == len(e.args) and not whole and float(e.params[0] / 2).is_integer():
            return self.call("abs", e.args, (), e.shape, e.dtype), plain(e.params[0] * n)
        return None

    def _exponentials(self, parts: list[tuple[Expression, Number]]) -> list[tuple[Expression, Number]]:
        """With one exponential in place of several, where their exponents together are less than those: exp(2x)exp(-x)."""
        several = [(e, n) for e, n in parts if e.head == "exp"]
        if len(several) < 2:
            return parts
        shape, dtype = broadcast([e for e, _ in several]), several[0][0].dtype
        total = self.sum([(e.args[0], n) for e, n in several], 0, shape, dtype)
        if unexpanded(total).weight >= sum([e.args[0].weight for e, _ in several]):
            return parts
        rest = [part for part in parts if part not in several]
        if total.kind == "number":
            return [*rest, (self.constant(power(math.e, total.number), (), dtype), 1)] if total.number else rest
        return [*rest, (self.call("exp", [total], (), shape, dtype), 1)]

    def _product(self, number: Number, args: Any, exponents: Any, dtype: Any) -> Expression:
        """The same of factors that are collected; its shape is what theirs make."""
        if not args:
            return self.constant(number, (), dtype)
        args, exponents = uncast_factors(args, exponents, dtype)
        above = [i for i, n in enumerate(exponents) if n > 0] or range(len(args))
        above = [i for i in above if args[i].shape] or above  # 0-d tensors do not promote others
        if not any([args[i].floats for i in above]):  # of bools and integers the first is made a float
            first = above[0]
            args = [self.fitted(a, a.shape, dtype) if i == first else a for i, a in enumerate(args)]
        if len(args) == 1 and exponents[0] == 1:
            (e,) = args
            if number == 1:
                return e
            if e.kind == "sum" and number == -1:
                return self._sum([(a, -c) for a, c in zip(e.args, e.params)], -e.number, dtype)
            if e.kind in ("product", "number"):
                return self._product(number * e.number, e.args, e.params, dtype)
        shape = broadcast(args)
        return self._made("product", None, tuple(args), tuple(exponents), number, shape, dtype)

    def _integers(self, kind: str, parts: Any, number: Number, shape: Shape, dtype: Any) -> Expression:
        """A sum or product of integers or bools: as it stands, for they wrap and have no halves."""
        args, params = zip(*parts)
        if kind == "product" and len(args) == 1 and params == (1,) and number == 1:
            return self.fitted(args[0], shape, dtype)
        return self._made(kind, None, args, params, number, shape, dtype)

    # -- calls
    def call(
        self, head: str, args: Iterable[Expression], params: Any = (), shape: Any = None, dtype: Any = None
    ) -> Expression:
        """A function's value, after the identities of that function; without shape and dtype where it has several."""
        args = tuple(args)
        if not params and len(args) == 1 and (simpler := self._simpler(head, args[0], dtype)) is not None:
            return self.fitted(simpler, shape, dtype)
        return self._made("call", head, args, tuple(params), None, shape, dtype)

    def item(self, call: Expression, index: int, shape: Shape, dtype: Any) -> Expression:
        """One of several results."""
        return self._made("item", index, (call,), (), None, shape, dtype)

    def _simpler(self, head: str, e: Expression, dtype: Any) -> Expression | None:
        if dtype is None or dtype.kind != "f" or not e.floats:
            return None
        if e.kind == "call" and e.head == _INVERSE.get(head):
            return e.args[0]
        if head == "exp" and e.kind == "call" and e.head == "log_softmax":
            return self._made("call", "softmax", e.args, e.params, None, e.shape, e.dtype)
        if head == "exp" and e.kind == "product" and len(e.args) == 1 == e.params[0] and e.args[0].head == "log":
            return self.product(1, [(e.args[0].args[0], e.number)], e.shape, e.dtype)  # exp(2*log(x))
        if (head in ("relu", "abs") and nonnegative(e)) or (head in _WHOLE and e.head in _WHOLE):
            return e
        if head in _ODD | _EVEN and negative(e):
            value = self.call(head, [-e], (), e.shape, dtype)
            return -value if head in _ODD else value
        return None

    # -- shapes
    def fitted(self, e: Expression, shape: Shape, dtype: Any) -> Expression:
        """An expression in the shape and kind of dtype that its value has."""
        if e.kind == "number":
            wider = e.floats and dtype.kind == "f" and e.dtype.itemsize < dtype.itemsize
            return self.constant(float(e.dtype.type(e.number)) if wider else e.number, shape, dtype)
        if e.dtype != dtype and (dtype.kind != e.dtype.kind or dtype.itemsize != e.dtype.itemsize):
            e = self._made("call", "to", (e,), (("dtype", dtype),), None, e.shape, dtype)
        if e.shape != shape:
            if e.kind == "call" and e.head == "expand":
                e = e.args[0]
            e = self._made("call", "expand", (e,), (("size", shape),), None, shape, dtype)
        return e

    def reshaped(self, e: Expression, shape: Shape) -> Expression:
        if e.kind == "number" or e.shape == shape:
            return self.fitted(e, shape, e.dtype)
        if e.kind == "call" and e.head == "reshape":
            return self.reshaped(e.args[0], shape)
        if not e.shape:
            return self.fitted(e, shape, e.dtype)
        if e.kind == "call" and e.head in ("sum", "mean") and e.params:  # with or without what it was summed over
            (x,), dim = e.args, dict(e.params)["dim"]
            dims = (dim,) if isinstance(dim, int) else dim
            kept = tuple([1 if d in dims else n for d, n in enumerate(x.shape)])
            if shape in (kept, tuple([n for d, n in enumerate(x.shape) if d not in dims])):
                return self._summed(e.head, x, dims, shape, shape == kept)
        if not unexpanded(e).shape and e is not unexpanded(e):
            return self.fitted(unexpanded(e), shape, e.dtype)
        number, small, rest = scalars(e)
        if small or number != 1:
            inner = self.reshaped(self.fitted(rest, e.shape, e.dtype), shape)
            return self.product(number, [*small, (inner, 1)], shape, e.dtype)
        return self._made("call", "reshape", (e,), (("shape", shape),), None, shape, e.dtype)

    def transposed(self, e: Expression) -> Expression:
        """With the last two dimensions exchanged."""
        shape = (*e.shape[:-2], e.shape[-1], e.shape[-2])
        if e.kind == "number":
            return self.constant(e.number, shape, e.dtype)
        if e.kind == "call" and e.head == "mT":
            return e.args[0]
        if e.head == "eye" and len(set(e.shape)) == 1:
            return e
        if e.kind == "call" and e.head == "matmul" and e.args[0].ndim > 1 and e.args[1].ndim > 1:
            return self.matmul(self.transposed(e.args[1]), self.transposed(e.args[0]))
        number, small, rest = scalars(e)
        if small or number != 1:
            inner = self.transposed(self.fitted(rest, e.shape, e.dtype))
            return self.product(number, [*small, (inner, 1)], shape, e.dtype)
        return self._made("call", "mT", (e,), (), None, shape, e.dtype)

    def matmul(self, a: Expression, b: Expression) -> Expression:
        """``a @ b``, numbers before it."""
        shape = matmul_shape(a.shape, b.shape)
        dtype = a.dtype
        number: Number = 1
        factors, inner = [], []
        for e in (a, b):
            own, small, rest = scalars(e) if dtype.kind == "f" else (1, [], e)
            number *= own
            factors += small
            inner.append(self.fitted(rest, e.shape, e.dtype))
        for one, other in (inner, inner[::-1]):
            if one.head == "eye" and other.shape == shape and len(set(one.shape)) == 1:
                return self.product(number, [*factors, (other, 1)], shape, dtype)
        made = self._made("call", "matmul", tuple(inner), (), None, shape, dtype)
        return self.product(number, [*factors, (made, 1)], shape, dtype) if dtype.kind == "f" else made

    def sum_over(self, e: Expression, dims: Iterable[int] | None, keepdim: bool, head: str = "sum") -> Expression:
        """A sum (or mean) over dimensions: numbers and 0-d factors stand before it, and what is repeated is multiplied."""
        dims = tuple(range(e.ndim)) if dims is None else tuple(sorted([d % e.ndim for d in dims])) if e.ndim else ()
        kept = tuple([1 if d in dims else n for d, n in enumerate(e.shape)])
        shape = kept if keepdim else tuple([n for d, n in enumerate(e.shape) if d not in dims])
        summed = tuple([d for d in dims if e.shape[d] != 1])
        if e.loose and dims:
            return self._summed(head, e, dims, shape, keepdim)
        dtype = _summed_as(e) if head == "sum" else e.dtype
        if not summed:
            return self.fitted(self.reshaped(e, shape), shape, dtype)
        times = math.prod([e.shape[d] for d in summed]) if head == "sum" else 1
        if not times:
            return self.constant(0, shape, dtype)
        if e.kind == "number":
            return self.constant(e.number * times, shape, dtype)
        if keepdim and len(dims) == e.ndim:
            return self.fitted(self.sum_over(e, None, False, head), shape, dtype)
        if (inner := unstretched(e)) is not e:
            own = iter([d for d, n in enumerate(inner.shape) if n != 1])
            places = {d: next(own) for d, n in enumerate(e.shape) if n != 1}
            return self.reshaped(self.sum_over(inner, [places[d] for d in summed], False, head), shape)
        if e.head == "softmax" and head == "sum" and dims == (dict(e.params)["dim"] % e.ndim,):
            return self.constant(1, shape, e.dtype)
        if uncast(e).head == "one_hot" and dims == (e.ndim - 1,) and head == "sum":
            return self.constant(1, shape, dtype)
        number, small, rest = scalars(e) if e.floats else (1, [], e)
        inner = unexpanded(rest) if e.floats else e
        lead = e.ndim - inner.ndim
        varying = [d - lead for d in summed if d >= lead and inner.shape[d - lead] != 1]
        if len(varying) == len(summed) and number == 1 and not small and inner is rest:
            return self._summed(head, e, dims, shape, keepdim)
        if inner.shape == e.shape:
            return self.product(number, [*small, (self.sum_over(inner, dims, keepdim, head), 1)], shape, e.dtype)
        left = math.prod([inner.shape[d] for d in varying]) if head == "sum" else 1
        if len(varying) == inner.ndim:
            total = self.fitted(self.sum_over(inner, varying, False, head), shape, e.dtype)
            return self.product(number * times // left, [*small, (total, 1)], shape, e.dtype)
        total = self.sum_over(inner, varying, True, head)
        if math.prod(total.shape) != math.prod(shape):
            total = self.fitted(total, kept, e.dtype)
        return self.product(number * times // left, [*small, (self.reshaped(total, shape), 1)], shape, e.dtype)

    def _summed(self, head: str, e: Expression, dims: Shape, shape: Shape, keepdim: bool) -> Expression:
        params: list[tuple[str, Any]] = [("dim", dims[0] if len(dims) == 1 else dims)] if shape else []
        if keepdim and shape:
            params.append(("keepdim", True))
        dtype = _summed_as(e) if head == "sum" else e.dtype
        return self._made("call", head, (e,), tuple(params), None, shape, dtype)


# -- parts -------------------------------------------------------------------------------------------------------------
def _summed_as(e: Expression) -> Any:
    """The dtype of an expression's sum: bools are counted."""
    return e.dtype if e.floats else np.dtype(np.int64)


def plain(value: Number) -> Number:
    """A number as an int where it is whole."""
    if isinstance(value, int):
        return int(value) if abs(value) < 2**53 else float(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 and str(value) != "-0.0":
        return int(value)
    return math.nan if value != value else value  # one object, which is found again


def power(base: Number, exponent: Number) -> Number:
    """A number's power, infinite or NaN as an array's element would be."""
    with np.errstate(all="ignore"):
        return float(np.power(float(base), float(exponent)))


def broadcast(args: Iterable[Expression]) -> Shape:
    """The shape of what is made of these elementwise."""
    return np.broadcast_shapes(*[a.shape for a in args])


def factors_of(e: Expression) -> list[tuple[Expression, Number]]:
    """A term's factors and their exponents."""
    return list(zip(e.args, e.params)) if e.kind == "product" and e.number == 1 else [(e, 1)]


def common_factors(terms: list[Expression]) -> dict[int, tuple[Expression, Number]]:
    """The factors that all terms of a sum have, by serial number, unless a term would be left as a mere number."""
    common = {a.serial: (a, n) for a, n in factors_of(terms[0])}
    for e in terms[1:]:
        powers = {a.serial: n for a, n in factors_of(e)}
        common = {k: (a, min(n, powers[k])) for k, (a, n) in common.items() if k in powers and n * powers[k] > 0}
    if any([all([common.get(a.serial, (a, 0))[1] == n for a, n in factors_of(e)]) for e in terms]):
        return {}
    return common


def unexpanded(e: Expression) -> Expression:
    """What an expanded expression repeats."""
    return e.args[0] if e.kind == "call" and e.head == "expand" else e


def unstretched(e: Expression) -> Expression:
    """What an expression is a reshape of that only has other dimensions of size 1."""
    if e.kind != "call" or e.head != "reshape" or not e.floats:
        return e
    before, after = [[n for n in shape if n != 1] for shape in (e.args[0].shape, e.shape)]
    return e.args[0] if before == after else e


def foldable(e: Expression, n: Number) -> bool:
    """Whether a product's power is the product of its factors' powers."""
    if float(n).is_integer():
        return e.number != 0 or n > 0
    return e.number == 1 and len(e.args) == 1 and not float(e.params[0] / 2).is_integer()


def negative(e: Expression) -> bool:
    """Whether an expression is written with a minus that can be taken out."""
    if e.kind == "sum" and e.floats:
        if all([c < 0 for c in e.params]) and e.number <= 0:
            return True
        return not e.number and e.params[0] < 0
    return e.kind in ("product", "number") and e.floats and e.number < 0


def nonnegative(e: Expression) -> bool:
    """Whether an expression is seen to be no less than 0 wherever it is a number."""
    if e.kind != "product":
        return e.head in _NONNEGATIVE
    factors = zip(e.args, e.params)
    return e.number >= 0 and all(
        [a.head in _NONNEGATIVE or not float(n).is_integer() or n % 2 == 0 for a, n in factors]
    )


def scalars(e: Expression) -> tuple[Number, list[tuple[Expression, Number]], Expression]:
    """The number and the 0-d factors of a product, and what is left of it; a lone 0-d factor that is expanded is one too."""
    if e.kind == "number":
        return e.number, [], e.algebra.constant(1, e.shape, e.dtype)
    if e.kind != "product" or not e.floats or not e.shape:
        return 1, [], e
    small = [(a, n) for a, n in zip(e.args, e.params) if not a.shape]
    rest = [(a, n) for a, n in zip(e.args, e.params) if a.shape]
    return e.number, small, e.algebra._product(1, [a for a, _ in rest], [n for _, n in rest], e.dtype)


def matmul_shape(a: Shape, b: Shape) -> Shape:
    """The shape of ``a @ b``."""
    rows = a[-2:-1] if len(a) > 1 else ()
    columns = b[-1:] if len(b) > 1 else ()
    return (*np.broadcast_shapes(a[:-2], b[:-2]), *rows, *columns)


_INVERSE = {"exp": "log", "log": "exp", "log1p": "expm1", "expm1": "log1p", "tanh": "atanh", "atanh": "tanh", "sinh": "asinh",
            "asinh": "sinh", "sin": "asin", "cos": "acos", "tan": "atan", "erf": "erfinv", "erfinv": "erf", "sigmoid": "logit",
            "logit": "sigmoid", "cosh": "acosh"}  # fmt: skip
"""Of a function, the one whose values it takes back: not ``asin`` of ``sin``, which is periodic."""
_ODD = frozenset(["sin", "tan", "sinh", "tanh", "asin", "atan", "asinh", "atanh", "erf", "erfinv", "sign"])
_EVEN = frozenset(["cos", "cosh", "abs"])
_NONNEGATIVE = frozenset(["relu", "abs", "exp", "sigmoid", "softplus", "softmax", "relu6", "cosh", "vector_norm"])
_WHOLE = frozenset(["floor", "ceil", "trunc", "round"])
