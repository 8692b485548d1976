"""A detector with two heads on one trunk: where is it, and what is it?"""

import minitorch as torch
import minitorch.nn as nn
import minitorch.nn.functional as F

torch.manual_seed(0)


class Detector(nn.Module):
    def __init__(self, inputs, classes):
        super().__init__()
        self.trunk = nn.Linear(inputs, 24)
        self.box = nn.Linear(24, 4)
        self.label = nn.Linear(24, classes)

    def forward(self, x):
        hidden = F.relu(self.trunk(x))
        return self.box(hidden), self.label(hidden)


scenes = torch.randn(32, 10)
boxes, labels = torch.rand(32, 4), torch.randint(0, 5, (32,))

detector = Detector(10, 5)
optimizer = torch.optim.Adam(detector.parameters(), lr=1e-2)
for epoch in range(4):
    predicted_boxes, logits = detector(scenes)
    box_loss = F.smooth_l1_loss(predicted_boxes, boxes)
    label_loss = F.cross_entropy(logits, labels)
    total_loss = box_loss + 0.5 * label_loss

    optimizer.zero_grad()
    box_loss.backward()
    optimizer.step()
    print(f"{epoch}: total {total_loss.item():.4f}  box {box_loss.item():.4f}  label {label_loss.item():.4f}")

for name, parameter in detector.named_parameters():
    print(f"{name:13}", "no gradient" if parameter.grad is None else "ok")
