"""Differentiation: ``backward``, ``grad``, custom functions, the tape, gradient checks."""

from .._anomaly import detect_anomaly, record_sites, set_detect_anomaly
from .._differentiate import backward, grad
from .._legacy import Variable
from .._modes import enable_grad, inference_mode, no_grad, set_grad_enabled
from . import function, grad_mode, graph, profiler
from .function import Function
from .gradcheck import GradcheckError, gradcheck, gradgradcheck
from .tape import Entry, Tape

__all__ = [
    "Entry",
    "Function",
    "GradcheckError",
    "Tape",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "function",
    "grad",
    "grad_mode",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "no_grad",
    "profiler",
    "record_sites",
    "set_detect_anomaly",
    "set_grad_enabled",
]
