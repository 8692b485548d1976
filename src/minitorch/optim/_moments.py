"""What Adam and its kin share: running means of gradients and of their squares, decay in two ways."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._elementwise import Block, ElementwiseOptimizer


class MomentOptimizer(ElementwiseOptimizer):
    """An optimizer with ``exp_avg`` and ``exp_avg_sq``, whose weight decay may be decoupled from the gradient."""

    def coupled_decay(self, group: dict[str, Any]) -> float:
        return 0.0 if group["decoupled_weight_decay"] else float(group["weight_decay"])

    @staticmethod
    def moments(block: Block, gradient: np.ndarray, beta1: float, beta2: float) -> tuple[np.ndarray, np.ndarray]:
        """The running means of the gradient and of its square, brought up to date."""
        average, square, change = block.state["exp_avg"], block.state["exp_avg_sq"], block.change
        np.subtract(gradient, average, change)
        change *= 1 - beta1
        average += change
        np.multiply(gradient, gradient, change)
        change *= 1 - beta2
        square *= beta2
        square += change
        return average, square
