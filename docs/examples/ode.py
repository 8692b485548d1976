"""Find the law of motion behind a trajectory: a neural ordinary differential equation.

    python docs/examples/ode.py

A point spirals inwards. A network learns the velocity at each place from positions alone: its velocities are integrated
by the classical Runge-Kutta method, four evaluations a step, and the gradient of the distance to the observed positions
passes back through all steps of the integration.

R. T. Q. Chen, Y. Rubanova, J. Bettencourt, D. Duvenaud (2018), Neural Ordinary Differential Equations,
https://arxiv.org/abs/1806.07366.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import minitorch as torch
from minitorch import nn

try:
    from tqdm import trange
except ImportError:  # the loop runs without a progress bar
    trange = range

Field = Callable[[torch.Tensor], torch.Tensor]


def integrate(velocity: Field, y: torch.Tensor, steps: int, dt: float = 0.1) -> torch.Tensor:
    """Positions at times 0, dt, ..., steps * dt, in a new first dimension."""
    positions = [y]
    for _ in range(steps):
        k1 = velocity(y)
        k2 = velocity(y + dt / 2 * k1)
        k3 = velocity(y + dt / 2 * k2)
        k4 = velocity(y + dt * k3)
        y = y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        positions.append(y)
    return torch.stack(positions)


def spiral(y: torch.Tensor) -> torch.Tensor:
    return (y**3) @ torch.tensor([[-0.1, -2.0], [2.0, -0.1]])


class Velocity(nn.Module):
    def __init__(self, width: int = 50) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(2, width), nn.Tanh(), nn.Linear(width, 2))
        for layer in self.layers[::2]:
            nn.init.normal_(layer.weight, std=0.1)
            nn.init.constant_(layer.bias, 0.0)

    def forward(self, y: torch.Tensor) -> torch.Tensor:
        return self.layers(y**3)


def main(steps: int = 400, span: int = 10, batch: int = 20, seed: int = 0) -> list[float]:
    torch.manual_seed(seed)
    with torch.no_grad():
        observed = integrate(spiral, torch.tensor([[2.0, 0.0]]), 250).squeeze(1)
    velocity = Velocity()
    optimizer = torch.optim.RMSprop(velocity.parameters(), lr=5e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=steps)
    losses = []
    for _ in trange(steps):
        starts = torch.randperm(len(observed) - span)[:batch]
        wanted = torch.stack([observed[starts + i] for i in range(span + 1)])
        loss = (integrate(velocity, wanted[0], span) - wanted).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
    with torch.no_grad():
        error = (velocity(observed) - spiral(observed)).norm() / spiral(observed).norm()
    print(
        f"loss {losses[0]:.4f} -> {losses[-1]:.4f}; the velocities along the trajectory are off by {error.item():.1%}"
    )
    return losses


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Find the law of motion behind a trajectory.")
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    main(**vars(parser.parse_args()))
