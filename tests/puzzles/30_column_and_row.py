"""A straight line through points that lie on a straight line."""

import minitorch as torch
import minitorch.nn as nn

torch.manual_seed(0)


def make_data(n):
    hours = torch.linspace(-1, 1, n)
    return hours, 3.0 * hours + 1.0


def squared_error(prediction, target):
    return ((prediction - target) ** 2).mean()


class Line(nn.Module):
    def __init__(self):
        super().__init__()
        self.fit = nn.Linear(1, 1)

    def forward(self, hours):
        return self.fit(hours.unsqueeze(-1))


hours, marks = make_data(40)
model = Line()
optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
for _ in range(200):
    optimizer.zero_grad()
    prediction = model(hours)
    loss = squared_error(prediction, marks)
    loss.backward()
    optimizer.step()

print("slope", model.fit.weight.item(), "should be 3; offset", model.fit.bias.item(), "should be 1")
print("loss", loss.item())
