"""Modules that hold modules or parameters."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar, overload

from ..._errors import scalar_name
from ..._tensor import Tensor
from ..parameter import Parameter
from .module import Module

_Indexed = TypeVar("_Indexed", bound="_IndexedModules")
_Parameters = TypeVar("_Parameters", bound="ParameterList")


def position(index: Any, size: int) -> int:
    """An index counted from 0; IndexError out of range."""
    number = operator.index(index)
    if not -size <= number < size:
        raise IndexError(f"index {index} is out of range")
    return number % size


class _IndexedModules(Module):
    """Submodules in order, reached by index."""

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            return self._sliced(list(self._modules.items())[idx])
        return self._modules[list(self._module_names)[position(idx, len(self))]]

    def _sliced(self, items: list[tuple[str, Module]]) -> Any:
        raise NotImplementedError

    def __setitem__(self, idx: int, module: Module) -> None:
        setattr(self, list(self._module_names)[position(idx, len(self))], module)

    def __delitem__(self, idx: int | slice) -> None:
        modules = list(self._modules.values())
        if isinstance(idx, slice):
            del modules[idx]
        else:
            del modules[position(idx, len(self))]
        self._replace(modules)

    def _replace(self, modules: list[Module]) -> None:
        """Hold exactly these modules, numbered from 0."""
        self._modules.clear()
        for number, module in enumerate(modules):
            self.add_module(str(number), module)

    def __len__(self) -> int:
        return len(self._module_names)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def append(self: _Indexed, module: Module) -> _Indexed:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self: _Indexed, modules: Iterable[Module]) -> _Indexed:
        """Add modules at the end."""
        if not isinstance(modules, Iterable):
            raise TypeError(
                f"{self._get_name()}.extend should be called with an iterable, but got {type(modules).__name__}"
            )
        for module in list(modules):
            self.append(module)
        return self

    def insert(self: _Indexed, index: int, module: Module) -> _Indexed:
        """Add a module before the one at *index*."""
        if not -len(self) <= index <= len(self):
            raise IndexError(f"Index out of range: {index}")
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        modules = list(self._modules.values())
        modules.insert(index, module)
        self._replace(modules)
        return self

    def pop(self, key: int | slice) -> Any:
        """Remove the module at an index, or those of a slice, and return it."""
        removed = self[key]
        del self[key]
        return removed


class Sequential(_IndexedModules):
    """Modules called one after the other, each with the output of the one before.

    Parameters
    ----------
    *args : Module
        The modules, or one OrderedDict of them with their names.

    Examples
    --------
    >>> import minitorch as torch
    >>> from minitorch import nn
    >>> network = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    >>> network(torch.ones(4, 2)).shape
    torch.Size([4, 1])
    >>> network[:2]
    Sequential(
      (0): Linear(in_features=2, out_features=3, bias=True)
      (1): ReLU()
    )
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        named = (
            args[0] if len(args) == 1 and isinstance(args[0], OrderedDict) else {str(i): m for i, m in enumerate(args)}
        )
        for name, module in named.items():
            self.add_module(name, module)

    def forward(self, input: Any) -> Any:
        modules = self.__dict__
        for name in self._module_names:
            input = modules[name](input)
        return input

    def _sliced(self, items: list[tuple[str, Module]]) -> Sequential:
        return type(self)(OrderedDict(items))

    def __add__(self, other: Any) -> Sequential:
        return self._joined(other, Sequential(*self))

    def __iadd__(self, other: Any) -> Sequential:
        return self._joined(other, self)

    def _joined(self, other: Any, target: Sequential) -> Sequential:
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        return target.extend(other)

    def __mul__(self, other: int) -> Sequential:
        return Sequential(*list(self) * self._factor(other))

    __rmul__ = __mul__

    def __imul__(self, other: int) -> Sequential:
        return self.extend(list(self) * (self._factor(other) - 1))

    def _factor(self, factor: Any) -> int:
        if not isinstance(factor, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(factor)}")
        if factor <= 0:
            raise ValueError(f"Non-positive multiplication factor {factor} for {type(self)}")
        return factor


