"""Activation functions, the softmax family, and Dropout."""

from __future__ import annotations

import enum

from graphir.errors import ShapeError
from graphir.types import Dim, DType, TensorType, product

from .base import Operand, Operator, family, like_result, normalize_axis, operator
from .dtypes import BOOL, FLOATS, FLOATS_OF_8_BITS, NUMBERS, SIGNED
from .traits import POSITIVE, SHARE, SIGNED_SHARE, DecisionTrait, Elementwise, Rounding, Saturation
from .work import INFERENCE, Each


class _Activation(Operator):
    """One operand of real floating point numbers; the result has its type."""

    inputs = ("X",)
    takes = (FLOATS,)
    rounding, saturates, elementwise = Rounding.OF_ONE, Saturation.NONE, Elementwise.ALONE
    work = Each()
    infer_inputs = like_result

    def infer(self, x: TensorType) -> TensorType:
        if x.dtype is not None and not x.dtype.is_float:
            raise ShapeError(f"X is {x.dtype}, expected a floating point dtype")
        return x


@operator
class Relu(_Activation):
    """max(X, 0), of integers too. Source: ONNX Relu-14."""

    rounding, decides, bounds = Rounding.EXACT, DecisionTrait.LIMITS, POSITIVE
    takes = (SIGNED,)

    def infer(self, x: TensorType) -> TensorType:
        return x


@operator
class LeakyRelu(_Activation):
    """X where X >= 0, else alpha * X. Source: ONNX LeakyRelu-16."""

    rounding = Rounding.ROUNDS
    alpha: float = 0.01


@operator
class ThresholdedRelu(_Activation):
    """X where X > alpha, else 0. Source: ONNX ThresholdedRelu-22."""

    rounding, decides = Rounding.EXACT, DecisionTrait.STEPS
    alpha: float = 1.0


@operator
class Elu(_Activation):
    """X where X >= 0, else alpha * (exp(X) - 1). Source: ONNX Elu-22."""

    alpha: float = 1.0


@operator
class Selu(_Activation):
    """gamma * X where X > 0, else gamma * alpha * (exp(X) - 1). Source: ONNX Selu-22, whose defaults are float32's."""

    alpha: float = 1.67326319217681884765625
    gamma: float = 1.05070102214813232421875


@operator
class Celu(_Activation):
    """max(X, 0) + min(0, alpha * (exp(X / alpha) - 1)). Source: ONNX Celu-12."""

    alpha: float = 1.0


class Approximation(enum.Enum):
    """How Gelu finds the normal distribution: exactly by erf, or by tanh of a cubic."""

    NONE = "none"
    TANH = "tanh"


@operator
class Gelu(_Activation):
    """X times the normal distribution function at X.

    Exactly `X / 2 * (1 + erf(X / sqrt(2)))`; approximated `X / 2 * (1 + tanh(sqrt(2 / pi) * (X + 0.044715 * X^3)))`.
    Source: ONNX Gelu-20.
    """

    approximate: Approximation = Approximation.NONE


@operator
class HardSigmoid(_Activation):
    """alpha * X + beta, limited to 0 and 1. Source: ONNX HardSigmoid-22."""

    saturates, bounds = Saturation.SATURATES, SHARE
    alpha: float = 0.2
    beta: float = 0.5


@operator
class HardSwish(_Activation):
    """X times HardSigmoid(X) with alpha 1/6 and beta 1/2. Source: ONNX HardSwish-22."""


@operator
class Mish(_Activation):
    """X * tanh(log(1 + exp(X))). Source: ONNX Mish-22."""

    rounding = Rounding.EXPONENTIAL


@operator
class Softplus(_Activation):
    """log(1 + exp(X)). Source: ONNX Softplus-22."""

    rounding, bounds = Rounding.EXPONENTIAL, POSITIVE


@operator
class Softsign(_Activation):
    """X / (1 + |X|). Source: ONNX Softsign-22."""

    saturates, bounds = Saturation.SATURATES, SIGNED_SHARE


@operator
class Sigmoid(_Activation):
    """1 / (1 + exp(-X)). Source: ONNX Sigmoid-13."""

    saturates, bounds = Saturation.ONE_TO_ONE, SHARE


