"""Expressions as text: as Python, and as LaTeX.

Both are written bottom up, in the order in which the expressions were made, so that no depth of nesting needs a deep stack.
"""

from __future__ import annotations

import keyword
import math
import re
import unicodedata
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from ._expressions import Expression, Number, plain, unexpanded

CHOICE, SUM, MATMUL, PRODUCT, POWER, ATOM = range(6)
"""How tightly the outermost operation binds."""
COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
FILLED = {0: "zeros", 1: "ones"}
Factors = list[tuple[Expression, Number]]


class Opaque:
    """A parameter that cannot be written out, such as a table of indices: it goes by a name."""

    def __init__(self, base: str, content: Any) -> None:
        self.base = self.name = base
        self.content = content


UNKNOWN = Opaque("...", None)
"""A parameter that a node did not keep."""
LEFT_OUT = Opaque("", None)
"""One of which that is so, and which has a default: it is not written, but noted."""


class Ref(NamedTuple):
    """A parameter that is one of a call's arguments: its array, or with *item* the number in it."""

    place: int
    item: bool = False


def inner(value: Any, kind: Any) -> list[Any]:
    """What there is of a kind in a parameter."""
    if isinstance(value, kind):
        return [value]
    return [found for v in value for found in inner(v, kind)] if value.__class__ is tuple else []


class Written:
    """A text and how tightly its outermost operation binds."""

    __slots__ = ("binds", "text")

    def __init__(self, text: str, binds: int = ATOM) -> None:
        self.text, self.binds = text, binds


