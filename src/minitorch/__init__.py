"""minitorch: a tape-based automatic differentiation engine over NumPy, with PyTorch's names."""

import importlib as _importlib
import typing as _typing
from math import e, inf, nan, pi

from . import _loading as _loading  # before all others, which it imports
from . import autograd, cuda, functional, linalg, random, testing, types, version
from ._allocator import keep_freed_memory as _keep_freed_memory
from ._anomaly import is_anomaly_check_nan_enabled, is_anomaly_enabled
from ._anomaly import switch_anomaly as set_anomaly_enabled
from ._autograd_methods import is_inference
from ._casts import complex, typename
from ._convert import (
    get_device,
    imag,
    is_complex,
    is_floating_point,
    is_nonzero,
    is_same_size,
    is_signed,
    is_tensor,
    numel,
)
from ._convert import itself as real
from ._convert import never as is_conj
from ._device import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    device,
    get_default_device,
    layout,
    memory_format,
    preserve_format,
    set_default_device,
    sparse_coo,
    strided,
)
from ._dtypes import (
    bfloat16,
    bool,
    cdouble,
    cfloat,
    complex32,
    complex64,
    complex128,
    double,
    dtype,
    float,
    float16,
    float32,
    float64,
    get_default_dtype,
    half,
    int,
    int8,
    int16,
    int32,
    int64,
    long,
    promote_types,
    set_default_dtype,
    short,
    uint8,
    uint16,
    uint32,
    uint64,
)
from ._legacy import (
    BoolTensor,
    ByteTensor,
    CharTensor,
    DoubleTensor,
    FloatTensor,
    HalfTensor,
    IntTensor,
    LongTensor,
    ShortTensor,
    set_default_tensor_type,
)
from ._limits import can_cast, finfo, iinfo, result_type
from ._memory_methods import detach, empty_permuted, empty_strided
from ._modes import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from ._printing import set_printoptions
from ._random import Generator, default_generator, initial_seed, manual_seed, seed
from ._settings import (
    are_deterministic_algorithms_enabled,
    get_deterministic_debug_mode,
    get_float32_matmul_precision,
    get_num_interop_threads,
    get_num_threads,
    is_deterministic_algorithms_warn_only_enabled,
    is_warn_always_enabled,
    set_deterministic_debug_mode,
    set_float32_matmul_precision,
    set_flush_denormal,
    set_num_interop_threads,
    set_num_threads,
    set_warn_always,
    use_deterministic_algorithms,
)
from ._size import Size
from ._storage import is_storage
from ._tensor import Tensor
from .ops import _returns as return_types
from .ops.activation import celu, hardshrink, prelu, relu, relu_, selu, threshold
from .ops.adaptive_pool import adaptive_avg_pool1d, adaptive_max_pool1d
from .ops.arrange import (
    flip,
    fliplr,
    flipud,
    repeat_interleave,
    roll,
    rot90,
    tile,
    tril,
    tril_indices,
    triu,
    triu_indices,
)
from .ops.bessel import i0
from .ops.broadcast import broadcast_shapes, broadcast_tensors, broadcast_to
from .ops.by_number import (
    affine_grid_generator,
    alpha_dropout,
    alpha_dropout_,
    batch_norm,
    binary_cross_entropy_with_logits,
    cosine_embedding_loss,
    ctc_loss,
    dropout,
    dropout_,
    embedding,
    embedding_bag,
    feature_alpha_dropout,
    feature_alpha_dropout_,
    feature_dropout,
    feature_dropout_,
    grid_sampler,
    grid_sampler_2d,
    grid_sampler_3d,
    hinge_embedding_loss,
    instance_norm,
    kl_div,
    margin_ranking_loss,
    max_pool1d_with_indices,
    poisson_nll_loss,
    rrelu,
    triplet_margin_loss,
)
from .ops.choices import (
    clamp,
    clamp_max,
    clamp_min,
    clip,
    fmax,
    fmin,
    masked_fill,
    maximum,
    minimum,
    nan_to_num,
    where,
)
from .ops.compare import (
    allclose,
    bitwise_and,
    bitwise_left_shift,
    bitwise_not,
    bitwise_or,
    bitwise_right_shift,
    bitwise_xor,
    eq,
    equal,
    ge,
    greater,
    greater_equal,
    gt,
    isclose,
    isfinite,
    isinf,
    isnan,
    isneginf,
    isposinf,
    isreal,
    le,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    lt,
    ne,
    not_equal,
)
from .ops.conv import conv1d, conv2d, conv3d, conv_tbc, conv_transpose1d, conv_transpose2d, conv_transpose3d
from .ops.copies import clone, fill
from .ops.covariance import corrcoef, cov, cumulative_trapezoid, trapezoid, trapz
from .ops.creation import empty, empty_like, eye, full, full_like, ones, ones_like, zeros, zeros_like
from .ops.determinants import input_det as det
from .ops.determinants import input_slogdet as slogdet
from .ops.determinants import logdet
from .ops.diagonals import diag, diag_embed, diagflat, diagonal, trace
from .ops.discrete import angle, frexp, gcd, heaviside, lcm, nextafter
from .ops.distances import cdist, dist, pdist, renorm
from .ops.einsum import einsum, inner, tensordot
from .ops.elementary import (
    acos,
    acosh,
    arccos,
    arccosh,
    arcsin,
    arcsinh,
    arctan,
    arctan2,
    arctanh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    cos,
    cosh,
    exp,
    exp2,
    expm1,
    log,
    log1p,
    log2,
    log10,
    sin,
    sinh,
    tan,
    tanh,
)
from .ops.extrema import amax, amin, aminmax, argmax, argmin, max, min
from .ops.factorisations import input_cholesky as cholesky
from .ops.factorisations import input_lu as lu
from .ops.factorisations import input_lu_solve as lu_solve
from .ops.factorisations import lu_unpack
from .ops.from_data import as_tensor, asarray, from_dlpack, from_numpy, frombuffer, scalar_tensor, tensor
from .ops.gamma_normal import igamma, igammac, mvlgamma
from .ops.gather import gather, scatter, scatter_add, take_along_dim
from .ops.index import index_add, index_copy, index_fill, index_select
from .ops.join import (
    cartesian_prod,
    cat,
    chunk,
    column_stack,
    concat,
    concatenate,
    dsplit,
    dstack,
    hsplit,
    hstack,
    meshgrid,
    narrow,
    row_stack,
    split,
    split_with_sizes,
    stack,
    tensor_split,
    unbind,
    unsafe_chunk,
    unsafe_split,
    unsafe_split_with_sizes,
    vsplit,
    vstack,
)
from .ops.linalg import (
    addbmm,
    addmm,
    addmv,
    addr,
    baddbmm,
    bmm,
    chain_matmul,
    dot,
    ger,
    kron,
    matmul,
    mm,
    mv,
    outer,
    vdot,
)
from .ops.linear import bilinear
from .ops.margin_loss import cosine_similarity, pairwise_distance
from .ops.masked import argwhere, masked_scatter, masked_select, narrow_copy, nonzero, nonzero_static, put, take
from .ops.matrix_functions import matrix_exp, matrix_power, pinverse
from .ops.memory import as_strided
from .ops.noisy import rrelu_
from .ops.normalize import group_norm, layer_norm, rms_norm
from .ops.orthogonal import geqrf, orgqr, ormqr
from .ops.orthogonal import input_qr as qr
from .ops.pad import constant_pad_nd
from .ops.places import gradient, histogram, histogramdd, isin, unravel_index
from .ops.pointwise import (
    add,
    addcdiv,
    addcmul,
    div,
    divide,
    floor_divide,
    fmod,
    lerp,
    mul,
    multiply,
    neg,
    negative,
    positive,
    reciprocal,
    remainder,
    rsub,
    sub,
    subtract,
    true_divide,
)
from .ops.pool import avg_pool1d, max_pool1d, max_pool2d, max_pool3d
from .ops.powers import float_power, ldexp, pow, rsqrt, sqrt, square
from .ops.quantile import bincount, histc, nanquantile, quantile
from .ops.random import (
    bernoulli,
    get_rng_state,
    multinomial,
    normal,
    rand,
    rand_like,
    randint,
    randint_like,
    randn,
    randn_like,
    randperm,
    set_rng_state,
)
from .ops.ranges import arange, linspace, logspace, range
from .ops.recurrent import gru_cell, lstm_cell, rnn_relu_cell, rnn_tanh_cell
from .ops.recurrent_layers import gru, lstm, rnn_relu, rnn_tanh
from .ops.reduce import all, any, count_nonzero, logsumexp, mean, nanmean, nansum, prod, sum
from .ops.resample import channel_shuffle, pixel_shuffle, pixel_unshuffle
from .ops.rounding import abs, absolute, ceil, copysign, fix, floor, frac, round, sgn, sign, signbit, trunc
from .ops.sampled import binomial, poisson
from .ops.sampled import dirichlet_grad as _dirichlet_grad  # noqa: F401
from .ops.sampled import sample_dirichlet as _sample_dirichlet  # noqa: F401
from .ops.sampled import standard_gamma as _standard_gamma  # noqa: F401
from .ops.sampled import standard_gamma_grad as _standard_gamma_grad  # noqa: F401
from .ops.scan import cummax, cummin, cumprod, cumsum, diff, logcumsumexp
from .ops.scatter_reduce import index_reduce, scatter_reduce
from .ops.shape import (
    adjoint,
    atleast_1d,
    atleast_2d,
    atleast_3d,
    flatten,
    moveaxis,
    movedim,
    permute,
    ravel,
    reshape,
    squeeze,
    swapaxes,
    swapdims,
    t,
    transpose,
    unflatten,
    unsqueeze,
)
from .ops.softmax import log_softmax, softmax
from .ops.solves import cholesky_inverse, cholesky_solve, inverse, triangular_solve
from .ops.sort import (
    argsort,
    bucketize,
    kthvalue,
    msort,
    searchsorted,
    sort,
    topk,
    unique,
    unique_consecutive,
)
from .ops.special import (
    deg2rad,
    digamma,
    erf,
    erfc,
    erfinv,
    hypot,
    lgamma,
    logaddexp,
    logaddexp2,
    logit,
    polygamma,
    rad2deg,
    sigmoid,
    sinc,
    xlogy,
)
from .ops.spectra import input_svd as svd
from .ops.statistics import median, mode, nanmedian, std, std_mean, var, var_mean
from .ops.subscript import index_put, select
from .ops.vector_norm import norm
from .ops.vectors import block_diag, combinations
from .ops.vectors import input_cross as cross
from .ops.vectors import input_vander as vander
from .ops.view_copies import (
    alias_copy,
    as_strided_copy,
    detach_copy,
    diagonal_copy,
    expand_copy,
    permute_copy,
    select_copy,
    slice_copy,
    split_copy,
    split_with_sizes_copy,
    squeeze_copy,
    t_copy,
    transpose_copy,
    unbind_copy,
    unfold_copy,
    unsqueeze_copy,
    view_copy,
)
from .ops.view_scatter import as_strided_scatter, diagonal_scatter, select_scatter, slice_scatter
from .ops.windows import bartlett_window, blackman_window, hamming_window, hann_window, kaiser_window

