"""Fit a decay curve in double precision with a hand-written descent."""

import minitorch as torch


def make_parameters(precision):
    starts = {"height": 1.0, "rate": 0.1, "floor": 0.0}
    return {name: torch.tensor(start, requires_grad=True).to(precision) for name, start in starts.items()}


def curve(parameters, t):
    return parameters["height"] * torch.exp(-parameters["rate"] * t) + parameters["floor"]


def descend(parameters, rate):
    for name, parameter in parameters.items():
        if parameter.grad is None:
            print("no gradient for", name)
            continue
        with torch.no_grad():
            parameter -= rate * parameter.grad


times = torch.linspace(0, 5, 30, dtype=torch.float64)
measured = 2.5 * torch.exp(-0.7 * times) + 0.3

parameters = make_parameters(torch.float64)
for _ in range(2):
    for parameter in parameters.values():
        parameter.grad = None
    loss = (curve(parameters, times) - measured).square().mean()
    loss.backward()
    descend(parameters, rate=0.1)

print("loss", loss.item(), "rate", parameters["rate"].item())
