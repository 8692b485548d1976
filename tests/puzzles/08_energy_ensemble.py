"""Weigh the votes of several scorers with a learned temperature."""

import minitorch as torch
from minitorch import nn

torch.manual_seed(0)


class Ensemble(nn.Module):
    def __init__(self, scorers, features):
        super().__init__()
        self.scorers = nn.ModuleList([nn.Linear(features, 1) for _ in range(scorers)])
        self.log_temperature = nn.Parameter(torch.zeros(()))

    def votes(self, x):
        return [scorer(x).mean() for scorer in self.scorers]

    def forward(self, x):
        votes = torch.tensor(self.votes(x), requires_grad=True)
        weights = torch.softmax(votes / self.log_temperature.exp(), dim=0)
        return (weights * votes).sum()


def fit(model, batches, target):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for batch in batches:
        optimizer.zero_grad()
        loss = (model(batch) - target) ** 2
        loss.backward()
        optimizer.step()
    return loss


model = Ensemble(scorers=3, features=4)
loss = fit(model, torch.randn(6, 10, 4), target=1.5)
for name, parameter in model.named_parameters():
    print(f"{name:18}", parameter.grad)
