"""Dtypes that an operation has no kernel for, and that NumPy would accept: refused as by PyTorch."""

from __future__ import annotations

from typing import Any

import pytest

import minitorch

CASES: dict[str, tuple[Any, str]] = {
    "mm": (lambda torch: mask(torch, 2, 2) @ mask(torch, 2, 2), "not implemented for 'Bool'"),
    "mv": (lambda torch: mask(torch, 2, 2) @ mask(torch, 2), "not implemented for 'Bool'"),
    "dot": (lambda torch: mask(torch, 2) @ mask(torch, 2), "not implemented for 'Bool'"),
    "vm": (lambda torch: mask(torch, 2) @ mask(torch, 2, 2), "not implemented for 'Bool'"),
    "bmm": (lambda torch: torch.bmm(mask(torch, 1, 2, 2), mask(torch, 1, 2, 2)), "not implemented for 'Bool'"),
    "addmm": (lambda torch: torch.addmm(*[mask(torch, 2, 2)] * 3), "not implemented for 'Bool'"),
    "baddbmm": (lambda torch: torch.baddbmm(*[mask(torch, 1, 2, 2)] * 3), "not implemented for 'Bool'"),
    "einsum": (lambda torch: torch.einsum("ij,j", mask(torch, 2, 2), mask(torch, 2)), "not implemented for 'Bool'"),
    "tensordot": (lambda torch: torch.tensordot(mask(torch, 2, 2), mask(torch, 2, 2)), "not implemented for 'Bool'"),
    "trace": (lambda torch: torch.trace(mask(torch, 2, 2)), "not implemented for 'Bool'"),
    "floor": (lambda torch: torch.floor(mask(torch, 2)), "not implemented for 'Bool'"),
    "ceil": (lambda torch: torch.ceil(mask(torch, 2)), "not implemented for 'Bool'"),
    "trunc": (lambda torch: torch.trunc(mask(torch, 2)), "not implemented for 'Bool'"),
    "round": (lambda torch: torch.round(torch.tensor([1]), decimals=0), "not implemented for 'Long'"),
    "addcmul": (lambda torch: torch.addcmul(*[mask(torch, 2)] * 3), "not implemented for 'Bool'"),
    "clamp": (lambda torch: torch.clamp(*[mask(torch, 2)] * 3), "not implemented for 'Bool'"),
    "sub": (lambda torch: torch.tensor([1.0]) - mask(torch, 1), "with a bool tensor is not supported"),
    "rsub": (lambda torch: torch.rsub(torch.tensor([1]), mask(torch, 1)), "with a bool tensor is not supported"),
    "sub alpha": (lambda torch: torch.sub(mask(torch, 1), 1, alpha=2), "with a bool tensor is not supported"),
    "sub_": (lambda torch: torch.tensor([1.0]).sub_(mask(torch, 1)), "with a bool tensor is not supported"),
    "alpha": (lambda torch: torch.add(torch.tensor([1]), 1, alpha=False), "Boolean alpha only supported"),
    "rsub alpha": (lambda torch: torch.rsub(torch.tensor([1]), 1, alpha=0.5), "alpha must not be a floating point"),
    "large alpha": (
        lambda torch: torch.add(*[torch.tensor([1], dtype=torch.uint8)] * 2, alpha=300),
        "without overflow",
    ),
    "topk": (lambda torch: torch.topk(mask(torch, 2), 1), "does not support bool"),
    "kthvalue": (lambda torch: torch.kthvalue(mask(torch, 2), 1), "not implemented for 'Bool'"),
    "searchsorted": (lambda torch: torch.searchsorted(mask(torch, 2), mask(torch, 2)), "not implemented for 'Bool'"),
    "cumsum": (lambda torch: torch.cumsum(mask(torch, 2), 0, dtype=torch.bool), "not implemented for 'Bool'"),
    "scatter mean": (
        lambda torch: mask(torch, 2).scatter_reduce(0, torch.tensor([0]), mask(torch, 1), "mean"),
        "not implemented for 'Bool'",
    ),
    "conv1d": (
        lambda torch: torch.nn.functional.conv1d(mask(torch, 1, 1, 3), mask(torch, 1, 1, 1)),
        "not implemented for 'Bool'",
    ),
    "max_pool2d": (lambda torch: torch.nn.functional.max_pool2d(mask(torch, 1, 2, 2), 2), "implemented for 'Bool'"),
    "avg_pool1d": (lambda torch: torch.nn.functional.avg_pool1d(mask(torch, 1, 2), 2), "implemented for 'Bool'"),
    "adaptive_avg_pool2d": (
        lambda torch: torch.nn.functional.adaptive_avg_pool2d(torch.ones(1, 4, 4).long(), 2),
        "not implemented for 'Long'",
    ),
    "adaptive_max_pool1d": (
        lambda torch: torch.nn.functional.adaptive_max_pool1d(torch.ones(1, 4).long(), 2),
        "not implemented for 'Long'",
    ),
    "unfold": (
        lambda torch: torch.nn.functional.unfold(torch.ones(1, 2, 2).long(), 2),
        "not implemented for 'Long'",
    ),
    "nll_loss": (
        lambda torch: torch.nn.functional.nll_loss(torch.ones(1, 2).long(), torch.tensor([0])),
        "not implemented for 'Long'",
    ),
    "bce": (
        lambda torch: torch.nn.functional.binary_cross_entropy_with_logits(*[torch.tensor([1])] * 2),
        "not implemented for 'Long'",
    ),
    "gaussian_nll_loss": (
        lambda torch: torch.nn.functional.gaussian_nll_loss(*[torch.tensor([1])] * 3),
        "var must be of floats|can't be cast",
    ),
    "hardtanh": (lambda torch: torch.nn.functional.hardtanh(mask(torch, 1)), "Bool inputs not supported"),
    "relu6": (lambda torch: torch.nn.functional.relu6(mask(torch, 1)), "Bool inputs not supported"),
    "isin": (lambda torch: torch.isin(mask(torch, 2), torch.tensor([1])), "Unsupported input type"),
    "index_reduce": (
        lambda torch: torch.index_reduce(mask(torch, 2), 0, torch.tensor([0]), mask(torch, 1), "amax"),
        "not implemented for 'Bool'",
    ),
    "multi_margin_loss": (
        lambda torch: torch.nn.functional.multi_margin_loss(torch.ones(1, 2).long(), torch.tensor([0])),
        "not implemented for 'Long'",
    ),
    "multilabel_margin_loss": (
        lambda torch: torch.nn.functional.multilabel_margin_loss(torch.ones(1, 2).long(), torch.tensor([[0, 1]])),
        "not implemented for 'Long'",
    ),
    "soft_margin_loss": (
        lambda torch: torch.nn.functional.soft_margin_loss(torch.tensor([1]), torch.tensor([1])),
        "must be of floats|can't be cast",
    ),
    "max_unpool1d": (
        lambda torch: torch.nn.functional.max_unpool1d(torch.ones(1, 1, 1).long(), torch.zeros(1, 1, 1).long(), 2),
        "not implemented for 'Long'",
    ),
    "threshold": (lambda torch: torch.nn.functional.threshold(mask(torch, 1), 1, 0), "not implemented for 'Bool'"),
    "gradient": (lambda torch: torch.gradient(torch.tensor([1, 2], dtype=torch.uint8)), "does not support uint8"),
    "float_power_": (
        lambda torch: torch.tensor([1.0]).float_power_(2),
        "has dtype Float but the operation's result requires dtype Double",
    ),
    "dropout": (lambda torch: torch.nn.functional.dropout(torch.tensor([1]), 0.5), "floating point|can't be cast"),
    "complex value": (
        lambda torch: torch.masked_fill(torch.ones(1), mask(torch, 1), 1j),
        "value cannot be converted to type float without overflow",
    ),
    "hardtanh of bytes": (
        lambda torch: torch.nn.functional.hardtanh(torch.tensor([1], dtype=torch.uint8)),
        "unsigned type with negative limits",
    ),
}


