"""``explain``: why a gradient is None, zero, or not what was expected."""

from __future__ import annotations

import gc
import inspect
import weakref
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minitorch as torch
from graphs import random_graph
from minitorch import nn
from minitorch.autograd import Tape, explain, record_sites


def leaf(*values: float) -> Any:
    return torch.tensor(values, requires_grad=True)


def line(text: str) -> int:
    """The number of the line of the calling test that has *text* in it."""
    frame = inspect.currentframe().f_back
    lines, first = inspect.getsourcelines(frame)
    found = [number for number, source in enumerate(lines, first) if text in source and "line(" not in source]
    assert len(found) == 1, f"{text!r} is on lines {found}"
    return found[0]


def where(answer: Any) -> tuple[str, int]:
    return answer.reason, answer.site.line


# -- None --------------------------------------------------------------------------------------------------------------
def test_a_result_of_a_cast_is_not_a_leaf() -> None:
    with record_sites():
        w = leaf(1.0, 2.0)
        w.name = "w"
        scaled = w.double()
        scaled.sum().backward()
    answer = explain(scaled)
    assert where(answer) == ("not_a_leaf", line("scaled = w.double()"))
    assert answer.op == "to"
    assert "made from w, which is a leaf, and has a gradient" in answer.text


def test_without_recording_a_result_is_known_by_its_node() -> None:
    x = leaf(1.0) * 2
    answer = explain(x)
    assert (answer.reason, answer.site) == ("not_a_leaf", None)
    assert "MulBackward0" in answer.text
    assert "record_sites" in answer.text


def test_what_needs_no_gradient_says_so() -> None:
    assert explain(torch.ones(2)).reason == "requires_grad_false"
    assert "record_sites" in explain(torch.ones(2)).text
    assert "only floats have gradients" in explain(torch.tensor([1, 2])).summary


def cut_by_detach(h: Any) -> Any:
    return h.detach() + 1


def cut_by_data(h: Any) -> Any:
    return h.data * 2


def cut_by_item(h: Any) -> Any:
    return torch.tensor([v.item() for v in h])


def cut_by_float(h: Any) -> Any:
    return torch.tensor([float(v) for v in h.detach()])


def cut_by_tolist(h: Any) -> Any:
    return torch.tensor(h.tolist())


def cut_by_numpy(h: Any) -> Any:
    return torch.from_numpy(np.sqrt(h.detach().numpy()))


def cut_by_argmax(h: Any) -> Any:
    return torch.ones(2)[h.argmax()]


def cut_by_writing(h: Any) -> Any:
    table = torch.zeros(2, 2)
    table[0] = h.detach()
    return table.sum(0)


def cut_by_comparison(h: Any) -> Any:
    return (h > 1.5).float()


def cut_by_integers(h: Any) -> Any:
    return h.long().float()


def cut_by_argsort(h: Any) -> Any:
    return h.argsort().float()


def cut_by_tensor(h: Any) -> Any:
    return torch.tensor([h[0], h[1]], requires_grad=True)


def cut_by_parameter(h: Any) -> Any:
    return nn.Parameter(h)


class Marks(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, h: Any) -> Any:
        result = h * 2
        ctx.mark_non_differentiable(result)
        return h.sum(), result


def cut_by_marking(h: Any) -> Any:
    return Marks.apply(h)[1]


CUTTERS = {
    "detach": cut_by_detach,
    "data": cut_by_data,
    "item": cut_by_item,
    "tolist": cut_by_tolist,
    "argmax": cut_by_argmax,
    "gt": cut_by_comparison,
    "to(int64)": cut_by_integers,
    "argsort": cut_by_argsort,
    "tensor": cut_by_tensor,
    "Parameter": cut_by_parameter,
    "Marks.apply": cut_by_marking,
}


@pytest.mark.filterwarnings("ignore:Converting a tensor")
@pytest.mark.parametrize("kind", CUTTERS)
def test_cuts_are_named_with_their_line_in_the_helper(kind: str) -> None:
    w, other = leaf(1.0, 2.0), leaf(3.0, 3.0)
    with record_sites():
        cut = CUTTERS[kind](w * 1.5)
        (cut * other).sum().backward()
    answer = explain(w)
    assert where(answer) == ("cut", inspect.getsourcelines(CUTTERS[kind])[1] + 1)
    assert answer.op == kind
    assert explain(other).reason in ("has_gradient", "partly_zero")


