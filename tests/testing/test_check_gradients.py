"""``testing.check_gradients``: what passes, what fails, and what is said of it."""

from __future__ import annotations

from typing import Any

import pytest

import minitorch as torch
from minitorch.testing import GradientError, GradientReport, check_gradients

F64, F32 = torch.float64, torch.float32
POINT = [[0.5, 2.0, -1.0], [1.0, -0.3, 0.7]]


def point(dtype: Any = F64) -> Any:
    return torch.tensor(POINT, dtype=dtype)


def failing(fn: Any, *inputs: Any, **options: Any) -> GradientReport:
    with pytest.raises(GradientError) as error:
        check_gradients(fn, *inputs, **options)
    report: GradientReport = error.value.report
    assert str(report) == str(error.value)
    return report


class Scaled(torch.autograd.Function):
    """x**3, with a gradient that is off by a factor."""

    factor = 1.0

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * 3 * x * x * Scaled.factor


RIGHT: dict[str, Any] = {
    "elementwise": lambda x: (x * x).sin(),
    "reduction": lambda x: x.exp().mean(),
    "softmax": lambda x: x.softmax(1).log(),
    "product": lambda x: x @ x.t(),
    "relu": lambda x: x.relu() + x.abs(),
    "sorted": lambda x: x.sort(dim=1).values,
    "clamped": lambda x: x.clamp(-0.5, 0.6),
    "maximum": lambda x: x.amax(1),
    "several": lambda x: (x.sum(0), x * 2, x.argmax()),
    "constant": lambda x: torch.ones(2, dtype=x.dtype),
    "in place": lambda x: x.clone().mul_(x),
}


@pytest.mark.parametrize("dtype", [F64, F32], ids=str)
@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("name", RIGHT)
def test_right_gradients_pass(name: str, fast: bool, dtype: Any) -> None:
    report = check_gradients(RIGHT[name], point(dtype), order=2, fast=fast)
    assert report.ok
    assert report


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize(("dtype", "factor"), [(F64, 1.01), (F32, 1.1)], ids=str)
def test_small_errors_are_found(monkeypatch: pytest.MonkeyPatch, dtype: Any, factor: float, fast: bool) -> None:
    monkeypatch.setattr(Scaled, "factor", factor)
    for fn in (
        Scaled.apply,
        lambda x: Scaled.apply(x).sum(),
        lambda x: Scaled.apply(x) + 100,
        lambda x: Scaled.apply(x.sin()).cos(),
    ):
        report = failing(fn, point(dtype), fast=fast)
        assert report.failures[0].check == "values"
        assert report.failures[0].blame is not None
        assert report.failures[0].blame.name == "ScaledBackward"


def test_the_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Scaled, "factor", -1.0)

    def model(x: Any) -> Any:
        for _ in range(25):
            x = x + x.sin() / 8
        x = Scaled.apply(x)
        for _ in range(25):
            x = x - x.cos() / 8
        return x

    text = str(failing(model, point()))
    assert "gradient of output 0 (2, 3) with respect to input 0 (2, 3): 6 of 36 entries" in text
    assert "sign flipped" in text
    assert "to blame: ScaledBackward, called at File" in text
    assert "in model: its own gradient is not the derivative of its own forward" in text


CUTS: dict[str, tuple[Any, str]] = {
    "detach": (lambda x: x * x.detach(), "detach()"),
    "data": (lambda x: x * x.data, ".data"),
    "item": (lambda x: x * x.sum().item(), "item()"),
    "numpy": (lambda x: x * torch.from_numpy(x.numpy(force=True)), "numpy()"),
    "copy": (lambda x: torch.tensor(x.tolist(), dtype=F64) * 2, "tolist()"),
}


@pytest.mark.parametrize("name", CUTS)
def test_cuts_are_named(name: str) -> None:
    fn, call = CUTS[name]
    (failure, *_) = failing(fn, point()).failures
    assert failure.blame is not None
    assert (failure.blame.kind, failure.blame.name) == ("cut", call)
    assert __file__ in failure.blame.site


