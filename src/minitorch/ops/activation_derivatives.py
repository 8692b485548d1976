"""Derivatives of activation functions, of any order: what second derivatives and further ones are made of.

``silu_derivative(grad, self, order=n)`` is the gradient times silu's n-th derivative.  Its own derivative is the row again, of
the next order, so that a second derivative takes a product and a call for each activation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from .._kernels import activation as kernels
from .._kernels.special import blockwise
from .._op import op
from ._polynomials import Derivatives, Polynomial, variables

# -- as polynomials ----------------------------------------------------------------------------------------------------
_ONE = Polynomial({(): 1.0})


def _slope(F: Any, x: Any) -> Any:
    """The sigmoid's derivative w and the difference u that make up all others, exact at both ends: w' = w u, u' = -2 w."""
    s, q = F.sigmoid(x), F.sigmoid(-x)
    return s * q, q - s


def _sigmoid() -> Derivatives:
    w, u = variables(2)
    return Derivatives(_slope, (w * u, -2.0 * w), w, order=1)


def _silu() -> Derivatives:
    """Of x s, whose first one is s + x w."""
    x, w, u = variables(3)
    return Derivatives(lambda F, x: (x, *_slope(F, x)), (_ONE, w * u, -2.0 * w), w * (2.0 + x * u), order=2)


def _gelu() -> Derivatives:
    """The second one is the normal density times 2 - x^2."""
    x, density = variables(2)

    def values(F: Any, x: Any) -> Any:
        return x, F.exp(-0.5 * x**2) * 0.3989422804014327  # 1 / sqrt(2 pi)

    return Derivatives(values, (_ONE, -x * density), density * (2.0 + -x * x), order=2)


def _gelu_tanh() -> Derivatives:
    """Of x times the sigmoid of h(x) = 2 k (x + c x^3); v is the derivative of h."""
    k, c = math.sqrt(2 / math.pi), 0.044715
    x, w, u, v = variables(4)

    def values(F: Any, x: Any) -> Any:
        return x, *_slope(F, 2 * k * (x + c * x**3)), 2 * k + 6 * k * c * x**2

    rules = (_ONE, w * u * v, -2.0 * w * v, 12 * k * c * x)
    return Derivatives(values, rules, w * (2.0 * v + x * u * v * v + 12 * k * c * x * x), order=2)


def _mish() -> Derivatives:
    """Of x T, where T = tanh(softplus(x)) is (1 - q^2) / (1 + q^2), and its derivative H s with H = 1 - T^2."""
    x, s, q, T, H = variables(5)

    def values(F: Any, x: Any) -> Any:
        s, q = F.sigmoid(x), F.sigmoid(-x)
        square = 1 + q**2
        return x, s, q, s * (1 + q) / square, (2 * q / square) ** 2

    return Derivatives(values, (_ONE, s * q, -s * q, H * s, -2.0 * T * H * s), T + x * H * s, order=1)


def _softsign() -> Derivatives:
    """The first one is the square of r = 1 / (1 + |x|); NaN at infinity, as PyTorch's."""
    r, sign = variables(2)
    return Derivatives(lambda F, x: (1 / (1 + F.abs(x)) + 0 * x, F.sign(x)), (-sign * r * r, 0.0 * r), r * r, order=1)


SIGMOID, SILU, GELU, GELU_TANH, MISH, SOFTSIGN = _sigmoid(), _silu(), _gelu(), _gelu_tanh(), _mish(), _softsign()


# -- rows --------------------------------------------------------------------------------------------------------------
def _of_softplus(F: Any, x: Any, order: int, beta: float, threshold: float) -> Any:
    """Below the threshold."""
    slope = SIGMOID.at(F, x * beta, order - 1)
    return slope if beta == 1 else beta ** (order - 1) * slope


def _of_gelu(F: Any, x: Any, order: int, approximate: str) -> Any:
    return (GELU_TANH if approximate == "tanh" else GELU).at(F, x, order)


DERIVATIVES: dict[str, Callable[..., Any]] = {
    "gelu_derivative": _of_gelu,
    "mish_derivative": MISH.at,
    "silu_derivative": SILU.at,
    "softplus_derivative": _of_softplus,
    "softsign_derivative": SOFTSIGN.at,
}
"""By the name of a row: ``function(F, x, order, **params)``."""


def _half_kernel(self: np.ndarray, *, dim: int, second: bool) -> np.ndarray:
    return np.split(self, 2, dim)[second]


def _halves_kernel(first: np.ndarray, second: np.ndarray, *, dim: int) -> np.ndarray:
    return np.concatenate((first, second), dim)


