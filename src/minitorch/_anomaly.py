"""Anomaly mode: where a node was recorded, and NaN checks in backward."""

from __future__ import annotations

import os.path
import sys
import warnings
from collections.abc import Callable
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

from ._args import flag
from ._modes import observers
from ._runtime import raw
from ._tape import AccumulateGrad, Node, extras_of

_PACKAGE = os.path.dirname(__file__)


class Site(NamedTuple):
    """Where in the user's code an operation was recorded."""

    file: str
    line: int
    function: str
    text: str
    """The call's traceback, formatted, in anomaly mode; empty otherwise."""

    def __str__(self) -> str:
        return f'File "{self.file}", line {self.line}, in {self.function}'


def user_frame(frame: FrameType | None) -> FrameType | None:
    """The innermost frame outside the package and its generated code."""
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith("<op ") and not name.startswith(_PACKAGE):
            return frame
        frame = frame.f_back
    return None


def current_site(with_text: bool = False) -> Site | None:
    """The site of the user's line that is running."""
    frame = user_frame(sys._getframe(1))
    if frame is None:
        return None
    text = ""
    if with_text:
        import traceback

        text = "".join(traceback.format_stack(frame))
    return Site(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name, text)


class Sites:
    """The observer that notes each node's site; in anomaly mode with the traceback of the call."""

    def __init__(self, with_text: bool = False) -> None:
        self.with_text = with_text

    @staticmethod
    def active() -> bool:
        return True

    def recorded(self, call: Any) -> None:
        if call.in_place:
            edits = call.outputs[0]._alias.edits
            edits.writer = current_site()
        if call.node is not None:
            extras = extras_of(call.node)
            extras.site = current_site(self.with_text)
            extras.parent = _running[-1] if _running else None


_running: list[Node] = []
"""In anomaly mode, the nodes whose backward is running: what it records are their children."""


class _Anomaly:
    """The state of anomaly mode: on or off, and whether NaNs are looked for."""

    sites: Sites | None = None
    check_nan = True


def is_anomaly_enabled() -> bool:
    """Whether anomaly mode is on."""
    return _Anomaly.sites is not None


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly mode looks for NaNs."""
    return _Anomaly.check_nan


def switch_anomaly(mode: bool, check_nan: bool = True) -> None:
    """Turn anomaly mode on or off, for all threads."""
    mode, check_nan = flag(mode, "enabled", "set_anomaly_enabled"), flag(check_nan, "check_nan", "set_anomaly_enabled")
    if mode and _Anomaly.sites is None:
        _Anomaly.sites = Sites(with_text=True)
        observers.append(_Anomaly.sites)
    elif not mode and _Anomaly.sites is not None:
        observers.remove(_Anomaly.sites)
        _Anomaly.sites = None
    _Anomaly.check_nan = check_nan


class set_detect_anomaly:
    """Turn anomaly mode on or off at once; as a context manager, restore it on leaving.

    Parameters
    ----------
    mode : bool
        Whether a failing backward names the forward call it belongs to.
    check_nan : bool
        Whether a NaN gradient raises.
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._previous = is_anomaly_enabled(), is_anomaly_check_nan_enabled()
        switch_anomaly(mode, check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        switch_anomaly(*self._previous)


class detect_anomaly:
    """Context in which backward raises on NaN gradients, and errors name the forward call.

    Parameters
    ----------
    check_nan : bool
        Whether a NaN gradient raises.
    """

    def __init__(self, check_nan: bool = True) -> None:
        self._check_nan = check_nan
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for debugging.",
            stacklevel=2,
        )

    def __enter__(self) -> None:
        self._previous = is_anomaly_enabled(), is_anomaly_check_nan_enabled()
        switch_anomaly(True, self._check_nan)

    def __exit__(self, *exc: object) -> None:
        switch_anomaly(*self._previous)


class record_sites:
    """Note, for each node recorded from here on, the user's line that made it; as a context manager, only inside.

    ``Tape`` shows the sites, and errors about edited values name them.
    """

    def __init__(self, mode: bool = True) -> None:
        self._sites: Sites | None = None
        if mode:
            self._sites = Sites()
            observers.append(self._sites)
        else:
            observers[:] = [o for o in observers if not (isinstance(o, Sites) and not o.with_text)]

    def __enter__(self) -> record_sites:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._sites in observers:
            observers.remove(self._sites)


# -- in the walk -------------------------------------------------------------------------------------------------------
def checker() -> Callable[[Node, Callable[[], Any], Any], Any] | None:
    """What runs a node's backward in anomaly mode; None when it is off."""
    return run_checked if _Anomaly.sites is not None else None


def run_checked(node: Node, run: Callable[[], Any], F: Any) -> Any:
    """Run a node's backward: an error, or a NaN in its results, is reported with the forward call's traceback."""
    _running.append(node)
    try:
        results = run()
    except Exception:
        report(node)
        raise
    finally:
        _running.pop()
    if _Anomaly.check_nan and node.__class__ is not AccumulateGrad:
        for index, result in enumerate(results):
            array = result if F is raw or result is None else result._array
            if isinstance(array, (np.ndarray, np.generic)) and array.dtype.kind == "f" and np.isnan(array).any():
                report(node)
                raise RuntimeError(f"Function '{node.name()}' returned nan values in its {index}th output.")
    return results


def report(node: Node) -> None:
    """Warn with the traceback of the forward call, and of those that the node's own recording belongs to."""
    site = None if node.extras is None else node.extras.site
    if site is None:
        warnings.warn(
            f"Error detected in {node.name()}. No forward pass information available. Enable detect anomaly during forward "
            "pass for more information.",
            stacklevel=2,
        )
        return
    text = f"Error detected in {node.name()}. Traceback of forward call that caused the error:\n{site.text or site}"
    parent = node.extras.parent  # type: ignore[union-attr]
    while parent is not None and parent.extras is not None and parent.extras.site is not None:
        text += (
            f"\n\nPrevious calculation was induced by {parent.name()}. Traceback of forward call that induced the previous "
            f"calculation:\n{parent.extras.site.text or parent.extras.site}"
        )
        parent = parent.extras.parent
    warnings.warn(text, stacklevel=2)
