"""Train a network of neurons that fire or don't, with a derivative of its own: a custom `autograd.Function`.

    python docs/examples/spikes.py

A spike is a step: 0 below the threshold, 1 above. Its derivative is zero wherever it exists, so nothing would be learnt. A
`Function` says what to use instead: forward is the step, backward the slope of a soft one (a surrogate gradient). The
neurons leak and add up their input over time, and the network must tell which of two noisy rhythms it hears.

E. O. Neftci, H. Mostafa, F. Zenke (2019), Surrogate gradient learning in spiking neural networks,
https://arxiv.org/abs/1901.09948.
"""

from __future__ import annotations

import argparse
from typing import Any

import minitorch as torch
import minitorch.nn.functional as F
from minitorch import nn

try:
    from tqdm import trange
except ImportError:  # the loop runs without a progress bar
    trange = range


class Spike(torch.autograd.Function):
    """1 where the input is positive, else 0; backward, the slope of x / (1 + 10 |x|)."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return (x > 0).to(x.dtype)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        return gradient / (1 + 10 * x.abs()) ** 2


class SpikingNetwork(nn.Module):
    def __init__(self, inputs: int, width: int, classes: int) -> None:
        super().__init__()
        self.receive = nn.Linear(inputs, width)
        self.read = nn.Linear(width, classes)

    def forward(self, signal: torch.Tensor) -> torch.Tensor:
        """Scores from a signal of shape (time, batch, inputs)."""
        potential = torch.zeros(signal.shape[1], self.receive.out_features)
        scores = 0.0
        for received in self.receive(signal):
            potential = 0.8 * potential + received
            fired = Spike.apply(potential - 1)
            potential = potential * (1 - fired)
            scores = scores + self.read(fired)
        return scores / len(signal)


def make_batch(count: int, time: int = 24, inputs: int = 8) -> tuple[torch.Tensor, torch.Tensor]:
    """Noise with a beat every three steps, or every four; and which it is."""
    labels = torch.randint(2, (count,))
    beats = (torch.arange(time).unsqueeze(1) % (3 + labels) == 0).unsqueeze(2)
    return beats * 1.5 + 0.5 * torch.randn(time, count, inputs), labels


def main(steps: int = 200, width: int = 32, batch: int = 64, seed: int = 0) -> list[float]:
    torch.manual_seed(seed)
    network = SpikingNetwork(8, width, 2)
    optimizer = torch.optim.NAdam(network.parameters(), lr=0.01)
    losses = []
    for _ in trange(steps):
        signal, labels = make_batch(batch)
        loss = F.cross_entropy(network(signal), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    with torch.no_grad():
        signal, labels = make_batch(500)
        right = (network(signal).argmax(1) == labels).sum().item()
    print(f"loss {losses[0]:.3f} -> {losses[-1]:.3f}; {right / 5:.1f}% of 500 new rhythms told apart")
    return losses


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Train neurons that fire or don't.")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    main(**vars(parser.parse_args()))
