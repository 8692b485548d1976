"""Anomaly mode: where a node was recorded, and NaN checks in backward."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from . import _fades
from ._args import flag
from ._modes import Observer, observers
from ._records import Recording, recordings
from ._runtime import raw
from ._sites import site_of
from ._tape import AccumulateGrad, Node, extras_of


class Parents(Observer):
    """The observer of anomaly mode: in a backward pass that is itself recorded, nodes know for which node they were made."""

    def active(self) -> bool:
        return bool(_running)

    def recorded(self, call: Any) -> None:
        if call.node is not None:
            extras_of(call.node).parent = _running[-1]


parents = Parents()

_running: list[Node] = []
"""In anomaly mode, the nodes whose backward is running: what it records are their children."""


class _Anomaly:
    """The state of anomaly mode: on or off, and whether NaNs are looked for."""

    recording: Recording | None = None
    check_nan = True

    births: Any = None

    @staticmethod
    def for_pass() -> Check:
        from ._nonfinite import GradientBirths

        return Checked(GradientBirths())


def is_anomaly_enabled() -> bool:
    """Whether anomaly mode is on."""
    return _Anomaly.recording is not None


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly mode looks for NaNs."""
    return _Anomaly.check_nan


def switch_anomaly(mode: bool, check_nan: bool = True) -> None:
    """Turn anomaly mode on or off, for all threads."""
    mode, check_nan = flag(mode, "enabled", "set_anomaly_enabled"), flag(check_nan, "check_nan", "set_anomaly_enabled")
    if mode and _Anomaly.recording is None:
        from ._nonfinite import Births

        births = Births()
        _Anomaly.recording = Recording(stacks=True)
        _Anomaly.recording.start()
        observers[:0] = [parents, births]
        _Anomaly.births = births
        watchers.append(_Anomaly)
    elif not mode and _Anomaly.recording is not None:
        observers.remove(parents)
        observers.remove(_Anomaly.births)
        watchers.remove(_Anomaly)
        _Anomaly.recording.stop()
        _Anomaly.recording = None
    _Anomaly.check_nan = check_nan


class set_detect_anomaly:
    """Turn anomaly mode on or off at once; as a context manager, restore it on leaving.

    Parameters
    ----------
    mode : bool
        Whether a failing backward names the forward call it belongs to.
    check_nan : bool
        Whether a NaN gradient raises.

    Examples
    --------
    >>> import minitorch as torch
    >>> with torch.autograd.set_detect_anomaly(True):
    ...     print(torch.is_anomaly_enabled())
    True
    >>> torch.is_anomaly_enabled()
    False
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


class record_sites(Recording):
    """Note, from here on, where things happen: the line and the module of each operation, where values leave the graph, what
    becomes of leaves' gradients; as a context manager, only inside.

    ``Tape``, ``explain`` and errors show it.

    Parameters
    ----------
    mode : bool
        False ends all recordings that were switched on by a call; as a context manager, until the block ends.

    Examples
    --------
    >>> import minitorch as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.autograd.record_sites():
    ...     y = x * 2
    >>> torch.autograd.Tape(y)[0].site.source
    'y = x * 2'
    """

    def __init__(self, mode: bool = True) -> None:
        super().__init__()
        self._left = False
        self._ended: list[record_sites] = []
        if mode:
            self.start()
        else:
            self._ended = [r for r in recordings if isinstance(r, record_sites)]
            for recording in self._ended:
                recording.stop()

    def __enter__(self) -> record_sites:
        return self

    def __exit__(self, *exc: object) -> None:
        self._left = True
        self.stop()
        for recording in [r for r in self._ended if not r._left]:
            recording.start()
        self._ended = []


# -- in the walk -------------------------------------------------------------------------------------------------------
Run = Callable[[Any], Any]
"""A node's backward, as watchers see it: takes the gradient that came in, gives those of the inputs (None: none)."""
Check = Callable[[Node, Any, Run, Any], Any]
"""``check(node, gradient, run, F)`` gives what ``run(gradient)`` gives, or something else."""

watchers: list[Any] = []
"""What looks at backward passes node by node: each one's ``for_pass()`` gives a Check for a pass that begins, or None."""


def checker() -> Check | None:
    """What runs each node's backward in the pass that begins; None where nothing watches."""
    if not watchers and not recordings:
        return None
    check: Check | None = None
    for watcher in (*watchers, _fades) if recordings else watchers:
        inner = watcher.for_pass()
        if inner is not None:
            check = inner if check is None else _around(check, inner)
    return check


def _around(outer: Check, inner: Check) -> Check:
    def check(node: Node, gradient: Any, run: Run, F: Any) -> Any:
        return outer(node, gradient, lambda g: inner(node, g, run, F), F)

    return check


class Checked:
    """The check of anomaly mode in one pass: errors of a node, and NaNs that it gives, are reported with the forward call."""

    def __init__(self, births: Any) -> None:
        self.births = births

    def __call__(self, node: Node, gradient: Any, run: Run, F: Any) -> Any:
        from ._nonfinite import saved_arrays

        saved = saved_arrays(node) if _Anomaly.check_nan else []
        _running.append(node)
        try:
            results = run(gradient)
        except Exception:
            report(node)
            raise
        finally:
            _running.pop()
        if _Anomaly.check_nan and node.__class__ is not AccumulateGrad:
            origin = self.births.look(node, gradient, saved, results, F)
            for index, result in enumerate(results):
                array = result if F is raw or result is None else result._array
                if isinstance(array, (np.ndarray, np.generic)) and array.dtype.kind == "f" and np.isnan(array).any():
                    report(node)
                    # Not kept in a variable: its traceback holds this frame.
                    raise RuntimeError(f"Function '{node.name()}' returned nan values in its {index}th output.") from (
                        None if origin is None else origin.error()
                    )
        return results


def report(node: Node) -> None:
    """Warn with the traceback of the forward call, and of those that the node's own recording belongs to."""
    extras = node.extras
    site = None if extras is None else site_of(extras.mark)
    if extras is None or site is None:
        warnings.warn(
            f"Error detected in {node.name()}. No forward pass information available. Enable detect anomaly during forward "
            "pass for more information.",
            stacklevel=2,
        )
        return
    text = f"Error detected in {node.name()}. Traceback of forward call that caused the error:\n{site.text or site}"
    parent = extras.parent
    while parent is not None and parent.extras is not None and (site := site_of(parent.extras.mark)) is not None:
        text += (
            f"\n\nPrevious calculation was induced by {parent.name()}. Traceback of forward call that induced the previous "
            f"calculation:\n{site.text or site}"
        )
        parent = parent.extras.parent
    warnings.warn(text, stacklevel=2)
