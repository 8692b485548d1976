"""Which module of the model that was called is running, while recording is on: part of each mark, see ``_records``."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

from ._sites import running_path
from ._tape import extras_of

_enclosing: ContextVar[tuple[Any, ...]] = ContextVar("enclosing_modules", default=())


def enter_module(module: Any) -> Any:
    """Note that a module's call begins; what it returns is for ``leave_module``."""
    chain = _enclosing.get()
    if not chain:
        path = type(module).__name__
        for name, parameter in module.named_parameters():
            if parameter._node is not None:
                extras_of(parameter._node).names.setdefault(0, name)
        paths = {id(below): name for name, below in module.named_modules()}
        chain = ((module, path, paths),)
    else:
        path = chain[0][2].get(id(module)) or _path_below(chain, module)
        chain = (*chain, (module, path, {}))
    return _enclosing.set(chain), running_path.set(path)


def leave_module(tokens: Any) -> None:
    """Note that a module's call ends."""
    enclosing, path = tokens
    _enclosing.reset(enclosing)
    running_path.reset(path)


def _path_below(chain: tuple[Any, ...], module: Any) -> str:
    """The path of a module that the model had not when its call began: by the innermost of the running ones that has it."""
    for depth in range(len(chain) - 1, -1, -1):
        parent, path, _ = chain[depth]
        for name, below in parent.named_modules():
            if below is module and name:
                return name if depth == 0 else f"{path}.{name}"
    path = f"{chain[-1][1]}.({type(module).__name__})"
    for name, parameter in module.named_parameters():
        if parameter._node is not None:
            extras_of(parameter._node).names.setdefault(0, f"{path}.{name}")
    return path
