"""Kullback-Leibler divergences: the registry of pairs, and those that have a closed form.

Most are cross entropies, minus the mean of ``log q`` over p, less p's entropy; what a cross entropy needs of p (means of x, of
its logarithm, of ``exp(-x / s)``) is below by p's class, so that a family is written down once for all partners.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from .distribution import Distribution

__all__ = ["kl_divergence", "register_kl"]

Divergence = Callable[[Any, Any], Any]
_KL_REGISTRY: dict[tuple[type, type], Divergence] = {}
_KL_MEMOIZE: dict[tuple[type, type], Divergence | None] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Divergence], Divergence]:
    """The decorator of a function of *p* and *q* that computes their divergence, for these classes and their subclasses.

    Raises
    ------
    TypeError
        For what is no class of distributions.

    Examples
    --------
    >>> import minitorch as torch
    >>> D = torch.distributions
    >>> class Mine(D.Normal):
    ...     pass
    >>> @D.register_kl(Mine, Mine)
    ... def _(p, q):
    ...     return 42
    >>> D.kl_divergence(Mine(0.0, 1.0), Mine(1.0, 1.0))
    42
    """
    for name, given in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(given, type) or not issubclass(given, Distribution):
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {given!r}")

    def decorator(function: Divergence) -> Divergence:
        _KL_REGISTRY[type_p, type_q] = function
        _KL_MEMOIZE.clear()
        return function

    return decorator


def _dispatch_kl(type_p: type, type_q: type) -> Divergence | None:
    """The function for the nearest classes; where p's and q's nearest disagree, p's decides, with a warning."""
    from . import _kl_pairs  # noqa: F401  # registers them

    line_p, line_q = type_p.__mro__, type_q.__mro__
    pairs = [(line_p.index(p), line_q.index(q)) for p, q in _KL_REGISTRY if p in line_p and q in line_q]
    if not pairs:
        return None
    first, other = min(pairs), min(pairs, key=lambda pair: (pair[1], pair[0]))
    function = _KL_REGISTRY[line_p[first[0]], line_q[first[1]]]
    if function is not _KL_REGISTRY[line_p[other[0]], line_q[other[1]]]:
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please "
            f"register_kl({line_p[first[0]].__name__}, {line_q[other[1]].__name__})",
            RuntimeWarning,
            stacklevel=3,
        )
    return function


def kl_divergence(p: Distribution, q: Distribution) -> Any:
    """The Kullback-Leibler divergence of *p* from *q*: the mean over p of ``log p(x) - log q(x)``.

    Returns
    -------
    Tensor
        Of the batch's shape, in nats; infinite where p has values that q has not.

    Raises
    ------
    NotImplementedError
        If there is no closed form, or none is registered.

    Notes
    -----
    Sources: for exponential families, F. Nielsen and R. Nock, "Entropies and cross-entropies of exponential families", 2010;
    for Cauchy distributions, F. Chyzak and F. Nielsen, "A closed-form formula for the Kullback-Leibler divergence between
    Cauchy distributions", 2019.

    Examples
    --------
    >>> import minitorch as torch
    >>> D = torch.distributions
    >>> D.kl_divergence(D.Normal(1.0, 1.0), D.Normal(0.0, 1.0))
    tensor(0.5000)
    """
    pair = type(p), type(q)
    if pair not in _KL_MEMOIZE:
        _KL_MEMOIZE[pair] = _dispatch_kl(*pair)
    function = _KL_MEMOIZE[pair]
    if function is None:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}"
        )
    return function(p, q)
