"""Learn to learn: weights from which one step of gradient descent fits any sine wave.

    python docs/examples/maml.py

Each task is a sine wave of random height and phase, seen at ten points. An inner step moves the weights by the gradient
of the task's loss; the outer loss is the moved weights' loss at other points of the same wave. Its gradient passes
through the inner step, so it is a gradient of a gradient (`create_graph=True`).

C. Finn, P. Abbeel, S. Levine (2017), Model-Agnostic Meta-Learning for Fast Adaptation of Deep Networks,
https://arxiv.org/abs/1703.03400.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence

import minitorch as torch
import minitorch.nn.functional as F
from minitorch import nn

try:
    from tqdm import trange
except ImportError:  # the loop runs without a progress bar
    trange = range


def make_task(points: int = 10) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Inputs and targets to adapt to, and others of the same wave to be judged by."""
    height, phase = 0.1 + 4.9 * torch.rand(1), math.pi * torch.rand(1)
    inputs = 10 * torch.rand(2 * points, 1) - 5
    targets = height * torch.sin(inputs - phase)
    return inputs[:points], targets[:points], inputs[points:], targets[points:]


def predict(weights: Sequence[torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    first, first_bias, second, second_bias, third, third_bias = weights
    hidden = F.relu(F.linear(x, first, first_bias))
    return F.linear(F.relu(F.linear(hidden, second, second_bias)), third, third_bias)


def adapt(weights: Sequence[torch.Tensor], x: torch.Tensor, y: torch.Tensor, rate: float = 0.01) -> list[torch.Tensor]:
    """One step of gradient descent on a task, recorded."""
    gradients = torch.autograd.grad(F.mse_loss(predict(weights, x), y), weights, create_graph=True)
    return [weight - rate * gradient for weight, gradient in zip(weights, gradients)]


def main(steps: int = 1500, width: int = 40, tasks: int = 4, seed: int = 0) -> list[float]:
    torch.manual_seed(seed)
    network = nn.Sequential(nn.Linear(1, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))
    weights = list(network.parameters())
    optimizer = torch.optim.Adam(weights, lr=2e-3)
    losses = []
    for _ in trange(steps):
        loss = 0.0
        for _ in range(tasks):
            x, y, other_x, other_y = make_task()
            loss = loss + F.mse_loss(predict(adapt(weights, x, y), other_x), other_y) / tasks
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    before = after = 0.0
    for _ in range(100):
        x, y, other_x, other_y = make_task()
        before += F.mse_loss(predict(weights, other_x), other_y).item() / 100
        after += F.mse_loss(predict(adapt(weights, x, y), other_x), other_y).item() / 100
    print(f"squared error on 100 new waves: {before:.2f} before the one step, {after:.2f} after it")
    return losses


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Learn to learn sine waves.")
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=0)
    main(**vars(parser.parse_args()))