_ON_ARRAYS = SimpleNamespace(
    sigmoid=kernels.sigmoid, exp=np.exp, abs=np.abs, sign=np.sign, half=_half_kernel, halves=_halves_kernel
)
"""What the derivatives call, on arrays."""


def _kernel(name: str, grad: np.ndarray, self: np.ndarray, order: int, **params: Any) -> np.ndarray:
    def write(grad: np.ndarray, x: np.ndarray, out: np.ndarray) -> None:
        np.multiply(grad, DERIVATIVES[name](_ON_ARRAYS, x, order, **params), out)

    return blockwise(write, grad, self)


def _gelu_kernel(grad: np.ndarray, self: np.ndarray, *, order: int, approximate: str) -> np.ndarray:
    return _kernel("gelu_derivative", grad, self, order, approximate=approximate)


def _softplus_kernel(grad: np.ndarray, self: np.ndarray, *, order: int, beta: float, threshold: float) -> np.ndarray:
    result = _kernel("softplus_derivative", grad, self, order, beta=beta, threshold=threshold)
    return np.multiply(result, self * beta < threshold, result)


def _mish_kernel(grad: np.ndarray, self: np.ndarray, *, order: int) -> np.ndarray:
    return kernels.mish_backward(grad, self) if order == 1 else _kernel("mish_derivative", grad, self, order)


def _softsign_kernel(grad: np.ndarray, self: np.ndarray, *, order: int) -> np.ndarray:
    return kernels.softsign_backward(grad, self) if order == 1 else _kernel("softsign_derivative", grad, self, order)


op("gelu_derivative", "GeluBackwardBackward0", _gelu_kernel, ("grad", "self"), elementwise=True, broadcasts=False,
   grad=lambda F, g, self, order, approximate: F.gelu_derivative(g, self, order=order, approximate=approximate),
   self=lambda F, g, grad, self, order, approximate:
       F.gelu_derivative(g * grad, self, order=order + 1, approximate=approximate))  # fmt: skip

op("softplus_derivative", "SoftplusBackwardBackward0", _softplus_kernel, ("grad", "self"),
   elementwise=True, broadcasts=False,
   grad=lambda F, g, self, order, beta, threshold:
       F.softplus_derivative(g, self, order=order, beta=beta, threshold=threshold),
   self=lambda F, g, grad, self, order, beta, threshold:
       F.softplus_derivative(g * grad, self, order=order + 1, beta=beta, threshold=threshold))  # fmt: skip

op("silu_derivative", "SiluBackwardBackward0",
   lambda grad, self, *, order: _kernel("silu_derivative", grad, self, order), ("grad", "self"),
   elementwise=True, broadcasts=False,
   grad=lambda F, g, self, order: F.silu_derivative(g, self, order=order),
   self=lambda F, g, grad, self, order: F.silu_derivative(g * grad, self, order=order + 1))  # fmt: skip

op("mish_derivative", "MishBackwardBackward0",
   _mish_kernel, ("grad", "self"),
   elementwise=True, broadcasts=False,
   grad=lambda F, g, self, order: F.mish_derivative(g, self, order=order),
   self=lambda F, g, grad, self, order: F.mish_derivative(g * grad, self, order=order + 1))  # fmt: skip

op("softsign_derivative", "SoftsignBackwardBackward0",
   _softsign_kernel, ("grad", "self"),
   elementwise=True, broadcasts=False,
   grad=lambda F, g, self, order: F.softsign_derivative(g, self, order=order),
   self=lambda F, g, grad, self, order: F.softsign_derivative(g * grad, self, order=order + 1))  # fmt: skip


# -- of glu ------------------------------------------------------------------------------------------------------------
def _half_of_kernel(self: np.ndarray, *, dim: int, second: bool) -> np.ndarray:
    rest = np.zeros_like(self)
    return np.concatenate([rest, self] if second else [self, rest], dim)


op("half", "SliceBackward0", _half_kernel, ("self",), view=True, tangent="linear",
   self=lambda F, g, dim, second: F.half_of(g, dim=dim, second=second))  # fmt: skip

op("half_of", "SliceBackwardBackward0", _half_of_kernel, ("self",), tangent="linear",
   self=lambda F, g, dim, second: F.half(g, dim=dim, second=second))  # fmt: skip

op("halves", "CatBackward0", _halves_kernel, ("first", "second"),
   tangent="linear",
   first=lambda F, g, dim: F.half(g, dim=dim, second=False),
   second=lambda F, g, dim: F.half(g, dim=dim, second=True))  # fmt: skip


