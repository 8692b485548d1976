"""Spectral normalisation by a hook: a weight divided by its largest singular value, which power iteration follows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from ..._modes import no_grad
from ...ops.linalg import dot, mv
from ..functional import normalize
from ..modules.conv import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from ..modules.module import Module
from ..parameter import Parameter, UninitializedParameter
from ._pre_hooks import hook_on, remove_hook

if TYPE_CHECKING:
    from ..._tensor import Tensor

_Module = TypeVar("_Module", bound=Module)


def output_dim(module: Module, dim: int | None) -> int:
    """The dimension of a module's weight that belongs to its outputs."""
    transposed = isinstance(module, (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d))
    return dim if dim is not None else int(transposed)


def as_matrix(weight: Tensor, dim: int) -> Tensor:
    """A weight as a matrix whose rows belong to *dim*."""
    if dim:
        weight = weight.permute(dim, *[d for d in range(weight.ndim) if d != dim])
    return weight.reshape(weight.shape[0], -1)


def random_unit(weight: Tensor, size: int, eps: float) -> Tensor:
    """A random vector of length 1."""
    return normalize(weight.new_empty(size).normal_(0, 1), dim=0, eps=eps)


class SpectralNorm:
    """The hook: computes the weight of this name from ``_orig`` and the singular vectors ``_u`` and ``_v``."""

    def __init__(self, name: str, n_power_iterations: int, dim: int, eps: float) -> None:
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.name, self.n_power_iterations, self.dim, self.eps = name, n_power_iterations, dim, eps

    def compute_weight(self, module: Module, do_power_iteration: bool) -> Tensor:
        """The weight; the buffers ``_u`` and ``_v`` are written in place if they are to follow it."""
        weight, u, v = [getattr(module, self.name + end) for end in ("_orig", "_u", "_v")]
        matrix = as_matrix(weight, self.dim)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(normalize(mv(matrix.t(), u), dim=0, eps=self.eps))
                    u.copy_(normalize(mv(matrix, v), dim=0, eps=self.eps))
                u, v = u.clone(), v.clone()  # the next call writes the buffers while backward of this one still reads
        return weight / dot(u, mv(matrix, v))

    def remove(self, module: Module) -> None:
        """Make the weight a parameter again."""
        with no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        for end in ("", "_u", "_v", "_orig"):
            delattr(module, self.name + end)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, do_power_iteration=module.training))


def spectral_norm(
    module: _Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> _Module:
    """Divide a module's weight by its largest singular value, before each call.

    ``parametrizations.spectral_norm`` is the newer form.

    Parameters
    ----------
    module : Module
        The module.
    name : str
        The weight's name; the parameter is then ``name_orig``, with buffers ``name_u`` and ``name_v``.
    n_power_iterations : int
        How often the singular vectors are improved in each call in training mode.
    eps : float
        The smallest length that vectors are divided by.
    dim : int, optional
        The dimension of the outputs: 0, or 1 for transposed convolutions.

    Returns
    -------
    Module
        The module given.

    Notes
    -----
    Source: Miyato et al., "Spectral normalization for generative adversarial networks", 2018.

    Raises
    ------
    RuntimeError
        If the weight is normalised already.
    ValueError
        If *n_power_iterations* is not positive, or the parameter has no value.
    """
    if hook_on(module, SpectralNorm, name)[1] is not None:
        raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
    hook = SpectralNorm(name, n_power_iterations, output_dim(module, dim), eps)
    weight = module._parameters[name]
    if weight is None:
        raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
    if isinstance(weight, UninitializedParameter):
        raise ValueError("spectral_norm needs a weight with a shape: call the lazy module once before")
    with no_grad():
        rows, columns = as_matrix(weight, hook.dim).shape
        u, v = random_unit(weight, rows, eps), random_unit(weight, columns, eps)
    delattr(module, name)
    module.register_parameter(name + "_orig", weight)
    setattr(module, name, weight.data)
    module.register_buffer(name + "_u", u)
    module.register_buffer(name + "_v", v)
    module.register_forward_pre_hook(hook)
    return module


def remove_spectral_norm(module: _Module, name: str = "weight") -> _Module:
    """Make a weight that ``spectral_norm`` normalised a parameter again.

    Raises
    ------
    ValueError
        If it is not normalised.
    """
    remove_hook(module, SpectralNorm, name, "spectral_norm of '{name}' not found in {module}")
    return module