@operator
class Swish(_Activation):
    """X / (1 + exp(-alpha * X)). Source: ONNX Swish-24."""

    alpha: float = 1.0


@operator
class Tanh(_Activation):
    """The hyperbolic tangent. Source: ONNX Tanh-13."""

    saturates, bounds = Saturation.ONE_TO_ONE, SIGNED_SHARE


@family
class _AlongAxis(_Activation):
    """What the softmax family shares: one axis, which must exist."""

    rounding, saturates, elementwise = Rounding.EXPONENTIAL, Saturation.SHIFTLESS, Elementwise.NO
    work = Each(5)  # largest, difference, exponential, sum, quotient
    axis: int = -1

    def infer(self, x: TensorType) -> TensorType:
        if x.shape is not None:
            normalize_axis(self.axis, len(x.shape))
        return super().infer(x)


@operator
class Softmax(_AlongAxis):
    """exp(X) / sum exp(X) along `axis`. Source: ONNX Softmax-13."""

    bounds = SHARE


@operator
class LogSoftmax(_AlongAxis):
    """X - log sum exp(X) along `axis`. Source: ONNX LogSoftmax-13."""


@operator
class Hardmax(_AlongAxis):
    """1 at the first maximum along `axis`, 0 elsewhere. Source: ONNX Hardmax-13."""

    rounding, decides, saturates, bounds = Rounding.EXACT, DecisionTrait.ORDERS, Saturation.SATURATES, SHARE
    work = Each()


class Noise(enum.Enum):
    """What a Dropout does in training: it drops elements and scales the others (ZEROS), drops them to where SELU ends
    and keeps mean and variance (ALPHA), or multiplies by normal numbers around 1 with the variance ratio / (1 - ratio)
    (FACTORS), or adds normal numbers around 0 with the standard deviation `ratio` (TERMS)."""

    ZEROS = "zeros"
    ALPHA = "alpha"
    FACTORS = "factors"
    TERMS = "terms"


@operator
class Dropout(Operator):
    """data with random elements set to 0 and the others scaled by 1 / (1 - ratio), if `training_mode` is true.

    Otherwise data itself. `ratio` (0.5 without it) and `training_mode` (false without it) are scalars; the second
    result says which elements were kept. Source: ONNX Dropout-22.
    """

    inputs = ("data", "ratio?", "training_mode?")
    outputs = ("output", "mask")
    takes = (FLOATS | FLOATS_OF_8_BITS, FLOATS | FLOATS_OF_8_BITS, BOOL)
    rounding, elementwise = Rounding.MOVES, Elementwise.ALONE
    work = INFERENCE
    seed: int | None = None
    noise: Noise = Noise.ZEROS
    infer_inputs = like_result

    def infer(self, data: TensorType, ratio: Operand = None, training_mode: Operand = None) -> tuple[TensorType, ...]:
        if training_mode is not None and training_mode.dtype not in (None, DType.BOOL):
            raise ShapeError(f"training_mode is {training_mode.dtype}, expected bool")
        for name, scalar in (("ratio", ratio), ("training_mode", training_mode)):
            if scalar is not None and scalar.shape is not None and _count(scalar) not in (1, None):
                raise ShapeError(f"{name} is {scalar}, expected a scalar")
        return data, TensorType(DType.BOOL, data.shape)


def _count(operand: TensorType) -> int | None:
    total: Dim = product(operand.shape or ())
    return total if isinstance(total, int) else None


@operator
class Shrink(_Activation):
    """X + bias where X < -lambd, X - bias where X > lambd, else 0; of integers too. Source: ONNX Shrink-9."""

    rounding, decides = Rounding.ROUNDS, DecisionTrait.STEPS
    takes = (NUMBERS - {DType.BFLOAT16},)
    lambd: float = 0.5
    bias: float = 0.0

    def infer(self, x: TensorType) -> TensorType:
        return x


OPERATORS = (
    *(Relu, LeakyRelu, ThresholdedRelu, Elu, Selu, Celu, Gelu, HardSigmoid, HardSwish, Mish, Softplus, Softsign),
    *(Sigmoid, Swish, Tanh, Softmax, LogSoftmax, Hardmax, Dropout, Shrink),
)
