"""Bitwise operators on integers."""

from __future__ import annotations

from graphir.converters.kernel.importing import direct
from graphir.converters.tensorflow.importing.context import ImportFunction, ImportNode
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops import bitwise as bw
from graphir.ops.elementwise import Cast, Clip, Div, Mod, Mul, Pow, Sub
from graphir.types import DType


def shifting(direction: bw.ShiftDirection) -> ImportFunction:
    """Return the import function of LeftShift and RightShift, by 0 places at least and one less than there are bits at
    most.

    ONNX shifts signed numbers from opset 28 on; here they are multiplied or divided (rounded down) by a power of two.
    """

    def import_shift(node: ImportNode) -> Value:
        data, distance = node.inputs
        dtype = node.dtype()
        known = node.known(1)
        is_in_range = known is not None and all(0 <= count < dtype.bits for count in known)
        if dtype.value.startswith("u"):
            distance = distance if is_in_range else _clip_distance(node, distance, dtype)
            return node.emit(bw.BitShift(direction), data, distance)
        node.decide(
            DecisionKind.SHIFT, f"a shift of {dtype} is computed by a power of two in int64; up to 62 places are exact"
        )
        if dtype is not DType.INT64:
            data, distance = (node.cast(value, DType.INT64, suffix="wide") for value in (data, distance))
        if not is_in_range:
            distance = _clip_distance(node, distance, DType.INT64, dtype.bits)
        power = node.step(Pow(), node.constant(2, DType.INT64), distance, suffix="power")
        if direction is bw.ShiftDirection.LEFT:
            result = node.step(Mul(), data, power, suffix="moved")
        else:
            rest = node.step(Mod(), data, power, suffix="rest")
            result = node.step(Div(), node.step(Sub(), data, rest, suffix="whole"), power, suffix="moved")
        return result if dtype is DType.INT64 else node.emit(Cast(dtype), result)

    return import_shift


def _clip_distance(node: ImportNode, distance: Value, dtype: DType, bits: int = 0) -> Value:
    """Return how many bits are shifted: from 0 to one less than there are bits, as in TensorFlow's kernels."""
    limits = (node.constant(limit, dtype) for limit in (0, (bits or dtype.bits) - 1))
    return node.step(Clip(), distance, *limits, suffix="places")


def import_bitcast(node: ImportNode) -> Value:
    """Bitcast between dtypes of one width."""
    wanted = node.attrs["type"]
    if not isinstance(wanted, DType):
        node.refuse(f"bits read as {wanted}")
    if wanted.bits != node.dtype().bits:
        node.refuse(f"bits of {node.dtype()} read as {wanted}, of another width")
    if wanted is node.dtype():
        return node.input(0)
    return node.emit(bw.BitCast(wanted), node.input(0))


IMPORTS: dict[str, ImportFunction] = {
    "Bitcast": import_bitcast,
    "BitwiseAnd": direct(bw.BitwiseAnd),
    "BitwiseOr": direct(bw.BitwiseOr),
    "BitwiseXor": direct(bw.BitwiseXor),
    "Invert": direct(bw.BitwiseNot),
    "LeftShift": shifting(bw.ShiftDirection.LEFT),
    "RightShift": shifting(bw.ShiftDirection.RIGHT),
}
