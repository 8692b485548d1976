"""Mixed precision, disabled: operations compute in the dtypes of their tensors, and losses need no scaling.

Examples
--------
>>> import minitorch as torch
>>> with torch.amp.autocast("cpu", enabled=False):
...     print((torch.ones(2, 2) @ torch.ones(2, 2)).dtype)
torch.float32
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ._device import device
from ._dtypes import bfloat16, float16
from ._modes import ModeDecorator

if TYPE_CHECKING:
    from ._dtypes import dtype
    from .optim.optimizer import Optimizer

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]


class autocast(ModeDecorator):
    """Context manager or decorator that changes nothing: where casting is asked for, it warns, and float32 stays float32.

    Parameters
    ----------
    device_type : str
        ``"cpu"``, ``"cuda"`` and so on.
    dtype : dtype, optional
        What PyTorch would cast to.
    enabled : bool
        Whether casting is asked for; then a UserWarning says that it is not done.
    cache_enabled : bool, optional
        Accepted.

    Raises
    ------
    ValueError
        If *device_type* is not a string.
    RuntimeError
        For a string that is no device.
    """

    def __init__(
        self, device_type: str, dtype: dtype | None = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.device = device(device_type).type
        self.fast_dtype = get_autocast_dtype(self.device) if dtype is None else dtype
        if enabled and self.device == "cuda":
            warnings.warn("CUDA is not available. Disabling autocast.", stacklevel=2)
        elif enabled:
            warnings.warn(
                f"In {self.device.upper()} autocast, but operations in {self.fast_dtype} are not supported. Disabling "
                "autocast: everything is computed in the dtypes of its tensors.",
                stacklevel=2,
            )

    def clone(self) -> autocast:
        return self

    def __enter__(self) -> autocast:
        return self

    def __exit__(self, *exc: object) -> None: ...


def is_autocast_available(device_type: str) -> bool:
    """Whether operations can be cast on a device: nowhere."""
    device(device_type)
    return False


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether operations are cast on a device: never."""
    return False


def get_autocast_dtype(device_type: str) -> dtype:
    """What PyTorch casts to on a device, unless told otherwise."""
    return bfloat16 if device_type == "cpu" else float16


def custom_fwd(fwd: Callable[..., Any] | None = None, *, device_type: str = "cuda", cast_inputs: Any = None) -> Any:
    """Decorator for a custom Function's ``forward``; as nothing is cast, it returns the function."""
    return functools.partial(custom_fwd, device_type=device_type) if fwd is None else fwd


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str = "cuda") -> Any:
    """Decorator for a custom Function's ``backward``; as nothing is cast, it returns the function."""
    return functools.partial(custom_bwd, device_type=device_type) if bwd is None else bwd


class GradScaler:
    """A scaler of losses that leaves them as they are; where scaling is asked for, it warns.

    Scaling keeps small float16 gradients from becoming zero; nothing is cast to float16 here.

    Parameters
    ----------
    device : str
        ``"cuda"`` or ``"cpu"``.
    init_scale, growth_factor, backoff_factor, growth_interval : float
        Accepted.
    enabled : bool
        Whether scaling is asked for; then a UserWarning says that it is not done.

    Examples
    --------
    >>> import minitorch as torch
    >>> scaler = torch.amp.GradScaler(enabled=False)
    >>> w = torch.ones(2, requires_grad=True)
    >>> optimizer = torch.optim.SGD([w], lr=0.5)
    >>> scaler.scale(w.sum()).backward()
    >>> scaler.step(optimizer)
    >>> scaler.update()
    >>> w
    tensor([0.5000, 0.5000], requires_grad=True)
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 65536.0,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device = device
        if enabled:
            reason = "CUDA is not available" if device == "cuda" else "there is no autocast whose gradients need it"
            warnings.warn(f"torch.amp.GradScaler is enabled, but {reason}.  Disabling.", stacklevel=2)

    def is_enabled(self) -> bool:
        """Whether losses are scaled: never."""
        return False

    def scale(self, outputs: Any) -> Any:
        """The losses, as they are."""
        return outputs

    def unscale_(self, optimizer: Optimizer) -> None:
        """Undo the scaling of gradients; there is none."""

    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        """``optimizer.step(*args, **kwargs)``."""
        return optimizer.step(*args, **kwargs)

    def update(self, new_scale: Any = None) -> None:
        """Adapt the scale; there is none."""

    def get_scale(self) -> float:
        """The factor of losses: 1."""
        return 1.0

    def state_dict(self) -> dict[str, Any]:
        """The state: none."""
        return {}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Accepted: a scaler without scaling has no state."""
