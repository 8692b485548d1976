"""A call of the function, recorded: every operation with the values it was given, and the calls that cut a path."""

from __future__ import annotations

import functools
import os.path
import sys
from types import CodeType, FrameType
from typing import Any, NamedTuple

import numpy as np

from .. import _anomaly, _runtime
from .._modes import grad_on
from .._views import current_node
from ..autograd.function import Function
from ..autograd.tape import Tape
from ..ops import from_data

_PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep


class Cut(NamedTuple):
    """A call whose result gradients do not flow through.

    Attributes
    ----------
    name : str
        Such as ``detach()``.
    site : str
        The line that made it.
    tensor : Tensor
        What it was made of.
    """

    name: str
    site: str
    tensor: Any


class Recording(Tape):
    """A tape of a block that keeps copies of the values each operation was given, and notes the calls that cut a path.

    Attributes
    ----------
    values : list of tuple
        For each entry its inputs: arrays in place of tensors, as they were before the call.
    cuts : list of Cut
        Calls by the user's code, outside custom Functions' forward, of tensors that require grad.
    """

    def __init__(self) -> None:
        super().__init__()
        self.values: list[tuple[Any, ...]] = []
        self.cuts: list[Cut] = []
        self._seen: dict[int, tuple[Any, np.ndarray]] = {}

    def __enter__(self) -> Recording:
        self._sites = _anomaly.record_sites()
        super().__enter__()
        self._profile = sys.getprofile()
        sys.setprofile(self._called)
        return self

    def __exit__(self, *exc: object) -> None:
        sys.setprofile(self._profile)
        super().__exit__(*exc)
        self._sites.__exit__()
        self._seen.clear()

    def recorded(self, call: Any) -> None:
        """Note one call and the values it was given."""
        super().recorded(call)
        self.values.append(tuple([self._before(t, call.in_place and i == 0) for i, t in enumerate(call.inputs)]))
        for tensor in (*call.inputs, *call.outputs):
            if isinstance(tensor, _runtime.Tensor):
                self._seen[id(tensor)] = tensor, tensor._array.copy()
        if call.in_place:
            for key, (tensor, _) in list(self._seen.items()):
                if np.may_share_memory(tensor._array, call.outputs[0]._array):
                    self._seen[key] = tensor, tensor._array.copy()
        self._notice_no_grad(call)

    def _before(self, value: Any, written: bool) -> Any:
        if not isinstance(value, _runtime.Tensor):
            return value
        if written:
            return self._seen[id(value)][1] if id(value) in self._seen else None
        return value._array.copy()

    def _notice_no_grad(self, call: Any) -> None:
        """An operation that would have been recorded, had grad mode been on."""
        if grad_on() or call.node is not None or not getattr(call.row, "formulas", None):
            return
        givers = [t for t in call.inputs if isinstance(t, _runtime.Tensor) and current_node(t) is not None]
        outputs = [t for t in call.outputs if t._array.dtype.kind == "f"]
        frame = sys._getframe(1)
        if givers and outputs and not _inside_forward(frame):
            site = _site(_anomaly.user_frame(frame))
            self.cuts.append(Cut(f"{call.row.name}() with recording off (no_grad)", site, givers[0]))

    def _called(self, frame: FrameType, event: str, result: Any) -> None:
        """The profiler's hook: calls of the methods that leave the graph, where they are the user's."""
        name = _leaving().get(frame.f_code)
        if name is None or frame.f_back is None or frame.f_back.f_code.co_filename.startswith(_PACKAGE):
            return
        casts = name.endswith("?")
        if (event == "return") != casts or event not in ("call", "return"):
            return
        code = frame.f_code
        tensor = frame.f_locals.get(code.co_varnames[0]) if code.co_argcount or code.co_flags & 4 else None
        tensor = tensor[0] if isinstance(tensor, tuple) and tensor else tensor
        if not isinstance(tensor, _runtime.Tensor) or current_node(tensor) is None or _inside_forward(frame):
            return
        if casts:
            if not isinstance(result, _runtime.Tensor) or result._array.dtype.kind == "f":
                return
            name = f"{name[:-1]}: a cast to {result.dtype}"
        self.cuts.append(Cut(name, _site(frame.f_back), tensor))


@functools.cache
def _leaving() -> dict[CodeType, str]:
    """The code of Tensor's methods that leave the graph, and how they are called; those with ? only if they give integers."""
    Tensor = _runtime.Tensor
    names = {
        "detach": "detach()",
        "detach_": "detach_()",
        "item": "item()",
        "tolist": "tolist()",
        "numpy": "numpy()",
        "__array__": "a conversion to a NumPy array",
        "__float__": "float()",
        "__int__": "int()",
        "new_tensor": "new_tensor()",
        "to": "to()?",
        "type": "type()?",
        **{name: f"{name}()?" for name in ("long", "int", "short", "char", "byte")},
    }
    found = {}
    for name, shown in names.items():
        code = getattr(getattr(Tensor, name, None), "__code__", None)
        if code is not None:
            found[code] = shown
    found[Tensor.data.fget.__code__] = ".data"
    found[from_data.tensor.__code__] = "tensor(), which copies values,"
    return found


def _inside_forward(frame: FrameType | None) -> bool:
    """Whether a custom Function's forward is running: what it does is its own business."""
    code = Function.apply.__func__.__code__  # type: ignore[attr-defined]
    while frame is not None:
        if frame.f_code is code:
            return True
        frame = frame.f_back
    return False


def _site(frame: FrameType | None) -> str:
    if frame is None:
        return ""
    return f'File "{frame.f_code.co_filename}", line {frame.f_lineno}, in {frame.f_code.co_name}'
