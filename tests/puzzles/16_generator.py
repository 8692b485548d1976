"""One round of a small GAN: first the critic, then the generator."""

import minitorch as torch
import minitorch.nn.functional as F
from minitorch import nn

torch.manual_seed(0)

generator = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 2))
critic = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
for_generator = torch.optim.Adam(generator.parameters(), lr=1e-3)
for_critic = torch.optim.Adam(critic.parameters(), lr=1e-3)


def verdict_loss(samples, real):
    verdict = critic(samples.detach())
    wanted = torch.ones_like(verdict) if real else torch.zeros_like(verdict)
    return F.binary_cross_entropy_with_logits(verdict, wanted)


def train_critic(points, fakes):
    for_critic.zero_grad()
    loss = verdict_loss(points, real=True) + verdict_loss(fakes, real=False)
    loss.backward()
    for_critic.step()
    return loss


def train_generator(fakes):
    for_generator.zero_grad()
    loss = verdict_loss(fakes, real=True)
    loss.backward()
    for_generator.step()
    return loss


for _ in range(3):
    points = torch.randn(32, 2) + 4
    fakes = generator(torch.randn(32, 2))
    critic_loss = train_critic(points, fakes)
    generator_loss = train_generator(fakes)

print("critic", critic_loss.item(), "generator", generator_loss.item())
print("gradient of the generator:", generator[0].weight.grad)
