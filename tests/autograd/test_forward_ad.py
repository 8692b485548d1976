"""Forward mode: levels, dual tensors, views and writes, errors; ``jvp``, nested."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import minitorch as torch
from minitorch._modes import observers
from minitorch._sites import site_of
from minitorch._tape import Node
from minitorch.autograd import forward_ad as fwAD
from minitorch.autograd import record_sites
from minitorch.autograd._jvp import jvp

X = torch.tensor([1.0, 2.0, 3.0])
T = torch.tensor([2.0, 0.0, -1.0])


def tangent(tensor: Any) -> Any:
    found = fwAD.unpack_dual(tensor).tangent
    return None if found is None else found.tolist()


# -- levels ------------------------------------------------------------------------------------------------------------
def test_a_tangent_goes_through_operations_and_goes_with_the_level() -> None:
    with fwAD.dual_level():
        x = fwAD.make_dual(torch.tensor(1.0), torch.tensor(2.0))
        y = x**2
        assert tangent(y) == 4.0
        assert tangent(y.sum() + 3) == 4.0
        assert tangent(torch.ones(2)) is None
    assert tangent(y) is None
    assert tangent(x) is None
    assert not observers


def test_levels_are_entered_and_left_by_hand_and_by_decorator() -> None:
    level = fwAD.enter_dual_level()
    x = fwAD.make_dual(X, T, level=level)
    assert tangent(x) == T.tolist()
    fwAD.exit_dual_level(level=level)
    assert tangent(x) is None

    @fwAD.dual_level()
    def inside() -> Any:
        return tangent(fwAD.make_dual(X, T).exp().log())

    np.testing.assert_allclose(inside(), T.tolist(), rtol=1e-6)
    assert not observers


def test_errors_say_what_is_wrong() -> None:
    with pytest.raises(RuntimeError, match="no level exists, make sure to enter_dual_level"):
        fwAD.make_dual(X, T)
    with pytest.raises(RuntimeError, match="no level was entered"):
        fwAD.exit_dual_level()
    with fwAD.dual_level():
        with pytest.raises(RuntimeError, match=r"different size.*\[3\].*\[2\]"):
            fwAD.make_dual(X, torch.ones(2))
        with pytest.raises(ValueError, match=r"primal to be floating point.*int64"):
            fwAD.make_dual(torch.arange(3), T)
        with pytest.raises(ValueError, match=r"tangent to be floating point.*int64"):
            fwAD.make_dual(X, torch.arange(3))
        with pytest.raises(TypeError, match="tangent to be a Tensor, but got: float"):
            fwAD.make_dual(X, 1.0)
        with pytest.raises(TypeError, match="must be Tensor, not float"):
            fwAD.unpack_dual(1.0)
        with pytest.raises(RuntimeError, match="Nested forward mode AD is not supported"):
            fwAD.enter_dual_level()
        with pytest.raises(RuntimeError, match="already has a forward gradient at the same level"):
            fwAD.make_dual(fwAD.make_dual(X, T), T)
        with pytest.raises(RuntimeError, match="not the last one"):
            fwAD.exit_dual_level(level=1)
        with pytest.raises(RuntimeError, match="Invalid level"):
            fwAD.make_dual(X, T, level=1)


def test_a_tangent_has_no_tangent_itself() -> None:
    with fwAD.dual_level():
        dual = fwAD.make_dual(torch.ones(3), torch.ones(3))
        for tangent in (dual, dual * 2, dual[:]):
            with pytest.raises(RuntimeError, match="forward grad that itself has a forward gradient"):
                fwAD.make_dual(torch.ones(3), tangent)


def test_out_is_refused() -> None:
    with fwAD.dual_level():
        x, out = fwAD.make_dual(X, T), torch.zeros(3)
        with pytest.raises(NotImplementedError, match="it is an out= function"):
            torch.add(x, x, out=out)
        with pytest.raises(NotImplementedError, match="it is an out= function"):
            torch.add(X, X, out=x)
        assert out.tolist() == [0.0, 0.0, 0.0]
        torch.add(X, X, out=out)
        assert out.tolist() == [2.0, 4.0, 6.0]


def test_threads_have_levels_of_their_own() -> None:
    found: list[Any] = []

    def other() -> None:
        found.append(tangent(x * 2))
        with fwAD.dual_level():
            found.append(tangent(fwAD.make_dual(X, T) * 3))

    with fwAD.dual_level():
        x = fwAD.make_dual(X, T)
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        assert tangent(x * 2) == [4.0, 0.0, -2.0]
    assert found == [None, [6.0, 0.0, -3.0]]
    assert not observers


def test_it_can_be_switched_off() -> None:
    with fwAD.dual_level():
        x = fwAD.make_dual(X, T)
        with fwAD._set_fwd_grad_enabled(False):
            assert not fwAD._is_fwd_grad_enabled()
            y = x * 2
            assert tangent(x) is None
            with fwAD._set_fwd_grad_enabled(True):
                assert tangent(x * 2) == [4.0, 0.0, -2.0]
        assert fwAD._is_fwd_grad_enabled()
        assert tangent(y) is None
        assert tangent(x) == T.tolist()


# -- dual tensors ------------------------------------------------------------------------------------------------------
def test_a_dual_tensor_is_a_view_and_its_parts_are_those_it_was_made_of() -> None:
    with fwAD.dual_level():
        x = fwAD.make_dual(X, T)
        primal, kept = fwAD.unpack_dual(x)
        assert kept is T
        assert primal._base is X
        assert tangent(primal) is None
        assert tangent(X) is None
        assert tangent(primal * 2) is None


def test_tangents_are_laid_out_and_typed_as_their_primals() -> None:
    with fwAD.dual_level():
        x = fwAD.make_dual(torch.ones(2, 3).mT, torch.arange(6.0).reshape(3, 2))
        assert fwAD.unpack_dual(x).tangent._array.strides == x._array.strides
        assert tangent(x.mT.reshape(6)) == [0.0, 2.0, 4.0, 1.0, 3.0, 5.0]
        y = fwAD.make_dual(X, T.double())
        assert fwAD.unpack_dual(y * 2).tangent.dtype is torch.float32
        assert fwAD.unpack_dual(y.double()).tangent.dtype is torch.float64
        assert tangent(y.long()) is None
        assert tangent(y > 1) is None


def test_it_prints() -> None:
    with fwAD.dual_level():
        x = fwAD.make_dual(X, T)
        assert repr(x) == "tensor([1., 2., 3.], tangent=tensor([ 2.,  0., -1.]))"
        assert repr(x[0]) == "tensor(1., tangent=2.0)"
    assert repr(x) == "tensor([1., 2., 3.])"


def test_detached_tensors_have_no_tangent() -> None:
    with fwAD.dual_level():
        x = fwAD.make_dual(X, T)
        for cut in (x.detach(), x.data, torch.tensor(x.tolist()), torch.from_numpy(x.numpy())):
            assert tangent(cut) is None
        assert tangent(x) == T.tolist()
        y = x * 2
        assert tangent(y.detach_()) is None
        assert tangent(x * y) == (2 * X * T).tolist()
        with pytest.raises(RuntimeError, match="cannot resize variables that has a forward grad"):
            (x * 2).resize_(2)


def test_of_one_example_a_level_around_the_map_says_nothing() -> None:
    with fwAD.dual_level():
        x = fwAD.make_dual(X, T)
        for mapped in (lambda x: fwAD.unpack_dual(x).tangent, lambda y: fwAD.unpack_dual(y * x).tangent):
            with pytest.raises(RuntimeError, match="depends on the example of a vmap within the level"):
                torch.vmap(mapped)(x)
        assert torch.vmap(lambda y: y * fwAD.unpack_dual(x).tangent)(torch.ones(2)).tolist() == [T.tolist()] * 2
        assert tangent(torch.vmap(torch.square)(x)) == (2 * X * T).tolist()

    def within(x: Any, t: Any) -> Any:
        with fwAD.dual_level():
            return fwAD.unpack_dual(fwAD.make_dual(x, t) ** 2).tangent

    assert torch.vmap(within)(X, T).tolist() == (2 * X * T).tolist()


# -- views and writes --------------------------------------------------------------------------------------------------
def test_views_and_writes_keep_tangents_in_step() -> None:
    with fwAD.dual_level():
        x = fwAD.make_dual(X, T)
        y = torch.zeros(3)
        before = y[1:]
        y.add_(x)
        assert tangent(y) == T.tolist()
        assert tangent(before) == [0.0, -1.0]
        before.mul_(2)
        assert tangent(y) == [2.0, 0.0, -2.0]
        y.zero_()
        assert tangent(y) == tangent(y[:3]) == [0.0, 0.0, 0.0]
        z = torch.zeros(3)
        z[:2].add_(x[:2])
        assert tangent(z) == [2.0, 0.0, 0.0]
        w = x.clone()
        w.copy_(torch.ones(3))
        assert tangent(w) == [0.0, 0.0, 0.0]
        w.copy_(x[0])
        assert tangent(w) == [2.0, 2.0, 2.0]
        w.fill_(x[2])
        assert tangent(w) == [-1.0, -1.0, -1.0]


def test_a_write_into_a_result_leaves_the_tangents_it_was_made_of() -> None:
    with fwAD.dual_level():
        x = fwAD.make_dual(X, T.clone())
        for y in (x + 1, x.clone(), x.reshape(3, 1) + 0, torch.where(X > 0, x, x), -x, x.contiguous() * 1):
            y.mul_(5)
            y.zero_()
            assert tangent(x) == T.tolist()


def test_subscripts_assign_tangents() -> None:
    with fwAD.dual_level():
        x = fwAD.make_dual(X, T)
        y = torch.zeros(3)
        y[0] = x[2]
        assert tangent(y) == [-1.0, 0.0, 0.0]
        y[1:] = x[0]
        assert tangent(y) == [-1.0, 2.0, 2.0]
        y[torch.tensor([0, 2])] = x[:2]
        assert tangent(y) == [2.0, 2.0, 0.0]
        y[torch.tensor([False, True, False])] = 5.0
        assert tangent(y) == [2.0, 0.0, 0.0]
        y[1] = 3.0
        y[0] = 4.0
        assert tangent(y) == [0.0, 0.0, 0.0]


def test_a_tensor_that_changes_its_shape_keeps_its_tangent() -> None:
    with fwAD.dual_level():
        x = fwAD.make_dual(torch.arange(6.0).reshape(2, 3), torch.arange(6.0).reshape(2, 3)) * 2
        view = x[0]
        x.t_()
        assert tangent(x) == [[0.0, 6.0], [2.0, 8.0], [4.0, 10.0]]
        x.mul_(2)
        assert tangent(view) == [0.0, 4.0, 8.0]
        x.unsqueeze_(0)
        assert tangent(x.sum()) == 60.0


def test_a_view_has_its_tangent_whatever_became_of_what_it_was_taken_of() -> None:
    def dual() -> Any:
        return fwAD.make_dual(torch.arange(6.0).reshape(2, 3).clone(), torch.arange(1.0, 7.0).reshape(2, 3))

    with fwAD.dual_level():
        x = dual()
        row = x[0]
        part = row[1:]
        row.data = torch.zeros(5)
        assert tangent(row) is None
        assert tangent(part * 1) == tangent(part) == [2.0, 3.0]
        x = dual()
        row = x[0]
        part = row[1:]
        row.unsqueeze_(0)
        assert tangent(part * 1) == tangent(part) == [2.0, 3.0]
        assert tangent(row[0][2:] * 1) == [3.0]
        x.t_()
        assert tangent(x[0] * 1) == [1.0, 4.0]
        assert tangent(part * 1) == [2.0, 3.0]
        y = dual() * 1
        primal = fwAD.unpack_dual(y).primal
        assert tangent(primal.t()[1] * 2) is None
        one = torch.ones(3)
        assert jvp(lambda a: primal[0] * a[:3], (one,), (one,))[1].tolist() == [0.0, 1.0, 2.0]


def test_views_keep_their_tangents_in_transforms_writes_and_hooks() -> None:
    kept = torch.autograd.graph.saved_tensors_hooks(lambda t: (t,), lambda packed: packed[0][:])
    weight = torch.ones(3, requires_grad=True)
    with fwAD.dual_level():
        x = fwAD.make_dual(torch.arange(6.0).reshape(2, 3), torch.arange(1.0, 7.0).reshape(2, 3))
        base = torch.arange(6.0).reshape(2, 3)
        before, again = base[1], base[1]
        base.mul_(x)
        assert tangent(torch.func.grad(lambda a: (a**3).sum())(before)) == [648.0, 1920.0, 4500.0]
        again.mul_(again)
        assert tangent(base) == [[0.0, 2.0, 6.0], [216.0, 640.0, 1500.0]]
        row = x[0]
        y = (row * weight).square().sum()
        with kept:
            z = (row * weight).square().sum()
        for loss in (y, z):
            (gradient,) = torch.autograd.grad(loss, weight)
            assert tangent(gradient) == [0.0, 8.0, 24.0]


# -- with reverse mode -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("create_graph", [False, True])
def test_forward_over_backward(create_graph: bool) -> None:
    x = X.clone().requires_grad_()
    with fwAD.dual_level():
        dual = fwAD.make_dual(x, T)
        y = (dual**3).sum()
        (g,) = torch.autograd.grad(y, dual, create_graph=create_graph)
        assert g.tolist() == [3.0, 12.0, 27.0]
        assert tangent(g) == [12.0, 0.0, -18.0]
        y = (dual**3).sum()
        y.backward()
    assert x.grad.tolist() == [3.0, 12.0, 27.0]


def test_backward_through_tangents() -> None:
    x, t = X.clone().requires_grad_(), T.clone().requires_grad_()
    with fwAD.dual_level():
        y = fwAD.make_dual(x, t) ** 3
        moved = fwAD.unpack_dual(y).tangent
    moved.sum().backward()
    assert x.grad.tolist() == [12.0, 0.0, -18.0]
    assert t.grad.tolist() == [3.0, 12.0, 27.0]
    with fwAD.dual_level(), torch.no_grad():
        assert not fwAD.unpack_dual(fwAD.make_dual(x, t) ** 3).tangent.requires_grad


# -- jvp ---------------------------------------------------------------------------------------------------------------
def test_jvp_takes_and_gives_trees() -> None:
    out, moved = jvp(lambda d, y: {"a": d["x"] * y, "b": (y,)}, ({"x": X}, X), ({"x": T}, T))
    assert out["a"].tolist() == [1.0, 4.0, 9.0]
    assert moved["a"].tolist() == [4.0, 0.0, -6.0]
    assert moved["b"][0].tolist() == T.tolist()
    out, moved, aux = jvp(lambda x: (x * 2, "anything"), (X,), (T,), has_aux=True)
    assert aux == "anything"
    assert moved.tolist() == [4.0, 0.0, -2.0]
    assert jvp(lambda x: torch.ones(2), (X,), (T,))[1].tolist() == [0.0, 0.0]
    assert not observers


def test_jvp_nests_without_confusing_levels() -> None:
    one = torch.tensor(1.0)
    assert jvp(lambda x: x * jvp(lambda y: x * y, (one,), (one,))[1], (torch.tensor(3.0),), (one,))[1].item() == 6.0
    inner = jvp(lambda x: x * jvp(lambda y: x + y, (one,), (one,))[1], (one,), (one,))[1]
    assert inner.item() == 1.0

    def derivative(f: Any) -> Any:
        return lambda x: jvp(f, (x,), (torch.ones_like(x),))[1]

    f: Any = lambda x: torch.sin(x) * x
    for _ in range(4):
        f = derivative(f)
    x = torch.tensor(0.7, dtype=torch.float64)
    assert f(x).item() == pytest.approx(np.sin(0.7) * 0.7 - 4 * np.cos(0.7), rel=1e-12)
    with fwAD.dual_level():
        assert tangent(jvp(lambda x: x**3, (fwAD.make_dual(X, T),), (T,))[1]) == [24.0, 0.0, 18.0]


def test_jvp_says_what_is_wrong() -> None:
    with pytest.raises(RuntimeError, match="Expected primals to be a tuple"):
        jvp(torch.sin, X, T)
    with pytest.raises(RuntimeError, match="same python structure"):
        jvp(torch.sin, (X,), (T, T))
    with pytest.raises(RuntimeError, match="only contain Tensors"):
        jvp(torch.sin, (2.0,), (1.0,))
    with pytest.raises(RuntimeError, match="at least one Tensor"):
        jvp(torch.sin, (), ())
    with pytest.raises(RuntimeError, match="return only tensors"):
        jvp(lambda x: 3.0, (X,), (T,))
    for nothing in ((), None):
        with pytest.raises(RuntimeError, match="has non-empty output"):
            jvp(lambda x, nothing=nothing: nothing, (X,), (T,))
    with pytest.raises(RuntimeError, match=r"\(output, aux\)"):
        jvp(torch.sin, (X,), (T,), has_aux=True)
    with pytest.raises(RuntimeError, match="independent of the inputs"):
        jvp(lambda x: torch.ones(2), (X,), (T,), strict=True)
    with pytest.raises(RuntimeError, match="different size"):
        jvp(torch.sin, (X,), (torch.ones(2),))
    with pytest.raises(ValueError, match="floating point"):
        jvp(torch.sin, (torch.arange(3),), (torch.arange(3),))
    assert not observers


def test_checkpoints_carry_tangents_forward_and_back() -> None:
    checkpoint = torch.utils.checkpoint.checkpoint
    x = X.clone().requires_grad_()
    with fwAD.dual_level():
        dual = fwAD.make_dual(x, T)
        plain, checked = (dual.sin() ** 2).exp(), checkpoint(lambda z: (z.sin() ** 2).exp(), dual, use_reentrant=False)
        assert tangent(checked) == tangent(plain)
        found = [torch.autograd.grad(y.sum(), dual)[0] for y in (plain, checked)]
        assert tangent(found[0]) is not None
        np.testing.assert_allclose(tangent(found[1]), tangent(found[0]), rtol=1e-6)


CLASSES = torch.tensor([0, 2, 1])
SCORES = torch.tensor([[0.3, -1.0, 0.5], [1.0, 0.25, 0.0], [0.0, 2.0, -0.5]], dtype=torch.float64)
FACTORS = torch.tensor([0.45, 0.2, 0.9], dtype=torch.float64)
F = torch.nn.functional
WEIGHED = {
    "quantile": lambda q: torch.quantile(SCORES, q, dim=1),
    "quantile at one level": lambda q: torch.quantile(SCORES, q[0]),
    "quantile of itself": lambda q: torch.quantile(q, q[1]),
    "nanquantile": lambda q: torch.nanquantile(SCORES, q),
    "nearest quantile": lambda q: torch.quantile(SCORES, q, interpolation="nearest") * q[0],
    "cross_entropy of probabilities": lambda w: F.cross_entropy(SCORES, SCORES.softmax(1), weight=w),
    "multilabel_soft_margin_loss": lambda w: F.multilabel_soft_margin_loss(SCORES, SCORES.sigmoid(), weight=w),
}
FORWARD_ONLY = {
    "bce with logits, weight": lambda w: F.binary_cross_entropy_with_logits(SCORES, SCORES.sigmoid(), w),
    "bce with logits, pos_weight": lambda w: F.binary_cross_entropy_with_logits(
        SCORES, SCORES.sigmoid(), pos_weight=w, reduction="sum"
    ),
    "bce with logits, both": lambda w: F.binary_cross_entropy_with_logits(
        SCORES, SCORES.sigmoid(), w, pos_weight=w * w, reduction="none"
    ),
}
REFUSED = {
    "binary_cross_entropy": lambda w: F.binary_cross_entropy(SCORES.sigmoid(), SCORES.sigmoid(), weight=w),
    "multi_margin_loss": lambda w: F.multi_margin_loss(SCORES, CLASSES, weight=w),
    "nll_loss": lambda w: F.nll_loss(SCORES, CLASSES, weight=w),
    "cross_entropy": lambda w: F.cross_entropy(SCORES, CLASSES, weight=w, label_smoothing=0.1),
    "soft_margin_loss": lambda w: F.soft_margin_loss(FACTORS, w),
    "batch_norm, mean": lambda w: F.batch_norm(SCORES, w, FACTORS),
    "batch_norm, variance": lambda w: F.batch_norm(SCORES, FACTORS, w),
}


@pytest.mark.parametrize("function", WEIGHED.values(), ids=WEIGHED)
def test_levels_and_factors_have_tangents_as_they_have_gradients(function: Any) -> None:
    forward, reverse = torch.func.jacfwd(function)(FACTORS), torch.func.jacrev(function)(FACTORS)
    assert forward.abs().max() > 0
    torch.testing.assert_close(forward, reverse)
    assert torch.autograd.gradcheck(function, FACTORS.clone().requires_grad_(), check_forward_ad=True)


@pytest.mark.parametrize("function", FORWARD_ONLY.values(), ids=FORWARD_ONLY)
def test_factors_of_a_loss_that_have_tangents_and_no_gradient(function: Any) -> None:
    found = torch.func.jacfwd(function)(FACTORS)
    assert found.abs().max() > 0
    torch.testing.assert_close(found, torch.autograd.numerical_jacobian(function, FACTORS))
    with pytest.raises(RuntimeError, match=r"not differentiable with respect to argument .*cannot have requires_grad"):
        function(FACTORS.clone().requires_grad_())


@pytest.mark.parametrize("function", REFUSED.values(), ids=REFUSED)
def test_what_has_no_gradient_takes_no_tangent(function: Any) -> None:
    says = "not differentiable with respect to argument .*cannot have "
    with pytest.raises(RuntimeError, match=says + "requires_grad"):
        function(FACTORS.clone().requires_grad_())
    with pytest.raises(RuntimeError, match=says + "a tangent"):
        jvp(function, (FACTORS,), (FACTORS,))
    jvp(lambda w: function(w.detach()), (FACTORS,), (FACTORS,))


# -- what has none -----------------------------------------------------------------------------------------------------
def test_data_that_is_set_keeps_the_tensors_own_tangent() -> None:
    given, other = torch.ones(3), torch.zeros(3)
    with fwAD.dual_level():
        dual = fwAD.make_dual(X.clone(), given)
        dual.data = other
        assert tangent(dual) == [1.0, 1.0, 1.0]
        assert tangent(dual * 2) == [2.0, 2.0, 2.0]
        assert dual.tolist() == [0.0, 0.0, 0.0]
        assert tangent(other) is None
        other.data = fwAD.make_dual(X.clone(), given)
        assert other.tolist() == X.tolist()
        assert tangent(other) is None
        dual.data = torch.zeros(2)
        assert tangent(dual) is None
    assert given.tolist() == [1.0, 1.0, 1.0]


def test_a_view_keeps_its_tangent_when_its_base_is_given_other_data() -> None:
    with fwAD.dual_level():
        dual = fwAD.make_dual(torch.arange(6.0).reshape(2, 3), torch.arange(6.0).reshape(2, 3).clone())
        row, column = dual[1], dual.t()[1]
        dual.data = torch.zeros(2, 3)
        dual.mul_(10)
        assert tangent(dual) == [[0.0, 10.0, 20.0], [30.0, 40.0, 50.0]]
        assert tangent(row * 2) == [60.0, 80.0, 100.0]
        assert tangent(column) == [10.0, 40.0]
        row, column = dual[1], dual.t()[1]
        dual.data = torch.zeros(2)
        assert tangent(dual * 2) is None
        assert tangent(row * 2) == [60.0, 80.0, 100.0]
        assert tangent(column) == [10.0, 40.0]
        assert tangent(row[1:] * 1) == [40.0, 50.0]


def test_views_that_are_looked_at_later_have_the_history_of_where_they_were_taken() -> None:
    t = torch.ones(2, 3, requires_grad=True)
    with fwAD.dual_level():
        dual = fwAD.make_dual(torch.ones(2, 3), t)
        row = dual[0]
        with torch.no_grad():
            unrecorded = dual[1]
            assert not fwAD.unpack_dual(row * 2).tangent.requires_grad
        assert torch.autograd.grad(fwAD.unpack_dual(row * 2).tangent.sum(), t)[0].sum() == 6
        assert not fwAD.unpack_dual(unrecorded).tangent.requires_grad


def test_what_shares_the_array_of_a_view_has_its_tangent() -> None:
    x = torch.arange(6.0).reshape(2, 3)
    with fwAD.dual_level():
        dual = fwAD.make_dual(x, torch.ones(2, 3))
        assert tangent(torch.func.grad(lambda a: (a**3).sum())(dual[1])) == [18.0, 24.0, 30.0]
        row = (dual * 1)[1]
        row.mul_(row)
        assert tangent(row) == [6.0, 8.0, 10.0]


def test_views_of_views_and_of_squeezed_tensors_have_tangents() -> None:
    x = torch.arange(6.0).reshape(2, 3)
    with fwAD.dual_level():
        y = fwAD.make_dual(x, x) * 2
        same, inside, part = y.squeeze(), y[1][1:].unsqueeze(0), y.unbind(0)[1]
        assert tangent(same * 1) == [[0.0, 2.0, 4.0], [6.0, 8.0, 10.0]]
        assert tangent(inside * part[1:] * 1) == [[128.0, 200.0]]
        y.mul_(2)
        assert tangent(inside + 1) == [[16.0, 20.0]]
        assert tangent(same + 1) == [[0.0, 4.0, 8.0], [12.0, 16.0, 20.0]]
        part.copy_(torch.zeros(3))
        assert tangent(inside + 1) == [[0.0, 0.0]]
        assert tangent(y[0] + 1) == [0.0, 4.0, 8.0]


def test_operations_that_compute_tangents_are_at_the_users_line() -> None:
    def graph(node: Any) -> Any:
        return {node}.union(*[graph(edge) for edge in node.edges]) if isinstance(node, Node) else set()

    t = torch.ones(3, requires_grad=True)
    with record_sites(), fwAD.dual_level():
        z = fwAD.make_dual(X, t).sin()
        y = (z * z).cumprod(0).softmax(0)
        made = graph(fwAD.unpack_dual(y).tangent.grad_fn)
    sites = [site_of(node.extras.mark) for node in made if node.extras is not None]
    assert len(sites) > 6
    assert {site.file for site in sites if site is not None} == {__file__}


def test_parameters_and_buffers_of_dual_tensors_have_no_tangent() -> None:
    with fwAD.dual_level():
        dual = fwAD.make_dual(X.clone(), T)
        for kind in (torch.nn.Parameter, torch.nn.Buffer):
            made = kind(dual)
            assert tangent(made) is None
            made.detach().fill_(1.0)
            assert dual.tolist() == [1.0, 1.0, 1.0]
        assert tangent(dual) == T.tolist()


def test_a_custom_jvp_gives_a_tangent_for_each_output() -> None:
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2, torch.tensor([1])

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            return given(t), None

    given = lambda t: t * 2
    with fwAD.dual_level():
        dual = fwAD.make_dual(X, T)
        assert tangent(Twice.apply(dual)[0]) == (2 * T).tolist()
        given = lambda t: None
        with pytest.raises(RuntimeError, match="jvp returned None at position 0"):
            Twice.apply(dual)


WITHOUT_DERIVATIVE = {
    "aten::bincount": lambda x: torch.bincount(torch.tensor([0, 1, 1]), x),
    "aten::histogram": lambda x: torch.histogram(x, 3).hist,
    "aten::histogramdd": lambda x: torch.histogramdd(torch.ones(3, 1), [2], weight=x).hist,
    "geqrf": lambda x: torch.geqrf(x.diag()).tau,
}


@pytest.mark.parametrize("name", WITHOUT_DERIVATIVE)
def test_what_has_no_derivative_says_so_in_both_modes(name: str) -> None:
    function = WITHOUT_DERIVATIVE[name]
    with pytest.raises(NotImplementedError, match=f"forward AD with {name} that does not support it: detach"):
        jvp(function, (X,), (T,))
    result = function(X.clone().requires_grad_())
    assert result.grad_fn.name() == "NotImplemented"
    with pytest.raises(RuntimeError, match=f"derivative for '?{name}'? is not implemented: detach"):
        result.sum().backward()
    with torch.no_grad():
        assert not function(X.clone().requires_grad_()).requires_grad


def test_places_of_samples_are_differentiated() -> None:
    places = torch.tensor([0.0, 1.0, 3.0, 4.0], dtype=torch.float64, requires_grad=True)
    values = torch.tensor([1.0, 2.0, 4.0, 8.0], dtype=torch.float64)
    torch.autograd.gradcheck(lambda p: torch.gradient(values, spacing=(p,))[0], places, check_forward_ad=True)


@pytest.mark.parametrize("name", ["floor_divide", "heaviside"])
def test_steps_refuse_forward_mode(name: str) -> None:
    step = getattr(torch, name)
    for function in (lambda a: step(a, T), lambda a: step(T, a)):
        with pytest.raises(NotImplementedError, match=f"forward AD with aten::{name}"):
            jvp(function, (X,), (T,))
        with pytest.raises(RuntimeError, match=f"derivative for aten::{name}"):
            function(X.clone().requires_grad_()).sum().backward()


def test_inference_mode_stops_tangents() -> None:
    with fwAD.dual_level():
        dual = fwAD.make_dual(X, T)
        with torch.inference_mode():
            inside = dual * 2
            assert tangent(dual) is None
            assert jvp(torch.sum, (X,), (T,))[1].item() == 1.0
            with torch.inference_mode(False):
                assert tangent(dual * 2) == [4.0, 0.0, -2.0]
        assert tangent(inside) is None
        assert tangent(dual) == T.tolist()
    with torch.no_grad(), fwAD.dual_level():
        assert tangent(fwAD.make_dual(X, T) * 2) == [4.0, 0.0, -2.0]


def test_a_write_into_a_primal_gives_it_a_tangent_and_leaves_its_dual_as_it_is() -> None:
    with fwAD.dual_level():
        dual = fwAD.make_dual(X.clone(), T)
        for whole in (dual, dual * 2):
            before = tangent(whole)
            primal = fwAD.unpack_dual(whole).primal
            part = primal[1:]
            assert tangent(part) is None
            primal.add_(dual)
            assert tangent(primal) == T.tolist()
            assert tangent(part) == T.tolist()[1:]
            assert tangent(whole) == before


@pytest.mark.parametrize("of_point", [False, True])
@pytest.mark.parametrize("of_tangent", [False, True])
def test_tangents_have_the_histories_that_pytorchs_have(of_point: bool, of_tangent: bool) -> None:
    ones = torch.ones
    multiplied = {  # with something: the terms of what has no tangent are zeros that depend on it
        "mul": lambda x: x * 2,
        "div": lambda x: x / ones(3),
        "written": lambda x: ones(3).mul_(x),
        "mm": lambda x: x[None] @ ones(3, 2),
        "linear": lambda x: torch.nn.functional.linear(x, ones(2, 3), ones(2)),
        "conv": lambda x: torch.nn.functional.conv1d(x[None, None], ones(1, 1, 2)),
        "solve": lambda x: torch.linalg.solve(2 * torch.eye(3), x),
        "remainder": lambda x: x.remainder(ones(3)),
        "kl_div": lambda x: torch.nn.functional.kl_div(x, ones(3), reduction="sum"),
        "exp": lambda x: x.exp(),
    }
    alone = {
        "neg": lambda x: -x,
        "sum": lambda x: x.sum(),
        "add": lambda x: x + ones(3),
        "view": lambda x: x.view(3, 1),
        "cat": lambda x: torch.cat([x, ones(2)]),
        "maximum": lambda x: torch.maximum(x, ones(3)),
        "where": lambda x: torch.where(x > 1, x, -x),
    }
    for name, function in (multiplied | alone).items():
        x, t = X.clone().requires_grad_(of_point), T.clone().requires_grad_(of_tangent)
        with fwAD.dual_level():
            found = fwAD.unpack_dual(function(fwAD.make_dual(x, t))).tangent
        expected = of_tangent or (of_point and name in multiplied)
        assert (found.requires_grad, found.grad_fn is not None) == (expected, expected), name
        if name in multiplied and name != "exp" and of_point and not of_tangent:
            (gradient,) = torch.autograd.grad(found.sum(), x)
            assert gradient.tolist() == [0.0, 0.0, 0.0]


def test_the_tangent_of_a_gradient_has_the_history_of_the_direction() -> None:
    x, direction = torch.tensor([1.0, 2.0]), torch.tensor([3.0, -1.0], requires_grad=True)
    gradient = torch.func.grad(lambda x: (x**3).sum())
    for found in (
        jvp(gradient, (x,), (direction,))[1],
        jvp(lambda x: torch.func.vjp(torch.pow, x, torch.tensor(3.0))[1](torch.ones(2))[0], (x,), (direction,))[1],
        jvp(lambda x: torch.func.jacrev(torch.sum)(x**3) @ torch.diag(3 * x**2), (x,), (direction,))[1],
    ):
        np.testing.assert_allclose(found.tolist(), [18.0, -12.0], rtol=1e-6)
        (by_direction,) = torch.autograd.grad(found.sum(), direction)
        np.testing.assert_allclose(by_direction.tolist(), [6.0, 12.0], rtol=1e-6)


@pytest.mark.parametrize("level", [0.0, "a", [0], torch.tensor(0.0)])
def test_a_level_is_an_integer(level: object) -> None:
    x = torch.ones(2)
    with fwAD.dual_level(), pytest.raises(TypeError, match=r"make_dual\(\): argument 'level' must be int"):
        fwAD.make_dual(x, x, level=level)
