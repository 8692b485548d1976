"""The debugger of backward passes: its commands, where it stops, and that it changes nothing that it is not told to."""

from __future__ import annotations

import contextlib
import gc
import io
import sys
import threading
import weakref
from bdb import BdbQuit
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import minitorch as torch
from graphs import random_graph
from minitorch._anomaly import watchers
from minitorch._records import recordings
from minitorch.autograd import Tape, set_trace
from minitorch.autograd._debugger import post_mortem


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Runs a function with the debugger on and these commands typed; gives what was shown."""

    def run(commands: str, function: Callable[[], Any], until: Any = None) -> str:
        shown = io.StringIO()
        typed = "".join([f"{c.strip()}\n" for c in commands.split(";")])
        monkeypatch.setattr(
            sys, "stdin", io.StringIO(typed.removesuffix("EOF\n") if "EOF" in typed else typed + "off\n")
        )
        monkeypatch.setenv("COLUMNS", "80")
        with contextlib.redirect_stdout(shown):
            set_trace(until)
            try:
                function()
            finally:
                set_trace(False)
        assert all(len(line) <= 80 for line in shown.getvalue().replace("(backward) ", "").splitlines())
        return shown.getvalue()

    yield run
    assert not watchers
    assert not recordings


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.fc1, self.fc2 = torch.nn.Linear(3, 4), torch.nn.Linear(4, 2)

    def forward(self, x: Any) -> Any:
        return self.fc2(torch.relu(self.fc1(x)))


def train(model: Any, passes: int = 1) -> None:
    for _ in range(passes):
        x = torch.linspace(-1, 1, 15).reshape(5, 3)
        loss = model(x).square().sum()
        loss.backward()


def stops(shown: str) -> list[str]:
    return [line.split()[1] for line in shown.replace("(backward) ", "").splitlines() if line.startswith("-> #")]


def leaves_of(loss: Any) -> list[Any]:
    return list({id(p.leaf): p.leaf for e in Tape(loss) for p in e.parents if p.leaf is not None}.values())


# -- what becomes of the pass
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("commands", ["step", "next", "grad;step", "until nonfinite"])
def test_a_pass_that_was_only_looked_at_is_backward(seed: int, commands: str, session: Any) -> None:
    torch.manual_seed(0)
    first = random_graph(seed)
    torch.manual_seed(0)
    second = random_graph(seed)
    first.backward()
    shown = session(";".join([commands] * 500), second.backward)
    if commands == "step":
        assert stops(shown) == [f"#{n}" for n in range(len(Tape(second)) - 1, -1, -1)]
    for a, b in zip(leaves_of(first), leaves_of(second)):
        assert torch.equal(a.grad, b.grad)
    with pytest.raises(RuntimeError, match="second time"):
        second.backward()


@pytest.mark.parametrize("commands", ["quit", "step;step;q", "until #0;grad;q", "step;grad;EOF"])
def test_quitting_leaves_every_grad_untouched(commands: str, session: Any) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = torch.tensor([3.0, 4.0], requires_grad=True)
    unused = torch.ones(1, requires_grad=True)
    y.register_hook(lambda g: g * 2)
    y.grad = before = torch.tensor([5.0, 6.0])
    kept = x * 2
    kept.retain_grad()
    loss = (y * kept.exp()).sum() + unused
    with pytest.raises(BdbQuit):
        session(commands, loss.backward)
    assert x.grad is None
    assert unused.grad is None
    assert kept.grad is None
    assert y.grad is before
    assert before.tolist() == [5.0, 6.0]


def test_quit_in_a_pass_inside_another_leaves_both(session: Any) -> None:
    w = torch.ones(2, requires_grad=True)
    x = torch.ones(2, requires_grad=True)
    y = torch.utils.checkpoint.checkpoint(lambda v: (v * w).sin(), x * 2, use_reentrant=True)
    loss = (y + x).sum()
    with pytest.raises(BdbQuit):
        session(";".join(["step"] * 4 + ["quit"]), loss.backward)
    assert x.grad is None
    assert w.grad is None


def test_step_goes_into_passes_inside_a_node_and_next_does_not(session: Any) -> None:
    def run() -> None:
        x = torch.ones(2, requires_grad=True)
        y = torch.utils.checkpoint.checkpoint(lambda v: v.sin().exp(), x * 2, use_reentrant=True)
        y.sum().backward()

    assert stops(session("step;step;step;step;step", run)) == ["#2", "#1", "#1", "#0", "#0"]
    assert stops(session("next;next;next", run)) == ["#2", "#1", "#0"]
    assert stops(session("step;step;continue;off", run)) == ["#2", "#1", "#1", "#0"]
    assert "inside 1 other node" in session("step;step;off", run)


def test_each_pass_is_stopped_until_told_otherwise(session: Any) -> None:
    model = Net()
    assert stops(session("c;c;c", lambda: train(model, 3))) == ["#4"] * 3
    assert stops(session("c;off", lambda: train(model, 3))) == ["#4"] * 2
    assert stops(session("until fc1;;", lambda: train(model, 3))) == ["#4", "#0", "#0", "#0"]


def test_off_and_set_trace_again(session: Any) -> None:
    model = Net()

    def run() -> None:
        train(model)
        train(model)
        set_trace(until="relu")
        train(model)

    assert stops(session("off;c", run)) == ["#4", "#1"]


def test_grad_with_create_graph_and_inputs(session: Any) -> None:
    x = torch.tensor(2.0, requires_grad=True)
    found: list[Any] = []

    def run() -> None:
        (g,) = torch.autograd.grad(x**3, x, create_graph=True)
        found.append(torch.autograd.grad(g, x)[0].item())

    shown = session("grad;set grad * 2;set out 0 outgoing[0] * 2;" + "step;" * 9, run)
    assert "has run" in shown
    assert found == [24.0]
    y = x * 3
    session("s;s;s", lambda: (y * y).backward(inputs=[y]))
    assert y.grad.item() == 12.0
    assert x.grad is None


def test_other_threads_and_contexts_are_not_stopped(session: Any) -> None:
    def run() -> None:
        thread = threading.Thread(target=train, args=(Net(),))
        thread.start()
        thread.join()

    assert session("", run) == ""


def test_stepping_by_the_program_is_stopped_too(session: Any) -> None:
    x = torch.ones(2, requires_grad=True)
    loss = (x * 2).sum()
    seen: list[str] = []

    def run() -> None:
        seen.extend([step.entry.op for step in Tape(loss).backward()])

    assert stops(session("s;s", run)) == ["#1", "#0"]
    assert seen == ["sum", "mul"]
    assert x.grad.tolist() == [2.0, 2.0]


# -- where it stops
@pytest.mark.parametrize(
    ("until", "stop"),
    [
        ("relu", "#1"),
        ("ReluBackward0", "#1"),
        ("fc2", "#2"),
        ("fc1.weight", "#0"),
        ("logits", "#2"),
        ("(5, 2)", "#3"),
        ("#2", "#2"),
        ("grad.abs().max() < 0.9", "#2"),
        ("entry.op == 'relu' and 'result' in saved", "#1"),
        ("flag", "#3"),
        ("model.training", "#3"),
    ],
)
def test_until(until: str, stop: str, session: Any) -> None:
    model = Net()

    def run() -> None:
        flag = True  # noqa: F841
        x = torch.linspace(-1, 1, 15).reshape(5, 3)
        out = model(x)
        out.name = "logits"
        loss = out.square().sum()
        loss.backward()

    assert stops(session(f"until {until};off", run))[1:] == [stop]


def test_until_nonfinite(session: Any) -> None:
    def run() -> None:
        x = torch.tensor([0.0, 4.0], requires_grad=True)
        (x.sqrt() * 2).sum().backward()

    shown = session("until nonfinite;grad;off", run)
    assert stops(shown) == ["#2", "#0"]
    assert "1 inf, 0.5 to 0.5" in shown or "1 inf, all 0.5" in shown
    assert stops(session("off", run, until="nonfinite")) == ["#0"]


def test_until_that_cannot_be(session: Any) -> None:
    shown = session("until rleu;until;until grad +;until #4;until #x;until 1 / 0;off", lambda: train(Net()))
    assert "*** nothing on this tape is called rleu; like it: relu" in shown
    assert "help until" in shown
    assert "*** SyntaxError" in shown
    assert shown.count("does not come after #4") == 2
    assert "*** until 1 / 0: ZeroDivisionError" in shown
    assert stops(shown) == ["#4", "#3"]


# -- what it shows
def test_grad_shows_what_comes_in_and_what_goes_out(session: Any) -> None:
    def run() -> None:
        w = torch.tensor([3.0, 4.0], requires_grad=True)
        c = torch.ones(2)
        (w * c).sum().backward()

    shown = session("step;grad;grad;off", run)
    expected = """in  (2,) float32  all 1, norm 1.414
