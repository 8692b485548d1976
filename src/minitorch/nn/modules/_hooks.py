"""Hooks of modules: what runs around ``forward`` and around the backward pass through a module."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from ..._extras import RemovableHandle
from ..._modes import differs, grad_on, in_transform
from ..._tensor import Tensor
from ...autograd.function import Function


class ModuleHooks:
    """Hooks by key, each kind in order of call, and the keys of those that take keyword arguments or always run."""

    __slots__ = (
        "backward", "backward_pre", "forward", "forward_always_called", "forward_pre", "forward_pre_with_kwargs",
        "forward_with_kwargs", "full_backward",
    )  # fmt: skip

    def __init__(self) -> None:
        self.forward_pre: dict[Any, Callable[..., Any]] = {}
        self.forward_pre_with_kwargs: dict[Any, bool] = {}
        self.forward: dict[Any, Callable[..., Any]] = {}
        self.forward_with_kwargs: dict[Any, bool] = {}
        self.forward_always_called: dict[Any, bool] = {}
        self.backward_pre: dict[Any, Callable[..., Any]] = {}
        self.backward: dict[Any, Callable[..., Any]] = {}
        self.full_backward: bool | None = None  # of which kind those of `backward` are


EVERYWHERE = ModuleHooks()
"""The hooks that all modules have."""


def registered(hooks: dict[Any, Any], hook: Any, prepend: bool = False) -> RemovableHandle:
    """Add a hook, last or first; the handle removes it."""
    earlier = list(hooks) if prepend else []
    handle = RemovableHandle(hooks, hook)
    for key in earlier:
        hooks[key] = hooks.pop(key)
    return handle


def set_backward_kind(hooks: ModuleHooks, full: bool) -> ModuleHooks:
    """Note of which kind backward hooks are; a module has only one kind."""
    if hooks.full_backward is (not full):
        raise RuntimeError(
            "Cannot use both regular backward hooks and full backward hooks on a "
            f"{'global' if hooks is EVERYWHERE else 'single'} Module. Please use only one of them."
        )
    hooks.full_backward = full
    return hooks


def both(module: Any) -> tuple[ModuleHooks, ...]:
    """The hooks of all modules, and the module's own, which run after them."""
    own = module._hooks
    return (EVERYWHERE,) if own is EVERYWHERE else (EVERYWHERE, own)


def has_hooks(module: Any) -> bool:
    """Whether there are hooks that a call of a module runs."""
    kinds = ("forward_pre", "forward", "backward_pre", "backward")
    return module._hooks is not None and any([getattr(hooks, kind) for hooks in both(module) for kind in kinds])


def forward_hooks(module: Any) -> list[tuple[Any, Callable[..., Any], bool, bool]]:
    """Forward hooks with their keys, whether they take keyword arguments and whether they always run."""
    return [
        (key, hook, key in hooks.forward_with_kwargs, key in hooks.forward_always_called)
        for hooks in both(module)
        for key, hook in hooks.forward.items()
    ]


def backward_hooks(module: Any, full: bool) -> tuple[Callable[..., Any], ...]:
    """The backward hooks of one kind."""
    return tuple([hook for hooks in both(module) if hooks.full_backward is full for hook in hooks.backward.values()])


