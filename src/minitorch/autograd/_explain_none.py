"""Why a gradient is None: a part of ``explain``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from .._autograd_methods import is_inference
from .._differentiate import get_gradient_edge
from .._passes import Pass, label
from .._reach import reachable
from .._records import Cut, history, notes_of, op_name
from .._sites import site_of
from .._tape import AccumulateGrad, Output
from .._views import current_node
from ._explain_case import RECORD, Case
from ._explanation import Evidence, Explanation

_CUTS = {
    "detach": "detach() gives a tensor without history",
    "detach_": "detach_() takes the history from the tensor",
    "data": ".data gives a tensor without history",
    "item": ".item() (as float() and int() do) gives a Python number, which has no history",
    "tolist": ".tolist() gives Python numbers, which have no history",
    "numpy": ".numpy() gives an array, which has no history",
    "no_grad": "under no_grad nothing is recorded",
    "inference_mode": "under inference_mode nothing is recorded",
    "tensor": "torch.tensor(...) copies values into a new leaf without history (torch.stack and torch.cat keep it)",
    "as_tensor": "torch.as_tensor(...) copies the values of a list of tensors, without their history (torch.stack keeps it)",
    "from_numpy": "an array from NumPy has no history",
    "Parameter": "nn.Parameter(...) takes a tensor's values, not its history: it is a new leaf",
}
_MODES = ("no_grad", "inference_mode")


class WhyNone(Case):
    """The answers of a gradient that is None."""

    def by_cut(self, cut: Cut, evidence: Iterable[Evidence] = ()) -> Explanation:
        """The answer where a value was cut off on its way."""
        chain = [c for c in (*cut.before, cut) if self.node is None or c.own(self.node)] or [cut]
        first = chain[0]
        site = first.mode_site or first.site if first.kind in _MODES else first.site
        what = f" of {first.name}" if first.name else ""
        line = f" at {site.short}" if site else ""
        facts = [Evidence(f"{first.kind} was applied to a tensor{what} of shape {first.shape}", first.site)]
        if self.node is not None:
            facts[0] = Evidence(
                f"what was cut off was computed from {self.who}; its shape was {first.shape}", first.site
            )
        facts += [
            Evidence(f"its values went on through {c.kind}", c.site)
            for c in (*cut.before, cut)
            if c.moment > first.moment
        ]
        unknown = []
        if not cut.certain:
            unknown.append(
                "whether the numbers that came back as a tensor are those that left the graph: numbers have no history"
            )
        says = _CUTS.get(first.kind, f"{first.kind} has no derivative: no gradient goes back through it")
        if first.kind.endswith(".apply"):
            says = f"{first.kind}(...) returned it marked with ctx.mark_non_differentiable: no gradient goes back through it"
        if first.kind in _MODES and first.mode_mark is not None and first.mode_site is None:
            says = f"what is called there runs under {first.kind} itself (sample() of distributions does, rsample() does not)"
        summary = (
            f"{self.who} does not require grad: its values were cut from their history{line}: {says}."
            if self.node is None
            else f"{self.who}.grad is None: the path from the loss to it is cut{line}: {says}."
        )
        reason = first.kind if first.kind in _MODES else "cut"
        return Explanation(
            reason,
            summary,
            site,
            first.kind,
            tuple(dict.fromkeys((*facts, *evidence))),
            tuple(unknown),
            _advice_on(first),
        )

    # -- None
    def without_history(self) -> Explanation:
        """Of a tensor that does not require grad."""
        mark, cuts = notes_of(self.tensor)
        if cuts:
            return self.by_cut(cuts[-1])
        accumulator = getattr(self.tensor, "_accumulator", None)
        if accumulator is not None:
            story = [] if accumulator.extras is None else accumulator.extras.story
            site = next((site_of(event[1]) for event in reversed(story) if event[0] == "frozen"), None)
            return Explanation(
                "frozen",
                f"{self.who} does not require grad any more: its requires_grad was set to False"
                + (f" at {site.short}." if site else "."),
                site,
                advice=("set requires_grad to True before the forward pass", *self.hints()),
            )
        if is_inference(self.tensor):
            return Explanation(
                "inference_mode",
                f"{self.who} was made under inference_mode, where nothing is recorded.",
                site_of(mark),
                "inference_mode",
                advice=("compute it outside inference_mode", *self.hints()),
            )
        unknown: tuple[str, ...] = ()
        if mark is None:
            unknown = ("whether it was computed from tensors that require grad (and where it was cut from them)",)
        kind = self.tensor._array.dtype.kind
        summary = f"{self.who} does not require grad (requires_grad is False), so that no gradient is computed for it."
        if kind != "f":
            summary = f"{self.who} does not require grad: it is of {self.tensor.dtype}, and only floats have gradients."
        return Explanation(
            "requires_grad_false",
            summary,
            site_of(mark),
            unknown=unknown,
            advice=("make it with requires_grad=True, or call requires_grad_() before the forward pass", *self.hints()),
        )

    def not_a_leaf(self) -> Explanation:
        """Of a result that does not retain its gradient."""
        node = get_gradient_edge(self.tensor).node
        site = None if node.extras is None else site_of(node.extras.mark)
        row = getattr(node, "row", None)
        op = op_name(row) if row is not None else node.name()
        facts, below = [], node
        for _ in range(8):
            edges = [edge for edge in below.edges if edge is not None]
            if len(edges) != 1:
                break
            below = edges[0].edges[0] if edges[0].__class__ is Output else edges[0]
            if below.__class__ is AccumulateGrad:
                has = "has a gradient" if below.grad is not None else "has no gradient either"
                made = None if below.extras is None else site_of(below.extras.mark)
                facts.append(Evidence(f"it was made from {label(below)}, which is a leaf, and {has}", made))
                break
        return Explanation(
            "not_a_leaf",
            f"{self.who}.grad is None: {self.who} is not a leaf but the result of {op} ({node.name()})"
            + (f" at {site.short}" if site else "")
            + ", and only leaves, and tensors that retain_grad() was called on, get a .grad.",
            site,
            op,
            tuple(facts),
            advice=(
                "ask the leaf for its gradient; or convert first and then call requires_grad_() on the result; or call "
                "retain_grad() on it before backward",
                *(() if site else self.hints()),
            ),
        )

    def no_gradient(self) -> Explanation:
        """Of a tensor that could have a gradient, but has none."""
        cleared, reached = self.last("cleared"), self.last("backward")
        passes = [p for p in self.passes if p.accumulates]
        if cleared[2] > reached[2] > 0 and not any([p.moment > cleared[2] for p in passes]):
            return self.cleared(cleared, reached)
        if self.loss is not None:
            return self.by_loss()
        if not passes:
            return self.no_backward()
        if passes[0].failed:
            return Explanation(
                "backward_failed",
                f"{self.who}.grad is None: the backward pass raised an error before it was complete.",
                passes[0].site,
                evidence=(Evidence(str(passes[0].error)), self.pass_fact(passes[0])),
            )
        passes = [p for p in passes if p.moment > cleared[2]] or passes
        for noted in passes:
            if self.node.position in noted.reached:
                return self.reached_without(noted)
            cut = self.best(noted.cuts)
            if cut is not None:
                return self.by_cut(cut, [self.pass_fact(noted)])
        return self.not_reached(passes)

    def best(self, cuts: Iterable[Cut]) -> Cut | None:
        """Of those cuts that hide the tensor, a certain one before others, the newest first."""
        hiding = [cut for cut in cuts if cut.hides(self.node)]
        return max(hiding, key=lambda cut: (cut.certain, cut.moment), default=None)

    def cleared(self, cleared: Any, reached: Any) -> Explanation:
        site = site_of(cleared[1])
        facts = [Evidence("a backward pass had given it a gradient", site_of(reached[1]))]
        step = next((s for r in self.recordings for s in reversed(r.steps) if self.node.position in s.held), None)
        used = ", after backward."
        if step is not None:
            when = "before" if step.moment < cleared[2] else "after"
            facts.append(Evidence(f"{step.optimizer}.step() was called {when} it was cleared", step.site))
            if reached[2] < step.moment < cleared[2]:
                used = ", after the optimizer's step had used it."
        return Explanation(
            "cleared",
            f"{self.who}.grad is None: it had a gradient, which was cleared (set to None, as zero_grad() does)"
            + (f" at {site.short}" if site else "")
            + used,
            site,
            "zero_grad",
            tuple(facts),
            advice=("clear gradients before backward, or after the optimizer's step; look at them in between",),
        )

    def no_backward(self) -> Explanation:
        if not self.recordings:
            return Explanation(
                "unknown",
                f"{self.who}.grad is None: no backward pass has reached it, or its gradient was cleared since.",
                unknown=("which of the two, as nothing was recorded and no loss was given",),
                advice=("ask with the loss: explain(tensor, loss)", RECORD),
            )
        others = tuple(
            [Evidence("autograd.grad was called, which does not set .grad", p.site) for p in self.passes[:1]]
        )
        return Explanation(
            "no_backward",
            f"{self.who}.grad is None: no backward pass was run while it was recorded.",
            evidence=others,
            unknown=("what happened outside the recording",),
            advice=(
                "call backward() on a result that was computed from it",
                "ask with the loss: explain(tensor, loss)",
            ),
        )

    def reached_without(self, noted: Pass) -> Explanation:
        """Of a tensor that a pass reached without leaving a gradient."""
        for fade, positions in [entry for r in self.recordings for entry in r.stopped]:
            if self.node.position in positions:
                site = site_of(fade.mark)
                return Explanation(
                    "stopped",
                    f"{self.who}.grad is None: the loss depends on it, but {fade.op} gave no gradient: {fade.why}.",
                    site,
                    fade.op,
                    (self.pass_fact(noted),),
                )
        if self.leaf and self.last("backward")[2] < noted.moment:
            return Explanation(
                "not_asked_for",
                f"{self.who}.grad is None: backward was called with inputs=, and {self.who} is not among them.",
                noted.site,
                evidence=(self.pass_fact(noted),),
            )
        return Explanation(
            "unknown",
            f"{self.who}.grad is None, although a backward pass reached it.",
            noted.site,
            evidence=(self.pass_fact(noted),),
            unknown=("what became of the gradient: it may have been cleared while nothing was recorded",)
            if self.leaf
            else ("whether retain_grad() was called before that pass: it must be",),
        )

    def not_reached(self, passes: list[Pass]) -> Explanation:
        """Of a tensor that no pass led to, through no cut that is known."""
        noted = passes[0]
        facts = [self.pass_fact(noted)]
        if noted.ends:
            facts.append(
                Evidence(f"its paths end at {', '.join(noted.ends[:8])}{' ...' if len(noted.ends) >= 8 else ''}")
            )
        cleared, replaced = self.last("cleared"), self.last("replaced")
        if cleared[0]:
            facts.append(Evidence("it had a gradient before, which was cleared", site_of(cleared[1])))
        if replaced[0]:
            return self.replaced(site_of(replaced[1]), facts)
        if self.node.position < noted.newest or (self.last("required")[0] and self.node.position < noted.oldest):
            return self.late(noted, facts)
        left = {id(c): c for r in self.recordings for c in r.left if c.hides(self.node)}
        seen = [
            Evidence(f"what was computed from it left the graph by {c.kind}", c.site) for c in list(left.values())[-2:]
        ]
        unknown = ("whether those numbers came back into the loss: numbers have no history",) if seen else ()
        return Explanation(
            "not_reached",
            f"{self.who}.grad is None: it was not reached by the backward pass: what that was called on does not depend on it.",
            noted.site,
            None,
            tuple(dict.fromkeys((*facts, *seen))),
            unknown,
            ("call backward on a result that is computed from it, or add that result to the loss",),
        )

    def replaced(self, site: Any, facts: list[Evidence]) -> Explanation:
        held = [step for r in self.recordings for step in reversed(r.steps) if self.node.position in step.held][:1]
        facts += [
            Evidence(f"the optimizer ({step.optimizer}) still holds it: it is an old parameter", step.site)
            for step in held
        ]
        return Explanation(
            "replaced",
            f"{self.who}.grad is None: it is not part of the model any more: it was replaced"
            + (f" at {site.short}" if site else "")
            + (", and the optimizer holds the old parameter instead of the new one." if held else "."),
            site,
            None,
            tuple(facts),
            advice=("make the optimizer after the model is changed, or add the new parameters with add_param_group",),
        )

    def late(self, noted: Pass, facts: list[Evidence]) -> Explanation:
        what = (
            "came to require grad (by requires_grad_(), or as it was made) only after"
            if self.leaf
            else "was computed after"
        )
        return Explanation(
            "requires_grad_late",
            f"{self.who}.grad is None: {self.who} {what} the forward pass was recorded"
            + (f", at {self.made.short}" if self.made else "")
            + ": when the loss was computed it did not require grad, so that the graph does not contain it.",
            self.made,
            None,
            tuple(facts),
            ("whether the loss was computed from it at all",) if self.node.position < noted.newest else (),
            advice=("set requires_grad before the forward pass", *(() if self.made else self.hints())),
        )

    # -- by a loss
    def by_loss(self) -> Explanation:
        """Of a tensor without a gradient, from the graph of the loss."""
        root = current_node(self.loss)
        if root is None:
            cut = self.best(notes_of(self.loss)[1])
            if cut is not None:
                return self.by_cut(cut)
            first = next(iter(notes_of(self.loss)[1]), None)
            return Explanation(
                "loss_without_history",
                f"{self.who}.grad is None: the loss does not require grad: nothing was recorded for it.",
                first.site if first else None,
                unknown=("where it lost its history",) if not first else (),
                advice=(RECORD,) if not first else (),
            )
        nodes = reachable([root]) - {None}
        if self.node in nodes:
            return self.reached_by_loss(root)
        cut = self.best(history([root])[1])
        if cut is not None:
            return self.by_cut(cut)
        noted = Pass([root], True, None)
        noted.note_reached(nodes)
        found = next((p for p in self.passes if p.roots == noted.roots and p.newest == noted.newest), noted)
        answer = self.not_reached([found])
        if self.leaf and answer.reason == "not_reached" and self.node.position < noted.oldest:
            late = Evidence(
                f"part of the loss had been computed when {self.who} came to require grad: earlier uses do not count"
            )
            answer = replace(answer, evidence=(*answer.evidence, late))
        if not self.recordings and answer.reason == "not_reached":
            unknown = (
                "whether it was cut off (by detach, .item(), no_grad, ...) or never used: graphs do not show that",
            )
            answer = replace(answer, unknown=unknown, advice=(*answer.advice, RECORD))
        return answer

    def reached_by_loss(self, root: Any) -> Explanation:
        way, error = self.walked(root)
        if error is not None:
            return Explanation(
                "unknown",
                f"{self.who}.grad is None, although the loss depends on it and a backward pass has freed its graph.",
                evidence=(Evidence(error),),
                unknown=("what became of the gradient: it was cleared since, or backward was called with inputs=",),
                advice=self.hints(),
            )
        will = (
            "which will be zero (ask again after it)"
            if way is not None and way.zeros == 1
            else "which will not be zero"
        )
        return Explanation(
            "no_backward",
            f"{self.who}.grad is None: the loss depends on it, but no backward pass was run on that loss, or the gradient was "
            "cleared since.",
            evidence=(Evidence(f"a backward pass gives it a gradient, {will}: tried without changing any .grad"),),
            advice=("call backward() on the loss",),
        )


def _advice_on(cut: Cut) -> tuple[str, ...]:
    """What to do about a cut."""
    if cut.kind in _MODES:
        return (f"compute it outside {cut.kind}, or call another function that is not under it",)
    if cut.kind in ("item", "tolist", "numpy", "data", "detach", "detach_"):
        return ("keep to operations on tensors between here and the loss",)
    if cut.kind in ("tensor", "as_tensor", "new_tensor", "asarray"):
        return ("use torch.stack or torch.cat for tensors, and the tensor itself where there is one",)
    return ("use an operation that has a derivative (softmax for argmax), or a straight-through estimator",)