def test_values_that_were_written_into_a_tensor() -> None:
    w, other = leaf(1.0, 2.0), leaf(3.0, 3.0)
    with record_sites():
        (cut_by_writing(w * 1.5) * other).sum().backward()
    assert where(explain(w)) == ("cut", inspect.getsourcelines(cut_by_writing)[1] + 2)


@pytest.mark.parametrize("cutter", [cut_by_float, cut_by_numpy])
def test_the_first_of_several_cuts_is_the_reason(cutter: Any) -> None:
    w, other = leaf(1.0, 2.0), leaf(3.0, 3.0)
    with record_sites():
        (cutter(w * 1.5) * other).sum().backward()
    answer = explain(w)
    assert (*where(answer), answer.op) == ("cut", inspect.getsourcelines(cutter)[1] + 1, "detach")


@pytest.mark.parametrize(("cutter", "certain"), [(cut_by_item, False), (cut_by_tensor, True), (cut_by_detach, True)])
@pytest.mark.filterwarnings("ignore:Converting a tensor")
def test_numbers_that_come_back_are_not_certain(cutter: Any, certain: bool) -> None:
    w = leaf(1.0, 2.0)
    with record_sites():
        (cutter(w * 1.5) * leaf(1.0, 1.0)).sum().backward()
    assert (explain(w).unknown == ()) == certain


def test_numbers_that_were_only_logged_are_no_cut() -> None:
    w, other = leaf(1.0, 2.0), leaf(2.0, 2.0)
    with record_sites():
        for _ in range(3):
            loss = (w * torch.tensor([1.0, 2.0])).sum()
            loss.backward()
            loss.item()
            w.grad = None
            (other * torch.tensor([1.0, 2.0])).sum().backward()
    answer = explain(w)
    assert answer.reason == "not_reached"
    assert "it had a gradient before, which was cleared" in answer.text


def test_a_tensor_that_was_cut_off_knows_by_what() -> None:
    with record_sites():
        h = (leaf(1.0, 2.0) * 2).detach() * 3
    assert where(explain(h)) == ("cut", line("h = (leaf"))


def plain(x: Any) -> Any:
    return x * 2


@torch.no_grad()
def decorated(x: Any) -> Any:
    return x * 2


def same(function: Any) -> Any:
    return function


@same
@torch.inference_mode()
def decorated_twice(x: Any) -> Any:
    return x * 2


@torch.set_grad_enabled(False)
def switched(x: Any) -> Any:
    return x * 2


@pytest.mark.parametrize(
    ("function", "reason", "at"),
    [
        (decorated, "no_grad", "@torch.no_grad()"),
        (decorated_twice, "inference_mode", "@torch.inference_mode()"),
        (switched, "no_grad", "@torch.set_grad_enabled(False)"),
    ],
)
def test_decorators_that_stop_recording(function: Any, reason: str, at: str) -> None:
    w, other = leaf(1.0, 2.0), leaf(1.0, 1.0)
    with record_sites():
        (function(w * 2).clone() * other).sum().backward()
    answer = explain(w)
    assert answer.reason == reason
    assert answer.site is not None
    assert answer.site.source == at


def test_blocks_that_stop_recording() -> None:
    w, other = leaf(1.0, 2.0), leaf(1.0, 1.0)
    with record_sites():
        with torch.enable_grad(), torch.no_grad():
            with torch.no_grad():
                plain(other)
            h = plain(w)
        (h * other).sum().backward()
        assert where(explain(w)) == ("no_grad", line("torch.enable_grad(), torch.no_grad()"))
        torch.set_grad_enabled(False)
        h = plain(w)
        torch.set_grad_enabled(True)
        (h * other).sum().backward()
    assert where(explain(w)) == ("no_grad", line("set_grad_enabled(False)"))


def test_calls_that_record_nothing_themselves() -> None:
    mean, other = leaf(0.0, 1.0), leaf(1.0, 1.0)
    with record_sites():
        drawn = torch.distributions.Normal(mean, 1.0).sample()
        (drawn * other).sum().backward()
    answer = explain(mean)
    assert where(answer) == ("no_grad", line("drawn = torch"))
    assert "rsample()" in answer.summary


def test_an_inference_tensor_says_so_without_recording() -> None:
    with torch.inference_mode():
        t = torch.ones(2) * 2
    assert explain(t).reason == "inference_mode"


def test_a_loss_that_does_not_depend_on_it() -> None:
    w, other = leaf(1.0, 2.0), leaf(1.0, 1.0)
    other.name = "other"
    with record_sites():
        loss = (other * 3).sum()
        total = loss + w.sum()
        loss.backward()
    answer = explain(w)
    assert where(answer) == ("not_reached", line("loss.backward()"))
    assert "its paths end at other" in answer.text
    assert total.requires_grad


