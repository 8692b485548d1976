"""Reconstruction and classification share an encoder; each task makes its own backward pass."""

import minitorch as torch
import minitorch.nn as nn
import minitorch.nn.functional as F

torch.manual_seed(0)


class TwoTasks(nn.Module):
    def __init__(self, inputs, hidden, classes):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(inputs, hidden), nn.Sigmoid())
        self.decoder = nn.Linear(hidden, inputs)
        self.classifier = nn.Linear(hidden, classes)


def reconstruction_loss(model, code, x):
    return F.mse_loss(model.decoder(code), x)


def classification_loss(model, code, labels):
    return F.cross_entropy(model.classifier(code), labels)


x, labels = torch.randn(12, 6), torch.randint(0, 3, (12,))
model = TwoTasks(6, 10, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

code = model.encoder(x)
rebuilding = reconstruction_loss(model, code, x)
naming = classification_loss(model, code, labels)

optimizer.zero_grad()
rebuilding.backward()
naming.backward()
optimizer.step()
print("reconstruction", rebuilding.item(), "classification", naming.item())
