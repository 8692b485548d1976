"""A network whose depth is an argument."""

import minitorch as torch
import minitorch.nn as nn
import minitorch.nn.functional as F

torch.manual_seed(0)


class DeepNet(nn.Module):
    def __init__(self, inputs, width, depth):
        super().__init__()
        sizes = [inputs] + [width] * depth
        self.blocks = [nn.Linear(sizes[i], sizes[i + 1]) for i in range(depth)]
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        for block in self.blocks:
            x = torch.tanh(block(x))
        return self.out(x)


x = torch.randn(64, 3)
y = x.prod(dim=1, keepdim=True)

model = DeepNet(inputs=3, width=8, depth=2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
start = model.blocks[0].weight.detach().clone()
norms = []
for _ in range(6):
    optimizer.zero_grad()
    loss = F.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    norms.append(model.blocks[0].weight.grad.norm().item())

print("gradient of the first block:", " ".join(f"{norm:.3f}" for norm in norms))
print("it moved by", (model.blocks[0].weight - start).abs().max().item())
