"""Functions that MXNet has since 2.0 and ONNX has not: digamma."""

from __future__ import annotations

import math
from functools import reduce

from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode
from graphir.converters.mxnet.importing.ops.numpy_elementwise import as_dtype
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops import elementwise as ir
from graphir.types import DType

STEPS = 10  # from x to x + 10, where the series below is exact to a double's last digits
SERIES = (-1 / 12, 1 / 120, -1 / 252, 1 / 240, -1 / 132, 691 / 32760)  # of 1 / x^2


def import_digamma(node: ImportNode) -> Value:
    """The derivative of log gamma, in float64; infinite at 0 and the negative integers, as in MXNet.

    psi(x) is psi(x + n) less 1 / x + ... + 1 / (x + n - 1), and psi(1 - x) - pi / tan(pi x) for x below 0.
    """
    data = node.input(0)
    if data.dtype is not None and not data.dtype.is_float:
        node.refuse(f"{data.dtype} data; MXNet takes floats only")
    node.decide(
        DecisionKind.COMPOSITION,
        "ONNX has no digamma: its model composes it in float64, with an error below 1e-14 of its terms",
    )
    x = as_dtype(node, data, DType.FLOAT64)
    zero, one = node.constant(0.0, DType.FLOAT64), node.constant(1.0, DType.FLOAT64)
    low = node.step(ir.LessOrEqual(), x, zero, suffix="low")
    positive = node.step(ir.Where(), low, node.step(ir.Sub(), one, x, suffix="mirrored"), x, suffix="positive")
    found = _of_positive(node, positive)
    whole = node.step(ir.Round(), x, suffix="whole")
    turn = node.step(ir.Mul(), node.step(ir.Sub(), x, whole), node.constant(math.pi, DType.FLOAT64), suffix="turn")
    mirror = node.step(ir.Div(), node.constant(math.pi, DType.FLOAT64), node.step(ir.Tan(), turn), suffix="mirror")
    below = node.step(ir.Sub(), found, mirror, suffix="below")
    pole = node.step(ir.And(), low, node.step(ir.Equal(), x, whole), suffix="pole")
    below = node.step(ir.Where(), pole, node.constant(math.inf, DType.FLOAT64), below, suffix="with_poles")
    result = node.step(ir.Where(), low, below, found, suffix="digamma")
    return node.emit(ir.Cast(data.dtype or DType.FLOAT32), result)


def _of_positive(node: ImportNode, x: Value) -> Value:
    def add(left: Value, right: Value) -> Value:
        return node.step(ir.Add(), left, right)

    shifts = [node.step(ir.Add(), x, node.constant(float(k), DType.FLOAT64)) for k in range(STEPS)]
    lost = reduce(add, [node.step(ir.Reciprocal(), shift) for shift in shifts])
    far = node.step(ir.Add(), x, node.constant(float(STEPS), DType.FLOAT64), suffix="far")
    inverse = node.step(ir.Reciprocal(), far, suffix="inverse")
    square = node.step(ir.Mul(), inverse, inverse, suffix="square")
    series = node.constant(SERIES[-1], DType.FLOAT64)
    for factor in SERIES[-2::-1]:
        series = add(node.step(ir.Mul(), series, square), node.constant(factor, DType.FLOAT64))
    half = node.step(ir.Mul(), inverse, node.constant(0.5, DType.FLOAT64), suffix="half")
    main = node.step(ir.Sub(), node.step(ir.Log(), far), half, suffix="main")
    return node.step(ir.Sub(), add(main, node.step(ir.Mul(), series, square)), lost, suffix="of_positive")


IMPORTS: dict[str, ImportFunction] = {"digamma": import_digamma}
