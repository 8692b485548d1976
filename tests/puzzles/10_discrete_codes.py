"""An autoencoder with one discrete code per input."""

import minitorch as torch
import minitorch.nn as nn
import minitorch.nn.functional as F

torch.manual_seed(0)


class CodeAutoencoder(nn.Module):
    def __init__(self, inputs, codes, size):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(inputs, 16), nn.ReLU(), nn.Linear(16, codes))
        self.codebook = nn.Embedding(codes, size)
        self.decoder = nn.Linear(size, inputs)

    def encode(self, x):
        return self.encoder(x).argmax(dim=-1)

    def decode(self, codes):
        return self.decoder(self.codebook(codes))

    def forward(self, x):
        return self.decode(self.encode(x))


def parameters_without_gradient(model):
    return [name for name, parameter in model.named_parameters() if parameter.grad is None]


signals = torch.randn(50, 8)
model = CodeAutoencoder(inputs=8, codes=6, size=4)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(5):
    optimizer.zero_grad()
    loss = F.mse_loss(model(signals), signals)
    loss.backward()
    optimizer.step()

print("loss", loss.item())
print("without gradient:", parameters_without_gradient(model))
