"""Gradients kept small."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ... import _runtime
from ..._modes import no_grad
from ..._records import name_of
from ...ops.choices import clamp
from ...ops.creation import zeros
from ...ops.join import stack
from ...ops.vector_norm import vector_norm

if TYPE_CHECKING:
    from ..._tensor import Tensor


def _gradients(parameters: Tensor | Iterable[Tensor]) -> list[Tensor]:
    given = [parameters] if isinstance(parameters, _runtime.Tensor) else parameters
    return [p.grad for p in given if p.grad is not None]


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float | str = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale gradients in place so that the norm of all of them together is at most *max_norm*.

    Parameters
    ----------
    parameters : Tensor or iterable of Tensor
        Whose gradients are scaled; those without one are left out.
    max_norm : float
        The largest norm.
    norm_type : float or str
        Which p-norm; ``inf`` or "inf" for the largest magnitude.
    error_if_nonfinite : bool
        Whether a norm that is NaN or infinite raises, before anything is changed.
    foreach : bool, optional
        Accepted.

    Returns
    -------
    Tensor
        The norm before scaling, 0-d.

    Raises
    ------
    RuntimeError
        For a norm that is not finite, if asked for.

    Examples
    --------
    >>> import minitorch as torch
    >>> w = torch.zeros(2, requires_grad=True)
    >>> w.grad = torch.tensor([3.0, 4.0])
    >>> torch.nn.utils.clip_grad_norm_(w, 1.0), w.grad
    (tensor(5.), tensor([0.6000, 0.8000]))
    """
    given = [parameters] if isinstance(parameters, _runtime.Tensor) else list(parameters)
    gradients = _gradients(given)
    try:
        total = get_total_norm(gradients, norm_type, error_if_nonfinite, foreach)
    except RuntimeError as error:
        error.add_note(_offenders(given))
        raise
    _scale(gradients, max_norm, total)
    return total


def _offenders(parameters: list[Any]) -> str:
    """Which parameters have a gradient that is not finite."""
    bad = [(i, p) for i, p in enumerate(parameters) if p.grad is not None and not p.grad.isfinite().all().item()]
    names = [f"{name_of(p) or f'number {i}'} {tuple(p.shape)}" for i, p in bad]
    return f"(the gradient is not finite of: {', '.join(names)}; autograd.detect_anomaly() finds the operation)"


def get_total_norm(
    tensors: Tensor | Iterable[Tensor],
    norm_type: float | str = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The norm of the elements of all tensors together; the arguments are those of ``clip_grad_norm_``.

    Examples
    --------
    >>> import minitorch as torch
    >>> torch.nn.utils.get_total_norm([torch.tensor([3.0]), torch.tensor([4.0])])
    tensor(5.)
    """
    given = [tensors] if isinstance(tensors, _runtime.Tensor) else list(tensors)
    norm_type = float(norm_type)  # of "inf" too
    with no_grad():
        if not given:
            return zeros(())
        total = vector_norm(stack([vector_norm(t, norm_type) for t in given]), norm_type)
        if error_if_nonfinite and not total.isfinite().item():
            raise RuntimeError(
                f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be clipped. "
                "To disable this error and scale the gradients by the non-finite norm anyway, set `error_if_nonfinite=False`"
            )
    return total


def clip_grads_with_norm_(
    parameters: Tensor | Iterable[Tensor], max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scale gradients in place as ``clip_grad_norm_`` does, given the norm of all of them.

    Examples
    --------
    >>> import minitorch as torch
    >>> w = torch.zeros(2, requires_grad=True)
    >>> w.grad = torch.tensor([3.0, 4.0])
    >>> torch.nn.utils.clip_grads_with_norm_(w, 1.0, torch.tensor(5.0))
    >>> w.grad
    tensor([0.6000, 0.8000])
    """
    _scale(_gradients(parameters), max_norm, total_norm)


def _scale(gradients: list[Tensor], max_norm: float, total: Tensor) -> None:
    with no_grad():
        factor = clamp(max_norm / (total + 1e-6), max=1.0)
        for gradient in gradients:
            gradient.mul_(factor)


def clip_grad_norm(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float | str = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """``clip_grad_norm_``, by its old name."""
    warnings.warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
        stacklevel=2,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None) -> None:
    """Clamp gradients in place to between ``-clip_value`` and ``clip_value``.

    Parameters
    ----------
    parameters : Tensor or iterable of Tensor
        Whose gradients are clamped.
    clip_value : float
        The largest magnitude of an element.
    foreach : bool, optional
        Accepted.

    Examples
    --------
    >>> import minitorch as torch
    >>> w = torch.zeros(2, requires_grad=True)
    >>> w.grad = torch.tensor([3.0, -0.5])
    >>> torch.nn.utils.clip_grad_value_(w, 1.0)
    >>> w.grad
    tensor([ 1.0000, -0.5000])
    """
    with no_grad():
        for gradient in _gradients(parameters):
            gradient.clamp_(-float(clip_value), float(clip_value))