def call_with_hooks(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a module that has hooks.

    A forward hook with ``always_call`` runs also where something raised before it was reached; what it raises itself
    then is only a warning.
    """
    reached: set[Any] = set()
    result = None
    try:
        args, kwargs = before_forward(module, args, kwargs)
        pre_hooks = tuple([hook for hooks in both(module) for hook in hooks.backward_pre.values()])
        full = backward_hooks(module, True)
        backward = BackwardHooks(module, pre_hooks, full) if pre_hooks or full else None
        if backward is not None:
            args = backward.watch_inputs(args)
        result = module.forward(*args, **kwargs)
        for key, hook, with_kwargs, _ in forward_hooks(module):
            reached.add(key)
            replacement = hook(module, args, kwargs, result) if with_kwargs else hook(module, args, result)
            if replacement is not None:
                result = replacement
        if backward is not None:
            result = backward.watch_outputs(result)
        at_last_node(module, args, result)
        return result
    except Exception:
        for key, hook, with_kwargs, always_call in forward_hooks(module):
            if always_call and key not in reached:
                try:
                    hook(module, args, kwargs, result) if with_kwargs else hook(module, args, result)
                except Exception as error:
                    warnings.warn(
                        "module forward hook with ``always_call=True`` raised an exception that was silenced as "
                        f"another error was raised in forward: {error}",
                        stacklevel=3,
                    )
        raise


def before_forward(
    module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments that the forward pre-hooks leave."""
    for hooks in both(module):
        for key, hook in tuple(hooks.forward_pre.items()):
            if key not in hooks.forward_pre_with_kwargs:
                replacement = hook(module, args)
                if replacement is not None:
                    args = replacement if isinstance(replacement, tuple) else (replacement,)
                continue
            replacement = hook(module, args, kwargs)
            if replacement is not None:
                if not (isinstance(replacement, tuple) and len(replacement) == 2):
                    raise RuntimeError(
                        "forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got "
                        f"{replacement}."
                    )
                args, kwargs = replacement
    return args, kwargs


def at_last_node(module: Any, args: tuple[Any, ...], result: Any) -> None:
    """Put the hooks of ``register_backward_hook`` on the node that made the first tensor of the result."""
    hooks = backward_hooks(module, False)
    if not hooks:
        return
    first = result
    while not isinstance(first, Tensor):
        if isinstance(first, dict):
            first = next((value for value in first.values() if isinstance(value, Tensor)), None)
        else:
            first = first[0] if isinstance(first, (tuple, list)) and first else None
        if first is None:
            return
    node = first.grad_fn
    if node is not None:
        for hook in hooks:
            node.register_hook(functools.partial(hook, module))
        warn_of_last_node(args, result, node)


def warn_of_last_node(args: tuple[Any, ...], result: Any, node: Any) -> None:
    """Say where the gradients that such hooks see are not those of the module."""
    results = result if isinstance(result, tuple) else (result,)
    module = "non-full backward hooks on a Module that does not"
    hook = "a non-full backward hook when"
    if not all([isinstance(value, Tensor) for value in results]):
        how, missing = f"{module} return a single Tensor or a tuple of Tensors", "some of the grad_output"
    elif not all([isinstance(arg, Tensor) for arg in args]):
        how, missing = f"{module} take as input a single Tensor or a tuple of Tensors", "some of the grad_input"
    elif len({value.grad_fn for value in results} - {None}) > 1:
        how, missing = f"{hook} outputs are generated by different autograd Nodes", "some of the grad_output"
    elif {parent for parent, _ in node.next_functions} != {arg.grad_fn for arg in args} - {None}:
        how, missing = f"{hook} the forward contains multiple autograd Nodes", "some grad_input"
    else:
        return
    warnings.warn(
        f"Using {how} is deprecated and will be removed in future versions. This hook will be missing {missing}. "
        "Please use register_full_backward_hook to get the documented behavior.",
        FutureWarning,
        stacklevel=5,
    )


class BackwardHookFunction(Function):
    """Hands tensors on: its node marks the border of a module on the tape."""

    @staticmethod
    def forward(*tensors: Any) -> Any:
        return tensors

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.mark_non_differentiable(*[tensor for tensor in inputs if not tensor.requires_grad])

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return gradients

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        return tuple([None if t is None else t.view_as(t) for t in tangents])

    @staticmethod
    def vmap(info: Any, in_dims: Any, *tensors: Any) -> Any:
        """The same of whole batches; hooks run on an example, as all that a map does."""
        return tensors, in_dims


class BackwardHooks:
    """One call's backward hooks: pre-hooks run where the outputs' gradients arrive, hooks where the inputs' do."""

    def __init__(self, module: Any, pre_hooks: tuple[Any, ...], hooks: tuple[Any, ...]) -> None:
        self.module, self.pre_hooks, self.hooks = module, pre_hooks, hooks
        self.inputs: list[int] = []  # which arguments are tensors; empty where none requires grad
        self.outputs: list[int] = []
        self.input_count = self.output_count = 0
        self.grad_outputs: tuple[Any, ...] | None = None

    def watch_inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments as outputs of a node that tells when their gradients are known."""
        self.input_count = len(args)
        self.inputs, args, node = watched(args)
        if node is not None:
            node.register_hook(self.at_inputs)
        return args

    def watch_outputs(self, result: Any) -> Any:
        """The results as outputs of a node that tells when their gradients arrive."""
        if not isinstance(result, (Tensor, tuple)):
            warnings.warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but received "
                f"{type(result)}",
                stacklevel=4,
            )
            return result
        results = result if isinstance(result, tuple) else (result,)
        self.output_count = len(results)
        self.outputs, results, node = watched(results)
        if node is not None:
            node.register_prehook(self.at_outputs)
        if not isinstance(result, tuple):
            return results[0]
        return results if type(result) is tuple else type(result)(*results)  # a named tuple

    def at_outputs(self, gradients: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """Run the pre-hooks; without inputs that require grad, the hooks too."""
        grad_outputs = padded(self.outputs, gradients, self.output_count)
        for hook in self.pre_hooks:
            replacement = hook(self.module, grad_outputs)
            if replacement is not None:
                grad_outputs = as_many(replacement, self.output_count, "Backward pre hook", "grad_output")
        self.grad_outputs = grad_outputs
        if not self.inputs and self.hooks:
            self.without_inputs(grad_outputs)
        return tuple([grad_outputs[i] for i in self.outputs]) if self.pre_hooks else None

    def without_inputs(self, grad_outputs: tuple[Any, ...]) -> None:
        """Run the hooks where no input requires grad: they see None for each."""
        warnings.warn(
            "Full backward hook is firing when gradients are computed with respect to module outputs since no inputs "
            "require gradients. See https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module."
            "register_full_backward_hook for more details.",
            stacklevel=4,
        )
        for hook in self.hooks:
            replacement = hook(self.module, (None,) * self.input_count, grad_outputs)
            if replacement is not None and not (
                isinstance(replacement, tuple) and not any([r is not None for r in replacement])
            ):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always return None or None for "
                    "all gradients."
                )
        self.grad_outputs = None

    def at_inputs(self, gradients: tuple[Any, ...], _: Any) -> tuple[Any, ...] | None:
        """Run the hooks; what they return replaces the gradients of the inputs."""
        if self.grad_outputs is None:  # this backward pass did not go through the outputs
            return None
        grad_inputs = padded(self.inputs, gradients, self.input_count)
        for hook in self.hooks:
            replacement = hook(self.module, grad_inputs, self.grad_outputs)
            if replacement is not None:
                grad_inputs = as_many(replacement, self.input_count, "Backward hook", "grad_input")
        self.grad_outputs = None
        return tuple([grad_inputs[i] for i in self.inputs])


def watched(values: tuple[Any, ...]) -> tuple[list[int], tuple[Any, ...], Any]:
    """Which values are tensors, the values with these handed on by a node, and the node; none where none needs grad.

    What maps and forward mode do is not watched, as in PyTorch.
    """
    places = [i for i, value in enumerate(values) if isinstance(value, Tensor)]
    if not grad_on() or not any([values[i].requires_grad for i in places]):
        return [], values, None
    if in_transform() == "forward" or (not in_transform() and any([differs(values[i]) for i in places])):
        return [], values, None
    tensors = BackwardHookFunction.apply(*[values[i] for i in places])
    node = next(tensor.grad_fn for tensor in tensors if tensor.requires_grad)
    replaced = list(values)
    for place, tensor in zip(places, tensors):
        replaced[place] = tensor
    return places, tuple(replaced), node


def padded(places: list[int], gradients: tuple[Any, ...], count: int) -> tuple[Any, ...]:
    """The gradients at their places among *count* values, None elsewhere."""
    full: list[Any] = [None] * count
    for place, gradient in zip(places, gradients):
        full[place] = gradient
    return tuple(full)


def as_many(replacement: Any, count: int, what: str, name: str) -> tuple[Any, ...]:
    """What a hook returned, as a tuple of as many gradients as it was given; a bare tensor is one of its rows."""
    if len(replacement) != count:
        raise RuntimeError(
            f"{what} returned an invalid number of {name}, got {len(replacement)}, but expected {count}: return a tuple"
        )
    return tuple(replacement)
