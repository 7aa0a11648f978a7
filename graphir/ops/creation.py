"""Operators that make tensors out of sizes and numbers."""

from __future__ import annotations

from ..errors import ShapeError
from ..types import UNKNOWN, Dim, DType, TensorType, ceildiv, dim_max, product
from .base import Known, Operand, Operator, Values, operator, refine, same_dtype

KNOWN_LIMIT = 256


@operator
class Range(Operator):
    """The vector start, start + delta, ... before `limit`, three scalars of one dtype.

    `stash_type` is the dtype that 16-bit floats are computed in. Source: ONNX Range-27.
    """

    inputs = ("start", "limit", "delta")
    reads = frozenset({0, 1, 2})
    stash_type: DType = DType.FLOAT32

    def infer(self, start: TensorType, limit: TensorType, delta: TensorType, *, values: Values) -> TensorType:
        return TensorType(same_dtype(start, limit, delta), (_range_size(values),))

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        count = _range_size(values)
        first, _, step = values
        if not isinstance(count, int) or count > KNOWN_LIMIT or first is None or step is None:
            return (None,)
        start, delta = first.elements[0], step.elements[0]
        return (Known.vector(start + delta * place for place in range(count)),)


def _range_size(values: Values) -> Dim:
    if any(value is None for value in values):
        return UNKNOWN
    start, limit, delta = (value.elements[0] for value in values if value is not None)
    if not isinstance(delta, int):
        return UNKNOWN
    if delta == 0:
        raise ShapeError("a delta of 0")
    distance = limit - start if delta > 0 else start - limit
    return dim_max(ceildiv(distance, abs(delta)), 0)


@operator
class ConstantOfShape(Operator):
    """A tensor of the shape that the int64 vector `shape` holds, filled with `value` of `dtype`.

    Source: ONNX ConstantOfShape-24.
    """

    inputs = ("shape",)
    reads = frozenset({0})
    value: float = 0.0
    dtype: DType = DType.FLOAT32

    def infer(self, shape: TensorType, *, values: Values) -> TensorType:
        if values[0] is not None:
            return TensorType(self.dtype, values[0].elements)
        count = shape.shape[0] if shape.shape else UNKNOWN
        return TensorType(self.dtype, (UNKNOWN,) * count if isinstance(count, int) else None)

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        sizes = None if values[0] is None else values[0].integers()
        if sizes is None or self.dtype not in (DType.INT64, DType.INT32, DType.BOOL):
            return (None,)
        count = product(sizes)
        if not isinstance(count, int) or count > KNOWN_LIMIT:
            return (None,)
        return (Known(sizes, (int(self.value),) * count),)


@operator
class EyeLike(Operator):
    """Ones on diagonal `k` of a matrix with the shape of X, zeros elsewhere; of `dtype` or, if None, X's.

    Source: ONNX EyeLike-22.
    """

    inputs = ("X",)
    dtype: DType | None = None
    k: int = 0

    def infer(self, x: TensorType) -> TensorType:
        if x.shape is not None and len(x.shape) != 2:
            raise ShapeError(f"X has {len(x.shape)} axes, expected 2")
        return TensorType(self.dtype or x.dtype, x.shape or (UNKNOWN, UNKNOWN))

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        return (refine(operands[0], results[0].shape),)


@operator
class Fill(Operator):
    """A constant tensor: `value` everywhere. Sizes that are None (or a shape that is) follow from its users alone.

    An operator of the IR's own, for the begin states of recurrent networks, whose batch size MXNet leaves open. It does
    not stay: `passes.fills` replaces it as soon as its type is known.
    """

    value: float
    shape: tuple[int | None, ...] | None
    dtype: DType = DType.FLOAT32

    def infer(self) -> TensorType:
        if self.shape is None:
            return TensorType(self.dtype, None)
        return TensorType(self.dtype, tuple(UNKNOWN if size is None else size for size in self.shape))


OPERATORS = (Range, ConstantOfShape, EyeLike, Fill)

__all__ = ["OPERATORS", "ConstantOfShape", "EyeLike", "Fill", "Range"]
