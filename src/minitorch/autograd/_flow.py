"""How gradients flow: of each parameter and each operation, how large they are, how many are zero, what a step would change."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import _runtime
from .._anomaly import Run, watchers
from .._differentiate import grad
from .._hooks import as_tensor, listed
from .._modes import no_grad
from .tape import Entry, Tape

if TYPE_CHECKING:
    from collections.abc import Mapping


class Flow(NamedTuple):
    """One gradient in figures.

    Attributes
    ----------
    name : str
        The parameter's name; of an operation, its entry's number and node.
    shape : tuple of int
    norm : float
        The 2-norm; NaN where there is no gradient.
    largest : float
        The largest absolute value.
    zeros : float
        The share of elements that are exactly 0.
    finite : bool
        Whether there is neither an infinity nor a NaN.
    update : float or None
        The norm of what the optimizer's next step would change, over the norm of the parameter; None without an optimizer.
    dead : tuple of int
        Of a weight of two and more dimensions: the units (rows) whose gradient is 0 everywhere.
    entry : Entry or None
        The operation, if it is one.
    """

    name: str
    shape: tuple[int, ...]
    norm: float
    largest: float
    zeros: float
    finite: bool
    update: float | None = None
    dead: tuple[int, ...] = ()
    entry: Entry | None = None

    @property
    def missing(self) -> bool:
        """Whether there is no gradient."""
        return bool(np.isnan(self.norm) and self.finite)


class GradientReport:
    """Gradients in figures: of parameters, and of the operations of a tape.  See ``gradient_report``.

    Attributes
    ----------
    parameters : list of Flow
        In the model's order.
    operations : list of Flow
        From the first operation to the last, where the report was made of a loss: of the gradient of the (first) output.
    """

    def __init__(self, parameters: list[Flow], operations: list[Flow]) -> None:
        self.parameters, self.operations = parameters, operations

    @property
    def norm(self) -> float:
        """The norm of all parameters' gradients together: what ``clip_grad_norm_`` looks at."""
        return float(np.sqrt(sum([flow.norm**2 for flow in self.parameters if not flow.missing])))

    @property
    def offender(self) -> Flow | None:
        """The parameter that makes most of that norm (one that is not finite before all others); None without gradients."""
        given = [flow for flow in self.parameters if not flow.missing]
        if not given:
            return None
        return max(given, key=lambda flow: (not flow.finite, flow.norm))

    def clipping(self, max_norm: float) -> str:
        """What clipping to this norm would do, and because of which parameter.

        Examples
        --------
        >>> import minitorch as torch
        >>> w, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
        >>> (w * 30 + b).sum().backward()
        >>> torch.autograd.gradient_report({"w": w, "b": b}).clipping(1.0)
        "the norm 42.45 is above 1: gradients would be multiplied by 0.02356; 'w' has 99.9 % of its square (norm 42.43)"
        """
        offender = self.offender
        if offender is None:
            return "there are no gradients"
        if not offender.finite:
            return f"the norm is {self.norm}: the gradient of {offender.name!r} is not finite; see docs/how-to/debug-nan.md"
        if self.norm <= max_norm:
            return f"the norm {self.norm:.4g} is not above {max_norm:g}: nothing would change"
        share = 100 * offender.norm**2 / self.norm**2
        return (
            f"the norm {self.norm:.4g} is above {max_norm:g}: gradients would be multiplied by {max_norm / self.norm:.4g}; "
            f"{offender.name!r} has {share:.1f} % of its square (norm {offender.norm:.4g})"
        )

    def __str__(self) -> str:
        parts = []
        if self.parameters:
            parts.append(_table("parameter", self.parameters))
        if self.operations:
            parts.append(_table("operation", self.operations))
        remarks = list(_remarks(self.parameters))
        return "\n\n".join([*parts, *(["\n".join(remarks)] if remarks else [])])

    __repr__ = __str__

    def plot(self, axes: Any = None) -> Any:
        """Bars of the norms, on a logarithmic scale, with matplotlib (the extra ``plot``).

        Parameters
        ----------
        axes : matplotlib Axes, optional
            Where to draw; a new figure otherwise.

        Returns
        -------
        Axes

        Raises
        ------
        ImportError
            Without matplotlib.
        """
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise ImportError("plot() needs matplotlib: pip install 'minitorch[plot]'") from error
        flows = self.parameters or self.operations
        if axes is None:
            _, axes = plt.subplots(figsize=(7, 0.8 + 0.28 * len(flows)), layout="constrained")
        places = np.arange(len(flows))
        norms = [flow.norm if flow.finite and flow.norm > 0 else np.nan for flow in flows]
        axes.barh(places, norms, color=["tab:red" if flow is self.offender else "tab:blue" for flow in flows])
        axes.set_yticks(places, [flow.name for flow in flows])
        axes.invert_yaxis()
        axes.set_xscale("log")
        axes.set_xlabel("norm of the gradient")
        for place, flow in zip(places, flows):
            if flow.missing or not flow.finite or flow.norm == 0:
                said = "none" if flow.missing else "zero" if flow.finite else "not finite"
                axes.text(0.01, place, said, va="center", transform=axes.get_yaxis_transform())
        return axes


