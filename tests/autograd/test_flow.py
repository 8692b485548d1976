"""Gradients in figures: of parameters, of operations, of what a step would change."""

from __future__ import annotations

import math
from typing import Any

import pytest

import minitorch as torch
from minitorch._anomaly import watchers
from minitorch.autograd import gradient_report


def model() -> Any:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))


def test_of_a_model() -> None:
    net = model()
    with torch.no_grad():
        net[0].bias[1] = -100.0  # never active
    net(torch.rand(8, 3)).sum().backward()
    net[2].bias.grad = None
    report = gradient_report(net)
    weight, _, last, bias = report.parameters
    assert [flow.name for flow in report.parameters] == ["0.weight", "0.bias", "2.weight", "2.bias"]
    assert weight.norm == pytest.approx(net[0].weight.grad.norm().item())
    assert weight.largest == pytest.approx(net[0].weight.grad.abs().max().item())
    assert 1 in weight.dead
    assert weight.zeros >= 0.25
    assert last.dead == ()
    assert bias.missing
    total = torch.nn.utils.get_total_norm([p.grad for p in net.parameters() if p.grad is not None])
    assert report.norm == pytest.approx(total.item())
    assert "2.bias: no gradient; autograd.explain says why" in str(report)
    assert "of 4 units get no gradient" in str(report)


def test_of_a_loss_nothing_is_accumulated_or_freed() -> None:
    net = model()
    loss = net(torch.rand(8, 3)).sum()
    report = gradient_report(loss, params=dict(net.named_parameters()))
    assert all([p.grad is None for p in net.parameters()])
    assert [flow.entry.op for flow in report.operations] == ["linear", "relu", "linear", "sum"]
    loss.backward()
    for flow in report.parameters:
        assert flow.norm == pytest.approx(dict(net.named_parameters())[flow.name].grad.norm().item())
    assert not watchers
    with pytest.raises(RuntimeError, match="second time"):
        gradient_report(loss)
    assert not watchers


def test_a_parameter_that_the_loss_does_not_reach() -> None:
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    report = gradient_report((x * 2).sum(), params={"x": x, "y": y})
    assert [(flow.name, flow.missing) for flow in report.parameters] == [("x", False), ("y", True)]


@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_updates_are_those_of_the_next_step(name: str) -> None:
    net = model()
    optimizer = getattr(torch.optim, name)(net.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        net(torch.rand(8, 3)).sum().backward()
        optimizer.step()
    report = gradient_report(net, optimizer)
    before = [p.detach().clone() for p in net.parameters()]
    steps = [float(optimizer.state[p].get("step", 0.0)) for p in net.parameters()]
    assert steps == [2.0 if name == "Adam" else 0.0] * 4  # its own state is untouched
    optimizer.step()
    for flow, old, new in zip(report.parameters, before, net.parameters()):
        assert flow.update == pytest.approx(((new - old).norm() / old.norm()).item(), rel=1e-4)


def test_the_offender_is_named_when_clipping() -> None:
    a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    (a * 100 + b).sum().backward()
    report = gradient_report({"a": a, "b": b})
    assert report.offender.name == "a"
    assert report.clipping(1.0).endswith("'a' has 100.0 % of its square (norm 141.4)")
    assert "nothing would change" in report.clipping(1000.0)
    b.grad = torch.tensor([1.0, float("nan")])
    report = gradient_report({"a": a, "b": b})
    assert report.offender.name == "b"
    assert "gradient of 'b' is not finite" in report.clipping(1.0)
    assert "NOT FINITE" in str(report)
    b.name = "head.bias"
    with pytest.raises(RuntimeError, match="non-finite") as caught:
        torch.nn.utils.clip_grad_norm_([a, b], 1.0, error_if_nonfinite=True)
    assert "head.bias (2,)" in caught.value.__notes__[0]


def test_no_gradients_at_all() -> None:
    x = torch.ones(2, requires_grad=True)
    report = gradient_report({"x": x})
    assert (report.offender, report.norm, report.clipping(1)) == (None, 0.0, "there are no gradients")
    assert gradient_report({"s": torch.zeros((), requires_grad=True)}, None).parameters[0].shape == ()
    with pytest.raises(TypeError, match="'x' is int"):
        gradient_report({"x": 3})


def test_the_figure() -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    (x * 3).sum().backward()
    axes = gradient_report({"x": x, "y": y}).plot()
    assert [label.get_text() for label in axes.get_yticklabels()] == ["x", "y"]
    assert [text.get_text() for text in axes.texts] == ["none"]
    assert axes.patches[0].get_width() == pytest.approx(math.sqrt(18))


def test_an_optimizer_whose_step_cannot_be_tried_is_refused_with_the_remedy() -> None:
    model = torch.nn.Linear(2, 2)
    model(torch.ones(1, 2)).sum().backward()
    with pytest.raises(TypeError, match=r"closure.*leave the optimizer out"):
        torch.autograd.gradient_report(model, torch.optim.LBFGS(model.parameters()))
    with pytest.raises(TypeError, match="expected an Optimizer, not int"):
        torch.autograd.gradient_report(model, 3)
