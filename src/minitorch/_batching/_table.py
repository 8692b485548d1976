"""Which rule each row has, by kind.

A row has the rule of its kind, or of a table below; an elementwise one needs none of them.  What stands nowhere is done example
by example.
"""

from __future__ import annotations

from . import _losses, _norms, _places, _products, _shapes, _strides, _windows
from ._batch import Rule

KINDS: dict[Rule, str] = {
    _shapes.elementwise: "to clone contiguous alias detach conv_recorded zeros_of keep where "
    "masked_fill masked_fill_tensor fill fill_ zero_",
    _shapes.written: "copy fill_tensor fill_tensor_ bernoulli_tensor eq_ ne_ lt_ le_ gt_ ge_",
    _shapes.together: "placed frexp bernoulli normal_mean normal_std normal_both uniform normal_ random random_below "
    "random_between bernoulli_number exponential cauchy log_normal geometric standard_gamma sample_dirichlet poisson "
    "binomial where_not_positive cdist lu_solve cholesky_solve solve_triangular",
    _shapes.shifted: "unfold unfold_backward select select_backward slice slice_backward take_along take_repeatedly "
    "put_along add_along shift linear_recurrence exclusive_cumprod cumsum cumprod logcumsumexp cummax cummin sum "
    "nansum mean prod prod_backward logsumexp vector_norm unsafe_view unsqueeze squeeze_dim squeeze_dims transpose "
    "diagonal diagonal_backward cat stack split split_with_sizes unsafe_split unsafe_split_with_sizes unbind amax "
    "amin aminmax max_dim min_dim sort sort_stable topk kthvalue flip rot90 diag_embed cross softmax softmax_backward "
    "log_softmax log_softmax_backward log_softmax_bend log_softmax_tangent softmax_bend softmax_turn half half_of halves "
    "glu glu_backward glu_jvp glu_bend narrow_copy transpose_ unsqueeze_ squeeze_dim_ squeeze_dims_ "
    "select_scatter slice_scatter diagonal_scatter var std var_mean std_mean median_dim nanmedian_dim "
    "mode",
    _shapes.padded_and_shifted: "equal_share",
    _shapes.leading: "tril triu det cofactor cofactor_slope slogdet cholesky_ex permutation lu_factor_ex lu lu_parts "
    "inv_ex cholesky_inverse matrix_exp eigh eigvalsh svd svdvals qr constant_pad_nd reflection_pad1d "
    "reflection_pad1d_backward reflection_pad2d reflection_pad2d_backward reflection_pad3d reflection_pad3d_backward "
    "replication_pad1d replication_pad1d_backward replication_pad2d replication_pad2d_backward replication_pad3d "
    "replication_pad3d_backward circular_pad circular_pad_backward safe_softmax pad_end crop_end max_pool_grad "
    "max_pool2d max_pool3d adaptive_max_pool2d adaptive_max_pool3d avg_pool2d avg_pool3d avg_pool_grad "
    "adaptive_avg_pool2d adaptive_avg_pool3d adaptive_avg_pool_grad pixel_shuffle pixel_unshuffle max_unpool2d "
    "max_unpool3d fractional_max_pool2d fractional_max_pool3d",
    _shapes.folded: "im2col col2im upsample_nearest1d upsample_nearest1d_backward upsample_nearest2d "
    "upsample_nearest2d_backward upsample_nearest3d upsample_nearest3d_backward upsample_nearest_exact1d "
    "upsample_nearest_exact1d_backward upsample_nearest_exact2d upsample_nearest_exact2d_backward "
    "upsample_nearest_exact3d upsample_nearest_exact3d_backward upsample_linear1d upsample_linear1d_backward "
    "upsample_bilinear2d upsample_bilinear2d_backward upsample_bicubic2d upsample_bicubic2d_backward "
    "upsample_trilinear3d upsample_trilinear3d_backward",
    _shapes.turned: "t T t_",
    _shapes.squeeze: "squeeze squeeze_",
    _products.product(): "mm folded_mm",
    _products.product(right_turned=True): "mm_nt folded_mm_nt",
    _products.product(left_turned=True): "mm_tn",
    _products.matmul: "matmul bmm bmm_nt bmm_tn",
    _products.mv: "mv folded_mv",
    _products.dot: "dot vdot",
    _products.linear: "linear folded_linear vector_linear",
    _windows.conv: "conv conv_bias conv_input_grad conv_input_grad_bias",
    _windows.recurrent(1): "gru_layer rnn_tanh_layer rnn_relu_layer",
    _windows.recurrent(2): "lstm_layer lstm_cell",
    _losses.summed: "smooth_l1_loss huber_loss binary_cross_entropy binary_cross_entropy_with_logits",
    _losses.nll_loss: "nll_loss nll_loss2d",
    _norms.normalized: "standardized standardized_backward standardized_bend normalized_backward layer_norm "
    "group_norm batch_norm batch_norm_evaluated",
    _places.gather: "gather scatter_sum scatter scatter_value scatter_add scatter_reduce_sum scatter_reduce_mean "
    "scatter_extreme_shares scatter_reduce_extreme scatter_lone_zeros scatter_reduce_prod "
    "scatter_prod_once scatter_prod_twice",
    _places.embedding: "embedding",
    _places.dynamic: "unique unique_dim unique_consecutive",
}
"""Rows by the rule of their kind."""

