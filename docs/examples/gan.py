"""Two networks compete: one makes points in the plane, the other tells them from real ones.

    python docs/examples/gan.py

Real points lie in eight heaps on a circle. The generator learns them from nothing but the gradient that passes through
the discriminator's opinion of its points. A penalty on the slope of that opinion at real points keeps the two from
circling each other; it is the gradient of a gradient.

I. Goodfellow et al. (2014), Generative Adversarial Networks, https://arxiv.org/abs/1406.2661; the penalty:
L. Mescheder, A. Geiger, S. Nowozin (2018), Which Training Methods for GANs do actually Converge?,
https://arxiv.org/abs/1801.04406.
"""

from __future__ import annotations

import argparse
import math

import minitorch as torch
import minitorch.nn.functional as F
from minitorch import nn

try:
    from tqdm import trange
except ImportError:  # the loop runs without a progress bar
    trange = range


def real_points(count: int) -> torch.Tensor:
    angles = torch.randint(8, (count,)) * (math.pi / 4)
    return torch.stack([angles.cos(), angles.sin()], dim=1) + 0.05 * torch.randn(count, 2)


def make_network(inputs: int, outputs: int, width: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(inputs, width),
        nn.LeakyReLU(0.2),
        nn.Linear(width, width),
        nn.LeakyReLU(0.2),
        nn.Linear(width, outputs),
    )


def main(steps: int = 1500, width: int = 64, batch: int = 128, seed: int = 0) -> list[float]:
    """Return the discriminator's and the generator's losses, in turns."""
    torch.manual_seed(seed)
    generator, discriminator = make_network(8, 2, width), make_network(2, 1, width)
    generator_optimizer = torch.optim.Adam(generator.parameters(), lr=2e-3, betas=(0.5, 0.9))
    discriminator_optimizer = torch.optim.Adam(discriminator.parameters(), lr=2e-3, betas=(0.5, 0.9))
    real, fake = torch.ones(batch, 1), torch.zeros(batch, 1)
    losses = []
    for _ in trange(steps):
        made = generator(torch.randn(batch, 8))

        discriminator_optimizer.zero_grad()
        points = real_points(batch).requires_grad_()
        scores = discriminator(points)
        loss = F.binary_cross_entropy_with_logits(scores, real)
        loss = loss + F.binary_cross_entropy_with_logits(discriminator(made.detach()), fake)
        (slope,) = torch.autograd.grad(scores.sum(), points, create_graph=True)
        loss = loss + 0.05 * slope.pow(2).sum(dim=1).mean()
        loss.backward()
        discriminator_optimizer.step()
        losses.append(loss.item())

        generator_optimizer.zero_grad()
        loss = F.binary_cross_entropy_with_logits(discriminator(made), real)
        loss.backward()
        generator_optimizer.step()
        losses.append(loss.item())
    with torch.no_grad():
        points = generator(torch.randn(1000, 8))
    heaps = torch.stack([torch.tensor([math.cos(i * math.pi / 4), math.sin(i * math.pi / 4)]) for i in range(8)])
    distance, nearest = torch.cdist(points, heaps).min(dim=1)
    print(f"{(distance < 0.2).sum().item() / 10:.1f}% of 1000 points lie close to a heap; an eighth each would be 125:")
    print(torch.bincount(nearest[distance < 0.2], minlength=8).tolist())
    return losses


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Two networks compete over points in the plane.")
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=0)
    main(**vars(parser.parse_args()))
