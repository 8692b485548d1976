"""Pruning: elements of a parameter are masked out, by a hook before each call.

A pruned parameter ``name`` is computed as ``name_orig`` times ``name_mask``.
"""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from ..._tensor import Tensor
from ...ops.creation import ones_like, zeros_like
from ...ops.random import rand, rand_like
from ...ops.sort import kthvalue, topk
from ...ops.vector_norm import norm
from ..modules.module import Module
from ._pre_hooks import hook_on
from .convert_parameters import parameters_to_vector

__all__ = [
    "BasePruningMethod", "CustomFromMask", "Identity", "L1Unstructured", "LnStructured", "PruningContainer",
    "RandomStructured", "RandomUnstructured", "custom_from_mask", "global_unstructured", "identity", "is_pruned",
    "l1_unstructured", "ln_structured", "random_structured", "random_unstructured", "remove",
]  # fmt: skip

_Module = TypeVar("_Module", bound=Module)


class BasePruningMethod(ABC):
    """A way to choose what is masked out: a subclass gives ``PRUNING_TYPE`` and ``compute_mask``; its object is the hook.

    Attributes
    ----------
    PRUNING_TYPE : {"unstructured", "structured", "global"}
        Whether it looks at the elements that are left, at the channels that are left (in dimension ``dim``), or at all.
    """

    PRUNING_TYPE: str
    _tensor_name: str

    @property
    def name(self) -> str:
        """The name of the tensor that is pruned."""
        return self._tensor_name

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask for a tensor of scores, of what *default_mask* leaves."""

    def apply_mask(self, module: Module) -> Tensor:
        """The pruned tensor."""
        mask, original = getattr(module, f"{self.name}_mask"), getattr(module, f"{self.name}_orig")
        return mask.to(dtype=original.dtype) * original

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.apply_mask(module))

    @classmethod
    def apply(
        cls, module: Module, name: str, *args: Any, importance_scores: Tensor | None = None, **kwargs: Any
    ) -> BasePruningMethod:
        """Prune a parameter: what earlier pruning masked out stays so.

        Parameters
        ----------
        module : Module
            The module.
        name : str
            The parameter's name.
        *args, **kwargs
            For the class.
        importance_scores : Tensor, optional
            What the mask is computed from, in place of the parameter's values.

        Returns
        -------
        BasePruningMethod
            The hook.
        """
        method: BasePruningMethod = cls(*args, **kwargs)
        method._tensor_name = name
        key, old = hook_on(module, BasePruningMethod, name)
        original = getattr(module, name)
        scores = original if importance_scores is None else importance_scores
        if scores.shape != original.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as parameter {name} of {module}, got {scores.shape} vs "
                f"{original.shape}"
            )
        if old is None:
            mask = method.compute_mask(scores, default_mask=ones_like(original))
            delattr(module, name)
            module.register_parameter(f"{name}_orig", original)
        else:
            container = old if isinstance(old, PruningContainer) else PruningContainer(old)
            container.add_pruning_method(method)
            method = container
            mask = method.compute_mask(scores, default_mask=getattr(module, f"{name}_mask").detach().clone())
            del module._forward_pre_hooks[key]
        module.register_buffer(f"{name}_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None) -> Tensor:
        """A tensor with what the method chooses set to zero; no module is changed."""
        scores = t if importance_scores is None else importance_scores
        if scores.shape != t.shape:
            raise AssertionError("importance_scores should have the same shape as tensor t")
        return t * self.compute_mask(scores, default_mask=ones_like(t) if default_mask is None else default_mask)

    def remove(self, module: Module) -> None:
        """Make the pruned values the parameter's own."""
        weight = self.apply_mask(module)
        original = getattr(module, f"{self.name}_orig")
        original.data = weight.data
        for name in (self.name, f"{self.name}_orig", f"{self.name}_mask"):
            delattr(module, name)
        module.register_parameter(self.name, original)


