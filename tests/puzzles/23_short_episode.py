"""REINFORCE on a corridor whose episodes may end at once."""

import minitorch as torch
import minitorch.nn as nn

torch.manual_seed(0)


def discounted(rewards, gamma=0.9):
    total, returns = 0.0, []
    for reward in reversed(rewards):
        total = reward + gamma * total
        returns.insert(0, total)
    return torch.tensor(returns)


def standardise(returns):
    spread = returns.std()
    return (returns - returns.mean()) / (spread + 1e-8)


def episode_loss(policy, states, actions, rewards):
    log_probabilities = torch.log_softmax(policy(states), dim=-1)
    taken = log_probabilities[torch.arange(len(actions)), actions]
    return -(taken * standardise(discounted(rewards))).sum()


episodes = [
    (torch.eye(4)[[0, 1, 2]], torch.tensor([1, 1, 1]), [0.0, 0.0, 1.0]),
    (torch.eye(4)[[0, 1]], torch.tensor([1, 0]), [0.0, -1.0]),
    (torch.eye(4)[[0]], torch.tensor([0]), [-1.0]),
]
policy = nn.Linear(4, 2)
optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)
for number, (states, actions, rewards) in enumerate(episodes):
    optimizer.zero_grad()
    loss = episode_loss(policy, states, actions, rewards)
    loss.backward()
    optimizer.step()
    print("episode", number, "loss", loss.item())

print(policy.weight)