def test_a_loss_is_asked_without_recording() -> None:
    w, other = leaf(1.0, 2.0), leaf(1.0, 1.0)
    answer = explain(w, (other * 3).sum())
    assert answer.reason == "not_reached"
    assert "graphs do not show" in answer.text
    assert "record_sites" in answer.text
    assert explain(w, (w.detach() * 3).sum()).reason == "loss_without_history"
    assert explain(w, (w * 3).sum()).reason == "no_backward"


def test_requires_grad_after_the_forward_pass() -> None:
    model, x = nn.Linear(2, 1), torch.ones(1, 2)
    with record_sites():
        out = model(x)
        x.requires_grad_()
        out.sum().backward()
    assert where(explain(x)) == ("requires_grad_late", line("x.requires_grad_()"))
    z = torch.ones(2)
    loss = (z * leaf(1.0, 2.0)).sum()
    z.requires_grad = True
    assert explain(z, loss).reason == "requires_grad_late"


def test_a_frozen_parameter() -> None:
    model = nn.Linear(2, 1)
    with record_sites():
        model.weight.requires_grad_(False)
        model(torch.ones(1, 2)).sum().backward()
    assert where(explain(model.weight)) == ("frozen", line("requires_grad_(False)"))


def test_gradients_that_were_cleared() -> None:
    model = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with record_sites():
        model(torch.ones(1, 2)).sum().backward()
        optimizer.zero_grad()
        optimizer.step()
    answer = explain(model.weight)
    assert where(answer) == ("cleared", line("optimizer.zero_grad()"))
    assert "step() was called after it was cleared" in answer.text
    assert "model.weight" in answer.text or "weight.grad" in answer.text


def test_gradients_that_were_cleared_at_the_end_of_a_step() -> None:
    w = leaf(1.0, 2.0)
    optimizer = torch.optim.SGD([w], lr=0.1)
    with record_sites():
        for _ in range(2):
            (w * 2).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
    assert "after the optimizer's step had used it" in explain(w).summary


def test_gradients_that_were_set_to_zero() -> None:
    w = leaf(1.0, 2.0)
    with record_sites():
        (w * 2).sum().backward()
        torch.optim.SGD([w], lr=0.1).zero_grad(set_to_none=False)
    assert where(explain(w)) == ("zeroed", line("set_to_none=False)"))


def test_no_backward_was_run() -> None:
    w = leaf(1.0)
    with record_sites():
        torch.autograd.grad((w * 2).sum(), w)
    answer = explain(w)
    assert answer.reason == "no_backward"
    assert "autograd.grad was called" in answer.text


def test_a_backward_pass_that_failed() -> None:
    w = leaf(1.0, 2.0)
    with record_sites():
        y = w.exp()
        y.mul_(2)
        z = y.sum() * 1
        y.exp().add_(1)
        broken = w.exp()
        loss = broken.sum() + z
        broken.detach().zero_()
        with pytest.raises(RuntimeError):
            loss.backward()
    answer = explain(w)
    assert where(answer) == ("backward_failed", line("loss.backward()"))
    assert "modified by an inplace operation" in answer.text


def test_an_old_parameter() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    old = model[1].weight
    with record_sites():
        model[1] = nn.Linear(2, 3)
        model(torch.ones(1, 2)).sum().backward()
        optimizer.step()
    answer = explain(old)
    assert where(answer) == ("replaced", line("model[1] = nn.Linear"))
    assert "optimizer" in answer.summary


