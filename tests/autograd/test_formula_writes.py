"""``Tape.formula()`` of blocks that write memory: through views, twins, ``.data``, ``out=`` and changes of shape."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minitorch as torch
from minitorch.autograd import Tape, grad
from minitorch.autograd._formula_check import agree

HERE, ELSEWHERE = [0.3, 0.8, 1.1], [0.9, 0.2, 0.6]


def leaf(values: list[float]) -> Any:
    made = torch.tensor(values, dtype=torch.float64, requires_grad=True)
    made.name = "x"
    return made


def zeros(*shape: int) -> Any:
    return torch.zeros(*shape, dtype=torch.float64)


def squeezed_before(x: Any) -> Any:
    w = zeros(1, 3)
    w.squeeze_()
    w.add_(x.detach())
    return (w * x).sum()


def squeezed_after(x: Any) -> Any:
    w = zeros(1, 3)
    w.add_(x.detach())
    w.squeeze_(0)
    w.mul_(2)
    return (w * x).sum()


def unsqueezed(x: Any) -> Any:
    w = zeros(3)
    w[0] = 2.0
    w.unsqueeze_(1)
    w.add_(x.reshape(3, 1))
    return (w * w).sum()


def transposed(x: Any) -> Any:
    w = zeros(2, 3)
    w[0].add_(x.detach())
    w.t_()
    w[1].mul_(3.0)
    w.swapaxes_(0, 1)
    w.transpose_(0, 1)
    return (w[:, 0] * x).sum()


def strided(x: Any) -> Any:
    w = zeros(4)
    w[1:] = x.detach()
    w.as_strided_((2,), (1,), 1)
    w.add_(1.0)
    return (w * x[1:]).sum()


def written_view_detached(x: Any) -> Any:
    w = zeros(3)
    v = w[:2]
    v[0] = 2.0
    v.detach()[1] = 5.0
    return (w * x).sum()


def written_view_data(x: Any) -> Any:
    w = x * 1.0
    v = w[1:]
    v.mul_(2.0)
    v.data[0] = 5.0
    return (w + x).sum()


def data_of_a_constant(x: Any) -> Any:
    w = x.detach().clone()
    w.data.mul_(2.0)
    return (w * x).sum()


def data_of_a_leaf(x: Any) -> Any:
    x.data.mul_(2.0)
    return (x * x).sum()


def out_of_a_call(x: Any) -> Any:
    w = zeros(3)
    torch.mul(x.detach(), 3.0, out=w)
    w[1:].add_(1.0)
    return (w * x).sum()


def out_of_another_size(x: Any) -> Any:
    w = torch.empty(0, dtype=torch.float64)
    torch.exp(x.detach(), out=w)
    return (w * x).sum()


def given_data(x: Any) -> Any:
    w = zeros(3)
    w.data = x.detach() * 2.0
    w[0] = 1.0
    return (w * x).sum()


def masked_in_a_twin(x: Any) -> Any:
    w = x * 2.0
    twin = w.detach()
    twin[twin > 1.0] = 0.5
    return (w * x.detach()).sum() + (twin * x).sum()


def overwritten_without_history(x: Any) -> Any:
    with torch.no_grad():
        x.fill_(0.7)
    return (x * x).sum()


def one_view_into_another(x: Any) -> Any:
    w = zeros(2, 3)
    flat = w.view(6)
    flat[1:4] = x
    w[1] += w[0]
    return (flat * flat).sum()


def moved_before_it_was_drawn_from(x: Any) -> Any:
    c = zeros(3)
    v = c[1:]
    c.add_(1.0)
    v.detach().mul_(2.0)
    return (c * x).sum()


PROGRAMS = [
    squeezed_before, squeezed_after, unsqueezed, transposed, strided, written_view_detached, written_view_data,
    data_of_a_constant, data_of_a_leaf, out_of_a_call, out_of_another_size, given_data, masked_in_a_twin,
    overwritten_without_history, one_view_into_another, moved_before_it_was_drawn_from,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_writes_are_followed(program: Any) -> None:
    """The values and derivatives are those of the program, where it was recorded and elsewhere."""
    x = leaf(HERE)
    with Tape() as tape:
        y = program(x)
    formula = tape.formula(of=y)
    assert not [note for note in formula.notes if "as recorded" in note]
    for values, given in ((HERE, {}), (ELSEWHERE, {"x": ELSEWHERE})):
        moved = leaf(values)
        wanted = program(moved)
        found = formula.evaluate(**(given if "x" in formula.names else {}))
        assert torch.allclose(found["y"], wanted)
        assert torch.allclose(found["dy/dx"], grad(wanted, moved)[0])


def test_a_constant_that_is_written_through_a_view_from_outside() -> None:
    x, c = leaf(HERE), torch.tensor([1.0, 2.0, 3.0, 4.0], dtype=torch.float64)
    c.name, part = "c", c[1:]
    with Tape() as tape:
        part.mul_(x.detach())
        y = (c.sum() * x).sum()
    assert tape.formula(of=y).names["c"].tolist() == [1.0, 2.0, 3.0, 4.0]
    assert torch.allclose(tape.formula(of=y).evaluate()["y"], y)


def test_what_no_operation_wrote_is_said() -> None:
    x = leaf(HERE)
    with Tape() as tape:
        w = x.detach() * 2.0
        w.storage()[0] = 4.0
        y = (w * x).sum()
    formula = tape.formula(of=y)
    assert formula.notes[0] == "c: written by what is no operation of the block, as recorded"
    assert torch.allclose(formula.evaluate()["y"], y)
    assert torch.allclose(formula.evaluate()["dy/dx"], grad(y, x)[0])


def test_gradients_that_were_computed_in_the_block_are_said() -> None:
    x = leaf(HERE)
    with Tape() as tape:
        (g,) = grad((x * x).sum(), x)
        y = (g * x).sum()
    assert tape.formula(of=y).notes == ["c: a gradient that was computed without create_graph, as recorded"]
    with Tape() as tape:
        (x**3).sum().backward()
        y = (x.grad * x).sum()
    assert tape.formula(of=y).notes == ["c: a gradient that was computed without create_graph, as recorded"]


@pytest.mark.parametrize(
    "read",
    [
        lambda z: z.size(0), lambda z: len(z), lambda z: z.shape[0], lambda z: z.numel(),
        lambda z: torch.ones_like(z).sum(),
    ],
)  # fmt: skip
def test_sizes_that_depend_on_values_are_said_where_python_reads_them(read: Any) -> None:
    x = leaf(HERE)
    with Tape() as tape:
        z = x[x > 0.7]
        y = x.sum() * read(z)
    assert tape.formula(of=y).notes == ["(2,): a size that depends on values, read by Python, as recorded"]
    with Tape() as tape:
        y = x.sum() * read(x * 2)
    assert not tape.formula(of=y).notes


def test_sizes_that_depended_on_values_before_a_write_are_said() -> None:
    x = leaf(HERE)
    with Tape() as tape:
        z = x[x > 0.7]
        z.copy_(x.sum())
        y = z.sum()
    assert tape.formula(of=y).notes == ["(2,): a size that depends on values, read by Python, as recorded"]


def test_a_write_that_nothing_tells_is_refused() -> None:
    x = leaf(HERE)
    with Tape() as tape:
        y = x * 2
        y.detach().numpy()[...] = 3
        z = (y * x).sum()
    with pytest.raises(RuntimeError, match=r"read for y does not give what was recorded.*clone"):
        tape.formula(of=z)


def test_what_differs_by_rounding_alone_is_not_refused() -> None:
    x = torch.tensor([1e8, 3e8], requires_grad=True)
    with Tape() as tape:
        y = x * 1
        y.add_(1).sub_(x)
        z = y.sum()
    assert (z.item(), tape.formula(of=z)["y"]) == (0, "2")


@pytest.mark.parametrize("order", [0, 1])
def test_what_differs_by_rounding_that_grows_is_not_refused(order: int) -> None:
    x = torch.tensor([0.3, 0.4], requires_grad=True)
    with Tape() as tape:
        y = x.clone()
        for _ in range(30):  # a chaotic sequence
            y.copy_(3.9 * y * (1 - y))
    assert tape.formula(of=y, order=order)["y"]


def test_a_leaf_that_is_written_after_the_block_has_the_values_that_it_has_now() -> None:
    x = leaf(HERE)
    with Tape() as tape:
        y = x.clone()
        y.mul_(2)
        z = y.sum()
    with torch.no_grad():
        x.fill_(1)
    assert tape.formula(of=z).evaluate()["y"].item() == 6


def test_what_agrees() -> None:
    some = np.array([1.0, np.nan, 2.0])
    assert agree(some, some, 2.0)
    assert agree(np.array([1.0, 5.0, 2.0]), some, 2.0)  # finite where the function is not
    assert not agree(np.array([1.0, np.nan, 2.001]), some, 2.0)
    assert agree(np.array([1.0, np.nan, 2.001]), some, 1e12)
    assert not agree(some[:2], some, 2.0)
    assert not agree(np.array([1, 2]), np.array([1, 3]), 3.0)


def test_writes_to_elements_that_share_a_place_are_refused() -> None:
    x = leaf(HERE)
    with Tape() as tape:
        e = x.sum().detach().expand(4)
        with pytest.warns(UserWarning, match="on expanded tensors"):
            e[torch.tensor([0])] = 3.0
        y = (e * x.sum()).sum()
    with pytest.raises(RuntimeError, match=r"several elements are one place of memory.*clone"):
        tape.formula(of=y)
    with Tape() as tape:
        e = x.detach().clone()
        e.as_strided((2, 2), (1, 1)).fill_(2.0)
        y = (e * x).sum()
    with pytest.raises(RuntimeError, match=r"several elements are one place of memory.*clone"):
        tape.formula(of=y)


def test_a_number_may_be_written_to_elements_that_share_a_place() -> None:
    x = leaf(HERE)
    with Tape() as tape:
        e = torch.ones(1, dtype=torch.float64).expand(3)
        e.fill_(2.0)
        y = (e * x).sum()
    assert tape.formula(of=y).evaluate(x=torch.tensor(ELSEWHERE))["y"].item() == pytest.approx(3.4)


@pytest.mark.parametrize("make", [torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW])
def test_an_optimizer_that_steps_in_the_block_is_said(make: Any) -> None:
    x = leaf(HERE)
    optimizer = make([x], lr=0.1)
    with Tape() as tape:
        (x * x).sum().backward()
        optimizer.step()
        y = x.sin().sum()
    formula = tape.formula(of=y)
    assert formula.notes == ["c: written by what is no operation of the block, as recorded"]
    assert torch.equal(formula.evaluate()["y"], y.detach())
    assert torch.allclose(formula.evaluate()["dy/dx"], x.detach().cos())


def test_a_leaf_that_got_another_shape_has_no_derivative() -> None:
    x = torch.tensor([[1.0, 2.0, 3.0]], requires_grad=True)
    with Tape() as tape:
        y = x * 2
        with torch.no_grad():
            x.t_()
        z = y.sum() + (x * x).sum()
    with pytest.raises(RuntimeError, match=r"has got another shape.*Take a view"):
        tape.formula(of=z)


def test_a_formula_that_is_made_in_the_block_is_no_part_of_it() -> None:
    x = leaf(HERE)
    with Tape() as tape:
        y = x.clone()
        y.mul_(x)
        count = len(tape)
        texts = {str(tape.formula()) for _ in range(2)}
    assert len(tape) == count
    assert len(texts) == 1


SMALL, UNSIGNED = torch.tensor([100, 50, -128], dtype=torch.int8), torch.tensor([3, 200, 0], dtype=torch.uint8)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x + SMALL.float() * 200, lambda x: -UNSIGNED.float() - x, lambda x: x * SMALL * SMALL,
        lambda x: x * (SMALL * 100).float() * 2, lambda x: x / SMALL / UNSIGNED, lambda x: x * UNSIGNED.neg().float() * 0.5,
        lambda x: SMALL.float() + UNSIGNED + x, lambda x: 2 * x * (3 * SMALL) * (3 * SMALL), lambda x: (SMALL * 100) / 3 + x,
        lambda x: SMALL * x * UNSIGNED, lambda x: -(UNSIGNED + 100).float() * x,
    ],
)  # fmt: skip
def test_small_integers_wrap_as_they_did(f: Any) -> None:
    x = leaf(HERE)
    with Tape() as tape:
        y = f(x)
    (g,) = grad(y, x, torch.ones_like(y), retain_graph=True)
    found = tape.formula(of=y).evaluate()
    assert torch.allclose(found["y"], y.detach(), equal_nan=True)
    assert torch.allclose(found["dL/dx"], g, equal_nan=True)


def test_a_row_of_several_results_that_gave_one_is_taken_again() -> None:
    """A view of the only part of a ``split``, whose base is written."""
    x = torch.arange(1.0, 5.0, dtype=torch.float64)
    x.name = "x"
    scale = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    scale.name = "s"
    with Tape() as tape:
        (part,) = x[:2].unsqueeze(0).split(1)
        turned = part.t()
        x[0] = 7.0
        y = (turned * turned * scale).sum()
    formula = tape.formula(of=y)
    assert formula.evaluate()["y"].item() == 2 * (49 + 4)
    assert formula.evaluate(s=3.0)["dy/ds"].item() == 49 + 4


def test_a_take_of_formulas_is_that_of_writes() -> None:
    """Elements that are written by a view of which several are one place of memory count once."""
    x = torch.zeros(4, dtype=torch.float64)
    x.name = "x"
    b = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64, requires_grad=True)
    b.name = "b"
    with Tape() as tape:
        base = x * 1
        base.as_strided((2,), (2,)).copy_(b[:2])
        y = (base * base).sum()
    formula = tape.formula(of=y)
    assert formula.evaluate()["dy/db"].tolist() == [2, 4, 0]
    assert torch.autograd.grad(y, b)[0].tolist() == [2, 4, 0]
