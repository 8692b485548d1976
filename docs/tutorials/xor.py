"""The script of the session in looking-at-the-tape.md: a network that learns nothing any more."""

import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(2, 4), nn.Linear(4, 1)

    def forward(self, x):
        h = torch.relu(self.fc1(x) - 2)
        return self.fc2(h)


torch.manual_seed(0)
net = Net()
x = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
y = torch.tensor([[0.0], [1.0], [1.0], [0.0]])
loss = F.mse_loss(net(x), y)
loss.backward()
print("done", net.fc1.weight.grad)
