"""The names that scripts use: counted over 1331 public single-process PyTorch programs, each is used by at least three.

What is left out on purpose is listed too, with its reason.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any

import pytest

import minitorch as torch

NAMES = [
    "nn.Module",
    "nn.Linear",
    "nn.Sequential",
    "nn.ReLU",
    "nn.Conv2d",
    "nn.Parameter",
    "nn.Dropout",
    "nn.CrossEntropyLoss",
    "nn.Embedding",
    "nn.ModuleList",
    "nn.MaxPool2d",
    "nn.LayerNorm",
    "nn.BatchNorm2d",
    "nn.GELU",
    "nn.Tanh",
    "nn.Identity",
    "nn.MSELoss",
    "nn.Softmax",
    "nn.LeakyReLU",
    "nn.Sigmoid",
    "nn.Flatten",
    "nn.LSTM",
    "nn.AvgPool2d",
    "nn.BatchNorm1d",
    "nn.ConvTranspose2d",
    "nn.LazyLinear",
    "nn.BCELoss",
    "nn.GRU",
    "nn.RNN",
    "nn.Upsample",
    "nn.L1Loss",
    "nn.BCEWithLogitsLoss",
    "nn.AdaptiveAvgPool2d",
    "nn.NLLLoss",
    "nn.Dropout2d",
    "nn.SiLU",
    "nn.ELU",
    "nn.LazyConv2d",
    "nn.Conv1d",
    "nn.InstanceNorm2d",
    "nn.LogSoftmax",
    "nn.ParameterList",
    "nn.GroupNorm",
    "nn.LazyBatchNorm2d",
    "nn.ModuleDict",
    "nn.PReLU",
    "nn.RMSNorm",
    "nn.ReflectionPad2d",
    "nn.Softplus",
    "nn.Conv3d",
    "nn.LSTMCell",
    "nn.PixelShuffle",
    "nn.TransformerEncoderLayer",
    "nn.ZeroPad2d",
    "nn.MultiheadAttention",
    "nn.TransformerEncoder",
    "nn.DataParallel",
    "nn.attention.sdpa_kernel",
    "nn.functional.relu",
    "nn.functional.softmax",
    "nn.functional.cross_entropy",
    "nn.functional.log_softmax",
    "nn.functional.mse_loss",
    "nn.functional.pad",
    "nn.functional.silu",
    "nn.functional.max_pool2d",
    "nn.functional.avg_pool2d",
    "nn.functional.normalize",
    "nn.functional.linear",
    "nn.functional.leaky_relu",
    "nn.functional.scaled_dot_product_attention",
    "nn.functional.interpolate",
    "nn.functional.conv2d",
    "nn.functional.binary_cross_entropy",
    "nn.functional.dropout",
    "nn.functional.sigmoid",
    "nn.functional.smooth_l1_loss",
    "nn.functional.binary_cross_entropy_with_logits",
    "nn.functional.nll_loss",
    "nn.functional.tanh",
    "nn.functional.gelu",
    "nn.functional.one_hot",
    "nn.functional.softplus",
    "nn.functional.batch_norm",
    "nn.functional.adaptive_avg_pool2d",
    "nn.functional.conv1d",
    "nn.functional.elu",
    "nn.functional.l1_loss",
    "nn.functional.layer_norm",
    "nn.init.constant_",
    "nn.init.normal_",
    "nn.init.kaiming_uniform_",
    "nn.init.orthogonal_",
    "nn.init.xavier_uniform_",
    "nn.init.zeros_",
    "nn.init.kaiming_normal_",
    "nn.init.uniform_",
    "nn.init.xavier_normal_",
    "nn.init.trunc_normal_",
    "nn.utils.clip_grad_norm_",
    "nn.utils.rnn.pack_padded_sequence",
    "nn.utils.rnn.pad_sequence",
    "nn.utils.clip_grad_norm",
    "nn.utils.rnn.pad_packed_sequence",
    "optim.Adam",
    "optim.SGD",
    "optim.AdamW",
    "optim.Optimizer",
    "optim.RMSprop",
    "optim.LBFGS",
    "optim.Adadelta",
    "optim.RAdam",
    "optim.lr_scheduler.StepLR",
    "optim.lr_scheduler.LambdaLR",
    "optim.lr_scheduler.ReduceLROnPlateau",
    "autograd.Variable",
    "autograd.grad",
    "autograd.Function",
    "utils.data.DataLoader",
    "utils.data.Dataset",
    "utils.data.TensorDataset",
    "utils.data.Subset",
    "utils.data.random_split",
    "utils.data.RandomSampler",
    "utils.data",
    "utils.checkpoint.checkpoint",
    "utils.data.SubsetRandomSampler",
    "utils.checkpoint.checkpoint_sequential",
    "cuda.is_available",
    "backends.cudnn.deterministic",
    "__version__",
    "cuda.manual_seed",
    "backends.mps.is_available",
    "cuda.FloatTensor",
    "cuda.max_memory_allocated",
    "cuda.manual_seed_all",
    "backends.cudnn.benchmark",
    "cuda.synchronize",
    "accelerator.current_accelerator",
    "cuda.reset_peak_memory_stats",
    "accelerator.is_available",
    "amp.autocast",
    "cuda.device_count",
    "compile",
    "cuda.LongTensor",
    "cuda.empty_cache",
    "cuda.amp.autocast",
    "cuda.memory_allocated",
    "backends.cuda.matmul",
    "hub.load",
    "cuda.Event",
    "cuda.current_device",
    "cuda.get_device_name",
    "cuda.get_device_properties",
    "cuda.set_device",
]

RARE = [
    "autograd.gradcheck",
    "autograd.graph.save_on_cpu",
    "autograd.profiler.record_function",
    "distributions.ContinuousBernoulli",
    "distributions.MixtureSameFamily",
    "distributions.MultivariateNormal",
    "distributions.binomial.Binomial",
    "nn.GRUCell",
    "nn.HuberLoss",
    "nn.KLDivLoss",
    "nn.Transformer",
    "nn.functional.affine_grid",
    "nn.functional.upsample_nearest",
    "nn.init.calculate_gain",
    "nn.utils.parametrize.cached",
    "nn.utils.prune.global_unstructured",
    "optim.Adagrad",
    "optim.Adamax",
    "optim.NAdam",
    "optim.lr_scheduler.CosineAnnealingWarmRestarts",
    "utils._pytree.tree_flatten",
    "utils._pytree.tree_map",
    "utils._pytree.tree_unflatten",
    "utils.data.DistributedSampler",
    "utils.data.WeightedRandomSampler",
    "utils.data.default_collate",
]
"""Some of the names that one or two programs use."""

DISTRIBUTIONS = ["Categorical", "Normal", "kl_divergence"]

ATTRIBUTES = {
    "Module": "parameters to zero_grad eval train training state_dict load_state_dict apply register_buffer forward "
    "named_parameters modules add_module children buffers named_modules register_forward_hook named_children "
    "register_parameter type float double half cuda cpu requires_grad_",
    "Linear": "weight bias in_features out_features reset_parameters",
    "Conv2d": "kernel_size out_channels in_channels groups dilation padding stride",
    "BatchNorm2d": "eps momentum running_mean running_var num_features",
    "LSTM": "hidden_size input_size num_layers dropout batch_first bidirectional flatten_parameters",
    "ModuleList": "append extend insert pop",
    "ModuleDict": "update items values keys pop clear",
    "Sequential": "append extend insert pop",
    "Optimizer": "step zero_grad state_dict load_state_dict param_groups state defaults add_param_group",
    "LRScheduler": "step state_dict load_state_dict optimizer gamma get_lr get_last_lr",
    "DataLoader": "batch_size dataset generator num_workers sampler",
    "Generator": "seed manual_seed initial_seed",
    "Node": "name next_functions register_hook",
    "Function ctx": "saved_tensors save_for_backward",
    "Distribution": "mean loc scale sample log_prob entropy rsample",
    "Categorical": "logits probs",
}

ABSENT = {
    "distributed": "computation is in one process",
    "nn.parallel.scatter": "there is one device, so nothing is spread over several",
    "nn.parallel.DistributedDataParallel": "computation is in one process",
    "fx": "no symbolic traces of Python code: static.trace records the operations of a run, autograd.Tape lists them",
    "utils.tensorboard": "PyTorch's own code for TensorBoard",
    "view_as_complex": "there are no complex numbers",
    "view_as_real": "there are no complex numbers",
    "polar": "there are no complex numbers",
    "spmm": "tensors are dense; sparse_coo_tensor(...).to_dense() makes them so",
    "nn.attention.flex_attention": "functions of scores are not compiled; scaled_dot_product_attention takes a mask",
    "nn.Container": "PyTorch has deprecated it: ModuleList and ModuleDict took its place",
    "nn.qat": "computation is in floating point",
    "nn.quantized": "computation is in floating point",
    "nn.utils.fuse_conv_bn_eval": "it prepares a trained network for other programs that run it",
    "optim.SparseAdam": "gradients are dense; Adam updates them",
    "utils.data.IterDataPipe": "PyTorch has deprecated pipes; an IterableDataset does the same",
    "utils.swap_tensors": "a tensor's memory and history stay its own",
    "_amp_foreach_non_finite_check_and_unscale_": "losses are not scaled",
}
"""What programs use that is left out on purpose."""


def found(path: str) -> Any:
    return functools.reduce(getattr, path.split("."), torch)


@pytest.mark.parametrize("name", NAMES + RARE)
def test_the_name_exists(name: str) -> None:
    assert found(name) is not None


def test_distributions_exist() -> None:
    distributions = pytest.importorskip("minitorch.distributions")
    missing = [name for name in DISTRIBUTIONS if not hasattr(distributions, name)]
    assert not missing


def of_kind(kind: str) -> Any:
    """An object of each kind whose attributes are listed."""
    nn = torch.nn
    layer = nn.Linear(2, 2)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    match kind:
        case "Module" | "Linear":
            return layer
        case "Conv2d":
            return nn.Conv2d(1, 1, 1)
        case "BatchNorm2d":
            return nn.BatchNorm2d(1)
        case "LSTM":
            return nn.LSTM(1, 1)
        case "ModuleList" | "ModuleDict" | "Sequential":
            return getattr(nn, kind)()
        case "Optimizer":
            return optimizer
        case "LRScheduler":
            return torch.optim.lr_scheduler.StepLR(optimizer, 1)
        case "DataLoader":
            return torch.utils.data.DataLoader([1, 2])
        case "Generator":
            return torch.Generator()
        case "Node":
            return (torch.ones(1, requires_grad=True) * 2).grad_fn
        case "Function ctx":
            return context_of_a_function()
    distributions = pytest.importorskip("minitorch.distributions")
    if kind == "Categorical":
        return distributions.Categorical(torch.tensor([0.5, 0.5]))
    return distributions.Normal(0.0, 1.0)


def context_of_a_function() -> Any:
    contexts = []

    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            contexts.append(ctx)
            return 2 * x

    Doubled.apply(torch.ones(1, requires_grad=True))
    return contexts[0]


@pytest.mark.parametrize("kind", ATTRIBUTES)
def test_the_attributes_exist(kind: str) -> None:
    thing = of_kind(kind)
    missing = [name for name in ATTRIBUTES[kind].split() if not hasattr(thing, name)]
    assert not missing, f"{kind} has no {missing}"


@pytest.mark.parametrize("name", ABSENT)
def test_what_is_left_out_is_not_there(name: str) -> None:
    """Once it is, it belongs to NAMES."""
    with pytest.raises(AttributeError):
        found(name)
    with pytest.raises(ImportError):
        importlib.import_module(f"minitorch.{name}")