newaxis = None
is_neg = is_distributed = is_conj
conj = conj_physical = resolve_conj = resolve_neg = real

# in-place functions: the methods themselves
abs_, acos_, acosh_, addmv_, arccos_ = Tensor.abs_, Tensor.acos_, Tensor.acosh_, Tensor.addmv_, Tensor.arccos_
arccosh_, arcsin_, arcsinh_, arctan_ = Tensor.arccosh_, Tensor.arcsin_, Tensor.arcsinh_, Tensor.arctan_
arctanh_, asin_, asinh_, atan_, atanh_ = Tensor.arctanh_, Tensor.asin_, Tensor.asinh_, Tensor.atan_, Tensor.atanh_
ceil_, clamp_, clamp_max_, clamp_min_ = Tensor.ceil_, Tensor.clamp_, Tensor.clamp_max_, Tensor.clamp_min_
clip_, cos_, cosh_, deg2rad_, detach_ = Tensor.clip_, Tensor.cos_, Tensor.cosh_, Tensor.deg2rad_, Tensor.detach_
erf_, erfc_, exp2_, exp_, expm1_ = Tensor.erf_, Tensor.erfc_, Tensor.exp2_, Tensor.exp_, Tensor.expm1_
fill_, fix_, floor_, frac_, index_put_ = Tensor.fill_, Tensor.fix_, Tensor.floor_, Tensor.frac_, Tensor.index_put_
ldexp_, log10_, log1p_, log2_, log_ = Tensor.ldexp_, Tensor.log10_, Tensor.log1p_, Tensor.log2_, Tensor.log_
logit_, nan_to_num_, neg_, negative_ = Tensor.logit_, Tensor.nan_to_num_, Tensor.neg_, Tensor.negative_
rad2deg_, reciprocal_, resize_as_, round_ = Tensor.rad2deg_, Tensor.reciprocal_, Tensor.resize_as_, Tensor.round_
rsqrt_, sigmoid_, sin_, sinc_, sinh_ = Tensor.rsqrt_, Tensor.sigmoid_, Tensor.sin_, Tensor.sinc_, Tensor.sinh_
sqrt_, square_, tan_, tanh_, trunc_ = Tensor.sqrt_, Tensor.square_, Tensor.tan_, Tensor.tanh_, Tensor.trunc_
xlogy_, zero_ = Tensor.xlogy_, Tensor.zero_
native_channel_shuffle = channel_shuffle
as_strided_, gcd_, lcm_, i0_ = Tensor.as_strided_, Tensor.gcd_, Tensor.lcm_, Tensor.i0_

