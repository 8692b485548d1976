"""Layers are where code written for PyTorch imports them from."""

from __future__ import annotations

import importlib
import inspect

import pytest

from backend import torch

nn = torch.nn

ELSEWHERE = {
    "batchnorm": "LazyBatchNorm", "instancenorm": "LazyInstanceNorm", "conv": "LazyConv", "linear": "LazyLinear",
    "normalization": "CrossMapLRN2d LocalResponseNorm",
    "loss": "CTCLoss Multi SoftMarginLoss TripletMarginWithDistanceLoss LinearCrossEntropyLoss",
    "linear_cross_entropy_options": "Linear",
}  # fmt: skip
"""Layers that are in another file than PyTorch's, by its file."""


@pytest.mark.parametrize(
    "path",
    [
        "nn.modules.batchnorm._BatchNorm", "nn.modules.batchnorm._NormBase", "nn.modules.batchnorm.BatchNorm2d",
        "nn.modules.instancenorm._InstanceNorm", "nn.modules.conv._ConvNd",
        "nn.modules.dropout._DropoutNd", "nn.modules.loss._Loss", "nn.modules.loss._WeightedLoss",
        "nn.modules.rnn.RNNBase", "nn.modules.upsampling.Upsample", "nn.modules.pixelshuffle.PixelShuffle",
        "nn.modules.channelshuffle.ChannelShuffle", "nn.modules.fold.Unfold", "nn.modules.utils._pair",
        "nn.modules.Linear", "nn.modules.Module", "nn.common_types._size_2_t", "optim.adamw.AdamW",
        "optim.optimizer.required", "random.fork_rng", "random.get_rng_state",
    ],
)  # fmt: skip
def test_names_are_there(path: str) -> None:
    module, _, name = path.rpartition(".")
    assert hasattr(importlib.import_module(f"{torch.__name__}.{module}"), name)


def test_layers_are_instances_of_their_families() -> None:
    assert isinstance(nn.BatchNorm2d(1), nn.modules.batchnorm._BatchNorm)
    assert not isinstance(nn.InstanceNorm2d(1), nn.modules.batchnorm._BatchNorm)
    assert isinstance(nn.AlphaDropout(), nn.modules.dropout._DropoutNd)
    assert nn.modules.Linear is nn.Linear
    with pytest.raises(AttributeError, match="has no attribute 'Linaer'"):
        _ = nn.modules.Linaer


def test_every_layer_is_in_the_file_that_pytorch_has_it_in() -> None:
    pytorch = pytest.importorskip("torch")
    for name, layer in inspect.getmembers(pytorch.nn, inspect.isclass):
        home = layer.__module__
        if not home.startswith("torch.nn.modules.") or not hasattr(nn, name):
            continue
        if name.startswith(tuple(ELSEWHERE.get(home.rpartition(".")[2], "-").split())):
            continue
        module = importlib.import_module(home.replace("torch", torch.__name__, 1))
        assert getattr(module, name) is getattr(nn, name), f"{home}.{name}"


def test_sizes_as_tuples() -> None:
    utils = nn.modules.utils
    assert utils._pair(3) == (3, 3)
    assert utils._pair([3, 4]) == (3, 4)
    assert utils._single(3) == (3,)
    assert utils._triple("ab") == ("a", "b")
    assert utils._ntuple(5)(1) == (1,) * 5
    assert utils._reverse_repeat_tuple((1, 2), 2) == (2, 2, 1, 1)
    assert utils._list_with_default((None, 5), [7, 8, 9]) == [8, 5]
    assert utils._list_with_default(4, [7]) == 4
    with pytest.raises(ValueError, match="Input dimension should be at least 3"):
        utils._list_with_default((None, 5), [7, 8])


def test_prefixes_of_state_dicts() -> None:
    state = nn.DataParallel(nn.Sequential(nn.Linear(1, 1))).state_dict()
    nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    assert list(state) == ["0.weight", "0.bias"]
    assert list(state._metadata) == ["", "0"]
    nn.Sequential(nn.Linear(1, 1)).load_state_dict(state)
