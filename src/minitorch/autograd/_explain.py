"""``explain``: why a tensor's ``.grad`` is None, zero, or not what was expected."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from .. import _runtime
from .._autograd_methods import retains_grad
from .._fades import Fade, Way
from .._nonfinite import has_nonfinite
from .._records import name_of
from .._sites import getframe, mark_at, site_of
from .._views import current_node
from ._explain_case import RECORD
from ._explain_none import WhyNone
from ._explanation import Evidence, Explanation


def explain(tensor: Any, loss: Any = None) -> Explanation:
    """Why ``tensor.grad`` is None, or zero, or not what was expected.

    The answer comes from the tensor, from the graph of *loss* where that is given, and from what was noted while
    ``record_sites`` was on (or the recording that ended last): with it, most answers name the line.

    Parameters
    ----------
    tensor : Tensor
        The one whose gradient is asked about.
    loss : Tensor, optional
        The result that backward was, or will be, called on.  Where its graph is whole, a backward pass is run through it that
        changes no ``.grad`` (hooks are called, as by ``autograd.grad``).

    Returns
    -------
    Explanation
        With ``reason``, one of

        - of a gradient that is None: ``not_a_leaf``, ``requires_grad_false``, ``frozen`` (requires_grad was switched off),
          ``cut``, ``no_grad``, ``inference_mode``, ``loss_without_history``, ``requires_grad_late``, ``replaced``,
          ``not_reached``, ``stopped``, ``not_asked_for``, ``cleared``, ``backward_failed``, ``no_backward``;
        - of one that is zero: ``zeroed``, ``zero_gradient``, ``cancelled``;
        - of another: ``not_finite``, ``not_in_optimizer``, ``accumulated``, ``partly_zero``, ``has_gradient``;
        - ``unknown``.

    Raises
    ------
    TypeError
        If *tensor* or *loss* is no Tensor.

    Examples
    --------
    >>> import minitorch as torch
    >>> w = torch.ones(2, requires_grad=True)
    >>> v = w.double()
    >>> v.sum().backward()
    >>> torch.autograd.explain(v).reason
    'not_a_leaf'
    """
    for given, name in ((tensor, "tensor"), (loss, "loss")):
        if not isinstance(given, _runtime.Tensor) and (given is not None or name == "tensor"):
            raise TypeError(f"explain(): argument {name!r} must be Tensor, not {type(given).__name__}")
    who = name_of(tensor) or _argument(mark_at(getframe(1))) or "the tensor"
    return _Question(tensor, loss, who).answer()


def _argument(mark: Any) -> str | None:
    """The text of the first argument of the call at a mark."""
    site = site_of(mark)
    try:
        call: Any = ast.parse(site.expression if site else "", mode="eval").body
    except SyntaxError:
        return None
    if (
        not isinstance(call, ast.Call)
        or not call.args
        or any([isinstance(n, ast.Call) for n in ast.walk(call.args[0])])
    ):
        return None
    return ast.unparse(call.args[0])


class _Question(WhyNone):
    """One question, and the answers of a gradient that is there."""

    def answer(self) -> Explanation:
        if self.node is None:
            return self.without_history()
        if self.grad is None:
            if not self.leaf and not retains_grad(self.tensor):
                return self.not_a_leaf()
            return self.no_gradient()
        array = self.grad._array
        if has_nonfinite(array):
            return self.not_finite(array)
        return self.some_gradient(array) if np.count_nonzero(array) else self.zero()

    # -- zero
    def zero(self) -> Explanation:
        zeroed, reached = self.last("zeroed"), self.last("backward")
        if zeroed[2] > reached[2]:
            site = site_of(zeroed[1])
            return Explanation(
                "zeroed",
                f"{self.who}.grad is zero: it was set to zero"
                + (f" at {site.short}" if site else "")
                + " (as zero_grad(set_to_none=False) does), and no backward pass has reached it since.",
                site,
                "zero_grad",
            )
        way, error = self.way, None
        root = None if self.loss is None else current_node(self.loss)
        if way is None and root is not None:
            way, error = self.walked(root)
        if way is None:
            return Explanation(
                "unknown",
                f"{self.who}.grad is zero everywhere.",
                evidence=(Evidence(error),) if error else (),
                unknown=(
                    "which operation made it zero: the backward pass was not watched, and no graph is left to try",
                ),
                advice=("ask with the loss before backward, or after backward(retain_graph=True)", RECORD),
            )
        return self.zero_by(way)

    def zero_by(self, way: Way) -> Explanation:
        fade = next((f for f in way.fades if f.after == 1), way.fades[-1] if way.fades else None)
        if way.zeros < 1:
            return Explanation(
                "cancelled",
                f"{self.who}.grad is zero, but what came to it was not: contributions cancel, or a hook gave zero.",
                evidence=tuple([self.fact(f) for f in way.fades]),
            )
        if fade is None:
            return Explanation("zero_gradient", f"{self.who}.grad is zero: backward started with a gradient of zeros.")
        site = site_of(fade.mark)
        return Explanation(
            "zero_gradient",
            f"{self.who}.grad is zero: the gradient became zero at {fade.op}"
            + (f" ({site.short})" if site else f" ({fade.node})")
            + f": {fade.why}.",
            site,
            fade.op,
            (
                Evidence(
                    f"of the gradient that came to {fade.op} {fade.before:.0%} was zero, of what left it {fade.after:.0%}"
                ),
                *[self.fact(f) for f in way.fades if f is not fade],
            ),
            advice=() if site else self.hints(),
        )

    def fact(self, fade: Fade) -> Evidence:
        text = f"{fade.op} made {fade.after:.0%} of a gradient zero that had {fade.before:.0%} before: {fade.why}"
        return Evidence(text, site_of(fade.mark))

    # -- some gradient
    def not_finite(self, array: np.ndarray) -> Explanation:
        return Explanation(
            "not_finite",
            f"{int(np.isnan(array).sum())} entries of {self.who}.grad are NaN and {int(np.isinf(array).sum())} infinite.",
            unknown=("which operation made the first of them",),
            advice=("run it in `with torch.autograd.set_detect_anomaly(True):`: that names the operation",),
        )

    def some_gradient(self, array: np.ndarray) -> Explanation:
        cleared = self.last("cleared", "zeroed", "assigned")
        added = [event for event in self.story if event[0] == "backward" and event[2] > cleared[2]]
        sums = []
        if len(added) > 1:
            text = f"{len(added)} backward passes have added to it since it was last cleared"
            sums = [Evidence(text, site_of(added[-1][1]))]
        steps = [step for r in self.recordings for step in r.steps]
        if self.leaf and steps and not any([self.node.position in step.held for step in steps]):
            return self.not_in_optimizer(steps[-1], sums)
        if sums:
            return Explanation(
                "accumulated",
                f"{self.who}.grad is a sum over {len(added)} backward passes: nothing cleared it between them.",
                site_of(added[-1][1]),
                evidence=tuple([Evidence("a pass added to it", site_of(event[1])) for event in added[-3:]]),
                advice=("call zero_grad() before each backward pass, where the sum is not wanted",),
            )
        zeros = 1 - np.count_nonzero(array) / array.size
        way = self.way
        if way is None and self.loss is not None and zeros > 0 and current_node(self.loss) is not None:
            way = self.walked(current_node(self.loss))[0]
        fades = [] if way is None else [fade for fade in way.fades if fade.after < 1]
        if fades and zeros > 0:
            fade = max(fades, key=lambda f: f.after - f.before)
            site = site_of(fade.mark)
            return Explanation(
                "partly_zero",
                f"{zeros:.0%} of {self.who}.grad is zero: {fade.op}"
                + (f" at {site.short}" if site else "")
                + f" made most of it zero: {fade.why}.",
                site,
                fade.op,
                tuple([self.fact(f) for f in fades]),
                advice=() if site else self.hints(),
            )
        return Explanation(
            "has_gradient",
            f"{self.who}.grad is there: norm {float(np.linalg.norm(array)):.4g}, {zeros:.0%} zeros.",
            unknown=("whether it is what you expect: compare it with `torch.autograd.gradcheck`",),
            advice=(
                "`torch.autograd.gradient_report(loss)` shows how gradients shrink or grow on their way",
                *self.hints(),
            ),
        )

    def not_in_optimizer(self, step: Any, sums: list[Evidence]) -> Explanation:
        name = name_of(self.tensor) or ""
        facts = [Evidence(f"{step.optimizer}.step() changes others", step.site), *sums]
        outside = ""
        if "(" in name:  # see _module_paths
            model = name.partition(".(")[0]
            outside = (
                f"; the module that holds it is not registered in {model} (as when it is in a plain list or dict), so that "
                "it is not among its parameters()"
            )
        return Explanation(
            "not_in_optimizer",
            f"{self.who}.grad is there, but no optimizer holds {self.who}: it is neither updated nor cleared by zero_grad, so "
            f"that its gradients accumulate{outside}.",
            self.made,
            None,
            tuple(facts),
            advice=(
                "keep layers in nn.ModuleList or nn.ModuleDict and tensors in nn.Parameter, and give the optimizer all of them",
            ),
        )