def test_operations_without_recording_are_named() -> None:
    def fn(x: Any) -> Any:
        with torch.no_grad():
            scale = x.exp()
        return x * scale

    blame = failing(fn, point()).failures[0].blame
    assert blame is not None
    assert blame.name == "an operation under no_grad"
    assert blame.site.endswith("in fn")


def test_values_written_after_they_were_saved() -> None:
    def fn(x: Any) -> Any:
        y = x * 1
        z = y * y
        y.data.mul_(2)
        return z

    blame = failing(fn, point()).failures[0].blame
    assert blame is not None
    assert blame.name == "MulBackward0"
    assert "a value that it kept was changed since" in blame.detail


def test_hooks_are_named() -> None:
    def fn(x: Any) -> Any:
        y = x * 2
        y.register_hook(lambda g: g * 2)
        return y.sin()

    blame = failing(fn, point()).failures[0].blame
    assert blame is not None
    assert blame.kind == "hook"


def test_second_order_mistakes() -> None:
    class Half(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * 3 * x * x.detach()

    assert check_gradients(Half.apply, point()).ok
    (failure,) = failing(lambda x: Half.apply(x.sin()), point(), order=2).failures
    assert failure.check == "second_order"
    assert failure.blame is not None
    assert failure.blame.name == "HalfBackward"
    assert "detach()" in failure.blame.detail


class Swish(torch.autograd.Function):
    """x * sigmoid(x), which keeps the sigmoid."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        s = x.sigmoid()
        ctx.save_for_backward(x, s)
        ctx.s = s
        return x * s

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, s = ctx.saved_tensors
        return g * (s + x * s * (1 - s))


def test_what_a_forward_computes_is_a_constant_in_second_derivatives() -> None:
    (failure,) = failing(lambda x: Swish.apply(x.sin()), point(), order=2).failures
    blame = failure.blame
    assert blame is not None
    assert (failure.check, blame.kind, blame.name) == ("second_order", "second order", "SwishBackward")
    assert "keeps what its forward computed (saved tensor 1, ctx.s), and that is a constant" in blame.detail
    assert "mark backward with @once_differentiable" in blame.detail

    class Repaired(Swish):
        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, _ = ctx.saved_tensors
            s = x.sigmoid()
            return g * (s + x * s * (1 - s))

    assert check_gradients(lambda x: Repaired.apply(x.sin()), point(), order=2).ok


def kinks_of(fn: Any, *values: float, dtype: Any = F64) -> list[tuple[int, str, float, float]]:
    report = check_gradients(fn, torch.tensor(values, dtype=dtype))
    return [(p.input_index[0], p.kind, round(p.left, 3), round(p.right, 3)) for p in report.kinks]


@pytest.mark.parametrize("dtype", [F64, F32], ids=str)
def test_kinks(dtype: Any) -> None:
    assert kinks_of(lambda x: x.relu(), -1.0, 0.0, 2.0, dtype=dtype) == [(1, "kink", 0.0, 1.0)]
    assert kinks_of(lambda x: x.abs() + 1, -1.0, 0.0, 2.0, dtype=dtype) == [(1, "kink", -1.0, 1.0)]
    assert kinks_of(lambda x: x.amax(), 1.0, 2.0, 2.0, dtype=dtype) == [(1, "kink", 0.0, 1.0), (2, "kink", 0.0, 1.0)]
    assert kinks_of(lambda x: x.clamp(0, 1), 0.0, 0.5, 1.0, dtype=dtype) == [
        (0, "kink", 0.0, 1.0),
        (2, "kink", 1.0, 0.0),
    ]
    assert kinks_of(lambda x: x.floor(), 0.5, 1.0, dtype=dtype) == [(1, "discontinuity", 0.0, 0.0)]
    assert [k[:2] for k in kinks_of(lambda x: x.sqrt(), 0.0, 1.0, dtype=dtype)] == [(0, "vertical slope")]


@pytest.mark.parametrize("dtype", [F64, F32], ids=str)
def test_next_to_kinks(dtype: Any) -> None:
    for near in (1e-12, -1e-9, 1e-7, 3e-6, -1e-5, 1e-3, 4e-3, -2e-2):
        for fn in (torch.relu, torch.abs, lambda x: x.relu() + 1, lambda x: x.clamp(0, 1)):
            assert check_gradients(fn, torch.tensor([near, 1.5], dtype=dtype)).ok


def test_outside_the_slopes_of_a_kink() -> None:
    class Steep(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x.relu()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * torch.where(x == 0, 1.2, (x > 0).double())

    (p,) = failing(Steep.apply, torch.tensor([-1.0, 0.0, 2.0], dtype=F64)).failures[0].points
    assert (p.kind, p.analytic, p.left, p.right) == ("kink", 1.2, 0.0, 1.0)


BAD: dict[str, tuple[Any, str]] = {
    "nothing": (lambda x: None, "was a return forgotten?"),
    "a number": (lambda x: x.sum().item(), "the function must return tensors"),
    "a dictionary": (lambda x: {"a": x}, "return the tensors in it as one tuple"),
    "nested": (lambda x: [x, [x * 2]], "return the tensors in it as one tuple"),
    "integers": (lambda x: x.argmax(), "has no gradient"),
    "random": (lambda x: x * torch.rand(3), "the function is random"),
    "shapes": (lambda x: x[x > 0.5 - 1e-9], "The shape depends on the values"),
    "writes": (lambda x: x.add_(1), "clone it first"),
    "writes unseen": (lambda x: x * x.data.mul_(2).sum(), "the function wrote into its argument 0"),
    "outside": (lambda x: (x - 5).log(), "no output is finite"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_checked(name: str) -> None:
    fn, text = BAD[name]
    report = failing(fn, point())
    assert text in str(report)
    assert name == "writes unseen" or "gradients of <lambda> cannot be checked" in str(report)


def test_writes_that_do_not_show_at_the_point() -> None:
    def doubles(x: Any) -> Any:
        x.data.mul_(2)
        return x * 3

    blame = failing(doubles, torch.zeros(2, dtype=F64)).failures[0].blame
    assert blame is not None
    assert (blame.kind, blame.name) == ("write", "mul_()")
    assert "clone that first" in str(blame)


def test_what_is_no_function() -> None:
    with pytest.raises(TypeError, match="fn must be a function or a Module, not 3"):
        check_gradients(3, point())


def test_no_input() -> None:
    assert "there is no input to differentiate" in str(failing(lambda n: torch.ones(2), 3))
    assert "there is no input to differentiate" in str(failing(lambda n: n * 2.0, torch.ones(2, dtype=torch.int64)))


def test_errors_pass_with_a_note() -> None:
    def fails(x: Any) -> Any:
        raise KeyError("inside")

    with pytest.raises(KeyError, match="inside") as error:
        check_gradients(fails, point())
    assert "raised by fails" in error.value.__notes__[0]


def test_errors_next_to_the_point() -> None:
    def strict(x: Any) -> Any:
        if x.tolist() != POINT:
            raise ValueError("not that one")
        return x * 2

    assert "raises at every point next to the given one" in str(failing(strict, point(), skip=("determinism",)))


def test_options() -> None:
    with pytest.raises(ValueError, match="order must be 1 or 2"):
        check_gradients(torch.sin, point(), order=3)
    with pytest.raises(ValueError, match=r"no checks \['nope'\] to skip"):
        check_gradients(torch.sin, point(), skip=("nope",))
    with pytest.raises(TypeError, match="a sequence of names"):
        check_gradients(torch.sin, point(), skip="values")
    with pytest.raises(ValueError, match="kinks must be"):
        check_gradients(torch.sin, point(), kinks="all")


def test_a_reference() -> None:
    assert check_gradients(lambda x: x * x, point(), reference=lambda x: x**2).ok
    (failure,) = failing(lambda x: x * x, point(), reference=lambda x: x**2 + x).failures
    assert failure.check == "reference"
    assert failure.blame is not None
    assert "the function computes something else" in failure.blame.name


def test_inputs_are_left_as_they_were() -> None:
    x = point().requires_grad_()
    x.grad = torch.ones(2, 3, dtype=F64)
    layer = torch.nn.Linear(3, 2).double()
    before = [p.tolist() for p in layer.parameters()]
    check_gradients(layer, x, order=2)
    assert x.tolist() == POINT
    assert x.grad.tolist() == [[1.0] * 3] * 2
    assert [p.tolist() for p in layer.parameters()] == before
    assert all(p.grad is None for p in layer.parameters())


@pytest.mark.parametrize("dtype", [F64, F32], ids=str)
@pytest.mark.parametrize("activation", [torch.nn.Tanh, torch.nn.ReLU])
def test_the_cost_for_a_network_of_1000_parameters(activation: Any, dtype: Any) -> None:
    torch.manual_seed(0)
    layers = torch.nn.Linear(10, 30), activation(), torch.nn.Linear(30, 20), activation(), torch.nn.Linear(20, 3)
    net = torch.nn.Sequential(*layers).to(dtype)
    assert sum(p.numel() for p in net.parameters()) == 1013
    x, y = torch.randn(8, 10, dtype=dtype), torch.randn(8, 3, dtype=dtype)
    calls = 0

    def loss(x: Any) -> Any:
        nonlocal calls
        calls += 1
        return ((net(x) - y) ** 2).mean()

    report = check_gradients(loss, x, parameters=net.parameters(), time_limit=None)
    assert report.evaluations == calls <= 4000
    calls = 0
    assert check_gradients(loss, x, parameters=net.parameters(), fast=True).evaluations == calls <= 20


DOCUMENTED: dict[str, tuple[Any, list[float]]] = {
    "relu": (torch.relu, [0.0]),
    "abs": (torch.abs, [0.0]),
    "clamp": (lambda x: x.clamp(-1, 1), [-1.0, 1.0]),
    "clamp at one bound": (lambda x: x.clamp(min=0), [0.0]),
    "maximum": (lambda x: torch.maximum(x, x.detach().clone() * 0 + 1), [1.0]),
    "amax": (lambda x: x.amax(), [2.0, 2.0, 1.0]),
    "max": (lambda x: x.max(0).values, [2.0, 2.0, 1.0]),
    "sort": (lambda x: x.sort().values, [2.0, 2.0, 1.0]),
    "hardtanh": (torch.nn.functional.hardtanh, [-1.0, 1.0]),
    "leaky relu": (torch.nn.functional.leaky_relu, [0.0]),
    "elu": (lambda x: torch.nn.functional.elu(x, 2.0), [0.0]),
    "norm": (torch.norm, [0.0, 0.0]),
}


@pytest.mark.parametrize("name", DOCUMENTED)
def test_documented_values_at_kinks(name: str) -> None:
    fn, values = DOCUMENTED[name]
    report = check_gradients(fn, torch.tensor(values, dtype=F64), kinks="reference")
    assert report.kinks


@pytest.mark.parametrize(("slope", "ok"), [(0.0, True), (1.0, False), (0.5, False)])
def test_another_value_at_a_kink(slope: float, ok: bool) -> None:
    class Rectified(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x.relu()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * torch.where(x == 0, slope, (x > 0).double())

    x = torch.tensor([-1.0, 0.0, 2.0], dtype=F64)
    assert check_gradients(lambda x: Rectified.apply(x * 2) + 1, x).ok
    report = check_gradients(lambda x: Rectified.apply(x * 2) + 1, x, kinks="reference", raise_exception=False)
    assert report.ok == ok
    if not ok:
        blame = report.failures[0].blame
        assert blame is not None
        assert (blame.kind, blame.name) == ("kink", "RectifiedBackward")


def test_the_rules_at_kinks_are_of_rows() -> None:
    from minitorch._op import rows
    from minitorch.testing._kinks import RULES

    assert not set(RULES) - set(rows)


def test_a_gradient_that_only_another_kink_hides() -> None:
    class First(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, a: Any, b: Any) -> Any:
            return a.abs() + 3 * b

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 0.5, None

    assert failing(First.apply, torch.zeros(2, dtype=F64), torch.ones(2, dtype=F64)).failed("values")


@pytest.mark.parametrize(
    ("fn", "options", "kind", "message"),
    [
        (torch.nn.ReLU, {}, TypeError, r"the class ReLU, a Module.*ReLU\(\.\.\.\)"),
        (Scaled, {}, TypeError, r"pass Scaled\.apply"),
        (torch.sin, {"parameters": [3]}, TypeError, r"number 0 is 3 \(int\)"),
        (torch.sin, {"parameters": torch.ones(2)}, TypeError, r"such as \[w\], not a tensor"),
        (torch.sin, {"parameters": [torch.ones(2, dtype=torch.int64)]}, TypeError, "tensors of floats"),
        (torch.sin, {"parameters": torch.nn.Linear(2, 2)}, TypeError, r"pass its parameters\(\)"),
        (torch.sin, {"reference": "sin"}, TypeError, "reference must be a function or a Module, not str"),
        (torch.sin, {"reference": Scaled}, TypeError, "reference is the class Scaled"),
        (torch.sin, {"seed": "a"}, TypeError, "seed must be an int"),
        (torch.sin, {"skip": 3}, TypeError, "skip must be a sequence of names"),
        (torch.sin, {"time_limit": -1}, ValueError, "time_limit must not be negative, but is -1"),
        (torch.sin, {"time_limit": "long"}, TypeError, "time_limit must be a number of seconds"),
    ],
)
def test_what_cannot_be_meant(fn: Any, options: dict[str, Any], kind: Any, message: str) -> None:
    with pytest.raises(kind, match=message):
        check_gradients(fn, point(), **options)


def test_a_reference_that_cannot_be_compared() -> None:
    def broken(x: Any) -> Any:
        raise KeyError("no such thing")

    text = str(failing(torch.sin, point(), reference=broken))
    assert "[reference] the reference broken raised KeyError: 'no such thing'" in text
    assert "must return tensors" in str(failing(torch.sin, point(), reference=lambda x: None))


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize(
    ("fn", "x", "note", "vacuous"),
    [
        (lambda x: torch.ones(3), point(), "no output requires grad: the function returns a constant", True),
        (
            lambda x: (x > 0) * torch.ones(1, requires_grad=True),
            point(),
            "the gradient is zero, and so are all slopes",
            True,
        ),
        (lambda x: x[:0], point(), "nothing was compared: the outputs have no elements", True),
        (torch.sin, torch.zeros(0, dtype=F64), "nothing was compared: the inputs have no elements", True),
        (torch.sin, torch.tensor([float("nan"), 1.0], dtype=F64), "1 of 2 input elements are infinite or NaN", False),
        (torch.sqrt, torch.tensor([-1.0, 1.0], dtype=F64), "1 of 2 output elements are infinite or NaN", False),
    ],
)
def test_what_was_not_compared_is_said(fn: Any, x: Any, note: str, vacuous: bool, fast: bool) -> None:
    report = check_gradients(fn, x, fast=fast)
    assert note in str(report)
    assert report.vacuous is vacuous
    assert not check_gradients(torch.sin, point(), fast=fast).notes


@pytest.mark.parametrize("options", [{}, {"order": 2}, {"fast": True}], ids=str)
def test_functions_of_nothing_but_parameters(options: Any) -> None:
    table = torch.nn.Embedding(4, 2).to(torch.float64)
    assert check_gradients(table, torch.tensor([0, 1]), **options).ok
    w = torch.tensor([0.5, -1.0, 2.0], dtype=torch.float64, requires_grad=True)
    assert check_gradients(lambda i: w[i] * w[i], torch.tensor([0, 1]), parameters=[w], **options).ok
    assert check_gradients(lambda: (w * w).sum(), parameters=[w], **options).ok
    wrong = check_gradients(lambda: (w * w.detach()).sum(), parameters=[w], raise_exception=False, **options)
    assert wrong.failures[0].check == "values"


class Tenth(torch.autograd.Function):
    """sin, with a gradient that is a tenth too large."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * x.cos() * 1.1


@pytest.mark.parametrize("options", [{}, {"order": 2}, {"fast": True}], ids=str)
def test_mistakes_below_a_module_of_float32(options: Any) -> None:
    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = torch.nn.Linear(3, 2)

        def forward(self, x: Any) -> Any:
            return Tenth.apply(self.first(x)).sum()

    net, x = Net(), torch.tensor([[0.5, -1.0, 0.25], [1.0, 0.0, -0.5]])
    weight = net.first.weight.tolist()
    report = check_gradients(net, x, raise_exception=False, **options)
    assert report.failures[0].blame is not None
    assert report.failures[0].blame.name == "TenthBackward"
    assert (net.first.weight.tolist(), net.first.weight.dtype) == (weight, F32)


@pytest.mark.parametrize("every", [2, 3, 4, 5, 6, 7])
def test_functions_that_raise_now_and_then(every: int) -> None:
    calls = []

    def sometimes(x: Any) -> Any:
        calls.append(x)
        if len(calls) % every == 0:
            raise RuntimeError("busy")
        return x.sin() * x

    report = check_gradients(sometimes, point(), raise_exception=False)
    assert not report.checkable
    assert report.failures[0].check == "determinism"
    assert report.failures[0].text.startswith("the function raised RuntimeError: busy; called again alike it did not")
    assert report.evaluations == len(calls)


class Uneven(torch.autograd.Function):
    """x**2, with a gradient that is a hundredth too large for some elements."""

    @staticmethod
    def forward(ctx: Any, x: Any, where: Any) -> Any:
        ctx.save_for_backward(x, where)
        return x * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, where = ctx.saved_tensors
        return g * 2 * x * torch.where(where, 1.01, 1.0), None


def test_a_small_mistake_in_one_element_is_not_scaled_by_a_constant() -> None:
    x = torch.arange(1.0, 13.0, dtype=F64).view(3, 4)
    one = torch.arange(12).view(3, 4) == 5
    assert failing(lambda x: Uneven.apply(x, one).sum(), x).failures[0].pattern is None
    all_of_them = failing(lambda x: Uneven.apply(x, x > 0).sum(), x).failures[0].pattern
    assert all_of_them == "scaled by a constant: the gradient is 1.01 times the derivative"
    late = failing(lambda x: Uneven.apply(x, torch.arange(12).view(3, 4) == 9), x).failures[0].pattern
    assert late is None or "1.01" in late


def test_the_diagonal_alone_is_no_broadcast() -> None:
    class Softmax(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            s = x.softmax(-1)
            ctx.save_for_backward(s)
            return s

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (s,) = ctx.saved_tensors
            return g * s * (1 - s)

    pattern = failing(Softmax.apply, torch.tensor([0.5, -1.0, 2.0], dtype=F64)).failures[0].pattern
    assert str(pattern).startswith("terms are missing: 3 entries agree, 6 are zero")


def test_buffers_of_a_module_are_as_they_were() -> None:
    norm = torch.nn.BatchNorm1d(3)
    before = {name: value.clone() for name, value in norm.state_dict().items()}
    assert check_gradients(norm, torch.tensor([[0.5, 1.0, -2.0], [1.5, 0.0, 3.0], [2.0, -1.0, 0.25]])).ok
    assert all(torch.equal(value, before[name]) for name, value in norm.state_dict().items())
