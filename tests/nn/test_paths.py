"""Where PyTorch's layers are: programs import them, and what they are made of, from the files' own paths."""

from __future__ import annotations

import importlib

import pytest

from backend import torch

nn = torch.nn
PATHS = {
    "activation": "ReLU GELU Softmax", "batchnorm": "BatchNorm1d BatchNorm2d SyncBatchNorm _BatchNorm _NormBase",
    "channelshuffle": "ChannelShuffle", "container": "Sequential ModuleList", "conv": "Conv1d Conv2d ConvTranspose2d",
    "distance": "CosineSimilarity PairwiseDistance", "dropout": "Dropout", "flatten": "Flatten Unflatten",
    "fold": "Fold Unfold", "instancenorm": "InstanceNorm2d _InstanceNorm", "linear": "Linear Bilinear Identity",
    "loss": "CrossEntropyLoss MSELoss _Loss _WeightedLoss", "module": "Module", "padding": "ZeroPad2d",
    "normalization": "LayerNorm GroupNorm RMSNorm LocalResponseNorm CrossMapLRN2d", "pooling": "MaxPool2d AvgPool2d",
    "pixelshuffle": "PixelShuffle PixelUnshuffle", "rnn": "RNN LSTM GRU LSTMCell RNNBase", "sparse": "Embedding",
    "transformer": "TransformerEncoder TransformerEncoderLayer", "upsampling": "Upsample UpsamplingNearest2d",
}  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
def test_layers_are_at_pytorchs_paths(path: str) -> None:
    module = importlib.import_module(f"{torch.__name__}.nn.modules.{path}")
    for name in PATHS[path].split():
        found = getattr(module, name)
        assert found.__name__ == name
        if not name.startswith("_"):
            assert found is getattr(nn, name) is getattr(nn.modules, name)


def test_what_is_no_layer_is_no_name() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Linaer'"):
        _ = nn.modules.Linaer


def test_numbers_for_each_dimension() -> None:
    utils = importlib.import_module(f"{torch.__name__}.nn.modules.utils")
    assert utils._single(3) == (3,)
    assert utils._pair(3) == (3, 3)
    assert utils._pair([1, 2]) == (1, 2)
    assert utils._triple((1, 2, 3)) == (1, 2, 3)
    assert utils._quadruple(0) == (0, 0, 0, 0)
    assert utils._ntuple(5)("a") == ("a",)
