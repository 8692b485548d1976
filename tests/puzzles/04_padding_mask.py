"""A small language model on a batch of sentences, with padding left out of the loss."""

import minitorch as torch
import minitorch.nn.functional as F
from minitorch import nn

torch.manual_seed(0)
PAD = 0


class NextWord(nn.Module):
    def __init__(self, words, size):
        super().__init__()
        self.embedding = nn.Embedding(words, size)
        self.mix = nn.Linear(size, size)
        self.out = nn.Linear(size, words)

    def forward(self, tokens):
        return self.out(torch.tanh(self.mix(self.embedding(tokens))))


def sequence_loss(logits, following):
    per_word = F.cross_entropy(logits.flatten(0, 1), following.flatten(), reduction="none")
    counted = per_word * (following == PAD).flatten()
    return counted.sum() / following.numel()


sentences = torch.tensor([[4, 7, 2, 9, 5, 1], [3, 8, 6, 2, 4, 1], [9, 9, 2, 5, 3, 1]])
model = NextWord(words=10, size=8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
for epoch in range(3):
    optimizer.zero_grad()
    loss = sequence_loss(model(sentences[:, :-1]), sentences[:, 1:])
    loss.backward()
    optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.3f}, |grad| {model.out.weight.grad.norm().item():.3f}")
