"""Parameters that are computed from others each time they are read."""

from __future__ import annotations

import types
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from typing import Any, ClassVar, NoReturn, TypeVar

from ..._modes import no_grad
from ..._tensor import Tensor
from ..modules.container import ModuleDict, ModuleList
from ..modules.module import Module
from ..parameter import Parameter

__all__ = [
    "ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations",
    "type_before_parametrizations",
]  # fmt: skip

_Module = TypeVar("_Module", bound=Module)


class _Cache:
    """How many ``cached`` contexts there are, and what was read in them."""

    depth = 0
    values: ClassVar[dict[tuple[int, str], Tensor]] = {}


@contextmanager
def cached() -> Iterator[None]:
    """Context in which a parametrized tensor is computed only when it is first read.

    Examples
    --------
    >>> import minitorch as torch
    >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 2))
    >>> with torch.nn.utils.parametrize.cached():
    ...     layer.weight is layer.weight
    True
    """
    _Cache.depth += 1
    try:
        yield
    finally:
        _Cache.depth -= 1
        if not _Cache.depth:
            _Cache.values = {}


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, applied in turn, and the tensor or tensors they start from.

    Parameters
    ----------
    modules : sequence of Module
        The parametrizations.
    original : Tensor
        What the tensor was.
    unsafe : bool
        Whether they may change its shape and dtype.
    """

    original: Tensor

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        if not modules:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        with no_grad():
            new = _inverted(self, original, strict=False)
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if self.is_tensor else len(new)
        if self.is_tensor:
            if new.dtype != original.dtype:
                raise ValueError(
                    "When `right_inverse` outputs one tensor, it may not change the dtype.\n"
                    f"original.dtype: {original.dtype}\nright_inverse(original).dtype: {new.dtype}"
                )
            with no_grad():
                original.data = new.detach()
            _register(self, "original", original)
        else:
            for index, tensor in enumerate(new):
                own = Parameter(tensor) if isinstance(original, Parameter) else tensor
                own.requires_grad = original.requires_grad
                _register(self, f"original{index}", own)
        if not unsafe:
            _check_kept("the tensor", original, self(), "a parametrization")

    def originals(self) -> list[Tensor]:
        """What the parametrizations start from."""
        names = ["original"] if self.is_tensor else [f"original{index}" for index in range(self.ntensors)]
        return [getattr(self, name) for name in names]

    def right_inverse(self, value: Tensor) -> None:
        """Set the originals such that the tensor becomes *value*.

        Raises
        ------
        RuntimeError
            If a parametrization has no ``right_inverse``.
        ValueError
            If the originals would get another dtype or number.
        """
        with no_grad():
            new = _inverted(self, value, strict=True)
            values = [new] if self.is_tensor else list(new) if isinstance(new, Sequence) else None
            if values is None or len(values) != self.ntensors or not all([isinstance(v, Tensor) for v in values]):
                raise ValueError(
                    f"right_inverse must return {self.ntensors} tensors, but returned {type(new).__name__}"
                )
            for own, tensor in zip(self.originals(), values):
                if tensor.dtype != own.dtype:
                    raise ValueError(
                        f"The tensor returned by `right_inverse` has dtype {tensor.dtype}, but `original` has {own.dtype}"
                    )
                own.data = tensor.detach()

    def forward(self) -> Tensor:
        """The tensor."""
        first, *others = self
        value = first(*self.originals())
        for parametrization in others:
            value = parametrization(value)
        return value


def _inverted(modules: Any, value: Any, strict: bool) -> Any:
    """What the last to the first parametrization's ``right_inverse`` make of a value; unless strict, some may have none."""
    for module in reversed(list(modules)):
        if hasattr(module, "right_inverse"):
            try:
                value = module.right_inverse(value)
            except NotImplementedError:
                if strict:
                    raise
                continue
        elif strict:
            raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
        if not isinstance(value, Tensor) and not isinstance(value, Sequence):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                f"Got {type(value).__name__}"
            )
    return value


def _check_kept(what: str, before: Tensor, after: Any, by: str) -> None:
    """Refuse a parametrization that returns something of another shape or dtype."""
    if not isinstance(after, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(after).__name__}.")
    for name in ("dtype", "shape"):
        if getattr(before, name) != getattr(after, name):
            raise ValueError(
                f"Registering a parametrization may not change the {name} of the tensor, unless the `unsafe` flag is "
                f"enabled.\n{what}: {getattr(before, name)}\n{by}: {getattr(after, name)}"
            )


def _register(module: Module, name: str, tensor: Tensor) -> None:
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _property(name: str) -> property:
    """The attribute of a module that is parametrized: read, it is computed; assigned, its originals are set."""

    def get(self: Any) -> Tensor:
        if not _Cache.depth:
            return self.parametrizations[name]()
        key = id(self), name
        if key not in _Cache.values:
            _Cache.values[key] = self.parametrizations[name]()
        return _Cache.values[key]

    def put(self: Any, value: Tensor) -> None:
        self.parametrizations[name].right_inverse(value)

    return property(get, put)


