"""class Optimizer: what every optimizer derives from, the users' own too."""

from __future__ import annotations

import copy
import functools
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .. import _as_one, _runtime
from .._casts import typename
from .._extras import RemovableHandle
from .._modes import enable_grad, observers
from .._passes import noted_step
from .._records import recordings, shown_parts
from .._tape import AccumulateGrad
from .._tensor import Tensor
from ..nn.modules._hooks import registered
from ..nn.modules.module import clear_grad


class _Required:
    """The default of an option that every parameter group has to give."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()
"""What an optimizer's own defaults say for an option without a default."""


class OptimizerHooks:
    """An optimizer's hooks, each kind in order of call."""

    __slots__ = ("load_post", "load_pre", "save_post", "save_pre", "step_post", "step_pre")

    def __init__(self) -> None:
        self.step_pre: dict[Any, Callable[..., Any]] = {}
        self.step_post: dict[Any, Callable[..., Any]] = {}
        self.save_pre: dict[Any, Callable[..., Any]] = {}
        self.save_post: dict[Any, Callable[..., Any]] = {}
        self.load_pre: dict[Any, Callable[..., Any]] = {}
        self.load_post: dict[Any, Callable[..., Any]] = {}


class Optimizer:
    """The base of all optimizers: keeps parameters in groups, each with its options, and a state for each parameter.

    Parameters
    ----------
    params : iterable of Tensor, of dict, or of (name, Tensor)
        The parameters, or groups of them: ``{"params": [...], "lr": 0.1}``.
    defaults : dict
        The options, for groups that do not give them.

    Attributes
    ----------
    param_groups : list of dict
        The groups; changing an option there takes effect at the next step.
    state : dict
        For each parameter, a dict of what the optimizer remembers about it.

    Raises
    ------
    TypeError
        If what is given are no tensors.
    ValueError
        If there are none, one is no leaf, or one is in two groups.

    Examples
    --------
    >>> import minitorch as torch
    >>> class SignDescent(torch.optim.Optimizer):
    ...     def __init__(self, params, lr=0.1):
    ...         super().__init__(params, {"lr": lr})
    ...     @torch.no_grad()
    ...     def step(self, closure=None):
    ...         for group in self.param_groups:
    ...             for p in group["params"]:
    ...                 p -= group["lr"] * p.grad.sign()
    >>> w = torch.tensor([1.0, -1.0], requires_grad=True)
    >>> (w * w).sum().backward()
    >>> SignDescent([w]).step()
    >>> w
    tensor([ 0.9000, -0.9000], requires_grad=True)
    """

    _hooks: OptimizerHooks | None = None
    _stepping = False  # whether a step that calls the hooks is under way
    _stepped = False  # whether a step was made

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                + typename(params)
            )
        self.defaults = defaults
        self.state: dict[Any, Any] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = _with_hooks(cls.__dict__["step"])  # type: ignore[method-assign]

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for number, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {number}")
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
            lines.append("")
        return "\n".join(lines[:-1]) + "\n)"

    # -- parameters ----------------------------------------------------------------------------------------------------
    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters, such as those of layers that are unfrozen during training.

        Parameters
        ----------
        param_group : dict
            ``"params"``, and options where they differ from the defaults.

        Examples
        --------
        >>> import minitorch as torch
        >>> first, second = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
        >>> optimizer = torch.optim.SGD(first.parameters(), lr=0.1)
        >>> optimizer.add_param_group({"params": second.parameters(), "lr": 0.01})
        >>> [group["lr"] for group in optimizer.param_groups]
        [0.1, 0.01]
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params, names = _listed(param_group["params"])
        param_group["params"] = params
        if names is not None:
            param_group["param_names"] = names
        for param in params:
            if not isinstance(param, Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {typename(param)}")
            if not self.defaults.get("differentiable") and not (param.is_leaf or param.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        own = {id(param) for param in params}
        if len(own) != len(params):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; "
                "see github.com/pytorch/pytorch/issues/40967 for more information",
                stacklevel=3,
            )
        for group in self.param_groups:
            if ("param_names" in param_group) != ("param_names" in group):
                which = "with names" if "param_names" in param_group else "without names"
                raise ValueError(
                    "all optimizer param groups should be with/without names. "
                    f"cannot add param group {which} to the optimizer"
                )
            if not own.isdisjoint([id(param) for param in group["params"]]):
                raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Reset all gradients: to None, or in place to zero."""
        for group in self.param_groups:
            for param in group["params"]:
                node = param._node
                if set_to_none and node.__class__ is AccumulateGrad and not observers:
                    node.grad = None
                else:
                    clear_grad(param, set_to_none)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the parameters by what their gradients tell; every optimizer defines it.

        Parameters
        ----------
        closure : callable, optional
            Computes the loss anew, calls ``backward()`` and returns the loss.
        """
        raise NotImplementedError

    # -- saving and loading --------------------------------------------------------------------------------------------
    def state_dict(self) -> dict[str, Any]:
        """The state and the options, with parameters as numbers in the order in which they were given.

        Examples
        --------
        >>> import minitorch as torch
        >>> optimizer = torch.optim.SGD(torch.nn.Linear(2, 1).parameters(), lr=0.5)
        >>> optimizer.state_dict()["param_groups"][0]["lr"]
        0.5
        """
        if self._hooks is not None:
            for hook in tuple(self._hooks.save_pre.values()):
                hook(self)
        numbers: dict[int, int] = {}
        for group in self.param_groups:
            for param in group["params"]:
                numbers.setdefault(id(param), len(numbers))
        groups = [
            {k: v for k, v in group.items() if k != "params"} | {"params": [numbers[id(p)] for p in group["params"]]}
            for group in self.param_groups
        ]
        state = {numbers[id(k)] if isinstance(k, Tensor) else k: v for k, v in self.state.items()}
        saved: dict[str, Any] = {"state": state, "param_groups": groups}
        if self._hooks is not None:
            for hook in tuple(self._hooks.save_post.values()):
                replacement = hook(self, saved)
                saved = saved if replacement is None else replacement
        return saved

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore what ``state_dict()`` returned; its tensors are copied, in the dtype of their parameter.

        Raises
        ------
        ValueError
            If the groups are not as many, or not of the same sizes; nothing is changed then.
        """
        state_dict = state_dict.copy()
        if self._hooks is not None:
            for hook in tuple(self._hooks.load_pre.values()):
                replacement = hook(self, state_dict)
                state_dict = state_dict if replacement is None else replacement
        saved_groups = copy.deepcopy(state_dict["param_groups"])
        if len(saved_groups) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any([len(s["params"]) != len(g["params"]) for s, g in zip(saved_groups, self.param_groups)]):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
            )
        params: dict[Any, Any] = {}
        for saved, group in zip(saved_groups, self.param_groups):
            params.update(zip(saved["params"], group["params"]))
            saved["params"] = group["params"]
            if "param_names" in group:
                saved.setdefault("param_names", group["param_names"])
        state: dict[Any, Any] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in params:
                state[params[key]] = _owned(value, params[key])
            else:
                state[key] = value
        self.__setstate__({"state": state, "param_groups": saved_groups})
        if self._hooks is not None:
            for hook in tuple(self._hooks.load_post.values()):
                hook(self)

    # -- hooks ---------------------------------------------------------------------------------------------------------
    def _optimizer_hooks(self) -> OptimizerHooks:
        """This optimizer's hooks, made on first use."""
        if self._hooks is None:
            self._hooks = OptimizerHooks()
        return self._hooks

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` before each step; it may return others as ``(args, kwargs)``."""
        return registered(self._optimizer_hooks().step_pre, hook)

    def register_step_post_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` after each step."""
        return registered(self._optimizer_hooks().step_post, hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., None], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer)`` before ``state_dict()``."""
        return registered(self._optimizer_hooks().save_pre, hook, prepend)

    def register_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` after ``state_dict()``; it may return another."""
        return registered(self._optimizer_hooks().save_post, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` before ``load_state_dict()``; it may return another."""
        return registered(self._optimizer_hooks().load_pre, hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[..., None], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer)`` after ``load_state_dict()``."""
        return registered(self._optimizer_hooks().load_post, hook, prepend)


def _with_hooks(step: Callable[..., Any]) -> Callable[..., Any]:
    """A ``step`` that calls the optimizer's hooks; a class that calls ``super().step()`` has them called once."""

    @functools.wraps(step)
    def hooked(self: Any, *args: Any, **kwargs: Any) -> Any:
        if observers and shown_parts():
            return at_once(self, *args, **kwargs)
        self._stepped = True
        run = noted_step(self, step) if recordings and not self._stepping else step
        hooks = self._hooks
        if hooks is None or self._stepping:
            return run(self, *args, **kwargs)
        self._stepping = True
        try:
            for hook in tuple(hooks.step_pre.values()):
                replacement = hook(self, (self, *args), kwargs)
                if replacement is not None:
                    if not (isinstance(replacement, tuple) and len(replacement) == 2):
                        raise RuntimeError(
                            f"{step} must return None or a tuple of (new_args, new_kwargs), but got {replacement}."
                        )
                    (_, *args), kwargs = replacement
            result = run(self, *args, **kwargs)
            for hook in tuple(hooks.step_post.values()):
                hook(self, (self, *args), kwargs)
        finally:
            self._stepping = False
        return result

    at_once = _as_one.as_one(hooked)
    return _as_one.marked(hooked)


def _listed(params: Any) -> tuple[list[Any], list[str] | None]:
    """A group's parameters as a list, and their names where it gives ``(name, parameter)``."""
    if isinstance(params, Tensor):
        return [params], None
    if isinstance(params, set):
        raise TypeError(
            "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in "
            "sets will change between runs. Please use a list instead."
        )
    items = list(params)
    named = [isinstance(item, tuple) for item in items]
    if not any(named):
        return items, None
    if not all(named):
        raise ValueError("all optimizer params should be with/without names. Some param names are missing")
    return [item[1] for item in items], [item[0] for item in items]


def _owned(value: Any, param: Any, key: str | None = None) -> Any:
    """A loaded state, copied; its floating-point tensors, but for ``step``, in the parameter's dtype."""
    if isinstance(value, Tensor):
        array = value._array
        keep = key == "step" or param._array.dtype.kind != "f" or array.dtype.kind != "f"
        copied = _runtime.silent(np.array, array, array.dtype if keep else param._array.dtype)
        return _runtime.wrap(copied)
    if isinstance(value, dict):
        return {k: _owned(v, param, k) for k, v in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        return type(value)([_owned(v, param, key) for v in value])  # type: ignore[call-arg]
    return value


def evaluated(closure: Callable[[], Any] | None) -> Any:
    """What the closure returns, called with recording on; None without one."""
    if closure is None:
        return None
    with enable_grad():
        return closure()


def not_negative(what: str, value: Any) -> None:
    """Refuse a negative option; SGD lets those that are not numbers pass."""
    _one_element(what, value)
    if value < 0.0:
        raise ValueError(f"Invalid {what}: {value}")


def _one_element(what: str, value: Any) -> None:
    if what == "learning rate" and isinstance(value, Tensor) and value._array.size != 1:
        raise ValueError("Tensor lr must be 1-element")


def at_least_zero(what: str, value: Any) -> None:
    """Refuse a negative option, or one that is not a number."""
    _one_element(what, value)
    if not value >= 0.0:
        raise ValueError(f"Invalid {what}: {value}")


def check_betas(betas: Any) -> None:
    """Refuse coefficients of running averages that are not from 0 to below 1."""
    for index in (0, 1):
        if not 0.0 <= betas[index] < 1.0:
            raise ValueError(f"Invalid beta parameter at index {index}: {betas[index]}")