class PruningContainer(BasePruningMethod):
    """Several methods, one after the other, on one tensor."""

    def __init__(self, *methods: Any) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        given = methods[0] if len(methods) == 1 and isinstance(methods[0], Iterable) else methods
        for method in given:
            if not self._pruning_methods:
                self._tensor_name = method._tensor_name
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Add one, on the same tensor."""
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if self.name != method.name:
            raise ValueError(
                "Can only add pruning methods acting on the parameter named "
                f"'{self.name}' to PruningContainer {self}. Found '{method.name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, index: int) -> BasePruningMethod:
        return self._pruning_methods[index]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """What the last method leaves of what the others left."""
        method = self._pruning_methods[-1]
        mask = default_mask.to(dtype=t.dtype).clone()
        part = self._part_for(method, t, default_mask)
        mask[part] = method.compute_mask(t[part], default_mask=default_mask[part]).to(dtype=mask.dtype)
        return mask

    @staticmethod
    def _part_for(method: Any, t: Tensor, mask: Tensor) -> Any:
        """What a method looks at: elements or channels that are left, or everything."""
        if method.PRUNING_TYPE == "unstructured":
            return mask == 1
        everything: list[Any] = [slice(None)] * t.ndim
        if method.PRUNING_TYPE == "structured":
            if not -t.ndim <= method.dim < t.ndim:
                raise IndexError(f"Index is out of bounds for tensor with dimensions {t.ndim}")
            dim = method.dim % t.ndim
            everything[dim] = mask.sum(dim=[d for d in range(t.ndim) if d != dim]) != 0
        elif method.PRUNING_TYPE != "global":
            raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        return tuple(everything)


class Identity(BasePruningMethod):
    """Masks nothing out."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask


class CustomFromMask(BasePruningMethod):
    """Masks out what a given mask does."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask * self.mask.to(dtype=default_mask.dtype)


class _ByAmount(BasePruningMethod):
    """A method with an amount: a number of elements or channels, or the part of them."""

    amount: float

    def __init__(self, amount: float) -> None:
        if not isinstance(amount, (int, float, numbers.Real)):
            raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
        if amount < 0 or (not isinstance(amount, (int, numbers.Integral)) and amount > 1):
            raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")
        self.amount = amount

    def number(self, size: int) -> int:
        """How many of *size* are pruned."""
        if not isinstance(self.amount, (int, numbers.Integral)):
            return round(self.amount * size)
        if self.amount > size:
            raise ValueError(f"amount={self.amount} should be smaller than the number of parameters to prune={size}")
        return int(self.amount)


class RandomUnstructured(_ByAmount):
    """Masks out elements at random."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return _without_elements(self.number(t.numel()), default_mask, lambda: rand_like(t), largest=True)


class L1Unstructured(_ByAmount):
    """Masks out the elements of smallest magnitude."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return _without_elements(self.number(t.numel()), default_mask, lambda: t.abs(), largest=False)


def _without_elements(number: int, default_mask: Tensor, scores: Any, largest: bool) -> Tensor:
    mask = default_mask.clone()
    if number:
        mask.view(-1)[topk(scores().view(-1), number, largest=largest).indices] = 0
    return mask


class _Structured(_ByAmount):
    """A method that masks out channels."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def number_in(self, t: Tensor) -> int:
        """How many channels are pruned."""
        if t.ndim <= 1:
            raise ValueError(
                "Structured pruning can only be applied to multidimensional tensors. Found tensor of shape "
                f"{t.shape} with {t.ndim} dims"
            )
        if self.dim >= t.ndim:
            raise IndexError(f"Invalid index {self.dim} for tensor of size {t.shape}")
        return self.number(t.shape[self.dim])

    def only(self, t: Tensor, channels: Tensor, default_mask: Tensor) -> Tensor:
        """The mask that leaves these channels, of what is left."""
        mask = zeros_like(t)
        part: list[Any] = [slice(None)] * t.ndim
        part[self.dim] = channels
        mask[tuple(part)] = 1
        return mask * default_mask.to(dtype=mask.dtype)


