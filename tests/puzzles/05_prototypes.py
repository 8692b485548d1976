"""Learn four prototypes that cover a cloud of points."""

import minitorch as torch
from minitorch import nn

torch.manual_seed(3)


class Codebook(nn.Module):
    def __init__(self, start):
        super().__init__()
        self.prototypes = nn.Parameter(start)

    def similarity(self, points):
        gaps = points[:, None, :] - self.prototypes[None, :, :]
        return -gaps.pow(2).sum(dim=-1)

    def forward(self, points):
        best = self.similarity(points).max(dim=1).values
        return -best.mean()


points = torch.randn(64, 2)
start = torch.tensor([[0.0, 0.5], [30.0, 0.0], [0.0, 30.0], [-30.0, -30.0]])
codebook = Codebook(start)
optimizer = torch.optim.SGD(codebook.parameters(), lr=0.2)
for _ in range(25):
    optimizer.zero_grad()
    loss = codebook(points)
    loss.backward()
    optimizer.step()

print("loss", loss.item())
for number, (place, gradient) in enumerate(zip(codebook.prototypes.tolist(), codebook.prototypes.grad.tolist())):
    print(number, place, gradient)