class ModuleList(_IndexedModules):
    """A list of modules whose parameters are those of the module that holds it.

    Parameters
    ----------
    modules : iterable of Module, optional
        What it starts with.

    Examples
    --------
    >>> from minitorch import nn
    >>> nn.ModuleList([nn.Linear(2, 2) for _ in range(3)])
    ModuleList(
      (0-2): 3 x Linear(in_features=2, out_features=2, bias=True)
    )
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def insert(self, index: int, module: Module) -> ModuleList:
        """Add a module before the one at *index*; past the end, that is its name, as in PyTorch."""
        if index > len(self):
            self.add_module(str(index), module)
            return self
        return super().insert(index, module)

    def _sliced(self, items: list[tuple[str, Module]]) -> ModuleList:
        return type(self)([module for _, module in items])

    def __iadd__(self, modules: Iterable[Module]) -> ModuleList:
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList([*self, *other])

    def __repr__(self) -> str:
        runs: list[tuple[int, int, str]] = []  # first and last index of modules that print alike, and how they do
        for index, module in enumerate(self):
            printed = repr(module)
            if runs and runs[-1][2] == printed:
                runs[-1] = runs[-1][0], index, printed
            else:
                runs.append((index, index, printed))
        lines = [
            f"({first}): {printed}" if first == last else f"({first}-{last}): {last - first + 1} x {printed}"
            for first, last, printed in runs
        ]
        body = "".join(["\n  " + line.replace("\n", "\n  ") for line in lines])
        return f"{self._get_name()}({body}\n)" if body else f"{self._get_name()}()"


def pairs(items: Any, kind: str) -> Iterable[tuple[str, Any]]:
    """The items of a mapping, or of an iterable of pairs, checked."""
    if not isinstance(items, Iterable):
        raise TypeError(
            f"{kind}.update should be called with an iterable of key/value pairs, but got {type(items).__name__}"
        )
    if isinstance(items, (Mapping, ModuleDict, ParameterDict)):
        return list(items.items())
    checked = []
    for number, item in enumerate(items):
        if not isinstance(item, Iterable):
            raise TypeError(f"{kind} update sequence element #{number} should be Iterable; is{type(item).__name__}")
        key_and_value = tuple(item)
        if len(key_and_value) != 2:
            raise ValueError(f"{kind} update sequence element #{number} has length {len(key_and_value)}; 2 is required")
        checked.append(key_and_value)
    return checked


class ModuleDict(Module):
    """A dictionary of modules whose parameters are those of the module that holds it.

    Parameters
    ----------
    modules : mapping, or iterable of pairs, optional
        What it starts with.

    Examples
    --------
    >>> from minitorch import nn
    >>> layers = nn.ModuleDict({"linear": nn.Linear(2, 1), "act": nn.ReLU()})
    >>> layers["act"], "linear" in layers
    (ReLU(), True)
    """

    def __init__(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._module_names)

    def __iter__(self) -> Iterator[str]:
        return iter(self._module_names)

    def __contains__(self, key: str) -> bool:
        return key in self._module_names

    def clear(self) -> None:
        """Remove all modules."""
        self._modules.clear()

    def pop(self, key: str) -> Any:
        """Remove a module and return it."""
        return self._modules.pop(key)

    def keys(self) -> Iterable[str]:
        """The names."""
        return self._modules.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Names and modules."""
        return self._modules.items()

    def values(self) -> Iterable[Any]:
        """The modules."""
        return self._modules.values()

    def update(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]]) -> None:
        """Add or replace modules."""
        for key, module in pairs(modules, "ModuleDict"):
            self[key] = module


def as_parameter(value: Any) -> Any:
    """A plain tensor as a parameter; anything else as it is."""
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


def described(value: Any, kind: str) -> str:
    """How a list or dictionary of parameters prints an entry."""
    if not isinstance(value, Tensor):
        return f"Object of type: {type(value).__name__}"
    what = "Parameter" if isinstance(value, Parameter) else "Tensor"
    return f"{what} containing: [{kind} of size {'x'.join(map(str, value.shape))}]"