class RandomStructured(_Structured):
    """Masks out channels at random."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        number = self.number_in(t)
        if not number:
            return default_mask
        chances = rand(t.shape[self.dim])
        return self.only(t, chances > kthvalue(chances, k=number).values, default_mask)


class LnStructured(_Structured):
    """Masks out the channels of smallest norm."""

    def __init__(self, amount: float, n: float | str, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        number = self.number_in(t)
        if not number:
            return default_mask
        norms = norm(t, p=self.n, dim=[d for d in range(t.ndim) if d != self.dim % t.ndim])
        return self.only(t, topk(norms, k=t.shape[self.dim] - number, largest=True).indices, default_mask)


# -- functions ---------------------------------------------------------------------------------------------------------
def identity(module: _Module, name: str) -> _Module:
    """Prune nothing, but have the mask and the hook."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: _Module, name: str, amount: float) -> _Module:
    """Prune elements of a parameter at random: a number of them, or the part of them given as a float."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: _Module, name: str, amount: float, importance_scores: Tensor | None = None) -> _Module:
    """Prune the elements of smallest magnitude: a number of them, or the part of them given as a float.

    Examples
    --------
    >>> import minitorch as torch
    >>> layer = torch.nn.Linear(4, 1)
    >>> layer.weight.data = torch.tensor([[3.0, -1.0, 2.0, -4.0]])
    >>> torch.nn.utils.prune.l1_unstructured(layer, "weight", amount=0.5).weight_mask
    tensor([[1., 0., 0., 1.]])
    """
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: _Module, name: str, amount: float, dim: int) -> _Module:
    """Prune channels at random."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: _Module, name: str, amount: float, n: float | str, dim: int, importance_scores: Tensor | None = None
) -> _Module:
    """Prune the channels of smallest *n*-norm."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: _Module, name: str, mask: Tensor) -> _Module:
    """Prune what a mask says."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Module, str]],
    pruning_method: type[BasePruningMethod],
    importance_scores: dict[tuple[Module, str], Tensor] | None = None,
    **kwargs: Any,
) -> None:
    """Prune several parameters as if they were one: of all their elements, the method chooses.

    Parameters
    ----------
    parameters : iterable of (Module, str)
        Modules, and names of their parameters.
    pruning_method : class
        Of an unstructured method, such as ``L1Unstructured``.
    importance_scores : dict, optional
        For some of the parameters, what is compared in place of their values.
    **kwargs
        For the class.
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    if importance_scores is not None and not isinstance(importance_scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    pairs, scores = list(parameters), importance_scores or {}
    method: Any = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            f'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method {pruning_method} of type '
            f"{method.PRUNING_TYPE}"
        )
    values = [getattr(module, name) for module, name in pairs]
    masks = [getattr(module, f"{name}_mask", ones_like(value)) for (module, name), value in zip(pairs, values)]
    whole = parameters_to_vector([scores.get(pair, value) for pair, value in zip(pairs, values)])
    method._tensor_name = "together"
    mask = PruningContainer(method).compute_mask(whole.detach(), parameters_to_vector(masks))
    start = 0
    for (module, name), value in zip(pairs, values):
        custom_from_mask(module, name, mask[start : start + value.numel()].view_as(value))
        start += value.numel()


def remove(module: _Module, name: str) -> _Module:
    """Make a pruned parameter a plain one with the pruned values.

    Raises
    ------
    ValueError
        If it is not pruned.
    """
    key, hook = hook_on(module, BasePruningMethod, name)
    if hook is None:
        raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")
    hook.remove(module)
    del module._forward_pre_hooks[key]
    return module


def is_pruned(module: Module) -> bool:
    """Whether a module, or one below it, is pruned."""
    hooks = [hook for part in module.modules() for hook in part._forward_pre_hooks.values()]
    return any([isinstance(hook, BasePruningMethod) for hook in hooks])
