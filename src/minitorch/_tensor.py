"""class Tensor: an explicit index of its methods (aliases of the operations: no wrapper frames)."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _autograd_methods as autograd_methods
from . import _casts as casts
from . import _convert as convert
from . import _dtypes, _runtime
from . import _legacy as legacy
from ._differentiate import tensor_backward
from ._hooks import register_hook, register_post_accumulate_grad_hook
from ._inplace import in_place
from ._op import rows
from ._size import Size
from .ops import arrange, broadcast, copies, join, linalg, memory, pointwise, reduce, shape_inplace
from .ops import creation, elementary, random, random_inplace
from .ops import gather as gathers
from .ops import index as along
from .ops import masked, subscript
from .ops import activation, einsum
from .ops import extrema, scan, statistics, vector_norm
from .ops import quantile as quantiles
from .ops import shape as shapes
from .ops import softmax as softmaxes
from .ops import sort as sorts


class Tensor:
    """An ndarray plus what autograd needs: its node, and what it shares with views and detached twins.

    Made by ``tensor``, ``zeros``, ``randn`` and the like, and by operations.
    """

    __slots__ = ("_array", "_node", "_alias", "_layout", "_grad", "__dict__", "__weakref__")
    __hash__ = object.__hash__

    # -- attributes and conversion
    @property
    def shape(self) -> Size:
        """The sizes of the dimensions."""
        return Size(self._array.shape)

    @property
    def dtype(self) -> _dtypes.dtype:
        """The element type."""
        return _dtypes.of_numpy(self._array.dtype)

    ndim = property(convert.dim)
    size, dim, ndimension = convert.size, convert.dim, convert.dim
    numel = nelement = convert.numel
    nbytes, itemsize = property(convert.nbytes), property(convert.element_size)
    element_size, data_ptr = convert.element_size, convert.data_ptr
    device, layout, get_device = property(convert.device_of), property(convert.layout_of), convert.get_device
    is_cuda = is_mps = is_xpu = is_meta = is_sparse = is_sparse_csr = is_quantized = is_mkldnn = property(convert.never)
    is_conj = is_neg = is_pinned = is_shared = convert.never
    real, imag, name = property(convert.itself), property(convert.imag), property(convert.nameless)
    conj = resolve_conj = resolve_neg = share_memory_ = convert.itself
    pin_memory = convert.pin_memory
    is_floating_point, is_complex, is_signed = convert.is_floating_point, convert.is_complex, convert.is_signed
    is_nonzero, is_same_size = convert.is_nonzero, convert.is_same_size
    item, tolist, numpy = convert.item, convert.tolist, convert.numpy
    __array__, __dlpack__, __dlpack_device__ = convert.to_array, convert.to_dlpack, convert.dlpack_device
    __bool__, __int__, __float__, __complex__ = convert.truth, convert.to_int, convert.to_float, convert.to_complex
    __index__, __len__, __iter__, __contains__ = convert.to_index, convert.length, convert.iterate, convert.contains
    __repr__, __format__ = convert.text, convert.formatted
    __deepcopy__, __reduce_ex__ = convert.deepcopied, convert.reduced
    to, type, type_as, cpu, cuda = casts.to, casts.type, casts.type_as, casts.cpu, casts.cuda
    double, float, half, bfloat16 = casts.double, casts.float, casts.half, casts.bfloat16
    long, int, short, char, byte, bool = casts.long, casts.int, casts.short, casts.char, casts.byte, casts.bool

    # -- creation and random numbers
    new_tensor, new_zeros, new_ones = creation.new_tensor, creation.new_zeros, creation.new_ones
    new, new_empty, new_full = legacy.new, creation.new_empty, creation.new_full
    uniform_, normal_, random_ = random_inplace.uniform_, random_inplace.normal_, random_inplace.random_
    bernoulli_, geometric_ = random_inplace.bernoulli_, random_inplace.geometric_
    exponential_, log_normal_ = random_inplace.exponential_, random_inplace.log_normal_
    cauchy_ = random_inplace.cauchy_
    bernoulli, multinomial = random.bernoulli, random.multinomial

    # -- arithmetic, elementary functions, comparisons, copies
    add, sub, mul, div = pointwise.add, pointwise.sub, pointwise.mul, pointwise.div
    __add__ = __radd__ = rows["add"].operator
    __sub__ = rows["sub"].operator
    __mul__ = __rmul__ = rows["mul"].operator
    __truediv__ = rows["div"].operator
    neg = __neg__ = pointwise.neg
    exp, log, tanh = elementary.exp, elementary.log, elementary.tanh
    add_ = __iadd__ = in_place(pointwise.add)
    mul_ = __imul__ = in_place(pointwise.mul)
    sub_ = __isub__ = in_place(pointwise.sub)
    exp_ = in_place(elementary.exp)
    clone = copies.clone
    copy_ = in_place(copies.copy, "copy_")

    # -- reductions
    sum, nansum, mean, nanmean = reduce.sum, reduce.nansum, reduce.mean, reduce.nanmean
    prod, logsumexp, norm = reduce.prod, reduce.logsumexp, vector_norm.norm
    all, any, count_nonzero = reduce.all, reduce.any, reduce.count_nonzero
    max, min, amax, amin, aminmax = extrema.max, extrema.min, extrema.amax, extrema.amin, extrema.aminmax
    argmax, argmin = extrema.argmax, extrema.argmin
    var, std = statistics.var, statistics.std
    median, nanmedian, mode = statistics.median, statistics.nanmedian, statistics.mode
    quantile, nanquantile = quantiles.quantile, quantiles.nanquantile
    histc, bincount = quantiles.histc, quantiles.bincount
    cumsum, cumsum_, cumprod, cumprod_ = scan.cumsum, in_place(scan.cumsum), scan.cumprod, in_place(scan.cumprod)
    cummax, cummin, logcumsumexp, diff = scan.cummax, scan.cummin, scan.logcumsumexp, scan.diff
    sort, argsort, msort, topk, kthvalue = sorts.sort, sorts.argsort, sorts.msort, sorts.topk, sorts.kthvalue
    unique, unique_consecutive = sorts.unique, sorts.unique_consecutive

    # -- products
    matmul, __matmul__, __rmatmul__ = linalg.matmul, linalg.matmul_operator, linalg.matmul_reflected
    mm, bmm, mv, dot, vdot, outer, ger = linalg.mm, linalg.bmm, linalg.mv, linalg.dot, linalg.vdot, linalg.outer, linalg.ger
    inner, kron = einsum.inner, linalg.kron
    addmm, addmv, addr, addbmm, baddbmm = linalg.addmm, linalg.addmv, linalg.addr, linalg.addbmm, linalg.baddbmm
    addmm_, addmv_, addr_ = in_place(linalg.addmm), in_place(linalg.addmv), in_place(linalg.addr)
    addbmm_, baddbmm_ = in_place(linalg.addbmm), in_place(linalg.baddbmm)

    # -- nn
    relu, relu_ = activation.relu, in_place(activation.relu)
    prelu, hardshrink = activation.prelu, activation.hardshrink
    softmax, log_softmax = softmaxes.softmax, softmaxes.log_softmax

    # -- shape
    T, mT = property(shapes.reversed_dims), property(shapes.transposed_matrices)
    H, mH = property(shapes.adjoint_matrix), property(shapes.adjoint)
    view, view_as, reshape, reshape_as = shapes.view, shapes.view_as, shapes.reshape, shapes.reshape_as
    flatten, ravel, unflatten = shapes.flatten, shapes.ravel, shapes.unflatten
    expand, expand_as, broadcast_to = broadcast.expand, broadcast.expand_as, broadcast.broadcast_to
    squeeze, squeeze_, unsqueeze, unsqueeze_ = shapes.squeeze, shape_inplace.squeeze_, shapes.unsqueeze, shape_inplace.unsqueeze_
    t, t_, permute, adjoint = shapes.t, shape_inplace.t_, shapes.permute, shapes.adjoint
    transpose, swapdims, swapaxes = shapes.transpose, shapes.transpose, shapes.swapaxes
    transpose_ = swapdims_ = swapaxes_ = shape_inplace.transpose_
    movedim = moveaxis = shapes.movedim
    diagonal, contiguous = shapes.diagonal, shapes.contiguous
    split, split_with_sizes, chunk, tensor_split = join.split_method, join.split_with_sizes, join.chunk, join.tensor_split
    unsafe_split, unsafe_split_with_sizes, unsafe_chunk = join.unsafe_split, join.unsafe_split_with_sizes, join.unsafe_chunk
    hsplit, vsplit, dsplit = join.hsplit, join.vsplit, join.dsplit
    unbind, narrow = join.unbind, join.narrow
    repeat, tile, repeat_interleave = arrange.repeat, arrange.tile, arrange.repeat_interleave
    flip, fliplr, flipud, roll, rot90 = arrange.flip, arrange.fliplr, arrange.flipud, arrange.roll, arrange.rot90
    tril, triu, tril_, triu_ = arrange.tril, arrange.triu, in_place(arrange.tril), in_place(arrange.triu)
    diag, diag_embed, diagflat, trace = arrange.diag, arrange.diag_embed, arrange.diagflat, arrange.trace
    unfold, as_strided = memory.unfold, memory.as_strided
    stride, storage_offset, _base, _is_view = memory.stride, memory.storage_offset, property(memory.base), memory.is_view
    is_contiguous, resize_, resize_as_ = memory.is_contiguous, memory.resize_, memory.resize_as_

    # -- indexing
    __getitem__, __setitem__ = subscript.getitem, subscript.setitem
    select = subscript.select
    index_put, index_put_ = subscript.index_put, in_place(subscript.index_put)
    index_select = along.index_select
    index_add, index_add_ = along.index_add, in_place(along.index_add)
    index_copy, index_copy_ = along.index_copy, in_place(along.index_copy)
    index_fill, index_fill_ = along.index_fill, in_place(along.index_fill)
    gather, take_along_dim = gathers.gather, gathers.take_along_dim
    scatter, scatter_ = gathers.scatter, in_place(gathers.scatter)
    scatter_add, scatter_add_ = gathers.scatter_add, in_place(gathers.scatter_add)
    scatter_reduce, scatter_reduce_ = gathers.scatter_reduce, in_place(gathers.scatter_reduce)
    take = masked.take
    put, put_ = masked.put, in_place(masked.put)
    masked_select = masked.masked_select
    masked_scatter, masked_scatter_ = masked.masked_scatter, in_place(masked.masked_scatter)
    nonzero, argwhere, narrow_copy = masked.nonzero, masked.argwhere, masked.narrow_copy

    # -- autograd
    backward = tensor_backward
    register_hook = register_hook
    register_post_accumulate_grad_hook = register_post_accumulate_grad_hook
    requires_grad = property(autograd_methods.requires_grad, autograd_methods.set_requires_grad)
    is_leaf = property(autograd_methods.is_leaf)
    grad_fn = property(autograd_methods.grad_fn)
    grad = property(autograd_methods.grad, autograd_methods.set_grad, autograd_methods.delete_grad)
    data = property(autograd_methods.data, autograd_methods.set_data)
    output_nr = property(autograd_methods.output_nr)
    retains_grad = property(autograd_methods.retains_grad)
    _version = property(autograd_methods.version)
    requires_grad_ = autograd_methods.requires_grad_
    retain_grad = autograd_methods.retain_grad
    detach = autograd_methods.detach
    detach_ = autograd_methods.detach_
    is_inference = autograd_methods.is_inference


_runtime.learn_tensor(Tensor)