tensor([1., 1.])
out 0 to w  (2,) float32  all 1, norm 1.414
tensor([1., 1.])
"""
    assert shown.count(expected) == 2


def test_several_outputs_and_no_gradient(session: Any) -> None:
    def run() -> None:
        x = torch.arange(3.0, requires_grad=True)
        a, b, _ = x.unbind()
        (a * b).backward()

    shown = session("s;grad;set in 1 5;off", run)
    assert "in 0  () float32  1\nin 1  () float32  0\nin 2  none\n" in shown
    assert "has run" in shown


def test_saved(session: Any) -> None:
    def run() -> None:
        w = torch.tensor([3.0, 4.0], requires_grad=True)
        (w.exp() * w).sum().backward()

    shown = session("saved;s;saved;saved self;saved result;grad;saved;s;u;saved;off", run)
    assert "SumBackward0 keeps nothing" in shown
    assert shown.count("self  (2,) float32  20.09 to 54.6, norm 58.18\n") == 3  # after it ran, too
    assert "tensor([20.0855, 54.5981])" in shown
    assert "*** nothing is saved as 'result': self, other" in shown


def test_where(session: Any) -> None:
    shown = session("until relu;where;off", lambda: train(Net()))
    assert "-> #1 ReluBackward0  (5, 4)  in Net" in shown
    assert "in forward\n          return self.fc2(torch.relu(self.fc1(x)))\n" + " " * 26 + "^" * 23 in shown
    assert "backward  test_debugger.py:" in shown
    assert "in train\n          loss.backward()\n" in shown


def test_where_without_sites(session: Any) -> None:
    x = torch.ones(2, requires_grad=True)
    shown = session("where;off", (x * 2).sum().backward)
    assert "forward   not recorded" in shown
    assert "record_sites()" in shown


def test_up_and_down(session: Any) -> None:
    def run() -> None:
        x = torch.ones(2, requires_grad=True)
        h = x.exp()
        (h * h.sin()).sum().backward()

    shown = session("until exp;up;u;u;up;down 1;d;d;down 9;list;grad;step", run)
    lines = [line for line in shown.replace("(backward) ", "").splitlines() if line[:2] in (">>", "->", "  ", "**")]
    titles = [line.split("  ")[0] for line in lines if line.startswith(("->", ">>"))]
    assert titles[1:6] == [
        "-> #0 ExpBackward0",
        ">> #1 SinBackward0",
        ">> #2 MulBackward0",
        ">> #3 SumBackward0",
        ">> #1 SinBackward0",
    ]
    assert "#3 is a root" in shown
    assert "#0 is the end: it takes x" in shown
    assert "*** NUMBER is that of an entry, 0 to 3, not 9" in shown
    shown = session("list;down;grad;down 0;grad;off", run)
    assert "#0: backward has not come here" in shown


def test_print(session: Any) -> None:
    def run() -> None:
        scale = 3.0
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        loss = (w * scale).sum()
        loss.backward()

    shown = session(
        "print loss;p scale + 1;grad.shape;print;params['w'];print(entry.op);saved;print nothing;1 +;[w[i] for i in range(2)]",
        run,
    )
    said = shown.split("(backward) ")
    assert said[1] == "tensor(9., grad_fn=<SumBackward0>)\n"
    assert said[2:4] == ["4.0\n", "torch.Size([])\n"]
    assert said[4] == "w  (2,) float32  1 to 2, norm 2.236\nloss  () float32  9\n"
    assert said[5] == "tensor([1., 2.], requires_grad=True)\n"
    assert said[6] == "sum\n"
    assert said[8] == "*** NameError: name 'nothing' is not defined\n"
    assert said[9].startswith("*** SyntaxError")
    assert said[10].startswith("[tensor(1.")


def test_tree_tape_and_help(session: Any) -> None:
    shown = session("tree;tape;help;help until;h s;help nothing;off", lambda: train(Net()))
    assert "#4 SumBackward0  () float32\n└─ #3" in shown
    assert "fc2.bias, #1, fc2.weight" in shown
    for name in ("step", "next", "until", "continue", "grad", "saved", "where", "up", "tree", "quit"):
        assert f"\n{name} " in shown or f" {name} " in shown
    assert "nonfinite               where" in shown
    assert "step (s): run this node" in shown
    assert "*** there is no command 'nothing'" in shown


def test_a_long_tape(session: Any) -> None:
    def run() -> None:
        x = torch.ones(3, requires_grad=True)
        a_name_that_is_rather_long_for_a_leaf = torch.ones(3, requires_grad=True)
        y = x
        for _ in range(500):
            y = torch.tanh(y * x + a_name_that_is_rather_long_for_a_leaf)
        y.sum().backward()

    shown = session("tape;tree;list;until #750;list;down 3;list;until entry.number == 1;grad;step;off", run)
    assert "⋮ 3 operations 499 times more" in shown
    assert "where\n" in shown
    assert "further below" in shown
    assert "-> #1500  SumBackward0" in shown
    assert "\n-> #750  MulBackward0 " in shown
    assert "\n>> #3  MulBackward0 " in shown
    assert stops(shown) == ["#1500", "#1500", "#750", "#750", "#1", "#0"]


def test_an_empty_line_repeats(session: Any) -> None:
    assert stops(session("step;;;;off", lambda: train(Net()))) == ["#4", "#3", "#2", "#1", "#0"]


def test_completion() -> None:
    from minitorch.autograd._debugger import Visit
    from minitorch.autograd._prompt import Prompt
    from minitorch.autograd._stepping import Step

    x = torch.ones(2, requires_grad=True)
    loss = (x.exp() * 2).sum()
    visit, prompt = Visit(sys._getframe()), Prompt()
    visit.read([loss.grad_fn])
    visit.note(Step(visit.tape[2], visit.tape[2].node, torch.tensor(1.0)._array, None, None))
    prompt.visit, prompt.step, prompt.focus = visit, visit.steps[2], visit.tape[0]
    assert prompt.completenames("ta") == ["tape"]
    assert set(prompt.completenames("s")) == {"saved", "set", "skip", "step"}
    assert prompt.complete_until("ex") == ["exp"]
    assert "nonfinite" in prompt.complete_until("")
    assert prompt.complete_saved("r") == ["result"]
    assert "loss" in prompt.completedefault("lo")
    assert prompt.completedefault("loss.grad_f") == ["loss.grad_fn"]
    assert prompt.completedefault("loss().x") == []
    assert prompt.complete_help("wh") == ["where"]


# -- changing
def test_set_and_skip(session: Any) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)

    def run() -> None:
        x.grad = None
        (x.exp() * 3).sum().backward()

    session("s;set grad * torch.tensor([0., 1.]);s;set out 0 7;s", run)
    assert x.grad.tolist() == [7.0, 7.0]
    session("s;set 0;s;s", run)
    assert x.grad.tolist() == [0.0, 0.0]
    session("s;skip", run)
    assert x.grad is None
    shown = session("s;set torch.ones(3);set;set 'a';grad;set 1;skip;up;set 2;off", run)
    assert "*** RuntimeError: hook has changed the size" in shown
    assert "help set" in shown
    assert "*** TypeError" in shown
    assert "use set out N" in shown
    assert "*** #1 has run" in shown
    assert "only the gradients of the node that runs next can be set: #1" in shown


# -- errors
class Bad(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * 1

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        raise ValueError("no backward today")


def failing() -> None:
    x = torch.ones(2, requires_grad=True)
    y = Bad.apply(x * 2)
    y.sum().backward()


def test_an_error_of_a_node_reaches_the_program(session: Any) -> None:
    with pytest.raises(ValueError, match="today"):
        session("s;grad;s;s", failing)


def test_an_interrupt_at_the_prompt_asks_again(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted(io.StringIO):
        def readline(self, *args: Any) -> str:
            line = super().readline(*args)
            if line == "^C\n":
                raise KeyboardInterrupt
            return line

    monkeypatch.setattr(io, "StringIO", Interrupted)
    shown = session("^C;off", lambda: train(Net()))
    assert "--KeyboardInterrupt--" in shown


def post_mortem_of(function: Callable[[], Any], commands: str, monkeypatch: pytest.MonkeyPatch) -> tuple[bool, str]:
    shown = io.StringIO()
    monkeypatch.setattr(sys, "stdin", io.StringIO("".join([f"{c.strip()}\n" for c in commands.split(";")])))
    with torch.autograd.record_sites(), contextlib.redirect_stdout(shown), pytest.raises(Exception) as caught:  # noqa: PT011
        function()
    with contextlib.redirect_stdout(shown):
        found = post_mortem(caught.value)
    return found, shown.getvalue()


def test_post_mortem(monkeypatch: pytest.MonkeyPatch) -> None:
    found, shown = post_mortem_of(failing, "grad;saved;where;print y;step;skip;set 1;up;up;q", monkeypatch)
    assert found
    assert "ValueError in backward at test_debugger.py" in shown
    assert "-> #1 BadBackward  (2,)" in shown
    assert "in  (2,) float32  all 1" in shown
    assert "*** ValueError: no backward today" in shown
    assert "saved_tensors[0]  (2,) float32  all 2" in shown
    assert "raised    ValueError: no backward today" in shown
    assert "tensor([2., 2.], grad_fn=<BadBackward>)" in shown
    assert shown.count("the pass is over") == 2
    assert ">> #2 SumBackward0" in shown
    assert "#2 is a root" in shown


def test_post_mortem_of_a_hook_of_an_in_place_edit_and_of_no_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    def edited() -> None:
        x = torch.ones(2, requires_grad=True)
        y = x.exp()
        z = y * 2
        y.add_(1)
        z.sum().backward()

    def hooked() -> None:
        x = torch.ones(2, requires_grad=True)
        y = x.exp()
        y.register_hook(lambda g: g.reshape(9))
        y.sum().backward()

    assert "-> #0 ExpBackward0" in post_mortem_of(edited, "q", monkeypatch)[1]
    assert "-> #0 ExpBackward0" in post_mortem_of(hooked, "q", monkeypatch)[1]
    assert post_mortem_of(lambda: 1 // 0, "", monkeypatch) == (False, "")


# -- what stays
def test_nothing_is_kept(session: Any) -> None:
    gc.collect()
    gc.disable()
    try:
        kept: list[Any] = []

        def run() -> None:
            x = torch.ones(2, requires_grad=True)
            loss = (x.exp() * 2).sum()
            kept.append(weakref.ref(loss.grad_fn))
            loss.backward()

        session("s;grad;up;until mul;tree;c", run)
        assert kept[0]() is None
    finally:
        gc.enable()


def test_without_standard_input_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    x = torch.ones(2, requires_grad=True)
    set_trace()
    try:
        with pytest.raises(RuntimeError, match="nobody to ask: standard input is closed"):
            x.exp().sum().backward()
    finally:
        set_trace(False)
    assert x.grad is None
