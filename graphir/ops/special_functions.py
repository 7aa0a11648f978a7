"""Functions of one number that ONNX lacks; its export composes them."""

from __future__ import annotations

from graphir.types import TensorType

from .base import Operator, like_result, operator
from .dtypes import FLOATS
from .traits import Elementwise, Rounding
from .work import Each


class _Function(Operator):
    """One operand; the result has its type."""

    inputs = ("X",)
    takes = (FLOATS,)
    rounding, elementwise = Rounding.ROUNDS, Elementwise.ALONE
    work = Each()
    infer_inputs = like_result

    def infer(self, x: TensorType) -> TensorType:
        return x


@operator
class ErfInv(_Function):
    """The number whose error function is X: infinite at -1 and 1, NaN beyond. Not in ONNX; source: MXNet erfinv."""


@operator
class Gamma(_Function):
    """The gamma function: infinite at 0 with its sign, NaN at negative integers. Not in ONNX; source: MXNet gamma."""


@operator
class LogGamma(_Function):
    """The logarithm of the gamma function's magnitude: infinite at 0 and at negative integers.

    Not in ONNX; source: MXNet gammaln.
    """


OPERATORS = (ErfInv, Gamma, LogGamma)
