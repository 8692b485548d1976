"""Registering hooks: on one module, and on all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._extras import RemovableHandle
from ._hooks import EVERYWHERE, ModuleHooks, set_backward_kind


class HookHandle(RemovableHandle):
    """Removes a module's hook, and what was noted of it."""

    __slots__ = ("_notes",)

    def __init__(
        self,
        hooks: dict[Any, Any],
        hook: Callable[..., Any],
        prepend: bool = False,
        *notes: tuple[dict[Any, Any], bool],
    ) -> None:
        earlier = list(hooks) if prepend else []
        super().__init__(hooks, hook)
        for key in earlier:
            hooks[key] = hooks.pop(key)
        self._notes = [marks for marks, marked in notes if marked]
        for marks in self._notes:
            marks[self._key] = True

    def remove(self) -> None:
        """Unregister the hook; nothing happens when it was removed before."""
        super().remove()
        for marks in self._notes:
            marks.pop(self._key, None)


class HookDict:
    """``module._forward_hooks`` and its kin: the hooks of one kind, by key, as PyTorch names them."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def __get__(self, module: Any, owner: Any = None) -> Any:
        return self if module is None else getattr(module._module_hooks(), self.kind)

    def __set__(self, module: Any, hooks: dict[Any, Any]) -> None:
        setattr(module._module_hooks(), self.kind, hooks)


class _Missing:
    """The end of ``__getattr__``: a base of the classes that define one, which makes all their attributes slower."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)


class Hooked:
    """What has hooks around ``forward`` and around the backward pass; they stand in one object, made for the first."""

    _hooks: ModuleHooks | None = None  # EVERYWHERE as soon as there are hooks for all modules

    _forward_hooks = HookDict("forward")
    _forward_hooks_with_kwargs = HookDict("forward_with_kwargs")
    _forward_hooks_always_called = HookDict("forward_always_called")
    _forward_pre_hooks = HookDict("forward_pre")
    _forward_pre_hooks_with_kwargs = HookDict("forward_pre_with_kwargs")
    _backward_hooks = HookDict("backward")
    _backward_pre_hooks = HookDict("backward_pre")
    _is_full_backward_hook = HookDict("full_backward")

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "__getattr__" in vars(cls) and not issubclass(cls, _Missing):
            cls.__bases__ = (*cls.__bases__, _Missing)

    def _module_hooks(self) -> ModuleHooks:
        """This module's hooks, made on first use."""
        hooks: ModuleHooks | None = self.__dict__.get("_hooks")
        if hooks is None:
            hooks = self.__dict__["_hooks"] = ModuleHooks()
        return hooks

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args)`` before ``forward``; what it returns replaces the arguments.

        With *with_kwargs* it is ``hook(module, args, kwargs)``, and it returns None or ``(args, kwargs)``; with
        *prepend* it runs before the hooks that are there.
        """
        hooks = self._module_hooks()
        return HookHandle(hooks.forward_pre, hook, prepend, (hooks.forward_pre_with_kwargs, with_kwargs))

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args, output)`` after ``forward``; what it returns, unless None, replaces the output.

        With *with_kwargs* it is ``hook(module, args, kwargs, output)``; with *always_call* it runs even if ``forward``
        raises.

        Examples
        --------
        >>> import minitorch as torch
        >>> layer = torch.nn.Identity()
        >>> handle = layer.register_forward_hook(lambda module, args, output: output * 2)
        >>> layer(torch.ones(1))
        tensor([2.])
        """
        return forward_hook(self._module_hooks(), hook, prepend, with_kwargs, always_call)

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(module, grad_output)`` when the outputs' gradients are known; what it returns replaces them."""
        return HookHandle(self._module_hooks().backward_pre, hook, prepend)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` when the gradients of the inputs are known.

        Both are tuples; what it returns replaces ``grad_input``.

        Raises
        ------
        RuntimeError
            If the module has hooks of the older kind, ``register_backward_hook``.
        """
        hooks = set_backward_kind(self._module_hooks(), True)
        return HookHandle(hooks.backward, hook, prepend)

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` at the node that made the output; the older kind of hook.

        ``grad_input`` is of that node, not of the module: `register_full_backward_hook` sees the module's.

        Raises
        ------
        RuntimeError
            If the module has full backward hooks.

        Examples
        --------
        >>> import minitorch as torch
        >>> layer = torch.nn.ReLU()
        >>> handle = layer.register_backward_hook(lambda module, grad_input, grad_output: print(grad_output))
        >>> layer(torch.ones(2, requires_grad=True) * 1).sum().backward()
        (tensor([1., 1.]),)
        """
        hooks = set_backward_kind(self._module_hooks(), False)
        return HookHandle(hooks.backward, hook)


def forward_hook(
    hooks: ModuleHooks, hook: Callable[..., Any], prepend: bool, with_kwargs: bool, always_call: bool
) -> RemovableHandle:
    """Add a forward hook."""
    notes = ((hooks.forward_with_kwargs, with_kwargs), (hooks.forward_always_called, always_call))
    return HookHandle(hooks.forward, hook, prepend, *notes)


# -- on all modules ----------------------------------------------------------------------------------------------------
def everywhere() -> ModuleHooks:
    """The hooks of all modules, which are looked at from now on."""
    Hooked._hooks = EVERYWHERE
    return EVERYWHERE


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, args)`` before ``forward`` of every module, and before its own hooks.

    Examples
    --------
    >>> import minitorch as torch
    >>> register = torch.nn.modules.module.register_module_forward_pre_hook
    >>> with register(lambda module, args: print(type(module).__name__)):
    ...     _ = torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.ReLU())(torch.ones(1))
    Sequential
    Linear
    ReLU
    """
    return HookHandle(everywhere().forward_pre, hook)


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call ``hook(module, args, output)`` after ``forward`` of every module, and before its own hooks."""
    return forward_hook(everywhere(), hook, False, with_kwargs, always_call)


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, grad_output)`` for every module."""
    return HookHandle(everywhere().backward_pre, hook)


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, grad_input, grad_output)`` for every module."""
    return HookHandle(set_backward_kind(everywhere(), True).backward, hook)


def register_module_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, grad_input, grad_output)`` for every module: `register_backward_hook` on all."""
    return HookHandle(set_backward_kind(everywhere(), False).backward, hook)
