"""Every tensor of floats that a public function takes: both modes differentiate it, and alike, or both refuse to."""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import minitorch
from minitorch.autograd import forward_ad as fwAD
from minitorch.autograd import grad
from public_calls import Argument, PublicCall, forms, named, public_calls, public_functions

CONSTANT = {
    "airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 modified_bessel_i0 modified_bessel_i1 modified_bessel_k0 "
    "modified_bessel_k1 scaled_modified_bessel_k0 scaled_modified_bessel_k1 spherical_bessel_j0 "
    "shifted_chebyshev_polynomial_t shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v "
    "shifted_chebyshev_polynomial_w chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v "
    "chebyshev_polynomial_w hermite_polynomial_h hermite_polynomial_he laguerre_polynomial_l "
    "legendre_polynomial_p": "PyTorch gives them none either",
    "detach tensor new_tensor": "that is what they are for",
    "linspace logspace": "numbers, that may come as tensors; as in PyTorch",
    "histc": "counts; as in PyTorch",
    "hinge_embedding_loss cosine_embedding_loss": "the target is compared with 1 and -1; as in PyTorch",
    "lstsq": "the singular values are those of a driver; as in PyTorch",
}
"""Functions some of whose results move with an argument and have no derivative, and why."""
DIFFERENT = {
    "scatter": "repeated places count each in the gradient, and once in the result and its tangent; as in PyTorch",
    "index_put": "the same",
    "logical_and_": "the values are logical, and the history is that of what was written over; as in PyTorch",
    "logical_or_": "the same",
    "logical_xor_": "the same",
    "logical_not_": "the same",
    "embedding": "the row of padding_idx has no gradient, though it is in the result; as in PyTorch",
}
"""Functions whose modes differ by intent, and why."""
TANGENTS_ONLY = {
    "binary_cross_entropy_with_logits": "PyTorch refuses gradients of its weights, and computes their tangents",
}


# -- one argument ------------------------------------------------------------------------------------------------------
Found = list[float | None] | str
"""A derivative for each result, None where there is none; or who refuses."""


def derivatives(find: Callable[[], list[float | None]]) -> Found:
    try:
        return find()
    except (RuntimeError, TypeError) as error:
        return f"{type(error).__name__}: {error}"


def backward(call: PublicCall, argument: Argument, x: Any, t: Any, starts: Sequence[Any]) -> list[float | None]:
    leaf = x.clone().requires_grad_()
    found: list[float | None] = []
    for y, start in zip(call.run(argument, leaf.clone()), starts):
        (g,) = grad(y, leaf, start, allow_unused=True, retain_graph=True) if y.requires_grad else (None,)
        found.append(None if g is None else (g * t).sum().item())
    return found


def forward(call: PublicCall, argument: Argument, x: Any, t: Any, starts: Sequence[Any]) -> list[float | None]:
    with fwAD.dual_level():
        results = call.run(argument, fwAD.make_dual(x.clone(), t))
        tangents = [fwAD.unpack_dual(y).tangent for y in results]
    return [None if tangent is None else (tangent * start).sum().item() for tangent, start in zip(tangents, starts)]


def moved(call: PublicCall, argument: Argument, x: Any, t: Any, results: Sequence[Any]) -> list[bool]:
    """Which results are others where the argument is a little larger, and a little smaller: so of no step function."""
    found = [True] * len(results)
    for step in (1e-4, -1e-4):
        try:
            others = call.run(argument, x + step * t)
        except RuntimeError:  # it may not be just anything
            return [False] * len(results)
        for i, (y, other) in enumerate(zip(results, others)):
            found[i] &= y.shape == other.shape and not np.array_equal(array(y), array(other), equal_nan=True)
    return found


def array(tensor: Any) -> np.ndarray:
    return np.asarray(tensor.detach().numpy())


def problem(call: PublicCall, argument: Argument, rng: np.random.Generator) -> str:
    """What is wrong with the derivatives with respect to an argument; "" if nothing is."""
    name, x = call.name.split(".")[-1], call.at(argument).detach().clone()
    try:
        results = call.run(argument, x.clone())
    except (RuntimeError, IndexError, TypeError):  # of a copy, or of what the call then did to the argument
        return ""
    like = [minitorch.from_numpy(np.asarray(rng.normal(size=tuple(y.shape)))).to(y.dtype) for y in (x, *results)]
    t, starts = like[0], like[1:]
    back = derivatives(lambda: backward(call, argument, x, t, starts))
    ahead = derivatives(lambda: forward(call, argument, x, t, starts))
    moving = moved(call, argument, x, t, results)
    if isinstance(back, str) or isinstance(ahead, str):
        return "" if refused(name, back, ahead, moving) else f"backward: {back}; forward: {ahead}"
    tolerance = 1e-2 if any(y.dtype is minitorch.float16 for y in (x, *results)) else 1e-6
    for place, (one, other) in enumerate(zip(back, ahead)):
        if one is None and other is None:
            if moving[place] and not any(name in names.split() for names in CONSTANT):
                return f"result {place} moves with it, and has no derivative"
        elif (one or 0.0) != pytest.approx(other or 0.0, tolerance, tolerance, nan_ok=True) and name not in DIFFERENT:
            return f"backward gives {one}, forward {other}"
    return ""


