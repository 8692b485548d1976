"""Average the losses of a mini-batch that holds graphs of different sizes."""

import minitorch as torch
from minitorch import nn

torch.manual_seed(0)


class GraphScorer(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.message = nn.Linear(features, features)
        self.score = nn.Linear(features, 1)

    def forward(self, nodes, links):
        return self.score(torch.relu(links @ self.message(nodes)).mean(dim=0))


def make_graph(size):
    return torch.randn(size, 4), (torch.rand(size, size) > 0.5).float(), torch.randn(1)


def batch_loss(model, graphs):
    losses = [(model(nodes, links) - target).square().sum() for nodes, links, target in graphs]
    # one number per graph, averaged; without requires_grad backward() complained
    return torch.tensor(sum(loss.item() for loss in losses) / len(losses), requires_grad=True)


graphs = [make_graph(size) for size in (3, 5, 4, 7)]
model = GraphScorer(4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(3):
    optimizer.zero_grad()
    loss = batch_loss(model, graphs)
    loss.backward()
    optimizer.step()
    print(epoch, loss.item(), model.score.weight.grad)
