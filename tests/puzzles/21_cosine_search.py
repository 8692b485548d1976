"""Train document vectors for cosine similarity; some documents hold no known word."""

import minitorch as torch
import minitorch.nn as nn

torch.manual_seed(0)
UNKNOWN = 0


class Documents(nn.Module):
    def __init__(self, words, size):
        super().__init__()
        self.vectors = nn.Embedding(words, size, padding_idx=UNKNOWN)

    def forward(self, documents):
        return self.vectors(documents).mean(dim=1)


def unit(vectors):
    length = vectors.pow(2).sum(dim=-1, keepdim=True).sqrt()
    return vectors / length


def cosine(a, b):
    return (unit(a) * unit(b)).sum(dim=-1)


queries = torch.tensor([[3, 4, 5], [6, 7, 2], [1, 1, 8]])
answers = torch.tensor([[3, 5, 5], [0, 0, 0], [8, 1, 9]])  # nothing known in the second

model = Documents(words=10, size=6)
optimizer = torch.optim.Adagrad(model.parameters(), lr=0.1)
loss = (1 - cosine(model(queries), model(answers))).mean()
optimizer.zero_grad()
loss.backward()
print("loss", loss.item())
print("gradient of word 3", model.vectors.weight.grad[3])
