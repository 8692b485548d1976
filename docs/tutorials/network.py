"""The network of the page looking-at-the-tape.md."""

import minitorch as torch
from minitorch import nn


class Block(nn.Module):
    """Two linear layers beside a shortcut."""

    def __init__(self, width):
        super().__init__()
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(x)))


class Network(nn.Module):
    """Blocks between an embedding and a head."""

    def __init__(self, depth=2, width=4):
        super().__init__()
        self.embed = nn.Linear(3, width)
        self.blocks = nn.Sequential(*[Block(width) for _ in range(depth)])
        self.head = nn.Linear(width, 2)

    def forward(self, x):
        logits = self.head(self.blocks(self.embed(x)))
        logits.name = "logits"
        return logits


def make_loss(depth=2):
    """The loss of a new network on five samples."""
    torch.manual_seed(0)
    network = Network(depth)
    logits = network(torch.randn(5, 3))
    return nn.functional.cross_entropy(logits, torch.tensor([0, 1, 0, 1, 0]))