def _no_pickling(self: Any) -> NoReturn:
    raise RuntimeError("Serialization of parametrized modules is only supported through state_dict().")


def _deepcopied(self: Any, memo: dict[int, Any]) -> Any:
    """A copy, with a class of its own: removing its parametrizations leaves the other's alone."""
    kind = _subclass(type(self).__bases__[0])
    copied = memo[id(self)] = kind.__new__(kind)
    copied.__dict__.update(deepcopy(self.__dict__, memo))
    for name in copied.parametrizations:
        setattr(kind, name, _property(name))
    return copied


def _subclass(kind: Any) -> Any:
    """The class of a module that is parametrized."""
    members = {"__getstate__": _no_pickling, "__deepcopy__": _deepcopied}
    return types.new_class(f"Parametrized{kind.__name__}", (kind,), exec_body=lambda space: space.update(members))


def register_parametrization(
    module: _Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> _Module:
    """Have a parameter or buffer computed by a module each time it is read.

    The module's class becomes a subclass of its own, in which the tensor is a property; the tensor itself is
    ``module.parametrizations.<name>.original``.

    Parameters
    ----------
    module : Module
        The module.
    tensor_name : str
        The name of the parameter or buffer; if it is parametrized, the new parametrization is applied after the others.
    parametrization : Module
        Computes the tensor from the original. A method ``right_inverse`` says what original gives a tensor, so that
        the tensor can be assigned; it may return several, which then are ``original0``, ``original1`` and so on.
    unsafe : bool
        Whether shape and dtype may change.

    Returns
    -------
    Module
        The module given.

    Raises
    ------
    ValueError
        If there is no such tensor, or shape or dtype would change.

    Examples
    --------
    >>> import minitorch as torch
    >>> class Symmetric(torch.nn.Module):
    ...     def forward(self, X):
    ...         return X.triu() + X.triu(1).T
    >>> layer = torch.nn.utils.parametrize.register_parametrization(torch.nn.Linear(3, 3), "weight", Symmetric())
    >>> torch.equal(layer.weight, layer.weight.T)
    True
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        present = module.parametrizations[tensor_name]
        if not unsafe:
            before = getattr(module, tensor_name)
            after = parametrization(before)
            _check_kept(f"module.{tensor_name}", before, after, "parametrization")
            inverse = _inverted([parametrization], after, strict=False)
            _check_kept(f"module.{tensor_name}", before, inverse, "parametrization.right_inverse")
        present.append(parametrization)
        present.unsafe |= unsafe
        return module
    if tensor_name not in module._parameters and tensor_name not in module._buffers:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name '{tensor_name}'"
        )
    computed = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        module.__class__ = _subclass(type(module))
        module.parametrizations = ModuleDict()
    setattr(type(module), tensor_name, _property(tensor_name))
    module.parametrizations[tensor_name] = computed
    return module


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a module has parametrizations, or one on the tensor of this name.

    Examples
    --------
    >>> import minitorch as torch
    >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 2))
    >>> torch.nn.utils.parametrize.is_parametrized(layer, "weight")
    True
    """
    parametrizations = module.__dict__.get("parametrizations")
    if not isinstance(parametrizations, ModuleDict):
        return False
    return len(parametrizations) > 0 if tensor_name is None else tensor_name in parametrizations


def remove_parametrizations(module: _Module, tensor_name: str, leave_parametrized: bool = True) -> _Module:
    """Make a parametrized tensor a plain parameter or buffer again.

    Parameters
    ----------
    module : Module
        The module.
    tensor_name : str
        The tensor's name.
    leave_parametrized : bool
        Whether it keeps its computed value; if not, it becomes the original.

    Raises
    ------
    ValueError
        If it is not parametrized, or would become the original where there are several.

    Examples
    --------
    >>> import minitorch as torch
    >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 2))
    >>> torch.nn.utils.parametrize.remove_parametrizations(layer, "weight")
    Linear(in_features=2, out_features=2, bias=True)
    >>> [name for name, _ in layer.named_parameters()]
    ['bias', 'weight']
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    computed = module.parametrizations[tensor_name]
    if not computed.is_tensor and not leave_parametrized:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a sequence "
            "of tensors."
        )
    if not computed.is_tensor:
        value = getattr(module, tensor_name)
        original = Parameter(value.detach()) if value.requires_grad else value
    else:
        original = computed.original
        if leave_parametrized:
            with no_grad():
                original.data = getattr(module, tensor_name).detach()
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register(module, tensor_name, original)
    if not is_parametrized(module):
        del module.parametrizations
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """The class a module had before it was parametrized."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)
