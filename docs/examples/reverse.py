"""A Transformer, encoder and decoder, learns to write a number backwards.

    python docs/examples/reverse.py

Numbers have different lengths: a mask keeps attention off their padding, and another keeps the decoder from looking at the
digits that it is to write.
"""

from __future__ import annotations

import argparse

import minitorch as torch
from minitorch import nn
from minitorch.nn.utils.rnn import pad_sequence

try:
    from tqdm import trange
except ImportError:  # the loop runs without a progress bar
    trange = range

START, PAD = 10, 11
"""Beside the digits: what stands before the first one, and what fills up the shorter numbers."""


class Reverser(nn.Module):
    def __init__(self, width: int, longest: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(12, width, padding_idx=PAD)
        self.places = nn.Embedding(longest + 1, width)
        self.transformer = nn.Transformer(
            width,
            nhead=4,
            num_encoder_layers=1,
            num_decoder_layers=1,
            dim_feedforward=64,
            dropout=0.0,
            batch_first=True,
        )
        self.score = nn.Linear(width, 10)

    def place(self, digits: torch.Tensor) -> torch.Tensor:
        return self.embed(digits) + self.places(torch.arange(digits.shape[1]))

    def forward(self, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        padded = source == PAD
        ahead = nn.Transformer.generate_square_subsequent_mask(target.shape[1]).isinf()
        hidden = self.transformer(
            self.place(source),
            self.place(target),
            tgt_mask=ahead,
            src_key_padding_mask=padded,
            memory_key_padding_mask=padded,
        )
        return self.score(hidden)


def make_batch(count: int, longest: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Numbers and their mirror images, padded, one a row."""
    lengths = torch.randint(1, longest + 1, (count,)).tolist()
    numbers = [torch.randint(10, (length,)) for length in lengths]
    mirrored = [number.flip(0) for number in numbers]
    return tuple(pad_sequence(batch, batch_first=True, padding_value=PAD) for batch in (numbers, mirrored))


def shift(target: torch.Tensor) -> torch.Tensor:
    """What the decoder has written when it is about to write *target*."""
    return torch.cat([torch.full((len(target), 1), START), target[:, :-1]], dim=1)


def main(steps: int = 400, width: int = 32, longest: int = 6, batch: int = 32, seed: int = 0) -> list[float]:
    torch.manual_seed(seed)
    model = Reverser(width, longest)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, amsgrad=True)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=20)
    criterion = nn.CrossEntropyLoss(ignore_index=PAD)
    losses = []
    for _ in trange(steps):
        source, target = make_batch(batch, longest)
        loss = criterion(model(source, shift(target)).transpose(1, 2), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step(loss.item())
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        source, target = make_batch(200, longest)
        guessed = model(source, shift(target)).argmax(-1)
        right = ((guessed == target) | (target == PAD)).all(1).sum().item()
    print(
        f"loss {losses[0]:.3f} -> {losses[-1]:.3f}; {right / 2:.0f}% of 200 numbers written backwards without a mistake"
    )
    return losses


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="A Transformer learns to write numbers backwards.")
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    main(**vars(parser.parse_args()))
