"""Learn to spell names, a letter at a time, and make up new ones.

    python docs/examples/names.py
    python docs/examples/names.py --cell GRU --steps 2000

A recurrent network reads a name and guesses at each place what comes next. Names have different lengths: they are packed,
so that no step is spent on padding. After training the network writes: each letter it draws is its own next input.
"""

from __future__ import annotations

import argparse
import string
from pathlib import Path

import minitorch as torch
from minitorch import nn
from minitorch.nn.utils.rnn import PackedSequence, pack_sequence

try:
    from tqdm import trange
except ImportError:  # the loop runs without a progress bar
    trange = range

NAMES = Path(__file__).parent / "data" / "names.txt"
ALPHABET = "." + string.ascii_lowercase
"""The dot stands before the first letter and after the last."""


class Speller(nn.Module):
    """Scores for the letter that comes next, after each letter of a name."""

    def __init__(self, cell: str, width: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(len(ALPHABET), 16)
        self.recur = getattr(nn, cell)(16, width, num_layers=2, dropout=0.1)
        self.score = nn.Linear(width, len(ALPHABET))

    def forward(self, letters: PackedSequence) -> torch.Tensor:
        hidden, _ = self.recur(letters._replace(data=self.embed(letters.data)))
        return self.score(hidden.data)


def main(steps: int = 600, cell: str = "LSTM", width: int = 96, batch: int = 32, seed: int = 0) -> list[float]:
    torch.manual_seed(seed)
    names = [torch.tensor([ALPHABET.index(c) for c in f".{name}."]) for name in NAMES.read_text().split()]
    speller = Speller(cell, width)
    optimizer = torch.optim.AdamW(speller.parameters(), lr=5e-3, weight_decay=0.01)
    criterion = nn.CrossEntropyLoss()
    losses = []
    for _ in trange(steps):
        chosen = [names[i] for i in torch.randint(len(names), (batch,)).tolist()]
        chosen.sort(key=len, reverse=True)
        letters = pack_sequence([name[:-1] for name in chosen])
        following = pack_sequence([name[1:] for name in chosen])
        loss = criterion(speller(letters), following.data)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(speller.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    print(f"loss {losses[0]:.3f} -> {losses[-1]:.3f}; names made up:", ", ".join(spell(speller) for _ in range(12)))
    return losses


@torch.no_grad()
def spell(speller: Speller, longest: int = 15) -> str:
    """Draw a name from the network."""
    speller.eval()
    name, state = "", None
    letter = torch.tensor([[0]])
    while len(name) < longest:
        hidden, state = speller.recur(speller.embed(letter), state)
        letter = torch.multinomial(speller.score(hidden[0]).softmax(-1), 1)
        if letter.item() == 0:
            break
        name += ALPHABET[letter.item()]
    return name.capitalize()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Learn to spell names.")
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--cell", choices=["RNN", "LSTM", "GRU"], default="LSTM")
    parser.add_argument("--seed", type=int, default=0)
    main(**vars(parser.parse_args()))
