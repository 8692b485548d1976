"""minitorch: a tape-based automatic differentiation engine over NumPy, with PyTorch's names."""

from math import e, inf, nan, pi

from . import autograd, cuda
from ._autograd_methods import is_inference
from ._casts import complex, typename

# -- tensors, dtypes, devices
from ._convert import get_device, is_complex, is_floating_point, is_nonzero, is_tensor, numel
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

# -- modes
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
from ._size import Size
from ._tensor import Tensor

# -- creation and random numbers
from .ops import random
from .ops.creation import empty, empty_like, eye, full, full_like, ones, ones_like, zeros, zeros_like
from .ops.from_data import as_tensor, asarray, from_dlpack, from_numpy, frombuffer, scalar_tensor, tensor
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

# -- indexing
from .ops.gather import gather, scatter, scatter_add, scatter_reduce, take_along_dim
from .ops.index import index_add, index_copy, index_fill, index_select
from .ops.masked import argwhere, masked_scatter, masked_select, narrow_copy, nonzero, put, take
from .ops.subscript import index_put, select

# -- reductions
from .ops import _returns as return_types
from .ops.extrema import amax, amin, aminmax, argmax, argmin, max, min
from .ops.quantile import bincount, histc, nanquantile, quantile
from .ops.reduce import all, any, count_nonzero, logsumexp, mean, nanmean, nansum, prod, sum
from .ops.scan import cummax, cummin, cumprod, cumsum, diff, logcumsumexp
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
from .ops.statistics import median, mode, nanmedian, std, std_mean, var, var_mean
from .ops.vector_norm import norm

# -- products
from .ops.einsum import einsum, inner, tensordot
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

# -- nn
from . import nn
from .ops.activation import celu, hardshrink, prelu, relu, selu, threshold
from .ops.conv import conv1d, conv2d, conv3d, conv_transpose1d, conv_transpose2d, conv_transpose3d
from .ops.dropout import alpha_dropout, dropout, feature_alpha_dropout
from .ops.margin_loss import cosine_similarity, pairwise_distance
from .ops.pool import (
    adaptive_avg_pool1d,
    adaptive_max_pool1d,
    avg_pool1d,
    max_pool1d,
    max_pool2d,
    max_pool3d,
)
from .ops.softmax import log_softmax, softmax

# -- shape
from .ops.arrange import (
    diag,
    diag_embed,
    diagflat,
    flip,
    fliplr,
    flipud,
    repeat_interleave,
    roll,
    rot90,
    tile,
    trace,
    tril,
    tril_indices,
    triu,
    triu_indices,
)
from .ops.broadcast import broadcast_shapes, broadcast_tensors, broadcast_to
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
from .ops.memory import as_strided
from .ops.shape import (
    adjoint,
    atleast_1d,
    atleast_2d,
    atleast_3d,
    diagonal,
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

newaxis = None
