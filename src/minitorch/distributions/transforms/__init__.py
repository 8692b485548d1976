"""Transforms: functions with the logarithm of their Jacobian determinant, most of them invertible."""

from .composed import ComposeTransform, IndependentTransform, ReshapeTransform, identity_transform
from .elementwise import (
    AbsTransform,
    AffineTransform,
    CumulativeDistributionTransform,
    ExpTransform,
    PowerTransform,
    SigmoidTransform,
    SoftplusTransform,
    TanhTransform,
)
from .matrices import CorrCholeskyTransform, LowerCholeskyTransform, PositiveDefiniteTransform
from .parts import CatTransform, StackTransform
from .simplex import SoftmaxTransform, StickBreakingTransform
from .transform import Transform

__all__ = [
    "AbsTransform", "AffineTransform", "CatTransform", "ComposeTransform", "CorrCholeskyTransform",
    "CumulativeDistributionTransform", "ExpTransform", "IndependentTransform", "LowerCholeskyTransform",
    "PositiveDefiniteTransform", "PowerTransform", "ReshapeTransform", "SigmoidTransform", "SoftmaxTransform",
    "SoftplusTransform", "StackTransform", "StickBreakingTransform", "TanhTransform", "Transform", "identity_transform",
]  # fmt: skip
