"""Weights that are computed from others: normalised, parametrized, pruned, replaced for one call; as PyTorch's."""

from __future__ import annotations

import copy
import importlib
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import minitorch

PROGRAMS: dict[str, Callable[[Any], Any]] = {}


def program(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A program that is run with minitorch and with PyTorch: what it returns has to be the same."""
    PROGRAMS[function.__name__] = function
    return function


def trained(torch: Any, model: Any, shape: tuple[int, ...], read: Callable[[], Any]) -> list[Any]:
    """Two steps of SGD: what *read* gives before, between and after, and the state at the end."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    found = [read()]
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.randn(*shape)).square().sum().backward()
        optimizer.step()
        found.append(read())
    return [*found, dict(model.state_dict()), str(model)]


@program
def old_weight_norm(torch: Any) -> Any:
    utils = torch.nn.utils
    model = utils.weight_norm(torch.nn.Conv1d(2, 3, 2), dim=0)
    other = utils.weight_norm(torch.nn.Linear(3, 2), dim=None)
    found = trained(torch, model, (2, 2, 4), lambda: model.weight.detach())
    found += trained(torch, other, (4, 3), lambda: other.weight.detach())
    utils.remove_weight_norm(model)
    return [*found, [name for name, _ in model.named_parameters()], model.weight]


@program
def new_weight_norm(torch: Any) -> Any:
    parametrizations = torch.nn.utils.parametrizations
    model = parametrizations.weight_norm(torch.nn.Conv1d(2, 3, 2), dim=1)
    other = parametrizations.weight_norm(torch.nn.Linear(3, 2), dim=None)
    found = trained(torch, model, (2, 2, 4), lambda: model.weight.detach())
    return found + trained(torch, other, (4, 3), lambda: other.weight.detach())


@program
def old_spectral_norm(torch: Any) -> Any:
    utils = torch.nn.utils
    model = utils.spectral_norm(torch.nn.Conv2d(2, 3, 2))
    other = utils.spectral_norm(torch.nn.ConvTranspose1d(2, 3, 2), n_power_iterations=3)
    found = trained(torch, model, (2, 2, 4, 4), lambda: model.weight.detach())
    found += trained(torch, other, (2, 2, 4), lambda: other.weight.detach())
    utils.remove_spectral_norm(model)
    return [*found, [name for name, _ in model.named_parameters()], model.weight]


@program
def new_spectral_norm(torch: Any) -> Any:
    parametrizations = torch.nn.utils.parametrizations
    model = parametrizations.spectral_norm(torch.nn.Linear(4, 3))
    found = trained(torch, model, (5, 4), lambda: model.bias.detach())
    model.eval()
    bias = parametrizations.spectral_norm(torch.nn.Linear(2, 2), "bias").bias
    return [*found, model.weight.detach(), bias]


@program
def orthogonal(torch: Any) -> Any:
    found = []
    for sizes in ((3, 3), (4, 2), (2, 4)):
        for which in ("matrix_exp", "cayley", "householder"):
            model = torch.nn.utils.parametrizations.orthogonal(torch.nn.Linear(*sizes).double(), orthogonal_map=which)
            inputs = torch.randn(5, sizes[0], dtype=torch.float64)
            (model(inputs) * torch.arange(sizes[1])).sum().backward()
            found += [model.weight, model.parametrizations.weight.original.grad]
    model = torch.nn.utils.parametrizations.orthogonal(torch.nn.Linear(4, 2), use_trivialization=False)
    return [*found, model.weight, str(model)]


class _Doubling:
    """The parametrization X -> 2 X, for either library."""

    @staticmethod
    def of(torch: Any) -> Any:
        class Doubling(torch.nn.Module):
            def forward(self, X: Any) -> Any:
                return 2 * X

            def right_inverse(self, X: Any) -> Any:
                return X / 2

        return Doubling()


