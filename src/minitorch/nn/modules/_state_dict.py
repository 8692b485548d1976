"""``state_dict()`` and ``load_state_dict()`` of modules."""

from __future__ import annotations

import contextlib
import copy
import warnings
from collections import OrderedDict, namedtuple
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..._extras import RemovableHandle
from ..._modes import no_grad
from ..._tensor import Tensor
from ..parameter import Parameter, is_lazy
from ._hooks import registered

EXTRA_STATE = "_extra_state"


class IncompatibleKeys(namedtuple("IncompatibleKeys", ("missing_keys", "unexpected_keys"))):
    """What ``load_state_dict(strict=False)`` found: keys the module has and the dictionary lacks, and the reverse."""

    __slots__ = ()
    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"


class StateHooks:
    """A module's hooks around saving and loading."""

    __slots__ = ("load_post", "load_pre", "save_post", "save_pre")

    def __init__(self) -> None:
        self.save_pre: dict[Any, Callable[..., Any]] = {}
        self.save_post: dict[Any, tuple[Callable[..., Any], bool]] = {}
        self.load_pre: dict[Any, tuple[Callable[..., Any], bool]] = {}
        self.load_post: dict[Any, Callable[..., Any]] = {}


def state_hooks(module: Any) -> StateHooks:
    """The module's hooks around saving and loading, made on first use."""
    if module._state_hooks is None:
        module._state_hooks = StateHooks()
    return module._state_hooks


# -- saving ------------------------------------------------------------------------------------------------------------
def state_dict(
    self: Any, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
) -> dict[str, Any]:
    """All parameters and persistent buffers by dotted name, sharing the module's memory.

    Parameters
    ----------
    destination : dict, optional
        The dictionary to fill.
    prefix : str
        What every name starts with.
    keep_vars : bool, default False
        Whether the tensors themselves are given, rather than detached ones.

    Examples
    --------
    >>> import minitorch as torch
    >>> list(torch.nn.Sequential(torch.nn.Linear(2, 1), torch.nn.ReLU()).state_dict())
    ['0.weight', '0.bias']
    """
    if args:
        destination, prefix, keep_vars = positional(args, destination, prefix, keep_vars)
    if destination is None:
        destination = OrderedDict()
        destination._metadata = OrderedDict()
    metadata = {"version": self._version}
    if hasattr(destination, "_metadata"):
        destination._metadata[prefix[:-1]] = metadata
    hooks = self._state_hooks
    if hooks is not None:
        for hook in tuple(hooks.save_pre.values()):
            hook(self, prefix, keep_vars)
    self._save_to_state_dict(destination, prefix, keep_vars)
    for name, module in self._modules.items():
        if module is not None:
            module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
    if hooks is not None:
        for hook, may_replace in tuple(hooks.save_post.values()):
            replacement = hook(self, destination, prefix, metadata)
            if replacement is not None:
                if not may_replace:
                    raise RuntimeError("state_dict post-hook must return None")
                destination = replacement
    return destination


def positional(args: tuple[Any, ...], destination: Any, prefix: str, keep_vars: bool) -> tuple[Any, str, bool]:
    """The options of ``state_dict``, the first of them given by position, as they were before they had to be named."""
    warnings.warn(
        "Positional args are being deprecated, use kwargs instead: state_dict(destination=..., prefix=..., keep_vars=...)",
        FutureWarning,
        stacklevel=3,
    )
    given = (*args, *(destination, prefix, keep_vars)[len(args) :])
    return given[0], given[1], given[2]


