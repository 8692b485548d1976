import minitorch as torch

x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=torch.float64)
w = torch.tensor([[0.5, -0.25]], dtype=torch.float64, requires_grad=True)

loss = (w @ x).tanh().square().mean()
loss.backward()
print(loss, w.grad, sep="\n")

print(torch.autograd.Tape(loss))  # what the forward pass recorded
print(torch.autograd.gradcheck(lambda w: (w @ x).tanh(), w))  # against finite differences
