"""Examples of no dimensions, of which functions name dimension 0 or -1: transforms over maps are those of the loop."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import minitorch as torch
from minitorch.func import grad, hessian, jacfwd, jvp, vmap

F = torch.nn.functional
NONE, ONE = torch.tensor(0), torch.tensor([0])
X = torch.tensor([[1.0, 2.0, 0.5], [3.0, 4.0, 0.25]], dtype=torch.float64)

SAME = ["sum", "mean", "nansum", "nanmean", "prod", "logsumexp", "amax", "amin", "softmax", "log_softmax", "cumsum"]
SAME += ["cumprod", "logcumsumexp", "unsqueeze", "squeeze"]
ALONG: dict[str, Callable[[Any, int], Any]] = {
    **{
        name: lambda x, d, name=name: getattr(x, name)(d)
        for name in [
            "sum",
            "mean",
            "nansum",
            "nanmean",
            "prod",
            "logsumexp",
            "amax",
            "amin",
            "softmax",
            "log_softmax",
            "cumsum",
            "cumprod",
            "logcumsumexp",
            "unsqueeze",
            "squeeze",
        ]
    },
    **{
        name: lambda x, d, name=name: getattr(x, name)(d)[0]
        for name in ["max", "min", "sort", "median", "nanmedian", "mode", "cummax", "cummin"]
    },
    "sum, kept": lambda x, d: x.sum(d, keepdim=True),
    "amax, kept": lambda x, d: x.amax(d, keepdim=True),
    "std": lambda x, d: x.std(d, unbiased=False),
    "var": lambda x, d: x.var(d, unbiased=False),
    "mean of std_mean": lambda x, d: torch.std_mean(x, d, unbiased=False)[1],
    "var_mean": lambda x, d: sum(torch.var_mean(x, d, unbiased=False)),
    "norm": lambda x, d: x.norm(dim=d),
    "greatest norm": lambda x, d: x.norm(float("inf"), d),
    "sum norm": lambda x, d: x.norm(1, d),
    "vector_norm": lambda x, d: torch.linalg.vector_norm(x, dim=d),
    "aminmax": lambda x, d: sum(torch.aminmax(x, dim=d)),
    "topk": lambda x, d: x.topk(1, d)[0],
    "kthvalue": lambda x, d: x.kthvalue(1, d)[0],
    "stable sort": lambda x, d: torch.sort(x, dim=d, stable=True)[0],
    "argmax": lambda x, d: x * (x.argmax(d) + 1),
    "flip": lambda x, d: x.flip((d,)),
    "movedim": lambda x, d: x.movedim(d, d),
    "transpose": lambda x, d: x.transpose(d, d),
    "gather": lambda x, d: x.gather(d, NONE),
    "index_select": lambda x, d: x.index_select(d, ONE),
    "index_add": lambda x, d: x.index_add(d, NONE, x),
    "scatter": lambda x, d: x.scatter(d, NONE, x * 2),
    "scatter_add": lambda x, d: x.scatter_add(d, NONE, x * 2),
    "quantile": lambda x, d: x.quantile(0.5, d),
    "unfold": lambda x, d: x.unfold(d, 1, 1),
    "normalize": lambda x, d: F.normalize(x, dim=d) * x,
    "cosine_similarity": lambda x, d: F.cosine_similarity(x, x * 2 + 1, dim=d),
    "stack": lambda x, d: torch.stack([x, x * x], d),
    "flatten": lambda x, d: x.flatten(d, d),
}
ALL: dict[str, Callable[[Any], Any]] = {
    **{
        name: lambda x, name=name: getattr(x, name)() for name in ["amax", "nanmean", "squeeze", "ravel", "median", "t"]
    },
    "sum": lambda x: x.sum(()),
    "squeeze of none": lambda x: x.squeeze(()),
    "flip of none": lambda x: x.flip(()),
    "permute": lambda x: x.permute(()),
    "aminmax": lambda x: sum(torch.aminmax(x)),
    "pairwise_distance": lambda x: F.pairwise_distance(x, x * 2 + 1),
    "triplet_margin_loss": lambda x: F.triplet_margin_loss(x, x * 2, x * 3),
    "mT": lambda x: x.mT,
    "T": lambda x: x.T,
}
CASES = {
    **{f"{name}({d})": lambda x, f=f, d=d: f(x, d) for name, f in ALONG.items() for d in (0, -1)},
    **{f"{name}()": f for name, f in ALL.items()},
}


def looped(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda xs: torch.stack([f(x) for x in xs])


def transforms(f: Callable[[Any], Any], each: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    """What transforms give of a function over maps; *each* is ``vmap`` or the loop."""
    value = lambda x: f(x * x) * (x * x + 1)
    total = lambda x: value(x).sum()
    yield "vmap(grad)", each(grad(total))(X[0])
    yield "vmap(vmap(grad))", each(each(grad(total)))(X)
    yield "vmap(vmap(hessian))", each(each(hessian(total)))(X)
    yield "jacfwd(vmap)", jacfwd(each(value))(X[0])
    yield "jvp(vmap(vmap))", jvp(each(each(value)), (X,), (X.cos(),))[1]
    yield "vmap of one that another captured", each(lambda p: each(grad(lambda x: total(p * x)))(X[0]))(X[1])


@pytest.mark.parametrize("name", CASES)
def test_as_the_loop(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, expected = dict(transforms(CASES[name], vmap)), dict(transforms(CASES[name], looped))
    for transform, value in expected.items():
        assert found[transform].shape == value.shape, transform
        torch.testing.assert_close(
            found[transform], value, equal_nan=True, msg=lambda said, t=transform: f"{t}: {said}"
        )


def test_no_dimension_named_of_several() -> None:
    """Nothing is squeezed or turned where no dimension is named; of a 0-d example that is all there are."""
    x = torch.arange(6.0).reshape(2, 1, 3)
    assert vmap(lambda x: x.squeeze(()))(x).shape == (2, 1, 3)
    assert vmap(lambda x: x.flip(()))(x).equal(x)
    assert vmap(lambda x: x.sum(()))(x).tolist() == [3.0, 12.0]


def test_shapes_changed_in_place_before_a_write() -> None:
    def total(x: Any) -> Any:
        v = x.clone()
        v.squeeze_().sigmoid_()
        return v.sum()

    slope = lambda x: x.sigmoid() * (1 - x.sigmoid())
    bend = slope(X[0]) * (1 - 2 * X[0].sigmoid())
    torch.testing.assert_close(vmap(hessian(total))(X[0]), bend)
    torch.testing.assert_close(vmap(vmap(grad(total)))(X), slope(X))
    torch.testing.assert_close(vmap(hessian(total))(X[0].reshape(3, 1)), bend.reshape(3, 1, 1))


@pytest.mark.parametrize("dtype", [torch.bool, torch.int32, torch.float16])
@pytest.mark.parametrize("name", ["sum", "nansum", "mean", "amax", "max"])
def test_reducing_one_element_gives_the_dtype_of_reductions(name: str, dtype: Any) -> None:
    x = torch.tensor([1, 0, 1]).to(dtype)
    function = getattr(torch, name)
    if name == "mean" and dtype != torch.float16:
        pytest.skip("mean() is of floats")
    expected = torch.stack([function(e) for e in x])
    found = torch.vmap(function)(x)
    assert found.dtype == expected.dtype
    assert found.tolist() == expected.tolist()
