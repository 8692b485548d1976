"""An actor is trained on the value that a critic gives to its actions."""

import minitorch as torch
from minitorch import nn

torch.manual_seed(0)


class Agent:
    def __init__(self, states, actions):
        self.actor = nn.Sequential(nn.Linear(states, 8), nn.Tanh(), nn.Linear(8, actions))
        self.critic = nn.Sequential(nn.Linear(states + actions, 8), nn.Tanh(), nn.Linear(8, 1))
        self.for_actor = torch.optim.Adam(self.actor.parameters(), lr=1e-3)
        self.for_critic = torch.optim.Adam(self.critic.parameters(), lr=1e-3)

    def value(self, states, actions):
        return self.critic(torch.cat([states, actions], dim=-1))

    def improve_critic(self, loss):
        self.for_critic.zero_grad()
        loss.backward()
        self.for_critic.step()

    def improve_actor(self, loss):
        self.for_actor.zero_grad()
        loss.backward()
        self.for_actor.step()


agent = Agent(states=3, actions=2)
states, actions, returns = torch.randn(16, 3), torch.randn(16, 2), torch.randn(16, 1)

critic_loss = nn.functional.mse_loss(agent.value(states, actions), returns)
actor_loss = -agent.value(states, agent.actor(states)).mean()

agent.improve_critic(critic_loss)
agent.improve_actor(actor_loss)
print("critic", critic_loss.item(), "actor", actor_loss.item())
