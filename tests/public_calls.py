"""Calls of public functions, as samples and declarations make them, with every tensor that they were given."""

from __future__ import annotations

import functools
import inspect
import sys
import types
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import minitorch
import minitorch.linalg
import minitorch.special
from conformance.samples import Sample as Declared
from conformance.spec import all_specs
from minitorch import Tensor, _op
from samples import all_samples

SPACES = {
    "torch": minitorch,
    "nn.functional": minitorch.nn.functional,
    "linalg": minitorch.linalg,
    "special": minitorch.special,
}


@functools.cache
def public_functions() -> dict[str, Callable[..., Any]]:
    """Public functions and methods, each under the first of its names."""
    found: dict[int, tuple[str, Callable[..., Any]]] = {}
    for space, module in SPACES.items():
        for name in sorted(getattr(module, "__all__", vars(module))):
            value = getattr(module, name)
            if isinstance(value, types.FunctionType) and not name.startswith("_"):
                found.setdefault(id(value), (f"{space}.{name}", value))
    for name in dir(Tensor):
        value = inspect.getattr_static(Tensor, name)
        if isinstance(value, types.FunctionType) and (name.startswith("__") or not name.startswith("_")):
            found.setdefault(id(value), (f"Tensor.{name}", value))
    return dict(found.values())


@dataclass(frozen=True)
class Argument:
    """Where a tensor stands in a call: the number or name of the argument, and its place in that, if that is a sequence."""

    name: str
    key: int | str
    place: int | None = None


@dataclass(frozen=True)
class PublicCall:
    """A call of a public function.

    Attributes
    ----------
    name : str
        The function's.
    function : callable
        What was called.
    positional, named : tuple, dict
        Its arguments.
    """

    name: str
    function: Callable[..., Any]
    positional: tuple[Any, ...]
    named: dict[str, Any]

    def float_arguments(self) -> Iterator[Argument]:
        """The tensors of floats among its arguments, those that results are written into excepted."""
        names = list(inspect.signature(self.function).parameters)
        given = [(names[i] if i < len(names) else names[-1], i, v) for i, v in enumerate(self.positional)]
        for name, key, value in [*given, *((k, k, v) for k, v in self.named.items())]:
            if is_floats(value) and name != "out":
                yield Argument(name, key)
            elif isinstance(value, (list, tuple)) and name != "out":
                yield from (Argument(name, key, j) for j, v in enumerate(value) if is_floats(v))

    def at(self, argument: Argument) -> Any:
        value = self.positional[argument.key] if isinstance(argument.key, int) else self.named[argument.key]
        return value if argument.place is None else value[argument.place]

    def run(self, argument: Argument, given: Any) -> list[Any]:
        """The results that are tensors of floats, of copies of the arguments, with *given* in place of one of them."""

        def fresh(value: Any, key: int | str, place: int | None = None) -> Any:
            if key == argument.key and place == argument.place:
                return given
            if isinstance(value, Tensor):
                return value.detach().clone()
            if type(value) in (list, tuple) and place is None:
                return type(value)([fresh(v, key, j) for j, v in enumerate(value)])
            return value.manual_seed(0) if isinstance(value, minitorch.Generator) else value

        minitorch.manual_seed(0)
        positional = [fresh(v, i) for i, v in enumerate(self.positional)]
        result = self.function(*positional, **{k: fresh(v, k) for k, v in self.named.items()})
        return [r for r in flat(result) if r.is_floating_point()]

    def kind(self) -> Any:
        """What is alike in calls that need not both be tried."""
        return tuple([described(v) for v in self.positional]), tuple([(k, described(v)) for k, v in self.named.items()])


def is_floats(value: Any) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point() and value.numel() > 0


def flat(result: Any) -> list[Any]:
    if isinstance(result, (tuple, list)):
        return [t for r in result for t in flat(r)]
    return [result] if isinstance(result, Tensor) else []


