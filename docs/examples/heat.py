"""A network learns to obey the heat equation: a physics-informed neural network.

    python docs/examples/heat.py

A rod, cold at both ends, starts warm in the middle: u(x, 0) = sin(pi x). The network u(x, t) never sees a solution. Its
loss is how far it is from u_t = u_xx / 10 at random points, and from what is known at the start and at the ends. The
derivatives are gradients of the network's output by its inputs, of first and second order, and the loss is
differentiated once more, by the weights.

M. Raissi, P. Perdikaris, G. E. Karniadakis (2019), Physics-informed neural networks, Journal of Computational Physics 378.
"""

from __future__ import annotations

import argparse
import math

import minitorch as torch
from minitorch import nn

try:
    from tqdm import trange
except ImportError:  # the loop runs without a progress bar
    trange = range

CONDUCTIVITY = 0.1


def derivative(y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """dy/dx at every point, as something that can be differentiated again."""
    return torch.autograd.grad(y, x, torch.ones_like(y), create_graph=True)[0]


def loss_of(network: nn.Module, points: int) -> torch.Tensor:
    x = torch.rand(points, 1, requires_grad=True)
    t = torch.rand(points, 1, requires_grad=True)
    u = network(torch.cat([x, t], dim=1))
    residual = derivative(u, t) - CONDUCTIVITY * derivative(derivative(u, x), x)

    start = network(torch.cat([x.detach(), torch.zeros_like(t)], dim=1)) - torch.sin(math.pi * x.detach())
    ends = network(torch.cat([x.detach().round(), t.detach()], dim=1))
    return residual.pow(2).mean() + 10 * (start.pow(2).mean() + ends.pow(2).mean())


def main(steps: int = 1500, width: int = 32, points: int = 64, seed: int = 0) -> list[float]:
    torch.manual_seed(seed)
    network = nn.Sequential(nn.Linear(2, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))
    for layer in network[::2]:
        nn.init.xavier_normal_(layer.weight)
        nn.init.zeros_(layer.bias)
    optimizer = torch.optim.Adam(network.parameters(), lr=3e-3)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.999)
    losses = []
    for _ in trange(steps):
        loss = loss_of(network, points)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
    with torch.no_grad():
        x, t = torch.rand(1000, 1), torch.rand(1000, 1)
        exact = (-CONDUCTIVITY * math.pi**2 * t).exp() * torch.sin(math.pi * x)
        error = (network(torch.cat([x, t], dim=1)) - exact).abs().max().item()
    print(f"loss {losses[0]:.4f} -> {losses[-1]:.6f}; largest error against the exact solution {error:.4f}")
    return losses


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="A network learns to obey the heat equation.")
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=0)
    main(**vars(parser.parse_args()))
