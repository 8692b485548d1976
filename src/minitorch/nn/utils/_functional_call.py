"""A module called with other tensors than its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ..._tensor import Tensor
from ..modules.module import Module

__all__ = ["functional_call"]


def functional_call(
    module: Module,
    parameters_and_buffers: Mapping[str, Tensor] | Sequence[Mapping[str, Tensor]],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with other tensors in the place of its parameters and buffers, which stay as they are.

    Parameters
    ----------
    module : Module
        The module.
    parameters_and_buffers : dict of Tensor, or sequence of them
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
    several: Any = parameters_and_buffers if isinstance(parameters_and_buffers, Sequence) else [parameters_and_buffers]
    for names in several:
        if repeated := sorted(set(names) & set(given)):
            raise ValueError(f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous")
        given.update(names)
    if not isinstance(args, tuple):
        args = () if args is None else (args,)
    with _replaced(module, given, tie_weights, strict):
        return module(*args, **(kwargs or {}))


def _all_tensors(module: Module) -> dict[str, Tensor]:
    named = dict(module.named_parameters(remove_duplicate=False))
    return {**named, **dict(module.named_buffers(remove_duplicate=False))}


@contextmanager
def _replaced(module: Module, given: dict[str, Tensor], tie_weights: bool, strict: bool) -> Iterator[None]:
    """Context in which a module has other tensors."""
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
    before = [attributes.get(name, places) for attributes, name in places]  # `places` itself where there was nothing
    try:
        for (attributes, name), tensor in zip(places, given.values()):
            attributes[name] = tensor
        yield
    finally:
        for (attributes, name), earlier in zip(places, before):
            if earlier is not places:
                attributes[name] = earlier
            else:
                del attributes[name]


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
