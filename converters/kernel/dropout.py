"""Dropout whose mask is shared along axes, as training has it in MXNet and Keras."""

from __future__ import annotations

from collections.abc import Sequence

from graphir.converters.kernel.importing import BaseImportNode
from graphir.graph import Value
from graphir.ops.activation import Dropout, Noise
from graphir.ops.creation import ConstantOfShape
from graphir.ops.elementwise import Mul, Where
from graphir.ops.shape import Shape
from graphir.types import DType


def dropped(
    node: BaseImportNode, data: Value, rate: float, shared: Sequence[int] = (), noise: Noise = Noise.ZEROS
) -> Value:
    """Return the node's result: data with random elements dropped, all along the axes `shared` at once, or with noise.

    That is data times a Dropout of ones, which has a size of 1 along these axes. Refuses data of unknown rank.
    """
    ratio = node.constant(rate, DType.FLOAT32)
    if not shared or not rate:
        return node.emit(Dropout(noise=noise), data, ratio)
    rank = node.rank(data)
    axes = {node.axis(axis, rank) for axis in shared}
    is_shared = node.constant([axis in axes for axis in range(rank)], DType.BOOL)
    sizes = node.step(Where(), is_shared, node.constant(1, DType.INT64), node.step(Shape(), data), suffix="sizes")
    ones = node.step(ConstantOfShape(1.0, data.dtype or DType.FLOAT32), sizes, suffix="ones")
    return node.emit(Mul(), data, node.step(Dropout(), ones, ratio, suffix="mask"))
