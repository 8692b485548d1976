"""Differentiation: ``backward``, ``grad``, custom functions, the tape, gradient checks."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .._anomaly import detect_anomaly, record_sites, set_detect_anomaly
from .._differentiate import backward, grad, learn_batched
from .._legacy import Variable
from .._modes import enable_grad, inference_mode, no_grad, set_grad_enabled
from . import function, grad_mode, graph, profiler
from .function import Function
from .gradcheck import GradcheckError, gradcheck, gradgradcheck
from .tape import Entry, Tape

if TYPE_CHECKING:
    from . import forward_ad, functional
    from ._counting import count_operations
    from ._debugger import set_trace
    from ._explain import explain
    from ._explanation import Evidence, Explanation
    from ._flow import gradient_report
    from ._guards import NonfiniteError, broadcast_guard, dtype_guard, nonfinite_guard
    from ._memory import alive
    from ._numerical import numerical_jacobian

_LATER = {
    "Evidence": "_explanation",
    "Explanation": "_explanation",
    "broadcast_guard": "_guards",
    "count_operations": "_counting",
    "dtype_guard": "_guards",
    "explain": "_explain",
    "forward_ad": "forward_ad",
    "functional": "functional",
    "nonfinite_guard": "_guards",
    "NonfiniteError": "_guards",
    "alive": "_memory",
    "gradient_report": "_flow",
    "numerical_jacobian": "_numerical",
    "set_trace": "_debugger",
}
"""What is imported when it is first used: name -> module, which may be of that name itself."""


def _batched(*asked: Any) -> tuple[Any, ...]:
    from .._batching._vectors import batched

    return batched(*asked)


learn_batched(_batched)


def __getattr__(name: str) -> Any:
    if name in _LATER:
        module = import_module(f"{__name__}.{_LATER[name]}")
        value = globals()[name] = module if name == _LATER[name] else getattr(module, name)
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "Entry",
    "Evidence",
    "Explanation",
    "Function",
    "GradcheckError",
    "NonfiniteError",
    "Tape",
    "Variable",
    "alive",
    "backward",
    "broadcast_guard",
    "count_operations",
    "detect_anomaly",
    "dtype_guard",
    "enable_grad",
    "explain",
    "forward_ad",
    "function",
    "functional",
    "grad",
    "grad_mode",
    "gradcheck",
    "gradgradcheck",
    "gradient_report",
    "graph",
    "inference_mode",
    "no_grad",
    "nonfinite_guard",
    "numerical_jacobian",
    "profiler",
    "record_sites",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_trace",
]
