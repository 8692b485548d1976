"""Embed points so that the distances between them match a table (multidimensional scaling)."""

import minitorch as torch

torch.manual_seed(0)


def squared_distances(places):
    gaps = places[:, None, :] - places[None, :, :]
    return (gaps**2).sum(dim=-1)


def distances(places):
    squared = squared_distances(places)
    # the square root has no slope at zero, so leave the diagonal out
    return torch.where(squared > 0, torch.sqrt(squared), torch.zeros_like(squared))


def stress(places, table):
    return (distances(places) - table).square().mean()


towns = torch.tensor([[0.0, 0.0], [3.0, 4.0], [6.0, 0.0], [1.0, 7.0]])
table = distances(towns)

places = torch.randn(4, 2, requires_grad=True)
optimizer = torch.optim.SGD([places], lr=0.05)
history = []
for _ in range(3):
    optimizer.zero_grad()
    loss = stress(places, table)
    loss.backward()
    history.append((loss.item(), places.grad.clone()))
    optimizer.step()

print("first loss", history[0][0])
print("first gradient", history[0][1])
print("last loss", loss.item())