def gradient_report(of: Any, optimizer: Any = None, *, params: Mapping[str, Any] | None = None) -> GradientReport:
    """Gradients in figures.

    Parameters
    ----------
    of : Module, mapping of str to Tensor, or Tensor
        A model or named parameters: what their ``.grad`` is now. A loss, whose graph was not freed: what backward would give,
        for its leaves and for each operation; nothing is accumulated or freed.
    optimizer : Optimizer, optional
        Adds what its next step would change, in proportion to the parameter: it is made on copies. About 1e-3 is common in
        training that goes well.
    params : mapping of str to Tensor, optional
        Of a loss: names, such as ``dict(model.named_parameters())``.

    Raises
    ------
    RuntimeError
        Of a loss whose graph was freed, or that requires no grad.

    Examples
    --------
    >>> import minitorch as torch
    >>> w = torch.tensor([[1.0, 2.0], [-3.0, 0.0]], requires_grad=True)
    >>> b = torch.zeros(2, requires_grad=True)
    >>> loss = (w @ torch.ones(2) + b).relu().sum()
    >>> torch.autograd.gradient_report(loss, params={"w": w, "b": b})
    parameter  shape   norm   largest  zeros
    w          (2, 2)  1.414  1        50 %   ##########  dead unit 1
    b          (2,)    1      1        50 %   #######
    <BLANKLINE>
    operation         shape  norm   largest  zeros
    #0 MvBackward0    (2,)   1      1        50 %   #######
    #1 AddBackward0   (2,)   1      1        50 %   #######
    #2 ReluBackward0  (2,)   1.414  1        0 %    ##########
    #3 SumBackward0   ()     1      1        0 %    #######
    <BLANKLINE>
    w: 1 of 2 units gets no gradient
    """
    if isinstance(of, _runtime.Tensor):
        return _of_loss(of, optimizer, dict(params or {}))
    named = dict(of.named_parameters()) if hasattr(of, "named_parameters") else dict(of)
    for name, parameter in named.items():
        if not isinstance(parameter, _runtime.Tensor):
            came = type(parameter).__name__
            raise TypeError(f"gradient_report() expects a module, a loss or named tensors; {name!r} is {came}")
    updates = _updates(list(named.values()), optimizer)
    flows = [
        _flow(name, p, p.grad if p.is_leaf or p.retains_grad else None, updates.get(id(p))) for name, p in named.items()
    ]
    return GradientReport(flows, [])


def _of_loss(loss: Any, optimizer: Any, params: dict[str, Any]) -> GradientReport:
    tape = Tape(loss, params)
    leaves: dict[int, tuple[str, Any]] = {}
    for entry in tape:
        for parent in entry.parents:
            if parent.leaf is not None:
                name = parent.name or f"leaf {len(leaves)}"
                leaves.setdefault(id(parent.leaf._node), (name, parent.leaf))
    watcher = Watcher()
    watchers.append(watcher)
    try:
        gradients = grad(loss, [leaf for _, leaf in leaves.values()], retain_graph=True, allow_unused=True)
    finally:
        watchers.remove(watcher)
    found = {name: (leaf, gradient) for (name, leaf), gradient in zip(leaves.values(), gradients)}
    for name, parameter in params.items():
        found.setdefault(name, (parameter, None))
    updates = _updates([leaf for leaf, _ in found.values()], optimizer, [g for _, g in found.values()])
    flows = [_flow(name, leaf, gradient, updates.get(id(leaf))) for name, (leaf, gradient) in found.items()]
    seen = watcher.gradients
    operations = [
        _flow(f"#{e.number} {e.name}", None, seen[e.node], None, e) for e in tape if seen.get(e.node) is not None
    ]
    return GradientReport(flows, operations)


class Watcher:
    """Keeps the gradients that come to each node in a pass."""

    def __init__(self) -> None:
        self.gradients: dict[Any, Any] = {}

    def for_pass(self) -> Any:
        """The check of a pass."""
        return self.check

    def check(self, node: Any, gradient: Any, run: Run, F: Any) -> Any:
        """Note the gradient of the first output that has one, and run the node."""
        self.gradients[node] = next((as_tensor(g, F) for g in listed(node, gradient) if g is not None), None)
        return run(gradient)


