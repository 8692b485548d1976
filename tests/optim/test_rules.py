"""The elementwise optimizers: their steps, and parameters that are moved, frozen, shared or added on the way."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest

import minitorch
from backend import torch

optim = torch.optim
SHAPES = [(3, 4), (4,), (), (300, 400), (1, 2, 2)]


def leaf(*values: float) -> Any:
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


def step(optimizer: Any, *params: Any) -> None:
    """A step down the sum of squares of the parameters."""
    optimizer.zero_grad()
    sum([(p * p).sum() for p in params]).backward()
    optimizer.step()


# -- values ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("make", "after_two"),
    [
        (lambda p: optim.SGD(p, lr=0.1), [0.64, -1.28]),
        (lambda p: optim.SGD(p, lr=0.1, momentum=0.5), [0.54, -1.08]),
        (lambda p: optim.SGD(p, lr=0.1, momentum=0.5, dampening=0.5), [0.62, -1.24]),
        (lambda p: optim.SGD(p, lr=0.1, momentum=0.5, nesterov=True), [0.44, -0.88]),
        (lambda p: optim.SGD(p, lr=0.1, weight_decay=1.0), [0.49, -0.98]),
        (lambda p: optim.SGD(p, lr=0.1, maximize=True), [1.44, -2.88]),
        (lambda p: optim.Adam(p, lr=0.1), [0.8004122286917927, -1.800166486115701]),
        (lambda p: optim.AdamW(p, lr=0.1, weight_decay=0.5), [0.7082484433597452, -1.6104122281697426]),
        (lambda p: optim.RMSprop(p, lr=0.01), [0.8329179679700331, -1.8309433291098638]),
        (lambda p: optim.Adagrad(p, lr=0.1), [0.8331035268450359, -1.8311250538122312]),
        (lambda p: optim.Adadelta(p), [0.9935981740783056, -1.993595728929903]),
        (lambda p: optim.Adamax(p, lr=0.1), [0.805168327168774, -1.802534113547508]),
        (lambda p: optim.NAdam(p, lr=0.1), [0.8199730691399016, -1.8178975292762616]),
        (lambda p: optim.RAdam(p, lr=0.1), [0.6210526315789474, -1.2421052631578948]),
        (lambda p: optim.ASGD(p, lr=0.1), [0.6399851993904194, -1.2799703987808388]),
        (lambda p: optim.Rprop(p, lr=0.1), [0.78, -1.78]),
        (lambda p: optim.Adafactor(p, lr=0.1), [0.7097726874879056, -1.7038486232568004]),
        (
            lambda p: optim.Adafactor(p, lr=0.1, weight_decay=1.0, d=2.0, eps=(0.1, 3.0), maximize=True),
            [1.4016448469531955, -2.1961181426637006],
        ),
    ],
)
def test_two_steps(make: Any, after_two: list[float]) -> None:
    w = leaf(1.0, -2.0)
    optimizer = make([w])
    step(optimizer, w)
    step(optimizer, w)
    assert w.tolist() == pytest.approx(after_two, rel=1e-9)


def test_two_steps_of_matrices() -> None:
    for make, after_two in (
        (
            lambda p: optim.Adafactor(p, lr=0.1),
            [[0.8165938007215106, -1.4417671474072913], [2.5974095706915024, 0.39706086787895073]],
        ),
        (lambda p: optim.Muon(p, lr=0.1), [[0.907418359375, -1.8257195312499999], [2.7288624999999995, 0.45895625]]),
        (
            lambda p: optim.Muon(p, lr=0.1, nesterov=False, adjust_lr_fn="match_rms_adamw", ns_steps=3),
            [[0.9628427275488386, -1.9184287717557502], [2.8867653875381047, 0.4787813143155986]],
        ),
    ):
        w = torch.tensor([[1.0, -2.0], [3.0, 0.5]], dtype=torch.float64, requires_grad=True)
        optimizer = make([w])
        step(optimizer, w)
        step(optimizer, w)
        assert w.tolist() == [pytest.approx(row, rel=1e-9) for row in after_two]


OPTIONS: list[tuple[str, dict[str, Any]]] = [
    *[("SGD", dict(zip(("momentum", "dampening", "weight_decay", "nesterov", "maximize"), values)))
      for values in itertools.product((0, 0.9), (0, 0.3), (0, 0.1), (False, True), (False, True))
      if not (values[3] and (values[0] == 0 or values[1] != 0))],
    *[(name, dict(zip(("weight_decay", "amsgrad", "maximize"), values)))
      for name in ("Adam", "AdamW") for values in itertools.product((0, 0.1), (False, True), (False, True))],
    ("Adam", {"decoupled_weight_decay": True, "weight_decay": 0.3, "betas": (0.5, 0.6), "eps": 1e-3}),
    *[("RMSprop", dict(zip(("momentum", "centered", "weight_decay", "maximize"), values)))
      for values in itertools.product((0, 0.9), (False, True), (0, 0.1), (False, True))],
    ("RMSprop", {"alpha": 0.5, "eps": 1e-2}),
    *[("Adagrad", dict(zip(("lr_decay", "initial_accumulator_value", "weight_decay", "maximize"), values)))
      for values in itertools.product((0, 0.1), (0, 0.5), (0, 0.1), (False, True))],
    *[("Adadelta", dict(zip(("rho", "weight_decay", "maximize"), values)))
      for values in itertools.product((0.9, 0.5), (0, 0.1), (False, True))],
    *[("Adamax", dict(zip(("betas", "weight_decay", "maximize"), values)))
      for values in itertools.product(((0.9, 0.999), (0.5, 0.6)), (0, 0.1), (False, True))],
    *[("NAdam", dict(zip(("momentum_decay", "weight_decay", "decoupled_weight_decay", "maximize"), values)))
      for values in itertools.product((4e-3, 0.1), (0, 0.1), (False, True), (False, True))],
    *[("RAdam", dict(zip(("betas", "weight_decay", "decoupled_weight_decay", "maximize"), values)))
      for values in itertools.product(((0.9, 0.999), (0.8, 0.9)), (0, 0.1), (False, True), (False, True))],
    *[("ASGD", dict(zip(("lambd", "t0", "weight_decay", "maximize"), values)))
      for values in itertools.product((1e-4, 0.1), (1e6, 10), (0, 0.1), (False, True))],
    *[("Rprop", dict(zip(("etas", "step_sizes", "maximize"), values)))
      for values in itertools.product(((0.5, 1.2), (0.3, 2.0)), ((1e-6, 50), (1e-2, 0.5)), (False, True))],
    *[("Adafactor", dict(zip(("eps", "weight_decay", "maximize"), values)))
      for values in itertools.product(((None, 1e-3), (0.5, 2.0)), (0, 0.1), (False, True))],
    ("Adafactor", {"beta2_decay": -0.3, "d": 3.0}),
    *[("Muon", dict(zip(("nesterov", "weight_decay", "adjust_lr_fn"), values)))
      for values in itertools.product((True, False), (0, 0.1), (None, "original", "match_rms_adamw"))],
    ("Muon", {"momentum": 0.3, "ns_coefficients": (2.0, -1.5, 0.5), "eps": 10.0, "ns_steps": 7}),
]  # fmt: skip


@pytest.mark.pytorch
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-12), ("float32", 1e-6)])
@pytest.mark.parametrize(("name", "options"), OPTIONS, ids=[f"{n} {list(o.values())}" for n, o in OPTIONS])
def test_fifty_steps_equal_pytorchs(name: str, options: dict[str, Any], dtype: str, tolerance: float) -> None:
    reference = pytest.importorskip("torch")
    results = []
    for library in (reference, minitorch):
        generator = np.random.default_rng(0)
        shapes = [(3, 4), (5, 2), (1, 2)] if name == "Muon" else [*SHAPES[:3], (2, 3, 4)]
        params = [library.tensor(generator.normal(size=s).astype(dtype), requires_grad=True) for s in shapes]
        optimizer = getattr(library.optim, name)(params, lr=0.01, **options)
        for number in range(50):
            for index, p in enumerate(params):
                grad = generator.normal(size=p.shape).astype(dtype)
                p.grad = None if index == 1 and number % 3 == 0 else library.tensor(grad)  # one rests now and then
            optimizer.step()
        state = [optimizer.state[p] for p in params if p in optimizer.state]
        results.append(([p.detach().numpy() for p in params], state))
    (expected, state), (got, state_ours) = results
    if name == "ASGD" and dtype == "float32":
        tolerance = 5e-6  # PyTorch rounds the parameters twice a step
    for e, g in zip(expected, got):
        np.testing.assert_allclose(g, e, rtol=tolerance, atol=tolerance)
    assert [list(s) for s in state_ours] == [list(s) for s in state]
    for entries, entries_ours in zip(state, state_ours):
        for key, tensor in entries.items():
            assert entries_ours[key].shape == tuple(tensor.shape)
            np.testing.assert_allclose(entries_ours[key].numpy(), tensor.numpy(), rtol=tolerance * 10, atol=tolerance)


NAN = float("nan")
VALUES = ["nan", "-1", "-0.0", "inf", "a tensor of nan", "two", "one", "a negative tensor", "True"]


def value_of(name: str, library: Any) -> Any:
    return {
        "a tensor of nan": library.tensor(NAN), "two": library.tensor([0.1, 0.2]), "one": library.tensor([0.1]),
        "a negative tensor": library.tensor(-1.0), "True": True,
    }.get(name) if name in VALUES[4:] else float(name)  # fmt: skip


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("SGD", "lr momentum dampening weight_decay"), ("Adam", "lr eps weight_decay"), ("AdamW", "lr eps weight_decay"),
        ("RMSprop", "lr alpha eps weight_decay momentum"), ("Adagrad", "lr lr_decay weight_decay eps"),
        ("Adadelta", "lr rho eps weight_decay"), ("Adamax", "lr eps weight_decay"), ("RAdam", "lr eps weight_decay"),
        ("NAdam", "lr eps weight_decay momentum_decay"), ("ASGD", "lr lambd alpha t0 weight_decay"), ("Rprop", "lr"),
        ("LBFGS", "lr tolerance_grad"), ("Adafactor", "lr beta2_decay d weight_decay"),
        ("Muon", "lr weight_decay momentum eps"),
    ],
)  # fmt: skip
def test_options_are_refused_as_by_pytorch(name: str, options: str) -> None:
    reference = pytest.importorskip("torch")
    for option, value in itertools.product(options.split(), VALUES):
        outcomes = []
        for library in (reference, minitorch):
            try:
                given = {option: value_of(value, library)}
                getattr(library.optim, name)([library.ones(2, 2, requires_grad=True)], **given)
            except Exception as error:
                outcomes.append(type(error))
            else:
                outcomes.append(None)
        assert outcomes[0] == outcomes[1], f"{name}({option}={value})"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda p: optim.Adam(p, lr=NAN), "Invalid learning rate: nan"),
        (lambda p: optim.AdamW(p, betas=(0, 0)), "betas must be either both floats or both Tensors"),
        (lambda p: optim.Adam(p, betas=(0.9, 1.0)), "Invalid beta parameter at index 1: 1.0"),
        (lambda p: optim.SGD(p, lr=-1), "Invalid learning rate: -1"),
        (lambda p: optim.SGD(p, lr=torch.ones(2)), "Tensor lr must be 1-element"),
        (lambda p: optim.Muon(p), "Muon only supports 2D parameters whereas we found a parameter with size"),
        (lambda p: optim.Muon(p, adjust_lr_fn="x"), "Adjust learning rate function x is not supported"),
        (lambda p: optim.Adafactor(p, d=0.5), "Clipping threshold d should be >= 1 but is: 0.5"),
        (lambda p: optim.Adafactor(p, beta2_decay=0.5), "beta2_decay should be <= 0 but is: 0.5"),
    ],
)
def test_options_out_of_range(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make([leaf(1.0)])


def test_sgd_takes_what_is_not_a_number() -> None:
    w = leaf(1.0)
    optimizer = optim.SGD([w], lr=NAN)
    step(optimizer, w)
    assert w.isnan().all()


def test_a_step_of_muon_has_singular_values_near_one() -> None:
    w = torch.zeros(4, 3, requires_grad=True)
    w.grad = torch.tensor([[1.0, 2.0, 3.0], [0.0, 1.0, 0.5], [2.0, 0.0, 1.0], [0.0, 0.0, 7.0]])
    optim.Muon([w], lr=1.0, weight_decay=0.0, nesterov=False).step()
    values = torch.linalg.svdvals(w.detach()) / (4 / 3) ** 0.5
    assert 0.6 < values.min().item() <= values.max().item() < 1.25


def test_a_state_saved_by_pytorch_is_loaded() -> None:
    reference = pytest.importorskip("torch")
    p, q = reference.ones(3, requires_grad=True), minitorch.ones(3, requires_grad=True)
    ours, theirs = minitorch.optim.Adam([q], lr=0.1), reference.optim.Adam([p], lr=0.1)
    step(theirs, p)
    saved = theirs.state_dict()
    state = {i: {k: minitorch.tensor(t.numpy()) for k, t in s.items()} for i, s in saved["state"].items()}
    ours.load_state_dict({"state": state, "param_groups": saved["param_groups"]})
    with minitorch.no_grad():
        q.copy_(minitorch.tensor(p.detach().numpy()))
    step(ours, q)
    step(theirs, p)
    np.testing.assert_allclose(q.detach().numpy(), p.detach().numpy(), rtol=1e-6)


# -- large and small ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "make", [lambda p: optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.1), lambda p: optim.Adam(p, weight_decay=0.1)]
)
def test_what_is_updated_together_makes_no_difference(make: Any) -> None:
    generator = np.random.default_rng(1)
    arrays = [generator.normal(size=shape) for shape in SHAPES]
    together = [torch.tensor(a, requires_grad=True) for a in arrays]
    alone = [torch.tensor(a, requires_grad=True) for a in arrays]
    turned = [torch.tensor(a.T.copy()).permute(tuple(reversed(range(a.ndim)))).requires_grad_() for a in arrays]
    for params in (together, turned):
        optimizer = make(params)
        for _ in range(3):
            step(optimizer, *params)
    optimizers = [make([p]) for p in alone]
    for _ in range(3):
        for p, optimizer in zip(alone, optimizers):
            step(optimizer, p)
    for p, q, r in zip(together, alone, turned):
        np.testing.assert_allclose(p.detach().numpy(), q.detach().numpy(), rtol=1e-13)
        np.testing.assert_allclose(p.detach().numpy(), r.detach().numpy(), rtol=1e-13)


# -- whose memory it is ------------------------------------------------------------------------------------------------
def test_memory_is_never_moved() -> None:
    array = np.ones(3)
    w = torch.from_numpy(array).requires_grad_()
    view = w.detach()[1:]
    step(optim.SGD([w], lr=0.25), w)
    assert array.tolist() == view.tolist() + [0.5] == [0.5] * 3


def test_a_shared_weight_is_updated_once() -> None:
    shared = torch.nn.Linear(1, 1, bias=False)
    net = torch.nn.Sequential(shared, shared)
    with torch.no_grad():
        shared.weight.fill_(1.0)
    net(torch.ones(1, 1)).sum().backward()
    optim.SGD(net.parameters(), lr=0.25).step()
    assert net[0].weight is net[1].weight
    assert shared.weight.item() == 0.5


def test_new_data_is_followed() -> None:
    w = leaf(1.0, 2.0)
    optimizer = optim.Adam([w], lr=0.1)
    step(optimizer, w)
    w.data = torch.tensor([5.0, 6.0], dtype=torch.float64)
    step(optimizer, w)
    assert w.tolist() == pytest.approx([4.913895373912602, 5.908221888204561])
    assert optimizer.state[w]["step"].item() == 2


def test_every_step_counts_as_a_write() -> None:
    w = leaf(1.0)
    optimizer = optim.SGD([w], lr=0.1)
    loss = (w * w).sum()
    loss.backward(retain_graph=True)
    version = w._version
    optimizer.step()
    assert w._version == version + 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_parameters_come_go_and_rest() -> None:
    a, b, c = leaf(1.0), leaf(1.0), leaf(1.0)
    optimizer = optim.Adam([a, b], lr=0.1)
    step(optimizer, a, b)
    step(optimizer, a)  # b has no gradient
    b.requires_grad_(False)
    step(optimizer, a)
    optimizer.add_param_group({"params": [c]})
    b.requires_grad_(True)
    step(optimizer, a, b, c)
    assert [optimizer.state[p]["step"].item() for p in (a, b, c)] == [4, 2, 1]
    single = leaf(1.0)
    alone = optim.Adam([single], lr=0.1)
    step(alone, single)
    step(alone, single)
    assert b.item() == single.item()


def test_state_can_be_read_written_and_replaced() -> None:
    w = leaf(1.0)
    optimizer = optim.SGD([w], lr=0.5, momentum=0.5)
    step(optimizer, w)
    buffer = optimizer.state[w]["momentum_buffer"]
    assert buffer.tolist() == [2.0]
    buffer.zero_()
    step(optimizer, w)  # w is 0, so is its gradient
    assert w.item() == 0
    optimizer.state[w]["momentum_buffer"] = torch.tensor([4.0], dtype=torch.float64)
    step(optimizer, w)
    assert w.item() == -1
    assert optimizer.state[w]["momentum_buffer"].tolist() == [2.0]
    optimizer.state.clear()
    step(optimizer, w)
    assert w.item() == 0


def test_options_may_change_between_steps() -> None:
    w = leaf(4.0)
    optimizer = optim.SGD([w], lr=0.25)
    step(optimizer, w)
    optimizer.param_groups[0]["lr"] = torch.tensor(0.5)
    step(optimizer, w)
    assert w.item() == 0


def test_mixed_dtypes() -> None:
    a, b = torch.ones(2, requires_grad=True), leaf(1.0)
    optimizer = optim.Adam([a, b], lr=0.5)
    step(optimizer, a, b)
    assert a.dtype == torch.float32
    assert b.dtype == torch.float64
    assert a.tolist() == pytest.approx([0.5, 0.5])
    assert optimizer.state[a]["exp_avg"].dtype == torch.float32


def test_infinities_give_no_warning() -> None:
    w = torch.tensor([1.0, 1.0], requires_grad=True)
    w.grad = torch.tensor([float("inf"), 1e38])
    optimizer = optim.Adam([w])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        optimizer.step()
        optimizer.step()
    assert np.isnan(w.detach().numpy()).tolist() == [True, False]


def test_a_gradient_left_from_other_data_is_refused() -> None:
    w = torch.ones(2, requires_grad=True)
    (w * w).sum().backward()
    w.data = torch.ones(3)
    if torch.__name__ != "torch":
        with pytest.raises(RuntimeError, match="call zero_grad"):
            optim.SGD([w]).step()


def test_differentiable_is_refused() -> None:
    if torch.__name__ == "torch":
        pytest.skip("PyTorch has it")
    with pytest.raises(RuntimeError, match="differentiable=True is not supported"):
        optim.SGD([leaf(1.0)], differentiable=True)