@program
def parametrizations_in_turn(torch: Any) -> Any:
    P = torch.nn.utils.parametrize
    model = torch.nn.Linear(2, 2)
    parameter = model.weight
    P.register_parametrization(model, "weight", _Doubling.of(torch))
    P.register_parametrization(model, "weight", _Doubling.of(torch))
    found = [model.weight, model.parametrizations.weight.original, str(model), list(model.state_dict())]
    model.weight = torch.ones(2, 2)
    found += [model.weight, model.parametrizations.weight.original, P.is_parametrized(model)]
    found += [P.is_parametrized(model, "bias"), P.type_before_parametrizations(model).__name__]
    copied = copy.deepcopy(model)
    P.remove_parametrizations(model, "weight", leave_parametrized=True)
    return [*found, model.weight, model.weight is parameter, str(model), P.is_parametrized(copied, "weight")]


@program
def pruned_by_magnitude(torch: Any) -> Any:
    prune = importlib.import_module(f"{torch.__name__}.nn.utils.prune")
    model = torch.nn.Linear(5, 4)
    prune.l1_unstructured(model, "weight", amount=0.3)
    found = trained(torch, model, (3, 5), lambda: model.weight.detach())
    prune.l1_unstructured(model, "weight", amount=3)
    prune.ln_structured(model, "weight", amount=1, n=2, dim=0)
    found += [model.weight, model.weight_mask, prune.is_pruned(model)]
    prune.remove(model, "weight")
    return [*found, model.weight, dict(model.state_dict()), prune.is_pruned(model)]


@program
def pruned_at_random(torch: Any) -> Any:
    prune = importlib.import_module(f"{torch.__name__}.nn.utils.prune")
    model = torch.nn.Linear(6, 5)
    prune.random_unstructured(model, "weight", amount=0.4)
    prune.random_unstructured(model, "bias", amount=2)
    other = prune.random_structured(torch.nn.Conv2d(3, 4, 2), "weight", amount=0.5, dim=0)
    plain = prune.identity(torch.nn.Linear(2, 2), "weight")
    masked = prune.custom_from_mask(torch.nn.Linear(2, 2), "weight", torch.eye(2))
    return [model.weight, model.bias, other.weight_mask, plain.weight_mask, masked.weight]


@program
def pruned_together(torch: Any) -> Any:
    prune = importlib.import_module(f"{torch.__name__}.nn.utils.prune")
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2))
    pairs = [(model[0], "weight"), (model[1], "weight")]
    prune.global_unstructured(pairs, pruning_method=prune.L1Unstructured, amount=0.5)
    prune.global_unstructured(pairs, pruning_method=prune.L1Unstructured, amount=2)
    return dict(model.state_dict())


@program
def called_with_other_tensors(torch: Any) -> Any:
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3), torch.nn.Linear(3, 1))
    before = {name: p.detach().clone() for name, p in model.state_dict().items()}
    given = {name: torch.randn_like(p).requires_grad_() for name, p in model.named_parameters()}
    y = torch.func.functional_call(model, given, (torch.randn(4, 2),))
    y.square().sum().backward()
    same = [bool((before[n] == p).all()) for n, p in model.state_dict().items() if "running" not in n]
    return [y, {name: p.grad for name, p in given.items()}, same, all(p.grad is None for p in model.parameters())]


@program
def tied_weights(torch: Any) -> Any:
    model = torch.nn.Sequential(torch.nn.Linear(2, 2, bias=False), torch.nn.Linear(2, 2, bias=False))
    model[1].weight = model[0].weight
    x = torch.ones(1, 2)
    other = {"0.weight": torch.eye(2) * 2}
    untied = torch.func.functional_call(model, other, x, tie_weights=False)
    return [torch.func.functional_call(model, other, x), untied]


@program
def one_vector(torch: Any) -> Any:
    utils = torch.nn.utils
    model = torch.nn.Linear(3, 2)
    vector = utils.parameters_to_vector(model.parameters())
    utils.vector_to_parameters(torch.arange(8.0), model.parameters())
    norm = utils.get_total_norm([model.weight, model.bias], norm_type=1.0)
    model(torch.ones(1, 3)).sum().backward()
    utils.clip_grads_with_norm_(model.parameters(), 1.0, torch.tensor(4.0))
    return [vector, model.weight, model.bias, norm, model.weight.grad]


