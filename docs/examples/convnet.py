"""A convolutional network reads handwritten digits, with what real training loops have around it.

    python docs/examples/convnet.py

A held-out part, shuffled batches by a `DataLoader`, batch normalisation and dropout (which behave differently when the
network is not training), Nesterov momentum, and a learning rate that rises and falls.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import minitorch as torch
from minitorch import nn
from minitorch.utils.data import DataLoader, Dataset, TensorDataset, random_split

try:
    from tqdm import trange
except ImportError:  # the loop runs without a progress bar
    trange = range

DIGITS = Path(__file__).parent / "data" / "digits.csv.gz"


def load_digits() -> Dataset:
    """1797 images, shape (1, 8, 8), with values from 0 to 1, and their digits."""
    table = torch.from_numpy(np.loadtxt(DIGITS, delimiter=",", dtype=np.int64))
    return TensorDataset(table[:, :64].view(-1, 1, 8, 8).to(torch.get_default_dtype()) / 16, table[:, 64])


def make_network(width: int = 16) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(1, width, 3, padding=1, bias=False),
        nn.BatchNorm2d(width),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(2),
        nn.Conv2d(width, 2 * width, 3, padding=1, bias=False),
        nn.BatchNorm2d(2 * width),
        nn.ReLU(inplace=True),
        nn.AdaptiveAvgPool2d(2),
        nn.Flatten(),
        nn.Dropout(0.2),
        nn.Linear(8 * width, 10),
    )


def main(epochs: int = 4, batch: int = 50, seed: int = 0) -> list[float]:
    torch.manual_seed(seed)
    training, held_out = random_split(load_digits(), [1500, 297])
    batches = DataLoader(training, batch_size=batch, shuffle=True)
    network = make_network()
    optimizer = torch.optim.SGD(network.parameters(), lr=0.05, momentum=0.9, nesterov=True, weight_decay=5e-4)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.2, epochs=epochs, steps_per_epoch=len(batches))
    criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
    losses = []
    for _ in trange(epochs):
        network.train()
        for images, labels in batches:
            loss = criterion(network(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            losses.append(loss.item())
    print(f"loss {losses[0]:.3f} -> {losses[-1]:.3f}; {accuracy(network, held_out):.1%} of the held-out digits read")
    return losses


@torch.no_grad()
def accuracy(network: nn.Module, examples: Dataset) -> float:
    network.eval()
    right = sum((network(images).argmax(1) == labels).sum().item() for images, labels in DataLoader(examples, 100))
    return right / len(examples)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="A convolutional network reads handwritten digits.")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    main(**vars(parser.parse_args()))
