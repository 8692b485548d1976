"""Draws the pictures of the page looking-at-the-tape.md: python docs/tutorials/draw.py"""

from pathlib import Path

from network import make_loss

import minitorch as torch
from minitorch import nn
from minitorch.autograd import Tape, record_sites


def pictures():
    """The pictures by name."""
    x = torch.tensor([0.5, 1.0, 2.0], requires_grad=True)
    w = torch.tensor([1.0, -1.0, 0.5], requires_grad=True)
    y = (x * w).exp()
    small = Tape((y / y.sum() - x).square().mean(), params={"x": x, "w": w})
    with record_sites():
        network = Tape(make_loss())
        layers = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True), 6)
        transformer = Tape(layers(torch.ones(3, 1, 8)).mean())
    return {
        "small": small.to_svg(),
        "network": network.to_svg(fold="blocks.1"),
        "transformer": transformer.to_svg(nodes=45),
    }


if __name__ == "__main__":
    for name, text in pictures().items():
        (Path(__file__).parent / "img" / f"{name}.svg").write_text(text, encoding="utf-8")
