"""Functions of functions: gradients, products with Jacobians, whole Jacobians; modules as functions of their parameters."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .._batching._vmap import vmap
    from ..nn.utils._functional_call import functional_call
    from ._gradients import grad, grad_and_value, jvp, vjp
    from ._jacobians import hessian, jacfwd, jacrev
    from ._linearize import linearize
    from ._module_state import replace_all_batch_norm_modules_, stack_module_state

_LATER = {
    "functional_call": "..nn.utils._functional_call",
    "grad": "._gradients",
    "grad_and_value": "._gradients",
    "hessian": "._jacobians",
    "jacfwd": "._jacobians",
    "jacrev": "._jacobians",
    "jvp": "._gradients",
    "linearize": "._linearize",
    "replace_all_batch_norm_modules_": "._module_state",
    "stack_module_state": "._module_state",
    "vjp": "._gradients",
    "vmap": ".._batching._vmap",
}
"""What is imported when it is first used: name -> module."""


_LEFT_OUT = {
    "functionalize": "it rewrites a function for tracers that know no writes and views, and minitorch's know both",
    "debug_unwrap": "it shows what the wrapper of a transform holds, and there are no wrappers: print the tensor",
}
"""Names of PyTorch's that are not here, and why."""


def __getattr__(name: str) -> Any:
    if name in _LEFT_OUT:
        raise AttributeError(f"torch.func.{name} is left out: {_LEFT_OUT[name]}")
    if name in _LATER:
        value = globals()[name] = getattr(import_module(_LATER[name], __name__), name)
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "functional_call",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "vjp",
    "vmap",
]
