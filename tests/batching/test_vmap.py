"""vmap: a function of one example as a function of a batch."""

from __future__ import annotations

import functools
from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch as torch
from minitorch import nn, vmap
from minitorch.func import functional_call, grad, grad_and_value, jacfwd, jacrev, jvp, vjp


def normal(*shape: int, seed: int = 0) -> Any:
    return torch.tensor(np.random.default_rng(seed).normal(size=shape))


def same(found: Any, expected: Any, tolerance: float = 1e-12) -> None:
    assert tuple(found.shape) == tuple(expected.shape)
    assert found.dtype is expected.dtype
    np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), tolerance, tolerance)


def loop(function: Callable[..., Any], *batches: Any) -> Any:
    return torch.stack([function(*examples) for examples in zip(*batches)])


# -- dimensions and structures -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("dim", [0, 1, 2, -1, -3])
def test_examples_lie_along_any_dimension(dim: int) -> None:
    x, y = normal(3, 4, 5), normal(3, 4, 5, seed=1)
    found = vmap(lambda a, b: a.mT @ b, in_dims=(dim, dim))(x, y)
    same(found, loop(lambda a, b: a.mT @ b, x.unbind(dim), y.unbind(dim)))


@pytest.mark.parametrize("dim", [0, 1, 2, -1, -2])
def test_results_have_them_where_out_dims_says(dim: int) -> None:
    x = normal(5, 2, 3)
    same(vmap(torch.tanh, out_dims=dim)(x), torch.tanh(x).movedim(0, dim))


def test_arguments_without_a_dimension_are_shared() -> None:
    x, y = normal(4, 3), normal(3, seed=1)
    same(vmap(torch.dot, in_dims=(0, None))(x, y), x @ y)
    same(vmap(torch.dot, (None, 0))(y, x), x @ y)
    same(vmap(lambda x, n: x * n, (0, None))(x, 3), x * 3)


def test_arguments_and_results_are_trees() -> None:
    Pair = namedtuple("Pair", "first second")
    x, y = normal(4, 3), normal(3, 4, seed=1)

    def function(pair: Any, scale: Any) -> Any:
        return {
            "sum": pair.first + pair.second["inner"],
            "pair": Pair(pair.first * scale[0], [pair.second["inner"].sum()]),
        }

    arguments = Pair(x, {"inner": y})
    out = vmap(function, in_dims=(Pair(0, {"inner": 1}), None), out_dims={"sum": 1, "pair": 0})(arguments, [2.0])
    same(out["sum"], (x + y.T).T)
    assert isinstance(out["pair"], Pair)
    same(out["pair"].first, x * 2)
    same(out["pair"].second[0], y.sum(0))
    same(vmap(lambda pair: pair[0] * pair[1], in_dims=(0,))((x, y.T))[0], x[0] * y.T[0])


def test_keyword_arguments_are_shared() -> None:
    x = normal(3, 2)
    out = vmap(lambda x, scale: x * scale)(x, scale=x)
    assert tuple(out.shape) == (3, 3, 2)
    same(out[1, 2], x[1] * x[2])


def test_results_that_do_not_depend_on_the_batch_are_expanded() -> None:
    x, y = normal(3, 2), normal(2, seed=1)
    out = vmap(lambda x: (y * 2, torch.zeros(4)), out_dims=(1, 0))(x)
    same(out[0], (y * 2).expand(3, 2).T)
    assert tuple(out[1].shape) == (3, 4)
    alone = vmap(lambda x: (x, y, 7), out_dims=(0, None, None))(x)
    same(alone[1], y)
    assert alone[2] == 7


def test_nested_maps() -> None:
    x, y = normal(3, 4), normal(5, 4, seed=1)
    outer = vmap(vmap(lambda a, b: (a * b).sum(), in_dims=(None, 0)), in_dims=(0, None))
    same(outer(x, y), x @ y.T)
    table = vmap(vmap(torch.mul, (None, 0)), (0, None))(torch.arange(3.0), torch.arange(4.0))
    same(table, torch.outer(torch.arange(3.0), torch.arange(4.0)))

    def inner_depends_on_outer(row: Any) -> Any:
        scale = row.exp().sum()
        index = row.argsort()
        return vmap(lambda v: (v * scale)[index] + row)(y)

    same(outer_map := vmap(inner_depends_on_outer)(x), torch.stack([inner_depends_on_outer(r) for r in x]))
    assert tuple(outer_map.shape) == (3, 5, 4)


