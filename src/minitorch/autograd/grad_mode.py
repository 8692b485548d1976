"""The grad modes, under the name PyTorch has them."""

from .._anomaly import set_detect_anomaly
from .._modes import enable_grad, inference_mode, no_grad, set_grad_enabled

__all__ = ["enable_grad", "inference_mode", "no_grad", "set_detect_anomaly", "set_grad_enabled"]