if _typing.TYPE_CHECKING:
    from . import nn, optim


def __getattr__(name: str) -> object:
    """The parts that are imported when they are first needed."""
    if name in _LATER:
        module = _importlib.import_module(f".{_LATER[name]}", __name__)
        return module if name == _LATER[name] else getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


_LATER = {
    "OutOfMemoryError": "cuda",
    "accelerator": "accelerator",
    "amp": "amp",
    "autocast": "amp",
    "backends": "backends",
    "celu_": "nn.functional",
    "compile": "compiler",
    "compiler": "compiler",
    "debug": "debug",
    "distributions": "distributions",
    "func": "func",
    "get_autocast_dtype": "amp",
    "hub": "hub",
    "is_autocast_enabled": "amp",
    "jit": "jit",
    "load": "serialization",
    "mps": "mps",
    "multiprocessing": "multiprocessing",
    "nn": "nn",
    "onnx": "onnx",
    "optim": "optim",
    "profiler": "profiler",
    "safetensors": "safetensors",
    "save": "serialization",
    "selu_": "nn.functional",
    "serialization": "serialization",
    "sparse_coo_tensor": "_sparse",
    "special": "special",
    "static": "static",
    "threshold_": "nn.functional",
    "utils": "utils",
    "vmap": "func",
    "xpu": "xpu",
}