def test_a_decorated_function_keeps_its_name() -> None:
    @vmap
    def squared(x: Any) -> Any:
        """Of x."""
        return x * x

    assert (squared.__name__, squared.__doc__) == ("squared", "Of x.")
    same(squared(torch.arange(3.0)), torch.tensor([0.0, 1.0, 4.0]))
    assert torch.func.vmap is vmap


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_chunks_give_the_same(count: int) -> None:
    x, w = normal(3, 5), normal(3, seed=1)
    whole = vmap(lambda x: (x * w, x.sum()), in_dims=1, out_dims=(-1, 0))(x)
    parts = vmap(lambda x: (x * w, x.sum()), in_dims=1, out_dims=(-1, 0), chunk_size=count)(x)
    for a, b in zip(whole, parts):
        same(a, b)


def test_no_examples() -> None:
    out = vmap(lambda x, y: (x * y).sum(0), (0, None))(torch.ones(0, 3, 2), torch.ones(2))
    assert tuple(out.shape) == (0, 2)
    assert tuple(vmap(lambda x: x.softmax(0), chunk_size=2)(torch.ones(0, 3)).shape) == (0, 3)


# -- what functions do -------------------------------------------------------------------------------------------------
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "arithmetic": lambda x: (x * 2 - 1).exp() / (x.abs() + 1),
    "reductions": lambda x: x.sum() + x.mean(0).max() + x.std() + x.norm() + x.logsumexp(1).sum() + x.prod(),
    "chosen": lambda x: (
        x.max(1).values + x.min(1)[0] + x.sort(1).values[:, 0] + x.topk(2, 1)[0].sum(1) + x.median(1)[0]
    ),
    "indices": lambda x: x.argmax(1) + x.argsort(0)[0, 0] + x.sort(1).indices[:, 1],
    "shapes": lambda x: x.reshape(-1)[:6].view(2, 3).transpose(0, 1).flatten().unsqueeze(0).repeat(2, 1),
    "subscripts": lambda x: x[0] + x[:, 1].sum() + x[-1, None].squeeze() + x[torch.tensor([0, 1])].sum(0),
    "own index": lambda x: x[x.sum(1).argsort()][:, x[0].argsort()] + x[x[:, 0].argmax()[None], x[0].argmax()[None]],
    "joined": lambda x: torch.cat([x, torch.stack([x[0], x[1]])], 0),
    "split": lambda x: x.split(2)[0] * x.chunk(3)[2] + x.unbind(0)[1],
    "compared": lambda x: torch.where(x > 0, x, x * 0.1) + x.masked_fill(x < 0, 7).clamp(0, 1),
    "products": lambda x: x @ x.T @ x + torch.einsum("ij,kj->ik", x, x) @ x,
    "softmax": lambda x: x.softmax(1) * x.log_softmax(0),
    "scan": lambda x: x.cumsum(0) + x.cumprod(1) + x.cummax(0).values,
    "linalg": lambda x: torch.linalg.inv(x @ x.T + torch.eye(3, dtype=x.dtype)) @ x,
    "det": lambda x: torch.linalg.det(x[:, :3]) + torch.linalg.eigvalsh(x @ x.T).sum(),
    "scatter": lambda x: torch.zeros_like(x).scatter(1, x.argsort(1), x),
    "gather": lambda x: x.gather(1, x.argsort(1)),
    "to": lambda x: x.to(torch.float32).double() + x.int(),
    "written": lambda x: x.clone().mul_(2).add_(x).clamp_(min=0),
    "assigned": lambda x: _assigned(x),
    "convolved": lambda x: nn.functional.conv1d(x[None], x.new_ones(2, 3, 2), padding=1)[0],
    "own kernel": lambda x: nn.functional.conv1d(x[None], x[:, :3].reshape(1, 3, 3))[0],
    "normalised": lambda x: nn.functional.layer_norm(x, (4,)) + nn.functional.group_norm(x[None], 3)[0],
    "batch norm": lambda x: nn.functional.batch_norm(x, None, None, training=True),
    "pooled": lambda x: nn.functional.max_pool1d(x[None], 2)[0] + nn.functional.avg_pool1d(x[None], 2)[0],
    "attention": lambda x: nn.functional.scaled_dot_product_attention(x, x, x),
    "losses": lambda x: nn.functional.mse_loss(x, x * 2) + nn.functional.cross_entropy(x, torch.tensor([0, 1, 3])),
    "own targets": lambda x: nn.functional.cross_entropy(x, x.argmin(1)),
    "embedding": lambda x: nn.functional.embedding(x.argmax(0), x),
    "one hot": lambda x: nn.functional.one_hot(x.argmax(1), 4) + x,
    "no grad": lambda x: _without_grad(x),
    "smoothed": lambda x: nn.functional.cross_entropy(x, torch.tensor([0, 1, 3]), label_smoothing=0.1),
    "weighed": lambda x: nn.functional.nll_loss(x.log_softmax(1), x.argmax(1), x.new_ones(4) * 0.3, ignore_index=2),
    "sampled": lambda x: nn.functional.grid_sample(
        x[None, None], x[None, :, :, None].tanh().expand(1, 3, 4, 2), align_corners=True
    ),
    "interpolated": lambda x: nn.functional.interpolate(x[None], scale_factor=2, mode="nearest")[0],
    "sorted into": lambda x: (
        torch.searchsorted(x[0].sort()[0], x[1]) + torch.bucketize(x[2], torch.arange(3.0).double()) + x
    ),
    "any": lambda x: (x > 0).any(1) & (x < 1).all(1),
    "quantile": lambda x: x.quantile(0.3, 1),
    "tril": lambda x: x.tril() + x.flip(0).roll(1, 0),
    "padded": lambda x: nn.functional.pad(x, (1, 2)) + nn.functional.pad(x[None], (2, 1), mode="reflect")[0],
}


