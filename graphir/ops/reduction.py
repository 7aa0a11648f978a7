"""Reductions over axes."""

from __future__ import annotations

from .base import Operator, operator
from ..types import TensorType


@operator
class ReduceSum(Operator):
    """The sum over the int64 vector `axes`."""

    inputs = ("X", "axes?")
    keepdims: bool = True

    def infer(self, x: TensorType, axes: TensorType | None = None) -> TensorType:
        return TensorType(x.dtype, None)


OPERATORS = (ReduceSum,)
