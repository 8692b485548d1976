"""An error about a shape says which layer it was, what it expects, what it got, and what to do."""

from __future__ import annotations

from typing import Any

import pytest

import minitorch as torch
from minitorch import nn, ones, rand, zeros

LONG = torch.int64

CASES: list[tuple[Any, tuple[Any, ...], str]] = [
    (
        nn.Linear(10, 5),
        (ones(3, 8),),
        "Linear(10, 5) expects last dimension 10 and got (3, 8): reshape the input, or make it Linear(8, 5)",
    ),
    (
        nn.Linear(10, 5, bias=False),
        (ones(8),),
        "Linear(10, 5) expects last dimension 10 and got (8,): reshape the input, or make it Linear(8, 5)",
    ),
    (
        nn.Bilinear(3, 4, 2),
        (ones(5, 3), ones(5, 5)),
        "(*, 3) and (*, 4), alike but for the last dimension, and got (5, 3) and (5, 5): reshape",
    ),
    (nn.Bilinear(3, 4, 2), (ones(5, 3), ones(6, 4)), "and got (5, 3) and (6, 4): reshape or expand them"),
    (
        nn.Conv1d(4, 6, 3),
        (ones(2, 5, 9),),
        "Conv1d(4, 6, (3,)) expects 4 channels in dimension 1 and got (2, 5, 9): make the layer with in_channels=5",
    ),
    (
        nn.Conv2d(3, 6, 3),
        (ones(2, 9, 9, 3),),
        "expects 3 channels in dimension 1 and got (2, 9, 9, 3): move the channels, which come last, with .movedim(-1, 1)",
    ),
    (
        nn.Conv2d(3, 6, 3),
        (ones(4, 9, 9),),
        "expects 3 channels in dimension 0 and got (4, 9, 9): make the layer with in_channels=4",
    ),
    (
        nn.Conv2d(4, 6, 3),
        (ones(9, 9),),
        "expects an input of shape (N, 4, H, W) or (4, H, W) and got (9, 9): reshape or unsqueeze it",
    ),
    (
        nn.Conv2d(4, 6, 3, dilation=2),
        (ones(4, 4, 9),),
        "covers (5, 5) elements and got (4, 4, 9), which is (4, 9) with its padding: use a larger input",
    ),
    (nn.Conv3d(4, 6, 1), (ones(1, 2, 3, 3, 3),), "expects 4 channels in dimension 1 and got (1, 2, 3, 3, 3)"),
    (
        nn.ConvTranspose1d(4, 6, 3),
        (ones(2, 5, 9),),
        "ConvTranspose1d(4, 6, (3,)) expects 4 channels in dimension 1 and got (2, 5, 9)",
    ),
    (nn.ConvTranspose2d(4, 6, 3), (ones(9, 9),), "(N, 4, H, W) or (4, H, W) and got (9, 9): reshape or unsqueeze it"),
    (nn.ConvTranspose3d(4, 6, 3), (ones(2, 3, 3, 3, 3),), "expects 4 channels in dimension 1 and got (2, 3, 3, 3, 3)"),
    (
        nn.BatchNorm1d(3),
        (ones(2, 4),),
        "BatchNorm1d(3) expects 3 channels in dimension 1 and got (2, 4): make the layer with num_features=4",
    ),
    (nn.BatchNorm2d(3), (ones(2, 3),), "BatchNorm2d(3) expects 4 dimensions and got (2, 3): reshape it"),
    (
        nn.BatchNorm2d(3),
        (ones(1, 3, 1, 1),),
        "needs more than one value for each channel in training and got (1, 3, 1, 1): use larger batches, or eval()",
    ),
    (nn.BatchNorm3d(3), (ones(1, 4, 2, 2, 2),), "expects 3 channels in dimension 1 and got (1, 4, 2, 2, 2)"),
    (nn.InstanceNorm1d(3, affine=True), (ones(4, 2),), "expects 3 channels in dimension 0 and got (4, 2)"),
    (
        nn.LayerNorm(4),
        (ones(2, 3),),
        "expects last dimensions (4,) and got (2, 3): reshape or permute the input, or make the layer with normalized_shape=3",
    ),
    (nn.LayerNorm((3, 4)), (ones(4),), "expects last dimensions (3, 4) and got (4,)"),
    (
        nn.GroupNorm(2, 4),
        (ones(2, 6, 3),),
        "GroupNorm(2, 4) expects 4 channels in dimension 1 and got (2, 6, 3): make the layer with num_channels=6",
    ),
    (nn.GroupNorm(2, 4), (ones(4),), "expects an input of shape (N, 4, *) and got (4,): unsqueeze it"),
    (nn.RMSNorm(4), (ones(2, 3),), "RMSNorm((4,)) expects last dimensions (4,) and got (2, 3): reshape"),
    (
        nn.Embedding(6, 3),
        (torch.tensor([1, 7]),),
        "from 0 to 5 and got some from 1 to 7: map them to that range, or make the layer with num_embeddings=8",
    ),
    (
        nn.Embedding(6, 3),
        (ones(2),),
        "expects indices of int64 or int32 and got torch.float32: convert them with .long()",
    ),
    (
        nn.EmbeddingBag(6, 3),
        (torch.tensor([[1, -1]]),),
        "EmbeddingBag(6, 3) expects indices from 0 to 5 and got some from -1 to 1",
    ),
    (
        nn.RNN(3, 4),
        (ones(5, 2, 7),),
        "expects last dimension 3, of (L, N, 3), and got (5, 2, 7): permute the input, or make the layer with input_size=7",
    ),
    (
        nn.GRU(3, 4, batch_first=True),
        (ones(5, 2, 7, 1),),
        "GRU(3, 4) expects an input of shape (N, L, 3) or (L, 3) and got (5, 2, 7, 1): reshape it",
    ),
    (
        nn.LSTM(3, 4),
        (ones(5, 2, 3), (zeros(1, 3, 4), zeros(1, 3, 4))),
        "of shape (1, 2, 4) and c_0 of shape (1, 2, 4) and got (1, 3, 4) and (1, 3, 4): give such states, or none",
    ),
    (nn.GRU(3, 4, 2, bidirectional=True), (ones(5, 3), zeros(2, 4)), "expects h_0 of shape (4, 4) and got (2, 4)"),
    (
        nn.RNNCell(3, 4),
        (ones(2, 5),),
        "of shape (N, 3) or (3,), one step, and got (2, 5): reshape it, or make the layer with input_size=5",
    ),
    (nn.GRUCell(3, 4), (ones(2, 3), ones(3, 4)), "expects h of shape (2, 4) and got (3, 4)"),
    (
        nn.LSTMCell(3, 4),
        (ones(2, 3), (ones(2, 5), ones(2, 4))),
        "expects h of shape (2, 4) and c of shape (2, 4) and got (2, 5) and (2, 4)",
    ),
    (
        nn.MultiheadAttention(8, 2),
        (ones(5, 2, 8), ones(4, 2, 6), ones(4, 2, 6)),
        "expects last dimensions (8, 8, 8) of query, key and value and got (5, 2, 8), (4, 2, 6) and (4, 2, 6): project",
    ),
    (
        nn.MultiheadAttention(8, 2),
        (ones(5, 2, 8), ones(4, 3, 8), ones(4, 3, 8)),
        "in dimension 1, as batch_first=False, and got (5, 2, 8), (4, 3, 8) and (4, 3, 8): transpose them, or set",
    ),
    (
        nn.MultiheadAttention(8, 2),
        (ones(5, 2, 8), ones(4, 2, 8), ones(3, 2, 8)),
        "expects as many keys as values and got",
    ),
    (
        nn.MultiheadAttention(8, 2),
        (ones(5, 8), ones(4, 2, 8), ones(4, 2, 8)),
        "with 3 dimensions each, or 2 without a batch, and got (5, 8), (4, 2, 8) and (4, 2, 8): unsqueeze",
    ),
    (
        nn.MultiheadAttention(8, 2),
        (*[ones(5, 2, 8)] * 3, zeros(3, 3)),
        "expects key_padding_mask of shape (2, 5), and got (3, 3): reshape or expand it",
    ),
    (
        nn.MultiheadAttention(8, 2),
        (*[ones(5, 2, 8)] * 3, None, True, zeros(3, 3)),
        "expects attn_mask of shape (5, 5) or (4, 5, 5), and got (3, 3)",
    ),
    (
        nn.MSELoss(),
        (ones(3, 2), ones(3, 4)),
        "MSELoss expects tensors of one shape and got (3, 2) and (3, 4): reshape, unsqueeze or expand one",
    ),
    (nn.L1Loss(), (ones(3), ones(4)), "L1Loss expects tensors of one shape and got (3,) and (4,)"),
    (nn.BCELoss(), (rand(3, 1), rand(3)), "BCELoss expects tensors of one shape and got (3, 1) and (3,)"),
    (
        nn.BCEWithLogitsLoss(pos_weight=ones(5)),
        (ones(3, 2), ones(3, 2)),
        "expects a pos_weight that broadcasts to (3, 2) and got (5,)",
    ),
    (
        nn.NLLLoss(),
        (ones(3, 5), zeros(4, dtype=LONG)),
        "for scores of shape (3, 5) with 5 classes, a target of shape (3,) and got (4,): reshape the target",
    ),
    (
        nn.CrossEntropyLoss(),
        (ones(3, 5), zeros(3, 1, dtype=LONG)),
        "a target of shape (3,) and got (3, 1): use target.squeeze(1)",
    ),
    (
        nn.CrossEntropyLoss(),
        (ones(3, 5), zeros(3, 5, dtype=LONG)),
        "need .float(); classes have shape (3,), as target.argmax(1) gives them",
    ),
    (
        nn.CrossEntropyLoss(),
        (ones(3, 5), zeros(3)),
        "expects classes of int64 and got torch.float32: convert the target with .long()",
    ),
    (
        nn.CrossEntropyLoss(),
        (ones(3, 5), torch.tensor([1, 2, 7])),
        "expects classes from 0 to 4 and got some from 1 to 7: shift them, give the scores 8 classes, or set ignore_index",
    ),
    (
        nn.CrossEntropyLoss(ones(4)),
        (ones(3, 5), zeros(3, dtype=LONG)),
        "expects a weight of shape (5,), one for each class and got (4,): give such a one",
    ),
    (
        nn.CosineEmbeddingLoss(),
        (ones(3, 4), ones(3, 4), ones(4)),
        "and a target of shape (N,), or (D,) and (), and got (3, 4), (3, 4) and (4,)",
    ),
    (
        nn.TripletMarginLoss(),
        (ones(3, 4), ones(3, 4), ones(3, 5)),
        "expects tensors of one shape and got (3, 4) and (3, 4) and (3, 5)",
    ),
    (nn.MultiMarginLoss(), (ones(3, 4), zeros(4, dtype=LONG)), "a target of shape (3,) and got (4,)"),
]