def _updates(parameters: list[Any], optimizer: Any, gradients: list[Any] | None = None) -> dict[int, float]:
    """What the optimizer's next step changes, over the parameter, by the parameters' ids; made on copies."""
    if optimizer is None:
        return {}
    if not hasattr(optimizer, "step"):
        raise TypeError(f"gradient_report(): expected an Optimizer, not {type(optimizer).__name__}")
    memo: dict[int, Any] = {}
    twin = copy.deepcopy(optimizer, memo)
    for index, parameter in enumerate(parameters):
        copied = memo.get(id(parameter))
        if copied is not None:  # without its gradient, if it is a Parameter
            gradient = parameter.grad if gradients is None else gradients[index]
            copied.grad = None if gradient is None else gradient.clone()
    try:
        with no_grad():
            twin.step()
    except TypeError as error:  # it wants a closure
        raise TypeError(
            f"gradient_report(): a step cannot be tried on copies of the parameters: {error}; leave the optimizer out"
        ) from error
    ratios = {}
    for parameter in parameters:
        copied = memo.get(id(parameter))
        if copied is not None:
            before = parameter._array.astype(np.float64)
            size = np.linalg.norm(before)
            change = np.linalg.norm(copied._array.astype(np.float64) - before)
            ratios[id(parameter)] = float(change / size) if size else float("inf") if change else 0.0
    return ratios


def _flow(name: str, parameter: Any, gradient: Any, update: float | None, entry: Entry | None = None) -> Flow:
    shape = tuple((parameter if parameter is not None else gradient)._array.shape)
    if gradient is None:
        return Flow(name, shape, float("nan"), float("nan"), float("nan"), True, update, (), entry)
    array = gradient._array
    values = array.astype(np.float64)
    finite = bool(np.isfinite(values).all())
    dead: tuple[int, ...] = ()
    if parameter is not None and array.ndim > 1:
        silent = (array == 0).all(axis=tuple(range(1, array.ndim)))
        dead = tuple(np.flatnonzero(silent).tolist())
    with np.errstate(all="ignore"):
        norm = float(np.linalg.norm(values))
    largest = float(np.abs(values).max()) if values.size else 0.0
    zeros = float((array == 0).mean()) if array.size else 0.0
    return Flow(name, shape, norm, largest, zeros, finite, update, dead, entry)


# -- as text -----------------------------------------------------------------------------------------------------------
def _table(title: str, flows: list[Flow]) -> str:
    most = max([flow.norm for flow in flows if flow.finite and not flow.missing], default=0.0)
    with_updates = any([flow.update is not None for flow in flows])
    rows = [[title, "shape", "norm", "largest", "zeros", *(["update"] if with_updates else []), "", ""]]
    for flow in flows:
        figures = (
            ["none", "", ""]
            if flow.missing
            else [f"{flow.norm:.4g}", f"{flow.largest:.4g}", f"{100 * flow.zeros:.0f} %"]
        )
        update = ["" if flow.update is None else f"{flow.update:.1e}"] if with_updates else []
        bar = (
            "#" * max(1, round(10 * flow.norm / most))
            if flow.finite and not flow.missing and flow.norm and most
            else ""
        )
        rows.append(
            [flow.name, str(flow.shape), *figures, *update, bar if flow.finite else "NOT FINITE", _dead_text(flow)]
        )
    widths = [max([len(row[i]) for row in rows]) for i in range(len(rows[0]))]
    return "\n".join(["  ".join([cell.ljust(width) for cell, width in zip(row, widths)]).rstrip() for row in rows])


def _dead_text(flow: Flow) -> str:
    if not flow.dead or len(flow.dead) == flow.shape[0]:
        return ""
    shown = ", ".join([str(unit) for unit in flow.dead[:5]]) + (", ..." if len(flow.dead) > 5 else "")
    return f"dead unit{'s' * (len(flow.dead) > 1)} {shown}"


def _remarks(flows: list[Flow]) -> list[str]:
    remarks = []
    for flow in flows:
        if flow.missing:
            remarks.append(f"{flow.name}: no gradient; autograd.explain says why")
        elif not flow.finite:
            remarks.append(f"{flow.name}: the gradient is not finite; see docs/how-to/debug-nan.md")
        elif flow.zeros == 1:
            remarks.append(f"{flow.name}: the gradient is zero everywhere; autograd.explain says why")
        elif flow.dead:
            verb = "gets" if len(flow.dead) == 1 else "get"
            remarks.append(f"{flow.name}: {len(flow.dead)} of {flow.shape[0]} units {verb} no gradient")
        if flow.update is not None and flow.update > 0.1:
            remarks.append(f"{flow.name}: the next step changes it by {100 * flow.update:.0f} % of its size")
    return remarks
