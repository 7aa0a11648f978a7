"""Operators that make tensors out of sizes and numbers."""

from __future__ import annotations

import math

from graphir.errors import ShapeError
from graphir.types import UNKNOWN, Dim, DType, Sym, TensorType, Unknown, ceildiv, dim_max

from . import elements
from .base import Known, Operand, Operator, Values, operator, refine, same_dtype
from .dtypes import BOOL, FLOATS, INDICES, INT64, NUMBERS
from .known import is_small
from .traits import Rounding
from .work import Each


@operator
class Range(Operator):
    """The vector start, start + delta, ... before `limit`, three scalars of one dtype.

    `stash_type` is the dtype that 16-bit floats are computed in. Source: ONNX Range-27.
    """

    inputs = ("start", "limit", "delta")
    takes = (FLOATS | INDICES | {DType.INT16}, FLOATS | INDICES | {DType.INT16}, FLOATS | INDICES | {DType.INT16})
    reads = frozenset({0, 1, 2})
    rounding, stays_wide = Rounding.ROUNDS, "its steps accumulate"
    work = Each(2)
    stash_type: DType = DType.FLOAT32

    def infer(self, start: TensorType, limit: TensorType, delta: TensorType, *, values: Values) -> TensorType:
        return TensorType(same_dtype(start, limit, delta), (self._count((start, limit, delta), values),))

    def _count(self, operands: tuple[Operand, ...], values: Values) -> Dim:
        ends = [None if value is None or not value.elements else value.elements[0] for value in values]
        start, limit, delta = (UNKNOWN if end is None else end for end in ends)
        if isinstance(delta, Sym | Unknown):
            return UNKNOWN
        if delta == 0:
            raise ShapeError("a delta of 0")
        dtype = same_dtype(*operands)
        if dtype is not None and dtype.is_float and isinstance(start, int | float) and isinstance(limit, int | float):
            distance = elements.as_stored(elements.subtract(limit, start), dtype)
            if isinstance(distance, Unknown | Sym):
                return UNKNOWN
            # Runtimes differ in what they round to the dtype before they divide.
            counts = {max(math.ceil(span / delta), 0) for span in (distance, limit - start)}
            return counts.pop() if len(counts) == 1 else UNKNOWN
        if isinstance(delta, float) or isinstance(start, float) or isinstance(limit, float):
            return UNKNOWN
        distance = limit - start if delta > 0 else start - limit
        return dim_max(ceildiv(distance, abs(delta)), 0)

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        dtype = same_dtype(*operands, results[0])
        return tuple(refine(operand, (), dtype) for operand in operands)

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        count = self._count(operands, values)
        first, _, step = values
        if not is_small((count,)) or first is None or step is None:
            return (None,)
        start, delta = first.elements[0], step.elements[0]
        if isinstance(start, float) or isinstance(delta, float):
            return (None,)  # runtimes add up, and round at each step
        return (Known.vector(start + delta * index for index in range(count)),)  # type: ignore[arg-type]


@operator
class ConstantOfShape(Operator):
    """A tensor of the shape that the int64 vector `shape` holds, filled with `value` of `dtype`.

    Source: ONNX ConstantOfShape-24.
    """

    inputs = ("shape",)
    takes = (INT64,)
    reads = frozenset({0})
    rounding = Rounding.WRITES
    value: float = 0.0
    dtype: DType = DType.FLOAT32

    def infer(self, shape: TensorType, *, values: Values) -> TensorType:
        if shape.shape is not None and len(shape.shape) != 1:
            raise ShapeError(f"shape has {len(shape.shape)} axes, expected a vector")
        if values[0] is not None:
            return TensorType(self.dtype, values[0].dims())
        count = shape.shape[0] if shape.shape else UNKNOWN
        return TensorType(self.dtype, (UNKNOWN,) * count if isinstance(count, int) else None)

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        shape = results[0].shape
        return (refine(operands[0], (UNKNOWN if shape is None else len(shape),), DType.INT64),)

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        sizes = None if values[0] is None else values[0].integers()
        if sizes is None or not is_small(sizes):
            return (None,)
        return (Known(sizes, (elements.whole(self.value),) * math.prod(sizes)),)


@operator
class EyeLike(Operator):
    """Ones on diagonal `k` of a matrix with the shape of X, zeros elsewhere; of `dtype` or, if None, X's.

    Source: ONNX EyeLike-22.
    """

    inputs = ("X",)
    takes = (NUMBERS | BOOL,)
    rounding, stays_wide = Rounding.WRITES, "it states its element type"
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

    rounding = Rounding.WRITES
    value: float
    shape: tuple[int | None, ...] | None
    dtype: DType = DType.FLOAT32

    def check_attributes(self) -> None:
        self.demand(all(size is None or size >= 0 for size in self.shape or ()), "shape", "sizes of 0 or more")

    def infer(self) -> TensorType:
        if self.shape is None:
            return TensorType(self.dtype, None)
        return TensorType(self.dtype, tuple(UNKNOWN if size is None else size for size in self.shape))


OPERATORS = (Range, ConstantOfShape, EyeLike, Fill)