@pytest.mark.filterwarnings("ignore:Using a target size")
@pytest.mark.parametrize(("layer", "arguments", "note"), CASES, ids=[case[2][:60] for case in CASES])
def test_layer(layer: Any, arguments: Any, note: str) -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.blocks = nn.ModuleList([nn.Identity(), layer])

        def forward(self, *given: Any) -> Any:
            return self.blocks[1](*given)

    with pytest.raises((RuntimeError, ValueError, IndexError, AssertionError)) as caught:
        Model()(*arguments)
    where, what = caught.value.__notes__
    assert where.startswith(f"(raised by the module at 'blocks.1' of Model: {type(layer).__name__}(")
    assert note in what
    assert what.startswith(type(layer).__name__)


def test_other_errors_get_no_such_note() -> None:
    with pytest.raises(RuntimeError, match="same dtype") as caught:
        nn.Linear(2, 3)(ones(2, 2, dtype=torch.float64))
    assert len(caught.value.__notes__) == 1


def test_a_layer_that_cannot_say_does_not_hide_the_error() -> None:
    class Own(nn.Linear):
        def forward(self, one: Any, two: Any) -> Any:
            return super().forward(one)

    with pytest.raises(RuntimeError, match="cannot be multiplied") as caught:
        Own(2, 3)(ones(5), None)
    assert len(caught.value.__notes__) == 1