def _assigned(x: Any) -> Any:
    y = x.clone()
    y[0] = x[1] * 2
    y[:, 1] += 1
    y.view(-1)[2:4].mul_(3)
    return y


def _without_grad(x: Any) -> Any:
    with torch.no_grad():
        y = x * 2
    return y * x + x.detach()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_map_is_the_loop(name: str) -> None:
    function, x = FUNCTIONS[name], normal(5, 3, 4)
    same(vmap(function)(x), loop(function, x))
    same(vmap(function, in_dims=2)(x.permute(1, 2, 0)), loop(function, x))


@pytest.mark.parametrize("name", [n for n in FUNCTIONS if n not in ("indices", "any")])
def test_gradients_through_a_map_are_those_of_the_loop(name: str) -> None:
    function = FUNCTIONS[name]
    x, y = normal(3, 3, 4).requires_grad_(), normal(3, 3, 4).requires_grad_()
    mapped, looped = vmap(function)(x), loop(function, y)
    weights = torch.arange(mapped.numel(), dtype=torch.float64).reshape(mapped.shape).cos()
    (mapped * weights).sum().backward()
    (looped * weights).sum().backward()
    same(x.grad, y.grad, 1e-9)


@pytest.mark.parametrize("name", [n for n in FUNCTIONS if n not in ("indices", "any")])
def test_gradients_for_each_example_are_those_of_the_loop(name: str) -> None:
    x = normal(3, 3, 4)

    def scalar(x: Any) -> Any:
        y = FUNCTIONS[name](x)
        return (y * torch.arange(y.numel(), dtype=torch.float64).reshape(y.shape).cos()).sum()

    same(vmap(grad(scalar))(x), loop(grad(scalar), x), 1e-9)


@pytest.mark.filterwarnings("ignore:There is a performance drop", "ignore:torch.searchsorted")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_map_is_pytorchs(name: str) -> None:
    oracle = pytest.importorskip("torch")
    x = normal(5, 3, 4)
    function = FUNCTIONS[name]
    names = {**function.__globals__, "torch": oracle, "nn": oracle.nn}
    for helper in ("_assigned", "_without_grad"):
        own = names[helper]
        names[helper] = type(own)(own.__code__, names, helper)
    theirs = type(function)(function.__code__, names, name, function.__defaults__, function.__closure__)
    expected = oracle.vmap(theirs)(oracle.from_numpy(x.numpy()))
    found = vmap(function)(x)
    assert str(found.dtype) == str(expected.dtype)
    np.testing.assert_allclose(found.numpy(), expected.numpy(), 1e-6 if "float32" in str(found.dtype) else 1e-10, 1e-10)