OWN: dict[str, Rule] = {
    "pinv": _shapes.leading_alone,
    "solve_ex": _shapes.solve_ex,
    "lstsq": _shapes.lstsq,
    "scaled_dot_product_attention": _products.attention,
    "expand": _shapes.expand,
    "view": _shapes.view,
    "permute": _shapes.permute,
    "mT": _shapes.mT,
    "unsqueeze_dims": _shapes.unsqueeze_dims,
    "repeat": _shapes.repeat,
    "roll": _shapes.roll,
    "diagonal_copy": _shapes.diagonal_copy,
    "trace": _shapes.trace,
    "sum_to": _shapes.sum_to,
    "sum_all": _shapes.all_by_dim("sum"),
    "mean_all": _shapes.all_by_dim("mean"),
    "max_all": _shapes.all_by_dim("amax"),
    "min_all": _shapes.all_by_dim("amin"),
    "prod_all": _shapes.prod_all,
    "median": _shapes.dropped("median"),
    "nanmedian": _shapes.dropped("nanmedian"),
    "mv_t": _products.mv_t,
    "vm": _products.vm,
    "rows_times": _products.rows_times,
    "contract": _products.contract,
    "addmm": _products.sum_of(_products.product(), 2),
    "addmv": _products.sum_of(_products.mv, 1),
    "addr": _products.sum_of(_products.outer, 2),
    "baddbmm": _products.sum_of(_products.bmm, 3),
    "addbmm": _products.sum_of(_products.sum_of_bmm, 2),
    "conv_weight_grad": _windows.conv_weight_grad,
    "channel_sum": _windows.channel_sum,
    "channel_spread": _windows.channel_spread,
    "mse_loss": _losses.mse_loss,
    "nll_loss_backward": _losses.nll_loss_backward,
    "ctc_loss": _losses.ctc_loss,
    "ctc_loss_backward": _losses.ctc_loss_backward,
    "channel_scaled": _norms.channel_scaled,
    "channel_total": _norms.channel_total,
    "channel_fill": _norms.channel_fill,
    "over_deviation": _norms.over_deviation,
    "norm_moments": _norms.moments,
    "norm_weight_grad": _norms.norm_weight_grad,
    "index": _places.index,
    "index_backward": _places.index_backward,
    "index_put": _places.index_put,
    "index_select": _places.by_vector("gather"),
    "index_sum": _places.by_vector("scatter_sum"),
    "index_add": _places.by_vector("scatter_add", include_self=True),
    "index_copy": _places.by_vector("scatter"),
    "index_fill": _places.by_vector("scatter_value"),
    "index_fill_tensor": _places.index_fill_tensor,
    "slices_named": _places.slices_named,
    "masked_select": _places.masked_select,
    "take": _places.take,
    "put_sum": _places.put_sum,
    "put": _places.put,
    "embedding_masked": _places.embedding_masked,
    "copy_slices": _places.copy_slices,
    "ordered": _places.ordered,
    "embedding_backward": _places.embedding_backward,
    "masked_scatter": _places.masked_scatter,
    "masked_pack": _places.masked_pack,
    "masked_place": _places.masked_place,
    "as_strided": _strides.as_strided,
    "as_strided_scatter": _strides.as_strided_scatter,
    "restride": _strides.restride,
}
"""Rows with rules of their own."""

RULES: dict[str, Rule] = {name: rule for rule, names in KINDS.items() for name in names.split()} | OWN

BARE: tuple[Rule, ...] = (
    _shapes.shifted,
    _shapes.padded_and_shifted,
    _shapes.leading,
    _shapes.together,
    _shapes.folded,
    _places.gather,
    _losses.nll_loss,
    _losses.nll_loss_backward,
    _losses.ctc_loss,
    _losses.ctc_loss_backward,
    _products.attention,
)
"""Rules that know arrays with a batch among the constants."""
NUMBERS = (_losses.nll_loss, _losses.nll_loss_backward)
"""Rules that know numbers with one for each example among them."""
SHOWN = ("asked", "windows")
"""Constants that no kernel reads: what people see of a node."""
STACKED = frozenset(["bags", "bincount", "repeats", "states", "the maxima of bags"])
"""Choices whose results have shapes that depend on values, which are followed all the same: they raise where shapes differ."""
SUBSCRIPTS = (_places.index, _places.index_backward, _places.index_put)
"""Rules that know tensors with a batch among them."""
DRAWN_BY_VALUE = frozenset(
    ["bernoulli", "bernoulli_tensor", "binomial", "multinomial", "normal_both", "normal_mean", "normal_std", "poisson"]
    + ["sample_dirichlet", "slopes of rrelu", "standard_gamma", "the indices of fractional_max_pool"]
)
"""What draws from distributions that its inputs' values say; the others take no more than a shape from their inputs."""
NO_NEGATIVES: dict[str, type[Exception]] = dict.fromkeys(["embedding", "index_copy", "index_select"], IndexError) | {
    name: RuntimeError
    for name in RULES
    if name.startswith(("gather", "index_add", "scatter_add", "scatter_reduce")) or name in ("scatter", "scatter_value")
}
"""Rows whose public functions refuse negative indices, and what with: kernels would count them from the end."""