class Halved(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x / 2

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return None


def test_a_function_that_gives_no_gradient() -> None:
    w, other = leaf(1.0, 2.0), leaf(1.0, 1.0)
    with record_sites():
        half = Halved.apply(w * 2)
        (half * other).sum().backward()
    answer = explain(w)
    assert (*where(answer), answer.op) == ("stopped", line("half = Halved"), "Halved")


def test_inputs_that_were_not_asked_for() -> None:
    w, other = leaf(1.0, 2.0), leaf(1.0, 1.0)
    with record_sites():
        (w * other).sum().backward(inputs=[other])
    assert where(explain(w)) == ("not_asked_for", line("inputs=[other]"))


def test_retained_gradients() -> None:
    w = leaf(1.0, 2.0)
    with record_sites():
        y = w * 2
        y.retain_grad()
        (w * 3).sum().backward()
    assert explain(y).reason == "not_reached"
    y.sum().backward()
    assert explain(y).reason == "has_gradient"


# -- zero --------------------------------------------------------------------------------------------------------------
ZEROS: dict[str, Any] = {
    "relu": (lambda x: torch.relu(x - 10), "dead"),
    "clamp": (lambda x: x.clamp(5, 6), "out of its bounds"),
    "hardtanh": (lambda x: nn.functional.relu6(x + 10), "out of its bounds"),
    "mul": (lambda x: x * (x > 9), "multiplied by zero"),
    "mm": (lambda x: x[None] @ torch.zeros(2, 2), "multiplied by zero"),
    "softmax": (lambda x: (x * 1e4).softmax(0), "saturated"),
    "sigmoid": (lambda x: torch.sigmoid(x * 1e4), "saturated"),
    "tanh": (lambda x: torch.tanh(x * 1e4), "saturated"),
    "round": (lambda x: x.round(), "constant between its steps"),
    "sign": (lambda x: x.sign(), "constant between its steps"),
    "where": (lambda x: torch.where(x > 9, x, torch.ones(2)), "taken from elsewhere"),
    "masked_fill": (lambda x: x.masked_fill(x < 9, 0.0), "taken from elsewhere"),
    "maximum": (lambda x: torch.maximum(x, torch.full((2,), 9.0)), "largest"),
    "max": (lambda x: torch.cat([x, torch.full((1,), 9.0)]).max(0).values, "largest"),
    "dropout": (lambda x: nn.functional.dropout(x, 1.0), "multiplied by zero"),
    "mse_loss": (lambda x: nn.functional.mse_loss(x, x.detach()), "zero for these values"),
}


@pytest.mark.parametrize("name", ZEROS)
@pytest.mark.parametrize("how", ["noted", "tried", "later"])
def test_the_operation_that_makes_a_gradient_zero(name: str, how: str) -> None:
    function, word = ZEROS[name]
    w = leaf(1.0, 2.0)

    def forward() -> Any:
        return (function(w * 1.5) * 3).sum()

    if how == "noted":
        with record_sites():
            forward().backward()
        answer = explain(w)
    else:
        loss = forward()
        loss.backward(retain_graph=True)
        assert explain(w).reason == "unknown"
        if how == "later":
            with record_sites():
                loss = forward()
        answer = explain(w, loss)
    assert answer.reason == "zero_gradient"
    assert word in answer.summary
    if how != "tried":
        assert answer.site is not None
        assert answer.site.source == f'"{name}": {answer.site.source.partition(": ")[2]}'
    assert (answer.advice != ()) == (how == "tried")


def test_targets_that_are_all_ignored() -> None:
    layer = nn.Linear(2, 3)
    with record_sites():
        loss = nn.functional.cross_entropy(layer(torch.ones(2, 2)), torch.tensor([-100, -100]))
        loss.backward()
    answer = explain(layer.weight)
    assert where(answer) == ("zero_gradient", line("loss = nn.functional.cross_entropy"))
    assert "ignore_index" in answer.summary


def test_overwritten_values() -> None:
    w = leaf(1.0, 2.0)
    with record_sites():
        y = w * 2
        y.zero_()
        (y + leaf(1.0, 1.0)).sum().backward()
    answer = explain(w)
    assert where(answer) == ("zero_gradient", line("y.zero_()"))
    assert "overwritten in place" in answer.summary


def test_hooks_and_sums_that_cancel() -> None:
    w = leaf(1.0, 2.0)
    with record_sites():
        y = w * 2
        y.register_hook(lambda g: g * 0)
        y.sum().backward()
    assert "hook" in explain(w).summary
    v = leaf(1.0, 2.0)
    with record_sites():
        (v * 2 - v * 2).sum().backward()
    assert explain(v).reason == "cancelled"


def test_part_of_a_gradient() -> None:
    w = torch.ones(4, 3, requires_grad=True)
    with record_sites():
        rows = w[torch.tensor([0, 2])]
        (rows * 2).sum().backward()
    answer = explain(w)
    assert where(answer) == ("partly_zero", line("rows = w["))
    assert "50% of" in answer.summary


def test_a_gradient_of_zeros_from_the_start() -> None:
    w = leaf(1.0, 2.0)
    with record_sites():
        (w * 2).backward(torch.zeros(2))
    assert "started with a gradient of zeros" in explain(w).summary


def test_trying_changes_no_gradient() -> None:
    w = leaf(1.0, 2.0)
    y = w * 2
    y.retain_grad()
    loss = torch.relu(y - 9).sum()
    loss.backward(retain_graph=True)
    w.grad, before = torch.zeros(2), y.grad.clone()
    assert explain(w, loss).reason == "zero_gradient"
    assert torch.equal(y.grad, before)
    assert torch.equal(w.grad, torch.zeros(2))
    loss.backward()  # its graph is whole


def test_a_freed_graph_can_not_be_tried() -> None:
    w = leaf(1.0, 2.0)
    loss = torch.relu(w.exp() - 20).sum()
    loss.backward()
    answer = explain(w, loss)
    assert answer.reason == "unknown"
    assert "second time" in answer.text


# -- other gradients ---------------------------------------------------------------------------------------------------
def test_sums_over_passes() -> None:
    w = leaf(1.0, 2.0)
    with record_sites():
        for _ in range(3):
            (w * 2).sum().backward()
    answer = explain(w)
    assert where(answer) == ("accumulated", line("(w * 2).sum().backward()"))
    assert "3 backward passes" in answer.summary


def test_a_parameter_that_no_optimizer_holds() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.parts = {"first": nn.Linear(2, 2)}
            self.last = nn.Linear(2, 1)

        def forward(self, x: Any) -> Any:
            return self.last(self.parts["first"](x))

    with record_sites():
        net = Net()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            optimizer.zero_grad()
            net(torch.ones(1, 2)).sum().backward()
            optimizer.step()
    answer = explain(net.parts["first"].weight)
    assert where(answer) == ("not_in_optimizer", line("self.parts ="))
    assert "not registered in Net" in answer.summary
    assert explain(net.last.weight).reason == "has_gradient"


def test_numbers_that_are_not_finite() -> None:
    w = leaf(0.0, 2.0)
    (w.log() * 0).sum().backward()
    answer = explain(w)
    assert answer.reason == "not_finite"
    assert "detect_anomaly" in answer.text


@given(st.integers(0, 2**20))
def test_answers_fit_the_gradients(seed: int) -> None:
    """Of random graphs: zero where it is zero, and trying a pass changes nothing."""
    with record_sites():
        loss = random_graph(seed)
        loss.backward(retain_graph=True)
    leaves = {p.leaf for entry in Tape(loss) for p in entry.parents if p.leaf is not None}
    for tensor in leaves:
        before = tensor.grad.clone()
        noted, tried = explain(tensor), explain(tensor, loss)
        assert (noted.reason in ("zero_gradient", "cancelled")) == (not tensor.grad.any())
        assert (tried.reason, tried.site) == (noted.reason, noted.site)
        assert torch.equal(tensor.grad, before)


# -- the answer --------------------------------------------------------------------------------------------------------
def test_the_tensor_is_called_what_the_user_calls_it() -> None:
    weights = torch.ones(2)
    table = {"a": weights}
    assert explain(weights).summary.startswith("weights does not")
    assert explain(table["a"]).summary.startswith("table['a'] does not")
    assert explain(torch.ones(2)).summary.startswith("the tensor does not")
    weights.name = "gain"
    assert explain(weights).summary.startswith("gain does not")


def test_the_text_has_all_parts() -> None:
    w = leaf(1.0, 2.0)
    with record_sites():
        (torch.tensor([(w * 2).sum().item()]) * leaf(1.0)).sum().backward()
    answer = explain(w)
    text = str(answer)
    assert repr(answer) == text == answer.text
    assert text.startswith(answer.summary)
    for part in ("What is known:", "What can't be known:", "What to do:"):
        assert part in text
    assert answer.site is not None
    assert f'File "{__file__}", line {answer.site.line}' in text
    assert answer.site.source in text


def test_only_tensors_are_explained() -> None:
    with pytest.raises(TypeError, match=r"explain\(\): argument 'tensor' must be Tensor, not int"):
        explain(3)
    with pytest.raises(TypeError, match=r"argument 'loss' must be Tensor, not float"):
        explain(leaf(1.0), 2.0)


def test_an_answer_keeps_nothing_alive() -> None:
    gc.collect()
    gc.disable()
    try:
        w = leaf(1.0, 2.0)
        with record_sites():
            loss = torch.relu(w - 9).sum()
            loss.backward(retain_graph=True)
        answers = [explain(w), explain(w, loss), explain(loss)]
        node = loss.grad_fn
        ends = [weakref.ref(node), weakref.ref(w)]
        del w, loss, node
        assert [end() for end in ends] == [None, None]
        assert len(answers) == 3
    finally:
        gc.enable()
