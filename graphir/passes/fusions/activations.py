"""Activation functions that are spelled out, as torch, TensorFlow, Keras and MXNet write them.

Each pattern is the function's definition in one of its spellings, so that the replacement computes the same but for how
what lies between is rounded. What overflows in the spelling and not in the function is no pattern: log(1 + exp(x)).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from graphir.graph import Graph, Node, Value
from graphir.ops import activation as act
from graphir.ops import elementwise as ew
from graphir.ops.base import Operator
from graphir.ops.reduction import Reduce, ReduceMax, ReduceSum
from graphir.types import DType

from ..patterns import Either, Names, Operand, Pattern, is_near, number_of
from ..rewrite import Rules
from .fusion import Build, Fusion, Operands, axes_of, rules


def _of_x(op: Operator) -> Build:
    return lambda graph, node, names: (op, (names["x"],))


def _product(*factors: Operand) -> Pattern:
    """Return the product of three factors, whichever two are multiplied first."""
    a, b, c = factors
    return Either(*(Pattern(ew.Mul, x, Pattern(ew.Mul, y, z)) for x, y, z in ((a, b, c), (b, a, c), (c, a, b))))


def _scaled(value: Operand, factor: float) -> Pattern:
    return Either(Pattern(ew.Mul, value, factor), Pattern(ew.Div, value, 1 / factor))


def _weighted(weight: Pattern, factor: float) -> Pattern:
    """Return x * weight * factor in each order."""
    quotients = Pattern(ew.Div, Pattern(ew.Mul, "x", weight), 1 / factor), Pattern(ew.Div, weight, 1 / factor)
    scaled = Pattern(ew.Div, "x", 1 / factor)
    return Either(
        _product("x", factor, weight), quotients[0], Pattern(ew.Mul, "x", quotients[1]), Pattern(ew.Mul, scaled, weight)
    )


def _limited(value: Operand, low: Operand, high: Operand) -> Pattern:
    return Either(
        Pattern(ew.Clip, value, low, high),
        Pattern(ew.Min, Pattern(ew.Max, value, low), high),
        Pattern(ew.Max, Pattern(ew.Min, value, high), low),
    )


SQUARE = Either(Pattern(ew.Mul, "x", "x"), Pattern(ew.Pow, "x", 2.0))
SQUARE_SHARE = Either(Pattern(ew.Mul, SQUARE, 0.044715), _product("x", "x", 0.044715))
CUBIC = Either(
    Pattern(ew.Mul, Pattern(ew.Pow, "x", 3.0), 0.044715), _product("x", SQUARE, 0.044715),
    Pattern(ew.Mul, "x", SQUARE_SHARE),
)  # fmt: skip
BENT = Either(
    Pattern(ew.Mul, Pattern(ew.Add, "x", CUBIC), math.sqrt(2 / math.pi)),
    _product("x", math.sqrt(2 / math.pi), Pattern(ew.Add, SQUARE_SHARE, 1.0)),
)
GELU = _weighted(Pattern(ew.Add, Pattern(ew.Erf, _scaled("x", math.sqrt(0.5))), 1.0), 0.5)
GELU_BY_TANH = _weighted(Pattern(ew.Add, Pattern(act.Tanh, BENT), 1.0), 0.5)
SIX = _limited(Pattern(ew.Add, "x", 3.0), 0.0, 6.0)
SIXTH = act.HardSigmoid(alpha=float(np.float32(1 / 6)), beta=0.5)
HARD_SWISH = Either(
    Pattern(ew.Mul, "x", Pattern(act.HardSigmoid, "x", where=lambda op: op.beta == 0.5)),
    Pattern(ew.Mul, "x", _limited(Pattern(ew.Add, _scaled("x", 1 / 6), 0.5), 0.0, 1.0)),
    _weighted(SIX, 1 / 6),
)
SMALL = 1 << 16
MISH = Pattern(ew.Mul, "x", Pattern(act.Tanh, Pattern(act.Softplus, "x")))
LOGISTIC = Pattern(ew.Add, Pattern(ew.Exp, Pattern(ew.Neg, "x")), 1.0)
SHARE = Pattern(ew.Mul, "x", "slope")
LEAKY = Either(
    Pattern(ew.Max, "x", SHARE),
    Pattern(ew.Where, Pattern(ew.Less, "x", 0.0), SHARE, "x"),
    *(Pattern(ew.Where, Pattern(above, "x", 0.0), "x", SHARE) for above in (ew.Greater, ew.GreaterOrEqual)),
)


def _along(kind: type[Reduce]) -> Callable[[Operand], Pattern]:
    """Return the pattern of a reduction that keeps its axes, which are called `axes`."""
    return lambda value: Pattern(kind, value, "axes", where=lambda op: op.keepdims)


SHIFTED = Pattern(ew.Sub, "x", _along(ReduceMax)("x"))
POWER = Pattern(ew.Exp, SHIFTED)
SOFTMAX = Pattern(ew.Div, POWER, _along(ReduceSum)(POWER))
LOG_SOFTMAX = Pattern(ew.Sub, SHIFTED, Pattern(ew.Log, _along(ReduceSum)(POWER)))


def _softmax(kind: type[act.Softmax | act.LogSoftmax]) -> Build:
    def build(graph: Graph, node: Node, names: Names) -> tuple[Operator, Operands] | None:
        axes = axes_of(names["axes"], names["x"].rank)
        return (kind(axis=axes[0]), (names["x"],)) if axes is not None and len(axes) == 1 else None

    return build


def _attribute(value: Value) -> float | None:
    """Return the number of a parameter if an attribute, which is a float32, holds all its digits."""
    number = number_of(value)
    return number if number is not None and float(np.float32(number)) == number else None


def _leaky_relu(graph: Graph, node: Node, names: Names) -> tuple[Operator, Operands] | None:
    """Where the larger of x and slope * x is taken the slope must lie between 0 and 1."""
    slope = _attribute(names["slope"])
    if slope is None or (isinstance(node.op, ew.Max) and not 0 <= slope <= 1):
        return None
    return act.LeakyRelu(alpha=slope), (names["x"],)


def _prelu(graph: Graph, node: Node, names: Names) -> tuple[Operator, Operands] | None:
    """Return the slope stands for the part below 0 with its sign in Relu(x) - slope * Relu(-x), turned in a sum."""
    slope = names["slope"]
    if slope.tensor is None or slope.producer is not None or slope.tensor.size > SMALL:
        return None
    if isinstance(node.op, ew.Add):
        slope = graph.constant(-slope.tensor.numpy(), name=f"{slope.name}_negative")
    return ew.PRelu(), (names["x"], slope)


def _hard_sigmoid(graph: Graph, node: Node, names: Names) -> tuple[Operator, Operands] | None:
    alpha, beta = _attribute(names["alpha"]), _attribute(names["beta"])
    return None if alpha is None or beta is None else (act.HardSigmoid(alpha=alpha, beta=beta), (names["x"],))


def _unless_double(op: Operator) -> Build:
    """Return what builds the operator in all dtypes but float64, for which its attributes, or the constants of ONNX's
    definition of it, are too short: they are float32."""
    return lambda graph, node, names: None if names["x"].dtype is DType.FLOAT64 else (op, (names["x"],))


def _hard_swish(graph: Graph, node: Node, names: Names) -> tuple[Operator, Operands] | None:
    """Return a HardSigmoid that it holds has a slope of 1/6, as precisely as the dtype holds that."""
    x = names["x"]
    makers = [value.producer for value in node.inputs if value is not None and value.producer is not None]
    slopes = [maker.op.alpha for maker in makers if isinstance(maker.op, act.HardSigmoid)]
    if x.dtype is None or not all(is_near(slope, 1 / 6, x.dtype) for slope in slopes):
        return None
    return act.HardSwish(), (x,)


def _clip(graph: Graph, node: Node, names: Names) -> tuple[Operator, Operands] | None:
    """A Relu is a lower limit of 0. The limits must be numbers in their order; NaN passes all of them."""
    x, low, high = names["x"], number_of(names.get("low")), number_of(names["high"])
    low = 0.0 if "low" not in names else low
    if low is None or high is None or not low <= high or x.dtype is None:
        return None
    return ew.Clip(), (x, *(graph.constant(np.array(limit, x.dtype.numpy())) for limit in (low, high)))


RELU_PARTS = Pattern(act.Relu, "x"), Pattern(ew.Mul, Pattern(act.Relu, Pattern(ew.Neg, "x")), "slope")
PRELU = Either(*(Pattern(op, *RELU_PARTS) for op in (ew.Add, ew.Sub)))
LIMITS = Either(
    Pattern(ew.Max, Pattern(ew.Min, "x", "high"), "low"),
    Pattern(ew.Min, Pattern(ew.Max, "x", "low"), "high"),
    Pattern(ew.Min, Pattern(act.Relu, "x"), "high"),
    Pattern(ew.Clip, Pattern(act.Relu, "x"), 0.0, "high"),
)
SIGMOID = Either(Pattern(ew.Reciprocal, LOGISTIC), Pattern(ew.Div, 1.0, LOGISTIC))
SOFTSIGN = Pattern(ew.Div, "x", Pattern(ew.Add, Pattern(ew.Abs, "x"), 1.0))
BY_TANH = act.Gelu(act.Approximation.TANH)
HARD_SIGMOID = Pattern(ew.Clip, Pattern(ew.Add, Pattern(ew.Mul, "x", "alpha"), "beta"), 0.0, 1.0)
RULES = rules(
    Fusion("x, and a share of it below 0, is LeakyRelu", LEAKY, _leaky_relu, exact=True),
    Fusion("two limits are a Clip", LIMITS, _clip),
    Fusion("Relu(x) + slope * Relu(-x) is PRelu", PRELU, _prelu),
    Fusion("exp(x - max) / sum is Softmax", SOFTMAX, _softmax(act.Softmax)),
    Fusion("x - max - log(sum) is LogSoftmax", LOG_SOFTMAX, _softmax(act.LogSoftmax)),
    Fusion("1 / (1 + exp(-x)) is Sigmoid", SIGMOID, _of_x(act.Sigmoid())),
    Fusion("x / (1 + |x|) is Softsign", SOFTSIGN, _of_x(act.Softsign())),
)
RECOGNITIONS: Mapping[type[Operator], Rules] = {
    act.HardSigmoid: rules(
        Fusion("alpha * x + beta between 0 and 1 is HardSigmoid", HARD_SIGMOID, _hard_sigmoid),
        Fusion("x + 3 between 0 and 6, over 6, is HardSigmoid", _scaled(SIX, 1 / 6), _unless_double(SIXTH)),
    ),
    act.HardSwish: rules(Fusion("x * HardSigmoid(x) is HardSwish", HARD_SWISH, _hard_swish)),
    act.Mish: rules(Fusion("x * tanh(softplus(x)) is Mish", MISH, _of_x(act.Mish()))),
    act.Gelu: rules(
        Fusion("x times the normal distribution is Gelu", GELU, _unless_double(act.Gelu())),
        Fusion("x times its approximation by tanh is Gelu", GELU_BY_TANH, _unless_double(BY_TANH)),
    ),
}
