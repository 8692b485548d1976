"""Detectors that fire on strong evidence only, and a linear read-out of how strongly they fired."""

import minitorch as torch
import minitorch.nn as nn

torch.manual_seed(1)


class Detectors(nn.Module):
    def __init__(self, features, detectors, threshold):
        super().__init__()
        self.evidence = nn.Linear(features, detectors)
        self.read_out = nn.Linear(detectors, 1)
        self.threshold = threshold

    def forward(self, x):
        fired = torch.relu(self.evidence(x) - self.threshold)
        return self.read_out(fired).squeeze(-1)


def train(model, inputs, targets, steps):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


inputs = torch.rand(32, 10)  # each feature lies in [0, 1)
targets = inputs.sum(dim=1)
model = Detectors(10, 16, threshold=5.0)
losses = train(model, inputs, targets, steps=20)
print(losses[0], "->", losses[-1])
print("gradient of the detectors:", model.evidence.weight.grad.abs().max().item())
