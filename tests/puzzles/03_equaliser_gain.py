"""Fit the band gains of an equaliser to a recording."""

import minitorch as torch
from minitorch.nn import Module, Parameter

SAFE_DB = 12.0


class Equaliser(Module):
    def __init__(self, start_db):
        super().__init__()
        self.gain_db = Parameter(torch.tensor(start_db))
        self.offset = Parameter(torch.zeros(1))

    def factors(self):
        protected = self.gain_db.clamp(-SAFE_DB, SAFE_DB)  # spare the loudspeakers
        return 10.0 ** (protected / 20.0)

    def forward(self, bands):
        return bands * self.factors() + self.offset


bands = torch.tensor([[0.3, 0.5, 0.1], [0.2, 0.4, 0.6], [0.9, 0.1, 0.3]])
recorded = bands * torch.tensor([1.0, 2.0, 0.5])

equaliser = Equaliser([20.0, 24.0, -18.0])  # the presets of the old device
optimizer = torch.optim.SGD(equaliser.parameters(), lr=0.05)
for step in range(10):
    optimizer.zero_grad()
    loss = ((equaliser(bands) - recorded) ** 2).mean()
    loss.backward()
    optimizer.step()
    print(step, loss.item(), equaliser.gain_db.tolist())