def described(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.dim(), value.dtype
    if isinstance(value, (list, tuple)):
        return tuple([described(v) for v in value])
    return type(value).__name__ if isinstance(value, (float, int)) and value.__class__ is not bool else repr(value)[:40]


# -- what is called ----------------------------------------------------------------------------------------------------
FORMS = """
F.adaptive_max_pool1d(x, 2)
F.max_pool1d(x, 2, return_indices=True)
F.adaptive_max_pool2d(x[None, None], 2, return_indices=True)
F.adaptive_max_pool3d(x[None, None, None], 1, return_indices=True)
F.max_pool2d(x[None, None], 2, return_indices=True)
F.max_pool3d(x[None, None, None], 1, return_indices=True)
F.fractional_max_pool2d(x[None, None], 2, output_size=2, _random_samples=x[None, :1, :2])
F.fractional_max_pool3d(x.expand(1, 1, 5, 4, 4), 2, output_size=2, _random_samples=x[None, :1, :3])
F.affine_grid(x[None, :2, :3], (1, 1, 3, 3))
torch.affine_grid_generator(x[None, :2, :3], (1, 1, 3, 3), True)
torch.grid_sampler(x[None, None], x[None, :, :2, None].expand(1, 4, 2, 2), 0, 0, False)
F.dropout(x); F.dropout1d(x); F.dropout2d(x[None, None]); F.dropout3d(x[None, None, None]); F.alpha_dropout(x)
F.feature_alpha_dropout(x); F.rrelu(x - 0.5, training=True); F.gumbel_softmax(x)
torch.dropout(x, 0.5, True); torch.alpha_dropout(x, 0.5, True); torch.feature_dropout(x, 0.5, True)
torch.feature_alpha_dropout(x, 0.5, True); torch.rrelu(x - 0.5, training=True)
torch.dropout_(x.clone(), 0.5, True); torch.alpha_dropout_(x.clone(), 0.5, True); torch.rrelu_(x - 0.5)
torch.feature_dropout_(x.clone(), 0.5, True); torch.feature_alpha_dropout_(x.clone(), 0.5, True)
torch.batch_norm(x, v, v + 1, v, v, True, 0.1, 1e-5, False)
torch.batch_norm(x, v, v + 1, v, v, False, 0.1, 1e-5, False)
F.batch_norm(x, v, v + 1); F.instance_norm(x[None], v, v + 1, v, v, use_input_stats=False)
torch.instance_norm(x[None], v, v + 1, v, v, False, 0.1, 1e-5, False)
F.bilinear(x, x, x[None].expand(2, 4, 4), v[:2]); F.local_response_norm(x[None], 2)
F.lp_pool1d(x, 2, 2); F.lp_pool2d(x[None], 2, 2); F.lp_pool3d(x[None, None], 2, 1)
torch.conv_tbc(x[:, None], x[:2, :, None], v[:1]); F.conv3d(x[None, None, None], x[None, None, None, :2, :2], v[:1])
F.conv_transpose3d(x[None, None, None], x[None, None, None, :2, :2], v[:1])
F.embedding_bag(torch.tensor([[0, 1], [1, 2]]), x, per_sample_weights=x[:2, :2], mode="sum")
torch.embedding(x, torch.tensor([0, 2])); torch.embedding_bag(x, torch.tensor([0, 2]), torch.tensor([0]))
torch.embedding_bag(x, torch.tensor([0, 2]), torch.tensor([0]), False, 0, False, v[:2])
F.max_pool1d_with_indices(x, 2); F.adaptive_max_pool1d_with_indices(x, 2); torch.max_pool1d_with_indices(x, 2)
F.max_pool2d_with_indices(x[None], 2); F.adaptive_max_pool2d_with_indices(x[None], 2)
F.max_pool3d_with_indices(x[None, None], 1); F.adaptive_max_pool3d_with_indices(x[None, None], 1)
F.fractional_max_pool2d_with_indices(x[None], 2, 2, _random_samples=x[None, :1, :2])
F.fractional_max_pool3d_with_indices(x.expand(1, 5, 4, 4), 2, 2, _random_samples=x[None, :1, :3])
F.linear_cross_entropy(x, x, i, linear_bias=v); F.linear_cross_entropy(x, x, i, weight=v)
F.multi_head_attention_forward(x, x, x, 4, 2, None, v.repeat(3), v[None, None], v[None, None], False, 0.0, x, v, use_separate_proj_weight=True, q_proj_weight=x, k_proj_weight=x, v_proj_weight=x)
F.multi_head_attention_forward(x, x, x, 4, 2, x.repeat(3, 1), v.repeat(3), None, None, False, 0.0, x, v, static_k=x.reshape(2, 4, 2), static_v=x.reshape(2, 4, 2))
torch.detach(x); torch.linalg.matrix_rank(x, atol=v[0])
F.upsample(x[None], 8); F.upsample_nearest(x[None, None], 8); F.upsample_bilinear(x[None, None], 8)
F.multi_margin_loss(x, i, weight=v); F.multilabel_margin_loss(x, torch.tensor([[0, -1, 1, 2]] * 4))
F.multilabel_soft_margin_loss(x, x.round(), weight=v); F.multilabel_soft_margin_loss(x, x * 0.5)
F.soft_margin_loss(x, x * 0.5 + 1); F.hinge_embedding_loss(x, x.round() * 2 - 1)
F.poisson_nll_loss(x, x + 1); F.gaussian_nll_loss(x, x + 1, x + 2); F.kl_div(x, x + 0.5)
F.huber_loss(x, x + 0.3, weight=x + 0.1); F.mse_loss(x, x + 0.3, weight=x); F.l1_loss(x, x + 0.3, weight=x)
F.binary_cross_entropy(x * 0.5, x * 0.4, x); F.nll_loss(x, i, v); F.cross_entropy(x, i, v); F.cross_entropy(x, x, v)
F.cosine_embedding_loss(x, x * x, torch.ones(4)); F.margin_ranking_loss(x, x * x, x * 0 + 1)
F.triplet_margin_loss(x, x * x, x + 1); F.triplet_margin_with_distance_loss(x, x * x, x + 1)
F.ctc_loss(x[:, None].log_softmax(-1), torch.tensor([1, 2]), torch.tensor([4]), torch.tensor([2]))
torch.cosine_embedding_loss(x, x * x, torch.ones(4)); torch.margin_ranking_loss(x, x * x, x * 0 + 1)
torch.triplet_margin_loss(x, x * x, x + 1); torch.hinge_embedding_loss(x, x.round() * 2 - 1)
torch.kl_div(x, x + 0.5); torch.poisson_nll_loss(x, x + 1, True, False, 1e-8, 1)
torch.binary_cross_entropy_with_logits(x, x * 0.5, v, v)
torch.ctc_loss(x[:, None].log_softmax(-1), torch.tensor([1, 2]), [4], [2])
torch.gru_cell(x, x, x.repeat(3, 1), x.repeat(3, 1), v.repeat(3), v.repeat(3))
torch.rnn_tanh_cell(x, x, x, x, v, v); torch.rnn_relu_cell(x, x, x, x, v, v)
F.multi_head_attention_forward(x, x, x, 4, 2, x.repeat(3, 1), v.repeat(3), None, None, False, 0.0, x, v, attn_mask=x)
F.scaled_dot_product_attention(x, x, x, attn_mask=x)
torch.bincount(torch.tensor([0, 1, 1, 2]), v); torch.histogram(v, 3); torch.histogram(v, 3, weight=v)
torch.histogram(v, torch.linspace(0, 1, 4, dtype=torch.float64)); torch.histogramdd(x[:, :2], [2, 2], weight=v)
torch.histogramdd(x[:, :2], [v.sort()[0], v.sort()[0]]); torch.histc(v, 3)
torch.geqrf(x); torch.orgqr(x, v); torch.linalg.diagonal(x); torch.chain_matmul(x, x, x)
torch.linalg.pinv(x, rtol=v[0] * 0.01); torch.linalg.pinv(x, atol=v[0] * 0.01); torch.linalg.pinv(x, v[0] * 0.01)
torch.linalg.matrix_rank(x, rtol=v[0]); torch.cov(x, aweights=v); torch.cov(x, fweights=i + 1)
torch.gradient(v); torch.gradient(v, spacing=(v.cumsum(0),)); torch.gradient(x, spacing=[v.cumsum(0), v.cumsum(0)])
torch.quantile(x, v * 0.5); torch.nanquantile(x, v * 0.5); torch.logspace(v[0], v[1], 5); torch.linspace(v[0], v[1], 5)
torch.arange(v[0]); torch.full((2,), v[0]); torch.full_like(x, v[0]); x.new_full((2,), v[0]); x.new_tensor(v)
torch.tensor(v); torch.as_tensor(v); torch.asarray(v); torch.scalar_tensor(v[0])
torch.zeros_like(x); torch.rand_like(x); torch.randn_like(x); torch.randint_like(x, 5)
torch.binomial(x.round() + 2, x * 0.8); torch.poisson(x); torch.bernoulli(x * 0.8); torch.normal(x, x)
torch.normal(x, 1.0); torch.normal(0.0, x); torch.multinomial(x, 2)
x.index_reduce(0, torch.tensor([0, 2]), x[:2], "mean"); x.index_reduce(0, torch.tensor([0, 2]), x[:2], "prod")
torch.channel_shuffle(x[None], 2); torch.conj(x); torch.float_power(x, x); torch.div(x, x)
torch.eq(x, x); torch.ne(x, x); torch.greater(x, x); torch.less(x, x)
torch.dsplit(x[None], 2); torch.hsplit(x, 2); torch.vsplit(x, 2); torch.unsafe_split(x, 2)
torch.isin(x, v); x.repeat_interleave(2, 0); x.type_as(v); x.view_as(x); x.half(); x.int(); x.cpu()
x.sum_to_size(1, 4); x.fill_diagonal_(2.0); x.type(torch.float32); reversed(x); x.resize(16); x.resize_as(x)
x.clone().fill_(v[0]); x.clone().masked_fill_(x > 0.5, v[0]); x.index_fill(0, torch.tensor([1]), v[0])
torch.renorm(x, 2, 0, v[0]); torch.pdist(x, v[0]); torch.pinverse(x, v[0]); torch.norm(x, v[0]); F.elu(x - 1, v[0])
torch.kaiser_window(4, True, v[0]); F.pad(x, (1, 1), value=v[0]); torch.logit(x * 0.5, v[0]); F.dropout(x, v[0] * 0.5)
torch.addcmul(x, x, x, value=v[0]); torch.add(x, x, alpha=v[0]); F.layer_norm(x, (4,), eps=v[0]); F.softplus(x, v[0])
torch.linalg.lstsq(x, x, rcond=v[0] * 0.01); torch.std(x, correction=v[0]); F.huber_loss(x, x + 1, delta=v[0])
"""  # noqa: E501
"""Further calls: of *x*, a square matrix, *v*, a vector, and *i*, 0 to 3."""


def forms() -> list[str]:
    """``FORMS``, one by one."""
    return [form.strip() for line in FORMS.strip().splitlines() for form in line.split(";")]


def named(torch: Any) -> dict[str, Any]:
    """What stands in them, new each time."""
    rng = np.random.default_rng(3)
    x, v = torch.from_numpy(rng.uniform(0.1, 1.0, (4, 4))), torch.from_numpy(rng.uniform(0.2, 0.9, 4))
    return {"torch": torch, "F": torch.nn.functional, "x": x, "v": v, "i": torch.arange(4)}


def _runs() -> Iterator[Callable[[], Any]]:
    for _, cases in sorted(all_samples().items()):
        for case in cases:
            yield functools.partial(case.call, minitorch, *[minitorch.from_numpy(np.array(a)) for a in case.inputs])
    for parts in all_specs().values():
        for part in parts:
            shapes = [shape for shape in part.shapes if not isinstance(shape, str)]
            for form in [f for f in part.forms if shapes and "out=" not in f]:
                declared = Declared(part, form, shapes[0], part.dtypes[0], "contiguous", "none")
                tensors = {name: minitorch.from_numpy(np.array(a)) for name, a in declared.arrays().items()}
                names = {"torch": minitorch, "np": np, "inf": float("inf"), "nan": float("nan"), **tensors}
                yield functools.partial(eval, compile(form, form, "eval"), names)
    for form in forms():
        yield functools.partial(eval, compile(form, form, "eval"), named(minitorch))


def observed(runs: Sequence[Callable[[], Any]]) -> list[PublicCall]:
    """The calls of public functions that some functions make."""
    for row in _op.rows.values():
        if row.node_type is None:
            _op.build(row)  # its functions have other code then
    functions = public_functions()
    codes: dict[int, list[str]] = defaultdict(list)
    for name, function in functions.items():
        codes[id(function.__code__)].append(name)
    found: list[PublicCall] = []

    def look(frame: types.FrameType, event: str, _: Any) -> None:
        names = codes.get(id(frame.f_code), ()) if event == "call" else ()
        code, values = frame.f_code, frame.f_locals
        names = [n for n in names if is_of(frame, functions[n])] if len(names) > 1 else names
        if len(names) != 1:
            return
        count, keywords = code.co_argcount, code.co_kwonlyargcount
        positional = [values[n] for n in code.co_varnames[:count]]
        named = {n: values[n] for n in code.co_varnames[count : count + keywords]}
        if code.co_flags & inspect.CO_VARARGS:
            positional += values[code.co_varnames[count + keywords]]
        if code.co_flags & inspect.CO_VARKEYWORDS:
            named |= values[code.co_varnames[count + keywords + bool(code.co_flags & inspect.CO_VARARGS)]]
        found.append(PublicCall(names[0], functions[names[0]], tuple(positional), named))

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        _run_all(runs)
    finally:
        sys.setprofile(before)
    return [replace(call, positional=kept(call.positional), named=kept(call.named)) for call in found]


def is_of(frame: types.FrameType, function: Any) -> bool:
    """Whether a frame is of a call of this function, of several that have one code: made by another, or a row's two."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or ())
    return frame.f_globals is function.__globals__ and all(
        [frame.f_locals.get(name) is cell.cell_contents for name, cell in cells]
    )


def kept(arguments: Any) -> Any:
    """Arguments without history, which a call in place may have given them."""
    if isinstance(arguments, dict):
        return {k: kept(v) for k, v in arguments.items()}
    if type(arguments) in (list, tuple):
        return type(arguments)([kept(v) for v in arguments])
    return arguments.detach() if isinstance(arguments, Tensor) else arguments


def _run_all(runs: Sequence[Callable[[], Any]]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for run in runs:
            try:
                run()
            except Exception:  # declarations have calls that are refused
                continue


@functools.cache
def public_calls(each: int = 2) -> list[PublicCall]:
    """Calls of every public function: at most so many where arguments are of the same kinds."""
    kinds: dict[Any, int] = defaultdict(int)
    found = []
    for call in observed(list(_runs())):
        kind = (call.name, call.kind())
        if kinds[kind] < each:
            kinds[kind] += 1
            found.append(call)
    return found