class PythonWriter:
    """Writes expressions as Python."""

    times_sign, parentheses = "*", ("(", ")")

    def __init__(self, names: dict[Any, str], default: Any = None) -> None:
        self.names, self.default = names, default
        self.done: dict[int, Written] = {}
        self.named: set[int] = set()

    def write(self, e: Expression) -> Written:
        """The text of an expression whose parts are written."""
        written: Written = getattr(self, e.kind)(e)
        return written

    def name(self, e: Expression, name: str) -> None:
        """Have a part go by a name from here on."""
        self.done[e.serial] = Written(name)
        self.named.add(e.serial)

    def of(self, e: Expression, binds: int = CHOICE) -> str:
        """The text of a part, in parentheses where it binds less tightly."""
        return self.within(self.done[e.serial], binds)

    def within(self, written: Written, binds: int) -> str:
        left, right = self.parentheses
        return written.text if written.binds >= binds else f"{left}{written.text}{right}"

    # -- atoms
    def symbol(self, e: Expression) -> Written:
        return Written(self.names[e.head])

    def number(self, e: Expression) -> Written:
        """A number as a tensor."""
        if e.floats and e.number in FILLED and e.shape:
            return Written(f"{FILLED[e.number]}({', '.join(map(str, e.shape))}{self.kind(e.dtype)})")
        text = self.plain(e.number).text
        if e.dtype.kind == "b":
            text = str(bool(e.number))
        elif e.floats and e.dtype == self.default and "/" not in text and math.isfinite(e.number):
            text = repr(float(e.number))  # an integer would make a tensor of integers
        inferred = e.dtype.kind == "b" or e.dtype == np.int64
        shape = f"full({self.value(e.shape)}, " if e.shape else "tensor("
        return Written(f"{shape}{text}{'' if inferred else self.kind(e.dtype)})")

    def kind(self, dtype: Any) -> str:
        """The parameter of a function that makes a tensor, where that is not of the default dtype."""
        return "" if dtype == self.default else f", dtype={self.value(dtype)}"

    def whole(self, e: Expression) -> Written:
        """A number that is all of a value."""
        return self.number(e) if e.shape else self.plain(e.number)

    def plain(self, value: Number) -> Written:
        """A number beside tensors."""
        above, below = fraction(abs(value))
        written = self.quotient(above, [], below, [])
        return Written(f"-{written.text}", SUM) if value < 0 else written

    def beside(self, e: Expression, binds: int = CHOICE) -> str:
        """An argument beside others that have its shape: a number is just that."""
        return self.within(self.plain(e.number), binds) if e.kind == "number" else self.of(e, binds)

    # -- sums and products
    def sum(self, e: Expression) -> Written:
        return self.total(list(zip(e.args, e.params)), e.number)

    def total(self, terms: Factors, number: Number) -> Written:
        """The sum of coefficients times expressions, and a number."""
        terms.sort(
            key=lambda term: (term[0].kind == "number", -degree(term[0]), not self.rank(term[0]), self.of(term[0]))
        )
        parts = [self.signed(a, c) for a, c in terms]
        if number:
            parts.append((self.within(self.plain(abs(number)), MATMUL), number < 0))
        first = next((i for i, part in enumerate(parts) if not part[1]), 0)
        parts.insert(0, parts.pop(first))
        text = ("-" if parts[0][1] else "") + parts[0][0]
        return Written(text + "".join([f" {'-' if minus else '+'} {part}" for part, minus in parts[1:]]), SUM)

    def rank(self, e: Expression) -> int:
        """The order of factors: names, parts with a name, calls, sums."""
        return (
            1
            if e.serial in self.named
            else {"number": -1, "symbol": 0, "product": 2, "item": 3, "call": 3, "sum": 4}[e.kind]
        )

    def signed(self, e: Expression, coefficient: Number) -> tuple[str, bool]:
        """A term without its sign, and whether that is a minus: its own, too, where it is a product that has no name."""
        if e.kind == "product" and e.floats and e.number < 0 and e.serial not in self.named:
            size = abs(coefficient) * -e.number
            return self.times(size, list(zip(e.args, e.params))).text, coefficient > 0
        return self.term(e, abs(coefficient)), coefficient < 0

    def term(self, e: Expression, size: Number) -> str:
        if size == 1:
            return self.of(e, MATMUL) if e.kind != "number" or e.shape else self.within(self.plain(e.number), MATMUL)
        split = e.kind == "product" and e.number == 1 and self.done[e.serial].binds < ATOM
        return self.times(size, list(zip(e.args, e.params)) if split else [(e, 1)]).text

    def product(self, e: Expression) -> Written:
        factors = list(zip(e.args, e.params))
        if not e.number < 0:
            return self.times(e.number, factors)
        for a, n in factors:
            if n == 1 and a.kind == "sum" and a.serial not in self.named:  # -(x - y)*z is (y - x)*z
                before, self.done[a.serial] = (
                    self.done[a.serial],
                    self.total([(b, -c) for b, c in zip(a.args, a.params)], -a.number),
                )
                written = self.times(-e.number, factors)
                opposite, self.done[a.serial] = self.done[a.serial], before
                if not opposite.text.startswith("-"):
                    return written
        return Written(f"-{self.times(-e.number, factors).text}", SUM)

    def times(self, size: Number, factors: Factors) -> Written:
        """A positive number times powers."""
        size, factors = self.flat(size, factors)
        factors = sorted(factors, key=lambda factor: (not factor[0].floats, self.rank(factor[0]), self.of(factor[0])))
        above = [self.power(a, n) for a, n in factors if n > 0]
        below = [self.power(a, -n) for a, n in factors if n < 0]
        over, under = fraction(size)
        if below and size and (1 / size).is_integer():  # x/(2*y), not 0.5*x/y
            over, under = "1", str(int(1 / size))
        return self.quotient(over, above, under, below)

    def flat(self, size: Number, factors: Factors) -> tuple[Number, Factors]:
        """The same without products among the factors, unless they have a name: ``b*(b*c)`` is ``b**2*c``."""
        found: dict[int, tuple[Expression, Number]] = {}
        stack = factors[::-1]
        while stack:
            a, n = stack.pop()
            if a.kind == "product" and a.floats and n == 1 and a.number > 0 and a.serial not in self.named:
                size *= a.number
                stack += list(zip(a.args, a.params))[::-1]
            else:
                _, before = found.get(a.serial, (a, 0))
                found[a.serial] = a, 1 if before > 0 < n and a.dtype.kind == "b" else before + n
        return size, [(a, n) for a, n in found.values() if n]

    def quotient(self, over: str, above: list[Written], under: str, below: list[Written]) -> Written:
        top, bottom = self.multiplied(over, above), self.multiplied(under, below)
        if bottom.text == "1":
            return top
        return Written(f"{self.within(top, PRODUCT)}/{self.within(bottom, POWER)}", PRODUCT)

    def multiplied(self, number: str, factors: list[Written]) -> Written:
        if number == "1" and len(factors) == 1:
            return factors[0]
        parts = [number] if number != "1" or not factors else []
        parts += [self.within(w, PRODUCT + (w.binds == PRODUCT)) for w in factors]
        return Written(self.times_sign.join(parts), PRODUCT if len(parts) > 1 else ATOM)

    def power(self, base: Expression, exponent: Number) -> Written:
        if exponent == 1:
            return self.done[base.serial] if base.kind != "number" or base.shape else self.plain(base.number)
        if exponent == 0.5:
            return Written(f"sqrt({self.of(base)})")
        return Written(f"{self.of(base, ATOM)}**{self.within(self.plain(exponent), ATOM)}", POWER)

    # -- calls
    def item(self, e: Expression) -> Written:
        return Written(f"{self.of(e.args[0], ATOM)}[{e.head}]")

    def call(self, e: Expression) -> Written:
        if e.head in COMPARISONS:
            a, b = e.args
            return Written(f"{self.beside(a, SUM)} {COMPARISONS[e.head]} {self.beside(b, SUM)}", CHOICE)
        special = getattr(self, f"call_{e.head}", None)
        return self.plain_call(e) if special is None else special(e)

    def plain_call(self, e: Expression) -> Written:
        return Written(f"{e.head}{self.listed(self.arguments(e))}")

    def arguments(self, e: Expression, without: str = "") -> list[str]:
        params = {name: value for name, value in e.params if name != without}
        given = self.inputs(e)
        if params.pop("*", None):
            given = [f"[{', '.join(given)}]"]
        return given + [
            f"{name if name[0] != '_' else ''}{'=' if name[0] != '_' else ''}{self.value(value, e.args)}"
            for name, value in params.items()
            if value is not LEFT_OUT and (value is not None or name[0] == "_")
        ]

    def inputs(self, e: Expression) -> list[str]:
        """A call's arguments but for those that are parameters."""
        refs = {ref.place for _, value in e.params for ref in inner(value, Ref)}
        return [self.of(a) for index, a in enumerate(e.args) if index not in refs]

    def call_matmul(self, e: Expression) -> Written:
        first, second = [self.done[a.serial] for a in e.args]
        left = first.text if first.binds == MATMUL else self.within(first, POWER)
        return Written(f"{left} @ {self.within(second, POWER)}", MATMUL)

    def call_mT(self, e: Expression) -> Written:
        return Written(f"{self.of(e.args[0], ATOM)}.mT")

    def call_bitwise_not(self, e: Expression) -> Written:
        return Written(f"~{self.of(e.args[0], ATOM)}", POWER)

    def call_bitwise_or(self, e: Expression) -> Written:
        return Written(" | ".join([self.of(a, SUM) for a in e.args]), CHOICE)

    def call_bitwise_and(self, e: Expression) -> Written:
        return Written(" & ".join([self.of(a, SUM) for a in e.args]), CHOICE)

    def call_windows(self, e: Expression) -> Written:
        return Written(f"{self.of(e.args[0], ATOM)}.unfold{self.listed(self.arguments(e)[1:])}")

    def call_contiguous(self, e: Expression) -> Written:
        return Written(f"{self.of(e.args[0], ATOM)}.contiguous()")

    def call_eye(self, e: Expression) -> Written:
        return Written(f"eye({', '.join(map(str, dict.fromkeys(e.shape)))}{self.kind(e.dtype)})")

    def call_getitem(self, e: Expression) -> Written:
        return self.subscript(e.args[0], 0, ", ".join(self.places(e, e.args[1:])))

    def call_put_at(self, e: Expression) -> Written:
        """``x.index_put((i,), values)``."""
        part, values, *indices = e.args
        first = self.zeros(part.shape, part.dtype) if part.kind == "number" and not part.number else self.of(part, ATOM)
        places = ", ".join(self.places(e, indices)) + "," * (len(indices) == 1)
        added = ", accumulate=True" * ("accumulate" in dict(e.params))
        return Written(f"{first}.index_put(({places}), {self.of(values)}{added})")

    def places(self, e: Expression, indices: Any) -> list[str]:
        """What stands for each dimension in an index by tensors."""
        at = dict(e.params)["at"]
        given = dict(zip(at, [self.of(i) for i in indices]))
        return [given.get(n, ":") for n in range(at[-1] + 1)]

    def call_einsum(self, e: Expression) -> Written:
        ((_, equation),) = e.params
        return Written(f"einsum({', '.join([self.value(equation), *[self.of(a) for a in e.args]])})")

    def call_pow(self, e: Expression) -> Written:
        base, exponent = e.args
        return Written(f"{self.beside(base, ATOM)}**{self.of(exponent, ATOM)}", POWER)

    def call_where(self, e: Expression) -> Written:
        return Written(f"where({', '.join([self.of(e.args[0]), *[self.beside(a) for a in e.args[1:]]])})")

    def call_to(self, e: Expression) -> Written:
        return Written(f"{self.of(e.args[0], ATOM)}.to({self.value(dict(e.params)['dtype'])})")

    def call_expand(self, e: Expression) -> Written:
        return Written(f"{self.of(unexpanded(e), ATOM)}.expand({self.value(e.shape)})")

    def call_reshape(self, e: Expression) -> Written:
        return Written(f"{self.of(e.args[0], ATOM)}.reshape({self.value(e.shape)})")

    def call_select(self, e: Expression) -> Written:
        """``x[i]``, and ``x[i, j]`` of one that is not shown by itself."""
        index, whole = self.value(dict(e.params)["index"], e.args), e.args[0]
        dim = dict(e.params)["dim"] % whole.ndim
        places = [":"] * dim + [index]
        while whole.head == "select" and whole.serial not in self.named and len(whole.args) == 1 == len(e.args):
            params, whole = dict(whole.params), whole.args[0]
            first = params["dim"] % whole.ndim
            places += [":"] * (first - len(places))
            places.insert(first, self.value(params["index"]))
        return self.subscript(whole, 0, ", ".join(places))

    def call_slice(self, e: Expression) -> Written:
        params, part = dict(e.params), e.args[0]
        dim, start = params.get("dim", 0), params.get("start", 0)
        end = params.get("end", part.shape[dim])
        whole = isinstance(end, int) and end >= part.shape[dim]
        text = f"{self.value(start, e.args) if start else ''}:{'' if whole else self.value(end, e.args)}"
        return self.subscript(part, dim, f"{text}:{params['step']}" if "step" in params else text)

    def call_select_backward(self, e: Expression) -> Written:
        """The gradient of ``x[i]``: put there, into zeros."""
        return self.scattered("select_scatter", e)

    def call_slice_backward(self, e: Expression) -> Written:
        """The gradient of ``x[i:j]``."""
        return self.scattered("slice_scatter", e)

    def call_diagonal_backward(self, e: Expression) -> Written:
        """The gradient of a diagonal."""
        return self.scattered("diagonal_scatter", e)

    def scattered(self, name: str, e: Expression) -> Written:
        return Written(
            f"{self.function(name)}{self.listed([self.zeros(e.shape, e.dtype), *self.arguments(e, 'shape')])}"
        )

    def function(self, name: str) -> str:
        return name

    def zeros(self, shape: tuple[int, ...], dtype: Any) -> str:
        return f"zeros({', '.join(map(str, shape)) or '()'}{self.kind(dtype)})"

    def listed(self, arguments: list[str]) -> str:
        left, right = self.parentheses
        return f"{left}{', '.join(arguments)}{right}"

    def subscript(self, part: Expression, dim: int, text: str) -> Written:
        return Written(f"{self.of(part, ATOM)}[{':, ' * (dim % part.ndim)}{text}]")

    def value(self, value: Any, args: tuple[Expression, ...] = ()) -> str:
        """A parameter."""
        if isinstance(value, np.dtype):
            return value.name
        if isinstance(value, Ref):
            return f"{self.of(args[value.place], ATOM)}.item()" if value.item else self.of(args[value.place])
        if isinstance(value, tuple):
            return f"({', '.join([self.value(v, args) for v in value])}{',' if len(value) == 1 else ''})"
        return value.name if isinstance(value, Opaque) else repr(value)


