"""Which pixels speak for the predicted class?"""

import minitorch as torch
import minitorch.nn as nn

torch.manual_seed(0)


def make_classifier():
    return nn.Sequential(nn.Flatten(), nn.Linear(16, 10), nn.ReLU(), nn.Linear(10, 4))


def saliency(model, image):
    """Gradient of the best score with respect to the image."""
    model.eval()
    scores = model(image)
    best = scores.max(dim=1).values
    image.requires_grad_()
    best.sum().backward()
    return image.grad


classifier = make_classifier()
image = torch.rand(1, 4, 4)
heat = saliency(classifier, image)

print("requires grad:", image.requires_grad)
if heat is None:
    print("no heat map")
else:
    print(heat.abs().squeeze(0))