# glu is a s(b), of the halves a and b, where s is the sigmoid; s' = s q with q = 1 - s, s'' = s' (q - s), and so on.
def _parts(F: Any, *tensors: Any, dim: int) -> list[Any]:
    """The halves of tensors, one after the other."""
    return [F.half(t, dim=dim, second=second) for t in tensors for second in (False, True)]


def _glu_backward(F: Any, grad: Any, self: Any, dim: int) -> Any:
    a, b = _parts(F, self, dim=dim)
    s = F.sigmoid(b)
    gated = grad * s
    return F.halves(gated, gated * (1.0 - s) * a, dim=dim)


def _glu_jvp(F: Any, grad: Any, self: Any, dim: int) -> Any:
    a, b, one, two = _parts(F, self, grad, dim=dim)
    s = F.sigmoid(b)
    return s * (one + two * (1.0 - s) * a)


def _glu_bend(F: Any, grad: Any, other: Any, self: Any, dim: int) -> Any:
    """The derivative of ``<grad, glu_jvp(other, self)>``, which is ``<other, glu_backward(grad, self)>``, by *self*."""
    a, b, one, two = _parts(F, self, other, dim=dim)
    s = F.sigmoid(b)
    bent = grad * s * (1.0 - s)
    return F.halves(bent * two, bent * (one + two * a * (1.0 - 2.0 * s)), dim=dim)


def _glu_crossed(F: Any, first: Any, second: Any, self: Any, dim: int) -> Any:
    """What glu_bend gives for a gradient, times another direction: symmetric in the two."""
    a, b, one, two, other_one, other_two = _parts(F, self, first, second, dim=dim)
    slope, u = _slope(F, b)
    return slope * (one * other_two + two * (other_one + other_two * a * u))


def _glu_bend_self(F: Any, g: Any, grad: Any, other: Any, self: Any, dim: int) -> Any:
    a, b, one, two, other_one, other_two = _parts(F, self, g, other, dim=dim)
    slope, u = _slope(F, b)
    both = two * other_two
    of_second = (one * other_two + two * other_one) * u + both * a * (u * u - 2.0 * slope)
    return F.halves(grad * slope * both * u, grad * slope * of_second, dim=dim)


GLU: dict[str, Callable[..., Any]] = {"glu_backward": _glu_backward, "glu_jvp": _glu_jvp, "glu_bend": _glu_bend}
"""By the name of a row: ``function(F, *inputs, dim)``."""


def _of_glu(grad: np.ndarray, self: np.ndarray, *, dim: int) -> np.ndarray:
    return _glu_backward(_ON_ARRAYS, grad, self, dim)


def _along_glu(grad: np.ndarray, self: np.ndarray, *, dim: int) -> np.ndarray:
    return _glu_jvp(_ON_ARRAYS, grad, self, dim)


def _bent_glu(grad: np.ndarray, other: np.ndarray, self: np.ndarray, *, dim: int) -> np.ndarray:
    return _glu_bend(_ON_ARRAYS, grad, other, self, dim)


op("glu_backward", "GluBackwardBackward0", _of_glu, ("grad", "self"),
   tangent={"grad": lambda F, t, self, dim: F.glu_backward(t, self, dim=dim),
            "self": lambda F, t, grad, self, dim: F.glu_bend(grad, t, self, dim=dim)},
   grad=lambda F, g, self, dim: F.glu_jvp(g, self, dim=dim),
   self=lambda F, g, grad, self, dim: F.glu_bend(grad, g, self, dim=dim))  # fmt: skip

op("glu_jvp", "GluJvpBackward0", _along_glu, ("grad", "self"),
   tangent={"grad": lambda F, t, self, dim: F.glu_jvp(t, self, dim=dim),
            "self": lambda F, t, grad, self, dim: _glu_crossed(F, t, grad, self, dim)},
   grad=lambda F, g, self, dim: F.glu_backward(g, self, dim=dim),
   self=lambda F, g, grad, self, dim: F.glu_bend(g, grad, self, dim=dim))  # fmt: skip

op("glu_bend", "GluBackwardBackwardBackward0", _bent_glu, ("grad", "other", "self"),
   tangent={"grad": lambda F, t, other, self, dim: F.glu_bend(t, other, self, dim=dim),
            "other": lambda F, t, grad, self, dim: F.glu_bend(grad, t, self, dim=dim),
            "self": lambda F, t, grad, other, self, dim: _glu_bend_self(F, t, grad, other, self, dim)},
   grad=lambda F, g, other, self, dim: _glu_crossed(F, g, other, self, dim),
   other=lambda F, g, grad, self, dim: F.glu_bend(grad, g, self, dim=dim),
   self=lambda F, g, grad, other, self, dim: _glu_bend_self(F, g, grad, other, self, dim))  # fmt: skip
