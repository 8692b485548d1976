"""Fine-tune a sentence encoder together with a new classifier."""

import minitorch as torch
from minitorch import nn

torch.manual_seed(0)


class SentenceEncoder(nn.Module):
    """Mean of word vectors, then a projection; first written for a search index."""

    def __init__(self, words, size):
        super().__init__()
        self.words = nn.Embedding(words, size)
        self.projection = nn.Linear(size, size)

    @torch.no_grad()
    def encode(self, sentences):
        return torch.tanh(self.projection(self.words(sentences).mean(dim=1)))

    def most_similar(self, sentence, others):
        return (self.encode(others) @ self.encode(sentence).T).argmax()


class Sentiment(nn.Module):
    def __init__(self, encoder, size):
        super().__init__()
        self.encoder = encoder
        self.classify = nn.Linear(size, 2)

    def forward(self, sentences):
        return self.classify(self.encoder.encode(sentences))


sentences, moods = torch.randint(0, 30, (16, 7)), torch.randint(0, 2, (16,))
model = Sentiment(SentenceEncoder(30, 8), 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
criterion = nn.CrossEntropyLoss()
for _ in range(4):
    loss = criterion(model(sentences), moods)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

print("classifier", model.classify.weight.grad.norm().item())
print("projection", model.encoder.projection.weight.grad)
