"""A module called with other tensors than its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..._tensor import Tensor
from ..modules.module import Module

__all__ = ["functional_call"]


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: dict[str, Tensor] | Sequence[dict[str, Tensor]],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with other tensors in the place of its parameters and buffers, which stay as they are.

    What the module assigns to these names, such as a new running mean, is in the dict afterwards.

    Parameters
    ----------
    module : Module
        The module.
    parameter_and_buffer_dicts : dict of Tensor, or sequence of them
        By dotted name; those of other names are the module's own.  A name that the module does not have is an attribute
        of it during the call, unless *strict*.
    args : tuple or object
        Its arguments; what is no tuple is the only one.
    kwargs : dict, optional
        Its keyword arguments.
    tie_weights : bool
        Whether a tensor that the module has under several names is replaced under all of them.
    strict : bool
        Whether all names, and no others, must be given.

    Returns
    -------
    object
        What the module returns; gradients reach the tensors given.

    Raises
    ------
    ValueError
        If tied names are given different tensors.
    RuntimeError
        If names are missing or unexpected and *strict*.

    Examples
    --------
    >>> import minitorch as torch
    >>> layer = torch.nn.Linear(2, 1, bias=False)
    >>> weight = torch.ones(1, 2, requires_grad=True)
    >>> torch.func.functional_call(layer, {"weight": weight}, torch.tensor([3.0, 4.0])).backward()
    >>> weight.grad
    tensor([[3., 4.]])
    """
    given: dict[str, Tensor] = {}
    dicts = _dicts(parameter_and_buffer_dicts)
    for names in dicts:
        if repeated := sorted(set(names) & set(given)):
            raise ValueError(f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous")
        given.update(names)
    if not isinstance(args, tuple):
        args = () if args is None else (args,)
    with _replaced(module, given, tie_weights, strict) as after:
        result = module(*args, **(kwargs or {}))
    if len(dicts) == 1:
        dicts[0].update({name: after[name] for name in dicts[0] if name in after})
    return result


def _dicts(given: Any) -> list[dict[str, Tensor]]:
    """The dicts that were given, one or several."""
    if isinstance(given, dict):
        return [given]
    if not isinstance(given, Sequence):
        raise ValueError(
            f"Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got {type(given)}"
        )
    if not all([isinstance(d, dict) for d in given]):
        raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
    return list(given)


def _all_tensors(module: Module) -> dict[str, Tensor]:
    named = dict(module.named_parameters(remove_duplicate=False))
    return {**named, **dict(module.named_buffers(remove_duplicate=False))}


@contextmanager
def _replaced(module: Module, given: dict[str, Tensor], tie_weights: bool, strict: bool) -> Iterator[dict[str, Tensor]]:
    """Context in which a module has other tensors; gives a dict, which afterwards has those that it had at the end."""
    own = _all_tensors(module)
    if tie_weights:
        given = _tied(own, given)
    if strict:
        missing, unexpected = sorted(set(own) - set(given)), sorted(set(given) - set(own))
        if missing or unexpected:
            lines = [
                f"{kind} key(s): {', '.join([repr(name) for name in names])}."
                for kind, names in (("Unexpected", unexpected), ("Missing", missing))
                if names
            ]
            raise RuntimeError(f"Error(s) in reparametrizing for {type(module).__name__}:\n\t" + "\n\t".join(lines))
    for tensor in given.values():
        if not isinstance(tensor, Tensor):
            raise TypeError(f"{tensor} is not an instance of torch.Tensor")
    places = [_place(module, name) for name in given]
    after: dict[str, Tensor] = {}
    before = [attributes.get(name, places) for attributes, name in places]  # `places` itself where there was nothing
    try:
        for (attributes, name), tensor in zip(places, given.values()):
            attributes[name] = tensor
        yield after
    finally:
        for full, (attributes, name), earlier in zip(given, places, before):
            if name in attributes:
                after[full] = attributes[name]
            if earlier is not places:
                attributes[name] = earlier
            else:
                attributes.pop(name, None)


def _place(module: Module, name: str) -> tuple[dict[str, Any], str]:
    """Where a tensor of this dotted name stands, or will."""
    path, _, last = name.rpartition(".")
    return module.get_submodule(path).__dict__, last


def _tied(own: dict[str, Tensor], given: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors given, also under the other names of those that they replace."""
    tied = dict(given)
    for name, tensor in given.items():
        for other in [n for n, t in own.items() if name in own and t is own[name]]:
            if tied.setdefault(other, tensor) is not tensor:
                raise ValueError(
                    f"{name} and {other} are the same tensor of the module, but were given different values"
                )
    return tied