def mask(torch: Any, *shape: int) -> Any:
    return torch.ones(shape, dtype=torch.bool)


@pytest.mark.parametrize("name", CASES)
def test_refused(name: str) -> None:
    call, message = CASES[name]
    with pytest.raises(RuntimeError, match=message):
        call(minitorch)


@pytest.mark.parametrize("name", CASES)
def test_pytorch_refuses_too(name: str) -> None:
    torch = pytest.importorskip("torch")
    call, _ = CASES[name]
    with pytest.raises(RuntimeError) as theirs:
        call(torch)
    with pytest.raises(RuntimeError) as ours:
        call(minitorch)
    assert ours.type is theirs.type


def test_what_bools_may_do() -> None:
    mask = minitorch.tensor([True, False])
    assert minitorch.clamp(mask, mask).tolist() == [True, False]
    assert minitorch.add(mask, mask, alpha=2).tolist() == [True, False]
    assert minitorch.addr(mask, mask, mask, alpha=2).tolist() == [[True, False], [True, False]]
    assert minitorch.mm(minitorch.ones(0, 2).bool(), minitorch.ones(2, 1).bool()).shape == (0, 1)


def test_factors_of_integers_are_converted_to_integers() -> None:
    bytes_ = minitorch.tensor([1, 250], dtype=minitorch.uint8)
    assert minitorch.add(bytes_, bytes_, alpha=-3).tolist() == [254, 12]
    assert minitorch.index_add(bytes_, 0, minitorch.tensor([0]), bytes_[:1], alpha=-1).tolist() == [0, 250]
    ones = minitorch.ones(2, 2).long()
    assert minitorch.addmm(ones, ones, ones, beta=1.7, alpha=2.9).tolist() == [[5, 5], [5, 5]]


def test_what_integers_may_do() -> None:
    assert minitorch.nn.functional.dropout(minitorch.tensor([3]), 0.0).tolist() == [3]
    (slope,) = minitorch.gradient(minitorch.tensor([1, 4, 9]), spacing=None)
    assert (slope.dtype, slope.tolist()) == (minitorch.float32, [3, 4, 5])
    assert minitorch.gradient(minitorch.tensor([1, 4, 9]), spacing=2)[0].tolist() == [1.5, 2, 2.5]
    assert minitorch.div(7, minitorch.tensor([2, -2]), rounding_mode="floor").tolist() == [3, -4]
    base = minitorch.tensor([3.0], dtype=minitorch.float64)
    assert base.float_power_(2) is base
    assert base.tolist() == [9]
