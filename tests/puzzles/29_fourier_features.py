"""Fit a periodic signal with Fourier features."""

import numpy as np

import minitorch as torch
from minitorch import nn

torch.manual_seed(0)


class FourierSeries(nn.Module):
    def __init__(self, terms, period):
        super().__init__()
        self.amplitudes = nn.Parameter(torch.zeros(terms))
        self.offset = nn.Parameter(torch.zeros(1))
        self.harmonics = np.arange(1, terms + 1) * 2 * np.pi / period

    def waves(self, t):
        return torch.sin(t[:, None] * torch.from_numpy(self.harmonics))

    def forward(self, t):
        return (self.waves(t) * self.amplitudes).sum(dim=-1) + self.offset


t = torch.linspace(0, 10, 80)
signal = 0.8 * torch.sin(t * 1.2566) + 0.2

model = FourierSeries(terms=4, period=10.0)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(15):
    optimizer.zero_grad()
    prediction = model(t)
    loss = (prediction - signal).square().mean()
    loss.backward()
    optimizer.step()

print("parameters", {p.dtype for p in model.parameters()})
print("input", t.dtype, "prediction", prediction.dtype, "loss", loss.dtype)