__version__ = version.__version__
_keep_freed_memory()

__all__ = [  # noqa: RUF022
    "BoolTensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor", "Generator", "HalfTensor", "IntTensor",
    "LongTensor", "OutOfMemoryError", "ShortTensor", "Size", "Tensor", "abs", "abs_", "absolute", "accelerator", "acos",
    "acos_", "acosh", "acosh_", "adaptive_avg_pool1d", "adaptive_max_pool1d", "add", "addbmm", "addcdiv", "addcmul",
    "addmm", "addmv", "addmv_", "addr", "adjoint", "affine_grid_generator", "alias_copy", "all", "allclose",
    "alpha_dropout", "alpha_dropout_", "amax", "amin", "aminmax", "amp", "angle", "any", "arange", "arccos", "arccos_",
    "arccosh", "arccosh_", "arcsin", "arcsin_", "arcsinh", "arcsinh_", "arctan", "arctan2", "arctan_", "arctanh",
    "arctanh_", "are_deterministic_algorithms_enabled", "argmax", "argmin", "argsort", "argwhere", "as_strided",
    "as_strided_", "as_strided_copy", "as_strided_scatter", "as_tensor", "asarray", "asin", "asin_", "asinh", "asinh_",
    "atan", "atan2", "atan_", "atanh", "atanh_", "atleast_1d", "atleast_2d", "atleast_3d", "autocast", "autograd",
    "avg_pool1d", "backends", "baddbmm", "bartlett_window", "batch_norm", "bernoulli", "bfloat16", "bilinear",
    "binary_cross_entropy_with_logits", "bincount", "binomial", "bitwise_and", "bitwise_left_shift", "bitwise_not",
    "bitwise_or", "bitwise_right_shift", "bitwise_xor", "blackman_window", "block_diag", "bmm", "bool",
    "broadcast_shapes", "broadcast_tensors", "broadcast_to", "bucketize", "can_cast", "cartesian_prod", "cat", "cdist",
    "cdouble", "ceil", "ceil_", "celu", "celu_", "cfloat", "chain_matmul", "channel_shuffle", "channels_last",
    "channels_last_3d", "cholesky", "cholesky_inverse", "cholesky_solve", "chunk", "clamp", "clamp_", "clamp_max",
    "clamp_max_", "clamp_min", "clamp_min_", "clip", "clip_", "clone", "column_stack", "combinations", "compile",
    "compiler", "complex", "complex128", "complex32", "complex64", "concat", "concatenate", "conj", "conj_physical",
    "constant_pad_nd", "contiguous_format", "conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d",
    "conv_transpose2d", "conv_transpose3d", "copysign", "corrcoef", "cos", "cos_", "cosh", "cosh_",
    "cosine_embedding_loss", "cosine_similarity", "count_nonzero", "cov", "cross", "ctc_loss", "cuda", "cummax",
    "cummin", "cumprod", "cumsum", "cumulative_trapezoid", "debug", "default_generator", "deg2rad", "deg2rad_", "det", "detach",
    "detach_", "detach_copy", "device", "diag", "diag_embed", "diagflat", "diagonal", "diagonal_copy",
    "diagonal_scatter", "diff", "digamma", "dist", "distributions", "div", "divide", "dot", "double", "dropout",
    "dropout_", "dsplit", "dstack", "dtype", "e", "einsum", "embedding", "embedding_bag", "empty", "empty_like",
    "empty_permuted", "empty_strided", "enable_grad", "eq", "equal", "erf", "erf_", "erfc", "erfc_", "erfinv", "exp",
    "exp2", "exp2_", "exp_", "expand_copy", "expm1", "expm1_", "eye", "feature_alpha_dropout", "feature_alpha_dropout_",
    "feature_dropout", "feature_dropout_", "fill", "fill_", "finfo", "fix", "fix_", "flatten", "flip", "fliplr",
    "flipud", "float", "float16", "float32", "float64", "float_power", "floor", "floor_", "floor_divide", "fmax",
    "fmin", "fmod", "frac", "frac_", "frexp", "from_dlpack", "from_numpy", "frombuffer", "full", "full_like", "func",
    "functional", "gather", "gcd", "gcd_", "ge", "geqrf", "ger", "get_autocast_dtype", "get_default_device",
    "get_default_dtype", "get_deterministic_debug_mode", "get_device", "get_float32_matmul_precision",
    "get_num_interop_threads", "get_num_threads", "get_rng_state", "gradient", "greater", "greater_equal",
    "grid_sampler", "grid_sampler_2d", "grid_sampler_3d", "group_norm", "gru", "gru_cell", "gt", "half", "hamming_window",
    "hann_window", "hardshrink", "heaviside", "hinge_embedding_loss", "histc", "histogram", "histogramdd", "hsplit",
    "hstack", "hub", "hypot", "i0", "i0_", "igamma", "igammac", "iinfo", "imag", "index_add", "index_copy",
    "index_fill", "index_put", "index_put_", "index_reduce", "index_select", "inf", "inference_mode", "initial_seed",
    "inner", "instance_norm", "int", "int16", "int32", "int64", "int8", "inverse", "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled", "is_autocast_enabled", "is_complex", "is_conj",
    "is_deterministic_algorithms_warn_only_enabled", "is_distributed", "is_floating_point", "is_grad_enabled",
    "is_inference", "is_inference_mode_enabled", "is_neg", "is_nonzero", "is_same_size", "is_signed", "is_storage",
    "is_tensor", "is_warn_always_enabled", "isclose", "isfinite", "isin", "isinf", "isnan", "isneginf", "isposinf",
    "isreal", "jit", "kaiser_window", "kl_div", "kron", "kthvalue", "layer_norm", "layout", "lcm", "lcm_", "ldexp",
    "ldexp_", "le", "lerp", "less", "less_equal", "lgamma", "linalg", "linspace", "load", "log", "log10", "log10_",
    "log1p", "log1p_", "log2", "log2_", "log_", "log_softmax", "logaddexp", "logaddexp2", "logcumsumexp", "logdet",
    "logical_and", "logical_not", "logical_or", "logical_xor", "logit", "logit_", "logspace", "logsumexp", "long",
    "lstm", "lstm_cell", "lt", "lu", "lu_solve", "lu_unpack", "manual_seed", "margin_ranking_loss", "masked_fill",
    "masked_scatter", "masked_select", "matmul", "matrix_exp", "matrix_power", "max", "max_pool1d",
    "max_pool1d_with_indices", "max_pool2d", "max_pool3d", "maximum", "mean", "median", "memory_format", "meshgrid",
    "min", "minimum", "mm", "mode", "moveaxis", "movedim", "mps", "msort", "mul", "multinomial", "multiply",
    "multiprocessing", "mv", "mvlgamma", "nan", "nan_to_num", "nan_to_num_", "nanmean", "nanmedian", "nanquantile",
    "nansum", "narrow", "narrow_copy", "native_channel_shuffle", "ne", "neg", "neg_", "negative", "negative_",
    "newaxis", "nextafter", "nn", "no_grad", "nonzero", "nonzero_static", "norm", "normal", "not_equal", "numel",
    "ones", "ones_like", "onnx", "optim", "orgqr", "ormqr", "outer", "pairwise_distance", "pdist", "permute", "permute_copy",
    "pi", "pinverse", "pixel_shuffle", "pixel_unshuffle", "poisson", "poisson_nll_loss", "polygamma", "positive", "pow",
    "prelu", "preserve_format", "prod", "profiler", "promote_types", "put", "qr", "quantile", "rad2deg", "rad2deg_",
    "rand", "rand_like", "randint", "randint_like", "randn", "randn_like", "random", "randperm", "range", "ravel",
    "real", "reciprocal", "reciprocal_", "relu", "relu_", "remainder", "renorm", "repeat_interleave", "reshape",
    "resize_as_", "resolve_conj", "resolve_neg", "result_type", "return_types", "rms_norm", "rnn_relu", "rnn_relu_cell",
    "rnn_tanh", "rnn_tanh_cell", "roll", "rot90", "round", "round_", "row_stack", "rrelu", "rrelu_", "rsqrt", "rsqrt_", "rsub",
    "safetensors", "save", "scalar_tensor", "scatter", "scatter_add", "scatter_reduce", "searchsorted", "seed", "select",
    "select_copy", "select_scatter", "selu", "selu_", "serialization", "set_anomaly_enabled", "set_default_device",
    "set_default_dtype", "set_default_tensor_type", "set_deterministic_debug_mode", "set_float32_matmul_precision",
    "set_flush_denormal", "set_grad_enabled", "set_num_interop_threads", "set_num_threads", "set_printoptions",
    "set_rng_state", "set_warn_always", "sgn", "short", "sigmoid", "sigmoid_", "sign", "signbit", "sin", "sin_", "sinc",
    "sinc_", "sinh", "sinh_", "slice_copy", "slice_scatter", "slogdet", "softmax", "sort", "sparse_coo",
    "sparse_coo_tensor", "special", "split", "split_copy", "split_with_sizes", "split_with_sizes_copy", "sqrt", "sqrt_",
    "square", "square_", "squeeze", "squeeze_copy", "stack", "static", "std", "std_mean", "strided", "sub", "subtract", "sum",
    "svd", "swapaxes", "swapdims", "t", "t_copy", "take", "take_along_dim", "tan", "tan_", "tanh", "tanh_", "tensor",
    "tensor_split", "tensordot", "testing", "threshold", "threshold_", "tile", "topk", "trace", "transpose",
    "transpose_copy", "trapezoid", "trapz", "triangular_solve", "tril", "tril_indices", "triplet_margin_loss", "triu",
    "triu_indices", "true_divide", "trunc", "trunc_", "typename", "types", "uint16", "uint32", "uint64", "uint8",
    "unbind", "unbind_copy", "unflatten", "unfold_copy", "unique", "unique_consecutive", "unravel_index",
    "unsafe_chunk", "unsafe_split", "unsafe_split_with_sizes", "unsqueeze", "unsqueeze_copy",
    "use_deterministic_algorithms", "utils", "vander", "var", "var_mean", "vdot", "version", "view_copy", "vmap", "vsplit",
    "vstack", "where", "xlogy", "xlogy_", "xpu", "zero_", "zeros", "zeros_like",
]  # fmt: skip