# -- derivatives -------------------------------------------------------------------------------------------------------
def network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.LayerNorm(5), nn.Linear(5, 3)).double()


def test_gradients_of_a_network_for_each_example() -> None:
    model = network()
    parameters = {n: p.detach() for n, p in model.named_parameters()}
    x, target = normal(6, 4), torch.tensor([0, 1, 2, 0, 1, 2])

    def loss(parameters: Any, x: Any, target: Any) -> Any:
        return nn.functional.cross_entropy(functional_call(model, parameters, (x[None],)), target[None])

    found, values = vmap(grad_and_value(loss), in_dims=(None, 0, 0))(parameters, x, target)
    for number in range(6):
        model.zero_grad()
        value = nn.functional.cross_entropy(model(x[number][None]), target[number][None])
        value.backward()
        same(values[number], value)
        for name, parameter in model.named_parameters():
            same(found[name][number], parameter.grad)


def test_networks_of_an_ensemble() -> None:
    models = [network() for _ in range(3)]
    for number, model in enumerate(models):
        for parameter in model.parameters():
            with torch.no_grad():
                parameter.mul_(1 + number / 10)
    stacked, buffers = torch.func.stack_module_state(models)
    x = normal(7, 4)
    found = vmap(lambda p, b: functional_call(models[0], (p, b), (x,)), in_dims=(0, 0))(stacked, buffers)
    same(found, torch.stack([model(x) for model in models]))


def test_derivatives_nest() -> None:
    x = normal(4, 3)

    def cube(x: Any) -> Any:
        return (x**3).sum() * x[0]

    second = grad(lambda x: (grad(cube)(x) ** 2).sum())
    same(vmap(second)(x), loop(second, x), 1e-10)
    hessian = jacrev(jacrev(cube))
    same(vmap(hessian)(x), loop(hessian, x), 1e-10)
    through = grad(lambda x: (vmap(lambda r: (r * r.sum()).tanh())(x)).sum())
    same(through(x), grad(lambda x: (x * x.sum(1, keepdim=True)).tanh().sum())(x), 1e-10)
    _, pull = vjp(lambda x: x.tanh() @ x.T, x)
    rows = torch.eye(16, dtype=torch.float64).reshape(16, 4, 4)
    same(vmap(pull)(rows)[0], torch.stack([pull(r)[0] for r in rows]), 1e-10)


def test_tangents_go_through() -> None:
    x, t = normal(4, 3), normal(4, 3, seed=1)

    def function(x: Any) -> Any:
        return (x.tanh() * x.sum()).exp() * x.max()

    over = jvp(vmap(function), (x,), (t,))[1]
    same(over, torch.stack([jvp(function, (a,), (b,))[1] for a, b in zip(x, t)]), 1e-10)
    same(vmap(lambda a, b: jvp(function, (a,), (b,))[1])(x, t), over, 1e-10)
    curved = lambda a, b: jvp(grad(lambda x: function(x).sum()), (a,), (b,))[1]
    same(vmap(curved)(x, t), loop(curved, x, t), 1e-10)
    same(vmap(jacfwd(function))(x), loop(jacrev(function), x), 1e-10)


def test_captured_parameters_get_gradients() -> None:
    x, w = normal(4, 3), normal(2, 3, seed=1).requires_grad_()
    vmap(lambda x: (w @ x).tanh())(x).sum().backward()
    found, w.grad = w.grad, None
    (x @ w.T).tanh().sum().backward()
    same(found, w.grad)


def test_autograd_grad_inside() -> None:
    x = normal(4, 3)

    def slope(x: Any) -> Any:
        x = x.detach()
        x.requires_grad = True
        (g,) = torch.autograd.grad((x**3).sum(), x)
        return g

    same(vmap(slope)(x), 3 * x**2)
    assert not vmap(slope)(x).requires_grad


def test_gradients_of_a_batch_of_vectors() -> None:
    x = normal(3).requires_grad_()
    y = x.tanh() * x.sum()
    z = x * 2
    vectors = normal(5, 3, seed=2)
    (found,) = torch.autograd.grad(y, x, vectors, is_grads_batched=True, retain_graph=True)
    same(found, torch.stack([torch.autograd.grad(y, x, v, retain_graph=True)[0] for v in vectors]))
    both = torch.autograd.grad([y, z], x, [vectors, vectors], is_grads_batched=True, create_graph=True)
    assert both[0].requires_grad
    (second,) = torch.autograd.grad(both[0].sum(), x, retain_graph=True)
    each = [torch.autograd.grad([y, z], x, [v, v], create_graph=True)[0].sum() for v in vectors]
    same(second, torch.autograd.grad(sum(each), x, retain_graph=True)[0])
    unused = torch.ones(2, requires_grad=True)
    found = torch.autograd.grad(y, [x, unused], vectors, is_grads_batched=True, allow_unused=True)
    assert found[1] is None