class LatexWriter(PythonWriter):
    """Writes expressions as LaTeX."""

    times_sign, parentheses = r" \, ", (r"\left(", r"\right)")

    def symbol(self, e: Expression) -> Written:
        return Written(latex_name(self.names[e.head]))

    def multiplied(self, number: str, factors: list[Written]) -> Written:
        power = powers_of_ten(number)
        if number == power:
            return super().multiplied(number, factors)
        if not factors:
            return Written(power, PRODUCT if r"\cdot" in power else POWER if "^" in power else ATOM)
        return super().multiplied(power, factors)

    def number(self, e: Expression) -> Written:
        text = self.plain(e.number).text
        return Written(text if not e.shape else rf"\mathbf{{{text}}}")

    def times(self, size: Number, factors: Factors) -> Written:
        tensors = len([a for a, _ in factors if a.shape]) > 1
        self.times_sign = r" \odot " if tensors else r" \, "
        written = super().times(size, factors)
        self.times_sign = r" \, "
        return written

    def quotient(self, over: str, above: list[Written], under: str, below: list[Written]) -> Written:
        top, bottom = self.multiplied(over, above), self.multiplied(under, below)
        return top if bottom.text == "1" else Written(rf"\frac{{{top.text}}}{{{bottom.text}}}", PRODUCT)

    def power(self, base: Expression, exponent: Number) -> Written:
        if exponent == 1:
            return self.done[base.serial]
        if exponent == 0.5:
            return Written(rf"\sqrt{{{self.of(base)}}}")
        if base.kind == "call" and base.head in LATEX_FUNCTIONS and isinstance(exponent, int):
            name, _, rest = self.done[base.serial].text.partition(r"\left")
            if rest:  # \sin^2(x)
                return Written(rf"{name}^{{{exponent}}}\left{rest}", POWER)
        return Written(self.raised(self.of(base, ATOM), self.plain(exponent).text), POWER)

    def raised(self, text: str, exponent: str) -> str:
        """A text with an exponent: in braces, where it has one already, since TeX refuses two."""
        return f"{{{text}}}^{{{exponent}}}" if "^" in text else f"{text}^{{{exponent}}}"

    def call(self, e: Expression) -> Written:
        if e.head in COMPARISONS:
            a, b = [self.beside(a, SUM) for a in e.args]
            return Written(rf"\left[{a} {LATEX_COMPARISONS.get(e.head, COMPARISONS[e.head])} {b}\right]")
        return super().call(e)

    def plain_call(self, e: Expression) -> Written:
        return Written(f"{self.function(e.head)}{self.listed(self.arguments(e))}")

    def arguments(self, e: Expression, without: str = "") -> list[str]:
        given = [(n, v) for n, v in e.params if n not in ("*", without)]
        given = [(n, v) for n, v in given if v is not LEFT_OUT and (v is not None or n[0] == "_")]
        params = [(n, self.value(v, e.args), inner(v, Ref)) for n, v in given]
        return self.inputs(e) + [
            text
            if n[0] == "_"
            else rf"\text{{{latex_text(n)}=}}{text}"
            if refs
            else rf"\text{{{latex_text(n)}={latex_text(text)}}}"
            for n, text, refs in params
        ]

    def item(self, e: Expression) -> Written:
        return self.below(e.args[0], f"{e.head}")

    def call_exp(self, e: Expression) -> Written:
        return Written(f"e^{{{self.of(e.args[0])}}}", POWER)

    def call_bitwise_not(self, e: Expression) -> Written:
        return Written(rf"\lnot {self.of(e.args[0], ATOM)}", POWER)

    def call_bitwise_or(self, e: Expression) -> Written:
        return Written(r" \lor ".join([self.of(a, SUM) for a in e.args]), CHOICE)

    def call_bitwise_and(self, e: Expression) -> Written:
        return Written(r" \land ".join([self.of(a, SUM) for a in e.args]), CHOICE)

    def call_expand(self, e: Expression) -> Written:
        """What is one number everywhere as a multiple of ones."""
        if unexpanded(e).shape:
            return self.plain_call(e)
        return Written(rf"{self.of(unexpanded(e), PRODUCT)} \, \mathbf{{1}}", PRODUCT)

    def call_eye(self, e: Expression) -> Written:
        return Written(r"\mathbf{I}")

    def call_vector_norm(self, e: Expression) -> Written:
        params = {name: value for name, value in e.params if value is not None}
        if set(params) - {"ord"}:
            return self.plain_call(e)
        order = self.plain(plain(params.get("ord", 2))).text.replace("inf", r"\infty")
        return Written(rf"\left\lVert {self.of(e.args[0])} \right\rVert_{{{order}}}")

    def call_inv(self, e: Expression) -> Written:
        return Written(self.raised(self.of(e.args[0], ATOM), "-1"))

    def call_abs(self, e: Expression) -> Written:
        return Written(rf"\left|{self.of(e.args[0])}\right|")

    def call_sum(self, e: Expression) -> Written:
        return Written(rf"\sum{self.over(e)} {self.of(e.args[0], MATMUL)}", MATMUL)

    def call_mean(self, e: Expression) -> Written:
        return Written(rf"\operatorname{{mean}}{self.over(e)}\left({self.of(e.args[0])}\right)")

    def over(self, e: Expression) -> str:
        dim = dict(e.params).get("dim")
        return "" if dim is None else rf"_{{\text{{dim }}{self.value(dim)}}}"

    def call_matmul(self, e: Expression) -> Written:
        first, second = [self.done[a.serial] for a in e.args]
        left = first.text if first.binds == MATMUL else self.within(first, POWER)
        return Written(rf"{left} \, {self.within(second, POWER)}", MATMUL)

    def call_mT(self, e: Expression) -> Written:
        return Written(self.raised(self.of(e.args[0], ATOM), r"\top"))

    def call_pow(self, e: Expression) -> Written:
        base, exponent = e.args
        return Written(self.raised(self.beside(base, ATOM), self.of(exponent)), POWER)

    def function(self, name: str) -> str:
        return LATEX_FUNCTIONS.get(name, rf"\operatorname{{{latex_text(name)}}}")

    def zeros(self, shape: tuple[int, ...], dtype: Any) -> str:
        return r"\mathbf{0}"

    call_where = call_to = call_einsum = call_reshape = call_windows = call_contiguous = plain_call

    def subscript(self, part: Expression, dim: int, text: str) -> Written:
        return self.below(part, f"{':, ' * (dim % part.ndim)}{text}")

    def below(self, part: Expression, index: str) -> Written:
        """A part with an index: in braces, where it has one already."""
        text = self.of(part, ATOM)
        return Written(rf"{{{text}}}_{{[{index}]}}" if "_{" in text else rf"{text}_{{[{index}]}}")


