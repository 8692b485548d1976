"""Binary classification; probabilities are sharpened after the sigmoid to match a calibration curve."""

import minitorch as torch
from minitorch import nn

torch.manual_seed(0)


class Calibrated(nn.Module):
    def __init__(self, features, slope=1.001):
        super().__init__()
        self.linear = nn.Linear(features, 1)
        nn.init.constant_(self.linear.weight, 1.5)
        self.slope = slope

    def forward(self, x):
        p = torch.sigmoid(self.linear(x)).squeeze(-1)
        return 0.5 + self.slope * (p - 0.5)


def cross_entropy(p, label):
    positive = label * torch.log(p)
    negative = (1 - label) * torch.log(1 - p)
    return -(positive + negative).mean()


easy = torch.tensor([[0.3, -0.2], [0.1, 0.4], [-0.5, -0.1]])
clear = torch.tensor([[4.0, 5.0]])
samples = torch.cat([easy, clear])
labels = torch.tensor([0.0, 1.0, 0.0, 1.0])

model = Calibrated(2)
loss = cross_entropy(model(samples), labels)
loss.backward()
print("probabilities", model(samples).tolist())
print("loss", loss.item(), "gradient", model.linear.weight.grad.tolist())
