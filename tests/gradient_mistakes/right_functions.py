"""Right functions: custom Functions, writes in place, views, checkpoints, several outputs, scales, and small models."""

from __future__ import annotations

from typing import Any

import minitorch as torch
import minitorch.nn.functional as F
from minitorch.autograd.function import once_differentiable
from minitorch.utils.checkpoint import checkpoint

from ._models import attention, convnet, mlp, motion, recurrent
from ._record import correct, integers, normal, positive, values


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 3 * ctx.saved_tensors[0] ** 2


class CubeOnce(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.slope = 3 * x.detach() ** 2
        return x**3

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.slope


class Exponential(torch.autograd.Function):
    @staticmethod
    def forward(x: Any) -> Any:
        return x.exp()

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.saved_tensors[0]


class ByNumpy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        array = x.detach().numpy()
        ctx.save_for_backward(x)
        return torch.from_numpy(array * array)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return torch.from_numpy(2 * x.detach().numpy() * g.numpy())


class ScaleBias(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, scale: Any, bias: Any) -> Any:
        ctx.save_for_backward(x, scale)
        return x * scale + bias

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, scale = ctx.saved_tensors
        gx = g * scale if ctx.needs_input_grad[0] else None
        return gx, (g * x).sum(0), g.sum(0)


class SinCos(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x.sin(), x.cos()

    @staticmethod
    def backward(ctx: Any, g: Any, h: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * x.cos() - h * x.sin()


class WithIndices(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y, order = x.sort(-1)
        ctx.save_for_backward(order)
        ctx.mark_non_differentiable(order)
        return y, order

    @staticmethod
    def backward(ctx: Any, g: Any, _: Any) -> Any:
        (order,) = ctx.saved_tensors
        return torch.zeros_like(g).scatter(-1, order, g)


class AddInPlace(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        x.add_(1)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g


class SoftmaxHere(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y = x.softmax(-1)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (y,) = ctx.saved_tensors
        return y * (g - (g * y).sum(-1, keepdim=True))


class MatMul(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        ctx.save_for_backward(a, b)
        return a @ b

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        a, b = ctx.saved_tensors
        return g @ b.mT, a.mT @ g


class Relu(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x > 0)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.saved_tensors[0]


correct("function_cube", Cube.apply, normal(3), single=True)
correct("function_cube_once", CubeOnce.apply, normal(3), order=1)
correct("function_setup_context", Exponential.apply, normal(2, 3), single=True)
correct("function_by_numpy", ByNumpy.apply, normal(4), order=1)
correct("function_scale_bias", ScaleBias.apply, normal(3, 2), normal(2), normal(2), single=True)
correct("function_two_outputs", lambda x: SinCos.apply(x), normal(3))
correct("function_one_of_two_outputs", lambda x: SinCos.apply(x)[1], normal(3))
correct("function_side_output", lambda x: WithIndices.apply(x)[0], normal(5), ties=True)
correct("function_in_place", lambda x: AddInPlace.apply(x * 2).sin(), normal(3))
correct("function_softmax", SoftmaxHere.apply, normal(2, 3))
correct("function_matmul", MatMul.apply, normal(2, 3), normal(3, 2))
correct("function_relu", Relu.apply, normal(6), at=(0.0,), single=True)
correct("function_in_mlp", lambda x: mlp(x, Cube.apply), normal(2, 4))
correct("function_in_attention", lambda x: attention(x, SoftmaxHere.apply), normal(5, 4))
correct("function_twice", lambda x: Cube.apply(x) * Cube.apply(x + 1), normal(3))


def write_in_place(x: Any) -> Any:
    h = x * 2
    h.mul_(x)
    h += 1
    return h.sin()


def write_into_view(x: Any) -> Any:
    h = x.exp() * 1.5
    h[0] = h[1] * 2
    h[:, 0].mul_(3)
    return h


def write_masked(x: Any) -> Any:
    h = x.clone()
    h[torch.tensor([True, False, True])] = 0.5
    return h * x


def fill_buffer(x: Any) -> Any:
    out = torch.zeros(4, dtype=x.dtype)
    for i in range(4):
        out[i] = x[i] * (out[i - 1].clone() if i else 1)
    return out


def copy_into(x: Any, y: Any) -> Any:
    h = torch.empty(2, 3, dtype=x.dtype)
    h.copy_(x)
    return h * y


def relu_in_place(x: Any) -> Any:
    return torch.relu_(x * 1)


def saved_then_edited_allowed(x: Any) -> Any:
    h = x.sin()
    y = h + 1
    h.add_(y)
    return h


correct("in_place_chain", write_in_place, normal(3), single=True)
correct("in_place_views", write_into_view, normal(2, 3))
correct("in_place_mask", write_masked, normal(3))
correct("in_place_buffer", fill_buffer, normal(4))
correct("in_place_copy", copy_into, normal(3), normal(2, 3))
correct("in_place_relu", relu_in_place, normal(6), at=(0.0,))
correct("in_place_of_unsaved", saved_then_edited_allowed, normal(3))
correct("view_of_view", lambda x: x.view(2, 6)[:, 1:5].reshape(2, 2, 2).transpose(0, 2) ** 2, normal(3, 4))
correct("as_strided", lambda x: torch.as_strided(x, (3, 2), (1, 1)).prod(1), normal(4), single=True)
correct("same_view_twice", lambda x: x[0] * x[0] + x[1] * x[0], normal(2, 3))
correct("non_contiguous", lambda x: (x.t().flip(0) * torch.arange(12).reshape(4, 3)).cumsum(0), normal(3, 4))

correct(
    "checkpointed", lambda x: checkpoint(lambda h: (h.sin() * h).tanh(), x, use_reentrant=False), normal(3), single=True
)
correct(
    "checkpointed_layer",
    lambda x, w: checkpoint(lambda a, b: F.gelu(a @ b), x, w, use_reentrant=False),
    normal(2, 3),
    normal(3, 2),
)

correct("several_outputs", lambda x, y: (x * y, x.sum(), y.exp()), normal(3), normal(3))
correct("output_twice", lambda x: (x.sin(), x.sin()), normal(3))
correct("input_as_output", lambda x: x.clone(), normal(3))
correct("unused_input", lambda x, y: x * 2, normal(3), normal(2))
correct("input_used_thrice", lambda x: x * x.sin() + x.cumsum(0), normal(4), single=True)
correct("constant_detached", lambda x: x * torch.ones_like(x).detach(), normal(3))
correct("zero_dim", lambda x, y: (x * y).sin() + x, normal(), normal(), single=True)
correct("zero_dim_from_item_of_integer", lambda x, n: x ** (n.max().item() + 2), normal(3), integers(2, 2))
correct("constant_function", lambda x: x * 0 + 3, normal(3))
correct("linear_in_side_input", lambda x, n: (x * n).sum(), normal(4), integers(5, 4), single=True)
correct("long_chain", lambda x: x.sin().exp().tanh().sigmoid().log().neg().sqrt(), normal(3))
correct("python_loop", lambda x: sum((x * k).sin() / k for k in range(1, 6)), normal(3))
correct("branch_by_value", lambda x: x.square() if x.sum().item() > -100 else x, normal(3))
correct("newton_steps", lambda a: _square_root(a), positive(3))
correct("horner", lambda x, c: ((c[3] * x + c[2]) * x + c[1]) * x + c[0], normal(4), normal(4))
correct("tiny_scale", lambda x: (x * 1e6).sin() * 1e-6, normal(3, scale=1e-6), smooth=False)
correct("tiny_values_square", torch.square, normal(3, scale=1e-6), smooth=False)
correct("huge_values_log", torch.log, values(1e6, 2e6, 5e5), smooth=False)
correct("huge_scale", lambda x: x * 1e6, normal(3), single=True)
correct(
    "huge_values_ratio",
    lambda x, y: x / y,
    normal(3, scale=1e6),
    normal(3, scale=1e5, shift=1e6),
    smooth=False,
    single=True,
)
correct("mixed_scales", lambda x, y: (x * 1e-6 + y * 1e6).sum(), normal(2), normal(2), smooth=False)
correct("far_from_zero", lambda x: (x - 1e3).square(), normal(3, shift=1e3), smooth=False)
correct("logsumexp_of_large", lambda x: x.logsumexp(0), normal(4, scale=300.0), smooth=False)
correct("normalised_far", lambda x: F.layer_norm(x, (4,)), normal(2, 4, shift=100.0), smooth=False)

correct("model_mlp", lambda x: mlp(x, torch.tanh), normal(3, 4))
correct("model_attention", lambda x: attention(x, lambda s: s.softmax(1)), normal(5, 4))
correct("model_recurrent", lambda x: recurrent(x, torch.sin), normal(5, 3, 4))
correct("model_convnet", lambda x: convnet(x, torch.tanh), normal(2, 2, 6, 6))
correct("model_motion", lambda x: motion(x, torch.sin), normal(8))


def _square_root(a: Any) -> Any:
    y = a
    for _ in range(6):
        y = (y + a / y) / 2
    return y


def _gru(x: Any, h: Any, w: Any) -> Any:
    z, r = (x @ w[0] + h).sigmoid(), (x @ w[1] - h).sigmoid()
    return (1 - z) * h + z * (x @ w[2] + r * h).tanh()


def _perceptron(x: Any, w: Any, b: Any, v: Any) -> Any:
    return torch.relu(x @ w + b) @ v


def _power_iteration(a: Any) -> Any:
    m = a @ a.t() + torch.diag(torch.tensor([9.0, 1.0, 1.0], dtype=a.dtype))
    v = torch.ones(3, dtype=a.dtype)
    for _ in range(8):
        v = m @ v
        v = v / v.norm()
    return v @ m @ v


def _bilinear_sample(image: Any, at: Any) -> Any:
    left = at.detach().floor().long()
    part = at - left
    return image[left] * (1 - part) + image[left + 1] * part


correct("gru_cell", _gru, normal(2, 3), normal(2, 3), normal(3, 3, 3), single=True)
correct("perceptron", _perceptron, normal(2, 3), normal(3, 4), normal(4), normal(4), smooth=False, single=True)
correct("power_iteration", _power_iteration, normal(3, 3))
correct(
    "linear_interpolation",
    _bilinear_sample,
    normal(5),
    lambda generator: torch.rand(3, generator=generator).double() * 0.8 + 1.1,
)
correct("softmax_temperature", lambda s, t: (s / t).softmax(-1), normal(2, 3), positive(1))
correct("squared_distances", lambda a, b: (a[:, None] - b).square().sum(-1), normal(3, 2), normal(2, 2), single=True)
correct("kernel_matrix", lambda a: (-(a[:, None] - a).square().sum(-1) / 2).exp(), normal(3, 2))
correct(
    "graph_convolution", lambda x, w: torch.eye(3, dtype=x.dtype).roll(1, 0) @ x @ w + x, normal(3, 2), normal(2, 2)
)
correct("moving_average", lambda x: torch.stack([x[i : i + 3].mean() for i in range(4)]), normal(6), single=True)
correct("weight_norm", lambda v, s: s * v / v.norm(dim=1, keepdim=True), normal(2, 3), positive(2, 1))
correct("low_rank", lambda u, v, x: (x @ u) @ v + x, normal(3, 1), normal(1, 3), normal(2, 3))
correct("dropout_with_given_mask", lambda x, m: x * (m > 0) / 0.75, normal(6), integers(4, 6))
correct(
    "mixture_log_density", lambda x, m: torch.logsumexp(-0.5 * (x[:, None] - m) ** 2, 1).sum(), normal(4), normal(3)
)
correct(
    "rotary", lambda x: torch.cat([x[:, :2] * 0.8 - x[:, 2:] * 0.6, x[:, :2] * 0.6 + x[:, 2:] * 0.8], 1), normal(3, 4)
)
correct("transposed_input", lambda x: x.sin() * x.cumsum(1), lambda generator: normal(4, 3)(generator).t())
correct("strided_input", lambda x: (x * x).sum(0), lambda generator: normal(4, 6)(generator)[::2, 1::2])
correct(
    "expanded_input", lambda x: x.exp().mean(1), lambda generator: normal(1, 3)(generator).expand(2, 3), smooth=False
)
