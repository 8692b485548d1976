"""A variational autoencoder learns to draw digits.

    python docs/examples/vae.py

Each image becomes a Gaussian in a small space: a mean and a spread. A point drawn from it must give the image back, and
the Gaussians must stay close to the standard one, so that later any point drawn from that gives an image. The gradient
passes through the draw because it is written as mean + spread * noise.

D. P. Kingma and M. Welling (2013), Auto-Encoding Variational Bayes, https://arxiv.org/abs/1312.6114.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import minitorch as torch
import minitorch.nn.functional as F
from minitorch import nn

try:
    from tqdm import trange
except ImportError:  # the loop runs without a progress bar
    trange = range

DIGITS = Path(__file__).parent / "data" / "digits.csv.gz"
SHADES = " .:-=+*#%@"


class VAE(nn.Module):
    def __init__(self, width: int = 128, latent: int = 8) -> None:
        super().__init__()
        self.latent = latent
        self.encode = nn.Sequential(nn.Linear(64, width), nn.SiLU(), nn.Linear(width, 2 * latent))
        self.decode = nn.Sequential(nn.Linear(latent, width), nn.SiLU(), nn.Linear(width, 64))

    def forward(self, images: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        mean, log_variance = self.encode(images).chunk(2, dim=1)
        drawn = mean + (0.5 * log_variance).exp() * torch.randn_like(mean)
        return self.decode(drawn), mean, log_variance


def loss_of(images: torch.Tensor, scores: torch.Tensor, mean: torch.Tensor, log_variance: torch.Tensor) -> torch.Tensor:
    """The negative evidence lower bound, an image."""
    rebuilt = F.binary_cross_entropy_with_logits(scores, images, reduction="sum")
    divergence = -0.5 * (1 + log_variance - mean.pow(2) - log_variance.exp()).sum()
    return (rebuilt + divergence) / len(images)


def main(steps: int = 800, batch: int = 64, seed: int = 0) -> list[float]:
    torch.manual_seed(seed)
    table = np.loadtxt(DIGITS, delimiter=",", dtype=np.int64)
    images = torch.tensor(table[:, :64]).to(torch.get_default_dtype()) / 16
    model = VAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    losses = []
    for _ in trange(steps):
        chosen = images[torch.randint(len(images), (batch,))]
        loss = loss_of(chosen, *model(chosen))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(f"loss {losses[0]:.2f} -> {losses[-1]:.2f}; digits drawn:")
    with torch.no_grad():
        show(model.decode(torch.randn(6, model.latent)).sigmoid().view(-1, 8, 8))
    return losses


def show(images: torch.Tensor) -> None:
    """Draw images side by side as text."""
    for rows in zip(*images.tolist(), strict=True):
        print("   ".join("".join(2 * SHADES[int(9 * value)] for value in row) for row in rows))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="A variational autoencoder learns to draw digits.")
    parser.add_argument("--steps", type=int, default=800)
    parser.add_argument("--seed", type=int, default=0)
    main(**vars(parser.parse_args()))
