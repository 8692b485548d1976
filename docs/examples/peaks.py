"""Fit overlapping peaks of a noisy spectrum with LBFGS.

    python docs/examples/peaks.py

A least-squares fit of nine numbers: no batches, no learning rate to tune. LBFGS evaluates the loss several times a step, so
it is given a function that does it, and its line search looks for a step that meets the strong Wolfe conditions.
"""

from __future__ import annotations

import argparse

import minitorch as torch

try:
    from tqdm import trange
except ImportError:  # the loop runs without a progress bar
    trange = range


def spectrum(x: torch.Tensor, places: torch.Tensor, widths: torch.Tensor, heights: torch.Tensor) -> torch.Tensor:
    """A sum of Gaussian peaks."""
    return (heights * torch.exp(-0.5 * ((x.unsqueeze(1) - places) / widths) ** 2)).sum(dim=1)


def main(steps: int = 20, points: int = 200, seed: int = 0) -> list[float]:
    torch.manual_seed(seed)
    x = torch.linspace(0, 10, points)
    truth = torch.tensor([3.0, 4.5, 7.0]), torch.tensor([0.5, 0.8, 0.4]), torch.tensor([1.0, 0.7, 1.3])
    measured = spectrum(x, *truth) + 0.02 * torch.randn(points)

    places = torch.tensor([2.0, 5.0, 8.0], requires_grad=True)
    log_widths = torch.zeros(3, requires_grad=True)
    heights = torch.ones(3, requires_grad=True)
    optimizer = torch.optim.LBFGS([places, log_widths, heights], max_iter=4, line_search_fn="strong_wolfe")

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = (spectrum(x, places, log_widths.exp(), heights) - measured).pow(2).sum()
        loss.backward()
        return loss

    losses = [optimizer.step(closure).item() for _ in trange(steps)]
    print(f"loss {losses[0]:.3f} -> {losses[-1]:.5f}")
    for name, found, true in zip(("places", "widths", "heights"), (places, log_widths.exp(), heights), truth):
        near, exact = ([round(value, 2) for value in values.tolist()] for values in (found, true))
        print(f"{name:8s} {near}, in truth {exact}")
    return losses


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Fit overlapping peaks of a noisy spectrum.")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    main(**vars(parser.parse_args()))
