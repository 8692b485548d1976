"""Teach a small network to read handwritten digits, then look inside.

    python docs/examples/digits.py
    python docs/examples/digits.py --epochs 5 --seed 3

Training is ordinary PyTorch code: shuffled batches, `loss.backward()`, `optimizer.step()`. With `import torch` in
place of `import minitorch as torch` it draws the same random numbers and trains the same network, up to rounding.

Then come two things to look at: the tape that a forward pass leaves behind, which `backward()` walks from its end to
its start, and a gradient from that walk beside the same gradient measured by moving one weight.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import minitorch as torch
from minitorch import nn

DATA = Path(__file__).parent / "data" / "digits.csv.gz"
SHADES = " .:-=+*#%@"

criterion = nn.CrossEntropyLoss()


def main() -> None:
    parser = argparse.ArgumentParser(description="Train a network on 8x8 handwritten digits and look inside.")
    parser.add_argument("--epochs", type=int, default=12, help="passes over the training images (default: 12)")
    parser.add_argument("--seed", type=int, default=0, help="of every random choice (default: 0)")
    arguments = parser.parse_args()

    torch.manual_seed(arguments.seed)
    pixels, labels = load_digits()

    # A fifth of the images, chosen at random, is kept out of training to measure what was learnt.
    order = torch.randperm(len(pixels))
    held_out, training = order[: len(order) // 5], order[len(order) // 5 :]
    images = (pixels - pixels[training].mean()) / pixels[training].std()
    test_images, test_labels = images[held_out], labels[held_out]

    network = make_network()
    for epoch, loss in enumerate(train(network, images[training], labels[training], arguments.epochs), start=1):
        accuracy = (predict(network, test_images) == test_labels).float().mean().item()
        progress = f"epoch {epoch:2d} of {arguments.epochs}   loss {loss:.4f}   held-out accuracy {accuracy:6.1%}"
        show_progress(progress, done=epoch == arguments.epochs)

    guesses = predict(network, test_images)
    wrong = (guesses != test_labels).nonzero().flatten()
    print(f"\n{len(guesses) - len(wrong)} of {len(guesses)} held-out digits read correctly. Some of the others:\n")
    show_misread(pixels[held_out][wrong], test_labels[wrong], guesses[wrong])

    print("\nThe tape of one loss, in the order in which it was recorded:\n")
    loss = criterion(network(test_images), test_labels)
    print(torch.autograd.Tape(loss))

    print("\nIs its gradient right? One weight moved by hand, in float64:\n")
    network.double()
    compare_gradient(network, test_images.double(), test_labels)
    check_loss(network, test_images[:4].double(), test_labels[:4])


def load_digits() -> tuple[torch.Tensor, torch.Tensor]:
    """Return 1797 images, shape (1797, 1, 8, 8) with values from 0 to 16, and the digit that each one shows."""
    table = np.loadtxt(DATA, delimiter=",", dtype=np.int64)
    return torch.tensor(table[:, :64]).float().view(-1, 1, 8, 8), torch.tensor(table[:, 64])


def make_network() -> nn.Sequential:
    """Return an untrained network that gives each image ten scores, one for each digit."""
    return nn.Sequential(
        nn.Conv2d(1, 32, kernel_size=3),  # looks for 32 patterns of 3x3 pixels: 32 maps of 6x6
        nn.ReLU(),
        nn.MaxPool2d(2),  # keeps the best match in each 2x2 patch: 32 maps of 3x3
        nn.Flatten(),
        nn.Linear(32 * 3 * 3, 10),
    )


def train(network: nn.Module, images: torch.Tensor, labels: torch.Tensor, epochs: int) -> Iterator[float]:
    """Fit the network to the images, yielding the mean loss of each epoch as it ends."""
    optimizer = torch.optim.Adam(network.parameters(), lr=0.005)
    for _ in range(epochs):
        total = 0.0
        for batch in torch.randperm(len(images)).split(32):
            loss = criterion(network(images[batch]), labels[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(batch)
        yield total / len(images)


def predict(network: nn.Module, images: torch.Tensor) -> torch.Tensor:
    """Return the digit with the highest score for each image."""
    with torch.no_grad():
        return network(images).argmax(dim=1)


def show_progress(text: str, *, done: bool) -> None:
    """Print a line that, on a terminal, the next one overwrites unless this is the last."""
    if sys.stdout.isatty():
        print(f"\r{text}", end="\n" if done else "", flush=True)
    else:
        print(text)


def show_misread(pixels: torch.Tensor, labels: torch.Tensor, guesses: torch.Tensor, count: int = 5) -> None:
    """Draw the first few images side by side as text, under what they show and what they were taken for."""
    columns = []
    for image, label, guess in zip(pixels[:count].squeeze(1).tolist(), labels.tolist(), guesses.tolist(), strict=False):
        picture = ["".join(2 * SHADES[int(value * 9 / 16)] for value in row) for row in image]
        columns.append([f"{label} read as {guess}".ljust(len(picture[0])), *picture])
    for line in zip(*columns, strict=True):
        print("   ".join(line))


def compare_gradient(network: nn.Sequential, images: torch.Tensor, labels: torch.Tensor, step: float = 1e-6) -> None:
    """Print the largest gradient of the first layer's weights beside its estimate by a central difference."""
    weight = network[0].weight
    network.zero_grad()
    criterion(network(images), labels).backward()
    index = np.unravel_index(weight.grad.abs().argmax().item(), weight.shape)
    value, gradient = weight[index].item(), weight.grad[index].item()

    def loss_at(moved: float) -> float:
        weight[index] = moved
        return criterion(network(images), labels).item()

    with torch.no_grad():
        below, above = loss_at(value - step), loss_at(value + step)
        weight[index] = value
    estimate = (above - below) / (2 * step)

    print(f"w = network[0].weight[{', '.join(map(str, index))}]")
    print(f"loss with w - {step}      {below:.15f}")
    print(f"loss with w + {step}      {above:.15f}")
    print(f"difference / {2 * step}      {estimate:+.12f}")
    print(f"gradient by backward()  {gradient:+.12f}")
    print(f"relative error            {abs(gradient / estimate - 1):.1e}")


def check_loss(network: nn.Module, images: torch.Tensor, labels: torch.Tensor) -> None:
    """Let `gradcheck` compare all derivatives of the loss by the scores that the network gives a few images."""
    scores = network(images).detach().requires_grad_()
    passed = torch.autograd.gradcheck(lambda scores: criterion(scores, labels), scores)
    print(f"\ngradcheck of the loss by all {scores.numel()} scores of {len(scores)} images: {passed}")


if __name__ == "__main__":
    main()
