"""class Tensor: an explicit index of its methods (aliases of the operations: no wrapper frames)."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _autograd_methods as autograd_methods
from . import _casts as casts
from . import _convert as convert
from . import _dtypes, _runtime
from . import _legacy as legacy
from . import _memory_methods as memories
from . import _storage as storages
from ._differentiate import tensor_backward
from ._hooks import register_hook, register_post_accumulate_grad_hook
from ._inplace import NUMBERS, PARTLY, WARNED, in_place
from ._interop import array_function, array_ufunc
from ._modes import observers
from ._op import rows
from ._size import Size
from ._value_notes import tell_sized
from .ops import (
    activation,
    arrange,
    bessel,
    broadcast,
    choices,
    compare,
    copies,
    covariance,
    creation,
    determinants,
    diagonals,
    discrete,
    distances,
    einsum,
    elementary,
    extrema,
    factorisations,
    gamma_normal,
    join,
    linalg,
    masked,
    matrix_functions,
    memory,
    orthogonal,
    places,
    pointwise,
    powers,
    random,
    random_inplace,
    reduce,
    rounding,
    scan,
    shape_inplace,
    solves,
    special,
    spectra,
    statistics,
    subscript,
    vector_norm,
    vectors,
    view_scatter,
)
from .ops import gather as gathers
from .ops import index as along
from .ops import quantile as quantiles
from .ops import scatter_reduce as scatter_reductions
from .ops import shape as shapes
from .ops import softmax as softmaxes
from .ops import sort as sorts


class Tensor(metaclass=legacy.TensorMeta):
    """An ndarray plus what autograd needs: its node, and what it shares with views and detached twins.

    Made by ``tensor``, ``zeros``, ``randn`` and the like, and by operations.  ``Tensor(2, 3)`` is of the default dtype and any
    values, ``Tensor([1, 2])`` of these.
    """

    __slots__ = ("__dict__", "__weakref__", "_accumulator", "_alias", "_array", "_grad", "_layout", "_node", "_notes")
    _array: np.ndarray
    _node: Any
    _alias: Any
    _layout: Any
    _grad: Any
    __module__ = __package__  # it is known as the package's own
    __hash__ = object.__hash__

    # -- attributes and conversion
    @property
    def shape(self) -> Size:
        """The sizes of the dimensions."""
        if observers:
            tell_sized(self)
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
    storage, untyped_storage = storages.storage, storages.untyped_storage
    set_, is_set_to, dim_order, as_subclass = (
        memories.set_,
        memories.is_set_to,
        memories.dim_order,
        memories.as_subclass,
    )
    resize, resize_as, sum_to_size = memories.resize, memories.resize_as, memories.sum_to_size
    apply_, map_, map2_, __reversed__ = memories.apply_, memories.map_, memories.map2_, memories.reversed_tensor
    device, layout, get_device = property(convert.device_of), property(convert.layout_of), convert.get_device
    is_cuda = is_mps = is_xpu = is_meta = is_sparse = is_sparse_csr = is_quantized = is_mkldnn = property(convert.never)
    is_vulkan = is_ipu = is_xla = is_maia = is_mtia = is_nested = property(convert.never)
    is_cpu = property(convert.always)
    is_conj = is_neg = is_pinned = is_shared = is_distributed = convert.never
    real, imag, name = property(convert.itself), property(convert.imag), property(convert.nameless)
    conj = conj_physical = conj_physical_ = resolve_conj = resolve_neg = convert.itself
    pin_memory, share_memory_ = convert.pin_memory, memories.share_memory_
    is_floating_point, is_complex, is_signed = convert.is_floating_point, convert.is_complex, convert.is_signed
    is_nonzero, is_same_size = convert.is_nonzero, convert.is_same_size
    item, tolist, numpy = convert.item, convert.tolist, convert.numpy
    __array__, __dlpack__, __dlpack_device__ = convert.to_array, convert.to_dlpack, convert.dlpack_device
    __bool__ = __nonzero__ = convert.truth
    __int__ = __long__ = convert.to_int
    __float__, __complex__, __array_priority__ = convert.to_float, convert.to_complex, 1000
    __index__, __len__, __iter__, __contains__ = convert.to_index, convert.length, convert.iterate, convert.contains
    __repr__, __format__ = convert.text, convert.formatted
    __deepcopy__, __reduce_ex__ = convert.deepcopied, convert.reduced
    to, type, type_as, cpu, cuda = casts.to, casts.type, casts.type_as, casts.cpu, casts.cuda
    double, float, half, bfloat16 = casts.double, casts.float, casts.half, casts.bfloat16
    long, int, short, char, byte, bool = casts.long, casts.int, casts.short, casts.char, casts.byte, casts.bool

    # -- creation and random numbers
    new_tensor, new_zeros, new_ones = creation.new_tensor, creation.new_zeros, creation.new_ones
    new, new_empty, new_full = legacy.new, creation.new_empty, creation.new_full
    new_empty_strided = memories.new_empty_strided
    uniform_, normal_, random_ = random_inplace.uniform_, random_inplace.normal_, random_inplace.random_
    bernoulli_, geometric_ = random_inplace.bernoulli_, random_inplace.geometric_
    exponential_, log_normal_ = random_inplace.exponential_, random_inplace.log_normal_
    cauchy_ = random_inplace.cauchy_
    bernoulli, multinomial = random.bernoulli, random.multinomial

    # -- arithmetic, elementary functions, comparisons, copies
    add, sub, mul, div = pointwise.add, pointwise.sub, pointwise.mul, pointwise.div
    subtract, multiply, divide, true_divide = pointwise.sub, pointwise.mul, pointwise.div, pointwise.div
    floor_divide, remainder, fmod = pointwise.floor_divide, pointwise.remainder, pointwise.fmod
    neg, negative, positive, reciprocal = pointwise.neg, pointwise.neg, pointwise.positive, pointwise.reciprocal
    lerp, addcmul, addcdiv = pointwise.lerp, pointwise.addcmul, pointwise.addcdiv
    __add__ = __radd__ = rows["add"].operator
    __sub__, __rsub__ = rows["sub"].operator, pointwise.rsub
    __mul__ = __rmul__ = rows["mul"].operator
    __truediv__ = __div__ = rows["div"].operator
    __rtruediv__ = __rdiv__ = pointwise.reflected_div
    __floordiv__, __rfloordiv__ = rows["floor_divide"].operator, pointwise.reflected_floor_divide
    __mod__, __rmod__ = pointwise.operator_remainder, pointwise.reflected_remainder
    __neg__, __pos__ = pointwise.neg, pointwise.positive
    __array_ufunc__, __array_function__ = array_ufunc, array_function
    pow, square, sqrt, rsqrt = powers.pow, powers.square, powers.sqrt, powers.rsqrt
    float_power, ldexp = powers.float_power, powers.ldexp
    __pow__, __rpow__ = powers.operator_pow, powers.reflected_pow
    abs, absolute, sign, sgn, signbit = rounding.abs, rounding.abs, rounding.sign, rounding.sgn, rounding.signbit
    copysign, floor, ceil, trunc, fix = rounding.copysign, rounding.floor, rounding.ceil, rounding.trunc, rounding.trunc
    round, frac, __abs__ = rounding.round, rounding.frac, rounding.abs
    exp, exp2, expm1 = elementary.exp, elementary.exp2, elementary.expm1
    log, log2, log10, log1p = elementary.log, elementary.log2, elementary.log10, elementary.log1p
    sin, cos, tan, asin, acos = elementary.sin, elementary.cos, elementary.tan, elementary.asin, elementary.acos
    atan, atan2, arcsin, arccos = elementary.atan, elementary.atan2, elementary.asin, elementary.acos
    arctan, arctan2, sinh, cosh = elementary.atan, elementary.atan2, elementary.sinh, elementary.cosh
    tanh, asinh, acosh, atanh = elementary.tanh, elementary.asinh, elementary.acosh, elementary.atanh
    arcsinh, arccosh, arctanh = elementary.asinh, elementary.acosh, elementary.atanh
    sigmoid, logit, erf, erfc, erfinv = special.sigmoid, special.logit, special.erf, special.erfc, special.erfinv
    lgamma, digamma, polygamma = special.lgamma, special.digamma, special.polygamma_method
    sinc, hypot, xlogy, deg2rad, rad2deg = special.sinc, special.hypot, special.xlogy, special.deg2rad, special.rad2deg
    logaddexp, logaddexp2 = special.logaddexp, special.logaddexp2
    i0, i0_, mvlgamma, mvlgamma_ = (
        bessel.i0,
        in_place(bessel.i0),
        gamma_normal.mvlgamma,
        in_place(gamma_normal.mvlgamma),
    )
    igamma, igammac = gamma_normal.igamma, gamma_normal.igammac
    igamma_, igammac_ = in_place(gamma_normal.igamma), in_place(gamma_normal.igammac)
    polygamma_ = in_place(special.polygamma_method, "polygamma_")
    eq, ne, lt, le, gt, ge = compare.eq, compare.ne, compare.lt, compare.le, compare.gt, compare.ge
    not_equal, less, less_equal, greater = compare.ne, compare.lt, compare.le, compare.gt
    greater_equal, isclose, allclose, equal = compare.ge, compare.isclose, compare.allclose, compare.equal
    isnan, isinf, isfinite, isreal = compare.isnan, compare.isinf, compare.isfinite, compare.isreal
    isposinf, isneginf = compare.isposinf, compare.isneginf
    logical_and, logical_or = compare.logical_and, compare.logical_or
    logical_xor, logical_not = compare.logical_xor, compare.logical_not
    bitwise_and, bitwise_or = compare.bitwise_and, compare.bitwise_or
    bitwise_xor, bitwise_not = compare.bitwise_xor, compare.bitwise_not
    bitwise_left_shift, bitwise_right_shift = compare.bitwise_left_shift, compare.bitwise_right_shift
    __eq__, __ne__ = rows["eq"].operator, rows["ne"].operator
    __lt__, __le__ = rows["lt"].operator, rows["le"].operator
    __gt__, __ge__ = rows["gt"].operator, rows["ge"].operator
    __and__ = __rand__ = rows["bitwise_and"].operator
    __or__ = __ror__ = rows["bitwise_or"].operator
    __xor__ = __rxor__ = rows["bitwise_xor"].operator
    __lshift__, __rlshift__ = rows["bitwise_left_shift"].operator, compare.reflected_left_shift
    __rshift__, __rrshift__ = rows["bitwise_right_shift"].operator, compare.reflected_right_shift
    __invert__ = compare.invert
    where, masked_fill, nan_to_num = choices.where_method, choices.masked_fill, choices.nan_to_num
    clamp, clip, clamp_min, clamp_max = choices.clamp, choices.clamp, choices.clamp_min, choices.clamp_max
    maximum, minimum, fmax, fmin = choices.maximum, choices.minimum, choices.fmax, choices.fmin
    clone, contiguous = copies.clone, copies.contiguous
    add_ = __iadd__ = in_place(pointwise.add)
    sub_ = subtract_ = __isub__ = in_place(pointwise.sub)
    mul_ = multiply_ = __imul__ = in_place(pointwise.mul)
    div_ = divide_ = true_divide_ = __itruediv__ = __idiv__ = in_place(pointwise.div)
    gcd, lcm, heaviside, nextafter = discrete.gcd, discrete.lcm, discrete.heaviside, discrete.nextafter
    frexp, angle = discrete.frexp, discrete.angle
    gcd_, lcm_, heaviside_ = in_place(discrete.gcd), in_place(discrete.lcm), in_place(discrete.heaviside)
    nextafter_ = in_place(discrete.nextafter)
    floor_divide_ = __ifloordiv__ = in_place(pointwise.floor_divide)
    remainder_ = __imod__ = in_place(pointwise.remainder)
    neg_ = negative_ = in_place(pointwise.neg)
    fmod_, reciprocal_, lerp_ = in_place(pointwise.fmod), in_place(pointwise.reciprocal), in_place(pointwise.lerp)
    addcmul_, addcdiv_ = in_place(pointwise.addcmul), in_place(pointwise.addcdiv)
    pow_ = __ipow__ = in_place(powers.pow)
    square_, sqrt_, rsqrt_ = in_place(powers.square), in_place(powers.sqrt), in_place(powers.rsqrt)
    float_power_, ldexp_ = in_place(powers.float_power_into, "float_power_"), in_place(powers.ldexp)
    abs_ = absolute_ = in_place(rounding.abs)
    trunc_ = fix_ = in_place(rounding.trunc)
    sign_, sgn_, copysign_ = in_place(rounding.sign), in_place(rounding.sgn), in_place(rounding.copysign)
    floor_, ceil_, round_ = in_place(rounding.floor), in_place(rounding.ceil), in_place(rounding.round)
    frac_ = in_place(rounding.frac)
    asin_ = arcsin_ = in_place(elementary.asin)
    acos_ = arccos_ = in_place(elementary.acos)
    atan_ = arctan_ = in_place(elementary.atan)
    atan2_ = arctan2_ = in_place(elementary.atan2)
    asinh_ = arcsinh_ = in_place(elementary.asinh)
    acosh_ = arccosh_ = in_place(elementary.acosh)
    atanh_ = arctanh_ = in_place(elementary.atanh)
    exp_, exp2_, expm1_ = in_place(elementary.exp), in_place(elementary.exp2), in_place(elementary.expm1)
    log_, log2_, log10_ = in_place(elementary.log), in_place(elementary.log2), in_place(elementary.log10)
    log1p_, sin_, cos_ = in_place(elementary.log1p), in_place(elementary.sin), in_place(elementary.cos)
    tan_, sinh_, cosh_ = in_place(elementary.tan), in_place(elementary.sinh), in_place(elementary.cosh)
    tanh_ = in_place(elementary.tanh)
    sigmoid_, logit_, hypot_ = in_place(special.sigmoid), in_place(special.logit), in_place(special.hypot)
    xlogy_, erf_, erfc_ = in_place(special.xlogy), in_place(special.erf), in_place(special.erfc)
    erfinv_, lgamma_, digamma_ = in_place(special.erfinv), in_place(special.lgamma), in_place(special.digamma)
    sinc_, deg2rad_, rad2deg_ = in_place(special.sinc), in_place(special.deg2rad), in_place(special.rad2deg)
    ne_ = not_equal_ = in_place(compare.compared_ne, "ne_")
    lt_ = less_ = in_place(compare.compared_lt, "lt_")
    le_ = less_equal_ = in_place(compare.compared_le, "le_")
    gt_ = greater_ = in_place(compare.compared_gt, "gt_")
    ge_ = greater_equal_ = in_place(compare.compared_ge, "ge_")
    bitwise_and_ = __iand__ = in_place(compare.bitwise_and)
    bitwise_or_ = __ior__ = in_place(compare.bitwise_or)
    bitwise_xor_ = __ixor__ = in_place(compare.bitwise_xor)
    bitwise_left_shift_ = __ilshift__ = in_place(compare.bitwise_left_shift)
    bitwise_right_shift_ = __irshift__ = in_place(compare.bitwise_right_shift)
    eq_ = in_place(compare.compared_eq, "eq_")
    logical_and_, logical_or_ = in_place(compare.logical_and), in_place(compare.logical_or)
    logical_xor_, logical_not_ = in_place(compare.logical_xor), in_place(compare.logical_not)
    bitwise_not_ = in_place(compare.bitwise_not)
    clamp_ = clip_ = in_place(choices.clamp)
    masked_fill_, clamp_min_ = in_place(choices.masked_fill, extent=WARNED), in_place(choices.clamp_min)
    clamp_max_, nan_to_num_ = in_place(choices.clamp_max), in_place(choices.nan_to_num)
    copy_, fill_ = in_place(copies.copy, "copy_"), in_place(copies.written, "fill_", NUMBERS)
    zero_ = in_place(copies.zero, "zero_", NUMBERS)

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
    mm, bmm, mv, dot, vdot, outer, ger = (
        linalg.mm,
        linalg.bmm,
        linalg.mv,
        linalg.dot,
        linalg.vdot,
        linalg.outer,
        linalg.ger,
    )
    inner, kron = einsum.inner, linalg.kron
    addmm, addmv, addr, addbmm, baddbmm = linalg.addmm, linalg.addmv, linalg.addr, linalg.addbmm, linalg.baddbmm
    addmm_, addmv_, addr_ = in_place(linalg.addmm), in_place(linalg.addmv), in_place(linalg.addr)
    addbmm_, baddbmm_ = in_place(linalg.addbmm), in_place(linalg.baddbmm)

    # -- linear algebra
    det, slogdet, logdet = determinants.input_det, determinants.input_slogdet, determinants.logdet
    inverse, pinverse = solves.inverse, matrix_functions.pinverse
    matrix_power, matrix_exp = matrix_functions.matrix_power, matrix_functions.matrix_exp
    cholesky, cholesky_solve = factorisations.input_cholesky, solves.cholesky_solve
    cholesky_inverse, triangular_solve = solves.cholesky_inverse, solves.triangular_solve
    lu, lu_solve = factorisations.input_lu, factorisations.input_lu_solve
    qr, svd, geqrf = orthogonal.input_qr, spectra.input_svd, orthogonal.geqrf
    orgqr, ormqr = orthogonal.orgqr, orthogonal.ormqr
    cross, dist, cov, corrcoef = vectors.input_cross, distances.dist, covariance.cov, covariance.corrcoef
    renorm, renorm_ = distances.renorm, in_place(distances.renorm)

    # -- nn
    relu, relu_ = activation.relu, in_place(activation.relu)
    prelu, hardshrink = activation.prelu, activation.hardshrink
    softmax, log_softmax = softmaxes.softmax, softmaxes.log_softmax

    # -- shape
    T, mT = property(shapes.T), property(shapes.mT)
    H, mH = property(shapes.adjoint_matrix), property(shapes.adjoint)
    view, view_as, reshape, reshape_as = shapes.view, shapes.view_as, shapes.reshape, shapes.reshape_as
    flatten, ravel, unflatten = shapes.flatten, shapes.ravel, shapes.unflatten
    expand, expand_as, broadcast_to = broadcast.expand, broadcast.expand_as, broadcast.broadcast_to_method
    squeeze, squeeze_, unsqueeze, unsqueeze_ = (
        shapes.squeeze,
        shape_inplace.squeeze_,
        shapes.unsqueeze,
        shape_inplace.unsqueeze_,
    )
    t, t_, permute, adjoint = shapes.t, shape_inplace.t_, shapes.permute_method, shapes.adjoint
    transpose, swapdims, swapaxes = shapes.transpose, shapes.transpose, shapes.swapaxes
    transpose_ = swapdims_ = swapaxes_ = shape_inplace.transpose_
    movedim = moveaxis = shapes.movedim
    diagonal = diagonals.diagonal
    split, split_with_sizes, chunk, tensor_split = (
        join.split_method,
        join.split_with_sizes,
        join.chunk,
        join.tensor_split,
    )
    unsafe_split, unsafe_split_with_sizes, unsafe_chunk = (
        join.unsafe_split,
        join.unsafe_split_with_sizes,
        join.unsafe_chunk,
    )
    hsplit, vsplit, dsplit = join.hsplit, join.vsplit, join.dsplit
    unbind, narrow = join.unbind, join.narrow
    repeat, tile, repeat_interleave = arrange.repeat, arrange.tile, arrange.repeat_interleave_method
    flip, fliplr, flipud, roll, rot90 = arrange.flip_method, arrange.fliplr, arrange.flipud, arrange.roll, arrange.rot90
    tril, triu, tril_, triu_ = (
        arrange.tril,
        arrange.triu,
        in_place(arrange.tril, extent=NUMBERS),
        in_place(arrange.triu, extent=NUMBERS),
    )
    diag, diag_embed, diagflat, trace = diagonals.diag, diagonals.diag_embed, diagonals.diagflat, diagonals.trace
    unfold, as_strided, as_strided_ = memory.unfold, memory.as_strided, shape_inplace.as_strided_
    stride, storage_offset, _base, _is_view = (
        memory.stride,
        memory.storage_offset,
        property(memory.base),
        memory.is_view,
    )
    is_contiguous, resize_, resize_as_ = memory.is_contiguous, memory.resize_, memory.resize_as_

    # -- indexing
    __getitem__, __setitem__ = subscript.getitem, subscript.setitem
    select = subscript.select
    index_put, index_put_ = subscript.index_put, in_place(subscript.index_put, extent=WARNED)
    index_select = along.index_select
    index_add, index_add_ = along.index_add, in_place(along.index_add, extent=PARTLY)
    index_copy, index_copy_ = along.index_copy, in_place(along.index_copy, extent=PARTLY)
    index_fill, index_fill_ = along.index_fill, in_place(along.index_fill, extent=WARNED)
    index_reduce, index_reduce_ = (
        scatter_reductions.index_reduce,
        in_place(scatter_reductions.index_reduce, extent=PARTLY),
    )
    select_scatter, slice_scatter = view_scatter.select_scatter, view_scatter.slice_scatter
    diagonal_scatter, as_strided_scatter = view_scatter.diagonal_scatter, view_scatter.as_strided_scatter
    fill_diagonal_ = view_scatter.fill_diagonal_
    gather, take_along_dim = gathers.gather, gathers.take_along_dim
    scatter, scatter_ = gathers.scatter, in_place(gathers.scatter, extent=PARTLY)
    scatter_add, scatter_add_ = gathers.scatter_add, in_place(gathers.scatter_add, extent=PARTLY)
    scatter_reduce, scatter_reduce_ = (
        scatter_reductions.scatter_reduce,
        in_place(scatter_reductions.scatter_reduce, extent=PARTLY),
    )
    take = masked.take
    put, put_ = masked.put, in_place(masked.put, extent=PARTLY)
    masked_select = masked.masked_select
    masked_scatter, masked_scatter_ = masked.masked_scatter, in_place(masked.masked_scatter, extent=PARTLY)
    nonzero, argwhere, narrow_copy = masked.nonzero, masked.argwhere, masked.narrow_copy
    nonzero_static, histogram = masked.nonzero_static, places.histogram

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
    name = property(autograd_methods.name, autograd_methods.set_name)
    _version = property(autograd_methods.version)
    requires_grad_ = autograd_methods.requires_grad_
    retain_grad = autograd_methods.retain_grad
    detach = autograd_methods.detach
    detach_ = autograd_methods.detach_
    is_inference = autograd_methods.is_inference


_runtime.learn_tensor(Tensor)
