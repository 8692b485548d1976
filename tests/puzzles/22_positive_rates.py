"""Poisson regression: the rates are kept positive by a softplus."""

import minitorch as torch
from minitorch import nn

torch.manual_seed(0)


def softplus(x, sharpness=1.0):
    growth = torch.exp(sharpness * x)
    return torch.log(1 + growth) / sharpness


class Counts(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, 1)
        nn.init.constant_(self.linear.weight, 0.05)
        nn.init.zeros_(self.linear.bias)

    def forward(self, x):
        return softplus(self.linear(x)).squeeze(-1)


def negative_log_likelihood(rate, count):
    return (rate - count * torch.log(rate + 1e-8)).mean()


# day of the year, temperature, visitors of the day before
days = torch.tensor([[12.0, 3.0, 150.0], [190.0, 24.0, 1900.0], [260.0, 15.0, 700.0]])
counts = torch.tensor([8.0, 99.0, 41.0])

model = Counts(3)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
for step in range(2):
    optimizer.zero_grad()
    loss = negative_log_likelihood(model(days), counts)
    loss.backward()
    print(step, "loss", loss.item(), "gradient", model.linear.weight.grad.tolist())
    optimizer.step()