# -- order -------------------------------------------------------------------------------------------------------------
def degree(e: Expression) -> Number:
    """Of terms: higher powers and products first."""
    if e.kind == "product":
        return sum([n for n in e.params if n > 0]) or -1
    return 2 if e.head == "matmul" else 1


# -- numbers and names -------------------------------------------------------------------------------------------------
def fraction(value: Number) -> tuple[str, str]:
    """A positive number as numerator and denominator: written out where that is short, as a fraction where it is one."""
    text = repr(value)
    if len(text) > 4 and "e" not in text and math.isfinite(value):
        near = Fraction(value).limit_denominator(100_000)
        if near.denominator > 1 and near.numerator < 1000 and near.numerator / near.denominator == value:
            return str(near.numerator), str(near.denominator)
        if 0 < value < 1 and len(inverse := repr(1 / value)) < len(text) - 4 and 1 / float(inverse) == value:
            return "1", inverse
    return text, "1"


def powers_of_ten(text: str) -> str:
    r"""A positive number in LaTeX: small and large ones as ``2.5 \cdot 10^{10}``."""
    if text in ("inf", "nan"):
        return r"\infty" if text == "inf" else r"\mathrm{nan}"
    mantissa, _, power = text.partition("e")
    digits = mantissa.rstrip("0")
    if not power and "." not in mantissa and len(mantissa) - len(digits) >= 5:
        mantissa, power = f"{digits[0]}.{digits[1:]}" if len(digits) > 1 else digits, str(len(mantissa) - 1)
    if not power:
        return text
    ten = f"10^{{{int(power)}}}"
    return ten if mantissa == "1" else rf"{mantissa} \cdot {ten}"