@program
def initial_values(torch: Any) -> Any:
    init = torch.nn.init
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in ("uniform", "normal", "xavier_uniform", "xavier_normal", "kaiming_uniform", "kaiming_normal"):
            found += [getattr(init, name)(torch.empty(3, 4)), getattr(init, f"{name}_")(torch.empty(3, 4))]
        found += [init.constant(torch.empty(2), 3.0), init.eye(torch.empty(2, 3)), init.dirac(torch.empty(2, 2, 3))]
        found += [init.orthogonal(torch.empty(4, 3)), init.sparse(torch.empty(5, 3), 0.4)]
    generator = torch.Generator().manual_seed(3)
    found += [init.trunc_normal_(torch.empty(20), generator=generator), init.dirac_(torch.empty(4, 2, 3, 3), groups=2)]
    return [*found, init._calculate_fan_in_and_fan_out(torch.empty(3, 4, 5))]


def assert_alike(one: Any, other: Any) -> None:
    """Equal but for the tensors' library."""
    if isinstance(one, dict):
        assert list(one) == list(other)
        one, other = list(one.values()), list(other.values())
    if isinstance(one, (list, tuple)):
        assert len(one) == len(other)
        for a, b in zip(one, other):
            assert_alike(a, b)
    elif isinstance(one, minitorch.Tensor):
        assert str(one.dtype) == str(other.dtype)
        ours, theirs = one.detach().double(), minitorch.tensor(other.detach().tolist(), dtype=minitorch.float64)
        tolerance = 1e-10 if one.dtype is minitorch.float64 else 2e-5
        minitorch.testing.assert_close(ours, theirs, rtol=tolerance, atol=tolerance)
    else:
        assert one == other


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_in_pytorch(name: str) -> None:
    pytest.importorskip("torch")
    results = []
    for torch in (minitorch, importlib.import_module("torch")):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", category=FutureWarning)
            torch.manual_seed(0)
            results.append([PROGRAMS[name](torch), torch.rand(2)])
    assert_alike(*results)


# -- what needs no PyTorch ---------------------------------------------------------------------------------------------
def test_normalised_weights_are_normalised() -> None:
    utils = minitorch.nn.utils
    minitorch.manual_seed(0)
    layer = utils.parametrizations.weight_norm(minitorch.nn.Linear(3, 4))
    minitorch.testing.assert_close(layer.weight.norm(dim=1, keepdim=True), layer.parametrizations.weight.original0)
    layer = utils.parametrizations.spectral_norm(minitorch.nn.Linear(3, 4))
    assert abs(minitorch.linalg.matrix_norm(layer.weight, 2).item() - 1) < 1e-3
    for which in ("matrix_exp", "cayley", "householder"):
        layer = utils.parametrizations.orthogonal(minitorch.nn.Linear(3, 4), orthogonal_map=which)
        minitorch.testing.assert_close(layer.weight.T @ layer.weight, minitorch.eye(3), rtol=1e-5, atol=1e-5)
        layer(minitorch.ones(1, 3)).sum().backward()


def test_an_older_state_fits_the_newer_form() -> None:
    utils = minitorch.nn.utils
    with pytest.warns(FutureWarning, match="deprecated"):
        old = utils.weight_norm(minitorch.nn.Linear(3, 2))
    new = utils.parametrizations.weight_norm(minitorch.nn.Linear(3, 2))
    new.load_state_dict(old.state_dict())
    minitorch.testing.assert_close(new.weight, old.weight)