# -- writes ------------------------------------------------------------------------------------------------------------
def test_writes_into_a_mapped_argument_are_seen_by_the_caller() -> None:
    x = torch.zeros(3, 2)
    out = vmap(lambda x, y: x.add_(y))(x, torch.arange(3.0))
    same(x, torch.tensor([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]))
    same(out, x)


def test_writes_that_do_not_depend_on_the_batch_happen_once() -> None:
    count, x = torch.zeros(()), normal(3, 2)

    def function(x: Any) -> Any:
        before = x * count
        count.add_(1)
        return before, x * count

    before, after = vmap(function)(x)
    assert count == 1
    same(before, x * 0)
    same(after, x)


def test_a_batch_does_not_fit_into_what_is_shared() -> None:
    shared, x = torch.zeros(2), torch.ones(3, 2)
    with pytest.raises(RuntimeError, match="vmap: an inplace operation is not possible"):
        vmap(lambda x: shared.add_(x))(x)
    with pytest.raises(RuntimeError, match="vmap: an inplace operation is not possible"):
        vmap(lambda x: shared.__setitem__(0, x[0]))(x)
    same(shared, torch.zeros(2))


def test_what_a_function_makes_is_one_for_each_example_where_it_is_written() -> None:
    def function(x: Any) -> Any:
        out, count = torch.zeros(3, dtype=x.dtype), x.new_zeros(())
        for number in range(3):
            out[number] = x[number] * number
            count += x[number]
        like = torch.zeros_like(x)
        like.add_(x)
        return torch.cat([out, count[None], like, torch.ones(1, dtype=x.dtype)])

    x = normal(4, 3)
    same(vmap(function)(x), loop(function, x))
    same(vmap(grad(lambda x: (function(x) ** 2).sum()))(x), loop(grad(lambda x: (function(x) ** 2).sum()), x), 1e-10)
    same(vmap(vmap(function))(x[None]), loop(function, x)[None])


def test_gradients_through_writes() -> None:
    def written(x: Any) -> Any:
        y = x * 1
        y.mul_(x)
        y[0] = y[1].clone() * x[0]
        y.tanh_()
        return (y * x).sum()

    x = normal(4, 3)
    same(vmap(grad(written))(x), loop(grad(written), x), 1e-10)
    a, b = x.clone().requires_grad_(), x.clone().requires_grad_()
    vmap(written)(a).sum().backward()
    loop(written, b).sum().backward()
    same(a.grad, b.grad, 1e-10)


# -- randomness --------------------------------------------------------------------------------------------------------
def noisy(x: Any) -> Any:
    return x + torch.bernoulli(torch.full((50,), 0.5))


def test_random_operations_are_refused_by_default() -> None:
    with pytest.raises(RuntimeError, match="randomness error mode"):
        vmap(noisy)(torch.zeros(3))
    with pytest.raises(RuntimeError, match="Only allowed values for randomness are"):
        vmap(noisy, randomness="some")


def test_random_operations_draw_once_or_for_each() -> None:
    alike = vmap(noisy, randomness="same")(torch.zeros(3))
    same(alike[0], alike[2])
    apart = vmap(noisy, randomness="different")(torch.zeros(3))
    assert not torch.equal(apart[0], apart[1])
    assert tuple(apart.shape) == (3, 50)
    chunks = vmap(noisy, randomness="same", chunk_size=1)(torch.zeros(3))
    same(chunks[0], chunks[2])


