"""Guards: what they report, where, and that they are gone when they are off."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import pytest

import minitorch as torch
from minitorch._modes import observers
from minitorch.autograd import broadcast_guard, dtype_guard
from minitorch.nn import functional as F


def line() -> int:
    return inspect.currentframe().f_back.f_lineno


@pytest.mark.parametrize(
    "call",
    [
        lambda a, b: a - b,
        lambda a, b: torch.maximum(a, b),
        lambda a, b: torch.where(a > 0, a, b),
        lambda a, b: torch.lerp(a, b, 0.5),
        lambda a, b: F.mse_loss(a, b),
        lambda a, b: F.l1_loss(a, b),
        lambda a, b: a == b,
    ],
)
@pytest.mark.filterwarnings("ignore:Using a target size")
def test_what_enlarges_both_operands_is_reported(call: Any) -> None:
    a, b = torch.zeros(4, 1), torch.zeros(4)
    with (
        broadcast_guard("raise"),
        pytest.raises(RuntimeError, match=r"\(4, 1\).*\(4,\).* broadcast to \(4, 4\).*test_guards"),
    ):
        call(a, b)
    call(a, b)


@pytest.mark.parametrize(
    "call",
    [
        lambda a, b: a - 1.0,
        lambda a, b: a * torch.tensor(2.0),
        lambda a, b: a + torch.zeros(5, 4, 1),
        lambda a, b: a.expand(4, 4) - b,
        lambda a, b: b + torch.zeros(1),
        lambda a, b: a @ torch.zeros(1, 3),
        lambda a, b: a.clone().add_(1),
        lambda a, b: torch.cat([a, b.unsqueeze(1)]),
        lambda a, b: torch.outer(b, torch.zeros(3)),
        lambda a, b: torch.kron(a, torch.zeros(1, 3)),
        lambda a, b: torch.einsum("i,j->ij", b, torch.zeros(3)),
        lambda a, b: a.double() + a.double(),
    ],
)
def test_what_does_not_is_not(call: Any) -> None:
    with broadcast_guard("raise"):
        call(torch.zeros(4, 1), torch.zeros(4))


@pytest.mark.parametrize(
    "call",
    [
        lambda z: z(2, 3, 5, 5) @ z(2, 3, 5, 4),
        lambda z: z(2, 5, 1) @ z(2, 1, 5),
        lambda z: z(3, 4) @ z(2, 4, 5),
        lambda z: torch.addmm(z(6), z(5, 3), z(3, 6)),
        lambda z: torch.baddbmm(z(1, 2, 3), z(4, 2, 5), z(4, 5, 3)),
        lambda z: torch.addbmm(z(3, 4), z(2, 3, 5), z(2, 5, 4)),
        lambda z: torch.addmv(z(3), z(3, 4), z(4)),
        lambda z: torch.addr(z(3, 4), z(3), z(4)),
        lambda z: torch.cdist(z(5, 3), z(6, 3)),
        lambda z: torch.linalg.solve(torch.eye(3), z(3, 2)),
        lambda z: torch.linalg.solve_triangular(torch.eye(3), z(3, 2), upper=True),
        lambda z: torch.cholesky_solve(z(3, 2), torch.eye(3)),
        lambda z: torch.linalg.lstsq(z(5, 3), z(5, 2)),
        lambda z: z(4, 4).index_put_((torch.tensor([1, 2]), torch.tensor([0, 3])), z(2)),
        lambda z: F.scaled_dot_product_attention(z(2, 2, 3, 4), z(2, 2, 5, 4), z(2, 2, 5, 4)),
    ],
)
def test_what_does_not_go_entry_by_entry_is_none_of_its_business(call: Any) -> None:
    with broadcast_guard("raise"):
        call(torch.zeros)


def test_every_row_that_it_looks_at_broadcasts() -> None:
    from minitorch._op import rows

    assert all(rows[name].broadcasts and not rows[name].elementwise for name in broadcast_guard("off").by_entry)


def test_names_are_told() -> None:
    logits = torch.zeros(4, 1)
    logits.name = "logits"
    with broadcast_guard("raise"), pytest.raises(RuntimeError, match=r"logits \(4, 1\) and other"):
        logits - torch.zeros(4)


def test_a_warning_is_about_the_users_line() -> None:
    a, b = torch.zeros(4, 1), torch.zeros(4)
    with broadcast_guard("warn"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        a - b
        where = line() - 1
    assert [(w.filename, w.lineno, w.category) for w in caught] == [(__file__, where, UserWarning)]


@pytest.mark.parametrize(
    "call",
    [
        lambda x, wide: x * wide,
        lambda x, wide: torch.cat([x, wide]),
        lambda x, wide: torch.where(x > 0, x, wide),
        lambda x, wide: x.double(),
    ],
)
def test_a_float64_from_a_float32_is_reported(call: Any) -> None:
    x, wide = torch.ones(2), torch.ones(2, dtype=torch.float64)
    with dtype_guard("raise"), pytest.raises(RuntimeError, match=r"a float64 is made from a float32.*test_guards"):
        call(x, wide)


def test_other_dtypes_are_not() -> None:
    x, wide = torch.ones(2), torch.ones(2, dtype=torch.float64)
    with dtype_guard("raise"):
        x * 2.0 + x.sum() + torch.tensor(3.0, dtype=torch.float64)  # a 0-d tensor does not widen
        wide * wide + 1.0
        wide.float() * x
        x.clone().add_(wide)
        x.long() + x.half()


def test_switching() -> None:
    a, b = torch.zeros(4, 1), torch.zeros(4)
    broadcast_guard("raise")
    try:
        with broadcast_guard("off"):
            a - b
        with pytest.raises(RuntimeError):
            a - b
        with dtype_guard("warn"):
            assert len(observers) == 2
    finally:
        broadcast_guard("off")
    assert not observers
    a - b
    with pytest.raises(ValueError, match="'warn', 'raise' or 'off'"):
        broadcast_guard("loud")
    assert not observers