class ParameterList(Module):
    """A list of parameters; tensors put into it become parameters, other values are kept as they are.

    Parameters
    ----------
    values : iterable, optional
        What it starts with.

    Examples
    --------
    >>> import minitorch as torch
    >>> weights = torch.nn.ParameterList([torch.ones(2, 3)])
    >>> weights
    ParameterList(  (0): Parameter containing: [torch.float32 of size 2x3])
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    @overload
    def __getitem__(self, idx: int) -> Any: ...
    @overload
    def __getitem__(self: _Parameters, idx: slice) -> _Parameters: ...
    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            return type(self)(list(self)[idx])
        return getattr(self, str(position(idx, len(self))))

    def __setitem__(self, idx: int, param: Any) -> None:
        setattr(self, str(position(idx, len(self))), as_parameter(param))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter([getattr(self, str(i)) for i in range(self._size)])

    def __iadd__(self: _Parameters, parameters: Iterable[Any]) -> _Parameters:
        return self.extend(parameters)

    def append(self: _Parameters, value: Any) -> _Parameters:
        """Add a value at the end."""
        setattr(self, str(self._size), as_parameter(value))
        self._size += 1
        return self

    def extend(self: _Parameters, values: Iterable[Any]) -> _Parameters:
        """Add values at the end."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in list(values):
            self.append(value)
        return self

    def extra_repr(self) -> str:
        return "\n".join([f"  ({i}): {described(v, str(getattr(v, 'dtype', '')))}" for i, v in enumerate(self)])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """A dictionary of parameters; tensors put into it become parameters, other values are kept as they are.

    Parameters
    ----------
    parameters : mapping, or iterable of pairs, optional
        What it starts with.

    Examples
    --------
    >>> import minitorch as torch
    >>> weights = torch.nn.ParameterDict({"scale": torch.ones(2)})
    >>> weights["scale"].requires_grad, list(weights)
    (True, ['scale'])
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key: str) -> Any:
        return getattr(self, self._checked(key))

    def __setitem__(self, key: str, value: Any) -> None:
        setattr(self, self._checked(key), as_parameter(value))
        self._keys[key] = None

    def _checked(self, key: Any) -> str:
        if not isinstance(key, str):
            raise TypeError(
                "Index given to ParameterDict cannot be used as a key as it is not a string "
                f"(type is '{type(key).__name__}')."
            )
        return key

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._keys)

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def copy(self) -> ParameterDict:
        """A new dictionary of the same parameters."""
        return ParameterDict(OrderedDict(self.items()))

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The value of a key, which is first set to *default* if there is none."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Remove everything."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key: str) -> Any:
        """Remove a key and return its value."""
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Remove the last key and return it with its value."""
        key = next(reversed(self._keys))
        return key, self.pop(key)

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a key, or *default*."""
        return self[key] if key in self else default  # noqa: SIM401  # this is what it would call

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """A new dictionary with these keys, all of one value."""
        return ParameterDict([(key, default) for key in keys])

    def keys(self) -> Iterable[str]:
        """The keys."""
        return self._keys.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Keys and values."""
        return ((key, self[key]) for key in self._keys)

    def values(self) -> Iterable[Any]:
        """The values."""
        return (self[key] for key in self._keys)

    def update(self, parameters: Any) -> None:
        """Add or replace parameters; those of an unordered mapping are taken in the order of their keys."""
        items = pairs(parameters, "ParameterDict")
        ordered = isinstance(parameters, (OrderedDict, ParameterDict)) or not isinstance(parameters, Mapping)
        for key, value in items if ordered else sorted(items):
            self[key] = value

    def extra_repr(self) -> str:
        lines = []
        for key, value in self.items():
            kind = f"torch.{scalar_name(value._array.dtype)}Tensor" if isinstance(value, Tensor) else ""
            lines.append(f"  ({key}): {described(value, kind)}")
        return "\n".join(lines)

    def __call__(self, input: Any) -> Any:
        raise RuntimeError("ParameterDict should not be called.")

    def __or__(self, other: ParameterDict) -> ParameterDict:
        joined = self.copy()
        joined.update(other)
        return joined

    def __ror__(self, other: ParameterDict) -> ParameterDict:
        joined = other.copy()
        joined.update(self)
        return joined

    def __ior__(self, other: ParameterDict) -> ParameterDict:
        self.update(other)
        return self