def test_noise_of_layers_and_of_factories() -> None:
    x = torch.ones(4, 6, 50)
    for layer in (
        nn.Dropout(0.5),
        nn.Dropout1d(0.5),
        nn.AlphaDropout(0.5),
        lambda x: x * torch.rand(50),
        torch.rand_like,
    ):
        alike, apart = vmap(layer, randomness="same")(x), vmap(layer, randomness="different")(x)
        same(alike[0], alike[3])
        assert not torch.equal(apart[0], apart[3])
        with pytest.raises(RuntimeError, match="randomness error mode"):
            vmap(layer)(x)
    channels = vmap(nn.Dropout1d(0.5), randomness="different")(x)
    assert ((channels == 0).all(-1) | (channels == 2).all(-1)).all()
    assert tuple(vmap(lambda p: torch.multinomial(p, 2), randomness="different")(torch.rand(4, 3)).shape) == (4, 2)


def test_what_is_drawn_from_a_batch_is_not_the_same() -> None:
    with pytest.raises(RuntimeError, match="same randomness with a batched tensor"):
        vmap(torch.bernoulli, randomness="same")(torch.full((3, 2), 0.5))
    assert tuple(vmap(torch.bernoulli, randomness="different")(torch.full((3, 2), 0.5)).shape) == (3, 2)


# -- bad input ---------------------------------------------------------------------------------------------------------
X, W = torch.ones(3, 2), torch.ones(2, requires_grad=True)
BAD: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "no arguments": (lambda: vmap(lambda: X)(), ValueError, "got no inputs"),
    "nothing mapped": (lambda: vmap(torch.sum, in_dims=None)(X), ValueError, "expected `in_dims` to be int or"),
    "nothing mapped of two": (
        lambda: vmap(torch.add, in_dims=(None, None))(X, X),
        ValueError,
        "Expected at least one Tensor",
    ),
    "list of dims": (lambda: vmap(torch.add, in_dims=[0, 0])(X, X), ValueError, "expected `in_dims` to be int or"),
    "too few dims": (
        lambda: vmap(torch.add, in_dims=(0,))(X, X),
        ValueError,
        "in_dims is not compatible with the structure",
    ),
    "another structure": (
        lambda: vmap(lambda p: p[0], in_dims=({"a": 0},))([X]),
        ValueError,
        "in_dims is not compatible",
    ),
    "no dim": (
        lambda: vmap(torch.sum, in_dims=("a",))(X),
        ValueError,
        "in_dim must be either an integer dimension or None",
    ),
    "dim of a number": (lambda: vmap(torch.mul)(X, 2), ValueError, "cannot vmap over non-Tensor arguments"),
    "no such dim": (lambda: vmap(torch.sum, in_dims=2)(X), ValueError, "expected in_dim to satisfy -2 <= in_dim < 2"),
    "0-d": (lambda: vmap(torch.sum)(torch.tensor(1.0)), ValueError, "dimensionality 0"),
    "sizes": (lambda: vmap(torch.add)(X, torch.ones(2, 2)), ValueError, r"got sizes \[3, 2\]"),
    "number returned": (lambda: vmap(lambda x: 1)(X), ValueError, "must only return Tensors, got type <class 'int'>"),
    "nothing returned": (lambda: vmap(lambda x: None)(X), ValueError, "must only return Tensors"),
    "no out dim": (
        lambda: vmap(torch.sum, out_dims=None)(X),
        ValueError,
        "can not return a BatchedTensor when out_dim is None",
    ),
    "out dims": (lambda: vmap(lambda x: (x, x), out_dims=(0, 0, 0))(X), ValueError, "out_dims is not compatible"),
    "out dims of one": (lambda: vmap(torch.sum, out_dims=(0, 0))(X), ValueError, "out_dims is not compatible"),
    "out dim's type": (lambda: vmap(torch.sum, out_dims="a")(X), ValueError, "`out_dims` must be an int, None or"),
    "no such out dim": (lambda: vmap(torch.sum, out_dims=2)(X), IndexError, "Dimension out of range"),
    "chunk": (lambda: vmap(torch.sum, chunk_size=0), ValueError, "chunk_size should be None or greater than 0"),
    "item": (lambda: vmap(lambda x: x.sum().item())(X), RuntimeError, r"calling .item\(\) on a Tensor"),
    "float": (lambda: vmap(lambda x: float(x.sum()))(X), RuntimeError, r"\.item\(\)"),
    "condition": (
        lambda: vmap(lambda x: x if x.sum() > 0 else -x)(X),
        RuntimeError,
        "data-dependent control flow.*torch.where",
    ),
    "numpy": (lambda: vmap(lambda x: torch.tensor(x.numpy()))(X), RuntimeError, "keep to operations on Tensors"),
    "tolist": (lambda: vmap(lambda x: x.tolist())(X), RuntimeError, "keep to operations on Tensors"),
    "numbers": (lambda: vmap(lambda x: torch.tensor([x[0], x[1]]))(X), RuntimeError, r"calling .item\(\) on a Tensor"),
    "contained": (lambda: vmap(lambda x: x if 3 in x else -x)(X), RuntimeError, "data-dependent control flow"),
    "index": (lambda: vmap(lambda x: x.narrow(0, x.argmax(), 1))(X), RuntimeError, r"calling .item\(\) on a Tensor"),
    "number": (lambda: vmap(lambda x: x.clamp(max=2).pow(2).add(x, alpha=x[0]))(X), RuntimeError, "vmap"),
    "backward": (lambda: vmap(lambda x: (x * W).sum().backward())(X), RuntimeError, r"backward\(\) called inside"),
    "mask": (lambda: vmap(lambda x: x[x > 0])(X), RuntimeError, "shape depends on the values"),
    "nonzero": (lambda: vmap(lambda x: x.nonzero())(X), RuntimeError, "vmap"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input(case: str) -> None:
    call, kind, message = BAD[case]
    with pytest.raises(kind, match=message):
        call()
    assert tuple(vmap(torch.sum)(X).shape) == (3,)  # nothing is left behind
    assert W.grad is None


IN_TORCH_TOO = [case for case in BAD if case not in ("numpy", "tolist", "nonzero", "float", "0-d")]


@pytest.mark.parametrize("case", IN_TORCH_TOO)
def test_bad_input_is_refused_with_pytorchs_class(case: str) -> None:
    oracle = pytest.importorskip("torch")
    call, kind, _ = BAD[case]
    names = {"__builtins__": __builtins__, "torch": oracle, "vmap": oracle.vmap}
    names |= {"X": oracle.ones(3, 2), "W": oracle.ones(2, requires_grad=True)}
    theirs = type(call)(call.__code__, names, "call", call.__defaults__, call.__closure__)
    with pytest.raises(Exception) as caught:  # noqa: PT011
        theirs()
    assert isinstance(caught.value, kind), caught.value


# -- custom Functions --------------------------------------------------------------------------------------------------
class Cube(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x: Any, scale: Any) -> Any:
        return scale * x**3

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        x, ctx.scale = inputs
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * 3 * ctx.scale * x**2, None


class Shifted(torch.autograd.Function):
    calls: list[Any] = []  # noqa: RUF012

    @staticmethod
    def forward(x: Any, y: Any) -> Any:
        return x + y

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g, g

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Any, y: Any) -> Any:
        Shifted.calls.append((info.batch_size, info.randomness, in_dims))
        y = y if in_dims[1] is None else y.movedim(in_dims[1], 0)
        return Shifted.apply(x.movedim(in_dims[0], -1), y.movedim(0, -1) if in_dims[1] is not None else y[:, None]), -1


