"""What ``strict=True`` refuses: results that do not depend on the inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._reach import reachable
from .._views import current_node

_NOT_ALLOWED = "This is not allowed in strict mode"


def check_outputs(outputs: Sequence[Any]) -> None:
    """Raise for an output that has no history."""
    for index, output in enumerate(outputs):
        if current_node(output) is None:
            raise RuntimeError(
                f"Output {index} of the user-provided function does not require gradients. The outputs must be computed in a "
                "differentiable manner from the input when running in strict mode."
            )


def check_gradients(found: Sequence[Any], second: bool = False) -> None:
    """Raise for an input that no output depends on; with *second*, for one that the gradient does not depend on."""
    for index, gradient in enumerate(found):
        if gradient is None:
            raise RuntimeError(
                f"The output of the user-provided function is independent of input {index}. {_NOT_ALLOWED}."
            )
        if second and current_node(gradient) is None:
            raise RuntimeError(
                "While computing the hessian, found that the jacobian of the user-provided function with respect to input "
                f"{index} is independent of the input. {_NOT_ALLOWED}. You should ensure that your function is twice "
                "differentiable and that the jacobian depends on the inputs (this would be violated by a linear function for "
                "example)."
            )


def check_connected(outputs: Sequence[Any], inputs: Sequence[Any]) -> None:
    """Raise for an input that no output depends on, by the graph."""
    reached = reachable([current_node(o) for o in outputs])
    check_gradients([i if current_node(i) in reached else None for i in inputs])


def check_products(found: Sequence[Any], create: bool, what: str, of: str) -> None:
    """Raise for an input that *of* does not depend on; with *create*, for a derivative (*what* it is) that is constant."""
    for index, product in enumerate(found):
        if product is None:
            raise RuntimeError(f"{of} of the user-provided function is independent of input {index}. {_NOT_ALLOWED}.")
        if create and current_node(product) is None:
            raise RuntimeError(
                f"The {what} of the user-provided function is independent of input {index}. {_NOT_ALLOWED} when "
                "create_graph=True."
            )