def refused(name: str, back: Found, ahead: Found, moving: list[bool]) -> bool:
    """Whether one mode may refuse, seeing what the other does."""
    if isinstance(back, str) and isinstance(ahead, str):
        return True
    if isinstance(back, str):
        is_number = "must be Number" in back or "must be float" in back  # which a tensor that requires grad is not
        return is_number or not any(moving) or name in TANGENTS_ONLY
    return False


# -- all of them -------------------------------------------------------------------------------------------------------
def test_modes_agree_on_what_is_differentiable() -> None:
    rng = np.random.default_rng(0)
    problems = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for call in public_calls(1):
            for argument in call.float_arguments():
                if found := problem(call, argument, rng):
                    problems.append(f"{call.name}, {argument.name} ({call.kind()}): {found}")
    assert not problems, "\n".join(problems)


WITHOUT_FLOATS = """
index indices mask condition repeats sorter LU_pivots pivots fweights targets target input_lengths target_lengths offsets
key_padding_mask distance_function new_state tensor1 tensor2 t
"""
"""Arguments that are no tensors of floats."""
LOOKING = """
add_docstr argwhere as_strided_ bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor complex
count_nonzero empty_like gcd get_device imag is_complex is_conj is_floating_point is_nonzero is_same_size is_signed isreal lcm
nonzero_static resize_as_ one_hot unravel_index eig eigvals apply_ as_subclass bfloat16 byte char cuda dim_order element_size
is_set_to
map2_ map_ new new_empty new_empty_strided pin_memory resize_ set_ share_memory_ short storage storage_offset tolist
untyped_storage
bincount.input embedding.input embedding_bag.input narrow.start where.condition
"""
"""Functions and arguments of functions that have nothing to differentiate, or are refused by name."""


def test_every_argument_is_tried() -> None:
    tried = {(call.name, argument.name) for call in public_calls(1) for argument in call.float_arguments()}
    without, looking = set(WITHOUT_FLOATS.split()), set(LOOKING.split())
    missing = []
    for name, function in public_functions().items():
        last = name.split(".")[-1]
        for argument, parameter in inspect.signature(function).parameters.items():
            if "Tensor" not in str(parameter.annotation) or argument == "out" or last.startswith("__"):
                continue
            if argument in without or last in looking or f"{last}.{argument}" in looking:
                continue
            if (name, argument) not in tried:
                missing.append(f"{name}({argument})")
    assert not missing, f"no call in tests/public_calls.py has floats for {missing}"


# -- in PyTorch --------------------------------------------------------------------------------------------------------
DRAWN = re.compile("dropout|rrelu|gumbel|rand|normal")
"""Forms whose gradients are drawn."""


def outcome(torch: Any, form: str, which: str) -> Any:
    """How a form's results depend on a tensor that requires grad: the sums of its gradients; None where they are refused."""
    torch.manual_seed(0)
    names = named(torch)
    leaf = names[which].requires_grad_()
    try:
        out = eval(form, {**names, which: leaf * 1})
        results = [y for y in tensors(torch, out) if y.is_floating_point() and y.requires_grad]
        gradients = [torch.autograd.grad(y.sum(), leaf, allow_unused=True, retain_graph=True)[0] for y in results]
    except (RuntimeError, TypeError) as error:
        return type(error)
    return [0.0 if g is None else g.sum().item() for g in gradients]


def tensors(torch: Any, result: Any) -> list[Any]:
    if isinstance(result, (tuple, list)):
        return [t for r in result for t in tensors(torch, r)]
    return [result] if isinstance(result, torch.Tensor) else []


@pytest.mark.pytorch
@pytest.mark.parametrize("form", forms())
def test_forms_against_pytorch(form: str) -> None:
    torch = pytest.importorskip("torch")
    for which in [name for name in ("x", "v") if re.search(rf"\b{name}\b", form)]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ours, theirs = outcome(minitorch, form, which), outcome(torch, form, which)
        if isinstance(ours, list) and isinstance(theirs, list) and not DRAWN.search(form):
            assert ours == pytest.approx(theirs, 1e-5, 1e-6)
        else:
            assert isinstance(ours, list) == isinstance(theirs, list), (ours, theirs)
            assert isinstance(ours, list) or issubclass(ours, theirs) or issubclass(theirs, ours), (ours, theirs)
