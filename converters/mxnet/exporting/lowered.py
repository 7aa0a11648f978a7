"""How operators come to MXNet that have no export function of their own."""

from __future__ import annotations

from enum import StrEnum

from graphir.ops import activation, attention, losses, random, sequence
from graphir.ops.base import Operator
from graphir.ops.bitwise import CastLike
from graphir.ops.control import If, Loop, Scan
from graphir.ops.image import CenterCropPad
from graphir.ops.linear import MatMulInteger
from graphir.ops.quantization import ConvInteger, QLinearConv, QLinearMatMul
from graphir.ops.reduction import ReduceL1, ReduceSumSquare
from graphir.ops.signal import BlackmanWindow, HammingWindow, HannWindow

NO_EXPORT = "MXNet has no such operator and no composition is known"


class Road(StrEnum):
    """What stands in the place of an operator; `lowering` goes these roads."""

    DEFINITION = "what ONNX defines it by"
    WIDE_DEFINITION = "what ONNX defines it by, of narrow floats in float32: each of its many steps would round"
    INTEGER_PRODUCT = "a product of floats that hold the integers"
    COURSE = "what it runs where its course is known, else all that it may run, or a loop of MXNet's"
    CONTENTS = "what it holds, where that is known"


LOWERED: dict[type[Operator], Road] = {
    **dict.fromkeys((attention.RotaryEmbedding, attention.SwiGLU), Road.DEFINITION),
    **dict.fromkeys((BlackmanWindow, HammingWindow, HannWindow, random.Bernoulli), Road.DEFINITION),
    **dict.fromkeys((ReduceL1, ReduceSumSquare), Road.DEFINITION),
    **dict.fromkeys((CenterCropPad, CastLike), Road.DEFINITION),
    **dict.fromkeys((activation.HardSwish, activation.Mish, activation.Swish), Road.WIDE_DEFINITION),
    **dict.fromkeys((attention.Attention, attention.LinearAttention), Road.WIDE_DEFINITION),
    attention.CausalConvWithState: Road.WIDE_DEFINITION,
    **dict.fromkeys(losses.OPERATORS, Road.WIDE_DEFINITION),
    **dict.fromkeys((ConvInteger, MatMulInteger, QLinearConv, QLinearMatMul), Road.INTEGER_PRODUCT),
    **dict.fromkeys((If, Loop, Scan), Road.COURSE),
    **dict.fromkeys(sequence.OPERATORS, Road.CONTENTS),
}
