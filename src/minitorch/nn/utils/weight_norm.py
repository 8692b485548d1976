"""Weight normalisation by a hook: a weight as its length times its direction, computed before each call."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, TypeVar

from ...ops.vector_norm import vector_norm
from ..modules.module import Module
from ..parameter import Parameter, UninitializedParameter
from ._pre_hooks import hook_on, remove_hook

if TYPE_CHECKING:
    from ..._tensor import Tensor

_Module = TypeVar("_Module", bound=Module)


def norm_except_dim(v: Tensor, dim: int) -> Tensor:
    """The norms over all dimensions but one, which are kept as 1; over all if *dim* is -1."""
    return v.norm() if dim == -1 else vector_norm(v, 2, [d for d in range(v.ndim) if d != dim % v.ndim], True)


def normalised(g: Tensor, v: Tensor, dim: int) -> Tensor:
    """``g v / ‖v‖``."""
    return v * (g / norm_except_dim(v, dim))


class WeightNorm:
    """The hook: computes the weight of this name from its length ``_g`` and its direction ``_v``."""

    def __init__(self, name: str, dim: int | None) -> None:
        self.name, self.dim = name, -1 if dim is None else dim

    def compute_weight(self, module: Module) -> Tensor:
        """The weight."""
        return normalised(getattr(module, self.name + "_g"), getattr(module, self.name + "_v"), self.dim)

    def remove(self, module: Module) -> None:
        """Make the weight a parameter again."""
        weight = self.compute_weight(module).detach()
        for name in (self.name, self.name + "_g", self.name + "_v"):
            delattr(module, name)
        module.register_parameter(self.name, Parameter(weight))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: _Module, name: str = "weight", dim: int | None = 0) -> _Module:
    """Give a module, instead of a weight, its length and its direction as parameters; a hook computes the weight.

    ``parametrizations.weight_norm`` is the newer form.

    Parameters
    ----------
    module : Module
        The module.
    name : str
        The weight's name; its parameters are then ``name_g`` and ``name_v``.
    dim : int or None
        The dimension that keeps lengths of its own; None: one length for all.

    Returns
    -------
    Module
        The module given.

    Notes
    -----
    Source: Salimans and Kingma, "Weight normalization", 2016.

    Raises
    ------
    RuntimeError
        If the weight is normalised already.
    """
    warnings.warn(
        "`torch.nn.utils.weight_norm` is deprecated in favor of `torch.nn.utils.parametrizations.weight_norm`.",
        FutureWarning,
        stacklevel=2,
    )
    if hook_on(module, WeightNorm, name)[1] is not None:
        raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
    weight = getattr(module, name)
    if isinstance(weight, UninitializedParameter):
        raise ValueError("weight_norm needs a weight with a shape: call the lazy module once before")
    hook = WeightNorm(name, dim)
    delattr(module, name)
    module.register_parameter(name + "_g", Parameter(norm_except_dim(weight.detach(), hook.dim)))
    module.register_parameter(name + "_v", Parameter(weight.data))
    hook(module, ())
    module.register_forward_pre_hook(hook)
    return module


def remove_weight_norm(module: _Module, name: str = "weight") -> _Module:
    """Make a weight that ``weight_norm`` normalised a parameter again.

    Raises
    ------
    ValueError
        If it is not normalised.
    """
    remove_hook(module, WeightNorm, name, "weight_norm of '{name}' not found in {module}")
    return module
