"""Predict house prices; the hidden activities are rescaled so that outliers do not dominate."""

import numpy as np

import minitorch as torch
from minitorch import nn

torch.manual_seed(0)


def robust_scale(values, low=5, high=95):
    """Bring the middle 90 % of each column to [0, 1]."""
    table = values.data.numpy()
    floor, ceiling = np.percentile(table, [low, high], axis=0)
    scaled = (table - floor) / (ceiling - floor + 1e-6)
    return torch.from_numpy(scaled.astype(np.float32))


class Prices(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(6, 16), nn.Tanh())
        self.price = nn.Linear(16, 1)

    def forward(self, houses):
        hidden = self.features(houses)
        hidden = robust_scale(hidden)
        return self.price(hidden)


houses = torch.randn(40, 6)
prices = houses @ torch.tensor([[2.0], [1.0], [0.5], [0.0], [-1.0], [3.0]])

model = Prices()
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
for _ in range(10):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(houses), prices)
    loss.backward()
    optimizer.step()

print("loss", loss.item())
print("first layer:", model.features[0].weight.grad)
