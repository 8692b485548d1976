"""A small GPT learns four sonnets by Shakespeare, a character at a time, and goes on writing.

    python docs/examples/gpt.py
    python docs/examples/gpt.py --steps 1000 --layers 4

The model is the usual one: embeddings of characters and places, blocks of causal attention and a feed-forward network,
each normalised before and added after, and a last layer that shares its weights with the embedding.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import minitorch as torch
import minitorch.nn.functional as F
from minitorch import nn

try:
    from tqdm import trange
except ImportError:  # the loop runs without a progress bar
    trange = range

SONNETS = Path(__file__).parent / "data" / "sonnets.txt"


class Attention(nn.Module):
    """Every place looks at itself and at what stands before it, with several heads."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.project = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        query, key, value = (
            part.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
            for part in self.project(x).split(width, dim=2)
        )
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.attention = nn.Sequential(nn.LayerNorm(width), Attention(width, heads), nn.Dropout(dropout))
        self.feed = nn.Sequential(
            nn.LayerNorm(width),
            nn.Linear(width, 4 * width),
            nn.GELU(),
            nn.Linear(4 * width, width),
            nn.Dropout(dropout),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(x)
        return x + self.feed(x)


class GPT(nn.Module):
    """Scores for the character that comes next, at each place of a batch of texts."""

    def __init__(self, vocabulary: int, length: int, width: int, layers: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.length = length
        self.embed = nn.Embedding(vocabulary, width)
        self.places = nn.Embedding(length, width)
        self.blocks = nn.Sequential(*(Block(width, heads, dropout) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)
        self.score = nn.Linear(width, vocabulary, bias=False)
        self.apply(self.start_small)
        self.score.weight = self.embed.weight

    @staticmethod
    def start_small(module: nn.Module) -> None:
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def forward(self, characters: torch.Tensor) -> torch.Tensor:
        x = self.embed(characters) + self.places(torch.arange(characters.shape[1]))
        return self.score(self.norm(self.blocks(x)))


def main(
    steps: int = 300, layers: int = 2, width: int = 64, heads: int = 4, length: int = 64, batch: int = 16, seed: int = 0
) -> list[float]:
    torch.manual_seed(seed)
    text = SONNETS.read_text()
    vocabulary = sorted(set(text))
    characters = torch.tensor([vocabulary.index(c) for c in text])

    model = GPT(len(vocabulary), length, width, layers, heads, dropout=0.1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.95), weight_decay=0.1)
    warmup = torch.optim.lr_scheduler.LinearLR(optimizer, 0.1, total_iters=20)
    cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=steps)
    scheduler = torch.optim.lr_scheduler.SequentialLR(optimizer, [warmup, cosine], milestones=[20])
    losses = []
    for _ in trange(steps):
        starts = torch.randint(len(characters) - length - 1, (batch,))
        windows = torch.stack([characters[i : i + length + 1] for i in starts.tolist()])
        scores = model(windows[:, :-1])
        loss = F.cross_entropy(scores.flatten(0, 1), windows[:, 1:].flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
    print(f"loss {losses[0]:.3f} -> {losses[-1]:.3f}")
    print("".join(vocabulary[i] for i in write(model, characters[:20], 200)))
    return losses


@torch.no_grad()
def write(model: GPT, characters: torch.Tensor, count: int) -> list[int]:
    """Go on from some characters with *count* others, each drawn from the model."""
    model.eval()
    for _ in range(count):
        scores = model(characters[-model.length :].unsqueeze(0))[0, -1]
        drawn = torch.multinomial((scores / 0.8).softmax(-1), 1)
        characters = torch.cat([characters, drawn])
    return characters.tolist()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="A small GPT learns four sonnets.")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    main(**vars(parser.parse_args()))