def test_a_function_that_makes_its_rule() -> None:
    x = normal(4, 3)
    same(vmap(lambda x: Cube.apply(x, 2.0).sum(0))(x), (2 * x**3).sum(1))
    same(vmap(grad(lambda x: Cube.apply(x, 2.0).sum()))(x), 6 * x**2, 1e-12)
    leaf = x.clone().requires_grad_()
    vmap(lambda x: Cube.apply(x, 2.0) * x)(leaf).sum().backward()
    same(leaf.grad, 8 * x**3, 1e-10)
    w = normal(3, seed=4).requires_grad_()
    vmap(lambda x: Cube.apply(x * w, 1.0))(x).sum().backward()
    same(w.grad, (3 * x**3 * w.detach() ** 2).sum(0), 1e-10)


def test_a_function_with_a_rule_of_its_own() -> None:
    x, y = normal(4, 3), normal(3, seed=1)
    same(vmap(Shifted.apply, in_dims=(0, None))(x, y), x + y)
    assert Shifted.calls[-1] == (4, "error", (0, None))
    same(vmap(Shifted.apply, in_dims=(0, 0), randomness="same")(x, x * 2), x * 3)
    assert Shifted.calls[-1] == (4, "same", (0, 0))


def test_functions_that_say_nothing_of_vmap_are_refused() -> None:
    class Silent(Cube):
        generate_vmap_rule = False

    class Both(Shifted):
        generate_vmap_rule = True

    class Old(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

    x = normal(2, 3)
    with pytest.raises(RuntimeError, match="does not have vmap support"):
        vmap(lambda x: Silent.apply(x, 1.0))(x)
    with pytest.raises(RuntimeError, match="has both generate_vmap_rule=True and an overridden vmap"):
        vmap(lambda x: Both.apply(x, x))(x)
    with pytest.raises(RuntimeError, match="must override the setup_context staticmethod"):
        vmap(Old.apply)(x)
    elsewhere = normal(2)
    with pytest.raises(RuntimeError, match="must override the setup_context staticmethod"):
        vmap(lambda x: x[0] * Old.apply(elsewhere))(x)  # also where it is the same for all examples
    with pytest.raises(RuntimeError, match="does not have vmap support"):
        vmap(lambda x: x[0] * Silent.apply(elsewhere, 1.0))(x)
    same(vmap(lambda x: x[0] * Cube.apply(elsewhere, 2.0))(x), x[:, :1] * 2 * elsewhere**3)


# -- others ------------------------------------------------------------------------------------------------------------
@pytest.mark.filterwarnings("ignore:To copy construct from a tensor")
def test_tensors_made_of_tensors_are_copies_of_each_example() -> None:
    x = normal(4, 3)
    same(vmap(lambda x: torch.tensor(x) * x.new_tensor(x))(x), x * x)
    same(vmap(lambda x: torch.tensor(x, dtype=torch.int64))(x * 9), (x * 9).long())
    same(vmap(lambda x: torch.as_tensor(x) + torch.asarray(x))(x), x + x)


def test_an_index_out_of_range_in_any_example_is_refused() -> None:
    x, rows = torch.arange(3.0), torch.ones(3, 2)
    for index in (-1, 3):
        places = torch.tensor([[0], [index]])
        with pytest.raises(IndexError, match=r"index -?[0-9]+ is out of bounds"):
            vmap(lambda i: x.index_select(0, i))(places)
        with pytest.raises(IndexError, match=r"index -?[0-9]+ is out of bounds"):
            vmap(lambda i: nn.functional.embedding(i, rows))(places)
        with pytest.raises((RuntimeError, IndexError), match=r"index -?[0-9]+ is out of bounds"):
            vmap(lambda i: x.gather(0, i))(places)
        with pytest.raises(IndexError, match="out of bounds"):
            vmap(lambda i: nn.functional.cross_entropy(x, i[0]))(places)
    same(
        vmap(lambda i: torch.zeros(3).long().scatter_add(0, i, i - 2))(torch.tensor([[0], [1]])).sum(1),
        torch.tensor([-2, -1]),
    )


def test_a_partial_and_a_module_may_be_mapped() -> None:
    x, model = normal(4, 4), network()
    same(vmap(model)(x), model(x), 1e-10)
    same(vmap(functools.partial(torch.mul, other=2))(x), x * 2)


def test_the_function_runs_once() -> None:
    calls = []
    vmap(lambda x: calls.append(1) or x * 2)(normal(5, 2))
    assert calls == [1]


def test_nothing_is_left_where_a_function_raises() -> None:
    from minitorch._modes import observers

    before = list(observers)
    with pytest.raises(ZeroDivisionError):
        vmap(lambda x: x * (1 // 0))(X)
    assert observers == before


@pytest.mark.parametrize(
    "function",
    [
        torch.linalg.inv,
        torch.linalg.cholesky,
        torch.cholesky_inverse,
        torch.linalg.lu_factor,
        lambda a: torch.linalg.solve(a, a),
    ],
    ids=["inv", "cholesky", "cholesky_inverse", "lu_factor", "solve"],
)
def test_a_matrix_that_fails_in_any_example_raises(function: Any) -> None:
    matrices = torch.eye(2).repeat(3, 1, 1)
    torch.vmap(function)(matrices)
    matrices[2] = 0.0
    with pytest.raises(RuntimeError, match="Batch element 2"):
        torch.vmap(function)(matrices)


def test_vectors_without_a_batch_are_refused() -> None:
    x = normal(3).requires_grad_()
    with pytest.raises(
        RuntimeError, match=r"grad_output\[0\] has a shape of torch.Size\(\[\]\) and output\[0\] has a shape of"
    ):
        torch.autograd.grad(x * 2, x, torch.ones(3), is_grads_batched=True)