def save_to_state_dict(self: Any, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
    """Put this module's own parameters, buffers and extra state into *destination*; subclasses may add to it."""
    for name, tensor in local_state(self):
        destination[prefix + name] = tensor if keep_vars else tensor.detach()
    if type(self).get_extra_state is not get_extra_state:
        destination[prefix + EXTRA_STATE] = self.get_extra_state()


def local_state(module: Any) -> Iterator[tuple[str, Any]]:
    """The module's own parameters and persistent buffers."""
    transient = module._non_persistent_buffers_set
    for names in (module._parameters, module._buffers):
        for name, tensor in names.items():
            if tensor is not None and name not in transient:
                yield name, tensor


def get_extra_state(self: Any) -> Any:
    """What ``state_dict()`` saves besides tensors; a module that defines it defines ``set_extra_state`` too."""
    raise RuntimeError("get_extra_state() is called only where a module defines it, together with set_extra_state()")


def set_extra_state(self: Any, state: Any) -> None:
    """Restore what ``get_extra_state`` returned."""
    raise RuntimeError("set_extra_state() is called only where a module defines it, together with get_extra_state()")


# -- loading -----------------------------------------------------------------------------------------------------------
class LocalMetadata(dict[str, Any]):
    """What was saved about one module besides its tensors, and the changes that wait until it is known that all fits."""

    pending: list[Change]


def load_state_dict(
    self: Any, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
) -> IncompatibleKeys:
    """Copy parameters and buffers from a dictionary as ``state_dict()`` gives.

    Parameters
    ----------
    state_dict : mapping
        Tensors by dotted name.
    strict : bool, default True
        Whether missing and unexpected names are errors.
    assign : bool, default False
        Whether the given tensors take the place of the module's, rather than being copied into them.

    Returns
    -------
    named tuple of ``missing_keys`` and ``unexpected_keys``

    Raises
    ------
    RuntimeError
        Where names or shapes do not fit; it lists all of them.
    TypeError
        If *state_dict* is no mapping.

    Notes
    -----
    Where it raises, be it by a hook or by ``set_extra_state``, all is as it was before.

    Examples
    --------
    >>> import minitorch as torch
    >>> source, target = torch.nn.Linear(2, 1), torch.nn.Linear(2, 1)
    >>> target.load_state_dict(source.state_dict())
    <All keys matched successfully>
    >>> torch.equal(source.weight, target.weight)
    True
    """
    if not isinstance(state_dict, Mapping):
        raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
    metadata = getattr(state_dict, "_metadata", None) or {}
    given = OrderedDict(state_dict)
    missing: list[str] = []
    unexpected: list[str] = []
    problems: list[str] = []
    pending: list[Change] = []

    def load(module: Any, prefix: str) -> None:
        local = LocalMetadata(metadata.get(prefix[:-1], {}))
        local.pending = pending
        if assign:
            local["assign_to_params_buffers"] = True
        module._load_from_state_dict(given, prefix, local, True, missing, unexpected, problems)
        for name, child in module._modules.items():
            if child is not None:
                load(child, f"{prefix}{name}.")

    load(self, "")
    incompatible = IncompatibleKeys(missing, unexpected)
    hooked = [m for m in self.modules() if m._state_hooks is not None and m._state_hooks.load_post]
    if problems or not (hooked or not strict or (not missing and not unexpected)):
        pending.clear()
    with all_or_nothing(pending, bool(hooked)):
        for module in reversed(hooked):  # submodules first
            for hook in tuple(module._state_hooks.load_post.values()):
                if hook(module, incompatible) is not None:
                    raise AssertionError(
                        "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new "
                        "values; if incompatible_keys need to be modified, it should be done inplace."
                    )
        if strict:
            problems = [*described(missing, "Missing"), *described(unexpected, "Unexpected"), *problems]
        if problems:
            raise RuntimeError(
                "Error(s) in loading state_dict for {}:\n\t{}".format(type(self).__name__, "\n\t".join(problems))
            )
    return incompatible


@contextlib.contextmanager
def all_or_nothing(changes: list[Change], hooked: bool) -> Iterator[None]:
    """Make the changes, and undo them where one of them, or what follows, raises."""
    keeps = hooked or any([change.may_fail for change in changes])  # copies alone cannot fail: nothing need be kept
    made: list[Change] = []
    try:
        for change in changes:
            if keeps:
                change.keep()
                made.append(change)
            change.make()
        yield
    except BaseException:
        for change in reversed(made):
            change.undo()
        raise


def described(keys: list[str], kind: str) -> list[str]:
    """The line of an error that lists keys; none where there are none."""
    quoted = ", ".join([f'"{key}"' for key in keys])
    return [f"{kind} key(s) in state_dict: {quoted}. "] if keys else []


def load_from_state_dict(
    self: Any,
    state_dict: dict[str, Any],
    prefix: str,
    local_metadata: dict[str, Any],
    strict: bool,
    missing_keys: list[str],
    unexpected_keys: list[str],
    error_msgs: list[str],
) -> None:
    """Load this module's own tensors; subclasses may first adapt what older versions saved.

    Changes wait in ``local_metadata.pending`` until it is known that all fits; a caller that passes another dictionary
    wants them at once.
    """
    if self._state_hooks is not None:
        arguments = state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        for hook, with_module in tuple(self._state_hooks.load_pre.values()):
            hook(self, *arguments) if with_module else hook(*arguments)
    waiting: list[Change] | None = getattr(local_metadata, "pending", None)
    pending: list[Change] = [] if waiting is None else waiting
    own = dict(local_state(self))
    for name, tensor in own.items():
        key = prefix + name
        if key not in state_dict:
            if strict:
                missing_keys.append(key)
            continue
        given = state_dict[key]
        if not isinstance(given, Tensor):
            error_msgs.append(
                f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from '
                f"checkpoint but received {type(given)}"
            )
            continue
        lazy = is_lazy(tensor)
        if lazy and is_lazy(given):
            continue
        if not lazy and tensor.shape == () and given.shape == (1,):
            given = given[0]
        if not lazy and given.shape != tensor.shape:
            error_msgs.append(
                f"size mismatch for {key}: copying a param with shape {given.shape} from checkpoint, the shape in "
                f"current model is {tensor.shape}."
            )
            continue
        kind = Assignment if local_metadata.get("assign_to_params_buffers", False) else Materialised if lazy else Copy
        pending.append(kind(self, name, tensor, given))
    extra_state(self, state_dict, prefix + EXTRA_STATE, strict, missing_keys, pending)
    if strict:
        unexpected_keys += foreign_keys(self, state_dict, prefix, own)
    if waiting is None:
        for change in pending:
            change.make()


class Change:
    """What loads one tensor, or the extra state, of a module."""

    may_fail = True
    kept: Any

    def __init__(self, module: Any, name: str, tensor: Any, given: Any) -> None:
        self.module, self.name, self.tensor, self.given = module, name, tensor, given

    def keep(self) -> None:
        """Keep what `undo` needs."""

    def make(self) -> None:
        """Load."""

    def undo(self) -> None:
        """Restore what was there, whether or not `make` was done with."""


class Copy(Change):
    """Into the module's tensor."""

    may_fail = False

    def keep(self) -> None:
        self.kept = self.tensor.detach().clone()

    def make(self) -> None:
        with no_grad():
            self.tensor.copy_(self.given)

    def undo(self) -> None:
        with no_grad():
            self.tensor.copy_(self.kept)


class Materialised(Change):
    """Into a tensor that had no shape yet."""

    def keep(self) -> None:
        self.kept = type(self.tensor), self.tensor.data

    def make(self) -> None:
        self.tensor.materialize(self.given.shape)
        with no_grad():
            self.tensor.copy_(self.given)

    def undo(self) -> None:
        kind, empty = self.kept
        if not is_lazy(self.tensor):
            self.tensor.data = empty
            self.tensor.__class__ = kind


class Assignment(Change):
    """The given tensor takes the place of the module's."""

    def make(self) -> None:
        given = self.given
        if isinstance(self.tensor, Parameter):
            with no_grad():
                trains = self.tensor.requires_grad
                given = given.requires_grad_(trains) if isinstance(given, Parameter) else Parameter(given, trains)
        setattr(self.module, self.name, given)

    def undo(self) -> None:
        setattr(self.module, self.name, self.tensor)


class ExtraState(Change):
    """What ``get_extra_state`` saved."""

    def keep(self) -> None:
        known = type(self.module).get_extra_state is not get_extra_state
        self.kept = self.module.get_extra_state() if known else None
        with contextlib.suppress(Exception):  # of what cannot be copied
            self.kept = copy.deepcopy(self.kept)

    def make(self) -> None:
        self.module.set_extra_state(self.given)

    def undo(self) -> None:
        if self.kept is not None:
            self.module.set_extra_state(self.kept)


def extra_state(
    module: Any,
    state_dict: dict[str, Any],
    key: str,
    strict: bool,
    missing: list[str],
    pending: list[Change],
) -> None:
    """Load what ``get_extra_state`` saved."""
    if type(module).set_extra_state is not set_extra_state:
        if key in state_dict:
            pending.append(ExtraState(module, EXTRA_STATE, None, state_dict[key]))
        elif strict:
            missing.append(key)


def foreign_keys(module: Any, state_dict: dict[str, Any], prefix: str, own: dict[str, Any]) -> list[str]:
    """The keys under *prefix* that belong neither to the module nor to its submodules."""
    foreign = []
    for key in state_dict:
        if key.startswith(prefix):
            name, dot, _ = key[len(prefix) :].partition(".")
            if name == EXTRA_STATE and not dot:
                known = type(module).set_extra_state is not set_extra_state
            else:
                known = name in module._modules if dot else name in own
            if not known:
                foreign.append(key)
    return foreign


# -- hooks -------------------------------------------------------------------------------------------------------------
def register_state_dict_pre_hook(self: Any, hook: Callable[..., None]) -> RemovableHandle:
    """Call ``hook(module, prefix, keep_vars)`` before ``state_dict()`` gathers this module's tensors."""
    return registered(state_hooks(self).save_pre, hook)


def register_state_dict_post_hook(self: Any, hook: Callable[..., None]) -> RemovableHandle:
    """Call ``hook(module, state_dict, prefix, local_metadata)`` after ``state_dict()``; it may change that."""
    return registered(state_hooks(self).save_post, (hook, False))


def register_state_dict_hook(self: Any, hook: Callable[..., Any]) -> RemovableHandle:
    """The same for hooks whose result, unless None, takes the dictionary's place."""
    return registered(state_hooks(self).save_post, (hook, True))


def register_load_state_dict_pre_hook(self: Any, hook: Callable[..., None]) -> RemovableHandle:
    """Call ``hook(module, state_dict, prefix, local_metadata, strict, missing, unexpected, errors)`` before loading."""
    return registered(state_hooks(self).load_pre, (hook, True))


def register_load_state_dict_pre_hook_without_module(
    self: Any, hook: Callable[..., None], with_module: bool = False
) -> RemovableHandle:
    """The same for hooks that are not given the module, unless *with_module*."""
    return registered(state_hooks(self).load_pre, (hook, with_module))


def register_load_state_dict_post_hook(self: Any, hook: Callable[..., None]) -> RemovableHandle:
    """Call ``hook(module, incompatible_keys)`` after loading; emptying its lists in place silences what they report."""
    return registered(state_hooks(self).load_post, hook)