def identifier(name: str) -> str:
    """A name as Python takes it; numbers of modules that it begins with go to its end."""
    numbers, rest = re.fullmatch(r"((?:\d+\W)*)(.*)", name, re.DOTALL).groups()  # type: ignore[union-attr]
    name = unicodedata.normalize("NFKC", f"{rest}.{numbers.strip('.')}" if numbers else name)  # as Python reads names
    name = "".join([c if f"_{c}".isidentifier() else "_" for c in name])
    return f"_{name}" if not name or not name.isidentifier() else f"{name}_" if keyword.iskeyword(name) else name


def latex_name(name: str) -> str:
    """A name: a letter, a Greek letter or a word, with the digits at its end below it."""
    word, digits = re.fullmatch(r"(.*?)_?(\d*)", name).groups()  # type: ignore[union-attr]
    if not word:
        word, digits = digits, ""
    word = rf"\{word}" if word in GREEK else word if len(word) == 1 else rf"\mathrm{{{latex_text(word)}}}"
    return f"{word}_{{{digits}}}" if digits else word


def latex_text(text: str) -> str:
    return re.sub(r"([_#%&{}$])", r"\\\1", text)


_LETTERS = "alpha beta gamma delta epsilon zeta eta theta kappa lambda mu nu xi pi rho sigma tau phi chi psi omega"
GREEK = frozenset(_LETTERS.split(" "))
LATEX_FUNCTIONS = {name: rf"\{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "log", "det")}
LATEX_FUNCTIONS |= {"asin": r"\arcsin", "acos": r"\arccos", "atan": r"\arctan", "maximum": r"\max", "minimum": r"\min"}
LATEX_FUNCTIONS |= {"trace": r"\operatorname{tr}", "sigmoid": r"\sigma", "lgamma": r"\log\Gamma", "digamma": r"\psi"}
LATEX_COMPARISONS = {"eq": "=", "ne": r"\ne", "le": r"\le", "ge": r"\ge"}
