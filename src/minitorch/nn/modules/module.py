"""class Module: what every layer and network derives from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from ..._casts import typename
from ..._modes import observers
from ..._module_paths import enter_module, leave_module
from ..._passes import note_replaced, tell
from ..._records import recordings, tell_parts
from ..._tape import AccumulateGrad
from ..._tensor import Tensor
from ..parameter import Buffer, Parameter
from . import _conversion, _state_dict
from ._hooked import (
    HookDict,
    Hooked,
    register_module_backward_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
)
from ._hooks import call_with_hooks, has_hooks
from ._registration import (
    BUFFER_HOOKS,
    MODULE_HOOKS,
    PARAMETER_HOOKS,
    hooked,
    register_module_buffer_registration_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from ._registry import Registry
from ._where import note_place

__all__ = [
    "Module", "register_module_backward_hook", "register_module_buffer_registration_hook",
    "register_module_forward_hook", "register_module_forward_pre_hook", "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook", "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]  # fmt: skip

_Module = TypeVar("_Module", bound="Module")


class Module(Hooked):
    """The base of all layers and networks: write ``__init__``, which calls ``super().__init__()``, and ``forward``.

    Parameters, buffers and modules that are assigned as attributes are registered: ``parameters()``, ``state_dict()``,
    ``to()``, ``train()`` and the like reach them, those of submodules too.

    Attributes
    ----------
    training : bool
        Whether the module is in training mode (see ``train`` and ``eval``).

    Examples
    --------
    >>> import minitorch as torch
    >>> class Scale(torch.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.factor = torch.nn.Parameter(torch.tensor(2.0))
    ...     def forward(self, input):
    ...         return self.factor * input
    >>> scale = Scale()
    >>> scale(torch.ones(2)).sum().backward()
    >>> [(name, p.grad) for name, p in scale.named_parameters()]
    [('factor', tensor(2.))]
    """

    # Parameters, buffers and modules stand in the instance's __dict__, where Python finds them fastest; these three
    # hold their names.  See _registry.
    _parameter_names: dict[str, None]
    _buffer_names: dict[str, None]
    _module_names: dict[str, None]
    _non_persistent_buffers_set: set[str]
    training: bool

    _version = 1
    _state_hooks: _state_dict.StateHooks | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if kwargs:
            raise TypeError(
                f"{type(self).__name__}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'"
            )
        if args:
            raise TypeError(
                f"{type(self).__name__}.__init__() takes 1 positional argument but {len(args) + 1} were given"
            )
        self.__dict__.update(
            training=True, _parameter_names={}, _buffer_names={}, _module_names={}, _non_persistent_buffers_set=set()
        )

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What calling the module computes; every subclass defines it."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        noted = enter_module(self) if recordings else None
        try:
            if self._hooks is None or not has_hooks(self):
                return self.forward(*args, **kwargs)
            return call_with_hooks(self, args, kwargs)
        except Exception as error:
            note_place(error, Module.__call__.__code__)
            raise
        finally:
            if noted is not None:
                leave_module(noted)

    def _misfit(self, *args: Any, **kwargs: Any) -> str:
        """After an error: which shape of these arguments does not fit, and what to do; empty where all do."""
        return ""

    # -- attributes ----------------------------------------------------------------------------------------------------
    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def __setattr__(self, name: str, value: Any) -> None:
        attributes = self.__dict__
        if isinstance(value, Parameter):
            _require_init(attributes, "parameters")
            self._forget(name, "_parameter_names")
            if recordings and name in self._parameter_names:
                note_replaced(self._parameters[name], value)
            self.register_parameter(name, value)
            return
        if name in attributes and "_module_names" in attributes:
            self._check_replacement(name, value)
        if isinstance(value, Module):
            _require_init(attributes, "module")
            self._forget(name, "_module_names")
            value = hooked(MODULE_HOOKS, self, name, value) if MODULE_HOOKS else value
            if recordings and name in self._module_names:
                note_replaced(self._modules[name], value)
            self._modules[name] = value
        elif isinstance(value, Buffer):
            _require_init(attributes, "buffer")
            self._forget(name, "_buffer_names")
            self.register_buffer(name, value, value.persistent)
        else:
            if MODULE_HOOKS and name in attributes.get("_module_names", ()):
                value = hooked(MODULE_HOOKS, self, name, value)
            elif BUFFER_HOOKS and name in attributes.get("_buffer_names", ()):
                value = hooked(BUFFER_HOOKS, self, name, value)
            object.__setattr__(self, name, value)

    def _check_replacement(self, name: str, value: Any) -> None:
        """Refuse to put a value of another kind where a parameter, a module or a buffer is registered."""
        if value is None:
            return
        if name in self._parameter_names:
            kind, allowed = "parameter", "torch.nn.Parameter or None"
        elif name in self._module_names and not isinstance(value, Module):
            kind, allowed = "child module", "torch.nn.Module or None"
        elif name in self._buffer_names and not isinstance(value, (Tensor, Module)):
            kind, allowed = "buffer", "torch.nn.Buffer, torch.Tensor or None"
        else:
            return
        raise TypeError(f"cannot assign '{typename(value)}' as {kind} '{name}' ({allowed} expected)")

    def _forget(self, name: str, kept: str) -> None:
        """Remove an attribute that is about to be registered under another kind."""
        attributes = self.__dict__
        if name in attributes and name not in attributes[kept]:
            for names in ("_parameter_names", "_buffer_names", "_module_names"):
                attributes[names].pop(name, None)
            self._non_persistent_buffers_set.discard(name)
            del attributes[name]

    def __delattr__(self, name: str) -> None:
        object.__delattr__(self, name)
        for names in ("_parameter_names", "_buffer_names", "_module_names"):
            self.__dict__.get(names, {}).pop(name, None)
        self.__dict__.get("_non_persistent_buffers_set", set()).discard(name)

    def __dir__(self) -> list[str]:
        return sorted([name for name in super().__dir__() if not name[0].isdigit()])

    def __copy__(self: _Module) -> _Module:
        copied = type(self).__new__(type(self))
        copied.__dict__.update(self.__dict__)
        for names in ("_parameter_names", "_buffer_names", "_module_names", "_non_persistent_buffers_set"):
            if names in self.__dict__:
                copied.__dict__[names] = self.__dict__[names].copy()
        return copied

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take over a pickled state; PyTorch's has its members in dictionaries of their own, and more hooks."""
        Module.__init__(self)
        for members, names in (
            ("_parameters", "_parameter_names"),
            ("_buffers", "_buffer_names"),
            ("_modules", "_module_names"),
        ):
            if members in state:
                self.__dict__.update(state[members])
                self.__dict__[names].update(dict.fromkeys(state[members]))
        for name, value in state.items():
            if isinstance(getattr(Hooked, name, None), HookDict):
                if value:
                    setattr(self, name, value)
            elif name not in ("_parameters", "_buffers", "_modules") and not (name.endswith("_hooks") and not value):
                self.__dict__[name] = value

    @property
    def _parameters(self) -> Registry:
        return Registry(self.__dict__, self._parameter_names)

    @property
    def _buffers(self) -> Registry:
        return Registry(self.__dict__, self._buffer_names)

    @property
    def _modules(self) -> Registry:
        return Registry(self.__dict__, self._module_names)

    # -- registration --------------------------------------------------------------------------------------------------
    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter, or None as the place of one: the same as assigning it.

        Raises
        ------
        KeyError
            If the name is taken, empty or has a dot.
        TypeError
            If *param* is no Parameter.
        """
        _require_init(self.__dict__, "parameter")
        self._check_name(name, "parameter", self._parameter_names)
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{typename(param)}' object to parameter '{name}' (torch.nn.Parameter or None required)"
            )
        if param is not None and param.grad_fn is not None:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly. "
                f"To express '{name}' as a function of another Tensor, compute the value in the forward() method."
            )
        if param is not None and PARAMETER_HOOKS:
            param = hooked(PARAMETER_HOOKS, self, name, param)
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that is moved and saved with the module but is no parameter.

        Parameters
        ----------
        name : str
            The attribute's name.
        tensor : Tensor or None
            The buffer; None stands for its place.
        persistent : bool, default True
            Whether ``state_dict()`` has it.
        """
        _require_init(self.__dict__, "buffer")
        self._check_name(name, "buffer", self._buffer_names)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
            )
        self._buffers[name] = hooked(BUFFER_HOOKS, self, name, tensor) if BUFFER_HOOKS else tensor
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a submodule, or None as the place of one: the same as assigning it."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{typename(module)} is not a Module subclass")
        _require_init(self.__dict__, "module")
        self._check_name(name, "module", self._module_names)
        self._modules[name] = hooked(MODULE_HOOKS, self, name, module) if MODULE_HOOKS else module

    register_module = add_module

    def _check_name(self, name: Any, kind: str, taken: dict[str, None]) -> None:
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {typename(name)}")
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain "."' + (f", got: {name}" if kind == "module" else ""))
        if not name:
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if hasattr(self, name) and name not in taken:
            raise KeyError(f"attribute '{name}' already exists")

    # -- looking up ----------------------------------------------------------------------------------------------------
    def get_submodule(self, target: str) -> Module:
        """The submodule of this dotted name; ``""`` is the module itself."""
        module: Module = self
        for name in target.split(".") if target else ():
            if not hasattr(module, name):
                raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
            module = getattr(module, name)
            if not isinstance(module, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put a module at this dotted name, whose parents must be there; with *strict*, one must be there to replace.

        Examples
        --------
        >>> import minitorch as torch
        >>> model = torch.nn.Sequential(torch.nn.Sequential(torch.nn.ReLU()))
        >>> model.set_submodule("0.0", torch.nn.Tanh())
        >>> model[0]
        Sequential(
          (0): Tanh()
        )
        """
        if not target:
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter of this dotted name."""
        owner, name = self._owner(target)
        if name not in owner._parameter_names:
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return getattr(owner, name)

    def get_buffer(self, target: str) -> Tensor:
        """The buffer of this dotted name."""
        owner, name = self._owner(target)
        if name not in owner._buffer_names:
            raise AttributeError(f"`{name}` is not a buffer")
        return getattr(owner, name)

    def _owner(self, target: str) -> tuple[Module, str]:
        """The submodule that has an attribute of this dotted name, and the last part of the name."""
        path, _, name = target.rpartition(".")
        owner = self.get_submodule(path)
        if not hasattr(owner, name):
            raise AttributeError(f"{owner._get_name()} has no attribute `{name}`")
        return owner, name

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """This module and all below it, with dotted names; one that is reached twice is given once."""
        memo = set() if memo is None else memo
        if self not in memo:
            if remove_duplicate:
                memo.add(self)
            yield prefix, self
            for name, module in self._modules.items():
                if module is not None:
                    below = f"{prefix}.{name}" if prefix else name
                    yield from module.named_modules(memo, below, remove_duplicate)

    def modules(self) -> Iterator[Module]:
        """This module and all below it."""
        for _, module in self.named_modules():
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The modules just below, with their names."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator[Module]:
        """The modules just below."""
        for _, module in self.named_children():
            yield module

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """All parameters with dotted names; one that is shared is given once, unless *remove_duplicate* is False."""
        return self._named_members(lambda module: module._parameters.items(), prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """All parameters, those of submodules too if *recurse*: what an optimizer is given."""
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """All buffers with dotted names."""
        return self._named_members(lambda module: module._buffers.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """All buffers."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def _named_members(
        self, members: Callable[[Module], Any], prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """What *members* gives for this module and those below, with dotted names."""
        seen = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, value in members(module):
                if value is not None and value not in seen:
                    if remove_duplicate:
                        seen.add(value)
                    yield f"{path}.{name}" if path else name, value

    # -- doing something everywhere ------------------------------------------------------------------------------------
    def apply(self: _Module, fn: Callable[[Module], None]) -> _Module:
        """Call ``fn(module)`` for every module, those below first, and return this one; for initialising, mostly."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def train(self: _Module, mode: bool = True) -> _Module:
        """Switch training mode, which layers such as Dropout ask for, on or off here and below."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self: _Module) -> _Module:
        """Switch to evaluation mode: ``train(False)``."""
        return self.train(False)

    def requires_grad_(self: _Module, requires_grad: bool = True) -> _Module:
        """Set whether gradients are computed for the parameters."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Reset the gradients of all parameters: to None, or in place to zero."""
        for parameter in self.parameters():
            clear_grad(parameter, set_to_none)

    # -- conversions ---------------------------------------------------------------------------------------------------
    _apply = _conversion.apply_to_tensors
    to = _conversion.to
    _to_floating = _conversion.to_floating
    float = _conversion.float
    double = _conversion.double
    half = _conversion.half
    bfloat16 = _conversion.bfloat16
    type = _conversion.type
    to_empty = _conversion.to_empty
    cpu = _conversion.cpu
    cuda = _conversion.cuda
    xpu = _conversion.xpu
    share_memory = _conversion.share_memory

    # -- saving and loading --------------------------------------------------------------------------------------------
    state_dict = _state_dict.state_dict
    load_state_dict = _state_dict.load_state_dict
    get_extra_state = _state_dict.get_extra_state
    set_extra_state = _state_dict.set_extra_state
    _save_to_state_dict = _state_dict.save_to_state_dict
    _load_from_state_dict = _state_dict.load_from_state_dict
    register_state_dict_pre_hook = _state_dict.register_state_dict_pre_hook
    register_state_dict_post_hook = _state_dict.register_state_dict_post_hook
    register_load_state_dict_pre_hook = _state_dict.register_load_state_dict_pre_hook
    register_load_state_dict_post_hook = _state_dict.register_load_state_dict_post_hook
    _register_state_dict_hook = _state_dict.register_state_dict_hook
    _register_load_state_dict_pre_hook = _state_dict.register_load_state_dict_pre_hook_without_module

    # -- printing ------------------------------------------------------------------------------------------------------
    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """What stands between the parentheses when the module is printed."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): " + repr(module).replace("\n", "\n  ") for name, module in self._modules.items()]
        if len(lines) == 1 and not children:
            return f"{self._get_name()}({lines[0]})"
        body = "".join(["\n  " + line for line in lines + children])
        return f"{self._get_name()}({body}\n)" if body else f"{self._get_name()}()"


def _require_init(attributes: dict[str, Any], kind: str) -> None:
    if "_module_names" not in attributes:
        raise AttributeError(f"cannot assign {kind} before Module.__init__() call")


def grad_of(tensor: Any) -> Any:
    """A tensor's gradient, for those who only clear it: nobody is told that it was looked at."""
    node = tensor._node
    return node.grad if node.__class__ is AccumulateGrad else tensor.grad


def clear_grad(tensor: Any, set_to_none: bool = True) -> None:
    """Reset a tensor's gradient: to None, or in place to zero."""
    grad = grad_of(tensor)
    if grad is None:
        if observers and set_to_none:
            tell_parts("graded", tensor, None, None)
        elif observers:
            tell_parts("grad_read", tensor, None)
        return
    if set_to_none:
        tensor.grad = None
        return
    if grad.grad_fn is not None:
        grad.detach_()
    else:
        grad.requires_grad = False
    tell(tensor._node, "zeroed")
    grad.zero_()
