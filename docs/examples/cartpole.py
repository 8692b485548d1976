"""A network learns to balance a pole on a cart, from nothing but how long it stayed up.

    python docs/examples/cartpole.py

The cart is pushed left or right fifty times a second. A network draws each push; after an episode, pushes that were followed by
more than the usual reward are made more likely (the policy gradient, REINFORCE).

The cart's equations: A. G. Barto, R. S. Sutton, C. W. Anderson (1983), Neuronlike adaptive elements that can solve
difficult learning control problems, IEEE Transactions on Systems, Man, and Cybernetics 13. REINFORCE: R. J. Williams
(1992), Simple statistical gradient-following algorithms for connectionist reinforcement learning, Machine Learning 8.
"""

from __future__ import annotations

import argparse
import math

import minitorch as torch
from minitorch import nn
from minitorch.distributions import Categorical

try:
    from tqdm import trange
except ImportError:  # the loop runs without a progress bar
    trange = range


class CartPole:
    """A cart of 1 kg on a track, with a pole of 0.1 kg and 1 m; one step is 20 ms."""

    def reset(self) -> list[float]:
        self.state = (0.1 * torch.rand(4) - 0.05).tolist()
        return self.state

    def push(self, right: bool) -> tuple[list[float], bool]:
        """Push with 10 N; return the new state, and whether the pole has fallen or the cart has left the track."""
        _, speed, angle, turning = self.state
        sin, cos = math.sin(angle), math.cos(angle)
        pushed = ((10.0 if right else -10.0) + 0.05 * turning * turning * sin) / 1.1
        turn = (9.8 * sin - cos * pushed) / (0.5 * (4 / 3 - 0.1 * cos * cos / 1.1))
        acceleration = pushed - 0.05 * turn * cos / 1.1
        changes = (speed, acceleration, turning, turn)
        self.state = [value + 0.02 * change for value, change in zip(self.state, changes)]
        return self.state, abs(self.state[0]) > 2.4 or abs(self.state[2]) > math.radians(12)


def play(policy: nn.Module, cart: CartPole, longest: int) -> list[torch.Tensor]:
    """Play an episode; return the logarithm of each push's probability."""
    state, done = cart.reset(), False
    chosen: list[torch.Tensor] = []
    while not done and len(chosen) < longest:
        pushes = Categorical(logits=policy(torch.tensor(state)))
        push = pushes.sample()
        chosen.append(pushes.log_prob(push))
        state, done = cart.push(push.item() == 1)
    return chosen


def main(episodes: int = 200, longest: int = 200, seed: int = 0) -> list[float]:
    torch.manual_seed(seed)
    policy = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 2))
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)
    cart, losses, lengths = CartPole(), [], []
    for _ in trange(episodes):
        chosen = play(policy, cart, longest)
        rewards, total = [], 0.0
        for _ in chosen:  # from the last push back: 1 for each step that the pole stays up, discounted
            total = 1 + 0.99 * total
            rewards.insert(0, total)
        returns = torch.tensor(rewards)
        loss = -(torch.stack(chosen) * (returns - returns.mean()) / (returns.std() + 1e-8)).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        lengths.append(len(chosen))
    tenth = max(episodes // 10, 1)
    first, last = sum(lengths[:tenth]) / tenth, sum(lengths[-tenth:]) / tenth
    print(f"steps that the pole stayed up: {first:.0f} in the first tenth of the episodes, {last:.0f} in the last")
    return losses


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="A network learns to balance a pole.")
    parser.add_argument("--episodes", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    main(**vars(parser.parse_args()))
