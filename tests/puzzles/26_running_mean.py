"""Validate after each epoch; a meter keeps the mean of the losses."""

import minitorch as torch
from minitorch import nn

torch.manual_seed(0)


class Meter:
    def __init__(self, name):
        self.name = name
        self.total = 0.0
        self.count = 0

    def update(self, value, n=1):
        self.total += value * n
        self.count += n

    def __str__(self):
        return f"{self.name} {float(self.total) / self.count:.4f}"


def make_batches(n):
    return [(x, x.sin().sum(dim=1, keepdim=True)) for x in torch.randn(n, 16, 4)]


model = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
training, validation = make_batches(20), make_batches(40)

for x, y in training:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()

model.eval()
meter = Meter("validation loss")
for x, y in validation:
    loss = criterion(model(x), y)
    meter.update(loss, n=len(x))
print(meter)
