"""Modules for transforms: several stacked; batch normalisations that write nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._runtime import flagged, traced
from ..nn.modules.batchnorm import _BatchNorm


def stack_module_state(models: Sequence[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters and the buffers of several modules of one kind, stacked, for ``vmap`` over the modules.

    Parameters
    ----------
    models : sequence of Module
        Of one class, with tensors of the same names and shapes.

    Returns
    -------
    parameters, buffers : dict of Tensor
        By name; the first dimension runs over the modules.  Stacked parameters are new leaves.

    Raises
    ------
    RuntimeError
        For no modules, modules of several classes, some in training mode and some not, parameters of which some require grad.

    Examples
    --------
    >>> import minitorch as torch
    >>> parameters, buffers = torch.func.stack_module_state([torch.nn.Linear(3, 2) for _ in range(4)])
    >>> {name: tuple(p.shape) for name, p in parameters.items()}
    {'weight': (4, 2, 3), 'bias': (4, 2)}
    """
    models = list(models)
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({bool(m.training) for m in models}) > 1:
        raise RuntimeError(
            "stack_module_state: Expected all models to have the same training/eval mode: call train() or eval() on all."
        )
    if len({type(m) for m in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    return _stacked([dict(m.named_parameters()) for m in models]), _stacked([dict(m.named_buffers()) for m in models])


def _stacked(each: list[dict[str, Any]]) -> dict[str, Any]:
    return {name: _leaf(name, [tensors[name] for tensors in each]) for name in each[0]}


def _leaf(name: str, tensors: list[Any]) -> Any:
    wanted = {t.requires_grad for t in tensors}
    if len(wanted) > 1:
        raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
    stacked = traced.stack(tensors, 0)
    return flagged(stacked.detach()) if wanted == {True} else stacked


def replace_all_batch_norm_modules_(root: Any) -> Any:
    """Have a model's batch normalisations use the batch's mean and variance, in evaluation mode too; returns the model.

    They keep no running ones then, so that nothing is written when the model is called inside of a transform.

    Examples
    --------
    >>> import minitorch as torch
    >>> model = torch.func.replace_all_batch_norm_modules_(torch.nn.Sequential(torch.nn.BatchNorm1d(2)))
    >>> model[0].running_mean is None, model[0].track_running_stats
    (True, False)
    """
    for module in root.modules():
        if isinstance(module, _BatchNorm) and module.track_running_stats:
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root
