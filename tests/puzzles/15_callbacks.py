"""A training loop with callbacks."""

import minitorch as torch
from minitorch import nn

torch.manual_seed(0)


class Callback:
    def after_loss(self, trainer): ...

    def after_backward(self, trainer): ...

    def after_step(self, trainer): ...


class History(Callback):
    def __init__(self):
        self.losses = []

    def after_loss(self, trainer):
        self.losses.append(trainer.loss.item())


class CleanGradients(Callback):
    def after_backward(self, trainer):
        trainer.optimizer.zero_grad()


class Trainer:
    def __init__(self, model, optimizer, callbacks):
        self.model, self.optimizer, self.callbacks = model, optimizer, callbacks

    def tell(self, event):
        for callback in self.callbacks:
            getattr(callback, event)(self)

    def fit(self, inputs, targets, epochs):
        for _ in range(epochs):
            self.loss = nn.functional.mse_loss(self.model(inputs), targets)
            self.tell("after_loss")
            self.loss.backward()
            self.tell("after_backward")
            self.optimizer.step()
            self.tell("after_step")


inputs = torch.randn(30, 4)
targets = inputs.sum(dim=1, keepdim=True)
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
history = History()
trainer = Trainer(model, torch.optim.SGD(model.parameters(), lr=0.1), [history, CleanGradients()])
trainer.fit(inputs, targets, epochs=5)
print("losses", history.losses)
print("first layer", model[0].weight.grad)