def test_cached_computes_once() -> None:
    P = minitorch.nn.utils.parametrize
    calls = []

    class Noting(minitorch.nn.Module):
        def forward(self, X: Any) -> Any:
            calls.append(1)
            return X * 1

    layer = P.register_parametrization(minitorch.nn.Linear(2, 2), "weight", Noting())
    calls.clear()
    with P.cached():
        assert layer.weight is layer.weight
    assert len(calls) == 1
    assert layer.weight is not layer.weight


def test_a_copy_is_parametrized_on_its_own() -> None:
    P = minitorch.nn.utils.parametrize
    layer = P.register_parametrization(minitorch.nn.Linear(2, 2), "weight", _Doubling.of(minitorch))
    copied = copy.deepcopy(layer)
    P.remove_parametrizations(layer, "weight")
    minitorch.testing.assert_close(copied.weight, layer.weight)
    original = copied.parametrizations.weight.original.detach().clone()
    P.remove_parametrizations(copied, "weight", leave_parametrized=False)
    assert minitorch.equal(copied.weight, original)


class Longer(minitorch.nn.Module):
    def forward(self, X: Any) -> Any:
        return minitorch.cat([X, X])


class Wider(minitorch.nn.Module):
    def forward(self, X: Any) -> Any:
        return X.double()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda P, m: P.register_parametrization(m, "weight", Longer()), ValueError, "may not change the shape"),
        (lambda P, m: P.register_parametrization(m, "weight", Wider()), ValueError, "may not change the dtype"),
        (lambda P, m: P.register_parametrization(m, "height", Longer()), ValueError, "name 'height'"),
        (lambda P, m: P.remove_parametrizations(m, "weight"), ValueError, "does not have a parametrization"),
        (lambda P, m: P.ParametrizationList([], m.weight), ValueError, "one or more"),
    ],
)
def test_refused_parametrizations(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call(minitorch.nn.utils.parametrize, minitorch.nn.Linear(2, 2))


def test_refusals() -> None:
    utils, layer = minitorch.nn.utils, minitorch.nn.Linear(2, 2)
    utils.spectral_norm(layer)
    with pytest.raises(RuntimeError, match="two spectral_norm hooks"):
        utils.spectral_norm(layer)
    with pytest.raises(ValueError, match="weight_norm of 'weight' not found"):
        utils.remove_weight_norm(layer)
    with pytest.raises(ValueError, match="has to be pruned"):
        utils.prune.remove(layer, "bias")
    with pytest.raises(ValueError, match=r"amount=1\.5"):
        utils.prune.l1_unstructured(layer, "bias", amount=1.5)
    with pytest.raises(ValueError, match="should be smaller"):
        utils.prune.l1_unstructured(layer, "bias", amount=5)
    assert "bias" in dict(layer.named_parameters())
    with pytest.raises(TypeError, match="Invalid type for amount"):
        utils.prune.l1_unstructured(layer, "bias", amount="half")
    with pytest.raises(ValueError, match="multidimensional"):
        utils.prune.ln_structured(layer, "bias", 1, 2, 0)
    with pytest.raises(TypeError, match=r"expected torch\.Tensor"):
        utils.vector_to_parameters([1.0], layer.parameters())
    with pytest.raises(RuntimeError, match="device"):
        utils.skip_init(minitorch.nn.ReLU)
    with pytest.raises(RuntimeError, match=r"Missing key\(s\): 'bias'"):
        minitorch.func.functional_call(minitorch.nn.Linear(2, 2), {"weight": minitorch.ones(2, 2)}, (), strict=True)
    computed = utils.parametrizations.weight_norm(minitorch.nn.Linear(2, 2))
    with pytest.raises(RuntimeError, match="state_dict"):
        pickle.dumps(computed)
    with pytest.raises(ValueError, match="sequence"):
        utils.parametrize.remove_parametrizations(computed, "weight", leave_parametrized=False)
    with pytest.warns(FutureWarning, match="clip_grad_norm_"):
        utils.clip_grad_norm(layer.parameters(), 1.0)
    with pytest.warns(FutureWarning, match=r"nn\.init\.normal_"):
        minitorch.nn.init.normal(minitorch.empty(2))
